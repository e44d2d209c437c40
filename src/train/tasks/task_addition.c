/* Sums of two numbers of 1 to 8 digits: 75+48 to 321, which is 123 with the least significant digit
 * first, the order in which carries are computed. The numbers of digits are uniform. One pair in
 * ten is held out, in both orders. */
#include <stdio.h>

#include "task.h"

static uint32_t draw_operand(struct attn_random_stream *random) {
  static const uint32_t powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
  uint32_t length = 1 + attn_random_below(random, 8), least = length > 1 ? powers[length - 1] : 0;
  return least + attn_random_below(random, powers[length] - least);
}

static int is_held_out(uint32_t a, uint32_t b) {
  char key[32];
  snprintf(key, sizeof key, "%u+%u", (unsigned)(a < b ? a : b), (unsigned)(a < b ? b : a));
  return attn_task_is_held_out(key);
}

static void write_reversed(uint32_t number, char *to) {
  do *to++ = (char)('0' + number % 10);
  while (number /= 10);
  *to = 0;
}

void attn_task_addition(const struct attn_task *task, struct attn_random_stream *random,
                        int validation, struct attn_aligned_pair *pair) {
  uint32_t a, b;
  (void)task;
  do a = draw_operand(random), b = draw_operand(random);
  while (is_held_out(a, b) != validation);
  snprintf(pair->source, sizeof pair->source, "%u+%u", (unsigned)a, (unsigned)b);
  write_reversed(a + b, pair->target);
}
