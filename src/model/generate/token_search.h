/* token_search.h -- what a model says: the likeliest at each step, the best by beam search, or
 * drawn.
 *
 * A source is worked on by one thread, by itself: what is said of it is the same, bit for bit,
 * whatever else is asked for and however many threads there are. References: [Wu16] arXiv
 * 1609.08144, [Holtzman20] arXiv 1904.09751, [Fan18] arXiv 1805.04833. */
#ifndef ATTN_MODEL_TOKEN_SEARCH_H
#define ATTN_MODEL_TOKEN_SEARCH_H

#include "transformer.h"

enum { ATTN_NUM_BEAMS_MAX = 1 << 12 };

/* When a beam search ends and what it scores. */
enum attn_beam_rule {
  ATTN_BEAM_RULE_WU, /* n_best finished are kept, and what ends leaves its beam empty; it ends when
                      * no open one can come among them [Wu16] */
  /* generate() of Hugging Face's transformers: twice as many continuations are looked at, so that
   * all beams stay open; those that end among the first `beams` are finished, and as many of the
   * best are kept; score = log p / n^length_penalty. It ends when so many are finished and the best
   * open one scores no higher at its present length, or with `early` at once. */
  ATTN_BEAM_RULE_HUGGING_FACE
};

/* How to search. 0 is a default where one is named. */
struct attn_search_config {
  int64_t most;       /* tokens said at most, the end among them; at least 1. Of a decoder alone no
                       * more than there are positions behind what it goes on from */
  int32_t begin, end; /* read before all else, -1: nothing; ends what is said, -1: nothing does */
  /* Of all continuations of what is open at a step, the end among them, so many of the likeliest
   * are kept; those that end are finished. 0, 1: greedy. Of equals the first are kept: of the
   * hypothesis that stood higher, then the smaller token. */
  int64_t beams;
  /* Hypotheses of a source that are handed out, by falling score, of equals the one that was found
   * first; at most beams. 0 is 1. score = log p / ((5 + n) / 6)^length_penalty [Wu16 eq. 14], n
   * the tokens said and the end where it was said; what was cut at `most` has no end. 0 .. 10. */
  int64_t n_best;
  double length_penalty; /* of ATTN_BEAM_RULE_HUGGING_FACE -10 .. 10 */
  enum attn_beam_rule rule;
  int early;
  /* The last token that there is room for is the end, of log-probability 0. */
  int forced_end;
  int64_t longest;      /* tokens at most, with those that a decoder reads before; 0: any number */
  const int32_t *never; /* tokens that are never said, though their probabilities count */
  int64_t nevers;
  /* Above 0 a token is drawn from softmax(logits / temperature), with one beam. Of the top_k
   * likeliest [Fan18], 0: all; of these from the fewest of the likeliest whose probabilities,
   * which then are of top_k's, reach top_p [Holtzman20], 0 is 1: all. Of equals the smaller token
   * is the likelier. */
  double temperature, top_p;
  int64_t top_k;
  uint64_t seed;          /* a draw is a function of the seed, the sequence and the step */
  int64_t first_sequence; /* the number of the first, where these are a part of more */
  int64_t together;       /* 0 is 1. So many sources share each product: faster, but products of
                           * other sizes round otherwise, so that neighbours change the last bits */
  int32_t threads;        /* 0: all */
  const struct attn_packed_weights *pack; /* of the network; NULL: its weights as they stand */
  /* NULL, or called after steps, by one thread at a time, with the sequences done and in all; not 0
   * stops with ATTN_ERR_INTERRUPTED. */
  int (*stop)(void *context, int64_t done, int64_t of);
  void *context;
};

/* What was found, in the caller's memory; NULL where not wanted. N sequences, n_best, most. */
struct attn_search_results {
  int32_t *tokens;          /* (N, n_best, most): without the end */
  int64_t *counts;          /* (N, n_best): tokens said without the end; -1: there was no more */
  unsigned char *ended;     /* (N, n_best): 1, or 0 where it was cut */
  double *scores;           /* (N, n_best) */
  float *log_probabilities; /* (N, n_best, most): of each token by the model itself, whatever the
                             * temperature, the end's behind the last's */
};

/* What the model says to each source, or of a model without an encoder: how each goes on, which may
 * be empty behind a begin. An encoder alone says at each place of the source the likeliest token,
 * up to the first end: one beam, nothing drawn, begin is not read (label.h). source->places are not
 * read. On bad arguments nothing is touched; else, on failure, found is partly written.
 *
 * Memory  a thread: caches of `together` sources, 16 beams most bytes each
 * Cost    a step: the model's of `beams` tokens, V log-probabilities of each where more than the
 *         likeliest token is asked for, and a choice that is linear in V but for what it keeps
 * Errors  ATTN_ERR_ARGUMENT (also for logits that are no numbers), ATTN_ERR_MEMORY,
 *         ATTN_ERR_INTERRUPTED */
attn_status attn_search_run(const struct attn_network *network,
                            const struct attn_token_batch *source,
                            const struct attn_search_config *how,
                            const struct attn_search_results *found, attn_error *err);

#endif
