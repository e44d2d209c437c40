#include "attention_pack.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "attn/picture.h"
#include "error.h"

enum {
  FINEST = 65535,
  WEIGHTS_MAX = 1 << 28,
  BYTES_MAX = 1320000, /* 1.76 MB in base64 */
};

static attn_status no_memory(attn_error *err) {
  return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for the weights of a page");
}

/* ---- Measures of a head ---- */

double attn_mean_entropy(const attn_attention *a) {
  double sum = 0;
  for (int64_t n = 0; n < a->queries * a->keys; n++) {
    double w = (double)a->weights[n];
    if (w > 0) sum -= w * log(w);
  }
  return sum / (double)a->queries;
}

int attn_largest_weights(const attn_attention *a,
                         struct attn_largest_weight to[ATTN_PACK_LARGEST]) {
  int count = 0;
  for (int64_t n = 0; n < a->queries * a->keys; n++) {
    double w = (double)a->weights[n];
    if (!(w > (count == ATTN_PACK_LARGEST ? to[count - 1].weight : 0))) continue;
    int at = count < ATTN_PACK_LARGEST ? count++ : count - 1;
    for (; at > 0 && to[at - 1].weight < w; at--) to[at] = to[at - 1];
    to[at] = (struct attn_largest_weight){n / a->keys, n % a->keys, w};
  }
  return count;
}

/* ---- Heads by kind ---- */

static attn_status check_head(const attn_attention *a, const struct attn_packed_kind *like,
                              attn_error *err) {
  if (!a->weights || !a->query_tokens || !a->key_tokens)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "heads", "a head has no weights or no tokens");
  if (a->layer < 0 || a->head < 0)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "heads", "layer %d, head %d: both count from 0",
                     (int)a->layer, (int)a->head);
  if (a->queries < 1 || a->keys < 1 || a->queries > WEIGHTS_MAX / a->keys)
    return attn_fail(err, ATTN_ERR_SHAPE, "heads",
                     "a head has %lld queries and %lld keys; both must be at least 1, their "
                     "product at most 2^28",
                     (long long)a->queries, (long long)a->keys);
  if (like->heads && (like->queries != a->queries || like->keys != a->keys))
    return attn_fail(err, ATTN_ERR_SHAPE, "heads",
                     "heads of one kind have %lld x %lld and %lld x %lld weights; expected the "
                     "same",
                     (long long)like->queries, (long long)like->keys, (long long)a->queries,
                     (long long)a->keys);
  return ATTN_OK;
}

static attn_status sort_heads(const attn_attention *heads, int32_t count, struct attn_packed *p,
                              attn_error *err) {
  for (const attn_attention *a = heads; a < heads + count; a++) {
    if (a->kind < 0 || a->kind >= ATTN_PACK_KINDS)
      return attn_fail(err, ATTN_ERR_ARGUMENT, "heads", "unknown kind %d", (int)a->kind);
    struct attn_packed_kind *k = &p->kind[a->kind];
    attn_status status = check_head(a, k, err);
    if (status) return status;
    if (!k->head && !(k->head = calloc((size_t)count, sizeof *k->head))) return no_memory(err);
    k->head[k->heads++] = a, k->queries = a->queries, k->keys = a->keys;
    if (k->layers <= a->layer && a->layer < INT32_MAX) k->layers = a->layer + 1;
  }
  return ATTN_OK;
}

/* ---- Rounding ---- */

static uint16_t rounded(double weight) {
  if (!(weight > 0)) return 0;
  return weight >= 1 ? FINEST : (uint16_t)(weight * FINEST + 0.5);
}

static int has_every_layer(const struct attn_packed_kind *k) {
  for (int32_t layer = 0; layer < k->layers; layer++) {
    int32_t n = 0;
    while (n < k->heads && k->head[n]->layer != layer) n++;
    if (n == k->heads) return 0;
  }
  return 1;
}

