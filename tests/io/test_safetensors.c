/* test_safetensors.c -- files written by safetensors are read; invalid headers are rejected with
 * the offset. */
#include <stdio.h>

#include "bytes.h"
#include "faults.h"
#include "unit.h"

static void make(struct made *m, const char *header, size_t header_bytes, const void *data,
                 size_t bytes) {
  m->size = 0;
  add_length(m, header_bytes, 8);
  add(m, header, header_bytes);
  add(m, data, bytes);
}

static const char *wanted; /* the requested tensor; the type parser has no parameter for it */

static attn_status parse(const void *bytes, size_t size, attn_array *array, attn_error *err) {
  return attn_safetensors_parse(bytes, size, wanted, array, err);
}

#define ONE(type, shape, span) \
  "{\"a\":{\"dtype\":\"" type "\",\"shape\":" shape ",\"data_offsets\":" span "}}"
#define TWO(one, two)                                             \
  "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":" one \
  "}"                                                             \
  ",\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":" two "}}"

static void every_type(void **state) {
  (void)state;
  static const struct {
    const char *name;
    attn_dtype dtype;
  } types[] = {{"F64", ATTN_F64}, {"F32", ATTN_F32}, {"F16", ATTN_F16}, {"BF16", ATTN_BF16},
               {"I64", ATTN_I64}, {"I32", ATTN_I32}, {"U8", ATTN_U8},   {"BOOL", ATTN_BOOL}};
  static struct made m;
  const char data[] = "abcdefghijklmnopqrstuvwxyz";
  for (size_t n = 0; n < sizeof types / sizeof *types; n++) {
    char header[160];
    size_t bytes = 3 * attn_dtype_size(types[n].dtype);
    attn_array a;
    snprintf(header, sizeof header,
             "{\"__metadata__\":{\"k\":\"v\"},\"x\":{\"dtype\":\"%s\",\"shape\":[1,3],"
             "\"data_offsets\":[0,%zu]}}  ",
             types[n].name, bytes);
    make(&m, header, strlen(header), data, bytes);
    wanted = n % 2 ? "x" : NULL;
    assert_int_equal(parse_guarded(parse, m.at, m.size, &a, NULL), ATTN_OK);
    assert_int_equal(a.tensor.dtype, types[n].dtype);
    assert_int_equal(a.tensor.rank, 2);
    assert_int_equal(a.tensor.shape[1], 3);
    assert_memory_equal(a.tensor.data, data, bytes);
    attn_array_free(&a);
  }
}

static void a_tensor_is_found_by_name(void **state) {
  (void)state;
  static struct made m;
  const float data[] = {1, 2};
  attn_array a;
  attn_error err;
  const char *header = TWO("[4,8]", "[0,4]"); /* the order of the names is free */
  make(&m, header, strlen(header), data, sizeof data);
  for (int n = 0; n < 2; n++) {
    wanted = n ? "b" : "a";
    assert_int_equal(parse_guarded(parse, m.at, m.size, &a, NULL), ATTN_OK);
    assert_true(*(float *)a.tensor.data == data[1 - n]);
    attn_array_free(&a);
  }
  wanted = NULL;
  assert_int_equal(parse_guarded(parse, m.at, m.size, &a, &err), ATTN_ERR_ARGUMENT);
  assert_non_null(strstr(err.message, "choose one"));
  wanted = "c";
  assert_int_equal(parse_guarded(parse, m.at, m.size, &a, &err), ATTN_ERR_ARGUMENT);
  assert_non_null(strstr(err.message, "it has: b, a"));
  make(&m, "{}", 2, "", 0);
  wanted = NULL;
  assert_int_equal(parse_guarded(parse, m.at, m.size, &a, &err), ATTN_ERR_ARGUMENT);
  assert_non_null(strstr(err.message, "no tensor"));
}

/* An unsupported type makes only its own tensor unreadable. */
static void other_types_do_no_harm(void **state) {
  (void)state;
  static struct made m;
  attn_array a;
  const char *header =
      "{\"a\":{\"dtype\":\"F8_E4M3\",\"shape\":[4],\"data_offsets\":[0,4]},"
      "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}";
  make(&m, header, strlen(header), "12345678", 8);
  wanted = "b";
  assert_int_equal(parse_guarded(parse, m.at, m.size, &a, NULL), ATTN_OK);
  assert_memory_equal(a.tensor.data, "5678", 4);
  attn_array_free(&a);
  wanted = "a";
  assert_int_equal(parse_guarded(parse, m.at, m.size, &a, NULL), ATTN_ERR_TYPE);
  assert_null(a.memory);
}

