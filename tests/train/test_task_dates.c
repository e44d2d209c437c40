/* Dates: the source is one of fourteen notations of the day in the target, by the C library's
 * calendar and strftime and by the first days of the Japanese eras; all days and notations occur.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "task.h"

enum { DAYS = 54787, FORMS = 14, BEFORE_1970 = 25567 };

/* All days from 1900-01-01 to 2049-12-31, as the C library counts them. */
static struct tm days[DAYS];

static void test_calendar(void **state) {
  (void)state;
  char first[16], last[16];
  strftime(first, sizeof first, "%Y-%m-%d", &days[0]);
  strftime(last, sizeof last, "%Y-%m-%d", &days[DAYS - 1]);
  assert_string_equal(first, "1900-01-01");
  assert_string_equal(last, "2049-12-31");
}

static int64_t sortable(const struct tm *day) {
  return ((int64_t)day->tm_year + 1900) * 10000 + (day->tm_mon + 1) * 100 + day->tm_mday;
}

/* Binary search: the index of the day; -1: no such day. */
static int find_day(const char *target) {
  int year, month, day, low = 0, high = DAYS;
  if (sscanf(target, "%4d-%2d-%2d", &year, &month, &day) != 3 || strlen(target) != 10) return -1;
  int64_t wanted = (int64_t)year * 10000 + month * 100 + day;
  while (high - low > 1) {
    int middle = (low + high) / 2;
    if (sortable(&days[middle]) <= wanted)
      low = middle;
    else
      high = middle;
  }
  return sortable(&days[low]) == wanted ? low : -1;
}

/* ---- Notations ---- */

static const char *const ordinals[] = {
    "",     "1st",  "2nd",  "3rd",  "4th",  "5th",  "6th",  "7th",  "8th",  "9th",  "10th",
    "11th", "12th", "13th", "14th", "15th", "16th", "17th", "18th", "19th", "20th", "21st",
    "22nd", "23rd", "24th", "25th", "26th", "27th", "28th", "29th", "30th", "31st"};
static const char *const ten[] = {"〇", "一", "二", "三", "四", "五", "六", "七", "八", "九"};

static const char *below_100(int n) {
  static char texts[4][32];
  static int next;
  char *to = texts[next++ % 4];
  if (n < 10)
    strcpy(to, ten[n]);
  else
    snprintf(to, 32, "%s十%s", n < 20 ? "" : ten[n / 10], n % 10 ? ten[n % 10] : "");
  return to;
}

struct imperial {
  const char *name;
  char letter;
  int year;
};

static struct imperial imperial_of(const struct tm *day) {
  int64_t date = sortable(day);
  int year = day->tm_year + 1900;
  if (date >= 20190501) return (struct imperial){"令和", 'R', year - 2018};
  if (date >= 19890108) return (struct imperial){"平成", 'H', year - 1988};
  if (date >= 19261225) return (struct imperial){"昭和", 'S', year - 1925};
  if (date >= 19120730) return (struct imperial){"大正", 'T', year - 1911};
  return (struct imperial){"明治", 'M', year - 1867};
}

static void western_forms(const struct tm *t, char forms[][ATTN_EXAMPLE_SIZE]) {
  char month[16], brief[16], weekday[16];
  int day = t->tm_mday, year = t->tm_year + 1900, m = t->tm_mon + 1;
  const size_t room = ATTN_EXAMPLE_SIZE;
  strftime(month, sizeof month, "%B", t), strftime(brief, sizeof brief, "%b", t);
  strftime(weekday, sizeof weekday, "%A", t);
  snprintf(forms[0], room, "%d %s %d", day, month, year);
  snprintf(forms[1], room, "%s %d, %d", month, day, year);
  snprintf(forms[2], room, "%d %s %d", day, brief, year);
  snprintf(forms[3], room, "%s %s, %d", month, ordinals[day], year);
  snprintf(forms[4], room, "%s, %d %s %d", weekday, day, month, year);
  snprintf(forms[5], room, "the %s of %s %d", ordinals[day], month, year);
  strftime(forms[6], room, "%d/%m/%Y", t);
  snprintf(forms[7], room, "%d年%d月%d日", year, m, day);
  strftime(forms[8], room, "%Y/%m/%d", t);
  snprintf(forms[9], room, "%d.%d.%d", year, m, day);
}

static void forms_of(const struct tm *t, char forms[FORMS][ATTN_EXAMPLE_SIZE]) {
  const struct imperial now = imperial_of(t);
  int day = t->tm_mday, year = t->tm_year + 1900, m = t->tm_mon + 1;
  const size_t room = ATTN_EXAMPLE_SIZE;
  char number[16];
  western_forms(t, forms);
  snprintf(number, sizeof number, "%d", now.year);
  snprintf(forms[10], room, "%s%s年%d月%d日", now.name, now.year == 1 ? "元" : number, m, day);
  snprintf(forms[11], room, "%s%s年%s月%s日", now.name, now.year == 1 ? "元" : below_100(now.year),
           below_100(m), below_100(day));
  snprintf(forms[12], room, "%c%d.%d.%d", now.letter, now.year, m, day);
  snprintf(forms[13], room, "%s%s%s%s年%s月%s日", ten[year / 1000], ten[year / 100 % 10],
           ten[year / 10 % 10], ten[year % 10], below_100(m), below_100(day));
}

