/* expand.c -- the ways in which a block may be read after a state, each with its bits. */
#include <math.h>
#include <string.h>

#include "role_search.h"

/* The constants of the score, in bits. */
static const struct {
  double reading;    /* each reading but the likely one */
  double contrary;   /* of the bits of the best named role: it is another */
  double disorder;   /* a result after what it should come before */
  double worst;      /* a relation that explains less is not considered */
  double masked;     /* of the cells: a mask that nothing mentions explains so many */
  double hidden;     /* the same of a mask that is mentioned: half of the weights are 0 */
  double own;        /* a role has its own name, and nothing else */
  double clear;      /* a name next to which hints of other roles count little */
  double faint;      /* of the bits of the best named role: a hint that counts little */
  double hinted;     /* a role is hinted at from here on */
  double unscaled;   /* scaled scores, where the text denies that they are scaled */
  double formula;    /* scores below the formula of scaled ones */
  double called;     /* own names of a result and of its operands state the relation: at
                        least so many bits */
  double next_query; /* queries are shown one after the other */
  double late;       /* exponentials that nothing calls so, after the weights */
  double rescaled;   /* its scores are divided by another number than in the row before */
  double split;      /* heads were projected together */
  double unread_named, unread_hinted; /* of the bits of that role: the block is not read */
} PRICE = {
    .reading = 1,
    .contrary = .8,
    .disorder = 2,
    .worst = -25,
    .masked = .8,
    .hidden = .2,
    .own = 5.9,
    .clear = 8.5,
    .faint = .2,
    .hinted = 5,
    .unscaled = 8,
    .formula = 12,
    .called = -4,
    .next_query = 1,
    .late = 20,
    .rescaled = 3,
    .split = 3,
    .unread_named = 1,
    .unread_hinted = .6,
};

/* Work, in about nanoseconds. */
static const double LIST = 100, RELATION = 50, NODE = 500, CELL = 60, MULTIPLICATION = 8;

/* ---- States and options ---- */

void attn_state_start(struct attn_state *state) {
  memset(state, 0, sizeof *state);
  state->heads = 1;
  state->shared.row = state->section = -1;
  for (int h = 0; h < ATTN_HEADS_MAX; h++) state->head[h].row = -1;
}

/* Of the queries, and what follows from them. */
static int is_of_row(int role) {
  return role == ATTN_ROLE_Q || role == ATTN_ROLE_W_A_Q || role == ATTN_ROLE_TANH_INPUT ||
         role == ATTN_ROLE_TANH || attn_role_is_of_scores(role) || role == ATTN_ROLE_OUTPUT;
}

void attn_roles_finish_row(struct attn_roles *head, int role) {
  head->done |= 1u << head->row;
  head->row = -1;
  for (int r = 0; r < ATTN_ROLES; r++)
    if (is_of_row(r) && attn_role_order(r) >= attn_role_order(role)) head->at[r] = NULL;
}

int attn_any_head_has(const struct attn_state *s, int role) {
  for (int h = 0; h < s->heads; h++)
    if (s->head[h].at[role]) return 1;
  return 0;
}

int attn_is_free(const struct attn_state *s, int head, int role) {
  return attn_role_is_shared(role) ? !s->shared.at[role] : !s->head[head].at[role];
}

static double progress(const struct attn_roles *roles) {
  double most = 0;
  for (int r = 0; r < ATTN_ROLES; r++)
    if (roles->at[r]) most = fmax(most, attn_role_order(r));
  return most;
}

static void set_state(struct attn_expansion *e, const struct attn_state *s, int new_example) {
  e->state = s;
  e->new_example = new_example;
  for (int h = 0; h <= ATTN_HEADS_MAX; h++)
    e->progress[h] = h < s->heads ? progress(&s->head[h]) : 0;
}

void attn_push_option(struct attn_options *out, const struct attn_option *option) {
  int at = out->count;
  if (option->bits < out->least) return;
  while (at > 0 && out->at[at - 1].bits < option->bits) at--;
  if (at == ATTN_OPTIONS) return;
  int kept = out->count < ATTN_OPTIONS ? out->count : ATTN_OPTIONS - 1;
  memmove(out->at + at + 1, out->at + at, (size_t)(kept - at) * sizeof *out->at);
  out->at[at] = *option;
  out->count = kept + 1;
  if (out->count == ATTN_OPTIONS) out->least = fmax(out->least, out->at[kept].bits);
}

