/* png_file.h -- PNG files of every type, written by libpng from random samples, with the pixels
 * that a reader must return; and files built chunk by chunk. */
#ifndef TEST_IO_PNG_FILE_H
#define TEST_IO_PNG_FILE_H

#include <png.h>
#include <stdint.h>

#include "bytes.h"
#include "random.h"

struct png_type {
  int color, depth, transparent; /* transparent: with a tRNS chunk */
};

enum { PNG_TYPES = 23 };

static const struct png_type png_types[PNG_TYPES] = {
    {PNG_COLOR_TYPE_GRAY, 1, 0},        {PNG_COLOR_TYPE_GRAY, 2, 0},
    {PNG_COLOR_TYPE_GRAY, 4, 0},        {PNG_COLOR_TYPE_GRAY, 8, 0},
    {PNG_COLOR_TYPE_GRAY, 16, 0},       {PNG_COLOR_TYPE_GRAY, 1, 1},
    {PNG_COLOR_TYPE_GRAY, 4, 1},        {PNG_COLOR_TYPE_GRAY, 8, 1},
    {PNG_COLOR_TYPE_GRAY, 16, 1},       {PNG_COLOR_TYPE_PALETTE, 1, 0},
    {PNG_COLOR_TYPE_PALETTE, 2, 0},     {PNG_COLOR_TYPE_PALETTE, 4, 0},
    {PNG_COLOR_TYPE_PALETTE, 8, 0},     {PNG_COLOR_TYPE_PALETTE, 1, 1},
    {PNG_COLOR_TYPE_PALETTE, 8, 1},     {PNG_COLOR_TYPE_RGB, 8, 0},
    {PNG_COLOR_TYPE_RGB, 16, 0},        {PNG_COLOR_TYPE_RGB, 8, 1},
    {PNG_COLOR_TYPE_RGB, 16, 1},        {PNG_COLOR_TYPE_GRAY_ALPHA, 8, 0},
    {PNG_COLOR_TYPE_GRAY_ALPHA, 16, 0}, {PNG_COLOR_TYPE_RGB_ALPHA, 8, 0},
    {PNG_COLOR_TYPE_RGB_ALPHA, 16, 0}};

enum { PIXELS_MOST = 4096 };

struct png_scene {
  struct png_type type;
  int width, height, interlaced;
  unsigned sample[PIXELS_MOST][4]; /* as in the file */
  png_color palette[256];
  png_byte palette_alpha[256];
  png_color_16 key;                  /* of tRNS */
  const char *text;                  /* of a compressed chunk; NULL: none */
  unsigned char rgb[PIXELS_MOST][3]; /* as a reader must return them */
  struct made file;
};

static inline int channels_of(int color) {
  if (color == PNG_COLOR_TYPE_RGB) return 3;
  if (color == PNG_COLOR_TYPE_RGB_ALPHA) return 4;
  return color == PNG_COLOR_TYPE_GRAY_ALPHA ? 2 : 1;
}

/* A sample of depth bits as 8 bits, rounded to nearest. */
static inline unsigned eight_bits(unsigned sample, int depth) {
  unsigned most = (1u << depth) - 1;
  return (2 * 255 * sample + most) / (2 * most);
}

static inline void expect_pixel(struct png_scene *s, int n) {
  const unsigned *in = s->sample[n];
  int depth = s->type.depth, channels = channels_of(s->type.color), grey = channels < 3;
  unsigned alpha = 255, c[3];
  for (int k = 0; k < 3; k++) c[k] = eight_bits(in[grey ? 0 : k], depth);
  if (channels == 2 || channels == 4) alpha = eight_bits(in[channels - 1], depth);
  if (s->type.color == PNG_COLOR_TYPE_PALETTE) {
    const png_color *p = &s->palette[in[0]];
    c[0] = p->red, c[1] = p->green, c[2] = p->blue;
    if (s->type.transparent) alpha = s->palette_alpha[in[0]];
  } else if (s->type.transparent) {
    int is_key = grey ? in[0] == s->key.gray
                      : in[0] == s->key.red && in[1] == s->key.green && in[2] == s->key.blue;
    if (is_key) alpha = 0;
  }
  for (int k = 0; k < 3; k++)
    s->rgb[n][k] = (unsigned char)((double)(c[k] * alpha + 255 * (255 - alpha)) / 255 + 0.5);
}

