/* Training runs. A run resumed after any interruption equals, bit for bit, an uninterrupted one.
 * The best checkpoint is the best; stopping criteria stop; accumulated batches equal one large
 * batch. A run that fails leaves no new files, and existing ones unchanged. */
#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "attn/train.h"
#include "checkpoint.h"
#include "random.h"
#include "scarce.h"
#include "scratch.h"
#include "select.h"

enum { STEPS = 24, EVERY = 3, STATES = 400 };
/* Under a sanitizer a run takes ten times as long: fewer of the places to stop at, in every phase.
 */
enum { STRIDE = SANITIZED ? 12 : 1 };

#define LAYERS "\"num_heads\": 2, \"ffn_dim\": 16, \"encoder_layers\": 1, \"decoder_layers\": 1"
static const char tiny[] = "{\"d_model\": 8, " LAYERS "}",
                  encoder[] = "{\"kind\": \"encoder\", \"d_model\": 8, " LAYERS "}",
                  additive[] = "{\"alignment\": \"additive\", \"d_model\": 8, " LAYERS "}",
                  general[] = "{\"alignment\": \"general\", \"d_model\": 8, " LAYERS "}",
                  no_dropout[] = "{\"d_model\": 8, \"dropout\": 0, " LAYERS "}";

static const char *precision; /* of a run; NULL: float32 */
static char data[96], output[96], last[96], moved[96];

static void write_sums(const char *to, int from) {
  FILE *f = fopen(to, "wb");
  for (int n = from; n < from + 40; n++) fprintf(f, "%d+%d\t%d\n", n, n / 3, n + n / 3);
  assert_int_equal(fclose(f), 0);
}

static int begin(void **state) {
  (void)state;
  if (folder_begin()) return -1;
  snprintf(data, sizeof data, "%s/sums.tsv", folder);
  snprintf(output, sizeof output, "%s/m.safetensors", folder);
  snprintf(last, sizeof last, "%s/m.last.safetensors", folder);
  snprintf(moved, sizeof moved, "%s/n.safetensors", folder);
  write_sums(data, 0);
  return 0;
}

static int begin_bf16(void **state) { return precision = "bf16", begin(state); }

static int end(void **state) { return (void)state, precision = NULL, folder_end(); }

static int files(void) {
  int count = 0;
  DIR *d = opendir(folder);
  for (struct dirent *e; (e = readdir(d));)
    count += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
  closedir(d);
  return count;
}

/* ---- Runs ---- */

struct log {
  int64_t stop_at;
  int count; /* of validations */
  attn_train_state first, states[STATES];
};

static int32_t note(void *context, const attn_train_state *s) {
  struct log *l = context;
  if (s->phase != ATTN_TRAIN_STEP) return 0;
  if (s->step == 1) l->first = *s;
  if (s->validated && l->count < STATES) l->states[l->count++] = *s;
  return l->stop_at && s->step >= l->stop_at;
}

static attn_train_config new_run(const char *config, int64_t steps, struct log *log) {
  attn_train_config run = ATTN_TRAIN_CONFIG_INIT;
  run.data = data, run.output = output, run.config = config;
  run.steps = steps, run.batch_size = 4, run.validate_every = EVERY,
  run.max_validation_examples = 4, run.seed = 7;
  run.learning_rate = 0.3, run.threads = 1, run.precision = precision, run.progress = note,
  run.context = log;
  return run;
}

static attn_train_config resumed_run(struct log *log) {
  attn_train_config run = ATTN_TRAIN_CONFIG_INIT;
  run.resume = last, run.output = output, run.threads = 1, run.progress = note, run.context = log;
  return run;
}

static attn_train_state expect(const attn_train_config *run, attn_status status) {
  attn_train_state end = ATTN_TRAIN_STATE_INIT;
  attn_error err = {.message = ""};
  attn_status is = attn_model_train(run, &end, &err);
  if (is != status)
    fail_msg("%s, \"%s\", not %s", attn_status_name(is), err.message, attn_status_name(status));
  return end;
}

