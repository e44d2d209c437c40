/* groups.c -- the numbers of a sentence -> blocks. */
#include <stdlib.h>
#include <string.h>

#include "results.h"

enum { VECTORS_MAX = 64, LINES_BACK = 3 };

int attn_same_letters(const char *a, const char *b) {
  static const char others[] = " \t0123456789.,:;-+*/()[]_^>=";
  for (;; a++, b++) {
    a += strspn(a, others);
    b += strspn(b, others);
    if (*a != *b) return 0;
    if (!*a) return 1;
  }
}

static int in_order(const void *a, const void *b) {
  const struct attn_result *x = a, *y = b;
  if (x->at != y->at) return x->at < y->at ? -1 : 1;
  return y->kind - x->kind;
}

static void sort_results(struct attn_results *r) {
  int kept = 0;
  if (r->count > 1) qsort(r->item, (size_t)r->count, sizeof *r->item, in_order);
  for (int n = 0; n < r->count; n++)
    if (kept == 0 || r->item[n].at >= r->item[kept - 1].end) r->item[kept++] = r->item[n];
  r->count = kept;
}

/* "weights: a1 = 0.3, a2 = 0.7": a2 is one of those, too. */
static void continue_kinds(struct attn_results *r) {
  for (int n = 1; n < r->count; n++) {
    const struct attn_result *a = &r->item[n - 1];
    size_t bytes = strlen(r->item[n].name), before = strlen(a->name);
    const char *last = before > bytes ? a->name + before - bytes : a->name;
    int is_word = last == a->name || last[-1] == ' ';
    if (r->item[n].kind == ATTN_RESULT_OTHER && is_word && attn_same_letters(last, r->item[n].name))
      r->item[n].kind = a->kind;
  }
}

/* "3 + 1 = 4 and 3 + 0.5 = 3.5, so x = [4, 3.5]": once is enough. */
static void drop_vector(struct attn_results *r, const attn_printing *vector) {
  int cells = vector->rows * vector->cols;
  for (int n = 0; n + cells <= r->count; n++) {
    int same = 0;
    while (same < cells && r->item[n + same].cell.value == vector->cells[same].value) same++;
    for (int k = 0; same == cells && k < cells; k++) r->item[n + k].kind = ATTN_RESULT_DROPPED;
  }
}

static void drop_vectors(struct attn_grouping *g, const struct attn_scan_line *line,
                         struct attn_results *r) {
  struct attn_part rest = {0, line->bytes};
  size_t at;
  int value;
  for (int n = 0; n < VECTORS_MAX && r->count <= VECTORS_MAX; n++) {
    if ((rest.begin = attn_next_value(line->text, rest, &at, &value)) == 0) return;
    if (attn_group_is_value(g, value)) drop_vector(r, &g->lines->value[value].grid[0]);
  }
}

/* ---- blocks ---- */

/* "their sum is 3" below the weights comes before them: they are of both. */
static void move_total(struct attn_grouping *g) {
  int last = g->blocks - 1, place = attn_place_of_sum(g, last);
  struct attn_block *sum = g->block[last];
  if (!place || place == last || sum->reading[0].cols > 1) return;
  g->block[last] = g->block[place], g->block[place] = sum;
}

static void add_group(struct attn_grouping *g, int line, const struct attn_result *first,
                      struct attn_result_group *group) {
  struct attn_block *b = attn_block_begin(g, ATTN_BLOCK_SCALARS, line, first->name);
  attn_cell *row = attn_block_add_row(g, b, group->count, first->name);
  if (!row) return;
  for (int n = 0; n < group->count; n++) {
    row[n] = first[n].cell;
    if (!attn_block_label_column(g, b, first[n].name)) return;
  }
  if (!attn_block_end(g, b, line)) return;
  group->block = b;
  if (first->kind == ATTN_RESULT_TOTAL) move_total(g);
}

/* The group of the line above continues: with a row, or with one more number. */
static void extend_group(struct attn_grouping *g, int line, const struct attn_result *first,
                         struct attn_result_group *group) {
  struct attn_block *b = group->block;
  if (group->count == 1) {
    attn_block_widen(g, b, &first->cell, first->name);
  } else {
    attn_cell *row = attn_block_add_row(g, b, group->count, first->name);
    for (int n = 0; row && n < group->count; n++) row[n] = first[n].cell;
  }
  b->end = line;
}

/* The last step that is named in a part of a sentence: "and its value is"; -1: none. */
static int step_in_words(struct attn_grouping *g, const char *text, struct attn_part p) {
  static const char NAME[] =
      "(?i)\\b(?:query|queries|keys?|values?|weights?|softmax|outputs?)\\b|クエリ|キー|バリュー|"
      "重み|出力";
  struct attn_match m;
  int step = -1;
  for (; attn_part_find(g, NAME, text, p, &m); p.begin = m.group[0].end) {
    const char *word = attn_group_text(g, text, m.group[0]);
    step = word ? attn_label_step(word) : -1;
  }
  return step;
}

/* "q_1·k_2 = 5, hence s_12 = 2.5": only the first of them is a dot product. */
static int parts_product(struct attn_grouping *g, const struct attn_result *a,
                         const struct attn_result *b) {
  static const char PRODUCT[] = "(?:^|[^\\w])q_?\\d ?\\x{B7} ?k_?\\d$";
  return attn_occurs(g->scan->patterns, PRODUCT, a->name) &&
         !attn_occurs(g->scan->patterns, "\\x{B7}|[Kk]", b->name);
}

