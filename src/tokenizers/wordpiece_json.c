/* wordpiece_json.c -- WordPiece in tokenizer.json, read and written, except for the vocabulary.
 * [huggingface/tokenizers: serialization of BertNormalizer, WordPiece, TemplateProcessing] */
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "template_processing.h"
#include "tokenizer_schema.h"
#include "wordpiece.h"

enum { WORD_CHARS_MAX = 4096 /* sorting combining marks is quadratic in the characters */ };

/* Padding is accepted and ignored: it is masked and does not change a text's tokens. */
static const struct attn_schema_member root_schema[] = {
    {"version", "\"1.0\"", 0}, {"truncation", NULL, 1},     {"padding", NULL, 1},
    {"added_tokens", NULL, 0}, {"normalizer", NULL, 0},     {"pre_tokenizer", NULL, 0},
    {"decoder", NULL, 0},      {"post_processor", NULL, 1}, {"model", NULL, 0}};
static const struct attn_schema_member normalizer_schema[] = {
    {"type", "\"BertNormalizer\"", 0},
    {"clean_text", ATTN_SCHEMA_BOOL, 0},
    {"handle_chinese_chars", ATTN_SCHEMA_BOOL, 0},
    {"strip_accents", ATTN_SCHEMA_BOOL " null", 0},
    {"lowercase", ATTN_SCHEMA_BOOL, 0}};
static const struct attn_schema_member pre_tokenizer_schema[] = {
    {"type", "\"BertPreTokenizer\"", 0}};
static const struct attn_schema_member decoder_schema[] = {
    {"type", "\"WordPiece\"", 0}, {"prefix", NULL, 0}, {"cleanup", ATTN_SCHEMA_BOOL, 0}};
static const struct attn_schema_member model_schema[] = {{"type", "\"WordPiece\"", 0},
                                                         {"unk_token", NULL, 0},
                                                         {"continuing_subword_prefix", NULL, 0},
                                                         {"max_input_chars_per_word", NULL, 0},
                                                         {"vocab", NULL, 0}};
static const struct attn_schema_member truncation_schema[] = {
    {"direction", "\"Right\"", 1},
    {"max_length", NULL, 0},
    {"strategy", "\"LongestFirst\" \"OnlyFirst\"", 0},
    {"stride", "0", 0}};

attn_status attn_wordpiece_check_root(const json_t *root, attn_error *err) {
  return ATTN_SCHEMA_CHECK(root, "document", root_schema, err);
}

static int flag(const json_t *object, const char *name) {
  return json_is_true(json_object_get(object, name));
}

/* ---- Reading ---- */

static attn_status read_normalizer(struct attn_wordpiece *w, const json_t *part, attn_error *err) {
  attn_status status = ATTN_SCHEMA_CHECK(part, "normalizer", normalizer_schema, err);
  w->clean_text = flag(part, "clean_text");
  w->handle_chinese_chars = flag(part, "handle_chinese_chars");
  w->lowercase = flag(part, "lowercase");
  w->strip_accents = json_is_null(json_object_get(part, "strip_accents"))
                         ? w->lowercase
                         : flag(part, "strip_accents");
  return status;
}

static void measure(struct attn_tokenizer *t) {
  size_t bytes;
  for (size_t n = 0; n < t->tokens.count; n++) {
    attn_intern_key(&t->tokens, n, &bytes);
    if (bytes > t->wordpiece.max_token_bytes) t->wordpiece.max_token_bytes = bytes;
  }
}

