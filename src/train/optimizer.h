/* optimizer.h -- AdamW [Loshchilov19] and learning rate schedules. */
#ifndef ATTN_TRAIN_OPTIMIZER_H
#define ATTN_TRAIN_OPTIMIZER_H

#include "layer_common.h"

struct attn_adamw {
  double beta1, beta2, epsilon, weight_decay;
};

/* n weights w with gradients g, first moments m and second moments v. */
struct attn_adamw_group {
  float *w, *m, *v;
  const float *g;
  int64_t n;
  int decays; /* 0: no weight decay */
};

/* Step number t = step, counted from 1. Gradients are multiplied by grad_scale first, which clips
 * them. m = b1 m + (1 - b1) g,  v = b2 v + (1 - b2) g^2 w -= learning_rate (m / (1 - b1^t) /
 * (sqrt(v / (1 - b2^t)) + epsilon) + weight_decay w) */
void attn_adamw_step(const struct attn_host *host, const struct attn_adamw *adam, int64_t step,
                     double learning_rate, double grad_scale, const struct attn_adamw_group *group);

/* The sum of squares. The order of summation does not depend on the number of threads. */
double attn_sum_of_squares(const struct attn_host *host, const float *x, int64_t n);

enum attn_lr_schedule_kind { ATTN_LR_COSINE, ATTN_LR_NOAM, ATTN_LR_CONSTANT };

/* Linear warmup over warmup_steps; then Noam decays as 1/sqrt(step) [Vaswani17 eq. 3], cosine to 0
 * at `steps`, and constant does not decay. */
struct attn_lr_schedule {
  enum attn_lr_schedule_kind kind;
  double learning_rate; /* the peak */
  int64_t warmup_steps, steps;
};
double attn_lr_schedule_rate(const struct attn_lr_schedule *schedule, int64_t step);

/* "cosine", "noam" or "constant". */
const char *attn_lr_schedule_name(enum attn_lr_schedule_kind kind);
int attn_lr_schedule_find(const char *name, enum attn_lr_schedule_kind *kind); /* 0: unknown name */

#endif
