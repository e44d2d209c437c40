/* tokenizer_read.c -- Hugging Face's tokenizer.json, treated as untrusted.
 * [huggingface/tokenizers: serialization of Tokenizer, models::bpe, models::wordlevel] */
#include <stdlib.h>
#include <string.h>

#include "json_text.h"
#include "error.h"
#include "file.h"
#include "template_processing.h"
#include "tokenizer_schema.h"
#include "vocabulary.h"
#include "wordpiece.h"

enum { FILE_BYTES_MAX = 64 << 20, NAME_SHOWN = ATTN_NAME_SHOWN };

/* ---- The schema ---- */

static const struct attn_schema_member root_schema[] = {
    {"version", "\"1.0\"", 0}, {"truncation", "null", 1},   {"padding", "null", 1},
    {"added_tokens", NULL, 0}, {"normalizer", "null", 1},   {"pre_tokenizer", NULL, 0},
    {"decoder", NULL, 0},      {"post_processor", NULL, 1}, {"model", NULL, 0}};
static const struct attn_schema_member bytes_schema[] = {{"type", "\"ByteLevel\"", 0},
                                                         {"add_prefix_space", "false", 0},
                                                         {"trim_offsets", ATTN_SCHEMA_BOOL, 1},
                                                         {"use_regex", "true", 1}};
/* ByteLevel's members have an effect only before the model, not in the decoder. */
static const struct attn_schema_member any_bytes_schema[] = {
    {"type", "\"ByteLevel\"", 0},
    {"add_prefix_space", ATTN_SCHEMA_BOOL, 1},
    {"trim_offsets", ATTN_SCHEMA_BOOL, 1},
    {"use_regex", ATTN_SCHEMA_BOOL, 1}};
static const struct attn_schema_member split_schema[] = {
    {"type", "\"Split\"", 0},
    {"pattern", "{\"Regex\":\"[\\\\s\\\\S]\"} {\"String\":\"\"}", 0},
    {"behavior", "\"Isolated\"", 0},
    {"invert", "false", 0}};
static const struct attn_schema_member space_schema[] = {{"type", "\"WhitespaceSplit\"", 0}};
static const struct attn_schema_member fuse_schema[] = {{"type", "\"Fuse\"", 0}};
/* read_unknown checks unk_token. GPT-2's own file has no type. */
static const struct attn_schema_member bpe_schema[] = {
    {"type", "\"BPE\"", 1},
    {"dropout", "null 0.0 0", 1},
    {"unk_token", NULL, 1},
    {"continuing_subword_prefix", "null \"\"", 1},
    {"end_of_word_suffix", "null \"\"", 1},
    {"fuse_unk", "false", 1},
    {"byte_fallback", "false", 1},
    {"ignore_merges", "false", 1},
    {"vocab", NULL, 0},
    {"merges", NULL, 0}};
static const struct attn_schema_member word_level_schema[] = {
    {"type", "\"WordLevel\"", 0}, {"unk_token", NULL, 0}, {"vocab", NULL, 0}};
static const struct attn_schema_member added_schema[] = {{"id", NULL, 0},
                                                         {"content", NULL, 0},
                                                         {"single_word", ATTN_SCHEMA_BOOL, 1},
                                                         {"lstrip", ATTN_SCHEMA_BOOL, 1},
                                                         {"rstrip", ATTN_SCHEMA_BOOL, 1},
                                                         {"normalized", ATTN_SCHEMA_BOOL, 1},
                                                         {"special", "true", 0}};

static attn_status check_pre_tokenizer(const json_t *part, enum attn_tokenizer_kind kind,
                                       attn_error *err) {
  static const char where[] = "pre_tokenizer";
  if (kind == ATTN_TOKENIZER_BPE) return ATTN_SCHEMA_CHECK(part, where, bytes_schema, err);
  if (kind == ATTN_TOKENIZER_WORD) return ATTN_SCHEMA_CHECK(part, where, space_schema, err);
  return ATTN_SCHEMA_CHECK(part, where, split_schema, err);
}

static attn_status check_decoder(const json_t *part, enum attn_tokenizer_kind kind,
                                 attn_error *err) {
  static const char where[] = "decoder";
  if (kind == ATTN_TOKENIZER_BPE) return ATTN_SCHEMA_CHECK(part, where, any_bytes_schema, err);
  if (kind == ATTN_TOKENIZER_CHARACTER) return ATTN_SCHEMA_CHECK(part, where, fuse_schema, err);
  return json_is_null(part)
             ? ATTN_OK
             : attn_tokenizer_invalid(err, where, "expected null: WordLevel needs no decoder");
}