struct bytes {
  size_t size;
  char text[1 << 17];
};

static void slurp(const char *path, struct bytes *b) {
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  b->size = fread(b->text, 1, sizeof b->text, f);
  fclose(f);
  assert_true(b->size > 0 && b->size < sizeof b->text);
}

static struct bytes expected_best, expected_last;

/* Keeps the files of an uninterrupted run in memory. */
static void run_uninterrupted(const char *config) {
  struct log log = {0};
  attn_train_config run = new_run(config, STEPS, &log);
  int64_t best = expect(&run, ATTN_OK).best_step;
  assert_true(best > EVERY &&
              best < STEPS - EVERY); /* not at an end, or the test would prove little */
  slurp(output, &expected_best), slurp(last, &expected_last);
  remove(output), remove(last);
}

static void expect_uninterrupted(void) {
  static struct bytes is;
  slurp(output, &is);
  assert_true(is.size == expected_best.size && !memcmp(is.text, expected_best.text, is.size));
  slurp(last, &is);
  assert_true(is.size == expected_last.size && !memcmp(is.text, expected_last.text, is.size));
}

/* ---- Stops ---- */

static void stop_and_resume(const char *config, int64_t every) {
  run_uninterrupted(config);
  for (int64_t step = 0; step < STEPS; step += every) {
    struct log log = {.stop_at = step ? step : -1};
    attn_train_config run = new_run(config, STEPS, &log);
    assert_int_equal(expect(&run, ATTN_ERR_INTERRUPTED).stop_reason, ATTN_TRAIN_INTERRUPTED);
    log.stop_at = step + 2 < STEPS ? step + 2 : 0;
    run = resumed_run(&log);
    if (log.stop_at) expect(&run, ATTN_ERR_INTERRUPTED);
    log.stop_at = 0;
    assert_int_equal(expect(&run, ATTN_OK).step, STEPS);
    expect_uninterrupted();
    assert_int_equal(expect(&run, ATTN_OK).stop_reason, ATTN_TRAIN_MAX_STEPS); /* already done */
    expect_uninterrupted();
    assert_int_equal(files(), 3);
    remove(output), remove(last);
  }
}

static void test_resume_is_bitwise_identical(void **state) {
  (void)state;
  stop_and_resume(tiny, STRIDE);
  stop_and_resume(encoder, 5);
  stop_and_resume(additive, 5), stop_and_resume(general, 5);
}

/* A float32 run differs in the moments, at the end of the file. */
static void test_resume_in_bf16(void **state) {
  (void)state;
  static struct bytes half;
  enum { MOMENTS = 1000 };
  stop_and_resume(tiny, 5);
  half = expected_last, precision = "float32";
  run_uninterrupted(tiny);
  assert_memory_not_equal(half.text + half.size - MOMENTS,
                          expected_last.text + expected_last.size - MOMENTS, MOMENTS);
}

/* Stops at the n-th call and records the phases. */
struct phases {
  int64_t calls, at, in_batch; /* in_batch: the first call after an example of a step was loaded */
  int seen[ATTN_TRAIN_VALIDATE + 1];
  int32_t phase;
  int64_t done, most[ATTN_TRAIN_VALIDATE + 1]; /* between two calls of a phase */
};

static int32_t count_calls(void *context, const attn_train_state *s) {
  struct phases *p = context;
  assert_true(s->phase >= ATTN_TRAIN_READ_DATA && s->phase <= ATTN_TRAIN_VALIDATE);
  assert_true(s->done >= 0 && s->done <= s->total);
  if (s->phase == p->phase && s->done - p->done > p->most[s->phase])
    p->most[s->phase] = s->done - p->done;
  p->phase = s->phase, p->done = s->done, p->seen[s->phase]++;
  ++p->calls;
  if (s->phase == ATTN_TRAIN_LOAD_BATCH && s->done > 0 && !p->in_batch) p->in_batch = p->calls;
  return p->calls == p->at;
}

