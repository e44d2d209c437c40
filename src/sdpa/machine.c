#include "machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cpu.h"
#include "descriptor.h"
#include "error.h"
#include "threads.h"

int32_t attn_isa_requested(void) {
  const char *text = getenv("ATTN_ISA");
  if (!text || !*text) return -1;
  for (int32_t n = 0; attn_kernel_entry(n); n++)
    if (!strcmp(text, attn_isa_name(attn_kernel_entry(n)->isa))) return attn_kernel_entry(n)->isa;
  return -2;
}

const char *attn_isa_name(int32_t isa) {
  switch (isa) {
    case ATTN_ISA_SCALAR:
      return "scalar";
    case ATTN_ISA_AVX2:
      return "avx2";
    case ATTN_ISA_AVX512:
      return "avx512";
    case ATTN_ISA_AVX512_BF16:
      return "avx512_bf16";
    case ATTN_ISA_AMX_BF16:
      return "amx_bf16";
  }
  return "unknown";
}

const struct attn_kernel *attn_kernel_choose(attn_error *err) {
  int32_t best = attn_cpu_isa(), requested = attn_isa_requested();
  if (requested == -1) return attn_kernel_for(best);
  if (requested >= 0 && requested <= best) return attn_kernel_for(requested);
  attn_fail(err, ATTN_ERR_CPU, "ATTN_ISA",
            "ATTN_ISA is \"%.32s\"; this CPU supports scalar%s%s%s%s", getenv("ATTN_ISA"),
            best >= ATTN_ISA_AVX2 ? ", avx2" : "", best >= ATTN_ISA_AVX512 ? ", avx512" : "",
            best >= ATTN_ISA_AVX512_BF16 ? ", avx512_bf16" : "",
            best >= ATTN_ISA_AMX_BF16 ? ", amx_bf16" : "");
  return NULL;
}

attn_status attn_machine_query(attn_machine *machine) {
  attn_machine m = {.struct_size = sizeof m};
  attn_status status = attn_descriptor_expect(machine, sizeof m, sizeof m, "machine", NULL);
  if (status) return status;
  attn_cpu_describe(m.cpu, sizeof m.cpu, m.features, sizeof m.features);
  const struct attn_kernel *kernel = attn_kernel_choose(NULL);
  m.isa_best = attn_kernel_for(attn_cpu_isa())->isa;
  m.isa = kernel ? kernel->isa : m.isa_best;
  m.isa_invalid = !kernel;
  m.threads = attn_threads_count();
  attn_descriptor_fill(machine, &m, sizeof m);
  return ATTN_OK;
}

const char *attn_kernel_describe(int32_t index) {
  static const char *const kernels[] = {
    "f32 scalar: plain C, 4 lanes, any CPU",
#if defined(__x86_64__)
    "f32 avx2: AVX2 and FMA, 8 lanes, 6 x 2 accumulators",
    "f32 avx512: AVX-512 F BW DQ VL, 16 lanes, 6 x 4 accumulators",
    "bf16 avx512_bf16: AVX512-BF16, dot products of pairs, 6 x 4 accumulators",
    "bf16 amx_bf16: AMX-BF16, products of tiles of 16 x 16, 2 x 2 accumulators",
#endif
    "reference f64: the equations in double precision, any CPU"
  };
  return index >= 0 && (size_t)index < sizeof kernels / sizeof *kernels ? kernels[index] : NULL;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The best of many short runs, because the machine may be busy. */
static double measure_rate(double (*run)(int64_t rounds)) {
  double best = 0, end = now() + 0.2;
  run(200000);
  do {
    double start = now(), operations = run(200000), seconds = now() - start;
    if (seconds > 0 && operations / seconds > best) best = operations / seconds;
  } while (now() < end);
  return best * 1e-9;
}

static double measure_read(double *memory, size_t count) {
  double best = 0, end = now() + 0.2, sink = 0;
  do {
    double start = now(), sum[8] = {0};
    for (size_t n = 0; n + 8 <= count; n += 8)
      for (size_t lane = 0; lane < 8; lane++) sum[lane] += memory[n + lane];
    double seconds = now() - start;
    for (size_t lane = 0; lane < 8; lane++) sink += sum[lane];
    double rate = (double)(count * sizeof *memory) / seconds;
    if (rate > best) best = rate;
  } while (now() < end);
  return sink < 0 ? 0 : best * 1e-9; /* sink keeps the loop alive */
}

attn_status attn_machine_measure(double *gflops, double *gbytes) {
  const struct attn_kernel *kernel = attn_kernel_choose(NULL);
  if (!kernel) return ATTN_ERR_CPU;
  size_t count = (size_t)1 << 24; /* 128 MiB: larger than most last-level caches */
  double *memory = gbytes ? malloc(count * sizeof *memory) : NULL;
  if (gbytes && !memory) return ATTN_ERR_MEMORY;
  if (gflops) *gflops = measure_rate(kernel->fma_f32);
  if (!gbytes) return ATTN_OK;
  for (size_t n = 0; n < count; n++) memory[n] = 1.0;
  *gbytes = measure_read(memory, count);
  free(memory);
  return ATTN_OK;
}

attn_status attn_machine_measure_bf16(double *gflops) {
  const struct attn_kernel *kernel = attn_kernel_choose(NULL);
  if (!kernel) return ATTN_ERR_CPU;
  *gflops = 0;
#if defined(__x86_64__)
  if (kernel->isa >= ATTN_ISA_AVX512_BF16)
    *gflops = measure_rate(kernel->isa >= ATTN_ISA_AMX_BF16 ? attn_tile_bf16 : attn_dot_bf16);
#endif
  return ATTN_OK;
}
