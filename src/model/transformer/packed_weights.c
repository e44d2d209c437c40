#include "packed_weights.h"

#include <stdlib.h>

#include "error.h"
#include "gemm.h"
#include "matmul.h"

struct attn_packed_weights {
  int bf16, count;
  int64_t min;
  struct attn_packed_matrix *of[]; /* by the index of the linear layer */
};

static attn_status add(struct attn_packed_weights *p, struct attn_linear_weights l,
                       attn_error *err) {
  if (!l.w || (!p->bf16 && l.w->n * l.w->width < p->min)) return ATTN_OK;
  return attn_packed_matrix_new(attn_gemm_best(), l.w->x, l.b ? l.b->x : NULL, l.w->width, l.w->n,
                                p->bf16 ? ATTN_BF16 : ATTN_F32, &p->of[l.index], err);
}

static attn_status add_block(struct attn_packed_weights *p, const struct attn_block_weights *b,
                             attn_error *err) {
  const struct attn_linear_weights all[] = {b->self_in,   b->self_out, b->cross_q,
                                            b->cross_out, b->linear1,  b->linear2};
  attn_status status = ATTN_OK;
  for (size_t n = 0; n < sizeof all / sizeof *all && !status; n++) status = add(p, all[n], err);
  return status;
}

/* Of a captioner: each word's layers; with bf16 those that read an image once, too. */
static attn_status add_captioner(struct attn_packed_weights *p, const struct attn_network *n,
                                 attn_error *err) {
  const struct attn_recurrent_weights *r = &n->recurrent;
  const struct attn_linear_weights all[] = {
      r->input, r->context, r->hidden,  r->query,   r->out_hidden,       r->out_context,
      r->key,   r->vector,  r->first_h, r->first_c, n->vision.projection};
  const size_t count = p->bf16 ? sizeof all / sizeof *all : 6;
  attn_status status = ATTN_OK;
  for (size_t k = 0; k < count && !status; k++) status = add(p, all[k], err);
  return status;
}

attn_status attn_packed_weights_new(const struct attn_network *n, int bf16, int64_t min,
                                    struct attn_packed_weights **pack, attn_error *err) {
  struct attn_packed_weights *p = calloc(1, sizeof *p + (size_t)n->linears * sizeof *p->of);
  if (!p) return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for a pack");
  p->bf16 = bf16, p->min = min, p->count = n->linears;
  attn_status status = add(p, n->transform, err);
  if (!status) status = add(p, n->output, err);
  if (!status) status = add_captioner(p, n, err);
  for (int64_t l = 0; l < n->decoder.num_blocks && !status; l++) {
    status = add_block(p, &n->decoder.blocks[l], err);
    if (!status && bf16) status = add(p, n->decoder.blocks[l].cross_kv, err);
  }
  for (int64_t l = 0; l < n->encoder.num_blocks && bf16 && !status; l++)
    status = add_block(p, &n->encoder.blocks[l], err);
  if (status)
    attn_packed_weights_free(p);
  else
    *pack = p;
  return status;
}

void attn_packed_weights_free(struct attn_packed_weights *p) {
  for (int n = 0; p && n < p->count; n++) attn_packed_matrix_free(p->of[n]);
  free(p);
}

int attn_packed_weights_is_bf16(const struct attn_packed_weights *p) { return p && p->bf16; }

struct attn_packed_matrix *attn_packed_weights_of(const struct attn_packed_weights *p,
                                                  struct attn_linear_weights l) {
  return p ? p->of[l.index] : NULL;
}
