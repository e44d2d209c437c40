#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "descriptor.h"
#include "error.h"
#include "allocator.h"
#include "element.h"
#include "threads.h"
#include "key_range.h"
#include "machine.h"
#include "parallel.h"
#include "sdpa_task.h"
#include "split.h"

static attn_status check_main(const attn_tensor *t, const char *name, const attn_tensor *q,
                              attn_tensor *wide, attn_error *err) {
  attn_status status = attn_view_check(t, name, err);
  if (status) return status;
  if (t->rank < 2 || t->rank > 4)
    return attn_fail(err, ATTN_ERR_SHAPE, name, "%s has rank %d; it must be 2, 3 or 4", name,
                     (int)t->rank);
  if (t->rank != q->rank)
    return attn_fail(err, ATTN_ERR_SHAPE, name, "%s has rank %d, but q has %d", name, (int)t->rank,
                     (int)q->rank);
  if (!attn_is_floating_point(t->dtype))
    return attn_fail(err, ATTN_ERR_TYPE, name,
                     "%s is %s; it must be float32, float64, float16 or bfloat16", name,
                     attn_dtype_name(t->dtype));
  if (t->dtype != q->dtype)
    return attn_fail(err, ATTN_ERR_TYPE, name, "%s is %s, but q is %s", name,
                     attn_dtype_name(t->dtype), attn_dtype_name(q->dtype));
  *wide = attn_tensor_rank4(t);
  return ATTN_OK;
}

static attn_status mismatch(attn_error *err, const char *name, const attn_tensor *t,
                            const char *other, const attn_tensor *u, const char *what) {
  char a[ATTN_SHAPE_TEXT], b[ATTN_SHAPE_TEXT];
  return attn_fail(err, ATTN_ERR_SHAPE, name, "%s is %s, but %s is %s: %s must be the same", name,
                   attn_view_text(t, a), other, attn_view_text(u, b), what);
}

/* q (B, Hq, L, E), k (B, H, S, E), v (B, H, S, Ev), o (B, Hq, L, Ev) */
static attn_status check_shapes(const struct attn_problem *p, int has_output, attn_error *err) {
  const int64_t *q = p->q.shape, *k = p->k.shape, *v = p->v.shape, *o = p->o.shape;
  if (k[0] != q[0]) return mismatch(err, "k", &p->k, "q", &p->q, "the batch");
  if (k[3] != q[3]) return mismatch(err, "k", &p->k, "q", &p->q, "the width E");
  if (v[0] != k[0]) return mismatch(err, "v", &p->v, "k", &p->k, "the batch");
  if (v[1] != k[1]) return mismatch(err, "v", &p->v, "k", &p->k, "the number of heads H");
  if (v[2] != k[2]) return mismatch(err, "v", &p->v, "k", &p->k, "the number of keys S");
  if (q[1] != k[1] && (k[1] == 0 || q[1] % k[1] != 0))
    return attn_fail(err, ATTN_ERR_SHAPE, "k",
                     "q has %lld heads, which is not a multiple of the %lld heads of k",
                     (long long)q[1], (long long)k[1]);
  if (!has_output) return ATTN_OK;
  if (o[0] != q[0]) return mismatch(err, "o", &p->o, "q", &p->q, "the batch");
  if (o[1] != q[1]) return mismatch(err, "o", &p->o, "q", &p->q, "the number of heads Hq");
  if (o[2] != q[2]) return mismatch(err, "o", &p->o, "q", &p->q, "the number of queries L");
  if (o[3] != v[3]) return mismatch(err, "o", &p->o, "v", &p->v, "the width Ev");
  return ATTN_OK;
}

static attn_status check_softcap_and_dropout(const attn_sdpa *d, attn_error *err) {
  if ((d->flags & ATTN_SDPA_SOFTCAP) && !(d->softcap > 0 && isfinite(d->softcap)))
    return attn_fail(err, ATTN_ERR_ARGUMENT, "softcap",
                     "softcap is %f; it must be finite and above 0", d->softcap);
  if ((d->flags & ATTN_SDPA_DROPOUT) && !(d->dropout >= 0 && d->dropout < 1))
    return attn_fail(err, ATTN_ERR_ARGUMENT, "dropout",
                     "dropout is %f; it must be at least 0 and below 1", d->dropout);
  if (d->origin_batch < 0 || d->origin_head < 0 || d->origin_query < 0)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "origin",
                     "origin_batch, origin_head and origin_query must not be negative");
  return ATTN_OK;
}

