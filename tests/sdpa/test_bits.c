/* On one instruction set the bits are the same for any number of threads, batch, slice of whole
 * key/value heads, alignment, task order and workspace contents; those of a row for any other
 * rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "attn/attn.h"
#include "random.h"
#include "select.h"

enum { B = 3, H = 2, G = 3, L = 150, S = 230, E = 20, EV = 18, HQ = H * G };

static float q[B * HQ * L * E], k[B * H * S * E], v[B * H * S * EV];
static float mask[L * S], expected[B * HQ * L * EV], got[B * HQ * L * EV + 16];
static attn_tensor tq, tk, tv, tmask, texpected, tgot;
static attn_sdpa desc;

static int begin(void **state) {
  (void)state;
  for (size_t n = 0; n < sizeof q / 4; n++) q[n] = uniform() * 8;
  for (size_t n = 0; n < sizeof k / 4; n++) k[n] = uniform() * 8;
  for (size_t n = 0; n < sizeof v / 4; n++) v[n] = uniform();
  for (size_t n = 0; n < sizeof mask / 4; n++) mask[n] = uniform();
  tq = attn_tensor_dense(ATTN_F32, q, B, HQ, L, E), tk = attn_tensor_dense(ATTN_F32, k, B, H, S, E);
  tv = attn_tensor_dense(ATTN_F32, v, B, H, S, EV);
  tmask = attn_tensor_dense(ATTN_F32, mask, 1, 1, L, S);
  texpected = attn_tensor_dense(ATTN_F32, expected, B, HQ, L, EV);
  tgot = attn_tensor_dense(ATTN_F32, got, B, HQ, L, EV);
  desc = (attn_sdpa)ATTN_SDPA_INIT;
  desc.flags = ATTN_SDPA_CAUSAL;
  desc.align = ATTN_ALIGN_BOTTOM_RIGHT;
  desc.mask = &tmask;
  desc.threads = 1;
  assert_int_equal(attn_sdpa_forward(&desc, &tq, &tk, &tv, &texpected, NULL), ATTN_OK);
  return 0;
}

static void forward(void) {
  memset(got, 0xFF, sizeof got);
  assert_int_equal(attn_sdpa_forward(&desc, &tq, &tk, &tv, &tgot, NULL), ATTN_OK);
}

static void any_number_of_threads(void **state) {
  (void)state;
  for (int threads = 1; threads <= 8; threads++) {
    char text[8];
    snprintf(text, sizeof text, "%d", threads);
    setenv("ATTN_THREADS", text, 1);
    desc.threads = 0;
    for (int again = 0; again < ROUNDS(5); again++) {
      forward();
      assert_memory_equal(got, expected, sizeof expected);
    }
  }
  unsetenv("ATTN_THREADS");
}

/* One key/value head of one sequence, with the query heads that share it. */
static void a_slice(int64_t b, int64_t h) {
  tq = attn_tensor_dense(ATTN_F32, q + (b * HQ + h * G) * L * E, 1, G, L, E);
  tk = attn_tensor_dense(ATTN_F32, k + (b * H + h) * S * E, 1, 1, S, E);
  tv = attn_tensor_dense(ATTN_F32, v + (b * H + h) * S * EV, 1, 1, S, EV);
  tgot = attn_tensor_dense(ATTN_F32, got, 1, G, L, EV);
  forward();
  assert_memory_equal(got, expected + (b * HQ + h * G) * L * EV, G * L * EV * sizeof(float));
}

static void any_slice_of_batch_and_whole_groups(void **state) {
  (void)state;
  for (int64_t b = 0; b < B; b++)
    for (int64_t h = 0; h < H; h++) a_slice(b, h);
}

static void any_alignment(void **state) {
  (void)state;
  float *moved = malloc(sizeof q + 64);
  for (int shift = 0; shift < 16; shift++) {
    memcpy(moved + shift, q, sizeof q);
    tq.data = moved + shift;
    tgot.data = got + shift;
    forward();
    assert_memory_equal(got + shift, expected, sizeof expected);
  }
  free(moved);
}

