/* translation.c -- the Japanese of English texts: po/ja.po. */
#include <stdlib.h>
#include <string.h>

#include "language.h"

/* ---- The entries ---- */

static const struct entry {
  const char *english, *japanese;
} entries[] = {
#include "ja_po.h"
};

enum { ENTRIES = sizeof entries / sizeof *entries, VALUES = 12, MAX_STEPS = 20000, MAX_DEPTH = 4 };

struct span {
  const char *begin, *end;
};

/* A text that is compared with a format, and the values found in it. */
struct matching {
  struct span value[VALUES];
  int count, steps;
};

/* The conversion that begins at format, "%.60s", or "%2$s" with its number; its last character is
 * returned, or NULL if format does not begin with one ("%%" is none). */
static const char *conversion_end(const char *format, int *number) {
  if (format[0] != '%' || format[1] == '%') return NULL;
  const char *at = format + 1 + strspn(format + 1, "0123456789");
  if (*at == '$') {
    *number = atoi(format + 1);
    at++;
  }
  return at + strspn(at, "-+ #0123456789.*hlzjt");
}

/* Whether a conversion of that kind can print c. */
static int can_print(char kind, char c) {
  return kind == 's' || kind == 'c' || (c && strchr("0123456789+-. aefinxABCDEFbcd", c));
}

static int match(const char *format, struct span text, struct matching *m);

/* The value as short as possible. */
static int match_value(const char *end, struct span text, struct matching *m) {
  const int n = m->count;
  if (n == VALUES) return 0;
  m->count++;
  for (const char *at = text.begin; at <= text.end; at++) {
    m->value[n] = (struct span){text.begin, at};
    if ((at > text.begin || *end == 's') && match(end + 1, (struct span){at, text.end}, m))
      return 1;
    if (at < text.end && !can_print(*end, *at)) break;
  }
  m->count = n;
  return 0;
}

static int match(const char *format, struct span text, struct matching *m) {
  int number;
  for (; *format; format++, text.begin++) {
    const char *end = conversion_end(format, &number);
    if (end) return ++m->steps < MAX_STEPS && match_value(end, text, m);
    if (*format == '%') format++;
    if (text.begin == text.end || *text.begin != *format) return 0;
  }
  return text.begin == text.end;
}

/* Characters of a format outside of conversions: of two that match, the longer one is closer. */
static size_t literal_length(const char *format) {
  size_t length = 0;
  int number;
  for (; *format; format++) {
    const char *end = conversion_end(format, &number);
    if (end)
      format = end;
    else
      length++;
  }
  return length;
}

static const struct entry *find(struct span text, struct matching *values) {
  const struct entry *best = NULL;
  size_t most = 0;
  for (const struct entry *e = entries + 1; e < entries + ENTRIES;
       e++) { /* entries[0]: the header */
    struct matching m = {.count = 0};
    if (!match(e->english, text, &m)) continue;
    const size_t length = literal_length(e->english);
    if (best && length <= most) continue;
    best = e, most = length, *values = m;
  }
  return best;
}

/* ---- Translation ---- */

struct output {
  char *to;
  size_t length;
  int is_full;
};

static void append(struct output *out, struct span text) {
  const size_t bytes = (size_t)(text.end - text.begin);
  if (bytes >= ATTN_CLI_MESSAGE_MAX - out->length) out->is_full = 1;
  if (out->is_full) return;
  memcpy(out->to + out->length, text.begin, bytes);
  out->length += bytes;
  out->to[out->length] = 0;
}

static int translate(struct output *out, struct span text, int depth);

static void append_value(struct output *out, const struct matching *m, int n, char conversion,
                         int depth) {
  if (n < 0 || n >= m->count) return;
  if (conversion != 'S' || depth == MAX_DEPTH || !translate(out, m->value[n], depth + 1))
    append(out, m->value[n]);
}

/* Returns 0, and appends nothing, if no entry matches. */
static int translate(struct output *out, struct span text, int depth) {
  struct matching m = {.count = 0};
  const struct entry *e = find(text, &m);
  if (!e) return 0;
  int next = 1;
  for (const char *at = e->japanese; *at; at++) {
    int number = next;
    const char *end = conversion_end(at, &number);
    if (end) {
      append_value(out, &m, number - 1, *end, depth);
      next = number + 1, at = end;
    } else {
      if (at[0] == '%') at++;
      append(out, (struct span){at, at + 1});
    }
  }
  return 1;
}

const char *attn_cli_japanese_of(const char *english, char *to) {
  struct output out = {.to = to};
  const struct span text = {english, english + strlen(english)};
  return *english && translate(&out, text, 0) && out.length && !out.is_full ? to : english;
}
