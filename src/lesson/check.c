/* check.c -- attn_lesson_check: the judge's view, made public. */
#include <stdlib.h>

#include "error.h"
#include "judge.h"
#include "steps.h"

struct check_owner {
  attn_check check;
  struct attn_pool *memory;
};

static attn_status no_memory(attn_error *err) {
  return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for the judgement");
}

static attn_status list_findings(const attn_step *s, const struct attn_judged *j, int follows,
                                 struct attn_pool *pool, attn_step_verdict *v, attn_error *err) {
  size_t cells = (size_t)s->exact.rows * (size_t)s->exact.cols, count = 0;
  for (size_t n = 0; n < cells; n++) {
    v->cells += j->printed[n] != NULL;
    count += j->printed[n] && j->verdict[n] != ATTN_JUDGED_OK;
  }
  v->finding = attn_pool_take(pool, (count + 1) * sizeof *v->finding);
  if (!v->finding) return no_memory(err);
  for (size_t n = 0; n < cells; n++) {
    if (!j->printed[n] || j->verdict[n] == ATTN_JUDGED_OK) continue;
    const attn_cell *cell = j->printed[n];
    v->finding[v->findings++] = (attn_finding){(int32_t)(n / (size_t)s->exact.cols),
                                               (int32_t)(n % (size_t)s->exact.cols),
                                               j->verdict[n],
                                               cell->line,
                                               cell->column,
                                               cell->value,
                                               s->exact.at[n],
                                               follows ? j->followed.at[n] : s->exact.at[n]};
  }
  return ATTN_OK;
}

static attn_status describe(const attn_example *e, const struct attn_judged *judged,
                            struct attn_pool *pool, attn_example_verdict *out, attn_error *err) {
  attn_status status = ATTN_OK;
  out->first_wrong = -1;
  out->verdict = attn_pool_take(pool, ((size_t)e->steps + 1) * sizeof *out->verdict);
  if (!out->verdict) return no_memory(err);
  for (int32_t n = 0; n < e->steps && !status; n++) {
    if (e->step[n].op == ATTN_OP_GIVEN) continue;
    attn_step_verdict *v = &out->verdict[out->verdicts];
    *v = (attn_step_verdict){.step = n, .judgement = judged[n].worst};
    status = list_findings(&e->step[n], &judged[n], out->first_wrong >= 0, pool, v, err);
    if (!status && v->judgement == ATTN_JUDGED_WRONG) {
      if (out->first_wrong < 0) out->first_wrong = out->verdicts;
      status = attn_find_cause(e, judged, n, &v->cause, err);
      if (e->step[n].suspected) v->cause = e->step[n].suspected;
    }
    if (v->cells && v->judgement == ATTN_JUDGED_NOT_GIVEN) v->judgement = ATTN_JUDGED_OK;
    if (v->judgement > out->judgement) out->judgement = v->judgement;
    out->verdicts++;
  }
  if (e->uncertain && out->judgement == ATTN_JUDGED_OK) out->judgement = ATTN_JUDGED_DOUBTFUL;
  return status;
}

/* ---- Documents that were read in part ---- */

static int32_t unread_blocks(const attn_lesson *lesson) {
  int32_t blocks = 0;
  for (int32_t n = 0; n < lesson->unreads; n++)
    blocks += (int64_t)lesson->unread[n].rows * lesson->unread[n].cols > 1;
  return blocks;
}

static void make_doubtful(attn_step_verdict *v) {
  if (v->judgement > ATTN_JUDGED_DOUBTFUL) v->judgement = ATTN_JUDGED_DOUBTFUL;
  for (int32_t n = 0; n < v->findings; n++) v->finding[n].judgement = ATTN_JUDGED_DOUBTFUL;
}

enum { MANY_UNREAD = 3 }; /* a table or two aside are left alone */

