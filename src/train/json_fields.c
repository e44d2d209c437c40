#include "json_fields.h"

#include <math.h>
#include <string.h>

#include "json_text.h"
#include "error.h"
#include "history.h"

enum { EXACT = 17 }; /* digits from which a double is read back exactly */

static json_t *get(enum attn_json_type type, const void *value) {
  double real;
  switch (type) {
    case ATTN_JSON_TEXT:
      return *(char *const *)value ? json_string(*(char *const *)value) : json_null();
    case ATTN_JSON_INTEGER:
      return json_integer(*(const int64_t *)value);
    case ATTN_JSON_REAL:
      real = *(const double *)value;
      return isnan(real) ? json_null() : json_real(real);
    default:
      return json_boolean(*(const int32_t *)value);
  }
}

char *attn_json_table_write(const struct attn_json_table *table, const void *object) {
  json_t *root = json_object();
  int failed = !root;
  for (size_t n = 0; n < table->count && !failed; n++) {
    const struct attn_json_field *f = &table->fields[n];
    failed = json_object_set_new(root, f->name, get(f->type, (const char *)object + f->offset));
  }
  return attn_json_finish(root, failed, JSON_COMPACT | JSON_REAL_PRECISION(EXACT));
}

/* Returns 0 for a value of another type. */
static int set(enum attn_json_type type, const json_t *value, void *to) {
  int is_missing = !value || json_is_null(value);
  switch (type) {
    case ATTN_JSON_TEXT:
      return is_missing || json_is_string(value);
    case ATTN_JSON_INTEGER:
      *(int64_t *)to = json_integer_value(value);
      return !value || json_is_integer(value);
    case ATTN_JSON_REAL:
      *(double *)to = is_missing ? (double)NAN : json_number_value(value);
      return is_missing || json_is_number(value);
    default:
      *(int32_t *)to = json_is_true(value);
      return !value || json_is_boolean(value);
  }
}

static attn_status read_field(const struct attn_json_table *table, const struct attn_json_field *f,
                              const json_t *value, void *to, attn_error *err) {
  int is_required = table->is_complete && f->type != ATTN_JSON_TEXT;
  if (!set(f->type, value, to) || (is_required && (!value || json_is_null(value))))
    return attn_fail(err, ATTN_ERR_FORMAT, NULL, "%s: \"%s\" is missing or has the wrong type",
                     table->what, f->name);
  const char *text = f->type == ATTN_JSON_TEXT ? json_string_value(value) : NULL;
  if (text && !(*(char **)to = strdup(text)))
    return attn_fail(err, ATTN_ERR_MEMORY, NULL, "out of memory: %s", table->what);
  if (f->type != ATTN_JSON_INTEGER) return ATTN_OK;
  int64_t number = *(const int64_t *)to;
  if (number >= f->min && number <= f->max) return ATTN_OK;
  return attn_fail(err, ATTN_ERR_FORMAT, NULL, "%s: \"%s\" must be between %lld and %lld, got %lld",
                   table->what, f->name, (long long)f->min, (long long)f->max, (long long)number);
}

static attn_status check_known(const struct attn_json_table *table, json_t *root, attn_error *err) {
  const char *name;
  json_t *value;
  json_object_foreach(root, name, value) {
    size_t n = 0;
    while (n < table->count && strcmp(name, table->fields[n].name)) n++;
    if (n == table->count)
      return attn_fail(err, ATTN_ERR_FORMAT, NULL, "%s: unknown member \"%.40s\"", table->what,
                       name);
  }
  return ATTN_OK;
}

attn_status attn_json_table_read(const struct attn_json_table *table, const char *text,
                                 void *object, attn_error *err) {
  json_t *root = NULL;
  attn_status status = attn_json_read_object(table->what, text, strlen(text), &root, err);
  if (!status && attn_training_metadata_rename(root))
    status = attn_fail(err, ATTN_ERR_MEMORY, NULL, "out of memory: %s", table->what);
  for (size_t n = 0; n < table->count; n++)
    if (table->fields[n].type == ATTN_JSON_TEXT)
      *(char **)(void *)((char *)object + table->fields[n].offset) = NULL;
  for (size_t n = 0; n < table->count && !status; n++) {
    const struct attn_json_field *f = &table->fields[n];
    status = read_field(table, f, json_object_get(root, f->name), (char *)object + f->offset, err);
  }
  if (!status && table->is_complete) status = check_known(table, root, err);
  json_decref(root);
  return status;
}
