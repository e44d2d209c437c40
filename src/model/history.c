#include "history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "json_text.h"
#include "error.h"

static json_t *object_of(const struct attn_safetensors *file, const char *name) {
  const char *text = attn_safetensors_metadata(file, name);
  json_error_t problem;
  return text ? attn_json_load(text, strlen(text), 0, &problem) : NULL;
}

static int64_t whole(const json_t *root, const char *name) {
  json_int_t value = json_integer_value(json_object_get(root, name));
  return value > 0 ? value : 0;
}

static double real(const json_t *root, const char *name) {
  const json_t *value = json_object_get(root, name);
  return json_is_number(value) ? json_number_value(value) : NAN;
}

static int copy(const json_t *root, const char *name, char **to) {
  const char *text = json_string_value(json_object_get(root, name));
  *to = text ? strdup(text) : NULL;
  return !text || *to;
}

/* The last step at which a run validates, up to this one: each `every` steps, and at the end. */
static int64_t validated(int64_t step, int64_t steps, int64_t every) {
  return step >= steps || !every ? step : step - step % every;
}

static int read_run(struct attn_history *h, const json_t *run, int64_t steps) {
  h->exact = real(run, "exact"), h->loss = real(run, "loss");
  h->held_out_most = whole(run, "examples");
  if (!isnan(h->loss)) h->held_out_step = validated(h->step, steps, whole(run, "validate_every"));
  return copy(run, "task", &h->task) && copy(run, "data", &h->data);
}

attn_status attn_history_read(const struct attn_safetensors *file, struct attn_history *h,
                              attn_error *err) {
  json_t *training = object_of(file, "training"), *run = object_of(file, "run");
  const char *precision = json_string_value(json_object_get(training, "precision"));
  memset(h, 0, sizeof *h);
  h->halves = precision && !strcmp(precision, "bf16");
  h->step = whole(training, "step");
  int kept = read_run(h, run, whole(training, "steps"));
  json_decref(training), json_decref(run);
  return kept ? ATTN_OK : attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for a run's record");
}

void attn_history_free(struct attn_history *h) {
  free(h->task), free(h->data);
  h->task = h->data = NULL;
}
