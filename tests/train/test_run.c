/* Laws of runs: what goes on after any stop is, bit for bit, the run that never stopped; the best
 * is the best; a run ends where it was told to; batches that are gathered are one; a run that fails
 * leaves nothing behind, and what stood there as it was. */
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

enum { STEPS = 24, EVERY = 3, STATES = 400 };

#define LAYERS "\"heads\": 2, \"hidden\": 16, \"encoder_layers\": 1, \"decoder_layers\": 1"
static const char tiny[] = "{\"width\": 8, " LAYERS "}",
                  encoder[] = "{\"kind\": \"encoder\", \"width\": 8, " LAYERS "}",
                  sober[] = "{\"width\": 8, \"dropout\": 0, " LAYERS "}";

static const char *precision; /* of a run; NULL: float32 */
static char data[96], output[96], last[96], moved[96];

static void put_sums(const char *to, int from) {
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
  put_sums(data, 0);
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
  if (s->phase != ATTN_TRAIN_LEARNS) return 0;
  if (s->step == 1) l->first = *s;
  if (s->validated && l->count < STATES) l->states[l->count++] = *s;
  return l->stop_at && s->step >= l->stop_at;
}

static attn_train wanted(const char *config, int64_t steps, struct log *log) {
  attn_train run = ATTN_TRAIN_INIT;
  run.data = data, run.output = output, run.config = config;
  run.steps = steps, run.batch = 4, run.validate_every = EVERY, run.examples = 4, run.seed = 7;
  run.rate = 0.3, run.threads = 1, run.precision = precision, run.progress = note,
  run.context = log;
  return run;
}

static attn_train going_on(struct log *log) {
  attn_train run = ATTN_TRAIN_INIT;
  run.resume = last, run.output = output, run.threads = 1, run.progress = note, run.context = log;
  return run;
}

