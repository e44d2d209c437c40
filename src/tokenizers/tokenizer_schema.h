/* tokenizer_schema.h -- the members that an object of tokenizer.json may have, and their values.
 * A member outside the schema is rejected: it could change token ids. */
#ifndef ATTN_TOKENIZERS_TOKENIZER_SCHEMA_H
#define ATTN_TOKENIZERS_TOKENIZER_SCHEMA_H

#include <jansson.h>

#include "attn/attn.h"

enum { ATTN_NAME_SHOWN = 60 }; /* bytes of a name from the file in a message */

struct attn_schema_member {
  const char *name, *values; /* JSON alternatives, separated by spaces; NULL: checked elsewhere */
  int optional;
};

#define ATTN_SCHEMA_BOOL "true false"

/* ATTN_ERR_FORMAT, naming `where`: not an object, or a member is missing, unknown or has another
 * value; ATTN_ERR_MEMORY. */
attn_status attn_schema_check(const json_t *object, const char *where,
                              const struct attn_schema_member *rules, size_t count,
                              attn_error *err);

/* The same with a table. */
#define ATTN_SCHEMA_CHECK(object, where, table, err) \
  attn_schema_check(object, where, table, sizeof(table) / sizeof *(table), err)

/* Fail with ATTN_ERR_MEMORY; with ATTN_ERR_FORMAT: "tokenizer.json: where: what". */
attn_status attn_tokenizer_no_memory(attn_error *err);
attn_status attn_tokenizer_invalid(attn_error *err, const char *where, const char *what);

#endif
