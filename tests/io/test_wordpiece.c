/* test_wordpiece.c -- the longest piece from the left, the normalizer, valid and invalid files,
 * failing allocations. tests/python/test_tokenizer.py compares all of Unicode with Hugging Face's
 * library. */
#include <jansson.h>

#include "tokenizers.h"

#define TOKEN(id, word) "{\"id\":" id ",\"content\":\"" word "\",\"special\":true}"
#define PART(kind, id) "{\"" kind "\":{\"id\":\"" id "\",\"type_id\":0}}"
#define ENTRY(word, id) \
  "\"" word "\":{\"id\":\"" word "\",\"ids\":[" id "],\"tokens\":[\"" word "\"]}"
#define NORMAL(clean, parts, strips, lowers)                                              \
  "{\"type\":\"BertNormalizer\",\"clean_text\":" clean ",\"handle_chinese_chars\":" parts \
  ",\"strip_accents\":" strips ",\"lowercase\":" lowers "}"
#define ALL NORMAL("true", "true", "null", "true")
#define FRAME                                                                           \
  "{\"type\":\"TemplateProcessing\",\"single\":[" PART("SpecialToken", "[C]") "," PART( \
      "Sequence",                                                                       \
      "A") "," PART("SpecialToken",                                                     \
                    "[S]") "],\"special_tokens\":{" ENTRY("[C]", "7") "," ENTRY("[S]", "3") "}}"
#define VOCAB                                                                                      \
  "{\"a\":0,\"ab\":1,\"##b\":2,\"[S]\":3,\"##bc\":4,\"abc\":5,\"##c\":6,\"[C]\":7,\"[U]\":8,\"!\"" \
  ":9,\"\xe7\xa7\x81\":10,\"e\":11,\"\xc3\xa9\":12,\"A\":13,\"##a\":14,\"i\":15,\"##\xcc\x87\":"   \
  "16,"                                                                                            \
  "\"##\xe3\x80\xae\":17,\"##\xf0\x9d\x85\xa5\":18,\"\x7f\":19}"
#define FILE_OF(normal, frame, letters, more)                                                     \
  "{\"version\":\"1.0\"," more                                                                    \
  "\"added_tokens\":[" TOKEN("3", "[S]") "," TOKEN("7", "[C]") "," TOKEN("8", "[U]") "," TOKEN(   \
      "20",                                                                                       \
      "cc") "],\"normalizer\":" normal                                                            \
            ",\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},\"post_processor\":" frame        \
            ",\"decoder\":{\"type\":\"WordPiece\",\"prefix\":\"##\",\"cleanup\":true},\"model\":" \
            "{"                                                                                   \
            "\"type\":\"WordPiece\",\"unk_token\":\"[U]\",\"continuing_subword_prefix\":\"##\","  \
            "\"max_input_chars_per_word\":" letters ",\"vocab\":" VOCAB "}}"
#define TRUNCATED(most) \
  "\"truncation\":{\"max_length\":" most ",\"strategy\":\"LongestFirst\",\"stride\":0},"

enum {
  A,
  AB,
  B_ON,
  END,
  BC_ON,
  ABC,
  C_ON,
  BEGIN,
  UNK,
  MARK,
  WATASHI,
  E,
  E_ACUTE,
  BIG_A,
  A_ON,
  I,
  DOT_ON,
  FIRST_ON,
  SECOND_ON,
  CONTROL,
  SPELLED,
  WORDS
};

static struct attn_tokenizer *parsed(const char *json) {
  struct attn_tokenizer *t = NULL;
  attn_error err;
  if (attn_tokenizer_parse(json, strlen(json), &t, &err)) fail_msg("%s", err.message);
  return t;
}

#define GIVES(t, text, ...) \
  gives(t, text, (const int32_t[]){__VA_ARGS__}, sizeof((int32_t[]){__VA_ARGS__}) / sizeof(int32_t))

static void the_longest_piece_from_the_left(void **state) {
  (void)state;
  struct attn_tokenizer *t = parsed(FILE_OF(ALL, FRAME, "5", ""));
  GIVES(t, "abc", ABC);
  GIVES(t, "aabc", A, A_ON, BC_ON);
  GIVES(t, "ababc", AB, A_ON, BC_ON);
  GIVES(t, "abbcb", AB, BC_ON, B_ON);
  GIVES(t, "b abc ab", UNK, ABC, AB); /* no piece begins in b: the whole word is unknown */
  GIVES(t, "abe a", UNK, A);
  GIVES(t, "abcab a", ABC, A_ON, B_ON, A);
  GIVES(t, "abcabc a", UNK, A); /* six letters are more than five */
  GIVES(t, "a!ab!! !", A, MARK, AB, MARK, MARK, MARK);
  GIVES(t, "[S] [U]", UNK, UNK, UNK, UNK, UNK, UNK);
  GIVES(t, "cc", UNK); /* spelled like a special word, and none */
  gives(t, " \n\t ", NULL, 0);
  attn_tokenizer_free(t);
}

