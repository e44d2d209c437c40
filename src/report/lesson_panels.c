/* lesson_panels.c -- attn_lesson_draw: an example's steps as panels. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "canvas.h"
#include "error.h"
#include "lesson_page.h"
#include "lesson_panels.h"
#include "step_labels.h"
#include "text_layout.h"

enum { TITLE_COLUMNS = 80, TITLE_BYTES = 512, NOTE_BYTES = 1024, ARROWS_MAX = 64 };

/* Memory that the panels point to, freed with the list. */
struct attn_panel_memory {
  struct attn_panel_memory *next;
  max_align_t bytes[];
};

static void *take(struct attn_lesson_panels *a, size_t count, size_t size) {
  struct attn_panel_memory *s = calloc(1, sizeof *s + count * size);
  if (!s) return a->failed = 1, NULL;
  s->next = a->scraps;
  a->scraps = s;
  return s->bytes;
}

void attn_lesson_panels_free(struct attn_lesson_panels *a) {
  for (struct attn_panel_memory *next; a->scraps; a->scraps = next) {
    next = a->scraps->next;
    free(a->scraps);
  }
  free(a->panel);
}

/* ---- Texts ---------------------------------------------------------------------------------- */

static const char *copied(struct attn_lesson_panels *a, const char *text) {
  size_t bytes = strlen(text) + 1;
  char *copy = take(a, bytes, 1);
  return copy ? memcpy(copy, text, bytes) : NULL;
}

static attn_bilingual_text section_of(struct attn_lesson_panels *a, const attn_lesson *lesson,
                                      int32_t index) {
  const char *text[2], *title = attn_example_title(&lesson->example[index], index);
  if (a->plain && !attn_font_covers(title)) title = "";
  for (int language = 0; language < 2; language++) {
    char head[64], name[TITLE_BYTES], whole[TITLE_BYTES + 64];
    attn_text_shorten(name, sizeof name, title, TITLE_COLUMNS);
    attn_message_fill(head, sizeof head, *name ? MESSAGE_EXAMPLE_TITLED : MESSAGE_EXAMPLE, language,
                      (int)index + 1);
    snprintf(whole, sizeof whole, "%s%s", head, name);
    text[language] = copied(a, whole);
  }
  return (attn_bilingual_text){text[0], text[1]};
}

static attn_bilingual_text title_of(struct attn_lesson_panels *a, int message, int head) {
  const char *text[2];
  for (int language = 0; language < 2; language++) {
    char whole[128], name[32];
    attn_message_fill(name, sizeof name, MESSAGE_HEAD, language, head + 1);
    snprintf(whole, sizeof whole,
             head < 0   ? "%s"
             : language ? "%s（%s）"
                        : "%s, %s",
             attn_message_text(message, language), name);
    text[language] = copied(a, whole);
  }
  return (attn_bilingual_text){text[0], text[1]};
}

/* "E = Q K^T (4×4)" */
static const char *note_of(struct attn_lesson_panels *a, const attn_example *e,
                           const attn_step *s) {
  char relation[ATTN_RELATION_BYTES], whole[NOTE_BYTES];
  snprintf(whole, sizeof whole, "%s (%d×%d)", attn_relation_text(e, s, a->precision, relation),
           (int)s->exact.rows, (int)s->exact.cols);
  return copied(a, whole);
}

/* ---- Steps ---------------------------------------------------------------------------------- */

static attn_bilingual_text axis_words(const attn_example *e, const attn_step *s, int axis) {
  if (!attn_is_scorelike(e, s)) return (attn_bilingual_text){NULL, NULL};
  return attn_message_bilingual(attn_step_axis(e, s, axis) == ATTN_AXIS_QUERIES ? MESSAGE_QUERY
                                                                                : MESSAGE_KEY);
}

static const char *const *labels_of(const attn_example *e, const attn_step *s, int axis) {
  int32_t count;
  return (const char *const *)attn_axis_tokens(e, s, axis, &count);
}

static void add_step(struct attn_lesson_panels *a, const attn_example *e, const attn_step *s,
                     attn_bilingual_text section) {
  attn_panel *p = &a->panel[a->panels++];
  *p = (attn_panel)ATTN_PANEL_INIT;
  p->kind = s->name == ATTN_STEP_WEIGHTS || s->op == ATTN_OP_SOFTMAX ? ATTN_PANEL_HEAT
                                                                     : ATTN_PANEL_MATRIX;
  p->rows = s->exact.rows, p->cols = s->exact.cols, p->at = s->exact.at;
  p->first = e->one_based != 0;
  p->row_label = labels_of(e, s, 0), p->col_label = labels_of(e, s, 1);
  p->row_axis = axis_words(e, s, 0), p->col_axis = axis_words(e, s, 1);
  p->section = section;
  p->title = title_of(a, MESSAGE_TITLE + s->name, s->head);
  p->note.english = note_of(a, e, s);
}

/* ---- Queries and keys in the plane ---------------------------------------------------------- */

/* Whether step a is drawn before step b: givens are first. */
static int before(const attn_step *a, const attn_step *b) {
  int given_a = a->op == ATTN_OP_GIVEN, given_b = b->op == ATTN_OP_GIVEN;
  return given_a != given_b ? given_a : a < b;
}

