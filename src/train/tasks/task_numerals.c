/* Numbers below 10^12 between kanji numerals and digits: 漢:10203 to 一万二百三, 数:一万二百三 to
 * 10203; the mark names the target notation. 一 is written before 万 and 億, and before 千 when 万
 * or 億 follows (一千万), but not before any other 千, nor before 百 and 十; 0 is 〇. The number of
 * digits is uniform, and half of the numbers get additional zeros. One number in ten is held out,
 * in both directions. */
#include <stdio.h>
#include <string.h>

#include "task.h"

enum { MAX_DIGITS = 12 };

static void add(char *to, const char *text) {
  size_t n = strlen(to);
  snprintf(to + n, ATTN_EXAMPLE_SIZE - n, "%s", text);
}

/* Appends a number below 10000 and its unit, 万, 億 or none; nothing for 0. */
static void add_four(char *to, int four, const char *unit) {
  static const char *const digits[] = {"", "一", "二", "三", "四", "五", "六", "七", "八", "九"};
  static const char *const units[] = {"千", "百", "十", ""};
  if (!four) return;
  for (int place = 0, power = 1000; place < 4; place++, power /= 10) {
    int digit = four / power % 10;
    int writes_one = place == 3 || (place == 0 && *unit);
    if (digit > 1 || writes_one) add(to, digits[digit]);
    if (digit) add(to, units[place]);
  }
  add(to, unit);
}

static void add_kanji(char *to, const char *digits) {
  unsigned long long number = 0;
  for (; *digits; digits++) number = number * 10 + (unsigned)(*digits - '0');
  if (!number) add(to, "〇");
  add_four(to, (int)(number / 100000000), "億");
  add_four(to, (int)(number / 10000 % 10000), "万");
  add_four(to, (int)(number % 10000), "");
}

/* A first digit 0 only as the number 0. */
static void draw_digits(struct attn_random_stream *random, char *digits) {
  uint32_t count = 1 + attn_random_below(random, MAX_DIGITS),
           more_zeros = attn_random_below(random, 2);
  for (uint32_t n = 0; n < count; n++) {
    uint32_t least = n == 0 && count > 1;
    digits[n] = (char)('0' + least + attn_random_below(random, 10 - least));
    if (n && more_zeros && attn_random_below(random, 3) == 0) digits[n] = '0';
  }
  digits[count] = 0;
}

void attn_task_numerals(const struct attn_task *task, struct attn_random_stream *random,
                        int validation, struct attn_aligned_pair *pair) {
  char digits[MAX_DIGITS + 1];
  (void)task;
  do draw_digits(random, digits);
  while (attn_task_is_held_out(digits) != validation);
  int to_kanji = attn_random_below(random, 2) == 0;
  strcpy(pair->source, to_kanji ? "漢:" : "数:"), pair->target[0] = 0;
  add_kanji(to_kanji ? pair->target : pair->source, digits);
  add(to_kanji ? pair->source : pair->target, digits);
}
