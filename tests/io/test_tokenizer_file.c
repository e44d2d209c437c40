/* test_tokenizer_file.c -- a file gives the same token ids; bad files are rejected with the
 * member's name; failures of the system are reported. */
#include "tokenizers.h"

/* ---- Files ---- */

static void a_file_gives_the_same_numbers(void **state) {
  (void)state;
  static int32_t before[MOST], after[MOST];
  for (int kind = 0; kind < 2; kind++) {
    struct attn_tokenizer *t = kind ? bpe(story, 320) : characters(story), *again = NULL;
    size_t bytes, other, count = encode(t, story, strlen(story), before);
    char *text = written(t, &bytes);
    assert_int_equal(attn_tokenizer_parse(text, bytes, &again, NULL), ATTN_OK);
    assert_int_equal(attn_tokenizer_vocab_size(again), attn_tokenizer_vocab_size(t));
    assert_int_equal(attn_tokenizer_kind(again), attn_tokenizer_kind(t));
    assert_int_equal(encode(again, story, strlen(story), after), count);
    assert_memory_equal(after, before, count * sizeof *after);
    char *rewritten = written(again, &other);
    assert_int_equal(other, bytes);
    assert_memory_equal(rewritten, text, bytes);
    free(text), free(rewritten);
    attn_tokenizer_free(t), attn_tokenizer_free(again);
  }
}

static void files_that_cannot_be_opened_are_told(void **state) {
  (void)state;
  struct attn_tokenizer *t = characters("ab"), *none = NULL;
  assert_int_equal(attn_tokenizer_read("/nowhere/tokenizer.json", &none, NULL), ATTN_ERR_FILE);
  assert_int_equal(write_file(t, "/nowhere/tokenizer.json", NULL), ATTN_ERR_FILE);
  assert_null(none);
  attn_tokenizer_free(t);
}

#define ADDED(id, content) "{\"id\":" id ",\"content\":\"" content "\",\"special\":true}"
#define SPECIAL \
  ADDED("0", "<pad>") "," ADDED("1", "<s>") "," ADDED("2", "</s>") "," ADDED("3", "<unk>")
#define BYTES_PRE_TOKENIZER "{\"type\":\"ByteLevel\",\"add_prefix_space\":false}"
#define BYTES_DECODER "{\"type\":\"ByteLevel\"}"
#define FILE_OF(added, pre_tokenizer, decoder, model)                                  \
  "{\"version\":\"1.0\",\"added_tokens\":[" added "],\"pre_tokenizer\":" pre_tokenizer \
  ",\"decoder\":" decoder ",\"model\":" model "}"
#define PAIRS_WITH(more, vocab, merges) \
  "{\"type\":\"BPE\",\"unk_token\":\"<unk>\"" more ",\"vocab\":" vocab ",\"merges\":" merges "}"
#define PAIRS(vocab, merges) \
  FILE_OF(SPECIAL, BYTES_PRE_TOKENIZER, BYTES_DECODER, PAIRS_WITH("", vocab, merges))
#define MODEL(more) \
  FILE_OF(SPECIAL, BYTES_PRE_TOKENIZER, BYTES_DECODER, PAIRS_WITH(more, "{\"a\":4}", "[]"))
#define SPLIT(pattern, behavior, invert) \
  "{\"type\":\"Split\",\"pattern\":" pattern ",\"behavior\":\"" behavior "\",\"invert\":" invert "}"
#define EVERY "{\"Regex\":\"[\\\\s\\\\S]\"}"
#define LEVEL_WITH(pre_tokenizer, decoder, unknown, vocab) \
  FILE_OF(SPECIAL, pre_tokenizer, decoder,                 \
          "{\"type\":\"WordLevel\",\"unk_token\":" unknown ",\"vocab\":" vocab "}")
#define LEVEL(vocab) \
  LEVEL_WITH(SPLIT(EVERY, "Isolated", "false"), "{\"type\":\"Fuse\"}", "\"<unk>\"", vocab)
#define ADD(more) \
  FILE_OF(SPECIAL "," more, BYTES_PRE_TOKENIZER, BYTES_DECODER, PAIRS_WITH("", "{\"a\":4}", "[]"))
