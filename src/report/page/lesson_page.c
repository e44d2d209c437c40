/* lesson_page.c -- a lesson as one HTML page: a story of steps in one column, and a rail of links
 * to them. The page has both languages, needs no network, and is well-formed XML. */
#include "lesson_page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explain.h"
#include "canvas.h"
#include "html.h"
#include "lesson_page_files.h"
#include "lesson_panels.h"
#include "markdown.h"
#include "page_text.h"

/* What needs memory, made before the first byte is written. */
struct prepared_step {
  const attn_panel *plot; /* queries and keys in the plane, or NULL */
  int32_t plot_number;
  unsigned char *marked; /* attn_explain_marks */
};

struct lesson_page {
  struct attn_out *out;
  const attn_lesson *lesson;
  attn_check *check;
  struct attn_lesson_panels plots;
  struct attn_explanation in[2];  /* per language */
  struct prepared_step *prepared; /* of all steps of all examples */
  int32_t steps;                  /* written before this example */
};

/* A step of an example. */
struct step_place {
  int32_t example, index, number;
  const attn_example *e;
  const attn_step *s;
  const attn_step_verdict *verdict;
};

/* ---- A step ---- */

const char *attn_step_id(const attn_lesson *lesson, int32_t example, const attn_step *s,
                         char text[ATTN_STEP_ID_BYTES]) {
  const attn_example *e = &lesson->example[example];
  int n = 0;
  if (example) n += snprintf(text, ATTN_STEP_ID_BYTES, "e%d-", (int)example + 1);
  if (s->head >= 0)
    n += snprintf(text + n, ATTN_STEP_ID_BYTES - (size_t)n, "h%d-", (int)s->head + 1);
  n += snprintf(text + n, ATTN_STEP_ID_BYTES - (size_t)n, "%s", attn_step_label(s->name));
  if (!attn_step_is_alone(e, s))
    snprintf(text + n, ATTN_STEP_ID_BYTES - (size_t)n, ".%d", (int)(s - e->step) + 1);
  return text;
}

/* Queries, keys and values have one colour each, with the weights that project to them. */
static const char *class_of(const attn_step *s) {
  switch (s->name) {
    case ATTN_STEP_Q:
    case ATTN_STEP_W_Q:
      return "q";
    case ATTN_STEP_K:
    case ATTN_STEP_W_K:
      return "k";
    case ATTN_STEP_V:
    case ATTN_STEP_W_V:
      return "v";
    case ATTN_STEP_WEIGHTS:
      return "weights";
    default:
      return "other";
  }
}

static void put_heading(struct lesson_page *p, const struct step_place *at) {
  char formula[ATTN_FORMULA_BYTES], symbol[ATTN_LABEL_BYTES];
  attn_put(p->out, "<h3>");
  for (struct attn_page_languages both = {.page = p->out, .tag = "span"}; attn_page_next(&both);)
    attn_explain_name(&both.text, at->s, at->number);
  attn_put_math(p->out, attn_symbol_text(at->s, symbol));
  attn_formula_text(at->e, at->s, p->out->style.precision, formula);
  if (*formula) attn_put_math(p->out, "="), attn_put_math(p->out, formula);
  attn_put(p->out, "<span class=\"note\">");
  for (struct attn_page_languages both = {.page = p->out, .tag = "span"}; attn_page_next(&both);)
    attn_explain_size(&both.text, at->e, at->s);
  attn_put(p->out, "</span></h3>\n");
}

static void put_step(struct lesson_page *p, const struct step_place *at) {
  const struct prepared_step *prepared = &p->prepared[p->steps + at->index];
  char id[ATTN_STEP_ID_BYTES];
  attn_putf(p->out, "<section class=\"step %s%s\" id=\"%s\" tabindex=\"-1\">\n", class_of(at->s),
            at->s->op == ATTN_OP_GIVEN ? " input" : "",
            attn_step_id(p->lesson, at->example, at->s, id));
  put_heading(p, at);
  attn_put(p->out, "<div class=\"pair\">\n");
  attn_put_step_table(p->out, p->lesson, at->example, at->s, prepared->marked);
  attn_put(p->out, "<div class=\"words\">\n");
  for (struct attn_page_languages both = {.page = p->out, .tag = "p"}; attn_page_next(&both);) {
    struct attn_explanation *t = &p->in[both.text.style.language];
    t->out = &both.text;
    attn_explain_values(t, at->s);
  }
  if (prepared->marked) {
    attn_put(p->out, "<div class=\"differences\">\n");
    for (struct attn_page_languages both = {.page = p->out, .tag = "p"}; attn_page_next(&both);)
      attn_explain_differences(&both.text, at->e, at->s, at->verdict);
    attn_put(p->out, "</div>\n");
  }
  attn_put(p->out, "</div></div>\n");
  if (prepared->plot) attn_html_panel(p->out, prepared->plot, prepared->plot_number);
  attn_put(p->out, "</section>\n");
}

/* ---- The page ---- */

/* Calls put for each step of an example: given steps first, as in attn_lesson_explain. */
static void each_step(struct lesson_page *p, int32_t example,
                      void (*put_one)(struct lesson_page *p, const struct step_place *at)) {
  const attn_example *e = &p->lesson->example[example];
  struct step_place at = {.example = example, .e = e};
  for (int computed = 0; computed < 2; computed++)
    for (int32_t n = 0; n < e->steps && !p->out->failed; n++) {
      at.s = &e->step[n], at.index = n;
      if ((at.s->op != ATTN_OP_GIVEN) != computed) continue;
      at.verdict = computed ? attn_explain_verdict(&p->check->example[example], n) : NULL;
      at.number++;
      put_one(p, &at);
    }
}