/* A BPE tokenizer, three batches per step. */
static attn_train_config run_with_phases(struct phases *p) {
  attn_train_config run = new_run(tiny, 3 * EVERY, NULL);
  run.tokenizer = "bpe:270", run.max_validation_examples = 40;
  run.batch_size = 40, run.gradient_accumulation_steps = 3; /* polled within the second batch */
  run.progress = count_calls, run.context = p;
  return run;
}

/* Stops at a call, and resumes. */
static void interrupt_at(int64_t at, int *stopped) {
  struct phases p = {.at = at};
  attn_train_config run = run_with_phases(&p);
  attn_train_state end = expect(&run, ATTN_ERR_INTERRUPTED);
  assert_int_equal(end.stop_reason, ATTN_TRAIN_INTERRUPTED);
  assert_int_equal(p.calls, at); /* a stop is not called again */
  stopped[p.phase]++;
  assert_int_equal(files(), p.phase < ATTN_TRAIN_STEP ? 1 : 2 + !access(output, F_OK));
  p.at = 0;
  if (p.phase >= ATTN_TRAIN_STEP)
    run.resume = last, run.data = run.config = run.tokenizer = NULL, run.steps = run.batch_size = 0,
    run.gradient_accumulation_steps = run.validate_every = run.max_validation_examples = 0,
    run.seed = 0, run.learning_rate = 0;
  expect(&run, ATTN_OK), expect_uninterrupted();
  remove(output), remove(last);
}

static void test_interrupt_in_every_phase(void **state) {
  (void)state;
  struct phases all = {0};
  attn_train_config run = run_with_phases(&all);
  expect(&run, ATTN_OK);
  for (int phase = ATTN_TRAIN_READ_DATA; phase <= ATTN_TRAIN_VALIDATE; phase++)
    assert_true(all.seen[phase] > 0);
  slurp(output, &expected_best), slurp(last, &expected_last), remove(output), remove(last);
  int stopped[ATTN_TRAIN_VALIDATE + 1] = {0};
  const int64_t late = all.calls - 1; /* within the last validation; the last call follows it */
  for (int64_t at = 1; at <= late;
       at = at < late && at + 1 + at * STRIDE / 12 > late ? late : at + 1 + at * STRIDE / 12)
    interrupt_at(at, stopped);
  assert_true(all.in_batch > 0);
  interrupt_at(all.in_batch, stopped);
  for (int phase = ATTN_TRAIN_READ_DATA; phase <= ATTN_TRAIN_VALIDATE; phase++)
    if (phase != ATTN_TRAIN_STEP) assert_true(stopped[phase] > 0);
}

/* The work between two calls is bounded: in bytes, texts, examples. */
static void test_progress_is_called_often(void **state) {
  (void)state;
  static const int64_t most[] = {
      [ATTN_TRAIN_READ_DATA] = 1 << 22,  [ATTN_TRAIN_BUILD_VOCABULARY] = 256,
      [ATTN_TRAIN_MEASURE_EXAMPLES] = 1, [ATTN_TRAIN_STEP] = 1,
      [ATTN_TRAIN_LOAD_BATCH] = 64,      [ATTN_TRAIN_VALIDATE] = 32};
  struct phases p = {0};
  attn_train_config run = new_run(tiny, 1, NULL);
  run.tokenizer = "bpe:300", run.max_validation_examples = 1 << 20, run.batch_size = 256,
  run.gradient_accumulation_steps = 2;
  run.progress = count_calls, run.context = &p;
  FILE *f = fopen(data, "wb");
  for (int n = 0; n < 10000; n++) fprintf(f, "%d %0500d\t%d\n", n, 0, n % 7);
  assert_int_equal(fclose(f), 0);
  expect(&run, ATTN_OK);
  for (int phase = ATTN_TRAIN_READ_DATA; phase <= ATTN_TRAIN_VALIDATE; phase++)
    if (p.most[phase] > most[phase] || !p.seen[phase])
      fail_msg("phase %d: %lld at once", phase, (long long)p.most[phase]);
}

