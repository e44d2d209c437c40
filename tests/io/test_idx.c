/* test_idx.c -- IDX files, plain and compressed, are read as the bytes that were written; a
 * damaged, truncated or gigantic one is a typed error that allocates little and leaks nothing. */
#include <zlib.h>

#include "faults.h"
#include "idx.h"
#include "guarded.h"
#include "unit.h"

enum { ROOM = 1 << 12, ELEMENTS = 2 * 3 * 5 };

struct file {
  unsigned char at[ROOM];
  size_t size;
};

static void put_big(struct file *f, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) f->at[f->size++] = (unsigned char)(value >> shift);
}

/* (2, 3, 5), element n is 7 n. */
static struct file plain_file(void) {
  struct file f = {.size = 0};
  put_big(&f, 0x0803), put_big(&f, 2), put_big(&f, 3), put_big(&f, 5);
  for (int n = 0; n < ELEMENTS; n++) f.at[f.size++] = (unsigned char)(7 * n);
  return f;
}

static struct file compress_file(const struct file *plain) {
  struct file f = {.size = 0};
  z_stream z = {.next_in = (unsigned char *)plain->at,
                .avail_in = (uInt)plain->size,
                .next_out = f.at,
                .avail_out = ROOM};
  assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
  f.size = z.total_out;
  deflateEnd(&z);
  return f;
}

static attn_status decode(const struct file *f, size_t size, attn_array *array, attn_error *err) {
  struct guarded g = guarded_new(size, 1);
  if (size) memcpy(g.data, f->at, size);
  const struct attn_bytes bytes = {g.data, -1, size, "x"};
  attn_status status = attn_idx_decode(&bytes, NULL, array, err);
  guarded_free(&g);
  if (status) assert_true(!array->memory && err->message[0]);
  return status;
}

static void expect_elements(const attn_array *array) {
  const attn_tensor *t = &array->tensor;
  assert_true(t->rank == 3 && t->dtype == ATTN_U8);
  assert_true(t->shape[0] == 2 && t->shape[1] == 3 && t->shape[2] == 5);
  assert_true(t->strides[0] == 15 && t->strides[1] == 5 && t->strides[2] == 1);
  for (int n = 0; n < ELEMENTS; n++)
    assert_int_equal(((unsigned char *)t->data)[n], (unsigned char)(7 * n));
}

static void elements_are_read_exactly(void **state) {
  (void)state;
  struct file file[2] = {plain_file()};
  file[1] = compress_file(&file[0]);
  for (int n = 0; n < 2; n++) {
    attn_array array;
    attn_error err;
    if (decode(&file[n], file[n].size, &array, &err)) fail_msg("%s", err.message);
    expect_elements(&array);
    attn_array_free(&array);
  }
}

/* Each part of a file, and each file with one more byte. */
static void other_lengths_are_errors(void **state) {
  (void)state;
  struct file file[2] = {plain_file()};
  file[1] = compress_file(&file[0]);
  for (int n = 0; n < 2; n++)
    for (size_t size = 0; size <= file[n].size + 1; size++) {
      attn_array array;
      attn_error err;
      if (size == file[n].size) continue;
      assert_int_equal(decode(&file[n], size, &array, &err), ATTN_ERR_FORMAT);
    }
}

/* A changed bit of the compressed file is an error, or changes nothing (gzip's time, for example).
 */
static void damage_is_noticed(void **state) {
  (void)state;
  const struct file plain = plain_file(), whole = compress_file(&plain);
  int errors = 0;
  for (size_t bit = 0; bit < 8 * whole.size; bit++) {
    struct file f = whole;
    attn_array array;
    attn_error err;
    f.at[bit / 8] ^= (unsigned char)(1 << bit % 8);
    attn_status status = decode(&f, f.size, &array, &err);
    if (!status) expect_elements(&array);
    if (status) assert_int_equal(status, ATTN_ERR_FORMAT);
    errors += status != ATTN_OK;
    attn_array_free(&array);
  }
  assert_true(errors > (int)(8 * (whole.size - 8))); /* all but bits of gzip's time and system */
}

/* Decodes a header alone, also compressed: with more elements than the file can have. */
static void expect_refused(const struct file *plain, const char *what) {
  const struct file compressed = compress_file(plain);
  const struct file *const files[] = {plain, &compressed};
  for (int n = 0; n < 2; n++) {
    attn_array array;
    attn_error err;
    faults_begin(FAULT_NONE, 0);
    assert_int_equal(decode(files[n], files[n]->size, &array, &err), ATTN_ERR_FORMAT);
    assert_true(faults_largest() < 1 << 16);
    assert_int_equal(faults_blocks(), 0);
    faults_end();
    if (!strstr(err.message, what)) fail_msg("%s, expected %s", err.message, what);
  }
}

static void sizes_are_checked_before_memory_is_allocated(void **state) {
  (void)state;
  static const uint32_t sizes[][3] = {{0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF},
                                      {1 << 14, 1 << 14, 2},
                                      {0, 3, 5},
                                      {1 << 14, 1 << 14, 0}};
  struct file f;
  for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
    f = (struct file){.size = 0}, put_big(&f, 0x0803);
    for (int k = 0; k < 3; k++) put_big(&f, sizes[n][k]);
    expect_refused(&f, "1 to 2^28 elements");
  }
  f = (struct file){.size = 0}, put_big(&f, 0x0803);
  for (int k = 0; k < 3; k++) put_big(&f, 512);
  expect_refused(&f, "truncated");
}

static void other_headers_are_errors(void **state) {
  (void)state;
  static const struct {
    uint32_t head;
    const char *what;
  } cases[] = {{0x01000803, "expected an IDX file"},
               {0x00010803, "expected an IDX file"},
               {0x0903, "unsigned byte"},
               {0x0D03, "unsigned byte"},
               {0x0800, "the rank"},
               {0x08FF, "the rank"}};
  for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
    struct file f = plain_file();
    f.size = 0, put_big(&f, cases[n].head), f.size = 16 + ELEMENTS;
    expect_refused(&f, cases[n].what);
  }
}

static void failing_memory_is_an_error(void **state) {
  (void)state;
  const struct file plain = plain_file();
  attn_array array;
  attn_error err;
  faults_begin(FAULT_MEMORY, 1);
  assert_int_equal(decode(&plain, plain.size, &array, &err), ATTN_ERR_MEMORY);
  faults_end();
  assert_int_equal(attn_idx_read("/nonexistent", NULL, &array, &err), ATTN_ERR_FILE);
  assert_null(array.memory);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(elements_are_read_exactly),
      cmocka_unit_test(other_lengths_are_errors),
      cmocka_unit_test(damage_is_noticed),
      cmocka_unit_test(sizes_are_checked_before_memory_is_allocated),
      cmocka_unit_test(other_headers_are_errors),
      cmocka_unit_test(failing_memory_is_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
