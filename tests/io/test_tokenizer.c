/* test_tokenizer.c -- encoding round-trips; words, merges and training follow their definitions. */
#include "random.h"
#include "select.h"
#include "tokenizers.h"
#include "vocabulary.h"

/* ---- Encoding and decoding ---- */

static void any_bytes_come_back(void **state) {
  (void)state;
  static const char near[] = "the cat's 19\n\r\t \xe7\xa7\x81\xc3\xa9\xff\xc0\x80,;'";
  struct attn_tokenizer *t = bpe(story, 300);
  assert_int_equal(attn_tokenizer_kind(t), ATTN_TOKENIZER_BPE);
  assert_int_equal(attn_tokenizer_vocab_size(t), 300);
  comes_back(t, "", 0);
  comes_back(t, story, strlen(story));
  for (int round = 0; round < 2000; round++) {
    char text[120];
    size_t length = (size_t)below(sizeof text);
    for (size_t n = 0; n < length; n++)
      text[n] = chance(4) ? (char)random_bits() : near[below(sizeof near)];
    comes_back(t, text, length);
  }
  attn_tokenizer_free(t);
}

static void characters_come_back(void **state) {
  (void)state;
  struct attn_tokenizer *t = characters(story);
  static int32_t ids[MOST];
  comes_back(t, "", 0);
  comes_back(t, story, strlen(story));
  size_t count = encode(t, story, strlen(story), ids);
  for (size_t n = 0; n < count; n++) assert_true(ids[n] > UNKNOWN);
  gives(t, "Z\xf0\x9f\x98\x80", (const int32_t[]){UNKNOWN, UNKNOWN}, 2);
  attn_tokenizer_free(t);
}

static void code_points_are_numbered_in_order(void **state) {
  (void)state;
  const char text[] = "b\xe7\xa7\x81\0a\xf0\x9f\x98\x80\xc3\xa9"; /* b, U+79C1, U+0000, a, ... */
  struct attn_text_view one = {text, sizeof text - 1};
  struct attn_tokenizer *t = NULL;
  assert_int_equal(attn_tokenizer_train_characters(&one, 1, NULL, &t, NULL), ATTN_OK);
  assert_int_equal(attn_tokenizer_vocab_size(t), 9);
  gives(t, "ab\xc3\xa9\xe7\xa7\x81\xf0\x9f\x98\x80", (const int32_t[]){4, 5, 6, 7, 8}, 5);
  attn_tokenizer_free(t);
}

static void bytes_that_are_no_utf8_are_told(void **state) {
  (void)state;
  static const char *const bad[] = {"ab\xff", "ab\xc3", "ab\xed\xa0\x80", "ab\xc0\x80",
                                    "ab\xf4\x90\x80\x80"};
  struct attn_tokenizer *t = characters("ab"), *none = NULL;
  for (size_t n = 0; n < sizeof bad / sizeof *bad; n++) {
    int32_t ids[8];
    size_t count;
    attn_error err;
    struct attn_text_view one = span(bad[n]);
    assert_int_equal(attn_tokenizer_encode(t, bad[n], strlen(bad[n]), ids, 8, &count, &err),
                     ATTN_ERR_FORMAT);
    assert_int_equal(err.offset, 2);
    assert_int_equal(count, 0);
    assert_int_equal(attn_tokenizer_train_characters(&one, 1, NULL, &none, &err), ATTN_ERR_FORMAT);
    assert_int_equal(err.offset, 2);
    assert_null(none);
  }
  attn_tokenizer_free(t);
}

/* No text is encoded as a special token, and special tokens are decoded as nothing. */
static void text_is_never_special(void **state) {
  (void)state;
  static const char text[] = "<s> <pad></s><s><s><s><unk>";
  static int32_t ids[MOST];
  for (int kind = 0; kind < 2; kind++) {
    struct attn_tokenizer *t = kind ? bpe(text, 400) : characters(text);
    size_t bytes, count = encode(t, text, strlen(text), ids);
    for (size_t n = 0; n < count; n++) assert_true(ids[n] > UNKNOWN);
    comes_back(t, text, strlen(text));
    assert_int_equal(
        attn_tokenizer_decode(t, (const int32_t[]){0, 1, 2, 3}, 4, NULL, 0, &bytes, NULL), ATTN_OK);
    assert_int_equal(bytes, 0);
    attn_tokenizer_free(t);
  }
}

