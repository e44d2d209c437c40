/* AVX-512. 26 of 32 registers: 12 x 2 sums, 2 vectors of B; broadcasts are operands of the FMA. */
#include "vec_avx512.h"
#define ROWS 12
#define STREAMS 0
#define GEMM attn_gemm_avx512
#define GEMM_NAME "avx512"
#define GEMM_ISA ATTN_ISA_AVX512
#include "gemm.inc"
