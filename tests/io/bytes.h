/* bytes.h -- files made by hand, in memory that ends at a forbidden page. */
#ifndef TEST_IO_BYTES_H
#define TEST_IO_BYTES_H

#include <stdint.h>
#include <string.h>

#include "attn/io.h"
#include "guarded.h"

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

/* Every byte of the data, so that a sanitizer sees whether the block is as long as it says. */
static inline unsigned touch(const attn_array *array) {
  size_t bytes = attn_dtype_size(array->tensor.dtype);
  unsigned sum = 0;
  for (int n = 0; n < array->tensor.rank; n++) bytes *= (size_t)array->tensor.shape[n];
  for (size_t n = 0; n < bytes; n++) sum += ((unsigned char *)array->tensor.data)[n];
  return sum;
}

#endif