/* The parts around the model, which must not change token ids. */
static attn_status check_parts(const json_t *root, const struct attn_tokenizer *t,
                               attn_error *err) {
  const json_t *post = json_object_get(root, "post_processor");
  attn_status status = check_pre_tokenizer(json_object_get(root, "pre_tokenizer"), t->kind, err);
  if (!status) status = check_decoder(json_object_get(root, "decoder"), t->kind, err);
  if (!status && post && !json_is_null(post) && !(t->pretrained && attn_template_is(post)))
    status = ATTN_SCHEMA_CHECK(post, "post_processor", any_bytes_schema, err);
  return status;
}

/* ---- The vocabulary ---- */

struct vocab_entry {
  const char *content; /* owned by the document; NULL: the id is free */
  int special;
};

struct vocab_builder {
  const json_t *listed, *added;
  struct vocab_entry *word;
  size_t count;
};

static attn_status place(struct vocab_builder *v, const char *content, const json_t *id,
                         int special, const char *where, attn_error *err) {
  if (!json_is_integer(id))
    return attn_fail(err, ATTN_ERR_FORMAT, NULL,
                     "tokenizer.json: %s: the id of \"%.*s\" is not an integer", where, NAME_SHOWN,
                     content);
  json_int_t n = json_integer_value(id);
  if (!*content) return attn_tokenizer_invalid(err, where, "a token is empty");
  if (n < 0 || (uint64_t)n >= v->count)
    return attn_fail(err, ATTN_ERR_FORMAT, NULL,
                     "tokenizer.json: %s: \"%.*s\" has id %lld; the ids of %zu tokens must be 0 to "
                     "%zu without gaps",
                     where, NAME_SHOWN, content, (long long)n, v->count, v->count - 1);
  if (v->word[n].content)
    return attn_fail(err, ATTN_ERR_FORMAT, NULL,
                     "tokenizer.json: %s: \"%.*s\" and \"%.*s\" have the same id, %lld", where,
                     NAME_SHOWN, v->word[n].content, NAME_SHOWN, content, (long long)n);
  v->word[n] = (struct vocab_entry){content, special};
  return ATTN_OK;
}

static attn_status check_added(const json_t *added, attn_error *err) {
  char where[40];
  attn_status status = ATTN_OK;
  if (!json_is_array(added))
    return attn_tokenizer_invalid(err, "added_tokens", "expected an array");
  for (size_t n = 0; n < json_array_size(added) && !status; n++) {
    const json_t *one = json_array_get(added, n);
    snprintf(where, sizeof where, "added_tokens[%zu]", n);
    status = ATTN_SCHEMA_CHECK(one, where, added_schema, err);
    if (!status && !json_is_string(json_object_get(one, "content")))
      status = attn_tokenizer_invalid(err, where, "content is not a string");
  }
  return status;
}

static const char *content_of(const json_t *added, size_t n) {
  return json_string_value(json_object_get(json_array_get(added, n), "content"));
}

/* An added token may be in the vocabulary too, with the same id. */
static attn_status place_added(struct vocab_builder *v, size_t n, attn_error *err) {
  char where[40];
  const char *content = content_of(v->added, n);
  const json_t *id = json_object_get(json_array_get(v->added, n), "id");
  const json_t *listed = json_object_get(v->listed, content);
  snprintf(where, sizeof where, "added_tokens[%zu]", n);
  if (!listed) return place(v, content, id, 1, where, err);
  if (!json_equal(listed, id))
    return attn_tokenizer_invalid(err, where, "its id differs from model.vocab");
  v->word[json_integer_value(id)].special = 1;
  return ATTN_OK;
}

static attn_status place_words(struct vocab_builder *v, attn_error *err) {
  const char *content;
  json_t *id;
  attn_status status = ATTN_OK;
  v->count = json_object_size(v->listed);
  for (size_t n = 0; n < json_array_size(v->added); n++)
    v->count += !json_object_get(v->listed, content_of(v->added, n));
  if (v->count > ATTN_VOCAB_SIZE_MAX)
    return attn_tokenizer_invalid(err, "model.vocab", "more than 2^24 tokens");
  if (!(v->word = calloc(v->count + 1, sizeof *v->word))) return attn_tokenizer_no_memory(err);
  json_object_foreach((json_t *)v->listed, content, id) {
    if (!status) status = place(v, content, id, 0, "model.vocab", err);
  }
  for (size_t n = 0; n < json_array_size(v->added) && !status; n++) status = place_added(v, n, err);
  return status; /* as many ids as tokens, none twice: no gaps */
}

