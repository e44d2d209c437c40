#include "decoder.h"

#include <stdlib.h>

#include "batch.h"
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
  int64_t tokens, rows; /* at most of a slot, and of an attn_decoder_read */
  struct attn_tape tape;
  attn_cache **self, **cross;   /* (layers) */
  int64_t *source_of, *sources; /* (slots): of each slot; of the slots of a pass */
  int32_t *position_ids;        /* (pass_rows): of the tokens of a pass */
  void *workspace;              /* of attention, for its largest call */
  size_t workspace_bytes;
};

static int64_t pass_rows(const struct attn_decoder *d) {
  return d->rows > d->slots ? d->rows : d->slots;
}

static attn_status out_of_memory(attn_error *err) {
  return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for a decoder");
}

/* ---- Attention over caches ---- */

/* The slots of a pass, with their rows: from starts[n] to starts[n + 1]; starts NULL: one each. */
struct slot_rows {
  struct attn_decoder *d;
  int64_t count;
  const int64_t *slots, *starts;
};

/* Sequences of a cache with the same number of rows, which one call computes. */
struct row_group {
  int64_t first, count; /* of the slots */
  int64_t row, length;  /* the first row, and how many each slot has */
};

static int64_t group_count(const struct slot_rows *r) { return r->starts ? r->count : 1; }

static struct row_group group_at(const struct slot_rows *r, int64_t n) {
  if (!r->starts) return (struct row_group){0, r->count, 0, 1};
  return (struct row_group){n, 1, r->starts[n], r->starts[n + 1] - r->starts[n]};
}

/* a of additive scores. */
static attn_tensor additive_of(const struct attn_model_config *c, const void *a) {
  return (attn_tensor){
      (void *)(uintptr_t)a, ATTN_F32, 2, {c->num_heads, c->head_dim}, {c->head_dim, 1}};
}

/* (count, heads, length, width): columns of the rows of a group, from `from` on. */
static attn_tensor by_slots(const struct attn_tape_variable *v, struct row_group g, int64_t from,
                            int64_t heads, int64_t width) {
  return (attn_tensor){v->x + g.row * v->width + from,
                       ATTN_F32,
                       4,
                       {g.count, heads, g.length, width},
                       {g.length * v->width, width, v->width, 1}};
}

static uint64_t causal_flag(int is_causal) { return is_causal ? ATTN_SDPA_CAUSAL : 0; }

/* A group's attention to the sequences of a cache. with_order: the rows are the sequences' last. */
static void attend_group(const struct attn_pass *p, const struct attn_decoder *d,
                         const attn_cache *cache, const int64_t *sequences, struct row_group g,
                         struct attn_block_queries queries, int with_order,
                         struct attn_tape_variable *y) {
  const struct attn_model_config *c = p->c;
  struct attn_tape *t = p->tape;
  const struct attn_tape_variable *a = queries.additive;
  const attn_tensor additive = additive_of(c, a ? a->x : NULL);
  attn_tensor slopes = {p->n->slopes, ATTN_F32, 1, {c->num_heads}, {1}};
  attn_tensor tq = by_slots(queries.q, g, 0, c->num_heads, c->head_dim),
              ty = by_slots(y, g, 0, c->num_heads, c->value_head_dim);
  const attn_sdpa desc = {
      .struct_size = sizeof desc,
      .align = ATTN_ALIGN_BOTTOM_RIGHT,
      .threads = t->host.threads,
      .workspace = d->workspace,
      .workspace_bytes = d->workspace_bytes,
      .flags = ATTN_SDPA_SCALE | causal_flag(with_order && g.length > 1),
      .scale = attn_model_score_scale(c),
      .additive = a ? &additive : NULL,
      .alibi = with_order && c->positions == ATTN_POSITIONS_ALIBI ? &slopes : NULL};
  t->status =
      attn_sdpa_forward_cached(&desc, &tq, cache, sequences + g.first, g.count, &ty, &t->error);
}

static struct attn_tape_variable *outputs_of(const struct attn_pass *p,
                                             struct attn_block_queries queries) {
  return attn_tape_variable(p->tape, queries.q->n, p->c->num_heads * p->c->value_head_dim);
}

