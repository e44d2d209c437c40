/* Summaries: the largest weight is found; ties list the lowest key first; sinks have their
 * share; empty rows and NaN follow the header; the same bits for any threads, slice and task
 * order; unusual sizes and layouts; invalid calls are rejected and write nothing. */
#include "summary_call.h"

#include "select.h"

static char alone[OUTPUTS][SPACE]; /* what a call is compared with */

/* ---- Small calls whose answer is known ------------------------------------------------ */

/* One head, float32; q and k filled by the caller after it. */
static void small(struct call *c, int64_t l, int64_t s, int64_t k) {
  shape(c, 1, 1, 1, l, s, 4, k);
  inputs(c, ATTN_F32, 1);
  point(c, space, 0);
}

static void the_largest_weight_is_found(void **state) {
  (void)state;
  for (int64_t l = 1; l < 5000; l = l * 4 + 3) {
    struct call c;
    int64_t s = 200, needle = below(s);
    small(&c, l, s, 2);
    for (int64_t n = 0; n < l * 4; n++) set(&c.tq, n, 5);
    for (int64_t n = 0; n < s * 4; n++) set(&c.tk, n, n / 4 == needle ? 3 : 0.01);
    run(&c);
    for (int64_t i = 0; i < l; i++) {
      assert_int_equal(key_of(&c, 0, 0, i, 0), needle);
      assert_true(real_of(&c, ENTROPY, 0, 0, i, 0) < 1e-4);
      assert_true(fabs(real_of(&c, LOGIT, 0, 0, i, 0) - 30) < 1e-4);
    }
    for (int64_t j = 0; j < s; j++)
      assert_true(fabs(real_of(&c, SUMS, 0, 0, j, 0) - (j == needle ? (double)l : 0)) <
                  1e-6 * (double)l);
    release(&c);
  }
}

/* Equal keys, in a causal window with holes: the lowest that are seen, and ln n. */
static void ties_list_the_lowest_key_first(void **state) {
  (void)state;
  for (int64_t k = 1; k < 60; k += 7) {
    struct call c;
    char allowed[40];
    small(&c, 40, 40, k);
    for (int64_t n = 0; n < 40 * 4; n++) set(&c.tq, n, 1), set(&c.tk, n, 0.25);
    for (int j = 0; j < 40; j++) allowed[j] = j % 3 != 1;
    c.mask = attn_tensor_dense(ATTN_BOOL, allowed, 1, 1, 1, 40);
    c.desc.mask = &c.mask, c.desc.flags = ATTN_SDPA_CAUSAL | ATTN_SDPA_WINDOW;
    c.desc.window_left = 20, c.desc.window_right = -1;
    run(&c);
    for (int64_t i = 0; i < 40; i++) {
      int64_t n = 0, seen = 0;
      for (int64_t j = i < 20 ? 0 : i - 20; j <= i; j++) seen += allowed[j];
      for (int64_t j = i < 20 ? 0 : i - 20; j <= i; j++)
        if (allowed[j] && n < k) assert_int_equal(key_of(&c, 0, 0, i, n++), j);
      assert_int_equal(n, seen < k ? seen : k);
      for (; n < k; n++) assert_int_equal(key_of(&c, 0, 0, i, n), -1);
      assert_true(fabs(real_of(&c, ENTROPY, 0, 0, i, 0) - log((double)seen)) < 1e-14);
    }
    release(&c);
  }
}

/* One key has entropy 0; with a sink of equal weight ln 2; a sink far above all scores takes all
 * weight, and the largest logit is still exact. */
static void sinks_have_their_share(void **state) {
  (void)state;
  for (int n = 0; n < 4; n++) {
    struct call c;
    small(&c, 3, 1, 1);
    for (int e = 0; e < 12; e++) set(&c.tq, e, 1);
    for (int e = 0; e < 4; e++) set(&c.tk, e, 2); /* a logit of 4 */
    c.logits[0] = (float[]){-INFINITY, 4, 3000, -3000}[n];
    c.sinks = (attn_tensor){c.logits, ATTN_F32, 1, {1}, {1}}, c.desc.sinks = &c.sinks;
    run(&c);
    double share = n == 1 ? 0.5 : n == 2 ? 0 : 1;
    assert_true(fabs(real_of(&c, LOGIT, 0, 0, 2, 0) - 4) < 1e-6);
    assert_true(fabs(real_of(&c, ENTROPY, 0, 0, 2, 0) - (n == 1 ? log(2.0) : 0)) < 1e-6);
    assert_true(fabs(real_of(&c, TOP_WEIGHTS, 0, 0, 2, 0) - share) < 1e-6);
    assert_true(fabs(real_of(&c, SUMS, 0, 0, 0, 0) - 3 * share) < 3e-6);
    assert_int_equal(key_of(&c, 0, 0, 2, 0), 0);
    release(&c);
  }
}