attn_status attn_tokenizer_check_special_tokens(const struct attn_tokenizer *t, attn_error *err) {
  for (int32_t n = 0; n < ATTN_NUM_SPECIAL_TOKENS; n++) {
    const char *word = attn_tokenizer_token(t, n);
    if (!word || strcmp(word, attn_special_tokens[n]) || !t->special[n])
      return attn_fail(err, ATTN_ERR_FORMAT, NULL,
                       "tokenizer.json: added_tokens: %s must have id %d; train with "
                       "special_tokens [\"<pad>\", \"<s>\", \"</s>\", \"<unk>\"] first",
                       attn_special_tokens[n], (int)n);
  }
  return ATTN_OK;
}

static int has_space(const char *word) {
  int32_t code;
  for (size_t at = 0, bytes; word[at]; at += bytes) {
    bytes = attn_utf8_read(word + at, strlen(word + at), &code);
    if (attn_is_space(code)) return 1;
  }
  return 0;
}

/* Text must not be able to contain a special token, and every token of a CHARACTER vocabulary is
 * one character. jansson accepts only UTF-8. */
static attn_status check_word(const struct attn_tokenizer *t, const struct vocab_entry *word,
                              size_t n, attn_error *err) {
  int32_t code;
  int single = attn_utf8_read(word->content, strlen(word->content), &code) == strlen(word->content);
  if ((t->kind == ATTN_TOKENIZER_WORD || t->kind == ATTN_TOKENIZER_WORDPIECE) &&
      has_space(word->content))
    return attn_fail(
        err, ATTN_ERR_FORMAT, NULL,
        "tokenizer.json: token %zu, \"%.*s\", contains white space: no text is encoded as it", n,
        NAME_SHOWN, word->content);
  if (word->special ? !single : single || t->kind != ATTN_TOKENIZER_CHARACTER) return ATTN_OK;
  return attn_fail(
      err, ATTN_ERR_FORMAT, NULL, "tokenizer.json: token %zu, \"%.*s\", is %s", n, NAME_SHOWN,
      word->content,
      word->special
          ? "a single character, which must not be special"
          : "more than one character, which a WordLevel model split by character cannot have");
}

static attn_status add_words(struct attn_tokenizer *t, const struct vocab_builder *v,
                             attn_error *err) {
  attn_status status = ATTN_OK;
  for (size_t n = 0; n < v->count && !status; n++) {
    const struct vocab_entry *word = &v->word[n];
    status = check_word(t, word, n, err);
    if (!status && !attn_vocabulary_add(t, word->content, strlen(word->content), word->special))
      status = attn_tokenizer_no_memory(err);
  }
  if (status || t->pretrained || t->kind == ATTN_TOKENIZER_WORDPIECE) return status;
  return attn_tokenizer_check_special_tokens(t, err);
}

static attn_status read_words(struct attn_tokenizer *t, const json_t *root, const json_t *model,
                              attn_error *err) {
  struct vocab_builder v = {json_object_get(model, "vocab"), json_object_get(root, "added_tokens"),
                            NULL, 0};
  if (!json_is_object(v.listed))
    return attn_tokenizer_invalid(err, "model.vocab", "expected an object");
  attn_status status = check_added(v.added, err);
  if (!status) status = place_words(&v, err);
  if (!status) status = add_words(t, &v, err);
  free(v.word);
  return status;
}

/* ---- Merges ---- */

struct merge_pair {
  const char *left, *right;
  size_t left_bytes, right_bytes;
};

/* "a b", or ["a", "b"] in newer files. */
static int split(const json_t *merge, struct merge_pair *h) {
  if (json_is_array(merge) && json_array_size(merge) == 2) {
    h->left = json_string_value(json_array_get(merge, 0));
    h->right = json_string_value(json_array_get(merge, 1));
    if (!h->left || !h->right) return 0;
    h->left_bytes = strlen(h->left);
  } else {
    h->left = json_string_value(merge);
    const char *space = h->left ? strchr(h->left, ' ') : NULL;
    if (!space || strchr(space + 1, ' ')) return 0;
    h->left_bytes = (size_t)(space - h->left);
    h->right = space + 1;
  }
  h->right_bytes = strlen(h->right);
  return 1;
}

