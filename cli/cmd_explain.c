/* cmd_explain.c -- attn explain: every step of a worked example, as text or as a picture. */
#include <stdlib.h>
#include <string.h>

#include "attn/model.h"
#include "command.h"
#include "console.h"
#include "help_files.h"
#include "model_input.h"
#include "picture_files.h"

struct explain_options {
  attn_style style;
  const char *cell, *loss;
  int json, lesson, gradients;
  struct attn_cli_pictures pictures;
  struct attn_cli_attention_options attention; /* of a model */
};

/* ---- Output ---- */

struct lesson_picture {
  const attn_lesson *lesson;
  const attn_style *style;
};

static attn_status draw(const void *data, attn_picture_format format, const attn_sink *sink,
                        attn_error *err) {
  const struct lesson_picture *p = data;
  return attn_lesson_draw(p->lesson, format, p->style, sink, err);
}

static attn_status explain(const attn_lesson *lesson, const struct explain_options *o,
                           attn_error *err) {
  const attn_sink sink = attn_cli_stdout();
  const struct lesson_picture picture = {lesson, &o->style};
  for (int32_t n = 0; n < lesson->examples; n++) {
    const attn_example *e = &lesson->example[n];
    if (attn_cli_warn_of_glyphs(&o->pictures, (const char *const *)e->key_token, e->key_tokens))
      break;
  }
  if (attn_cli_has_pictures(&o->pictures))
    return attn_cli_write_pictures(&o->pictures, draw, &picture, err);
  if (o->cell) return attn_lesson_explain_cell(lesson, o->cell, &o->style, &sink, err);
  if (o->json) return attn_lesson_explain_json(lesson, &sink, err);
  return attn_lesson_explain(lesson, &o->style, &sink, err);
}

/* ---- Gradients ---- */

/* "d_q[0,1]", perhaps after "example 2: head 1:". */
static int is_gradient(const char *cell) {
  const char *open = cell ? strchr(cell, '[') : NULL, *at = open;
  while (at && at > cell && at[-1] != ' ' && at[-1] != ':') at--;
  return open && open - at > 2 && (at[0] == 'd' || at[0] == 'D') && at[1] == '_';
}

static attn_status explain_gradients(const attn_lesson *lesson, const struct explain_options *o,
                                     attn_error *err) {
  attn_cell_address loss;
  attn_lesson *gradients = NULL;
  attn_status status = o->loss ? attn_lesson_find_cell(lesson, o->loss, &loss, err) : ATTN_OK;
  if (!status) status = attn_lesson_gradients(lesson, o->loss ? &loss : NULL, &gradients, err);
  if (!status) status = explain(gradients, o, err);
  attn_lesson_free(gradients);
  return status;
}

/* A step of the document that is called d_... has precedence. */
static attn_status explain_any(const attn_lesson *lesson, const struct explain_options *o,
                               attn_error *err) {
  attn_cell_address unused;
  int is_own = o->cell && !attn_lesson_find_cell(lesson, o->cell, &unused, NULL);
  int wants = o->gradients || o->loss || (is_gradient(o->cell) && !is_own);
  return (wants ? explain_gradients : explain)(lesson, o, err);
}

/* ---- A head of a model ---- */

static attn_status write_lesson(const char *path, const struct explain_options *o,
                                const attn_sink *sink, attn_error *err) {
  const struct attn_cli_attention_options *a = &o->attention;
  attn_model *model;
  attn_status status = attn_model_open(path, &model, err);
  if (status) return status;
  attn_cli_warn_unknown_attention(a, model);
  status = attn_model_write_lesson(model, a->input, a->target, attn_cli_attention_kind(a, model),
                                   (int32_t)a->layer - 1, (int32_t)a->head - 1, (int32_t)a->threads,
                                   sink, err);
  attn_model_free(model);
  return status;
}

