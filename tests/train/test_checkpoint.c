#define _GNU_SOURCE /* memmem */
/* Checkpoints: a run resumed after any interruption, also a kill, equals an uninterrupted one bit
 * for bit; an incomplete or invalid file is rejected with a reason; files of older versions open; a
 * full disk keeps the last file. */
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "checkpoint.h"
#include "random.h"
#include "run_record.h"
#include "scratch.h"
#include "task.h"

enum { WORDS = 16, BATCH = 8, LAST = 80 };

static char path[96];
static int32_t bf16; /* 1: in bf16 */

static int begin(void **state) {
  (void)state;
  if (folder_begin()) return -1;
  snprintf(path, sizeof path, "%s/run.safetensors", folder);
  return 0;
}

static int begin_bf16(void **state) { return bf16 = 1, begin(state); }

static int end(void **state) { return (void)state, bf16 = 0, folder_end(); }

static struct attn_trainer *new_trainer(void) {
  static const char json[] =
      "{\"vocab_size\": 16, \"d_model\": 16, \"num_heads\": 2, \"ffn_dim\": 32, "
      "\"encoder_layers\": 1, \"decoder_layers\": 1, \"max_positions\": 32}";
  const struct attn_trainer_config trainer = {.adam = {0.9, 0.98, 1e-9, 0.01},
                                              .schedule = {ATTN_LR_NOAM, 1.0 / 3, 10, LAST},
                                              .max_grad_norm = 1,
                                              .label_smoothing = 0.1,
                                              .batch_size = BATCH,
                                              .max_tokens = 256,
                                              .max_length = 32,
                                              .seed = 0xFEDCBA9876543210u,
                                              .threads = 2,
                                              .bf16 = bf16};
  struct attn_model_config config;
  struct attn_trainer *t;
  assert_int_equal(attn_model_config_parse(json, strlen(json), &config, NULL), ATTN_OK);
  assert_int_equal(attn_trainer_new(&config, &trainer, &t, NULL), ATTN_OK);
  return t;
}

static void make_step(struct attn_trainer *t) {
  struct attn_step_result step;
  for (int n = 0; n < BATCH; n++, t->examples_seen++) {
    struct attn_aligned_pair pair;
    int32_t source[24], target[24];
    int64_t counts[2] = {0, 0};
    attn_task_make(attn_task_find("addition"), 1, t->examples_seen, 0, &pair);
    for (const char *c = pair.source; *c; c++)
      source[counts[0]++] = ATTN_NUM_SPECIAL_TOKENS + (*c == '+' ? 10 : *c - '0');
    for (const char *c = pair.target; *c; c++)
      target[counts[1]++] = ATTN_NUM_SPECIAL_TOKENS + *c - '0';
    if (!attn_trainer_add(t, source, counts[0], target, counts[1])) abort();
  }
  if (attn_trainer_step(t, &step, NULL) || step.skipped) abort();
}

static void expect_same(const struct attn_trainer *a, const struct attn_trainer *b) {
  size_t bytes = (size_t)a->parameter_count * sizeof(float);
  assert_int_equal(a->step, b->step), assert_int_equal(a->examples_seen, b->examples_seen);
  assert_memory_equal(a->weights, b->weights, bytes);
  assert_memory_equal(a->first_moment, b->first_moment, bytes);
  assert_memory_equal(a->second_moment, b->second_moment, bytes);
}

static struct attn_trainer *train_uninterrupted(int64_t steps) {
  struct attn_trainer *t = new_trainer();
  while (t->step < steps) make_step(t);
  return t;
}

static void test_resume_is_bitwise_identical(void **state) {
  (void)state;
  struct attn_trainer *expected = train_uninterrupted(9), *t = train_uninterrupted(4), *resumed;
  struct attn_checkpoint c;
  assert_int_equal(attn_checkpoint_write(path, NULL, t, "{\"some\": \"数\"}", "{\"a\": 1}", NULL),
                   ATTN_OK);
  assert_int_equal(attn_checkpoint_resume(path, 2, &resumed, &c, NULL), ATTN_OK);
  assert_string_equal(c.tokenizer, "{\"some\": \"数\"}");
  assert_string_equal(c.run, "{\"a\": 1}");
  assert_int_equal(resumed->config.bf16, bf16);
  expect_same(resumed, t);
  while (resumed->step < 9) make_step(resumed);
  expect_same(resumed, expected);
  attn_checkpoint_close(&c);
  attn_trainer_free(expected), attn_trainer_free(t), attn_trainer_free(resumed);
}

