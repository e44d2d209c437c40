/* learn_check.c -- checks an exercise with attn_lesson_check, and selects the value of the hint. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "console.h"
#include "learn.h"

struct checked_sheet {
  const attn_lesson *lesson;
  const attn_check *check;
  struct attn_cli_learn_check *of;
};

/* ---- The value of the hint ---- */

/* Counts the wrong values, and sets the place of the first one. */
static int count_wrong(const struct checked_sheet *s, attn_hint_place *first) {
  int count = 0;
  for (int32_t e = 0; e < s->check->examples; e++)
    for (int32_t n = 0; n < s->check->example[e].verdicts; n++) {
      const attn_step_verdict *v = &s->check->example[e].verdict[n];
      for (int32_t k = 0; k < v->findings; k++) {
        const attn_finding *f = &v->finding[k];
        if (f->judgement != ATTN_JUDGED_WRONG) continue;
        if (!count++) *first = (attn_hint_place){e, v->step, f->row, f->col, 1};
      }
    }
  return count;
}

/* Whether a printing has the value at a line and column; sets its cell. */
static int prints_at(const attn_printing *p, int64_t line, int64_t column, attn_hint_place *place) {
  for (int32_t n = 0; n < p->rows * p->cols; n++) {
    if (p->cells[n].line != line || p->cells[n].column != column) continue;
    place->row = p->row0 + n / p->cols, place->col = p->col0 + n % p->cols;
    return 1;
  }
  return 0;
}

/* The computed value that the document prints at a line and column. */
static int find_printed(const attn_lesson *lesson, int64_t line, int64_t column,
                        attn_hint_place *place) {
  for (int32_t e = 0; e < lesson->examples; e++)
    for (int32_t s = 0; s < lesson->example[e].steps; s++) {
      const attn_step *step = &lesson->example[e].step[s];
      *place = (attn_hint_place){e, s, 0, 0, 1};
      for (int32_t n = 0; n < step->printings && step->op != ATTN_OP_GIVEN; n++)
        if (prints_at(&step->printing[n], line, column, place)) return 1;
    }
  return 0;
}

/* ---- The report ---- */

/* "The first is scores, row "Mia", column 2." */
static void write_place(const struct checked_sheet *s, const attn_hint_place *place, int message,
                        const attn_sink *sink) {
  const attn_example *e = &s->lesson->example[place->example];
  const attn_step *step = &e->step[place->step];
  const int32_t language = s->of->style->language;
  char name[128];
  if (step->head >= 0)
    snprintf(name, sizeof name, "%s (%s %d)", step->symbol,
             attn_cli_learn_word(LEARN_HEAD, language), (int)step->head + 1);
  else
    snprintf(name, sizeof name, "%s", step->symbol);
  attn_cli_learn_put(sink, language, message, name, LEARN_NUMBER(place->row + 1),
                     LEARN_NUMBER(place->col + 1));
}

/* A number that identifies the value in the progress; 0 is none. */
static int64_t place_key(const attn_hint_place *p) {
  enum { LIMIT = 4096 }; /* above any index of an exercise */
  return (((int64_t)p->example * LIMIT + p->step) * LIMIT + p->row) * LIMIT + p->col + 1;
}

int attn_cli_learn_choose_hint(struct attn_cli_learn_check *c, int64_t place) {
  const int is_again = c->before->place == place && c->before->seed == c->task.seed;
  const int next = is_again ? c->before->level + 1 : 1;
  c->result.place = place;
  return c->result.level = c->hint ? c->hint : next > 3 ? 3 : next;
}

static attn_status write_hint(const struct checked_sheet *s, attn_hint_place *place, int message,
                              attn_error *err) {
  const attn_style *style = s->of->style;
  const attn_sink sink = attn_cli_buffer_sink(&s->of->result.report);
  place->level = attn_cli_learn_choose_hint(s->of, place_key(place));
  write_place(s, place, message, &sink);
  attn_cli_learn_put(&sink, style->language, LEARN_HINT, LEARN_NUMBER(place->level), NULL, NULL);
  return attn_check_hint(s->lesson, s->check, place, style, &sink, err);
}

static attn_status report(const struct checked_sheet *s, const struct attn_cli_learn_sheet *sheet,
                          attn_error *err) {
  attn_hint_place place;
  s->of->result.wrong = count_wrong(s, &place);
  if (s->of->result.wrong) return write_hint(s, &place, LEARN_FIRST_WRONG, err);
  if (!sheet->first_line) return ATTN_OK;
  if (find_printed(s->lesson, sheet->first_line, sheet->first_column, &place))
    return write_hint(s, &place, sheet->open ? LEARN_FIRST_OPEN : LEARN_FIRST_COARSE, err);
  return ATTN_OK;
}

