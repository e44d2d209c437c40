/* run.c -- the loop: examples, step, now and then a validation and a checkpoint. */
#include "run.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#include "descriptor.h"
#include "error.h"

enum { SKIPPED_MOST = 10, TOLD = 64 };

struct loop {
  struct attn_run run;
  double start, learned; /* seconds; tokens since */
  int64_t first;         /* step that this call began at */
  int skipped;           /* in a row */
};

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- A step ---- */

/* Examples until the batch or its memory is full: what did not fit comes first next time. */
static attn_status fill(struct loop *l, int64_t before, attn_error *err) {
  struct attn_run *r = &l->run;
  struct attn_trainer *t = r->trainer;
  const struct attn_examples *e = &r->examples;
  const int64_t all = t->how.accumulate * t->how.batch;
  while (t->added < t->how.batch) {
    int64_t done = before + t->added;
    attn_status status = ATTN_OK;
    if (done % TOLD == 0) status = attn_watch_tell(&r->watch, done, all, err);
    if (!status) status = attn_examples_get(&r->examples, t->drawn, 0, err);
    if (status) return status;
    if (!attn_trainer_add(t, e->tokens[0], e->counts[0], e->tokens[1], e->counts[1])) break;
    t->drawn++;
  }
  if (t->added) return ATTN_OK;
  return attn_fail(err, ATTN_ERR_FORMAT, NULL, "an example of %lld tokens has no room in a batch",
                   (long long)e->counts[1]);
}

static attn_status diverged(struct loop *l, attn_error *err) {
  return attn_fail(err, ATTN_ERR_DIVERGED, NULL,
                   "step %lld: loss or gradient was not finite %d times in a row; checkpoints are "
                   "as they were. Try a lower rate",
                   (long long)l->run.trainer->step, SKIPPED_MOST);
}

static attn_status make_step(struct loop *l, attn_error *err) {
  struct attn_trainer *t = l->run.trainer;
  struct attn_step step;
  uint64_t drawn = t->drawn;
  attn_status status = ATTN_OK;
  attn_run_phase(&l->run, ATTN_TRAIN_GATHERS);
  for (int64_t n = 0; n < t->how.accumulate && !status; n++) {
    status = fill(l, n * t->how.batch, err);
    if (!status) status = attn_trainer_gather(t, err);
  }
  if (!status) status = attn_trainer_step(t, &step, err);
  if (status) return t->drawn = drawn, status; /* a step that is not whole was not begun */
  l->skipped = step.skipped ? l->skipped + 1 : 0, l->learned += (double)step.tokens;
  l->run.state.loss = step.loss, l->run.state.accuracy = step.accuracy;
  l->run.state.rate = step.rate, l->run.state.norm = step.norm;
  return l->skipped < SKIPPED_MOST ? ATTN_OK : diverged(l, err);
}

/* ---- Validation ---- */

static int is_better(const struct attn_record *c, const struct attn_unseen *u) {
  if (isnan(c->best)) return 1;
  if (isnan(u->exact)) return u->loss < c->best;
  return u->exact > c->best || (u->exact == c->best && u->loss < c->best_loss);
}

static attn_status write(struct attn_run *r, const char *path, const char *gone, attn_error *err) {
  char *record = attn_record_write(&r->record);
  if (!record) return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for a checkpoint");
  attn_status status = attn_checkpoint_write(path, gone, r->trainer, r->words, record, err);
  free(record);
  if (!status) r->replaces = 0;
  return status;
}

static int64_t unseen_examples(const struct attn_run *r) {
  int64_t there = attn_data_count(r->data, 1);
  return there && there < r->record.examples ? there : r->record.examples;
}

/* The best is written before the last: whoever goes on from the last finds both. A last one of
 * another run must not find this best. */
static attn_status validate(struct loop *l, attn_error *err) {
  struct attn_run *r = &l->run;
  struct attn_record *c = &r->record;
  struct attn_unseen unseen;
  attn_status status =
      attn_examples_validate(&r->examples, r->trainer, unseen_examples(r),
                             attn_run_phase(r, ATTN_TRAIN_VALIDATES), &unseen, err);
  if (status) return status;
  c->pending = 0;
  int better = is_better(c, &unseen);
  c->loss = unseen.loss, c->exact = unseen.exact, c->worse = better ? 0 : c->worse + 1;
  if (better) {
    c->best = isnan(unseen.exact) ? unseen.loss : unseen.exact;
    c->best_loss = unseen.loss, c->best_step = r->trainer->step;
    status = write(r, r->best_path, r->replaces ? r->last_path : NULL, err);
  }
  return status ? status : write(r, r->last_path, NULL, err);
}

/* ---- The loop ---- */

