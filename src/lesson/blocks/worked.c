/* worked.c -- arithmetic that a line works out: 1·2 + 2·1 = 4, 0.3 (1, 0) + 0.7 (0, 1) = (0.3,
 * 0.7). Do its sides agree? */
#include <math.h>
#include <string.h>

#include "blocks.h"
#include "cell.h"

enum {
  COLS_MAX = 16,
  DEPTH_MAX = 12,
  LITERALS_MAX = 64,
  NUMBER_BYTES = 40,
  SIDES_MAX = 12,
  FRONT_CHARACTERS = 12
};
static const double UNITS = 1.5; /* of the last digit that a side may be off: rounded on the way */

/* A number or a vector. */
struct side {
  int cols;
  attn_cell at[COLS_MAX];
};

struct worked_reader {
  struct attn_grouping *g;
  const struct attn_scan_line *line;
  const char *text;
  size_t at, begin, end; /* begin: after the number of the line */
  int depth, operators, sums, dots, literals;
  attn_cell literal[LITERALS_MAX];
};

static void skip_blanks(struct worked_reader *r) {
  while (r->at < r->end && attn_is_blank(r->text[r->at])) r->at++;
}

static int take(struct worked_reader *r, const char *word) {
  size_t bytes = strlen(word);
  if (r->end - r->at < bytes || memcmp(r->text + r->at, word, bytes) != 0) return 0;
  r->at += bytes;
  return 1;
}

/* ---- operations on numbers and vectors ---- */

static int apply(char operation, struct side *a, const struct side *b) {
  int cols = a->cols > b->cols ? a->cols : b->cols, sum = operation == '+' || operation == '-';
  if (sum ? a->cols != b->cols : b->cols > 1 && (a->cols > 1 || operation != '*')) return 0;
  for (int n = cols - 1; n >= 0; n--) {
    const attn_cell *x = &a->at[a->cols > 1 ? n : 0], *y = &b->at[b->cols > 1 ? n : 0];
    int open = x->kind == ATTN_CELL_BLANK || y->kind == ATTN_CELL_BLANK;
    a->at[n] = open ? attn_cell_blank() : attn_cell_binary(operation, *x, *y);
    if (open) continue;
    if (a->at[n].kind == ATTN_CELL_BLANK || !isfinite(a->at[n].lo) || !isfinite(a->at[n].hi))
      return 0;
  }
  a->cols = cols;
  return 1;
}

/* The dot product of two vectors of one length. */
static int dot(struct side *a, const struct side *b) {
  struct side sum = {1, {attn_cell_exact(0)}};
  for (int n = 0; n < a->cols; n++) {
    struct side x = {1, {a->at[n]}}, y = {1, {b->at[n]}};
    if (!apply('*', &x, &y) || !apply('+', &sum, &x)) return 0;
  }
  *a = sum;
  return 1;
}

static int call(double (*function)(double), struct side *s) {
  if (s->cols != 1) return 0;
  s->at[0] = attn_cell_function(function, s->at[0]);
  return s->at[0].kind != ATTN_CELL_BLANK && isfinite(s->at[0].lo) && isfinite(s->at[0].hi);
}

/* ---- what is written ---- */

static int read_sum(struct worked_reader *r, struct side *out);

static int add_literal(struct worked_reader *r, const attn_cell *cell) {
  if (r->literals == LITERALS_MAX) return 0;
  r->literal[r->literals++] = *cell;
  return 1;
}

static int read_number(struct worked_reader *r, struct side *out) {
  size_t begin = r->at, at = begin, points = 0;
  for (; at < r->end && at - begin < NUMBER_BYTES; at++) {
    int point = r->text[at] == '.' && !points && at + 1 < r->end && attn_is_digit(r->text[at + 1]);
    if (!attn_is_digit(r->text[at]) && !point) break;
    points += (size_t)point;
  }
  struct attn_part p = {begin, at};
  if (at == begin || !attn_group_cell(r->g, r->line, p, &out->at[0]) ||
      !add_literal(r, &out->at[0]))
    return 0;
  out->cols = 1;
  r->at = at;
  return 1;
}

