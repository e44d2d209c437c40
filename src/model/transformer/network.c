#include "network.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocator.h"
#include "attn/nn.h"
#include "error.h"
#include "philox.h"

enum { ALIGNMENT = 64, PARAMETERS_PER_BLOCK = 20, OTHER_PARAMETERS = 48 };

/* Adds the parameters in the order of the layers. */
struct network_builder {
  struct attn_network *n;
  float *weights, *gradients;
  char prefix[28]; /* of the names */
  int views;
};

/* ---- Names ---- */

static const struct attn_tape_variable *add_parameter(struct network_builder *b, const char *name,
                                                      int64_t rows, int64_t width, int rank,
                                                      enum attn_init filling) {
  struct attn_parameter *p = &b->n->parameters[b->n->count++];
  snprintf(p->name, sizeof p->name, "%s%s", b->prefix, name);
  p->offset = b->n->parameter_count, p->rank = rank, p->filling = filling, p->decays = rank == 2;
  p->value = (struct attn_tape_variable){.n = rows, .width = width};
  if (b->weights) p->value.x = b->weights + p->offset;
  if (b->gradients) p->value.dx = b->gradients + p->offset;
  b->n->parameter_count += rows * width;
  return &p->value;
}

/* The weights `name` (out, in), and a bias of that name unless it is NULL or the model has none. */
static struct attn_linear_weights add_linear(struct network_builder *b, const char *name,
                                             const char *bias, int64_t out, int64_t in) {
  struct attn_linear_weights l = {NULL, NULL, b->n->linears++};
  l.w = add_parameter(b, name, out, in, 2, ATTN_INIT_XAVIER);
  if (bias && b->n->config.bias) l.b = add_parameter(b, bias, 1, out, 1, ATTN_INIT_ZERO);
  return l;
}

static struct attn_norm_weights add_norm(struct network_builder *b, const char *name) {
  const struct attn_model_config *c = &b->n->config;
  char full[36];
  struct attn_norm_weights w = {NULL, NULL};
  if (c->norm == ATTN_NO_NORM) return w;
  snprintf(full, sizeof full, "%s.weight", name);
  w.scale = add_parameter(b, full, 1, c->d_model, 1, ATTN_INIT_ONE);
  snprintf(full, sizeof full, "%s.bias", name);
  if (c->norm == ATTN_LAYER_NORM) w.bias = add_parameter(b, full, 1, c->d_model, 1, ATTN_INIT_ZERO);
  return w;
}

/* A view of rows from .. from + rows of weight and bias. */
static struct attn_linear_weights view_rows(struct network_builder *b, struct attn_linear_weights l,
                                            int64_t from, int64_t rows) {
  struct attn_tape_variable *w = &b->n->views[b->views++], *bias = &b->n->views[b->views++];
  *w = *l.w, w->n = rows;
  if (w->x) w->x += from * w->width;
  if (w->dx) w->dx += from * w->width;
  if (!l.b) return (struct attn_linear_weights){w, NULL, b->n->linears++};
  *bias = *l.b, bias->width = rows;
  if (bias->x) bias->x += from;
  if (bias->dx) bias->dx += from;
  return (struct attn_linear_weights){w, bias, b->n->linears++};
}

/* ---- Layers ---- */

/* W_h of a head is initialized to keep the variance of q. */
static const struct attn_tape_variable *add_score(struct network_builder *b, const char *name) {
  const struct attn_model_config *c = &b->n->config;
  if (c->alignment == ATTN_ALIGN_ADDITIVE)
    return add_parameter(b, name, c->num_heads, c->head_dim, 2, ATTN_INIT_XAVIER);
  if (c->alignment != ATTN_ALIGN_GENERAL) return NULL;
  const struct attn_tape_variable *w =
      add_parameter(b, name, c->num_heads * c->head_dim, c->head_dim, 2, ATTN_INIT_NORMAL);
  b->n->parameters[b->n->count - 1].deviation = 1 / sqrt((double)c->head_dim);
  return w;
}

