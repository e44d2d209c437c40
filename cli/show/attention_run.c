#include "attention_run.h"

#include <stdlib.h>
#include <string.h>

enum { KINDS = 3, CONTINUATION = 32 };

/* ---- Copies of heads ---- */

static char **copy_tokens(const char *const *tokens, int64_t count, int *failed) {
  char **copy = calloc((size_t)count, sizeof *copy);
  for (int64_t n = 0; n < count && copy; n++) *failed |= !(copy[n] = strdup(tokens[n]));
  *failed |= !copy;
  return copy;
}

static int grow(struct attn_cli_attention_run *t) {
  const int32_t capacity = t->capacity ? 2 * t->capacity : 64;
  if (t->count < t->capacity) return 1;
  void *heads = realloc(t->heads, (size_t)capacity * sizeof *t->heads);
  if (heads) t->heads = heads, t->capacity = capacity;
  return heads != NULL;
}

/* The callback of attn_model_visit_attention. */
static int copy_head(void *context, const attn_attention *a) {
  struct attn_cli_attention_run *t = context;
  const size_t size = (size_t)(a->queries * a->keys) * sizeof *a->weights;
  float *weights = malloc(size);
  if (!weights || !grow(t)) return free(weights), t->failed = 1;
  if (!t->tokens[a->kind][0]) {
    t->tokens[a->kind][0] = copy_tokens(a->query_tokens, a->queries, &t->failed);
    t->tokens[a->kind][1] = copy_tokens(a->key_tokens, a->keys, &t->failed);
    t->lengths[a->kind][0] = a->queries, t->lengths[a->kind][1] = a->keys;
  }
  attn_attention *copy = &t->heads[t->count++];
  *copy = *a;
  copy->weights = memcpy(weights, a->weights, size);
  copy->query_tokens = (const char *const *)t->tokens[a->kind][0];
  copy->key_tokens = (const char *const *)t->tokens[a->kind][1];
  return t->failed;
}

void attn_cli_attention_run_free(struct attn_cli_attention_run *t) {
  for (int32_t n = 0; n < t->count; n++) free((void *)(uintptr_t)t->heads[n].weights);
  for (int kind = 0; kind < KINDS; kind++)
    for (int side = 0; side < 2; side++) {
      char **tokens = t->tokens[kind][side];
      for (int64_t n = 0; n < t->lengths[kind][side] && tokens; n++) free(tokens[n]);
      free(tokens);
    }
  attn_generation_results_free(t->results, t->result_count);
  free(t->heads);
}

/* ---- Running the model ---- */

static void set_config(const struct attn_cli_attention_run *r, const attn_model_info *info,
                       attn_generation_config *config) {
  config->num_beams = r->num_beams ? (int32_t)r->num_beams : 1;
  config->num_return_sequences =
      config->num_beams < ATTN_CLI_RESULTS_MAX ? config->num_beams : ATTN_CLI_RESULTS_MAX;
  config->max_new_tokens = r->max_new_tokens       ? r->max_new_tokens
                           : !info->encoder_layers ? CONTINUATION
                           : info->max_positions > 1
                               ? info->max_positions - 1 /* and the end token */
                               : 0;
}

static attn_status generate(struct attn_cli_attention_run *r, const attn_model *model,
                            const attn_model_info *info, attn_error *err) {
  attn_generation_config config = ATTN_GENERATION_CONFIG_INIT;
  const int is_requested = r->num_beams || r->max_new_tokens;
  if (!r->source || r->target || (!info->encoder_layers && !is_requested)) return ATTN_OK;
  if (info->decoder_layers) set_config(r, info, &config);
  config.threads = r->threads;
  r->result_count = config.num_return_sequences ? config.num_return_sequences : 1;
  for (int n = 0; n < ATTN_CLI_RESULTS_MAX; n++) r->results[n].struct_size = sizeof *r->results;
  attn_status status = attn_model_generate(model, &r->source, 1, &config, r->results, err);
  if (status) r->result_count = 0;
  return status && info->decoder_layers ? status : ATTN_OK;
}

/* A text that the decoder generates itself keeps its end token. */
attn_status attn_cli_attention_run(const attn_model *model, struct attn_cli_attention_run *r,
                                   attn_error *err) {
  attn_model_info info = {.struct_size = sizeof info};
  attn_model_describe(model, &info, NULL);
  attn_status status = generate(r, model, &info, err);
  if (status) return status;
  const int is_greedy = info.encoder_layers && !r->num_beams && !r->max_new_tokens;
  const char *target = r->target;
  if (!target && info.decoder_layers && !is_greedy && r->result_count) target = r->results[0].text;
  status = attn_model_visit_attention(model, r->source, target, r->threads, copy_head, r, err);
  if (!r->failed) return status;
  *err = (attn_error){.status = ATTN_ERR_MEMORY, .message = "no memory", .offset = -1};
  return ATTN_ERR_MEMORY;
}

attn_model_page_input attn_cli_attention_run_input(const struct attn_cli_attention_run *r) {
  return (attn_model_page_input){sizeof(attn_model_page_input),
                                 r->source,
                                 r->target,
                                 r->heads,
                                 r->count,
                                 r->result_count,
                                 r->results};
}
