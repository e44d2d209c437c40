#include "beam_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "layers.h"
#include "philox.h"

/* ---- Memory ---- */

attn_status attn_beam_state_init(struct attn_beam_state *s, const struct attn_search_config *config,
                                 int64_t vocab_size, int64_t sequence, int needs_log_probs,
                                 attn_error *err) {
  size_t beams = (size_t)config->num_beams;
  int samples = config->temperature > 0,
      wide = config->rule == ATTN_BEAM_RULE_HUGGING_FACE && beams > 1;
  *s = (struct attn_beam_state){.config = config,
                                .vocab_size = vocab_size,
                                .sequence = sequence,
                                .max_new_tokens = config->max_new_tokens,
                                .needs_log_probs = needs_log_probs};
  s->max_candidates = wide ? 2 * config->num_beams : config->num_beams,
  s->max_finished = wide ? config->num_beams : config->num_return_sequences;
  s->open = calloc(beams, sizeof *s->open);
  s->next_open = calloc(beams, sizeof *s->next_open);
  s->candidates = calloc((size_t)s->max_candidates, sizeof *s->candidates);
  s->nodes = calloc((size_t)config->max_new_tokens, (size_t)s->max_candidates * sizeof *s->nodes);
  s->finished = calloc((size_t)s->max_finished, sizeof *s->finished);
  s->slot_taken = calloc(beams, 1);
  if (samples) s->order = calloc((size_t)vocab_size, sizeof *s->order);
  if (samples) s->weights = calloc((size_t)vocab_size, sizeof *s->weights);
  if (samples) s->allowed = calloc((size_t)vocab_size, sizeof *s->allowed);
  if (s->open && s->next_open && s->candidates && s->nodes && s->finished && s->slot_taken &&
      (!samples || (s->order && s->weights && s->allowed)))
    return ATTN_OK;
  return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for %lld beams of %lld tokens",
                   (long long)config->num_beams, (long long)config->max_new_tokens);
}

void attn_beam_state_free(struct attn_beam_state *s) {
  free(s->open), free(s->next_open), free(s->candidates), free(s->nodes), free(s->finished);
  free(s->slot_taken), free(s->order), free(s->weights), free(s->allowed);
}

/* ---- Candidates ---- */

/* log p_v = x_v - lse, at most 0. Without log-probabilities lse is the largest logit. */
struct logits_row {
  const float *x;
  int32_t likeliest; /* token, of those that are not suppressed */
  double lse;
};

static int is_suppressed(const struct attn_search_config *config, int64_t token) {
  int found = 0;
  for (int64_t n = 0; n < config->num_suppressed; n++) found |= config->suppressed[n] == token;
  return found;
}

static int32_t likeliest_token(const struct attn_beam_state *s, const float *x, float max) {
  int64_t best = -1;
  for (int64_t v = 0; v < s->vocab_size && (best < 0 || x[best] < max); v++)
    if ((best < 0 || x[v] > x[best]) && !is_suppressed(s->config, v)) best = v;
  return (int32_t)best;
}

static attn_status summarize_logits(const struct attn_beam_state *s, struct logits_row *row,
                                    attn_error *err) {
  const struct attn_logits_summary found =
      attn_logits_summarize(row->x, s->vocab_size, s->needs_log_probs);
  if (!isfinite(found.max))
    return attn_fail(err, ATTN_ERR_ARGUMENT, "network",
                     "the logits of sequence %lld after %lld tokens are not finite",
                     (long long)s->sequence, (long long)s->num_steps);
  row->likeliest = likeliest_token(s, row->x, found.max);
  row->lse = found.log_sum_exp;
  return ATTN_OK;
}

/* Inserts by descending sum, after equals. */
static void insert_candidate(struct attn_beam_state *s, struct attn_beam_candidate c) {
  struct attn_beam_candidate *all = s->candidates;
  int64_t n = s->num_candidates;
  if (n < s->max_candidates)
    s->num_candidates++;
  else if (c.sum > all[n - 1].sum)
    n--;
  else
    return;
  for (; n > 0 && c.sum > all[n - 1].sum; n--) all[n] = all[n - 1];
  all[n] = c;
}

