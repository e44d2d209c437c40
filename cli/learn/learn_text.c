#include "learn_text.h"

#include <stdio.h>
#include <string.h>

static const char *const messages[LEARN_MESSAGES][2] = {
#define TEXT(message, english, japanese) [message] = {english, japanese},
#include "learn_text.inc"
};

const char *attn_cli_learn_word(int message, int32_t language) {
  return messages[message][language == ATTN_LANGUAGE_JAPANESE];
}

void attn_cli_learn_fill_text(const attn_sink *sink, const char *text, const char *const *values,
                              int count) {
  for (const char *brace; *text; text = brace) {
    brace = strchr(text, '{');
    if (!brace) brace = text + strlen(text);
    sink->write(sink->context, text, (size_t)(brace - text));
    if (!*brace) return;
    const int n = brace[1] - '0', is_hole = n >= 0 && n < count && brace[2] == '}' && values[n];
    if (is_hole)
      sink->write(sink->context, values[n], strlen(values[n]));
    else
      sink->write(sink->context, brace, 1);
    brace += is_hole ? 3 : 1;
  }
}

void attn_cli_learn_put(const attn_sink *sink, int32_t language, int message, const char *a,
                        const char *b, const char *c) {
  const char *const values[] = {a, b, c};
  attn_cli_learn_fill_text(sink, attn_cli_learn_word(message, language), values, 3);
}

const char *attn_cli_learn_number(int number, char text[16]) {
  snprintf(text, 16, "%d", number);
  return text;
}
