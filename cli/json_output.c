#include "json_output.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "console.h"

static int needs_comma; /* a value precedes in the same object or array */

static void write_bytes(const char *text, size_t bytes) {
  const attn_sink sink = attn_cli_stdout();
  attn_text_write_json(text, bytes, &sink, NULL);
}

static void write_string(const char *text) { write_bytes(text, strlen(text)); }

static void begin_value(const char *key) {
  if (needs_comma) fputs(", ", stdout);
  if (key) write_string(key), fputs(": ", stdout);
  needs_comma = 1;
}

static void open_bracket(const char *key, char bracket) {
  begin_value(key), putchar(bracket);
  needs_comma = 0;
}

static void close_bracket(char bracket) { putchar(bracket), needs_comma = 1; }

void attn_cli_json_begin_object(const char *key) { open_bracket(key, '{'); }
void attn_cli_json_end_object(void) { close_bracket('}'); }
void attn_cli_json_begin_array(const char *key) { open_bracket(key, '['); }
void attn_cli_json_end_array(void) { close_bracket(']'); }

void attn_cli_json_null(const char *key) { begin_value(key), fputs("null", stdout); }

void attn_cli_json_string(const char *key, const char *text) {
  begin_value(key);
  if (text)
    write_string(text);
  else
    fputs("null", stdout);
}

void attn_cli_json_bytes(const char *key, const char *text, size_t bytes) {
  begin_value(key), write_bytes(text, bytes);
}

void attn_cli_json_number(const char *key, double value) {
  begin_value(key);
  if (isfinite(value))
    printf("%.17g", value);
  else
    fputs("null", stdout);
}

void attn_cli_json_int(const char *key, int64_t value) {
  begin_value(key), printf("%lld", (long long)value);
}

void attn_cli_json_bool(const char *key, int value) {
  begin_value(key), fputs(value ? "true" : "false", stdout);
}

void attn_cli_json_strings(const char *key, const char *const *texts, int64_t count) {
  attn_cli_json_begin_array(key);
  for (int64_t n = 0; n < count; n++) attn_cli_json_string(NULL, texts[n]);
  attn_cli_json_end_array();
}

void attn_cli_json_numbers(const char *key, const double *values, int64_t count) {
  attn_cli_json_begin_array(key);
  for (int64_t n = 0; n < count; n++) attn_cli_json_number(NULL, values[n]);
  attn_cli_json_end_array();
}

void attn_cli_json_shape(const char *key, const int64_t *shape, int rank) {
  attn_cli_json_begin_array(key);
  for (int n = 0; n < rank; n++) attn_cli_json_int(NULL, shape[n]);
  attn_cli_json_end_array();
}

void attn_cli_json_end_line(void) { putchar('\n'), needs_comma = 0; }
