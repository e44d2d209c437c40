/* cmd_run.c -- attn run: attention on tensor files. */
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "run.h"

static const char help[] =
    "attn run - attention on tensor files\n\n"
    "usage: attn run --q Q --k K --v V [-o OUT] [OPTION...]\n\n"
    "  --q --k --v FILE     npy, or safetensors as file.safetensors:name; (batch, heads, length,\n"
    "                       width), (heads, length, width) or (length, width); k and v may have\n"
    "                       fewer heads. float16 and bfloat16 are widened; one float64 among the\n"
    "                       three, and all is computed in double\n"
    "  --heads N            they hold their heads side by side: (batch, length, heads x width) or\n"
    "                       (length, heads x width); --kv-heads N where k and v have fewer\n"
    "  -o FILE              where the output goes; without it nothing is written\n"
    "  --weights FILE, --lse FILE   the weights (L x S!), the log-sum-exp\n"
    "  --scale X            instead of 1/sqrt(width)\n"
    "  --causal             query i sees keys up to i + offset\n"
    "  --align WHERE        top-left (the default) or bottom-right\n"
    "  --offset N           instead of --align\n"
    "  --window L,R         neighbours to the left and right; -1: no limit\n"
    "  --mask FILE          bool or float, broadcast to (batch, heads, L, S)\n"
    "  --softcap X          scores become X tanh(score / X), before the mask\n"
    "  --alibi FILE         slopes of the heads: slope |i + offset - j| is taken off a score\n"
    "  --sinks FILE         a logit of each head that takes part in the softmax, without a value\n"
    "  --lengths N,N,...    keys of each sequence, or a file\n"
    "  --empty-row WHAT     zero (the default), mean, nan or error\n"
    "  --verify[=ROWS]      compare with double precision: a sample of ROWS rows, or as many as a\n"
    "                       few seconds allow; exit status 1 where the bound does not hold\n"
    "  --seed N             of that sample\n"
    "  --plan               say which kernel, why, how many bytes\n"
    "  --peak               measure this CPU's peak as well, and say how much of it was reached\n"
    "  --threads N          at most this many\n"
    "  --json, --quiet      one object; nothing but errors\n\n"
    "Files appear whole and all together, or, where trouble or Ctrl-C ends the run, not at "
    "all.\n"
    "exit status: 0 fine, 1 outside the promised bound, 2 trouble, 130 interrupted\n\n"
    "examples:\n"
    "  attn run --q q.npy --k k.npy --v v.npy --causal -o out.npy --verify\n"
    "  attn run --q a.safetensors:q --k a.safetensors:k --v a.safetensors:v -o b.safetensors:o\n"
    "  attn run --q q.npy --k k.npy --v v.npy --window 128,0 --plan\n";

/* ---- Arguments ------------------------------------------------------------------ */

static int parse(int argc, char **argv, struct attn_run_options *a) {
  const struct attn_cli_option table[] = {
      {"--q", OPTION_TEXT, &a->q, NULL},
      {"--k", OPTION_TEXT, &a->k, NULL},
      {"--v", OPTION_TEXT, &a->v, NULL},
      {"-o", OPTION_TEXT, &a->o, NULL},
      {"--output", OPTION_TEXT, &a->o, NULL},
      {"--weights", OPTION_TEXT, &a->weights, NULL},
      {"--lse", OPTION_TEXT, &a->lse, NULL},
      {"--mask", OPTION_TEXT, &a->mask, NULL},
      {"--lengths", OPTION_TEXT, &a->lengths, NULL},
      {"--window", OPTION_TEXT, &a->window, NULL},
      {"--align", OPTION_TEXT, &a->align, NULL},
      {"--empty-row", OPTION_TEXT, &a->empty, NULL},
      {"--scale", OPTION_DOUBLE, &a->scale, &a->has_scale},
      {"--softcap", OPTION_DOUBLE, &a->softcap, &a->has_softcap},
      {"--alibi", OPTION_TEXT, &a->alibi, NULL},
      {"--sinks", OPTION_TEXT, &a->sinks, NULL},
      {"--offset", OPTION_INT, &a->offset, &a->has_offset},
      {"--threads", OPTION_INT, &a->threads, &a->has_threads},
      {"--seed", OPTION_INT, &a->seed, NULL},
      {"--causal", OPTION_FLAG, &a->causal, NULL},
      {"--plan", OPTION_FLAG, &a->plan, NULL},
      {"--peak", OPTION_FLAG, &a->peak, NULL},
      {"--json", OPTION_FLAG, &a->json, NULL},
      {"--quiet", OPTION_FLAG, &a->quiet, NULL},
      {"--help", OPTION_FLAG, &a->help, NULL},
      {"-h", OPTION_FLAG, &a->help, NULL},
      {"--heads", OPTION_INT, &a->heads, &a->has_heads},
      {"--kv-heads", OPTION_INT, &a->kv_heads, &a->has_kv_heads},
      {"--verify", OPTION_OPTIONAL_TEXT, &a->verify, &a->has_verify}};
  int operands;
  if (attn_cli_parse_options(argc, argv, table, sizeof table / sizeof *table, &operands)) return -1;
  if (operands) return attn_cli_print_usage_error("run", "what is \"%.60s\" for?", argv[1]);
  return 0;
}