static int read_vector(struct worked_reader *r, struct side *out) {
  int index;
  size_t end = attn_value_mark(r->text, r->at, r->end, &index);
  if (!end || !attn_group_is_value(r->g, index) || r->g->lines->value[index].grids != 1) return 0;
  const attn_printing *p = r->g->lines->value[index].grid;
  if ((p->rows > 1 && p->cols > 1) || p->rows * p->cols > COLS_MAX) return 0;
  out->cols = p->rows * p->cols;
  for (int n = 0; n < out->cols; n++) {
    out->at[n] = p->cells[n];
    if (p->cells[n].kind == ATTN_CELL_BLANK || !isfinite(p->cells[n].value)) return 0;
    if (!add_literal(r, &p->cells[n])) return 0;
    r->operators += p->cells[n].kind != ATTN_CELL_NUMBER; /* it is worked out */
  }
  r->at = end;
  return 1;
}

static int read_bracket(struct worked_reader *r, struct side *out) {
  if (!take(r, "(") || !read_sum(r, out)) return 0;
  skip_blanks(r);
  return take(r, ")");
}

/* √2, e^(-2), e^-2 */
static int read_call(struct worked_reader *r, struct side *out, double (*function)(double)) {
  r->operators++;
  skip_blanks(r);
  int negative = take(r, "-"), bracket = r->at < r->end && r->text[r->at] == '(';
  if (bracket ? !read_bracket(r, out) : !read_vector(r, out) && !read_number(r, out)) return 0;
  if (!bracket && function == exp && r->at < r->end && r->text[r->at] == '/')
    return 0; /* of the exponent, or of it all? */
  if (negative && out->cols == 1) out->at[0] = attn_cell_negate(out->at[0]);
  return call(function, out);
}

static int read_primary(struct worked_reader *r, struct side *out) {
  static const struct {
    const char *name;
    double (*function)(double);
  } CALLS[] = {{"\u221A", sqrt}, {"np.sqrt", sqrt}, {"math.sqrt", sqrt}, {"sqrt", sqrt},
               {"e^", exp},      {"np.exp", exp},   {"math.exp", exp},   {"exp", exp}};
  if (r->at < r->end && attn_is_digit(r->text[r->at])) return read_number(r, out);
  if (r->at < r->end && r->text[r->at] == '(') return read_bracket(r, out);
  if (take(r, "\u2026")) return *out = (struct side){1, {attn_cell_blank()}}, 1;
  for (size_t n = 0; n < sizeof CALLS / sizeof *CALLS; n++)
    if (take(r, CALLS[n].name)) return read_call(r, out, CALLS[n].function);
  return read_vector(r, out);
}

/* A number begins with its sign, as a step shows it. */
static void negate(struct worked_reader *r, struct side *s, size_t sign) {
  for (int n = 0; n < s->cols; n++) s->at[n] = attn_cell_negate(s->at[n]);
  if (s->cols > 1 || s->at[0].kind != ATTN_CELL_NUMBER || !s->at[0].line) return;
  struct attn_source_position place = attn_group_place(r->g, r->line, sign);
  s->at[0].line = place.line, s->at[0].column = place.column;
}

static int read_factor(struct worked_reader *r, struct side *out) {
  skip_blanks(r);
  size_t sign = r->at;
  int negative = take(r, "-");
  if (!negative) take(r, "+");
  if (++r->depth > DEPTH_MAX || !read_primary(r, out)) return 0;
  r->depth--;
  if (negative) negate(r, out, sign);
  return 1;
}

