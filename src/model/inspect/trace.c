#include "trace.h"

#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "error.h"
#include "recurrent_pass.h"

struct trace_run {
  const struct attn_network *network;
  int (*visit)(void *context, const struct attn_traced_attention *attention);
  void *context;
  int64_t num_traced;
};

/* Kind and layer of attention number n of a pass. */
static void identify(const struct attn_model_config *c, int64_t n,
                     struct attn_traced_attention *attention) {
  int64_t index = n - c->encoder_layers;
  int crosses = c->kind != ATTN_DECODER;
  attention->kind = ATTN_ATTENTION_ENCODER, attention->layer = n;
  if (index < 0) return;
  attention->kind = crosses && index % 2 ? ATTN_ATTENTION_CROSS : ATTN_ATTENTION_DECODER;
  attention->layer = crosses ? index / 2 : index;
}

static attn_status visit_one(struct attn_tape *tape, const struct attn_multihead *m,
                             struct attn_traced_attention *attention) {
  struct trace_run *t = tape->watcher;
  float *weights = calloc((size_t)m->num_heads,
                          (size_t)(attention->queries * attention->keys) * sizeof *weights);
  if (!weights)
    return attn_fail(&tape->error, ATTN_ERR_MEMORY, NULL, "no memory for %lld weights per head",
                     (long long)(attention->queries * attention->keys));
  attn_status status =
      attn_multihead_weights(&tape->host, m, weights, attention->q, attention->k, &tape->error);
  attention->weights = weights;
  if (!status && t->visit(t->context, attention))
    status = attn_fail(&tape->error, ATTN_ERR_INTERRUPTED, "visit", "stopped by the visitor");
  free(weights);
  return status;
}

static void watch(struct attn_tape *tape, const struct attn_multihead *m, struct attn_row_view q,
                  struct attn_row_view k) {
  struct trace_run *t = tape->watcher;
  struct attn_traced_attention attention = {.heads = m->num_heads,
                                            .kv_heads = m->num_kv_heads,
                                            .width = m->head_dim,
                                            .queries = q.n,
                                            .keys = k.n,
                                            .causal = m->causal,
                                            .scale = m->scale,
                                            .slopes = m->alibi,
                                            .additive = m->additive,
                                            .q = q,
                                            .k = k};
  identify(&t->network->config, t->num_traced++, &attention);
  tape->status = visit_one(tape, m, &attention);
}

/* ---- Sequences ---- */

static attn_status open_sequence(struct attn_token_batch_slice *s, const char *name,
                                 const int32_t *tokens, int64_t count, int64_t vocab_size,
                                 int64_t length, attn_error *err) {
  const int64_t starts[] = {0, count};
  const struct attn_token_batch all = {
      .n = count, .sequences = 1, .tokens = tokens, .starts = starts};
  if (count < 1 || count > length)
    return attn_fail(err, ATTN_ERR_ARGUMENT, name, "%s has %lld tokens; expected 1 to %lld", name,
                     (long long)count, (long long)length);
  attn_status status = attn_tokens_check(tokens, count, vocab_size, name, err);
  return status ? status : attn_token_batch_slice_new(s, &all, 0, 1, err);
}

/* ---- A recurrent decoder ---- */

/* Copies the weights of each step into one matrix. */
static attn_status visit_steps(struct trace_run *t, const float *const *steps, int64_t queries,
                               int64_t keys, attn_error *err) {
  float *weights = calloc((size_t)queries, (size_t)keys * sizeof *weights);
  if (!weights) return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for a trace");
  for (int64_t n = 0; n < queries; n++)
    memcpy(weights + n * keys, steps[n], (size_t)keys * sizeof *weights);
  const struct attn_traced_attention attention = {.kind = ATTN_ATTENTION_CROSS,
                                                  .heads = 1,
                                                  .kv_heads = 1,
                                                  .queries = queries,
                                                  .keys = keys,
                                                  .weights = weights};
  int stopped = t->visit(t->context, &attention);
  free(weights);
  return stopped ? attn_fail(err, ATTN_ERR_INTERRUPTED, "visit", "stopped by the visitor")
                 : ATTN_OK;
}

static attn_status run_recurrent(struct trace_run *t, struct attn_tape *tape,
                                 const struct attn_token_batch *source,
                                 const struct attn_token_batch *target, attn_error *err) {
  const struct attn_pass p = {t->network, &t->network->config, tape, NULL};
  const float **steps = calloc((size_t)target->n, sizeof *steps);
  if (!steps) return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for a trace");
  attn_status status = ATTN_OK;
  for (int measured = 0; measured < 2 && !status; measured++) {
    struct attn_tape_variable *memory = attn_transformer_encode(t->network, tape, source);
    attn_recurrent_decode(&p, target, memory, measured ? steps : NULL);
    status = measured ? attn_tape_status(tape, err) : attn_tape_reserve(tape, err);
  }
  if (!status && p.c->alignment != ATTN_ALIGN_NONE)
    status = visit_steps(t, steps, target->n, source->n, err);
  free(steps);
  return status;
}

/* ---- A pass ---- */

static attn_status run(struct trace_run *t, struct attn_tape *tape,
                       const struct attn_token_batch *source, const struct attn_token_batch *target,
                       attn_error *err) {
  const struct attn_network *n = t->network;
  if (attn_model_is_recurrent(&n->config)) return run_recurrent(t, tape, source, target, err);
  attn_transformer_forward(n, tape, source, target);
  attn_status status = attn_tape_reserve(tape, err);
  if (status) return status;
  tape->watch = watch, tape->watcher = t;
  attn_transformer_forward(n, tape, source, target);
  return attn_tape_status(tape, err);
}

attn_status attn_transformer_trace(const struct attn_network *network, const int32_t *source,
                                   int64_t source_count, const float *pixels, const int32_t *target,
                                   int64_t target_count, int32_t threads,
                                   int (*visit)(void *context,
                                                const struct attn_traced_attention *attention),
                                   void *context, attn_error *err) {
  const struct attn_model_config *c = &network->config;
  struct trace_run t = {network, visit, context, 0};
  struct attn_tape tape = {.host.threads = threads};
  struct attn_token_batch_slice from = {.position_ids = NULL}, to = from;
  attn_status status = attn_host_check(&tape.host, err);
  if (!status && c->kind != ATTN_DECODER)
    status = open_sequence(&from, "source", source, source_count,
                           pixels ? source_count : c->source_vocab_size,
                           pixels ? source_count : c->max_positions, err);
  from.text.pixels = pixels;
  if (!status && c->kind != ATTN_ENCODER)
    status =
        open_sequence(&to, "target", target, target_count, c->vocab_size, c->max_positions, err);
  if (!status) status = run(&t, &tape, &from.text, &to.text, err);
  attn_tape_close(&tape);
  attn_token_batch_slice_free(&from), attn_token_batch_slice_free(&to);
  return status;
}
