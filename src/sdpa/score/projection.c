/* projection.c -- matrix products in double, tile by tile of the output. */
#include "projection.h"

#include <string.h>

#include "clones.h"
#include "element.h"
#include "integer.h"
#include "parallel.h"

enum {
  TILE = 32,  /* rows and columns of a tile of the output */
  DEPTH = 16, /* of the factors: with the sums 16 KiB of stack */
};

/* Element (r, c) is row * r + column * c elements from data. */
struct strided_matrix {
  attn_dtype dtype;
  const char *data;
  int64_t row, column;
};

static struct strided_matrix matrix_of(const attn_tensor *t, int64_t b, int64_t h, int transposed) {
  return (struct strided_matrix){t->dtype, attn_tensor_at(t, b, h, 0, 0),
                                 t->strides[transposed ? 3 : 2], t->strides[transposed ? 2 : 3]};
}

static int64_t tiles(int64_t count) { return attn_divide_up(count, TILE); }

/* Loads rows x columns elements to rows of `width` doubles. */
static void load_tile(const struct strided_matrix *m, int64_t row, int64_t rows, int64_t column,
                      int64_t columns, int64_t width, double *to) {
  for (int64_t r = 0; r < rows; r++)
    attn_load_reals(m->dtype,
                    m->data + ((row + r) * m->row + column * m->column) * attn_real_size(m->dtype),
                    m->column, columns, to + r * width);
}

/* sum += a b for `depth` (a constant) rows of b, in order. With skips, elements of b that are 0 add
 * nothing. Columns up to TILE are summed and those beyond the output never stored. */
ATTN_INLINE void add_rows(const double *a, double (*b)[TILE], const int depth, const int skips,
                          double *sum) {
  for (int c = 0; c < TILE; c++) {
    double x = sum[c];
    for (int k = 0; k < depth; k++) x += skips && b[k][c] == 0 ? 0 : a[k] * b[k][c];
    sum[c] = x;
  }
}

ATTN_INLINE void add_tiles(double a[TILE][DEPTH], double b[DEPTH][TILE], int64_t rows,
                           int64_t depth, const int skips, double sum[TILE][TILE]) {
  for (int64_t r = 0; r < rows; r++) {
    int64_t k = 0;
    for (; k + 4 <= depth; k += 4) add_rows(a[r] + k, b + k, 4, skips, sum[r]);
    for (; k < depth; k++) add_rows(a[r] + k, b + k, 1, skips, sum[r]);
  }
}

/* A tile of the output: rows from `row`, columns from `column`. */
struct output_tile {
  int64_t row, rows, column, columns;
  double sum[TILE][TILE];
};

ATTN_CLONES static void add_product(const struct strided_matrix *a, const struct strided_matrix *b,
                                    int64_t depth, int skips, struct output_tile *t) {
  double left[TILE][DEPTH], right[DEPTH][TILE] = {{0}};
  for (int64_t k = 0; k < depth; k += DEPTH) {
    int64_t count = attn_min(depth - k, DEPTH);
    load_tile(a, t->row, t->rows, k, count, DEPTH, left[0]);
    load_tile(b, k, count, t->column, t->columns, TILE, right[0]);
    if (skips)
      add_tiles(left, right, t->rows, count, 1, t->sum);
    else
      add_tiles(left, right, t->rows, count, 0, t->sum);
  }
}

/* Begins tile number index of out's matrices, with sums of 0. Returns the number of the matrix. */
static int64_t begin_tile(const attn_tensor *out, int64_t index, struct output_tile *t) {
  int64_t rows = tiles(out->shape[2]), columns = tiles(out->shape[3]);
  t->row = index / columns % rows * TILE, t->column = index % columns * TILE;
  t->rows = attn_min(out->shape[2] - t->row, TILE);
  t->columns = attn_min(out->shape[3] - t->column, TILE);
  memset(t->sum, 0, sizeof t->sum);
  return index / columns / rows;
}

static void store_tile(const attn_tensor *out, int64_t b, int64_t h, const struct output_tile *t) {
  for (int64_t r = 0; r < t->rows; r++)
    attn_store_reals(out->dtype, attn_tensor_at(out, b, h, t->row + r, t->column), out->strides[3],
                     t->columns, t->sum[r]);
}

struct projection {
  const attn_tensor *x, *m, *out;
  int transposed;
};

static void run_projection(void *argument, int64_t index, int32_t worker) {
  const struct projection *p = argument;
  struct output_tile t;
  int64_t matrix = begin_tile(p->out, index, &t), heads = p->out->shape[1];
  int64_t h = matrix % heads, b = matrix / heads;
  struct strided_matrix x = matrix_of(p->x, b, h, 0), m = matrix_of(p->m, 0, h, p->transposed);
  (void)worker;
  add_product(&x, &m, p->x->shape[3], 0, &t);
  store_tile(p->out, b, h, &t);
}

void attn_project(const struct attn_problem *p, const attn_tensor *x, const attn_tensor *m,
                  int transposed, const attn_tensor *out) {
  struct projection all = {x, m, out, transposed};
  const int64_t *shape = out->shape;
  attn_problem_parallel(p, shape[0] * shape[1] * tiles(shape[2]) * tiles(shape[3]), run_projection,
                        &all);
}

static void run_backward(void *argument, int64_t index, int32_t worker) {
  const struct projection *p = argument; /* m: the gradients of x m */
  struct output_tile t;
  int64_t h = begin_tile(p->out, index, &t), heads = p->x->shape[1];
  int shared = p->out->shape[1] == 1;
  (void)worker;
  for (int64_t b = 0; b < p->x->shape[0]; b++)
    for (int64_t n = shared ? 0 : h; n < (shared ? heads : h + 1); n++) {
      struct strided_matrix x = matrix_of(p->x, b, n, 1), d = matrix_of(p->m, b, n, 0);
      add_product(&x, &d, p->x->shape[2], 1, &t);
    }
  store_tile(p->out, 0, h, &t);
}

void attn_project_backward(const struct attn_problem *p, const attn_tensor *x, const attn_tensor *d,
                           const attn_tensor *d_m) {
  struct projection all = {x, d, d_m, 0};
  const int64_t *shape = d_m->shape;
  attn_problem_parallel(p, shape[1] * tiles(shape[2]) * tiles(shape[3]), run_backward, &all);
}
