/* dump.h -- JSON: a value as text, and a text as a value. */
#ifndef ATTN_IO_JSON_TEXT_H
#define ATTN_IO_JSON_TEXT_H

#include <jansson.h>

#include "attn/attn.h"

/* With a 0 behind it, for free(); NULL: no memory. json_dumps leaves out a name where memory for it
 * was refused, and says nothing. */
char *attn_json_text(const json_t *value, size_t flags);

/* length bytes as a value; NULL: problem->text says what is wrong with them, and where; no text: no
 * memory. Refused are duplicate keys, depth beyond 2048, bad UTF-8, whole numbers beyond 64 bits,
 * and a NUL anywhere, which jansson alone passes over after a number or a word. flags: jansson's.
 */
json_t *attn_json_load(const char *text, size_t length, size_t flags, json_error_t *problem);

/* The same with an error: "what, line 3: .." (ATTN_ERR_FORMAT), or ATTN_ERR_MEMORY. */
attn_status attn_json_read(const char *what, const char *text, size_t length, size_t flags,
                           json_t **root, attn_error *err);

/* Are they equal? 1 and 1.0 are. */
int attn_json_equal(const json_t *a, const json_t *b);

#endif
