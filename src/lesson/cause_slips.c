/* cause_slips.c -- slips in the operation: the step computed as the author may have done it by
 * mistake, from operands as exact and as printed. A step that is not printed shows its slip in the
 * next one that is. */
#include <math.h>
#include <string.h>

#include "causes.h"

/* This step, and what its values were computed from, as far back as something is printed. */
enum { CHAIN_MAX = 6 };
struct chain {
  int32_t step[CHAIN_MAX];
  int count;
};

/* The value of a step by a slip: NO_MORE when there are fewer variants, FAILED when it cannot be
 * computed so. */
enum outcome { NO_MORE, FAILED, COMPUTED };
typedef enum outcome compute_slip(struct attn_cause_search *h, const attn_step *s, int variant,
                                  attn_matrix *out);

enum {
  BY_LINE = 1, /* may be the slip of one row */
  ANYWHERE = 2 /* also of a step before this one */
};

struct slip {
  int op;
  int where;
  int cause;
  compute_slip *compute;
};

static enum outcome evaluate(struct attn_cause_search *h, const attn_step *s, const attn_matrix *a,
                             const attn_matrix *b, attn_matrix *out) {
  const attn_matrix *operand[ATTN_OPERANDS_MAX] = {a, b};
  for (int32_t n = 2; n < s->operands; n++) operand[n] = attn_cause_operand(h, s, n);
  return attn_cause_eval(h, s, operand, out) ? COMPUTED : FAILED;
}

static enum outcome copy(const attn_matrix *m, attn_matrix *out) {
  *out = *m;
  return COMPUTED;
}

static enum outcome divide(struct attn_cause_search *h, const attn_step *s, double by,
                           attn_matrix *out) {
  attn_step as = *s;
  as.op = ATTN_OP_DIVIDE, as.scalar = by, as.operands = 1;
  return by != 0 ? evaluate(h, &as, attn_cause_operand(h, s, 0), NULL, out) : FAILED;
}

/* ---- Scaling --------------------------------------------------------------------------- */

/* The step leaves its operand as it is. */
static enum outcome left_out(struct attn_cause_search *h, const attn_step *s, int variant,
                             attn_matrix *out) {
  return variant ? NO_MORE : copy(attn_cause_operand(h, s, 0), out);
}

static enum outcome by_d_k(struct attn_cause_search *h, const attn_step *s, int variant,
                           attn_matrix *out) {
  return variant ? NO_MORE : divide(h, s, s->scaled_by, out);
}

enum { WIDTHS_MAX = 256 }; /* steps whose width is tried as a divisor */

/* By another width of the example, or its root. */
static enum outcome by_a_width(struct attn_cause_search *h, const attn_step *s, int variant,
                               attn_matrix *out) {
  int32_t n = variant / 4;
  if (n >= h->example->steps || n >= WIDTHS_MAX) return NO_MORE;
  const attn_matrix *m = &h->example->step[n].exact;
  double width = variant & 1 ? m->cols : m->rows;
  return divide(h, s, variant & 2 ? width : sqrt(width), out);
}

static double rounded(double x, int decimals) {
  double unit = pow(10, decimals);
  return round(x * unit) / unit;
}

/* By 1.4 or 1.41 for the root of 2, or times 0.7 or 0.71. */
static enum outcome by_a_rounded_root(struct attn_cause_search *h, const attn_step *s, int variant,
                                      attn_matrix *out) {
  if (variant > 3 || s->scalar == 0) return NO_MORE;
  int decimals = variant / 2 + 1;
  return divide(
      h, s, variant & 1 ? 1 / rounded(1 / s->scalar, decimals) : rounded(s->scalar, decimals), out);
}

/* ---- Mask ------------------------------------------------------------------------------- */

static int sees(const attn_matrix *mask, int32_t i, int32_t j) {
  int32_t row = mask->rows == 1 ? 0 : i, col = mask->cols == 1 ? 0 : j;
  return mask->at[(size_t)row * (size_t)mask->cols + (size_t)col] != 0;
}

