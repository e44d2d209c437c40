#include "layers.h"
#include "philox.h"

struct call {
  const struct attn_dropout *drop;
  float *y, *dx, *df;
  const float *x, *f, *dy;
  int64_t width;
};

/* What an element is multiplied with: 0, or 1 / (1 - probability). Four are drawn at once. */
struct keeper {
  const struct attn_dropout *drop;
  int64_t drawn;
  float keep[4];
};

static struct keeper keeper_of(const struct attn_dropout *drop) {
  return (struct keeper){drop, -1, {1, 1, 1, 1}};
}

static float kept(struct keeper *k, int64_t element) {
  if (k->drop->probability > 0 && element / 4 != k->drawn) {
    k->drawn = element / 4;
    const uint32_t counter[4] = {(uint32_t)k->drawn, (uint32_t)(k->drawn >> 32), 0, k->drop->use};
    uint32_t random[4], threshold = attn_dropout_threshold(k->drop->probability);
    attn_philox(k->drop->seed, counter, random);
    for (int n = 0; n < 4; n++)
      k->keep[n] = random[n] < threshold ? 0 : (float)(1 / (1 - k->drop->probability));
  }
  return k->keep[element & 3];
}

static void add(void *argument, int64_t from, int64_t to) {
  const struct call *c = argument;
  struct keeper keeper = keeper_of(c->drop);
  int64_t before = c->drop->first_row * c->width;
  for (int64_t n = from * c->width; n < to * c->width; n++)
    c->y[n] = (c->x ? c->x[n] : 0) + c->f[n] * kept(&keeper, before + n);
}

static void add_back(void *argument, int64_t from, int64_t to) {
  const struct call *c = argument;
  struct keeper keeper = keeper_of(c->drop);
  int64_t before = c->drop->first_row * c->width;
  for (int64_t n = from * c->width; n < to * c->width; n++)
    c->df[n] += c->dy[n] * kept(&keeper, before + n);
}

/* ---- The same where nothing is dropped ---- */

static void add_all(void *argument, int64_t from, int64_t to) {
  const struct call *c = argument;
  const float *x = c->x, *f = c->f;
  float *y = c->y;
  for (int64_t n = from * c->width, end = to * c->width; n < end; n++) y[n] = x[n] + f[n];
}

static void add_gradient(float *restrict sum, const float *restrict more, int64_t n) {
  for (int64_t e = 0; e < n; e++) sum[e] += more[e];
}

static void add_all_back(void *argument, int64_t from, int64_t to) {
  const struct call *c = argument;
  int64_t at = from * c->width;
  add_gradient(c->dx + at, c->dy + at, (to - from) * c->width);
}

void attn_residual_forward(const struct attn_host *host, const struct attn_dropout *drop, float *y,
                           const float *x, const float *f, int64_t n, int64_t width) {
  struct call c = {.drop = drop, .y = y, .x = x, .f = f, .width = width};
  attn_layer_rows(host, n, width, drop->probability > 0 || !x ? add : add_all, &c);
}

void attn_residual_backward(const struct attn_host *host, const struct attn_dropout *drop,
                            float *dx, float *df, const float *dy, int64_t n, int64_t width) {
  struct call c = {.drop = drop, .dx = dx, .df = df, .dy = dy, .width = width};
  if (dx) attn_layer_rows(host, n, width, add_all_back, &c);
  c.dx = df;
  attn_layer_rows(host, n, width, drop->probability > 0 ? add_back : add_all_back, &c);
}
