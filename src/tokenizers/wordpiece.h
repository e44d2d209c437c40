/* wordpiece.h -- WordPiece, for tokenizer*.c. */
#ifndef ATTN_TOKENIZERS_WORDPIECE_H
#define ATTN_TOKENIZERS_WORDPIECE_H

#include <jansson.h>

#include "vocabulary.h"

/* ATTN_ERR_FORMAT: invalid UTF-8. */
attn_status attn_wordpiece_encode(const struct attn_tokenizer *tokenizer, const char *text,
                                  size_t length, struct attn_token_output *out, attn_error *err);

/* How many leading bytes of a token to skip after another token, and whether a space separates
 * them. */
size_t attn_wordpiece_join(const struct attn_tokenizer *tokenizer, const char *word, size_t bytes,
                           int *space);

/* ---- In tokenizer.json ---- */

/* Checks the members of the document. */
attn_status attn_wordpiece_check_root(const json_t *root, attn_error *err);

/* Reads everything except the vocabulary, which must have been read. */
attn_status attn_wordpiece_read(struct attn_tokenizer *tokenizer, const json_t *root,
                                attn_error *err);

/* Parts of the document; NULL: out of memory. */
json_t *attn_wordpiece_truncation(const struct attn_tokenizer *tokenizer);
json_t *attn_wordpiece_normalizer(const struct attn_tokenizer *tokenizer);
json_t *attn_wordpiece_decoder(const struct attn_tokenizer *tokenizer);
json_t *attn_wordpiece_model(const struct attn_tokenizer *tokenizer, json_t *vocab);

#endif
