/* cmd_explain.c -- attn explain: every step of a worked example. */
#include <stdio.h>

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
    "  --lang en|ja       else as LANG says\n"
    "  --precision N      digits behind the point\n"
    "  --color auto|always|never, --width N\n\n"
    "examples:\n  attn explain lesson.md\n  attn explain lesson.md --cell 'weights[0,1]' --lang "
    "ja\n";

struct wishes {
  attn_style style;
  const char *cell;
  int json;
};

static attn_status explain(const attn_lesson *lesson, const struct wishes *w, attn_error *err) {
  const attn_sink sink = attn_cli_stdout();
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

int attn_cmd_explain(int argc, char **argv) {
  struct wishes w = {.cell = NULL};
  const char *lang = NULL, *color = NULL;
  int64_t width = 0, precision = -1;
  int wants_help = 0, files;
  const struct attn_cli_option table[] = {
      {"--cell", OPTION_TEXT, &w.cell, NULL},     {"--json", OPTION_FLAG, &w.json, NULL},
      {"--lang", OPTION_TEXT, &lang, NULL},       {"--color", OPTION_TEXT, &color, NULL},
      {"--width", OPTION_WHOLE, &width, NULL},    {"--precision", OPTION_WHOLE, &precision, NULL},
      {"--help", OPTION_FLAG, &wants_help, NULL}, {"-h", OPTION_FLAG, &wants_help, NULL}};
  if (attn_cli_options(argc, argv, table, 8, &files)) return EXIT_TROUBLE;
  if (wants_help) return fputs(help, stdout), EXIT_FINE;
  if (!files)
    return fprintf(stderr, "attn explain: which file?\nTry: attn explain --help\n"), EXIT_TROUBLE;
  if (w.cell && w.json)
    return fprintf(stderr, "attn explain: --cell writes text; leave out --json\n"), EXIT_TROUBLE;
  if (attn_cli_style(&w.style, lang, color, width, precision)) return EXIT_TROUBLE;
  return attn_cli_each(files, argv, explain_file, &w);
}
