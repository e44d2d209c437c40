/* scene.h -- a random call of attention with all features, its gradients, and the reference
 * results of both. */
#ifndef SCENE_H
#define SCENE_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attn/attn.h"
#include "element.h"
#include "random.h"
#include "ref.h"

enum { MOST = 1 << 19 }; /* 2 x 6 x 200 x 200 elements of a mask */

/* One call with everything; values in double, copied to the type under test. */
struct scene {
  int64_t b, hq, h, l, s, e, ev;
  attn_sdpa desc;
  double q[MOST], k[MOST], v[MOST], d_o[MOST], mask[MOST], d_lse[MOST], sinks[16], slopes[16];
  double additive[256];
  int64_t mask_shape[4];
  int has_mask, has_d_lse, additive_rank; /* 0: the dot product */
  int exact_scores;                       /* the scores count as exact */
};

/* The scene's tensors in one type. */
struct tensors {
  attn_dtype dtype;
  attn_tensor q, k, v, o, d_o, lse, weights, d_lse, mask, sinks, slopes, additive;
  attn_tensor d_q, d_k, d_v, d_mask, d_sinks, d_additive;
  attn_sdpa desc;
  attn_sdpa_gradients g;
  char *memory[24];
  int used;
};

static struct scene scene; /* too large for a stack */

static double normal(void) { return (double)(uniform() + uniform() + uniform()); }

static int64_t product(const int64_t *shape) { return shape[0] * shape[1] * shape[2] * shape[3]; }

static void fill(double *to, int64_t count, double gain) {
  for (int64_t n = 0; n < count; n++) to[n] = gain * normal();
}

static void draw_scene(struct scene *c, int largest) {
  c->desc = (attn_sdpa)ATTN_SDPA_INIT, c->additive_rank = c->exact_scores = 0;
  c->b = 1 + below(2), c->h = 1 + below(2), c->hq = c->h * (1 + below(3));
  c->l = 1 + below(largest), c->s = 1 + below(largest), c->e = 1 + below(20), c->ev = 1 + below(20);
  fill(c->q, c->b * c->hq * c->l * c->e, 1), fill(c->k, c->b * c->h * c->s * c->e, 1);
  fill(c->v, c->b * c->h * c->s * c->ev, 1), fill(c->d_o, c->b * c->hq * c->l * c->ev, 1);
  fill(c->d_lse, c->b * c->hq * c->l, 1), fill(c->sinks, 16, 1);
  for (int n = 0; n < 16; n++) c->slopes[n] = 0.2 * fabs(normal());
  attn_sdpa *d = &c->desc;
  if (chance(2)) d->flags |= ATTN_SDPA_CAUSAL, d->align = (int32_t)below(2);
  if (chance(3))
    d->flags |= ATTN_SDPA_WINDOW, d->window_left = below(30), d->window_right = below(9);
  if (chance(3)) d->flags |= ATTN_SDPA_SOFTCAP, d->softcap = 1 + fabs(normal());
  if (chance(3))
    d->flags |= ATTN_SDPA_DROPOUT, d->dropout = 0.3, d->seed = (uint64_t)below(1 << 30);
  if (chance(3)) d->flags |= ATTN_SDPA_SCALE, d->scale = 0.3 * normal();
  if (chance(3)) c->additive_rank = 1 + (int)below(2);
  fill(c->additive, 256, 0.6);
  c->has_d_lse = chance(2);
  c->has_mask = chance(2);
  const int64_t full[4] = {c->b, c->hq, c->l, c->s};
  for (int n = 0; n < 4; n++) c->mask_shape[n] = chance(3) ? 1 : full[n];
  fill(c->mask, product(c->mask_shape), 1);
  for (int64_t n = 0; n < product(c->mask_shape); n++)
    if (chance(6)) c->mask[n] = -(double)INFINITY;
}

static int has_sinks(const struct scene *c) { return (c->l + c->s) % 3 == 0; }
static int has_slopes(const struct scene *c) { return (c->l + c->s) % 4 == 0; }

static int64_t additive_heads(const struct scene *c) { return c->additive_rank == 2 ? c->hq : 1; }

