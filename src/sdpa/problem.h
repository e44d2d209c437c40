/* problem.h -- one validated call: every question about it asked once, at the door. */
#ifndef ATTN_SDPA_PROBLEM_H
#define ATTN_SDPA_PROBLEM_H

#include "kernel.h"

struct attn_problem {
  attn_sdpa desc;         /* a copy; all zero where the caller gave NULL */
  attn_tensor q, k, v, o; /* rank 4 */
  attn_tensor mask;       /* broadcast to (B, Hq, L, S) by strides of 0; data NULL: none */
  attn_tensor lse;        /* (B, Hq, L, 1); data NULL: none */
  attn_tensor weights;    /* (B, Hq, L, S); data NULL: none */
  int64_t batch, heads_q, heads, rows, keys, width, value_width; /* B Hq H L S E Ev */
  double scale;
  const struct attn_kernel *kernel; /* NULL: the reference, for float64 */
  int32_t workers;
  size_t workspace_bytes; /* of all workers, alignment slack included */
};

/* Checks everything and fills problem. has_output: o must be given. */
attn_status attn_problem_check(const attn_sdpa *desc, const attn_tensor *q, const attn_tensor *k,
                               const attn_tensor *v, const attn_tensor *o, int has_output,
                               struct attn_problem *problem, attn_error *err);

/* A descriptor at this library's size, its knobs checked; from may be NULL. */
attn_status attn_problem_copy_desc(const attn_sdpa *from, attn_sdpa *to, attn_error *err);

/* Keys of sequence b. */
int64_t attn_problem_length(const struct attn_problem *problem, int64_t b);

/* The keys that row i of sequence b may see by causal, window and length: lo <= j < hi. */
void attn_problem_interval(const struct attn_problem *problem, int64_t b, int64_t i, int64_t *lo,
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

/* A tensor of the last `rank` dimensions of like, which is at rank 4; *wide is it at rank 4. */
attn_status attn_tensor_check_like(const attn_tensor *t, const char *name, const attn_tensor *like,
                                   int rank, attn_dtype dtype, attn_tensor *wide, attn_error *err);

/* By address range; NULL and what no check would let pass overlap nothing. */
int attn_tensors_overlap(const attn_tensor *a, const attn_tensor *b);

/* Points a task at a key/value head, and its row r at query i of head h (forward.c). */
void attn_problem_point_head(const struct attn_problem *p, struct attn_sdpa_task *t, int64_t b,
                             int64_t head);
void attn_problem_point_row(const struct attn_problem *p, struct attn_sdpa_task *t, int r,
                            int64_t b, int64_t h, int64_t i);

/* The caller's allocator or aligned_alloc; bytes rounded up to ATTN_PANEL_ALIGN. */
void *attn_problem_allocate(const attn_sdpa *desc, size_t bytes);
void attn_problem_release(const attn_sdpa *desc, void *memory);

/* A struct_size that a caller may give: this header's or a newer one's. */
int attn_size_is_known(size_t given, size_t ours);

/* Byte offset of element (a, b, c, d) of a rank-4 tensor. */
char *attn_tensor_at(const attn_tensor *t, int64_t a, int64_t b, int64_t c, int64_t d);

#endif
