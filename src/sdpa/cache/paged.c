/* paged.c -- attention over a paged KV cache: checks, then a call like any other. */
#include <string.h>

#include "descriptor.h"
#include "error.h"
#include "element.h"
#include "key_range.h"
#include "paging.h"

/* ---- Access ---- */

static int64_t row_of(const struct attn_paging *g, int64_t b) { return g->rows ? g->rows[b] : b; }

void attn_paging_set_pages(const struct attn_problem *p, struct attn_task_pages *pages, int64_t b) {
  const struct attn_paging *g = p->paging;
  memset(pages, 0, sizeof *pages);
  if (!g) return;
  int64_t size = (int64_t)attn_dtype_size(g->table.dtype);
  pages->tokens = g->tokens, pages->keys = attn_problem_keys(p, b);
  if (!attn_view_is_empty(&g->table))
    pages->table = attn_view_at(&g->table, row_of(g, b) * g->table.strides[0]);
  pages->table_step = g->table.strides[1] * size, pages->table_dtype = g->table.dtype;
}

double attn_paging_element(const struct attn_paging *g, const attn_tensor *pages,
                           const attn_tensor *scales, int64_t row, int64_t head, int64_t j,
                           int64_t e) {
  int64_t page = attn_tensor_integer(&g->table, row, j / g->tokens), slot = j % g->tokens;
  const char *at = attn_tensor_at(pages, page, head, slot, e);
  if (pages->dtype != ATTN_I8) return attn_load_real(pages->dtype, at);
  double scale = attn_load_real(ATTN_F32, attn_tensor_at(scales, page, head, slot, 0));
  return (double)((float)*(const signed char *)at * (float)scale);
}

double attn_paging_value(const struct attn_problem *p, int64_t b, int64_t head, int64_t j,
                         int64_t e) {
  const struct attn_paging *g = p->paging;
  return attn_paging_element(g, &p->v, &g->v_scales, row_of(g, b), head, j, e);
}

/* ---- Checks ---- */

static int is_integer(attn_dtype dtype) { return dtype == ATTN_I32 || dtype == ATTN_I64; }

static attn_status check_rank(const attn_tensor *t, const char *name, int rank, const char *form,
                              attn_error *err) {
  attn_status status = attn_view_check(t, name, err);
  if (status) return status;
  if (t->rank == rank) return ATTN_OK;
  return attn_fail(err, ATTN_ERR_SHAPE, name, "%s has rank %d; it must be %s", name, (int)t->rank,
                   form);
}

/* k (pages, H, T, E), v (pages, H, T, Ev). */
static attn_status check_pages(const attn_pages *paged, attn_error *err) {
  const attn_tensor *k = paged->k, *v = paged->v;
  attn_status status = check_rank(k, "k", 4, "(pages, H, T, E)", err);
  if (!status) status = check_rank(v, "v", 4, "(pages, H, T, Ev)", err);
  if (status) return status;
  if (k->dtype != ATTN_F32 && !attn_is_16_bit(k->dtype) && k->dtype != ATTN_I8)
    return attn_fail(err, ATTN_ERR_TYPE, "k",
                     "k is %s; pages must be float32, float16, bfloat16 or int8",
                     attn_dtype_name(k->dtype));
  if (v->dtype != k->dtype)
    return attn_fail(err, ATTN_ERR_TYPE, "v", "v is %s, but k is %s", attn_dtype_name(v->dtype),
                     attn_dtype_name(k->dtype));
  for (int n = 0; n < 3; n++)
    if (v->shape[n] != k->shape[n])
      return attn_fail(err, ATTN_ERR_SHAPE, "v", "dimension %d of v is %lld, but k's is %lld", n,
                       (long long)v->shape[n], (long long)k->shape[n]);
  if (k->shape[2] >= 1) return ATTN_OK;
  return attn_fail(err, ATTN_ERR_SHAPE, "k", "a page must have at least one token");
}

