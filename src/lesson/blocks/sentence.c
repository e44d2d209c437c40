/* sentence.c -- the vectors of a sentence, and what they are called there. */
#include <string.h>

#include "blocks.h"

/* In front of and after a term of a sum that is worked out: "0.5 · [1, 0] + 0.5 · [0, 1]". */
static const char OPERATOR_BEFORE[] = "(?:[\\x{D7}\\x{B7}*+]|\\+\\s*[\\d.]+|\\.\\d+ of)\\s*$";
static const char FACTOR_BEFORE[] = "[\\d.]\\s*$";
static const char OPERATOR_AFTER[] = "\\s*[+\\x{D7}\\x{B7}*]|\\s+x\\s";
static const char RESULT_AFTER[] = "\\s*[+=]";
/* Between two vectors of a list: ", ", "for *it* and". */
static const char GOES_ON[] =
    "\\s*(?:(?:for|of|to|at|f\\x{FC}r)\\s[^,;]{1,30}?)?\\s*(?:,\\s*(?:and|or|und)?|;|\\b(?:and|or|"
    "und)|\\x{"
    "3068})"
    "(?:\\s*that\\s+of\\s[^,;]{1,30}\\s(?:is|=)|\\s*(?:der|die|das)\\s+von\\s[^,;]{1,30}|\\s*the "
    "(?:second|third|fourth|next|last|other)\\b"
    "(?: one)?(?: is)?)?\\s*$";
/* The last quoted word in front of a vector, and the rest: "'it' is", the same for all of a list.
 */
static const char QUOTED[] =
    "(?s).*[\\x{300C}\\x{201C}\"*'](.{1,30})[\\x{300D}\\x{201D}\"*']([^,;=]{0,20})$";
/* "hello = [..], world =": words in front of the vectors of a list. */
static const char WORD_EQUALS[] =
    "(?:^|.*[\\s,])([A-Za-z]{3,20}|[\\x{3040}-\\x{9FFF}]{1,12})\\s*=\\s*$";
/* A name, k(cat), or a word of Japanese. */
static const char WORD[] =
    "\\b[A-Za-z]\\([^()\\s\\d]{1,16}\\)(?=\\s*+[=:]?$)|[A-Za-z\\x{3B1}-\\x{3C9}~]+[_^]?[A-Za-z0-9_]"
    "*|["
    "\\x{3040}-\\x{9FFF}]+";
/* "query of word 1" is a query. */
static const char OF_TOKEN[] =
    "(?i).*\\b(?:query|key|value)(?: vector)?( (?:of|for) (?:the )?(?:word|token|position) "
    "?\\d{1,2})$";
/* The particle of "v1 が" */
static const char PARTICLE[] = "(?<=[A-Za-z]\\d|[A-Za-z]_\\d)[ ]?[はが]$";
enum { TERM_CHARACTERS = 60, LIST_BYTES = 160, BLOCKS_BACK = 6, LINE_BLOCKS = 64 };

/* ---- vectors ---- */

int attn_is_term(struct attn_grouping *g, const char *text, struct attn_part front,
                 struct attn_part rest) {
  return attn_part_ends_in(g, OPERATOR_BEFORE, text, front, TERM_CHARACTERS) ||
         attn_part_begins_in(g, OPERATOR_AFTER, text, rest, NULL) ||
         (attn_part_ends_in(g, FACTOR_BEFORE, text, front, TERM_CHARACTERS) &&
          attn_part_begins_in(g, RESULT_AFTER, text, rest, NULL));
}

/* The last word of the part: what a vector is called. */
static int last_word(struct attn_grouping *g, const char *text, struct attn_part p,
                     struct attn_label *label) {
  struct attn_match m;
  p = attn_part_chop(text, p, " \t\r\f\v=:");
  struct attn_part word = {p.begin, p.begin};
  if (attn_part_begins_in(g, OF_TOKEN, text, p, &m)) p.end = m.group[1].begin;
  if (attn_part_find(g, PARTICLE, text, p, &m)) p.end = m.group[0].begin;
  while (attn_part_find(g, WORD, text, p, &m)) {
    word = m.group[0];
    p.begin = word.end;
  }
  return attn_group_label(g, attn_group_text(g, text, word), label);
}

