/* examine.c -- a model that is there, asked for what it never saw. */
#include <stdlib.h>
#include <string.h>

#include "attn/train.h"
#include "descriptor.h"
#include "error.h"
#include "model.h"
#include "task.h"

enum { TOGETHER = 64, SIDE = ATTN_EXAMPLE + 1 };

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

static void count_pointed(const struct pointing *p, const struct attn_example_pair *pair,
                          attn_score_card *card) {
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
                         const struct attn_example_pair *pair, attn_score_card *card,
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
static attn_status examine_some(const attn_model *model, const struct attn_task *task,
                                uint64_t seed, int64_t first, int64_t count,
                                const attn_generation *how, attn_score_card *card,
                                attn_error *err) {
  struct attn_example_pair pair[TOGETHER];
  char asked[TOGETHER][SIDE];
  const char *sources[TOGETHER] = {NULL};
  attn_reply replies[TOGETHER] = {ATTN_REPLY_INIT};
  enum attn_model_kind kind = model->network->config.kind;
  const char *behind = kind == ATTN_DECODER ? "\t" : "";
  for (int64_t n = 0; n < count; n++) {
    task->make(seed, (uint64_t)(first + n), 1, &pair[n]);
    sources[n] = strcat(strcpy(asked[n], pair[n].source), behind);
  }
  attn_status status = attn_model_generate(model, sources, count, how, replies, err);
  if (status) return status;
  for (int64_t n = 0; n < count && !status; n++) {
    int right = !strcmp(replies[n].text, pair[n].target);
    card->exact += right;
    if (right && pair[n].aligned && kind == ATTN_ENCODER_DECODER)
      status = point(model, task, &pair[n], card, err);
  }
  card->examples += count;
  attn_replies_free(replies, count);
  return status;
}

attn_status attn_model_examine(const attn_model *model, const char *name, int64_t examples,
                               uint64_t seed, int32_t threads, attn_score_card *card,
                               attn_error *err) {
  const struct attn_task *task;
  attn_generation how = ATTN_GENERATION_INIT;
  attn_score_card found = ATTN_SCORE_CARD_INIT;
  attn_status status = attn_task_require(name, &task, err);
  if (!status) status = attn_descriptor_expect(card, sizeof found, sizeof found, "card", err);
  if (status) return status;
  if (examples < 1)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "examples", "examples is %lld; at least 1",
                     (long long)examples);
  how.threads = threads, how.together = TOGETHER / 4;
  for (int64_t n = 0; n < examples && !status; n += TOGETHER)
    status = examine_some(model, task, seed ^ 0x65786d, n,
                          examples - n < TOGETHER ? examples - n : TOGETHER, &how, &found, err);
  if (found.aligned) found.chance /= (double)found.aligned;
  attn_descriptor_fill(card, &found, sizeof found);
  return status;
}
