#include "trainer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "allocator.h"
#include "bf16.h"
#include "error.h"
#include "pass.h"
#include "threads.h"

/* A pass of fewer multiplications, some 10 ms, is not stopped halfway. */
static const double LONG_PASS = 1 << 28;

enum { ALIGNMENT = 64, STRETCH = 1 << 14, WHOLE_FROM = 1 << 21 };

static const char *const precisions[] = {"float32", "bf16"}; /* by halves */

const char *attn_precision_name(int32_t halves) { return precisions[halves != 0]; }

int attn_precision_find(const char *name, int32_t *halves) {
  for (int32_t n = 0; n < 2; n++)
    if (!strcmp(name, precisions[n])) return *halves = n, 1;
  return 0;
}

/* ---- Memory: all of it before the first step ---- */

static attn_status out_of_memory(attn_error *err, size_t bytes) {
  return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for %zu bytes of training", bytes);
}

/* One for each 64, so that every block begins on a line. */
static int64_t up(int64_t numbers) { return (numbers + 15) / 16 * 16; }

static int parts_of(const struct attn_trainer *t) {
  int64_t whole_from = t->how.whole_from ? t->how.whole_from : WHOLE_FROM;
  return t->numbers < whole_from ? t->threads : 1;
}

static int64_t share_of(const struct attn_trainer *t) {
  return (t->how.batch + t->parts - 1) / t->parts;
}

/* A part's share of the batch's tokens, however many parts there are: a run that goes on with other
 * threads has batches of the same size. */
static int64_t part_tokens(const struct attn_trainer *t) {
  int64_t each = (t->how.tokens + t->how.batch - 1) / t->how.batch, room = share_of(t) * each;
  return room > t->how.longest ? room : t->how.longest;
}

/* Memory for a pass of `tokens` on either side, and its backward. */
static attn_status open_tape(struct attn_trainer *t, struct attn_replica *p, attn_error *err) {
  struct attn_text text = p->batch->source;
  size_t notes = attn_pass_notes(&p->network->config);
  p->tape = (struct attn_tape){.training = 1,
                               .shares_gradients = 1,
                               .halves = t->halves != NULL,
                               .host.threads = t->parts > 1 ? 1 : t->threads};
  attn_status status = attn_tape_open(&p->tape, notes, err);
  if (status) return status;
  text.n = part_tokens(t);
  struct attn_value *logits = attn_transformer_forward(p->network, &p->tape, &text, &text);
  attn_tape_lose(&p->tape, logits, NULL, 0, 1);
  status = attn_tape_reserve(&p->tape, err);
  t->bytes += notes + p->tape.numbers.size + p->tape.gradients.places.most + p->tape.factors_most;
  return status;
}

static attn_status make_part(struct attn_trainer *t, const struct attn_config *config,
                             float *gradients, struct attn_replica *p, attn_error *err) {
  attn_status status = attn_network_new(config, t->weights, gradients, &p->network, err);
  if (!status && t->halves) attn_network_set_halves(p->network, t->halves);
  if (!status) status = attn_batch_new(share_of(t), part_tokens(t), &p->batch, err);
  return status ? status : open_tape(t, p, err);
}

/* The weights in bf16, beside those in float32. */
static attn_status make_halves(struct attn_trainer *t, attn_error *err) {
  size_t bytes = (size_t)t->numbers * sizeof *t->halves;
  if (!t->how.halves) return ATTN_OK;
  t->halves = attn_memory_allocate(NULL, ALIGNMENT, bytes), t->bytes += bytes;
  return t->halves ? ATTN_OK : out_of_memory(err, bytes);
}