static attn_tensor make(struct tensors *t, attn_dtype dtype, const double *from, int64_t n0,
                        int64_t n1, int64_t n2, int64_t n3) {
  int64_t count = n0 * n1 * n2 * n3, size = attn_real_size(dtype);
  char *data = malloc((size_t)(count * size + 1));
  t->memory[t->used++] = data;
  for (int64_t n = 0; n < count; n++)
    if (dtype == ATTN_F64)
      memcpy(data + n * 8, from ? &from[n] : &(double){0}, 8);
    else
      attn_store_f32(dtype, data + n * size, from ? (float)from[n] : 0);
  return attn_tensor_dense(dtype, data, n0, n1, n2, n3);
}

static attn_tensor last(attn_tensor t, int rank) { /* its last dimensions alone */
  for (int n = 0; n < rank; n++)
    t.shape[n] = t.shape[n + 4 - rank], t.strides[n] = t.strides[n + 4 - rank];
  t.rank = rank;
  return t;
}

static void make_tensors(struct tensors *t, const struct scene *c, attn_dtype dtype) {
  memset(t, 0, sizeof *t);
  attn_dtype wide = dtype == ATTN_F64 ? ATTN_F64 : ATTN_F32;
  t->dtype = dtype;
  t->q = make(t, dtype, c->q, c->b, c->hq, c->l, c->e),
  t->k = make(t, dtype, c->k, c->b, c->h, c->s, c->e);
  t->v = make(t, dtype, c->v, c->b, c->h, c->s, c->ev),
  t->o = make(t, dtype, NULL, c->b, c->hq, c->l, c->ev);
  t->d_o = make(t, dtype, c->d_o, c->b, c->hq, c->l, c->ev);
  t->lse = last(make(t, wide, NULL, 1, c->b, c->hq, c->l), 3);
  t->weights = make(t, dtype, NULL, c->b, c->hq, c->l, c->s);
  t->d_lse = last(make(t, wide, c->d_lse, 1, c->b, c->hq, c->l), 3);
  const int64_t *m = c->mask_shape;
  t->mask = make(t, wide, c->mask, m[0], m[1], m[2], m[3]);
  t->sinks = last(make(t, wide, c->sinks, 1, 1, 1, c->hq), 1);
  t->slopes = last(make(t, wide, c->slopes, 1, 1, 1, c->hq), 1);
  t->additive = last(make(t, wide, c->additive, 1, 1, additive_heads(c), c->e),
                     c->additive_rank == 1 ? 1 : 2);
  t->d_additive =
      last(make(t, wide, NULL, 1, 1, additive_heads(c), c->e), c->additive_rank == 1 ? 1 : 2);
  t->d_q = make(t, dtype, NULL, c->b, c->hq, c->l, c->e),
  t->d_k = make(t, dtype, NULL, c->b, c->h, c->s, c->e);
  t->d_v = make(t, dtype, NULL, c->b, c->h, c->s, c->ev);
  t->d_mask = make(t, wide, NULL, m[0], m[1], m[2], m[3]);
  t->d_sinks = last(make(t, wide, NULL, 1, 1, 1, c->hq), 1);
  t->desc = c->desc;
  t->desc.lse = &t->lse;
  if (c->has_mask) t->desc.mask = &t->mask;
  if (has_sinks(c)) t->desc.sinks = &t->sinks;
  if (c->additive_rank) t->desc.additive = &t->additive;
  if (has_slopes(c)) t->desc.alibi = &t->slopes;
  t->g = (attn_sdpa_gradients){sizeof t->g,
                               &t->d_q,
                               &t->d_k,
                               &t->d_v,
                               c->has_mask ? &t->d_mask : NULL,
                               has_sinks(c) ? &t->d_sinks : NULL,
                               c->has_d_lse ? &t->d_lse : NULL,
                               c->additive_rank ? &t->d_additive : NULL};
}

static void free_tensors(struct tensors *t) {
  while (t->used) free(t->memory[--t->used]);
}

static void forward(struct tensors *t) {
  attn_error err;
  if (attn_sdpa_forward(&t->desc, &t->q, &t->k, &t->v, &t->o, &err)) fail_msg("%s", err.message);
}

