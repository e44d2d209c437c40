#include "json_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"

char *attn_json_text(const json_t *value, size_t flags) {
  size_t bytes = json_dumpb(value, NULL, 0, flags); /* 0: no memory */
  char *text = bytes ? malloc(bytes + 1) : NULL;
  if (!text) return NULL;
  if (json_dumpb(value, text, bytes, flags) != bytes) return free(text), NULL;
  text[bytes] = 0;
  return text;
}

char *attn_json_finish(json_t *value, int failed, size_t flags) {
  char *text = failed ? NULL : attn_json_text(value, flags);
  json_decref(value);
  return text;
}

static json_t *refuse_nul(const char *text, size_t at, json_error_t *problem) {
  memset(problem, 0, sizeof *problem);
  for (size_t n = 0; n < at; n++) problem->line += text[n] == '\n';
  problem->line++, problem->position = (int)at;
  snprintf(problem->text, sizeof problem->text, "contains a NUL byte");
  return NULL;
}

json_t *attn_json_load(const char *text, size_t length, size_t flags, json_error_t *problem) {
  const char *nul = length ? memchr(text, 0, length) : NULL;
  if (nul) return refuse_nul(text, (size_t)(nul - text), problem);
  return json_loadb(length ? text : "", length, JSON_REJECT_DUPLICATES | flags, problem);
}

attn_status attn_json_read(const char *what, const char *text, size_t length, size_t flags,
                           json_t **root, attn_error *err) {
  json_error_t problem;
  *root = attn_json_load(text, length, flags, &problem);
  if (*root) return ATTN_OK;
  if (!problem.text[0]) /* the only failure without a text */
    return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for %s", what);
  return attn_fail_at(err, ATTN_ERR_FORMAT, problem.line, problem.column, "%s, line %d: %s", what,
                      problem.line, problem.text);
}

attn_status attn_json_read_object(const char *what, const char *text, size_t length, json_t **root,
                                  attn_error *err) {
  attn_status status = attn_json_read(what, text, length, 0, root, err);
  if (status || json_is_object(*root)) return status;
  return attn_fail(err, ATTN_ERR_FORMAT, NULL, "%s: expected an object", what);
}

const char *attn_json_show(const json_t *value, char text[ATTN_JSON_SHOWN]) {
  char *whole = value ? attn_json_text(value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
  snprintf(text, ATTN_JSON_SHOWN, "%s", whole ? whole : value ? "another value" : "null");
  free(whole);
  return text;
}

int attn_json_equal(const json_t *a, const json_t *b) {
  if (json_is_number(a) && json_is_number(b)) return json_number_value(a) == json_number_value(b);
  return json_equal(a, b);
}
