/* fuzz_cache.c -- any calls on any cache in any order; paged attention with any table; summaries
 * and score functions of any shapes. Each returns a status, without a crash, a leak or an access
 * outside an operand. The first byte of a call selects the function, the following ones its
 * arguments. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "attn/attn.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TENSORS = 12, SEQUENCES = 4 };

struct input {
  const uint8_t *at, *end;
  attn_tensor t[TENSORS];
  void *memory[TENSORS];
  int count;
};

static int take(struct input *in) { return in->at < in->end ? *in->at++ : 0; }
static int64_t below(struct input *in, int n) { return take(in) % n; }

/* Mostly n; sometimes a small or an extreme value. */
static int64_t around(struct input *in, int64_t n) {
  static const int64_t others[] = {-1, 0, 1, 2, 3, 7, INT64_MAX, INT64_MIN};
  int choice = take(in);
  return choice < 240 ? n : others[choice % 8];
}

static attn_dtype type_of(struct input *in) {
  static const attn_dtype types[] = {ATTN_F32, ATTN_F32, ATTN_F16, ATTN_BF16,    ATTN_F64,
                                     ATTN_I8,  ATTN_I32, ATTN_I64, (attn_dtype)7};
  return types[take(in) % 9];
}

/* A dense tensor of about this shape, in an allocation of its exact size; sometimes NULL. */
static attn_tensor *draw(struct input *in, attn_dtype dtype, int rank, const int64_t *shape) {
  attn_tensor *t = &in->t[in->count];
  int64_t bytes = (int64_t)attn_dtype_size(dtype);
  if (take(in) == 255) return NULL;
  *t = (attn_tensor){NULL, dtype, (int32_t)around(in, rank), {0}, {0}};
  if (t->rank < 0 || t->rank > 4) return t;
  int64_t stride = 1, size = bytes;
  for (int n = t->rank - 1, m = rank - 1; n >= 0; n--, m--) {
    t->shape[n] = around(in, m >= 0 ? shape[m] : 1), t->strides[n] = stride;
    if (t->shape[n] < 0 || __builtin_mul_overflow(stride, t->shape[n], &stride)) return t;
    if (__builtin_mul_overflow(stride, size, &bytes) || bytes > 1 << 20) return t;
  }
  for (int n = 0; n < t->rank; n++)
    if (t->shape[n] > 1 << 20) return NULL; /* no elements, but endless rows */
  t->data = in->memory[in->count++] = malloc((size_t)bytes + !bytes);
  for (int64_t n = 0; n < bytes; n++) ((char *)t->data)[n] = (char)(n % 61 == 0 ? take(in) : n % 7);
  return t;
}

static void free_tensors(struct input *in) {
  while (in->count > 0) free(in->memory[--in->count]);
}

static attn_tensor *draw4(struct input *in, attn_dtype dtype, int64_t a, int64_t b, int64_t c,
                          int64_t d) {
  return draw(in, dtype, 4, (const int64_t[]){a, b, c, d});
}

static void choose_desc(struct input *in, attn_sdpa *d) {
  *d = (attn_sdpa)ATTN_SDPA_INIT;
  d->flags = (uint64_t)take(in) & 31 & ~(uint64_t)ATTN_SDPA_OFFSET;
  d->align = (int32_t)below(in, 2), d->empty_row = (int32_t)below(in, 4);
  d->softcap = (double)take(in), d->scale = (double)take(in) / 16, d->threads = 1;
  d->window_left = below(in, 9) - 1, d->window_right = below(in, 9) - 1;
  d->flags |= take(in) == 77 ? (uint64_t)1 << 60 : 0;
}

/* ---- The cache ---- */

