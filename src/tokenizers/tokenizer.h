/* tokenizer.h -- text to numbers and back, as Hugging Face's tokenizer.json says.
 *
 * Every vocabulary begins with <pad>, <s>, </s>, <unk>, numbers 0 to 3, but WordPiece's, whose file
 * says which those are. Text never becomes one of
 * the special tokens, whatever it says (encode_special_tokens = True there; a word between spaces
 * becomes one all the same); <unk> stands for what is not in the vocabulary. Decoding leaves
 * special tokens out. */
#ifndef ATTN_TOKENIZERS_TOKENIZER_H
#define ATTN_TOKENIZERS_TOKENIZER_H

#include <stddef.h>
#include <stdint.h>

#include "attn/attn.h"

enum attn_tokenizer_kind {
  ATTN_TOKENIZER_CHARACTER, /* Unicode code points; bytes that are no UTF-8: ATTN_ERR_FORMAT */
  ATTN_TOKENIZER_BPE,       /* pairs of bytes merged, within GPT-2's words; any bytes */
  ATTN_TOKENIZER_WORD,      /* what stands between white space; UTF-8. Decoding puts one space */
  ATTN_TOKENIZER_WORDPIECE  /* BERT's words, in the longest pieces; UTF-8. Only read, never trained
                             */
};

enum attn_special_token { ATTN_TOKEN_BOS, ATTN_TOKEN_EOS, ATTN_TOKEN_UNK };

struct attn_tokenizer;
struct attn_watch;

struct attn_text_view {
  const char *text; /* UTF-8; NULL where length is 0 */
  size_t length;
};

/* What follows tells watch, or NULL, of texts, and of merges: by then of words, and of how many. */

/* All code points that occur, in their order, U+0000 left out: JSON readers refuse it in names. */
attn_status attn_tokenizer_train_characters(const struct attn_text_view *texts, size_t count,
                                            struct attn_watch *watch,
                                            struct attn_tokenizer **tokenizer, attn_error *err);

/* All words that occur, in the order of their bytes. A word of a single character is none that a
 * special token could be taken for; one that is spelled like a special token: ATTN_ERR_ARGUMENT. */
attn_status attn_tokenizer_train_words(const struct attn_text_view *texts, size_t count,
                                       struct attn_watch *watch, struct attn_tokenizer **tokenizer,
                                       attn_error *err);

/* Merges the most frequent pair, among equals that of the least numbers, until the vocabulary has
 * so many words (260 to 2^24) or no pair is left. n log n in the bytes of the different words. */
attn_status attn_tokenizer_train_bpe(const struct attn_text_view *texts, size_t count,
                                     int64_t words, struct attn_watch *watch,
                                     struct attn_tokenizer **tokenizer, attn_error *err);

/* ATTN_ERR_FORMAT names the place: what this library would do otherwise than the file says is
 * refused, never left out. */
attn_status attn_tokenizer_parse(const void *json, size_t size, struct attn_tokenizer **tokenizer,
                                 attn_error *err);
attn_status attn_tokenizer_read(const char *path, struct attn_tokenizer **tokenizer,
                                attn_error *err);
attn_status attn_tokenizer_write(const struct attn_tokenizer *tokenizer, const char *path,
                                 attn_error *err);

/* The same of a file whose special tokens are its own, whatever their numbers: GPT-2's has
 * <|endoftext|> alone. What begins and ends a text is what post_processor puts around it, a special
 * token at most on either side. */
attn_status attn_tokenizer_parse_pretrained(const void *json, size_t size,
                                            struct attn_tokenizer **tokenizer, attn_error *err);
attn_status attn_tokenizer_read_pretrained(const char *path, struct attn_tokenizer **tokenizer,
                                           attn_error *err);

void attn_tokenizer_free(struct attn_tokenizer *tokenizer); /* NULL: nothing */

/* What attn_tokenizer_write writes, to be freed; NULL where there is no memory. */
char *attn_tokenizer_to_json(const struct attn_tokenizer *tokenizer);

/* The same, with these special tokens put around every text by post_processor; -1: none. */
char *attn_tokenizer_to_json_with(const struct attn_tokenizer *tokenizer, int32_t begin,
                                  int32_t end);

enum attn_tokenizer_kind attn_tokenizer_kind(const struct attn_tokenizer *tokenizer);
const char *attn_tokenizer_kind_name(const struct attn_tokenizer *tokenizer); /* "characters" .. */
int64_t attn_tokenizer_vocab_size(const struct attn_tokenizer *tokenizer);

/* A word as the file spells it, 0 behind it; NULL: no such number. It lives as long as the
 * tokenizer. */
const char *attn_tokenizer_token(const struct attn_tokenizer *tokenizer, int32_t id);

/* Its number, -1: texts have none such. */
int32_t attn_tokenizer_special_token(const struct attn_tokenizer *tokenizer,
                                     enum attn_special_token which);

/* ATTN_ERR_FORMAT where words 0 to 3 are not <pad>, <s>, </s>, <unk>, all special: models that are
 * trained here begin and end with these numbers. Reading has checked it, save of WordPiece and of
 * foreign files. */
attn_status attn_tokenizer_check_special_tokens(const struct attn_tokenizer *tokenizer,
                                                attn_error *err);

int attn_tokenizer_is_special(const struct attn_tokenizer *tokenizer, int32_t id);

/* How many tokens the file lets a text have, its begin and end with them ("truncation"); 0: any
 * number. attn_tokenizer_encode gives all of them, and neither begin nor end. */
int64_t attn_tokenizer_max_length(const struct attn_tokenizer *tokenizer);

/* A part of a text that <unk> stands for. */
struct attn_unknown_range {
  size_t at, bytes;
};

/* Every part of a text that encoding gives <unk> for, in their order; to be freed where *count is
 * not 0. Errors as attn_tokenizer_encode. */
attn_status attn_tokenizer_find_unknown(const struct attn_tokenizer *tokenizer, const char *text,
                                        size_t length, struct attn_unknown_range **unknown,
                                        size_t *count, attn_error *err);

/* *count tokens; never more than length. Where room is less: ATTN_ERR_MEMORY, *count is what is
 * needed and the first room of them are written. length at most 2^30. */
attn_status attn_tokenizer_encode(const struct attn_tokenizer *tokenizer, const char *text,
                                  size_t length, int32_t *ids, size_t room, size_t *count,
                                  attn_error *err);

/* *length bytes, no 0 behind them; where room is less, as above. Tokens may end within a character:
 * the bytes of a part need not be UTF-8. A number that is no token: ATTN_ERR_ARGUMENT. */
attn_status attn_tokenizer_decode(const struct attn_tokenizer *tokenizer, const int32_t *ids,
                                  size_t count, char *text, size_t room, size_t *length,
                                  attn_error *err);

#endif
