/* 4 to 16 letters, and before them what to do: =dca to dca, <dca to acd, ^dca to acd; that is copy,
 * reverse and sort. Letters in ten are held out, in every order and for all three, so that neither
 * side of what is held out occurs in training. The alignment is known: where letters are the same,
 * the first of the sorted is the first of the source. */
#include <string.h>

#include "task.h"

enum { LEAST = 4, MOST = 16 };

/* By insertion, which keeps the order of what is the same; from[i] is where letter i was. */
static void sort_letters(char *letters, int16_t *from, int count) {
  for (int n = 1; n < count; n++) {
    const char letter = letters[n];
    const int16_t was = from[n];
    int at = n;
    for (; at > 0 && letters[at - 1] > letter; at--)
      letters[at] = letters[at - 1], from[at] = from[at - 1];
    letters[at] = letter, from[at] = was;
  }
}

static int is_held_out(const char *letters, int count) {
  char key[MOST + 1];
  int16_t from[MOST] = {0};
  memcpy(key, letters, (size_t)count + 1);
  sort_letters(key, from, count);
  return attn_task_is_held_out(key);
}

static int draw_letters(struct attn_random_stream *draws, char *letters) {
  int count = LEAST + (int)attn_random_below(draws, MOST - LEAST + 1);
  for (int n = 0; n < count; n++) letters[n] = (char)('a' + attn_random_below(draws, 26));
  letters[count] = 0;
  return count;
}

static void answer(struct attn_aligned_pair *pair, int count) {
  const char mark = pair->source[0], *letters = pair->source + 1;
  for (int n = 0; n < count; n++) {
    int from = mark == '<' ? count - 1 - n : n;
    pair->target[n] = letters[from];
    pair->alignment[n] = (int16_t)(from + 1);
  }
  pair->target[count] = 0;
  if (mark == '^') sort_letters(pair->target, pair->alignment, count);
  pair->aligned = count;
}

static void make(uint64_t seed, uint64_t n, int held_out, const char *marks,
                 struct attn_aligned_pair *pair) {
  struct attn_random_stream draws = {.seed = seed, .n = n};
  char *letters = pair->source + 1;
  int count;
  do count = draw_letters(&draws, letters);
  while (is_held_out(letters, count) != held_out);
  pair->source[0] = marks[attn_random_below(&draws, (uint32_t)strlen(marks))];
  answer(pair, count);
}

void attn_task_letters(uint64_t seed, uint64_t n, int held_out, struct attn_aligned_pair *pair) {
  make(seed, n, held_out, "=<^", pair);
}

void attn_task_copy(uint64_t seed, uint64_t n, int held_out, struct attn_aligned_pair *pair) {
  make(seed, n, held_out, "=", pair);
}

void attn_task_reverse(uint64_t seed, uint64_t n, int held_out, struct attn_aligned_pair *pair) {
  make(seed, n, held_out, "<", pair);
}

void attn_task_sort(uint64_t seed, uint64_t n, int held_out, struct attn_aligned_pair *pair) {
  make(seed, n, held_out, "^", pair);
}
