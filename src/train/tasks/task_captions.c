/* task_captions.c -- pictures of scenes (scene.h), to their captions. The source text only names
 * the picture. */
#include <stdio.h>
#include <string.h>

#include "scene.h"

void attn_task_captions(const struct attn_task *task, struct attn_random_stream *random,
                        int validation, struct attn_aligned_pair *pair) {
  struct attn_scene scene;
  struct attn_caption caption;
  attn_scene_make(random->seed, random->n, validation ? ATTN_SCENE_VALIDATION : ATTN_SCENE_TRAINING,
                  task->has_photos, NULL, &scene);
  attn_scene_caption(&scene, task->language, 1, &caption);
  snprintf(pair->source, sizeof pair->source, "picture %llu", (unsigned long long)random->n);
  strcpy(pair->target, caption.text);
}
