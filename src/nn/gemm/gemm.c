#include "gemm.h"

#include <stdatomic.h>
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

int attn_gemm_runs(const struct attn_gemm_kernel *kernel) {
  return kernel->isa <= attn_cpu_isa() && (!kernel->has_bf16 || attn_cpu_has_bf16());
}

/* Detected once: CPUID is slow in a virtual machine. */
const struct attn_gemm_kernel *attn_gemm_best(void) {
  static _Atomic(const struct attn_gemm_kernel *) known;
  const struct attn_gemm_kernel *best = atomic_load(&known), *entry;
  if (best) return best;
  for (int n = 0; (entry = attn_gemm_entry(n)); n++)
    if (attn_gemm_runs(entry)) best = entry;
  atomic_store(&known, best);
  return best;
}
