#include "trainer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "allocator.h"
#include "bf16.h"
#include "error.h"
#include "block.h"
#include "threads.h"

/* Multiplications of a pass that polls for a stop; shorter ones take about 10 ms. */
static const double LONG_PASS = 1 << 28;

enum { ALIGNMENT = 64, CHUNK = 1 << 14, SINGLE_REPLICA_FROM = 1 << 21 };

static const char *const precisions[] = {"float32", "bf16"}; /* by bf16 */

const char *attn_precision_name(int32_t bf16) { return precisions[bf16 != 0]; }

int attn_precision_find(const char *name, int32_t *bf16) {
  for (int32_t n = 0; n < 2; n++)
    if (!strcmp(name, precisions[n])) return *bf16 = n, 1;
  return 0;
}

/* ---- Memory: all allocated before the first step ---- */

static attn_status out_of_memory(attn_error *err, size_t bytes) {
  return attn_fail(err, ATTN_ERR_MEMORY, NULL, "out of memory: training needs %zu bytes", bytes);
}

/* In floats, to a multiple of 64 bytes: every block starts on a cache line. */
static int64_t align_up(int64_t count) { return (count + 15) / 16 * 16; }

static int count_replicas(const struct attn_trainer *t) {
  int64_t single = t->config.single_replica_from;
  return t->parameter_count < (single ? single : SINGLE_REPLICA_FROM) ? t->threads : 1;
}

static int64_t replica_batch_size(const struct attn_trainer *t) {
  return (t->config.batch_size + t->replica_count - 1) / t->replica_count;
}

/* In proportion to the replica's sequences: a run resumed with another number of threads has
 * batches of the same size. */
static int64_t replica_max_tokens(const struct attn_trainer *t) {
  const struct attn_trainer_config *c = &t->config;
  int64_t per_sequence = (c->max_tokens + c->batch_size - 1) / c->batch_size;
  int64_t tokens = replica_batch_size(t) * per_sequence;
  return tokens > c->max_length ? tokens : c->max_length;
}

/* Full batches: of images, and of captions of the longest length; of texts replica_max_tokens. */
static void fill_shapes(const struct attn_trainer *t, const struct attn_batch *b,
                        struct attn_token_batch *source, struct attn_token_batch *target) {
  *source = b->source, *target = b->target;
  source->n = target->n = replica_max_tokens(t);
  if (!b->pixels) return;
  source->n = b->max_sequences * b->positions;
  source->sequences = target->sequences = b->max_sequences;
  int64_t length = t->replicas[0].network->config.max_positions;
  if (t->config.max_length < length) length = t->config.max_length;
  for (int64_t n = 1; n <= b->max_sequences; n++) b->starts[1][n] = n * length;
}

/* Reserves memory for a forward and backward pass. The steps of a recurrent decoder vary with the
 * batch, so that gradients cannot share memory. */
static attn_status open_tape(struct attn_trainer *t, struct attn_replica *p, attn_error *err) {
  struct attn_token_batch source, target;
  p->tape = (struct attn_tape){.training = 1,
                               .shares_gradients = !attn_model_is_recurrent(&p->network->config),
                               .bf16 = t->bf16_weights != NULL,
                               .host.threads = t->replica_count > 1 ? 1 : t->threads};
  fill_shapes(t, p->batch, &source, &target);
  struct attn_tape_variable *logits =
      attn_transformer_forward(p->network, &p->tape, &source, &target);
  attn_tape_cross_entropy(&p->tape, logits, NULL, 0, 1);
  attn_status status = attn_tape_reserve(&p->tape, err);
  t->memory_bytes += attn_tape_memory_bytes(&p->tape);
  return status;
}

static attn_status init_replica(struct attn_trainer *t, const struct attn_model_config *config,
                                float *gradients, struct attn_replica *p, attn_error *err) {
  attn_status status = attn_network_new(config, t->weights, gradients, &p->network, err);
  if (!status && t->bf16_weights) attn_network_set_bf16(p->network, t->bf16_weights);
  if (!status) p->network->freezes_cnn = t->config.freeze_cnn;
  if (!status)
    status = attn_batch_new(config, replica_batch_size(t), replica_max_tokens(t), &p->batch, err);
  return status ? status : open_tape(t, p, err);
}

