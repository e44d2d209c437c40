/* contradicted.c -- words and numbers of the page that do not agree with the place of a step,
 * though its numbers fit there: then its example is at most doubtful. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "blocks.h"
#include "cell.h"
#include "placed.h"
#include "role_search.h"
#include "step_builder.h"

static const double CALLED = 4; /* bits: two blocks that are called by each other's role */
enum { BLOCKS = 64 };           /* above a block that are searched for the text of their section */

int attn_best_role(const struct attn_priors *named, int first, int last) {
  while (first <= last && named->bits[first] != named->best) first++;
  return first <= last ? first : ATTN_ROLE_OTHER;
}

/* Is a block computed from an input, by all its numbers? */
static int is_computed_from(const struct attn_node *of, const struct attn_node *input) {
  const struct attn_relation *r = of ? of->relation : NULL;
  for (int n = 0; r && of->share == 1 && n < r->operands; n++)
    if (r->operand[n] == input) return 1;
  return 0;
}

int attn_is_called_after_result(const struct attn_builder *b, const struct attn_placement *p,
                                int called) {
  const struct attn_priors *named = &b->priors[p->block];
  const struct attn_node *of = attn_roles_of(b->reading, p)->at[called];
  return named->best < ATTN_OWN_NAME && is_computed_from(of, p->node) &&
         b->priors[of->grid->block].bits[called] >= named->best;
}

/* The role that a block is called by: of a result if it may be one, of values rather than of the
 * vector of additive scores. OTHER: none. */
static int called_role(const struct attn_priors *named) {
  if (named->best < CALLED) return ATTN_ROLE_OTHER;
  int role = attn_best_role(named, ATTN_ROLE_SCORES, ATTN_ROLES - 1);
  if (role == ATTN_ROLE_OTHER) role = attn_best_role(named, ATTN_ROLE_Q, ATTN_ROLE_V);
  return role != ATTN_ROLE_OTHER ? role : attn_best_role(named, ATTN_ROLE_X, ATTN_ROLE_Q - 1);
}

/* By how many bits is a block rather called by the second role? */
static double rather(const struct attn_priors *named, int role, int other) {
  return named->bits[other] - named->bits[role];
}

/* Is each of two blocks called by the role of the other, and one of them more than by its own?
 * "scores" read as scaled scores, where "scores / √2" are read as scores. All of a softmax
 * may be called so. */
static int are_exchanged(const struct attn_priors *p, int role, const struct attn_priors *q,
                         int other) {
  double more = other < ATTN_ROLES ? rather(p, role, other) : 0;
  if (more >= CALLED && q->bits[role] >= CALLED && rather(q, other, role) >= 0) return 1;
  int is_softmax = role >= ATTN_ROLE_EXPONENTIALS && other >= ATTN_ROLE_EXPONENTIALS;
  return role >= ATTN_ROLE_SCORES && other >= ATTN_ROLE_SCORES && !is_softmax &&
         more >= CALLED / 2 && rather(q, other, role) >= CALLED / 2;
}

static int is_exchanged(const struct attn_builder *b, const struct attn_placement *p) {
  const struct attn_block *block = &b->scan->block[p->block];
  const struct attn_priors *named = &b->priors[p->block];
  if (named->best - named->bits[p->role] < CALLED / 2) return 0; /* as in nearly all blocks */
  int is_labelled = p->role == ATTN_ROLE_EXPONENTIALS && block->labels && block->label[0] &&
                    attn_occurs(b->scan->patterns, "^(?:e\\^|exp\\b)", block->label[0]);
  for (int n = 0; n < b->reading->placements && !is_labelled; n++) {
    const struct attn_placement *q = b->reading->placement[n];
    int is_other = q->head != p->head && q->role >= ATTN_ROLE_SCORES && p->role >= ATTN_ROLE_SCORES;
    if (q->example == p->example && !is_other && !q->is_copy &&
        block->line != b->scan->block[q->block].line &&
        are_exchanged(named, p->role, &b->priors[q->block], q->role))
      return 1;
  }
  return 0;
}

