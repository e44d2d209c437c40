/* foreign_config.c -- config.json: renamed member by member into ours, and read as ours is. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "json_text.h"
#include "error.h"
#include "families.h"

enum { EXACT = 17 }; /* digits that give a double back */

const struct attn_family *attn_family_find(const char *name) {
  for (int n = 0; attn_families[n]; n++)
    if (!strcmp(attn_families[n]->name, name)) return attn_families[n];
  return NULL;
}

static attn_status out_of_memory(attn_error *err) {
  return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for a configuration");
}

/* What a table says, as a value of its own. */
static json_t *value_of(const char *text) { return json_loads(text, JSON_DECODE_ANY, NULL); }

/* ---- Reading ---- */

/* Its value, or what stands for it; NULL: neither, or no memory. To be released. */
static json_t *look_up(const json_t *theirs, const struct attn_foreign_member *m) {
  json_t *value = m->theirs ? json_object_get(theirs, m->theirs) : NULL;
  const char *other = m->otherwise;
  if (value && !json_is_null(value)) return json_incref(value);
  if (other && *other == '@') return json_incref(json_object_get(theirs, other + 1));
  return other ? value_of(other) : NULL;
}

/* Their word in ours; of a list, the only one. */
static attn_status translate(const struct attn_family *f, const struct attn_foreign_member *m,
                             json_t **value, attn_error *err) {
  const json_t *word = json_array_size(*value) == 1 ? json_array_get(*value, 0) : *value;
  const char *text = json_string_value(word);
  for (const struct attn_foreign_word *w = f->words; text && w->ours; w++) {
    if (strcmp(w->ours, m->ours) || strcmp(w->their_word, text)) continue;
    json_decref(*value);
    return (*value = json_string(w->our_word)) ? ATTN_OK : out_of_memory(err);
  }
  return attn_fail(err, ATTN_ERR_FORMAT, NULL, "config.json: \"%s\" is %.60s, which is not known",
                   m->theirs, text ? text : "no word");
}

static int has_words(const struct attn_family *f, const struct attn_foreign_member *m) {
  for (const struct attn_foreign_word *w = f->words; w->ours; w++)
    if (!strcmp(w->ours, m->ours)) return m->theirs != NULL;
  return 0;
}

/* What changes numbers and has no name here must be as it is everywhere. */
static attn_status insist(const struct attn_foreign_member *m, const json_t *value,
                          attn_error *err) {
  json_t *only = value_of(m->otherwise);
  if (!only) return out_of_memory(err);
  int other = value && !attn_json_equal(value, only);
  json_decref(only);
  if (!other) return ATTN_OK;
  char *text = attn_json_text(value, JSON_ENCODE_ANY | JSON_COMPACT);
  attn_status status =
      attn_fail(err, ATTN_ERR_FORMAT, NULL, "config.json: \"%s\" is %.60s; it can only be %s here",
                m->theirs, text ? text : "another", m->otherwise);
  free(text);
  return status;
}

static attn_status differs(const struct attn_foreign_member *m, const json_t *value,
                           const json_t *before, attn_error *err) {
  char *one = attn_json_text(value, JSON_ENCODE_ANY | JSON_COMPACT);
  char *other = attn_json_text(before, JSON_ENCODE_ANY | JSON_COMPACT);
  attn_status status =
      attn_fail(err, ATTN_ERR_FORMAT, NULL,
                "config.json: \"%s\" is %.60s, the encoder's is %.60s; here both have one",
                m->theirs, one ? one : "another", other ? other : "another");
  free(one), free(other);
  return status;
}

static attn_status put(const struct attn_foreign_member *m, json_t *value, json_t *ours,
                       attn_error *err) {
  const json_t *before = json_object_get(ours, m->ours);
  if (before && !attn_json_equal(before, value)) return differs(m, value, before, err);
  return json_object_set(ours, m->ours, value) ? out_of_memory(err) : ATTN_OK;
}

static attn_status read_member(const struct attn_family *f, const struct attn_foreign_member *m,
                               const json_t *theirs, json_t *ours, attn_error *err) {
  json_t *value = look_up(theirs, m);
  attn_status status = ATTN_OK;
  if (!m->ours)
    status = insist(m, value, err);
  else if (!value)
    status = attn_fail(err, ATTN_ERR_FORMAT, NULL, "config.json: \"%s\" is missing", m->theirs);
  else if (has_words(f, m))
    status = translate(f, m, &value, err);
  if (!status && m->ours && !json_is_null(value)) status = put(m, value, ours, err);
  json_decref(value);
  return status;
}

static attn_status read_members(const struct attn_family *f, const json_t *theirs,
                                struct attn_config *config, attn_error *err) {
  json_t *ours = json_object();
  attn_status status = ours ? ATTN_OK : out_of_memory(err);
  for (const struct attn_foreign_member *m = f->members; (m->theirs || m->ours) && !status; m++)
    status = read_member(f, m, theirs, ours, err);
  for (const struct attn_foreign_member *m = attn_foreign_common; m->theirs && !status; m++)
    status = read_member(f, m, theirs, ours, err);
  char *text = status ? NULL : attn_json_text(ours, JSON_COMPACT | JSON_REAL_PRECISION(EXACT));
  if (!status)
    status = text ? attn_config_parse(text, strlen(text), config, err) : out_of_memory(err);
  free(text), json_decref(ours);
  return status;
}

