/* lanes.c -- matrices side by side are put one below the other:
 *
 *     Q     K               Q = 1 0   K = 1 1               Q =
 *     1 0 | 1 1     or          0 1       2 2     become    1 0
 *     0 1 | 2 2                                             0 1
 *                                                           K =
 *                                                           1 1
 *                                                           2 2
 *
 * Each line of the result is a copy of parts of lines, and each byte keeps the offset that it comes
 * from.
 */
#include <string.h>

#include "text.h"

enum { LANES_MAX = 8, NUMBERS_MAX = 64, ROWS_ABOVE = 4 /* a line of names */ };

/* A line in parts; numbers[n]: of part n, -1: there are words in it. */
struct lanes {
  const struct attn_scan_line *line;
  int count;
  struct attn_part part[LANES_MAX];
  int numbers[LANES_MAX];
};

struct stacker {
  struct attn_scan *scan;
  const struct attn_scan_lines *in;
  struct attn_scan_line *out;
  int outs, found, failed;
};

/* ---- parts of a line ---- */

static int is_blank(char c) { return c == ' ' || c == '\t'; }

static struct attn_part trim(const char *text, struct attn_part p) {
  while (p.begin < p.end && is_blank(text[p.begin])) p.begin++;
  while (p.begin < p.end && is_blank(text[p.end - 1])) p.end--;
  return p;
}

/* The signs between matrices: blanks are so many or more; the last two only between names. */
static const char *const SIGNS[] = {"|",  " / ", "->",  "\u2192", "\u2016", ";", " and ",
                                    "\t", "  ",  "   ", "    ",   "     ",  ",", "/"};
enum { SIGNS_COUNT = sizeof SIGNS / sizeof *SIGNS, SIGNS_OF_ROWS = SIGNS_COUNT - 2 };

/* The bytes of a sign at `at`, or of the comma between numbers; 0: there is none. */
static size_t sign_at(const char *text, size_t at) {
  for (int n = 0; n < SIGNS_COUNT - 1; n++)
    if (text[at] == *SIGNS[n] && strncmp(text + at, SIGNS[n], strlen(SIGNS[n])) == 0)
      return strlen(SIGNS[n]);
  return 0;
}

/* The next number, value or word in the part: up to a blank or a sign. 0: there is none. */
static int next_token(const struct attn_scan_line *line, struct attn_part p,
                      struct attn_part *token) {
  const char *text = line->text;
  const size_t mark = strlen(ATTN_MARK_VALUE);
  size_t at = p.begin, bytes, end;
  while (at < p.end && ((bytes = sign_at(text, at)) > 0 || is_blank(text[at])))
    at += bytes ? bytes : 1;
  if (at >= p.end) return 0;
  end = at;
  if (strncmp(text + at, ATTN_MARK_VALUE, mark) == 0) {
    const char *close = strstr(text + at + mark, ATTN_MARK_VALUE);
    end = close ? (size_t)(close - text) + mark : p.end;
  }
  while (end < p.end && !is_blank(text[end]) && !sign_at(text, end) &&
         strncmp(text + end, ATTN_MARK_VALUE, mark) != 0)
    end++;
  *token = (struct attn_part){at, end};
  return 1;
}

static int is_number(const char *text, struct attn_part token) {
  attn_cell cell;
  return strncmp(text + token.begin, ATTN_MARK_VALUE, strlen(ATTN_MARK_VALUE)) == 0 ||
         attn_scan_part(text, token, &cell);
}

/* How many numbers a part has, and nothing else; -1: it has words. */
static int count_numbers(const struct attn_scan_line *line, struct attn_part p) {
  struct attn_part token;
  int count = 0;
  for (; next_token(line, p, &token); p.begin = token.end) {
    if (!is_number(line->text, token) || count == NUMBERS_MAX) return -1;
    count++;
  }
  return count;
}

static int is_numbers(const struct attn_scan_line *line) {
  return count_numbers(line, (struct attn_part){0, line->bytes}) > 0;
}

static int add_part(struct lanes *l, const struct attn_scan_line *line, struct attn_part p) {
  if (l->count == LANES_MAX) return 0;
  l->part[l->count] = trim(line->text, p);
  l->numbers[l->count++] = count_numbers(line, p);
  return 1;
}