static attn_status check_options(const attn_sdpa *d, attn_error *err) {
  const uint64_t known = ATTN_SDPA_SCALE | ATTN_SDPA_CAUSAL | ATTN_SDPA_WINDOW | ATTN_SDPA_OFFSET |
                         ATTN_SDPA_SOFTCAP | ATTN_SDPA_DROPOUT;
  if (d->flags & ~known)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "flags", "flags has unknown bits 0x%llx",
                     (unsigned long long)(d->flags & ~known));
  if ((d->flags & ATTN_SDPA_SCALE) && !isfinite(d->scale))
    return attn_fail(err, ATTN_ERR_ARGUMENT, "scale", "scale is %f; it must be finite", d->scale);
  if (d->align < ATTN_ALIGN_TOP_LEFT || d->align > ATTN_ALIGN_OFFSET)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "align", "align is %d; it must be between 0 and 2",
                     (int)d->align);
  if (!(d->flags & ATTN_SDPA_OFFSET) != (d->align != ATTN_ALIGN_OFFSET))
    return attn_fail(err, ATTN_ERR_ARGUMENT, "offset",
                     "ATTN_SDPA_OFFSET and ATTN_ALIGN_OFFSET go together: set both or neither");
  if (d->empty_row < ATTN_EMPTY_ZERO || d->empty_row > ATTN_EMPTY_ERROR)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "empty_row",
                     "empty_row is %d; it must be between 0 and 3", (int)d->empty_row);
  if (d->reserved) return attn_fail(err, ATTN_ERR_ARGUMENT, "reserved", "reserved must be 0");
  if (d->flags & ATTN_SDPA_WINDOW) {
    if (d->window_left < -1)
      return attn_fail(err, ATTN_ERR_ARGUMENT, "window_left",
                       "window_left is %lld; it must be 0 or more, or -1 for no limit",
                       (long long)d->window_left);
    if (d->window_right < -1)
      return attn_fail(err, ATTN_ERR_ARGUMENT, "window_right",
                       "window_right is %lld; it must be 0 or more, or -1 for no limit",
                       (long long)d->window_right);
  }
  attn_status status = attn_threads_check(d->executor, d->threads, err);
  if (!status) status = attn_allocator_check(d->allocator, err);
  return status ? status : check_softcap_and_dropout(d, err);
}

attn_status attn_problem_copy_desc(const attn_sdpa *from, attn_sdpa *to, attn_error *err) {
  attn_status status = attn_descriptor_copy(from, to, sizeof *to, offsetof(attn_sdpa, workspace),
                                            "struct_size", err);
  if (!status) status = check_options(to, err);
  /* The low 32 bits are used; the sums must not overflow. */
  to->origin_batch &= UINT32_MAX, to->origin_head &= UINT32_MAX, to->origin_query &= UINT32_MAX;
  return status;
}

static attn_status check_mask(struct attn_problem *p, attn_error *err) {
  const attn_tensor *mask = p->desc.mask;
  if (!mask) return ATTN_OK;
  attn_status status = attn_view_check(mask, "mask", err);
  if (status) return status;
  if (mask->dtype != ATTN_BOOL && !attn_is_floating_point(mask->dtype))
    return attn_fail(err, ATTN_ERR_TYPE, "mask", "mask is %s; it must be bool or a float type",
                     attn_dtype_name(mask->dtype));
  char text[ATTN_SHAPE_TEXT];
  int64_t full[4] = {p->batch, p->heads_q, p->rows, p->keys};
  attn_tensor wide = mask->rank <= 4 ? attn_tensor_rank4(mask) : *mask;
  for (int n = 0; n < 4; n++) {
    if (mask->rank > 4 || (wide.shape[n] != 1 && wide.shape[n] != full[n]))
      return attn_fail(err, ATTN_ERR_SHAPE, "mask",
                       "mask %s does not broadcast to (B, Hq, L, S) = (%lld, %lld, %lld, %lld)",
                       attn_view_text(mask, text), (long long)full[0], (long long)full[1],
                       (long long)full[2], (long long)full[3]);
    if (wide.shape[n] == 1) wide.strides[n] = 0;
    wide.shape[n] = full[n];
  }
  p->mask = wide;
  return ATTN_OK;
}

