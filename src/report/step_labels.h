/* step_labels.h -- names of the rows, columns and cells of a step. */
#ifndef ATTN_REPORT_STEP_LABELS_H
#define ATTN_REPORT_STEP_LABELS_H

#include "attn/lesson.h"

enum {
  ATTN_LABEL_BYTES = 128,
  ATTN_ADDRESS_BYTES = 400,
  ATTN_FORMULA_BYTES = 640,
  ATTN_RELATION_BYTES = ATTN_LABEL_BYTES + ATTN_FORMULA_BYTES
};

/* The row of position t in an exercise's table, of 2 or 4 columns. */
#define ATTN_POSITIONS_TEXT(columns) \
  ((columns) == 2 ? "(sin(t), cos(t))" : "(sin(t), cos(t), sin(t/100), cos(t/100))")

/* What an axis of a step enumerates (0: its rows, 1: its columns). */
enum attn_step_axis { ATTN_AXIS_NONE, ATTN_AXIS_QUERIES, ATTN_AXIS_KEYS };
enum attn_step_axis attn_step_axis(const attn_example *e, const attn_step *s, int axis);

/* The number of queries of a step with an axis of queries, and of its keys. */
int32_t attn_query_count(const attn_example *e, const attn_step *s);
int32_t attn_key_count(const attn_example *e, const attn_step *s);

/* Whether a step has queries along one axis and keys along the other, as scores do. */
int attn_is_scorelike(const attn_example *e, const attn_step *s);

/* The tokens along an axis of a step and their *count, or NULL. */
char **attn_axis_tokens(const attn_example *e, const attn_step *s, int axis, int32_t *count);

/* The token at index of an axis, or NULL. */
const char *attn_axis_token(const attn_example *e, const attn_step *s, int axis, int32_t index);

/* The name of a query or a key of the example, as axis is: its token, or its number as the document
 * counts ("#1"). Returns text. */
const char *attn_name_text(const attn_example *e, enum attn_step_axis axis, int32_t n,
                           char text[ATTN_LABEL_BYTES]);

/* Whether two tokens are equal, ignoring quotes around them. */
int attn_token_equal(const char *a, const char *b);

/* Whether a token is all digits; it is quoted in an address. */
int attn_token_is_digits(const char *token);

/* "私", or "2" without a unique token: an index of an address. */
const char *attn_index_text(const attn_example *e, const attn_step *s, int axis, int32_t index,
                            char text[ATTN_LABEL_BYTES]);

/* The first step of a name, or NULL. */
const attn_step *attn_step_named(const attn_example *e, int32_t name);

/* The text after the first of the words, ended by NULL, that begins it; NULL: none does. */
const char *attn_skip_one_of(const char *text, const char *const *words);

/* Whether no other step of the example has its name and head. */
int attn_step_is_alone(const attn_example *e, const attn_step *s);

/* The steps of all examples. */
int32_t attn_step_count(const attn_lesson *lesson);

/* The name of a step in an address: "weights", or the document's name if two steps of a head are
 * weights. */
const char *attn_step_text(const attn_example *e, const attn_step *s, char text[ATTN_LABEL_BYTES]);

/* The title of the example at index, without its own "Example {index + 1}:"; never NULL. */
const char *attn_example_title(const attn_example *e, int32_t index);

/* The document's name for a step, without a leading "Let" or "After" of the sentence, cut to what a
 * line can hold. */
const char *attn_symbol_text(const attn_step *s, char text[ATTN_LABEL_BYTES]);

/* "weights[は,私]"; a negative row or col is the whole axis, ":". Returns text. */
const char *attn_address(const attn_example *e, const attn_step *s, int32_t row, int32_t col,
                         char text[ATTN_ADDRESS_BYTES]);

/* "Q K^T", "E / √2", "softmax(E)": how a step comes from its operands, in the document's names.
 * Empty for a given step, and where the document calls the step so: "X + PE". */
const char *attn_formula_text(const attn_example *e, const attn_step *s, int precision,
                              char text[ATTN_FORMULA_BYTES]);

/* "E = Q K^T": the document's name for a step and its formula, if it has one. */
const char *attn_relation_text(const attn_example *e, const attn_step *s, int precision,
                               char text[ATTN_RELATION_BYTES]);

#endif
