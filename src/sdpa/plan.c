#include <stdio.h>

#include "descriptor.h"
#include "error.h"
#include "integer.h"
#include "key_range.h"
#include "machine.h"
#include "parallel.h"
#include "split.h"

/* Visible pairs of one head by causal, window and lengths; masks are not read. */
static double visible_pairs(const struct attn_problem *p, int64_t b) {
  double pairs = 0;
  /* A sample of a few thousand rows is accurate enough. */
  int64_t step = p->rows / 4096 + 1, sampled = 0;
  for (int64_t i = 0; i < p->rows; i += step, sampled++) {
    int64_t lo, hi;
    attn_problem_key_range(p, b, i, &lo, &hi);
    pairs += (double)(hi - lo);
  }
  return sampled ? pairs * (double)p->rows / (double)sampled : 0;
}

static double flops(const struct attn_problem *p) {
  double pairs = 0;
  for (int64_t b = 0; b < p->batch; b++) pairs += visible_pairs(p, b);
  return 2.0 * pairs * (double)p->heads_q * (double)(p->width + p->value_width);
}

/* Dense rows of float32 are written on the way. */
static int weights_need_a_pass(const struct attn_problem *p) {
  return p->desc.weights && (p->weights.dtype != ATTN_F32 || p->weights.strides[3] != 1);
}

static void explain(const struct attn_problem *p, attn_plan *plan) {
  if (!p->kernel) {
    snprintf(plan->kernel, sizeof plan->kernel, "reference f64");
    snprintf(plan->reason, sizeof plan->reason,
             "float64 runs the reference equations in double precision, row by row");
    return;
  }
  int32_t set = p->kernel->isa;
  if (set > ATTN_ISA_AVX512 && !p->has_dots) set = ATTN_ISA_AVX512;
  const char *isa = attn_isa_name(set);
  int strided = p->k.strides[3] != 1 || p->v.strides[3] != 1;
  if (p->has_dots)
    snprintf(plan->kernel, sizeof plan->kernel, "bf16 %s", isa);
  else
    snprintf(plan->kernel, sizeof plan->kernel, "%s", p->kernel->name);
  char split[64] = "";
  if (attn_split_max(p) > 1)
    snprintf(split, sizeof split, "; %d splits of the keys", (int)attn_split_max(p));
  snprintf(
      plan->reason, sizeof plan->reason, "%s on %s: %s%s%s%s%s%s%s",
      p->has_dots              ? set == ATTN_ISA_AMX_BF16 ? "tiles of bf16" : "dot products of bf16"
      : p->q.dtype == ATTN_F32 ? "float32"
                               : "16-bit in float32",
      isa,
      attn_isa_requested() >= 0 ? "selected by ATTN_ISA" : "the best instruction set of this CPU",
      p->rows < ATTN_ROW_BLOCK && p->heads_q > p->heads
          ? "; few queries: heads that share keys share a block"
          : "",
      split, strided ? "; strided k or v is copied by block" : "",
      p->desc.additive ? "; additive scores" : "",
      p->desc.flags & ATTN_SDPA_DROPOUT ? "; dropout: a random word per weight" : "",
      weights_need_a_pass(p) ? "; weights need a second pass" : "");
}

attn_status attn_sdpa_plan(const attn_sdpa *desc, const attn_tensor *q, const attn_tensor *k,
                           const attn_tensor *v, const attn_tensor *o, attn_plan *plan,
                           attn_error *err) {
  struct attn_problem p;
  attn_plan result = {.struct_size = sizeof result};
  attn_status status = attn_descriptor_expect(plan, sizeof result, sizeof result, "plan", err);
  if (!status) status = attn_problem_check(NULL, desc, q, k, v, o, o != NULL, &p, err);
  if (status) return status;
  explain(&p, &result);
  struct attn_partition parts = attn_problem_partition(&p);
  result.workspace_bytes = p.workspace_bytes;
  result.row_block = p.kernel ? ATTN_ROW_BLOCK : 1;
  result.key_block = p.kernel ? ATTN_KEY_BLOCK : p.keys;
  result.tasks = p.kernel ? p.batch * p.heads * parts.units * parts.tasks * attn_split_max(&p)
                          : p.batch * p.heads_q * p.rows;
  result.workers = (int32_t)attn_min(p.workers, result.tasks);
  result.flops = flops(&p);
  attn_descriptor_fill(plan, &result, sizeof result);
  return ATTN_OK;
}
