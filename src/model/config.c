#include "config.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_text.h"
#include "error.h"

enum {
  MAX_SIZE = 1 << 24,
  MAX_LAYERS = 1 << 10,
  LOG2_MAX_PARAMETERS = 40,
  LOG2_MAX_TABLE = 26,
  MAX_IMAGE_SIZE = 1 << 12,
  MAX_STAGES = 12,
  UNSET = -1
};

/* ---- Members ---- */

static const char *const kinds[] = {"encoder-decoder", "decoder", "encoder",
                                    "vision-encoder-decoder", NULL};
static const char *const decoder_types[] = {"transformer", "lstm", "gru", NULL};
static const char *const alignments[] = {"additive", "dot",  "scaled", "general",
                                         "uniform",  "none", NULL};
static const char *const positions[] = {"sinusoidal", "learned",           "rotary", "alibi",
                                        "none",       "sinusoidal_halves", NULL};
static const char *const position_modes[] = {"add", "concatenate", NULL};
static const char *const activations[] = {"relu", "gelu", "gelu_tanh", "swiglu", "silu", NULL};
static const char *const norms[] = {"layer_norm", "rms_norm", "none", NULL};
static const char *const heads[] = {"linear", "transform", "none", NULL};

enum member_type { CHOICE, INTEGER, FLAG, REAL, SCALE };

#define AT(member) offsetof(struct attn_model_config, member)
static const struct config_member {
  const char *name;
  enum member_type type;
  size_t offset;
  const char *const *choices; /* of CHOICE: in the order of the enum, NULL at the end */
  int64_t min, max;           /* of INTEGER */
} members[] = {
    {"kind", CHOICE, AT(kind), kinds, 0, 0},
    {"positions", CHOICE, AT(positions), positions, 0, 0},
    {"position_mode", CHOICE, AT(position_mode), position_modes, 0, 0},
    {"activation", CHOICE, AT(activation), activations, 0, 0},
    {"norm", CHOICE, AT(norm), norms, 0, 0},
    {"head", CHOICE, AT(head), heads, 0, 0},
    {"decoder_type", CHOICE, AT(decoder_type), decoder_types, 0, 0},
    {"alignment", CHOICE, AT(alignment), alignments, 0, 0},
    {"image_size", INTEGER, AT(image_size), NULL, 1, MAX_IMAGE_SIZE},
    {"num_stages", INTEGER, AT(num_stages), NULL, 1, MAX_STAGES},
    {"stage_channels", INTEGER, AT(stage_channels), NULL, 1, 1 << 12},
    {"source_vocab_size", INTEGER, AT(source_vocab_size), NULL, 1, MAX_SIZE},
    {"vocab_size", INTEGER, AT(vocab_size), NULL, 1, MAX_SIZE},
    {"d_model", INTEGER, AT(d_model), NULL, 1, MAX_SIZE},
    {"ffn_dim", INTEGER, AT(ffn_dim), NULL, 1, MAX_SIZE},
    {"num_heads", INTEGER, AT(num_heads), NULL, 1, MAX_SIZE},
    {"num_kv_heads", INTEGER, AT(num_kv_heads), NULL, 1, MAX_SIZE},
    {"head_dim", INTEGER, AT(head_dim), NULL, 1, MAX_SIZE},
    {"value_head_dim", INTEGER, AT(value_head_dim), NULL, 1, MAX_SIZE},
    {"encoder_layers", INTEGER, AT(encoder_layers), NULL, 0, MAX_LAYERS},
    {"decoder_layers", INTEGER, AT(decoder_layers), NULL, 0, MAX_LAYERS},
    {"max_positions", INTEGER, AT(max_positions), NULL, 1, MAX_SIZE},
    {"position_dim", INTEGER, AT(position_dim), NULL, 1, MAX_SIZE},
    {"type_vocab_size", INTEGER, AT(type_vocab_size), NULL, 0, MAX_SIZE},
    {"norm_first", FLAG, AT(norm_first), NULL, 0, 0},
    {"final_norm", FLAG, AT(final_norm), NULL, 0, 0},
    {"bias", FLAG, AT(bias), NULL, 0, 0},
    {"residual", FLAG, AT(residual), NULL, 0, 0},
    {"share_encoder_decoder_embeddings", FLAG, AT(share_encoder_decoder_embeddings), NULL, 0, 0},
    {"tie_word_embeddings", FLAG, AT(tie_word_embeddings), NULL, 0, 0},
    {"scale_embedding", FLAG, AT(scale_embedding), NULL, 0, 0},
    {"normalize_embedding", FLAG, AT(normalize_embedding), NULL, 0, 0},
    {"output_bias", FLAG, AT(output_bias), NULL, 0, 0},
    {"rotary_base", REAL, AT(rotary_base), NULL, 0, 0},
    {"scale", SCALE, AT(scale), NULL, 0, 0},
    {"norm_eps", REAL, AT(norm_eps), NULL, 0, 0},
    {"dropout", REAL, AT(dropout), NULL, 0, 0}};

