#include "generation.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "json_text.h"
#include "error.h"

enum { NEVERS_MOST = 1 << 10, VALUE_SHOWN = 60 };

struct attn_generating attn_generating_own(const struct attn_config *c) {
  return (struct attn_generating){.begin = ATTN_TOKEN_BEGIN,
                                  .end = ATTN_TOKEN_END,
                                  .before = -1,
                                  .behind = c->kind == ATTN_DECODER ? -1 : ATTN_TOKEN_END,
                                  .pad = ATTN_TOKEN_PAD,
                                  .empty = -1};
}

struct attn_search attn_generating_search(const struct attn_generating *g) {
  return (struct attn_search){.begin = g->begin,
                              .end = g->end,
                              .rule = g->rule,
                              .length_penalty = g->length_penalty,
                              .early = g->early,
                              .forced_end = g->forced_end,
                              .longest = g->longest,
                              .never = g->never,
                              .nevers = g->nevers};
}

/* ---- What must be as it is everywhere ---- */

/* Members that would change a reply, and the one value that changes none; null changes none either.
 * Those that only matter where tokens are drawn follow do_sample. */
static const struct rule {
  const char *name, *only;
} rules[] = {{"do_sample", "false"},
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

struct reading {
  const json_t *root;
  const char *file;
  const struct attn_config *config;
  attn_error *err;
};

static attn_status refuse(const struct reading *r, const char *name, const char *must) {
  char *text = attn_json_text(json_object_get(r->root, name), JSON_ENCODE_ANY | JSON_COMPACT);
  attn_status status = attn_fail(r->err, ATTN_ERR_FORMAT, NULL, "%s: \"%s\" is %.*s; it %s",
                                 r->file, name, VALUE_SHOWN, text ? text : "no value", must);
  free(text);
  return status;
}

/* NULL: it is missing, or null, which says nothing. */
static const json_t *member(const struct reading *r, const char *name) {
  const json_t *value = json_object_get(r->root, name);
  return json_is_null(value) ? NULL : value;
}

static int is_only(const json_t *value, const char *only) {
  json_t *expected = json_loads(only, JSON_DECODE_ANY, NULL);
  int equal = attn_json_equal(value, expected);
  json_decref(expected);
  return equal;
}

static attn_status check_rules(const struct reading *r) {
  for (size_t n = 0; n < sizeof rules / sizeof *rules; n++) {
    const json_t *value = member(r, rules[n].name);
    if (!value || is_only(value, rules[n].only)) continue;
    char must[64];
    snprintf(must, sizeof must, "can only be %s here", rules[n].only);
    return refuse(r, rules[n].name, must);
  }
  return ATTN_OK;
}

/* ---- What is done here ---- */

/* A token, or a list of one. */
static attn_status read_token(const struct reading *r, const char *name, int32_t *token) {
  const json_t *value = member(r, name);
  if (!value) return ATTN_OK;
  if (json_array_size(value) == 1) value = json_array_get(value, 0);
  json_int_t id = json_integer_value(value);
  if (!json_is_integer(value) || id < 0 || id >= r->config->target_words)
    return refuse(r, name, "must be one token of the vocabulary");
  *token = (int32_t)id;
  return ATTN_OK;
}

static attn_status read_whole(const struct reading *r, const char *name, int64_t least,
                              int64_t most, int64_t *number) {
  const json_t *value = member(r, name);
  json_int_t given = json_integer_value(value);
  if (!value) return ATTN_OK;
  *number = given;
  if (json_is_integer(value) && given >= least && given <= most) return ATTN_OK;
  char must[64];
  snprintf(must, sizeof must, "must be a whole number from %lld to %lld", (long long)least,
           (long long)most);
  return refuse(r, name, must);
}

/* decoder_start_token_id, or bos_token_id in its place. */
static attn_status read_begin(const struct reading *r, struct attn_generating *g) {
  int32_t bos = -1;
  attn_status status = read_token(r, "bos_token_id", &bos);
  g->begin = -1, g->empty = bos;
  if (status || r->config->kind == ATTN_DECODER) return status;
  g->begin = bos, g->empty = -1;
  status = read_token(r, "decoder_start_token_id", &g->begin);
  if (status || g->begin >= 0) return status;
  return refuse(r, "decoder_start_token_id", "must be the token that a reply begins with");
}

static attn_status read_end(const struct reading *r, struct attn_generating *g) {
  int32_t forced = -1;
  g->end = -1;
  attn_status status = read_token(r, "eos_token_id", &g->end);
  if (!status) status = read_token(r, "forced_eos_token_id", &forced);
  if (!status && forced >= 0 && forced != g->end)
    status = refuse(r, "forced_eos_token_id", "can only be eos_token_id here");
  g->forced_end = forced >= 0;
  return status;
}

static attn_status read_beams(const struct reading *r, struct attn_generating *g) {
  const json_t *penalty = member(r, "length_penalty"), *early = member(r, "early_stopping");
  int64_t beams = 0;
  attn_status status = read_whole(r, "num_beams", 1, ATTN_BEAMS_MOST, &beams);
  if (status) return status;
  g->rule = ATTN_BEAM_RULE_HUGGING_FACE, g->beams = (int32_t)beams;
  g->length_penalty = penalty ? json_number_value(penalty) : 1, g->early = json_is_true(early);
  if (penalty && !(json_is_number(penalty) && fabs(g->length_penalty) <= 10))
    return refuse(r, "length_penalty", "must be a number from -10 to 10");
  if (early && !json_is_boolean(early))
    return refuse(r, "early_stopping", "can only be true or false here");
  return ATTN_OK;
}

static attn_status read_lengths(const struct reading *r, struct attn_generating *g) {
  attn_status status = read_whole(r, "max_length", 2, INT32_MAX, &g->longest);
  if (!status) status = read_whole(r, "max_new_tokens", 1, INT32_MAX, &g->most);
  if (g->most) g->longest = 0; /* which takes its place there */
  return status;
}

/* Words of one token; the end among them is passed over there too. */
static attn_status read_never(const struct reading *r, struct attn_generating *g) {
  static const char name[] = "bad_words_ids";
  const json_t *list = member(r, name);
  size_t count = json_array_size(list);
  if (!list) return ATTN_OK;
  if (!json_is_array(list) || count > NEVERS_MOST)
    return refuse(r, name, "must be a list of at most 1024 words");
  if (!(g->never = calloc(count + 1, sizeof *g->never)))
    return attn_fail(r->err, ATTN_ERR_MEMORY, NULL, "no memory for a list of tokens");
  for (size_t n = 0; n < count; n++) {
    const json_t *word = json_array_get(list, n), *token = json_array_get(word, 0);
    json_int_t id = json_integer_value(token);
    if (json_array_size(word) != 1 || !json_is_integer(token) || id < 0 ||
        id >= r->config->target_words)
      return refuse(r, name, "can only hold words of one token here");
    if (id != g->end) g->never[g->nevers++] = (int32_t)id;
  }
  return g->nevers < r->config->target_words ? ATTN_OK
                                             : refuse(r, name, "leaves nothing to be said");
}

static attn_status read_all(const struct reading *r, struct attn_generating *g) {
  attn_status status = check_rules(r);
  if (!status) status = read_begin(r, g);
  g->pad = -1;
  if (!status) status = read_token(r, "pad_token_id", &g->pad);
  if (!status) status = read_end(r, g);
  if (!status) status = read_beams(r, g);
  if (!status) status = read_lengths(r, g);
  return status ? status : read_never(r, g);
}

attn_status attn_generating_read(const char *json, size_t size, const char *name,
                                 const struct attn_config *config, struct attn_generating *g,
                                 attn_error *err) {
  json_t *root;
  struct attn_generating made = {.before = g->before, .behind = g->behind};
  attn_status status = attn_json_read(name, json, size, 0, &root, err);
  if (!status && !json_is_object(root))
    status = attn_fail(err, ATTN_ERR_FORMAT, NULL, "%s: it must be an object", name);
  if (!status) status = read_all(&(struct reading){root, name, config, err}, &made);
  json_decref(root);
  if (status)
    free(made.never);
  else
    *g = made;
  return status;
}

/* ---- Writing ---- */

static int put_token(json_t *root, const char *name, int32_t token) {
  return token < 0 ? 0 : json_object_set_new(root, name, json_integer(token));
}

static int put_whole(json_t *root, const char *name, int64_t number) {
  return number ? json_object_set_new(root, name, json_integer(number)) : 0;
}

static int put_never(json_t *root, const struct attn_generating *g) {
  json_t *list = g->nevers ? json_array() : NULL;
  int failed = g->nevers && !list;
  for (int64_t n = 0; n < g->nevers && !failed; n++)
    failed = json_array_append_new(list, json_pack("[i]", (int)g->never[n]));
  if (failed || !list) return json_decref(list), failed;
  return json_object_set_new(root, "bad_words_ids", list);
}

/* A checkpoint's limit is its positions: the last token said is read by none. */
static int put_lengths(json_t *root, const struct attn_config *c, const struct attn_generating *g) {
  int own = g->rule == ATTN_BEAM_RULE_WU;
  return put_whole(root, "max_length", own ? c->length + 1 : g->longest) ||
         put_whole(root, "max_new_tokens", g->most);
}

char *attn_generating_write(const struct attn_config *c, const struct attn_generating *g) {
  int decodes = c->kind == ATTN_DECODER;
  json_t *root = json_object();
  int failed =
      !root || put_token(root, "bos_token_id", decodes && g->empty >= 0 ? g->empty : g->begin) ||
      put_token(root, "decoder_start_token_id", decodes ? -1 : g->begin) ||
      put_token(root, "eos_token_id", g->end) || put_token(root, "pad_token_id", g->pad) ||
      put_token(root, "forced_eos_token_id", g->forced_end ? g->end : -1) ||
      json_object_set_new(root, "length_penalty", json_real(g->length_penalty)) ||
      json_object_set_new(root, "early_stopping", json_boolean(g->early)) ||
      put_whole(root, "num_beams", g->beams) || put_lengths(root, c, g) || put_never(root, g);
  char *text = failed ? NULL : attn_json_text(root, JSON_INDENT(2) | JSON_SORT_KEYS);
  json_decref(root);
  return text;
}
