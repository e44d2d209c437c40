#include "fact_tokens.h"

#include <string.h>

/* Letters of any script; not the signs of U+2000 .. U+2BFF, U+3000 .. U+303F, and pictures. */
static size_t letter_end(const char *text, size_t at, size_t end) {
  size_t next;
  if (attn_is_letter(text[at])) return at + 1;
  if (!(text[at] & 0x80)) return at;
  uint32_t c = attn_code_point(text, at, end, &next);
  int is_sign = c < 0xC0 || c == 0xD7 || c == 0xF7 || (c >= 0x2000 && c < 0x2C00) ||
                (c >= 0x3000 && c < 0x3040) || (c >= 0xFF00 && c < 0xFF10) || c >= 0x1F000;
  return is_sign ? at : next;
}

/* Hiragana, which is between words more often than in them. */
static int is_particle(const char *text, size_t at) {
  const unsigned char *s = (const unsigned char *)text + at;
  return s[0] == 0xE3 && (s[1] == 0x81 || (s[1] == 0x82 && s[2] < 0xA0));
}

/* Letters of one kind: of a word, or particles. */
static size_t word_end(const char *text, size_t at, size_t end) {
  int particle = is_particle(text, at);
  for (size_t next; at < end && is_particle(text, at) == particle; at = next)
    if ((next = letter_end(text, at, end)) == at) break;
  return at;
}

static struct attn_fact_token *add_token(struct attn_fact_reader *r, int kind, size_t begin,
                                         size_t end) {
  struct attn_fact_token *t =
      &r->token[r->tokens < ATTN_FACT_TOKENS_MAX ? r->tokens++ : ATTN_FACT_TOKENS_MAX - 1];
  *t = (struct attn_fact_token){.kind = kind, .part = {begin, end}, .value = -1};
  return t;
}

/* 12 of s12, s_12, s_{12} */
static size_t add_index(struct attn_fact_reader *r, size_t at, size_t end) {
  const char *text = r->line->text;
  size_t begin = at + strspn(text + at, "_^{"), last = begin;
  while (last < end && attn_is_digit(text[last])) last++;
  if (last == begin || last > end) return at;
  if (text[last] == '.' && attn_is_digit(text[last + 1])) return at; /* the number 2.5 */
  add_token(r, TOKEN_INDEX, begin, last);
  return last + (last < end && text[last] == '}');
}

static int is_relation(uint32_t c) {
  return c == '=' || c == 0x2192 || c == 0x21D2 || c == 0x2248 || c == 0x21A6;
}

static size_t add_sign(struct attn_fact_reader *r, size_t at, size_t end) {
  const char *text = r->line->text;
  size_t next;
  uint32_t c = attn_code_point(text, at, end, &next);
  int is_arrow = next < end && (c == '-' || c == '=') && text[next] == '>';
  struct attn_fact_token *t = add_token(r, TOKEN_SIGN, at, next + (size_t)is_arrow);
  int is_stop = c == 0x3001 || c == 0x3002;
  t->sign = is_arrow || is_relation(c) ? '=' : c < 0x80 ? (char)c : is_stop ? '.' : '?';
  return t->part.end;
}

/* The end of the number at `at`, with its sign. */
static size_t number_end(struct attn_fact_reader *r, size_t at, size_t end) {
#define NUMBER "[-+]?(?:" ATTN_NUMBER "%?|\\x{221E}|inf\\b)"
  static const char ALONE[] = NUMBER "(?![\\pL\\d_]|\\.\\d)",
                    IN_TEXT[] = NUMBER
                    "(?:(?<!\\b1)/\\x{221A}\\d+(?!\\s*[=\\x{2248}]))?"
                    "(?![A-Za-z\\d_]|\\.\\d)";
  const char *text = r->line->text;
  struct attn_match m;
  if (!attn_is_digit(text[at]) && !strchr("+-.", text[at])) return at;
  if (at && strchr("+-", text[at]) && attn_is_digit(text[at - 1])) return at; /* tokens 1-2 */
  return attn_match_at(r->g->scan->patterns, r->is_text ? IN_TEXT : ALONE, text, end, at, &m)
             ? m.group[0].end
             : at;
}

/* What is in quotation marks is one word, particles too: "走る"; not in a sentence, which ends in a
 * full stop. Returns its end, or at. */
static size_t add_quoted(struct attn_fact_reader *r, size_t at, size_t end) {
  static const char QUOTED[] =
      "[\"\\x{201C}\\x{300C}]([^\"\\d\\x{201C}\\x{201D}\\x{300C}\\x{300D}\\x{25A3}]{1,20})"
      "[\"\\x{201D}\\x{300D}]";
  struct attn_match m;
  if (attn_is_letter(r->line->text[at]) || strstr(r->line->text, "。")) return at;
  if (!attn_match_at(r->g->scan->patterns, QUOTED, r->line->text, end, at, &m)) return at;
  add_token(r, TOKEN_WORD, m.group[1].begin, m.group[1].end);
  return m.group[0].end;
}

static size_t add_next(struct attn_fact_reader *r, size_t at, size_t end) {
  const char *text = r->line->text;
  int value;
  size_t next = attn_value_mark(text, at, end, &value);
  if (next) return add_token(r, TOKEN_VALUE, at, next)->value = value, next;
  next = add_quoted(r, at, end);
  if (next > at) return next;
  next = number_end(r, at, end);
  if (next > at) {
    struct attn_fact_token *t = add_token(r, TOKEN_NUMBER, at, next);
    if (!attn_group_cell(r->g, r->line, t->part, &t->cell)) t->kind = TOKEN_WORD;
    return next;
  }
  next = word_end(text, at, end);
  if (next == at) return add_sign(r, at, end);
  add_token(r, TOKEN_WORD, at, next);
  int is_letter = !(text[at] & 0x80) || next - at == 2; /* of Greek */
  return is_letter || !r->is_text ? add_index(r, next, end) : next;
}

void attn_fact_tokens(struct attn_fact_reader *r) {
  size_t end = r->line->bytes;
  r->tokens = 0;
  for (size_t at = 0; at < end && r->tokens < ATTN_FACT_TOKENS_MAX;)
    at = attn_is_blank(r->line->text[at]) ? at + 1 : add_next(r, at, end);
}

int attn_fact_is_sign(const struct attn_fact_reader *r, int at, const char *set) {
  return at >= 0 && at < r->tokens && r->token[at].kind == TOKEN_SIGN &&
         strchr(set, r->token[at].sign) != NULL;
}

int attn_fact_is_kind(const struct attn_fact_reader *r, int at, int kind) {
  return at >= 0 && at < r->tokens && r->token[at].kind == kind;
}

int attn_fact_is_whole(const struct attn_fact_reader *r, int at) {
  if (!attn_fact_is_kind(r, at, TOKEN_NUMBER)) return 0;
  const attn_cell *c = &r->token[at].cell;
  return c->kind == ATTN_CELL_NUMBER && c->decimals == 0 && c->value >= 0;
}
