/* orientation.c -- the reading of an example that its words and numbers bear out: queries in rows
 * or columns, scaled or not, masked or not. What the document says comes first; where it says
 * nothing, the reading under which fewer printed numbers are wrong. */
#include <string.h>

#include "assemble.h"

enum { CELLS_TO_FIT = 1 << 14 }; /* of a larger example the first reading is taken */

/* The values of one choice, the likeliest first. */
struct orientation_choice {
  int count, value[4];
};

static struct orientation_choice only(int value) { return (struct orientation_choice){1, {value}}; }
static struct orientation_choice first(int value) {
  return (struct orientation_choice){2, {value, !value}};
}

static int has_slot(const struct attn_assembly *a, int name) {
  for (int i = 0; i < a->slots; i++)
    if (a->slot[i].name == name) return 1;
  return 0;
}

static struct orientation_choice columns_of(const struct attn_clues *c) {
  if (c->columns > 0 && c->rows == 0) return first(1);
  return c->rows > 0 && c->columns == 0 ? only(0) : first(0);
}

static struct orientation_choice scale_of(const struct attn_assembly *a) {
  const struct attn_clues *c = &a->clues;
  if (has_slot(a, ATTN_STEP_SCALED)) return only(1);
  if (c->scaled && c->unscaled) return first(0);
  if (c->scaled || c->unscaled) return only(c->scaled);
  return first(c->document_scaled);
}

/* Zeros on one side of the diagonal only: masked, though no word says so. */
static int looks_masked(const attn_printing *p) {
  int upper = 0, lower = 0;
  for (int i = 0; i < p->rows; i++)
    for (int j = 0; j < p->cols; j++) {
      int zero = p->cells[(size_t)i * (size_t)p->cols + (size_t)j].value == 0;
      upper += j > i && !zero;
      lower += j < i && !zero;
    }
  return p->rows == p->cols && p->rows > 2 && (upper == 0) != (lower == 0);
}

static struct orientation_choice mask_of(const struct attn_assembly *a) {
  if (has_slot(a, ATTN_STEP_MASK) || has_slot(a, ATTN_STEP_MASKED) || a->clues.masked)
    return only(1);
  int seen = a->clues.maybe_masked;
  for (int i = 0; i < a->slots && !seen; i++)
    for (int n = 0; n < a->slot[i].printings && a->slot[i].name == ATTN_STEP_WEIGHTS; n++)
      seen |= looks_masked(&a->slot[i].printing[n]);
  return seen ? first(0) : only(0);
}

/* Q, K or V that are nowhere may be X; said, or shown by the numbers. */
static struct orientation_choice inputs_of(const struct attn_assembly *a, int *said) {
  const struct attn_clues *c = &a->clues;
  int keys = !(has_slot(a, ATTN_STEP_Q) || has_slot(a, ATTN_STEP_W_Q)) ||
             !(has_slot(a, ATTN_STEP_K) || has_slot(a, ATTN_STEP_W_K));
  int values = !(has_slot(a, ATTN_STEP_V) || has_slot(a, ATTN_STEP_W_V));
  int open = (keys ? ATTN_KEYS_ARE_INPUTS : 0) | (values ? ATTN_VALUES_ARE_INPUTS : 0);
  *said = (c->queries_are_inputs || c->keys_are_inputs ? ATTN_KEYS_ARE_INPUTS : 0) |
          (c->values_are_inputs ? ATTN_VALUES_ARE_INPUTS : 0);
  if (!has_slot(a, ATTN_STEP_X)) open = *said = 0;
  *said &= open;
  if (open == *said) return only(open);
  if (open != 3 || *said) return (struct orientation_choice){2, {open, *said}};
  return (struct orientation_choice){4, {3, 1, 2, 0}};
}

/* ---- how well a reading fits ---- */

struct orientation_score {
  attn_status status;
  int cells, wrong;
  int key_cells, key_wrong;     /* of the first step behind Q and K that is printed */
  int value_cells, value_wrong; /* of the output */
};

/* A cell is right if the exact numbers or those printed before it give it. */
static attn_status count_cells(struct attn_assembly *a, const attn_example *ex,
                               const attn_step *step, struct orientation_score *score) {
  attn_matrix printed;
  attn_status status = attn_compute_from_printed(a, ex, step, &printed);
  for (int n = 0; n < step->printings && !status; n++) {
    const attn_printing *p = &step->printing[n];
    for (int i = 0; i < p->rows; i++)
      for (int j = 0; j < p->cols; j++) {
        const attn_cell *cell = &p->cells[(size_t)i * (size_t)p->cols + (size_t)j];
        size_t at = (size_t)(p->row0 + i) * (size_t)step->exact.cols + (size_t)(p->col0 + j);
        score->cells += cell->kind != ATTN_CELL_BLANK;
        score->wrong +=
            !attn_cell_fits(cell, step->exact.at[at]) && !attn_cell_fits(cell, printed.at[at]);
      }
  }
  return status;
}

