#include "tape_recurrent.h"

#include <string.h>

#include "convolution.h"
#include "error.h"
#include "tape_node.h"

/* ---- Convolution ---- */

static void convolve(struct attn_tape *t, struct attn_tape_node *n) {
  struct attn_convolution *c = n->args;
  c->x = n->x->x, c->w = n->weight->x;
  t->status = attn_convolution_forward(&t->host, c, n->y->x, attn_tape_values(n->bias), &t->error);
}

static void convolve_back(struct attn_tape *t, struct attn_tape_node *n) {
  t->status = attn_convolution_backward(&t->host, n->args, n->x->dx, n->weight->dx,
                                        attn_tape_gradient(n->bias), n->y->dx, &t->error);
}

struct attn_tape_variable *attn_tape_convolve(struct attn_tape *tape, struct attn_tape_variable *x,
                                              int64_t height, int64_t width, int64_t stride,
                                              const struct attn_tape_variable *w,
                                              const struct attn_tape_variable *b) {
  const struct attn_convolution c = {
      x->n / (height * width), height, width, x->width, w->width, stride, NULL, NULL};
  const int64_t pixels = attn_divide_up(height, stride) * attn_divide_up(width, stride);
  struct attn_tape_variable *y = attn_tape_variable(tape, c.images * pixels, c.out);
  struct attn_convolution *args = attn_tape_record(tape, sizeof *args);
  if (args) *args = c;
  attn_tape_call(tape, &(struct attn_tape_node){.forward = convolve,
                                                .backward = convolve_back,
                                                .x = x,
                                                .y = y,
                                                .weight = w,
                                                .bias = b,
                                                .args = args});
  return y;
}

/* ---- Cells ---- */

static struct attn_recurrent_cell cell_of(const struct attn_tape_node *n) {
  return (struct attn_recurrent_cell){n->y2 ? ATTN_GATED_LSTM : ATTN_GATED_GRU,
                                      n->y->n,
                                      n->y->width,
                                      n->x->x,
                                      n->f->x,
                                      n->qkv[0]->x};
}

static void run_cell(struct attn_tape *t, struct attn_tape_node *n) {
  const struct attn_recurrent_cell s = cell_of(n);
  attn_cell_forward(&t->host, &s, n->y->x, attn_tape_values(n->y2), n->args);
}

static void run_cell_back(struct attn_tape *t, struct attn_tape_node *n) {
  const struct attn_recurrent_cell s = cell_of(n);
  attn_cell_backward(&t->host, &s, n->args, attn_tape_values(n->y2), n->x->dx, n->f->dx,
                     n->qkv[0]->dx, n->y->dx, attn_tape_gradient(n->y2));
}

struct attn_tape_variable *attn_tape_cell(struct attn_tape *tape,
                                          struct attn_tape_variable *x_gates,
                                          struct attn_tape_variable *h_gates,
                                          struct attn_tape_variable *h,
                                          struct attn_tape_variable **c) {
  struct attn_tape_variable *state = c ? *c : h;
  struct attn_tape_node node = {.forward = run_cell, .backward = run_cell_back};
  node.x = x_gates, node.f = h_gates, node.qkv[0] = state;
  node.y = attn_tape_variable(tape, state->n, state->width);
  if (c) node.y2 = *c = attn_tape_variable(tape, state->n, state->width);
  /* The gates are kept for the backward. */
  node.args = attn_tape_allocate(tape, (size_t)(x_gates->n * x_gates->width) * sizeof(float));
  attn_tape_call(tape, &node);
  return node.y;
}

/* ---- Alignment ---- */

struct align_args {
  struct attn_alignment s;
  float *weights, *scratch;
};

static struct attn_alignment *alignment_of(struct attn_tape_node *n) {
  struct attn_alignment *s = &((struct align_args *)n->args)->s;
  s->q = attn_tape_values(n->qkv[0]), s->k = attn_tape_values(n->qkv[1]), s->z = n->qkv[2]->x,
  s->a = attn_tape_values(n->weight);
  return s;
}

static void align(struct attn_tape *t, struct attn_tape_node *n) {
  const struct align_args *args = n->args;
  attn_alignment_forward(&t->host, alignment_of(n), n->y->x, args->weights);
}

static void align_back(struct attn_tape *t, struct attn_tape_node *n) {
  const struct align_args *args = n->args;
  attn_alignment_backward(&t->host, alignment_of(n), n->y->x, args->weights,
                          attn_tape_gradient(n->qkv[0]), attn_tape_gradient(n->qkv[1]),
                          attn_tape_gradient(n->weight), n->qkv[2]->dx, n->y->dx, args->scratch);
}

