/* check_print.c -- attn_check_print: a judgement as text. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check_text.h"
#include "explain.h"
#include "step_labels.h"
#include "number_text.h"
#include "text_writer.h"
#include "working.h"

enum { TITLE_COLUMNS = 200, NAME_COLUMNS = 20, TERMS = 16 };

struct check_printer {
  struct attn_out *out;
  const attn_lesson *lesson;
  const attn_example *example;
  const attn_example_verdict *verdict;
};

static const char *color_of(int32_t judgement) {
  static const char *const colors[] = {"2", "32", "33", "36", "31"};
  return colors[judgement];
}

/* ---- One line per step ---- */

static void put_name(struct attn_out *out, const attn_example *e, const attn_step *s) {
  char symbol[ATTN_LABEL_BYTES];
  attn_out_text(out, attn_step_text(e, s, symbol));
  if (s->head >= 0) {
    attn_out_text(out, " (");
    attn_out_message(out, MESSAGE_HEAD, ATTN_INTEGER_TEXT(s->head + 1), NULL);
    attn_out_text(out, ")");
  }
  do attn_out_text(out, " ");
  while (out->column < NAME_COLUMNS);
}

static int count_of(const attn_step_verdict *v, int32_t judgement) {
  int count = 0;
  for (int32_t n = 0; n < v->findings; n++) count += v->finding[n].judgement == judgement;
  return count;
}

/* "not printed" only if the document has no number that could be the step's. */
static int status_message(const struct check_printer *p, const attn_step_verdict *v) {
  if (v->judgement != ATTN_JUDGED_NOT_GIVEN) return MESSAGE_STATUS + v->judgement;
  if (p->example->step[v->step].printings) return MESSAGE_LEFT_BLANK;
  return p->lesson->unreads ? MESSAGE_NOT_FOUND : MESSAGE_STATUS + ATTN_JUDGED_NOT_GIVEN;
}

/* A matrix that is printed transposed, as W of row vectors, is printed. */
static int is_printed_transposed(const attn_example *e, const attn_step *s) {
  for (int32_t n = 0; n < e->steps && s->name != ATTN_STEP_OTHER && !s->printings; n++) {
    const attn_step *t = &e->step[n];
    if (t->name == s->name && t->head == s->head && t->printings &&
        t->exact.rows == s->exact.cols && t->exact.cols == s->exact.rows)
      return 1;
  }
  return 0;
}

static void put_step(const struct check_printer *p, int32_t index) {
  static const char *const marks[] = {"·", "✓", "~", "↳", "✗"};
  const attn_step_verdict *v = &p->verdict->verdict[index];
  struct attn_out *out = p->out;
  attn_out_text(out, "  ");
  attn_out_color(out, color_of(v->judgement));
  attn_out_text(out, marks[v->judgement]);
  attn_out_color(out, "0");
  attn_out_text(out, " ");
  put_name(out, p->example, &p->example->step[v->step]);
  out->indent = NAME_COLUMNS;
  attn_out_message(out, status_message(p, v), NULL);
  if (v->findings)
    attn_out_message(out, MESSAGE_COUNT_OF, ATTN_INTEGER_TEXT(count_of(v, v->judgement)),
                     ATTN_INTEGER_TEXT(v->cells), NULL);
  if (p->example->step[v->step].uncertain) attn_out_message(out, MESSAGE_ROLE_GUESSED, NULL);
  if (index == p->verdict->first_wrong)
    attn_out_message(out, MESSAGE_FIRST_HERE, NULL);
  else if (v->judgement == ATTN_JUDGED_WRONG)
    attn_out_message(out, MESSAGE_OTHER_ERROR, NULL);
  attn_out_line(out, 0);
}

/* ---- One number ---- */

/* Enough digits to show the printed number unchanged and the other one as different. */
static void distinct_numbers(double printed, double right, int precision, char a[ATTN_NUMBER_BYTES],
                             char b[ATTN_NUMBER_BYTES]) {
  int digits = precision;
  while (digits < 12 && fabs(printed) < 1e3 &&
         fabs(printed - round(printed * pow(10, digits)) / pow(10, digits)) > 1e-13)
    digits++;
  attn_number_text(printed, digits, a);
  attn_number_text(right, digits, b);
  while (digits < 15 && !strcmp(a, b) && printed != right) attn_number_text(right, ++digits, b);
}

/* "lesson.md:12:5: ", which editors understand. */
static void put_place(const struct check_printer *p, const attn_finding *f) {
  char place[64];
  snprintf(place, sizeof place, ":%d:%d: ", (int)f->line, (int)f->column);
  attn_out_whole(p->out, p->lesson->file);
  attn_out_whole(p->out, place);
}