/* In a child process: resumes from the last checkpoint, if there is one. */
static void resume_in_child(void) {
  struct log log = {0};
  attn_train_config run = new_run(tiny, STEPS, &log);
  if (!access(last, F_OK)) run = resumed_run(&log);
  run.replace = 1; /* the best checkpoint is written before the last */
  _exit(attn_model_train(&run, NULL, NULL) ? 2 : 0);
}

static void test_kill_at_any_time(void **state) {
  (void)state;
  int kills = 0, status = -1;
  run_uninterrupted(tiny);
  for (int64_t most = 1000; kills < 400; most += most / 8) { /* until a run finishes */
    pid_t child = fork();
    if (!child) resume_in_child();
    usleep((useconds_t)below(most));
    kill(child, SIGKILL);
    assert_true(waitpid(child, &status, 0) == child);
    if (WIFEXITED(status)) break;
    kills++;
  }
  printf("killed %d times\n", kills);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  expect_uninterrupted();
}

/* ---- Output files ---- */

static struct attn_checkpoint read_metadata(const char *path) {
  struct attn_trainer *t = NULL;
  struct attn_checkpoint c;
  assert_int_equal(attn_checkpoint_resume(path, 1, &t, &c, NULL), ATTN_OK);
  attn_trainer_free(t), attn_checkpoint_close(&c);
  return c;
}

/* Within a run: starts another one with the same output. */
static int32_t begin_another(void *context, const attn_train_state *s) {
  attn_error err = {.message = ""};
  attn_train_config run = new_run(tiny, 1, NULL);
  run.progress = NULL, run.replace = 1;
  (void)s;
  assert_int_equal(attn_model_train(&run, NULL, &err), ATTN_ERR_FILE);
  assert_non_null(strstr(err.message, "another run's output"));
  ++*(int *)context;
  return 0;
}

static void test_outputs_are_locked(void **state) {
  (void)state;
  int others = 0;
  attn_train_config run = new_run(tiny, EVERY, NULL);
  run.progress = begin_another, run.context = &others;
  expect(&run, ATTN_OK);
  assert_true(others > EVERY);
  run.progress = NULL, run.replace = 1, expect(&run, ATTN_OK); /* the lock is released */
}

static void put(const char *name, const char *text) {
  char path[128];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *f = fopen(path, "wb");
  assert_true(f && fputs(text, f) >= 0 && !fclose(f));
}

static void test_stale_temporary_files_are_removed(void **state) {
  (void)state;
  attn_train_config run = new_run(tiny, 1, NULL);
  run.progress = NULL;
  put(".attn-1-0.part", "half"), put(".attn-o.lock", ""), put(".attn-mine.part", "mine");
  expect(&run, ATTN_OK);
  assert_int_equal(files(), 4);
}

/* In a child process: replaces the files of a run that had another seed. */
static void replace(void) {
  attn_train_config run = new_run(tiny, STEPS, NULL);
  run.progress = NULL, run.replace = 1, run.seed = 8;
  _exit(attn_model_train(&run, NULL, NULL) ? 2 : 0);
}

/* A run killed while it replaces the files of another leaves the pair of one run, or a best
 * checkpoint alone. */
