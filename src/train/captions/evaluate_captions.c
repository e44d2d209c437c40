#include "evaluate_captions.h"

#include <stdlib.h>
#include <string.h>

#include "caption_occlusion.h"
#include "error.h"
#include "image.h"

enum { GROUP = 64, BYTES = ATTN_SCENE_SIDE_MAX * ATTN_SCENE_SIDE_MAX * 3 };
enum { HIDDEN_WORDS = 1000 }; /* enough: each takes two passes */

struct caption_evaluation_run {
  struct attn_task_evaluation *c;
  struct attn_photos *photos; /* NULL: the task has none */
  attn_evaluation *result;
  attn_generation_config generation;
  struct attn_scene scenes[GROUP];
  struct attn_caption captions[GROUP];
  unsigned char rgb[GROUP][BYTES], hidden[BYTES];
  attn_tensor images[GROUP];
  attn_generation_result results[GROUP];
  int64_t done; /* scenes of all splits */
};

static int64_t grid_of(const struct caption_evaluation_run *r) {
  return attn_model_grid_size(&r->c->model->network->config);
}

/* ---- Where the model looks ---- */

/* Whether a grid position and the box of an object overlap. */
static int is_in(const struct attn_scene_box *box, int64_t position, int64_t grid, int side) {
  const struct attn_pixel_span x = attn_occlusion_span(position % grid, grid, side),
                               y = attn_occlusion_span(position / grid, grid, side);
  return x.from < box->x1 && x.to > box->x0 && y.from < box->y1 && y.to > box->y0;
}

/* One word: the first that describes an object. */
static void count_pointing(const struct caption_evaluation_run *r, const struct attn_scene *scene,
                           int object, const double *seen) {
  const int64_t grid = grid_of(r), positions = grid * grid;
  const struct attn_scene_box box = attn_scene_locate(scene, object);
  int64_t inside = 0;
  for (int64_t n = 0; n < positions; n++) inside += is_in(&box, n, grid, scene->side);
  r->result->aligned_tokens++;
  r->result->alignment_matches +=
      is_in(&box, attn_largest_weight(seen, positions), grid, scene->side);
  r->result->alignment_chance += (double)inside / (double)positions; /* a sum; divided at the end */
}

/* ---- What hiding it changes ---- */

/* Hides the place looked at, then another square that does not overlap it. */
static attn_status count_hidden(struct caption_evaluation_run *r, struct attn_caption_probe *p,
                                int n, int64_t word, attn_error *err) {
  const struct attn_scene *scene = &r->scenes[n];
  struct attn_covered_picture picture = {
      .rgb = r->rgb[n], .covered = r->hidden, .side = scene->side};
  memcpy(picture.fill, scene->background, sizeof picture.fill);
  struct attn_random_stream random = {.seed = scene->seed ^ 0x6f63,
                                      .n = scene->n * 64 + (uint64_t)word};
  struct attn_occluded_word w;
  attn_status status = attn_occlude_word(p, &picture, word, &random, &w, err);
  if (status) return status;
  r->result->hidden_words++;
  r->result->hidden_changes += w.changed != p->tokens[word];
  r->result->control_changes += w.control != p->tokens[word];
  return ATTN_OK;
}

/* ---- A scene ---- */

/* Rows of the attention are words if the model splits the caption into them. */
static attn_status probe(struct caption_evaluation_run *r, int n, attn_error *err) {
  const struct attn_scene *scene = &r->scenes[n];
  const struct attn_caption *caption = &r->captions[n];
  struct attn_caption_probe p;
  const int64_t grid = grid_of(r);
  int named = 0; /* objects */
  attn_status status = attn_caption_probe_open(&p, r->c->model, &r->images[n], caption->text, err);
  int looks = !status && p.words == caption->words && attn_occlusion_applies(r->c->model);
  for (int k = 0; looks && k < caption->words && !status; k++) {
    if (caption->word[k].object < 0) continue;
    if (caption->word[k].object == named)
      count_pointing(r, scene, named++, p.seen + k * grid * grid);
    if (r->result->hidden_words < HIDDEN_WORDS) status = count_hidden(r, &p, n, k, err);
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

/* Photos have no unseen pairs. */
static int splits_of(const struct caption_evaluation_run *r) {
  return r->c->task->has_photos ? 1 : 2;
}

static int64_t total_of(const struct caption_evaluation_run *r) {
  return splits_of(r) * r->c->examples;
}

static int report(void *run, int64_t done, int64_t total) {
  const struct caption_evaluation_run *r = run;
  (void)total;
  return attn_watch_report(&r->c->watch, r->done + done, total_of(r), NULL) != ATTN_OK;
}

static attn_status run_group(struct caption_evaluation_run *r, enum attn_scene_split split,
                             int64_t first, int count, attn_error *err) {
  for (int n = 0; n < count; n++) {
    attn_scene_make(r->c->seed, (uint64_t)(first + n), split, r->c->task->has_photos, r->photos,
                    &r->scenes[n]);
    attn_scene_caption(&r->scenes[n], r->c->task->language, 1, &r->captions[n]);
    attn_scene_render(&r->scenes[n], r->rgb[n]);
    r->images[n] = attn_image_tensor(r->rgb[n], ATTN_U8, r->scenes[n].side, r->scenes[n].side);
  }
  r->results[0].struct_size = sizeof *r->results;
  attn_status status =
      attn_model_caption(r->c->model, r->images, count, &r->generation, r->results, err);
  if (status) return status;
  for (int n = 0; n < count && !status; n++) {
    status = attn_watch_report(&r->c->watch, r->done + n, total_of(r), err);
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

attn_status attn_evaluate_captions(struct attn_task_evaluation *c, attn_evaluation *result,
                                   attn_error *err) {
  static const enum attn_scene_split splits[] = {ATTN_SCENE_VALIDATION, ATTN_SCENE_UNSEEN_PAIRS};
  struct caption_evaluation_run *r = calloc(1, sizeof *r); /* too large for a small stack */
  if (!r) return attn_fail(err, ATTN_ERR_MEMORY, NULL, "out of memory: evaluation");
  r->c = c, r->result = result;
  r->generation = (attn_generation_config)ATTN_GENERATION_CONFIG_INIT;
  r->generation.threads = c->threads, r->generation.batch_size = GROUP / 4;
  r->generation.progress = report, r->generation.progress_context = r;
  attn_status status = c->task->has_photos ? attn_photos_open(1, NULL, &r->photos, err) : ATTN_OK;
  for (int k = 0; k < splits_of(r); k++)
    for (int64_t n = 0; n < c->examples && !status; n += GROUP) {
      int64_t left = c->examples - n;
      status = run_group(r, splits[k], n, (int)(left < GROUP ? left : GROUP), err);
    }
  attn_photos_free(r->photos), free(r);
  return status;
}
