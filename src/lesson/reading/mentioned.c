/* mentioned.c -- is a number of a sentence, or of arithmetic, one of a step? */
#include <math.h>
#include <string.h>

#include "account.h"
#include "ascii.h"
#include "blocks.h"
#include "cell.h"
#include "placed.h"
#include "role_search.h"

enum { FINE = 3, SOME = 3, ROW_MAX = 256 }; /* FINE: decimals that are not prose */

/* "√d_k": the number after it is the root of a size; not that after "sqrt(d_k)] d_k". */
static const char ROOT[] = "(?:\\x{221A}|sqrt)[\\s({]*(?!d_?k[^=(]*d_?k$)[A-Za-z][^=(]{0,9}$";

/* "q(1, 0)" */
static const char GIVEN[] = "(?<![A-Za-z])[qkvQKV]\\($";

/* An integer is no prose after it. */
static const char SUM_OF_EXPONENTIALS[] =
    "(?i)\\bsums? of (?:the |all )*exp|(?:\\bexp|指数)[^。]{0,6}の(?:合計|総和|和)";

/* ---- rows of steps ---- */

int attn_is_read(const struct attn_account *a, const attn_printing *p) {
  return p->rows * p->cols > 0 && attn_is_placed(a, &p->cells[0]);
}

static int is_step(const attn_step *s, int step) {
  if (step == ATTN_ANY_RESULT) return s->op != ATTN_OP_GIVEN;
  return step == ATTN_ANY_STEP || s->name == step;
}

/* Is a block of one row, "z_2 = (1, 0)", that row of a step, if it is called a row? */
static int is_row_of(struct attn_account *a, int block, const attn_printing *p) {
  attn_printing row = {.rows = 1, .cols = p->cols};
  if (a->scan->block[block].reading[0].rows != 1) return 1;
  for (int32_t r = 0; r < p->rows; r++) {
    row.cells = p->cells + r * p->cols;
    if (attn_has_rows_of(&row, &a->scan->block[block].reading[0]) &&
        !attn_is_called_other_row(a->scan, block, p->row0 + r))
      return 1;
  }
  return 0;
}

int attn_has_printing_of(struct attn_account *a, const attn_printing *q, int step, int block) {
  const attn_lesson *l = a->lesson;
  for (int32_t i = 0; i < l->examples && a->work < ATTN_ACCOUNT_WORK; i++)
    for (int32_t s = 0; s < l->example[i].steps; s++, a->work += q->rows)
      for (int32_t p = 0; p < l->example[i].step[s].printings; p++, a->work++)
        if (is_step(&l->example[i].step[s], step) &&
            attn_has_rows_of(&l->example[i].step[s].printing[p], q) &&
            attn_is_read(a, &l->example[i].step[s].printing[p]) &&
            (block < 0 || is_row_of(a, block, &l->example[i].step[s].printing[p])))
          return 1;
  return 0;
}

/* ---- numbers of sentences ---- */

int attn_names_sum(const struct attn_scan *scan, const char *text) {
  static const char SUM[] =
      "(*UCP)(?i)\\b(?:sums?|totals?|adds? (?:it |them "
      ")?up|summen?|sommes?|sumas?|somas?|somma)\\b|"
      "denominat|[Σ∑]|合計|和|합|сумм";
  return attn_occurs(scan->patterns, SUM, text);
}

/* "and not by √3" */
static int is_denied_root(const struct attn_account *a, const struct attn_stray *s) {
  static const char DENIED[] = "\\bnot\\W+(?:by\\W+)?(?:√|sqrt|root of)[\\s({]*$";
  return s->cell.decimals < 1 && attn_occurs(a->scan->patterns, DENIED, s->name);
}

/* ---- several numbers of a row ---- */

/* Are the numbers of q among n cells, `stride` apart; in their order? */
static int is_among(const attn_printing *q, const attn_cell *cell, int n, int stride,
                    int in_order) {
  int from = 0, k = 0;
  for (int i = 0; i < q->cols; i++, from = in_order ? k + 1 : 0) {
    for (k = from; k < n && cell[k * stride].value != q->cells[i].value;) k++;
    if (k == n) return 0;
  }
  return 1;
}