static void characters_are_replaced_as_in_the_file(void **state) {
  (void)state;
  struct attn_tokenizer *t = parsed(FILE_OF(ALL, FRAME, "100", ""));
  GIVES(t,
        "a\xe7\xa7\x81"
        "A\xc3\xa9",
        A, WATASHI, UNK); /* ae is none */
  GIVES(t, "\xc3\x89 e\xcc\x81 \xc4\xb0", E, E, I);
  GIVES(t,
        "a\x7f"
        "b\xe2\x80\x8b"
        "c a\xef\xbf\xbd"
        "b",
        ABC, AB);
  GIVES(t,
        "a\xc2\xa0"
        "b\xe3\x80\x80"
        "ab",
        A, UNK, AB);
  /* U+302E has class 224, U+1D165 216: they change places, but not across U+0488, which has none;
   * that it is left out itself does not matter. */
  GIVES(t, "a\xe3\x80\xae\xf0\x9d\x85\xa5", A, SECOND_ON, FIRST_ON);
  GIVES(t, "a\xe3\x80\xae\xd2\x88\xf0\x9d\x85\xa5", UNK); /* which is Me, and stays */
  GIVES(t, "a\xe3\x80\xae\xe0\xa4\x81\xf0\x9d\x85\xa5", A, FIRST_ON, SECOND_ON); /* Mn, goes */
  attn_tokenizer_free(t);
  t = parsed(FILE_OF(NORMAL("false", "false", "false", "false"), FRAME, "100", ""));
  GIVES(t, "A \xc3\xa9 \xc3\x89 \x7f \xe7\xa7\x81", BIG_A, E_ACUTE, UNK, CONTROL, WATASHI);
  GIVES(t, "a\xe7\xa7\x81", UNK);
  GIVES(t, "a\xe3\x80\xae\xf0\x9d\x85\xa5", A, FIRST_ON, SECOND_ON);
  attn_tokenizer_free(t);
  t = parsed(FILE_OF(NORMAL("false", "false", "false", "true"), FRAME, "100", ""));
  GIVES(t, "A \xc3\x89 \xc4\xb0", A, E_ACUTE, I, DOT_ON);
  attn_tokenizer_free(t);
  t = parsed(FILE_OF(NORMAL("false", "false", "true", "false"), FRAME, "100", ""));
  GIVES(t, "A \xc3\xa9", BIG_A, E);
  attn_tokenizer_free(t);
}

static void bytes_that_are_no_utf8_are_told(void **state) {
  (void)state;
  struct attn_tokenizer *t = parsed(FILE_OF(ALL, FRAME, "5", ""));
  int32_t ids[4];
  size_t count;
  attn_error err;
  assert_int_equal(attn_tokenizer_encode(t, "ab\xff", 3, ids, 4, &count, &err), ATTN_ERR_FORMAT);
  assert_int_equal(err.offset, 2);
  assert_int_equal(attn_tokenizer_encode(t, "a a b", 5, ids, 2, &count, &err), ATTN_ERR_MEMORY);
  assert_int_equal(count, 3);
  attn_tokenizer_free(t);
}

/* The ranges of unknown words refer to the original text, before it is cleaned. */
static void unknown_words_have_their_places(void **state) {
  (void)state;
  static const struct {
    const char *text;
    struct attn_unknown_range at[3];
  } cases[] = {{"abc ab", {{0, 0}}},   {"b abc xy", {{0, 1}, {6, 2}}},
               {"abcabc a", {{0, 6}}}, {"a!xyz!b", {{2, 3}, {6, 1}}},
               {"私x私", {{3, 1}}},    {" \xc3\x89z\t?", {{1, 3}, {5, 1}}},
               {"x\x7fy ab", {{0, 3}}}};
  struct attn_tokenizer *t = parsed(FILE_OF(ALL, FRAME, "5", ""));
  for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
    struct attn_unknown_range *found;
    size_t count, k = 0;
    assert_int_equal(
        attn_tokenizer_find_unknown(t, cases[n].text, strlen(cases[n].text), &found, &count, NULL),
        ATTN_OK);
    for (; k < 3 && cases[n].at[k].bytes; k++)
      if (k >= count || found[k].at != cases[n].at[k].at || found[k].bytes != cases[n].at[k].bytes)
        fail_msg("%s: part %zu of %zu", cases[n].text, k, count);
    assert_int_equal(count, k);
    if (count) free(found);
  }
  attn_tokenizer_free(t);
}

