/* rotary.c -- rotary position embedding: pairs rotated by the angle of their position [Su21]. */
#include <math.h>
#include <string.h>

#include "attn/nn.h"
#include "descriptor.h"
#include "error.h"
#include "element.h"
#include "layer_common.h"
#include "tensor_rows.h"
#include "view.h"

/* One validated call. */
struct rotary_call {
  attn_rotary desc;
  struct attn_host host;
  attn_tensor from, to;                /* (B, H, L, E) */
  attn_tensor cos, sin;                /* (P, R/2) with positions, else (B, L, R/2) */
  int64_t heads, length, width, pairs; /* H, L, E, R/2 */
  int64_t first, second, step;         /* pair k is (first + k step, second + k step) */
  double direction;                    /* 1 forward, -1 backward */
  int64_t rows;                        /* B H L */
};

/* ---- Checks of arguments ------------------------------------------------- */

/* (B, L, H * E) seen as (B, H, L, E); rank 4 as it is. */
static attn_status by_heads(const attn_tensor *t, const char *name, int64_t heads, attn_tensor *to,
                            attn_error *err) {
  char text[ATTN_SHAPE_TEXT];
  if (t->rank == 4 && (!heads || heads == t->shape[1])) return *to = *t, ATTN_OK;
  if (t->rank == 4)
    return attn_fail(err, ATTN_ERR_SHAPE, "heads", "heads is %lld, but %s is %s", (long long)heads,
                     name, attn_view_text(t, text));
  if (t->rank != 3)
    return attn_fail(err, ATTN_ERR_SHAPE, name,
                     "%s is %s; it must be (B, H, L, E) or (B, L, H * E)", name,
                     attn_view_text(t, text));
  if (!heads || t->shape[2] % heads)
    return attn_fail(err, ATTN_ERR_SHAPE, "heads",
                     "heads is %lld; with %s %s it must be given and divide the last dimension",
                     (long long)heads, name, attn_view_text(t, text));
  const int64_t *n = t->shape, *s = t->strides, width = n[2] / heads;
  int64_t step = n[0] && n[1] ? width * s[2] : 0; /* strides of an empty tensor are arbitrary */
  *to = (attn_tensor){t->data, t->dtype, 4, {n[0], heads, n[1], width}, {s[0], step, s[1], s[2]}};
  return ATTN_OK;
}

static attn_status check_desc(struct rotary_call *c, attn_error *err) {
  const attn_rotary *d = &c->desc;
  if (d->flags & ~(uint64_t)ATTN_ROTARY_INTERLEAVED)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "flags", "flags has unknown bits 0x%llx",
                     (unsigned long long)(d->flags & ~(uint64_t)ATTN_ROTARY_INTERLEAVED));
  if (d->heads < 0)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "heads", "heads is %lld; it must be 0 or more",
                     (long long)d->heads);
  c->host = (struct attn_host){d->executor, NULL, d->threads};
  return attn_host_check(&c->host, err);
}

static attn_status choose_pairs(struct rotary_call *c, attn_error *err) {
  int64_t dim = c->desc.rotary_dim ? c->desc.rotary_dim : c->width;
  if (dim < 0 || dim % 2 || dim > c->width)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "rotary_dim",
                     "rotary_dim is %lld; it must be even and at most E = %lld", (long long)dim,
                     (long long)c->width);
  int interleaved = (c->desc.flags & ATTN_ROTARY_INTERLEAVED) != 0;
  c->pairs = dim / 2;
  c->first = 0;
  c->second = interleaved ? 1 : c->pairs;
  c->step = interleaved ? 2 : 1;
  return ATTN_OK;
}

static attn_status check_table(const struct rotary_call *c, const attn_tensor *t, const char *name,
                               attn_tensor *to, attn_error *err) {
  attn_status status = attn_layer_check_real(t, name, err);
  if (status) return status;
  int fits = c->desc.positions
                 ? t->rank == 2
                 : t->rank == 3 && t->shape[0] == c->from.shape[0] && t->shape[1] == c->length;
  char text[ATTN_SHAPE_TEXT];
  if (!fits || t->shape[t->rank - 1] != c->pairs)
    return attn_fail(err, ATTN_ERR_SHAPE, name,
                     c->desc.positions
                         ? "%s is %s; with positions it must be (P, R/2), R/2 = %lld"
                         : "%s is %s; without positions it must be (B, L, R/2), R/2 = %lld",
                     name, attn_view_text(t, text), (long long)c->pairs);
  *to = *t;
  return ATTN_OK;
}

static int64_t position(const attn_tensor *t, int64_t b, int64_t l) {
  return attn_load_integer(t->dtype, attn_view_at(t, b * t->strides[0] + l * t->strides[1]));
}

