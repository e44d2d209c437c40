#include <math.h>
#include <string.h>

#include "results.h"

/* "= 0.5", "= 5/4,", but not "= 2 * 3", "= 2 - 1", "= 2/3 * 3", "= 0, 1, ...". */
static const char RESULT[] =
    "(*UCP)(?:=\\s*|:\\s+(?=-?\\d+\\.\\d))(-?\\d++/"
    "(?:\\d{1,2}+|\\x{221A}\\d{1,2}+|\\(\\d{1,2}+\\x{221A}\\d{1,2}+\\))(?=\\s*+(?:[,;.](?!\\d)|$))|"
    "-?" ATTN_NUMBER
    "(?:\\s?%)?+)(?![\\w\\x{221A}/\\x{25A3}]|\\(\\s*[-+\\d(\\x{25A3}]|\\s*[\\x{D7}\\x{F7}\\x{B7}*/"
    "+]|\\s*-\\s*\\d|\\.\\d|\\s+[vkh]_?\\d|"
    "(?:\\s*,\\s*\\d++)*+\\s*,?\\s*(?:\\x{2026}|\\.\\.))";
/* "q dot k1 is 2", "their sum, 2", "k1 との内積は 2": what it is of names a step. */
static const char VERB_RESULT[] =
    "(?:(?<=\\s)(?:is|equals|gives|adds? up to|sums? "
    "to)\\s+|(?<=\\bsum),\\s+|\\x{306F}\\s*|\\x{304C}\\s*)(-?" ATTN_NUMBER
    "(?:\\s?%)?+)(?![\\w\\x{221A}/(\\x{25A3}%^]|\\s*[\\x{D7}\\x{B7}*/"
    "+=]|\\.\\d|[-\\x{2013}]\\w|\\s+[a-z]{3})";
static const char ADDS_UP[] = "(?:adds? up|sums?) to";
static const char TERMS[] =
    "(?i)\\b(?:they|these|those|which|that|and|exponentials|numbers|values|terms)\\s*$";
static const char VERB_SUBJECT[] =
    "(?i)\\bdot\\b|product|\\bscores?\\b|\\bweight\\b|\\bexp|\\blogit|\\benerg|similarity|"
    "\\bsum\\b|\\btotal\\b|\\x{5408}\\x{8A08}|\\x{5185}\\x{7A4D}|\\x{30B9}\\x{30B3}\\x{30A2}|\\x{"
    "91CD}\\x{307F}|\\x{6307}\\x{6570}|(?:\\x{7DCF}|\\x{306E})\\x{548C}";
/* What the number is of: "q1.k2", "a_{12}'", "0.5 + 1". */
static const char SUBJECT[] =
    "(*UCP)(?:[A-Za-z\\x{3B1}-\\x{3C9}][\\w'_^().\\s\\x{B7}*\\x{D7}]*+|\\d\\s?\\)?)$";
/* Sizes, divisors and tolerances: "d_k", "sqrt(2)", "n", "dim", "atol"; but not the last part
 * of "1 / sqrt(2)" */
static const char SIZE[] =
    "(*UCP)(?:d_?\\{?(?:k|v|q|model|head|h)\\w*|(?<!/)(?<!/ )(?<!by )(?<!\\x{F7})(?<!\\x{F7} )"
    "(?:\\x{221A}\\s*\\w*|sqrt\\W*\\w*\\W*)|\\b[nhmNDL]|(?<=\\) )d|"
    "\\bT|dim|axis|size|precision|digits|decimals|seed|version|pos|\\b(?:abs|rel|eps|[ar]?tol))\\s*"
    "\\)?$";
/* Hiragana between a number and the words next to it: "重みは0.2と0.8である". */
#define PARTICLE "[かがしだてでとなにのはへもやを]"
/* What is called a step of its own. */
#define STEP_WORD "(?:quer(?:y|ies)|keys?|values?|scores?|weights?|outputs?)\\b"
/* Between the numbers of a list, and the next one. */
#define SEPARATOR                                                                                  \
  "(?:\\s*+\\((?:for|of|to) [^()\\n]{1,12}\\))?+"                                                  \
  "(?:\\s++(?:for|on|to|at|with|f\\x{FC}r|pour|para)(?:\\s++(?:[^\\s\\d,;.]{1,24}|[a-z]_?\\d)){1," \
  "3}?(?=\\s*+,|"                                                                                  \
  "\\s++(?:and|or|"                                                                                \
  "und|et|y)\\s))?"                                                                                \
  "(?:\\s*+[,;]\\s*+(?:(?:and|or|und)\\s++)?|\\s++(?:and|or|und)\\s++|\\s*+\\x{3068}\\s*+)"        \
  "(?:(?:for )?the (?!" STEP_WORD                                                                  \
  ")[a-z]{2,9}(?: one)?(?: is)? |(?:with|for) \"?\\w{1,12}\"?(?: it)?(?: is| gives| to)? )?"
