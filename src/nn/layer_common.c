#include "layer_common.h"

#include <string.h>

#include "allocator.h"
#include "error.h"
#include "threads.h"
#include "view.h"

enum { TASK_ELEMENTS = 16384 };

attn_status attn_host_check(const struct attn_host *host, attn_error *err) {
  attn_status status = attn_threads_check(host->executor, host->threads, err);
  return status ? status : attn_allocator_check(host->allocator, err);
}

/* ---- Threads and memory -------------------------------------------------- */

void attn_parallel_for(const struct attn_host *host, int64_t count,
                       void (*body)(void *argument, int64_t index, int32_t worker),
                       void *argument) {
  int32_t workers = attn_threads_workers(host->executor, host->threads);
  attn_threads_parallel_for(host->executor, workers, count, body, argument);
}

struct parallel_rows {
  void (*body)(void *argument, int64_t from, int64_t to);
  void *argument;
  int64_t n, block; /* rows of a task */
};

static void run_rows(void *argument, int64_t index, int32_t worker) {
  const struct parallel_rows *r = argument;
  int64_t from = index * r->block;
  (void)worker;
  r->body(r->argument, from, from + attn_min(r->n - from, r->block));
}

void attn_parallel_rows(const struct attn_host *host, int64_t n, int64_t cost,
                        void (*body)(void *argument, int64_t from, int64_t to), void *argument) {
  int64_t block = cost < TASK_ELEMENTS ? TASK_ELEMENTS / (cost > 0 ? cost : 1) : 1;
  struct parallel_rows r = {body, argument, n, block};
  attn_parallel_for(host, attn_divide_up(n, block), run_rows, &r);
}

void *attn_host_allocate(const struct attn_host *host, int64_t count, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow((size_t)count, size, &bytes)) return NULL;
  return attn_memory_allocate(host->allocator, ATTN_ALIGNMENT, bytes);
}

void attn_host_release(const struct attn_host *host, void *memory) {
  attn_memory_release(host->allocator, memory);
}

/* ---- Tensors ------------------------------------------------------------- */

attn_status attn_layer_check_real(const attn_tensor *x, const char *name, attn_error *err) {
  attn_status status = attn_view_check(x, name, err);
  if (!status && !attn_is_floating_point(x->dtype))
    status = attn_fail(err, ATTN_ERR_TYPE, name,
                       "%s is %s; it must be float32, float64, float16 or bfloat16", name,
                       attn_dtype_name(x->dtype));
  return status;
}

attn_status attn_layer_check_shape(const attn_tensor *t, const char *name, const int64_t *shape,
                                   int32_t rank, attn_error *err) {
  attn_status status = attn_layer_check_real(t, name, err);
  if (status) return status;
  attn_tensor wanted = {.rank = rank};
  memcpy(wanted.shape, shape, (size_t)rank * sizeof *shape);
  if (t->rank == rank && !memcmp(t->shape, shape, (size_t)rank * sizeof *shape)) return ATTN_OK;
  char got[ATTN_SHAPE_TEXT], text[ATTN_SHAPE_TEXT];
  return attn_fail(err, ATTN_ERR_SHAPE, name, "%s is %s; it must be %s", name,
                   attn_view_text(t, got), attn_view_text(&wanted, text));
}

attn_status attn_layer_check_in_place(const attn_tensor *out, const char *out_name,
                                      const attn_tensor *in, const char *name, attn_error *err) {
  if (attn_views_same(out, in) || !attn_views_overlap(out, in)) return ATTN_OK;
  return attn_fail(err, ATTN_ERR_ARGUMENT, out_name,
                   "%s overlaps %s in memory but is not the same view", out_name, name);
}
