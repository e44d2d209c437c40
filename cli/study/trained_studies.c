/* trained_studies.c -- studies that train models: residual, norm, heads, positions. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "study.h"

/* A row or a column: its name, and the members of the configuration that it sets. */
struct variant {
  const char *name, *config;
};

#define BASE "\"dropout\": 0, \"encoder_layers\": 2, \"decoder_layers\": 2"
#define LAYERS(n) "\"dropout\": 0, \"encoder_layers\": " #n ", \"decoder_layers\": " #n

enum { NAMES = STUDY_ROWS + 1 };

static const char *const *names_of(const struct variant *v, const char **names) {
  int n = 0;
  for (; v[n].name && n < NAMES - 1; n++) names[n] = v[n].name;
  names[n] = NULL;
  return names;
}

static struct study_model model_of(const struct study_run *run, const char *column, const char *row,
                                   int seed) {
  struct study_model m = {.steps = run->steps, .seed = run->first_seed + (uint64_t)seed};
  snprintf(m.config, sizeof m.config, "%s%s%s", column, *row ? ", " : "", row);
  return m;
}

/* ---- residual, norm: exact matches by variant and depth ---- */

static attn_status fill_cell(struct study_run *run, struct study_table *t, int row, int column,
                             const struct study_model *m, int seed, attn_error *err) {
  attn_model *model = NULL;
  double seconds;
  attn_status status = attn_cli_study_train(run, m, &model, &seconds, err);
  if (!status)
    status = attn_cli_study_evaluate(run, model, m->seed, 0, &t->sample[row][column][seed], err);
  attn_model_free(model);
  /* A run whose loss is not finite has learned nothing: that is a result. */
  if (status == ATTN_ERR_DIVERGED) t->sample[row][column][seed] = 0, run->done++;
  return status == ATTN_ERR_DIVERGED ? ATTN_OK : status;
}

static attn_status compare_by_depth(struct study_run *run, const char *row_axis,
                                    const struct variant *rows, const struct variant *depths,
                                    attn_error *err) {
  const char *row_names[NAMES], *column_names[NAMES];
  struct study_table *t =
      attn_cli_study_table(run, "exact_match", "Share of exact matches", row_axis,
                           names_of(rows, row_names), "layers", names_of(depths, column_names));
  attn_status status = ATTN_OK;
  t->is_share = 1;
  run->total = (int64_t)t->rows * t->columns * t->seeds;
  for (int s = 0; s < t->seeds; s++)
    for (int c = 0; c < t->columns; c++)
      for (int r = 0; r < t->rows && !status; r++) {
        struct study_model m = model_of(run, depths[c].config, rows[r].config, s);
        status = fill_cell(run, t, r, c, &m, s, err);
      }
  return status;
}

attn_status attn_cli_study_residual(struct study_run *run, attn_error *err) {
  static const struct variant rows[] = {
      {"x + f(x)", "\"residual\": true"}, {"f(x)", "\"residual\": false"}, {NULL, NULL}};
  static const struct variant depths[] = {
      {"1", LAYERS(1)}, {"2", LAYERS(2)}, {"4", LAYERS(4)}, {NULL, NULL}};
  return compare_by_depth(run, "sublayer", rows, depths, err);
}

attn_status attn_cli_study_norm(struct study_run *run, attn_error *err) {
  static const struct variant rows[] = {
      {"pre-norm", "\"norm_first\": true"},
      {"post-norm", "\"norm_first\": false, \"final_norm\": false"},
      {"none", "\"norm\": \"none\""},
      {NULL, NULL}};
  static const struct variant depths[] = {
      {"1", LAYERS(1)}, {"4", LAYERS(4)}, {"8", LAYERS(8)}, {NULL, NULL}};
  return compare_by_depth(run, "normalization", rows, depths, err);
}

/* ---- heads ---- */

enum { HEADS = 8 };

struct diversity {
  float *weights[HEADS]; /* of the heads of a layer so far */
  int heads;
  double sum;
  int64_t pairs;
};

static double total_variation(const float *a, const float *b, int64_t queries, int64_t keys) {
  double sum = 0;
  for (int64_t n = 0; n < queries * keys; n++) sum += fabs((double)a[n] - (double)b[n]);
  return sum / 2 / (double)queries;
}

static void forget_heads(struct diversity *d) {
  while (d->heads) free(d->weights[--d->heads]);
}

static int visit_head(void *context, const attn_attention *a) {
  struct diversity *d = context;
  size_t bytes = (size_t)(a->queries * a->keys) * sizeof(float);
  if (a->kind != ATTN_ATTENTION_CROSS || d->heads == HEADS) return 0;
  if (a->head == 0) forget_heads(d);
  if (!(d->weights[d->heads] = malloc(bytes))) return 1;
  memcpy(d->weights[d->heads], a->weights, bytes);
  for (int n = 0; n < d->heads; n++, d->pairs++)
    d->sum += total_variation(d->weights[n], d->weights[d->heads], a->queries, a->keys);
  d->heads++;
  return 0;
}

