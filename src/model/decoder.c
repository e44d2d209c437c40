#include "decoder.h"

#include <stdlib.h>

#include "error.h"
#include "pass.h"
#include "threads.h"

enum { PAGE = 96 }; /* keys that attention reads at once: in place where they share a page */

struct attn_decoder {
  const struct attn_network *network;
  const struct attn_pack *pack;
  int64_t slots, layers;
  struct attn_tape tape;
  attn_cache **self, **cross;   /* (layers) */
  int64_t *source_of, *sources; /* (slots): of each slot, and of a step's rows */
  int32_t *places;              /* (slots): of a step's rows */
  void *workspace;              /* attention's, for the longest of its calls */
  size_t workspace_bytes;
};

static attn_status out_of_memory(attn_error *err) {
  return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for a decoder");
}

/* ---- A step ---- */

/* One step's rows. */
struct step {
  struct attn_pass pass;
  struct attn_decoder *d;
  struct attn_text text;
  const int64_t *slots;
};

/* (rows, heads, 1, width): columns of a value from `from` on, a sequence for each row. */
static attn_tensor by_rows(const struct attn_value *v, int64_t from, int64_t heads, int64_t width) {
  return (attn_tensor){
      v->x ? v->x + from : NULL, ATTN_F32, 4, {v->n, heads, 1, width}, {v->width, width, 0, 1}};
}

static struct attn_value *attend(const struct step *s, const attn_cache *cache,
                                 const int64_t *sequences, const struct attn_value *q,
                                 int with_alibi) {
  const struct attn_config *c = s->pass.c;
  struct attn_tape *t = s->pass.tape;
  struct attn_value *y = attn_tape_value(t, q->n, c->heads * c->value_width);
  attn_tensor slopes = {s->pass.n->slopes, ATTN_F32, 1, {c->heads}, {1}};
  attn_tensor tq = by_rows(q, 0, c->heads, c->key_width),
              ty = by_rows(y, 0, c->heads, c->value_width);
  const attn_sdpa desc = {.struct_size = sizeof desc,
                          .align = ATTN_ALIGN_BOTTOM_RIGHT,
                          .threads = t->host.threads,
                          .workspace = s->d->workspace,
                          .workspace_bytes = s->d->workspace_bytes,
                          .alibi = with_alibi ? &slopes : NULL};
  if (attn_tape_runs(t))
    t->status = attn_sdpa_forward_cached(&desc, &tq, cache, sequences, q->n, &ty, &t->error);
  return y;
}

static struct attn_value *attend_self(const struct step *s, const struct attn_block *b,
                                      int64_t layer, struct attn_value *x) {
  const struct attn_config *c = s->pass.c;
  struct attn_tape *t = s->pass.tape;
  int64_t keys = c->heads * c->key_width, values = keys + c->kv_heads * c->key_width;
  struct attn_value *qkv = attn_pass_linear(&s->pass, x, b->self_in);
  attn_pass_turn(&s->pass, qkv, s->text.places);
  attn_tensor k = by_rows(qkv, keys, c->kv_heads, c->key_width);
  attn_tensor v = by_rows(qkv, values, c->kv_heads, c->value_width);
  if (attn_tape_runs(t))
    t->status = attn_cache_append(s->d->self[layer], s->slots, qkv->n, &k, &v, &t->error);
  return attn_pass_linear(
      &s->pass, attend(s, s->d->self[layer], s->slots, qkv, c->positions == ATTN_POSITIONS_ALIBI),
      b->self_out);
}

static struct attn_value *attend_source(const struct step *s, const struct attn_block *b,
                                        int64_t layer, struct attn_value *x) {
  struct attn_value *q = attn_pass_linear(&s->pass, x, b->cross_q);
  return attn_pass_linear(&s->pass, attend(s, s->d->cross[layer], s->d->sources, q, 0),
                          b->cross_out);
}

static struct attn_value *run_block(const struct step *s, const struct attn_block *b, int64_t layer,
                                    struct attn_value *x) {
  const struct attn_pass *p = &s->pass;
  struct attn_norm_weights last = s->d->cross ? b->norm3 : b->norm2;
  x = attn_pass_leave(p, x, attend_self(s, b, layer, attn_pass_enter(p, x, b->norm1)), b->norm1);
  if (s->d->cross)
    x = attn_pass_leave(p, x, attend_source(s, b, layer, attn_pass_enter(p, x, b->norm2)),
                        b->norm2);
  return attn_pass_leave(p, x, attn_pass_feed_forward(p, b, attn_pass_enter(p, x, last)), last);
}

