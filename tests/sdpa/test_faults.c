/* Faults: a failed allocation gives an error and no leak, and the next call succeeds; concurrent
 * calls, forks and interrupts are safe. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "attn/attn.h"
#include "random.h"

enum { H = 4, L = 130, S = 200, E = 16 };

static float q[H * L * E], k[H * S * E], v[H * S * E], expected[H * L * E];
static attn_tensor tq, tk, tv;

static attn_tensor output(float *data) { return attn_tensor_dense(ATTN_F32, data, 1, H, L, E); }

static int begin(void **state) {
  (void)state;
  for (size_t n = 0; n < sizeof q / 4; n++) q[n] = uniform();
  for (size_t n = 0; n < sizeof k / 4; n++) k[n] = uniform(), v[n] = uniform();
  tq = output(q), tk = attn_tensor_dense(ATTN_F32, k, 1, H, S, E), tv = tk;
  tv.data = v;
  attn_tensor to = output(expected);
  attn_sdpa one = ATTN_SDPA_INIT; /* the pool stays empty */
  one.threads = 1;
  return attn_sdpa_forward(&one, &tq, &tk, &tv, &to, NULL) != ATTN_OK;
}

/* An allocator that fails at one call and counts what is out. */
struct faulty {
  int calls, fail_at, out;
};

static void *allocate(void *context, size_t alignment, size_t bytes) {
  struct faulty *f = context;
  if (++f->calls == f->fail_at) return NULL;
  f->out++;
  return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void release(void *context, void *memory) {
  ((struct faulty *)context)->out--;
  free(memory);
}

static void each_allocation_may_fail(void **state) {
  (void)state;
  static float o[H * L * E];
  attn_tensor to = output(o);
  for (int fail_at = 1;; fail_at++) {
    struct faulty f = {0, fail_at, 0};
    const attn_allocator allocator = {&f, allocate, release};
    attn_sdpa desc = ATTN_SDPA_INIT;
    desc.allocator = &allocator;
    memset(o, 0, sizeof o);
    attn_status status = attn_sdpa_forward(&desc, &tq, &tk, &tv, &to, NULL);
    assert_int_equal(f.out, 0);
    if (f.calls < fail_at) { /* it never came to that call: all were allowed */
      assert_int_equal(status, ATTN_OK);
      assert_true(fail_at > 1);
      assert_memory_equal(o, expected, sizeof o);
      return;
    }
    assert_int_equal(status, ATTN_ERR_MEMORY);
    for (size_t n = 0; n < sizeof o / 4; n++) assert_true(o[n] == 0.0f);
  }
}

/* The library's own memory, by the linker's --wrap: one call fails. */
static _Atomic int own_calls, own_fail_at, thread_calls, thread_fails;
void *__real_aligned_alloc(size_t alignment, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
int __real_pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*f)(void *), void *x);
int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*f)(void *), void *x);

void *__wrap_aligned_alloc(size_t alignment, size_t bytes) {
  return ++own_calls == own_fail_at ? NULL : __real_aligned_alloc(alignment, bytes);
}

int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*f)(void *), void *x) {
  thread_calls++;
  return thread_fails ? EAGAIN : __real_pthread_create(t, a, f, x);
}

static attn_status verify_expected(attn_sdpa_report *report) {
  attn_tensor to = output(expected);
  *report = (attn_sdpa_report){.struct_size = sizeof *report, .rows = -1};
  return attn_sdpa_verify(NULL, &tq, &tk, &tv, &to, 50, 1, report, NULL);
}

static void each_allocation_of_a_verification_may_fail(void **state) {
  (void)state;
  attn_sdpa_report report;
  for (own_fail_at = 1;; own_fail_at++) {
    own_calls = 0;
    attn_status status = verify_expected(&report);
    if (own_calls < own_fail_at) {
      assert_int_equal(status, ATTN_OK);
      assert_int_equal(report.rows, 50);
      assert_true(own_fail_at > 2); /* the rows' memory and the workers' reports */
      break;
    }
    assert_int_equal(status, ATTN_ERR_MEMORY);
    assert_int_equal(report.rows, -1);
  }
  own_fail_at = 0;
}

/* First of all, while the pool is still empty: no thread starts, and the caller does it all. */
static void a_call_succeeds_without_new_threads(void **state) {
  (void)state;
  static float o[H * L * E];
  attn_tensor to = output(o);
  setenv("ATTN_THREADS", "7", 1);
  thread_calls = 0;
  thread_fails = 1;
  assert_int_equal(attn_sdpa_forward(NULL, &tq, &tk, &tv, &to, NULL), ATTN_OK);
  thread_fails = 0;
  unsetenv("ATTN_THREADS");
  assert_true(thread_calls > 0);
  assert_memory_equal(o, expected, sizeof o);
}

static void *call_many_times(void *result) {
  float *o = malloc(sizeof expected);
  attn_tensor to = output(o);
  *(int *)result = 0;
  for (int n = 0; n < 20; n++) {
    memset(o, 0, sizeof expected);
    if (attn_sdpa_forward(NULL, &tq, &tk, &tv, &to, NULL) || memcmp(o, expected, sizeof expected))
      *(int *)result = 1;
  }
  free(o);
  return NULL;
}