/* Checks the scales of int8 pages, one per row. */
static attn_status check_scales(const attn_tensor *scales, const char *name, const attn_tensor *t,
                                attn_tensor *wide, attn_error *err) {
  if (t->dtype != ATTN_I8 && scales)
    return attn_fail(err, ATTN_ERR_ARGUMENT, name, "%s must be NULL: the pages are %s, not int8",
                     name, attn_dtype_name(t->dtype));
  if (t->dtype != ATTN_I8) return ATTN_OK;
  attn_status status = check_rank(scales, name, 3, "(pages, H, T)", err);
  if (status) return status;
  if (scales->dtype != ATTN_F32)
    return attn_fail(err, ATTN_ERR_TYPE, name, "%s is %s; it must be float32", name,
                     attn_dtype_name(scales->dtype));
  for (int n = 0; n < 3; n++)
    if (scales->shape[n] != t->shape[n])
      return attn_fail(err, ATTN_ERR_SHAPE, name,
                       "dimension %d of %s is %lld, but that of the pages is %lld", n, name,
                       (long long)scales->shape[n], (long long)t->shape[n]);
  *wide = *scales;
  wide->rank = 4, wide->shape[3] = 1, wide->strides[3] = 0;
  *wide = attn_tensor_rank4(wide);
  return ATTN_OK;
}

static attn_status check_table(const attn_pages *paged, attn_error *err) {
  const attn_tensor *table = paged->page_table, *lengths = paged->lengths;
  attn_status status = check_rank(table, "page_table", 2, "(B, N)", err);
  if (!status) status = check_rank(lengths, "lengths", 1, "(B)", err);
  if (status) return status;
  if (!is_integer(table->dtype) || !is_integer(lengths->dtype))
    return attn_fail(err, ATTN_ERR_TYPE, is_integer(table->dtype) ? "lengths" : "page_table",
                     "page_table and lengths must be int32 or int64");
  if (lengths->shape[0] == table->shape[0]) return ATTN_OK;
  return attn_fail(err, ATTN_ERR_SHAPE, "lengths",
                   "lengths has %lld elements, but page_table has %lld rows",
                   (long long)lengths->shape[0], (long long)table->shape[0]);
}

/* Checks the length of sequence b and the page table entries that it uses. */
static attn_status check_sequence(const struct attn_paging *g, int64_t pages, int64_t b,
                                  attn_error *err) {
  int64_t row = row_of(g, b), length = attn_tensor_integer(&g->lengths, row, 0), most;
  if (__builtin_mul_overflow(g->table.shape[1], g->tokens, &most)) most = INT64_MAX;
  if (length < 0 || length > most)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "lengths",
                     "lengths[%lld] is %lld; it must be between 0 and N T = %lld", (long long)row,
                     (long long)length, (long long)most);
  for (int64_t n = 0; length > 0 && n <= (length - 1) / g->tokens; n++) {
    int64_t page = attn_tensor_integer(&g->table, row, n);
    if (page < 0 || page >= pages)
      return attn_fail(err, ATTN_ERR_ARGUMENT, "page_table",
                       "page_table[%lld][%lld] is %lld; it must be between 0 and %lld",
                       (long long)row, (long long)n, (long long)page, (long long)pages - 1);
  }
  return ATTN_OK;
}

static attn_status check_overlap(const struct attn_problem *p, const attn_pages *paged,
                                 attn_error *err) {
  const attn_sdpa *d = &p->desc;
  const struct attn_named_view out[] = {{&p->o, "o"}, {d->lse, "lse"}, {d->weights, "weights"}};
  const struct attn_named_view in[] = {
      {paged->k, "the pages' k"},        {paged->v, "the pages' v"},
      {paged->k_scales, "k_scales"},     {paged->v_scales, "v_scales"},
      {paged->page_table, "page_table"}, {paged->lengths, "lengths"}};
  return attn_views_check_no_overlap(out, sizeof out / sizeof *out, in, sizeof in / sizeof *in,
                                     err);
}

