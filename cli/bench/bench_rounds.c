/* bench_rounds.c -- the rounds of a case: all that takes part runs in turns, so that a change of
 * the machine's load or clock reaches all of it. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"

enum { LIMIT_EVERY = 8, MIN_ROUNDS = 5 };

/* ---- Limits of the machine ---- */

struct limit_thread {
  pthread_t id;
  enum bench_limit limit;
  double rate;
  attn_status status;
};

static void *measure_limit(void *argument) {
  struct limit_thread *t = argument;
  if (t->limit == BENCH_BF16)
    t->status = attn_machine_measure_bf16(&t->rate);
  else
    t->status = attn_machine_measure(t->limit == BENCH_PEAK ? &t->rate : NULL,
                                     t->limit == BENCH_READ ? &t->rate : NULL);
  return NULL;
}

attn_status attn_cli_bench_limit(enum bench_limit limit, int32_t threads, double *rate,
                                 attn_error *err) {
  struct limit_thread *t = calloc((size_t)threads, sizeof *t);
  attn_status status = t ? ATTN_OK : ATTN_ERR_MEMORY;
  int32_t started = 0;
  for (; started < threads - 1 && !status; started++) {
    t[started].limit = limit;
    if (pthread_create(&t[started].id, NULL, measure_limit, &t[started])) status = ATTN_ERR_MEMORY;
    if (status) break;
  }
  if (!status) t[started].limit = limit, measure_limit(&t[started]), status = t[started].status;
  *rate = status ? 0 : t[started].rate;
  for (int32_t n = 0; n < started; n++) {
    pthread_join(t[n].id, NULL);
    if (!status) status = t[n].status;
    *rate += t[n].rate;
  }
  free(t);
  if (!status) return ATTN_OK;
  return attn_cli_fail(err, status, "cannot measure the limits of the machine");
}

/* ---- Samples ---- */