static void add_candidate(struct attn_beam_state *s, int64_t parent, const struct logits_row *row,
                          int64_t token) {
  double log_p = (double)row->x[token] - row->lse;
  if (log_p > -INFINITY && !is_suppressed(s->config, token)) /* else it has probability 0 */
    insert_candidate(s, (struct attn_beam_candidate){s->open[parent].sum + log_p, log_p,
                                                     (int32_t)parent, (int32_t)token});
}

/* Returns a random number in [0, 1), with 53 bits. */
static double random_uniform(const struct attn_beam_state *s) {
  const uint32_t counter[4] = {(uint32_t)s->num_steps, (uint32_t)s->sequence,
                               (uint32_t)((uint64_t)s->sequence >> 32), 0x736d706c};
  uint32_t random[4];
  attn_philox(s->config->seed, counter, random);
  return (double)((uint64_t)random[0] << 21 | random[1] >> 11) * 0x1p-53;
}

static int32_t choose_token(struct attn_beam_state *s, const struct logits_row *row) {
  if (!(s->config->temperature > 0)) return row->likeliest;
  for (int64_t v = 0; s->config->num_suppressed && v < s->vocab_size; v++)
    s->allowed[v] = is_suppressed(s->config, v) ? -INFINITY : row->x[v];
  return attn_sample_token(s->config, s->config->num_suppressed ? s->allowed : row->x,
                           s->vocab_size, random_uniform(s), s->order, s->weights);
}

/* Ends every open hypothesis with eos. */
static void force_eos(struct attn_beam_state *s) {
  for (int64_t n = 0; n < s->num_open; n++)
    insert_candidate(s,
                     (struct attn_beam_candidate){s->open[n].sum, 0, (int32_t)n, s->config->eos});
}

attn_status attn_beam_state_select(struct attn_beam_state *s, const float *logits,
                                   attn_error *err) {
  s->num_candidates = 0;
  if (s->config->force_eos && s->num_steps + 1 == s->max_new_tokens) return force_eos(s), ATTN_OK;
  for (int64_t n = 0; n < s->num_open; n++) {
    struct logits_row row = {.x = logits + n * s->vocab_size};
    attn_status status = summarize_logits(s, &row, err);
    if (status) return status;
    if (s->config->num_beams == 1)
      add_candidate(s, n, &row, choose_token(s, &row));
    else
      for (int64_t v = 0; v < s->vocab_size; v++) add_candidate(s, n, &row, v);
  }
  return ATTN_OK;
}

/* ---- Open and finished hypotheses ---- */

/* [Wu16 eq. 14], or that of transformers' generate(). */
static double length_penalty(const struct attn_search_config *config, int64_t steps) {
  if (config->rule == ATTN_BEAM_RULE_HUGGING_FACE)
    return pow((double)steps, config->length_penalty);
  return pow((5 + (double)steps) / 6, config->length_penalty);
}

static void finish(struct attn_beam_state *s, double sum, int32_t node, int ends_with_eos) {
  const struct attn_finished_hypothesis f = {sum / length_penalty(s->config, s->num_steps),
                                             s->num_steps, node, ends_with_eos};
  int64_t n = s->num_finished;
  if (n < s->max_finished)
    s->num_finished++;
  else if (f.score > s->finished[n - 1].score)
    n--;
  else
    return;
  for (; n > 0 && f.score > s->finished[n - 1].score; n--) s->finished[n] = s->finished[n - 1];
  s->finished[n] = f;
}

/* Whether no open hypothesis can still rank among the best. Sums only decrease, and the penalty is
 * largest at the maximum length; the margin covers the rounding of pow. transformers' generate()
 * compares at the current length instead. */
static int is_done(const struct attn_beam_state *s) {
  if (s->num_finished < s->max_finished) return 0;
  if (s->config->rule == ATTN_BEAM_RULE_HUGGING_FACE)
    return s->config->early_stopping || s->open[0].sum / length_penalty(s->config, s->num_steps) <=
                                            s->finished[s->max_finished - 1].score;
  double max_penalty = length_penalty(s->config, s->max_new_tokens) * (1 + 0x1p-50);
  return s->open[0].sum / max_penalty <= s->finished[s->config->num_return_sequences - 1].score;
}