/* The mean distance of two heads of the cross-attention; NaN of one head. */
static attn_status measure_diversity(const struct study_run *run, const attn_model *model,
                                     double *distance, attn_error *err) {
  static const char *const words[] = {"abcdefgh", "hgfedc", "acegbd", "ffbhaed", "cab"};
  struct diversity d = {.heads = 0};
  attn_status status = ATTN_OK;
  for (size_t n = 0; n < sizeof words / sizeof *words && !status; n++)
    status = attn_model_visit_attention(model, words[n], NULL, run->threads, visit_head, &d, err);
  forget_heads(&d);
  *distance = d.pairs ? d.sum / (double)d.pairs : NAN;
  return status;
}

static attn_status measure_heads(struct study_run *run, const char *config, int column, int seed,
                                 attn_error *err) {
  struct study_model m = model_of(run, config, "", seed);
  struct study_table *t = run->table;
  double seconds = 0;
  attn_model *model = NULL;
  attn_status status = attn_cli_study_train(run, &m, &model, &seconds, err);
  if (!status)
    status = attn_cli_study_evaluate(run, model, m.seed, 0, &t[0].sample[0][column][seed], err);
  if (!status) status = measure_diversity(run, model, &t[1].sample[0][column][seed], err);
  t[2].sample[0][column][seed] = 1000 * seconds;
  attn_model_free(model);
  return status;
}

attn_status attn_cli_study_heads(struct study_run *run, attn_error *err) {
  static const struct variant columns[] = {{"1", BASE ", \"num_heads\": 1"},
                                           {"2", BASE ", \"num_heads\": 2"},
                                           {"4", BASE ", \"num_heads\": 4"},
                                           {"8", BASE ", \"num_heads\": 8"},
                                           {NULL, NULL}};
  static const char *const exact[] = {"exact matches", NULL};
  static const char *const distance[] = {"distance", NULL}, *const time[] = {"ms", NULL};
  const char *names[NAMES];
  const char *const *heads = names_of(columns, names);
  attn_cli_study_table(run, "exact_match", "Share of exact matches", "", exact, "heads", heads)
      ->is_share = 1;
  attn_cli_study_table(run, "distance", "Mean distance of two heads, 0 to 1", "", distance, "heads",
                       heads)
      ->is_share = 1;
  attn_cli_study_table(run, "step_ms", "Time of a training step", "", time, "heads", heads);
  attn_status status = ATTN_OK;
  run->total = 4 * run->seeds;
  for (int s = 0; s < run->seeds; s++)
    for (int c = 0; columns[c].name && !status; c++)
      status = measure_heads(run, columns[c].config, c, s, err);
  return status;
}

/* ---- positions ---- */

static attn_status measure_lengths(struct study_run *run, const struct study_model *m, int row,
                                   int seed, const int *lengths, attn_error *err) {
  struct study_table *t = run->table;
  attn_model *model = NULL;
  double seconds;
  attn_status status = attn_cli_study_train(run, m, &model, &seconds, err);
  for (int c = 0; c < t->columns && !status; c++)
    status =
        attn_cli_study_evaluate(run, model, m->seed, lengths[c], &t->sample[row][c][seed], err);
  attn_model_free(model);
  return status;
}

attn_status attn_cli_study_positions(struct study_run *run, attn_error *err) {
  static const struct variant rows[] = {
      {"sinusoidal", "\"positions\": \"sinusoidal\""},
      {"concatenated",
       "\"positions\": \"sinusoidal\", \"position_mode\": \"concatenate\", \"position_dim\": 16"},
      {"learned", "\"positions\": \"learned\""},
      {"rotary", "\"positions\": \"rotary\""},
      {"ALiBi", "\"positions\": \"alibi\""},
      {"none", "\"positions\": \"none\""},
      {NULL, NULL}};
  static const char *const columns[] = {"3 to 8", "9", "10", "12", NULL};
  static const int lengths[] = {0, 9, 10, 12};
  const char *names[NAMES];
  struct study_table *t =
      attn_cli_study_table(run, "exact_match", "Share of exact matches", "positions",
                           names_of(rows, names), "letters", columns);
  attn_status status = ATTN_OK;
  t->is_share = 1;
  run->total = (int64_t)t->rows * t->seeds;
  for (int s = 0; s < t->seeds; s++)
    for (int r = 0; r < t->rows && !status; r++) {
      struct study_model m = model_of(run, BASE, rows[r].config, s);
      status = measure_lengths(run, &m, r, s, lengths, err);
    }
  return status;
}
