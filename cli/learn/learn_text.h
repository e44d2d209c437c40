/* learn_text.h -- the sentences of attn learn in both languages, except the chapters. */
#ifndef ATTN_CLI_LEARN_TEXT_H
#define ATTN_CLI_LEARN_TEXT_H

#include "attn/lesson.h"

enum attn_cli_learn_message {
#define TEXT(message, english, japanese) message,
#include "learn_text.inc"
#undef TEXT
  LEARN_MESSAGES
};

const char *attn_cli_learn_word(int message, int32_t language);

/* Writes a message with its {0}, {1} and {2} replaced. */
void attn_cli_learn_put(const attn_sink *sink, int32_t language, int message, const char *a,
                        const char *b, const char *c);

/* A number as such a value, in a buffer of the block around the call. */
#define LEARN_NUMBER(number) attn_cli_learn_number(number, (char[16]){0})
const char *attn_cli_learn_number(int number, char text[16]);

/* Writes a text with {0}, {1}, ... replaced by values; a value that is NULL stays as it is. */
void attn_cli_learn_fill_text(const attn_sink *sink, const char *text, const char *const *values,
                              int count);

#endif
