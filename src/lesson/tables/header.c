/* header.c -- what the columns of a table are called. */
#include <stdint.h>
#include <math.h>
#include <string.h>

#include "cell.h"
#include "table.h"

/* Between the words of a header are at least so many blanks. */
enum { HEADER_BYTES = 180, WORD_GAP = 2, LINES_ABOVE = 2 };

/* What a header's cell calls its column: also a token that a number cell would be blank for: "." */
static int is_named(const struct attn_row *header, int item) {
  const struct attn_row_item *i = &header->item[item];
  return i->kind == ATTN_ITEM_TEXT ||
         (i->kind == ATTN_ITEM_CELL && i->cell.kind == ATTN_CELL_BLANK && i->begin < i->end);
}

char *attn_header_words(struct attn_grouping *g, const struct attn_table *t) {
  char *words = attn_group_take(g, HEADER_BYTES + 1, 1);
  size_t end = 0;
  if (!words) return NULL;
  for (int n = 0; n < t->header.items; n++) {
    const char *word = is_named(&t->header, n) ? attn_item_text(g, &t->header, n) : "";
    size_t bytes = word ? strlen(word) : 0;
    if (bytes == 0 || end + bytes + 1 > HEADER_BYTES) continue;
    if (end) words[end++] = ' ';
    memcpy(words + end, word, bytes);
    end += bytes;
  }
  return words;
}

/* The header may have no cell above the labels. */
void attn_header_set(struct attn_grouping *g, const struct attn_table *t, struct attn_block *b,
                     int skip) {
  int same = t->header.items == t->cols, shorter = t->header.items == t->numbers - skip;
  if (t->header.items == 0) return;
  b->header = t->header_words ? t->header_words : attn_header_words(g, t);
  for (int n = skip; b->header && (same || shorter) && n < t->numbers; n++) {
    char *label = attn_item_text(g, &t->header, same ? t->number[n] : n - skip);
    if (!label || !attn_block_label_column(g, b, label)) return;
  }
}

void attn_header_strays(struct attn_grouping *g, const struct attn_row *header) {
  enum { COUNT_MAX = 10000 };
  for (int n = 0; n < header->items; n++) {
    const struct attn_row_item *item = &header->item[n];
    int is_count = fabs(item->cell.value) < COUNT_MAX &&
                   attn_item_is_integer(item, (int)rint(item->cell.value));
    if (item->kind == ATTN_ITEM_CELL && !is_count)
      attn_stray_of(g, "", &item->cell, header->item[0].cell.column, 0);
  }
}

/* ---- the line above columns that blanks separate ---- */

static size_t gap_at(const char *text, size_t at) { return strspn(text + at, " \t"); }

static size_t phrase_end(const char *text, size_t at, size_t gap) {
  for (size_t blanks; text[at]; at += blanks) {
    while (text[at] && !attn_is_blank(text[at])) at++;
    blanks = gap_at(text, at);
    if (blanks >= gap || !text[at + blanks]) return at;
  }
  return at;
}

/* The phrases of a line: `gap` blanks are between. Returns how many, most + 1: more. */
static int split_line(const char *text, size_t gap, struct attn_part *phrase, int most) {
  int count = 0;
  for (size_t at = gap_at(text, 0), end; text[at]; at = end + gap_at(text, end)) {
    if (count == most) return most + 1;
    end = phrase_end(text, at, gap);
    struct attn_part part = {at, end};
    phrase[count++] = attn_part_trim(text, part);
  }
  return count;
}

/* The words become the header, each above the columns that are of it; they are not a caption. */
static void set_words(struct attn_grouping *g, struct attn_table *t, const struct attn_part *word,
                      const int *of) {
  struct attn_row_item *item = attn_group_take(g, (size_t)t->cols, sizeof *item);
  if (!item) return;
  for (int n = 0; n < t->cols; n++) {
    item[n] = (struct attn_row_item){.kind = ATTN_ITEM_CELL, .cell = attn_cell_blank()};
    if (n && of[n] == of[n - 1]) continue;
    item[n].kind = ATTN_ITEM_TEXT;
    item[n].begin = (uint32_t)word[of[n]].begin, item[n].end = (uint32_t)word[of[n]].end;
  }
  t->header =
      (struct attn_row){.line = g->text_line, .style = t->style, .items = t->cols, .item = item};
  if (g->aboves) g->aboves--;
}

