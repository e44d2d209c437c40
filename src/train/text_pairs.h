/* text_pairs.h -- source and target texts: a generated task, or the lines of a file.
 *
 * Training example n and validation example n are functions of the data and the seed alone, so a
 * resumed run only needs the number of the next example. */
#ifndef ATTN_TRAIN_TEXT_PAIRS_H
#define ATTN_TRAIN_TEXT_PAIRS_H

#include "task.h"
#include "tokenizer.h"

struct attn_text_pair {
  struct attn_text_view source; /* text is NULL for a plain text */
  struct attn_text_view prefix; /* read by the decoder before it generates the target; text is NULL
                                   if there is none */
  struct attn_text_view target;
  const char *file; /* NULL: a task's example */
  int64_t line;
};

struct attn_text_pairs;

/* Reads the task's photos, if it has any. watch: NULL, or polled; it must outlive the result. */
attn_status attn_text_pairs_from_task(const char *name, uint64_t seed, struct attn_watch *watch,
                                      struct attn_text_pairs **pairs, attn_error *err);

/* Reads UTF-8 lines of at most 2^16 bytes.
 *
 *   validation_path  NULL: one line in ten is held out for validation, chosen by a hash of its
 *                    source
 *   plain_text       1: a line without a tab, or with several, is accepted
 *   watch            NULL, or polled while reading (bytes) and shuffling (lines)
 *
 * Paths and watch must outlive the result. Errors name file and line. */
attn_status attn_text_pairs_from_file(const char *path, const char *validation_path, int plain_text,
                                      uint64_t seed, struct attn_watch *watch,
                                      struct attn_text_pairs **pairs, attn_error *err);
void attn_text_pairs_free(struct attn_text_pairs *pairs);

/* The number of examples; 0: unlimited (a task). */
int64_t attn_text_pairs_count(const struct attn_text_pairs *pairs, int validation);

struct attn_scene; /* scene.h */

/* The scene of example n of a task that has pictures. */
void attn_text_pairs_scene(const struct attn_text_pairs *pairs, uint64_t n, int validation,
                           struct attn_scene *scene);

/* A hash of the files' bytes; 0 for a task without files. */
uint64_t attn_text_pairs_hash(const struct attn_text_pairs *pairs);

/* Adds that of other data of the pairs, in any order. */
void attn_text_pairs_add_hash(struct attn_text_pairs *pairs, uint64_t hash);

/* Fails with "FILE:LINE:1: message", or only the message for a task's example. */
attn_status attn_text_pair_fail(const struct attn_text_pair *pair, attn_status status,
                                const char *message, attn_error *err);

/* NULL: the pairs come from a file. */
const struct attn_task *attn_text_pairs_task(const struct attn_text_pairs *pairs);

/* Reads example n. Training lines are shuffled again in each epoch, validation lines are not. The
 * texts are valid until the next call. ATTN_ERR_INTERRUPTED. */
attn_status attn_text_pairs_get(struct attn_text_pairs *pairs, uint64_t n, int validation,
                                struct attn_text_pair *pair, attn_error *err);

#endif
