#include "gemm.h"

#include <stddef.h>

#include "cpu.h"

static const struct attn_gemm_kernel *const table[] = {
    &attn_gemm_scalar,
#ifdef __x86_64__
    &attn_gemm_avx2,
    &attn_gemm_avx512,
    &attn_gemm_avx512_bf16,
#endif
};

const struct attn_gemm_kernel *attn_gemm_entry(int index) {
  return index >= 0 && (size_t)index < sizeof table / sizeof *table ? table[index] : NULL;
}

int attn_gemm_runs(const struct attn_gemm_kernel *kernel) { return kernel->isa <= attn_cpu_isa(); }

const struct attn_gemm_kernel *attn_gemm_best(void) {
  const struct attn_gemm_kernel *best = NULL, *entry;
  for (int n = 0; (entry = attn_gemm_entry(n)); n++)
    if (attn_gemm_runs(entry)) best = entry;
  return best;
}
