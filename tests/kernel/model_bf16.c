/* The kernel of bf16 dot products without AVX512-BF16: the same lanes and roundings in plain C, as
 * in model_avx512.c, and its vector operations for test_pairs.c. */
#define VL 16
#define FUSED 1
#include "vec_generic.h"
#include "vec_generic_bf16.h"
#include "kernel.h"
#define KEY_TILE 2
#define COLUMN_TILE 2
#define VECTOR_TILE 4
#define PIPELINE_KEYS 4
#define SDPA attn_sdpa_bf16_model
#define BACKWARD attn_backward_bf16_model
void attn_sdpa_bf16_model(struct attn_sdpa_task *tasks, int32_t blocks);
extern const struct attn_backward_kernel attn_backward_bf16_model;
#include "sdpa_bf16.inc"
#define PAIR_OPS pair_ops_model
#define KERNEL_NAME "avx512_bf16 (software model)"
#include "pair_ops.inc"