static void test_best_and_last_belong_to_one_run(void **state) {
  (void)state;
  int kills = 0, status = -1;
  for (int64_t most = 2000; kills < 200; most += most * STRIDE / 20) {
    attn_train_config run = new_run(tiny, EVERY, NULL);
    run.progress = NULL, run.replace = 1;
    expect(&run, ATTN_OK);
    pid_t child = fork();
    if (!child) replace();
    usleep((useconds_t)(most / 2 + below(most / 2)));
    kill(child, SIGKILL);
    assert_true(waitpid(child, &status, 0) == child);
    if (!access(last, F_OK))
      assert_int_equal(read_metadata(last).trainer.seed, read_metadata(output).trainer.seed);
    if (WIFEXITED(status)) break;
    kills++;
  }
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* ---- Ends ---- */

static int is_better(const attn_train_state *a, const attn_train_state *b) {
  return a->validation_exact_match > b->validation_exact_match ||
         (!(a->validation_exact_match < b->validation_exact_match) &&
          a->validation_loss < b->validation_loss);
}

static void test_best_checkpoint(void **state) {
  (void)state;
  struct log log = {0};
  attn_train_config run = new_run(tiny, 60, &log);
  attn_train_state end = expect(&run, ATTN_OK);
  assert_int_equal(log.count, 60 / EVERY);
  int best = 0;
  for (int n = 1; n < log.count; n++)
    if (is_better(&log.states[n], &log.states[best])) best = n;
  assert_int_equal(end.best_step, log.states[best].step);
  assert_true(end.best_metric == log.states[best].validation_exact_match);
  assert_int_equal(read_metadata(output).step, end.best_step);
  assert_int_equal(read_metadata(last).step, 60);
}

static void test_patience(void **state) {
  (void)state;
  struct log log = {0};
  attn_train_config run = new_run(tiny, 3000, &log);
  run.patience = 4, run.lr_schedule = "constant";
  attn_train_state end = expect(&run, ATTN_OK);
  assert_int_equal(end.stop_reason, ATTN_TRAIN_EARLY_STOPPED);
  assert_int_equal(end.step - end.best_step, 4 * EVERY);
  for (int n = 0, worse = 0; n < log.count - 1; n++) { /* and not earlier */
    worse = log.states[n].best_step == log.states[n].step ? 0 : worse + 1;
    assert_true(worse < 4);
  }
}

static void test_target_exact_match(void **state) {
  (void)state;
  struct log log = {0};
  FILE *f = fopen(data, "wb");
  for (int n = 0; n < 40; n++) fprintf(f, "%d\tyes\n", n);
  fclose(f);
  attn_train_config run = new_run(no_dropout, 2000, &log);
  run.target_exact_match = 1, run.learning_rate = 0.01;
  attn_train_state end = expect(&run, ATTN_OK);
  assert_int_equal(end.stop_reason, ATTN_TRAIN_TARGET_REACHED);
  for (int n = 0; n < log.count; n++)
    assert_int_equal(log.states[n].validation_exact_match >= 1, n == log.count - 1);
}

/* ---- Batches ---- */

/* Both sum the same gradients in another order, of weights below 1 and about 60 tokens: 2^-24 for
 * each, and as much again for the layers. */
static void test_gradient_accumulation(void **state) {
  (void)state;
  struct log one = {0}, four = {0};
  attn_train_config run = new_run(no_dropout, 1, &one);
  run.batch_size = 16;
  expect(&run, ATTN_OK);
  run.batch_size = 4, run.gradient_accumulation_steps = 4, run.context = &four, run.replace = 1;
  expect(&run, ATTN_OK);
  assert_true(fabs(one.first.loss - four.first.loss) < 120 * 0x1p-24 * one.first.loss);
  assert_true(fabs(one.first.grad_norm - four.first.grad_norm) <
              120 * 0x1p-24 * one.first.grad_norm);
  assert_true(one.first.accuracy == four.first.accuracy);
}

static void test_batches_do_not_depend_on_threads(void **state) {
  (void)state;
  int64_t drawn[2];
  for (int n = 0; n < 2; n++) {
    struct log log = {.stop_at = 4};
    attn_train_config run = new_run(no_dropout, STEPS, &log);
    run.batch_size = 16, run.threads = 2, run.replace = 1;
    expect(&run, ATTN_ERR_INTERRUPTED);
    log.stop_at = 0, run = resumed_run(&log), run.threads = n ? 1 : 2;
    expect(&run, ATTN_OK);
    drawn[n] = (int64_t)read_metadata(last).examples_seen;
  }
  assert_int_equal(drawn[0], 16 * STEPS), assert_int_equal(drawn[1], 16 * STEPS);
}

/* ---- Failures ---- */

static void test_divergence_keeps_checkpoints(void **state) {
  (void)state;
  struct log log = {0};
  attn_train_config run = new_run(tiny, STEPS, &log);
  expect(&run, ATTN_OK);
  slurp(output, &expected_best), slurp(last, &expected_last);
  run.learning_rate = 1e30, run.lr_schedule = "constant", run.warmup_steps = 1, run.replace = 1;
  run.steps = 1000, run.validate_every = 1000;
  attn_train_state end = expect(&run, ATTN_ERR_DIVERGED);
  assert_int_equal(end.step, 10),
      assert_int_equal(end.skipped_steps, 9); /* at the last progress call */
  run.validate_every = 1;                     /* the validation detects it first */
  assert_true(expect(&run, ATTN_ERR_DIVERGED).step < 10);
  expect_uninterrupted();
  assert_int_equal(files(), 3);
}

static void test_full_disk(void **state) {
  (void)state;
  struct rlimit all, little;
  struct log log = {0};
  attn_train_config run = new_run(tiny, STEPS, &log);
  getrlimit(RLIMIT_FSIZE, &all);
  little = all, little.rlim_cur = 5000;
  signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &little);
  expect(&run, ATTN_ERR_FILE);
  assert_int_equal(files(), 1);
  setrlimit(RLIMIT_FSIZE, &all);
  run_uninterrupted(tiny);
  log.stop_at = 5, expect(&run, ATTN_ERR_INTERRUPTED);
  setrlimit(RLIMIT_FSIZE, &little);
  log.stop_at = 0, run = resumed_run(&log), expect(&run, ATTN_ERR_FILE);
  setrlimit(RLIMIT_FSIZE, &all);
  expect(&run, ATTN_OK), expect_uninterrupted();
}

