/* assign.c -- a beam search over the blocks in the order of the document, but weights before their
 * product, in five settings. States that cannot reach the score of a reading that is known are
 * dropped. */
#include <math.h>
#include <string.h>

#include "beam.h"

enum {
  BEAM = 28,       /* states that are kept after each block; fewer in long documents */
  BEAM_NARROW = 3, /* of a first look */
  BEAM_LONG = 12,
  BEAM_LONGEST = 5,
  LONG = 30, /* blocks */
  LONGEST = 60,
};
static const double WORK = 1.2e8; /* of a document at most, in about nanoseconds */

static const double ANY = -INFINITY; /* a score */

/* ---- One setting ---- */

/* The document with its candidates, one for each block that is searched. */
struct searched_document {
  struct attn_scan *scan;
  struct attn_relations *relations;
  int blocks;
  struct attn_candidate *candidate;
  int *order;                    /* in which the candidates are read */
  const struct attn_grid **grid; /* the likely reading of each block */
  struct attn_evidence *evidence;
  double *most; /* bits that a block and those after it may add to a score */
  struct attn_budget budget;
  int by_columns; /* the text mentions that a query is a column */
  int width;      /* of the beam */
};

static int set_grids(struct searched_document *d, struct attn_candidate *c, int columns,
                     int transposed) {
  for (int i = 0; i < c->readings; i++) {
    int all = columns == ATTN_COLUMNS_ALL, scores = columns != ATTN_COLUMNS_NONE;
    c->grid[i] = attn_grid_of(d->relations, d->scan, c->block, i, all);
    c->weights[i] = attn_grid_of(d->relations, d->scan, c->block, i, all ^ transposed);
    c->scores[i] = attn_grid_of(d->relations, d->scan, c->block, i, scores);
    if (!c->grid[i] || !c->weights[i] || !c->scores[i]) return -1;
  }
  c->hints.transposed_weights = transposed;
  return 0;
}

/* With the rows that may be a header. */
static const struct attn_grid *whole_table(const struct attn_candidate *c) {
  const struct attn_grid *most = c->scores[0];
  for (int i = 1; i < c->readings; i++)
    if (c->scores[i]->rows * c->scores[i]->cols > most->rows * most->cols) most = c->scores[i];
  return most;
}

static void set_most(struct searched_document *d) {
  d->most[d->blocks] = 0;
  for (int i = d->blocks - 1; i >= 0; i--)
    d->most[i] = d->most[i + 1] + attn_most_bits(&d->candidate[d->order[i]]);
}

static const double UNNAMED = 4;    /* bits: a block that no role's words are near */
static const double OWN_NAME = 5.9; /* one that is called so */
static const double BY_ITSELF = 7;  /* next to its numbers, not above them */

static int set_candidates(struct searched_document *d, int columns, int transposed) {
  for (int i = 0; i < d->blocks; i++) {
    if (set_grids(d, &d->candidate[i], columns, transposed)) return -1;
    d->grid[i] = d->candidate[i].grid[0];
  }
  attn_find_evidence(d->grid, d->blocks, d->evidence);
  const struct attn_grid *mask = NULL, *bias = NULL;
  for (int i = 0; i < d->blocks; i++) {
    struct attn_candidate *c = &d->candidate[i];
    c->evidence = d->evidence[i];
    if (i > 0 && c->section != c[-1].section) mask = bias = NULL;
    c->hints.mask = mask, c->hints.bias = bias;
    if (c->names_bias || c->priors->best < UNNAMED) bias = c->scores[0];
    if (attn_is_mask_table(c)) mask = whole_table(c);
  }
  set_most(d);
  return 0;
}

static const double CONTRARY = 20; /* a setting that the text speaks against, in bits */

/* *last: the state after the last block, of the memory of pool; NULL: none has a score of `least`.
 * Returns 0, or -1: no memory. */
static int search_document(struct searched_document *d, int width, double least,
                           struct attn_pool *pool, const struct attn_state **last) {
  struct attn_beam *s = attn_beam_new(d->relations, &d->budget, pool, width);
  if (!s) return -1;
  for (int i = 0; i < d->blocks && attn_beam_best(s); i++)
    if (attn_beam_advance(s, &d->candidate[d->order[i]], least - d->most[i + 1])) return -1;
  *last = attn_beam_best(s);
  return attn_relations_failed(d->relations) ? -1 : 0;
}

/* A narrow beam finds a reading, which a wide one surpasses; or not, where states that are better
 * for a while fill it. */
