/* cmd_explain.c -- attn explain: every step of a worked example, in words or as a picture. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attn/io.h"
#include "attn/picture.h"

#include "command.h"
#include "console.h"

static const char help[] =
    "attn explain - every step of a worked example, with its numbers\n\n"
    "usage: attn explain FILE... [OPTION...]\n\n"
    "  --cell NAME[R,C]   the whole sum behind one number: weights[2,0], counted from 0, or by "
    "token\n"
    "                     name, with \"example 2:\" and \"head 1:\" before it where there are "
    "several\n"
    "  --json             one object a file\n"
    "  --svg OUT, --png OUT, --html OUT\n"
    "                     every step as a picture: matrices, weights as heat maps, queries and\n"
    "                     keys of two numbers as arrows. html is one page that needs no network,\n"
    "                     in both languages, light and dark; png has ASCII letters only\n"
    "  --lang en|ja       else as LANG says\n"
    "  --precision N      digits behind the point\n"
    "  --color auto|always|never, --width N\n\n"
    "examples:\n  attn explain lesson.md\n  attn explain lesson.md --cell 'weights[0,1]' --lang "
    "ja\n  attn explain lesson.md --html lesson.html\n  attn explain lesson.md --svg lesson.svg "
    "--lang ja --precision 2\n";

struct wishes {
  attn_style style;
  const char *cell;
  int json;
  const char *drawing[3]; /* where to: an SVG, a PNG, a page */
};

/* ---- Pictures: collected first, so that the file appears whole or not at all ---- */

struct collected {
  char *bytes;
  size_t size, room;
  int full;
};

static int collect(void *context, const char *bytes, size_t size) {
  struct collected *c = context;
  if (size > c->room - c->size) {
    size_t room = c->room < 65536 ? 65536 : c->room;
    while (room - c->size < size && room <= SIZE_MAX / 2) room *= 2;
    char *grown = room - c->size < size ? NULL : realloc(c->bytes, room);
    if (!grown) return c->full = 1;
    c->bytes = grown;
    c->room = room;
  }
  memcpy(c->bytes + c->size, bytes, size);
  c->size += size;
  return 0;
}

static attn_status draw(const attn_lesson *lesson, attn_picture_format format, const char *path,
                        const attn_style *style, attn_error *err) {
  struct collected c = {NULL, 0, 0, 0};
  const attn_sink sink = {&c, collect};
  attn_status status = attn_lesson_draw(lesson, format, style, &sink, err);
  if (status && c.full) {
    status = err->status = ATTN_ERR_MEMORY;
    snprintf(err->message, sizeof err->message, "no memory for the picture");
  }
  if (!status) status = attn_file_write(path, c.bytes, c.size, err);
  free(c.bytes);
  return status;
}

static attn_status draw_all(const attn_lesson *lesson, const struct wishes *w, attn_error *err) {
  static const attn_picture_format formats[] = {ATTN_PICTURE_SVG, ATTN_PICTURE_PNG,
                                                ATTN_PICTURE_HTML};
  attn_status status = ATTN_OK;
  for (int n = 0; n < 3 && !status; n++)
    if (w->drawing[n]) status = draw(lesson, formats[n], w->drawing[n], &w->style, err);
  return status;
}

static int draws(const struct wishes *w) { return w->drawing[0] || w->drawing[1] || w->drawing[2]; }

/* ---- Words ---- */

static attn_status explain(const attn_lesson *lesson, const struct wishes *w, attn_error *err) {
  const attn_sink sink = attn_cli_stdout();
  if (draws(w)) return draw_all(lesson, w, err);
  if (w->cell) return attn_lesson_explain_cell(lesson, w->cell, &w->style, &sink, err);
  if (w->json) return attn_lesson_explain_json(lesson, &sink, err);
  return attn_lesson_explain(lesson, &w->style, &sink, err);
}

static int explain_file(const char *path, const void *wishes) {
  const struct wishes *w = wishes;
  attn_error err;
  attn_lesson *lesson;
  attn_status status = attn_cli_lesson(path, &lesson, &err);
  if (!status) status = explain(lesson, w, &err);
  int result = status             ? attn_cli_fail("explain", path, &err)
               : lesson->examples ? EXIT_FINE
                                  : EXIT_TROUBLE;
  attn_lesson_free(lesson);
  return result;
}

/* What does not go together; 0, or -1 after a message. */
static int refuse(const struct wishes *w, int files) {
  const char *why = NULL;
  if (!files)
    why = "which file?\nTry: attn explain --help";
  else if (w->cell && w->json)
    why = "--cell writes text; leave out --json";
  else if (draws(w) && (w->cell || w->json))
    why = "--svg, --png and --html draw every step; leave out --cell and --json";
  else if (draws(w) && files > 1)
    why = "a picture is of one file; call attn once for each";
  if (why) fprintf(stderr, "attn explain: %s\n", why);
  return why ? -1 : 0;
}

int attn_cmd_explain(int argc, char **argv) {
  struct wishes w = {.cell = NULL};
  const char *lang = NULL, *color = NULL;
  int64_t width = 0, precision = -1;
  int wants_help = 0, files;
  const struct attn_cli_option table[] = {
      {"--cell", OPTION_TEXT, &w.cell, NULL},          {"--json", OPTION_FLAG, &w.json, NULL},
      {"--svg", OPTION_TEXT, &w.drawing[0], NULL},     {"--png", OPTION_TEXT, &w.drawing[1], NULL},
      {"--html", OPTION_TEXT, &w.drawing[2], NULL},    {"--lang", OPTION_TEXT, &lang, NULL},
      {"--color", OPTION_TEXT, &color, NULL},          {"--width", OPTION_WHOLE, &width, NULL},
      {"--precision", OPTION_WHOLE, &precision, NULL}, {"--help", OPTION_FLAG, &wants_help, NULL},
      {"-h", OPTION_FLAG, &wants_help, NULL}};
  if (attn_cli_options(argc, argv, table, sizeof table / sizeof *table, &files))
    return EXIT_TROUBLE;
  if (wants_help) return fputs(help, stdout), EXIT_FINE;
  if (refuse(&w, files)) return EXIT_TROUBLE;
  if (attn_cli_style(&w.style, lang, color, width, precision)) return EXIT_TROUBLE;
  return attn_cli_each(files, argv, explain_file, &w);
}
