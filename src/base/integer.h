/* integer.h -- sizes and counts. */
#ifndef ATTN_BASE_INTEGER_H
#define ATTN_BASE_INTEGER_H

#include <stdint.h>

static inline int64_t attn_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t attn_max(int64_t a, int64_t b) { return a > b ? a : b; }

/* a / b, rounded up, of a at least 0 and b above 0. */
static inline int64_t attn_divide_up(int64_t a, int64_t b) { return a / b + (a % b != 0); }

/* The smallest multiple of `to` that is at least a. */
static inline int64_t attn_round_up(int64_t a, int64_t to) { return attn_divide_up(a, to) * to; }

#endif