/* ---- A sheet ---- */

static attn_status write_sheet(const struct attn_cli_learn_task *task, int blank,
                               struct attn_cli_buffer *buffer, attn_error *err) {
  attn_lesson_template_config config = attn_cli_learn_exercise_of(task)->sheet;
  const attn_style style = {.struct_size = sizeof style, .language = task->language, .width = 80};
  const attn_sink sink = attn_cli_buffer_sink(buffer);
  config.seed = task->seed, config.blank = blank;
  attn_status status = attn_lesson_template(&config, &style, &sink, err);
  return status ? status : attn_cli_buffer_end(buffer, err);
}

static attn_status check_text(const struct attn_cli_learn_sheet *sheet,
                              struct attn_cli_learn_check *c, attn_error *err) {
  attn_lesson *lesson;
  attn_check *check = NULL;
  attn_status status =
      attn_lesson_read(sheet->text.bytes, sheet->text.size, "exercise", &lesson, err);
  if (!status) status = attn_lesson_check(lesson, &check, err);
  const struct checked_sheet s = {lesson, check, c};
  if (!status) status = report(&s, sheet, err);
  if (!status && !c->result.wrong && lesson->unreads)
    status = attn_cli_fail(err, ATTN_ERR_FORMAT,
                           "%d values are not numbers; write each as a decimal like 0.25",
                           (int)lesson->unreads);
  attn_check_free(check);
  attn_lesson_free(lesson);
  return status;
}

attn_status attn_cli_learn_check_sheet(struct attn_cli_learn_check *c, attn_error *err) {
  struct attn_cli_buffer solved = {NULL, 0, 0, 0}, blank = {NULL, 0, 0, 0};
  struct attn_cli_learn_sheet sheet = {.open = 0};
  attn_status status = write_sheet(&c->task, 0, &solved, err);
  if (!status) status = write_sheet(&c->task, 1, &blank, err);
  if (!status) status = attn_cli_learn_fill(solved.bytes, blank.bytes, c->text, &sheet, err);
  c->result.open = sheet.open, c->result.coarse = sheet.coarse;
  if (!status) status = check_text(&sheet, c, err);
  free(solved.bytes), free(blank.bytes), free(sheet.text.bytes);
  return status;
}

/* ---- The file of an exercise ---- */

attn_status attn_cli_learn_write(const struct attn_cli_learn_task *task, const attn_sink *sink,
                                 attn_error *err) {
  struct attn_cli_buffer sheet = {NULL, 0, 0, 0};
  attn_cli_write(sink, "<!-- attn learn %d.%d, seed %llu, %s -->\n\n", task->chapter,
                 task->exercise, (unsigned long long)task->seed, task->language ? "ja" : "en");
  if (attn_cli_learn_exercise_of(task)->question)
    return attn_cli_learn_question_text(task, sink), ATTN_OK;
  attn_status status = write_sheet(task, 1, &sheet, err);
  if (!status) sink->write(sink->context, sheet.bytes, sheet.size - 1); /* no empty last line */
  free(sheet.bytes);
  return status;
}

attn_status attn_cli_learn_identify(const char *text, struct attn_cli_learn_task *task,
                                    attn_error *err) {
  static const char mark[] = "<!-- attn learn ";
  const char *at = strstr(text, mark);
  unsigned long long seed;
  char language[3];
  if (!at || sscanf(at + strlen(mark), "%3d.%1d, seed %20llu, %2[a-z] -->", &task->chapter,
                    &task->exercise, &seed, language) != 4)
    return attn_cli_fail(err, ATTN_ERR_FORMAT,
                         "is not an exercise of attn learn: it has no line like \"%s3.1, seed "
                         "1, en -->\"",
                         mark);
  task->seed = seed;
  task->language = !strcmp(language, "ja");
  if (task->chapter >= 1 && task->chapter <= attn_cli_learn_chapter_count && task->exercise >= 1 &&
      task->exercise <= LEARN_EXERCISES)
    return ATTN_OK;
  return attn_cli_fail(err, ATTN_ERR_FORMAT, "there is no exercise %d.%d", task->chapter,
                       task->exercise);
}
