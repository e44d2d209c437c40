/* fuzz_sdpa.c -- any arguments of the core's functions: a status, never a crash. Every tensor has
 * an allocation of exactly the extent that it declares, so that a sanitizer detects accesses
 * outside. Inputs, and the outputs of a refused call, must be unchanged.
 *
 * Each byte is a choice, and 0 is the plain one: an empty input is a valid call.
 */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attn/attn.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
  Q,
  K,
  V,
  O,
  LSE,
  WEIGHTS,
  MASK,
  LENGTHS,
  ALIBI,
  SINKS,
  ADDITIVE,
  STARTS_Q,
  STARTS_K,
  D_O,
  D_Q,
  D_K,
  D_V,
  D_MASK,
  D_SINKS,
  D_ADDITIVE,
  D_LSE,
  SLOTS
};
enum { FORWARD, BACKWARD, FORWARD_PACKED, BACKWARD_PACKED, PLAN, VERIFY, CALLS };
enum { MAX_BYTES = 1 << 20, MAX_SEQUENCES = 4 };

struct slot {
  attn_tensor t;
  int given; /* else NULL */
  char *memory, *before;
  size_t bytes;
  int misplaced;
};

/* One call. */
struct call {
  const uint8_t *at, *end;
  uint64_t state; /* of the random values of tensors */
  int kind;
  attn_dtype dtype;
  int64_t b, hq, h, l, s, e, ev, sequences;
  int64_t starts[2][MAX_SEQUENCES + 1];
  struct slot slots[SLOTS];
  char *desc, *gradients; /* of struct_size bytes */
  void *workspace;
  attn_executor executor;
  attn_allocator allocator;
  int progress_left;
  int no_desc, no_gradients; /* NULL is given */
};

/* ---- Choices ---- */

static unsigned take(struct call *c) { return c->at < c->end ? *c->at++ : 0; }
static unsigned pick(struct call *c, unsigned count) { return take(c) % count; }
/* True for one byte in n, and false after the end of the input. */
static int seldom(struct call *c, unsigned n) { return take(c) % n == n - 1; }

static int64_t unusual(struct call *c) {
  static const int64_t values[] = {0,  1,         -1,        2,         3,      4,  5,
                                   -2, INT64_MAX, INT64_MIN, 1LL << 40, -3,     64, 65,
                                   96, 97,        100,       1LL << 32, 1 << 20};
  return values[pick(c, sizeof values / sizeof *values)];
}

static double real(struct call *c) {
  static const double values[] = {0.5, 1, 0, -1, 3, 1e-300, 1e300, -0.0, 0.25, 1e-40, 50, 0.999999};
  unsigned n = pick(c, 16);
  if (n == 15) return (double)NAN;
  if (n == 14) return (double)INFINITY;
  return n < sizeof values / sizeof *values ? values[n] : 0.5;
}

static uint64_t number(struct call *c) {
  c->state ^= c->state << 13, c->state ^= c->state >> 7, c->state ^= c->state << 17;
  return c->state;
}

/* ---- Tensors ---- */

static int is_output(const struct call *c, int n) {
  if (c->kind == BACKWARD || c->kind == BACKWARD_PACKED)
    return n == D_Q || n == D_K || n == D_V || n == D_MASK || n == D_SINKS || n == D_ADDITIVE;
  return (c->kind == FORWARD || c->kind == FORWARD_PACKED) && (n == O || n == LSE || n == WEIGHTS);
}

static int is_packed(const struct call *c) {
  return c->kind == FORWARD_PACKED || c->kind == BACKWARD_PACKED;
}

static void dense(attn_tensor *t) {
  uint64_t stride = 1;
  for (int n = t->rank - 1; n >= 0; n--) {
    t->strides[n] = (int64_t)stride;
    stride *= (uint64_t)t->shape[n];
  }
}

/* The shape is the last `rank` of four dimensions. */
static void declare(struct call *c, int n, attn_dtype dtype, int rank, int64_t n0, int64_t n1,
                    int64_t n2, int64_t n3) {
  const int64_t all[4] = {n0, n1, n2, n3};
  attn_tensor *t = &c->slots[n].t;
  *t = (attn_tensor){NULL, dtype, rank, {0}, {0}};
  for (int d = 0; d < rank; d++) t->shape[d] = all[d + 4 - rank];
  dense(t);
}