attn_status attn_foreign_config(const char *json, size_t length, struct attn_config *config,
                                const struct attn_family **family, attn_error *err) {
  json_t *theirs;
  attn_status status = attn_json_read("config.json", json, length, 0, &theirs, err);
  const char *type = json_string_value(json_object_get(theirs, "model_type"));
  const struct attn_family *f = type ? attn_family_find(type) : NULL;
  if (f)
    status = read_members(f, theirs, config, err);
  else if (!status)
    status = attn_fail(err, ATTN_ERR_FORMAT, NULL,
                       "config.json: \"model_type\" is %.60s; known are bert, gpt2 and marian",
                       type ? type : "missing");
  if (!status) *family = f;
  json_decref(theirs);
  return status;
}

/* ---- Writing ---- */

static const char *their_word(const struct attn_family *f, const char *member, const char *word) {
  for (const struct attn_foreign_word *w = f->words; w->ours; w++)
    if (!strcmp(w->ours, member) && !strcmp(w->our_word, word)) return w->their_word;
  return NULL;
}

/* Ours, and what theirs is throughout; NULL: no value of theirs is. */
static attn_status cannot_say(const struct attn_family *f, const char *what, const json_t *ours,
                              const json_t *theirs, attn_error *err) {
  char *one = attn_json_text(ours, JSON_ENCODE_ANY | JSON_COMPACT);
  char *other = theirs ? attn_json_text(theirs, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
  attn_status status =
      attn_fail(err, ATTN_ERR_ARGUMENT, "config", "\"%s\" is %.60s; no %s model is so%s%.60s", what,
                one ? one : "another", f->name, other ? ", there it is " : "", other ? other : "");
  free(one), free(other);
  return status;
}

static attn_status write_word(const struct attn_family *f, const struct attn_foreign_member *m,
                              const json_t *word, json_t *theirs, attn_error *err) {
  const char *text = their_word(f, m->ours, json_string_value(word));
  if (!text) return cannot_say(f, m->ours, word, NULL, err);
  json_t *value = strcmp(m->theirs, "architectures") ? json_string(text) : json_pack("[s]", text);
  return json_object_set_new(theirs, m->theirs, value) ? out_of_memory(err) : ATTN_OK;
}

static attn_status write_member(const struct attn_family *f, const struct attn_foreign_member *m,
                                const json_t *ours, json_t *theirs, attn_error *err) {
  json_t *value = m->ours ? json_object_get(ours, m->ours) : NULL, *only;
  attn_status status = ATTN_OK;
  if (m->theirs && value && has_words(f, m)) return write_word(f, m, value, theirs, err);
  if (m->theirs && value)
    return json_object_set(theirs, m->theirs, value) ? out_of_memory(err) : ATTN_OK;
  if (!(only = value_of(m->otherwise))) return out_of_memory(err);
  if (m->theirs)
    status = json_object_set(theirs, m->theirs, only) ? out_of_memory(err) : ATTN_OK;
  else if (!attn_json_equal(value, only))
    status = cannot_say(f, m->ours, value, only, err);
  json_decref(only);
  return status;
}

/* Does what is written say what was meant? Members without a name there must have their defaults.
 */
static attn_status read_again(const struct attn_family *f, const char *text,
                              const struct attn_config *config, attn_error *err) {
  struct attn_config again;
  attn_status status = attn_foreign_config(text, strlen(text), &again, &f, err);
  if (status) return status;
  char *one = attn_config_write(config), *other = attn_config_write(&again);
  json_t *a = one ? value_of(one) : NULL, *b = other ? value_of(other) : NULL, *value;
  const char *name;
  if (!a || !b) status = out_of_memory(err);
  json_object_foreach(
      a, name, value) if (!status && !attn_json_equal(value, json_object_get(b, name))) status =
      cannot_say(f, name, value, json_object_get(b, name), err);
  json_decref(a), json_decref(b), free(one), free(other);
  return status;
}

attn_status attn_foreign_config_write(const struct attn_family *f, const struct attn_config *given,
                                      char **json, attn_error *err) {
  struct attn_config c = *given, *config = &c;
  if (c.kind == ATTN_DECODER) c.shared_embedding = 0; /* there is nothing to share it with */
  char *text = attn_config_write(config);
  json_t *ours = text ? value_of(text) : NULL;
  json_t *theirs = json_pack("{s:s}", "model_type", f->name);
  attn_status status = ours && theirs ? ATTN_OK : out_of_memory(err);
  for (const struct attn_foreign_member *m = f->members; (m->theirs || m->ours) && !status; m++)
    status = write_member(f, m, ours, theirs, err);
  free(text), text = NULL;
  if (!status && !(text = attn_json_text(theirs, JSON_INDENT(2) | JSON_SORT_KEYS)))
    status = out_of_memory(err);
  if (!status) status = read_again(f, text, config, err);
  json_decref(ours), json_decref(theirs);
  if (status)
    free(text);
  else
    *json = text;
  return status;
}
