/* cmd_new.c -- attn new: a lesson to start from. */
#include <stdio.h>

#include "command.h"
#include "console.h"

static const char help[] =
    "attn new - write a lesson to start from\n\n"
    "usage: attn new [--tokens \"I have cats\"] [--blank] [--seed N] [--lang en|ja] >lesson.md\n\n"
    "  --blank   leave the answers open: fill them in, then attn check lesson.md\n\n"
    "examples:\n  attn new >lesson.md\n  attn new --blank --seed 7 --lang ja >lesson.md\n";

int attn_cmd_new(int argc, char **argv) {
  const char *tokens = NULL, *lang = NULL;
  int64_t seed = 1;
  int blank = 0, wants_help = 0, operands;
  attn_style style;
  attn_error err;
  const struct attn_cli_option table[] = {
      {"--tokens", OPTION_TEXT, &tokens, NULL},   {"--blank", OPTION_FLAG, &blank, NULL},
      {"--seed", OPTION_INT, &seed, NULL},        {"--lang", OPTION_TEXT, &lang, NULL},
      {"--help", OPTION_FLAG, &wants_help, NULL}, {"-h", OPTION_FLAG, &wants_help, NULL}};
  if (attn_cli_parse_options(argc, argv, table, 6, &operands)) return EXIT_TROUBLE;
  if (wants_help) return fputs(help, stdout), EXIT_OK;
  if (operands) return attn_cli_print_usage_error("new", "what is \"%.60s\" for?", argv[1]);
  if (attn_cli_parse_style(&style, lang, NULL, 0, -1)) return EXIT_TROUBLE;
  const attn_sink sink = attn_cli_stdout();
  if (attn_lesson_template(tokens, blank, (uint64_t)seed, &style, &sink, &err))
    return attn_cli_report_error("new", NULL, &err);
  return EXIT_OK;
}
