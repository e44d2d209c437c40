/* A call reads workers and kernel once. If the host changes its executor, ATTN_THREADS or
 * ATTN_ISA meanwhile, the call succeeds, stays within its workspace and keeps its bits. */
#define _GNU_SOURCE /* sched_setaffinity */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "attn/attn.h"
#include "lender.h"
#include "random.h"

enum {
  B = 3,
  HQ = 2,
  L = 90,
  S = 150,
  LONG = 3200,
  E = 24,
  EV = 16,
  PAGE = 32,
  RESULTS = 4,
  BUSY = 8
};

static float q[HQ * B * L * E], k[HQ * LONG * E], v[HQ * LONG * EV], d_o[HQ * B * L * EV];
static float out[2][RESULTS][HQ * LONG * E]; /* o, d_q, d_k, d_v of a calm call, of another */
static float a[E], w[E * E], u[E * E], lse[HQ * B * L];
static attn_tensor tq, tk, tv, to, td_o, td_q, td_k, td_v, tlse;
static attn_sdpa desc;

static attn_tensor heads(float *data, int64_t tokens, int64_t width) {
  return (attn_tensor){data, ATTN_F32, 3, {HQ, tokens, width}, {tokens * width, width, 1}};
}

static void fill(float *x, size_t count) {
  for (size_t n = 0; n < count; n++) x[n] = uniform();
}

/* The call's tensors, its results in out[run]. */
static void begin(int run, int64_t rows, int64_t keys) {
  tq = heads(q, rows, E), tk = heads(k, keys, E), tv = heads(v, keys, EV);
  to = heads(out[run][0], rows, EV), td_o = heads(d_o, rows, EV),
  td_q = heads(out[run][1], rows, E);
  td_k = heads(out[run][2], keys, E), td_v = heads(out[run][3], keys, EV);
  tlse = (attn_tensor){lse, ATTN_F32, 2, {HQ, rows}, {rows, 1}};
  desc = (attn_sdpa)ATTN_SDPA_INIT;
  desc.allocator = &lender, desc.lse = &tlse, desc.flags = ATTN_SDPA_CAUSAL;
  memset(out[run], 0, sizeof out[run]);
}

static attn_sdpa_gradients gradients(void) {
  return (attn_sdpa_gradients){
      .struct_size = sizeof(attn_sdpa_gradients), .d_q = &td_q, .d_k = &td_k, .d_v = &td_v};
}

static int64_t row_starts[B + 1] = {0, L, 2 * L, 3 * L}, cu_seqlens_k[B + 1] = {0, S, 2 * S, 3 * S};
static const attn_tensor from_rows = {row_starts, ATTN_I64, 1, {B + 1}, {1}},
                         from_keys = {cu_seqlens_k, ATTN_I64, 1, {B + 1}, {1}};

/* ---- A host that changes ----------------------------------------------------------- */

static attn_executor host;
static cpu_set_t cpus; /* of this process */

/* More workers than were counted, and an unknown ATTN_ISA. */
static void grow(void *context, int64_t count, void (*body)(void *argument, int64_t, int32_t),
                 void *argument) {
  (void)context;
  host.workers = BUSY;
  setenv("ATTN_ISA", "none", 1);
  for (int64_t n = count - 1; n >= 0; n--) body(argument, n, (int32_t)(BUSY - 1 - n % BUSY));
}

/* The pool's threads get time to come. */
static int grow_by_variable(void *context, int64_t done, int64_t total) {
  (void)context, (void)done, (void)total;
  usleep(1000);
  return setenv("ATTN_THREADS", "8", 1);
}

static int grow_in_every_way(void *context, int64_t done, int64_t total) {
  return grow_by_variable(context, done, total) || setenv("ATTN_ISA", "none", 1);
}

/* Runs the work on the counted workers in turn. */
static void deal(void *context, int64_t count, void (*body)(void *argument, int64_t, int32_t),
                 void *argument) {
  (void)context;
  for (int64_t n = 0; n < count; n++) body(argument, n, (int32_t)(n % host.workers));
}

