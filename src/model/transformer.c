#include "transformer.h"

#include <math.h>
#include <string.h>

#include "pass.h"

/* A layer makes at most 25 calls, of some 450 bytes each; the ends are less than a layer. */
size_t attn_pass_notes(const struct attn_config *c) {
  return ((size_t)c->encoder_layers + (size_t)c->decoder_layers + 2) << 14;
}

struct attn_value *attn_pass_linear(const struct attn_pass *p, struct attn_value *x,
                                    struct attn_linear_weights l) {
  struct attn_packed *packed = attn_pack_of(p->pack, l);
  if (packed) return attn_tape_packed(p->tape, x, packed, l.w->n, attn_pack_is_half(p->pack));
  return attn_tape_linear(p->tape, x, l.w, l.b);
}

struct attn_value *attn_pass_norm(const struct attn_pass *p, struct attn_value *x,
                                  struct attn_norm_weights w) {
  return w.scale ? attn_tape_norm(p->tape, x, w.scale, w.bias, p->c->epsilon, p->c->rms_norm) : x;
}

struct attn_value *attn_pass_enter(const struct attn_pass *p, struct attn_value *x,
                                   struct attn_norm_weights w) {
  return p->c->norm_first ? attn_pass_norm(p, x, w) : x;
}

struct attn_value *attn_pass_leave(const struct attn_pass *p, struct attn_value *x,
                                   struct attn_value *f, struct attn_norm_weights w) {
  struct attn_value *y = attn_tape_add(p->tape, x, f, p->c->dropout);
  return p->c->norm_first ? y : attn_pass_norm(p, y, w);
}

/* ---- Attention ---- */

static struct attn_multihead heads_of(const struct attn_pass *p, const struct attn_text *queries,
                                      const struct attn_text *keys, int causal) {
  const struct attn_config *c = p->c;
  return (struct attn_multihead){
      .heads = c->heads,
      .kv_heads = c->kv_heads,
      .key_width = c->key_width,
      .value_width = c->value_width,
      .sequences = queries->sequences,
      .cu_seqlens_q = queries->starts,
      .cu_seqlens_k = keys->starts,
      .causal = causal,
      .alibi = c->positions == ATTN_POSITIONS_ALIBI && queries == keys ? p->n->slopes : NULL};
}

void attn_pass_turn(const struct attn_pass *p, struct attn_value *qkv, const int32_t *places) {
  const struct attn_config *c = p->c;
  const struct attn_turn turn = {
      0, c->heads + c->kv_heads, c->key_width, places, &p->n->cos, &p->n->sin};
  if (c->positions == ATTN_POSITIONS_ROTARY) attn_tape_turn(p->tape, qkv, &turn);
}

static struct attn_value *attend_self(const struct attn_pass *p, const struct attn_block *b,
                                      struct attn_value *x, const struct attn_text *text,
                                      int causal) {
  const struct attn_config *c = p->c;
  int64_t keys = c->heads * c->key_width, values = keys + c->kv_heads * c->key_width;
  const struct attn_multihead m = heads_of(p, text, text, causal);
  struct attn_value *qkv = attn_pass_linear(p, x, b->self_in);
  attn_pass_turn(p, qkv, text->places);
  return attn_pass_linear(
      p,
      attn_tape_attend(p->tape, &m, (struct attn_columns){qkv, 0}, (struct attn_columns){qkv, keys},
                       (struct attn_columns){qkv, values}, c->dropout),
      b->self_out);
}

static struct attn_value *attend_source(const struct attn_pass *p, const struct attn_block *b,
                                        struct attn_value *x, const struct attn_text *target,
                                        struct attn_value *memory, const struct attn_text *source) {
  const struct attn_multihead m = heads_of(p, target, source, 0);
  struct attn_value *q = attn_pass_linear(p, x, b->cross_q),
                    *kv = attn_pass_linear(p, memory, b->cross_kv);
  int64_t values = p->c->kv_heads * p->c->key_width;
  return attn_pass_linear(
      p,
      attn_tape_attend(p->tape, &m, (struct attn_columns){q, 0}, (struct attn_columns){kv, 0},
                       (struct attn_columns){kv, values}, p->c->dropout),
      b->cross_out);
}

/* ---- Layers ---- */

struct attn_value *attn_pass_feed_forward(const struct attn_pass *p, const struct attn_block *b,
                                          struct attn_value *x) {
  struct attn_value *inner = attn_pass_linear(p, x, b->linear1);
  return attn_pass_linear(p, attn_tape_activate(p->tape, p->c->activation, inner), b->linear2);
}

static struct attn_value *encode_block(const struct attn_pass *p, const struct attn_block *b,
                                       struct attn_value *x, const struct attn_text *text) {
  x = attn_pass_leave(p, x, attend_self(p, b, attn_pass_enter(p, x, b->norm1), text, 0), b->norm1);
  return attn_pass_leave(p, x, attn_pass_feed_forward(p, b, attn_pass_enter(p, x, b->norm2)),
                         b->norm2);
}

static struct attn_value *decode_block(const struct attn_pass *p, const struct attn_block *b,
                                       struct attn_value *x, const struct attn_text *target,
                                       struct attn_value *memory, const struct attn_text *source) {
  struct attn_norm_weights last = memory ? b->norm3 : b->norm2;
  x = attn_pass_leave(p, x, attend_self(p, b, attn_pass_enter(p, x, b->norm1), target, 1),
                      b->norm1);
  if (memory)
    x = attn_pass_leave(
        p, x, attend_source(p, b, attn_pass_enter(p, x, b->norm2), target, memory, source),
        b->norm2);
  return attn_pass_leave(p, x, attn_pass_feed_forward(p, b, attn_pass_enter(p, x, last)), last);
}

