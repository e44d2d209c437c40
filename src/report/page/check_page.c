/* check_page.c -- attn_check_draw: the author's document as a page, each judged number marked in
 * place. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "attn/picture.h"
#include "error.h"
#include "explain.h"
#include "html.h"
#include "lesson_page_files.h"
#include "matrix_cells.h"
#include "number_text.h"
#include "page_text.h"

/* A number of the document. */
struct marked_number {
  size_t begin, end; /* in the text */
  size_t order;      /* of two readings of one number the first is marked */
  int judgement;     /* attn_judgement, GIVEN or UNREAD */
  const attn_example *example;
  const attn_step *step;
  int32_t row, col, decimals; /* decimals: -1 if it is not a plain literal */
};
enum { GIVEN = ATTN_JUDGED_WRONG + 1, UNREAD };

struct check_page {
  struct attn_out *out;
  const attn_lesson *lesson;
  const attn_check *check;
  char *text; /* a copy that ends in 0 */
  size_t bytes;
  size_t *line; /* where each line begins */
  size_t lines;
  struct marked_number *number;
  size_t numbers;
};

/* ---- Places in the text ---- */

static attn_status find_lines(struct check_page *p, attn_error *err) {
  size_t count = 1;
  for (size_t n = 0; n < p->bytes; n++) count += p->text[n] == '\n';
  p->line = calloc(count, sizeof *p->line);
  if (!p->line) return attn_picture_no_memory(err);
  p->lines = 1;
  for (size_t n = 0; n < p->bytes; n++)
    if (p->text[n] == '\n') p->line[p->lines++] = n + 1;
  return ATTN_OK;
}

static int is_tail(char c) { return ((unsigned char)c & 0xc0) == 0x80; }

/* Columns count characters. A byte order mark is none. */
static size_t offset_of(const struct check_page *p, int32_t line, int32_t column) {
  if (line < 1 || (size_t)line > p->lines || column < 1) return p->bytes;
  size_t at = p->line[line - 1];
  if (line == 1 && !strncmp(p->text, "\xEF\xBB\xBF", 3)) at += 3;
  for (int32_t n = 1; n < column && at < p->bytes && p->text[at] != '\n'; n++) {
    at++;
    while (at < p->bytes && is_tail(p->text[at])) at++;
  }
  return at;
}

/* The end of the number: a sign, digits, a point, an exponent; of anything else that was read as a
 * number (√2, ３, a fraction) the end of the word. */
static size_t end_of_number(const struct check_page *p, size_t at) {
  static const char minus[] = "\u2212"; /* − */
  const char *text = p->text + at;
  size_t n = !strncmp(text, minus, strlen(minus)) ? strlen(minus) : *text == '-' || *text == '+';
  const size_t digits = strspn(text + n, "0123456789.,");
  if (!digits) return at + n + strcspn(text + n, " \t\r\n|,;&\\[](){}<>*`\"'");
  n += digits;
  while (n > 0 && (text[n - 1] == '.' || text[n - 1] == ',')) n--;
  return at + n;
}

/* Whether the text in between has these digits, without separators and leading zeros. */
static int has_digits(const char *text, const char *end, const char *digits) {
  for (digits += strspn(digits, "0."); text < end; text++) {
    if (*text < '0' || *text > '9') continue;
    while (*digits == '.') digits++;
    if (*digits == *text)
      digits++;
    else if (*text != '0' || *digits)
      return 0;
  }
  return !digits[strspn(digits, "0.")];
}

/* A digit of any width, √, ∞, −, or a short sign: × for a hidden cell, 〃 for the value above. */
static int is_like_number(const char *text, const char *end) {
  if (end - text <= 4) return 1;
  for (; text < end; text++)
    if ((*text >= '0' && *text <= '9') || !strncmp(text, "\xEF\xBC", 2) ||
        !strncmp(text, "\xE2\x88", 2))
      return 1;
  return 0;
}

/* Whether the text at its place is the number. In a notebook it is not: its cells are JSON strings.
 */
static int is_at_place(const struct check_page *p, const struct marked_number *n, double value) {
  char digits[ATTN_NUMBER_BYTES];
  const char *text = p->text + n->begin, *end = p->text + n->end;
  if (text == end || (*text >= 'A' && *text <= 'z') || !is_like_number(text, end)) return 0;
  if (n->decimals < 0) return 1;
  while (text < end && !(*text >= '1' && *text <= '9')) text++; /* leading zeros */
  if (has_digits(text, end, attn_number_fixed(fabs(value), n->decimals, digits))) return 1;
  const int of_percent = n->decimals > 2 ? n->decimals - 2 : 0;
  return has_digits(text, end, attn_number_fixed(fabs(value) * 100, of_percent, digits));
}

