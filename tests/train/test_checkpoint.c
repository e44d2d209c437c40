#define _GNU_SOURCE /* memmem */
/* Laws of checkpoints: a run that stops and goes on is, bit for bit, the run that never stopped,
 * though it be killed at any moment; a file that is not whole, not ours or does not fit is refused
 * and named; where there is no room the last good file stands. */
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
static int32_t halves; /* 1: in bf16 */

static int begin(void **state) {
  (void)state;
  if (folder_begin()) return -1;
  snprintf(path, sizeof path, "%s/run.safetensors", folder);
  return 0;
}

static int begin_bf16(void **state) { return halves = 1, begin(state); }

static int end(void **state) { return (void)state, halves = 0, folder_end(); }

static struct attn_trainer *new_trainer(void) {
  static const char json[] =
      "{\"vocabulary\": 16, \"width\": 16, \"heads\": 2, \"hidden\": 32, "
      "\"encoder_layers\": 1, \"decoder_layers\": 1, \"length\": 32}";
  const struct attn_trainer_config how = {.adam = {0.9, 0.98, 1e-9, 0.01},
                                          .schedule = {ATTN_LR_NOAM, 1.0 / 3, 10, LAST},
                                          .clip = 1,
                                          .smoothing = 0.1,
                                          .batch = BATCH,
                                          .tokens = 256,
                                          .longest = 32,
                                          .seed = 0xFEDCBA9876543210u,
                                          .threads = 2,
                                          .halves = halves};
  struct attn_config config;
  struct attn_trainer *t;
  assert_int_equal(attn_config_parse(json, strlen(json), &config, NULL), ATTN_OK);
  assert_int_equal(attn_trainer_new(&config, &how, &t, NULL), ATTN_OK);
  return t;
}

static void make_step(struct attn_trainer *t) {
  struct attn_step step;
  for (int n = 0; n < BATCH; n++, t->drawn++) {
    struct attn_aligned_pair pair;
    int32_t source[24], target[24];
    int64_t counts[2] = {0, 0};
    attn_task_addition(1, t->drawn, 0, &pair);
    for (const char *c = pair.source; *c; c++)
      source[counts[0]++] = ATTN_TOKENS_SPECIAL + (*c == '+' ? 10 : *c - '0');
    for (const char *c = pair.target; *c; c++) target[counts[1]++] = ATTN_TOKENS_SPECIAL + *c - '0';
    if (!attn_trainer_add(t, source, counts[0], target, counts[1])) abort();
  }
  if (attn_trainer_step(t, &step, NULL) || step.skipped) abort();
}

static void expect_same(const struct attn_trainer *a, const struct attn_trainer *b) {
  size_t bytes = (size_t)a->numbers * sizeof(float);
  assert_int_equal(a->step, b->step), assert_int_equal(a->drawn, b->drawn);
  assert_memory_equal(a->weights, b->weights, bytes);
  assert_memory_equal(a->first, b->first, bytes);
  assert_memory_equal(a->second, b->second, bytes);
}

static struct attn_trainer *straight(int64_t steps) {
  struct attn_trainer *t = new_trainer();
  while (t->step < steps) make_step(t);
  return t;
}

static void what_goes_on_never_stopped(void **state) {
  (void)state;
  struct attn_trainer *whole = straight(9), *t = straight(4), *again;
  struct attn_checkpoint c;
  assert_int_equal(attn_checkpoint_write(path, NULL, t, "{\"some\": \"数\"}", "{\"a\": 1}", NULL),
                   ATTN_OK);
  assert_int_equal(attn_checkpoint_resume(path, 2, &again, &c, NULL), ATTN_OK);
  assert_string_equal(c.tokenizer, "{\"some\": \"数\"}");
  assert_string_equal(c.run, "{\"a\": 1}");
  assert_int_equal(again->how.halves, halves);
  expect_same(again, t);
  while (again->step < 9) make_step(again);
  expect_same(again, whole);
  attn_checkpoint_close(&c);
  attn_trainer_free(whole), attn_trainer_free(t), attn_trainer_free(again);
}

