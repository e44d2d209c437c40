/* cmd_run.c -- attn run: attention on tensor files. */
#include <string.h>

#include "command.h"
#include "help_files.h"
#include "run.h"

/* ---- Options ---- */

static const char *const aligns[] = {"top-left", "bottom-right"};
static const char *const empty_rows[] = {"zero", "mean", "nan", "error"};

static int parse(int argc, char **argv, struct attn_run_options *o) {
  const struct attn_cli_option table[] = {
      {"--q", OPTION_TEXT, &o->q, NULL},
      {"--k", OPTION_TEXT, &o->k, NULL},
      {"--v", OPTION_TEXT, &o->v, NULL},
      {"-o", OPTION_TEXT, &o->o, NULL},
      {"--output", OPTION_TEXT, &o->o, NULL},
      {"--weights", OPTION_TEXT, &o->weights, NULL},
      {"--lse", OPTION_TEXT, &o->lse, NULL},
      {"--mask", OPTION_TEXT, &o->mask, NULL},
      {"--key-lengths", OPTION_TEXT, &o->key_lengths, NULL},
      {"--window", OPTION_TEXT, &o->window, NULL},
      {"--align", ATTN_CLI_CHOICE(&o->align, aligns), NULL},
      {"--empty-row", ATTN_CLI_CHOICE(&o->empty_row, empty_rows), NULL},
      {"--scale", OPTION_DOUBLE, &o->scale, &o->has_scale},
      {"--softcap", OPTION_DOUBLE, &o->softcap, &o->has_softcap},
      {"--alibi", OPTION_TEXT, &o->alibi, NULL},
      {"--sinks", OPTION_TEXT, &o->sinks, NULL},
      {"--offset", OPTION_INT, &o->offset, &o->has_offset},
      {"--threads", OPTION_INT, &o->threads, &o->has_threads},
      {"--seed", OPTION_INT, &o->seed, NULL},
      {"--causal", OPTION_FLAG, &o->causal, NULL},
      {"--plan", OPTION_FLAG, &o->plan, NULL},
      {"--peak", OPTION_FLAG, &o->peak, NULL},
      {"--json", OPTION_FLAG, &o->json, NULL},
      {"--quiet", OPTION_FLAG, &o->quiet, NULL},
      {"--num-heads", OPTION_INT, &o->num_heads, &o->has_num_heads},
      {"--num-kv-heads", OPTION_INT, &o->num_kv_heads, &o->has_num_kv_heads},
      {"--verify", OPTION_OPTIONAL_TEXT, &o->verify, &o->has_verify}};
  int operands;
  const int ended = attn_cli_parse_options(argc, argv, run_txt, ATTN_CLI_TABLE(table), &operands);
  if (ended >= 0 || !operands) return ended;
  return attn_cli_print_usage_error("unexpected operand \"%.60s\"", argv[1]);
}

static int parse_window(const char *text, attn_sdpa *d) {
  char left[32];
  const char *comma = strchr(text, ',');
  int bad = !comma || comma - text >= (int)sizeof left;
  if (!bad) {
    memcpy(left, text, (size_t)(comma - text));
    left[comma - text] = 0;
    bad = attn_cli_parse_int(left, &d->window_left) ||
          attn_cli_parse_int(comma + 1, &d->window_right);
  }
  if (bad)
    return attn_cli_print_usage_error("--window must be two integers L,R, got \"%.60s\"", text);
  d->flags |= ATTN_SDPA_WINDOW;
  return 0;
}

static int set_desc(const struct attn_run_options *o, attn_sdpa *d) {
  d->struct_size = sizeof *d;
  if (o->has_scale) d->flags |= ATTN_SDPA_SCALE, d->scale = o->scale;
  if (o->has_softcap) d->flags |= ATTN_SDPA_SOFTCAP, d->softcap = o->softcap;
  if (o->causal) d->flags |= ATTN_SDPA_CAUSAL;
  if (o->align && (d->align = attn_cli_parse_choice("--align", o->align, aligns, 2)) < 0)
    return EXIT_TROUBLE;
  if (o->has_offset)
    d->flags |= ATTN_SDPA_OFFSET, d->align = ATTN_ALIGN_OFFSET, d->offset = o->offset;
  if (o->empty_row &&
      (d->empty_row = attn_cli_parse_choice("--empty-row", o->empty_row, empty_rows, 4)) < 0)
    return EXIT_TROUBLE;
  d->threads = (int32_t)o->threads;
  return o->window ? parse_window(o->window, d) : 0;
}