/* Queries, keys or values that are called another of them, and this hardly. */
static int is_other_input(const struct attn_priors *p, int role) {
  const double *bits = p->bits;
  double best = fmax(bits[ATTN_ROLE_Q], fmax(bits[ATTN_ROLE_K], bits[ATTN_ROLE_V]));
  return role >= ATTN_ROLE_Q && role <= ATTN_ROLE_V && best == p->best &&
         bits[role] < PRICE.faint * best;
}

double attn_word_bits(const struct attn_priors *p, int role) {
  int hinted = p->best < PRICE.clear || p->bits[role] > p->best / 2;
  if (p->bits[role] <= 0) return -PRICE.contrary * p->best;
  if (is_other_input(p, role)) return p->bits[role] - PRICE.contrary * p->best;
  return hinted ? p->bits[role] : p->bits[role] - PRICE.contrary * p->best / 2;
}

/* A result saves the bits of its numbers at most, given weights those of their rows. */
double attn_most_bits(const struct attn_candidate *c) {
  double numbers = 0, evidence = 0;
  int lines = 0;
  for (int i = 0; i < c->readings; i++) {
    const struct attn_grid *g = c->grid[i];
    numbers = fmax(numbers, g->all_bits);
    lines = g->rows > lines ? g->rows : lines;
    lines = g->cols > lines ? g->cols : lines;
  }
  for (int r = 0; r < ATTN_ROLES; r++) evidence = fmax(evidence, c->evidence.bits[r]);
  return fmax(0, c->priors->best) +
         fmax(numbers - ATTN_LEAST_COST, evidence + ATTN_ROW_BITS * lines);
}

double attn_reading_price(const struct attn_expansion *e) {
  return e->reading > 0 ? PRICE.reading : 0;
}

/* ---- The budget ---- */

int attn_spend(struct attn_budget *budget, double work) {
  if (budget->left < work) budget->exhausted = 1;
  if (!budget->exhausted) budget->left -= work;
  return !budget->exhausted;
}

void attn_spend_node(struct attn_budget *budget, const struct attn_node *node, double work) {
  if (!node || node->id <= budget->newest) return;
  budget->newest = node->id;
  budget->left -= work;
}

/* ---- Results ---- */

/* Of a relation on first use. In double: sizes are the document's. */
static double work_of(const struct attn_relation *r, const struct attn_grid *g) {
  double cells = (double)g->rows * g->cols, inner = 0;
  for (int i = 0; i < r->operands; i++) {
    const struct attn_grid *o = r->operand[i]->grid;
    cells = fmax(cells, (double)o->rows * o->cols);
    inner = fmax(inner, fmax(o->rows, o->cols));
  }
  return NODE + cells * (CELL + inner * MULTIPLICATION);
}

/* The node of a relation. NULL: none, or the budget does not allow it. */
static const struct attn_node *evaluate(struct attn_expansion *e, const struct attn_grid *g,
                                        const struct attn_relation *r) {
  double work = work_of(r, g);
  if (e->budget->left < work) e->budget->exhausted = 1;
  if (!attn_spend(e->budget, RELATION)) return NULL;
  const struct attn_node *node = attn_node_of(e->relations, g, r);
  attn_spend_node(e->budget, node, work);
  return node;
}

/* The bits of a role, before any relation. */
static double role_bits(const struct attn_expansion *e, int role, int head) {
  double bits = attn_word_bits(e->candidate->priors, role) - attn_reading_price(e);
  if (role == ATTN_ROLE_SCALED && e->candidate->hints.unscaled) bits -= PRICE.unscaled;
  if (role == ATTN_ROLE_SCORES && e->candidate->hints.scaled_formula) bits -= PRICE.formula;
  if (role == ATTN_ROLE_EXPONENTIALS && head < e->state->heads &&
      e->state->head[head].at[ATTN_ROLE_WEIGHTS] && e->candidate->priors->bits[role] <= 0)
    bits -= PRICE.late;
  return attn_role_order(role) < e->progress[head] - 1 ? bits - PRICE.disorder : bits;
}