/* Is a number at the end of a text another divisor? "divided by 2", "scores = q @ k.T / 2" */
static int ends_in_other(const struct attn_builder *b, const char *text, double divisor) {
  static const char DIVISOR[] =
      "(?i)(?:\\b(?:divided|dividing|scaled)? ?by |[/÷] ?)(√|sqrt[(\\[]?)?([0-9]+(?:\\.[0-9]+)?)"
      "[)\\]\\s:=]*$";
  struct attn_match m;
  attn_cell cell;
  if (!attn_find(b->scan->patterns, DIVISOR, text, strlen(text), 0, &m) ||
      !attn_scan_part(text, m.group[2], &cell))
    return 0;
  double by = m.group[1].end > m.group[1].begin ? sqrt(cell.value) : cell.value;
  return fabs(by - divisor) > 2 * attn_cell_half(&cell) + .01 * by; /* a root may be rounded */
}

/* Scaled scores whose name, or the equation above them, divides by something else. */
static int is_divided_otherwise(const struct attn_builder *b, const struct attn_placement *p) {
  const struct attn_block *block = &b->scan->block[p->block];
  double divisor = p->relation->divided_by;
  if (p->role != ATTN_ROLE_SCALED) return 0;
  for (int n = 0; n < block->captions; n++)
    if (strchr(block->caption[n], '=') && ends_in_other(b, block->caption[n], divisor)) return 1;
  return ends_in_other(b, block->name, divisor);
}

/* "scale = 0.5", once in the document, and scores are neither multiplied nor divided by that. */
static int is_scaled_otherwise(const struct attn_builder *b, const struct attn_placement *p) {
  static const char SCALE[] =
      "(?ims)\\A(?!.*^\\s*scale\\s*[=:].*^\\s*scale\\s*[=:])"
      ".*?^\\s*scale\\s*[=:]\\s*(\\d*\\.?\\d+)\\s*(?:#|$)";
  const struct attn_roles *head = attn_roles_of(b->reading, p);
  double by = p->relation->divided_by;
  struct attn_match m;
  attn_cell cell;
  if (p->role != ATTN_ROLE_WEIGHTS ||
      !attn_find(b->scan->patterns, SCALE, b->scan->text, strlen(b->scan->text), 0, &m))
    return 0;
  for (int role = ATTN_ROLE_SCALED; role < ATTN_ROLE_WEIGHTS; role++)
    if (head->at[role] && head->at[role]->relation) by *= head->at[role]->relation->divided_by;
  if (!attn_scan_part(b->scan->text, m.group[1], &cell)) return 0;
  double slack = 2 * attn_cell_half(&cell) + 1e-9;
  if (cell.value == rint(cell.value)) slack = 1e-9;
  return fabs(1 / by - cell.value) > slack && fabs(by - cell.value) > slack;
}

/* Weights of the scores, where the exponentials above them are those of the scaled scores. */
static int is_of_other_exponentials(const struct attn_builder *b, const struct attn_placement *p) {
  const struct attn_node *e = attn_roles_of(b->reading, p)->at[ATTN_ROLE_EXPONENTIALS];
  const struct attn_relation *r = p->relation, *of = e ? e->relation : NULL;
  return p->role == ATTN_ROLE_WEIGHTS && of && of->operand[0] == r->operand[0] &&
         of->divided_by != r->divided_by;
}

/* ---- tokens whose rows are in another order in another matrix ---- */

/* The numbers are read in the order of the page, so that those of other tokens are compared. */
enum { TOKENS_MAX = 32 };

/* Labels of rows or columns. */
struct tokens {
  char *const *label;
  int count;
};

/* "q_cat" and "cat" are of one token. */
static const char *token_in(const char *label) {
  return label && attn_is_letter(label[0]) && label[1] == '_' ? label + 2 : label ? label : "";
}

/* Where a token is among others; -1: nowhere. */
static int find_token(const struct tokens *t, const char *token) {
  int n = t->count - 1;
  while (n >= 0 && strcmp(token_in(t->label[n]), token)) n--;
  return n;
}

/* The same tokens, each once, in two orders? */
static int are_moved(struct tokens a, struct tokens b) {
  int moved = 0;
  if (a.count != b.count || a.count < 2 || a.count > TOKENS_MAX) return 0;
  for (int n = 0; n < a.count; n++) {
    const char *token = token_in(a.label[n]);
    int there = *token ? find_token(&b, token) : -1;
    if (there < 0 || find_token(&a, token) != n) return 0;
    moved |= there != n;
  }
  return moved;
}

