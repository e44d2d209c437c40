/* account.c -- every number of a document is placed in a step, or is listed as unread. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "account.h"
#include "blocks.h"
#include "cell.h"
#include "error.h"
#include "placed.h"
#include "reading.h"
#include "role_search.h"
#include "steps.h"

static const double A_WORD = 6, HEADING = 1.5; /* bits of what a block is called by */

/* What decides whether the steps of an example are read. */
struct flow {
  unsigned char *is_operand; /* of each step: something is computed from it */
  int32_t first;             /* the first computed step that is printed */
  uint64_t result;           /* the first place of a result */
};

static int prints_results(const attn_example *e) {
  for (int32_t n = 0; n < e->steps; n++)
    if (e->step[n].op != ATTN_OP_GIVEN && e->step[n].printings) return 1;
  return 0;
}

/* In an exercise, everything that it asks for is computed. */
static int find_flow(const attn_example *e, struct attn_pool *pool, struct flow *f) {
  int is_exercise = !prints_results(e);
  f->is_operand = attn_pool_take(pool, (size_t)e->steps + 1);
  f->first = e->steps;
  f->result = UINT64_MAX;
  if (!f->is_operand) return -1;
  for (int32_t n = e->steps - 1; n >= 0; n--) {
    int is_needed = e->step[n].printings || f->is_operand[n] || is_exercise;
    for (int32_t k = 0; is_needed && k < e->step[n].operands; k++)
      f->is_operand[e->step[n].operand[k]] = 1;
    if (e->step[n].op == ATTN_OP_GIVEN || !e->step[n].printings) continue;
    uint64_t place = attn_cell_place(&e->step[n].printing[0].cells[0]);
    if (place < f->result) f->result = place;
    f->first = n;
  }
  return 0;
}

static const attn_step *find_step(struct attn_account *a, const attn_example *e, int name,
                                  int head) {
  a->work += e->steps;
  return a->work < ATTN_ACCOUNT_WORK ? attn_find_step(e, name, head) : NULL;
}

static int has_step(struct attn_account *a, const attn_example *e, int name, int head) {
  return find_step(a, e, name, head) || find_step(a, e, name, -1) || a->work >= ATTN_ACCOUNT_WORK;
}

/* Are two steps given, one as wide as the other? Inputs beside keys may be queries by another name.
 */
static int are_as_wide(struct attn_account *a, const attn_example *e, int name, int of, int head) {
  const attn_step *x = find_step(a, e, name, name == ATTN_STEP_X ? -1 : head);
  const attn_step *y = find_step(a, e, of, head);
  return x && y && x->op == ATTN_OP_GIVEN && y->op == ATTN_OP_GIVEN &&
         x->exact.cols == y->exact.cols;
}

/* "They serve as keys and as values." */
static int are_values_keys(struct attn_account *a, const attn_example *e, int head) {
  const attn_step *v = find_step(a, e, ATTN_STEP_V, head);
  int block = v && v->printings ? attn_block_of(a->scan, &v->printing[0]) : -1;
  return block >= 0 && a->priors[block].bits[ATTN_ROLE_K] > 0 &&
         are_as_wide(a, e, ATTN_STEP_Q, ATTN_STEP_V, head);
}

/* Scores or weights that do not follow from the queries and keys of their example, or from X W X^T;
 * W q, not from W and q. */
static int is_unexplained(struct attn_account *a, const attn_example *e, const attn_step *s) {
  int of_scores = s->name >= ATTN_STEP_SCORES && s->name <= ATTN_STEP_WEIGHTS;
  if (s->name == ATTN_STEP_OTHER && has_step(a, e, ATTN_STEP_W_A, s->head))
    return has_step(a, e, ATTN_STEP_Q, s->head);
  if (!of_scores || e->from_python) return 0;
  if (has_step(a, e, ATTN_STEP_W_A, s->head) && has_step(a, e, ATTN_STEP_X, -1)) return 1;
  int keys = has_step(a, e, ATTN_STEP_K, s->head) || has_step(a, e, ATTN_STEP_X, s->head) ||
             are_values_keys(a, e, s->head) ||
             (has_step(a, e, ATTN_STEP_W_A, s->head) && has_step(a, e, ATTN_STEP_V, s->head));
  return keys && (has_step(a, e, ATTN_STEP_Q, s->head) || has_step(a, e, ATTN_STEP_Y, s->head) ||
                  are_as_wide(a, e, ATTN_STEP_X, ATTN_STEP_K, s->head));
}

