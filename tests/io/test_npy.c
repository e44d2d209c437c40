/* test_npy.c -- files written by NumPy are read; invalid ones are rejected with the offset. */
#include <stdio.h>

#include "bytes.h"
#include "faults.h"
#include "unit.h"

static void npy(struct made *m, int version, const char *header, const void *data, size_t bytes) {
  m->size = 0;
  add(m, "\x93NUMPY", 6);
  add_length(m, (uint64_t)version, 2);
  add_length(m, strlen(header), version == 1 ? 2 : 4);
  add(m, header, strlen(header));
  add(m, data, bytes);
}

static const struct {
  const char *code;
  attn_dtype dtype;
} types[] = {{"f4", ATTN_F32}, {"f8", ATTN_F64}, {"f2", ATTN_F16}, {"b1", ATTN_BOOL},
             {"i4", ATTN_I32}, {"i8", ATTN_I64}, {"u1", ATTN_U8}};

/* Byte n of element e, most significant first: unlike in every element and every byte. */
static unsigned char byte_of(size_t e, size_t n) { return (unsigned char)(1 + e * 8 + n); }

/* A (2, 3) tensor in the file's element and byte order. */
static void pattern(unsigned char *data, size_t size, int fortran, int big) {
  for (size_t i = 0; i < 2; i++)
    for (size_t j = 0; j < 3; j++)
      for (size_t n = 0; n < size; n++)
        data[(fortran ? j * 2 + i : i * 3 + j) * size + (big ? n : size - 1 - n)] =
            byte_of(i * 3 + j, n);
}

static void check_one(int type, int version, int fortran, int big) {
  static struct made m;
  char header[128];
  unsigned char data[48], expected[48];
  size_t size = attn_dtype_size(types[type].dtype);
  attn_array a;
  snprintf(header, sizeof header, "{'descr': '%c%s', 'fortran_order': %s, 'shape': (2, 3), }  \n",
           big ? '>' : '<', types[type].code, fortran ? "True" : "False");
  pattern(data, size, fortran, big);
  pattern(expected, size, 0, 0); /* little-endian machines: the tests run on no other */
  npy(&m, version, header, data, 6 * size);
  assert_int_equal(parse_guarded(attn_npy_parse, m.at, m.size, &a, NULL), ATTN_OK);
  assert_int_equal(a.tensor.dtype, types[type].dtype);
  assert_int_equal(a.tensor.rank, 2);
  assert_int_equal(a.tensor.shape[0], 2);
  assert_int_equal(a.tensor.shape[1], 3);
  assert_int_equal(a.tensor.strides[0], 3);
  assert_int_equal(a.tensor.strides[1], 1);
  assert_memory_equal(a.tensor.data, expected, 6 * size);
  attn_array_free(&a);
}

static void every_type_version_and_order(void **state) {
  (void)state;
  for (int type = 0; type < 7; type++)
    for (int version = 1; version <= 3; version++)
      for (int order = 0; order < 4; order++) check_one(type, version, order & 1, order >> 1);
}

static void shapes_without_dimensions_or_elements(void **state) {
  (void)state;
  static struct made m;
  attn_array a;
  npy(&m, 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (), }", "\0\0\x80\x3f", 4);
  assert_int_equal(parse_guarded(attn_npy_parse, m.at, m.size, &a, NULL), ATTN_OK);
  assert_int_equal(a.tensor.rank, 0);
  assert_true(*(float *)a.tensor.data == 1.0f);
  attn_array_free(&a);
  npy(&m, 1, "{'descr': '>f4', 'fortran_order': True, 'shape': (3, 0, 5), }", "", 0);
  assert_int_equal(parse_guarded(attn_npy_parse, m.at, m.size, &a, NULL), ATTN_OK);
  assert_int_equal(a.tensor.shape[2], 5);
  attn_array_free(&a);
}

#define HEAD "{'descr': '<f4', 'fortran_order': False, 'shape': "

