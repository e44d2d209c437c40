/* 4 to 16 letters after one of the task's marks: =dca to dca (copy), <dca to acd (reverse), ^dca to
 * acd (sort). One multiset of letters in ten is held out, in every order and for all three marks,
 * so neither side of a validation example occurs in training. The alignment is known; sorting is
 * stable. */
#include <string.h>

#include "task.h"

enum { MIN_LETTERS = 4, MAX_LETTERS = 16 };

/* Insertion sort, which is stable; from[i] is the former index of letter i. */
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
  char key[MAX_LETTERS + 1];
  int16_t from[MAX_LETTERS] = {0};
  memcpy(key, letters, (size_t)count + 1);
  sort_letters(key, from, count);
  return attn_task_is_held_out(key);
}

static int draw_letters(struct attn_random_stream *random, char *letters) {
  int count = MIN_LETTERS + (int)attn_random_below(random, MAX_LETTERS - MIN_LETTERS + 1);
  for (int n = 0; n < count; n++) letters[n] = (char)('a' + attn_random_below(random, 26));
  letters[count] = 0;
  return count;
}

static void write_target(struct attn_aligned_pair *pair, int count) {
  const char mark = pair->source[0], *letters = pair->source + 1;
  for (int n = 0; n < count; n++) {
    int from = mark == '<' ? count - 1 - n : n;
    pair->target[n] = letters[from];
    pair->alignment[n] = (int16_t)(from + 1);
  }
  pair->target[count] = 0;
  if (mark == '^') sort_letters(pair->target, pair->alignment, count);
  pair->aligned_tokens = count;
}

void attn_task_letters(const struct attn_task *task, struct attn_random_stream *random,
                       int validation, struct attn_aligned_pair *pair) {
  char *letters = pair->source + 1;
  int count;
  do count = draw_letters(random, letters);
  while (is_held_out(letters, count) != validation);
  pair->source[0] = task->marks[attn_random_below(random, (uint32_t)strlen(task->marks))];
  write_target(pair, count);
}
