/* dataset.h -- text pairs as token ids, and pictures. */
#ifndef ATTN_TRAIN_DATASET_H
#define ATTN_TRAIN_DATASET_H

#include "config.h"
#include "picture_cache.h"
#include "text_pairs.h"

enum { ATTN_SOURCE, ATTN_TARGET };

/* The caller sets the first group of members. A decoder has no source: a pair is one sequence, the
 * prompt "source<TAB>" and the target. For an encoder a target must not be longer than its source,
 * whose positions it labels, and has no prefix. The sources of a vision encoder-decoder are
 * pictures: a task's, or files in folder. */
struct attn_dataset {
  struct attn_text_pairs *pairs;
  const struct attn_tokenizer *tokenizer;
  enum attn_model_kind kind; /* of the model */
  int64_t max_positions;     /* of a sequence and its end token */
  int64_t image_size;        /* of pictures: the model's */
  const char *folder;        /* or NULL */

  int32_t *tokens[2]; /* of the example read last, by ATTN_SOURCE and ATTN_TARGET */
  int64_t counts[2];
  int64_t prompt_count;            /* first tokens of the target that the decoder reads before it
                                    * generates: the prompt, the pair's prefix; 0: none */
  char *prompt;                    /* scratch: the prompt's text */
  unsigned char *rgb;              /* (image_size, image_size, 3): the picture read last */
  unsigned char *drawn;            /* a task's picture before scaling */
  struct attn_picture_cache cache; /* of folder's pictures */
};

attn_status attn_dataset_init(struct attn_dataset *dataset, attn_error *err);
void attn_dataset_free(struct attn_dataset *dataset);

/* Reads example n. ATTN_ERR_FORMAT, with the line: not UTF-8, or too long. */
attn_status attn_dataset_get(struct attn_dataset *dataset, uint64_t n, int validation,
                             attn_error *err);

/* Reads the picture of example n, which attn_dataset_get has read, into rgb; without pictures does
 * nothing. ATTN_ERR_FILE, ATTN_ERR_FORMAT ..., with the line; ATTN_ERR_MEMORY. */
attn_status attn_dataset_get_picture(struct attn_dataset *dataset, uint64_t n, int validation,
                                     attn_error *err);

/* An upper bound of the tokens of either side of an example. */
int64_t attn_dataset_max_length(const struct attn_dataset *dataset);

/* Tokens of the longer side of examples, with the end token. */
struct attn_length_stats {
  int64_t longest, total, count;
};

/* Adds the first count examples to the statistics. watch counts examples. */
attn_status attn_dataset_measure(struct attn_dataset *dataset, int64_t count, int validation,
                                 struct attn_watch *watch, struct attn_length_stats *stats,
                                 attn_error *err);

#endif
