#include "step_labels.h"

#include <stdio.h>
#include <string.h>

#include "operation_text.h"
#include "text_layout.h"

enum { LABEL_COLUMNS = 24 };

/* ---- The meaning of an axis ---- */

/* Of a snippet's own variable: from its operands. */
static enum attn_step_axis by_operation(const attn_example *e, const attn_step *s, int axis) {
  struct attn_axis_source from = attn_operation_text(s->op)->axis[axis];
  int summed = s->op == ATTN_OP_SUM && axis == s->axis;
  if (summed || from.operand < 0 || from.operand >= s->operands) return ATTN_AXIS_NONE;
  return attn_step_axis(e, &e->step[s->operand[from.operand]], from.axis);
}

enum attn_step_axis attn_step_axis(const attn_example *e, const attn_step *s, int axis) {
  int columns = e->orientation == ATTN_QUERIES_IN_COLUMNS;
  if (s->gradient_of > 0) return attn_step_axis(e, &e->step[s->gradient_of - 1], axis);
  switch (s->name) {
    case ATTN_STEP_X:
    case ATTN_STEP_K:
    case ATTN_STEP_V:
    case ATTN_STEP_POSITIONS:
      return axis ? ATTN_AXIS_NONE : ATTN_AXIS_KEYS;
    case ATTN_STEP_Y:
    case ATTN_STEP_Q:
    case ATTN_STEP_OUTPUT:
    case ATTN_STEP_CONCAT:
    case ATTN_STEP_PROJECTED:
      return axis ? ATTN_AXIS_NONE : ATTN_AXIS_QUERIES;
    case ATTN_STEP_MASK:
    case ATTN_STEP_SCORES:
    case ATTN_STEP_SCALED:
    case ATTN_STEP_MASKED:
    case ATTN_STEP_EXPONENTIALS:
    case ATTN_STEP_WEIGHTS:
      return axis == columns ? ATTN_AXIS_QUERIES : ATTN_AXIS_KEYS;
    case ATTN_STEP_ROW_SUM:
      return axis == columns ? ATTN_AXIS_QUERIES : ATTN_AXIS_NONE;
    case ATTN_STEP_OTHER:
      return by_operation(e, s, axis);
    default:
      return ATTN_AXIS_NONE;
  }
}

int32_t attn_query_count(const attn_example *e, const attn_step *s) {
  return attn_step_axis(e, s, 1) == ATTN_AXIS_QUERIES ? s->exact.cols : s->exact.rows;
}

int32_t attn_key_count(const attn_example *e, const attn_step *s) {
  return attn_step_axis(e, s, 1) == ATTN_AXIS_QUERIES ? s->exact.rows : s->exact.cols;
}

int attn_is_scorelike(const attn_example *e, const attn_step *s) {
  enum attn_step_axis rows = attn_step_axis(e, s, 0), cols = attn_step_axis(e, s, 1);
  return (rows == ATTN_AXIS_QUERIES && cols == ATTN_AXIS_KEYS) ||
         (rows == ATTN_AXIS_KEYS && cols == ATTN_AXIS_QUERIES);
}

/* ---- Names ---- */

char **attn_axis_tokens(const attn_example *e, const attn_step *s, int axis, int32_t *count) {
  enum attn_step_axis along = attn_step_axis(e, s, axis);
  int queries = along == ATTN_AXIS_QUERIES;
  *count = queries ? e->query_tokens : e->key_tokens;
  if (along == ATTN_AXIS_NONE || *count != (axis ? s->exact.cols : s->exact.rows)) return NULL;
  return queries ? e->query_token : e->key_token;
}

const char *attn_axis_token(const attn_example *e, const attn_step *s, int axis, int32_t index) {
  int32_t count;
  char **token = attn_axis_tokens(e, s, axis, &count);
  if (!token || index < 0 || index >= count || !token[index] || !*token[index]) return NULL;
  return token[index];
}

const char *attn_name_text(const attn_example *e, enum attn_step_axis axis, int32_t n,
                           char text[ATTN_LABEL_BYTES]) {
  const int queries = axis == ATTN_AXIS_QUERIES;
  char **token = queries ? e->query_token : e->key_token;
  if (token && n < (queries ? e->query_tokens : e->key_tokens) && token[n] && *token[n])
    return attn_text_shorten(text, ATTN_LABEL_BYTES, token[n], LABEL_COLUMNS);
  snprintf(text, ATTN_LABEL_BYTES, "#%d", (int)n + (e->one_based != 0));
  return text;
}

static size_t without_quotes(const char **token) {
  size_t bytes = strlen(*token);
  if (bytes < 3 || **token != '"' || (*token)[bytes - 1] != '"') return bytes;
  ++*token;
  return bytes - 2;
}

int attn_token_equal(const char *a, const char *b) {
  size_t bytes = without_quotes(&a);
  return bytes == without_quotes(&b) && !memcmp(a, b, bytes);
}

int attn_token_is_digits(const char *token) {
  return *token && !token[strspn(token, "0123456789")];
}

/* A token with a comma or a bracket is ambiguous in an address. */
static int fits_an_address(const char *token) {
  return !strpbrk(token, ",[]: ") && !strstr(token, "，") && !strstr(token, "：");
}

