/* label.h -- what an encoder alone says: a token at each place of its source, all at once. */
#ifndef ATTN_MODEL_PREDICT_LABELS_H
#define ATTN_MODEL_PREDICT_LABELS_H

#include "token_search.h"

/* attn_search_run's part for an encoder alone, which checks source and how, and completes how: at
 * each place the likeliest token, up to the first END. Without one, every place says something, or
 * as many as `most`. Log-probabilities and scores are as of a search with one beam.
 *
 * Cost    each token of the source once through the encoder; memory for a group's logits a thread
 * Errors  also ATTN_ERR_ARGUMENT: beams, a temperature, a network that ends in hidden vectors */
attn_status attn_predict_labels(const struct attn_network *network,
                                const struct attn_token_batch *source,
                                const struct attn_search_config *how,
                                const struct attn_search_results *found, attn_error *err);

#endif
