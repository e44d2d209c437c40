#include "dataset.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "caption_files.h"
#include "error.h"
#include "image.h"
#include "scene.h"
#include "watch.h"

enum { CAPACITY = 1 << 17 }; /* bytes, and tokens: two lines of 2^16 bytes each */

attn_status attn_dataset_init(struct attn_dataset *d, attn_error *err) {
  d->prompt = malloc(CAPACITY);
  for (int side = 0; side < 2; side++) d->tokens[side] = malloc(CAPACITY * sizeof(int32_t));
  if (d->prompt && d->tokens[ATTN_SOURCE] && d->tokens[ATTN_TARGET]) return ATTN_OK;
  attn_dataset_free(d);
  return attn_fail(err, ATTN_ERR_MEMORY, NULL, "out of memory: examples");
}

void attn_dataset_free(struct attn_dataset *d) {
  free(d->prompt), free(d->tokens[ATTN_SOURCE]), free(d->tokens[ATTN_TARGET]), free(d->rgb);
  free(d->drawn), attn_picture_cache_free(&d->cache);
  d->prompt = NULL, d->rgb = d->drawn = NULL,
  d->tokens[ATTN_SOURCE] = d->tokens[ATTN_TARGET] = NULL;
}

int64_t attn_dataset_max_length(const struct attn_dataset *d) {
  return d->max_positions < CAPACITY ? d->max_positions : CAPACITY;
}

/* Appends the tokens of text to a side. */
static attn_status encode(struct attn_dataset *d, int side, struct attn_text_view text,
                          const struct attn_text_pair *pair, attn_error *err) {
  size_t count = 0, used = (size_t)d->counts[side];
  attn_error cause;
  attn_status status =
      attn_tokenizer_encode(d->tokenizer, text.text, text.length, d->tokens[side] + used,
                            CAPACITY - used, &count, &cause);
  if (status) return attn_text_pair_fail(pair, status, cause.message, err);
  d->counts[side] += (int64_t)count;
  if (d->counts[side] < d->max_positions) return ATTN_OK;
  snprintf(cause.message, sizeof cause.message,
           "%lld tokens; the model has positions for %lld and the end token",
           (long long)d->counts[side], (long long)d->max_positions - 1);
  return attn_text_pair_fail(pair, ATTN_ERR_FORMAT, cause.message, err);
}

/* Encodes the prompt separately from the target, as attn_model_generate does: tokens must not merge
 * across the tab, or the end of a prefix. */
static attn_status encode_prompt(struct attn_dataset *d, const struct attn_text_pair *pair,
                                 attn_error *err) {
  size_t length = pair->source.length;
  if (!pair->source.text) return ATTN_OK;
  memcpy(d->prompt, pair->source.text, length);
  d->prompt[length] = '\t';
  return encode(d, ATTN_TARGET, (struct attn_text_view){d->prompt, length + 1}, pair, err);
}

static attn_status encode_prefix(struct attn_dataset *d, const struct attn_text_pair *pair,
                                 attn_error *err) {
  if (d->kind == ATTN_ENCODER && pair->prefix.text)
    return attn_text_pair_fail(pair, ATTN_ERR_ARGUMENT,
                               "the task requires a decoder, which reads the question", err);
  attn_status status = ATTN_OK;
  if (pair->prefix.text) status = encode(d, ATTN_TARGET, pair->prefix, pair, err);
  d->prompt_count = d->counts[ATTN_TARGET];
  return status;
}

static attn_status check_labels(const struct attn_dataset *d, const struct attn_text_pair *pair,
                                attn_error *err) {
  char message[128];
  if (d->kind != ATTN_ENCODER || d->counts[ATTN_TARGET] <= d->counts[ATTN_SOURCE]) return ATTN_OK;
  snprintf(
      message, sizeof message,
      "the target has %lld tokens, its source %lld: an encoder predicts one token per position",
      (long long)d->counts[ATTN_TARGET], (long long)d->counts[ATTN_SOURCE]);
  return attn_text_pair_fail(pair, ATTN_ERR_FORMAT, message, err);
}

