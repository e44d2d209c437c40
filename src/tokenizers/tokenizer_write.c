/* tokenizer_write.c -- a tokenizer.json that Hugging Face's tokenizers loads, with the same ids.
 * Merges are written as "a b", which every version reads; no byte letter is a space. */
#include <stdlib.h>
#include <string.h>

#include "json_text.h"
#include "template_processing.h"
#include "vocabulary.h"
#include "wordpiece.h"

/* Each of these returns NULL if out of memory; jansson rejects a NULL member. */
static json_t *whole(json_t *made, int failed) {
  if (!failed) return made;
  json_decref(made);
  return NULL;
}

static json_t *added_tokens(const struct attn_tokenizer *t) {
  json_t *list = json_array();
  int failed = !list;
  for (size_t n = 0; n < t->tokens.count && !failed; n++)
    if (t->special[n])
      failed = json_array_append_new(
          list, json_pack("{s:I, s:s, s:b, s:b, s:b, s:b, s:b}", "id", (json_int_t)n, "content",
                          attn_tokenizer_token(t, (int32_t)n), "single_word", 0, "lstrip", 0,
                          "rstrip", 0, "normalized", 0, "special", 1));
  return whole(list, failed);
}

static json_t *vocab(const struct attn_tokenizer *t) {
  json_t *object = json_object();
  int failed = !object;
  for (size_t n = 0; n < t->tokens.count && !failed; n++)
    failed = json_object_set_new(object, attn_tokenizer_token(t, (int32_t)n),
                                 json_integer((json_int_t)n));
  return whole(object, failed);
}

static json_t *merge_text(const struct attn_tokenizer *t, int32_t number) {
  int32_t pair[2];
  size_t bytes;
  memcpy(pair, attn_intern_key(&t->merges, (size_t)number, &bytes), sizeof pair);
  return json_sprintf("%s %s", attn_tokenizer_token(t, pair[0]), attn_tokenizer_token(t, pair[1]));
}

/* By rank; skips ranks whose merge was replaced by a later one. */
static json_t *merges(const struct attn_tokenizer *t) {
  json_t *list = json_array();
  int32_t *order = malloc(((size_t)t->ranks + 1) * sizeof *order);
  int failed = !list || !order;
  if (order) memset(order, 0xff, ((size_t)t->ranks + 1) * sizeof *order);
  for (size_t n = 0; n < t->merges.count && !failed; n++) order[t->merge[n].rank] = (int32_t)n;
  for (int32_t rank = 0; rank < t->ranks && !failed; rank++)
    if (order[rank] >= 0) failed = json_array_append_new(list, merge_text(t, order[rank]));
  free(order);
  return whole(list, failed);
}

static json_t *bytes_part(void) {
  return json_pack("{s:s, s:b, s:b, s:b}", "type", "ByteLevel", "add_prefix_space", 0,
                   "trim_offsets", 1, "use_regex", 1);
}

static json_t *model(const struct attn_tokenizer *t) {
  if (t->kind == ATTN_TOKENIZER_WORDPIECE) return attn_wordpiece_model(t, vocab(t));
  if (t->kind != ATTN_TOKENIZER_BPE)
    return json_pack("{s:s, s:o, s:s}", "type", "WordLevel", "vocab", vocab(t), "unk_token",
                     attn_tokenizer_token(t, t->unknown));
  return json_pack(
      "{s:s, s:n, s:o, s:n, s:n, s:b, s:b, s:b, s:o, s:o}", "type", "BPE", "dropout", "unk_token",
      attn_vocabulary_missing_byte(t) < 0 ? json_null()
                                          : json_string(attn_tokenizer_token(t, t->unknown)),
      "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", 0, "byte_fallback", 0,
      "ignore_merges", 0, "vocab", vocab(t), "merges", merges(t));
}

static json_t *pre_tokenizer(const struct attn_tokenizer *t) {
  if (t->kind == ATTN_TOKENIZER_WORDPIECE) return json_pack("{s:s}", "type", "BertPreTokenizer");
  if (t->kind == ATTN_TOKENIZER_WORD) return json_pack("{s:s}", "type", "WhitespaceSplit");
  if (t->kind == ATTN_TOKENIZER_BPE) return bytes_part();
  return json_pack("{s:s, s:{s:s}, s:s, s:b}", "type", "Split", "pattern", "Regex", "[\\s\\S]",
                   "behavior", "Isolated", "invert", 0);
}

/* Without a decoder tokens are joined by spaces. */
static json_t *decoder(const struct attn_tokenizer *t) {
  if (t->kind == ATTN_TOKENIZER_WORDPIECE) return attn_wordpiece_decoder(t);
  if (t->kind == ATTN_TOKENIZER_WORD) return json_null();
  return t->kind == ATTN_TOKENIZER_BPE ? bytes_part() : json_pack("{s:s}", "type", "Fuse");
}

static json_t *document(const struct attn_tokenizer *t, int32_t begin, int32_t end) {
  int pieces = t->kind == ATTN_TOKENIZER_WORDPIECE;
  return json_pack("{s:s, s:o, s:n, s:o, s:o, s:o, s:o, s:o, s:o}", "version", "1.0", "truncation",
                   pieces ? attn_wordpiece_truncation(t) : json_null(), "padding", "added_tokens",
                   added_tokens(t), "normalizer",
                   pieces ? attn_wordpiece_normalizer(t) : json_null(), "pre_tokenizer",
                   pre_tokenizer(t), "post_processor", attn_template_write(t, begin, end),
                   "decoder", decoder(t), "model", model(t));
}

char *attn_tokenizer_to_json(const struct attn_tokenizer *t) {
  int framed = t->pretrained || t->kind == ATTN_TOKENIZER_WORDPIECE;
  return attn_tokenizer_to_json_with(t, framed ? t->begin : -1, framed ? t->end : -1);
}

char *attn_tokenizer_to_json_with(const struct attn_tokenizer *t, int32_t begin, int32_t end) {
  json_t *root = document(t, begin, end);
  return attn_json_finish(root, !root, JSON_INDENT(1));
}