#define ROOT(more)                                                         \
  "{\"version\":\"1.0\"," more ",\"added_tokens\":[" SPECIAL               \
  "],\"pre_tokenizer\":" BYTES_PRE_TOKENIZER ",\"decoder\":" BYTES_DECODER \
  ",\"model\":" PAIRS_WITH("", "{\"a\":4}", "[]") "}"
#define TYPED(model) FILE_OF(SPECIAL, BYTES_PRE_TOKENIZER, BYTES_DECODER, model)

static const char *const good[] = {
    PAIRS("{\"a\":4,\"b\":5,\"ab\":6}", "[\"a b\"]"),
    PAIRS("{\"a\":4,\"b\":5,\"ab\":6}", "[[\"a\",\"b\"]]"),
    PAIRS("{\"<pad>\":0,\"<s>\":1,\"b\":4}", "[]"),
    PAIRS("{\"a\":4,\"b\":5,\"ab\":6}", "[\"a b\",\"a b\"]"),
    MODEL(",\"dropout\":0.0,\"continuing_subword_prefix\":\"\",\"ignore_merges\":false"),
    ROOT("\"normalizer\":null,\"post_processor\":{\"type\":\"ByteLevel\",\"trim_offsets\":false}"),
    LEVEL("{\"a\":4,\"\\n\":5}"),
    LEVEL_WITH(SPLIT("{\"String\":\"\"}", "Isolated", "false"), "{\"type\":\"Fuse\"}", "\"<unk>\"",
               "{}"),
    ADD("{\"id\":5,\"content\":\"<|end|>\",\"special\":true,\"lstrip\":true}"),
};

static void right_files_are_read(void **state) {
  (void)state;
  for (size_t n = 0; n < sizeof good / sizeof *good; n++) {
    struct attn_tokenizer *t = NULL;
    attn_error err = {0};
    if (attn_tokenizer_parse(good[n], strlen(good[n]), &t, &err))
      fail_msg("%s: %s", good[n], err.message);
    comes_back(t, "", 0);
    attn_tokenizer_free(t);
  }
}

/* As in Hugging Face's library. */
static void of_two_merges_of_a_pair_the_later_holds(void **state) {
  (void)state;
  struct attn_tokenizer *t = NULL;
  const char *json =
      PAIRS("{\"a\":4,\"b\":5,\"c\":6,\"ab\":7,\"bc\":8}", "[\"a b\",\"b c\",\"a b\"]");
  assert_int_equal(attn_tokenizer_parse(json, strlen(json), &t, NULL), ATTN_OK);
  gives(t, "abc", (const int32_t[]){4, 8}, 2);
  size_t bytes;
  char *text = written(t, &bytes);
  attn_tokenizer_free(t);
  assert_int_equal(attn_tokenizer_parse(text, bytes, &t, NULL), ATTN_OK);
  gives(t, "abc", (const int32_t[]){4, 8}, 2);
  gives(t, "abd", (const int32_t[]){7, UNKNOWN}, 2);
  attn_tokenizer_free(t);
  free(text);
}