/* Older checkpoints have these names. "rms_norm" was a flag. */
static const struct {
  const char *former, *name;
} former_names[] = {{"source_vocabulary", "source_vocab_size"},
                    {"vocabulary", "vocab_size"},
                    {"width", "d_model"},
                    {"hidden", "ffn_dim"},
                    {"heads", "num_heads"},
                    {"kv_heads", "num_kv_heads"},
                    {"key_width", "head_dim"},
                    {"value_width", "value_head_dim"},
                    {"length", "max_positions"},
                    {"position_joining", "position_mode"},
                    {"position_width", "position_dim"},
                    {"rms_norm", "norm"},
                    {"epsilon", "norm_eps"},
                    {"shared_embedding", "share_encoder_decoder_embeddings"},
                    {"tied_output", "tie_word_embeddings"},
                    {"scaled_embedding", "scale_embedding"},
                    {"embedding_norm", "normalize_embedding"},
                    {"token_types", "type_vocab_size"}};

#define COUNT(table) (sizeof(table) / sizeof *(table))
#define MEMBER(config, type, table_at) ((type *)(void *)((char *)(config) + (table_at)))

/* ---- Reading ---- */

static attn_status wrong(attn_error *err, const char *name, const char *what) {
  return attn_fail(err, ATTN_ERR_FORMAT, NULL, "model configuration: \"%s\" %s", name, what);
}

static attn_status expected(const struct config_member *m, const json_t *value, const char *what,
                            attn_error *err) {
  char shown[ATTN_JSON_SHOWN];
  return attn_fail(err, ATTN_ERR_FORMAT, NULL, "model configuration: \"%s\" must be %s, got %s",
                   m->name, what, attn_json_show(value, shown));
}

static attn_status read_choice(const struct config_member *m, const json_t *value,
                               struct attn_model_config *config, attn_error *err) {
  const char *text = json_string_value(value);
  char list[160] = "one of";
  for (int n = 0; m->choices[n]; n++) {
    if (text && !strcmp(text, m->choices[n])) {
      memcpy((char *)config + m->offset, &n, sizeof n); /* enums are ints */
      return ATTN_OK;
    }
    strcat(strcat(list, n ? ", " : " "), m->choices[n]);
  }
  return expected(m, value, list, err);
}

static attn_status read_integer(const struct config_member *m, const json_t *value,
                                struct attn_model_config *config, attn_error *err) {
  json_int_t given = json_integer_value(value);
  char range[80];
  if (json_is_integer(value) && given >= m->min && given <= m->max) {
    *MEMBER(config, int64_t, m->offset) = given;
    return ATTN_OK;
  }
  snprintf(range, sizeof range, "an integer between %d and %d", (int)m->min, (int)m->max);
  return expected(m, value, range, err);
}

/* "default", "none" or a number. */
static attn_status read_scale(const struct config_member *m, const json_t *value,
                              struct attn_model_config *config, attn_error *err) {
  const char *text = json_string_value(value);
  double scale = json_number_value(value);
  if (text && !strcmp(text, "none")) scale = 1;
  if (!(scale > 0 && isfinite(scale)) && !(text && !strcmp(text, "default")))
    return expected(m, value, "a number above 0, \"none\" or \"default\"", err);
  *MEMBER(config, double, m->offset) = scale;
  return ATTN_OK;
}

static attn_status read_member(const char *name, const json_t *value,
                               struct attn_model_config *config, attn_error *err) {
  const struct config_member *m = members;
  while (m < members + COUNT(members) && strcmp(name, m->name)) m++;
  if (m == members + COUNT(members)) return wrong(err, name, "is an unknown member");
  if (m->type == CHOICE) return read_choice(m, value, config, err);
  if (m->type == INTEGER) return read_integer(m, value, config, err);
  if (m->type == SCALE) return read_scale(m, value, config, err);
  if (m->type == FLAG) {
    if (!json_is_boolean(value)) return expected(m, value, "true or false", err);
    *MEMBER(config, int, m->offset) = json_is_true(value);
  } else {
    if (!json_is_number(value)) return expected(m, value, "a number", err);
    *MEMBER(config, double, m->offset) = json_number_value(value);
  }
  return ATTN_OK;
}