/* ---- Rows that see nothing, NaN, overflow ----------------------------------------------- */

static void empty_rows(void **state) {
  (void)state;
  for (int32_t empty = ATTN_EMPTY_ZERO; empty <= ATTN_EMPTY_ERROR; empty++) {
    struct call c;
    attn_error err;
    small(&c, 3, 8, 10);
    /* Row 0 sees none, row 1 key 0, row 2 keys 0 and 1. */
    c.desc.flags = ATTN_SDPA_CAUSAL | ATTN_SDPA_OFFSET, c.desc.align = ATTN_ALIGN_OFFSET;
    c.desc.offset = -1, c.desc.empty_row = empty;
    attn_status status = attn_sdpa_summarize(&c.desc, &c.tq, &c.tk, &c.summary, &err);
    assert_int_equal(status, empty == ATTN_EMPTY_ERROR ? ATTN_ERR_EMPTY_ROW : ATTN_OK);
    for (size_t n = 0; n < sizeof space && status; n++) assert_true(((char *)space)[n] == CANARY);
    double sum = real_of(&c, SUMS, 0, 0, 7, 0), weight = real_of(&c, TOP_WEIGHTS, 0, 0, 0, 7);
    double entropy = real_of(&c, ENTROPY, 0, 0, 0, 0), logit = real_of(&c, LOGIT, 0, 0, 0, 0);
    if (empty == ATTN_EMPTY_ZERO) {
      assert_true(sum == 0 && weight == 0 && entropy == 0 && logit == -(double)INFINITY);
      assert_int_equal(key_of(&c, 0, 0, 0, 0), -1);
    } else if (empty == ATTN_EMPTY_MEAN) {
      assert_true(sum == 0.125 && weight == 0.125 && logit == -(double)INFINITY);
      assert_true(fabs(entropy - log(8.0)) < 1e-15);
      for (int n = 0; n < 10; n++) assert_int_equal(key_of(&c, 0, 0, 0, n), n < 8 ? n : -1);
    } else if (empty == ATTN_EMPTY_NAN) {
      assert_true(sum != sum && weight != weight && entropy != entropy && logit != logit);
      for (int n = 0; n < 10; n++) assert_int_equal(key_of(&c, 0, 0, 0, n), n < 8 ? n : -1);
    }
    if (!status) assert_int_equal(key_of(&c, 0, 0, 2, 2), -1);
    release(&c);
  }
}

/* NaN in a key that no row sees changes no bit; in one that rows from 5 on see, no other row.
 * NaN in another query changes none either. Column sums are NaN for the keys that such rows see. */