static void report(struct loop *l, int validated) {
  const struct attn_trainer *t = l->run.trainer;
  const struct attn_record *c = &l->run.record;
  attn_train_state *s = &l->run.state;
  int64_t made = t->step - l->first;
  s->step = t->step, s->steps = t->how.schedule.steps, s->skipped = t->skipped;
  s->unseen_loss = c->loss, s->unseen_exact = c->exact, s->validated = validated;
  s->best = c->best, s->best_step = c->best_step;
  s->weights = t->numbers, s->bytes = (int64_t)t->bytes;
  s->words = attn_tokenizer_vocab_size(l->run.tokenizer);
  s->phase = ATTN_TRAIN_LEARNS, s->done = s->step, s->total = s->steps;
  s->seconds = now() - l->start;
  s->tokens_per_second = s->seconds > 0 ? l->learned / s->seconds : 0;
  s->seconds_left = made ? s->seconds / (double)made * (double)(s->steps - s->step) : 0;
}

static int is_due(const struct loop *l) {
  int64_t step = l->run.trainer->step;
  return step % l->run.record.validate_every == 0 || step >= l->run.trainer->how.schedule.steps;
}

static int32_t end_of(const struct loop *l) {
  const struct attn_record *c = &l->run.record;
  if (c->pending) return ATTN_TRAIN_GOES_ON;
  if (l->run.trainer->step >= l->run.trainer->how.schedule.steps) return ATTN_TRAIN_STEPS;
  if (c->exact >= c->until) return ATTN_TRAIN_REACHED;
  return c->patience && c->worse >= c->patience ? ATTN_TRAIN_NO_BETTER : ATTN_TRAIN_GOES_ON;
}

/* Nothing is lost: the checkpoint is of this step, and says as much of validations as there was. */
static attn_status stop(struct loop *l, int written, attn_error *err) {
  attn_status status = written ? ATTN_OK : write(&l->run, l->run.last_path, NULL, err);
  if (status) return status;
  l->run.state.end = ATTN_TRAIN_INTERRUPTED;
  return attn_fail(err, ATTN_ERR_INTERRUPTED, NULL, "stopped at step %lld; it goes on from %s",
                   (long long)l->run.trainer->step, l->run.last_path);
}

/* Before there is a step to keep. */
static attn_status stop_early(struct loop *l, attn_error *err) {
  l->run.state.end = ATTN_TRAIN_INTERRUPTED;
  return attn_fail(err, ATTN_ERR_INTERRUPTED, NULL,
                   "stopped before the first step; nothing is written");
}

static int is_told_to_stop(struct loop *l, int validated) {
  report(l, validated);
  return l->run.wanted.progress && l->run.wanted.progress(l->run.wanted.context, &l->run.state);
}

/* A step, or the validation that is due behind one. */
static attn_status advance(struct loop *l, attn_error *err) {
  attn_status status = l->run.record.pending ? ATTN_OK : make_step(l, err);
  if (!status && is_due(l)) l->run.record.pending = 1;
  return status || !l->run.record.pending ? status : validate(l, err);
}

static attn_status go_on(struct loop *l, attn_error *err) {
  l->run.state.end = end_of(l);
  while (!l->run.state.end) {
    attn_status status = advance(l, err);
    if (status == ATTN_ERR_INTERRUPTED) return stop(l, 0, err);
    if (status) return status;
    int validated = is_due(l);
    if (validated) l->run.state.end = end_of(l);
    if (is_told_to_stop(l, validated) && !l->run.state.end) return stop(l, validated, err);
  }
  return ATTN_OK;
}

static attn_status run(struct loop *l, attn_error *err) {
  attn_status status = attn_run_begin(&l->run, err);
  if (status) return status == ATTN_ERR_INTERRUPTED ? stop_early(l, err) : status;
  l->start = now(), l->first = l->run.trainer->step;
  l->run.trainer->watch = &l->run.watch;
  return is_told_to_stop(l, 0) ? stop(l, 0, err) : go_on(l, err);
}

attn_status attn_model_train(const attn_train *wanted, attn_train_state *end, attn_error *err) {
  struct loop l = {
      .run.state = {
          .struct_size = sizeof l.run.state, .unseen_loss = NAN, .unseen_exact = NAN, .best = NAN}};
  attn_status status = attn_descriptor_require(wanted, &l.run.wanted, sizeof l.run.wanted,
                                               offsetof(attn_train, precision), "run", err);
  if (!status && end) status = attn_descriptor_expect(end, sizeof *end, sizeof *end, "end", err);
  if (status) return status;
  status = run(&l, err);
  if (end) attn_descriptor_fill(end, &l.run.state, sizeof l.run.state);
  attn_run_free(&l.run);
  return status;
}
