/* task_captions.c -- pictures of scenes (scene.h), to their captions. The source text only names
 * the picture. */
#include <stdio.h>
#include <string.h>

#include "attn/lesson.h"
#include "scene.h"

static void make_scene(uint64_t seed, uint64_t n, int validation, struct attn_scene *scene) {
  attn_scene_make(seed, n, validation ? ATTN_SCENE_VALIDATION : ATTN_SCENE_TRAINING, scene);
}

static void make(uint64_t seed, uint64_t n, int validation, int language,
                 struct attn_aligned_pair *pair) {
  struct attn_scene scene;
  struct attn_caption caption;
  make_scene(seed, n, validation, &scene);
  attn_scene_caption(&scene, language, 1, &caption);
  snprintf(pair->source, sizeof pair->source, "picture %llu", (unsigned long long)n);
  strcpy(pair->target, caption.text);
  pair->aligned_tokens = 0;
}

void attn_task_captions(uint64_t seed, uint64_t n, int validation, struct attn_aligned_pair *pair) {
  make(seed, n, validation, ATTN_LANGUAGE_ENGLISH, pair);
}

void attn_task_captions_ja(uint64_t seed, uint64_t n, int validation,
                           struct attn_aligned_pair *pair) {
  make(seed, n, validation, ATTN_LANGUAGE_JAPANESE, pair);
}

void attn_task_draw_scene(uint64_t seed, uint64_t n, int validation, unsigned char *rgb) {
  struct attn_scene scene;
  make_scene(seed, n, validation, &scene);
  attn_scene_render(&scene, rgb);
}
