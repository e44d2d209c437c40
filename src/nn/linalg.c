#include "linalg.h"

#include <oneapi/dnnl/dnnl.h>
#include <stdatomic.h>

#include "error.h"
#include "threads.h"

/* OpenMP's, by which oneDNN runs. Its header is each compiler's own; its ABI is one. */
int omp_get_max_threads(void) __attribute__((weak));
void omp_set_num_threads(int threads) __attribute__((weak));

enum { STRETCH = 16, WORTH_SHARING = 1 << 18 };

struct product {
  int64_t rows, columns, inner;
  struct attn_matrix a, b;
  float *c;
  int64_t c_step;
  float beta;
  int by_rows; /* which of c's dimensions is shared out */
  int64_t stretch;
  _Atomic int failed;
};

/* Rows from..to of what is multiplied. */
static struct attn_matrix rows_from(struct attn_matrix m, int64_t from) {
  m.at += m.transposed ? from : from * m.step;
  return m;
}

static struct attn_matrix columns_from(struct attn_matrix m, int64_t from) {
  m.at += m.transposed ? from * m.step : from;
  return m;
}

/* Threads are ours to share out, not oneDNN's: products run beside other work. */
static int multiply_alone(int64_t rows, int64_t columns, int64_t inner, struct attn_matrix a,
                          struct attn_matrix b, float beta, float *c, int64_t c_step) {
  int threads = omp_get_max_threads();
  if (threads != 1) omp_set_num_threads(1);
  dnnl_status_t status =
      dnnl_sgemm(a.transposed ? 'T' : 'N', b.transposed ? 'T' : 'N', rows, columns, inner, 1.0f,
                 a.at, a.step, b.at, b.step, beta, c, c_step);
  if (threads != 1) omp_set_num_threads(threads);
  return status != dnnl_success;
}

static void run_stretch(void *argument, int64_t index, int32_t worker) {
  struct product *p = argument;
  int64_t from = index * p->stretch, all = p->by_rows ? p->rows : p->columns;
  int64_t count = all - from < p->stretch ? all - from : p->stretch;
  (void)worker;
  int failed = p->by_rows ? multiply_alone(count, p->columns, p->inner, rows_from(p->a, from), p->b,
                                           p->beta, p->c + from * p->c_step, p->c_step)
                          : multiply_alone(p->rows, count, p->inner, p->a, columns_from(p->b, from),
                                           p->beta, p->c + from, p->c_step);
  if (failed) atomic_store(&p->failed, 1);
}

attn_status attn_matmul(const struct attn_host *host, int64_t rows, int64_t columns, int64_t inner,
                        struct attn_matrix a, struct attn_matrix b, float *c, int64_t c_step,
                        int add, attn_error *err) {
  struct product p = {rows,   columns,           inner,           a, b, c,
                      c_step, add ? 1.0f : 0.0f, rows >= columns, 0, 0};
  int64_t workers = attn_threads_workers(host->executor, host->threads);
  int64_t all = p.by_rows ? rows : columns;
  if (!rows || !columns) return ATTN_OK;
  if (rows * columns * inner < WORTH_SHARING) workers = 1;
  p.stretch = ((all + workers - 1) / workers + STRETCH - 1) / STRETCH * STRETCH;
  attn_layer_run(host, (all + p.stretch - 1) / p.stretch, run_stretch, &p);
  if (!p.failed) return ATTN_OK;
  return attn_fail(err, ATTN_ERR_MEMORY, NULL,
                   "oneDNN could not multiply (%lld, %lld) by (%lld, %lld)", (long long)rows,
                   (long long)inner, (long long)inner, (long long)columns);
}