static void backward(struct tensors *t) {
  attn_error err;
  if (attn_sdpa_backward(&t->desc, &t->q, &t->k, &t->v, &t->o, &t->d_o, &t->g, &err))
    fail_msg("%s", err.message);
}

static double value(const attn_tensor *t, int64_t n) {
  return attn_load_real(t->dtype, (const char *)t->data + n * attn_real_size(t->dtype));
}

/* ---- The oracle ---- */

struct oracle {
  double d_q[MOST], d_q_size[MOST], d_k[MOST], d_k_size[MOST], d_v[MOST], d_v_size[MOST];
  double d_mask[MOST], d_mask_size[MOST], d_sinks[16], d_sinks_size[16];
  double d_additive[256], d_additive_size[256];
  double d_q_error[MOST], d_k_error[MOST], d_v_error[MOST], d_mask_own[MOST], d_sinks_own[16];
  double d_additive_error[256];
};

static struct oracle oracle;

static void clear_oracle(const struct scene *c) {
  struct oracle *r = &oracle;
  size_t e = (size_t)(c->b * c->h * c->s * c->e) * 8, ev = (size_t)(c->b * c->h * c->s * c->ev) * 8;
  size_t m = (size_t)product(c->mask_shape) * 8;
  memset(r->d_k, 0, e), memset(r->d_k_size, 0, e), memset(r->d_k_error, 0, e);
  memset(r->d_v, 0, ev), memset(r->d_v_size, 0, ev), memset(r->d_v_error, 0, ev);
  memset(r->d_mask, 0, m), memset(r->d_mask_size, 0, m), memset(r->d_mask_own, 0, m);
  memset(r->d_sinks, 0, (size_t)((char *)r->d_q_error - (char *)r->d_sinks));
  memset(r->d_sinks_own, 0, (size_t)((char *)(r + 1) - (char *)r->d_sinks_own));
}

/* Whether the forward runs on bf16 dot products. */
static int has_dots(const struct tensors *t) {
  attn_plan plan = {.struct_size = sizeof plan};
  return !attn_sdpa_plan(&t->desc, &t->q, &t->k, &t->v, NULL, &plan, NULL) &&
         !strncmp(plan.kernel, "bf16", 4);
}

static void ask_oracle(const struct scene *c, const struct tensors *t) {
  struct oracle *r = &oracle;
  clear_oracle(c);
  static double scores[4096], weights[4096], budget[4096], output[64], absolute[64], flushed[64],
      owned[64], largest[64], d_s[4096], size[4096], own[4096];
  for (int64_t n = 0; n < c->b * c->hq * c->l; n++) {
    struct attn_ref_row row = {.b = n / c->l / c->hq,
                               .h = n / c->l % c->hq,
                               .i = n % c->l,
                               .scores = scores,
                               .weights = weights,
                               .budget = budget,
                               .output = output,
                               .absolute = absolute,
                               .flushed = flushed,
                               .error = owned,
                               .largest = largest,
                               .exact_scores = c->exact_scores,
                               .has_dots = has_dots(t)};
    int64_t kv = row.b * c->h + row.h / (c->hq / c->h);
    int64_t ke = kv * c->s * c->e, kev = kv * c->s * c->ev, qe = n * c->e;
    int64_t a = c->additive_rank == 2 ? row.h * c->e : 0;
    struct attn_ref_gradients g = {.d_q = r->d_q + qe,
                                   .d_q_size = r->d_q_size + qe,
                                   .d_q_error = r->d_q_error + qe,
                                   .d_k = r->d_k + ke,
                                   .d_k_size = r->d_k_size + ke,
                                   .d_k_error = r->d_k_error + ke,
                                   .d_v = r->d_v + kev,
                                   .d_v_size = r->d_v_size + kev,
                                   .d_v_error = r->d_v_error + kev,
                                   .d_scores = d_s,
                                   .d_scores_size = size,
                                   .d_scores_error = own,
                                   .d_additive = r->d_additive + a,
                                   .d_additive_size = r->d_additive_size + a,
                                   .d_additive_error = r->d_additive_error + a};
    attn_ref_sdpa_row(&t->desc, &t->q, &t->k, &t->v, &row);
    attn_ref_sdpa_row_backward(&t->desc, &t->q, &t->k, &t->v, &t->d_o,
                               c->has_d_lse ? value(&t->d_lse, n) : 0, &row, &g);
    for (int64_t j = 0; j < c->s; j++) {
      const int64_t at[4] = {row.b, row.h, row.i, j}, *m = c->mask_shape;
      int64_t x = 0;
      for (int d = 0; d < 4; d++) x = x * m[d] + (m[d] == 1 ? 0 : at[d]);
      r->d_mask[x] += d_s[j], r->d_mask_size[x] += size[j], r->d_mask_own[x] += own[j];
    }
    r->d_sinks[row.h] += g.d_sink, r->d_sinks_size[row.h] += g.d_sink_size;
    r->d_sinks_own[row.h] += g.d_sink_error;
  }
}

