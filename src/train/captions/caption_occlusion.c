#include "caption_occlusion.h"

#include <stdlib.h>
#include <string.h>

#include "attn/io.h"
#include "attn/train.h"
#include "error.h"
#include "inspect.h"

int64_t attn_occlusion_largest(const double *row, int64_t count) {
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
  const attn_tensor image = {o->covered, ATTN_U8, 3, {o->side, o->side, 3}, {o->side * 3, 3, 1}};
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
  w->place = attn_occlusion_largest(p->seen + n * count, count);
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

/* The median of each channel: mostly that of the background. */
static void set_fill(struct attn_covered_picture *o) {
  const int pixels = o->side * o->side;
  for (int c = 0; c < 3; c++) {
    int count[256] = {0}, below = 0, value = 0;
    for (int n = 0; n < pixels; n++) count[o->rgb[3 * n + c]]++;
    while ((below += count[value]) * 2 < pixels) value++;
    o->fill[c] = (unsigned char)value;
  }
}

/* The visited word's texts, to be freed. */
enum { TOKEN, PREDICTED, OCCLUDED, CONTROL, TEXTS };

static attn_status visit_word(const struct attn_caption_probe *p, const int32_t *whole,
                              const struct attn_covered_picture *o, int64_t n,
                              const struct attn_occluded_word *w,
                              int (*visit)(void *context, const attn_occlusion *occlusion),
                              void *context, attn_error *err) {
  const int64_t grid = attn_model_grid_size(&p->model->network->config);
  const attn_tensor image = {o->covered, ATTN_U8, 3, {o->side, o->side, 3}, {o->side * 3, 3, 1}};
  const int32_t ids[TEXTS] = {p->tokens[n], whole[n], w->changed, w->control};
  char *text[TEXTS] = {NULL};
  attn_status status = ATTN_OK;
  for (int k = 0; k < TEXTS; k++)
    if (!(text[k] = attn_inspection_token_text(p->model, ids[k])))
      status = attn_fail(err, ATTN_ERR_MEMORY, NULL, "out of memory: a caption");
  const attn_occlusion occlusion = {.index = n,
                                    .count = p->words,
                                    .token = text[TOKEN],
                                    .predicted = text[PREDICTED],
                                    .occluded = text[OCCLUDED],
                                    .control = text[CONTROL],
                                    .row = (int32_t)(w->place / grid),
                                    .column = (int32_t)(w->place % grid),
                                    .occluded_image = &image};
  if (!status && visit(context, &occlusion))
    status = attn_fail(err, ATTN_ERR_INTERRUPTED, "visit", "stopped by visit");
  for (int k = 0; k < TEXTS; k++) free(text[k]);
  return status;
}

static attn_status occlude_words(struct attn_caption_probe *p, const struct attn_covered_picture *o,
                                 uint64_t seed,
                                 int (*visit)(void *context, const attn_occlusion *occlusion),
                                 void *context, attn_error *err) {
  const size_t bytes = (size_t)(p->words + 1) * sizeof *p->predicted;
  int32_t *whole = malloc(bytes);
  if (!whole) return attn_fail(err, ATTN_ERR_MEMORY, NULL, "out of memory: a caption");
  memcpy(whole, p->predicted, bytes); /* of the whole picture */
  attn_status status = ATTN_OK;
  for (int64_t n = 0; n < p->words && !status; n++) {
    struct attn_random_stream random = {.seed = seed, .n = (uint64_t)n};
    struct attn_occluded_word w;
    status = attn_occlude_word(p, o, n, &random, &w, err);
    if (!status) status = visit_word(p, whole, o, n, &w, visit, context, err);
  }
  free(whole);
  return status;
}

/* image: scaled. */
static attn_status occlude_image(const attn_model *model, const attn_tensor *image,
                                 const char *caption, uint64_t seed,
                                 int (*visit)(void *context, const attn_occlusion *occlusion),
                                 void *context, attn_error *err) {
  struct attn_caption_probe p;
  struct attn_covered_picture o = {.rgb = image->data, .side = (int)image->shape[0]};
  if (!(o.covered = malloc((size_t)(3 * o.side * o.side))))
    return attn_fail(err, ATTN_ERR_MEMORY, NULL, "out of memory: a picture");
  set_fill(&o);
  attn_status status = attn_caption_probe_open(&p, model, image, caption, err);
  if (!status) status = occlude_words(&p, &o, seed, visit, context, err);
  attn_caption_probe_close(&p);
  free(o.covered);
  return status;
}

attn_status attn_model_occlude_caption(const attn_model *model, const attn_tensor *image,
                                       const char *caption, uint64_t seed,
                                       int (*visit)(void *context, const attn_occlusion *occlusion),
                                       void *context, attn_error *err) {
  const struct attn_model_config *c = &model->network->config;
  const attn_image_config config = {.struct_size = sizeof config,
                                    .height = (int32_t)c->image_size,
                                    .width = (int32_t)c->image_size,
                                    .dtype = ATTN_U8};
  attn_array scaled;
  if (c->kind != ATTN_VISION_ENCODER_DECODER)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "model", "the model reads texts, not images");
  if (!caption) return attn_fail(err, ATTN_ERR_ARGUMENT, "caption", "caption is NULL");
  if (!attn_occlusion_applies(model))
    return attn_fail(err, ATTN_ERR_ARGUMENT, "model",
                     "the model looks at all places equally: there is none to cover");
  attn_status status = attn_image_resize(image, &config, &scaled, err);
  if (status) return status;
  status = occlude_image(model, &scaled.tensor, caption, seed, visit, context, err);
  attn_array_free(&scaled);
  return status;
}
