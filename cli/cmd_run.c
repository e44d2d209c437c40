/* cmd_run.c -- attn run: attention on tensor files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "attn/io.h"
#include "command.h"
#include "console.h"

static const char help[] =
    "attn run - attention on tensor files\n\n"
    "usage: attn run --q Q --k K --v V [-o OUT] [OPTION...]\n\n"
    "  --q --k --v FILE     npy, or safetensors as file.safetensors:name; (batch, heads, length,\n"
    "                       width), (heads, length, width) or (length, width); k and v may have\n"
    "                       fewer heads. float16 and bfloat16 are widened, float64 runs in double\n"
    "  -o FILE              where the output goes; without it nothing is written\n"
    "  --weights FILE, --lse FILE   the weights (L x S!), the log-sum-exp\n"
    "  --scale X            instead of 1/sqrt(width)\n"
    "  --causal             query i sees keys up to i + offset\n"
    "  --align WHERE        top-left (the default) or bottom-right\n"
    "  --offset N           instead of --align\n"
    "  --window L,R         neighbours to the left and right; -1: no limit\n"
    "  --mask FILE          bool or float, broadcast to (batch, heads, L, S)\n"
    "  --lengths N,N,...    keys of each sequence, or a file\n"
    "  --empty-row WHAT     zero (the default), mean, nan or error\n"
    "  --verify[=ROWS]      compare with double precision: a sample of ROWS rows, or as many as a\n"
    "                       few seconds allow; exit status 1 where the bound does not hold\n"
    "  --seed N             of that sample\n"
    "  --plan               say which kernel, why, how many bytes\n"
    "  --peak               measure this CPU's peak beside\n"
    "  --threads N          at most this many\n"
    "  --json, --quiet\n\n"
    "examples:\n"
    "  attn run --q q.npy --k k.npy --v v.npy --causal -o out.npy --verify\n"
    "  attn run --q a.safetensors:q --k a.safetensors:k --v a.safetensors:v -o b.safetensors:o\n"
    "  attn run --q q.npy --k k.npy --v v.npy --window 128,0 --plan\n";

struct arguments {
  const char *q, *k, *v, *o, *weights, *lse, *mask, *lengths, *window, *align, *empty, *verify;
  double scale;
  int64_t offset, threads, seed;
  int help, causal, plan, peak, json, quiet, has_scale, has_offset, has_threads, has_verify;
};

struct job {
  struct arguments a;
  attn_array q, k, v, o, weights, lse, mask, lengths;
  attn_sdpa desc;
  attn_plan plan;
  attn_sdpa_report report;
  int has_report;
  double seconds, peak;
};

static int usage(const char *message) {
  fprintf(stderr, "attn run: %s\nTry: attn run --help\n", message);
  return EXIT_TROUBLE;
}

/* ---- Arguments ------------------------------------------------------------------ */

static int parse(int argc, char **argv, struct arguments *a) {
  const struct attn_cli_option table[] = {
      {"--q", OPTION_TEXT, &a->q, NULL}, {"--k", OPTION_TEXT, &a->k, NULL},
      {"--v", OPTION_TEXT, &a->v, NULL}, {"-o", OPTION_TEXT, &a->o, NULL},
      {"--output", OPTION_TEXT, &a->o, NULL}, {"--weights", OPTION_TEXT, &a->weights, NULL},
      {"--lse", OPTION_TEXT, &a->lse, NULL}, {"--mask", OPTION_TEXT, &a->mask, NULL},
      {"--lengths", OPTION_TEXT, &a->lengths, NULL}, {"--window", OPTION_TEXT, &a->window, NULL},
      {"--align", OPTION_TEXT, &a->align, NULL}, {"--empty-row", OPTION_TEXT, &a->empty, NULL},
      {"--scale", OPTION_REAL, &a->scale, &a->has_scale},
      {"--offset", OPTION_WHOLE, &a->offset, &a->has_offset},
      {"--threads", OPTION_WHOLE, &a->threads, &a->has_threads},
      {"--seed", OPTION_WHOLE, &a->seed, NULL}, {"--causal", OPTION_FLAG, &a->causal, NULL},
      {"--plan", OPTION_FLAG, &a->plan, NULL}, {"--peak", OPTION_FLAG, &a->peak, NULL},
      {"--json", OPTION_FLAG, &a->json, NULL}, {"--quiet", OPTION_FLAG, &a->quiet, NULL},
      {"--help", OPTION_FLAG, &a->help, NULL}, {"-h", OPTION_FLAG, &a->help, NULL},
      {"--verify", OPTION_MAYBE, &a->verify, &a->has_verify}};
  int operands;
  if (attn_cli_options(argc, argv, table, sizeof table / sizeof *table, &operands)) return -1;
  if (operands) return fprintf(stderr, "attn run: what is \"%.60s\" for?\n", argv[1]), -1;
  return 0;
}

