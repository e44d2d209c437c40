#include <stdlib.h>
#include <string.h>

#include "blocks.h"

/* A matrix whose brackets are drawn, one row a line:
 *     Q = ⎡ 1 0 ⎤   K = ⎡ 1 2 ⎤
 *         ⎣ 0 1 ⎦       ⎣ 3 4 ⎦
 */
enum { PIECE_BYTES = 3, LINE_MATRICES = 64, MOVED_MAX = 4 };

struct attn_drawn {
  struct attn_block *block;
  int column;                        /* after its left bracket */
  int cols;                          /* of the first row */
  int ragged;                        /* the length of a row that differs, 0: none */
  int is_named_first;                /* the name is in front of its first row */
  int unnamed;                       /* rows without a name */
  struct attn_source_position place; /* of that row */
};

/* Is a line of a frame at `at`? */
static int is_frame(const char *text, size_t at, size_t end) {
  return end - at >= PIECE_BYTES && memcmp(text + at, "\u2500", PIECE_BYTES) == 0;
}

/* A corner of a bracket that is drawn as a box is: U+250C and U+2514 open, U+2510 and U+2518 close.
 * Not that of a frame. */
static int corner(const char *text, size_t at, size_t end) {
  unsigned char last = (unsigned char)text[at + 2];
  if (last == 0x8C || last == 0x94) return is_frame(text, at + PIECE_BYTES, end) ? 0 : '[';
  if (last != 0x90 && last != 0x98) return 0;
  return at >= PIECE_BYTES && is_frame(text, at - PIECE_BYTES, at) ? 0 : ']';
}

/* U+239B .. U+239D and U+23A1 .. U+23A3 open, U+239E .. U+23A0 and U+23A4 .. U+23A6 close. */
static int piece(const char *text, size_t at, size_t end) {
  const unsigned char *s = (const unsigned char *)text + at;
  if (end - at < PIECE_BYTES || s[0] != 0xE2) return 0;
  if (s[1] == 0x94) return corner(text, at, end);
  if (s[1] != 0x8E) return 0;
  if ((s[2] >= 0x9B && s[2] <= 0x9D) || (s[2] >= 0xA1 && s[2] <= 0xA3)) return '[';
  return (s[2] >= 0x9E && s[2] <= 0xA0) || (s[2] >= 0xA4 && s[2] <= 0xA6) ? ']' : 0;
}

/* The piece that a left bracket begins with? */
static int is_first_piece(const char *text, size_t at) {
  unsigned char last = (unsigned char)text[at + 2];
  return last == 0x9B || last == 0xA1 || last == 0x8C;
}

/* The next piece of this kind (0: any), or end. */
static size_t next_piece(const char *text, struct attn_part p, int kind) {
  for (; p.begin < p.end; p.begin++) {
    const char *found = memchr(text + p.begin, 0xE2, p.end - p.begin);
    if (!found) return p.end;
    p.begin = (size_t)(found - text);
    int has = piece(text, p.begin, p.end);
    if (has && (!kind || has == kind)) return p.begin;
  }
  return p.end;
}

static size_t cell_end(const char *text, size_t at, size_t end) {
  while (at < end && !attn_is_blank(text[at]) && text[at] != ',') at++;
  return at;
}

/* The cells of a row; their count, -1: there are words in it. */
static int read_cells(struct attn_grouping *g, const struct attn_scan_line *line,
                      struct attn_part body, attn_cell **cells) {
  int count = 0;
  *cells = NULL;
  for (size_t at = body.begin, end; at < body.end; at = end + (end == at)) {
    end = cell_end(line->text, at, body.end);
    if (end == at) continue;
    if (!attn_group_grow(g, (void **)cells, (size_t)count, sizeof **cells)) return -1;
    if (!attn_group_cell(g, line, (struct attn_part){at, end}, &(*cells)[count++])) return -1;
  }
  return count;
}

static struct attn_drawn *new_drawn(struct attn_grouping *g, int line, int column) {
  if (!attn_group_grow(g, (void **)&g->drawn, (size_t)g->drawns, sizeof *g->drawn)) return NULL;
  struct attn_drawn *d = &g->drawn[g->drawns];
  *d = (struct attn_drawn){.block = attn_block_begin(g, ATTN_BLOCK_GRID, line, ""),
                           .column = column};
  return d->block ? ++g->drawns, d : NULL;
}

