/* huggingface_config.c -- config.json: its members are renamed to ours, then parsed as ours. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "json_text.h"
#include "error.h"
#include "families.h"

const struct attn_hf_family *attn_hf_family_find(const char *name) {
  for (int n = 0; attn_hf_families[n]; n++)
    if (!strcmp(attn_hf_families[n]->name, name)) return attn_hf_families[n];
  return NULL;
}

static attn_status out_of_memory(attn_error *err) {
  return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for a configuration");
}

static json_t *parse_value(const char *text) { return json_loads(text, JSON_DECODE_ANY, NULL); }

/* ---- Reading ---- */

/* The value, or its default; NULL: neither, or out of memory. The caller releases it. */
static json_t *get_value(const json_t *theirs, const struct attn_hf_member *m) {
  json_t *value = m->theirs ? json_object_get(theirs, m->theirs) : NULL;
  const char *other = m->otherwise;
  if (value && !json_is_null(value)) return json_incref(value);
  if (other && *other == '@') return json_incref(json_object_get(theirs, other + 1));
  return other ? parse_value(other) : NULL;
}

/* Their string in ours; of an array, its only element. */
static attn_status translate(const struct attn_hf_family *f, const struct attn_hf_member *m,
                             json_t **value, attn_error *err) {
  const json_t *word = json_array_size(*value) == 1 ? json_array_get(*value, 0) : *value;
  const char *text = json_string_value(word);
  for (const struct attn_hf_value *w = f->values; text && w->ours; w++) {
    if (strcmp(w->ours, m->ours) || strcmp(w->their_value, text)) continue;
    json_decref(*value);
    return (*value = json_string(w->our_value)) ? ATTN_OK : out_of_memory(err);
  }
  return attn_fail(err, ATTN_ERR_FORMAT, NULL, "config.json: \"%s\" has the unknown value %.60s",
                   m->theirs, text ? text : "(not a string)");
}

static int has_values(const struct attn_hf_family *f, const struct attn_hf_member *m) {
  for (const struct attn_hf_value *w = f->values; w->ours; w++)
    if (!strcmp(w->ours, m->ours)) return m->theirs != NULL;
  return 0;
}

attn_status attn_hf_require_value(const char *file, const char *name, const json_t *value,
                                  const char *only, attn_error *err) {
  if (!value || json_is_null(value)) return ATTN_OK;
  json_t *supported = parse_value(only);
  if (!supported) return out_of_memory(err);
  int is_supported = attn_json_equal(value, supported);
  json_decref(supported);
  if (is_supported) return ATTN_OK;
  char shown[ATTN_JSON_SHOWN];
  return attn_fail(err, ATTN_ERR_FORMAT, NULL, "%s: \"%s\" is %s; only %s is supported", file, name,
                   attn_json_show(value, shown), only);
}

static attn_status put(const struct attn_hf_member *m, json_t *value, json_t *ours,
                       attn_error *err) {
  const json_t *before = json_object_get(ours, m->ours);
  char one[ATTN_JSON_SHOWN], other[ATTN_JSON_SHOWN];
  if (before && !attn_json_equal(before, value))
    return attn_fail(err, ATTN_ERR_FORMAT, NULL,
                     "config.json: \"%s\" is %s, but %s in the encoder; they must be equal",
                     m->theirs, attn_json_show(value, one), attn_json_show(before, other));
  return json_object_set(ours, m->ours, value) ? out_of_memory(err) : ATTN_OK;
}

static attn_status read_member(const struct attn_hf_family *f, const struct attn_hf_member *m,
                               const json_t *theirs, json_t *ours, attn_error *err) {
  json_t *value = get_value(theirs, m);
  attn_status status = ATTN_OK;
  if (!m->ours)
    status = attn_hf_require_value("config.json", m->theirs, value, m->otherwise, err);
  else if (!value)
    status = attn_fail(err, ATTN_ERR_FORMAT, NULL, "config.json: \"%s\" is missing", m->theirs);
  else if (has_values(f, m))
    status = translate(f, m, &value, err);
  if (!status && m->ours && !json_is_null(value)) status = put(m, value, ours, err);
  json_decref(value);
  return status;
}

static attn_status read_members(const struct attn_hf_family *f, const json_t *theirs,
                                struct attn_model_config *config, attn_error *err) {
  json_t *ours = json_object();
  attn_status status = ours ? ATTN_OK : out_of_memory(err);
  for (const struct attn_hf_member *m = f->members; (m->theirs || m->ours) && !status; m++)
    status = read_member(f, m, theirs, ours, err);
  for (const struct attn_hf_member *m = attn_hf_common_members; m->theirs && !status; m++)
    status = read_member(f, m, theirs, ours, err);
  if (!status) status = attn_model_config_read(ours, config, err);
  json_decref(ours);
  return status;
}

