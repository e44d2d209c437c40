/* image.c -- images: PNG files, and scaling. */
#include "image.h"

#include <stdlib.h>
#include <string.h>

#include "descriptor.h"
#include "error.h"
#include "view.h"

/* ---- Scaling: area average if an axis shrinks, bilinear if it grows ---------------------------
 */

/* The source pixels of one result pixel: first .. last, with weights that sum to 1. The weights
 * between the first and the last are equal. */
struct pixel_span {
  int64_t first, last;
  double first_weight, middle_weight, last_weight;
};

/* Result pixel i covers [i from / to, (i + 1) from / to); in units of 1 / to, all is an integer. */
static struct pixel_span shrinking_span(int64_t from, int64_t to, int64_t i) {
  int64_t begin = i * from, end = begin + from, first = begin / to, last = (end - 1) / to;
  double all = (double)from;
  if (first == last) return (struct pixel_span){first, last, 1, 0, 0};
  return (struct pixel_span){first, last, (double)((first + 1) * to - begin) / all,
                             (double)to / all, (double)(end - last * to) / all};
}

/* The centre of result pixel i is at (i + 1/2) from / to - 1/2 in the centres of the source; in
 * units of 1 / (2 to). */
static struct pixel_span growing_span(int64_t from, int64_t to, int64_t i) {
  int64_t at = (2 * i + 1) * from - to, first = at / (2 * to), more = at % (2 * to);
  if (at <= 0) return (struct pixel_span){0, 0, 1, 0, 0};
  if (!more || first == from - 1) return (struct pixel_span){first, first, 1, 0, 0};
  double share = (double)more / (double)(2 * to);
  return (struct pixel_span){first, first + 1, 1 - share, 0, share};
}

static struct pixel_span span_of(int64_t from, int64_t to, int64_t i) {
  return from > to ? shrinking_span(from, to, i) : growing_span(from, to, i);
}

static double weight_of(const struct pixel_span *s, int64_t k) {
  return k == s->first ? s->first_weight : k == s->last ? s->last_weight : s->middle_weight;
}

struct image_scaler {
  const attn_tensor *from;
  attn_tensor *to;
  double factor;               /* from a value of `from` to one of `to` */
  double *source, *line, *sum; /* a row of `from`; the row scaled; the sum of scaled rows */
  struct pixel_span *spans;    /* of each column of `to` */
};

static void load_row(const struct image_scaler *s, int64_t y) {
  const attn_tensor *t = s->from;
  double *to = s->source;
  for (int64_t x = 0; x < t->shape[1]; x++)
    for (int64_t c = 0; c < 3; c++) {
      const char *at = attn_view_at(t, y * t->strides[0] + x * t->strides[1] + c * t->strides[2]);
      *to++ = t->dtype == ATTN_U8 ? *(const unsigned char *)at : attn_load_real(ATTN_F32, at);
    }
}

static void scale_row(const struct image_scaler *s) {
  for (int64_t x = 0; x < s->to->shape[1]; x++) {
    const struct pixel_span *span = &s->spans[x];
    double *to = s->line + 3 * x;
    to[0] = to[1] = to[2] = 0;
    for (int64_t k = span->first; k <= span->last; k++) {
      double weight = weight_of(span, k);
      for (int c = 0; c < 3; c++) to[c] += weight * s->source[3 * k + c];
    }
  }
}

static unsigned char rounded(double value) {
  return value >= 255 ? 255 : value > 0 ? (unsigned char)(value + 0.5) : 0;
}

static void store_row(const struct image_scaler *s, int64_t y) {
  size_t count = 3 * (size_t)s->to->shape[1], start = (size_t)y * count;
  for (size_t n = 0; n < count; n++) {
    double value = s->sum[n] * s->factor;
    if (s->to->dtype == ATTN_U8)
      ((unsigned char *)s->to->data)[start + n] = rounded(value);
    else
      ((float *)s->to->data)[start + n] = (float)value;
  }
}

static void scale(const struct image_scaler *s) {
  size_t count = 3 * (size_t)s->to->shape[1];
  for (int64_t x = 0; x < s->to->shape[1]; x++)
    s->spans[x] = span_of(s->from->shape[1], s->to->shape[1], x);
  for (int64_t y = 0; y < s->to->shape[0]; y++) {
    struct pixel_span span = span_of(s->from->shape[0], s->to->shape[0], y);
    memset(s->sum, 0, count * sizeof *s->sum);
    for (int64_t k = span.first; k <= span.last; k++) {
      double weight = weight_of(&span, k);
      load_row(s, k), scale_row(s);
      for (size_t n = 0; n < count; n++) s->sum[n] += weight * s->line[n];
    }
    store_row(s, y);
  }
}

static attn_status run(struct image_scaler *s, attn_error *err) {
  size_t from = 3 * (size_t)s->from->shape[1], to = 3 * (size_t)s->to->shape[1];
  s->source = malloc((from + 2 * to) * sizeof *s->source);
  s->spans = malloc((size_t)s->to->shape[1] * sizeof *s->spans);
  attn_status status = ATTN_OK;
  if (s->source && s->spans) {
    s->line = s->source + from, s->sum = s->line + to;
    scale(s);
  } else {
    status = attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory to scale an image");
  }
  free(s->source), free(s->spans);
  return status;
}