/* In a child process: resumes and writes a checkpoint after every step. */
static void resume_in_child(void) {
  struct attn_trainer *t;
  if (access(path, F_OK))
    t = new_trainer();
  else if (attn_checkpoint_resume(path, 2, &t, NULL, NULL))
    _exit(2);
  while (t->step < LAST) {
    make_step(t);
    if (attn_checkpoint_write(path, NULL, t, "{}", "{}", NULL)) _exit(3);
  }
  _exit(0);
}

static void test_kill_at_any_time(void **state) {
  (void)state;
  int kills = 0, status = -1;
  for (int64_t most = 30000; kills < 400;
       most += most / 64) { /* until a run finishes, on slow machines as well */
    pid_t child = fork();
    if (!child) resume_in_child();
    usleep((useconds_t)(2000 + below(most)));
    kill(child, SIGKILL);
    assert_true(waitpid(child, &status, 0) == child);
    if (WIFEXITED(status)) break;
    kills++;
  }
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  printf("killed %d times\n", kills);
  struct attn_trainer *expected = train_uninterrupted(LAST), *resumed;
  assert_int_equal(attn_checkpoint_resume(path, 2, &resumed, NULL, NULL), ATTN_OK);
  expect_same(resumed, expected);
  attn_trainer_free(expected), attn_trainer_free(resumed);
}

/* The file as it was when it was read last. */
static char bytes[1 << 20];
static size_t size;

static void write_bytes(const char *data, size_t count) {
  FILE *f = fopen(path, "wb");
  assert_true(f && fwrite(data, 1, count, f) == count && !fclose(f));
}

static void expect_error(const char *expected) {
  struct attn_trainer *t = NULL;
  attn_error err = {.message = ""};
  assert_int_not_equal(attn_checkpoint_resume(path, 1, &t, NULL, &err), ATTN_OK);
  assert_null(t);
  if (!strstr(err.message, expected))
    fail_msg("\"%s\" does not contain \"%s\"", err.message, expected);
}

/* Replaces bytes of the file's header by others of the same length. */
static void patch(const char *old, const char *new) {
  char *copy = malloc(size), *at;
  memcpy(copy, bytes, size);
  at = memmem(copy, size, old, strlen(old));
  assert_non_null(at);
  memcpy(at, new, strlen(old));
  write_bytes(copy, size);
  free(copy);
}

static void slurp(void) {
  FILE *f = fopen(path, "rb");
  size = fread(bytes, 1, sizeof bytes, f);
  fclose(f);
  assert_true(size > 1000 && size < sizeof bytes);
}

/* Writes the checkpoint of a new trainer and reads the file. */
static void write_new_file(void) {
  struct attn_trainer *t = new_trainer();
  assert_int_equal(attn_checkpoint_write(path, NULL, t, "{}", "{}", NULL), ATTN_OK);
  attn_trainer_free(t);
  slurp();
}

static void test_invalid_files(void **state) {
  (void)state;
  struct attn_trainer *t;
  write_new_file();
  patch("adamw.m.encoder", "adamw.x.encoder"), expect_error("adamw.m.encoder");
  patch("\"tokenizer\"", "\"tokenixer\""), expect_error("tokenizer");
  patch("\\\"ffn_dim\\\":32", "\\\"ffn_dim\\\":16"), expect_error("linear1.weight");
  patch("\\\"ffn_dim\\\":32", "\\\"ffn_dim\\\":-2"), expect_error("ffn_dim");
  patch("\\\"lr_schedule\\\":\\\"noam", "\\\"lr_schedule\\\":\\\"moan"), expect_error("training");
  patch("\\\"skipped_steps\\\"", "\\\"skipped_stepz\\\""), expect_error("skipped_step");
  for (size_t part = 0; part < size; part += size / 23) write_bytes(bytes, part), expect_error("");
  remove(path), expect_error(path);
  write_bytes(bytes, size);
  assert_int_equal(attn_checkpoint_resume(path, 1, &t, NULL, NULL), ATTN_OK);
  attn_trainer_free(t);
}

