/* explain_positions.c -- the position table: its frequencies, and positions in binary. */
#include <stdio.h>

#include "explain.h"
#include "number_text.h"
#include "working.h"

static const double TWO_PI = 6.283185307179586;

static void put_frequency(struct attn_explanation *t, const attn_step *s, int32_t pair) {
  double k = s->scalar + pair, w = attn_position_frequency(s, pair);
  char index[16];
  snprintf(index, sizeof index, "%.0f", k);
  attn_out_message(t->out, MESSAGE_FREQUENCY, index, ATTN_NUMBER_TEXT(w, t->out->style.precision),
                   ATTN_NUMBER_TEXT(TWO_PI / w, 2), NULL);
  attn_out_line(t->out, ATTN_INDENT);
}

void attn_explain_positions(struct attn_explanation *t, const attn_step *s) {
  char first[16];
  snprintf(first, sizeof first, "%.0f", s->scalar);
  attn_explain_once(t, MESSAGE_WHAT_POSITIONS);
  attn_out_message(t->out, MESSAGE_POSITIONS_FROM, ATTN_INTEGER_TEXT(s->exact.cols), first,
                   ATTN_INTEGER_TEXT(attn_position_base(s)), NULL);
  attn_out_line(t->out, ATTN_INDENT);
  for (int32_t pair = 0; pair < (s->exact.cols + 1) / 2 && pair < ATTN_LINES; pair++)
    put_frequency(t, s, pair);
  attn_explain_once(t, MESSAGE_BINARY);
  attn_out_message(t->out, MESSAGE_ONE_CELL, NULL);
  attn_out_working(t->out, t->example, s, s->exact.rows > 1, 0, ATTN_TERMS);
  attn_out_line(t->out, ATTN_INDENT);
}
