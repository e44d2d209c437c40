/* backward_check.c -- what a backward call accepts. */
#include <string.h>

#include "backward_call.h"
#include "descriptor.h"
#include "error.h"

attn_status attn_gradients_copy(const attn_sdpa_gradients *from, attn_sdpa_gradients *to,
                                attn_error *err) {
  return attn_descriptor_require(from, to, sizeof *to, offsetof(attn_sdpa_gradients, d_additive),
                                 "gradients", err);
}

static attn_status check_mask_gradient(struct backward_call *r, attn_error *err) {
  const attn_tensor *mask = r->p.desc.mask, *t = r->g->d_mask;
  if (!t) return ATTN_OK;
  if (!mask || mask->dtype == ATTN_BOOL)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "d_mask",
                     "d_mask must be NULL: there is no float mask");
  attn_tensor like = *mask, wide;
  for (int n = 3; n >= 0; n--)
    like.shape[n] = n >= 4 - mask->rank ? mask->shape[n - 4 + mask->rank] : 1;
  attn_status status = attn_tensor_check_result(t, "d_mask", &like, mask->rank, &wide, err);
  if (status) return status;
  for (int n = 0; n < 4; n++)
    if (wide.shape[n] == 1) wide.strides[n] = 0;
  memcpy(wide.shape, r->p.mask.shape, sizeof wide.shape);
  r->d_mask = wide;
  return ATTN_OK;
}

/* The gradients of what all rows share. */
static attn_status check_shared_gradients(const struct backward_call *r, attn_error *err) {
  const attn_tensor *sinks = r->p.desc.sinks, *additive = r->p.desc.additive;
  const attn_tensor by_head = {.rank = 4, .shape = {1, 1, 1, r->p.heads_q}};
  const attn_tensor by_vector = {.rank = 4, .shape = {1, 1, r->p.heads_q, r->p.width}};
  attn_tensor wide;
  attn_status status = attn_tensor_check_gradient(r->g->d_sinks, "d_sinks", sinks,
                                                  "there are no sinks", &by_head, &wide, err);
  if (status) return status;
  return attn_tensor_check_gradient(r->g->d_additive, "d_additive", additive, "additive is NULL",
                                    &by_vector, &wide, err);
}

static attn_status check_no_overlap(const struct backward_call *r, const attn_tensor *o,
                                    const attn_tensor *d_o, attn_error *err) {
  const attn_sdpa_gradients *g = r->g;
  const attn_sdpa *d = &r->p.desc;
  const struct attn_named_view out[] = {{g->d_q, "d_q"},         {g->d_k, "d_k"},
                                        {g->d_v, "d_v"},         {g->d_mask, "d_mask"},
                                        {g->d_sinks, "d_sinks"}, {g->d_additive, "d_additive"}};
  const struct attn_named_view in[] = {{&r->p.q, "q"},      {&r->p.k, "k"},
                                       {&r->p.v, "v"},      {o, "o"},
                                       {d_o, "d_o"},        {d->lse, "lse"},
                                       {d->mask, "mask"},   {d->alibi, "alibi"},
                                       {d->sinks, "sinks"}, {d->key_lengths, "key_lengths"},
                                       {g->d_lse, "d_lse"}, {d->additive, "additive"}};
  return attn_views_check_no_overlap(out, sizeof out / sizeof *out, in, sizeof in / sizeof *in,
                                     err);
}

attn_status attn_backward_call_check(struct backward_call *r, const attn_sdpa *desc,
                                     const attn_tensor *q, const attn_tensor *k,
                                     const attn_tensor *v, const attn_tensor *o,
                                     const attn_tensor *d_o, attn_error *err) {
  attn_status status = attn_gradients_copy(r->g, &r->own, err);
  const attn_sdpa_gradients *g = r->g = &r->own;
  if (status) return status;
  status = attn_problem_check(r->whole, desc, q, k, v, o, 1, &r->p, err);
  if (status) return status;
  if (!r->p.desc.lse)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "lse",
                     "desc->lse is NULL: the backward needs the log-sum-exp of the forward");
  if (r->p.desc.weights)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "weights", "weights must be NULL in the backward");
  attn_dtype dtype = q->dtype;
  status = attn_tensor_check_like(d_o, "d_o", &r->p.o, q->rank, dtype, &r->d_o, err);
  if (!status && g->d_q)
    status = attn_tensor_check_like(g->d_q, "d_q", &r->p.q, q->rank, dtype, &r->d_q, err);
  if (!status && g->d_k)
    status = attn_tensor_check_like(g->d_k, "d_k", &r->p.k, q->rank, dtype, &r->d_k, err);
  if (!status && g->d_v)
    status = attn_tensor_check_like(g->d_v, "d_v", &r->p.v, q->rank, dtype, &r->d_v, err);
  if (!status && g->d_lse) {
    const int64_t *n = r->p.lse.shape; /* (B, Hq, L, 1) */
    const attn_tensor like = {.rank = 4, .shape = {1, n[0], n[1], n[2]}};
    attn_tensor t = *g->d_lse;
    status =
        attn_tensor_check_like(&t, "d_lse", &like, q->rank - 1, r->p.lse.dtype, &r->d_lse, err);
    if (!status) t.shape[t.rank] = 1, t.strides[t.rank++] = 0, r->d_lse = attn_tensor_rank4(&t);
  }
  if (!status) status = check_mask_gradient(r, err);
  if (!status) status = check_shared_gradients(r, err);
  return status ? status : check_no_overlap(r, o, d_o, err);
}