/* "q      k      v" above "0 1   2 1   1 1": is each word above as many columns? */
static int are_equal_parts(const struct attn_table *t, const struct attn_part *word, int words) {
  int each = t->cols / words;
  if (each * words != t->cols) return 0;
  for (int n = 0; n < words; n++) {
    if (word[n].begin >= t->row[0].item[(n + 1) * each - 1].end) return 0;
    if (n && word[n].begin <= t->row[0].item[n * each - 1].end) return 0;
  }
  return 1;
}

/* The blanks between a column and the one before. A row may end before it. */
static uint32_t gap_before(const struct attn_table *t, int col) {
  uint32_t gap = UINT32_MAX;
  for (int r = 0; r < t->rows; r++) {
    const struct attn_row_item *item = t->row[r].item + col;
    if (item->begin == item->end) continue;
    if (item->begin - item[-1].end < gap) gap = item->begin - item[-1].end;
  }
  return gap;
}

/* Are there more blanks between the columns of two words than between those of one? */
static int are_apart(const struct attn_table *t, const int *of) {
  uint32_t within = 0, between = UINT32_MAX;
  for (int n = 1; n < t->cols; n++) {
    uint32_t gap = gap_before(t, n), *at = of[n] == of[n - 1] ? &within : &between;
    if (at == &within ? gap > within : gap < between) *at = gap;
  }
  return between > within;
}

/* q, k and v */
static int are_names(struct attn_grouping *g, const struct attn_part *word, int words) {
  int n = 0;
  for (; n < words; n++) {
    char *name = attn_group_text(g, g->text_line->text, word[n]);
    int step = name ? attn_label_step(name) : -1;
    if (step < ATTN_STEP_Q || step > ATTN_STEP_V) break;
  }
  return n == words;
}

/* Which word each column is below; 0: they are other words. */
static int find_above(struct attn_grouping *g, const struct attn_table *t,
                      const struct attn_part *word, int words, int *of) {
  if (words < 2 || t->numbers != t->cols || t->rows < 2) return 0;
  int equal = are_equal_parts(t, word, words);
  for (int n = 0, w = 0; n < t->cols; n++) {
    w += w + 1 < words && word[w + 1].begin < t->row[0].item[n].end;
    of[n] = equal ? n * words / t->cols : w;
  }
  return of[t->cols - 1] == words - 1 && (are_apart(t, of) || (equal && are_names(g, word, words)));
}

int attn_header_is_above_parts(struct attn_grouping *g, int cols) {
  struct attn_table t = {.row = g->row, .rows = g->rows, .cols = cols, .numbers = cols};
  struct attn_part *word = attn_group_take(g, (size_t)cols, sizeof *word);
  int *of = attn_group_take(g, (size_t)cols, sizeof *of);
  if (!word || !of || !g->text_line) return 0;
  if (g->text_line->line != g->row[0].line->line - 1 || *g->row[0].label.text) return 0;
  int words = split_line(g->text_line->text, WORD_GAP, word, cols - 1);
  return words < cols - 1 && find_above(g, &t, word, words, of);
}

/* "    k1 k2 pad" above "q1   6  4   2": does each word end where its column does, as of R? */
static int end_columns(const struct attn_table *t, const struct attn_part *word, int words) {
  if (words != t->cols || !*t->row[0].label.text) return 0;
  for (int r = 0; r < t->rows; r++)
    for (int n = 0; n < t->cols; n++)
      if (t->row[r].item[n].end != word[n].end) return 0;
  return 1;
}

static void find_words(struct attn_grouping *g, struct attn_table *t) {
  const struct attn_scan_line *line = g->text_line;
  int most = t->cols + 1;
  struct attn_part *word = attn_group_take(g, (size_t)most, sizeof *word);
  int *of = attn_group_take(g, (size_t)t->cols, sizeof *of);
  if (!word || !of) return;
  for (int n = 0; n < t->cols; n++) of[n] = n;
  int words = split_line(line->text, 1, word, most);
  if (!end_columns(t, word, words)) words = split_line(line->text, WORD_GAP, word, most);
  if (words > most) return;
  int is_of_labels = *t->row[0].label.text && words && word->end <= t->row[0].item[0].begin;
  if (is_of_labels && words != t->cols) word++, words--; /* else a name for each column */
  if (words >= t->cols) {
    set_words(g, t, word + (words - t->cols), of);
  } else if (words > 1 && words == t->cols - 1 && t->numbers == t->cols && t->rows > 1 &&
             attn_table_counts(t, 1)) {
    t->skip = 1;
  } else if (find_above(g, t, word, words, of)) {
    set_words(g, t, word, of);
  }
}