static attn_status check_positions(const struct rotary_call *c, attn_error *err) {
  const attn_tensor *t = c->desc.positions;
  if (!t) return ATTN_OK;
  attn_status status = attn_view_check(t, "positions", err);
  if (status) return status;
  char text[ATTN_SHAPE_TEXT];
  if (t->dtype != ATTN_I32 && t->dtype != ATTN_I64)
    return attn_fail(err, ATTN_ERR_TYPE, "positions", "positions is %s; it must be int32 or int64",
                     attn_dtype_name(t->dtype));
  if (t->rank != 2 || t->shape[0] != c->from.shape[0] || t->shape[1] != c->length)
    return attn_fail(err, ATTN_ERR_SHAPE, "positions",
                     "positions is %s; it must be (B, L) = (%lld, %lld)", attn_view_text(t, text),
                     (long long)c->from.shape[0], (long long)c->length);
  if (c->sin.shape[0] != c->cos.shape[0])
    return attn_fail(err, ATTN_ERR_SHAPE, "sin", "sin has %lld positions, but cos has %lld",
                     (long long)c->sin.shape[0], (long long)c->cos.shape[0]);
  for (int64_t b = 0; b < t->shape[0]; b++)
    for (int64_t l = 0; l < t->shape[1]; l++)
      if (position(t, b, l) < 0 || position(t, b, l) >= c->cos.shape[0])
        return attn_fail(err, ATTN_ERR_ARGUMENT, "positions",
                         "positions[%lld][%lld] is %lld; the tables have 0 .. %lld", (long long)b,
                         (long long)l, (long long)position(t, b, l),
                         (long long)c->cos.shape[0] - 1);
  return ATTN_OK;
}

static attn_status check_tensors(struct rotary_call *c, const attn_tensor *from,
                                 const char *from_name, const attn_tensor *to, const char *to_name,
                                 attn_error *err) {
  attn_status status = attn_layer_check_real(from, from_name, err);
  if (!status) status = attn_layer_check_shape(to, to_name, from->shape, from->rank, err);
  if (status) return status;
  if (to->dtype != from->dtype)
    return attn_fail(err, ATTN_ERR_TYPE, to_name, "%s is %s, but %s is %s", to_name,
                     attn_dtype_name(to->dtype), from_name, attn_dtype_name(from->dtype));
  status = by_heads(from, from_name, c->desc.heads, &c->from, err);
  if (!status) status = by_heads(to, to_name, c->desc.heads, &c->to, err);
  c->heads = c->from.shape[1], c->length = c->from.shape[2], c->width = c->from.shape[3];
  c->rows =
      c->width ? c->from.shape[0] * c->heads * c->length : 0; /* E = 0: any number of heads fits */
  return status;
}

static attn_status check(struct rotary_call *c, const attn_rotary *desc, const attn_tensor *from,
                         const char *from_name, const attn_tensor *cos, const attn_tensor *sin,
                         const attn_tensor *to, const char *to_name, attn_error *err) {
  attn_status status =
      attn_descriptor_copy(desc, &c->desc, sizeof c->desc, sizeof c->desc, "struct_size", err);
  if (!status) status = check_desc(c, err);
  if (!status) status = check_tensors(c, from, from_name, to, to_name, err);
  if (!status) status = choose_pairs(c, err);
  if (!status) status = check_table(c, cos, "cos", &c->cos, err);
  if (!status) status = check_table(c, sin, "sin", &c->sin, err);
  if (!status) status = check_positions(c, err);
  if (!status) status = attn_layer_check_in_place(to, to_name, from, from_name, err);
  const struct attn_named_view out = {to, to_name};
  const struct attn_named_view in[] = {
      {cos, "cos"}, {sin, "sin"}, {c->desc.positions, "positions"}};
  return status ? status : attn_views_check_no_overlap(&out, 1, in, 3, err);
}

/* ---- Rotation ------------------------------------------------------------ */

/* count values of the table's row for token l of sequence b, from pair k on. */
static void load_table(const struct rotary_call *c, const attn_tensor *t, int64_t b, int64_t l,
                       int64_t k, int64_t count, double *to) {
  int64_t at = c->desc.positions ? position(c->desc.positions, b, l) * t->strides[0]
                                 : b * t->strides[0] + l * t->strides[1];
  int64_t step = t->strides[t->rank - 1];
  attn_load_reals(t->dtype, attn_view_at(t, at + k * step), step, count, to);
}

/*     forward                        backward: the inverse rotation
 *     y1 = cos x1 - sin x2           dx1 =  cos dy1 + sin dy2
 *     y2 = sin x1 + cos x2           dx2 = -sin dy1 + cos dy2
 * x (E) in, cos, sin (R/2) in, y (E) out; y may be x */