static void build_block(struct network_builder *b, struct attn_block_weights *block, int crosses) {
  const struct attn_model_config *c = &b->n->config;
  int64_t q = c->num_heads * c->head_dim, out = c->num_heads * c->value_head_dim;
  int64_t kv = c->num_kv_heads * (c->head_dim + c->value_head_dim);
  int64_t inner = c->activation == ATTN_SWIGLU ? 2 * c->ffn_dim : c->ffn_dim;
  block->self_in =
      add_linear(b, "self_attn.in_proj_weight", "self_attn.in_proj_bias", q + kv, c->d_model);
  block->self_out =
      add_linear(b, "self_attn.out_proj.weight", "self_attn.out_proj.bias", c->d_model, out);
  block->self_score = add_score(b, "self_attn.score_weight");
  if (crosses) {
    struct attn_linear_weights in = add_linear(b, "multihead_attn.in_proj_weight",
                                               "multihead_attn.in_proj_bias", q + kv, c->d_model);
    block->cross_q = view_rows(b, in, 0, q), block->cross_kv = view_rows(b, in, q, kv);
    block->cross_out = add_linear(b, "multihead_attn.out_proj.weight",
                                  "multihead_attn.out_proj.bias", c->d_model, out);
    block->cross_score = add_score(b, "multihead_attn.score_weight");
  }
  block->linear1 = add_linear(b, "linear1.weight", "linear1.bias", inner, c->d_model);
  block->linear2 = add_linear(b, "linear2.weight", "linear2.bias", c->d_model, c->ffn_dim);
  block->norm1 = add_norm(b, "norm1"), block->norm2 = add_norm(b, "norm2");
  if (crosses) block->norm3 = add_norm(b, "norm3");
}

static void build_stack(struct network_builder *b, const char *name,
                        struct attn_stack_weights *stack, int crosses) {
  for (int64_t n = 0; n < stack->num_blocks; n++) {
    snprintf(b->prefix, sizeof b->prefix, "%s.layers.%d.", name, (int)n);
    build_block(b, &stack->blocks[n], crosses);
  }
  snprintf(b->prefix, sizeof b->prefix, "%s.", name);
  if (stack->num_blocks && b->n->config.final_norm) stack->norm = add_norm(b, "norm");
  b->prefix[0] = 0;
}

static int are_sinusoids(enum attn_position_encoding p) {
  return p == ATTN_POSITIONS_SINUSOIDAL || p == ATTN_POSITIONS_SINUSOIDAL_HALVES;
}

/* Of normal numbers: vectors of tokens or positions. */
static const struct attn_tape_variable *add_table(struct network_builder *b, const char *name,
                                                  int64_t rows, int64_t width) {
  const struct attn_model_config *c = &b->n->config;
  const struct attn_tape_variable *value = add_parameter(b, name, rows, width, 2, ATTN_INIT_NORMAL);
  b->n->parameters[b->n->count - 1].deviation =
      c->scale_embedding ? 1 / sqrt((double)c->d_model) : 0.02;
  return value;
}

static void build_output(struct network_builder *b) {
  struct attn_network *n = b->n;
  const struct attn_model_config *c = &n->config;
  if (c->head == ATTN_HEAD_NONE) return;
  if (c->head == ATTN_HEAD_TRANSFORM) {
    int64_t inner = c->activation == ATTN_SWIGLU ? 2 * c->d_model : c->d_model;
    n->transform = add_linear(b, "transform.weight", "transform.bias", inner, c->d_model);
    n->transform_norm = add_norm(b, "transform_norm");
  }
  n->output.w = c->kind == ATTN_ENCODER ? n->encoder.embedding.table : n->decoder.embedding.table;
  n->output.index = n->linears++;
  if (!c->tie_word_embeddings)
    n->output.w = add_parameter(b, "output.weight", c->vocab_size, c->d_model, 2, ATTN_INIT_XAVIER);
  if (c->output_bias)
    n->output.b = add_parameter(b, "output.bias", 1, c->vocab_size, 1, ATTN_INIT_ZERO);
}

/* The encoder reads tokens. */
static int encodes_tokens(const struct attn_model_config *c) {
  return c->kind == ATTN_ENCODER_DECODER || c->kind == ATTN_ENCODER;
}

