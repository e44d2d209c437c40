#include "config.h"

#include <jansson.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "json_text.h"
#include "error.h"

enum { MOST = 1 << 24, LAYERS_MOST = 1 << 10, LOG2_NUMBERS = 40, LOG2_TABLE = 26, UNSAID = -1 };

/* ---- The members, by type ---- */

struct choice {
  const char *name;
  size_t at;
  const char *const *words; /* in the order of the enum, NULL at the end */
};

static const char *const kinds[] = {"encoder-decoder", "decoder", "encoder", NULL};
static const char *const positions[] = {"sinusoidal", "learned",           "rotary", "alibi",
                                        "none",       "sinusoidal_halves", NULL};
static const char *const joinings[] = {"add", "concatenate", NULL};
static const char *const activations[] = {"relu", "gelu", "gelu_tanh", "swiglu", "silu", NULL};
static const char *const heads[] = {"linear", "transform", "none", NULL};

#define AT(member) offsetof(struct attn_config, member)
static const struct choice choices[] = {{"kind", AT(kind), kinds},
                                        {"positions", AT(positions), positions},
                                        {"position_joining", AT(joining), joinings},
                                        {"activation", AT(activation), activations},
                                        {"head", AT(head), heads}};

static const struct number {
  const char *name;
  size_t at;
  int64_t least, most;
} numbers[] = {{"source_vocabulary", AT(source_words), 1, MOST},
               {"vocabulary", AT(target_words), 1, MOST},
               {"width", AT(width), 1, MOST},
               {"hidden", AT(hidden), 1, MOST},
               {"heads", AT(heads), 1, MOST},
               {"kv_heads", AT(kv_heads), 1, MOST},
               {"key_width", AT(key_width), 1, MOST},
               {"value_width", AT(value_width), 1, MOST},
               {"encoder_layers", AT(encoder_layers), 0, LAYERS_MOST},
               {"decoder_layers", AT(decoder_layers), 0, LAYERS_MOST},
               {"length", AT(length), 1, MOST},
               {"position_width", AT(position_width), 1, MOST},
               {"token_types", AT(token_types), 0, MOST}};

static const struct member {
  const char *name;
  size_t at;
} flags[] = {{"rms_norm", AT(rms_norm)},
             {"norm_first", AT(norm_first)},
             {"final_norm", AT(final_norm)},
             {"bias", AT(bias)},
             {"shared_embedding", AT(shared_embedding)},
             {"tied_output", AT(tied_output)},
             {"scaled_embedding", AT(scaled_embedding)},
             {"embedding_norm", AT(embedding_norm)},
             {"output_bias", AT(output_bias)}},
  reals[] = {{"rotary_base", AT(rotary_base)}, {"epsilon", AT(epsilon)}, {"dropout", AT(dropout)}};

#define COUNT(table) (sizeof(table) / sizeof *(table))
#define MEMBER(config, type, table_at) ((type *)(void *)((char *)(config) + (table_at)))

/* ---- Reading ---- */

static attn_status wrong(attn_error *err, const char *name, const char *what) {
  return attn_fail(err, ATTN_ERR_FORMAT, NULL, "model configuration: \"%s\" %s", name, what);
}

static attn_status read_choice(const struct choice *c, const json_t *value,
                               struct attn_config *config, attn_error *err) {
  const char *word = json_string_value(value);
  for (int n = 0; word && c->words[n]; n++)
    if (!strcmp(word, c->words[n])) {
      memcpy((char *)config + c->at, &n, sizeof n); /* enums are ints */
      return ATTN_OK;
    }
  return attn_fail(err, ATTN_ERR_FORMAT, NULL,
                   "model configuration: \"%s\" is %s%s%s; it may be \"%s\", \"%s\" ..", c->name,
                   word ? "\"" : "", word ? word : "no string", word ? "\"" : "", c->words[0],
                   c->words[1]);
}

