/* computed_studies.c -- studies of attention itself: scaling, permutation. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attn/attn.h"
#include "study.h"

/* Normal numbers [Box58]. */
static void fill_normal(float *x, int64_t count, uint64_t *state) {
  const double two_pi = 6.28318530717958648;
  for (int64_t n = 0; n < count; n++) {
    double u = 1 - attn_cli_study_uniform(state), v = attn_cli_study_uniform(state);
    x[n] = (float)(sqrt(-2 * log(u)) * cos(two_pi * v));
  }
}

static attn_tensor matrix(float *x, int64_t rows, int64_t columns) {
  return attn_tensor_dense(ATTN_F32, x, 1, 1, rows, columns);
}

/* ---- scaling: the weights ---- */

enum { QUERIES = 64, KEYS = 16, MAX_DIM = 512, DIMS = 5 };
static const int dims[DIMS] = {4, 16, 64, 256, 512};

static attn_status weights_of(float *q, float *k, int64_t dim, int scaled, float *weights,
                              attn_error *err) {
  float o[QUERIES], v[KEYS] = {0};
  attn_tensor tq = matrix(q, QUERIES, dim), tk = matrix(k, KEYS, dim), tv = matrix(v, KEYS, 1);
  attn_tensor to = matrix(o, QUERIES, 1), tw = matrix(weights, QUERIES, KEYS);
  const attn_sdpa desc = {.struct_size = sizeof desc,
                          .flags = scaled ? 0 : ATTN_SDPA_SCALE,
                          .scale = 1,
                          .weights = &tw};
  return attn_sdpa_forward(&desc, &tq, &tk, &tv, &to, err);
}

/* The largest weight of a row, and the Frobenius norm of the softmax's Jacobian diag(p) - p p^T:
 * means over the rows. */
static void summarize(const float *weights, double *largest, double *gradient) {
  *largest = *gradient = 0;
  for (const float *p = weights; p < weights + QUERIES * KEYS; p += KEYS) {
    double max = 0, squares = 0;
    for (int j = 0; j < KEYS; j++) {
      max = fmax(max, (double)p[j]);
      for (int i = 0; i < KEYS; i++) {
        double d = (i == j ? (double)p[j] : 0) - (double)p[i] * (double)p[j];
        squares += d * d;
      }
    }
    *largest += max / QUERIES, *gradient += sqrt(squares) / QUERIES;
  }
}

static attn_status measure_weights(struct study_run *run, float *memory, int column, int seed,
                                   attn_error *err) {
  float *q = memory, *k = q + QUERIES * MAX_DIM, *weights = k + KEYS * MAX_DIM;
  uint64_t state = run->first_seed + (uint64_t)seed;
  attn_status status = ATTN_OK;
  fill_normal(q, QUERIES * dims[column], &state), fill_normal(k, KEYS * dims[column], &state);
  for (int row = 0; row < 2 && !status; row++) {
    status = weights_of(q, k, dims[column], row == 0, weights, err);
    summarize(weights, &run->table[0].sample[row][column][seed],
              &run->table[1].sample[row][column][seed]);
  }
  return status;
}

/* ---- scaling: training ---- */

enum { VALIDATIONS = 4 };

struct learning_curve {
  struct study_table *table;
  int row, seed, count;
};

static void keep_validation(void *context, int64_t step, double exact_match) {
  struct learning_curve *c = context;
  (void)step;
  if (c->count < VALIDATIONS) c->table->sample[c->row][c->count++][c->seed] = exact_match;
}

static attn_status measure_training(struct study_run *run, int row, int seed, attn_error *err) {
  static const char *const scales[] = {"default", "none"};
  struct learning_curve curve = {&run->table[2], row, seed, 0};
  struct study_model m = {.steps = run->steps,
                          .seed = run->first_seed + (uint64_t)seed,
                          .validate_every = run->steps / VALIDATIONS,
                          .validated = keep_validation,
                          .context = &curve};
  attn_model *model = NULL;
  double seconds;
  snprintf(m.config, sizeof m.config, "\"dropout\": 0, \"num_heads\": 1, \"scale\": \"%s\"",
           scales[row]);
  attn_status status = attn_cli_study_train(run, &m, &model, &seconds, err);
  attn_model_free(model);
  return status;
}