static attn_status allocate(struct attn_packed_kind *k, int kind, attn_error *err) {
  if (kind != ATTN_ATTENTION_CROSS && k->queries == k->keys &&
      k->keys <= ATTN_MODEL_PAGE_ROLLOUT_MAX && k->layers <= k->heads && has_every_layer(k))
    k->rollouts = k->layers;
  int64_t maps = (int64_t)k->heads + k->rollouts, size = k->queries * k->keys;
  if (maps > WEIGHTS_MAX / size)
    return attn_fail(err, ATTN_ERR_SHAPE, "heads",
                     "%lld maps of %lld x %lld weights exceed 2^28 weights; shorten the text",
                     (long long)maps, (long long)k->queries, (long long)k->keys);
  k->level = malloc((size_t)(maps * size) * sizeof *k->level);
  return k->level ? ATTN_OK : no_memory(err);
}

static void round_heads(struct attn_packed_kind *k) {
  const int64_t size = k->queries * k->keys;
  for (int32_t h = 0; h < k->heads; h++)
    for (int64_t n = 0; n < size; n++)
      k->level[h * size + n] = rounded((double)k->head[h]->weights[n]);
}

/* ---- Rollout: R_l = (A_l + I) / 2 R_(l-1), R_(-1) = I [Abnar20] ---- */

/* step = (A_layer + I) / 2 with A the mean over the heads of the layer. */
static void mix_layer(const struct attn_packed_kind *k, int32_t layer, double *step) {
  const int64_t n = k->keys;
  int32_t heads = 0;
  memset(step, 0, (size_t)(n * n) * sizeof *step);
  for (int32_t h = 0; h < k->heads; h++) {
    if (k->head[h]->layer != layer) continue;
    heads++;
    for (int64_t at = 0; at < n * n; at++) step[at] += (double)k->head[h]->weights[at];
  }
  for (int64_t at = 0; at < n * n; at++) step[at] /= 2.0 * heads;
  for (int64_t i = 0; i < n; i++) step[i * n + i] += 0.5;
}

static void multiply(const double *a, const double *b, int64_t n, double *c) {
  memset(c, 0, (size_t)(n * n) * sizeof *c);
  for (int64_t i = 0; i < n; i++)
    for (int64_t k = 0; k < n; k++) {
      const double x = a[i * n + k];
      if (x == 0) continue;
      for (int64_t j = 0; j < n; j++) c[i * n + j] += x * b[k * n + j];
    }
}

static attn_status roll_out(struct attn_packed_kind *k, attn_error *err) {
  const int64_t n = k->keys, size = n * n;
  double *block = calloc((size_t)size, 3 * sizeof *block);
  if (!block) return no_memory(err);
  double *step = block, *before = block + size, *now = block + 2 * size;
  for (int64_t i = 0; i < n; i++) before[i * n + i] = 1;
  for (int32_t layer = 0; layer < k->rollouts; layer++) {
    uint16_t *level = k->level + (k->heads + layer) * size;
    mix_layer(k, layer, step);
    multiply(step, before, n, now);
    for (int64_t at = 0; at < size; at++) level[at] = rounded(now[at]);
    double *last = before;
    before = now, now = last;
  }
  free(block);
  return ATTN_OK;
}

/* ---- Deflating ---- */

static int deflate_bytes(z_stream *z, const unsigned char *from, size_t count, int last) {
  z->next_in = (unsigned char *)(uintptr_t)from, z->avail_in = (uInt)count;
  for (int result = Z_OK; z->avail_in || (last && result != Z_STREAM_END);) {
    result = deflate(z, last ? Z_FINISH : Z_NO_FLUSH);
    if (result != Z_OK && result != Z_STREAM_END) return -1; /* the bound was too small */
  }
  return 0;
}

/* The levels of a coarser scale, shifted down to the byte of a plane. */
static int deflate_plane(z_stream *z, const struct attn_packed_kind *k, int32_t levels, int shift,
                         int last) {
  unsigned char part[4096];
  const int64_t count = ((int64_t)k->heads + k->rollouts) * k->queries * k->keys;
  for (int64_t from = 0; from < count;) {
    size_t n = 0;
    for (; n < sizeof part && from < count; n++, from++)
      part[n] =
          (unsigned char)(((uint32_t)k->level[from] * (uint32_t)levels + FINEST / 2) / FINEST >>
                          shift);
    if (deflate_bytes(z, part, n, last && from == count)) return -1;
  }
  return 0;
}