static struct attn_value *run_step(struct attn_decoder *d, int64_t count, const int64_t *slots,
                                   const int32_t *tokens) {
  const struct attn_network *n = d->network;
  const struct step s = {.pass = {n, &n->config, &d->tape, d->pack},
                         .d = d,
                         .slots = slots,
                         .text = {.n = count, .tokens = tokens, .places = d->places}};
  attn_tape_start(&d->tape);
  size_t mark = attn_tape_mark(&d->tape);
  struct attn_value *x = attn_pass_embed(&s.pass, &s.text, &n->target);
  for (int64_t l = 0; l < d->layers; l++)
    x = attn_tape_keep(&d->tape, mark, run_block(&s, &n->decoder[l], l, x));
  return attn_pass_project(&s.pass, attn_pass_norm(&s.pass, x, n->decoder_norm));
}

/* All caches have the same lengths; a step that cannot be is refused before the first is changed.
 */
attn_status attn_decoder_step(struct attn_decoder *d, int64_t count, const int64_t *slots,
                              const int32_t *tokens, const float **logits, attn_error *err) {
  for (int64_t n = 0; n < count; n++) {
    int64_t length = attn_cache_length(d->self[0], slots[n]);
    if (length < 0 || length >= d->network->config.length)
      return attn_fail(err, ATTN_ERR_ARGUMENT, "slots",
                       "slot %lld is none or full: it holds %lld tokens", (long long)slots[n],
                       (long long)length);
    if (tokens[n] < 0 || tokens[n] >= d->network->config.target_words)
      return attn_fail(err, ATTN_ERR_ARGUMENT, "tokens", "token %d is none of the vocabulary",
                       (int)tokens[n]);
    d->places[n] = (int32_t)length, d->sources[n] = d->source_of[slots[n]];
  }
  *logits = run_step(d, count, slots, tokens)->x;
  return attn_tape_status(&d->tape, err);
}

attn_status attn_decoder_fork(struct attn_decoder *d, int64_t from, int64_t to, attn_error *err) {
  attn_status status = ATTN_OK;
  for (int64_t l = 0; l < d->layers && !status; l++)
    status = attn_cache_fork(d->self[l], from, to, err);
  if (!status) d->source_of[to] = d->source_of[from];
  return status;
}

/* ---- A decoder ---- */

static attn_status new_cache(const struct attn_decoder *d, int64_t sequences, int64_t tokens,
                             attn_cache **cache, attn_error *err) {
  const struct attn_config *c = &d->network->config;
  const attn_cache_config config = {.struct_size = sizeof config,
                                    .heads = c->kv_heads,
                                    .width = c->key_width,
                                    .value_width = c->value_width,
                                    .sequences = sequences,
                                    .capacity = tokens,
                                    .page_size = PAGE < tokens ? PAGE : tokens,
                                    .dtype = ATTN_F32};
  return attn_cache_new(&config, cache, err);
}

static int64_t longest_of(const struct attn_text *source) {
  int64_t longest = 1;
  for (int64_t n = 0; n < source->sequences; n++)
    if (source->starts[n + 1] - source->starts[n] > longest)
      longest = source->starts[n + 1] - source->starts[n];
  return longest;
}

/* Keys and values of each source, from one layer's projection of them all. */
static attn_status keep_source(struct attn_decoder *d, const struct attn_value *kv, int64_t layer,
                               const struct attn_text *source, attn_error *err) {
  const struct attn_config *c = &d->network->config;
  attn_status status = ATTN_OK;
  for (int64_t n = 0; n < source->sequences && !status; n++) {
    int64_t from = source->starts[n], tokens = source->starts[n + 1] - from;
    float *at = kv->x + from * kv->width;
    attn_tensor k = {
        at, ATTN_F32, 4, {1, c->kv_heads, tokens, c->key_width}, {0, c->key_width, kv->width, 1}};
    attn_tensor v = {at + c->kv_heads * c->key_width,
                     ATTN_F32,
                     4,
                     {1, c->kv_heads, tokens, c->value_width},
                     {0, c->value_width, kv->width, 1}};
    status = attn_cache_append(d->cross[layer], &n, 1, &k, &v, err);
  }
  return status;
}

static attn_status keep_layer(struct attn_decoder *d, const struct attn_pass *p, int64_t layer,
                              struct attn_value *memory, const struct attn_text *source,
                              attn_error *err) {
  attn_tape_start(p->tape);
  struct attn_value *kv = attn_pass_linear(p, memory, p->n->decoder[layer].cross_kv);
  attn_status status = attn_tape_status(p->tape, err);
  if (!status) status = new_cache(d, source->sequences, longest_of(source), &d->cross[layer], err);
  return status ? status : keep_source(d, kv, layer, source, err);
}