static void nan_reaches_only_rows_that_see_it(void **state) {
  (void)state;
  for (int n = 0; n < 6; n++) {
    struct call c;
    attn_dtype dtype = n % 2 ? ATTN_F64 : ATTN_F32;
    shape(&c, 1, 1, 1, 8, 9, 4, 4);
    inputs(&c, dtype, 1);
    c.desc.flags = ATTN_SDPA_CAUSAL;
    static char clean[OUTPUTS][SPACE];
    point(&c, clean, 0);
    run(&c);
    point(&c, space, 0);
    if (n / 2 == 0) set(&c.tk, 8 * 4 + 1, (double)NAN);
    if (n / 2 == 1) set(&c.tk, 5 * 4 + 1, (double)NAN);
    if (n / 2 == 2) set(&c.tq, 5 * 4 + 1, (double)NAN);
    run(&c);
    if (n / 2 == 0) assert_memory_equal(space, clean, sizeof space);
    for (int64_t i = 0; i < 8 && n / 2; i++) {
      int nan = n / 2 == 1 ? i >= 5 : i == 5;
      double *entropy = (double *)(void *)space[ENTROPY], *logit = (double *)(void *)space[LOGIT];
      assert_int_equal(entropy[i] != entropy[i], nan);
      assert_int_equal(logit[i] != logit[i], nan);
      for (int m = 0; m < 4 && nan; m++) {
        double w = real_of(&c, TOP_WEIGHTS, 0, 0, i, m);
        assert_int_equal(key_of(&c, 0, 0, i, m), m);
        assert_true(w != w);
      }
      if (!nan) assert_memory_equal(space[TOP_WEIGHTS] + i * 32, clean[TOP_WEIGHTS] + i * 32, 32);
    }
    for (int64_t j = 0; j < 9 && n / 2; j++) {
      double sum = real_of(&c, SUMS, 0, 0, j, 0);
      assert_int_equal(sum != sum, j < (n / 2 == 1 ? 8 : 6));
    }
    release(&c);
  }
}

/* With a sink, the share of the keys of such a row is NaN: hidden keys are not part of it. */
static void nan_beside_a_sink_reaches_no_hidden_key(void **state) {
  (void)state;
  struct call c;
  char allowed[] = {1, 0, 1};
  small(&c, 2, 3, 1);
  for (int64_t n = 0; n < 12; n++) set(&c.tk, n, 1);
  for (int64_t n = 0; n < 8; n++) set(&c.tq, n, n == 0 ? (double)NAN : 1);
  c.mask = attn_tensor_dense(ATTN_BOOL, allowed, 1, 1, 1, 3), c.desc.mask = &c.mask;
  c.logits[0] = 4;
  c.sinks = (attn_tensor){c.logits, ATTN_F32, 1, {1}, {1}}, c.desc.sinks = &c.sinks;
  run(&c);
  for (int64_t j = 0; j < 3; j++) {
    double sum = real_of(&c, SUMS, 0, 0, j, 0);
    assert_true(allowed[j] ? sum != sum : sum == 0);
  }
  release(&c);
}

/* All scores overflow to -inf: 0 / 0, except with a sink. */
static void scores_that_are_all_minus_infinity(void **state) {
  (void)state;
  for (int n = 0; n < 4; n++) {
    struct call c;
    shape(&c, 1, 1, 1, 1, 3, 4, 1);
    inputs(&c, n % 2 ? ATTN_F64 : ATTN_F32, 1);
    point(&c, space, 0);
    for (int e = 0; e < 4; e++) set(&c.tq, e, n % 2 ? 1e300 : 1e30);
    for (int e = 0; e < 12; e++) set(&c.tk, e, n % 2 ? -1e300 : -1e30);
    c.sinks = (attn_tensor){c.logits, ATTN_F32, 1, {1}, {1}};
    if (n / 2) c.desc.sinks = &c.sinks;
    run(&c);
    double w = real_of(&c, TOP_WEIGHTS, 0, 0, 0, 0), h = real_of(&c, ENTROPY, 0, 0, 0, 0);
    assert_true(n / 2 ? w == 0 && h == 0 : w != w && h != h);
    assert_int_equal(key_of(&c, 0, 0, 0, 0), 0);
    assert_true(real_of(&c, LOGIT, 0, 0, 0, 0) == -(double)INFINITY);
    release(&c);
  }
}

/* ---- The same bits ----------------------------------------------------------------------- */

static void backwards(void *context, int64_t count,
                      void (*body)(void *argument, int64_t index, int32_t worker), void *argument) {
  (void)context;
  for (int64_t n = count - 1; n >= 0; n--) body(argument, n, (int32_t)(n % 3));
}

