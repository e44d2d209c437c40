/* test_model_page.c -- the page of a model is well-formed for any tokens and weights, complete or
 * an error, and has the weights to the accuracy that it states. tests/cli/test_model_page.py reads
 * it in a browser. */
#include "drawing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "attention_pack.h"
#include "fixture.h"

/* ---- Any allocation of the library can be made to fail ---- */

void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes) {
  if (calloc_fails_at > 0 && --calloc_fails_at == 0) return NULL;
  return __real_malloc(bytes);
}

/* ---- A model of two layers with two heads ---- */

static const char *const hostile[] = {"</script><script>alert(1)</script>", "]]>",
                                      "\u202Eevil\x01\n\t", "\"\\&<>\xFF"};
static const float wild[16] = {0, 1, (float)NAN, 0.5f, -1, 2, INFINITY, -INFINITY, 1e30f, 0.25f};

static attn_attention head_of(int kind, int layer, int head, int64_t n, const float *weights) {
  return (attn_attention){kind, layer, head, n, n, weights, hostile, hostile};
}

struct example {
  attn_attention heads[8];
  attn_generation_result results[2];
  attn_model_page_input inputs[2];
  attn_model_page page;
};

static void build(struct example *e) {
  *e = (struct example){.page = ATTN_MODEL_PAGE_INIT};
  for (int n = 0; n < 8; n++)
    e->heads[n] =
        head_of(n < 4 ? ATTN_ATTENTION_ENCODER : ATTN_ATTENTION_CROSS, n / 2 % 2, n % 2, 4, wild);
  for (int n = 0; n < 2; n++) {
    e->results[n] = (attn_generation_result)ATTN_GENERATION_RESULT_INIT;
    e->results[n].text = n ? NULL : (char *)(uintptr_t)hostile[0];
    e->results[n].score = e->results[n].log_prob = -INFINITY;
    e->inputs[n] = (attn_model_page_input)ATTN_MODEL_PAGE_INPUT_INIT;
    e->inputs[n].source = hostile[n], e->inputs[n].heads = e->heads, e->inputs[n].head_count = 8;
  }
  e->inputs[0].results = e->results, e->inputs[0].result_count = 2;
  e->page.name = hostile[0], e->page.inputs = e->inputs, e->page.input_count = 2;
}

static attn_status write_page(struct page *to, const struct example *e, attn_error *err) {
  const attn_sink sink = {to, grow};
  return attn_model_page_write(&e->page, &plain_style, &sink, err);
}

static void any_page_is_well_formed(void **state) {
  (void)state;
  struct example e;
  struct page page = {.left = -1}, again = {.left = -1};
  build(&e);
  assert_int_equal(write_page(&page, &e, NULL), ATTN_OK);
  assert_well_formed(page.text);
  assert_null(strstr(page.text, "<script>alert"));
  assert_null(strstr(page.text, "\u202E"));
  assert_int_equal(write_page(&again, &e, NULL), ATTN_OK);
  assert_string_equal(page.text, again.text);
  free(page.text), free(again.text);
}

/* ---- Weights ---- */

enum { TOKENS = 200, LAYERS = 12, HEADS = 12, SIZE = TOKENS * TOKENS };

/* The weights of all heads, -log of a uniform number per key, normalized: of all distributions with
 * that mean the hardest to compress. */
static float *random_weights(void) {
  float *w = malloc(sizeof *w * SIZE * LAYERS * HEADS);
  uint64_t seed = 1;
  assert_non_null(w);
  for (int row = 0; row < TOKENS * LAYERS * HEADS; row++) {
    double sum = 0;
    for (int j = 0; j < TOKENS; j++) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      w[row * TOKENS + j] = (float)-log(((double)(seed >> 40) + 0.5) / 16777216);
      sum += (double)w[row * TOKENS + j];
    }
    for (int j = 0; j < TOKENS; j++)
      w[row * TOKENS + j] = (float)((double)w[row * TOKENS + j] / sum);
  }
  return w;
}

/* The heads, which the rollouts follow: every weight within half a step, a little more where the
 * levels are not those of 16 bits. */
static void assert_levels(const struct attn_packed *p, const float *weights, size_t count) {
  unsigned char *bytes = malloc(3 * count);
  uLongf length = 3 * count;
  const int wide = p->levels > 255;
  assert_non_null(bytes);
  assert_int_equal(uncompress(bytes, &length, p->kind[0].bytes, p->kind[0].size), Z_OK);
  const size_t all = length / (wide ? 2 : 1);
  for (size_t n = 0; n < count; n++) {
    const int level = wide ? bytes[n] << 8 | bytes[all + n] : bytes[n];
    const double error = fabs((double)level / p->levels - (double)weights[n]);
    if (error > 0.5 / p->levels + 0.5 / 65535) fail_msg("weight %zu: error %g", n, error);
  }
  free(bytes);
}

