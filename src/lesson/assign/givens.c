/* givens.c -- a block as something that the document gives. */
#include <math.h>

#include "role_search.h"

/* The constants of the score, in bits. */
static const struct {
  double disorder;               /* a given after what it should come before */
  double head, head_named;       /* a further head; where a head is mentioned */
  double head_below;             /* below a heading that mentions none */
  double head_unnamed;           /* no text mentions heads */
  double example, example_named; /* a further example */
  double section;                /* a further head, where another example begins */
  double late_input;             /* inputs after the weights are known */
  double sum_one, sum_not;       /* given weights: each row */
  double one_hot;                /* a row of 1 and 0 */
  double projected;              /* the weights are known that should explain it */
  double called;                 /* all that should explain it is known by name */
} PRICE = {
    .disorder = 3,
    .head = 4,
    .head_named = 1,
    .head_below = 8,
    .head_unnamed = 16,
    .example = 7,
    .example_named = 3,
    .section = 60,
    .late_input = 8,
    .sum_one = ATTN_ROW_BITS,
    .sum_not = -6,
    .one_hot = .5,
    .projected = 5,
    .called = 30,
};

static const double WORK = 50; /* of a role and a head, in about nanoseconds */

/* How a role takes a given block. */
static const struct given_role {
  double bits;    /* that a given saves: below 0; 0: it never is given */
  double alone;   /* its price where neither of `after` is known */
  int after[2];   /* the role that comes first */
  int unnamed;    /* 1: a word or evidence need not name it */
  int rounded;    /* 1: its numbers are rounded, not exact */
  int weights;    /* 1: transposed where a document prints weights so */
  int opens_head; /* 1: may be the first of a further head; 2: only after a head that has one */
  int opens_example;
} GIVEN[ATTN_ROLES] = {
#define NO ATTN_ROLE_OTHER
    /* bits, alone, after, unnamed, rounded, weights, opens_head, opens_example */
    [ATTN_ROLE_X] = {-1, 0, {NO, NO}, 1, 0, 0, 0, 1},
    [ATTN_ROLE_Y] = {-4, 0, {NO, NO}, 0, 0, 0, 0, 0},
    [ATTN_ROLE_POSITION_TABLE] = {-5, 0, {NO, NO}, 0, 0, 0, 0, 0},
    [ATTN_ROLE_W_Q] = {-1, 0, {NO, NO}, 1, 0, 1, 1, 0},
    [ATTN_ROLE_W_K] = {-1, 1, {ATTN_ROLE_W_Q, ATTN_ROLE_W_Q}, 1, 0, 1, 2, 0},
    [ATTN_ROLE_W_V] = {-1, 1, {ATTN_ROLE_W_K, ATTN_ROLE_W_K}, 1, 0, 1, 2, 0},
    [ATTN_ROLE_W_O] = {-3, 0, {NO, NO}, 0, 0, 1, 0, 0},
    [ATTN_ROLE_W_A] = {-5, 0, {NO, NO}, 0, 0, 0, 0, 0},
    [ATTN_ROLE_U_A] = {-5, 0, {NO, NO}, 0, 0, 0, 0, 0},
    [ATTN_ROLE_V_A] = {-5, 0, {NO, NO}, 0, 0, 0, 0, 0},
    [ATTN_ROLE_Q] = {-3, 0, {NO, NO}, 1, 0, 0, 1, 1},
    [ATTN_ROLE_K] = {-3, 2, {ATTN_ROLE_Q, ATTN_ROLE_W_Q}, 1, 0, 0, 2, 0},
    [ATTN_ROLE_V] = {-3, 2, {ATTN_ROLE_Q, ATTN_ROLE_W_Q}, 1, 0, 0, 2, 0},
    [ATTN_ROLE_W_A_Q] = {-9, 0, {NO, NO}, 0, 1, 0, 0, 0},
    [ATTN_ROLE_U_A_K] = {-9, 4, {ATTN_ROLE_W_A_Q, ATTN_ROLE_W_A_Q}, 0, 1, 0, 0, 0},
    [ATTN_ROLE_SCORES] = {-6, 0, {NO, NO}, 0, 1, 0, 0, 0},
    [ATTN_ROLE_SCALED] = {-8, 0, {NO, NO}, 0, 1, 0, 0, 0},
    [ATTN_ROLE_WEIGHTS] = {-5, 0, {NO, NO}, 1, 1, 0, 0, 0},
#undef NO
};

