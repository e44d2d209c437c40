/* The gradients of a tape are the derivatives of what it computed, for every layer (layer_case.h).
 *
 *     test_tape [SEED] */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "layer_case.h"

#define assert_near(got, expected, most) assert_true(fabs((double)(got) - (expected)) <= (most))

enum { N = 7 };

/* ---- Layers ---- */

static struct attn_tape_variable *build_linear(struct attn_tape *t, struct layer_case *s) {
  return attn_tape_linear(t, &s->leaf[0], &s->leaf[1], s->leaves > 2 ? &s->leaf[2] : NULL);
}

static void linear(void **state) {
  (void)state;
  for (int bias = 0; bias < 2; bias++) {
    struct layer_case s = {.build = build_linear};
    leaf(&s, N, 5), leaf(&s, 9, 5);
    if (bias) leaf(&s, 1, 9);
    check(&s);
  }
}

/* More columns than one thread sums. */
static void sums_of_biases_do_not_depend_on_threads(void **state) {
  (void)state;
  enum { OUT = 600 };
  static float dy[N * OUT], x[N * 2], db[2][OUT];
  for (int e = 0; e < N * OUT; e++) dy[e] = uniform();
  for (int32_t k = 0; k < 2; k++) {
    const struct attn_host host = {.threads = 1 + k};
    memset(db[k], 0, sizeof db[k]);
    const struct attn_linear l = {N, 2, OUT, ATTN_F32, x, x};
    assert_int_equal(
        attn_linear_backward(&host, &l, (struct attn_gradient){NULL, 0}, NULL, db[k], dy, dy, NULL),
        ATTN_OK);
  }
  assert_memory_equal(db[0], db[1], sizeof db[0]);
  for (int o = 0; o < OUT; o++) {
    double sum = 0;
    for (int n = 0; n < N; n++) sum += (double)dy[n * OUT + o];
    assert_near(db[0][o], sum, N * N * 0x1p-24);
  }
}

static struct attn_tape_variable *build_norm(struct attn_tape *t, struct layer_case *s) {
  struct attn_tape_variable *y =
      attn_tape_norm(t, &s->leaf[0], &s->leaf[1], s->kind ? NULL : &s->leaf[2], 1e-2, s->kind);
  return attn_tape_add(t, &s->leaf[0], y, 0); /* two readers: gradients are accumulated */
}

static void norms(void **state) {
  (void)state;
  for (int rms = 0; rms < 2; rms++)
    for (int n = 1; n <= N; n += 6) {
      struct layer_case s = {.build = build_norm, .kind = rms};
      leaf(&s, n, 8), leaf(&s, 1, 8);
      if (!rms) leaf(&s, 1, 8);
      check(&s);
    }
}

static struct attn_tape_variable *build_activation(struct attn_tape *t, struct layer_case *s) {
  return attn_tape_activate(t, (enum attn_activation)s->kind, &s->leaf[0]);
}

static void activations(void **state) {
  (void)state;
  for (int kind = ATTN_RELU; kind <= ATTN_SILU; kind++) {
    struct layer_case s = {.build = build_activation, .kind = kind};
    struct attn_tape_variable *x = leaf(&s, N, 8);
    /* ReLU has no derivative at 0: keep x away from it. */
    for (int e = 0; e < N * 8; e++) x->x[e] = 3 * x->x[e] + (x->x[e] < 0 ? -0.1f : 0.1f);
    check(&s);
  }
}

static struct attn_tape_variable *build_residual(struct attn_tape *t, struct layer_case *s) {
  struct attn_tape_variable *y = attn_tape_add(t, &s->leaf[0], &s->leaf[1], s->dropout);
  return attn_tape_add(t, NULL, y, s->dropout);
}

static void residuals(void **state) {
  (void)state;
  for (int drops = 0; drops < 2; drops++) {
    struct layer_case s = {.build = build_residual, .dropout = drops * 0.4};
    leaf(&s, N, 5), leaf(&s, N, 5);
    check(&s);
  }
}

