#include "history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "json_text.h"
#include "error.h"

/* ---- Names of members ---- */

static const char *const old_and_new[][2] = {
    /* "training" */
    {"schedule", "lr_schedule"},
    {"rate", "learning_rate"},
    {"warm_up", "warmup_steps"},
    {"decay", "weight_decay"},
    {"clip", "max_grad_norm"},
    {"smoothing", "label_smoothing"},
    {"batch", "batch_size"},
    {"accumulate", "gradient_accumulation_steps"},
    {"tokens", "max_tokens"},
    {"longest", "max_length"},
    {"skipped", "skipped_steps"},
    {"drawn", "examples_seen"},
    /* "run" */
    {"held_out", "validation_data"},
    {"hash", "data_hash"},
    {"examples", "max_validation_examples"},
    {"until", "target_exact_match"},
    {"best", "best_metric"},
    {"best_loss", "best_validation_loss"},
    {"exact", "validation_exact_match"},
    {"loss", "validation_loss"},
    {"worse", "validations_without_improvement"},
    {"pending", "validation_pending"},
};

int attn_training_metadata_rename(json_t *object) {
  for (size_t n = 0; n < sizeof old_and_new / sizeof *old_and_new; n++) {
    const char *old = old_and_new[n][0], *new = old_and_new[n][1];
    json_t *value = json_object_get(object, old);
    if (!value || json_object_get(object, new)) continue;
    if (json_object_set(object, new, value) || json_object_del(object, old)) return -1;
  }
  return 0;
}

/* ---- Reading ---- */

static json_t *object_of(const struct attn_safetensors *file, const char *name) {
  const char *text = attn_safetensors_metadata(file, name);
  json_error_t problem;
  json_t *object = text ? attn_json_load(text, strlen(text), 0, &problem) : NULL;
  if (object && attn_training_metadata_rename(object)) json_decref(object), object = NULL;
  return object;
}

static int64_t positive(const json_t *root, const char *name) {
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

/* The last validation up to this step: every `every` steps, and at the end. */
static int64_t last_validation(int64_t step, int64_t steps, int64_t every) {
  return step >= steps || !every ? step : step - step % every;
}

static int read_run(struct attn_training_history *h, const json_t *run, int64_t steps) {
  h->exact_match = real(run, "validation_exact_match"), h->loss = real(run, "validation_loss");
  h->validation_max_examples = positive(run, "max_validation_examples");
  if (!isnan(h->loss))
    h->validation_step = last_validation(h->step, steps, positive(run, "validate_every"));
  return copy(run, "task", &h->task) && copy(run, "data", &h->data);
}

attn_status attn_training_history_read(const struct attn_safetensors *file,
                                       struct attn_training_history *h, attn_error *err) {
  json_t *training = object_of(file, "training"), *run = object_of(file, "run");
  const char *precision = json_string_value(json_object_get(training, "precision"));
  memset(h, 0, sizeof *h);
  h->is_bf16 = precision && !strcmp(precision, "bf16");
  h->step = positive(training, "step");
  int kept = read_run(h, run, positive(training, "steps"));
  json_decref(training), json_decref(run);
  return kept ? ATTN_OK : attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for a training history");
}

void attn_training_history_free(struct attn_training_history *h) {
  free(h->task), free(h->data);
  h->task = h->data = NULL;
}
