#include "element.h"
#include "problem.h"

attn_tensor attn_tensor_dense(attn_dtype dtype, void *data, int64_t n0, int64_t n1, int64_t n2,
                              int64_t n3) {
  attn_tensor t = {data, dtype, 4, {n0, n1, n2, n3}, {0}};
  /* Unsigned: a product that overflows is the door's to find, not undefined here. */
  uint64_t stride = 1;
  for (int n = 3; n >= 0; n--) {
    t.strides[n] = (int64_t)stride;
    stride *= (uint64_t)t.shape[n];
  }
  return t;
}

size_t attn_dtype_size(attn_dtype dtype) { return (size_t)attn_element_size(dtype); }

const char *attn_dtype_name(attn_dtype dtype) { return attn_element_name(dtype); }

int64_t attn_tensor_integer(const attn_tensor *t, int64_t a, int64_t b) {
  int64_t at = a * t->strides[0] + (t->rank > 1 ? b * t->strides[1] : 0);
  return attn_load_integer(t->dtype, attn_view_at(t, at));
}
