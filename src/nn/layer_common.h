/* layer_common.h -- what the layers share: parallel loops, memory, checks of tensors. */
#ifndef ATTN_NN_LAYER_COMMON_H
#define ATTN_NN_LAYER_COMMON_H

#include "attn/attn.h"
#include "integer.h"

enum { ATTN_ALIGNMENT = 64 }; /* bytes: of all memory that layers work on, a cache line */

/* bytes, rounded up to a multiple of ATTN_ALIGNMENT. */
static inline size_t attn_align_up(size_t bytes) {
  return (bytes + ATTN_ALIGNMENT - 1) / ATTN_ALIGNMENT * ATTN_ALIGNMENT;
}

/* The caller's threads and memory, from a descriptor. */
struct attn_host {
  const attn_executor *executor;   /* NULL: the library's pool */
  const attn_allocator *allocator; /* NULL: aligned_alloc and free */
  int32_t threads;                 /* 0: as many as the executor has */
};

attn_status attn_host_check(const struct attn_host *host, attn_error *err);

/* Calls body(argument, index, worker) for each index below count, in parallel. */
void attn_parallel_for(const struct attn_host *host, int64_t count,
                       void (*body)(void *argument, int64_t index, int32_t worker), void *argument);

/* Calls body(argument, from, to) for ranges of n rows, in parallel: each row is in one range. cost:
 * elements that a row reads and writes, which sets how many rows are worth a task. */
void attn_parallel_rows(const struct attn_host *host, int64_t n, int64_t cost,
                        void (*body)(void *argument, int64_t from, int64_t to), void *argument);

/* sum += more. Inline: each caller compiles it for its instruction set. */
static inline void attn_add_floats(float *restrict sum, const float *restrict more, int64_t n) {
  for (int64_t k = 0; k < n; k++) sum[k] += more[k];
}

/* NULL on overflow of count * size and if there is not enough memory. */
void *attn_host_allocate(const struct attn_host *host, int64_t count, size_t size);
void attn_host_release(const struct attn_host *host, void *memory);

/* x is a valid view of a floating-point type. */
attn_status attn_layer_check_real(const attn_tensor *x, const char *name, attn_error *err);

/* t is a valid view of a floating-point type and of exactly this shape. */
attn_status attn_layer_check_shape(const attn_tensor *t, const char *name, const int64_t *shape,
                                   int32_t rank, attn_error *err);

/* out is the same view as in, or does not overlap it. */
attn_status attn_layer_check_in_place(const attn_tensor *out, const char *out_name,
                                      const attn_tensor *in, const char *name, attn_error *err);

#endif