static attn_status check_lengths(struct attn_problem *p, attn_error *err) {
  const attn_tensor *t = p->desc.key_lengths;
  if (!t) return ATTN_OK;
  attn_status status = attn_view_check(t, "key_lengths", err);
  if (status) return status;
  char text[ATTN_SHAPE_TEXT];
  if (t->rank != 1 || t->shape[0] != p->batch)
    return attn_fail(err, ATTN_ERR_SHAPE, "key_lengths",
                     "key_lengths is %s; it must be (B) = (%lld)", attn_view_text(t, text),
                     (long long)p->batch);
  if (t->dtype != ATTN_I32 && t->dtype != ATTN_I64)
    return attn_fail(err, ATTN_ERR_TYPE, "key_lengths",
                     "key_lengths is %s; it must be int32 or int64", attn_dtype_name(t->dtype));
  for (int64_t b = 0; b < p->batch; b++) {
    int64_t n = attn_problem_length(p, b);
    if (n < 0 || n > p->keys)
      return attn_fail(err, ATTN_ERR_ARGUMENT, "key_lengths",
                       "key_lengths[%lld] is %lld; it must be between 0 and S = %lld", (long long)b,
                       (long long)n, (long long)p->keys);
  }
  return ATTN_OK;
}

/* alibi: (Hq) or (B, Hq), finite; sinks: (Hq), -inf too. */
static attn_status check_per_head(const struct attn_problem *p, const attn_tensor *t,
                                  const char *name, int rank_max, double least, attn_error *err) {
  if (!t) return ATTN_OK;
  attn_status status = attn_view_check(t, name, err);
  if (status) return status;
  char text[ATTN_SHAPE_TEXT];
  if (t->rank < 1 || t->rank > rank_max || t->shape[t->rank - 1] != p->heads_q ||
      (t->rank == 2 && t->shape[0] != p->batch))
    return attn_fail(err, ATTN_ERR_SHAPE, name, "%s is %s; it must be (Hq)%s with Hq = %lld", name,
                     attn_view_text(t, text), rank_max == 2 ? " or (B, Hq)" : "",
                     (long long)p->heads_q);
  if (t->dtype != ATTN_F32 && t->dtype != ATTN_F64)
    return attn_fail(err, ATTN_ERR_TYPE, name, "%s is %s; it must be float32 or float64", name,
                     attn_dtype_name(t->dtype));
  for (int64_t b = 0; b < (t->rank == 2 ? p->batch : 1); b++)
    for (int64_t h = 0; h < p->heads_q; h++) {
      double value = attn_tensor_per_head(t, b, h);
      if (!(value >= least && value < (double)INFINITY))
        return attn_fail(err, ATTN_ERR_ARGUMENT, name, "%s of head %lld is %f; it must be finite%s",
                         name, (long long)h, value, rank_max == 1 ? " or -inf" : "");
    }
  return ATTN_OK;
}

/* (E) or (Hq, E), of any float type. */
static attn_status check_additive(const struct attn_problem *p, attn_error *err) {
  const attn_tensor *t = p->desc.additive;
  if (!t) return ATTN_OK;
  attn_status status = attn_view_check(t, "additive", err);
  if (status) return status;
  char text[ATTN_SHAPE_TEXT];
  if (t->rank < 1 || t->rank > 2 || t->shape[t->rank - 1] != p->width ||
      (t->rank == 2 && t->shape[0] != p->heads_q))
    return attn_fail(err, ATTN_ERR_SHAPE, "additive",
                     "additive is %s; it must be (E) or (Hq, E) with E = %lld, Hq = %lld",
                     attn_view_text(t, text), (long long)p->width, (long long)p->heads_q);
  if (attn_is_floating_point(t->dtype)) return ATTN_OK;
  return attn_fail(err, ATTN_ERR_TYPE, "additive", "additive is %s; it must be a float type",
                   attn_dtype_name(t->dtype));
}

