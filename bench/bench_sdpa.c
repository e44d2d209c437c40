/* bench_sdpa.c -- float32 forward, one thread, against the CPU's measured peak.
 *
 *     bench_sdpa [REPETITIONS]      writes comma-separated values with a header */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "attn/attn.h"
#include "timing.h"

static float *random_values(int64_t count) {
  float *x = malloc((size_t)count * sizeof *x);
  uint64_t state = 1;
  for (int64_t n = 0; x && n < count; n++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    x[n] = (float)(state >> 40) * 0x1p-23f - 1.0f;
  }
  return x;
}

static int measure(int64_t length, int64_t width, int causal, int repetitions, double peak) {
  enum { HEADS = 2 };
  float *x = random_values(4 * HEADS * length * width);
  double *seconds = calloc((size_t)repetitions, sizeof *seconds);
  if (!x || !seconds) return 1;
  attn_tensor t[4];
  for (int n = 0; n < 4; n++)
    t[n] = attn_tensor_dense(ATTN_F32, x + n * HEADS * length * width, 1, HEADS, length, width);
  attn_sdpa desc = ATTN_SDPA_INIT;
  desc.flags = causal ? ATTN_SDPA_CAUSAL : 0;
  desc.threads = 1;
  attn_plan plan = {.struct_size = sizeof plan};
  if (attn_sdpa_plan(&desc, &t[0], &t[1], &t[2], &t[3], &plan, NULL)) return 1;
  for (int n = -1; n < repetitions; n++) { /* the first is warmup */
    double start = now();
    if (attn_sdpa_forward(&desc, &t[0], &t[1], &t[2], &t[3], NULL)) return 1;
    if (n >= 0) seconds[n] = now() - start;
  }
  qsort(seconds, (size_t)repetitions, sizeof *seconds, compare_doubles);
  double best = plan.flops / seconds[0] * 1e-9,
         median = plan.flops / seconds[repetitions / 2] * 1e-9;
  printf("%s,%d,%lld,%lld,%s,%.1f,%.1f,%.0f\n", plan.kernel, HEADS, (long long)length,
         (long long)width, causal ? "causal" : "full", best, median, 100 * best / peak);
  free(x), free(seconds);
  return 0;
}

int main(int argc, char **argv) {
  int repetitions = argc > 1 ? atoi(argv[1]) : 20;
  attn_machine machine = {.struct_size = sizeof machine};
  double peak;
  if (repetitions < 1 || attn_machine_query(&machine) || attn_machine_measure(&peak, NULL))
    return 2;
  printf("# %s, one thread, peak %.1f GFLOP/s, minimum and median of %d\n", machine.cpu, peak,
         repetitions);
  printf("kernel,heads,length,width,mask,gflops_best,gflops_median,percent_of_peak\n");
  for (int64_t length = 128; length <= 2048; length *= 4)
    for (int64_t width = 64; width <= 128; width *= 2)
      for (int causal = 0; causal < 2; causal++)
        if (measure(length, width, causal, repetitions, peak)) return 1;
  return 0;
}
