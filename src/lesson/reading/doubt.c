/* doubt.c -- the steps of which half is wrong, below numbers that were not read or whose place is a
 * guess: they may be other steps. */
#include <limits.h>

#include "cell.h"
#include "judge.h"
#include "reading.h"
#include "steps.h"

/* Is half of a printing wrong that begins after a place? */
static int is_half_wrong(const attn_step *s, const struct attn_judged *j, uint64_t after) {
  for (int32_t n = 0; n < s->printings; n++) {
    const attn_printing *p = &s->printing[n];
    int wrong = 0;
    if (attn_cell_place(&p->cells[0]) <= after) continue;
    for (int32_t c = 0; c < p->rows * p->cols; c++) {
      int32_t row = p->row0 + c / p->cols, col = p->col0 + c % p->cols;
      int in = row < s->exact.rows && col < s->exact.cols;
      wrong += in && j->verdict[row * s->exact.cols + col] == ATTN_JUDGED_WRONG;
    }
    if (wrong && 2 * wrong >= p->rows * p->cols) return 1;
  }
  return 0;
}

/* The first block of an example that was not read. */
static uint64_t first_unread(const attn_lesson *l, int32_t example) {
  int32_t begin = l->example[example].line, more = example + 1 < l->examples;
  int32_t end = more ? l->example[example + 1].line : INT_MAX;
  for (int32_t n = 0; n < l->unreads; n++) {
    const attn_unread *u = &l->unread[n];
    const attn_cell first = {.line = u->line, .column = u->column};
    if (u->rows * u->cols > 1 && u->line >= begin && u->line < end) return attn_cell_place(&first);
  }
  return UINT64_MAX;
}

/* Or the first step whose place is a guess and whose numbers differ. */
static uint64_t first_guess(const attn_example *e, const struct attn_judged *judged,
                            uint64_t first) {
  for (int32_t n = 0; n < e->steps; n++) {
    const attn_step *s = &e->step[n];
    if (!s->uncertain || !s->printings || judged[n].worst != ATTN_JUDGED_DOUBTFUL) continue;
    uint64_t place = attn_cell_place(&s->printing[0].cells[0]);
    if (place < first) first = place;
  }
  return first;
}

attn_status attn_doubt_below_unread(attn_lesson *l, struct attn_pool *pool, attn_error *err) {
  attn_status status = ATTN_OK;
  for (int32_t i = 0; i < l->examples && !status; i++) {
    attn_example *e = (attn_example *)&l->example[i];
    struct attn_judged *judged;
    if (e->from_python || (status = attn_judge_example(e, pool, &judged, err)) != ATTN_OK) continue;
    uint64_t first = first_guess(e, judged, first_unread(l, i));
    for (int32_t n = 0; n < e->steps && first < UINT64_MAX; n++)
      if (e->step[n].op != ATTN_OP_GIVEN && is_half_wrong(&e->step[n], &judged[n], first))
        e->step[n].uncertain = 1;
  }
  return status;
}