static int choice(const char *text, const char *const *names, int count, const char *option) {
  for (int n = 0; n < count; n++)
    if (!strcmp(text, names[n])) return n;
  fprintf(stderr, "attn run: %s: \"%.60s\" is none of", option, text);
  for (int n = 0; n < count; n++) fprintf(stderr, " %s", names[n]);
  fprintf(stderr, "\n");
  return -1;
}

static int parse_window(const char *text, attn_sdpa *d) {
  char left[32];
  const char *comma = strchr(text, ',');
  if (!comma || comma - text >= (int)sizeof left) return usage("--window needs two numbers: L,R");
  memcpy(left, text, (size_t)(comma - text));
  left[comma - text] = 0;
  if (attn_cli_whole(left, &d->window_left) || attn_cli_whole(comma + 1, &d->window_right))
    return usage("--window needs two whole numbers: L,R");
  d->flags |= ATTN_SDPA_WINDOW;
  return 0;
}

static int describe(const struct arguments *a, attn_sdpa *d) {
  static const char *const aligns[] = {"top-left", "bottom-right"};
  static const char *const empties[] = {"zero", "mean", "nan", "error"};
  d->struct_size = sizeof *d;
  if (a->has_scale) d->flags |= ATTN_SDPA_SCALE, d->scale = a->scale;
  if (a->causal) d->flags |= ATTN_SDPA_CAUSAL;
  if (a->align && a->has_offset) return usage("--align and --offset exclude each other");
  if (a->align && (d->align = choice(a->align, aligns, 2, "--align")) < 0) return EXIT_TROUBLE;
  if (a->has_offset)
    d->flags |= ATTN_SDPA_OFFSET, d->align = ATTN_ALIGN_OFFSET, d->offset = a->offset;
  if (a->empty && (d->empty_row = choice(a->empty, empties, 4, "--empty-row")) < 0)
    return EXIT_TROUBLE;
  if (a->has_threads && (a->threads < 1 || a->threads > 1024))
    return usage("--threads must be 1 to 1024");
  d->threads = (int32_t)a->threads;
  return a->window ? parse_window(a->window, d) : 0;
}

/* ---- Inputs ------------------------------------------------------------------------- */

static int read_input(const char *path, attn_array *array, attn_dtype dtype) {
  attn_error err;
  attn_status status = attn_array_read(path, array, &err);
  if (!status && dtype) status = attn_array_convert(array, dtype, &err);
  return status ? attn_cli_fail("run", err.status == ATTN_ERR_FILE ? NULL : path, &err) : 0;
}

/* "3,5,2" */
static int parse_lengths(const char *text, attn_array *array) {
  int64_t *values = NULL, count = 0;
  char *copy = strdup(text), *rest = copy;
  for (char *word; copy && (word = strsep(&rest, ","));) {
    int64_t *grown = realloc(values, (size_t)(count + 1) * sizeof *values);
    if (!grown || (values = grown, attn_cli_whole(word, &values[count++]))) {
      free(values), free(copy);
      return usage("--lengths needs whole numbers: 3,5,2, or a file");
    }
  }
  free(copy);
  array->tensor = (attn_tensor){values, ATTN_I64, 1, {count}, {1}};
  array->memory = values;
  return 0;
}

