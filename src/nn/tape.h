/* tape.h -- what a model computed, in order, so that gradients can be sent back through it.
 *
 * A model's forward is a row of calls, each of one layer; a training tape notes each call, and
 * attn_tape_backward makes their backwards in reverse. All numbers stand in one piece of memory
 * that is measured before: without it a tape computes nothing and only counts. What is noted of
 * calls and shapes stands in another, small one.
 *
 * The first failure sticks: calls after it do nothing, and their values must not be read. */
#ifndef ATTN_NN_TAPE_H
#define ATTN_NN_TAPE_H

#include "layers.h"
#include "buffer_offsets.h"

/* A matrix of numbers and its gradient, which is added to; NULL where none is wanted. A model's
 * weights are such values too, and on a tape of halves have bf16 copies. */
struct attn_variable {
  float *x, *dx; /* (n, width) */
  int64_t n, width;
  int64_t number; /* of a tape: which of its values; 0: dx is the caller's */
  uint16_t *half; /* of a weight, x in bf16; or NULL */
};

/* Memory of gradients that stand only as long as they are needed: from the backward of the last
 * call that reads their value to that of the call that made it. Which places can be shared follows
 * from the calls alone; a pass makes the same calls as the one that was measured, of no larger
 * values. */
struct attn_gradient_plan {
  struct attn_buffer_offsets places;
  struct attn_buffer_span *place; /* of each value, by its number */
  int64_t values;                 /* how many were planned */
  char *memory;                   /* behind the numbers */
};

/* Memory that is only added to, but for attn_tape_keep; aligned to 64. */
struct attn_arena {
  char *memory;
  size_t size, used, most; /* most: that were ever used */
};

struct attn_tape {
  struct attn_host host;
  int training;
  struct attn_dropout drop;         /* of this step; every use gets a number of its own */
  struct attn_arena notes, numbers; /* numbers without memory: measure */
  struct attn_tape_node *last;
  int shares_gradients; /* set before it measures; 0: every value keeps a gradient of its own */
  int halves;           /* set before it measures; 1: linear layers multiply in bf16 */
  size_t factors_most;  /* bytes of one gradient in bf16, at most */
  void *factors;        /* at the end of the memory */
  struct attn_gradient_plan gradients;
  int64_t values; /* of this pass */
  attn_status status;
  attn_error error;
  /* NULL, or told of each attention before it is computed; may set the status. */
  void (*watch)(struct attn_tape *tape, const struct attn_multihead *m, struct attn_row_view q,
                struct attn_row_view k);
  void *watcher; /* watch's own */
  /* NULL, or asked before each call of a layer and each backward: not 0 ends the pass with
   * ATTN_ERR_INTERRUPTED. */
  int (*stop)(void *context);
  void *stop_context;
};

/* Memory for so many bytes of notes; the numbers are to be measured then. */
attn_status attn_tape_open(struct attn_tape *tape, size_t notes, attn_error *err);

/* Memory for the numbers that were measured, and shared gradients; the tape starts anew. The
 * measurement's failure, where it failed. */
attn_status attn_tape_reserve(struct attn_tape *tape, attn_error *err);

/* The first failure, if there was one. */
attn_status attn_tape_status(const struct attn_tape *tape, attn_error *err);

/* Are calls made, or only measured, or is nothing done any more? */
int attn_tape_is_computing(const struct attn_tape *tape);

/* Releases both. */
void attn_tape_close(struct attn_tape *tape);

/* Forgets all calls, so that a step or a measurement can begin. */
void attn_tape_start(struct attn_tape *tape);

/* Values of this shape in the tape's memory; their gradient is 0, or where gradients are shared
 * NULL until it is needed. */
struct attn_variable *attn_tape_variable(struct attn_tape *tape, int64_t n, int64_t width);

/* Where the numbers of what is to come begin. */
size_t attn_tape_mark(const struct attn_tape *tape);

/* All values since the mark are forgotten but this one, whose numbers go there: layers work in the
 * same memory, one after another. A tape that trains forgets nothing. */
struct attn_variable *attn_tape_keep(struct attn_tape *tape, size_t mark,
                                     struct attn_variable *value);

/* Bytes of the numbers' memory; NULL where it measures. */
void *attn_tape_allocate(struct attn_tape *tape, size_t bytes);

struct attn_variable *attn_tape_linear(struct attn_tape *tape, struct attn_variable *x,
                                       const struct attn_variable *w,
                                       const struct attn_variable *b);

/* The same by packed weights of `out` outputs, where nothing is trained; half as they were packed.
 */
struct attn_variable *attn_tape_linear_packed(struct attn_tape *tape, struct attn_variable *x,
                                              struct attn_packed_matrix *packed, int64_t out, int half);

struct attn_variable *attn_tape_embed(struct attn_tape *tape, const struct attn_embedding *e,
                                      const struct attn_variable *table,
                                      const struct attn_variable *positions);

/* bias NULL: 0; rms: RMS normalization. */
struct attn_variable *attn_tape_norm(struct attn_tape *tape, struct attn_variable *x,
                                     const struct attn_variable *scale,
                                     const struct attn_variable *bias, double epsilon, int rms);

struct attn_variable *attn_tape_activate(struct attn_tape *tape, enum attn_activation kind,
                                         struct attn_variable *x);

/* x + dropout(f); x NULL: dropout(f). */
struct attn_variable *attn_tape_add(struct attn_tape *tape, struct attn_variable *x,
                                    struct attn_variable *f, double dropout);

/* Turns the pairs of every head by its position: columns from .. from + heads width of x, in place
 * and back the same way, so that x must be nobody else's before. cos, sin (rows, width / 2). */
struct attn_rotary_args {
  int64_t from, heads, width;
  const int32_t *places; /* (N): rows of the tables */
  const struct attn_variable *cos, *sin;
};
void attn_tape_rotary(struct attn_tape *tape, struct attn_variable *x,
                      const struct attn_rotary_args *turn);

/* Columns of a value from `from` on. Each must be read by this attention alone: its gradient is
 * written, not added to. */
struct attn_columns {
  struct attn_variable *of;
  int64_t from;
};
struct attn_variable *attn_tape_attend(struct attn_tape *tape, const struct attn_multihead *m,
                                       struct attn_columns q, struct attn_columns k,
                                       struct attn_columns v, double dropout);

/* Training, the logits' values become their own gradient, times scale; and dx is x. */
struct attn_loss attn_tape_cross_entropy(struct attn_tape *tape, struct attn_variable *logits,
                                         const int32_t *targets, double smoothing, float scale);

void attn_tape_backward(struct attn_tape *tape);

#endif
