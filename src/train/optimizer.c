#include "optimizer.h"

#include <math.h>
#include <string.h>

#include "clones.h"

struct call {
  const struct attn_adamw_group *all;
  float beta1, beta2, epsilon, rate, shrink, scale, correct_v;
};

ATTN_CLONES
static void update(void *argument, int64_t from, int64_t to) {
  /* A copy, which no store to w can change: clang makes vectors of the loop only then. */
  const struct call *call = argument, copy = *call, *c = &copy;
  float *restrict w = c->all->w, *restrict m = c->all->m, *restrict v = c->all->v;
  const float *restrict g = c->all->g;
  for (int64_t n = from; n < to; n++) {
    float gradient = g[n] * c->scale;
    m[n] = c->beta1 * m[n] + (1 - c->beta1) * gradient;
    v[n] = c->beta2 * v[n] + (1 - c->beta2) * gradient * gradient;
    w[n] -= c->rate * m[n] / (sqrtf(v[n] * c->correct_v) + c->epsilon) + c->shrink * w[n];
  }
}

void attn_adamw_step(const struct attn_host *host, const struct attn_adamw *adam, int64_t step,
                     double rate, double scale, const struct attn_adamw_group *numbers) {
  double t = (double)step;
  struct call c = {.all = numbers,
                   .beta1 = (float)adam->beta1,
                   .beta2 = (float)adam->beta2,
                   .epsilon = (float)adam->epsilon,
                   .rate = (float)(rate / (1 - pow(adam->beta1, t))),
                   .shrink = (float)(numbers->decays ? rate * adam->decay : 0),
                   .scale = (float)scale,
                   .correct_v = (float)(1 / (1 - pow(adam->beta2, t)))};
  attn_layer_rows(host, numbers->n, 4, update, &c);
}

enum { PIECES = 64 };

struct squares {
  const float *x;
  int64_t n, piece;
  double sums[PIECES];
};

static double squares_of(const float *x, int64_t n) {
  double sum[8] = {0};
  int64_t at = 0;
  for (; at + 8 <= n; at += 8)
    for (int k = 0; k < 8; k++) sum[k] += (double)x[at + k] * (double)x[at + k];
  for (; at < n; at++) sum[0] += (double)x[at] * (double)x[at];
  return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}

static void sum_piece(void *argument, int64_t index, int32_t worker) {
  struct squares *s = argument;
  int64_t from = index * s->piece, left = s->n - from;
  (void)worker;
  if (left > 0) s->sums[index] = squares_of(s->x + from, left < s->piece ? left : s->piece);
}

double attn_sum_of_squares(const struct attn_host *host, const float *x, int64_t n) {
  struct squares s = {.x = x, .n = n, .piece = n / PIECES + 1};
  double sum = 0;
  attn_layer_run(host, PIECES, sum_piece, &s);
  for (int k = 0; k < PIECES; k++) sum += s.sums[k];
  return sum;
}

double attn_lr_schedule_rate(const struct attn_lr_schedule *s, int64_t step) {
  const double pi = 3.14159265358979323846;
  double t = (double)step, warm = s->warm_up > 0 ? (double)s->warm_up : 1;
  if (t < warm) return s->rate * t / warm;
  if (s->kind == ATTN_LR_NOAM) return s->rate * sqrt(warm / t);
  if (s->kind == ATTN_LR_CONSTANT) return s->rate;
  double left = ((double)s->steps - t) / fmax((double)s->steps - warm, 1);
  return s->rate * (left > 0 ? 0.5 - 0.5 * cos(pi * left) : 0);
}

static const char *const schedules[] = {"cosine", "noam", "constant"}; /* in the enum's order */

const char *attn_lr_schedule_name(enum attn_lr_schedule_kind kind) { return schedules[kind]; }

int attn_lr_schedule_find(const char *name, enum attn_lr_schedule_kind *kind) {
  for (int n = 0; n < (int)(sizeof schedules / sizeof *schedules); n++)
    if (!strcmp(name, schedules[n])) return *kind = (enum attn_lr_schedule_kind)n, 1;
  return 0;
}
