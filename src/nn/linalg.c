#include "linalg.h"

#include <oneapi/dnnl/dnnl.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "allocator.h"
#include "error.h"
#include "half_rows.h"
#include "threads.h"

/* OpenMP's, by which oneDNN runs. Its header is each compiler's own; its ABI is one. */
int omp_get_max_threads(void) __attribute__((weak));
void omp_set_num_threads(int threads) __attribute__((weak));

enum { STRETCH = 16, WORTH_SHARING = 1 << 18, ALIGNMENT = 64 };

static attn_status failure(int64_t rows, int64_t columns, int64_t inner, attn_error *err) {
  return attn_fail(err, ATTN_ERR_MEMORY, NULL,
                   "oneDNN could not multiply (%lld, %lld) by (%lld, %lld)", (long long)rows,
                   (long long)inner, (long long)inner, (long long)columns);
}

/* Threads are ours to share out, not oneDNN's: products run beside other work. A kernel runs on as
 * many as there are when it is made. */
static int hold_threads(void) {
  int threads = omp_get_max_threads();
  if (threads != 1) omp_set_num_threads(1);
  return threads;
}

static void give_threads(int threads) {
  if (threads != 1) omp_set_num_threads(threads);
}

/* ---- oneDNN 2 and 3: what 3 says by handles, 2 says by values ---- */

#if DNNL_VERSION_MAJOR < 3
typedef dnnl_memory_desc_t *layout;

static dnnl_status_t layout_by_order(layout *l, int rank, const dnnl_dims_t shape,
                                     dnnl_data_type_t type, dnnl_format_tag_t order) {
  *l = malloc(sizeof **l);
  return *l ? dnnl_memory_desc_init_by_tag(*l, rank, shape, type, order) : dnnl_out_of_memory;
}

static dnnl_status_t layout_by_steps(layout *l, int rank, const dnnl_dims_t shape,
                                     dnnl_data_type_t type, const dnnl_dims_t steps) {
  *l = malloc(sizeof **l);
  return *l ? dnnl_memory_desc_init_by_strides(*l, rank, shape, type, steps) : dnnl_out_of_memory;
}

static dnnl_status_t layout_copy(layout *l, const dnnl_memory_desc_t *of) {
  *l = malloc(sizeof **l);
  if (*l && of) **l = *of;
  return !of ? dnnl_invalid_arguments : *l ? dnnl_success : dnnl_out_of_memory;
}

static void layout_free(layout l) { free(l); }

static dnnl_status_t convolution(dnnl_primitive_desc_t *d, dnnl_engine_t engine, layout x, layout w,
                                 layout b, layout y, dnnl_primitive_attr_t how) {
  const dnnl_dims_t one = {1}, none = {0};
  dnnl_convolution_desc_t c;
  dnnl_status_t status = dnnl_convolution_forward_desc_init(
      &c, dnnl_forward_inference, dnnl_convolution_direct, x, w, b, y, one, none, none);
  return status ? status : dnnl_primitive_desc_create(d, &c, how, engine, NULL);
}

static dnnl_status_t product(dnnl_primitive_desc_t *d, dnnl_engine_t engine, layout a, layout b,
                             layout c, dnnl_primitive_attr_t how) {
  dnnl_matmul_desc_t m;
  dnnl_status_t status = dnnl_matmul_desc_init(&m, a, b, NULL, c);
  return status ? status : dnnl_primitive_desc_create(d, &m, how, engine, NULL);
}

static dnnl_status_t add_to_result(dnnl_post_ops_t then) {
  return dnnl_post_ops_append_sum(then, 1);
}
#else
typedef dnnl_memory_desc_t layout;

static dnnl_status_t layout_by_order(layout *l, int rank, const dnnl_dims_t shape,
                                     dnnl_data_type_t type, dnnl_format_tag_t order) {
  return dnnl_memory_desc_create_with_tag(l, rank, shape, type, order);
}

static dnnl_status_t layout_by_steps(layout *l, int rank, const dnnl_dims_t shape,
                                     dnnl_data_type_t type, const dnnl_dims_t steps) {
  return dnnl_memory_desc_create_with_strides(l, rank, shape, type, steps);
}

