/* tape_heads.c -- a linear map of each head, q_h W_h: the general score q^T W k [Luong15] is the
 * dot product of its results and the keys. */
#include "matmul.h"
#include "tape_node.h"

static struct attn_gemm_operand matrix(const float *at, int64_t step, int transposed) {
  return (struct attn_gemm_operand){at, step, transposed, ATTN_F32};
}

static void map(struct attn_tape *t, struct attn_tape_node *n) {
  const int64_t e = n->weight->width, rows = n->y->n;
  for (int64_t from = 0; from < n->y->width && !t->status; from += e)
    t->status = attn_matmul(&t->host, rows, e, e, matrix(n->x->x + from, n->x->width, 0),
                            matrix(n->weight->x + from * e, e, 0), n->y->x + from, n->y->width, 0,
                            &t->error);
}

/* dx_h += dy_h W_h^T, dW_h += x_h^T dy_h */
static void map_back(struct attn_tape *t, struct attn_tape_node *n) {
  const int64_t e = n->weight->width, rows = n->y->n, step = n->x->width;
  for (int64_t from = 0; from < n->y->width && !t->status; from += e) {
    const struct attn_gemm_operand dy = matrix(n->y->dx + from, n->y->width, 0);
    if (n->x->dx)
      t->status = attn_matmul(&t->host, rows, e, e, dy, matrix(n->weight->x + from * e, e, 1),
                              n->x->dx + from, step, 1, &t->error);
    if (n->weight->dx && !t->status)
      t->status = attn_matmul(&t->host, e, e, rows, matrix(n->x->x + from, step, 1), dy,
                              n->weight->dx + from * e, e, 1, &t->error);
  }
}

struct attn_tape_variable *attn_tape_map_heads(struct attn_tape *tape, struct attn_tape_variable *x,
                                               int64_t heads, const struct attn_tape_variable *w) {
  struct attn_tape_variable *y = attn_tape_variable(tape, x->n, heads * w->width);
  attn_tape_call(tape, &(struct attn_tape_node){
                           .forward = map, .backward = map_back, .x = x, .y = y, .weight = w});
  return y;
}