static void too_little_room_is_told(void **state) {
  (void)state;
  struct attn_tokenizer *t = bpe("", 260);
  int32_t ids[3] = {-7, -7, -7};
  char text[2] = "?";
  size_t count;
  attn_error err;
  assert_int_equal(attn_tokenizer_encode(t, "abc", 3, ids, 2, &count, &err), ATTN_ERR_MEMORY);
  assert_int_equal(count, 3);
  assert_true(ids[1] >= 0 && ids[2] == -7);
  assert_int_equal(attn_tokenizer_encode(t, "abc", 3, ids, 3, &count, &err), ATTN_OK);
  assert_int_equal(attn_tokenizer_decode(t, ids, 3, text, 1, &count, &err), ATTN_ERR_MEMORY);
  assert_int_equal(count, 3);
  assert_true(text[0] == 'a' && text[1] == 0);
  for (int32_t n = -1; n < 261; n += 261) {
    ids[1] = n;
    assert_int_equal(attn_tokenizer_decode(t, ids, 3, text, 1, &count, &err), ATTN_ERR_ARGUMENT);
    assert_non_null(strstr(err.message, "ids[1]"));
  }
  if (sizeof(size_t) > 4) {
    assert_int_equal(attn_tokenizer_encode(t, text, ((size_t)1 << 30) + 1, ids, 3, &count, &err),
                     ATTN_ERR_ARGUMENT);
  }
  attn_tokenizer_free(t);
}

/* By hand from the pattern: 's|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|
 * \\s+(?!\\S)|\\s+; a bar separates words. */
static const char *const split[] = {"it|'s|'t|'re|'ve|'m|'ll|'d|'|S|'|x",
                                    "they|'ll|y",
                                    "a| '|s",
                                    "!'|s",
                                    "a|  | b",
                                    "a|\n\n|\n|b",
                                    "a|  \n",
                                    "|  | 12|ab|-|3",
                                    "a|\xc2\xa0|b",
                                    "a|\xc2\xa0| b",
                                    "a| |\xc2\xa0|b",
                                    "a| \xe7\xa7\x81|\xe3\x80\x82",
                                    "\xe2\x85\xa7|a",
                                    "e|\xcc\x81|b",
                                    "a|\xff\xff-|b",
                                    "a| \xe7\xa7",
                                    " <|s|>",
                                    "a|\t| b",
                                    "\xe3\x80\x80|\xe7\xa7\x81",
                                    "a| "};

static void words_end_as_in_the_pattern(void **state) {
  (void)state;
  for (size_t n = 0; n < sizeof split / sizeof *split; n++) {
    char text[80], found[160] = "";
    size_t length = 0, put = 0;
    for (const char *at = split[n]; *at; at++)
      if (*at != '|') text[length++] = *at;
    for (size_t at = 0, bytes; at < length; at += bytes) {
      bytes = attn_gpt2_word_length(text + at, length - at);
      assert_true(bytes >= 1 && bytes <= length - at);
      if (at) found[put++] = '|';
      memcpy(found + put, text + at, bytes);
      put += bytes;
    }
    found[put] = 0;
    assert_string_equal(found, split[n] + (*split[n] == '|'));
  }
}

/* The definition: repeatedly merge the pair of the lowest rank, the leftmost first. */
static size_t merge_slowly(const struct attn_tokenizer *t, int32_t *ids, size_t n) {
  for (;;) {
    const struct attn_bpe_merge *best = NULL;
    size_t where = 0;
    for (size_t i = 0; i + 1 < n; i++) {
      const struct attn_bpe_merge *one = attn_vocabulary_find_merge(t, ids[i], ids[i + 1]);
      if (one && (!best || one->rank < best->rank)) best = one, where = i;
    }
    if (!best) return n;
    ids[where] = best->word;
    memmove(ids + where + 1, ids + where + 2, (n - where - 2) * sizeof *ids);
    n--;
  }
}

static void some_letters(char *text, size_t length, int letters) {
  for (size_t n = 0; n < length; n++) text[n] = (char)('a' + below(letters));
}

