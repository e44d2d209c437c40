#include "layer_matrix.h"

#include <string.h>

#include "element.h"
#include "tensor_rows.h"

/* ---- Memory ---- */

void *attn_layer_take(struct attn_layer_memory *m, int64_t rows, int64_t columns) {
  int64_t count;
  void *memory = NULL;
  if (!__builtin_mul_overflow(rows, columns, &count) && m->count < ATTN_LAYER_BUFFERS)
    memory = attn_host_allocate(&m->host, count, (size_t)attn_real_size(m->type));
  if (memory)
    m->buffers[m->count++] = memory;
  else
    m->failed = 1;
  return memory;
}

void attn_layer_release(struct attn_layer_memory *m) {
  while (m->count) attn_host_release(&m->host, m->buffers[--m->count]);
}

/* ---- Views ---- */

static int is_dense(const attn_tensor *t) {
  int64_t step = 1;
  for (int n = t->rank - 1; n >= 0; step *= t->shape[n--])
    if (t->shape[n] != 1 && t->strides[n] != step) return 0;
  return 1;
}

struct attn_layer_matrix attn_layer_matrix_of(struct attn_layer_memory *m,
                                              const attn_tensor *view) {
  if (!view) return (struct attn_layer_matrix){NULL, 0, 0, NULL};
  struct attn_layer_matrix x = {view, 1, view->shape[view->rank - 1], view->data};
  for (int n = 0; n < view->rank - 1; n++) x.rows *= view->shape[n];
  if (!x.rows || !x.columns || view->dtype != m->type || !is_dense(view))
    x.at = attn_layer_take(m, x.rows, x.columns);
  return x;
}

struct copy_args {
  const struct attn_layer_matrix *x;
  attn_dtype type;
};

static void load_rows(void *argument, int64_t from, int64_t to) {
  const struct copy_args *p = argument;
  const attn_tensor *t = p->x->view;
  const int64_t columns = p->x->columns, step = t->strides[t->rank - 1];
  for (int64_t row = from; row < to; row++) {
    const char *data = attn_row_data(t, t->rank - 1, row);
    if (p->type == ATTN_F64)
      attn_load_reals(t->dtype, data, step, columns, (double *)p->x->at + row * columns);
    else
      attn_load_floats(t->dtype, data, step, columns, 1, (float *)p->x->at + row * columns, 1);
  }
}

static void store_rows(void *argument, int64_t from, int64_t to) {
  const struct copy_args *p = argument;
  const attn_tensor *t = p->x->view;
  const int64_t columns = p->x->columns, step = t->strides[t->rank - 1],
                size = attn_real_size(t->dtype);
  for (int64_t row = from; row < to; row++) {
    char *data = attn_row_data(t, t->rank - 1, row);
    const double *wide = (const double *)p->x->at + row * columns;
    const float *narrow = (const float *)p->x->at + row * columns;
    for (int64_t j = 0; j < columns; j++)
      attn_store_real(t->dtype, data + j * step * size,
                      p->type == ATTN_F64 ? wide[j] : (double)narrow[j]);
  }
}

void attn_layer_load(const struct attn_layer_memory *m, const struct attn_layer_matrix *x) {
  struct copy_args p = {x, m->type};
  if (x->view && x->at != x->view->data)
    attn_parallel_rows(&m->host, x->rows, x->columns, load_rows, &p);
}

void attn_layer_store(const struct attn_layer_memory *m, const struct attn_layer_matrix *x) {
  struct copy_args p = {x, m->type};
  if (!x->view || !x->rows || !x->columns) return;
  if (x->view->dtype == m->type && is_dense(x->view))
    memcpy(x->view->data, x->at, (size_t)(x->rows * x->columns) * (size_t)attn_real_size(m->type));
  else
    attn_parallel_rows(&m->host, x->rows, x->columns, store_rows, &p);
}

/* ---- Products ---- */

struct double_product {
  const double *a, *b;
  double *c;
  int64_t columns, inner, a_row, a_step, b_row, b_step; /* elements from one to the next */
  int add;
};

static void multiply_rows(void *argument, int64_t from, int64_t to) {
  const struct double_product *p = argument;
  for (int64_t row = from; row < to; row++) {
    double *c = p->c + row * p->columns;
    if (!p->add) memset(c, 0, (size_t)p->columns * sizeof *c);
    for (int64_t k = 0; k < p->inner; k++) {
      const double x = p->a[row * p->a_row + k * p->a_step], *b = p->b + k * p->b_row;
      for (int64_t j = 0; j < p->columns; j++) c[j] += x * b[j * p->b_step];
    }
  }
}

attn_status attn_layer_multiply(const struct attn_layer_memory *m,
                                const struct attn_layer_matrix *a, int a_transposed,
                                const struct attn_layer_matrix *b, int b_transposed, void *c,
                                int add, attn_error *err) {
  const int64_t rows = a_transposed ? a->columns : a->rows,
                inner = a_transposed ? a->rows : a->columns,
                columns = b_transposed ? b->rows : b->columns;
  if (m->type == ATTN_F32)
    return attn_matmul(&m->host, rows, columns, inner,
                       (struct attn_gemm_operand){a->at, a->columns, a_transposed, ATTN_F32},
                       (struct attn_gemm_operand){b->at, b->columns, b_transposed, ATTN_F32}, c,
                       columns, add, err);
  struct double_product p = {.a = a->at, .b = b->at, .c = c, .columns = columns, .inner = inner};
  p.a_row = a_transposed ? 1 : a->columns, p.a_step = a_transposed ? a->columns : 1;
  p.b_row = b_transposed ? 1 : b->columns, p.b_step = b_transposed ? b->columns : 1, p.add = add;
  attn_parallel_rows(&m->host, rows, inner * columns, multiply_rows, &p);
  return ATTN_OK;
}
