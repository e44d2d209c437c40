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

static void put(struct attn_out *out, const char *text) { attn_out_bytes(out, text, strlen(text)); }

/* ---- Texts ---- */

struct example_place {
  const attn_lesson *lesson;
  int32_t index;
};

static void example_title(struct attn_out *out, int language, const void *data) {
  const struct example_place *at = data;
  (void)language;
  attn_explain_title(out, at->lesson, at->index);
}

static void example_context(struct attn_out *out, int language, const void *data) {
  const struct example_place *at = data;
  (void)language;
  attn_explain_context(out, &at->lesson->example[at->index]);
}

/* ---- A step ---- */

struct step_place {
  int32_t example, index, number;
  const attn_example *e;
  const attn_step *s;
  const attn_step_verdict *verdict;
  struct attn_explanation *in; /* per language */
};

static void step_name(struct attn_out *out, int language, const void *data) {
  const struct step_place *at = data;
  (void)language;
  attn_explain_name(out, at->s, at->number);
}

static void step_size(struct attn_out *out, int language, const void *data) {
  const struct step_place *at = data;
  (void)language;
  attn_explain_size(out, at->e, at->s);
}

static void step_values(struct attn_out *out, int language, const void *data) {
  const struct step_place *at = data;
  at->in[language].out = out;
  attn_explain_values(&at->in[language], at->s);
}

static void step_differences(struct attn_out *out, int language, const void *data) {
  const struct step_place *at = data;
  (void)language;
  attn_explain_differences(out, at->e, at->s, at->verdict);
}

static int is_unique(const attn_example *e, const attn_step *s) {
  int count = 0;
  for (const attn_step *one = e->step; one < e->step + e->steps; one++)
    count += one->name == s->name && one->head == s->head;
  return count == 1;
}

const char *attn_step_id(const attn_lesson *lesson, int32_t example, const attn_step *s,
                         char text[ATTN_STEP_ID_BYTES]) {
  const attn_example *e = &lesson->example[example];
  int n = 0;
  if (example) n += snprintf(text, ATTN_STEP_ID_BYTES, "e%d-", (int)example + 1);
  if (s->head >= 0)
    n += snprintf(text + n, ATTN_STEP_ID_BYTES - (size_t)n, "h%d-", (int)s->head + 1);
  n += snprintf(text + n, ATTN_STEP_ID_BYTES - (size_t)n, "%s", attn_step_label(s->name));
  if (!is_unique(e, s))
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
  put(p->out, "<h3>");
  attn_page_both(p->out, "span", step_name, at);
  attn_put_math(p->out, attn_symbol_text(at->s, symbol));
  attn_formula_text(at->e, at->s, p->out->style.precision, formula);
  if (*formula) attn_put_math(p->out, "="), attn_put_math(p->out, formula);
  put(p->out, "<span class=\"note\">");
  attn_page_both(p->out, "span", step_size, at);
  put(p->out, "</span></h3>\n");
}

static void put_step(struct lesson_page *p, const struct step_place *at) {
  const struct prepared_step *prepared = &p->prepared[p->steps + at->index];
  char id[ATTN_STEP_ID_BYTES];
  attn_step_id(p->lesson, at->example, at->s, id);
  put(p->out, "<section class=\"step "), put(p->out, class_of(at->s));
  if (at->s->op == ATTN_OP_GIVEN) put(p->out, " input");
  put(p->out, "\" id=\""), put(p->out, id), put(p->out, "\" tabindex=\"-1\">\n");
  put_heading(p, at);
  put(p->out, "<div class=\"pair\">\n");
  attn_put_step_table(p->out, p->lesson, at->example, at->s, prepared->marked);
  put(p->out, "<div class=\"words\">\n");
  attn_page_both(p->out, "p", step_values, at);
  if (prepared->marked) {
    put(p->out, "<div class=\"differences\">\n");
    attn_page_both(p->out, "p", step_differences, at);
    put(p->out, "</div>\n");
  }
  put(p->out, "</div></div>\n");
  if (prepared->plot) attn_html_panel(p->out, prepared->plot, prepared->plot_number);
  put(p->out, "</section>\n");
}

/* ---- The page ---- */

/* Calls put for each step of an example: given steps first, as in attn_lesson_explain. */
static void each_step(struct lesson_page *p, int32_t example,
                      void (*put_one)(struct lesson_page *p, const struct step_place *at)) {
  const attn_example *e = &p->lesson->example[example];
  struct step_place at = {.example = example, .e = e, .in = p->in};
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
  put(p->out, "<li><a href=\"#");
  put(p->out, attn_step_id(p->lesson, at->example, at->s, id));
  put(p->out, "\" class=\""), put(p->out, class_of(at->s)), put(p->out, "\" aria-label=\"");
  put_link_name(p->out, attn_symbol_text(at->s, symbol)), put(p->out, "\">");
  attn_put_math(p->out, symbol);
  put(p->out, "</a></li>\n");
}