static void declare_mask(struct call *c) {
  static const attn_dtype types[] = {ATTN_BOOL, ATTN_F32, ATTN_F64, ATTN_F16, ATTN_BF16};
  unsigned ones = take(c);
  int rank = is_packed(c) ? 3 : 4;
  if (seldom(c, 4)) rank = (int)pick(c, 5);
  int64_t full[4] = {is_packed(c) ? 1 : c->b, c->hq, c->l, c->s};
  for (int n = 0; n < 4; n++)
    if (ones >> n & 1) full[n] = 1;
  declare(c, MASK, types[pick(c, 5)], rank, full[0], full[1], full[2], full[3]);
  declare(c, D_MASK, seldom(c, 2) ? ATTN_F64 : ATTN_F32, rank, full[0], full[1], full[2], full[3]);
}

static void declare_all(struct call *c) {
  const int rank = is_packed(c) ? 3 : 4 - (int)pick(c, 3);
  const attn_dtype dtype = c->dtype, wide = dtype == ATTN_F64 ? ATTN_F64 : ATTN_F32;
  const attn_dtype whole = seldom(c, 2) ? ATTN_I32 : ATTN_I64;
  if (rank < 4) c->b = 1;
  if (rank < 3) c->hq = c->h = 1;
  declare(c, Q, dtype, rank, c->b, c->hq, c->l, c->e), c->slots[D_Q].t = c->slots[Q].t;
  declare(c, K, dtype, rank, c->b, c->h, c->s, c->e), c->slots[D_K].t = c->slots[K].t;
  declare(c, V, dtype, rank, c->b, c->h, c->s, c->ev), c->slots[D_V].t = c->slots[V].t;
  declare(c, O, dtype, rank, c->b, c->hq, c->l, c->ev), c->slots[D_O].t = c->slots[O].t;
  declare(c, LSE, wide, rank - 1, 1, c->b, c->hq, c->l), c->slots[D_LSE].t = c->slots[LSE].t;
  declare(c, WEIGHTS, dtype, rank, c->b, c->hq, c->l, c->s);
  declare_mask(c);
  declare(c, LENGTHS, whole, 1, 1, 1, 1, is_packed(c) ? c->sequences : c->b);
  declare(c, ALIBI, ATTN_F32, seldom(c, 2) ? 2 : 1, 1, 1, c->b, c->hq);
  declare(c, SINKS, seldom(c, 2) ? ATTN_F64 : ATTN_F32, 1, 1, 1, 1, c->hq);
  declare(c, D_SINKS, seldom(c, 2) ? ATTN_F64 : ATTN_F32, 1, 1, 1, 1, c->hq);
  int vectors = seldom(c, 2) ? 2 : 1;
  declare(c, ADDITIVE, seldom(c, 2) ? ATTN_F64 : ATTN_F32, vectors, 1, 1, c->hq, c->e);
  declare(c, D_ADDITIVE, seldom(c, 2) ? ATTN_F64 : ATTN_F32, vectors, 1, 1, c->hq, c->e);
  declare(c, STARTS_Q, whole, 1, 1, 1, 1, c->sequences + 1);
  declare(c, STARTS_K, whole, 1, 1, 1, 1, c->sequences + 1);
}

/* Changes the strides; only inputs may overlap themselves. */
static void lay_out(struct call *c, int n) {
  attn_tensor *t = &c->slots[n].t;
  unsigned layout = pick(c, 6), d = t->rank ? pick(c, (unsigned)t->rank) : 0;
  if (!t->rank) return;
  if (layout == 1 && t->rank > 1) { /* transpose the last two dimensions */
    int a = t->rank - 2, b = t->rank - 1;
    t->strides[a] = 1, t->strides[b] = t->shape[a];
  }
  for (int m = 0; m < t->rank && layout == 2; m++)
    t->strides[m] = (int64_t)(2 * (uint64_t)t->strides[m]);
  if (layout == 3) t->strides[d] = (int64_t) - (uint64_t)t->strides[d];
  if (layout == 4 && !is_output(c, n)) t->strides[d] = 0;
  if (layout == 5 && !is_output(c, n)) t->strides[d] = unusual(c);
}