static struct attn_tape_variable *attend_self(const void *context, const struct attn_pass *p,
                                              int64_t block, struct attn_block_queries queries,
                                              struct attn_tape_variable *qkv) {
  const struct slot_rows *r = context;
  const struct attn_model_config *c = p->c;
  struct attn_tape *t = p->tape;
  int64_t keys = c->num_heads * c->head_dim, values = keys + c->num_kv_heads * c->head_dim;
  struct attn_tape_variable *y = outputs_of(p, queries);
  for (int64_t n = 0; n < group_count(r) && attn_tape_is_computing(t); n++) {
    const struct row_group g = group_at(r, n);
    attn_tensor k = by_slots(qkv, g, keys, c->num_kv_heads, c->head_dim);
    attn_tensor v = by_slots(qkv, g, values, c->num_kv_heads, c->value_head_dim);
    t->status =
        attn_cache_append(r->d->self[block], r->slots + g.first, g.count, &k, &v, &t->error);
    if (!t->status) attend_group(p, r->d, r->d->self[block], r->slots, g, queries, 1, y);
  }
  return y;
}

static struct attn_tape_variable *attend_cross(const void *context, const struct attn_pass *p,
                                               int64_t block, struct attn_block_queries queries) {
  const struct slot_rows *r = context;
  struct attn_tape_variable *y = outputs_of(p, queries);
  for (int64_t n = 0; n < group_count(r) && attn_tape_is_computing(p->tape); n++)
    attend_group(p, r->d, r->d->cross[block], r->d->sources, group_at(r, n), queries, 0, y);
  return y;
}

/* ---- A pass ---- */

/* The hidden vectors of `rows` tokens. */
static struct attn_tape_variable *run_stack(const struct attn_pass *p, const struct slot_rows *r,
                                            int64_t rows, const int32_t *tokens) {
  const struct attn_block_attention attention = {attend_self, r->d->cross ? attend_cross : NULL, r};
  const struct attn_token_batch batch = {
      .n = rows, .tokens = tokens, .position_ids = r->d->position_ids};
  attn_tape_start(p->tape);
  return attn_pass_stack(p, &p->n->decoder, &batch, &attention);
}

static struct attn_pass pass_of(struct attn_decoder *d) {
  return (struct attn_pass){d->network, &d->network->config, &d->tape, d->pack};
}

static int64_t length_of(const struct attn_decoder *d, int64_t slot) {
  return d->recurrent ? attn_recurrent_decoder_length(d->recurrent, slot)
                      : attn_cache_length(d->self[0], slot);
}

/* An invalid pass fails before the first cache changes: they have the same lengths. */
static attn_status set_rows(const struct slot_rows *r, const int32_t *tokens, attn_error *err) {
  struct attn_decoder *d = r->d;
  for (int64_t n = 0; n < r->count; n++) {
    const int64_t length = length_of(d, r->slots[n]), first = r->starts ? r->starts[n] : n;
    const int64_t more = r->starts ? r->starts[n + 1] - first : 1;
    if (length < 0 || length > d->tokens - more)
      return attn_fail(err, ATTN_ERR_ARGUMENT, "slots",
                       "slot %lld is invalid or full: it has %lld tokens", (long long)r->slots[n],
                       (long long)length);
    attn_status status =
        attn_tokens_check(tokens + first, more, d->network->config.vocab_size, "tokens", err);
    if (status) return status;
    for (int64_t i = 0; i < more && !d->recurrent; i++)
      d->position_ids[first + i] = (int32_t)(length + i);
    if (!d->recurrent) d->sources[n] = d->source_of[r->slots[n]];
  }
  return ATTN_OK;
}

attn_status attn_decoder_read(struct attn_decoder *d, int64_t count, const int64_t *slots,
                              const int64_t *starts, const int32_t *tokens, attn_error *err) {
  const struct slot_rows r = {d, count, slots, starts};
  const struct attn_pass p = pass_of(d);
  if (starts[count] > d->rows)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "starts", "expected at most %lld tokens, got %lld",
                     (long long)d->rows, (long long)starts[count]);
  attn_status status = set_rows(&r, tokens, err);
  if (status) return status;
  run_stack(&p, &r, starts[count], tokens);
  return attn_tape_status(&d->tape, err);
}

