/* Every combination of features, shapes around each block's edge, layouts and kernels agrees
 * with the reference within the documented bound; no byte outside an operand is accessed, no
 * input is written, and no gap of an output. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "attn/attn.h"
#include "guarded.h"
#include "element.h"
#include "random.h"
#include "select.h"

enum { CANARY = 0x5A, LARGE = 1 << 19 };

static int64_t pick(const int64_t *from, int n) { return from[below(n)]; }
#define PICK(...) \
  pick((const int64_t[]){__VA_ARGS__}, (int)(sizeof(int64_t[]){__VA_ARGS__} / sizeof(int64_t)))

/* ---- Tensors of any layout ---------------------------------------------------- */

enum use { INPUT, OUTPUT };

/* Draws strides in random order, with gaps, negative, and for inputs sometimes 0. Returns the
 * elements from the first to the last, and the offset of element (0, 0, ..). */
static int64_t draw_strides(attn_tensor *t, enum use use, int64_t *origin) {
  int order[4] = {0, 1, 2, 3};
  for (int n = 3; n > 0 && chance(3); n--) {
    int with = (int)below(n + 1), kept = order[n];
    order[n] = order[with], order[with] = kept;
  }
  int64_t reach = 1;
  *origin = 0;
  for (int n = 3; n >= 0; n--) {
    int64_t *stride = &t->strides[order[n]], last = t->shape[order[n]] - 1;
    *stride = reach + (chance(6) ? below(4) : 0);
    if (use == INPUT && chance(20)) *stride = 0;
    if (last == 0 && chance(4)) *stride = 1 << 30; /* of a single one no stride is ever used */
    reach += last * *stride;
    if (!chance(10)) continue;
    *origin += last * *stride;
    *stride = -*stride;
  }
  return reach;
}

static void set(const attn_tensor *t, int64_t n, double value) {
  if (t->dtype == ATTN_F32) ((float *)t->data)[n] = (float)value;
  if (t->dtype == ATTN_F64) ((double *)t->data)[n] = value;
  if (t->dtype == ATTN_F16) ((uint16_t *)t->data)[n] = attn_to_f16((float)value);
  if (t->dtype == ATTN_BF16) ((uint16_t *)t->data)[n] = attn_to_bf16((float)value);
  if (t->dtype == ATTN_BOOL) ((char *)t->data)[n] = (char)(value > -0.5 ? 1 + below(255) : 0);
}

static attn_tensor draw_tensor(const int64_t shape[4], attn_dtype dtype, enum use use, double gain,
                               struct guarded *g) {
  attn_tensor t = {NULL, dtype, 4, {shape[0], shape[1], shape[2], shape[3]}, {0}};
  int64_t origin, reach = draw_strides(&t, use, &origin);
  size_t size = attn_dtype_size(dtype), bytes = (size_t)reach * size;
  *g = guarded_new(bytes, (int)below(2));
  memset(g->data, CANARY, bytes);
  t.data = g->data;
  for (int64_t n = 0; n < reach && use == INPUT; n++) set(&t, n, (double)uniform() * gain);
  t.data = (char *)t.data + origin * (int64_t)size;
  return t;
}

/* ---- A call with everything it can have ----------------------------------------- */

struct drawn {
  attn_sdpa desc;
  attn_tensor q, k, v, o, mask, lse, weights, lengths, alibi, sinks, additive;
  float slopes[16], logits[16];
  int64_t wide[8];
  int32_t narrow[8];
  struct guarded memory[8]; /* q k v mask o lse weights additive */
};

/* Makes a few elements of an input NaN, infinite, subnormal or -0. */
static void spoil(const attn_tensor *t) {
  static const double odd[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, 1e-41, -0.0};
  for (int n = (int)below(4); n > 0; n--) {
    int64_t at = 0;
    for (int d = 0; d < 4; d++) at += below(t->shape[d]) * t->strides[d];
    set(t, at, odd[below(5)]);
  }
}