static int is_list(const char *text) { return !text[strspn(text, "0123456789,-")]; }

static int read_inputs(struct job *j) {
  const struct arguments *a = &j->a;
  int status = read_input(a->q, &j->q, 0);
  if (!status) status = read_input(a->k, &j->k, 0);
  if (!status) status = read_input(a->v, &j->v, 0);
  if (status) return status;
  int wide = j->q.tensor.dtype == ATTN_F64 && j->k.tensor.dtype == ATTN_F64 &&
             j->v.tensor.dtype == ATTN_F64;
  attn_array *const main_three[] = {&j->q, &j->k, &j->v};
  for (int n = 0; n < 3; n++) {
    attn_error err;
    if (attn_array_convert(main_three[n], wide ? ATTN_F64 : ATTN_F32, &err))
      return attn_cli_fail("run", NULL, &err);
  }
  if (a->mask && (status = read_input(a->mask, &j->mask, 0))) return status;
  attn_dtype type = j->mask.tensor.dtype;
  if (a->mask && type != ATTN_BOOL && type != ATTN_F64 &&
      (status = read_input(a->mask, &j->mask, ATTN_F32)))
    return status;
  if (a->mask) j->desc.mask = &j->mask.tensor;
  if (a->lengths) {
    status = is_list(a->lengths) ? parse_lengths(a->lengths, &j->lengths)
                                 : read_input(a->lengths, &j->lengths, 0);
    j->desc.key_lengths = &j->lengths.tensor;
  }
  return status;
}

/* An output like q, its last dimension replaced; width 0 and missing: one dimension fewer. */
static int make_output(const attn_tensor *q, int64_t width, int missing, attn_array *array) {
  attn_tensor t = *q;
  int64_t count = 1;
  t.rank -= missing;
  if (!missing) t.shape[t.rank - 1] = width;
  for (int n = t.rank - 1; n >= 0; n--) {
    t.strides[n] = count;
    if (t.shape[n] && __builtin_mul_overflow(count, t.shape[n], &count)) return -1;
  }
  if (count > INT64_MAX / 8) return -1;
  for (int n = 0; n < t.rank; n++)
    if (!t.shape[n]) count = 0;
  t.data = calloc((size_t)count + 1, attn_dtype_size(t.dtype));
  array->tensor = t;
  array->memory = t.data;
  return t.data ? 0 : -1;
}

static int make_outputs(struct job *j) {
  const attn_tensor *q = &j->q.tensor, *k = &j->k.tensor, *v = &j->v.tensor;
  if (q->rank < 2 || k->rank < 2 || v->rank < 2 || q->rank > 4) return 0; /* the core will say */
  int bad = make_output(q, v->shape[v->rank - 1], 0, &j->o);
  if (!bad && j->a.weights) bad = make_output(q, k->shape[k->rank - 2], 0, &j->weights);
  if (!bad && j->a.lse) bad = make_output(q, 0, 1, &j->lse);
  if (bad) return usage("no memory for the output");
  if (j->a.weights) j->desc.weights = &j->weights.tensor;
  if (j->a.lse) j->desc.lse = &j->lse.tensor;
  return 0;
}

/* ---- The work ------------------------------------------------------------------------ */

static int compute(struct job *j) {
  attn_error err;
  struct attn_cli_progress progress = attn_cli_progress_begin("computing", j->a.quiet);
  j->desc.progress = attn_cli_tick;
  j->desc.progress_context = &progress;
  double start = attn_cli_now();
  attn_status status = attn_sdpa_forward(&j->desc, &j->q.tensor, &j->k.tensor, &j->v.tensor,
                                         &j->o.tensor, &err);
  j->seconds = attn_cli_now() - start;
  attn_cli_progress_end(&progress);
  return status ? attn_cli_fail("run", NULL, &err) : 0;
}

