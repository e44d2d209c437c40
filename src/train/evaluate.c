/* evaluate.c -- exact matches and alignments of a model on validation examples of a task. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attn/train.h"
#include "descriptor.h"
#include "error.h"
#include "caption_occlusion.h"
#include "evaluate_captions.h"
#include "model.h"
#include "task.h"

enum { GROUP = 64, PROMPT_SIZE = 2 * ATTN_EXAMPLE_SIZE };

/* Examples are generated, decoded and compared in groups. */
struct evaluation_run {
  struct attn_task_evaluation *c;
  int64_t first; /* example of the group */
  attn_generation_config config;
  struct attn_aligned_pair pairs[GROUP];
  char prompts[GROUP][PROMPT_SIZE];
  attn_generation_result results[GROUP];
};

/* ---- Alignment ---- */

/* The sum of the cross-attention of all layers and heads. */
struct attention_sum {
  double *weights;       /* (queries, keys) */
  int64_t prefix;        /* first queries, which predict the prefix */
  int64_t queries, keys; /* tokens of the task, and the end token */
  int is_set;            /* 1: the model splits the texts into the same number of tokens */
};

static int add_weights(void *context, const attn_attention *a) {
  struct attention_sum *s = context;
  if (a->kind != ATTN_ATTENTION_CROSS || a->queries != s->queries || a->keys != s->keys) return 0;
  s->is_set = 1;
  for (int64_t n = 0; n < a->queries * a->keys; n++) s->weights[n] += (double)a->weights[n];
  return 0;
}

static void count_matches(const struct attention_sum *s, const struct attn_aligned_pair *pair,
                          attn_evaluation *e) {
  for (int64_t i = 0; i < pair->aligned_tokens && s->is_set; i++) {
    if (pair->alignment[i] < 0) continue;
    e->alignment_chance += 1 / (double)s->keys; /* a sum; divided at the end */
    e->aligned_tokens++;
    e->alignment_matches +=
        attn_largest_weight(s->weights + (s->prefix + i) * s->keys, s->keys) == pair->alignment[i];
  }
}

/* Words end at a space or the end; a UTF-8 character has one byte that is not 10xxxxxx. */
static int64_t count_tokens(const struct attn_task *task, const char *text) {
  int64_t count = task->tokens == ATTN_TASK_WORDS && *text;
  for (; *text; text++)
    count += task->tokens == ATTN_TASK_WORDS ? *text == ' ' : ((unsigned char)*text & 0xC0) != 0x80;
  return count;
}

static attn_status evaluate_alignment(const attn_model *model, const struct attn_task *task,
                                      const struct attn_aligned_pair *pair, attn_evaluation *e,
                                      attn_error *err) {
  char target[2 * ATTN_EXAMPLE_SIZE];
  struct attention_sum s = {.prefix = count_tokens(task, pair->prefix),
                            .keys = count_tokens(task, pair->source) + 1};
  s.queries = s.prefix + count_tokens(task, pair->target) + 1;
  snprintf(target, sizeof target, "%s%s%s", pair->prefix, s.prefix ? " " : "", pair->target);
  s.weights = calloc((size_t)(s.queries * s.keys), sizeof *s.weights);
  if (!s.weights) return attn_fail(err, ATTN_ERR_MEMORY, NULL, "out of memory: alignment");
  attn_status status =
      attn_model_visit_attention(model, pair->source, target, 1, add_weights, &s, err);
  if (!status) count_matches(&s, pair, e);
  free(s.weights);
  return status;
}

/* ---- Exact matches ---- */

/* A decoder-only model's prompt is the source, a tab and the prefix. */
static void make_prompts(struct evaluation_run *r, int64_t count, const char **prompts,
                         const char **prefixes) {
  int is_decoder = r->c->model->network->config.kind == ATTN_DECODER;
  for (int64_t n = 0; n < count; n++) {
    const struct attn_aligned_pair *pair = &r->pairs[n];
    attn_task_make(r->c->task, r->c->seed, (uint64_t)(r->first + n), 1, &r->pairs[n]);
    snprintf(r->prompts[n], PROMPT_SIZE, "%s%s%s", pair->source, is_decoder ? "\t" : "",
             is_decoder ? pair->prefix : "");
    prompts[n] = r->prompts[n], prefixes[n] = pair->prefix;
  }
}