/* Checks an optional output: lse (B, Hq, L) or weights (B, Hq, L, S), whose rank is q's less
 * missing. */
static attn_status check_extra(const struct attn_problem *p, const attn_tensor *t, const char *name,
                               int rank, int missing, attn_tensor *wide, attn_error *err) {
  if (!t) return ATTN_OK;
  attn_status status = attn_view_check(t, name, err);
  if (status) return status;
  char text[ATTN_SHAPE_TEXT];
  int64_t full[4] = {p->batch, p->heads_q, p->rows, p->keys};
  int fits = t->rank == rank - missing;
  for (int n = 0; fits && n < t->rank; n++) fits = t->shape[n] == full[n + 4 - rank];
  if (!fits)
    return attn_fail(err, ATTN_ERR_SHAPE, name,
                     "%s is %s; it must be (%s) with B = %lld, Hq = %lld, L = %lld, S = %lld", name,
                     attn_view_text(t, text), missing ? "B, Hq, L" : "B, Hq, L, S",
                     (long long)full[0], (long long)full[1], (long long)full[2],
                     (long long)full[3]);
  attn_dtype wanted = missing && attn_is_16_bit(p->q.dtype) ? ATTN_F32 : p->q.dtype;
  if (t->dtype != wanted)
    return attn_fail(err, ATTN_ERR_TYPE, name, "%s is %s; it must be %s where q is %s", name,
                     attn_dtype_name(t->dtype), attn_dtype_name(wanted),
                     attn_dtype_name(p->q.dtype));
  attn_tensor row = *t;
  if (missing) row.shape[row.rank] = 1, row.strides[row.rank++] = 0;
  *wide = attn_tensor_rank4(&row);
  return ATTN_OK;
}

static attn_status check_overlap(const struct attn_problem *p, attn_error *err) {
  const attn_sdpa *d = &p->desc;
  const struct attn_named_view out[] = {{&p->o, "o"}, {d->lse, "lse"}, {d->weights, "weights"}};
  const struct attn_named_view in[] = {{&p->q, "q"},
                                       {&p->k, "k"},
                                       {&p->v, "v"},
                                       {d->mask, "mask"},
                                       {d->key_lengths, "key_lengths"},
                                       {d->alibi, "alibi"},
                                       {d->sinks, "sinks"},
                                       {d->additive, "additive"}};
  return attn_views_check_no_overlap(out, sizeof out / sizeof *out, in, sizeof in / sizeof *in,
                                     err);
}

/* Adds the partial results of (B, Hq, L) rows; B may be huge where strides are 0. */
static attn_status add_split_bytes(struct attn_problem *p, attn_error *err) {
  int64_t max = attn_split_max(p), rows, floats;
  if (max == 1) return ATTN_OK;
  if (__builtin_mul_overflow(p->batch * p->heads_q, p->rows, &rows) ||
      __builtin_mul_overflow(rows, max * attn_split_floats(p), &floats) ||
      floats > INT64_MAX / 8 - (int64_t)p->workspace_bytes)
    return attn_fail(err, ATTN_ERR_SHAPE, "q", "the size of the workspace overflows");
  p->workspace_bytes += (size_t)floats * sizeof(float);
  return ATTN_OK;
}

/* Whether dot products of bf16 run the call, forward and backward: a function of the shape, types
 * and features. */
static int has_dots(const struct attn_problem *p) {
  const attn_sdpa *d = &p->desc;
  const double scale = fabs(p->scale * ATTN_LOG2E); /* of scores, in float32 */
  return p->kernel && p->kernel->sdpa_bf16 && p->q.dtype == ATTN_BF16 && p->k.dtype == ATTN_BF16 &&
         p->width && p->value_width && !d->additive && !d->weights &&
         !(d->flags & ATTN_SDPA_DROPOUT) && scale >= (double)FLT_MIN && scale <= (double)FLT_MAX;
}