static const struct bad_header bad_headers[] = {
    {ONE("F32", "[2]", "[0,8]"), 7, ATTN_ERR_FORMAT, "past the end"},
    {ONE("F32", "[2]", "[0,8]"), 9, ATTN_ERR_FORMAT, "belong to no tensor"},
    {ONE("F32", "[2]", "[8,0]"), 8, ATTN_ERR_FORMAT, "out of order"},
    {ONE("F32", "[2]", "[0,4]"), 4, ATTN_ERR_FORMAT, "do not match"},
    {ONE("F32", "[1]", "[4,8]"), 8, ATTN_ERR_FORMAT, "gap"},
    {ONE("F32", "[2]", "[-8,0]"), 8, ATTN_ERR_FORMAT, "two integers"},
    {ONE("F32", "[2]", "[0,8.0]"), 8, ATTN_ERR_FORMAT, "two integers"},
    {ONE("F32", "[2]", "[0,8,9]"), 8, ATTN_ERR_FORMAT, "two integers"},
    {ONE("F32", "[2]", "[0]"), 8, ATTN_ERR_FORMAT, "two integers"},
    {ONE("F32", "[2]", "{}"), 8, ATTN_ERR_FORMAT, "two integers"},
    {ONE("F32", "[2]", "[0,18446744073709551624]"), 8, ATTN_ERR_FORMAT, "integer"},
    {ONE("F32", "[-2]", "[0,8]"), 8, ATTN_ERR_FORMAT, "dimension"},
    {ONE("F32", "[2.0]", "[0,8]"), 8, ATTN_ERR_FORMAT, "dimension"},
    {ONE("F32", "[\"2\"]", "[0,8]"), 8, ATTN_ERR_FORMAT, "dimension"},
    {ONE("F32", "2", "[0,8]"), 8, ATTN_ERR_FORMAT, "at most 8"},
    {ONE("F32", "[1,1,1,1,1,1,1,1,2]", "[0,8]"), 8, ATTN_ERR_FORMAT, "at most 8"},
    /* 2^62 x 4 wraps to 0 elements, 2^62 x 4 bytes to 0 bytes */
    {ONE("F32", "[4611686018427387904,4]", "[0,0]"), 0, ATTN_ERR_FORMAT, "do not match"},
    {ONE("F32", "[4611686018427387904]", "[0,0]"), 0, ATTN_ERR_FORMAT, "do not match"},
    {ONE("F32", "[4294967296,4294967296,0]", "[0,0]"), 0, ATTN_ERR_FORMAT, "do not match"},
    {ONE("F31", "[2]", "[0,8]"), 8, ATTN_ERR_TYPE, "F31"},
    {ONE("f32", "[2]", "[0,8]"), 8, ATTN_ERR_TYPE, "f32"},
    {"{\"a\":{\"dtype\":4,\"shape\":[2],\"data_offsets\":[0,8]}}", 8, ATTN_ERR_FORMAT, "dtype"},
    {"{\"a\":{\"shape\":[2],\"data_offsets\":[0,8]}}", 8, ATTN_ERR_FORMAT, "no other member"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8],\"x\":1}}", 8, ATTN_ERR_FORMAT,
     "no other member"},
    {"{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8,
     ATTN_ERR_FORMAT, "uplicate"},
    {"{\"a\":1}", 0, ATTN_ERR_FORMAT, "no other member"},
    {TWO("[0,4]", "[0,4]"), 4, ATTN_ERR_FORMAT, "overlap"},
    {TWO("[0,4]", "[2,6]"), 6, ATTN_ERR_FORMAT, "overlap"},
    {TWO("[0,4]", "[8,12]"), 12, ATTN_ERR_FORMAT, "gap"},
    {"{\"__metadata__\":{\"k\":1}}", 0, ATTN_ERR_FORMAT, "string"},
    {"{\"__metadata__\":[]}", 0, ATTN_ERR_FORMAT, "string"},
    {"{\"a\\u0000b\":{}}", 0, ATTN_ERR_FORMAT, "header"},
    {"{\"\\ud800\":{}}", 0, ATTN_ERR_FORMAT, "header"},
    {"{\"\xff\":{}}", 0, ATTN_ERR_FORMAT, "decode byte"},
    {"{\"a\":NaN}", 0, ATTN_ERR_FORMAT, "header"},
    {"{\"a\":1e400}", 0, ATTN_ERR_FORMAT, "header"},
    {"{\"a\":{}", 0, ATTN_ERR_FORMAT, "header"},
    {"{} {}", 0, ATTN_ERR_FORMAT, "header"},
    {"[]", 0, ATTN_ERR_FORMAT, "begin with {"},
    {"\xef\xbb\xbf{}", 0, ATTN_ERR_FORMAT, "begin with {"},
};

static void bad_headers_are_rejected(void **state) {
  (void)state;
  static struct made m;
  const char data[64] = {0};
  wanted = "a";
  for (size_t n = 0; n < sizeof bad_headers / sizeof *bad_headers; n++) {
    make(&m, bad_headers[n].header, strlen(bad_headers[n].header), data, bad_headers[n].data);
    expect_rejected(parse, &m, &bad_headers[n], 4096 + 16 * m.size);
  }
}