/* Every allocation fails once. The files left, if any, can be resumed from. */
static void test_out_of_memory_anywhere(void **state) {
  (void)state;
  int refused = 0, count = 0;
  for (int n = 1, whole = 0; !whole; n += 1 + n / 40) {
    attn_error err;
    struct log log = {0};
    attn_train_config run = new_run(tiny, 2, &log);
    scarce_begin(n);
    attn_status status = attn_model_train(&run, NULL, &err);
    scarce_end();
    whole = scarce.calls < n, refused += !whole, count = scarce.calls;
    if (status != (whole ? ATTN_OK : ATTN_ERR_MEMORY))
      fail_msg("allocation %d: %s", n, err.message);
    if (!access(last, F_OK)) run = resumed_run(&log), expect(&run, ATTN_OK);
    remove(output), remove(last);
    assert_int_equal(files(), 1);
  }
  printf("%d of %d allocations refused\n", refused, count);
  assert_true(refused > 50);
}

static void test_memory_does_not_grow_with_max_positions(void **state) {
  (void)state;
  struct log log = {0};
  attn_train_config run =
      new_run("{\"d_model\": 8, \"positions\": \"alibi\", \"max_positions\": 16777216, " LAYERS "}",
              3, &log);
  scarce_begin(0);
  expect(&run, ATTN_OK);
  scarce_end();
  assert_in_range(scarce.largest, 1, 1 << 26);
}

/* ---- Settings and data ---- */

static void expect_error(const attn_train_config *run, attn_status status, const char *expected) {
  attn_error err = {.message = ""};
  int before = files();
  assert_int_equal(attn_model_train(run, NULL, &err), status);
  if (!strstr(err.message, expected))
    fail_msg("\"%s\" does not contain \"%s\"", err.message, expected);
  assert_int_equal(files(), before);
}

/* Lines are shuffled, but the error names line 7. */
static void test_too_many_labels(void **state) {
  (void)state;
  struct log log = {0};
  attn_train_config run = new_run(encoder, 3, &log);
  attn_error err = {.message = ""};
  FILE *f = fopen(data, "wb");
  for (int n = 1; n <= 20; n++) fprintf(f, n == 7 ? "%c\tabc\n" : "%cb\tab\n", 'a' + n);
  assert_int_equal(fclose(f), 0);
  expect_error(&run, ATTN_ERR_FORMAT,
               "sums.tsv:7:1: the target has 3 tokens, its source 1: an encoder predicts one");
  assert_int_equal(attn_model_train(&run, NULL, &err), ATTN_ERR_FORMAT);
  assert_int_equal(err.line, 7);
  run.config = tiny, expect(&run, ATTN_OK); /* another kind of model accepts it */
  run.config = encoder, run.data = NULL, run.task = "dates", run.replace = 1;
  expect_error(&run, ATTN_ERR_FORMAT, "the target has 10 tokens");
  f = fopen(data, "wb");
  fputs("a\tb\nc\n", f), fclose(f);
  run.task = NULL, run.data = data,
  expect_error(&run, ATTN_ERR_FORMAT, "sums.tsv:2:1: line has no tab");
}