attn_status attn_model_config_rename_members(json_t *root, attn_error *err) {
  for (size_t n = 0; n < COUNT(former_names); n++) {
    const char *former = former_names[n].former, *name = former_names[n].name;
    json_t *value = json_object_get(root, former);
    if (!value) continue;
    if (json_object_get(root, name))
      return attn_fail(err, ATTN_ERR_FORMAT, NULL,
                       "model configuration: \"%s\" is the former name of \"%s\": remove one",
                       former, name);
    int is_rms_norm = !strcmp(former, "rms_norm") && json_is_boolean(value);
    int failed = is_rms_norm
                     ? json_object_set_new(root, name, json_string(norms[json_is_true(value)]))
                     : json_object_set(root, name, value);
    if (failed) return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for a model configuration");
    json_object_del(root, former);
  }
  return ATTN_OK;
}

/* Defaults that depend on other members. */
static void complete(struct attn_model_config *c) {
  if (!c->source_vocab_size) c->source_vocab_size = c->vocab_size;
  if (!c->ffn_dim) c->ffn_dim = 4 * c->d_model;
  if (!c->num_kv_heads) c->num_kv_heads = c->num_heads;
  if (!c->head_dim) c->head_dim = c->d_model / c->num_heads;
  if (!c->value_head_dim) c->value_head_dim = c->head_dim;
  if (!c->position_dim || c->position_mode == ATTN_POSITION_MODE_ADD) c->position_dim = c->d_model;
  if (c->output_bias == UNSET) c->output_bias = c->bias && !c->tie_word_embeddings;
  if (c->kind == ATTN_DECODER || c->kind == ATTN_VISION_ENCODER_DECODER) c->encoder_layers = 0;
  if (attn_model_is_recurrent(c)) c->decoder_layers = 1;
  if (c->kind == ATTN_ENCODER) c->decoder_layers = 0;
  if ((int)c->alignment == UNSET)
    c->alignment = attn_model_is_recurrent(c) ? ATTN_ALIGN_ADDITIVE : ATTN_ALIGN_SCALED;
}

int attn_model_is_recurrent(const struct attn_model_config *c) {
  return c->kind == ATTN_VISION_ENCODER_DECODER && c->decoder_type != ATTN_TRANSFORMER_DECODER;
}

double attn_model_score_scale(const struct attn_model_config *c) {
  const int64_t width = attn_model_is_recurrent(c) ? c->d_model : c->head_dim;
  if (c->alignment == ATTN_ALIGN_UNIFORM) return 0;
  if (c->scale != 0) return c->scale;
  return c->alignment == ATTN_ALIGN_SCALED ? 1 / sqrt((double)width) : 1;
}

int64_t attn_model_grid_size(const struct attn_model_config *c) {
  int64_t side = c->image_size;
  for (int64_t n = 0; n < c->num_stages; n++) side = (side + 1) / 2;
  return side;
}

/* An upper bound of the parameters of an image's encoder and of a recurrent decoder. */
static double vision_bound(const struct attn_model_config *c) {
  double side = (double)attn_model_grid_size(c), d = (double)c->d_model;
  double channels = exp2((double)c->num_stages) * (double)c->stage_channels;
  double vector = c->alignment == ATTN_ALIGN_NONE ? side * side * d * d : 0;
  if (c->kind != ATTN_VISION_ENCODER_DECODER) return 0;
  return 20 * channels * (channels + 1) + d * (channels + side * side + 3) + vector +
         16 * d * (d + (double)c->head_dim + 1);
}

/* An upper bound of the parameters and of the tables of positions. Sizes computed from these
 * values stay far below 2^63. */
static double parameter_bound(const struct attn_model_config *c) {
  double across =
      (double)(c->num_heads + c->num_kv_heads) * (double)(c->head_dim + c->value_head_dim);
  double layers = (double)(c->encoder_layers + 2 * c->decoder_layers);
  double scores = (double)c->num_heads * (double)c->head_dim * (double)(c->head_dim + 1);
  double ends = (double)(c->source_vocab_size + 2 * c->vocab_size + 2 * c->max_positions);
  return (double)(c->d_model + 1) * (layers * (across + 3 * (double)c->ffn_dim + 6) + ends) +
         layers * scores + (double)c->max_positions * (double)c->head_dim + vision_bound(c);
}

