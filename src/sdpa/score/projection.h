/* projection.h -- products of queries and keys with the matrices of a score function. */
#ifndef ATTN_SDPA_PROJECTION_H
#define ATTN_SDPA_PROJECTION_H

#include "problem.h"

/* out = x m, or x m^T where transposed: (B, H, N, columns) from x (B, H, N, rows) and m (1, H,
 * rows, columns). Each element is summed in double, in one order, and rounded once. p: the threads.
 */
void attn_project(const struct attn_problem *p, const attn_tensor *x, const attn_tensor *m,
                  int transposed, const attn_tensor *out);

/* d_m (1, H or 1, rows, columns) = the sum of x_i^T d_i over all i and b, and over h where d_m has
 * one head; in double, in one order. Where an element of d is 0 it adds nothing, even if x holds
 * NaN: the gradient of a hidden key. */
void attn_project_backward(const struct attn_problem *p, const attn_tensor *x, const attn_tensor *d,
                           const attn_tensor *d_m);

#endif