static dnnl_status_t layout_copy(layout *l, const_dnnl_memory_desc_t of) {
  return of ? dnnl_memory_desc_clone(l, of) : dnnl_invalid_arguments;
}

static void layout_free(layout l) {
  if (l) dnnl_memory_desc_destroy(l);
}

static dnnl_status_t convolution(dnnl_primitive_desc_t *d, dnnl_engine_t engine, layout x, layout w,
                                 layout b, layout y, dnnl_primitive_attr_t how) {
  const dnnl_dims_t one = {1}, none = {0};
  return dnnl_convolution_forward_primitive_desc_create(d, engine, dnnl_forward_inference,
                                                        dnnl_convolution_direct, x, w, b, y, one,
                                                        none, none, none, how);
}

static dnnl_status_t product(dnnl_primitive_desc_t *d, dnnl_engine_t engine, layout a, layout b,
                             layout c, dnnl_primitive_attr_t how) {
  return dnnl_matmul_primitive_desc_create(d, engine, a, b, NULL, c, how);
}

static dnnl_status_t add_to_result(dnnl_post_ops_t then) {
  return dnnl_post_ops_append_sum(then, 1, 0, dnnl_f32);
}
#endif

/* ---- Kernels: what oneDNN has compiled, and how it is called ---- */

enum { PARTS_MOST = 5 };

/* What a kernel reads and writes, under oneDNN's name. */
struct part {
  int name;
  layout laid; /* NULL: there is no such part */
  const void *at;
};

static dnnl_status_t hand_over(dnnl_exec_arg_t *to, const struct part *p, dnnl_engine_t engine) {
  to->arg = p->name;
  return dnnl_memory_create(&to->memory, p->laid, engine, (void *)(uintptr_t)p->at);
}

static dnnl_status_t run(dnnl_primitive_t kernel, dnnl_engine_t engine, int count,
                         const dnnl_exec_arg_t *handed) {
  dnnl_stream_t stream = NULL;
  int threads = hold_threads();
  dnnl_status_t status = dnnl_stream_create(&stream, engine, dnnl_stream_default_flags);
  if (!status) status = dnnl_primitive_execute(kernel, stream, count, handed);
  if (!status) status = dnnl_stream_wait(stream);
  if (stream) dnnl_stream_destroy(stream);
  give_threads(threads);
  return status;
}

/* With memory to work in: oneDNN's own would be that of the thread which made the kernel. */
static dnnl_status_t call(dnnl_primitive_t kernel, dnnl_engine_t engine, layout scratch, int count,
                          const struct part *parts) {
  dnnl_exec_arg_t handed[PARTS_MOST] = {{0, NULL}};
  size_t bytes = dnnl_memory_desc_get_size(scratch);
  void *memory = bytes ? attn_memory_allocate(NULL, ALIGNMENT, bytes) : NULL;
  const struct part work = {DNNL_ARG_SCRATCHPAD, scratch, memory};
  dnnl_status_t status = bytes && !memory ? dnnl_out_of_memory : dnnl_success;
  int there = 0;
  for (int n = 0; n < count && !status; n++)
    if (parts[n].laid) status = hand_over(&handed[there++], &parts[n], engine);
  if (!status && bytes) status = hand_over(&handed[there++], &work, engine);
  if (!status) status = run(kernel, engine, there, handed);
  for (int n = 0; n < there; n++)
    if (handed[n].memory) dnnl_memory_destroy(handed[n].memory);
  attn_memory_release(NULL, memory);
  return status;
}

static dnnl_status_t attributes(dnnl_primitive_attr_t *how, int add) {
  dnnl_post_ops_t then = NULL;
  dnnl_status_t status = dnnl_primitive_attr_create(how);
  if (!status) status = dnnl_primitive_attr_set_scratchpad_mode(*how, dnnl_scratchpad_mode_user);
  if (!status && add) status = dnnl_post_ops_create(&then);
  if (!status && add) status = add_to_result(then);
  if (!status && add) status = dnnl_primitive_attr_set_post_ops(*how, then);
  if (then) dnnl_post_ops_destroy(then);
  return status;
}

