/* token.c -- words, numbers and signs of a formula, LaTeX's and Unicode's alike. */
#include <math.h>
#include <string.h>

#include "reader.h"

int attn_starts(const struct attn_reader *r, size_t at, size_t end, const char *prefix) {
  size_t length = strlen(prefix);
  return end - at >= length && memcmp(r->source.text + at, prefix, length) == 0;
}

struct attn_cursor attn_cursor_at(struct attn_reader *r, size_t begin, size_t end) {
  return (struct attn_cursor){.r = r, .at = begin, .end = end};
}

int attn_token_is(const struct attn_cursor *c, uint32_t symbol) {
  return c->token.kind == ATTN_TOKEN_SYMBOL && c->token.symbol == symbol;
}

int attn_token_says(const struct attn_cursor *c, const char *word) {
  size_t length = strlen(word);
  const struct attn_token *t = &c->token;
  return t->name.end - t->name.begin == length &&
         memcmp(c->r->source.text + t->name.begin, word, length) == 0;
}

static uint32_t peek(const struct attn_cursor *c) {
  size_t next;
  return c->at < c->end ? attn_glyph(c->r->source.text, c->at, c->end, &next) : 0;
}

static int is_letter(uint32_t g) { return (g | 32) >= 'a' && (g | 32) <= 'z' && g < 128; }
static int is_digit(uint32_t g) { return g >= '0' && g <= '9'; }
static int is_space(uint32_t g) { return g == ' ' || (g >= 9 && g <= 13); }

static int is_sign_of_math(uint32_t g) {
  return g == 0x221A || g == 0x221E || g == 0x2026 || g == 0x2248 || (g >= 0x2190 && g <= 0x21FF) ||
         (g >= 0x2070 && g <= 0x209C) || g == 0xB2 || g == 0xB3 || g == 0xB9 || g == 0x3002;
}

/* Reads \command: its letters become the token's name. */
static void command_name(struct attn_cursor *c) {
  c->token.name.begin = c->at;
  while (c->at < c->end && is_letter((unsigned char)c->r->source.text[c->at])) c->at++;
  c->token.name.end = c->at;
}

static int said(const struct attn_cursor *c, const char *const *words) {
  for (; *words; words++)
    if (attn_token_says(c, *words)) return 1;
  return 0;
}

/* {..} without braces inside; 0 where there is none. */
static int plain_group(struct attn_cursor *c, struct attn_span *inside) {
  size_t at = c->at;
  const char *text = c->r->source.text;
  while (at < c->end && is_space((unsigned char)text[at])) at++;
  if (at >= c->end || text[at] != '{') return 0;
  size_t close = at + 1;
  while (close < c->end && text[close] != '}' && text[close] != '{' && text[close] != '\n') close++;
  if (close >= c->end || text[close] != '}') return 0;
  *inside = (struct attn_span){at + 1, close};
  c->at = close + 1;
  return 1;
}

static const char *const SPACING[] = {
    "quad",       "qquad",  "left",      "right",        "bigl",      "bigr",     "big",
    "Big",        "Bigl",   "Bigr",      "displaystyle", "textstyle", "mathbf",   "textbf",
    "boldsymbol", "boxed",  "underline", "bm",           "limits",    "nonumber", "hline",
    "hfill",      "middle", "bf",        "mathsf",       NULL};
static const char *const TEXTS[] = {"text",   "mathrm",  "operatorname", "mathit", "textit",
                                    "textrm", "mathcal", "mbox",         NULL};
static const char *const COLOURS[] = {"color", "textcolor", "tag", "label", NULL};
static const char *const TIMES[] = {"times", "cdot", "ast", NULL};
static const char *const ABOUT[] = {"approx",   "simeq", "cong",     "fallingdotseq",
                                    "approxeq", "equiv", "coloneqq", NULL};
static const char *const DOTS[] = {"ldots", "cdots", "dots",  "dotsc",
                                   "vdots", "ddots", "dotsb", NULL};
static const char *const FRACTIONS[] = {"frac", "dfrac", "tfrac", NULL};
static const char *const FUNCTIONS[] = {"sin", "cos", "tanh", "exp", "ln", "log", NULL};

