#include "sdpa_task.h"

#include <math.h>
#include <string.h>

#include "element.h"
#include "key_range.h"
#include "paging.h"
#include "philox.h"

double attn_problem_sink(const struct attn_problem *p, int64_t h) {
  return p->desc.sinks ? attn_tensor_per_head(p->desc.sinks, 0, h) : -(double)INFINITY;
}

size_t attn_task_floats(int32_t count) {
  size_t bytes = (size_t)count * sizeof(struct attn_sdpa_task);
  return (bytes + ATTN_PANEL_ALIGN - 1) / ATTN_PANEL_ALIGN * ATTN_PANEL_WIDTH;
}

static const char *vector_of(const attn_tensor *t, int64_t h) {
  if (attn_view_is_empty(t)) return NULL;
  return attn_view_at(t, t->rank == 2 ? h * t->strides[0] : 0);
}

void attn_task_set_row(const struct attn_problem *p, struct attn_sdpa_task *t, int r, int64_t b,
                       int64_t h, int64_t i) {
  const attn_sdpa *d = &p->desc;
  t->q[r] = attn_tensor_at(&p->q, b, h, i, 0);
  t->o[r] = attn_tensor_at(&p->o, b, h, i, 0);
  t->lse[r] = p->desc.lse ? (float *)attn_tensor_at(&p->lse, b, h, i, 0) : NULL;
  t->weights[r] = p->desc.weights ? attn_tensor_at(&p->weights, b, h, i, 0) : NULL;
  t->mask[r] = p->desc.mask ? attn_tensor_at(&p->mask, b, h, i, 0) : NULL;
  t->partial[r] = NULL;
  attn_problem_key_range(p, b, i, &t->lo[r], &t->hi[r]);
  t->position[r] = attn_problem_position(p, b, i);
  t->slope[r] = d->alibi ? attn_tensor_per_head(d->alibi, b, h) : 0;
  t->additive[r] = d->additive ? vector_of(d->additive, h) : NULL;
  t->sink[r] = attn_problem_sink(p, h) * ATTN_LOG2E;
  t->counter[r][0] = (uint32_t)(d->origin_query + i);
  t->counter[r][1] = (uint32_t)(d->origin_head + h);
  t->counter[r][2] = (uint32_t)(d->origin_batch + b);
}

static char *next_row(const char *at, const attn_tensor *t) {
  return at ? (char *)at + t->strides[2] * (attn_view_at(t, 1) - (char *)t->data) : NULL;
}

void attn_task_set_next(const struct attn_problem *p, struct attn_sdpa_task *t, int r, int64_t b,
                        int64_t i) {
  const attn_sdpa *d = &p->desc;
  t->q[r] = next_row(t->q[r - 1], &p->q);
  t->o[r] = next_row(t->o[r - 1], &p->o);
  t->lse[r] = (float *)(void *)next_row((const char *)t->lse[r - 1], &p->lse);
  t->weights[r] = next_row(t->weights[r - 1], &p->weights);
  t->mask[r] = next_row(t->mask[r - 1], &p->mask);
  t->partial[r] = NULL;
  t->lo[r] = t->lo[r - 1], t->hi[r] = t->hi[r - 1];
  if (d->flags & (ATTN_SDPA_CAUSAL | ATTN_SDPA_WINDOW))
    attn_problem_key_range(p, b, i, &t->lo[r], &t->hi[r]);
  if (d->alibi) t->position[r] = attn_problem_position(p, b, i);
  t->slope[r] = t->slope[r - 1];
  t->additive[r] = t->additive[r - 1];
  t->sink[r] = t->sink[r - 1];
  memcpy(t->counter[r], t->counter[r - 1], sizeof t->counter[r]);
  t->counter[r][0]++;
}

/* Head `head` of k or v, of sequence b or in pages. scales: of pages; NULL: not paged. */
static struct attn_task_operand operand_of(const attn_tensor *t, const attn_tensor *scales,
                                           int64_t b, int64_t head) {
  struct attn_task_operand x = {.data = attn_tensor_at(t, scales ? 0 : b, head, 0, 0),
                                .row = t->strides[2],
                                .col = t->shape[3] == 1 ? 1 : t->strides[3],
                                .width = t->shape[3],
                                .page = t->strides[0]};
  if (!scales) return x;
  x.scales = attn_tensor_at(scales, 0, head, 0, 0);
  x.scale_row = scales->strides[2], x.scale_page = scales->strides[0];
  return x;
}

void attn_task_set_head(const struct attn_problem *p, struct attn_sdpa_task *t, int64_t b,
                        int64_t head) {
  memset(t->ahead, 0, sizeof t->ahead);
  t->dtype = t->weights_dtype = p->q.dtype, t->kv_dtype = p->k.dtype;
  t->k = operand_of(&p->k, p->paging ? &p->paging->k_scales : NULL, b, head);
  t->v = operand_of(&p->v, p->paging ? &p->paging->v_scales : NULL, b, head);
  attn_paging_set_pages(p, &t->pages, b);
  t->q_col = p->q.strides[3], t->o_col = p->o.strides[3];
  t->weights_col = p->weights.strides[3], t->mask_col = p->mask.strides[3];
  t->keys = p->keys;
  int drops = (p->desc.flags & ATTN_SDPA_DROPOUT) != 0;
  t->has_mask = p->desc.mask != NULL, t->mask_dtype = p->mask.dtype;
  t->has_alibi = p->desc.alibi != NULL;
  const attn_tensor *additive = p->desc.additive;
  t->has_additive = additive != NULL;
  t->additive_dtype = additive ? additive->dtype : 0;
  t->additive_col = additive ? additive->strides[additive->rank - 1] : 0;
  t->softcap = p->desc.flags & ATTN_SDPA_SOFTCAP ? p->desc.softcap * ATTN_LOG2E : 0;
  t->drop_below = drops ? attn_dropout_threshold(p->desc.dropout) : 0;
  t->keep = drops ? 1 / (1 - p->desc.dropout) : 1;
  t->seed = p->desc.seed;
  t->scale = p->scale * ATTN_LOG2E;
  int64_t keys = attn_problem_keys(p, b);
  t->headroom = keys > 1 ? (float)(ceil(log2((double)keys)) + 1) : 1.0f;
}
