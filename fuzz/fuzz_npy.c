/* Any bytes: a tensor or a typed error, never a crash, a leak or a large allocation. */
#include "attn/io.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  attn_array array;
  attn_error err;
  if (attn_npy_parse(data, size, &array, &err) == ATTN_OK)
    attn_array_convert(&array, ATTN_F32, &err);
  attn_array_free(&array);
  return 0;
}
