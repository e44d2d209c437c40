#include "cell.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
  DIGITS_KEPT = 770
}; /* more do not change which double is nearest, except for a sticky one */

double attn_decimal(const char *digits, size_t count, long exponent) {
  char buffer[DIGITS_KEPT + 32];
  size_t kept = 0, skip = 0;
  while (skip + 1 < count && digits[skip] == '0') skip++;
  for (size_t i = skip; i < count && kept < DIGITS_KEPT; i++) buffer[kept++] = digits[i];
  exponent += (long)(count - skip - kept);
  if (count - skip > kept) buffer[kept - 1] = '1'; /* what was cut off is not nothing */
  if (exponent > 99999) exponent = 99999;
  if (exponent < -99999) exponent = -99999;
  snprintf(buffer + kept, 32, "e%ld", exponent);
  return strtod(buffer, NULL); /* without a point in it no locale matters */
}

attn_cell attn_cell_literal(double value, int decimals, double half_unit) {
  attn_cell cell = {.kind = ATTN_CELL_NUMBER, .decimals = decimals, .value = value};
  /* Outwards, so that what rounds to the literal is surely inside. */
  cell.lo = nextafter(value - half_unit, -INFINITY);
  cell.hi = nextafter(value + half_unit, INFINITY);
  return cell;
}

attn_cell attn_cell_exact(double value) {
  return (attn_cell){
      .kind = ATTN_CELL_EXACT, .decimals = -1, .value = value, .lo = value, .hi = value};
}

attn_cell attn_cell_blank(void) {
  return (attn_cell){.kind = ATTN_CELL_BLANK, .decimals = -1, .value = NAN, .lo = NAN, .hi = NAN};
}

attn_cell attn_cell_open(void) {
  attn_cell cell = attn_cell_blank();
  cell.decimals = ATTN_CELL_OPEN;
  return cell;
}

static attn_cell operand(attn_cell a) {
  if (a.kind == ATTN_CELL_NUMBER && a.decimals == 0) {
    a.lo = a.hi = a.value;
    a.kind = ATTN_CELL_EXACT;
  } else if (a.kind == ATTN_CELL_NUMBER) {
    a.kind = ATTN_CELL_SUM;
  }
  a.decimals = -1;
  return a;
}

static double apply(char operation, double a, double b) {
  switch (operation) {
    case '+':
      return a + b;
    case '-':
      return a - b;
    case '*':
      return a == 0 || b == 0 ? 0 : a * b; /* 0 times infinity: a masked term */
    case '/':
      return a / b;
    default:
      return pow(a, b);
  }
}

/* All five are monotone in each operand where they are defined: the corners are the extremes. */
static void corners(char operation, attn_cell a, attn_cell b, attn_cell *r) {
  double x[4] = {apply(operation, a.lo, b.lo), apply(operation, a.lo, b.hi),
                 apply(operation, a.hi, b.lo), apply(operation, a.hi, b.hi)};
  r->lo = r->hi = x[0];
  for (int i = 0; i < 4; i++) {
    if (isnan(x[i])) r->lo = -INFINITY, r->hi = INFINITY;
    if (isnan(x[i])) return;
    if (x[i] < r->lo) r->lo = x[i];
    if (x[i] > r->hi) r->hi = x[i];
  }
}

attn_cell attn_cell_binary(char operation, attn_cell a, attn_cell b) {
  if (a.kind == ATTN_CELL_BLANK || b.kind == ATTN_CELL_BLANK) return attn_cell_blank();
  a = operand(a);
  b = operand(b);
  attn_cell r = {.decimals = -1, .value = apply(operation, a.value, b.value)};
  if (isnan(r.value)) return attn_cell_blank();
  int worked = operation == '+' || operation == '-' || operation == '*';
  r.kind = worked || a.kind == ATTN_CELL_SUM || b.kind == ATTN_CELL_SUM ? ATTN_CELL_SUM
                                                                        : ATTN_CELL_EXACT;
  if (a.lo == a.hi && b.lo == b.hi) {
    r.lo = r.hi = r.value;
  } else if (operation == '/' && b.lo <= 0 && b.hi >= 0) {
    r.lo = -INFINITY;
    r.hi = INFINITY;
  } else {
    corners(operation, a, b, &r);
  }
  return r;
}

attn_cell attn_cell_negate(attn_cell a) {
  double lo = a.lo;
  a.value = -a.value;
  a.lo = -a.hi;
  a.hi = -lo;
  return a;
}

attn_cell attn_cell_percent(attn_cell a) {
  if (a.kind == ATTN_CELL_NUMBER) {
    double half = (a.hi - a.lo) / 200;
    return attn_cell_literal(a.value / 100, a.decimals + 2, half);
  }
  return attn_cell_binary('/', a, attn_cell_exact(100));
}

attn_cell attn_cell_function(double (*function)(double), attn_cell a) {
  if (a.kind == ATTN_CELL_BLANK) return a;
  a = operand(a);
  double lo = function(a.lo), hi = function(a.hi);
  a.value = function(a.value);
  if (isnan(a.value)) return attn_cell_blank();
  a.lo = isnan(lo) ? -INFINITY : lo;
  a.hi = isnan(hi) ? INFINITY : hi;
  return a;
}

/* ---- masked scores ---- */

double attn_hidden_below(double largest) { return largest < 1000 ? ATTN_HIDDEN : -1e8; }

/* ---- places ---- */

double attn_cell_half(const attn_cell *cell) {
  return cell->decimals > 0 ? (cell->hi - cell->lo) / 2 : 0;
}

int attn_is_year(const attn_cell *cell) {
  return cell->decimals == 0 && cell->value >= 1900 && cell->value < 2100;
}

int attn_cell_is_near(const attn_cell *cell, double value, int halves) {
  return fabs(value - cell->value) <= halves * attn_cell_half(cell) + 1e-9 * (1 + fabs(value));
}

uint64_t attn_cell_place(const attn_cell *cell) {
  return (uint64_t)(uint32_t)cell->line << 32 | (uint32_t)cell->column;
}

int attn_compare_places(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

int attn_cell_compare(const attn_cell *a, const attn_cell *b) {
  uint64_t x = attn_cell_place(a), y = attn_cell_place(b);
  return attn_compare_places(&x, &y);
}
