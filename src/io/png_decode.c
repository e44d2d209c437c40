/* png_decode.c -- PNG [ISO/IEC 15948] to 8-bit RGB, by libpng. Only the chunks that determine the
 * pixels are read: IHDR, PLTE, tRNS, IDAT, IEND. */
#include <png.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "image.h"

/* What libpng may allocate in all: rows, zlib's window, palettes. 4 rows of the widest image take
 * 1 MiB. */
enum { LIBPNG_BYTES_MAX = 1 << 24 };

/* All state is here: longjmp may clobber local variables. */
struct png_reader {
  const struct attn_bytes *bytes;
  size_t offset;      /* of the next byte */
  size_t memory_left; /* of LIBPNG_BYTES_MAX */
  png_structp png;
  png_infop info;
  unsigned char *rgba; /* 8-bit, dense */
  size_t width, height;
  attn_status status; /* the first failure; err describes it */
  attn_error *err;
  jmp_buf failed;
};

/* ---- Callbacks of libpng; its own error handler would print and abort ------------------------ */

static void on_error(png_structp png, png_const_charp message) {
  struct png_reader *r = png_get_error_ptr(png);
  if (!r->status)
    r->status = attn_fail_offset(r->err, ATTN_ERR_FORMAT, (int64_t)r->offset, "%.100s: png: %.100s",
                                 r->bytes->path, message);
  longjmp(r->failed, 1);
}

static void on_warning(png_structp png, png_const_charp message) { (void)png, (void)message; }

static void on_read(png_structp png, png_bytep to, size_t count) {
  struct png_reader *r = png_get_io_ptr(png);
  if (count > r->bytes->size - r->offset)
    r->status = attn_fail_offset(r->err, ATTN_ERR_FORMAT, (int64_t)r->bytes->size,
                                 "%.150s: png: the file is truncated", r->bytes->path);
  else
    r->status = attn_bytes_get(r->bytes, r->offset, to, count, r->err);
  if (r->status) png_error(png, "");
  r->offset += count;
}

static png_voidp on_allocate(png_structp png, png_alloc_size_t bytes) {
  struct png_reader *r = png_get_mem_ptr(png);
  void *memory = bytes <= r->memory_left ? malloc(bytes) : NULL;
  if (memory) r->memory_left -= bytes;
  if (!memory && !r->status)
    r->status =
        attn_fail(r->err, ATTN_ERR_MEMORY, NULL, "no memory to read %.150s", r->bytes->path);
  return memory;
}

static void on_free(png_structp png, png_voidp memory) {
  (void)png;
  free(memory);
}

/* ---- Decoding ---------------------------------------------------------------------------- */

static void check_size(struct png_reader *r) {
  r->width = png_get_image_width(r->png, r->info),
  r->height = png_get_image_height(r->png, r->info);
  if (r->width <= ATTN_IMAGE_SIDE_MAX && r->height <= ATTN_IMAGE_SIDE_MAX &&
      r->width * r->height <= ATTN_IMAGE_PIXELS_MAX)
    return;
  r->status =
      attn_fail(r->err, ATTN_ERR_SHAPE, NULL,
                "%.100s: the image has %zu x %zu pixels; the limits are %d per side and %d "
                "in all",
                r->bytes->path, r->width, r->height, ATTN_IMAGE_SIDE_MAX, ATTN_IMAGE_PIXELS_MAX);
  png_error(r->png, "");
}

/* Any type becomes 8-bit RGBA. */
static void set_transforms(struct png_reader *r) {
  png_set_expand(r->png);
  png_set_scale_16(r->png);
  png_set_gray_to_rgb(r->png);
  png_set_add_alpha(r->png, 0xFFFF, PNG_FILLER_AFTER);
}

static void read_pixels(struct png_reader *r) {
  size_t row = 4 * r->width;
  int passes = png_set_interlace_handling(r->png);
  png_read_update_info(r->png, r->info);
  if (png_get_rowbytes(r->png, r->info) != row) png_error(r->png, "unexpected row size");
  r->rgba = malloc(row * r->height);
  if (!r->rgba)
    r->status = attn_fail(r->err, ATTN_ERR_MEMORY, NULL, "no memory for %zu x %zu pixels", r->width,
                          r->height);
  if (r->status) png_error(r->png, "");
  for (int pass = 0; pass < passes; pass++)
    for (size_t y = 0; y < r->height; y++) png_read_row(r->png, r->rgba + y * row, NULL);
  png_read_end(r->png, NULL);
}

static void decode(struct png_reader *r) {
  if (setjmp(r->failed)) return;
  r->png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, r, on_error, on_warning, r, on_allocate,
                                    on_free);
  if (r->png) r->info = png_create_info_struct(r->png);
  if (!r->info) return;
  png_set_read_fn(r->png, r, on_read);
  png_set_user_limits(r->png, PNG_UINT_31_MAX, PNG_UINT_31_MAX); /* check_size has the limits */
  png_set_keep_unknown_chunks(r->png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
  png_read_info(r->png, r->info);
  check_size(r);
  set_transforms(r);
  read_pixels(r);
}

/* RGBA to RGB in place, on white. */
static void compose(unsigned char *pixels, size_t count) {
  for (size_t n = 0; n < count; n++) {
    unsigned alpha = pixels[4 * n + 3];
    for (size_t c = 0; c < 3; c++)
      pixels[3 * n + c] =
          (unsigned char)((pixels[4 * n + c] * alpha + 255 * (255 - alpha) + 127) / 255);
  }
}

attn_status attn_png_decode(const struct attn_bytes *bytes, attn_array *image, attn_error *err) {
  struct png_reader r = {.bytes = bytes, .memory_left = LIBPNG_BYTES_MAX, .err = err};
  memset(image, 0, sizeof *image);
  decode(&r);
  if (!r.info && !r.status)
    r.status = attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory to read %.150s", bytes->path);
  png_destroy_read_struct(&r.png, &r.info, NULL);
  if (r.status) return free(r.rgba), r.status;
  compose(r.rgba, r.width * r.height);
  image->tensor = attn_image_tensor(r.rgba, ATTN_U8, (int64_t)r.height, (int64_t)r.width);
  image->memory = r.rgba;
  return ATTN_OK;
}
