#include "cpu.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif

static int has_f16c(void) {
  unsigned a, b, c, d; /* clang 14's __builtin_cpu_supports does not know f16c */
  return __get_cpuid(1, &a, &b, &c, &d) && c >> 29 & 1u;
}

static int has_bf16(void) {
  unsigned a, b, c, d; /* clang 14's __builtin_cpu_supports does not know avx512bf16 */
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) && a >> 5 & 1u;
}

/* Requests the permission to use tiles from the system, which every thread then has. Only Linux
 * requires, and gives, one. */
static int has_amx(void) {
  enum { TILE = 1 << 24, BF16 = 1 << 22 };
  unsigned a, b, c, d;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d & TILE) || !(d & BF16)) return 0;
#ifdef __linux__
  enum { ARCH_REQ_XCOMP_PERM = 0x1023, TILE_DATA = 18 };
  return !syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, TILE_DATA);
#else
  return 0;
#endif
}

/* __builtin_cpu_supports also checks XGETBV: the system must save the registers. */
static int32_t detect_isa(void) {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return !has_bf16() ? ATTN_ISA_AVX512 : has_amx() ? ATTN_ISA_AMX_BF16 : ATTN_ISA_AVX512_BF16;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c())
    return ATTN_ISA_AVX2;
  return ATTN_ISA_SCALAR;
}

/* Needed in every call of the library, and CPUID takes 5 us in a virtual machine: it is run once.
 */
int32_t attn_cpu_isa(void) {
  static _Atomic int32_t known; /* 1 + the instruction set */
  int32_t isa = atomic_load_explicit(&known, memory_order_relaxed);
  if (!isa) {
    isa = 1 + detect_isa();
    atomic_store_explicit(&known, isa, memory_order_relaxed);
  }
  return isa - 1;
}

static void brand(char *name, size_t bytes) {
  unsigned words[12] = {0};
  if ((unsigned)__get_cpuid_max(0x80000000u, NULL) < 0x80000004u) { /* clang returns int */
    snprintf(name, bytes, "x86-64");
    return;
  }
  for (unsigned n = 0; n < 3; n++)
    __get_cpuid(0x80000002u + n, words + 4 * n, words + 4 * n + 1, words + 4 * n + 2,
                words + 4 * n + 3);
  snprintf(name, bytes, "%.48s", (const char *)words);
}

/* gcc 12's __builtin_cpu_supports does not know AMX: read CPUID leaf 7 directly. */
static void add_leaf7(char *features, size_t bytes) {
  unsigned a, b, c, d;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return;
  static const struct {
    unsigned bit;
    const char *name;
  } in_edx[] = {{22, " amx_bf16"}, {24, " amx_tile"}, {25, " amx_int8"}, {23, " avx512_fp16"}};
  for (size_t n = 0; n < sizeof in_edx / sizeof *in_edx; n++)
    if (d >> in_edx[n].bit & 1u) strncat(features, in_edx[n].name, bytes - strlen(features) - 1);
  if (attn_cpu_isa() >= ATTN_ISA_AVX512_BF16)
    strncat(features, " avx512_bf16", bytes - strlen(features) - 1);
}

void attn_cpu_describe(char *name, size_t name_bytes, char *features, size_t features_bytes) {
  __builtin_cpu_init();
  brand(name, name_bytes);
  snprintf(
      features, features_bytes, "sse2%s%s%s%s%s%s%s", __builtin_cpu_supports("avx") ? " avx" : "",
      __builtin_cpu_supports("avx2") ? " avx2" : "", __builtin_cpu_supports("fma") ? " fma" : "",
      __builtin_cpu_supports("avx512f") ? " avx512f" : "",
      __builtin_cpu_supports("avx512bw") ? " avx512bw" : "",
      __builtin_cpu_supports("avx512dq") ? " avx512dq" : "",
      __builtin_cpu_supports("avx512vl") ? " avx512vl" : "");
  add_leaf7(features, features_bytes);
}

#else

int32_t attn_cpu_isa(void) { return ATTN_ISA_SCALAR; }

void attn_cpu_describe(char *name, size_t name_bytes, char *features, size_t features_bytes) {
  snprintf(name, name_bytes, "unknown");
  snprintf(features, features_bytes, "scalar");
}

#endif
