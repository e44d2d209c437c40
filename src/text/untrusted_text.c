/* untrusted_text.c -- text from outside: made safe for a terminal or for JSON; spelling
 * suggestions. */
#include <stdio.h>
#include <string.h>

#include "attn/io.h"
#include "error.h"
#include "utf8.h"

enum { ESCAPE_BYTES = 16 };

/* ---- Writing ---- */

/* Returns the replacement of a code point (-1: an invalid byte), or NULL to write it unchanged. */
typedef const char *replace(int32_t code, char buffer[ESCAPE_BYTES]);

static const char *for_terminal(int32_t code, char buffer[ESCAPE_BYTES]) {
  (void)buffer;
  return code >= 0 && attn_utf8_is_displayable(code) ? NULL : "\uFFFD";
}

static const char *for_json(int32_t code, char buffer[ESCAPE_BYTES]) {
  if (code < 0) return "\\ufffd";
  if (code == '"' || code == '\\') return code == '"' ? "\\\"" : "\\\\";
  if (attn_utf8_is_displayable(code)) return NULL;
  /* All code points that are not displayable are below U+10000. */
  snprintf(buffer, ESCAPE_BYTES, "\\u%04x", (unsigned)code);
  return buffer;
}

static int write_text(const attn_sink *sink, const char *text, size_t bytes, replace *replacement) {
  char buffer[ESCAPE_BYTES];
  size_t from = 0; /* start of the text to write unchanged */
  int stopped = 0;
  for (size_t at = 0, step; at < bytes && !stopped; at += step) {
    int32_t code;
    step = attn_utf8_read(text + at, bytes - at, &code);
    const char *instead = replacement(step ? code : -1, buffer);
    if (!step) step = 1;
    if (!instead) continue;
    if (at > from) stopped = sink->write(sink->context, text + from, at - from);
    if (!stopped) stopped = sink->write(sink->context, instead, strlen(instead));
    from = at + step;
  }
  if (!stopped && bytes > from) stopped = sink->write(sink->context, text + from, bytes - from);
  return stopped;
}

static attn_status end(int stopped, attn_error *err) {
  return stopped ? attn_fail(err, ATTN_ERR_FILE, "sink", "the text could not be written") : ATTN_OK;
}

attn_status attn_text_write_plain(const char *text, size_t bytes, const attn_sink *sink,
                                  attn_error *err) {
  return end(write_text(sink, text, bytes, for_terminal), err);
}

attn_status attn_text_write_json(const char *text, size_t bytes, const attn_sink *sink,
                                 attn_error *err) {
  int stopped = sink->write(sink->context, "\"", 1);
  if (!stopped) stopped = write_text(sink, text, bytes, for_json);
  if (!stopped) stopped = sink->write(sink->context, "\"", 1);
  return end(stopped, err);
}

/* ---- Suggestions ---- */

static int same_letter(char a, char b) {
  int letter = (a >= 'A' && a <= 'Z') || (a >= 'a' && a <= 'z');
  return a == b || (letter && (a ^ b) == ('a' ^ 'A'));
}

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

/* The edit distance from a to b [Levenshtein 1966], ignoring ASCII case; two neighbours in the
 * other order are one edit. */
static size_t edits(const char *a, const char *b) {
  enum { LONGEST = 40 };
  size_t n = strlen(b), rows[3][LONGEST + 1], last = 0;
  if (n > LONGEST || strlen(a) > LONGEST) return LONGEST;
  for (size_t j = 0; j <= n; j++) rows[0][j] = j;
  for (size_t i = 1; a[i - 1]; i++) {
    size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
    row[0] = i;
    for (size_t j = 1; j <= n; j++) {
      int same = same_letter(a[i - 1], b[j - 1]);
      row[j] = smaller(smaller(above[j], row[j - 1]) + 1, above[j - 1] + !same);
      if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) && same_letter(a[i - 2], b[j - 1]))
        row[j] = smaller(row[j], before[j - 2] + 1);
    }
    last = i;
  }
  return rows[last % 3][n];
}

/* A suggestion needs fewer than 3 edits, and fewer than the text has bytes. */
const char *attn_text_nearest(const char *text, const char *const *names, int32_t count) {
  const char *best = NULL;
  size_t least = smaller(3, strlen(text));
  for (int32_t n = 0; n < count; n++) {
    size_t distance = edits(text, names[n]);
    if (distance < least) least = distance, best = names[n];
  }
  return best;
}
