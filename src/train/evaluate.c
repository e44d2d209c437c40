/* examine.c -- a model that is there, asked for what it never saw. */
#include <stdlib.h>
#include <string.h>

#include "attn/train.h"
#include "descriptor.h"
#include "error.h"
#include "model.h"
#include "task.h"
#include "watch.h"

enum { TOGETHER = 64, SIDE = ATTN_EXAMPLE_SIZE + 1 };

/* What is asked together, and what is told of it. */
struct examination {
  const attn_model *model;
  const struct attn_task *task;
  uint64_t seed;
  int64_t first, examples;
  attn_generation how;
  struct attn_watch watch;
  struct attn_aligned_pair pair[TOGETHER];
  char asked[TOGETHER][SIDE];
  attn_reply replies[TOGETHER];
};

/* ---- Where the cross-attention points ---- */

/* The sum of all layers' and heads' weights; whose divisor does not matter. */
struct pointing {
  double *sum;           /* (L, S) */
  int64_t queries, keys; /* of the task's tokens, in which the alignment counts, and the end */
  int is_seen;           /* the model's are as many */
};

static int add_weights(void *context, const attn_attention *a) {
  struct pointing *p = context;
  if (a->kind != ATTN_ATTENTION_CROSS || a->queries != p->queries || a->keys != p->keys) return 0;
  p->is_seen = 1;
  for (int64_t n = 0; n < a->queries * a->keys; n++) p->sum[n] += (double)a->weights[n];
  return 0;
}

static int64_t highest(const double *row, int64_t count) {
  int64_t best = 0;
  for (int64_t n = 1; n < count; n++)
    if (row[n] > row[best]) best = n;
  return best;
}

static void count_pointed(const struct pointing *p, const struct attn_aligned_pair *pair,
                          attn_evaluation *card) {
  for (int64_t i = 0; i < pair->aligned && p->is_seen; i++) {
    if (pair->alignment[i] < 0) continue;
    card->chance += 1 / (double)p->keys; /* a sum until the end */
    card->aligned++;
    card->pointed += highest(p->sum + i * p->keys, p->keys) == pair->alignment[i];
  }
}

/* Behind a word there is a space or nothing; a character has one byte that continues none. */
static int64_t count_tokens(const struct attn_task *task, const char *text) {
  int64_t count = task->tokens == ATTN_TASK_WORDS && *text;
  for (; *text; text++)
    count += task->tokens == ATTN_TASK_WORDS ? *text == ' ' : ((unsigned char)*text & 0xC0) != 0x80;
  return count;
}

static attn_status point(const attn_model *model, const struct attn_task *task,
                         const struct attn_aligned_pair *pair, attn_evaluation *card,
                         attn_error *err) {
  struct pointing p = {.queries = count_tokens(task, pair->target) + 1,
                       .keys = count_tokens(task, pair->source) + 1};
  p.sum = calloc((size_t)(p.queries * p.keys), sizeof *p.sum);
  if (!p.sum) return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for an alignment");
  attn_status status = attn_model_look(model, pair->source, pair->target, 1, add_weights, &p, err);
  if (!status) count_pointed(&p, pair, card);
  free(p.sum);
  return status;
}

/* ---- What it says ---- */

/* A decoder alone goes on behind source and tab. */
static void make_some(struct examination *x, int64_t count, const char **sources) {
  const char *behind = x->model->network->config.kind == ATTN_DECODER ? "\t" : "";
  for (int64_t n = 0; n < count; n++) {
    x->task->make(x->seed, (uint64_t)(x->first + n), 1, &x->pair[n]);
    sources[n] = strcat(strcpy(x->asked[n], x->pair[n].source), behind);
  }
}

static attn_status judge(struct examination *x, int64_t count, attn_evaluation *card,
                         attn_error *err) {
  int points = x->model->network->config.kind == ATTN_ENCODER_DECODER;
  attn_status status = ATTN_OK;
  for (int64_t n = 0; n < count && !status; n++) {
    int right = !strcmp(x->replies[n].text, x->pair[n].target);
    card->exact += right, card->examples++;
    if (!right || !x->pair[n].aligned || !points) continue;
    status = attn_watch_tell(&x->watch, x->first + n, x->examples, err);
    if (!status) status = point(x->model, x->task, &x->pair[n], card, err);
  }
  return status;
}

static int tell(void *examination, int64_t done, int64_t of) {
  struct examination *x = examination;
  (void)of;
  return attn_watch_tell(&x->watch, x->first + done, x->examples, NULL) != ATTN_OK;
}

static attn_status examine_some(struct examination *x, attn_evaluation *card, attn_error *err) {
  const char *sources[TOGETHER] = {NULL};
  int64_t left = x->examples - x->first, count = left < TOGETHER ? left : TOGETHER;
  make_some(x, count, sources);
  x->replies[0].struct_size = sizeof *x->replies;
  attn_status status = attn_model_generate(x->model, sources, count, &x->how, x->replies, err);
  if (status) return status;
  status = judge(x, count, card, err);
  attn_replies_free(x->replies, count);
  x->first += count;
  return status;
}

attn_status attn_model_evaluate(const attn_model *model, const char *name, int64_t examples,
                                uint64_t seed, int32_t threads,
                                int (*progress)(void *context, int64_t done, int64_t total),
                                void *progress_context, attn_evaluation *card, attn_error *err) {
  const struct attn_task *task;
  attn_evaluation found = ATTN_EVALUATION_INIT;
  attn_status status = attn_task_require(name, &task, err);
  if (!status) status = attn_descriptor_expect(card, sizeof found, sizeof found, "card", err);
  if (status) return status;
  if (examples < 1)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "examples", "examples is %lld; at least 1",
                     (long long)examples);
  struct examination *x = calloc(1, sizeof *x); /* more than a small stack has room for */
  if (!x) return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for an examination");
  x->model = model, x->task = task, x->seed = seed ^ 0x65786d, x->examples = examples;
  x->watch.stop = progress, x->watch.context = progress_context, x->watch.name = "progress";
  x->how = (attn_generation)ATTN_GENERATION_INIT;
  x->how.threads = threads, x->how.together = TOGETHER / 4;
  x->how.progress = tell, x->how.progress_context = x;
  while (x->first < examples && !status) status = examine_some(x, &found, err);
  if (found.aligned) found.chance /= (double)found.aligned;
  attn_descriptor_fill(card, &found, sizeof found);
  free(x);
  return status;
}