static int search_twice(struct searched_document *d, int width, double least,
                        struct attn_pool *pool, const struct attn_state **last) {
  const struct attn_state *narrow;
  if (search_document(d, BEAM_NARROW, least, pool, &narrow)) return -1;
  if (narrow) least = narrow->score - ATTN_EQUAL_SCORES;
  if (search_document(d, width, least, pool, last)) return -1;
  if (!*last) *last = narrow;
  return 0;
}

/* ---- The reading ---- */

static int copy_placements(struct searched_document *d, const struct attn_state *last,
                           struct attn_reading *out) {
  struct attn_pool *pool = d->scan->pool;
  int n = d->scan->blocks;
  struct attn_placement *all = attn_pool_take(pool, (size_t)n * sizeof *all);
  out->placement = attn_pool_take(pool, (size_t)n * sizeof *out->placement);
  if (!all || !out->placement) return -1;
  for (const struct attn_placement *p = last->last; p; p = p->before) all[p->block] = *p;
  for (int i = 0; i < n; i++) {
    if (i >= d->blocks)
      all[i] =
          (struct attn_placement){.block = i, .role = ATTN_ROLE_OTHER, .example = last->examples};
    all[i].before = i > 0 ? &all[i - 1] : NULL;
    out->placement[i] = &all[i];
  }
  out->placements = n;
  out->order = d->order;
  return 0;
}

static int copy_states(struct searched_document *d, const struct attn_state *last,
                       struct attn_reading *out) {
  struct attn_pool *pool = d->scan->pool;
  int n = last->examples + 1;
  struct attn_state *all = attn_pool_take(pool, (size_t)n * sizeof *all);
  out->example = attn_pool_take(pool, (size_t)n * sizeof *out->example);
  if (!all || !out->example) return -1;
  for (const struct attn_state *s = last; s; s = s->finished) {
    struct attn_state *copy = &all[s->examples];
    *copy = *s;
    if (s->last) copy->last = out->placement[s->last->block];
    if (s->finished) copy->finished = &all[s->finished->examples];
    out->example[s->examples] = copy;
  }
  out->examples = n;
  return 0;
}

const struct attn_roles *attn_roles_of(const struct attn_reading *reading,
                                       const struct attn_placement *p) {
  const struct attn_roles *all = &reading->example[p->example]->head[p->head];
  return all->done ? &p->roles : all;
}

/* The settings. A setting that is not the usual one has its price in bits. */
static const struct search_setting {
  int columns, transposed_weights;
  double price;
} SETTING[] = {{ATTN_COLUMNS_NONE, 0, 0},
               {ATTN_COLUMNS_SCORES, 0, 6},
               {ATTN_COLUMNS_ALL, 0, 6},
               {ATTN_COLUMNS_NONE, 1, 6},
               {ATTN_COLUMNS_ALL, 1, 14}};

/* The price of scores in columns: where their name is Q K^T, or the text takes the softmax of rows.
 */
static const double STATED_IN_ROWS = 8;
static double price_of_columns(const struct searched_document *d,
                               const struct search_setting *setting,
                               const struct attn_state *last) {
  static const char IN_ROWS[] =
      "(*UCP)\\bQ\\w{0,3}\\s*[·@*.×]?\\s*K\\w{0,3}\\s*(?:\\^?\\s*T\\b|'|\\.T)";
  if (setting->columns != ATTN_COLUMNS_SCORES) return 0;
  if (attn_mentions_softmax_of_rows(d->scan)) return CONTRARY;
  for (const struct attn_placement *p = last->last; p; p = p->before)
    if (p->role == ATTN_ROLE_SCORES && p->relation &&
        attn_occurs(d->scan->patterns, IN_ROWS, d->scan->block[p->block].name))
      return STATED_IN_ROWS;
  return 0;
}

int attn_tells_orientation(const struct attn_relation *r) {
  if (!r || r->role < ATTN_ROLE_Q || r->role > ATTN_ROLE_V || r->operands < 2) return 0;
  return !attn_grid_is_symmetric(r->operand[1]->grid);
}

/* Transposed weights that at most one product tells from others may be its slip, and those of a
 * product that is written in the other order are. */
static const double ONE_PRODUCT = 8;
static double price_of_weights(const struct searched_document *d,
                               const struct search_setting *setting,
                               const struct attn_state *last) {
  int products = 0, order = attn_order_of_weights(d->scan, setting->columns);
  if (!setting->transposed_weights || order < 0) return 0;
  if (order > 0) return CONTRARY;
  for (const struct attn_placement *p = last->last; p; p = p->before)
    if (!p->is_copy && attn_tells_orientation(p->relation)) {
      const struct attn_grid *w = p->relation->operand[1]->grid;
      products += w->rows == w->cols ? 1 : 2;
    }
  return products < 2 ? ONE_PRODUCT : 0;
}

