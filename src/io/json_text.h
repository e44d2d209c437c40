/* json_text.h -- JSON text from a value, and a value from JSON text. */
#ifndef ATTN_IO_JSON_TEXT_H
#define ATTN_IO_JSON_TEXT_H

#include <jansson.h>

#include "attn/attn.h"

/* Serializes to a string that the caller frees; NULL: out of memory. Unlike json_dumps, which then
 * silently omits a member. */
char *attn_json_text(const json_t *value, size_t flags);

/* Serializes a value that has been built, and releases it. NULL: failed is set, or out of memory.
 */
char *attn_json_finish(json_t *value, int failed, size_t flags);

/* Parses length bytes. NULL: *problem describes the error; an empty text means out of memory.
 * Rejects duplicate keys, depth beyond 2048, bad UTF-8, whole numbers beyond 64 bits, and a NUL
 * anywhere, which jansson ignores after a number or a literal. flags: jansson's. */
json_t *attn_json_load(const char *text, size_t length, size_t flags, json_error_t *problem);

/* The same with an attn_error: "what, line 3: .." (ATTN_ERR_FORMAT), or ATTN_ERR_MEMORY. */
attn_status attn_json_read(const char *what, const char *text, size_t length, size_t flags,
                           json_t **root, attn_error *err);

/* The same with flags 0; ATTN_ERR_FORMAT also if it is not an object. */
attn_status attn_json_read_object(const char *what, const char *text, size_t length, json_t **root,
                                  attn_error *err);

enum { ATTN_JSON_SHOWN = 61 };

/* Writes the first 60 bytes of a value's JSON to text, for messages; "another value" if out of
 * memory, "null" for NULL. Returns text. */
const char *attn_json_show(const json_t *value, char text[ATTN_JSON_SHOWN]);

/* Whether two values are equal; 1 equals 1.0. */
int attn_json_equal(const json_t *a, const json_t *b);

#endif
