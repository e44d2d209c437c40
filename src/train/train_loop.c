/* train_loop.c -- the training loop: batches, steps, validations, checkpoints. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#include "descriptor.h"
#include "error.h"
#include "train_run.h"
#include "validation.h"

enum { SKIPPED_STEPS_MAX = 10, POLL_INTERVAL = 64 };

struct train_loop {
  struct attn_train_run run;
  double start;       /* seconds */
  double tokens;      /* trained on since start */
  int64_t first_step; /* of this call */
  int skipped_steps;  /* in a row */
};

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- A step ---- */

/* Adds examples until the batch is full. One that does not fit starts the next batch. loaded: the
 * examples of the step's earlier batches. */
static attn_status load_batch(struct train_loop *l, int64_t loaded, attn_error *err) {
  struct attn_train_run *r = &l->run;
  struct attn_trainer *t = r->trainer;
  const struct attn_dataset *d = &r->dataset;
  const int64_t total = t->config.gradient_accumulation_steps * t->config.batch_size;
  while (t->added < t->config.batch_size) {
    int64_t done = loaded + t->added;
    attn_status status = ATTN_OK;
    if (done % POLL_INTERVAL == 0) status = attn_watch_report(&r->watch, done, total, err);
    if (!status) status = attn_dataset_get(&r->dataset, t->examples_seen, 0, err);
    if (!status) status = attn_dataset_get_picture(&r->dataset, t->examples_seen, 0, err);
    if (status) return status;
    if (!attn_dataset_add_to(d, t)) break;
    t->examples_seen++;
  }
  if (t->added) return ATTN_OK;
  return attn_fail(err, ATTN_ERR_FORMAT, NULL, "an example of %lld tokens does not fit in a batch",
                   (long long)d->counts[ATTN_TARGET]);
}

static attn_status diverged(const struct train_loop *l, attn_error *err) {
  return attn_fail(err, ATTN_ERR_DIVERGED, NULL,
                   "step %lld: loss or gradient not finite %d times in a row; checkpoints are "
                   "unchanged; try a lower learning_rate",
                   (long long)l->run.trainer->step, SKIPPED_STEPS_MAX);
}

static attn_status make_step(struct train_loop *l, attn_error *err) {
  struct attn_trainer *t = l->run.trainer;
  struct attn_step_result step;
  uint64_t examples_seen = t->examples_seen;
  attn_status status = ATTN_OK;
  attn_train_run_phase(&l->run, ATTN_TRAIN_LOAD_BATCH);
  for (int64_t n = 0; n < t->config.gradient_accumulation_steps && !status; n++) {
    status = load_batch(l, n * t->config.batch_size, err);
    if (!status) status = attn_trainer_accumulate(t, err);
  }
  if (!status) status = attn_trainer_step(t, &step, err);
  if (status) return t->examples_seen = examples_seen, status; /* undo the incomplete step */
  l->skipped_steps = step.skipped ? l->skipped_steps + 1 : 0, l->tokens += (double)step.tokens;
  l->run.state.loss = step.loss, l->run.state.accuracy = step.accuracy;
  l->run.state.learning_rate = step.learning_rate, l->run.state.grad_norm = step.grad_norm;
  return l->skipped_steps < SKIPPED_STEPS_MAX ? ATTN_OK : diverged(l, err);
}

/* ---- Validation ---- */

static int is_better(const struct attn_run_record *c, const struct attn_validation *v) {
  if (isnan(c->best_metric)) return 1;
  if (isnan(v->exact_match)) return v->loss < c->best_metric;
  return v->exact_match > c->best_metric ||
         (v->exact_match == c->best_metric && v->loss < c->best_validation_loss);
}

static attn_status write_checkpoint(struct attn_train_run *r, const char *path, const char *stale,
                                    attn_error *err) {
  char *record = attn_run_record_write(&r->record);
  if (!record) return attn_fail(err, ATTN_ERR_MEMORY, NULL, "out of memory: checkpoint metadata");
  attn_status status =
      attn_checkpoint_write(path, stale, r->trainer, r->tokenizer_json, record, err);
  free(record);
  if (!status) r->replaces_another_run = 0;
  return status;
}

static int64_t count_validation_examples(const struct attn_train_run *r) {
  int64_t count = attn_text_pairs_count(r->pairs, 1), max = r->record.max_validation_examples;
  return count && count < max ? count : max;
}

/* Writes the best checkpoint before the last, so that a run resumed from the last has both. A last
 * checkpoint of another run is deleted first. */
static attn_status validate(struct train_loop *l, attn_error *err) {
  struct attn_train_run *r = &l->run;
  struct attn_run_record *c = &r->record;
  struct attn_validation v;
  attn_status status = attn_validate(&r->dataset, r->trainer, count_validation_examples(r),
                                     attn_train_run_phase(r, ATTN_TRAIN_VALIDATE), &v, err);
  if (status) return status;
  int better = is_better(c, &v);
  c->validation_pending = 0;
  c->validation_loss = v.loss, c->validation_exact_match = v.exact_match;
  c->validations_without_improvement = better ? 0 : c->validations_without_improvement + 1;
  if (better) {
    c->best_metric = isnan(v.exact_match) ? v.loss : v.exact_match;
    c->best_validation_loss = v.loss, c->best_step = r->trainer->step;
    const char *stale = r->replaces_another_run ? r->last_path : NULL;
    status = write_checkpoint(r, r->best_path, stale, err);
  }
  return status ? status : write_checkpoint(r, r->last_path, NULL, err);
}