/* Is anything that is printed computed of this head? */
static int is_followed(struct attn_account *a, const attn_example *e, int32_t head) {
  if (head < 0 || e->heads < 2) return 1;
  for (int32_t n = 0; n < e->steps && a->work < ATTN_ACCOUNT_WORK; n++, a->work++)
    if (e->step[n].head == head && e->step[n].op != ATTN_OP_GIVEN && e->step[n].printings) return 1;
  return a->work >= ATTN_ACCOUNT_WORK;
}

/* The last step that a block is called by, as scores for x_1 are; least: bits. */
static int called_step(const struct attn_account *a, int block, double least) {
  for (int role = ATTN_ROLES - 1; role >= 0; role--)
    if (a->priors[block].bits[role] >= least) return attn_step_of_role(role);
  return ATTN_ANY_STEP;
}

/* Is the block called a step more than anything else? */
static int is_called(const struct attn_account *a, int block, int step) {
  const struct attn_priors *p = &a->priors[block];
  for (int role = 0; role < ATTN_ROLES; role++)
    if (attn_step_of_role(role) == step && p->bits[role] == p->best) return 1;
  return 0;
}

int attn_block_of(const struct attn_scan *scan, const attn_printing *p) {
  int n = scan->blocks - 1;
  while (n >= 0 && attn_cell_place(scan->block[n].reading[0].cells) != attn_cell_place(p->cells))
    n--;
  return n;
}

/* The block of a printing; -1: none, or the document is too long. */
static int block_of(struct attn_account *a, const attn_printing *p) {
  if (a->work >= ATTN_ACCOUNT_WORK) return -1;
  a->work += a->scan->blocks;
  return attn_block_of(a->scan, p);
}

/* Is the block of a printing called a result, as scores are, and not the step that it is read as?
 */
static int is_called_result(struct attn_account *a, const attn_printing *p, int step) {
  int block = block_of(a, p);
  if (block < 0) return a->work >= ATTN_ACCOUNT_WORK;
  return called_step(a, block, A_WORD) > ATTN_STEP_V && !is_called(a, block, step);
}

/* Or a result as much as that step: "The scores of the four states are"? */
static int may_be_result(struct attn_account *a, const attn_printing *p, int step) {
  int block = block_of(a, p), result = block < 0 ? ATTN_ANY_STEP : called_step(a, block, A_WORD);
  return is_called_result(a, p, step) || (result > ATTN_STEP_V && is_called(a, block, result));
}

/* Queries, keys or values by their name, and not the step that it is read as? */
static int is_other_input(struct attn_account *a, const attn_step *s) {
  int block = s->printings ? block_of(a, &s->printing[0]) : -1;
  return block >= 0 && a->priors[block].best >= A_WORD && !is_called(a, block, s->name) &&
         (is_called(a, block, ATTN_STEP_Q) || is_called(a, block, ATTN_STEP_K) ||
          is_called(a, block, ATTN_STEP_V));
}

/* An input without a use, after one that is used, and not called an input. */
static int is_late_input(struct attn_account *a, const attn_example *e, const struct flow *f,
                         const attn_step *s) {
  int block = s->printings ? block_of(a, &s->printing[0]) : -1;
  if (block < 0 || is_called(a, block, s->name)) return 0;
  for (int32_t n = 0; n < e->steps; n++)
    if (f->is_operand[n] && e->step[n].printings &&
        attn_cell_place(&e->step[n].printing[0].cells[0]) <
            attn_cell_place(&s->printing[0].cells[0]))
      return 1;
  return 0;
}

