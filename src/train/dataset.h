/* dataset.h -- pairs of texts as pairs of tokens. */
#ifndef ATTN_TRAIN_DATASET_H
#define ATTN_TRAIN_DATASET_H

#include "text_pairs.h"
#include "trainer.h"

/* Without an encoder source and tab are a prompt, and the target's tokens go on behind its. An
 * encoder alone has no more to say than its source has places. */
struct attn_dataset {
  struct attn_text_pairs *data;
  const struct attn_tokenizer *tokenizer;
  int joined, labels; /* a decoder alone, an encoder alone */
  int64_t length;     /* no side may have so many tokens: the end comes behind them */
  char *text;         /* of a prompt */
  int32_t *tokens[2];
  int64_t counts[2]; /* source and target of the last that was asked for */
  int64_t prompt;    /* joined: tokens of the target that are source and tab; 0: it has none */
};

attn_status attn_dataset_init(struct attn_dataset *examples, attn_error *err);
void attn_dataset_free(struct attn_dataset *examples);

/* Example n. ATTN_ERR_FORMAT, with the line: no UTF-8, or too long, labels too many. */
attn_status attn_dataset_get(struct attn_dataset *examples, uint64_t n, int held_out,
                             attn_error *err);

/* Adds the first count examples to what was measured: the most tokens that a side has, the end
 * among them; those of all longer sides; how many. */
struct attn_length_stats {
  int64_t longest, tokens, count;
};
attn_status attn_dataset_measure(struct attn_dataset *examples, int64_t count, int held_out,
                                 struct attn_watch *watch, struct attn_length_stats *lengths,
                                 attn_error *err);

/* How well a trainer's network does on the first count that are held out: loss, and the share of
 * replies that are right, NaN where no example has a source. ATTN_ERR_DIVERGED where the network
 * says what is no number; ATTN_ERR_INTERRUPTED. watch, or NULL, is told of examples. */
struct attn_validation {
  double loss, exact;
};
attn_status attn_validate(struct attn_dataset *examples, struct attn_trainer *trainer,
                          int64_t count, struct attn_watch *watch, struct attn_validation *unseen,
                          attn_error *err);

#endif