static attn_status allocate_bf16_weights(struct attn_trainer *t, attn_error *err) {
  size_t bytes = (size_t)t->parameter_count * sizeof *t->bf16_weights;
  if (!t->config.bf16) return ATTN_OK;
  t->bf16_weights = attn_memory_allocate(NULL, ALIGNMENT, bytes), t->memory_bytes += bytes;
  return t->bf16_weights ? ATTN_OK : out_of_memory(err, bytes);
}

attn_status attn_trainer_new(const struct attn_model_config *model,
                             const struct attn_trainer_config *config,
                             struct attn_trainer **trainer, attn_error *err) {
  int64_t count = 0;
  if (model->head == ATTN_HEAD_NONE)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "config",
                     "cannot train: the model has no output head");
  attn_status status = attn_network_count(model, &count, err);
  struct attn_trainer *t = status ? NULL : calloc(1, sizeof *t);
  if (!t) return status ? status : out_of_memory(err, sizeof *t);
  t->config = *config, t->parameter_count = count;
  if (t->config.gradient_accumulation_steps < 1) t->config.gradient_accumulation_steps = 1;
  t->threads = attn_threads_workers(NULL, config->threads), t->replica_count = count_replicas(t);
  size_t bytes = (size_t)(align_up(count) * (3 + t->replica_count)) * sizeof(float);
  t->replicas = calloc((size_t)t->replica_count, sizeof *t->replicas);
  t->weights = attn_memory_allocate_large(ALIGNMENT, bytes), t->memory_bytes = bytes;
  if (!t->replicas || !t->weights) status = out_of_memory(err, bytes);
  if (!status) {
    memset(t->weights, 0, bytes);
    t->first_moment = t->weights + align_up(count),
    t->second_moment = t->first_moment + align_up(count);
    status = allocate_bf16_weights(t, err);
  }
  for (int n = 0; n < t->replica_count && !status; n++)
    status =
        init_replica(t, model, t->second_moment + align_up(count) * (n + 1), &t->replicas[n], err);
  if (status)
    attn_trainer_free(t);
  else
    attn_network_init_weights(t->replicas[0].network, config->seed), *trainer = t;
  return status;
}

void attn_trainer_free(struct attn_trainer *t) {
  if (!t) return;
  for (int n = 0; t->replicas && n < t->replica_count; n++) {
    attn_network_free(t->replicas[n].network), attn_batch_free(t->replicas[n].batch);
    attn_tape_close(&t->replicas[n].tape);
  }
  attn_memory_release(NULL, t->weights), attn_memory_release(NULL, t->bf16_weights);
  free(t->replicas), free(t);
}

/* ---- A step ---- */

/* The batch that the next sequence belongs to; NULL if all are full. */
static struct attn_batch *next_batch(const struct attn_trainer *t) {
  if (t->added == t->config.batch_size) return NULL;
  return t->replicas[t->added / replica_batch_size(t)].batch;
}

int attn_trainer_add(struct attn_trainer *t, const int32_t *source, int64_t source_count,
                     const int32_t *target, int64_t target_count) {
  struct attn_batch *batch = next_batch(t);
  int added = batch && attn_batch_add(batch, source, source_count, target, target_count);
  t->added += added;
  return added;
}

int attn_trainer_add_image(struct attn_trainer *t, const unsigned char *rgb, const int32_t *caption,
                           int64_t count) {
  struct attn_batch *batch = next_batch(t);
  int added = batch && attn_batch_add_image(batch, rgb, caption, count);
  t->added += added;
  return added;
}

static float *gradients_of(const struct attn_trainer *t, int replica) {
  return t->second_moment + align_up(t->parameter_count) * (replica + 1);
}

static void clear(void *gradients, int64_t from, int64_t to) {
  memset((float *)gradients + from, 0, (size_t)(to - from) * sizeof(float));
}

