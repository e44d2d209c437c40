/* bytes.h -- files built by hand, in memory that ends at a forbidden page. */
#ifndef TEST_IO_BYTES_H
#define TEST_IO_BYTES_H

#include <stdint.h>
#include <string.h>

#include "attn/io.h"
#include "faults.h"
#include "guarded.h"
#include "unit.h"

enum { FILE_MOST = 20000 };

struct made {
  unsigned char at[FILE_MOST];
  size_t size;
};

static inline void add(struct made *m, const void *bytes, size_t size) {
  if (m->size + size > sizeof m->at) abort();
  memcpy(m->at + m->size, bytes, size);
  m->size += size;
}

static inline void add_length(struct made *m, uint64_t length, int bytes) {
  for (int n = 0; n < bytes; n++) add(m, &(unsigned char){(unsigned char)(length >> (8 * n))}, 1);
}

/* The library's parsers, on a copy that ends exactly where memory does. */
typedef attn_status parser(const void *bytes, size_t size, attn_array *array, attn_error *err);

static inline attn_status parse_guarded(parser *parse, const void *bytes, size_t size,
                                        attn_array *array, attn_error *err) {
  struct guarded g = guarded_new(size, 1);
  if (size) memcpy(g.data, bytes, size);
  attn_status status = parse(g.data, size, array, err);
  guarded_free(&g);
  return status;
}

/* A header that a parser must reject. */
struct bad_header {
  const char *header;
  size_t data; /* bytes after it */
  attn_status status;
  const char *words; /* of the message */
};

/* The parser rejects the file that was built from the header: the offset is in the file, nothing
 * larger than max bytes is allocated, and nothing leaks. */
static inline void expect_rejected(parser *parse, const struct made *m,
                                   const struct bad_header *bad, size_t max) {
  attn_array a;
  attn_error err;
  faults_begin(FAULT_NONE, 0);
  attn_status status = parse_guarded(parse, m->at, m->size, &a, &err);
  if (status != bad->status || !strstr(err.message, bad->words))
    fail_msg("%s: %s: %s", bad->header, attn_status_name(status), err.message);
  assert_null(a.memory);
  assert_true(err.offset >= 0 && err.offset <= (int64_t)m->size);
  assert_true(faults_largest() <= max);
  assert_int_equal(faults_blocks(), 0);
}

/* Reads every byte of the data, so that a sanitizer checks the size of the block. */
static inline unsigned touch(const attn_array *array) {
  size_t bytes = attn_dtype_size(array->tensor.dtype);
  unsigned sum = 0;
  for (int n = 0; n < array->tensor.rank; n++) bytes *= (size_t)array->tensor.shape[n];
  for (size_t n = 0; n < bytes; n++) sum += ((unsigned char *)array->tensor.data)[n];
  return sum;
}

#endif
