/* fuzz_tokenizer.c -- any bytes are a tokenizer or an error, without a crash, a leak or a large
 * allocation. The text after the first NUL is encoded: every token is in the vocabulary, and
 * without <unk> the decoded text is the same. WordPiece loses information; it gives at most one
 * token per byte. Written and read again the tokenizer is the same. */
#include "files.h"
#include "attn/io.h"
#include "tokenizer.h"

enum { TOKENS = 4096, BYTES = 65536, UNKNOWN = 3, MAX_TRAINED = 600 };

static void use(const struct attn_tokenizer *t, const char *text, size_t length) {
  static int32_t ids[TOKENS];
  static char back[BYTES];
  size_t count, bytes;
  int known = 1;
  if (attn_tokenizer_encode(t, text, length, ids, TOKENS, &count, NULL)) return;
  int pieces = attn_tokenizer_kind(t) == ATTN_TOKENIZER_WORDPIECE;
  MUST(!pieces || count <= length);
  for (size_t n = 0; n < count; n++) {
    MUST(ids[n] >= (pieces ? 0 : UNKNOWN) && ids[n] < attn_tokenizer_vocab_size(t));
    known &= ids[n] != UNKNOWN;
  }
  if (attn_tokenizer_decode(t, ids, count, back, BYTES, &bytes, NULL)) return;
  MUST(!known || pieces || (bytes == length && !memcmp(back, text, bytes)));
}

static void reopen(const struct attn_tokenizer *t, const char *text, size_t length) {
  static int32_t ids[2][TOKENS];
  size_t count[2];
  char path[1100];
  struct attn_tokenizer *again = NULL;
  attn_error err;
  char *one = attn_tokenizer_to_json(t);
  MUST(one && !attn_file_write(path_of(path, "tokenizer.json"), one, strlen(one), &err));
  MUST(!attn_tokenizer_read(path, &again, &err));
  MUST(attn_tokenizer_kind(t) == attn_tokenizer_kind(again));
  MUST(attn_tokenizer_vocab_size(t) == attn_tokenizer_vocab_size(again));
  MUST(attn_tokenizer_max_length(t) == attn_tokenizer_max_length(again));
  for (enum attn_special_token which = ATTN_TOKEN_BOS; which <= ATTN_TOKEN_UNK; which++)
    MUST(attn_tokenizer_special_token(t, which) == attn_tokenizer_special_token(again, which));
  attn_status status = attn_tokenizer_encode(t, text, length, ids[0], TOKENS, &count[0], NULL);
  MUST(attn_tokenizer_encode(again, text, length, ids[1], TOKENS, &count[1], NULL) == status);
  MUST(status || (count[0] == count[1] && !memcmp(ids[0], ids[1], count[0] * sizeof *ids[0])));
  char *two = attn_tokenizer_to_json(again);
  MUST(two && !strcmp(one, two));
  free(one), free(two);
  attn_tokenizer_free(again);
}

static void use_all(const struct attn_tokenizer *t, const char *text, size_t length) {
  use(t, text, length);
  reopen(t, text, length);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct attn_tokenizer *t = NULL;
  struct attn_text_view all = {(const char *)data, size};
  attn_error err;
  const struct part json = next_part(&data, &size);
  if (attn_tokenizer_parse(json.text, json.length, &t, &err) == ATTN_OK)
    use_all(t, (const char *)data, size);
  attn_tokenizer_free(t);
  t = NULL;
  if (all.length <= MAX_TRAINED &&
      attn_tokenizer_train_bpe(&all, 1, 300, NULL, &t, &err) == ATTN_OK)
    use_all(t, all.text, all.length);
  attn_tokenizer_free(t);
  return 0;
}