/* Values in the tables of positions, which are computed when a model is opened: the size of its
 * file does not bound them. */
static double table_size(const struct attn_model_config *c) {
  int sinusoidal =
      c->positions == ATTN_POSITIONS_SINUSOIDAL || c->positions == ATTN_POSITIONS_SINUSOIDAL_HALVES;
  int64_t width = sinusoidal                              ? c->position_dim
                  : c->positions == ATTN_POSITIONS_ROTARY ? c->head_dim
                                                          : 0;
  return (double)c->max_positions * (double)width;
}

/* Rotation keeps dot products of positions equally far apart equal, and no other scores. */
static attn_status check_alignment(const struct attn_model_config *c, attn_error *err) {
  int is_dot = c->alignment == ATTN_ALIGN_DOT || c->alignment == ATTN_ALIGN_SCALED;
  if (attn_model_is_recurrent(c)) return ATTN_OK;
  if (c->alignment == ATTN_ALIGN_NONE)
    return wrong(err, "alignment", "\"none\" requires decoder_type \"lstm\" or \"gru\"");
  if (!is_dot && c->positions == ATTN_POSITIONS_ROTARY)
    return wrong(err, "alignment", "must be \"dot\" or \"scaled\" with rotary positions");
  if (c->alignment == ATTN_ALIGN_UNIFORM && c->positions == ATTN_POSITIONS_ALIBI)
    return wrong(err, "alignment", "\"uniform\" requires positions other than \"alibi\"");
  return ATTN_OK;
}

static attn_status check(const struct attn_model_config *c, attn_error *err) {
  int two_sizes = c->source_vocab_size != c->vocab_size;
  if (!c->vocab_size) return wrong(err, "vocab_size", "is missing");
  if (c->num_heads % c->num_kv_heads) return wrong(err, "num_kv_heads", "must divide num_heads");
  if (c->head_dim < 1) return wrong(err, "num_heads", "must be at most d_model");
  if (c->num_heads * c->head_dim > MAX_SIZE || c->num_heads * c->value_head_dim > MAX_SIZE)
    return wrong(err, "num_heads", "times head_dim must be at most 2^24");
  if (c->ffn_dim > MAX_SIZE) return wrong(err, "ffn_dim", "must be at most 2^24");
  if (c->positions == ATTN_POSITIONS_ROTARY && c->head_dim % 2)
    return wrong(err, "head_dim", "must be even with rotary positions");
  if (c->position_mode == ATTN_POSITION_MODE_CONCATENATE && c->position_dim >= c->d_model)
    return wrong(err, "position_dim", "must be less than d_model");
  if (c->position_mode == ATTN_POSITION_MODE_CONCATENATE && c->tie_word_embeddings)
    return wrong(err, "tie_word_embeddings", "requires position_mode \"add\"");
  if (c->share_encoder_decoder_embeddings && two_sizes)
    return wrong(err, "share_encoder_decoder_embeddings",
                 "requires source_vocab_size to equal vocab_size");
  if (c->kind == ATTN_ENCODER && c->tie_word_embeddings && two_sizes)
    return wrong(err, "tie_word_embeddings",
                 "of an encoder requires source_vocab_size to equal vocab_size");
  if (c->type_vocab_size && (c->kind == ATTN_DECODER || c->kind == ATTN_VISION_ENCODER_DECODER))
    return wrong(err, "type_vocab_size", "requires an encoder of texts");
  if (c->head == ATTN_HEAD_NONE && c->kind != ATTN_ENCODER)
    return wrong(err, "head", "\"none\" requires kind \"encoder\"");
  if (c->kind != ATTN_VISION_ENCODER_DECODER && c->decoder_type)
    return wrong(err, "decoder_type", "requires kind \"vision-encoder-decoder\"");
  if (attn_model_is_recurrent(c) && c->max_positions > 4096)
    return wrong(err, "max_positions", "of a recurrent decoder must be at most 4096");
  if (attn_model_is_recurrent(c) && c->position_mode == ATTN_POSITION_MODE_CONCATENATE)
    return wrong(err, "position_mode", "\"concatenate\" requires decoder_type \"transformer\"");
  if (c->kind == ATTN_VISION_ENCODER_DECODER && c->image_size % ((int64_t)1 << c->num_stages))
    return wrong(err, "image_size", "must be a multiple of 2^num_stages");
  if (vision_bound(c) > exp2(LOG2_MAX_PARAMETERS - 1))
    return wrong(err, "stage_channels", "results in more than 2^39 parameters");
  if (parameter_bound(c) > exp2(LOG2_MAX_PARAMETERS))
    return wrong(err, "d_model", "results in more than 2^40 parameters");
  if (table_size(c) > exp2(LOG2_MAX_TABLE))
    return wrong(err, "max_positions", "results in a table of positions of more than 2^26 values");
  if (!(c->dropout >= 0 && c->dropout < 1)) return wrong(err, "dropout", "must be in [0, 1)");
  if (!(c->norm_eps >= 0 && isfinite(c->norm_eps)))
    return wrong(err, "norm_eps", "must be at least 0 and finite");
  if (!(c->rotary_base > 0 && isfinite(c->rotary_base)))
    return wrong(err, "rotary_base", "must be above 0 and finite");
  return check_alignment(c, err);
}

