/* learn_question.c -- questions whose answer is a number or a text that the command recomputes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attn/model.h"
#include "console.h"
#include "learn.h"

enum {
  VALUES = 10, /* {0} to {9}; the last one is the answer */
  ANSWER = 9,
  VALUE_BYTES = 512,
  LINE_BYTES = 512,
  PERCENT_NEEDED = 90
};

/* A question with its numbers. */
struct learn_question {
  const struct attn_cli_learn_task *task;
  enum attn_cli_learn_question kind;
  int64_t number[4]; /* what the seed selected */
  char value[VALUES][VALUE_BYTES];
  char model[LINE_BYTES], answer[LINE_BYTES]; /* of the learner */
};

/* ---- Numbers ---- */

static uint64_t draw(uint64_t *state, uint64_t below) { return attn_cli_random(state) % below; }

static void set_date(struct learn_question *q, uint64_t *state) {
  static const char *const months[] = {"January",   "February", "March",    "April",
                                       "May",       "June",     "July",     "August",
                                       "September", "October",  "November", "December"};
  const int year = 1950 + (int)draw(state, 70), month = (int)draw(state, 12);
  const int day = 1 + (int)draw(state, 28);
  if (q->task->language)
    snprintf(q->value[0], VALUE_BYTES, "%d年%d月%d日", year, month + 1, day);
  else
    snprintf(q->value[0], VALUE_BYTES, "%d %s %d", day, months[month], year);
}

static void set_number(struct learn_question *q, int n, int64_t number) {
  q->number[n] = number;
  snprintf(q->value[n], VALUE_BYTES, "%lld", (long long)number);
}

static void set_numbers(struct learn_question *q) {
  uint64_t state = q->task->seed * 64 + (uint64_t)q->kind;
  switch (q->kind) {
    case LEARN_CROSS_WEIGHTS:
      set_number(q, 0, 2 + (int64_t)draw(&state, 5));
      set_number(q, 1, 2 << draw(&state, 3));
      set_number(q, 2, 5 + (int64_t)draw(&state, 20));
      set_number(q, 3, 4 + (int64_t)draw(&state, 12));
      break;
    case LEARN_CAUSAL_WEIGHTS:
      set_number(q, 0, 5 + (int64_t)draw(&state, 20));
      set_number(q, 1, 2 << draw(&state, 3));
      break;
    default:
      set_date(q, &state);
      set_number(q, 1,
                 q->kind == LEARN_WEIGHT ? (int64_t)draw(&state, 8) : 1 + (int64_t)draw(&state, 2));
      set_number(q, 2, 1 + (int64_t)draw(&state, 2));
  }
}

/* ---- The model ---- */

/* The weights of one head; row 0 belongs to the query that generates the first token. */
struct learn_head {
  int32_t layer, head;
  int64_t key;          /* LEARN_WEIGHT: of which weight */
  const char *expected; /* LEARN_STRONGEST: the learner's answer */
  int64_t keys, strongest;
  double weight, largest;
  int is_found;
};

static int visit_head(void *context, const attn_attention *a) {
  struct learn_head *h = context;
  if (a->kind != ATTN_ATTENTION_CROSS || a->layer != h->layer || a->head != h->head) return 0;
  h->is_found = a->queries > 0, h->keys = a->keys;
  for (int64_t k = 0; k < a->keys; k++) {
    if (k == h->key) h->weight = (double)a->weights[k];
    if ((double)a->weights[k] > h->largest) h->largest = (double)a->weights[k], h->strongest = k;
  }
  return 0;
}

