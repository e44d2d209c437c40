/* tape.h -- the operations of a model's forward pass, recorded for the backward pass.
 *
 * A forward pass is a sequence of calls, each of one layer. A training tape records every call;
 * attn_tape_backward runs their backwards in reverse. All values and gradients are in one block of
 * memory. Its size is measured first: a tape without memory computes nothing and only counts.
 *
 *     make the calls once, attn_tape_reserve, then for each pass attn_tape_start and the same calls
 *
 * The first failure is kept: later calls do nothing, and their variables must not be read. */
#ifndef ATTN_NN_TAPE_H
#define ATTN_NN_TAPE_H

#include "buffer_offsets.h"
#include "layers.h"

/* A matrix and its gradient, which is accumulated; dx NULL: no gradient. A model's weights are
 * variables too. */
struct attn_tape_variable {
  float *x, *dx; /* (n, width) */
  int64_t n, width;
  int64_t id;     /* of a tape's variable, from 1; 0: dx is the caller's memory */
  int dx_unset;   /* dx has no value yet: the backward that runs next stores it */
  uint16_t *bf16; /* of a weight: x in bf16, where the tape computes in bf16; or NULL */
};

/* Where gradients are that exist only while they are needed: from the backward of the last call
 * that reads their variable to the backward of the call that computed it. Planned from the recorded
 * calls; each pass must make the same calls, with no larger variables. */
struct attn_gradient_plan {
  struct attn_buffer_offsets offsets;
  struct attn_buffer_span *span; /* by id */
  int64_t count;                 /* variables that were planned */
  char *memory;
};

/* Memory that is allocated upwards; aligned to ATTN_ALIGNMENT. */
struct attn_arena {
  char *memory;
  size_t size, used, peak; /* peak: the largest value of used so far */
};

struct attn_tape {
  struct attn_host host;
  int training;
  struct attn_dropout drop;                   /* of this pass; `use` counts the uses */
  struct attn_arena data;                     /* values; without memory: measuring */
  struct attn_tape_records *records, *record; /* calls and variables: first block, current block */
  struct attn_tape_node *last;
  int shares_gradients; /* set before measuring; 0: every variable has a gradient of its own */
  int bf16;             /* set before measuring; 1: linear layers multiply in bf16 */
  size_t bf16_gradient_bytes; /* of the largest gradient in bf16 */
  void *bf16_gradient;        /* after the gradients */
  struct attn_gradient_plan gradients;
  int64_t variables; /* of this pass */
  attn_status status;
  attn_error error;
  /* Called before each attention is computed; may set the status. NULL: not called. */
  void (*watch)(struct attn_tape *tape, const struct attn_multihead *m, struct attn_row_view q,
                struct attn_row_view k);
  void *watcher; /* for watch */
  /* Called before each layer's forward and backward: a result other than 0 ends the pass with
   * ATTN_ERR_INTERRUPTED. NULL: not called. */
  int (*stop)(void *context);
  void *stop_context;
};

/* Allocates the memory that was measured, with shared gradients, and starts the tape. Returns the
 * failure of the measurement, if it failed. */
attn_status attn_tape_reserve(struct attn_tape *tape, attn_error *err);

/* Bytes that a reserved tape has allocated. */
size_t attn_tape_memory_bytes(const struct attn_tape *tape);

/* The first failure, if any. */
attn_status attn_tape_status(const struct attn_tape *tape, attn_error *err);

/* 1 where calls are computed; 0 while measuring and after a failure. */
int attn_tape_is_computing(const struct attn_tape *tape);

/* Releases all memory. */
void attn_tape_close(struct attn_tape *tape);

/* Discards all calls and variables: a new pass or measurement begins. */
void attn_tape_start(struct attn_tape *tape);

/* A variable in the tape's memory. Its gradient is 0, or with shared gradients NULL until it is
 * needed. */
