/* explain_cell.c -- attn_lesson_explain_cell: the whole computation of one value, from the givens.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "explain.h"
#include "matrix_cells.h"
#include "number_text.h"
#include "working.h"

enum { NAME_BYTES = 128, CELLS_MAX = 400, LINE = 2, SUGGESTIONS_MAX = 64 };

/* ---- Parsing the request ---- */

struct cell_request {
  int64_t example, head; /* from 1; 0: any */
  char name[NAME_BYTES], row[NAME_BYTES], col[NAME_BYTES];
};

static const char *skip_spaces(const char *at) { return at + strspn(at, " \t"); }

/* "example 2:"; leaves *number unchanged if there is no such prefix. */
static const char *read_prefix(const char *at, const char *const *words, int64_t *number) {
  static const char *const colons[] = {":", "：", ",", NULL};
  const char *next = attn_skip_one_of(at, words);
  int64_t value = 0;
  if (!next) return at;
  next = skip_spaces(next);
  if (*next < '0' || *next > '9') return at;
  for (; *next >= '0' && *next <= '9'; next++)
    if (value < 1000000) value = value * 10 + (*next - '0');
  next = attn_skip_one_of(skip_spaces(next), colons);
  if (!next) return at;
  *number = value ? value : -1;
  return skip_spaces(next);
}

static int copy(char *to, const char *from, const char *end) {
  from = skip_spaces(from);
  while (end > from && (end[-1] == ' ' || end[-1] == '\t')) end--;
  if (end <= from || end - from >= NAME_BYTES) return 0;
  memcpy(to, from, (size_t)(end - from));
  to[end - from] = 0;
  return 1;
}

/* Reads an index up to the closing character; a name in quotes may contain anything. Returns the
 * text after it, or NULL. */
static const char *read_index(const char *at, char close, char *to) {
  at = skip_spaces(at);
  const char *quote = *at == '"' ? strchr(at + 1, '"') : NULL;
  const char *end = strchr(quote ? quote + 1 : at, close);
  if (!end || (quote && skip_spaces(quote + 1) != end)) return NULL;
  return copy(to, at, end) ? end + 1 : NULL;
}

static int parse(const char *text, struct cell_request *r) {
  static const char *const examples[] = {"example", "例", NULL}, *const heads[] = {"head", "ヘッド",
                                                                                   NULL};
  *r = (struct cell_request){0, 0, "", "", ""};
  const char *at = read_prefix(skip_spaces(text), examples, &r->example);
  at = read_prefix(at, heads, &r->head);
  for (const char *open = strchr(at, '['); open; open = strchr(open + 1, '[')) {
    const char *rest = copy(r->name, at, open) ? read_index(open + 1, ',', r->row) : NULL;
    if (rest) rest = read_index(rest, ']', r->col);
    if (rest && !*skip_spaces(rest)) return 1;
  }
  return 0;
}

/* ---- Finding the step ---- */

/* How a name refers to a step, in order of precedence. */
enum { BY_SYMBOL, BY_LABEL, BY_ALIAS, NAME_KINDS };

/* d_q names d_Q. */
static int is_alike(const char *a, const char *b) {
  for (; *a && *b; a++, b++) {
    char x = *a >= 'A' && *a <= 'Z' ? (char)(*a | 32) : *a;
    if (x != (*b >= 'A' && *b <= 'Z' ? (char)(*b | 32) : *b)) return 0;
  }
  return *a == *b;
}

static int called(const attn_step *s, const char *name, int way) {
  char symbol[ATTN_LABEL_BYTES];
  if (s->gradient_of) return way == BY_ALIAS ? is_alike(s->symbol, name) : !strcmp(s->symbol, name);
  if (way == BY_SYMBOL)
    return s->symbol && (!strcmp(s->symbol, name) || !strcmp(attn_symbol_text(s, symbol), name));
  return way == BY_LABEL ? !strcmp(attn_step_label(s->name), name)
                         : s->name == attn_step_find(name);
}

/* The document's own name for a step takes precedence over the common ones. */
static const attn_step *find_step(const attn_example *e, const struct cell_request *r) {
  for (int way = 0; way < NAME_KINDS; way++)
    for (int32_t n = 0; n < e->steps; n++) {
      const attn_step *s = &e->step[n];
      if ((!r->head || s->head + 1 == r->head) && called(s, r->name, way)) return s;
    }
  return NULL;
}

/* Names that people use for the steps of attention, of which attn_step_find knows the meaning. */
/* clang-format off */
static const char *const common_names[] = {
    "inputs", "query", "queries", "key", "keys", "value", "values", "mask", "exponentials",
    "row sum", "softmax", "attention", "attention weights", "context", "concat", "projected",
};
/* clang-format on */
enum { COMMON_NAMES = sizeof common_names / sizeof *common_names };

