/* AVX2 and FMA: 6 x 2 accumulators, 2 vectors of queries, 1 broadcast of 16 registers. */
#include "vec_avx2.h"
#define KEY_TILE 6
#define COLUMN_TILE 6
#define VECTOR_TILE 2
#define KERNEL attn_kernel_avx2
#define KERNEL_ISA ATTN_ISA_AVX2
#define KERNEL_NAME "f32 avx2"
#include "sdpa_f32.inc"