/* One stripe of many heads, and stripes of more than one block of a few. */
static void the_same_bits(void **state) {
  (void)state;
  const char *kernel;
  for (int n = 0; (kernel = select_kernel(n)); n++)
    for (int tall = 0; tall < 2; tall++) {
      struct call c;
      const attn_executor host = {NULL, 3, backwards};
      shape(&c, 2, 2, 3, tall ? 2200 : 21, 130, 5, 2);
      inputs(&c, ATTN_F32, 6);
      c.desc.flags = ATTN_SDPA_CAUSAL, c.desc.align = ATTN_ALIGN_BOTTOM_RIGHT;
      if (tall) c.desc.align = ATTN_ALIGN_TOP_LEFT;
      c.desc.threads = 1;
      point(&c, alone, 0);
      run(&c);
      for (int threads = 0; threads <= 5; threads++) {
        char text[8];
        snprintf(text, sizeof text, "%d", threads ? threads : 7);
        setenv("ATTN_THREADS", text, 1);
        c.desc.threads = threads == 5 ? 2 : 0;
        c.desc.executor = threads == 4 ? &host : NULL;
        point(&c, space, 0);
        run(&c);
        assert_memory_equal(space, alone, sizeof space);
      }
      unsetenv("ATTN_THREADS");
      /* Sequence 1, key/value head 1 and its three query heads, by themselves. */
      struct call slice = c;
      slice.b = slice.h = 1, slice.hq = 3, slice.desc.executor = NULL;
      slice.tq.shape[0] = slice.tk.shape[0] = slice.tk.shape[1] = 1, slice.tq.shape[1] = 3;
      slice.tq.data = (float *)c.tq.data + 9 * c.l * c.e;
      slice.tk.data = (float *)c.tk.data + 3 * c.s * c.e;
      point(&slice, space, 0);
      run(&slice);
      assert_memory_equal(space[SUMS], alone[SUMS] + 9 * c.s * 8, (size_t)(3 * c.s * 8));
      assert_memory_equal(space[ENTROPY], alone[ENTROPY] + 9 * c.l * 8, (size_t)(3 * c.l * 8));
      assert_memory_equal(space[TOP_KEYS], alone[TOP_KEYS] + 18 * c.l * 8, (size_t)(6 * c.l * 8));
      release(&c);
    }
  select_default();
}

/* Each result is independent of the other requested ones. */
static void each_alone(void **state) {
  (void)state;
  struct call c;
  shape(&c, 1, 1, 2, 150, 100, 5, 3);
  inputs(&c, ATTN_F32, 3);
  point(&c, alone, 0);
  run(&c);
  for (int n = 0; n < OUTPUTS; n++) {
    point(&c, space, 0);
    attn_sdpa_summary only = {sizeof only, NULL, NULL, NULL, NULL, NULL};
    const attn_tensor **wanted[] = {&only.column_sums, &only.top_keys, &only.top_weights,
                                    &only.entropy, &only.max_logit};
    *wanted[n] = &c.out[n];
    c.summary = only;
    run(&c);
    assert_memory_equal(space[n], alone[n], SPACE);
    memset(space[n], CANARY, SPACE);
    for (size_t m = 0; m < sizeof space; m++) assert_true(((char *)space)[m] == CANARY);
  }
  release(&c);
}

/* ---- Unusual sizes, rejected calls, faults ---- */

static void unusual_sizes(void **state) {
  (void)state;
  for (int n = 0; n < 6; n++) {
    struct call c;
    shape(&c, n == 4 ? 0 : 2, 2, 2, n == 0 ? 0 : 3, n == 1 ? 0 : 5, n == 2 ? 0 : 4, n == 3 ? 0 : 9);
    if (n == 5) c.h = 0, c.hq = 0;
    inputs(&c, ATTN_F32, 1);
    point(&c, space, 0);
    c.desc.empty_row = ATTN_EMPTY_MEAN;
    run(&c);
    only_elements_were_written(&c);
    for (int64_t m = 0; m < c.b * c.hq * c.s; m++) /* of no queries; else 3 rows share 5 keys */
      if (n == 0) assert_true(at(&c.out[SUMS], m) == 0);
    for (int64_t m = 0; m < c.b * c.hq * c.l; m++) {
      double h = at(&c.out[ENTROPY], m), logit = at(&c.out[LOGIT], m);
      if (n == 1) assert_true(h == 0 && logit == -(double)INFINITY);
      if (n == 2) assert_true(fabs(h - log(5.0)) < 1e-15 && fabs(logit) < 1e-6);
    }
    for (int64_t m = 0; n == 1 && m < c.b * c.hq * c.l * c.k; m++)
      assert_true(((int64_t *)(void *)space[TOP_KEYS])[m] == -1);
    release(&c);
  }
}