/* The name of a step with a similar spelling, or NULL. */
static const char *suggestion(const attn_example *e, const char *name) {
  const char *names[2 * SUGGESTIONS_MAX + COMMON_NAMES];
  int32_t count = 0;
  for (int32_t n = 0; n < e->steps && n < SUGGESTIONS_MAX; n++) {
    names[count++] = attn_step_label(e->step[n].name);
    if (e->step[n].symbol) names[count++] = e->step[n].symbol;
  }
  for (int n = 0; n < COMMON_NAMES; n++)
    if (attn_step_named(e, attn_step_find(common_names[n]))) names[count++] = common_names[n];
  return attn_text_nearest(name, names, count);
}

static attn_status no_step(const attn_lesson *lesson, const struct cell_request *r,
                           attn_error *err) {
  char list[160] = "";
  const attn_example *e = &lesson->example[r->example > 0 ? r->example - 1 : 0];
  for (int32_t n = 0; n < e->steps; n++) {
    const attn_step *s = &e->step[n];
    char name[ATTN_LABEL_BYTES];
    size_t used = strlen(list);
    if (s->head > 0 && !r->head) continue;
    attn_step_text(e, s, name);
    if (used + strlen(name) + 32 > sizeof list) continue;
    snprintf(list + used, sizeof list - used, "%s%s %dx%d", n ? ", " : "", name, (int)s->exact.rows,
             (int)s->exact.cols);
  }
  const char *near = suggestion(e, r->name);
  if (near)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "cell",
                     "no step is called %.24s; did you mean %.24s? The steps are: %s", r->name,
                     near, list);
  return attn_fail(err, ATTN_ERR_ARGUMENT, "cell", "no step is called %.24s; the steps are: %s",
                   r->name, list);
}

/* ---- Rows and columns ---- */

/* Returns -1 if text is not a number below count. */
static int32_t as_number(const char *text, int32_t count) {
  int64_t value = 0;
  if (!*text) return -1;
  for (; *text; text++) {
    if (*text < '0' || *text > '9' || value > count) return -1;
    value = value * 10 + (*text - '0');
  }
  return value < count ? (int32_t)value : -1;
}

/* A number from 0, or a unique token: bare digits are always a number. */
static attn_status find_index(const attn_example *e, const attn_step *s, int axis, const char *text,
                              int32_t *index, attn_error *err) {
  int32_t count = axis ? s->exact.cols : s->exact.rows, found = 0;
  const char *what = axis ? "column" : "row";
  char name[ATTN_LABEL_BYTES];
  *index = as_number(text, count);
  if (*index >= 0) return ATTN_OK;
  for (int32_t n = 0; n < count && !attn_token_is_digits(text); n++) {
    const char *token = attn_axis_token(e, s, axis, n);
    if (!token || !attn_token_equal(token, text)) continue;
    if (found++ == 0) *index = n;
  }
  attn_step_text(e, s, name);
  if (found == 1) return ATTN_OK;
  if (found > 1)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "cell",
                     "%.40s names %d %ss of %.60s: give the number, counted from 0", text,
                     (int)found, what, name);
  return attn_fail(err, ATTN_ERR_ARGUMENT, "cell", "%.60s has no %s %.40s; expected 0 to %d%s",
                   name, what, text, (int)count - 1,
                   attn_axis_token(e, s, axis, 0)
                       ? ", or a token's name, in quotes where it is digits: \"2\""
                       : "");
}

/* ---- Writing the computation ---- */

/* The cells of each step that are needed: one byte per cell, allocated on first use. */
struct needed_cells {
  const attn_example *example;
  unsigned char **cell;
  int failed;
};

static void need(void *context, int32_t step, int32_t row, int32_t col) {
  struct needed_cells *needs = context;
  const attn_matrix *m = &needs->example->step[step].exact;
  if (row < 0 || col < 0 || row >= m->rows || col >= m->cols) return;
  if (!needs->cell[step]) needs->cell[step] = calloc((size_t)m->rows, (size_t)m->cols);
  if (!needs->cell[step])
    needs->failed = 1;
  else
    needs->cell[step][attn_cell_index(m, row, col)] = 1;
}

static void need_operands(struct needed_cells *needs, int32_t target) {
  for (int32_t n = target; n >= 0 && !needs->failed; n--) {
    const attn_step *s = &needs->example->step[n];
    for (int32_t i = 0; needs->cell[n] && i < s->exact.rows; i++)
      for (int32_t j = 0; j < s->exact.cols; j++)
        if (needs->cell[n][attn_cell_index(&s->exact, i, j)])
          attn_operand_cells(needs->example, s, i, j, need, needs);
  }
}

void attn_out_step(struct attn_out *out, const attn_example *e, const attn_step *s) {
  char relation[ATTN_RELATION_BYTES];
  attn_explain_kind(out, s);
  if (s->head >= 0) {
    attn_out_message(out, MESSAGE_OPEN_BRACKET, NULL);
    attn_out_message(out, MESSAGE_HEAD, ATTN_INTEGER_TEXT(s->head + 1), NULL);
    attn_out_message(out, MESSAGE_CLOSE_BRACKET, NULL);
  }
  attn_out_message(out, MESSAGE_COLON, NULL);
  attn_out_flow(out, attn_relation_text(e, s, out->style.precision, relation));
}

