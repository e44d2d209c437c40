/* Dates from 1900 to 2049 in 14 notations. One day in ten is held out, in all notations. */
#include <stdio.h>

#include "task.h"

struct date {
  int year, month, day, weekday; /* 0: Sunday */
};

static const char *const months[] = {"January",   "February", "March",    "April",
                                     "May",       "June",     "July",     "August",
                                     "September", "October",  "November", "December"};
static const char *const weekdays[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                       "Thursday", "Friday", "Saturday"};

/* ---- Calendars ---- */

/* The date `days` days after 1970-01-01 [Hinnant, "chrono-compatible low-level date
 * algorithms"]. */
static struct date date_from_days(int64_t days) {
  int64_t z = days + 719468, era = (z >= 0 ? z : z - 146096) / 146097, of_era = z - era * 146097;
  int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
  int64_t of_year = of_era - (365 * year + year / 4 - year / 100), m = (5 * of_year + 2) / 153;
  int month = (int)(m < 10 ? m + 3 : m - 9);
  return (struct date){(int)(year + era * 400) + (month <= 2), month,
                       (int)(of_year - (153 * m + 2) / 5 + 1), (int)(((days + 4) % 7 + 7) % 7)};
}

static const struct era {
  const char *name;
  char letter;
  struct date first;
} eras[] = {{"令和", 'R', {2019, 5, 1, 0}},
            {"平成", 'H', {1989, 1, 8, 0}},
            {"昭和", 'S', {1926, 12, 25, 0}},
            {"大正", 'T', {1912, 7, 30, 0}},
            {"明治", 'M', {1868, 1, 25, 0}}};

static int is_before(const struct date *a, const struct date *b) {
  if (a->year != b->year) return a->year < b->year;
  return a->month != b->month ? a->month < b->month : a->day < b->day;
}

static const struct era *era_of(const struct date *d) {
  const struct era *e = eras;
  while (is_before(d, &e->first)) e++;
  return e;
}

/* ---- Numerals ---- */

static const char *const digits[] = {"〇", "一", "二", "三", "四", "五", "六", "七", "八", "九"};

/* 二十三 for 23; below 100. */
static void kanji(int n, char *to, size_t size) {
  const char *tens = n >= 20 ? digits[n / 10] : "", *ten = n >= 10 ? "十" : "";
  snprintf(to, size, "%s%s%s", tens, ten, n % 10 ? digits[n % 10] : "");
}

/* 一九七八 for 1978. */
static void kanji_digits(int n, char *to, size_t size) {
  snprintf(to, size, "%s%s%s%s", digits[n / 1000 % 10], digits[n / 100 % 10], digits[n / 10 % 10],
           digits[n % 10]);
}

static const char *ordinal(int day) {
  if (day / 10 == 1) return "th";
  return day % 10 == 1 ? "st" : day % 10 == 2 ? "nd" : day % 10 == 3 ? "rd" : "th";
}

/* ---- Notations ---- */

static void write_english(unsigned notation, const struct date *d, char *to) {
  const char *month = months[d->month - 1], *weekday = weekdays[d->weekday];
  size_t size = ATTN_EXAMPLE_SIZE;
  switch (notation) {
    case 0:
      snprintf(to, size, "%d %s %d", d->day, month, d->year);
      break;
    case 1:
      snprintf(to, size, "%s %d, %d", month, d->day, d->year);
      break;
    case 2:
      snprintf(to, size, "%d %.3s %d", d->day, month, d->year);
      break;
    case 3:
      snprintf(to, size, "%s %d%s, %d", month, d->day, ordinal(d->day), d->year);
      break;
    case 4:
      snprintf(to, size, "%s, %d %s %d", weekday, d->day, month, d->year);
      break;
    case 5:
      snprintf(to, size, "the %d%s of %s %d", d->day, ordinal(d->day), month, d->year);
      break;
    default:
      snprintf(to, size, "%02d/%02d/%d", d->day, d->month, d->year);
  }
}

static void write_japanese(unsigned notation, const struct date *d, char *to) {
  const struct era *era = era_of(d);
  int year = d->year - era->first.year + 1;
  char y[16], m[16], day[16], digits4[24];
  size_t size = ATTN_EXAMPLE_SIZE;
  kanji(year, y, sizeof y), kanji(d->month, m, sizeof m), kanji(d->day, day, sizeof day);
  kanji_digits(d->year, digits4, sizeof digits4);
  switch (notation) {
    case 0:
      snprintf(to, size, "%d年%d月%d日", d->year, d->month, d->day);
      break;
    case 1:
      if (year == 1)
        snprintf(to, size, "%s元年%d月%d日", era->name, d->month, d->day);
      else
        snprintf(to, size, "%s%d年%d月%d日", era->name, year, d->month, d->day);
      break;
    case 2:
      snprintf(to, size, "%s%s年%s月%s日", era->name, year == 1 ? "元" : y, m, day);
      break;
    case 3:
      snprintf(to, size, "%c%d.%d.%d", era->letter, year, d->month, d->day);
      break;
    case 4:
      snprintf(to, size, "%s年%s月%s日", digits4, m, day);
      break;
    case 5:
      snprintf(to, size, "%d/%02d/%02d", d->year, d->month, d->day);
      break;
    default:
      snprintf(to, size, "%d.%d.%d", d->year, d->month, d->day);
  }
}

/* ---- The task ---- */

enum { FIRST_DAY = -25567, DAYS = 54787, NOTATIONS = 14 }; /* 1900-01-01 to 2049-12-31 */

static int is_held_out(int64_t day) {
  uint64_t x = (uint64_t)day * 0x9E3779B97F4A7C15u;
  return (x >> 40) % 10 == 0;
}

void attn_task_dates(const struct attn_task *task, struct attn_random_stream *random,
                     int validation, struct attn_aligned_pair *pair) {
  int64_t day;
  (void)task;
  do day = FIRST_DAY + (int64_t)attn_random_below(random, DAYS);
  while (is_held_out(day) != validation);
  const struct date d = date_from_days(day);
  unsigned notation = attn_random_below(random, NOTATIONS);
  if (notation < NOTATIONS / 2)
    write_english(notation, &d, pair->source);
  else
    write_japanese(notation - NOTATIONS / 2, &d, pair->source);
  snprintf(pair->target, sizeof pair->target, "%d-%02d-%02d", d.year, d.month, d.day);
}