/* The mask `by` columns on; a row that would see nothing keeps its own. end: the last column
 * continues past the end. */
static void move_row(const attn_matrix *mask, int32_t i, int32_t by, int end, attn_matrix *moved) {
  int32_t cols = moved->cols, seen = 0;
  double *row = &moved->at[(size_t)i * (size_t)cols];
  for (int32_t j = 0; j < cols; j++) {
    int32_t from = j + by < 0 ? 0 : j + by >= cols ? cols - 1 : j + by;
    row[j] = (j + by < cols || end) && sees(mask, i, from);
    seen += row[j] != 0;
  }
  for (int32_t j = 0; j < cols && !seen; j++) row[j] = sees(mask, i, j);
}

/* Moved by one key, to either side. Along rows in both orientations: a causal mask moved by one
 * key is one moved by one query. */
static enum outcome moved_mask(struct attn_cause_search *h, const attn_step *s, int variant,
                               attn_matrix *out) {
  if (variant > 2) return NO_MORE;
  const attn_matrix *scores = attn_cause_operand(h, s, 0), *mask = attn_cause_operand(h, s, 1);
  attn_matrix moved = attn_matrix_new(h->pool, scores->rows, scores->cols);
  if (!moved.at) return h->out_of_memory = 1, FAILED;
  if ((mask->rows != 1 && mask->rows != moved.rows) ||
      (mask->cols != 1 && mask->cols != moved.cols))
    return FAILED;
  for (int32_t i = 0; i < moved.rows; i++)
    move_row(mask, i, variant ? 1 : -1, variant == 1, &moved);
  return evaluate(h, s, scores, &moved, out);
}

/* ---- Softmax ------------------------------------------------------------------------------ */

/* a / sum of a, along an axis. */
static enum outcome normalize(struct attn_cause_search *h, const attn_step *s, int axis,
                              const attn_matrix *a, attn_matrix *out) {
  attn_step as = *s;
  attn_matrix sum;
  as.axis = axis;
  as.op = ATTN_OP_SUM, as.operands = 1;
  if (evaluate(h, &as, a, NULL, &sum) != COMPUTED) return FAILED;
  as.op = ATTN_OP_QUOTIENT, as.operands = 2;
  return evaluate(h, &as, a, &sum, out);
}

static enum outcome along_other_axis(struct attn_cause_search *h, const attn_step *s, int variant,
                                     attn_matrix *out) {
  attn_step as = *s;
  as.axis = !s->axis;
  return variant ? NO_MORE : evaluate(h, &as, attn_cause_operand(h, s, 0), NULL, out);
}

static enum outcome without_exp(struct attn_cause_search *h, const attn_step *s, int variant,
                                attn_matrix *out) {
  return variant ? NO_MORE : normalize(h, s, s->axis, attn_cause_operand(h, s, 0), out);
}

static enum outcome over_other_sums(struct attn_cause_search *h, const attn_step *s, int variant,
                                    attn_matrix *out) {
  return variant ? NO_MORE : normalize(h, s, !s->axis, attn_cause_operand(h, s, 0), out);
}

static const attn_matrix *rounded_matrix(struct attn_cause_search *h, const attn_matrix *m,
                                         int decimals) {
  attn_matrix *r = attn_pool_take(h->pool, sizeof *r);
  if (r) *r = attn_matrix_new(h->pool, m->rows, m->cols);
  if (!r || !r->at) return h->out_of_memory = 1, NULL;
  for (size_t n = 0; n < (size_t)m->rows * (size_t)m->cols; n++)
    r->at[n] = isfinite(m->at[n]) ? rounded(m->at[n], decimals) : m->at[n];
  return r;
}