static void build_tables(struct network_builder *b) {
  struct attn_network *n = b->n;
  const struct attn_model_config *c = &n->config;
  int64_t width = c->position_mode == ATTN_POSITION_MODE_CONCATENATE ? c->d_model - c->position_dim
                                                                     : c->d_model;
  if (encodes_tokens(c) && !c->share_encoder_decoder_embeddings)
    n->encoder.embedding.table =
        add_table(b, "source_embedding.weight", c->source_vocab_size, width);
  if (c->kind != ATTN_ENCODER || c->share_encoder_decoder_embeddings)
    n->decoder.embedding.table = add_table(b, "target_embedding.weight", c->vocab_size, width);
  if (encodes_tokens(c) && c->share_encoder_decoder_embeddings)
    n->encoder.embedding.table = n->decoder.embedding.table;
  if (c->type_vocab_size)
    n->encoder.embedding.token_types =
        add_table(b, "token_types.weight", c->type_vocab_size, c->d_model);
}

static void build_positions(struct network_builder *b) {
  struct attn_network *n = b->n;
  const struct attn_model_config *c = &n->config;
  if (attn_model_is_recurrent(c)) return;
  if (are_sinusoids(c->positions))
    n->encoder.embedding.positions = n->decoder.embedding.positions = &n->sinusoid;
  if (c->positions != ATTN_POSITIONS_LEARNED) return;
  if (encodes_tokens(c))
    n->encoder.embedding.positions =
        add_table(b, "source_positions.weight", c->max_positions, c->position_dim);
  if (c->kind != ATTN_ENCODER)
    n->decoder.embedding.positions =
        add_table(b, "target_positions.weight", c->max_positions, c->position_dim);
}

static void build_ends(struct network_builder *b) {
  struct attn_network *n = b->n;
  const struct attn_model_config *c = &n->config;
  build_tables(b);
  build_positions(b);
  if (c->normalize_embedding && encodes_tokens(c))
    n->encoder.embedding.norm = add_norm(b, "source_norm");
  if (c->normalize_embedding && c->kind != ATTN_ENCODER)
    n->decoder.embedding.norm = add_norm(b, "target_norm");
  build_output(b);
}

/* ---- A vision encoder-decoder ---- */

/* A convolution's weights (3, 3, in, out) as a matrix (9 in, out). */
static void add_stage(struct network_builder *b, struct attn_stage_weights *stage, int64_t in,
                      int64_t out) {
  static const char *const names[2][2] = {{"conv1.weight", "conv1.bias"},
                                          {"conv2.weight", "conv2.bias"}};
  for (int n = 0; n < 2; n++) {
    stage->w[n] = add_parameter(b, names[n][0], 9 * (n ? out : in), out, 2, ATTN_INIT_XAVIER);
    stage->b[n] = add_parameter(b, names[n][1], 1, out, 1, ATTN_INIT_ZERO);
  }
}

static void add_vision(struct network_builder *b) {
  const struct attn_model_config *c = &b->n->config;
  struct attn_vision_weights *v = &b->n->vision;
  int64_t side = attn_model_grid_size(c), channels = 3;
  for (int64_t n = 0; n < c->num_stages; n++) {
    int64_t out = c->stage_channels << n;
    snprintf(b->prefix, sizeof b->prefix, "encoder.stages.%d.", (int)n);
    add_stage(b, &v->stages[n], channels, out), channels = out;
  }
  snprintf(b->prefix, sizeof b->prefix, "encoder.");
  v->projection = add_linear(b, "projection.weight", "projection.bias", c->d_model, channels);
  v->positions = add_table(b, "positions.weight", side * side, c->d_model);
  v->norm = add_norm(b, "norm");
  b->prefix[0] = 0;
}

static void add_alignment(struct network_builder *b, struct attn_recurrent_weights *r) {
  const struct attn_model_config *c = &b->n->config;
  if (c->alignment == ATTN_ALIGN_ADDITIVE) {
    r->query = add_linear(b, "query.weight", "query.bias", c->head_dim, c->d_model);
    r->score = add_parameter(b, "score.weight", 1, c->head_dim, 2, ATTN_INIT_XAVIER);
    r->key = add_linear(b, "key.weight", NULL, c->head_dim, c->d_model);
  }
  if (c->alignment == ATTN_ALIGN_GENERAL)
    r->key = add_linear(b, "key.weight", NULL, c->d_model, c->d_model);
}

