#include "run_record.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "json_fields.h"

#define FIELD(name, type, min, max) \
  { #name, ATTN_JSON_##type, offsetof(struct attn_run_record, name), min, max }

static const struct attn_json_field fields[] = {
    FIELD(task, TEXT, 0, 0),
    FIELD(data, TEXT, 0, 0),
    FIELD(validation_data, TEXT, 0, 0),
    FIELD(images, TEXT, 0, 0),
    FIELD(data_hash, INTEGER, INT64_MIN, INT64_MAX),
    FIELD(validate_every, INTEGER, 1, INT64_MAX),
    FIELD(max_validation_examples, INTEGER, 1, ATTN_VALIDATION_EXAMPLES_MAX),
    FIELD(patience, INTEGER, 0, INT64_MAX),
    FIELD(target_exact_match, REAL, 0, 0),
    FIELD(best_metric, REAL, 0, 0),
    FIELD(best_validation_loss, REAL, 0, 0),
    FIELD(validation_exact_match, REAL, 0, 0),
    FIELD(validation_loss, REAL, 0, 0),
    FIELD(best_step, INTEGER, 0, INT64_MAX),
    FIELD(validations_without_improvement, INTEGER, 0, INT64_MAX - 1),
    FIELD(validation_pending, FLAG, 0, 0),
    FIELD(pretrain_encoder_steps, INTEGER, 0, INT64_MAX),
};
static const struct attn_json_table table = {"checkpoint: \"run\"", fields,
                                             sizeof fields / sizeof *fields, 0};

char *attn_run_record_write(const struct attn_run_record *r) {
  return attn_json_table_write(&table, r);
}

attn_status attn_run_record_parse(const char *json, struct attn_run_record *r, attn_error *err) {
  memset(r, 0, sizeof *r);
  attn_status status = attn_json_table_read(&table, json, r, err);
  if (status || (!r->task != !r->data && ((!r->validation_data && !r->images) || r->data)))
    return status;
  return attn_fail(err, ATTN_ERR_FORMAT, NULL,
                   "checkpoint: \"run\": expected either \"task\" or \"data\", and "
                   "\"validation_data\" and \"images\" only with \"data\"");
}

void attn_run_record_free(struct attn_run_record *r) {
  free(r->task), free(r->data), free(r->validation_data), free(r->images);
  r->task = r->data = r->validation_data = r->images = NULL;
}
