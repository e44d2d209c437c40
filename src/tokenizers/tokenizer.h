/* tokenizer.h -- text to token ids and back, as defined by Hugging Face's tokenizer.json.
 *
 * Every vocabulary begins with <pad>, <s>, </s>, <unk>, except WordPiece's and that of a pretrained
 * model, which name their own special tokens. Text is never encoded as a special token
 * (encode_special_tokens = True there, which still encodes a word between spaces as one); <unk>
 * represents text outside the vocabulary. Decoding skips special tokens. */
#ifndef ATTN_TOKENIZERS_TOKENIZER_H
#define ATTN_TOKENIZERS_TOKENIZER_H

#include <stddef.h>
#include <stdint.h>

#include "attn/attn.h"

enum attn_tokenizer_kind {
  ATTN_TOKENIZER_CHARACTER, /* Unicode code points; invalid UTF-8: ATTN_ERR_FORMAT */
  ATTN_TOKENIZER_BPE,       /* byte pairs merged within GPT-2's words; any bytes */
  ATTN_TOKENIZER_WORD,      /* split at white space; UTF-8. Decoding joins with one space */
  ATTN_TOKENIZER_WORDPIECE  /* BERT's words, in the longest pieces; UTF-8. Read, not trained */
};

/* The ids of <pad>, <s>, </s>, <unk> in a vocabulary that begins with them. */
enum {
  ATTN_TOKEN_PAD,
  ATTN_TOKEN_BEGIN,
  ATTN_TOKEN_END,
  ATTN_TOKEN_UNKNOWN,
  ATTN_NUM_SPECIAL_TOKENS
};

/* The special tokens by what they do, in any vocabulary. */
enum attn_special_token { ATTN_TOKEN_BOS, ATTN_TOKEN_EOS, ATTN_TOKEN_UNK };

struct attn_tokenizer;
struct attn_watch;

struct attn_text_view {
  const char *text; /* UTF-8; NULL where length is 0 */
  size_t length;
};

/* ---- Training. watch, or NULL: texts, then for BPE distinct words, then tokens ---- */

/* All code points that occur, in ascending order, without U+0000, which JSON readers reject in
 * names. */
attn_status attn_tokenizer_train_characters(const struct attn_text_view *texts, size_t count,
                                            struct attn_watch *watch,
                                            struct attn_tokenizer **tokenizer, attn_error *err);

/* All words that occur, sorted by bytes. ATTN_ERR_ARGUMENT: a word is spelled like a special token
 * or contains a NUL. */
attn_status attn_tokenizer_train_words(const struct attn_text_view *texts, size_t count,
                                       struct attn_watch *watch, struct attn_tokenizer **tokenizer,
                                       attn_error *err);

/* Merges the most frequent pair, the one of the lowest ids among equals, until the vocabulary has
 * vocab_size tokens (260 to 2^24) or no pair is left. Cost: n log n in the bytes of the distinct
 * words. */
attn_status attn_tokenizer_train_bpe(const struct attn_text_view *texts, size_t count,
                                     int64_t vocab_size, struct attn_watch *watch,
                                     struct attn_tokenizer **tokenizer, attn_error *err);

/* ATTN_ERR_FORMAT names the member. A file that this library would not follow exactly is rejected.
 */
attn_status attn_tokenizer_parse(const void *json, size_t size, struct attn_tokenizer **tokenizer,
                                 attn_error *err);
attn_status attn_tokenizer_read(const char *path, struct attn_tokenizer **tokenizer,
                                attn_error *err);

/* The same for a pretrained model's file, which has its own special tokens with any ids: GPT-2's
 * has <|endoftext|> alone. post_processor defines what begins and ends a text, at most one special
 * token on each side. */
attn_status attn_tokenizer_parse_pretrained(const void *json, size_t size,
                                            struct attn_tokenizer **tokenizer, attn_error *err);

void attn_tokenizer_free(struct attn_tokenizer *tokenizer); /* NULL is fine */

/* tokenizer.json, which attn_tokenizer_parse reads; the caller frees it. NULL: out of memory. */
char *attn_tokenizer_to_json(const struct attn_tokenizer *tokenizer);

/* The same, with a post_processor that puts these special tokens around every text; -1: none. */
char *attn_tokenizer_to_json_with(const struct attn_tokenizer *tokenizer, int32_t begin,
                                  int32_t end);

enum attn_tokenizer_kind attn_tokenizer_kind(const struct attn_tokenizer *tokenizer);
const char *attn_tokenizer_kind_name(const struct attn_tokenizer *tokenizer); /* "characters" .. */
int64_t attn_tokenizer_vocab_size(const struct attn_tokenizer *tokenizer);

/* A token as the file spells it, terminated by 0, valid for the lifetime of the tokenizer; NULL:
 * unknown id. */
const char *attn_tokenizer_token(const struct attn_tokenizer *tokenizer, int32_t id);

/* Its id; -1: the tokenizer has no such token. */
int32_t attn_tokenizer_special_token(const struct attn_tokenizer *tokenizer,
                                     enum attn_special_token which);

/* ATTN_ERR_FORMAT: tokens 0 to 3 are not <pad>, <s>, </s>, <unk>, all special, which models trained
 * here require. Reading has checked it, except for WordPiece and pretrained files. */
attn_status attn_tokenizer_check_special_tokens(const struct attn_tokenizer *tokenizer,
                                                attn_error *err);

int attn_tokenizer_is_special(const struct attn_tokenizer *tokenizer, int32_t id);

/* The most tokens of a text, begin and end included ("truncation"); 0: no limit.
 * attn_tokenizer_encode does not truncate and adds neither begin nor end. */
int64_t attn_tokenizer_max_length(const struct attn_tokenizer *tokenizer);

/* A range of a text that is encoded as <unk>. */
struct attn_unknown_range {
  size_t at, bytes;
};

/* Every range of a text that is encoded as <unk>, in order; the caller frees it if *count is not 0.
 * Errors as attn_tokenizer_encode. */
attn_status attn_tokenizer_find_unknown(const struct attn_tokenizer *tokenizer, const char *text,
                                        size_t length, struct attn_unknown_range **unknown,
                                        size_t *count, attn_error *err);

/* Writes *count tokens, never more than length (at most 2^30). ATTN_ERR_MEMORY: capacity is less
 * than *count; the first capacity tokens are written. */
attn_status attn_tokenizer_encode(const struct attn_tokenizer *tokenizer, const char *text,
                                  size_t length, int32_t *ids, size_t capacity, size_t *count,
                                  attn_error *err);

/* Writes *length bytes without a terminating 0; a small capacity as above. A token may end within a
 * character: the bytes of some tokens need not be UTF-8. ATTN_ERR_ARGUMENT: an unknown id. */
attn_status attn_tokenizer_decode(const struct attn_tokenizer *tokenizer, const int32_t *ids,
                                  size_t count, char *text, size_t capacity, size_t *length,
                                  attn_error *err);

#endif
