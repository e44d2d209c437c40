/* optimizer.h -- AdamW [Loshchilov19] and the schedules of its rate. */
#ifndef ATTN_TRAIN_OPTIMIZER_H
#define ATTN_TRAIN_OPTIMIZER_H

#include "layer.h"

struct attn_adamw {
  double beta1, beta2, epsilon, decay;
};

/* Numbers that are updated alike, and their two moments. */
struct attn_adamw_group {
  float *w, *m, *v;
  const float *g;
  int64_t n;
  int decays;
};

/* Step number step, from 1. The gradients count times scale, which is what clipping makes of them.
 *     m = b1 m + (1 - b1) g,  v = b2 v + (1 - b2) g^2
 *     w -= rate (m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + epsilon) + decay w) */
void attn_adamw_step(const struct attn_host *host, const struct attn_adamw *adam, int64_t step,
                     double rate, double scale, const struct attn_adamw_group *numbers);

/* The sum of squares, always in the same order, whatever the number of threads. */
double attn_sum_of_squares(const struct attn_host *host, const float *x, int64_t n);

enum attn_lr_schedule_kind { ATTN_LR_COSINE, ATTN_LR_NOAM, ATTN_LR_CONSTANT };

/* All rise linearly over warm_up steps. Noam then falls as 1/sqrt(step) [Vaswani17 eq. 3]; cosine
 * falls to 0 at the last of `steps`. */
struct attn_lr_schedule {
  enum attn_lr_schedule_kind kind;
  double rate; /* the highest */
  int64_t warm_up, steps;
};
double attn_lr_schedule_rate(const struct attn_lr_schedule *schedule, int64_t step);

/* "cosine", "noam", "constant", and back; 0 where there is none of that name. */
const char *attn_lr_schedule_name(enum attn_lr_schedule_kind kind);
int attn_lr_schedule_find(const char *name, enum attn_lr_schedule_kind *kind);

#endif