static int form_of(const char *source, const struct tm *day) {
  char forms[FORMS][ATTN_EXAMPLE_SIZE];
  forms_of(day, forms);
  for (int form = 0; form < FORMS; form++)
    if (!strcmp(source, forms[form])) return form;
  return -1;
}

/* ---- Tests ---- */

static void assert_share(int count, int total, double p) {
  double wrong = fabs(count - total * p), deviation = sqrt(total * p * (1 - p));
  if (wrong > 5 * deviation) fail_msg("%d of %d, expected %g", count, total, total * p);
}

static void test_notations(void **state) {
  (void)state;
  enum { MANY = 300000 };
  int of_form[FORMS] = {0};
  for (int n = 0; n < MANY; n++) {
    struct attn_aligned_pair pair;
    attn_task_make(attn_task_find("dates"), 4, (uint64_t)n, n % 10 == 0, &pair);
    int day = find_day(pair.target);
    if (day < 0) fail_msg("%s: no day is %s", pair.source, pair.target);
    int form = form_of(pair.source, &days[day]);
    if (form < 0) fail_msg("%s is not %s", pair.source, pair.target);
    of_form[form]++;
  }
  of_form[0] += of_form[2]; /* in May they are the same */
  assert_share(of_form[0], MANY, 2. / FORMS);
  for (int form = 3; form < FORMS; form++) assert_share(of_form[form], MANY, 1. / FORMS);
}

static const struct {
  const char *target, *sources[4];
} known[] = {
    {"1912-07-29",
     {"明治45年7月29日", "明治四十五年七月二十九日", "M45.7.29", "一九一二年七月二十九日"}},
    {"1912-07-30", {"大正元年7月30日", "大正元年七月三十日", "T1.7.30", "一九一二年七月三十日"}},
    {"1926-12-24",
     {"大正15年12月24日", "大正十五年十二月二十四日", "T15.12.24", "the 24th of December 1926"}},
    {"1926-12-25",
     {"昭和元年12月25日", "昭和元年十二月二十五日", "S1.12.25", "Saturday, 25 December 1926"}},
    {"1989-01-07",
     {"昭和64年1月7日", "昭和六十四年一月七日", "S64.1.7", "Saturday, 7 January 1989"}},
    {"1989-01-08", {"平成元年1月8日", "平成元年一月八日", "H1.1.8", "08/01/1989"}},
    {"2019-04-30", {"平成31年4月30日", "平成三十一年四月三十日", "H31.4.30", "April 30, 2019"}},
    {"2019-05-01", {"令和元年5月1日", "令和元年五月一日", "R1.5.1", "May 1st, 2019"}},
    {"2020-01-01", {"令和2年1月1日", "令和二年一月一日", "R2.1.1", "2020/01/01"}},
    {"2000-02-29",
     {"平成12年2月29日", "平成十二年二月二十九日", "H12.2.29", "二〇〇〇年二月二十九日"}},
    {"2024-02-29", {"令和6年2月29日", "令和六年二月二十九日", "R6.2.29", "29 Feb 2024"}},
    {"1900-03-01", {"明治33年3月1日", "明治三十三年三月一日", "M33.3.1", "1900.3.1"}},
};
enum { KNOWN = sizeof known / sizeof *known };

/* What occurs on which side; a form of a day is missed with a chance of e^-11. */
static int sides[DAYS];
static unsigned seen[KNOWN];

static void note(int side, const struct attn_aligned_pair *pair) {
  int day = find_day(pair->target);
  if (day >= 0) sides[day] |= 1 << side;
  for (int k = 0; k < KNOWN; k++)
    for (int f = 0; f < 4 && !strcmp(pair->target, known[k].target); f++)
      if (!strcmp(pair->source, known[k].sources[f])) seen[k] |= 1u << f;
}

static void draw_many(void) {
  for (int side = 0; side < 2; side++)
    for (uint64_t n = 0, count = side ? 900000 : 8000000; n < count; n++) {
      struct attn_aligned_pair pair;
      attn_task_make(attn_task_find("dates"), 6, n, side, &pair);
      note(side, &pair);
    }
}

static int set_up(void **state) {
  (void)state;
  for (int day = 0; day < DAYS; day++) {
    time_t seconds = (time_t)(day - BEFORE_1970) * 86400;
    days[day] = *gmtime(&seconds);
  }
  draw_many();
  return 0;
}

static void test_all_days_occur(void **state) {
  (void)state;
  int held_out = 0;
  for (int day = 0; day < DAYS; day++) {
    assert_true(sides[day] == 1 || sides[day] == 2);
    held_out += sides[day] == 2;
  }
  assert_share(held_out, DAYS, 0.1);
}

static void test_known_days(void **state) {
  (void)state;
  for (int k = 0; k < KNOWN; k++)
    if (seen[k] != 15) fail_msg("%s: forms %x of f came", known[k].target, seen[k]);
}

static void test_no_leap_day_in_1900(void **state) {
  (void)state;
  assert_int_equal(find_day("1900-02-29"), -1); /* so the test above would detect it */
  assert_int_equal(find_day("2023-02-29"), -1);
  assert_true(find_day("2000-02-29") > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_calendar),
      cmocka_unit_test(test_notations),
      cmocka_unit_test(test_all_days_occur),
      cmocka_unit_test(test_known_days),
      cmocka_unit_test(test_no_leap_day_in_1900),
  };
  return cmocka_run_group_tests(tests, set_up, NULL);
}
