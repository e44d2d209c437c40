/* frame.h -- what tokenizer.json's post_processor puts around every text: a special token at most
 * on either side. [huggingface/tokenizers: processors::template] */
#ifndef ATTN_TOKENIZERS_TEMPLATE_PROCESSING_H
#define ATTN_TOKENIZERS_TEMPLATE_PROCESSING_H

#include <jansson.h>

#include "vocabulary.h"

/* Is this a post_processor of that type? */
int attn_template_is(const json_t *part);

/* Sets the tokenizer's begin and end, -1 where the part has none or is NULL or null. The words are
 * there already. */
attn_status attn_template_read(struct attn_tokenizer *tokenizer, const json_t *part,
                               attn_error *err);

/* The part; null where both are -1. NULL: no memory. */
json_t *attn_template_write(const struct attn_tokenizer *tokenizer, int32_t begin, int32_t end);

#endif
