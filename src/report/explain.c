/* explain.c -- every step of a lesson, with its numbers and why. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "out.h"

static const char *symbol_of(const attn_example *e, int32_t step) {
  const attn_step *s = &e->step[step];
  return s->symbol && *s->symbol ? s->symbol : attn_step_label(s->name);
}

static const char *operand(const attn_example *e, const attn_step *s, int n) {
  return n < s->operands ? symbol_of(e, s->operand[n]) : "";
}

static void say_divided(struct attn_out *out, const attn_example *e, const attn_step *s) {
  char text[ATTN_NUMBER_BYTES], by[96];
  attn_number_text(out, s->scalar, text);
  if (s->scaled_by)
    snprintf(by, sizeof by, "sqrt(%d) = %s", (int)s->scaled_by, text);
  else
    snprintf(by, sizeof by, "%s", text);
  attn_out_phrase(out, SAY_DIVIDED, operand(e, s, 0), by);
}

static void say_operation(struct attn_out *out, const attn_example *e, const attn_step *s) {
  char text[ATTN_NUMBER_BYTES];
  const char *a = operand(e, s, 0), *b = operand(e, s, 1);
  switch (s->op) {
    case ATTN_OP_GIVEN: attn_out_phrase(out, SAY_GIVEN); break;
    case ATTN_OP_MATMUL: attn_out_phrase(out, SAY_PRODUCT, a, b); break;
    case ATTN_OP_MATMUL_NT: attn_out_phrase(out, SAY_PRODUCT_T, a, b); break;
    case ATTN_OP_MATMUL_TN: attn_out_phrase(out, SAY_PRODUCT, a, b); break;
    case ATTN_OP_TRANSPOSE: attn_out_phrase(out, SAY_TRANSPOSED, a); break;
    case ATTN_OP_DIVIDE: say_divided(out, e, s); break;
    case ATTN_OP_MASK: attn_out_phrase(out, SAY_MASKED, a, attn_number_text(out, s->scalar, text)); break;
    case ATTN_OP_SOFTMAX: attn_out_phrase(out, s->axis ? SAY_SOFTMAX_ROWS : SAY_SOFTMAX_COLUMNS, a); break;
    case ATTN_OP_EXP: attn_out_phrase(out, SAY_EXPONENTIALS, a); break;
    case ATTN_OP_SUM: attn_out_phrase(out, SAY_SUMS, a); break;
    case ATTN_OP_QUOTIENT: attn_out_phrase(out, SAY_QUOTIENT, a, b); break;
    case ATTN_OP_ADD: attn_out_phrase(out, SAY_ADDED, a, b); break;
    case ATTN_OP_APPEND: attn_out_phrase(out, SAY_APPENDED); break;
    case ATTN_OP_GENERAL: attn_out_phrase(out, SAY_GENERAL, a, b); break;
    case ATTN_OP_ADDITIVE: attn_out_phrase(out, SAY_ADDITIVE, a, b); break;
    case ATTN_OP_POSITIONS: attn_out_phrase(out, SAY_POSITIONS); break;
    default: break;
  }
}

/* ---- Names of rows and columns --------------------------------------------------------- */

static int is_scores(const attn_step *s) {
  return s->name == ATTN_STEP_SCORES || s->name == ATTN_STEP_SCALED || s->name == ATTN_STEP_MASKED ||
         s->name == ATTN_STEP_EXPONENTIALS || s->name == ATTN_STEP_WEIGHTS;
}

static char **tokens(const attn_example *e, int queries, int32_t count) {
  if (queries && e->query_tokens == count) return e->query_token;
  if (e->key_tokens == count) return e->key_token;
  return NULL;
}

