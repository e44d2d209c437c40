/* Summaries: every combination of features agrees with the reference weights within the
 * documented bound, on every kernel; the listed keys are those of the forward's weights. */
#include "summary_call.h"

#include "ref.h"
#include "select.h"

enum { KEYS = 512 };

static char where[96]; /* for messages */

static int64_t pick(const int64_t *from, int n) { return from[below(n)]; }
#define PICK(...) \
  pick((const int64_t[]){__VA_ARGS__}, (int)(sizeof(int64_t[]){__VA_ARGS__} / sizeof(int64_t)))

/* ---- Random calls --------------------------------------------------------------- */

static void draw_mask(struct call *c) {
  static const attn_dtype types[] = {ATTN_BOOL, ATTN_F32, ATTN_F64, ATTN_F16};
  const int64_t full[4] = {c->b, c->hq, c->l, c->s};
  int64_t n[4], hidden = 1 + below(5);
  for (int d = 0; d < 4; d++) n[d] = chance(3) ? 1 : full[d];
  attn_dtype dtype = types[below(4)];
  c->mask = make(&c->memory[2], dtype, n[0], n[1], n[2], n[3], 1);
  for (int64_t m = 0; m < n[0] * n[1] * n[2] * n[3]; m++) {
    if (dtype == ATTN_BOOL)
      set(&c->mask, m, below(6) >= hidden);
    else if (below(6) < hidden)
      set(&c->mask, m, -(double)INFINITY);
    else if (chance(300))
      set(&c->mask, m, -1e4); /* visible, and its weight is 0 */
  }
  c->desc.mask = &c->mask;
}

static void draw_knobs(struct call *c) {
  attn_sdpa *d = &c->desc;
  d->align = (int32_t)below(3), d->empty_row = (int32_t)below(3);
  if (d->align == ATTN_ALIGN_OFFSET) d->flags |= ATTN_SDPA_OFFSET, d->offset = below(200) - 80;
  if (chance(2)) d->flags |= ATTN_SDPA_CAUSAL;
  if (chance(3))
    d->flags |= ATTN_SDPA_WINDOW, d->window_left = below(90) - 1, d->window_right = below(40) - 1;
  if (chance(4)) d->flags |= ATTN_SDPA_SCALE, d->scale = (double)uniform();
  if (chance(4)) d->flags |= ATTN_SDPA_SOFTCAP, d->softcap = 0.5 + 5 * fabs((double)uniform());
  if (chance(4)) d->flags |= ATTN_SDPA_DROPOUT, d->dropout = 0.5, d->seed = 7; /* no part in it */
  for (int n = 0; n < 16; n++) {
    c->slopes[n] = 0.2f * uniform();
    c->logits[n] = chance(4) ? -INFINITY : (chance(4) ? 300 : 8) * uniform();
  }
  c->alibi = (attn_tensor){c->slopes, ATTN_F32, 1, {c->hq}, {1}};
  c->sinks = (attn_tensor){c->logits, ATTN_F32, 1, {c->hq}, {1}};
  for (int64_t b = 0; b < c->b; b++) c->length[b] = chance(5) ? 0 : below(c->s + 1);
  c->lengths = (attn_tensor){c->length, ATTN_I64, 1, {c->b}, {1}};
  for (int n = 0; n < 16 * 64; n++) c->vectors[n] = uniform();
  c->additive = (attn_tensor){c->vectors, ATTN_F32, 2, {c->hq, c->e}, {chance(2) ? 0 : c->e, 1}};
  if (chance(4)) d->additive = &c->additive;
  if (chance(4)) d->alibi = &c->alibi;
  if (chance(3)) d->sinks = &c->sinks;
  if (chance(3)) d->key_lengths = &c->lengths;
}

static void draw(struct call *c, attn_dtype dtype) {
  shape(c, 1 + below(2), 1 + below(2), PICK(1, 1, 2, 3, 8),
        PICK(1, 2, 7, 20, 31, 33, 63, 64, 65, 129), PICK(1, 2, 5, 12, 95, 96, 97, 193, 300),
        PICK(1, 3, 8, 33, 64), PICK(1, 2, 3, 8, 40));
  while (c->b * c->hq * c->l * c->k * 16 >= SPACE) c->k /= 2;
  inputs(c, dtype, chance(4) ? 12 : 1);
  draw_knobs(c);
  if (chance(2)) draw_mask(c);
}

/* ---- Against the oracle ----------------------------------------------------------- */

/* One row as it must be: p with the sink's share taken, and what each result may be off by. */
struct expected {
  struct attn_ref_row row; /* without its sink */
  double scores[KEYS], weights[KEYS], budget[KEYS], p[KEYS], bound[KEYS];
  double entropy, entropy_bound, logit, logit_bound;
  int listed[KEYS];
};

static struct expected expected;

static double surprise(double p) { return p > 0 ? -p * log(p) : 0; }

