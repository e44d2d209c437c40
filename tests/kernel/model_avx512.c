/* The AVX-512 kernel without AVX-512: the same lanes and roundings in plain C, so that its data
 * flow is tested on every machine, and its bits where the machine has both. Tiles of one key and
 * two columns: no order of roundings depends on them, and it compiles in a third of the time. */
#define VL 16
#define FUSED 1
#include "vec_generic.h"
#define KEY_TILE 1
#define COLUMN_TILE 2
#define VECTOR_TILE 4
#define KERNEL attn_kernel_avx512_model
#define KERNEL_ISA ATTN_ISA_AVX512
#define KERNEL_NAME "f32 avx512 (software model)"
#include "sdpa_f32.inc"

void attn_sdpa_bf16_model(struct attn_sdpa_task *tasks, int32_t blocks);
void attn_sdpa_amx_model(struct attn_sdpa_task *tasks, int32_t blocks);
extern const struct attn_backward_kernel attn_backward_bf16_model;

/* With products of bf16: model_bf16.c and model_amx.c. Few rows, which may be the last block, are
 * decoded. */
static void sdpa_bf16(struct attn_sdpa_task *tasks, int32_t blocks,
                      void (*products)(struct attn_sdpa_task *, int32_t)) {
  const int32_t together = blocks - is_decode(&tasks[blocks - 1]);
  if (together) products(tasks, together);
  if (together < blocks) sdpa(&tasks[together], 1);
}

static void sdpa_by_dots(struct attn_sdpa_task *tasks, int32_t blocks) {
  sdpa_bf16(tasks, blocks, attn_sdpa_bf16_model);
}

static void sdpa_by_tiles(struct attn_sdpa_task *tasks, int32_t blocks) {
  sdpa_bf16(tasks, blocks, attn_sdpa_amx_model);
}

const struct attn_kernel attn_kernel_bf16_model = {ATTN_ISA_AVX512_BF16,
                                                   "avx512_bf16 (software model)",
                                                   ROW_BLOCKS,
                                                   sdpa,
                                                   exp2_array,
                                                   fma_rounds,
                                                   &backward,
                                                   tanh_array,
                                                   sdpa_by_dots,
                                                   &attn_backward_bf16_model};

const struct attn_kernel attn_kernel_amx_model = {ATTN_ISA_AMX_BF16, "amx_bf16 (software model)",
                                                  ROW_BLOCKS,        sdpa,
                                                  exp2_array,        fma_rounds,
                                                  &backward,         tanh_array,
                                                  sdpa_by_tiles,     NULL};
