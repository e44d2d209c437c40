/* cpu.h -- the instruction sets that the CPU and the operating system support. */
#ifndef ATTN_BASE_CPU_H
#define ATTN_BASE_CPU_H

#include <stddef.h>

#include "attn/attn.h"

/* The best supported attn_isa. */
int32_t attn_cpu_isa(void);

/* The CPU's name and its features, separated by spaces. */
void attn_cpu_describe(char *name, size_t name_bytes, char *features, size_t features_bytes);

#endif
