/* vocabulary.h -- the tokenizer's struct, GPT-2's byte alphabet, splitting text into words. */
#ifndef ATTN_TOKENIZERS_VOCABULARY_H
#define ATTN_TOKENIZERS_VOCABULARY_H

#include "intern.h"
#include "tokenizer.h"
#include "utf8.h"

enum { ATTN_VOCAB_SIZE_MAX = 1 << 24 };

struct attn_bpe_merge {
  int32_t rank, word; /* word: the merged token */
};

/* WordPiece's parameters, by the names of tokenizer.json. */
struct attn_wordpiece {
  char *prefix;                         /* of the pieces that continue a word: "##" */
  size_t prefix_bytes, max_token_bytes; /* of any token */
  int64_t max_word_chars;               /* a longer word is unknown */
  int64_t max_length;                   /* tokens of a text, with begin and end; 0: no limit */
  int clean_text;                       /* drop control characters */
  int handle_chinese_chars;             /* an ideograph is a word */
  int strip_accents;
  int lowercase;
  int cleanup; /* no space before a full stop when decoding */
};

struct attn_tokenizer {
  enum attn_tokenizer_kind kind;
  int pretrained;              /* the file's own special tokens, not those four */
  int32_t begin, end, unknown; /* -1: none */
  struct attn_intern tokens;   /* by id, spelled as in the file: GPT-2's letters for bytes */
  unsigned char *special;      /* (tokens) */
  size_t special_capacity;
  int32_t byte[256];         /* BPE: the ids of single bytes, -1: none */
  struct attn_intern merges; /* BPE: keys are pairs of ids */
  struct attn_bpe_merge *merge;
  size_t merge_capacity;
  int32_t ranks;
  struct attn_wordpiece wordpiece;
};

extern const char *const attn_special_tokens[ATTN_NUM_SPECIAL_TOKENS];

/* Returns an empty tokenizer of that kind; NULL: no memory. */
struct attn_tokenizer *attn_vocabulary_new(enum attn_tokenizer_kind kind);

/* Appends a token. Returns 0 if out of memory. */
int attn_vocabulary_add(struct attn_tokenizer *tokenizer, const char *word, size_t bytes,
                        int special);

/* The id of a token that is not special; -1: there is none. */
int32_t attn_vocabulary_find(const struct attn_tokenizer *tokenizer, const char *word,
                             size_t bytes);

/* BPE: a byte without a token; -1: every byte has one. */
int attn_vocabulary_missing_byte(const struct attn_tokenizer *tokenizer);

/* Appends a merge, which replaces an earlier one of the same pair. Returns 0 if out of memory. */
int attn_vocabulary_add_merge(struct attn_tokenizer *tokenizer, int32_t left, int32_t right,
                              int32_t word);
/* NULL: none. Valid until the next merge is added. */
const struct attn_bpe_merge *attn_vocabulary_find_merge(const struct attn_tokenizer *tokenizer,
                                                        int32_t left, int32_t right);

/* Convert between a byte and the letter that GPT-2's vocabularies write for it; -1: no such letter.
 * [Radford et al. 2019, encoder.py: bytes_to_unicode] */
int32_t attn_byte_to_unicode(unsigned char byte);
int attn_unicode_to_byte(int32_t letter);

/* Output of an encoder. Tokens beyond capacity are counted, not stored. */
struct attn_token_output {
  int32_t *ids;
  size_t capacity, count;
  struct attn_unknown_range *unknown; /* grown as needed */
  size_t unknown_capacity, unknowns;
  int notes;  /* record the ranges of unknown text */
  int failed; /* out of memory for one */
};
void attn_token_output_put(struct attn_token_output *encoding, int32_t id);

/* Appends the token of the bytes of the text at `at`, unknown if id is -1. */
void attn_token_output_put_text(struct attn_token_output *encoding, int32_t id, int32_t unknown,
                                size_t at, size_t bytes);

/* ATTN_ERR_FORMAT with the offset of the invalid byte. */
attn_status attn_fail_invalid_utf8(const char *text, size_t at, attn_error *err);

size_t attn_utf8_write(int32_t code, char *to); /* at most 4 */

/* Unicode's White_Space. */
int attn_is_space(int32_t code);

/* Finds the next word at or after *at, sets *at to its start and returns its bytes. Returns 0 at
 * the end of the text or at invalid UTF-8, with *at there. */
size_t attn_next_word(const char *text, size_t length, size_t *at);

/* Bytes of the first word of a nonempty text. [the same, encoder.py: Encoder.pat] */
size_t attn_gpt2_word_length(const char *text, size_t length);

#endif
