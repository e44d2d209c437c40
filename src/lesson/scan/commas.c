/* commas.c -- decimal commas, and commas and blanks between thousands, of a whole document. */
#include <string.h>

#include "text.h"

static int count_matches(struct attn_rewrite *r, const char *pattern) {
  const struct attn_canonical *text = &r->text->now;
  struct attn_match m;
  int count = 0;
  for (size_t at = 0; count < 1000; count++, at = m.group[0].end)
    if (!attn_find(r->scan->patterns, pattern, text->text, text->bytes, at, &m)) break;
  return count;
}

/* A cell between tabs: elsewhere a comma of Japanese is one of a list. */
static const char IN_SHEET[] = "(?m)(?:^-?0,\\d\\d++(?=\\t)|\\t-?0,\\d\\d++(?=\\t|$))";

enum { MANY_COMMAS = 8 }; /* for each point: of a version, a section */

/* 0{,}67 of LaTeX; or 0,67: at least two numbers below one with two decimals or more, hardly a
 * decimal point, and fewer lists of digits without a space. */
static int has_decimal_commas(struct attn_rewrite *r) {
  if (r->text->failed || !memchr(r->text->now.text, ',', r->text->now.bytes)) return 0;
  int points = count_matches(r, "(?<![.\\d])\\d++\\.\\d++(?!\\.\\d)"); /* not 02.11.2023 */
  int numbers =
      count_matches(r, r->scan->japanese ? IN_SHEET : "(?<![\\w.]|\\d,)0,\\d\\d++(?!\\w|,\\d)");
  if (numbers < MANY_COMMAS * points) return 0;
  return numbers >= 2 && numbers > count_matches(r, "\\d,\\d++(?:,\\d++)++");
}

/* The digits before the first separator and, ahead, all that is after them. */
#define BLANKS "[ \\t]{0,40}+"
#define DIGITS BLANKS "[-+]?[1-9]\\d{0,2}"
#define BEFORE_CELL "(?:(?<=[|&\\t\u23CE])|^(?=" BLANKS "[ \\d,.+-]{1,60}+[|\\t&]))"
#define AFTER_CELL " {0,40}+(?:[|&\\t\u23CE]|$)"
#define IN_CELL(sign, fraction) \
  "(" BEFORE_CELL DIGITS ")(?=(?:" sign "\\d{3})++" fraction AFTER_CELL ")"
#define AFTER_RESULT "(?![\\w,]|\\.\\d|" BLANKS "[,;])"
#define IN_RESULT "(=" DIGITS ")(?=(?:,\\d{3}(?:\\.\\d++)?+|(?:,\\d{3})++\\.\\d++)" AFTER_RESULT ")"
/* What the last match has left of 1,234,567. */
#define IN_REST(sign) "(?!\\A)\\G(\\d{3})(?=" sign "\\d{3})"

/* 1,234.5: a cell of its own, or the result of an equation */
static const char COMMAS_OF_THOUSANDS[] =
    "(?m)(?|" IN_CELL(",", "(?:\\.\\d++)?") "|" IN_RESULT "|" IN_REST(",") "),";
/* 1 234.5, which was 1 234,5 */
static const char BLANKS_OF_THOUSANDS[] = "(?m)(?|" IN_CELL(" ", "\\.\\d++") "|" IN_REST(" ") ") ";

static void rewrite_decimal_commas(struct attn_rewrite *r) {
  attn_rewrite_all(r, "(?<![\\d.]|\\d,)(\\d++),(\\d++)(?!,\\d)", "$1.$2", ",");
  attn_rewrite_all(r, BLANKS_OF_THOUSANDS, "$1", " ");
  /* (0.5; 0.3), but not the rows of (1 2; 3 4) */
  if (!count_matches(r, "[\\[(][^\\])\\n;]{0,200}?\\d[ \\t]++[-+]?\\d"))
    attn_rewrite_all(r, "(?<=[\\d)])[ \\t]*+;[ \\t]*+(?=[-+(]{0,2}\\d)", ", ", ";");
}

void attn_rewrite_commas(struct attn_rewrite *r) {
  int decimal = has_decimal_commas(r);
  attn_rewrite_all(r, "(\\d)\\{,\\}(?=\\d)", "$1.", "{");
  if (decimal)
    rewrite_decimal_commas(r);
  else
    attn_rewrite_all(r, COMMAS_OF_THOUSANDS, "$1", ",");
}

/* "row a: 2 | 0.5", "fila a: 2 | 0,5": a label and the numbers of a row; 0,5 | 1,2 may be two rows.
 */
void attn_rewrite_bars(struct attn_rewrite *r) {
#define BARRED(number)                                                               \
  "(?m)(?|(^[^|:\\n]{0,60}\\pL[^|:\\n]{0,20}:[ \\t]++" number ")|(?!\\A)\\G(" number \
  "))[ \\t]*+\\|[ \\t]*+(?=" number "(?:[ \\t]*+\\|[ \\t]*+" number ")*+[ \\t]*+$)"
  static const char POINTS[] = BARRED("-?\\d++(?:\\.\\d++)?+"),
                    COMMAS[] = BARRED("-?\\d++(?:[.,]\\d++)?+");
  attn_rewrite_all(r, has_decimal_commas(r) ? COMMAS : POINTS, "$1  ", "|");
}
