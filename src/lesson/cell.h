/* cell.h -- printed numbers and arithmetic on them with their intervals. */
#ifndef ATTN_LESSON_CELL_H
#define ATTN_LESSON_CELL_H

#include <stdint.h>

#include "attn/lesson.h"

/* Digits (with at most one point) and a power of ten, as printed: 7071, -4 for 0.7071. Correctly
 * rounded, whatever the locale. Infinite where it is beyond a double. */
double attn_decimal(const char *digits, size_t count, long exponent);

attn_cell attn_cell_literal(double value, int decimals, double half_unit);
attn_cell attn_cell_exact(double value); /* kind EXACT */
attn_cell attn_cell_blank(void);

/* Blank because it is left to the reader: an ellipsis. decimals of such a cell: OPEN. */
enum { ATTN_CELL_OPEN = -2 };
attn_cell attn_cell_open(void);

/* Operands of an expression: an integer literal is exact there. */
attn_cell attn_cell_binary(char operation, attn_cell a, attn_cell b); /* + - * / ^ */
attn_cell attn_cell_negate(attn_cell a);
attn_cell attn_cell_percent(attn_cell a);
attn_cell attn_cell_function(double (*function)(double), attn_cell a); /* monotone: exp, sqrt, .. */

/* Scores below are as good as minus infinity, where the largest of the others has this magnitude:
 * -1e4, -65504, -1000000000.0 next to 12.5. */
enum { ATTN_HIDDEN = -9000 };
double attn_hidden_below(double largest);

/* Half a unit of a decimal's last digit; 0 of an integer, which is exact. */
double attn_cell_half(const attn_cell *cell);

/* 2017: no value of a worked example. */
int attn_is_year(const attn_cell *cell);

/* Does it differ by so many halves of a unit of the last digit at most? */
int attn_cell_is_near(const attn_cell *cell, double value, int halves);

/* Where a number is printed: a key that orders by line, then column; and the order of keys. */
uint64_t attn_cell_place(const attn_cell *cell);
int attn_compare_places(const void *a, const void *b);
int attn_cell_compare(const attn_cell *a, const attn_cell *b); /* by their places */

#endif
