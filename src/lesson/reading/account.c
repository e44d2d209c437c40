/* account.c -- every number of a document is placed in a step, or is listed as unread. */
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "reading.h"

struct account {
  struct attn_scan *scan;
  const struct attn_priors *priors;
  attn_lesson *lesson;
  struct attn_pool *pool;
  uint64_t *place; /* line and column of each number that a step shows, sorted */
  size_t places;
  int64_t work; /* steps that were compared so far */
};

enum { WORK_MAX = 2000000 }; /* then what is a mention or a mask is listed, too */

static uint64_t place_of(int32_t line, int32_t column) {
  return (uint64_t)(uint32_t)line << 32 | (uint32_t)column;
}

static int compare(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static size_t count_cells(const attn_lesson *lesson) {
  size_t count = 0;
  for (int32_t i = 0; i < lesson->examples; i++)
    for (int32_t s = 0; s < lesson->example[i].steps; s++)
      for (int32_t p = 0; p < lesson->example[i].step[s].printings; p++) {
        const attn_printing *g = &lesson->example[i].step[s].printing[p];
        count += (size_t)g->rows * (size_t)g->cols;
      }
  return count;
}

static void add_printing(struct account *a, const attn_printing *p) {
  for (int32_t n = 0; n < p->rows * p->cols; n++)
    a->place[a->places++] = place_of(p->cells[n].line, p->cells[n].column);
}

/* What decides whether the steps of an example are read. */
struct flow {
  unsigned char *is_operand; /* of each step: something is computed from it */
  int32_t first;             /* the first computed step that is printed */
};

static int find_flow(const attn_example *e, struct attn_pool *pool, struct flow *f) {
  f->is_operand = attn_pool_take(pool, (size_t)e->steps + 1);
  f->first = e->steps;
  if (!f->is_operand) return -1;
  for (int32_t n = e->steps - 1; n >= 0; n--) {
    for (int32_t k = 0; k < e->step[n].operands; k++) f->is_operand[e->step[n].operand[k]] = 1;
    if (e->step[n].op != ATTN_OP_GIVEN && e->step[n].printings) f->first = n;
  }
  return 0;
}

static int is_given(struct account *a, const attn_example *e, int32_t name, int32_t head) {
  for (int32_t n = 0; n < e->steps && a->work < WORK_MAX; n++, a->work++)
    if (e->step[n].name == name && e->step[n].head == head) return e->step[n].op == ATTN_OP_GIVEN;
  return a->work >= WORK_MAX;
}

static int has_step(struct account *a, const attn_example *e, int32_t name, int32_t head) {
  for (int32_t n = 0; n < e->steps && a->work < WORK_MAX; n++, a->work++)
    if (e->step[n].name == name && (e->step[n].head == head || e->step[n].head < 0)) return 1;
  return a->work >= WORK_MAX;
}

/* Scores or weights that do not follow from the queries and keys of their example. */
static int is_unexplained(struct account *a, const attn_example *e, const attn_step *s) {
  int of_scores = s->name >= ATTN_STEP_SCORES && s->name <= ATTN_STEP_WEIGHTS;
  if (!of_scores || e->from_python) return 0;
  int keys = has_step(a, e, ATTN_STEP_K, s->head) || has_step(a, e, ATTN_STEP_X, s->head);
  return has_step(a, e, ATTN_STEP_Q, s->head) && keys;
}

/* A given that nothing is computed from is read among the inputs of an example. Weights are not, if
 * their product is printed and does not follow from them. */
static int is_read(struct account *a, const attn_example *e, const struct flow *f, int32_t step) {
  const attn_step *s = &e->step[step];
  if (s->op != ATTN_OP_GIVEN) return 1;
  if (is_unexplained(a, e, s)) return 0;
  if (f->is_operand[step]) return 1;
  if (step > f->first || s->name > ATTN_STEP_V) return 0;
  int32_t of = s->name - ATTN_STEP_W_Q + ATTN_STEP_Q;
  return s->name < ATTN_STEP_W_Q || s->name > ATTN_STEP_W_V || !is_given(a, e, of, s->head);
}

static int collect_steps(struct account *a, const attn_example *e) {
  struct flow f;
  if (find_flow(e, a->pool, &f)) return -1;
  for (int32_t s = 0; s < e->steps; s++) {
    if (!e->step[s].printings || !is_read(a, e, &f, s)) continue;
    for (int32_t p = 0; p < e->step[s].printings; p++) add_printing(a, &e->step[s].printing[p]);
  }
  return 0;
}

static int collect_places(struct account *a) {
  const attn_lesson *l = a->lesson;
  a->place = attn_pool_take(a->pool, (count_cells(l) + 1) * sizeof *a->place);
  if (!a->place) return -1;
  for (int32_t i = 0; i < l->examples; i++)
    if (collect_steps(a, &l->example[i])) return -1;
  qsort(a->place, a->places, sizeof *a->place, compare);
  return 0;
}

static int is_placed(const struct account *a, const attn_cell *cell) {
  for (int32_t by = -1; by <= 1; by++) { /* with its sign or without */
    uint64_t key = place_of(cell->line, cell->column + by);
    if (bsearch(&key, a->place, a->places, sizeof key, compare)) return 1;
  }
  return 0;
}

static int has_decimals(const attn_printing *p) {
  for (int32_t n = 0; n < p->rows * p->cols; n++)
    if (p->cells[n].kind != ATTN_CELL_BLANK && p->cells[n].decimals > 0) return 1;
  return 0;
}

/* Counts, indices and the like are prose. */
static int is_prose(const struct account *a, int block) {
  const struct attn_block *b = &a->scan->block[block];
  const attn_printing *p = &b->reading[0];
  int named = a->priors[block].best > 0, decimals = has_decimals(p);
  if (!named && !decimals && (p->rows == 1 || p->rows * p->cols < 3)) return 1;
  return p->rows * p->cols < 3 && !decimals && !named;
}

static int block_is_placed(const struct account *a, const attn_printing *p) {
  int32_t placed = 0, numbers = 0;
  for (int32_t n = 0; n < p->rows * p->cols; n++) {
    if (p->cells[n].kind == ATTN_CELL_BLANK) continue;
    numbers++;
    placed += is_placed(a, &p->cells[n]);
  }
  return 2 * placed >= numbers;
}

/* Does a row of numbers that a step shows equal this one? Then a sentence mentions it. */
static int is_row_of(const attn_printing *shown, const attn_printing *row) {
  for (int32_t i = 0; i < shown->rows && shown->cols == row->cols; i++) {
    int32_t same = 0;
    for (int32_t j = 0; j < row->cols; j++)
      same += shown->cells[i * shown->cols + j].value == row->cells[j].value;
    if (same == row->cols) return 1;
  }
  return 0;
}

/* Does a table of 0 and 1, or of 0 and minus infinity, show the mask of a step? */
static int shows_mask(const attn_matrix *mask, const attn_printing *table) {
  int32_t additive = 0, differ = 0;
  if (mask->rows != table->rows || mask->cols != table->cols) return 0;
  for (int32_t n = 0; n < table->rows * table->cols; n++)
    additive |= table->cells[n].kind != ATTN_CELL_BLANK && table->cells[n].value < -1e3;
  for (int32_t n = 0; n < table->rows * table->cols; n++) {
    double value = table->cells[n].value;
    int binary = value == 0 || value == (additive ? value : 1);
    int visible = additive ? value == 0 : value != 0;
    differ += !binary || visible != (mask->at[n] != 0);
  }
  return differ == 0;
}

static int is_mask(struct account *a, int block) {
  const attn_lesson *l = a->lesson;
  for (int32_t i = 0; i < l->examples && a->work < WORK_MAX; i++)
    for (int32_t s = 0; s < l->example[i].steps; s++, a->work++) {
      const attn_step *step = &l->example[i].step[s];
      if (step->name == ATTN_STEP_MASK &&
          shows_mask(&step->exact, &a->scan->block[block].reading[0]))
        return 1;
    }
  return 0;
}

static int is_mention(struct account *a, int block) {
  const struct attn_block *b = &a->scan->block[block];
  const attn_lesson *l = a->lesson;
  if (b->source != ATTN_BLOCK_INLINE || b->reading[0].rows != 1) return 0;
  for (int32_t i = 0; i < l->examples && a->work < WORK_MAX; i++)
    for (int32_t s = 0; s < l->example[i].steps; s++, a->work++)
      for (int32_t p = 0; p < l->example[i].step[s].printings; p++)
        if (is_row_of(&l->example[i].step[s].printing[p], &b->reading[0])) return 1;
  return 0;
}

static int list_block(struct account *a, int block) {
  const struct attn_block *b = &a->scan->block[block];
  const attn_printing *p = &b->reading[0];
  attn_lesson *l = a->lesson;
  if (attn_pool_grow(a->pool, (void **)&l->unread, (size_t)l->unreads, sizeof *l->unread))
    return -1;
  char *name = attn_pool_text(a->pool, b->name, strlen(b->name));
  if (!name) return -1;
  l->unread[l->unreads++] =
      (attn_unread){p->cells[0].line, p->cells[0].column, p->rows, p->cols, name};
  return 0;
}

attn_status attn_account_for(struct attn_scan *scan, const struct attn_priors *priors,
                             attn_lesson *lesson, struct attn_pool *pool, attn_error *err) {
  struct account a = {.scan = scan, .priors = priors, .lesson = lesson, .pool = pool};
  int failed = collect_places(&a);
  for (int n = 0; n < scan->blocks && !failed; n++)
    if (!is_prose(&a, n) && !block_is_placed(&a, &scan->block[n].reading[0]) &&
        !is_mention(&a, n) && !is_mask(&a, n))
      failed = list_block(&a, n);
  return failed ? attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for the lesson") : ATTN_OK;
}