/* ---- headers that name parts ---- */

/* The column whose cell in the header names number n and what is right of it: its own, or that of
 * the labels in front of it. -1: none. */
static int naming_column(const struct attn_table *t, const struct attn_row *header, int n) {
  int own = t->number[n], before = n > 0 ? t->number[n - 1] : -1;
  if (is_named(header, own)) return own;
  return own - 1 > before && is_named(header, own - 1) ? own - 1 : -1;
}

/* "Q | Q | K | K": is a step called as in the column before? */
static int repeats_step(const struct attn_table *t, int parts, const char *name) {
  return parts > 0 && name && !strcmp(t->part[parts - 1].name, name) && attn_label_step(name) >= 0;
}

/* A part for each column of the header where a name begins; blank cells, and those that repeat it,
 * continue it. All names are above numbers, or all above labels. */
static int find_spans(struct attn_grouping *g, struct attn_table *t,
                      const struct attn_row *header) {
  int widest = 0, parts = 0, above_labels = 0;
  if (header->items != t->cols) return 0;
  for (int n = t->skip; n < t->numbers; n++) {
    const struct attn_row_item *item = &header->item[t->number[n]];
    if (item->kind == ATTN_ITEM_CELL && item->cell.kind != ATTN_CELL_BLANK) return 0;
    int at = naming_column(t, header, n);
    char *name = at >= 0 ? attn_item_text(g, header, at) : NULL;
    if (at >= 0 && !repeats_step(t, parts, name)) {
      above_labels += at != t->number[n];
      t->part[parts] = (struct attn_table_part){n, n, name};
      if (!t->part[parts++].name) return 0;
    }
    if (parts == 0) return 0;
    t->part[parts - 1].end = n + 1;
    if (n + 1 - t->part[parts - 1].begin > widest) widest = n + 1 - t->part[parts - 1].begin;
  }
  if (above_labels > 0 && above_labels < parts) return 0;
  return parts > 1 && widest > 1 ? parts : 0;
}

/* Parts of as many columns each, and of three or more, with their names in the middle. */
static int find_centred(struct attn_grouping *g, struct attn_table *t,
                        const struct attn_row *header) {
  int names = 0;
  if (t->skip || header->items != t->cols) return 0;
  for (int n = 0; n < t->numbers; n++) names += is_named(header, t->number[n]);
  int width = names > 1 && t->numbers % names == 0 ? t->numbers / names : 0;
  for (int n = 0; n < names && width > 2; n++) {
    int begin = n * width, middle = t->number[begin + width / 2];
    if (!is_named(header, middle) && width % 2 == 0) middle = t->number[begin + width / 2 - 1];
    t->part[n] = (struct attn_table_part){begin, begin + width, attn_item_text(g, header, middle)};
    if (!is_named(header, middle) || !t->part[n].name) return 0;
  }
  return width > 2 ? names : 0;
}

/* The bytes before the last separator that both texts have in front of what differs. */
static size_t common_words(const char *a, const char *b) {
  size_t bytes = 0;
  for (size_t n = 0; a[n] && a[n] == b[n]; n++)
    if (strchr(" ([_.", a[n])) bytes = n;
  return bytes;
}

/* "score cat | score dog", "weight(cat) | weight(dog)", "WQ.left | WQ.right", "scaled_score_cat |
 * ..": do columns n - 1 and n begin with the same step? */
static int same_step(struct attn_grouping *g, const struct attn_table *t, int n) {
  const char *a = attn_item_text(g, &t->header, t->number[n - 1]);
  const char *b = attn_item_text(g, &t->header, t->number[n]);
  size_t bytes = a && b ? common_words(a, b) : 0;
  const char *word = bytes ? attn_group_copy(g, a, bytes) : NULL;
  return word && attn_step_of_text(g, word) >= 0;
}

