/* copies.c -- a block as numbers that the document has printed before. */
#include <math.h>

#include "role_search.h"

/* The constants of the score, in bits. */
static const struct {
  double copy, transposed; /* numbers once more; and transposed */
  double caption;          /* bits of words near an echo: with more it has a name */
  double own_name;         /* bits of a name of its own: if it is another role's, it is no copy */
  double section;          /* a given of another example */
  double weights;          /* a factor is one of the step rather than a weight matrix */
  double divided;          /* a copy of the scores that is called scaled */
  double share;            /* of the cells: a copy has at least so many in common */
} PRICE = {.copy = 5,
           .transposed = 2,
           .caption = 2,
           .own_name = 5.9,
           .section = 400,
           .weights = .5,
           .divided = 8,
           .share = .6};

/* Work, in about nanoseconds: to compare a cell; to make one. */
static const double COMPARE = 5, MAKE = 60;

/* May the numbers of two cells be the same? Wider than what a node decides. A given integer is
 * exact: 0.943 is not a copy of 1. */
static int may_fit(const struct attn_grid *a, int at, const struct attn_grid *b, int bt,
                   int is_given) {
  double x = a->value[at], y = b->value[bt];
  if (!isfinite(x) || !isfinite(y)) return 1;
  int is_exact = is_given && b->decimals == 0 && a->decimals > 0;
  return fabs(x - y) <= 1.001 * (a->half[at] + (is_exact ? 0 : b->half[bt])) + 1e-8;
}

/* A first look at the numbers, so that a node is made only for what may be a copy. */
static int may_be_copy(struct attn_expansion *e, const struct attn_grid *g,
                       const struct attn_node *node, int copy) {
  const struct attn_grid *of = node->grid;
  int misses = 0, row = copy >= ATTN_COPY_ROW ? copy - ATTN_COPY_ROW : 0;
  if (!attn_is_copy_of(g, of, copy)) return 0;
  for (int i = 0; i < g->rows; i++)
    for (int j = 0; j < g->cols; j++) {
      int at = i * g->cols + j;
      misses +=
          !may_fit(g, at, of, copy == ATTN_COPY_TRANSPOSED ? j * of->cols + i : row * of->cols + at,
                   !node->relation);
      if (misses > (1 - PRICE.share) * g->rows * g->cols + 1e-9) {
        attn_spend(e->budget, (at + 1) * COMPARE);
        return 0;
      }
    }
  return attn_spend(e->budget, g->rows * g->cols * COMPARE);
}

/* Columns of one table: Q, K and V are different even where their numbers are the same. */
static int are_siblings(const struct attn_candidate *c, int block) {
  const struct attn_candidate *other = c + (block - c->block);
  return c->siblings_line && c->siblings_line == other->siblings_line && block != c->block;
}

/* All that a session prints of the matrix that is entered in the line before. */
static int is_echo(const struct attn_candidate *c, const struct attn_node *of,
                   const struct attn_node *node, int copy) {
  return copy == ATTN_COPY && of->grid->block == c->block - 1 && node->share == 1 &&
         c->priors->best < PRICE.caption;
}

static void push_copy(struct attn_expansion *e, const struct attn_node *of, int role, int head,
                      int copy) {
  const struct attn_candidate *c = e->candidate;
  const struct attn_grid *g = attn_role_is_of_scores(role) ? c->scores[0] : c->grid[0];
  if (!c->is_factor && c->priors->best >= PRICE.own_name && c->priors->bits[role] <= 0) return;
  if (copy == ATTN_COPY_TRANSPOSED && attn_role_is_of_scores(role) && g->rows > 1 && g->cols > 1)
    return; /* A^T V is not A V */
  if (are_siblings(c, of->grid->block)) return;
  if (e->budget->exhausted || !may_be_copy(e, g, of, copy)) return;
  const struct attn_node *node = attn_node_copy(e->relations, g, of, copy);
  attn_spend_node(e->budget, node, g->rows * g->cols * MAKE);
  if (!node || node->share < (copy >= ATTN_COPY_ROW ? 1 : PRICE.share)) return;
  double bits = node->bits - (copy == ATTN_COPY_TRANSPOSED ? PRICE.transposed : 0) -
                (c->is_factor || is_echo(c, of, node, copy) ? 0 : PRICE.copy);
  if (copy >= ATTN_COPY_ROW) bits += attn_word_bits(c->priors, role);
  if (c->is_factor && role >= ATTN_ROLE_W_Q && role <= ATTN_ROLE_W_V) bits -= PRICE.weights;
  if (role == ATTN_ROLE_SCORES && c->priors->bits[ATTN_ROLE_SCALED] > 0) bits -= PRICE.divided;
  if (attn_is_new_section(e) && !of->expected.lo.at) bits -= PRICE.section;
  attn_push_option(e->out, &(struct attn_option){.bits = bits,
                                                 .role = role,
                                                 .is_copy = copy,
                                                 .head = head,
                                                 .split = e->split,
                                                 .node = node});
}

/* "The query of cat: [1, 0]" below all queries. */
static void push_query(struct attn_expansion *e, const struct attn_node *of, int role, int head) {
  if (role != ATTN_ROLE_Q || e->candidate->priors->bits[role] < PRICE.own_name) return;
  int rows = of->grid->rows > 1 ? of->grid->rows : 0;
  for (int row = 0; row < rows && row < ATTN_ROWS_ALONE_MAX; row++)
    push_copy(e, of, role, head, ATTN_COPY_ROW + row);
}

void attn_expand_copies(struct attn_expansion *e) {
  const struct attn_state *s = e->state;
  for (int h = e->split ? 0 : -1; h < s->heads; h++) {
    const struct attn_roles *roles = h < 0 ? &s->shared : &s->head[h];
    for (int r = 0; r < ATTN_ROLES; r++) {
      if (!roles->at[r] || (e->split && !roles->at[r]->columns_of)) continue;
      push_copy(e, roles->at[r], r, h < 0 ? 0 : h, ATTN_COPY);
      push_copy(e, roles->at[r], r, h < 0 ? 0 : h, ATTN_COPY_TRANSPOSED);
      push_query(e, roles->at[r], r, h < 0 ? 0 : h);
    }
  }
}