/* Makes one argument invalid. */
static void corrupt(struct call *c) {
  static const attn_dtype types[] = {ATTN_F64,  ATTN_F32, ATTN_BF16,        ATTN_I32,
                                     ATTN_BOOL, ATTN_U8,  (attn_dtype)0x77, ATTN_I64};
  struct slot *s = &c->slots[pick(c, SLOTS)];
  unsigned d = pick(c, ATTN_RANK_MAX);
  switch (pick(c, 7)) {
    case 0:
      s->t.shape[d] = unusual(c);
      break;
    case 1:
      s->t.shape[d] = (int64_t)((uint64_t)s->t.shape[d] + (pick(c, 2) ? 1 : UINT64_MAX));
      break;
    case 2:
      s->t.rank = (int32_t)pick(c, 11) - 1;
      break;
    case 3:
      s->t.dtype = types[pick(c, 8)];
      break;
    case 4:
      s->t.strides[d] = unusual(c);
      break;
    case 5:
      s->given = !s->given;
      break;
    default:
      s->misplaced = 1;
  }
}

/* ---- Memory ---- */

/* Bytes before and after data that the view declares. Returns 0 without elements, -1 above
 * MAX_BYTES. */
static int extent(const attn_tensor *t, size_t *before, size_t *after) {
  __int128 low = 0, high = 0;
  size_t size = attn_dtype_size(t->dtype);
  *before = *after = 0;
  if (t->rank < 0 || t->rank > ATTN_RANK_MAX || !size) return 0;
  for (int n = 0; n < t->rank; n++) {
    if (t->shape[n] <= 0) return 0;
    __int128 reach = (__int128)(t->shape[n] - 1) * t->strides[n];
    *(reach < 0 ? &low : &high) += reach;
    if (high - low > MAX_BYTES) return -1;
  }
  *before = (size_t)-low * size, *after = (size_t)(high + 1) * size;
  return 1;
}

/* Dimensions that take years to compute although they need no memory. */
static int is_endless(const attn_tensor *t) {
  int64_t count = 1;
  for (int n = 0; n < t->rank && n < ATTN_RANK_MAX; n++)
    if (t->shape[n] > 4096 || (t->shape[n] > 0 && (count *= t->shape[n]) > 1 << 18)) return 1;
  return 0;
}

static void fill_number(struct call *c, const attn_tensor *t, char *at) {
  static const float specials[] = {NAN, INFINITY, -INFINITY, 3e38f, -3e38f, 1e-40f, 0, -0.0f};
  uint64_t x = number(c);
  float f = x >> 58 ? (float)(x & 0xFFFF) / 8192.0f - 4.0f : specials[x & 7];
  double d = (double)f;
  int64_t wide = (int64_t)(x >> 9 & 3);
  int32_t narrow = (int32_t)wide;
  uint16_t bits16 = (uint16_t)(x >> 58 ? 0x3000 + (x & 0x8FFF) : x);
  char flag = (char)(x >> 9 & 3);
  switch (t->dtype) {
    case ATTN_F32:
      memcpy(at, &f, 4);
      break;
    case ATTN_F64:
      memcpy(at, &d, 8);
      break;
    case ATTN_I64:
      memcpy(at, &wide, 8);
      break;
    case ATTN_I32:
      memcpy(at, &narrow, 4);
      break;
    case ATTN_F16:
    case ATTN_BF16:
      memcpy(at, &bits16, 2);
      break;
    default:
      *at = flag;
  }
}

static void store_integer(const attn_tensor *t, int64_t n, int64_t value) {
  char *at = (char *)t->data + n * t->strides[0] * (int64_t)attn_dtype_size(t->dtype);
  int32_t narrow = (int32_t)value;
  if (t->dtype == ATTN_I64) memcpy(at, &value, 8);
  if (t->dtype == ATTN_I32) memcpy(at, &narrow, 4);
}

