#include "task.h"

#include <string.h>

#include "philox.h"

static const struct attn_task tasks[] = {
    {"dates", "dates as people write them, in Japanese and English, to YYYY-MM-DD", attn_task_dates,
     ATTN_TASK_CHARACTERS},
    {"numerals", "numbers below 10^12, kanji numerals to digits and back", attn_task_numerals,
     ATTN_TASK_CHARACTERS},
    {"addition", "sums of two numbers of up to 8 digits, least digit first", attn_task_addition,
     ATTN_TASK_CHARACTERS},
    {"letters", "4 to 16 letters, copied, reversed or sorted as the mark before them says",
     attn_task_letters, ATTN_TASK_CHARACTERS},
    {"copy", "letters, those to be copied only", attn_task_copy, ATTN_TASK_CHARACTERS},
    {"reverse", "letters, those to be reversed only", attn_task_reverse, ATTN_TASK_CHARACTERS},
    {"sort", "letters, those to be sorted only", attn_task_sort, ATTN_TASK_CHARACTERS},
    {"translation", "short Japanese sentences, their words apart, to English",
     attn_task_translation, ATTN_TASK_WORDS},
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

/* A product carries a byte's change upwards only, the shift brings it down again. */
int attn_task_is_held_out(const char *key) {
  uint64_t hash = 0;
  for (; *key; key++) {
    hash = (hash ^ (unsigned char)*key) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 32;
  }
  return hash % 10 == 0;
}