/* Of a row or a column of a result that is printed; or sums of rows of exponentials. */
static int is_of_step(const attn_step *s, const attn_printing *q, int in_order) {
  for (int32_t n = 0; n < s->printings && s->op != ATTN_OP_GIVEN; n++) {
    const attn_printing *p = &s->printing[n];
    for (int i = 0; i < p->rows; i++)
      if (is_among(q, p->cells + i * p->cols, p->cols, 1, in_order)) return 1;
    for (int j = 0; j < p->cols; j++)
      if (is_among(q, p->cells + j, p->rows, p->cols, in_order)) return 1;
    int row = 0, found = 0;
    for (; s->name == ATTN_STEP_EXPONENTIALS && row < p->rows && found < q->cols; row++)
      found += attn_is_sum(&q->cells[found], p->cells + row * p->cols, p->cols, 1);
    if (found == q->cols) return 1;
  }
  return 0;
}

int attn_is_selection(const struct attn_account *a, const struct attn_block *b) {
  static const char EXTREMES[] = "(?i)largest|smallest|highest|lowest|\\bm(?:ax|in)|最大|最小";
  const attn_printing *q = &b->reading[0];
  int is_text = b->source == ATTN_BLOCK_SCALARS || b->source == ATTN_BLOCK_INLINE;
  if (!is_text || q->rows != 1 || q->cols < 2 || q->cols > 4) return 0;
  for (int n = 0; n < q->cols; n++)
    if (q->cells[n].decimals < 2) return 0;
  int in_order = !attn_occurs(a->scan->patterns, EXTREMES, b->name);
  for (int32_t i = 0; i < a->lesson->examples; i++)
    for (int32_t n = 0; n < a->lesson->example[i].steps; n++)
      if (is_of_step(&a->lesson->example[i].step[n], q, in_order)) return 1;
  return 0;
}

/* ---- indices ---- */

int attn_are_indices(const struct attn_account *a, const struct attn_block *b) {
  const attn_printing *p = &b->reading[0];
  if (!attn_counts(p->cells, p->cols, 1) || !attn_has_indices(a->scan, b)) return 0;
  for (int32_t i = 0; i < a->lesson->examples; i++) {
    const attn_step *s = attn_find_step(&a->lesson->example[i], ATTN_STEP_WEIGHTS, ATTN_ANY_HEAD);
    if (s && (s->exact.rows == p->cols || s->exact.cols == p->cols)) return 1;
  }
  return 0;
}

/* ---- a number ---- */

/* Is another number with as many decimals in its line? */
static int is_in_list(const struct attn_account *a, const struct attn_stray *s) {
  const struct attn_stray *end = a->scan->stray + a->scan->strays;
  for (const struct attn_stray *t = s > a->scan->stray ? s - 1 : s; t <= s + 1 && t < end; t++)
    if (t != s && t->cell.line == s->cell.line && t->cell.decimals == s->cell.decimals) return 1;
  return 0;
}

/* Integers in passing are prose, and so is a number with one or two decimals in an example without
 * such numbers; after a sign of equality they are a result. */
static int is_explained(struct attn_account *a, const struct attn_stray *s) {
  const struct attn_known *known = a->known;
  if (is_denied_root(a, s)) return 1;
  if (isinf(s->cell.value)) return !s->is_result;
  if (s->is_size && attn_occurs(a->scan->patterns, ROOT, s->name))
    return attn_is_known_root(known, &s->cell) || /* "sqrt of d_k = 3" */
           (strstr(s->name, " of ") && attn_is_known_size(known, s->cell.value));
  if (s->is_size) return attn_is_known_size(known, s->cell.value);
  int is_fine = s->cell.decimals >= FINE || attn_occurs(a->scan->patterns, GIVEN, s->name) ||
                attn_has_decimals(known, s->cell.decimals) ||
                attn_occurs(a->scan->patterns, SUM_OF_EXPONENTIALS, s->name) ||
                (s->cell.decimals > 0 && is_in_list(a, s));
  if (!s->is_result && !is_fine) return 1;
  int is_size = s->cell.decimals < 1 || s->cell.value != rint(s->cell.value) || /* 2.00 is none */
                (s->cell.value == 1 && attn_names_sum(a->scan, s->name));
  return attn_is_placed(a, &s->cell) || attn_is_worked_out(a->scan, &s->cell) ||
         attn_is_known(is_size ? known : a->values, &s->cell) ||
         (attn_is_constant(&s->cell) && !is_in_list(a, s)) ||
         (s->vector && attn_is_known_row(a->lesson, s, 1, &a->work));
}

