#include "matmul.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "allocator.h"
#include "bf16.h"
#include "element.h"
#include "error.h"
#include "gemm.h"
#include "threads.h"

/* Columns of a packed block of B: with ATTN_GEMM_DEPTH, 256 KiB, which stay in L2. Rows of a block
 * of A: 48 KiB. Products with fewer multiplications than PARALLEL_MIN run on one thread. */
enum {
  BLOCK_COLUMNS = 256,
  BLOCK_ROWS = 48,
  MIN_TILE_ROWS = 4,
  WORK_WORDS = BLOCK_ROWS * ATTN_GEMM_DEPTH,
  PARALLEL_MIN = 1 << 18
};

/* ---- Packing of B into 32-bit words, each a float32 or a pair of bf16 (k, k + 1) ---- */

static int64_t words_of(attn_dtype type, int64_t inner) {
  return type == ATTN_BF16 ? (inner + 1) / 2 : inner;
}

static const void *element_at(const struct attn_gemm_operand *m, int64_t row, int64_t column) {
  int64_t at = m->transposed ? column * m->step + row : row * m->step + column;
  return (const char *)m->at + at * (m->type == ATTN_BF16 ? 2 : 4);
}

static uint32_t pair(uint32_t low, uint32_t high) { return low | high << 16; }

/* A block of B: `depth` of the inner dimension from `inner` on, `columns` from `column` on. */
struct block_range {
  int64_t inner, depth, column, columns;
};

/* One row of a panel; high NULL: the second of each pair is 0. */
static void pack_words(attn_dtype type, uint32_t *restrict to, const void *row, const void *high,
                       int64_t columns, int64_t width) {
  const uint16_t *low = row, *next = high;
  if (type == ATTN_F32)
    memcpy(to, row, (size_t)columns * sizeof *to);
  else
    for (int64_t j = 0; j < columns; j++) to[j] = pair(low[j], next ? next[j] : 0);
  for (int64_t j = columns; j < width; j++) to[j] = 0;
}

/* B is not transposed: each row is read once, for all panels. */
static void pack_rows(int64_t width, uint32_t *to, const struct attn_gemm_operand *b,
                      struct block_range at) {
  const int64_t words = words_of(b->type, at.depth) * width, each = b->type == ATTN_BF16 ? 2 : 1;
  for (int64_t k = 0; k < at.depth; k += each, to += width)
    for (int64_t j = 0; j < at.columns; j += width) {
      const void *row = element_at(b, at.inner + k, at.column + j), *high = NULL;
      if (each == 2 && k + 1 < at.depth) high = element_at(b, at.inner + k + 1, at.column + j);
      pack_words(b->type, to + j / width * words, row, high, attn_min(at.columns - j, width),
                 width);
    }
}

/* B is transposed: a panel that is not full, or of an odd depth, element by element. */
static void pack_partial(int64_t width, uint32_t *to, const struct attn_gemm_operand *b,
                         struct block_range at) {
  memset(to, 0, (size_t)(words_of(b->type, at.depth) * width) * sizeof *to);
  for (int64_t k = 0; k < at.depth; k++)
    for (int64_t j = 0; j < at.columns; j++) {
      const void *from = element_at(b, at.inner + k, at.column + j);
      if (b->type == ATTN_F32)
        to[k * width + j] = *(const uint32_t *)from;
      else
        to[k / 2 * width + j] |= (uint32_t) * (const uint16_t *)from << (k % 2 ? 16 : 0);
    }
}

static void pack_transposed(const struct attn_gemm_kernel *g, uint32_t *to,
                            const struct attn_gemm_operand *b, struct block_range at) {
  const int64_t end = at.column + at.columns, words = words_of(b->type, at.depth),
                each = b->type == ATTN_BF16 ? 2 : 1;
  const int whole = at.depth % each == 0 && b->step % each == 0;
  for (; at.column < end; at.column += g->columns, to += words * g->columns) {
    at.columns = attn_min(end - at.column, g->columns);
    if (whole && at.columns == g->columns)
      g->transpose(to, g->columns, element_at(b, at.inner, at.column), b->step / each, words);
    else
      pack_partial(g->columns, to, b, at);
  }
}

