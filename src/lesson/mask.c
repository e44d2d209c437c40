/* mask.c -- masks that a document gives, draws or only speaks of. */
#include <math.h>

#include "assemble.h"

/* No score is as low as what stands for minus infinity. */
static int is_hidden(double value) { return value <= -1e3; }

static const attn_printing *whole_printing(const struct attn_slot *slot,
                                           const attn_matrix *scores) {
  for (int i = 0; slot && i < slot->printings; i++)
    if (slot->printing[i].rows == scores->rows && slot->printing[i].cols == scores->cols)
      return &slot->printing[i];
  return NULL;
}

static int sees(const struct attn_assembly *a, const attn_printing *drawn, int i, int j, int cols) {
  if (drawn && !a->clues.masked && !a->clues.maybe_masked)
    return !is_hidden(drawn->cells[(size_t)i * (size_t)cols + (size_t)j].value);
  return a->reading.columns ? i <= j : j <= i;
}

/* Adds the mask that the text says or the masked scores show. */
attn_status attn_make_mask(struct attn_assembly *a, attn_example *ex, const attn_matrix *scores,
                           const struct attn_slot *masked) {
  const attn_printing *drawn = whole_printing(masked, scores);
  int rows = scores->rows, cols = scores->cols;
  attn_matrix m = attn_matrix_new(a->pool, rows, cols);
  attn_printing p = {.rows = rows, .cols = cols};
  p.line = drawn ? drawn->line : a->clues.mask_line ? a->clues.mask_line : a->range.line;
  p.column = 1;
  p.cells = attn_pool_take(a->pool, (size_t)rows * (size_t)cols * sizeof *p.cells);
  if (!m.at || !p.cells) return attn_no_memory(a);
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < cols; j++) {
      size_t at = (size_t)i * (size_t)cols + (size_t)j;
      double v = sees(a, drawn, i, j, cols);
      m.at[at] = v;
      p.cells[at] = (attn_cell){ATTN_CELL_EXACT, -1, v, v, v, p.line, p.column};
    }
  attn_step *step = attn_add_step(a, ex, ATTN_STEP_MASK, -1, ATTN_OP_GIVEN);
  if (!step) return ATTN_ERR_MEMORY;
  step->exact = m;
  return attn_add_printing(a, step, &p);
}

static int hides_diagonal(const attn_matrix *m) {
  int ones = 0;
  for (int i = 0; i < m->rows * m->cols; i++) {
    if (m->at[i] != 0 && m->at[i] != 1) return 0;
    ones += m->at[i] == 1;
  }
  for (int i = 0; i < m->rows; i++)
    if (m->rows != m->cols || m->at[i * m->cols + i] != 0) return 0;
  return ones > 0;
}

/* A mask of 0 and -inf is added. One with zeros all along its diagonal says 1 for hidden: every
 * token sees itself. */
void attn_read_mask(attn_step *mask, const struct attn_slot *masked, int *additive, double *fill) {
  attn_matrix *m = &mask->exact;
  int hidden = 0;
  for (int i = 0; i < m->rows * m->cols; i++) hidden += is_hidden(m->at[i]);
  *additive = hidden > 0;
  if (!*additive && hides_diagonal(m))
    for (int i = 0; i < m->rows * m->cols; i++) m->at[i] = m->at[i] == 0;
  for (int i = 0; masked && i < masked->printings; i++) {
    const attn_printing *p = &masked->printing[i];
    for (int c = 0; c < p->rows * p->cols; c++)
      if (isfinite(p->cells[c].value) && is_hidden(p->cells[c].value)) *fill = p->cells[c].value;
  }
}