/* A row of inputs without weights, where there are more queries and keys? */
static int is_lone_row(struct attn_account *a, const attn_example *e, const attn_step *s) {
  const attn_step *q = find_step(a, e, ATTN_STEP_Q, ATTN_ANY_HEAD);
  const attn_step *k = find_step(a, e, ATTN_STEP_K, ATTN_ANY_HEAD);
  return s->name == ATTN_STEP_X && s->exact.rows == 1 && q && k && q->exact.rows > 1 &&
         k->exact.rows > 1 && !find_step(a, e, ATTN_STEP_W_Q, ATTN_ANY_HEAD);
}

/* An input that is printed after results, and is called one. "Weights" may be weight matrices. */
static int is_result_as_input(struct attn_account *a, const struct flow *f, const attn_step *s) {
  return s->name <= ATTN_STEP_V && s->printings &&
         attn_cell_place(&s->printing[0].cells[0]) > f->result &&
         is_called_result(a, &s->printing[0], s->name);
}

/* The step that an input is for; ATTN_ANY_STEP: an embedding or the like, which may be of no use.
 */
static int result_of(int name) {
  if (name == ATTN_STEP_W_A || name == ATTN_STEP_U_A) return ATTN_STEP_SCORES;
  if (name == ATTN_STEP_Q || name == ATTN_STEP_K) return ATTN_STEP_SCORES;
  return name == ATTN_STEP_V ? ATTN_STEP_OUTPUT : ATTN_ANY_STEP;
}

/* Is the step that an input without a use is for computed from others? W = I changes nothing. */
static int is_passed_over(struct attn_account *a, const attn_example *e, const attn_step *s) {
  int name = result_of(s->name);
  const attn_step *result = name == ATTN_ANY_STEP ? NULL : find_step(a, e, name, s->head);
  if (s->name == ATTN_STEP_W_A &&
      (attn_keeps_rows(&s->exact, find_step(a, e, ATTN_STEP_Q, s->head), 0) ||
       attn_keeps_rows(&s->exact, find_step(a, e, ATTN_STEP_K, s->head), 1)))
    return 0;
  return result && result->printings && result->op != ATTN_OP_GIVEN;
}

/* Is the step printed of any head? */
static int is_printed(struct attn_account *a, const attn_example *e, int name) {
  for (int32_t n = 0; n < e->steps && a->work < ATTN_ACCOUNT_WORK; n++, a->work++)
    if (e->step[n].name == name && e->step[n].printings) return 1;
  return 0;
}

static int has_results(const struct attn_account *a) {
  int32_t n = 0;
  while (n < a->lesson->examples && !prints_results(&a->lesson->example[n])) n++;
  return n < a->lesson->examples;
}

/* Numbers that were gathered are no inputs without a use, but for V by its name. */
static int is_gathered(struct attn_account *a, const attn_step *s) {
  const struct attn_left *left = a->scan->left;
  if (!left || !s->printings) return left != NULL;
  int block = block_of(a, &s->printing[0]);
  if (block >= 0 && s->name == ATTN_STEP_V && a->priors[block].bits[ATTN_ROLE_V] >= ATTN_OWN_NAME)
    return 0;
  int is_supposed = left->recurring || left->apart || left->sequence;
  return is_supposed || block < 0 || a->scan->block[block].source == ATTN_BLOCK_TURNS;
}

/* A given that nothing is computed from is read among the inputs of an example. Weights are not, if
 * their product is printed, of their head or another, and does not follow from them. */
