#include "block.h"

#include <math.h>
#include <string.h>

struct attn_tape_variable *attn_pass_linear(const struct attn_pass *p, struct attn_tape_variable *x,
                                            struct attn_linear_weights l) {
  struct attn_packed_matrix *packed = attn_packed_weights_of(p->pack, l);
  if (packed)
    return attn_tape_linear_packed(p->tape, x, packed, l.w->n,
                                   attn_packed_weights_is_bf16(p->pack));
  return attn_tape_linear(p->tape, x, l.w, l.b);
}

struct attn_tape_variable *attn_pass_norm(const struct attn_pass *p, struct attn_tape_variable *x,
                                          struct attn_norm_weights w) {
  return w.scale ? attn_tape_norm(p->tape, x, w.scale, w.bias, p->c->norm_eps,
                                  p->c->norm == ATTN_RMS_NORM)
                 : x;
}

/* ---- A block ---- */

/* A sublayer f is x + f(norm(x)), or norm(x + f(x)) [Xiong20]: pre_norm before it, add_residual
 * after it. Without residual connections x is left out. */
static struct attn_tape_variable *pre_norm(const struct attn_pass *p, struct attn_tape_variable *x,
                                           struct attn_norm_weights w) {
  return p->c->norm_first ? attn_pass_norm(p, x, w) : x;
}

static struct attn_tape_variable *add_residual(const struct attn_pass *p,
                                               struct attn_tape_variable *x,
                                               struct attn_tape_variable *f,
                                               struct attn_norm_weights w) {
  struct attn_tape_variable *y = f;
  if (p->c->residual || p->c->dropout > 0)
    y = attn_tape_add(p->tape, p->c->residual ? x : NULL, f, p->c->dropout);
  return p->c->norm_first ? y : attn_pass_norm(p, y, w);
}

/* score: the block's weights of its alignment, or NULL. */
static struct attn_block_queries queries(const struct attn_pass *p, struct attn_tape_variable *q,
                                         const struct attn_tape_variable *score) {
  if (p->c->alignment == ATTN_ALIGN_GENERAL)
    return (struct attn_block_queries){attn_tape_map_heads(p->tape, q, p->c->num_heads, score),
                                       NULL};
  return (struct attn_block_queries){q, score};
}

static struct attn_tape_variable *self_attention(const struct attn_pass *p,
                                                 const struct attn_block_weights *b, int64_t block,
                                                 struct attn_tape_variable *x,
                                                 const int32_t *position_ids,
                                                 const struct attn_block_attention *attention) {
  const struct attn_model_config *c = p->c;
  struct attn_tape_variable *qkv = attn_pass_linear(p, x, b->self_in);
  const struct attn_rotary_args rotary = {
      0, c->num_heads + c->num_kv_heads, c->head_dim, position_ids, &p->n->cos, &p->n->sin};
  if (c->positions == ATTN_POSITIONS_ROTARY) attn_tape_rotary(p->tape, qkv, &rotary);
  struct attn_tape_variable *y =
      attention->self(attention->context, p, block, queries(p, qkv, b->self_score), qkv);
  return attn_pass_linear(p, y, b->self_out);
}

static struct attn_tape_variable *cross_attention(const struct attn_pass *p,
                                                  const struct attn_block_weights *b, int64_t block,
                                                  struct attn_tape_variable *x,
                                                  const struct attn_block_attention *attention) {
  const struct attn_block_queries q =
      queries(p, attn_pass_linear(p, x, b->cross_q), b->cross_score);
  return attn_pass_linear(p, attention->cross(attention->context, p, block, q), b->cross_out);
}

static struct attn_tape_variable *feed_forward(const struct attn_pass *p,
                                               const struct attn_block_weights *b,
                                               struct attn_tape_variable *x) {
  struct attn_tape_variable *inner = attn_pass_linear(p, x, b->linear1);
  return attn_pass_linear(p, attn_tape_activate(p->tape, p->c->activation, inner), b->linear2);
}