static attn_status count_step(struct attn_assembly *a, const attn_example *ex,
                              const attn_step *step, struct orientation_score *score) {
  struct orientation_score before = *score;
  attn_status status = count_cells(a, ex, step, score);
  int cells = score->cells - before.cells, wrong = score->wrong - before.wrong;
  if (step->name >= ATTN_STEP_SCORES && step->name <= ATTN_STEP_WEIGHTS && !score->key_cells) {
    score->key_cells = cells;
    score->key_wrong = wrong;
  }
  if (step->name == ATTN_STEP_OUTPUT) {
    score->value_cells += cells;
    score->value_wrong += wrong;
  }
  return status;
}

/* Builds in memory of its own, to be thrown away. */
static struct orientation_score try_reading(const struct attn_assembly *a) {
  struct attn_assembly trial = *a;
  struct orientation_score score = {.status = ATTN_OK};
  attn_example ex = {0};
  attn_error ignored;
  trial.err = &ignored;
  trial.pool = attn_pool_new();
  if (!trial.pool) return (struct orientation_score){.status = ATTN_ERR_MEMORY};
  score.status = attn_build_example(&trial, &ex);
  for (int i = 0; i < ex.steps && !score.status; i++)
    if (ex.step[i].op != ATTN_OP_GIVEN && ex.step[i].op != ATTN_OP_POSITIONS)
      score.status = count_step(&trial, &ex, &ex.step[i], &score);
    else if (ex.step[i].op == ATTN_OP_POSITIONS)
      for (int n = 0; n < ex.step[i].printings; n++) {
        const attn_printing *p = &ex.step[i].printing[n];
        score.cells += p->rows * p->cols;
        score.wrong += p->rows * p->cols - attn_printing_fits(p, &ex.step[i].exact);
      }
  attn_pool_free(trial.pool);
  return score;
}

/* The inputs stand for Q, K and V, unless that is said, only where the numbers agree: at least half
 * of those that are computed from them. */
static int is_allowed(const struct attn_assembly *a, const struct orientation_score *s, int said) {
  int guessed = a->reading.inputs & ~said;
  if (s->status) return 0;
  if ((guessed & ATTN_KEYS_ARE_INPUTS) && (!s->key_cells || 2 * s->key_wrong > s->key_cells))
    return 0;
  return !(guessed & ATTN_VALUES_ARE_INPUTS) ||
         (s->value_cells > 0 && 2 * s->value_wrong <= s->value_cells);
}

static int is_better(const struct attn_choice *r, const struct orientation_score *s,
                     const struct attn_choice *best, const struct orientation_score *best_score) {
  if (r->inputs != best->inputs) return r->inputs > best->inputs; /* says more; was allowed */
  /* Queries in columns are rare: a softmax along the wrong axis must not pass for them. */
  if (r->columns && !best->columns) return 4 * s->wrong < best_score->wrong;
  return s->wrong < best_score->wrong;
}

static int total_cells(const struct attn_assembly *a) {
  size_t cells = 0;
  for (int i = 0; i < a->slots; i++)
    for (int n = 0; n < a->slot[i].printings; n++)
      cells += (size_t)a->slot[i].printing[n].rows * (size_t)a->slot[i].printing[n].cols;
  return cells > CELLS_TO_FIT ? CELLS_TO_FIT + 1 : (int)cells;
}

enum { CHOICES = 6 };

static void set_reading(struct attn_choice *r, const struct orientation_choice *c,
                        const int *pick) {
  r->columns = c[0].value[pick[0]];
  r->scale = c[1].value[pick[1]];
  r->mask = c[2].value[pick[2]];
  r->inputs = c[3].value[pick[3]];
  r->positions = c[4].value[pick[4]];
  r->first_frequency = c[5].value[pick[5]];
}

static int next_pick(const struct orientation_choice *c, int *pick) {
  for (int i = CHOICES - 1; i >= 0; i--) {
    if (++pick[i] < c[i].count) return 1;
    pick[i] = 0;
  }
  return 0;
}

attn_status attn_choose_reading(struct attn_assembly *a, attn_example *example) {
  int positions = has_slot(a, ATTN_STEP_POSITIONS), said = 0;
  struct orientation_choice c[CHOICES] = {columns_of(&a->clues),
                                          scale_of(a),
                                          mask_of(a),
                                          inputs_of(a, &said),
                                          positions ? first(1) : only(0),
                                          positions ? first(0) : only(0)};
  int pick[CHOICES] = {0}, found = 0;
  struct attn_choice best;
  struct orientation_score best_score = {0};
  set_reading(&best, c, pick);
  best.inputs = said;
  do {
    set_reading(&a->reading, c, pick);
    struct orientation_score s = try_reading(a);
    if (s.status == ATTN_ERR_MEMORY) return attn_no_memory(a);
    if (!is_allowed(a, &s, said)) continue;
    if (found && !is_better(&a->reading, &s, &best, &best_score)) continue;
    best = a->reading;
    best_score = s;
    found = 1;
  } while (next_pick(c, pick) && total_cells(a) <= CELLS_TO_FIT);
  a->reading = best; /* where none works, the first tells why */
  return attn_build_example(a, example);
}