static int is_read(struct attn_account *a, const attn_example *e, const struct flow *f,
                   int32_t step) {
  const attn_step *s = &e->step[step];
  if (s->op != ATTN_OP_GIVEN) return 1;
  if (is_unexplained(a, e, s)) return 0;
  if (is_result_as_input(a, f, s)) return 0;
  if (f->is_operand[step]) return 1;
  if (f->first == e->steps && has_results(a)) return 0; /* of an exercise below an example */
  if (is_other_input(a, s)) return 0;
  if (is_gathered(a, s)) return 0;
  if (step > f->first || s->name > ATTN_STEP_V || !is_followed(a, e, s->head)) return 0;
  if (s->printings && may_be_result(a, &s->printing[0], s->name)) return 0;
  if (is_late_input(a, e, f, s) || is_lone_row(a, e, s) || is_passed_over(a, e, s)) return 0;
  if (s->name < ATTN_STEP_W_Q || s->name > ATTN_STEP_W_V) return 1;
  if (!has_step(a, e, ATTN_STEP_X, ATTN_ANY_HEAD) && !has_step(a, e, ATTN_STEP_Y, ATTN_ANY_HEAD))
    return 0;
  int product = s->name - ATTN_STEP_W_Q + ATTN_STEP_Q;
  const attn_step *of = find_step(a, e, product, s->head);
  if (of && of->op == ATTN_OP_GIVEN) return 0;
  return !is_printed(a, e, product) && a->work < ATTN_ACCOUNT_WORK;
}

static int collect_steps(struct attn_account *a, const attn_example *e) {
  struct flow f;
  if (find_flow(e, a->pool, &f)) return -1;
  for (int32_t s = 0; s < e->steps; s++) {
    if (!e->step[s].printings || !is_read(a, e, &f, s)) continue;
    for (int32_t p = 0; p < e->step[s].printings; p++)
      if (attn_add_places(a->pool, &a->shown, &e->step[s].printing[p])) return -1;
  }
  return 0;
}

static int collect_places(struct attn_account *a) {
  for (int32_t i = 0; i < a->lesson->examples; i++)
    if (collect_steps(a, &a->lesson->example[i])) return -1;
  attn_sort_places(&a->shown);
  return 0;
}

int attn_is_placed(const struct attn_account *a, const attn_cell *cell) {
  uint64_t place = attn_cell_place(cell); /* with its sign or without */
  return attn_has_place(&a->shown, place) || attn_has_place(&a->shown, place - 1) ||
         attn_has_place(&a->shown, place + 1);
}

static int has_decimals(const attn_printing *p) {
  for (int32_t n = 0; n < p->rows * p->cols; n++)
    if (p->cells[n].kind != ATTN_CELL_BLANK && p->cells[n].decimals > 0) return 1;
  return 0;
}

/* "and the answer is [3, 1]" */
static int is_answer(const struct attn_account *a, const struct attn_block *b) {
  static const char ANSWER[] = "(*UCP)(?i)\\b(?:answer|result)(?: vector)?(?: is)?\\W*$|答え|結果";
  return attn_occurs(a->scan->patterns, ANSWER, b->name);
}

static int is_vector(const struct attn_block *b) {
  return (b->source == ATTN_BLOCK_INLINE || b->source == ATTN_BLOCK_VECTORS) &&
         b->reading[0].rows == 1 && b->reading[0].cols > 1;
}

/* Does a line of the source name queries, keys or values, and neither cells nor shapes? */
static int names_inputs(struct attn_account *a, int line) {
  static const char INPUT[] =
      "(*UCP)(?i)\\A(?![^\\n]*(?:entr|\\bcells?|position|shape|\\bpairs?|ind(?:ex|ic)|mask|成分|"
      "位置|形))"
      "[^\\n]*" ATTN_INPUT_WORDS;
  size_t bytes;
  if (a->input_line == line) return a->names_inputs;
  const char *text = attn_source_line(&a->scan->source, line, &bytes);
  a->input_line = line;
  return a->names_inputs = attn_find(a->scan->patterns, INPUT, text, bytes, 0, NULL);
}