static struct attn_tape_variable *run_block(const struct attn_pass *p,
                                            const struct attn_block_weights *b, int64_t block,
                                            struct attn_tape_variable *x,
                                            const int32_t *position_ids,
                                            const struct attn_block_attention *attention) {
  struct attn_norm_weights last = attention->cross ? b->norm3 : b->norm2;
  struct attn_tape_variable *f =
      self_attention(p, b, block, pre_norm(p, x, b->norm1), position_ids, attention);
  x = add_residual(p, x, f, b->norm1);
  if (attention->cross) {
    f = cross_attention(p, b, block, pre_norm(p, x, b->norm2), attention);
    x = add_residual(p, x, f, b->norm2);
  }
  return add_residual(p, x, feed_forward(p, b, pre_norm(p, x, last)), last);
}

/* ---- Embedding, blocks, output head ---- */

struct attn_tape_variable *attn_pass_lookup(const struct attn_pass *p,
                                            const struct attn_tape_variable *table,
                                            const int32_t *tokens, int64_t n, float scale) {
  const struct attn_embedding e = {
      .n = n, .vocab_size = table->n, .width = table->width, .tokens = tokens, .scale = scale};
  return attn_tape_embed(p->tape, &e, table, NULL);
}

float attn_pass_embedding_scale(const struct attn_pass *p) {
  return p->c->scale_embedding ? sqrtf((float)p->c->d_model) : 1;
}

static struct attn_tape_variable *embed_token_types(const struct attn_pass *p,
                                                    const struct attn_token_batch *tokens,
                                                    const struct attn_tape_variable *table) {
  size_t bytes = (size_t)tokens->n * sizeof *tokens->token_type_ids;
  int32_t *zeros = tokens->token_type_ids ? NULL : attn_tape_allocate(p->tape, bytes);
  if (zeros) memset(zeros, 0, bytes);
  return attn_pass_lookup(p, table, zeros ? zeros : tokens->token_type_ids, tokens->n, 1);
}

static struct attn_tape_variable *embed(const struct attn_pass *p,
                                        const struct attn_token_batch *tokens,
                                        const struct attn_embedding_weights *w) {
  const struct attn_tape_variable *table = w->table, *positions = w->positions;
  const struct attn_embedding e = {.n = tokens->n,
                                   .vocab_size = table->n,
                                   .width = table->width,
                                   .tokens = tokens->tokens,
                                   .position_ids = tokens->position_ids,
                                   .position_mode = p->c->position_mode,
                                   .scale = attn_pass_embedding_scale(p),
                                   .position_dim = positions ? positions->width : 0};
  struct attn_tape_variable *x = attn_tape_embed(p->tape, &e, table, positions);
  if (w->token_types)
    x = attn_tape_add(p->tape, x, embed_token_types(p, tokens, w->token_types), 0);
  x = attn_pass_norm(p, x, w->norm);
  return p->c->dropout > 0 ? attn_tape_add(p->tape, NULL, x, p->c->dropout) : x;
}

struct attn_tape_variable *attn_pass_stack(const struct attn_pass *p,
                                           const struct attn_stack_weights *s,
                                           const struct attn_token_batch *tokens,
                                           const struct attn_block_attention *attention) {
  size_t mark = attn_tape_mark(p->tape);
  p->tape->drop.first_row = tokens->first_row;
  p->tape->drop.first_sequence = tokens->first_sequence;
  struct attn_tape_variable *x = embed(p, tokens, &s->embedding);
  for (int64_t n = 0; n < s->num_blocks; n++) {
    x = run_block(p, &s->blocks[n], n, x, tokens->position_ids, attention);
    x = attn_tape_keep(p->tape, mark, x);
  }
  return attn_pass_norm(p, x, s->norm);
}

struct attn_tape_variable *attn_pass_output_head(const struct attn_pass *p,
                                                 struct attn_tape_variable *hidden) {
  const struct attn_network *n = p->n;
  if (p->c->head == ATTN_HEAD_NONE) return hidden;
  if (p->c->head == ATTN_HEAD_TRANSFORM) {
    hidden = attn_pass_linear(p, hidden, n->transform);
    hidden = attn_tape_activate(p->tape, p->c->activation, hidden);
    hidden = attn_pass_norm(p, hidden, n->transform_norm);
  }
  return attn_pass_linear(p, hidden, n->output);
}
