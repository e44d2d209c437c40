/* header.c -- what the columns of a table are called. */
#include <stdint.h>
#include <string.h>

#include "steps.h"
#include "table.h"

/* Between the words of a header are at least so many blanks, and between matrices side by side. */
enum { HEADER_BYTES = 180, WORD_GAP = 2, PART_GAP = 3, LINES_ABOVE = 2 };

/* 1, 2, .. or 0, 1, .. above the numbers. */
static int header_counts(const struct attn_table *t) {
  const attn_cell *first = &t->header.item[t->number[0]].cell;
  for (int n = 0; n < t->numbers; n++) {
    const attn_cell *cell = &t->header.item[t->number[n]].cell;
    if (cell->decimals != 0 || cell->value != first->value + n) return 0;
  }
  return first->value == 0 || first->value == 1;
}

int attn_header_may_be_row(const struct attn_table *t) {
  if (!t->header_is_ruled || t->header.items != t->cols || !t->numbers) return 0;
  for (int n = 0; n < t->numbers; n++)
    if (!attn_item_is_number(&t->header.item[t->number[n]])) return 0;
  return t->labels < 0 || !header_counts(t); /* rows have labels, so columns do */
}

/* What a header's cell calls its column: also a token that a number cell would be blank for: "." */
static int is_named(const struct attn_row *header, int item) {
  const struct attn_row_item *i = &header->item[item];
  return i->kind == ATTN_ITEM_TEXT ||
         (i->kind == ATTN_ITEM_CELL && i->cell.kind == ATTN_CELL_BLANK && i->begin < i->end);
}