/* Exponentials with few digits. */
static enum outcome of_rounded_exponentials(struct attn_cause_search *h, const attn_step *s,
                                            int variant, attn_matrix *out) {
  attn_step as = *s;
  attn_matrix e;
  if (variant >= h->judged->decimals) return NO_MORE;
  as.op = ATTN_OP_EXP, as.operands = 1;
  if (evaluate(h, &as, attn_cause_operand(h, s, 0), NULL, &e) != COMPUTED) return FAILED;
  const attn_matrix *r = rounded_matrix(h, &e, h->judged->decimals - 1 - variant);
  return r ? normalize(h, s, s->axis, r, out) : FAILED;
}

/* ---- Products ----------------------------------------------------------------------------- */

static int32_t find(const struct attn_cause_search *h, const attn_step *s, int name) {
  for (int32_t n = 0; n < h->index; n++) {
    const attn_step *other = &h->example->step[n];
    if (other->name == name && (other->head == s->head || other->head < 0 || s->head < 0)) return n;
  }
  return -1;
}

/* Q with the values of K, or K with those of Q; it may come later. */
static enum outcome of_other_projection(struct attn_cause_search *h, const attn_step *s,
                                        int variant, attn_matrix *out) {
  int other = s->name == ATTN_STEP_Q ? ATTN_STEP_K : s->name == ATTN_STEP_K ? ATTN_STEP_Q : -1;
  if (variant || other < 0) return NO_MORE;
  for (int32_t n = 0; n < h->example->steps; n++) {
    const attn_step *o = &h->example->step[n];
    if (o->name == other && (o->head == s->head || o->head < 0 || s->head < 0))
      return copy(&o->exact, out);
  }
  return NO_MORE;
}

static enum outcome with_factors_swapped(struct attn_cause_search *h, const attn_step *s,
                                         int variant, attn_matrix *out) {
  if (variant || s->name != ATTN_STEP_SCORES) return NO_MORE;
  return evaluate(h, s, attn_cause_operand(h, s, 1), attn_cause_operand(h, s, 0), out);
}

static int same_matrix(const attn_matrix *a, const attn_matrix *b) {
  size_t cells = (size_t)a->rows * (size_t)a->cols;
  return a->rows == b->rows && a->cols == b->cols &&
         memcmp(a->at, b->at, cells * sizeof *a->at) == 0;
}

/* K where V belongs. Where both are equal (V = K, or W_K = W_V), there is nothing to confuse. */
static enum outcome with_keys(struct attn_cause_search *h, const attn_step *s, int variant,
                              attn_matrix *out) {
  int32_t k = find(h, s, ATTN_STEP_K);
  if (variant || k < 0) return NO_MORE;
  int as_printed = h->all[k].tainted || (h->as_printed & 1);
  const attn_matrix *keys = as_printed ? &h->all[k].carried : &h->example->step[k].exact;
  if (s->name == ATTN_STEP_V)
    return same_matrix(&h->example->step[k].exact, &s->exact) ? NO_MORE : copy(keys, out);
  for (int32_t n = 0; s->name == ATTN_STEP_OUTPUT && n < 2; n++) {
    const attn_step *values = &h->example->step[s->operand[n]];
    if (values->name != ATTN_STEP_V || same_matrix(&h->example->step[k].exact, &values->exact))
      continue;
    return evaluate(h, s, n ? attn_cause_operand(h, s, 0) : keys,
                    n ? keys : attn_cause_operand(h, s, 1), out);
  }
  return NO_MORE;
}

/* The operation with factor n turned, or -1. */
static int turned(int op, int n) {
  static const int TURNED[][3] = {{ATTN_OP_MATMUL, ATTN_OP_MATMUL_TN, ATTN_OP_MATMUL_NT},
                                  {ATTN_OP_MATMUL_NT, -1, ATTN_OP_MATMUL},
                                  {ATTN_OP_MATMUL_TN, ATTN_OP_MATMUL, -1}};
  for (size_t r = 0; r < sizeof TURNED / sizeof *TURNED; r++)
    if (TURNED[r][0] == op) return TURNED[r][n + 1];
  return -1;
}