#define AFTER_NUMBER \
  "(?!(?!" PARTICLE  \
  ")\\w|[\\x{221A}/\\x{25A3}^]|\\(\\s*[-+\\d(\\x{25A3}]|\\s*[\\x{D7}\\x{B7}\\x{F7}*/+=]|\\.\\d)"
static const char NEXT[] =
    "(*UCP)" SEPARATOR "(-?" ATTN_NUMBER "(?:\\s?%)?+)" AFTER_NUMBER
    "(?:(?=\\s*+(?:[,;.()\\x{3002}]|(?:and|or|for|with|then|so|in|we|which|because|since|but|as|"
    "where)\\b|\\x{2192}|->|[^\\x00-\\x7F]|$))|"
    "(?:(?<=\\.\\d)|(?<=\\.\\d{2})|(?<=\\.\\d{3})|(?<=\\.\\d{4}))(?=\\s))";
/* "0.25, 0.25 and 0.50" */
static const char LIST[] =
    "(*UCP)(?!(?<=\\btoken |\\bkey |\\bword |\\bposition )\\d{1,2}(?![.\\d]))(?:(?<=" PARTICLE
    ")|(?<![\\w.\\x{25A3}/^(=\\x{221A})\\]\\x{D7}\\x{B7}*+-]))(-?" ATTN_NUMBER
    "(?:\\s?%)?+)" AFTER_NUMBER "(?=" SEPARATOR "-?(?:\\d|\\.\\d))";
/* Ends a clause of Japanese that a result follows: "内積をとると、2、0、4" */
#define CLAUSE "[\\x{3066}\\x{3067}\\x{3068}\\x{306F}],"
/* In front of a list of integers. */
static const char VERB[] =
    "(?:\\b(?:is|are|becomes?|gives?(?:\\s+us)?|gets?|yields?|obtain|equals?|into|scores?|products?"
    ")|:|\\x{2192}|->|\\x{306F}|"
    "\\x{304C}|\\x{9806}\\x{306B}|" CLAUSE ")\\s*$"; /* 順に */
/* A list that begins a sentence is not a result. */
static const char SENTENCE_END[] = "(?:[.!?]|\\x{3002})\\s*$";
static const char ARGUMENTS[] = "(?i)(?:softmax|exp)\\s?\\([-\\d.,;\\s]+$";
#define SUMS "adds? up to|sum|total|summe|somme|suma|soma|somma"
/* "'it' has 0.5, 'they' has 0.3": a quoted word, the same words after each, a number */
static const char QUOTED[] =
    "[\\x{300C}\\x{201C}\"*]([^\\x{300C}\\x{300D}\\x{201C}\\x{201D}\"*\\n]{1,30})[\\x{300D}\\x{"
    "201D}\"*]"
    "(?:\\([^()\\n]{0,20}\\))?([^-,;=.\\d\\n\\x{300C}\\x{201C}\"*\\x{25A3}+]{0,24})(-?" ATTN_NUMBER
    ")"
    "(?![\\w\\x{221A}/(\\x{25A3}^]|\\s*[\\x{D7}\\x{B7}\\x{F7}*/+=]|\\.\\d)";
/* Between two of them. */
static const char COMMA[] = "\\s*+(?:,|;|and\\b)\\s*+(?:and\\s++)?";
static const char BLANKS[] = " \t\r\f\v";

/* "divided by their sum" names the sum. */
#define DIVIDED "\\bdivi(?!\\w*+ by (?:the|their|its) (?:sum|total)\\b)"

/* The text that names each kind; of several, the first one counts: exp of the scaled scores. */
static const char *const kinds[ATTN_RESULT_KINDS] = {
    [ATTN_RESULT_OTHER] = ".",
    [ATTN_RESULT_EXPONENTIAL] =
        "(?i)\\bexp|e\\s?\\^|\\be to\\b|\\x{6307}\\x{6570}|e ?\\x{306E}\\x{80A9}",
    [ATTN_RESULT_TOTAL] =
        "(?i)(?:\\bexp|\\x{6307}\\x{6570})[^,]{0,3}\\x{306E}(?:\\x{5408}\\x{8A08}|"
        "\\x{7DCF}?\\x{548C})|\\b(?:" SUMS ")|\\x{5408}\\x{8A08}|\\x{548C}\\s*$",
    [ATTN_RESULT_QUOTIENT] =
        "(?i)" DIVIDED "|\\bhalved|\\bscale|\\x{F7}|/\\s*(?:\\x{221A}|sqrt)|\\x{5272}",
    [ATTN_RESULT_WEIGHT] =
        "(?i)weight|softmax|\\x{91CD}\\x{307F}|\\x{30BD}\\x{30D5}\\x{30C8}|\\x{3B1}_?\\d",
};
enum {
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
      (cell.kind != ATTN_CELL_NUMBER && cell.kind != ATTN_CELL_SCIENTIFIC &&
       cell.kind != ATTN_CELL_EXACT))
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

