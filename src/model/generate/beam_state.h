/* beam.h -- the search for one source: what is open, what is finished, how both go on. */
#ifndef ATTN_MODEL_BEAM_STATE_H
#define ATTN_MODEL_BEAM_STATE_H

#include "decoder.h"
#include "token_search.h"

/* A hypothesis that has not ended. */
struct attn_hypothesis {
  double sum;          /* of its tokens' log-probabilities */
  int64_t slot;        /* below beams */
  int32_t parent;      /* which of the open ones it was before its last token */
  int32_t token, node; /* the last token, and which of its step's nodes that is */
};

/* A continuation. */
struct attn_beam_candidate {
  double sum, log_p;
  int32_t parent, token; /* parent: which of the open ones */
};

/* What was said at a step, and which of the step before's nodes it was said behind. */
struct attn_beam_node {
  float log_p;
  int32_t before, token;
};

struct attn_finished_hypothesis {
  double score;
  int64_t steps; /* tokens said, the end among them */
  int32_t node;  /* of the last step */
  int ended;
};

/* One source's search. how is complete: no 0 stands for a default. */
struct attn_beam_state {
  const struct attn_search_config *how;
  int64_t words, sequence, most; /* most: how's, or what the source leaves of it */
  int64_t room, keeps;           /* candidates, finished ones */
  int weighs;                    /* log-probabilities are wanted, not the likeliest alone */
  int64_t open, said, finished, count;
  struct attn_hypothesis *now, *next;     /* (beams): by falling sum */
  struct attn_beam_candidate *candidates; /* (room): count of them, by falling sum */
  struct attn_beam_node *nodes;           /* (most, room) */
  struct attn_finished_hypothesis *best;  /* (keeps): by falling score */
  unsigned char *taken;                   /* (beams): slots */
  int32_t *order;                         /* (words), as weights: to draw from */
  double *weights;
  float *allowed; /* (words): to draw from where some are never said */
};

attn_status attn_beam_state_init(struct attn_beam_state *line, const struct attn_search_config *how,
                                 int64_t words, int64_t sequence, int weighs, attn_error *err);
void attn_beam_state_free(struct attn_beam_state *line);

/* The candidates after a step that gave these logits (open, words). */
attn_status attn_beam_state_select(struct attn_beam_state *line, const float *logits,
                                   attn_error *err);

/* Makes them what is open and what is finished. Slot n of the line is slot first + n stride of the
 * decoder; NULL will do where there is one beam. */
attn_status attn_beam_state_advance(struct attn_beam_state *line, struct attn_decoder *decoder,
                                    int64_t first, int64_t stride, attn_error *err);

/* The part of what was found that is this sequence's; how is complete. */
struct attn_search_results attn_search_results_of(const struct attn_search_results *found,
                                                  const struct attn_search_config *how,
                                                  int64_t sequence);

/* found is of this line alone. */
void attn_beam_state_write(const struct attn_beam_state *line,
                           const struct attn_search_results *found);

/* A token drawn with u, uniform in [0, 1), as how says; sample.c. order and weights (words) are
 * scratch. The largest logit is finite, none is NaN. */
int32_t attn_sample_token(const struct attn_search_config *how, const float *logits, int64_t words,
                          double u, int32_t *order, double *weights);

#endif