static void pack_panels(const struct attn_gemm_kernel *g, uint32_t *to,
                        const struct attn_gemm_operand *b, struct block_range at) {
  if (b->transposed)
    pack_transposed(g, to, b, at);
  else
    pack_rows(g->columns, to, b, at);
}

/* ---- Rows of A: read in place, or packed ---- */

/* A is transposed: word k of row r is to[r * ATTN_GEMM_DEPTH + k]. */
static void pack_float_rows(const struct attn_gemm_kernel *g, uint32_t *to,
                            const struct attn_gemm_operand *a, int64_t row, int64_t rows,
                            struct block_range at) {
  int64_t k = 0;
  for (; k + g->columns <= at.depth; k += g->columns)
    g->transpose(to + k, ATTN_GEMM_DEPTH, element_at(a, row, at.inner + k), a->step, rows);
  for (; k < at.depth; k++)
    for (int64_t r = 0; r < rows; r++)
      to[r * ATTN_GEMM_DEPTH + k] = *(const uint32_t *)element_at(a, row + r, at.inner + k);
}

/* Word k of row r is to[k * rows + r]: pairs of bf16; or float32 for kernels without bf16, an odd
 * depth padded with 0. */
static void pack_bf16_rows(const struct attn_gemm_kernel *g, uint32_t *to,
                           const struct attn_gemm_operand *a, int64_t row, int64_t rows,
                           struct block_range at) {
  const int64_t across = a->transposed ? 1 : a->step;
  for (int64_t k = 0; k < at.depth; k += 2, to += g->has_bf16 ? rows : 2 * rows) {
    const uint16_t *low = element_at(a, row, at.inner + k), *high = low;
    const uint32_t kept = k + 1 < at.depth ? 0xFFFF : 0;
    if (kept) high = element_at(a, row, at.inner + k + 1);
    for (int64_t r = 0; r < rows; r++)
      if (g->has_bf16)
        to[r] = pair(low[r * across], high[r * across] & kept);
      else
        to[r] = pair(0, low[r * across]), to[rows + r] = pair(0, high[r * across] & kept);
  }
}

static int is_in_place(const struct attn_gemm_kernel *g, const struct attn_gemm_operand *a,
                       int64_t depth) {
  return !a->transposed && (a->type == ATTN_F32 || (g->has_bf16 && depth % 2 == 0));
}

/* A block's rows of C in tiles of nearly equal height: 13 rows are 7 and 6, not 12 and 1. */
struct row_block {
  int64_t count, first[BLOCK_ROWS / MIN_TILE_ROWS + 1];
  struct attn_gemm_rows from[BLOCK_ROWS / MIN_TILE_ROWS];
};

static void cut_rows(struct row_block *block, const struct attn_gemm_kernel *g, int64_t row,
                     int64_t end, int64_t most) {
  int64_t left = attn_divide_up(end - row, g->rows);
  block->first[block->count = 0] = row;
  for (; left > 0 && block->count < most; left--)
    block->first[++block->count] = row += attn_divide_up(end - row, left);
}

/* Rows of A from `from` on, the next `row` bytes after the one before. */
static void set_rows(struct row_block *block, const void *from, int64_t row, int64_t step) {
  const char *at = from;
  for (int64_t n = 0; n < block->count; n++)
    block->from[n] = (struct attn_gemm_rows){
        .a = at + (block->first[n] - block->first[0]) * row, .row = row, .step = step};
}

static void pack_bf16_tiles(const struct attn_gemm_kernel *g, uint32_t *work,
                            const struct attn_gemm_operand *a, struct row_block *block,
                            struct block_range at) {
  for (int64_t n = 0; n < block->count; n++) {
    const int64_t rows = block->first[n + 1] - block->first[n], word = sizeof *work;
    pack_bf16_rows(g, work, a, block->first[n], rows, at);
    block->from[n] =
        (struct attn_gemm_rows){.a = (const char *)work, .row = word, .step = rows * word};
    work += rows * ATTN_GEMM_DEPTH;
  }
}

