/* tape_node.h -- a call that a tape records, for the files that add operations to it. */
#ifndef ATTN_NN_TAPE_NODE_H
#define ATTN_NN_TAPE_NODE_H

#include "tape.h"

/* One call of a layer. Pointers to the caller's data must stay valid until the backward. */
struct attn_tape_node {
  void (*forward)(struct attn_tape *tape, struct attn_tape_node *node);
  void (*backward)(struct attn_tape *tape, struct attn_tape_node *node);
  struct attn_tape_node *previous;
  int stores; /* 1: backward stores gradients that are dx_unset; 0: they are cleared before */
  struct attn_tape_variable *x, *f, *y, *qkv[3]; /* f: added to x; qkv: an attention's */
  struct attn_tape_variable *y2;                 /* a second result; either may have no gradient */
  struct attn_tape_variable *const *more;        /* further inputs */
  int64_t more_count;
  const struct attn_tape_variable *weight, *bias;
  struct attn_dropout drop;
  void *args; /* of operations in other files than tape.c */
  union {
    struct attn_embedding embedding;
    enum attn_activation activation;
    struct attn_rotary_args rotary;
    struct {
      struct attn_linear layer;
      uint16_t *bf16; /* memory for x in bf16; NULL: x itself is multiplied */
    } linear;
    struct {
      struct attn_packed_matrix *w;
      uint16_t *bf16;
    } packed;
    struct attn_norm_layer norm;
    struct {
      struct attn_multihead m;
      int64_t from[3];         /* the first columns of q, k, v */
      float *lse, *d_additive; /* d_additive: before it is added to the weight's */
    } attend;
  } as;
};

/* Of a variable that may be absent: its values and its gradient. */
static inline float *attn_tape_values(const struct attn_tape_variable *v) {
  return v ? v->x : NULL;
}
static inline float *attn_tape_gradient(const struct attn_tape_variable *v) {
  return v ? v->dx : NULL;
}

/* Memory for a call's arguments, at most 64 KiB, as long as the call is; NULL after a failure. */
void *attn_tape_record(struct attn_tape *tape, size_t bytes);

/* Records a call and computes it; only a training tape keeps it for the backward. After a failure
 * it does nothing. */
void attn_tape_call(struct attn_tape *tape, const struct attn_tape_node *node);

#endif