static int is_full_width(uint32_t c) {
  return (c >= 0x1100 && c < 0x1160) || (c >= 0x2E80 && c < 0xA4D0) ||
         (c >= 0xAC00 && c < 0xD7A4) || (c >= 0xF900 && c < 0xFB00) || (c >= 0xFF01 && c < 0xFF61);
}

/* In the line as the source has it; full-width characters take two. */
static int column_of(const struct attn_grouping *g, const struct attn_scan_line *line, size_t at) {
  const struct attn_source *s = &g->scan->source;
  int column = 0;
  for (size_t n = line->origin[0], next; n < line->origin[at]; n = next)
    column += 1 + is_full_width(attn_code_point(s->text, n, s->size, &next));
  return column;
}

/* The matrix whose bracket is in this column, or next to it. NULL: there is none. */
static struct attn_drawn *drawn_at(const struct attn_grouping *g, int column) {
  for (int n = 0; n < g->drawns; n++)
    if (abs(g->drawn[n].column - column) <= 1) return &g->drawn[n];
  return NULL;
}

/* Is the piece that ends at `at` not the first one of a bracket? A pipe below a corner is not. */
static int goes_on(const struct attn_grouping *g, const char *text, size_t at) {
  if (at > 0 && text[at - 1] == '|') return g->is_cornered;
  return at >= PIECE_BYTES && piece(text, at - PIECE_BYTES, at) &&
         !is_first_piece(text, at - PIECE_BYTES);
}

/* A row that is moved because numbers or a name in front of it are wider; one that is not the first
 * of its matrix, by any distance. */
static struct attn_drawn *drawn_in_turn(const struct attn_grouping *g, int column, int turn,
                                        int cols, int is_next) {
  struct attn_drawn *d = turn < g->drawns ? &g->drawn[turn] : NULL;
  int is_near = d && (is_next || abs(d->column - column) <= MOVED_MAX);
  return is_near && d->cols == cols ? d : NULL;
}

/* turn: how many rows of others are in front of it; is_next: it is not the first of its matrix. */
static void add_cells(struct attn_grouping *g, const struct attn_scan_line *line,
                      struct attn_part name, int column, const attn_cell *cells, int count,
                      int turn, int is_next) {
  struct attn_drawn *d = drawn_at(g, column);
  struct attn_part called = attn_part_trim(line->text, name);
  if (!d && (is_next || called.begin == called.end))
    d = drawn_in_turn(g, column, turn, count, is_next);
  if (!d) d = new_drawn(g, line->line, column);
  if (!d) return;
  if (!*d->block->name) d->block->name = attn_group_text(g, line->text, name);
  if (!d->block->name) return;
  if (count == 0) return;
  d->is_named_first |= !d->cols && called.end > called.begin;
  d->unnamed += called.end == called.begin;
  if (!d->cols) d->cols = count;
  if (count == d->cols) {
    attn_block_copy_row(g, d->block, cells, count, "");
  } else if (!d->ragged) {
    d->ragged = count;
    d->place = (struct attn_source_position){cells[0].line, cells[0].column};
  }
}

static void add_row(struct attn_grouping *g, const struct attn_scan_line *line,
                    struct attn_part name, struct attn_part body, int turn) {
  attn_cell *cells;
  int count = read_cells(g, line, body, &cells);
  if (count >= 0)
    add_cells(g, line, name, column_of(g, line, body.begin), cells, count, turn,
              goes_on(g, line->text, body.begin));
  else if (g->status == ATTN_OK)
    attn_stray_text(g, line, body, NULL, 0);
}

/* ---- a pair of brackets for each row, named in one of its lines ----
 *         [1  0]       [1  2]
 *     Q = [0  1]   K = [3  4]
 */

enum { STACKED_MAX = 8 };

struct stacked {
  int count, is_named;
  struct attn_part name[STACKED_MAX];
  int value[STACKED_MAX], column[STACKED_MAX];
};