/* The kind of a \command; ATTN_TOKEN_END: white space. */
static enum attn_token_kind command_kind(struct attn_cursor *c) {
  struct attn_span inside;
  if (said(c, SPACING)) return ATTN_TOKEN_END;
  if (said(c, COLOURS)) return plain_group(c, &inside), ATTN_TOKEN_END;
  if (said(c, TEXTS)) {
    if (plain_group(c, &inside)) c->token.name = inside;
    return ATTN_TOKEN_WORD;
  }
  if (said(c, TIMES)) c->token.symbol = '*';
  if (attn_token_says(c, "div")) c->token.symbol = '/';
  if (c->token.symbol) return ATTN_TOKEN_SYMBOL;
  if (said(c, ABOUT)) return ATTN_TOKEN_RELATION;
  if (said(c, DOTS)) return ATTN_TOKEN_DOTS;
  if (said(c, FRACTIONS)) return ATTN_TOKEN_FRACTION;
  if (said(c, FUNCTIONS)) return ATTN_TOKEN_WORD;
  if (attn_token_says(c, "sqrt")) return ATTN_TOKEN_ROOT;
  if (attn_token_says(c, "infty")) return ATTN_TOKEN_INFINITY;
  int begin = attn_token_says(c, "begin");
  if (!begin && !attn_token_says(c, "end")) return ATTN_TOKEN_COMMAND;
  if (!plain_group(c, &inside)) return ATTN_TOKEN_COMMAND;
  c->token.name = inside;
  return begin ? ATTN_TOKEN_BEGIN : ATTN_TOKEN_FINISH;
}

/* Behind the backslash. ATTN_TOKEN_END: it was white space. */
static enum attn_token_kind backslash(struct attn_cursor *c) {
  const char *text = c->r->source.text;
  if (c->at >= c->end) return c->rows ? ATTN_TOKEN_ROW : ATTN_TOKEN_END;
  char next = text[c->at];
  if (is_letter((unsigned char)next)) {
    command_name(c);
    return command_kind(c);
  }
  if (is_space((unsigned char)next)) {
    size_t at = c->at;
    while (at < c->end && text[at] != '\n' && is_space((unsigned char)text[at])) at++;
    int ends_line = at >= c->end || text[at] == '\n';
    return c->rows == 2 || (c->rows == 1 && ends_line) ? ATTN_TOKEN_ROW : ATTN_TOKEN_END;
  }
  c->at++;
  if (next == '\\') {
    struct attn_cursor look = *c; /* \\[4pt] */
    if (look.at < look.end && text[look.at] == '[') {
      size_t close = look.at;
      while (close < c->end && text[close] != ']' && close - look.at < 12) close++;
      if (close < c->end && text[close] == ']' && is_letter((unsigned char)text[close - 1]))
        c->at = close + 1;
    }
    return ATTN_TOKEN_ROW;
  }
  if (strchr(",;:! ()[]", next)) return ATTN_TOKEN_END;
  c->token.symbol = next == '%' ? '%' : '\\';
  return ATTN_TOKEN_SYMBOL;
}

static void word(struct attn_cursor *c, size_t begin) {
  const char *text = c->r->source.text;
  size_t next;
  for (; c->at < c->end; c->at = next) {
    uint32_t g = attn_glyph(text, c->at, c->end, &next);
    int inside = is_letter(g) || is_digit(g) || (c->python && g == '_') ||
                 (g >= 0x80 && !is_sign_of_math(g));
    if (!inside) break;
  }
  c->token.name = (struct attn_span){begin, c->at};
  c->token.kind = ATTN_TOKEN_WORD;
  if (attn_token_says(c, "inf") || attn_token_says(c, "Infinity") || attn_token_says(c, "Inf") ||
      attn_token_says(c, "INF"))
    c->token.kind = ATTN_TOKEN_INFINITY;
}

static int superscript_digit(uint32_t g) {
  if (g == 0xB2 || g == 0xB3) return (int)(g - 0xB0);
  if (g == 0xB9) return 1;
  if (g == 0x2070 || (g >= 0x2074 && g <= 0x2079)) return (int)(g - 0x2070);
  return -1;
}

