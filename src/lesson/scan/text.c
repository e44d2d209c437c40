/* text.c -- bytes to canonical text: variants of characters, entities, notations. */
#include "text.h"

#include <string.h>
#include <strings.h>

static int has_room(struct attn_text *t, size_t more) {
  if (t->failed) return 0;
  size_t needed = t->now.bytes + more + 1;
  if (needed <= t->capacity) return 1;
  size_t capacity = needed + needed / 2 + 64;
  char *text = attn_pool_take(t->pool, capacity);
  uint32_t *origin = attn_pool_take(t->pool, capacity * sizeof *origin);
  if (!text || !origin) return t->failed = 1, 0;
  if (t->now.bytes) {
    memcpy(text, t->now.text, t->now.bytes);
    memcpy(origin, t->now.origin, t->now.bytes * sizeof *origin);
  }
  t->now.text = text;
  t->now.origin = origin;
  t->capacity = capacity;
  return 1;
}

void attn_text_add(struct attn_text *t, const char *text, size_t bytes, uint32_t origin) {
  if (!has_room(t, bytes)) return;
  for (size_t n = 0; n < bytes; n++) {
    t->now.text[t->now.bytes + n] = text[n];
    t->now.origin[t->now.bytes + n] = origin;
  }
  t->now.bytes += bytes;
}

void attn_text_copy(struct attn_text *t, const struct attn_canonical *from, size_t begin,
                    size_t end) {
  size_t bytes = end - begin;
  if (bytes == 0 || !has_room(t, bytes)) return;
  memcpy(t->now.text + t->now.bytes, from->text + begin, bytes);
  memcpy(t->now.origin + t->now.bytes, from->origin + begin, bytes * sizeof *from->origin);
  t->now.bytes += bytes;
}

void attn_text_clear(struct attn_text *t) { t->now.bytes = 0; }

void attn_text_end(struct attn_text *t, uint32_t origin) {
  if (!has_room(t, 0)) return;
  t->now.text[t->now.bytes] = 0;
  t->now.origin[t->now.bytes] = origin;
}

size_t attn_next_matrix_mark(const struct attn_canonical *text, size_t at) {
  for (; at < text->bytes; at++)
    if (strncmp(text->text + at, ATTN_MARK_OPEN, 3) == 0 ||
        strncmp(text->text + at, ATTN_MARK_CLOSE, 3) == 0)
      break;
  return at;
}

/* ---- characters ---- */

static void add_plain(struct attn_text *t, uint32_t c, const char *as_it_is, size_t bytes,
                      uint32_t origin) {
  char buffer[3];
  const char *plain = attn_plain_character(c, buffer);
  attn_text_add(t, plain ? plain : as_it_is, plain ? strlen(plain) : bytes, origin);
}

/* Raised digits after a sign of power; 1 half after a 1: a sum. */
static void add_character(struct attn_text *out, uint32_t c, uint32_t before, const char *as_it_is,
                          size_t bytes, uint32_t origin) {
  char raised[3] = {'^', attn_superscript(c), 0};
  int is_digit = before >= '0' && before <= '9';
  if (raised[1]) {
    int goes_on = attn_superscript(before) != 0;
    attn_text_add(out, raised + goes_on, (size_t)(2 - goes_on), origin);
    return;
  }
  if (is_digit && (c == 0xBC || c == 0xBD || c == 0xBE)) attn_text_add(out, "+", 1, origin);
  add_plain(out, c, as_it_is, bytes, origin);
}

enum { OPENS_HEADING = 0x3010, CLOSES_HEADING = 0x3011, BLANK_FILLED_MAX = 48 };

/* Are there only numbers between the signs of a heading: a blank that is filled in? How many, with
 * a comma between each; 0: it is none. */
static int count_filled(const struct attn_source *source, size_t at) {
  size_t end = at + BLANK_FILLED_MAX < source->size ? at + BLANK_FILLED_MAX : source->size;
  int numbers = 1, digits = 0;
  for (size_t next; at < end; at = next) {
    uint32_t c = attn_code_point(source->text, at, end, &next);
    if (c >= 0xFF01 && c <= 0xFF5D) c -= 0xFEE0;
    if (c == CLOSES_HEADING) return digits ? numbers : 0;
    numbers += c == ',' || c == 0x3001, digits += c >= '0' && c <= '9';
    if (!(c >= '0' && c <= '9') && c != 0x2212 && c != 0x3001 &&
        (c > 0x7F || !strchr(" ,.-+", (int)c)))
      return 0;
  }
  return 0;
}

/* The signs around numbers are brackets, and nothing around a single one. */
static void read_source(const struct attn_source *source, struct attn_text *out) {
  size_t next;
  uint32_t before = 0;
  int filled = 0;
  for (size_t at = 0; at < source->size; at = next) {
    uint32_t c = attn_code_point(source->text, at, source->size, &next);
    if (c == OPENS_HEADING) filled = count_filled(source, next);
    if (filled && (c == OPENS_HEADING || c == CLOSES_HEADING))
      attn_text_add(out, filled == 1 ? " " : c == OPENS_HEADING ? "[" : "]", 1, (uint32_t)at);
    else if (c == OPENS_HEADING && before == '\t') /* in a cell */
      attn_text_add(out, " ", 1, (uint32_t)at);
    else
      add_character(out, c, before, source->text + at, next - at, (uint32_t)at);
    if (c == CLOSES_HEADING) filled = 0;
    before = c;
  }
}

