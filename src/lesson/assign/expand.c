/* expand.c -- the ways in which a block may be read after a state, each with its bits. */
#include <math.h>
#include <string.h>

#include "role_search.h"

/* The constants of the score, in bits. */
static const struct {
  double reading;                     /* each reading but the likely one */
  double contrary;                    /* of the bits of the best named role: it is another */
  double disorder;                    /* a result after what it should come before */
  double worst;                       /* a relation that explains less is not considered */
  double named, hinted;               /* a role has its own name from here on; is hinted at */
  double unread_named, unread_hinted; /* of the bits of that role: the block is not read */
} PRICE = {
    .reading = 1,
    .contrary = .8,
    .disorder = 2,
    .worst = -25,
    .named = 7,
    .hinted = 5,
    .unread_named = 1,
    .unread_hinted = .6,
};

/* Work, in about nanoseconds. */
static const double LIST = 100, RELATION = 50, NODE = 500, CELL = 60, MULTIPLICATION = 8;

/* ---- States and options ---- */

void attn_state_start(struct attn_state *state) {
  memset(state, 0, sizeof *state);
  state->heads = 1;
  state->shared.row = -1;
  for (int h = 0; h < ATTN_HEADS_MAX; h++) state->head[h].row = -1;
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
  while (at > 0 && out->at[at - 1].bits < option->bits) at--;
  if (at == ATTN_OPTIONS) return;
  int kept = out->count < ATTN_OPTIONS ? out->count : ATTN_OPTIONS - 1;
  memmove(out->at + at + 1, out->at + at, (size_t)(kept - at) * sizeof *out->at);
  out->at[at] = *option;
  out->count = kept + 1;
}

double attn_word_bits(const struct attn_priors *p, int role, double weight) {
  return p->bits[role] > 0 ? p->bits[role] : -PRICE.contrary * weight * p->best;
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

static int is_input_of_scores(int role) {
  return role == ATTN_ROLE_Q || role == ATTN_ROLE_K || role == ATTN_ROLE_V;
}

/* The bits of a role, before any relation. */
static double role_bits(const struct attn_expansion *e, int role, int head) {
  double early = e->progress[head] - (is_input_of_scores(role) ? 1 : 0);
  double bits = attn_word_bits(e->candidate->priors, role, 1) - attn_reading_price(e);
  return attn_role_order(role) < early ? bits - PRICE.disorder : bits;
}

static void push_results(struct attn_expansion *e, int role, int head) {
  const struct attn_candidate *c = e->candidate;
  const struct attn_grid *g =
      attn_role_is_of_scores(role) ? c->scores[e->reading] : c->grid[e->reading];
  const struct attn_relation *list = NULL;
  if (!attn_spend(e->budget, LIST)) return;
  int n = attn_relations_list(e->relations, e->state, head, role, g, &c->hints, &list);
  double bits = n > 0 ? role_bits(e, role, head) : 0;
  for (int i = 0; i < n && !e->budget->exhausted; i++) {
    const struct attn_node *node = evaluate(e, g, &list[i]);
    if (!node || node->bits < PRICE.worst) continue;
    attn_push_option(e->out, &(struct attn_option){.bits = node->bits - list[i].cost + bits,
                                                   .role = role,
                                                   .head = head,
                                                   .reading = e->reading,
                                                   .relation = &list[i],
                                                   .node = node});
  }
}

static void expand_results(struct attn_expansion *e) {
  for (int role = 0; role < ATTN_ROLES; role++) {
    if (!attn_role_is_derived(role)) continue;
    int heads = attn_role_is_shared(role) ? 1 : e->state->heads;
    for (int h = 0; h < heads; h++)
      if (attn_is_free(e->state, h, role)) push_results(e, role, h);
  }
}

/* ---- All ways ---- */

/* A table of 1 and 0 that words call a mask: it is named, and no role has it. */
static int is_mask_table(const struct attn_candidate *c) {
  const struct attn_grid *g = c->grid[0];
  if (c->priors->bits[ATTN_ROLE_MASKED] < 4 || c->priors->bits[ATTN_ROLE_MASKED] < c->priors->best)
    return 0;
  for (int n = 0; n < g->rows * g->cols; n++)
    if (g->value[n] != 0 && g->value[n] != 1) return 0;
  return 1;
}

/* Not read: a name is lost. */
static void push_other(struct attn_options *out, const struct attn_candidate *c) {
  double best = is_mask_table(c) ? 0 : c->priors->best;
  double share = best > PRICE.named    ? PRICE.unread_named
                 : best > PRICE.hinted ? PRICE.unread_hinted
                                       : 0;
  attn_push_option(out, &(struct attn_option){.bits = -share * best, .role = ATTN_ROLE_OTHER});
}

static int is_finished(const struct attn_state *s) {
  return attn_any_head_has(s, ATTN_ROLE_WEIGHTS) || attn_any_head_has(s, ATTN_ROLE_OUTPUT) ||
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
  struct attn_expansion e = {
      .relations = relations, .candidate = candidate, .budget = budget, .out = out};
  out->count = 0;
  attn_state_start(&empty);
  set_state(&e, state, 0);
  int readings = is_mask_table(candidate) ? 0 : candidate->readings;
  for (e.reading = 0; e.reading < readings && !budget->exhausted; e.reading++) {
    expand_results(&e);
    attn_expand_givens(&e);
    if (!is_finished(state)) continue;
    set_state(&e, &empty, 1);
    attn_expand_givens(&e);
    set_state(&e, state, 0);
  }
  e.reading = 0;
  if (readings && !budget->exhausted) attn_expand_copies(&e);
  push_other(out, candidate);
  set_nodes(&e);
}