static void add_recurrent(struct network_builder *b) {
  const struct attn_model_config *c = &b->n->config;
  struct attn_recurrent_weights *r = &b->n->recurrent;
  const int64_t d = c->d_model, side = attn_model_grid_size(c);
  const int64_t gates = (c->decoder_type == ATTN_LSTM_DECODER ? 4 : 3) * d;
  snprintf(b->prefix, sizeof b->prefix, "decoder.");
  add_alignment(b, r);
  r->input = add_linear(b, "cell.weight_ih", "cell.bias_ih", gates, d);
  r->hidden = add_linear(b, "cell.weight_hh", "cell.bias_hh", gates, d);
  if (c->alignment == ATTN_ALIGN_NONE) {
    r->vector = add_linear(b, "vector.weight", "vector.bias", d, side * side * d);
  } else {
    r->context = add_linear(b, "cell.weight_ch", NULL, gates, d);
    r->out_context = add_linear(b, "out_context.weight", NULL, d, d);
  }
  r->first_h = add_linear(b, "first_h.weight", "first_h.bias", d, d);
  if (c->decoder_type == ATTN_LSTM_DECODER)
    r->first_c = add_linear(b, "first_c.weight", "first_c.bias", d, d);
  r->out_hidden = add_linear(b, "out_hidden.weight", "out_hidden.bias", d, d);
  b->prefix[0] = 0;
}

static void build(struct network_builder *b) {
  const enum attn_model_kind kind = b->n->config.kind;
  int crosses = kind == ATTN_ENCODER_DECODER || kind == ATTN_VISION_ENCODER_DECODER;
  build_stack(b, "encoder", &b->n->encoder, 0);
  if (kind == ATTN_VISION_ENCODER_DECODER) add_vision(b);
  if (attn_model_is_recurrent(&b->n->config)) add_recurrent(b);
  build_stack(b, "decoder", &b->n->decoder, crosses);
  build_ends(b);
}

/* ---- Computed tables ---- */

/* ALiBi's slopes 2^(-8 h / H), h from 1 [Press22 sec. 3]. */
static void fill_slopes(float *slopes, int64_t heads) {
  for (int64_t h = 0; h < heads; h++)
    slopes[h] = (float)exp2(-8.0 * (double)(h + 1) / (double)heads);
}

static attn_status compute_tables(struct attn_network *n, attn_error *err) {
  const struct attn_model_config *c = &n->config;
  int64_t pairs = c->head_dim / 2;
  int64_t sinusoid = are_sinusoids(c->positions) ? c->max_positions * c->position_dim : 0;
  int64_t rotary = c->positions == ATTN_POSITIONS_ROTARY ? c->max_positions * pairs : 0;
  n->tables = malloc((size_t)(sinusoid + 2 * rotary + c->num_heads) * sizeof *n->tables);
  if (!n->tables) return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for tables of positions");
  n->sinusoid =
      (struct attn_tape_variable){.x = n->tables, .n = c->max_positions, .width = c->position_dim};
  n->cos =
      (struct attn_tape_variable){.x = n->tables + sinusoid, .n = c->max_positions, .width = pairs};
  n->sin = (struct attn_tape_variable){
      .x = n->tables + sinusoid + rotary, .n = c->max_positions, .width = pairs};
  n->slopes = n->tables + sinusoid + 2 * rotary;
  fill_slopes(n->slopes, c->num_heads);
  if (sinusoid)
    attn_sinusoid_fill(n->sinusoid.x, 0, c->max_positions, c->position_dim,
                       c->positions == ATTN_POSITIONS_SINUSOIDAL_HALVES);
  if (!rotary) return ATTN_OK;
  attn_tensor cos = {n->cos.x, ATTN_F32, 2, {c->max_positions, pairs}, {pairs, 1}}, sin = cos;
  sin.data = n->sin.x;
  return attn_rotary_tables(c->rotary_base, 0, &cos, &sin, err);
}

/* ---- The network ---- */

