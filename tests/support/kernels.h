/* kernels.h -- every kernel that this machine can test; AVX-512 at least by its software model.
 * Skipped kernels are printed. */
#ifndef TEST_KERNELS_H
#define TEST_KERNELS_H

#include <stdio.h>

#include "cpu.h"
#include "kernel.h"

extern const struct attn_kernel attn_kernel_avx512_model;

static inline const struct attn_kernel *test_kernel(int n) {
  const struct attn_kernel *all[] = {
    &attn_kernel_scalar,
#if defined(__x86_64__)
    &attn_kernel_avx2,
    &attn_kernel_avx512,
#endif
    &attn_kernel_avx512_model
  };
  if (n >= (int)(sizeof all / sizeof *all)) return NULL;
  return all[n];
}

static inline int test_kernel_runs(const struct attn_kernel *kernel) {
  if (kernel == &attn_kernel_avx512_model || kernel->isa <= attn_cpu_isa()) return 1;
  static int printed;
  if (!printed++) printf("SKIPPED: %s: this CPU lacks its instructions\n", kernel->name);
  return 0;
}

#endif
