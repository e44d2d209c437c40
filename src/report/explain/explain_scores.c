/* explain_scores.c -- scores, scaled scores, masked scores. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "explain.h"
#include "matrix_cells.h"
#include "number_text.h"
#include "working.h"

/* The row of the followed query in full: one line per key. */
void attn_explain_query(struct attn_explanation *t, const attn_step *s) {
  struct attn_out *out = t->out;
  char name[ATTN_LABEL_BYTES];
  int32_t keys = attn_key_count(t->example, s), row, col;
  int down = attn_step_axis(t->example, s, 1) == ATTN_AXIS_QUERIES;
  attn_out_message(out, down ? MESSAGE_ONE_COLUMN : MESSAGE_ONE_ROW,
                   attn_name_in_text(t, ATTN_AXIS_QUERIES, t->query, name), NULL);
  for (int32_t k = 0; k < keys && k < ATTN_LINES; k++) {
    attn_out_line(out, ATTN_INDENT + 2);
    attn_cell_of_key(t, s, t->query, k, &row, &col);
    attn_out_working(out, t->example, s, row, col, ATTN_TERMS);
  }
  if (keys > ATTN_LINES) {
    attn_out_line(out, ATTN_INDENT + 2);
    attn_out_message(out, MESSAGE_MORE_CELLS, ATTN_INTEGER_TEXT(keys - ATTN_LINES), NULL);
  }
  attn_out_line(out, ATTN_INDENT);
}

void attn_explain_scores(struct attn_explanation *t, const attn_step *s) {
  attn_explain_once(t, s->op == ATTN_OP_GENERAL    ? MESSAGE_WHAT_GENERAL
                       : s->op == ATTN_OP_ADDITIVE ? MESSAGE_WHAT_ADDITIVE
                                                   : MESSAGE_WHAT_DOT);
  attn_explain_query(t, s);
}

void attn_explain_scaled(struct attn_explanation *t, const attn_step *s) {
  const char *root = ATTN_NUMBER_TEXT(s->scalar, t->out->style.precision);
  if (!s->scaled_by) {
    attn_out_message(t->out, MESSAGE_DIVIDED_BY, root, NULL);
    attn_out_line(t->out, ATTN_INDENT);
  } else if (attn_explain_is_new(t, MESSAGE_WHY_SCALED)) {
    attn_out_message(t->out, MESSAGE_WHY_SCALED, ATTN_INTEGER_TEXT(s->scaled_by), root, NULL);
    attn_out_line(t->out, ATTN_INDENT);
  }
  attn_explain_cell(t, s);
}

/* ---- The mask ---- */

/* Lists the keys that the mask hides from a query. */
static void explain_hidden(struct attn_explanation *t, const attn_step *s, const attn_matrix *mask,
                           int32_t query) {
  char name[ATTN_LABEL_BYTES], key[ATTN_LABEL_BYTES], list[9 * ATTN_LABEL_BYTES] = "";
  int32_t keys = attn_key_count(t->example, s), hidden = 0, row, col;
  const char *comma = attn_message_text(MESSAGE_COMMA, t->out->style.language);
  for (int32_t k = 0; k < keys; k++) {
    attn_cell_of_key(t, s, query, k, &row, &col);
    if (attn_broadcast_at(mask, row, col) != 0) continue;
    attn_name_in_text(t, ATTN_AXIS_KEYS, k, key);
    size_t used = strlen(list);
    if (hidden < 8)
      snprintf(list + used, sizeof list - used, "%s%s", hidden ? comma : "", key);
    else if (hidden == 8)
      snprintf(list + used, sizeof list - used, "%s…", comma);
    hidden++;
  }
  attn_name_in_text(t, ATTN_AXIS_QUERIES, query, name);
  attn_out_message(t->out,
                   !hidden          ? MESSAGE_MASKED_NONE
                   : hidden == keys ? MESSAGE_MASKED_ALL
                                    : MESSAGE_MASKED_SOME,
                   name, list, NULL);
  attn_out_line(t->out, ATTN_INDENT);
}

void attn_explain_masked(struct attn_explanation *t, const attn_step *s) {
  if (attn_explain_is_new(t, MESSAGE_WHAT_MASK)) {
    attn_out_message(t->out, isinf(s->scalar) ? MESSAGE_WHAT_MASK : MESSAGE_WHAT_MASK_FINITE,
                     ATTN_NUMBER_TEXT(s->scalar, t->out->style.precision), NULL);
    attn_out_line(t->out, ATTN_INDENT);
  }
  if (s->operands < 2 || !attn_is_scorelike(t->example, s)) return;
  int32_t queries = attn_query_count(t->example, s);
  for (int32_t q = 0; q < queries && q < ATTN_LINES; q++)
    explain_hidden(t, s, &t->example->step[s->operand[1]].exact, q);
}