/* 0: the product ends here. '(': without a sign, 2√3, 0.5 (1, 0). */
static char next_operation(struct worked_reader *r) {
  size_t before = r->at;
  skip_blanks(r);
  if (take(r, "\u00D7") || take(r, "\u00B7") || take(r, "*")) return '*';
  if (take(r, "/") || take(r, "\u00F7")) return '/';
  if (r->at > before && r->end - r->at > 1 && r->text[r->at] == 'x' &&
      attn_is_blank(r->text[r->at + 1]))
    return r->at++, '*';
  int next =
      r->at < r->end && (r->text[r->at] == '(' || attn_value_mark(r->text, r->at, r->end, NULL) ||
                         strncmp(r->text + r->at, "\u221A", 3) == 0);
  if (next) return '(';
  r->at = before;
  return 0;
}

static int read_product(struct worked_reader *r, struct side *out) {
  struct side next;
  if (!read_factor(r, out)) return 0;
  for (char operation; (operation = next_operation(r)) != 0;) {
    if (operation == '(' && out->cols > 1) return 1; /* two vectors */
    r->operators++;
    if (!read_factor(r, &next)) return 0;
    int is_dot = operation == '*' && out->cols > 1 && out->cols == next.cols;
    r->dots += is_dot;
    if (is_dot ? !dot(out, &next) : !apply(operation == '/' ? '/' : '*', out, &next)) return 0;
  }
  return 1;
}

static int read_sum(struct worked_reader *r, struct side *out) {
  struct side next;
  if (++r->depth > DEPTH_MAX || !read_product(r, out)) return 0;
  for (;;) {
    size_t before = r->at;
    skip_blanks(r);
    char operation = r->at < r->end ? r->text[r->at] : 0;
    if (operation != '+' && operation != '-') {
      r->at = before;
      break;
    }
    r->at++, r->operators++, r->sums++;
    if (!read_product(r, &next) || !apply(operation, out, &next)) return 0;
  }
  r->depth--;
  return 1;
}

/* ---- sides ---- */

/* Does something go on after a side that is not arithmetic of ours: "2 d_k", "0.5 · v"? */
static int goes_on(const struct worked_reader *r) {
  static const char MORE[] =
      "[A-Za-z_^%']|\\s*(?:[-+*/^(\\[{<>\\x{B7}\\x{D7}\\x{221A}\\x{2026}]|[A-Za-z](?![A-Za-z]))";
  return attn_match_at(r->g->scan->patterns, MORE, r->text, r->end, r->at, NULL);
}

static int take_equals(struct worked_reader *r) {
  size_t before = r->at;
  skip_blanks(r);
  if (take(r, "=") && (r->at == r->end || r->text[r->at] != '=')) return 1;
  r->at = before;
  return 0;
}

static double unit_of(const attn_cell *cell) {
  return cell->kind == ATTN_CELL_NUMBER && cell->decimals > 0 ? cell->hi - cell->lo : 0;
}

/* Within rounding. is_sum: of decimals, so that an integer is exact: "0.7 + 0.3 = 1". */
static int may_be_equal(const attn_cell *a, const attn_cell *b, int is_sum) {
  int is_exact = is_sum && b->kind == ATTN_CELL_NUMBER && b->decimals == 0;
  double lo = is_exact ? b->value : b->lo, hi = is_exact ? b->value : b->hi;
  double slack = (UNITS - .5) * fmax(unit_of(a), unit_of(b)) + 1e-9 * (1 + fabs(b->value));
  return a->lo - slack <= hi && a->hi + slack >= lo;
}

/* decimals: the most that a number of a has. A result with more is of exact numbers. */
static int same_side(const struct worked_reader *r, const struct side *a, const struct side *b,
                     int decimals) {
  if (a->cols != b->cols) return r->dots > 0; /* perhaps each by each */
  for (int n = 0; n < a->cols; n++) {
    int is_open = a->at[n].kind == ATTN_CELL_BLANK || b->at[n].kind == ATTN_CELL_BLANK;
    int is_exact = b->at[n].kind == ATTN_CELL_NUMBER && b->at[n].decimals > decimals;
    const attn_cell exact = attn_cell_exact(a->at[n].value);
    const attn_cell *x = is_exact ? &exact : &a->at[n];
    if (!is_open && !may_be_equal(x, &b->at[n], r->sums == r->operators)) return 0;
  }
  return 1;
}