/* complete() replaces what is 0 or UNSET. */
static const struct attn_model_config defaults = {.d_model = 512,
                                                  .num_heads = 8,
                                                  .encoder_layers = 6,
                                                  .decoder_layers = 6,
                                                  .max_positions = 512,
                                                  .image_size = 48,
                                                  .num_stages = 2,
                                                  .stage_channels = 32,
                                                  .rotary_base = 10000,
                                                  .norm_first = 1,
                                                  .final_norm = 1,
                                                  .bias = 1,
                                                  .residual = 1,
                                                  .alignment = (enum attn_model_alignment)UNSET,
                                                  .output_bias = UNSET,
                                                  .scale_embedding = 1,
                                                  .norm_eps = 1e-5,
                                                  .dropout = 0.1};

attn_status attn_model_config_read(json_t *root, struct attn_model_config *config,
                                   attn_error *err) {
  struct attn_model_config c = defaults;
  json_t *value;
  const char *name;
  attn_status status = attn_model_config_rename_members(root, err);
  json_object_foreach(root, name, value) if (!status) status = read_member(name, value, &c, err);
  complete(&c);
  if (!status) status = check(&c, err);
  if (!status) *config = c;
  return status;
}

attn_status attn_model_config_parse(const char *json, size_t length,
                                    struct attn_model_config *config, attn_error *err) {
  json_t *root;
  attn_status status = attn_json_read_object("model configuration", json, length, &root, err);
  if (!status) status = attn_model_config_read(root, config, err);
  json_decref(root);
  return status;
}

/* ---- Writing ---- */

const char *attn_model_kind_name(enum attn_model_kind kind) { return kinds[kind]; }

const char *attn_decoder_type_name(enum attn_decoder_type type) { return decoder_types[type]; }

const char *attn_model_alignment_name(enum attn_model_alignment alignment) {
  return alignments[alignment];
}

static json_t *member_value(const struct attn_model_config *c, const struct config_member *m) {
  int chosen;
  memcpy(&chosen, (const char *)c + m->offset, sizeof chosen);
  if (m->type == CHOICE) return json_string(m->choices[chosen]);
  if (m->type == INTEGER) return json_integer(*MEMBER(c, const int64_t, m->offset));
  if (m->type == FLAG) return json_boolean(chosen);
  double real = *MEMBER(c, const double, m->offset);
  if (m->type == SCALE && real == 0) return json_string("default");
  return json_real(real);
}

/* Members of images are only in configurations of models that read images. */
static int applies(const struct attn_model_config *c, const struct config_member *m) {
  int is_vision = m->offset == AT(decoder_type) || m->offset == AT(image_size) ||
                  m->offset == AT(num_stages) || m->offset == AT(stage_channels);
  return !is_vision || c->kind == ATTN_VISION_ENCODER_DECODER;
}

char *attn_model_config_write(const struct attn_model_config *config) {
  json_t *root = json_object();
  int failed = !root;
  for (size_t n = 0; n < COUNT(members) && !failed; n++)
    if (applies(config, &members[n]))
      failed = json_object_set_new(root, members[n].name, member_value(config, &members[n]));
  return attn_json_finish(root, failed, JSON_COMPACT | JSON_SORT_KEYS);
}
