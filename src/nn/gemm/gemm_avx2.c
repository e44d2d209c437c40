/* AVX2 and FMA. 15 of 16 registers: 6 x 2 sums, 2 vectors of B, 1 broadcast. */
#include "vec_avx2.h"
#define ROWS 6
#define STREAMS 1
#define GEMM attn_gemm_avx2
#define GEMM_NAME "avx2"
#define GEMM_ISA ATTN_ISA_AVX2
#include "gemm.inc"