static void weights_are_within_half_a_step_and_below_2_mb(void **state) {
  (void)state;
  static attn_attention heads[LAYERS * HEADS];
  static const char *names[TOKENS];
  float *weights = random_weights();
  for (int n = 0; n < TOKENS; n++) names[n] = "token";
  for (int n = 0; n < LAYERS * HEADS; n++)
    heads[n] = (attn_attention){
        0, n / HEADS, n % HEADS, TOKENS, TOKENS, weights + (size_t)n * SIZE, names, names};
  for (int count = 2; count <= LAYERS * HEADS; count += LAYERS * HEADS - 2) {
    struct attn_packed packed;
    assert_int_equal(attn_pack(heads, count, &packed, NULL), ATTN_OK);
    assert_int_equal(packed.levels, count == 2 ? 65535 : 127);
    assert_levels(&packed, weights, (size_t)count * SIZE);
    assert_true(packed.kind[0].size * 4 / 3 < 1800000);
    attn_pack_free(&packed);
  }
  free(weights);
}

/* ---- Errors ---- */

static void bad_pages_are_refused_before_the_first_byte(void **state) {
  (void)state;
  struct example e;
  enum { CASES = 18 };
  for (int n = 0; n < CASES; n++) {
    struct page page = {.left = -1};
    attn_status expected = ATTN_ERR_ARGUMENT;
    build(&e);
    if (n == 0) e.page.struct_size = 8;
    if (n == 1) e.page.inputs = NULL;
    if (n == 2) e.page.input_count = 0;
    if (n == 3) e.page.input_count = ATTN_MODEL_PAGE_INPUTS_MAX + 1;
    if (n == 4) e.page.kind = 4;
    if (n == 5) e.inputs[1].heads = NULL;
    if (n == 6) e.inputs[1].head_count = 0;
    if (n == 7) e.inputs[0].results = NULL;
    if (n == 8) e.heads[7].kind = 3;
    if (n == 9) e.heads[7].layer = -1;
    if (n == 10) e.heads[7].weights = NULL;
    if (n == 11) e.inputs[0].struct_size = 0;
    if (n == 12) e.heads[7].queries = 3, expected = ATTN_ERR_SHAPE;
    if (n == 13) e.heads[0].keys = 0, expected = ATTN_ERR_SHAPE;
    if (n == 15) e.page.kind = 1 + ATTN_ATTENTION_DECODER;
    if (n == 16) e.page.layer = 3;
    if (n == 17) e.page.head = 3;
    if (n == 14) e.heads[0].queries = e.heads[0].keys = INT64_MAX, expected = ATTN_ERR_SHAPE;
    if (write_page(&page, &e, NULL) != expected) fail_msg("case %d", n);
    assert_int_equal(page.bytes, 0);
  }
  const attn_sink none = {NULL, NULL};
  build(&e);
  assert_int_equal(attn_model_page_write(NULL, NULL, &none, NULL), ATTN_ERR_ARGUMENT);
  assert_int_equal(attn_model_page_write(&e.page, NULL, NULL, NULL), ATTN_ERR_ARGUMENT);
}

static void wherever_memory_ends_the_call_reports_it(void **state) {
  (void)state;
  struct example e;
  build(&e);
  attn_status status = ATTN_ERR_MEMORY;
  int rounds = 0;
  for (; status == ATTN_ERR_MEMORY; rounds++) {
    struct page page = {.left = -1};
    page.text = realloc(NULL, page.capacity = 1 << 20); /* the sink needs no more */
    calloc_fails_at = rounds + 1;
    status = write_page(&page, &e, NULL);
    calloc_fails_at = 0;
    free(page.text);
  }
  assert_int_equal(status, ATTN_OK);
  assert_true(rounds > 20);
}

static void wherever_the_sink_stops_the_call_reports_it(void **state) {
  (void)state;
  struct example e;
  build(&e);
  attn_status status = ATTN_ERR_FILE;
  for (long left = 0; status == ATTN_ERR_FILE; left = left * 2 + 1) {
    struct page page = {.left = left};
    status = write_page(&page, &e, NULL);
    free(page.text);
  }
  assert_int_equal(status, ATTN_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(any_page_is_well_formed),
      cmocka_unit_test(weights_are_within_half_a_step_and_below_2_mb),
      cmocka_unit_test(bad_pages_are_refused_before_the_first_byte),
      cmocka_unit_test(wherever_memory_ends_the_call_reports_it),
      cmocka_unit_test(wherever_the_sink_stops_the_call_reports_it)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