struct attn_tape_variable *attn_tape_align(struct attn_tape *tape, enum attn_alignment_kind kind,
                                           float scale, struct attn_tape_variable *q,
                                           struct attn_tape_variable *k,
                                           const struct attn_tape_variable *a,
                                           struct attn_tape_variable *z, int64_t rows,
                                           const float **weights) {
  struct attn_tape_variable *y = attn_tape_variable(tape, rows, z->width);
  struct align_args *args = attn_tape_record(tape, sizeof *args);
  const struct attn_alignment s = {.kind = kind,
                                   .n = rows,
                                   .positions = rows ? z->n / rows : 0,
                                   .width = q ? q->width : 0,
                                   .values = z->width,
                                   .scale = scale};
  float *w = attn_tape_allocate(tape, (size_t)z->n * sizeof *w), *scratch = NULL;
  if (a && tape->training)
    scratch = attn_tape_allocate(tape, (size_t)(rows * s.width) * sizeof *scratch);
  if (args) *args = (struct align_args){s, w, scratch};
  attn_tape_call(tape, &(struct attn_tape_node){.forward = align,
                                                .backward = align_back,
                                                .y = y,
                                                .weight = a,
                                                .qkv = {q, k, z},
                                                .args = args});
  *weights = w;
  return y;
}

/* ---- Copies of rows ---- */

static int64_t size_of(const struct attn_tape_variable *v) { return v->n * v->width; }

static void rows(struct attn_tape *t, struct attn_tape_node *n) {
  const int64_t *from = n->args;
  (void)t;
  memcpy(n->y->x, n->x->x + *from * n->x->width, (size_t)size_of(n->y) * sizeof(float));
}

static void rows_back(struct attn_tape *t, struct attn_tape_node *n) {
  const int64_t *from = n->args;
  (void)t;
  if (n->x->dx) attn_add_floats(n->x->dx + *from * n->x->width, n->y->dx, size_of(n->y));
}

static struct attn_tape_variable *copy(struct attn_tape *tape, struct attn_tape_variable *x,
                                       int64_t from, int64_t n, int64_t width) {
  struct attn_tape_variable *y = attn_tape_variable(tape, n, width);
  int64_t *args = attn_tape_record(tape, sizeof *args);
  if (args) *args = from;
  attn_tape_call(tape, &(struct attn_tape_node){
                           .forward = rows, .backward = rows_back, .x = x, .y = y, .args = args});
  return y;
}

struct attn_tape_variable *attn_tape_rows(struct attn_tape *tape, struct attn_tape_variable *x,
                                          int64_t from, int64_t n) {
  return copy(tape, x, from, n, x->width);
}

struct attn_tape_variable *attn_tape_reshape(struct attn_tape *tape, struct attn_tape_variable *x,
                                             int64_t n, int64_t width) {
  return copy(tape, x, 0, n, width);
}

static void gather(struct attn_tape *t, struct attn_tape_node *n) {
  const int64_t *index = n->args, width = n->y->width;
  (void)t;
  for (int64_t k = 0; k < n->y->n; k++)
    memcpy(n->y->x + k * width, n->x->x + index[k] * width, (size_t)width * sizeof(float));
}

static void gather_back(struct attn_tape *t, struct attn_tape_node *n) {
  const int64_t *index = n->args, width = n->y->width;
  (void)t;
  for (int64_t k = 0; k < n->y->n && n->x->dx; k++)
    attn_add_floats(n->x->dx + index[k] * width, n->y->dx + k * width, width);
}

struct attn_tape_variable *attn_tape_gather(struct attn_tape *tape, struct attn_tape_variable *x,
                                            const int64_t *index, int64_t n) {
  struct attn_tape_variable *y = attn_tape_variable(tape, n, x->width);
  attn_tape_call(tape, &(struct attn_tape_node){.forward = gather,
                                                .backward = gather_back,
                                                .x = x,
                                                .y = y,
                                                .args = (void *)(uintptr_t)index});
  return y;
}

static void stack(struct attn_tape *t, struct attn_tape_node *n) {
  float *to = n->y->x;
  (void)t;
  for (int64_t k = 0; k < n->more_count; to += size_of(n->more[k++]))
    memcpy(to, n->more[k]->x, (size_t)size_of(n->more[k]) * sizeof *to);
}

static void stack_back(struct attn_tape *t, struct attn_tape_node *n) {
  const float *dy = n->y->dx;
  (void)t;
  for (int64_t k = 0; k < n->more_count; dy += size_of(n->more[k++]))
    if (n->more[k]->dx) attn_add_floats(n->more[k]->dx, dy, size_of(n->more[k]));
}

struct attn_tape_variable *attn_tape_stack(struct attn_tape *tape,
                                           struct attn_tape_variable *const *x, int64_t count) {
  int64_t all = 0;
  for (int64_t k = 0; k < count; k++) all += x[k]->n;
  struct attn_tape_variable *y = attn_tape_variable(tape, all, x[0]->width);
  const size_t bytes = (size_t)count * sizeof *x;
  struct attn_tape_variable **more = count <= 4096 ? attn_tape_record(tape, bytes) : NULL;
  if (count > 4096 && !tape->status)
    tape->status = attn_fail(&tape->error, ATTN_ERR_ARGUMENT, NULL,
                             "%lld variables are stacked; at most 4096 are", (long long)count);
  if (more) memcpy(more, x, bytes);
  attn_tape_call(tape, &(struct attn_tape_node){.forward = stack,
                                                .backward = stack_back,
                                                .y = y,
                                                .more = more,
                                                .more_count = more ? count : 0});
  return y;
}
