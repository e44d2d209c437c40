#include <math.h>
#include <string.h>

#include "results.h"

/* "= 0.5", but not "= 2 * 3", "= 2 - 1", "= 2/3", "= 0, 1, ...". */
static const char RESULT[] =
    "(*UCP)(?:=\\s*|:\\s+(?=-?\\d+\\.\\d))(-?" ATTN_NUMBER
    ")(?![\\w\\x{221A}/(\\x{25A3}]|\\s*[\\x{D7}\\x{B7}*/+]|\\s*-\\s*\\d|\\.\\d|\\s+[vkh]_?\\d|"
    "(?:\\s*,\\s*\\d++)*+\\s*,?\\s*(?:\\x{2026}|\\.\\.))";
/* "q dot k1 is 2", "k1 との内積は 2": what it is of names a step. */
static const char VERB_RESULT[] =
    "(?:(?<=\\s)(?:is|equals|gives)\\s+|\\x{306F}\\s*|\\x{304C}\\s*)(-?" ATTN_NUMBER
    "(?:\\s?%)?+)(?![\\w\\x{221A}/(\\x{25A3}%^]|\\s*[\\x{D7}\\x{B7}*/"
    "+=]|\\.\\d|[-\\x{2013}]\\w|\\s+[a-z]{3})";
static const char VERB_SUBJECT[] =
    "(?i)\\bdot\\b|product|\\bscores?\\b|\\bweight\\b|\\bexp|\\blogit|\\benerg|similarity|"
    "\\x{5185}\\x{7A4D}|\\x{30B9}\\x{30B3}\\x{30A2}|\\x{91CD}\\x{307F}|\\x{6307}\\x{6570}";
/* What the number is of: "q1.k2", "a_{12}'", "0.5 + 1". */
static const char SUBJECT[] =
    "(*UCP)(?:[A-Za-z\\x{3B1}-\\x{3C9}][\\w'_^().\\s\\x{B7}*\\x{D7}]*+|\\d\\s?\\)?)$";
/* Sizes and divisors: "d_k", "sqrt(2)", "n", "dim"; but not the last part of "1 / sqrt(2)" */
static const char SIZE[] =
    "(*UCP)(?:d_?\\{?(?:k|v|q|model|head|h)\\w*|(?<!/)(?<!/ )(?<!by )(?<!\\x{F7})(?<!\\x{F7} )"
    "(?:\\x{221A}\\s*\\w*|sqrt\\W*\\w*\\W*)|\\bn|\\bh|\\bm|"
    "\\bT|dim|axis|size|precision|seed|version|pos)\\s*\\)?$";
/* Hiragana between a number and the words next to it: "重みは0.2と0.8である". */
#define PARTICLE "[かがしだてでとなにのはへもやを]"
/* What is called a step of its own. */
#define STEP_WORD "(?:quer(?:y|ies)|keys?|values?|scores?|weights?|outputs?)\\b"
/* Between the numbers of a list, and the next one. */
#define SEPARATOR                                                                                \
  "(?:\\s++(?:for|on|to|at|with|f\\x{FC}r|pour|para)(?:\\s++[^\\s\\d,;.]{1,24}){1,3}?(?=\\s*+,|" \
  "\\s++(?:and|or|"                                                                              \
  "und|et|y)\\s))?"                                                                              \
  "(?:\\s*+[,;]\\s*+(?:(?:and|or|und)\\s++)?|\\s++(?:and|or|und)\\s++|\\s*+\\x{3068}\\s*+)"      \
  "(?:(?:for )?the (?!" STEP_WORD                                                                \
  ")[a-z]{2,9}(?: one)?(?: is)? |(?:with|for) \"?\\w{1,12}\"?(?: it)?(?: is| gives| to)? )?"
#define AFTER_NUMBER \
  "(?!(?!" PARTICLE  \
  ")\\w|[\\x{221A}/\\x{25A3}^]|\\(\\s*[-+\\d(\\x{25A3}]|\\s*[\\x{D7}\\x{B7}*/+=]|\\.\\d)"
static const char NEXT[] = "(*UCP)" SEPARATOR "(-?" ATTN_NUMBER "(?:\\s?%)?+)" AFTER_NUMBER
                           "(?:(?=\\s*+(?:[,;.()\\x{3002}]|(?:and|or|for|with|then|so|in|we|which|"
                           "where)\\b|\\x{2192}|->|[^\\x00-\\x7F]|$))|"
                           "(?:(?<=\\.\\d)|(?<=\\.\\d{2})|(?<=\\.\\d{3})|(?<=\\.\\d{4}))(?=\\s))";