static int is_read_in_part(const attn_lesson *lesson, const attn_example_verdict *out) {
  const int32_t unread = unread_blocks(lesson);
  int32_t judged = 0;
  for (int32_t n = 0; n < out->verdicts; n++) judged += out->verdict[n].cells > 0;
  return unread >= MANY_UNREAD && unread > judged / 2;
}

/* Is something not read between the first and the last number of an example? */
static int has_gaps(const attn_lesson *lesson, const attn_example *e) {
  int32_t first = INT32_MAX, last = 0;
  for (int32_t s = 0; s < e->steps; s++)
    for (int32_t p = 0; p < e->step[s].printings; p++) {
      const attn_printing *g = &e->step[s].printing[p];
      first = g->cells[0].line < first ? g->cells[0].line : first;
      last = g->cells[0].line > last ? g->cells[0].line : last;
    }
  int32_t n = 0;
  while (n < lesson->unreads && (lesson->unread[n].line < first || lesson->unread[n].line > last))
    n++;
  return n < lesson->unreads;
}

int32_t attn_errors_of(const attn_step_verdict *v) {
  int32_t count = 0;
  for (int32_t n = 0; n < v->findings; n++) count += v->finding[n].judgement != ATTN_JUDGED_CARRIED;
  return count;
}

/* Are most values of a table wrong? One row of scores is, where a query is misprinted. */
static int is_mostly_wrong(const attn_step *s, const attn_step_verdict *v) {
  return s->name > ATTN_STEP_V && s->exact.rows > 1 && s->exact.cols > 1 && v->cells > 2 &&
         2 * attn_errors_of(v) > v->cells;
}

/* Is all of the only printed step wrong? Perhaps it is another step. */
static int is_nothing_right(const attn_example_verdict *out, const attn_step_verdict *v) {
  for (int32_t n = 0; n < out->verdicts; n++)
    if (&out->verdict[n] != v && out->verdict[n].cells) return 0;
  return v->cells > 2 && attn_errors_of(v) == v->cells;
}

/* Does it follow, perhaps over steps that are not printed, from one whose role is a guess? */
static int is_of_guess(const attn_example *e, const attn_step *s) {
  for (int32_t n = 0; n < s->operands; n++) {
    const attn_step *of = &e->step[s->operand[n]];
    if (of->uncertain || (!of->printings && is_of_guess(e, of))) return 1;
  }
  return 0;
}

/* An error that no known slip explains may be one of the reading: where numbers between were not
 * read, where it follows from a guess, and where most values are wrong, unless they are the product
 * of an input and weights. */
static int is_misread(const attn_lesson *lesson, const attn_example *e,
                      const attn_example_verdict *out) {
  const attn_step_verdict *v = &out->verdict[out->first_wrong];
  const int is_single = v->cells == 1 || 2 * attn_errors_of(v) < v->cells;
  if (v->cause == ATTN_CAUSE_ARITHMETIC_CELL || v->cause == ATTN_CAUSE_SOFTMAX_CELL)
    return (!is_single || is_of_guess(e, &e->step[v->step])) && has_gaps(lesson, e);
  if (v->cause != ATTN_CAUSE_UNKNOWN || e->step[v->step].suspected || e->from_python) return 0;
  return is_mostly_wrong(&e->step[v->step], v) || is_nothing_right(out, v) || has_gaps(lesson, e) ||
         is_of_guess(e, &e->step[v->step]);
}

/* Scores or weights that nothing leads to were computed elsewhere, perhaps from more digits. */
static int is_of_rounded(const attn_example *e, const attn_step_verdict *v) {
  const attn_step *operand = &e->step[e->step[v->step].operand[0]];
  return v->cause == ATTN_CAUSE_ROUNDING_TOO_COARSE && operand->op == ATTN_OP_GIVEN &&
         operand->name >= ATTN_STEP_SCORES;
}

