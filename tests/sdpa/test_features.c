/* Law: every combination of features, shapes around every block's edge, strides and instruction
 * sets agrees with the double-precision oracle within the promised bound, and no byte beyond an
 * operand is touched. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "attn/attn.h"
#include "guarded.h"
#include "random.h"

static int64_t pick(const int64_t *from, int n) { return from[below(n)]; }
#define PICK(...) \
  pick((const int64_t[]){__VA_ARGS__}, (int)(sizeof(int64_t[]){__VA_ARGS__} / sizeof(int64_t)))

/* A tensor of random numbers in guarded memory, its dimensions laid out in random order. */
static attn_tensor draw_tensor(const int64_t shape[4], attn_dtype dtype, struct guarded *g) {
  attn_tensor t = {NULL, dtype, 4, {shape[0], shape[1], shape[2], shape[3]}, {0}};
  int order[4] = {0, 1, 2, 3};
  for (int n = 3; n > 0 && chance(3); n--) { /* a transposed view now and then */
    int with = (int)below(n + 1), kept = order[n];
    order[n] = order[with], order[with] = kept;
  }
  int64_t stride = 1, size = (int64_t)attn_dtype_size(dtype);
  for (int n = 3; n >= 0; n--) t.strides[order[n]] = stride, stride *= shape[order[n]];
  *g = guarded_new((size_t)(stride * size), (int)below(2));
  t.data = g->data;
  for (int64_t n = 0; n < stride; n++) {
    if (dtype == ATTN_F32) ((float *)t.data)[n] = uniform();
    if (dtype == ATTN_BOOL) ((char *)t.data)[n] = !chance(4);
  }
  return t;
}

struct drawn {
  attn_sdpa desc;
  attn_tensor q, k, v, o, mask, lse, weights, lengths;
  int64_t length[4];
  struct guarded memory[7];
};

static void draw_mask(struct drawn *d, const int64_t full[4]) {
  int64_t shape[4];
  for (int n = 0; n < 4; n++) shape[n] = chance(3) ? 1 : full[n];
  d->mask = draw_tensor(shape, chance(2) ? ATTN_BOOL : ATTN_F32, &d->memory[4]);
  int64_t count = shape[0] * shape[1] * shape[2] * shape[3];
  for (int64_t n = 0; n < count && d->mask.dtype == ATTN_F32; n++)
    if (chance(4)) ((float *)d->mask.data)[n] = chance(5) ? -3.4028235e38f : -INFINITY;
  /* A dimension in front that is 1 may as well be missing. */
  for (; d->mask.rank > 1 && d->mask.shape[0] == 1 && chance(2); d->mask.rank--) {
    memmove(d->mask.shape, d->mask.shape + 1, 3 * sizeof(int64_t));
    memmove(d->mask.strides, d->mask.strides + 1, 3 * sizeof(int64_t));
  }
  d->desc.mask = &d->mask;
}

static void draw_knobs(struct drawn *d, const int64_t full[4]) {
  attn_sdpa *s = &d->desc;
  if (chance(3)) s->flags |= ATTN_SDPA_SCALE, s->scale = (double)uniform() * 3;
  if (chance(2)) s->flags |= ATTN_SDPA_CAUSAL;
  if (chance(3)) {
    s->flags |= ATTN_SDPA_WINDOW;
    s->window_left = below(60) - 1, s->window_right = below(60) - 1;
  }
  s->align = (int32_t)below(3);
  if (s->align == ATTN_ALIGN_OFFSET) s->flags |= ATTN_SDPA_OFFSET, s->offset = below(300) - 100;
  if (chance(2)) draw_mask(d, full);
  if (chance(3)) {
    for (int b = 0; b < full[0]; b++) d->length[b] = below(full[3] + 1);
    d->lengths = (attn_tensor){d->length, ATTN_I64, 1, {full[0]}, {1}};
    s->key_lengths = &d->lengths;
  }
  s->empty_row = (int32_t)below(3);
}

static void draw(struct drawn *d) {
  memset(d, 0, sizeof *d);
  d->desc.struct_size = sizeof d->desc;
  int64_t batch = 1 + below(3), heads = 1 + below(2), group = PICK(1, 1, 2, 3, 8);
  int64_t rows = PICK(1, 2, 7, 63, 64, 65, 130), keys = PICK(1, 3, 95, 96, 97, 192, 200);
  int64_t width = PICK(1, 3, 8, 16, 33, 64, 65), value_width = PICK(1, 5, 6, 8, 32, 64);
  const int64_t q[4] = {batch, heads * group, rows, width}, k[4] = {batch, heads, keys, width};
  const int64_t v[4] = {batch, heads, keys, value_width};
  const int64_t o[4] = {batch, heads * group, rows, value_width};
  const int64_t full[4] = {batch, heads * group, rows, keys};
  const int64_t lse[4] = {batch, heads * group, rows, 1};
  d->q = draw_tensor(q, ATTN_F32, &d->memory[0]), d->k = draw_tensor(k, ATTN_F32, &d->memory[1]);
  d->v = draw_tensor(v, ATTN_F32, &d->memory[2]), d->o = draw_tensor(o, ATTN_F32, &d->memory[3]);
  draw_knobs(d, full);
  if (chance(2)) {
    d->lse = draw_tensor(lse, ATTN_F32, &d->memory[5]);
    d->lse.rank = 3;
    d->desc.lse = &d->lse;
  }
  if (chance(2)) {
    d->weights = draw_tensor(full, ATTN_F32, &d->memory[6]);
    d->desc.weights = &d->weights;
  }
}

