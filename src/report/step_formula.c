/* step_formula.c -- the formula of a step in its operands. */
#include <stdio.h>
#include <string.h>

#include "step_labels.h"
#include "number_text.h"
#include "operation_text.h"
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

static void put_divisor(char *text, const attn_step *s, int precision) {
  char number[ATTN_NUMBER_BYTES], root[32];
  snprintf(root, sizeof root, "√%d", (int)s->scaled_by);
  put(text, s->scaled_by ? root : attn_number_text(s->scalar, precision, number));
}

/* "[:, 2:4]", where it is not all of them. */
static void put_columns(char *text, const attn_example *e, const attn_step *s) {
  char range[48];
  int from = (int)s->scalar, to = from + (int)s->exact.cols;
  snprintf(range, sizeof range, "[:, %d:%d]", from, to);
  if (from || to < e->step[s->operand[0]].exact.cols) put(text, range);
}

static void put_appended(char *text, const attn_example *e, const attn_step *s) {
  char head[ATTN_NUMBER_BYTES], first[ATTN_LABEL_BYTES], name[ATTN_LABEL_BYTES];
  int alike = 1; /* the names do not differ, so that the heads' numbers are needed */
  for (int32_t n = 1; n < s->operands; n++)
    alike &= !strcmp(attn_symbol_text(&e->step[s->operand[0]], first),
                     attn_symbol_text(&e->step[s->operand[n]], name));
  for (int32_t n = 0; n < s->operands; n++) {
    const attn_step *part = &e->step[s->operand[n]];
    put(text, n ? " | " : "[");
    put_operand(text, e, s, n);
    snprintf(head, sizeof head, " %d", (int)part->head + 1);
    if (alike && part->head >= 0 && s->head < 0) put(text, head);
  }
  put(text, "]");
}

const char *attn_formula_text(const attn_example *e, const attn_step *s, int precision,
                              char text[ATTN_FORMULA_BYTES]) {
  char symbol[ATTN_LABEL_BYTES];
  text[0] = 0;
  for (const char *at = attn_operation_text(s->op)->formula; *at; at++) {
    char one[2] = {*at, 0};
    if (*at >= '0' && *at <= '9')
      put_operand(text, e, s, *at - '0');
    else if (*at == '#')
      put_divisor(text, s, precision);
    else if (*at == '*')
      put_appended(text, e, s);
    else if (*at == ':')
      put_columns(text, e, s);
    else
      put(text, one);
  }
  if (!strcmp(text, attn_symbol_text(s, symbol))) text[0] = 0;
  return text;
}

const char *attn_relation_text(const attn_example *e, const attn_step *s, int precision,
                               char text[ATTN_RELATION_BYTES]) {
  char symbol[ATTN_LABEL_BYTES], formula[ATTN_FORMULA_BYTES];
  attn_formula_text(e, s, precision, formula);
  snprintf(text, ATTN_RELATION_BYTES, "%s%s%s", attn_symbol_text(s, symbol), *formula ? " = " : "",
           formula);
  return text;
}