attn_status attn_dataset_get(struct attn_dataset *d, uint64_t n, int validation, attn_error *err) {
  struct attn_text_pair pair;
  d->counts[ATTN_SOURCE] = d->counts[ATTN_TARGET] = d->prompt_count = 0;
  attn_status status = attn_text_pairs_get(d->pairs, n, validation, &pair, err);
  if (status) return status;
  if (d->kind == ATTN_DECODER)
    status = encode_prompt(d, &pair, err);
  else if (d->kind != ATTN_VISION_ENCODER_DECODER)
    status = encode(d, ATTN_SOURCE, pair.source, &pair, err);
  if (!status) status = encode_prefix(d, &pair, err);
  if (!status) status = encode(d, ATTN_TARGET, pair.target, &pair, err);
  return status ? status : check_labels(d, &pair, err);
}

/* ---- Pictures ---- */

/* Takes a scaled picture. */
static void take(const struct attn_dataset *d, attn_array *image) {
  memcpy(d->rgb, image->tensor.data, (size_t)(d->image_size * d->image_size * 3));
  attn_array_free(image);
}

static attn_status draw(const struct attn_dataset *d, int64_t side, uint64_t n, int validation,
                        attn_error *err) {
  const attn_tensor image = attn_image_tensor(d->drawn, ATTN_U8, side, side);
  const attn_image_config config = attn_image_config_square(d->image_size);
  attn_array result;
  struct attn_scene scene;
  attn_text_pairs_scene(d->pairs, n, validation, &scene);
  attn_scene_render(&scene, d->drawn);
  if (d->image_size == side) return memcpy(d->rgb, d->drawn, (size_t)(side * side * 3)), ATTN_OK;
  attn_status status = attn_image_resize(&image, &config, &result, err);
  if (!status) take(d, &result);
  return status;
}

static attn_status read_file(struct attn_dataset *d, uint64_t n, int validation, attn_error *err) {
  const attn_image_config config = attn_image_config_square(d->image_size);
  struct attn_text_pair pair;
  attn_array image;
  attn_status status = attn_text_pairs_get(d->pairs, n, validation, &pair, err);
  if (status) return status;
  const size_t bytes = (size_t)(d->image_size * d->image_size * 3);
  const unsigned char *cached = attn_picture_cache_find(&d->cache, pair.source);
  if (cached) return memcpy(d->rgb, cached, bytes), ATTN_OK;
  if ((status = attn_captions_image(d->folder, &pair, &config, &image, err))) return status;
  take(d, &image);
  attn_picture_cache_add(&d->cache, pair.source, d->rgb, bytes);
  return ATTN_OK;
}

attn_status attn_dataset_get_picture(struct attn_dataset *d, uint64_t n, int validation,
                                     attn_error *err) {
  const struct attn_task *task = attn_text_pairs_task(d->pairs);
  if (d->kind != ATTN_VISION_ENCODER_DECODER) return ATTN_OK;
  if (!d->rgb) d->rgb = malloc((size_t)(d->image_size * d->image_size * 3));
  if (!d->drawn && task) d->drawn = malloc((size_t)(task->picture_side * task->picture_side * 3));
  if (!d->rgb || (task && !d->drawn))
    return attn_fail(err, ATTN_ERR_MEMORY, NULL, "out of memory: a picture");
  return task ? draw(d, task->picture_side, n, validation, err) : read_file(d, n, validation, err);
}

attn_status attn_dataset_measure(struct attn_dataset *d, int64_t count, int validation,
                                 struct attn_watch *watch, struct attn_length_stats *stats,
                                 attn_error *err) {
  attn_status status = ATTN_OK;
  for (int64_t n = 0; n < count && !status; n++) {
    status = attn_watch_report(watch, n, count, err);
    if (!status) status = attn_dataset_get(d, (uint64_t)n, validation, err);
    const int64_t *counts = d->counts;
    int longer = counts[ATTN_SOURCE] > counts[ATTN_TARGET] ? ATTN_SOURCE : ATTN_TARGET;
    if (counts[longer] + 1 > stats->longest) stats->longest = counts[longer] + 1;
    stats->total += counts[longer] + 1, stats->count++;
  }
  return status;
}
