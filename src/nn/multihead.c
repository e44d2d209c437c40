#include "layers.h"

/* One call of attn/attn.h and the tensors that its descriptor points to. */
struct sdpa_args {
  attn_sdpa desc;
  attn_tensor cu_seqlens_q, cu_seqlens_k, alibi, lse, additive;
};

/* (heads, n, width), a view of rows of all heads. */
static attn_tensor by_heads(struct attn_row_view r, int64_t heads, int64_t width) {
  return (attn_tensor){r.at, ATTN_F32, 3, {heads, r.n, width}, {width, r.step, 1}};
}

static attn_tensor starts_of(const int64_t *starts, int64_t sequences) {
  return (attn_tensor){(void *)(uintptr_t)starts, ATTN_I64, 1, {sequences + 1}, {1}};
}

static attn_tensor additive_of(const struct attn_multihead *m, const float *a) {
  return (attn_tensor){
      (void *)(uintptr_t)a, ATTN_F32, 2, {m->num_heads, m->head_dim}, {m->head_dim, 1}};
}

static void describe(const struct attn_host *host, const struct attn_multihead *m, float *lse,
                     int64_t n, struct sdpa_args *c) {
  c->cu_seqlens_q = starts_of(m->cu_seqlens_q, m->sequences);
  c->cu_seqlens_k = starts_of(m->cu_seqlens_k, m->sequences);
  c->lse = (attn_tensor){lse, ATTN_F32, 2, {m->num_heads, n}, {n, 1}};
  c->alibi = (attn_tensor){(void *)(uintptr_t)m->alibi, ATTN_F32, 1, {m->num_heads}, {1}};
  c->desc = (attn_sdpa){.struct_size = sizeof c->desc,
                        .executor = host->executor,
                        .allocator = host->allocator,
                        .threads = host->threads,
                        .flags = ATTN_SDPA_SCALE,
                        .scale = m->scale};
  c->additive = additive_of(m, m->additive);
  c->desc.lse = lse ? &c->lse : NULL, c->desc.alibi = m->alibi ? &c->alibi : NULL;
  c->desc.additive = m->additive ? &c->additive : NULL;
  if (m->causal) c->desc.flags |= ATTN_SDPA_CAUSAL;
  if (m->drop.probability <= 0) return;
  c->desc.flags |= ATTN_SDPA_DROPOUT, c->desc.dropout = m->drop.probability;
  c->desc.seed = m->drop.seed, c->desc.origin_batch = m->drop.first_sequence;
  c->desc.origin_head = (int64_t)(m->drop.use + 1) << 16; /* 0: residuals */
}

struct sdpa_tensors {
  attn_tensor q, k, v, o;
};

static struct sdpa_tensors tensors_of(const struct attn_multihead *m,
                                      const struct attn_multihead_rows *r) {
  return (struct sdpa_tensors){by_heads(r->q, m->num_heads, m->head_dim),
                               by_heads(r->k, m->num_kv_heads, m->head_dim),
                               by_heads(r->v, m->num_kv_heads, m->value_head_dim),
                               by_heads(r->o, m->num_heads, m->value_head_dim)};
}

attn_status attn_multihead_forward(const struct attn_host *host, const struct attn_multihead *m,
                                   const struct attn_multihead_rows *x, float *lse,
                                   attn_error *err) {
  struct sdpa_args c;
  const struct sdpa_tensors t = tensors_of(m, x);
  describe(host, m, lse, x->q.n, &c);
  return attn_sdpa_forward_packed(&c.desc, &t.q, &t.k, &t.v, &t.o, &c.cu_seqlens_q, &c.cu_seqlens_k,
                                  err);
}

attn_status attn_multihead_weights(const struct attn_host *host, const struct attn_multihead *m,
                                   float *weights, struct attn_row_view q, struct attn_row_view k,
                                   attn_error *err) {
  struct sdpa_args c;
  struct attn_multihead only_weights = *m;
  only_weights.drop.probability = 0, only_weights.value_head_dim = 0;
  const struct attn_multihead_rows x = {.q = q, .k = k, .v = k, .o = q};
  const struct sdpa_tensors t = tensors_of(&only_weights, &x);
  attn_tensor tw = {weights, ATTN_F32, 3, {m->num_heads, q.n, k.n}, {q.n * k.n, k.n, 1}};
  describe(host, &only_weights, NULL, q.n, &c);
  c.desc.weights = &tw;
  return attn_sdpa_forward(&c.desc, &t.q, &t.k, &t.v, &t.o, err);
}

attn_status attn_multihead_backward(const struct attn_host *host, const struct attn_multihead *m,
                                    const struct attn_multihead_rows *x,
                                    const struct attn_multihead_rows *d, float *d_additive,
                                    float *lse, attn_error *err) {
  struct sdpa_args c;
  const struct sdpa_tensors t = tensors_of(m, x), dt = tensors_of(m, d);
  const attn_tensor t_da = additive_of(m, d_additive);
  const attn_sdpa_gradients g = {.struct_size = sizeof g,
                                 .d_q = &dt.q,
                                 .d_k = &dt.k,
                                 .d_v = &dt.v,
                                 .d_additive = d_additive ? &t_da : NULL};
  describe(host, m, lse, x->q.n, &c);
  return attn_sdpa_backward_packed(&c.desc, &t.q, &t.k, &t.v, &t.o, &dt.o, &c.cu_seqlens_q,
                                   &c.cu_seqlens_k, &g, err);
}
