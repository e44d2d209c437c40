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

/* With AVX512-BF16. Few rows, which may be the last block, are decoded. */
static void sdpa_by_dots(struct attn_sdpa_task *tasks, int32_t blocks) {
  const int32_t together = blocks - is_decode(&tasks[blocks - 1]);
  if (together) attn_sdpa_bf16_avx512(tasks, together);
  if (together < blocks) sdpa(&tasks[together], 1);
}

const struct attn_kernel attn_kernel_avx512_bf16 = {
    ATTN_ISA_AVX512_BF16, "f32 avx512", ROW_BLOCKS, sdpa,         exp2_array,
    fma_rounds,           &backward,    tanh_array, sdpa_by_dots, &attn_backward_bf16_avx512};