static enum outcome with_factor_turned(struct attn_cause_search *h, const attn_step *s, int n,
                                       attn_matrix *out) {
  attn_step as = *s;
  as.op = turned(s->op, n);
  if (as.op < 0) return FAILED;
  return evaluate(h, &as, attn_cause_operand(h, s, 0), attn_cause_operand(h, s, 1), out);
}

/* What a factor is: a weight matrix (or a nameless right factor), the attention weights, or any. */
enum factor { FACTOR_WEIGHTS, FACTOR_ATTENTION, FACTOR_OTHER };

static enum factor factor_of(const struct attn_cause_search *h, const attn_step *s, int n) {
  int name = h->example->step[s->operand[n]].name;
  if (name >= ATTN_STEP_W_Q && name <= ATTN_STEP_V_A) return FACTOR_WEIGHTS;
  if (name == ATTN_STEP_WEIGHTS) return FACTOR_ATTENTION;
  int nameless = name == ATTN_STEP_OTHER && s->name != ATTN_STEP_OUTPUT;
  return nameless && n == 1 && s->op == ATTN_OP_MATMUL ? FACTOR_WEIGHTS : FACTOR_OTHER;
}

static enum outcome turned_where(struct attn_cause_search *h, const attn_step *s, int variant,
                                 enum factor factor, attn_matrix *out) {
  if (variant > 1) return NO_MORE;
  return factor_of(h, s, variant) == factor ? with_factor_turned(h, s, variant, out) : FAILED;
}

static enum outcome with_weights_turned(struct attn_cause_search *h, const attn_step *s,
                                        int variant, attn_matrix *out) {
  return turned_where(h, s, variant, FACTOR_WEIGHTS, out);
}

static enum outcome with_attention_turned(struct attn_cause_search *h, const attn_step *s,
                                          int variant, attn_matrix *out) {
  return turned_where(h, s, variant, FACTOR_ATTENTION, out);
}

static enum outcome with_other_turned(struct attn_cause_search *h, const attn_step *s, int variant,
                                      attn_matrix *out) {
  return turned_where(h, s, variant, FACTOR_OTHER, out);
}

/* q^T W^T k in place of q^T W k. */
static enum outcome with_general_turned(struct attn_cause_search *h, const attn_step *s,
                                        int variant, attn_matrix *out) {
  attn_step turn = {.op = ATTN_OP_TRANSPOSE, .operands = 1, .axis = 1};
  attn_matrix w;
  if (variant) return NO_MORE;
  if (evaluate(h, &turn, attn_cause_operand(h, s, 2), NULL, &w) != COMPUTED) return FAILED;
  const attn_matrix *operand[] = {attn_cause_operand(h, s, 0), attn_cause_operand(h, s, 1), &w};
  return attn_cause_eval(h, s, operand, out) ? COMPUTED : FAILED;
}

/* ---- Operands with few digits ------------------------------------------------------------- */

/* One operand rounded to fewer digits than it is printed with, or than the result has. */
static enum outcome of_rounded_operand(struct attn_cause_search *h, const attn_step *s, int variant,
                                       attn_matrix *out) {
  int operands = s->operands < 2 ? 1 : 2, n = variant % operands, step = s->operand[n];
  int decimals = h->example->step[step].printings ? h->all[step].decimals : h->judged->decimals;
  int kept = decimals - 1 - variant / operands;
  if (variant > 2 * 12) return NO_MORE;
  if (kept < 0) return FAILED;
  const attn_matrix *r = rounded_matrix(h, attn_cause_operand(h, s, n), kept);
  if (!r) return FAILED;
  return n ? evaluate(h, s, attn_cause_operand(h, s, 0), r, out)
           : evaluate(h, s, r, operands > 1 ? attn_cause_operand(h, s, 1) : NULL, out);
}

/* ---- The slips, the simple and specific first ----------------------------------------------- */

#define PRODUCT(where, cause, compute)                                                   \
  {ATTN_OP_MATMUL, where, cause, compute}, {ATTN_OP_MATMUL_NT, where, cause, compute}, { \
    ATTN_OP_MATMUL_TN, where, cause, compute                                             \
  }

