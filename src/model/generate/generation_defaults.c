#include "generation_defaults.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "json_text.h"
#include "error.h"
#include "families.h"

enum { MAX_SUPPRESSED = 1 << 10 };

struct attn_generation_defaults attn_generation_defaults_of_checkpoint(
    const struct attn_model_config *c) {
  return (struct attn_generation_defaults){
      .search = {.bos = ATTN_TOKEN_BEGIN, .eos = ATTN_TOKEN_END},
      .source_bos = -1,
      .source_eos = c->kind == ATTN_DECODER ? -1 : ATTN_TOKEN_END,
      .pad = ATTN_TOKEN_PAD,
      .empty_prompt = -1};
}

/* ---- Unsupported options ---- */

/* Members that change results, with the only value that is supported. Options of sampling are
 * covered by do_sample. */
static const struct {
  const char *name, *only;
} fixed_members[] = {{"do_sample", "false"},
                     {"min_length", "0"},
                     {"min_new_tokens", "0"},
                     {"max_time", "null"},
                     {"stop_strings", "null"},
                     {"repetition_penalty", "1.0"},
                     {"encoder_repetition_penalty", "1.0"},
                     {"no_repeat_ngram_size", "0"},
                     {"encoder_no_repeat_ngram_size", "0"},
                     {"renormalize_logits", "false"},
                     {"forced_bos_token_id", "null"},
                     {"remove_invalid_values", "false"},
                     {"exponential_decay_length_penalty", "null"},
                     {"suppress_tokens", "null"},
                     {"begin_suppress_tokens", "null"},
                     {"sequence_bias", "null"},
                     {"token_healing", "false"},
                     {"guidance_scale", "1.0"},
                     {"watermarking_config", "null"},
                     {"num_return_sequences", "1"},
                     {"penalty_alpha", "0.0"},
                     {"dola_layers", "null"},
                     {"diversity_penalty", "0.0"},
                     {"num_beam_groups", "1"},
                     {"constraints", "null"},
                     {"force_words_ids", "null"},
                     {"target_lookbehind", "null"},
                     {"low_memory", "null"}};

struct generation_reader {
  const json_t *root;
  const char *file;
  const struct attn_model_config *config;
  attn_error *err;
};

static attn_status reject(const struct generation_reader *r, const char *name,
                          const char *expected) {
  char shown[ATTN_JSON_SHOWN];
  return attn_fail(r->err, ATTN_ERR_FORMAT, NULL, "%s: \"%s\" must be %s, got %s", r->file, name,
                   expected, attn_json_show(json_object_get(r->root, name), shown));
}

/* NULL: absent or null. */
static const json_t *member(const struct generation_reader *r, const char *name) {
  const json_t *value = json_object_get(r->root, name);
  return json_is_null(value) ? NULL : value;
}

static attn_status check_fixed_members(const struct generation_reader *r) {
  attn_status status = ATTN_OK;
  for (size_t n = 0; n < sizeof fixed_members / sizeof *fixed_members && !status; n++)
    status = attn_hf_require_value(r->file, fixed_members[n].name, member(r, fixed_members[n].name),
                                   fixed_members[n].only, r->err);
  return status;
}

/* ---- Supported options ---- */

/* A token, or a list of one. */
static attn_status read_token(const struct generation_reader *r, const char *name, int32_t *token) {
  const json_t *value = member(r, name);
  if (!value) return ATTN_OK;
  if (json_array_size(value) == 1) value = json_array_get(value, 0);
  json_int_t id = json_integer_value(value);
  if (!json_is_integer(value) || id < 0 || id >= r->config->vocab_size)
    return reject(r, name, "one token of the vocabulary");
  *token = (int32_t)id;
  return ATTN_OK;
}

static attn_status read_integer(const struct generation_reader *r, const char *name, int64_t min,
                                int64_t max, int64_t *number) {
  const json_t *value = member(r, name);
  json_int_t given = json_integer_value(value);
  if (!value) return ATTN_OK;
  *number = given;
  if (json_is_integer(value) && given >= min && given <= max) return ATTN_OK;
  char range[64];
  snprintf(range, sizeof range, "an integer between %lld and %lld", (long long)min, (long long)max);
  return reject(r, name, range);
}

/* A decoder-only model begins an empty prompt with bos_token_id. Others begin with
 * decoder_start_token_id, or without it bos_token_id. */
static attn_status read_bos(const struct generation_reader *r, struct attn_generation_defaults *g) {
  int32_t bos = -1;
  attn_status status = read_token(r, "bos_token_id", &bos);
  g->search.bos = -1, g->empty_prompt = bos;
  if (status || r->config->kind == ATTN_DECODER) return status;
  g->search.bos = bos, g->empty_prompt = -1;
  status = read_token(r, "decoder_start_token_id", &g->search.bos);
  if (status || g->search.bos >= 0) return status;
  return reject(r, "decoder_start_token_id", "the decoder's first token");
}

static attn_status read_eos(const struct generation_reader *r, struct attn_generation_defaults *g) {
  int32_t forced = -1;
  g->search.eos = -1;
  attn_status status = read_token(r, "eos_token_id", &g->search.eos);
  if (!status) status = read_token(r, "forced_eos_token_id", &forced);
  if (!status && forced >= 0 && forced != g->search.eos)
    status = reject(r, "forced_eos_token_id", "eos_token_id");
  g->search.force_eos = forced >= 0;
  return status;
}

