/* fuzz_png.c -- any bytes are an image that is read, scaled and written back the same, or an error;
 * without a crash, a leak or a large allocation. The first three bytes are the size and the type to
 * scale to. CRCs are corrected: nearly every mutation would end at the first one. */
#include "attn/io.h"
#include "attn/picture.h"
#include "files.h"

enum { PIXELS_MOST = 1 << 20 }; /* of images that are scaled: larger ones take seconds */

static uint32_t crc_of(const uint8_t *bytes, size_t count) {
  uint32_t crc = 0xFFFFFFFF;
  for (size_t n = 0; n < count; n++) {
    crc ^= bytes[n];
    for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320 : 0);
  }
  return ~crc;
}

/* Length, type, data, CRC; from byte 8 on. */
static void correct_crcs(uint8_t *png, size_t size) {
  for (size_t at = 8; size >= 12 && at <= size - 12;) {
    size_t length =
        (size_t)png[at] << 24 | (size_t)png[at + 1] << 16 | (size_t)png[at + 2] << 8 | png[at + 3];
    if (length > size - 12 - at) return;
    uint32_t crc = crc_of(png + at + 4, length + 4);
    for (int n = 0; n < 4; n++) png[at + 8 + length + (size_t)n] = (uint8_t)(crc >> (24 - 8 * n));
    at += length + 12;
  }
}

static void check_image(const attn_array *image, int64_t height, int64_t width, attn_dtype dtype) {
  const attn_tensor *t = &image->tensor;
  MUST(t->rank == 3 && t->shape[0] == height && t->shape[1] == width && t->shape[2] == 3);
  MUST(t->dtype == dtype);
}

struct page {
  uint8_t *bytes;
  size_t size, capacity;
};

static int grow(void *context, const char *text, size_t bytes) {
  struct page *p = context;
  if (p->size + bytes > p->capacity) {
    p->capacity = 2 * (p->size + bytes);
    MUST((p->bytes = realloc(p->bytes, p->capacity)));
  }
  memcpy(p->bytes + p->size, text, bytes);
  p->size += bytes;
  return 0;
}

/* Written as PNG and read again, the image is the same. */
static void write_back(const attn_array *image) {
  struct page page = {0};
  const attn_sink sink = {&page, grow};
  attn_array again;
  const attn_tensor *t = &image->tensor;
  MUST(!attn_image_write(t, &sink, NULL));
  MUST(!attn_image_parse(page.bytes, page.size, NULL, &again, NULL));
  check_image(&again, t->shape[0], t->shape[1], ATTN_U8);
  MUST(!memcmp(again.tensor.data, t->data, (size_t)(3 * t->shape[0] * t->shape[1])));
  attn_array_free(&again);
  free(page.bytes);
}

/* The same result from the file and from its pixels. */
static void scale(const uint8_t *png, size_t size, const attn_array *image,
                  const attn_image_config *c) {
  attn_array one, other;
  attn_dtype dtype = (attn_dtype)c->dtype;
  MUST(!attn_image_parse(png, size, c, &one, NULL));
  MUST(!attn_image_resize(&image->tensor, c, &other, NULL));
  check_image(&one, c->height, c->width, dtype), check_image(&other, c->height, c->width, dtype);
  size_t count = (size_t)(3 * c->height * c->width);
  MUST(!memcmp(one.tensor.data, other.tensor.data, count * attn_dtype_size(dtype)));
  for (size_t n = 0; dtype == ATTN_F32 && n < count; n++)
    MUST(((float *)one.tensor.data)[n] >= 0 && ((float *)one.tensor.data)[n] <= 1);
  attn_array_free(&one), attn_array_free(&other);
}

static void read_png(const uint8_t *png, size_t size, const attn_image_config *c) {
  char path[1100];
  attn_array image, same;
  attn_error err = {0};
  attn_status status = attn_image_parse(png, size, NULL, &image, &err);
  MUST(!status == (image.memory != NULL) && (!status || err.message[0]));
  put_file("x.png", png, size);
  MUST(attn_image_read(path_of(path, "x.png"), NULL, &same, &err) == status);
  attn_array_free(&same);
  if (!status && image.tensor.shape[0] * image.tensor.shape[1] <= PIXELS_MOST) {
    check_image(&image, image.tensor.shape[0], image.tensor.shape[1], ATTN_U8);
    scale(png, size, &image, c);
    write_back(&image);
  }
  attn_array_free(&image);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  attn_image_config c = ATTN_IMAGE_CONFIG_INIT;
  if (size < 3) return 0;
  c.height = 1 + data[0], c.width = 1 + data[1], c.dtype = data[2] & 1 ? ATTN_F32 : ATTN_U8;
  size_t bytes = size - 3;
  uint8_t *png = malloc(bytes ? bytes : 1);
  MUST(png);
  memcpy(png, data + 3, bytes);
  if (!(data[2] & 2)) correct_crcs(png, bytes);
  read_png(png, bytes, &c);
  free(png);
  return 0;
}
