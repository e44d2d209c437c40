/* cmd_explain.c -- attn explain: every step of a worked example, in words or as a picture. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attn/model.h"
#include "command.h"
#include "console.h"
#include "picture_files.h"
#include "unknown_tokens.h"

static const char help[] =
    "attn explain - every step of a worked example, with its numbers\n\n"
    "usage: attn explain FILE... [OPTION...]\n"
    "       attn explain CHECKPOINT --input TEXT [OPTION...]\n\n"
    "  --cell NAME[R,C]   the whole sum behind one number: weights[2,0]. Bare digits are a row's "
    "or\n"
    "                     column's number from 0; anything else is a token's name: "
    "weights[cats,I].\n"
    "                     A name of digits, or with a comma or bracket, goes in quotes:\n"
    "                     weights[\"2\",0]. \"example 2:\" and \"head 1:\" before it where there "
    "are\n"
    "                     several\n"
    "  --json             one object a file\n"
    "  --svg OUT, --png OUT, --html OUT\n"
    "                     every step as a picture: matrices, weights as heat maps, queries and\n"
    "                     keys of two numbers as arrows. html is one page that needs no network,\n"
    "                     in both languages, light and dark; png has ASCII letters only\n"
    "  --input TEXT       what a trained model reads: one of its heads as a lesson, its q and k\n"
    "                     given; --target TEXT [what it says; a decoder alone reads it behind\n"
    "                     --input], --kind cross|encoder|decoder,\n"
    "                     --layer N [1], --head N [1]; --lesson writes the lesson itself\n"
    "  --lang en|ja       else as LANG says\n"
    "  --precision N      digits behind the point\n"
    "  --color auto|always|never, --width N\n\n"
    "examples:\n  attn explain lesson.md\n  attn explain lesson.md --cell 'weights[0,1]' --lang "
    "ja\n  attn explain lesson.md --html lesson.html\n  attn explain lesson.md --svg lesson.svg "
    "--lang ja --precision 2\n"
    "  attn explain dates.safetensors --input '12 May 1991' --cell 'weights[0,7]'\n";

struct wishes {
  attn_style style;
  const char *cell;
  int json;
  struct attn_cli_pictures drawing;
  const char *input, *target, *kind; /* of a checkpoint */
  int64_t layer, head, threads;
  int lesson;
};

/* ---- What is told of a lesson ---- */

struct scene {
  const attn_lesson *lesson;
  const attn_style *style;
};

static attn_status draw(const void *what, attn_picture_format format, const attn_sink *sink,
                        attn_error *err) {
  const struct scene *scene = what;
  return attn_lesson_draw(scene->lesson, format, scene->style, sink, err);
}

static attn_status explain(const attn_lesson *lesson, const struct wishes *w, attn_error *err) {
  const attn_sink sink = attn_cli_stdout();
  const struct scene scene = {lesson, &w->style};
  if (attn_cli_has_pictures(&w->drawing))
    return attn_cli_write_pictures(&w->drawing, draw, &scene, err);
  if (w->cell) return attn_lesson_explain_cell(lesson, w->cell, &w->style, &sink, err);
  if (w->json) return attn_lesson_explain_json(lesson, &sink, err);
  return attn_lesson_explain(lesson, &w->style, &sink, err);
}

/* ---- A model's attention, as the lesson that it is ---- */

static attn_attention_kind kind_of(const struct wishes *w, const attn_model *model) {
  attn_model_facts facts = {.struct_size = sizeof facts};
  attn_model_describe(model, &facts, NULL);
  if (w->kind)
    return *w->kind == 'e'   ? ATTN_ATTENTION_ENCODER
           : *w->kind == 'd' ? ATTN_ATTENTION_DECODER
                             : ATTN_ATTENTION_CROSS;
  if (!facts.decoder_layers) return ATTN_ATTENTION_ENCODER;
  return facts.encoder_layers ? ATTN_ATTENTION_CROSS : ATTN_ATTENTION_DECODER;
}

static attn_status write_lesson(const char *path, const struct wishes *w, const attn_sink *sink,
                                attn_error *err) {
  attn_model *model;
  attn_status status = attn_model_open(path, &model, err);
  if (status) return status;
  if (w->input) attn_cli_warn_unknown_tokens("--input", 0, model, w->input);
  if (w->target) attn_cli_warn_unknown_tokens("--target", 0, model, w->target);
  status =
      attn_model_write_lesson(model, w->input, w->target, kind_of(w, model), (int32_t)w->layer - 1,
                              (int32_t)w->head - 1, (int32_t)w->threads, sink, err);
  attn_model_free(model);
  return status;
}

