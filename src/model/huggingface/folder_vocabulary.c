/* folder_vocabulary.c -- the vocabulary of a folder.
 * [huggingface/transformers: models/gpt2/tokenization_gpt2.py,
 * models/marian/tokenization_marian.py]
 */
#include <stdlib.h>
#include <string.h>

#include "json_text.h"
#include "error.h"
#include "folder.h"

enum { MAX_FILE_BYTES = 64 << 20 };

static attn_status out_of_memory(attn_error *err) {
  return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for a vocabulary");
}

static int has(const char *folder, const char *name) {
  char *path;
  attn_folder_find(folder, name, &path, NULL);
  int found = path != NULL;
  free(path);
  return found;
}

/* ---- GPT-2's vocab.json and merges.txt ---- */

/* One merge per line, after a line with the version. */
static attn_status read_merges(const char *text, size_t size, json_t *merges, attn_error *err) {
  int64_t number = 1;
  for (const char *line = text, *end = text + size, *next; line < end; line = next, number++) {
    const char *newline = memchr(line, '\n', (size_t)(end - line));
    size_t bytes = (size_t)((newline ? newline : end) - line);
    next = newline ? newline + 1 : end;
    if (bytes && line[bytes - 1] == '\r') bytes--;
    if (!bytes || (number == 1 && bytes > 7 && !memcmp(line, "#version", 8))) continue;
    if (json_array_append_new(merges, json_stringn(line, bytes)))
      return attn_fail_at(err, ATTN_ERR_FORMAT, number, 1, "merges.txt: not UTF-8");
  }
  return ATTN_OK;
}

/* The equivalent tokenizer.json, with the special token <|endoftext|>. */
static json_t *document(json_t *vocab, json_t *merges) {
  static const char end[] = "<|endoftext|>";
  json_t *id = json_object_get(vocab, end);
  json_t *added =
      id ? json_pack("[{s:O, s:s, s:b}]", "id", id, "content", end, "special", 1) : json_array();
  return json_pack("{s:s, s:o, s:{s:s, s:b}, s:{s:s}, s:{s:s, s:O, s:O}}", "version", "1.0",
                   "added_tokens", added, "pre_tokenizer", "type", "ByteLevel", "add_prefix_space",
                   0, "decoder", "type", "ByteLevel", "model", "type", "BPE", "vocab", vocab,
                   "merges", merges);
}

static attn_status parse(json_t *vocab, json_t *merges, struct attn_tokenizer **tokenizer,
                         attn_error *err) {
  json_t *root = document(vocab, merges);
  char *text = attn_json_finish(root, !root, JSON_COMPACT);
  if (!text) return out_of_memory(err);
  attn_status status = attn_tokenizer_parse_pretrained(text, strlen(text), tokenizer, err);
  free(text);
  return status;
}

static attn_status read_pairs(const char *folder, struct attn_tokenizer **tokenizer,
                              attn_error *err) {
  char *words = NULL, *text = NULL;
  size_t bytes, more;
  json_t *vocab = NULL, *merges = json_array();
  attn_status status = merges ? ATTN_OK : out_of_memory(err);
  if (!status) status = attn_folder_text(folder, "vocab.json", MAX_FILE_BYTES, &words, &bytes, err);
  if (!status) status = attn_folder_text(folder, "merges.txt", MAX_FILE_BYTES, &text, &more, err);
  if (!status) status = attn_json_read("vocab.json", words, bytes, 0, &vocab, err);
  if (!status) status = read_merges(text, more, merges, err);
  if (!status) status = parse(vocab, merges, tokenizer, err);
  json_decref(vocab), json_decref(merges), free(words), free(text);
  return status;
}

/* ---- Which files ---- */

/* transformers applies these over tokenizer.json. model_max_length may be 10^30. */
static attn_status check_settings(const char *folder, attn_error *err) {
  static const char *const names[] = {"add_prefix_space", "add_bos_token", "add_eos_token"};
  json_t *root;
  attn_status status =
      attn_folder_json(folder, "tokenizer_config.json", JSON_DECODE_INT_AS_REAL, &root, err);
  for (size_t n = 0; n < sizeof names / sizeof *names && !status; n++)
    if (json_is_true(json_object_get(root, names[n])))
      status =
          attn_fail(err, ATTN_ERR_FORMAT, NULL,
                    "tokenizer_config.json: \"%s\" is true; only false is supported", names[n]);
  json_decref(root);
  return status;
}

static attn_status read_document(const char *folder, int any_special_tokens,
                                 struct attn_tokenizer **tokenizer, attn_error *err) {
  char *text = NULL;
  size_t size;
  attn_status status =
      attn_folder_text(folder, "tokenizer.json", MAX_FILE_BYTES, &text, &size, err);
  if (!status)
    status = (any_special_tokens ? attn_tokenizer_parse_pretrained : attn_tokenizer_parse)(
        text, size, tokenizer, err);
  free(text);
  return status;
}

attn_status attn_folder_read_tokenizer(const char *folder, const struct attn_model_config *config,
                                       struct attn_tokenizer **tokenizer, attn_error *err) {
  int encodes = config->kind == ATTN_ENCODER;
  if (!encodes && !has(folder, "tokenizer.json")) {
    if (has(folder, "source.spm"))
      return attn_fail(
          err, ATTN_ERR_FORMAT, NULL,
          "source.spm: SentencePiece is not supported; add a tokenizer.json (BPE, WordLevel or "
          "WordPiece, of the tokenizers library) with the same token ids");
    if (config->kind == ATTN_DECODER && has(folder, "vocab.json")) {
      attn_status status = check_settings(folder, err);
      return status ? status : read_pairs(folder, tokenizer, err);
    }
  }
  attn_status status = encodes ? ATTN_OK : check_settings(folder, err);
  return status ? status : read_document(folder, !encodes, tokenizer, err);
}
