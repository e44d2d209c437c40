/* sdpa_task.h -- a call's rows and heads as tasks of the kernel. */
#ifndef ATTN_SDPA_SDPA_TASK_H
#define ATTN_SDPA_SDPA_TASK_H

#include "problem.h"

/* Floats of so many tasks of a worker, which precede their workspace. */
size_t attn_task_floats(int32_t count);

/* Sets what a task has in common: the key/value head, its pages and the call's features. */
void attn_task_set_head(const struct attn_problem *p, struct attn_sdpa_task *t, int64_t b,
                        int64_t head);

/* Sets row r of a task to query i of head h. */
void attn_task_set_row(const struct attn_problem *p, struct attn_sdpa_task *t, int r, int64_t b,
                       int64_t h, int64_t i);

/* Sets row r of a task to query i, the one after that of row r - 1 of the same head. */
void attn_task_set_next(const struct attn_problem *p, struct attn_sdpa_task *t, int r, int64_t b,
                        int64_t i);

/* The sink of head h, a logit; -inf: none. */
double attn_problem_sink(const struct attn_problem *problem, int64_t h);

#endif
