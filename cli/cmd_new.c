/* cmd_new.c -- attn new: write a worked example to start from. */
#include "command.h"
#include "console.h"
#include "help_files.h"

struct new_options {
  attn_lesson_template_config config;
  const char *kind, *from, *to;
  int64_t level, num_heads, seed;
  int has_heads, blank;
};

static const char *const kinds[] = {"self",      "causal",  "cross",   "heads",
                                    "positions", "scaling", "columns", "question"};
static const char *const steps[] = {"positions", "Q",      "K",        "V",
                                    "scores",    "scaled", "masked",   "weights",
                                    "output",    "concat", "projected"};

static int set_config(struct new_options *o) {
  int kind = attn_cli_parse_choice("--kind", o->kind, kinds, sizeof kinds / sizeof *kinds);
  if (kind < 0 || attn_cli_check_range("--level", o->level, 1, 3)) return -1;
  if (o->has_heads && attn_cli_check_range("--num-heads", o->num_heads, 2, 4)) return -1;
  o->config.first_step = o->from ? attn_step_find(o->from) : 0;
  o->config.last_step = o->to ? attn_step_find(o->to) : 0;
  o->config.kind = kind;
  o->config.level = (int32_t)o->level;
  o->config.num_heads = (int32_t)o->num_heads;
  o->config.seed = (uint64_t)o->seed;
  o->config.blank = o->blank;
  return 0;
}

int attn_cmd_new(int argc, char **argv) {
  struct new_options o = {
      .config = ATTN_LESSON_TEMPLATE_CONFIG_INIT, .kind = "self", .level = 1, .seed = 1};
  struct attn_cli_style_options style_options = ATTN_CLI_STYLE_DEFAULTS;
  int operands;
  attn_style style;
  attn_error err;
  const struct attn_cli_option table[] = {
      {"--kind", ATTN_CLI_CHOICE(&o.kind, kinds), NULL},
      {"--level", OPTION_INT, &o.level, NULL},
      {"--blank", OPTION_FLAG, &o.blank, NULL},
      {"--from", ATTN_CLI_CHOICE(&o.from, steps), NULL},
      {"--to", ATTN_CLI_CHOICE(&o.to, steps), NULL},
      {"--seed", OPTION_INT, &o.seed, NULL},
      {"--tokens", OPTION_TEXT, &o.config.tokens, NULL},
      {"--query-tokens", OPTION_TEXT, &o.config.query_tokens, NULL},
      {"--num-heads", OPTION_INT, &o.num_heads, &o.has_heads},
      {"--question", OPTION_TEXT, &o.config.question, NULL},
      {"--answer", OPTION_TEXT, &o.config.answer, NULL}};
  const int ended = attn_cli_parse_options(argc, argv, new_txt, ATTN_CLI_TABLE(table), &operands);
  if (ended >= 0) return ended;
  if (operands)
    return attn_cli_print_usage_error(
        "unexpected operand \"%.60s\"; quote the words: --tokens 'I have cats'", argv[1]);
  if (set_config(&o) || attn_cli_parse_style(&style_options, &style)) return EXIT_TROUBLE;
  style.width = 80; /* a document does not depend on the terminal */
  const attn_sink sink = attn_cli_stdout();
  if (attn_lesson_template(&o.config, &style, &sink, &err))
    return attn_cli_report_error(NULL, &err);
  return EXIT_OK;
}