/* Rows that double precision does in about ten seconds, at a guess of 0.3 billion products a
 * second; 0: all of them. */
static int64_t sample_rows(const struct job *j) {
  const attn_tensor *q = &j->q.tensor, *k = &j->k.tensor;
  int64_t rows = 1;
  for (int n = 0; n < q->rank - 1; n++) rows *= q->shape[n];
  double each = (double)k->shape[k->rank - 2] *
                (double)(q->shape[q->rank - 1] + j->o.tensor.shape[q->rank - 1]);
  double most = 3e9 / (each + 1) + 1;
  return most < (double)rows ? (int64_t)most : 0;
}

static int verify(struct job *j) {
  attn_error err;
  int64_t limit = sample_rows(j);
  if (*j->a.verify && (attn_cli_whole(j->a.verify, &limit) || limit < 1))
    return usage("--verify=ROWS needs a positive number");
  struct attn_cli_progress progress = attn_cli_progress_begin("verifying", j->a.quiet);
  j->desc.progress_context = &progress;
  j->report.struct_size = sizeof j->report;
  attn_status status = attn_sdpa_verify(&j->desc, &j->q.tensor, &j->k.tensor, &j->v.tensor,
                                        &j->o.tensor, limit, (uint64_t)j->a.seed, &j->report, &err);
  attn_cli_progress_end(&progress);
  j->has_report = 1;
  return status ? attn_cli_fail("run", NULL, &err) : 0;
}

static int write_one(const char *path, const attn_array *array) {
  attn_error err;
  if (!path) return 0;
  return attn_array_write(path, &array->tensor, &err) ? attn_cli_fail("run", NULL, &err) : 0;
}

/* ---- What is said ----------------------------------------------------------------------- */

static void print_shape(const char *name, const attn_tensor *t) {
  printf("%s (", name);
  for (int n = 0; n < t->rank; n++) printf("%s%lld", n ? ", " : "", (long long)t->shape[n]);
  printf(") %s  ", attn_dtype_name(t->dtype));
}

static double peak_memory(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)usage.ru_maxrss / 1024;
}

static void print_report(const attn_sdpa_report *r) {
  printf("verified  %lld of %lld rows%s against double precision: %lld of %lld numbers outside the "
         "promised bound\n",
         (long long)r->rows, (long long)r->rows_total,
         r->rows < r->rows_total ? " (a random sample)" : "", (long long)r->outside,
         (long long)r->elements);
  printf("          worst at [%lld, %lld, %lld, %lld]: %.9g, exact %.9g, error %.2g of a bound of "
         "%.2g; rms error %.2g\n",
         (long long)r->worst_index[0], (long long)r->worst_index[1], (long long)r->worst_index[2],
         (long long)r->worst_index[3], r->worst_got, r->worst_exact,
         r->worst_got > r->worst_exact ? r->worst_got - r->worst_exact
                                       : r->worst_exact - r->worst_got,
         r->worst_bound, r->rms_error);
}

static void print_plan(const struct job *j) {
  print_shape("q", &j->q.tensor);
  print_shape("k", &j->k.tensor);
  print_shape("v", &j->v.tensor);
  printf("\nkernel    %s: %s\n", j->plan.kernel, j->plan.reason);
  if (j->a.plan)
    printf("plan      blocks of %lld queries by %lld keys, %lld tasks on %d threads, %zu bytes of "
           "workspace, %.4g operations\n",
           (long long)j->plan.row_block, (long long)j->plan.key_block, (long long)j->plan.tasks,
           (int)j->plan.workers, j->plan.workspace_bytes, j->plan.flops);
}

