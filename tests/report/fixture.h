/* fixture.h -- lessons built by hand, and a sink that records the text. */
#ifndef ATTN_TESTS_REPORT_FIXTURE_H
#define ATTN_TESTS_REPORT_FIXTURE_H

#include "attn/lesson.h"

enum { STEPS_MAX = 24, CELLS_MAX = 24 * 64, TEXT_MAX = 1 << 18 };

/* One example with its own memory; nothing to free. */
struct fixture {
  attn_lesson lesson;
  attn_example example;
  attn_step step[STEPS_MAX];
  double cells[CELLS_MAX];
  int cells_used;
  char *tokens[16];
  attn_printing printing[STEPS_MAX];
  attn_cell printed[CELLS_MAX];
  int printings, printed_used;
};

void fixture_begin(struct fixture *f, const char *title);

/* tokens: separated by single spaces; of keys and queries alike. The text must outlive f. */
void fixture_tokens(struct fixture *f, char *tokens);

/* Adds a step and returns its index. values: the exact values, row-major. */
int fixture_given(struct fixture *f, int name, const char *symbol, int rows, int cols,
                  const double *values);
int fixture_step(struct fixture *f, int name, const char *symbol, int op, int operands,
                 const int *operand, int rows, int cols, const double *values);

/* Prints a step once, at a line; values: rows * cols, NaN is a blank, decimals as in attn_cell. */
void fixture_print(struct fixture *f, int step, int line, int decimals, const double *values);

/* Two tokens, one head, integers up to the scores; causal: with a mask.
 * X = W_Q = W_K = [1 0; 0 1], W_V = [2 0; 0 4]. */
void fixture_attention(struct fixture *f, int causal);

/* What was written; calls fail once left runs out (-1: never). */
struct kept {
  char text[TEXT_MAX];
  size_t bytes;
  long left;
};
attn_sink kept_sink(struct kept *k);

/* calloc fails at this call (from 1), counted since it was set; 0: never. */
extern long calloc_fails_at;

#endif