static void add_number(struct check_page *p, const int32_t place[2], double value,
                       struct marked_number number) {
  number.begin = offset_of(p, place[0], place[1]);
  number.end = number.begin < p->bytes ? end_of_number(p, number.begin) : number.begin;
  number.order = p->numbers;
  if (is_at_place(p, &number, value)) p->number[p->numbers++] = number;
}

/* ---- Which numbers are marked ---- */

static size_t cells_of(const attn_printing *printing) {
  return (size_t)printing->rows * (size_t)printing->cols;
}

static size_t count_numbers(const attn_lesson *lesson) {
  size_t count = (size_t)lesson->unreads;
  for (int32_t n = 0; n < lesson->examples; n++)
    for (int32_t k = 0; k < lesson->example[n].steps; k++) {
      const attn_step *s = &lesson->example[n].step[k];
      for (int32_t m = 0; m < s->printings; m++) count += cells_of(&s->printing[m]);
    }
  return count;
}

static int judgement_of(const attn_step_verdict *v, const attn_cell *cell) {
  if (!v) return GIVEN;
  for (int32_t n = 0; n < v->findings; n++)
    if (v->finding[n].line == cell->line && v->finding[n].column == cell->column)
      return v->finding[n].judgement;
  return v->judgement == ATTN_JUDGED_NOT_GIVEN ? GIVEN : ATTN_JUDGED_OK;
}

static void add_printing(struct check_page *p, const attn_example *e, const attn_step *s,
                         const attn_step_verdict *v, const attn_printing *printing) {
  for (size_t n = 0; n < cells_of(printing); n++) {
    const attn_cell *cell = &printing->cells[n];
    const int32_t row = printing->row0 + (int32_t)(n / (size_t)printing->cols);
    const int32_t col = printing->col0 + (int32_t)(n % (size_t)printing->cols);
    if (cell->kind == ATTN_CELL_BLANK || row >= s->exact.rows || col >= s->exact.cols) continue;
    struct marked_number number = {
        .judgement = judgement_of(v, cell), .example = e, .step = s, .row = row, .col = col};
    number.decimals = cell->kind == ATTN_CELL_NUMBER ? cell->decimals : -1;
    add_number(p, (const int32_t[]){cell->line, cell->column}, cell->value, number);
  }
}

static int by_place(const void *a, const void *b) {
  const struct marked_number *x = a, *y = b;
  if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
  return (x->order > y->order) - (x->order < y->order);
}

static attn_status find_numbers(struct check_page *p, attn_error *err) {
  p->number = calloc(count_numbers(p->lesson) + 1, sizeof *p->number);
  if (!p->number) return attn_picture_no_memory(err);
  for (int32_t n = 0; n < p->lesson->examples; n++) {
    const attn_example *e = &p->lesson->example[n];
    for (int32_t k = 0; k < e->steps; k++) {
      const attn_step_verdict *v = attn_explain_verdict(&p->check->example[n], k);
      for (int32_t m = 0; m < e->step[k].printings; m++)
        add_printing(p, e, &e->step[k], v, &e->step[k].printing[m]);
    }
  }
  for (int32_t n = 0; n < p->lesson->unreads; n++) {
    const attn_unread *u = &p->lesson->unread[n];
    const struct marked_number number = {.judgement = UNREAD, .decimals = -1};
    add_number(p, (const int32_t[]){u->line, u->column}, 0, number);
  }
  qsort(p->number, p->numbers, sizeof *p->number, by_place);
  return ATTN_OK;
}

/* ---- The document ---- */

static const char *const classes[] = {"", "ok", "doubtful", "carried", "wrong", "given", "unread"};

/* A part of the text. attn_xml_text would replace tabs and line ends. */
static void put_text(struct check_page *p, size_t from, size_t to) {
  while (from < to) {
    const size_t stop = from + strcspn(p->text + from, "\t\n");
    const size_t end = stop < to ? stop : to;
    const char kept = p->text[end];
    p->text[end] = 0;
    attn_xml_text(p->out, p->text + from);
    p->text[end] = kept;
    from = end;
    if (from < to) attn_out_bytes(p->out, p->text + from++, 1);
  }
}

static void put_number(struct check_page *p, const struct marked_number *n) {
  attn_putf(p->out, "<mark class=\"%s\"", classes[n->judgement]);
  if (n->step && n->step->op != ATTN_OP_GIVEN)
    attn_page_working(p->out, n->example, n->step, n->row, n->col);
  attn_put(p->out, ">");
  put_text(p, n->begin, n->end);
  attn_put(p->out, "</mark>");
}

