/* Portable C, in vectors of four lanes. */
#define VL 4
#define FUSED 0
#include "vec_generic.h"
#define KEY_TILE 4
#define COLUMN_TILE 4
#define VECTOR_TILE 2
#define KERNEL attn_kernel_scalar
#define KERNEL_ISA ATTN_ISA_SCALAR
#define KERNEL_NAME "f32 scalar"
#include "sdpa_f32.inc"
