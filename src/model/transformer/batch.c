#include "batch.h"

#include <stdlib.h>

#include "error.h"

enum batch_side { SOURCE, TARGET };

static int allocate(struct attn_batch *b) {
  const int64_t counts[] = {b->positions ? b->max_sequences * b->positions : b->max_tokens,
                            b->max_tokens};
  int whole = 1;
  for (int side = 0; side < 2; side++) {
    size_t count = (size_t)counts[side];
    b->tokens[side] = malloc(count * sizeof *b->tokens[side]);
    b->position_ids[side] = malloc(count * sizeof *b->position_ids[side]);
    b->starts[side] = calloc((size_t)b->max_sequences + 1, sizeof *b->starts[side]);
    whole &= b->tokens[side] && b->position_ids[side] && b->starts[side];
  }
  b->labels = malloc((size_t)b->max_tokens * sizeof *b->labels);
  if (b->values) b->pixels = malloc((size_t)(b->max_sequences * b->values) * sizeof *b->pixels);
  return whole && b->labels && (b->pixels || !b->values);
}

attn_status attn_batch_new(const struct attn_model_config *c, int64_t sequences, int64_t tokens,
                           struct attn_batch **batch, attn_error *err) {
  const int64_t side = attn_model_grid_size(c);
  const int has_images = c->kind == ATTN_VISION_ENCODER_DECODER;
  struct attn_batch *b = calloc(1, sizeof *b);
  if (b) b->kind = c->kind, b->max_sequences = sequences, b->max_tokens = tokens;
  if (b && has_images) b->positions = side * side, b->values = c->image_size * c->image_size * 3;
  if (!b || !allocate(b)) {
    attn_batch_free(b);
    return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for batches of %lld %s",
                     (long long)(has_images ? sequences : tokens),
                     has_images ? "images" : "tokens");
  }
  attn_batch_clear(b);
  *batch = b;
  return ATTN_OK;
}

void attn_batch_free(struct attn_batch *b) {
  if (!b) return;
  for (int side = 0; side < 2; side++)
    free(b->tokens[side]), free(b->position_ids[side]), free(b->starts[side]);
  free(b->labels), free(b->pixels), free(b);
}

void attn_batch_clear(struct attn_batch *b) {
  b->sequences = 0;
  b->source = (struct attn_token_batch){.tokens = b->tokens[SOURCE],
                                        .position_ids = b->position_ids[SOURCE],
                                        .starts = b->starts[SOURCE],
                                        .pixels = b->pixels,
                                        .values = b->values};
  b->target = (struct attn_token_batch){.tokens = b->tokens[TARGET],
                                        .position_ids = b->position_ids[TARGET],
                                        .starts = b->starts[TARGET]};
}

static void put(struct attn_batch *b, int side, struct attn_token_batch *text, int32_t token) {
  int64_t start = b->starts[side][text->sequences];
  b->tokens[side][text->n] = token;
  b->position_ids[side][text->n] = (int32_t)(text->n - start);
  text->n++;
}

static void end_sequence(struct attn_batch *b, int side, struct attn_token_batch *text) {
  b->starts[side][++text->sequences] = text->n;
}

/* Counts include END and BEGIN. */
static int fits(const struct attn_batch *b, int64_t source, int64_t target) {
  return b->sequences < b->max_sequences && (b->pixels || b->source.n + source <= b->max_tokens) &&
         b->target.n + target <= b->max_tokens;
}

static void put_source(struct attn_batch *b, const int32_t *source, int64_t count) {
  for (int64_t n = 0; n < count; n++) put(b, SOURCE, &b->source, source[n]);
  put(b, SOURCE, &b->source, ATTN_TOKEN_END);
  end_sequence(b, SOURCE, &b->source);
}

