#include "beam_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "philox.h"

/* ---- Room ---- */

attn_status attn_beam_state_init(struct attn_beam_state *l, const struct attn_search_config *how,
                                 int64_t words, int64_t sequence, int weighs, attn_error *err) {
  size_t beams = (size_t)how->beams;
  int draws = how->temperature > 0, wide = how->rule == ATTN_BEAM_RULE_HUGGING_FACE && beams > 1;
  *l = (struct attn_beam_state){
      .how = how, .words = words, .sequence = sequence, .most = how->most, .weighs = weighs};
  l->room = wide ? 2 * how->beams : how->beams, l->keeps = wide ? how->beams : how->n_best;
  l->now = calloc(beams, sizeof *l->now);
  l->next = calloc(beams, sizeof *l->next);
  l->candidates = calloc((size_t)l->room, sizeof *l->candidates);
  l->nodes = calloc((size_t)how->most, (size_t)l->room * sizeof *l->nodes);
  l->best = calloc((size_t)l->keeps, sizeof *l->best);
  l->taken = calloc(beams, 1);
  if (draws) l->order = calloc((size_t)words, sizeof *l->order);
  if (draws) l->weights = calloc((size_t)words, sizeof *l->weights);
  if (draws) l->allowed = calloc((size_t)words, sizeof *l->allowed);
  if (l->now && l->next && l->candidates && l->nodes && l->best && l->taken &&
      (!draws || (l->order && l->weights && l->allowed)))
    return ATTN_OK;
  return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for %lld beams of %lld tokens",
                   (long long)how->beams, (long long)how->most);
}

void attn_beam_state_free(struct attn_beam_state *l) {
  free(l->now), free(l->next), free(l->candidates), free(l->nodes), free(l->best);
  free(l->taken), free(l->order), free(l->weights), free(l->allowed);
}

/* ---- Candidates ---- */

/* What a row of logits says. log p_v = x_v - lse, never above 0; where the likeliest alone is asked
 * for lse is its logit. */
struct row {
  const float *x;
  int32_t likeliest;
  double lse;
};

static int is_never(const struct attn_search_config *how, int64_t token) {
  int never = 0;
  for (int64_t n = 0; n < how->nevers; n++) never |= how->never[n] == token;
  return never;
}

static attn_status measure(const struct attn_beam_state *l, struct row *row, attn_error *err) {
  const float *x = row->x;
  int64_t top = 0, best = -1;
  int numbers = 1;
  double sum = 0;
  for (int64_t v = 0; v < l->words; v++) {
    numbers &= !isnan(x[v]);
    if (x[v] > x[top]) top = v;
    if ((best < 0 || x[v] > x[best]) && !is_never(l->how, v)) best = v;
  }
  if (!numbers || isinf(x[top]))
    return attn_fail(err, ATTN_ERR_ARGUMENT, "network",
                     "the logits of sequence %lld behind its %lld tokens are not finite numbers",
                     (long long)l->sequence, (long long)l->said);
  for (int64_t v = 0; l->weighs && v < l->words; v++) sum += (double)expf(x[v] - x[top]);
  row->likeliest = (int32_t)best;
  row->lse = (double)x[top] + (l->weighs ? log(sum) : 0);
  return ATTN_OK;
}

/* Among the likeliest, behind its equals. */
static void keep(struct attn_beam_state *l, struct attn_beam_candidate c) {
  struct attn_beam_candidate *all = l->candidates;
  int64_t n = l->count;
  if (n < l->room)
    l->count++;
  else if (c.sum > all[n - 1].sum)
    n--;
  else
    return;
  for (; n > 0 && c.sum > all[n - 1].sum; n--) all[n] = all[n - 1];
  all[n] = c;
}

static void keep_token(struct attn_beam_state *l, int64_t parent, const struct row *row,
                       int64_t token) {
  double log_p = (double)row->x[token] - row->lse;
  if (log_p > -INFINITY && !is_never(l->how, token)) /* else it is impossible */
    keep(l, (struct attn_beam_candidate){l->now[parent].sum + log_p, log_p, (int32_t)parent,
                                         (int32_t)token});
}

/* Uniform in [0, 1), by 53 bits. */
static double draw(const struct attn_beam_state *l) {
  const uint32_t counter[4] = {(uint32_t)l->said, (uint32_t)l->sequence,
                               (uint32_t)((uint64_t)l->sequence >> 32), 0x736d706c};
  uint32_t random[4];
  attn_philox(l->how->seed, counter, random);
  return (double)((uint64_t)random[0] << 21 | random[1] >> 11) * 0x1p-53;
}

static int32_t choose_one(struct attn_beam_state *l, const struct row *row) {
  if (!(l->how->temperature > 0)) return row->likeliest;
  for (int64_t v = 0; l->how->nevers && v < l->words; v++)
    l->allowed[v] = is_never(l->how, v) ? -INFINITY : row->x[v];
  return attn_sample_token(l->how, l->how->nevers ? l->allowed : row->x, l->words, draw(l),
                           l->order, l->weights);
}

/* Every open one ends here. */
static void force_end(struct attn_beam_state *l) {
  for (int64_t n = 0; n < l->open; n++)
    keep(l, (struct attn_beam_candidate){l->now[n].sum, 0, (int32_t)n, l->how->end});
}

attn_status attn_beam_state_select(struct attn_beam_state *l, const float *logits,
                                   attn_error *err) {
  l->count = 0;
  if (l->how->forced_end && l->said + 1 == l->most) return force_end(l), ATTN_OK;
  for (int64_t n = 0; n < l->open; n++) {
    struct row row = {.x = logits + n * l->words};
    attn_status status = measure(l, &row, err);
    if (status) return status;
    if (l->how->beams == 1)
      keep_token(l, n, &row, choose_one(l, &row));
    else
      for (int64_t v = 0; v < l->words; v++) keep_token(l, n, &row, v);
  }
  return ATTN_OK;
}