/* Is the role known, and its block called by its name? */
static int knows(const struct attn_expansion *e, int head, int role) {
  const struct attn_state *s = e->state;
  const struct attn_node *node =
      attn_role_is_shared(role) ? s->shared.at[role] : s->head[head].at[role];
  return node && e->candidate->all_priors[node->grid->block].bits[role] >= PRICE.own;
}

int attn_operands_are_called(const struct attn_expansion *e, int head, int role) {
  const struct attn_node *const *at = e->state->head[head].at;
  const struct attn_roles *shared = &e->state->shared;
  switch (role) {
    case ATTN_ROLE_Q:
    case ATTN_ROLE_K:
    case ATTN_ROLE_V:
      return (!shared->at[ATTN_ROLE_Y] || knows(e, head, ATTN_ROLE_Y)) &&
             knows(e, head, ATTN_ROLE_X) && knows(e, head, ATTN_ROLE_W_Q + role - ATTN_ROLE_Q);
    case ATTN_ROLE_SCORES:
      return knows(e, head, ATTN_ROLE_Q) && knows(e, head, ATTN_ROLE_K) && !at[ATTN_ROLE_W_A];
    case ATTN_ROLE_WEIGHTS: /* of logits by any of their names */
      return knows(e, head, ATTN_ROLE_SCALED) || knows(e, head, ATTN_ROLE_MASKED) ||
             knows(e, head, ATTN_ROLE_SCORES) ||
             (!at[ATTN_ROLE_SCORES] && attn_operands_are_called(e, head, ATTN_ROLE_SCORES));
    case ATTN_ROLE_OUTPUT:
      return knows(e, head, ATTN_ROLE_WEIGHTS) && knows(e, head, ATTN_ROLE_V) &&
             !shared->at[ATTN_ROLE_W_O];
    default:
      return 0;
  }
}

/* Q, of an X and a W_Q that are called so; weights, of scores that are. */
static int is_called(const struct attn_expansion *e, int role, int head,
                     const struct attn_relation *r) {
  const struct attn_priors *p = e->candidate->priors;
  if (p->bits[role] < PRICE.own || p->bits[role] < p->best || r->cause || r->cost > 1) return 0;
  if (r->uses != 1 && r->mask != ATTN_MASK_STATED) return 0;
  if (role == ATTN_ROLE_WEIGHTS && !e->state->head[head].at[ATTN_ROLE_MASKED] &&
      e->candidate->hints.mask && r->mask != ATTN_MASK_STATED)
    return 0;
  if (role == ATTN_ROLE_SCORES && p->bits[ATTN_ROLE_SCALED] >= p->bits[role]) return 0;
  return attn_operands_are_called(e, head, role);
}

/* A mask explains too few cells; or a row without a name is one of the output; or one that adds up
 * to 1, and is not called so, is one of exponentials, as (0.00, 1.00) may be. */
static int is_chance(const struct attn_candidate *c, const struct attn_relation *r,
                     const struct attn_node *node) {
  if (r->role == ATTN_ROLE_OUTPUT && r->row >= 0 && c->priors->bits[r->role] < PRICE.clear)
    return 1;
  if (r->role == ATTN_ROLE_EXPONENTIALS && c->priors->bits[r->role] <= 0 &&
      attn_grid_has_rows_of_one(node->grid))
    return 1;
  double least = c->hints.causal || c->hints.padding ? PRICE.hidden : PRICE.masked;
  return r->mask && r->mask != ATTN_MASK_STATED && node->share < least;
}

int attn_has_scores(const struct attn_roles *head) {
  for (int r = ATTN_ROLE_SCORES; r <= ATTN_ROLE_OUTPUT; r++)
    if (head->at[r]) return 1;
  return 0;
}

