/* select.h -- runs a suite on every kernel that this machine supports, selected by ATTN_ISA;
 * AVX-512 at least by its software model, which replaces the library's choice. */
#ifndef TEST_SELECT_H
#define TEST_SELECT_H

#include <stdlib.h>

/* The rounds of a random test: n, times ATTN_ROUNDS (make test-long). Under a sanitizer, where a
 * round takes four times as long, a quarter. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define SANITIZED 1
#elif defined __has_feature /* clang */
#define SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define SANITIZED 0
#endif
static inline int rounds(int n) {
  const char *times = getenv("ATTN_ROUNDS");
  int all = n * (times && atoi(times) > 0 ? atoi(times) : 1);
  return SANITIZED ? (all + 3) / 4 : all;
}
#define ROUNDS(n) rounds(n)

/* Selects kernel number n; returns its name, NULL past the end. Kernels that this CPU lacks are
 * skipped and printed once. */
const char *select_kernel(int n);

/* Restores the library's own choice. */
void select_default(void);

/* Runs suite(name) on each kernel; returns the total of failures. */
int on_every_kernel(int (*suite)(const char *name));

#endif