static const struct attn_node *known(const struct attn_state *s, int head, int role) {
  const struct attn_node *n = s->head[head].at[role];
  return n ? n : s->shared.at[role];
}

/* May a further head begin with this role? */
static int opens_head(const struct attn_state *s, int role) {
  const struct attn_roles *last = &s->head[s->heads - 1];
  if (!GIVEN[role].opens_head || s->heads == ATTN_HEADS_MAX || s->is_split) return 0;
  if (role == ATTN_ROLE_Q && last->at[ATTN_ROLE_W_Q]) return 0;
  return last->at[role] || (GIVEN[role].opens_head == 1 && last->at[ATTN_ROLE_OUTPUT]);
}

static int cols_of(const struct attn_node *n) { return n ? n->grid->cols : 0; }

/* W_Q, W_K or W_V after X and Y. */
static int is_projection_shape(const struct attn_state *s, int head, int role,
                               const struct attn_grid *g) {
  const struct attn_node *x = known(s, head, ATTN_ROLE_POSITIONED);
  if (!x) x = known(s, head, ATTN_ROLE_X);
  int d_x = cols_of(x), d_y = cols_of(known(s, head, ATTN_ROLE_Y));
  int d_joined = d_x + cols_of(known(s, head, ATTN_ROLE_POSITION_TABLE));
  if (g->rows == 1 && g->cols > 1 && d_x != 1) return 0;
  if ((d_x || d_y) && g->rows != d_x && g->rows != d_y && g->rows != d_joined) return 0;
  int d_k = cols_of(known(s, head, ATTN_ROLE_W_Q));
  return role != ATTN_ROLE_W_K || !d_k || d_k == g->cols;
}

/* May a block of this shape be given as the role? */
static int fits_shape(const struct attn_state *s, int head, int role, const struct attn_grid *g) {
  const struct attn_node *k;
  switch (role) {
    case ATTN_ROLE_W_Q:
    case ATTN_ROLE_W_K:
    case ATTN_ROLE_W_V:
      return is_projection_shape(s, head, role, g);
    case ATTN_ROLE_V:
      k = known(s, head, ATTN_ROLE_K);
      if (!k && !known(s, head, ATTN_ROLE_Y)) k = known(s, head, ATTN_ROLE_X);
      return !k || k->grid->rows == g->rows;
    case ATTN_ROLE_V_A:
      return g->rows == 1 || g->cols == 1;
    default:
      return 1;
  }
}

/* Integers are exact: rows of 1 and 0, not of 1 and 1. */
static double row_sum_bits(const struct attn_grid *g) {
  double bits = 0, half = g->decimals > 0 ? g->half[0] : 0;
  for (int i = 0; i < g->rows; i++) {
    double sum = 0;
    for (int j = 0; j < g->cols; j++) sum += g->value[i * g->cols + j];
    int is_one = fabs(sum - 1) <= half * g->cols + 1e-9;
    bits += !is_one ? PRICE.sum_not : g->decimals > 0 ? PRICE.sum_one : PRICE.one_hot;
  }
  return bits;
}

/* What a given costs that comes after something later, or before what it needs. */
static double order_price(const struct attn_expansion *e, int head, int role) {
  const struct given_role *given = &GIVEN[role];
  const struct attn_state *s = e->state;
  const struct attn_node *const *at = s->head[head].at;
  double price = 0;
  if (!attn_role_is_shared(role) && attn_role_order(role) < e->progress[head] - 1)
    price += PRICE.disorder;
  int is_input = role == ATTN_ROLE_X || role == ATTN_ROLE_Y || role == ATTN_ROLE_POSITION_TABLE;
  if (is_input && attn_any_head_has(s, ATTN_ROLE_WEIGHTS)) price += PRICE.late_input;
  if (given->alone > 0 && !at[given->after[0]] && !at[given->after[1]]) price += given->alone;
  if (role >= ATTN_ROLE_Q && role <= ATTN_ROLE_V && at[ATTN_ROLE_W_Q + role - ATTN_ROLE_Q])
    price += PRICE.projected;
  return price;
}