static void draw_mask(struct drawn *d, const int64_t full[4]) {
  static const attn_dtype types[] = {ATTN_BOOL, ATTN_F32, ATTN_F64, ATTN_BF16};
  int64_t shape[4];
  for (int n = 0; n < 4; n++) shape[n] = chance(3) ? 1 : full[n];
  attn_dtype dtype = types[below(4)];
  d->mask = draw_tensor(shape, dtype, INPUT, 1, &d->memory[3]);
  for (int64_t n = 0, some = below(shape[3] * shape[2]); n < some && dtype != ATTN_BOOL; n++) {
    int64_t at = 0;
    for (int m = 0; m < 4; m++) at += below(shape[m]) * d->mask.strides[m];
    set(&d->mask, at, chance(3000) ? -3.4e38 : -(double)INFINITY);
  }
  if (dtype != ATTN_BOOL && chance(20)) spoil(&d->mask);
  /* A dimension in front that is 1 may as well be missing. */
  for (; d->mask.rank > 0 && d->mask.shape[0] == 1 && chance(2); d->mask.rank--) {
    memmove(d->mask.shape, d->mask.shape + 1, 3 * sizeof(int64_t));
    memmove(d->mask.strides, d->mask.strides + 1, 3 * sizeof(int64_t));
  }
  d->desc.mask = &d->mask;
}

static void draw_lengths(struct drawn *d, int64_t batch, int64_t keys) {
  int64_t stride = 1 + below(2);
  int narrow = (int)below(2);
  for (int64_t b = 0; b < batch; b++) {
    d->wide[b * stride] = chance(6) ? 0 : below(keys + 1);
    d->narrow[b * stride] = (int32_t)d->wide[b * stride];
  }
  d->lengths = (attn_tensor){narrow ? (void *)d->narrow : (void *)d->wide,
                             narrow ? ATTN_I32 : ATTN_I64,
                             1,
                             {batch},
                             {stride}};
  d->desc.key_lengths = &d->lengths;
}

/* (Hq): slopes or sinks. */
static void draw_per_head(attn_tensor *t, float *values, const int64_t full[4], double gain) {
  for (int64_t h = 0; h < full[1]; h++) values[h] = (float)((double)uniform() * gain);
  *t = (attn_tensor){values, ATTN_F32, 1, {full[1]}, {1}};
}

/* (E) or (Hq, E), of any float type. */
static void draw_additive(struct drawn *d, int64_t heads, int64_t width, int spoiled) {
  static const attn_dtype types[] = {ATTN_F32, ATTN_F64, ATTN_BF16, ATTN_F16};
  attn_tensor *t = &d->additive;
  int rank = 1 + (int)below(2);
  const int64_t shape[4] = {1, 1, rank == 2 ? heads : 1, width};
  *t = draw_tensor(shape, types[below(4)], INPUT, chance(3) ? 5 : 1, &d->memory[7]);
  if (spoiled && chance(2)) spoil(t);
  guarded_freeze(&d->memory[7]);
  t->rank = rank;
  memmove(t->shape, t->shape + 4 - rank, (size_t)rank * sizeof *t->shape);
  memmove(t->strides, t->strides + 4 - rank, (size_t)rank * sizeof *t->strides);
  d->desc.additive = t;
}

static void draw_knobs(struct drawn *d, const int64_t full[4]) {
  attn_sdpa *s = &d->desc;
  if (chance(3)) s->flags |= ATTN_SDPA_SCALE, s->scale = (double)uniform() * 3;
  if (chance(2)) s->flags |= ATTN_SDPA_CAUSAL;
  if (chance(3)) {
    s->flags |= ATTN_SDPA_WINDOW;
    s->window_left = below(120) - 1, s->window_right = below(60) - 1;
  }
  s->align = (int32_t)below(3);
  if (s->align == ATTN_ALIGN_OFFSET) s->flags |= ATTN_SDPA_OFFSET, s->offset = below(300) - 100;
  if (chance(2)) draw_mask(d, full);
  if (chance(3)) draw_lengths(d, full[0], full[3]);
  s->empty_row = (int32_t)below(3);
  if (chance(5)) s->flags |= ATTN_SDPA_SOFTCAP, s->softcap = 0.1 + fabs((double)uniform()) * 20;
  if (chance(5)) {
    s->flags |= ATTN_SDPA_DROPOUT, s->dropout = fabs((double)uniform()) * 0.9;
    s->seed = (uint64_t)below(1 << 30) << 20, s->origin_query = below(1000);
  }
  if (chance(5)) draw_per_head(&d->alibi, d->slopes, full, 0.3), s->alibi = &d->alibi;
  if (chance(5)) draw_per_head(&d->sinks, d->logits, full, 40), s->sinks = &d->sinks;
  if (s->sinks && chance(2)) d->logits[0] = -INFINITY;
}

