/* AVX-512: 6 x 4 accumulators, 4 vectors of queries, 1 broadcast of 32 registers. */
#include "vec_avx512.h"
#define KEY_TILE 6
#define COLUMN_TILE 6
#define VECTOR_TILE 4
#define ROW_BLOCKS 1 /* more are not measured */
#define KERNEL attn_kernel_avx512
#define KERNEL_ISA ATTN_ISA_AVX512
#define KERNEL_NAME "f32 avx512"
#include "sdpa_f32.inc"

/* By products of bf16. Few rows, which may be the last block, are decoded. */
VEC_INLINE void sdpa_bf16(struct attn_sdpa_task *tasks, int32_t blocks,
                          void (*products)(struct attn_sdpa_task *, int32_t)) {
  const int32_t together = blocks - is_decode(&tasks[blocks - 1]);
  if (together) products(tasks, together);
  if (together < blocks) sdpa(&tasks[together], 1);
}

static void sdpa_by_dots(struct attn_sdpa_task *tasks, int32_t blocks) {
  sdpa_bf16(tasks, blocks, attn_sdpa_bf16_avx512);
}

static void sdpa_by_tiles(struct attn_sdpa_task *tasks, int32_t blocks) {
  sdpa_bf16(tasks, blocks, attn_sdpa_bf16_amx);
}

const struct attn_kernel attn_kernel_avx512_bf16 = {
    ATTN_ISA_AVX512_BF16, "f32 avx512", ROW_BLOCKS, sdpa,         exp2_array,
    fma_rounds,           &backward,    tanh_array, sdpa_by_dots, &attn_backward_bf16_avx512};

/* Where there are tiles, dot products have half the rate of float32: the backward runs in it. */
const struct attn_kernel attn_kernel_amx_bf16 = {
    ATTN_ISA_AMX_BF16, "f32 avx512", ATTN_FORWARD_BLOCKS, sdpa,          exp2_array,
    fma_rounds,        &backward,    tanh_array,          sdpa_by_tiles, NULL};
