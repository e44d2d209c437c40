/* Portable C, four lanes. */
#define VL 4
#define FUSED 0
#include "vec_generic.h"
#define ROWS 4
#define STREAMS 1
#define GEMM attn_gemm_scalar
#define GEMM_NAME "scalar"
#define GEMM_ISA ATTN_ISA_SCALAR
#include "gemm.inc"
