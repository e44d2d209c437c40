/* parts.c -- parts of one matrix: q1 in one line, q2 in another. */
#include <stdint.h>
#include <string.h>

#include "results.h"

/* After words, or a comma: "the inputs are x1", "入力は x1", ", x2" */
static const char CALLED[] =
    "(?:(?:\\b[a-z]{2,16}|[\\x{3040}-\\x{9FFF}])[\\s,]+|^[\\s,]+)([A-Za-z]_?\\d{1,2})\\s*$";

/* The symbol in front of the first sign of equality: "Keys: k_1 =". 0: no memory. */
static int read_symbol(struct attn_grouping *g, const struct attn_block *b,
                       struct attn_label *label) {
  size_t colon = strcspn(b->name, "=:"), equals = colon + strcspn(b->name + colon, "=");
  struct attn_part p = {0, colon};
  struct attn_match m;
  if (b->name[colon] == ':' && b->name[equals]) p = (struct attn_part){colon + 1, equals};
  if (attn_part_find(g, CALLED, b->name, attn_part_last(b->name, p, ATTN_NAME_CHARACTERS), &m))
    p = m.group[1];
  return attn_group_label(g, attn_group_text(g, b->name, p), label);
}

/* A matrix of one column or one row. */
static int is_line(const struct attn_block *b, int length) {
  const attn_printing *p = &b->reading[0];
  return b->source == ATTN_BLOCK_GRID && (p->cols == 1 || p->rows == 1) &&
         p->rows * p->cols == length;
}

static int is_column(const struct attn_block *b) {
  return is_line(b, b->reading[0].rows) && b->reading[0].rows > 1;
}

static int make_vector(struct attn_grouping *g, struct attn_block *b,
                       const struct attn_label *label) {
  attn_printing *p = &b->reading[0];
  if (!attn_group_grow(g, (void **)&b->label, 0, sizeof *b->label)) return 0;
  b->label[0] = label->text;
  b->labels = 1;
  b->source = ATTN_BLOCK_VECTORS;
  p->cols *= p->rows, p->rows = 1;
  return 1;
}

/* Matrices of one line, q_1 = .., q_2 = .., or tanh(W s + U h_1) = ..: are they rows of one? They
 * are vectors then, as in lines of their own. */
static int turn_lines(struct attn_grouping *g, struct attn_block *a, struct attn_block *b) {
  struct attn_label first, next;
  const attn_printing *p = &a->reading[0];
  int is_vector = a->source == ATTN_BLOCK_VECTORS, count = is_vector ? p->rows : 1;
  int length = is_vector ? p->cols : p->rows * p->cols;
  if (length < 2 || !is_line(b, length) || (!is_vector && !is_line(a, length))) return 0;
  if (!read_symbol(g, a, &first) || !read_symbol(g, b, &next)) return 0;
  int by_symbol = first.index >= 0 && attn_same_stem(&first, &next);
  if (by_symbol ? next.index != first.index + count : !attn_name_recurs(a->name, b->name, count))
    return 0;
  return (is_vector || make_vector(g, a, &first)) && make_vector(g, b, &next);
}

/* ---- rows of scores by their indices: "s11 = 2", "s12 = 1", then "s21 = 1" ---- */

/* Does the name of a label end at `at`, after a letter and a digit? "s_12 = q_1 · k_2" */
static int ends_name(const char *label, size_t at) {
  at += strspn(label + at, "}]) =:");
  return !label[at] || label[at - 1] == '=' || strncmp(label + at - 2, "= ", 2) == 0;
}

/* The two indices at the end of "score[1][0]", "s_{1,0}" or "s10". Returns the bytes in front, 0:
 * it has no two. */
static size_t two_indices(const char *label, long index[2]) {
  size_t at = strcspn(label, "0123456789"), first = strspn(label + at, "0123456789");
  size_t stem = at;
  if (!stem || !first) return 0;
  index[0] = label[at] - '0', index[1] = label[at + 1] - '0';
  if (first == 2) return ends_name(label, at + 2) ? stem : 0;
  size_t gap = strspn(label + at + 1, "][,_ "), next = at + 1 + gap;
  if (first != 1 || !gap || !attn_is_digit(label[next])) return 0;
  index[1] = label[next] - '0';
  return ends_name(label, next + 1) ? stem : 0;
}

/* The first index of all numbers of a block, in front of each other; -1: they have no two. */
static long row_by_indices(const struct attn_block *b) {
  const attn_printing *p = &b->reading[0];
  long of[2], index[2];
  if (b->source != ATTN_BLOCK_ROWS || p->cols != 1 || p->rows < 2 || b->labels != p->rows)
    return -1;
  for (int r = 0; r < p->rows; r++) {
    if (!two_indices(b->label[r], index)) return -1;
    if (r == 0) of[0] = index[0], of[1] = index[1];
    if (index[0] != of[0] || index[1] != of[1] + r) return -1;
  }
  return of[0];
}