static void expect_empty(const struct call *c, struct expected *x) {
  int nan = c->desc.empty_row == ATTN_EMPTY_NAN, mean = c->desc.empty_row == ATTN_EMPTY_MEAN;
  double p = nan ? (double)NAN : mean ? 1 / (double)c->s : 0;
  for (int64_t j = 0; j < c->s; j++) {
    x->p[j] = p, x->bound[j] = 0x1p-52;
    x->scores[j] = nan || mean ? 0 : -(double)INFINITY;
  }
  x->entropy = nan ? p : mean ? log((double)c->s) : 0, x->entropy_bound = 0x1p-43;
  x->logit = nan ? p : -(double)INFINITY;
}

static void expect(const struct call *c, int64_t b, int64_t h, int64_t i) {
  struct expected *x = &expected;
  attn_sdpa desc = c->desc;
  attn_tensor none = c->tk;
  double u = c->tq.dtype == ATTN_F64 ? 0x1p-53 : 0x1p-24;
  double sink = desc.sinks ? (double)c->logits[h] : -(double)INFINITY;
  desc.sinks = NULL, desc.flags &= ~(uint64_t)ATTN_SDPA_DROPOUT, none.shape[3] = 0;
  x->row = (struct attn_ref_row){
      .b = b, .h = h, .i = i, .scores = x->scores, .weights = x->weights, .budget = x->budget};
  attn_ref_sdpa_row(&desc, &c->tq, &c->tk, &none, &x->row);
  if (!x->row.visible) {
    expect_empty(c, x);
    return;
  }
  double share = 1 / (1 + exp(sink - x->row.lse)), taken = 1 / (1 + exp(x->row.lse - sink));
  x->entropy = surprise(taken), x->logit = -(double)INFINITY;
  for (int64_t j = 0; j < c->s; j++) {
    x->p[j] = x->weights[j] * share;
    x->bound[j] = attn_ref_bound_shared(&x->row, u, sink, j) + 0x1p-149;
    x->entropy += surprise(x->p[j]);
    if (x->scores[j] > x->logit) x->logit = x->scores[j];
  }
  x->entropy_bound = attn_ref_bound_entropy(&x->row, u, sink);
  x->logit_bound = attn_ref_bound_logit(&x->row, u);
}

static double worst; /* of what is not rounded to float32 */

static void near(const struct call *c, int out, double got, double exact, double bound,
                 const char *name) {
  if (exact != exact || isinf(exact)) {
    if (exact != exact ? got == got : got != exact)
      fail_msg("%s: %s: %g, not %g", where, name, got, exact);
    return;
  }
  int rounded = c->out[out].dtype == ATTN_F32;
  if (rounded) bound += 0x1p-24 * fabs(exact) + 0x1p-149;
  if (!(fabs(got - exact) <= bound))
    fail_msg("%s: %s: %.12g, not %.12g, bound %.3g", where, name, got, exact, bound);
  if (!rounded && fabs(got - exact) > worst * bound) worst = fabs(got - exact) / bound;
}

/* Distinct visible keys in order; no key that certainly has a larger weight is missing. */
static void check_list(const struct call *c, int64_t b, int64_t h, int64_t i) {
  struct expected *x = &expected;
  int64_t seen = 0, n = 0;
  memset(x->listed, 0, sizeof x->listed);
  for (int64_t j = 0; j < c->s; j++) seen += x->scores[j] != -(double)INFINITY;
  for (; n < c->k && n < seen; n++) {
    int64_t j = key_of(c, b, h, i, n), before = n ? key_of(c, b, h, i, n - 1) : -1;
    double w = real_of(c, TOP_WEIGHTS, b, h, i, n);
    if (j < 0 || j >= c->s || x->listed[j]++ || x->scores[j] == -(double)INFINITY)
      fail_msg("%s: key %d of row %d: %d is hidden or listed twice", where, (int)n, (int)i, (int)j);
    near(c, TOP_WEIGHTS, w, x->p[j], x->bound[j], "a weight");
    if (n && w == w) {
      double earlier = real_of(c, TOP_WEIGHTS, b, h, i, n - 1);
      assert_true(earlier > w || (earlier == w && (before < j || c->desc.sinks)));
    }
  }
  double least = n ? x->p[key_of(c, b, h, i, n - 1)] : 0,
         its = n ? x->bound[key_of(c, b, h, i, n - 1)] : 0;
  for (int64_t j = 0; j < c->s && n == c->k; j++)
    if (!x->listed[j] && x->p[j] - x->bound[j] > least + its)
      fail_msg("%s: key %d left out", where, (int)j);
  for (; n < c->k; n++) {
    assert_int_equal(key_of(c, b, h, i, n), -1);
    assert_true(real_of(c, TOP_WEIGHTS, b, h, i, n) == 0);
  }
}

static void check_head(const struct call *c, int64_t b, int64_t h) {
  static double sums[KEYS], bounds[KEYS];
  memset(sums, 0, sizeof sums), memset(bounds, 0, sizeof bounds);
  for (int64_t i = 0; i < c->l; i++) {
    expect(c, b, h, i);
    check_list(c, b, h, i);
    double entropy = real_of(c, ENTROPY, b, h, i, 0);
    if (expected.entropy == expected.entropy) assert_true(entropy >= 0);
    near(c, ENTROPY, entropy, expected.entropy, expected.entropy_bound, "an entropy");
    near(c, LOGIT, real_of(c, LOGIT, b, h, i, 0), expected.logit, expected.logit_bound, "a logit");
    for (int64_t j = 0; j < c->s; j++) {
      sums[j] += expected.p[j];
      bounds[j] += expected.bound[j] + 0x1p-52 * sums[j];
    }
  }
  for (int64_t j = 0; j < c->s; j++)
    near(c, SUMS, real_of(c, SUMS, b, h, j, 0), sums[j], bounds[j], "a column");
}

