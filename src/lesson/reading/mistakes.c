/* mistakes.c -- matrices that are called by their names and do not go together. */
#include <string.h>

#include "ascii.h"
#include "error.h"
#include "reading.h"
#include "role_search.h"
#include "steps.h"

/* Its rows or columns are as many as the rows or columns of the other; of the rules of a role, the
 * first whose other is known counts. */
static const struct fit {
  int role, of_rows, other, other_rows;
} FITS[] = {
    {ATTN_ROLE_W_Q, 1, ATTN_ROLE_Y, 0},     {ATTN_ROLE_W_Q, 1, ATTN_ROLE_X, 0},
    {ATTN_ROLE_W_K, 1, ATTN_ROLE_X, 0},     {ATTN_ROLE_W_V, 1, ATTN_ROLE_X, 0},
    {ATTN_ROLE_K, 0, ATTN_ROLE_Q, 0},       {ATTN_ROLE_V, 1, ATTN_ROLE_K, 1},
    {ATTN_ROLE_V, 1, ATTN_ROLE_WEIGHTS, 0},
};

static const double CALLED = 5.9, OWN_NAME = 8; /* bits: by a caption, by a name */

struct named {
  struct attn_scan *scan;
  const struct attn_reading *reading;
  const struct attn_priors *priors;
  attn_error *err;
  int block; /* that is checked */
};

/* The role that a block is called by; OTHER: none, or its numbers are part of a sentence. One
 * number below "multiply it with each key:" is a result. */
static int named_role(struct attn_scan *scan, const struct attn_priors *priors, int block) {
  const struct attn_priors *p = &priors[block];
  int role = ATTN_ROLE_OTHER, source = scan->block[block].source;
  const attn_printing *is = &scan->block[block].reading[0];
  if (source == ATTN_BLOCK_INLINE || source == ATTN_BLOCK_SCALARS) return role;
  if (is->rows * is->cols == 1 && p->best < OWN_NAME) return role;
  for (int r = 0; r < ATTN_ROLES; r++) /* "V" is that of values before that of additive scores */
    if (p->bits[r] >= CALLED && p->bits[r] == p->best &&
        (role == ATTN_ROLE_OTHER || r == ATTN_ROLE_V || r == ATTN_ROLE_MASKED))
      role = r; /* "padding keys set to -∞" are no keys */
  int may_be_additive = role == ATTN_ROLE_V && p->bits[ATTN_ROLE_V_A] == p->best;
  return may_be_additive && attn_mentions_tanh(scan) ? ATTN_ROLE_V_A : role;
}

/* The only block before that is called by a role, in the same example. NULL: there is none, or
 * more. */
static const attn_printing *named(const struct named *n, int role) {
  const attn_printing *found = NULL;
  for (int b = n->block - 1; b >= 0 && !attn_is_section(n->scan, &n->scan->block[b + 1]); b--) {
    if (named_role(n->scan, n->priors, b) != role) continue;
    if (found) return NULL;
    found = &n->scan->block[b].reading[0];
  }
  return found;
}

static int is_of_weights(int role) { return role >= ATTN_ROLE_W_Q && role <= ATTN_ROLE_W_O; }

/* The input below its weights, with nothing but weights between. */
static const attn_printing *input_below(const struct named *n, int role) {
  if (role != ATTN_ROLE_X && role != ATTN_ROLE_Y) return NULL;
  int b = n->block + 1;
  while (b < n->scan->blocks && is_of_weights(named_role(n->scan, n->priors, b)) &&
         !attn_is_section(n->scan, &n->scan->block[b]))
    b++;
  int is_input = b < n->scan->blocks && !attn_is_section(n->scan, &n->scan->block[b]) &&
                 n->reading->placement[b]->role == role &&
                 named_role(n->scan, n->priors, b) == role;
  return is_input ? &n->scan->block[b].reading[0] : NULL;
}

static const char *symbol_of(int role) { return attn_default_symbol(attn_step_of_role(role)); }

static attn_status check_fit(const struct named *n, const attn_printing *p, const struct fit *fit,
                             const attn_printing *other) {
  int size = fit->of_rows ? p->rows : p->cols, turned = fit->of_rows ? p->cols : p->rows;
  int wanted = fit->other_rows ? other->rows : other->cols;
  int is_inner = fit->role == ATTN_ROLE_K;
  int is_list = fit->role == ATTN_ROLE_V && fit->other_rows && p->rows == 1 && turned == wanted;
  if (size == wanted || is_list) return ATTN_OK;
  return attn_fail_at(n->err, ATTN_ERR_FORMAT, p->line, p->column,
                      "%s (line %d) has %d %s, but %s (line %d) has %d %s%s%s",
                      symbol_of(fit->role), (int)p->line, size, fit->of_rows ? "rows" : "columns",
                      symbol_of(fit->other), (int)other->line, wanted,
                      fit->other_rows ? "rows" : "columns",
                      is_inner ? ": their rows are multiplied, so both must be equal" : "",
                      turned != wanted ? ""
                      : is_inner       ? "; did you mean the transpose?"
                                       : ": did you mean the transpose?");
}

/* Below the matrix that is called so, one row, which is mentioned: "the mean of the values (1, 0)";
 * or a column of what is computed with each of its rows: "the dot products with the keys". */