static const struct slip SLIPS[] = {
    {ATTN_OP_DIVIDE, ANYWHERE, ATTN_CAUSE_MISSING_SCALE, left_out},
    {ATTN_OP_DIVIDE, BY_LINE, ATTN_CAUSE_MISSING_SCALE, left_out},
    {ATTN_OP_DIVIDE, ANYWHERE, ATTN_CAUSE_SCALE_BY_DK, by_d_k},
    {ATTN_OP_DIVIDE, BY_LINE, ATTN_CAUSE_SCALE_BY_DK, by_d_k},
    {ATTN_OP_DIVIDE, 0, ATTN_CAUSE_SCALE_WRONG_DIM, by_a_width},
    {ATTN_OP_SOFTMAX, 0, ATTN_CAUSE_SOFTMAX_OVER_COLUMNS, along_other_axis},
    {ATTN_OP_QUOTIENT, 0, ATTN_CAUSE_SOFTMAX_OVER_COLUMNS, over_other_sums},
    {ATTN_OP_SOFTMAX, 0, ATTN_CAUSE_SOFTMAX_WITHOUT_EXP, without_exp},
    {ATTN_OP_EXP, ANYWHERE, ATTN_CAUSE_SOFTMAX_WITHOUT_EXP, left_out},
    {ATTN_OP_MASK, ANYWHERE | BY_LINE, ATTN_CAUSE_MASK_IGNORED, left_out},
    {ATTN_OP_MASK, ANYWHERE | BY_LINE, ATTN_CAUSE_MASK_OFF_BY_ONE, moved_mask},
    PRODUCT(ANYWHERE, ATTN_CAUSE_SWAPPED_QK, of_other_projection),
    PRODUCT(ANYWHERE, ATTN_CAUSE_SWAPPED_QK, with_factors_swapped),
    PRODUCT(BY_LINE, ATTN_CAUSE_K_INSTEAD_OF_V, with_keys),
    PRODUCT(0, ATTN_CAUSE_TRANSPOSED_WEIGHTS, with_weights_turned),
    PRODUCT(0, ATTN_CAUSE_WRONG_WEIGHT_ROW, with_attention_turned),
    PRODUCT(0, ATTN_CAUSE_WRONG_ROW_OR_COLUMN, with_other_turned),
    {ATTN_OP_GENERAL, 0, ATTN_CAUSE_TRANSPOSED_WEIGHTS, with_general_turned},
};

static const struct slip COARSE[] = {
    {ATTN_OP_DIVIDE, BY_LINE, ATTN_CAUSE_ROUNDING_TOO_COARSE, by_a_rounded_root},
    {ATTN_OP_DIVIDE, BY_LINE, ATTN_CAUSE_ROUNDING_TOO_COARSE, of_rounded_operand},
    {ATTN_OP_EXP, BY_LINE, ATTN_CAUSE_ROUNDING_TOO_COARSE, of_rounded_operand},
    {ATTN_OP_SOFTMAX, BY_LINE, ATTN_CAUSE_ROUNDING_TOO_COARSE, of_rounded_operand},
    {ATTN_OP_SOFTMAX, BY_LINE, ATTN_CAUSE_ROUNDING_TOO_COARSE, of_rounded_exponentials},
    {ATTN_OP_QUOTIENT, BY_LINE, ATTN_CAUSE_ROUNDING_TOO_COARSE, of_rounded_operand},
    PRODUCT(BY_LINE, ATTN_CAUSE_ROUNDING_TOO_COARSE, of_rounded_operand),
};

/* ---- Does a slip explain what is printed? --------------------------------------------------- */

static int passes_on(int op) {
  return op == ATTN_OP_MASK || op == ATTN_OP_SOFTMAX || op == ATTN_OP_EXP || op == ATTN_OP_SHIFT ||
         op == ATTN_OP_DIVIDE || op == ATTN_OP_QUOTIENT;
}