static int is_corrected(const struct marked_number *n) {
  return n->decimals >= 0 && n->step &&
         (n->judgement == ATTN_JUDGED_WRONG || n->judgement == ATTN_JUDGED_CARRIED);
}

static void put_corrected_number(struct check_page *p, const struct marked_number *n) {
  char text[ATTN_NUMBER_BYTES];
  const double value = attn_cell_at(&n->step->exact, n->row, n->col);
  if (isfinite(value))
    attn_put(p->out, attn_number_fixed(value, n->decimals, text));
  else
    put_text(p, n->begin, n->end);
}

/* The document with its numbers marked, or with the wrong ones corrected. */
static void put_document(struct check_page *p, int corrected) {
  size_t at = 0;
  for (size_t n = 0; n < p->numbers && !p->out->failed; n++) {
    const struct marked_number *number = &p->number[n];
    if (number->begin < at) continue; /* printed once, read twice */
    if (corrected && !is_corrected(number)) continue;
    put_text(p, at, number->begin);
    (corrected ? put_corrected_number : put_number)(p, number);
    at = number->end;
  }
  put_text(p, at, p->bytes);
}

static void put_corrected(struct check_page *p) {
  size_t corrections = 0;
  for (size_t n = 0; n < p->numbers; n++) corrections += (size_t)is_corrected(&p->number[n]);
  if (!corrections) return;
  attn_put(p->out, "<details><summary>");
  attn_html_message(p->out, MESSAGE_PAGE_CORRECTED);
  attn_put(p->out, "</summary><pre class=\"document\" id=\"corrected\">");
  put_document(p, 1);
  attn_put(p->out, "</pre></details>\n");
}

/* ---- The page ---- */

static void put_legend(struct attn_out *out) {
  static const int messages[] = {[ATTN_JUDGED_OK] = MESSAGE_STATUS + ATTN_JUDGED_OK,
                                 [ATTN_JUDGED_DOUBTFUL] = MESSAGE_STATUS + ATTN_JUDGED_DOUBTFUL,
                                 [ATTN_JUDGED_CARRIED] = MESSAGE_STATUS + ATTN_JUDGED_CARRIED,
                                 [ATTN_JUDGED_WRONG] = MESSAGE_STATUS + ATTN_JUDGED_WRONG,
                                 [GIVEN] = MESSAGE_PAGE_GIVEN,
                                 [UNREAD] = MESSAGE_PAGE_UNREAD};
  attn_put(out, "<p class=\"legend\">");
  for (int n = ATTN_JUDGED_OK; n <= UNREAD; n++) {
    attn_putf(out, "<span><mark class=\"%s\">0.5</mark> ", classes[n]);
    attn_html_message(out, messages[n]);
    attn_put(out, "</span> ");
  }
  attn_put(out, "</p>\n");
}

static void put_page(struct check_page *p) {
  const attn_bilingual_text title = attn_message_bilingual(MESSAGE_PAGE_CHECK);
  attn_html_begin(p->out, &title, check_page_css);
  attn_put(p->out, "<div class=\"report\">\n");
  for (struct attn_page_languages both = {.page = p->out, .tag = "p"}; attn_page_next(&both);)
    attn_check_print(p->lesson, p->check, &both.text.style, both.text.sink, NULL);
  attn_put(p->out, "</div>\n");
  put_legend(p->out);
  attn_put(p->out, "<p class=\"note hint\" hidden=\"hidden\">");
  attn_html_message(p->out, MESSAGE_PAGE_CHECK_HINT);
  attn_put(p->out, "</p>\n");
  attn_put(p->out, "<pre class=\"document\">");
  put_document(p, 0);
  attn_put(p->out, "</pre>\n");
  put_corrected(p);
  attn_put(p->out, "<aside class=\"working\" hidden=\"hidden\" aria-live=\"polite\"></aside>\n");
  attn_html_end(p->out, check_page_js);
}

attn_status attn_check_draw(const attn_lesson *lesson, const attn_check *check, const char *text,
                            size_t bytes, const attn_style *style, const attn_sink *sink,
                            attn_error *err) {
  struct attn_out out;
  struct check_page p = {.out = &out, .lesson = lesson, .check = check, .bytes = bytes};
  if (!lesson || !check || !text)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "lesson", "lesson, check and text must not be NULL");
  attn_status status = attn_out_open(&out, style, sink, err);
  if (status) return status;
  p.text = calloc(bytes + 1, 1);
  if (!p.text) return attn_picture_no_memory(err);
  memcpy(p.text, text, bytes);
  status = find_lines(&p, err);
  if (!status) status = find_numbers(&p, err);
  if (!status) put_page(&p), status = attn_out_end(&out, err);
  free(p.number), free(p.line), free(p.text);
  return status;
}
