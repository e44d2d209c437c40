/* image.h -- decoding PNG. */
#ifndef ATTN_IO_IMAGE_H
#define ATTN_IO_IMAGE_H

#include "attn/io.h"
#include "file.h"

/* Decodes a PNG to (height, width, 3) ATTN_U8, dense; *image is left empty on an error. */
attn_status attn_png_decode(const struct attn_bytes *bytes, attn_array *image, attn_error *err);

#endif
