#include "decoder.h"

#include <stdlib.h>

#include "block.h"
#include "error.h"
#include "recurrent_decoder.h"
#include "threads.h"

enum { PAGE_TOKENS = 96 }; /* attention reads so many keys at once, without a copy within a page */

struct attn_decoder {
  struct attn_recurrent_decoder *recurrent; /* instead of all below `network`, or NULL */
  const struct attn_network *network;
  const struct attn_packed_weights *pack;
  int64_t slots, layers;
  struct attn_tape tape;
  attn_cache **self, **cross;   /* (layers) */
  int64_t *source_of, *sources; /* (slots): of each slot; of a step's rows */
  int32_t *position_ids;        /* (slots): of a step's rows */
  void *workspace;              /* of attention, for its largest call */
  size_t workspace_bytes;
};

static attn_status out_of_memory(attn_error *err) {
  return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for a decoder");
}

/* ---- Attention over caches ---- */

/* One row for each of a step's slots. */
struct cached_attention {
  struct attn_decoder *d;
  const int64_t *slots;
};

/* a of additive scores. */
static attn_tensor additive_of(const struct attn_model_config *c, const void *a) {
  return (attn_tensor){
      (void *)(uintptr_t)a, ATTN_F32, 2, {c->num_heads, c->head_dim}, {c->head_dim, 1}};
}

/* (rows, heads, 1, width): columns of a value from `from` on, a sequence for each row. */
static attn_tensor by_rows(const struct attn_tape_variable *v, int64_t from, int64_t heads,
                           int64_t width) {
  return (attn_tensor){
      v->x ? v->x + from : NULL, ATTN_F32, 4, {v->n, heads, 1, width}, {v->width, width, 0, 1}};
}

static struct attn_tape_variable *attend(const struct attn_pass *p, const struct attn_decoder *d,
                                         const attn_cache *cache, const int64_t *sequences,
                                         struct attn_block_queries queries, int with_alibi) {
  const struct attn_model_config *c = p->c;
  struct attn_tape *t = p->tape;
  const struct attn_tape_variable *q = queries.q, *a = queries.additive;
  struct attn_tape_variable *y = attn_tape_variable(t, q->n, c->num_heads * c->value_head_dim);
  const attn_tensor additive = additive_of(c, a ? a->x : NULL);
  attn_tensor slopes = {p->n->slopes, ATTN_F32, 1, {c->num_heads}, {1}};
  attn_tensor tq = by_rows(q, 0, c->num_heads, c->head_dim),
              ty = by_rows(y, 0, c->num_heads, c->value_head_dim);
  const attn_sdpa desc = {.struct_size = sizeof desc,
                          .align = ATTN_ALIGN_BOTTOM_RIGHT,
                          .threads = t->host.threads,
                          .workspace = d->workspace,
                          .workspace_bytes = d->workspace_bytes,
                          .flags = ATTN_SDPA_SCALE,
                          .scale = attn_model_score_scale(c),
                          .additive = a ? &additive : NULL,
                          .alibi = with_alibi ? &slopes : NULL};
  if (attn_tape_is_computing(t))
    t->status = attn_sdpa_forward_cached(&desc, &tq, cache, sequences, q->n, &ty, &t->error);
  return y;
}

static struct attn_tape_variable *attend_self(const void *context, const struct attn_pass *p,
                                              int64_t block, struct attn_block_queries queries,
                                              struct attn_tape_variable *qkv) {
  const struct cached_attention *a = context;
  const struct attn_model_config *c = p->c;
  struct attn_tape *t = p->tape;
  int64_t keys = c->num_heads * c->head_dim, values = keys + c->num_kv_heads * c->head_dim;
  attn_tensor k = by_rows(qkv, keys, c->num_kv_heads, c->head_dim);
  attn_tensor v = by_rows(qkv, values, c->num_kv_heads, c->value_head_dim);
  if (attn_tape_is_computing(t))
    t->status = attn_cache_append(a->d->self[block], a->slots, qkv->n, &k, &v, &t->error);
  return attend(p, a->d, a->d->self[block], a->slots, queries,
                c->positions == ATTN_POSITIONS_ALIBI);
}

static struct attn_tape_variable *attend_cross(const void *context, const struct attn_pass *p,
                                               int64_t block, struct attn_block_queries queries) {
  const struct cached_attention *a = context;
  return attend(p, a->d, a->d->cross[block], a->d->sources, queries, 0);
}

/* ---- A step ---- */

static struct attn_tape_variable *run_step(struct attn_decoder *d, int64_t count,
                                           const int64_t *slots, const int32_t *tokens) {
  const struct attn_network *n = d->network;
  const struct attn_pass p = {n, &n->config, &d->tape, d->pack};
  const struct cached_attention a = {d, slots};
  const struct attn_block_attention attention = {attend_self, d->cross ? attend_cross : NULL, &a};
  const struct attn_token_batch batch = {
      .n = count, .tokens = tokens, .position_ids = d->position_ids};
  attn_tape_start(&d->tape);
  return attn_pass_output_head(&p, attn_pass_stack(&p, &n->decoder, &batch, &attention));
}