static void draw(struct drawn *d, attn_dtype dtype, int spoiled) {
  memset(d, 0, sizeof *d);
  d->desc.struct_size = sizeof d->desc;
  int64_t rows = PICK(1, 2, 7, 8, 63, 64, 65, 127, 128, 129);
  int64_t keys = PICK(1, 2, 5, 6, 7, 12, 95, 96, 97, 102, 191, 192, 193);
  if (rows <= 8 && chance(20)) keys = PICK(3071, 3072, 3073, 4704); /* the rows are split */
  int64_t width = PICK(1, 3, 8, 63, 64, 65, 128),
          value_width = PICK(1, 3, 5, 6, 7, 8, 12, 63, 64, 65);
  /* Most large heads are alone: several of them would take most of the time. */
  int large = rows * keys * (width + value_width) > LARGE && !chance(8);
  int64_t batch = large ? 1 : 1 + below(3), heads = 1 + below(2);
  int64_t group = large ? 1 : PICK(1, 1, 2, 3, 8);
  const int64_t q[4] = {batch, heads * group, rows, width}, k[4] = {batch, heads, keys, width};
  const int64_t v[4] = {batch, heads, keys, value_width};
  const int64_t o[4] = {batch, heads * group, rows, value_width};
  const int64_t full[4] = {batch, heads * group, rows, keys};
  const int64_t lse[4] = {batch, heads * group, rows, 1};
  d->q = draw_tensor(q, dtype, INPUT, chance(4) ? 30 : 1, &d->memory[0]);
  d->k = draw_tensor(k, dtype, INPUT, 1, &d->memory[1]);
  d->v = draw_tensor(v, dtype, INPUT, 1, &d->memory[2]);
  d->o = draw_tensor(o, dtype, OUTPUT, 0, &d->memory[4]);
  draw_knobs(d, full);
  if (chance(4)) draw_additive(d, heads * group, width, spoiled);
  if (spoiled) spoil(&d->q), spoil(&d->k), spoil(&d->v);
  for (int n = 0; n < 4; n++)
    if (d->memory[n].pages) guarded_freeze(&d->memory[n]);
  if (chance(2)) {
    attn_dtype kept = dtype == ATTN_F64 ? ATTN_F64 : ATTN_F32;
    d->lse = draw_tensor(lse, kept, OUTPUT, 0, &d->memory[5]);
    d->lse.rank = 3;
    d->desc.lse = &d->lse;
  }
  if (chance(2)) {
    d->weights = draw_tensor(full, dtype, OUTPUT, 0, &d->memory[6]);
    d->desc.weights = &d->weights;
  }
}

static void release(struct drawn *d) {
  for (int n = 0; n < 8; n++)
    if (d->memory[n].pages) guarded_free(&d->memory[n]);
}

/* ---- The comparison ---- */

/* The gaps between the elements of an output still hold the canary. */
static void only_elements_were_written(const attn_tensor *t, const struct guarded *g) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE), size = attn_dtype_size(t->dtype);
  size_t bytes = (size_t)(g->pages + g->length - page - (char *)g->data);
  char *rest = malloc(bytes);
  memcpy(rest, g->data, bytes);
  for (int64_t n = 0, a = t->shape[0], b = t->shape[1], c = t->shape[2],
               d = t->rank == 4 ? t->shape[3] : 1;
       n < a * b * c * d; n++) {
    const int64_t at = n / (b * c * d) * t->strides[0] + n / (c * d) % b * t->strides[1] +
                       n / d % c * t->strides[2] + n % d * t->strides[3];
    memset(rest + ((char *)t->data - (char *)g->data) + at * (int64_t)size, CANARY, size);
  }
  /* The memory after the elements, up to the page's end, is unchanged. */
  for (size_t n = 0; n < bytes; n++)
    if (rest[n] != CANARY && rest[n] != 0) fail_msg("a byte between the elements was written");
  free(rest);
}