static dnnl_status_t finish(dnnl_primitive_desc_t d, dnnl_primitive_t *kernel, layout *scratch) {
  dnnl_status_t status = dnnl_primitive_create(kernel, d);
  if (status) return status;
  return layout_copy(scratch, dnnl_primitive_desc_query_md(d, dnnl_query_scratchpad_md, 0));
}

/* ---- Products of any matrices ---- */

struct product {
  int64_t rows, columns, inner;
  struct attn_matrix a, b;
  float *c;
  int64_t c_step;
  int add;
  int by_rows; /* which of c's dimensions is shared out */
  int64_t stretch;
  _Atomic int *failed;
};

static const char *element_at(struct attn_matrix m, int64_t n) {
  return (const char *)m.at +
         n * (int64_t)(m.type == ATTN_HALVES ? sizeof(uint16_t) : sizeof(float));
}

/* What is multiplied, from this row on. */
static struct attn_matrix rows_from(struct attn_matrix m, int64_t from) {
  m.at = element_at(m, m.transposed ? from : from * m.step);
  return m;
}

static struct attn_matrix columns_from(struct attn_matrix m, int64_t from) {
  m.at = element_at(m, m.transposed ? from * m.step : from);
  return m;
}

static dnnl_status_t multiply_floats(const struct product *p) {
  int threads = hold_threads();
  dnnl_status_t status = dnnl_sgemm(p->a.transposed ? 'T' : 'N', p->b.transposed ? 'T' : 'N',
                                    p->rows, p->columns, p->inner, 1.0f, p->a.at, p->a.step,
                                    p->b.at, p->b.step, p->add ? 1.0f : 0.0f, p->c, p->c_step);
  give_threads(threads);
  return status;
}

/* ---- The same by kernels, made once, for matrices of any size ---- */

struct any_product {
  dnnl_engine_t engine;
  dnnl_primitive_t kernel;
  layout scratch;
};

static void any_product_free(struct any_product *p) {
  if (!p) return;
  if (p->kernel) dnnl_primitive_destroy(p->kernel);
  if (p->engine) dnnl_engine_destroy(p->engine);
  layout_free(p->scratch);
  free(p);
}

static dnnl_status_t matrix(layout *l, dnnl_data_type_t type, int64_t rows, int64_t columns,
                            int64_t step, int transposed) {
  const dnnl_dims_t shape = {rows, columns}, steps = {transposed ? 1 : step, transposed ? step : 1};
  return layout_by_steps(l, 2, shape, type, steps);
}

static dnnl_data_type_t type_of(enum attn_factors type) {
  return type == ATTN_HALVES ? dnnl_bf16 : dnnl_f32;
}

static dnnl_status_t build_any(struct any_product *p, enum attn_factors type, int turn_a,
                               int turn_b, int add) {
  const int64_t any = DNNL_RUNTIME_DIM_VAL;
  dnnl_primitive_attr_t how = NULL;
  dnnl_primitive_desc_t d = NULL;
  layout a = NULL, b = NULL, c = NULL;
  dnnl_status_t status = dnnl_engine_create(&p->engine, dnnl_cpu, 0);
  if (!status) status = matrix(&a, type_of(type), any, any, any, turn_a);
  if (!status) status = matrix(&b, type_of(type), any, any, any, turn_b);
  if (!status) status = matrix(&c, dnnl_f32, any, any, any, 0);
  if (!status) status = attributes(&how, add);
  if (!status) status = product(&d, p->engine, a, b, c, how);
  if (!status) status = finish(d, &p->kernel, &p->scratch);
  if (d) dnnl_primitive_desc_destroy(d);
  if (how) dnnl_primitive_attr_destroy(how);
  layout_free(a), layout_free(b), layout_free(c);
  return status;
}