static const struct {
  const char *json, *words;
} bad[] = {
    {"", "tokenizer.json"},
    {"{", "tokenizer.json"},
    {"[]", "document: expected an object"},
    {"{}", "no version"},
    {"{\"version\":\"2.0\"}", "document.version is \"2.0\""},
    {"{\"version\":1.0}", "document.version is 1.0"},
    {"{\"version\":\"\\u0000\"}", "u0000"},
    {ROOT("\"normalizer\":{\"type\":\"NFC\"}"), "document.normalizer is {\"type\":\"NFC\"}"},
    {ROOT("\"truncation\":{}"), "document.truncation"},
    {ROOT("\"padding\":{}"), "document.padding"},
    {ROOT("\"extra\":1"), "document.extra"},
    {ROOT("\"post_processor\":{\"type\":\"TemplateProcessing\"}"),
     "post_processor.type is \"TemplateProcessing\""},
    {ROOT("\"post_processor\":3"), "post_processor: expected an object"},
    {TYPED("7"), "model: expected an object"},
    {TYPED("{}"), "type is missing"},
    {TYPED("{\"type\":\"Unigram\"}"), "model.type is \"Unigram\""},
    {TYPED("{\"type\":\"WordPiece\"}"), "document has no normalizer"},
    {TYPED("{\"type\":\"BPE\"}"), "model has no vocab"},
    {TYPED("{\"type\":\"BPE\",\"vocab\":{}}"), "model has no merges"},
    {TYPED("{\"type\":\"BPE\",\"vocab\":[],\"merges\":[]}"), "model.vocab: expected an object"},
    {TYPED("{\"type\":\"BPE\",\"vocab\":{},\"merges\":[]}"), "no token for byte 0x00"},
    {MODEL(",\"dropout\":0.1"), "model.dropout is 0.1"},
    {MODEL(",\"fuse_unk\":true"), "model.fuse_unk is true"},
    {MODEL(",\"byte_fallback\":true"), "model.byte_fallback is true"},
    {MODEL(",\"ignore_merges\":true"), "model.ignore_merges is true"},
    {MODEL(",\"continuing_subword_prefix\":\"##\""), "model.continuing_subword_prefix is \"##\""},
    {MODEL(",\"end_of_word_suffix\":\"</w>\""), "model.end_of_word_suffix is \"</w>\""},
    {MODEL(",\"novelty\":1"), "model.novelty"},
    {FILE_OF(SPECIAL, "null", BYTES_DECODER, PAIRS_WITH("", "{}", "[]")),
     "pre_tokenizer: expected an object"},
    {FILE_OF(SPECIAL, "{\"type\":\"Whitespace\"}", BYTES_DECODER, PAIRS_WITH("", "{}", "[]")),
     "pre_tokenizer.type is \"Whitespace\""},
    {FILE_OF(SPECIAL, "{\"type\":\"ByteLevel\",\"add_prefix_space\":true}", BYTES_DECODER,
             PAIRS_WITH("", "{}", "[]")),
     "pre_tokenizer.add_prefix_space is true"},
    {FILE_OF(SPECIAL, "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":false}",
             BYTES_DECODER, PAIRS_WITH("", "{}", "[]")),
     "pre_tokenizer.use_regex is false"},
    {FILE_OF(SPECIAL, BYTES_PRE_TOKENIZER, "null", PAIRS_WITH("", "{}", "[]")),
     "decoder: expected an object"},
    {PAIRS("{\"a\":5}", "[]"), "\"a\" has id 5"},
    {PAIRS("{\"a\":-1}", "[]"), "\"a\" has id -1"},
    {PAIRS("{\"a\":4611686018427387904}", "[]"), "\"a\" has id 4611686018427387904"},
    {PAIRS("{\"a\":4.0}", "[]"), "model.vocab: the id of \"a\" is not an integer"},
    {PAIRS("{\"a\":\"4\"}", "[]"), "model.vocab: the id of \"a\" is not an integer"},
    {PAIRS("{\"a\":4,\"b\":4}", "[]"), "\"a\" and \"b\" have the same id, 4"},
    {PAIRS("{\"a\":4,\"a\":5}", "[]"), "uplicate"},
    {PAIRS("{\"\":4}", "[]"), "model.vocab: a token is empty"},
    {PAIRS("{\"a\":0}", "[]"), "have the same id, 0"},
    {PAIRS("{\"<s>\":4,\"a\":1}", "[]"), "added_tokens[1]: its id differs from model.vocab"},
    {PAIRS("{\"a\":4}", "{}"), "model.merges: expected an array"},
    {PAIRS("{\"a\":4}", "[\"a b\"]"), "model.merges[0]: \"b\" is not in model.vocab"},
    {PAIRS("{\"a\":4}", "[\"b a\"]"), "model.merges[0]: \"b\" is not in model.vocab"},
    {PAIRS("{\"a\":4,\"aa\":5}", "[\"a a\",\"aa a\"]"),
     "model.merges[1]: \"aaa\" is not in model.vocab"},
    {PAIRS("{\"<\":4,\"s>\":5}", "[\"< s>\"]"), "model.merges[0]: \"<s>\" is not in model.vocab"},
    {PAIRS("{\"a\":4}", "[\"<s> a\"]"), "model.merges[0]: \"<s>\" is not in model.vocab"},
    {PAIRS("{\"a\":4}", "[\"a\"]"), "model.merges[0] is neither"},
    {PAIRS("{\"a\":4}", "[\"a a a\"]"), "model.merges[0] is neither"},
    {PAIRS("{\"a\":4}", "[\" a\"]"), "model.merges[0]: \"\" is not in model.vocab"},
    {PAIRS("{\"a\":4}", "[[\"a\"]]"), "model.merges[0] is neither"},
    {PAIRS("{\"a\":4}", "[[\"a\",3]]"), "model.merges[0] is neither"},
    {PAIRS("{\"a\":4}", "[[\"a\",\"a\",\"a\"]]"), "model.merges[0] is neither"},
    {PAIRS("{\"a\":4}", "[7]"), "model.merges[0] is neither"},
    {ADD("7"), "added_tokens[4]: expected an object"},
    {ADD("{\"id\":5,\"content\":\"x\"}"), "added_tokens[4] has no special"},
    {ADD("{\"id\":5,\"content\":\"xy\",\"special\":false}"), "added_tokens[4].special is false"},
    {ADD("{\"id\":5,\"content\":7,\"special\":true}"), "added_tokens[4]: content is not a string"},
    {ADD("{\"id\":5,\"content\":\"xy\",\"special\":true,\"new\":1}"), "added_tokens[4].new"},
    {ADD(ADDED("6", "xy")), "added_tokens[4]: \"xy\" has id 6"},
    {ADD(ADDED("4", "xy")), "\"a\" and \"xy\" have the same id, 4"},
    {ADD(ADDED("5", "x")), "token 5, \"x\", is a single character"},
    {ADD(ADDED("5", "xy") "," ADDED("5", "xy")), "have the same id, 5"},
    {FILE_OF("", BYTES_PRE_TOKENIZER, BYTES_DECODER, PAIRS_WITH("", "{}", "[]")),
     "<pad> must have id 0"},
    {FILE_OF("", BYTES_PRE_TOKENIZER, BYTES_DECODER, PAIRS_WITH("", "{\"<pad>\":0}", "[]")),
     "<pad> must have id 0"},
    {FILE_OF(ADDED("1", "<pad>") "," ADDED("0", "<s>"), BYTES_PRE_TOKENIZER, BYTES_DECODER,
             PAIRS_WITH("", "{}", "[]")),
     "added_tokens: <pad> must have id 0"},
    {LEVEL("{\"ab\":4}"), "token 4, \"ab\", is more than one character"},
    {LEVEL_WITH(SPLIT(EVERY, "Isolated", "false"), "{\"type\":\"Fuse\"}", "\"[UNK]\"", "{}"),
     "model.unk_token is \"[UNK]\""},
    {LEVEL_WITH(SPLIT("{\"Regex\":\"\\\\s\"}", "Isolated", "false"), "{\"type\":\"Fuse\"}",
                "\"<unk>\"", "{}"),
     "pre_tokenizer.pattern is"},
    {LEVEL_WITH(SPLIT(EVERY, "Removed", "false"), "{\"type\":\"Fuse\"}", "\"<unk>\"", "{}"),
     "pre_tokenizer.behavior is \"Removed\""},
    {LEVEL_WITH(SPLIT(EVERY, "Isolated", "true"), "{\"type\":\"Fuse\"}", "\"<unk>\"", "{}"),
     "pre_tokenizer.invert is true"},
    {LEVEL_WITH(SPLIT(EVERY, "Isolated", "false"), "{\"type\":\"WordPiece\"}", "\"<unk>\"", "{}"),
     "decoder.type is \"WordPiece\""},
};