/* work: for the block's rows, of ATTN_GEMM_DEPTH words each. */
static void load_rows(const struct attn_gemm_kernel *g, uint32_t *work,
                      const struct attn_gemm_operand *a, struct row_block *block,
                      struct block_range at) {
  const int64_t row = block->first[0], word = sizeof *work;
  if (is_in_place(g, a, at.depth)) {
    set_rows(block, element_at(a, row, at.inner), a->step * (a->type == ATTN_BF16 ? 2 : 4), word);
  } else if (a->type == ATTN_F32) {
    pack_float_rows(g, work, a, row, block->first[block->count] - row, at);
    set_rows(block, work, ATTN_GEMM_DEPTH * word, word);
  } else {
    pack_bf16_tiles(g, work, a, block, at);
  }
}

/* ---- Some columns of C, plus the products of one block of the inner dimension ---- */

/* Some columns of B, the panels `words` apart. ahead: prefetch the panel in memory after them. */
struct packed_panels {
  const uint32_t *at;
  int64_t words;
  int ahead;
};

struct output_tiles {
  float *c;
  int64_t step;
  int add;
};

/* The n-th tile prefetches its part of the panel after b's. */
static void set_ahead(const struct attn_gemm_kernel *g, struct row_block *block, int64_t n,
                      struct packed_panels b, int64_t depth) {
  const int64_t line = g->columns * (int64_t)sizeof *b.at;
  struct attn_gemm_rows *from = &block->from[n];
  from->ahead_step = attn_divide_up(line, block->count);
  from->ahead = (const char *)b.at + depth * line + n * depth * from->ahead_step;
}

static void multiply_tiles(const struct attn_gemm_kernel *g, attn_gemm_tile *tile,
                           struct row_block *block, struct packed_panels b, struct block_range at,
                           struct output_tiles to) {
  for (int64_t n = 0; n < block->count; n++) {
    const int rows = (int)(block->first[n + 1] - block->first[n]);
    const uint32_t *panel = b.at;
    float *c = to.c + block->first[n] * to.step + at.column;
    if (b.ahead) set_ahead(g, block, n, b, at.depth);
    for (int64_t j = 0; j < at.columns; j += g->columns, panel += b.words)
      tile(rows, at.depth, &block->from[n], panel, c + j, to.step,
           attn_min(at.columns - j, g->columns), to.add || at.inner);
  }
}

/* work: for `most` tiles. */
static void multiply_block(const struct attn_gemm_kernel *g, const struct attn_gemm_operand *a,
                           int64_t row, int64_t rows, uint32_t *work, int64_t most,
                           struct packed_panels b, struct block_range at, struct output_tiles to) {
  attn_gemm_tile *tile = a->type == ATTN_BF16 ? g->bf16_tile : g->float_tile;
  const int64_t end = row + rows;
  struct row_block block;
  for (; row < end; row = block.first[block.count]) {
    cut_rows(&block, g, row, end, most);
    load_rows(g, work, a, &block, at);
    multiply_tiles(g, tile, &block, b, at, to);
  }
}

/* ---- Matrix products ---- */

struct matmul_args {
  const struct attn_gemm_kernel *kernel;
  int64_t rows, columns, inner;
  struct attn_gemm_operand a, b;
  struct output_tiles to;
  int by_rows;  /* the threads share rows of C, else columns */
  int64_t part; /* rows or columns of a task */
  _Atomic int failed;
};

/* memory: panels of B, then rows of A. */
static void multiply(const struct matmul_args *p, int64_t row, int64_t rows, int64_t column,
                     int64_t columns, uint32_t *memory) {
  const struct attn_gemm_kernel *g = p->kernel;
  uint32_t *panels = memory + WORK_WORDS;
  struct block_range at = {0};
  for (; at.inner < p->inner; at.inner += ATTN_GEMM_DEPTH)
    for (int64_t j = 0; j < columns; j += BLOCK_COLUMNS) {
      at.depth = attn_min(p->inner - at.inner, ATTN_GEMM_DEPTH);
      at.column = column + j, at.columns = attn_min(columns - j, BLOCK_COLUMNS);
      const struct packed_panels b = {panels, words_of(p->b.type, at.depth) * g->columns, 0};
      pack_panels(g, panels, &p->b, at);
      multiply_block(g, &p->a, row, rows, memory, BLOCK_ROWS / g->rows, b, at, p->to);
    }
}

