/* bench_json.c -- results as one JSON object, with every sample. */
#include <math.h>

#include "bench.h"
#include "json_output.h"

static void print_rates(const char *key, const struct bench_rates *r) {
  if (!r->count) return attn_cli_json_null(key);
  attn_cli_json_begin_object(key);
  attn_cli_json_number("best", r->best);
  attn_cli_json_number("median", r->median);
  attn_cli_json_numbers("samples", r->each, r->count);
  attn_cli_json_end_object();
}

static void print_shape(const struct bench_shape *s) {
  attn_cli_json_begin_object("shape");
  attn_cli_json_int("batch", s->batch);
  attn_cli_json_int("heads", s->heads);
  attn_cli_json_int("kv_heads", s->kv_heads);
  attn_cli_json_int("queries", s->queries);
  attn_cli_json_int("keys", s->keys);
  attn_cli_json_int("width", s->width);
  attn_cli_json_int("value_width", s->value_width);
  attn_cli_json_end_object();
}

static void print_goal(const struct bench_result *r) {
  static const char *const of[] = {NULL, "limit", "unmasked", "f32", "one_thread", "dense", "rate"};
  attn_cli_json_string("goal_of", isfinite(r->goal) ? of[r->c.goal] : NULL);
  attn_cli_json_number("goal", r->goal);
  attn_cli_json_number("reached", isfinite(r->goal) ? r->reached : (double)NAN);
  attn_cli_json_bool("short", attn_cli_bench_is_below_goal(r) || attn_cli_bench_is_below_a_peer(r));
}

static void print_peer_result(const struct bench_run *run, const struct bench_result *r, int n) {
  attn_cli_json_begin_object(NULL);
  attn_cli_json_string("name", run->peer[n].name);
  print_rates("rates", &r->peer[n]);
  attn_cli_json_number("ratio", r->peer[n].count ? r->ours.best / r->peer[n].best : (double)NAN);
  attn_cli_json_string("reason", *r->reason[n] ? r->reason[n] : NULL);
  attn_cli_json_end_object();
}

static void print_result(const struct bench_run *run, const struct bench_result *r) {
  attn_cli_json_begin_object(NULL);
  attn_cli_json_string("work", r->c.work);
  attn_cli_json_string("name", r->c.name);
  attn_cli_json_string("dtype", attn_cli_bench_dtype_text(r->c.dtype));
  print_shape(&r->c.shape);
  attn_cli_json_int("threads", r->c.threads);
  attn_cli_json_string("unit", attn_cli_bench_unit_text(r->c.unit));
  attn_cli_json_number("operations", r->operations);
  attn_cli_json_number("bytes", r->bytes);
  attn_cli_json_string("skipped", *r->skipped ? r->skipped : NULL);
  print_rates("rates", &r->ours);
  print_rates("limit", &r->limit);
  attn_cli_json_number("share", r->share);
  print_rates("base", &r->base);
  print_goal(r);
  attn_cli_json_begin_array("peers");
  for (int n = 0; n < BENCH_PEERS; n++)
    if (*run->peer[n].version && attn_cli_bench_peer_applies(n, r->c.work))
      print_peer_result(run, r, n);
  attn_cli_json_end_array();
  attn_cli_json_end_object();
}

static void print_machine(const struct bench_run *run) {
  const attn_machine *m = &run->machine;
  attn_cli_json_string("version", attn_version_string());
  attn_cli_json_string("cpu", m->cpu);
  attn_cli_json_string("features", m->features);
  attn_cli_json_string("isa", attn_isa_name(m->isa));
  attn_cli_json_int("cpus", m->threads);
  attn_cli_json_int("threads", run->threads);
  attn_cli_json_number("peak_gflops", run->best[BENCH_PEAK]);
  attn_cli_json_number("read_gbytes", run->best[BENCH_READ]);
  attn_cli_json_number("bf16_gflops", run->best[BENCH_BF16]);
}

static void print_peers(const struct bench_run *run) {
  attn_cli_json_begin_array("peers");
  for (int n = 0; n < BENCH_PEERS; n++) {
    const struct bench_peer *p = &run->peer[n];
    if (!p->name) continue;
    attn_cli_json_begin_object(NULL);
    attn_cli_json_string("name", p->name);
    attn_cli_json_string("version", *p->version ? p->version : NULL);
    attn_cli_json_string("reason", *p->version ? NULL : p->reason);
    attn_cli_json_end_object();
  }
  attn_cli_json_end_array();
}

void attn_cli_bench_print_json(const struct bench_run *run) {
  attn_cli_json_begin_object(NULL);
  attn_cli_json_string("schema", "attn-bench/1");
  print_machine(run);
  attn_cli_json_number("seconds_each", run->seconds);
  attn_cli_json_bool("quick", run->quick);
  attn_cli_json_bool("interrupted", run->interrupted);
  print_peers(run);
  attn_cli_json_begin_array("cases");
  for (int n = 0; n < run->results; n++) print_result(run, &run->result[n]);
  attn_cli_json_end_array();
  attn_cli_json_end_object(), attn_cli_json_end_line();
}
