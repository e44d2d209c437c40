/* paging.h -- the paged KV cache of a call. */
#ifndef ATTN_SDPA_PAGING_H
#define ATTN_SDPA_PAGING_H

#include "problem.h"

/* Keys and values in pages, as attn_pages describes them. Sequence b of the call is row rows[b] of
 * table and lengths; rows NULL: row b. */
struct attn_paging {
  attn_tensor k_scales, v_scales, table, lengths;
  int64_t tokens; /* of a page */
  const int64_t *rows;
};

/* Checks a call over pages and fills paging and problem. count: the rows used; -1: all. */
attn_status attn_paged_check(const attn_sdpa *desc, const attn_tensor *q, const attn_pages *paged,
                             const int64_t *rows, int64_t count, const attn_tensor *o,
                             struct attn_paging *paging, struct attn_problem *problem,
                             attn_error *err);

/* Describes the pages of sequence b for the kernel; tokens 0 where the call has none. */
void attn_paging_set_pages(const struct attn_problem *problem, struct attn_task_pages *pages,
                           int64_t b);

/* Element e of key j of a row of the table; pages and scales are k's or v's. */
double attn_paging_element(const struct attn_paging *paging, const attn_tensor *pages,
                           const attn_tensor *scales, int64_t row, int64_t head, int64_t j,
                           int64_t e);

/* Element (b, head, j, e) of v. */
double attn_paging_value(const struct attn_problem *problem, int64_t b, int64_t head, int64_t j,
                         int64_t e);

#endif