static attn_status compare(struct evaluation_run *r, int64_t count, attn_evaluation *e,
                           attn_error *err) {
  int has_cross_attention = r->c->model->network->config.kind == ATTN_ENCODER_DECODER;
  attn_status status = ATTN_OK;
  for (int64_t n = 0; n < count && !status; n++) {
    int is_match = !strcmp(r->results[n].text, r->pairs[n].target);
    e->exact_matches += is_match, e->examples++;
    if (!is_match || !r->pairs[n].aligned_tokens || !has_cross_attention) continue;
    status = attn_watch_report(&r->c->watch, r->first + n, r->c->examples, err);
    if (!status) status = evaluate_alignment(r->c->model, r->c->task, &r->pairs[n], e, err);
  }
  return status;
}

static int report(void *run, int64_t done, int64_t total) {
  const struct evaluation_run *r = run;
  (void)total;
  return attn_watch_report(&r->c->watch, r->first + done, r->c->examples, NULL) != ATTN_OK;
}

static attn_status evaluate_group(struct evaluation_run *r, attn_evaluation *e, attn_error *err) {
  const char *prompts[GROUP] = {NULL}, *prefixes[GROUP] = {NULL};
  int64_t left = r->c->examples - r->first, count = left < GROUP ? left : GROUP;
  make_prompts(r, count, prompts, prefixes);
  if (r->c->model->network->config.kind == ATTN_ENCODER_DECODER)
    r->config.target_prefixes = prefixes;
  r->results[0].struct_size = sizeof *r->results;
  attn_status status =
      attn_model_generate(r->c->model, prompts, count, &r->config, r->results, err);
  if (status) return status;
  status = compare(r, count, e, err);
  attn_generation_results_free(r->results, count);
  r->first += count;
  return status;
}

static attn_status evaluate_texts(struct attn_task_evaluation *c, attn_evaluation *e,
                                  attn_error *err) {
  struct evaluation_run *r = calloc(1, sizeof *r); /* too large for a small stack */
  if (!r) return attn_fail(err, ATTN_ERR_MEMORY, NULL, "out of memory: evaluation");
  r->c = c;
  r->config = (attn_generation_config)ATTN_GENERATION_CONFIG_INIT;
  r->config.threads = c->threads, r->config.batch_size = GROUP / 4;
  r->config.progress = report, r->config.progress_context = r;
  attn_status status = ATTN_OK;
  while (r->first < c->examples && !status) status = evaluate_group(r, e, err);
  free(r);
  return status;
}

attn_status attn_model_evaluate(const attn_model *model, const char *name, int64_t examples,
                                uint64_t seed, int32_t threads,
                                int (*progress)(void *context, int64_t done, int64_t total),
                                void *progress_context, attn_evaluation *evaluation,
                                attn_error *err) {
  struct attn_task_evaluation c = {
      .model = model,
      .examples = examples,
      .seed = seed ^ 0x65786d,
      .threads = threads,
      .watch = {.progress = progress, .context = progress_context, .name = "progress"}};
  attn_evaluation e = ATTN_EVALUATION_INIT;
  attn_status status = attn_task_require(name, &c.task, err);
  if (!status) status = attn_descriptor_expect(evaluation, sizeof e, sizeof e, "evaluation", err);
  if (status) return status;
  if (examples < 1)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "examples", "examples must be at least 1, got %lld",
                     (long long)examples);
  status = c.task->picture_side ? attn_evaluate_captions(&c, &e, err) : evaluate_texts(&c, &e, err);
  if (e.aligned_tokens) e.alignment_chance /= (double)e.aligned_tokens;
  attn_descriptor_fill(evaluation, &e, sizeof e);
  return status;
}