/* The rows in brackets of a line that has nothing else but names. 0: it has something else. */
static int read_stacked(const struct attn_grouping *g, const struct attn_scan_line *line,
                        struct stacked *out) {
  struct attn_part rest = {0, line->bytes};
  size_t at, end;
  int value;
  *out = (struct stacked){0};
  while ((end = attn_next_value(line->text, rest, &at, &value)) != 0) {
    struct attn_part name = attn_part_trim(line->text, (struct attn_part){rest.begin, at});
    if (out->count == STACKED_MAX || !attn_group_is_value(g, value)) return 0;
    const struct attn_scan_value *v = &g->lines->value[value];
    int is_name = name.end > name.begin && line->text[name.end - 1] == '=';
    if (v->grids != 1 || v->grid[0].rows != 1 || (name.end > name.begin && !is_name)) return 0;
    out->is_named |= is_name;
    out->name[out->count] = name;
    out->value[out->count] = value;
    out->column[out->count++] = column_of(g, line, at);
    rest.begin = end;
  }
  rest = attn_part_trim(line->text, rest);
  return rest.begin == rest.end ? out->count : 0;
}

/* Are the brackets of two lines below each other? */
static int are_stacked(const struct stacked *a, const struct stacked *b) {
  const struct stacked *few = a->count < b->count ? a : b, *many = few == a ? b : a;
  int found = 0;
  for (int n = 0, k = 0; n < few->count; n++) {
    while (k < many->count && many->column[k] < few->column[n]) k++;
    found += k < many->count && many->column[k] == few->column[n];
  }
  return few->count > 0 && found == few->count && many->count > 1;
}

/* Looks at the lines from `line` on whose brackets are below each other: some have names, some have
 * none? */
static void follow_stack(struct attn_grouping *g, const struct attn_scan_line *line,
                         struct stacked here) {
  const struct attn_scan_line *last = g->lines->line + g->lines->lines - 1;
  int is_named = here.is_named, is_open = !here.is_named;
  struct stacked next;
  for (; line < last && read_stacked(g, line + 1, &next); line++, here = next) {
    if (!are_stacked(&here, &next) || (here.is_named && next.is_named)) break;
    is_named |= next.is_named, is_open |= !next.is_named;
  }
  g->stack_end = line;
  g->is_stack = is_named && is_open;
}

static int stacked_line(struct attn_grouping *g, const struct attn_scan_line *line) {
  struct stacked here;
  if (!read_stacked(g, line, &here)) return 0;
  if (!g->stack_end || line > g->stack_end) follow_stack(g, line, here);
  if (!g->is_stack) return 0;
  attn_run_flush(g);
  for (int n = 0; n < here.count; n++) {
    struct attn_scan_value *v = &g->lines->value[here.value[n]];
    v->used = 1;
    add_cells(g, line, here.name[n], here.column[n], v->grid[0].cells, v->grid[0].cols, n, 0);
  }
  return 1;
}

/* ---- brackets of pipes: "Q = | 1  0 |   K = | 1  2 |" ---- */

enum { PIPED_MAX = 8 };

/* The name and the body of each matrix in a line of them only. 0: it is something else. */
static int split_pipes(const char *text, size_t bytes, struct attn_part *name,
                       struct attn_part *body) {
  size_t at = 0;
  int count = 0;
  for (;;) {
    size_t open = at + strcspn(text + at, "|"), close = open + 1;
    if (open == bytes) break;
    close += strcspn(text + close, "|");
    if (close >= bytes || count == PIPED_MAX) return 0;
    name[count] = (struct attn_part){at, open};
    body[count++] = (struct attn_part){open + 1, close};
    at = close + 1;
  }
  return count && at + strspn(text + at, " \t.,;") == bytes ? count : 0;
}

static int ends_in_equals(const char *text, struct attn_part p) {
  p = attn_part_trim(text, p);
  return p.end > p.begin && text[p.end - 1] == '=';
}

/* "K = | 2 1 |" directly below "Q = | 1 0 |", "K | 2 1 |" below "Q | 1 0 |" and "  | 0 1 |": a
 * second name begins a second matrix. */
static int begins_named(const struct attn_grouping *g, const struct attn_scan_line *line,
                        struct attn_part name, struct attn_part body) {
  const struct attn_drawn *above = drawn_at(g, column_of(g, line, body.begin));
  struct attn_part called = attn_part_trim(line->text, name);
  if (!above || called.begin == called.end) return 0;
  if (above->is_named_first && above->unnamed) return 1;
  return ends_in_equals(line->text, name) &&
         ends_in_equals(above->block->name, (struct attn_part){0, strlen(above->block->name)});
}