static attn_status unknown(attn_error *err, size_t n, const char *word, size_t bytes) {
  return attn_fail(err, ATTN_ERR_FORMAT, NULL,
                   "tokenizer.json: model.merges[%zu]: \"%.*s\" is not in model.vocab, or is a "
                   "special token",
                   n, bytes < NAME_SHOWN ? (int)bytes : NAME_SHOWN, word);
}

static attn_status read_merge(struct attn_tokenizer *t, const json_t *merge, size_t n,
                              attn_error *err) {
  struct merge_pair h;
  if (!split(merge, &h))
    return attn_fail(err, ATTN_ERR_FORMAT, NULL,
                     "tokenizer.json: model.merges[%zu] is neither \"a b\" nor [\"a\", \"b\"]", n);
  int32_t left = attn_vocabulary_find(t, h.left, h.left_bytes);
  int32_t right = attn_vocabulary_find(t, h.right, h.right_bytes);
  if (left < 0) return unknown(err, n, h.left, h.left_bytes);
  if (right < 0) return unknown(err, n, h.right, h.right_bytes);
  size_t bytes = h.left_bytes + h.right_bytes;
  char *word = malloc(bytes);
  if (!word) return attn_tokenizer_no_memory(err);
  memcpy(word, h.left, h.left_bytes);
  memcpy(word + h.left_bytes, h.right, h.right_bytes);
  int32_t made = attn_vocabulary_find(t, word, bytes);
  attn_status status = made < 0 ? unknown(err, n, word, bytes) : ATTN_OK;
  free(word);
  if (!status && !attn_vocabulary_add_merge(t, left, right, made))
    status = attn_tokenizer_no_memory(err);
  return status;
}

static attn_status read_merges(struct attn_tokenizer *t, const json_t *merges, attn_error *err) {
  attn_status status = ATTN_OK;
  if (!json_is_array(merges))
    return attn_tokenizer_invalid(err, "model.merges", "expected an array");
  for (size_t n = 0; n < json_array_size(merges) && !status; n++)
    status = read_merge(t, json_array_get(merges, n), n, err);
  return status;
}

/* Without a token for every byte and without unk_token, bytes would be lost. */
static attn_status check_bytes(const struct attn_tokenizer *t, const json_t *model,
                               attn_error *err) {
  int missing = attn_vocabulary_missing_byte(t);
  if (missing < 0 || json_is_string(json_object_get(model, "unk_token"))) return ATTN_OK;
  return attn_fail(err, ATTN_ERR_FORMAT, NULL,
                   "tokenizer.json: model.vocab has no token for byte 0x%02x, and unk_token is "
                   "null; train with ByteLevel.alphabet() as initial_alphabet",
                   (unsigned)missing);
}

/* ---- The document ---- */

static int is_wordpiece(const json_t *root) {
  const char *name = json_string_value(json_object_get(json_object_get(root, "model"), "type"));
  return name && !strcmp(name, "WordPiece");
}

/* The pre_tokenizer decides whether a WordLevel model's tokens are words or characters. */
static attn_status read_kind(const json_t *root, int pretrained, enum attn_tokenizer_kind *kind,
                             attn_error *err) {
  const json_t *model = json_object_get(root, "model");
  const char *cut =
      json_string_value(json_object_get(json_object_get(root, "pre_tokenizer"), "type"));
  int spaced = cut && !strcmp(cut, "WhitespaceSplit");
  const json_t *type = json_object_get(model, "type");
  const char *name = json_string_value(type);
  if (pretrained && !type && json_object_get(model, "merges")) name = "BPE"; /* GPT-2's own file */
  if (!json_is_object(model)) return attn_tokenizer_invalid(err, "model", "expected an object");
  if (!name) return attn_tokenizer_invalid(err, "model", "type is missing or not a string");
  *kind = !strcmp(name, "BPE") ? ATTN_TOKENIZER_BPE
          : is_wordpiece(root) ? ATTN_TOKENIZER_WORDPIECE
          : spaced             ? ATTN_TOKENIZER_WORD
                               : ATTN_TOKENIZER_CHARACTER;
  if (*kind == ATTN_TOKENIZER_BPE || is_wordpiece(root) || !strcmp(name, "WordLevel"))
    return ATTN_OK;
  return attn_fail(err, ATTN_ERR_FORMAT, NULL,
                   "tokenizer.json: model.type is \"%.*s\", which is not supported; expected BPE, "
                   "WordLevel or WordPiece",
                   NAME_SHOWN, name);
}

