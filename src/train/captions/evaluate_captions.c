#include "evaluate_captions.h"

#include <stdlib.h>
#include <string.h>

#include "caption_probe.h"
#include "error.h"

enum { GROUP = 64, SIDE = ATTN_SCENE_SIDE, BYTES = SIDE * SIDE * 3 };
enum { HIDDEN = SIDE / ATTN_SCENE_GRID }; /* pixels of a hidden square: a cell of the scene */
enum { HIDDEN_WORDS = 1000 };             /* enough: each takes two passes */

struct caption_evaluation_run {
  const struct attn_caption_evaluation *c;
  attn_evaluation *result;
  attn_generation_config generation;
  struct attn_scene scenes[GROUP];
  struct attn_caption captions[GROUP];
  unsigned char rgb[GROUP][BYTES];
  attn_tensor images[GROUP];
  attn_generation_result results[GROUP];
  int64_t done; /* scenes of all splits */
};

static int64_t grid_of(const struct caption_evaluation_run *r) {
  return attn_model_grid_size(&r->c->model->network->config);
}

static attn_tensor image_of(unsigned char *rgb) {
  return (attn_tensor){rgb, ATTN_U8, 3, {SIDE, SIDE, 3}, {SIDE * 3, 3, 1}};
}

/* ---- Where the model looks ---- */

static int64_t largest(const double *row, int64_t count) {
  int64_t best = 0;
  for (int64_t n = 1; n < count; n++)
    if (row[n] > row[best]) best = n;
  return best;
}

/* The pixels that a grid position covers: its convolutions are centred on the first. */
struct span {
  double from, to;
};
static struct span span_of(int64_t index, int64_t grid) {
  double w = (double)SIDE / (double)grid, c = (double)index * w + 0.5;
  return (struct span){c - w / 2, c + w / 2};
}

/* Whether a grid position and the box of an object overlap. */
static int is_in(const struct attn_scene_box *box, int64_t position, int64_t grid) {
  struct span x = span_of(position % grid, grid), y = span_of(position / grid, grid);
  return x.from < box->x1 && x.to > box->x0 && y.from < box->y1 && y.to > box->y0;
}

/* One word: the first that describes an object. */
static void count_pointing(const struct caption_evaluation_run *r, const struct attn_scene *scene,
                           int object, const double *seen) {
  const int64_t grid = grid_of(r), positions = grid * grid;
  const struct attn_scene_box box = attn_scene_locate(scene, object);
  int64_t inside = 0;
  for (int64_t n = 0; n < positions; n++) inside += is_in(&box, n, grid);
  r->result->aligned_tokens++;
  r->result->alignment_matches += is_in(&box, largest(seen, positions), grid);
  r->result->alignment_chance += (double)inside / (double)positions; /* a sum; divided at the end */
}

/* ---- What hiding it changes ---- */

static int clamp(int value, int low, int high) {
  return value < low ? low : value > high ? high : value;
}

/* Covers a square with the background, whose left and upper sides are x and y. */
static void hide(const struct attn_scene *scene, int x, int y, unsigned char *rgb) {
  for (int row = y; row < y + HIDDEN; row++)
    for (int col = x; col < x + HIDDEN; col++)
      memcpy(rgb + (row * SIDE + col) * 3, scene->background, 3);
}

static int64_t predict_hidden(struct attn_caption_probe *p, const struct attn_scene *scene,
                              const unsigned char *rgb, int x, int y, int64_t word,
                              attn_status *status, attn_error *err) {
  unsigned char hidden[BYTES];
  memcpy(hidden, rgb, BYTES);
  hide(scene, x, y, hidden);
  const attn_tensor image = image_of(hidden);
  if (!*status) *status = attn_caption_probe_predict(p, &image, err);
  return p->predicted[word];
}

/* The left side of a square around the centre of a grid position. */
static int square_at(int64_t index, int64_t grid) {
  struct span s = span_of(index, grid);
  return clamp((int)((s.from + s.to) / 2) - HIDDEN / 2, 0, SIDE - HIDDEN);
}

/* Hides the place looked at, then another square that does not overlap it. */
static attn_status count_hidden(struct caption_evaluation_run *r, struct attn_caption_probe *p,
                                const struct attn_scene *scene, const unsigned char *rgb,
                                int64_t word, int64_t grid, attn_error *err) {
  const int64_t place = largest(p->seen + word * grid * grid, grid * grid);
  const int32_t expected = p->tokens[word];
  int x = square_at(place % grid, grid), y = square_at(place / grid, grid), other_x, other_y;
  struct attn_random_stream random = {.seed = scene->seed ^ 0x6f63, .n = scene->n * 64};
  random.n += (uint64_t)word;
  do {
    other_x = (int)attn_random_below(&random, SIDE - HIDDEN + 1);
    other_y = (int)attn_random_below(&random, SIDE - HIDDEN + 1);
  } while (abs(other_x - x) < HIDDEN && abs(other_y - y) < HIDDEN);
  attn_status status = ATTN_OK;
  int changed = predict_hidden(p, scene, rgb, x, y, word, &status, err) != expected;
  int control = predict_hidden(p, scene, rgb, other_x, other_y, word, &status, err) != expected;
  if (status) return status;
  r->result->hidden_words++;
  r->result->hidden_changes += changed, r->result->control_changes += control;
  return ATTN_OK;
}