static struct chain chain_of(const struct attn_cause_search *h) {
  struct chain c = {{h->index}, 1};
  while (c.count < CHAIN_MAX) {
    const attn_step *s = &h->example->step[c.step[c.count - 1]];
    if (!passes_on(s->op) || (c.count > 1 && s->printings)) break;
    c.step[c.count++] = s->operand[0];
  }
  return c;
}

/* A step from another value of its first operand; sums of that one are computed again. */
static enum outcome pass_on(struct attn_cause_search *h, const attn_step *s,
                            const attn_matrix *value, attn_matrix *out) {
  if (s->op == ATTN_OP_QUOTIENT) return normalize(h, s, s->axis, value, out);
  return evaluate(h, s, value, s->operands > 1 ? attn_cause_operand(h, s, 1) : NULL, out);
}

static enum outcome result_of(struct attn_cause_search *h, const struct chain *c, int depth,
                              const struct slip *slip, int variant, attn_matrix *out) {
  attn_matrix value;
  enum outcome o = slip->compute(h, &h->example->step[c->step[depth]], variant, &value);
  for (int k = depth - 1; k >= 0 && o == COMPUTED; k--) {
    attn_matrix from = value;
    o = pass_on(h, &h->example->step[c->step[k]], &from, &value);
  }
  if (o == COMPUTED) *out = value;
  return o;
}

static void mark(struct attn_cause_search *h, const attn_matrix *m) {
  if (m->rows != h->step->exact.rows || m->cols != h->step->exact.cols) return;
  for (size_t n = 0; n < h->cells; n++)
    if (h->judged->printed[n] && attn_cause_fits(h, n, m->at[n])) h->explained[n] = 1;
}

static int all_marked(const struct attn_cause_search *h, struct attn_cell_line line) {
  for (size_t n = 0; n < line.count; n++) {
    size_t at = line.first + n * line.stride;
    if (h->judged->printed[at] && !h->explained[at]) return 0;
  }
  return 1;
}

static int explains(struct attn_cause_search *h, const struct chain *c, int depth,
                    const struct slip *slip, struct attn_cell_line line) {
  unsigned readings = attn_cause_readings(&h->example->step[c->step[depth]]);
  enum outcome o = COMPUTED;
  for (int variant = 0; o != NO_MORE && h->work > 0; variant++) {
    memset(h->explained, 0, h->cells);
    for (h->as_printed = 0; h->as_printed < readings && o != NO_MORE; h->as_printed++) {
      attn_matrix out;
      o = result_of(h, c, depth, slip, variant, &out);
      if (o == COMPUTED) mark(h, &out);
    }
    h->as_printed = 0;
    if (o != NO_MORE && all_marked(h, line)) return 1;
  }
  return 0;
}

static int first_of(struct attn_cause_search *h, const struct slip *slip, size_t slips,
                    struct attn_cell_line line, int by_line) {
  struct chain c = chain_of(h);
  for (int depth = 0; depth < c.count; depth++)
    for (size_t n = 0; n < slips; n++) {
      int op = h->example->step[c.step[depth]].op;
      if (slip[n].op != op || (depth && !(slip[n].where & ANYWHERE)) ||
          (by_line && !(slip[n].where & BY_LINE)))
        continue;
      if (explains(h, &c, depth, &slip[n], line)) return slip[n].cause;
    }
  return ATTN_CAUSE_NONE;
}

static int any(struct attn_cause_search *h, struct attn_cell_line line, int by_line) {
  int cause = first_of(h, SLIPS, sizeof SLIPS / sizeof *SLIPS, line, by_line);
  return cause ? cause : first_of(h, COARSE, sizeof COARSE / sizeof *COARSE, line, by_line);
}

int attn_cause_of_whole(struct attn_cause_search *h) {
  return any(h, (struct attn_cell_line){0, 1, h->cells, 0}, 0);
}

int attn_cause_of_operation(struct attn_cause_search *h, struct attn_cell_line line) {
  return any(h, line, 1);
}
