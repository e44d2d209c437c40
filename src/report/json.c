/* json.c -- the same for programs, written as it goes: docs/check.schema.json. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "out.h"

static void string(struct attn_out *out, const char *text) {
  attn_out_text(out, "\"");
  for (const char *at = text ? text : ""; *at; at++) {
    char one[8] = {*at, 0};
    if (*at == '"' || *at == '\\') snprintf(one, sizeof one, "\\%c", *at);
    if ((unsigned char)*at < 0x20) snprintf(one, sizeof one, "\\u%04x", (unsigned)*at);
    attn_out_text(out, one);
  }
  attn_out_text(out, "\"");
}

/* JSON has no infinities: null. */
static void number(struct attn_out *out, double value) {
  if (isfinite(value))
    attn_out_format(out, "%.17g", value);
  else
    attn_out_text(out, "null");
}

static void key(struct attn_out *out, const char *name, int first) {
  attn_out_format(out, "%s\"%s\": ", first ? "" : ", ", name);
}

static const char *verdict(int32_t judgement) {
  if (judgement == ATTN_JUDGED_WRONG || judgement == ATTN_JUDGED_CARRIED) return "wrong";
  if (judgement == ATTN_JUDGED_DOUBTFUL) return "doubtful";
  return judgement == ATTN_JUDGED_OK ? "correct" : "nothing_to_check";
}

static const char *status(int32_t judgement) {
  static const char *const names[] = {"not_given", "ok", "doubtful", "carried", "wrong"};
  return names[judgement];
}

static void finding(struct attn_out *out, const attn_finding *f) {
  attn_out_format(out, "\"row\": %d, \"col\": %d", (int)f->row, (int)f->col);
  key(out, "printed", 0), number(out, f->printed);
  key(out, "expected", 0), number(out, f->expected);
}

static void step(struct attn_out *out, const attn_step *s, const attn_step_verdict *v) {
  attn_out_text(out, "{");
  key(out, "name", 1), string(out, attn_step_label(s->name));
  if (s->head >= 0) attn_out_format(out, ", \"head\": %d", (int)s->head);
  key(out, "status", 0), string(out, status(v->judgement));
  key(out, "cells", 0);
  for (int32_t n = 0; n < v->findings; n++) {
    attn_out_text(out, n ? ", {" : "[{");
    finding(out, &v->finding[n]);
    attn_out_text(out, "}");
  }
  attn_out_text(out, v->findings ? "]}" : "[]}");
}

static void first_wrong(struct attn_out *out, const attn_example *e, const attn_example_verdict *v) {
  key(out, "first_wrong", 0);
  if (v->first_wrong < 0) {
    attn_out_text(out, "null");
    return;
  }
  const attn_step_verdict *w = &v->verdict[v->first_wrong];
  const attn_finding *f = w->finding;
  while (f < w->finding + w->findings - 1 && f->judgement != ATTN_JUDGED_WRONG) f++;
  attn_out_text(out, "{");
  key(out, "step", 1), string(out, attn_step_label(e->step[w->step].name));
  if (e->step[w->step].head >= 0) attn_out_format(out, ", \"head\": %d", (int)e->step[w->step].head);
  attn_out_text(out, ", ");
  finding(out, f);
  key(out, "cause", 0), string(out, attn_cause_label(w->cause));
  attn_out_text(out, "}");
}

static int listed(const attn_step *s) { return s->name >= ATTN_STEP_Q && s->name <= ATTN_STEP_PROJECTED; }

static void example(struct attn_out *out, const attn_example *e, const attn_example_verdict *v) {
  attn_out_text(out, "{");
  key(out, "title", 1), string(out, e->title);
  key(out, "orientation", 0), string(out, e->orientation ? "columns" : "rows");
  key(out, "steps", 0);
  attn_out_text(out, "[");
  for (int32_t n = 0, any = 0; n < v->verdicts; n++) {
    if (!listed(&e->step[v->verdict[n].step])) continue;
    if (any++) attn_out_text(out, ", ");
    step(out, &e->step[v->verdict[n].step], &v->verdict[n]);
  }
  attn_out_text(out, "]");
  first_wrong(out, e, v);
  attn_out_text(out, "}");
}