static const struct bad_header bad_headers[] = {
    {HEAD "(2, 2), }", 15, ATTN_ERR_FORMAT, "truncated"},
    {HEAD "(2, 2), }", 17, ATTN_ERR_FORMAT, "extra bytes"},
    {HEAD "(8589934592,), }", 16, ATTN_ERR_FORMAT, "34359738368"},
    {HEAD "(4294967296, 4294967296), }", 0, ATTN_ERR_FORMAT, "more elements"},
    {HEAD "(4294967296, 4294967296, 0), }", 0, ATTN_ERR_FORMAT, "more elements"},
    {HEAD "(0, 4294967296, 4294967296), }", 0, ATTN_ERR_FORMAT, "more elements"},
    {HEAD "(4611686018427387904,), }", 0, ATTN_ERR_FORMAT, "more elements"},
    {HEAD "(18446744073709551616,), }", 0, ATTN_ERR_FORMAT, "not an integer"},
    {HEAD "(-1,), }", 16, ATTN_ERR_FORMAT, "not an integer"},
    {HEAD "(2.0,), }", 8, ATTN_ERR_FORMAT, "tuple"},
    {HEAD "(4), }", 16, ATTN_ERR_FORMAT, "tuple"},
    {HEAD "[4], }", 16, ATTN_ERR_FORMAT, "tuple"},
    {HEAD "(,), }", 4, ATTN_ERR_FORMAT, "not an integer"},
    {HEAD "(2,,2), }", 16, ATTN_ERR_FORMAT, "not an integer"},
    {HEAD "(2 2), }", 16, ATTN_ERR_FORMAT, "tuple"},
    {HEAD "(1,1,1,1,1,1,1,1,1), }", 4, ATTN_ERR_FORMAT, "8 dimensions"},
    {HEAD "(4,), ", 16, ATTN_ERR_FORMAT, "key"},
    {HEAD "(4,)", 16, ATTN_ERR_FORMAT, "not closed"},
    {HEAD "(4,", 16, ATTN_ERR_FORMAT, "not an integer"},
    {HEAD "(4,), } ;", 16, ATTN_ERR_FORMAT, "unexpected text"},
    {HEAD "(4,), 'shape': (4,), }", 16, ATTN_ERR_FORMAT, "duplicate key"},
    {HEAD "(4,), 'extra': 1, }", 16, ATTN_ERR_FORMAT, "other than"},
    {"{'descr': '<f4', 'shape': (4,), }", 16, ATTN_ERR_FORMAT, "missing"},
    {"{'descr': '<f4', 'fortran_order': 0, 'shape': (4,), }", 16, ATTN_ERR_FORMAT,
     "must be True or False"},
    {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (4,), }", 16, ATTN_ERR_FORMAT,
     "plain type"},
    {"{'descr': '|O', 'fortran_order': False, 'shape': (4,), }", 16, ATTN_ERR_TYPE, "|O"},
    {"{'descr': '<c8', 'fortran_order': False, 'shape': (2,), }", 16, ATTN_ERR_TYPE, "<c8"},
    {"{'descr': '<U4', 'fortran_order': False, 'shape': (1,), }", 16, ATTN_ERR_TYPE, "float32"},
    {"{'descr': 'f4', 'fortran_order': False, 'shape': (4,), }", 16, ATTN_ERR_TYPE, "f4"},
    {"{'descr': '', 'fortran_order': False, 'shape': (4,), }", 16, ATTN_ERR_TYPE, "\"\""},
    {"{'descr': '<f4444444444444444444444', 'fortran_order': False, 'shape': (4,), }", 16,
     ATTN_ERR_FORMAT, "plain type"},
    {"__import__('os').system('true')", 16, ATTN_ERR_FORMAT, "expected a dict"},
    {"", 16, ATTN_ERR_FORMAT, "expected a dict"},
    {"{}", 16, ATTN_ERR_FORMAT, "missing"},
    {"{'descr", 16, ATTN_ERR_FORMAT, "key"},
};

static void bad_headers_are_rejected(void **state) {
  (void)state;
  static struct made m;
  const char data[64] = {0};
  for (size_t n = 0; n < sizeof bad_headers / sizeof *bad_headers; n++) {
    npy(&m, 1, bad_headers[n].header, data, bad_headers[n].data);
    expect_rejected(attn_npy_parse, &m, &bad_headers[n], m.size + 64);
  }
}

/* A key that is valid up to its NUL. */
static void a_nul_in_a_key_is_refused(void **state) {
  (void)state;
  static struct made m;
  attn_array a;
  npy(&m, 1, "{'descr?': '<f4', 'fortran_order': False, 'shape': (1,), }", "\0\0\0\0", 4);
  memset(memchr(m.at, '?', m.size), 0, 1);
  assert_int_equal(parse_guarded(attn_npy_parse, m.at, m.size, &a, NULL), ATTN_ERR_FORMAT);
}