/* The last block of this source; blocks of numbers in sentences may follow it. */
static struct attn_block *last_block(const struct attn_grouping *g, int source) {
  for (int n = g->blocks - 1; n >= 0 && n >= g->blocks - BLOCKS_BACK; n--) {
    if (g->block[n]->source == source) return g->block[n];
    if (g->block[n]->source != ATTN_BLOCK_SCALARS) return NULL;
  }
  return NULL;
}

/* Does q2 = [..] continue the block that ends in q1 = [..]? */
static int continues(struct attn_grouping *g, const struct attn_block *b, int cols,
                     const struct attn_label *label) {
  struct attn_label last;
  if (!b || b->reading[0].cols != cols) return 0;
  if (!attn_group_label(g, b->label[b->labels - 1], &last)) return 0;
  if (!attn_same_stem(label, &last)) return 0;
  return (label->index < 0 ? 0 : label->index) > (last.index > 0 ? last.index : -1);
}

static const char *last_label(const struct attn_block *b) { return b->label[b->labels - 1]; }

/* "the key" once more in a sentence. */
static int is_same(const struct attn_scan_line *line, const struct attn_block *b, int cols,
                   const struct attn_label *label) {
  return b->line >= line->line && b->reading[0].cols == cols &&
         strcmp(label->text, last_label(b)) == 0;
}

/* The block of this line or the one above that the vector continues: of "q2 = .., k2 = .." below
 * "q1 = .., k1 = ..". NULL: none. */
static struct attn_block *continued(struct attn_grouping *g, const struct attn_scan_line *line,
                                    int cols, const struct attn_label *label) {
  int first = g->blocks > LINE_BLOCKS ? g->blocks - LINE_BLOCKS : 0;
  int is_step = label->index < 0 && attn_label_step(label->text) >= 0;
  for (int n = g->blocks - 1; n >= first && g->block[n]->end >= line->line - 1; n--)
    if (g->block[n]->source == ATTN_BLOCK_INLINE &&
        (continues(g, g->block[n], cols, label) ||
         (is_step && is_same(line, g->block[n], cols, label))))
      return g->block[n];
  return NULL;
}

/* The same words in front of a vector of the line above: "row 2: .. weights [..]". */
static int recurs(const struct attn_block *b, const struct attn_scan_line *line, int cols,
                  const char *name) {
  return b && b->end == line->line - 1 && b->reading[0].cols == cols && *name &&
         attn_same_letters(b->name, name);
}

/* The vector before, in the same line. */
struct vector_before {
  int is_one;
  struct attn_part suffix; /* after its quoted label; empty: it has none */
  int has_word;            /* its label is a word: "hello = [1, 0]" */
};

/* The word that a vector is of: after a comma, or anywhere for the first vector. */
static int word_label(struct attn_grouping *g, const char *text, struct attn_part front,
                      int is_first, struct attn_part *label) {
  struct attn_match m;
  struct attn_part p = attn_part_trim(text, attn_part_last(text, front, ATTN_NAME_CHARACTERS));
  if (!is_first && (p.begin == p.end || text[p.begin] != ',')) return 0;
  if (!attn_part_begins_in(g, WORD_EQUALS, text, p, &m)) return 0;
  *label = m.group[1];
  const char *word = attn_group_text(g, text, *label);
  if (!word || attn_label_step(word) >= 0) return 0; /* a quantity, no token */
  for (size_t at = p.begin + 1; !is_first && at < label->begin; at++)
    if (!attn_is_blank(text[at])) return 0;
  return 1;
}

/* The word in quotation marks that a vector is of. 0: there is none. */
static int quoted_label(struct attn_grouping *g, const char *text, struct attn_part front,
                        struct attn_part *label, struct attn_part *suffix) {
  struct attn_match m;
  front = attn_part_last(text, front, ATTN_NAME_CHARACTERS);
  if (!attn_part_begins_in(g, QUOTED, text, front, &m)) return 0;
  *label = m.group[1];
  *suffix = attn_part_trim(text, m.group[2]);
  return suffix->end > suffix->begin;
}

