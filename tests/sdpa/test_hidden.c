/* A hidden pair contributes nothing. Rows and keys of random problems are filled once with zeros
 * and once with NaN, infinities and the largest values: every result that no visible pair connects
 * with them keeps its bits, and results without visible pairs are exactly 0. In all combinations of
 * features, types and kernels: the forward, its weights, all gradients, packed sequences, pages,
 * score functions, summaries. */
#include "hidden_problem.h"
#include "lender.h"
#include "select.h"

/* ---- The entry points ------------------------------------------------------------------- */

static void check_ok(attn_status status, const attn_error *err) {
  if (status) fail_msg("%s", err->message);
}

/* Small views that a descriptor points to. */
struct views {
  attn_tensor lse, mask, d_mask, d_lse, d_sinks, d_additive, d_w, d_u;
  attn_sdpa desc;
};

static void describe(struct hidden_call *t, const struct hidden_problem *c, struct views *v) {
  int flat = c->entry == PACKED;
  memset(v, 0, sizeof *v);
  v->desc = c->desc, v->desc.allocator = &lender;
  v->lse = flat ? packed(t->lse) : t->lse, v->lse.rank = flat ? 2 : 3;
  v->d_lse = flat ? packed(t->d_lse) : t->d_lse, v->d_lse.rank = v->lse.rank;
  v->mask = t->mask, v->d_mask = t->d_mask;
  if (flat && c->has_mask) {
    const int64_t keys = c->b * c->s, shape[4] = {c->hq, c->b * c->l, keys, 1};
    memcpy(v->mask.shape, shape, sizeof shape), memcpy(v->d_mask.shape, shape, sizeof shape);
    v->mask.rank = v->d_mask.rank = 3;
    v->mask.strides[0] = v->d_mask.strides[0] = c->b * c->l * keys;
    v->mask.strides[1] = v->d_mask.strides[1] = keys;
    v->mask.strides[2] = v->d_mask.strides[2] = 1;
  }
  v->d_sinks = (attn_tensor){t->d_sinks.data, t->d_sinks.dtype, 1, {c->hq}, {1}};
  v->d_additive = back(t->d_additive, c->additive_rank == 2 ? 2 : 1);
  v->d_w = back(t->d_w, 2), v->d_u = back(t->d_u, 2);
  v->desc.lse = &v->lse;
  if (c->has_mask) v->desc.mask = &v->mask;
  if (c->has_lengths && c->entry != PAGED) v->desc.key_lengths = &t->lengths;
  if (c->has_slopes) v->desc.alibi = &t->slopes;
  if (c->has_sinks) v->desc.sinks = &t->sinks;
  if (c->additive_rank) v->desc.additive = &t->additive;
}

static attn_sdpa_gradients gradients(struct hidden_call *t, const struct hidden_problem *c,
                                     struct views *v) {
  return (attn_sdpa_gradients){sizeof(attn_sdpa_gradients),
                               &t->d_q,
                               &t->d_k,
                               &t->d_v,
                               is_float_mask(c) ? &v->d_mask : NULL,
                               c->has_sinks ? &v->d_sinks : NULL,
                               &v->d_lse,
                               c->additive_rank ? &v->d_additive : NULL};
}

static void run_dense(struct hidden_call *t, const struct hidden_problem *c) {
  struct views v;
  attn_error err;
  describe(t, c, &v);
  attn_sdpa_gradients g = gradients(t, c, &v);
  check_ok(attn_sdpa_forward(&v.desc, &t->q, &t->k, &t->v, &t->o, &err), &err);
  check_ok(attn_sdpa_backward(&v.desc, &t->q, &t->k, &t->v, &t->o, &t->d_o, &g, &err), &err);
}

/* Weights need unsplit rows, so they have their own call. */
static void run_weights(struct hidden_call *t, const struct hidden_problem *c) {
  struct views v;
  attn_error err;
  describe(t, c, &v);
  v.desc.weights = &t->weights;
  check_ok(attn_sdpa_forward(&v.desc, &t->q, &t->k, &t->v, &t->o, &err), &err);
}

