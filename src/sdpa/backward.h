/* backward.h -- the backward as part of another call. */
#ifndef ATTN_SDPA_BACKWARD_H
#define ATTN_SDPA_BACKWARD_H

#include "problem.h"

/* Copies the caller's struct, of any struct_size. NULL is an error. */
attn_status attn_gradients_copy(const attn_sdpa_gradients *from, attn_sdpa_gradients *to,
                                attn_error *err);

/* attn_sdpa_backward as a part of the call whole (NULL: not a part). adds: 1 to add to d_mask,
 * d_sinks and d_additive, 0 to clear them first. */
attn_status attn_backward_part(const struct attn_problem *whole, int adds, const attn_sdpa *desc,
                               const attn_tensor *q, const attn_tensor *k, const attn_tensor *v,
                               const attn_tensor *o, const attn_tensor *d_o,
                               const attn_sdpa_gradients *gradients, attn_error *err);

/* Sets d_mask, d_sinks and d_additive to 0. */
void attn_backward_clear(const attn_sdpa_gradients *gradients);

#endif