static attn_status read_model(struct attn_tokenizer *t, const json_t *part, attn_error *err) {
  struct attn_wordpiece *w = &t->wordpiece;
  attn_status status = ATTN_SCHEMA_CHECK(part, "model", model_schema, err);
  if (status) return status;
  const json_t *max_chars = json_object_get(part, "max_input_chars_per_word");
  const char *prefix = json_string_value(json_object_get(part, "continuing_subword_prefix"));
  const char *unknown = json_string_value(json_object_get(part, "unk_token"));
  w->max_word_chars = json_integer_value(max_chars);
  if (w->max_word_chars < 1 || w->max_word_chars > WORD_CHARS_MAX)
    return attn_tokenizer_invalid(err, "model.max_input_chars_per_word",
                                  "must be between 1 and 4096");
  if (!prefix)
    return attn_tokenizer_invalid(err, "model.continuing_subword_prefix", "expected a string");
  t->unknown = unknown ? attn_intern_find(&t->tokens, unknown, strlen(unknown)) : -1;
  if (t->unknown < 0)
    return attn_tokenizer_invalid(err, "model.unk_token", "expected a token of model.vocab");
  measure(t);
  w->prefix_bytes = strlen(prefix);
  return (w->prefix = strdup(prefix)) ? ATTN_OK : attn_tokenizer_no_memory(err);
}

static attn_status read_decoder(struct attn_wordpiece *w, const json_t *part, attn_error *err) {
  attn_status status = ATTN_SCHEMA_CHECK(part, "decoder", decoder_schema, err);
  if (status) return status;
  const char *prefix = json_string_value(json_object_get(part, "prefix"));
  w->cleanup = flag(part, "cleanup");
  if (prefix && !strcmp(prefix, w->prefix)) return ATTN_OK;
  return attn_tokenizer_invalid(err, "decoder.prefix",
                                "differs from model.continuing_subword_prefix");
}

static attn_status read_truncation(struct attn_wordpiece *w, const json_t *part, attn_error *err) {
  if (!part || json_is_null(part)) return ATTN_OK;
  attn_status status = ATTN_SCHEMA_CHECK(part, "truncation", truncation_schema, err);
  if (status) return status;
  w->max_length = json_integer_value(json_object_get(part, "max_length"));
  if (w->max_length >= 3 && w->max_length <= INT32_MAX) return ATTN_OK;
  return attn_tokenizer_invalid(err, "truncation.max_length", "must be between 3 and 2^31 - 1");
}

attn_status attn_wordpiece_read(struct attn_tokenizer *t, const json_t *root, attn_error *err) {
  struct attn_wordpiece *w = &t->wordpiece;
  attn_status status = read_model(t, json_object_get(root, "model"), err);
  if (!status) status = read_normalizer(w, json_object_get(root, "normalizer"), err);
  if (!status)
    status = ATTN_SCHEMA_CHECK(json_object_get(root, "pre_tokenizer"), "pre_tokenizer",
                               pre_tokenizer_schema, err);
  if (!status) status = read_decoder(w, json_object_get(root, "decoder"), err);
  if (!status) status = attn_template_read(t, json_object_get(root, "post_processor"), err);
  if (!status) status = read_truncation(w, json_object_get(root, "truncation"), err);
  return status;
}

/* ---- Writing ---- */

json_t *attn_wordpiece_truncation(const struct attn_tokenizer *t) {
  if (!t->wordpiece.max_length) return json_null();
  return json_pack("{s:s, s:I, s:s, s:i}", "direction", "Right", "max_length",
                   (json_int_t)t->wordpiece.max_length, "strategy", "LongestFirst", "stride", 0);
}

json_t *attn_wordpiece_normalizer(const struct attn_tokenizer *t) {
  const struct attn_wordpiece *w = &t->wordpiece;
  return json_pack("{s:s, s:b, s:b, s:b, s:b}", "type", "BertNormalizer", "clean_text",
                   w->clean_text, "handle_chinese_chars", w->handle_chinese_chars, "strip_accents",
                   w->strip_accents, "lowercase", w->lowercase);
}

json_t *attn_wordpiece_decoder(const struct attn_tokenizer *t) {
  return json_pack("{s:s, s:s, s:b}", "type", "WordPiece", "prefix", t->wordpiece.prefix, "cleanup",
                   t->wordpiece.cleanup);
}

json_t *attn_wordpiece_model(const struct attn_tokenizer *t, json_t *vocab) {
  return json_pack("{s:s, s:s, s:s, s:I, s:o}", "type", "WordPiece", "unk_token",
                   attn_tokenizer_token(t, t->unknown), "continuing_subword_prefix",
                   t->wordpiece.prefix, "max_input_chars_per_word",
                   (json_int_t)t->wordpiece.max_word_chars, "vocab", vocab);
}