static struct tokens rows_of(const struct attn_block *b) {
  return (struct tokens){b->label, b->labels};
}

static struct tokens columns_of(const struct attn_block *b) {
  return (struct tokens){b->column_label, b->column_labels};
}

int attn_index_of_label(const struct attn_builder *b, const char *label) {
  static const char INDEXED[] =
      "(*UCP)(?|^\\W*[^\\W\\d_]{1,12}[_ \\[]?([0-9])\\]?(?:\\s?[·.*×,]\\s?(?:[^\\W\\d_]{1,3}[_ "
      "]?)?([0-9]))?\\s*(?:[=:]|$)|\\brow ([0-9])$|(?<![0-9])([0-9])行目$)";
  struct attn_match m;
  if (!attn_find(b->scan->patterns, INDEXED, label, strlen(label), 0, &m)) return -1;
  int first = label[m.group[1].begin] - '0', is_pair = m.group[2].end > m.group[2].begin;
  return is_pair ? 10 * first + label[m.group[2].begin] - '0' : first;
}

/* q1·k2 before q1·k1, Q[1] before Q[0]: the numbers are read in the order of the page. */
static int are_out_of_order(const struct attn_builder *b, struct tokens t) {
  for (int n = 1; n < t.count; n++) {
    const char *label = t.label[n], *before = t.label[n - 1];
    if (!label || !before || !attn_same_letters(before, label)) continue;
    int index = attn_index_of_label(b, label);
    if (index >= 0 && index < attn_index_of_label(b, before)) return 1;
  }
  return 0;
}

static int counts_down(const struct attn_builder *b, const struct attn_block *block) {
  return are_out_of_order(b, rows_of(block)) || are_out_of_order(b, columns_of(block));
}

static int has_pairs(int role) { return role >= ATTN_ROLE_SCORES && role <= ATTN_ROLE_WEIGHTS; }

/* Has a matrix that is printed before another order of tokens? Of scores and weights the columns
 * are keys, as the rows of keys and values are. */
int attn_is_in_other_order(const struct attn_builder *b, const struct attn_placement *p) {
  const struct attn_block *block = &b->scan->block[p->block];
  if (counts_down(b, block)) return 1;
  if (b->reading->columns != ATTN_COLUMNS_NONE) return 0;
  for (const struct attn_placement *q = p->before; q; q = q->before) {
    const struct attn_block *other = &b->scan->block[q->block];
    if (q->example != p->example || !q->node || q->is_copy) continue;
    if (counts_down(b, other)) return 1;
    int are_keys = q->role == ATTN_ROLE_K || q->role == ATTN_ROLE_V;
    if (has_pairs(p->role) && are_moved(columns_of(block), rows_of(other)) && are_keys) return 1;
    if (has_pairs(p->role) && has_pairs(q->role) && are_moved(columns_of(block), columns_of(other)))
      return 1;
    if (are_moved(rows_of(block), rows_of(other))) return 1;
  }
  return 0;
}

/* ---- the row of another token ---- */

/* "o2 = (1, 0)", read as the first row. Of "s1 = 2, s2 = 0" the first index is that of a key. */
static int is_other_row(const struct attn_builder *b, const struct attn_placement *p) {
  static const char SUM[] = "[+·*×]";
  const struct attn_block *block = &b->scan->block[p->block];
  int row = p->relation->row >= 0 ? p->relation->row : attn_roles_of(b->reading, p)->row;
  if (row < 0 || block->reading[0].rows != 1 || p->role < ATTN_ROLE_SCORES || !block->labels ||
      !block->label[0] || attn_occurs(b->scan->patterns, SUM, block->name))
    return 0;
  int index = attn_index_of_label(b, block->label[0]);
  if (block->source == ATTN_BLOCK_SCALARS && block->reading[0].cols > 1 && index == 1) return 0;
  return index > 0 && index < 10 && index != row + 1 && index != row;
}

/* ---- the numbers of another row once more ---- */

/* What a row is called by: an index of its label, the number of a token or of a row. Only rows that
 * are called by the same can be told apart. */
enum { BY_INDEX = 0, BY_TOKEN = 100, BY_ROW = 200 };

static int kind_of(int called) { return called < 0 ? -1 : called / BY_TOKEN * BY_TOKEN; }