static attn_tensor less(attn_tensor t, int dropped) {
  t.rank -= dropped;
  for (int n = 0; n < t.rank; n++)
    t.shape[n] = t.shape[n + dropped], t.strides[n] = t.strides[n + dropped];
  return t;
}

/* q and k of fewer dimensions, and the results without the same ones. */
static void fewer_dimensions(void **state) {
  (void)state;
  for (int dropped = 1; dropped <= 2; dropped++) {
    struct call c;
    shape(&c, 1, dropped == 1 ? 2 : 1, 1, 6, 7, 4, 3);
    inputs(&c, ATTN_F32, 1);
    point(&c, alone, 0);
    run(&c);
    point(&c, space, 0);
    c.tq = less(c.tq, dropped), c.tk = less(c.tk, dropped);
    for (int n = 0; n < OUTPUTS; n++) c.out[n] = less(c.out[n], dropped);
    run(&c);
    assert_memory_equal(space, alone, sizeof space);
    release(&c);
  }
}

/* Reversed keys, a query repeated by stride 0, reversed results: equal to dense copies. */
static void strides_of_any_sign(void **state) {
  (void)state;
  struct call c, dense;
  small(&c, 6, 7, 3);
  small(&dense, 6, 7, 3);
  for (int64_t n = 0; n < 24; n++) set(&dense.tq, n, at(&c.tq, n % 4));
  for (int64_t n = 0; n < 28; n++) set(&dense.tk, n, at(&c.tk, 27 - n));
  point(&dense, alone, 0);
  run(&dense);
  c.tq.strides[2] = 0;
  c.tk.data = (float *)c.tk.data + 27, c.tk.strides[2] = -4, c.tk.strides[3] = -1;
  for (int n = 0; n < OUTPUTS; n++) {
    attn_tensor *t = &c.out[n];
    int64_t reach = t->shape[t->rank - 2] * t->shape[t->rank - 1] - 1; /* one head */
    t->data = (char *)t->data + reach * (int64_t)attn_dtype_size(t->dtype);
    t->strides[t->rank - 2] *= -1, t->strides[t->rank - 1] *= -1;
  }
  run(&c);
  for (int64_t i = 0; i < 6; i++)
    for (int64_t n = 0; n < 3; n++) {
      assert_int_equal(key_of(&c, 0, 0, i, n), key_of(&dense, 0, 0, i, n));
      for (int out = TOP_WEIGHTS; out < OUTPUTS; out++)
        assert_true(real_of(&c, out, 0, 0, i, n) == real_of(&dense, out, 0, 0, i, n));
    }
  for (int64_t j = 0; j < 7; j++)
    assert_true(real_of(&c, SUMS, 0, 0, j, 0) == real_of(&dense, SUMS, 0, 0, j, 0));
  release(&c), release(&dense);
}

static void refused(struct call *c, attn_status status, const char *argument) {
  attn_error err;
  memset(&err, 0, sizeof err);
  attn_status got = attn_sdpa_summarize(&c->desc, &c->tq, &c->tk, &c->summary, &err);
  if (got != status || strcmp(err.argument, argument) || !err.message[0])
    fail_msg("expected %s for %s, got %s for %s: %s", attn_status_name(status), argument,
             attn_status_name(got), err.argument, err.message);
  for (size_t n = 0; n < sizeof space; n++) assert_true(((char *)space)[n] == CANARY);
  release(c);
  small(c, 5, 7, 3);
}

