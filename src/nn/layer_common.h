/* layer.h -- what every layer does alike: share out its work, check its tensors. */
#ifndef ATTN_NN_LAYER_H
#define ATTN_NN_LAYER_H

#include "attn/attn.h"

/* What the caller supplies, taken from a descriptor. */
struct attn_host {
  const attn_executor *executor;
  const attn_allocator *allocator;
  int32_t threads;
};

attn_status attn_host_check(const struct attn_host *host, attn_error *err);

/* body(argument, index, worker) for each index below count, on the host's threads or the pool. */
void attn_parallel_for(const struct attn_host *host, int64_t count,
                       void (*body)(void *argument, int64_t index, int32_t worker), void *argument);

/* body(argument, from, to) for stretches of n rows of so many elements; each row is in one. */
void attn_parallel_rows(const struct attn_host *host, int64_t n, int64_t elements,
                        void (*body)(void *argument, int64_t from, int64_t to), void *argument);

/* Items of so many elements each that are worth a task. */
int64_t attn_rows_per_task(int64_t elements);

/* NULL where there is none, or count * size is more than memory. */
void *attn_host_allocate(const struct attn_host *host, int64_t count, size_t size);
void attn_host_release(const struct attn_host *host, void *memory);

/* x is a view of a float type. */
attn_status attn_layer_check_real(const attn_tensor *x, const char *name, attn_error *err);

/* t is a view of a float type and has exactly this shape. */
attn_status attn_layer_check_shape(const attn_tensor *t, const char *name, const int64_t *shape,
                                   int32_t rank, attn_error *err);

/* out may be in itself, but not touch it otherwise. */
attn_status attn_layer_check_in_place(const attn_tensor *out, const char *out_name,
                                      const attn_tensor *in, const char *name, attn_error *err);

/* out and other have no memory in common; either may be NULL. */
attn_status attn_layer_check_apart(const attn_tensor *out, const char *out_name,
                                   const attn_tensor *other, const char *name, attn_error *err);

#endif