static void merges_follow_their_ranks(void **state) {
  (void)state;
  char text[400];
  int32_t slow[sizeof text], quick[sizeof text];
  for (int round = 0; round < 200; round++) {
    int letters = (int)(2 + below(4));
    struct attn_tokenizer *t = NULL;
    struct attn_text_view one = {text, sizeof text};
    some_letters(text, sizeof text, letters);
    for (size_t n = 5; n < sizeof text; n += 1 + (size_t)below(12)) text[n] = ' ';
    assert_int_equal(attn_tokenizer_train_bpe(&one, 1, 270 + below(60), NULL, &t, NULL), ATTN_OK);
    for (int word = 0; word < 20; word++) {
      size_t n = (size_t)(1 + below(100));
      some_letters(text, n, letters);
      for (size_t i = 0; i < n; i++) slow[i] = t->byte[(unsigned char)text[i]];
      size_t count = merge_slowly(t, slow, n);
      assert_int_equal(encode(t, text, n, quick), count);
      assert_memory_equal(quick, slow, count * sizeof *slow);
    }
    attn_tokenizer_free(t);
  }
}

/* ---- Training ---- */

/* By hand: of "aab aab ab" the words are aab, Ġaab, Ġab. ab: 3 times; aa and Ġa ... */
static void the_most_frequent_pair_is_merged_first(void **state) {
  (void)state;
  /* a: 4 + 'a' - '!' = 68, b: 69, the space's letter U+0120: 4 + 188 + 32 = 224 */
  struct attn_tokenizer *t = bpe("aab aab ab", 263);
  /* 260: ab (3 times). Then a ab (2), before Ġ a (1), Ġ ab (1): 261. Then Ġ ab and Ġ aab, once
   * each: the least second number, 260, wins: 262. */
  gives(t, "ab", (const int32_t[]){260}, 1);
  gives(t, "aab", (const int32_t[]){261}, 1);
  gives(t, " ab", (const int32_t[]){262}, 1);
  gives(t, " aab", (const int32_t[]){224, 261}, 2);
  gives(t, "aaab", (const int32_t[]){68, 261}, 2);
  gives(t, "ba", (const int32_t[]){69, 68}, 2);
  attn_tokenizer_free(t);
}

/* Symbols of a text, -1 after each word; then the most frequent pair, the one of the lowest ids
 * among equals; then it is merged. */
static size_t symbols(const struct attn_tokenizer *t, const char *text, size_t length, int32_t *s) {
  size_t n = 0;
  for (size_t at = 0, bytes; at < length; at += bytes) {
    bytes = attn_gpt2_word_length(text + at, length - at);
    for (size_t i = 0; i < bytes; i++) s[n++] = t->byte[(unsigned char)text[at + i]];
    s[n++] = -1;
  }
  return n;
}

static int occurs(const int32_t *s, size_t n, int32_t left, int32_t right) {
  int count = 0;
  for (size_t i = 0; i + 1 < n; i++) count += s[i] == left && s[i + 1] == right;
  return count;
}

static void most_frequent(const int32_t *s, size_t n, int32_t pair[2]) {
  int most = 0;
  for (size_t i = 0; i + 1 < n; i++) {
    if (s[i] < 0 || s[i + 1] < 0) continue;
    int count = occurs(s, n, s[i], s[i + 1]);
    int less = s[i] < pair[0] || (s[i] == pair[0] && s[i + 1] < pair[1]);
    if (count > most || (count == most && less)) most = count, pair[0] = s[i], pair[1] = s[i + 1];
  }
  assert_true(most > 0);
}

static size_t merge_pair(int32_t *s, size_t n, const int32_t pair[2], int32_t made) {
  size_t kept = 0;
  for (size_t i = 0; i < n; i++) {
    int here = i + 1 < n && s[i] == pair[0] && s[i + 1] == pair[1];
    s[kept++] = here ? made : s[i];
    i += (size_t)here;
  }
  return kept;
}

/* Recounted before each merge, as in the definition. */
static void each_merge_is_of_the_most_frequent_pair(void **state) {
  (void)state;
  for (int round = 0; round < 150; round++) {
    char text[240];
    int32_t s[2 * sizeof text];
    struct attn_tokenizer *t = NULL;
    struct attn_text_view one = {text, sizeof text};
    some_letters(text, sizeof text, (int)(1 + below(3)));
    for (size_t n = 1; n < sizeof text; n += 1 + (size_t)below(20)) text[n] = ' ';
    assert_int_equal(attn_tokenizer_train_bpe(&one, 1, 262 + below(60), NULL, &t, NULL), ATTN_OK);
    size_t n = symbols(t, text, sizeof text, s);
    for (int32_t rank = 0; rank < t->ranks;) {
      int32_t pair[2] = {0, 0};
      most_frequent(s, n, pair);
      const struct attn_bpe_merge *merge = attn_vocabulary_find_merge(t, pair[0], pair[1]);
      assert_non_null(merge);
      assert_true(merge->rank <= rank);
      rank += merge->rank == rank;
      n = merge_pair(s, n, pair, merge->word);
    }
    attn_tokenizer_free(t);
  }
}

