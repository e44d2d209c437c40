#include "message_catalog.h"

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
