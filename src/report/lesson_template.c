/* lesson_template.c -- attn_lesson_template: a new lesson, solved or with blank answers. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "number_text.h"
#include "text_writer.h"
#include "text_layout.h"
#include "utf8.h"

enum { TOKENS_MAX = 32, MODEL = 4, KEY = 2, DECIMALS = 4, TITLE_BYTES = 512 };

struct template_token {
  const char *text;
  size_t bytes;
};

struct template_sheet {
  struct attn_out *out;
  int32_t blank;
  int32_t tokens;
  struct template_token token[TOKENS_MAX];
  double x[TOKENS_MAX * MODEL], w[3][MODEL * KEY], qkv[3][TOKENS_MAX * KEY];
  double scores[TOKENS_MAX * TOKENS_MAX], scaled[TOKENS_MAX * TOKENS_MAX];
  double weights[TOKENS_MAX * TOKENS_MAX], output[TOKENS_MAX * KEY];
};

/* ---- Tokens ---- */

/* Whether a table can hold the token and it is not read as a number or a blank. */
static int is_usable(const struct template_token *t) {
  int letters = 0;
  int32_t c;
  for (size_t n = 0; n < t->bytes;) {
    n += attn_utf8_read_displayable(t->text + n, t->bytes - n, &c);
    if (c == ATTN_UTF8_REPLACEMENT || (c < 0x80 && strchr("|`$\\<>*_#", c))) return 0;
    letters += c >= 0x80 || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
  }
  return letters && t->bytes <= 60;
}

static attn_status split(const char *text, struct template_sheet *s, attn_error *err) {
  for (const char *at = text; *at;) {
    size_t n = strcspn(at, " ");
    const struct template_token t = {at, n};
    at += n + (at[n] == ' ');
    if (!n) continue;
    if (s->tokens == TOKENS_MAX)
      return attn_fail(err, ATTN_ERR_ARGUMENT, "tokens", "at most %d tokens are supported",
                       TOKENS_MAX);
    if (!is_usable(&t))
      return attn_fail(
          err, ATTN_ERR_ARGUMENT, "tokens",
          "%.*s is not a usable token: it needs a letter and at most 60 bytes, without "
          "| ` $ \\ < > * _ # and control characters",
          (int)(n < 60 ? n : 60), t.text);
    s->token[s->tokens++] = t;
  }
  if (!s->tokens) return attn_fail(err, ATTN_ERR_ARGUMENT, "tokens", "tokens is empty");
  return ATTN_OK;
}

/* ---- Numbers ---- */

/* SplitMix64: a seed gives the same lesson on every machine. */
static uint64_t draw(uint64_t *state, uint64_t below) {
  uint64_t z = *state += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return (z ^ (z >> 31)) % below;
}

/* Rows of small integers, no row all 0. */
static void fill(double *m, int32_t rows, int32_t cols, uint64_t below, uint64_t *state) {
  for (int32_t i = 0; i < rows; i++) {
    double sum = 0;
    for (int32_t j = 0; j < cols; j++) sum += m[i * cols + j] = (double)draw(state, below);
    if (sum == 0) m[i * cols + (int32_t)draw(state, (uint64_t)cols)] = 1;
  }
}

/* out = a b, or a b^T if transposed. */
static void multiply(const double *a, const double *b, double *out, int32_t rows, int32_t inner,
                     int32_t cols, int transposed) {
  for (int32_t i = 0; i < rows; i++)
    for (int32_t j = 0; j < cols; j++) {
      double sum = 0;
      for (int32_t k = 0; k < inner; k++)
        sum += a[i * inner + k] * (transposed ? b[j * inner + k] : b[k * cols + j]);
      out[i * cols + j] = sum;
    }
}