static attn_status answer_head(struct learn_question *q, const attn_model *model, attn_error *err) {
  const int one = q->kind == LEARN_WEIGHT;
  struct learn_head h = {.layer = one ? 0 : (int32_t)q->number[1] - 1,
                         .head = one ? 0 : (int32_t)q->number[2] - 1,
                         .key = one ? q->number[1] : 0};
  attn_status status = attn_model_visit_attention(model, q->value[0], NULL, 0, visit_head, &h, err);
  if (status) return status;
  if (!h.is_found || h.key >= h.keys)
    return attn_cli_fail(err, ATTN_ERR_ARGUMENT,
                         "%s: the model has no such head of cross-attention; train it with "
                         "attn train dates",
                         q->model);
  if (one)
    snprintf(q->value[ANSWER], VALUE_BYTES, "%.4f", h.weight);
  else
    snprintf(q->value[ANSWER], VALUE_BYTES, "%lld", (long long)h.strongest);
  return ATTN_OK;
}

static attn_status answer_translation(struct learn_question *q, const attn_model *model,
                                      attn_error *err) {
  attn_generation_config config = ATTN_GENERATION_CONFIG_INIT;
  const char *source = q->value[0];
  attn_generation_result result = ATTN_GENERATION_RESULT_INIT;
  attn_status status = attn_model_generate(model, &source, 1, &config, &result, err);
  if (status) return status;
  struct attn_cli_buffer shown = {NULL, 0, 0, 0}; /* as attn generate prints it */
  const attn_sink sink = attn_cli_buffer_sink(&shown);
  attn_text_write_plain(result.text, (size_t)result.text_length, &sink, NULL);
  snprintf(q->value[ANSWER], VALUE_BYTES, "%.*s", (int)shown.size, shown.bytes ? shown.bytes : "");
  free(shown.bytes);
  attn_generation_results_free(&result, 1);
  return ATTN_OK;
}

/* A model of the task that generates most dates correctly. *percent is negative, or too low. */
static attn_status require_trained(const struct learn_question *q, const attn_model_info *info,
                                   int *percent, attn_error *err) {
  *percent = -1;
  if (!info->has_training || !info->task || strcmp(info->task, "dates"))
    return attn_cli_fail(err, ATTN_ERR_ARGUMENT,
                         "%.200s: is not a model that attn train dates wrote", q->model);
  const double share = info->validation_exact_match;
  const int whole = share >= 0 ? (int)(share * 100) : 0;
  if (whole < PERCENT_NEEDED) *percent = whole;
  return ATTN_OK;
}

static attn_status answer_model(struct learn_question *q, int *percent, attn_error *err) {
  attn_model *model;
  attn_model_info info = {.struct_size = sizeof info};
  attn_status status = attn_model_open(q->model, &model, err);
  if (!status) status = attn_model_describe(model, &info, err);
  if (!status) status = require_trained(q, &info, percent, err);
  if (!status && *percent < 0 && q->kind == LEARN_PARAMETERS)
    snprintf(q->value[ANSWER], VALUE_BYTES, "%lld", (long long)info.parameter_count);
  else if (!status && *percent < 0 && q->kind == LEARN_TRANSLATION)
    status = answer_translation(q, model, err);
  else if (!status && *percent < 0)
    status = answer_head(q, model, err);
  attn_model_free(model);
  return status;
}

/* Computes the answer. */
static attn_status find_answer(struct learn_question *q, int *percent, attn_error *err) {
  const int64_t *n = q->number;
  int64_t count = n[0] * n[1] * n[2] * n[3];
  *percent = -1;
  if (q->kind >= LEARN_PARAMETERS) return answer_model(q, percent, err);
  if (q->kind == LEARN_CAUSAL_WEIGHTS) count = n[1] * n[0] * (n[0] + 1) / 2;
  snprintf(q->value[ANSWER], VALUE_BYTES, "%lld", (long long)count);
  return ATTN_OK;
}

/* ---- The learner's file ---- */

/* The rest of the line that begins with a key, without the spaces around it; "" without a line. */
static void read_field(const char *text, const char *key, char to[LINE_BYTES]) {
  const char *at = text;
  *to = 0;
  while (strncmp(at, key, strlen(key))) {
    at = strchr(at, '\n');
    if (!at) return;
    at++;
  }
  at += strlen(key), at += strspn(at, " \t");
  size_t bytes = strcspn(at, "\r\n");
  while (bytes && (at[bytes - 1] == ' ' || at[bytes - 1] == '\t')) bytes--;
  snprintf(to, LINE_BYTES, "%.*s", (int)(bytes < LINE_BYTES - 1 ? bytes : LINE_BYTES - 1), at);
}