attn_status attn_decoder_step(struct attn_decoder *d, int64_t count, const int64_t *slots,
                              const int32_t *tokens, const float **logits, attn_error *err) {
  const struct slot_rows r = {d, count, slots, NULL};
  const struct attn_pass p = pass_of(d);
  attn_status status = set_rows(&r, tokens, err);
  if (status) return status;
  if (d->recurrent)
    return attn_recurrent_decoder_step(d->recurrent, count, slots, tokens, logits, err);
  *logits = attn_pass_output_head(&p, run_stack(&p, &r, count, tokens))->x;
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

/* Appends each source's keys and values, from a layer's projection of all sources. */
static attn_status cache_projection(struct attn_decoder *d, const struct attn_tape_variable *kv,
                                    int64_t layer, const struct attn_token_batch *source,
                                    attn_error *err) {
  const struct attn_model_config *c = &d->network->config;
  attn_status status = ATTN_OK;
  for (int64_t n = 0; n < source->sequences && !status; n++) {
    const struct row_group g = {n, 1, source->starts[n], source->starts[n + 1] - source->starts[n]};
    attn_tensor k = by_slots(kv, g, 0, c->num_kv_heads, c->head_dim);
    attn_tensor v =
        by_slots(kv, g, c->num_kv_heads * c->head_dim, c->num_kv_heads, c->value_head_dim);
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
  if (!status)
    status =
        new_cache(d, source->sequences, attn_token_batch_longest(source), &d->cross[layer], err);
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

/* The hidden vectors of a pass of all rows, and the logits of all slots. */
static attn_status open_tape(struct attn_decoder *d, attn_error *err) {
  const struct slot_rows r = {d, d->slots, NULL, NULL};
  const struct attn_pass p = pass_of(d);
  run_stack(&p, &r, pass_rows(d), NULL);
  attn_pass_output_head(&p, attn_tape_variable(&d->tape, d->slots, p.c->d_model));
  return attn_tape_reserve(&d->tape, err);
}

/* The workspace of attention of `count` slots with `length` rows each to so many keys. A plan does
 * not read data, so d serves as any pointer. ALiBi needs no more. */
static attn_status measure_workspace(struct attn_decoder *d, int64_t count, int64_t length,
                                     int64_t keys, attn_error *err) {
  const struct attn_model_config *c = &d->network->config;
  const attn_tensor additive = additive_of(c, d);
  const attn_sdpa desc = {.struct_size = sizeof desc,
                          .align = ATTN_ALIGN_BOTTOM_RIGHT,
                          .flags = causal_flag(length > 1),
                          .threads = d->tape.host.threads,
                          .additive = c->alignment == ATTN_ALIGN_ADDITIVE ? &additive : NULL};
  attn_tensor q = attn_tensor_dense(ATTN_F32, d, count, c->num_heads, length, c->head_dim);
  attn_tensor k = attn_tensor_dense(ATTN_F32, d, count, c->num_kv_heads, keys, c->head_dim);
  attn_tensor v = attn_tensor_dense(ATTN_F32, d, count, c->num_kv_heads, keys, c->value_head_dim);
  attn_plan found = {.struct_size = sizeof found};
  attn_status status = attn_sdpa_plan(&desc, &q, &k, &v, NULL, &found, err);
  if (found.workspace_bytes > d->workspace_bytes) d->workspace_bytes = found.workspace_bytes;
  return status;
}

/* Of every pass. */
static attn_status measure_passes(struct attn_decoder *d, int64_t keys, attn_error *err) {
  attn_status status = measure_workspace(d, d->slots, 1, keys, err);
  for (int64_t length = 2; length <= d->rows && !status; length++)
    status = measure_workspace(d, 1, length, keys, err);
  return status;
}

static attn_status allocate_workspace(struct attn_decoder *d, const struct attn_token_batch *source,
                                      int64_t tokens, attn_error *err) {
  attn_status status = measure_passes(d, tokens, err);
  if (!status && d->cross) status = measure_passes(d, attn_token_batch_longest(source), err);
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
  d->position_ids = calloc((size_t)(pass_rows(d)), sizeof *d->position_ids);
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
                             int64_t rows, int32_t threads, struct attn_decoder **decoder,
                             attn_error *err) {
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
  d->network = network, d->pack = pack, d->slots = slots, d->tokens = tokens, d->rows = rows;
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
