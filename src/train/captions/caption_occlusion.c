#include "caption_occlusion.h"

#include <stdlib.h>
#include <string.h>

#include "attn/train.h"
#include "error.h"
#include "image.h"
#include "inspect.h"

int64_t attn_largest_weight(const double *row, int64_t count) {
  int64_t best = 0;
  for (int64_t n = 1; n < count; n++)
    if (row[n] > row[best]) best = n;
  return best;
}

struct attn_pixel_span attn_occlusion_span(int64_t index, int64_t grid, int side) {
  double w = (double)side / (double)grid, c = (double)index * w + 0.5;
  return (struct attn_pixel_span){c - w / 2, c + w / 2};
}

static int size_of(const struct attn_covered_picture *o) { return o->side / 3; }

static int clamp(int value, int low, int high) {
  return value < low ? low : value > high ? high : value;
}

/* The left side of a square around the centre of a grid position. */
static int square_at(const struct attn_covered_picture *o, int64_t index, int64_t grid) {
  struct attn_pixel_span s = attn_occlusion_span(index, grid, o->side);
  return clamp((int)((s.from + s.to) / 2) - size_of(o) / 2, 0, o->side - size_of(o));
}

static void cover(const struct attn_covered_picture *o, int x, int y) {
  memcpy(o->covered, o->rgb, (size_t)(o->side * o->side * 3));
  for (int row = y; row < y + size_of(o); row++)
    for (int col = x; col < x + size_of(o); col++)
      memcpy(o->covered + (row * o->side + col) * 3, o->fill, 3);
}

static attn_status predict(struct attn_caption_probe *p, const struct attn_covered_picture *o,
                           int x, int y, int64_t n, int32_t *token, attn_error *err) {
  const attn_tensor image = attn_image_tensor(o->covered, ATTN_U8, o->side, o->side);
  cover(o, x, y);
  attn_status status = attn_caption_probe_predict(p, &image, err);
  *token = p->predicted[n];
  return status;
}

attn_status attn_occlude_word(struct attn_caption_probe *p, const struct attn_covered_picture *o,
                              int64_t n, struct attn_random_stream *random,
                              struct attn_occluded_word *w, attn_error *err) {
  const int64_t grid = attn_model_grid_size(&p->model->network->config), count = grid * grid;
  const int size = size_of(o);
  const uint32_t places = (uint32_t)(o->side - size + 1);
  w->place = attn_largest_weight(p->seen + n * count, count);
  w->x = square_at(o, w->place % grid, grid), w->y = square_at(o, w->place / grid, grid);
  do {
    w->other_x = (int)attn_random_below(random, places);
    w->other_y = (int)attn_random_below(random, places);
  } while (abs(w->other_x - w->x) < size && abs(w->other_y - w->y) < size);
  attn_status status = predict(p, o, w->other_x, w->other_y, n, &w->control, err);
  return status ? status : predict(p, o, w->x, w->y, n, &w->changed, err);
}

/* ---- A caption ---- */

int attn_occlusion_applies(const struct attn_model *model) {
  const struct attn_model_config *c = &model->network->config;
  return !attn_model_is_recurrent(c) ||
         (c->alignment != ATTN_ALIGN_UNIFORM && c->alignment != ATTN_ALIGN_NONE);
}

/* Begins with a scaled image, and the median of each channel, mostly the background's, as fill. */
static attn_status cover_nothing(struct attn_covered_picture *o, const attn_tensor *image,
                                 attn_error *err) {
  o->rgb = image->data, o->side = (int)image->shape[0];
  const int pixels = o->side * o->side;
  if (!(o->covered = malloc((size_t)(3 * pixels))))
    return attn_fail(err, ATTN_ERR_MEMORY, NULL, "out of memory: a picture");
  for (int c = 0; c < 3; c++) {
    int count[256] = {0}, below = 0, value = 0;
    for (int n = 0; n < pixels; n++) count[o->rgb[3 * n + c]]++;
    while ((below += count[value]) * 2 < pixels) value++;
    o->fill[c] = (unsigned char)value;
  }
  return ATTN_OK;
}