/* Gradients of the sum of the loss over all tokens; attn_trainer_step divides by their number. */
static void run_replica(void *argument, int64_t index, int32_t worker) {
  struct attn_trainer *t = argument;
  struct attn_replica *p = &t->replicas[index];
  (void)worker;
  if (!t->accumulated.rows)
    attn_parallel_rows(&p->tape.host, t->parameter_count, 1, clear, gradients_of(t, (int)index));
  attn_tape_start(&p->tape);
  p->loss = (struct attn_loss){0, 0, 0};
  if (!p->batch->sequences) return;
  struct attn_tape_variable *logits =
      attn_transformer_forward(p->network, &p->tape, &p->batch->source, &p->batch->target);
  double smoothing = p->tape.training ? t->config.label_smoothing : 0;
  p->loss = attn_tape_cross_entropy(&p->tape, logits, p->batch->labels, smoothing, 1);
  if (p->tape.training) attn_tape_backward(&p->tape);
}

/* Sums a chunk of all replicas' gradients into the first's, in replica order. */
static void sum_gradient_chunk(void *argument, int64_t index, int32_t worker) {
  struct attn_trainer *t = argument;
  int64_t from = index * CHUNK,
          end = from + CHUNK < t->parameter_count ? from + CHUNK : t->parameter_count;
  float *sum = gradients_of(t, 0);
  (void)worker;
  for (int n = 1; n < t->replica_count; n++) {
    const float *more = gradients_of(t, n);
    for (int64_t e = from; e < end; e++) sum[e] += more[e];
  }
}

/* Dropout masks depend on the row's index in the whole batch, not on the replica. */
static void set_dropout_rows(struct attn_trainer *t) {
  uint64_t number = ((uint64_t)t->step + 1) * (uint64_t)t->config.gradient_accumulation_steps +
                    (uint64_t)t->accumulated_batches;
  uint64_t seed = t->config.seed + number * 0x9E3779B97F4A7C15u;
  int64_t source = 0, target = 0, sequence = 0;
  for (int n = 0; n < t->replica_count; n++) {
    struct attn_batch *b = t->replicas[n].batch;
    b->source.first_row = source, b->target.first_row = target;
    b->source.first_sequence = b->target.first_sequence = sequence;
    source += b->source.n, target += b->target.n, sequence += b->sequences;
    t->replicas[n].tape.drop.seed = seed;
  }
}

/* Of the parameters that `is_updated`. */
static void update(struct attn_trainer *t, int (*is_updated)(const struct attn_parameter *p),
                   int64_t step, double scale, double rate) {
  const struct attn_network *n = t->replicas[0].network;
  const struct attn_host host = {.threads = t->threads};
  for (int p = 0; p < n->count; p++) {
    const struct attn_parameter *at = &n->parameters[p];
    const struct attn_adamw_group all = {
        t->weights + at->offset,       t->first_moment + at->offset,
        t->second_moment + at->offset, gradients_of(t, 0) + at->offset,
        at->value.n * at->value.width, at->decays};
    if (is_updated(at)) attn_adamw_step(&host, &t->config.adam, step, rate, scale, &all);
  }
}

static int is_any(const struct attn_parameter *p) { return p != NULL; }
static int is_not_cnn(const struct attn_parameter *p) { return !attn_parameter_is_cnn(p); }

void attn_trainer_update_encoder(struct attn_trainer *t, int64_t step, double grad_scale,
                                 double learning_rate) {
  const struct attn_host host = {.threads = t->threads};
  update(t, attn_parameter_is_encoder, step, grad_scale, learning_rate);
  attn_parallel_rows(&host, t->parameter_count, 1, clear, gradients_of(t, 0));
}

void attn_trainer_clear_moments(struct attn_trainer *t) {
  clear(t->first_moment, 0, t->parameter_count), clear(t->second_moment, 0, t->parameter_count);
}

static void add_loss(const struct attn_trainer *t, struct attn_loss *total) {
  for (int n = 0; n < t->replica_count; n++) {
    const struct attn_loss *one = &t->replicas[n].loss;
    total->sum += one->sum, total->rows += one->rows, total->correct += one->correct;
  }
}

