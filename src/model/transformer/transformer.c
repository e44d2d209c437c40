#include "transformer.h"

#include "block.h"
#include "recurrent_pass.h"
#include "vision.h"

/* ---- Attention over whole sequences ---- */

struct sequence_attention {
  const struct attn_token_batch *queries, *keys; /* keys: of cross-attention */
  struct attn_tape_variable *memory;
  int causal;
};

static struct attn_tape_variable *attend(const struct attn_pass *p,
                                         const struct sequence_attention *a, int is_self,
                                         struct attn_block_queries q, struct attn_columns k) {
  const struct attn_model_config *c = p->c;
  const struct attn_token_batch *keys = is_self ? a->queries : a->keys;
  const struct attn_multihead m = {
      .num_heads = c->num_heads,
      .num_kv_heads = c->num_kv_heads,
      .head_dim = c->head_dim,
      .value_head_dim = c->value_head_dim,
      .sequences = a->queries->sequences,
      .cu_seqlens_q = a->queries->starts,
      .cu_seqlens_k = keys->starts,
      .causal = is_self && a->causal,
      .scale = attn_model_score_scale(c),
      .alibi = is_self && c->positions == ATTN_POSITIONS_ALIBI ? p->n->slopes : NULL};
  struct attn_columns v = {k.of, k.from + c->num_kv_heads * c->head_dim};
  return attn_tape_attend(p->tape, &m, q.additive, (struct attn_columns){q.q, 0}, k, v, c->dropout);
}

static struct attn_tape_variable *attend_self(const void *context, const struct attn_pass *p,
                                              int64_t block, struct attn_block_queries q,
                                              struct attn_tape_variable *qkv) {
  const struct sequence_attention *a = context;
  (void)block;
  return attend(p, a, 1, q, (struct attn_columns){qkv, p->c->num_heads * p->c->head_dim});
}

static struct attn_tape_variable *attend_cross(const void *context, const struct attn_pass *p,
                                               int64_t block, struct attn_block_queries q) {
  const struct sequence_attention *a = context;
  struct attn_tape_variable *kv =
      attn_pass_linear(p, a->memory, p->n->decoder.blocks[block].cross_kv);
  return attend(p, a, 0, q, (struct attn_columns){kv, 0});
}

/* ---- Encoder, decoder, both ---- */

static struct attn_tape_variable *encode(const struct attn_pass *p,
                                         const struct attn_token_batch *source) {
  if (p->c->kind == ATTN_VISION_ENCODER_DECODER) return attn_vision_encode(p, source);
  const struct sequence_attention a = {.queries = source};
  const struct attn_block_attention attention = {.self = attend_self, .context = &a};
  return attn_pass_stack(p, &p->n->encoder, source, &attention);
}

static struct attn_tape_variable *encode_to_logits(const struct attn_pass *p,
                                                   const struct attn_token_batch *source) {
  return attn_pass_output_head(p, encode(p, source));
}

static attn_status run_alone(const struct attn_pass *p,
                             struct attn_tape_variable *(*body)(const struct attn_pass *,
                                                                const struct attn_token_batch *),
                             const struct attn_token_batch *source, struct attn_tape_variable **y,
                             attn_error *err) {
  body(p, source);
  attn_status status = attn_tape_reserve(p->tape, err);
  if (status) return status;
  *y = body(p, source);
  return attn_tape_status(p->tape, err);
}

attn_status attn_transformer_encode_alone(const struct attn_network *n,
                                          const struct attn_packed_weights *pack,
                                          struct attn_tape *tape,
                                          const struct attn_token_batch *source,
                                          struct attn_tape_variable **hidden, attn_error *err) {
  return run_alone(&(struct attn_pass){n, &n->config, tape, pack}, encode, source, hidden, err);
}

attn_status attn_transformer_label_alone(const struct attn_network *n,
                                         const struct attn_packed_weights *pack,
                                         struct attn_tape *tape,
                                         const struct attn_token_batch *source,
                                         struct attn_tape_variable **logits, attn_error *err) {
  return run_alone(&(struct attn_pass){n, &n->config, tape, pack}, encode_to_logits, source, logits,
                   err);
}

struct attn_tape_variable *attn_transformer_encode(const struct attn_network *n,
                                                   struct attn_tape *tape,
                                                   const struct attn_token_batch *source) {
  return encode(&(struct attn_pass){n, &n->config, tape, NULL}, source);
}

struct attn_tape_variable *attn_transformer_decode(const struct attn_network *n,
                                                   struct attn_tape *tape,
                                                   const struct attn_token_batch *target,
                                                   struct attn_tape_variable *memory,
                                                   const struct attn_token_batch *source) {
  const struct attn_pass p = {n, &n->config, tape, NULL};
  if (attn_model_is_recurrent(p.c)) return attn_recurrent_decode(&p, target, memory, NULL);
  const struct sequence_attention a = {target, source, memory, 1};
  const struct attn_block_attention attention = {attend_self, memory ? attend_cross : NULL, &a};
  return attn_pass_stack(&p, &n->decoder, target, &attention);
}

struct attn_tape_variable *attn_transformer_project(const struct attn_network *n,
                                                    struct attn_tape *tape,
                                                    struct attn_tape_variable *hidden) {
  return attn_pass_output_head(&(struct attn_pass){n, &n->config, tape, NULL}, hidden);
}

struct attn_tape_variable *attn_transformer_forward(const struct attn_network *n,
                                                    struct attn_tape *tape,
                                                    const struct attn_token_batch *source,
                                                    const struct attn_token_batch *target) {
  enum attn_model_kind kind = n->config.kind;
  struct attn_tape_variable *hidden = NULL;
  if (kind != ATTN_DECODER) hidden = attn_transformer_encode(n, tape, source);
  if (kind != ATTN_ENCODER) hidden = attn_transformer_decode(n, tape, target, hidden, source);
  return attn_transformer_project(n, tape, hidden);
}
