#include "fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void fixture_begin(struct fixture *f, const char *title) {
  memset(f, 0, sizeof *f);
  f->example.title = (char *)(uintptr_t)title;
  f->example.line = 3;
  f->example.heads = 1;
  f->example.one_based = 1;
  f->example.step = f->step;
  f->lesson =
      (attn_lesson){.file = (char *)(uintptr_t) "lesson.md", .examples = 1, .example = &f->example};
}

void fixture_tokens(struct fixture *f, char *tokens) {
  int count = 0;
  for (char *at = strtok(tokens, " "); at && count < 16; at = strtok(NULL, " "))
    f->tokens[count++] = at;
  f->example.key_tokens = f->example.query_tokens = count;
  f->example.key_token = f->example.query_token = f->tokens;
}

static int add(struct fixture *f, attn_step s, int rows, int cols, const double *values) {
  int index = f->example.steps++;
  if (index >= STEPS_MAX || f->cells_used + rows * cols > CELLS_MAX) abort();
  s.exact = (attn_matrix){rows, cols, f->cells + f->cells_used};
  memcpy(s.exact.at, values, (size_t)(rows * cols) * sizeof *values);
  f->cells_used += rows * cols;
  f->step[index] = s;
  return index;
}

int fixture_given(struct fixture *f, int name, const char *symbol, int rows, int cols,
                  const double *values) {
  return fixture_step(f, name, symbol, ATTN_OP_GIVEN, 0, NULL, rows, cols, values);
}

int fixture_step(struct fixture *f, int name, const char *symbol, int op, int operands,
                 const int *operand, int rows, int cols, const double *values) {
  attn_step s = {.name = name,
                 .head = -1,
                 .op = op,
                 .axis = 1,
                 .operands = operands,
                 .symbol = (char *)(uintptr_t)symbol};
  for (int n = 0; n < operands; n++) s.operand[n] = operand[n];
  return add(f, s, rows, cols, values);
}

void fixture_print(struct fixture *f, int step, int line, int decimals, const double *values) {
  attn_step *s = &f->step[step];
  attn_printing *p = &f->printing[f->printings++];
  *p = (attn_printing){.rows = s->exact.rows, .cols = s->exact.cols, .line = line, .column = 1};
  p->cells = f->printed + f->printed_used;
  f->printed_used += p->rows * p->cols;
  if (f->printings > STEPS_MAX || f->printed_used > CELLS_MAX) abort();
  for (int n = 0; n < p->rows * p->cols; n++) {
    double half = 0.5 * pow(10, -decimals);
    p->cells[n] = (attn_cell){isnan(values[n]) ? ATTN_CELL_BLANK : ATTN_CELL_NUMBER,
                              decimals,
                              values[n],
                              values[n] - half,
                              values[n] + half,
                              line + n / p->cols,
                              1 + 4 * (n % p->cols)};
  }
  s->printing = p;
  s->printings = 1;
}

void fixture_attention(struct fixture *f, int causal) {
  static const double one[] = {1, 0, 0, 1}, wv[] = {2, 0, 0, 4}, see[] = {1, 0, 1, 1};
  const double d = 1 / sqrt(2), scaled[] = {d, 0, 0, d}, masked[] = {d, -(double)INFINITY, 0, d};
  const double a = 1 / (1 + exp(-d)), b = 1 - a;
  const double weights[] = {causal ? 1 : a, causal ? 0 : b, b, a};
  const double output[] = {2 * weights[0], 4 * weights[1], 2 * b, 4 * a};
  fixture_begin(f, "Two tokens");
  int x = fixture_given(f, ATTN_STEP_X, "X", 2, 2, one);
  int q_w = fixture_given(f, ATTN_STEP_W_Q, "W^Q", 2, 2, one);
  int k_w = fixture_given(f, ATTN_STEP_W_K, "W^K", 2, 2, one);
  int v_w = fixture_given(f, ATTN_STEP_W_V, "W^V", 2, 2, wv);
  int q = fixture_step(f, ATTN_STEP_Q, "Q", ATTN_OP_MATMUL, 2, (int[]){x, q_w}, 2, 2, one);
  int k = fixture_step(f, ATTN_STEP_K, "K", ATTN_OP_MATMUL, 2, (int[]){x, k_w}, 2, 2, one);
  int v = fixture_step(f, ATTN_STEP_V, "V", ATTN_OP_MATMUL, 2, (int[]){x, v_w}, 2, 2, wv);
  int e = fixture_step(f, ATTN_STEP_SCORES, "E", ATTN_OP_MATMUL_NT, 2, (int[]){q, k}, 2, 2, one);
  int s = fixture_step(f, ATTN_STEP_SCALED, "Scaled E", ATTN_OP_DIVIDE, 1, &e, 2, 2, scaled);
  f->step[s].scalar = sqrt(2);
  f->step[s].scaled_by = 2;
  if (causal) {
    int m = fixture_given(f, ATTN_STEP_MASK, "M", 2, 2, see);
    s = fixture_step(f, ATTN_STEP_MASKED, "masked", ATTN_OP_MASK, 2, (int[]){s, m}, 2, 2, masked);
    f->step[s].scalar = -(double)INFINITY;
  }
  int w = fixture_step(f, ATTN_STEP_WEIGHTS, "A", ATTN_OP_SOFTMAX, 1, &s, 2, 2, weights);
  fixture_step(f, ATTN_STEP_OUTPUT, "O", ATTN_OP_MATMUL, 2, (int[]){w, v}, 2, 2, output);
}

static int keep(void *context, const char *text, size_t bytes) {
  struct kept *k = context;
  if (k->left == 0) return 1;
  if (k->left > 0) k->left--;
  if (k->bytes + bytes >= sizeof k->text) abort();
  memcpy(k->text + k->bytes, text, bytes);
  k->bytes += bytes;
  k->text[k->bytes] = 0;
  return 0;
}

attn_sink kept_sink(struct kept *k) {
  k->bytes = 0;
  k->text[0] = 0;
  k->left = -1;
  return (attn_sink){k, keep};
}

long calloc_fails_at;

void *__real_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes) {
  if (calloc_fails_at > 0 && --calloc_fails_at == 0) return NULL;
  return __real_calloc(count, bytes);
}