static attn_status check_parts(const attn_pages *paged, struct attn_paging *g, attn_error *err) {
  memset(g, 0, sizeof *g);
  attn_status status = check_pages(paged, err);
  if (!status) status = check_scales(paged->k_scales, "k_scales", paged->k, &g->k_scales, err);
  if (!status) status = check_scales(paged->v_scales, "v_scales", paged->v, &g->v_scales, err);
  if (!status) status = check_table(paged, err);
  if (status) return status;
  g->table = *paged->page_table, g->lengths = *paged->lengths, g->tokens = paged->k->shape[2];
  return ATTN_OK;
}

/* A view of the dense shape for the common checks; never read. */
static attn_tensor dense_view(const attn_tensor *q, const attn_tensor *pages, int64_t count,
                              int64_t keys) {
  static double nothing;
  attn_tensor t = {&nothing, q->dtype, q->rank, {0}, {0}};
  const int64_t shape[4] = {count, pages->shape[1], keys, pages->shape[3]};
  int rank = q->rank < 2 || q->rank > 4 ? 4 : q->rank;
  memcpy(t.shape, shape + 4 - rank, (size_t)rank * sizeof *shape);
  return t;
}

attn_status attn_paged_check(const attn_sdpa *desc, const attn_tensor *q, const attn_pages *paged,
                             const int64_t *rows, int64_t count, const attn_tensor *o,
                             struct attn_paging *g, struct attn_problem *p, attn_error *err) {
  int64_t longest = 0;
  attn_status status = check_parts(paged, g, err);
  if (!status) status = attn_view_check(q, "q", err);
  if (!status && q->dtype == ATTN_F64)
    status = attn_fail(err, ATTN_ERR_TYPE, "q",
                       "q is float64; over pages it must be float32, float16 or bfloat16");
  if (status) return status;
  g->rows = rows;
  if (count < 0) count = g->table.shape[0];
  if (q->rank == 4 ? q->shape[0] != count : count != 1)
    return attn_fail(err, ATTN_ERR_SHAPE, "q", "q has %lld sequences, but there are %lld",
                     q->rank == 4 ? (long long)q->shape[0] : 1, (long long)count);
  if (q->rank == 2 && paged->k->shape[1] != 1)
    return attn_fail(err, ATTN_ERR_SHAPE, "q", "q has rank 2, but the pages have %lld heads",
                     (long long)paged->k->shape[1]);
  for (int64_t b = 0; b < count && !status; b++) {
    status = check_sequence(g, paged->k->shape[0], b, err);
    int64_t length = status ? 0 : attn_tensor_integer(&g->lengths, row_of(g, b), 0);
    if (length > longest) longest = length;
  }
  attn_tensor k = dense_view(q, paged->k, count, longest),
              v = dense_view(q, paged->v, count, longest);
  if (!status) status = attn_problem_check(NULL, desc, q, &k, &v, o, 1, p, err);
  if (!status && p->desc.key_lengths)
    status = attn_fail(err, ATTN_ERR_ARGUMENT, "key_lengths",
                       "key_lengths must be NULL: use pages->lengths");
  if (status) return status;
  p->k = attn_tensor_rank4(paged->k), p->v = attn_tensor_rank4(paged->v), p->paging = g;
  p->has_dots = p->has_dots && p->k.dtype == ATTN_BF16; /* the dense view had the type of q */
  return check_overlap(p, paged, err);
}

attn_status attn_sdpa_forward_paged(const attn_sdpa *desc, const attn_tensor *q,
                                    const attn_pages *pages, const attn_tensor *o,
                                    attn_error *err) {
  struct attn_paging g;
  struct attn_problem p;
  attn_pages own;
  attn_status status = attn_descriptor_require(pages, &own, sizeof own, sizeof own, "pages", err);
  if (!status) status = attn_paged_check(desc, q, &own, NULL, -1, o, &g, &p, err);
  if (!status) status = attn_forward_check(&p, err);
  return status ? status : attn_problem_run(&p, err);
}