static int grow_by_executor(void *context, int64_t done, int64_t total) {
  (void)context, (void)done, (void)total;
  host.workers = BUSY;
  return 0;
}

static int grow_by_affinity(void *context, int64_t done, int64_t total) {
  (void)context, (void)done, (void)total;
  usleep(1000);
  return sched_setaffinity(0, sizeof cpus, &cpus);
}

/* As before each call: an executor of 2, the pool of 1. */
static void calm(void) {
  unsetenv("ATTN_ISA"), setenv("ATTN_THREADS", "1", 1);
  host = (attn_executor){NULL, 2, grow};
}

static void one_cpu(void) {
  cpu_set_t one;
  size_t n = 0;
  while (!CPU_ISSET(n, &cpus)) n++;
  CPU_ZERO(&one);
  CPU_SET(n, &one);
  assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
}

/* ---- Every call that shares out work ---------------------------------------------- */

static attn_status forward(attn_error *err) {
  return attn_sdpa_forward(&desc, &tq, &tk, &tv, &to, err);
}

static attn_status backward(attn_error *err) {
  const attn_sdpa_gradients g = gradients();
  attn_status status = forward(err);
  calm();
  return status ? status : attn_sdpa_backward(&desc, &tq, &tk, &tv, &to, &td_o, &g, err);
}

static attn_status packed(attn_error *err) {
  const attn_sdpa_gradients g = gradients();
  attn_status status =
      attn_sdpa_forward_packed(&desc, &tq, &tk, &tv, &to, &from_rows, &from_keys, err);
  calm();
  return status ? status
                : attn_sdpa_backward_packed(&desc, &tq, &tk, &tv, &to, &td_o, &from_rows,
                                            &from_keys, &g, err);
}

static attn_status score(attn_error *err) {
  const attn_tensor ta = {a, ATTN_F32, 1, {E}, {1}}, tw = {w, ATTN_F32, 2, {E, E}, {E, 1}};
  attn_tensor tu = tw;
  tu.data = u;
  const attn_score how = {sizeof how, ATTN_SCORE_ADDITIVE, 0, &tw, &tu, &ta};
  const attn_sdpa_gradients g = gradients();
  attn_status status = attn_score_forward(&desc, &how, &tq, &tk, &tv, &to, err);
  calm();
  return status ? status
                : attn_score_backward(&desc, &how, &tq, &tk, &tv, &to, &td_o, &g, NULL, err);
}

static attn_status summary(attn_error *err) {
  attn_tensor sums = {td_k.data, ATTN_F32, 2, {HQ, tk.shape[1]}, {tk.shape[1], 1}};
  attn_tensor entropy = tlse;
  entropy.data = td_q.data, desc.lse = NULL;
  const attn_sdpa_summary s = {.struct_size = sizeof s, .column_sums = &sums, .entropy = &entropy};
  return attn_sdpa_summarize(&desc, &tq, &tk, &s, err);
}

static attn_status pages(attn_error *err) {
  int64_t count = tk.shape[1] / PAGE, table[LONG / PAGE], length = count * PAGE;
  for (int64_t n = 0; n < count; n++) table[n] = count - 1 - n;
  attn_tensor pk = attn_tensor_dense(ATTN_F32, k, count, HQ, PAGE, E);
  attn_tensor pv = attn_tensor_dense(ATTN_F32, v, count, HQ, PAGE, EV);
  const attn_tensor t = {table, ATTN_I64, 2, {1, count}, {count, 1}},
                    n = {&length, ATTN_I64, 1, {1}, {1}};
  const attn_pages p = {sizeof p, &pk, &pv, NULL, NULL, &t, &n};
  return attn_sdpa_forward_paged(&desc, &tq, &p, &to, err);
}

static attn_status verify(attn_error *err) {
  attn_sdpa_report report = {.struct_size = sizeof report};
  attn_status status = forward(err);
  calm();
  if (!status) status = attn_sdpa_verify(&desc, &tq, &tk, &tv, &to, 0, 0, &report, err);
  assert_int_equal(report.outside, 0);
  return status;
}

