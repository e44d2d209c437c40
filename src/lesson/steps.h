/* steps.h -- steps of an example: adding them, their numbers, what the document prints for them. */
#ifndef ATTN_LESSON_STEPS_H
#define ATTN_LESSON_STEPS_H

#include "attn/lesson.h"
#include "pool.h"

/* The private whole of a lesson: the public part first, so that the pointers convert. */
struct attn_lesson_owner {
  attn_lesson lesson;
  struct attn_pool *memory;
  int64_t unexplained; /* numbers of blocks that are not read */
};

/* What steps are made with. */
struct attn_maker {
  struct attn_pool *pool; /* of the lesson */
  attn_error *err;
};

attn_status attn_no_memory(struct attn_maker *m);
attn_step *attn_add_step(struct attn_maker *m, attn_example *example, int name, int head,
                         int op); /* NULL: no memory */
attn_status attn_add_example(struct attn_maker *m, attn_lesson *lesson,
                             const attn_example *example);
attn_status attn_add_printing(struct attn_maker *m, attn_step *step, const attn_printing *printing);
/* exact from its operands. ATTN_ERR_SHAPE, ATTN_ERR_MEMORY. */
attn_status attn_compute_step(struct attn_maker *m, attn_example *example, attn_step *step);
/* exact from its first printing; without numbers where a cell of it is blank. */
attn_status attn_given_from(struct attn_maker *m, attn_step *step);
/* The first step of this name, of a head (-1: of none) or of any. NULL: there is none. */
enum { ATTN_ANY_HEAD = -2 };
const attn_step *attn_find_step(const attn_example *example, int name, int head);
int attn_has_programs(const attn_lesson *lesson);  /* an example from Python? */
int attn_is_computed(const attn_example *example); /* has it a step that is not given? */
/* Have some heads no queries, or other keys than the first? Then rows, or other matrices, were
 * taken for heads. */
int attn_heads_are_uneven(const attn_example *example);

/* Two ways to print one given may differ by what either may have been rounded; an integer has not
 * been. */
int attn_cells_contradict(const attn_cell *x, const attn_cell *y);

/* Adds numbers to those that are not read, with the words in front of them. -1: no memory. */
int attn_add_unread(struct attn_pool *pool, attn_lesson *lesson, const attn_cell *first, int rows,
                    int cols, const char *words);

/* The cell of a row and column of the step. NULL: the printing has none. */
const attn_cell *attn_printed_cell(const attn_printing *p, int row, int col);

/* Where numbers are printed. */
struct attn_places {
  uint64_t *at; /* sorted: attn_cell_place */
  size_t count;
};
/* Adds those of a printing, unsorted. -1: no memory. */
int attn_add_places(struct attn_pool *pool, struct attn_places *places, const attn_printing *p);
void attn_sort_places(struct attn_places *places);
int attn_has_place(const struct attn_places *places, uint64_t place);

/* step_names.c */
const char *attn_default_symbol(int name);  /* of an attn_step_name: "W_Q" */
int32_t attn_step_called(const char *name); /* the step of this name, and nothing else; -1 */

#endif
