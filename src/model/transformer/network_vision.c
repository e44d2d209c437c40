/* network_vision.c -- the parameters of a vision encoder-decoder. */
#include <stdio.h>

#include "network_builder.h"

/* A convolution's weights (3, 3, in, out) as a matrix (9 in, out). */
static void add_stage(struct attn_network_builder *b, struct attn_stage_weights *stage, int64_t in,
                      int64_t out) {
  static const char *const names[2][2] = {{"conv1.weight", "conv1.bias"},
                                          {"conv2.weight", "conv2.bias"}};
  for (int n = 0; n < 2; n++) {
    stage->w[n] = attn_network_add(b, names[n][0], 9 * (n ? out : in), out, 2, ATTN_INIT_XAVIER);
    stage->b[n] = attn_network_add(b, names[n][1], 1, out, 1, ATTN_INIT_ZERO);
  }
}

void attn_network_add_vision(struct attn_network_builder *b) {
  const struct attn_model_config *c = &b->n->config;
  struct attn_vision_weights *v = &b->n->vision;
  int64_t side = attn_model_grid_size(c), channels = 3;
  for (int64_t n = 0; n < c->num_stages; n++) {
    int64_t out = c->stage_channels << n;
    snprintf(b->prefix, sizeof b->prefix, "encoder.stages.%d.", (int)n);
    add_stage(b, &v->stages[n], channels, out), channels = out;
  }
  snprintf(b->prefix, sizeof b->prefix, "encoder.");
  v->projection =
      attn_network_add_linear(b, "projection.weight", "projection.bias", c->d_model, channels);
  v->positions = attn_network_add_table(b, "positions.weight", side * side, c->d_model);
  v->norm = attn_network_add_norm(b, "norm");
  b->prefix[0] = 0;
}

static void add_alignment(struct attn_network_builder *b, struct attn_recurrent_weights *r) {
  const struct attn_model_config *c = &b->n->config;
  if (c->alignment == ATTN_ALIGN_ADDITIVE) {
    r->query = attn_network_add_linear(b, "query.weight", "query.bias", c->head_dim, c->d_model);
    r->score = attn_network_add(b, "score.weight", 1, c->head_dim, 2, ATTN_INIT_XAVIER);
    r->key = attn_network_add_linear(b, "key.weight", NULL, c->head_dim, c->d_model);
  }
  if (c->alignment == ATTN_ALIGN_GENERAL)
    r->key = attn_network_add_linear(b, "key.weight", NULL, c->d_model, c->d_model);
}

void attn_network_add_recurrent(struct attn_network_builder *b) {
  const struct attn_model_config *c = &b->n->config;
  struct attn_recurrent_weights *r = &b->n->recurrent;
  const int64_t d = c->d_model, side = attn_model_grid_size(c);
  const int64_t gates = (c->decoder_type == ATTN_LSTM_DECODER ? 4 : 3) * d;
  snprintf(b->prefix, sizeof b->prefix, "decoder.");
  add_alignment(b, r);
  r->input = attn_network_add_linear(b, "cell.weight_ih", "cell.bias_ih", gates, d);
  r->hidden = attn_network_add_linear(b, "cell.weight_hh", "cell.bias_hh", gates, d);
  if (c->alignment == ATTN_ALIGN_NONE) {
    r->vector = attn_network_add_linear(b, "vector.weight", "vector.bias", d, side * side * d);
  } else {
    r->context = attn_network_add_linear(b, "cell.weight_ch", NULL, gates, d);
    r->out_context = attn_network_add_linear(b, "out_context.weight", NULL, d, d);
  }
  r->first_h = attn_network_add_linear(b, "first_h.weight", "first_h.bias", d, d);
  if (c->decoder_type == ATTN_LSTM_DECODER)
    r->first_c = attn_network_add_linear(b, "first_c.weight", "first_c.bias", d, d);
  r->out_hidden = attn_network_add_linear(b, "out_hidden.weight", "out_hidden.bias", d, d);
  b->prefix[0] = 0;
}