/* Columns of numbers between two pipes are a row of a matrix. One number is, next to such a row. */
static int pipes_line(struct attn_grouping *g, const struct attn_scan_line *line) {
#define NUMBERS(end) \
  "\\s*+(?=[^|]*\\d)(?:(?:[-x\\x{D7}](?=\\s)|[-+]?[.\\d\\x{221E}\\x{2026}/]++)" end ")++$"
  static const char SEVERAL[] = "\\s*+\\S++\\s++\\S";
  struct attn_part name[PIPED_MAX], body[PIPED_MAX];
  int count = split_pipes(line->text, line->bytes, name, body), several = g->drawns > 0;
  const char *numbers = several && g->is_cornered ? NUMBERS("(?:\\s++|$)") : NUMBERS("\\s++");
  for (int n = 0; n < count; n++) {
    if (!attn_part_begins_in(g, numbers, line->text, body[n], NULL)) return 0;
    several |= attn_part_begins_in(g, SEVERAL, line->text, body[n], NULL);
  }
  if (!count || !several) return 0;
  if (begins_named(g, line, name[0], body[0])) attn_drawn_end(g, line->line - 1);
  attn_run_flush(g);
  for (int n = 0; n < count; n++) add_row(g, line, name[n], body[n], n);
  return 1;
}

/* Does the upper corner of a bracket begin other matrices, below those above? */
static int begins_others(const struct attn_grouping *g, const struct attn_scan_line *line,
                         size_t at) {
  return is_first_piece(line->text, at) && drawn_at(g, column_of(g, line, at + PIECE_BYTES));
}

/* "┘ … W_Q", "⎦ = Q": the only matrix of a line is called so after it. */
static void name_after(struct attn_grouping *g, const struct attn_scan_line *line,
                       struct attn_part rest) {
  static const char NAME[] = "\\G\\s*(?:[=:(]|\\x{2026}|\\.{3}|\\x{2190}|<-)\\s*(([^=]+)(?:=.*)?)$";
  struct attn_match m;
  if (g->drawns != 1 || *g->drawn[0].block->name || !attn_part_find(g, NAME, line->text, rest, &m))
    return;
  const char *symbol = attn_group_text(g, line->text, m.group[2]);
  char *name = attn_group_text(g, line->text, m.group[1]);
  if (symbol && name && attn_label_step(symbol) >= 0) g->drawn[0].block->name = name;
}

int attn_drawn_line(struct attn_grouping *g, const struct attn_scan_line *line) {
  struct attn_part rest = {0, line->bytes};
  int found = 0;
  size_t first = next_piece(line->text, rest, 0);
  if (first == rest.end)
    return stacked_line(g, line) || (memchr(line->text, '|', line->bytes) && pipes_line(g, line));
  if (begins_others(g, line, first)) attn_drawn_end(g, line->line - 1);
  g->is_cornered = (unsigned char)line->text[first + 1] == 0x94;
  for (;;) {
    struct attn_part name = rest, body = rest;
    name.end = next_piece(line->text, rest, 0);
    if (name.end == rest.end) break;
    if (found == LINE_MATRICES) {
      attn_stray_text(g, line, rest, NULL, 0);
      break;
    }
    rest.begin = name.end + PIECE_BYTES;
    if (piece(line->text, name.end, rest.end) == ']') continue;
    body.begin = rest.begin;
    body.end = next_piece(line->text, rest, ']');
    if (body.end == rest.end) break;
    if (!found) attn_run_flush(g);
    add_row(g, line, name, body, found);
    found++;
    rest.begin = body.end + PIECE_BYTES;
  }
  if (found == 1) name_after(g, line, rest);
  return found > 0;
}

void attn_drawn_end(struct attn_grouping *g, int last_line) {
  for (int n = 0; n < g->drawns && g->status == ATTN_OK; n++) {
    struct attn_drawn *d = &g->drawn[n];
    d->block->labels = 0;
    if (d->ragged)
      attn_group_ragged(g, d->place, d->cols, d->ragged);
    else
      attn_block_end(g, d->block, last_line);
  }
  g->drawns = 0;
}