/* "k_x | k_y", "キー1 | キー2", "key(1) | key(2)": the same name with the next letter or digit. */
static int is_next_axis(struct attn_grouping *g, const struct attn_table *t, int n) {
  const char *a = n ? attn_item_text(g, &t->header, t->number[n - 1]) : NULL;
  const char *b = attn_item_text(g, &t->header, t->number[n]);
  size_t last = a && *a ? strlen(a) - 1 : 0;
  if (!last || !b || strlen(b) != last + 1) return 0;
  if (a[last] == ')' && b[last] == ')') last--;
  return memcmp(a, b, last) == 0 && strchr("xyza12345678", a[last]) && b[last] == a[last] + 1;
}

/* q of "qx" or "q_x", beside "q_y" */
static char *without_axis(struct attn_grouping *g, char *name) {
  size_t bytes = strlen(name);
  if (bytes < 2 || name[bytes - 1] != 'x') return name;
  bytes -= name[bytes - 2] == '_' ? 2 : 1;
  char *stem = attn_group_copy(g, name, bytes);
  return stem && attn_label_step(stem) >= 0 ? stem : name;
}

/* "q1 (°C)", "Q1列" */
static void drop_unit(char *text) {
  static const char COLUMN[] = "列";
  const size_t bytes = text ? strcspn(text, "[(") : 0, unit = sizeof COLUMN - 1;
  if (!text) return;
  text[bytes] = 0;
  if (bytes > unit && strcmp(text + bytes - unit, COLUMN) == 0) text[bytes - unit] = 0;
}

/* "q1 | q2 | k1 | k2", "k1 | k2 | score": a part for each stem. Not "s1 | s2 | p3 | p4", where one
 * count goes on. */
static int find_stems(struct attn_grouping *g, struct attn_table *t) {
  struct attn_label last = {.index = -1}, label;
  int parts = 0, several = 0, steps = 0, counts = 0;
  if (t->header.items != t->cols) return 0;
  for (int n = t->skip; n < t->numbers; n++) {
    char *text = attn_item_text(g, &t->header, t->number[n]);
    steps += text && attn_step_of_text(g, text) >= ATTN_STEP_SCORES;
    drop_unit(text);
    if (!text || !attn_group_label(g, text, &label)) return 0;
    int indexed = label.index >= 0 && last.index >= 0 && attn_same_stem(&label, &last);
    int goes_on = parts > 0 && (indexed || same_step(g, t, n) || is_next_axis(g, t, n));
    if (!goes_on) t->part[parts++] = (struct attn_table_part){n, n, text};
    t->part[parts - 1].end = n + 1;
    int is_second = goes_on && n - t->part[parts - 1].begin == 1;
    if (is_second && !indexed) t->part[parts - 1].name = without_axis(g, t->part[parts - 1].name);
    several += is_second;
    counts += label.index == n - t->skip + 1;
    last = label;
  }
  if (counts == t->numbers - t->skip) return 0;
  return several > 1 || (several && steps && steps == parts - 1) ? parts : 0;
}

int attn_header_has_steps(struct attn_grouping *g, const struct attn_table *t) {
  uint32_t seen = 0;
  const char *scores = NULL;
  if (t->header.items != t->cols || t->rows < 2) return 0;
  const struct attn_row_item *last = &t->header.item[t->cols - 1];
  int is_caption = t->style == ATTN_ROW_SPACES && t->numbers < 3 &&
                   (t->cols < 2 || last->begin < last[-1].end + WORD_GAP); /* "scaled scores" */
  int is_sentence = t->header.style == ATTN_ROW_COMMAS && t->style == ATTN_ROW_SPACES;
  if (is_caption || is_sentence) return 0;
  for (int n = t->skip; n < t->numbers; n++) {
    char *text = attn_item_text(g, &t->header, t->number[n]);
    int step = text && *text ? attn_step_of_text(g, text) : -1;
    if (step == ATTN_STEP_SCORES && scores) /* "qk | score", not "e1 | e2" */
      step = attn_same_letters(text, scores) ? -1 : ATTN_STEP_SCALED;
    if (step == ATTN_STEP_SCORES) scores = text;
    if (step < ATTN_STEP_SCORES || seen >> step & 1) return 0;
    seen |= (uint32_t)1 << step;
  }
  return t->numbers - t->skip > 1;
}

