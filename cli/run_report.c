/* run_report.c -- what attn run says of a computation: for a person, or as JSON. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "run.h"

static double peak_memory(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)usage.ru_maxrss / 1024;
}

/* The peak that is measured is that of float32 multiply-adds. */
static double peak_of(const struct attn_run *r) {
  return strncmp(r->plan.kernel, "f32", 3) ? 0 : r->peak * r->plan.workers;
}

static double rate_of(const struct attn_run *r) {
  return r->seconds > 0 ? r->plan.flops / r->seconds * 1e-9 : 0;
}

/* ---- For a person ------------------------------------------------------------------ */

static void print_shape(const char *name, const struct attn_run_input *tensor) {
  const attn_tensor *t = &tensor->view;
  printf("%s (", name);
  for (int n = 0; n < t->rank; n++) printf("%s%lld", n ? ", " : "", (long long)t->shape[n]);
  printf(") %s  ", attn_dtype_name(tensor->stored));
}

static void print_report(const struct attn_run *run) {
  const attn_sdpa_report *r = &run->report;
  int sample = r->rows < r->rows_total;
  printf("verified  %lld of %lld rows", (long long)r->rows, (long long)r->rows_total);
  if (sample) printf(" (a random sample, seed %lld)", (long long)run->a.seed);
  printf(" against double precision: %lld of %lld numbers outside the promised bound\n",
         (long long)r->outside, (long long)r->elements);
  printf(
      "          worst at [%lld, %lld, %lld, %lld]: %.9g, exact %.9g, error %.2g of a bound of "
      "%.2g; rms error %.2g\n",
      (long long)r->worst_index[0], (long long)r->worst_index[1], (long long)r->worst_index[2],
      (long long)r->worst_index[3], r->worst_got, r->worst_exact,
      fabs(r->worst_got - r->worst_exact), r->worst_bound, r->rms_error);
}

static void print_plan(const struct attn_run *r) {
  print_shape("q", &r->q);
  print_shape("k", &r->k);
  print_shape("v", &r->v);
  printf("\nkernel    %s: %s\n", r->plan.kernel, r->plan.reason);
  if (r->a.plan)
    printf(
        "plan      blocks of %lld queries by %lld keys, %lld tasks on %d threads, %zu bytes of "
        "workspace, %.4g operations\n",
        (long long)r->plan.row_block, (long long)r->plan.key_block, (long long)r->plan.tasks,
        (int)r->plan.workers, r->plan.workspace_bytes, r->plan.flops);
}

static void print_wrote(const char *path) {
  if (!path) return;
  printf("wrote     ");
  attn_cli_print_text(path, stdout);
  printf("\n");
}

void attn_run_print_text(const struct attn_run *r) {
  print_plan(r);
  if (!r->computed) return;
  printf("time      %.3g s, %.1f GFLOP/s", r->seconds, rate_of(r));
  if (peak_of(r) > 0)
    printf(" on %d threads: %.0f %% of %d x %.1f, the measured peak", (int)r->plan.workers,
           100 * rate_of(r) / peak_of(r), (int)r->plan.workers, r->peak);
  printf("\nmemory    %.0f MiB at the peak of the process\n", peak_memory());
  if (r->has_report) print_report(r);
  print_wrote(r->a.o);
  print_wrote(r->a.weights);
  print_wrote(r->a.lse);
}

/* ---- JSON ---------------------------------------------------------------------------- */

static void number(const char *name, double value) {
  printf(", \"%s\": ", name);
  attn_cli_json_number(value);
}

static void tensor(const char *name, const attn_tensor *t) {
  printf(", \"%s\": {\"dtype\": \"%s\", \"shape\": ", name, attn_dtype_name(t->dtype));
  attn_cli_json_shape(t->shape, t->rank);
  printf("}");
}

static void report(const struct attn_run *run) {
  const attn_sdpa_report *r = &run->report;
  printf(
      ", \"verify\": {\"rows\": %lld, \"rows_total\": %lld, \"seed\": %lld, \"elements\": %lld, "
      "\"outside\": %lld",
      (long long)r->rows, (long long)r->rows_total, (long long)run->a.seed, (long long)r->elements,
      (long long)r->outside);
  number("worst_of_bound", r->worst);
  printf(", \"worst_index\": ");
  attn_cli_json_shape(r->worst_index, 4);
  number("worst_got", r->worst_got);
  number("worst_exact", r->worst_exact);
  number("worst_bound", r->worst_bound);
  number("max_error", r->max_error);
  number("rms_error", r->rms_error);
  printf("}");
}

static void timing(const struct attn_run *r) {
  number("seconds", r->seconds);
  number("gflops", rate_of(r));
  number("peak_memory_mib", peak_memory());
  if (peak_of(r) > 0) number("peak_gflops_per_thread", r->peak);
}

void attn_run_print_json(const struct attn_run *r) {
  printf("{\"schema\": \"attn-run/1\", \"kernel\": ");
  attn_cli_json_string(r->plan.kernel);
  printf(", \"reason\": ");
  attn_cli_json_string(r->plan.reason);
  tensor("q", &r->q.view);
  tensor("k", &r->k.view);
  tensor("v", &r->v.view);
  tensor("output", &r->o.array.tensor);
  printf(", \"workspace_bytes\": %zu, \"tasks\": %lld, \"workers\": %d", r->plan.workspace_bytes,
         (long long)r->plan.tasks, (int)r->plan.workers);
  number("flops", r->plan.flops);
  if (r->computed) timing(r);
  if (r->has_report) report(r);
  printf("}\n");
}
