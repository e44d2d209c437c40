/* panel_product.h -- products of rows of an image with packed panels (gemm.h), on the caller's
 * thread. */
#ifndef ATTN_NN_PANEL_PRODUCT_H
#define ATTN_NN_PANEL_PRODUCT_H

#include "gemm.h"
#include "layer_common.h"

/* The fastest kernel, or one whose panels are narrower where they hold all columns. The bits are
 * the same: each element is one chain of fused multiply-adds. */
const struct attn_gemm_kernel *attn_panels_kernel(int64_t columns);

/* Packs b (depth, columns) as panels of depth rows. */
void attn_panels_pack(const struct attn_gemm_kernel *g, float *to, const float *b, int64_t depth,
                      int64_t columns);

/* c (rows, columns) = or, with add, += A times panels of depth rows each. */
void attn_panels_multiply(const struct attn_gemm_kernel *g, struct attn_gemm_rows a, int64_t rows,
                          int64_t depth, const float *panels, float *c, int64_t c_step,
                          int64_t columns, int add);

/* ---- Memory of a call: `each` floats for each worker, then `shared` ones; any contents ---- */

struct attn_panels_memory {
  const struct attn_host *host;
  int32_t workers;
  float *memory;
};

/* ATTN_ERR_MEMORY, also if the size overflows. host must stay valid until the release. */
attn_status attn_panels_allocate(struct attn_panels_memory *m, const struct attn_host *host,
                                 int64_t each, int64_t shared, attn_error *err);
void attn_panels_release(struct attn_panels_memory *m);

/* As attn_parallel_for, on the workers that the memory was allocated for. */
void attn_panels_parallel_for(const struct attn_panels_memory *m, int64_t count,
                              void (*body)(void *argument, int64_t index, int32_t worker),
                              void *argument);

#endif
