/* The version that ATTN_CLONES selects on this CPU has the bits of the same source compiled for the
 * baseline, whose functions are named plain_ here (CMakeLists.txt). Tested for all widths and for
 * values of all magnitudes. Tests nothing on a CPU without AVX2. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "bf16.h"
#include "layers.h"
#include "optimizer.h"
#include "random.h"
#include "recurrent.h"
#include "winograd.h"

__typeof__(attn_activation_forward) plain_activation_forward;
__typeof__(attn_activation_backward) plain_activation_backward;
__typeof__(attn_residual_forward) plain_residual_forward;
__typeof__(attn_residual_backward) plain_residual_backward;
__typeof__(attn_norm_layer_forward) plain_norm_layer_forward;
__typeof__(attn_norm_layer_backward) plain_norm_layer_backward;
__typeof__(attn_cross_entropy_forward) plain_cross_entropy_forward;
__typeof__(attn_logits_summarize) plain_logits_summarize;
__typeof__(attn_adamw_step) plain_adamw_step;
__typeof__(attn_cell_forward) plain_cell_forward;
__typeof__(attn_cell_backward) plain_cell_backward;
__typeof__(attn_alignment_forward) plain_alignment_forward;
__typeof__(attn_alignment_backward) plain_alignment_backward;
__typeof__(attn_winograd_forward) plain_winograd_forward;
__typeof__(attn_winograd_dx) plain_winograd_dx;
__typeof__(attn_winograd_dw) plain_winograd_dw;
__typeof__(attn_convert_to_bf16) plain_convert_to_bf16;

enum { ROWS = 5, WIDTH = 200, SIZE = 2 * ROWS * WIDTH, CALLS = 300 };

static const struct attn_host host = {.threads = 1};
static float x[SIZE], f[SIZE], weight[SIZE];
static float ours[4][SIZE], theirs[4][SIZE]; /* outputs, and gradients that are accumulated */
static int64_t n, width;

static void draw(float *to, float scale) {
  for (int k = 0; k < SIZE; k++) to[k] = uniform() * scale;
}

static void begin(void) {
  static const float scales[] = {0x1p-20f, 1, 8, 100};
  n = 1 + below(ROWS), width = 1 + below(WIDTH);
  draw(x, scales[below(4)]), draw(f, scales[below(4)]), draw(weight, 1);
  for (int k = 0; k < 4; k++) {
    draw(ours[k], 1);
    memcpy(theirs[k], ours[k], sizeof *ours);
  }
}

static void end(void) { assert_memory_equal(ours, theirs, sizeof ours); }

static void activations(void **state) {
  (void)state;
  for (int call = 0; call < CALLS; call++) {
    enum attn_activation kind = (enum attn_activation)(call % (ATTN_SILU + 1));
    begin();
    if (chance(9)) x[0] = INFINITY, x[1] = -INFINITY, x[2] = -0.0f, x[3] = 0x1p-149f;
    attn_activation_forward(&host, kind, ours[0], x, n, width);
    plain_activation_forward(&host, kind, theirs[0], x, n, width);
    const int adds = chance(2);
    attn_activation_backward(&host, kind, (struct attn_gradient){ours[1], adds}, f, x, n, width);
    plain_activation_backward(&host, kind, (struct attn_gradient){theirs[1], adds}, f, x, n, width);
    end();
  }
}

static void residuals(void **state) {
  (void)state;
  for (int call = 0; call < CALLS; call++) {
    begin();
    const struct attn_dropout drop = {chance(3) ? 0 : 0.3, random_bits(), random_bits() % 9,
                                      below(1000), 0};
    const float *to = chance(3) ? NULL : x;
    attn_residual_forward(&host, &drop, ours[0], to, f, n, width);
    plain_residual_forward(&host, &drop, theirs[0], to, f, n, width);
    const int x_adds = chance(2), f_adds = chance(2);
    attn_residual_backward(&host, &drop, (struct attn_gradient){ours[1], x_adds},
                           (struct attn_gradient){ours[2], f_adds}, f, n, width);
    plain_residual_backward(&host, &drop, (struct attn_gradient){theirs[1], x_adds},
                            (struct attn_gradient){theirs[2], f_adds}, f, n, width);
    end();
  }
}

static void norms(void **state) {
  (void)state;
  struct attn_norm_row row[ROWS], plain_row[ROWS];
  for (int call = 0; call < CALLS; call++) {
    begin();
    const struct attn_norm_layer l = {
        n, width, chance(2), 1e-5, x, weight, chance(2) ? weight + WIDTH : NULL, row};
    struct attn_norm_layer plain = l;
    plain.row = plain_row;
    attn_norm_layer_forward(&host, &l, ours[0]);
    plain_norm_layer_forward(&host, &plain, theirs[0]);
    assert_memory_equal(row, plain_row, (size_t)n * sizeof *row);
    const int adds = chance(2);
    attn_norm_layer_backward(&host, &l, (struct attn_gradient){ours[1], adds}, ours[2], ours[3], f);
    plain_norm_layer_backward(&host, &plain, (struct attn_gradient){theirs[1], adds}, theirs[2],
                              theirs[3], f);
    end();
  }
}

