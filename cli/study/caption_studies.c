/* caption_studies.c -- studies that train captioners: bottleneck, alignment. */
#include <math.h>
#include <stdio.h>

#include "attn/train.h"
#include "study.h"

enum { EXAMPLES = 300, OBJECTS = 3 };

/* A small grid, 6 x 6, and few steps: with attention nearly all captions are exact. */
#define SMALL "\"num_stages\": 3, \"alignment\": "

/* Trains a captioner and evaluates it on new pictures. */
static attn_status measure(struct study_run *run, const char *alignment, int seed,
                           attn_evaluation *e, double *seconds, attn_error *err) {
  struct study_model m = {
      .task = "captions", .steps = run->steps, .seed = run->first_seed + (uint64_t)seed};
  attn_model *model = NULL;
  snprintf(m.config, sizeof m.config, SMALL "\"%s\"", alignment);
  attn_status status = attn_cli_study_train(run, &m, &model, seconds, err);
  if (!status)
    status = attn_model_evaluate(model, m.task, run->test_examples ? run->test_examples : EXAMPLES,
                                 m.seed, run->threads, NULL, NULL, e, err);
  attn_model_free(model);
  return status;
}

static double share(int64_t part, int64_t of) { return of ? (double)part / (double)of : NAN; }

/* Trains each row of the first table with each seed; `fill` writes its samples. A second table has
 * the time of a step. */
static attn_status compare(struct study_run *run,
                           void (*fill)(struct study_table *t, int row, int seed,
                                        const attn_evaluation *e),
                           attn_error *err) {
  struct study_table *t = run->table;
  attn_status status = ATTN_OK;
  t->is_share = 1;
  run->total = (int64_t)t->rows * t->seeds;
  for (int s = 0; s < t->seeds; s++)
    for (int r = 0; r < t->rows && !status; r++) {
      attn_evaluation e = ATTN_EVALUATION_INIT;
      double seconds;
      status = measure(run, t->row[r], s, &e, &seconds, err);
      if (!status) fill(t, r, s, &e);
      if (!status && run->tables > 1) t[1].sample[r][0][s] = 1000 * seconds;
    }
  return status;
}

static void fill_objects(struct study_table *t, int row, int seed, const attn_evaluation *e) {
  for (int n = 0; n < OBJECTS; n++)
    t->sample[row][n][seed] = share(e->exact_matches_by_objects[n], e->examples_by_objects[n]);
}

attn_status attn_cli_study_bottleneck(struct study_run *run, attn_error *err) {
  static const char *const rows[] = {"additive", "uniform", "none", NULL};
  static const char *const objects[] = {"1", "2", "3", NULL};
  attn_cli_study_table(run, "exact_match", "Share of exact captions", "alignment", rows, "objects",
                       objects);
  return compare(run, fill_objects, err);
}

static void fill_shares(struct study_table *t, int row, int seed, const attn_evaluation *e) {
  const double shares[] = {
      share(e->exact_matches, e->examples), share(e->unseen_exact_matches, e->unseen_examples),
      share(e->alignment_matches, e->aligned_tokens), share(e->hidden_changes, e->hidden_words),
      share(e->control_changes, e->hidden_words)};
  for (int n = 0; n < (int)(sizeof shares / sizeof *shares); n++)
    t->sample[row][n][seed] = shares[n];
}

attn_status attn_cli_study_alignment(struct study_run *run, attn_error *err) {
  static const char *const rows[] = {"additive", "dot", "scaled", "general", "uniform", NULL};
  static const char *const measures[] = {"exact", "unseen", "pointing", "hidden", "control", NULL};
  static const char *const unit[] = {"ms", NULL};
  attn_cli_study_table(run, "shares", "Captions and attention", "alignment", rows, "share",
                       measures);
  attn_cli_study_table(run, "milliseconds", "Time of a training step", "alignment", rows, "", unit);
  return compare(run, fill_shares, err);
}
