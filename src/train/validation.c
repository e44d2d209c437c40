#include "validation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "token_search.h"

enum { GROUP = 32 }; /* examples that are decoded together */

/* A group of examples: prompts, targets and outputs. */
struct validation_group {
  struct attn_watch *watch;
  int64_t done, total; /* examples of the validation */
  int64_t count;       /* examples of the group */
  int64_t max_length;  /* capacity of a row of targets */
  int64_t longest_target, longest_prompt;
  struct attn_batch *prompts;
  int32_t *targets, *outputs; /* (GROUP, max_length) */
  int64_t *target_counts, *output_counts;
};

static void free_group(struct validation_group *g) {
  attn_batch_free(g->prompts);
  free(g->targets), free(g->outputs), free(g->target_counts), free(g->output_counts);
}

static attn_status init_group(struct validation_group *g, int64_t max_length,
                              const struct attn_model_config *config, attn_error *err) {
  size_t tokens = (size_t)(GROUP * max_length);
  g->max_length = max_length;
  g->targets = malloc(tokens * sizeof *g->targets);
  g->outputs = malloc(tokens * sizeof *g->outputs);
  g->target_counts = malloc(GROUP * sizeof *g->target_counts);
  g->output_counts = malloc(GROUP * sizeof *g->output_counts);
  if (!g->targets || !g->outputs || !g->target_counts || !g->output_counts)
    return attn_fail(err, ATTN_ERR_MEMORY, NULL, "out of memory: validation");
  return attn_batch_new(config, GROUP, GROUP * max_length, &g->prompts, err);
}

static void add_to_group(struct validation_group *g, const struct attn_dataset *d) {
  const int32_t *target = d->tokens[ATTN_TARGET] + d->prompt_count;
  int64_t count = d->counts[ATTN_TARGET] - d->prompt_count;
  if (d->kind == ATTN_VISION_ENCODER_DECODER)
    attn_batch_add_image(g->prompts, d->rgb, NULL, 0);
  else if (d->kind == ATTN_DECODER)
    attn_batch_add(g->prompts, NULL, 0, d->tokens[ATTN_TARGET], d->prompt_count);
  else
    attn_batch_add(g->prompts, d->tokens[ATTN_SOURCE], d->counts[ATTN_SOURCE],
                   d->tokens[ATTN_TARGET], d->prompt_count);
  memcpy(g->targets + g->count * g->max_length, target, (size_t)count * sizeof *target);
  g->target_counts[g->count++] = count;
  if (count > g->longest_target) g->longest_target = count;
  if (d->prompt_count > g->longest_prompt) g->longest_prompt = d->prompt_count;
}

/* One more than the longest target: a longer output is wrong in any case. */
static int64_t max_new_tokens(const struct validation_group *g) {
  int64_t capacity = g->max_length - g->longest_prompt;
  return g->longest_target + 1 < capacity ? g->longest_target + 1 : capacity;
}

static attn_status diverged(attn_error *err) {
  return attn_fail(err, ATTN_ERR_DIVERGED, NULL,
                   "validation: the model's logits are not finite; try a lower learning_rate");
}

static int report_group(void *group, int64_t done, int64_t total) {
  const struct validation_group *g = group;
  (void)total;
  return attn_watch_report(g->watch, g->done + done, g->total, NULL) != ATTN_OK;
}

/* Decodes the group, adds the number of exact matches to *matches and empties the group. Prompts
 * and prefixes start with the begin token already. */
static attn_status decode_group(struct validation_group *g, const struct attn_dataset *d,
                                const struct attn_trainer *t, int64_t *matches, attn_error *err) {
  int64_t most = max_new_tokens(g);
  int has_prefixes = d->kind != ATTN_DECODER && d->kind != ATTN_ENCODER;
  const struct attn_search_config config = {.max_new_tokens = most,
                                            .bos = -1,
                                            .eos = ATTN_TOKEN_END,
                                            .prefixes = has_prefixes ? &g->prompts->target : NULL,
                                            .batch_size = GROUP / 4,
                                            .threads = t->threads,
                                            .progress = report_group,
                                            .context = g};
  const struct attn_search_results found = {.tokens = g->outputs, .token_counts = g->output_counts};
  const struct attn_token_batch *text =
      d->kind == ATTN_DECODER ? &g->prompts->target : &g->prompts->source;
  const struct attn_network *network = t->replicas[0].network;
  attn_status status = g->count ? attn_search_run(network, text, &config, &found, err) : ATTN_OK;
  if (status == ATTN_ERR_ARGUMENT) status = diverged(err); /* the only argument that can be wrong */
  for (int64_t n = 0; n < g->count && !status; n++)
    *matches += g->output_counts[n] == g->target_counts[n] &&
                !memcmp(g->outputs + n * most, g->targets + n * g->max_length,
                        (size_t)g->output_counts[n] * sizeof *g->outputs);
  attn_batch_clear(g->prompts);
  g->done += g->count, g->count = g->longest_target = g->longest_prompt = 0;
  return status;
}

int attn_dataset_add_to(const struct attn_dataset *d, struct attn_trainer *t) {
  const int32_t *target = d->tokens[ATTN_TARGET];
  if (d->kind == ATTN_VISION_ENCODER_DECODER)
    return attn_trainer_add_image(t, d->rgb, target, d->counts[ATTN_TARGET]);
  return attn_trainer_add(t, d->tokens[ATTN_SOURCE], d->counts[ATTN_SOURCE], target,
                          d->counts[ATTN_TARGET]);
}

/* Adds the current example to the batch for the loss and, when it has a source, to the group. */
static attn_status add_example(struct attn_dataset *d, struct attn_trainer *t,
                               struct validation_group *g, struct attn_loss *loss, int64_t *matches,
                               attn_error *err) {
  attn_status status = ATTN_OK;
  if (!attn_dataset_add_to(d, t)) {
    status = attn_trainer_evaluate(t, loss, err);
    if (!status) attn_dataset_add_to(d, t);
  }
  if (d->kind == ATTN_DECODER && !d->prompt_count) return status;
  add_to_group(g, d);
  return status || g->count < GROUP ? status : decode_group(g, d, t, matches, err);
}

attn_status attn_validate(struct attn_dataset *d, struct attn_trainer *t, int64_t count,
                          struct attn_watch *watch, struct attn_validation *result,
                          attn_error *err) {
  struct attn_loss loss = {0, 0, 0};
  struct validation_group g = {.watch = watch, .total = count};
  int64_t matches = 0, decoded = 0, max_length = attn_dataset_max_length(d);
  attn_status status = init_group(&g, max_length, &t->replicas[0].network->config, err);
  for (int64_t n = 0; n < count && !status; n++) {
    status = attn_watch_report(watch, n, count, err);
    if (!status) status = attn_dataset_get(d, (uint64_t)n, 1, err);
    if (!status) status = attn_dataset_get_picture(d, (uint64_t)n, 1, err);
    decoded += d->kind != ATTN_DECODER || d->prompt_count;
    if (!status) status = add_example(d, t, &g, &loss, &matches, err);
  }
  if (!status) status = decode_group(&g, d, t, &matches, err);
  if (!status && t->added) status = attn_trainer_evaluate(t, &loss, err);
  free_group(&g);
  result->loss = loss.sum / (double)loss.rows;
  result->exact_match = decoded ? (double)matches / (double)decoded : NAN;
  return !status && !isfinite(result->loss) ? diverged(err) : status;
}
