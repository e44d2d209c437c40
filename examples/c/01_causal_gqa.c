/* Grouped-query attention of a decoder: eight query heads share two key/value heads, causal, with
 * two sequences of different lengths in one batch. The plan describes the computation.
 *
 *     cc 01_causal_gqa.c $(pkg-config --cflags --libs libattn)
 */
#include <attn/attn.h>
#include <stdio.h>
#include <stdlib.h>

enum { BATCH = 2, QUERY_HEADS = 8, HEADS = 2, LENGTH = 128, WIDTH = 64 };

/* Allocates a tensor of random values in -0.5 .. 0.5; the caller frees its data. */
static attn_tensor make(int64_t heads, uint32_t seed) {
  size_t count = (size_t)(BATCH * heads * LENGTH * WIDTH);
  float *data = malloc(count * sizeof *data);
  if (!data) exit(1);
  for (size_t n = 0; n < count; n++) {
    seed = seed * 1664525u + 1013904223u;
    data[n] = (float)(seed >> 8) / 16777216.0f - 0.5f;
  }
  return attn_tensor_dense(ATTN_F32, data, BATCH, heads, LENGTH, WIDTH);
}

int main(void) {
  attn_tensor q = make(QUERY_HEADS, 1), k = make(HEADS, 2), v = make(HEADS, 3),
              o = make(QUERY_HEADS, 4);
  static int64_t lengths[BATCH] = {128, 100};
  attn_tensor key_lengths = {
      .data = lengths, .dtype = ATTN_I64, .rank = 1, .shape = {BATCH}, .strides = {1}};

  attn_sdpa call = ATTN_SDPA_INIT;
  call.flags = ATTN_SDPA_CAUSAL;
  call.key_lengths = &key_lengths;

  attn_error err;
  attn_plan plan = {.struct_size = sizeof plan};
  attn_status status = attn_sdpa_plan(&call, &q, &k, &v, &o, &plan, &err);
  if (!status) status = attn_sdpa_forward(&call, &q, &k, &v, &o, &err);
  if (!status) {
    printf("%s: %s\n", plan.kernel, plan.reason);
    printf("%zu bytes of workspace, %.0f operations\n", plan.workspace_bytes, plan.flops);
    printf("o[0,0,0,0] = %.6f\n", ((float *)o.data)[0]);
  } else {
    fprintf(stderr, "%s: %s\n", err.argument, err.message);
  }
  free(q.data), free(k.data), free(v.data), free(o.data);
  return status != ATTN_OK;
}