static int choice(const char *text, const char *const *names, int count, const char *option) {
  for (int n = 0; n < count; n++)
    if (!strcmp(text, names[n])) return n;
  char list[80] = "";
  for (int n = 0; n < count; n++) strcat(strcat(list, " "), names[n]);
  attn_cli_print_error("run", "%s: \"%.60s\" is none of%s", option, text, list);
  return -1;
}

static int parse_window(const char *text, attn_sdpa *d) {
  char left[32];
  const char *comma = strchr(text, ',');
  if (!comma || comma - text >= (int)sizeof left)
    return attn_run_usage_error("--window needs two numbers: L,R");
  memcpy(left, text, (size_t)(comma - text));
  left[comma - text] = 0;
  if (attn_cli_parse_int(left, &d->window_left) || attn_cli_parse_int(comma + 1, &d->window_right))
    return attn_run_usage_error("--window needs two whole numbers: L,R");
  d->flags |= ATTN_SDPA_WINDOW;
  return 0;
}

static int describe(const struct attn_run_options *a, attn_sdpa *d) {
  static const char *const aligns[] = {"top-left", "bottom-right"};
  static const char *const empties[] = {"zero", "mean", "nan", "error"};
  d->struct_size = sizeof *d;
  if (a->has_scale) d->flags |= ATTN_SDPA_SCALE, d->scale = a->scale;
  if (a->has_softcap) d->flags |= ATTN_SDPA_SOFTCAP, d->softcap = a->softcap;
  if (a->causal) d->flags |= ATTN_SDPA_CAUSAL;
  if (a->align && a->has_offset)
    return attn_run_usage_error("--align and --offset exclude each other");
  if (a->align && (d->align = choice(a->align, aligns, 2, "--align")) < 0) return EXIT_TROUBLE;
  if (a->has_offset && !a->causal && !a->window)
    return attn_run_usage_error("--offset means nothing without --causal or --window");
  if (a->has_offset)
    d->flags |= ATTN_SDPA_OFFSET, d->align = ATTN_ALIGN_OFFSET, d->offset = a->offset;
  if (a->empty && (d->empty_row = choice(a->empty, empties, 4, "--empty-row")) < 0)
    return EXIT_TROUBLE;
  if (a->has_threads && (a->threads < 1 || a->threads > 1024))
    return attn_run_usage_error("--threads must be 1 to 1024");
  d->threads = (int32_t)a->threads;
  return a->window ? parse_window(a->window, d) : 0;
}

/* ---- The work ------------------------------------------------------------------------ */

static int compute(struct attn_run *r) {
  attn_error err;
  struct attn_cli_progress progress = attn_cli_progress_begin("computing", r->a.quiet);
  r->desc.progress = attn_cli_progress_update;
  r->desc.progress_context = &progress;
  double start = attn_cli_now();
  attn_status status =
      attn_sdpa_forward(&r->desc, &r->q.view, &r->k.view, &r->v.view, &r->o.view, &err);
  r->seconds = attn_cli_now() - start;
  r->computed = 1;
  attn_cli_progress_end(&progress);
  return status ? attn_run_report_error(NULL, &err) : 0;
}