static void labels(const attn_example *e, const attn_step *s, char ***rows, char ***cols) {
  int columns = e->orientation == ATTN_QUERIES_IN_COLUMNS && is_scores(s);
  int of_queries = s->name == ATTN_STEP_Q || s->name == ATTN_STEP_Y || s->name == ATTN_STEP_OUTPUT ||
                   s->name == ATTN_STEP_PROJECTED || s->name == ATTN_STEP_CONCAT || is_scores(s);
  int weights = s->name == ATTN_STEP_W_Q || s->name == ATTN_STEP_W_K || s->name == ATTN_STEP_W_V ||
                s->name == ATTN_STEP_W_O;
  *rows = weights ? NULL : tokens(e, of_queries && !columns, s->exact.rows);
  *cols = is_scores(s) ? tokens(e, columns, s->exact.cols) : NULL;
}

/* ---- Who looks at whom -------------------------------------------------------------------- */

static double weight(const attn_example *e, const attn_step *s, int32_t query, int32_t key) {
  int columns = e->orientation == ATTN_QUERIES_IN_COLUMNS;
  return s->exact.at[(int64_t)(columns ? key : query) * s->exact.cols + (columns ? query : key)];
}

static const char *token_name(char **token, int32_t tokens_count, int32_t n, char text[16]) {
  if (token && n < tokens_count && token[n] && *token[n]) return token[n];
  snprintf(text, 16, "#%d", (int)n + 1);
  return text;
}

static void say_looks(struct attn_out *out, const attn_example *e, const attn_step *s) {
  int columns = e->orientation == ATTN_QUERIES_IN_COLUMNS;
  int32_t queries = columns ? s->exact.cols : s->exact.rows, keys = columns ? s->exact.rows : s->exact.cols;
  for (int32_t i = 0; i < queries && i < 32 && keys > 1; i++) {
    char name[16], key_name[16], number[ATTN_NUMBER_BYTES], list[512] = "";
    double top = 0;
    int32_t equal = 0;
    for (int32_t j = 0; j < keys; j++) top = fmax(top, weight(e, s, i, j));
    for (int32_t j = 0; j < keys; j++) {
      if (top - weight(e, s, i, j) > 1e-9) continue;
      size_t used = strlen(list);
      snprintf(list + used, sizeof list - used, "%s%s", equal++ ? ", " : "",
               token_name(e->key_token, e->key_tokens, j, key_name));
    }
    attn_out_text(out, "  ");
    attn_out_phrase(out, equal > 1 ? SAY_LOOKS_ALIKE : SAY_LOOKS,
                    token_name(e->query_tokens ? e->query_token : e->key_token,
                               e->query_tokens ? e->query_tokens : e->key_tokens, i, name),
                    list, attn_number_text(out, top, number));
    attn_out_text(out, "\n");
  }
}

/* ---- One step -------------------------------------------------------------------------------- */

/* How many printed cells are not the right number, to the digits that they show. */
static int differing(const attn_step *s) {
  int count = 0;
  for (int32_t p = 0; p < s->printings && s->op != ATTN_OP_GIVEN; p++) {
    const attn_printing *g = &s->printing[p];
    for (int32_t n = 0; n < g->rows * g->cols; n++) {
      int32_t row = g->row0 + n / g->cols, col = g->col0 + n % g->cols;
      const attn_cell *cell = &g->cells[n];
      if (cell->kind == ATTN_CELL_BLANK || row >= s->exact.rows || col >= s->exact.cols) continue;
      double exact = s->exact.at[(int64_t)row * s->exact.cols + col];
      double slack = 1e-9 * (1 + fabs(exact));
      count += !(exact >= cell->lo - slack && exact <= cell->hi + slack) && exact != cell->value;
    }
  }
  return count;
}

/* One row worked out in full where a step is computed; a wide one by its first cells. */
static void work_row(struct attn_out *out, const attn_example *e, int32_t step) {
  const attn_step *s = &e->step[step];
  int32_t cells = s->name == ATTN_STEP_SCORES || s->name == ATTN_STEP_OUTPUT || s->op == ATTN_OP_SOFTMAX
                      ? s->exact.cols : 1;
  int down = s->op == ATTN_OP_SOFTMAX && !s->axis;
  if (down) cells = s->exact.rows;
  for (int32_t n = 0; n < cells && n < 8; n++) {
    attn_out_text(out, "  ");
    attn_out_phrase(out, SAY_WORKED);
    attn_out_working(out, e, step, down ? n : 0, down ? 0 : n);
    attn_out_text(out, "\n");
  }
}

