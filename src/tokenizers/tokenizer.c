/* tokenizer.c -- encoding and decoding. */
#include "tokenizer.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "vocabulary.h"
#include "wordpiece.h"

enum { TEXT_MAX = 1 << 30 };

enum attn_tokenizer_kind attn_tokenizer_kind(const struct attn_tokenizer *t) { return t->kind; }

const char *attn_tokenizer_kind_name(const struct attn_tokenizer *t) {
  static const char *const names[] = {[ATTN_TOKENIZER_CHARACTER] = "characters",
                                      [ATTN_TOKENIZER_BPE] = "bpe",
                                      [ATTN_TOKENIZER_WORD] = "words",
                                      [ATTN_TOKENIZER_WORDPIECE] = "wordpiece"};
  return names[t->kind];
}

int64_t attn_tokenizer_vocab_size(const struct attn_tokenizer *t) {
  return (int64_t)t->tokens.count;
}

const char *attn_tokenizer_token(const struct attn_tokenizer *t, int32_t id) {
  size_t bytes;
  if (id < 0 || (size_t)id >= t->tokens.count) return NULL;
  return attn_intern_key(&t->tokens, (size_t)id, &bytes);
}

int32_t attn_tokenizer_special_token(const struct attn_tokenizer *t,
                                     enum attn_special_token which) {
  return which == ATTN_TOKEN_BOS ? t->begin : which == ATTN_TOKEN_EOS ? t->end : t->unknown;
}

int attn_tokenizer_is_special(const struct attn_tokenizer *t, int32_t id) {
  return id >= 0 && (size_t)id < t->tokens.count && t->special[id];
}

int64_t attn_tokenizer_max_length(const struct attn_tokenizer *t) {
  return t->wordpiece.max_length;
}

/* ---- Encoding ---- */

void attn_token_output_put(struct attn_token_output *out, int32_t id) {
  if (out->count < out->capacity) out->ids[out->count] = id;
  out->count++;
}

void attn_token_output_put_text(struct attn_token_output *out, int32_t id, int32_t unknown,
                                size_t at, size_t bytes) {
  attn_token_output_put(out, id < 0 ? unknown : id);
  if (id >= 0 || !out->notes || out->failed) return;
  if (!attn_grow((void **)&out->unknown, &out->unknown_capacity, out->unknowns + 1,
                 sizeof *out->unknown))
    out->failed = 1;
  else
    out->unknown[out->unknowns++] = (struct attn_unknown_range){at, bytes};
}

attn_status attn_fail_invalid_utf8(const char *text, size_t at, attn_error *err) {
  return attn_fail_offset(err, ATTN_ERR_FORMAT, (int64_t)at,
                          "text: byte 0x%02x is not valid UTF-8; convert the text to UTF-8",
                          (unsigned char)text[at]);
}

static attn_status encode_characters(const struct attn_tokenizer *t, const char *text,
                                     size_t length, struct attn_token_output *out,
                                     attn_error *err) {
  int32_t code;
  for (size_t at = 0, bytes; at < length; at += bytes) {
    bytes = attn_utf8_read(text + at, length - at, &code);
    if (!bytes) return attn_fail_invalid_utf8(text, at, err);
    int32_t id = attn_intern_find(&t->tokens, text + at, bytes);
    attn_token_output_put_text(out, id, t->unknown, at, bytes);
  }
  return ATTN_OK;
}

static attn_status encode_words(const struct attn_tokenizer *t, const char *text, size_t length,
                                struct attn_token_output *out, attn_error *err) {
  size_t at = 0;
  for (size_t bytes; (bytes = attn_next_word(text, length, &at)); at += bytes) {
    int32_t id = attn_vocabulary_find(t, text + at, bytes);
    attn_token_output_put_text(out, id, t->unknown, at, bytes);
  }
  return at == length ? ATTN_OK : attn_fail_invalid_utf8(text, at, err);
}

/* ---- BPE: merges one word's bytes, the lowest rank first, the leftmost among equals ---- */

enum { GONE = -2, END = -1 };

struct bpe_symbol {
  int32_t id, next, before; /* next, before: indices */
};

struct bpe_word {
  struct bpe_symbol *at;
  size_t capacity;
  struct attn_heap heap;
};

static int offer(struct bpe_word *m, const struct attn_tokenizer *t, int32_t place) {
  if (place == END || m->at[place].next == END) return 1;
  const struct attn_bpe_merge *merge =
      attn_vocabulary_find_merge(t, m->at[place].id, m->at[m->at[place].next].id);
  return !merge || attn_heap_push(&m->heap, (uint64_t)merge->rank, (uint64_t)place);
}

/* Skips an entry whose pair has changed since it was pushed. */
static int take(struct bpe_word *m, const struct attn_tokenizer *t, struct attn_heap_item top) {
  int32_t place = (int32_t)top.second;
  struct bpe_symbol *left = &m->at[place];
  if (left->id == GONE || left->next == END) return 1;
  struct bpe_symbol *right = &m->at[left->next];
  const struct attn_bpe_merge *merge = attn_vocabulary_find_merge(t, left->id, right->id);
  if (!merge || (uint64_t)merge->rank != top.first) return 1;
  left->id = merge->word, left->next = right->next;
  right->id = GONE;
  if (left->next != END) m->at[left->next].before = place;
  return offer(m, t, left->before) && offer(m, t, place);
}

