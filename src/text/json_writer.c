#include "json_writer.h"

#include <string.h>

#include "number_text.h"

void attn_json_begin(struct attn_json *json, const attn_sink *sink) {
  attn_out_begin(&json->out, NULL, sink);
  json->comma = 0;
}

static void escape(struct attn_json *json, const char *text) {
  struct attn_out *out = &json->out;
  if (!out->failed) out->failed = attn_text_write_json(text, strlen(text), out->sink, NULL) != 0;
}

static void lead(struct attn_json *json, const char *key) {
  if (json->comma) attn_put(&json->out, ", ");
  json->comma = 1;
  if (!key) return;
  escape(json, key);
  attn_put(&json->out, ": ");
}

void attn_json_open(struct attn_json *json, const char *key, char bracket) {
  lead(json, key);
  attn_put(&json->out, bracket == '{' ? "{" : "[");
  json->comma = 0;
}

void attn_json_close(struct attn_json *json, char bracket) {
  attn_put(&json->out, bracket == '}' ? "}" : "]");
  json->comma = 1;
}

void attn_json_string(struct attn_json *json, const char *key, const char *text) {
  lead(json, key);
  escape(json, text ? text : "");
}

void attn_json_integer(struct attn_json *json, const char *key, int64_t value) {
  attn_json_literal(json, key, ATTN_INTEGER_TEXT(value));
}

void attn_json_strings(struct attn_json *json, const char *key, char *const *texts, int32_t count) {
  attn_json_open(json, key, '[');
  for (int32_t n = 0; n < count; n++) attn_json_string(json, NULL, texts[n]);
  attn_json_close(json, ']');
}

void attn_json_integers(struct attn_json *json, const char *key, const int32_t *values,
                        int32_t count) {
  attn_json_open(json, key, '[');
  for (int32_t n = 0; n < count; n++) attn_json_integer(json, NULL, values[n]);
  attn_json_close(json, ']');
}

void attn_json_number(struct attn_json *json, const char *key, double value) {
  char text[ATTN_NUMBER_BYTES];
  attn_json_literal(json, key, attn_number_json(value, text));
}

void attn_json_literal(struct attn_json *json, const char *key, const char *word) {
  lead(json, key);
  attn_put(&json->out, word);
}

int attn_json_write_inert(void *out, const char *text, size_t bytes) {
  for (size_t n = 0, from = 0; n <= bytes; n++) {
    if (n < bytes && !strchr("<>&", text[n])) continue;
    attn_out_bytes(out, text + from, n - from);
    if (n < bytes) attn_putf(out, "\\u00%02x", text[n]);
    from = n + 1;
  }
  return ((struct attn_out *)out)->failed;
}
