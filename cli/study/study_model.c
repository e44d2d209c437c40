/* study_model.c -- the models of a study: trained on words to be reversed, evaluated on new ones.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attn/train.h"
#include "study.h"

enum { TRAINING_WORDS = 20000, TEST_WORDS = 500, WORD = 64, PATH = 1100 };

double attn_cli_study_uniform(uint64_t *state) {
  return (double)(attn_cli_random(state) >> 11) * 0x1p-53;
}

/* ---- Words ---- */

static int random_below(uint64_t *state, int limit) {
  return (int)(attn_cli_study_uniform(state) * limit);
}

/* A word and its reverse; length 0: one of those of the training. */
static void draw_word(uint64_t *state, int length, char *word, char *reversed) {
  if (!length) length = STUDY_SHORTEST + random_below(state, STUDY_LONGEST - STUDY_SHORTEST + 1);
  for (int n = 0; n < length; n++)
    word[n] = reversed[length - 1 - n] = (char)('a' + random_below(state, STUDY_LETTERS));
  word[length] = reversed[length] = 0;
}

static attn_status write_words(const char *path, int count, uint64_t seed, attn_error *err) {
  char word[WORD], reversed[WORD];
  FILE *file = fopen(path, "w");
  if (!file) return attn_cli_fail_file(err, path, "cannot write");
  for (int n = 0; n < count; n++) {
    draw_word(&seed, 0, word, reversed);
    fprintf(file, "%s\t%s\n", word, reversed);
  }
  int failed = ferror(file);
  return fclose(file) || failed ? attn_cli_fail_file(err, path, "cannot write") : ATTN_OK;
}

/* ---- Temporary files ---- */

static const char *const files[] = {"train.tsv", "test.tsv", "m.safetensors", "m.last.safetensors"};

static void path_of(const struct study_run *run, int file, char *path, size_t size) {
  snprintf(path, size, "%s/%s", run->folder, files[file]);
}

static attn_status open_folder(struct study_run *run, attn_error *err) {
  if (*run->folder) return ATTN_OK;
  return attn_cli_make_temporary_folder(run->folder, sizeof run->folder, "attn-study", err);
}

void attn_cli_study_clean(struct study_run *run) {
  char path[PATH];
  if (!*run->folder) return;
  for (int n = 0; n < (int)(sizeof files / sizeof *files); n++)
    path_of(run, n, path, sizeof path), unlink(path);
  rmdir(run->folder);
  *run->folder = 0;
}

/* ---- Training ---- */

struct study_training {
  struct study_run *run;
  const struct study_model *model;
};

static int32_t report(void *context, const attn_train_state *s) {
  struct study_training *t = context;
  struct study_run *run = t->run;
  enum { UNITS = 1000 };
  if (s->phase == ATTN_TRAIN_STEP && s->validated && t->model->validated)
    t->model->validated(t->model->context, s->step, s->validation_exact_match);
  int64_t part = s->steps > 0 ? s->step * UNITS / s->steps : 0;
  return attn_cli_progress_update(&run->progress, run->done * UNITS + part, run->total * UNITS);
}

static attn_status train(struct study_training *t, double *seconds, attn_error *err) {
  const struct study_model *m = t->model;
  char path[4][PATH], config[sizeof m->config + 8];
  attn_train_state state = ATTN_TRAIN_STATE_INIT;
  for (int n = 0; n < 4; n++) path_of(t->run, n, path[n], sizeof path[n]);
  snprintf(config, sizeof config, "{%s}", m->config);
  const attn_train_config c = {.struct_size = sizeof c,
                               .task = m->task,
                               .data = m->task ? NULL : path[0],
                               .validation_data = m->task ? NULL : path[1],
                               .output = path[2],
                               .replace = 1,
                               .config = config,
                               .steps = m->steps,
                               .validate_every = m->validate_every ? m->validate_every : m->steps,
                               .max_validation_examples = m->validated ? 0 : 1, /* unused */
                               .seed = m->seed,
                               .threads = t->run->threads,
                               .progress = report,
                               .context = t};
  attn_status status = attn_model_train(&c, &state, err);
  *seconds = state.step ? state.seconds / (double)state.step : 0;
  return status;
}

static int test_words(const struct study_run *run) {
  return run->test_examples ? (int)run->test_examples : TEST_WORDS;
}

static attn_status write_data(const struct study_run *run, uint64_t seed, attn_error *err) {
  char path[PATH];
  path_of(run, 0, path, sizeof path);
  attn_status status = write_words(path, TRAINING_WORDS, 2 * seed, err);
  path_of(run, 1, path, sizeof path);
  return status ? status : write_words(path, test_words(run), 2 * seed + 1, err);
}

/* The last checkpoint: the best one would be chosen by the test words. */
attn_status attn_cli_study_train(struct study_run *run, const struct study_model *m,
                                 attn_model **model, double *seconds, attn_error *err) {
  struct study_training t = {run, m};
  char path[PATH];
  attn_status status = open_folder(run, err);
  if (!status && !m->task) status = write_data(run, m->seed, err);
  if (!status) status = train(&t, seconds, err);
  path_of(run, 3, path, sizeof path);
  if (!status) status = attn_model_open(path, model, err);
  if (!status) run->done++;
  return status;
}

/* ---- Evaluation ---- */

struct test_word {
  char word[WORD], reversed[WORD];
};

/* Counts the words of `all` that the model reverses. */
static attn_status count_matches(const struct study_run *run, const attn_model *model,
                                 const struct test_word *all, int count, int *matches,
                                 attn_error *err) {
  attn_generation_config config = ATTN_GENERATION_CONFIG_INIT;
  const char **source = calloc((size_t)count, sizeof *source);
  attn_generation_result *result = calloc((size_t)count, sizeof *result);
  attn_status status = source && result ? ATTN_OK : attn_cli_no_memory(err);
  for (int n = 0; n < count && !status; n++)
    source[n] = all[n].word, result[n].struct_size = sizeof result[n];
  config.threads = run->threads, config.batch_size = 32;
  if (!status) status = attn_model_generate(model, source, count, &config, result, err);
  for (int n = 0; n < count && !status; n++)
    *matches += result[n].text && !strcmp(result[n].text, all[n].reversed);
  if (result) attn_generation_results_free(result, count);
  free(result), free(source);
  return status;
}

attn_status attn_cli_study_evaluate(struct study_run *run, const attn_model *model, uint64_t seed,
                                    int length, double *share, attn_error *err) {
  int matches = 0, count = test_words(run);
  struct test_word *all = calloc((size_t)count, sizeof *all);
  if (!all) return attn_cli_no_memory(err);
  seed = ~seed; /* other words than those of the training */
  for (int n = 0; n < count; n++) draw_word(&seed, length, all[n].word, all[n].reversed);
  attn_status status = count_matches(run, model, all, count, &matches, err);
  free(all);
  *share = (double)matches / count;
  return status;
}
