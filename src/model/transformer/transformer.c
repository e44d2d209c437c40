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

attn_status attn_transformer_encode_alone(const struct attn_network *n,
                                          const struct attn_packed_weights *pack,
                                          struct attn_tape *tape,
                                          const struct attn_token_batch *source, int logits,
                                          struct attn_tape_variable **y, attn_error *err) {
  const struct attn_pass p = {n, &n->config, tape, pack};
  attn_status status = ATTN_OK;
  for (int measured = 0; measured < 2 && !status; measured++) {
    *y = encode(&p, source);
    if (logits) *y = attn_pass_output_head(&p, *y);
    status = measured ? attn_tape_status(tape, err) : attn_tape_reserve(tape, err);
  }
  return status;
}

struct attn_tape_variable *attn_transformer_encode(const struct attn_network *n,
                                                   struct attn_tape *tape,
                                                   const struct attn_token_batch *source) {
  return encode(&(struct attn_pass){n, &n->config, tape, NULL}, source);
}

/* memory: the encoder's hidden vectors of source; both NULL without an encoder. */
static struct attn_tape_variable *decode(const struct attn_pass *p,
                                         const struct attn_token_batch *target,
                                         struct attn_tape_variable *memory,
                                         const struct attn_token_batch *source) {
  if (attn_model_is_recurrent(p->c)) return attn_recurrent_decode(p, target, memory, NULL);
  const struct sequence_attention a = {target, source, memory, 1};
  const struct attn_block_attention attention = {attend_self, memory ? attend_cross : NULL, &a};
  return attn_pass_stack(p, &p->n->decoder, target, &attention);
}

struct attn_tape_variable *attn_transformer_forward(const struct attn_network *n,
                                                    struct attn_tape *tape,
                                                    const struct attn_token_batch *source,
                                                    const struct attn_token_batch *target) {
  const struct attn_pass p = {n, &n->config, tape, NULL};
  struct attn_tape_variable *hidden = NULL;
  if (p.c->kind != ATTN_DECODER) hidden = encode(&p, source);
  if (p.c->kind != ATTN_ENCODER) hidden = decode(&p, target, hidden, source);
  return attn_pass_output_head(&p, hidden);
}