/* Another row than that of the query that is shown. */
static int is_other_row(const struct attn_expansion *e, int head, const struct attn_relation *r) {
  const struct attn_roles *known = &e->state->head[head];
  return head < e->state->heads && known->row >= 0 && !attn_has_scores(known) && r->row >= 0 &&
         r->row != known->row;
}

/* Another row; or all rows at once, after one that was shown up to its output. */
static int is_next_row(const struct attn_expansion *e, int head, const struct attn_grid *g,
                       const struct attn_relation *r) {
  const struct attn_node *output = e->before->head[head].at[ATTN_ROLE_OUTPUT];
  int is_shown = output && output->share == 1 && output->relation && !output->relation->cause;
  if (r->row < 0) return g->rows > 1 && is_shown;
  return !(e->state->head[head].done >> r->row & 1);
}

static double cost_of(const struct attn_expansion *e, int head, const struct attn_relation *r) {
  const struct attn_node *last = e->next_query ? e->before->head[head].at[r->role] : NULL;
  int rescaled = last && last->relation && last->relation->divided_by != r->divided_by;
  return r->cost + (rescaled ? PRICE.rescaled : 0);
}

static void push_results(struct attn_expansion *e, int role, int head) {
  const struct attn_candidate *c = e->candidate;
  const struct attn_grid *g =
      attn_role_is_of_scores(role) ? c->scores[e->reading] : c->grid[e->reading];
  const struct attn_relation *list = NULL;
  double bits = role_bits(e, role, head) - (e->next_query ? PRICE.next_query : 0) -
                (e->split ? PRICE.split : 0);
  double most = g->all_bits + bits;
  if (c->is_factor || most - ATTN_LEAST_COST < e->out->least) return;
  if (!attn_spend(e->budget, LIST)) return;
  int n = attn_relations_list(e->relations, e->state, head, role, g, &c->hints, &list);
  for (int i = 0; i < n && !e->budget->exhausted; i++) {
    double cost = cost_of(e, head, &list[i]);
    if (most - cost < e->out->least) continue;
    const struct attn_node *node = evaluate(e, g, &list[i]);
    if (!node || node->bits < PRICE.worst) continue;
    if (is_chance(c, &list[i], node)) continue;
    if (e->next_query && !is_next_row(e, head, g, &list[i])) continue;
    if (is_other_row(e, head, &list[i])) continue;
    double saved = is_called(e, role, head, &list[i]) ? fmax(node->bits, PRICE.called) : node->bits;
    attn_push_option(e->out, &(struct attn_option){.bits = saved - cost + bits,
                                                   .role = role,
                                                   .head = head,
                                                   .new_example = e->new_example,
                                                   .next_query = e->next_query,
                                                   .split = e->split,
                                                   .reading = e->reading,
                                                   .relation = &list[i],
                                                   .node = node});
  }
}

/* A row is known, and this role of it: another row begins. The same numbers are that row again. */
static void push_next_query(struct attn_expansion *e, int role, int head) {
  const struct attn_roles *known = &e->state->head[head];
  if (known->row < 0 || !is_of_row(role)) return;
  const struct attn_node *last = known->at[role];
  if (last && attn_grid_same_values(last->grid, e->candidate->grid[e->reading])) return;
  struct attn_state state = *e->state;
  struct attn_expansion next = *e;
  attn_roles_finish_row(&state.head[head], role);
  set_state(&next, &state, 0);
  next.next_query = 1;
  push_results(&next, role, head);
}

static void expand_results(struct attn_expansion *e) {
  for (int role = 0; role < ATTN_ROLES; role++) {
    if (!attn_role_is_derived(role)) continue;
    int heads = attn_role_is_shared(role) ? 1 : e->state->heads;
    for (int h = 0; h < heads; h++)
      if (attn_is_free(e->state, h, role))
        push_results(e, role, h);
      else if (!attn_role_is_shared(role))
        push_next_query(e, role, h);
  }
}

/* The projections that are known are those of several heads. */
static void expand_split(struct attn_expansion *e, int heads) {
  struct attn_state state = *e->state;
  struct attn_expansion split = *e;
  if (!attn_state_split(e->relations, &state, heads)) return;
  set_state(&split, &state, 0);
  split.split = heads;
  for (int h = 0; h < heads; h++)
    for (int role = ATTN_ROLE_Q; role <= ATTN_ROLE_WEIGHTS; role++)
      if (attn_role_is_derived(role) && attn_is_free(&state, h, role))
        push_results(&split, role, h);
  if (e->reading == 0) attn_expand_copies(&split);
}