/* What a row is called: "cat" of "cat: 1 0 | 1 1" and "cat  1 0 | 1 1". Empty: nothing. */
static struct attn_part row_name(const struct attn_scan_line *line) {
  size_t colon = strcspn(line->text, ":");
  struct attn_part rest = {0, line->bytes}, name = {0, 0}, token = {0, 0};
  if (colon < line->bytes) {
    rest = trim(line->text, (struct attn_part){0, colon});
    return count_numbers(line, rest) < 0 ? rest : name;
  }
  for (; next_token(line, rest, &token) && !is_number(line->text, token); rest.begin = token.end)
    name = (struct attn_part){name.end ? name.begin : token.begin, token.end};
  size_t next = name.end + strspn(line->text + name.end, " \t");
  return next == token.begin && token.begin > name.end ? name : (struct attn_part){0, 0};
}

/* The parts of a line from `begin` on between a sign; 0: it is not there, or too often. */
static int split_from(const struct attn_scan_line *line, size_t begin, const char *sign,
                      struct lanes *l) {
  struct attn_part rest = trim(line->text, (struct attn_part){begin, line->bytes});
  const int is_framed = *sign == '|' && line->text[rest.begin] == '|';
  size_t length = strlen(sign), bytes = 0;
  *l = (struct lanes){.line = line};
  while (*sign == '|' && rest.begin < rest.end && line->text[rest.begin] == '|') rest.begin++;
  while (*sign == '|' && rest.begin < rest.end && line->text[rest.end - 1] == '|') rest.end--;
  for (size_t at = rest.begin; at <= rest.end; at += bytes ? bytes : 1) {
    bytes = rest.end - at >= length && memcmp(line->text + at, sign, length) == 0 ? length : 0;
    if (!bytes && at < rest.end) continue;
    if (!add_part(l, line, (struct attn_part){rest.begin, at})) return 0;
    rest.begin = at + bytes;
    while (*sign == ' ' && is_blank(line->text[rest.begin])) bytes++, rest.begin++;
  }
  return l->count > !is_framed;
}

static int split(const struct attn_scan_line *line, const char *sign, struct lanes *l) {
  return split_from(line, 0, sign, l);
}

/* The parts of a row, without what it is called. */
static int split_row(const struct attn_scan_line *line, const char *sign, struct lanes *l) {
  struct attn_part name = row_name(line);
  size_t begin = name.end + strspn(line->text + name.end, " \t");
  return split_from(line, name.end && line->text[begin] == ':' ? begin + 1 : name.end, sign, l);
}

/* ---- lines of the result ---- */

static const struct attn_part NOTHING = {0, 0};

static void copy(struct attn_scan_line *to, const char *text, size_t bytes, const uint32_t *origin,
                 size_t step) {
  for (size_t n = 0; n < bytes; n++) {
    to->text[to->bytes] = text[n];
    to->origin[to->bytes++] = origin[n * step];
  }
}

/* Adds a line: two parts of one, and a text between them. */
static void add_line(struct stacker *s, const struct attn_scan_line *from, struct attn_part first,
                     const char *between, struct attn_part second) {
  size_t room = first.end - first.begin + strlen(between) + second.end - second.begin + 1;
  struct attn_scan_line line = {from->line, attn_pool_take(s->scan->pool, room), 0,
                                attn_pool_take(s->scan->pool, room * sizeof *line.origin)};
  s->failed |= !line.text || !line.origin ||
               attn_pool_grow(s->scan->pool, (void **)&s->out, (size_t)s->outs, sizeof *s->out);
  if (s->failed) return;
  copy(&line, from->text + first.begin, first.end - first.begin, from->origin + first.begin, 1);
  copy(&line, between, strlen(between), from->origin + first.end, 0);
  copy(&line, from->text + second.begin, second.end - second.begin, from->origin + second.begin, 1);
  line.origin[line.bytes] = from->origin[second.end > first.end ? second.end : first.end];
  s->out[s->outs++] = line;
}