static void run_summary(struct hidden_call *t, const struct hidden_problem *c) {
  struct views v;
  attn_error err;
  attn_tensor sums = front(t->sums), entropy = front(t->entropy), logit = front(t->logit);
  attn_sdpa_summary s = {sizeof s, &sums, &t->top_keys, &t->top_weights, &entropy, &logit};
  describe(t, c, &v);
  v.desc.lse = NULL;
  check_ok(attn_sdpa_summarize(&v.desc, &t->q, &t->k, &s, &err), &err);
}

static void run_packed(struct hidden_call *t, const struct hidden_problem *c) {
  struct views v;
  attn_error err;
  int64_t rows[3] = {0, c->l, 2 * c->l}, keys[3] = {0, c->s, 2 * c->s};
  attn_tensor at_rows = {rows, ATTN_I64, 1, {c->b + 1}, {1}}, at_keys = at_rows;
  attn_tensor q = packed(t->q), k = packed(t->k), x = packed(t->v), o = packed(t->o);
  attn_tensor d_o = packed(t->d_o), d_q = packed(t->d_q), d_k = packed(t->d_k),
              d_v = packed(t->d_v);
  at_keys.data = keys;
  describe(t, c, &v);
  attn_sdpa_gradients g = gradients(t, c, &v);
  g.d_q = &d_q, g.d_k = &d_k, g.d_v = &d_v;
  check_ok(attn_sdpa_forward_packed(&v.desc, &q, &k, &x, &o, &at_rows, &at_keys, &err), &err);
  check_ok(attn_sdpa_backward_packed(&v.desc, &q, &k, &x, &o, &d_o, &at_rows, &at_keys, &g, &err),
           &err);
}

static void run_score(struct hidden_call *t, const struct hidden_problem *c) {
  struct views v;
  attn_error err;
  int additive = c->entry == ADDITIVE;
  attn_tensor d_a = back(t->d_additive, 1);
  attn_tensor vector = (attn_tensor){t->additive.data, t->additive.dtype, 1, {c->e}, {1}};
  attn_score score = {sizeof score,
                      additive ? ATTN_SCORE_ADDITIVE : ATTN_SCORE_GENERAL,
                      0,
                      &t->w,
                      additive ? &t->u : NULL,
                      additive ? &vector : NULL};
  describe(t, c, &v);
  attn_score_gradients learned = {sizeof learned, &v.d_w, additive ? &v.d_u : NULL,
                                  additive ? &d_a : NULL};
  attn_sdpa_gradients g = gradients(t, c, &v);
  check_ok(attn_score_forward(&v.desc, &score, &t->q, &t->k, &t->v, &t->o, &err), &err);
  check_ok(
      attn_score_backward(&v.desc, &score, &t->q, &t->k, &t->v, &t->o, &t->d_o, &g, &learned, &err),
      &err);
}

/* k or v in pages, in reverse order, with poison or zeros in unused rows. */
static attn_tensor paged(struct hidden_call *t, const struct hidden_problem *c,
                         const attn_tensor *x, attn_tensor *scales) {
  int64_t tokens = c->page_size, most = (c->s + tokens - 1) / tokens, pages = c->b * most + 1;
  int64_t width = x->shape[3], count = pages * c->h * tokens;
  attn_tensor p = output(t, c->kv_dtype, pages, c->h, tokens, width);
  *scales = front(output(t, ATTN_F32, pages, c->h, tokens, 1));
  for (int64_t n = 0; n < count * width; n++) {
    int64_t row = n / width, page = row / tokens / c->h, b = page / most, slot = row % tokens;
    int64_t j = (most - 1 - page % most) * tokens + slot, h = row / tokens % c->h;
    int used = page < c->b * most && j < c->lengths[b];
    int bad = !used || c->bad_key[key_at(c, b, h, j)];
    double value = bad ? (t->poisoned ? poison(c->kv_dtype) : 0)
                       : attn_load_real(x->dtype, at(x, b, h, j, n % width));
    char *to = at(&p, page, h, slot, n % width);
    float scale = bad ? (t->poisoned ? (float)poison(ATTN_F32) : 0) : 0.01f;
    memcpy(at(scales, page, h, slot, 0), &scale, sizeof scale);
    if (c->kv_dtype == ATTN_I8)
      *to = (char)(bad ? (t->poisoned ? 127 : 0) : (int)(value * 50));
    else
      attn_store_real(c->kv_dtype, to, value);
  }
  return p;
}

