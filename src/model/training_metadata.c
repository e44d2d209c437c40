#include "training_metadata.h"

#include <stddef.h>

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
