/* Every struct with a struct_size. Input: sizes below the first published one or absurdly large are
 * errors; a larger struct is accepted if the bytes after what this library knows are 0, else it is
 * an error, for a request must not be ignored. Output: filled as far as both sides know it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "attn/attn.h"
#include "attn/nn.h"
#include "descriptor.h"

enum { L = 3, E = 4, MORE = 24 };

static float in[L * E], out[L * E], lse[L], sums[L];
static attn_tensor x, y, row, sum;

static int begin(void **state) {
  (void)state;
  for (int n = 0; n < L * E; n++) in[n] = 0.25f * (float)(n % 5);
  x = attn_tensor_dense(ATTN_F32, in, 1, 1, L, E), y = attn_tensor_dense(ATTN_F32, out, 1, 1, L, E);
  row = (attn_tensor){lse, ATTN_F32, 3, {1, 1, L}, {L, L, 1}};
  sum = (attn_tensor){sums, ATTN_F32, 3, {1, 1, L}, {L, L, 1}};
  return 0;
}

/* ---- One call for each struct; all other arguments are valid ---- */

static attn_status with_sdpa(void *given, attn_error *err) {
  return attn_sdpa_forward(given, &x, &x, &x, &y, err);
}

static attn_status with_gradients(void *given, attn_error *err) {
  attn_sdpa desc = ATTN_SDPA_INIT;
  desc.lse = &row;
  return attn_sdpa_backward(&desc, &x, &x, &x, &y, &x, given, err);
}

static attn_status with_gradients_packed(void *given, attn_error *err) {
  int32_t starts[2] = {0, L};
  attn_tensor t = {starts, ATTN_I32, 1, {2}, {1}};
  attn_tensor head = {in, ATTN_F32, 3, {1, L, E}, {L * E, E, 1}}, o = head;
  attn_tensor rows = {lse, ATTN_F32, 2, {1, L}, {L, 1}};
  attn_sdpa desc = ATTN_SDPA_INIT;
  o.data = out, desc.lse = &rows;
  return attn_sdpa_backward_packed(&desc, &head, &head, &head, &o, &head, &t, &t, given, err);
}

static attn_status with_score_backward(const void *score, const void *gradients, const void *of_it,
                                       attn_error *err) {
  attn_sdpa desc = ATTN_SDPA_INIT;
  desc.lse = &row;
  return attn_score_backward(&desc, score, &x, &x, &x, &y, &x, gradients, of_it, err);
}

static const attn_sdpa_gradients none = ATTN_SDPA_GRADIENTS_INIT;

static attn_status with_score(void *given, attn_error *err) {
  attn_status status = attn_score_forward(NULL, given, &x, &x, &x, &y, err);
  return status ? status : with_score_backward(given, &none, NULL, err);
}

static attn_status with_gradients_of_score(void *given, attn_error *err) {
  return with_score_backward(NULL, given, NULL, err);
}

static attn_status with_score_gradients(void *given, attn_error *err) {
  return with_score_backward(NULL, &none, given, err);
}

static attn_status with_summary(void *given, attn_error *err) {
  return attn_sdpa_summarize(NULL, &x, &x, given, err);
}

static int32_t table[1];
static int64_t lengths[1] = {L};
static const attn_tensor page_table = {table, ATTN_I32, 2, {1, 1}, {1, 1}};
static const attn_tensor page_lengths = {lengths, ATTN_I64, 1, {1}, {1}};

static attn_status with_paged(void *given, attn_error *err) {
  return attn_sdpa_forward_paged(NULL, &x, given, &y, err);
}

static attn_status with_cache(void *given, attn_error *err) {
  size_t bytes;
  attn_cache *cache = NULL;
  attn_status status = attn_cache_measure(given, &bytes, err);
  if (status) return assert_int_equal(attn_cache_new(given, &cache, err), status), status;
  status = attn_cache_new(given, &cache, err);
  attn_cache_free(cache);
  return status;
}

static attn_status with_norm(void *given, attn_error *err) {
  return attn_layer_norm_forward(given, &x, NULL, NULL, &y, NULL, NULL, err);
}

static attn_status with_norm_gradients(void *given, attn_error *err) {
  attn_status status = attn_rms_norm_backward(NULL, &x, NULL, &x, given, err);
  return status ? status : attn_layer_norm_backward(NULL, &x, NULL, &x, given, err);
}

static attn_status with_rotary(void *given, attn_error *err) {
  attn_tensor tables = {in, ATTN_F32, 3, {1, L, E / 2}, {0, 0, 1}};
  return attn_rotary_forward(given, &x, &tables, &tables, &y, err);
}