/* "0.25, 0.25 and 0.50" */
static const char LIST[] =
    "(*UCP)(?:(?<=" PARTICLE
    ")|(?<![\\w.\\x{25A3}/^(=\\x{221A})\\]\\x{D7}\\x{B7}*+-]))(-?" ATTN_NUMBER
    "(?:\\s?%)?+)" AFTER_NUMBER "(?=" SEPARATOR "-?(?:\\d|\\.\\d))";
/* Ends a clause of Japanese that a result follows: "内積をとると、2、0、4" */
#define CLAUSE "[\\x{3066}\\x{3067}\\x{3068}\\x{306F}],"
/* In front of a list of integers. */
static const char VERB[] =
    "(?:\\b(?:is|are|becomes?|gives?(?:\\s+us)?|gets?|yields?|obtain|equals?|into|scores?|products?"
    ")|:|\\x{2192}|->|\\x{306F}|"
    "\\x{304C}|" CLAUSE ")\\s*$";
static const char LEAVES[] = "(?:leaves?|left|ends? up)\\s(?:us\\s)?with\\s*$";
/* In front of what is counted or numbered. */
static const char COUNTED[] =
    "(?i)(?:\\b(?:sections?|chapters?|fig(?:ures?|s?\\.)?|eqs?\\.?|equations?|tables?|versions?|v|"
    "steps?|rows?|columns?|heads?|positions?|tokens?|problems?|exercises?|parts?|pages?|p\\.|"
    "rates?|temperatures?|or|by|of|from|than|with|at)|\\x{7AE0}|\\x{7BC0}|\\x{56F3}|\\x{8868}|"
    "\\x{5F0F})\\s*$";
static const char AFTER_COMMA[] = "(?<![\\x{3066}-\\x{3068}\\x{306F}]),\\s*$";
static const char ONLY_AND[] = "(?:^|,)\\s*(?:and|or|und)$";
/* A list that begins a sentence is not a result. */
static const char SENTENCE_END[] = "(?:[.!?]|\\x{3002})\\s*$";
#define SUMS "sum|total|summe|somme|suma|soma|somma"
/* "sum 6.14", "a total of 6.14" */
static const char SUM[] = "(?i)(?:\\b(?:(?:" SUMS
                          ")(?:\\s+(?:is|of|to)\\b)?|adds?\\s+up\\s+to)|\\x{5408}\\x{8A08}|"
                          "\\x{7DCF}?\\x{548C})(?:\\x{306F}|\\x{304C})?\\s*[:=]?\\s*(-?" ATTN_NUMBER
                          ")(?![\\w(/]|\\.\\d|\\s*[+\\x{D7}\\x{B7}*])";
/* "'it' has 0.5, 'they' has 0.3": a quoted word, the same words after each, a number */
static const char QUOTED[] =
    "[\\x{300C}\\x{201C}\"*]([^\\x{300C}\\x{300D}\\x{201C}\\x{201D}\"*\\n]{1,30})[\\x{300D}\\x{"
    "201D}\"*]"
    "(?:\\([^()\\n]{0,20}\\))?([^-,;=.\\d\\n\\x{300C}\\x{201C}\"*\\x{25A3}+]{0,24})(-?" ATTN_NUMBER
    ")"
    "(?![\\w\\x{221A}/(\\x{25A3}^]|\\s*[\\x{D7}\\x{B7}*/+=]|\\.\\d)";
/* Between two of them. */
static const char COMMA[] = "\\s*+(?:,|;|and\\b)\\s*+(?:and\\s++)?";
/* "exp(1) + exp(2) = 2.72 + 7.39 =": the terms are values of the exponentials */
#define POWER "(?:exp\\s?\\([^()\\n]{1,40}\\)|e\\s?\\^\\s?(?:\\([^()\\n]{1,40}\\)|-?[\\d.]{1,20}))"
static const char SHOWN_SUM[] = POWER "(?:\\s*\\+\\s*" POWER ")++\\s*=\\s*(" ATTN_NUMBER
                                      "(?:\\s*\\+\\s*" ATTN_NUMBER ")++)\\s*=\\s*(?=\\d)";
static const char NUMBER[] = ATTN_NUMBER;
static const char BLANKS[] = " \t\r\f\v";

