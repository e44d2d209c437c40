/* The AVX-512 micro-kernels without AVX-512: the same lanes and roundings in plain C. */
#define VL 16
#define FUSED 1
#include "vec_generic.h"
#define ROWS 12
#define STREAMS 0
#define GEMM model_gemm_avx512
#define GEMM_NAME "avx512 (software model)"
#define GEMM_ISA ATTN_ISA_AVX512
#include "gemm/gemm.inc"