static struct attn_tape_variable *build_embedding(struct attn_tape *t, struct layer_case *s) {
  static const int32_t tokens[N] = {3, 0, 3, 2, 1, 1, 3}, position_ids[N] = {0, 1, 2, 3, 0, 1, 2};
  const struct attn_embedding e = {
      .n = N,
      .vocab_size = 4,
      .width = s->leaf[0].width,
      .tokens = tokens,
      .position_ids = position_ids,
      .scale = 1.5f,
      .position_mode = s->kind ? ATTN_POSITION_MODE_CONCATENATE : ATTN_POSITION_MODE_ADD,
      .position_dim = s->leaves > 1 ? s->leaf[1].width : 0};
  return attn_tape_embed(t, &e, &s->leaf[0], s->leaves > 1 ? &s->leaf[1] : NULL);
}

static void embeddings(void **state) {
  (void)state;
  for (int kind = 0; kind < 3; kind++) {
    struct layer_case s = {.build = build_embedding, .kind = kind == 1};
    leaf(&s, 4, 6);
    if (kind < 2) leaf(&s, 4, kind ? 2 : 6);
    check(&s);
  }
}

/* Self-attention over one matrix of q, k and v; two sequences, of 4 and 3 rows; grouped heads. */
enum { HEADS = 4, KV_HEADS = 2, E = 4, EV = 3 };

static const int64_t starts[] = {0, 4, N}, source_starts[] = {0, 2, 6};
static const float slopes[HEADS] = {0.5f, 0.25f, 0.125f, 0.0625f};

static struct attn_multihead heads(const struct layer_case *s, const int64_t *keys) {
  return (struct attn_multihead){.num_heads = HEADS,
                                 .num_kv_heads = KV_HEADS,
                                 .head_dim = E,
                                 .value_head_dim = EV,
                                 .sequences = 2,
                                 .cu_seqlens_q = starts,
                                 .cu_seqlens_k = keys,
                                 .causal = s->kind & 1,
                                 .scale = 0.5,
                                 .alibi = s->kind & 2 ? slopes : NULL};
}

static struct attn_tape_variable *build_self(struct attn_tape *t, struct layer_case *s) {
  const struct attn_multihead m = heads(s, starts);
  struct attn_tape_variable *qkv = attn_tape_add(t, NULL, &s->leaf[0], 0);
  int64_t k = HEADS * E, v = k + KV_HEADS * E;
  return attn_tape_attend(t, &m, s->leaves > 1 ? &s->leaf[1] : NULL, (struct attn_columns){qkv, 0},
                          (struct attn_columns){qkv, k}, (struct attn_columns){qkv, v}, s->dropout);
}

static void self_attention(void **state) {
  (void)state;
  for (int kind = 0; kind < 8; kind++) {
    struct layer_case s = {.build = build_self, .kind = kind, .dropout = kind % 4 == 3 ? 0.3 : 0};
    leaf(&s, N, HEADS * E + KV_HEADS * (E + EV));
    if (kind > 3) leaf(&s, HEADS, E); /* additive scores */
    check(&s);
  }
}

/* Heads in the first columns of x; the others are read by another call. */
static struct attn_tape_variable *build_map(struct attn_tape *t, struct layer_case *s) {
  struct attn_tape_variable *x = attn_tape_add(t, NULL, &s->leaf[0], 0);
  return attn_tape_add(t, attn_tape_map_heads(t, x, 2, &s->leaf[1]),
                       attn_tape_linear(t, x, &s->leaf[2], NULL), 0);
}

static void maps_of_heads(void **state) {
  (void)state;
  struct layer_case s = {.build = build_map};
  leaf(&s, N, 2 * E + 3), leaf(&s, 2 * E, E), leaf(&s, 2 * E, 2 * E + 3);
  check(&s);
}

static struct attn_tape_variable *build_cross(struct attn_tape *t, struct layer_case *s) {
  const struct attn_multihead m = heads(s, source_starts);
  struct attn_tape_variable *q = attn_tape_add(t, NULL, &s->leaf[0], 0);
  struct attn_tape_variable *kv = attn_tape_add(t, NULL, &s->leaf[1], 0);
  return attn_tape_attend(t, &m, NULL, (struct attn_columns){q, 0}, (struct attn_columns){kv, 0},
                          (struct attn_columns){kv, KV_HEADS * E}, 0);
}

