/* data.h -- what is learned from: a task's examples, or the lines of a file.
 *
 * Example n of training and example n of those held out are functions of the data and the seed
 * alone: a run goes on where it stopped by counting. */
#ifndef ATTN_TRAIN_DATA_H
#define ATTN_TRAIN_DATA_H

#include "task.h"
#include "tokenizer.h"

/* Of a text that is no pair the target is all of it, and source.text is NULL. */
struct attn_pair {
  struct attn_text_view source, target;
  const char *file; /* NULL: a task's */
  int64_t line;
};

struct attn_data;

attn_status attn_data_of_task(const char *name, uint64_t seed, struct attn_data **data,
                              attn_error *err);

/* joined: a line is one text, whatever tabs it has. held_out: a file, or NULL: one line in ten of
 * the first, the same of a source wherever it stands. A line is UTF-8 and has up to 2^16 bytes. The
 * names and watch, which may be NULL, are to live as long as the data. watch is told of bytes, and
 * of lines where they get a new order. Errors name file and line. */
attn_status attn_data_of_file(const char *path, const char *held_out, int joined, uint64_t seed,
                              struct attn_watch *watch, struct attn_data **data, attn_error *err);
void attn_data_free(struct attn_data *data);

/* How many examples there are; 0: without end. */
int64_t attn_data_count(const struct attn_data *data, int held_out);

/* A hash of the bytes of the files; 0 of a task. */
uint64_t attn_data_hash(const struct attn_data *data);

/* "FILE:LINE:1: what" of a pair, and its line; "what" alone of a task's. */
attn_status attn_data_wrong(const struct attn_pair *pair, attn_status status, const char *what,
                            attn_error *err);

const struct attn_task *attn_data_task(const struct attn_data *data);

/* Example n. Of a file's, training goes through all lines in an order of each round's own, what is
 * held out always in one. The texts stand until the next call. ATTN_ERR_INTERRUPTED. */
attn_status attn_data_pair(struct attn_data *data, uint64_t n, int held_out, struct attn_pair *pair,
                           attn_error *err);

#endif
