/* problem.h -- one validated call: every question about it asked once, at the door. */
#ifndef ATTN_SDPA_PROBLEM_H
#define ATTN_SDPA_PROBLEM_H

#include <stdatomic.h>

#include "kernel.h"
#include "view.h"

/* Keys and values in pages, as attn_pages has them; sequence b is row rows[b] of table and lengths
 * (rows NULL: row b). */
struct attn_paging {
  attn_tensor k_scales, v_scales, table, lengths;
  int64_t tokens; /* of a page */
  const int64_t *rows;
};

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
  int32_t workers;
  size_t worker_bytes;    /* of workspace, a multiple of ATTN_PANEL_ALIGN */
  size_t workspace_bytes; /* of all workers and of split rows, alignment slack included */
};

/* Checks everything and fills problem. has_output: o must be given. */
attn_status attn_problem_check(const attn_sdpa *desc, const attn_tensor *q, const attn_tensor *k,
                               const attn_tensor *v, const attn_tensor *o, int has_output,
                               struct attn_problem *problem, attn_error *err);

/* The same; a part of a call that was checked has the workers and the kernel of the whole, for the
 * machine may have others by now. NULL: it is no part. */
attn_status attn_problem_check_part(const struct attn_problem *whole, const attn_sdpa *desc,
                                    const attn_tensor *q, const attn_tensor *k,
                                    const attn_tensor *v, const attn_tensor *o, int has_output,
                                    struct attn_problem *problem, attn_error *err);

/* The caller's descriptor, of whatever size it is, checked as far as it goes alone. */
attn_status attn_problem_copy_desc(const attn_sdpa *from, attn_sdpa *to, attn_error *err);

/* Likewise where gradients go; NULL is refused. */
attn_status attn_gradients_copy(const attn_sdpa_gradients *from, attn_sdpa_gradients *to,
                                attn_error *err);

/* What only a call refuses, not its plan: empty rows, a workspace that is too small. */
attn_status attn_forward_check(const struct attn_problem *problem, attn_error *err);

/* All that attn_sdpa_backward may refuse; fills problem. */
attn_status attn_backward_check(const attn_sdpa *desc, const attn_tensor *q, const attn_tensor *k,
                                const attn_tensor *v, const attn_tensor *o, const attn_tensor *d_o,
                                const attn_sdpa_gradients *gradients, struct attn_problem *problem,
                                attn_error *err);

/* attn_sdpa_backward as part of a call (NULL: of none); adds: to what stands in d_mask, d_sinks
 * and d_additive, else these are cleared first. */
attn_status attn_backward_part(const struct attn_problem *whole, int adds, const attn_sdpa *desc,
                               const attn_tensor *q, const attn_tensor *k, const attn_tensor *v,
                               const attn_tensor *o, const attn_tensor *d_o,
                               const attn_sdpa_gradients *gradients, attn_error *err);

/* Zeros in d_mask, d_sinks and d_additive. */
void attn_backward_clear(const attn_sdpa_gradients *gradients);

/* Runs a forward call that attn_problem_check and attn_forward_check let pass. */
attn_status attn_problem_run(const struct attn_problem *problem, attn_error *err);

/* The checks of a call whose keys lie in pages: count of the table's rows, those named; -1: all. */
attn_status attn_paged_check(const attn_sdpa *desc, const attn_tensor *q, const attn_pages *paged,
                             const int64_t *rows, int64_t count, const attn_tensor *o,
                             struct attn_paging *paging, struct attn_problem *problem,
                             attn_error *err);

/* Where a head's pages lie, for the kernel; tokens 0 where there are none. */
void attn_paging_set_pages(const struct attn_problem *problem, struct attn_task_pages *pages,
                           int64_t b, int64_t head);

/* Key j of a row of the table, in pages of k or v. */
double attn_paging_element(const struct attn_paging *paging, const attn_tensor *pages,
                           const attn_tensor *scales, int64_t row, int64_t head, int64_t j,
                           int64_t e);

/* Element (b, head, j, e) of v in pages. */
double attn_paging_value(const struct attn_problem *problem, int64_t b, int64_t head, int64_t j,
                         int64_t e);

/* Element (a, b) of int32 or int64 of rank 1 or 2. */
int64_t attn_tensor_integer(const attn_tensor *t, int64_t a, int64_t b);

/* S of sequence b: what its bits may depend on. */
int64_t attn_problem_keys(const struct attn_problem *problem, int64_t b);

/* How many of them count: less where key_lengths says so. */
int64_t attn_problem_length(const struct attn_problem *problem, int64_t b);

/* The keys that row i of sequence b may see by causal, window and length: lo <= j < hi. */
void attn_problem_key_range(const struct attn_problem *problem, int64_t b, int64_t i, int64_t *lo,
                            int64_t *hi);

