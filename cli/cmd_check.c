/* cmd_check.c -- attn check: check the numbers of worked examples. */
#include <stdio.h>
#include <stdlib.h>

#include "command.h"
#include "console.h"
#include "picture_files.h"

static const char help[] =
    "attn check - check the numbers of worked examples of attention\n\n"
    "usage: attn check FILE... [OPTION...]\n\n"
    "Recomputes every step from the numbers that the document gives, and names the first wrong\n"
    "number and its likely cause. FILE is Markdown, plain text or a Python snippet, in English or\n"
    "Japanese; - is standard input.\n\n"
    "  --json              one line of JSON per file (docs/check.schema.json)\n"
    "  --explain-reading   also how each matrix was read: its line, step, formula, and how many "
    "of\n"
    "                      its values agree (always in --json)\n"
    "  --html FILE         the document as a page: each number marked as correct, wrong, carried "
    "or not\n"
    "                      read, with its right computation. One document\n"
    "  --quiet             print nothing; only the exit status\n"
    "  --lang en|ja        language of the report [LC_ALL, LC_MESSAGES or LANG]\n"
    "  --precision N       digits after the decimal point, 0 to 17 [4]\n"
    "  --color WHEN        auto, always or never [auto]\n"
    "  --width N           columns, 20 to 10000 [the terminal's, or 80]\n\n"
    "exit status: 0 correct or doubtful, 1 a wrong number, 2 trouble (nothing to check, a file\n"
    "that cannot be read)\n\n"
    "examples:\n"
    "  attn check lesson.md\n"
    "  attn check lesson.md --html checked.html\n"
    "  attn check --json *.md\n";

struct check_options {
  attn_style style;
  int json, quiet, reading, help;
  struct attn_cli_pictures page;
};

static int report_file_error(const char *path, const struct check_options *o,
                             const attn_error *problem) {
  attn_error err;
  const attn_sink sink = attn_cli_stdout();
  if (o->json) attn_check_print_json(path, NULL, NULL, problem, &sink, &err);
  return attn_cli_report_error("check", path, problem);
}

static void print_text(const attn_lesson *lesson, const attn_check *check,
                       const struct check_options *o) {
  attn_error err;
  const attn_sink sink = attn_cli_stdout();
  attn_check_print(lesson, check, &o->style, &sink, &err);
  if (!o->reading) return;
  puts("");
  attn_check_print_reading(lesson, check, &o->style, &sink, &err);
}

static int print_result(const char *path, const attn_lesson *lesson, const attn_check *check,
                        const struct check_options *o) {
  attn_error err;
  const attn_sink sink = attn_cli_stdout();
  if (o->json)
    attn_check_print_json(path, lesson, check, NULL, &sink, &err);
  else if (!o->quiet)
    print_text(lesson, check, o);
  if (check->judgement == ATTN_JUDGED_NOT_GIVEN) return EXIT_TROUBLE;
  return check->judgement >= ATTN_JUDGED_CARRIED ? EXIT_FOUND : EXIT_OK;
}

/* ---- A page ---- */

struct checked_document {
  const attn_lesson *lesson;
  const attn_check *check;
  const char *text;
  size_t bytes;
  const attn_style *style;
};

static attn_status draw(const void *data, attn_picture_format format, const attn_sink *sink,
                        attn_error *err) {
  const struct checked_document *d = data;
  (void)format; /* html */
  return attn_check_draw(d->lesson, d->check, d->text, d->bytes, d->style, sink, err);
}

static int check_file(const char *path, const void *options) {
  const struct check_options *o = options;
  attn_error err;
  attn_lesson *lesson;
  attn_check *check = NULL;
  char *text = NULL;
  size_t bytes = 0;
  attn_status status = attn_cli_read_document(path, &lesson, &text, &bytes, &err);
  if (!status) status = attn_lesson_check(lesson, &check, &err);
  int result = status ? report_file_error(path, o, &err) : print_result(path, lesson, check, o);
  const struct checked_document document = {lesson, check, text, bytes, &o->style};
  if (!status && attn_cli_write_pictures(&o->page, draw, &document, &err) != ATTN_OK)
    result = attn_cli_report_error("check", NULL, &err);
  free(text);
  attn_check_free(check);
  attn_lesson_free(lesson);
  return result;
}

int attn_cmd_check(int argc, char **argv) {
  struct check_options o = {.json = 0};
  struct attn_cli_style_options style = ATTN_CLI_STYLE_DEFAULTS;
  int files;
  const struct attn_cli_option table[] = {{"--json", OPTION_FLAG, &o.json, NULL},
                                          {"--explain-reading", OPTION_FLAG, &o.reading, NULL},
                                          {"--quiet", OPTION_FLAG, &o.quiet, NULL},
                                          {"--html", OPTION_TEXT, &o.page.html, NULL},
                                          ATTN_CLI_STYLE_OPTIONS(&style),
                                          ATTN_CLI_HELP_OPTIONS(&o.help)};
  if (attn_cli_parse_options(argc, argv, table, sizeof table / sizeof *table, &files))
    return EXIT_TROUBLE;
  if (o.help) return fputs(help, stdout), EXIT_OK;
  if (!files) return attn_cli_print_usage_error("check", "expected a file");
  if (o.page.html && (files > 1 || o.json))
    return attn_cli_print_usage_error(
        "check", files > 1 ? "a page shows one document; run attn check once per file"
                           : "--html writes a page; leave out --json");
  if (attn_cli_parse_style("check", &style, &o.style)) return EXIT_TROUBLE;
  return attn_cli_for_each_file(files, argv, check_file, &o);
}