/* At a superscript: ^2, ^-3. */
static int superscripts(struct attn_cursor *c, uint32_t g) {
  double value = 0;
  int negative = 0, digits = 0;
  size_t next;
  for (; c->at < c->end; c->at = next) {
    g = attn_glyph(c->r->source.text, c->at, c->end, &next);
    if (g == 0x207B && !digits && !negative) {
      negative = 1;
      continue;
    }
    int digit = superscript_digit(g);
    if (digit < 0 || digits > 8) break;
    value = value * 10 + digit;
    digits++;
  }
  c->token.number = attn_cell_exact(negative ? -value : value);
  c->token.kind = ATTN_TOKEN_POWER;
  return digits > 0;
}

/* White space, and comments in Python. */
static void skip_space(struct attn_cursor *c) {
  const char *text = c->r->source.text;
  size_t next;
  for (; c->at < c->end; c->at = next) {
    uint32_t g = attn_glyph(text, c->at, c->end, &next);
    if (c->python == 2 && g == '#') {
      /* goes on in the next line of a comment */
    } else if (c->python && g == '#') {
      while (next < c->end && text[next] != '\n') next++;
    } else if (g == '\n') {
      c->token.newline = 1;
    } else if (!is_space(g) && g != '$' && g != '~') {
      return;
    }
    c->token.space = 1;
  }
}

static int sign(struct attn_cursor *c, uint32_t g, size_t next) {
  struct attn_token *t = &c->token;
  c->at = next;
  t->kind = ATTN_TOKEN_SYMBOL;
  t->symbol = g;
  if (g == 0x2026) t->kind = ATTN_TOKEN_DOTS;
  if (g == 0x221E) t->kind = ATTN_TOKEN_INFINITY;
  if (g == 0x221A) t->kind = ATTN_TOKEN_ROOT;
  if (g == '=' || g == 0x2248) t->kind = ATTN_TOKEN_RELATION;
  if (g == ':' && peek(c) == '=') c->at++, t->kind = ATTN_TOKEN_RELATION;
  return ATTN_YES;
}

static int plain_token(struct attn_cursor *c, uint32_t g, size_t next) {
  struct attn_token *t = &c->token;
  const char *text = c->r->source.text;
  if (attn_starts(c->r, c->at, c->end, "...")) {
    while (c->at < c->end && text[c->at] == '.') c->at++;
    t->kind = ATTN_TOKEN_DOTS;
    return ATTN_YES;
  }
  if (attn_ditto(c->r, &c->at, c->end, &t->row)) {
    t->kind = ATTN_TOKEN_DITTO;
    return ATTN_YES;
  }
  int literal = is_digit(g) || g == '.' ? attn_literal(c->r, &c->at, c->end, &t->number) : ATTN_NO;
  if (literal != ATTN_NO) {
    t->kind = ATTN_TOKEN_NUMBER;
    return literal;
  }
  if (superscript_digit(g) >= 0 || g == 0x207B) {
    if (superscripts(c, g)) return ATTN_YES;
    return sign(c, g, next);
  }
  if (is_letter(g) || (c->python && g == '_') || (g >= 0x80 && !is_sign_of_math(g))) {
    word(c, c->at);
    return ATTN_YES;
  }
  return sign(c, g, next);
}

int attn_advance(struct attn_cursor *c) {
  c->previous = c->token.end;
  c->token = (struct attn_token){.kind = ATTN_TOKEN_END};
  for (;;) {
    size_t next;
    skip_space(c);
    c->token.begin = c->token.end = c->at;
    if (c->at >= c->end) return ATTN_YES;
    uint32_t g = attn_glyph(c->r->source.text, c->at, c->end, &next);
    int result = ATTN_YES;
    if (g == '\\' && !c->python) {
      c->at++;
      c->token.kind = backslash(c);
      if (c->token.kind == ATTN_TOKEN_END) {
        c->token.space = 1;
        continue;
      }
    } else {
      result = plain_token(c, g, next);
    }
    c->token.end = c->at;
    return result;
  }
}
