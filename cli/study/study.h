/* study.h -- attn study: a claim about attention, repeated as an experiment.
 *
 * A study fills tables of samples, one sample per seed. Means and their intervals are computed from
 * the samples when a table is printed. */
#ifndef ATTN_CLI_STUDY_H
#define ATTN_CLI_STUDY_H

#include <stdint.h>

#include "attn/attn.h"
#include "attn/model.h"
#include "attn/picture.h"
#include "console.h"

enum { STUDY_ROWS = 8, STUDY_COLUMNS = 8, STUDY_SEEDS = 32, STUDY_TABLES = 4 };

/* Results of one kind: rows are variants, columns conditions. */
struct study_table {
  const char *key, *title; /* key: in JSON */
  const char *row_axis, *column_axis;
  const char *row[STUDY_ROWS], *column[STUDY_COLUMNS];
  int rows, columns, seeds;
  int is_share;                                          /* samples are in 0 .. 1 */
  double sample[STUDY_ROWS][STUDY_COLUMNS][STUDY_SEEDS]; /* NaN: not measured */
};

struct study_run {
  const struct study *study;
  int64_t seeds, steps, test_examples; /* test_examples: 0: the study's number */
  uint64_t first_seed;
  int32_t threads;
  struct attn_cli_progress progress;
  int64_t done, total;       /* training runs completed, and in total */
  char folder[1024];         /* of temporary files; "" before the first */
  struct study_table *table; /* (STUDY_TABLES) */
  int tables;
};

struct study {
  const char *name, *claim;
  const char *method;
  const char *source; /* of the claim */
  int64_t steps;      /* of training, by default; 0: nothing is trained */
  attn_status (*run)(struct study_run *run, attn_error *err);
};

extern const struct study attn_cli_studies[];
int attn_cli_study_count(void);

/* ---- study_table.c ---- */

/* Adds an empty table to the run: all samples NaN. Lists end with NULL. */
struct study_table *attn_cli_study_table(struct study_run *run, const char *key, const char *title,
                                         const char *row_axis, const char *const *rows,
                                         const char *column_axis, const char *const *columns);

/* The mean of a cell, and half the width of its 95 % interval (Student's t over the seeds); NaN for
 * a single seed. */
double attn_cli_study_mean(const struct study_table *table, int row, int column, double *half);

void attn_cli_study_print_text(const struct study_run *run);
void attn_cli_study_print_json(const struct study_run *run);

/* data: struct study_run. */
attn_status attn_cli_study_draw(const void *data, attn_picture_format format, const attn_sink *sink,
                                attn_error *err);

/* ---- study_model.c ---- */

/* A Transformer that learns to reverse words of `shortest` to `longest` letters; or a model that
 * learns a task. */
struct study_model {
  const char *task; /* NULL: words */
  char config[400]; /* members of the configuration, without braces */
  int64_t steps;
  uint64_t seed;
  int64_t validate_every; /* 0: at the end only */
  /* NULL, or called with the number of a validation, from 0, and its exact matches. */
  void (*validated)(void *context, int64_t step, double exact_match);
  void *context;
};

enum { STUDY_SHORTEST = 3, STUDY_LONGEST = 8, STUDY_LETTERS = 8 };

/* Trains a model. Results: *model, to be freed, and *seconds of one step. Counts as one of
 * run->total. */
attn_status attn_cli_study_train(struct study_run *run, const struct study_model *m,
                                 attn_model **model, double *seconds, attn_error *err);

/* The share of new words of `length` letters (0: all lengths of the training) that the model
 * reverses exactly. */
attn_status attn_cli_study_evaluate(struct study_run *run, const attn_model *model, uint64_t seed,
                                    int length, double *share, attn_error *err);

/* Uniform numbers of a seed, 0 to 1. */
double attn_cli_study_uniform(uint64_t *state);

/* Removes the temporary files of a run. */
void attn_cli_study_clean(struct study_run *run);

/* ---- Studies ---- */

attn_status attn_cli_study_residual(struct study_run *run, attn_error *err);
attn_status attn_cli_study_norm(struct study_run *run, attn_error *err);
attn_status attn_cli_study_heads(struct study_run *run, attn_error *err);
attn_status attn_cli_study_positions(struct study_run *run, attn_error *err);
attn_status attn_cli_study_bottleneck(struct study_run *run, attn_error *err);
attn_status attn_cli_study_alignment(struct study_run *run, attn_error *err);
attn_status attn_cli_study_scaling(struct study_run *run, attn_error *err);
attn_status attn_cli_study_permutation(struct study_run *run, attn_error *err);

#endif