/* The text that names each kind; of several, the first one counts: exp of the scaled scores. */
static const char *const kinds[ATTN_RESULT_KINDS] = {
    [ATTN_RESULT_OTHER] = ".",
    [ATTN_RESULT_EXPONENTIAL] =
        "(?i)\\bexp|e\\s?\\^|\\be to\\b|\\x{6307}\\x{6570}|e ?\\x{306E}\\x{80A9}",
    [ATTN_RESULT_TOTAL] = "(?i)\\b(?:" SUMS ")|\\x{5408}\\x{8A08}|\\x{548C}\\s*$",
    [ATTN_RESULT_QUOTIENT] =
        "(?i)\\bdivi|\\bhalved|\\bscale|\\x{F7}|/\\s*(?:\\x{221A}|sqrt)|\\x{5272}",
    [ATTN_RESULT_WEIGHT] =
        "(?i)weight|softmax|\\x{91CD}\\x{307F}|\\x{30BD}\\x{30D5}\\x{30C8}|\\x{3B1}_?\\d",
};
enum {
  SHOWN_SUM_BYTES = 4000,
  SUBJECT_CHARACTERS = 31,
  SENTENCE_CHARACTERS = 160,
  SIZE_CHARACTERS = 24,
  TERMS_CHARACTERS = 2000
};

int attn_result_kind_of(struct attn_grouping *g, const char *name) {
  int kind = ATTN_RESULT_OTHER;
  size_t bytes = strlen(name), first = bytes;
  struct attn_match m;
  for (int n = ATTN_RESULT_KINDS - 1; n > ATTN_RESULT_OTHER; n--) {
    if (!attn_find(g->scan->patterns, kinds[n], name, bytes, 0, &m)) continue;
    if (m.group[0].begin < first) first = m.group[0].begin, kind = n;
  }
  return kind;
}

static int add_result(struct attn_grouping *g, struct attn_results *r,
                      const struct attn_scan_line *line, struct attn_part number, char *name,
                      int kind) {
  attn_cell cell;
  if (!name) return 0;
  if (!attn_group_cell(g, line, number, &cell) || !isfinite(cell.value) ||
      (cell.kind != ATTN_CELL_NUMBER && cell.kind != ATTN_CELL_SCIENTIFIC))
    return 0;
  if (!attn_group_grow(g, (void **)&r->item, (size_t)r->count, sizeof *r->item)) return 0;
  r->item[r->count++] = (struct attn_result){
      .cell = cell, .at = number.begin, .end = number.end, .name = name, .kind = kind};
  return 1;
}

/* ---- where they are ---- */

static size_t rfind(const char *text, size_t begin, size_t end, char c) {
  while (end > begin && text[end - 1] != c) end--;
  return end;
}

/* "a: 1 + 2 = 3": what is before the colon. */
static struct attn_part before_colon(struct attn_grouping *g, const char *text,
                                     struct attn_part left) {
  static const char FORMULA[] = ":\\s*[-+(]{0,2}\\d[\\d.\\s()\\x{B7}\\x{D7}*/+-]*+$";
  struct attn_match m;
  struct attn_part end = attn_part_last(text, left, TERMS_CHARACTERS);
  if (attn_part_find(g, FORMULA, text, end, &m)) left.end = m.group[0].begin;
  return left;
}

/* "s = q·k/√2 = 3": a formula with a root is a part of the name. */
static int names_root(struct attn_grouping *g, const char *text, struct attn_part formula) {
  static const char SYMBOLS[] = "(*UCP)\\pL\\w*\\W{0,6}\\pL[^=]*/\\s*(?:\\x{221A}|sqrt)[^=]{0,8}$";
  return attn_part_find(g, SYMBOLS, text, formula, NULL);
}

/* "a = 1 + 2 = 3": the name of 3 is a. */
static struct attn_part result_name(struct attn_grouping *g, const char *text, size_t sign) {
  static const char INDEX[] = "(*UCP)[\\pL_]_?\\d+$";
  struct attn_part left = attn_part_chop(text, (struct attn_part){0, sign}, BLANKS);
  char last = left.end ? text[left.end - 1] : 0;
  int is_formula = text[sign] == '=' && ((last >= '0' && last <= '9') || last == ')') &&
                   !attn_part_ends_in(g, INDEX, text, left, ATTN_LABEL_CHARACTERS);
  if (!is_formula) return attn_name_before(text, sign);
  size_t first = attn_part_last(text, left, TERMS_CHARACTERS).begin;
  size_t equals = rfind(text, first, left.end, '=');
  if (equals == first) return attn_name_before(text, before_colon(g, text, left).end);
  int is_root = names_root(g, text, (struct attn_part){equals, left.end});
  left.begin = rfind(text, first, equals - 1, '=');
  if (!is_root) left.end = equals - 1;
  return attn_part_last(text, attn_part_trim(text, left), ATTN_LABEL_CHARACTERS);
}

