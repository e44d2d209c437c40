/* check_print.c -- a judgement for a person. */
#include <stdio.h>

#include "out.h"

static enum attn_phrase verdict_phrase(int32_t judgement) {
  if (judgement == ATTN_JUDGED_WRONG || judgement == ATTN_JUDGED_CARRIED) return SAY_VERDICT_WRONG;
  if (judgement == ATTN_JUDGED_DOUBTFUL) return SAY_VERDICT_DOUBTFUL;
  return judgement == ATTN_JUDGED_OK ? SAY_VERDICT_CORRECT : SAY_VERDICT_NOTHING;
}

static enum attn_phrase step_phrase(int32_t judgement) {
  static const enum attn_phrase phrases[] = {SAY_NOT_GIVEN, SAY_OK, SAY_DOUBTFUL, SAY_CARRIED, SAY_WRONG};
  return phrases[judgement];
}

static const char *mark(int32_t judgement) {
  static const char *const marks[] = {"-", "ok", "?", "~", "X"};
  return marks[judgement];
}

static void print_step(struct attn_out *out, const attn_example *e, const attn_step_verdict *v) {
  const attn_step *s = &e->step[v->step];
  const char *const colors[] = {"", "\033[32m", "\033[33m", "\033[36m", "\033[31m"};
  if (out->style.color) attn_out_text(out, colors[v->judgement]);
  attn_out_format(out, "  %-3s", mark(v->judgement));
  if (out->style.color) attn_out_text(out, "\033[0m");
  attn_out_step(out, s);
  attn_out_text(out, ": ");
  attn_out_phrase(out, step_phrase(v->judgement));
  int32_t such = 0;
  for (int32_t n = 0; n < v->findings; n++) such += v->finding[n].judgement == v->judgement;
  if (such) attn_out_format(out, " (%d/%d)", (int)such, (int)v->cells);
  attn_out_text(out, "\n");
}

static const attn_finding *first_finding(const attn_step_verdict *v) {
  for (int32_t n = 0; n < v->findings; n++)
    if (v->finding[n].judgement == ATTN_JUDGED_WRONG) return &v->finding[n];
  return &v->finding[0];
}

static void print_first(struct attn_out *out, const attn_lesson *lesson, const attn_example *e,
                        const attn_step_verdict *v) {
  const attn_finding *f = first_finding(v);
  char printed[ATTN_NUMBER_BYTES], right[ATTN_NUMBER_BYTES];
  attn_out_text(out, "\n  ");
  attn_out_phrase(out, SAY_FIRST_WRONG);
  attn_out_format(out, "%.150s:%d:%d: ", lesson->file, (int)f->line, (int)f->column);
  attn_out_format(out, "%s[%d,%d]: ", attn_step_label(e->step[v->step].name), (int)f->row, (int)f->col);
  attn_out_phrase(out, SAY_PRINTED, attn_number_text(out, f->printed, printed),
                  attn_number_text(out, f->expected, right));
  attn_out_text(out, "\n    ");
  attn_out_working(out, e, v->step, f->row, f->col);
  attn_out_text(out, "\n    ");
  attn_out_phrase(out, SAY_CAUSE);
  attn_out_phrase(out, (enum attn_phrase)(SAY_CAUSES + v->cause));
  attn_out_text(out, "\n");
}

static void print_example(struct attn_out *out, const attn_lesson *lesson, int32_t n,
                          const attn_example_verdict *v) {
  const attn_example *e = &lesson->example[n];
  char number[16];
  snprintf(number, sizeof number, "%d", (int)n + 1);
  attn_out_text(out, "\n");
  attn_out_phrase(out, SAY_EXAMPLE, number);
  if (e->title && *e->title) attn_out_format(out, " (%.150s)", e->title);
  attn_out_text(out, ": ");
  attn_out_phrase(out, verdict_phrase(v->judgement));
  attn_out_text(out, "\n");
  if (e->orientation) attn_out_text(out, "  "), attn_out_phrase(out, SAY_QUERIES_IN_COLUMNS);
  for (int32_t k = 0; k < v->verdicts; k++) print_step(out, e, &v->verdict[k]);
  if (v->first_wrong >= 0) print_first(out, lesson, e, &v->verdict[v->first_wrong]);
}

attn_status attn_check_print(const attn_lesson *lesson, const attn_check *check,
                             const attn_style *style, const attn_sink *sink, attn_error *err) {
  struct attn_out out = attn_out_begin(style, sink);
  attn_out_format(&out, "%.200s: ", lesson->file);
  attn_out_phrase(&out, verdict_phrase(check->judgement));
  attn_out_text(&out, " ");
  attn_out_phrase(&out, SAY_JUDGES);
  for (int32_t n = 0; n < check->examples; n++)
    if (check->example[n].judgement != ATTN_JUDGED_NOT_GIVEN)
      print_example(&out, lesson, n, &check->example[n]);
  return attn_out_end(&out, err);
}