static void invalid_calls_are_rejected(void **state) {
  (void)state;
  struct call c;
  attn_error err;
  small(&c, 5, 7, 3);
  c.summary.struct_size = 8, refused(&c, ATTN_ERR_ARGUMENT, "summary");
  c.tq.rank = 5, refused(&c, ATTN_ERR_SHAPE, "q");
  c.tk.shape[3] = 3, refused(&c, ATTN_ERR_SHAPE, "k");
  c.tk.rank = 0, refused(&c, ATTN_ERR_SHAPE, "k");
  c.tk.rank = 99, refused(&c, ATTN_ERR_SHAPE, "k");
  c.tk.shape[2] = -1, refused(&c, ATTN_ERR_SHAPE, "k");
  c.tk.dtype = ATTN_I32, refused(&c, ATTN_ERR_TYPE, "k");
  c.out[SUMS].shape[2] = 6, refused(&c, ATTN_ERR_SHAPE, "column_sums");
  c.out[SUMS].rank = 2, refused(&c, ATTN_ERR_SHAPE, "column_sums");
  c.out[SUMS].dtype = ATTN_F16, refused(&c, ATTN_ERR_TYPE, "column_sums");
  c.out[TOP_KEYS].dtype = ATTN_F64, refused(&c, ATTN_ERR_TYPE, "top_keys");
  c.out[TOP_KEYS].shape[3] = -3, refused(&c, ATTN_ERR_SHAPE, "top_keys");
  c.out[TOP_KEYS].rank = 3, refused(&c, ATTN_ERR_SHAPE, "top_keys");
  c.out[TOP_KEYS].rank = -1, refused(&c, ATTN_ERR_SHAPE, "top_keys");
  c.out[TOP_WEIGHTS].shape[3] = 4, refused(&c, ATTN_ERR_SHAPE, "top_weights");
  c.out[TOP_WEIGHTS].dtype = ATTN_I64, refused(&c, ATTN_ERR_TYPE, "top_weights");
  c.out[ENTROPY].shape[2] = 4, refused(&c, ATTN_ERR_SHAPE, "entropy");
  c.out[LOGIT].dtype = ATTN_BF16, refused(&c, ATTN_ERR_TYPE, "max_logit");
  c.out[LOGIT].data = NULL, refused(&c, ATTN_ERR_ARGUMENT, "max_logit");
  c.out[ENTROPY].data = c.tk.data, refused(&c, ATTN_ERR_ARGUMENT, "entropy");
  c.out[ENTROPY].data = space[LOGIT], refused(&c, ATTN_ERR_ARGUMENT, "max_logit");
  c.desc.lse = &c.out[ENTROPY], c.out[ENTROPY].dtype = ATTN_F32,
  refused(&c, ATTN_ERR_ARGUMENT, "lse");
  c.desc.flags = 1u << 30, refused(&c, ATTN_ERR_ARGUMENT, "flags");
  c.desc.threads = -1, refused(&c, ATTN_ERR_ARGUMENT, "threads");
  assert_int_equal(attn_sdpa_summarize(&c.desc, &c.tq, &c.tk, NULL, &err), ATTN_ERR_ARGUMENT);
  assert_int_equal(attn_sdpa_summarize(&c.desc, NULL, &c.tk, &c.summary, &err), ATTN_ERR_ARGUMENT);
  assert_int_equal(attn_sdpa_summarize(&c.desc, &c.tq, NULL, &c.summary, &err), ATTN_ERR_ARGUMENT);
  assert_string_equal(err.argument, "k");
  attn_sdpa_summary none = {sizeof none, NULL, NULL, NULL, NULL, NULL};
  assert_int_equal(attn_sdpa_summarize(NULL, &c.tq, &c.tk, &none, NULL), ATTN_OK);
  release(&c);
}

struct faulty {
  int calls, fail_at, out;
  size_t asked;
};

static void *allocate(void *context, size_t alignment, size_t bytes) {
  struct faulty *f = context;
  f->asked = bytes;
  if (++f->calls == f->fail_at) return NULL;
  f->out++;
  void *memory = aligned_alloc(alignment, bytes);
  memset(memory, 0xFF, bytes); /* whatever it holds: NaN */
  return memory;
}

static void give_back(void *context, void *memory) {
  ((struct faulty *)context)->out--;
  free(memory);
}

