/* AVX-512: 6 x 4 accumulators, 4 vectors of queries, 1 broadcast of 32 registers. */
#include "vec_avx512.h"
#define KEY_TILE 6
#define COLUMN_TILE 6
#define VECTOR_TILE 4
#define KERNEL attn_kernel_avx512
#define KERNEL_ISA ATTN_ISA_AVX512
#define KERNEL_NAME "f32 avx512"
#include "sdpa_f32.inc"