static void put_target(struct attn_batch *b, const int32_t *target, int64_t count) {
  for (int64_t n = 0; n <= count; n++) {
    b->labels[b->target.n] = n < count ? target[n] : ATTN_TOKEN_END;
    put(b, TARGET, &b->target, n ? target[n - 1] : ATTN_TOKEN_BEGIN);
  }
  end_sequence(b, TARGET, &b->target);
}

int attn_batch_add(struct attn_batch *b, const int32_t *source, int64_t source_count,
                   const int32_t *target, int64_t target_count) {
  const int is_encoder = b->kind == ATTN_ENCODER;
  if (b->pixels || !fits(b, source_count + 1, is_encoder ? 0 : target_count + 1) ||
      (is_encoder && target_count > source_count))
    return 0;
  for (int64_t n = 0; is_encoder && n <= source_count; n++)
    b->labels[b->source.n + n] = n < target_count ? target[n] : ATTN_TOKEN_END;
  put_source(b, source, source_count);
  if (!is_encoder) put_target(b, target, target_count);
  b->sequences++;
  return 1;
}

void attn_pixels_to_float(const unsigned char *rgb, int64_t n, float *to) {
  for (int64_t k = 0; k < n; k++) to[k] = (float)rgb[k] * (2 / 255.0f) - 1;
}

int attn_batch_add_image(struct attn_batch *b, const unsigned char *rgb, const int32_t *target,
                         int64_t target_count) {
  if (!b->pixels || !fits(b, 0, target_count + 1)) return 0;
  if (rgb) attn_pixels_to_float(rgb, b->values, b->pixels + b->sequences * b->values);
  for (int64_t n = 0; n < b->positions; n++) put(b, SOURCE, &b->source, (int32_t)n);
  end_sequence(b, SOURCE, &b->source), put_target(b, target, target_count);
  b->sequences++;
  return 1;
}

/* ---- Token batches ---- */

attn_status attn_tokens_check(const int32_t *tokens, int64_t n, int64_t vocab_size,
                              const char *name, attn_error *err) {
  for (; n > 0; n--, tokens++)
    if (*tokens < 0 || *tokens >= vocab_size)
      return attn_fail(err, ATTN_ERR_ARGUMENT, name,
                       "token %d is outside the vocabulary (size %lld)", (int)*tokens,
                       (long long)vocab_size);
  return ATTN_OK;
}

int64_t attn_token_batch_longest(const struct attn_token_batch *b) {
  int64_t longest = 1;
  for (int64_t n = 0; n < b->sequences; n++) {
    int64_t length = b->starts[n + 1] - b->starts[n];
    if (length > longest) longest = length;
  }
  return longest;
}

attn_status attn_token_batch_slice_new(struct attn_token_batch_slice *slice,
                                       const struct attn_token_batch *all, int64_t first,
                                       int64_t count, attn_error *err) {
  int64_t from = all->starts[first], n = all->starts[first + count] - from;
  slice->starts = calloc((size_t)count + 1, sizeof *slice->starts);
  slice->position_ids = calloc((size_t)n + 1, sizeof *slice->position_ids);
  if (!slice->starts || !slice->position_ids)
    return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for %lld tokens", (long long)n);
  for (int64_t s = 0; s < count; s++) {
    int64_t start = slice->starts[s],
            end = slice->starts[s + 1] = all->starts[first + s + 1] - from;
    for (int64_t t = start; t < end; t++) slice->position_ids[t] = (int32_t)(t - start);
  }
  slice->text = (struct attn_token_batch){
      .n = n,
      .sequences = count,
      .tokens = all->tokens + from,
      .position_ids = slice->position_ids,
      .starts = slice->starts,
      .token_type_ids = all->token_type_ids ? all->token_type_ids + from : NULL,
      .pixels = all->pixels ? all->pixels + first * all->values : NULL,
      .values = all->values};
  return ATTN_OK;
}

void attn_token_batch_slice_free(struct attn_token_batch_slice *slice) {
  free(slice->position_ids), free(slice->starts);
}
