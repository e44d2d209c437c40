/* The software model of the AMX-BF16 kernel: as model_bf16.c, with the tiles in memory. */
#define VL 16
#define FUSED 1
#include "vec_generic.h"
#include "vec_generic_bf16.h"
#include "vec_generic_amx_bf16.h"
#include "kernel.h"
#define KEY_TILE 1
#define COLUMN_TILE 1
#define VECTOR_TILE 4
#define SDPA attn_sdpa_amx_model
void attn_sdpa_amx_model(struct attn_sdpa_task *tasks, int32_t blocks);
#include "sdpa_bf16_tiles.inc"