/* row_limit: 0, or how many rows are compared. */
static void run_and_verify(struct drawn *d, const char *kernel, uint64_t seed, int64_t row_limit,
                           double *worst) {
  attn_error err;
  attn_sdpa_report report = {.struct_size = sizeof report};
  if (attn_sdpa_forward(&d->desc, &d->q, &d->k, &d->v, &d->o, &err)) fail_msg("%s", err.message);
  if (attn_sdpa_verify(&d->desc, &d->q, &d->k, &d->v, &d->o, row_limit, seed, &report, &err))
    fail_msg("%s", err.message);
  if (report.outside)
    fail_msg(
        "%s, seed %llu (L %d S %d E %d flags %d mask %x additive %x empty %d): %d of %d outside, "
        "worst "
        "[%d %d %d %d]: %.9g, not %.9g, bound %g",
        kernel, (unsigned long long)seed, (int)d->q.shape[2], (int)d->k.shape[2],
        (int)d->q.shape[3], (int)d->desc.flags, (unsigned)(d->desc.mask ? d->mask.dtype : 0),
        (unsigned)(d->desc.additive ? d->additive.dtype : 0), d->desc.empty_row,
        (int)report.outside, (int)report.elements, (int)report.worst_index[0],
        (int)report.worst_index[1], (int)report.worst_index[2], (int)report.worst_index[3],
        report.worst_got, report.worst_exact, report.worst_bound);
  if (report.worst > *worst) *worst = report.worst;
  only_elements_were_written(&d->o, &d->memory[4]);
  if (d->desc.lse) only_elements_were_written(&d->lse, &d->memory[5]);
  if (d->desc.weights) only_elements_were_written(&d->weights, &d->memory[6]);
}

/* All rows of each kernel in turn, a sample of the others'. */
static void every_combination(attn_dtype dtype, int rounds, int spoiled) {
  enum { SAMPLE = 150 };
  double worst[8] = {0};
  int kernels = 0;
  const char *kernel;
  while (dtype != ATTN_F64 && select_kernel(kernels)) kernels++;
  kernels += !kernels;
  assert_true(kernels <= 8);
  for (int round = 0; round < rounds; round++) {
    struct drawn d;
    uint64_t seed = random_state;
    draw(&d, dtype, spoiled);
    for (int n = 0; (kernel = select_kernel(n)); n++) {
      run_and_verify(&d, kernel, seed, round % kernels == n ? 0 : SAMPLE, &worst[n]);
      if (dtype == ATTN_F64) break; /* no kernel is used */
    }
    select_default();
    release(&d);
  }
  for (int n = 0; (kernel = select_kernel(n)) && dtype != ATTN_F64; n++)
    printf("%s, %s: the worst of %d calls is at %.3f of its bound\n", kernel,
           attn_dtype_name(dtype), rounds, worst[n]);
  select_default();
}

static void every_combination_is_within_the_bound(void **state) {
  (void)state;
  every_combination(ATTN_F32, ROUNDS(100), 0);
}

static void non_finite_inputs_are_within_the_bound(void **state) {
  (void)state;
  every_combination(ATTN_F32, ROUNDS(60), 1);
}

static void every_16_bit_combination_is_within_the_bound(void **state) {
  (void)state;
  every_combination(ATTN_F16, ROUNDS(30), 0);
  every_combination(ATTN_BF16, ROUNDS(30), 0);
}

static void every_float64_combination_is_within_the_bound(void **state) {
  (void)state;
  every_combination(ATTN_F64, ROUNDS(30), 0);
}

/* ---- The comparison must bite -------------------------------------------------------- */

static attn_sdpa_report report_on(const struct drawn *d) {
  attn_sdpa_report report = {.struct_size = sizeof report};
  assert_int_equal(attn_sdpa_verify(&d->desc, &d->q, &d->k, &d->v, &d->o, 0, 0, &report, NULL), 0);
  return report;
}

static float *place(const attn_tensor *t, const int64_t at[4]) {
  int64_t n = 0;
  for (int d = 0; d < t->rank; d++) n += at[d] * t->strides[d];
  return (float *)t->data + n;
}

/* The bound of an element, from the share of it that a large error takes. */
static double bound_of(const struct drawn *d, float *at) {
  const float right = *at;
  *at = right + 1000;
  double bound = ((double)*at - (double)right) / report_on(d).worst;
  *at = right;
  return bound;
}

