/* cmd_bench.c -- attn bench: measures the library on this machine. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "command.h"
#include "help_files.h"
#include "options.h"
#include "picture_files.h"

struct bench_options {
  const char *work, *dtype, *shapes, *isa, *peers, *python, *library;
  int64_t threads;
  double seconds;
  struct attn_cli_pictures pictures;
  int list, quick, json, quiet;
};

/* ---- Lists ---- */

enum { ITEM = 32 };

/* Whether a name is in "a,b,c"; NULL contains every name. */
static int contains(const char *list, const char *name) {
  size_t length = strlen(name);
  for (const char *at = list; at; at = strchr(at, ','), at += at != NULL)
    if (!strncmp(at, name, length) && (!at[length] || at[length] == ',')) return 1;
  return !list;
}

/* Refuses items that are not in names. */
static int check_list(const char *option, const char *list, const char *const *names, int count) {
  char item[ITEM];
  for (const char *at = list; at; at = strchr(at, ','), at += at != NULL) {
    snprintf(item, sizeof item, "%.*s", (int)strcspn(at, ","), at);
    if (attn_cli_parse_choice(option, item, names, count) < 0) return -1;
  }
  return 0;
}

/* ---- Cases ---- */

struct case_list {
  struct bench_case *c;
  int64_t count;
};

/* "x16" or "/2" after a number. Returns 0 if the text continues otherwise. */
static int parse_part(const char **at, char separator, int64_t *value) {
  char *end;
  if (separator) {
    if (**at != separator) return 0;
    ++*at;
  }
  long long n = **at >= '0' && **at <= '9' ? strtoll(*at, &end, 10) : 0;
  if (n < 1 || n > 1 << 24) return 0;
  *at = end, *value = n;
  return 1;
}

static int parse_shape(const char *at, struct bench_shape *s) {
  int64_t last;
  if (!parse_part(&at, 0, &s->batch) || !parse_part(&at, 'x', &s->heads)) return -1;
  s->kv_heads = s->heads;
  if (*at == '/' && !parse_part(&at, '/', &s->kv_heads)) return -1;
  if (!parse_part(&at, 'x', &s->queries) || !parse_part(&at, 'x', &s->width)) return -1;
  s->keys = s->queries;
  if (*at == 'x') {
    if (!parse_part(&at, 'x', &last)) return -1;
    s->keys = s->width, s->width = last;
  }
  s->value_width = s->width;
  int fits =
      s->batch * s->heads <= 1 << 16 &&
      (double)s->batch * (double)s->heads * (double)(s->queries + s->keys) * (double)s->width <=
          0x1p31;
  return (*at && *at != ',') || s->heads % s->kv_heads || !fits ? -1 : 0;
}

static int same_call(const struct bench_case *a, const struct bench_case *b) {
  return !strcmp(a->work, b->work) && !strcmp(a->name, b->name) && a->dtype == b->dtype &&
         !memcmp(&a->shape, &b->shape, sizeof a->shape);
}

static void add_case(struct case_list *list, const struct bench_case *c) {
  for (int64_t n = 0; n < list->count; n++)
    if (same_call(&list->c[n], c)) return;
  list->c[list->count++] = *c;
}

/* Packed sequences come in pairs, and padding is of at most three. */
static int fits_case(const struct bench_case *c) {
  const struct bench_shape *s = &c->shape;
  if (c->path == BENCH_PACKED && (s->queries != s->keys || s->keys / s->batch < 16)) return 0;
  return c->mask != BENCH_PADDING || s->batch <= 3;
}

static int add_shapes(struct case_list *list, const struct bench_options *o,
                      const struct bench_case *c) {
  if (!o->shapes) return add_case(list, c), 0;
  if (c->model) return 0;
  for (const char *at = o->shapes; at; at = strchr(at, ','), at += at != NULL) {
    struct bench_case other = *c;
    if (parse_shape(at, &other.shape))
      return attn_cli_print_error("--shapes: \"%.*s\" is not a shape such as 1x16x2048x64",
                                  (int)strcspn(at, ","), at),
             -1;
    if (fits_case(&other)) add_case(list, &other);
  }
  return 0;
}

