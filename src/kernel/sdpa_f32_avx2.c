/* AVX2 and FMA: of the 16 registers, 6 x 2 are accumulators, 2 hold queries, 1 a broadcast. */
#include "vec_avx2.h"
#define KEY_TILE 6
#define COLUMN_TILE 6
#define VECTOR_TILE 2
#define STORE_SCORES 1
#define COPY_ROWS 1
#define KERNEL attn_kernel_avx2
#define KERNEL_ISA ATTN_ISA_AVX2
#define KERNEL_NAME "f32 avx2"
#include "sdpa_f32.inc"
