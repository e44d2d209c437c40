/* names.c -- W_Q, $W^{Q}$, \text{Scaled } E: names as they are written and as they compare. */
#include <ctype.h>
#include <string.h>

#include "reader.h"

static int is_space(unsigned char c) { return c == ' ' || (c >= 9 && c <= 13); }

struct attn_span attn_trim(const struct attn_reader *r, struct attn_span s) {
  const char *text = r->source.text;
  size_t next;
  while (s.begin < s.end) {
    uint32_t g = attn_glyph(text, s.begin, s.end, &next);
    if (g > 32) break;
    s.begin = next;
  }
  for (;;) {
    while (s.end > s.begin && is_space((unsigned char)text[s.end - 1])) s.end--;
    if (s.end - s.begin < 3 || memcmp(text + s.end - 3, "\xE3\x80\x80", 3) != 0) return s;
    s.end -= 3; /* an ideographic space */
  }
}

int attn_span_is(const struct attn_reader *r, struct attn_span s, const char *const *words) {
  for (; *words; words++)
    if (strlen(*words) == s.end - s.begin && attn_starts(r, s.begin, s.end, *words)) return 1;
  return 0;
}

char *attn_collapse(struct attn_reader *r, struct attn_span span) {
  span = attn_trim(r, span);
  char *copy = attn_pool_take(r->pool, span.end - span.begin + 1);
  if (!copy) return attn_reader_no_memory(r), NULL;
  size_t n = 0;
  for (size_t i = span.begin; i < span.end; i++) {
    char c = r->source.text[i];
    int space = is_space((unsigned char)c);
    if (space && n > 0 && copy[n - 1] == ' ') continue;
    copy[n++] = space ? ' ' : c;
  }
  return copy;
}

/* Commands that only change how a name looks; longest first where one begins another. */
static const char *const DRESS[] = {"\\text",    "\\mathrm",       "\\mathbf",     "\\mathit",
                                    "\\mathcal", "\\operatorname", "\\boldsymbol", "\\bm",
                                    "\\textbf",  "\\mathsf",       "\\textit",     NULL};
static const char *const NOISE[] = {"\\left", "\\right", "\\quad", "\\qquad", "\\,",
                                    "\\;",    "\\!",     "\\(",    "\\)",     "\\displaystyle",
                                    "\\:",    "**",      "`",      "$",       NULL};

static size_t prefix_length(const char *s, const char *const *words) {
  for (; *words; words++) {
    if (*s != **words) continue;
    size_t length = strlen(*words);
    if (strncmp(s, *words, length) != 0) continue;
    if ((*words)[0] == '\\' && isalpha((unsigned char)(*words)[1]) &&
        isalpha((unsigned char)s[length]))
      continue; /* \leftarrow is no \left */
    return length;
  }
  return 0;
}

/* Drops \text{ and its brace, and spacing, in place. */
static void undress(char *s) {
  size_t to = 0, open = 0, plain = 0; /* braces of \text, braces that stay */
  for (size_t i = 0; s[i];) {
    size_t dress = prefix_length(s + i, DRESS), noise = prefix_length(s + i, NOISE);
    if (dress && s[i + dress] == '{' && plain == 0) {
      i += dress + 1;
      open++;
    } else if (dress || noise) {
      i += dress ? dress : noise;
    } else if (s[i] == '}' && plain == 0 && open > 0) {
      i++;
      open--;
    } else {
      if (s[i] == ' ' && to > 0 && s[to - 1] == ' ') {
        i++;
        continue;
      }
      plain += s[i] == '{';
      plain -= s[i] == '}' && plain > 0;
      s[to++] = s[i++];
    }
  }
  s[to] = 0;
}

static int is_edge(char c) { return c == ' ' || c == ':' || c == ',' || c == '#' || c == '&'; }

char *attn_name_clean(struct attn_reader *r, struct attn_span span) {
  char *name = attn_collapse(r, span);
  if (!name) return NULL;
  undress(name);
  size_t length = strlen(name);
  while (length > 0 && is_edge(name[length - 1])) length--;
  if (length >= 3 && strncmp(name + length - 3, "：", 3) == 0) length -= 3;
  name[length] = 0;
  while (is_edge(*name)) name++;
  return name;
}

/* A subscript or superscript digit in Unicode as ASCII, or 0. */
static char small_digit(uint32_t c) {
  if (c >= 0x2080 && c <= 0x2089) return (char)('0' + (c - 0x2080));
  if (c == 0x2070 || (c >= 0x2074 && c <= 0x2079)) return (char)('0' + (c - 0x2070));
  if (c == 0xB2 || c == 0xB3) return (char)('0' + (c - 0xB0));
  return c == 0xB9 ? '1' : 0;
}

char *attn_name_key(struct attn_reader *r, const char *clean) {
  size_t size = strlen(clean), n = 0, next;
  char *key = attn_pool_take(r->pool, size + 1);
  if (!key) return attn_reader_no_memory(r), NULL;
  for (size_t i = 0; i < size; i = next) {
    uint32_t g = attn_glyph(clean, i, size, &next);
    if ((g == '(' || g == '[') && n > 0) break;
    char digit = small_digit(g);
    if (digit)
      key[n++] = digit;
    else if (g < 128 && isalnum((int)g))
      key[n++] = (char)g;
    else if (g >= 128)
      memcpy(key + n, clean + i, next - i), n += next - i;
  }
  return key;
}

/* Behind one script: _{..}, ^Q, _1; s itself where there is none. */
static const char *skip_script(const char *s) {
  if (*s != '_' && *s != '^') return s;
  s++;
  if (*s == '{') {
    const char *close = strchr(s, '}');
    return close ? close + 1 : s;
  }
  return *s ? s + 1 : s;
}

int attn_name_is_symbol(const char *clean) {
  const char *s = clean;
  if (!isalpha((unsigned char)*s)) return 0;
  s++;
  while (isdigit((unsigned char)*s)) s++;
  if (s[0] == '^' && (s[1] == 'T' || strncmp(s + 1, "\\top", 4) == 0 || s[1] == '\\')) return 0;
  if (strncmp(s, "^{T", 3) == 0 || strncmp(s, "^{\\", 3) == 0) return 0;
  s = skip_script(skip_script(s));
  while (strncmp(s, "\xE2\x82", 3 - 1) == 0 && s[2]) s += 3; /* subscript digits */
  return *s == 0;
}

int attn_name_has_two_indices(const char *clean) {
  const char *s = strchr(clean, '_');
  if (!s || s == clean || !isalpha((unsigned char)s[-1])) return 0;
  int digits = 0;
  for (s++; *s; s++) {
    if (isdigit((unsigned char)*s))
      digits++;
    else if (*s != '{' && *s != '}' && *s != ',' && *s != ' ')
      return 0;
  }
  return digits >= 2;
}