static void explain_step(struct attn_out *out, const attn_example *e, int32_t step) {
  const attn_step *s = &e->step[step];
  char **rows, **cols, text[16];
  if (out->style.color) attn_out_text(out, "\033[1m");
  attn_out_step(out, s);
  if (out->style.color) attn_out_text(out, "\033[0m");
  attn_out_format(out, "  (%d x %d)  ", (int)s->exact.rows, (int)s->exact.cols);
  say_operation(out, e, s);
  attn_out_text(out, "\n");
  labels(e, s, &rows, &cols);
  attn_out_matrix(out, &s->exact, rows, cols);
  if (s->op != ATTN_OP_GIVEN && s->op != ATTN_OP_APPEND && s->op != ATTN_OP_MASK &&
      s->op != ATTN_OP_POSITIONS && s->op != ATTN_OP_GENERAL && s->op != ATTN_OP_ADDITIVE)
    work_row(out, e, step);
  if (s->op == ATTN_OP_DIVIDE && s->scaled_by) attn_out_phrase(out, SAY_WHY_SCALED);
  if (s->name == ATTN_STEP_WEIGHTS) say_looks(out, e, s);
  int wrong = differing(s);
  snprintf(text, sizeof text, "%d", wrong);
  if (wrong) attn_out_text(out, "! "), attn_out_phrase(out, SAY_DIFFERS, text);
  attn_out_text(out, "\n");
}

static void explain_example(struct attn_out *out, const attn_example *e, int32_t number) {
  char text[16];
  snprintf(text, sizeof text, "%d", (int)number + 1);
  attn_out_phrase(out, SAY_EXAMPLE, text);
  if (e->title && *e->title) attn_out_format(out, ": %.200s", e->title);
  attn_out_text(out, "\n");
  attn_out_phrase(out, e->orientation ? SAY_QUERIES_IN_COLUMNS : SAY_QUERIES_IN_ROWS);
  attn_out_text(out, "\n");
  for (int32_t n = 0; n < e->steps; n++) explain_step(out, e, n);
}

attn_status attn_lesson_explain(const attn_lesson *lesson, const attn_style *style,
                                const attn_sink *sink, attn_error *err) {
  struct attn_out out = attn_out_begin(style, sink);
  if (!lesson->examples) attn_out_phrase(&out, SAY_NO_EXAMPLES, lesson->file);
  for (int32_t n = 0; n < lesson->examples; n++) explain_example(&out, &lesson->example[n], n);
  return attn_out_end(&out, err);
}

/* ---- One cell ----------------------------------------------------------------------------------- */

struct request {
  int example, head; /* -1: any */
  char name[64];
  char row[64], col[64];
};

static int same_name(const attn_step *s, const char *name) {
  return !strcmp(name, attn_step_label(s->name)) || (s->symbol && !strcmp(name, s->symbol));
}

/* "example 2: head 1: weights[2,0]" */
static int parse_request(const char *text, struct request *r) {
  int n = 0, used = 0;
  *r = (struct request){-1, -1, "", "", ""};
  if (sscanf(text, " example %d :%n", &n, &used) == 1 && used) r->example = n - 1, text += used;
  used = 0;
  if (sscanf(text, " head %d :%n", &n, &used) == 1 && used) r->head = n - 1, text += used;
  return sscanf(text, " %63[^[ ] [ %63[^], ] , %63[^] ] ]", r->name, r->row, r->col) == 3;
}