static void calls_from_several_threads(void **state) {
  (void)state;
  pthread_t thread[4];
  int wrong[4];
  setenv("ATTN_THREADS", "4", 1);
  for (int n = 0; n < 4; n++)
    assert_int_equal(pthread_create(&thread[n], NULL, call_many_times, &wrong[n]), 0);
  for (int n = 0; n < 4; n++) {
    pthread_join(thread[n], NULL);
    assert_int_equal(wrong[n], 0);
  }
  unsetenv("ATTN_THREADS");
}

#if !defined(__SANITIZE_THREAD__) /* which does not follow a fork of several threads */
static void a_child_of_fork_can_call(void **state) {
  (void)state;
  setenv("ATTN_THREADS", "4", 1);
  int wrong;
  call_many_times(&wrong); /* the pool has threads now, which the child lacks */
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    alarm(60);
    call_many_times(&wrong);
    _exit(wrong);
  }
  int status;
  waitpid(child, &status, 0);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  unsetenv("ATTN_THREADS");
}
#endif

struct watch {
  int64_t last, total;
  int calls, stop_at;
};

static int watch(void *context, int64_t done, int64_t total) {
  struct watch *w = context;
  w->calls++;
  w->last = done > w->last ? done : w->last;
  w->total = total;
  return w->stop_at && w->calls >= w->stop_at;
}

static void progress_is_reported_and_can_stop_a_call(void **state) {
  (void)state;
  static float o[H * L * E];
  attn_tensor to = output(o);
  struct watch w = {0};
  attn_sdpa desc = ATTN_SDPA_INIT;
  desc.progress = watch, desc.progress_context = &w, desc.threads = 1;
  assert_int_equal(attn_sdpa_forward(&desc, &tq, &tk, &tv, &to, NULL), ATTN_OK);
  assert_int_equal(w.total, H * L);
  assert_int_equal(w.last, H * L);
  w = (struct watch){.stop_at = 2};
  assert_int_equal(attn_sdpa_forward(&desc, &tq, &tk, &tv, &to, NULL), ATTN_ERR_INTERRUPTED);
  assert_int_equal(w.calls, 2);
}

/* Progress never exceeds the total and reaches it, whatever is requested. */
static void progress_is_reported_and_can_stop_a_backward(void **state) {
  (void)state;
  static float o[H * L * E], lse[H * L], d_q[H * L * E], d_k[H * S * E];
  attn_tensor to = output(o), tlse = {lse, ATTN_F32, 3, {1, H, L}, {H * L, L, 1}};
  attn_tensor td_q = output(d_q), td_k = tk;
  td_k.data = d_k;
  attn_sdpa desc = ATTN_SDPA_INIT;
  desc.lse = &tlse, desc.threads = 1;
  assert_int_equal(attn_sdpa_forward(&desc, &tq, &tk, &tv, &to, NULL), ATTN_OK);
  static float vector[E], d_vector[E], mask[L * S], d_mask[L * S];
  attn_tensor additive = {vector, ATTN_F32, 1, {E}, {1}}, d_additive = additive;
  attn_tensor tmask = {mask, ATTN_F32, 2, {L, S}, {S, 1}}, td_mask = tmask;
  d_additive.data = d_vector, td_mask.data = d_mask;
  desc.additive = &additive, desc.mask = &tmask;
  for (int wanted = 1; wanted < 16; wanted++) {
    struct watch w = {0};
    attn_sdpa_gradients g = ATTN_SDPA_GRADIENTS_INIT;
    if (wanted & 1) g.d_q = &td_q;
    if (wanted & 2) g.d_k = &td_k;
    if (wanted & 4) g.d_additive = &d_additive;
    if (wanted & 8) g.d_mask = &td_mask;
    desc.progress = watch, desc.progress_context = &w;
    assert_int_equal(attn_sdpa_backward(&desc, &tq, &tk, &tv, &to, &to, &g, NULL), ATTN_OK);
    assert_int_equal(w.last, w.total);
  }
}

/* O(L) memory: the workspace does not depend on the number of keys. */
static void the_workspace_does_not_grow_with_the_keys(void **state) {
  (void)state;
  attn_plan small = {.struct_size = sizeof small}, large = small;
  attn_tensor q1 = attn_tensor_dense(ATTN_F32, q, 1, 1, 1 << 20, 64);
  attn_tensor k1 = attn_tensor_dense(ATTN_F32, k, 1, 1, 100, 64);
  attn_tensor k2 = attn_tensor_dense(ATTN_F32, k, 1, 1, 1 << 20, 64);
  assert_int_equal(attn_sdpa_plan(NULL, &q1, &k1, &k1, NULL, &small, NULL), ATTN_OK);
  assert_int_equal(attn_sdpa_plan(NULL, &q1, &k2, &k2, NULL, &large, NULL), ATTN_OK);
  assert_int_equal(small.workspace_bytes, large.workspace_bytes);
  assert_true(large.workspace_bytes < ((size_t)1 << 20) * (size_t)large.workers);
}

int main(int argc, char **argv) {
  random_begin(argc, argv);
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_call_succeeds_without_new_threads),
    cmocka_unit_test(each_allocation_may_fail),
    cmocka_unit_test(each_allocation_of_a_verification_may_fail),
    cmocka_unit_test(calls_from_several_threads),
#if !defined(__SANITIZE_THREAD__)
    cmocka_unit_test(a_child_of_fork_can_call),
#endif
    cmocka_unit_test(progress_is_reported_and_can_stop_a_call),
    cmocka_unit_test(progress_is_reported_and_can_stop_a_backward),
    cmocka_unit_test(the_workspace_does_not_grow_with_the_keys),
  };
  return cmocka_run_group_tests(tests, begin, NULL);
}
