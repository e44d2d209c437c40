/* Convolutions, cells and alignment on a tape: gradients are derivatives (layer_case.h), also over
 * steps that share keys; the same bits for any number of threads and with shared memory of
 * gradients. PyTorch: tests/python/test_layers.py.
 *
 *     test_recurrent [SEED] */
#include "layer_case.h"
#include "tape_recurrent.h"

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

/* ---- Derivatives ---- */

enum { HEIGHT = 5, WIDTH = 4 };

static struct attn_tape_variable *build_convolution(struct attn_tape *t, struct layer_case *s) {
  return attn_tape_convolve(t, &s->leaf[0], HEIGHT, WIDTH, s->kind, &s->leaf[1],
                            s->leaves > 2 ? &s->leaf[2] : NULL);
}

static void convolutions(void **state) {
  (void)state;
  for (int stride = 1; stride <= 2; stride++)
    for (int bias = 0; bias < 2; bias++) {
      struct layer_case s = {.build = build_convolution, .kind = stride};
      leaf(&s, 2 * HEIGHT * WIDTH, 3), leaf(&s, 9 * 3, 7);
      if (bias) leaf(&s, 1, 7);
      check(&s);
    }
}

/* Two steps of a cell: x, h, c, W_ih, W_hh, b_ih, b_hh. kind 1: GRU, without c. */
static struct attn_tape_variable *build_cell(struct attn_tape *t, struct layer_case *s) {
  struct attn_tape_variable *l = s->leaf, *h = &l[1], *c = &l[2];
  for (int n = 0; n < 2; n++) {
    struct attn_tape_variable *x = attn_tape_linear(t, &l[0], &l[3], &l[5]),
                              *r = attn_tape_linear(t, h, &l[4], &l[6]);
    h = attn_tape_cell(t, x, r, h, s->kind ? NULL : &c);
  }
  if (s->kind) return h;
  return attn_tape_stack(t, (struct attn_tape_variable *const[]){h, c}, 2);
}

static void draw_cell(struct layer_case *s, int64_t n, int64_t in, int64_t width) {
  const int64_t gates = s->kind ? 3 * width : 4 * width;
  leaf(s, n, in), leaf(s, n, width), leaf(s, n, width), leaf(s, gates, in), leaf(s, gates, width);
  leaf(s, 1, gates), leaf(s, 1, gates);
}

static void cells(void **state) {
  (void)state;
  for (int kind = 0; kind < 2; kind++) {
    struct layer_case s = {.build = build_cell, .kind = kind};
    draw_cell(&s, 3, 2, 3);
    check(&s);
  }
}

/* Two steps with queries of their own: q, q', k, a, z. */
static struct attn_tape_variable *build_alignment(struct attn_tape *t, struct layer_case *s) {
  const int uniform = s->kind == ATTN_ALIGNMENT_UNIFORM, has_a = s->kind == ATTN_ALIGNMENT_ADDITIVE;
  struct attn_tape_variable *step_of[2];
  const float *w;
  for (int n = 0; n < 2; n++)
    step_of[n] = attn_tape_align(t, (enum attn_alignment_kind)s->kind, 0.7f,
                                 uniform ? NULL : &s->leaf[n], uniform ? NULL : &s->leaf[2],
                                 has_a ? &s->leaf[3] : NULL, &s->leaf[4], 3, &w);
  return attn_tape_stack(t, step_of, 2);
}

static void alignments(void **state) {
  (void)state;
  for (int kind = 0; kind < 3; kind++) {
    struct layer_case s = {.build = build_alignment, .kind = kind};
    leaf(&s, 3, 5), leaf(&s, 3, 5), leaf(&s, 3 * 4, 5), leaf(&s, 1, 5), leaf(&s, 3 * 4, 2);
    check(&s);
  }
}

static struct attn_tape_variable *build_rows(struct attn_tape *t, struct layer_case *s) {
  struct attn_tape_variable *a = attn_tape_rows(t, &s->leaf[0], 1, 3),
                            *b = attn_tape_rows(t, &s->leaf[0], 2, 4);
  return attn_tape_stack(t, (struct attn_tape_variable *const[]){a, &s->leaf[1], b}, 3);
}

static void copies_of_rows(void **state) {
  (void)state;
  struct layer_case s = {.build = build_rows};
  leaf(&s, 6, 5), leaf(&s, 2, 5);
  check(&s);
}

/* ---- A decoder: convolution, keys, two steps of alignment and LSTM ---- */

