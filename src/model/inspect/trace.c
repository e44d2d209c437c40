#include "trace.h"

#include <math.h>
#include <stdlib.h>

#include "error.h"
#include "block.h"

struct trace {
  const struct attn_network *network;
  int (*look)(void *context, const struct attn_traced_attention *site);
  void *context;
  int64_t sites; /* so far */
};

/* Which attention is number n of a pass. */
static void place(const struct attn_model_config *c, int64_t n,
                  struct attn_traced_attention *site) {
  int64_t behind = n - c->encoder_layers;
  int crosses = c->kind == ATTN_ENCODER_DECODER;
  site->kind = ATTN_TRACE_ENCODER, site->layer = n;
  if (behind < 0) return;
  site->kind = crosses && behind % 2 ? ATTN_TRACE_CROSS : ATTN_TRACE_DECODER;
  site->layer = crosses ? behind / 2 : behind;
}

static attn_status show(struct attn_tape *tape, const struct attn_multihead *m,
                        struct attn_traced_attention *site) {
  struct trace *t = tape->watcher;
  float *weights = calloc((size_t)m->heads, (size_t)(site->queries * site->keys) * sizeof *weights);
  if (!weights)
    return attn_fail(&tape->error, ATTN_ERR_MEMORY, NULL, "no memory for %lld weights of each head",
                     (long long)(site->queries * site->keys));
  attn_status status =
      attn_multihead_weights(&tape->host, m, weights, site->q, site->k, &tape->error);
  site->weights = weights;
  if (!status && t->look(t->context, site))
    status = attn_fail(&tape->error, ATTN_ERR_INTERRUPTED, "look", "stopped by the caller's look");
  free(weights);
  return status;
}

static void watch(struct attn_tape *tape, const struct attn_multihead *m, struct attn_rows q,
                  struct attn_rows k) {
  struct trace *t = tape->watcher;
  struct attn_traced_attention site = {
      .heads = m->heads,
      .kv_heads = m->kv_heads,
      .width = m->key_width,
      .queries = q.n,
      .keys = k.n,
      .causal = m->causal,
      .scale = m->scale != 0 ? m->scale : 1 / sqrt((double)m->key_width),
      .slopes = m->alibi,
      .q = q,
      .k = k};
  place(&t->network->config, t->sites++, &site);
  tape->status = show(tape, m, &site);
}

/* ---- The pass ---- */

struct side {
  struct attn_token_batch text;
  int64_t starts[2];
  int32_t *places;
};

static attn_status open_side(struct side *s, const char *name, const int32_t *tokens, int64_t count,
                             int64_t words, int64_t length, attn_error *err) {
  if (count < 1 || count > length)
    return attn_fail(err, ATTN_ERR_ARGUMENT, name, "%s has %lld tokens; it must have 1 .. %lld",
                     name, (long long)count, (long long)length);
  for (int64_t n = 0; n < count; n++)
    if (tokens[n] < 0 || tokens[n] >= words)
      return attn_fail(err, ATTN_ERR_ARGUMENT, name, "token %d of %s is none of the vocabulary",
                       (int)tokens[n], name);
  s->starts[1] = count;
  s->places = malloc((size_t)count * sizeof *s->places);
  if (!s->places) return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for a trace");
  for (int64_t n = 0; n < count; n++) s->places[n] = (int32_t)n;
  s->text = (struct attn_token_batch){
      .n = count, .sequences = 1, .tokens = tokens, .places = s->places, .starts = s->starts};
  return ATTN_OK;
}

static attn_status run(struct trace *t, struct attn_tape *tape, const struct side *source,
                       const struct side *target, attn_error *err) {
  const struct attn_network *n = t->network;
  attn_status status = attn_tape_open(tape, attn_pass_note_bytes(&n->config), err);
  if (status) return status;
  attn_transformer_forward(n, tape, &source->text, &target->text);
  status = attn_tape_reserve(tape, err);
  if (status) return status;
  tape->watch = watch, tape->watcher = t;
  attn_transformer_forward(n, tape, &source->text, &target->text);
  return attn_tape_status(tape, err);
}

attn_status attn_transformer_trace(const struct attn_network *network, const int32_t *source,
                                   int64_t source_count, const int32_t *target,
                                   int64_t target_count, int32_t threads,
                                   int (*look)(void *context,
                                               const struct attn_traced_attention *site),
                                   void *context, attn_error *err) {
  const struct attn_model_config *c = &network->config;
  struct trace t = {network, look, context, 0};
  struct attn_tape tape = {.host.threads = threads};
  struct side from = {.places = NULL}, to = {.places = NULL};
  attn_status status = attn_host_check(&tape.host, err);
  if (!status && c->kind != ATTN_DECODER)
    status = open_side(&from, "source", source, source_count, c->source_vocab_size, c->max_positions, err);
  if (!status && c->kind != ATTN_ENCODER)
    status = open_side(&to, "target", target, target_count, c->vocab_size, c->max_positions, err);
  if (!status) status = run(&t, &tape, &from, &to, err);
  attn_tape_close(&tape);
  free(from.places), free(to.places);
  return status;
}

/* ---- One weight ---- */

static double score(const struct attn_traced_attention *s, int64_t head, int64_t i, int64_t j,
                    struct attn_traced_weight *cell) {
  cell->q = s->q.at + i * s->q.step + head * s->width;
  cell->k = s->k.at + j * s->k.step + head / (s->heads / s->kv_heads) * s->width;
  cell->dot = 0, cell->distance = s->slopes ? (double)s->slopes[head] * fabs((double)(i - j)) : 0;
  for (int64_t e = 0; e < s->width; e++) cell->dot += (double)cell->q[e] * (double)cell->k[e];
  return s->causal && j > i ? -INFINITY : s->scale * cell->dot - cell->distance;
}

void attn_traced_weight_get(const struct attn_traced_attention *s, int64_t head, int64_t query,
                            int64_t key, struct attn_traced_weight *cell) {
  double top = -INFINITY, sum = 0;
  for (int64_t j = 0; j < s->keys; j++) top = fmax(top, score(s, head, query, j, cell));
  for (int64_t j = 0; j < s->keys; j++) sum += exp(score(s, head, query, j, cell) - top);
  cell->score = score(s, head, query, key, cell);
  cell->lse = top + log(sum);
  cell->weight = exp(cell->score - cell->lse);
}
