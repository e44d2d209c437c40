/* json_writer.h -- writes JSON that is valid for any text and numbers. */
#ifndef ATTN_TEXT_JSON_WRITER_H
#define ATTN_TEXT_JSON_WRITER_H

#include "text_writer.h"

struct attn_json {
  struct attn_out out;
  int comma; /* needed before the next member or element */
};

void attn_json_begin(struct attn_json *json, const attn_sink *sink);

/* bracket: { or [; key NULL inside an array. */
void attn_json_open(struct attn_json *json, const char *key, char bracket);
void attn_json_close(struct attn_json *json, char bracket);

/* As attn_text_write_json. NULL is an empty string. */
void attn_json_string(struct attn_json *json, const char *key, const char *text);
void attn_json_integer(struct attn_json *json, const char *key, int64_t value);
/* Arrays. */
void attn_json_strings(struct attn_json *json, const char *key, char *const *texts, int32_t count);
void attn_json_integers(struct attn_json *json, const char *key, const int32_t *values,
                        int32_t count);
/* null if not finite. */
void attn_json_number(struct attn_json *json, const char *key, double value);
/* word: "true", "false" or "null". */
void attn_json_literal(struct attn_json *json, const char *key, const char *word);

/* The write function of a sink whose context is a struct attn_out: the JSON becomes the text of an
 * element of a page, with markup as escapes, which are valid because it only occurs in strings. */
int attn_json_write_inert(void *out, const char *text, size_t bytes);

#endif