int attn_is_size(struct attn_grouping *g, const char *text, struct attn_part front) {
  return attn_part_ends_in(g, SIZE, text, front, SIZE_CHARACTERS);
}

static int is_result(struct attn_grouping *g, const char *text, size_t sign) {
  struct attn_part left = attn_part_chop(text, (struct attn_part){0, sign}, BLANKS);
  return attn_part_ends_in(g, SUBJECT, text, left, SUBJECT_CHARACTERS) &&
         !attn_is_size(g, text, left);
}

/* The other numbers of a list, from the end of the first on. Returns the end of the last. */
static size_t add_list(struct attn_grouping *g, struct attn_results *r,
                       const struct attn_scan_line *line, size_t from, char *name, int kind) {
  struct attn_match m;
  while (attn_match_at(g->scan->patterns, NEXT, line->text, r->bytes, from, &m)) {
    struct attn_part number = m.group[1];
    if (!add_result(g, r, line, number, name, kind)) break;
    from = m.group[0].end;
  }
  return from;
}

static void find_results(struct attn_grouping *g, const struct attn_scan_line *line,
                         struct attn_results *r) {
  size_t from = 0;
  int signs = 0;
  struct attn_match m;
  while (attn_find(g->scan->patterns, RESULT, line->text, r->bytes, from, &m)) {
    struct attn_part number = m.group[1];
    size_t sign = m.group[0].begin;
    from = m.group[0].end;
    signs += line->text[sign] == '=';
    if (!is_result(g, line->text, sign)) continue;
    char *name = attn_group_text(g, line->text, result_name(g, line->text, sign));
    int kind = name ? attn_result_kind_of(g, name) : ATTN_RESULT_OTHER;
    const struct attn_result *last = r->count ? &r->item[r->count - 1] : NULL;
    if (name && last && kind == ATTN_RESULT_OTHER && attn_same_symbol(g, last->name, name))
      kind = last->kind;
    if (add_result(g, r, line, number, name, kind)) from = add_list(g, r, line, from, name, kind);
  }
  if (signs == 0 && r->count < 2) r->count = 0; /* "Step 2: 0.5" */
}

/* Of a sentence: "q dot k1 is 2". */
static void find_verbs(struct attn_grouping *g, const struct attn_scan_line *line,
                       struct attn_results *r) {
  size_t from = 0;
  struct attn_match m;
  while (attn_find(g->scan->patterns, VERB_RESULT, line->text, r->bytes, from, &m)) {
    struct attn_part front = {0, m.group[0].begin}, number = m.group[1];
    from = m.group[0].end;
    if (!attn_part_ends_in(g, VERB_SUBJECT, line->text, front, SUBJECT_CHARACTERS)) continue;
    char *name = attn_group_text(g, line->text, attn_name_before(line->text, front.end));
    int kind = name ? attn_result_kind_of(g, name) : ATTN_RESULT_OTHER;
    if (add_result(g, r, line, number, name, kind)) from = add_list(g, r, line, from, name, kind);
  }
}

/* The results from `from` on are a list, or nothing. */
static void end_list(struct attn_results *r, int from, int is_good) {
  for (int n = from; n < r->count; n++) r->item[n].is_list = 1;
  if (!is_good) r->count = from;
}

static int is_decimal(const struct attn_result *r) { return r->cell.decimals > 0; }

/* Integers need a verb in front of them; what is counted or numbered is not a list of results. */
static int is_list(struct attn_grouping *g, const char *text, size_t begin,
                   const struct attn_result *first, int count) {
  struct attn_part front = {0, begin};
  int decimals = 0;
  for (int n = 0; n < count; n++) decimals += is_decimal(&first[n]);
  if (count < 2 || !*first->name ||
      attn_part_ends_in(g, SENTENCE_END, text, front, SIZE_CHARACTERS))
    return 0;
  if (attn_part_ends_in(g, LEAVES, text, front, SIZE_CHARACTERS)) return 1;
  if (attn_part_ends_in(g, COUNTED, text, front, SIZE_CHARACTERS)) return 0;
  if (attn_part_ends_in(g, AFTER_COMMA, text, front, SIZE_CHARACTERS)) return decimals == count;
  if (attn_part_ends_in(g, VERB, text, front, SIZE_CHARACTERS)) return 1;
  return 2 * decimals >= count;
}

