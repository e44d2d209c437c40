/* label.c -- what a label is: q_12 is the stem q and the index 12. */
#include <string.h>

#include "blocks.h"
#include "steps.h"

enum { STEM_BYTES_MAX = 60, STEP_BYTES_MAX = 60, INDEX_MAX = 1000000000 };

static int is_word(char c) {
  return attn_is_letter(c) || attn_is_digit(c) || c == '_' || (c & 0x80);
}

/* The end of the letter of a name at `at` (Latin, or alpha to omega), or `at`. */
static size_t name_letter(const char *text, size_t at, size_t end) {
  if (at < end && attn_is_letter(text[at])) return at + 1;
  if (end - at < 2) return at;
  unsigned char a = (unsigned char)text[at], b = (unsigned char)text[at + 1];
  return (a == 0xCE && b >= 0xB1) || (a == 0xCF && b <= 0x89) ? at + 2 : at;
}

static size_t skip_letters(const char *text, size_t at, size_t end) {
  while (at < end && attn_is_letter(text[at])) at++;
  return at;
}

static size_t skip_one(const char *text, size_t at, size_t end, const char *set) {
  return at < end && text[at] && strchr(set, text[at]) ? at + 1 : at;
}

/* 1, _12, [0]: the end of a name. signs: those that may be in front of the number. */
static int is_index(const char *text, struct attn_part p, const char *signs) {
  size_t open = skip_one(text, p.begin, p.end, "[");
  if (open > p.begin && text[p.end - 1] == ']')
    p = (struct attn_part){open, p.end - 1};
  else
    p.begin = skip_one(text, p.begin, p.end, signs);
  return p.begin < p.end && attn_skip_digits(text, p.begin, p.end) == p.end;
}

/* q1, k_12, alpha 1, Q[0]: the stem is the letters. Returns its bytes in stem, or 0. */
static size_t indexed_name(const char *text, struct attn_part p, char *stem) {
  size_t at = p.begin, next, bytes;
  while ((next = name_letter(text, at, p.end)) != at) at = next;
  if (at == p.begin) return 0;
  bytes = at - p.begin;
  memcpy(stem, text + p.begin, bytes);
  return is_index(text, (struct attn_part){at, p.end}, "_^ ") ? bytes : 0;
}

/* S/sqrt(2)[0]: the stem is the quotient. */
static size_t indexed_quotient(const char *text, struct attn_part p, char *stem) {
  size_t open = p.end;
  while (open > p.begin && text[open - 1] != '[') open--;
  if (open <= p.begin + 1 || !memchr(text + p.begin, '/', open - p.begin) ||
      !is_index(text, (struct attn_part){open - 1, p.end}, ""))
    return 0;
  memcpy(stem, text + p.begin, open - 1 - p.begin);
  return open - 1 - p.begin;
}

/* exp(s1), softmax(s) */
static int is_function(const char *text, size_t begin, size_t end) {
  static const char *const FUNCTIONS[] = {"exp", "softmax", "tanh", "sqrt", "log", "ln"};
  for (size_t n = 0; n < sizeof FUNCTIONS / sizeof *FUNCTIONS; n++)
    if (strlen(FUNCTIONS[n]) == end - begin && memcmp(text + begin, FUNCTIONS[n], end - begin) == 0)
      return 1;
  return 0;
}

/* q_cat, Q(cat): the stem is the letter. */
static size_t worded_name(const char *text, struct attn_part p, char *stem) {
  size_t at = name_letter(text, p.begin, p.end), word = skip_letters(text, p.begin, p.end);
  if (is_function(text, p.begin, word)) return 0;
  size_t bytes = at - p.begin;
  if (bytes == 0 || p.end - at < 2 || !attn_is_letter(text[at + 1])) return 0;
  int is_argument = text[at] == '(' && text[p.end - 1] == ')';
  if (text[at] != '_' && !is_argument) return 0;
  for (size_t i = at + 1; i < p.end - (size_t)is_argument; i++)
    if (!is_word(text[i])) return 0;
  memcpy(stem, text + p.begin, bytes);
  return bytes;
}

/* Is it a letter, or letters with a number: "x", "q_1", "Q[0]"? */
static int is_short_name(const char *text, struct attn_part p) {
  if (name_letter(text, p.begin, p.end) == p.end) return p.begin < p.end;
  size_t at = skip_letters(text, p.begin, p.end);
  return at > p.begin && is_index(text, (struct attn_part){at, p.end}, "_^");
}

/* aV, a V: the product of a vector and a matrix. */
static int is_product(const char *text, struct attn_part p) {
  size_t bytes = p.end - p.begin;
  if (bytes != 2 && !(bytes == 3 && text[p.begin + 1] == ' ')) return 0;
  return text[p.end - 1] == 'V' && text[p.begin] >= 'a' && text[p.begin] <= 'z';
}

/* The digits from `at` on. A larger number than INDEX_MAX is cut off. */
static long number_at(const char *text, size_t at, size_t end) {
  long number = 0;
  for (; at < end && attn_is_digit(text[at]) && number < INDEX_MAX; at++)
    number = number * 10 + (text[at] - '0');
  return number;
}

/* The end of a letter with its index, as h_1 or W_a. */
static size_t factor_end(const char *text, size_t at, size_t end) {
  size_t letter = name_letter(text, at, end), index = skip_one(text, letter, end, "_");
  if (letter == at || index == end) return letter;
  size_t digits = attn_skip_digits(text, index, end);
  return digits == index && index > letter ? name_letter(text, index, end) : digits;
}

