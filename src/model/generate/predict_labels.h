/* predict_labels.h -- an encoder's predictions: one token for each position of its source. */
#ifndef ATTN_MODEL_PREDICT_LABELS_H
#define ATTN_MODEL_PREDICT_LABELS_H

#include "token_search.h"

/* attn_search_run for an encoder, which has checked source and config: the most likely token at
 * each position, up to the first eos, or max_new_tokens. Log-probabilities and scores are those of
 * a search with one beam.
 *
 * Cost    one encoder pass over the source; memory for the logits of a batch per thread
 * Errors  also ATTN_ERR_ARGUMENT: several beams, sampling, a network without an output head */
attn_status attn_predict_labels(const struct attn_network *network,
                                const struct attn_token_batch *source,
                                const struct attn_search_config *config,
                                const struct attn_search_results *results, attn_error *err);

#endif