static attn_tensor make_table(struct hidden_call *t, const struct hidden_problem *c) {
  int64_t most = (c->s + c->page_size - 1) / c->page_size;
  attn_tensor table = back(output(t, c->table_dtype, 1, 1, c->b, most), 2);
  for (int64_t n = 0; n < c->b * most; n++) {
    int64_t b = n / most, page = b * most + most - 1 - n % most;
    if (n % most * c->page_size >= c->lengths[b]) page = t->poisoned ? INT32_MIN : 0;
    int32_t narrow = (int32_t)page;
    size_t size = attn_dtype_size(c->table_dtype);
    memcpy((char *)table.data + (size_t)n * size, size == 4 ? (void *)&narrow : (void *)&page,
           size);
  }
  return table;
}

static void run_paged(struct hidden_call *t, const struct hidden_problem *c) {
  struct views v;
  attn_error err;
  attn_tensor k_scales, v_scales, table = make_table(t, c);
  attn_tensor k = paged(t, c, &t->k, &k_scales), x = paged(t, c, &t->v, &v_scales);
  int scaled = c->kv_dtype == ATTN_I8;
  attn_pages pages = {
      sizeof pages, &k,         &x, scaled ? &k_scales : NULL, scaled ? &v_scales : NULL,
      &table,       &t->lengths};
  describe(t, c, &v);
  check_ok(attn_sdpa_forward_paged(&v.desc, &t->q, &pages, &t->o, &err), &err);
}

static void run(struct hidden_call *t, struct hidden_problem *c, int poisoned) {
  make_call(t, c, poisoned);
  if (c->entry == DENSE) run_weights(t, c), run_summary(t, c), run_dense(t, c);
  if (c->entry == PACKED) run_packed(t, c);
  if (c->entry == PAGED) run_paged(t, c);
  if (c->entry >= GENERAL) run_score(t, c);
}

/* ---- The law --------------------------------------------------------------------- */

static char where[256];

static void row_stays(const attn_tensor *x, const attn_tensor *y, int64_t a, int64_t b, int64_t n,
                      const char *name) {
  if (memcmp(at(x, a, b, n, 0), at(y, a, b, n, 0), (size_t)x->shape[3] * attn_dtype_size(x->dtype)))
    fail_msg("%s: %s[%d, %d, %d] depends on hidden values", where, name, (int)a, (int)b, (int)n);
}

static void is_zero(const attn_tensor *x, int64_t a, int64_t b, int64_t n, int64_t e,
                    const char *name) {
  double got = attn_load_real(x->dtype, at(x, a, b, n, e));
  if (!(got == 0))
    fail_msg("%s: %s[%d, %d, %d, %d] is %g; no visible pair reaches it", where, name, (int)a,
             (int)b, (int)n, (int)e, got);
}

/* Whether poison in v reaches the row by ATTN_EMPTY_MEAN. */
static int takes_the_mean(const struct hidden_problem *c, int64_t row) {
  int64_t b = row / c->l / c->hq, kv = row / c->l % c->hq / (c->hq / c->h);
  if (!c->empty[row] || c->desc.empty_row != ATTN_EMPTY_MEAN) return 0;
  for (int64_t j = 0; j < c->s; j++)
    if (c->bad_key[key_at(c, b, kv, j)]) return 1;
  return 0;
}

static void rows_stay(const struct hidden_problem *c, const struct hidden_call *x,
                      const struct hidden_call *y) {
  int backward = c->entry != PAGED;
  for (int64_t row = 0; row < c->b * c->hq * c->l; row++) {
    int64_t b = row / c->l / c->hq, h = row / c->l % c->hq, i = row % c->l;
    for (int64_t e = 0; c->empty[row] && backward && e < c->e; e++)
      is_zero(&y->d_q, b, h, i, e, "d_q");
    if (c->dirty_row[row]) continue;
    if (!takes_the_mean(c, row)) row_stays(&x->o, &y->o, b, h, i, "o");
    row_stays(&x->lse, &y->lse, b, h, i, "lse");
    if (backward) row_stays(&x->d_q, &y->d_q, b, h, i, "d_q");
    if (c->entry != DENSE) continue;
    row_stays(&x->weights, &y->weights, b, h, i, "weights");
    row_stays(&x->top_keys, &y->top_keys, b, h, i, "top_keys");
    row_stays(&x->top_weights, &y->top_weights, b, h, i, "top_weights");
    row_stays(&x->entropy, &y->entropy, b, h, i, "entropy");
    row_stays(&x->logit, &y->logit, b, h, i, "max_logit");
  }
}