/* jansson alone ignores one after a number or a literal. */
static void a_nul_anywhere_is_refused(void **state) {
  (void)state;
  static const char header[] = "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}";
  enum { LENGTH = sizeof header - 1 };
  static struct made m;
  wanted = "a";
  for (size_t at = 0; at <= LENGTH; at++) {
    char text[LENGTH + 1];
    attn_array a;
    memcpy(text, header, at), text[at] = 0, memcpy(text + at + 1, header + at, LENGTH - at);
    make(&m, text, sizeof text, "12345678", 8);
    assert_int_equal(parse_guarded(parse, m.at, m.size, &a, NULL), ATTN_ERR_FORMAT);
  }
}

static void lengths_that_lie_are_refused(void **state) {
  (void)state;
  static const uint64_t lengths[] = {0, 3, 100000001, 1u << 31, UINT64_MAX - 7, UINT64_MAX};
  for (size_t n = 0; n < sizeof lengths / sizeof *lengths; n++) {
    struct made m = {{0}, 0};
    attn_array a;
    add_length(&m, lengths[n], 8);
    add(&m, "{}", 2);
    faults_begin(FAULT_NONE, 0);
    assert_int_equal(parse_guarded(parse, m.at, m.size, &a, NULL), ATTN_ERR_FORMAT);
    assert_int_equal(faults_largest(), 0);
  }
}

static void depth_is_limited(void **state) {
  (void)state;
  static struct made m;
  static char deep[15000];
  attn_array a;
  for (size_t n = 0; n + 5 <= sizeof deep; n += 5) memcpy(deep + n, "{\"a\":", 5);
  make(&m, deep, sizeof deep, "", 0);
  assert_int_equal(parse_guarded(parse, m.at, m.size, &a, NULL), ATTN_ERR_FORMAT);
  memset(deep, '[', sizeof deep);
  memcpy(deep, "{\"a\":", 5);
  make(&m, deep, sizeof deep, "", 0);
  assert_int_equal(parse_guarded(parse, m.at, m.size, &a, NULL), ATTN_ERR_FORMAT);
}

static void make_good(struct made *m) {
  const char *header =
      "{\"a\":{\"dtype\":\"BF16\",\"shape\":[1,2],\"data_offsets\":[0,4]},"
      "\"e\":{\"dtype\":\"I8\",\"shape\":[0],\"data_offsets\":[4,4]}}";
  make(m, header, strlen(header), "\x80\x3f\x00\x40", 4);
}

static void every_truncation_is_refused(void **state) {
  (void)state;
  static struct made m;
  attn_array a;
  make_good(&m);
  wanted = "a";
  for (size_t size = 0; size < m.size; size++)
    assert_int_equal(parse_guarded(parse, m.at, size, &a, NULL), ATTN_ERR_FORMAT);
  assert_int_equal(parse_guarded(parse, m.at, m.size, &a, NULL), ATTN_OK);
  attn_array_free(&a);
}

static void every_flipped_bit_is_survived(void **state) {
  (void)state;
  static struct made m;
  int refused = 0, read = 0;
  make_good(&m);
  wanted = "a";
  for (size_t bit = 0; bit < m.size * 8; bit++) {
    attn_array a;
    attn_error err;
    m.at[bit / 8] ^= (unsigned char)(1 << bit % 8);
    faults_begin(FAULT_NONE, 0);
    attn_status status = parse_guarded(parse, m.at, m.size, &a, &err);
    if (status) {
      refused++;
      assert_true(err.message[0]);
    } else {
      read++;
      touch(&a);
    }
    attn_array_free(&a);
    assert_int_equal(faults_blocks(), 0);
    m.at[bit / 8] ^= (unsigned char)(1 << bit % 8);
  }
  assert_true(refused > 700);
  assert_true(read >= 32); /* the data have no checksum */
}

static void each_allocation_may_fail(void **state) {
  (void)state;
  static struct made m;
  make_good(&m);
  int failures = 0;
  wanted = "a";
  for (int fail_at = 1;; fail_at++) {
    attn_array a;
    faults_begin(FAULT_MEMORY, fail_at);
    attn_status status = attn_safetensors_parse(m.at, m.size, wanted, &a, NULL);
    int calls = faults_end();
    attn_array_free(&a);
    assert_int_equal(faults_blocks(), 0);
    if (calls < fail_at) {
      assert_int_equal(status, ATTN_OK);
      assert_true(failures > 25);
      return;
    }
    /* For a few allocations jansson reports a format error instead. */
    assert_true(status == ATTN_ERR_MEMORY || status == ATTN_ERR_FORMAT);
    failures += status == ATTN_ERR_MEMORY;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_type),
      cmocka_unit_test(a_tensor_is_found_by_name),
      cmocka_unit_test(other_types_do_no_harm),
      cmocka_unit_test(bad_headers_are_rejected),
      cmocka_unit_test(a_nul_anywhere_is_refused),
      cmocka_unit_test(lengths_that_lie_are_refused),
      cmocka_unit_test(depth_is_limited),
      cmocka_unit_test(every_truncation_is_refused),
      cmocka_unit_test(every_flipped_bit_is_survived),
      cmocka_unit_test(each_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