/* "(1, 0), (0, 1)": is a vector without a name next to another one in its line, of keys? */
static int is_in_list(struct attn_account *a, int block) {
  const struct attn_block *b = &a->scan->block[block];
  if (!is_vector(b) || *b->name) return 0;
  for (int n = block - 1; n <= block + 1; n += 2) {
    const struct attn_block *other = n >= 0 && n < a->scan->blocks ? &a->scan->block[n] : NULL;
    if (other && is_vector(other) && other->line == b->line && !*other->name &&
        other->reading[0].cols == b->reading[0].cols)
      return names_inputs(a, b->line);
  }
  return 0;
}

/* "Row 1 is always (1, 0, 0)" */
static int is_of_row(const struct attn_account *a, const struct attn_block *b) {
  static const char ROW[] = "(?i)\\brow \\d|\\b(?:first|second|third|last) row\\b|\\d ?行目";
  return b->reading[0].rows == 1 && b->reading[0].cols > 2 &&
         attn_occurs(a->scan->patterns, ROW, b->name);
}

static int is_alone_in_line(const struct attn_account *a, int block) {
  const struct attn_block *b = &a->scan->block[block];
  return (block == 0 || b[-1].line < b->line) &&
         (block + 1 == a->scan->blocks || b[1].line > b->line);
}

/* "[[4, 5, 6]]", "R = 4 5 6", a vector with a name or alone in its line: what is written as a
 * matrix is one. Pairs side by side may be the places of cells. */
static int is_matrix(const struct attn_account *a, int block) {
  const struct attn_block *b = &a->scan->block[block];
  if (b->source == ATTN_BLOCK_VECTORS) return *b->name || is_alone_in_line(a, block);
  return b->reading[0].cols > 1 && (b->source == ATTN_BLOCK_GRID || b->source == ATTN_BLOCK_ROWS);
}

/* "Ken: Qが(1, 0)と(3, 1)": vectors of a name that is no label. */
static int is_called_after_word(const struct attn_account *a, const struct attn_block *b) {
  static const char NAME[] = "(*UCP)\\b(?:[QKVX]|クエリ|キー|バリュー)[がは]?$";
  return b->siblings > 1 && b->labels && b->label[0] &&
         attn_occurs(a->scan->patterns, NAME, b->label[0]);
}

/* Counts, indices and the like are prose. A heading above them is no name. */
static int is_prose(struct attn_account *a, int block) {
  const struct attn_block *b = &a->scan->block[block];
  const attn_printing *p = &b->reading[0];
  int named = a->priors[block].best > HEADING || (p->cols > 1 && is_answer(a, b));
  int decimals = has_decimals(p);
  int is_whole = p->rows * p->cols == 1 && !decimals;
  int as_matrix = is_matrix(a, block), is_year = !as_matrix && attn_is_year(p->cells);
  if (is_whole && (is_year || called_step(a, block, A_WORD) == ATTN_ANY_STEP)) return 1;
  int is_list = (b->source == ATTN_BLOCK_SCALARS && p->cols > 2) || is_in_list(a, block) ||
                is_of_row(a, b) || is_called_after_word(a, b) || attn_has_indices(a->scan, b);
  if (!named && !decimals && p->rows == 1 && !is_list && !as_matrix) return 1;
  return !decimals && p->rows * p->cols < 3 && !named && !as_matrix && !is_list;
}

/* The arithmetic that a number is part of; NULL: of none. */
static const struct attn_worked *worked_at(const struct attn_scan *scan, uint64_t place) {
  int low = 0, high = scan->workeds;
  while (low < high) {
    int middle = low + (high - low) / 2;
    if (attn_cell_place(&scan->worked[middle].first) <= place)
      low = middle + 1;
    else
      high = middle;
  }
  const struct attn_worked *w = low > 0 ? &scan->worked[low - 1] : NULL;
  return w && place <= attn_cell_place(&w->last) ? w : NULL;
}

int attn_is_worked_out(const struct attn_scan *scan, const attn_cell *cell) {
  return worked_at(scan, attn_cell_place(cell)) != NULL;
}