/* Sets the token of unknown text. BPE may have none: null or missing. */
static attn_status read_unknown(struct attn_tokenizer *t, const json_t *model, attn_error *err) {
  const json_t *token = json_object_get(model, "unk_token");
  const char *text = json_string_value(token);
  int32_t id = text ? attn_intern_find(&t->tokens, text, strlen(text)) : -1;
  if (t->kind == ATTN_TOKENIZER_BPE && (!token || json_is_null(token))) {
    t->unknown = t->pretrained ? -1 : ATTN_TOKEN_UNKNOWN;
    return ATTN_OK;
  }
  t->unknown = id;
  if (t->pretrained ? id >= 0 : id == ATTN_TOKEN_UNKNOWN) return ATTN_OK;
  if (!text) return attn_tokenizer_invalid(err, "model.unk_token", "expected a string");
  return attn_fail(err, ATTN_ERR_FORMAT, NULL,
                   "tokenizer.json: model.unk_token is \"%.*s\"; expected %s", NAME_SHOWN, text,
                   t->pretrained ? "a token of model.vocab" : "\"<unk>\"");
}

/* A pretrained file defines what begins and ends a text. */
static attn_status read_frame(struct attn_tokenizer *t, const json_t *root, attn_error *err) {
  const json_t *post = json_object_get(root, "post_processor");
  if (!t->pretrained) return ATTN_OK;
  return attn_template_read(t, attn_template_is(post) ? post : NULL, err);
}

static attn_status read_model(const json_t *root, struct attn_tokenizer *t, attn_error *err) {
  const json_t *model = json_object_get(root, "model");
  int bpe = t->kind == ATTN_TOKENIZER_BPE;
  attn_status status = ATTN_OK;
  if (t->kind == ATTN_TOKENIZER_WORDPIECE) {
    status = read_words(t, root, model, err);
    return status ? status : attn_wordpiece_read(t, root, err);
  }
  status = bpe ? ATTN_SCHEMA_CHECK(model, "model", bpe_schema, err)
               : ATTN_SCHEMA_CHECK(model, "model", word_level_schema, err);
  if (!status) status = check_parts(root, t, err);
  if (!status) status = read_words(t, root, model, err);
  if (!status) status = read_unknown(t, model, err);
  if (!status) status = read_frame(t, root, err);
  if (!status && bpe) status = read_merges(t, json_object_get(model, "merges"), err);
  return status || !bpe ? status : check_bytes(t, model, err);
}

static attn_status read_root(const json_t *root, int pretrained, struct attn_tokenizer **tokenizer,
                             attn_error *err) {
  enum attn_tokenizer_kind kind = ATTN_TOKENIZER_CHARACTER;
  attn_status status = is_wordpiece(root) ? attn_wordpiece_check_root(root, err)
                                          : ATTN_SCHEMA_CHECK(root, "document", root_schema, err);
  if (!status) status = read_kind(root, pretrained, &kind, err);
  if (status) return status;
  struct attn_tokenizer *t = attn_vocabulary_new(kind);
  if (!t) return attn_tokenizer_no_memory(err);
  t->pretrained = pretrained && kind != ATTN_TOKENIZER_WORDPIECE;
  status = read_model(root, t, err);
  if (status) return attn_tokenizer_free(t), status;
  *tokenizer = t;
  return ATTN_OK;
}

static attn_status parse(const void *json, size_t size, int pretrained,
                         struct attn_tokenizer **tokenizer, attn_error *err) {
  json_t *root;
  if (size > FILE_BYTES_MAX)
    return attn_fail(err, ATTN_ERR_FORMAT, NULL, "tokenizer.json: %zu bytes; the limit is 2^26",
                     size);
  attn_status status = attn_json_read("tokenizer.json", json, size, 0, &root, err);
  if (!status) status = read_root(root, pretrained, tokenizer, err);
  json_decref(root);
  return status;
}

attn_status attn_tokenizer_parse(const void *json, size_t size, struct attn_tokenizer **tokenizer,
                                 attn_error *err) {
  return parse(json, size, 0, tokenizer, err);
}

attn_status attn_tokenizer_parse_pretrained(const void *json, size_t size,
                                            struct attn_tokenizer **tokenizer, attn_error *err) {
  return parse(json, size, 1, tokenizer, err);
}

attn_status attn_tokenizer_read(const char *path, struct attn_tokenizer **tokenizer,
                                attn_error *err) {
  char *text;
  size_t size;
  attn_status status = attn_file_read(path, FILE_BYTES_MAX, NULL, &text, &size, err);
  if (!status) status = parse(text, size, 0, tokenizer, err);
  free(text);
  return status;
}
