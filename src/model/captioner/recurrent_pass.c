#include "recurrent_pass.h"

#include "batch.h"
#include "tape_node.h"
#include "tape_recurrent.h"

/* ---- Layers ---- */

struct attn_alignment attn_recurrent_alignment(const struct attn_model_config *c) {
  return (struct attn_alignment){
      .kind = c->alignment == ATTN_ALIGN_ADDITIVE  ? ATTN_ALIGNMENT_ADDITIVE
              : c->alignment == ATTN_ALIGN_UNIFORM ? ATTN_ALIGNMENT_UNIFORM
                                                   : ATTN_ALIGNMENT_DOT,
      .scale = (float)attn_model_score_scale(c)};
}

struct attn_tape_variable *attn_recurrent_embed(const struct attn_pass *p, const int32_t *tokens,
                                                int64_t n) {
  return attn_pass_lookup(p, p->n->decoder.embedding.table, tokens, n,
                          attn_pass_embedding_scale(p));
}

struct attn_tape_variable *attn_recurrent_keys(const struct attn_pass *p,
                                               struct attn_tape_variable *memory) {
  const struct attn_linear_weights key = p->n->recurrent.key;
  if (p->c->alignment == ATTN_ALIGN_UNIFORM || p->c->alignment == ATTN_ALIGN_NONE) return NULL;
  return key.w ? attn_pass_linear(p, memory, key) : memory;
}

/* One vector for each image. */
static struct attn_tape_variable *pool(const struct attn_pass *p, struct attn_tape_variable *memory,
                                       int64_t images) {
  const struct attn_linear_weights vector = p->n->recurrent.vector;
  const int64_t side = attn_model_grid_size(p->c);
  const float *weights;
  if (!vector.w)
    return attn_tape_align(p->tape, ATTN_ALIGNMENT_UNIFORM, 1, NULL, NULL, NULL, memory, images,
                           &weights);
  memory = attn_tape_reshape(p->tape, memory, images, side * side * p->c->d_model);
  return attn_pass_linear(p, memory, vector);
}

struct attn_recurrent_state attn_recurrent_first_state(const struct attn_pass *p,
                                                       struct attn_tape_variable *memory,
                                                       int64_t images) {
  const struct attn_recurrent_weights *r = &p->n->recurrent;
  struct attn_tape_variable *v = pool(p, memory, images);
  return (struct attn_recurrent_state){attn_pass_linear(p, v, r->first_h),
                                       r->first_c.w ? attn_pass_linear(p, v, r->first_c) : NULL};
}

static struct attn_tape_variable *look(const struct attn_pass *p,
                                       const struct attn_recurrent_images *images,
                                       struct attn_tape_variable *h, int64_t rows) {
  const struct attn_recurrent_weights *r = &p->n->recurrent;
  if (p->c->alignment == ATTN_ALIGN_NONE) return NULL;
  if (p->c->alignment == ATTN_ALIGN_UNIFORM) h = NULL;
  return images->align(images, p, r->query.w ? attn_pass_linear(p, h, r->query) : h, rows);
}

struct attn_tape_variable *attn_recurrent_step(const struct attn_pass *p,
                                               const struct attn_recurrent_images *images,
                                               struct attn_tape_variable *gates, int64_t rows,
                                               struct attn_recurrent_state *s) {
  const struct attn_recurrent_weights *r = &p->n->recurrent;
  struct attn_tape_variable *context = look(p, images, s->h, rows);
  if (context) gates = attn_tape_add(p->tape, gates, attn_pass_linear(p, context, r->context), 0);
  struct attn_tape_variable *h_gates = attn_pass_linear(p, s->h, r->hidden);
  s->h = attn_tape_cell(p->tape, gates, h_gates, s->h, s->c ? &s->c : NULL);
  return context;
}

struct attn_tape_variable *attn_recurrent_output(const struct attn_pass *p,
                                                 struct attn_tape_variable *word,
                                                 struct attn_tape_variable *h,
                                                 struct attn_tape_variable *context) {
  const struct attn_recurrent_weights *r = &p->n->recurrent;
  struct attn_tape_variable *y =
      attn_tape_add(p->tape, word, attn_pass_linear(p, h, r->out_hidden), 0);
  return context ? attn_tape_add(p->tape, y, attn_pass_linear(p, context, r->out_context), 0) : y;
}

