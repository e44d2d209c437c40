/* cpu.h -- which instruction sets this CPU has and the operating system saves. */
#ifndef ATTN_BASE_CPU_H
#define ATTN_BASE_CPU_H

#include <stddef.h>

#include "attn/attn.h"

/* The best attn_isa that the machine can run. */
int32_t attn_cpu_isa(void);

/* Has it AVX512-BF16 beside ATTN_ISA_AVX512? */
int attn_cpu_has_bf16(void);

/* The CPU's name and its features, separated by spaces. */
void attn_cpu_describe(char *name, size_t name_bytes, char *features, size_t features_bytes);

#endif
