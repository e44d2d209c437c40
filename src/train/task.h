/* task.h -- tasks whose examples are generated, with what is right known.
 *
 * Example number n of a seed is a function of both alone. A task keeps some examples back: what is
 * held out is never trained on, in any form. */
#ifndef ATTN_TRAIN_TASK_H
#define ATTN_TRAIN_TASK_H

#include <stdint.h>

#include "attn/attn.h"

enum { ATTN_EXAMPLE_SIZE = 256 }; /* bytes that hold either side of any example */
enum { ATTN_ALIGNMENT_MAX = 64 }; /* no example with an alignment has more tokens */

/* Where the alignment is known, aligned is the number of the target's tokens, and alignment[i] the
 * index of the token in the source that token i comes from, or -1 where it comes from none. Where
 * it is not known, aligned is 0. */
struct attn_aligned_pair {
  char source[ATTN_EXAMPLE_SIZE], target[ATTN_EXAMPLE_SIZE];
  int16_t alignment[ATTN_ALIGNMENT_MAX];
  int aligned;
};

enum attn_task_tokens { ATTN_TASK_CHARACTERS, ATTN_TASK_WORDS }; /* words: one space between two */

struct attn_task {
  const char *name, *summary;
  void (*make)(uint64_t seed, uint64_t n, int held_out, struct attn_aligned_pair *pair);
  enum attn_task_tokens tokens;
  int64_t steps; /* of training that do, with batches of 64 and this rate */
  double rate;
};

/* NULL where there is none of that name, which may be NULL. */
const struct attn_task *attn_task_find(const char *name);

/* The same; ATTN_ERR_ARGUMENT where there is none. */
attn_status attn_task_require(const char *name, const struct attn_task **task, attn_error *err);

/* Numbers drawn one after another for one example. */
struct attn_random_stream {
  uint64_t seed, n;
  uint32_t used, word[4];
};
uint32_t attn_random_below(struct attn_random_stream *draws, uint32_t limit);

/* 1 for one key in ten, 0 for the others. The key is what all forms of an example have in common.
 */
int attn_task_is_held_out(const char *key);

void attn_task_dates(uint64_t seed, uint64_t n, int held_out, struct attn_aligned_pair *pair);
void attn_task_numerals(uint64_t seed, uint64_t n, int held_out, struct attn_aligned_pair *pair);
void attn_task_addition(uint64_t seed, uint64_t n, int held_out, struct attn_aligned_pair *pair);
void attn_task_letters(uint64_t seed, uint64_t n, int held_out, struct attn_aligned_pair *pair);
void attn_task_copy(uint64_t seed, uint64_t n, int held_out, struct attn_aligned_pair *pair);
void attn_task_reverse(uint64_t seed, uint64_t n, int held_out, struct attn_aligned_pair *pair);
void attn_task_sort(uint64_t seed, uint64_t n, int held_out, struct attn_aligned_pair *pair);
void attn_task_translation(uint64_t seed, uint64_t n, int held_out, struct attn_aligned_pair *pair);

#endif