/* The results of arithmetic in a sentence, and nothing else. */
static int block_is_worked_out(const struct attn_account *a, const attn_printing *p) {
  for (int32_t n = 0; n < p->rows * p->cols; n++)
    if (!attn_is_worked_out(a->scan, &p->cells[n])) return 0;
  return 1;
}

/* Does the first column or row of a block count? */
struct counts {
  int column, row;
};

/* Beside the numbers of a step: a sum of its row, the number of a row. */
static int is_margin(const struct attn_account *a, const struct attn_block *b, struct counts counts,
                     int row, int col) {
  const attn_printing *p = &b->reading[0];
  const attn_cell *cell = &p->cells[row * p->cols + col];
  if (col == p->cols - 1 && col > 1 && attn_names_sum(a->scan, b->header))
    return attn_is_sum(cell, cell - col, col, 1);
  return (col == 0 && counts.column) || (row == 0 && counts.row) ||
         (col == p->cols - 1 && attn_is_sum(cell, cell - col, col, 1)) ||
         (row == p->rows - 1 && attn_is_sum(cell, p->cells + col, row, p->cols));
}

/* The first number that no step shows; *left: how many. NULL: the block is placed. */
static const attn_cell *find_unplaced(const struct attn_account *a, const struct attn_block *b,
                                      int *left) {
  const attn_printing *p = &b->reading[0];
  const attn_cell *first = NULL;
  const struct counts counts = {attn_counts(p->cells, p->rows, p->cols),
                                attn_counts(p->cells, p->cols, 1)};
  int placed = 0, margins = 0;
  *left = 0;
  for (int n = 0; n < p->rows * p->cols; n++) {
    const attn_cell *cell = &p->cells[n];
    if (cell->kind == ATTN_CELL_BLANK) continue;
    if (attn_is_placed(a, cell)) {
      placed++;
      continue;
    }
    margins += is_margin(a, b, counts, n / p->cols, n % p->cols);
    if (!first) first = cell;
    ++*left;
  }
  return placed && margins == *left ? NULL : first;
}

/* Are there two other blocks of this name that were read, with the rows of other queries? Then it
 * is the row of one more. */
static int is_row_more(struct attn_account *a, int block) {
  enum { NAME_WORK = 16 }; /* of comparing two names, in cells */
  const struct attn_block *b = &a->scan->block[block];
  int rows = 0, others = 0;
  if (b->reading[0].rows != 1 || !*b->name) return 0;
  for (int n = 0; n < a->scan->blocks && a->work < ATTN_ACCOUNT_WORK; n++, a->work += NAME_WORK) {
    const struct attn_block *other = &a->scan->block[n];
    if (n == block || other->reading[0].rows != 1 || strcmp(other->name, b->name) ||
        !attn_is_read(a, &other->reading[0]))
      continue;
    rows++, others += !attn_has_rows_of(&other->reading[0], &b->reading[0]);
  }
  return rows > 1 && others;
}

static int is_mention(struct attn_account *a, int block) {
  const struct attn_block *b = &a->scan->block[block];
  const attn_printing *q = &b->reading[0];
  int is_list = q->rows == 1 && b->source == ATTN_BLOCK_INLINE;
  int is_argument = attn_occurs(a->scan->patterns, "(?i)(?:softmax|exp)\\W*$", b->name);
  int step = is_argument ? ATTN_ANY_STEP : called_step(a, block, A_WORD);
  int is_sentence = b->source == ATTN_BLOCK_SCALARS && q->rows == 1 && q->cols > 2;
  if (step == ATTN_ANY_STEP && (is_answer(a, b) || is_sentence)) step = ATTN_ANY_RESULT;
  if (attn_has_more_added(a->scan, b->name) || is_row_more(a, block)) return 0;
  if (!is_list && (q->cols < 2 || (!has_decimals(q) && step == ATTN_ANY_STEP)))
    return attn_is_gathered_above(a, q);
  return attn_has_printing_of(a, q, step, block);
}