static void put_button(struct attn_out *out, const char *id, int message) {
  put(out, "<button type=\"button\" id=\""), put(out, id), put(out, "\">");
  attn_page_message(out, message);
  put(out, "</button>\n");
}

static void put_steps(struct lesson_page *p) {
  put(p->out, "<nav><h2>");
  attn_page_message(p->out, MESSAGE_PAGE_STEPS);
  put(p->out, "</h2>\n<div class=\"controls\" hidden=\"hidden\">\n");
  put_button(p->out, "previous", MESSAGE_PAGE_PREVIOUS);
  put_button(p->out, "play", MESSAGE_PAGE_PLAY);
  put_button(p->out, "next", MESSAGE_PAGE_NEXT);
  put(p->out, "</div>\n");
  for (int32_t n = 0; n < p->lesson->examples; n++) {
    put(p->out, "<ol>\n");
    each_step(p, n, put_link);
    put(p->out, "</ol>\n");
  }
  put(p->out, "</nav>\n");
}

/* ---- What the reader can change ---- */

static void put_check(struct attn_out *out, const char *id, int message) {
  put(out, "<label data-for=\""), put(out, id), put(out, "\"><input type=\"checkbox\" id=\"x-");
  put(out, id), put(out, "\"/>");
  attn_page_message(out, message);
  put(out, "</label>\n");
}

static void put_radio(struct attn_out *out, const char *id, int message) {
  put(out, "<label><input type=\"radio\" name=\"axis\" id=\"x-"), put(out, id), put(out, "\"/>");
  attn_page_message(out, message);
  put(out, "</label>\n");
}

/* low, high: base-2 logarithms. */
static void put_slider(struct attn_out *out, const char *id, int message, const char *range) {
  put(out, "<label data-for=\""), put(out, id), put(out, "\">");
  attn_page_message(out, message);
  put(out, "<input type=\"range\" step=\"0.05\" "), put(out, range), put(out, " id=\"x-");
  put(out, id), put(out, "\"/><output></output></label>\n");
}

static void put_slip(struct attn_out *out, const char *name, int message) {
  put(out, "<button type=\"button\" data-slip=\""), put(out, name), put(out, "\">");
  attn_page_message(out, message);
  put(out, "</button>\n");
}

static void put_changes(struct attn_out *out) {
  put(out, "<details class=\"live\" open=\"open\" hidden=\"hidden\"><summary>");
  attn_page_message(out, MESSAGE_PAGE_CHANGE);
  put(out, "</summary>\n<p class=\"note\">");
  attn_page_message(out, MESSAGE_PAGE_CHANGE_HINT);
  put(out, "</p>\n<p>");
  put_button(out, "x-undo", MESSAGE_PAGE_UNDO);
  put_button(out, "x-redo", MESSAGE_PAGE_REDO);
  put_button(out, "x-reset", MESSAGE_PAGE_RESET);
  put(out, "</p>\n<p data-for=\"order\">");
  put_button(out, "x-reverse", MESSAGE_PAGE_REVERSE);
  put(out, "</p><p class=\"note\" data-for=\"order\">");
  attn_page_message(out, MESSAGE_PAGE_REVERSE_HINT);
  put(out, "</p>\n");
  put_check(out, "scaled", MESSAGE_PAGE_SCALED);
  put_slider(out, "scale", MESSAGE_PAGE_SCALE, "min=\"-2\" max=\"8\"");
  put_slider(out, "temperature", MESSAGE_PAGE_TEMPERATURE, "min=\"-4\" max=\"4\"");
  put_check(out, "causal", MESSAGE_PAGE_CAUSAL);
  put(out, "<fieldset data-for=\"other\"><legend>");
  attn_page_message(out, MESSAGE_PAGE_AXIS);
  put(out, "</legend>");
  put_radio(out, "axis-rows", MESSAGE_PAGE_AXIS_ROWS);
  put_radio(out, "axis-columns", MESSAGE_PAGE_AXIS_COLUMNS);
  put(out, "</fieldset>\n<fieldset class=\"slips\" data-for=\"scale\"><legend>");
  attn_page_message(out, MESSAGE_PAGE_SLIPS);
  put(out, "</legend>");
  put_slip(out, "unscaled", MESSAGE_PAGE_SLIP_UNSCALED);
  put_slip(out, "by_dk", MESSAGE_PAGE_SLIP_BY_DK);
  put_slip(out, "columns", MESSAGE_PAGE_SLIP_COLUMNS);
  put_slip(out, "plain", MESSAGE_PAGE_SLIP_PLAIN);
  put(out, "</fieldset>\n<p>");
  put_button(out, "x-share", MESSAGE_PAGE_SHARE);
  put_button(out, "x-document", MESSAGE_PAGE_DOCUMENT);
  put(out, "</p></details>\n");
}