/* Rows of k and v that are so far apart that they are copied. */
static void any_distance_of_keys(void **state) {
  enum { FAR = 1000 };
  float *k_far = calloc(B * H * S, FAR * sizeof(float));
  float *v_far = calloc(B * H * S, FAR * sizeof(float));
  (void)state;
  for (int n = 0; n < B * H * S; n++) {
    memcpy(k_far + n * FAR, k + n * E, E * sizeof(float));
    memcpy(v_far + n * FAR, v + n * EV, EV * sizeof(float));
  }
  tk.data = k_far, tv.data = v_far;
  for (int n = 0; n < 3; n++) tk.strides[n] = tv.strides[n] = tk.strides[n] / E * FAR;
  forward();
  assert_memory_equal(got, expected, sizeof expected);
  free(k_far), free(v_far);
}

static void any_contents_of_the_workspace(void **state) {
  (void)state;
  attn_plan plan = {.struct_size = sizeof plan};
  assert_int_equal(attn_sdpa_plan(&desc, &tq, &tk, &tv, &tgot, &plan, NULL), ATTN_OK);
  char *memory = malloc(plan.workspace_bytes + 8);
  for (int fill = 0; fill < 4; fill++) {
    memset(memory, (int[]){0, 0xFF, 0x7F, 0xA5}[fill], plan.workspace_bytes + 8);
    desc.workspace = memory + fill; /* any alignment */
    desc.workspace_bytes = plan.workspace_bytes;
    forward();
    assert_memory_equal(got, expected, sizeof expected);
  }
  free(memory);
}

/* A host's executor that works backwards and changes the worker each time. */
static void backwards(void *context, int64_t count,
                      void (*body)(void *argument, int64_t index, int32_t worker), void *argument) {
  (void)context;
  for (int64_t n = count - 1; n >= 0; n--) body(argument, n, (int32_t)(n % 3));
}

static void any_order_of_work(void **state) {
  (void)state;
  const attn_executor host = {NULL, 3, backwards};
  desc.executor = &host;
  desc.threads = 0;
  forward();
  assert_memory_equal(got, expected, sizeof expected);
}

/* A neighbour whose scores force a restart, or whose mask hides what this row sees. */
static void whatever_another_row_holds(void **state) {
  (void)state;
  for (int e = 0; e < E; e++) q[1 * E + e] *= -1000;
  for (int j = 0; j < S; j++) mask[2 * S + j] = j % 5 ? -__builtin_inff() : 50;
  forward();
  for (int i = 0; i < L; i++)
    if (i != 1 && i != 2) assert_memory_equal(got + i * EV, expected + i * EV, EV * sizeof(float));
  assert_memory_not_equal(got + EV, expected + EV, EV * sizeof(float));
}

/* A few queries of a head, as in decoding, and each of them alone: scores so large that rows
 * rescale, windows, any width, and values that are not finite. */
static void a_row_alone(void **state) {
  (void)state;
  enum { FEW = 13 };
  desc.flags = ATTN_SDPA_WINDOW | ATTN_SDPA_OFFSET, desc.mask = NULL;
  desc.align = ATTN_ALIGN_OFFSET, desc.window_right = 30;
  v[50 * EV + 3] = __builtin_inff(), k[90 * E] = __builtin_nanf("");
  for (int e = 0; e < E; e++) q[3 * E + e] *= 1000, k[100 * E + e] *= 30;
  for (int h = 0; h < 3; h++) {
    desc.offset = 80, desc.window_left = h == 2 ? -1 : 120;
    tq = attn_tensor_dense(ATTN_F32, q + h * L * E, 1, 1, FEW, E);
    tk = attn_tensor_dense(ATTN_F32, k + h * S * E, 1, 1, S - h * 90, E - h);
    tv = attn_tensor_dense(ATTN_F32, v + h * S * EV, 1, 1, S - h * 90, EV - h);
    tgot = attn_tensor_dense(ATTN_F32, got, 1, 1, FEW, EV - h);
    tq.shape[3] = E - h;
    forward();
    memcpy(expected, got, (size_t)(FEW * (EV - h)) * sizeof *got);
    tq.shape[2] = tgot.shape[2] = 1;
    for (int i = 0; i < FEW; i++, desc.offset++) {
      tq.data = q + h * L * E + i * E;
      forward();
      assert_memory_equal(got, expected + i * (EV - h), (size_t)(EV - h) * sizeof *got);
    }
  }
}

