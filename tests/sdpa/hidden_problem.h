/* hidden_problem.h -- random problems with rows and keys that are hidden, filled with zeros or with
 * poison, and the tensors of a call. */
#ifndef TEST_HIDDEN_PROBLEM_H
#define TEST_HIDDEN_PROBLEM_H

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "attn/attn.h"
#include "element.h"
#include "random.h"

enum { MOST = 1 << 19, HEADS = 6, WIDTH = 17, LISTED = 3, CANARY = 0x5A };

static int64_t pick(const int64_t *from, int n) { return from[below(n)]; }
#define PICK(...) \
  pick((const int64_t[]){__VA_ARGS__}, (int)(sizeof(int64_t[]){__VA_ARGS__} / sizeof(int64_t)))

/* ---- A random problem ------------------------------------------------------------ */

/* The function that is called. */
enum entry_point { DENSE, PACKED, PAGED, GENERAL, ADDITIVE, ENTRY_POINTS };

/* Values in double, contiguous as (H, B, N, width), so that they can also be packed. */
struct hidden_problem {
  enum entry_point entry;
  attn_dtype dtype, kv_dtype, mask_dtype, table_dtype;
  int64_t b, hq, h, l, s, e, ev, page_size;
  attn_sdpa desc; /* options other than tensors */
  int has_mask, has_lengths, has_slopes, has_sinks, additive_rank;
  int64_t mask_shape[4], lengths[2];
  double q[MOST], k[MOST], v[MOST], d_o[MOST], d_lse[MOST], mask[MOST];
  double slopes[HEADS], sinks[HEADS], additive[HEADS * WIDTH], w[WIDTH * WIDTH], u[WIDTH * WIDTH];
  /* Filled with zeros or with poison; (B, H, S) and (B, Hq, L). */
  char bad_key[2 * HEADS * 3400], bad_row[MOST];
  /* The expected visibility, computed independently: (B, Hq, L, S) and so on. */
  char sees[MOST], dirty_row[MOST], empty[MOST], dirty_key[2 * HEADS * 3400],
      seen_key[2 * HEADS * 3400];
};

static struct hidden_problem problem;

static int is_float_mask(const struct hidden_problem *c) {
  return c->has_mask && c->mask_dtype != ATTN_BOOL;
}
static int64_t key_at(const struct hidden_problem *c, int64_t b, int64_t kv, int64_t j) {
  return (b * c->h + kv) * c->s + j;
}
static int64_t mask_at(const struct hidden_problem *c, int64_t b, int64_t h, int64_t i, int64_t j) {
  const int64_t *m = c->mask_shape, at[4] = {b, h, i, j};
  int64_t x = 0;
  for (int n = 0; n < 4; n++) x = x * m[n] + (m[n] == 1 ? 0 : at[n]);
  return x;
}

static void fill(double *to, int64_t count, double gain) {
  for (int64_t n = 0; n < count; n++) to[n] = gain * (double)(uniform() + uniform());
}

static void draw_shape(struct hidden_problem *c) {
  int few = chance(4); /* one row against many keys: split keys, decoding */
  c->b = 1 + below(2), c->h = 1 + below(2), c->hq = c->h * (few ? PICK(1, 1, 3) : PICK(1, 2, 3));
  c->l = few ? PICK(1, 1, 1, 2, 5) : PICK(1, 3, 7, 8, 33, 64, 65, 70);
  c->s = few ? PICK(1, 30, 200, 3072, 3300) : PICK(1, 2, 6, 30, 95, 97, 130, 193, 200);
  c->e = PICK(1, 3, 8, 16, 17), c->ev = PICK(1, 5, 8, 12);
  if (c->dtype == ATTN_F64 && c->s > 200) c->s = 60; /* the reference is slow */
}