static void put_finding(const struct check_printer *p, const attn_step *s, const attn_finding *f,
                        int message) {
  double other = message == MESSAGE_FOLLOWED ? f->follows : f->expected;
  char printed[ATTN_NUMBER_BYTES], right[ATTN_NUMBER_BYTES];
  char address[ATTN_ADDRESS_BYTES + 200];
  int from = p->example->one_based != 0; /* the address counts from 0, the document from 1 */
  attn_address(p->example, s, f->row, f->col, address);
  distinct_numbers(f->printed, other, p->out->style.precision, printed, right);
  put_place(p, f);
  attn_out_whole(p->out, address);
  if (from)
    attn_out_message(p->out, MESSAGE_PLACE_ONE_BASED, ATTN_INTEGER_TEXT(f->row + from),
                     ATTN_INTEGER_TEXT(f->col + from), NULL);
  attn_out_message(p->out, message, printed, right, NULL);
  attn_out_line(p->out, 2);
}

/* ---- The first wrong number ---- */

static int explains_the_step(int32_t cause) {
  return cause == ATTN_CAUSE_TRANSPOSED_WEIGHTS || cause == ATTN_CAUSE_SWAPPED_QK ||
         (cause >= ATTN_CAUSE_MISSING_SCALE && cause <= ATTN_CAUSE_SOFTMAX_WITHOUT_EXP) ||
         (cause >= ATTN_CAUSE_MASK_IGNORED && cause <= ATTN_CAUSE_K_INSTEAD_OF_V);
}

static void put_cause(const struct check_printer *p, const attn_step_verdict *v) {
  const int32_t cause = v->cause ? v->cause : ATTN_CAUSE_UNKNOWN;
  attn_out_message(p->out, cause == ATTN_CAUSE_UNKNOWN ? MESSAGE_NO_CAUSE : MESSAGE_LIKELY_CAUSE,
                   NULL);
  attn_out_message(p->out, MESSAGE_CAUSE + cause, NULL);
  attn_out_message(p->out, MESSAGE_STOP, NULL);
  if (explains_the_step(v->cause))
    attn_out_message(p->out, MESSAGE_CAUSE_EXPLAINS, ATTN_INTEGER_TEXT(v->findings), NULL);
  attn_out_line(p->out, 2);
}

static void put_first_wrong(const struct check_printer *p) {
  const attn_step_verdict *v = &p->verdict->verdict[p->verdict->first_wrong];
  const attn_step *s = &p->example->step[v->step];
  const attn_finding *f = attn_first_finding(v, ATTN_JUDGED_WRONG);
  if (!f) return;
  attn_out_line(p->out, 2);
  put_finding(p, s, f, MESSAGE_PRINTED_RIGHT);
  attn_out_message(p->out, MESSAGE_WORKING, NULL);
  attn_out_working(p->out, p->example, s, f->row, f->col, TERMS);
  attn_out_line(p->out, 2);
  put_cause(p, v);
}

/* Whether no earlier error of the document affects the value. */
static int is_own(const attn_finding *f) {
  return fabs(f->follows - f->expected) <= 1e-12 * fabs(f->expected);
}

/* ---- Later errors, doubts ---- */

static void put_others(const struct check_printer *p) {
  for (int32_t n = 0; n < p->verdict->verdicts; n++) {
    const attn_step_verdict *v = &p->verdict->verdict[n];
    const attn_step *s = &p->example->step[v->step];
    const attn_finding *f = attn_first_finding(v, v->judgement);
    if (!f || n == p->verdict->first_wrong || v->judgement == ATTN_JUDGED_CARRIED) continue;
    int is_doubt = v->judgement == ATTN_JUDGED_DOUBTFUL;
    int message = is_doubt && (p->verdict->misread || s->uncertain) ? MESSAGE_MISREAD_AT
                  : is_doubt                                        ? MESSAGE_DOUBT_AT
                  : is_own(f)                                       ? MESSAGE_PRINTED_RIGHT
                                                                    : MESSAGE_FOLLOWED;
    attn_out_line(p->out, 2);
    put_finding(p, s, f, message);
    if (!is_doubt && v->cause && v->cause != ATTN_CAUSE_UNKNOWN) put_cause(p, v);
  }
}

/* ---- Nothing to check ---- */

struct seen_numbers {
  int32_t blocks, numbers; /* of several numbers, of one */
  int computed;            /* an example has a step that is computed */
};

static void count_block(struct seen_numbers *seen, int32_t rows, int32_t cols) {
  if (rows == 1 && cols == 1)
    seen->numbers++;
  else
    seen->blocks++;
}