/* The name of a matrix in a line of its own, above its rows. */
static void add_name(struct stacker *s, const struct attn_scan_line *line, struct attn_part name) {
  static const char SIGNS_AFTER[] = " \t:=";
  while (name.end > name.begin && strchr(SIGNS_AFTER, line->text[name.end - 1])) name.end--;
  add_line(s, line, name, " =", NOTHING);
}

static void add_blank(struct stacker *s, const struct attn_scan_line *line) {
  add_line(s, line, NOTHING, "", NOTHING);
}

/* A row with what it is called in front, blanks between its numbers. A label that is a number is
 * left out: it counts the rows. */
static void add_row(struct stacker *s, const struct attn_scan_line *line, struct attn_part label,
                    struct attn_part row) {
  if (count_numbers(line, label) < 0)
    add_line(s, line, label, ": ", row);
  else
    add_line(s, line, NOTHING, "", row);
  char *text = s->failed ? NULL : s->out[s->outs - 1].text;
  for (size_t n = row.begin; text && n < row.end; n++)
    if (line->text[n] == ',' || line->text[n] == ';')
      text[s->out[s->outs - 1].bytes - (row.end - n)] = ' ';
}

/* ---- parts with a sign between them, below a line of names ---- */

/* Is the first part of a row what the row is called, or its number? */
static int has_label(const struct lanes *row, int index, const struct attn_scan_line *line) {
  attn_cell cell;
  if (row->numbers[0] < 0) return 1;
  if (row->numbers[0] != 1 || !attn_scan_part(line->text, row->part[0], &cell)) return 0;
  return cell.value == index || cell.value == index + 1;
}

/* Rows of equal parts, from `begin` on; a part that is blank has ended. Returns their count. */
static int rows_below(const struct stacker *s, int begin, const char *sign, int *labels) {
  const struct attn_scan_lines *in = s->in;
  struct lanes first = {.count = 0}, next;
  int rows = 0, several = 0;
  for (int n = begin; n < in->lines && split_row(&in->line[n], sign, &next); n++, rows++) {
    if (rows == 0) first = next, *labels = has_label(&first, 0, &in->line[n]);
    *labels &= has_label(&next, rows, &in->line[n]);
    if (next.count != first.count) break;
    int part = *labels;
    for (; part < next.count; part++)
      if (next.numbers[part] && next.numbers[part] != first.numbers[part]) break;
    if (part < next.count || next.numbers[next.count - 1] < 0) break;
  }
  if (begin + rows < in->lines && is_numbers(&in->line[begin + rows])) return 0;
  for (int n = *labels; n < first.count; n++) several |= first.numbers[n] > 1;
  return several || strstr(in->line[begin].text, ATTN_MARK_VALUE) ? rows : 0;
}

/* As many names in a line, whatever is between them; labels: one more may be above those of rows.
 */
static int split_names(const struct attn_scan_line *line, int count, int labels,
                       struct lanes *names) {
  for (int n = 0; n < SIGNS_COUNT; n++) {
    if (!split(line, SIGNS[n], names)) continue;
    int part = names->count - (count - labels);
    if (part < 0 || part > labels) continue;
    while (part < names->count && names->numbers[part] < 0) part++;
    if (part == names->count) return 1;
  }
  return 0;
}

static int is_rule(const struct attn_scan_line *line) {
  return line->bytes && strspn(line->text, " |:+-=") == line->bytes;
}

/* names NULL: the line above may name them all. */
static void stack_parts(struct stacker *s, int begin, int rows, const char *sign, int labels,
                        const struct lanes *names) {
  const struct attn_scan_line *first = &s->in->line[begin], *line;
  struct lanes row;
  split_row(first, sign, &row);
  for (int lane = labels, count = row.count; lane < count; lane++) {
    if (names) add_name(s, names->line, names->part[names->count - count + lane]);
    for (line = first; line < first + rows; line++) {
      split_row(line, sign, &row);
      if (row.numbers[lane])
        add_row(s, line, labels ? row.part[0] : row_name(line), row.part[lane]);
    }
    add_blank(s, first);
  }
}

/* Returns how many lines it has read from `at` on, where the names are; 0: they are something else.
 */