/* Consecutive results of one kind and step are a group. 0: too many. */
static int find_groups(struct attn_grouping *g, const char *text, const struct attn_results *r,
                       struct attn_result_line *out) {
  int last = -1;
  out->groups = 0;
  for (int n = 0; n < r->count; n++) {
    const struct attn_result *b = &r->item[n], *a = b - (n > 0);
    int step = b->is_list ? step_in_words(g, text, (struct attn_part){n ? a->end : 0, b->at}) : -1;
    int is_other = step >= 0 && last >= 0 && step != last;
    if (step >= 0) last = step;
    if (n == 0 || a->kind != b->kind || is_other || parts_product(g, a, b)) {
      if (out->groups == ATTN_RESULT_GROUPS) return 0;
      out->group[out->groups++] =
          (struct attn_result_group){.kind = b->kind, .is_list = b->is_list, .name = b->name};
    }
    out->group[out->groups - 1].count++;
  }
  return 1;
}

/* Lists that nothing distinguishes have the same name. */
static int same_group(const struct attn_result_group *a, const struct attn_result_group *b) {
  if (a->count != b->count || a->kind != b->kind) return 0;
  return !a->is_list || a->kind != ATTN_RESULT_OTHER || attn_same_letters(a->name, b->name);
}

/* "s11 = 2" and "s12 = 1", with lines in between. */
static int is_again(struct attn_grouping *g, const struct attn_result_line *a,
                    const struct attn_result_line *b) {
  return a->groups == 1 && a->group[0].count == 1 && a->line >= b->line - LINES_BACK &&
         a->blocks == g->blocks && attn_same_letters(a->group[0].name, b->group[0].name);
}

static int is_alike(struct attn_grouping *g, const struct attn_result_line *a,
                    const struct attn_result_line *b) {
  if (a->groups != b->groups || (b->line - a->line > 1 && !is_again(g, a, b))) return 0;
  for (int n = 0; n < a->groups; n++)
    if (!same_group(&a->group[n], &b->group[n])) return 0;
  return 1;
}

/* "the third gets": 3; "to the third", and what has no such word: 0. */
static int turn_of(struct attn_grouping *g, const char *text, struct attn_part p) {
#define OF "(*UCP)(?i)(?<!to the |on the |of the |for the )\\b"
  static const char *const TURN[] = {
      OF "first\\b|[一1](?:つ|番)目", OF "second\\b|[二2](?:つ|番)目",
      OF "third\\b|[三3](?:つ|番)目", OF "fourth\\b|[四4](?:つ|番)目"};
  struct attn_match m;
  int turn = 0;
  for (int n = 0; n < 4; n++)
    while (attn_part_find(g, TURN[n], text, p, &m)) turn = n + 1, p.begin = m.group[0].end;
  return turn;
}

/* Each with the turn that is named after the number before it. */
static void add_strays(struct attn_grouping *g, const struct attn_scan_line *line,
                       const struct attn_results *r) {
  for (int n = 0; n < r->count && g->status == ATTN_OK; n++) {
    struct attn_part front = {n ? r->item[n - 1].end : 0, r->item[n].at};
    if (r->item[n].kind != ATTN_RESULT_DROPPED)
      attn_stray_turn(g, r->item[n].name, &r->item[n].cell, turn_of(g, line->text, front));
  }
}

/* "the first one is 1.5 and 2, the second one is 0.5 and 3": rows that are not read. */
static int has_turns(struct attn_grouping *g, const struct attn_scan_line *line) {
  static const char FIRST[] = "(?i)(?<!for the )\\bfirst\\b(?!, )|[一1](?:つ|番)目";
  static const char SECOND[] = "(?i)\\bsecond\\b|[二2](?:つ|番)目";
  struct attn_part rest = {0, line->bytes};
  struct attn_match m;
  if (!attn_part_find(g, FIRST, line->text, rest, &m)) return 0;
  rest.begin = m.group[0].end;
  return attn_part_find(g, SECOND, line->text, rest, NULL);
}

static void add_groups(struct attn_grouping *g, const struct attn_scan_line *line,
                       struct attn_results *r) {
  struct attn_result_line now = {.line = line->line};
  if (has_turns(g, line) || !find_groups(g, line->text, r, &now)) {
    add_strays(g, line, r);
    return;
  }
  int alike = is_alike(g, &g->results, &now), at = 0;
  for (int n = 0; n < now.groups && g->status == ATTN_OK; n++) {
    const struct attn_result *first = r->item + at;
    at += now.group[n].count;
    if (first->kind == ATTN_RESULT_DROPPED) continue;
    now.group[n].block = alike ? g->results.group[n].block : NULL;
    if (now.group[n].block)
      extend_group(g, line->line, first, &now.group[n]);
    else
      add_group(g, line->line, first, &now.group[n]);
  }
  now.blocks = g->blocks;
  g->results = now;
}

void attn_results_group(struct attn_grouping *g, const struct attn_scan_line *line,
                        struct attn_results *r) {
  sort_results(r);
  continue_kinds(r);
  drop_vectors(g, line, r);
  if (r->count) add_groups(g, line, r);
}