/* NULL where oneDNN has none. They stay as long as the process does. */
static struct any_product *any_product(enum attn_factors type, int turn_a, int turn_b, int add) {
  static _Atomic(struct any_product *) made[2][2][2][2];
  _Atomic(struct any_product *) *place = &made[type == ATTN_HALVES][turn_a][turn_b][add];
  struct any_product *p = atomic_load(place), *other = NULL;
  if (p) return p;
  p = calloc(1, sizeof *p);
  int threads = hold_threads(), failed = !p || build_any(p, type, turn_a, turn_b, add);
  give_threads(threads);
  if (failed) return any_product_free(p), NULL;
  if (atomic_compare_exchange_strong(place, &other, p)) return p;
  any_product_free(p);
  return other;
}

int attn_matmul_has_bf16(void) {
  static _Atomic int known; /* 1: no, 2: yes */
  int none = 0;
  if (!known) /* what was found first stays so */
    atomic_compare_exchange_strong(&known, &none, 1 + (any_product(ATTN_HALVES, 0, 0, 0) != NULL));
  return known == 2;
}

static dnnl_status_t multiply_by_kernel(const struct product *p) {
  const struct any_product *any = any_product(p->a.type, p->a.transposed, p->b.transposed, p->add);
  layout a = NULL, b = NULL, c = NULL;
  if (!any) return dnnl_unimplemented;
  dnnl_data_type_t type = type_of(p->a.type);
  dnnl_status_t status = matrix(&a, type, p->rows, p->inner, p->a.step, p->a.transposed);
  if (!status) status = matrix(&b, type, p->inner, p->columns, p->b.step, p->b.transposed);
  if (!status) status = matrix(&c, dnnl_f32, p->rows, p->columns, p->c_step, 0);
  const struct part parts[] = {
      {DNNL_ARG_SRC, a, p->a.at}, {DNNL_ARG_WEIGHTS, b, p->b.at}, {DNNL_ARG_DST, c, p->c}};
  if (!status) status = call(any->kernel, any->engine, any->scratch, 3, parts);
  layout_free(a), layout_free(b), layout_free(c);
  return status;
}

/* ---- Shared out ---- */

static void run_stretch(void *argument, int64_t index, int32_t worker) {
  struct product *all = argument, p = *all;
  int64_t from = index * all->stretch, left = (all->by_rows ? all->rows : all->columns) - from;
  int64_t count = left < all->stretch ? left : all->stretch;
  (void)worker;
  if (all->by_rows)
    p.rows = count, p.a = rows_from(p.a, from), p.c += from * p.c_step;
  else
    p.columns = count, p.b = columns_from(p.b, from), p.c += from;
  if (p.a.type == ATTN_FLOATS ? multiply_floats(&p) : multiply_by_kernel(&p))
    atomic_store(all->failed, 1);
}

attn_status attn_matmul(const struct attn_host *host, int64_t rows, int64_t columns, int64_t inner,
                        struct attn_matrix a, struct attn_matrix b, float *c, int64_t c_step,
                        int add, attn_error *err) {
  _Atomic int failed = 0;
  struct product p = {rows, columns, inner, a, b, c, c_step, add, rows >= columns, 0, &failed};
  int32_t workers = attn_threads_workers(host->executor, host->threads);
  int64_t all = p.by_rows ? rows : columns;
  if (!rows || !columns) return ATTN_OK;
  if (rows * columns * inner < WORTH_SHARING) workers = 1;
  p.stretch = ((all + workers - 1) / workers + STRETCH - 1) / STRETCH * STRETCH;
  attn_threads_share(host->executor, workers, (all + p.stretch - 1) / p.stretch, run_stretch, &p);
  return failed ? failure(rows, columns, inner, err) : ATTN_OK;
}

/* ---- Packed weights: rows are the places of a picture, the product a convolution of width 1,
 * for which oneDNN has kernels that read weights as they like them ---- */

enum { ROWS_MOST = 256, ROWS_USUAL = 32 };

/* What multiplies so many rows. */
struct packed_kernel {
  layout x, w, b, y, scratch; /* b NULL: no bias */
  dnnl_primitive_t run;
};