static void rotate_row(const struct rotary_call *c, int64_t b, int64_t l, const char *x, char *y) {
  double cos[ATTN_ROW_CHUNK], sin[ATTN_ROW_CHUNK], x1[ATTN_ROW_CHUNK], x2[ATTN_ROW_CHUNK],
      y1[ATTN_ROW_CHUNK], y2[ATTN_ROW_CHUNK];
  int64_t size = attn_real_size(c->from.dtype), in = c->from.strides[3], out = c->to.strides[3];
  for (int64_t k = 0, count; k < c->pairs; k += count) {
    count = attn_min(c->pairs - k, ATTN_ROW_CHUNK);
    int64_t first = c->first + k * c->step, second = c->second + k * c->step;
    load_table(c, &c->cos, b, l, k, count, cos);
    load_table(c, &c->sin, b, l, k, count, sin);
    attn_load_reals(c->from.dtype, x + first * in * size, c->step * in, count, x1);
    attn_load_reals(c->from.dtype, x + second * in * size, c->step * in, count, x2);
    for (int64_t n = 0; n < count; n++) {
      double s = c->direction * sin[n];
      y1[n] = cos[n] * x1[n] - s * x2[n];
      y2[n] = s * x1[n] + cos[n] * x2[n];
    }
    attn_store_reals(c->to.dtype, y + first * out * size, c->step * out, count, y1);
    attn_store_reals(c->to.dtype, y + second * out * size, c->step * out, count, y2);
  }
  for (int64_t e = 2 * c->pairs; e < c->width; e++) /* elements that are not rotated are copied */
    memmove(y + e * out * size, x + e * in * size, (size_t)size);
}

static void rotate_rows(void *argument, int64_t from, int64_t to) {
  const struct rotary_call *c = argument;
  for (int64_t row = from; row < to; row++) {
    int64_t l = row % c->length, b = row / c->length / c->heads;
    rotate_row(c, b, l, attn_row_data(&c->from, 3, row), attn_row_data(&c->to, 3, row));
  }
}

static attn_status rotate(const attn_rotary *desc, double direction, const attn_tensor *from,
                          const char *from_name, const attn_tensor *cos, const attn_tensor *sin,
                          const attn_tensor *to, const char *to_name, attn_error *err) {
  struct rotary_call c = {.direction = direction};
  attn_status status = check(&c, desc, from, from_name, cos, sin, to, to_name, err);
  if (!status) attn_parallel_rows(&c.host, c.rows, c.width, rotate_rows, &c);
  return status;
}

attn_status attn_rotary_forward(const attn_rotary *desc, const attn_tensor *x,
                                const attn_tensor *cos, const attn_tensor *sin,
                                const attn_tensor *y, attn_error *err) {
  return rotate(desc, 1, x, "x", cos, sin, y, "y", err);
}

attn_status attn_rotary_backward(const attn_rotary *desc, const attn_tensor *cos,
                                 const attn_tensor *sin, const attn_tensor *d_y,
                                 const attn_tensor *d_x, attn_error *err) {
  return rotate(desc, -1, d_y, "d_y", cos, sin, d_x, "d_x", err);
}

/* ---- The tables ---------------------------------------------------------- */

static attn_status check_tables(double base, int64_t first, const attn_tensor *cos,
                                const attn_tensor *sin, attn_error *err) {
  if (!(base > 0 && isfinite(base)))
    return attn_fail(err, ATTN_ERR_ARGUMENT, "base", "base is %g; it must be finite and above 0",
                     base);
  attn_status status = attn_layer_check_real(cos, "cos", err);
  if (status) return status;
  char text[ATTN_SHAPE_TEXT];
  if (cos->rank != 2)
    return attn_fail(err, ATTN_ERR_SHAPE, "cos", "cos is %s; it must be (P, R/2)",
                     attn_view_text(cos, text));
  status = attn_layer_check_shape(sin, "sin", cos->shape, 2, err);
  const struct attn_named_view out = {cos, "cos"}, in = {sin, "sin"};
  if (!status) status = attn_views_check_no_overlap(&out, 1, &in, 1, err);
  const int64_t max = (int64_t)1 << 53; /* larger positions are not exact in double */
  if (!status && (first < 0 || first > max || cos->shape[0] > max - first))
    return attn_fail(err, ATTN_ERR_ARGUMENT, "first",
                     "first is %lld; it must be at least 0, and first + P at most 2^53",
                     (long long)first);
  return status;
}

/* wave((first + p) base^(-2k/R)) */
static void fill_table(const attn_tensor *t, double base, int64_t first, double (*wave)(double)) {
  int64_t positions = t->shape[0], pairs = t->shape[1], at = 0;
  for (int64_t p = 0; p < positions; p++)
    for (int64_t k = 0; k < pairs; k++) {
      double frequency = pow(base, -(double)k / (double)pairs);
      double value = wave((double)(first + p) * frequency);
      attn_store_reals(t->dtype, attn_row_data(t, 2, at++), 1, 1, &value);
    }
}

attn_status attn_rotary_tables(double base, int64_t first, const attn_tensor *cosines,
                               const attn_tensor *sines, attn_error *err) {
  attn_status status = check_tables(base, first, cosines, sines, err);
  if (status) return status;
  fill_table(cosines, base, first, cos);
  fill_table(sines, base, first, sin);
  return ATTN_OK;
}