static attn_cache *open_cache(struct input *in, attn_cache_config *c) {
  attn_cache *cache = NULL;
  static const attn_dtype types[] = {ATTN_F32, ATTN_F16, ATTN_BF16, ATTN_I8};
  *c = (attn_cache_config)ATTN_CACHE_CONFIG_INIT;
  c->num_kv_heads = around(in, 1 + below(in, 2)), c->head_dim = around(in, 1 + below(in, 5));
  c->value_head_dim = around(in, 1 + below(in, 5)), c->sequences = around(in, SEQUENCES);
  c->capacity = around(in, 1 + below(in, 200)), c->page_size = around(in, below(in, 50));
  c->pages = around(in, below(in, 9)), c->dtype = types[take(in) % 4];
  if (c->capacity > 1000 || c->page_size > 1000) c->capacity = c->page_size = INT64_MAX;
  return attn_cache_new(c, &cache, NULL) ? NULL : cache;
}

static void call_cache(struct input *in, attn_cache *cache, const attn_cache_config *c) {
  int64_t list[SEQUENCES], count = around(in, below(in, SEQUENCES + 1)), tokens = below(in, 40);
  for (int n = 0; n < SEQUENCES; n++) list[n] = around(in, below(in, SEQUENCES));
  const int64_t *named = take(in) % 2 ? list : NULL;
  if (count > SEQUENCES) count = SEQUENCES;
  attn_sdpa desc;
  choose_desc(in, &desc);
  int64_t length = attn_cache_length(cache, list[0]);
  switch (take(in) % 5) {
    case 0: {
      attn_tensor *k = draw4(in, type_of(in), count, c->num_kv_heads, tokens, c->head_dim);
      attn_tensor *v = draw4(in, type_of(in), count, c->num_kv_heads, tokens, c->value_head_dim);
      attn_cache_append(cache, named, count, k, v, NULL);
      break;
    }
    case 1:
      attn_cache_truncate(cache, list[0], around(in, below(in, (int)(length > 0 ? length : 0) + 1)),
                          NULL);
      break;
    case 2:
      attn_cache_fork(cache, list[0], list[1], NULL);
      break;
    case 3: {
      attn_dtype type = type_of(in);
      int64_t heads = c->num_kv_heads * (1 + below(in, 3)), rows = below(in, 4);
      attn_tensor *q = draw4(in, type, count, heads, rows, c->head_dim);
      attn_tensor *o = draw4(in, type, count, heads, rows, c->value_head_dim);
      attn_sdpa_forward_cached(&desc, q, cache, named, count, o, NULL);
      break;
    }
    default: {
      const int64_t k[] = {c->num_kv_heads, length, c->head_dim},
                    v[] = {c->num_kv_heads, length, c->value_head_dim};
      attn_tensor *tk = draw(in, ATTN_F32, 3, k), *tv = draw(in, ATTN_F32, 3, v);
      attn_cache_read(cache, list[0], tk, tv, NULL);
    }
  }
  free_tensors(in);
}

/* ---- Calls without a cache ---- */

static void call_paged(struct input *in) {
  int64_t b = below(in, 3), h = 1 + below(in, 2), pages = below(in, 5), n = below(in, 4);
  int64_t tokens = 1 + below(in, 100), e = 1 + below(in, 9), ev = 1 + below(in, 9);
  attn_dtype dtype = type_of(in), type = type_of(in);
  attn_pages p = ATTN_PAGES_INIT;
  attn_sdpa desc;
  choose_desc(in, &desc);
  p.k = draw4(in, dtype, pages, h, tokens, e), p.v = draw4(in, dtype, pages, h, tokens, ev);
  const int64_t scales[] = {pages, h, tokens}, table[] = {b, n};
  if (dtype == ATTN_I8 || take(in) == 1)
    p.k_scales = draw(in, ATTN_F32, 3, scales), p.v_scales = draw(in, ATTN_F32, 3, scales);
  attn_tensor *t = draw(in, take(in) % 2 ? ATTN_I32 : ATTN_I64, 2, table);
  attn_tensor *lengths = draw(in, ATTN_I64, 1, table);
  int exact = t && lengths && t->data && lengths->data && t->dtype == ATTN_I64;
  for (int64_t i = 0; exact && t->rank == 2 && i < t->shape[0] * t->shape[1]; i++)
    ((int64_t *)t->data)[i] = around(in, below(in, 5));
  for (int64_t i = 0; exact && lengths->rank == 1 && i < lengths->shape[0]; i++)
    ((int64_t *)lengths->data)[i] = around(in, below(in, 250) % (n * tokens + 1));
  p.page_table = t, p.lengths = lengths;
  attn_tensor *q = draw4(in, type, b, h * 2, 3, e), *o = draw4(in, type, b, h * 2, 3, ev);
  if (take(in) % 4 == 1) desc.additive = draw(in, ATTN_F32, 1, (const int64_t[]){e});
  attn_sdpa_forward_paged(&desc, q, &p, o, NULL);
  free_tensors(in);
}

