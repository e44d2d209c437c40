/* The operations of AVX512-BF16. */
#include "vec_avx512.h"
#include "vec_avx512_bf16.h"
#include "exp2_weight.inc"
#define PAIR_OPS pair_ops_avx512
#define KERNEL_NAME "avx512_bf16"
#include "pair_ops.inc"