/* ---- A scene ---- */

/* Equal weights have no highest place. */
static int is_uniform(const struct caption_evaluation_run *r) {
  const struct attn_model_config *c = &r->c->model->network->config;
  return attn_model_is_recurrent(c) &&
         (c->alignment == ATTN_ALIGN_UNIFORM || c->alignment == ATTN_ALIGN_NONE);
}

/* Rows of the attention are words if the model splits the caption into them. */
static attn_status probe(struct caption_evaluation_run *r, int n, attn_error *err) {
  const struct attn_scene *scene = &r->scenes[n];
  const struct attn_caption *caption = &r->captions[n];
  struct attn_caption_probe p;
  const int64_t grid = grid_of(r);
  int named = 0; /* objects */
  attn_status status = attn_caption_probe_open(&p, r->c->model, &r->images[n], caption->text, err);
  int looks = !status && p.words == caption->words && !is_uniform(r);
  for (int k = 0; looks && k < caption->words && !status; k++) {
    if (caption->word[k].object < 0) continue;
    if (caption->word[k].object == named)
      count_pointing(r, scene, named++, p.seen + k * grid * grid);
    if (r->result->hidden_words < HIDDEN_WORDS)
      status = count_hidden(r, &p, scene, r->rgb[n], k, grid, err);
  }
  attn_caption_probe_close(&p);
  return status;
}

static int is_exact(const struct caption_evaluation_run *r, int n) {
  return !strcmp(r->results[n].text, r->captions[n].text);
}

static attn_status count_scene(struct caption_evaluation_run *r, int n, attn_error *err) {
  attn_evaluation *e = r->result;
  int objects = r->scenes[n].objects, match = is_exact(r, n);
  e->examples++, e->exact_matches += match;
  e->examples_by_objects[objects - 1]++, e->exact_matches_by_objects[objects - 1] += match;
  return match ? probe(r, n, err) : ATTN_OK;
}

/* ---- All scenes ---- */

static int report(void *run, int64_t done, int64_t total) {
  const struct caption_evaluation_run *r = run;
  (void)total;
  return attn_watch_report(r->c->watch, r->done + done, 2 * r->c->examples, NULL) != ATTN_OK;
}

static attn_status run_group(struct caption_evaluation_run *r, enum attn_scene_split split,
                             int64_t first, int count, attn_error *err) {
  for (int n = 0; n < count; n++) {
    attn_scene_make(r->c->seed, (uint64_t)(first + n), split, &r->scenes[n]);
    attn_scene_caption(&r->scenes[n], r->c->language, 1, &r->captions[n]);
    attn_scene_render(&r->scenes[n], r->rgb[n]);
    r->images[n] = image_of(r->rgb[n]);
  }
  r->results[0].struct_size = sizeof *r->results;
  attn_status status =
      attn_model_caption(r->c->model, r->images, count, &r->generation, r->results, err);
  if (status) return status;
  for (int n = 0; n < count && !status; n++) {
    status = attn_watch_report(r->c->watch, r->done + n, 2 * r->c->examples, err);
    if (status) break;
    if (split == ATTN_SCENE_VALIDATION)
      status = count_scene(r, n, err);
    else
      r->result->unseen_examples++, r->result->unseen_exact_matches += is_exact(r, n);
  }
  attn_generation_results_free(r->results, count);
  r->done += count;
  return status;
}

attn_status attn_evaluate_captions(const struct attn_caption_evaluation *c, attn_evaluation *result,
                                   attn_error *err) {
  static const enum attn_scene_split splits[] = {ATTN_SCENE_VALIDATION, ATTN_SCENE_UNSEEN_PAIRS};
  struct caption_evaluation_run *r = calloc(1, sizeof *r); /* too large for a small stack */
  if (!r) return attn_fail(err, ATTN_ERR_MEMORY, NULL, "out of memory: evaluation");
  r->c = c, r->result = result;
  r->generation = (attn_generation_config)ATTN_GENERATION_CONFIG_INIT;
  r->generation.threads = c->threads, r->generation.batch_size = GROUP / 4;
  r->generation.progress = report, r->generation.progress_context = r;
  attn_status status = ATTN_OK;
  for (int k = 0; k < 2; k++)
    for (int64_t n = 0; n < c->examples && !status; n += GROUP) {
      int64_t left = c->examples - n;
      status = run_group(r, splits[k], n, (int)(left < GROUP ? left : GROUP), err);
    }
  free(r);
  return status;
}