static void draw_mask(struct hidden_problem *c) {
  static const attn_dtype types[] = {ATTN_BOOL, ATTN_F32, ATTN_F64, ATTN_BF16};
  const int64_t full[4] = {c->b, c->hq, c->l, c->s};
  int64_t hidden = 1 + below(12), stretch = 1 + below(90);
  c->has_mask = 1, c->mask_dtype = types[below(4)];
  for (int n = 0; n < 4; n++) c->mask_shape[n] = chance(3) ? 1 : full[n];
  int64_t *m = c->mask_shape, count = m[0] * m[1] * m[2] * m[3], width = m[3];
  fill(c->mask, count, 1);
  for (int64_t n = 0; n < count; n++) {
    int64_t j = n % width, i = n / width;
    int away = hidden > 8 ? j / stretch % 2 == 0 : hidden > 6 ? i % 3 == 1 : below(hidden) == 0;
    if (away || chance(9)) c->mask[n] = -(double)INFINITY;
  }
}

static void draw_options(struct hidden_problem *c) {
  attn_sdpa *d = &c->desc;
  int plain = chance(4);
  d->struct_size = sizeof *d;
  d->empty_row = (int32_t)below(3);
  if (chance(2)) d->flags |= ATTN_SDPA_CAUSAL;
  if (chance(3))
    d->flags |= ATTN_SDPA_WINDOW, d->window_left = below(60) - 1, d->window_right = below(30) - 1;
  d->align = (int32_t)below(3);
  if (d->align == ATTN_ALIGN_OFFSET) d->flags |= ATTN_SDPA_OFFSET, d->offset = below(150) - 75;
  c->has_lengths = chance(2);
  for (int n = 0; n < 2; n++) c->lengths[n] = chance(6) ? 0 : below(c->s + 1);
  if (c->entry == PAGED) c->lengths[0] = c->s;
  if (chance(4)) d->flags |= ATTN_SDPA_SCALE, d->scale = (double)uniform();
  c->has_sinks = chance(3);
  fill(c->sinks, HEADS, 1);
  if (chance(3)) c->sinks[0] = -(double)INFINITY;
  if (plain) return;
  if (chance(2)) draw_mask(c);
  if (chance(3)) d->flags |= ATTN_SDPA_SOFTCAP, d->softcap = 0.2 + fabs((double)uniform()) * 5;
  if (chance(4))
    d->flags |= ATTN_SDPA_DROPOUT, d->dropout = 0.3, d->seed = (uint64_t)below(1 << 30);
  c->has_slopes = chance(4);
  for (int n = 0; n < HEADS; n++) c->slopes[n] = 0.1 * fabs((double)uniform());
  if (c->entry < GENERAL && chance(4)) c->additive_rank = 1 + (int)below(2);
}

/* ---- Visibility --------------------------------------------------------------- */

static int64_t length_of(const struct hidden_problem *c, int64_t b) {
  return c->has_lengths || c->entry == PAGED ? c->lengths[b] : c->s;
}

/* By position, without the mask. */
static int in_reach(const struct hidden_problem *c, int64_t b, int64_t i, int64_t j) {
  const attn_sdpa *d = &c->desc;
  int64_t length = length_of(c, b), offset = 0;
  if (d->align == ATTN_ALIGN_BOTTOM_RIGHT) offset = length - c->l;
  if (d->align == ATTN_ALIGN_OFFSET) offset = d->offset;
  int64_t ahead = j - (i + offset);
  if (j >= length || ((d->flags & ATTN_SDPA_CAUSAL) && ahead > 0)) return 0;
  if (!(d->flags & ATTN_SDPA_WINDOW)) return 1;
  return !(d->window_left >= 0 && -ahead > d->window_left) &&
         !(d->window_right >= 0 && ahead > d->window_right);
}

static int is_visible(const struct hidden_problem *c, int64_t b, int64_t h, int64_t i, int64_t j) {
  if (!in_reach(c, b, i, j)) return 0;
  return !c->has_mask || c->mask[mask_at(c, b, h, i, j)] != -(double)INFINITY;
}

/* Calls visit for each pair. */
static void each_pair(struct hidden_problem *c, void (*visit)(struct hidden_problem *, int64_t row,
                                                              int64_t key, int64_t pair)) {
  for (int64_t row = 0; row < c->b * c->hq * c->l; row++) {
    int64_t b = row / c->l / c->hq, h = row / c->l % c->hq;
    for (int64_t j = 0; j < c->s; j++)
      visit(c, row, key_at(c, b, h / (c->hq / c->h), j), row * c->s + j);
  }
}

