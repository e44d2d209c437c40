/* relation_masked.c -- scores that a mask hides: causal, of padding, as the page has it. */
#include <math.h>
#include <string.h>

#include "relations.h"

static const double HIDDEN = -1e8; /* a score below: masked */

static size_t cells_of(const struct attn_grid *g) { return (size_t)g->rows * (size_t)g->cols; }

/* Memory for a mask of the grid's size. */
static double *new_mask(const struct attn_listing *l) {
  double *keep = attn_pool_take(l->memo->pool, cells_of(l->grid) * sizeof *keep);
  if (!keep) l->memo->failed = 1;
  return keep;
}

/* NULL keep: no memory. */
static attn_matrix mask_of(const struct attn_listing *l, const double *keep) {
  if (!keep) return (attn_matrix){0, 0, NULL};
  return attn_relations_constant(l->memo, l->grid->rows, l->grid->cols, keep);
}

/* first: the query of the first row. */
static double *triangle(const struct attn_listing *l, int first, int offset) {
  const struct attn_grid *g = l->grid;
  double *keep = new_mask(l);
  size_t n = 0;
  for (int i = 0; keep && i < g->rows; i++)
    for (int j = 0; j < g->cols; j++) keep[n++] = j <= i + first + offset;
  return keep;
}

/* Of the first row; -1: not known. A single row is that of the head's one query, or of the one that
 * the text numbers. */
static int first_query(const struct attn_listing *l) {
  int row = l->state->head[l->head].row;
  return row < 0 && l->grid->rows == 1 ? l->hints->query - 1 : row;
}

static double *causal(const struct attn_listing *l, int offset) {
  int row = first_query(l);
  return triangle(l, row > 0 ? row : 0, offset);
}

static int hides_something(const struct attn_listing *l, const double *keep) {
  for (size_t n = 0; keep && n < cells_of(l->grid); n++)
    if (keep[n] == 0) return 1;
  return 0;
}

static void add(const struct attn_listing *l, struct attn_masks *masks, const double *keep,
                int kind, int cause, double cost) {
  if (!hides_something(l, keep)) return;
  struct attn_mask m = {mask_of(l, keep), kind, cause, cost};
  if (m.keep.at) masks->at[masks->count++] = m;
}

/* A causal mask without the rows that hide nothing. */
static double *causal_in_part(const struct attn_listing *l, const unsigned char *hidden) {
  double *keep = causal(l, 0);
  const size_t cols = (size_t)l->grid->cols;
  for (size_t row = 0; keep && row < cells_of(l->grid); row += cols) {
    if (memchr(hidden + row, 1, cols)) continue;
    for (size_t n = row; n < row + cols; n++) keep[n] = 1;
  }
  return keep;
}

/* Slips of a causal mask: where one is mentioned, or masked scores are printed. Weights that are
 * rounded to 0 are no sign of one. */
static void add_slips(const struct attn_listing *l, const unsigned char *hidden,
                      struct attn_masks *masks) {
  const struct attn_hints *h = l->hints;
  if (l->role == ATTN_ROLE_WEIGHTS && !h->causal && !h->causal_here) return;
  int late = ATTN_CAUSE_MASK_OFF_BY_ONE;
  add(l, masks, causal(l, 1), ATTN_MASK_CAUSAL_LATE, late, 7);
  double *keep = first_query(l) < 0 ? causal(l, -1) : NULL;
  if (keep) keep[0] = 1;
  if (keep) add(l, masks, keep, ATTN_MASK_CAUSAL_EARLY_BUT_FIRST, late, 7);
  if (h->causal || h->causal_here)
    add(l, masks, causal_in_part(l, hidden), ATTN_MASK_CAUSAL_IN_PART, ATTN_CAUSE_MASK_IGNORED, 7);
}

static void add_causal(const struct attn_listing *l, const unsigned char *hidden,
                       struct attn_masks *masks) {
  double cost = l->hints->causal_here ? ATTN_LEAST_COST : l->hints->causal ? -2 : 8;
  add(l, masks, causal(l, 0), ATTN_MASK_CAUSAL, ATTN_CAUSE_NONE, cost);
  add_slips(l, hidden, masks);
}