/* For a product with `columns` columns: rows of A, and the largest block of B. */
static size_t memory_bytes(const struct matmul_args *p, int64_t columns) {
  int64_t width = p->kernel->columns;
  int64_t panels = attn_divide_up(attn_min(columns, BLOCK_COLUMNS), width);
  return (size_t)(WORK_WORDS +
                  words_of(p->b.type, attn_min(p->inner, ATTN_GEMM_DEPTH)) * panels * width) *
         sizeof(uint32_t);
}

static void run_part(void *argument, int64_t index, int32_t worker) {
  struct matmul_args *p = argument;
  int64_t from = index * p->part, all = p->by_rows ? p->rows : p->columns;
  int64_t count = attn_min(all - from, p->part);
  size_t bytes = memory_bytes(p, p->by_rows ? p->columns : count);
  uint32_t *memory = attn_memory_allocate(NULL, ATTN_ALIGNMENT, bytes);
  (void)worker;
  if (!memory)
    atomic_store(&p->failed, 1);
  else if (p->by_rows)
    multiply(p, from, count, 0, p->columns, memory);
  else
    multiply(p, 0, p->rows, from, count, memory);
  attn_memory_release(NULL, memory);
}

/* inner = 0. */
static void clear(const struct matmul_args *p) {
  for (int64_t row = 0; row < p->rows && !p->to.add; row++)
    memset(p->to.c + row * p->to.step, 0, (size_t)p->columns * sizeof(float));
}

/* Threads share the columns, so that each column is packed once, unless there are many more rows.
 */
attn_status attn_matmul(const struct attn_host *host, int64_t rows, int64_t columns, int64_t inner,
                        struct attn_gemm_operand a, struct attn_gemm_operand b, float *c,
                        int64_t c_step, int add, attn_error *err) {
  struct matmul_args p = {attn_gemm_best(), rows, columns, inner, a, b, {c, c_step, add}, 0, 0, 0};
  int32_t workers = attn_threads_workers(host->executor, host->threads);
  if (!rows || !columns) return ATTN_OK;
  if (!inner) return clear(&p), ATTN_OK;
  if (rows * columns * inner < PARALLEL_MIN) workers = 1;
  p.by_rows = rows >= 4 * columns;
  int64_t all = p.by_rows ? rows : columns, unit = p.by_rows ? p.kernel->rows : p.kernel->columns;
  p.part = attn_round_up(attn_divide_up(all, workers), unit);
  attn_threads_parallel_for(host->executor, workers, attn_divide_up(all, p.part), run_part, &p);
  if (!p.failed) return ATTN_OK;
  return attn_fail(err, ATTN_ERR_MEMORY, NULL,
                   "cannot allocate memory to multiply (%lld, %lld) by (%lld, %lld)",
                   (long long)rows, (long long)inner, (long long)inner, (long long)columns);
}

/* ---- Packed weights ---- */

struct attn_packed_matrix {
  const struct attn_gemm_kernel *kernel;
  int64_t in, out;
  attn_dtype type;
  const float *bias;
  uint32_t *panels; /* each of the whole inner dimension */
};

/* Rounds the rows of one panel at a time. */
static int pack_rounded(struct attn_packed_matrix *p, const float *w) {
  const struct attn_host here = {.threads = 1};
  int64_t width = p->kernel->columns, step = p->in + p->in % 2;
  uint16_t *rounded = calloc((size_t)(width * step), sizeof *rounded);
  for (int64_t o = 0; o < p->out && rounded; o += width) {
    int64_t count = attn_min(p->out - o, width);
    for (int64_t n = 0; n < count; n++)
      attn_convert_to_bf16(&here, rounded + n * step, w + (o + n) * p->in, p->in);
    const struct attn_gemm_operand b = {rounded, step, 1, ATTN_BF16};
    pack_panels(p->kernel, p->panels + o * words_of(p->type, p->in), &b,
                (struct block_range){0, p->in, 0, count});
  }
  free(rounded);
  return rounded != NULL;
}