static const struct {
  const char *name;
  attn_status (*call)(attn_error *err);
  int64_t rows, keys;
} doors[] = {{"forward", forward, L, S},
             {"split", forward, 2, LONG},
             {"backward", backward, L, S},
             {"packed", packed, B *L, B *S},
             {"score", score, L, S},
             {"summary", summary, B *L, B *S},
             {"summary of few rows", summary, 2, LONG},
             {"pages", pages, L, LONG},
             {"verify", verify, L, S}};

/* ---- Tests ---- */

/* Entry point n with an unchanged host (run 0) or a changing one; the same results. */
static void through_door(size_t n, int run, const attn_executor *executor,
                         int (*progress)(void *, int64_t, int64_t)) {
  attn_error err;
  calm();
  begin(run, doors[n].rows, doors[n].keys);
  desc.executor = executor, desc.progress = progress;
  if (doors[n].call(&err)) fail_msg("%s: %s", doors[n].name, err.message);
  if (run && memcmp(out[0], out[1], sizeof *out)) fail_msg("%s: other bits", doors[n].name);
}

static void a_host_that_changes_during_a_call(void **state) {
  (void)state;
  for (size_t n = 0; n < sizeof doors / sizeof *doors; n++) {
    through_door(n, 0, NULL, NULL);
    through_door(n, 1, &host, NULL);
    through_door(n, 1, NULL, grow_in_every_way);
  }
  calm();
}

/* The workspace of attn_sdpa_plan for the longest sequence suffices for all. */
static void packed_in_a_workspace(const attn_executor *executor,
                                  int (*progress)(void *, int64_t, int64_t)) {
  attn_error err;
  attn_plan plan = {.struct_size = sizeof plan};
  int64_t starts[] = {0, 1000, 2000, LONG};
  attn_tensor cuts = from_keys;
  cuts.data = starts;
  begin(1, L, LONG - 2000);
  desc.executor = executor;
  assert_int_equal(attn_sdpa_plan(&desc, &tq, &tk, &tv, &to, &plan, &err), ATTN_OK);
  struct guarded workspace = guarded_new(plan.workspace_bytes, 1);
  begin(1, B * L, LONG);
  desc.executor = executor, desc.progress = progress, desc.flags = 0; /* enough work to share */
  desc.workspace = workspace.data, desc.workspace_bytes = plan.workspace_bytes;
  if (attn_sdpa_forward_packed(&desc, &tq, &tk, &tv, &to, &from_rows, &cuts, &err))
    fail_msg("%s", err.message);
  guarded_free(&workspace);
}

static void a_sufficient_workspace_stays_sufficient(void **state) {
  (void)state;
  calm(), packed_in_a_workspace(NULL, grow_by_variable);
  calm(), host.parallel_for = deal, packed_in_a_workspace(&host, grow_by_executor);
}

static void a_workspace_stays_enough_when_the_affinity_grows(void **state) {
  (void)state;
  if (CPU_COUNT(&cpus) < 2) printf("SKIPPED: this machine has one CPU\n");
  calm(), unsetenv("ATTN_THREADS");
  one_cpu(), packed_in_a_workspace(NULL, grow_by_affinity);
}

int main(int argc, char **argv) {
  random_begin(argc, argv);
  assert_int_equal(sched_getaffinity(0, sizeof cpus, &cpus), 0);
  fill(q, sizeof q / sizeof *q), fill(k, sizeof k / sizeof *k), fill(v, sizeof v / sizeof *v);
  fill(d_o, sizeof d_o / sizeof *d_o), fill(a, E), fill(w, E * E), fill(u, E * E);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_host_that_changes_during_a_call),
      cmocka_unit_test(a_sufficient_workspace_stays_sufficient),
      cmocka_unit_test(a_workspace_stays_enough_when_the_affinity_grows)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
