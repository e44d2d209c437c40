/* study_model.c -- the models of a study: trained on words to be reversed, evaluated on new ones.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attn/train.h"
#include "study.h"

enum { TRAINING_WORDS = 20000, TEST_WORDS = 500, WORD = 64, PATH = 1100 };

double attn_cli_study_uniform(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
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

static attn_status fail_file(attn_error *err, const char *path) {
  *err = (attn_error){.status = ATTN_ERR_FILE, .offset = -1};
  snprintf(err->message, sizeof err->message, "%.100s: %s", path, strerror(errno));
  return ATTN_ERR_FILE;
}

static attn_status write_words(const char *path, int count, uint64_t seed, attn_error *err) {
  char word[WORD], reversed[WORD];
  FILE *file = fopen(path, "w");
  if (!file) return fail_file(err, path);
  for (int n = 0; n < count; n++) {
    draw_word(&seed, 0, word, reversed);
    fprintf(file, "%s\t%s\n", word, reversed);
  }
  int failed = ferror(file);
  return fclose(file) || failed ? fail_file(err, path) : ATTN_OK;
}

/* ---- Temporary files ---- */

static const char *const files[] = {"train.tsv", "test.tsv", "m.safetensors", "m.last.safetensors"};

static void path_of(const struct study_run *run, int file, char *path, size_t size) {
  snprintf(path, size, "%s/%s", run->folder, files[file]);
}

static attn_status open_folder(struct study_run *run, attn_error *err) {
  const char *parent = getenv("TMPDIR");
  if (*run->folder) return ATTN_OK;
  if (!parent || !*parent) parent = "/tmp";
  int length = snprintf(run->folder, sizeof run->folder, "%s/attn-study-XXXXXX", parent);
  int fits = length < (int)sizeof run->folder;
  errno = ENAMETOOLONG;
  if (fits && mkdtemp(run->folder)) return ATTN_OK;
  attn_status status = fail_file(err, run->folder);
  *run->folder = 0;
  return status;
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
                               .seed = m->seed,
                               .threads = t->run->threads,
                               .progress = report,
                               .context = t};
  attn_status status = attn_model_train(&c, &state, err);
  *seconds = state.step ? state.seconds / (double)state.step : 0;
  return status;
}

static attn_status write_data(const struct study_run *run, uint64_t seed, attn_error *err) {
  char path[PATH];
  path_of(run, 0, path, sizeof path);
  attn_status status = write_words(path, TRAINING_WORDS, 2 * seed, err);
  path_of(run, 1, path, sizeof path);
  return status ? status : write_words(path, TEST_WORDS, 2 * seed + 1, err);
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

struct test_words {
  const char *source[TEST_WORDS];
  char word[TEST_WORDS][WORD], reversed[TEST_WORDS][WORD];
  attn_generation_result result[TEST_WORDS];
};

attn_status attn_cli_study_evaluate(struct study_run *run, const attn_model *model, uint64_t seed,
                                    int length, double *share, attn_error *err) {
  attn_generation_config config = ATTN_GENERATION_CONFIG_INIT;
  struct test_words *t = calloc(1, sizeof *t);
  int matches = 0;
  if (!t) return attn_cli_no_memory(err);
  seed = ~seed; /* other words than those of the training */
  for (int n = 0; n < TEST_WORDS; n++) {
    draw_word(&seed, length, t->word[n], t->reversed[n]);
    t->source[n] = t->word[n], t->result[n].struct_size = sizeof t->result[n];
  }
  config.threads = run->threads, config.batch_size = 32;
  attn_status status = attn_model_generate(model, t->source, TEST_WORDS, &config, t->result, err);
  for (int n = 0; n < TEST_WORDS && !status; n++)
    matches += t->result[n].text && !strcmp(t->result[n].text, t->reversed[n]);
  attn_generation_results_free(t->result, TEST_WORDS);
  free(t);
  *share = (double)matches / TEST_WORDS;
  return status;
}