static int pack(struct attn_packed_matrix *p, const float *w) {
  int64_t width = p->kernel->columns, words = words_of(p->type, p->in);
  int64_t padded = attn_round_up(p->out, width);
  p->panels =
      attn_memory_allocate_large(ATTN_ALIGNMENT, (size_t)(padded * words) * sizeof *p->panels);
  if (!p->panels) return 0;
  if (p->type == ATTN_BF16) return pack_rounded(p, w);
  const struct attn_gemm_operand b = {w, p->in, 1, ATTN_F32};
  pack_panels(p->kernel, p->panels, &b, (struct block_range){0, p->in, 0, p->out});
  return 1;
}

attn_status attn_packed_matrix_new(const struct attn_gemm_kernel *kernel, const float *w,
                                   const float *b, int64_t in, int64_t out, attn_dtype type,
                                   struct attn_packed_matrix **packed, attn_error *err) {
  struct attn_packed_matrix *p = calloc(1, sizeof *p);
  if (p) {
    *p = (struct attn_packed_matrix){kernel, in, out, type, b, NULL};
    if (pack(p, w)) return *packed = p, ATTN_OK;
  }
  attn_packed_matrix_free(p);
  return attn_fail(err, ATTN_ERR_MEMORY, NULL,
                   "cannot allocate packed weights of shape (%lld, %lld)", (long long)out,
                   (long long)in);
}

void attn_packed_matrix_free(struct attn_packed_matrix *p) {
  if (p) attn_memory_release(NULL, p->panels);
  free(p);
}

/* Sets rows of some columns to the bias. */
static void start_rows(const struct attn_packed_matrix *p, float *y, int64_t rows,
                       struct block_range at) {
  for (int64_t row = 0; row < rows && p->bias; row++)
    memcpy(y + row * p->out + at.column, p->bias + at.column, (size_t)at.columns * sizeof *y);
}

/* Some rows and columns. most: tiles for which there is memory. */
static void multiply_packed(const struct attn_packed_matrix *p, const struct attn_gemm_operand *a,
                            int64_t row, int64_t rows, struct block_range at,
                            struct output_tiles to) {
  const struct attn_gemm_kernel *g = p->kernel;
  uint32_t work[ATTN_GEMM_DEPTH * ATTN_GEMM_MAX_ROWS];
  const int64_t words = words_of(p->type, p->in) * g->columns;
  const uint32_t *panels = p->panels + at.column / g->columns * words;
  start_rows(p, to.c + row * to.step, rows, at);
  for (; at.inner < p->in; at.inner += ATTN_GEMM_DEPTH) {
    at.depth = attn_min(p->in - at.inner, ATTN_GEMM_DEPTH);
    const struct packed_panels b = {panels + words_of(p->type, at.inner) * g->columns, words,
                                    at.columns <= g->columns};
    multiply_block(g, a, row, rows, work, is_in_place(g, a, at.depth) ? BLOCK_ROWS / g->rows : 1, b,
                   at, to);
  }
}

/* Streamed weights are read in order, once for each block of rows. */
void attn_packed_matmul(const struct attn_packed_matrix *p, float *y, const void *x, int64_t n) {
  const struct attn_gemm_operand a = {x, p->in, 0, p->type};
  const struct output_tiles to = {y, p->out, p->bias != NULL};
  const int streams = p->kernel->streams && is_in_place(p->kernel, &a, 0);
  const int64_t rows = streams ? BLOCK_ROWS : n, columns = streams ? p->kernel->columns : p->out;
  for (int64_t row = 0; row < n; row += rows)
    for (int64_t j = 0; j < p->out; j += columns)
      multiply_packed(p, &a, row, attn_min(n - row, rows),
                      (struct block_range){0, 0, j, attn_min(p->out - j, columns)}, to);
}