/* Valid starts and lengths, if the tensor still has their shape. */
static void fill_integers(struct call *c, int n) {
  const attn_tensor *t = &c->slots[n].t;
  if (t->rank != 1 || !t->data || !t->shape[0]) return;
  for (int64_t m = 0; m < t->shape[0] && m <= c->sequences; m++)
    if (n == LENGTHS && is_packed(c))
      store_integer(t, m, m < c->sequences ? (c->starts[1][m + 1] - c->starts[1][m]) / 2 : 0);
    else
      store_integer(t, m, n == LENGTHS ? c->s / (m + 1) : c->starts[n == STARTS_K][m]);
  if (seldom(c, 8)) store_integer(t, pick(c, (unsigned)(t->shape[0] % 100)), unusual(c));
}

static void allocate(struct call *c, int n) {
  struct slot *s = &c->slots[n];
  size_t before, after;
  int has = extent(&s->t, &before, &after);
  if (is_endless(&s->t)) {
    if (has == 0) s->given = 0; /* no elements, but endless rows */
    has = -1;
  }
  if (has <= 0) return; /* data stays NULL, which is refused if there are elements */
  s->bytes = before + after;
  s->memory = malloc(s->bytes + (size_t)s->misplaced);
  s->before = malloc(s->bytes + 1);
  size_t size = attn_dtype_size(s->t.dtype);
  char *from = s->memory + s->misplaced;
  for (size_t at = 0; at < s->bytes; at += size) fill_number(c, &s->t, from + at);
  s->t.data = from + before;
  if (n == LENGTHS || n == STARTS_Q || n == STARTS_K) fill_integers(c, n);
}

/* True if the call uses the slot for any size of the descriptor. */
static int is_used(const struct call *c, int n) {
  if (!c->slots[n].given || c->no_desc || c->no_gradients) return 0;
  if (n == ALIBI || n == SINKS || n == ADDITIVE || n == D_ADDITIVE) return 0;
  if (n == STARTS_Q || n == STARTS_K) return is_packed(c);
  return n < D_O || c->kind == BACKWARD || c->kind == BACKWARD_PACKED;
}

/* Lets an output overlap another tensor, which is refused. */
static void alias(struct call *c) {
  int to = (int)pick(c, SLOTS), from = (int)pick(c, SLOTS);
  struct slot *a = &c->slots[to], *b = &c->slots[from];
  if (!is_used(c, from) || !a->memory || !b->memory || a->bytes > b->bytes || a->misplaced ||
      b->misplaced)
    return;
  a->t.data = b->memory + ((char *)a->t.data - a->memory);
}

/* ---- Executor, allocator, workspace, progress ---- */

static void run_backwards(void *context, int64_t count, void (*body)(void *, int64_t, int32_t),
                          void *argument) {
  const struct call *c = context;
  for (int64_t n = count; n-- > 0;) body(argument, n, (int32_t)(n % c->executor.workers));
}

static void *allocate_limited(void *context, size_t alignment, size_t bytes) {
  (void)context;
  return bytes > 64u << 20 ? NULL : aligned_alloc(alignment, bytes);
}

static void release_memory(void *context, void *memory) { (void)context, free(memory); }

static int update_progress(void *context, int64_t done, int64_t total) {
  struct call *c = context;
  (void)done, (void)total;
  return c->progress_left-- <= 0;
}

static void choose_resources(struct call *c, attn_sdpa *d) {
  c->executor = (attn_executor){c, 1 + (int32_t)pick(c, 3), run_backwards};
  c->allocator = (attn_allocator){NULL, allocate_limited, release_memory};
  if (seldom(c, 16)) c->executor.workers = (int32_t)pick(c, 2) - 1;
  if (seldom(c, 16)) c->executor.parallel_for = NULL;
  if (seldom(c, 16)) c->allocator.release = NULL;
  d->executor = &c->executor, d->allocator = &c->allocator;
  if (seldom(c, 4)) d->threads = (int32_t)pick(c, 4) - 1;
  if (seldom(c, 4)) {
    size_t bytes = (size_t[]){1 << 20, 0, 100, 1 << 16}[pick(c, 4)], shift = pick(c, 8);
    c->workspace = malloc(bytes + shift);
    d->workspace = (char *)c->workspace + shift, d->workspace_bytes = bytes;
  }
  c->progress_left = INT_MAX;
  if (seldom(c, 4)) d->progress = update_progress, d->progress_context = c;
  if (d->progress && seldom(c, 2)) c->progress_left = (int)pick(c, 4);
}