attn_status attn_network_new(const struct attn_model_config *config, float *weights,
                             float *gradients, struct attn_network **network, attn_error *err) {
  int64_t blocks = config->encoder_layers + config->decoder_layers;
  struct attn_network *n = calloc(1, sizeof *n);
  if (n) {
    n->config = *config;
    n->parameters =
        calloc((size_t)(blocks * PARAMETERS_PER_BLOCK + config->num_stages * 4 + OTHER_PARAMETERS),
               sizeof *n->parameters);
    n->vision.stages = calloc((size_t)config->num_stages + 1, sizeof *n->vision.stages);
    n->encoder.blocks = calloc((size_t)blocks + 1, sizeof *n->encoder.blocks);
    n->views = calloc((size_t)(config->decoder_layers * 4 + 1), sizeof *n->views);
  }
  if (!n || !n->parameters || !n->encoder.blocks || !n->views || !n->vision.stages) {
    attn_network_free(n);
    return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for a model of %lld layers",
                     (long long)blocks);
  }
  n->encoder.num_blocks = config->encoder_layers;
  n->decoder.num_blocks = attn_model_is_recurrent(config) ? 0 : config->decoder_layers;
  n->decoder.blocks = n->encoder.blocks + config->encoder_layers;
  struct network_builder b = {.n = n, .weights = weights, .gradients = gradients};
  build(&b);
  attn_status status = weights ? compute_tables(n, err) : ATTN_OK;
  if (status)
    attn_network_free(n);
  else
    *network = n;
  return status;
}

void attn_network_free(struct attn_network *n) {
  if (!n) return;
  free(n->tables), free(n->views), free(n->encoder.blocks), free(n->vision.stages);
  free(n->parameters), free(n);
}

static void set_bf16(struct attn_tape_variable *v, const float *first, uint16_t *bf16) {
  if (v->x) v->bf16 = bf16 + (v->x - first);
}

void attn_network_set_bf16(struct attn_network *n, uint16_t *bf16) {
  const float *first = n->parameters[0].value.x;
  for (int p = 0; p < n->count; p++) set_bf16(&n->parameters[p].value, first, bf16);
  for (int64_t p = 0; p < n->config.decoder_layers * 4; p++) set_bf16(&n->views[p], first, bf16);
}

int attn_parameter_is_encoder(const struct attn_parameter *p) {
  return !strncmp(p->name, "encoder.", 8);
}

int attn_parameter_is_cnn(const struct attn_parameter *p) {
  return !strncmp(p->name, "encoder.stages.", 15);
}

attn_status attn_network_count(const struct attn_model_config *config, int64_t *count,
                               attn_error *err) {
  struct attn_network *counted = NULL;
  attn_status status = attn_network_new(config, NULL, NULL, &counted, err);
  if (!status) *count = counted->parameter_count;
  attn_network_free(counted);
  return status;
}

attn_status attn_network_allocate(const struct attn_model_config *config,
                                  struct attn_network **network, float **weights, attn_error *err) {
  int64_t numbers = 0;
  *network = NULL, *weights = NULL;
  attn_status status = attn_network_count(config, &numbers, err);
  if (status) return status;
  size_t bytes = (size_t)numbers * sizeof **weights;
  *weights = attn_memory_allocate_large(ALIGNMENT, bytes);
  if (!*weights) return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for %zu bytes", bytes);
  return attn_network_new(config, *weights, NULL, network, err);
}

/* In (0, 1), a function of seed, parameter and element. */
static double random_uniform(uint64_t seed, uint32_t p, int64_t e, int which) {
  const uint32_t counter[4] = {(uint32_t)e, (uint32_t)(e >> 32), p, 0x77656967};
  uint32_t random[4];
  attn_philox(seed, counter, random);
  return ((double)random[which] + 0.5) / 4294967296.0;
}

static float initial_value(const struct attn_parameter *p, uint64_t seed, uint32_t index,
                           int64_t e) {
  const double pi = 3.14159265358979323846;
  double u = random_uniform(seed, index, e, 0), v = random_uniform(seed, index, e, 1);
  double bound = sqrt(6.0 / (double)(p->value.n + p->value.width));
  switch (p->filling) {
    case ATTN_INIT_ONE:
      return 1;
    case ATTN_INIT_NORMAL: /* [Box58] */
      return (float)(p->deviation * sqrt(-2 * log(u)) * cos(2 * pi * v));
    case ATTN_INIT_XAVIER:
      return (float)(bound * (2 * u - 1));
    default:
      return 0;
  }
}

void attn_network_init_weights(struct attn_network *n, uint64_t seed) {
  for (int p = 0; p < n->count; p++) {
    const struct attn_parameter *at = &n->parameters[p];
    for (int64_t e = 0; e < at->value.n * at->value.width; e++)
      at->value.x[e] = initial_value(at, seed, (uint32_t)p, e);
  }
}