static void test_training_out_of_range(void **state) {
  (void)state;
  struct attn_trainer *t = new_trainer();
  struct attn_trainer_config *h = &t->config;
  const struct attn_trainer_config right = *h;
  const struct {
    int64_t *whole;
    double *real;
    double value;
  } wrong[] = {{&h->batch_size, NULL, (1 << 20) + 1},
               {&h->gradient_accumulation_steps, NULL, (1 << 20) + 1},
               {&h->max_tokens, NULL, (1 << 24) + 1},
               {&h->max_length, NULL, (1 << 24) + 1},
               {&h->schedule.steps, NULL, 0},
               {&h->schedule.steps, NULL, -0x1p63},
               {&h->schedule.warmup_steps, NULL, -1},
               {&t->skipped_steps, NULL, -1},
               {NULL, &h->schedule.learning_rate, -0.1},
               {NULL, &h->adam.beta1, 1},
               {NULL, &h->adam.beta2, -0.1},
               {NULL, &h->adam.epsilon, -1e-9},
               {NULL, &h->adam.weight_decay, -0.1},
               {NULL, &h->max_grad_norm, -1},
               {NULL, &h->label_smoothing, 1}};
  for (size_t n = 0; n < sizeof wrong / sizeof *wrong; n++) {
    if (wrong[n].whole) *wrong[n].whole = (int64_t)wrong[n].value;
    if (wrong[n].real) *wrong[n].real = wrong[n].value;
    assert_int_equal(attn_checkpoint_write(path, NULL, t, "{}", "{}", NULL), ATTN_OK);
    expect_error("training");
    *h = right, t->skipped_steps = 0;
  }
  attn_trainer_free(t);
}

static void test_run_record_out_of_range(void **state) {
  (void)state;
#define RUN(more) "{\"task\": \"dates\", \"validate_every\": 1" more "}"
  static const char *const wrong[] = {
      "[]",
      "{\"validate_every\": 1, \"max_validation_examples\": 1}",
      RUN(""),
      RUN(", \"max_validation_examples\": 16777217"),
      RUN(", \"max_validation_examples\": 4611686018427387904"),
      RUN(", \"max_validation_examples\": \"9\""),
      RUN(", \"max_validation_examples\": 1.5"),
      RUN(", \"max_validation_examples\": 1, \"data\": \"pairs.tsv\""),
      RUN(", \"max_validation_examples\": 1, \"validation_data\": \"pairs.tsv\""),
      RUN(", \"max_validation_examples\": 1, \"data\": 7"),
      RUN(", \"max_validation_examples\": 1, \"patience\": -1"),
      RUN(", \"max_validation_examples\": 1, \"data_hash\": \"0\""),
      RUN(", \"max_validation_examples\": 1, \"best_step\": -1"),
      RUN(", \"max_validation_examples\": 1, \"validations_without_improvement\": -1"),
      RUN(", \"max_validation_examples\": 1, \"validations_without_improvement\": "
          "9223372036854775807")};
  struct attn_run_record r;
  for (size_t n = 0; n < sizeof wrong / sizeof *wrong; n++) {
    attn_error err;
    if (attn_run_record_parse(wrong[n], &r, &err) != ATTN_ERR_FORMAT || !strstr(err.message, "run"))
      fail_msg("%s", wrong[n]);
    attn_run_record_free(&r);
  }
  assert_int_equal(attn_run_record_parse(RUN(", \"max_validation_examples\": 16777216"), &r, NULL),
                   ATTN_OK);
  attn_run_record_free(&r);
}

/* The file is too short for the model; rejected before anything is allocated. */
static void test_model_larger_than_the_file(void **state) {
  (void)state;
  write_new_file();
  patch("\\\"encoder_layers\\\":1", "\\\"encoder_layers\\\":9"), expect_error("are too few");
}

/* Erases bytes of the header. */
static void erase(const char *old) {
  char spaces[64];
  memset(spaces, ' ', strlen(old)), spaces[strlen(old)] = 0;
  patch(old, spaces);
}

static void test_precision(void **state) {
  (void)state;
  struct attn_trainer *t;
  write_new_file();
  patch("\\\"bf16\\\"", "\\\"bf17\\\""), expect_error("training");
  patch("\\\"bf16\\\"", "16      "), expect_error("training");
  patch("\\\"precision\\\"", "\\\"precisiom\\\""), expect_error("precisiom");
  erase(",\\\"precision\\\":\\\"bf16\\\""); /* as in the oldest files */
  assert_int_equal(attn_checkpoint_resume(path, 1, &t, NULL, NULL), ATTN_OK);
  assert_int_equal(t->config.bf16, 0);
  attn_trainer_free(t);
}

/* ---- Files of libattn 0.1 ---- */