static void every_combination(attn_dtype dtype, int rounds) {
  const char *kernel;
  worst = 0;
  for (int round = 0; round < rounds; round++) {
    struct call c;
    uint64_t seed = random_state;
    draw(&c, dtype);
    for (int n = 0; (kernel = select_kernel(n)) && (n == 0 || dtype != ATTN_F64); n++) {
      snprintf(where, sizeof where, "%s, seed %llu", kernel, (unsigned long long)seed);
      point(&c, space, (int)below(2));
      run(&c);
      for (int64_t m = 0; m < c.b * c.hq; m++) check_head(&c, m / c.hq, m % c.hq);
      only_elements_were_written(&c);
    }
    select_default();
    release(&c);
  }
  printf("%s: the worst of %d calls is at %.3f of its bound\n", attn_dtype_name(dtype), rounds,
         worst);
}

static void every_combination_is_within_the_bound(void **state) {
  (void)state;
  every_combination(ATTN_F32, ROUNDS(60));
}

static void every_combination_in_the_other_types(void **state) {
  (void)state;
  every_combination(ATTN_F16, ROUNDS(20));
  every_combination(ATTN_BF16, ROUNDS(20));
  every_combination(ATTN_F64, ROUNDS(20));
}

/* ---- Against the forward's own weights ---------------------------------------------- */

/* The key of the largest weight that is left, the lowest of equals; it is taken out. */
static int64_t take_largest(float *weights, int64_t count) {
  int64_t best = 0;
  for (int64_t j = 1; j < count; j++)
    if (weights[j] > weights[best]) best = j;
  return best;
}

static void compare_row(const struct call *c, int64_t row, float *weights) {
  int64_t b = row / c->l / c->hq, h = row / c->l % c->hq, i = row % c->l;
  for (int64_t n = 0; n < c->k && n < c->s; n++) {
    int64_t j = take_largest(weights, c->s);
    if (weights[j] <= 0) return; /* hidden or flushed: the weights do not show which */
    assert_int_equal(key_of(c, b, h, i, n), j);
    assert_true((float)real_of(c, TOP_WEIGHTS, b, h, i, n) == weights[j]);
    weights[j] = -1;
  }
}

/* Without sinks the float32 weights are those of the forward, bit for bit; so are the sums of a
 * head that is one stripe, in the order of its rows. */
static void listed_keys_are_the_forwards(void **state) {
  (void)state;
  const char *kernel;
  for (int round = 0; round < ROUNDS(60); round++) {
    struct call c;
    draw(&c, ATTN_F32);
    c.desc.sinks = NULL, c.desc.flags &= ~(uint64_t)ATTN_SDPA_DROPOUT;
    if (c.desc.empty_row == ATTN_EMPTY_NAN) c.desc.empty_row = ATTN_EMPTY_ZERO;
    int64_t rows = c.b * c.hq * c.l;
    float *weights = malloc((size_t)(rows * c.s) * 4), *o = malloc((size_t)rows * 4);
    attn_tensor tw = attn_tensor_dense(ATTN_F32, weights, c.b, c.hq, c.l, c.s), one = c.tk;
    attn_tensor to = attn_tensor_dense(ATTN_F32, o, c.b, c.hq, c.l, 1);
    one.shape[3] = 1;
    attn_sdpa with = c.desc;
    with.weights = &tw;
    for (int n = 0; (kernel = select_kernel(n)); n++) {
      point(&c, space, 0);
      run(&c);
      assert_int_equal(attn_sdpa_forward(&with, &c.tq, &c.tk, &one, &to, NULL), ATTN_OK);
      for (int64_t m = 0; m < c.b * c.hq * c.s; m++) {
        double sum = 0, got = at(&c.out[SUMS], m);
        for (int64_t i = 0; i < c.l; i++)
          sum += (double)weights[(m / c.s * c.l + i) * c.s + m % c.s];
        /* An empty row's 1 / S is rounded by the forward alone. */
        double off = c.desc.empty_row == ATTN_EMPTY_MEAN ? 0x1p-23 * sum
                     : c.l > 64                          ? 0x1p-52 * (double)c.l * sum
                                                         : 0;
        assert_true(fabs(got - sum) <= off);
      }
      for (int64_t row = 0; row < rows; row++) compare_row(&c, row, weights + row * c.s);
    }
    select_default();
    free(weights), free(o), release(&c);
  }
}

int main(int argc, char **argv) {
  random_begin(argc, argv);
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_combination_is_within_the_bound),
                                     cmocka_unit_test(every_combination_in_the_other_types),
                                     cmocka_unit_test(listed_keys_are_the_forwards)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