/* Of a column, in how many rows it is hidden. */
static int count_hidden(const struct attn_grid *g, const unsigned char *hidden, int col) {
  int rows = 0;
  for (int i = 0; i < g->rows; i++) rows += hidden[i * g->cols + col];
  return rows;
}

/* Columns that are hidden in at least so many rows. */
static void add_columns(const struct attn_listing *l, const unsigned char *hidden, int least,
                        struct attn_masks *masks) {
  const struct attn_grid *g = l->grid;
  double *keep = new_mask(l);
  int visible = 0;
  for (int j = 0; keep && j < g->cols; j++) {
    int rows = count_hidden(g, hidden, j), hides = rows && rows >= least;
    visible += !hides;
    for (int i = 0; i < g->rows; i++) keep[i * g->cols + j] = !hides;
  }
  if (visible) add(l, masks, keep, ATTN_MASK_PADDING, ATTN_CAUSE_NONE, g->rows > 1 ? 2.5 : 12);
}

/* Columns that are hidden in every row; where padding is mentioned, in most, of scores in half. */
static void add_padding(const struct attn_listing *l, const unsigned char *hidden,
                        struct attn_masks *masks) {
  const int rows = l->grid->rows, most = rows / 2 + (l->role != ATTN_ROLE_MASKED);
  if (rows == 1 && !l->hints->padding) return; /* any zero of one row looks like padding */
  add_columns(l, hidden, rows, masks);
  if (l->hints->padding && most < rows) add_columns(l, hidden, most, masks);
}

/* The last keys of one query that the text does not number: which are later is not known. */
static void add_last(const struct attn_listing *l, const unsigned char *hidden,
                     struct attn_masks *masks) {
  const int cols = l->grid->cols;
  int visible = cols;
  while (visible > 0 && hidden[visible - 1]) visible--;
  if (visible > 0)
    add(l, masks, triangle(l, visible - 1, 0), ATTN_MASK_AS_PRINTED, ATTN_CAUSE_NONE, 6);
}

void attn_masks_of(const struct attn_listing *l, const unsigned char *hidden,
                   struct attn_masks *out) {
  const struct attn_grid *g = l->grid;
  int one_query = first_query(l) >= 0;
  out->count = 0;
  if (g->cols > 1 && (one_query || (g->rows > 1 && g->rows == g->cols))) add_causal(l, hidden, out);
  if (!one_query && g->rows == 1 && !l->hints->padding) add_last(l, hidden, out);
  add_padding(l, hidden, out);
}

int attn_draft_mask(struct attn_draft *x, const struct attn_mask *m, int from) {
  int keep = attn_draft_constant(x, ATTN_STEP_MASK, m->keep);
  int ref = attn_draft_use(x, ATTN_OP_MASK, ATTN_STEP_MASKED, 0, from, keep);
  x->use[x->relation.uses - 1].scalar = -(double)INFINITY;
  x->relation.mask = m->kind;
  return ref;
}

static void list_masked(struct attn_listing *l, const struct attn_node *from,
                        const struct attn_mask *m) {
  struct attn_draft x = attn_draft_over(l, from, NULL, m->cause, m->cost);
  attn_draft_mask(&x, m, 0);
  attn_list(l, &x);
}

/* A bias of the scores, as of their distances. */
static void list_biased(struct attn_listing *l, const struct attn_node *from) {
  const struct attn_grid *bias = l->hints->bias;
  if (!bias) return;
  struct attn_draft x = attn_draft_over(l, from, NULL, ATTN_CAUSE_NONE, 1);
  attn_matrix all = attn_relations_constant(l->memo, bias->rows, bias->cols, bias->value);
  int ref = attn_draft_constant(&x, ATTN_STEP_MASK, all);
  attn_draft_use(&x, ATTN_OP_ADD, ATTN_STEP_MASKED, 0, 0, ref);
  attn_list(l, &x);
}