static int select_cases(const struct bench_options *o, struct case_list *list) {
  int64_t shapes = 1;
  for (const char *at = o->shapes; at && (at = strchr(at, ',')); at++) shapes++;
  list->c = calloc((size_t)(attn_cli_bench_count() * shapes), sizeof *list->c);
  if (!list->c) return attn_cli_print_no_memory(), -1;
  for (int n = 0; n < attn_cli_bench_count(); n++) {
    struct bench_case c = attn_cli_bench_cases[n];
    if (!contains(o->work, c.work) || !contains(o->dtype, attn_cli_bench_dtype_text(c.dtype)))
      continue;
    if (o->quick) attn_cli_bench_shrink(&c);
    if (add_shapes(list, o, &c)) return -1;
  }
  if (!list->count) return attn_cli_print_error("no case has these types"), -1;
  return 0;
}

static int list_cases(const struct case_list *list) {
  char shape[BENCH_TEXT];
  for (int64_t n = 0; n < list->count; n++) {
    printf("%-9s ", list->c[n].work), attn_cli_print_cell(list->c[n].name, -21);
    printf("%-4s %s\n", attn_cli_bench_dtype_text(list->c[n].dtype),
           attn_cli_bench_shape_text(&list->c[n].shape, shape));
  }
  return EXIT_OK;
}

/* ---- Peers ---- */

static const char *python_of(const struct bench_options *o) {
  const char *environment = getenv("ATTN_PYTHON");
  return o->python ? o->python : environment && *environment ? environment : "python3";
}

static void start_peers(struct bench_run *run, const struct bench_options *o,
                        const struct case_list *list) {
  for (int n = 0; n < BENCH_PROGRAMS; n++) {
    int applies = 0;
    for (int64_t k = 0; k < list->count; k++)
      applies |= attn_cli_bench_peer_applies(n, list->c[k].work);
    if (!applies || !contains(o->peers, attn_cli_bench_program_names[n])) continue;
    run->peer[n].name = attn_cli_bench_program_names[n];
    attn_cli_bench_peer_start(&run->peer[n], python_of(o), run->threads, run->machine.isa);
  }
}

static int open_library(struct bench_run *run, const char *path) {
  struct bench_peer *peer = &run->peer[BENCH_PROGRAMS];
  if (!path) return 0;
  if (attn_cli_bench_library_open(path, &run->library)) return -1;
  peer->name = "library", peer->library = &run->library;
  snprintf(peer->version, sizeof peer->version, "%.30s", run->library.version());
  return 0;
}

/* "attn bench: without torch (no module), openvino (no module)" */
static void await_peers(struct bench_run *run, int quiet) {
  int missing = 0;
  for (int n = 0; n < BENCH_PROGRAMS; n++) {
    const struct bench_peer *peer = &run->peer[n];
    if (!peer->name || !attn_cli_bench_peer_ready(&run->peer[n]) || quiet) continue;
    fputs(missing ? ", " : "attn bench: ", stderr);
    if (!missing++) attn_cli_print_message(stderr, "without ");
    fprintf(stderr, "%s (", peer->name);
    attn_cli_print_message(stderr, "%s", peer->reason), fputc(')', stderr);
  }
  if (missing) fputc('\n', stderr);
}

/* ---- The run ---- */

static attn_status measure_all(struct bench_run *run, const struct case_list *list,
                               attn_error *err) {
  attn_status status = ATTN_OK;
  if (!run->json) attn_cli_bench_print_header(run);
  for (int64_t n = 0; n < list->count && !status; n++) {
    status = attn_cli_bench_measure(run, &list->c[n], err);
    if (status && status != ATTN_ERR_INTERRUPTED) run->results--;
    attn_cli_progress_hide(&run->progress);
    if (!run->json && (!status || status == ATTN_ERR_INTERRUPTED))
      attn_cli_bench_print_row(run, &run->result[run->results - 1]);
  }
  return status == ATTN_ERR_INTERRUPTED ? ATTN_OK : status;
}

/* The roof of the picture, if no case has measured it. */
static attn_status complete_limits(struct bench_run *run, attn_error *err) {
  attn_status status = ATTN_OK;
  for (int n = BENCH_PEAK; n <= BENCH_READ && !status; n++)
    if (!(run->best[n] > 0))
      status = attn_cli_bench_limit((enum bench_limit)n, run->threads, &run->best[n], err);
  return status;
}

static attn_status write_results(const struct bench_run *run, const struct bench_options *o,
                                 attn_error *err) {
  (o->json ? attn_cli_bench_print_json : attn_cli_bench_print_end)(run);
  return attn_cli_write_pictures(&o->pictures, attn_cli_bench_draw, run, err);
}

