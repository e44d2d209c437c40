/* meant_mask.c -- a mask that is neither causal nor of the padding that the document names: which
 * one was meant? */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "reading.h"
#include "role_search.h"

static const char PADDING[] = "(?i)pad|パディング";

/* ---- tokens of padding ---- */

enum { KEYS_MAX = 31 };

static int is_padding(struct attn_scan *scan, const char *token, size_t bytes) {
  static const char TOKEN[] =
      "(?i)(?:\\w{1,12}+ \\()?+\\W*(?:pad|padding|パディング)\\d?\\W*+(?:$|(?<=[」』,.。]))";
  return attn_match_at(scan->patterns, TOKEN, token, bytes, 0, NULL);
}

/* A bit for each label that is padding; 0: there is none, or labels are not of the keys. */
static uint32_t padding_of_labels(struct attn_scan *scan, char *const *label, int labels,
                                  int keys) {
  uint32_t found = 0;
  for (int n = 0; n < labels && labels == keys; n++)
    if (label[n] && is_padding(scan, label[n], strlen(label[n]))) found |= 1u << n;
  return found;
}

/* Does a list of words end here: the line, a clause, or at a sign? */
static int ends_list(const char *at) {
  if (strchr(",.]", at[-1])) return 1;
  at += strspn(at, " \t");
  return !*at || strchr("\n\"'#:()[]=,.|", *at) != NULL;
}

/* "the cat sat <pad>" in a line, or after a sign: as many words as the keys, the last ones are
 * padding. None is "k4)" of "the last two (k3, k4) are <pad>". */
static uint32_t padding_of_line(struct attn_scan *scan, const char *at, int keys) {
  uint32_t found = 0;
  for (int words = 0; *at && *at != '\n';) {
    size_t bytes = strcspn(at, " \t\"'#:(\n");
    int pads = bytes && words < keys && is_padding(scan, at, bytes);
    if (pads) found |= (uint32_t)1 << words;
    words += bytes > 0;
    if (bytes && !pads && memchr(at, ')', bytes)) words = 0, found = 0;
    if (pads && words == keys && ends_list(at + bytes)) return found;
    at += bytes ? bytes : 1;
    if (strchr("\"'#:", *at)) words = 0, found = 0;
  }
  return 0;
}

static uint32_t padding_of_text(struct attn_scan *scan, int keys) {
  uint32_t found = 0;
  struct attn_match m;
  size_t bytes = strlen(scan->text);
  for (size_t at = 0; !found && attn_find(scan->patterns, PADDING, scan->text, bytes, at, &m);) {
    const char *begin = scan->text + m.group[0].begin;
    while (begin > scan->text && begin[-1] != '\n') begin--;
    found = padding_of_line(scan, begin, keys);
    at = m.group[0].end + strcspn(scan->text + m.group[0].end, "\n");
  }
  return found;
}

/* "valid length is 2", "the last 2 columns are masked", "末尾2個がパディング". */
static uint32_t padding_of_count(struct attn_scan *scan, int keys) {
  static const char VALID[] =
      "(?i)valid[ _-]len(?:gth)?s?(?:\\W{1,3}(?:is|of|are))?[^\\w\\n]{1,4}(\\d{1,2})\\b";
  static const char LAST[] =
      "(?i)\\blast[^\\w\\n]{1,3}(\\d{1,2})[^\\w\\n]{1,3}(?:columns?|keys?|tokens?|positions?)\\W(?:"
      "\\w+\\W){0,3}"
      "(?:mask|pad|hidden)|(?:末尾|後ろ|うしろ|最後)の?(\\d{1,2})(?:個|つ|語|列)";
  struct attn_match m;
  size_t bytes = strlen(scan->text);
  int valid = -1;
  if (attn_find(scan->patterns, VALID, scan->text, bytes, 0, &m))
    valid = atoi(scan->text + m.group[1].begin);
  else if (attn_find(scan->patterns, LAST, scan->text, bytes, 0, &m))
    valid = keys - atoi(scan->text +
                        (m.group[1].end > m.group[1].begin ? m.group[1].begin : m.group[2].begin));
  return valid > 0 && valid < keys ? ((1u << keys) - 1) & ~((1u << valid) - 1) : 0;
}

