/* layer_case.h -- checks that the gradients of a tape are the derivatives of what it computed.
 *
 * The loss is sum r y with random r. Its derivative along a random direction d of one operand is
 * sum dx d, and is compared to differences of fourth order, up to their rounding, of some 32 u sum
 * |r y| / e for steps of e, and their truncation error, of the order e^4. */
#ifndef TEST_LAYER_CASE_H
#define TEST_LAYER_CASE_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "random.h"
#include "tape.h"

enum { LEAVES = 9, MEMORY = 1 << 20 };
static const double step = 1.0 / 32;

/* Operands and the function that builds y from them. */
struct layer_case {
  struct attn_tape_variable leaf[LEAVES];
  int leaves;
  struct attn_tape_variable *(*build)(struct attn_tape *tape, struct layer_case *layer);
  int kind;
  double dropout;
};

static struct attn_tape tape;
static float *weights; /* r */

static inline int begin(void **state) {
  (void)state;
  tape = (struct attn_tape){.training = 1, .host.threads = 2};
  tape.data = (struct attn_arena){aligned_alloc(64, MEMORY), MEMORY, 0, 0};
  return 0;
}

static inline int end(void **state) {
  (void)state;
  attn_tape_close(&tape);
  return 0;
}

static inline struct attn_tape_variable *leaf(struct layer_case *s, int64_t n, int64_t width) {
  struct attn_tape_variable *v = &s->leaf[s->leaves++];
  *v = (struct attn_tape_variable){.x = calloc((size_t)(n * width), sizeof(float)),
                                   .dx = calloc((size_t)(n * width), sizeof(float)),
                                   .n = n,
                                   .width = width};
  for (int64_t e = 0; e < n * width; e++) v->x[e] = uniform();
  return v;
}

/* The loss; *size is the sum of its terms' magnitudes. */
static inline double run(struct layer_case *s, int differentiates, double *size) {
  double sum = 0;
  attn_tape_start(&tape);
  struct attn_tape_variable *y = s->build(&tape, s);
  assert_int_equal(tape.status, ATTN_OK);
  *size = 0;
  for (int64_t e = 0; e < y->n * y->width; e++) {
    double term = (double)weights[e] * (double)y->x[e];
    sum += term, *size += fabs(term), y->dx[e] = weights[e];
  }
  if (differentiates) attn_tape_backward(&tape);
  assert_int_equal(tape.status, ATTN_OK);
  return sum;
}

static inline double moved(struct layer_case *s, struct attn_tape_variable *v,
                           const float *direction, double by) {
  int64_t count = v->n * v->width;
  float *kept = malloc((size_t)count * sizeof *kept);
  double size;
  memcpy(kept, v->x, (size_t)count * sizeof *kept);
  for (int64_t e = 0; e < count; e++) v->x[e] += (float)by * direction[e];
  double sum = run(s, 0, &size);
  memcpy(v->x, kept, (size_t)count * sizeof *kept);
  free(kept);
  return sum;
}

static inline void check_derivative(struct layer_case *s, int number) {
  struct attn_tape_variable *v = &s->leaf[number];
  int64_t count = v->n * v->width;
  float *direction = malloc((size_t)count * sizeof *direction);
  double exact = 0, size;
  for (int64_t e = 0; e < count; e++)
    direction[e] = chance(2) ? 1 : -1, exact += (double)direction[e] * (double)v->dx[e];
  double one = moved(s, v, direction, step) - moved(s, v, direction, -step);
  double two = moved(s, v, direction, 2 * step) - moved(s, v, direction, -2 * step);
  double found = (8 * one - two) / (12 * step);
  run(s, 0, &size);
  double bound = size * (32 * 0x1p-24 / step + 4096 * pow(step, 4) / 24);
  if (!(fabs(found - exact) <= bound))
    fail_msg("operand %d: derivative %g, differences give %g +- %g", number, exact, found, bound);
  free(direction);
}

static inline void check(struct layer_case *s) {
  double size;
  weights = malloc(MEMORY);
  for (int e = 0; e < 4096; e++) weights[e] = uniform();
  run(s, 1, &size);
  for (int n = 0; n < s->leaves; n++) check_derivative(s, n);
  for (int n = 0; n < s->leaves; n++) free(s->leaf[n].x), free(s->leaf[n].dx);
  free(weights);
}

#endif
