/* Any bytes: a tensor or a typed error, never a crash, a leak or a large allocation. */
#include "attn/io.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  attn_array array;
  attn_error err;
  if (attn_safetensors_parse(data, size, NULL, &array, &err) == ATTN_OK)
    attn_array_convert(&array, ATTN_F64, &err);
  attn_array_free(&array);
  attn_safetensors_parse(data, size, "a", &array, &err);
  attn_array_free(&array);
  return 0;
}
