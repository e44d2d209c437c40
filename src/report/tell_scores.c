/* tell_scores.c -- scores, what they are divided by, what the mask leaves of them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "explain.h"
#include "labels.h"
#include "number.h"
#include "working.h"

/* The row of the followed query in full: one line a key. */
void attn_tell_line_of_query(struct attn_telling *t, const attn_step *s) {
  struct attn_out *out = t->out;
  char name[ATTN_LABEL_BYTES], number[16];
  int32_t keys = attn_keys_of(t, s), row, col;
  int down = attn_along(t->example, s, 1) == ATTN_ALONG_QUERIES;
  attn_out_say(out, down ? SAY_ONE_COLUMN : SAY_ONE_ROW,
               attn_query_text(t->example, t->query, name), NULL);
  for (int32_t k = 0; k < keys && k < ATTN_LINES; k++) {
    attn_out_line(out, ATTN_INDENT + 2);
    attn_cell_of_key(t, s, t->query, k, &row, &col);
    attn_out_working(out, t->example, s, row, col, ATTN_TERMS);
  }
  snprintf(number, sizeof number, "%d", (int)(keys - ATTN_LINES));
  if (keys > ATTN_LINES) {
    attn_out_line(out, ATTN_INDENT + 2);
    attn_out_say(out, SAY_MORE_CELLS, number, NULL);
  }
  attn_out_line(out, ATTN_INDENT);
}

void attn_tell_scores(struct attn_telling *t, const attn_step *s) {
  if (s->op == ATTN_OP_GENERAL)
    attn_tell_once(t, SAY_WHAT_GENERAL);
  else if (s->op == ATTN_OP_ADDITIVE)
    attn_tell_once(t, SAY_WHAT_ADDITIVE);
  else
    attn_tell_once(t, SAY_WHAT_DOT);
  attn_tell_line_of_query(t, s);
}

void attn_tell_scaled(struct attn_telling *t, const attn_step *s) {
  char width[16], root[ATTN_NUMBER_BYTES];
  snprintf(width, sizeof width, "%d", (int)s->scaled_by);
  attn_number_text(s->scalar, t->out->style.precision, root);
  if (!s->scaled_by) {
    attn_out_say(t->out, SAY_DIVIDED_BY, root, NULL);
    attn_out_line(t->out, ATTN_INDENT);
  } else if (!t->told[SAY_WHY_SCALED]) {
    t->told[SAY_WHY_SCALED] = 1;
    attn_out_say(t->out, SAY_WHY_SCALED, width, root, NULL);
    attn_out_line(t->out, ATTN_INDENT);
  }
  attn_tell_one_cell(t, s);
}

/* ---- The mask -----------------------------------------------------------------------------------
 */

static double mask_at(const attn_matrix *m, int32_t row, int32_t col) {
  return m
      ->at[(size_t)(m->rows == 1 ? 0 : row) * (size_t)m->cols + (size_t)(m->cols == 1 ? 0 : col)];
}

/* Says which keys a query does not see. */
static void tell_hidden(struct attn_telling *t, const attn_step *s, const attn_matrix *mask,
                        int32_t query) {
  char name[ATTN_LABEL_BYTES], key[ATTN_LABEL_BYTES], list[9 * ATTN_LABEL_BYTES] = "";
  int32_t keys = attn_keys_of(t, s), hidden = 0, row, col;
  const char *comma = attn_message_text(SAY_COMMA, t->out->style.language);
  for (int32_t k = 0; k < keys; k++) {
    attn_cell_of_key(t, s, query, k, &row, &col);
    if (mask_at(mask, row, col) != 0) continue;
    attn_key_text(t->example, k, key);
    size_t used = strlen(list);
    if (hidden < 8)
      snprintf(list + used, sizeof list - used, "%s%s", hidden ? comma : "", key);
    else if (hidden == 8)
      snprintf(list + used, sizeof list - used, "%s…", comma);
    hidden++;
  }
  attn_query_text(t->example, query, name);
  if (hidden == 0)
    attn_out_say(t->out, SAY_SEES_ALL, name, NULL);
  else if (hidden == keys)
    attn_out_say(t->out, SAY_SEES_NONE, name, NULL);
  else
    attn_out_say(t->out, SAY_SEES_NOT, name, list, NULL);
  attn_out_line(t->out, ATTN_INDENT);
}

void attn_tell_masked(struct attn_telling *t, const attn_step *s) {
  char fill[ATTN_NUMBER_BYTES];
  attn_number_text(s->scalar, t->out->style.precision, fill);
  if (!t->told[SAY_WHAT_MASK]) {
    t->told[SAY_WHAT_MASK] = 1;
    attn_out_say(t->out, isinf(s->scalar) ? SAY_WHAT_MASK : SAY_WHAT_MASK_FINITE, fill, NULL);
    attn_out_line(t->out, ATTN_INDENT);
  }
  if (s->operands < 2 || !attn_is_scorelike(t->example, s)) return;
  int32_t queries =
      attn_along(t->example, s, 0) == ATTN_ALONG_QUERIES ? s->exact.rows : s->exact.cols;
  for (int32_t q = 0; q < queries && q < ATTN_LINES; q++)
    tell_hidden(t, s, &t->example->step[s->operand[1]].exact, q);
}
