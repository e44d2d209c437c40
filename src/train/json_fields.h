/* json_fields.h -- a struct as a JSON object, described by a table of its members. */
#ifndef ATTN_TRAIN_JSON_FIELDS_H
#define ATTN_TRAIN_JSON_FIELDS_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "attn/attn.h"

enum attn_json_type {
  ATTN_JSON_TEXT,    /* char *: NULL is null */
  ATTN_JSON_INTEGER, /* int64_t or uint64_t */
  ATTN_JSON_REAL,    /* double: NaN is null */
  ATTN_JSON_FLAG     /* int32_t */
};

struct attn_json_field {
  const char *name;
  enum attn_json_type type;
  size_t offset;
  int64_t min, max; /* of an integer */
};

struct attn_json_table {
  const char *what; /* for messages: "checkpoint: \"training\"" */
  const struct attn_json_field *fields;
  size_t count;
  int is_complete; /* 1: all members but texts are required, others are an error */
};

/* The struct as JSON text, which the caller frees; NULL: out of memory. */
char *attn_json_table_write(const struct attn_json_table *table, const void *object);

/* Parses text into *object. A missing member is NULL, 0 or NaN. Members of old checkpoints are read
 * under their new names. The caller frees texts, after a failure as well. ATTN_ERR_FORMAT: not an
 * object, a member of another type, or out of range; ATTN_ERR_MEMORY. */
attn_status attn_json_table_read(const struct attn_json_table *table, const char *text,
                                 void *object, attn_error *err);

#endif