static void solve(struct template_sheet *s, uint64_t seed) {
  int32_t n = s->tokens;
  fill(s->x, n, MODEL, 2, &seed);
  for (int m = 0; m < 3; m++) {
    fill(s->w[m], MODEL, KEY, 2, &seed);
    multiply(s->x, s->w[m], s->qkv[m], n, MODEL, KEY, 0);
  }
  multiply(s->qkv[0], s->qkv[1], s->scores, n, KEY, n, 1);
  for (int32_t i = 0; i < n; i++) {
    double sum = 0, top = 0;
    for (int32_t j = 0; j < n; j++) top = fmax(top, s->scores[i * n + j]);
    for (int32_t j = 0; j < n; j++) {
      s->scaled[i * n + j] = s->scores[i * n + j] / sqrt(KEY);
      sum += s->weights[i * n + j] = exp((s->scores[i * n + j] - top) / sqrt(KEY));
    }
    for (int32_t j = 0; j < n; j++) s->weights[i * n + j] /= sum;
  }
  multiply(s->weights, s->qkv[2], s->output, n, n, KEY, 0);
}

/* ---- The document ---- */

static void put_token(const struct template_sheet *s, int32_t n, int width) {
  char text[64];
  memcpy(text, s->token[n].text, s->token[n].bytes);
  text[s->token[n].bytes] = 0;
  attn_out_text(s->out, text);
  for (int k = attn_text_width(text); k < width; k++) attn_out_text(s->out, " ");
}

static int token_width(const struct template_sheet *s) {
  char text[64];
  int widest = attn_text_width(attn_message_text(MESSAGE_NEW_TOKEN, s->out->style.language));
  for (int32_t n = 0; n < s->tokens; n++) {
    memcpy(text, s->token[n].text, s->token[n].bytes);
    text[s->token[n].bytes] = 0;
    if (attn_text_width(text) > widest) widest = attn_text_width(text);
  }
  return widest;
}

struct markdown_table {
  const char *name;
  const double *at;
  int32_t rows, cols;
  int named;     /* rows by token */
  int to_tokens; /* columns by token */
  int decimals;
  int answer; /* left blank in an exercise */
};

/* The widest of a table's numbers and headings. */
static int cell_width(const struct template_sheet *s, const struct markdown_table *t) {
  char number[ATTN_NUMBER_BYTES];
  int widest = 2;
  for (int32_t n = 0; n < t->rows * t->cols; n++) {
    int width = attn_text_width(attn_number_fixed(t->at[n], t->decimals, number));
    if (width > widest) widest = width;
  }
  return t->to_tokens && token_width(s) > widest ? token_width(s) : widest;
}

static void put_right(const struct template_sheet *s, const char *text, int width) {
  for (int k = attn_text_width(text); k < width; k++) attn_out_text(s->out, " ");
  attn_out_text(s->out, text);
}

static void put_heading(const struct template_sheet *s, const struct markdown_table *t, int width,
                        int cell) {
  const char *corner = t->named ? attn_message_text(MESSAGE_NEW_TOKEN, s->out->style.language) : "";
  char number[16];
  attn_out_text(s->out, "| ");
  attn_out_text(s->out, corner);
  for (int k = attn_text_width(corner); k < width; k++) attn_out_text(s->out, " ");
  for (int32_t j = 0; j < t->cols; j++) {
    attn_out_text(s->out, " | ");
    snprintf(number, sizeof number, "c%d", (int)j + 1);
    if (t->to_tokens)
      put_token(s, j, cell);
    else
      put_right(s, number, cell);
  }
  attn_out_text(s->out, " |\n|-");
  for (int k = 0; k < width; k++) attn_out_text(s->out, "-");
  for (int32_t j = 0; j < t->cols; j++) {
    attn_out_text(s->out, "-|-");
    for (int k = 0; k < cell; k++) attn_out_text(s->out, "-");
  }
  attn_out_text(s->out, "-|\n");
}

static void put_table(const struct template_sheet *s, const struct markdown_table *t) {
  int width = t->named ? token_width(s) : 3, cell = cell_width(s, t);
  char number[ATTN_NUMBER_BYTES];
  attn_out_text(s->out, t->name);
  attn_out_text(s->out, ":\n\n");
  put_heading(s, t, width, cell);
  for (int32_t i = 0; i < t->rows; i++) {
    attn_out_text(s->out, "| ");
    snprintf(number, sizeof number, "r%-*d", width - 1, (int)i + 1);
    if (t->named)
      put_token(s, i, width);
    else
      attn_out_text(s->out, number);
    for (int32_t j = 0; j < t->cols; j++) {
      attn_out_text(s->out, " | ");
      attn_number_fixed(t->at[i * t->cols + j], t->decimals, number);
      put_right(s, s->blank && t->answer ? "…" : number, cell);
    }
    attn_out_text(s->out, " |\n");
  }
  attn_out_text(s->out, "\n");
}

