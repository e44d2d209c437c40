/* beam_state.h -- the beam search of one source: open and finished hypotheses. */
#ifndef ATTN_MODEL_BEAM_STATE_H
#define ATTN_MODEL_BEAM_STATE_H

#include "decoder.h"
#include "token_search.h"

/* An open hypothesis: it has not ended. */
struct attn_hypothesis {
  double sum;          /* of its tokens' log-probabilities */
  int64_t slot;        /* of the decoder, below num_beams */
  int32_t parent;      /* index among the open hypotheses of the step before */
  int32_t token, node; /* the last token, and its node in that step */
};

/* A continuation of an open hypothesis. */
struct attn_beam_candidate {
  double sum, log_p;
  int32_t parent, token; /* parent: index of the open hypothesis */
};

/* A token of a step, linked to the token before it: a hypothesis is a path of nodes. */
struct attn_beam_node {
  float log_p;
  int32_t parent_node, token;
};

struct attn_finished_hypothesis {
  double score;
  int64_t num_steps; /* tokens, including eos */
  int32_t node;      /* of the last step */
  int ends_with_eos; /* else it was cut */
};

struct attn_beam_state {
  const struct attn_search_config *config; /* without defaults left to fill in */
  int64_t vocab_size, sequence;
  int64_t max_new_tokens; /* config's, or less if the source leaves less */
  int64_t max_candidates, max_finished;
  int needs_log_probs; /* else only the most likely token */
  int64_t num_steps, num_open, num_finished, num_candidates;
  struct attn_hypothesis *open, *next_open;  /* (num_beams), by descending sum */
  struct attn_beam_candidate *candidates;    /* (max_candidates), by descending sum */
  struct attn_beam_node *nodes;              /* (max_new_tokens, max_candidates) */
  struct attn_finished_hypothesis *finished; /* (max_finished), by descending score */
  unsigned char *slot_taken;                 /* (num_beams) */
  int32_t *order;                            /* (vocab_size) scratch for sampling, as weights */
  double *weights;
  float *allowed; /* (vocab_size) logits without suppressed tokens, for sampling */
};

attn_status attn_beam_state_init(struct attn_beam_state *state,
                                 const struct attn_search_config *config, int64_t vocab_size,
                                 int64_t sequence, int needs_log_probs, attn_error *err);
void attn_beam_state_free(struct attn_beam_state *state);

/* Selects the candidates of a step from its logits (num_open, vocab_size). */
attn_status attn_beam_state_select(struct attn_beam_state *state, const float *logits,
                                   attn_error *err);

/* Turns the candidates into open and finished hypotheses. Slot n of the state is slot
 * first + n stride of the decoder, which may be NULL with one beam. */
attn_status attn_beam_state_advance(struct attn_beam_state *state, struct attn_decoder *decoder,
                                    int64_t first, int64_t stride, attn_error *err);

/* The part of the results that belongs to one sequence. */
struct attn_search_results attn_search_results_at(const struct attn_search_results *results,
                                                  const struct attn_search_config *config,
                                                  int64_t sequence);

/* Writes the results of one sequence. */
void attn_beam_state_write(const struct attn_beam_state *state,
                           const struct attn_search_results *results);

/* Samples a token with u, uniform in [0, 1) (sample.c). order, weights (vocab_size): scratch. The
 * largest logit is finite, and no logit is NaN. */
int32_t attn_sample_token(const struct attn_search_config *config, const float *logits,
                          int64_t vocab_size, double u, int32_t *order, double *weights);

#endif