static void training_stops_where_no_pair_is_left(void **state) {
  (void)state;
  struct attn_tokenizer *t = bpe("aaaa", 1000);
  assert_int_equal(attn_tokenizer_vocab_size(t), 262); /* aa, aaaa */
  attn_tokenizer_free(t);
  t = bpe("", 1000);
  assert_int_equal(attn_tokenizer_vocab_size(t), 260);
  attn_tokenizer_free(t);
  attn_error err;
  struct attn_tokenizer *none = NULL;
  for (int64_t words = 259; words < 1 << 25; words += 1 << 24)
    assert_int_equal(attn_tokenizer_train_bpe(NULL, 0, words, NULL, &none, &err),
                     ATTN_ERR_ARGUMENT);
  assert_null(none);
}

/* The same texts, cut up or in another order, give the same file: only counts matter. */
static void training_has_one_result(void **state) {
  (void)state;
  const struct attn_text_view one[] = {span("the cat"), span("that hat"), span("私の猫 the")};
  const struct attn_text_view other[] = {span("私の猫 the"), span("the cat"), span("that hat")};
  for (int kind = 0; kind < 2; kind++) {
    struct attn_tokenizer *a = NULL, *b = NULL;
    size_t a_bytes, b_bytes;
    if (kind) {
      attn_tokenizer_train_bpe(one, 3, 275, NULL, &a, NULL);
      attn_tokenizer_train_bpe(other, 3, 275, NULL, &b, NULL);
    } else {
      attn_tokenizer_train_characters(one, 3, NULL, &a, NULL);
      attn_tokenizer_train_characters(other, 3, NULL, &b, NULL);
    }
    char *x = written(a, &a_bytes), *y = written(b, &b_bytes);
    assert_int_equal(a_bytes, b_bytes);
    assert_memory_equal(x, y, a_bytes);
    free(x), free(y);
    attn_tokenizer_free(a), attn_tokenizer_free(b);
  }
}

/* A million bytes without a space, and a million of words: quadratic time would not finish. */
static void a_million_bytes_are_quick(void **state) {
  (void)state;
  size_t length = SANITIZED ? 200000 : 1000000, count;
  char *text = malloc(length);
  int32_t *ids = malloc(length * sizeof *ids);
  for (int spaces = 0; spaces < 2; spaces++) {
    struct attn_tokenizer *t = NULL;
    struct attn_text_view one = {text, length};
    for (size_t n = 0; n < length; n++)
      text[n] = spaces && chance(6) ? ' ' : (char)('a' + below(8));
    assert_int_equal(attn_tokenizer_train_bpe(&one, 1, 2000, NULL, &t, NULL), ATTN_OK);
    assert_int_equal(attn_tokenizer_encode(t, text, length, ids, length, &count, NULL), ATTN_OK);
    assert_true(count < length / 2);
    assert_int_equal(attn_tokenizer_decode(t, ids, count, text, length, &count, NULL), ATTN_OK);
    assert_int_equal(count, length);
    attn_tokenizer_free(t);
  }
  free(text), free(ids);
}

int main(int count, char **arguments) {
  random_begin(count, arguments);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(any_bytes_come_back),
      cmocka_unit_test(characters_come_back),
      cmocka_unit_test(code_points_are_numbered_in_order),
      cmocka_unit_test(bytes_that_are_no_utf8_are_told),
      cmocka_unit_test(text_is_never_special),
      cmocka_unit_test(too_little_room_is_told),
      cmocka_unit_test(the_most_frequent_pair_is_merged_first),
      cmocka_unit_test(words_end_as_in_the_pattern),
      cmocka_unit_test(merges_follow_their_ranks),
      cmocka_unit_test(each_merge_is_of_the_most_frequent_pair),
      cmocka_unit_test(training_stops_where_no_pair_is_left),
      cmocka_unit_test(training_has_one_result),
      cmocka_unit_test(a_million_bytes_are_quick),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