/* 2 of "2", "2nd", "second" and "二". */
static int number_of(const char *text) {
  static const char *const WORDS[] = {"first", "second", "third", "fourth", "一", "二", "三", "四"};
  enum { COUNT = sizeof WORDS / sizeof *WORDS };
  for (int n = 0; n < COUNT; n++)
    if (strncasecmp(text, WORDS[n], strlen(WORDS[n])) == 0) return n % (COUNT / 2) + 1;
  return atoi(text);
}

/* The number of the token that a text begins with: "Token 2 (dog)", "Row 2", "For the second
 * word:", "q2について". -1: there is none. */
static int token_of(struct attn_scan *scan, const char *text) {
#define TOKENS "(?:tokens?|quer(?:y|ies)|words?|positions?|トークン|クエリ|単語|位置"
  static const char TOKEN[] =
      "(*UCP)(?i)^\\W*+(?:(?:now|next|then|for|attention|of|query vector|the) ){0,4}+"
      "(?|(rows?|行)?" TOKENS
      "|(?<=rows|row|行))[ _]?#?([0-9]{1,2})(?![0-9.])|"
      "()(first|second|third|fourth|[1-4](?:st|nd|rd|th)) " TOKENS
      ")\\b|"
      "()(?:クエリ)?q_?\\{?([0-9])(?![0-9A-Za-z])|"
      "()第?([0-9一二三四])(?:番目|つ目)?の?" TOKENS ")(?=[^=0-9]{0,10}+$))[^=0-9]{0,40}$";
  struct attn_match m;
  if (!attn_find(scan->patterns, TOKEN, text, strlen(text), 0, &m)) return -1;
  int is_row = m.group[1].end > m.group[1].begin;
  return (is_row ? BY_ROW : BY_TOKEN) + number_of(text + m.group[2].begin);
}

/* The first index of "α_21" and "ε_21 = q_2·k_1" among others, the one of "output o_2" alone. -1:
 * there is none. */
static int query_of(struct attn_scan *scan, const struct attn_block *block, int label) {
  static const char INDEX[] =
      "(*UCP)^\\W*(?:\\pL+ )?[^\\W\\d_]{1,12}[_ ]?\\{?([0-9])(,?[0-9])?\\}?(?=\\s*(?:=|$))";
  const char *text = block->label[label];
  struct attn_match m;
  if (!text || !attn_find(scan->patterns, INDEX, text, strlen(text), 0, &m)) return -1;
  int is_pair = m.group[2].end > m.group[2].begin, is_alone = block->labels == 1;
  return is_pair != is_alone ? BY_INDEX + text[m.group[1].begin] - '0' : -1;
}

/* The query whose row a block is, by its labels or by the text above it. Without text above it, it
 * goes on with the blocks above. */
static int row_called(struct attn_scan *scan, int at) {
  const struct attn_block *block = &scan->block[at];
  int row = block->labels ? query_of(scan, block, 0) : -1, token = -1;
  for (int n = 1; n < block->labels && row >= 0; n++)
    if (query_of(scan, block, n) != row) row = -1;
  if (row >= 0) return row;
  for (int n = 0; n < BLOCKS && at > 0 && !block->captions; n++) block = &scan->block[--at];
  for (int n = block->captions - 1; n >= 0 && token < 0; n--)
    token = token_of(scan, block->caption[n]);
  return token;
}

static int are_equal(const attn_printing *a, const attn_printing *b) {
  return a->rows == b->rows && attn_has_rows_of(a, b);
}

/* Does the document count from 0? */
static int counts_from_zero(struct attn_scan *scan) {
  static const char ZERO[] =
      "(?i)\\b(?:[a-z]|(?:token|query|row|word|position)s?[ _]?)_?[{\\[(]?0\\b(?!\\.\\d)|"
      "(?:トークン|クエリ|単語|位置) ?0(?![0-9.])";
  return attn_document_has(scan->patterns, ZERO, scan->text);
}

int attn_is_labelled_other(const struct attn_block *block, int role) {
  int others = 0;
  for (int n = 0; n < block->labels; n++) {
    int called = block->label[n] ? attn_step_find(block->label[n]) : -1;
    others += called >= ATTN_STEP_Q && called <= ATTN_STEP_V && called != attn_step_of_role(role);
  }
  return others && others == block->labels;
}

