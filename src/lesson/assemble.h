/* assemble.h -- what the files of the assembler share: from items to examples of steps. */
#ifndef ATTN_LESSON_ASSEMBLE_H
#define ATTN_LESSON_ASSEMBLE_H

#include "eval.h"
#include "graph.h"

/* ---- roles.c: what a printed name means ---- */

enum {
  ATTN_ROLE_NONE = -1,
  ATTN_ROLE_SOFTMAX_INPUT = 100, /* scores, scaled or masked: whatever the softmax is taken of */
  ATTN_ROLE_WITH_POSITIONS,      /* X with the position table added or appended */
  ATTN_ROLE_MASKED_WEIGHTS,      /* weights behind the mask, where those before it are shown too */
  ATTN_ROLE_FACTOR = 200,        /* + a name: printed as a factor of a product */
};

struct attn_meaning {
  int name;     /* attn_step_name or ATTN_ROLE_..; NONE: a row label alone, or nothing */
  int certain;  /* 1: the name itself; 0: a phrase that speaks of it */
  int row, col; /* as counted in the document; -1: none */
  int index;    /* Q_1: a head or a row, as the shape tells; -1: none */
  int head;     /* head 1 said so; -1: none */
};

struct attn_meaning attn_meaning_of(const char *text);
int attn_formula_role(const char *formula); /* "QK^T / \sqrt{2}" is SCALED; NONE: cannot tell */
/* What a formula divides by where it says a number: E / 8, \frac{E}{\sqrt{64}}; 0: none. */
double attn_stated_divisor(const char *formula);
/* Does it speak of something that is no step here: a bias, dropout, a residual, a norm? */
int attn_is_foreign(const char *text);
int attn_phrase_role(const char *text); /* of a heading: what the section computes; or NONE */
int attn_is_softmax_name(const char *text);
const char *attn_default_symbol(int name);
int attn_alias_role(const char *normal); /* aliases.c: of a normal name; NONE: it is no such name */
/* Letters and digits of text in lower case, as names compare. Ends in 0, cut to size. */
void attn_normal_name(const char *text, char *normal, size_t size);
int attn_text_has(const char *text, const char *word); /* ASCII letters in any case */
int attn_text_has_any(const char *text, const char *const *words);

/* ---- what an example prints, by step ---- */

struct attn_slot {
  int name, head; /* head: -1 where there is one or it belongs to all */
  int certain;
  int foreign; /* its formula holds more than is followed: then it is given, not computed */
  const char *symbol;
  int printings;
  attn_printing *printing;
  const struct attn_item *item; /* the first */
  int labels;                   /* names of its rows */
  char **label;
};

struct attn_clues {
  int scaled, unscaled; /* said so: in the example; document_scaled: anywhere */
  int document_scaled;
  double scale;             /* `scale: 0.5`; 0: none */
  double d_k;               /* as stated; 0: none */
  double root;              /* n of \frac{E}{\sqrt{n}}; 0: none */
  double divisor;           /* as the formula of the scaled scores states it; 0: none */
  int masked, maybe_masked; /* a causal mask said in so many words; spoken of */
  int mask_line;
  int rows, columns; /* orientation, said so */
  int queries_are_inputs, keys_are_inputs, values_are_inputs;
  int appended;   /* positions */
  int unfollowed; /* steps from this name on stand on something that is not followed; 0: none do */
  int count_zero; /* indices from 0 seen */
};

enum { ATTN_KEYS_ARE_INPUTS = 1, ATTN_VALUES_ARE_INPUTS = 2 };

/* One way to read an example where the document leaves it open. */
struct attn_choice {
  int columns, scale, mask;
  int inputs;    /* bits: Q and K, or V, that are not given are X */
  int positions; /* 1: the position table goes into X */
  int first_frequency;
};

struct attn_range {
  int begin, end; /* items */
  int block;      /* of a snippet; 0: prose, snippets within are left out */
  const char *title;
  int line;
};

struct attn_assembly {
  const struct attn_document *document;
  int document_scaled;    /* attn_mentions_scale(document) */
  struct attn_pool *pool; /* of the lesson */
  attn_error *err;
  struct attn_range range;
  struct attn_clues clues;
  struct attn_slot *slot;
  int slots, heads;
  struct attn_choice reading;
  const attn_example *example; /* that is being built */
  struct attn_py_scope *scope; /* variables of the snippets so far; python_graph.h */
};

attn_status attn_no_memory(struct attn_assembly *a);
struct attn_slot *attn_slot_find(struct attn_assembly *a, int name, int head); /* exactly */

/* examples.c: ranges in order; *ranges from pool. */
attn_status attn_split_examples(const struct attn_document *document, struct attn_pool *pool,
                                struct attn_range **ranges, int *count, attn_error *err);
/* settle.c: after attn_collect. */
void attn_settle_roles(struct attn_assembly *a);
/* clues.c */
void attn_read_clues(struct attn_assembly *a);
int attn_mentions_scale(const struct attn_document *d);
/* rows.c: fills slots from the range's matrices. */
attn_status attn_collect(struct attn_assembly *a);
/* build.. assemble.c: one reading. */
attn_status attn_build_example(struct attn_assembly *a, attn_example *example);
/* orientation.c: the reading that fits best. */
attn_status attn_choose_reading(struct attn_assembly *a, attn_example *example);
int attn_cell_fits(const attn_cell *cell, double value);
/* attach.c: printings to their places in a computed step */
int attn_printing_fits(const attn_printing *p, const attn_matrix *m);
attn_status attn_attach_one(struct attn_assembly *a, attn_step *step, const attn_printing *printing,
                            int certain);
attn_status attn_attach(struct attn_assembly *a, attn_step *step, const struct attn_slot *slot);
attn_status attn_attach_turned(struct attn_assembly *a, attn_step *step,
                               const struct attn_slot *slot);
/* mask.c */
attn_status attn_make_mask(struct attn_assembly *a, attn_example *ex, const attn_matrix *scores,
                           const struct attn_slot *masked);
void attn_read_mask(attn_step *mask, const struct attn_slot *masked, int *additive, double *fill);
/* python_graph.c */
attn_status attn_follow_snippet(struct attn_assembly *a, attn_example *examples, int before,
                                attn_example *example);
/* tokens.c */
attn_status attn_name_tokens(struct attn_assembly *a, attn_example *example);

/* steps.c: adding and computing steps */
attn_step *attn_add_step(struct attn_assembly *a, attn_example *example, int name, int head,
                         int op); /* NULL: no memory */
attn_status attn_compute_step(struct attn_assembly *a, attn_example *example, attn_step *step);
/* The same from its operands as the document prints them. */
attn_status attn_compute_from_printed(struct attn_assembly *a, const attn_example *example,
                                      const attn_step *step, attn_matrix *out);
int attn_cells_contradict(const attn_cell *x, const attn_cell *y);
attn_status attn_given_from(struct attn_assembly *a, attn_step *step);
attn_status attn_add_printing(struct attn_assembly *a, attn_step *step,
                              const attn_printing *printing);
int attn_transpose_printing(struct attn_pool *pool, const attn_printing *from, attn_printing *to);

#endif
