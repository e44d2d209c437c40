#include "placed.h"

#include <stdlib.h>
#include <string.h>

#include "cell.h"

static void add_printing(struct attn_placing *x, const attn_example *e, const attn_step *s,
                         const attn_printing *p) {
  for (int32_t n = 0; n < p->rows * p->cols && !x->failed; n++) {
    x->failed = attn_pool_grow(x->a->pool, (void **)&x->placed, x->count, sizeof *x->placed);
    if (x->failed || p->cells[n].kind == ATTN_CELL_BLANK) continue;
    x->placed[x->count++] = (struct attn_placed){
        attn_cell_place(&p->cells[n]), e, s, p, p->row0 + n / p->cols, p->col0 + n % p->cols};
  }
}

static int in_order(const void *a, const void *b) {
  return attn_compare_places(&((const struct attn_placed *)a)->place,
                             &((const struct attn_placed *)b)->place);
}

void attn_place_numbers(struct attn_placing *x, struct attn_account *a) {
  const attn_lesson *l = a->lesson;
  *x = (struct attn_placing){.a = a, .text = a->scan->source.text, .bytes = a->scan->source.size};
  for (int32_t i = 0; i < l->examples; i++)
    for (int32_t n = 0; n < l->example[i].steps; n++)
      for (int32_t p = 0; p < l->example[i].step[n].printings; p++)
        add_printing(x, &l->example[i], &l->example[i].step[n], &l->example[i].step[n].printing[p]);
  if (x->count > 1 && !x->failed) qsort(x->placed, x->count, sizeof *x->placed, in_order);
}

attn_cell attn_placing_cell(const struct attn_placing *x, size_t at) {
  struct attn_source_position p = attn_source_place(&x->a->scan->source, at);
  attn_cell cell = attn_cell_blank();
  cell.line = p.line, cell.column = p.column;
  return cell;
}

/* How many numbers are in front of a cell? */
static size_t count_before(const struct attn_placing *x, const attn_cell *cell) {
  uint64_t place = attn_cell_place(cell);
  size_t low = 0, high = x->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (x->placed[middle].place < place)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

const struct attn_placed *attn_next_placed(const struct attn_placing *x, size_t at, int lines) {
  attn_cell cell = attn_placing_cell(x, at);
  size_t n = count_before(x, &cell);
  int is_near = n < x->count && (int)(x->placed[n].place >> 32) < cell.line + lines;
  return is_near ? &x->placed[n] : NULL;
}

const struct attn_placed *attn_last_placed(const struct attn_placing *x, size_t at) {
  attn_cell cell = attn_placing_cell(x, at);
  size_t n = count_before(x, &cell);
  return n && (int)(x->placed[n - 1].place >> 32) == cell.line ? &x->placed[n - 1] : NULL;
}

const struct attn_placed *attn_placed_after(const struct attn_placing *x, size_t at, int columns) {
  const struct attn_placed *p = attn_next_placed(x, at, 1);
  int between = p ? (int)(p->place & UINT32_MAX) - attn_placing_cell(x, at).column : columns + 1;
  if (between > columns) return NULL;
  for (; between > 0 && at < x->bytes; at++) {
    if (x->text[at] >= '0' && x->text[at] <= '9') return NULL;
    between -= ((unsigned char)x->text[at] & 0xC0) != 0x80; /* a character begins */
  }
  return p;
}

static int is_row(const attn_cell *shown, const attn_cell *row, int cols) {
  int same = 0;
  for (int j = 0; j < cols; j++) same += shown[j].value == row[j].value;
  return same == cols;
}

int attn_has_rows_of(const attn_printing *shown, const attn_printing *p) {
  const int in_order = shown->rows == p->rows;
  if (shown->cols != p->cols || shown->rows < p->rows) return 0;
  for (int32_t i = 0; i < p->rows; i++) {
    int32_t k = in_order ? i : 0, end = in_order ? i + 1 : shown->rows;
    while (k < end && !is_row(shown->cells + k * p->cols, p->cells + i * p->cols, p->cols)) k++;
    if (k == end) return 0;
  }
  return 1;
}

int attn_placing_find(const struct attn_placing *x, const char *pattern, size_t from,
                      struct attn_match *m) {
  return !x->failed && attn_find(x->a->scan->patterns, pattern, x->text, x->bytes, from, m);
}

void attn_list_number(struct attn_placing *x, struct attn_part number, size_t begin) {
  attn_cell cell = attn_placing_cell(x, number.begin);
  char *name = attn_pool_text(x->a->pool, x->text + begin, number.begin - begin);
  x->failed |= !name || attn_add_unread(x->a->pool, x->a->lesson, &cell, 1, 1, name);
}

void attn_list_numbers(struct attn_placing *x, const char *pattern,
                       int (*differs)(const struct attn_placing *, const struct attn_match *)) {
  struct attn_match m;
  for (size_t at = 0; attn_placing_find(x, pattern, at, &m); at = m.group[0].end)
    if (differs(x, &m)) attn_list_number(x, m.group[1], m.group[0].begin);
}
