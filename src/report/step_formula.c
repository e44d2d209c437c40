/* formula.c -- how a step comes from its operands, as a formula. */
#include <stdio.h>
#include <string.h>

#include "step_labels.h"
#include "number_text.h"
#include "text_layout.h"

static void put(char *text, const char *piece) {
  size_t used = strlen(text), n = attn_text_cut(piece, ATTN_FORMULA_BYTES - 1 - used);
  memcpy(text + used, piece, n);
  text[used + n] = 0;
}

static void put_operand(char *text, const attn_example *e, const attn_step *s, int n) {
  char name[ATTN_LABEL_BYTES];
  if (n < s->operands) put(text, attn_symbol_text(&e->step[s->operand[n]], name));
}

/* "softmax(" 0 ")": pieces and operands in turn; a digit stands for an operand. */
static void put_pattern(char *text, const attn_example *e, const attn_step *s,
                        const char *pattern) {
  for (; *pattern; pattern++) {
    char one[2] = {*pattern, 0};
    if (*pattern >= '0' && *pattern <= '9')
      put_operand(text, e, s, *pattern - '0');
    else
      put(text, one);
  }
}

static void put_divisor(char *text, const attn_step *s, int precision) {
  char number[ATTN_NUMBER_BYTES], root[32];
  snprintf(root, sizeof root, "√%d", (int)s->scaled_by);
  put(text, s->scaled_by ? root : attn_number_text(s->scalar, precision, number));
}

static void put_appended(char *text, const attn_example *e, const attn_step *s) {
  char head[ATTN_NUMBER_BYTES];
  for (int32_t n = 0; n < s->operands; n++) {
    const attn_step *part = &e->step[s->operand[n]];
    put(text, n ? " | " : "[");
    put_operand(text, e, s, n);
    snprintf(head, sizeof head, " %d", (int)part->head + 1);
    if (part->head >= 0 && s->head < 0) put(text, head);
  }
  put(text, "]");
}

const char *attn_formula_text(const attn_example *e, const attn_step *s, int precision,
                              char text[ATTN_FORMULA_BYTES]) {
  static const char *const patterns[] = {[ATTN_OP_GIVEN] = "",
                                         [ATTN_OP_MATMUL] = "0 1",
                                         [ATTN_OP_MATMUL_NT] = "0 1^T",
                                         [ATTN_OP_MATMUL_TN] = "0^T 1",
                                         [ATTN_OP_TRANSPOSE] = "0^T",
                                         [ATTN_OP_DIVIDE] = "0 / ",
                                         [ATTN_OP_MASK] = "mask(0, 1)",
                                         [ATTN_OP_SOFTMAX] = "softmax(0)",
                                         [ATTN_OP_EXP] = "exp(0)",
                                         [ATTN_OP_SUM] = "sum(0)",
                                         [ATTN_OP_QUOTIENT] = "0 / 1",
                                         [ATTN_OP_ADD] = "0 + 1",
                                         [ATTN_OP_APPEND] = "",
                                         [ATTN_OP_GENERAL] = "0 2 1^T",
                                         [ATTN_OP_ADDITIVE] = "4 · tanh(2 0 + 3 1)",
                                         [ATTN_OP_POSITIONS] = "sin, cos"};
  text[0] = 0;
  if (s->op < 0 || s->op > ATTN_OP_POSITIONS) return text;
  put_pattern(text, e, s, patterns[s->op]);
  if (s->op == ATTN_OP_DIVIDE) put_divisor(text, s, precision);
  if (s->op == ATTN_OP_APPEND) put_appended(text, e, s);
  return text;
}