const char *attn_index_text(const attn_example *e, const attn_step *s, int axis, int32_t index,
                            char text[ATTN_LABEL_BYTES]) {
  const char *token = attn_axis_token(e, s, axis, index);
  int32_t count;
  char **all = attn_axis_tokens(e, s, axis, &count);
  int alone = token && fits_an_address(token) && attn_text_width(token) <= LABEL_COLUMNS;
  for (int32_t n = 0; alone && n < count; n++)
    alone = n == index || !all[n] || !attn_token_equal(all[n], token);
  if (alone && attn_token_is_digits(token)) {
    snprintf(text, ATTN_LABEL_BYTES, "\"%s\"", token);
    return text;
  }
  if (alone) return attn_text_shorten(text, ATTN_LABEL_BYTES, token, LABEL_COLUMNS);
  snprintf(text, ATTN_LABEL_BYTES, "%d", (int)index);
  return text;
}

/* ---- Titles ---- */

const char *attn_skip_one_of(const char *text, const char *const *words) {
  for (; *words; words++)
    if (!strncmp(text, *words, strlen(*words))) return text + strlen(*words);
  return NULL;
}

/* Skips what joins a number to its title, ": " or " - "; NULL: something else follows. */
static const char *skip_joint(const char *at) {
  static const char *const spaces[] = {" ", "　", NULL};
  static const char *const joints[] = {":", "：", ".", "．", "-", "–", "—", "、", "。", NULL};
  for (const char *next; (next = attn_skip_one_of(at, spaces));) at = next;
  const char *after = attn_skip_one_of(at, joints);
  if (!*at || !strncmp(at, "「", strlen("「"))) return at;
  if (!after || (*after >= '0' && *after <= '9')) return NULL; /* Example 1.2 */
  for (const char *next; (next = attn_skip_one_of(after, spaces));) after = next;
  return after;
}

const char *attn_example_title(const attn_example *e, int32_t index) {
  static const char *const words[] = {"Example",        "EXAMPLE", "Worked example",
                                      "Worked Example", "例",      "例題",
                                      "具体例",         "計算例",  NULL};
  const char *title = e->title ? e->title : "";
  for (int n = 0; words[n]; n++) {
    char own[48];
    if (strncmp(title, words[n], strlen(words[n]))) continue;
    const char *at = title + strlen(words[n]);
    at += strspn(at, " ");
    size_t digits = (size_t)snprintf(own, sizeof own, "%d", (int)index + 1);
    if (strncmp(at, own, digits) || strspn(at, "0123456789") != digits) continue;
    const char *rest = skip_joint(at + digits);
    if (rest) return rest;
  }
  return title;
}

/* ---- Symbols ---- */

const attn_step *attn_step_named(const attn_example *e, int32_t name) {
  for (int32_t n = 0; n < e->steps; n++)
    if (e->step[n].name == name) return &e->step[n];
  return NULL;
}

static const char *without_lead(const char *symbol) {
  static const char *const leads[] = {
      "After ", "Then ", "Let ", "The ", "With ", "Using ", "So ", "Now ", "Hence ", "Thus ",
      "after ", "then ", "let ", "the ", "with ", "using ", "so ", "now ", "hence ", "thus "};
  for (size_t n = 0; n < sizeof leads / sizeof *leads; n++)
    if (!strncmp(symbol, leads[n], strlen(leads[n])))
      return without_lead(symbol + strlen(leads[n]));
  return symbol;
}

const char *attn_symbol_text(const attn_step *s, char text[ATTN_LABEL_BYTES]) {
  const char *symbol = without_lead(s->symbol ? s->symbol : "");
  if (!*symbol) symbol = attn_step_label(s->name);
  return attn_text_shorten(text, ATTN_LABEL_BYTES, symbol, LABEL_COLUMNS);
}

int32_t attn_step_count(const attn_lesson *lesson) {
  int32_t count = 0;
  for (int32_t n = 0; n < lesson->examples; n++) count += lesson->example[n].steps;
  return count;
}

int attn_step_is_alone(const attn_example *e, const attn_step *s) {
  for (int32_t n = 0; n < e->steps; n++) {
    const attn_step *other = &e->step[n];
    if (other != s && other->name == s->name && other->head == s->head) return 0;
  }
  return 1;
}

const char *attn_step_text(const attn_example *e, const attn_step *s, char text[ATTN_LABEL_BYTES]) {
  if (s->name == ATTN_STEP_OTHER || !attn_step_is_alone(e, s)) return attn_symbol_text(s, text);
  snprintf(text, ATTN_LABEL_BYTES, "%s", attn_step_label(s->name));
  return text;
}

const char *attn_address(const attn_example *e, const attn_step *s, int32_t row, int32_t col,
                         char text[ATTN_ADDRESS_BYTES]) {
  char name[ATTN_LABEL_BYTES], i[ATTN_LABEL_BYTES] = ":", j[ATTN_LABEL_BYTES] = ":";
  if (row >= 0) attn_index_text(e, s, 0, row, i);
  if (col >= 0) attn_index_text(e, s, 1, col, j);
  snprintf(text, ATTN_ADDRESS_BYTES, "%s[%s,%s]", attn_step_text(e, s, name), i, j);
  return text;
}