static int most_decimals(const struct worked_reader *r, int from, int to) {
  int most = 0;
  for (int n = from; n < to; n++)
    if (r->literal[n].kind == ATTN_CELL_NUMBER && r->literal[n].decimals > most)
      most = r->literal[n].decimals;
  return most;
}

/* ---- a chain of sides ---- */

struct chain {
  int sides, differs;
  int operands; /* literals of the first side */
  struct side side[SIDES_MAX];
  attn_cell first[SIDES_MAX]; /* the first number of each */
};

/* The sides from r->at on; r->at is then after the last one. */
static void read_chain(struct worked_reader *r, struct chain *c) {
  int last = r->literals; /* where the literals of the side before begin */
  for (c->sides = c->differs = 0; c->sides < SIDES_MAX;) {
    struct side *side = &c->side[c->sides];
    size_t before = r->at;
    int literals = r->literals, operators = r->operators;
    r->depth = 0;
    if (!read_sum(r, side) || goes_on(r) || r->literals == literals) {
      if (c->sides) r->at = before, r->literals = literals, r->operators = operators;
      return;
    }
    c->first[c->sides] = r->literal[literals];
    if (!c->sides) c->operands = r->literals;
    if (c->sides > 0) c->differs |= !same_side(r, side - 1, side, most_decimals(r, last, literals));
    last = literals;
    c->sides++;
    if (!take_equals(r)) return;
  }
}

/* May arithmetic begin here, or is this the middle of something? After a bullet it may. "v 2" is a
 * product, and "f(2" an argument. */
static int may_begin(const struct worked_reader *r, size_t at) {
  static const char MIDDLE[] =
      "(?:[\\w\\x{3B1}-\\x{3C9}.^)\\]}'\"\\\\]|[A-Za-z_][(\\[{]|"
      "[-+*/^)\\]}\\d\\x{B7}\\x{D7}\\x{F7}\\x{221A}\\x{2026}]\\s*|(?<![A-Za-z])[A-Za-z]\\s+)$";
  size_t first = strspn(r->text, " \t");
  if (at > first + 1 && strchr("-*+", r->text[first]) &&
      strspn(r->text + first + 1, " \t") == at - first - 1)
    return 1;
  struct attn_part front = {r->begin, at};
  return !attn_part_ends_in(r->g, MIDDLE, r->text, front, FRONT_CHARACTERS);
}

/* The 1 of "score 1 = 2·1 + 3·1 = 5", "重み1 = 1.0 ÷ 4.0 = 0.25", "手順1 √4 = 2". */
static int is_index(const struct worked_reader *r, size_t at) {
  static const char LABEL[] =
      "(?i)[a-z](?<!\\bis|\\bof|\\bby|\\bto|\\bare|gives|makes|equals|sum|total|root) $|"
      "[\\x{3040}-\\x{9FFF}](?<![はがをにでとものへ和計]) ?$";
  return attn_match_at(r->g->scan->patterns, "\\d+(?:\\s*=|\\s+\\x{221A})", r->text, r->end, at,
                       NULL) &&
         attn_part_ends_in(r->g, LABEL, r->text, (struct attn_part){0, at}, FRONT_CHARACTERS);
}

static int may_be_first(const struct worked_reader *r, size_t at) {
  char c = r->text[at];
  return attn_is_digit(c) || c == '(' || c == '-' || ((c == 'e' || c == 's') && at + 4 < r->end) ||
         strncmp(r->text + at, "\u221A", 3) == 0 || attn_value_mark(r->text, at, r->end, NULL);
}