/* ---- The loop ---- */

static void update_state(struct train_loop *l, int validated) {
  const struct attn_trainer *t = l->run.trainer;
  const struct attn_run_record *c = &l->run.record;
  attn_train_state *s = &l->run.state;
  int64_t steps_done = t->step - l->first_step;
  s->step = t->step, s->steps = t->config.schedule.steps, s->skipped_steps = t->skipped_steps;
  s->validation_loss = c->validation_loss, s->validation_exact_match = c->validation_exact_match;
  s->validated = validated, s->best_metric = c->best_metric, s->best_step = c->best_step;
  s->parameter_count = t->parameter_count, s->memory_bytes = (int64_t)t->memory_bytes;
  s->vocab_size = attn_tokenizer_vocab_size(l->run.tokenizer);
  s->phase = ATTN_TRAIN_STEP, s->done = s->step, s->total = s->steps;
  s->seconds = now() - l->start;
  s->tokens_per_second = s->seconds > 0 ? l->tokens / s->seconds : 0;
  s->seconds_left = steps_done ? s->seconds / (double)steps_done * (double)(s->steps - s->step) : 0;
}

static int is_validation_due(const struct train_loop *l) {
  int64_t step = l->run.trainer->step;
  return step % l->run.record.validate_every == 0 || step >= l->run.trainer->config.schedule.steps;
}

static int32_t stop_reason(const struct train_loop *l) {
  const struct attn_run_record *c = &l->run.record;
  if (c->validation_pending) return ATTN_TRAIN_RUNNING;
  if (l->run.trainer->step >= l->run.trainer->config.schedule.steps) return ATTN_TRAIN_MAX_STEPS;
  if (c->validation_exact_match >= c->target_exact_match) return ATTN_TRAIN_TARGET_REACHED;
  return c->patience && c->validations_without_improvement >= c->patience ? ATTN_TRAIN_EARLY_STOPPED
                                                                          : ATTN_TRAIN_RUNNING;
}

static attn_status interrupt(struct train_loop *l, int is_written, attn_error *err) {
  attn_status status =
      is_written ? ATTN_OK : write_checkpoint(&l->run, l->run.last_path, NULL, err);
  if (status) return status;
  l->run.state.stop_reason = ATTN_TRAIN_INTERRUPTED;
  return attn_fail(err, ATTN_ERR_INTERRUPTED, NULL, "interrupted at step %lld; resume from %s",
                   (long long)l->run.trainer->step, l->run.last_path);
}

static attn_status interrupt_setup(struct train_loop *l, attn_error *err) {
  l->run.state.stop_reason = ATTN_TRAIN_INTERRUPTED;
  return attn_fail(err, ATTN_ERR_INTERRUPTED, NULL,
                   "interrupted before the first step; nothing was written");
}

/* Returns nonzero to stop. */
static int report_progress(struct train_loop *l, int validated) {
  update_state(l, validated);
  return l->run.config.progress && l->run.config.progress(l->run.config.context, &l->run.state);
}

/* A step and the validation that follows it, or a pending validation. */
static attn_status advance(struct train_loop *l, attn_error *err) {
  attn_status status = l->run.record.validation_pending ? ATTN_OK : make_step(l, err);
  if (!status && is_validation_due(l)) l->run.record.validation_pending = 1;
  return status || !l->run.record.validation_pending ? status : validate(l, err);
}

static attn_status run_steps(struct train_loop *l, attn_error *err) {
  l->run.state.stop_reason = stop_reason(l);
  while (!l->run.state.stop_reason) {
    attn_status status = advance(l, err);
    if (status == ATTN_ERR_INTERRUPTED) return interrupt(l, 0, err);
    if (status) return status;
    int validated = is_validation_due(l);
    if (validated) l->run.state.stop_reason = stop_reason(l);
    if (report_progress(l, validated) && !l->run.state.stop_reason)
      return interrupt(l, validated, err);
  }
  return ATTN_OK;
}

static attn_status train(struct train_loop *l, attn_error *err) {
  attn_status status = attn_train_run_open(&l->run, err);
  if (status) return status == ATTN_ERR_INTERRUPTED ? interrupt_setup(l, err) : status;
  l->start = now(), l->first_step = l->run.trainer->step;
  l->run.trainer->watch = &l->run.watch;
  return report_progress(l, 0) ? interrupt(l, 0, err) : run_steps(l, err);
}

attn_status attn_model_train(const attn_train_config *config, attn_train_state *state,
                             attn_error *err) {
  struct train_loop l = {.run.state = {.struct_size = sizeof l.run.state,
                                       .validation_loss = NAN,
                                       .validation_exact_match = NAN,
                                       .best_metric = NAN}};
  attn_status status =
      attn_descriptor_require(config, &l.run.config, sizeof l.run.config,
                              offsetof(attn_train_config, precision), "config", err);
  if (!status && state)
    status = attn_descriptor_expect(state, sizeof *state, sizeof *state, "state", err);
  if (status) return status;
  status = train(&l, err);
  if (state) attn_descriptor_fill(state, &l.run.state, sizeof l.run.state);
  attn_train_run_free(&l.run);
  return status;
}