static void put_paragraph(const struct template_sheet *s, int message, const char *a,
                          const char *b) {
  attn_out_message(s->out, message, a, b, NULL);
  attn_out_line(s->out, 0);
  attn_out_text(s->out, "\n");
}

static void put_title(const struct template_sheet *s) {
  char title[TITLE_BYTES] = "";
  for (int32_t n = 0; n < s->tokens; n++) {
    size_t used = strlen(title);
    if (used + s->token[n].bytes + 2 > sizeof title) break;
    snprintf(title + used, sizeof title - used, "%s%.*s", n ? " " : "", (int)s->token[n].bytes,
             s->token[n].text);
  }
  attn_out_text(s->out, "# ");
  put_paragraph(s, MESSAGE_NEW_TITLE, title, NULL);
  put_paragraph(s, s->blank ? MESSAGE_NEW_INTRO_BLANK : MESSAGE_NEW_INTRO, NULL, NULL);
  attn_out_text(s->out, "tokens:");
  for (int32_t n = 0; n < s->tokens; n++) attn_out_text(s->out, " "), put_token(s, n, 0);
  attn_out_text(s->out, "\n\n");
}

static void put_sheet(const struct template_sheet *s) {
  int32_t n = s->tokens;
  char root[ATTN_NUMBER_BYTES], width[16];
  static const char *const weights[] = {"W_Q", "W_K", "W_V"}, *const projected[] = {"Q", "K", "V"};
  snprintf(width, sizeof width, "%d", KEY);
  attn_number_text(sqrt(KEY), DECIMALS, root);
  put_title(s);
  put_paragraph(s, MESSAGE_NEW_INPUTS, NULL, NULL);
  put_table(s, &(struct markdown_table){"X", s->x, n, MODEL, 1, 0, 0, 0});
  for (int m = 0; m < 3; m++)
    put_table(s, &(struct markdown_table){weights[m], s->w[m], MODEL, KEY, 0, 0, 0, 0});
  put_paragraph(s, MESSAGE_NEW_PROJECT, NULL, NULL);
  for (int m = 0; m < 3; m++)
    put_table(s, &(struct markdown_table){projected[m], s->qkv[m], n, KEY, 1, 0, 0, 1});
  put_paragraph(s, MESSAGE_NEW_SCORES, NULL, NULL);
  put_table(s, &(struct markdown_table){"scores", s->scores, n, n, 1, 1, 0, 1});
  put_paragraph(s, MESSAGE_NEW_SCALED, width, root);
  put_table(s, &(struct markdown_table){"scaled", s->scaled, n, n, 1, 1, DECIMALS, 1});
  put_paragraph(s, MESSAGE_NEW_WEIGHTS, NULL, NULL);
  put_table(s, &(struct markdown_table){"weights", s->weights, n, n, 1, 1, DECIMALS, 1});
  put_paragraph(s, MESSAGE_NEW_OUTPUT, NULL, NULL);
  put_table(s, &(struct markdown_table){"output", s->output, n, KEY, 1, 0, DECIMALS, 1});
}

attn_status attn_lesson_template(const char *tokens, int32_t blank, uint64_t seed,
                                 const attn_style *style, const attn_sink *sink, attn_error *err) {
  struct attn_out out;
  struct template_sheet *s = calloc(1, sizeof *s);
  if (!s) return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for the lesson");
  attn_out_begin(&out, style, sink);
  s->out = &out;
  s->blank = blank;
  if (!tokens)
    tokens = out.style.language == ATTN_LANGUAGE_JAPANESE ? "私は 猫が 好き" : "Mia likes cats";
  attn_status status = split(tokens, s, err);
  if (!status) {
    solve(s, seed);
    put_sheet(s);
    status = attn_out_end(&out, err);
  }
  free(s);
  return status;
}
