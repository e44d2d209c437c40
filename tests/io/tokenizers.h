/* tokenizers.h -- small tokenizers and helpers for their tests. */
#ifndef TEST_IO_TOKENIZERS_H
#define TEST_IO_TOKENIZERS_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bytes.h"
#include "faults.h"
#include "attn/io.h"
#include "tokenizer.h"
#include "unit.h"

enum { MOST = 4096, UNKNOWN = 3 };

static inline struct attn_text_view span(const char *text) {
  return (struct attn_text_view){text, strlen(text)};
}

static inline struct attn_tokenizer *bpe(const char *text, int64_t words) {
  struct attn_tokenizer *t = NULL;
  struct attn_text_view one = span(text);
  assert_int_equal(attn_tokenizer_train_bpe(&one, 1, words, NULL, &t, NULL), ATTN_OK);
  return t;
}

static inline struct attn_tokenizer *characters(const char *text) {
  struct attn_tokenizer *t = NULL;
  struct attn_text_view one = span(text);
  assert_int_equal(attn_tokenizer_train_characters(&one, 1, NULL, &t, NULL), ATTN_OK);
  return t;
}

/* ids of a text; the last of both arrays ends where memory does. */
static inline size_t encode(const struct attn_tokenizer *t, const char *text, size_t length,
                            int32_t *ids) {
  struct guarded in = guarded_new(length, 1), out = guarded_new(length * sizeof *ids, 1);
  size_t count;
  if (length) memcpy(in.data, text, length);
  assert_int_equal(
      attn_tokenizer_encode(t, (char *)in.data, length, (int32_t *)out.data, length, &count, NULL),
      ATTN_OK);
  assert_true(count <= length);
  if (count) memcpy(ids, out.data, count * sizeof *ids);
  guarded_free(&in);
  guarded_free(&out);
  return count;
}

static inline void comes_back(const struct attn_tokenizer *t, const char *text, size_t length) {
  static int32_t ids[MOST];
  static char back[MOST];
  size_t bytes, count = encode(t, text, length, ids);
  assert_int_equal(attn_tokenizer_decode(t, ids, count, back, length, &bytes, NULL), ATTN_OK);
  assert_int_equal(bytes, length);
  assert_memory_equal(back, text, length);
}

static inline void gives(const struct attn_tokenizer *t, const char *text, const int32_t *ids,
                         size_t n) {
  int32_t found[MOST];
  assert_int_equal(encode(t, text, strlen(text), found), n);
  assert_memory_equal(found, ids, n * sizeof *ids);
}

/* Whatever becomes of a good file: cut short it is refused, and with any bit flipped it is refused
 * or gives a tokenizer that can be used. */
static inline void damage_is_survived(const char *good,
                                      void (*use_and_free)(struct attn_tokenizer *t)) {
  static char text[FILE_MOST];
  size_t length = strlen(good);
  struct attn_tokenizer *t = NULL;
  memcpy(text, good, length);
  for (size_t size = 0; size < length; size++) {
    struct guarded g = guarded_new(size, 1);
    memcpy(g.data, text, size);
    assert_int_equal(attn_tokenizer_parse(g.data, size, &t, NULL), ATTN_ERR_FORMAT);
    guarded_free(&g);
  }
  for (size_t bit = 0; bit < 8 * length; bit++) {
    attn_error err = {0};
    text[bit / 8] = (char)(text[bit / 8] ^ 1 << bit % 8);
    faults_begin(FAULT_NONE, 0);
    attn_status status = attn_tokenizer_parse(text, length, &t, &err);
    if (!status) use_and_free(t);
    assert_true(!status || (status == ATTN_ERR_FORMAT && err.message[0]));
    assert_int_equal(faults_blocks(), 0);
    text[bit / 8] = (char)(text[bit / 8] ^ 1 << bit % 8);
  }
}

static const char *const story =
    "the cat's hat; the cat sat, they'll say: that's the hat the cat has had. 私は猫である。\n\n"
    "  the end 12 123  é\xcc\x81";

static inline attn_status write_file(const struct attn_tokenizer *t, const char *path,
                                     attn_error *err) {
  char *text = attn_tokenizer_to_json(t);
  attn_status status = text ? attn_file_write(path, text, strlen(text), err) : ATTN_ERR_MEMORY;
  free(text);
  return status;
}

static inline char *written(const struct attn_tokenizer *t, size_t *bytes) {
  char *text = attn_tokenizer_to_json(t);
  assert_non_null(text);
  *bytes = strlen(text);
  return text;
}

#endif