static attn_status read_model(const char *path, const struct wishes *w, attn_lesson **lesson,
                              attn_error *err) {
  struct attn_cli_buffer kept = {NULL, 0, 0, 0};
  const attn_sink sink = attn_cli_buffer_sink(&kept);
  *lesson = NULL;
  attn_status status = write_lesson(path, w, &sink, err);
  if (!status) status = attn_lesson_read(kept.bytes, kept.size, path, lesson, err);
  free(kept.bytes);
  return status;
}

static int reads_model(const struct wishes *w) { return w->input || w->target; }

static int explain_file(const char *path, const void *wishes) {
  const struct wishes *w = wishes;
  const attn_sink sink = attn_cli_stdout();
  attn_error err;
  attn_lesson *lesson;
  if (w->lesson)
    return write_lesson(path, w, &sink, &err) ? attn_cli_report_error("explain", path, &err)
                                              : EXIT_OK;
  attn_status status = reads_model(w) ? read_model(path, w, &lesson, &err)
                                      : attn_cli_read_lesson(path, &lesson, &err);
  int reads = !status;
  if (!status) status = explain(lesson, w, &err);
  int writes =
      reads && status == ATTN_ERR_FILE; /* the picture is at fault then, not the document */
  int result = status             ? attn_cli_report_error("explain", writes ? NULL : path, &err)
               : lesson->examples ? EXIT_OK
                                  : EXIT_TROUBLE;
  attn_lesson_free(lesson);
  return result;
}

/* What does not go together; 0, or -1 after a message. */
static int refuse(const struct wishes *w, int files) {
  const char *why = NULL;
  if (!files)
    why = "which file?";
  else if (w->cell && w->json)
    why = "--cell writes text; leave out --json";
  else if (attn_cli_has_pictures(&w->drawing) && (w->cell || w->json))
    why = "--svg, --png and --html draw every step; leave out --cell and --json";
  else if (attn_cli_has_pictures(&w->drawing) && files > 1)
    why = "a picture is of one file; call attn once for each";
  else if (w->kind && strcmp(w->kind, "cross") && strcmp(w->kind, "encoder") &&
           strcmp(w->kind, "decoder"))
    why = "--kind may be cross, encoder or decoder";
  else if (w->layer < 1 || w->layer > INT32_MAX || w->head < 1 || w->head > INT32_MAX)
    why = "--layer and --head count from 1";
  else if (w->threads < 0 || w->threads > 1024)
    why = "--threads may be 0 to 1024";
  else if (w->lesson && (w->cell || w->json || attn_cli_has_pictures(&w->drawing)))
    why = "--lesson writes the lesson; leave out --cell, --json and pictures";
  else if (!reads_model(w) && (w->kind || w->lesson || w->layer > 1 || w->head > 1 || w->threads))
    why = "--kind, --layer, --head, --threads and --lesson are of a checkpoint: give it an --input";
  if (why) attn_cli_print_usage_error("explain", "%s", why);
  return why ? -1 : 0;
}

int attn_cmd_explain(int argc, char **argv) {
  struct wishes w = {.layer = 1, .head = 1};
  const char *lang = NULL, *color = NULL;
  int64_t width = 0, precision = -1;
  int wants_help = 0, files;
  const struct attn_cli_option table[] = {
      {"--cell", OPTION_TEXT, &w.cell, NULL},         {"--json", OPTION_FLAG, &w.json, NULL},
      {"--svg", OPTION_TEXT, &w.drawing.svg, NULL},   {"--png", OPTION_TEXT, &w.drawing.png, NULL},
      {"--html", OPTION_TEXT, &w.drawing.html, NULL}, {"--input", OPTION_TEXT, &w.input, NULL},
      {"--target", OPTION_TEXT, &w.target, NULL},     {"--kind", OPTION_TEXT, &w.kind, NULL},
      {"--layer", OPTION_INT, &w.layer, NULL},        {"--head", OPTION_INT, &w.head, NULL},
      {"--threads", OPTION_INT, &w.threads, NULL},    {"--lesson", OPTION_FLAG, &w.lesson, NULL},
      {"--lang", OPTION_TEXT, &lang, NULL},           {"--color", OPTION_TEXT, &color, NULL},
      {"--width", OPTION_INT, &width, NULL},          {"--precision", OPTION_INT, &precision, NULL},
      {"--help", OPTION_FLAG, &wants_help, NULL},     {"-h", OPTION_FLAG, &wants_help, NULL}};
  if (attn_cli_parse_options(argc, argv, table, sizeof table / sizeof *table, &files))
    return EXIT_TROUBLE;
  if (wants_help) return fputs(help, stdout), EXIT_OK;
  if (refuse(&w, files)) return EXIT_TROUBLE;
  if (attn_cli_parse_style(&w.style, lang, color, width, precision)) return EXIT_TROUBLE;
  return attn_cli_for_each_file(files, argv, explain_file, &w);
}