static attn_status read_number(const struct number *n, const json_t *value,
                               struct attn_config *config, attn_error *err) {
  json_int_t given = json_integer_value(value);
  if (!json_is_integer(value) || given < n->least || given > n->most)
    return attn_fail(err, ATTN_ERR_FORMAT, NULL,
                     "model configuration: \"%s\" must be a whole number from %d to %d", n->name,
                     (int)n->least, (int)n->most);
  *MEMBER(config, int64_t, n->at) = given;
  return ATTN_OK;
}

static attn_status read_member(const char *name, const json_t *value, struct attn_config *config,
                               attn_error *err) {
  for (size_t n = 0; n < COUNT(choices); n++)
    if (!strcmp(name, choices[n].name)) return read_choice(&choices[n], value, config, err);
  for (size_t n = 0; n < COUNT(numbers); n++)
    if (!strcmp(name, numbers[n].name)) return read_number(&numbers[n], value, config, err);
  for (size_t n = 0; n < COUNT(flags); n++)
    if (!strcmp(name, flags[n].name)) {
      if (!json_is_boolean(value)) return wrong(err, name, "must be true or false");
      *MEMBER(config, int, flags[n].at) = json_is_true(value);
      return ATTN_OK;
    }
  for (size_t n = 0; n < COUNT(reals); n++)
    if (!strcmp(name, reals[n].name)) {
      if (!json_is_number(value)) return wrong(err, name, "must be a number");
      *MEMBER(config, double, reals[n].at) = json_number_value(value);
      return ATTN_OK;
    }
  return wrong(err, name, "is not known");
}

/* What was not said follows from what was. */
static void complete(struct attn_config *c) {
  if (!c->source_words) c->source_words = c->target_words;
  if (!c->hidden) c->hidden = 4 * c->width;
  if (!c->kv_heads) c->kv_heads = c->heads;
  if (!c->key_width) c->key_width = c->width / c->heads;
  if (!c->value_width) c->value_width = c->key_width;
  if (!c->position_width || c->joining == ATTN_JOIN_ADD) c->position_width = c->width;
  if (c->output_bias == UNSAID) c->output_bias = c->bias && !c->tied_output;
  if (c->kind == ATTN_DECODER) c->encoder_layers = 0;
  if (c->kind == ATTN_ENCODER) c->decoder_layers = 0;
}

/* About, and not less: of the weights and of the tables of positions. Sizes that are computed from
 * these numbers stay far below 2^63. */
static double count(const struct attn_config *c) {
  double across = (double)(c->heads + c->kv_heads) * (double)(c->key_width + c->value_width);
  double layers = (double)(c->encoder_layers + 2 * c->decoder_layers);
  double ends = (double)(c->source_words + 2 * c->target_words + 2 * c->length);
  return (double)(c->width + 1) * (layers * (across + 3 * (double)c->hidden + 6) + ends) +
         (double)c->length * (double)c->key_width;
}

/* Numbers of the tables of positions that no file holds: opening a model computes them. */
static double computed(const struct attn_config *c) {
  int sinusoidal =
      c->positions == ATTN_POSITIONS_SINUSOIDAL || c->positions == ATTN_POSITIONS_SINUSOIDAL_HALVES;
  int64_t width = sinusoidal                              ? c->position_width
                  : c->positions == ATTN_POSITIONS_ROTARY ? c->key_width
                                                          : 0;
  return (double)c->length * (double)width;
}

