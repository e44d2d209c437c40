/* fuzz_npy.c -- any bytes are a tensor that is read, converted and written back the same, or an
 * error; without a crash, a leak or a large allocation. */
#include "arrays.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  attn_array array;
  attn_error err;
  attn_status status = attn_npy_parse(data, size, &array, &err);
  attn_array_free(&array);
  put_file("x.npy", data, size);
  char path[1100];
  MUST(attn_array_read(path_of(path, "x.npy"), &array, &err) == status);
  attn_array_free(&array);
  use_arrays("x.npy");
  return 0;
}
