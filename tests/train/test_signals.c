/* Law: the library runs on the stack of the thread that called it, so that a host may have timers,
 * profilers and signal handlers of its own: a handler without an alternate stack that interrupts
 * training, generation or embedding thousands of times finds itself on that stack, and may use it.
 *
 * A product that moved the stack pointer into a heap block would have the handler overwrite the
 * heap. */
#define _GNU_SOURCE /* pthread_getattr_np */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include <cmocka.h>

#include "attn/model.h"
#include "attn/train.h"
#include "scratch.h"

enum { PERIOD_US = 100, ENOUGH = 1000, USED = 8192 };

static const char *stack_low, *stack_high;
static volatile sig_atomic_t interrupted, elsewhere;

/* Uses some stack, all of it written. */
static void interrupt(int signal_number) {
  volatile char room[USED];
  const char *here = (const char *)&room[0];
  (void)signal_number;
  interrupted++;
  if (here < stack_low || here >= stack_high)
    elsewhere++;
  else
    for (int n = 0; n < USED; n += 64) room[n] = (char)n;
}

static void tick(suseconds_t period) {
  const struct itimerval every = {{0, period}, {0, period}};
  setitimer(ITIMER_REAL, &every, NULL);
}

static int begin(void **state) {
  struct sigaction action = {.sa_handler = interrupt, .sa_flags = SA_RESTART};
  pthread_attr_t attributes;
  void *low;
  size_t size;
  (void)state;
  if (folder_begin() || pthread_getattr_np(pthread_self(), &attributes)) return -1;
  pthread_attr_getstack(&attributes, &low, &size);
  pthread_attr_destroy(&attributes);
  stack_low = low, stack_high = stack_low + size;
  return sigaction(SIGALRM, &action, NULL);
}

static int end(void **state) { return (void)state, folder_end(); }

/* Widths of 27 and 200: products with edges, and some that fill tiles. */
static void train(const char *precision) {
  static const char *const configs[] = {
      "{\"width\": 200, \"heads\": 4, \"hidden\": 512, \"encoder_layers\": 1, \"decoder_layers\": "
      "1}",
      "{\"width\": 54, \"heads\": 2, \"hidden\": 27, \"encoder_layers\": 1, \"decoder_layers\": "
      "1}"};
  char output[128];
  attn_error err;
  snprintf(output, sizeof output, "%s/m.safetensors", folder);
  for (int n = 0; n < 2; n++) {
    attn_train_config run = ATTN_TRAIN_CONFIG_INIT;
    run.task = "letters", run.output = output, run.config = configs[n], run.replace = 1;
    run.steps = 12, run.batch = 16, run.validate_every = 12, run.examples = 8, run.seed = 3;
    run.rate = 0.3, run.threads = 1, run.precision = precision;
    if (attn_model_train(&run, NULL, &err)) fail_msg("%s", err.message);
  }
}

static void ask(const char *precision) {
  static const char *const sources[] = {"=dcab", "<mlkji", "^zxzyq", "=abcdefgh"};
  static float vectors[4 * 200];
  char path[128];
  attn_model *model;
  attn_error err;
  attn_reply replies[4] = {ATTN_REPLY_INIT};
  attn_generation how = ATTN_GENERATION_INIT;
  attn_embedding_how embedding = ATTN_EMBEDDING_HOW_INIT;
  how.precision = precision ? ATTN_BF16 : ATTN_F32, how.threads = embedding.threads = 1;
  how.together = 4, embedding.pooling = ATTN_POOLING_MEAN;
  snprintf(path, sizeof path, "%s/m.safetensors", folder);
  if (attn_model_open(path, &model, &err)) fail_msg("%s", err.message);
  for (int n = 0; n < 10; n++) {
    if (attn_model_generate(model, sources, 4, &how, replies, &err)) fail_msg("%s", err.message);
    attn_replies_free(replies, 4);
    if (attn_model_embed(model, sources, 4, &embedding, vectors, &err)) fail_msg("%s", err.message);
  }
  attn_model_free(model);
}

/* The phase, until it was interrupted often enough: never on another stack. */
static void check(void (*phase)(const char *), const char *precision) {
  interrupted = elsewhere = 0;
  tick(PERIOD_US);
  while (interrupted < ENOUGH) phase(precision);
  tick(0);
  print_message("%d interruptions\n", (int)interrupted);
  assert_int_equal(elsewhere, 0);
}

static void handlers_run_on_the_callers_stack(void **state) {
  (void)state;
  static const char *const precisions[] = {NULL, "bf16"};
  for (int n = 0; n < 2; n++) check(train, precisions[n]), check(ask, precisions[n]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(handlers_run_on_the_callers_stack, begin, end)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