/* Where query i of sequence b stands among the keys: i + offset. */
int64_t attn_problem_position(const struct attn_problem *problem, int64_t b, int64_t i);

/* Of a tensor (Hq) or (B, Hq). */
double attn_problem_per_head(const attn_tensor *t, int64_t b, int64_t h);

/* The kernel that the machine and ATTN_ISA select; NULL and ATTN_ERR_CPU where they cannot. */
const struct attn_kernel *attn_kernel_choose(attn_error *err);

/* Runs body over 0 .. count-1 on the caller's executor or the library's pool. */
void attn_problem_parallel(const struct attn_problem *problem, int64_t count,
                           void (*body)(void *argument, int64_t index, int32_t worker),
                           void *argument);

/* How rows become tasks. A rule of L and the group alone: bits must not depend on batch or
 * threads. Long sequences: blocks within a head. Short ones (decoding): the rows of all query
 * heads that share a key/value head stand in one block, so that k and v are read once. */
struct attn_partition {
  int64_t group; /* query heads of a key/value head */
  int64_t units; /* stretches of rows in a group */
  int64_t unit_rows;
  int64_t blocks; /* of a unit */
};
struct attn_partition attn_problem_partition(const struct attn_problem *problem);

/* How far a call has come, told to the caller now and then by one thread at a time; stop: the
 * caller asked for it, and tasks that have not begun need not. */
struct attn_progress {
  _Atomic int64_t done;
  int64_t total;
  _Atomic int stop;
  atomic_flag telling;
};
#define ATTN_PROGRESS_INIT \
  { .telling = ATOMIC_FLAG_INIT }

void attn_progress_report(struct attn_progress *progress, const attn_sdpa *desc, int64_t more);

/* ATTN_OK, or ATTN_ERR_INTERRUPTED. */
attn_status attn_progress_end(const struct attn_progress *progress, attn_error *err);

/* Split rows (split.c): few queries against many keys, the keys in stretches that are computed side
 * by side and merged in order. How many stretches is a rule of the shape alone; 1: not split. */
int64_t attn_split_count(const struct attn_problem *problem, int64_t keys);

/* The most of any sequence. */
int64_t attn_split_max(const struct attn_problem *problem);

/* Keys of each stretch but the last. */
int64_t attn_split_keys(int64_t keys, int64_t count);

/* Floats of a row's stretch. */
int64_t attn_split_floats(const struct attn_problem *problem);

/* Writes row i from its stretches, attn_split_floats apart. Returns 1 where it saw no key. */
int attn_split_merge(const struct attn_problem *problem, const float *partial, int64_t count,
                     int64_t b, int64_t h, int64_t i);

/* A tensor of the last `rank` dimensions of like, which is at rank 4; *wide is it at rank 4. */
attn_status attn_tensor_check_like(const attn_tensor *t, const char *name, const attn_tensor *like,
                                   int rank, attn_dtype dtype, attn_tensor *wide, attn_error *err);

/* The same of a result that is of either: float64, or else float32. NULL: not wanted. */
attn_status attn_tensor_check_result(const attn_tensor *t, const char *name,
                                     const attn_tensor *like, int rank, attn_tensor *wide,
                                     attn_error *err);

/* At rank 4, of harmless strides and never without a place, with 1s in front. */
attn_tensor attn_tensor_rank4(const attn_tensor *t);

/* Points a task at a key/value head, and its row r at query i of head h (forward.c). */
void attn_task_set_head(const struct attn_problem *p, struct attn_sdpa_task *t, int64_t b,
                        int64_t head);
void attn_task_set_row(const struct attn_problem *p, struct attn_sdpa_task *t, int r, int64_t b,
                       int64_t h, int64_t i);

/* May row i see key j, as far as the mask says? There must be one (forward.c). */
int attn_problem_mask_allows(const struct attn_problem *problem, int64_t b, int64_t h, int64_t i,
                             int64_t j);

/* Does row i see no key (forward.c)? */
int attn_problem_row_is_empty(const struct attn_problem *problem, int64_t b, int64_t h, int64_t i);

/* ATTN_ERR_EMPTY_ROW where some row sees no key (forward.c). */
attn_status attn_problem_reject_empty_rows(const struct attn_problem *problem, attn_error *err);

/* The caller's allocator or aligned_alloc; bytes rounded up to ATTN_PANEL_ALIGN. */
void *attn_problem_allocate(const attn_sdpa *desc, size_t bytes);
void attn_problem_release(const attn_sdpa *desc, void *memory);

/* Element (a, b, c, d) of a rank-4 tensor. */
static inline char *attn_tensor_at(const attn_tensor *t, int64_t a, int64_t b, int64_t c,
                                   int64_t d) {
  return attn_view_at(
      t, a * t->strides[0] + b * t->strides[1] + c * t->strides[2] + d * t->strides[3]);
}

#endif
