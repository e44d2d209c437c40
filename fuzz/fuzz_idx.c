/* fuzz_idx.c -- any bytes are an IDX array or an error; without a crash, a leak or a large
 * allocation. The first byte: 1: the rest is compressed by gzip before it is read, so that
 * mutations pass its CRC. */
#include <zlib.h>

#include "files.h"
#include "idx.h"

static void read_idx(const uint8_t *bytes, size_t size) {
  const struct attn_bytes memory = {bytes, -1, size, "x.idx"};
  attn_array array;
  attn_error err = {0};
  attn_status status = attn_idx_decode(&memory, NULL, &array, &err);
  MUST(!status == (array.memory != NULL) && (!status || err.message[0]));
  volatile uint8_t last = 0; /* every element is readable */
  int64_t count = status ? 0 : array.tensor.shape[0] * array.tensor.strides[0];
  for (int64_t n = 0; n < count; n++) last = ((uint8_t *)array.memory)[n];
  (void)last;
  attn_array_free(&array);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static uint8_t packed[1 << 14];
  if (!size || size > 1 << 13) return 0;
  if (!(data[0] & 1)) return read_idx(data + 1, size - 1), 0;
  z_stream z = {.next_in = (uint8_t *)data + 1,
                .avail_in = (uInt)size - 1,
                .next_out = packed,
                .avail_out = sizeof packed};
  MUST(deflateInit2(&z, 1, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  MUST(deflate(&z, Z_FINISH) == Z_STREAM_END);
  read_idx(packed, z.total_out);
  deflateEnd(&z);
  return 0;
}
