/* cmd_new.c -- attn new: write a worked example to start from. */
#include <stdio.h>

#include "command.h"
#include "console.h"

static const char help[] =
    "attn new - write a worked example of attention to start from\n\n"
    "usage: attn new [OPTION...] >lesson.md\n\n"
    "  --tokens WORDS      tokens, separated by spaces [Mia likes cats]\n"
    "  --blank             leave the answers open: fill them in, then run attn check lesson.md\n"
    "  --seed N            random numbers of the matrices; without --blank the same seed gives\n"
    "                      the solution [1]\n"
    "  --lang en|ja        language [LC_ALL, LC_MESSAGES or LANG]\n\n"
    "examples:\n"
    "  attn new >lesson.md\n"
    "  attn new --tokens 'I have cats' --blank --seed 7 --lang ja >exercise.md\n";

int attn_cmd_new(int argc, char **argv) {
  struct attn_cli_style_options style_options = ATTN_CLI_STYLE_DEFAULTS;
  const char *tokens = NULL;
  int64_t seed = 1;
  int blank = 0, help_requested = 0, operands;
  attn_style style;
  attn_error err;
  const struct attn_cli_option table[] = {{"--tokens", OPTION_TEXT, &tokens, NULL},
                                          {"--blank", OPTION_FLAG, &blank, NULL},
                                          {"--seed", OPTION_INT, &seed, NULL},
                                          {"--lang", OPTION_TEXT, &style_options.lang, NULL},
                                          ATTN_CLI_HELP_OPTIONS(&help_requested)};
  if (attn_cli_parse_options(argc, argv, table, sizeof table / sizeof *table, &operands))
    return EXIT_TROUBLE;
  if (help_requested) return fputs(help, stdout), EXIT_OK;
  if (operands) return attn_cli_print_usage_error("new", "unexpected operand \"%.60s\"", argv[1]);
  if (attn_cli_parse_style("new", &style_options, &style)) return EXIT_TROUBLE;
  const attn_sink sink = attn_cli_stdout();
  if (attn_lesson_template(tokens, blank, (uint64_t)seed, &style, &sink, &err))
    return attn_cli_report_error("new", NULL, &err);
  return EXIT_OK;
}