static attn_status read_head(const char *path, const struct explain_options *o,
                             attn_lesson **lesson, attn_error *err) {
  struct attn_cli_buffer buffer = {NULL, 0, 0, 0};
  const attn_sink sink = attn_cli_buffer_sink(&buffer);
  *lesson = NULL;
  attn_status status = write_lesson(path, o, &sink, err);
  if (!status) status = attn_lesson_read(buffer.bytes, buffer.size, path, lesson, err);
  free(buffer.bytes);
  return status;
}

/* ---- The command ---- */

static int is_model(const struct explain_options *o) {
  return o->attention.input || o->attention.target;
}

static int explain_file(const char *path, const void *options) {
  const struct explain_options *o = options;
  const attn_sink sink = attn_cli_stdout();
  attn_error err;
  attn_lesson *lesson;
  char *text = NULL;
  size_t bytes;
  if (o->lesson)
    return write_lesson(path, o, &sink, &err) ? attn_cli_report_error(path, &err) : EXIT_OK;
  attn_status status = is_model(o) ? read_head(path, o, &lesson, &err)
                                   : attn_cli_read_document(path, &lesson, &text, &bytes, &err);
  free(text);
  int is_read = !status, result = EXIT_TROUBLE;
  if (!status) status = explain_any(lesson, o, &err);
  if (status) /* after reading, ATTN_ERR_FILE is about the picture */
    result = attn_cli_report_error(is_read && status == ATTN_ERR_FILE ? NULL : path, &err);
  else if (lesson->examples)
    result = EXIT_OK;
  attn_lesson_free(lesson);
  return result;
}

static const char *conflict(const struct explain_options *o, int files) {
  int pictures = attn_cli_has_pictures(&o->pictures);
  const struct attn_cli_attention_options *a = &o->attention;
  if (!files) return "expected a file";
  if (o->cell && o->json) return "--cell writes text; leave out --json";
  if (pictures && (o->cell || o->json))
    return "--svg, --png and --html draw every step; leave out --cell and --json";
  if (pictures && (o->gradients || o->loss))
    return "--gradients writes text and JSON; leave out --svg, --png and --html";
  if (pictures && files > 1) return "a picture shows one file; run attn explain once per file";
  if (o->lesson && (o->cell || o->json || o->gradients || o->loss || pictures))
    return "--lesson writes the worked example; leave out --cell, --gradients, --loss, --json and "
           "pictures";
  if (!is_model(o) && (a->kind || o->lesson || a->layer > 1 || a->head > 1 || a->threads))
    return "--kind, --layer, --head, --threads and --lesson apply to a model; give --input TEXT";
  return NULL;
}

int attn_cmd_explain(int argc, char **argv) {
  struct explain_options o = {.attention = {.layer = 1, .head = 1}};
  struct attn_cli_style_options style = ATTN_CLI_STYLE_DEFAULTS;
  int files;
  const struct attn_cli_option table[] = {
      {"--cell", OPTION_TEXT, &o.cell, NULL},     {"--gradients", OPTION_FLAG, &o.gradients, NULL},
      {"--loss", OPTION_TEXT, &o.loss, NULL},     {"--json", OPTION_FLAG, &o.json, NULL},
      {"--lesson", OPTION_FLAG, &o.lesson, NULL}, ATTN_CLI_PICTURE_OPTIONS(&o.pictures),
      ATTN_CLI_ATTENTION_OPTIONS(&o.attention),   ATTN_CLI_STYLE_OPTIONS(&style)};
  const int ended = attn_cli_parse_options(argc, argv, explain_txt, ATTN_CLI_TABLE(table), &files);
  if (ended >= 0) return ended;
  const char *message = conflict(&o, files);
  if (message) return attn_cli_print_usage_error("%s", message);
  const char *const out[] = {o.pictures.svg, o.pictures.png, o.pictures.html};
  for (int n = 0; n < 3; n++)
    if (attn_cli_is_document(out[n], argv[1]))
      return attn_cli_print_usage_error("%s is the document itself; name another file", out[n]);
  if (attn_cli_check_attention(&o.attention, 1) || attn_cli_parse_style(&style, &o.style))
    return EXIT_TROUBLE;
  return attn_cli_for_each_file(files, argv, explain_file, &o);
}