/* Is a row, counted from 0, the one of this number? */
static int has_number(struct attn_scan *scan, int row, int number) {
  return row == number - 1 || (row == number && counts_from_zero(scan));
}

/* Is a row the one that is called so? 1 also where an index calls it, which may be that of a key.
 */
static int is_row_called(struct attn_scan *scan, int called, int row) {
  int kind = kind_of(called);
  return kind <= BY_INDEX || has_number(scan, row, called - kind);
}

int attn_is_called_other_row(struct attn_scan *scan, int block, int row) {
  int called = row_called(scan, block);
  if (kind_of(called) == BY_INDEX) return !has_number(scan, row, called);
  return !is_row_called(scan, called, row);
}

/* How many rows of a step have these numbers? */
static int count_rows(const attn_step *s, const attn_printing *row) {
  int count = 0;
  for (int32_t r = 0; r < s->exact.rows && s->exact.cols == row->cols; r++) {
    int32_t c = 0;
    while (c < row->cols &&
           attn_cell_is_near(&row->cells[c], s->exact.at[r * s->exact.cols + c], 2))
      c++;
    count += c == row->cols;
  }
  return count;
}

/* "Token 2" above the numbers of token 1: the row of one token, printed for another. */
int attn_repeats_other_row(const struct attn_builder *b, const struct attn_placement *p) {
  const struct attn_block *block = &b->scan->block[p->block];
  const attn_printing *row = &block->reading[0];
  if (p->role < ATTN_ROLE_SCORES || row->rows != 1 || row->cols < 2) return 0;
  const attn_step *s =
      attn_find_step(b->ex, attn_step_of_role(p->role), b->ex->heads > 1 ? p->head : ATTN_ANY_HEAD);
  int called = row_called(b->scan, p->block), at = p->relation ? p->relation->row : -1;
  if (called < 0 || !s || !s->exact.at || count_rows(s, row) > 1) return 0;
  if (at >= 0 && s->exact.rows > 1 && !is_row_called(b->scan, called, at)) return 1;
  for (int n = 0; n < b->reading->placements; n++) {
    const struct attn_placement *q = b->reading->placement[n];
    if (q->block >= p->block || q->role != p->role || q->example != p->example) continue;
    if (q->head != p->head || !are_equal(row, &b->scan->block[q->block].reading[0])) continue;
    int other = row_called(b->scan, q->block);
    if (kind_of(other) == kind_of(called) && other != called) return 1;
  }
  return 0;
}

/* One of "[..] [..] = [..]"? */
static int is_in_product(const struct attn_scan *scan, int block) {
  const struct attn_block *b = &scan->block[block];
  return b->is_factor || (block + 1 < scan->blocks && b[1].line == b->line) ||
         (block > 0 && b[-1].line == b->line);
}

/* "Scaled scores" whose numbers are those of the output, which is printed by its name, too. */
int attn_repeats_other_step(const struct attn_builder *b, const struct attn_placement *p) {
  const struct attn_priors *named = &b->priors[p->block];
  const attn_printing *of = &b->scan->block[p->block].reading[0];
  int called = called_role(named);
  if (called < ATTN_ROLE_SCORES || called == ATTN_ROLE_OTHER || named->bits[p->role] > 0 ||
      of->rows * of->cols < 2 || is_in_product(b->scan, p->block))
    return 0;
  for (int n = 0; n < b->reading->placements; n++) {
    const struct attn_placement *q = b->reading->placement[n];
    if (q != p && q->role == p->role && q->example == p->example && q->head == p->head &&
        b->priors[q->block].bits[p->role] > 0 &&
        are_equal(of, &b->scan->block[q->block].reading[0]))
      return 1;
  }
  return 0;
}

/* Does a block without any words differ from the matrix that is given a name in the line above it?
 * A session prints it once more. */
int attn_is_other_echo(const struct attn_builder *b, const struct attn_placement *p) {
  const struct attn_block *echo = &b->scan->block[p->block], *of = echo - 1;
  if (p->block == 0 || *echo->name || echo->captions || of->end + 1 != echo->line) return 0;
  const attn_printing *x = &of->reading[0], *y = &echo->reading[0];
  return attn_occurs(b->scan->patterns, "=\\s*+$", of->name) && x->rows > 1 && x->rows == y->rows &&
         x->cols == y->cols && !are_equal(x, y);
}