static attn_status check(const struct attn_config *c, attn_error *err) {
  if (!c->target_words) return wrong(err, "vocabulary", "is missing");
  if (c->heads % c->kv_heads) return wrong(err, "kv_heads", "must divide heads");
  if (c->key_width < 1) return wrong(err, "heads", "are more than the width");
  if (c->heads * c->key_width > MOST || c->heads * c->value_width > MOST)
    return wrong(err, "heads", "are wider together than 2^24");
  if (c->hidden > MOST) return wrong(err, "hidden", "is more than 2^24");
  if (c->positions == ATTN_POSITIONS_ROTARY && c->key_width % 2)
    return wrong(err, "key_width", "must be even with rotary positions");
  if (c->joining == ATTN_JOIN_CONCATENATE && c->position_width >= c->width)
    return wrong(err, "position_width", "must leave some of the width to the tokens");
  if (c->joining == ATTN_JOIN_CONCATENATE && c->tied_output)
    return wrong(err, "tied_output", "needs position_joining \"add\": the table is narrower else");
  if (c->shared_embedding && c->source_words != c->target_words)
    return wrong(err, "shared_embedding", "needs two vocabularies of one size");
  if (c->kind == ATTN_ENCODER && c->tied_output && c->source_words != c->target_words)
    return wrong(err, "tied_output", "needs two vocabularies of one size in an encoder");
  if (c->token_types && c->kind == ATTN_DECODER)
    return wrong(err, "token_types", "are the source's: they need an encoder");
  if (c->head == ATTN_HEAD_NONE && c->kind != ATTN_ENCODER)
    return wrong(err, "head", "\"none\" is an encoder's: a decoder says words");
  if (count(c) > exp2(LOG2_NUMBERS))
    return wrong(err, "width", "is that of more than 2^40 numbers");
  if (computed(c) > exp2(LOG2_TABLE))
    return wrong(err, "length", "makes a table of positions of more than 2^26 numbers");
  if (!(c->dropout >= 0 && c->dropout < 1)) return wrong(err, "dropout", "must be in [0, 1)");
  if (!(c->epsilon >= 0 && isfinite(c->epsilon)))
    return wrong(err, "epsilon", "must be at least 0");
  if (!(c->rotary_base > 0 && isfinite(c->rotary_base)))
    return wrong(err, "rotary_base", "must be above 0");
  return ATTN_OK;
}

/* Where 0 stands, complete() says what follows. */
static const struct attn_config defaults = {.width = 512,
                                            .heads = 8,
                                            .encoder_layers = 6,
                                            .decoder_layers = 6,
                                            .length = 512,
                                            .rotary_base = 10000,
                                            .norm_first = 1,
                                            .final_norm = 1,
                                            .bias = 1,
                                            .output_bias = UNSAID,
                                            .scaled_embedding = 1,
                                            .epsilon = 1e-5,
                                            .dropout = 0.1};

attn_status attn_config_parse(const char *json, size_t length, struct attn_config *config,
                              attn_error *err) {
  struct attn_config c = defaults;
  json_t *root, *value;
  const char *name;
  attn_status status = attn_json_read("model configuration", json, length, 0, &root, err);
  if (!status && !json_is_object(root))
    status = attn_fail(err, ATTN_ERR_FORMAT, NULL, "model configuration: it is no object");
  json_object_foreach(root, name, value) if (!status) status = read_member(name, value, &c, err);
  json_decref(root);
  complete(&c);
  if (!status) status = check(&c, err);
  if (!status) *config = c;
  return status;
}

/* ---- Writing ---- */

const char *attn_config_kind_name(enum attn_model_kind kind) { return kinds[kind]; }

char *attn_config_write(const struct attn_config *config) {
  json_t *root = json_object();
  for (size_t n = 0; n < COUNT(choices); n++) {
    int chosen;
    memcpy(&chosen, (const char *)config + choices[n].at, sizeof chosen);
    json_object_set_new(root, choices[n].name, json_string(choices[n].words[chosen]));
  }
  for (size_t n = 0; n < COUNT(numbers); n++)
    json_object_set_new(root, numbers[n].name,
                        json_integer(*MEMBER(config, const int64_t, numbers[n].at)));
  for (size_t n = 0; n < COUNT(flags); n++)
    json_object_set_new(root, flags[n].name, json_boolean(*MEMBER(config, const int, flags[n].at)));
  for (size_t n = 0; n < COUNT(reals); n++)
    json_object_set_new(root, reals[n].name, json_real(*MEMBER(config, const double, reals[n].at)));
  size_t members = COUNT(choices) + COUNT(numbers) + COUNT(flags) + COUNT(reals);
  char *text = json_object_size(root) == members
                   ? attn_json_text(root, JSON_COMPACT | JSON_SORT_KEYS)
                   : NULL;
  json_decref(root);
  return text;
}