attn_status attn_cli_study_scaling(struct study_run *run, attn_error *err) {
  static const char *const rows[] = {"scores / sqrt(d)", "scores", NULL};
  static const char *const columns[] = {"4", "16", "64", "256", "512", NULL};
  static const char *const parts[] = {"1/4", "1/2", "3/4", "all", NULL};
  float *memory = malloc(((QUERIES + KEYS) * MAX_DIM + QUERIES * KEYS) * sizeof *memory);
  attn_status status = memory ? ATTN_OK : attn_cli_no_memory(err);
  attn_cli_study_table(run, "largest_weight", "Largest of 16 weights", "", rows, "d", columns)
      ->is_share = 1;
  attn_cli_study_table(run, "gradient", "Norm of the softmax's gradient", "", rows, "d", columns)
      ->is_share = 1;
  attn_cli_study_table(run, "exact_match", "Share of exact matches during training, d = 64", "",
                       rows, "steps", parts)
      ->is_share = 1;
  run->total = 2 * run->seeds;
  for (int s = 0; s < run->seeds && !status; s++) {
    for (int c = 0; c < DIMS && !status; c++) status = measure_weights(run, memory, c, s, err);
    for (int r = 0; r < 2 && !status; r++) status = measure_training(run, r, s, err);
  }
  free(memory);
  return status;
}

/* ---- permutation ---- */

enum { TOKENS = 32, WIDTH = 64, SIZE = TOKENS * WIDTH };

struct tokens {
  float x[SIZE], positions[SIZE];
  int to[TOKENS]; /* the permutation: row n goes to row to[n] */
  float in[SIZE], keys[SIZE], out[SIZE], expected[SIZE];
};

static void draw_tokens(struct tokens *t, uint64_t state) {
  fill_normal(t->x, SIZE, &state);
  for (int n = 0; n < TOKENS; n++) {
    t->to[n] = n;
    for (int e = 0; e < WIDTH; e++) {
      double angle = n * pow(10000, -2.0 * (e / 2) / WIDTH);
      t->positions[n * WIDTH + e] = (float)(e % 2 ? cos(angle) : sin(angle));
    }
  }
  for (int n = TOKENS - 1; n > 0; n--) { /* Fisher and Yates */
    int other = (int)(attn_cli_study_uniform(&state) * (n + 1)), kept = t->to[n];
    t->to[n] = t->to[other], t->to[other] = kept;
  }
}

static void permute(const struct tokens *t, const float *from, float *to) {
  for (int n = 0; n < TOKENS; n++)
    memcpy(to + t->to[n] * WIDTH, from + n * WIDTH, WIDTH * sizeof *to);
}

static attn_status attend(float *queries, float *keys, float *out, attn_error *err) {
  attn_tensor q = matrix(queries, TOKENS, WIDTH), k = matrix(keys, TOKENS, WIDTH);
  attn_tensor o = matrix(out, TOKENS, WIDTH);
  return attn_sdpa_forward(NULL, &q, &k, &k, &o, err);
}

/* Compares attention after the permutation with the permutation of attention. */
static attn_status compare(struct tokens *t, int permutes_keys, int adds_positions, double *largest,
                           double *same, attn_error *err) {
  memcpy(t->in, t->x, sizeof t->in);
  for (int n = 0; n < SIZE && adds_positions; n++) t->in[n] += t->positions[n];
  attn_status status = attend(t->in, t->in, t->out, err);
  permute(t, t->out, t->expected);
  permute(t, t->x, t->keys);
  for (int n = 0; n < SIZE && adds_positions; n++) t->keys[n] += t->positions[n];
  if (!status) status = attend(t->keys, permutes_keys ? t->keys : t->in, t->out, err);
  *largest = *same = 0;
  for (int n = 0; n < SIZE; n++) {
    *largest = fmax(*largest, fabs((double)t->out[n] - (double)t->expected[n]));
    *same += memcmp(&t->out[n], &t->expected[n], sizeof t->out[n]) == 0 ? 1.0 / SIZE : 0;
  }
  return status;
}

attn_status attn_cli_study_permutation(struct study_run *run, attn_error *err) {
  static const char *const rows[] = {"queries permuted", "all permuted", "with positions", NULL};
  static const char *const same[] = {"share", NULL}, *const largest[] = {"largest", NULL};
  struct tokens *t = malloc(sizeof *t);
  attn_status status = t ? ATTN_OK : attn_cli_no_memory(err);
  attn_cli_study_table(run, "difference",
                       "Difference of the attention of permuted tokens from the permuted outputs",
                       "", rows, "", largest);
  attn_cli_study_table(run, "equal_bits", "Outputs with the same bits", "", rows, "", same)
      ->is_share = 1;
  for (int s = 0; s < run->seeds && !status; s++) {
    draw_tokens(t, run->first_seed + (uint64_t)s);
    for (int r = 0; r < 3 && !status; r++)
      status = compare(t, r > 0, r == 2, &run->table[0].sample[r][0][s],
                       &run->table[1].sample[r][0][s], err);
  }
  free(t);
  return status;
}