/* Rows of two matrices, one after the other: [c; s]. */
static int is_joined(struct attn_account *a, int block) {
  const attn_printing *p = &a->scan->block[block].reading[0];
  attn_printing left = *p, right = *p;
  if (p->rows != 1 || !has_decimals(p)) return 0;
  for (int32_t n = 2; n + 2 <= p->cols; n++) {
    left.cols = n, right.cols = p->cols - n, right.cells = p->cells + n;
    if (attn_has_printing_of(a, &left, ATTN_ANY_STEP, -1) &&
        attn_has_printing_of(a, &right, ATTN_ANY_STEP, -1))
      return 1;
  }
  return 0;
}

/* A part of a block is so many numbers. */
static int list_block(struct attn_account *a, int block, const attn_cell *first, int left) {
  const struct attn_block *b = &a->scan->block[block];
  const attn_printing *p = &b->reading[0];
  int all = left == p->rows * p->cols || first == &p->cells[0];
  return attn_add_unread(a->pool, a->lesson, first, all ? p->rows : 1, all ? p->cols : left,
                         b->name);
}

/* "shape (4, 3)", "d_model, d_k: 4, 3", or what a program prints for a shape. */
static int are_sizes(const struct attn_account *a, const struct attn_block *b) {
  static const char SIZES[] =
      "(?i)\\bshapes?\\b(?!.*\\d)|(?:形状?|サイズ)[はが]?\\W*$|^\\W*(?:(?:d_?[a-z]{1,5}|[nmh])"
      "\\b\\W{0,4}){2,}$";
  const attn_printing *p = &b->reading[0];
  if (p->rows != 1 || has_decimals(p)) return 0;
  if (!(a->prints_shapes && p->cols == 2) && !attn_occurs(a->scan->patterns, SIZES, b->name))
    return 0;
  for (int32_t n = 0; n < p->cols; n++)
    if (!attn_is_known_size(a->known, p->cells[n].value)) return 0;
  return 1;
}

static int is_mask(struct attn_account *a, int block) {
  const attn_lesson *l = a->lesson;
  const struct attn_block *b = &a->scan->block[block];
  for (int32_t i = 0; i < l->examples && a->work < ATTN_ACCOUNT_WORK; i++)
    for (int32_t s = 0; s < l->example[i].steps; s++, a->work++)
      for (int k = 0; l->example[i].step[s].name == ATTN_STEP_MASK && k < b->readings; k++)
        if (attn_shows_mask(&l->example[i].step[s].exact, &b->reading[k])) return 1;
  return 0;
}

/* Is it read as a step that does not follow from what it should? */
static int is_unexplained_block(struct attn_account *a, const attn_printing *p) {
  const attn_lesson *l = a->lesson;
  for (int32_t i = 0; i < l->examples; i++)
    for (int32_t n = 0; n < l->example[i].steps && a->work < ATTN_ACCOUNT_WORK; n++, a->work++) {
      const attn_step *s = &l->example[i].step[n];
      if (s->op == ATTN_OP_GIVEN && s->printings &&
          attn_cell_place(s->printing[0].cells) == attn_cell_place(p->cells))
        return is_unexplained(a, &l->example[i], s);
    }
  return 0;
}

/* "its weight is 1": an integer that its step has. */
static int is_value_in_passing(const struct attn_account *a, int block) {
  const attn_printing *p = &a->scan->block[block].reading[0];
  int name = called_step(a, block, A_WORD);
  if (p->rows * p->cols > 1 || p->cells[0].decimals > 0) return 0;
  for (int32_t i = 0; i < a->lesson->examples; i++) {
    const attn_step *s = attn_find_step(&a->lesson->example[i], name, ATTN_ANY_HEAD);
    for (int32_t n = 0; s && s->exact.at && n < s->exact.rows * s->exact.cols; n++)
      if (s->exact.at[n] == p->cells[0].value) return 1;
  }
  return 0;
}