/* "score", "scaled", "weight": the steps of one query, a key in each row. */
static int find_steps(struct attn_grouping *g, struct attn_table *t) {
  if (t->header.items != t->cols || (!t->beside && !attn_header_has_steps(g, t))) return 0;
  for (int n = t->skip; n < t->numbers; n++) {
    struct attn_table_part *p = &t->part[n - t->skip];
    *p = (struct attn_table_part){n, n + 1, attn_item_text(g, &t->header, t->number[n])};
    if (!p->name) return 0;
  }
  return t->numbers - t->skip;
}

/* "cat | dog | cat | dog": the names of the rows, again and again: a part each. */
static int find_repeats(struct attn_grouping *g, struct attn_table *t) {
  int parts = t->numbers / t->rows;
  if (t->header.items != t->cols || t->labels < 0 || t->rows < 2) return 0;
  if (parts < 2 || parts * t->rows != t->numbers) return 0;
  for (int n = 0; n < t->numbers; n++) {
    const char *label = attn_item_text(g, &t->header, t->number[n]);
    if (!label || strcmp(label, t->row[n % t->rows].label.text) != 0) return 0;
  }
  for (int n = 0; n < parts; n++)
    t->part[n] = (struct attn_table_part){n * t->rows, (n + 1) * t->rows, ""};
  return parts;
}

/* "exp(e_1) | exp(e_2) | sum": is each column but the last called exponentials? */
static int are_exponentials(struct attn_grouping *g, const struct attn_table *t) {
  for (int n = t->skip; n < t->numbers - 1; n++) {
    char *name = attn_item_text(g, &t->header, t->number[n]);
    if (!name || attn_step_of_text(g, name) != ATTN_STEP_EXPONENTIALS) return 0;
  }
  return 1;
}

/* By its corner, or by the names of its columns. */
static int shows_exponentials(struct attn_grouping *g, const struct attn_table *t,
                              const char *corner) {
  if (t->labels < 0) return are_exponentials(g, t);
  if (t->labels > 0 || t->rows < 2) return 0;
  return attn_label_step(corner) == ATTN_STEP_EXPONENTIALS;
}

/* "exp | cat | dog | sum": the sums of the rows are a part of their own. */
static int find_sums(struct attn_grouping *g, const struct attn_table *t) {
  const int last = t->numbers - 1;
  if (t->header.items != t->cols || last - t->skip < 2) return 0;
  char *corner = attn_item_text(g, &t->header, 0),
       *sum = attn_item_text(g, &t->header, t->number[last]);
  if (!corner || !sum || attn_label_step(sum) != ATTN_STEP_ROW_SUM) return 0;
  if (!shows_exponentials(g, t, corner)) return 0;
  if (t->labels < 0) corner = "exp", sum = "sum"; /* the first column has a name of its own */
  t->part[0] = (struct attn_table_part){t->skip, last, corner};
  t->part[1] = (struct attn_table_part){last, last + 1, sum};
  return 2;
}

/* ---- names in the line above ---- */

/* "queries, keys, values (two columns each)", "the weights of q, k and v". Returns how many names.
 */
static int listed_inputs(struct attn_grouping *g, const char *above, const char **name) {
#define THEN "(?![A-Za-z])[^A-Za-z0-9^=]{1,8}(?:(?:and|then|und|et) )?"
  static const char LIST[] = "(?i)(?<![A-Za-z])(?<![A-Za-z]\\()(?:q(?:uer(?:y|ies))?|クエリ)" THEN
                             "(?:k(?:eys?)?|キー)" THEN "(?:v(?:alues?)?|バリュー|値)(?![A-Za-z])";
  static const char WEIGHTS[] = "(?i)weights|matri|重み|行列|\\bW_?Q\\b";
  static const char *const NAMES[] = {"Q", "K", "V", "W_Q", "W_K", "W_V"};
  if (!attn_occurs(g->scan->patterns, LIST, above)) return 0;
  int first = attn_occurs(g->scan->patterns, WEIGHTS, above) ? 3 : 0;
  for (int n = 0; n < 3; n++) name[n] = NAMES[first + n];
  return 3;
}

enum { LISTED_MAX = 5 };

/* "from left to right: QK^T, divided by √2, softmax, output": each clause from one on is a step.
 */
