/* labels.h -- what rows, columns and cells of a step are called. */
#ifndef ATTN_REPORT_STEP_LABELS_H
#define ATTN_REPORT_STEP_LABELS_H

#include "attn/lesson.h"

enum { ATTN_LABEL_BYTES = 128, ATTN_ADDRESS_BYTES = 400, ATTN_FORMULA_BYTES = 640 };

/* What runs along an axis of a step (0: its rows, 1: its columns). */
enum attn_step_axis { ATTN_AXIS_NONE, ATTN_AXIS_QUERIES, ATTN_AXIS_KEYS };
enum attn_step_axis attn_step_axis(const attn_example *e, const attn_step *s, int axis);

/* Scores, or anything that has a query along one axis and a key along the other. */
int attn_is_scorelike(const attn_example *e, const attn_step *s);

/* The tokens along an axis of a step, or NULL where it has none; *count is theirs. */
char **attn_axis_tokens(const attn_example *e, const attn_step *s, int axis, int32_t *count);

/* The token at index of an axis, or NULL where the axis has none. */
const char *attn_axis_token(const attn_example *e, const attn_step *s, int axis, int32_t index);

/* The same for a query or a key of the example, whatever the step: its token, or its number as the
 * document counts ("#1"). Returns text. */
const char *attn_query_text(const attn_example *e, int32_t n, char text[ATTN_LABEL_BYTES]);
const char *attn_key_text(const attn_example *e, int32_t n, char text[ATTN_LABEL_BYTES]);

/* Are these the same token? Quotes around a name are not a part of it. */
int attn_token_equal(const char *a, const char *b);

/* Would it be taken for a number? A name of digits has quotes in an address. */
int attn_token_is_digits(const char *token);

/* "私", or "2" where there is no token or another row has the same: what stands in an address. */
const char *attn_index_text(const attn_example *e, const attn_step *s, int axis, int32_t index,
                            char text[ATTN_LABEL_BYTES]);

/* What a step is called in an address: "weights", or the document's name for it where two steps
 * (of one head) are weights. */
const char *attn_step_text(const attn_example *e, const attn_step *s, char text[ATTN_LABEL_BYTES]);

/* The title of the example at index, without its own "Example {index + 1}:"; never NULL. */
const char *attn_example_title(const attn_example *e, int32_t index);

/* The document's name for a step, without a leading "Let" or "After" of the sentence, cut to what a
 * line can hold. */
const char *attn_symbol_text(const attn_step *s, char text[ATTN_LABEL_BYTES]);

/* "weights[は,私]"; row or col below 0: all of that axis, ":". Returns text. */
const char *attn_address(const attn_example *e, const attn_step *s, int32_t row, int32_t col,
                         char text[ATTN_ADDRESS_BYTES]);

/* "Q K^T", "E / √2", "softmax(E)": how a step comes from its operands, in the document's names. */
const char *attn_formula_text(const attn_example *e, const attn_step *s, int precision,
                              char text[ATTN_FORMULA_BYTES]);

#endif
