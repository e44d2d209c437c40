/* token_search.h -- greedy search, beam search and sampling over a decoder; label prediction over
 * an encoder. */
#ifndef ATTN_MODEL_TOKEN_SEARCH_H
#define ATTN_MODEL_TOKEN_SEARCH_H

#include "transformer.h"

enum { ATTN_NUM_BEAMS_MAX = 1 << 12 };

/* When a beam search ends, and how it scores. */
enum attn_beam_rule {
  /* Keeps num_return_sequences finished hypotheses; one that finishes leaves its beam empty. Ends
   * when no open hypothesis can rank among them [Wu16]. */
  ATTN_BEAM_RULE_WU,
  /* generate() of Hugging Face's transformers: considers 2 num_beams continuations, so that all
   * beams stay open; those among the first num_beams that end are finished, and the num_beams best
   * are kept. score = log p / n^length_penalty. Ends when num_beams are finished and the best open
   * hypothesis scores no higher at its present length, or at once with early_stopping. */
  ATTN_BEAM_RULE_HUGGING_FACE
};

/* Options of a search. 0 is the default where one is given. */
struct attn_search_config {
  int64_t max_new_tokens; /* including eos; at least 1. A decoder also ends at its last position */
  int32_t bos, eos;       /* the decoder's first input, and the token that ends; -1: none */
  /* Of an encoder-decoder: how the target of each source begins, after bos; it is read, not
   * generated. A recurrent decoder reads one token at most, with bos. NULL: all are empty. */
  const struct attn_token_batch *prefixes;
  /* At each step the num_beams most likely continuations of all open hypotheses are kept, those
   * that end with eos are finished. 0, 1: greedy. Ties: the higher ranked hypothesis first, then
   * the smaller token. */
  int64_t num_beams;
  /* Hypotheses returned per source, by descending score, ties in the order they were found; at most
   * num_beams. 0 is 1. score = log p / ((5 + n) / 6)^length_penalty [Wu16 eq. 14], n the number of
   * tokens including eos. length_penalty: 0 .. 10. */
  int64_t num_return_sequences;
  double length_penalty; /* with ATTN_BEAM_RULE_HUGGING_FACE -10 .. 10 */
  enum attn_beam_rule rule;
  int early_stopping;
  int force_eos;             /* the token at the maximum length is eos, with log-probability 0 */
  int64_t max_length;        /* of the decoder: tokens read and generated; 0: no limit */
  const int32_t *suppressed; /* tokens never generated; their probabilities still count */
  int64_t num_suppressed;
  /* Above 0: samples from softmax(logits / temperature), with one beam. top_k: only the k most
   * likely tokens [Fan18], 0: all. top_p: of these the fewest, most likely first, whose
   * renormalized probabilities reach top_p [Holtzman20]; 0 is 1: all. Ties: the smaller token is
   * the likelier. */
  double temperature, top_p;
  int64_t top_k;
  uint64_t seed;          /* a sample is a function of the seed, the sequence and the step */
  int64_t first_sequence; /* index of the first sequence, if they are part of a larger batch */
  int64_t batch_size;     /* sources that share each matrix product; 0 is 1. Faster, but products of
                           * another size round differently: the batch changes the last bits */
  int32_t threads;        /* 0: all */
  const struct attn_packed_weights *pack; /* the network's, or NULL */
  /* NULL, or called after steps, by one thread at a time, with the sequences done and in all;
   * nonzero stops with ATTN_ERR_INTERRUPTED. */
  int (*progress)(void *context, int64_t done, int64_t of);
  void *context;
};

/* Output arrays of the caller; NULL if not requested. N sequences, R = num_return_sequences,
 * M = max_new_tokens. */
struct attn_search_results {
  int32_t *tokens;         /* (N, R, M) without eos */
  int64_t *token_counts;   /* (N, R) without eos; -1: no hypothesis */
  unsigned char *finished; /* (N, R) 1: ends with eos */
  double *scores;          /* (N, R) */
  float *log_probs; /* (N, R, M) of each token, eos included, by the model at temperature 1 */
};

/* Generates from each source: an encoder-decoder the target, a decoder the continuation (the source
 * may be empty if there is a bos), an encoder the most likely token at each position up to the
 * first eos (one beam, no sampling, bos is not read). source->position_ids are not read. Invalid
 * arguments leave results unchanged; other errors leave them partly written.
 *
 * Memory  per thread: the KV caches of batch_size sources, 16 num_beams max_new_tokens bytes each
 * Cost    per step: the decoder's for num_beams tokens, V log-probabilities of each unless greedy
 *         search without scores, and a selection linear in V
 * Errors  ATTN_ERR_ARGUMENT (also for logits that are not finite), ATTN_ERR_MEMORY,
 *         ATTN_ERR_INTERRUPTED */
attn_status attn_search_run(const struct attn_network *network,
                            const struct attn_token_batch *source,
                            const struct attn_search_config *config,
                            const struct attn_search_results *results, attn_error *err);

#endif
