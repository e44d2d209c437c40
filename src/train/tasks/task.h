/* task.h -- generated tasks.
 *
 * Example n of a seed is a function of both alone. A tenth of the examples is held out for
 * validation and is never trained on, in any form. */
#ifndef ATTN_TRAIN_TASK_H
#define ATTN_TRAIN_TASK_H

#include <stdint.h>

#include "attn/attn.h"

enum { ATTN_EXAMPLE_SIZE = 256 }; /* bytes of a source or target, with its NUL */
enum { ATTN_PICTURE_SIDE = 48, ATTN_PICTURE_SIDE_MAX = 96 }; /* pixels */
enum { ATTN_ALIGNMENT_MAX = 64 }; /* target tokens of an example with an alignment */

struct attn_aligned_pair {
  char source[ATTN_EXAMPLE_SIZE];
  char prefix[ATTN_EXAMPLE_SIZE]; /* read by the decoder before it generates the target; "": none */
  char target[ATTN_EXAMPLE_SIZE];
  int16_t alignment[ATTN_ALIGNMENT_MAX]; /* of each target token: the index of the source token that
                                          * it comes from; -1: none */
  int aligned_tokens;                    /* tokens of the target; 0: the task has no alignment */
};

enum attn_task_tokens { ATTN_TASK_CHARACTERS, ATTN_TASK_WORDS }; /* words: separated by one space */

/* The random numbers of example n of a seed. */
struct attn_random_stream {
  uint64_t seed, n;
  uint32_t used, word[4];
};
uint32_t attn_random_below(struct attn_random_stream *random, uint32_t limit);

struct attn_task;

/* Makes an example. The prefix is "" and there is no alignment, unless it sets them. */
typedef void attn_task_maker(const struct attn_task *task, struct attn_random_stream *random,
                             int validation, struct attn_aligned_pair *pair);

struct attn_task {
  const char *name, *summary;
  attn_task_maker *make;
  enum attn_task_tokens tokens;
  int64_t steps;     /* that suffice, at the default batch size and learning rate */
  const char *marks; /* of attn_task_letters: those that an example may have */
  /* Of a task whose sources are pictures of scenes (scene.h). */
  int picture_side; /* pixels; 0: the sources are texts */
  int has_photos;   /* 1: of photos (photos.h) */
  int language;     /* of the captions: attn_language */
};

/* Makes example n of a seed. */
void attn_task_make(const struct attn_task *task, uint64_t seed, uint64_t n, int validation,
                    struct attn_aligned_pair *pair);

/* NULL: unknown name. name may be NULL. */
const struct attn_task *attn_task_find(const char *name);

/* The same; ATTN_ERR_ARGUMENT: unknown name. */
attn_status attn_task_require(const char *name, const struct attn_task **task, attn_error *err);

/* Returns 1 for one key in ten. All forms of an example have the same key. */
int attn_task_is_held_out(const char *key);

/* Appends words, separated by one space, to a text of ATTN_EXAMPLE_SIZE bytes with *count words.
 * Returns the index of the first. */
int attn_add_words(char *text, int *count, const char *words);

attn_task_maker attn_task_dates, attn_task_numerals, attn_task_addition, attn_task_letters,
    attn_task_translation, attn_task_questions;

#endif
