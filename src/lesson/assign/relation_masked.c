/* relation_masked.c -- scores that a mask hides: causal, of padding, as the page has it. */
#include <math.h>
#include <string.h>

#include "relations.h"

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

attn_matrix attn_causal_mask(const struct attn_listing *l) { return mask_of(l, triangle(l, 0, 0)); }

static int hides_something(const struct attn_listing *l, const double *keep) {
  for (size_t n = 0; keep && n < cells_of(l->grid); n++)
    if (keep[n] == 0) return 1;
  return 0;
}

static void add(const struct attn_listing *l, struct attn_masks *masks, const double *keep,
                int kind, int cause, double cost) {
  if (!hides_something(l, keep)) return;
  struct attn_mask m = {mask_of(l, keep), kind, cause, cost, NULL};
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

/* Slips of a causal mask: where one is mentioned, or masked scores are printed and padding is not
 * mentioned. Weights that are rounded to 0 are no sign of one. */
static void add_slips(const struct attn_listing *l, const unsigned char *hidden,
                      struct attn_masks *masks) {
  const struct attn_hints *h = l->hints;
  if (l->role == ATTN_ROLE_WEIGHTS && !h->causal && !h->causal_here && !h->mask) return;
  if (h->padding && !h->causal_here) return;
  int late = ATTN_CAUSE_MASK_OFF_BY_ONE;
  add(l, masks, causal(l, 1), ATTN_MASK_CAUSAL_LATE, late, 7);
  add(l, masks, causal(l, -1), ATTN_MASK_CAUSAL_EARLY, late, 7);
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

/* Sets keep to 0 in the columns that are hidden in so many rows. Returns how many these are. */
static int hide_columns(const struct attn_listing *l, const unsigned char *hidden, int least,
                        double *keep) {
  const struct attn_grid *g = l->grid;
  int count = 0;
  for (int j = 0; j < g->cols; j++) {
    int rows = 0;
    for (int i = 0; i < g->rows; i++) rows += hidden[(size_t)i * (size_t)g->cols + (size_t)j];
    int hides = rows && rows >= least;
    for (int i = 0; hides && i < g->rows; i++) keep[(size_t)i * (size_t)g->cols + (size_t)j] = 0;
    count += hides;
  }
  return count;
}

/* Returns how many columns are hidden. */
static int add_hidden_columns(const struct attn_listing *l, const unsigned char *hidden, int least,
                              struct attn_masks *masks) {
  const struct attn_grid *g = l->grid;
  double *keep = new_mask(l);
  if (!keep) return 0;
  for (size_t n = 0; n < cells_of(g); n++) keep[n] = 1;
  int columns = hide_columns(l, hidden, least, keep);
  double cost = g->rows > 1 ? 2.5 : 12;
  if (columns && columns < g->cols) add(l, masks, keep, ATTN_MASK_PADDING, ATTN_CAUSE_NONE, cost);
  return columns;
}

/* Columns that are hidden in every row; where padding is mentioned, in most, of scores in half. */
static void add_padding(const struct attn_listing *l, const unsigned char *hidden,
                        struct attn_masks *masks) {
  const struct attn_grid *g = l->grid;
  const int most = g->rows / 2 + (l->role != ATTN_ROLE_MASKED);
  const int least = l->hints->padding ? most : g->rows;
  if (g->rows == 1 && !l->hints->padding) return; /* any zero of one row looks like padding */
  int columns = add_hidden_columns(l, hidden, g->rows, masks);
  if (least < g->rows) columns += add_hidden_columns(l, hidden, least, masks);
  double *both = columns && g->rows == g->cols && g->rows > 2 ? causal(l, 0) : NULL;
  if (!both) return;
  hide_columns(l, hidden, least, both);
  add(l, masks, both, ATTN_MASK_CAUSAL_PADDING, ATTN_CAUSE_NONE, 5);
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

/* The table that the document shows, where it has the size. 1 is visible, or hidden: as in most
 * cells. */
static int add_stated(const struct attn_listing *l, const unsigned char *hidden,
                      struct attn_masks *masks) {
  const struct attn_grid *g = l->grid, *table = l->hints->mask;
  size_t count = cells_of(g), same = 0;
  if (!table || table->rows != g->rows || table->cols != g->cols) return 0;
  double *keep = new_mask(l);
  for (size_t n = 0; n < count; n++) same += (table->value[n] != 0) != hidden[n];
  for (size_t n = 0; keep && n < count; n++)
    keep[n] = (table->value[n] != 0) == (2 * same >= count);
  if (keep) add(l, masks, keep, ATTN_MASK_STATED, ATTN_CAUSE_NONE, 0);
  if (masks->count && 2 * same >= count) masks->at[0].table = table;
  return masks->count;
}

static int is_causal(const struct attn_listing *l, const attn_matrix *keep) {
  attn_matrix all = attn_causal_mask(l);
  return all.at && all.at == keep->at; /* one matrix for each content */
}

void attn_masks_of(const struct attn_listing *l, const unsigned char *hidden,
                   struct attn_masks *out) {
  const struct attn_grid *g = l->grid;
  int one_query = first_query(l) >= 0;
  out->count = 0;
  if (add_stated(l, hidden, out)) {
    if (is_causal(l, &out->at[0].keep)) add_slips(l, hidden, out);
    return;
  }
  if (g->cols > 1 && (one_query || (g->rows > 1 && g->rows == g->cols))) add_causal(l, hidden, out);
  if (!one_query && g->rows == 1 && !l->hints->padding) add_last(l, hidden, out);
  add_padding(l, hidden, out);
}

int attn_draft_mask(struct attn_draft *x, const struct attn_mask *m, int from) {
  int keep = attn_draft_constant(x, ATTN_STEP_MASK, m->keep);
  int ref = attn_draft_use(x, ATTN_OP_MASK, ATTN_STEP_MASKED, 0, from, keep);
  x->use[x->relation.uses - 1].scalar = -(double)INFINITY;
  x->relation.mask = m->kind;
  x->relation.table = m->table;
  return ref;
}

static void list_masked(struct attn_listing *l, const struct attn_node *from,
                        const struct attn_mask *m) {
  struct attn_draft x = attn_draft_over(l, from, NULL, m->cause, m->cost);
  attn_draft_mask(&x, m, 0);
  attn_list(l, &x);
}

/* A bias of the scores, as of their distances; of raw scores that are scaled on the way, too. */
static void list_biased(struct attn_listing *l, const struct attn_node *from, int is_scaled) {
  const struct attn_grid *bias = l->hints->bias;
  if (!bias || bias->rows != l->grid->rows || bias->cols != l->grid->cols) return;
  attn_matrix all = attn_relations_constant(l->memo, bias->rows, bias->cols, bias->value);
  if (!all.at) return;
  int d_k = is_scaled ? 0 : attn_listing_width(l);
  struct attn_divided root = {sqrt(d_k), ATTN_DIVISOR_ROOT, d_k, ATTN_CAUSE_NONE, 1};
  for (int divided = 0; divided < (d_k ? 2 : 1); divided++) {
    struct attn_draft x = attn_draft_over(l, from, NULL, ATTN_CAUSE_NONE, 1 + divided);
    int scaled = divided ? attn_draft_divide(&x, &root, 0) : 0;
    int ref = attn_draft_constant(&x, ATTN_STEP_MASK, all);
    attn_draft_use(&x, ATTN_OP_ADD, ATTN_STEP_MASKED, 0, scaled, ref);
    attn_list(l, &x);
  }
}

/* The cells that look hidden; any: whether there are some. */
unsigned char *attn_hidden_cells(const struct attn_listing *l, int *any) {
  unsigned char *hidden = attn_pool_take(l->memo->pool, cells_of(l->grid));
  if (!hidden) l->memo->failed = 1;
  for (size_t n = 0; hidden && n < cells_of(l->grid); n++)
    *any |= hidden[n] = l->grid->value[n] == -(double)INFINITY && l->grid->blank[n] != 2;
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

/* Every cell that is hidden costs its place. */
static void add_as_printed(const struct attn_listing *l, const unsigned char *hidden,
                           struct attn_masks *masks) {
  double *keep = new_mask(l);
  for (size_t n = 0; keep && n < cells_of(l->grid); n++) keep[n] = !hidden[n];
  add(l, masks, keep, ATTN_MASK_AS_PRINTED, ATTN_CAUSE_NONE, 6 + (double)cells_of(l->grid));
}

/* Called masked, and nothing is. */
static void list_unmasked(struct attn_listing *l, const struct attn_node *from) {
  struct attn_draft x = attn_draft_over(l, from, NULL, ATTN_CAUSE_MASK_IGNORED, 7);
  attn_draft_use(&x, ATTN_OP_DIVIDE, ATTN_STEP_MASKED, 0, 0, 0);
  x.use[x.relation.uses - 1].scalar = 1;
  attn_list(l, &x);
}

/* 0 in place of what a causal mask hides. */
static void list_filled(struct attn_listing *l, const struct attn_node *from,
                        const struct attn_mask *causal) {
  struct attn_draft x = attn_draft_over(l, from, NULL, ATTN_CAUSE_MASK_FILL, 8);
  attn_draft_mask(&x, causal, 0);
  x.use[x.relation.uses - 1].scalar = 0;
  attn_list(l, &x);
}

/* Padding that nothing hides is at the end. */
static void list_unseen_padding(struct attn_listing *l, const struct attn_node *from) {
  double *keep = new_mask(l);
  const int cols = l->grid->cols;
  for (int n = 0; keep && n < l->grid->rows * cols; n++) keep[n] = n % cols < cols - 1;
  struct attn_mask m = {mask_of(l, keep), ATTN_MASK_PADDING, ATTN_CAUSE_NONE, 8, NULL};
  if (m.keep.at) list_masked(l, from, &m);
}

void attn_list_masked(struct attn_listing *l) {
  const struct attn_node *from = attn_listing_node(l, ATTN_ROLE_SCALED);
  int scaled = from != NULL, mentions = l->hints->causal || l->hints->causal_here;
  struct attn_masks masks;
  int any = 0;
  if (!from) from = attn_listing_node(l, ATTN_ROLE_SCORES);
  if (!from) {
    attn_list_skipped(l);
    return;
  }
  const unsigned char *hidden = attn_hidden_cells(l, &any);
  if (!hidden) return;
  list_biased(l, from, scaled);
  attn_masks_of(l, hidden, &masks);
  if (!any) {
    for (int n = 0; n < masks.count; n++) {
      int is_causal = masks.at[n].kind == ATTN_MASK_CAUSAL && mentions;
      if (is_causal) list_filled(l, from, &masks.at[n]);
      if (is_causal || masks.at[n].kind == ATTN_MASK_STATED) list_masked(l, from, &masks.at[n]);
    }
    if (l->hints->padding) list_unseen_padding(l, from);
    if (mentions || l->hints->padding) list_unmasked(l, from);
    return;
  }
  if (masks.count && masks.at[0].kind != ATTN_MASK_STATED) add_as_printed(l, hidden, &masks);
  for (int n = 0; n < masks.count; n++) {
    list_masked(l, from, &masks.at[n]);
    if (!scaled) list_scaled_and_masked(l, from, &masks.at[n]);
  }
}