static void special_words_are_the_files(void **state) {
  (void)state;
  struct attn_tokenizer *t = parsed(FILE_OF(ALL, FRAME, "5", TRUNCATED("9")));
  assert_int_equal(attn_tokenizer_kind(t), ATTN_TOKENIZER_WORDPIECE);
  assert_int_equal(attn_tokenizer_vocab_size(t), WORDS);
  assert_int_equal(attn_tokenizer_special_token(t, ATTN_TOKEN_BOS), BEGIN);
  assert_int_equal(attn_tokenizer_special_token(t, ATTN_TOKEN_EOS), END);
  assert_int_equal(attn_tokenizer_special_token(t, ATTN_TOKEN_UNK), UNK);
  assert_int_equal(attn_tokenizer_max_length(t), 9);
  assert_string_equal(attn_tokenizer_token(t, BC_ON), "##bc");
  assert_null(attn_tokenizer_token(t, WORDS));
  assert_null(attn_tokenizer_token(t, -1));
  attn_tokenizer_free(t);
  t = parsed(FILE_OF(ALL, "null", "5", ""));
  assert_int_equal(attn_tokenizer_special_token(t, ATTN_TOKEN_BOS), -1);
  assert_int_equal(attn_tokenizer_special_token(t, ATTN_TOKEN_EOS), -1);
  assert_int_equal(attn_tokenizer_max_length(t), 0);
  attn_tokenizer_free(t);
  t = characters("ab");
  assert_int_equal(attn_tokenizer_special_token(t, ATTN_TOKEN_BOS), 1);
  assert_int_equal(attn_tokenizer_special_token(t, ATTN_TOKEN_EOS), 2);
  assert_int_equal(attn_tokenizer_special_token(t, ATTN_TOKEN_UNK), 3);
  attn_tokenizer_free(t);
}

static void decoding_joins_pieces_and_spaces_words(void **state) {
  (void)state;
  struct attn_tokenizer *t = parsed(FILE_OF(ALL, FRAME, "5", ""));
  static const int32_t ids[] = {BEGIN, C_ON, AB, BC_ON, MARK, A, END};
  char text[40];
  size_t bytes;
  assert_int_equal(attn_tokenizer_decode(t, ids, 7, text, 40, &bytes, NULL), ATTN_OK);
  assert_int_equal(bytes, 11);
  assert_memory_equal(text, "##c abbc! a", 11);
  attn_tokenizer_free(t);
}

static void a_file_gives_the_same_file(void **state) {
  (void)state;
  struct attn_tokenizer *t = parsed(FILE_OF(ALL, FRAME, "5", TRUNCATED("9"))), *again = NULL;
  size_t bytes, other;
  char *text = written(t, &bytes);
  assert_int_equal(attn_tokenizer_parse(text, bytes, &again, NULL), ATTN_OK);
  char *rewritten = written(again, &other);
  assert_int_equal(other, bytes);
  assert_memory_equal(rewritten, text, bytes);
  GIVES(again, "abcab a", ABC, A_ON, B_ON, A);
  assert_int_equal(attn_tokenizer_max_length(again), 9);
  free(text), free(rewritten);
  attn_tokenizer_free(t), attn_tokenizer_free(again);
}

static const char right[] = FILE_OF(ALL, FRAME, "5", TRUNCATED("9"));

static void encode_and_free(struct attn_tokenizer *t) {
  int32_t ids[MOST];
  encode(t, "ab, aabc\xe7\xa7\x81", 11, ids);
  attn_tokenizer_free(t);
}

static void every_truncation_and_flipped_bit_is_survived(void **state) {
  (void)state;
  damage_is_survived(right, encode_and_free);
}

static attn_status use(void) {
  struct attn_tokenizer *t = NULL;
  int32_t ids[16];
  size_t count;
  attn_status status = attn_tokenizer_parse(right, sizeof right - 1, &t, NULL);
  if (!status) status = attn_tokenizer_encode(t, "ab aabc", 7, ids, 16, &count, NULL);
  char *again = status ? NULL : attn_tokenizer_to_json(t);
  if (!status && !again) status = ATTN_ERR_MEMORY;
  free(again);
  attn_tokenizer_free(t);
  return status;
}

/* jansson 2.14 reads past a string's end if the allocation for its last character fails: only later
 * allocations fail here. */
static int jansson_calls(void) {
  faults_begin(FAULT_MEMORY, 0);
  json_decref(json_loadb(right, sizeof right - 1, JSON_REJECT_DUPLICATES, NULL));
  return faults_end();
}

static void each_allocation_may_fail(void **state) {
  (void)state;
  int first = jansson_calls() + 1;
  for (int fail_at = first;; fail_at++) {
    faults_begin(FAULT_MEMORY, fail_at);
    attn_status status = use();
    int calls = faults_end();
    assert_int_equal(faults_blocks(), 0);
    if (calls < fail_at) {
      assert_int_equal(status, ATTN_OK);
      assert_true(fail_at > first + 100);
      return;
    }
    assert_int_equal(status, ATTN_ERR_MEMORY);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_longest_piece_from_the_left),
                                     cmocka_unit_test(characters_are_replaced_as_in_the_file),
                                     cmocka_unit_test(bytes_that_are_no_utf8_are_told),
                                     cmocka_unit_test(unknown_words_have_their_places),
                                     cmocka_unit_test(special_words_are_the_files),
                                     cmocka_unit_test(decoding_joins_pieces_and_spaces_words),
                                     cmocka_unit_test(a_file_gives_the_same_file),
                                     cmocka_unit_test(every_truncation_and_flipped_bit_is_survived),
                                     cmocka_unit_test(each_allocation_may_fail)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
