#include "task.h"

#include <string.h>

#include "philox.h"

static const struct attn_task tasks[] = {
    {"dates", "dates as people write them, in Japanese and English, to YYYY-MM-DD",
     attn_task_dates},
};

const struct attn_task *attn_task_find(const char *name) {
  for (size_t n = 0; n < sizeof tasks / sizeof *tasks; n++)
    if (!strcmp(name, tasks[n].name)) return &tasks[n];
  return NULL;
}

uint32_t attn_draw_below(struct attn_draws *d, uint32_t limit) {
  if (d->used % 4 == 0) {
    const uint32_t counter[4] = {d->used / 4, (uint32_t)d->n, (uint32_t)(d->n >> 32), 0x7461736b};
    attn_philox(d->seed, counter, d->word);
  }
  return (uint32_t)((uint64_t)d->word[d->used++ % 4] * limit >> 32);
}