/* The tokens are the ids of at[0..count). Returns 0 if out of memory. */
static int merge_word(struct bpe_word *m, const struct attn_tokenizer *t, const char *word,
                      size_t bytes, size_t *count) {
  *count = 0;
  if (!attn_grow((void **)&m->at, &m->capacity, bytes, sizeof *m->at)) return 0;
  for (size_t n = 0; n < bytes; n++) {
    int32_t id = t->byte[(unsigned char)word[n]];
    m->at[n] = (struct bpe_symbol){.id = id < 0 ? t->unknown : id,
                                   .next = n + 1 < bytes ? (int32_t)n + 1 : END,
                                   .before = (int32_t)n - 1};
  }
  for (size_t n = 0; n < bytes; n++)
    if (!offer(m, t, (int32_t)n)) return 0;
  while (m->heap.count)
    if (!take(m, t, attn_heap_pop(&m->heap))) return 0;
  for (size_t n = 0; n < bytes; n++)
    if (m->at[n].id != GONE) m->at[(*count)++] = m->at[n];
  return 1;
}

static attn_status encode_bpe(const struct attn_tokenizer *t, const char *text, size_t length,
                              struct attn_token_output *out, attn_error *err) {
  struct bpe_word m = {0};
  attn_status status = ATTN_OK;
  for (size_t at = 0, bytes, count; at < length && !status; at += bytes) {
    bytes = attn_gpt2_word_length(text + at, length - at);
    if (!merge_word(&m, t, text + at, bytes, &count))
      status = attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for a word of %zu bytes", bytes);
    for (size_t n = 0; n < count; n++) attn_token_output_put(out, m.at[n].id);
  }
  free(m.at), free(m.heap.at);
  return status;
}

static attn_status (*const encoders[])(const struct attn_tokenizer *t, const char *text,
                                       size_t length, struct attn_token_output *out,
                                       attn_error *err) = {
    [ATTN_TOKENIZER_CHARACTER] = encode_characters,
    [ATTN_TOKENIZER_BPE] = encode_bpe,
    [ATTN_TOKENIZER_WORD] = encode_words,
    [ATTN_TOKENIZER_WORDPIECE] = attn_wordpiece_encode};

static attn_status encode(const struct attn_tokenizer *t, const char *text, size_t length,
                          struct attn_token_output *out, attn_error *err) {
  if (length > TEXT_MAX)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "length", "length must be at most 2^30 bytes, got %zu",
                     length);
  return encoders[t->kind](t, text, length, out, err);
}

attn_status attn_tokenizer_find_unknown(const struct attn_tokenizer *t, const char *text,
                                        size_t length, struct attn_unknown_range **unknown,
                                        size_t *count, attn_error *err) {
  struct attn_token_output out = {.notes = 1};
  *unknown = NULL, *count = 0;
  attn_status status = encode(t, text, length, &out, err);
  if (!status && out.failed)
    status = attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for unknown text");
  if (status || !out.unknowns) return free(out.unknown), status;
  *unknown = out.unknown, *count = out.unknowns;
  return ATTN_OK;
}

attn_status attn_tokenizer_encode(const struct attn_tokenizer *t, const char *text, size_t length,
                                  int32_t *ids, size_t capacity, size_t *count, attn_error *err) {
  struct attn_token_output out = {.ids = ids, .capacity = capacity};
  *count = 0;
  attn_status status = encode(t, text, length, &out, err);
  if (status) return status;
  *count = out.count;
  if (out.count <= capacity) return ATTN_OK;
  return attn_fail(err, ATTN_ERR_MEMORY, "capacity", "capacity is %zu tokens, the text needs %zu",
                   capacity, out.count);
}

/* ---- Decoding ---- */

/* A token of byte letters only represents bytes; any other represents itself. */
static int is_letters(const char *word, size_t bytes) {
  int32_t code;
  for (size_t at = 0; at < bytes; at += attn_utf8_read(word + at, bytes - at, &code))
    if (!attn_utf8_read(word + at, bytes - at, &code) || attn_unicode_to_byte(code) < 0) return 0;
  return 1;
}

static void put_byte(char *text, size_t capacity, size_t *length, int byte) {
  if (*length < capacity) text[*length] = (char)byte;
  ++*length;
}

static void decode_word(const struct attn_tokenizer *t, int32_t id, char *text, size_t capacity,
                        size_t *length) {
  size_t bytes, step;
  int32_t code;
  const char *word = attn_intern_key(&t->tokens, (size_t)id, &bytes);
  int letters = t->kind == ATTN_TOKENIZER_BPE && is_letters(word, bytes);
  size_t skipped = 0;
  int space = t->kind == ATTN_TOKENIZER_WORD;
  if (t->kind == ATTN_TOKENIZER_WORDPIECE) skipped = attn_wordpiece_join(t, word, bytes, &space);
  if (!*length) skipped = 0;
  if (*length && space) put_byte(text, capacity, length, ' ');
  for (size_t at = skipped; at < bytes; at += step) {
    step = letters ? attn_utf8_read(word + at, bytes - at, &code) : 1;
    put_byte(text, capacity, length, letters ? attn_unicode_to_byte(code) : word[at]);
  }
}

attn_status attn_tokenizer_decode(const struct attn_tokenizer *t, const int32_t *ids, size_t count,
                                  char *text, size_t capacity, size_t *length, attn_error *err) {
  *length = 0;
  for (size_t n = 0; n < count; n++)
    if (ids[n] < 0 || (size_t)ids[n] >= t->tokens.count)
      return attn_fail(err, ATTN_ERR_ARGUMENT, "ids",
                       "ids[%zu]: token %d is outside the vocabulary (size %zu)", n, (int)ids[n],
                       t->tokens.count);
  for (size_t n = 0; n < count; n++) {
    if (t->special[ids[n]]) continue;
    decode_word(t, ids[n], text, capacity, length);
  }
  if (*length <= capacity) return ATTN_OK;
  return attn_fail(err, ATTN_ERR_MEMORY, "capacity", "capacity is %zu bytes, the text needs %zu",
                   capacity, *length);
}
