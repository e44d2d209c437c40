/* Decoding with a paged int8 KV cache: a prompt, then one token at a time. Halfway the sequence
 * forks into two beams, which share pages until they grow.
 *
 *     cc 04_kv_cache.c $(pkg-config --cflags --libs libattn)
 */
#include <attn/attn.h>
#include <stdio.h>

enum { QUERY_HEADS = 4, HEADS = 2, WIDTH = 32, PROMPT = 20, STEPS = 8, BEAMS = 2 };

static float k[BEAMS * HEADS * PROMPT * WIDTH], v[BEAMS * HEADS * PROMPT * WIDTH];
static float q[BEAMS * QUERY_HEADS * WIDTH], o[BEAMS * QUERY_HEADS * WIDTH];

/* Stands in for a model's projections. */
static void next(float *x, int count) {
  static uint32_t seed = 1;
  for (int n = 0; n < count; n++) {
    seed = seed * 1664525u + 1013904223u;
    x[n] = (float)(seed >> 8) / 16777216.0f - 0.5f;
  }
}

/* Appends tokens to each of the first sequences. */
static attn_status append(attn_cache *cache, int64_t sequences, int64_t tokens, attn_error *err) {
  attn_tensor tk = attn_tensor_dense(ATTN_F32, k, sequences, HEADS, tokens, WIDTH);
  attn_tensor tv = attn_tensor_dense(ATTN_F32, v, sequences, HEADS, tokens, WIDTH);
  next(k, (int)(sequences * tokens) * HEADS * WIDTH);
  next(v, (int)(sequences * tokens) * HEADS * WIDTH);
  return attn_cache_append(cache, NULL, sequences, &tk, &tv, err);
}

/* Attends from the last token of each sequence. Aligned to the bottom right, it sees all cached
 * keys. */
static attn_status decode(const attn_cache *cache, int64_t sequences, attn_error *err) {
  attn_tensor tq = attn_tensor_dense(ATTN_F32, q, sequences, QUERY_HEADS, 1, WIDTH), to = tq;
  attn_sdpa call = ATTN_SDPA_INIT;
  call.flags = ATTN_SDPA_CAUSAL, call.align = ATTN_ALIGN_BOTTOM_RIGHT;
  to.data = o;
  next(q, (int)sequences * QUERY_HEADS * WIDTH);
  return attn_sdpa_forward_cached(&call, &tq, cache, NULL, sequences, &to, err);
}

int main(void) {
  attn_cache_config config = ATTN_CACHE_CONFIG_INIT;
  config.num_kv_heads = HEADS, config.head_dim = config.value_head_dim = WIDTH;
  config.sequences = BEAMS, config.capacity = 64, config.page_size = 16;
  config.dtype = ATTN_I8;
  attn_error err;
  attn_cache *cache = NULL;
  size_t bytes = 0;
  attn_status status = attn_cache_measure(&config, &bytes, &err);
  if (!status) status = attn_cache_new(&config, &cache, &err);
  if (!status) status = append(cache, 1, PROMPT, &err);
  for (int step = 0; step < STEPS && !status; step++) {
    int64_t beams = step < STEPS / 2 ? 1 : BEAMS;
    if (step == STEPS / 2) status = attn_cache_fork(cache, 0, 1, &err);
    if (!status) status = append(cache, beams, 1, &err);
    if (!status) status = decode(cache, beams, &err);
  }
  if (status)
    fprintf(stderr, "%s: %s\n", err.argument, err.message);
  else
    printf("%d and %d tokens in %zu bytes, %d pages free, o[0] = %.6f\n",
           (int)attn_cache_length(cache, 0), (int)attn_cache_length(cache, 1), bytes,
           (int)attn_cache_num_free_pages(cache), (double)o[0]);
  attn_cache_free(cache);
  return status != ATTN_OK;
}