static const attn_tensor *of(struct call *c, int n) {
  return c->slots[n].given ? &c->slots[n].t : NULL;
}

static void choose_desc(struct call *c, attn_sdpa *d) {
  d->flags = take(c) & 63;
  d->flags &= ~(uint64_t)ATTN_SDPA_OFFSET;
  d->align = (int32_t)pick(c, 3);
  if (d->align == ATTN_ALIGN_OFFSET) d->flags |= ATTN_SDPA_OFFSET;
  d->empty_row = (int32_t)pick(c, 4);
  d->scale = real(c), d->softcap = real(c), d->dropout = real(c);
  d->offset = unusual(c), d->window_left = unusual(c), d->window_right = unusual(c);
  d->seed = take(c);
  if (seldom(c, 8))
    d->origin_batch = unusual(c), d->origin_head = unusual(c), d->origin_query = unusual(c);
  if (seldom(c, 32)) d->flags ^= 1ULL << pick(c, 64);
  if (seldom(c, 32)) d->align = (int32_t)unusual(c);
  if (seldom(c, 32)) d->empty_row = (int32_t)unusual(c);
  if (seldom(c, 32)) d->reserved = 1;
}

/* A copy of size bytes, or of all if size is false. */
static char *copy_sized(const void *from, size_t ours, size_t size, size_t min_size) {
  size_t bytes = size < min_size || size > 65536 ? ours : size;
  char *copy = calloc(1, bytes);
  memcpy(copy, from, bytes < ours ? bytes : ours);
  memcpy(copy, &size, sizeof size);
  return copy;
}

static void set_desc(struct call *c) {
  attn_sdpa d = ATTN_SDPA_INIT;
  choose_desc(c, &d);
  choose_resources(c, &d);
  d.mask = of(c, MASK), d.key_lengths = of(c, LENGTHS), d.lse = of(c, LSE);
  d.weights = of(c, WEIGHTS), d.alibi = of(c, ALIBI), d.sinks = of(c, SINKS);
  d.additive = of(c, ADDITIVE);
  attn_sdpa_gradients g = {sizeof g,      of(c, D_Q),     of(c, D_K),   of(c, D_V),
                           of(c, D_MASK), of(c, D_SINKS), of(c, D_LSE), of(c, D_ADDITIVE)};
  size_t min_size = offsetof(attn_sdpa, workspace), size = sizeof d, size_g = sizeof g;
  if (seldom(c, 16))
    size = (size_t[]){
        min_size, 0, 3, sizeof d + 8, SIZE_MAX, min_size + 4, sizeof d - 8, 65536}[pick(c, 8)];
  if (seldom(c, 32)) size_g = (size_t[]){0, 8, sizeof g + 8, SIZE_MAX, sizeof g - 8}[pick(c, 5)];
  c->desc = copy_sized(&d, sizeof d, size, min_size);
  c->gradients = copy_sized(&g, sizeof g, size_g, sizeof size_g);
  if (size > sizeof d && size <= 65536 && seldom(c, 2)) c->desc[size - 1] = 1;
}

/* ---- The call ---- */

static void choose_sizes(struct call *c) {
  static const int64_t lengths[] = {3, 1, 2, 0, 5, 97, 7, 4}, widths[] = {4, 1, 0, 8, 17, 33};
  static const attn_dtype types[] = {ATTN_F32, ATTN_F64, ATTN_F16, ATTN_BF16};
  c->kind = (int)pick(c, CALLS);
  c->dtype = types[pick(c, 4)];
  c->b = (int64_t[]){1, 2, 0, 1}[pick(c, 4)], c->h = (int64_t[]){1, 2, 0, 1}[pick(c, 4)];
  c->hq = c->h * (1 + (int64_t)pick(c, 3));
  c->e = widths[pick(c, 6)], c->ev = widths[pick(c, 6)];
  c->l = lengths[pick(c, 8)], c->s = lengths[pick(c, 8)];
  if (!is_packed(c)) return;
  c->sequences = (int64_t)pick(c, MAX_SEQUENCES + 1);
  for (int side = 0; side < 2; side++) {
    for (int64_t n = 0; n < c->sequences; n++)
      c->starts[side][n + 1] = c->starts[side][n] + lengths[pick(c, 8)];
    *(side ? &c->s : &c->l) = c->starts[side][c->sequences];
  }
}

