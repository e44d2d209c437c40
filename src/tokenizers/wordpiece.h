/* wordpiece.h -- the part of a tokenizer that is WordPiece; for tokenizer*.c. */
#ifndef ATTN_TOKENIZERS_WORDPIECE_H
#define ATTN_TOKENIZERS_WORDPIECE_H

#include <jansson.h>

#include "vocabulary.h"

/* ATTN_ERR_FORMAT where there is no UTF-8. */
attn_status attn_wordpiece_encode(const struct attn_tokenizer *tokenizer, const char *text,
                                  size_t length, struct attn_token_output *out, attn_error *err);

/* How many bytes of a word's beginning are left out behind another, and whether a space comes
 * between. */
size_t attn_wordpiece_join(const struct attn_tokenizer *tokenizer, const char *word, size_t bytes,
                           int *space);

/* ---- In tokenizer.json ---- */

/* The document's own members. */
attn_status attn_wordpiece_check_root(const json_t *root, attn_error *err);

/* All that is said around the words, which are there already. */
attn_status attn_wordpiece_read(struct attn_tokenizer *tokenizer, const json_t *root,
                                attn_error *err);

/* Parts of the document; NULL: no memory. The model without its words. */
json_t *attn_wordpiece_truncation(const struct attn_tokenizer *tokenizer);
json_t *attn_wordpiece_normalizer(const struct attn_tokenizer *tokenizer);
json_t *attn_wordpiece_pre_tokenizer(void);
json_t *attn_wordpiece_decoder(const struct attn_tokenizer *tokenizer);
json_t *attn_wordpiece_model(const struct attn_tokenizer *tokenizer, json_t *vocab);

#endif