struct attn_packed {
  int64_t in, out;
  enum attn_factors type;
  const float *bias;
  void *numbers;
  uint32_t *half_rows; /* instead, where oneDNN has no products of bf16 */
  layout laid;
  dnnl_engine_t engine;
  _Atomic(struct packed_kernel *) of_rows[ROWS_MOST + 1]; /* made when so many first come */
};

static void packed_kernel_free(struct packed_kernel *k) {
  if (!k) return;
  if (k->run) dnnl_primitive_destroy(k->run);
  layout_free(k->x), layout_free(k->w), layout_free(k->b), layout_free(k->y);
  layout_free(k->scratch);
  free(k);
}

/* laid NULL: as oneDNN likes the weights. */
static dnnl_status_t describe(struct packed_kernel *k, const struct attn_packed *p, int64_t rows) {
  const dnnl_dims_t x = {1, p->in, rows}, w = {p->out, p->in, 1}, y = {1, p->out, rows},
                    b = {p->out};
  dnnl_status_t status = layout_by_order(&k->x, 3, x, type_of(p->type), dnnl_nwc);
  if (!status) status = layout_by_order(&k->y, 3, y, dnnl_f32, dnnl_nwc);
  if (!status && p->bias) status = layout_by_order(&k->b, 1, b, dnnl_f32, dnnl_a);
  if (status) return status;
  return p->laid ? layout_copy(&k->w, p->laid)
                 : layout_by_order(&k->w, 3, w, type_of(p->type), dnnl_format_tag_any);
}

static dnnl_status_t describe_kernel(dnnl_primitive_desc_t *d, struct packed_kernel *k,
                                     const struct attn_packed *p, int64_t rows) {
  dnnl_primitive_attr_t how = NULL;
  dnnl_status_t status = describe(k, p, rows);
  if (!status) status = attributes(&how, 0);
  if (!status) status = convolution(d, p->engine, k->x, k->w, k->b, k->y, how);
  if (how) dnnl_primitive_attr_destroy(how);
  return status;
}

static dnnl_status_t build_packed(struct packed_kernel *k, const struct attn_packed *p,
                                  int64_t rows) {
  dnnl_primitive_desc_t d = NULL;
  dnnl_status_t status = describe_kernel(&d, k, p, rows);
  if (!status) status = finish(d, &k->run, &k->scratch);
  if (d) dnnl_primitive_desc_destroy(d);
  return status;
}

/* NULL where oneDNN fails. Of two threads that make one, one keeps its own. */
static struct packed_kernel *packed_kernel(struct attn_packed *p, int64_t rows) {
  struct packed_kernel *k = atomic_load(&p->of_rows[rows]), *other = NULL;
  if (k) return k;
  k = calloc(1, sizeof *k);
  int threads = hold_threads(), failed = !k || build_packed(k, p, rows);
  give_threads(threads);
  if (failed) return packed_kernel_free(k), NULL;
  if (atomic_compare_exchange_strong(&p->of_rows[rows], &other, k)) return k;
  packed_kernel_free(k);
  return other;
}

/* From (out, in) as it stands into the layout that was chosen. */
static dnnl_status_t lay(struct attn_packed *p, const float *w) {
  const dnnl_dims_t shape = {p->out, p->in, 1};
  dnnl_primitive_attr_t how = NULL;
  dnnl_primitive_desc_t d = NULL;
  dnnl_primitive_t reorder = NULL;
  layout plain = NULL, scratch = NULL;
  dnnl_status_t status = layout_by_order(&plain, 3, shape, dnnl_f32, dnnl_abc);
  if (!status) status = attributes(&how, 0);
  if (!status)
    status = dnnl_reorder_primitive_desc_create(&d, plain, p->engine, p->laid, p->engine, how);
  if (!status) status = finish(d, &reorder, &scratch);
  const struct part parts[] = {{DNNL_ARG_FROM, plain, w}, {DNNL_ARG_TO, p->laid, p->numbers}};
  if (!status) status = call(reorder, p->engine, scratch, 2, parts);
  if (reorder) dnnl_primitive_destroy(reorder);
  if (d) dnnl_primitive_desc_destroy(d);
  if (how) dnnl_primitive_attr_destroy(how);
  layout_free(plain), layout_free(scratch);
  return status;
}

