#include "vision.h"

#include <string.h>

#include "convolution.h"
#include "tape_recurrent.h"

static struct attn_tape_variable *read_pixels(const struct attn_pass *p,
                                              const struct attn_token_batch *source) {
  const int64_t pixels = source->sequences * p->c->image_size * p->c->image_size;
  struct attn_tape_variable *x = attn_tape_input(p->tape, pixels, 3);
  if (attn_tape_is_computing(p->tape))
    memcpy(x->x, source->pixels, (size_t)(pixels * 3) * sizeof(float));
  return x;
}

static struct attn_tape_variable *convolve(const struct attn_pass *p, struct attn_tape_variable *x,
                                           int64_t side, const struct attn_stage_weights *stage,
                                           int n) {
  x = attn_tape_convolve(p->tape, x, side, side, n ? 1 : 2, stage->w[n], stage->b[n]);
  return attn_tape_activate(p->tape, ATTN_RELU, x);
}

static struct attn_tape_variable *add_positions(const struct attn_pass *p,
                                                struct attn_tape_variable *z,
                                                const struct attn_token_batch *source) {
  struct attn_tape_variable *positions =
      attn_pass_lookup(p, p->n->vision.positions, source->tokens, source->n, 1);
  return attn_tape_add(p->tape, z, positions, 0);
}

/* The last stage's channels; without a gradient if the convolutions are frozen. */
static struct attn_tape_variable *run_stages(const struct attn_pass *p,
                                             struct attn_tape_variable *x) {
  const int training = p->tape->training;
  int64_t side = p->c->image_size;
  p->tape->training = training && !p->n->freezes_cnn;
  for (int64_t n = 0; n < p->c->num_stages; n++) {
    x = convolve(p, x, side, &p->n->vision.stages[n], 0);
    side = attn_divide_up(side, 2);
    x = convolve(p, x, side, &p->n->vision.stages[n], 1);
  }
  p->tape->training = training;
  return x;
}

struct attn_tape_variable *attn_vision_encode(const struct attn_pass *p,
                                              const struct attn_token_batch *source) {
  const struct attn_vision_weights *v = &p->n->vision;
  struct attn_tape_variable *x = run_stages(p, read_pixels(p, source));
  return attn_pass_norm(p, add_positions(p, attn_pass_linear(p, x, v->projection), source),
                        v->norm);
}