static void wrong_magic_and_lengths_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *bytes;
    size_t size;
    int64_t offset;
  } bad[] = {{"", 0, 0},
             {"PK\3\4aaaaaaaa", 12, 0},
             {"\x93NUMPY\1\0\xff\xff{}", 12, 8},
             {"\x93NUMPY\2\0\xff\xff\xff\xff{}", 14, 8},
             {"\x93NUMPY\2\0\2\0", 10, 8},
             {"\x93NUMPY\0\0\2\0{}", 12, 6},
             {"\x93NUMPY\4\0\2\0{}", 12, 6},
             {"\x93NUMPY\1\1\2\0{}", 12, 6}};
  for (size_t n = 0; n < sizeof bad / sizeof *bad; n++) {
    attn_array a;
    attn_error err;
    assert_int_equal(parse_guarded(attn_npy_parse, bad[n].bytes, bad[n].size, &a, &err),
                     ATTN_ERR_FORMAT);
    assert_int_equal(err.offset, bad[n].offset);
  }
}

static void make_good(struct made *m, int which) {
  static const char data[48] = "\x3f\x80\x00\x01";
  if (which == 0)
    npy(m, 1, "{'descr': '>f4', 'fortran_order': True, 'shape': (2, 3), }\n", data, 24);
  else
    npy(m, 2, "{'descr': '|b1', 'fortran_order': False, 'shape': (1,), }\n", data, 1);
}

static void every_truncation_is_refused(void **state) {
  (void)state;
  static struct made m;
  for (int which = 0; which < 2; which++) {
    make_good(&m, which);
    for (size_t size = 0; size < m.size; size++) {
      attn_array a;
      assert_int_equal(parse_guarded(attn_npy_parse, m.at, size, &a, NULL), ATTN_ERR_FORMAT);
      assert_null(a.memory);
    }
    attn_array a;
    assert_int_equal(parse_guarded(attn_npy_parse, m.at, m.size, &a, NULL), ATTN_OK);
    attn_array_free(&a);
  }
}

/* A flipped bit gives an error or a tensor of the size of its shape, never a crash. */
static void every_flipped_bit_is_survived(void **state) {
  (void)state;
  static struct made m;
  int refused = 0, read = 0;
  for (int which = 0; which < 2; which++) {
    make_good(&m, which);
    for (size_t bit = 0; bit < m.size * 8; bit++) {
      attn_array a;
      attn_error err;
      m.at[bit / 8] ^= (unsigned char)(1 << bit % 8);
      faults_begin(FAULT_NONE, 0);
      attn_status status = parse_guarded(attn_npy_parse, m.at, m.size, &a, &err);
      if (status) {
        refused++;
        assert_int_equal(err.status, status);
        assert_true(err.message[0]);
      } else {
        read++;
        touch(&a);
      }
      attn_array_free(&a);
      assert_int_equal(faults_blocks(), 0);
      m.at[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
  }
  assert_true(refused > 400); /* nearly all of the header */
  assert_true(read > 192);    /* the data have no checksum */
}

static void each_allocation_may_fail(void **state) {
  (void)state;
  static struct made m;
  make_good(&m, 0);
  for (int fail_at = 1;; fail_at++) {
    attn_array a;
    faults_begin(FAULT_MEMORY, fail_at);
    attn_status status = attn_npy_parse(m.at, m.size, &a, NULL);
    int calls = faults_end();
    attn_array_free(&a);
    assert_int_equal(faults_blocks(), 0);
    if (calls < fail_at) {
      assert_int_equal(status, ATTN_OK);
      assert_true(fail_at > 3);
      return;
    }
    assert_int_equal(status, ATTN_ERR_MEMORY);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_type_version_and_order),
      cmocka_unit_test(shapes_without_dimensions_or_elements),
      cmocka_unit_test(bad_headers_are_rejected),
      cmocka_unit_test(a_nul_in_a_key_is_refused),
      cmocka_unit_test(wrong_magic_and_lengths_are_refused),
      cmocka_unit_test(every_truncation_is_refused),
      cmocka_unit_test(every_flipped_bit_is_survived),
      cmocka_unit_test(each_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
