#include "panel_product.h"

#include <string.h>

#include "error.h"
#include "threads.h"

const struct attn_gemm_kernel *attn_panels_kernel(int64_t columns) {
  const struct attn_gemm_kernel *best = attn_gemm_best(), *narrow;
  for (int n = 1; (narrow = attn_gemm_entry(n)) && narrow != best; n++)
    if (columns <= narrow->columns && attn_gemm_runs(narrow)) return narrow;
  return best;
}

void attn_panels_pack(const struct attn_gemm_kernel *g, float *to, const float *b, int64_t depth,
                      int64_t columns) {
  for (int64_t j = 0; j < columns; j += g->columns, to += depth * g->columns) {
    const size_t count = (size_t)attn_min(columns - j, g->columns), all = (size_t)g->columns;
    for (int64_t k = 0; k < depth; k++) {
      memcpy(to + k * g->columns, b + k * columns + j, count * sizeof *to);
      memset(to + k * g->columns + count, 0, (all - count) * sizeof *to);
    }
  }
}

void attn_panels_multiply(const struct attn_gemm_kernel *g, struct attn_gemm_rows a, int64_t rows,
                          int64_t depth, const float *panels, float *c, int64_t c_step,
                          int64_t columns, int add) {
  const char *first = a.a;
  for (int64_t j = 0; j < columns; j += g->columns, panels += depth * g->columns) {
    int64_t row = 0;
    for (int64_t left = attn_divide_up(rows, g->rows); left > 0; left--) {
      int64_t count = attn_divide_up(rows - row, left);
      a.a = first + row * a.row;
      g->float_tile((int)count, depth, &a, panels, c + row * c_step + j, c_step,
                    attn_min(columns - j, g->columns), add);
      row += count;
    }
  }
}

/* ---- Memory ---- */

attn_status attn_panels_allocate(struct attn_panels_memory *m, const struct attn_host *host,
                                 int64_t each, int64_t shared, attn_error *err) {
  int64_t all;
  m->host = host, m->workers = attn_threads_workers(host->executor, host->threads);
  m->memory = NULL;
  if (!__builtin_mul_overflow(each, (int64_t)m->workers, &all) &&
      !__builtin_add_overflow(all, shared, &all))
    m->memory = attn_host_allocate(host, all, sizeof *m->memory);
  if (m->memory) return ATTN_OK;
  return attn_fail(err, ATTN_ERR_MEMORY, NULL, "cannot allocate memory for a convolution");
}

void attn_panels_parallel_for(const struct attn_panels_memory *m, int64_t count,
                              void (*body)(void *argument, int64_t index, int32_t worker),
                              void *argument) {
  attn_threads_parallel_for(m->host->executor, m->workers, count, body, argument);
}

void attn_panels_release(struct attn_panels_memory *m) { attn_host_release(m->host, m->memory); }