attn_status attn_check_print_json(const char *file, const attn_lesson *lesson,
                                  const attn_check *check, const attn_error *problem,
                                  const attn_sink *sink, attn_error *err) {
  struct attn_out out = attn_out_begin(NULL, sink);
  attn_out_text(&out, "{\"schema\": \"attn-check/1\"");
  key(&out, "file", 0), string(&out, file);
  key(&out, "verdict", 0), string(&out, check ? verdict(check->judgement) : "bad_input");
  if (!check && problem) {
    attn_out_format(&out, ", \"error\": {\"line\": %lld, \"col\": %lld", (long long)problem->line, (long long)problem->column);
    key(&out, "message", 0), string(&out, problem->message);
    attn_out_text(&out, "}");
  }
  key(&out, "examples", 0);
  attn_out_text(&out, "[");
  for (int32_t n = 0; check && n < check->examples; n++) {
    if (n) attn_out_text(&out, ", ");
    example(&out, &lesson->example[n], &check->example[n]);
  }
  attn_out_text(&out, "]}\n");
  return attn_out_end(&out, err);
}

/* ---- Explain ------------------------------------------------------------------------------ */

static void matrix(struct attn_out *out, const attn_matrix *m) {
  attn_out_text(out, "[");
  for (int32_t i = 0; i < m->rows; i++) {
    attn_out_text(out, i ? ", [" : "[");
    for (int32_t j = 0; j < m->cols; j++) {
      if (j) attn_out_text(out, ", ");
      number(out, m->at[(int64_t)i * m->cols + j]);
    }
    attn_out_text(out, "]");
  }
  attn_out_text(out, "]");
}

static void names(struct attn_out *out, const char *name, char **token, int32_t count) {
  key(out, name, 0);
  attn_out_text(out, "[");
  for (int32_t n = 0; n < count; n++) {
    if (n) attn_out_text(out, ", ");
    string(out, token[n]);
  }
  attn_out_text(out, "]");
}

static void explained_step(struct attn_out *out, const attn_step *s) {
  attn_out_text(out, "{");
  key(out, "name", 1), string(out, attn_step_label(s->name));
  key(out, "symbol", 0), string(out, s->symbol);
  if (s->head >= 0) attn_out_format(out, ", \"head\": %d", (int)s->head);
  key(out, "operands", 0);
  attn_out_text(out, "[");
  for (int32_t n = 0; n < s->operands; n++) attn_out_format(out, "%s%d", n ? ", " : "", (int)s->operand[n]);
  attn_out_text(out, "]");
  key(out, "exact", 0), matrix(out, &s->exact);
  attn_out_text(out, "}");
}

attn_status attn_lesson_explain_json(const attn_lesson *lesson, const attn_sink *sink, attn_error *err) {
  struct attn_out out = attn_out_begin(NULL, sink);
  attn_out_text(&out, "{\"schema\": \"attn-explain/1\"");
  key(&out, "file", 0), string(&out, lesson->file);
  key(&out, "examples", 0);
  attn_out_text(&out, "[");
  for (int32_t n = 0; n < lesson->examples; n++) {
    const attn_example *e = &lesson->example[n];
    attn_out_text(&out, n ? ", {" : "{");
    key(&out, "title", 1), string(&out, e->title);
    key(&out, "orientation", 0), string(&out, e->orientation ? "columns" : "rows");
    names(&out, "keys", e->key_token, e->key_tokens);
    names(&out, "queries", e->query_token, e->query_tokens);
    key(&out, "steps", 0);
    attn_out_text(&out, "[");
    for (int32_t k = 0; k < e->steps; k++) {
      if (k) attn_out_text(&out, ", ");
      explained_step(&out, &e->step[k]);
    }
    attn_out_text(&out, "]}");
  }
  attn_out_text(&out, "]}\n");
  return attn_out_end(&out, err);
}