/* One thread: the CPU time of the process, which other processes disturb less. */
static double now(const struct bench_problem *p) {
  struct timespec t;
  clock_gettime(p->by_clock ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

static void add(struct bench_rates *r, double rate) {
  if (r->count < BENCH_ROUNDS) r->each[r->count++] = rate;
}

static void summarize(struct bench_rates *r) {
  double sorted[BENCH_ROUNDS];
  if (!r->count) return;
  memcpy(sorted, r->each, (size_t)r->count * sizeof *sorted);
  qsort(sorted, (size_t)r->count, sizeof *sorted, compare_doubles);
  r->best = sorted[r->count - 1];
  r->median =
      r->count % 2 ? sorted[r->count / 2] : (sorted[r->count / 2 - 1] + sorted[r->count / 2]) / 2;
}

/* ---- One case ---- */

/* A problem and the calls of a sample. */
struct timed_problem {
  struct bench_problem p;
  int64_t calls;
};

struct bench_round {
  struct bench_run *run;
  struct bench_result *result;
  struct timed_problem ours, base, other; /* other: in another build */
  struct bench_case c, base_case;
  int has_base, has_peer[BENCH_PEERS];
  int64_t peer_calls[BENCH_PROGRAMS];
};

/* Seconds of a call. */
static attn_status time_calls(struct timed_problem *t, double *seconds, attn_error *err) {
  attn_status status = ATTN_OK;
  double start = now(&t->p);
  for (int64_t n = 0; n < t->calls && !status; n++) status = attn_cli_bench_call(&t->p, err);
  *seconds = (now(&t->p) - start) / (double)t->calls;
  return status;
}

/* Calls of a sample: enough for the clock. */
static int64_t calls_for(const struct bench_run *run, double seconds) {
  double least = run->quick ? 2e-4 : 2e-3;
  return seconds > 0 && seconds < least ? 1 + (int64_t)(least / seconds) : 1;
}

static attn_status prepare(const struct bench_run *run, const struct bench_case *c,
                           const struct bench_library *library, struct timed_problem *t,
                           attn_error *err) {
  double seconds;
  t->calls = 1;
  attn_status status = attn_cli_bench_open(c, library, &t->p, err);
  if (!status) status = attn_cli_bench_call(&t->p, err);
  if (!status) status = attn_cli_bench_verify(&t->p, err);
  if (!status) status = time_calls(t, &seconds, err);
  if (!status) t->calls = calls_for(run, seconds);
  if (!status && t->calls > 1) status = time_calls(t, &seconds, err);
  if (!status) t->calls = calls_for(run, seconds);
  return status;
}

static void prepare_peer(struct bench_round *r, int n) {
  struct bench_peer *peer = &r->run->peer[n];
  char *reason = r->result->reason[n];
  attn_error err = {.offset = -1};
  if (peer->library) {
    r->has_peer[n] = !prepare(r->run, &r->c, peer->library, &r->other, &err);
    if (!r->has_peer[n]) snprintf(reason, BENCH_REASON, "%.90s", err.message);
    return;
  }
  r->has_peer[n] = peer->pid && !attn_cli_bench_peer_open(peer, &r->ours.p);
  if (!r->has_peer[n]) {
    snprintf(reason, BENCH_REASON, "%s", peer->reason);
    return;
  }
  r->peer_calls[n] = calls_for(r->run, attn_cli_bench_peer_time(peer, 1));
}

static attn_status prepare_all(struct bench_round *r, attn_error *err) {
  attn_status status = prepare(r->run, &r->c, &attn_cli_bench_own, &r->ours, err);
  if (!status && r->has_base)
    status = prepare(r->run, &r->base_case, &attn_cli_bench_own, &r->base, err);
  r->base.p.by_clock = r->ours.p.by_clock; /* one thread against two */
  for (int n = 0; n < BENCH_PEERS && !status; n++)
    if (r->run->peer[n].name && attn_cli_bench_peer_applies(n, r->c.work)) prepare_peer(r, n);
  return status;
}

/* Whether bf16 instructions run a case: attention, and the matrix products of models. Where there
 * are tiles, whose rate is the limit, only the forward. */
static int has_dots(const struct bench_run *run, const struct bench_case *c) {
  if (c->dtype != ATTN_BF16) return 0;
  if (run->machine.isa == ATTN_ISA_AMX_BF16) return !c->model && c->path != BENCH_BACKWARD;
  return c->model ? strstr(run->machine.features, "avx512_bf16") != NULL
                  : run->machine.isa == ATTN_ISA_AVX512_BF16;
}

static enum bench_limit limit_of(const struct bench_run *run, const struct bench_case *c) {
  if (c->unit == BENCH_GBYTES) return BENCH_READ;
  return has_dots(run, c) ? BENCH_BF16 : BENCH_PEAK;
}

/* The limit of a case, if it has been measured; otherwise 0. */
static double known_limit(const struct bench_run *run, const struct bench_case *c) {
  for (int n = 0; n < run->results; n++) {
    const struct bench_result *r = &run->result[n];
    if (r->limit.count && r->c.threads == c->threads && limit_of(run, &r->c) == limit_of(run, c))
      return r->limit.each[0];
  }
  return 0;
}

static attn_status run_limit(struct bench_round *r, attn_error *err) {
  enum bench_limit limit = limit_of(r->run, &r->c);
  double *best = &r->run->best[limit], rate = r->run->quick ? known_limit(r->run, &r->c) : 0;
  if (r->c.unit == BENCH_GTANH) return ATTN_OK;
  attn_status status = ATTN_OK;
  if (!(rate > 0)) status = attn_cli_bench_limit(limit, r->c.threads, &rate, err);
  if (status || !(rate > 0)) return status;
  add(&r->result->limit, rate);
  if (r->c.threads == r->run->threads && rate > *best) *best = rate;
  return ATTN_OK;
}

static attn_status run_ours(struct timed_problem *t, struct bench_rates *rates, attn_error *err) {
  double seconds;
  attn_status status = time_calls(t, &seconds, err);
  if (!status && seconds > 0) add(rates, t->p.amount / seconds * 1e-9);
  return status;
}

static void run_peer(struct bench_round *r, int n) {
  struct bench_result *result = r->result;
  struct bench_peer *peer = &r->run->peer[n];
  attn_error err;
  double seconds = (double)NAN;
  if (!peer->library)
    seconds = attn_cli_bench_peer_time(peer, r->peer_calls[n]);
  else if (time_calls(&r->other, &seconds, &err))
    snprintf(peer->reason, BENCH_REASON, "%.90s", err.message);
  if (seconds > 0) return add(&result->peer[n], r->ours.p.amount / seconds * 1e-9);
  r->has_peer[n] = 0;
  snprintf(result->reason[n], BENCH_REASON, "%s", peer->reason);
}

static attn_status run_round(struct bench_round *r, int round, attn_error *err) {
  attn_status status = ATTN_OK;
  if (round % LIMIT_EVERY == 0) status = run_limit(r, err);
  if (!status) status = run_ours(&r->ours, &r->result->ours, err);
  if (!status && r->has_base) status = run_ours(&r->base, &r->result->base, err);
  for (int n = 0; n < BENCH_PEERS && !status; n++)
    if (r->has_peer[n]) run_peer(r, n);
  return status;
}

/* Whether Ctrl-C was pressed; elapsed: of this case. */
static int update(struct bench_run *run, double elapsed) {
  double fraction = elapsed < run->seconds ? elapsed / run->seconds : 1;
  return attn_cli_progress_update(
      &run->progress, (int64_t)(1000 * ((double)(run->results - 1) + fraction)), 1000 * run->total);
}

static attn_status run_rounds(struct bench_round *r, attn_error *err) {
  double start = attn_cli_now(), elapsed = 0;
  int least = r->run->quick ? 2 : MIN_ROUNDS;
  attn_status status = ATTN_OK;
  for (int n = 0; !status && n < BENCH_ROUNDS && (n < least || elapsed < r->run->seconds); n++) {
    status = run_round(r, n, err);
    elapsed = attn_cli_now() - start;
    if (update(r->run, elapsed)) {
      r->run->interrupted = 1;
      return status ? status : ATTN_ERR_INTERRUPTED;
    }
  }
  return status ? status : run_limit(r, err);
}

/* ---- Results ---- */

static double goal_of(const struct bench_run *run, const struct bench_case *c) {
  if (!run->with_goals || c->goal == BENCH_NO_GOAL) return (double)NAN;
  if (run->machine.isa == ATTN_ISA_AVX2) return c->goal_avx2;
  if (c->goal_dots > 0 && run->machine.isa == ATTN_ISA_AMX_BF16) return (double)NAN; /* not set */
  if (c->goal_dots > 0 && has_dots(run, c)) return c->goal_dots;
  return run->machine.isa >= ATTN_ISA_AVX512 ? c->goal_avx512 : (double)NAN;
}

static double reached(const struct bench_result *r) {
  if (r->c.goal == BENCH_OF_LIMIT) return r->share;
  if (r->c.goal == BENCH_RATE) return r->ours.best;
  return r->base.count ? r->ours.best / r->base.best : (double)NAN;
}

static void conclude(struct bench_round *r) {
  struct bench_result *result = r->result;
  summarize(&result->ours), summarize(&result->base), summarize(&result->limit);
  for (int n = 0; n < BENCH_PEERS; n++) summarize(&result->peer[n]);
  result->share = result->limit.count ? result->ours.best / result->limit.best : (double)NAN;
  result->goal = goal_of(r->run, &r->c);
  result->reached = reached(result);
  const struct bench_problem *p = &r->ours.p;
  if (!(p->amount > 0)) return;
  result->operations = p->operations, result->bytes = p->bytes;
  result->gflops = result->ours.best * p->operations / p->amount;
}

int attn_cli_bench_is_below_goal(const struct bench_result *r) {
  return r->ours.count && isfinite(r->goal) && r->reached < r->goal;
}

int attn_cli_bench_is_below_peer(const struct bench_result *r, int peer) {
  return r->peer[peer].count && r->ours.best < r->peer[peer].best;
}

int attn_cli_bench_is_below_a_peer(const struct bench_result *r) {
  int is_below = 0;
  for (int n = 0; n < BENCH_PEERS; n++) is_below |= attn_cli_bench_is_below_peer(r, n);
  return is_below;
}

attn_status attn_cli_bench_measure(struct bench_run *run, const struct bench_case *c,
                                   attn_error *err) {
  struct bench_round *r = calloc(1, sizeof *r);
  if (!r) return attn_cli_no_memory(err);
  r->run = run, r->result = &run->result[run->results++];
  r->c = *c;
  if (!r->c.threads) r->c.threads = run->threads;
  if (c->goal_dots > 0 && has_dots(run, c)) r->c.goal = BENCH_OF_LIMIT;
  r->has_base = attn_cli_bench_base(&r->c, &r->base_case);
  *r->result = (struct bench_result){.c = r->c};
  attn_status status = ATTN_OK;
  if (r->c.threads > run->machine.threads)
    snprintf(r->result->skipped, BENCH_REASON, "needs %d CPUs", (int)r->c.threads);
  else if (r->c.model && run->machine.isa != run->machine.isa_best)
    snprintf(r->result->skipped, BENCH_REASON, "matrix products do not depend on ATTN_ISA");
  else
    status = prepare_all(r, err);
  if (!status && !*r->result->skipped) status = run_rounds(r, err);
  conclude(r);
  attn_cli_bench_close(&r->ours.p);
  attn_cli_bench_close(&r->base.p);
  attn_cli_bench_close(&r->other.p);
  free(r);
  return status;
}