static void losses(void **state) {
  (void)state;
  for (int call = 0; call < CALLS; call++) {
    begin();
    int32_t targets[ROWS];
    double scratch[2][ROWS], smoothing = chance(2) ? 0.1 : 0;
    int evaluate = chance(3), has_sum = chance(2);
    for (int row = 0; row < ROWS; row++)
      targets[row] = chance(5) ? ATTN_IGNORE_INDEX : (int32_t)below(width);
    memcpy(ours[0], x, sizeof x), memcpy(theirs[0], x, sizeof x);
    struct attn_loss a = attn_cross_entropy_forward(&host, ours[0], targets, n, width, smoothing,
                                                    0.3f, evaluate, scratch[0]);
    struct attn_loss b = plain_cross_entropy_forward(&host, theirs[0], targets, n, width, smoothing,
                                                     0.3f, evaluate, scratch[1]);
    assert_true(a.sum == b.sum && a.rows == b.rows && a.correct == b.correct);
    struct attn_logits_summary c = attn_logits_summarize(x, width, has_sum),
                               d = plain_logits_summarize(x, width, has_sum);
    assert_true(c.max == d.max && c.log_sum_exp == d.log_sum_exp);
    end();
  }
}

static void steps_of_adamw(void **state) {
  (void)state;
  const struct attn_adamw adam = {0.9, 0.999, 1e-8, 0.01};
  for (int call = 0; call < CALLS; call++) {
    begin();
    for (int k = 0; k < SIZE; k++) theirs[2][k] = ours[2][k] = fabsf(ours[2][k]);
    struct attn_adamw_group m = {ours[0], ours[1], ours[2], x, n * width, chance(2)}, plain = m;
    plain.w = theirs[0], plain.m = theirs[1], plain.v = theirs[2];
    attn_adamw_step(&host, &adam, 1 + call, 1e-3, 0.7, &m);
    plain_adamw_step(&host, &adam, 1 + call, 1e-3, 0.7, &plain);
    end();
  }
}

static void roundings(void **state) {
  (void)state;
  static uint16_t rounded[2][SIZE];
  for (int call = 0; call < CALLS; call++) {
    begin();
    attn_convert_to_bf16(&host, rounded[0], x, n * width),
        plain_convert_to_bf16(&host, rounded[1], x, n * width);
    assert_memory_equal(rounded[0], rounded[1], sizeof rounded[0]);
  }
}

static void cells(void **state) {
  (void)state;
  static float gates[SIZE], c[SIZE];
  for (int call = 0; call < CALLS; call++) {
    begin();
    const struct attn_recurrent_cell s = {
        (enum attn_gated_cell)below(2), n, (1 + width) / 2, x, f, weight};
    attn_cell_forward(&host, &s, ours[0], ours[1], ours[2]);
    plain_cell_forward(&host, &s, theirs[0], theirs[1], theirs[2]);
    end();
    memcpy(c, ours[1], sizeof c), memcpy(gates, ours[2], sizeof gates);
    const float *dc = chance(3) ? NULL : f;
    attn_cell_backward(&host, &s, gates, c, ours[1], ours[2], ours[3], x, dc);
    plain_cell_backward(&host, &s, gates, c, theirs[1], theirs[2], theirs[3], x, dc);
    end();
  }
}

static void alignments(void **state) {
  (void)state;
  static float context[SIZE], weights[SIZE], scratch[SIZE], d_a[2][SIZE];
  for (int call = 0; call < CALLS; call++) {
    begin();
    const struct attn_alignment s = {(enum attn_alignment_kind)(call % 3),
                                     n,
                                     1 + below(4),
                                     1 + width / 2,
                                     1 + below(100),
                                     0.3f,
                                     weight,
                                     x,
                                     weight + SIZE / 2,
                                     f};
    attn_alignment_forward(&host, &s, ours[0], ours[1]);
    plain_alignment_forward(&host, &s, theirs[0], theirs[1]);
    end();
    memcpy(context, ours[0], sizeof context), memcpy(weights, ours[1], sizeof weights);
    attn_alignment_backward(&host, &s, context, weights, ours[0], ours[1], d_a[0], ours[2], x,
                            scratch);
    plain_alignment_backward(&host, &s, context, weights, theirs[0], theirs[1], d_a[1], theirs[2],
                             x, scratch);
    end(), assert_memory_equal(d_a[0], d_a[1], sizeof d_a[0]);
  }
}

static void convolutions_by_tiles(void **state) {
  (void)state;
  static float filters[9 * 40 * 40], d_filters[2][9 * 40 * 40];
  for (int call = 0; call < CALLS / 3; call++) {
    begin();
    const struct attn_convolution c = {
        1, 1 + below(7), 1 + below(7), 1 + below(40), 1 + below(40), 1, x, filters};
    for (int k = 0; k < 9 * 40 * 40; k++) filters[k] = uniform();
    attn_winograd_forward(&host, &c, ours[0], weight, NULL);
    plain_winograd_forward(&host, &c, theirs[0], weight, NULL);
    attn_winograd_dx(&host, &c, ours[1], f, NULL), plain_winograd_dx(&host, &c, theirs[1], f, NULL);
    attn_winograd_dw(&host, &c, d_filters[0], f, NULL);
    plain_winograd_dw(&host, &c, d_filters[1], f, NULL);
    end(), assert_memory_equal(d_filters[0], d_filters[1], sizeof d_filters[0]);
  }
}

int main(int argc, char **argv) {
  random_begin(argc, argv);
  const struct CMUnitTest tests[] = {cmocka_unit_test(activations),
                                     cmocka_unit_test(residuals),
                                     cmocka_unit_test(norms),
                                     cmocka_unit_test(losses),
                                     cmocka_unit_test(steps_of_adamw),
                                     cmocka_unit_test(roundings),
                                     cmocka_unit_test(cells),
                                     cmocka_unit_test(alignments),
                                     cmocka_unit_test(convolutions_by_tiles)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