/* Leaves: image, filter, W_k, W_q, a, h, W_hh, W_ih (of the context). */
static struct attn_tape_variable *build_decoder(struct attn_tape *t, struct layer_case *s) {
  struct attn_tape_variable *l = s->leaf, *h = &l[5], *c = &l[5], *out[2];
  const float *w;
  struct attn_tape_variable *z = attn_tape_convolve(t, &l[0], HEIGHT, WIDTH, 2, &l[1], NULL);
  struct attn_tape_variable *k = attn_tape_linear(t, z, &l[2], NULL);
  for (int n = 0; n < 2; n++) {
    struct attn_tape_variable *q = attn_tape_linear(t, h, &l[3], NULL);
    struct attn_tape_variable *context =
        attn_tape_align(t, ATTN_ALIGNMENT_ADDITIVE, 1, q, k, &l[4], z, l[5].n, &w);
    struct attn_tape_variable *x = attn_tape_linear(t, context, &l[7], NULL),
                              *r = attn_tape_linear(t, h, &l[6], NULL);
    h = out[n] = attn_tape_cell(t, x, r, h, &c);
  }
  return attn_tape_stack(t, out, 2);
}

static void draw_decoder(struct layer_case *s, int64_t n, int64_t in, int64_t out, int64_t units,
                         int64_t d) {
  s->build = build_decoder;
  leaf(s, n * HEIGHT * WIDTH, in), leaf(s, 9 * in, out), leaf(s, units, out), leaf(s, units, d);
  leaf(s, 1, units), leaf(s, n, d), leaf(s, 4 * d, d), leaf(s, 4 * d, out);
}

/* Smaller operands: the derivatives of the whole are then those of one layer in size. */
static void decoders(void **state) {
  (void)state;
  struct layer_case s = {.leaves = 0};
  draw_decoder(&s, 2, 2, 3, 4, 3);
  for (int n = 0; n < s.leaves; n++)
    for (int64_t e = 0; e < s.leaf[n].n * s.leaf[n].width; e++) s.leaf[n].x[e] *= 0.4f;
  check(&s);
}

/* Runs the decoder on a tape of its own; the gradients of the leaves are in their dx. */
static void differentiate(struct layer_case *s, int32_t threads, int shares_gradients) {
  struct attn_tape t = {.training = 1, .shares_gradients = shares_gradients};
  t.host.threads = threads;
  for (int n = 0; n < s->leaves; n++)
    memset(s->leaf[n].dx, 0, (size_t)(s->leaf[n].n * s->leaf[n].width) * sizeof(float));
  s->build(&t, s);
  assert_int_equal(attn_tape_reserve(&t, NULL), ATTN_OK);
  struct attn_tape_variable *y = s->build(&t, s);
  float *ones = malloc((size_t)(y->n * y->width) * sizeof *ones);
  for (int64_t e = 0; e < y->n * y->width; e++) ones[e] = (float)(e % 5) - 2;
  y->dx = ones;
  attn_tape_backward(&t);
  assert_int_equal(t.status, ATTN_OK);
  attn_tape_close(&t), free(ones);
}

static void bits_do_not_depend_on_threads_or_shared_memory(void **state) {
  (void)state;
  struct layer_case s = {.leaves = 0};
  float *kept[LEAVES];
  draw_decoder(&s, 40, 3, 48, 70, 65);
  differentiate(&s, 1, 0);
  for (int n = 0; n < s.leaves; n++) {
    size_t bytes = (size_t)(s.leaf[n].n * s.leaf[n].width) * sizeof(float);
    memcpy(kept[n] = malloc(bytes), s.leaf[n].dx, bytes);
  }
  for (int32_t threads = 1; threads <= 3; threads++) {
    differentiate(&s, threads, 1);
    for (int n = 0; n < s.leaves; n++)
      assert_memory_equal(s.leaf[n].dx, kept[n],
                          (size_t)(s.leaf[n].n * s.leaf[n].width) * sizeof(float));
  }
  for (int n = 0; n < s.leaves; n++) free(kept[n]), free(s.leaf[n].x), free(s.leaf[n].dx);
}

int main(int argc, char **argv) {
  random_begin(argc, argv);
  const struct CMUnitTest tests[] = {
      TEST(convolutions), TEST(cells),
      TEST(alignments),   TEST(copies_of_rows),
      TEST(decoders),     cmocka_unit_test(bits_do_not_depend_on_threads_or_shared_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