static void cross_attention(void **state) {
  (void)state;
  struct layer_case s = {.build = build_cross};
  leaf(&s, N, HEADS * E), leaf(&s, 6, KV_HEADS * (E + EV));
  check(&s);
}

static struct attn_tape_variable *build_rotary(struct attn_tape *t, struct layer_case *s) {
  static const int32_t position_ids[N] = {0, 1, 2, 3, 0, 1, 2};
  static float c[4 * 2], w[4 * 2];
  const struct attn_tape_variable cos_table = {.x = c, .n = 4, .width = 2},
                                  sin_table = {.x = w, .n = 4, .width = 2};
  for (int p = 0; p < 4; p++)
    for (int k = 0; k < 2; k++)
      c[p * 2 + k] = cosf((float)p / (float)(1 + 9 * k)),
                w[p * 2 + k] = sinf((float)p / (float)(1 + 9 * k));
  static struct attn_tape_variable tables[2];
  tables[0] = cos_table, tables[1] = sin_table;
  struct attn_tape_variable *x = attn_tape_add(t, NULL, &s->leaf[0], 0);
  const struct attn_rotary_args args = {1, 2, 4, position_ids, &tables[0], &tables[1]};
  attn_tape_rotary(t, x, &args);
  return attn_tape_add(t, NULL, x, 0);
}

static void rotary_positions(void **state) {
  (void)state;
  struct layer_case s = {.build = build_rotary};
  leaf(&s, N, 10);
  check(&s);
}

/* ---- The loss ---- */

enum { VOCAB_SIZE = 6 };
static const int32_t targets[N] = {2, ATTN_IGNORE_INDEX, 0, 5, 5, ATTN_IGNORE_INDEX, 3};

static double loss_of(const float *logits, double smoothing, int evaluate, float *after) {
  double scratch[N];
  const struct attn_host host = {.threads = 1};
  memcpy(after, logits, N * VOCAB_SIZE * sizeof *after);
  struct attn_loss loss = attn_cross_entropy_forward(&host, after, targets, N, VOCAB_SIZE,
                                                     smoothing, 1, evaluate, scratch);
  assert_int_equal(loss.rows, 5);
  return loss.sum;
}

static void the_loss_and_its_gradient_are_cross_entropy(void **state) {
  (void)state;
  float logits[N * VOCAB_SIZE], gradient[N * VOCAB_SIZE], other[N * VOCAB_SIZE];
  for (int e = 0; e < N * VOCAB_SIZE; e++) logits[e] = 3 * uniform();
  for (double smoothing = 0; smoothing < 0.3; smoothing += 0.125) {
    double sum = loss_of(logits, smoothing, 0, gradient), expected = 0;
    for (int n = 0; n < N; n++) {
      double all = 0;
      for (int v = 0; v < VOCAB_SIZE; v++) all += exp((double)logits[n * VOCAB_SIZE + v]);
      for (int v = 0; targets[n] >= 0 && v < VOCAB_SIZE; v++) {
        double t = smoothing / VOCAB_SIZE + (v == targets[n] ? 1 - smoothing : 0);
        double p = exp((double)logits[n * VOCAB_SIZE + v]) / all;
        expected -= t * log(p);
        assert_near(gradient[n * VOCAB_SIZE + v], p - t, 1e-6);
      }
      for (int v = 0; targets[n] < 0 && v < VOCAB_SIZE; v++)
        assert_true(gradient[n * VOCAB_SIZE + v] == 0);
    }
    assert_near(sum, expected, 1e-5);
    loss_of(logits, smoothing, 1, other);
    assert_memory_equal(other, logits, sizeof other); /* evaluating changes nothing */
  }
}