attn_status attn_trainer_new(const struct attn_config *config,
                             const struct attn_trainer_config *how, struct attn_trainer **trainer,
                             attn_error *err) {
  int64_t numbers = 0;
  if (config->head == ATTN_HEAD_NONE)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "config",
                     "a model that ends in hidden vectors says no words to be trained on");
  attn_status status = attn_network_count(config, &numbers, err);
  struct attn_trainer *t = status ? NULL : calloc(1, sizeof *t);
  if (!t) return status ? status : out_of_memory(err, sizeof *t);
  t->how = *how, t->numbers = numbers;
  if (t->how.accumulate < 1) t->how.accumulate = 1;
  t->threads = attn_threads_workers(NULL, how->threads), t->parts = parts_of(t);
  size_t bytes = (size_t)(up(numbers) * (3 + t->parts)) * sizeof(float);
  t->part = calloc((size_t)t->parts, sizeof *t->part);
  t->weights = attn_memory_allocate(NULL, ALIGNMENT, bytes), t->bytes = bytes;
  if (!t->part || !t->weights) status = out_of_memory(err, bytes);
  if (!status) {
    memset(t->weights, 0, bytes);
    t->first = t->weights + up(numbers), t->second = t->first + up(numbers);
    status = make_halves(t, err);
  }
  for (int n = 0; n < t->parts && !status; n++)
    status = make_part(t, config, t->second + up(numbers) * (n + 1), &t->part[n], err);
  if (status)
    attn_trainer_free(t);
  else
    attn_network_fill(t->part[0].network, how->seed), *trainer = t;
  return status;
}

void attn_trainer_free(struct attn_trainer *t) {
  if (!t) return;
  for (int n = 0; t->part && n < t->parts; n++) {
    attn_network_free(t->part[n].network), attn_batch_free(t->part[n].batch);
    attn_tape_close(&t->part[n].tape);
  }
  attn_memory_release(NULL, t->weights), attn_memory_release(NULL, t->halves);
  free(t->part), free(t);
}

/* ---- A step ---- */

int attn_trainer_add(struct attn_trainer *t, const int32_t *source, int64_t source_count,
                     const int32_t *target, int64_t target_count) {
  int labels = t->part[0].network->config.kind == ATTN_ENCODER;
  if (t->added == t->how.batch) return 0;
  struct attn_batch *batch = t->part[t->added / share_of(t)].batch;
  if (!(labels ? attn_batch_label : attn_batch_add)(batch, source, source_count, target,
                                                    target_count))
    return 0;
  t->added++;
  return 1;
}

static float *gradients_of(const struct attn_trainer *t, int part) {
  return t->second + up(t->numbers) * (part + 1);
}

static void clear(void *numbers, int64_t from, int64_t to) {
  memset((float *)numbers + from, 0, (size_t)(to - from) * sizeof(float));
}

/* Gradients are of the sum over all tokens; the mean is taken when they are all there. */
static void run_part(void *argument, int64_t index, int32_t worker) {
  struct attn_trainer *t = argument;
  struct attn_replica *p = &t->part[index];
  (void)worker;
  if (!t->gathered.rows)
    attn_layer_rows(&p->tape.host, t->numbers, 1, clear, gradients_of(t, (int)index));
  attn_tape_start(&p->tape);
  p->loss = (struct attn_loss){0, 0, 0};
  if (!p->batch->sequences) return;
  struct attn_value *logits =
      attn_transformer_forward(p->network, &p->tape, &p->batch->source, &p->batch->target);
  double smoothing = p->tape.training ? t->how.smoothing : 0;
  p->loss = attn_tape_lose(&p->tape, logits, p->batch->labels, smoothing, 1);
  if (p->tape.training) attn_tape_backward(&p->tape);
}

/* Gradients of a stretch of the weights, summed part by part into the first's. */
static void sum_stretch(void *argument, int64_t index, int32_t worker) {
  struct attn_trainer *t = argument;
  int64_t from = index * STRETCH, end = from + STRETCH < t->numbers ? from + STRETCH : t->numbers;
  float *sum = gradients_of(t, 0);
  (void)worker;
  for (int n = 1; n < t->parts; n++) {
    const float *more = gradients_of(t, n);
    for (int64_t e = from; e < end; e++) sum[e] += more[e];
  }
}

/* Each row of dropout's numbers is known by its place in the whole batch. */
static void place_parts(struct attn_trainer *t) {
  uint64_t number = ((uint64_t)t->step + 1) * (uint64_t)t->how.accumulate + (uint64_t)t->batches;
  uint64_t seed = t->how.seed + number * 0x9E3779B97F4A7C15u;
  int64_t source = 0, target = 0, sequence = 0;
  for (int n = 0; n < t->parts; n++) {
    struct attn_batch *b = t->part[n].batch;
    b->source.first_row = source, b->target.first_row = target;
    b->source.first_sequence = b->target.first_sequence = sequence;
    source += b->source.n, target += b->target.n, sequence += b->sequences;
    t->part[n].tape.drop.seed = seed;
  }
}