/* All kernels take the layout that is the best for the usual number of rows. */
static dnnl_status_t choose_layout(struct attn_packed *p) {
  struct packed_kernel *k = calloc(1, sizeof *k);
  dnnl_primitive_desc_t d = NULL;
  dnnl_status_t status = k ? describe_kernel(&d, k, p, ROWS_USUAL) : dnnl_out_of_memory;
  if (!status)
    status = layout_copy(&p->laid, dnnl_primitive_desc_query_md(d, dnnl_query_weights_md, 0));
  if (d) dnnl_primitive_desc_destroy(d);
  packed_kernel_free(k);
  return status;
}

static dnnl_status_t pack(struct attn_packed *p, const float *w) {
  int threads = hold_threads();
  dnnl_status_t status = dnnl_engine_create(&p->engine, dnnl_cpu, 0);
  if (!status) status = choose_layout(p);
  if (!status)
    p->numbers = attn_memory_allocate(NULL, ALIGNMENT, dnnl_memory_desc_get_size(p->laid));
  if (!status) status = p->numbers ? lay(p, w) : dnnl_out_of_memory;
  give_threads(threads);
  return status;
}

static int pack_half_rows(struct attn_packed *p, const float *w) {
  p->half_rows = attn_memory_allocate(NULL, ALIGNMENT, attn_half_rows_size(p->in, p->out));
  if (p->half_rows) attn_half_rows_pack(p->half_rows, w, p->in, p->out);
  return !p->half_rows;
}

attn_status attn_packed_new(const float *w, const float *b, int64_t in, int64_t out, int half,
                            struct attn_packed **packed, attn_error *err) {
  struct attn_packed *p = calloc(1, sizeof *p);
  if (p) {
    p->in = in, p->out = out, p->bias = b, p->type = half ? ATTN_HALVES : ATTN_FLOATS;
    if (!(half && !attn_matmul_has_bf16() ? pack_half_rows(p, w) : (int)pack(p, w)))
      return *packed = p, ATTN_OK;
  }
  attn_packed_free(p);
  return attn_fail(err, ATTN_ERR_MEMORY, NULL, "weights of (%lld, %lld) could not be packed",
                   (long long)out, (long long)in);
}

void attn_packed_free(struct attn_packed *p) {
  if (!p) return;
  for (int64_t n = 0; n <= ROWS_MOST; n++) packed_kernel_free(p->of_rows[n]);
  layout_free(p->laid);
  if (p->engine) dnnl_engine_destroy(p->engine);
  attn_memory_release(NULL, p->numbers), attn_memory_release(NULL, p->half_rows);
  free(p);
}

static dnnl_status_t multiply_packed(struct attn_packed *p, float *y, const void *x, int64_t rows) {
  const struct packed_kernel *k = packed_kernel(p, rows);
  if (!k) return dnnl_out_of_memory;
  const struct part parts[] = {{DNNL_ARG_SRC, k->x, x},
                               {DNNL_ARG_WEIGHTS, k->w, p->numbers},
                               {DNNL_ARG_BIAS, k->b, p->bias},
                               {DNNL_ARG_DST, k->y, y}};
  return call(k->run, p->engine, k->scratch, 4, parts);
}

attn_status attn_packed_multiply(struct attn_packed *p, float *y, const void *x, int64_t n,
                                 attn_error *err) {
  size_t size = p->type == ATTN_HALVES ? sizeof(uint16_t) : sizeof(float);
  if (p->half_rows)
    return attn_half_rows_multiply(y, x, p->half_rows, p->bias, n, p->in, p->out), ATTN_OK;
  for (int64_t row = 0; row < n; row += ROWS_MOST)
    if (multiply_packed(p, y + row * p->out, (const char *)x + (size_t)(row * p->in) * size,
                        n - row < ROWS_MOST ? n - row : ROWS_MOST))
      return failure(n, p->out, p->in, err);
  return ATTN_OK;
}