/* What is after the last arrow: "sum 2 -> weights". */
static struct attn_part after_arrow(const char *text, struct attn_part p) {
  for (size_t at = p.begin; at + 2 < p.end; at++)
    if (memcmp(text + at, "\u2192", 3) == 0) p.begin = at + 3;
  return p;
}

/* What a list is called: the words since the last comma, the list before it, which ends at `from`,
 * or the end of the line before. */
static char *list_name(struct attn_grouping *g, const char *text, size_t from, size_t at) {
  struct attn_part front = attn_part_trim(text, (struct attn_part){0, at});
  if (attn_part_chop(text, front, ",").end < front.end) at = front.end - 1;
  struct attn_part words = after_arrow(text, attn_name_before(text, at));
  if (words.begin < from && from < words.end) words.begin = from + strspn(text + from, ".?! ");
  char *name = attn_group_text(g, text, words);
  if (!name || *name || g->aboves == 0) return name;
  if (text[strspn(text, " \t>*+-")] != text[at]) return name;
  const char *above = g->above[g->aboves - 1];
  if (attn_occurs(g->scan->patterns, SENTENCE_END, above)) return name;
  struct attn_part end =
      attn_part_last(above, (struct attn_part){0, strlen(above)}, ATTN_LABEL_CHARACTERS);
  return attn_group_text(g, above, end);
}

/* The same with all words of the sentence, where the nearest ones decide nothing. */
static char *sentence_name(struct attn_grouping *g, const char *text, size_t at, int characters) {
  struct attn_part p = attn_part_last(text, (struct attn_part){0, at}, characters);
  struct attn_match m;
  while (attn_part_find(g, "[.;:?!]\\s|\\x{3002}", text, p, &m)) p.begin = m.group[0].end;
  return attn_group_text(g, text, p);
}

/* Is it in the sentence of the last list: "divided by 2, cat has 1 and 2, dog has 3 and 4"? */
static int continues(struct attn_grouping *g, const char *text, const struct attn_results *r,
                     size_t at) {
  const struct attn_result *last = r->count ? &r->item[r->count - 1] : NULL;
  return last && last->is_list &&
         !attn_find(g->scan->patterns, "[.;:?!]\\s|\\x{3002}", text, at, last->end, NULL);
}

/* The name and the kind of the list at `at`: those of the list before if only "and" is between. */
static char *name_list(struct attn_grouping *g, const char *text, const struct attn_results *r,
                       size_t at, int *kind) {
  const struct attn_result *last = r->count ? &r->item[r->count - 1] : NULL;
  char *name = list_name(g, text, last ? last->end : 0, at);
  *kind = name ? attn_result_kind_of(g, name) : ATTN_RESULT_OTHER;
  if (name && attn_occurs(g->scan->patterns, ONLY_AND, name)) {
    if (!last || !last->is_list) return "";
    *kind = last->kind;
    return last->name;
  }
  if (!name || !*name || *kind != ATTN_RESULT_OTHER) return name;
  if (continues(g, text, r, at)) {
    *kind = last->kind;
  } else {
    char *sentence = sentence_name(g, text, at, SENTENCE_CHARACTERS);
    if (sentence) *kind = attn_result_kind_of(g, sentence);
  }
  return sentence_name(g, text, at, ATTN_NAME_CHARACTERS);
}

static void find_lists(struct attn_grouping *g, const struct attn_scan_line *line,
                       struct attn_results *r) {
  size_t from = 0;
  struct attn_match m;
  while (attn_find(g->scan->patterns, LIST, line->text, r->bytes, from, &m)) {
    struct attn_part number = m.group[1];
    int had = r->count, kind;
    char *name = name_list(g, line->text, r, number.begin, &kind);
    from = m.group[0].end;
    if (!add_result(g, r, line, number, name, kind)) continue;
    from = add_list(g, r, line, from, name, kind);
    end_list(r, had, is_list(g, line->text, number.begin, r->item + had, r->count - had));
  }
}