/* ---- Whole captions: a step of all sequences together, shorter ones padded ---- */

/* context: where the weights of this step go, or NULL. */
static struct attn_tape_variable *align_all(const struct attn_recurrent_images *images,
                                            const struct attn_pass *p, struct attn_tape_variable *q,
                                            int64_t rows) {
  const struct attn_alignment s = attn_recurrent_alignment(p->c);
  const float *weights, **out = images->context;
  struct attn_tape_variable *y = attn_tape_align(
      p->tape, s.kind, s.scale, q, (struct attn_tape_variable *)images->keys, p->n->recurrent.score,
      (struct attn_tape_variable *)images->memory, rows, &weights);
  if (out) *out = weights;
  return y;
}

/* Row t N + n is token t of sequence n. */
static void order_by_step(const struct attn_token_batch *text, int64_t steps, int32_t *tokens,
                          int64_t *index) {
  for (int64_t n = 0; n < text->sequences; n++)
    for (int64_t t = 0; t < steps; t++) {
      int64_t from = text->starts[n] + t, row = t * text->sequences + n;
      int is_padding = from >= text->starts[n + 1];
      tokens[row] = is_padding ? ATTN_TOKEN_PAD : text->tokens[from];
      if (!is_padding) index[from] = row;
    }
}

/* All steps: the states h and the contexts below each other, *contexts NULL without alignment. */
static struct attn_tape_variable *run_steps(const struct attn_pass *p,
                                            struct attn_tape_variable *memory,
                                            struct attn_tape_variable *gates, int64_t rows,
                                            int64_t steps, const float **weights,
                                            struct attn_tape_variable **contexts) {
  const size_t bytes = (size_t)steps * sizeof *contexts;
  struct attn_tape_variable **h = attn_tape_record(p->tape, bytes),
                            **context = attn_tape_record(p->tape, bytes);
  if (!h || !context) return memory; /* the tape has failed */
  struct attn_recurrent_images images = {align_all, attn_recurrent_keys(p, memory), memory, NULL};
  struct attn_recurrent_state s = attn_recurrent_first_state(p, memory, rows);
  for (int64_t t = 0; t < steps; t++) {
    struct attn_tape_variable *read = attn_tape_rows(p->tape, gates, t * rows, rows);
    if (weights) images.context = &weights[t];
    context[t] = attn_recurrent_step(p, &images, read, rows, &s), h[t] = s.h;
  }
  int looks = p->c->alignment != ATTN_ALIGN_NONE;
  *contexts = looks ? attn_tape_stack(p->tape, context, steps) : NULL;
  return attn_tape_stack(p->tape, h, steps);
}

struct attn_tape_variable *attn_recurrent_decode(const struct attn_pass *p,
                                                 const struct attn_token_batch *target,
                                                 struct attn_tape_variable *memory,
                                                 const float **weights) {
  const int64_t rows = target->sequences, steps = attn_token_batch_longest(target);
  int32_t *tokens = attn_tape_allocate(p->tape, (size_t)(rows * steps) * sizeof *tokens);
  int64_t *index = attn_tape_allocate(p->tape, (size_t)target->n * sizeof *index);
  struct attn_tape_variable *contexts = NULL;
  if (tokens && index) order_by_step(target, steps, tokens, index);
  struct attn_tape_variable *words = attn_recurrent_embed(p, tokens, rows * steps);
  struct attn_tape_variable *gates = attn_pass_linear(p, words, p->n->recurrent.input);
  struct attn_tape_variable *h = run_steps(p, memory, gates, rows, steps, weights, &contexts);
  struct attn_tape_variable *y = attn_recurrent_output(p, words, h, contexts);
  y = attn_tape_gather(p->tape, y, index, target->n);
  p->tape->drop.first_row = target->first_row;
  return p->c->dropout > 0 ? attn_tape_add(p->tape, NULL, y, p->c->dropout) : y;
}