static attn_status with_attention_layer(void *given, attn_error *err) {
  attn_tensor row_in = {in, ATTN_F32, 2, {L, E}, {E, 1}}, row_out = row_in;
  row_out.data = out;
  return attn_attention_layer_forward(given, &row_in, &row_in, &row_out, err);
}

static attn_status with_attention_layer_gradients(void *given, attn_error *err) {
  attn_tensor rows = {in, ATTN_F32, 2, {L, E}, {E, 1}};
  return attn_attention_layer_backward(NULL, &rows, &rows, &rows, given, err);
}

/* ---- Input ---- */

struct kind {
  const char *type, *argument; /* named by the error */
  attn_status (*call)(void *given, attn_error *err);
  size_t size, least;
  const void *good;
};

/* The struct has struct_size bytes, so that a sanitizer detects reads past it. */
static attn_status call(const struct kind *k, size_t size, int mark, attn_error *err) {
  _Alignas(16) char buffer[1024];
  assert_true(k->size + MORE < sizeof buffer);
  memset(buffer, 0, sizeof buffer);
  memcpy(buffer, k->good, k->size);
  memcpy(buffer, &size, sizeof size);
  if (size <= sizeof buffer) {
    if (size < k->size) memset(buffer + size, 0xAA, k->size - size);
    if (mark >= 0) buffer[mark] = 1;
  }
  memset(err, 0, sizeof *err);
  return k->call(buffer, err);
}

static void expect_error(const struct kind *k, size_t size, int mark) {
  attn_error err;
  if (call(k, size, mark, &err) != ATTN_ERR_ARGUMENT || strcmp(err.argument, k->argument) ||
      !strstr(err.message, "struct_size"))
    fail_msg("%s of %zu bytes: \"%s\", \"%s\"", k->type, size, err.argument, err.message);
}

static void expect_success(const struct kind *k, size_t size) {
  attn_error err;
  if (call(k, size, -1, &err)) fail_msg("%s of %zu bytes: %s", k->type, size, err.message);
}

static void check_sizes(const struct kind *k) {
  expect_error(k, 0, -1), expect_error(k, sizeof(size_t), -1), expect_error(k, k->least - 1, -1);
  expect_error(k, 65537, -1), expect_error(k, SIZE_MAX, -1);
  expect_success(k, k->least), expect_success(k, k->size), expect_success(k, k->size + 1),
      expect_success(k, k->size + MORE);
  for (size_t n = k->size; n < k->size + MORE; n++) expect_error(k, k->size + MORE, (int)n);
}

static void input_structs_of_all_sizes(void **state) {
  (void)state;
  attn_sdpa sdpa = ATTN_SDPA_INIT;
  attn_score score = ATTN_SCORE_INIT;
  attn_score_gradients score_gradients = ATTN_SCORE_GRADIENTS_INIT;
  attn_sdpa_summary summary = ATTN_SDPA_SUMMARY_INIT;
  attn_pages paged = {sizeof paged, &x, &x, NULL, NULL, &page_table, &page_lengths};
  attn_cache_config config = ATTN_CACHE_CONFIG_INIT;
  attn_norm norm = ATTN_NORM_INIT;
  attn_norm_gradients norm_gradients = ATTN_NORM_GRADIENTS_INIT;
  attn_rotary rotary = ATTN_ROTARY_INIT;
  attn_attention_layer layer = ATTN_ATTENTION_LAYER_INIT;
  attn_attention_layer_gradients layer_gradients = ATTN_ATTENTION_LAYER_GRADIENTS_INIT;
  size_t old = offsetof(attn_sdpa_gradients, d_additive);
  summary.column_sums = &sum, norm_gradients.d_x = &y;
  config.num_kv_heads = config.head_dim = config.value_head_dim = config.sequences =
      config.capacity = 1;
  config.dtype = ATTN_F32;
#define KIND(argument, call, good, least) \
  { #good, argument, call, sizeof good, least, &good }
  const struct kind all[] = {
      KIND("struct_size", with_sdpa, sdpa, offsetof(attn_sdpa, workspace)),
      KIND("gradients", with_gradients, none, old),
      KIND("gradients", with_gradients_packed, none, old),
      KIND("gradients", with_gradients_of_score, none, old),
      KIND("score", with_score, score, sizeof score),
      KIND("score_gradients", with_score_gradients, score_gradients, sizeof score_gradients),
      KIND("summary", with_summary, summary, sizeof summary),
      KIND("pages", with_paged, paged, sizeof paged),
      KIND("config", with_cache, config, sizeof config),
      KIND("struct_size", with_norm, norm, sizeof norm),
      KIND("gradients", with_norm_gradients, norm_gradients, sizeof norm_gradients),
      KIND("struct_size", with_rotary, rotary, sizeof rotary),
      KIND("layer", with_attention_layer, layer, sizeof layer),
      KIND("gradients", with_attention_layer_gradients, layer_gradients, sizeof layer_gradients)};
  for (size_t n = 0; n < sizeof all / sizeof *all; n++) check_sizes(&all[n]);
}

/* ---- Output ---- */

static attn_status fill_machine(void *given, attn_error *err) {
  (void)err;
  return attn_machine_query(given);
}

static attn_status fill_plan(void *given, attn_error *err) {
  return attn_sdpa_plan(NULL, &x, &x, &x, NULL, given, err);
}

static attn_status fill_report(void *given, attn_error *err) {
  attn_status status = attn_sdpa_forward(NULL, &x, &x, &x, &y, err);
  return status ? status : attn_sdpa_verify(NULL, &x, &x, &x, &y, 0, 0, given, err);
}

/* A larger one is filled with 0 after what this library knows; struct_size does not change; on an
 * error nothing is written. */
static void output_structs_of_all_sizes(void **state) {
  (void)state;
  static const struct {
    attn_status (*call)(void *given, attn_error *err);
    size_t size;
  } all[] = {{fill_machine, sizeof(attn_machine)},
             {fill_plan, sizeof(attn_plan)},
             {fill_report, sizeof(attn_sdpa_report)}};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
    size_t sizes[] = {0, 8, all[k].size - 1, 65537, all[k].size, all[k].size + MORE}, size_after;
    for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
      _Alignas(16) unsigned char buffer[1024], before[1024];
      memset(buffer, 0x5A, sizeof buffer), memcpy(buffer, &sizes[n], sizeof sizes[n]);
      memcpy(before, buffer, sizeof buffer);
      attn_status status = all[k].call(buffer, NULL);
      assert_int_equal(status, n < 4 ? ATTN_ERR_ARGUMENT : ATTN_OK);
      memcpy(&size_after, buffer, sizeof size_after);
      assert_int_equal(size_after, sizes[n]);
      if (status) assert_memory_equal(buffer, before, sizeof buffer);
      for (size_t at = all[k].size; !status && at < sizeof buffer; at++)
        assert_int_equal(buffer[at], at < sizes[n] ? 0 : 0x5A);
      if (!status) assert_memory_not_equal(buffer + 8, before + 8, all[k].size - 8);
    }
  }
}

