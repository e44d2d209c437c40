/* rules.h -- what members an object of tokenizer.json may have, and what they may be. What would
 * change a number and is not done here must be refused, so every member needs a rule. */
#ifndef ATTN_TOKENIZERS_TOKENIZER_SCHEMA_H
#define ATTN_TOKENIZERS_TOKENIZER_SCHEMA_H

#include <jansson.h>

#include "attn/attn.h"

enum { ATTN_NAME_SHOWN = 60 }; /* bytes of a file's names in a message */

struct attn_schema_member {
  const char *name,
      *values; /* JSON, alternatives with a space between; NULL: looked at elsewhere */
  int optional;
};

#define ATTN_SCHEMA_SIZE(table) (sizeof(table) / sizeof *(table))
#define ATTN_SCHEMA_BOOL "true false"

/* ATTN_ERR_FORMAT, naming where: no object, a member missing, with another value, or without a
 * rule. */
attn_status attn_schema_check(const json_t *object, const char *where,
                              const struct attn_schema_member *rules, size_t count,
                              attn_error *err);

attn_status attn_tokenizer_no_memory(attn_error *err);
attn_status attn_tokenizer_invalid(attn_error *err, const char *where, const char *what);

#endif