/* The keys of a head's queries, or the queries of its keys, if already drawn; both of width 2. */
static const attn_step *partner(const attn_example *e, const attn_step *s) {
  int wanted = s->name == ATTN_STEP_Q ? ATTN_STEP_K : s->name == ATTN_STEP_K ? ATTN_STEP_Q : -1;
  if (s->exact.cols != 2) return NULL;
  for (const attn_step *one = e->step; one < e->step + e->steps; one++)
    if (one->name == wanted && one->head == s->head && one->exact.cols == 2 && before(one, s) &&
        (int64_t)one->exact.rows + s->exact.rows <= ARROWS_MAX)
      return one;
  return NULL;
}

/* "q 私", "k 私": a token is both a query and a key. */
static const char *arrow_name(struct attn_lesson_panels *a, const attn_example *e, int32_t n,
                              int key) {
  char token[ATTN_LABEL_BYTES], name[ATTN_LABEL_BYTES + 8];
  attn_name_text(e, key ? ATTN_AXIS_KEYS : ATTN_AXIS_QUERIES, n, token);
  if (a->plain && !attn_font_covers(token))
    snprintf(token, sizeof token, "#%d", (int)n + (e->one_based != 0));
  snprintf(name, sizeof name, "%c %s", key ? 'k' : 'q', token);
  return copied(a, name);
}

static void put_arrows(struct attn_lesson_panels *a, const attn_example *e, attn_panel *p,
                       const attn_step *q, const attn_step *k) {
  size_t rows = (size_t)q->exact.rows + (size_t)k->exact.rows, first = 2 * (size_t)q->exact.rows;
  double *at = take(a, 2 * rows, sizeof *at);
  const char **name = take(a, rows, sizeof *name);
  if (!at || !name) return;
  memcpy(at, q->exact.at, first * sizeof *at);
  memcpy(at + first, k->exact.at, (2 * rows - first) * sizeof *at);
  for (size_t n = 0; n < rows; n++) {
    int key = n >= first / 2;
    name[n] = arrow_name(a, e, (int32_t)(key ? n - first / 2 : n), key);
  }
  p->rows = (int32_t)rows, p->cols = 2, p->at = at, p->row_label = name;
}

const attn_panel *attn_lesson_arrows(struct attn_lesson_panels *a, const attn_example *e,
                                     const attn_step *s, attn_bilingual_text section) {
  const attn_step *other = partner(e, s);
  if (!other) return NULL;
  const attn_step *q = s->name == ATTN_STEP_Q ? s : other, *k = q == s ? other : s;
  attn_panel *p = &a->panel[a->panels++];
  *p = (attn_panel)ATTN_PANEL_INIT;
  p->kind = ATTN_PANEL_ARROWS;
  p->split = q->exact.rows;
  p->section = section;
  p->title = title_of(a, MESSAGE_ARROWS, s->head);
  p->note = attn_message_bilingual(MESSAGE_ARROWS_NOTE);
  p->row_axis = attn_message_bilingual(MESSAGE_ARROWS_QUERIES);
  p->col_axis = attn_message_bilingual(MESSAGE_ARROWS_KEYS);
  put_arrows(a, e, p, q, k);
  return p;
}

/* ---- A lesson ------------------------------------------------------------------------------- */

/* Given steps first, then computed ones, as in attn_lesson_explain. */
static void add_example(struct attn_lesson_panels *a, const attn_lesson *lesson, int32_t index) {
  const attn_example *e = &lesson->example[index];
  attn_bilingual_text section = section_of(a, lesson, index);
  for (int computed = 0; computed < 2; computed++)
    for (int32_t n = 0; n < e->steps && !a->failed; n++) {
      const attn_step *s = &e->step[n];
      if ((s->op != ATTN_OP_GIVEN) != computed) continue;
      add_step(a, e, s, section);
      attn_lesson_arrows(a, e, s, section);
    }
}

attn_status attn_lesson_panels_begin(struct attn_lesson_panels *a, const attn_lesson *lesson,
                                     int precision, int plain, attn_error *err) {
  const size_t bound = 2 * (size_t)attn_step_count(lesson); /* a step may add an arrow plot */
  *a = (struct attn_lesson_panels){
      .panel = calloc(bound, sizeof *a->panel), .precision = precision, .plain = plain};
  a->failed = !a->panel;
  return a->failed ? attn_picture_no_memory(err) : ATTN_OK;
}

static attn_status draw(const attn_lesson *lesson, attn_picture_format format,
                        const attn_style *style, int precision, const attn_sink *sink,
                        attn_error *err) {
  struct attn_lesson_panels a;
  attn_status status =
      attn_lesson_panels_begin(&a, lesson, precision, format == ATTN_PICTURE_PNG, err);
  for (int32_t n = 0; n < lesson->examples && !a.failed; n++) add_example(&a, lesson, n);
  const attn_bilingual_text title = attn_message_bilingual(MESSAGE_PICTURE_LESSON);
  if (!status && a.failed) status = attn_picture_no_memory(err);
  if (!status) status = attn_panels_draw(a.panel, a.panels, &title, format, style, sink, err);
  attn_lesson_panels_free(&a);
  return status;
}

attn_status attn_lesson_draw(const attn_lesson *lesson, attn_picture_format format,
                             const attn_style *style, const attn_sink *sink, attn_error *err) {
  struct attn_out out;
  if (!lesson || !lesson->examples)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "lesson",
                     "cannot draw: the lesson has no example with numbers");
  attn_status status = attn_out_open(&out, style, sink, err);
  if (status) return status;
  if (format == ATTN_PICTURE_HTML) return attn_lesson_page(NULL, lesson, &out, err);
  return draw(lesson, format, style, out.style.precision, sink, err);
}