/* What a number is called in a sentence, and which steps that may be. */
static const struct called {
  const char *name;
  uint32_t steps;
} CALLED[] = {
    {"(*UCP)(?i)(?:\\bsums?\\b|合計|総和)[^.:;]*$",
     1u << ATTN_STEP_WEIGHTS | 1u << ATTN_STEP_EXPONENTIALS | 1u << ATTN_STEP_ROW_SUM |
         1u << ATTN_STEP_OUTPUT | 1u << ATTN_STEP_SCORES},
    {"(*UCP)(?i)(?:\\bweights?\\b|重み)[^.:;]*$", 1u << ATTN_STEP_WEIGHTS},
    {"(*UCP)(?i)(?:\\bscores?\\b|\\bdot products?\\b|\\blogits?\\b|スコア|内積)[^.:;]*$",
     ((1u << (ATTN_STEP_WEIGHTS + 1)) - 1) & ~((1u << ATTN_STEP_SCORES) - 1)},
    {"(*UCP)(?i)(?:\\boutputs?\\b|出力)[^.:;]*$",
     1u << ATTN_STEP_OUTPUT | 1u << ATTN_STEP_CONCAT | 1u << ATTN_STEP_PROJECTED},
};
enum { CALLS = sizeof CALLED / sizeof *CALLED, OF_SCORES = 2 };

/* Is it called a step of which it is no value? known: of each of CALLED. */
static int is_misnamed(const struct attn_account *a, struct attn_known *const *known,
                       const struct attn_stray *s) {
  int is_value = !s->is_size && s->cell.decimals > 0 && !attn_is_worked_out(a->scan, &s->cell);
  for (int n = 0; n < CALLS && is_value; n++)
    if (attn_occurs(a->scan->patterns, CALLED[n].name, s->name))
      return !attn_is_placed(a, &s->cell) && !attn_is_known_value(known[n], &s->cell) &&
             (is_in_list(a, s) || !attn_is_constant(&s->cell)) &&
             s->cell.value != attn_stated_temperature(a->scan);
  return 0;
}

/* "the largest is 0.25": a value of a step, but the largest of none of its rows. */
static int is_smaller(const struct attn_account *a, const struct attn_stray *s) {
  static const char LARGEST[] =
      "(*UCP)(?i)(?:\\bmax(?:imum)?\\b|\\b(?<!second )(?<!second-)(?:largest|highest)\\b|最大)"
      "[^\\d.:;,(]*$";
  return !s->is_size && s->cell.decimals > 0 && attn_occurs(a->scan->patterns, LARGEST, s->name) &&
         attn_is_known(a->values, &s->cell) && !attn_is_known(a->maxima, &s->cell);
}

/* "the third gets 0.25": a weight, but in no row or column the third. */
static int is_of_other_turn(const struct attn_account *a, const struct attn_stray *s) {
  int found = 0;
  for (int32_t i = 0; i < a->lesson->examples && s->turn && s->cell.decimals > 0; i++) {
    const attn_step *w = attn_find_step(&a->lesson->example[i], ATTN_STEP_WEIGHTS, ATTN_ANY_HEAD);
    for (int32_t n = 0; w && w->exact.at && n < w->exact.rows * w->exact.cols; n++) {
      if (fabs(w->exact.at[n] - s->cell.value) > 3 * attn_cell_half(&s->cell)) continue;
      if (n / w->exact.cols == s->turn - 1 || n % w->exact.cols == s->turn - 1) return 0;
      found = 1;
    }
  }
  return found;
}

/* Are these two of one vector, or of integers next to each other? */
static int are_joined(const struct attn_stray *s, const struct attn_stray *next) {
  if (next->vector != s->vector || next->cell.line != s->cell.line) return 0;
  return s->vector || (s->cell.decimals < 1 && next->cell.decimals < 1 && strlen(next->name) < 5);
}

#define SCORES_ARE "(?:\\bscores?|\\bdot products?|\\blogits?|スコア|内積)[^.:;。\\d]{0,12}$"

/* "The dot products are 3, -1 and -2": what is called so is no prose. */
static int are_called_scores(const struct attn_account *a, const struct attn_stray *s, int count) {
  static const char SCORES[] = "(*UCP)(?i)" SCORES_ARE "|(?<!\\w)q_?\\d[^\\d]{0,6}$";
  for (int n = 1; n < count; n++)
    if (s[n].cell.column - s[n - 1].cell.column > 12) return 0;
  return attn_occurs(a->scan->patterns, SCORES, s->name);
}