static void see(struct hidden_problem *c, int64_t row, int64_t key, int64_t pair) {
  int64_t b = row / c->l / c->hq, h = row / c->l % c->hq;
  c->sees[pair] = (char)is_visible(c, b, h, row % c->l, pair % c->s);
  c->seen_key[key] |= c->sees[pair], c->empty[row] &= (char)!c->sees[pair];
}

static void spoil_row(struct hidden_problem *c, int64_t row, int64_t key, int64_t pair) {
  c->dirty_row[row] |= (char)(c->sees[pair] && (c->bad_key[key] || c->bad_row[row]));
}

static void spoil_key(struct hidden_problem *c, int64_t row, int64_t key, int64_t pair) {
  c->dirty_key[key] |= (char)(c->bad_key[key] || (c->sees[pair] && c->dirty_row[row]));
}

/* Rows that see no key and keys that no row sees are bad; sometimes others too. */
static void draw_bad(struct hidden_problem *c) {
  int64_t rows = c->b * c->hq * c->l, keys = c->b * c->h * c->s;
  int live_rows = chance(4), live_keys = chance(4);
  memset(c->empty, 1, (size_t)rows);
  each_pair(c, see);
  for (int64_t n = 0; n < rows; n++) c->bad_row[n] = c->empty[n] || (live_rows && chance(20));
  for (int64_t n = 0; n < keys; n++) c->bad_key[n] = !c->seen_key[n] || (live_keys && chance(20));
  each_pair(c, spoil_row), each_pair(c, spoil_key);
}

static void draw_problem(struct hidden_problem *c, enum entry_point entry, attn_dtype dtype) {
  static const attn_dtype kv[] = {ATTN_F32, ATTN_F16, ATTN_BF16, ATTN_I8};
  memset(c, 0, sizeof *c);
  c->entry = entry, c->dtype = c->kv_dtype = dtype;
  draw_shape(c), draw_options(c), draw_bad(c);
  if (entry == PAGED) c->kv_dtype = kv[below(4)], c->page_size = PICK(1, 16, 96, 100);
  c->table_dtype = chance(2) ? ATTN_I32 : ATTN_I64;
  fill(c->q, c->b * c->hq * c->l * c->e, 1), fill(c->k, c->b * c->h * c->s * c->e, 1);
  fill(c->v, c->b * c->h * c->s * c->ev, 1), fill(c->d_o, c->b * c->hq * c->l * c->ev, 1);
  fill(c->d_lse, c->b * c->hq * c->l, 1), fill(c->additive, HEADS * WIDTH, 0.6);
  fill(c->w, WIDTH * WIDTH, 0.5), fill(c->u, WIDTH * WIDTH, 0.5);
}

/* ---- The call -------------------------------------------------------------------- */

/* Outputs at rank 4, (B, H, N, width), for any rank of the call. */
struct hidden_call {
  attn_tensor q, k, v, d_o, d_lse, mask, slopes, sinks, additive, lengths, w, u, starts[2];
  attn_tensor o, lse, weights, d_q, d_k, d_v, d_mask, d_sinks, d_additive, d_w, d_u;
  attn_tensor sums, top_keys, top_weights, entropy, logit;
  attn_tensor pages_k, pages_v, scales_k, scales_v, table;
  void *memory[48];
  int used, poisoned;
};

static void *take(struct hidden_call *t, size_t bytes) {
  void *memory = t->memory[t->used++] = malloc(bytes + 64);
  assert_non_null(memory);
  memset(memory, CANARY, bytes + 64);
  return memory;
}

static double poison(attn_dtype dtype) {
  double largest = dtype == ATTN_F64 ? DBL_MAX : dtype == ATTN_F16 ? 65504 : 3.3895e38;
  double all[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, largest, -largest};
  return all[below(5)];
}

static void set(attn_dtype dtype, char *at, double x) {
  if (dtype == ATTN_BOOL)
    *at = (char)(x != -(double)INFINITY);
  else
    attn_store_real(dtype, at, x);
}

/* Shape (B, H, N, width), memory order (H, B, N, width). */
static attn_tensor output(struct hidden_call *t, attn_dtype dtype, int64_t b, int64_t h, int64_t n,
                          int64_t width) {
  size_t size = attn_dtype_size(dtype);
  return (attn_tensor){take(t, (size_t)(b * h * n * width) * size),
                       dtype,
                       4,
                       {b, h, n, width},
                       {n * width, b * n * width, width, 1}};
}

