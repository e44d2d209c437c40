/* AVX-512: 6 x 4 accumulators, 4 vectors of queries, 1 broadcast of 32 registers. */
#include "vec_avx512.h"
#define KEY_TILE 6
#define COLUMN_TILE 6
#define VECTOR_TILE 4
#define KERNEL attn_kernel_avx512
#define KERNEL_ISA ATTN_ISA_AVX512
#define KERNEL_NAME "f32 avx512"
#include "sdpa_f32.inc"

/* With AVX512-BF16. */
static void sdpa_by_dots(struct attn_sdpa_task *t) {
  if (is_decode(t))
    sdpa(t);
  else
    attn_sdpa_bf16_avx512(t);
}

const struct attn_kernel attn_kernel_avx512_bf16 = {
    ATTN_ISA_AVX512_BF16, "f32 avx512", sdpa,
    exp2_array,           fma_rounds,   &backward,
    tanh_array,           sdpa_by_dots, &attn_backward_bf16_avx512};
