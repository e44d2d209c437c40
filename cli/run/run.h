/* run.h -- attn run: its options, its tensors, its report. */
#ifndef ATTN_CLI_RUN_H
#define ATTN_CLI_RUN_H

#include "attn/io.h"
#include "console.h"

struct attn_run_options {
  const char *q, *k, *v, *o, *weights, *lse, *mask, *key_lengths, *window, *align, *empty_row,
      *verify;
  double scale, softcap;
  int64_t offset, threads, seed, num_heads, num_kv_heads;
  const char *alibi, *sinks;
  int causal, plan, peak, json, quiet;
  int has_scale, has_offset, has_threads, has_verify, has_num_heads, has_num_kv_heads, has_softcap;
};

/* A tensor of a file, and as attention uses it: the same, or split into heads. */
struct attn_run_input {
  attn_array array;
  attn_tensor view;
  attn_dtype stored; /* in the file, before conversion */
};

struct attn_run_job {
  struct attn_run_options options;
  struct attn_run_input q, k, v, o, weights, lse;
  attn_array mask, key_lengths, alibi, sinks;
  attn_sdpa desc;
  attn_plan plan;
  attn_sdpa_report report;
  int computed, has_report;
  double seconds, peak; /* peak: GFLOP/s of one thread */
};

/* Return 0, or an exit status after a message. */
int attn_run_report_error(const char *file, const attn_error *err); /* with a hint */
int attn_run_read(struct attn_run_job *job);
int attn_run_allocate_outputs(struct attn_run_job *job);
int attn_run_check_outputs(const struct attn_run_job *job); /* that they can be written */
int attn_run_write(const struct attn_run_job *job);
void attn_run_job_free(struct attn_run_job *job);

void attn_run_print_text(const struct attn_run_job *job);
void attn_run_print_json(const struct attn_run_job *job);

#endif