static void call_summary(struct input *in) {
  int64_t b = below(in, 3), h = 1 + below(in, 2), l = below(in, 70), s = below(in, 100);
  attn_dtype type = type_of(in);
  attn_sdpa_summary m = ATTN_SDPA_SUMMARY_INIT;
  attn_sdpa desc;
  choose_desc(in, &desc);
  int64_t e = below(in, 9), top = below(in, 9);
  attn_tensor *q = draw4(in, type, b, h * 2, l, e), *k = draw4(in, type, b, h, s, e);
  const int64_t columns[] = {b, h * 2, s}, rows[] = {b, h * 2, l};
  if (take(in) % 2) m.column_sums = draw(in, take(in) % 2 ? ATTN_F32 : ATTN_F64, 3, columns);
  if (take(in) % 2) m.entropy = draw(in, ATTN_F32, 3, rows);
  if (take(in) % 2) m.max_logit = draw(in, ATTN_F64, 3, rows);
  if (take(in) % 2) m.top_keys = draw4(in, take(in) % 2 ? ATTN_I32 : ATTN_I64, b, h * 2, l, top);
  if (take(in) % 2) m.top_weights = draw4(in, ATTN_F32, b, h * 2, l, top);
  if (take(in) % 4 == 1) desc.additive = draw(in, ATTN_F32, 1, (const int64_t[]){e});
  attn_sdpa_summarize(&desc, q, k, &m, NULL);
  free_tensors(in);
}

static void call_score(struct input *in) {
  int64_t b = below(in, 3), h = 1 + below(in, 2), l = below(in, 9), s = below(in, 20);
  int64_t eq = below(in, 6), ek = take(in) % 2 ? eq : below(in, 6), a = below(in, 6);
  attn_dtype type = type_of(in);
  attn_score score = ATTN_SCORE_INIT;
  attn_sdpa desc;
  choose_desc(in, &desc);
  score.kind = (int32_t)around(in, below(in, 3));
  const int64_t w[] = {eq, score.kind == ATTN_SCORE_GENERAL ? ek : a}, u[] = {ek, a}, v1[] = {a};
  if (score.kind) score.w = draw(in, type_of(in), 2, w);
  if (score.kind == ATTN_SCORE_ADDITIVE)
    score.u = draw(in, ATTN_F32, 2, u), score.a = draw(in, ATTN_F32, 1, v1);
  attn_tensor *q = draw4(in, type, b, h * 2, l, eq), *k = draw4(in, type, b, h, s, ek);
  attn_tensor *v = draw4(in, type, b, h, s, 3), *o = draw4(in, type, b, h * 2, l, 3);
  attn_score_forward(&desc, &score, q, k, v, o, NULL);
  free_tensors(in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct input in = {.at = data, .end = data + size};
  attn_cache_config config;
  attn_cache *cache = open_cache(&in, &config);
  for (int calls = 0; in.at < in.end && calls < 40; calls++) {
    int which = take(&in) % 8;
    if (which == 0)
      call_paged(&in);
    else if (which == 1)
      call_summary(&in);
    else if (which == 2)
      call_score(&in);
    else if (cache)
      call_cache(&in, cache, &config);
  }
  attn_cache_free(cache);
  return 0;
}
