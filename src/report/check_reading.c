/* check_reading.c -- attn_check_print_reading: how each block of numbers was understood. */
#include <stdio.h>
#include <stdlib.h>

#include "check_text.h"
#include "error.h"
#include "explain.h"
#include "matrix_cells.h"
#include "number_text.h"

/* ---- The blocks ---- */

static size_t count_printings(const attn_lesson *lesson) {
  size_t count = 0;
  for (int32_t i = 0; i < lesson->examples; i++)
    for (int32_t n = 0; n < lesson->example[i].steps; n++)
      count += (size_t)lesson->example[i].step[n].printings;
  return count;
}

static int by_place(const void *a, const void *b) {
  const struct attn_read_block *x = a, *y = b;
  if (x->printing->line != y->printing->line) return x->printing->line < y->printing->line ? -1 : 1;
  if (x->printing->column != y->printing->column)
    return x->printing->column < y->printing->column ? -1 : 1;
  return (x->step > y->step) - (x->step < y->step); /* of one printing in two steps */
}

/* One byte per cell of a step, 1 where the printed number is wrong or doubtful; NULL: no memory. */
static unsigned char *misfits(const attn_step *s, const attn_step_verdict *v) {
  unsigned char *misfit = calloc(attn_cell_count(&s->exact), 1);
  for (int32_t n = 0; misfit && n < v->findings; n++) {
    const attn_finding *f = &v->finding[n];
    if (f->judgement != ATTN_JUDGED_CARRIED) misfit[attn_cell_index(&s->exact, f->row, f->col)] = 1;
  }
  return misfit;
}

static void count_cells(struct attn_read_block *b, const unsigned char *misfit) {
  const attn_printing *p = b->printing;
  const attn_matrix *m = &b->step->exact;
  for (int32_t n = 0; n < p->rows * p->cols; n++) {
    int32_t row = p->row0 + n / p->cols, col = p->col0 + n % p->cols;
    if (p->cells[n].kind == ATTN_CELL_BLANK || row >= m->rows || col >= m->cols) continue;
    b->cells++;
    if (misfit) b->explained += !misfit[attn_cell_index(m, row, col)];
  }
}

/* v: NULL for a given step. */
static int add_step(struct attn_read_block *list, size_t *count, int32_t example,
                    const attn_example *e, const attn_step *s, const attn_step_verdict *v) {
  unsigned char *misfit = v && s->printings ? misfits(s, v) : NULL;
  if (v && s->printings && !misfit) return -1;
  for (int32_t p = 0; p < s->printings; p++) {
    list[*count] = (struct attn_read_block){example, e, s, &s->printing[p], 0, 0};
    count_cells(&list[(*count)++], misfit);
  }
  free(misfit);
  return 0;
}

struct attn_read_block *attn_list_reading(const attn_lesson *lesson, const attn_check *check,
                                          size_t *count) {
  struct attn_read_block *list = calloc(count_printings(lesson) + 1, sizeof *list);
  *count = 0;
  for (int32_t i = 0; list && i < lesson->examples && i < check->examples; i++) {
    const attn_example *e = &lesson->example[i];
    const attn_step_verdict *v = check->example[i].verdict;
    const attn_step_verdict *end = v + check->example[i].verdicts;
    for (int32_t n = 0; list && n < e->steps; n++) {
      const attn_step_verdict *own = v < end && v->step == n ? v++ : NULL; /* in step order */
      if (add_step(list, count, i, e, &e->step[n], own)) free(list), list = NULL;
    }
  }
  if (list) qsort(list, *count, sizeof *list, by_place);
  return list;
}

/* ---- As text ---- */

/* "3×2", or "1×2 of 3×2" for a part of the step. */
static void put_size(struct attn_out *out, const struct attn_read_block *b) {
  const attn_printing *p = b->printing;
  const attn_matrix *m = &b->step->exact;
  char size[48], whole[48];
  snprintf(size, sizeof size, "%d×%d", (int)p->rows, (int)p->cols);
  snprintf(whole, sizeof whole, "%d×%d", (int)m->rows, (int)m->cols);
  attn_out_message(out, MESSAGE_OPEN_BRACKET, NULL);
  if (p->rows == m->rows && p->cols == m->cols)
    attn_out_flow(out, size);
  else
    attn_out_message(out, MESSAGE_READ_PART, size, whole, NULL);
  attn_out_message(out, MESSAGE_CLOSE_BRACKET, NULL);
}

static void put_result(struct attn_out *out, const struct attn_read_block *b) {
  attn_out_message(out, MESSAGE_COLON, NULL);
  if (!b->cells)
    attn_out_message(out, MESSAGE_LEFT_BLANK, NULL);
  else if (b->step->op == ATTN_OP_GIVEN)
    attn_out_message(out, MESSAGE_READ_GIVEN, NULL);
  else
    attn_out_message(out, MESSAGE_READ_EXPLAINED, ATTN_INTEGER_TEXT(b->explained),
                     ATTN_INTEGER_TEXT(b->cells), NULL);
}

static void put_block(struct attn_out *out, const attn_lesson *lesson,
                      const struct attn_read_block *b) {
  attn_out_message(out, MESSAGE_READ_LINE, ATTN_INTEGER_TEXT(b->printing->line), NULL);
  if (lesson->examples > 1)
    attn_out_message(out, MESSAGE_EXAMPLE_TITLED, ATTN_INTEGER_TEXT(b->index + 1), NULL);
  attn_out_step(out, b->example, b->step);
  put_size(out, b);
  put_result(out, b);
}

attn_status attn_check_print_reading(const attn_lesson *lesson, const attn_check *check,
                                     const attn_style *style, const attn_sink *sink,
                                     attn_error *err) {
  struct attn_out out;
  size_t count;
  struct attn_read_block *list = attn_list_reading(lesson, check, &count);
  if (!list) return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for the reading");
  attn_out_begin(&out, style, sink);
  attn_out_message(&out, count ? MESSAGE_READ : MESSAGE_READ_NOTHING, NULL);
  for (size_t n = 0; n < count; n++) {
    attn_out_line(&out, 2);
    put_block(&out, lesson, &list[n]);
  }
  attn_out_line(&out, 0);
  free(list);
  return attn_out_end(&out, err);
}
