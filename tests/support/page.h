/* page.h -- blocks of numbers, and documents read by their numbers, for tests of scan, assign and
 * reading. */
#ifndef TEST_PAGE_H
#define TEST_PAGE_H

#include <math.h>
#include <string.h>

#include "assign.h"

/* What one document needs. Everything is freed by page_free. */
struct page {
  struct attn_pool *pool, *memory; /* of the scan; of the relations */
  struct attn_shared_text shared;
  struct attn_scan scan;
  struct attn_relations *relations;
  struct attn_priors *priors;
  struct attn_reading reading;
};

static inline void page_free(struct page *p) {
  attn_patterns_free(p->scan.patterns);
  attn_pool_free(p->memory);
  attn_pool_free(p->pool);
}

/* An empty page. 0: no memory. */
static inline int page_begin(struct page *p) {
  memset(p, 0, sizeof *p);
  p->scan.pool = p->shared.pool = p->pool = attn_pool_new();
  p->scan.shared = &p->shared;
  p->scan.patterns = attn_patterns_new();
  p->memory = attn_pool_new();
  if (p->pool && p->memory && p->scan.patterns)
    p->relations = attn_relations_new(p->memory, p->scan.patterns);
  return p->relations != NULL;
}

static inline int page_count(const char *text, char sign) {
  int count = 0;
  for (; *text; text++) count += *text == sign;
  return count;
}

/* Adds a block of this size, all 0; returns its index. */
static inline int page_zeros(struct page *p, int rows, int cols) {
  struct attn_scan *s = &p->scan;
  if (attn_pool_grow(s->pool, (void **)&s->block, (size_t)s->blocks, sizeof *s->block)) return -1;
  struct attn_block *b = &s->block[s->blocks];
  memset(b, 0, sizeof *b);
  b->name = b->header = b->heading = attn_pool_text(s->pool, "", 0);
  b->readings = 1;
  b->reading[0] = (attn_printing){.rows = rows, .cols = cols};
  b->reading[0].cells =
      attn_pool_take(s->pool, (size_t)rows * (size_t)cols * sizeof *b->reading[0].cells);
  return b->reading[0].cells ? s->blocks++ : -1;
}

static inline int page_cell(const char *text, size_t bytes, attn_cell *cell) {
  if (bytes != 1 || *text != '?') return attn_scan_number(text, bytes, cell);
  *cell = (attn_cell){.kind = ATTN_CELL_BLANK, .decimals = -1, .value = (double)NAN};
  return 1;
}

/* Adds a block: "0.5 1; -∞ ?". -1: not a matrix of numbers. */
static inline int page_block(struct page *p, const char *text) {
  int rows = page_count(text, ';') + 1, cells = page_count(text, ' ') + 1;
  int index = page_zeros(p, rows, cells / rows), n = 0;
  for (; index >= 0 && n < cells; n++) {
    size_t bytes = strcspn(text, " ;");
    if (!page_cell(text, bytes, &p->scan.block[index].reading[0].cells[n])) return -1;
    text += bytes + strspn(text + bytes, " ;");
  }
  return index;
}

static inline const struct attn_grid *page_grid(struct page *p, const char *text) {
  int index = page_block(p, text);
  return index < 0 ? NULL : attn_grid_of(p->relations, &p->scan, index, 0, 0);
}

/* Scans a document and gives each block its role. Start with page_begin. */
static inline attn_status page_read(struct page *p, const char *text) {
  const char *file = "test.md";
  attn_status status = attn_scan_open(&p->scan, text, strlen(text), &file);
  if (!status) status = attn_scan_document(&p->scan, file);
  if (status) return status;
  p->priors = attn_pool_take(p->memory, ((size_t)p->scan.blocks + 1) * sizeof *p->priors);
  if (!p->priors) return ATTN_ERR_MEMORY;
  for (int n = 0; n < p->scan.blocks; n++) attn_block_priors(&p->scan, n, &p->priors[n]);
  return attn_assign(&p->scan, p->relations, p->priors, &p->reading);
}

static inline const char *role_name(int role) {
  static const char *const NAMES[] = {
      [ATTN_ROLE_X] = "X",
      [ATTN_ROLE_Y] = "Y",
      [ATTN_ROLE_POSITION_TABLE] = "table",
      [ATTN_ROLE_POSITIONED] = "positioned",
      [ATTN_ROLE_W_Q] = "W_Q",
      [ATTN_ROLE_W_K] = "W_K",
      [ATTN_ROLE_W_V] = "W_V",
      [ATTN_ROLE_W_O] = "W_O",
      [ATTN_ROLE_W_A] = "W_A",
      [ATTN_ROLE_U_A] = "U_A",
      [ATTN_ROLE_V_A] = "v_A",
      [ATTN_ROLE_Q] = "Q",
      [ATTN_ROLE_K] = "K",
      [ATTN_ROLE_V] = "V",
      [ATTN_ROLE_W_A_Q] = "Wq",
      [ATTN_ROLE_U_A_K] = "Uk",
      [ATTN_ROLE_TANH] = "tanh",
      [ATTN_ROLE_SCORES] = "scores",
      [ATTN_ROLE_SCALED] = "scaled",
      [ATTN_ROLE_MASKED] = "masked",
      [ATTN_ROLE_EXPONENTIALS] = "exp",
      [ATTN_ROLE_ROW_SUM] = "sum",
      [ATTN_ROLE_WEIGHTS] = "weights",
      [ATTN_ROLE_OUTPUT] = "output",
      [ATTN_ROLE_CONCAT] = "concat",
      [ATTN_ROLE_PROJECTED] = "projected",
      [ATTN_ROLE_OTHER] = "-",
  };
  return NAMES[role];
}

#endif
