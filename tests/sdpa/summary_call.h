/* summary_call.h -- a call of attn_sdpa_summarize with memory of its own, for the tests of it. */
#ifndef TEST_SUMMARY_CALL_H
#define TEST_SUMMARY_CALL_H

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

enum { CANARY = 0x5A, SPACE = 1 << 20 };

/* ---- A call and its results ----------------------------------------------------- */

enum { SUMS, TOP_KEYS, TOP_WEIGHTS, ENTROPY, LOGIT, OUTPUTS };

static char space[OUTPUTS][SPACE];

struct call {
  int64_t b, hq, h, l, s, e, k;
  attn_sdpa desc;
  attn_tensor tq, tk, mask, lengths, alibi, sinks, additive;
  attn_tensor out[OUTPUTS]; /* dense or with gaps, in space */
  attn_sdpa_summary summary;
  float slopes[16], logits[16], vectors[16 * 64];
  int64_t length[4];
  char *memory[3];
};

static inline void set(const attn_tensor *t, int64_t n, double value) {
  char *at = (char *)t->data + n * (int64_t)attn_dtype_size(t->dtype);
  if (t->dtype == ATTN_F64)
    memcpy(at, &value, 8);
  else if (t->dtype == ATTN_BOOL)
    *at = value != 0;
  else
    attn_store_f32(t->dtype, at, (float)value);
}

static inline double at(const attn_tensor *t, int64_t n) {
  return attn_load_real(t->dtype, (const char *)t->data + n * attn_real_size(t->dtype));
}

static inline attn_tensor make(char **memory, attn_dtype dtype, int64_t n0, int64_t n1, int64_t n2,
                               int64_t n3, double gain) {
  int64_t count = n0 * n1 * n2 * n3;
  *memory = malloc((size_t)count * attn_dtype_size(dtype) + 1);
  attn_tensor t = attn_tensor_dense(dtype, *memory, n0, n1, n2, n3);
  for (int64_t n = 0; n < count; n++) set(&t, n, gain * (double)(uniform() + uniform()));
  return t;
}

/* Its last `rank` dimensions; n elements of space apart. */
static inline attn_tensor output(char *to, attn_dtype dtype, const int64_t *shape, int rank,
                                 int64_t apart) {
  attn_tensor t = {to, dtype, rank, {0}, {0}};
  for (int n = rank - 1; n >= 0; n--) {
    t.shape[n] = shape[n], t.strides[n] = apart;
    apart *= shape[n];
  }
  assert_true(apart * 8 < SPACE);
  return t;
}

static inline void point(struct call *c, char (*to)[SPACE], int spread) {
  const int64_t sums[3] = {c->b, c->hq, c->s}, rows[3] = {c->b, c->hq, c->l},
                top[4] = {c->b, c->hq, c->l, c->k};
  attn_dtype real = spread && chance(2) ? ATTN_F32 : ATTN_F64;
  c->out[SUMS] = output(to[SUMS], real, sums, 3, 1 + spread);
  c->out[TOP_KEYS] = output(to[TOP_KEYS], spread ? ATTN_I32 : ATTN_I64, top, 4, 1 + spread);
  c->out[TOP_WEIGHTS] = output(to[TOP_WEIGHTS], real, top, 4, 1 + spread);
  c->out[ENTROPY] = output(to[ENTROPY], real, rows, 3, 1 + spread);
  c->out[LOGIT] = output(to[LOGIT], real, rows, 3, 1 + spread);
  attn_tensor *o = c->out;
  c->summary = (attn_sdpa_summary){sizeof c->summary, &o[SUMS],    &o[TOP_KEYS],
                                   &o[TOP_WEIGHTS],   &o[ENTROPY], &o[LOGIT]};
  memset(to, CANARY, sizeof(char[OUTPUTS][SPACE]));
}

static inline void shape(struct call *c, int64_t b, int64_t h, int64_t group, int64_t l, int64_t s,
                         int64_t e, int64_t k) {
  memset(c, 0, sizeof *c);
  c->desc.struct_size = sizeof c->desc;
  c->b = b, c->h = h, c->hq = h * group, c->l = l, c->s = s, c->e = e, c->k = k;
}

static inline void inputs(struct call *c, attn_dtype dtype, double gain) {
  c->tq = make(&c->memory[0], dtype, c->b, c->hq, c->l, c->e, gain);
  c->tk = make(&c->memory[1], dtype, c->b, c->h, c->s, c->e, 1);
}

static inline void release(struct call *c) {
  for (int n = 0; n < 3; n++) free(c->memory[n]);
}

static inline void run(struct call *c) {
  attn_error err;
  if (attn_sdpa_summarize(&c->desc, &c->tq, &c->tk, &c->summary, &err)) fail_msg("%s", err.message);
}

/* Element n of row (b, h, i), or of column sums. */
static inline int64_t place(const attn_tensor *t, int64_t b, int64_t h, int64_t i, int64_t n) {
  return b * t->strides[0] + h * t->strides[1] + i * t->strides[2] +
         (t->rank == 4 ? n * t->strides[3] : 0);
}

static inline double real_of(const struct call *c, int out, int64_t b, int64_t h, int64_t i,
                             int64_t n) {
  return at(&c->out[out], place(&c->out[out], b, h, i, n));
}

static inline int64_t key_of(const struct call *c, int64_t b, int64_t h, int64_t i, int64_t n) {
  const attn_tensor *t = &c->out[TOP_KEYS];
  int64_t wide, place_of = place(t, b, h, i, n);
  int32_t narrow;
  if (t->dtype == ATTN_I32)
    return memcpy(&narrow, (char *)t->data + place_of * 4, 4), (int64_t)narrow;
  return memcpy(&wide, (char *)t->data + place_of * 8, 8), wide;
}

static inline int is_canary(const char *from, size_t bytes) {
  return !bytes || (*from == CANARY && !memcmp(from, from + 1, bytes - 1));
}

/* The memory between the elements still holds the canary. */
static inline void only_elements_were_written(struct call *c) {
  for (int n = 0; n < OUTPUTS; n++) {
    attn_tensor *t = &c->out[n];
    size_t size = attn_dtype_size(t->dtype), apart = (size_t)t->strides[t->rank - 1], count = 1;
    for (int d = 0; d < t->rank; d++) count *= (size_t)t->shape[d];
    for (size_t m = 0; m < count; m++)
      if (!is_canary(space[n] + (m * apart + 1) * size, (apart - 1) * size))
        fail_msg("bytes after element %d of output %d were written", (int)m, n);
    if (!is_canary(space[n] + count * apart * size, SPACE - count * apart * size))
      fail_msg("bytes after output %d were written", n);
  }
}

#endif
