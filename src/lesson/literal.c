/* literal.c -- numbers and dittos as they are printed. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "reader.h"

enum { DIGITS_MAX = 4096 };

struct digits {
  char text[DIGITS_MAX];
  size_t count;
  long fraction; /* how many stand behind the point */
  int point;
};

static int digit_at(const struct attn_reader *r, size_t at, size_t end, size_t *next) {
  if (at >= end) return -1;
  uint32_t g = attn_glyph(r->source.text, at, end, next);
  return g >= '0' && g <= '9' ? (int)(g - '0') : -1;
}

static int glyph_is(const struct attn_reader *r, size_t at, size_t end, uint32_t g, size_t *next) {
  return at < end && attn_glyph(r->source.text, at, end, next) == g;
}

/* Digits with a point among or before them; a point that no digit follows belongs to it too ("1.").
 */
static size_t mantissa(const struct attn_reader *r, size_t at, size_t end, struct digits *d) {
  size_t next;
  for (;;) {
    int digit = digit_at(r, at, end, &next);
    if (digit >= 0) {
      if (d->count < DIGITS_MAX) d->text[d->count++] = (char)('0' + digit);
      d->fraction += d->point;
    } else if (!d->point && glyph_is(r, at, end, '.', &next)) {
      size_t after;
      if (glyph_is(r, next, end, '.', &after)) return at; /* 1... */
      d->point = 1;
    } else {
      return at;
    }
    at = next;
  }
}

/* e-5, or nothing. */
static size_t e_exponent(const struct attn_reader *r, size_t at, size_t end, long *exponent) {
  size_t next, here = at;
  if (!glyph_is(r, here, end, 'e', &next) && !glyph_is(r, here, end, 'E', &next)) return at;
  here = next;
  int negative = glyph_is(r, here, end, '-', &next);
  if (negative || glyph_is(r, here, end, '+', &next)) here = next;
  int digit = digit_at(r, here, end, &next), any = digit >= 0;
  for (; digit >= 0; digit = digit_at(r, here, end, &next)) {
    if (*exponent < 100000) *exponent = *exponent * 10 + digit;
    here = next;
  }
  if (!any) *exponent = 0;
  if (negative) *exponent = -*exponent;
  return any ? here : at;
}

int attn_literal(struct attn_reader *r, size_t *at, size_t end, attn_cell *cell) {
  struct digits d;
  d.count = 0, d.fraction = 0, d.point = 0;
  size_t begin = *at, here = mantissa(r, begin, end, &d);
  if (d.count == 0) return ATTN_NO;
  if (d.count == DIGITS_MAX)
    return attn_reader_fail(r, begin, "a number of %d digits or more: round it", DIGITS_MAX);
  long exponent = 0;
  here = e_exponent(r, here, end, &exponent);
  double value = attn_decimal(d.text, d.count, exponent - d.fraction);
  if (isinf(value))
    return attn_reader_fail(r, begin,
                            "%.*s is beyond the range of a double: write inf or a smaller number",
                            (int)(here - begin > 40 ? 40 : here - begin), r->source.text + begin);
  long decimals = d.fraction - exponent;
  double half = attn_decimal("5", 1, -decimals - 1);
  *cell = attn_cell_literal(value, decimals > 0 ? (int)decimals : 0, half);
  *at = here;
  return ATTN_YES;
}

/* A number written in digits, small. */
static long small_number(const struct attn_reader *r, size_t *at, size_t end) {
  long n = 0;
  size_t next;
  while (glyph_is(r, *at, end, ' ', &next)) *at = next;
  for (int digit; n < 100000 && (digit = digit_at(r, *at, end, &next)) >= 0; *at = next)
    n = n * 10 + digit;
  return n;
}

static int skip_words(const struct attn_reader *r, size_t *at, size_t end, const char *words) {
  size_t here = *at, next;
  for (; *words; words++) {
    if (here >= end) return 0;
    uint32_t g = attn_glyph(r->source.text, here, end, &next);
    if (g > 127 || tolower((int)g) != *words) return 0;
    here = next;
  }
  *at = here;
  return 1;
}

static int japanese_ditto(const struct attn_reader *r, size_t *at, size_t end, long *row) {
  size_t here = *at + 3; /* behind 同 */
  *row = 0;
  if (attn_starts(r, here, end, "上")) return *at = here + 3, 1;
  if (attn_starts(r, here, end, "じく")) here += 6;
  *row = small_number(r, &here, end);
  if (*row == 0 || !attn_starts(r, here, end, "行目")) return 0;
  *at = here + 6;
  return 1;
}

int attn_ditto(const struct attn_reader *r, size_t *at, size_t end, long *row) {
  size_t here = *at;
  unsigned char first = (unsigned char)r->source.text[here];
  *row = 0;
  if (first == 0xE5 && attn_starts(r, here, end, "同")) return japanese_ditto(r, at, end, row);
  if (first == 0xE3 && (attn_starts(r, here, end, "〃") || attn_starts(r, here, end, "々")))
    return *at = here + 3, 1;
  if ((first | 32) == 'd') return skip_words(r, at, end, "ditto");
  if ((first | 32) != 's' || !skip_words(r, &here, end, "same as ")) return 0;
  int above = skip_words(r, &here, end, "above") || skip_words(r, &here, end, "the row above");
  if (!above && skip_words(r, &here, end, "row ")) *row = small_number(r, &here, end);
  if (!above && *row == 0) return 0;
  *at = here;
  return 1;
}
