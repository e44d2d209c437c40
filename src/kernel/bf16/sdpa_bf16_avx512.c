/* AVX512-BF16: 6 x 4 accumulators, 4 vectors of queries, 1 broadcast of 32 registers. */
#include "vec_avx512.h"
#include "vec_avx512_bf16.h"
#define KEY_TILE 6
#define PIPELINE_KEYS 4
#define COLUMN_TILE 5
#define VECTOR_COLUMNS 13
#define VECTOR_TILE 4
#define SDPA attn_sdpa_bf16_avx512
#define BACKWARD attn_backward_bf16_avx512
#include "sdpa_bf16.inc"