static attn_status read_beams(const struct generation_reader *r,
                              struct attn_generation_defaults *g) {
  const json_t *penalty = member(r, "length_penalty"), *early = member(r, "early_stopping");
  attn_status status = read_integer(r, "num_beams", 1, ATTN_NUM_BEAMS_MAX, &g->search.num_beams);
  if (status) return status;
  g->search.rule = ATTN_BEAM_RULE_HUGGING_FACE;
  g->search.length_penalty = penalty ? json_number_value(penalty) : 1;
  g->search.early_stopping = json_is_true(early);
  if (penalty && !(json_is_number(penalty) && fabs(g->search.length_penalty) <= 10))
    return reject(r, "length_penalty", "a number between -10 and 10");
  if (early && !json_is_boolean(early)) return reject(r, "early_stopping", "true or false");
  return ATTN_OK;
}

static attn_status read_lengths(const struct generation_reader *r,
                                struct attn_generation_defaults *g) {
  attn_status status = read_integer(r, "max_length", 2, INT32_MAX, &g->search.max_length);
  if (!status) status = read_integer(r, "max_new_tokens", 1, INT32_MAX, &g->search.max_new_tokens);
  if (g->search.max_new_tokens) g->search.max_length = 0; /* max_new_tokens has precedence */
  return status;
}

/* Words of one token. eos is ignored, as in transformers. */
static attn_status read_suppressed(const struct generation_reader *r,
                                   struct attn_generation_defaults *g) {
  static const char name[] = "bad_words_ids";
  const json_t *list = member(r, name);
  size_t count = json_array_size(list);
  if (!list) return ATTN_OK;
  if (!json_is_array(list) || count > MAX_SUPPRESSED)
    return reject(r, name, "an array of at most 1024 words");
  int32_t *tokens = calloc(count + 1, sizeof *tokens);
  if (!(g->search.suppressed = tokens))
    return attn_fail(r->err, ATTN_ERR_MEMORY, NULL, "no memory for a list of tokens");
  for (size_t n = 0; n < count; n++) {
    const json_t *word = json_array_get(list, n), *token = json_array_get(word, 0);
    json_int_t id = json_integer_value(token);
    if (json_array_size(word) != 1 || !json_is_integer(token) || id < 0 ||
        id >= r->config->vocab_size)
      return reject(r, name, "words of one token each");
    if (id != g->search.eos) tokens[g->search.num_suppressed++] = (int32_t)id;
  }
  return g->search.num_suppressed < r->config->vocab_size
             ? ATTN_OK
             : reject(r, name, "fewer words than the vocabulary has");
}

static attn_status read_all(const struct generation_reader *r, struct attn_generation_defaults *g) {
  attn_status status = check_fixed_members(r);
  if (!status) status = read_bos(r, g);
  g->pad = -1;
  if (!status) status = read_token(r, "pad_token_id", &g->pad);
  if (!status) status = read_eos(r, g);
  if (!status) status = read_beams(r, g);
  if (!status) status = read_lengths(r, g);
  return status ? status : read_suppressed(r, g);
}

attn_status attn_generation_defaults_read(const char *json, size_t size, const char *name,
                                          const struct attn_model_config *config,
                                          struct attn_generation_defaults *g, attn_error *err) {
  json_t *root;
  struct attn_generation_defaults read = {.source_bos = g->source_bos, .source_eos = g->source_eos};
  attn_status status = attn_json_read_object(name, json, size, &root, err);
  if (!status) status = read_all(&(struct generation_reader){root, name, config, err}, &read);
  json_decref(root);
  if (status)
    free((void *)read.search.suppressed);
  else
    *g = read;
  return status;
}

/* ---- Writing ---- */

static int put_token(json_t *root, const char *name, int32_t token) {
  return token < 0 ? 0 : json_object_set_new(root, name, json_integer(token));
}

static int put_integer(json_t *root, const char *name, int64_t number) {
  return number ? json_object_set_new(root, name, json_integer(number)) : 0;
}

static int put_suppressed(json_t *root, const struct attn_generation_defaults *g) {
  json_t *list = g->search.num_suppressed ? json_array() : NULL;
  int failed = g->search.num_suppressed && !list;
  for (int64_t n = 0; n < g->search.num_suppressed && !failed; n++)
    failed = json_array_append_new(list, json_pack("[i]", (int)g->search.suppressed[n]));
  if (failed || !list) return json_decref(list), failed;
  return json_object_set_new(root, "bad_words_ids", list);
}

/* A checkpoint is limited by its positions; the last token generated is not read. */
static int put_lengths(json_t *root, const struct attn_model_config *c,
                       const struct attn_generation_defaults *g) {
  int is_checkpoint = g->search.rule == ATTN_BEAM_RULE_WU;
  return put_integer(root, "max_length",
                     is_checkpoint ? c->max_positions + 1 : g->search.max_length) ||
         put_integer(root, "max_new_tokens", g->search.max_new_tokens);
}

char *attn_generation_defaults_write(const struct attn_model_config *c,
                                     const struct attn_generation_defaults *g) {
  int is_decoder = c->kind == ATTN_DECODER;
  json_t *root = json_object();
  int failed =
      !root ||
      put_token(root, "bos_token_id",
                is_decoder && g->empty_prompt >= 0 ? g->empty_prompt : g->search.bos) ||
      put_token(root, "decoder_start_token_id", is_decoder ? -1 : g->search.bos) ||
      put_token(root, "eos_token_id", g->search.eos) || put_token(root, "pad_token_id", g->pad) ||
      put_token(root, "forced_eos_token_id", g->search.force_eos ? g->search.eos : -1) ||
      json_object_set_new(root, "length_penalty", json_real(g->search.length_penalty)) ||
      json_object_set_new(root, "early_stopping", json_boolean(g->search.early_stopping)) ||
      put_integer(root, "num_beams", g->search.num_beams) || put_lengths(root, c, g) ||
      put_suppressed(root, g);
  return attn_json_finish(root, failed, JSON_INDENT(2) | JSON_SORT_KEYS);
}