void attn_worked_add(struct attn_grouping *g, struct attn_worked worked) {
  struct attn_scan *scan = g->scan;
  if (worked.name &&
      attn_group_grow(g, (void **)&scan->worked, (size_t)scan->workeds, sizeof *scan->worked))
    scan->worked[scan->workeds++] = worked;
}

/* A number that is worked out is where its side begins. 0: no memory. */
static int add_side(struct attn_grouping *g, struct attn_worked *w, const struct side *side,
                    const attn_cell *first) {
  attn_cell *cells = attn_group_take(g, (size_t)side->cols, sizeof *cells);
  if (!cells || !attn_group_grow(g, (void **)&w->side, (size_t)w->sides, sizeof *w->side)) return 0;
  for (int n = 0; n < side->cols; n++) {
    cells[n] = side->at[n];
    if (!cells[n].line) cells[n].line = first->line, cells[n].column = first->column;
  }
  w->side[w->sides++] = (attn_printing){
      .rows = 1, .cols = side->cols, .line = first->line, .column = first->column, .cells = cells};
  return 1;
}

static void add_worked(struct worked_reader *r, size_t begin, const struct chain *c) {
  struct attn_worked worked = {.first = r->literal[0],
                               .last = r->literal[r->literals - 1],
                               .numbers = r->literals,
                               .differs = c->differs};
  worked.name = attn_group_text(r->g, r->text, attn_name_before(r->text, begin));
  worked.operands = c->operands;
  worked.operand = attn_group_take(r->g, (size_t)c->operands, sizeof *worked.operand);
  if (!worked.operand) return;
  memcpy(worked.operand, r->literal, (size_t)c->operands * sizeof *worked.operand);
  for (int n = 0; n < c->sides; n++)
    if (!add_side(r->g, &worked, &c->side[n], &c->first[n])) return;
  attn_worked_add(r->g, worked);
}

/* "(2) √3 = 1.73" is no product, nor is "2-1 (-1)×2 = -2": where its text begins. */
static size_t after_number(struct attn_grouping *g, const struct attn_scan_line *line) {
  static const char LABEL[] =
      "\\s*(?:\\(\\d\\)\\s+(?![-+*/=(])|[1-9]-[1-9]\\s+(?=\\(?-?\\d|e\\^|\\x{221A}))";
  struct attn_match m;
  struct attn_part all = {0, line->bytes};
  int found = attn_part_begins_in(g, LABEL, line->text, all, &m);
  return found ? m.group[0].end : attn_skip_part_number(g, line);
}

/* "exp 1 = 8.34" is the first exponential, if it is not e. */
static int is_numbered(const struct worked_reader *r, size_t at, const struct chain *c) {
  return c->differs &&
         attn_match_at(r->g->scan->patterns, "exp [1-9]\\s*=", r->text, r->end, at, NULL);
}

static void read_line(struct attn_grouping *g, const struct attn_scan_line *line) {
  struct worked_reader r = {.g = g, .line = line, .text = line->text, .end = line->bytes};
  struct chain c;
  if (!strpbrk(line->text, "=+")) return;
  r.begin = after_number(g, line);
  for (size_t at = r.begin; at < r.end && g->status == ATTN_OK;) {
    int begins = may_be_first(&r, at) && may_begin(&r, at) && !is_index(&r, at);
    r.at = at, r.literals = r.operators = r.sums = c.sides = 0;
    if (begins) read_chain(&r, &c);
    int is_sum = c.sides == 1 && r.sums && c.side[0].cols > 1; /* of vectors, without a result */
    if (((c.sides > 1 && r.operators) || is_sum) && !is_numbered(&r, at, &c))
      add_worked(&r, at, &c);
    at = c.sides && r.at > at ? r.at : at + 1;
  }
}

void attn_worked_lines(struct attn_grouping *g) {
  for (int n = 0; n < g->lines->lines && g->status == ATTN_OK; n++)
    read_line(g, &g->lines->line[n]);
}