static int run_bench(const struct bench_options *o, const struct case_list *list) {
  attn_error err = {.offset = -1};
  struct bench_run run = {.machine = {.struct_size = sizeof run.machine},
                          .threads = (int32_t)o->threads,
                          .quick = o->quick,
                          .with_goals = !o->quick && !o->shapes,
                          .json = o->json,
                          .total = list->count,
                          .seconds = o->quick ? 0 : o->seconds / (double)list->count};
  if (open_library(&run, o->library)) return EXIT_TROUBLE;
  run.result = calloc((size_t)list->count, sizeof *run.result);
  if (!run.result) return attn_cli_print_no_memory();
  attn_machine_query(&run.machine);
  run.progress = attn_cli_progress_begin("bench", o->quiet);
  start_peers(&run, o, list);
  await_peers(&run, o->quiet);
  attn_status status = measure_all(&run, list, &err);
  attn_cli_progress_end(&run.progress);
  for (int n = 0; n < BENCH_PEERS; n++) attn_cli_bench_peer_stop(&run.peer[n]);
  if (!status && attn_cli_has_pictures(&o->pictures)) status = complete_limits(&run, &err);
  if (!status) status = write_results(&run, o, &err);
  free(run.result);
  if (status == ATTN_ERR_FORMAT) return attn_cli_report_error(NULL, &err), EXIT_FOUND;
  if (status) return attn_cli_report_error(NULL, &err);
  return run.interrupted ? EXIT_INTERRUPTED : EXIT_OK;
}

/* ---- Options ---- */

static int check_isa(const char *isa) {
  static const char *const names[] = {"scalar", "avx2", "avx512", "avx512_bf16", "amx_bf16"};
  attn_machine machine = {.struct_size = sizeof machine};
  if (isa) {
    if (attn_cli_parse_choice("--isa", isa, names, 5) < 0) return -1;
    setenv("ATTN_ISA", isa, 1);
  }
  if (attn_machine_query(&machine) || !machine.isa_invalid) return 0;
  attn_cli_print_error("the instruction set \"%.30s\" is not available on this CPU",
                       getenv("ATTN_ISA"));
  return -1;
}

static int check_options(const struct bench_options *o) {
  static const char *const types[] = {"f32", "bf16", "f16", "int8"};
  const char *peers[BENCH_PROGRAMS + 1], *works[BENCH_WORKS];
  int count = attn_cli_bench_works(works);
  memcpy(peers, attn_cli_bench_program_names, sizeof attn_cli_bench_program_names);
  peers[BENCH_PROGRAMS] = "none";
  if (check_list("--work", o->work, works, count) || check_list("--dtype", o->dtype, types, 4) ||
      check_list("--peers", o->peers, peers, BENCH_PROGRAMS + 1) ||
      attn_cli_check_range("--threads", o->threads, 1, ATTN_CLI_MAX_THREADS) || check_isa(o->isa))
    return -1;
  if (o->seconds >= 1 && o->seconds <= 1e6) return 0;
  attn_cli_print_error("--seconds must be between 1 and 1000000, got %g", o->seconds);
  return -1;
}

int attn_cmd_bench(int argc, char **argv) {
  struct bench_options o = {.threads = 1, .seconds = 120};
  struct case_list list = {NULL, 0};
  int operands;
  const struct attn_cli_option table[] = {
      {"--list", OPTION_FLAG, &o.list, NULL},       {"--work", OPTION_TEXT, &o.work, NULL},
      {"--dtype", OPTION_TEXT, &o.dtype, NULL},     {"--shapes", OPTION_TEXT, &o.shapes, NULL},
      {"--threads", OPTION_INT, &o.threads, NULL},  {"--isa", OPTION_TEXT, &o.isa, NULL},
      {"--peers", OPTION_TEXT, &o.peers, NULL},     {"--python", OPTION_TEXT, &o.python, NULL},
      {"--library", OPTION_TEXT, &o.library, NULL}, {"--seconds", OPTION_DOUBLE, &o.seconds, NULL},
      {"--quick", OPTION_FLAG, &o.quick, NULL},     {"--json", OPTION_FLAG, &o.json, NULL},
      {"--quiet", OPTION_FLAG, &o.quiet, NULL},     ATTN_CLI_PICTURE_OPTIONS(&o.pictures)};
  const int ended = attn_cli_parse_options(argc, argv, bench_txt, ATTN_CLI_TABLE(table), &operands);
  if (ended >= 0) return ended;
  if (operands) return attn_cli_print_usage_error("unexpected operand \"%.40s\"", argv[1]);
  if (check_options(&o) || select_cases(&o, &list)) return free(list.c), EXIT_TROUBLE;
  int status = o.list ? list_cases(&list) : run_bench(&o, &list);
  free(list.c);
  return status;
}