/* For every position of the maximum; of equal logits the first is the prediction. */
static void correct_counts_targets_with_the_largest_logit(void **state) {
  (void)state;
  enum { MANY = 37 };
  const struct attn_host host = {.threads = 1};
  float x[MANY], other[MANY];
  double scratch;
  for (int top = 0; top < MANY; top++)
    for (int32_t target = 0; target < MANY; target++) {
      for (int v = 0; v < MANY; v++) x[v] = v == top ? 2 : -1, other[v] = -2;
      struct attn_loss one =
          attn_cross_entropy_forward(&host, x, &target, 1, MANY, 0, 1, 0, &scratch);
      struct attn_loss all =
          attn_cross_entropy_forward(&host, other, &target, 1, MANY, 0, 1, 1, &scratch);
      assert_int_equal(one.correct, target == top);
      assert_int_equal(all.correct, target == 0);
      assert_near(one.sum, log(exp(2) + (MANY - 1) * exp(-1)) - (target == top ? 2 : -1), 1e-5);
    }
}

static void a_summary_is_the_maximum_and_the_log_sum_exp(void **state) {
  (void)state;
  enum { MANY = 37 };
  for (int count = 1; count <= MANY; count++) {
    float x[MANY], max = -INFINITY;
    double sum = 0;
    for (int v = 0; v < count; v++) x[v] = 80 * uniform(), max = x[v] > max ? x[v] : max;
    for (int v = 0; v < count; v++) sum += exp((double)x[v] - (double)max);
    struct attn_logits_summary is = attn_logits_summarize(x, count, 1);
    assert_true(is.max == max);
    assert_near(is.log_sum_exp, (double)max + log(sum), 0x1p-22);
    assert_true(attn_logits_summarize(x, count, 0).log_sum_exp == (double)max);
    x[below(count)] = NAN;
    assert_true(isnan(attn_logits_summarize(x, count, 1).max));
  }
}

/* ---- Sinusoidal positions [Vaswani17 3.5] ---- */

static void sinusoidal_positions(void **state) {
  (void)state;
  enum { ROWS = 300, WIDTH = 32 };
  static float table[ROWS * WIDTH], later[ROWS * WIDTH];
  attn_sinusoid_fill(table, 0, ROWS, WIDTH, 0);
  attn_sinusoid_fill(later, 100, ROWS, WIDTH, 0);
  assert_memory_equal(later, table + 100 * WIDTH, (ROWS - 100) * WIDTH * sizeof *table);
  for (int p = 0; p < ROWS; p++) { /* unique, within bounds */
    for (int d = 0; d < WIDTH; d++) assert_true(fabsf(table[p * WIDTH + d]) <= 1);
    for (int o = 0; o < p; o++)
      assert_memory_not_equal(table + p * WIDTH, table + o * WIDTH, WIDTH * 4);
  }
  for (int apart = 1; apart < 50; apart += 7) { /* the distance depends only on the difference */
    double first = 0;
    for (int p = 0; p + apart < ROWS; p += 17) {
      double sum = 0;
      for (int d = 0; d < WIDTH; d++)
        sum += pow((double)table[(p + apart) * WIDTH + d] - (double)table[p * WIDTH + d], 2);
      if (!p) first = sum;
      assert_near(sum, first, 1e-4);
    }
  }
  attn_sinusoid_fill(later, 0, ROWS, WIDTH, 1);
  for (int p = 0; p < ROWS; p++) /* sines first: the same values, reordered */
    for (int d = 0; d < WIDTH; d++)
      assert_true(later[p * WIDTH + d / 2 + d % 2 * WIDTH / 2] == table[p * WIDTH + d]);
  for (int p = 0; p < ROWS; p += 50) /* the formula */
    assert_near(table[p * WIDTH + 3], cos(p / pow(10000, 2.0 / WIDTH)), 1e-6);
}

/* ---- Memory ---- */

