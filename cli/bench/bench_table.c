/* bench_table.c -- results as a table, row by row. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench.h"

enum { NAME = 20, SHAPE = 18, GOAL = 24 };

static int peer_is_shown(const struct bench_run *run, int n, const char *work) {
  return run->peer[n].version[0] && attn_cli_bench_peer_applies(n, work);
}

static int width_of(const struct bench_run *run, int n) {
  int length = (int)strlen(run->peer[n].name);
  return length < 6 ? 6 : length;
}

void attn_cli_bench_print_header(const struct bench_run *run) {
  const char *isa = attn_isa_name(run->machine.isa), *version = attn_version_string();
  if (attn_cli_bench_counts_cpu(run->threads))
    attn_cli_print_message(stdout, "%s, %s, 1 thread (CPU time); libattn %s", run->machine.cpu, isa,
                           version);
  else if (run->threads == 1)
    attn_cli_print_message(stdout, "%s, %s, 1 thread (by the clock); libattn %s", run->machine.cpu,
                           isa, version);
  else
    attn_cli_print_message(stdout, "%s, %s, %d threads; libattn %s", run->machine.cpu, isa,
                           (int)run->threads, version);
  for (int n = 0; n < BENCH_PEERS; n++)
    if (run->peer[n].version[0]) printf(", %s %s", run->peer[n].name, run->peer[n].version);
  putchar('\n');
  attn_cli_print_wrapped(
      "best and median rates, measured in turns; limit: share of the measured peak of float32 "
      "multiply-adds (bf16 dot products where they run the case), or of the read bandwidth for "
      "GB/s of keys and values, or of weights; x: times the best of the peer",
      0, 0, stdout);
  putchar('\n');
  fflush(stdout);
}

static void print_group(const struct bench_run *run, const char *work) {
  attn_cli_print_cell(work, -(NAME + 3)), attn_cli_print_cell("type", -5);
  attn_cli_print_cell("shape", -(SHAPE + 1)), attn_cli_print_cell("unit", -7);
  attn_cli_print_cell("best", 8), attn_cli_print_cell("median", 8);
  attn_cli_print_cell("limit", 7), printf("  "), attn_cli_print_cell("goal", -GOAL);
  for (int n = 0; n < BENCH_PEERS; n++) {
    if (!peer_is_shown(run, n, work)) continue;
    printf("  %*s", width_of(run, n), run->peer[n].name);
    attn_cli_print_cell("median", 7), attn_cli_print_cell("x", 6);
  }
  printf("\n");
}

static const char *number(double x, char text[16]) {
  snprintf(text, 16, x < 9.995 ? "%.2f" : "%.1f", x);
  return text;
}

/* "97 % of f32 (95 %)" */
static void print_goal(const struct bench_result *r) {
  static const char *const of[] = {
      "", "of the limit", "of unmasked", "of f32", "1 thread", "of dense", ""};
  char text[64] = "";
  if (isfinite(r->goal)) {
    if (r->c.goal == BENCH_RATE)
      snprintf(text, sizeof text, "(%g)", r->goal);
    else if (r->c.goal == BENCH_OF_ONE_THREAD)
      snprintf(text, sizeof text, "%.2f x %s (%.1f)", r->reached, of[r->c.goal], r->goal);
    else if (r->c.goal == BENCH_OF_LIMIT)
      snprintf(text, sizeof text, "(%.0f %%)", 100 * r->goal);
    else
      snprintf(text, sizeof text, "%.0f %% %s (%.0f %%)", 100 * r->reached, of[r->c.goal],
               100 * r->goal);
  }
  printf("  "), attn_cli_print_cell(text, -GOAL);
}

static void print_peers(const struct bench_run *run, const struct bench_result *r) {
  char best[16], median[16];
  for (int n = 0; n < BENCH_PEERS; n++) {
    const struct bench_rates *p = &r->peer[n];
    if (!peer_is_shown(run, n, r->c.work)) continue;
    if (p->count)
      printf("  %*s %6s %5.2f", width_of(run, n), number(p->best, best), number(p->median, median),
             r->ours.best / p->best);
    else
      printf("  %*s %6s %5s", width_of(run, n), "-", "", "");
  }
}

static void print_marks(const struct bench_run *run, const struct bench_result *r) {
  if (attn_cli_bench_is_below_goal(r)) attn_cli_print_message(stdout, "  < goal");
  for (int n = 0; n < BENCH_PEERS; n++)
    if (attn_cli_bench_is_below_peer(r, n)) printf("  < %s", run->peer[n].name);
}

void attn_cli_bench_print_row(const struct bench_run *run, const struct bench_result *r) {
  char shape[BENCH_TEXT], best[16], median[16], limit[16] = "";
  int is_first = r == run->result || strcmp(r[-1].c.work, r->c.work);
  if (is_first && r != run->result) printf("\n");
  if (is_first) print_group(run, r->c.work);
  printf("  "), attn_cli_print_cell(r->c.name, -(NAME + 1));
  printf("%-4s %-*s", attn_cli_bench_dtype_text(r->c.dtype), SHAPE,
         attn_cli_bench_shape_text(&r->c.shape, shape));
  if (!r->ours.count) {
    printf(" - "), attn_cli_print_line("%s", *r->skipped ? r->skipped : "not measured");
    return;
  }
  if (isfinite(r->share)) snprintf(limit, sizeof limit, "%.0f %%", 100 * r->share);
  printf(" %-7s %7s %7s %6s", attn_cli_bench_unit_text(r->c.unit), number(r->ours.best, best),
         number(r->ours.median, median), limit);
  print_goal(r);
  print_peers(run, r);
  print_marks(run, r);
  printf("\n");
  fflush(stdout);
}

/* "- openvino: no bf16 (6); no backward (9)": each reason once, with the number of its cases. */
static void print_reasons(const struct bench_run *run, int peer) {
  const char *separator = "";
  for (int n = 0; n < run->results; n++) {
    const char *reason = run->result[n].reason[peer];
    int cases = 0, is_repeated = 0;
    for (int k = 0; k < run->results; k++) {
      int is_equal = !strcmp(reason, run->result[k].reason[peer]);
      cases += is_equal, is_repeated |= is_equal && k < n;
    }
    if (!*reason || is_repeated) continue;
    if (!*separator) printf("- %s: ", run->peer[peer].name);
    printf("%s", separator);
    attn_cli_print_message(stdout, "%s", reason);
    printf(" (%d)", cases);
    separator = "; ";
  }
  if (*separator) printf("\n");
}

static void print_limits(const struct bench_run *run) {
  static const char *const what[BENCH_LIMITS] = {"GFLOP/s of float32 multiply-adds", "GB/s read",
                                                 "GFLOP/s of bf16 dot products"};
  for (int n = 0; n < BENCH_LIMITS; n++)
    if (run->best[n] > 0) attn_cli_print_line("limit: %.1f %s", run->best[n], what[n]);
}

void attn_cli_bench_print_end(const struct bench_run *run) {
  int measured = 0, below_goal = 0, below_peer = 0;
  for (int n = 0; n < run->results; n++) {
    const struct bench_result *r = &run->result[n];
    measured += r->ours.count > 0;
    below_goal += attn_cli_bench_is_below_goal(r);
    below_peer += attn_cli_bench_is_below_a_peer(r);
  }
  printf("\n");
  for (int n = 0; n < BENCH_PEERS; n++)
    if (run->peer[n].version[0]) print_reasons(run, n);
  print_limits(run);
  attn_cli_print_line("%d of %lld cases measured, %d below the goal, %d below a peer", measured,
                      (long long)run->total, below_goal, below_peer);
}
