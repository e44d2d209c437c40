/* image.h -- images as tensors; decoding PNG. */
#ifndef ATTN_IO_IMAGE_H
#define ATTN_IO_IMAGE_H

#include "attn/io.h"
#include "file.h"

/* Dense (height, width, 3) at data. */
static inline attn_tensor attn_image_tensor(const void *data, attn_dtype dtype, int64_t height,
                                            int64_t width) {
  return (attn_tensor){(void *)(uintptr_t)data, dtype, 3, {height, width, 3}, {3 * width, 3, 1}};
}

/* Scaled to side x side bytes of each colour. */
static inline attn_image_config attn_image_config_square(int64_t side) {
  return (attn_image_config){.struct_size = sizeof(attn_image_config),
                             .height = (int32_t)side,
                             .width = (int32_t)side,
                             .dtype = ATTN_U8};
}

/* Decodes a PNG to (height, width, 3) ATTN_U8, dense; *image is left empty on an error. */
attn_status attn_png_decode(const struct attn_bytes *bytes, attn_array *image, attn_error *err);

#endif