/* What the first number of a row of scores is called: in lines, "s11 = 2" above "s12 = 1", or in a
 * sentence, "s11 = 2, s12 = 1". NULL: it is none. */
static char *first_of_row(const struct attn_block *b) {
  const attn_printing *p = &b->reading[0];
  if (b->source == ATTN_BLOCK_SCALARS) return p->rows == 1 && p->cols > 1 ? b->name : NULL;
  return row_by_indices(b) >= 0 ? b->label[0] : NULL;
}

static int turn_indexed(struct attn_grouping *g, struct attn_block *a, struct attn_block *b) {
  const attn_printing *p = &a->reading[0], *q = &b->reading[0];
  int is_vector = a->source == ATTN_BLOCK_VECTORS && a->labels;
  struct attn_label first = {.text = is_vector ? a->label[0] : first_of_row(a)};
  struct attn_label next = {.text = first.text ? first_of_row(b) : NULL};
  long of[2], index[2];
  if (!next.text || (is_vector ? p->cols : p->rows * p->cols) != q->rows * q->cols) return 0;
  size_t stem = two_indices(first.text, of);
  if (!stem || two_indices(next.text, index) != stem || strncmp(first.text, next.text, stem) != 0)
    return 0;
  if (index[1] != of[1] || index[0] != of[0] + (is_vector ? p->rows : 1)) return 0;
  return (is_vector || make_vector(g, a, &first)) && make_vector(g, b, &next);
}

static int append(struct attn_grouping *g, struct attn_block *a, const struct attn_block *b) {
  const attn_printing *p = &b->reading[0];
  for (int r = 0; r < p->rows; r++)
    if (!attn_block_copy_row(g, a, p->cells + (size_t)r * (size_t)p->cols, p->cols,
                             r < b->labels ? b->label[r] : ""))
      return 0;
  a->end = b->end;
  a->readings = 1;
  return 1;
}

/* A number alone in its sentence is not a block, but for the sum of the exponentials before it. */
static int is_single(struct attn_grouping *g, int before, const struct attn_block *b) {
  if (b->source != ATTN_BLOCK_SCALARS || b->reading[0].rows * b->reading[0].cols > 1) return 0;
  if (attn_result_kind_of(g, b->name) == ATTN_RESULT_TOTAL && attn_follows_exponentials(g, before))
    return 0;
  attn_stray_cell(g, b->name, &b->reading[0].cells[0], 1);
  return 1;
}

/* An upright vector may be a row, as those of other vectors are. s_21, s_22, s_23 are one. */
static void turn_lone_columns(struct attn_grouping *g) {
  for (int n = 0; n < g->blocks; n++) {
    struct attn_block *b = g->block[n];
    attn_printing *p = &b->reading[0];
    if (row_by_indices(b) >= 0) p->cols = p->rows, p->rows = 1;
    if (is_column(b)) attn_block_add_reading(b, 1, p->rows, p->cells);
  }
}

/* ---- vectors of one line that share a name ---- */

static int is_nameless(const struct attn_block *b, int line) {
  return (b->source == ATTN_BLOCK_VECTORS || b->source == ATTN_BLOCK_ROWS) && !*b->name &&
         b->line == line;
}

/* How many vectors of one length, without a name, the line that begins here consists of; 0: not of
 * such. */
static int vectors_of_line(const struct attn_grouping *g, int begin) {
  const struct attn_block *b = g->block[begin];
  int end = begin;
  while (end < g->blocks && is_nameless(g->block[end], b->line) &&
         g->block[end]->reading[0].rows == 1 &&
         g->block[end]->reading[0].cols == b->reading[0].cols)
    end++;
  return end == g->blocks || g->block[end]->line != b->line ? end - begin : 0;
}

/* Is the line above a block without words about one of queries, keys and values: "Keys:"? */
static int is_below_input(struct attn_grouping *g, const struct attn_block *b) {
  static const char *const INPUTS[] = {"(?i)\\bquer(?:y|ies)\\b|クエリ", "(?i)\\bkeys?\\b|キー",
                                       "(?i)\\bvalues?\\b|バリュー|値"};
  const char *above = b->captions ? b->caption[b->captions - 1] : "";
  int inputs = 0, is_labelled = b->labels && b->label[0] && *b->label[0];
  for (int n = 0; n < 3 && !is_labelled; n++)
    inputs += attn_occurs(g->scan->patterns, INPUTS[n], above);
  return inputs == 1;
}