static void update(struct attn_trainer *t, const struct attn_host *host, double scale,
                   double rate) {
  const struct attn_network *n = t->part[0].network;
  for (int p = 0; p < n->count; p++) {
    const struct attn_parameter *at = &n->parameters[p];
    const struct attn_adamw_group all = {
        t->weights + at->offset,         t->first + at->offset,         t->second + at->offset,
        gradients_of(t, 0) + at->offset, at->value.n * at->value.width, at->decays};
    attn_adamw_step(host, &t->how.adam, t->step, rate, scale, &all);
  }
}

static attn_status failure(const struct attn_trainer *t, attn_error *err) {
  attn_status status = ATTN_OK;
  for (int n = 0; n < t->parts && !status; n++) status = attn_tape_status(&t->part[n].tape, err);
  return status;
}

static void add_loss(const struct attn_trainer *t, struct attn_loss *all) {
  for (int n = 0; n < t->parts; n++) {
    const struct attn_loss *one = &t->part[n].loss;
    all->sum += one->sum, all->rows += one->rows, all->correct += one->correct;
  }
}

static int is_stopped(void *trainer) {
  const struct attn_trainer *t = trainer;
  return attn_watch_tell_again(t->watch, NULL) != ATTN_OK;
}

/* By the weights, and by attention's scores. */
static int is_long(const struct attn_trainer *t, const struct attn_batch *b) {
  const struct attn_config *c = &t->part[0].network->config;
  int64_t tokens = b->source.n + b->target.n, length = tokens < c->length ? tokens : c->length;
  int64_t scores = (c->encoder_layers + c->decoder_layers) * length * c->width;
  return (double)tokens * (double)(t->numbers + scores) > LONG_PASS;
}

/* All parts' passes over what was added, which is then forgotten. */
static attn_status run_parts(struct attn_trainer *t, int training, struct attn_loss *all,
                             attn_error *err) {
  const struct attn_host host = {.threads = t->threads};
  place_parts(t);
  if (t->halves) attn_bf16_write(&host, t->halves, t->weights, t->numbers);
  for (int n = 0; n < t->parts; n++) {
    struct attn_tape *tape = &t->part[n].tape;
    tape->training = training, tape->stop_context = t;
    tape->stop = t->watch && is_long(t, t->part[n].batch) ? is_stopped : NULL;
  }
  attn_threads_run(t->parts, t->parts, run_part, t);
  attn_status status = failure(t, err);
  for (int n = 0; n < t->parts; n++) attn_batch_clear(t->part[n].batch);
  t->added = 0;
  if (!status) add_loss(t, all);
  return status;
}

attn_status attn_trainer_evaluate(struct attn_trainer *t, struct attn_loss *loss, attn_error *err) {
  return run_parts(t, 0, loss, err);
}

attn_status attn_trainer_accumulate(struct attn_trainer *t, attn_error *err) {
  attn_status status = run_parts(t, 1, &t->gathered, err);
  t->batches = status ? 0 : t->batches + 1;
  if (status) t->gathered = (struct attn_loss){0, 0, 0};
  return status;
}

static void report(const struct attn_trainer *t, const struct attn_host *host,
                   struct attn_step *s) {
  const struct attn_loss *all = &t->gathered;
  double rows = (double)all->rows;
  s->loss = all->sum / rows, s->accuracy = (double)all->correct / rows, s->tokens = all->rows;
  s->norm = sqrt(attn_sum_of_squares(host, gradients_of(t, 0), t->numbers)) / rows;
  s->rate = attn_lr_schedule_rate(&t->how.schedule, t->step);
  s->skipped = !isfinite(s->loss) || !isfinite(s->norm);
}

attn_status attn_trainer_step(struct attn_trainer *t, struct attn_step *s, attn_error *err) {
  const struct attn_host host = {.threads = t->threads};
  attn_status status = t->added || !t->gathered.rows ? attn_trainer_accumulate(t, err) : ATTN_OK;
  if (status) return status;
  if (t->parts > 1)
    attn_threads_run((t->numbers + STRETCH - 1) / STRETCH, t->parts, sum_stretch, t);
  t->step++;
  report(t, &host, s);
  t->skipped += s->skipped;
  double scale = t->how.clip > 0 && s->norm > t->how.clip ? t->how.clip / s->norm : 1;
  if (!s->skipped) update(t, &host, scale / (double)s->tokens, s->rate);
  t->gathered = (struct attn_loss){0, 0, 0}, t->batches = 0;
  return ATTN_OK;
}