/* "q·k = 2, /2 = 1": the comma ends what is equal. */
static int is_divided_next(struct attn_grouping *g, const char *text, struct attn_part formula) {
  static const char NEXT_QUOTIENT[] = "\\s*-?" ATTN_NUMBER "\\s*,\\s*[/\\x{F7}]";
  return attn_part_begins_in(g, NEXT_QUOTIENT, text, formula, NULL);
}

/* "a = 1 + 2 = 3": the name of 3 is a, also after "b = 2 + 2 = 4, ". */
static struct attn_part result_name(struct attn_grouping *g, const char *text, size_t sign) {
  static const char INDEX[] = "(*UCP)[\\pL_]_?\\d+$";
  static const char RESULT_BEFORE[] = "\\s*+-?" ATTN_NUMBER "\\s*+[,;]\\s++";
  struct attn_part left = attn_part_chop(text, (struct attn_part){0, sign}, BLANKS);
  char last = left.end ? text[left.end - 1] : 0;
  int is_formula = text[sign] == '=' && ((last >= '0' && last <= '9') || last == ')') &&
                   !attn_part_ends_in(g, INDEX, text, left, ATTN_LABEL_CHARACTERS);
  if (!is_formula) return attn_name_before(text, sign);
  size_t first = attn_part_last(text, left, TERMS_CHARACTERS).begin;
  size_t equals = rfind(text, first, left.end, '=');
  if (equals == first || is_divided_next(g, text, (struct attn_part){equals, left.end}))
    return attn_name_before(text, left.end);
  left.begin = rfind(text, first, equals - 1, '=');
  left.end = equals - 1;
  struct attn_match m;
  if (attn_part_begins_in(g, RESULT_BEFORE, text, left, &m)) left.begin = m.group[0].end;
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

/* The 1.414 of "divide by √2 ≈ 1.414": a divisor, in digits. */
static int is_value_of_root(struct attn_grouping *g, const struct attn_scan_line *line, size_t sign,
                            struct attn_part number) {
  static const char ROOT[] =
      "(?<![/\\x{F7}])(?<![/\\x{F7}] )(?:\\x{221A}|sqrt\\()\\s?(\\d{1,3})\\)?\\s*$";
  struct attn_part left = attn_part_last(line->text, (struct attn_part){0, sign}, SIZE_CHARACTERS);
  struct attn_match m;
  attn_cell root, value;
  return line->text[sign] == '=' && attn_part_find(g, ROOT, line->text, left, &m) &&
         attn_group_cell(g, line, m.group[1], &root) && attn_group_cell(g, line, number, &value) &&
         fabs(value.value - sqrt(root.value)) < .01 * value.value;
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
  struct attn_match m;
  while (attn_find(g->scan->patterns, RESULT, line->text, r->bytes, from, &m)) {
    struct attn_part number = m.group[1];
    size_t sign = m.group[0].begin;
    from = m.group[0].end;
    if (!is_result(g, line->text, sign) || is_value_of_root(g, line, sign, number)) continue;
    char *name = attn_group_text(g, line->text, result_name(g, line->text, sign));
    int kind = name ? attn_result_kind_of(g, name) : ATTN_RESULT_OTHER;
    if (add_result(g, r, line, number, name, kind)) from = add_list(g, r, line, from, name, kind);
  }
}

/* Of a sentence: "q dot k1 is 2". */
static void find_verbs(struct attn_grouping *g, const struct attn_scan_line *line,
                       struct attn_results *r) {
  size_t from = 0;
  struct attn_match m;
  while (attn_find(g->scan->patterns, VERB_RESULT, line->text, r->bytes, from, &m)) {
    struct attn_part front = {0, m.group[0].begin}, number = m.group[1];
    struct attn_part verb = {m.group[0].begin, number.begin};
    from = m.group[0].end;
    int adds_up = attn_part_begins_in(g, ADDS_UP, line->text, verb, NULL) &&
                  attn_part_ends_in(g, TERMS, line->text, front, SUBJECT_CHARACTERS);
    if (!adds_up && !attn_part_ends_in(g, VERB_SUBJECT, line->text, front, SUBJECT_CHARACTERS))
      continue;
    if (adds_up) front.end = number.begin;
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

/* Mostly decimals, or integers after a verb; not at the begin of a sentence, nor what a function is
 * of: "softmax(1.5, 0.2)". */
static int is_list(struct attn_grouping *g, const char *text, size_t begin,
                   const struct attn_result *first, int count) {
  struct attn_part front = {0, begin};
  int decimals = 0;
  for (int n = 0; n < count; n++) decimals += first[n].cell.decimals > 0;
  if (count < 2 || !*first->name ||
      attn_part_ends_in(g, ARGUMENTS, text, front, SENTENCE_CHARACTERS) ||
      attn_part_ends_in(g, SENTENCE_END, text, front, SIZE_CHARACTERS))
    return 0;
  return 2 * decimals >= count || attn_part_ends_in(g, VERB, text, front, SIZE_CHARACTERS);
}

/* What is after the last arrow: "sum 2 -> weights". */
static struct attn_part after_arrow(const char *text, struct attn_part p) {
  for (size_t at = p.begin; at + 2 < p.end; at++)
    if (memcmp(text + at, "\u2192", 3) == 0) p.begin = at + 3;
  return p;
}

/* What a list is called: the words since the last comma. */
static char *list_name(struct attn_grouping *g, const char *text, size_t at) {
  struct attn_part front = attn_part_trim(text, (struct attn_part){0, at});
  if (attn_part_chop(text, front, ",").end < front.end) at = front.end - 1;
  struct attn_part words = after_arrow(text, attn_name_before(text, at));
  return attn_group_text(g, text, words);
}

/* The same with all words of the sentence, where the nearest ones decide nothing. */
static char *sentence_name(struct attn_grouping *g, const char *text, size_t at, int characters) {
  struct attn_part p = attn_part_last(text, (struct attn_part){0, at}, characters);
  struct attn_match m;
  while (attn_part_find(g, "[.;:?!]\\s|\\x{3002}", text, p, &m)) p.begin = m.group[0].end;
  return attn_group_text(g, text, p);
}

/* The name and the kind of the list at `at`. */
static char *name_list(struct attn_grouping *g, const char *text, size_t at, int *kind) {
  char *name = list_name(g, text, at);
  *kind = name ? attn_result_kind_of(g, name) : ATTN_RESULT_OTHER;
  if (!name || !*name || *kind != ATTN_RESULT_OTHER) return name;
  char *sentence = sentence_name(g, text, at, SENTENCE_CHARACTERS);
  if (sentence) *kind = attn_result_kind_of(g, sentence);
  return sentence_name(g, text, at, ATTN_NAME_CHARACTERS);
}

static void find_lists(struct attn_grouping *g, const struct attn_scan_line *line,
                       struct attn_results *r) {
  size_t from = 0;
  struct attn_match m;
  while (attn_find(g->scan->patterns, LIST, line->text, r->bytes, from, &m)) {
    struct attn_part number = m.group[1];
    int had = r->count, kind;
    char *name = name_list(g, line->text, number.begin, &kind);
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
  int kind = attn_result_kind_of(g, name);
  if (kind == ATTN_RESULT_OTHER && b->captions) /* "Exponentials?" above "I get 2.7 and 1." */
    kind = attn_result_kind_of(g, b->caption[b->captions - 1]);
  return kind == ATTN_RESULT_EXPONENTIAL;
}

int attn_place_of_sum(struct attn_grouping *g, int blocks) {
  if (attn_follows_exponentials(g, blocks)) return blocks;
  const attn_printing *last = blocks > 1 ? &g->block[blocks - 1]->reading[0] : NULL;
  int is_vector = last && (last->rows == 1 || last->cols == 1);
  return is_vector && attn_follows_exponentials(g, blocks - 1) ? blocks - 1 : 0;
}

void attn_results(struct attn_grouping *g, const struct attn_scan_line *line) {
  struct attn_part all = {0, line->bytes};
  struct attn_results r = {.bytes = all.end};
  if (line->text[strcspn(line->text, "0123456789")]) {
    find_results(g, line, &r);
    find_verbs(g, line, &r);
    find_lists(g, line, &r);
    find_quoted(g, line, &r);
  }
  if (g->status == ATTN_OK) attn_results_group(g, line, &r);
  size_t *at = attn_group_take(g, (size_t)r.count, sizeof *at);
  for (int n = 0; at && n < r.count; n++) at[n] = r.item[n].at;
  if (g->status == ATTN_OK) attn_stray_text(g, line, all, at, r.count);
}
