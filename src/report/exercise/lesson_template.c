/* lesson_template.c -- attn_lesson_template: checks what is requested, and writes the lesson. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "descriptor.h"
#include "error.h"
#include "exercise.h"
#include "text_writer.h"
#include "utf8.h"

enum { TOKEN_BYTES = 60, QUESTION_BYTES = 120, LEVELS = 3, SCALING_TOKENS = 5 };

#define IDEOGRAPHIC_SPACE "\xE3\x80\x80"

static const char *const kind_names[] = {"self",      "causal",  "cross",   "heads",
                                         "positions", "scaling", "columns", "question"};
enum { KINDS = sizeof kind_names / sizeof *kind_names };

/* ---- Tokens ---- */

/* Whether a document can hold the text and it is not read as a number, a blank or markup. */
static int is_usable(const char *text, size_t bytes, size_t most) {
  int letters = 0;
  int32_t c;
  for (size_t n = 0; n < bytes;) {
    n += attn_utf8_read_displayable(text + n, bytes - n, &c);
    if (c == ATTN_UTF8_REPLACEMENT || (c < 0x80 && strchr("|`$\\<>*_#", c))) return 0;
    letters += c >= 0x80 || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
  }
  return letters && bytes <= most;
}

static attn_status refuse_text(const char *name, const char *text, size_t bytes, size_t most,
                               attn_error *err) {
  return attn_fail(err, ATTN_ERR_ARGUMENT, name,
                   "%s: \"%.*s\" is not usable: it needs a letter and at most %d bytes, without "
                   "| ` $ \\ < > * _ # and control characters",
                   name, (int)(bytes < most ? bytes : most), text, (int)most);
}

/* The bytes of a separator at text, a space of ASCII or of Japanese; 0: none. */
static size_t separator(const char *text) {
  size_t wide = sizeof IDEOGRAPHIC_SPACE - 1;
  return *text == ' ' ? 1 : strncmp(text, IDEOGRAPHIC_SPACE, wide) ? 0 : wide;
}

static attn_status split(const char *name, const char *text, int32_t least, int32_t most,
                         struct attn_exercise_names *to, attn_error *err) {
  for (const char *at = text; *at;) {
    size_t skip = separator(at), n = 0;
    at += skip;
    if (skip) continue;
    while (at[n] && !separator(at + n)) n++;
    if (!is_usable(at, n, TOKEN_BYTES)) return refuse_text(name, at, n, TOKEN_BYTES, err);
    if (to->count == most)
      return attn_fail(err, ATTN_ERR_ARGUMENT, name, "%s: at most %d are supported", name,
                       (int)most);
    to->at[to->count++] = (struct attn_exercise_token){at, n};
    at += n;
  }
  if (to->count >= least) return ATTN_OK;
  return attn_fail(err, ATTN_ERR_ARGUMENT, name,
                   "%s: %d given, at least %d needed, separated by spaces%s", name, (int)to->count,
                   (int)least, least > 1 ? "; a single key always has weight 1" : "");
}

/* ---- What is requested ---- */

static attn_status check_range(const char *name, int32_t value, int32_t least, int32_t most,
                               attn_error *err) {
  if (value >= least && value <= most) return ATTN_OK;
  return attn_fail(err, ATTN_ERR_ARGUMENT, name, "%s must be between %d and %d, got %d", name,
                   (int)least, (int)most, (int)value);
}

/* Refuses a member that the kind does not use. */
static attn_status check_kind(const attn_lesson_template_config *c, const char *name, int is_set,
                              int32_t kind, attn_error *err) {
  if (!is_set || c->kind == kind) return ATTN_OK;
  return attn_fail(err, ATTN_ERR_ARGUMENT, name, "%s applies to kind %s, got kind %s", name,
                   kind_names[kind], kind_names[c->kind]);
}

static attn_status check_question(const attn_lesson_template_config *c, attn_error *err) {
  int given = (c->tokens != NULL) + (c->question != NULL) + (c->answer != NULL);
  if (c->kind != ATTN_TEMPLATE_QUESTION || !given || given == 3) return ATTN_OK;
  return attn_fail(err, ATTN_ERR_ARGUMENT,
                   c->tokens ? c->question ? "answer" : "question" : "tokens",
                   "kind question needs tokens, a question and its answer; or leave all three out");
}

static attn_status check_steps(const attn_lesson_template_config *c, attn_error *err) {
  attn_status status = ATTN_OK;
  if (c->first_step)
    status = check_range("first_step", c->first_step, ATTN_STEP_Q, ATTN_STEP_PROJECTED, err);
  if (!status && c->last_step)
    status = check_range("last_step", c->last_step, ATTN_STEP_Q, ATTN_STEP_PROJECTED, err);
  return status;
}