struct occlusion_run {
  struct attn_caption_probe probe;
  struct attn_covered_picture picture;
  int32_t *whole; /* predictions from the whole picture */
  int (*visit)(void *context, const attn_occlusion *occlusion);
  void *context;
};

/* The visited word's texts, to be freed. */
enum { TOKEN, PREDICTED, OCCLUDED, CONTROL, TEXTS };

static attn_status visit_word(const struct occlusion_run *r, int64_t n,
                              const struct attn_occluded_word *w, attn_error *err) {
  const struct attn_model *model = r->probe.model;
  const int64_t grid = attn_model_grid_size(&model->network->config);
  const struct attn_covered_picture *o = &r->picture;
  const attn_tensor image = attn_image_tensor(o->covered, ATTN_U8, o->side, o->side);
  const int32_t ids[TEXTS] = {r->probe.tokens[n], r->whole[n], w->changed, w->control};
  char *text[TEXTS] = {NULL};
  attn_status status = ATTN_OK;
  for (int k = 0; k < TEXTS; k++)
    if (!(text[k] = attn_inspection_token_text(model, ids[k])))
      status = attn_fail(err, ATTN_ERR_MEMORY, NULL, "out of memory: a caption");
  const attn_occlusion occlusion = {.index = n,
                                    .count = r->probe.words,
                                    .token = text[TOKEN],
                                    .predicted = text[PREDICTED],
                                    .occluded = text[OCCLUDED],
                                    .control = text[CONTROL],
                                    .row = (int32_t)(w->place / grid),
                                    .column = (int32_t)(w->place % grid),
                                    .occluded_image = &image};
  if (!status && r->visit(r->context, &occlusion))
    status = attn_fail(err, ATTN_ERR_INTERRUPTED, "visit", "stopped by visit");
  for (int k = 0; k < TEXTS; k++) free(text[k]);
  return status;
}

static attn_status occlude_words(struct occlusion_run *r, uint64_t seed, attn_error *err) {
  struct attn_caption_probe *p = &r->probe;
  const size_t bytes = (size_t)(p->words + 1) * sizeof *p->predicted;
  if (!(r->whole = malloc(bytes)))
    return attn_fail(err, ATTN_ERR_MEMORY, NULL, "out of memory: a caption");
  memcpy(r->whole, p->predicted, bytes);
  attn_status status = ATTN_OK;
  for (int64_t n = 0; n < p->words && !status; n++) {
    struct attn_random_stream random = {.seed = seed, .n = (uint64_t)n};
    struct attn_occluded_word w;
    status = attn_occlude_word(p, &r->picture, n, &random, &w, err);
    if (!status) status = visit_word(r, n, &w, err);
  }
  return status;
}

attn_status attn_model_occlude_caption(const attn_model *model, const attn_tensor *image,
                                       const char *caption, uint64_t seed,
                                       int (*visit)(void *context, const attn_occlusion *occlusion),
                                       void *context, attn_error *err) {
  const struct attn_model_config *c = &model->network->config;
  const attn_image_config config = attn_image_config_square(c->image_size);
  struct occlusion_run r = {.visit = visit, .context = context};
  attn_array scaled;
  if (c->kind != ATTN_VISION_ENCODER_DECODER)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "model", "the model reads texts, not images");
  if (!caption) return attn_fail(err, ATTN_ERR_ARGUMENT, "caption", "caption is NULL");
  if (!attn_occlusion_applies(model))
    return attn_fail(err, ATTN_ERR_ARGUMENT, "model",
                     "the model looks at all places equally: there is none to cover");
  attn_status status = attn_image_resize(image, &config, &scaled, err);
  if (!status) status = cover_nothing(&r.picture, &scaled.tensor, err);
  if (!status) status = attn_caption_probe_open(&r.probe, model, &scaled.tensor, caption, err);
  if (!status) status = occlude_words(&r, seed, err);
  attn_caption_probe_close(&r.probe);
  free(r.whole), free(r.picture.covered), attn_array_free(&scaled);
  return status;
}