static void a_step_larger_than_measured_fails(void **state) {
  (void)state;
  struct layer_case s = {.build = build_self, .kind = 1};
  leaf(&s, N, HEADS * E + KV_HEADS * (E + EV));
  struct attn_arena all = tape.data;
  tape.data = (struct attn_arena){NULL, 0, 0, 0};
  attn_tape_start(&tape);
  build_self(&tape, &s);
  size_t bytes = tape.data.used;
  for (int less = 0; less < 2; less++) {
    tape.data = (struct attn_arena){all.memory, bytes - (size_t)less, 0, 0};
    attn_tape_start(&tape);
    build_self(&tape, &s);
    assert_int_equal(tape.status, less ? ATTN_ERR_MEMORY : ATTN_OK);
  }
  tape.data = all;
  free(s.leaf[0].x), free(s.leaf[0].dx);
}

/* Buffers begin and end in random order. */
static void live_buffers_do_not_overlap(void **state) {
  (void)state;
  enum { BUFFERS = 40, ROUNDS = 2000 };
  struct attn_buffer_offsets all = {NULL, 0};
  struct attn_buffer_span span[BUFFERS];
  int is_live[BUFFERS] = {0};
  size_t live_bytes = 0, max_bytes = 0;
  for (int round = 0; round < ROUNDS; round++) {
    int n = (int)below(BUFFERS);
    if (is_live[n])
      attn_buffer_offsets_release(&all, &span[n]), live_bytes -= span[n].bytes;
    else
      attn_buffer_offsets_reserve(&all, &span[n], 1 + (size_t)below(500)),
          live_bytes += span[n].bytes;
    is_live[n] = !is_live[n], max_bytes = live_bytes > max_bytes ? live_bytes : max_bytes;
    assert_true(all.peak >= max_bytes && all.peak < 2 * max_bytes);
    for (int k = 0; is_live[n] && k < BUFFERS; k++)
      assert_true(k == n || !is_live[k] || span[k].offset + span[k].bytes <= span[n].offset ||
                  span[n].offset + span[n].bytes <= span[k].offset);
  }
}

/* Copies both leaves twice and returns the last copy; kind: the first leaf first. */
static struct attn_tape_variable *build_copies(struct attn_tape *t, struct layer_case *s) {
  struct attn_tape_variable *y = NULL;
  for (int n = 0; n < 2; n++)
    y = attn_tape_add(t, NULL, attn_tape_add(t, NULL, &s->leaf[s->kind ? n : 1 - n], 0), 0);
  return y;
}

/* Calls other than the measured ones, of the same total size, fail. */
static void calls_must_be_those_that_were_planned(void **state) {
  (void)state;
  for (int other = 0; other < 2; other++) {
    struct layer_case s = {.build = build_copies};
    struct attn_tape t = {.training = 1, .shares_gradients = 1, .host.threads = 1};
    leaf(&s, N, 9), leaf(&s, N, 50);
    build_copies(&t, &s);
    assert_int_equal(attn_tape_reserve(&t, NULL), ATTN_OK);
    s.kind = other;
    struct attn_tape_variable *y = build_copies(&t, &s);
    y->dx = y->x;
    attn_tape_backward(&t);
    assert_int_equal(t.status, other ? ATTN_ERR_MEMORY : ATTN_OK);
    for (int64_t e = 0; !other && e < N * 9; e++) assert_true(s.leaf[0].dx[e] == s.leaf[0].x[e]);
    attn_tape_close(&t);
    for (int n = 0; n < 2; n++) free(s.leaf[n].x), free(s.leaf[n].dx);
  }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(int argc, char **argv) {
  random_begin(argc, argv);
  const struct CMUnitTest tests[] = {TEST(linear),
                                     TEST(sums_of_biases_do_not_depend_on_threads),
                                     TEST(norms),
                                     TEST(activations),
                                     TEST(residuals),
                                     TEST(embeddings),
                                     TEST(self_attention),
                                     TEST(cross_attention),
                                     TEST(maps_of_heads),
                                     TEST(rotary_positions),
                                     TEST(the_loss_and_its_gradient_are_cross_entropy),
                                     TEST(a_summary_is_the_maximum_and_the_log_sum_exp),
                                     TEST(correct_counts_targets_with_the_largest_logit),
                                     TEST(sinusoidal_positions),
                                     TEST(a_step_larger_than_measured_fails),
                                     TEST(live_buffers_do_not_overlap),
                                     TEST(calls_must_be_those_that_were_planned)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