static attn_status deflate_kind(struct attn_packed_kind *k, int32_t levels, int strategy,
                                attn_error *err) {
  z_stream z = {.next_in = NULL};
  const int64_t count = ((int64_t)k->heads + k->rollouts) * k->queries * k->keys;
  free(k->bytes), k->bytes = NULL;
  if (deflateInit2(&z, 6, Z_DEFLATED, MAX_WBITS, 8, strategy) != Z_OK) return no_memory(err);
  const uLong capacity = deflateBound(&z, (uLong)count * (levels > 255 ? 2 : 1));
  k->bytes = malloc(capacity);
  z.next_out = k->bytes, z.avail_out = (uInt)capacity;
  int failed = !k->bytes;
  if (!failed && levels > 255) failed = deflate_plane(&z, k, levels, 8, 0);
  if (!failed) failed = deflate_plane(&z, k, levels, 0, 1);
  k->size = (size_t)z.total_out;
  deflateEnd(&z);
  return failed ? no_memory(err) : ATTN_OK;
}

/* The finest scale that fits. Codes without matches are shorter for diffuse weights, which have no
 * repetitions, and longer for the others. */
static attn_status deflate_all(struct attn_packed *p, attn_error *err) {
  static const int32_t scales[] = {FINEST, 4095, 255, 127};
  size_t size = BYTES_MAX + 1;
  for (size_t n = 0; n < 2 * sizeof scales / sizeof *scales && size > BYTES_MAX; n++) {
    p->levels = scales[n / 2], size = 0;
    for (int kind = 0; kind < ATTN_PACK_KINDS; kind++) {
      struct attn_packed_kind *k = &p->kind[kind];
      if (!k->heads) continue;
      attn_status status =
          deflate_kind(k, p->levels, n % 2 ? Z_HUFFMAN_ONLY : Z_DEFAULT_STRATEGY, err);
      if (status) return status;
      size += k->size;
    }
  }
  return ATTN_OK;
}

attn_status attn_pack(const attn_attention *heads, int32_t count, struct attn_packed *to,
                      attn_error *err) {
  memset(to, 0, sizeof *to);
  attn_status status = sort_heads(heads, count, to, err);
  for (int kind = 0; kind < ATTN_PACK_KINDS && !status; kind++) {
    struct attn_packed_kind *k = &to->kind[kind];
    if (!k->heads) continue;
    status = allocate(k, kind, err);
    if (!status) round_heads(k);
    if (!status && k->rollouts) status = roll_out(k, err);
  }
  if (!status) status = deflate_all(to, err);
  for (int kind = 0; kind < ATTN_PACK_KINDS; kind++)
    free(to->kind[kind].level), to->kind[kind].level = NULL;
  return status;
}

uint16_t *attn_pack_mean(const struct attn_packed_kind *k, int32_t layer, int32_t head) {
  const int64_t size = k->queries * k->keys;
  double *sum = calloc((size_t)size, sizeof *sum);
  uint16_t *level = malloc((size_t)size * sizeof *level);
  int32_t count = 0;
  for (int32_t h = 0; h < k->heads && sum; h++) {
    const attn_attention *a = k->head[h];
    if ((layer && a->layer != layer - 1) || (head && a->head != head - 1)) continue;
    count++;
    for (int64_t n = 0; n < size; n++) sum[n] += (double)a->weights[n];
  }
  for (int64_t n = 0; n < size && sum && level; n++) level[n] = rounded(sum[n] / count);
  if (!sum) free(level), level = NULL;
  free(sum);
  return level;
}

void attn_pack_free(struct attn_packed *p) {
  for (int kind = 0; kind < ATTN_PACK_KINDS; kind++)
    free((void *)p->kind[kind].head), free(p->kind[kind].bytes);
}
