/* Any bytes: a tokenizer or a typed error, never a crash, a leak or a large allocation. What is
 * behind the first NUL is a text for it: no number is out of the vocabulary, and what has no <unk>
 * comes back as it was; of WordPiece, which leaves out much, there are no more tokens than bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "tokenizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TOKENS = 4096, BYTES = 65536, UNKNOWN = 3 };

static void use(const struct attn_tokenizer *t, const char *text, size_t length) {
  static int32_t ids[TOKENS];
  static char back[BYTES];
  size_t count, bytes;
  int known = 1;
  if (attn_tokenizer_encode(t, text, length, ids, TOKENS, &count, NULL)) return;
  int pieces = attn_tokenizer_kind(t) == ATTN_TOKENIZER_WORDPIECE;
  if (pieces && count > length) abort();
  for (size_t n = 0; n < count; n++) {
    if (ids[n] < (pieces ? 0 : UNKNOWN) || ids[n] >= attn_tokenizer_words(t)) abort();
    known &= ids[n] != UNKNOWN;
  }
  if (attn_tokenizer_decode(t, ids, count, back, BYTES, &bytes, NULL)) return;
  if (known && !pieces && (bytes != length || memcmp(back, text, bytes))) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct attn_tokenizer *t = NULL;
  struct attn_passage text = {(const char *)data, size};
  attn_error err;
  const uint8_t *end = size ? memchr(data, 0, size) : NULL;
  size_t json = end ? (size_t)(end - data) : size, behind = end ? json + 1 : size;
  if (attn_tokenizer_parse(data, json, &t, &err) == ATTN_OK)
    use(t, (const char *)data + behind, size - behind);
  attn_tokenizer_free(t);
  t = NULL;
  if (attn_tokenizer_train_bpe(&text, 1, 300, NULL, &t, &err) == ATTN_OK)
    use(t, text.text, size < TOKENS ? size : TOKENS);
  attn_tokenizer_free(t);
  return 0;
}
