#include "json.h"

#include <stdio.h>
#include <string.h>
#include <utf8proc.h>

#include "number.h"

void attn_json_begin(struct attn_json *json, const attn_sink *sink) {
  attn_out_begin(&json->out, NULL, sink);
  json->comma = 0;
}

static void put(struct attn_json *json, const char *text) {
  attn_out_bytes(&json->out, text, strlen(text));
}

static void escape(struct attn_json *json, const char *text) {
  size_t left = strlen(text);
  put(json, "\"");
  while (left) {
    utf8proc_int32_t code;
    utf8proc_ssize_t n =
        utf8proc_iterate((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)left, &code);
    char escaped[8] = "\\ufffd";
    if (n <= 0)
      n = 1;
    else if (code == '"' || code == '\\')
      snprintf(escaped, sizeof escaped, "\\%c", (char)code);
    else if (code < 0x20 || (code >= 0x7F && code < 0xA0))
      snprintf(escaped, sizeof escaped, "\\u%04x", (unsigned)code & 0xFFu);
    else
      *escaped = 0;
    if (*escaped)
      put(json, escaped);
    else
      attn_out_bytes(&json->out, text, (size_t)n);
    text += n;
    left -= (size_t)n;
  }
  put(json, "\"");
}

static void lead(struct attn_json *json, const char *key) {
  if (json->comma) put(json, ", ");
  json->comma = 1;
  if (!key) return;
  escape(json, key);
  put(json, ": ");
}

void attn_json_open(struct attn_json *json, const char *key, char bracket) {
  lead(json, key);
  put(json, bracket == '{' ? "{" : "[");
  json->comma = 0;
}

void attn_json_close(struct attn_json *json, char bracket) {
  put(json, bracket == '}' ? "}" : "]");
  json->comma = 1;
}

void attn_json_string(struct attn_json *json, const char *key, const char *text) {
  lead(json, key);
  escape(json, text ? text : "");
}

void attn_json_integer(struct attn_json *json, const char *key, int64_t value) {
  char text[32];
  snprintf(text, sizeof text, "%lld", (long long)value);
  attn_json_word(json, key, text);
}

void attn_json_number(struct attn_json *json, const char *key, double value) {
  char text[ATTN_NUMBER_BYTES];
  attn_json_word(json, key, attn_number_json(value, text));
}

void attn_json_word(struct attn_json *json, const char *key, const char *word) {
  lead(json, key);
  put(json, word);
}