static double compare(const attn_tensor *got, const double *exact, const double *size,
                      const double *own, int64_t count, int64_t depth, const char *name,
                      const char *kernel) {
  double most = 0;
  for (int64_t n = 0; n < count; n++) {
    double bound = attn_ref_bound_gradient(size[n], own[n], (double)depth);
    bound = attn_ref_bound_rounded(got->dtype, bound, exact[n]);
    double error = fabs(value(got, n) - exact[n]);
    if (!(error <= bound))
      fail_msg("%s on %s: [%d] is %.9g, not %.9g; bound %.3g", name, kernel, (int)n, value(got, n),
               exact[n], bound);
    if (error > most * bound) most = error / bound;
  }
  return most;
}

/* In how many additions at most a term of a gradient is rounded: blocks of 96 keys or 64 rows, then
 * the blocks; of additive scores one after the other. */
static int64_t depth_of_keys(const struct scene *c) {
  return c->additive_rank ? c->s : (c->s < 96 ? c->s : 96) + (c->s + 95) / 96;
}
static int64_t depth_of_rows(const struct scene *c, int additive) {
  int64_t heads = c->hq / c->h, rows = heads * c->l;
  if (additive) return rows;
  return c->l < 64 ? (rows < 64 ? rows : 64) + (rows + 63) / 64 : 64 + heads * ((c->l + 63) / 64);
}

/* The gradients of t, computed by the kernel, against those of as: t itself, or what has the scores
 * that the kernel rounds to. Returns the largest share of a bound. */
static double hold(const struct scene *c, const struct tensors *t, const struct tensors *as,
                   const char *kernel, const char *where) {
  char name[80];
  int64_t pairs = c->b * c->hq * c->l * c->s;
  struct oracle *r = &oracle;
  double worst = 0;
  ask_oracle(c, as);
  snprintf(name, sizeof name, "%s, d_q", where);
  const double all[] = {
      compare(&t->d_q, r->d_q, r->d_q_size, r->d_q_error, c->b * c->hq * c->l * c->e,
              depth_of_keys(c), name, kernel),
      compare(&t->d_k, r->d_k, r->d_k_size, r->d_k_error, c->b * c->h * c->s * c->e,
              depth_of_rows(c, c->additive_rank), "d_k", kernel),
      compare(&t->d_v, r->d_v, r->d_v_size, r->d_v_error, c->b * c->h * c->s * c->ev,
              depth_of_rows(c, 0), "d_v", kernel),
      c->has_mask
          ? compare(&t->d_mask, r->d_mask, r->d_mask_size, r->d_mask_own, product(c->mask_shape),
                    pairs / product(c->mask_shape), "d_mask", kernel)
          : 0,
      has_sinks(c) ? compare(&t->d_sinks, r->d_sinks, r->d_sinks_size, r->d_sinks_own, c->hq, 2,
                             "d_sinks", kernel)
                   : 0,
      c->additive_rank
          ? compare(&t->d_additive, r->d_additive, r->d_additive_size, r->d_additive_error,
                    additive_heads(c) * c->e, c->s + 2, "d_additive", kernel)
          : 0};
  for (int m = 0; m < 6; m++) worst = all[m] > worst ? all[m] : worst;
  return worst;
}

#endif