/* h_1W_2, W_2h_1: *vector is the one with a small letter, whose index counts. 0: it is no product.
 */
static int is_indexed_product(const char *text, struct attn_part p, struct attn_part *vector) {
  size_t middle = factor_end(text, p.begin, p.end);
  if (middle == p.begin || middle == p.end || factor_end(text, middle, p.end) != p.end) return 0;
  int is_first = text[p.begin] >= 'a' && text[p.begin] <= 'z';
  *vector = is_first ? (struct attn_part){p.begin, middle} : (struct attn_part){middle, p.end};
  size_t matrix = is_first ? middle : p.begin;
  return text[vector->begin] >= 'a' && text[vector->begin] <= 'z' && text[matrix] >= 'A' &&
         text[matrix] <= 'Z' && text[matrix + 1] == '_' && attn_is_digit(text[vector->end - 1]);
}

/* Of h_1W_2: hW_2, and *index is that of h. */
static size_t product_name(const char *text, struct attn_part p, char *stem, long *index) {
  struct attn_part vector;
  size_t bytes = 0;
  if (!is_indexed_product(text, p, &vector)) return 0;
  for (size_t at = p.begin; at < p.end; at++)
    if (at <= vector.begin || at >= vector.end) stem[bytes++] = text[at];
  size_t digits = vector.begin + 1 + (text[vector.begin + 1] == '_');
  *index = number_at(text, digits, vector.end);
  return bytes;
}

/* "h_1 (cat)" without its token. */
static struct attn_part without_token(const char *text, struct attn_part p) {
  size_t open = p.end;
  if (p.begin == p.end || text[p.end - 1] != ')') return p;
  while (open > p.begin && text[open - 1] != '(') open--;
  if (open == p.begin) return p;
  struct attn_part name = attn_part_trim(text, (struct attn_part){p.begin, open - 1});
  return name.begin < name.end && attn_is_digit(text[name.end - 1]) ? name : p;
}

/* The label without trailing signs, of a formula its left side; its last word if that is a short
 * name: "token x_1". */
static struct attn_part name_of(const char *text) {
  size_t left = strcspn(text, "=");
  struct attn_part p = attn_part_trim(text, (struct attn_part){0, left ? left : strlen(text)});
  p = without_token(text, attn_part_chop(text, p, " \t\r\f\v*:="));
  struct attn_part word = p;
  for (size_t at = p.begin; at < p.end; at++)
    if (attn_is_blank(text[at])) word.begin = at + 1;
  int is_name = is_short_name(text, word) || is_product(text, word);
  int is_divisor = word.begin > p.begin + 1 && text[word.begin - 2] == '/'; /* "scores / T" */
  return word.begin > p.begin && is_name && !is_divisor ? word : p;
}

/* Of a formula, the last number of its left side. */
static long last_number(const char *text) {
  size_t end = strcspn(text, "="), at;
  while (end > 0 && !attn_is_digit(text[end - 1])) end--;
  if (end == 0) return -1;
  for (at = end; at > 0 && attn_is_digit(text[at - 1]);) at--;
  return number_at(text, at, end);
}

/* The bytes of the label's stem, in stem; 0: it has none. *index: that of a product. */
static size_t stem_of(const char *text, char stem[STEM_BYTES_MAX], long *index) {
  struct attn_part p = name_of(text);
  if (p.end - p.begin > STEM_BYTES_MAX || p.begin == p.end) return 0;
  size_t letter = name_letter(text, p.begin, p.end);
  memcpy(stem, text + p.begin, letter - p.begin);
  if (letter == p.end) return letter - p.begin;
  if (is_product(text, p)) return stem[1] = 'V', 2;
  size_t bytes = indexed_name(text, p, stem);
  if (!bytes) bytes = product_name(text, p, stem, index);
  if (!bytes) bytes = indexed_quotient(text, p, stem);
  return bytes ? bytes : worded_name(text, p, stem);
}

int attn_label_is_indexed(const char *label) {
  char stem[STEM_BYTES_MAX];
  long index;
  return stem_of(label, stem, &index) > 0;
}

static char only_letter(const char *label) {
  struct attn_part p = name_of(label);
  return p.end - p.begin == 1 && attn_is_letter(label[p.begin]) ? label[p.begin] : 0;
}

int attn_label_follows(const char *a, const char *b) {
  char first = only_letter(a), second = only_letter(b);
  return first && second == first + 1;
}

int attn_labels_are_letters(char *const *label, int labels) {
  if (labels < 2 || !label[0] || (only_letter(label[0]) | 32) != 'a') return 0;
  for (int n = 1; n < labels; n++)
    if (!label[n] || !attn_label_follows(label[n - 1], label[n])) return 0;
  return 1;
}

int attn_label_step(const char *label) {
  char name[STEP_BYTES_MAX];
  size_t bytes = strcspn(label, "=(:");
  if (bytes >= sizeof name) return -1;
  memcpy(name, label, bytes);
  name[bytes] = 0;
  return attn_step_called(name);
}

int attn_label_read(struct attn_pool *pool, char *text, struct attn_label *label) {
  char stem[STEM_BYTES_MAX];
  *label = (struct attn_label){.text = text, .index = last_number(text)};
  size_t bytes = stem_of(text, stem, &label->index);
  if (!bytes) return 1;
  label->stem = attn_pool_text(pool, stem, bytes);
  return label->stem != NULL;
}

int attn_same_stem(const struct attn_label *a, const struct attn_label *b) {
  return a->stem && b->stem && strcmp(a->stem, b->stem) == 0;
}