/* ---- What becomes of them ---- */

/* [Wu16 eq. 14] */
static double length_penalty(const struct attn_search_config *how, int64_t steps) {
  if (how->rule == ATTN_BEAM_RULE_HUGGING_FACE) return pow((double)steps, how->length_penalty);
  return pow((5 + (double)steps) / 6, how->length_penalty);
}

static void finish(struct attn_beam_state *l, double sum, int32_t node, int ended) {
  const struct attn_finished_hypothesis f = {sum / length_penalty(l->how, l->said), l->said, node,
                                             ended};
  int64_t n = l->finished;
  if (n < l->keeps)
    l->finished++;
  else if (f.score > l->best[n - 1].score)
    n--;
  else
    return;
  for (; n > 0 && f.score > l->best[n - 1].score; n--) l->best[n] = l->best[n - 1];
  l->best[n] = f;
}

/* Can what is open still come among the best? Sums only fall and the penalty is largest at the end;
 * a step or two of pow's rounding are left to it. */
static int is_decided(const struct attn_beam_state *l) {
  if (l->finished < l->keeps) return 0;
  if (l->how->rule == ATTN_BEAM_RULE_HUGGING_FACE)
    return l->how->early ||
           l->now[0].sum / length_penalty(l->how, l->said) <= l->best[l->keeps - 1].score;
  double most = length_penalty(l->how, l->most) * (1 + 0x1p-50);
  return l->now[0].sum / most <= l->best[l->how->n_best - 1].score;
}

/* The first child of a hypothesis takes its slot; the others get copies in slots that no hypothesis
 * needs any more. */
static attn_status give_slots(struct attn_beam_state *l, struct attn_decoder *d, int64_t first,
                              int64_t stride, attn_error *err) {
  attn_status status = ATTN_OK;
  int64_t spare = 0;
  memset(l->taken, 0, (size_t)l->how->beams);
  for (int64_t n = 0; n < l->open; n++) {
    int64_t slot = l->now[l->next[n].parent].slot;
    l->next[n].slot = l->taken[slot] ? -1 : slot;
    l->taken[slot] = 1;
  }
  for (int64_t n = 0; n < l->open && !status; n++) {
    if (l->next[n].slot >= 0) continue;
    while (l->taken[spare]) spare++;
    l->taken[spare] = 1, l->next[n].slot = spare;
    status = attn_decoder_fork(d, first + l->now[l->next[n].parent].slot * stride,
                               first + spare * stride, err);
  }
  return status;
}

static void open_one(struct attn_beam_state *l, struct attn_beam_candidate c, int32_t node) {
  l->next[l->open++] = (struct attn_hypothesis){c.sum, -1, c.parent, c.token, node};
}

attn_status attn_beam_state_advance(struct attn_beam_state *l, struct attn_decoder *d,
                                    int64_t first, int64_t stride, attn_error *err) {
  struct attn_beam_node *nodes = l->nodes + l->said++ * l->room;
  l->open = 0;
  for (int64_t n = 0; n < l->count; n++) {
    struct attn_beam_candidate c = l->candidates[n];
    int ended = c.token == l->how->end;
    nodes[n] = (struct attn_beam_node){(float)c.log_p, l->now[c.parent].node, c.token};
    if (!ended && l->said < l->most) {
      if (l->open < l->how->beams) open_one(l, c, (int32_t)n);
    } else if (n < l->how->beams) {
      finish(l, c.sum, (int32_t)n, ended);
    }
  }
  attn_status status = give_slots(l, d, first, stride, err);
  struct attn_hypothesis *before = l->now;
  l->now = l->next, l->next = before;
  if (l->open && is_decided(l)) l->open = 0;
  return status;
}

/* ---- What is handed out ---- */

struct attn_search_results attn_search_results_of(const struct attn_search_results *f,
                                                  const struct attn_search_config *how,
                                                  int64_t sequence) {
  int64_t at = sequence * how->n_best, wide = at * how->most;
  return (struct attn_search_results){
      .tokens = f->tokens ? f->tokens + wide : NULL,
      .counts = f->counts ? f->counts + at : NULL,
      .ended = f->ended ? f->ended + at : NULL,
      .scores = f->scores ? f->scores + at : NULL,
      .log_probabilities = f->log_probabilities ? f->log_probabilities + wide : NULL};
}

static void write_tokens(const struct attn_beam_state *l, const struct attn_finished_hypothesis *f,
                         int32_t *tokens, float *log_probabilities) {
  int32_t node = f->node;
  for (int64_t step = f->steps - 1; step >= 0; step--) {
    const struct attn_beam_node *at = &l->nodes[step * l->room + node];
    if (tokens && step < f->steps - f->ended) tokens[step] = at->token;
    if (log_probabilities) log_probabilities[step] = at->log_p;
    node = at->before;
  }
}

void attn_beam_state_write(const struct attn_beam_state *l,
                           const struct attn_search_results *found) {
  for (int64_t n = 0; n < l->how->n_best; n++) {
    const struct attn_finished_hypothesis *f = &l->best[n];
    int64_t at = n * l->how->most;
    int is = n < l->finished;
    if (found->counts) found->counts[n] = is ? f->steps - f->ended : -1;
    if (found->ended) found->ended[n] = is && f->ended;
    if (found->scores) found->scores[n] = is ? f->score : -INFINITY;
    if (is)
      write_tokens(l, f, found->tokens ? found->tokens + at : NULL,
                   found->log_probabilities ? found->log_probabilities + at : NULL);
  }
}