static int64_t length_of(const struct attn_decoder *d, int64_t slot) {
  return d->recurrent ? attn_recurrent_decoder_length(d->recurrent, slot)
                      : attn_cache_length(d->self[0], slot);
}

/* All caches have the same lengths: an invalid step fails before the first cache changes. */
attn_status attn_decoder_step(struct attn_decoder *d, int64_t count, const int64_t *slots,
                              const int32_t *tokens, const float **logits, attn_error *err) {
  for (int64_t n = 0; n < count; n++) {
    int64_t length = length_of(d, slots[n]);
    if (length < 0 || length >= d->network->config.max_positions)
      return attn_fail(err, ATTN_ERR_ARGUMENT, "slots",
                       "slot %lld is invalid or full: it has %lld tokens", (long long)slots[n],
                       (long long)length);
    if (tokens[n] < 0 || tokens[n] >= d->network->config.vocab_size)
      return attn_fail(err, ATTN_ERR_ARGUMENT, "tokens",
                       "token %d is outside the vocabulary (size %lld)", (int)tokens[n],
                       (long long)d->network->config.vocab_size);
    if (!d->recurrent) d->position_ids[n] = (int32_t)length, d->sources[n] = d->source_of[slots[n]];
  }
  if (d->recurrent)
    return attn_recurrent_decoder_step(d->recurrent, count, slots, tokens, logits, err);
  *logits = run_step(d, count, slots, tokens)->x;
  return attn_tape_status(&d->tape, err);
}

attn_status attn_decoder_fork(struct attn_decoder *d, int64_t from, int64_t to, attn_error *err) {
  attn_status status = ATTN_OK;
  if (d->recurrent) return attn_recurrent_decoder_fork(d->recurrent, from, to), ATTN_OK;
  for (int64_t l = 0; l < d->layers && !status; l++)
    status = attn_cache_fork(d->self[l], from, to, err);
  if (!status) d->source_of[to] = d->source_of[from];
  return status;
}

/* ---- A decoder ---- */

static attn_status new_cache(const struct attn_decoder *d, int64_t sequences, int64_t tokens,
                             attn_cache **cache, attn_error *err) {
  const struct attn_model_config *c = &d->network->config;
  const attn_cache_config config = {.struct_size = sizeof config,
                                    .num_kv_heads = c->num_kv_heads,
                                    .head_dim = c->head_dim,
                                    .value_head_dim = c->value_head_dim,
                                    .sequences = sequences,
                                    .capacity = tokens,
                                    .page_size = PAGE_TOKENS < tokens ? PAGE_TOKENS : tokens,
                                    .dtype = ATTN_F32};
  return attn_cache_new(&config, cache, err);
}

static int64_t longest_of(const struct attn_token_batch *source) {
  int64_t longest = 1;
  for (int64_t n = 0; n < source->sequences; n++)
    if (source->starts[n + 1] - source->starts[n] > longest)
      longest = source->starts[n + 1] - source->starts[n];
  return longest;
}

/* Appends each source's keys and values, from a layer's projection of all sources. */
static attn_status cache_projection(struct attn_decoder *d, const struct attn_tape_variable *kv,
                                    int64_t layer, const struct attn_token_batch *source,
                                    attn_error *err) {
  const struct attn_model_config *c = &d->network->config;
  attn_status status = ATTN_OK;
  for (int64_t n = 0; n < source->sequences && !status; n++) {
    int64_t from = source->starts[n], tokens = source->starts[n + 1] - from;
    float *at = kv->x + from * kv->width;
    attn_tensor k = {
        at, ATTN_F32, 4, {1, c->num_kv_heads, tokens, c->head_dim}, {0, c->head_dim, kv->width, 1}};
    attn_tensor v = {at + c->num_kv_heads * c->head_dim,
                     ATTN_F32,
                     4,
                     {1, c->num_kv_heads, tokens, c->value_head_dim},
                     {0, c->value_head_dim, kv->width, 1}};
    status = attn_cache_append(d->cross[layer], &n, 1, &k, &v, err);
  }
  return status;
}

static attn_status cache_layer(struct attn_decoder *d, const struct attn_pass *p, int64_t layer,
                               struct attn_tape_variable *memory,
                               const struct attn_token_batch *source, attn_error *err) {
  attn_tape_start(p->tape);
  struct attn_tape_variable *kv = attn_pass_linear(p, memory, p->n->decoder.blocks[layer].cross_kv);
  attn_status status = attn_tape_status(p->tape, err);
  if (!status) status = new_cache(d, source->sequences, longest_of(source), &d->cross[layer], err);
  return status ? status : cache_projection(d, kv, layer, source, err);
}

static attn_status cache_sources(struct attn_decoder *d, struct attn_tape_variable *memory,
                                 const struct attn_token_batch *source, attn_error *err) {
  struct attn_tape tape = {.host = d->tape.host};
  const struct attn_pass p = {d->network, &d->network->config, &tape, d->pack};
  attn_pass_linear(&p, memory, p.n->decoder.blocks[0].cross_kv);
  attn_status status = attn_tape_reserve(&tape, err);
  for (int64_t l = 0; l < d->layers && !status; l++)
    status = cache_layer(d, &p, l, memory, source, err);
  attn_tape_close(&tape);
  return status;
}