static int is_unanswered(const char *answer) {
  return !*answer || !strcmp(answer, "…") || !strcmp(answer, "...") || !strcmp(answer, "?");
}

/* A weight may be rounded to three decimals. */
static int is_right(const struct learn_question *q) {
  double own, right;
  if (attn_cli_parse_double(q->answer, &own) || attn_cli_parse_double(q->value[ANSWER], &right))
    return !strcmp(q->answer, q->value[ANSWER]);
  return fabs(own - right) <= (q->kind == LEARN_WEIGHT ? 6e-4 : 0);
}

/* ---- Texts ---- */

static void begin(struct learn_question *q, const struct attn_cli_learn_task *task) {
  *q = (struct learn_question){.task = task, .kind = attn_cli_learn_exercise_of(task)->question};
  set_numbers(q);
}

/* Part n of a text whose parts are separated by lines "---". */
static const char *part_of(const char *text, int n, size_t *bytes) {
  static const char separator[] = "\n---\n";
  for (; n > 0; n--) text = strstr(text, separator) + strlen(separator);
  const char *end = strstr(text, separator);
  *bytes = end ? (size_t)(end + 1 - text) : strlen(text);
  return text;
}

static void put_part(const struct learn_question *q, int n, int32_t language,
                     const attn_sink *sink) {
  const char *values[VALUES];
  size_t bytes;
  const char *part = part_of(attn_cli_learn_exercise_of(q->task)->text[language], n, &bytes);
  char text[4096];
  for (int v = 0; v < VALUES; v++) values[v] = *q->value[v] ? q->value[v] : NULL;
  snprintf(text, sizeof text, "%.*s", (int)bytes, part);
  attn_cli_learn_fill_text(sink, text, values, VALUES);
}

void attn_cli_learn_question_text(const struct attn_cli_learn_task *task, const attn_sink *sink) {
  struct learn_question q;
  begin(&q, task);
  put_part(&q, 0, task->language, sink);
}

/* ---- The check ---- */

static void put_hint(const struct learn_question *q, struct attn_cli_learn_check *c) {
  const attn_sink sink = attn_cli_buffer_sink(&c->result.report);
  int n = attn_cli_learn_choose_hint(c, 1);
  if (n == 3 && !*q->value[ANSWER]) n = 2; /* there is no model to compute it from */
  attn_cli_learn_put(&sink, c->style->language, LEARN_HINT, LEARN_NUMBER(n), NULL, NULL);
  put_part(q, n, c->style->language, &sink);
}

attn_status attn_cli_learn_check_question(struct attn_cli_learn_check *c, attn_error *err) {
  const attn_sink sink = attn_cli_buffer_sink(&c->result.report);
  const int32_t language = c->style->language;
  struct learn_question q;
  int percent;
  begin(&q, &c->task);
  read_field(c->text, "model:", q.model), read_field(c->text, "answer:", q.answer);
  c->result.open = is_unanswered(q.answer);
  attn_status status = find_answer(&q, &percent, err);
  if (status && (!c->result.open || q.kind < LEARN_PARAMETERS)) return status;
  c->result.wrong = !c->result.open && (percent >= 0 || !is_right(&q));
  if (c->result.open)
    attn_cli_learn_put(&sink, language, LEARN_NO_ANSWER, NULL, NULL, NULL);
  else if (percent >= 0)
    attn_cli_learn_put(&sink, language, LEARN_NOT_TRAINED, LEARN_NUMBER(percent), NULL, NULL);
  else if (c->result.wrong)
    attn_cli_learn_put(&sink, language, LEARN_WRONG_ANSWER, q.answer, NULL, NULL);
  if ((c->result.open || c->result.wrong) && percent < 0) put_hint(&q, c);
  return ATTN_OK;
}
