#include "task.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "attn/lesson.h"
#include "attn/train.h"
#include "descriptor.h"
#include "error.h"
#include "philox.h"
#include "scene.h"

/* The source text only names the picture. */
static void make_caption(const struct attn_task *task, struct attn_random_stream *random,
                         int validation, struct attn_aligned_pair *pair) {
  struct attn_scene scene;
  struct attn_caption caption;
  attn_scene_make(random->seed, random->n, validation ? ATTN_SCENE_VALIDATION : ATTN_SCENE_TRAINING,
                  task->has_photos, NULL, &scene);
  attn_scene_caption(&scene, task->language, 1, &caption);
  snprintf(pair->source, sizeof pair->source, "picture %llu", (unsigned long long)random->n);
  strcpy(pair->target, caption.text);
}

static const struct attn_task tasks[] = {
    {"dates", "dates in Japanese and English notations, to YYYY-MM-DD", attn_task_dates,
     ATTN_TASK_CHARACTERS, .steps = 4000},
    {"numerals", "numbers below 10^12, kanji numerals to digits and back", attn_task_numerals,
     ATTN_TASK_CHARACTERS, .steps = 14000},
    {"addition", "sums of two numbers of up to 8 digits, least digit first", attn_task_addition,
     ATTN_TASK_CHARACTERS, .steps = 8000},
    {"letters", "4 to 16 letters, copied, reversed or sorted, by the mark before them",
     attn_task_letters, ATTN_TASK_CHARACTERS, .steps = 6000, .marks = "=<^"},
    {"copy", "4 to 16 letters, copied", attn_task_letters, ATTN_TASK_CHARACTERS, .steps = 3000,
     .marks = "="},
    {"reverse", "4 to 16 letters, reversed", attn_task_letters, ATTN_TASK_CHARACTERS, .steps = 3000,
     .marks = "<"},
    {"sort", "4 to 16 letters, sorted", attn_task_letters, ATTN_TASK_CHARACTERS, .steps = 3000,
     .marks = "^"},
    {"translation", "short Japanese sentences, split into words, to English", attn_task_translation,
     ATTN_TASK_WORDS, .steps = 1500},
    {"questions", "a sentence and a question about it, in English or Japanese, to the answer",
     attn_task_questions, ATTN_TASK_WORDS, .steps = 1500},
    {"captions", "pictures of one to three objects, to an English caption", make_caption,
     ATTN_TASK_WORDS, .steps = 1500, .picture_side = ATTN_PICTURE_SIDE},
    {"captions-ja", "the same pictures, to a Japanese caption", make_caption, ATTN_TASK_WORDS,
     .steps = 1500, .picture_side = ATTN_PICTURE_SIDE, .language = ATTN_LANGUAGE_JAPANESE},
    {"photos", "photos of one to three clothes, shoes or bags, to an English caption", make_caption,
     ATTN_TASK_WORDS, .steps = 1500, .picture_side = ATTN_PICTURE_SIDE_MAX, .has_photos = 1},
    {"photos-ja", "the same photos, to a Japanese caption", make_caption, ATTN_TASK_WORDS,
     .steps = 1500, .picture_side = ATTN_PICTURE_SIDE_MAX, .has_photos = 1,
     .language = ATTN_LANGUAGE_JAPANESE},
};

int32_t attn_task_describe(int32_t n, attn_task_info *info) {
  if (n < 0 || (size_t)n >= sizeof tasks / sizeof *tasks) return 0;
  const attn_task_info all = {sizeof all, tasks[n].name, tasks[n].summary, tasks[n].picture_side};
  const size_t first = offsetof(attn_task_info, picture_size);
  if (attn_descriptor_expect(info, sizeof all, first, "info", NULL)) return 0;
  attn_descriptor_fill(info, &all, sizeof all);
  return 1;
}

void attn_task_make(const struct attn_task *task, uint64_t seed, uint64_t n, int validation,
                    struct attn_aligned_pair *pair) {
  struct attn_random_stream random = {.seed = seed, .n = n};
  pair->prefix[0] = 0, pair->aligned_tokens = 0;
  task->make(task, &random, validation, pair);
}

attn_status attn_task_example(const char *name, uint64_t seed, uint64_t n, int32_t validation,
                              char *source, char *prefix, char *target, attn_error *err) {
  struct attn_aligned_pair pair;
  const struct attn_task *task;
  attn_status status = attn_task_require(name, &task, err);
  if (status) return status;
  attn_task_make(task, seed, n, validation != 0, &pair);
  strcpy(source, pair.source), strcpy(prefix, pair.prefix), strcpy(target, pair.target);
  return ATTN_OK;
}

attn_status attn_task_pictures(const char *name, uint64_t seed, uint64_t first, int64_t count,
                               int32_t validation, unsigned char *rgb, attn_error *err) {
  const struct attn_task *task;
  attn_status status = attn_task_require(name, &task, err);
  if (status) return status;
  if (!task->picture_side)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "task", "task \"%s\" has no pictures", name);
  const size_t bytes = (size_t)(task->picture_side * task->picture_side * 3);
  const enum attn_scene_split split = validation ? ATTN_SCENE_VALIDATION : ATTN_SCENE_TRAINING;
  struct attn_photos *photos = NULL;
  if (task->has_photos) status = attn_photos_open(validation != 0, NULL, &photos, err);
  for (int64_t n = 0; n < count && !status; n++) {
    struct attn_scene scene;
    attn_scene_make(seed, first + (uint64_t)n, split, task->has_photos, photos, &scene);
    attn_scene_render(&scene, rgb + (size_t)n * bytes);
  }
  attn_photos_free(photos);
  return status;
}

const struct attn_task *attn_task_find(const char *name) {
  for (size_t n = 0; n < sizeof tasks / sizeof *tasks; n++)
    if (name && !strcmp(name, tasks[n].name)) return &tasks[n];
  return NULL;
}

attn_status attn_task_require(const char *name, const struct attn_task **task, attn_error *err) {
  if ((*task = attn_task_find(name))) return ATTN_OK;
  return attn_fail(err, ATTN_ERR_ARGUMENT, "task", "unknown task \"%.40s\"", name ? name : "");
}

uint32_t attn_random_below(struct attn_random_stream *r, uint32_t limit) {
  if (r->used % 4 == 0) {
    const uint32_t counter[4] = {r->used / 4, (uint32_t)r->n, (uint32_t)(r->n >> 32), 0x7461736b};
    attn_philox(r->seed, counter, r->word);
  }
  return (uint32_t)((uint64_t)r->word[r->used++ % 4] * limit >> 32);
}

/* The product spreads a byte to higher bits only; the shift spreads it to lower ones. */
int attn_task_is_held_out(const char *key) {
  uint64_t hash = 0;
  for (; *key; key++) {
    hash = (hash ^ (unsigned char)*key) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 32;
  }
  return hash % 10 == 0;
}

int attn_add_words(char *text, int *count, const char *words) {
  int first = *count;
  size_t n = strlen(text);
  snprintf(text + n, ATTN_EXAMPLE_SIZE - n, "%s%s", n ? " " : "", words);
  for (++*count; *words; words++) *count += *words == ' ';
  return first;
}
