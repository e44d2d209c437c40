#include "transformer.h"

#include <math.h>

/* One pass through a model. */
struct pass {
  const struct attn_network *n;
  const struct attn_config *c;
  struct attn_tape *tape;
};

static struct attn_value *linear(const struct pass *p, struct attn_value *x,
                                 struct attn_linear_weights l) {
  return attn_tape_linear(p->tape, x, l.w, l.b);
}

static struct attn_value *norm(const struct pass *p, struct attn_value *x,
                               struct attn_norm_weights w) {
  return w.scale ? attn_tape_norm(p->tape, x, w.scale, w.bias, p->c->epsilon, p->c->rms_norm) : x;
}

/* A sublayer f stands between these two: norm(x + f(x)), or x + f(norm(x)) [Xiong20]. */
static struct attn_value *enter(const struct pass *p, struct attn_value *x,
                                struct attn_norm_weights w) {
  return p->c->norm_first ? norm(p, x, w) : x;
}

static struct attn_value *leave(const struct pass *p, struct attn_value *x, struct attn_value *f,
                                struct attn_norm_weights w) {
  struct attn_value *y = attn_tape_add(p->tape, x, f, p->c->dropout);
  return p->c->norm_first ? y : norm(p, y, w);
}

/* ---- Attention ---- */

static struct attn_multihead heads_of(const struct pass *p, const struct attn_text *queries,
                                      const struct attn_text *keys, int causal) {
  const struct attn_config *c = p->c;
  return (struct attn_multihead){
      .heads = c->heads,
      .kv_heads = c->kv_heads,
      .key_width = c->key_width,
      .value_width = c->value_width,
      .sequences = queries->sequences,
      .query_starts = queries->starts,
      .key_starts = keys->starts,
      .causal = causal,
      .alibi = c->positions == ATTN_POSITIONS_ALIBI && queries == keys ? p->n->slopes : NULL};
}

static struct attn_value *attend_self(const struct pass *p, const struct attn_block *b,
                                      struct attn_value *x, const struct attn_text *text,
                                      int causal) {
  const struct attn_config *c = p->c;
  int64_t keys = c->heads * c->key_width, values = keys + c->kv_heads * c->key_width;
  const struct attn_multihead m = heads_of(p, text, text, causal);
  struct attn_value *qkv = linear(p, x, b->self_in);
  const struct attn_turn turn = {
      0, c->heads + c->kv_heads, c->key_width, text->places, &p->n->cos, &p->n->sin};
  if (c->positions == ATTN_POSITIONS_ROTARY) attn_tape_turn(p->tape, qkv, &turn);
  return linear(
      p,
      attn_tape_attend(p->tape, &m, (struct attn_columns){qkv, 0}, (struct attn_columns){qkv, keys},
                       (struct attn_columns){qkv, values}, c->dropout),
      b->self_out);
}

static struct attn_value *attend_source(const struct pass *p, const struct attn_block *b,
                                        struct attn_value *x, const struct attn_text *target,
                                        struct attn_value *memory, const struct attn_text *source) {
  const struct attn_multihead m = heads_of(p, target, source, 0);
  struct attn_value *q = linear(p, x, b->cross_q), *kv = linear(p, memory, b->cross_kv);
  int64_t values = p->c->kv_heads * p->c->key_width;
  return linear(
      p,
      attn_tape_attend(p->tape, &m, (struct attn_columns){q, 0}, (struct attn_columns){kv, 0},
                       (struct attn_columns){kv, values}, p->c->dropout),
      b->cross_out);
}

/* ---- Layers ---- */

static struct attn_value *feed_forward(const struct pass *p, const struct attn_block *b,
                                       struct attn_value *x) {
  struct attn_value *inner = linear(p, x, b->linear1);
  return linear(p, attn_tape_activate(p->tape, p->c->activation, inner), b->linear2);
}

static struct attn_value *encode_block(const struct pass *p, const struct attn_block *b,
                                       struct attn_value *x, const struct attn_text *text) {
  x = leave(p, x, attend_self(p, b, enter(p, x, b->norm1), text, 0), b->norm1);
  return leave(p, x, feed_forward(p, b, enter(p, x, b->norm2)), b->norm2);
}

static struct attn_value *decode_block(const struct pass *p, const struct attn_block *b,
                                       struct attn_value *x, const struct attn_text *target,
                                       struct attn_value *memory, const struct attn_text *source) {
  struct attn_norm_weights last = memory ? b->norm3 : b->norm2;
  x = leave(p, x, attend_self(p, b, enter(p, x, b->norm1), target, 1), b->norm1);
  if (memory)
    x = leave(p, x, attend_source(p, b, enter(p, x, b->norm2), target, memory, source), b->norm2);
  return leave(p, x, feed_forward(p, b, enter(p, x, last)), last);
}

static struct attn_value *embed(const struct pass *p, const struct attn_text *text,
                                const struct attn_value *table, const struct attn_value *places) {
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
  return p->c->dropout > 0 ? attn_tape_add(p->tape, NULL, x, p->c->dropout) : x;
}

/* ---- The whole ---- */

static void begin_text(struct attn_tape *tape, const struct attn_text *text) {
  tape->drop.first_row = text->first_row, tape->drop.first_sequence = text->first_sequence;
}

struct attn_value *attn_transformer_encode(const struct attn_network *n, struct attn_tape *tape,
                                           const struct attn_text *source) {
  const struct pass p = {n, &n->config, tape};
  begin_text(tape, source);
  struct attn_value *x = embed(&p, source, n->source_table, n->source_places);
  for (int64_t l = 0; l < p.c->encoder_layers; l++) x = encode_block(&p, &n->encoder[l], x, source);
  return norm(&p, x, n->encoder_norm);
}

struct attn_value *attn_transformer_decode(const struct attn_network *n, struct attn_tape *tape,
                                           const struct attn_text *target,
                                           struct attn_value *memory,
                                           const struct attn_text *source) {
  const struct pass p = {n, &n->config, tape};
  begin_text(tape, target);
  struct attn_value *x = embed(&p, target, n->target_table, n->target_places);
  for (int64_t l = 0; l < p.c->decoder_layers; l++)
    x = decode_block(&p, &n->decoder[l], x, target, memory, source);
  return norm(&p, x, n->decoder_norm);
}

struct attn_value *attn_transformer_project(const struct attn_network *n, struct attn_tape *tape,
                                            struct attn_value *hidden) {
  const struct pass p = {n, &n->config, tape};
  return linear(&p, hidden, n->output);
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