/* Bit n: a line with a name is a matrix of n rows. */
static uint64_t named_sizes(const struct attn_grouping *g) {
  uint64_t sizes = 0;
  for (int n = 0; n < g->blocks; n++) {
    const struct attn_block *b = g->block[n];
    const attn_printing *p = &b->reading[0];
    if (b->source == ATTN_BLOCK_VECTORS && *b->name && b->line == b->end && p->rows < 64)
      sizes |= (uint64_t)1 << p->rows;
  }
  return sizes;
}

/* Next to "X: (1, 0) (0, 1)" a line of as many vectors is a matrix, too, and so is one of several
 * below "Keys:". */
static void join_rows(struct attn_grouping *g) {
  uint64_t rows = named_sizes(g); /* and the columns of what is joined: it is multiplied */
  int kept = 0, line = 0;
  for (int n = 0, count; n < g->blocks && g->status == ATTN_OK; n += count) {
    struct attn_block *b = g->block[kept] = g->block[n];
    count = b->line > line ? vectors_of_line(g, n) : 0;
    line = b->line;
    int joins = count > 1 && count < 64 && (rows >> count & 1 || is_below_input(g, b));
    if (!joins) count = 1;
    if (joins && b->reading[0].cols < 64) rows |= (uint64_t)1 << b->reading[0].cols;
    for (int i = 1; i < count && append(g, b, g->block[n + i]);) i++;
    kept++;
  }
  g->blocks = kept;
}

static void count_siblings(struct attn_grouping *g) {
  for (int n = 0, end; n < g->blocks; n = end) {
    int line = g->block[n]->line, count = 0;
    for (end = n; end < g->blocks && g->block[end]->line == line; end++)
      count += is_nameless(g->block[end], line);
    for (int i = n; count > 1 && i < end; i++)
      if (is_nameless(g->block[i], line)) g->block[i]->siblings = count;
  }
}

/* ---- terms of sums ---- */

enum { BLOCKS_BACK = 64 };

/* But for rounding. */
static int same_numbers(const attn_printing *a, const attn_printing *b) {
  int n = 0, cells = a->rows * a->cols;
  if (a->rows != b->rows || a->cols != b->cols) return 0;
  while (n < cells && a->cells[n].lo <= b->cells[n].hi && a->cells[n].hi >= b->cells[n].lo) n++;
  return n == cells;
}

/* The first matrix of "[..] + [..] = [..]" that was printed before is only mentioned. */
static int is_mentioned_term(const struct attn_grouping *g, int n, int kept) {
  const struct attn_block *b = g->block[n], *next = n + 1 < g->blocks ? g->block[n + 1] : NULL;
  if (!next || b->source != ATTN_BLOCK_GRID || b->reading[0].rows < 2) return 0;
  if (strcmp(next->name, "+") != 0 || next->line != b->line) return 0;
  int first = kept > BLOCKS_BACK ? kept - BLOCKS_BACK : 0;
  while (kept > first && !same_numbers(&g->block[kept - 1]->reading[0], &b->reading[0])) kept--;
  return kept > first;
}

/* "0.7 [..] + 0.3 [..] = [..]": a vector with a weight in front, and more of the sum after it. */
static int is_weighted(struct attn_grouping *g, int n) {
  static const char WEIGHT[] = "(?:^|[=+:(\\s-])\\d*\\.?\\d+\\)?\\s?[*·×]?\\s*$",
                    MORE[] = "\\s*[=+]";
  const struct attn_block *b = g->block[n], *next = n + 1 < g->blocks ? g->block[n + 1] : NULL;
  const attn_printing *p = &b->reading[0];
  if (!next || next->line != b->line || b->source != ATTN_BLOCK_GRID) return 0;
  if (p->rows * p->cols < 2 || (p->rows > 1 && p->cols > 1)) return 0;
  return attn_occurs(g->scan->patterns, WEIGHT, b->name) &&
         attn_match_at(g->scan->patterns, MORE, next->name, strlen(next->name), 0, NULL);
}

void attn_parts_merge(struct attn_grouping *g) {
  int kept = 0;
  for (int n = 0; n < g->blocks && g->status == ATTN_OK; n++) {
    struct attn_block *b = g->block[n], *last = kept ? g->block[kept - 1] : NULL;
    b->is_factor |= is_weighted(g, n);
    if (!is_single(g, kept, b) && !is_mentioned_term(g, n, kept)) {
      if (b->source == ATTN_BLOCK_SCALARS && b->reading[0].rows == 1)
        attn_block_add_shapes(b, b->reading[0].cols);
      if (last && (turn_lines(g, last, b) || turn_indexed(g, last, b)))
        append(g, last, b);
      else
        g->block[kept++] = b;
    }
  }
  g->blocks = kept;
  join_rows(g);
  turn_lone_columns(g);
  count_siblings(g);
}