/* Random samples; a third of the pixels repeat the first, so that a tRNS key has pixels. */
static inline void draw_samples(struct png_scene *s) {
  int count = s->width * s->height, channels = channels_of(s->type.color);
  for (int n = 0; n < 256; n++) {
    png_byte *p = &s->palette[n].red;
    for (int k = 0; k < 3; k++) p[k] = (png_byte)below(256);
    s->palette_alpha[n] = (png_byte)below(256);
  }
  for (int n = 0; n < count; n++)
    for (int k = 0; k < channels; k++)
      s->sample[n][k] = n && n % 3 == 0 ? s->sample[0][k] : (unsigned)below(1 << s->type.depth);
  s->key.gray = s->key.red = (png_uint_16)s->sample[0][0];
  s->key.green = (png_uint_16)s->sample[0][1], s->key.blue = (png_uint_16)s->sample[0][2];
  for (int n = 0; n < count; n++) expect_pixel(s, n);
}

static void add_bytes(png_structp png, png_bytep bytes, size_t count) {
  add(png_get_io_ptr(png), bytes, count);
}
static void ignore_flush(png_structp png) { (void)png; }

static inline void pack_row(const struct png_scene *s, int y, png_byte *row) {
  int channels = channels_of(s->type.color), depth = s->type.depth;
  for (int n = 0; n < s->width * channels; n++) {
    unsigned value = s->sample[y * s->width + n / channels][n % channels];
    if (depth == 16)
      row[2 * n] = (png_byte)(value >> 8), row[2 * n + 1] = (png_byte)value;
    else
      row[n * depth / 8] |= (png_byte)(value << (8 - depth - n * depth % 8));
  }
}

static inline void write_png(struct png_scene *s) {
  static png_byte row[PIXELS_MOST * 8], image[PIXELS_MOST * 8];
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
  png_infop info = png_create_info_struct(png);
  s->file.size = 0;
  png_set_write_fn(png, &s->file, add_bytes, ignore_flush);
  png_set_IHDR(png, info, (png_uint_32)s->width, (png_uint_32)s->height, s->type.depth,
               s->type.color, s->interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  int is_palette = s->type.color == PNG_COLOR_TYPE_PALETTE, colors = 1 << s->type.depth;
  if (is_palette) png_set_PLTE(png, info, s->palette, colors);
  if (s->type.transparent)
    png_set_tRNS(png, info, s->palette_alpha, is_palette ? colors : 0, &s->key);
  png_set_gAMA(png, info, 0.7); /* must be ignored */
  png_text text = {.compression = PNG_TEXT_COMPRESSION_zTXt, .key = "k", .text = (char *)s->text};
  if (s->text) png_set_text(png, info, &text, 1);
  png_write_info(png, info);
  int passes = png_set_interlace_handling(png);
  size_t bytes = png_get_rowbytes(png, info);
  memset(image, 0, sizeof image);
  for (int y = 0; y < s->height; y++) pack_row(s, y, image + (size_t)y * bytes);
  for (int pass = 0; pass < passes; pass++)
    for (int y = 0; y < s->height; y++) {
      memcpy(row, image + (size_t)y * bytes, bytes);
      png_write_row(png, row);
    }
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
}

/* Draws a random image and writes it. */
static inline void make_png(struct png_scene *s, int type, int width, int height, int interlaced) {
  s->type = png_types[type], s->width = width, s->height = height, s->interlaced = interlaced;
  draw_samples(s);
  write_png(s);
}

/* ---- Chunk by chunk ---- */

static inline void add_big(struct made *m, uint32_t value) {
  const unsigned char bytes[4] = {(unsigned char)(value >> 24), (unsigned char)(value >> 16),
                                  (unsigned char)(value >> 8), (unsigned char)value};
  add(m, bytes, 4);
}

static inline uint32_t crc_of(const unsigned char *bytes, size_t count) {
  uint32_t crc = 0xFFFFFFFF;
  for (size_t n = 0; n < count; n++) {
    crc ^= bytes[n];
    for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320 : 0);
  }
  return ~crc;
}

static inline void add_chunk(struct made *m, const char *type, const void *data, uint32_t size) {
  add_big(m, size);
  size_t start = m->size;
  add(m, type, 4), add(m, data, size);
  add_big(m, crc_of(m->at + start, m->size - start));
}

/* The signature and an IHDR chunk. */
static inline void begin_png(struct made *m, uint32_t width, uint32_t height, int depth,
                             int color) {
  struct made header = {.size = 0};
  const unsigned char rest[5] = {(unsigned char)depth, (unsigned char)color, 0, 0, 0};
  m->size = 0;
  add(m, "\x89PNG\r\n\x1a\n", 8);
  add_big(&header, width), add_big(&header, height), add(&header, rest, 5);
  add_chunk(m, "IHDR", header.at, 13);
}

#endif
