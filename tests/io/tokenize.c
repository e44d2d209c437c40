/* The tokenizer as a program, for tests/python/test_tokenizer.py. Texts are lines of hexadecimal
 * digits.
 *     tokenize train-bpe VOCAB_SIZE FILE      texts in
 *     tokenize train-characters FILE     texts in
 *     tokenize train-words FILE          texts in
 *     tokenize encode FILE               texts in, lines of ids out
 *     tokenize decode FILE               lines of ids in, texts out
 *     tokenize rewrite FROM TO */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attn/io.h"
#include "tokenizer.h"

static attn_error err;

static void check(attn_status status) {
  if (!status) return;
  fprintf(stderr, "%s\n", err.message);
  exit(1);
}

static void *allocate(size_t bytes) {
  void *memory = malloc(bytes ? bytes : 1);
  if (!memory) abort();
  return memory;
}

static char *line(void) {
  static char *text;
  static size_t capacity;
  return getline(&text, &capacity, stdin) < 0 ? free(text), NULL : text;
}

static struct attn_text_view from_hex(const char *digits) {
  size_t length = strspn(digits, "0123456789abcdef") / 2;
  char *text = allocate(length);
  for (size_t n = 0; n < length; n++) {
    const char pair[] = {digits[2 * n], digits[2 * n + 1], 0};
    text[n] = (char)strtol(pair, NULL, 16);
  }
  return (struct attn_text_view){text, length};
}

static void write(const struct attn_tokenizer *t, const char *path) {
  char *text = attn_tokenizer_to_json(t);
  check(text ? attn_file_write(path, text, strlen(text), &err) : ATTN_ERR_MEMORY);
  free(text);
}

/* words: the vocabulary's size; 0: characters, -1: words. */
static void train(int64_t words, const char *path) {
  struct attn_text_view *texts = allocate(100000 * sizeof *texts);
  struct attn_tokenizer *t = NULL;
  size_t count = 0;
  for (char *at; count < 100000 && (at = line());) texts[count++] = from_hex(at);
  check(words > 0   ? attn_tokenizer_train_bpe(texts, count, words, NULL, &t, &err)
        : words < 0 ? attn_tokenizer_train_words(texts, count, NULL, &t, &err)
                    : attn_tokenizer_train_characters(texts, count, NULL, &t, &err));
  write(t, path);
  while (count) free((void *)texts[--count].text);
  free(texts);
  attn_tokenizer_free(t);
}

static void encode(const struct attn_tokenizer *t) {
  for (char *at; (at = line());) {
    struct attn_text_view text = from_hex(at);
    int32_t *ids = allocate(text.length * sizeof *ids);
    size_t count;
    check(attn_tokenizer_encode(t, text.text, text.length, ids, text.length, &count, &err));
    for (size_t n = 0; n < count; n++) printf("%d ", (int)ids[n]);
    puts("");
    free(ids);
    free((void *)text.text);
  }
}

static void decode(const struct attn_tokenizer *t) {
  for (char *at, *end; (at = line());) {
    int32_t *ids = allocate(strlen(at) * sizeof *ids);
    size_t count = 0, length;
    for (long id; id = strtol(at, &end, 10), end != at; at = end) ids[count++] = (int32_t)id;
    attn_tokenizer_decode(t, ids, count, NULL, 0, &length, NULL);
    char *text = allocate(length);
    check(attn_tokenizer_decode(t, ids, count, text, length, &length, &err));
    for (size_t n = 0; n < length; n++) printf("%02x", (unsigned char)text[n]);
    puts("");
    free(text);
    free(ids);
  }
}

int main(int count, char **arguments) {
  struct attn_tokenizer *t = NULL;
  if (count == 4 && !strcmp(arguments[1], "train-bpe")) {
    train(atoll(arguments[2]), arguments[3]);
  } else if (count == 3 && !strcmp(arguments[1], "train-characters")) {
    train(0, arguments[2]);
  } else if (count == 3 && !strcmp(arguments[1], "train-words")) {
    train(-1, arguments[2]);
  } else if (count >= 3) {
    check(attn_tokenizer_read(arguments[2], &t, &err));
    if (!strcmp(arguments[1], "encode")) encode(t);
    if (!strcmp(arguments[1], "decode")) decode(t);
    if (count == 4) write(t, arguments[3]);
  }
  attn_tokenizer_free(t);
  return count < 3;
}
