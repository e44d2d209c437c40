#include "template_processing.h"

#include <string.h>

#include "tokenizer_schema.h"

static const struct attn_schema_member frame_schema[] = {{"type", "\"TemplateProcessing\"", 0},
                                                         {"single", NULL, 0},
                                                         {"pair", NULL, 1},
                                                         {"special_tokens", NULL, 0}};
static const char shape[] =
    "expected sequence A with at most one special token before it and one after it";

int attn_template_is(const json_t *part) {
  const char *type = json_string_value(json_object_get(part, "type"));
  return type && !strcmp(type, "TemplateProcessing");
}

/* ---- Writing ---- */

/* Appends a part. Returns 0 or -1, as jansson does. */
static int append(json_t *list, const char *kind, const char *id, int type) {
  return json_array_append_new(list, json_pack("{s:{s:s, s:i}}", kind, "id", id, "type_id", type));
}

static int append_special(json_t *list, const struct attn_tokenizer *t, int32_t id, int type) {
  return id < 0 ? 0 : append(list, "SpecialToken", attn_tokenizer_token(t, id), type);
}

static json_t *template_of(const struct attn_tokenizer *t, int32_t begin, int32_t end, int pair) {
  json_t *list = json_array();
  int failed = !list || append_special(list, t, begin, 0) || append(list, "Sequence", "A", 0) ||
               append_special(list, t, end, 0);
  if (pair && !failed) failed = append(list, "Sequence", "B", 1) || append_special(list, t, end, 1);
  if (failed) json_decref(list), list = NULL;
  return list;
}

static int add_special(json_t *all, const struct attn_tokenizer *t, int32_t id) {
  if (id < 0) return 0;
  const char *name = attn_tokenizer_token(t, id);
  return json_object_set_new(
      all, name, json_pack("{s:s, s:[i], s:[s]}", "id", name, "ids", (int)id, "tokens", name));
}

static json_t *write(const struct attn_tokenizer *t, int32_t begin, int32_t end) {
  json_t *tokens = json_object();
  if (!tokens || add_special(tokens, t, begin) || add_special(tokens, t, end))
    return json_decref(tokens), NULL;
  return json_pack("{s:s, s:o, s:o, s:o}", "type", "TemplateProcessing", "single",
                   template_of(t, begin, end, 0), "pair", template_of(t, begin, end, 1),
                   "special_tokens", tokens);
}

json_t *attn_template_write(const struct attn_tokenizer *t, int32_t begin, int32_t end) {
  return begin < 0 && end < 0 ? json_null() : write(t, begin, end);
}

/* ---- Reading ---- */

/* The special token that a part of the template names; -1: none. */
static int32_t part_token(const struct attn_tokenizer *t, const json_t *part) {
  const char *name =
      json_string_value(json_object_get(json_object_get(part, "SpecialToken"), "id"));
  int32_t id = name ? attn_intern_find(&t->tokens, name, strlen(name)) : -1;
  return id >= 0 && t->special[id] ? id : -1;
}

static attn_status compare(const json_t *known, const json_t *part, attn_error *err) {
  const json_t *special = json_object_get(part, "special_tokens"), *ours;
  const char *name;
  if (!json_equal(json_object_get(known, "single"), json_object_get(part, "single")))
    return attn_tokenizer_invalid(err, "post_processor.single", shape);
  json_object_foreach(json_object_get(known, "special_tokens"), name, ours) {
    if (!json_equal(ours, json_object_get(special, name)))
      return attn_tokenizer_invalid(err, "post_processor.special_tokens",
                                    "they differ from the vocabulary");
  }
  return ATTN_OK;
}

/* Only the form that write() produces is supported: write it and compare. */
attn_status attn_template_read(struct attn_tokenizer *t, const json_t *part, attn_error *err) {
  t->begin = t->end = -1;
  if (!part || json_is_null(part)) return ATTN_OK;
  attn_status status = ATTN_SCHEMA_CHECK(part, "post_processor", frame_schema, err);
  if (status) return status;
  const json_t *single = json_object_get(part, "single");
  size_t count = json_array_size(single);
  int32_t begin = part_token(t, json_array_get(single, 0));
  int32_t end = count > 1 ? part_token(t, json_array_get(single, count - 1)) : -1;
  json_t *known = write(t, begin, end);
  if (!known) return attn_tokenizer_no_memory(err);
  status = compare(known, part, err);
  json_decref(known);
  if (!status) t->begin = begin, t->end = end;
  return status;
}
