#include "predict_labels.h"

#include "beam_state.h"
#include "encoder_batches.h"
#include "error.h"

struct label_prediction {
  const struct attn_search_config *config;
  const struct attn_search_results *results;
};

static attn_status check(const struct attn_network *network,
                         const struct attn_search_config *config, attn_error *err) {
  if (network->config.head == ATTN_HEAD_NONE)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "network",
                     "cannot predict tokens: the model has no output head");
  if (config->num_beams > 1)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "num_beams",
                     "an encoder predicts one token for each position: num_beams and "
                     "num_return_sequences must be 0 or 1, got %lld",
                     (long long)config->num_beams);
  if (config->temperature > 0)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "temperature",
                     "an encoder predicts the most likely token for each position: temperature "
                     "must be 0, got %g",
                     config->temperature);
  return ATTN_OK;
}

/* A search of one beam whose logits are all computed in advance. */
static attn_status predict(void *context, int64_t index, const float *logits, int64_t positions,
                           int64_t vocab_size, attn_error *err) {
  const struct label_prediction *p = context;
  const struct attn_search_results results = attn_search_results_at(p->results, p->config, index);
  struct attn_beam_state state;
  attn_status status =
      attn_beam_state_init(&state, p->config, vocab_size, p->config->first_sequence + index,
                           results.scores || results.log_probs, err);
  if (positions < state.max_new_tokens) state.max_new_tokens = positions;
  state.num_open = !status;
  for (; state.num_open && !status; logits += vocab_size) {
    status = attn_beam_state_select(&state, logits, err);
    if (!status) status = attn_beam_state_advance(&state, NULL, 0, 0, err);
  }
  if (!status) attn_beam_state_write(&state, &results);
  attn_beam_state_free(&state);
  return status;
}

attn_status attn_predict_labels(const struct attn_network *network,
                                const struct attn_token_batch *source,
                                const struct attn_search_config *config,
                                const struct attn_search_results *results, attn_error *err) {
  struct label_prediction prediction = {config, results};
  struct attn_encoder_batches all = {.batches = {.batch_size = config->batch_size,
                                                 .threads = config->threads,
                                                 .watch = {.progress = config->progress,
                                                           .context = config->context,
                                                           .name = "progress"}},
                                     .network = network,
                                     .pack = config->pack,
                                     .texts = source,
                                     .logits = 1,
                                     .take = predict,
                                     .context = &prediction};
  attn_status status = check(network, config, err);
  return status ? status : attn_encoder_batches_run(&all, err);
}
