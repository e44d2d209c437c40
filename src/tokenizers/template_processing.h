/* template_processing.h -- tokenizer.json's post_processor: at most one special token on each side
 * of a text. [huggingface/tokenizers: processors::template] */
#ifndef ATTN_TOKENIZERS_TEMPLATE_PROCESSING_H
#define ATTN_TOKENIZERS_TEMPLATE_PROCESSING_H

#include <jansson.h>

#include "vocabulary.h"

/* Whether the part is a TemplateProcessing. */
int attn_template_is(const json_t *part);

/* Sets the tokenizer's begin and end; -1 if the part has none, is NULL or null. The vocabulary must
 * have been read. */
attn_status attn_template_read(struct attn_tokenizer *tokenizer, const json_t *part,
                               attn_error *err);

/* The part; null if both are -1. Returns NULL if out of memory. */
json_t *attn_template_write(const struct attn_tokenizer *tokenizer, int32_t begin, int32_t end);

#endif