static attn_train_state expect(const attn_train *run, attn_status status) {
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

static struct bytes whole_best, whole_last;

/* The run that never stops, and is forgotten but for what it wrote. */
static void run_whole(const char *config) {
  struct log log = {0};
  attn_train run = wanted(config, STEPS, &log);
  int64_t best = expect(&run, ATTN_OK).best_step;
  assert_true(best > EVERY && best < STEPS - EVERY); /* or what is said of it would not matter */
  slurp(output, &whole_best), slurp(last, &whole_last);
  remove(output), remove(last);
}

static void expect_whole(void) {
  static struct bytes is;
  slurp(output, &is);
  assert_true(is.size == whole_best.size && !memcmp(is.text, whole_best.text, is.size));
  slurp(last, &is);
  assert_true(is.size == whole_last.size && !memcmp(is.text, whole_last.text, is.size));
}

/* ---- Stops ---- */

static void stop_and_go_on(const char *config, int64_t every) {
  run_whole(config);
  for (int64_t step = 0; step < STEPS; step += every) {
    struct log log = {.stop_at = step ? step : -1};
    attn_train run = wanted(config, STEPS, &log);
    assert_int_equal(expect(&run, ATTN_ERR_INTERRUPTED).end, ATTN_TRAIN_INTERRUPTED);
    log.stop_at = step + 2 < STEPS ? step + 2 : 0;
    run = going_on(&log);
    if (log.stop_at) expect(&run, ATTN_ERR_INTERRUPTED);
    log.stop_at = 0;
    assert_int_equal(expect(&run, ATTN_OK).step, STEPS);
    expect_whole();
    assert_int_equal(expect(&run, ATTN_OK).end, ATTN_TRAIN_STEPS); /* nothing is left to do */
    expect_whole();
    assert_int_equal(files(), 3);
    remove(output), remove(last);
  }
}

static void what_goes_on_never_stopped(void **state) {
  (void)state;
  stop_and_go_on(tiny, 1);
  stop_and_go_on(encoder, 5);
}

/* Of float32 it would be another run: the moments, which end the file, are others. */
static void nor_did_what_is_in_bf16(void **state) {
  (void)state;
  static struct bytes half;
  enum { MOMENTS = 1000 };
  stop_and_go_on(tiny, 5);
  half = whole_last, precision = "float32";
  run_whole(tiny);
  assert_memory_not_equal(half.text + half.size - MOMENTS,
                          whole_last.text + whole_last.size - MOMENTS, MOMENTS);
}

/* Stops at the n-th call, whatever the run is at, and sees which phases there were. */
struct phases {
  int64_t calls, at;
  int seen[ATTN_TRAIN_VALIDATES + 1];
  int32_t phase;
  int64_t done, most[ATTN_TRAIN_VALIDATES + 1]; /* between two calls of a phase */
};

static int32_t count_calls(void *context, const attn_train_state *s) {
  struct phases *p = context;
  assert_true(s->phase >= ATTN_TRAIN_READS && s->phase <= ATTN_TRAIN_VALIDATES);
  assert_true(s->done >= 0 && s->done <= s->total);
  if (s->phase == p->phase && s->done - p->done > p->most[s->phase])
    p->most[s->phase] = s->done - p->done;
  p->phase = s->phase, p->done = s->done, p->seen[s->phase]++;
  return ++p->calls == p->at;
}

/* Words of byte pairs, three batches a step. */
static attn_train wanted_by_phases(struct phases *p) {
  attn_train run = wanted(tiny, STEPS, NULL);
  run.tokenizer = "bpe:270", run.examples = 40;
  run.batch = 40, run.accumulate = 3; /* it is asked in the middle of the second */
  run.progress = count_calls, run.context = p;
  return run;
}

static void a_run_may_be_stopped_in_every_phase(void **state) {
  (void)state;
  struct phases all = {0};
  attn_train run = wanted_by_phases(&all);
  expect(&run, ATTN_OK);
  for (int phase = ATTN_TRAIN_READS; phase <= ATTN_TRAIN_VALIDATES; phase++)
    assert_true(all.seen[phase] > 0);
  slurp(output, &whole_best), slurp(last, &whole_last), remove(output), remove(last);
  int stopped[ATTN_TRAIN_VALIDATES + 1] = {0};
  const int64_t late = all.calls - 1; /* in the last validation: the last call comes after it */
  for (int64_t at = 1; at <= late;
       at = at < late && at + 1 + at / 12 > late ? late : at + 1 + at / 12) {
    struct phases p = {.at = at};
    run = wanted_by_phases(&p);
    attn_train_state end = expect(&run, ATTN_ERR_INTERRUPTED);
    assert_int_equal(end.end, ATTN_TRAIN_INTERRUPTED);
    assert_int_equal(p.calls, at); /* once is enough */
    stopped[p.phase]++;
    assert_int_equal(files(), p.phase < ATTN_TRAIN_LEARNS ? 1 : 2 + !access(output, F_OK));
    p.at = 0;
    if (p.phase >= ATTN_TRAIN_LEARNS)
      run.resume = last, run.data = run.config = run.tokenizer = NULL, run.steps = run.batch = 0,
      run.accumulate = run.validate_every = run.examples = 0, run.seed = 0, run.rate = 0;
    expect(&run, ATTN_OK), expect_whole();
    remove(output), remove(last);
  }
  for (int phase = ATTN_TRAIN_READS; phase <= ATTN_TRAIN_VALIDATES; phase++)
    if (phase != ATTN_TRAIN_LEARNS) assert_true(stopped[phase] > 0);
}

/* What is worked on between two calls is little, however much there is in all: in bytes, texts,
 * examples. */
static void a_run_is_asked_often(void **state) {
  (void)state;
  static const int64_t most[] = {
      [ATTN_TRAIN_READS] = 1 << 22, [ATTN_TRAIN_WORDS] = 256,  [ATTN_TRAIN_MEASURES] = 1,
      [ATTN_TRAIN_LEARNS] = 1,      [ATTN_TRAIN_GATHERS] = 64, [ATTN_TRAIN_VALIDATES] = 32};
  struct phases p = {0};
  attn_train run = wanted(tiny, 1, NULL);
  run.tokenizer = "bpe:300", run.examples = 1 << 20, run.batch = 256, run.accumulate = 2;
  run.progress = count_calls, run.context = &p;
  FILE *f = fopen(data, "wb");
  for (int n = 0; n < 20000; n++) fprintf(f, "%d %0500d\t%d\n", n, 0, n % 7);
  assert_int_equal(fclose(f), 0);
  expect(&run, ATTN_OK);
  for (int phase = ATTN_TRAIN_READS; phase <= ATTN_TRAIN_VALIDATES; phase++)
    if (p.most[phase] > most[phase] || !p.seen[phase])
      fail_msg("phase %d: %lld at once", phase, (long long)p.most[phase]);
}

/* A child's run: from what stands there. */
static void go_on(void) {
  struct log log = {0};
  attn_train run = wanted(tiny, STEPS, &log);
  if (!access(last, F_OK)) run = going_on(&log);
  run.replace = 1; /* the best may stand where the last does not yet */
  _exit(attn_model_train(&run, NULL, NULL) ? 2 : 0);
}

static void a_run_may_be_killed_at_any_moment(void **state) {
  (void)state;
  int kills = 0, status = -1;
  run_whole(tiny);
  for (int64_t most = 1000; kills < 400; most += most / 8) { /* in the end it is let be */
    pid_t child = fork();
    if (!child) go_on();
    usleep((useconds_t)below(most));
    kill(child, SIGKILL);
    assert_true(waitpid(child, &status, 0) == child);
    if (WIFEXITED(status)) break;
    kills++;
  }
  printf("killed %d times\n", kills);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  expect_whole();
}

/* ---- Whose files they are ---- */

/* The numbers that a checkpoint says beside its weights. */
static struct attn_checkpoint told_by(const char *path) {
  struct attn_trainer *t = NULL;
  struct attn_checkpoint c;
  assert_int_equal(attn_checkpoint_resume(path, 1, &t, &c, NULL), ATTN_OK);
  attn_trainer_free(t), attn_checkpoint_close(&c);
  return c;
}

/* In the middle of another run: its output is taken. */
static int32_t begin_another(void *context, const attn_train_state *s) {
  attn_error err = {.message = ""};
  attn_train run = wanted(tiny, 1, NULL);
  run.progress = NULL, run.replace = 1;
  (void)s;
  assert_int_equal(attn_model_train(&run, NULL, &err), ATTN_ERR_FILE);
  assert_non_null(strstr(err.message, "another run's output"));
  ++*(int *)context;
  return 0;
}

static void an_output_is_one_runs(void **state) {
  (void)state;
  int others = 0;
  attn_train run = wanted(tiny, EVERY, NULL);
  run.progress = begin_another, run.context = &others;
  expect(&run, ATTN_OK);
  assert_true(others > EVERY);
  run.progress = NULL, run.replace = 1, expect(&run, ATTN_OK); /* it is given back */
}

static void put(const char *name, const char *text) {
  char path[128];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *f = fopen(path, "wb");
  assert_true(f && fputs(text, f) >= 0 && !fclose(f));
}

static void what_killed_runs_left_is_removed(void **state) {
  (void)state;
  attn_train run = wanted(tiny, 1, NULL);
  run.progress = NULL;
  put(".attn-1-0.part", "half"), put(".attn-o.lock", ""), put(".attn-mine.part", "mine");
  expect(&run, ATTN_OK);
  assert_int_equal(files(), 4);
}

/* A child's run in the place of one that is done, which had another seed. */
static void replace(void) {
  attn_train run = wanted(tiny, STEPS, NULL);
  run.progress = NULL, run.replace = 1, run.seed = 8;
  _exit(attn_model_train(&run, NULL, NULL) ? 2 : 0);
}

/* Killed while it replaces another one's, a run never leaves an old last one beside a new best, nor
 * the other way round: two of one run, or a best one alone. */
static void best_and_last_are_of_one_run(void **state) {
  (void)state;
  int kills = 0, status = -1;
  for (int64_t most = 2000; kills < 200; most += most / 20) {
    attn_train run = wanted(tiny, EVERY, NULL);
    run.progress = NULL, run.replace = 1;
    expect(&run, ATTN_OK);
    pid_t child = fork();
    if (!child) replace();
    usleep((useconds_t)(most / 2 + below(most / 2)));
    kill(child, SIGKILL);
    assert_true(waitpid(child, &status, 0) == child);
    if (!access(last, F_OK)) assert_int_equal(told_by(last).how.seed, told_by(output).how.seed);
    if (WIFEXITED(status)) break;
    kills++;
  }
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* ---- Ends ---- */

static int is_better(const attn_train_state *a, const attn_train_state *b) {
  return a->unseen_exact > b->unseen_exact ||
         (!(a->unseen_exact < b->unseen_exact) && a->unseen_loss < b->unseen_loss);
}

static void the_best_is_the_best(void **state) {
  (void)state;
  struct log log = {0};
  attn_train run = wanted(tiny, 60, &log);
  attn_train_state end = expect(&run, ATTN_OK);
  assert_int_equal(log.count, 60 / EVERY);
  int best = 0;
  for (int n = 1; n < log.count; n++)
    if (is_better(&log.states[n], &log.states[best])) best = n;
  assert_int_equal(end.best_step, log.states[best].step);
  assert_true(end.best == log.states[best].unseen_exact);
  assert_int_equal(told_by(output).step, end.best_step);
  assert_int_equal(told_by(last).step, 60);
}

static void patience_ends_a_run(void **state) {
  (void)state;
  struct log log = {0};
  attn_train run = wanted(tiny, 3000, &log);
  run.patience = 4, run.schedule = "constant";
  attn_train_state end = expect(&run, ATTN_OK);
  assert_int_equal(end.end, ATTN_TRAIN_NO_BETTER);
  assert_int_equal(end.step - end.best_step, 4 * EVERY);
  for (int n = 0, worse = 0; n < log.count - 1; n++) { /* not before */
    worse = log.states[n].best_step == log.states[n].step ? 0 : worse + 1;
    assert_true(worse < 4);
  }
}

static void what_is_good_enough_ends_a_run(void **state) {
  (void)state;
  struct log log = {0};
  FILE *f = fopen(data, "wb");
  for (int n = 0; n < 40; n++) fprintf(f, "%d\tyes\n", n);
  fclose(f);
  attn_train run = wanted(sober, 2000, &log);
  run.until = 1, run.rate = 0.01;
  attn_train_state end = expect(&run, ATTN_OK);
  assert_int_equal(end.end, ATTN_TRAIN_REACHED);
  for (int n = 0; n < log.count; n++)
    assert_int_equal(log.states[n].unseen_exact >= 1, n == log.count - 1);
}

/* ---- Batches ---- */

/* Both sum the same gradients, of weights below 1 and of about 60 tokens, in another order: single
 * precision's 2^-24 for each, and as much again for the layers. */
static void batches_that_are_gathered_are_one(void **state) {
  (void)state;
  struct log one = {0}, four = {0};
  attn_train run = wanted(sober, 1, &one);
  run.batch = 16;
  expect(&run, ATTN_OK);
  run.batch = 4, run.accumulate = 4, run.context = &four, run.replace = 1;
  expect(&run, ATTN_OK);
  assert_true(fabs(one.first.loss - four.first.loss) < 120 * 0x1p-24 * one.first.loss);
  assert_true(fabs(one.first.norm - four.first.norm) < 120 * 0x1p-24 * one.first.norm);
  assert_true(one.first.accuracy == four.first.accuracy);
}

/* A run that goes on with other threads has batches of as many examples: none is left out. */
static void other_threads_have_the_same_batches(void **state) {
  (void)state;
  int64_t drawn[2];
  for (int n = 0; n < 2; n++) {
    struct log log = {.stop_at = 4};
    attn_train run = wanted(sober, STEPS, &log);
    run.batch = 16, run.threads = 2, run.replace = 1;
    expect(&run, ATTN_ERR_INTERRUPTED);
    log.stop_at = 0, run = going_on(&log), run.threads = n ? 1 : 2;
    expect(&run, ATTN_OK);
    drawn[n] = (int64_t)told_by(last).drawn;
  }
  assert_int_equal(drawn[0], 16 * STEPS), assert_int_equal(drawn[1], 16 * STEPS);
}

/* ---- Failures ---- */

static void what_diverges_changes_no_checkpoint(void **state) {
  (void)state;
  struct log log = {0};
  attn_train run = wanted(tiny, STEPS, &log);
  expect(&run, ATTN_OK);
  slurp(output, &whole_best), slurp(last, &whole_last);
  run.rate = 1e30, run.schedule = "constant", run.warm_up = 1, run.replace = 1;
  run.steps = 1000, run.validate_every = 1000;
  attn_train_state end = expect(&run, ATTN_ERR_DIVERGED);
  assert_int_equal(end.step, 10), assert_int_equal(end.skipped, 9); /* as of the last report */
  run.validate_every = 1; /* a validation finds it out first */
  assert_true(expect(&run, ATTN_ERR_DIVERGED).step < 10);
  expect_whole();
  assert_int_equal(files(), 3);
}

static void a_full_disk_leaves_what_stood(void **state) {
  (void)state;
  struct rlimit all, little;
  struct log log = {0};
  attn_train run = wanted(tiny, STEPS, &log);
  getrlimit(RLIMIT_FSIZE, &all);
  little = all, little.rlim_cur = 5000;
  signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &little);
  expect(&run, ATTN_ERR_FILE);
  assert_int_equal(files(), 1);
  setrlimit(RLIMIT_FSIZE, &all);
  run_whole(tiny);
  log.stop_at = 5, expect(&run, ATTN_ERR_INTERRUPTED);
  setrlimit(RLIMIT_FSIZE, &little);
  log.stop_at = 0, run = going_on(&log), expect(&run, ATTN_ERR_FILE);
  setrlimit(RLIMIT_FSIZE, &all);
  expect(&run, ATTN_OK), expect_whole();
}

/* Every allocation fails once: what is left is nothing, or what a run can go on from. */
static void memory_may_end_anywhere(void **state) {
  (void)state;
  int refused = 0, count = 0;
  for (int n = 1, whole = 0; !whole; n += 1 + n / 40) {
    attn_error err;
    struct log log = {0};
    attn_train run = wanted(tiny, 2, &log);
    scarce_begin(n);
    attn_status status = attn_model_train(&run, NULL, &err);
    scarce_end();
    whole = scarce.calls < n, refused += !whole, count = scarce.calls;
    if (status != (whole ? ATTN_OK : ATTN_ERR_MEMORY))
      fail_msg("allocation %d: %s", n, err.message);
    if (!access(last, F_OK)) run = going_on(&log), expect(&run, ATTN_OK);
    remove(output), remove(last);
    assert_int_equal(files(), 1);
  }
  printf("%d of %d allocations refused\n", refused, count);
  assert_true(refused > 50);
}

/* Validation takes memory for the examples' tokens, not for the places that the model has. */
static void a_model_of_many_places_takes_no_more_memory(void **state) {
  (void)state;
  struct log log = {0};
  attn_train run =
      wanted("{\"width\": 8, \"positions\": \"alibi\", \"length\": 16777216, " LAYERS "}", 3, &log);
  scarce_begin(0);
  expect(&run, ATTN_OK);
  scarce_end();
  assert_in_range(scarce.largest, 1, 1 << 26);
}

/* ---- What is asked for ---- */

static void expect_refused(const attn_train *run, attn_status status, const char *says) {
  attn_error err = {.message = ""};
  int before = files();
  assert_int_equal(attn_model_train(run, NULL, &err), status);
  if (!strstr(err.message, says)) fail_msg("\"%s\" does not say \"%s\"", err.message, says);
  assert_int_equal(files(), before);
}

/* Lines are learned from in another order, and yet it is line 7 that is told. */
static void labels_that_have_no_place_are_refused(void **state) {
  (void)state;
  struct log log = {0};
  attn_train run = wanted(encoder, 3, &log);
  attn_error err = {.message = ""};
  FILE *f = fopen(data, "wb");
  for (int n = 1; n <= 20; n++) fprintf(f, n == 7 ? "%c\tabc\n" : "%cb\tab\n", 'a' + n);
  assert_int_equal(fclose(f), 0);
  expect_refused(
      &run, ATTN_ERR_FORMAT,
      "sums.tsv:7:1: the target has 3 tokens, its source 1: an encoder alone says one at");
  assert_int_equal(attn_model_train(&run, NULL, &err), ATTN_ERR_FORMAT);
  assert_int_equal(err.line, 7);
  run.config = tiny, expect(&run, ATTN_OK); /* another model may say more */
  run.config = encoder, run.data = NULL, run.task = "dates", run.replace = 1;
  expect_refused(&run, ATTN_ERR_FORMAT, "the target has 10 tokens");
  f = fopen(data, "wb");
  fputs("a\tb\nc\n", f), fclose(f);
  run.task = NULL, run.data = data,
  expect_refused(&run, ATTN_ERR_FORMAT, "sums.tsv:2:1: has no tab");
}

/* Of WordPiece a file says which words begin and end a text: of this one, of one word, none is
 * </s>, and a model that says number 2 would read beyond its table. */
static void words_without_an_end_are_refused(void **state) {
  (void)state;
  static const char json[] =
      "{\"version\":\"1.0\",\"added_tokens\":[],\"normalizer\":{\"type\":\"BertNormalizer\","
      "\"clean_text\":true,\"handle_chinese_chars\":true,\"strip_accents\":null,\"lowercase\":true}"
      ","
      "\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},\"decoder\":{\"type\":\"WordPiece\","
      "\"prefix\":\"##\",\"cleanup\":true},\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"a\","
      "\"continuing_subword_prefix\":\"##\",\"max_input_chars_per_word\":9,\"vocab\":{\"a\":0}}}";
  struct log log = {0};
  attn_train run = wanted(tiny, 3, &log);
  char path[100];
  snprintf(path, sizeof path, "%s/tokenizer.json", folder);
  assert_int_equal(attn_file_write(path, json, sizeof json - 1, NULL), ATTN_OK);
  run.tokenizer = path;
  expect_refused(&run, ATTN_ERR_FORMAT, "<pad> must have id 0");
  remove(path);
}

static void settings_that_cannot_be_are_refused(void **state) {
  (void)state;
#define REFUSED(status, says, ...)                 \
  do {                                             \
    attn_train run = wanted(tiny, 3, &log);        \
    __VA_ARGS__;                                   \
    expect_refused(&run, ATTN_ERR_##status, says); \
  } while (0)
  struct log log = {0};
  REFUSED(ARGUMENT, "steps", run.steps = -1);
  REFUSED(ARGUMENT, "batch", run.batch = INT64_MAX);
  REFUSED(ARGUMENT, "2^24 tokens", run.data = NULL, run.task = "dates", run.batch = 1 << 20);
  REFUSED(ARGUMENT, "accumulate", run.accumulate = -1);
  REFUSED(ARGUMENT, "rate", run.rate = (double)NAN);
  REFUSED(ARGUMENT, "rate", run.rate = -1);
  REFUSED(ARGUMENT, "decay", run.decay = (double)INFINITY);
  REFUSED(ARGUMENT, "smoothing", run.smoothing = 1);
  REFUSED(ARGUMENT, "until", run.until = 1.5);
  REFUSED(ARGUMENT, "precision must be \"float32\" or \"bf16\"", run.precision = "float16");
  REFUSED(ARGUMENT, "precision", run.precision = "");
  REFUSED(ARGUMENT, "schedule", run.schedule = "linear");
  REFUSED(ARGUMENT, "output", run.output = NULL);
  REFUSED(ARGUMENT, "is there already", run.output = data);
  REFUSED(FILE, "regular", run.output = folder, run.replace = 1);
  REFUSED(FILE, "nowhere", run.output = "/nowhere/m.safetensors");
  REFUSED(ARGUMENT, "task, data", run.task = "dates");
  REFUSED(ARGUMENT, "no task", run.data = NULL, run.task = "datez");
  REFUSED(ARGUMENT, "held_out", run.data = NULL, run.task = "dates", run.held_out = data);
  REFUSED(ARGUMENT, "tokenizer", run.tokenizer = "wordz");
  REFUSED(FORMAT, "widht", run.config = "{\"widht\": 3}");
  REFUSED(FORMAT, "2^40", run.config = "{\"width\": 16777216, \"hidden\": 16777216}");
  REFUSED(ARGUMENT, "leave it out", run.config = "{\"vocabulary\": 9}");
  REFUSED(ARGUMENT, "no decoder", run.config = "{\"decoder_layers\": 0}");
  REFUSED(ARGUMENT, "hidden vectors", run.config = "{\"kind\": \"encoder\", \"head\": \"none\"}");
  REFUSED(FORMAT, "tokens; the model has positions for 2 and the end",
          run.config = "{\"length\": 3}");
}

static void what_goes_on_is_the_run_that_it_was(void **state) {
  (void)state;
  struct log log = {.stop_at = STEPS - 1}; /* the best is behind it: see run_whole */
  attn_train run = wanted(tiny, STEPS, &log);
  expect(&run, ATTN_ERR_INTERRUPTED);
  log.stop_at = 0, run = going_on(&log);
  run.steps = 100, expect_refused(&run, ATTN_ERR_ARGUMENT, "steps"), run.steps = 0;
  run.config = tiny, expect_refused(&run, ATTN_ERR_ARGUMENT, "config"), run.config = NULL;
  run.precision = "float32",
  expect_refused(&run, ATTN_ERR_ARGUMENT, "precision is the checkpoint's");
  run.precision = NULL;
  run.resume = data, expect_refused(&run, ATTN_ERR_ARGUMENT, "there already"), run.replace = 1;
  expect_refused(&run, ATTN_ERR_FORMAT, "safetensors"), run.resume = last, run.replace = 0;
  put_sums(data, 1), expect_refused(&run, ATTN_ERR_FORMAT, "not the lines");
  FILE *f = fopen(data, "wb");
  fputs("no tab", f), fclose(f);
  expect_refused(&run, ATTN_ERR_FORMAT, "not the lines");
  put_sums(data, 0);
  put_sums(moved, 3), run.output = moved; /* another's file */
  expect_refused(&run, ATTN_ERR_ARGUMENT, "there already");
  remove(moved);
  attn_train_state end = expect(&run, ATTN_OK); /* the best of what comes stands there */
  assert_int_equal(end.best_step, STEPS);
  attn_model *model;
  assert_int_equal(attn_model_open(moved, &model, NULL), ATTN_OK);
  attn_model_free(model);
}

/* A caller of before there was a choice of precisions. */
static void an_older_caller_is_served(void **state) {
  (void)state;
  struct log log = {0};
  attn_train run = wanted(tiny, 2, &log);
  run.struct_size = offsetof(attn_train, precision), run.precision = "none of its";
  expect(&run, ATTN_OK);
  assert_int_equal(told_by(last).how.halves, 0);
}

#define LAW(name) cmocka_unit_test_setup_teardown(name, begin, end)
#define IN_BF16(name) cmocka_unit_test_setup_teardown(name, begin_bf16, end)

int main(int argc, char **argv) {
  random_begin(argc, argv);
  const struct CMUnitTest tests[] = {LAW(what_goes_on_never_stopped),
                                     IN_BF16(nor_did_what_is_in_bf16),
                                     LAW(a_run_may_be_stopped_in_every_phase),
                                     LAW(a_run_is_asked_often),
                                     LAW(a_run_may_be_killed_at_any_moment),
                                     LAW(an_output_is_one_runs),
                                     LAW(what_killed_runs_left_is_removed),
                                     LAW(best_and_last_are_of_one_run),
                                     LAW(the_best_is_the_best),
                                     LAW(patience_ends_a_run),
                                     LAW(what_is_good_enough_ends_a_run),
                                     LAW(batches_that_are_gathered_are_one),
                                     LAW(other_threads_have_the_same_batches),
                                     LAW(what_diverges_changes_no_checkpoint),
                                     LAW(a_full_disk_leaves_what_stood),
                                     LAW(memory_may_end_anywhere),
                                     IN_BF16(memory_may_end_anywhere),
                                     LAW(a_model_of_many_places_takes_no_more_memory),
                                     LAW(labels_that_have_no_place_are_refused),
                                     LAW(words_without_an_end_are_refused),
                                     LAW(settings_that_cannot_be_are_refused),
                                     LAW(what_goes_on_is_the_run_that_it_was),
                                     LAW(an_older_caller_is_served)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
