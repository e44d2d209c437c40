/* projection.c -- matrix products in double, tile by tile of the output. */
#include "projection.h"

#include "element.h"
#include "parallel.h"

enum {
  TILE = 32, /* rows and columns: three tiles of doubles are 24 KiB of stack */
  LANES = 16 /* columns whose sums stay in registers */
};

typedef double tile[TILE][TILE];

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

static int64_t tiles(int64_t count) { return (count + TILE - 1) / TILE; }

static int64_t part_of(int64_t count, int64_t first) {
  return count - first < TILE ? count - first : TILE;
}

static void load_tile(const struct strided_matrix *m, int64_t row, int64_t rows, int64_t column,
                      int64_t columns, tile to) {
  for (int64_t r = 0; r < rows; r++)
    attn_load_reals(m->dtype,
                    m->data + ((row + r) * m->row + column * m->column) * attn_real_size(m->dtype),
                    m->column, columns, to[r]);
}

/* sum += a b, in order of depth. Up to LANES - 1 columns more are summed and never stored. With
 * skips, elements of b that are 0 add nothing. */
static inline void add_tiles(tile a, tile b, int64_t rows, int64_t depth, int64_t columns,
                             const int skips, tile sum) {
  for (int64_t r = 0; r < rows; r++)
    for (int64_t c = 0; c < columns; c += LANES) {
      double lane[LANES];
      for (int n = 0; n < LANES; n++) lane[n] = sum[r][c + n];
      for (int64_t k = 0; k < depth; k++)
        for (int n = 0; n < LANES; n++) {
          double x = a[r][k], y = b[k][c + n];
          lane[n] += skips && y == 0 ? 0 : x * y;
        }
      for (int n = 0; n < LANES; n++) sum[r][c + n] = lane[n];
    }
}

/* A tile of the output: rows from `row`, columns from `column`. */
struct output_tile {
  int64_t row, rows, column, columns;
  tile sum;
};

static void add_product(const struct strided_matrix *a, const struct strided_matrix *b,
                        int64_t depth, int skips, struct output_tile *t) {
  tile left, right = {{0}};
  for (int64_t k = 0; k < depth; k += TILE) {
    int64_t count = part_of(depth, k);
    load_tile(a, t->row, t->rows, k, count, left);
    load_tile(b, k, count, t->column, t->columns, right);
    if (skips)
      add_tiles(left, right, t->rows, count, t->columns, 1, t->sum);
    else
      add_tiles(left, right, t->rows, count, t->columns, 0, t->sum);
  }
}

/* The tile of number index of a matrix; what is left of the index in *rest. */
static struct output_tile tile_at(const attn_tensor *out, int64_t index, int64_t *rest) {
  int64_t rows = tiles(out->shape[2]), columns = tiles(out->shape[3]);
  struct output_tile t = {.row = index / columns % rows * TILE, .column = index % columns * TILE};
  t.rows = part_of(out->shape[2], t.row), t.columns = part_of(out->shape[3], t.column);
  *rest = index / columns / rows;
  return t;
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
  int64_t rest, heads = p->out->shape[1];
  struct output_tile t = tile_at(p->out, index, &rest);
  int64_t h = rest % heads, b = rest / heads;
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
  int64_t h, heads = p->x->shape[1];
  struct output_tile t = tile_at(p->out, index, &h);
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