/* The run of a child: from what stands there, a file after every step. */
static void go_on(void) {
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

static void a_run_may_be_killed_at_any_moment(void **state) {
  (void)state;
  int kills = 0, status = -1;
  for (int64_t most = 30000; kills < 400; most += most / 64) { /* a slow machine gets there too */
    pid_t child = fork();
    if (!child) go_on();
    usleep((useconds_t)(2000 + below(most)));
    kill(child, SIGKILL);
    assert_true(waitpid(child, &status, 0) == child);
    if (WIFEXITED(status)) break;
    kills++;
  }
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  printf("killed %d times\n", kills);
  struct attn_trainer *whole = straight(LAST), *again;
  assert_int_equal(attn_checkpoint_resume(path, 2, &again, NULL, NULL), ATTN_OK);
  expect_same(again, whole);
  attn_trainer_free(whole), attn_trainer_free(again);
}

static void write_bytes(const char *bytes, size_t size) {
  FILE *f = fopen(path, "wb");
  assert_true(f && fwrite(bytes, 1, size, f) == size && !fclose(f));
}

static void expect_refused(const char *says) {
  struct attn_trainer *t = NULL;
  attn_error err = {.message = ""};
  assert_int_not_equal(attn_checkpoint_resume(path, 1, &t, NULL, &err), ATTN_OK);
  assert_null(t);
  if (!strstr(err.message, says)) fail_msg("\"%s\" does not say \"%s\"", err.message, says);
}

/* Exchanges a word of the file's header for another of the same length. */
static void exchange(const char *bytes, size_t size, const char *old, const char *new) {
  char *copy = malloc(size), *at;
  memcpy(copy, bytes, size);
  at = memmem(copy, size, old, strlen(old));
  assert_non_null(at);
  memcpy(at, new, strlen(old));
  write_bytes(copy, size);
  free(copy);
}

static size_t slurp(char *bytes, size_t most) {
  FILE *f = fopen(path, "rb");
  size_t size = fread(bytes, 1, most, f);
  fclose(f);
  assert_true(size > 1000 && size < most);
  return size;
}

static void what_does_not_fit_is_refused_and_named(void **state) {
  (void)state;
  struct attn_trainer *t = new_trainer();
  static char bytes[1 << 20];
  assert_int_equal(attn_checkpoint_write(path, NULL, t, "{}", "{}", NULL), ATTN_OK);
  attn_trainer_free(t);
  size_t size = slurp(bytes, sizeof bytes);
  exchange(bytes, size, "adamw.m.encoder", "adamw.x.encoder"), expect_refused("adamw.m.encoder");
  exchange(bytes, size, "\"tokenizer\"", "\"tokenixer\""), expect_refused("tokenizer");
  exchange(bytes, size, "\\\"hidden\\\":32", "\\\"hidden\\\":16"), expect_refused("linear1.weight");
  exchange(bytes, size, "\\\"hidden\\\":32", "\\\"hidden\\\":-2"), expect_refused("hidden");
  exchange(bytes, size, "\\\"schedule\\\":\\\"noam", "\\\"schedule\\\":\\\"moan"),
      expect_refused("training");
  exchange(bytes, size, "\\\"skipped\\\"", "\\\"skippex\\\""), expect_refused("skippe");
  for (size_t part = 0; part < size; part += size / 23)
    write_bytes(bytes, part), expect_refused("");
  remove(path), expect_refused(path);
  write_bytes(bytes, size);
  assert_int_equal(attn_checkpoint_resume(path, 1, &t, NULL, NULL), ATTN_OK);
  attn_trainer_free(t);
}

/* A step of 2^24 batches, a rate below 0, a number that the next step would overflow. */
static void a_training_that_no_run_has_is_refused(void **state) {
  (void)state;
  struct attn_trainer *t = new_trainer();
  struct attn_trainer_config *h = &t->how;
  const struct attn_trainer_config right = *h;
  const struct {
    int64_t *whole;
    double *real;
    double value;
  } wrong[] = {{&h->batch, NULL, (1 << 20) + 1},  {&h->accumulate, NULL, (1 << 20) + 1},
               {&h->tokens, NULL, (1 << 24) + 1}, {&h->longest, NULL, (1 << 24) + 1},
               {&h->schedule.steps, NULL, 0},     {&h->schedule.steps, NULL, -0x1p63},
               {&h->schedule.warm_up, NULL, -1},  {&t->skipped, NULL, -1},
               {NULL, &h->schedule.rate, -0.1},   {NULL, &h->adam.beta1, 1},
               {NULL, &h->adam.beta2, -0.1},      {NULL, &h->adam.epsilon, -1e-9},
               {NULL, &h->adam.decay, -0.1},      {NULL, &h->clip, -1},
               {NULL, &h->smoothing, 1}};
  for (size_t n = 0; n < sizeof wrong / sizeof *wrong; n++) {
    if (wrong[n].whole) *wrong[n].whole = (int64_t)wrong[n].value;
    if (wrong[n].real) *wrong[n].real = wrong[n].value;
    assert_int_equal(attn_checkpoint_write(path, NULL, t, "{}", "{}", NULL), ATTN_OK);
    expect_refused("training");
    *h = right, t->skipped = 0;
  }
  attn_trainer_free(t);
}

static void a_run_that_cannot_be_is_refused(void **state) {
  (void)state;
#define RUN(more) "{\"task\": \"dates\", \"validate_every\": 1" more "}"
  static const char *const wrong[] = {"[]",
                                      "{\"validate_every\": 1, \"examples\": 1}",
                                      RUN(""),
                                      RUN(", \"examples\": 16777217"),
                                      RUN(", \"examples\": 4611686018427387904"),
                                      RUN(", \"examples\": \"9\""),
                                      RUN(", \"examples\": 1.5"),
                                      RUN(", \"examples\": 1, \"data\": \"pairs.tsv\""),
                                      RUN(", \"examples\": 1, \"held_out\": \"pairs.tsv\""),
                                      RUN(", \"examples\": 1, \"data\": 7"),
                                      RUN(", \"examples\": 1, \"patience\": -1"),
                                      RUN(", \"examples\": 1, \"hash\": \"0\""),
                                      RUN(", \"examples\": 1, \"best_step\": -1"),
                                      RUN(", \"examples\": 1, \"worse\": -1"),
                                      RUN(", \"examples\": 1, \"worse\": 9223372036854775807")};
  struct attn_run_record r;
  for (size_t n = 0; n < sizeof wrong / sizeof *wrong; n++) {
    attn_error err;
    if (attn_run_record_parse(wrong[n], &r, &err) != ATTN_ERR_FORMAT || !strstr(err.message, "run"))
      fail_msg("%s", wrong[n]);
    attn_run_record_free(&r);
  }
  assert_int_equal(attn_run_record_parse(RUN(", \"examples\": 16777216"), &r, NULL), ATTN_OK);
  attn_run_record_free(&r);
}

/* No memory is taken for numbers that are not there. */
static void a_model_that_the_file_cannot_hold_is_refused(void **state) {
  (void)state;
  struct attn_trainer *t = new_trainer();
  static char bytes[1 << 20];
  assert_int_equal(attn_checkpoint_write(path, NULL, t, "{}", "{}", NULL), ATTN_OK);
  attn_trainer_free(t);
  size_t size = slurp(bytes, sizeof bytes);
  exchange(bytes, size, "\\\"encoder_layers\\\":1", "\\\"encoder_layers\\\":9"),
      expect_refused("cannot hold");
}

#define SPACES "                         " /* of the member's length */

/* A file that says nothing of it, as older ones do, is of float32; what says another is refused. */
static void a_precision_is_known_or_refused(void **state) {
  (void)state;
  static char bytes[1 << 20];
  struct attn_trainer *t = new_trainer();
  assert_int_equal(attn_checkpoint_write(path, NULL, t, "{}", "{}", NULL), ATTN_OK);
  attn_trainer_free(t);
  size_t size = slurp(bytes, sizeof bytes);
  exchange(bytes, size, "\\\"bf16\\\"", "\\\"bf17\\\""), expect_refused("training");
  exchange(bytes, size, "\\\"bf16\\\"", "16      "), expect_refused("training");
  exchange(bytes, size, "\\\"precision\\\"", "\\\"precisiom\\\""), expect_refused("precisiom");
  exchange(bytes, size, ",\\\"precision\\\":\\\"bf16\\\"", SPACES);
  assert_int_equal(attn_checkpoint_resume(path, 1, &t, NULL, NULL), ATTN_OK);
  assert_int_equal(t->how.halves, 0);
  attn_trainer_free(t);
  halves = 0, t = new_trainer();
  assert_int_equal(attn_checkpoint_write(path, NULL, t, "{}", "{}", NULL), ATTN_OK);
  attn_trainer_free(t);
  size = slurp(bytes, sizeof bytes);
  assert_null(memmem(bytes, size, "precision", 9));
}

static void a_full_disk_leaves_the_last_good_file(void **state) {
  (void)state;
  struct attn_trainer *t = straight(2), *again;
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
  attn_trainer_free(t), t = straight(2);
  assert_int_equal(attn_checkpoint_resume(path, 2, &again, NULL, NULL), ATTN_OK);
  expect_same(again, t);
  attn_trainer_free(t), attn_trainer_free(again);
  struct stat info;
  assert_true(!stat(folder, &info) && info.st_nlink == 2);
}

#define LAW(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(int argc, char **argv) {
  random_begin(argc, argv);
  const struct CMUnitTest tests[] = {
      LAW(what_goes_on_never_stopped),
      cmocka_unit_test_setup_teardown(what_goes_on_never_stopped, begin_bf16, end),
      cmocka_unit_test_setup_teardown(a_precision_is_known_or_refused, begin_bf16, end),
      LAW(a_run_may_be_killed_at_any_moment),
      LAW(what_does_not_fit_is_refused_and_named),
      LAW(a_training_that_no_run_has_is_refused),
      LAW(a_run_that_cannot_be_is_refused),
      LAW(a_model_that_the_file_cannot_hold_is_refused),
      LAW(a_full_disk_leaves_the_last_good_file)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