static void keys_stay(const struct hidden_problem *c, const struct hidden_call *x,
                      const struct hidden_call *y) {
  for (int64_t key = 0; key < c->b * c->h * c->s; key++) {
    int64_t b = key / c->s / c->h, h = key / c->s % c->h, j = key % c->s;
    for (int64_t e = 0; !c->seen_key[key] && e < c->e; e++) is_zero(&y->d_k, b, h, j, e, "d_k");
    for (int64_t e = 0; !c->seen_key[key] && e < c->ev; e++) is_zero(&y->d_v, b, h, j, e, "d_v");
    if (c->dirty_key[key]) continue;
    row_stays(&x->d_k, &y->d_k, b, h, j, "d_k"), row_stays(&x->d_v, &y->d_v, b, h, j, "d_v");
  }
}

static int is_dirty(const struct hidden_problem *c, int64_t h) { /* of a head, or -1: of any */
  for (int64_t row = 0; row < c->b * c->hq * c->l; row++)
    if (c->dirty_row[row] && (h < 0 || row / c->l % c->hq == h)) return 1;
  return 0;
}

/* A gradient of parameters that no bad row reaches: the same bits, and finite. */
static void sum_stays(const attn_tensor *x, const attn_tensor *y, int64_t n, const char *name) {
  row_stays(x, y, 0, 0, n, name);
  for (int64_t e = 0; e < x->shape[3]; e++)
    if (!isfinite(attn_load_real(y->dtype, at(y, 0, 0, n, e))))
      fail_msg("%s: %s[%d, %d] is not finite", where, name, (int)n, (int)e);
}

static void parameters_stay(const struct hidden_problem *c, const struct hidden_call *x,
                            const struct hidden_call *y) {
  int all_clean = !is_dirty(c, -1);
  for (int64_t h = 0; c->has_sinks && h < c->hq; h++)
    if (!is_dirty(c, h)) sum_stays(&x->d_sinks, &y->d_sinks, h, "d_sinks");
  for (int64_t h = 0; c->additive_rank && h < columns_of(c); h++)
    if (c->additive_rank == 2 ? !is_dirty(c, h) : all_clean)
      sum_stays(&x->d_additive, &y->d_additive, h, "d_additive");
  for (int64_t e = 0; c->entry >= GENERAL && all_clean && e < c->e; e++) {
    sum_stays(&x->d_w, &y->d_w, e, "d_w");
    if (c->entry == ADDITIVE) sum_stays(&x->d_u, &y->d_u, e, "d_u");
  }
  if (c->entry == ADDITIVE && all_clean) sum_stays(&x->d_additive, &y->d_additive, 0, "d_a");
}

/* Each element of the mask's gradient sums the pairs that share it. */
static void mask_stays(const struct hidden_problem *c, const struct hidden_call *x,
                       const struct hidden_call *y) {
  static char seen[MOST], dirty[MOST];
  const int64_t full[4] = {c->b, c->hq, c->l, c->s};
  const int64_t *m = c->entry == PACKED ? full : c->mask_shape;
  size_t size = attn_dtype_size(x->d_mask.dtype);
  memset(seen, 0, sizeof seen), memset(dirty, 0, sizeof dirty);
  for (int64_t pair = 0; pair < c->b * c->hq * c->l * c->s; pair++) {
    int64_t row = pair / c->s, b = row / c->l / c->hq, h = row / c->l % c->hq;
    int64_t n = c->entry == PACKED ? pair : mask_at(c, b, h, row % c->l, pair % c->s);
    seen[n] |= c->sees[pair], dirty[n] |= (char)(c->sees[pair] && c->dirty_row[row]);
  }
  for (int64_t n = 0; n < m[0] * m[1] * m[2] * m[3]; n++) {
    int64_t j = n % m[3], i = n / m[3] % m[2], h = n / m[3] / m[2] % m[1],
            b = n / m[3] / m[2] / m[1];
    if (!seen[n]) is_zero(&y->d_mask, b, h, i, j, "d_mask");
    if (!dirty[n] && memcmp(at(&x->d_mask, b, h, i, j), at(&y->d_mask, b, h, i, j), size))
      fail_msg("%s: d_mask[%d, %d, %d, %d] depends on hidden values", where, (int)b, (int)h, (int)i,
               (int)j);
  }
}