static int is_mentioned(const struct named *n, const attn_printing *p, int role) {
  const attn_printing *of = p->rows == 1 || p->cols == 1 ? named(n, role) : NULL;
  return of && of->rows > 1 && (p->rows == 1 ? of->cols == p->cols : of->rows == p->rows);
}

static attn_status check_fits(const struct named *n, const attn_printing *p, int role) {
  if (is_mentioned(n, p, role)) return ATTN_OK;
  for (int below = 0; below < 2; below++)
    for (size_t f = 0; f < sizeof FITS / sizeof *FITS; f++) {
      if (FITS[f].role != role) continue;
      const attn_printing *other = (below ? input_below : named)(n, FITS[f].other);
      if (other) return check_fit(n, p, &FITS[f], other);
    }
  return ATTN_OK;
}

/* Scores and weights: a row for each query, a column for each key, or one of these rows. */
static attn_status check_result(const struct named *n, const attn_printing *p, int role) {
  const attn_printing *q = named(n, ATTN_ROLE_Q), *k = named(n, ATTN_ROLE_K);
  if (!attn_role_is_of_scores(role) || role == ATTN_ROLE_ROW_SUM || !q || !k) return ATTN_OK;
  int transposed = p->rows == k->rows && p->cols == q->rows;
  if (p->rows == 1 || p->cols == 1 || transposed) return ATTN_OK;
  if (p->rows == q->rows && p->cols == k->rows) return ATTN_OK;
  return attn_fail_at(n->err, ATTN_ERR_FORMAT, p->line, p->column,
                      "%s is printed as %dx%d, but Q (%dx%d, line %d) and K (%dx%d, line %d) give "
                      "it %dx%d",
                      symbol_of(role), (int)p->rows, (int)p->cols, (int)q->rows, (int)q->cols,
                      (int)q->line, (int)k->rows, (int)k->cols, (int)k->line, (int)q->rows,
                      (int)k->rows);
}

/* Not "(" alone. */
static int is_name(const char *text) {
  while (*text && !attn_is_letter(*text) && !((unsigned char)*text & 0x80)) text++;
  return *text != 0;
}

/* "X = .." once more in the example, of another size. */
static attn_status check_again(const struct named *n, const struct attn_reading *reading,
                               int role) {
  const struct attn_block *again = &n->scan->block[n->block];
  int example = reading->placement[n->block]->example;
  if (role > ATTN_ROLE_V || again->source != ATTN_BLOCK_GRID || !is_name(again->name))
    return ATTN_OK;
  for (int b = n->block - 1; b >= 0; b--) {
    const struct attn_placement *p = reading->placement[b];
    const struct attn_block *first = &n->scan->block[b];
    const attn_printing *x = &first->reading[0], *y = &again->reading[0];
    if (p->role != role || p->example != example || strcmp(first->name, again->name) != 0) continue;
    if (first->source != ATTN_BLOCK_GRID || (x->rows == y->rows && x->cols == y->cols)) continue;
    return attn_fail_at(n->err, ATTN_ERR_FORMAT, y->line, y->column,
                        "%s is given twice within one example: %dx%d here, %dx%d at line %d; "
                        "correct one, or begin a new example with a heading",
                        symbol_of(role), (int)y->rows, (int)y->cols, (int)x->rows, (int)x->cols,
                        (int)x->line);
  }
  return ATTN_OK;
}

/* Does the reading depend on columns, or on weights that are transposed? Not where it explains
 * nothing, or has all weights as they are printed. */
static int is_turned(const struct attn_reading *r) {
  int explained = 0, turned = 0, printed = 0;
  for (int n = 0; n < r->placements; n++) {
    const struct attn_relation *x = r->placement[n]->relation;
    int is_slip = x && x->cause == ATTN_CAUSE_TRANSPOSED_WEIGHTS;
    explained |= x != NULL;
    printed |= is_slip;
    turned |= !is_slip && attn_tells_orientation(x);
  }
  int is_transposed = r->transposed_weights && (turned || !printed);
  return explained && (r->columns != ATTN_COLUMNS_NONE || is_transposed);
}

attn_status attn_find_mistakes(struct attn_scan *scan, const struct attn_reading *reading,
                               const struct attn_priors *priors, attn_error *err) {
  attn_status status = ATTN_OK;
  if (is_turned(reading)) return ATTN_OK;
  int searched = reading->placements < ATTN_SEARCHED_MAX ? reading->placements : ATTN_SEARCHED_MAX;
  for (int i = 0; i < searched && !status; i++) {
    const struct attn_placement *p = reading->placement[i];
    struct named n = {scan, reading, priors, err, i};
    int role = named_role(scan, priors, i), is_read = p->relation || p->is_copy;
    if (role != ATTN_ROLE_OTHER && role != p->role) status = check_again(&n, reading, role);
    if (status || role == ATTN_ROLE_OTHER || is_read ||
        (p->node && attn_is_operand(reading, p->node, 0)))
      continue;
    status = check_fits(&n, &scan->block[i].reading[0], role);
    if (!status && priors[i].best >= OWN_NAME)
      status = check_result(&n, &scan->block[i].reading[0], role);
  }
  return status;
}