/* "positions 3 and 4 are padding". */
static uint32_t padding_of_numbers(struct attn_scan *scan, int keys) {
/* The size in "d_k = 2, 3番目のトークンが <pad>" is no place. */
#define NO_VALUE "(?<![\\d.])(?<!(?<![でに])[=≈は])(?<!(?<![でに])[=≈は] )"
  static const char NUMBERED[] =
      "(?i)(?|(?:position|token|key|column)s? (?:(\\d{1,2})(?:, | and | & ))?+(\\d{1,2}) "
      "(?:is|are|=) (?:the |a )?\\W{0,3}pad|"
      "(?:" NO_VALUE
      "(\\d{1,2})(?:番目)?(?:の(?:トークン|単語|語))?[と,、·] "
      "?)?+(\\d{1,2})番目の?(?:トークン|単語|語|位置|列|キー)?[はがを][ "
      "]?\\W{0,3}(?:pad|パディング)\\W{0,2}(?!で(?:は|も)?な))";
  uint32_t found = 0;
  struct attn_match m;
  if (!attn_find(scan->patterns, NUMBERED, scan->text, strlen(scan->text), 0, &m)) return 0;
  for (int n = 1; n <= 2; n++) {
    int number = m.group[n].end > m.group[n].begin ? atoi(scan->text + m.group[n].begin) : 0;
    if (number > 0 && number <= keys) found |= 1u << (number - 1);
  }
  return found;
}

/* "<pad> in the third position", "the last token is padding". */
static uint32_t padding_of_place(struct attn_scan *scan, int keys) {
#define PLACE \
  "(first|second|third|fourth|fifth|last) (?:one|position|token|key|score|column|word)\\b"
  static const char NAMED[] =
      "(?i)(?|pad[^.\\n]{0,24} (?:the )?" PLACE "|" PLACE
      "[^.\\n]{0,12} (?:is|=) \\W{0,3}pad|"
      "(最後)(?:の(?:トークン|単語|語|位置|列|キー))?[はがを][ ]?\\W{0,3}(?:pad|パディング))";
  static const char PLACES[] = "fir sec thi fou fif ";
  struct attn_match m;
  if (!attn_find(scan->patterns, NAMED, scan->text, strlen(scan->text), 0, &m)) return 0;
  const char *word = scan->text + m.group[1].begin;
  int place = 0;
  while (place < 5 && strncasecmp(word, PLACES + 4 * place, 3) != 0) place++;
  if (place == 5) place = keys - 1; /* last */
  return place < keys ? 1u << place : 0;
}

/* The keys that are padding, a bit each, as numbers, labels, tokens, a count or a place name them;
 * 0: none is named so. Numbers are surest: "key padding" is no line of tokens. */
static uint32_t padding_keys(struct attn_scan *scan, int keys) {
  if (keys > KEYS_MAX || !attn_mentions_padding(scan)) return 0;
  uint32_t found = padding_of_numbers(scan, keys);
  for (int n = 0; n < scan->blocks && !found; n++) {
    const struct attn_block *b = &scan->block[n];
    found = padding_of_labels(scan, b->label, b->labels, keys) |
            padding_of_labels(scan, b->column_label, b->column_labels, keys);
  }
  if (!found) found = padding_of_text(scan, keys);
  if (!found) found = padding_of_count(scan, keys);
  return found ? found : padding_of_place(scan, keys);
}

int attn_shows_mask(const attn_matrix *mask, const attn_printing *table) {
  int cells = table->rows * table->cols, is_row = table->rows == 1, additive = 0;
  int differ = (!is_row && mask->rows != table->rows) || mask->cols != table->cols;
  for (int n = 0; n < cells; n++)
    additive |= table->cells[n].kind != ATTN_CELL_BLANK && table->cells[n].value < -1e3;
  for (int32_t n = 0; !differ && n < mask->rows * mask->cols; n++) {
    double value = table->cells[n % cells].value;
    int hidden = additive ? value < -1e3 : value == 0;
    differ = mask->at[n] != 0 ? value != !additive : !hidden;
  }
  return !differ;
}

/* ---- the mask that was meant ---- */

struct meant {
  int is_causal, is_named; /* the text names the keys that are padding */
  uint32_t pads;
  int departures, row; /* cells of the mask that depart from it; the first such row */
};

static int is_visible(const struct meant *m, int i, int j) {
  return m->is_causal ? j <= i : j >= KEYS_MAX || !(m->pads >> j & 1);
}