static void bad_files_are_refused_with_the_place(void **state) {
  (void)state;
  for (size_t n = 0; n < sizeof bad / sizeof *bad; n++) {
    struct attn_tokenizer *t = NULL;
    attn_error err = {0};
    faults_begin(FAULT_NONE, 0);
    attn_status status = attn_tokenizer_parse(bad[n].json, strlen(bad[n].json), &t, &err);
    if (status != ATTN_ERR_FORMAT || !strstr(err.message, bad[n].words))
      fail_msg("%s: %s: %s; not %s", bad[n].json, attn_status_name(status), err.message,
               bad[n].words);
    assert_null(t);
    assert_int_equal(faults_blocks(), 0);
  }
}

/* jansson alone ignores one after a number or a literal. */
static void a_nul_anywhere_is_refused(void **state) {
  (void)state;
  static char text[FILE_MOST];
  for (size_t file = 0; file < sizeof good / sizeof *good; file++)
    for (size_t length = strlen(good[file]), at = 0; at <= length; at++) {
      struct attn_tokenizer *t = NULL;
      memcpy(text, good[file], at), memcpy(text + at + 1, good[file] + at, length - at);
      text[at] = 0;
      assert_int_equal(attn_tokenizer_parse(text, length + 1, &t, NULL), ATTN_ERR_FORMAT);
      assert_null(t);
    }
}