static int is_stopped(void *trainer) {
  const struct attn_trainer *t = trainer;
  return attn_watch_poll(t->watch, NULL) != ATTN_OK;
}

/* Estimates the multiplications of linear layers and attention. */
static int is_long(const struct attn_trainer *t, const struct attn_batch *b) {
  const struct attn_model_config *c = &t->replicas[0].network->config;
  int64_t tokens = b->source.n + b->target.n,
          length = tokens < c->max_positions ? tokens : c->max_positions;
  int64_t scores = (c->encoder_layers + c->decoder_layers) * length * c->d_model;
  return (double)tokens * (double)(t->parameter_count + scores) > LONG_PASS;
}

/* Runs all replicas over the batch, and clears it. */
static attn_status run_replicas(struct attn_trainer *t, int training, struct attn_loss *total,
                                attn_error *err) {
  const struct attn_host host = {.threads = t->threads};
  set_dropout_rows(t);
  if (t->bf16_weights) attn_convert_to_bf16(&host, t->bf16_weights, t->weights, t->parameter_count);
  for (int n = 0; n < t->replica_count; n++) {
    struct attn_tape *tape = &t->replicas[n].tape;
    tape->training = training, tape->stop_context = t;
    tape->stop = t->watch && is_long(t, t->replicas[n].batch) ? is_stopped : NULL;
  }
  attn_threads_parallel_for(NULL, t->replica_count, t->replica_count, run_replica, t);
  attn_status status = ATTN_OK;
  for (int n = 0; n < t->replica_count; n++) {
    if (!status) status = attn_tape_status(&t->replicas[n].tape, err);
    attn_batch_clear(t->replicas[n].batch);
  }
  t->added = 0;
  if (!status) add_loss(t, total);
  return status;
}

attn_status attn_trainer_evaluate(struct attn_trainer *t, struct attn_loss *loss, attn_error *err) {
  return run_replicas(t, 0, loss, err);
}

attn_status attn_trainer_accumulate(struct attn_trainer *t, attn_error *err) {
  attn_status status = run_replicas(t, 1, &t->accumulated, err);
  t->accumulated_batches = status ? 0 : t->accumulated_batches + 1;
  if (status) t->accumulated = (struct attn_loss){0, 0, 0};
  return status;
}

static void report(const struct attn_trainer *t, const struct attn_host *host,
                   struct attn_step_result *s) {
  const struct attn_loss *all = &t->accumulated;
  double rows = (double)all->rows;
  s->loss = all->sum / rows, s->accuracy = (double)all->correct / rows, s->tokens = all->rows;
  s->grad_norm = sqrt(attn_sum_of_squares(host, gradients_of(t, 0), t->parameter_count)) / rows;
  s->learning_rate = attn_lr_schedule_rate(&t->config.schedule, t->step);
  s->skipped = !isfinite(s->loss) || !isfinite(s->grad_norm);
}

attn_status attn_trainer_step(struct attn_trainer *t, struct attn_step_result *s, attn_error *err) {
  const struct attn_host host = {.threads = t->threads};
  attn_status status = t->added || !t->accumulated.rows ? attn_trainer_accumulate(t, err) : ATTN_OK;
  if (status) return status;
  if (t->replica_count > 1)
    attn_threads_parallel_for(NULL, t->replica_count, (t->parameter_count + CHUNK - 1) / CHUNK,
                              sum_gradient_chunk, t);
  t->step++;
  report(t, &host, s);
  t->skipped_steps += s->skipped;
  double scale = t->config.max_grad_norm > 0 && s->grad_norm > t->config.max_grad_norm
                     ? t->config.max_grad_norm / s->grad_norm
                     : 1;
  if (!s->skipped)
    update(t, t->config.freeze_cnn ? is_not_cnn : is_any, t->step, scale / (double)s->tokens,
           s->learning_rate);
  t->accumulated = (struct attn_loss){0, 0, 0}, t->accumulated_batches = 0;
  return ATTN_OK;
}
