/* learn_text.h -- the sentences of attn learn in both languages, except the chapters. */
#ifndef ATTN_CLI_LEARN_TEXT_H
#define ATTN_CLI_LEARN_TEXT_H

#include "attn/lesson.h"

enum attn_cli_learn_message {
  LEARN_TITLE,
  LEARN_COURSE,
  LEARN_NEXT,
  LEARN_ALL_DONE,
  LEARN_EXERCISES_ARE,
  LEARN_WROTE,
  LEARN_KEPT,
  LEARN_THEN_CHECK,
  LEARN_DONE,
  LEARN_NOT_DONE,
  LEARN_WRONG_COUNT,
  LEARN_OPEN_COUNT,
  LEARN_COARSE_COUNT,
  LEARN_FIRST_WRONG,
  LEARN_FIRST_OPEN,
  LEARN_FIRST_COARSE,
  LEARN_HINT,
  LEARN_HEAD,
  LEARN_WRONG_ANSWER,
  LEARN_NO_ANSWER,
  LEARN_NOT_TRAINED,
  LEARN_FIGURE,
  LEARN_CONTENTS,
  LEARN_PAGE_EXERCISES,
  LEARN_MESSAGES
};

const char *attn_cli_learn_word(int message, int32_t language);

/* Writes a message with its {0}, {1} and {2} replaced. */
void attn_cli_learn_put(const attn_sink *sink, int32_t language, int message, const char *a,
                        const char *b, const char *c);

/* Writes a text with {0}, {1}, ... replaced by values; a value that is NULL stays as it is. */
void attn_cli_learn_fill_text(const attn_sink *sink, const char *text, const char *const *values,
                              int count);

#endif