/* Checks what does not need a file. */
static int check_options(const struct attn_run_options *o) {
  int64_t rows;
  if (!o->q || !o->k || !o->v) return attn_cli_print_usage_error("expected --q, --k and --v");
  if (!o->o && !o->weights && !o->lse && !o->has_verify && !o->plan)
    return attn_cli_print_usage_error(
        "nothing to do: give -o, --weights, --lse, --verify or --plan");
  if (o->align && o->has_offset)
    return attn_cli_print_usage_error("--align and --offset exclude each other");
  if (o->has_offset && !o->causal && !o->window)
    return attn_cli_print_usage_error("--offset needs --causal or --window");
  if (o->has_num_kv_heads && !o->has_num_heads)
    return attn_cli_print_usage_error("--num-kv-heads needs --num-heads");
  if ((o->has_num_heads && attn_cli_check_range("--num-heads", o->num_heads, 1, INT32_MAX)) ||
      (o->has_num_kv_heads &&
       attn_cli_check_range("--num-kv-heads", o->num_kv_heads, 1, INT32_MAX)) ||
      (o->has_threads && attn_cli_check_range("--threads", o->threads, 1, ATTN_CLI_MAX_THREADS)))
    return EXIT_TROUBLE;
  if (*o->verify && (attn_cli_parse_int(o->verify, &rows) || rows < 1))
    return attn_cli_print_usage_error("--verify=ROWS must be a positive integer, got \"%.60s\"",
                                      o->verify);
  return 0;
}

/* ---- Computation ---- */

static int compute(struct attn_run_job *j) {
  attn_error err;
  struct attn_cli_progress progress = attn_cli_progress_begin("computing", j->options.quiet);
  j->desc.progress = attn_cli_progress_update;
  j->desc.progress_context = &progress;
  double start = attn_cli_now();
  attn_status status =
      attn_sdpa_forward(&j->desc, &j->q.view, &j->k.view, &j->v.view, &j->o.view, &err);
  j->seconds = attn_cli_now() - start;
  j->computed = 1;
  attn_cli_progress_end(&progress);
  return status ? attn_run_report_error(NULL, &err) : 0;
}

/* Rows that the float64 reference computes in about ten seconds, at an estimated 0.3e9
 * multiply-adds per second and thread; 0: all. */
static int64_t default_sample(const struct attn_run_job *j) {
  const attn_tensor *q = &j->q.view, *k = &j->k.view;
  double rows = 1, each = (double)k->shape[k->rank - 2];
  for (int n = 0; n < q->rank - 1; n++) rows *= (double)q->shape[n];
  each *= (double)(q->shape[q->rank - 1] + j->o.view.shape[j->o.view.rank - 1]);
  double max = 3e9 * j->plan.workers / (each + 1) + 1;
  return max < rows ? (int64_t)max : 0;
}

static int verify(struct attn_run_job *j) {
  attn_error err;
  int64_t rows = default_sample(j);
  if (*j->options.verify && attn_cli_parse_int(j->options.verify, &rows)) return EXIT_TROUBLE;
  struct attn_cli_progress progress = attn_cli_progress_begin("verifying", j->options.quiet);
  j->desc.progress_context = &progress;
  j->report.struct_size = sizeof j->report;
  attn_status status = attn_sdpa_verify(&j->desc, &j->q.view, &j->k.view, &j->v.view, &j->o.view,
                                        rows, (uint64_t)j->options.seed, &j->report, &err);
  attn_cli_progress_end(&progress);
  j->has_report = 1;
  return status ? attn_run_report_error(NULL, &err) : 0;
}

/* Validates the inputs; with o = NULL before the output is allocated. */
static int plan(struct attn_run_job *j, const attn_tensor *o) {
  attn_error err;
  j->plan = (attn_plan){.struct_size = sizeof j->plan};
  return attn_sdpa_plan(&j->desc, &j->q.view, &j->k.view, &j->v.view, o, &j->plan, &err)
             ? attn_run_report_error(NULL, &err)
             : 0;
}

static int run(struct attn_run_job *j) {
  const struct attn_run_options *o = &j->options;
  int computes = o->o || o->weights || o->lse || o->has_verify;
  int status = set_desc(o, &j->desc);
  if (!status) status = attn_run_check_outputs(j);
  if (!status) status = attn_run_read(j);
  if (!status) status = plan(j, NULL);
  if (!status) status = attn_run_allocate_outputs(j);
  if (!status) status = plan(j, &j->o.view);
  if (!status && o->peak) attn_machine_measure(&j->peak, NULL);
  if (!status && computes) status = compute(j);
  if (!status && o->has_verify) status = verify(j);
  if (!status && attn_cli_interrupted()) status = EXIT_INTERRUPTED;
  if (!status) status = attn_run_write(j);
  if (status) return status;
  if (o->json)
    attn_run_print_json(j);
  else if (!o->quiet)
    attn_run_print_text(j);
  return j->has_report && j->report.outside ? EXIT_FOUND : EXIT_OK;
}

int attn_cmd_run(int argc, char **argv) {
  struct attn_run_job job = {.options = {.verify = ""}};
  const int ended = parse(argc, argv, &job.options);
  if (ended >= 0) return ended;
  int status = check_options(&job.options);
  if (!status) status = run(&job);
  attn_run_job_free(&job);
  return status;
}
