/* dialects.c -- what one format or program writes, and rows with labels in one line, as notations
 * that notation.c knows: tables of DocBook, Texinfo and ConTeXt, data in XML, formulas of
 * LibreOffice, sessions of irb, cells with their addresses. */
#include <string.h>

#include "text.h"

#define NUMBER "-?(?:\\d++(?:\\.\\d++)?+|\\.\\d++|inf)"
#define LIST NUMBER "(?:,[ \\t]*+|[ \\t]++)" NUMBER "(?:(?:,[ \\t]*+|[ \\t]++)" NUMBER "){0,40}+"
#define ROOT "-?\\d++(?:/(?:\\d++|√\\d++|\\(\\d++√\\d++\\)))?+"
#define CELLS "(?:" NUMBER "|x)(?:[ ](?:" NUMBER "|x)(?![^ \\n])){1,12}+"
#define NUMBERS NUMBER "(?:[ \\t,;/|]++" NUMBER ")*+"
#define ATTRIBUTES "(?:[ \\t][^<>]*+)?"
#define BRACED "\\{([^{}]*+)\\}"

/* In this order, in a document with this text. */
static const struct dialect {
  const char *has, *pattern, *replacement;
} DIALECTS[] = {
    /* DocBook */
    {"<entry", "(?i)<(/?+)row\\b[^<>]*+>", "<$1tr>"},
    {"<entry", "(?i)<(/?+)entry\\b[^<>]*+>", "<$1td>"},

    /* <row token="a">1 0</row>; <W>1 0 / 0 1</W>; <X> above rows */
    {"<?xml",
     "(?m)^[ \\t]*+<(r(?:ow)?|vec(?:tor)?|item|line)" ATTRIBUTES ">[ \\t]*+(" NUMBERS
     ")[ \\t]*+</\\1>",
     "$2"},
    {"<?xml", "(?m)^[ \\t]*+<([A-Za-z]\\w*+)" ATTRIBUTES ">[ \\t]*+(" NUMBERS ")[ \\t]*+</\\1>",
     "\n$1 = $2"},
    {"<?xml",
     "(?m)^[ \\t]*+<(?![Tt][RrDdHh]\\b|table\\b)([A-Za-z]\\w*+)" ATTRIBUTES
     ">[ \\t]*+\\n(?=[ \\t]*+-?[\\d.])",
     "\n$1 =\n"},
    {"<?xml", "<\\?xml[^<>\\n]*+>|<!--|-->", ""},

    /* Texinfo */
    {"@tab", "(?m)^@(?:multitable|end multitable|noindent|node)\\b[^\\n]*+$", ""},
    {"@tab", "@(?:var|code|math|emph|strong|i|b)" BRACED, "$1"},
    {"@tab", "(?m)^@(?:head)?item[ \\t]++([^\\n]*?@tab[^\\n]*+)$", "| $1 |"},
    {"@tab", "[ \\t]*+@tab\\b[ \\t]*+", " | "},

    /* ConTeXt */
    {"\\bTABLE", "\\\\[be]TABLE\\b(?:\\[[^\\]\\n]*+\\])?", "\n"},
    {"\\bTR", "\\\\bT[DH]\\b(?:\\[[^\\]\\n]*+\\])?", " | "},
    {"\\bTR", "\\\\eTR\\b", " |"},
    {"\\bTR", "[ \\t]*+\\\\(?:bTR\\b(?:\\[[^\\]\\n]*+\\])?|eT[DH]\\b)[ \\t]*+", ""},

    /* LibreOffice: left [ matrix{1 # 2 ## 3 # 4} right ] */
    {"matrix{", "\\bleft[ \\t]?[(\\[][ \\t]*+(?=matrix\\{)", ""},
    {"matrix{", "(?<![\\\\a-z])matrix\\{([^{}#]*+#[^{}]*+)\\}(?:[ \\t]*+right[ \\t]?[)\\]])?",
     ATTN_MARK_OPEN "$1" ATTN_MARK_CLOSE},
    {"##", "[ \\t]*+##[ \\t]*+(?=[^\\x{27E6}\\n]{0,400}\\x{27E7})", ATTN_MARK_ROW},
    {ATTN_MARK_CLOSE, "(?<=[\\w.])[ \\t]*+#[ \\t]*+(?=[^\\x{27E6}\\n]{0,400}\\x{27E7})", " & "},
    {" over ", BRACED "[ \\t]*+over[ \\t]*+sqrt[ \\t]?" BRACED, "$1 / \u221A$2"},
    {" over ", BRACED "[ \\t]*+over[ \\t]*+" BRACED, "$1 / $2"},

    /* MIT Scheme */
    {"]=>", "(?m)^(?:\\d++ \\]=>|;Value:)[ \\t]*+", ""},
    /* irb of Ruby */
    {"irb(", "(?m)^irb\\(\\w++\\):\\d++(?::\\d++)?[>*][ \\t]?", ""},
    {"=> Matrix[", "(?m)^=> Matrix(?=\\[)", ""},
    {"Matrix[", "(?<=[=(] )Matrix(?=\\[\\[)", ""},

    /* B2: 1  C2: 0 of a sheet */
    {"2: ",
     "(?m)(?:^(?=[A-Z]{1,2}\\d{1,3}:[ \\t])|(?<=[^\\n])[ \\t]{2,}+)[A-Z]{1,2}\\d{1,3}:[ \\t]"
     "(?=[\".\\d-])(?=[^\\n]*+\\n(?:[^\\n]*+\\n){0,9}?[A-Z]\\d{1,3}:[ \\t]\\S++[ \\t]{2,}+"
     "[A-Z]\\d{1,3}:[ \\t])",
     "  "},

    /* p.75, a page */
    {"p",
     "(?<![A-Za-z])(?:pp?\\.[ ]?|(?<=[\\x{3040}-\\x{9FFF}])[ "
     "]?p)\\d{1,4}(?:[-\\x{2013}]\\d{1,4})?(?![\\d.]*\\d|[ \\t]*+[=·])",
     "p"},

    {"·", "(?<=\\|)[ \\t]++·[ \\t]++(?=\\|)", " - "}, /* a hidden cell */
    /* psql: no pipes around a row */
    {"-+-", "(?m)^-{2,}+(?:\\+-{2,}+)++$", "|---|"},
    {"|---|\n", "(?m)^[ ](?=[^|\\n]*+\\|)([^\\n]*?)([ \\t]*+)$", "| $1$2 |"},
    /* boxes below each other */
    {"┌", "(?m)^([ \\t]*+└[^\\n]*+\\n)(?=[ \\t]*+┌)", "$1\n"},
    {"|*", "(?<=\\|)\\*(" NUMBER ")\\*(?=\\|)", "$1"}, /* bold, of Textile */

    /* "* a -> 1 / 2", "* a ... 1 to 2" of Japanese: rows of a list */
    {" / ",
     "(?m)(?:^[ \\t]*+[*\\x{2022}-][ \\t]++[^\\d\\n=/]{1,24}?(?:[\\x{2192}:\\x{2026}]|[ \\t]{2})[ "
     "\\t]*+"
     "(?=" NUMBER "(?: / " NUMBER ")++[ \\t]*+$)|(?!\\A)\\G)[ ]?\\K(" NUMBER ") /(?= " NUMBER ")",
     "$1,"},
    {"と",
     "(?<=[ \\t(\\x{FF08}])(" NUMBER ")[ ]?と[ ]?(?=" NUMBER
     "(?:[ \\t]*+(?:$|[/\\x{FF0F})\\x{FF09}\\n]|\\z)))",
     "$1, "},
    {"…",
     "(?m)^([ \\t]*+(?:[*\\x{2022}-][ \\t]++)?[^\\s\\d:=\\x{2026}]{1,12})[ \\t]++\\x{2026}++[ "
     "\\t]++(?=-?[\\d.])",
     "$1: "},
    /* a 0.7 / b 0.2 */
    {" / ",
     "(?m)(?<=[ :])([^\\s\\d/=()\\[\\]|]{1,12} " NUMBER
     ") /(?= [^\\s\\d/=()\\[\\]|]{1,12} -?[\\d.])",
     "$1,"},
    /* a: Q(0, 3) K(2, 2) V(2, 3) */
    {"(",
     "([Qq])(\\(" LIST "\\))[ \\t,\\x{3001}]*+([Kk])(\\(" LIST
     "\\))[ \\t,\\x{3001}]*+([Vv])(\\(" LIST "\\))",
     "$1 $2  $3 $4  $5 $6"},
    /* A1  (1, 0) and (0, 1): two rows */
    {") and (",
     "(?m)^([ \\t]*+[^\\s(\\[=]{1,12}[ \\t]++)(\\(" LIST "\\)) and (\\(" LIST "\\))(?=[ \\t.,]*+$)",
     "$1[$2, $3]"},
    /* scores  1 0 | 0 1 | -1 x: the rows of a matrix */
    {" | ",
     "(?m)^([ \\t]*+[^\\d\\n|:=()]{1,20}\\d?[ \\t]{2,}+)(" CELLS "(?:[ ]\\|[ ]" CELLS
     "){1,12}+)(?=[ \\t]*+(?:$|\\())",
     "$1" ATTN_MARK_OPEN "$2" ATTN_MARK_CLOSE},
    {ATTN_MARK_CLOSE, "(?<=[\\dx])[ ]\\|[ ](?=[-.\\dx |]{1,400}\\x{27E7})", ATTN_MARK_ROW},
    /* q1: 2/√2, 0, 5/√2 */
    {"/√",
     "(?m)^([ \\t]*+[^\\s:|(){}\\[\\]=,]{1,12}:[ \\t]*+)(?=[^\\n]*/√)(" ROOT
     "(?:[ \\t]*+,[ \\t]*+" ROOT "){1,12}+)[ \\t]*+$",
     "$1[$2]"},
    /* "q1: 0 ; 2 ; 3" */
    {" ; ",
     "(?m)(?:^[ \\t]*+[A-Za-z]\\w{0,7}:[ \\t]*+(?=" NUMBER "(?: ; " NUMBER
     ")++[ \\t]*+$)|(?!\\A)\\G)[ ]?\\K(" NUMBER ") ;(?= " NUMBER ")",
     "$1,"},

    /* query 1  7 · 1 · 3: a list */
    {" · ",
     "(?m)(?:^[^\\d\\n=]{1,24}\\d{0,2}[^\\d\\n=]{0,6}[ \\t:](?=" NUMBER "(?: · " NUMBER
     "){2,}+[ \\t]*+$)|(?!\\A)\\G) ?\\K(" NUMBER ") ·",
     "$1,"},
    /* "1st row (1, 0) 2nd row (0, 1)": a matrix; "Q 1st 1 0" above "2nd 0 1": below its name */
    {"行",
     "(?m)(?<!^)(?<![\\n\\d])[ \\t]*+(第?[1-9一二三四]行目?)[:は]?"
     "[ \\t]*+(?=[(\\[\\x{3014}]" LIST "[)\\]\\x{3015}])",
     ATTN_MARK_ROW "$1: "},
    {"1番 ", "(?m)^[ \\t]*+([^\\s\\d:]{1,12})[ \\t]++(?=1番[ \\t]++-?[\\d.])", "$1:" ATTN_MARK_ROW},
};

void attn_rewrite_dialects(struct attn_rewrite *r) {
  for (size_t n = 0; n < sizeof DIALECTS / sizeof *DIALECTS; n++)
    if (!r->text->failed && strstr(r->text->now.text, DIALECTS[n].has))
      attn_rewrite_all(r, DIALECTS[n].pattern, DIALECTS[n].replacement, DIALECTS[n].has);
}