/* With strides of 0 a small buffer can have any number of keys: sizes must not overflow. */
static void huge_sizes_are_rejected(void **state) {
  (void)state;
  for (int n = 0; n < 6; n++) {
    struct call c;
    struct faulty f = {0, 1, 0, 0};
    const attn_allocator host = {&f, allocate, give_back};
    attn_error err;
    small(&c, 1, 1, 1);
    c.desc.allocator = &host;
    int64_t many = (int64_t)1 << (n / 2 == 0 ? 56 : n / 2 == 1 ? 50 : 60);
    if (n % 2) c.tk.dtype = c.tq.dtype = ATTN_F64, c.tk.shape[3] = c.tq.shape[3] = 2;
    c.tk.shape[2] = many, c.tk.strides[2] = 0;
    c.summary.column_sums = NULL;
    c.out[TOP_KEYS].shape[3] = c.out[TOP_WEIGHTS].shape[3] = many;
    c.out[TOP_KEYS].strides[3] = c.out[TOP_WEIGHTS].strides[3] = 0;
    attn_status status = attn_sdpa_summarize(&c.desc, &c.tq, &c.tk, &c.summary, &err);
    assert_true(status == ATTN_ERR_MEMORY || status == ATTN_ERR_SHAPE);
    assert_true(f.calls == 0 || f.asked >= (size_t)many * 24);
    c.out[TOP_KEYS].dtype = ATTN_I32;
    if (n / 2 == 1)
      assert_int_equal(attn_sdpa_summarize(&c.desc, &c.tq, &c.tk, &c.summary, &err), ATTN_ERR_TYPE);
    release(&c);
  }
}

static void allocation_failures_and_dirty_memory(void **state) {
  (void)state;
  for (int n = 0; n < 2; n++) {
    struct call c;
    struct faulty f = {0, 1, 0, 0};
    const attn_allocator host = {&f, allocate, give_back};
    shape(&c, 1, 2, 2, 150, 100, 5, 3);
    inputs(&c, n ? ATTN_F64 : ATTN_F32, 1);
    point(&c, alone, 0);
    run(&c);
    point(&c, space, 0);
    c.desc.allocator = &host;
    assert_int_equal(attn_sdpa_summarize(&c.desc, &c.tq, &c.tk, &c.summary, NULL), ATTN_ERR_MEMORY);
    for (size_t m = 0; m < sizeof space; m++) assert_true(((char *)space)[m] == CANARY);
    run(&c);
    assert_memory_equal(space, alone, sizeof space);
    assert_true(f.out == 0 && f.calls == 2);
    release(&c);
  }
}

struct watched {
  int64_t most, total, stop_at;
};

static int watch(void *context, int64_t done, int64_t total) {
  struct watched *w = context;
  if (done > w->most) w->most = done;
  w->total = total;
  return w->stop_at && done >= w->stop_at;
}

static void progress_is_reported_and_can_stop_a_call(void **state) {
  (void)state;
  for (int64_t stop = 0; stop <= 200; stop += 100) {
    struct call c;
    struct watched w = {0, 0, stop};
    shape(&c, 2, 2, 2, 150, 100, 5, 3);
    inputs(&c, ATTN_F32, 1);
    point(&c, space, 0);
    c.desc.progress = watch, c.desc.progress_context = &w, c.desc.threads = 1;
    assert_int_equal(attn_sdpa_summarize(&c.desc, &c.tq, &c.tk, &c.summary, NULL),
                     stop ? ATTN_ERR_INTERRUPTED : ATTN_OK);
    assert_int_equal(w.total, 1200);
    assert_true(stop ? w.most >= stop && w.most < stop + 128 : w.most == 1200);
    release(&c);
  }
}

int main(int argc, char **argv) {
  random_begin(argc, argv);
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_largest_weight_is_found),
                                     cmocka_unit_test(ties_list_the_lowest_key_first),
                                     cmocka_unit_test(sinks_have_their_share),
                                     cmocka_unit_test(empty_rows),
                                     cmocka_unit_test(nan_reaches_only_rows_that_see_it),
                                     cmocka_unit_test(nan_beside_a_sink_reaches_no_hidden_key),
                                     cmocka_unit_test(scores_that_are_all_minus_infinity),
                                     cmocka_unit_test(the_same_bits),
                                     cmocka_unit_test(each_alone),
                                     cmocka_unit_test(unusual_sizes),
                                     cmocka_unit_test(fewer_dimensions),
                                     cmocka_unit_test(strides_of_any_sign),
                                     cmocka_unit_test(invalid_calls_are_rejected),
                                     cmocka_unit_test(huge_sizes_are_rejected),
                                     cmocka_unit_test(allocation_failures_and_dirty_memory),
                                     cmocka_unit_test(progress_is_reported_and_can_stop_a_call)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
