/* live_model.h -- what the page of a model calls: a checkpoint, run on a text. */
#ifndef ATTN_WEB_LIVE_MODEL_H
#define ATTN_WEB_LIVE_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "output.h"

struct attn_live_model;

/* Opens a checkpoint of attn train. bytes: from malloc, taken over. A file that cannot be opened is
 * a model too, with its error as output. NULL: no memory. */
struct attn_live_model *attn_live_model_open(void *bytes, size_t size, const char *name)
    ATTN_EXPORT(attn_live_model_open);

int32_t attn_live_model_is_open(const struct attn_live_model *model)
    ATTN_EXPORT(attn_live_model_is_open);

/* Writes the page of attn show MODEL --input TEXT --html, or an error; replaces the last output.
 * Returns the exit status of the command; -1: no memory. */
int32_t attn_live_model_run(struct attn_live_model *model, const char *text, int32_t language)
    ATTN_EXPORT(attn_live_model_run);

/* What the model has generated in the last run; "": nothing. */
const char *attn_live_model_text(const struct attn_live_model *model)
    ATTN_EXPORT(attn_live_model_text);
size_t attn_live_model_text_bytes(const struct attn_live_model *model)
    ATTN_EXPORT(attn_live_model_text_bytes);

const char *attn_live_model_output(const struct attn_live_model *model)
    ATTN_EXPORT(attn_live_model_output);
size_t attn_live_model_output_bytes(const struct attn_live_model *model)
    ATTN_EXPORT(attn_live_model_output_bytes);

#endif
