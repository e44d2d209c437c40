#include <string.h>

#include "clones.h"
#include "layers.h"
#include "philox.h"

struct residual_args {
  const struct attn_dropout *drop;
  float *y;
  struct attn_gradient d; /* of x or f */
  const float *x, *f, *dy;
  int64_t width;
};

/* Dropout multiplies each element by 0 or 1 / (1 - probability). Four elements share a counter of
 * Philox; the counters of a block are drawn in one loop, which is vectorized. */
enum { DRAWS = 16, BLOCK = 4 * DRAWS };

static inline void draw_factors(const struct attn_dropout *drop, int64_t block,
                                float *restrict factor) {
  const float kept = (float)(1 / (1 - drop->probability));
  const uint32_t threshold = attn_dropout_threshold(drop->probability), use = drop->use;
  const uint64_t seed = drop->seed, first = (uint64_t)block * DRAWS;
  for (int n = 0; n < DRAWS; n++) {
    const uint64_t at = first + (uint64_t)n;
    const uint32_t counter[4] = {(uint32_t)at, (uint32_t)(at >> 32), 0, use};
    uint32_t random[4];
    attn_philox(seed, counter, random);
    for (int k = 0; k < 4; k++) factor[4 * n + k] = random[k] < threshold ? 0 : kept;
  }
}

static inline int64_t block_end(int64_t element, int64_t end) {
  int64_t next = (element / BLOCK + 1) * BLOCK;
  return next < end ? next : end;
}

ATTN_CLONES
static void add(void *argument, int64_t from, int64_t to) {
  const struct residual_args *c = argument;
  const int64_t before = c->drop->first_row * c->width, end = before + to * c->width;
  float keep[BLOCK];
  for (int64_t e = before + from * c->width, next; e < end; e = next) {
    const float *x = c->x ? c->x + (e - before) : NULL, *f = c->f + (e - before);
    float *y = c->y + (e - before), *k = keep + e % BLOCK;
    next = block_end(e, end);
    draw_factors(c->drop, e / BLOCK, keep);
    for (int64_t n = 0; n < next - e; n++) y[n] = (x ? x[n] : 0) + f[n] * k[n];
  }
}

ATTN_CLONES
static void add_back(void *argument, int64_t from, int64_t to) {
  const struct residual_args *c = argument;
  const int64_t before = c->drop->first_row * c->width, end = before + to * c->width;
  float keep[BLOCK];
  for (int64_t e = before + from * c->width, next; e < end; e = next) {
    const float *dy = c->dy + (e - before), *k = keep + e % BLOCK;
    float *df = c->d.at + (e - before);
    next = block_end(e, end);
    draw_factors(c->drop, e / BLOCK, keep);
    for (int64_t n = 0; n < next - e; n++) df[n] = (c->d.adds ? df[n] : 0) + dy[n] * k[n];
  }
}

/* ---- Without dropout ---- */

ATTN_CLONES
static void add_plain(void *argument, int64_t from, int64_t to) {
  const struct residual_args *c = argument;
  const float *x = c->x, *f = c->f;
  float *y = c->y;
  for (int64_t n = from * c->width, end = to * c->width; n < end; n++) y[n] = (x ? x[n] : 0) + f[n];
}

ATTN_CLONES
static void add_plain_back(void *argument, int64_t from, int64_t to) {
  const struct residual_args *c = argument;
  const int64_t at = from * c->width, n = (to - from) * c->width;
  if (c->d.adds)
    attn_add_floats(c->d.at + at, c->dy + at, n);
  else
    memcpy(c->d.at + at, c->dy + at, (size_t)n * sizeof *c->dy);
}

void attn_residual_forward(const struct attn_host *host, const struct attn_dropout *drop, float *y,
                           const float *x, const float *f, int64_t n, int64_t width) {
  struct residual_args c = {.drop = drop, .y = y, .x = x, .f = f, .width = width};
  attn_parallel_rows(host, n, width, drop->probability > 0 ? add : add_plain, &c);
}

void attn_residual_backward(const struct attn_host *host, const struct attn_dropout *drop,
                            struct attn_gradient dx, struct attn_gradient df, const float *dy,
                            int64_t n, int64_t width) {
  struct residual_args c = {.drop = drop, .d = dx, .dy = dy, .width = width};
  if (dx.at) attn_parallel_rows(host, n, width, add_plain_back, &c);
  c.d = df;
  attn_parallel_rows(host, n, width, drop->probability > 0 ? add_back : add_plain_back, &c);
}