static int try_setting(struct searched_document *d, const struct search_setting *setting,
                       struct attn_pool *pool, struct attn_reading *best) {
  if (set_candidates(d, setting->columns, setting->transposed_weights)) return -1;
  double price = d->by_columns ? (setting->columns ? 0 : CONTRARY) : setting->price;
  const struct attn_state *last;
  double least = best->examples ? best->score + price - ATTN_EQUAL_SCORES : ANY;
  int failed = search_twice(d, d->width, least, pool, &last);
  if (failed || !last) return failed;
  double score =
      last->score - price - price_of_columns(d, setting, last) - price_of_weights(d, setting, last);
  if (best->examples && score <= best->score) return 0;
  best->columns = setting->columns;
  best->transposed_weights = setting->transposed_weights;
  best->score = score;
  best->exhausted = d->budget.exhausted;
  return copy_placements(d, last, best) || copy_states(d, last, best) ? -1 : 0;
}

static int is_orientation_slip(const struct attn_relation *r) {
  return r && (r->cause == ATTN_CAUSE_TRANSPOSED_WEIGHTS || r->cause == ATTN_CAUSE_SWAPPED_QK ||
               r->cause == ATTN_CAUSE_SOFTMAX_OVER_COLUMNS);
}

/* Constants of a reading that no other setting would improve. */
static const double FITS = .4;            /* of the cells of a block that is explained */
static const int EXPLAINED = 3;           /* blocks */
static const double EXPLAINED_SHARE = .3; /* or of all blocks */

/* A table of the mask: in no setting it is a step. */
static int is_mask_table(const struct searched_document *d, int block) {
  const struct attn_grid *g = d->grid[block];
  if (d->candidate[block].priors->bits[ATTN_ROLE_MASKED] <= 0) return 0;
  for (int n = 0; n < g->rows * g->cols; n++)
    if (g->value[n] != 0 && g->value[n] != 1 && !isinf(g->value[n])) return 0;
  return 1;
}

/* Is a block given as something that its own name denies? */
static int is_called_otherwise(const struct searched_document *d, const struct attn_placement *p) {
  const struct attn_priors *named = d->candidate[p->block].priors;
  return p->node && !p->relation && !p->is_copy && named->best >= OWN_NAME &&
         named->bits[p->role] <= 0;
}

static int is_clear(const struct searched_document *d, const struct attn_reading *r) {
  int explained = 0;
  for (int i = 0; i < d->blocks; i++) {
    const struct attn_placement *p = r->placement[i];
    if (p->role == ATTN_ROLE_OTHER && d->scan->block[i].reading[0].rows > 1 && !is_mask_table(d, i))
      return 0;
    if (is_orientation_slip(p->relation) || is_called_otherwise(d, p)) return 0;
    if ((p->relation || p->is_copy) && p->node->share >= FITS) explained++;
  }
  return explained >= EXPLAINED || explained >= EXPLAINED_SHARE * d->blocks;
}

/* Would no other setting improve the reading in the usual one? */
static int is_best(const struct searched_document *d, const struct attn_reading *r) {
  return !d->by_columns && is_clear(d, r);
}

/* Scores in columns with the product and the softmax of rows are perhaps in rows: that reading was
 * lost. */
static int may_be_in_rows(const struct searched_document *d, const struct attn_reading *r) {
  int swapped = 0, other_axis = 0;
  for (int i = 0; i < d->blocks && r->columns == ATTN_COLUMNS_SCORES; i++) {
    int cause = r->placement[i]->relation ? r->placement[i]->relation->cause : ATTN_CAUSE_NONE;
    swapped |= cause == ATTN_CAUSE_SWAPPED_QK;
    other_axis |= cause == ATTN_CAUSE_SOFTMAX_OVER_COLUMNS;
  }
  return swapped && other_axis && !d->by_columns;
}

/* Bits that a right reading in rows is better by, at least: two slips, of the product and of the
 * softmax, cost more than blocks that are not what they are called. */
static const double LOST = 8;
enum { WIDER = 7 };

/* Looks for it once more, with a beam that keeps more states. */
static int try_rows(struct searched_document *d, struct attn_pool *pool, struct attn_reading *out) {
  const struct attn_reading kept = *out;
  d->width = d->width * WIDER < ATTN_BEAM_WIDE ? d->width * WIDER : ATTN_BEAM_WIDE;
  out->score += LOST;
  int failed = try_setting(d, &SETTING[0], pool, out);
  if (out->score <= kept.score + LOST) *out = kept;
  return failed;
}

