/* tape_recurrent.h -- the operations of a convolutional encoder and a recurrent decoder on a tape,
 * for rows of all images, one after the other: the N-th part of a variable's rows is an image's. */
#ifndef ATTN_NN_TAPE_RECURRENT_H
#define ATTN_NN_TAPE_RECURRENT_H

#include "recurrent.h"
#include "tape.h"

/* x (N H W, C), w (9 C, O), b (1, O) or NULL: y (N H' W', O), convolution.h. */
struct attn_tape_variable *attn_tape_convolve(struct attn_tape *tape, struct attn_tape_variable *x,
                                              int64_t height, int64_t width, int64_t stride,
                                              const struct attn_tape_variable *w,
                                              const struct attn_tape_variable *b);

/* h' (N, D) of a cell, from gates (N, 4 D), GRU (N, 3 D), of attn_tape_linear. c: an LSTM's (N, D),
 * which becomes c'; NULL: a GRU, with the state h (N, D). */
struct attn_tape_variable *attn_tape_cell(struct attn_tape *tape,
                                          struct attn_tape_variable *x_gates,
                                          struct attn_tape_variable *h_gates,
                                          struct attn_tape_variable *h,
                                          struct attn_tape_variable **c);

/* The context (N, D) of q (N, A), k (N P, A), a (1, A) and z (N P, D). Uniform alignment has
 * neither q nor k, and only additive alignment has a. *weights (N, P), in the tape's memory, is
 * valid for the pass; NULL while measuring. */
struct attn_tape_variable *attn_tape_align(struct attn_tape *tape, enum attn_alignment_kind kind,
                                           float scale, struct attn_tape_variable *q,
                                           struct attn_tape_variable *k,
                                           const struct attn_tape_variable *a,
                                           struct attn_tape_variable *z, int64_t rows,
                                           const float **weights);

/* Rows from .. from + n - 1 of x, copied: one step of what is computed for all. */
struct attn_tape_variable *attn_tape_rows(struct attn_tape *tape, struct attn_tape_variable *x,
                                          int64_t from, int64_t n);

/* The same values as n rows of another width. */
struct attn_tape_variable *attn_tape_reshape(struct attn_tape *tape, struct attn_tape_variable *x,
                                             int64_t n, int64_t width);

/* Row index[k] of x as row k; index is not copied. */
struct attn_tape_variable *attn_tape_gather(struct attn_tape *tape, struct attn_tape_variable *x,
                                            const int64_t *index, int64_t n);

/* All rows of count variables of one width, below each other; at most 4096. */
struct attn_tape_variable *attn_tape_stack(struct attn_tape *tape,
                                           struct attn_tape_variable *const *x, int64_t count);

#endif
