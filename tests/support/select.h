/* select.h -- runs a suite of laws once on every kernel that this machine can run: by ATTN_ISA,
 * and the AVX-512 one at least as its software model, which takes the door's place in choosing. */
#ifndef TEST_SELECT_H
#define TEST_SELECT_H

#include <stdlib.h>

/* Random rounds of a law, ATTN_ROUNDS times as many as asked for (make test-long). Under a
 * sanitizer a round takes four times as long: a quarter of them is run; the plain build runs all.
 */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define SANITIZED 1
#elif defined __has_feature /* clang's way to say it */
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

/* Makes attn_sdpa_forward use the kernel number n; returns its name, NULL past the end. What this
 * CPU lacks is left out and said once. */
const char *select_kernel(int n);

/* Back to what the library chooses by itself. */
void select_default(void);

/* Runs suite(name) on each of them; returns the failures of all. */
int on_every_kernel(int (*suite)(const char *name));

#endif