/* "-1.0  1.0" below "1×2 Matrix{Float64}:": what a session prints of the [-1 1] of another number
 * type. */
int attn_is_float_echo(const struct attn_builder *b, const struct attn_placement *p) {
  const struct attn_block *echo = &b->scan->block[p->block];
  return !*echo->name && echo->captions &&
         attn_occurs(b->scan->patterns, "\\d (?:Matrix|Vector)\\{Float\\d\\d\\}:?$",
                     echo->caption[echo->captions - 1]);
}

/* ---- what numbers of a name divide and subtract ---- */

/* Is a number the largest of a row that softmax is taken of? */
static int is_largest(const attn_matrix *m, int axis, const attn_cell *cell) {
  if (!m->at) return 1;
  for (int i = 0; i < (axis ? m->rows : m->cols); i++) {
    double largest = axis ? attn_largest(m->at + i * m->cols, m->cols, 1)
                          : attn_largest(m->at + i, m->rows, m->cols);
    if (fabs(largest - cell->value) <= cell->hi - cell->lo + 1e-9 * fabs(largest)) return 1;
  }
  return 0;
}

/* "Subtract the maximum 3.54: [..]", which is not the largest. */
int attn_shifts_by_other(const struct attn_builder *b, const struct attn_block *block,
                         const attn_step *s) {
  static const char LARGEST[] =
      "(*UCP)(?i)(?:\\bmax(?:imum)?|\\blargest|最大値?)[^\\d,:=]{0,24}?(-?\\d+(?:\\.\\d+)?)";
  struct attn_match m;
  attn_cell cell;
  return s->op == ATTN_OP_SHIFT &&
         attn_find(b->scan->patterns, LARGEST, block->name, strlen(block->name), 0, &m) &&
         attn_scan_part(block->name, m.group[1], &cell) &&
         !is_largest(&b->ex->step[s->operand[0]].exact, s->axis, &cell);
}

/* "Times β = 3: [..]": is each number of a step multiplied, and not by the root of d_k? */
int attn_is_multiple(const struct attn_builder *b, const struct attn_placement *p,
                     const attn_printing *of, const attn_printing *from) {
  const struct attn_node *k = attn_roles_of(b->reading, p)->at[ATTN_ROLE_K];
  double least = 0, most = (double)INFINITY;
  int count = 0;
  if (of->rows != from->rows || of->cols != from->cols) return 0;
  for (int n = 0; n < of->rows * of->cols; n++) {
    const attn_cell *x = &of->cells[n], *y = &from->cells[n];
    double half = attn_cell_half(x);
    if (!isfinite(x->value) || !isfinite(y->value)) continue;
    if (fabs(x->value) <= half) {
      if (fabs(y->value) > attn_cell_half(y)) return 0;
      continue;
    }
    double by = y->value / x->value;
    double slack = (attn_cell_half(y) + fabs(by) * half) / (fabs(x->value) - half);
    least = fmax(least, by - slack), most = fmin(most, by + slack);
    count++;
  }
  int is_root = k && least * least <= k->grid->cols && most * most >= k->grid->cols;
  return count > 1 && least <= most && (least > 1 || most < 1) && !is_root;
}

int attn_has_more_added(struct attn_scan *scan, const char *name) {
  static const char ADDED[] =
      "(*UCP)(?i)(?<!before )(?<!before the )(?<!without )(?<!without the )"
      "(?:\\bresidual|\\bskip connection|\\blayer ?norm|残差)";
  return attn_occurs(scan->patterns, ADDED, name);
}

/* Scores "before scaling" that are divided. */
static int is_called_unscaled(const struct attn_builder *b, const struct attn_placement *p) {
  static const char UNSCALED[] =
      "(?i)\\b(?:before|without) (?:the |any )?scaling\\b(?!.*\\bafter)|\\bunscaled\\b|"
      "スケーリング(?:の|する)?前|割る前";
  return p->role == ATTN_ROLE_SCALED && p->relation->divided_by != 1 &&
         attn_is_introduced(b, &b->scan->block[p->block], UNSCALED);
}

int attn_is_contradicted(const struct attn_builder *b, const struct attn_placement *p) {
  return is_called_unscaled(b, p) || is_other_row(b, p) || is_exchanged(b, p) ||
         is_divided_otherwise(b, p) || is_of_other_exponentials(b, p) || is_scaled_otherwise(b, p);
}