static void print_text(const struct job *j, int ran) {
  print_plan(j);
  if (!ran) return;
  double rate = j->plan.flops / j->seconds * 1e-9;
  printf("time      %.3g s, %.1f GFLOP/s", j->seconds, rate);
  if (j->peak > 0)
    printf(" on %d threads: %.0f %% of %d x %.1f, the measured peak", (int)j->plan.workers,
           100 * rate / (j->peak * j->plan.workers), (int)j->plan.workers, j->peak);
  printf("\nmemory    %.0f MiB at the peak of the process\n", peak_memory());
  if (j->has_report) print_report(&j->report);
  if (j->a.o) printf("wrote     %s\n", j->a.o);
}

static void json_number(const char *name, double value) {
  if (value == value && value - value == 0)
    printf(", \"%s\": %.17g", name, value);
  else
    printf(", \"%s\": null", name);
}

static void print_json(const struct job *j, int ran) {
  printf("{\"schema\": \"attn-run/1\", \"kernel\": \"%s\", \"reason\": \"%s\"", j->plan.kernel,
         j->plan.reason);
  printf(", \"workspace_bytes\": %zu, \"tasks\": %lld, \"workers\": %d", j->plan.workspace_bytes,
         (long long)j->plan.tasks, (int)j->plan.workers);
  json_number("flops", j->plan.flops);
  if (ran) json_number("seconds", j->seconds);
  if (ran) json_number("peak_memory_mib", peak_memory());
  if (j->peak > 0) json_number("peak_gflops_per_thread", j->peak);
  if (j->has_report) {
    printf(", \"verify\": {\"rows\": %lld, \"rows_total\": %lld, \"elements\": %lld, \"outside\": %lld",
           (long long)j->report.rows, (long long)j->report.rows_total,
           (long long)j->report.elements, (long long)j->report.outside);
    json_number("worst_of_bound", j->report.worst);
    json_number("max_error", j->report.max_error);
    json_number("rms_error", j->report.rms_error);
    printf("}");
  }
  printf("}\n");
}

/* ---- The command -------------------------------------------------------------------------- */

static int run(struct job *j) {
  attn_error err;
  int ran = j->a.o || j->a.weights || j->a.lse || j->a.has_verify;
  int status = describe(&j->a, &j->desc);
  if (!status) status = read_inputs(j);
  if (!status) status = make_outputs(j);
  if (status) return status;
  j->plan.struct_size = sizeof j->plan;
  if (attn_sdpa_plan(&j->desc, &j->q.tensor, &j->k.tensor, &j->v.tensor,
                     j->o.memory ? &j->o.tensor : NULL, &j->plan, &err))
    return attn_cli_fail("run", NULL, &err);
  if (j->a.peak) attn_machine_measure(&j->peak, NULL);
  if (ran) status = compute(j);
  if (!status && j->a.has_verify) status = verify(j);
  if (!status) status = write_one(j->a.o, &j->o);
  if (!status) status = write_one(j->a.weights, &j->weights);
  if (!status) status = write_one(j->a.lse, &j->lse);
  if (status) return status;
  if (j->a.json)
    print_json(j, ran);
  else if (!j->a.quiet)
    print_text(j, ran);
  return j->has_report && j->report.outside ? EXIT_FOUND : EXIT_FINE;
}

int attn_cmd_run(int argc, char **argv) {
  struct job j = {.a = {.verify = ""}};
  if (parse(argc, argv, &j.a)) return EXIT_TROUBLE;
  if (j.a.help) return fputs(help, stdout), EXIT_FINE;
  if (!j.a.q || !j.a.k || !j.a.v) return usage("--q, --k and --v are all needed");
  if (!j.a.o && !j.a.weights && !j.a.lse && !j.a.has_verify && !j.a.plan)
    return usage("nothing to do: give -o, --weights, --lse, --verify or --plan");
  int status = run(&j);
  attn_array *const all[] = {&j.q, &j.k, &j.v, &j.o, &j.weights, &j.lse, &j.mask, &j.lengths};
  for (size_t n = 0; n < sizeof all / sizeof *all; n++) attn_array_free(all[n]);
  return status;
}