/* The same with additive scores and a vector for each head. */
static void additive_scores_too(void **state) {
  float a[HQ * E];
  for (int n = 0; n < HQ * E; n++) a[n] = uniform();
  attn_tensor vectors = {a, ATTN_F32, 2, {HQ, E}, {E, 1}};
  desc.additive = &vectors;
  assert_int_equal(attn_sdpa_forward(&desc, &tq, &tk, &tv, &texpected, NULL), ATTN_OK);
  any_contents_of_the_workspace(state);
  desc.workspace = NULL;
  any_order_of_work(state);
  desc.executor = NULL;
  const attn_tensor all_q = tq, all_k = tk, all_v = tv;
  for (int64_t b = 0; b < B; b++)
    for (int64_t h = 0; h < H; h++) {
      vectors = (attn_tensor){a + h * G * E, ATTN_F32, 2, {G, E}, {E, 1}};
      a_slice(b, h);
    }
  tq = all_q, tk = all_k, tv = all_v;
}

/* The same with a row that is split over its keys. */
static void rows_that_are_split(void **state) {
  (void)state;
  enum { LONG = 3100, FEW = 2 };
  static float long_k[H * LONG * E], long_v[H * LONG * EV], one[HQ * FEW * EV];
  for (int n = 0; n < H * LONG * E; n++) long_k[n] = uniform() * 4;
  for (int n = 0; n < H * LONG * EV; n++) long_v[n] = uniform();
  tq = attn_tensor_dense(ATTN_F32, q, 1, HQ, FEW, E);
  tk = attn_tensor_dense(ATTN_F32, long_k, 1, H, LONG, E);
  tv = attn_tensor_dense(ATTN_F32, long_v, 1, H, LONG, EV);
  tgot = attn_tensor_dense(ATTN_F32, got, 1, HQ, FEW, EV), desc.mask = NULL;
  attn_plan plan = {.struct_size = sizeof plan};
  assert_int_equal(attn_sdpa_plan(&desc, &tq, &tk, &tv, &tgot, &plan, NULL), ATTN_OK);
  assert_int_equal(plan.tasks, H * (LONG / 1536));
  forward();
  memcpy(one, got, sizeof one);
  const attn_executor host = {NULL, 3, backwards};
  char *memory = malloc(plan.workspace_bytes * 4);
  for (int threads = 1; threads < 5; threads++) {
    desc.threads = threads, desc.executor = threads == 4 ? &host : NULL;
    assert_int_equal(attn_sdpa_plan(&desc, &tq, &tk, &tv, &tgot, &plan, NULL), ATTN_OK);
    memset(memory, threads % 2 ? 0xFF : 0x5A, plan.workspace_bytes);
    desc.workspace = memory, desc.workspace_bytes = plan.workspace_bytes;
    forward();
    assert_memory_equal(got, one, sizeof one);
  }
  free(memory);
  desc.workspace = NULL, desc.executor = NULL;
  for (int h = 0; h < H; h++) { /* each key/value head alone */
    tq = attn_tensor_dense(ATTN_F32, q + h * G * FEW * E, 1, G, FEW, E);
    tk = attn_tensor_dense(ATTN_F32, long_k + h * LONG * E, 1, 1, LONG, E);
    tv = attn_tensor_dense(ATTN_F32, long_v + h * LONG * EV, 1, 1, LONG, EV);
    tgot = attn_tensor_dense(ATTN_F32, got, 1, G, FEW, EV);
    forward();
    assert_memory_equal(got, one + h * G * FEW * EV, G * FEW * EV * sizeof(float));
  }
}

#define LAW(name) cmocka_unit_test_setup(name, begin)

static int suite(const char *kernel) {
  const struct CMUnitTest tests[] = {LAW(any_number_of_threads),
                                     LAW(any_slice_of_batch_and_whole_groups),
                                     LAW(any_alignment),
                                     LAW(any_distance_of_keys),
                                     LAW(any_contents_of_the_workspace),
                                     LAW(any_order_of_work),
                                     LAW(whatever_another_row_holds),
                                     LAW(a_row_alone),
                                     LAW(additive_scores_too),
                                     LAW(rows_that_are_split)};
  return cmocka_run_group_tests_name(kernel, tests, NULL, NULL);
}

int main(int argc, char **argv) {
  random_begin(argc, argv);
  return on_every_kernel(suite);
}
