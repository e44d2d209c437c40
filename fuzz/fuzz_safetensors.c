/* fuzz_safetensors.c -- any bytes are tensors that are listed, read, converted and written back the
 * same, or an error; without a crash, a leak or a large allocation. */
#include "arrays.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  attn_array array;
  attn_error err;
  attn_safetensors_parse(data, size, NULL, &array, &err);
  attn_array_free(&array);
  attn_safetensors_parse(data, size, "a", &array, &err);
  attn_array_free(&array);
  put_file("x.safetensors", data, size);
  use_arrays("x.safetensors");
  return 0;
}