static char *header_words(struct attn_grouping *g, const struct attn_table *t) {
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
  b->header = header_words(g, t);
  for (int n = skip; b->header && (same || shorter) && n < t->numbers; n++) {
    char *label = attn_item_text(g, &t->header, same ? t->number[n] : n - skip);
    if (!label || !attn_block_label_column(g, b, label)) return;
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

/* Words one blank apart: each is above its own number. */
static int is_aligned(const struct attn_table *t, const struct attn_part *word) {
  const struct attn_row *row = &t->row[0];
  for (int n = 0; n < t->cols; n++) {
    const struct attn_row_item *item = &row->item[n];
    if (word[n].begin >= item->end || item->begin >= word[n].end) return 0;
    if (n > 0 && word[n].begin < row->item[n - 1].end) return 0;
    if (n + 1 < t->cols && word[n].end > row->item[n + 1].begin) return 0;
  }
  return 1;
}

static int has_number(struct attn_grouping *g, const struct attn_scan_line *line,
                      const struct attn_part *part, int parts) {
  attn_cell cell;
  for (int n = 0; n < parts; n++)
    if (attn_group_cell(g, line, part[n], &cell)) return 1;
  return 0;
}

/* The words become the header; they are not a caption. */
static void set_words(struct attn_grouping *g, struct attn_table *t, const struct attn_part *word) {
  struct attn_row_item *item = attn_group_take(g, (size_t)t->cols, sizeof *item);
  if (!item) return;
  for (int n = 0; n < t->cols; n++)
    item[n] = (struct attn_row_item){
        .kind = ATTN_ITEM_TEXT, .begin = (uint32_t)word[n].begin, .end = (uint32_t)word[n].end};
  t->header =
      (struct attn_row){.line = g->text_line, .style = t->style, .items = t->cols, .item = item};
  if (g->aboves) g->aboves--;
}

/* The blanks after column n that all rows have. */
static size_t gap_after(const struct attn_table *t, int n) {
  size_t end = 0, begin = SIZE_MAX;
  for (int r = 0; r < t->rows; r++) {
    const struct attn_row_item *item = attn_table_item(t, r, n);
    if (item->end > end) end = item->end;
    if (item[1].begin < begin) begin = item[1].begin;
  }
  return begin > end ? begin - end : 0;
}

static void set_parts(struct attn_grouping *g, struct attn_table *t, const struct attn_part *phrase,
                      int parts, const int *begin) {
  t->part = attn_group_take(g, (size_t)parts, sizeof *t->part);
  for (int n = 0; t->part && n < parts; n++) {
    t->part[n].begin = begin[n];
    t->part[n].end = n + 1 < parts ? begin[n + 1] : t->numbers;
    t->part[n].name = attn_group_text(g, g->text_line->text, phrase[n]);
  }
  if (g->status != ATTN_OK) return;
  t->parts = parts;
  if (g->aboves) g->aboves--;
}

/* "Q        K" above "1 0      2 1": parts begin after the widest gaps between columns. */
static void find_side_by_side(struct attn_grouping *g, struct attn_table *t,
                              const struct attn_part *phrase, int parts) {
  int *begin = attn_group_take(g, (size_t)parts, sizeof *begin);
  size_t widest = 0, least = SIZE_MAX;
  int found = 1;
  if (!begin) return;
  for (int n = 0; n + 1 < t->cols; n++)
    if (gap_after(t, n) > widest) widest = gap_after(t, n);
  for (int n = 0; n + 1 < t->cols; n++) {
    if (4 * gap_after(t, n) <= 3 * widest) continue;
    if (gap_after(t, n) < least) least = gap_after(t, n);
    if (found == parts) return;
    begin[found++] = n + 1;
  }
  if (found == parts && least >= PART_GAP) set_parts(g, t, phrase, parts, begin);
}

static void find_words(struct attn_grouping *g, struct attn_table *t) {
  const struct attn_scan_line *line = g->text_line;
  int most = t->cols + 1;
  struct attn_part *word = attn_group_take(g, (size_t)most, sizeof *word);
  if (!word) return;
  int words = split_line(line->text, WORD_GAP, word, most);
  if (words > most || has_number(g, line, word, words)) return;
  if (words >= t->cols) {
    set_words(g, t, word + (words - t->cols));
  } else if (words > 1 && words == t->cols - 1 && t->numbers == t->cols && t->rows > 1 &&
             attn_table_counts(t, 1)) {
    t->skip = 1;
  } else if (words > 1) {
    find_side_by_side(g, t, word, words);
  } else if (split_line(line->text, 1, word, most) == t->cols && is_aligned(t, word)) {
    set_words(g, t, word);
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

/* A part for each column of the header where a name begins; blank cells continue it. All names are
 * above numbers, or all above labels. */
static int find_spans(struct attn_grouping *g, struct attn_table *t,
                      const struct attn_row *header) {
  int widest = 0, parts = 0, above_labels = 0;
  if (header->items != t->cols) return 0;
  for (int n = t->skip; n < t->numbers; n++) {
    const struct attn_row_item *item = &header->item[t->number[n]];
    if (item->kind == ATTN_ITEM_CELL && item->cell.kind != ATTN_CELL_BLANK) return 0;
    int name = naming_column(t, header, n);
    if (name >= 0) {
      above_labels += name != t->number[n];
      t->part[parts] = (struct attn_table_part){n, n, attn_item_text(g, header, name)};
      if (!t->part[parts++].name) return 0;
    }
    if (parts == 0) return 0;
    t->part[parts - 1].end = n + 1;
    if (n + 1 - t->part[parts - 1].begin > widest) widest = n + 1 - t->part[parts - 1].begin;
  }
  if (above_labels > 0 && above_labels < parts) return 0;
  return parts > 1 && widest > 1 ? parts : 0;
}

/* "score cat | score dog", "weight(cat) | weight(dog)": do columns n - 1 and n begin with the same
 * step? */
static int same_step(struct attn_grouping *g, const struct attn_table *t, int n) {
  const char *a = attn_item_text(g, &t->header, t->number[n - 1]);
  const char *b = attn_item_text(g, &t->header, t->number[n]);
  size_t bytes = a ? strcspn(a, " ([") : 0;
  if (!b || !bytes || !a[bytes] || strcspn(b, " ([") != bytes || memcmp(a, b, bytes) != 0) return 0;
  const char *word = attn_group_copy(g, a, bytes);
  return word && attn_step_of_text(g, word) >= 0;
}

/* "q1 | q2 | k1 | k2": a part for each stem. */
static int find_stems(struct attn_grouping *g, struct attn_table *t) {
  struct attn_label last = {.index = -1}, label;
  int parts = 0, several = 0;
  if (t->header.items != t->cols) return 0;
  for (int n = t->skip; n < t->numbers; n++) {
    char *text = attn_item_text(g, &t->header, t->number[n]);
    if (text) text[strcspn(text, "[(")] = 0; /* its unit */
    if (!text || !attn_group_label(g, text, &label)) return 0;
    int indexed = label.index >= 0 && last.index >= 0 && attn_same_stem(&label, &last);
    int goes_on = parts > 0 && (indexed || same_step(g, t, n));
    if (!goes_on) t->part[parts++] = (struct attn_table_part){n, n, text};
    t->part[parts - 1].end = n + 1;
    several += goes_on && n - t->part[parts - 1].begin == 1;
    last = label;
  }
  return several > 1 ? parts : 0;
}

/* Do the columns begin .. end have the rows' labels, and does the next one count or is a
 * coordinate: "1", "d0", "x"? */
static int has_row_labels(struct attn_grouping *g, const struct attn_table *t, char *const *label,
                          int begin, int end) {
  struct attn_label next;
  if (end - begin != t->rows) return 0;
  if (!attn_group_label(g, label[end], &next)) return 0;
  if (next.index != 0 && next.index != 1 && strcmp(label[end], "x") != 0) return 0;
  for (int r = 0; r < t->rows; r++)
    if (strcmp(label[begin + r], t->row[r].label.text) != 0) return 0;
  return 1;
}

/* "sum" next to "the", "cat": the sums of the rows, and no token. */
static int is_aside(const struct attn_table *t, char *const *label, int begin, int n) {
  int is_step = attn_label_step(label[begin]) >= 0 && !attn_label_is_indexed(label[begin]);
  if (attn_label_step(label[n]) != ATTN_STEP_ROW_SUM || is_step) return 0;
  for (int r = 0; r < t->rows; r++)
    if (strcmp(label[n], t->row[r].label.text) == 0) return 0;
  return 1;
}

/* Are the columns those of the part before, once more? */
static int is_repeat(const struct attn_table_part *before, const struct attn_table_part *part,
                     char *const *label) {
  if (before->end - before->begin != part->end - part->begin) return 0;
  for (int n = 0; n < part->end - part->begin; n++)
    if (strcmp(label[before->begin + n], label[part->begin + n]) != 0) return 0;
  return 1;
}

/* Has each column the name of a row, in their order? Then names recur as words of a sentence do. */
static int is_square(const struct attn_table *t, char *const *label) {
  if (t->numbers - t->skip != t->rows) return 0;
  for (int r = 0; r < t->rows; r++)
    if (strcmp(label[t->skip + r], t->row[r].label.text) != 0) return 0;
  return 1;
}

/* "the cat the cat", "the cat 1 2", "the cat sum": a part begins where the first name recurs and
 * all others do, after the names of the rows, and with the sums of the rows. */
static int find_repeats(struct attn_grouping *g, struct attn_table *t) {
  char **label = attn_group_take(g, (size_t)t->numbers, sizeof *label);
  int parts = 0, recurs = 0;
  if (!label) return 0;
  if (t->header.items != t->cols || t->labels < 0 || t->rows < 2) return 0;
  for (int n = t->skip; n < t->numbers; n++) {
    struct attn_table_part *last = parts ? &t->part[parts - 1] : NULL;
    label[n] = attn_item_text(g, &t->header, t->number[n]);
    if (!label[n]) return 0;
    int aside = last && is_aside(t, label, last->begin, n);
    int begins = !last || aside || has_row_labels(g, t, label, last->begin, n);
    int again = !begins && *label[n] && strcmp(label[n], label[last->begin]) == 0;
    if (begins || again) t->part[parts++] = (struct attn_table_part){n, n, aside ? label[n] : ""};
    t->part[parts - 1].end = n + 1;
    recurs |= again;
  }
  for (int n = 1; recurs && n < parts; n++)
    if (!is_repeat(&t->part[n - 1], &t->part[n], label)) return 0;
  return parts > 1 && !is_square(t, label) ? parts : 0;
}

int attn_header_has_steps(struct attn_grouping *g, const struct attn_table *t) {
  uint32_t seen = 0;
  int is_caption = t->style == ATTN_ROW_SPACES && t->numbers < 3; /* "scaled scores" */
  if (t->header.items != t->cols || t->rows < 2 || is_caption) return 0;
  for (int n = t->skip; n < t->numbers; n++) {
    char *text = attn_item_text(g, &t->header, t->number[n]);
    int step = text && *text ? attn_step_of_text(g, text) : -1;
    if (step < ATTN_STEP_SCORES || seen >> step & 1) return 0;
    seen |= (uint32_t)1 << step;
  }
  return t->numbers - t->skip > 1;
}

/* "score", "scaled", "weight": the steps of one query, a key in each row. */
static int find_steps(struct attn_grouping *g, struct attn_table *t) {
  if (!attn_header_has_steps(g, t)) return 0;
  for (int n = t->skip; n < t->numbers; n++) {
    struct attn_table_part *p = &t->part[n - t->skip];
    *p = (struct attn_table_part){n, n + 1, attn_item_text(g, &t->header, t->number[n])};
    if (!p->name) return 0;
  }
  return t->numbers - t->skip;
}

/* ", 1, 2, 1, 2" below the names of parts: the numbers of their columns. */
static int counts_columns(const struct attn_table *t) {
  const struct attn_row *row = &t->row[0];
  if (t->rows < 2 || row->item[t->number[t->part[0].begin]].kind != ATTN_ITEM_CELL) return 0;
  double first = row->item[t->number[t->part[0].begin]].cell.value;
  if (first != 0 && first != 1) return 0;
  for (int p = 0; p < t->parts; p++)
    for (int n = t->part[p].begin; n < t->part[p].end; n++) {
      const struct attn_row_item *item = &row->item[t->number[n]];
      if (item->cell.decimals != 0 || item->cell.value != first + n - t->part[p].begin) return 0;
    }
  return 1;
}

static void drop_row(struct attn_table *t) {
  for (int n = 0; n < t->cols; n++) t->row[0].item[n].used = 1;
  t->row++;
  t->rows--;
}

/* Editors remove blank cells at the end of a header: its first cell is blank, too. */
static void restore_blanks(struct attn_grouping *g, const struct attn_table *t,
                           struct attn_row *header) {
  int has_corner = header->items > 0 && header->item[0].begin == header->item[0].end;
  if (has_corner && header->style == ATTN_ROW_TABS) attn_row_pad(g, header, t->cols);
}

void attn_header_find(struct attn_grouping *g, struct attn_table *t) {
  if (t->style == ATTN_ROW_SPACES && t->header.items == 0 && !t->skip && t->rows > 1 &&
      t->cols > 1 && g->text_line && g->text_line->line >= t->line - LINES_ABOVE)
    find_words(g, t);
  if (t->parts || t->header.items == 0 || g->status != ATTN_OK) return;
  restore_blanks(g, t, &t->header);
  t->part = attn_group_take(g, (size_t)t->numbers, sizeof *t->part);
  if (!t->part) return;
  t->parts = find_spans(g, t, &t->header);
  if (t->parts && counts_columns(t)) drop_row(t);
  if (!t->parts) t->parts = find_stems(g, t);
  if (!t->parts) t->parts = find_steps(g, t);
  if (!t->parts) t->parts = find_repeats(g, t);
}
