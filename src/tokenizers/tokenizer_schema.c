#include "tokenizer_schema.h"

#include <stdlib.h>
#include <string.h>

#include "json_text.h"
#include "error.h"

enum { VALUE_SHOWN = 40, NAME_SHOWN = ATTN_NAME_SHOWN };

attn_status attn_tokenizer_no_memory(attn_error *err) {
  return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for the tokenizer");
}

attn_status attn_tokenizer_invalid(attn_error *err, const char *where, const char *what) {
  return attn_fail(err, ATTN_ERR_FORMAT, NULL, "tokenizer.json: %s: %s", where, what);
}

/* Whether text is one of the alternatives, which contain no spaces. */
static int is_one_of(const char *text, const char *values) {
  size_t length = strlen(text);
  for (const char *at = values; at; at = strchr(at, ' ')) {
    at += *at == ' ';
    if (!strncmp(at, text, length) && (!at[length] || at[length] == ' ')) return 1;
  }
  return 0;
}

static attn_status check_value(const json_t *value, const struct attn_schema_member *rule,
                               const char *where, attn_error *err) {
  if (!rule->values) return ATTN_OK;
  char *text = attn_json_text(value, JSON_ENCODE_ANY | JSON_COMPACT);
  if (!text) return attn_tokenizer_no_memory(err);
  attn_status status = ATTN_OK;
  if (!is_one_of(text, rule->values))
    status = attn_fail(err, ATTN_ERR_FORMAT, NULL,
                       "tokenizer.json: %s.%s is %.*s, which is not supported; expected one of: %s",
                       where, rule->name, VALUE_SHOWN, text, rule->values);
  free(text);
  return status;
}

static const struct attn_schema_member *rule_of(const char *name,
                                                const struct attn_schema_member *rules,
                                                size_t count) {
  for (size_t n = 0; n < count; n++)
    if (!strcmp(name, rules[n].name)) return &rules[n];
  return NULL;
}

/* In the schema's order, so that type is reported before the members that only that type has. */
attn_status attn_schema_check(const json_t *object, const char *where,
                              const struct attn_schema_member *rules, size_t count,
                              attn_error *err) {
  const char *name;
  json_t *value;
  if (!json_is_object(object)) return attn_tokenizer_invalid(err, where, "expected an object");
  for (size_t n = 0; n < count; n++) {
    value = json_object_get(object, rules[n].name);
    if (!value && !rules[n].optional)
      return attn_fail(err, ATTN_ERR_FORMAT, NULL, "tokenizer.json: %s has no %s", where,
                       rules[n].name);
    attn_status status = value ? check_value(value, &rules[n], where, err) : ATTN_OK;
    if (status) return status;
  }
  json_object_foreach((json_t *)object, name, value) {
    if (!rule_of(name, rules, count))
      return attn_fail(err, ATTN_ERR_FORMAT, NULL,
                       "tokenizer.json: %s.%.*s is not supported; take it out if it does nothing",
                       where, NAME_SHOWN, name);
  }
  return ATTN_OK;
}