static attn_status check_config(attn_lesson_template_config *c, attn_error *err) {
  attn_status status = ATTN_OK;
  if (c->kind < 0 || c->kind >= KINDS)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "kind", "unknown kind %d", (int)c->kind);
  if (!c->level) c->level = 1;
  status = check_range("level", c->level, 1, LEVELS, err);
  if (!status) status = check_kind(c, "num_heads", c->num_heads, ATTN_TEMPLATE_HEADS, err);
  if (!c->num_heads) c->num_heads = 2;
  if (!status) status = check_range("num_heads", c->num_heads, 2, ATTN_EXERCISE_HEADS_MAX, err);
  if (!status)
    status = check_kind(c, "query_tokens", c->query_tokens != NULL, ATTN_TEMPLATE_CROSS, err);
  if (!status) status = check_kind(c, "question", c->question != NULL, ATTN_TEMPLATE_QUESTION, err);
  if (!status) status = check_kind(c, "answer", c->answer != NULL, ATTN_TEMPLATE_QUESTION, err);
  if (!status) status = check_steps(c, err);
  return status ? status : check_question(c, err);
}

static const char *usual_tokens(int32_t kind, int32_t language) {
  static const char *const tokens[][2] = {
      [ATTN_TEMPLATE_SELF] = {"Mia likes cats", "私は 猫が 好き"},
      [ATTN_TEMPLATE_CAUSAL] = {"once upon a time", "今日は とても いい 天気"},
      [ATTN_TEMPLATE_CROSS] = {"le chat dort", "I like cats"},
      [ATTN_TEMPLATE_HEADS] = {"we read books", "私たちは 本を 読む"},
      [ATTN_TEMPLATE_POSITIONS] = {"dog bites man", "犬が 人を 噛む"},
      [ATTN_TEMPLATE_SCALING] = {"Mia likes cats", "私は 猫が 好き"},
      [ATTN_TEMPLATE_COLUMNS] = {"I drink tea", "私は お茶を 飲む"},
  };
  return tokens[kind][language];
}

/* ---- The question ---- */

static int32_t find_token(const struct attn_exercise_names *names, const char *text) {
  for (int32_t n = 0; n < names->count; n++)
    if (strlen(text) == names->at[n].bytes && !strncmp(text, names->at[n].text, strlen(text)))
      return n;
  return -1;
}

static attn_status set_question(struct attn_exercise *s, attn_error *err) {
  const attn_lesson_template_config *c = &s->config;
  if (!is_usable(c->question, strlen(c->question), QUESTION_BYTES))
    return refuse_text("question", c->question, strlen(c->question), QUESTION_BYTES, err);
  s->question.text = c->question;
  for (int32_t f = 0; f < ATTN_EXERCISE_FEATURES; f++) s->question.word[f] = -1;
  s->question.word[0] = find_token(&s->keys, c->answer);
  if (s->question.word[0] >= 0) return ATTN_OK;
  return attn_fail(err, ATTN_ERR_ARGUMENT, "answer",
                   "answer must be one of the tokens, got \"%.*s\"", TOKEN_BYTES, c->answer);
}

/* ---- The rows of the queries and keys ---- */

static attn_status name_rows(struct attn_exercise *s, int32_t language, uint64_t *state,
                             attn_error *err) {
  const attn_lesson_template_config *c = &s->config;
  const char *tokens = c->tokens, *queries = c->query_tokens;
  int is_asked = c->kind == ATTN_TEMPLATE_QUESTION;
  int32_t most = c->kind == ATTN_TEMPLATE_SCALING ? SCALING_TOKENS : ATTN_EXERCISE_TOKENS;
  if (is_asked && !tokens) attn_exercise_ask(language, state, &tokens, &s->question);
  if (!tokens) tokens = usual_tokens(c->kind, language);
  attn_status status = split("tokens", tokens, 2, most, &s->keys, err);
  if (!status && is_asked && !s->question.text) status = set_question(s, err);
  if (c->kind == ATTN_TEMPLATE_CROSS && !queries)
    queries = language == ATTN_LANGUAGE_JAPANESE ? "私は 猫が" : "the cat";
  if (c->kind == ATTN_TEMPLATE_SCALING) queries = "q";
  if (is_asked) queries = attn_message_text(MESSAGE_NEW_QUESTION, language);
  if (!status && queries) return split("query_tokens", queries, 1, most, &s->queries, err);
  s->queries = s->keys;
  return status;
}

static attn_status write_sheet(struct attn_exercise *s, struct attn_out *out, attn_error *err) {
  uint64_t state = s->config.seed;
  attn_status status = name_rows(s, out->style.language, &state, err);
  if (status) return status;
  if (attn_exercise_draw(s, &state))
    return attn_fail(err, ATTN_ERR_ARGUMENT, "seed",
                     "no numbers found for seed %llu; try another seed or fewer tokens",
                     (unsigned long long)s->config.seed);
  attn_exercise_print(s, out);
  return attn_out_end(out, err);
}

attn_status attn_lesson_template(const attn_lesson_template_config *config, const attn_style *style,
                                 const attn_sink *sink, attn_error *err) {
  struct attn_out out;
  struct attn_exercise *s = calloc(1, sizeof *s);
  if (!s) return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for the lesson");
  attn_status status =
      attn_descriptor_copy(config, &s->config, sizeof s->config,
                           offsetof(attn_lesson_template_config, first_step), "config", err);
  if (!status) status = check_config(&s->config, err);
  if (!status) status = attn_out_open(&out, style, sink, err);
  if (!status) status = write_sheet(s, &out, err);
  free(s);
  return status;
}