/* ---- formulas: "A = softmax(QK^T/√2) =" ---- */

#define TIMES " ?[·×@*]? ?"
#define K_T "K ?(?:\\^ ?\\(?T\\)?|'|ᵀ|⊤|\\.T)"
#define ENDS "[\\s=:*$]*$"
#define BEGINS "(*UCP)(?:^|[=:,\\s])"
#define BEGINS_ALONE BEGINS "(?<![)}]\\s)" /* without a factor in front: "softmax(S) X W_V" */

/* What is called so: "weights V" is an output. In this order. */
static const struct formula {
  int role;
  const char *pattern;
} FORMULAS[] = {
    {ATTN_ROLE_WEIGHTS,
     BEGINS "(?i)(?:row-?)?softmax(?:_\\w+)? ?\\((?:[^()=]|\\([^()]*\\))*\\)" ENDS},
    {ATTN_ROLE_OUTPUT,
     BEGINS "(?:(?:A|P|[Ww]eights)" TIMES "V|(?i)attention ?\\(Q, ?K, ?V\\))" ENDS},
    {ATTN_ROLE_SCALED, BEGINS "\\(?Q" TIMES K_T "\\)? ?/ ?(?:√|sqrt)[^=]{1,8}$"},
    {ATTN_ROLE_SCORES, BEGINS "(?<![\\d)}]\\s)Q" TIMES K_T ENDS},
    {ATTN_ROLE_Q, BEGINS_ALONE "X" TIMES "W_?\\^?\\(?Q\\)?" ENDS},
    {ATTN_ROLE_K, BEGINS_ALONE "X" TIMES "W_?\\^?\\(?K\\)?" ENDS},
    {ATTN_ROLE_V, BEGINS_ALONE "X" TIMES "W_?\\^?\\(?V\\)?" ENDS},
    {ATTN_ROLE_W_Q, "^\\W*W_?\\^?\\(?Q\\)?" ENDS},
    {ATTN_ROLE_W_K, "^\\W*W_?\\^?\\(?K\\)?" ENDS},
    {ATTN_ROLE_W_V, "^\\W*W_?\\^?\\(?V\\)?" ENDS},
};

int attn_role_of_formula(struct attn_scan *scan, const char *name) {
  for (size_t n = 0; n < sizeof FORMULAS / sizeof *FORMULAS; n++)
    if (attn_occurs(scan->patterns, FORMULAS[n].pattern, name)) return FORMULAS[n].role;
  return ATTN_ROLE_OTHER;
}

/* May the numbers after the formula of one role be those of another? Masked scores are scaled ones,
 * and all of them are called scores. */
static int may_be(int stated, int role) {
  int is_logit = role == ATTN_ROLE_SCALED || role == ATTN_ROLE_MASKED || role == ATTN_ROLE_SHIFTED;
  if (stated == ATTN_ROLE_SCALED) return is_logit;
  if (stated == ATTN_ROLE_SCORES) return role == ATTN_ROLE_MASKED;
  return stated == role;
}

/* Roles that a formula of dot-product attention may be mistaken for. */
static int is_plain(int role) {
  return (role >= ATTN_ROLE_W_Q && role <= ATTN_ROLE_W_V) ||
         (role >= ATTN_ROLE_Q && role <= ATTN_ROLE_V) ||
         (role >= ATTN_ROLE_SCORES && role <= ATTN_ROLE_OUTPUT);
}

/* "A V =" of A^T V, where no columns are mentioned? */
static int is_of_turned(const struct attn_builder *b, const struct attn_placement *p) {
  const struct attn_relation *r = p->relation;
  return p->role == ATTN_ROLE_OUTPUT && r && r->operands > 1 && r->operand[0]->grid->transposed &&
         !p->node->grid->transposed && !attn_mentions_columns(b->scan);
}

int attn_states_other_step(const struct attn_builder *b, const struct attn_placement *p) {
  int stated = attn_role_of_formula(b->scan, b->scan->block[p->block].name);
  if (stated == ATTN_ROLE_OUTPUT && is_of_turned(b, p)) return 1;
  if (stated == ATTN_ROLE_OTHER || stated == p->role || !is_plain(p->role)) return 0;
  return !may_be(stated, p->role);
}
