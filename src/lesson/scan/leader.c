/* leader.c -- comments: the sign that begins each line of a run of lines is made blank; so are the
 * "+" of R before a line that continues a command, the signs of results of Org and quoted tables,
 * and the numbers of parts at the beginnings or ends of lines. */
#include <stdlib.h>
#include <string.h>

#include "text.h"

#define SIGN "(\\*|//[/!]?|##?|#>|--|;{1,3}|')(?=[ \\t\\r\\n]|\\z)"
/* Lines that begin with the same sign, and more of them than a list or a heading has in a row. */
static const char RUN[] =
    "(?m)^[ \\t]*+" SIGN "[^\\n]*+(?:\\n[ \\t]*+\\1(?=[ \\t\\r\\n]|\\z)[^\\n]*+){3,}+";

/* "> m <- matrix(c(1, 2,", then "+   3, 4), nrow = 2)" */
static const char CONTINUED[] = "(?m)^>[ \\t][^\\n]*+\\n(?:(\\+)(?=[ \\t])[^\\n]*+(?:\\n|\\z))++";

/* "# [[0.5, 1.0],", "#  [0.2, 0.3]]": a matrix in a comment */
static const char MATRIX[] =
    "(?m)^[ \\t]*+" SIGN
    "[^\\n\\[]*+\\[[ \\t]*+\\[[^\\n\\[\\]]++\\],?[ \\t]*+"
    "(?:\\n[ \\t]*+\\1[ \\t]++\\[[^\\n\\[\\]]++\\]++[,)]?[ \\t]*+(?=\\n|\\z))++";

/* "#+RESULTS:" of Org above ": [[0.5 1.0]", ":  [0.2 0.3]]" */
static const char RESULTS[] =
    "(?mi)^[ \\t]*+#\\+RESULTS\\b[^\\n]*+\\n\\K(?:[ \\t]*+(:)(?=[ \\t])[^\\n]*+(?:\\n|\\z))++";

/* Columns in a quotation: "> Q   K" above "> 1 0   1 1" */
static const char QUOTED_COLUMNS[] =
    "(?m)(?:\\A|^(?![ \\t]*+>)[^\\n]*+\\n)\\K[ \\t]*+(>(?:[ \\t]?>)*+)(?=[ \\t])[^\\n]*+"
    "(?:\\n[ \\t]*+\\1(?=[ \\t]|$)(?![ \\t]++-?\\d[\\d.]*+[ \\t]++-?\\d[\\d. \\t-]*+$)[^\\n]*+)*+"
    "\\n[ \\t]*+\\1[ \\t]++-?\\d[\\d.]*+[ \\t]++-?\\d[\\d. \\t-]*+$"
    "(?:\\n[ \\t]*+\\1(?=[ \\t]|$)[^\\n]*+)*+";

/* A table in a quotation: "> | | key |" above "> |---|---|" */
static const char QUOTED[] =
    "(?m)^[ \\t]*+(>(?:[ \\t]?>)*+)(?=[ \\t]*+\\|)[^\\n]*+"
    "(?:\\n[ \\t]*+\\1(?=[ \\t]*+\\|)[^\\n]*+)++";

/* Each line that the pattern finds begins with group 1. */
static void blank(struct attn_rewrite *r, const char *pattern) {
  char *text = r->text->now.text;
  struct attn_match m;
  for (size_t at = 0; attn_find(r->scan->patterns, pattern, text, r->text->now.bytes, at, &m);
       at = m.group[0].end) {
    size_t sign = m.group[1].end - m.group[1].begin;
    for (size_t line = m.group[0].begin; line < m.group[0].end;
         line += strcspn(text + line, "\n") + 1)
      memset(text + line + strspn(text + line, " \t"), ' ', sign);
  }
}

/* "1/8" to "8/8" of the posts of a thread */
static void blank_parts(struct attn_rewrite *r) {
  static const char PART[] =
      "(?m)^[ \\t]*+\\(?(\\d{1,2})/(\\d{1,2})(?=[) \\t:])\\)?|"
      "(?<=[ \\t])\\(?(\\d{1,2})/(\\d{1,2})\\)?(?=[ \\t]*$)";
  enum { PARTS_MAX = 99 };
  char *text = r->text->now.text;
  struct attn_part part[PARTS_MAX];
  struct attn_match m;
  int parts = 0, all = 0;
  for (size_t at = 0; attn_find(r->scan->patterns, PART, text, r->text->now.bytes, at, &m);
       at = m.group[0].end) {
    int of = m.group[3].end > m.group[3].begin ? 3 : 1;
    if (parts == PARTS_MAX || atoi(text + m.group[of].begin) != parts + 1) return;
    all = atoi(text + m.group[of + 1].begin);
    part[parts++] = m.group[0];
  }
  for (int n = 0; n < parts && parts > 1 && parts == all; n++)
    memset(text + part[n].begin, ' ', part[n].end - part[n].begin);
}

void attn_blank_leaders(struct attn_rewrite *r) {
  blank(r, RUN);
  blank(r, MATRIX);
  blank(r, CONTINUED);
  blank(r, RESULTS);
  blank(r, QUOTED);
  blank(r, QUOTED_COLUMNS);
  blank_parts(r);
}
