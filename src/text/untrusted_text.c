/* plain.c -- text that somebody else wrote: on its way to a terminal or into JSON, or misspelled.
 */
#include <stdio.h>
#include <string.h>

#include "attn/io.h"
#include "error.h"
#include "utf8.h"

enum { ROOM = 16 };

/* ---- Writing ---- */

/* What is written for a code point; -1: for a byte that is no UTF-8. NULL: the character itself. */
typedef const char *replace(int32_t code, char room[ROOM]);

static const char *for_terminal(int32_t code, char room[ROOM]) {
  (void)room;
  return code >= 0 && attn_utf8_shows(code) ? NULL : "\uFFFD";
}

static const char *for_json(int32_t code, char room[ROOM]) {
  if (code < 0) return "\\ufffd";
  if (code == '"' || code == '\\') return code == '"' ? "\\\"" : "\\\\";
  if (attn_utf8_shows(code)) return NULL;
  snprintf(room, ROOM, "\\u%04x", (unsigned)code); /* none of them is beyond U+FFFF */
  return room;
}

static int write_text(const attn_sink *sink, const char *text, size_t bytes, replace *instead_of) {
  char room[ROOM];
  size_t from = 0; /* what stands from there on is written as it is */
  int stopped = 0;
  for (size_t at = 0, step; at < bytes && !stopped; at += step) {
    int32_t code;
    step = attn_utf8_read(text + at, bytes - at, &code);
    const char *instead = instead_of(step ? code : -1, room);
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

/* ---- What was meant ---- */

static int same_letter(char a, char b) {
  int letter = (a >= 'A' && a <= 'Z') || (a >= 'a' && a <= 'z');
  return a == b || (letter && (a ^ b) == ('a' ^ 'A'));
}

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

/* Edits that make b of a [Levenshtein 1966]; a capital is none. */
static size_t edits(const char *a, const char *b) {
  enum { MOST = 40 };
  size_t n = strlen(b), row[MOST + 1];
  if (n > MOST || strlen(a) > MOST) return MOST;
  for (size_t j = 0; j <= n; j++) row[j] = j;
  for (size_t i = 1; a[i - 1]; i++) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= n; j++) {
      size_t above = row[j], replaced = diagonal + !same_letter(a[i - 1], b[j - 1]);
      row[j] = smaller(smaller(above, row[j - 1]) + 1, replaced);
      diagonal = above;
    }
  }
  return row[n];
}

/* More edits than two, or as many as there are letters, make another word. */
const char *attn_text_nearest(const char *text, const char *const *names, int32_t count) {
  const char *best = NULL;
  size_t least = smaller(3, strlen(text));
  for (int32_t n = 0; n < count; n++) {
    size_t distance = edits(text, names[n]);
    if (distance < least) least = distance, best = names[n];
  }
  return best;
}