/* ---- Checks ---------------------------------------------------------------------------------- */

static int is_size(int64_t height, int64_t width) {
  return height >= 1 && width >= 1 && height <= ATTN_IMAGE_SIDE_MAX &&
         width <= ATTN_IMAGE_SIDE_MAX && height * width <= ATTN_IMAGE_PIXELS_MAX;
}

static attn_status copy_config(const attn_image_config *from, attn_image_config *c,
                               attn_error *err) {
  attn_status status = attn_descriptor_copy(from, c, sizeof *c, sizeof *c, "config", err);
  if (status) return status;
  if (!c->dtype) c->dtype = ATTN_U8;
  if (c->dtype != ATTN_U8 && c->dtype != ATTN_F32)
    return attn_fail(err, ATTN_ERR_TYPE, "config", "dtype must be ATTN_U8 or ATTN_F32");
  if ((c->height || c->width) && !is_size(c->height, c->width))
    return attn_fail(err, ATTN_ERR_ARGUMENT, "config",
                     "the size is %d x %d; each side must be 1 to %d, their product at most %d",
                     (int)c->height, (int)c->width, ATTN_IMAGE_SIDE_MAX, ATTN_IMAGE_PIXELS_MAX);
  return ATTN_OK;
}

static attn_status check_image(const attn_tensor *t, attn_error *err) {
  attn_status status = attn_view_check(t, "image", err);
  if (status) return status;
  if (t->dtype != ATTN_U8 && t->dtype != ATTN_F32)
    return attn_fail(err, ATTN_ERR_TYPE, "image", "an image must be ATTN_U8 or ATTN_F32");
  if (t->rank == 3 && t->shape[2] == 3 && is_size(t->shape[0], t->shape[1])) return ATTN_OK;
  char text[ATTN_SHAPE_TEXT];
  return attn_fail(err, ATTN_ERR_SHAPE, "image",
                   "an image must be (height, width, 3), each side 1 to %d, at most %d pixels; got "
                   "%.80s",
                   ATTN_IMAGE_SIDE_MAX, ATTN_IMAGE_PIXELS_MAX, attn_view_text(t, text));
}

/* ---- Public ---------------------------------------------------------------------------------- */

static attn_status resize(const attn_tensor *from, const attn_image_config *c, attn_array *to,
                          attn_error *err) {
  int64_t height = c->height ? c->height : from->shape[0];
  int64_t width = c->width ? c->width : from->shape[1];
  attn_dtype dtype = (attn_dtype)c->dtype;
  size_t bytes = (size_t)(height * width * 3 * attn_element_size(dtype));
  void *memory = malloc(bytes);
  if (!memory) return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for %zu bytes", bytes);
  attn_tensor t = attn_image_tensor(memory, dtype, height, width);
  struct image_scaler s = {.from = from, .to = &t, .factor = 1};
  if (from->dtype != dtype) s.factor = dtype == ATTN_U8 ? 255 : 1 / 255.0;
  attn_status status = run(&s, err);
  if (status) return free(memory), status;
  to->tensor = t, to->memory = memory;
  return ATTN_OK;
}

attn_status attn_image_resize(const attn_tensor *image, const attn_image_config *config,
                              attn_array *resized, attn_error *err) {
  attn_image_config c;
  memset(resized, 0, sizeof *resized);
  attn_status status = check_image(image, err);
  if (!status) status = copy_config(config, &c, err);
  return status ? status : resize(image, &c, resized, err);
}

static attn_status read_image(const struct attn_bytes *bytes, const attn_image_config *c,
                              attn_array *image, attn_error *err) {
  attn_array decoded;
  attn_status status = attn_png_decode(bytes, &decoded, err);
  if (status) return status;
  if (!c->height && c->dtype == ATTN_U8) return *image = decoded, ATTN_OK;
  status = resize(&decoded.tensor, c, image, err);
  attn_array_free(&decoded);
  return status;
}

attn_status attn_image_parse(const void *bytes, size_t size, const attn_image_config *config,
                             attn_array *image, attn_error *err) {
  const struct attn_bytes source = {size ? bytes : "", -1, size, "image"};
  attn_image_config c;
  memset(image, 0, sizeof *image);
  attn_status status = copy_config(config, &c, err);
  return status ? status : read_image(&source, &c, image, err);
}

attn_status attn_image_read(const char *path, const attn_image_config *config, attn_array *image,
                            attn_error *err) {
  struct attn_bytes bytes;
  attn_image_config c;
  memset(image, 0, sizeof *image);
  attn_status status = copy_config(config, &c, err);
  if (!status) status = attn_bytes_open(&bytes, path, err);
  if (status) return status;
  status = read_image(&bytes, &c, image, err);
  attn_bytes_close(&bytes);
  return status;
}