attn_status attn_hf_config_parse(const char *json, size_t length, struct attn_model_config *config,
                                 const struct attn_hf_family **family, attn_error *err) {
  json_t *theirs;
  attn_status status = attn_json_read("config.json", json, length, 0, &theirs, err);
  const char *type = json_string_value(json_object_get(theirs, "model_type"));
  const struct attn_hf_family *f = type ? attn_hf_family_find(type) : NULL;
  if (f)
    status = read_members(f, theirs, config, err);
  else if (!status)
    status = attn_fail(err, ATTN_ERR_FORMAT, NULL,
                       "config.json: \"model_type\" must be bert, gpt2 or marian, got %.60s",
                       type ? type : "none");
  if (!status) *family = f;
  json_decref(theirs);
  return status;
}

/* ---- Writing ---- */

/* Members in alphabetical order; the caller releases it. NULL: out of memory. */
static json_t *config_to_json(const struct attn_model_config *config) {
  char *text = attn_model_config_write(config);
  json_t *root = text ? parse_value(text) : NULL;
  free(text);
  return root;
}

static const char *their_value(const struct attn_hf_family *f, const char *member,
                               const char *word) {
  for (const struct attn_hf_value *w = f->values; w->ours; w++)
    if (!strcmp(w->ours, member) && !strcmp(w->our_value, word)) return w->their_value;
  return NULL;
}

/* theirs: the only value of the family, or NULL. */
static attn_status fail_unrepresentable(const struct attn_hf_family *f, const char *what,
                                        const json_t *ours, const json_t *theirs, attn_error *err) {
  char one[ATTN_JSON_SHOWN], other[ATTN_JSON_SHOWN];
  return attn_fail(err, ATTN_ERR_ARGUMENT, "config",
                   "\"%s\" is %s, which a %s model cannot represent%s%s", what,
                   attn_json_show(ours, one), f->name, theirs ? "; it must be " : "",
                   theirs ? attn_json_show(theirs, other) : "");
}

static attn_status write_string(const struct attn_hf_family *f, const struct attn_hf_member *m,
                                const json_t *word, json_t *theirs, attn_error *err) {
  const char *text = their_value(f, m->ours, json_string_value(word));
  if (!text) return fail_unrepresentable(f, m->ours, word, NULL, err);
  json_t *value = strcmp(m->theirs, "architectures") ? json_string(text) : json_pack("[s]", text);
  return json_object_set_new(theirs, m->theirs, value) ? out_of_memory(err) : ATTN_OK;
}

static attn_status write_member(const struct attn_hf_family *f, const struct attn_hf_member *m,
                                const json_t *ours, json_t *theirs, attn_error *err) {
  json_t *value = m->ours ? json_object_get(ours, m->ours) : NULL, *only;
  attn_status status = ATTN_OK;
  if (m->theirs && value && has_values(f, m)) return write_string(f, m, value, theirs, err);
  if (m->theirs && value)
    return json_object_set(theirs, m->theirs, value) ? out_of_memory(err) : ATTN_OK;
  if (!(only = parse_value(m->otherwise))) return out_of_memory(err);
  if (m->theirs)
    status = json_object_set(theirs, m->theirs, only) ? out_of_memory(err) : ATTN_OK;
  else if (!attn_json_equal(value, only))
    status = fail_unrepresentable(f, m->ours, value, only, err);
  json_decref(only);
  return status;
}

/* Reads the result: members that the family does not name must have the values that reading gives.
 */
static attn_status verify(const struct attn_hf_family *f, const char *text, json_t *ours,
                          attn_error *err) {
  struct attn_model_config config;
  const char *name;
  json_t *value;
  attn_status status = attn_hf_config_parse(text, strlen(text), &config, &f, err);
  if (status) return status;
  json_t *again = config_to_json(&config);
  if (!again) status = out_of_memory(err);
  json_object_foreach(ours, name, value) {
    const json_t *other = json_object_get(again, name);
    if (!status && !attn_json_equal(value, other))
      status = fail_unrepresentable(f, name, value, other, err);
  }
  json_decref(again);
  return status;
}

attn_status attn_hf_config_write(const struct attn_hf_family *f,
                                 const struct attn_model_config *config, char **json,
                                 attn_error *err) {
  struct attn_model_config c = *config;
  if (c.kind == ATTN_DECODER)
    c.share_encoder_decoder_embeddings = 0; /* without an encoder it has no effect */
  char *text = NULL;
  json_t *ours = config_to_json(&c), *theirs = json_pack("{s:s}", "model_type", f->name);
  attn_status status = ours && theirs ? ATTN_OK : out_of_memory(err);
  for (const struct attn_hf_member *m = f->members; (m->theirs || m->ours) && !status; m++)
    status = write_member(f, m, ours, theirs, err);
  if (!status && !(text = attn_json_text(theirs, JSON_INDENT(2) | JSON_SORT_KEYS)))
    status = out_of_memory(err);
  if (!status) status = verify(f, text, ours, err);
  json_decref(ours), json_decref(theirs);
  if (status)
    free(text);
  else
    *json = text;
  return status;
}
