#include "optimizer.h"

#include <math.h>
#include <string.h>

#include "clones.h"

struct adamw_update {
  const struct attn_adamw_group *group;
  float beta1, beta2, epsilon, step_size, decay, grad_scale, v_correction;
};

ATTN_CLONES
static void update_weights(void *argument, int64_t from, int64_t to) {
  /* A local copy, which cannot alias w: clang vectorizes the loop only then. */
  const struct adamw_update *update = argument, copy = *update, *c = &copy;
  float *restrict w = c->group->w, *restrict m = c->group->m, *restrict v = c->group->v;
  const float *restrict g = c->group->g;
  for (int64_t n = from; n < to; n++) {
    float gradient = g[n] * c->grad_scale;
    m[n] = c->beta1 * m[n] + (1 - c->beta1) * gradient;
    v[n] = c->beta2 * v[n] + (1 - c->beta2) * gradient * gradient;
    w[n] -= c->step_size * m[n] / (sqrtf(v[n] * c->v_correction) + c->epsilon) + c->decay * w[n];
  }
}

void attn_adamw_step(const struct attn_host *host, const struct attn_adamw *adam, int64_t step,
                     double learning_rate, double grad_scale,
                     const struct attn_adamw_group *group) {
  double t = (double)step;
  struct adamw_update u = {.group = group,
                           .beta1 = (float)adam->beta1,
                           .beta2 = (float)adam->beta2,
                           .epsilon = (float)adam->epsilon,
                           .step_size = (float)(learning_rate / (1 - pow(adam->beta1, t))),
                           .decay = (float)(group->decays ? learning_rate * adam->weight_decay : 0),
                           .grad_scale = (float)grad_scale,
                           .v_correction = (float)(1 / (1 - pow(adam->beta2, t)))};
  attn_parallel_rows(host, group->n, 4, update_weights, &u);
}

enum { SUM_CHUNKS = 64 };

struct square_sum {
  const float *x;
  int64_t n, chunk;
  double sums[SUM_CHUNKS];
};

static double sum_squares(const float *x, int64_t n) {
  double sum[8] = {0};
  int64_t at = 0;
  for (; at + 8 <= n; at += 8)
    for (int k = 0; k < 8; k++) sum[k] += (double)x[at + k] * (double)x[at + k];
  for (; at < n; at++) sum[0] += (double)x[at] * (double)x[at];
  return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}

static void sum_chunk(void *argument, int64_t index, int32_t worker) {
  struct square_sum *s = argument;
  int64_t from = index * s->chunk, left = s->n - from;
  (void)worker;
  if (left > 0) s->sums[index] = sum_squares(s->x + from, left < s->chunk ? left : s->chunk);
}

double attn_sum_of_squares(const struct attn_host *host, const float *x, int64_t n) {
  struct square_sum s = {.x = x, .n = n, .chunk = n / SUM_CHUNKS + 1};
  double sum = 0;
  attn_parallel_for(host, SUM_CHUNKS, sum_chunk, &s);
  for (int k = 0; k < SUM_CHUNKS; k++) sum += s.sums[k];
  return sum;
}

double attn_lr_schedule_rate(const struct attn_lr_schedule *s, int64_t step) {
  const double pi = 3.14159265358979323846;
  double t = (double)step, warm = s->warmup_steps > 0 ? (double)s->warmup_steps : 1;
  if (t < warm) return s->learning_rate * t / warm;
  if (s->kind == ATTN_LR_NOAM) return s->learning_rate * sqrt(warm / t);
  if (s->kind == ATTN_LR_CONSTANT) return s->learning_rate;
  double left = ((double)s->steps - t) / fmax((double)s->steps - warm, 1);
  return s->learning_rate * (left > 0 ? 0.5 - 0.5 * cos(pi * left) : 0);
}

static const char *const schedules[] = {"cosine", "noam", "constant"}; /* in the enum's order */

const char *attn_lr_schedule_name(enum attn_lr_schedule_kind kind) { return schedules[kind]; }

int attn_lr_schedule_find(const char *name, enum attn_lr_schedule_kind *kind) {
  for (int n = 0; n < (int)(sizeof schedules / sizeof *schedules); n++)
    if (!strcmp(name, schedules[n])) return *kind = (enum attn_lr_schedule_kind)n, 1;
  return 0;
}
