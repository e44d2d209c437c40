/* unknown.h -- parts of a text that a model has no token for: reported, never passed over. */
#ifndef ATTN_CLI_UNKNOWN_TOKENS_H
#define ATTN_CLI_UNKNOWN_TOKENS_H

#include "attn/model.h"

/* Warns on standard error of each part, of many the first few. what: "-" and the line of standard
 * input, or the name of an option or operand that is the text, and 0. A text that is no UTF-8 is
 * left to those who read it. */
void attn_cli_warn_unknown_tokens(const char *what, int64_t line, const attn_model *model,
                                  const char *text);

/* The member "unknown": [{"text": "Z", "character": 3}], all of them. */
void attn_cli_json_unknown_tokens(const attn_model *model, const char *text);

#endif
