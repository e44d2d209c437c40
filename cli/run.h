/* run.h -- what the parts of attn run share: the arguments, the tensors, the report. */
#ifndef ATTN_CLI_RUN_H
#define ATTN_CLI_RUN_H

#include "attn/io.h"
#include "console.h"

struct attn_run_options {
  const char *q, *k, *v, *o, *weights, *lse, *mask, *lengths, *window, *align, *empty, *verify;
  double scale;
  int64_t offset, threads, seed, heads, kv_heads;
  double softcap;
  const char *alibi, *sinks;
  int help, causal, plan, peak, json, quiet;
  int has_scale, has_offset, has_threads, has_verify, has_heads, has_kv_heads, has_softcap;
};

/* A tensor as its file has it, and as attention sees it: the same, or its heads taken apart. */
struct attn_run_input {
  attn_array array;
  attn_tensor view;
  attn_dtype stored; /* as the file has it, before it was widened */
};

struct attn_run {
  struct attn_run_options a;
  struct attn_run_input q, k, v, o, weights, lse;
  attn_array mask, lengths, alibi, sinks;
  attn_sdpa desc;
  attn_plan plan;
  attn_sdpa_report report;
  int computed, has_report;
  double seconds, peak;
};

/* Each returns 0, or an exit status after a message. */
int attn_run_usage_error(const char *message);
int attn_run_report_error(const char *place,
                          const attn_error *err); /* with a hint how to mend it */
int attn_run_read(struct attn_run *run);
int attn_run_allocate_outputs(struct attn_run *run);
int attn_run_check_outputs(const struct attn_run *run); /* before hours are spent computing */
int attn_run_write(const struct attn_run *run);
void attn_run_free(struct attn_run *run);

void attn_run_print_text(const struct attn_run *run);
void attn_run_print_json(const struct attn_run *run);

#endif
