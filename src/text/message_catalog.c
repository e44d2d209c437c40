#include "message_catalog.h"

#include <stdio.h>
#include <string.h>

static const char *const messages[MESSAGE_COUNT][2] = {
#define TEXT(message, english, japanese) [message] = {english, japanese},
#define TEXT_OF(first, index, english, japanese) [first + index] = {english, japanese},
#include "message_catalog.inc"
};

const char *attn_language_code(int32_t language) {
  return language == ATTN_LANGUAGE_JAPANESE ? "ja" : "en";
}

const char *attn_message_text(int message, int32_t language) {
  if (message < 0 || message >= MESSAGE_COUNT) return "?";
  return messages[message][language == ATTN_LANGUAGE_JAPANESE];
}

const char *attn_message_fill(char *to, size_t size, int message, int32_t language, int number) {
  const char *text = attn_message_text(message, language), *hole = strstr(text, "{0}");
  if (hole)
    snprintf(to, size, "%.*s%d%s", (int)(hole - text), text, number, hole + 3);
  else
    snprintf(to, size, "%s", text);
  return to;
}