/* Reads the environment once per call: it may change between two reads. */
static attn_status choose(struct attn_problem *p, const struct attn_problem *whole,
                          attn_error *err) {
  p->workers = whole ? whole->workers : attn_threads_workers(p->desc.executor, p->desc.threads);
  p->kernel = whole ? whole->kernel : p->q.dtype == ATTN_F64 ? NULL : attn_kernel_choose(err);
  p->has_dots = has_dots(p);
  return p->kernel || p->q.dtype == ATTN_F64 ? ATTN_OK : ATTN_ERR_CPU;
}

/* Bytes of workspace. */
static attn_status measure(struct attn_problem *p, attn_error *err) {
  /* Strides of 0 allow any number of keys: the sizes must not overflow. */
  if (p->keys > INT64_MAX / 64 || p->value_width > INT64_MAX / 64)
    return attn_fail(err, ATTN_ERR_SHAPE, p->keys > INT64_MAX / 64 ? "k" : "v",
                     "the size of the workspace overflows");
  size_t each = (size_t)(p->keys + 1) * 2 + (size_t)p->value_width * 3, unit = sizeof(double);
  if (p->kernel) {
    int64_t max = INT64_MAX / (ATTN_ROW_BLOCK + ATTN_KEY_BLOCK) / 64;
    if (p->width > max || p->value_width > max)
      return attn_fail(err, ATTN_ERR_SHAPE, "q", "the size of the workspace overflows");
    const int32_t most = attn_problem_row_blocks(p);
    p->row_blocks = attn_problem_shares_keys(p) ? most : 1;
    each = (size_t)attn_sdpa_lay_out(p->width, p->value_width, p->desc.additive != NULL, most).end;
    each += attn_task_floats(most);
    unit = sizeof(float);
  }
  p->worker_bytes = (each * unit + ATTN_PANEL_ALIGN - 1) / ATTN_PANEL_ALIGN * ATTN_PANEL_ALIGN;
  if (__builtin_mul_overflow(p->worker_bytes, (size_t)p->workers, &p->workspace_bytes) ||
      __builtin_add_overflow(p->workspace_bytes, (size_t)ATTN_PANEL_ALIGN, &p->workspace_bytes))
    return attn_fail(err, ATTN_ERR_SHAPE, "q", "the size of the workspace overflows");
  return add_split_bytes(p, err);
}

attn_status attn_problem_check(const struct attn_problem *whole, const attn_sdpa *desc,
                               const attn_tensor *q, const attn_tensor *k, const attn_tensor *v,
                               const attn_tensor *o, int has_output, struct attn_problem *p,
                               attn_error *err) {
  memset(p, 0, sizeof *p);
  attn_status status = attn_problem_copy_desc(desc, &p->desc, err);
  if (!status) status = attn_view_check(q, "q", err);
  if (!status) status = check_main(q, "q", q, &p->q, err);
  if (!status) status = check_main(k, "k", q, &p->k, err);
  if (!status) status = check_main(v, "v", q, &p->v, err);
  if (!status && has_output) status = check_main(o, "o", q, &p->o, err);
  if (!status) status = check_shapes(p, has_output, err);
  if (status) return status;
  p->batch = p->q.shape[0], p->heads_q = p->q.shape[1], p->rows = p->q.shape[2];
  p->heads = p->k.shape[1], p->keys = p->k.shape[2];
  p->width = p->q.shape[3], p->value_width = p->v.shape[3];
  p->scale = p->desc.flags & ATTN_SDPA_SCALE ? p->desc.scale
             : p->width && !p->desc.additive ? 1.0 / sqrt((double)p->width)
                                             : 1.0;
  status = check_mask(p, err);
  if (!status) status = check_lengths(p, err);
  if (!status) status = check_per_head(p, p->desc.alibi, "alibi", 2, -DBL_MAX, err);
  if (!status) status = check_per_head(p, p->desc.sinks, "sinks", 1, -(double)INFINITY, err);
  if (!status) status = check_additive(p, err);
  if (!status) status = check_extra(p, p->desc.lse, "lse", q->rank, 1, &p->lse, err);
  if (!status) status = check_extra(p, p->desc.weights, "weights", q->rank, 0, &p->weights, err);
  /* Parts of tensors that do not overlap do not. */
  if (!status && !whole) status = check_overlap(p, err);
  if (!status) status = choose(p, whole, err);
  return status ? status : measure(p, err);
}