/* The first child of a hypothesis keeps its slot; the others fork it into free slots. */
static attn_status assign_slots(struct attn_beam_state *s, struct attn_decoder *d, int64_t first,
                                int64_t stride, attn_error *err) {
  attn_status status = ATTN_OK;
  int64_t spare = 0;
  memset(s->slot_taken, 0, (size_t)s->config->num_beams);
  for (int64_t n = 0; n < s->num_open; n++) {
    int64_t slot = s->open[s->next_open[n].parent].slot;
    s->next_open[n].slot = s->slot_taken[slot] ? -1 : slot;
    s->slot_taken[slot] = 1;
  }
  for (int64_t n = 0; n < s->num_open && !status; n++) {
    if (s->next_open[n].slot >= 0) continue;
    while (s->slot_taken[spare]) spare++;
    s->slot_taken[spare] = 1, s->next_open[n].slot = spare;
    status = attn_decoder_fork(d, first + s->open[s->next_open[n].parent].slot * stride,
                               first + spare * stride, err);
  }
  return status;
}

attn_status attn_beam_state_advance(struct attn_beam_state *s, struct attn_decoder *d,
                                    int64_t first, int64_t stride, attn_error *err) {
  struct attn_beam_node *nodes = s->nodes + s->num_steps++ * s->max_candidates;
  s->num_open = 0;
  for (int64_t n = 0; n < s->num_candidates; n++) {
    struct attn_beam_candidate c = s->candidates[n];
    int ends_with_eos = c.token == s->config->eos;
    nodes[n] = (struct attn_beam_node){(float)c.log_p, s->open[c.parent].node, c.token};
    if (!ends_with_eos && s->num_steps < s->max_new_tokens) {
      if (s->num_open < s->config->num_beams)
        s->next_open[s->num_open++] =
            (struct attn_hypothesis){c.sum, -1, c.parent, c.token, (int32_t)n};
    } else if (n < s->config->num_beams) {
      finish(s, c.sum, (int32_t)n, ends_with_eos);
    }
  }
  attn_status status = assign_slots(s, d, first, stride, err);
  struct attn_hypothesis *previous = s->open;
  s->open = s->next_open, s->next_open = previous;
  if (s->num_open && is_done(s)) s->num_open = 0;
  return status;
}

/* ---- Results ---- */

struct attn_search_results attn_search_results_at(const struct attn_search_results *f,
                                                  const struct attn_search_config *config,
                                                  int64_t sequence) {
  int64_t at = sequence * config->num_return_sequences, wide = at * config->max_new_tokens;
  return (struct attn_search_results){.tokens = f->tokens ? f->tokens + wide : NULL,
                                      .token_counts = f->token_counts ? f->token_counts + at : NULL,
                                      .finished = f->finished ? f->finished + at : NULL,
                                      .scores = f->scores ? f->scores + at : NULL,
                                      .log_probs = f->log_probs ? f->log_probs + wide : NULL};
}

static void write_tokens(const struct attn_beam_state *s, const struct attn_finished_hypothesis *f,
                         int32_t *tokens, float *log_probs) {
  int32_t node = f->node;
  for (int64_t step = f->num_steps - 1; step >= 0; step--) {
    const struct attn_beam_node *at = &s->nodes[step * s->max_candidates + node];
    if (tokens && step < f->num_steps - f->ends_with_eos) tokens[step] = at->token;
    if (log_probs) log_probs[step] = at->log_p;
    node = at->parent_node;
  }
}

void attn_beam_state_write(const struct attn_beam_state *s,
                           const struct attn_search_results *results) {
  for (int64_t n = 0; n < s->config->num_return_sequences; n++) {
    const struct attn_finished_hypothesis *f = &s->finished[n];
    int64_t at = n * s->config->max_new_tokens;
    int exists = n < s->num_finished;
    if (results->token_counts)
      results->token_counts[n] = exists ? f->num_steps - f->ends_with_eos : -1;
    if (results->finished) results->finished[n] = exists && f->ends_with_eos;
    if (results->scores) results->scores[n] = exists ? f->score : -INFINITY;
    if (exists)
      write_tokens(s, f, results->tokens ? results->tokens + at : NULL,
                   results->log_probs ? results->log_probs + at : NULL);
  }
}
