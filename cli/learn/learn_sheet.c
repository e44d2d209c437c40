/* learn_sheet.c -- puts a learner's values into the solution of an exercise, by the rows of its
 * tables: notes and other changes of the text do not matter. */
#include <math.h>
#include <string.h>

#include "console.h"
#include "learn.h"

enum { COLUMNS = 32, CELL_BYTES = 128, LABEL_BYTES = 100 };

struct sheet_span {
  const char *at;
  size_t bytes;
};

/* A row of a table: cell[0] is its name. */
struct sheet_row {
  struct sheet_span line;
  struct sheet_span cell[COLUMNS];
  int cells;
};

/* ---- Reading ---- */

static struct sheet_span trimmed(const char *at, const char *end) {
  while (at < end && (*at == ' ' || *at == '\t')) at++;
  while (at < end && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r')) end--;
  return (struct sheet_span){at, (size_t)(end - at)};
}

static int is_equal(struct sheet_span a, struct sheet_span b) {
  return a.bytes == b.bytes && !memcmp(a.at, b.at, a.bytes);
}

/* The line at *at, which moves to the next one; 0 at the end. */
static int next_line(const char **at, struct sheet_span *line) {
  if (!**at) return 0;
  const size_t bytes = strcspn(*at, "\n");
  *line = (struct sheet_span){*at, bytes};
  *at += bytes + ((*at)[bytes] == '\n');
  return 1;
}

/* Whether the line is a row of a table; a line of dashes is not. */
static int read_row(struct sheet_span line, struct sheet_row *row) {
  const struct sheet_span text = trimmed(line.at, line.at + line.bytes);
  const char *at = text.at + 1, *end = text.at + text.bytes, *bar;
  *row = (struct sheet_row){.line = line};
  if (text.bytes < 3 || *text.at != '|' || strspn(text.at, "|-: ") >= text.bytes) return 0;
  for (; at < end && row->cells < COLUMNS; at = bar + 1) {
    bar = memchr(at, '|', (size_t)(end - at));
    if (!bar) bar = end;
    row->cell[row->cells++] = trimmed(at, bar);
  }
  return row->cells > 1;
}

static int next_row(const char **at, struct sheet_row *row) {
  struct sheet_span line;
  while (next_line(at, &line))
    if (read_row(line, row)) return 1;
  return 0;
}

static int is_unfilled(struct sheet_span cell) {
  static const char *const blanks[] = {"", "…", "...", "……", "?", "？"};
  for (size_t n = 0; n < sizeof blanks / sizeof *blanks; n++)
    if (is_equal(cell, (struct sheet_span){blanks[n], strlen(blanks[n])})) return 1;
  return 0;
}

static int decimals_of(struct sheet_span cell) {
  const char *point = memchr(cell.at, '.', cell.bytes);
  return point ? (int)(cell.at + cell.bytes - point - 1) : 0;
}

/* A number with fewer than two decimals in the place of one with more: a checker would accept any
 * value that rounds to it. */
static int is_coarse(struct sheet_span cell, struct sheet_span solution) {
  char own[CELL_BYTES], right[CELL_BYTES];
  double a, b;
  if (cell.bytes >= sizeof own || solution.bytes >= sizeof right) return 0;
  memcpy(own, cell.at, cell.bytes), own[cell.bytes] = 0;
  memcpy(right, solution.at, solution.bytes), right[solution.bytes] = 0;
  if (attn_cli_parse_double(own, &a) || attn_cli_parse_double(right, &b)) return 0;
  return decimals_of(solution) >= 2 && decimals_of(cell) < 2 && fabs(a - b) < 1 &&
         fabs(a - b) > 1e-4;
}

/* ---- Filling ---- */

static void put(struct attn_cli_learn_sheet *s, const char *at, size_t bytes) {
  const attn_sink sink = attn_cli_buffer_sink(&s->text);
  if (bytes) sink.write(sink.context, at, bytes);
}

/* The column of the next byte of the row that began at byte `from`. */
static int64_t column_from(const struct attn_cli_learn_sheet *s, size_t from) {
  return attn_cli_column(s->text.bytes + from, s->text.size - from);
}

static void fill_cell(struct attn_cli_learn_sheet *s, struct sheet_span own,
                      struct sheet_span solution, int64_t line, size_t row_start) {
  const int blank = is_unfilled(own), coarse = !blank && is_coarse(own, solution);
  if ((blank || coarse) && !s->first_line)
    s->first_line = line, s->first_column = column_from(s, row_start);
  s->open += blank, s->coarse += coarse;
  put(s, blank || coarse ? solution.at : own.at, blank || coarse ? solution.bytes : own.bytes);
}

static attn_status refuse_given(struct sheet_span name, struct sheet_span given,
                                struct sheet_span own, attn_error *err) {
  return attn_cli_fail(err, ATTN_ERR_FORMAT,
                       "row \"%.*s\": the given value %.*s was changed to %.*s; write it back",
                       (int)(name.bytes < LABEL_BYTES ? name.bytes : LABEL_BYTES), name.at,
                       (int)(given.bytes < LABEL_BYTES ? given.bytes : LABEL_BYTES), given.at,
                       (int)(own.bytes < LABEL_BYTES ? own.bytes : LABEL_BYTES), own.at);
}

/* One row of the solution with the learner's values. */
static attn_status fill_row(struct attn_cli_learn_sheet *s, const struct sheet_row *solved,
                            const struct sheet_row *blank, const struct sheet_row *own,
                            int64_t line, attn_error *err) {
  const size_t start = s->text.size;
  put(s, "|", 1);
  for (int n = 0; n < solved->cells; n++) {
    put(s, " ", 1);
    if (is_unfilled(blank->cell[n]) && !is_unfilled(solved->cell[n]))
      fill_cell(s, own->cell[n], solved->cell[n], line, start);
    else if (is_equal(blank->cell[n], own->cell[n]))
      put(s, solved->cell[n].at, solved->cell[n].bytes);
    else
      return refuse_given(blank->cell[0], blank->cell[n], own->cell[n], err);
    put(s, " |", 2);
  }
  put(s, "\n", 1);
  return ATTN_OK;
}

/* The learner's next row of that name and length; others are notes. */
static int find_row(const char **filled, const struct sheet_row *blank, struct sheet_row *own) {
  const char *from = *filled;
  while (next_row(filled, own))
    if (own->cells == blank->cells && is_equal(own->cell[0], blank->cell[0])) return 1;
  *filled = from;
  return 0;
}

attn_status attn_cli_learn_fill(const char *solved, const char *blank, const char *filled,
                                struct attn_cli_learn_sheet *s, attn_error *err) {
  struct sheet_row row, empty, own;
  struct sheet_span line;
  attn_status status = ATTN_OK;
  *s = (struct attn_cli_learn_sheet){.open = 0};
  for (int64_t number = 1; !status && next_line(&solved, &line); number++) {
    if (!read_row(line, &row)) {
      put(s, line.at, line.bytes), put(s, "\n", 1);
      continue;
    }
    if (!next_row(&blank, &empty) || !find_row(&filled, &empty, &own))
      return attn_cli_fail(err, ATTN_ERR_FORMAT,
                           "row \"%.*s\" is missing, or has other columns than in the exercise",
                           (int)(row.cell[0].bytes < LABEL_BYTES ? row.cell[0].bytes : LABEL_BYTES),
                           row.cell[0].at);
    status = fill_row(s, &row, &empty, &own, number, err);
  }
  return !status && s->text.failed ? attn_cli_no_memory(err) : status;
}