/* Is the vector one more of the list that the one before is in? Its label is then in label. */
static int is_of_list(struct attn_grouping *g, const char *text, struct attn_part front,
                      const struct vector_before *before, struct attn_part *label) {
  struct attn_part suffix;
  *label = (struct attn_part){front.end, front.end};
  if (!before->is_one || front.end - front.begin > LIST_BYTES) return 0;
  if (attn_part_begins_in(g, GOES_ON, text, front, NULL)) return 1;
  if (before->has_word && word_label(g, text, front, 0, label)) return 1;
  size_t bytes = before->suffix.end - before->suffix.begin;
  return bytes && quoted_label(g, text, front, label, &suffix) &&
         suffix.end - suffix.begin >= bytes &&
         memcmp(text + suffix.end - bytes, text + before->suffix.begin, bytes) == 0;
}

/* The sentence that the part ends in: "For the query q =" of "It is masked. For the query q =".
 * One that only counts rows has no name of its own: "The scores are given. Row 1 is". */
#define ROW "(?:(?i:row) \\d{1,2}|(?i:the )?(?i:first|second|third|fourth) (?i:row))\\b"
static struct attn_part last_sentence(struct attn_grouping *g, const char *text,
                                      struct attn_part p) {
  static const char END[] =
      "(?<=[a-z0-9)][.!?]|[a-z)] [.!?])\\s++(?=[A-Z])(?!" ROW ")|(?<=[a-z]{2});\\s++(?=[a-z])";
  struct attn_match m;
  while (attn_part_find(g, END, text, p, &m)) p.begin = m.group[0].end;
  return p;
}

static void add_vector(struct attn_grouping *g, const struct attn_scan_line *line,
                       struct attn_part front, int index, const struct vector_before *before) {
  struct attn_scan_value *value = &g->lines->value[index];
  const attn_printing *vector = &value->grid[0];
  struct attn_block *b = last_block(g, ATTN_BLOCK_INLINE);
  struct attn_label label;
  struct attn_part quoted;
  if (!last_word(g, line->text, front, &label)) return;
  value->used = 1;
  int of_list =
      b && b->reading[0].cols == vector->cols && is_of_list(g, line->text, front, before, &quoted);
  struct attn_part last = attn_part_last(line->text, front, ATTN_NAME_CHARACTERS);
  front = last_sentence(g, line->text, attn_part_whole_words(line->text, last, front.begin));
  char *name = attn_group_text(g, line->text, front);
  char *text = of_list ? attn_group_text(g, line->text, quoted) : label.text;
  if (!name || !text) return;
  struct attn_block *above = of_list ? NULL : continued(g, line, vector->cols, &label);
  if (above) b = above;
  if (of_list || above || recurs(b, line, vector->cols, name)) {
    attn_block_copy_row(g, b, vector->cells, vector->cols, text);
    b->end = line->line;
    return;
  }
  b = attn_block_begin(g, ATTN_BLOCK_INLINE, line->line, name);
  if (b && attn_block_copy_row(g, b, vector->cells, vector->cols, label.text))
    attn_block_end(g, b, line->line);
}

static void read_vectors(struct attn_grouping *g, const struct attn_scan_line *line) {
  struct attn_part rest = {0, line->bytes}, front = rest, label;
  struct vector_before before = {.is_one = 0};
  size_t at, end;
  int value;
  while (g->status == ATTN_OK && (end = attn_next_value(line->text, rest, &at, &value)) != 0) {
    rest.begin = end;
    if (!attn_group_is_value(g, value)) continue;
    front.end = at;
    if (attn_is_term(g, line->text, front, rest)) {
      before.is_one = 0;
    } else {
      add_vector(g, line, front, value, &before);
      before.has_word = word_label(g, line->text, front, !before.is_one, &label);
      before.is_one = 1;
      if (!quoted_label(g, line->text, front, &label, &before.suffix))
        before.suffix = (struct attn_part){0, 0};
    }
    front.begin = end;
  }
}

void attn_sentence(struct attn_grouping *g, const struct attn_scan_line *line) {
  int blocks = g->blocks;
  read_vectors(g, line);
  if (g->status == ATTN_OK) attn_results(g, line);
  attn_blocks_sort(g, blocks);
  attn_group_above(g, attn_group_text(g, line->text, (struct attn_part){0, line->bytes}));
}