static attn_status open_tape(struct attn_decoder *d, attn_error *err) {
  run_step(d, d->slots, NULL, NULL);
  return attn_tape_reserve(&d->tape, err);
}

/* The workspace of attention for all slots at their full length. A plan does not read data, so d
 * serves as any pointer. ALiBi needs no more. */
static attn_status measure_workspace(struct attn_decoder *d, int64_t keys, attn_error *err) {
  const struct attn_model_config *c = &d->network->config;
  const attn_tensor additive = additive_of(c, d);
  const attn_sdpa desc = {.struct_size = sizeof desc,
                          .threads = d->tape.host.threads,
                          .additive = c->alignment == ATTN_ALIGN_ADDITIVE ? &additive : NULL};
  attn_tensor q = attn_tensor_dense(ATTN_F32, d, d->slots, c->num_heads, 1, c->head_dim);
  attn_tensor k = attn_tensor_dense(ATTN_F32, d, d->slots, c->num_kv_heads, keys, c->head_dim);
  attn_tensor v =
      attn_tensor_dense(ATTN_F32, d, d->slots, c->num_kv_heads, keys, c->value_head_dim);
  attn_plan found = {.struct_size = sizeof found};
  attn_status status = attn_sdpa_plan(&desc, &q, &k, &v, NULL, &found, err);
  if (found.workspace_bytes > d->workspace_bytes) d->workspace_bytes = found.workspace_bytes;
  return status;
}

static attn_status allocate_workspace(struct attn_decoder *d, const struct attn_token_batch *source,
                                      int64_t tokens, attn_error *err) {
  attn_status status = measure_workspace(d, tokens, err);
  if (!status && d->cross) status = measure_workspace(d, longest_of(source), err);
  if (status) return status;
  d->workspace = malloc(d->workspace_bytes);
  return d->workspace ? ATTN_OK : out_of_memory(err);
}

static attn_status init(struct attn_decoder *d, struct attn_tape_variable *memory,
                        const struct attn_token_batch *source, int64_t tokens, attn_error *err) {
  d->self = calloc((size_t)d->layers + 1, sizeof *d->self);
  d->cross = memory ? calloc((size_t)d->layers + 1, sizeof *d->cross) : NULL;
  d->source_of = calloc((size_t)d->slots, sizeof *d->source_of);
  d->sources = calloc((size_t)d->slots, sizeof *d->sources);
  d->position_ids = calloc((size_t)d->slots, sizeof *d->position_ids);
  if (!d->self || (memory && !d->cross) || !d->source_of || !d->sources || !d->position_ids)
    return out_of_memory(err);
  for (int64_t n = 0; n < d->slots; n++) d->source_of[n] = source && n < source->sequences ? n : 0;
  attn_status status = open_tape(d, err);
  if (!status) status = allocate_workspace(d, source, tokens, err);
  for (int64_t l = 0; l < d->layers && !status; l++)
    status = new_cache(d, d->slots, tokens, &d->self[l], err);
  if (!status && memory) status = cache_sources(d, memory, source, err);
  return status;
}

attn_status attn_decoder_new(const struct attn_network *network,
                             const struct attn_packed_weights *pack,
                             struct attn_tape_variable *memory,
                             const struct attn_token_batch *source, int64_t slots, int64_t tokens,
                             int32_t threads, struct attn_decoder **decoder, attn_error *err) {
  const struct attn_model_config *c = &network->config;
  if (c->decoder_layers < 1)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "network",
                     "cannot decode: the model has no decoder layers");
  if (tokens < 1 || tokens > c->max_positions)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "tokens",
                     "tokens must be between 1 and max_positions (%lld), got %lld",
                     (long long)c->max_positions, (long long)tokens);
  struct attn_decoder *d = calloc(1, sizeof *d);
  if (!d) return out_of_memory(err);
  d->network = network, d->pack = pack, d->slots = slots;
  d->layers = attn_model_is_recurrent(c) ? 0 : c->decoder_layers;
  d->tape.host.threads =
      attn_threads_workers(NULL, threads); /* fixed, so that the workspace suffices */
  attn_status status = d->layers ? init(d, memory, source, tokens, err)
                                 : attn_recurrent_decoder_new(network, pack, memory, source, slots,
                                                              &d->recurrent, err);
  if (status)
    attn_decoder_free(d);
  else
    *decoder = d;
  return status;
}

void attn_decoder_free(struct attn_decoder *d) {
  if (!d) return;
  for (int64_t l = 0; l < d->layers; l++) {
    if (d->self) attn_cache_free(d->self[l]);
    if (d->cross) attn_cache_free(d->cross[l]);
  }
  attn_recurrent_decoder_free(d->recurrent);
  free(d->self), free(d->cross), free(d->source_of), free(d->sources), free(d->position_ids);
  free(d->workspace);
  attn_tape_close(&d->tape);
  free(d);
}
