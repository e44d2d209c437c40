/* backward_call.h -- one backward call. */
#ifndef ATTN_SDPA_BACKWARD_CALL_H
#define ATTN_SDPA_BACKWARD_CALL_H

#include "backward.h"
#include "parallel.h"

/* A row's softmax from its scores in base 2: p_j = share 2^(s_j - m). */
struct row_softmax {
  float m, share, sink; /* sink: the sink's own p */
};
enum { ROW_BYTES = sizeof(float) + sizeof(struct row_softmax) }; /* of delta and sums */

/* The rows of all query heads of a key/value head are cut into chunks, each with its own sums of dK
 * and dV, which are added in order. A task is a head, or a chunk where heads are few. */
struct chunking {
  int64_t rows;        /* blocks of rows of a head */
  int64_t count, each; /* chunks of a head, blocks of a chunk */
  int64_t together;    /* blocks in a call of the kernel */
  int by_chunk;        /* tasks are chunks */
  int64_t sets, own;   /* of sums: in all; of a worker whose tasks are heads */
  struct attn_backward_layout layout;
};

struct backward_call {
  struct attn_problem p;
  const struct attn_problem *whole; /* NULL: not a part of another call */
  attn_sdpa_gradients own;          /* a copy */
  const attn_sdpa_gradients *g;
  int adds; /* to d_mask, d_sinks and d_additive, which are not cleared */
  attn_tensor d_o, d_q, d_k, d_v, d_lse, d_mask; /* at rank 4; d_mask broadcast like the mask */
  struct attn_partition parts;
  struct chunking chunks;
  float *d_kv;              /* chunks.sets of sums of dK and dV */
  float *delta;             /* (B, Hq, L): rowsum(dO O) - dlse */
  struct row_softmax *sums; /* (B, Hq, L) */
  char *workspace;
  size_t worker_bytes;
  double *d_additive; /* [b][h][slot][e], each slot of one task: sums have one order */
  int64_t slots;      /* of a head */
  size_t slot_bytes;  /* of all */
  size_t sum_bytes;   /* of d_kv */
  struct attn_progress progress;
};

/* Fills the checked problem, the copy of the gradients and their tensors. */
attn_status attn_backward_call_check(struct backward_call *call, const attn_sdpa *desc,
                                     const attn_tensor *q, const attn_tensor *k,
                                     const attn_tensor *v, const attn_tensor *o,
                                     const attn_tensor *d_o, attn_error *err);

#endif
