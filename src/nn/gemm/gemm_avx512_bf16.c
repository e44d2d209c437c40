/* AVX-512 with its bf16 instructions. */
#include "vec_avx512.h"
#define ROWS 12
#define STREAMS 0
#define BF16_DOT(sum, a, b) _mm512_dpbf16_ps(sum, (__m512bh)(a), (__m512bh)(b))
#define GEMM attn_gemm_avx512_bf16
#define GEMM_NAME "avx512_bf16"
#define GEMM_ISA ATTN_ISA_AVX512_BF16
#include "gemm.inc"