/* Rows that double precision does in some ten seconds, at a guess of 0.3 billion products a second
 * on each thread; 0: all of them. */
static int64_t sample_rows(const struct attn_run *r) {
  const attn_tensor *q = &r->q.view, *k = &r->k.view;
  double rows = 1, each = (double)k->shape[k->rank - 2];
  for (int n = 0; n < q->rank - 1; n++) rows *= (double)q->shape[n];
  each *= (double)(q->shape[q->rank - 1] + r->o.view.shape[r->o.view.rank - 1]);
  double most = 3e9 * r->plan.workers / (each + 1) + 1;
  return most < rows ? (int64_t)most : 0;
}

static int verify(struct attn_run *r) {
  attn_error err;
  int64_t limit = sample_rows(r);
  if (*r->a.verify && attn_cli_parse_int(r->a.verify, &limit)) return EXIT_TROUBLE;
  struct attn_cli_progress progress = attn_cli_progress_begin("verifying", r->a.quiet);
  r->desc.progress_context = &progress;
  r->report.struct_size = sizeof r->report;
  attn_status status = attn_sdpa_verify(&r->desc, &r->q.view, &r->k.view, &r->v.view, &r->o.view,
                                        limit, (uint64_t)r->a.seed, &r->report, &err);
  attn_cli_progress_end(&progress);
  r->has_report = 1;
  return status ? attn_run_report_error(NULL, &err) : 0;
}

/* Everything that can be wrong with the request is found here, before an output has memory. */
static int plan(struct attn_run *r, const attn_tensor *o) {
  attn_error err;
  r->plan = (attn_plan){.struct_size = sizeof r->plan};
  return attn_sdpa_plan(&r->desc, &r->q.view, &r->k.view, &r->v.view, o, &r->plan, &err)
             ? attn_run_report_error(NULL, &err)
             : 0;
}

static int run(struct attn_run *r) {
  int computes = r->a.o || r->a.weights || r->a.lse || r->a.has_verify;
  int status = describe(&r->a, &r->desc);
  if (!status) status = attn_run_check_outputs(r);
  if (!status) status = attn_run_read(r);
  if (!status) status = plan(r, NULL);
  if (!status) status = attn_run_allocate_outputs(r);
  if (!status) status = plan(r, &r->o.view);
  if (!status && r->a.peak) attn_machine_measure(&r->peak, NULL);
  if (!status && computes) status = compute(r);
  if (!status && r->a.has_verify) status = verify(r);
  if (!status && attn_cli_interrupted()) status = EXIT_INTERRUPTED;
  if (!status) status = attn_run_write(r);
  if (status) return status;
  if (r->a.json)
    attn_run_print_json(r);
  else if (!r->a.quiet)
    attn_run_print_text(r);
  return r->has_report && r->report.outside ? EXIT_FOUND : EXIT_OK;
}

/* What can be said without opening a file. */
static int check_request(const struct attn_run_options *a) {
  int64_t rows;
  if (!a->q || !a->k || !a->v) return attn_run_usage_error("--q, --k and --v are all needed");
  if (!a->o && !a->weights && !a->lse && !a->has_verify && !a->plan)
    return attn_run_usage_error("nothing to do: give -o, --weights, --lse, --verify or --plan");
  if (a->has_kv_heads && !a->has_heads) return attn_run_usage_error("--kv-heads needs --heads");
  if ((a->has_heads && a->heads < 1) || (a->has_kv_heads && a->kv_heads < 1))
    return attn_run_usage_error("--heads and --kv-heads must be positive");
  if (*a->verify && (attn_cli_parse_int(a->verify, &rows) || rows < 1))
    return attn_run_usage_error("--verify=ROWS needs a positive number");
  return 0;
}

int attn_cmd_run(int argc, char **argv) {
  struct attn_run r = {.a = {.verify = ""}};
  if (parse(argc, argv, &r.a)) return EXIT_TROUBLE;
  if (r.a.help) return fputs(help, stdout), EXIT_OK;
  int status = check_request(&r.a);
  if (!status) status = run(&r);
  attn_run_free(&r);
  return status;
}
