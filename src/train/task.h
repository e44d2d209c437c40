/* task.h -- tasks whose examples are generated, with what is right known.
 *
 * Example number n of a seed is a function of both alone. A task keeps some examples back: what is
 * held out is never trained on, in any form. */
#ifndef ATTN_TRAIN_TASK_H
#define ATTN_TRAIN_TASK_H

#include <stddef.h>
#include <stdint.h>

enum { ATTN_EXAMPLE = 256 }; /* bytes that hold either side of any example */

struct attn_example_pair {
  char source[ATTN_EXAMPLE], target[ATTN_EXAMPLE];
};

struct attn_task {
  const char *name, *summary;
  void (*make)(uint64_t seed, uint64_t n, int held_out, struct attn_example_pair *pair);
};

/* NULL where there is none of that name. */
const struct attn_task *attn_task_find(const char *name);

/* Numbers drawn one after another for one example. */
struct attn_draws {
  uint64_t seed, n;
  uint32_t used, word[4];
};
uint32_t attn_draw_below(struct attn_draws *draws, uint32_t limit);

void attn_task_dates(uint64_t seed, uint64_t n, int held_out, struct attn_example_pair *pair);

#endif