/* Arithmetic is listed as such, unless a step is unexplained by it. */
static int is_explained_otherwise(struct attn_account *a, int block) {
  const struct attn_block *b = &a->scan->block[block];
  if (block_is_worked_out(a, &b->reading[0])) return !is_unexplained_block(a, &b->reading[0]);
  return is_value_in_passing(a, block) || is_mention(a, block) || is_joined(a, block) ||
         is_mask(a, block) || are_sizes(a, b) || attn_is_selection(a, b) || attn_are_indices(a, b);
}

static int list_blocks(struct attn_account *a) {
  int failed = 0, left;
  for (int n = 0; n < a->scan->blocks && !failed; n++) {
    const attn_cell *first = is_prose(a, n) ? NULL : find_unplaced(a, &a->scan->block[n], &left);
    if (first && !is_explained_otherwise(a, n)) failed = list_block(a, n, first, left);
  }
  return failed;
}

/* At one place the one with the most numbers, or words, is first. */
static int in_order(const void *a, const void *b) {
  const attn_unread *x = a, *y = b;
  int x_size = x->rows * x->cols, y_size = y->rows * y->cols;
  if (x->line != y->line) return x->line < y->line ? -1 : 1;
  if (x->column != y->column) return x->column < y->column ? -1 : 1;
  if (x_size != y_size) return x_size > y_size ? -1 : 1;
  size_t x_words = strlen(x->name), y_words = strlen(y->name);
  return (x_words < y_words) - (x_words > y_words);
}

/* Is a number at the place of another one, or of arithmetic that is listed as a whole? */
static int is_listed_with(const struct attn_scan *scan, const attn_unread *u,
                          const attn_unread *last) {
  const attn_cell at = {.line = u->line, .column = u->column};
  if (last->line == u->line && last->column == u->column) return 1;
  const struct attn_worked *w =
      last->line == u->line && u->cols == 1 ? worked_at(scan, attn_cell_place(&at)) : NULL;
  return w && w->first.line == last->line && w->first.column == last->column &&
         last->cols >= w->numbers;
}

/* In their order, each once. */
static void sort_unread(const struct attn_scan *scan, attn_lesson *l) {
  int32_t kept = 0;
  if (l->unreads > 1) qsort(l->unread, (size_t)l->unreads, sizeof *l->unread, in_order);
  for (int32_t n = 0; n < l->unreads; n++)
    if (!kept || !is_listed_with(scan, &l->unread[n], &l->unread[kept - 1]))
      l->unread[kept++] = l->unread[n];
  l->unreads = kept;
}

/* What is written around the numbers of steps. */
static int list_around(struct attn_account *a) {
  struct attn_placing p;
  attn_place_numbers(&p, a);
  attn_list_indices(&p);
  attn_list_factors(&p);
  return p.failed;
}

attn_status attn_account_for(struct attn_scan *scan, const struct attn_priors *priors,
                             struct attn_lesson_owner *o, attn_error *err) {
  attn_lesson *lesson = &o->lesson;
  struct attn_account a = {.scan = scan, .priors = priors, .lesson = lesson, .pool = scan->pool};
  a.prints_shapes = attn_document_has(scan->patterns, "\\.shape\\b", scan->text);
  a.known = attn_known_of(lesson, UINT32_MAX, a.pool);
  a.values = attn_known_of(lesson, ATTN_VALUES_ONLY, a.pool);
  int failed = !a.known || !a.values || collect_places(&a) || list_blocks(&a);
  for (int32_t i = 0; i < lesson->unreads; i++)
    o->unexplained += (int64_t)lesson->unread[i].rows * lesson->unread[i].cols;
  attn_status status = failed ? ATTN_OK : attn_doubt_below_unread(lesson, a.pool, err);
  if (status) return status;
  int has_strays = lesson->examples && !attn_has_programs(lesson);
  if (failed || (has_strays && (attn_list_strays(&a) || list_around(&a))))
    return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for the lesson");
  o->unexplained += a.left_out;
  sort_unread(scan, lesson);
  return ATTN_OK;
}
