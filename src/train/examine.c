/* examine.c -- a model that is there, asked for what it never saw. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "attn/train.h"
#include "error.h"
#include "model.h"
#include "task.h"

enum { TOGETHER = 64, SIDE = ATTN_EXAMPLE + 1 };

/* A decoder alone goes on behind source and tab. */
static attn_status examine_some(const attn_model *model, const struct attn_task *task,
                                uint64_t seed, int64_t first, int64_t count,
                                const attn_generation *how, attn_score_card *card,
                                attn_error *err) {
  struct attn_example_pair pair[TOGETHER];
  char asked[TOGETHER][SIDE];
  const char *sources[TOGETHER];
  attn_reply replies[TOGETHER];
  const char *behind = model->network->config.kind == ATTN_DECODER ? "\t" : "";
  for (int64_t n = 0; n < count; n++) {
    task->make(seed, (uint64_t)(first + n), 1, &pair[n]);
    sources[n] = strcat(strcpy(asked[n], pair[n].source), behind);
  }
  attn_status status = attn_model_generate(model, sources, count, how, replies, err);
  if (status) return status;
  for (int64_t n = 0; n < count; n++) card->exact += !strcmp(replies[n].text, pair[n].target);
  card->examples += count;
  attn_replies_free(replies, count);
  return ATTN_OK;
}

attn_status attn_model_examine(const attn_model *model, const char *name, int64_t examples,
                               uint64_t seed, int32_t threads, attn_score_card *card,
                               attn_error *err) {
  const struct attn_task *task = attn_task_find(name);
  attn_generation how = ATTN_GENERATION_INIT;
  attn_status status = ATTN_OK;
  if (!task) return attn_fail(err, ATTN_ERR_ARGUMENT, "task", "there is no task \"%.40s\"", name);
  if (examples < 1)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "examples", "examples is %lld; at least 1",
                     (long long)examples);
  how.threads = threads, how.together = TOGETHER / 4;
  *card = (attn_score_card){0, 0};
  for (int64_t n = 0; n < examples && !status; n += TOGETHER)
    status = examine_some(model, task, seed ^ 0x65786d, n,
                          examples - n < TOGETHER ? examples - n : TOGETHER, &how, card, err);
  return status;
}