static int read_parts(struct stacker *s, int at) {
  const struct attn_scan_lines *in = s->in;
  struct lanes row, names;
  int begin = at + 1, labels;
  if (begin < in->lines && is_rule(&in->line[begin])) begin++;
  for (int n = 0; n < SIGNS_OF_ROWS && begin < in->lines; n++) {
    if (!split_row(&in->line[begin], SIGNS[n], &row)) continue;
    if (!split_names(&in->line[at], row.count, 1, &names)) continue;
    int rows = rows_below(s, begin, SIGNS[n], &labels);
    if (!rows || !split_names(&in->line[at], row.count, labels, &names)) continue;
    stack_parts(s, begin, rows, SIGNS[n], labels, &names);
    return begin + rows - at;
  }
  return 0;
}

/* Two rows or more without names, with bars or five blanks between three parts or more. */
static int read_unnamed(struct stacker *s, int at) {
  static const char *const WIDE[] = {"|", "     "};
  enum { PARTS = 3 };
  struct lanes row, above;
  int labels;
  for (size_t n = 0; n < sizeof WIDE / sizeof *WIDE; n++) {
    if (!split(&s->in->line[at], WIDE[n], &row) || row.count < PARTS || row.numbers[0] < 0)
      continue;
    if (at > 0 && split(&s->in->line[at - 1], WIDE[n], &above) && above.count == row.count)
      continue; /* the middle of rows that are none */
    int rows = rows_below(s, at, WIDE[n], &labels);
    if (rows < 2 || labels) continue;
    stack_parts(s, at, rows, WIDE[n], 0, NULL);
    return rows;
  }
  return 0;
}

/* ---- a line with names in front of numbers: "Q = 1 0   K = 1 1" ---- */

/* Names, and the numbers after each. 0: it is something else. */
static int split_named(const struct attn_scan_line *line, struct lanes *names, struct lanes *rows) {
  struct attn_part rest = {0, line->bytes}, token, name = {0, 0};
  int is_open = 0; /* a name is in front */
  *names = *rows = (struct lanes){.count = 0};
  for (; next_token(line, rest, &token); rest.begin = token.end) {
    if (!is_number(line->text, token)) {
      name = (struct attn_part){is_open ? name.begin : token.begin, token.end};
      is_open = 1;
      continue;
    }
    if (is_open && (names->count == LANES_MAX || !strchr(":=", line->text[name.end - 1]))) return 0;
    if (is_open) {
      names->part[names->count++] = name;
      rows->part[rows->count++] = token;
      is_open = 0;
    }
    if (!rows->count) return 0;
    rows->part[rows->count - 1].end = token.end;
    rows->numbers[rows->count - 1]++;
  }
  return !is_open && (rows->count > 1 || (rows->count == 1 && rows->numbers[0] > 1));
}

/* The numbers of a line without names, as many as in the line with them, or those below the
 * columns of it. 0: they are not. */
static int split_unnamed(const struct attn_scan_line *line, const struct lanes *first,
                         struct lanes *row) {
  struct attn_part rest = {0, line->bytes}, token;
  int lane = 0, total = count_numbers(line, rest), wanted = 0;
  for (int n = 0; n < first->count; n++) wanted += first->numbers[n];
  *row = (struct lanes){.count = first->count};
  if (total != wanted) return 0;
  for (; next_token(line, rest, &token); rest.begin = token.end) {
    if (row->numbers[lane] == first->numbers[lane]) lane++;
    if (!row->numbers[lane]++) row->part[lane].begin = token.begin;
    row->part[lane].end = token.end;
  }
  return 1;
}

/* The rows above (direction -1) or below (1) the line with the names. */
static int count_unnamed(const struct stacker *s, int at, int direction,
                         const struct lanes *first) {
  struct lanes row;
  int rows = 0;
  for (int n = at + direction; n >= 0 && n < s->in->lines; n += direction, rows++)
    if ((direction < 0 && rows == ROWS_ABOVE) || !split_unnamed(&s->in->line[n], first, &row))
      break;
  return rows;
}

