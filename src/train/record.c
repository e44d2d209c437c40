#include "record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "json_text.h"
#include "error.h"

enum { EXACT = 17 }; /* digits that give a double back */

/* JSON has no number for NaN. */
static json_t *number(double value) { return isnan(value) ? json_null() : json_real(value); }

char *attn_record_write(const struct attn_record *r) {
  json_t *root = json_pack(
      "{s:s?, s:s?, s:s?, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:b}", "task",
      r->task, "data", r->data, "held_out", r->held_out, "hash", (json_int_t)r->hash,
      "validate_every", (json_int_t)r->validate_every, "examples", (json_int_t)r->examples,
      "patience", (json_int_t)r->patience, "until", number(r->until), "best", number(r->best),
      "best_loss", number(r->best_loss), "exact", number(r->exact), "loss", number(r->loss),
      "best_step", (json_int_t)r->best_step, "worse", (json_int_t)r->worse, "pending", r->pending);
  char *text = root ? attn_json_text(root, JSON_COMPACT | JSON_REAL_PRECISION(EXACT)) : NULL;
  json_decref(root);
  return text;
}

static int copy(const json_t *value, char **to) {
  const char *text = json_string_value(value);
  *to = text ? strdup(text) : NULL;
  return !text || *to;
}

static double real(const json_t *root, const char *name) {
  const json_t *value = json_object_get(root, name);
  return json_is_number(value) ? json_number_value(value) : NAN;
}

static int64_t whole(const json_t *root, const char *name) {
  return json_integer_value(json_object_get(root, name));
}

/* What is there has the type of its name. */
static int has_types(const json_t *root) {
  static const char *const texts[] = {"task", "data", "held_out"}, *const numbers[] = {
                                                                       "hash",
                                                                       "validate_every",
                                                                       "examples",
                                                                       "patience",
                                                                       "best_step",
                                                                       "worse"};
  int sound = json_is_object(root);
  for (size_t n = 0; n < sizeof texts / sizeof *texts; n++) {
    const json_t *value = json_object_get(root, texts[n]);
    sound &= !value || json_is_null(value) || json_is_string(value);
  }
  for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++) {
    const json_t *value = json_object_get(root, numbers[n]);
    sound &= !value || json_is_integer(value);
  }
  return sound;
}

static int is_sound(const struct attn_record *r) {
  return !r->task != !r->data && (!r->held_out || r->data) && r->validate_every >= 1 &&
         r->patience >= 0 && r->best_step >= 0 && r->worse >= 0 && r->worse < INT64_MAX;
}

static attn_status read(const json_t *root, struct attn_record *r, attn_error *err) {
  r->hash = (uint64_t)whole(root, "hash"), r->validate_every = whole(root, "validate_every");
  r->examples = whole(root, "examples"), r->patience = whole(root, "patience");
  r->until = real(root, "until"), r->best = real(root, "best");
  r->best_loss = real(root, "best_loss"), r->exact = real(root, "exact");
  r->loss = real(root, "loss"), r->best_step = whole(root, "best_step");
  r->worse = whole(root, "worse"), r->pending = json_is_true(json_object_get(root, "pending"));
  if (!copy(json_object_get(root, "task"), &r->task) ||
      !copy(json_object_get(root, "data"), &r->data) ||
      !copy(json_object_get(root, "held_out"), &r->held_out))
    return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for a run's record");
  if (!has_types(root) || !is_sound(r))
    return attn_fail(err, ATTN_ERR_FORMAT, NULL, "checkpoint: \"run\" holds what cannot be");
  if (r->examples < 1 || r->examples > ATTN_EXAMPLES_MOST)
    return attn_fail(err, ATTN_ERR_FORMAT, NULL,
                     "checkpoint: \"run\" validates on %lld examples; it may be 1 to %d",
                     (long long)r->examples, ATTN_EXAMPLES_MOST);
  return ATTN_OK;
}

attn_status attn_record_parse(const char *json, struct attn_record *record, attn_error *err) {
  json_t *root;
  memset(record, 0, sizeof *record);
  attn_status status = attn_json_read("checkpoint: \"run\"", json, strlen(json), 0, &root, err);
  if (!status) status = read(root, record, err);
  json_decref(root);
  return status;
}

void attn_record_free(struct attn_record *r) {
  free(r->task), free(r->data), free(r->held_out);
  r->task = r->data = r->held_out = NULL;
}