/* Weights of hidden pairs are 0, those of empty rows follow empty_row; column sums include only
 * rows that see the key. */
static void weights_stay(const struct hidden_problem *c, const struct hidden_call *x,
                         const struct hidden_call *y) {
  static char dirty[MOST];
  memset(dirty, 0, sizeof dirty);
  for (int64_t pair = 0; pair < c->b * c->hq * c->l * c->s; pair++) {
    int64_t row = pair / c->s, b = row / c->l / c->hq, h = row / c->l % c->hq, j = pair % c->s;
    dirty[(b * c->hq + h) * c->s + j] |= (char)(c->sees[pair] && c->dirty_row[row]);
    if (!c->sees[pair] && !(c->empty[row] && c->desc.empty_row))
      is_zero(&y->weights, b, h, row % c->l, j, "weights");
  }
  for (int64_t n = 0; n < c->b * c->hq * c->s; n++)
    if (!dirty[n])
      row_stays(&x->sums, &y->sums, n / c->s / c->hq, n / c->s % c->hq, n % c->s, "column_sums");
}

static void compare_zeros_with_poison(struct hidden_problem *c, const char *kernel, uint64_t seed) {
  struct hidden_call zeros, poisoned;
  snprintf(
      where, sizeof where,
      "%s, seed %llu (entry %d, %s, L %d S %d, flags %d mask %x sinks %d additive %d empty %d)",
      kernel, (unsigned long long)seed, (int)c->entry, attn_dtype_name(c->dtype), (int)c->l,
      (int)c->s, (int)c->desc.flags, c->has_mask ? (unsigned)c->mask_dtype : 0, c->has_sinks,
      c->additive_rank, (int)c->desc.empty_row);
  run(&zeros, c, 0), run(&poisoned, c, 1);
  rows_stay(c, &zeros, &poisoned);
  if (c->entry != PAGED) keys_stay(c, &zeros, &poisoned), parameters_stay(c, &zeros, &poisoned);
  if (c->entry != PAGED && is_float_mask(c)) mask_stays(c, &zeros, &poisoned);
  if (c->entry == DENSE) weights_stay(c, &zeros, &poisoned);
  free_call(&zeros), free_call(&poisoned);
}

static void everywhere(enum entry_point entry, attn_dtype dtype, int rounds) {
  const char *kernel;
  for (int round = 0; round < rounds; round++) {
    uint64_t seed = random_state;
    draw_problem(&problem, entry, dtype);
    for (int n = 0; (kernel = select_kernel(n)); n++) {
      compare_zeros_with_poison(&problem, kernel, seed);
      if (dtype == ATTN_F64) break; /* no kernel is used */
    }
    select_default();
  }
}

static void of_every_type(enum entry_point entry, int rounds) {
  everywhere(entry, ATTN_F32, rounds);
  everywhere(entry, ATTN_F16, (rounds + 2) / 3), everywhere(entry, ATTN_BF16, (rounds + 2) / 3);
  if (entry != PAGED) everywhere(entry, ATTN_F64, rounds);
}

static void hidden_values_do_not_affect_a_call(void **state) {
  (void)state;
  of_every_type(DENSE, ROUNDS(60));
}

static void nor_packed_sequences(void **state) {
  (void)state;
  of_every_type(PACKED, ROUNDS(24));
}

static void nor_paged_caches(void **state) {
  (void)state;
  of_every_type(PAGED, ROUNDS(40));
}

static void nor_score_functions(void **state) {
  (void)state;
  of_every_type(GENERAL, ROUNDS(20)), of_every_type(ADDITIVE, ROUNDS(12));
}

int main(int argc, char **argv) {
  random_begin(argc, argv);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(hidden_values_do_not_affect_a_call), cmocka_unit_test(nor_packed_sequences),
      cmocka_unit_test(nor_paged_caches), cmocka_unit_test(nor_score_functions)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