void attn_rewrite_end(struct attn_rewrite *r, size_t from) {
  const struct attn_canonical *before = &r->text->now;
  struct attn_text *out = r->spare;
  attn_text_copy(out, before, from, before->bytes);
  attn_text_end(out, before->origin[before->bytes]);
  r->spare = r->text;
  r->text = out;
}

static void replace_entities(struct attn_rewrite *r) {
  const struct attn_canonical *from = &r->text->now;
  char utf8[4];
  size_t done = 0, length;
  if (r->text->failed || !memchr(from->text, '&', from->bytes)) return;
  attn_text_clear(r->spare);
  for (size_t at = 0; at < from->bytes; at++) {
    uint32_t c =
        from->text[at] == '&' ? attn_entity(from->text + at, from->bytes - at, &length) : 0;
    if (!c) continue;
    attn_text_copy(r->spare, from, done, at);
    add_plain(r->spare, c, utf8, attn_scan_put_character(c, utf8), from->origin[at]);
    done = at + length;
    at = done - 1;
  }
  attn_rewrite_end(r, done);
}

/* ---- which notations a document has ---- */

static int has_extension(const char *file, const char *extension) {
  const char *dot = file ? strrchr(file, '.') : NULL;
  return dot && strcasecmp(dot + 1, extension) == 0;
}

/* Does the pattern occur? needs: one of these characters is in any match. */
static int occurs(struct attn_rewrite *r, const char *pattern, const char *needs) {
  return strpbrk(r->text->now.text, needs) &&
         attn_occurs(r->scan->patterns, pattern, r->text->now.text);
}

/* Two quoted cells, or two lines of words and numbers, with a semicolon between each. */
static const char SEMICOLONS[] =
    "(?m)^(?:\"[^\"\\n]*+\";){2}"
    "|(?:^[^;:=(\\[\\n]*+(?:;[ \\t]*+-?\\d++(?:[.,]\\d++)?)++[ \\t;]*+\\n){2}";

/* <p> of HTML, [td] of forums */
static const char HTML[] =
    "(?i)<(?:html|table|t[dr]|p|mtable)\\b[^<>\\n]*+>|</(?:p|pre|li|d[dt]|div|h[1-6])>|\\[/"
    "(?:t[dr]|b|i|u)\\]";

static int find_kinds(struct attn_rewrite *r, const char *file) {
  const char *text = r->text->now.text;
  int kinds = 0;
  if (has_extension(file, "html") || occurs(r, HTML, "<[")) kinds |= ATTN_NOTATION_HTML;
  if (has_extension(file, "tex") || has_extension(file, "latex") || strstr(text, "\\begin{"))
    kinds |= ATTN_NOTATION_TEX;
  if (has_extension(file, "typ") || strstr(text, "mat(")) kinds |= ATTN_NOTATION_TYPST;
  if (occurs(r, "(?m)^[ \\t]*+In ?\\[\\d+\\]:", "[")) kinds |= ATTN_NOTATION_PROMPTS;
  if (occurs(r, "(?m)^[ \\t]*+\\{\\|", "{")) kinds |= ATTN_NOTATION_WIKI;
  if (strstr(text, "|===") && occurs(r, "(?m)^\\|={3}", "|")) kinds |= ATTN_NOTATION_ASCIIDOC;
  if (occurs(r, SEMICOLONS, ";")) kinds |= ATTN_NOTATION_SEMICOLONS;
  return kinds;
}

attn_status attn_canonical_text(struct attn_scan *scan, const char *file,
                                struct attn_canonical *out) {
  struct attn_shared_text *shared = scan->shared;
  if (shared->found.text) return *out = shared->found, ATTN_OK;
  struct attn_text a = {.pool = shared->pool}, b = a;
  struct attn_rewrite r = {.scan = scan, .text = &a, .spare = &b};
  read_source(&scan->source, &a);
  attn_text_end(&a, (uint32_t)scan->source.size);
  if (a.failed) return attn_scan_no_memory(scan);
  attn_rewrite_cell_list(&r);
  attn_rewrite_dialects(&r);
  int kinds = find_kinds(&r, file);
  attn_blank_leaders(&r);
  replace_entities(&r);
  attn_markup_tables(&r, kinds);
  attn_rewrite_calls(&r);
  attn_rewrite_bars(&r);
  attn_rewrite_notations(&r, kinds);
  attn_rewrite_commas(&r);
  if (a.failed || b.failed) return attn_scan_no_memory(scan);
  *out = shared->found = r.text->now;
  return ATTN_OK;
}
