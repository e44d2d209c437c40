/* vocabulary.h -- what the tokenizer's files share: its parts, GPT-2's letters for bytes, its
 * words. */
#ifndef ATTN_TOKENIZERS_VOCABULARY_H
#define ATTN_TOKENIZERS_VOCABULARY_H

#include "intern.h"
#include "tokenizer.h"
#include "utf8.h"

enum {
  ATTN_SPECIAL_TOKENS = 4, /* <pad>, <s>, </s>, <unk> */
  ATTN_UNK_ID = 3,
  ATTN_VOCAB_SIZE_MAX = 1 << 24
};

struct attn_bpe_merge {
  int32_t rank, word; /* what it makes */
};

/* What WordPiece needs besides its words. */
struct attn_wordpiece {
  char *prefix;                 /* of the pieces that go on a word */
  size_t prefix_bytes, longest; /* bytes; of any word */
  int64_t letters;              /* a word of more is unknown */
  int64_t most;                 /* tokens of a text, with begin and end; 0: any number */
  int cleans;                   /* control characters are left out */
  int parts;                    /* ideographs are words of their own */
  int strips;                   /* accents are left out */
  int lowers;
  int tidies; /* decoding puts no space before a full stop */
};

struct attn_tokenizer {
  enum attn_tokenizer_kind kind;
  int foreign;                 /* its special tokens are the file's own, not those four */
  int32_t begin, end, unknown; /* -1: none */
  struct attn_intern words;    /* by number: as the file says them, so with letters for bytes */
  unsigned char *special;      /* (words) */
  size_t special_room;
  int32_t byte[256];         /* BPE: the words of single bytes, -1: none */
  struct attn_intern merges; /* BPE: keys are pairs */
  struct attn_bpe_merge *merge;
  size_t merge_room;
  int32_t ranks;
  struct attn_wordpiece pieces; /* WORDPIECE */
};

extern const char *const attn_special_tokens[ATTN_SPECIAL_TOKENS];

/* An empty one of that kind, NULL: no memory. */
struct attn_tokenizer *attn_vocabulary_new(enum attn_tokenizer_kind kind);

/* The number of a new word; 0: no memory. */
int attn_vocabulary_add(struct attn_tokenizer *tokenizer, const char *word, size_t bytes,
                        int special);

/* A merge of a later rank than all; of two for one pair the later holds. 0: no memory. */
int attn_vocabulary_add_merge(struct attn_tokenizer *tokenizer, int32_t left, int32_t right,
                              int32_t word);
const struct attn_bpe_merge *attn_vocabulary_find_merge(const struct attn_tokenizer *tokenizer,
                                                        int32_t left, int32_t right);

/* The letter that GPT-2's vocabularies write for a byte, and back; -1: no such letter.
 * [Radford et al. 2019, encoder.py: bytes_to_unicode] */
int32_t attn_byte_to_unicode(unsigned char byte);
int attn_unicode_to_byte(int32_t letter);

/* Tokens as they come; those that room is too small for are counted. */
struct attn_token_output {
  int32_t *ids;
  size_t room, count;
  struct attn_unknown_range *unknown; /* grows */
  size_t unknown_room, unknowns;
  int notes;  /* whether unknown parts are wanted */
  int failed; /* no memory for one */
};
void attn_token_output_put(struct attn_token_output *encoding, int32_t id);

/* <unk>, for so many bytes of the text from `at` on. */
void attn_token_output_put_unknown(struct attn_token_output *encoding, int32_t id, size_t at,
                                   size_t bytes);

/* ATTN_ERR_FORMAT: there is none at that byte. */
attn_status attn_fail_invalid_utf8(const char *text, size_t at, attn_error *err);

size_t attn_utf8_write(int32_t code, char *to); /* at most 4 */

/* Unicode's White_Space. */
int attn_is_space(int32_t code);

/* The next word at or behind *at: its bytes, and *at where it begins; 0: none, and *at is where the
 * text ends or is no UTF-8. */
size_t attn_next_word(const char *text, size_t length, size_t *at);

/* Bytes of the first word of a text that is not empty. [the same, encoder.py: Encoder.pat] */
size_t attn_gpt2_word_length(const char *text, size_t length);

/* Merges within one word; for tokenizer.c. */
struct attn_bpe_word {
  int32_t *at, *next, *before;
  size_t at_room, next_room, before_room;
  struct attn_heap heap;
};
int attn_bpe_word_merge(struct attn_bpe_word *m, const struct attn_tokenizer *tokenizer,
                        const char *word, size_t bytes, size_t *count); /* the first count of at */
void attn_bpe_word_free(struct attn_bpe_word *m);

#endif
