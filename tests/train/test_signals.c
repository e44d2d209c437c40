/* Signal handlers: the library computes on the stack of the calling thread, so a host may use
 * timers and profilers. A handler without an alternate stack interrupts training, generation and
 * embedding thousands of times and must find itself on that stack. A kernel that moved the stack
 * pointer into a heap block would let the handler overwrite the heap. */
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
#include "select.h"

enum { PERIOD_US = 100, ENOUGH = SANITIZED ? 200 : 1000, STEPS = SANITIZED ? 2 : 12, USED = 8192 };

static const char *stack_low, *stack_high;
static volatile sig_atomic_t interrupted, off_stack;

/* Writes to some of the stack. */
static void interrupt(int signal_number) {
  volatile char used[USED];
  const char *here = (const char *)&used[0];
  (void)signal_number;
  interrupted++;
  if (here < stack_low || here >= stack_high)
    off_stack++;
  else
    for (int n = 0; n < USED; n += 64) used[n] = (char)n;
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

/* Widths 27 and 200: partial and full tiles. */
static void train(const char *precision) {
  static const char *const configs[] = {
      "{\"d_model\": 200, \"num_heads\": 4, \"ffn_dim\": 512, \"encoder_layers\": 1, "
      "\"decoder_layers\": "
      "1}",
      "{\"d_model\": 54, \"num_heads\": 2, \"ffn_dim\": 27, \"encoder_layers\": 1, "
      "\"decoder_layers\": "
      "1}"};
  char output[128];
  attn_error err;
  snprintf(output, sizeof output, "%s/m.safetensors", folder);
  for (int n = 0; n < 2; n++) {
    attn_train_config run = ATTN_TRAIN_CONFIG_INIT;
    run.task = "letters", run.output = output, run.config = configs[n], run.replace = 1;
    run.steps = run.validate_every = STEPS, run.batch_size = 16, run.max_validation_examples = 8;
    run.seed = 3, run.learning_rate = 0.3, run.threads = 1, run.precision = precision;
    if (attn_model_train(&run, NULL, &err)) fail_msg("%s", err.message);
  }
}

static void infer(const char *precision) {
  static const char *const sources[] = {"=dcab", "<mlkji", "^zxzyq", "=abcdefgh"};
  static float vectors[4 * 200];
  char path[128];
  attn_model *model;
  attn_error err;
  attn_generation_result replies[4] = {ATTN_GENERATION_RESULT_INIT};
  attn_generation_config how = ATTN_GENERATION_CONFIG_INIT;
  attn_embedding_config embedding = ATTN_EMBEDDING_CONFIG_INIT;
  how.precision = precision ? ATTN_BF16 : ATTN_F32, how.threads = embedding.threads = 1;
  how.batch_size = 4, embedding.pooling = ATTN_POOLING_MEAN;
  snprintf(path, sizeof path, "%s/m.safetensors", folder);
  if (attn_model_open(path, &model, &err)) fail_msg("%s", err.message);
  for (int n = 0; n < 10; n++) {
    if (attn_model_generate(model, sources, 4, &how, replies, &err)) fail_msg("%s", err.message);
    attn_generation_results_free(replies, 4);
    if (attn_model_embed(model, sources, 4, &embedding, vectors, &err)) fail_msg("%s", err.message);
  }
  attn_model_free(model);
}

/* Repeats the phase until it was interrupted often enough. */
static void check(void (*phase)(const char *), const char *precision) {
  interrupted = off_stack = 0;
  tick(PERIOD_US);
  while (interrupted < ENOUGH) phase(precision);
  tick(0);
  print_message("%d interruptions\n", (int)interrupted);
  assert_int_equal(off_stack, 0);
}

static void test_handlers_run_on_the_stack_of_the_caller(void **state) {
  (void)state;
  static const char *const precisions[] = {NULL, "bf16"};
  for (int n = 0; n < 2; n++) check(train, precisions[n]), check(infer, precisions[n]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_handlers_run_on_the_stack_of_the_caller, begin, end)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