/* The cells that look hidden; any: whether there are some. */
unsigned char *attn_hidden_cells(const struct attn_listing *l, int *any) {
  unsigned char *hidden = attn_pool_take(l->memo->pool, cells_of(l->grid));
  if (!hidden) l->memo->failed = 1;
  for (size_t n = 0; hidden && n < cells_of(l->grid); n++)
    *any |= hidden[n] = l->grid->value[n] < HIDDEN && l->grid->blank[n] != 2;
  return hidden;
}

/* Scaled and masked in one step. */
static void list_scaled_and_masked(struct attn_listing *l, const struct attn_node *scores,
                                   const struct attn_mask *m) {
  const int d_k = attn_listing_width(l);
  struct attn_divisors d;
  if (d_k)
    attn_divisors_of(l, d_k, 0, &d);
  else
    attn_usual_divisors(&d);
  for (int n = 0; n < d.count && (n < 3 || !d_k); n++) {
    if (d.at[n].kind == ATTN_DIVISOR_ONE) continue;
    int cause = m->cause ? m->cause : d.at[n].cause;
    struct attn_draft x = attn_draft_over(l, scores, NULL, cause, m->cost + d.at[n].cost + 1);
    attn_draft_mask(&x, m, attn_draft_divide(&x, &d.at[n], 0));
    attn_list(l, &x);
  }
}

/* Of raw scores, these may be scaled on the way. */
static void list_mask(struct attn_listing *l, const struct attn_node *from, int scaled,
                      const struct attn_mask *m) {
  list_masked(l, from, m);
  if (!scaled) list_scaled_and_masked(l, from, m);
}

/* Every cell that is hidden costs its place. */
static void list_as_printed(struct attn_listing *l, const struct attn_node *from, int scaled,
                            const unsigned char *hidden) {
  double *keep = new_mask(l);
  for (size_t n = 0; keep && n < cells_of(l->grid); n++) keep[n] = !hidden[n];
  struct attn_mask m = {mask_of(l, keep), ATTN_MASK_AS_PRINTED, ATTN_CAUSE_NONE,
                        6 + (double)cells_of(l->grid)};
  if (m.keep.at) list_mask(l, from, scaled, &m);
}

/* Called masked, and nothing is. */
static void list_unmasked(struct attn_listing *l, const struct attn_node *from) {
  struct attn_draft x = attn_draft_over(l, from, NULL, ATTN_CAUSE_MASK_IGNORED, 7);
  attn_draft_use(&x, ATTN_OP_DIVIDE, ATTN_STEP_MASKED, 0, 0, 0);
  x.use[x.relation.uses - 1].scalar = 1;
  attn_list(l, &x);
}

/* Padding that nothing hides is at the end. */
static void list_unseen_padding(struct attn_listing *l, const struct attn_node *from) {
  double *keep = new_mask(l);
  const int cols = l->grid->cols;
  for (int n = 0; keep && n < l->grid->rows * cols; n++) keep[n] = n % cols < cols - 1;
  struct attn_mask m = {mask_of(l, keep), ATTN_MASK_PADDING, ATTN_CAUSE_NONE, 8};
  if (m.keep.at) list_masked(l, from, &m);
}

void attn_list_masked(struct attn_listing *l) {
  const struct attn_node *from = attn_listing_node(l, ATTN_ROLE_SCALED);
  int scaled = from != NULL, mentions = l->hints->causal || l->hints->causal_here;
  struct attn_masks masks;
  int any = 0;
  if (!from) from = attn_listing_node(l, ATTN_ROLE_SCORES);
  const unsigned char *hidden = from ? attn_hidden_cells(l, &any) : NULL;
  if (!hidden) return;
  list_biased(l, from);
  attn_masks_of(l, hidden, &masks);
  if (!any) {
    if (mentions && masks.count && masks.at[0].kind == ATTN_MASK_CAUSAL)
      list_masked(l, from, &masks.at[0]);
    if (l->hints->padding) list_unseen_padding(l, from);
    if (mentions || l->hints->padding) list_unmasked(l, from);
    return;
  }
  for (int n = 0; n < masks.count; n++) list_mask(l, from, scaled, &masks.at[n]);
  if (masks.count) list_as_printed(l, from, scaled, hidden);
}