struct attn_tape_variable *attn_tape_variable(struct attn_tape *tape, int64_t n, int64_t width);

/* Data of a pass: a variable without a gradient, to be filled by the caller unless the tape is
 * measuring. */
struct attn_tape_variable *attn_tape_input(struct attn_tape *tape, int64_t n, int64_t width);

/* Where the values of the next calls begin. */
size_t attn_tape_mark(const struct attn_tape *tape);

/* Discards all variables since the mark but this one, whose values move there, so that layers
 * reuse the same memory. A training tape discards nothing. */
struct attn_tape_variable *attn_tape_keep(struct attn_tape *tape, size_t mark,
                                          struct attn_tape_variable *variable);

/* Bytes of the memory of values; NULL while measuring. */
void *attn_tape_allocate(struct attn_tape *tape, size_t bytes);

struct attn_tape_variable *attn_tape_linear(struct attn_tape *tape, struct attn_tape_variable *x,
                                            const struct attn_tape_variable *w,
                                            const struct attn_tape_variable *b);

/* The same with packed weights of `out` outputs, for inference; bf16: as they were packed. */
struct attn_tape_variable *attn_tape_linear_packed(struct attn_tape *tape,
                                                   struct attn_tape_variable *x,
                                                   struct attn_packed_matrix *packed, int64_t out,
                                                   int bf16);

struct attn_tape_variable *attn_tape_embed(struct attn_tape *tape, const struct attn_embedding *e,
                                           const struct attn_tape_variable *table,
                                           const struct attn_tape_variable *positions);

/* bias NULL: 0; rms: RMS normalization. */
struct attn_tape_variable *attn_tape_norm(struct attn_tape *tape, struct attn_tape_variable *x,
                                          const struct attn_tape_variable *scale,
                                          const struct attn_tape_variable *bias, double epsilon,
                                          int rms);

struct attn_tape_variable *attn_tape_activate(struct attn_tape *tape, enum attn_activation kind,
                                              struct attn_tape_variable *x);

/* x + dropout(f); x NULL: dropout(f). */
struct attn_tape_variable *attn_tape_add(struct attn_tape *tape, struct attn_tape_variable *x,
                                         struct attn_tape_variable *f, double dropout);

/* Rotates the pairs of each head by the angle of its position: columns from .. from + heads width
 * of x, in place. Nothing else may have read x before. cos, sin (rows, width / 2). */
struct attn_rotary_args {
  int64_t from, heads, width;
  const int32_t *position_ids; /* (N): rows of the tables */
  const struct attn_tape_variable *cos, *sin;
};
void attn_tape_rotary(struct attn_tape *tape, struct attn_tape_variable *x,
                      const struct attn_rotary_args *args);

/* Columns of a variable from `from` on. Only this attention may read them: their gradient is
 * written, not accumulated. */
struct attn_columns {
  struct attn_tape_variable *of;
  int64_t from;
};
/* additive (Hq, E): a of additive scores, or NULL; m->additive is set to its values. */
struct attn_tape_variable *attn_tape_attend(struct attn_tape *tape, const struct attn_multihead *m,
                                            const struct attn_tape_variable *additive,
                                            struct attn_columns q, struct attn_columns k,
                                            struct attn_columns v, double dropout);

/* y_h = x_h W_h for each head h: heads of `width` columns of x, from its first on. w (heads width,
 * width): W_h below each other. y (n, heads width). In float32 also where tape->bf16 is set. */
struct attn_tape_variable *attn_tape_map_heads(struct attn_tape *tape, struct attn_tape_variable *x,
                                               int64_t heads, const struct attn_tape_variable *w);

/* While training, the logits become their own gradient, times scale, and their dx is x. */
struct attn_loss attn_tape_cross_entropy(struct attn_tape *tape, struct attn_tape_variable *logits,
                                         const int32_t *targets, double smoothing, float scale);

void attn_tape_backward(struct attn_tape *tape);

#endif