static char *at(const attn_tensor *t, int64_t a, int64_t b, int64_t c, int64_t d) {
  int64_t n = a * t->strides[0] + b * t->strides[1] + c * t->strides[2] + d * t->strides[3];
  return (char *)t->data + n * (int64_t)attn_dtype_size(t->dtype);
}

/* An input whose bad rows, (B, H, N), are 0 or poison. */
static attn_tensor input(struct hidden_call *t, attn_dtype dtype, const double *from, int64_t b,
                         int64_t heads, int64_t n, int64_t width, const char *bad) {
  attn_tensor x = output(t, dtype, b, heads, n, width);
  for (int64_t row = 0; row < b * heads * n; row++)
    for (int64_t e = 0; e < width; e++) {
      double value = from[row * width + e];
      if (bad && bad[row]) value = t->poisoned ? poison(dtype) : 0;
      set(dtype, at(&x, row / n / heads, row / n % heads, row % n, e), value);
    }
  return x;
}

/* Without the first, or without the last dimension. */
static attn_tensor front(attn_tensor t) {
  t.rank = 3;
  return t;
}
static attn_tensor back(attn_tensor t, int rank) {
  for (int n = 0; n < rank; n++)
    t.shape[n] = t.shape[n + 4 - rank], t.strides[n] = t.strides[n + 4 - rank];
  t.rank = rank;
  return t;
}

/* (B, H, N, width) as (H, B N, width). */
static attn_tensor packed(attn_tensor t) {
  const int64_t *s = t.shape;
  return (attn_tensor){
      t.data, t.dtype, 3, {s[1], s[0] * s[2], s[3]}, {s[0] * s[2] * s[3], s[3], 1}};
}

/* The view of packed pairs, (Hq, B L, B S), of each sequence with itself. */
static attn_tensor pairs_output(struct hidden_call *t, const struct hidden_problem *c,
                                attn_dtype dtype) {
  int64_t rows = c->b * c->l, keys = c->b * c->s;
  attn_tensor x = output(t, dtype, 1, c->hq, rows, keys);
  const int64_t strides[4] = {c->l * keys + c->s, rows * keys, keys, 1};
  const int64_t shape[4] = {c->b, c->hq, c->l, c->s};
  memset(x.data, 0xFF, (size_t)(c->hq * rows * keys) * attn_dtype_size(dtype)); /* NaN; true */
  memcpy(x.shape, shape, sizeof shape), memcpy(x.strides, strides, sizeof strides);
  return x;
}

/* The mask of a pair that position hides is not used: poison. */
static double mask_value(const struct hidden_call *t, const struct hidden_problem *c,
                         const int64_t i[4]) {
  const int64_t *m = c->mask_shape;
  int own = c->entry == PACKED || (m[0] == c->b && m[1] == c->hq && m[2] == c->l && m[3] == c->s);
  if (own && is_float_mask(c) && !in_reach(c, i[0], i[2], i[3]))
    return t->poisoned ? poison(c->mask_dtype == ATTN_BF16 ? ATTN_F32 : c->mask_dtype) : 0;
  return c->mask[mask_at(c, i[0], i[1], i[2], i[3])];
}

static void make_mask(struct hidden_call *t, const struct hidden_problem *c, attn_dtype wide) {
  const int64_t *m = c->mask_shape;
  attn_dtype dtype = c->mask_dtype;
  if (c->entry == PACKED)
    t->mask = pairs_output(t, c, dtype), t->d_mask = pairs_output(t, c, wide);
  else
    t->mask = attn_tensor_dense(dtype, output(t, dtype, m[0], m[1], m[2], m[3]).data, m[0], m[1],
                                m[2], m[3]),
    t->d_mask = attn_tensor_dense(wide, output(t, wide, m[0], m[1], m[2], m[3]).data, m[0], m[1],
                                  m[2], m[3]);
  const int64_t *s = t->mask.shape;
  for (int64_t n = 0; n < s[0] * s[1] * s[2] * s[3]; n++) {
    const int64_t i[4] = {n / s[3] / s[2] / s[1], n / s[3] / s[2] % s[1], n / s[3] % s[2],
                          n % s[3]};
    set(dtype, at(&t->mask, i[0], i[1], i[2], i[3]), mask_value(t, c, i));
  }
}