/* Hidden from most queries. */
static uint32_t hidden_keys(const attn_matrix *keep) {
  uint32_t hidden = 0;
  for (int j = 0; j < keep->cols; j++) {
    int visible = 0;
    for (int row = 0; row < keep->rows; row++) visible += keep->at[row * keep->cols + j] != 0;
    hidden |= (uint32_t)(2 * visible <= keep->rows) << j;
  }
  return hidden;
}

static struct meant compare(const attn_matrix *keep, struct meant m) {
  for (int i = 0; i < keep->rows; i++)
    for (int j = 0; j < keep->cols; j++)
      if ((keep->at[i * keep->cols + j] != 0) != is_visible(&m, i, j) && !m.departures++) m.row = i;
  return m;
}

/* Of the tokens that are padding; else the kind that the text mentions; if both or none, the nearer
 * one. */
static struct meant find_meant(struct attn_scan *scan, const attn_matrix *keep) {
  struct meant padding = {.is_causal = 0}, causal = {.is_causal = 1};
  if (keep->cols > KEYS_MAX) return padding;
  padding.pads = padding_keys(scan, keep->cols);
  padding.is_named = padding.pads != 0;
  if (!padding.is_named) padding.pads = hidden_keys(keep);
  padding = compare(keep, padding);
  if (padding.is_named || attn_mentions_padding(scan) || keep->rows != keep->cols) return padding;
  int only_causal = !attn_document_has(scan->patterns, PADDING, scan->text) &&
                    attn_mentions_causal(scan, scan->text);
  causal = compare(keep, causal);
  return only_causal || causal.departures <= padding.departures ? causal : padding;
}

static const attn_matrix *mask_of(const struct attn_relation *r) {
  for (int n = 0; n < r->uses; n++)
    if (r->use[n].op == ATTN_OP_GIVEN) return &r->use[n].constant;
  return NULL;
}

int attn_is_own_mask(struct attn_scan *scan, const struct attn_relation *r) {
  const attn_matrix *keep = mask_of(r);
  if (r->mask == ATTN_MASK_AS_PRINTED) return 1;
  if (!keep || !attn_mentions_padding(scan)) return 0;
  if (r->cause == ATTN_CAUSE_MASK_OFF_BY_ONE) return 1;
  return r->mask == ATTN_MASK_PADDING && padding_keys(scan, keep->cols) &&
         find_meant(scan, keep).departures > 0;
}

static int row_is_open(const attn_matrix *keep, int row) {
  for (int j = 0; j < keep->cols; j++)
    if (keep->at[row * keep->cols + j] == 0) return 0;
  return 1;
}

enum attn_accusation attn_accuse_mask(struct attn_scan *scan, const struct attn_relation *r,
                                      int *cause) {
  const attn_matrix *keep = mask_of(r);
  if (!keep) return ATTN_EXCUSED;
  struct meant meant = find_meant(scan, keep);
  if (keep->rows == 1 && r->mask == ATTN_MASK_AS_PRINTED && !meant.is_named) return ATTN_UNCERTAIN;
  int third = keep->rows * keep->cols / 3, most = third > keep->cols ? third : keep->cols;
  if (!meant.departures || (!meant.is_named && meant.departures > most)) return ATTN_EXCUSED;
  *cause = row_is_open(keep, meant.row) ? ATTN_CAUSE_MASK_IGNORED : ATTN_CAUSE_MASK_OFF_BY_ONE;
  return attn_mentions_causal(scan, scan->text) ||
                 attn_document_has(scan->patterns, PADDING, scan->text)
             ? ATTN_ACCUSED
             : ATTN_UNCERTAIN;
}

const struct attn_relation *attn_with_meant_mask(struct attn_scan *scan,
                                                 const struct attn_relation *r) {
  struct attn_pool *pool = scan->pool;
  const attn_matrix *keep = mask_of(r);
  struct attn_relation *right = attn_pool_take(pool, sizeof *right);
  struct attn_use *use = attn_pool_take(pool, (size_t)r->uses * sizeof *use);
  attn_matrix mask = attn_matrix_new(pool, keep->rows, keep->cols);
  if (!right || !use || !mask.at) return NULL;
  struct meant meant = find_meant(scan, keep);
  for (int n = 0; n < keep->rows * keep->cols; n++)
    mask.at[n] = is_visible(&meant, n / keep->cols, n % keep->cols);
  *right = *r;
  right->use = memcpy(use, r->use, (size_t)r->uses * sizeof *use);
  for (int n = 0; n < r->uses; n++)
    if (use[n].op == ATTN_OP_GIVEN) use[n].constant = mask;
  return right;
}