static void release(struct drawn *d) {
  for (int n = 0; n < 7; n++)
    if (d->memory[n].pages) guarded_free(&d->memory[n]);
}

static void run_and_verify(struct drawn *d, const char *isa, uint64_t seed) {
  attn_error err;
  attn_sdpa_report report = {.struct_size = sizeof report};
  setenv("ATTN_ISA", isa, 1);
  if (attn_sdpa_forward(&d->desc, &d->q, &d->k, &d->v, &d->o, &err)) fail_msg("%s", err.message);
  if (attn_sdpa_verify(&d->desc, &d->q, &d->k, &d->v, &d->o, 0, 0, &report, &err))
    fail_msg("%s", err.message);
  if (report.outside)
    fail_msg("%s, seed %llu (L %d S %d E %d flags %d mask %d empty %d): %d of %d outside, worst "
             "[%d %d %d %d]: %.9g, not %.9g, bound %g",
             isa, (unsigned long long)seed, (int)d->q.shape[2], (int)d->k.shape[2],
             (int)d->q.shape[3], (int)d->desc.flags, (int)(d->desc.mask ? d->mask.dtype : 0),
             d->desc.empty_row, (int)report.outside, (int)report.elements, (int)report.worst_index[0],
             (int)report.worst_index[1], (int)report.worst_index[2], (int)report.worst_index[3],
             report.worst_got, report.worst_exact, report.worst_bound);
}

static int isas(const char *names[3]) {
  attn_machine machine = {.struct_size = sizeof machine};
  unsetenv("ATTN_ISA");
  attn_machine_query(&machine);
  names[0] = "scalar", names[1] = "avx2", names[2] = "avx512";
  return machine.isa_best >= ATTN_ISA_AVX512 ? 3 : machine.isa_best >= ATTN_ISA_AVX2 ? 2 : 1;
}

static void every_combination_is_within_the_bound(void **state) {
  (void)state;
  const char *names[3];
  int count = isas(names);
  for (int n = count; n < 3; n++) printf("SKIPPED: %s: this CPU lacks it\n", names[n]);
  for (int round = 0; round < 400; round++) {
    struct drawn d;
    uint64_t seed = random_state;
    draw(&d);
    for (int n = 0; n < count; n++) run_and_verify(&d, names[n], seed);
    release(&d);
  }
}

/* The comparison itself must bite: one output moved by twice its bound is found. */
static void verify_finds_one_wrong_number(void **state) {
  (void)state;
  unsetenv("ATTN_ISA");
  for (int round = 0; round < 50; round++) {
    struct drawn d;
    attn_error err;
    attn_sdpa_report before = {.struct_size = sizeof before}, after = before;
    draw(&d);
    d.desc.empty_row = ATTN_EMPTY_ZERO;
    assert_int_equal(attn_sdpa_forward(&d.desc, &d.q, &d.k, &d.v, &d.o, &err), ATTN_OK);
    attn_sdpa_verify(&d.desc, &d.q, &d.k, &d.v, &d.o, 0, 0, &before, &err);
    const int64_t *at = before.worst_index;
    int64_t place = 0;
    for (int n = 0; n < 4; n++) place += at[n] * d.o.strides[n];
    if (!d.desc.lse && !d.desc.weights) {
      ((float *)d.o.data)[place] += (float)(2.5 * before.worst_bound + 1e-30);
      attn_sdpa_verify(&d.desc, &d.q, &d.k, &d.v, &d.o, 0, 0, &after, &err);
      assert_int_equal(after.outside, 1);
    }
    release(&d);
  }
}

static void float64_runs_in_double(void **state) {
  (void)state;
  double q[2] = {1, 0}, k[4] = {1, 0, 0, 1}, v[4] = {10, 0, 0, 10}, o[2];
  attn_tensor tq = attn_tensor_dense(ATTN_F64, q, 1, 1, 1, 2);
  attn_tensor tk = attn_tensor_dense(ATTN_F64, k, 1, 1, 2, 2);
  attn_tensor tv = attn_tensor_dense(ATTN_F64, v, 1, 1, 2, 2);
  attn_tensor to = attn_tensor_dense(ATTN_F64, o, 1, 1, 1, 2);
  assert_int_equal(attn_sdpa_forward(NULL, &tq, &tk, &tv, &to, NULL), ATTN_OK);
  double p = exp(sqrt(0.5)) / (exp(sqrt(0.5)) + 1);
  assert_true(fabs(o[0] - 10 * p) < 1e-14 && fabs(o[1] - 10 * (1 - p)) < 1e-14);
}

int main(int argc, char **argv) {
  random_begin(argc, argv);
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_combination_is_within_the_bound),
                                     cmocka_unit_test(verify_finds_one_wrong_number),
                                     cmocka_unit_test(float64_runs_in_double)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