static void put_dialog(struct attn_out *out) {
  put(out,
      "<dialog id=\"x-text\" aria-labelledby=\"x-text-title\"><h2 id=\"x-text-title\"></h2>\n"
      "<textarea readonly=\"readonly\" rows=\"14\" cols=\"72\" spellcheck=\"false\" "
      "aria-labelledby=\"x-text-title\"></textarea>\n<p>");
  put_button(out, "x-copy", MESSAGE_PAGE_COPY);
  put_button(out, "x-close", MESSAGE_PAGE_CLOSE);
  put(out, "<output></output></p></dialog>\n");
}

static void put_example(struct lesson_page *p, int32_t n) {
  const attn_example *e = &p->lesson->example[n];
  const struct example_place place = {p->lesson, n};
  for (int language = 0; language < 2; language++) attn_explain_begin(&p->in[language], p->out, e);
  put(p->out, "<section class=\"example\">\n<h2>");
  attn_page_both(p->out, "span", example_title, &place);
  put(p->out, "</h2>\n");
  attn_page_both(p->out, "p", example_context, &place);
  each_step(p, n, put_step);
  put(p->out, "</section>\n");
  p->steps += e->steps;
}

/* What the script fills with the computation of one value. */
static void put_working_line(struct attn_out *out) {
  put(out,
      "<aside class=\"working\" hidden=\"hidden\" aria-live=\"polite\"><p class=\"how\"></p>"
      "<p class=\"reach\"></p><p class=\"note\">");
  attn_page_message(out, MESSAGE_PAGE_LEGEND);
  put(out, "</p></aside>\n");
}

/* They share one scope; lesson_page.js is the last. */
static void put_scripts(struct attn_out *out) {
  static const char *const scripts[] = {lesson_text_js,    lesson_words_js, lesson_operations_js,
                                        lesson_live_js,    lesson_plot_js,  lesson_document_js,
                                        lesson_controls_js};
  for (size_t n = 0; n < sizeof scripts / sizeof *scripts; n++) {
    put(out, "<script>//<![CDATA[\n");
    put(out, scripts[n]);
    put(out, "//]]></script>\n");
  }
}

static void put_body(struct lesson_page *p) {
  put(p->out, "<div class=\"page\">\n<div class=\"rail\">\n");
  put_steps(p);
  put_changes(p->out);
  put(p->out, "</div>\n<div class=\"story\">\n<p class=\"note hint\" hidden=\"hidden\">");
  attn_page_message(p->out, MESSAGE_PAGE_HINT);
  put(p->out, "</p>\n<p class=\"note still\" hidden=\"hidden\">");
  attn_page_message(p->out, MESSAGE_PAGE_STILL);
  put(p->out, "</p>\n");
  for (int32_t n = 0; n < p->lesson->examples; n++) put_example(p, n);
  put(p->out, "</div></div>\n");
  put_working_line(p->out);
  put_dialog(p->out);
  attn_put_lesson_data(p->out, p->lesson);
  put_scripts(p->out);
}

/* ---- Memory ---- */

static int32_t step_count(const attn_lesson *lesson) {
  int32_t count = 0;
  for (int32_t n = 0; n < lesson->examples; n++) count += lesson->example[n].steps;
  return count;
}

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
  p->prepared = calloc((size_t)step_count(p->lesson), sizeof *p->prepared);
  if (!p->prepared) return attn_picture_no_memory(err);
  for (int32_t n = 0; n < p->lesson->examples; p->steps += p->lesson->example[n++].steps)
    each_step(p, n, prepare_step);
  p->steps = 0;
  return p->plots.failed ? attn_picture_no_memory(err) : ATTN_OK;
}

static void release(struct lesson_page *p) {
  for (int32_t n = 0; p->prepared && n < step_count(p->lesson); n++) free(p->prepared[n].marked);
  free(p->prepared);
  attn_lesson_panels_free(&p->plots);
  attn_check_free(p->check);
}

attn_status attn_lesson_page_after(const struct attn_page_text *text, const attn_lesson *lesson,
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

attn_status attn_lesson_page(const attn_lesson *lesson, struct attn_out *out, attn_error *err) {
  return attn_lesson_page_after(NULL, lesson, out, err);
}
