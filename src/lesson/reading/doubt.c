/* doubt.c -- below numbers that were not read, the steps of which half is wrong. */
#include <limits.h>

#include "judge.h"
#include "reading.h"

/* Is half of the step wrong? */
static int is_half_wrong(const attn_step *s, const struct attn_judged *j) {
  int printed = 0, wrong = 0;
  for (int32_t n = 0; n < s->exact.rows * s->exact.cols; n++)
    if (j->printed[n]) printed++, wrong += j->verdict[n] == ATTN_JUDGED_WRONG;
  return wrong && 2 * wrong >= printed;
}

/* Below numbers that were not read, a step of which half is wrong may be another one. */
static attn_status doubt_below(attn_example *e, int line, struct attn_pool *pool, attn_error *err) {
  struct attn_judged *judged;
  attn_status status = attn_judge_example(e, pool, &judged, err);
  for (int32_t n = 0; n < e->steps && !status; n++) {
    attn_step *s = &e->step[n];
    if (s->op == ATTN_OP_GIVEN || !s->printings || s->printing[0].cells[0].line <= line) continue;
    if (is_half_wrong(s, &judged[n])) s->uncertain = 1;
  }
  return status;
}

attn_status attn_doubt_below_unread(attn_lesson *l, struct attn_pool *pool, attn_error *err) {
  attn_status status = ATTN_OK;
  for (int32_t i = 0; i < l->examples && !status; i++) {
    attn_example *e = (attn_example *)&l->example[i];
    int end = i + 1 < l->examples ? l->example[i + 1].line : INT_MAX, n = 0;
    while (n < l->unreads && (l->unread[n].rows * l->unread[n].cols < 2 ||
                              l->unread[n].line < e->line || l->unread[n].line >= end))
      n++;
    if (n < l->unreads && !e->from_python) status = doubt_below(e, l->unread[n].line, pool, err);
  }
  return status;
}