static void test_old_training_names(void **state) {
  (void)state;
  static const char *const new_and_old[][2] = {
      {"lr_schedule", "schedule"},  {"learning_rate", "rate"},
      {"warmup_steps", "warm_up"},  {"weight_decay", "decay"},
      {"max_grad_norm", "clip"},    {"label_smoothing", "smoothing"},
      {"batch_size", "batch"},      {"gradient_accumulation_steps", "accumulate"},
      {"max_tokens", "tokens"},     {"max_length", "longest"},
      {"skipped_steps", "skipped"}, {"examples_seen", "drawn"}};
  struct attn_trainer *t = new_trainer(), *resumed;
  make_step(t);
  t->skipped_steps = 3;
  assert_int_equal(attn_checkpoint_write(path, NULL, t, "{}", "{}", NULL), ATTN_OK);
  slurp();
  for (size_t n = 0; n < sizeof new_and_old / sizeof *new_and_old; n++) {
    char new[64], old[64];
    snprintf(new, sizeof new, "\\\"%s\\\":", new_and_old[n][0]);
    int end = snprintf(old, sizeof old, "\\\"%s\\\":", new_and_old[n][1]);
    memset(old + end, ' ', strlen(new) - (size_t)end), old[strlen(new)] = 0;
    patch(new, old), slurp();
  }
  assert_int_equal(attn_checkpoint_resume(path, 2, &resumed, NULL, NULL), ATTN_OK);
  expect_same(resumed, t);
  assert_int_equal(resumed->skipped_steps, 3);
  const struct attn_trainer_config *c = &resumed->config, *d = &t->config;
  assert_memory_equal(&c->adam, &d->adam, sizeof d->adam);
  for (int64_t step = 1; step < 400; step += 20)
    assert_true(attn_lr_schedule_rate(&c->schedule, step) ==
                attn_lr_schedule_rate(&d->schedule, step));
  assert_true(c->max_grad_norm == d->max_grad_norm && c->label_smoothing == d->label_smoothing);
  assert_true(c->batch_size == d->batch_size && c->max_tokens == d->max_tokens);
  assert_true(c->max_length == d->max_length && c->seed == d->seed && c->bf16 == d->bf16);
  assert_int_equal(c->gradient_accumulation_steps, d->gradient_accumulation_steps);
  attn_trainer_free(t), attn_trainer_free(resumed);
}

static void test_old_run_names(void **state) {
  (void)state;
  struct attn_run_record r;
  assert_int_equal(
      attn_run_record_parse(
          "{\"task\": null, \"data\": \"a.tsv\", \"held_out\": \"b.tsv\", \"hash\": 7, "
          "\"validate_every\": 8, \"examples\": 9, \"patience\": 10, \"until\": 0.5, \"best\": "
          "0.25, "
          "\"best_loss\": 1.5, \"exact\": 0.125, \"loss\": null, \"best_step\": 11, \"worse\": 12, "
          "\"pending\": true}",
          &r, NULL),
      ATTN_OK);
  assert_null(r.task);
  assert_string_equal(r.data, "a.tsv"), assert_string_equal(r.validation_data, "b.tsv");
  assert_true(r.data_hash == 7 && r.validate_every == 8 && r.max_validation_examples == 9);
  assert_true(r.patience == 10 && r.target_exact_match == 0.5 && r.best_metric == 0.25);
  assert_true(r.best_validation_loss == 1.5 && r.validation_exact_match == 0.125);
  assert_true(isnan(r.validation_loss) && r.best_step == 11 && r.validation_pending == 1);
  assert_int_equal(r.validations_without_improvement, 12);
  attn_run_record_free(&r);
}

static void test_full_disk(void **state) {
  (void)state;
  struct attn_trainer *t = train_uninterrupted(2), *resumed;
  struct rlimit all, little;
  attn_error err;
  assert_int_equal(attn_checkpoint_write(path, NULL, t, "{}", "{}", NULL), ATTN_OK);
  getrlimit(RLIMIT_FSIZE, &all);
  little = all, little.rlim_cur = 10000;
  signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &little);
  make_step(t);
  assert_int_equal(attn_checkpoint_write(path, NULL, t, "{}", "{}", &err), ATTN_ERR_FILE);
  setrlimit(RLIMIT_FSIZE, &all);
  attn_trainer_free(t), t = train_uninterrupted(2);
  assert_int_equal(attn_checkpoint_resume(path, 2, &resumed, NULL, NULL), ATTN_OK);
  expect_same(resumed, t);
  attn_trainer_free(t), attn_trainer_free(resumed);
  struct stat info;
  assert_true(!stat(folder, &info) && info.st_nlink == 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(int argc, char **argv) {
  random_begin(argc, argv);
  const struct CMUnitTest tests[] = {
      TEST(test_resume_is_bitwise_identical),
      cmocka_unit_test_setup_teardown(test_resume_is_bitwise_identical, begin_bf16, end),
      cmocka_unit_test_setup_teardown(test_precision, begin_bf16, end),
      TEST(test_old_training_names),
      TEST(test_old_run_names),
      TEST(test_kill_at_any_time),
      TEST(test_invalid_files),
      TEST(test_training_out_of_range),
      TEST(test_run_record_out_of_range),
      TEST(test_model_larger_than_the_file),
      TEST(test_full_disk)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