static void stack_named(struct stacker *s, int begin, int rows, int at) {
  struct lanes names, first, row;
  split_named(&s->in->line[at], &names, &first);
  for (int lane = 0; lane < names.count; lane++) {
    add_name(s, &s->in->line[at], names.part[lane]);
    for (int n = begin; n < begin + rows; n++) {
      if (n != at) split_unnamed(&s->in->line[n], &first, &row);
      add_row(s, &s->in->line[n], NOTHING, n == at ? first.part[lane] : row.part[lane]);
    }
    add_blank(s, &s->in->line[at]);
  }
}

/* The names may be in front of any row. */
static int read_named(struct stacker *s, int at) {
  struct lanes names, first;
  int begin = at;
  while (at < s->in->lines && at <= begin + ROWS_ABOVE &&
         !split_named(&s->in->line[at], &names, &first))
    at++;
  if (at == s->in->lines || at > begin + ROWS_ABOVE) return 0;
  if (count_unnamed(s, at, -1, &first) < at - begin) return 0;
  int rows = at - begin + 1 + count_unnamed(s, at, 1, &first);
  if (rows > 1) stack_named(s, begin, rows, at);
  return rows > 1 ? rows : 0;
}

/* ---- the rows of matrices in a line: "K: 0, 1, 2 and 0, 0, 2" ---- */

/* The rows of a matrix in a part of a line after its name, or all in brackets; *name: without the
 * sign after it. */
static int split_rows(const struct attn_scan_line *line, struct attn_part p, struct attn_part *name,
                      struct lanes *rows) {
  size_t sign = p.begin + strcspn(line->text + p.begin, ":=");
  struct attn_scan_line part = *line;
  part.bytes = p.end;
  *name = (struct attn_part){p.begin, sign};
  int is_split = 0, n = 0;
  if (sign == p.begin || sign >= p.end) return 0;
  for (; n < SIGNS_OF_ROWS && !is_split; n++)
    is_split = split_from(&part, sign + 1, SIGNS[n], rows);
  for (n = 0; is_split && n < rows->count; n++)
    if (rows->numbers[n] < 2 || rows->numbers[n] != rows->numbers[0]) return 0;
  if (is_split) return 1;
  *rows = (struct lanes){.count = 0};
  add_part(rows, line, (struct attn_part){sign + 1, p.end});
  return rows->numbers[0] == 1 && strstr(line->text + sign, ATTN_MARK_VALUE);
}

/* One matrix, or several with semicolons between them. */
static int read_rows(struct stacker *s, int at) {
  const struct attn_scan_line *line = &s->in->line[at];
  struct lanes matrices, rows;
  struct attn_part name;
  int several = 0;
  if (!split(line, ";", &matrices) || matrices.numbers[0] >= 0 || matrices.numbers[1] >= 0)
    matrices = (struct lanes){.count = 1, .part = {{0, line->bytes}}};
  for (int n = 0; n < matrices.count; n++) {
    if (!split_rows(line, matrices.part[n], &name, &rows)) return 0;
    several |= rows.count > 1;
  }
  if (!several) return 0;
  for (int n = 0; n < matrices.count; n++) {
    split_rows(line, matrices.part[n], &name, &rows);
    add_name(s, line, name);
    for (int row = 0; row < rows.count; row++) add_row(s, line, NOTHING, rows.part[row]);
    add_blank(s, line);
  }
  return 1;
}

attn_status attn_stack_lanes(struct attn_scan *scan, struct attn_scan_lines *lines) {
  struct stacker s = {.scan = scan, .in = lines};
  for (int at = 0, read; at < lines->lines && !s.failed; at += read) {
    read = read_named(&s, at);
    if (!read) read = read_parts(&s, at);
    if (!read) read = read_rows(&s, at);
    if (!read) read = read_unnamed(&s, at);
    s.found |= read > 0;
    if (read) continue;
    if (attn_pool_grow(scan->pool, (void **)&s.out, (size_t)s.outs, sizeof *s.out)) s.failed = 1;
    if (!s.failed) s.out[s.outs++] = lines->line[at];
    read = 1;
  }
  if (s.failed) return attn_scan_no_memory(scan);
  lines->line = s.out, lines->lines = s.outs;
  scan->regrouped |= s.found;
  return ATTN_OK;
}