static void use(struct attn_tokenizer *t) {
  static int32_t ids[MOST];
  static const char text[] = "aab ab\xff";
  if (attn_tokenizer_kind(t) == ATTN_TOKENIZER_BPE) encode(t, text, sizeof text, ids);
  attn_tokenizer_free(t);
}

static void every_truncation_and_flipped_bit_is_survived(void **state) {
  (void)state;
  for (size_t file = 0; file < sizeof good / sizeof *good; file += 6)
    damage_is_survived(good[file], use);
}

/* ---- Failing system calls ---- */

static attn_status parse_pairs(void) {
  struct attn_tokenizer *t = NULL;
  attn_status status = attn_tokenizer_parse(good[0], strlen(good[0]), &t, NULL);
  attn_tokenizer_free(t);
  return status;
}

static attn_status train_pairs(void) {
  struct attn_tokenizer *t = NULL;
  const struct attn_text_view one = {"aab aab ab 12", 13};
  attn_status status = attn_tokenizer_train_bpe(&one, 1, 264, NULL, &t, NULL);
  attn_tokenizer_free(t);
  return status;
}

static attn_status train_characters(void) {
  struct attn_tokenizer *t = NULL;
  const struct attn_text_view one = {"aab ab", 6};
  attn_status status = attn_tokenizer_train_characters(&one, 1, NULL, &t, NULL);
  attn_tokenizer_free(t);
  return status;
}

static struct attn_tokenizer *held;
static char held_path[] = "/tmp/attn-tokenizer-XXXXXX";

static attn_status encode_held(void) {
  int32_t ids[16];
  size_t count;
  return attn_tokenizer_encode(held, "aab aab", 7, ids, 16, &count, NULL);
}

static attn_status write_held(void) { return write_file(held, held_path, NULL); }

static attn_status read_held(void) {
  struct attn_tokenizer *t = NULL;
  attn_status status = attn_tokenizer_read(held_path, &t, NULL);
  attn_tokenizer_free(t);
  return status;
}

/* Every call of that kind fails in turn; no file is left. */
static void each_call_may_fail(attn_status (*act)(void), enum fault_kind kind, int least) {
  int failures = 0;
  for (int fail_at = 1;; fail_at++) {
    faults_begin(kind, fail_at);
    attn_status status = act();
    int calls = faults_end();
    assert_int_equal(faults_blocks(), 0);
    if (calls < fail_at) {
      assert_int_equal(status, ATTN_OK);
      assert_true(failures >= least);
      return;
    }
    /* For a few allocations jansson reports a format error instead; a failed sync of the folder
     * after the rename counts, too. */
    assert_true(status == (kind == FAULT_MEMORY ? ATTN_ERR_MEMORY : ATTN_ERR_FILE) ||
                (status == ATTN_ERR_FORMAT && act != write_held));
    failures += status != ATTN_ERR_FORMAT;
  }
}

static void each_allocation_and_file_call_may_fail(void **state) {
  (void)state;
  each_call_may_fail(parse_pairs, FAULT_MEMORY, 25);
  each_call_may_fail(train_pairs, FAULT_MEMORY, 20);
  each_call_may_fail(train_characters, FAULT_MEMORY, 6);
  close(mkstemp(held_path));
  held = characters("ab");
  each_call_may_fail(write_held, FAULT_MEMORY, 25);
  each_call_may_fail(write_held, FAULT_WRITE, 4);
  assert_int_equal(write_held(), ATTN_OK);
  each_call_may_fail(read_held, FAULT_READ, 2);
  attn_tokenizer_free(held);
  held = bpe("aab", 262);
  each_call_may_fail(encode_held, FAULT_MEMORY, 2);
  unlink(held_path);
  attn_tokenizer_free(held);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(of_two_merges_of_a_pair_the_later_holds),
      cmocka_unit_test(a_file_gives_the_same_numbers),
      cmocka_unit_test(files_that_cannot_be_opened_are_told),
      cmocka_unit_test(right_files_are_read),
      cmocka_unit_test(bad_files_are_refused_with_the_place),
      cmocka_unit_test(a_nul_anywhere_is_refused),
      cmocka_unit_test(every_truncation_and_flipped_bit_is_survived),
      cmocka_unit_test(each_allocation_and_file_call_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
