/* model_input.h -- options and warnings shared by the commands that run a model on text. */
#ifndef ATTN_CLI_MODEL_INPUT_H
#define ATTN_CLI_MODEL_INPUT_H

#include "attn/model.h"
#include "options.h"

/* ---- Attention of a model: attn show and attn explain ---- */

struct attn_cli_attention_options {
  const char *input, *target, *kind;
  int64_t layer, head; /* from 1 */
  int64_t threads;
};
extern const char *const attn_cli_attention_kinds[3]; /* by attn_attention_kind */
#define ATTN_CLI_HEAD_OPTIONS(a)                                                              \
  {"--target", OPTION_TEXT, &(a)->target, NULL},                                              \
      {"--kind", ATTN_CLI_CHOICE(&(a)->kind, attn_cli_attention_kinds), NULL},                \
      {"--layer", OPTION_INT, &(a)->layer, NULL}, {"--head", OPTION_INT, &(a)->head, NULL}, { \
    "--threads", OPTION_INT, &(a)->threads, NULL                                              \
  }
#define ATTN_CLI_ATTENTION_OPTIONS(a) \
  {"--input", OPTION_TEXT, &(a)->input, NULL}, ATTN_CLI_HEAD_OPTIONS(a)

/* min_index: 1, or 0 if 0 selects all layers and heads. Returns 0, or -1 after a message. */
int attn_cli_check_attention(const struct attn_cli_attention_options *options, int64_t min_index);

/* The kind of --kind; without it cross-attention if the model has it, else self-attention. */
attn_attention_kind attn_cli_attention_kind(const struct attn_cli_attention_options *options,
                                            const attn_model *model);

/* float32 or bf16 as ATTN_F32 or ATTN_BF16; NULL is 0. Returns 0, or -1 after a message. */
int attn_cli_parse_precision(const char *text, int32_t *precision);

/* ---- Text that the vocabulary does not cover ---- */

/* Warns on standard error of each span that is read as <unk>, of many only the first few. name: "-"
 * with the line of standard input, or the option or operand that is the text, with line 0. Does
 * nothing for text that is not UTF-8; the model refuses it. */
void attn_cli_warn_unknown_tokens(const char *name, int64_t line, const attn_model *model,
                                  const char *text);

/* Warns of --input and --target. */
void attn_cli_warn_unknown_attention(const struct attn_cli_attention_options *options,
                                     const attn_model *model);

/* Writes all spans as the member "unknown": [{"text": "Z", "character": 3}]. */
void attn_cli_json_unknown_tokens(const attn_model *model, const char *text);

#endif