static const struct attn_grid *grid_of(const struct attn_candidate *c, int role, int reading) {
  if (attn_role_is_of_scores(role)) return c->scores[reading];
  return GIVEN[role].weights ? c->weights[reading] : c->grid[reading];
}

const struct attn_node *attn_option_given(const struct attn_expansion *e,
                                          const struct attn_option *o) {
  const struct attn_grid *g = grid_of(e->candidate, o->role, o->reading);
  return attn_node_given(e->relations, g, GIVEN[o->role].rounded);
}

/* A result by its name, beside its operands by theirs, in any head. */
static int is_result(const struct attn_expansion *e, int role) {
  struct attn_expansion known = *e;
  if (e->new_example && attn_is_new_section(e)) return 0;
  if (e->new_example) known.state = e->before;
  for (int h = 0; h < known.state->heads; h++)
    if (attn_is_free(known.state, h, role) && attn_operands_are_called(&known, h, role)) return 1;
  return 0;
}

/* Does the block print a given of a head once more, where no heads are mentioned? */
static int is_echo(const struct attn_expansion *e, int role, const struct attn_grid *g) {
  for (int h = 0; h < e->state->heads && !e->candidate->hints.heads; h++) {
    const struct attn_node *of = e->state->head[h].at[role];
    if (of && !of->relation && attn_grid_same_values(of->grid, g)) return 1;
  }
  return 0;
}

static double head_price(const struct attn_expansion *e) {
  const struct attn_candidate *c = e->candidate;
  if (attn_is_new_section(e)) return PRICE.section;
  if (c->names_head) return PRICE.head_named;
  return !c->hints.heads ? PRICE.head_unnamed : c->new_heading ? PRICE.head_below : PRICE.head;
}

/* In a head of the state, or in one more. */
static void push_given(struct attn_expansion *e, int role, int head) {
  const struct attn_candidate *c = e->candidate;
  const struct attn_grid *g = grid_of(c, role, e->reading);
  if (g->open || !attn_spend(e->budget, WORK) || !fits_shape(e->state, head, role, g)) return;
  double bits = GIVEN[role].bits + c->evidence.bits[role] + attn_word_bits(c->priors, role) -
                order_price(e, head, role) - attn_reading_price(e);
  if (head == e->state->heads) bits -= head_price(e);
  if (e->new_example)
    bits -= c->names_example || c->new_heading ? PRICE.example_named : PRICE.example;
  if (role != ATTN_ROLE_SCORES && is_result(e, role)) /* scores may be given */
    bits -= PRICE.called;
  else if (role == ATTN_ROLE_WEIGHTS)
    bits += row_sum_bits(g);
  attn_push_option(e->out, &(struct attn_option){.bits = bits,
                                                 .role = role,
                                                 .head = head,
                                                 .new_example = e->new_example,
                                                 .reading = e->reading});
}

static int is_candidate(const struct attn_expansion *e, int role) {
  const double *named = e->candidate->priors->bits;
  const struct given_role *given = &GIVEN[role];
  if (given->bits >= 0 || (e->new_example && !given->opens_example && !attn_is_new_section(e)))
    return 0;
  return given->unnamed || named[role] > 0;
}

void attn_expand_givens(struct attn_expansion *e) {
  const struct attn_state *s = e->state;
  for (int role = 0; role < ATTN_ROLES; role++) {
    if (!is_candidate(e, role)) continue;
    int heads = attn_role_is_shared(role) || e->new_example ? 1 : s->heads;
    for (int h = 0; h < heads; h++)
      if (attn_is_free(s, h, role)) push_given(e, role, h);
    if (!e->new_example && opens_head(s, role) &&
        !is_echo(e, role, grid_of(e->candidate, role, e->reading)))
      push_given(e, role, s->heads);
  }
}