static int same_part(const char *text, struct attn_part a, struct attn_part b) {
  a = attn_part_trim(text, a);
  b = attn_part_trim(text, b);
  return a.end - a.begin == b.end - b.begin &&
         memcmp(text + a.begin, text + b.begin, a.end - a.begin) == 0;
}

/* The items of a list that continues at `from`. */
static size_t add_quoted(struct attn_grouping *g, struct attn_results *r,
                         const struct attn_scan_line *line, size_t from) {
  struct attn_part first = {0, 0};
  struct attn_match m, comma;
  for (int n = 0; attn_match_at(g->scan->patterns, QUOTED, line->text, r->bytes, from, &m); n++) {
    struct attn_part words = m.group[2];
    struct attn_part number = m.group[3];
    struct attn_part label = m.group[1];
    if (n == 0) first = words;
    if (!same_part(line->text, first, words)) break;
    if (!add_result(g, r, line, number, attn_group_text(g, line->text, label), ATTN_RESULT_OTHER))
      break;
    from = m.group[0].end;
    if (!attn_match_at(g->scan->patterns, COMMA, line->text, r->bytes, from, &comma)) break;
    from = comma.group[0].end;
  }
  return from;
}

static void find_quoted(struct attn_grouping *g, const struct attn_scan_line *line,
                        struct attn_results *r) {
  size_t from = 0;
  struct attn_match m;
  while (attn_find(g->scan->patterns, QUOTED, line->text, r->bytes, from, &m)) {
    int had = r->count;
    from = add_quoted(g, r, line, m.group[0].begin);
    if (from <= m.group[0].begin) from = m.group[0].end;
    end_list(r, had, r->count - had > 1);
  }
}

int attn_follows_exponentials(struct attn_grouping *g, int block) {
  const struct attn_block *b = block > 0 ? g->block[block - 1] : NULL;
  if (!b) return 0;
  const char *name = *b->name || !b->labels ? b->name : b->label[0];
  return attn_result_kind_of(g, name) == ATTN_RESULT_EXPONENTIAL;
}

static void find_sums(struct attn_grouping *g, const struct attn_scan_line *line,
                      struct attn_results *r) {
  size_t from = 0;
  struct attn_match m;
  int may_be = r->count > 0 || attn_follows_exponentials(g, g->blocks);
  while (may_be && attn_find(g->scan->patterns, SUM, line->text, r->bytes, from, &m)) {
    struct attn_part number = m.group[1];
    struct attn_part front = {m.group[0].begin, number.begin};
    from = m.group[0].end;
    add_result(g, r, line, number, attn_group_text(g, line->text, front), ATTN_RESULT_TOTAL);
  }
}

/* Its terms; the number after it is its total, whatever it was taken for. */
static void find_shown_sums(struct attn_grouping *g, const struct attn_scan_line *line,
                            struct attn_results *r) {
  size_t from = 0;
  struct attn_match m, number;
  if (r->bytes > SHOWN_SUM_BYTES) return;
  while (attn_find(g->scan->patterns, SHOWN_SUM, line->text, r->bytes, from, &m)) {
    struct attn_part terms = m.group[1];
    from = m.group[0].end;
    for (int n = 0; n < r->count; n++)
      if (r->item[n].at == from) r->item[n].kind = ATTN_RESULT_TOTAL;
    while (attn_part_find(g, NUMBER, line->text, terms, &number)) {
      struct attn_part term = number.group[0];
      if (!add_result(g, r, line, term, "exp", ATTN_RESULT_EXPONENTIAL)) break;
      terms.begin = term.end;
    }
  }
}

void attn_results(struct attn_grouping *g, const struct attn_scan_line *line) {
  struct attn_part all = {0, line->bytes};
  struct attn_results r = {.bytes = all.end};
  if (line->text[strcspn(line->text, "0123456789")]) {
    find_results(g, line, &r);
    find_verbs(g, line, &r);
    find_lists(g, line, &r);
    find_quoted(g, line, &r);
    find_sums(g, line, &r);
    find_shown_sums(g, line, &r);
  }
  if (g->status == ATTN_OK) attn_results_group(g, line, &r);
  size_t *at = attn_group_take(g, (size_t)r.count, sizeof *at);
  for (int n = 0; at && n < r.count; n++) at[n] = r.item[n].at;
  if (g->status == ATTN_OK) attn_stray_text(g, line, all, at, r.count);
}
