#include "predict_labels.h"

#include "beam_state.h"
#include "encoder_batches.h"
#include "error.h"

struct labels {
  const struct attn_search_config *how;
  const struct attn_search_results *found;
};

static attn_status check(const struct attn_network *network, const struct attn_search_config *how,
                         attn_error *err) {
  if (network->config.head == ATTN_HEAD_NONE)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "network",
                     "a model that ends in hidden vectors says no words");
  if (how->beams > 1)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "beams",
                     "%lld beams: an encoder alone says the likeliest token at each place; beams "
                     "and n_best must be 0 or 1",
                     (long long)how->beams);
  if (how->temperature > 0)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "temperature",
                     "an encoder alone says the likeliest token at each place, and draws none: "
                     "temperature must be 0");
  return ATTN_OK;
}

/* A search whose steps are there already. The source has no more than these places to say something
 * at. */
static attn_status say(void *context, int64_t index, const float *logits, int64_t places,
                       int64_t words, attn_error *err) {
  const struct labels *l = context;
  const struct attn_search_results found = attn_search_results_of(l->found, l->how, index);
  int weighs = found.scores || found.log_probabilities;
  struct attn_beam_state line;
  attn_status status =
      attn_beam_state_init(&line, l->how, words, l->how->first_sequence + index, weighs, err);
  if (places < line.most) line.most = places;
  line.open = !status;
  for (; line.open && !status; logits += words) {
    status = attn_beam_state_select(&line, logits, err);
    if (!status) status = attn_beam_state_advance(&line, NULL, 0, 0, err);
  }
  if (!status) attn_beam_state_write(&line, &found);
  attn_beam_state_free(&line);
  return status;
}

attn_status attn_predict_labels(const struct attn_network *network,
                                const struct attn_token_batch *source,
                                const struct attn_search_config *how,
                                const struct attn_search_results *found, attn_error *err) {
  struct labels labels = {how, found};
  const struct attn_encoder_batches encoding = {.network = network,
                                                .pack = how->pack,
                                                .texts = source,
                                                .together = how->together,
                                                .threads = how->threads,
                                                .labels = 1,
                                                .take = say,
                                                .context = &labels,
                                                .stop = how->stop,
                                                .stop_context = how->context};
  attn_status status = check(network, how, err);
  return status ? status : attn_encoder_batches_run(&encoding, err);
}