static struct seen_numbers count_numbers(const attn_lesson *lesson, const attn_check *check) {
  struct seen_numbers seen = {0, 0, 0};
  for (int32_t n = 0; n < lesson->unreads; n++)
    count_block(&seen, lesson->unread[n].rows, lesson->unread[n].cols);
  for (int32_t i = 0; i < check->examples && i < lesson->examples; i++) {
    const attn_example *e = &lesson->example[i];
    seen.computed |= check->example[i].verdicts > 0;
    for (int32_t n = 0; n < e->steps; n++)
      if (e->step[n].printings) count_block(&seen, e->step[n].exact.rows, e->step[n].exact.cols);
  }
  return seen;
}

/* What a document without a judged number has: a file's line. */
static void put_nothing(struct attn_out *out, const attn_lesson *lesson, const attn_check *check) {
  const struct seen_numbers seen = count_numbers(lesson, check);
  int32_t count = seen.blocks ? seen.blocks : seen.numbers;
  int message = MESSAGE_NOTHING_HERE;
  if (seen.computed)
    message = MESSAGE_NOTHING_COMPUTED;
  else if (seen.blocks)
    message = seen.blocks == 1 ? MESSAGE_NOTHING_ONE_BLOCK : MESSAGE_NOTHING_BLOCKS;
  else if (seen.numbers)
    message = seen.numbers == 1 ? MESSAGE_NOTHING_ONE_NUMBER : MESSAGE_NOTHING_NUMBERS;
  attn_out_message(out, message, ATTN_INTEGER_TEXT(count), NULL);
  attn_out_line(out, 0);
}

/* An example's line. */
static void put_nothing_in(struct attn_out *out, const attn_example *e,
                           const attn_example_verdict *v) {
  char first[ATTN_RELATION_BYTES];
  if (!v->verdicts) return;
  attn_relation_text(e, &e->step[v->verdict[0].step], out->style.precision, first);
  attn_out_message(out, e->from_python ? MESSAGE_NONE_PRINTED : MESSAGE_NONE_FILLED_IN,
                   ATTN_INTEGER_TEXT(v->verdicts), first, NULL);
  attn_out_line(out, 0);
}

/* ---- Examples ---- */

static void put_title(const struct check_printer *p, int32_t index) {
  struct attn_out *out = p->out;
  attn_out_line(out, 0);
  attn_out_color(out, "1");
  attn_out_example_title(out, p->example, index, TITLE_COLUMNS);
  attn_out_message(out, p->example->orientation ? MESSAGE_ORIENTED_COLUMNS : MESSAGE_ORIENTED_ROWS,
                   ATTN_INTEGER_TEXT(p->example->line), NULL);
  attn_out_message(out, attn_example_verdict_message(p->example, p->verdict), NULL);
  attn_out_color(out, "0");
  attn_out_line(out, 0);
}

static void put_example(const struct check_printer *p, int32_t index) {
  put_title(p, index);
  if (p->verdict->judgement == ATTN_JUDGED_NOT_GIVEN)
    return put_nothing_in(p->out, p->example, p->verdict);
  for (int32_t n = 0; n < p->verdict->verdicts; n++)
    if (!is_printed_transposed(p->example, &p->example->step[p->verdict->verdict[n].step]))
      put_step(p, n);
  if (p->verdict->first_wrong >= 0) put_first_wrong(p);
  put_others(p);
}

static void put_rules(struct attn_out *out, int32_t judgement) {
  attn_out_message(out, MESSAGE_JUDGES_NUMBERS, NULL);
  if (judgement == ATTN_JUDGED_WRONG) attn_out_message(out, MESSAGE_JUDGES_ONCE, NULL);
  attn_out_line(out, 0);
}

attn_status attn_check_print(const attn_lesson *lesson, const attn_check *check,
                             const attn_style *style, const attn_sink *sink, attn_error *err) {
  struct attn_out out;
  attn_out_begin(&out, style, sink);
  attn_out_color(&out, "1");
  attn_out_whole(&out, lesson->file);
  attn_out_message(&out, MESSAGE_COLON, NULL);
  attn_out_color(&out, color_of(check->judgement));
  attn_out_message(&out, attn_file_verdict_message(lesson, check), NULL);
  attn_out_color(&out, "0");
  attn_out_line(&out, 0);
  if (check->judgement == ATTN_JUDGED_NOT_GIVEN)
    put_nothing(&out, lesson, check);
  else
    put_rules(&out, check->judgement);
  for (int32_t n = 0; n < check->examples && n < lesson->examples; n++) {
    const struct check_printer p = {&out, lesson, &lesson->example[n], &check->example[n]};
    put_example(&p, n);
  }
  attn_out_unread(&out, lesson);
  return attn_out_end(&out, err);
}