/* ---- The copy itself ---- */

struct now {
  size_t struct_size;
  int64_t a, b;
};

static void a_copy_is_complete_or_zero(void **state) {
  (void)state;
  const struct now given = {offsetof(struct now, b), 1, 2}, zero = {sizeof zero, 0, 0};
  const struct now older = {sizeof older, 1, 0};
  struct now to;
  attn_error err;
  memset(&to, 0x55, sizeof to);
  assert_int_equal(attn_descriptor_copy(&given, &to, sizeof to, given.struct_size, "x", &err),
                   ATTN_OK);
  assert_memory_equal(&to, &older, sizeof to);
  assert_int_equal(attn_descriptor_copy(&given, &to, sizeof to, sizeof to, "x", &err),
                   ATTN_ERR_ARGUMENT);
  assert_string_equal(err.argument, "x");
  assert_memory_equal(&to, &zero, sizeof to);
  memset(&to, 0x55, sizeof to);
  assert_int_equal(attn_descriptor_copy(NULL, &to, sizeof to, sizeof to, "x", &err), ATTN_OK);
  assert_memory_equal(&to, &zero, sizeof to);
  assert_int_equal(attn_descriptor_require(NULL, &to, sizeof to, sizeof to, "x", &err),
                   ATTN_ERR_ARGUMENT);
  assert_string_equal(err.message, "x is NULL");
}

/* An older caller's struct is shorter. */
static void a_fill_ends_at_the_callers_size(void **state) {
  (void)state;
  const struct now from = {sizeof from, 1, 2};
  struct now to = {offsetof(struct now, b), 7, 7};
  assert_int_equal(attn_descriptor_expect(&to, sizeof to, to.struct_size, "x", NULL), ATTN_OK);
  attn_descriptor_fill(&to, &from, sizeof from);
  assert_int_equal(to.struct_size, offsetof(struct now, b));
  assert_int_equal(to.a, 1), assert_int_equal(to.b, 7);
  assert_int_equal(attn_descriptor_expect(&to, sizeof to, sizeof to, "x", NULL), ATTN_ERR_ARGUMENT);
  assert_int_equal(attn_descriptor_expect(NULL, 8, 8, "x", NULL), ATTN_ERR_ARGUMENT);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test_setup(input_structs_of_all_sizes, begin),
                                     cmocka_unit_test_setup(output_structs_of_all_sizes, begin),
                                     cmocka_unit_test(a_copy_is_complete_or_zero),
                                     cmocka_unit_test(a_fill_ends_at_the_callers_size)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