static attn_status run(struct call *c, attn_error *err) {
  const attn_sdpa *d = (const attn_sdpa *)(const void *)c->desc;
  const attn_sdpa_gradients *g = (const attn_sdpa_gradients *)(const void *)c->gradients;
  const attn_tensor *q = of(c, Q), *k = of(c, K), *v = of(c, V), *o = of(c, O), *d_o = of(c, D_O);
  attn_plan plan = {.struct_size = sizeof plan};
  attn_sdpa_report report = {.struct_size = sizeof report};
  if (c->no_desc) d = NULL;
  if (c->no_gradients) g = NULL;
  switch (c->kind) {
    case FORWARD:
      return attn_sdpa_forward(d, q, k, v, o, err);
    case BACKWARD:
      return attn_sdpa_backward(d, q, k, v, o, d_o, g, err);
    case FORWARD_PACKED:
      return attn_sdpa_forward_packed(d, q, k, v, o, of(c, STARTS_Q), of(c, STARTS_K), err);
    case BACKWARD_PACKED:
      return attn_sdpa_backward_packed(d, q, k, v, o, d_o, of(c, STARTS_Q), of(c, STARTS_K), g,
                                       err);
    case PLAN:
      return attn_sdpa_plan(d, q, k, v, o, &plan, err);
    default:
      return attn_sdpa_verify(d, q, k, v, o, unusual(c) % 5, 1, &report, err);
  }
}

static void require(int condition, const char *what, int slot) {
  if (condition) return;
  fprintf(stderr, "violated: %s, slot %d\n", what, slot);
  abort();
}

static void check(const struct call *c, attn_status status, const attn_error *err) {
  int written = status == ATTN_OK || status == ATTN_ERR_INTERRUPTED;
  require(status == err->status, "the error has another status", -1);
  require(!status || err->message[0], "an error without a message", -1);
  for (int n = 0; n < SLOTS; n++) {
    const struct slot *s = &c->slots[n];
    if (s->memory && !(written && is_output(c, n)))
      require(!memcmp(s->memory + s->misplaced, s->before, s->bytes),
              is_output(c, n) ? "a refused call wrote" : "an input was written", n);
  }
}

static void release(struct call *c) {
  for (int n = 0; n < SLOTS; n++) free(c->slots[n].memory), free(c->slots[n].before);
  free(c->desc), free(c->gradients), free(c->workspace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct call c = {.at = data, .end = data + size, .state = 88172645463325252u};
  attn_error err = {0};
  choose_sizes(&c);
  declare_all(&c);
  unsigned features = take(&c);
  features |= take(&c) << 8;
  static const int extra[] = {LSE, MASK,   LENGTHS, ALIBI, SINKS,    D_Q,       D_K,
                              D_V, D_MASK, D_SINKS, D_LSE, ADDITIVE, D_ADDITIVE};
  for (int n = 0; n < SLOTS; n++) c.slots[n].given = 1;
  for (size_t n = 0; n < sizeof extra / sizeof *extra; n++)
    c.slots[extra[n]].given = features >> n & 1;
  if (c.kind == BACKWARD || c.kind == BACKWARD_PACKED) c.slots[LSE].given = 1;
  c.slots[WEIGHTS].given = features >> 15 & 1;
  for (unsigned left = pick(&c, 4); left > 0; left--) lay_out(&c, (int)pick(&c, SLOTS));
  for (unsigned left = pick(&c, 3); left > 0; left--) corrupt(&c);
  for (int n = 0; n < SLOTS; n++) allocate(&c, n);
  c.no_desc = seldom(&c, 32), c.no_gradients = seldom(&c, 64);
  if (seldom(&c, 16)) alias(&c);
  for (int n = 0; n < SLOTS; n++)
    if (c.slots[n].memory)
      memcpy(c.slots[n].before, c.slots[n].memory + c.slots[n].misplaced, c.slots[n].bytes);
  set_desc(&c);
  attn_status status = run(&c, &err);
  check(&c, status, &err);
  release(&c);
  return 0;
}