/* Moves one element of an output, log-sum-exp or weight by two and a half bounds. */
static void verify_finds_one_wrong_element(void **state) {
  (void)state;
  for (int round = 0; round < ROUNDS(60); round++) {
    struct drawn d;
    draw(&d, ATTN_F32, 0);
    d.desc.empty_row = ATTN_EMPTY_ZERO;
    if (d.mask.dtype != ATTN_BOOL) d.desc.mask = NULL; /* a huge or NaN mask has no bound */
    assert_int_equal(attn_sdpa_forward(&d.desc, &d.q, &d.k, &d.v, &d.o, NULL), ATTN_OK);
    const attn_tensor *spoilt = d.desc.lse ? &d.lse : d.desc.weights ? &d.weights : &d.o;
    attn_sdpa_report before = report_on(&d);
    float *at = place(spoilt, spoilt == &d.o ? before.worst_index : (const int64_t[4]){0});
    float right = *at;
    double bound = spoilt == &d.o ? before.worst_bound : isinf(right) ? 0 : bound_of(&d, at);
    *at = isinf(right) ? 0 : right + (float)(2.5 * bound + 1e-30);
    assert_int_equal(report_on(&d).outside, 1);
    *at = NAN;
    assert_int_equal(report_on(&d).outside, 1);
    assert_true(isinf(report_on(&d).worst));
    *at = right;
    assert_int_equal(report_on(&d).outside, 0);
    release(&d);
  }
}

/* A sample draws from all rows, including the last, depends on the seed, and reports its size. */
static void verify_samples_rows_evenly(void **state) {
  (void)state;
  static float q[1999], k[3], v[3], o[1999];
  attn_tensor tq = attn_tensor_dense(ATTN_F32, q, 1, 1, 1999, 1);
  attn_tensor tk = attn_tensor_dense(ATTN_F32, k, 1, 1, 3, 1), tv = tk, to = tq;
  tv.data = v, to.data = o;
  assert_int_equal(attn_sdpa_forward(NULL, &tq, &tk, &tv, &to, NULL), ATTN_OK);
  o[1998] = 1;
  int found = 0;
  for (uint64_t seed = 0; seed < 40; seed++) {
    attn_sdpa_report r = {.struct_size = sizeof r};
    assert_int_equal(attn_sdpa_verify(NULL, &tq, &tk, &tv, &to, 998, seed, &r, NULL), ATTN_OK);
    assert_int_equal(r.rows, 998);
    assert_int_equal(r.rows_total, 1999);
    found += r.outside == 1;
  }
  assert_true(found > 5 && found < 35);
}

/* Which threads compare which rows changes no bit of what is found. */
static void a_report_does_not_depend_on_threads(void **state) {
  (void)state;
  enum { N = 600, D = 4 };
  static float x[N * D], o[N * D];
  for (int n = 0; n < N * D; n++) x[n] = uniform();
  attn_tensor t = attn_tensor_dense(ATTN_F32, x, 1, 1, N, D), to = t;
  attn_sdpa desc = ATTN_SDPA_INIT;
  attn_sdpa_report one = {.struct_size = sizeof one}, all = one;
  to.data = o, desc.threads = 1;
  assert_int_equal(attn_sdpa_forward(NULL, &t, &t, &t, &to, NULL), ATTN_OK);
  assert_int_equal(attn_sdpa_verify(&desc, &t, &t, &t, &to, 0, 0, &one, NULL), ATTN_OK);
  for (int round = 0; round < 8; round++) {
    assert_int_equal(attn_sdpa_verify(NULL, &t, &t, &t, &to, 0, 0, &all, NULL), ATTN_OK);
    assert_memory_equal(&one, &all, sizeof one);
  }
}

int main(int argc, char **argv) {
  random_begin(argc, argv);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_combination_is_within_the_bound),
      cmocka_unit_test(non_finite_inputs_are_within_the_bound),
      cmocka_unit_test(every_16_bit_combination_is_within_the_bound),
      cmocka_unit_test(every_float64_combination_is_within_the_bound),
      cmocka_unit_test(verify_finds_one_wrong_element),
      cmocka_unit_test(verify_samples_rows_evenly),
      cmocka_unit_test(a_report_does_not_depend_on_threads)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
