/* task_captions.c -- pictures of scenes (scene.h), to their captions. The source text only names
 * the picture. */
#include <stdio.h>
#include <string.h>

#include "scene.h"

static void make(const char *name, uint64_t seed, uint64_t n, int validation,
                 struct attn_aligned_pair *pair) {
  const struct attn_task *task = attn_task_find(name);
  struct attn_scene scene;
  struct attn_caption caption;
  attn_task_scene(task, NULL, seed, n, validation ? ATTN_SCENE_VALIDATION : ATTN_SCENE_TRAINING,
                  &scene);
  attn_scene_caption(&scene, task->language, 1, &caption);
  snprintf(pair->source, sizeof pair->source, "picture %llu", (unsigned long long)n);
  strcpy(pair->target, caption.text);
}

void attn_task_captions(uint64_t seed, uint64_t n, int validation, struct attn_aligned_pair *pair) {
  make("captions", seed, n, validation, pair);
}

void attn_task_captions_ja(uint64_t seed, uint64_t n, int validation,
                           struct attn_aligned_pair *pair) {
  make("captions-ja", seed, n, validation, pair);
}

void attn_task_photos(uint64_t seed, uint64_t n, int validation, struct attn_aligned_pair *pair) {
  make("photos", seed, n, validation, pair);
}

void attn_task_photos_ja(uint64_t seed, uint64_t n, int validation,
                         struct attn_aligned_pair *pair) {
  make("photos-ja", seed, n, validation, pair);
}