/* What the reader sees of a symbol, as the name of its link: "WQ" of W_Q, "WQ,1" of W_Q_1. */
static void put_link_name(struct attn_out *out, const char *symbol) {
  char name[ATTN_LABEL_BYTES];
  size_t n = 0;
  for (int scripts = 0; *symbol && n + 1 < sizeof name; symbol++) {
    if (*symbol == ' ') scripts = 0;
    if (*symbol == '_' && scripts++)
      name[n++] = ',';
    else if (!strchr("_^{}", *symbol))
      name[n++] = *symbol;
  }
  name[n] = 0;
  attn_xml_text(out, name);
}

static void put_link(struct lesson_page *p, const struct step_place *at) {
  char id[ATTN_STEP_ID_BYTES], symbol[ATTN_LABEL_BYTES];
  attn_putf(p->out, "<li><a href=\"#%s\" class=\"%s\" aria-label=\"",
            attn_step_id(p->lesson, at->example, at->s, id), class_of(at->s));
  put_link_name(p->out, attn_symbol_text(at->s, symbol)), attn_put(p->out, "\">");
  attn_put_math(p->out, symbol);
  attn_put(p->out, "</a></li>\n");
}

static void put_example(struct lesson_page *p, int32_t n) {
  const attn_example *e = &p->lesson->example[n];
  for (int language = 0; language < 2; language++) attn_explain_begin(&p->in[language], p->out, e);
  attn_put(p->out, "<section class=\"example\">\n<h2>");
  for (struct attn_page_languages both = {.page = p->out, .tag = "span"}; attn_page_next(&both);)
    attn_explain_title(&both.text, p->lesson, n);
  attn_put(p->out, "</h2>\n");
  for (struct attn_page_languages both = {.page = p->out, .tag = "p"}; attn_page_next(&both);)
    attn_explain_context(&both.text, e);
  each_step(p, n, put_step);
  attn_put(p->out, "</section>\n");
  p->steps += e->steps;
}

/* They share one scope; lesson_page.js is the last. */
static void put_scripts(struct attn_out *out) {
  static const char *const scripts[] = {lesson_text_js,    lesson_words_js, lesson_operations_js,
                                        lesson_live_js,    lesson_plot_js,  lesson_document_js,
                                        lesson_controls_js};
  for (size_t n = 0; n < sizeof scripts / sizeof *scripts; n++) {
    attn_put(out, "<script>//<![CDATA[\n");
    attn_put(out, scripts[n]);
    attn_put(out, "//]]></script>\n");
  }
}

/* Writes a text up to a mark, and returns what follows. */
static const char *put_until(struct attn_out *out, const char *text, const char *mark) {
  const char *end = strstr(text, mark);
  attn_out_bytes(out, text, (size_t)(end - text));
  return end + strlen(mark);
}

static void put_body(struct lesson_page *p) {
  const char *rest = put_until(p->out, lesson_page_html, "{{links}}\n");
  for (int32_t n = 0; n < p->lesson->examples; n++) {
    attn_put(p->out, "<ol>\n");
    each_step(p, n, put_link);
    attn_put(p->out, "</ol>\n");
  }
  rest = put_until(p->out, rest, "{{examples}}\n");
  for (int32_t n = 0; n < p->lesson->examples; n++) put_example(p, n);
  attn_put(p->out, rest);
  attn_put_lesson_data(p->out, p->lesson);
  put_scripts(p->out);
}

/* ---- Memory ---- */

static void prepare_step(struct lesson_page *p, const struct step_place *at) {
  const attn_bilingual_text none = {NULL, NULL};
  struct prepared_step *prepared = &p->prepared[p->steps + at->index];
  attn_status status = ATTN_OK;
  prepared->plot = attn_lesson_arrows(&p->plots, at->e, at->s, none);
  prepared->plot_number = p->plots.panels - 1;
  prepared->marked = attn_explain_marks(at->s, at->verdict, &status);
  p->plots.failed |= status != ATTN_OK;
}

static attn_status prepare(struct lesson_page *p, attn_error *err) {
  attn_status status = attn_lesson_check(p->lesson, &p->check, err);
  if (!status)
    status = attn_lesson_panels_begin(&p->plots, p->lesson, p->out->style.precision, 0, err);
  if (status) return status;
  p->prepared = calloc((size_t)attn_step_count(p->lesson), sizeof *p->prepared);
  if (!p->prepared) return attn_picture_no_memory(err);
  for (int32_t n = 0; n < p->lesson->examples; p->steps += p->lesson->example[n++].steps)
    each_step(p, n, prepare_step);
  p->steps = 0;
  return p->plots.failed ? attn_picture_no_memory(err) : ATTN_OK;
}

static void release(struct lesson_page *p) {
  for (int32_t n = 0; p->prepared && n < attn_step_count(p->lesson); n++)
    free(p->prepared[n].marked);
  free(p->prepared);
  attn_lesson_panels_free(&p->plots);
  attn_check_free(p->check);
}

attn_status attn_lesson_page(const struct attn_page_text *text, const attn_lesson *lesson,
                             struct attn_out *out, attn_error *err) {
  struct lesson_page p = {.out = out, .lesson = lesson};
  attn_bilingual_text title = attn_message_bilingual(MESSAGE_PICTURE_LESSON);
  if (text) title = (attn_bilingual_text){text->title, text->title};
  attn_status status = prepare(&p, err);
  if (!status) {
    attn_html_begin(out, &title, lesson_page_css);
    if (text) attn_put_markdown(out, text->markdown);
    put_body(&p);
    attn_html_end(out, lesson_page_js);
    status = attn_out_end(out, err);
  }
  release(&p);
  return status;
}