/* "The keys are (1, 0)" */
static int is_called_input(const struct attn_account *a, const struct attn_stray *s) {
  static const char INPUT[] = "(*UCP)(?i)" ATTN_INPUT_WORDS "[^.:;。\\d]{0,12}$";
  return attn_occurs(a->scan->patterns, INPUT, s->name);
}

static int shows_scores(const struct attn_account *a) {
  for (int32_t i = 0; i < a->lesson->examples; i++)
    for (int32_t n = 0; n < a->lesson->example[i].steps; n++)
      if (a->lesson->example[i].step[n].name == ATTN_STEP_SCORES &&
          a->lesson->example[i].step[n].printings)
        return 1;
  return 0;
}

/* Is it called the scores, which no step shows? */
static int are_hidden_scores(const struct attn_account *a, const struct attn_stray *s) {
  return !s->vector && attn_occurs(a->scan->patterns, "(*UCP)(?i)" SCORES_ARE, s->name) &&
         !shows_scores(a);
}

/* "2番目のキーに対して 6": what a query gives a key, and no score that a step shows. */
static int is_hidden_score(const struct attn_account *a, const struct attn_known *scores,
                           const struct attn_stray *s) {
  static const char OF_KEY[] = "キーに対して[はが]?\\s*$";
  return s->cell.decimals < 1 && attn_occurs(a->scan->patterns, OF_KEY, s->name) &&
         (!shows_scores(a) || !attn_is_known_value(scores, &s->cell));
}

/* How many numbers has the vector or list that begins there, if no step shows one of them and they
 * are no row of a step, or of scores that are printed nowhere else? Else 0. */
static int out_of_order(struct attn_account *a, const struct attn_stray *s) {
  const struct attn_stray *end = a->scan->stray + a->scan->strays;
  int count = 0, decimals = 0;
  if (s > a->scan->stray && are_joined(s - 1, s)) return 0;
  for (; s + count < end && (count == 0 || are_joined(s + count - 1, s + count)); count++) {
    if (attn_is_placed(a, &s[count].cell) || attn_is_worked_out(a->scan, &s[count].cell)) return 0;
    decimals += s[count].cell.decimals > 0;
  }
  if (s->is_row) return count;
  if (count < 2 || count > ROW_MAX || a->work >= ATTN_ACCOUNT_WORK) return 0;
  if (s->vector ? !decimals && !is_called_input(a, s) : !are_called_scores(a, s, count)) return 0;
  if (are_hidden_scores(a, s)) return count;
  return attn_is_known_row(a->lesson, s, count, &a->work) ? 0 : count;
}

/* How many strays has the line of one? */
static int count_in_line(const struct attn_account *a, const struct attn_stray *s) {
  const struct attn_stray *end = a->scan->stray + a->scan->strays;
  int count = 0;
  while (s + count < end && s[count].cell.line == s->cell.line) count++;
  return count;
}

/* How many numbers of a line are in steps? One that is in two steps counts twice. */
static int count_placed(struct attn_account *a, int line) {
  int count = 0;
  for (int32_t i = 0; i < a->lesson->examples; i++)
    for (int32_t n = 0; n < a->lesson->example[i].steps; n++)
      for (int32_t p = 0; p < a->lesson->example[i].step[n].printings; p++) {
        const attn_printing *shown = &a->lesson->example[i].step[n].printing[p];
        a->work += shown->rows * shown->cols;
        for (int32_t c = 0; c < shown->rows * shown->cols; c++)
          count += shown->cells[c].line == line;
      }
  return count;
}

/* Are two lines the same from their first number on, but for numbers? */
static int have_same_words(const struct attn_account *a, int line, int other) {
  static const char SIGNS[] = "-.0123456789";
  size_t bytes, more;
  const char *text = attn_source_line(&a->scan->source, line, &bytes), *end = text + bytes;
  const char *words = attn_source_line(&a->scan->source, other, &more), *last = words + more;
  while (text < end && !attn_is_digit(*text)) text++;
  while (words < last && !attn_is_digit(*words)) words++;
  if (text == end) return 0;
  for (;; text++, words++) {
    while (text < end && strchr(SIGNS, *text)) text++;
    while (words < last && strchr(SIGNS, *words)) words++;
    if (text == end || words == last) return text == end && words == last;
    if (*text != *words) return 0;
  }
}

/* "from cat: cat 9, dog 6" below or above "from dog: cat 1, dog 2", which is a row of a step: how
 * many numbers has the line that begins there, none of which is in a step? */
