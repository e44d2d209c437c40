#include "vocabulary.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

const char *const attn_special_tokens[ATTN_NUM_SPECIAL_TOKENS] = {"<pad>", "<s>", "</s>", "<unk>"};

/* ---- Words and merges ---- */

struct attn_tokenizer *attn_vocabulary_new(enum attn_tokenizer_kind kind) {
  struct attn_tokenizer *t = calloc(1, sizeof *t);
  if (!t) return NULL;
  t->kind = kind;
  t->begin = ATTN_TOKEN_BEGIN, t->end = ATTN_TOKEN_END, t->unknown = ATTN_TOKEN_UNKNOWN;
  memset(t->byte, 0xff, sizeof t->byte);
  return t;
}

void attn_tokenizer_free(struct attn_tokenizer *t) {
  if (!t) return;
  attn_intern_free(&t->tokens);
  attn_intern_free(&t->merges);
  free(t->special), free(t->merge), free(t->wordpiece.prefix), free(t);
}

int attn_vocabulary_add(struct attn_tokenizer *t, const char *word, size_t bytes, int special) {
  size_t n = t->tokens.count;
  int32_t code;
  if (!attn_grow((void **)&t->special, &t->special_capacity, n + 1, 1) ||
      attn_intern_add(&t->tokens, word, bytes) < 0)
    return 0;
  t->special[n] = (unsigned char)special;
  int byte =
      !special && attn_utf8_read(word, bytes, &code) == bytes ? attn_unicode_to_byte(code) : -1;
  if (byte >= 0) t->byte[byte] = (int32_t)n;
  return 1;
}

int32_t attn_vocabulary_find(const struct attn_tokenizer *t, const char *word, size_t bytes) {
  int32_t id = attn_intern_find(&t->tokens, word, bytes);
  return id >= 0 && t->special[id] ? -1 : id;
}

int attn_vocabulary_missing_byte(const struct attn_tokenizer *t) {
  for (int n = 0; n < 256; n++)
    if (t->byte[n] < 0) return n;
  return -1;
}

int attn_vocabulary_add_merge(struct attn_tokenizer *t, int32_t left, int32_t right, int32_t word) {
  const int32_t pair[2] = {left, right};
  if (!attn_grow((void **)&t->merge, &t->merge_capacity, t->merges.count + 1, sizeof *t->merge))
    return 0;
  int32_t n = attn_intern_add(&t->merges, pair, sizeof pair);
  if (n < 0) return 0;
  t->merge[n] = (struct attn_bpe_merge){t->ranks++, word};
  return 1;
}

const struct attn_bpe_merge *attn_vocabulary_find_merge(const struct attn_tokenizer *t,
                                                        int32_t left, int32_t right) {
  const int32_t pair[2] = {left, right};
  int32_t n = attn_intern_find(&t->merges, pair, sizeof pair);
  return n < 0 ? NULL : &t->merge[n];
}

/* ---- Letters for bytes: printable Latin-1 is itself, the other 68 are U+0100 to U+0143 ---- */

int32_t attn_byte_to_unicode(unsigned char byte) {
  if (byte <= 32) return 256 + byte;
  if (byte >= 127 && byte <= 160) return 256 + 33 + byte - 127;
  return byte == 173 ? 256 + 67 : byte;
}

int attn_unicode_to_byte(int32_t letter) {
  if (letter >= 256 && letter < 256 + 33) return letter - 256;
  if (letter >= 256 + 33 && letter < 256 + 67) return letter - 256 - 33 + 127;
  if (letter == 256 + 67) return 173;
  return letter >= 0 && letter < 256 && attn_byte_to_unicode((unsigned char)letter) == letter
             ? letter
             : -1;
}

/* ---- Characters ---- */

size_t attn_utf8_write(int32_t code, char *to) {
  return (size_t)utf8proc_encode_char(code, (utf8proc_uint8_t *)to);
}

/* ---- Words: 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+ ---- */

enum char_class { NONE, SPACE, LETTER, NUMBER, OTHER };

int attn_is_space(int32_t c) {
  return (c >= 9 && c <= 13) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

/* The class of the character at text; an invalid byte is a character. Characters newer than
 * utf8proc's tables are OTHER. */
static enum char_class class_at(const char *text, size_t length, size_t *bytes) {
  int32_t code;
  *bytes = 0;
  if (!length) return NONE;
  *bytes = attn_utf8_read(text, length, &code);
  if (!*bytes) return *bytes = 1, OTHER;
  if (attn_is_space(code)) return SPACE;
  utf8proc_category_t category = utf8proc_category(code);
  if (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO) return LETTER;
  if (category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO) return NUMBER;
  return OTHER;
}

/* The end of the run of that class at `at`; *last: the start of its last character. */
static size_t run(const char *text, size_t length, size_t at, enum char_class class, size_t *last) {
  size_t bytes;
  while (class_at(text + at, length - at, &bytes) == class) {
    *last = at;
    at += bytes;
  }
  return at;
}

size_t attn_next_word(const char *text, size_t length, size_t *at) {
  int32_t code;
  size_t bytes, end;
  for (; (bytes = attn_utf8_read(text + *at, length - *at, &code)) && attn_is_space(code);)
    *at += bytes;
  for (end = *at; (bytes = attn_utf8_read(text + end, length - end, &code)); end += bytes)
    if (attn_is_space(code)) return end - *at;
  if (end < length) return *at = end, (size_t)0;
  return end - *at;
}

static size_t contraction(const char *text, size_t length) {
  static const char *const ends[] = {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};
  for (size_t n = 0; n < sizeof ends / sizeof *ends; n++) {
    size_t bytes = strlen(ends[n]);
    if (bytes <= length && !memcmp(text, ends[n], bytes)) return bytes;
  }
  return 0;
}

size_t attn_gpt2_word_length(const char *text, size_t length) {
  size_t bytes, second, last = 0, end = contraction(text, length);
  if (end) return end;
  enum char_class first = class_at(text, length, &bytes);
  if (first != SPACE) return run(text, length, 0, first, &last);
  enum char_class next = class_at(text + bytes, length - bytes, &second);
  if (*text == ' ' && next != SPACE && next != NONE) return run(text, length, bytes, next, &last);
  end = run(text, length, 0, SPACE, &last);
  /* The last space before a word belongs to the word or is alone. */
  return end < length && last ? last : end;
}