static int is_unread(const attn_lesson *lesson, const attn_step *s) {
  const attn_cell *first = s->printings ? &s->printing[0].cells[0] : NULL;
  int32_t n = 0;
  while (first && n < lesson->unreads &&
         (lesson->unread[n].line != first->line || lesson->unread[n].column != first->column))
    n++;
  return first && n < lesson->unreads;
}

/* Scores that do not follow from their queries and keys: both were perhaps read wrongly. */
static int is_of_unread(const attn_lesson *lesson, const attn_example *e,
                        const attn_step_verdict *v) {
  const attn_step *s = &e->step[v->step];
  int found = 0;
  for (int32_t n = 0; n < s->operands; n++) found |= is_unread(lesson, &e->step[s->operand[n]]);
  return found;
}

/* No value is called wrong of an example that was perhaps read wrongly. */
static void excuse_reading(const attn_lesson *lesson, const attn_example *e,
                           attn_example_verdict *out) {
  if (out->first_wrong < 0) return;
  const attn_step_verdict *first = &out->verdict[out->first_wrong];
  out->misread = is_read_in_part(lesson, out) || is_misread(lesson, e, out) ||
                 is_of_unread(lesson, e, first) || attn_heads_are_uneven(e);
  if (!out->misread && !is_of_rounded(e, first)) return;
  for (int32_t n = 0; n < out->verdicts; n++) make_doubtful(&out->verdict[n]);
  out->judgement = ATTN_JUDGED_DOUBTFUL;
  out->first_wrong = -1;
}

static attn_status judge_all(const attn_lesson *lesson, struct check_owner *o, attn_error *err) {
  o->check.examples = lesson->examples;
  o->check.example =
      attn_pool_take(o->memory, ((size_t)lesson->examples + 1) * sizeof *o->check.example);
  if (!o->check.example) return no_memory(err);
  for (int32_t n = 0; n < lesson->examples; n++) {
    struct attn_judged *judged;
    attn_status status = attn_judge_example(&lesson->example[n], o->memory, &judged, err);
    if (!status)
      status = describe(&lesson->example[n], judged, o->memory, &o->check.example[n], err);
    if (status) return status;
    excuse_reading(lesson, &lesson->example[n], &o->check.example[n]);
    if (o->check.example[n].judgement > o->check.judgement)
      o->check.judgement = o->check.example[n].judgement;
  }
  if ((lesson->unreads || lesson->incomplete) && o->check.judgement == ATTN_JUDGED_OK)
    o->check.judgement = ATTN_JUDGED_DOUBTFUL;
  return ATTN_OK;
}

attn_status attn_lesson_check(const attn_lesson *lesson, attn_check **check, attn_error *err) {
  struct check_owner *o = calloc(1, sizeof *o);
  *check = NULL;
  if (!o || !(o->memory = attn_pool_new())) {
    free(o);
    return no_memory(err);
  }
  attn_status status = judge_all(lesson, o, err);
  if (status)
    attn_check_free(&o->check);
  else
    *check = &o->check;
  return status;
}

void attn_check_free(attn_check *check) {
  struct check_owner *o = (struct check_owner *)(void *)check;
  if (!o) return;
  attn_pool_free(o->memory);
  free(o);
}

const char *attn_cause_label(int32_t cause) {
  static const char *const labels[] = {"none",
                                       "wrong_row_or_column",
                                       "transposed_weights",
                                       "swapped_qk",
                                       "missing_scale",
                                       "scale_by_dk",
                                       "scale_wrong_dim",
                                       "softmax_over_columns",
                                       "softmax_without_exp",
                                       "softmax_cell",
                                       "arithmetic_cell",
                                       "sign_slip",
                                       "mask_ignored",
                                       "mask_off_by_one",
                                       "mask_fill",
                                       "mask_after_softmax",
                                       "k_instead_of_v",
                                       "wrong_weight_row",
                                       "transcription",
                                       "rounding_too_coarse",
                                       "unknown"};
  return cause >= 0 && cause <= ATTN_CAUSE_UNKNOWN ? labels[cause] : "unknown";
}