static int is_row_beside(struct attn_account *a, const struct attn_stray *s) {
  const int line = s->cell.line;
  if (s > a->scan->stray && s[-1].cell.line == line) return 0;
  const int count = count_in_line(a, s);
  for (int n = 1; n < count; n++)
    if (!*s[n].name || s[n].vector) return 0;
  for (int other = line - 1; count > 1 && other <= line + 1; other += 2)
    if (other > 0 && have_same_words(a, line, other) && a->work < ATTN_ACCOUNT_WORK &&
        count_placed(a, other) >= count)
      return count_placed(a, line) ? 0 : count;
  return 0;
}

/* Is a decimal number that is worked with none of a step? Not of "0.67·100 = 67 %". */
static int has_unknown_operand(const struct attn_account *a, const struct attn_worked *w) {
  if (w->operands == 2 && w->operand[1].value == 100) return 0;
  for (int n = 0; n < w->operands; n++)
    if (w->operand[n].decimals > 0 && !attn_is_known_operand(a->operands, &w->operand[n])) return 1;
  return 0;
}

/* Is it a number that no step has, or not the one that its words claim? */
static int is_odd(struct attn_account *a, struct attn_known *const *known,
                  const struct attn_stray *s) {
  int is_argument = s->vector && !s->is_result; /* tanh(-1.5, 0.5) */
  if (!is_explained(a, s) || is_misnamed(a, known, s) || is_of_other_turn(a, s)) return 1;
  if (attn_is_placed(a, &s->cell) || attn_is_worked_out(a->scan, &s->cell)) return 0;
  return is_smaller(a, s) || is_hidden_score(a, known[OF_SCORES], s) ||
         (!is_argument && attn_is_of_other_pair(a, s));
}

/* A value of a step that is not printed? */
static int is_of_hidden_step(const struct attn_account *a, const struct attn_stray *s) {
  return !s->is_size && s->cell.decimals > 0 && !attn_is_placed(a, &s->cell) &&
         !attn_is_worked_out(a->scan, &s->cell) && !attn_is_known(a->printed, &s->cell) &&
         attn_is_known(a->values, &s->cell);
}

/* Three values of a step that is not printed are its numbers, not a mention. */
static int shows_hidden_step(const struct attn_account *a) {
  int shown = 0;
  for (int n = 0; n < a->scan->strays && shown < SOME; n++)
    shown += is_of_hidden_step(a, &a->scan->stray[n]);
  return shown == SOME;
}

/* What numbers are compared with. 0: no memory. */
static int know_values(struct attn_account *a, struct attn_known **called) {
  for (int n = 0; n < CALLS && a->scan->strays; n++)
    if (!(called[n] = attn_known_of(a->lesson, CALLED[n].steps, a->pool))) return 0;
  a->maxima = attn_known_maxima(a->lesson, a->pool);
  a->printed = attn_known_printed(a->lesson, a->pool);
  a->operands = attn_known_of(a->lesson, ATTN_AND_EXPONENTIALS, a->pool);
  return a->maxima && a->printed && a->operands;
}

static int list_worked(struct attn_account *a, const struct attn_worked *w) {
  int is_other = has_unknown_operand(a, w) || attn_divides_other_pair(a, w);
  if (w->is_read && !is_other) return 0;
  int unknown = w->differs || is_other ||
                (w->sides == 1 && !attn_has_printing_of(a, &w->side[0], ATTN_ANY_STEP, -1));
  return unknown ? attn_add_unread(a->pool, a->lesson, &w->first, 1, w->numbers, w->name) : 0;
}

int attn_list_strays(struct attn_account *a) {
  struct attn_known *called[CALLS];
  if (!know_values(a, called)) return -1;
  const int hidden = shows_hidden_step(a);
  for (int n = 0; n < a->scan->strays; n++) {
    const struct attn_stray *s = &a->scan->stray[n];
    const attn_unread *last =
        a->lesson->unreads ? &a->lesson->unread[a->lesson->unreads - 1] : NULL;
    if (last && last->line == s->cell.line && last->column == s->cell.column) continue;
    int is_unread = is_odd(a, called, s) || (hidden && is_of_hidden_step(a, s));
    int count = is_unread ? 1 : out_of_order(a, s);
    if (!count) count = is_row_beside(a, s);
    if (count && attn_add_unread(a->pool, a->lesson, &s->cell, 1, count, s->name)) return -1;
    if (s->is_row) a->left_out += count;
    if (count) n += count - 1;
  }
  for (int n = 0; n < a->scan->workeds; n++)
    if (list_worked(a, &a->scan->worked[n])) return -1;
  return 0;
}