static void put_cells(struct attn_out *out, const attn_example *e, const attn_step *s,
                      const unsigned char *needed) {
  int32_t count = 0;
  attn_out_step(out, e, s);
  for (int32_t i = 0; i < s->exact.rows; i++)
    for (int32_t j = 0; j < s->exact.cols; j++) {
      if (!needed[attn_cell_index(&s->exact, i, j)] || count++ >= CELLS_MAX) continue;
      attn_out_line(out, LINE);
      attn_out_working(out, e, s, i, j, 0);
    }
  if (count > CELLS_MAX) {
    attn_out_line(out, LINE);
    attn_out_message(out, MESSAGE_MORE_CELLS, ATTN_INTEGER_TEXT(count - CELLS_MAX), NULL);
  }
  attn_out_line(out, 0);
}

static void put_givens(struct attn_out *out, const struct needed_cells *needs) {
  const attn_example *e = needs->example;
  char list[1024] = "", symbol[ATTN_LABEL_BYTES];
  const char *comma = attn_message_text(MESSAGE_COMMA, out->style.language);
  for (int32_t n = 0; n < e->steps; n++) {
    const attn_step *s = &e->step[n];
    size_t used = strlen(list);
    if (!needs->cell[n] || s->op != ATTN_OP_GIVEN || s->gradient_of ||
        used + ATTN_LABEL_BYTES + 8 > sizeof list)
      continue;
    snprintf(list + used, sizeof list - used, "%s%s", used ? comma : "",
             attn_symbol_text(s, symbol));
  }
  if (!*list) return;
  attn_out_message(out, MESSAGE_GIVENS_USED, list, NULL);
  attn_out_line(out, 0);
}

static void put_losses(struct attn_out *out, const struct needed_cells *needs) {
  const attn_example *e = needs->example;
  for (int32_t n = 0; n < e->steps; n++)
    if (needs->cell[n] && e->step[n].op == ATTN_OP_GIVEN && e->step[n].gradient_of)
      attn_out_loss(out, e, &e->step[n]), attn_out_line(out, 0);
}

static attn_status write_out(struct attn_out *out, const attn_example *e, int32_t target,
                             int32_t row, int32_t col) {
  struct needed_cells needs = {e, calloc((size_t)e->steps, sizeof *needs.cell), 0};
  if (!needs.cell) return ATTN_ERR_MEMORY;
  need(&needs, target, row, col);
  need_operands(&needs, target);
  for (int32_t n = target; n >= 0 && !needs.failed; n--)
    if (needs.cell[n] && (e->step[n].op != ATTN_OP_GIVEN || n == target))
      put_cells(out, e, &e->step[n], needs.cell[n]);
  if (!needs.failed) put_givens(out, &needs), put_losses(out, &needs);
  for (int32_t n = 0; n < e->steps; n++) free(needs.cell[n]);
  free(needs.cell);
  return needs.failed ? ATTN_ERR_MEMORY : ATTN_OK;
}

static const attn_step *choose(const attn_lesson *lesson, const struct cell_request *r,
                               const attn_example **example) {
  for (int32_t n = 0; n < lesson->examples; n++) {
    if (r->example && r->example != n + 1) continue;
    *example = &lesson->example[n];
    const attn_step *s = find_step(*example, r);
    if (s) return s;
  }
  return NULL;
}

attn_status attn_lesson_find_cell(const attn_lesson *lesson, const char *cell,
                                  attn_cell_address *address, attn_error *err) {
  struct cell_request r;
  const attn_example *e = NULL;
  if (!lesson->examples)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "cell",
                     "the document has no worked example with numbers");
  if (!parse(cell, &r))
    return attn_fail(err, ATTN_ERR_ARGUMENT, "cell",
                     "%.60s is not a cell; write NAME[ROW,COLUMN], for instance weights[0,1]",
                     cell);
  if (r.example < 0 || r.example > lesson->examples)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "cell", "the example must be between 1 and %d",
                     (int)lesson->examples);
  const attn_step *s = choose(lesson, &r, &e);
  if (!s) return no_step(lesson, &r, err);
  address->example = (int32_t)(e - lesson->example), address->step = (int32_t)(s - e->step);
  attn_status status = find_index(e, s, 0, r.row, &address->row, err);
  return status ? status : find_index(e, s, 1, r.col, &address->col, err);
}

attn_status attn_lesson_explain_cell(const attn_lesson *lesson, const char *cell,
                                     const attn_style *style, const attn_sink *sink,
                                     attn_error *err) {
  struct attn_out out;
  attn_cell_address c;
  attn_status status = attn_lesson_find_cell(lesson, cell, &c, err);
  if (status) return status;
  attn_out_begin(&out, style, sink);
  status = write_out(&out, &lesson->example[c.example], c.step, c.row, c.col);
  if (status) return attn_fail(err, status, NULL, "no memory for the computation");
  return attn_out_end(&out, err);
}
