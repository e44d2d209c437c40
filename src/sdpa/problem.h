/* problem.h -- one validated call. */
#ifndef ATTN_SDPA_PROBLEM_H
#define ATTN_SDPA_PROBLEM_H

#include "kernel.h"
#include "tensor.h"

struct attn_paging;

struct attn_problem {
  attn_sdpa desc;         /* a copy; all zero where the caller gave NULL */
  attn_tensor q, k, v, o; /* rank 4 */
  attn_tensor mask;       /* broadcast to (B, Hq, L, S) by strides of 0; data NULL: none */
  attn_tensor lse;        /* (B, Hq, L, 1); data NULL: none */
  attn_tensor weights;    /* (B, Hq, L, S); data NULL: none */
  const struct attn_paging *paging; /* NULL: none; else k and v are (pages, H, tokens, width) */
  int64_t batch, heads_q, heads, rows, keys, width, value_width; /* B Hq H L S E Ev */
  double scale;
  const struct attn_kernel *kernel; /* NULL: the reference, for float64 */
  int32_t has_dots;                 /* the kernel's sdpa_bf16 and backward_bf16 run the call */
  int32_t workers;
  int32_t row_blocks;     /* of a task of the forward; no bits depend on it */
  size_t worker_bytes;    /* of workspace, a multiple of ATTN_PANEL_ALIGN */
  size_t workspace_bytes; /* of all workers and of split rows, alignment slack included */
};

/* Checks a call and fills problem. has_output: o is required. whole: the checked call of which it
 * is a part, with the same workers and kernel, as the environment may have changed since; NULL: it
 * is not a part. */
attn_status attn_problem_check(const struct attn_problem *whole, const attn_sdpa *desc,
                               const attn_tensor *q, const attn_tensor *k, const attn_tensor *v,
                               const attn_tensor *o, int has_output, struct attn_problem *problem,
                               attn_error *err);

/* Copies the caller's descriptor, of any struct_size, and checks what it can without tensors. */
attn_status attn_problem_copy_desc(const attn_sdpa *from, attn_sdpa *to, attn_error *err);

/* Checks what attn_sdpa_forward rejects and attn_sdpa_plan does not: empty rows with
 * ATTN_EMPTY_ERROR, a workspace that is too small. */
attn_status attn_forward_check(const struct attn_problem *problem, attn_error *err);

/* Runs a forward call that passed attn_problem_check and attn_forward_check. */
attn_status attn_problem_run(const struct attn_problem *problem, attn_error *err);

/* Memory of desc's allocator or aligned_alloc, a multiple of ATTN_PANEL_ALIGN. */
void *attn_problem_allocate(const attn_sdpa *desc, size_t bytes);
void attn_problem_release(const attn_sdpa *desc, void *memory);

#endif
