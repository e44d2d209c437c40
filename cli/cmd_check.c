/* cmd_check.c -- attn check: judge the numbers of worked examples. */
#include <stdio.h>

#include "command.h"
#include "console.h"

static const char help[] =
    "attn check - judge the numbers of worked examples of attention\n\n"
    "usage: attn check FILE... [OPTION...]\n\n"
    "Recomputes every step from the document's own givens and names the first wrong number. FILE "
    "is\n"
    "Markdown, plain text or a Python snippet, in English or Japanese; - is standard input.\n\n"
    "  --json             one line of JSON a file (docs/check.schema.json)\n"
    "  --lang en|ja       the language of the answer; else as LANG says\n"
    "  --precision N      digits behind the point\n"
    "  --color WHEN, --width N, --quiet\n\n"
    "exit status: 0 right, or nothing certainly wrong; 1 something wrong; 2 trouble\n\n"
    "examples:\n  attn check lesson.md\n  attn check --json *.md\n";

struct wishes {
  attn_style style;
  int json, quiet;
};

static int bad_file(const char *path, const struct wishes *w, const attn_error *problem) {
  attn_error err;
  const attn_sink sink = attn_cli_stdout();
  if (w->json) attn_check_print_json(path, NULL, NULL, problem, &sink, &err);
  return attn_cli_report_error("check", path, problem);
}

static int report(const char *path, const attn_lesson *lesson, const attn_check *check,
                  const struct wishes *w) {
  attn_error err;
  const attn_sink sink = attn_cli_stdout();
  if (w->json)
    attn_check_print_json(path, lesson, check, NULL, &sink, &err);
  else if (!w->quiet)
    attn_check_print(lesson, check, &w->style, &sink, &err);
  if (check->judgement == ATTN_JUDGED_NOT_GIVEN) return EXIT_TROUBLE;
  return check->judgement >= ATTN_JUDGED_CARRIED ? EXIT_FOUND : EXIT_OK;
}

static int check_file(const char *path, const void *wishes) {
  const struct wishes *w = wishes;
  attn_error err;
  attn_lesson *lesson;
  attn_check *check = NULL;
  attn_status status = attn_cli_read_lesson(path, &lesson, &err);
  if (!status) status = attn_lesson_check(lesson, &check, &err);
  int result = status ? bad_file(path, w, &err) : report(path, lesson, check, w);
  attn_check_free(check);
  attn_lesson_free(lesson);
  return result;
}

int attn_cmd_check(int argc, char **argv) {
  struct wishes w = {.json = 0};
  const char *lang = NULL, *color = NULL;
  int64_t width = 0, precision = -1;
  int wants_help = 0, files;
  const struct attn_cli_option table[] = {
      {"--json", OPTION_FLAG, &w.json, NULL},     {"--quiet", OPTION_FLAG, &w.quiet, NULL},
      {"--lang", OPTION_TEXT, &lang, NULL},       {"--color", OPTION_TEXT, &color, NULL},
      {"--width", OPTION_INT, &width, NULL},      {"--precision", OPTION_INT, &precision, NULL},
      {"--help", OPTION_FLAG, &wants_help, NULL}, {"-h", OPTION_FLAG, &wants_help, NULL}};
  if (attn_cli_parse_options(argc, argv, table, 8, &files)) return EXIT_TROUBLE;
  if (wants_help) return fputs(help, stdout), EXIT_OK;
  if (!files) return attn_cli_print_usage_error("check", "which file?");
  if (attn_cli_parse_style(&w.style, lang, color, width, precision)) return EXIT_TROUBLE;
  return attn_cli_for_each_file(files, argv, check_file, &w);
}