static int64_t columns_of(const struct hidden_problem *c) {
  return c->additive_rank == 2 ? c->hq : 1;
}

static void make_outputs(struct hidden_call *t, const struct hidden_problem *c, attn_dtype wide) {
  t->o = output(t, c->dtype, c->b, c->hq, c->l, c->ev),
  t->lse = output(t, wide, c->b, c->hq, c->l, 1);
  t->weights = output(t, c->dtype, c->b, c->hq, c->l, c->s);
  t->d_q = output(t, c->dtype, c->b, c->hq, c->l, c->e);
  t->d_k = output(t, c->dtype, c->b, c->h, c->s, c->e);
  t->d_v = output(t, c->dtype, c->b, c->h, c->s, c->ev);
  t->d_sinks = output(t, wide, 1, 1, c->hq, 1);
  t->d_additive = output(t, wide, 1, 1, columns_of(c), c->e);
  t->d_w = output(t, wide, 1, 1, c->e, c->e), t->d_u = output(t, wide, 1, 1, c->e, c->e);
  t->sums = output(t, wide, c->b, c->hq, c->s, 1);
  t->top_keys = output(t, ATTN_I64, c->b, c->hq, c->l, LISTED);
  t->top_weights = output(t, wide, c->b, c->hq, c->l, LISTED);
  t->entropy = output(t, wide, c->b, c->hq, c->l, 1),
  t->logit = output(t, wide, c->b, c->hq, c->l, 1);
}

/* The gradient of the log-sum-exp of an empty row reaches the sink. It is hidden if the row has no
 * sink or ATTN_EMPTY_NAN. */
static void make_d_lse(struct hidden_call *t, struct hidden_problem *c, attn_dtype wide) {
  char *bad = take(t, (size_t)(c->b * c->hq * c->l));
  for (int64_t n = 0; n < c->b * c->hq * c->l; n++) {
    int sink = c->has_sinks && c->sinks[n / c->l % c->hq] > -(double)INFINITY;
    bad[n] = c->bad_row[n] && !(c->empty[n] && sink && c->desc.empty_row != ATTN_EMPTY_NAN);
  }
  t->d_lse = input(t, wide, c->d_lse, c->b, c->hq, c->l, 1, bad);
}

static void make_call(struct hidden_call *t, struct hidden_problem *c, int poisoned) {
  attn_dtype wide = c->dtype == ATTN_F64 ? ATTN_F64 : ATTN_F32;
  memset(t, 0, sizeof *t);
  t->poisoned = poisoned;
  t->q = input(t, c->dtype, c->q, c->b, c->hq, c->l, c->e, c->bad_row);
  t->d_o = input(t, c->dtype, c->d_o, c->b, c->hq, c->l, c->ev, c->bad_row);
  t->k = input(t, c->dtype, c->k, c->b, c->h, c->s, c->e, c->bad_key);
  t->v = input(t, c->dtype, c->v, c->b, c->h, c->s, c->ev, c->bad_key);
  make_d_lse(t, c, wide);
  if (c->has_mask) make_mask(t, c, wide);
  t->slopes = back(input(t, wide, c->slopes, 1, 1, 1, c->hq, NULL), 1);
  t->sinks = back(input(t, wide, c->sinks, 1, 1, 1, c->hq, NULL), 1);
  t->additive = input(t, wide, c->additive, 1, 1, columns_of(c), c->e, NULL);
  t->additive = back(t->additive, c->additive_rank == 2 ? 2 : 1);
  t->w = back(input(t, wide, c->w, 1, 1, c->e, c->e, NULL), 2);
  t->u = back(input(t, wide, c->u, 1, 1, c->e, c->e, NULL), 2);
  t->lengths = (attn_tensor){c->lengths, ATTN_I64, 1, {c->b}, {1}};
  make_outputs(t, c, wide);
}

static void free_call(struct hidden_call *t) {
  while (t->used) free(t->memory[--t->used]);
}

#endif