static int try_settings(struct searched_document *d, struct attn_reading *out) {
  struct attn_pool *pool = attn_pool_new();
  int failed = !pool;
  for (size_t i = 0; i < sizeof SETTING / sizeof *SETTING && !failed; i++) {
    attn_pool_clear(pool);
    failed = try_setting(d, &SETTING[i], pool, out);
    if (d->budget.exhausted || (i == 0 && !failed && is_best(d, out))) break;
  }
  if (!failed && !d->budget.exhausted && may_be_in_rows(d, out)) {
    attn_pool_clear(pool);
    failed = try_rows(d, pool, out);
  }
  attn_pool_free(pool);
  return failed ? -1 : 0;
}

/* The place in the order of the only block that is called so; -1: none, or several. */
static int only_called(const struct searched_document *d, int role, double least) {
  int found = -1;
  for (int i = 0; i < d->blocks; i++) {
    const struct attn_priors *p = d->candidate[d->order[i]].priors;
    if (p->bits[role] < least || p->bits[role] < p->best) continue;
    if (found >= 0) return -1;
    found = i;
  }
  return found;
}

/* "The result is O = ..", then Q, K and V: the output is read last. */
static void move_result(struct searched_document *d) {
  if (only_called(d, ATTN_ROLE_OUTPUT, BY_ITSELF) != 0 ||
      only_called(d, ATTN_ROLE_V, BY_ITSELF) < 0)
    return;
  const struct attn_priors *p = d->candidate[0].priors; /* h1 may be a state */
  if (p->bits[ATTN_ROLE_X] >= p->best || p->bits[ATTN_ROLE_K] >= p->best) return;
  for (int i = 1; i < d->blocks; i++) d->order[i - 1] = i;
  d->order[d->blocks - 1] = 0;
}

/* The weights of a projection may be printed after it: also those that captions name, right after
 * it. */
static int move_weights(struct searched_document *d, int role, double least) {
  int x = only_called(d, ATTN_ROLE_X, least), from = only_called(d, role, least),
      to = only_called(d, ATTN_ROLE_Q + role - ATTN_ROLE_W_Q, least);
  if (x < 0 || to < x || from < to || (least < BY_ITSELF && from != to + 1)) return 0;
  int moved = d->order[from];
  memmove(d->order + to + 1, d->order + to, (size_t)(from - to) * sizeof *d->order);
  return d->order[to] = moved, 1;
}

static void set_order(struct searched_document *d) {
  for (int i = 0; i < d->scan->blocks; i++) d->order[i] = i;
  move_result(d);
  for (int role = ATTN_ROLE_W_Q; role <= ATTN_ROLE_W_V; role++)
    if (!move_weights(d, role, BY_ITSELF)) move_weights(d, role, OWN_NAME);
}

static int set_document(struct searched_document *d, const struct attn_priors *priors) {
  struct attn_pool *pool = d->scan->pool;
  int all = d->scan->blocks, n = all < ATTN_SEARCHED_MAX ? all : ATTN_SEARCHED_MAX;
  d->blocks = n;
  d->width = n > LONGEST ? BEAM_LONGEST : n > LONG ? BEAM_LONG : BEAM;
  d->budget = (struct attn_budget){.left = WORK};
  d->candidate = attn_pool_take(pool, (size_t)n * sizeof *d->candidate);
  d->order = attn_pool_take(pool, (size_t)all * sizeof *d->order);
  d->grid = attn_pool_take(pool, (size_t)n * sizeof *d->grid);
  d->evidence = attn_pool_take(pool, (size_t)n * sizeof *d->evidence);
  d->most = attn_pool_take(pool, ((size_t)n + 1) * sizeof *d->most);
  if (!d->candidate || !d->order || !d->grid || !d->evidence || !d->most) return -1;
  struct attn_hints hints = {.text = NULL};
  attn_document_hints(d->scan, &hints);
  d->by_columns = attn_mentions_columns(d->scan);
  int section = 0;
  for (int i = 0; i < n; i++) {
    struct attn_candidate *c = &d->candidate[i];
    c->block = i;
    c->section = section += attn_is_section(d->scan, &d->scan->block[i]);
    c->readings = d->scan->block[i].readings;
    c->priors = &priors[i];
    c->all_priors = priors;
    c->hints = hints;
    if (attn_read_hints(d->scan, &d->scan->block[i], c)) return -1;
  }
  set_order(d);
  return 0;
}

attn_status attn_assign(struct attn_scan *scan, struct attn_relations *relations,
                        const struct attn_priors *priors, struct attn_reading *out) {
  struct searched_document d = {.scan = scan, .relations = relations};
  memset(out, 0, sizeof *out);
  if (set_document(&d, priors) || try_settings(&d, out)) return ATTN_ERR_MEMORY;
  if (scan->blocks > d.blocks) out->exhausted = 1;
  return ATTN_OK;
}
