/* run_report.c -- the report of attn run, as text or as JSON. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "json_output.h"
#include "run.h"

static double peak_memory_mib(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)usage.ru_maxrss / 1024;
}

/* 0 if unknown: the measured peak is that of float32 multiply-adds. */
static double peak_of(const struct attn_run_job *j) {
  return strncmp(j->plan.kernel, "f32", 3) ? 0 : j->peak * j->plan.workers;
}

static double gflops_of(const struct attn_run_job *j) {
  return j->seconds > 0 ? j->plan.flops / j->seconds * 1e-9 : 0;
}

/* ---- Text ---- */

static void print_tensor(const char *name, const struct attn_run_input *t) {
  printf("%s ", name), attn_cli_print_shape(t->view.shape, t->view.rank);
  printf(" %s  ", attn_dtype_name(t->stored));
}

enum { LABEL = 10 };

/* Begins a line: its name, to the column of the values. */
static void print_label(const char *name) { attn_cli_print_cell(name, -LABEL); }

static void print_rows(const struct attn_run_job *j) {
  const attn_sdpa_report *r = &j->report;
  if (r->rows < r->rows_total)
    attn_cli_print_line(
        "%lld of %lld rows (a random sample, seed %lld) against float64: %lld "
        "of %lld values outside the error bound",
        (long long)r->rows, (long long)r->rows_total, (long long)j->options.seed,
        (long long)r->outside, (long long)r->elements);
  else
    attn_cli_print_line(
        "%lld of %lld rows against float64: %lld of %lld values outside the error bound",
        (long long)r->rows, (long long)r->rows_total, (long long)r->outside,
        (long long)r->elements);
}

static void print_verification(const struct attn_run_job *j) {
  const attn_sdpa_report *r = &j->report;
  print_label("verified"), print_rows(j);
  print_label("");
  attn_cli_print_line(
      "worst at [%lld, %lld, %lld, %lld]: %.9g, exact %.9g, error %.2g, bound %.2g; rms error %.2g",
      (long long)r->worst_index[0], (long long)r->worst_index[1], (long long)r->worst_index[2],
      (long long)r->worst_index[3], r->worst_got, r->worst_exact,
      fabs(r->worst_got - r->worst_exact), r->worst_bound, r->rms_error);
}

/* The reason has parts with "; " between them. */
static void print_kernel(const attn_plan *plan) {
  char reason[sizeof plan->reason];
  print_label("kernel"), printf("%s", plan->kernel);
  strcpy(reason, plan->reason);
  for (char *part = reason, *next; part; part = next) {
    if ((next = strstr(part, "; "))) *next = 0, next += 2;
    printf(part == reason ? ": " : "; "), attn_cli_print_message(stdout, "%s", part);
  }
  putchar('\n');
}

static void print_plan(const struct attn_run_job *j) {
  print_tensor("q", &j->q);
  print_tensor("k", &j->k);
  print_tensor("v", &j->v);
  putchar('\n'), print_kernel(&j->plan);
  if (!j->options.plan) return;
  print_label("plan");
  attn_cli_print_line(
      "blocks of %lld queries by %lld keys, %lld tasks on %d threads, %zu bytes "
      "of workspace, %.4g operations",
      (long long)j->plan.row_block, (long long)j->plan.key_block, (long long)j->plan.tasks,
      (int)j->plan.workers, j->plan.workspace_bytes, j->plan.flops);
}

static void print_time(const struct attn_run_job *j) {
  print_label("time");
  if (peak_of(j) > 0)
    attn_cli_print_line(
        "%.3g s, %.1f GFLOP/s on %d threads: %.0f %% of %d x %.1f, the measured peak", j->seconds,
        gflops_of(j), (int)j->plan.workers, 100 * gflops_of(j) / peak_of(j), (int)j->plan.workers,
        j->peak);
  else
    attn_cli_print_line("%.3g s, %.1f GFLOP/s", j->seconds, gflops_of(j));
  print_label("memory");
  attn_cli_print_line("%.0f MiB at the peak of the process", peak_memory_mib());
}

static void print_written(const char *path) {
  if (!path) return;
  print_label("wrote"), attn_cli_print_text(path, stdout), putchar('\n');
}

void attn_run_print_text(const struct attn_run_job *j) {
  print_plan(j);
  if (!j->computed) return;
  print_time(j);
  if (j->has_report) print_verification(j);
  print_written(j->options.o);
  print_written(j->options.weights);
  print_written(j->options.lse);
}

/* ---- JSON ---- */

static void print_tensor_json(const char *name, const attn_tensor *t) {
  attn_cli_json_begin_object(name);
  attn_cli_json_string("dtype", attn_dtype_name(t->dtype));
  attn_cli_json_shape("shape", t->shape, t->rank);
  attn_cli_json_end_object();
}

static void print_verification_json(const struct attn_run_job *j) {
  const attn_sdpa_report *r = &j->report;
  attn_cli_json_begin_object("verify");
  attn_cli_json_int("rows", r->rows);
  attn_cli_json_int("rows_total", r->rows_total);
  attn_cli_json_int("seed", j->options.seed);
  attn_cli_json_int("elements", r->elements);
  attn_cli_json_int("outside", r->outside);
  attn_cli_json_number("worst_of_bound", r->worst);
  attn_cli_json_shape("worst_index", r->worst_index, 4);
  attn_cli_json_number("worst_got", r->worst_got);
  attn_cli_json_number("worst_exact", r->worst_exact);
  attn_cli_json_number("worst_bound", r->worst_bound);
  attn_cli_json_number("max_error", r->max_error);
  attn_cli_json_number("rms_error", r->rms_error);
  attn_cli_json_end_object();
}

void attn_run_print_json(const struct attn_run_job *j) {
  attn_cli_json_begin_object(NULL);
  attn_cli_json_string("schema", "attn-run/1");
  attn_cli_json_string("kernel", j->plan.kernel);
  attn_cli_json_string("reason", j->plan.reason);
  print_tensor_json("q", &j->q.view);
  print_tensor_json("k", &j->k.view);
  print_tensor_json("v", &j->v.view);
  print_tensor_json("output", &j->o.array.tensor);
  attn_cli_json_int("workspace_bytes", (int64_t)j->plan.workspace_bytes);
  attn_cli_json_int("tasks", j->plan.tasks);
  attn_cli_json_int("workers", j->plan.workers);
  attn_cli_json_number("flops", j->plan.flops);
  if (j->computed) {
    attn_cli_json_number("seconds", j->seconds);
    attn_cli_json_number("gflops", gflops_of(j));
    attn_cli_json_number("peak_memory_mib", peak_memory_mib());
    if (peak_of(j) > 0) attn_cli_json_number("peak_gflops_per_thread", j->peak);
  }
  if (j->has_report) print_verification_json(j);
  attn_cli_json_end_object(), attn_cli_json_end_line();
}
