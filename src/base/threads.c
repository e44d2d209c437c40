#define _GNU_SOURCE /* sched_getaffinity */
#include "threads.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "error.h"

enum {
  WORKERS_MAX = 1024,
  STACK_BYTES = 1 << 20 /* several times what the library needs, independent of `ulimit -s` */
};

/* Runs one job at a time, numbered by generation. The workers sleep between jobs. */
static struct {
  pthread_mutex_t lock;
  pthread_cond_t work, done;
  pthread_once_t once;
  int32_t threads; /* started so far, the caller not counted */
  uint64_t generation;
  int32_t wanted;   /* workers of this job that have not started it */
  int32_t running;  /* workers that run it */
  atomic_flag busy; /* a caller owns the pool */
  void (*body)(void *argument, int64_t index, int32_t worker);
  void *argument;
  int64_t count;
  _Atomic int64_t next;
  _Atomic int32_t next_worker;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .work = PTHREAD_COND_INITIALIZER,
          .done = PTHREAD_COND_INITIALIZER,
          .once = PTHREAD_ONCE_INIT,
          .busy = ATOMIC_FLAG_INIT};

static int32_t cpus(void) {
#ifdef __linux__
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
#endif
  long n = sysconf(_SC_NPROCESSORS_ONLN);
  return n > 0 ? (int32_t)n : 1;
}

int32_t attn_threads_count(void) {
  const char *text = getenv("ATTN_THREADS");
  if (text) {
    char *end;
    long n = strtol(text, &end, 10);
    if (end != text && *end == 0 && n >= 1 && n <= WORKERS_MAX) return (int32_t)n;
  }
  int32_t n = cpus();
  return n < 1 ? 1 : n > WORKERS_MAX ? WORKERS_MAX : n;
}

static void take_indices(int32_t worker) {
  for (;;) {
    int64_t index = atomic_fetch_add(&pool.next, 1);
    if (index >= pool.count) return;
    pool.body(pool.argument, index, worker);
  }
}

static void *work(void *unused) {
  (void)unused;
  uint64_t seen = 0;
  pthread_mutex_lock(&pool.lock);
  for (;;) {
    while (pool.generation == seen || pool.wanted == 0) pthread_cond_wait(&pool.work, &pool.lock);
    seen = pool.generation;
    pool.wanted--;
    pool.running++;
    pthread_mutex_unlock(&pool.lock);
    take_indices(atomic_fetch_add(&pool.next_worker, 1));
    pthread_mutex_lock(&pool.lock);
    if (--pool.running == 0) pthread_cond_signal(&pool.done);
  }
  return NULL;
}

/* The child has no threads of its parent, and its locks may be held: initialize them again. */
static void after_fork(void) {
  pthread_mutex_init(&pool.lock, NULL);
  pthread_cond_init(&pool.work, NULL);
  pthread_cond_init(&pool.done, NULL);
  pool.threads = pool.wanted = pool.running = 0;
  atomic_flag_clear(&pool.busy);
}

static void register_fork(void) { pthread_atfork(NULL, NULL, after_fork); }

/* Called with the lock held. Fewer threads than requested are not an error. Workers start with all
 * signals blocked: the host's handlers must not run on them. */
static void start_threads(int32_t count) {
  pthread_attr_t detached;
  sigset_t all, before;
  if (pool.threads >= count || pthread_attr_init(&detached)) return;
  pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&detached, STACK_BYTES);
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  while (pool.threads < count && pthread_create(&thread, &detached, work, NULL) == 0)
    pool.threads++;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&detached);
}

static void run_with_helpers(int64_t count, int32_t workers, void (*body)(void *, int64_t, int32_t),
                             void *argument) {
  pthread_once(&pool.once, register_fork);
  pthread_mutex_lock(&pool.lock);
  start_threads(workers - 1);
  pool.body = body;
  pool.argument = argument;
  pool.count = count;
  atomic_store(&pool.next, 0);
  atomic_store(&pool.next_worker, 1);
  pool.wanted = pool.threads < workers - 1 ? pool.threads : workers - 1;
  pool.generation++;
  pthread_cond_broadcast(&pool.work);
  pthread_mutex_unlock(&pool.lock);
  take_indices(0);
  pthread_mutex_lock(&pool.lock);
  pool.wanted = 0; /* no index is left for workers that have not started */
  while (pool.running) pthread_cond_wait(&pool.done, &pool.lock);
  pthread_mutex_unlock(&pool.lock);
}

/* The host's executor runs one lane per counted worker; a lane takes the next index until none is
 * left. The lane is the worker: the host may use more threads than there is memory for. */
struct executor_lanes {
  void (*body)(void *argument, int64_t index, int32_t worker);
  void *argument;
  int64_t count;
  _Atomic int64_t next;
};

static void run_lane(void *argument, int64_t lane, int32_t worker) {
  struct executor_lanes *l = argument;
  (void)worker;
  for (int64_t n; (n = atomic_fetch_add(&l->next, 1)) < l->count;)
    l->body(l->argument, n, (int32_t)lane);
}

attn_status attn_threads_check(const attn_executor *host, int32_t threads, attn_error *err) {
  if (threads < 0)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "threads", "threads is %d; it must not be negative",
                     (int)threads);
  if (host && (host->workers < 1 || !host->parallel_for))
    return attn_fail(err, ATTN_ERR_ARGUMENT, "executor",
                     "executor must have a parallel_for and at least 1 worker");
  return ATTN_OK;
}

int32_t attn_threads_workers(const attn_executor *host, int32_t threads) {
  if (threads == 1) return 1; /* no system call */
  int32_t workers = host ? host->workers : attn_threads_count();
  return threads && threads < workers ? threads : workers;
}

void attn_threads_parallel_for(const attn_executor *host, int32_t workers, int64_t count,
                               void (*body)(void *argument, int64_t index, int32_t worker),
                               void *argument) {
  if (workers > count) workers = (int32_t)count;
  if (workers > 1 && host) {
    struct executor_lanes lanes = {body, argument, count, 0};
    host->parallel_for(host->context, workers, run_lane, &lanes);
  } else if (workers > 1 && !atomic_flag_test_and_set(&pool.busy)) {
    run_with_helpers(count, workers, body, argument);
    atomic_flag_clear(&pool.busy);
  } else {
    for (int64_t n = 0; n < count; n++) body(argument, n, 0);
  }
}