/* A number from 0, or a token's name; -1: neither. */
static int32_t index_of(const char *text, char **token, int32_t tokens_count, int32_t count) {
  int value = 0, used = 0;
  for (int32_t n = 0; token && n < tokens_count && n < count; n++)
    if (token[n] && !strcmp(token[n], text)) return n;
  if (sscanf(text, "%d%n", &value, &used) == 1 && !text[used] && value >= 0 && value < count) return value;
  return -1;
}

static attn_status no_such_cell(const attn_lesson *lesson, const char *cell, attn_error *err) {
  char list[160] = "";
  const attn_example *e = lesson->examples ? &lesson->example[0] : NULL;
  for (int32_t n = 0, used = 0; e && n < e->steps && used + 30 < (int)sizeof list; n++)
    used += snprintf(list + used, sizeof list - (size_t)used, "%s%s %dx%d", n ? ", " : "",
                     attn_step_label(e->step[n].name), (int)e->step[n].exact.rows, (int)e->step[n].exact.cols);
  return attn_fail(err, ATTN_ERR_ARGUMENT, "cell", "there is no %.40s; write NAME[ROW,COLUMN], counted from 0: %s", cell, list);
}

/* The chain behind the number: its own sum, then each operand's where that was computed. */
static void work_back(struct attn_out *out, const attn_example *e, int32_t step, int32_t row, int32_t col, int depth) {
  const attn_step *s = &e->step[step];
  if (depth > 6) return;
  for (int n = 0; n < 2 * depth; n++) attn_out_text(out, " ");
  attn_out_working(out, e, step, row, col);
  attn_out_text(out, "\n");
  for (int32_t n = 0; n < s->operands && n < 2; n++) {
    const attn_step *from = &e->step[s->operand[n]];
    if (from->op == ATTN_OP_GIVEN) continue;
    int transposed = (s->op == ATTN_OP_MATMUL_TN && n == 0) || (s->op == ATTN_OP_MATMUL_NT && n == 1);
    int along_rows = n == 0 ? !transposed : transposed;
    int product = s->op == ATTN_OP_MATMUL || s->op == ATTN_OP_MATMUL_NT || s->op == ATTN_OP_MATMUL_TN;
    int32_t fixed = n == 0 ? row : col, count = along_rows ? from->exact.cols : from->exact.rows;
    if (s->op == ATTN_OP_SOFTMAX) fixed = s->axis ? row : col, count = s->axis ? from->exact.cols : from->exact.rows, along_rows = s->axis;
    else if (!product) { work_back(out, e, s->operand[n], row < from->exact.rows ? row : 0, col < from->exact.cols ? col : 0, depth + 1); continue; }
    for (int32_t k = 0; k < count && k < 8; k++)
      work_back(out, e, s->operand[n], along_rows ? fixed : k, along_rows ? k : fixed, depth + 1);
  }
}

attn_status attn_lesson_explain_cell(const attn_lesson *lesson, const char *cell,
                                     const attn_style *style, const attn_sink *sink, attn_error *err) {
  struct attn_out out = attn_out_begin(style, sink);
  struct request r;
  if (!parse_request(cell, &r)) return no_such_cell(lesson, cell, err);
  for (int32_t n = 0; n < lesson->examples; n++) {
    const attn_example *e = &lesson->example[n];
    if (r.example >= 0 && r.example != n) continue;
    for (int32_t k = 0; k < e->steps; k++) {
      const attn_step *s = &e->step[k];
      if (!same_name(s, r.name) || (r.head >= 0 && s->head != r.head)) continue;
      char **rows, **cols;
      labels(e, s, &rows, &cols);
      int32_t row = index_of(r.row, rows, s->exact.rows, s->exact.rows);
      int32_t col = index_of(r.col, cols, s->exact.cols, s->exact.cols);
      if (row < 0 || col < 0) return no_such_cell(lesson, cell, err);
      work_back(&out, e, k, row, col, 0);
      return attn_out_end(&out, err);
    }
  }
  return no_such_cell(lesson, cell, err);
}