static attn_status keep_sources(struct attn_decoder *d, struct attn_value *memory,
                                const struct attn_text *source, attn_error *err) {
  struct attn_tape tape = {.host = d->tape.host};
  const struct attn_pass p = {d->network, &d->network->config, &tape, d->pack};
  attn_status status = attn_tape_open(&tape, attn_pass_notes(p.c), err);
  if (!status) attn_pass_linear(&p, memory, p.n->decoder[0].cross_kv);
  if (!status) status = attn_tape_reserve(&tape, err);
  for (int64_t l = 0; l < d->layers && !status; l++)
    status = keep_layer(d, &p, l, memory, source, err);
  attn_tape_close(&tape);
  return status;
}

static attn_status make_tape(struct attn_decoder *d, attn_error *err) {
  attn_status status = attn_tape_open(&d->tape, attn_pass_notes(&d->network->config), err);
  if (status) return status;
  run_step(d, d->slots, NULL, NULL);
  return attn_tape_reserve(&d->tape, err);
}

/* What attention needs at most: all slots, each as long as it can be. A plan reads no data; d
 * stands for them. ALiBi needs no more. */
static attn_status plan(struct attn_decoder *d, int64_t keys, attn_error *err) {
  const struct attn_config *c = &d->network->config;
  const attn_sdpa desc = {.struct_size = sizeof desc, .threads = d->tape.host.threads};
  attn_tensor q = attn_tensor_dense(ATTN_F32, d, d->slots, c->heads, 1, c->key_width);
  attn_tensor k = attn_tensor_dense(ATTN_F32, d, d->slots, c->kv_heads, keys, c->key_width);
  attn_tensor v = attn_tensor_dense(ATTN_F32, d, d->slots, c->kv_heads, keys, c->value_width);
  attn_plan found = {.struct_size = sizeof found};
  attn_status status = attn_sdpa_plan(&desc, &q, &k, &v, NULL, &found, err);
  if (found.workspace_bytes > d->workspace_bytes) d->workspace_bytes = found.workspace_bytes;
  return status;
}

static attn_status make_workspace(struct attn_decoder *d, const struct attn_text *source,
                                  int64_t tokens, attn_error *err) {
  attn_status status = plan(d, tokens, err);
  if (!status && d->cross) status = plan(d, longest_of(source), err);
  if (status) return status;
  d->workspace = malloc(d->workspace_bytes);
  return d->workspace ? ATTN_OK : out_of_memory(err);
}

static attn_status fill(struct attn_decoder *d, struct attn_value *memory,
                        const struct attn_text *source, int64_t tokens, attn_error *err) {
  d->self = calloc((size_t)d->layers + 1, sizeof *d->self);
  d->cross = memory ? calloc((size_t)d->layers + 1, sizeof *d->cross) : NULL;
  d->source_of = calloc((size_t)d->slots, sizeof *d->source_of);
  d->sources = calloc((size_t)d->slots, sizeof *d->sources);
  d->places = calloc((size_t)d->slots, sizeof *d->places);
  if (!d->self || (memory && !d->cross) || !d->source_of || !d->sources || !d->places)
    return out_of_memory(err);
  for (int64_t n = 0; n < d->slots; n++) d->source_of[n] = source && n < source->sequences ? n : 0;
  attn_status status = make_tape(d, err);
  if (!status) status = make_workspace(d, source, tokens, err);
  for (int64_t l = 0; l < d->layers && !status; l++)
    status = new_cache(d, d->slots, tokens, &d->self[l], err);
  if (!status && memory) status = keep_sources(d, memory, source, err);
  return status;
}

attn_status attn_decoder_new(const struct attn_network *network, const struct attn_pack *pack,
                             struct attn_value *memory, const struct attn_text *source,
                             int64_t slots, int64_t tokens, int32_t threads,
                             struct attn_decoder **decoder, attn_error *err) {
  const struct attn_config *c = &network->config;
  if (c->decoder_layers < 1)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "network",
                     "a model without decoder layers says nothing");
  if (tokens < 1 || tokens > c->length)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "tokens",
                     "%lld tokens: the model has positions for 1 to %lld", (long long)tokens,
                     (long long)c->length);
  struct attn_decoder *d = calloc(1, sizeof *d);
  if (!d) return out_of_memory(err);
  d->network = network, d->pack = pack, d->slots = slots, d->layers = c->decoder_layers;
  d->tape.host.threads = attn_threads_workers(NULL, threads); /* later there are no more */
  attn_status status = fill(d, memory, source, tokens, err);
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
  free(d->self), free(d->cross), free(d->source_of), free(d->sources), free(d->places);
  free(d->workspace);
  attn_tape_close(&d->tape);
  free(d);
}