static int listed_steps(struct attn_grouping *g, const char *above, const char **name) {
  const char *const signs = strpbrk(above, ",;:/") ? ",;:/" : " ";
  int names = 0;
  for (const char *at = above; *at; at += strspn(at, ",;:/ ")) {
    size_t bytes = strcspn(at, signs);
    const char *clause = attn_group_copy(g, at, bytes);
    int is_step = clause && attn_step_of_text(g, clause) >= ATTN_STEP_SCORES;
    if ((!is_step && names) || (is_step && names == LISTED_MAX)) return 0;
    if (is_step) name[names++] = clause;
    at += bytes;
  }
  return names > 1 ? names : 0;
}

/* Columns without a header: a part of as many columns for each name that the line above lists. That
 * is supposed. */
static int find_listed(struct attn_grouping *g, struct attn_table *t) {
  const char *above = g->aboves ? g->above[g->aboves - 1] : NULL, *name[LISTED_MAX];
  if (!g->scan->left || !g->scan->left->recurring || !above || t->skip || t->rows < 2) return 0;
  int names = listed_inputs(g, above, name);
  if (!names) names = listed_steps(g, above, name);
  int width = names ? t->numbers / names : 0;
  if (width < 2 || width * names != t->numbers) return 0;
  g->scan->regrouped = 1;
  t->part = attn_group_take(g, (size_t)names, sizeof *t->part);
  for (int n = 0; t->part && n < names; n++)
    t->part[n] = (struct attn_table_part){n * width, (n + 1) * width,
                                          attn_group_copy(g, name[n], strlen(name[n]))};
  return g->status == ATTN_OK ? names : 0;
}

/* "v1 | v2" above 0, 1, 2 and other numbers: the first column is one of the matrix. */
static int names_components(struct attn_grouping *g, const struct attn_table *t) {
  struct attn_label first, next;
  if (t->numbers < 2) return 0;
  char *a = attn_item_text(g, &t->header, t->number[0]);
  char *b = attn_item_text(g, &t->header, t->number[1]);
  return a && b && attn_group_label(g, a, &first) && attn_group_label(g, b, &next) &&
         first.index >= 0 && next.index == first.index + 1 && attn_same_stem(&first, &next);
}

/* Editors remove blank cells at the end of a header: others of it are blank, too. So is the last
 * one of a span lost between pipes: "w | Q | | K |". */
static void restore_blanks(struct attn_grouping *g, const struct attn_table *t,
                           struct attn_row *header) {
  int spans = 0;
  for (int n = 1; n < header->items; n++) spans += header->item[n].begin == header->item[n].end;
  int lacks_one = header->style == ATTN_ROW_PIPES && spans && header->items == t->cols - 1;
  int lacks_last = header->style != ATTN_ROW_PIPES && header->items < t->cols && spans;
  if (lacks_last || lacks_one) attn_row_pad(g, header, t->cols);
}

void attn_header_find(struct attn_grouping *g, struct attn_table *t) {
  if (t->style == ATTN_ROW_SPACES && t->header.items == 0 && !t->skip && t->rows > 1 &&
      t->cols > 1 && g->text_line && g->text_line->line >= t->line - LINES_ABOVE)
    find_words(g, t);
  if (t->header.items == 0) t->parts = find_listed(g, t);
  if (t->header.items == 0 || g->status != ATTN_OK) return;
  restore_blanks(g, t, &t->header);
  t->part = attn_group_take(g, (size_t)t->numbers, sizeof *t->part);
  if (!t->part) return;
  t->parts = find_spans(g, t, &t->super);
  if (!t->parts) t->parts = find_spans(g, t, &t->header);
  if (!t->parts) t->parts = find_centred(g, t, &t->header);
  int is_column = t->skip && t->header.items == t->cols && naming_column(t, &t->header, 0) >= 0;
  if (!t->parts && is_column) { /* 0, 1, 2 below its name */
    t->skip = 0;
    t->parts = find_spans(g, t, &t->header);
    t->skip = !t->parts && !names_components(g, t);
  }
  if (!t->parts) t->parts = find_stems(g, t);
  if (!t->parts) t->parts = find_steps(g, t);
  if (!t->parts) t->parts = find_repeats(g, t);
  if (!t->parts) t->parts = find_sums(g, t);
}