static void expand_splits(struct attn_expansion *e) {
  int width = e->candidate->hints.splits ? attn_state_width(e->state) : 0;
  for (int heads = 2; heads <= width && heads <= ATTN_HEADS_MAX; heads++)
    if (width % heads == 0) expand_split(e, heads);
}

/* ---- All ways ---- */

/* It is named, and no role has it. */
int attn_is_mask_table(const struct attn_candidate *c) {
  const struct attn_grid *g = c->grid[0];
  int ones = 0;
  if (c->priors->bits[ATTN_ROLE_MASKED] < 4 || c->priors->bits[ATTN_ROLE_MASKED] < c->priors->best)
    return 0;
  for (int n = 0; n < g->rows * g->cols; n++) {
    if (g->value[n] != 0 && g->value[n] != 1) return 0;
    ones += g->value[n] == 1;
  }
  return ones && ones < g->rows * g->cols;
}

/* Not read: a name is lost. */
static void push_other(struct attn_options *out, const struct attn_candidate *c) {
  double best = attn_is_mask_table(c) ? 0 : c->priors->best;
  double share = best > PRICE.own      ? PRICE.unread_named
                 : best > PRICE.hinted ? PRICE.unread_hinted
                                       : 0;
  attn_push_option(out, &(struct attn_option){.bits = -share * best, .role = ATTN_ROLE_OTHER});
}

int attn_is_new_section(const struct attn_expansion *e) {
  return e->before->section >= 0 && e->candidate->section != e->before->section;
}

static int is_finished(const struct attn_expansion *e) {
  const struct attn_state *s = e->before;
  return (attn_is_new_section(e) &&
          (s->shared.at[ATTN_ROLE_X] || attn_any_head_has(s, ATTN_ROLE_Q))) ||
         (e->candidate->new_heading && s->shared.at[ATTN_ROLE_X] &&
          attn_any_head_has(s, ATTN_ROLE_Q)) ||
         attn_any_head_has(s, ATTN_ROLE_WEIGHTS) || attn_any_head_has(s, ATTN_ROLE_OUTPUT) ||
         attn_any_head_has(s, ATTN_ROLE_SCORES);
}

/* The nodes of givens; without memory there are none, which the search finds out at its end. */
static void set_nodes(const struct attn_expansion *e) {
  for (int i = 0; i < e->out->count; i++) {
    struct attn_option *o = &e->out->at[i];
    if (o->node || o->role == ATTN_ROLE_OTHER) continue;
    o->node = attn_option_given(e, o);
    if (!o->node) o->role = ATTN_ROLE_OTHER;
  }
}

void attn_expand(struct attn_relations *relations, const struct attn_state *state,
                 const struct attn_candidate *candidate, struct attn_budget *budget,
                 struct attn_options *out) {
  struct attn_state empty;
  struct attn_expansion e = {.relations = relations,
                             .before = state,
                             .candidate = candidate,
                             .budget = budget,
                             .out = out};
  out->count = 0;
  attn_state_start(&empty);
  set_state(&e, state, 0);
  int is_step = !attn_is_mask_table(candidate) && !candidate->priors->is_aside;
  int readings = is_step ? candidate->readings : 0;
  for (e.reading = 0; e.reading < readings && !budget->exhausted; e.reading++) {
    expand_results(&e);
    expand_splits(&e);
    attn_expand_givens(&e);
    if (!is_finished(&e)) continue;
    set_state(&e, &empty, 1);
    attn_expand_givens(&e);
    if (attn_is_new_section(&e)) push_results(&e, ATTN_ROLE_POSITION_TABLE, 0);
    set_state(&e, state, 0);
  }
  e.reading = 0;
  if (readings && !budget->exhausted) attn_expand_copies(&e);
  push_other(out, candidate);
  set_nodes(&e);
}