/* The vectors of each token's kind. */
static struct attn_value *embed_types(const struct attn_pass *p, const struct attn_text *text,
                                      const struct attn_value *table) {
  size_t bytes = (size_t)text->n * sizeof *text->types;
  int32_t *zeros = text->types ? NULL : attn_tape_bytes(p->tape, bytes);
  if (zeros) memset(zeros, 0, bytes);
  const struct attn_embedding e = {.n = text->n,
                                   .words = table->n,
                                   .width = table->width,
                                   .tokens = zeros ? zeros : text->types,
                                   .scale = 1};
  return attn_tape_embed(p->tape, &e, table, NULL);
}

struct attn_value *attn_pass_embed(const struct attn_pass *p, const struct attn_text *text,
                                   const struct attn_embedding_weights *w) {
  const struct attn_value *table = w->table, *places = w->places;
  const struct attn_embedding e = {
      .n = text->n,
      .words = table->n,
      .width = table->width,
      .tokens = text->tokens,
      .places = text->places,
      .joining = p->c->joining,
      .scale = p->c->scaled_embedding ? sqrtf((float)p->c->width) : 1.0f,
      .position_width = places ? places->width : 0};
  struct attn_value *x = attn_tape_embed(p->tape, &e, table, places);
  if (w->types) x = attn_tape_add(p->tape, x, embed_types(p, text, w->types), 0);
  x = attn_pass_norm(p, x, w->norm);
  return p->c->dropout > 0 ? attn_tape_add(p->tape, NULL, x, p->c->dropout) : x;
}

/* ---- The whole ---- */

static void begin_text(struct attn_tape *tape, const struct attn_text *text) {
  tape->drop.first_row = text->first_row, tape->drop.first_sequence = text->first_sequence;
}

static struct attn_value *encode(const struct attn_pass *p, const struct attn_text *source) {
  size_t mark = attn_tape_mark(p->tape);
  begin_text(p->tape, source);
  struct attn_value *x = attn_pass_embed(p, source, &p->n->source);
  for (int64_t l = 0; l < p->c->encoder_layers; l++)
    x = attn_tape_keep(p->tape, mark, encode_block(p, &p->n->encoder[l], x, source));
  return attn_pass_norm(p, x, p->n->encoder_norm);
}

struct attn_value *attn_transformer_encode(const struct attn_network *n, struct attn_tape *tape,
                                           const struct attn_text *source) {
  return encode(&(struct attn_pass){n, &n->config, tape, NULL}, source);
}

static struct attn_value *label(const struct attn_pass *p, const struct attn_text *source) {
  return attn_pass_project(p, encode(p, source));
}

static attn_status run_alone(const struct attn_pass *p,
                             struct attn_value *(*body)(const struct attn_pass *,
                                                        const struct attn_text *),
                             const struct attn_text *source, struct attn_value **y,
                             attn_error *err) {
  attn_status status = attn_tape_open(p->tape, attn_pass_notes(p->c), err);
  if (status) return status;
  body(p, source);
  status = attn_tape_reserve(p->tape, err);
  if (status) return status;
  *y = body(p, source);
  return attn_tape_status(p->tape, err);
}

attn_status attn_transformer_encode_alone(const struct attn_network *n,
                                          const struct attn_pack *pack, struct attn_tape *tape,
                                          const struct attn_text *source,
                                          struct attn_value **hidden, attn_error *err) {
  return run_alone(&(struct attn_pass){n, &n->config, tape, pack}, encode, source, hidden, err);
}

attn_status attn_transformer_label_alone(const struct attn_network *n, const struct attn_pack *pack,
                                         struct attn_tape *tape, const struct attn_text *source,
                                         struct attn_value **logits, attn_error *err) {
  return run_alone(&(struct attn_pass){n, &n->config, tape, pack}, label, source, logits, err);
}

struct attn_value *attn_transformer_decode(const struct attn_network *n, struct attn_tape *tape,
                                           const struct attn_text *target,
                                           struct attn_value *memory,
                                           const struct attn_text *source) {
  const struct attn_pass p = {n, &n->config, tape, NULL};
  size_t mark = attn_tape_mark(tape);
  begin_text(tape, target);
  struct attn_value *x = attn_pass_embed(&p, target, &n->target);
  for (int64_t l = 0; l < p.c->decoder_layers; l++)
    x = attn_tape_keep(tape, mark, decode_block(&p, &n->decoder[l], x, target, memory, source));
  return attn_pass_norm(&p, x, n->decoder_norm);
}

struct attn_value *attn_pass_project(const struct attn_pass *p, struct attn_value *hidden) {
  const struct attn_network *n = p->n;
  if (p->c->head == ATTN_HEAD_NONE) return hidden;
  if (p->c->head == ATTN_HEAD_TRANSFORM) {
    hidden =
        attn_tape_activate(p->tape, p->c->activation, attn_pass_linear(p, hidden, n->transform));
    hidden = attn_pass_norm(p, hidden, n->transform_norm);
  }
  return attn_pass_linear(p, hidden, n->output);
}

struct attn_value *attn_transformer_project(const struct attn_network *n, struct attn_tape *tape,
                                            struct attn_value *hidden) {
  return attn_pass_project(&(struct attn_pass){n, &n->config, tape, NULL}, hidden);
}

struct attn_value *attn_transformer_forward(const struct attn_network *n, struct attn_tape *tape,
                                            const struct attn_text *source,
                                            const struct attn_text *target) {
  enum attn_model_kind kind = n->config.kind;
  struct attn_value *hidden = NULL;
  if (kind != ATTN_DECODER) hidden = attn_transformer_encode(n, tape, source);
  if (kind != ATTN_ENCODER) hidden = attn_transformer_decode(n, tape, target, hidden, source);
  return attn_transformer_project(n, tape, hidden);
}
