#include "out.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <utf8proc.h>

#include "error.h"

struct attn_out attn_out_begin(const attn_style *style, const attn_sink *sink) {
  struct attn_out out = {sink, {0}, 0};
  if (style)
    memcpy(&out.style, style,
           style->struct_size < sizeof out.style ? style->struct_size : sizeof out.style);
  if (!out.style.width) out.style.width = 80;
  if (!out.style.precision) out.style.precision = 4;
  if (out.style.precision < 0) out.style.precision = 0;
  return out;
}

attn_status attn_out_end(const struct attn_out *out, attn_error *err) {
  if (!out->failed) return ATTN_OK;
  return attn_fail(err, ATTN_ERR_FILE, NULL, "the text could not be written");
}

static void put(struct attn_out *out, const char *text, size_t bytes) {
  if (!out->failed && bytes) out->failed = out->sink->write(out->sink->context, text, bytes);
}

void attn_out_text(struct attn_out *out, const char *text) { put(out, text, strlen(text)); }

void attn_out_format(struct attn_out *out, const char *format, ...) {
  char text[256];
  va_list arguments;
  va_start(arguments, format);
  int n = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (n > 0) put(out, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

const char *attn_out_word(const struct attn_out *out, enum attn_phrase phrase) {
  return attn_phrase_text(phrase, out->style.language);
}

/* Only %s stands in phrases, and its text may be as long as it likes. */
void attn_out_phrase(struct attn_out *out, enum attn_phrase phrase, ...) {
  const char *at = attn_out_word(out, phrase), *hole;
  va_list arguments;
  va_start(arguments, phrase);
  for (; (hole = strstr(at, "%s")); at = hole + 2) {
    put(out, at, (size_t)(hole - at));
    attn_out_text(out, va_arg(arguments, const char *));
  }
  va_end(arguments);
  attn_out_text(out, at);
}

/* Columns of a terminal: each grapheme cluster is as wide as its widest code point. */
int attn_text_width(const char *text) {
  utf8proc_int32_t before = -1, code, state = 0;
  int width = 0, cluster = 0;
  const utf8proc_uint8_t *at = (const utf8proc_uint8_t *)text;
  for (utf8proc_ssize_t n; *at && (n = utf8proc_iterate(at, -1, &code)) > 0; at += n) {
    if (before < 0 || utf8proc_grapheme_break_stateful(before, code, &state)) {
      width += cluster;
      cluster = 0;
    }
    int own = code == 0xFE0F ? 2 : utf8proc_charwidth(code);
    if (own > cluster) cluster = own;
    before = code;
  }
  return width + cluster;
}

static void spaces(struct attn_out *out, int count) {
  for (; count > 0; count--) put(out, " ", 1);
}

void attn_out_padded(struct attn_out *out, const char *text, int width, int right) {
  int missing = width - attn_text_width(text);
  if (right) spaces(out, missing);
  attn_out_text(out, text);
  if (!right) spaces(out, missing);
}

const char *attn_number_text(const struct attn_out *out, double value,
                             char text[ATTN_NUMBER_BYTES]) {
  int digits = out->style.precision;
  if (value == 0) value = 0; /* not -0 */
  if (isinf(value))
    snprintf(text, ATTN_NUMBER_BYTES, value < 0 ? "-inf" : "inf");
  else if (value == floor(value) && fabs(value) < 1e9)
    snprintf(text, ATTN_NUMBER_BYTES, "%.0f", value);
  else if (value != 0 && (fabs(value) < 0.5 * pow(10, -digits) || fabs(value) >= 1e9))
    snprintf(text, ATTN_NUMBER_BYTES, "%.2g", value);
  else
    snprintf(text, ATTN_NUMBER_BYTES, "%.*f", digits, value);
  return text;
}

/* ---- Matrices ------------------------------------------------------------------------ */

static int number_width(const struct attn_out *out, const attn_matrix *m) {
  char text[ATTN_NUMBER_BYTES];
  int widest = 1;
  for (int64_t n = 0; n < (int64_t)m->rows * m->cols; n++) {
    int width = attn_text_width(attn_number_text(out, m->at[n], text));
    if (width > widest) widest = width;
  }
  return widest;
}

static int label_width(char **labels, int32_t count) {
  int widest = 0;
  for (int32_t n = 0; labels && n < count; n++) {
    int width = labels[n] ? attn_text_width(labels[n]) : 0;
    if (width > widest) widest = width;
  }
  return widest;
}

static void print_columns(struct attn_out *out, const attn_matrix *m, char **rows, char **cols,
                          int32_t from, int32_t to, int head, int width) {
  char text[ATTN_NUMBER_BYTES];
  if (cols) {
    spaces(out, 2 + head);
    for (int32_t j = from; j < to; j++) {
      spaces(out, 2);
      attn_out_padded(out, cols[j] ? cols[j] : "", width, 1);
    }
    attn_out_text(out, "\n");
  }
  for (int32_t i = 0; i < m->rows; i++) {
    spaces(out, 2);
    attn_out_padded(out, rows && rows[i] ? rows[i] : "", head, 0);
    for (int32_t j = from; j < to; j++) {
      spaces(out, 2);
      double value = m->at[(int64_t)i * m->cols + j];
      attn_out_padded(out, attn_number_text(out, value, text), width, 1);
    }
    attn_out_text(out, "\n");
  }
}

void attn_out_matrix(struct attn_out *out, const attn_matrix *m, char **rows, char **cols) {
  int head = label_width(rows, m->rows), width = number_width(out, m);
  int names = label_width(cols, m->cols);
  if (names > width) width = names;
  int32_t fit = (out->style.width - 2 - head) / (width + 2);
  if (fit < 1) fit = 1;
  for (int32_t from = 0; from < m->cols; from += fit)
    print_columns(out, m, rows, cols, from, from + fit < m->cols ? from + fit : m->cols, head,
                  width);
}

void attn_out_step(struct attn_out *out, const attn_step *s) {
  attn_out_text(out, s->symbol && *s->symbol ? s->symbol : attn_step_label(s->name));
  if (s->head >= 0) attn_out_format(out, " (head %d)", (int)s->head + 1);
}