/* This WordPiece vocabulary has one token. Token 2, the end token, would be outside the model's
 * embedding. */
static void test_tokenizer_without_end_token(void **state) {
  (void)state;
  static const char json[] =
      "{\"version\":\"1.0\",\"added_tokens\":[],\"normalizer\":{\"type\":\"BertNormalizer\","
      "\"clean_text\":true,\"handle_chinese_chars\":true,\"strip_accents\":null,\"lowercase\":true}"
      ","
      "\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},\"decoder\":{\"type\":\"WordPiece\","
      "\"prefix\":\"##\",\"cleanup\":true},\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"a\","
      "\"continuing_subword_prefix\":\"##\",\"max_input_chars_per_word\":9,\"vocab\":{\"a\":0}}}";
  struct log log = {0};
  attn_train_config run = new_run(tiny, 3, &log);
  char path[100];
  snprintf(path, sizeof path, "%s/tokenizer.json", folder);
  assert_int_equal(attn_file_write(path, json, sizeof json - 1, NULL), ATTN_OK);
  run.tokenizer = path;
  expect_error(&run, ATTN_ERR_FORMAT, "<pad> must have id 0");
  remove(path);
}

static void test_invalid_settings(void **state) {
  (void)state;
#define REJECTED(status, expected, ...)              \
  do {                                               \
    attn_train_config run = new_run(tiny, 3, &log);  \
    __VA_ARGS__;                                     \
    expect_error(&run, ATTN_ERR_##status, expected); \
  } while (0)
  struct log log = {0};
  REJECTED(ARGUMENT, "steps", run.steps = -1);
  REJECTED(ARGUMENT, "batch_size", run.batch_size = INT64_MAX);
  REJECTED(ARGUMENT, "2^24 tokens", run.data = NULL, run.task = "dates", run.batch_size = 1 << 20);
  REJECTED(ARGUMENT, "gradient_accumulation_steps", run.gradient_accumulation_steps = -1);
  REJECTED(ARGUMENT, "learning_rate", run.learning_rate = (double)NAN);
  REJECTED(ARGUMENT, "learning_rate", run.learning_rate = -1);
  REJECTED(ARGUMENT, "weight_decay", run.weight_decay = (double)INFINITY);
  REJECTED(ARGUMENT, "label_smoothing", run.label_smoothing = 1);
  REJECTED(ARGUMENT, "target_exact_match", run.target_exact_match = 1.5);
  REJECTED(ARGUMENT, "precision must be \"float32\" or \"bf16\"", run.precision = "float16");
  REJECTED(ARGUMENT, "precision", run.precision = "");
  REJECTED(ARGUMENT, "lr_schedule", run.lr_schedule = "linear");
  REJECTED(ARGUMENT, "output", run.output = NULL);
  REJECTED(ARGUMENT, "exists", run.output = data);
  REJECTED(FILE, "regular", run.output = folder, run.replace = 1);
  REJECTED(FILE, "nowhere", run.output = "/nowhere/m.safetensors");
  REJECTED(ARGUMENT, "task, data", run.task = "dates");
  REJECTED(ARGUMENT, "unknown task", run.data = NULL, run.task = "datez");
  REJECTED(ARGUMENT, "validation_data requires data", run.data = NULL, run.task = "dates",
           run.validation_data = data);
  REJECTED(ARGUMENT, "tokenizer", run.tokenizer = "wordz");
  REJECTED(FORMAT, "widht", run.config = "{\"widht\": 3}");
  REJECTED(FORMAT, "2^40", run.config = "{\"d_model\": 16777216, \"ffn_dim\": 16777216}");
  REJECTED(ARGUMENT, "leave it out", run.config = "{\"vocab_size\": 9}");
  REJECTED(ARGUMENT, "no decoder layers", run.config = "{\"decoder_layers\": 0}");
  REJECTED(ARGUMENT, "no output head", run.config = "{\"kind\": \"encoder\", \"head\": \"none\"}");
  REJECTED(FORMAT, "tokens; the model has positions for 2 and the end token",
           run.config = "{\"max_positions\": 3}");
}

static void test_resume_checks_settings_and_data(void **state) {
  (void)state;
  struct log log = {.stop_at = STEPS - 1}; /* after the best step */
  attn_train_config run = new_run(tiny, STEPS, &log);
  expect(&run, ATTN_ERR_INTERRUPTED);
  log.stop_at = 0, run = resumed_run(&log);
  run.steps = 100, expect_error(&run, ATTN_ERR_ARGUMENT, "steps"), run.steps = 0;
  run.config = tiny, expect_error(&run, ATTN_ERR_ARGUMENT, "config"), run.config = NULL;
  run.precision = "float32", expect_error(&run, ATTN_ERR_ARGUMENT, "precision cannot change");
  run.precision = NULL;
  run.resume = data, expect_error(&run, ATTN_ERR_ARGUMENT, "exists"), run.replace = 1;
  expect_error(&run, ATTN_ERR_FORMAT, "safetensors"), run.resume = last, run.replace = 0;
  write_sums(data, 1), expect_error(&run, ATTN_ERR_FORMAT, "the data have changed");
  FILE *f = fopen(data, "wb");
  fputs("no tab", f), fclose(f);
  expect_error(&run, ATTN_ERR_FORMAT, "the data have changed");
  write_sums(data, 0);
  write_sums(moved, 3), run.output = moved; /* another run's file */
  expect_error(&run, ATTN_ERR_ARGUMENT, "exists");
  remove(moved);
  attn_train_state end = expect(&run, ATTN_OK); /* the best since then */
  assert_int_equal(end.best_step, STEPS);
  attn_model *model;
  assert_int_equal(attn_model_open(moved, &model, NULL), ATTN_OK);
  attn_model_free(model);
}

/* A caller compiled before `precision` was added. */
static void test_shorter_config_struct(void **state) {
  (void)state;
  struct log log = {0};
  attn_train_config run = new_run(tiny, 2, &log);
  run.struct_size = offsetof(attn_train_config, precision), run.precision = "not read";
  expect(&run, ATTN_OK);
  assert_int_equal(read_metadata(last).trainer.bf16, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
#define IN_BF16(name) cmocka_unit_test_setup_teardown(name, begin_bf16, end)

int main(int argc, char **argv) {
  random_begin(argc, argv);
  const struct CMUnitTest tests[] = {TEST(test_resume_is_bitwise_identical),
                                     IN_BF16(test_resume_in_bf16),
                                     TEST(test_interrupt_in_every_phase),
                                     TEST(test_progress_is_called_often),
                                     TEST(test_kill_at_any_time),
                                     TEST(test_outputs_are_locked),
                                     TEST(test_stale_temporary_files_are_removed),
                                     TEST(test_best_and_last_belong_to_one_run),
                                     TEST(test_best_checkpoint),
                                     TEST(test_patience),
                                     TEST(test_target_exact_match),
                                     TEST(test_gradient_accumulation),
                                     TEST(test_batches_do_not_depend_on_threads),
                                     TEST(test_divergence_keeps_checkpoints),
                                     TEST(test_full_disk),
                                     TEST(test_out_of_memory_anywhere),
                                     IN_BF16(test_out_of_memory_anywhere),
                                     TEST(test_memory_does_not_grow_with_max_positions),
                                     TEST(test_too_many_labels),
                                     TEST(test_tokenizer_without_end_token),
                                     TEST(test_invalid_settings),
                                     TEST(test_resume_checks_settings_and_data),
                                     TEST(test_shorter_config_struct)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
