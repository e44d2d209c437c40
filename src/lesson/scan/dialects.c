/* dialects.c -- what one format, program or kind of text writes, as notations that notation.c
 * knows: tables of DocBook, Texinfo and ConTeXt, data in XML, formulas of LibreOffice, sessions of
 * irb and psql, cells with their addresses, rows with labels in lists and in one line. */
#include <string.h>

#include "text.h"

#define NUMBER "-?(?:\\d++(?:\\.\\d++)?+|\\.\\d++|inf)"
#define LIST NUMBER "(?:,[ \\t]*+|[ \\t]++)" NUMBER "(?:(?:,[ \\t]*+|[ \\t]++)" NUMBER ")*+"
#define DECIMAL "-?\\d*+\\.\\d++"
#define ROOT "-?\\d++(?:/(?:\\d++|√\\d++|\\(\\d++√\\d++\\)))?+"
#define ROOT_LABEL "(?:[A-Za-z]{1,8}[ ])?[^\\s:|(){}\\[\\]=,]{1,12}(?::|[ ]\\x{2192})"
#define PERCENT "\\d++(?:\\.\\d++)?+%"
#define CELLS "(?:" NUMBER "|x)(?:[ ](?:" NUMBER "|x)(?![^ \\n])){1,12}+"
/* 20% / 80%, 0.2 / 0.3 / 0.5: a list */
#define SHARES                                                   \
  "(?:" PERCENT "(?: / " PERCENT ")++|" DECIMAL "(?: / " DECIMAL \
  "){2,}+)(?![\\w%]|\\.\\d| "                                    \
  "[/*+=-])"
#define AND_SHARES "(?:,? and |[,;、][ ]?|[ ]?と[ ]?)"
#define NUMBERS NUMBER "(?:[ \\t,;/|]++" NUMBER ")*+"
#define INDICES "\\[\\d{1,2}(?:(?:, ?| )\\d{1,2})++\\]"
#define ATTRIBUTES "(?:[ \\t][^<>]*+)?"
#define PAIR_OF "[^\\n:=\\d]{1,20}?(?:と|[ ](?:to|and|with|on)[ ]|[ ]?[-·×/→][ ]?)"
#define OF_TOKEN "([^\\s\\d()=:,\\x{23CE}]{1,12})[ ]?(\\(" LIST "\\))"
#define MATRIX_NAME "([QKVXY]|W_?[QKVO])"
#define PAIR "[^\\n:=\\d]{1,20}:[ ]?" NUMBER
#define ARROW "(?:\\x{2192}|-{1,2}>)"
#define OF_PERSON "(?=(?:は|が|のクエリは)(?:順に)?\\()"
#define ROW_OF(turn) \
  "(?m)^([ \\t]*+[A-Za-z]{1,3}(?:の|[ ]))" turn "番目?(?=(?:から)?[ \\t]*+(?:\\x{2192}|[:=]))"
#define OF_ROW(n) n "行目[ \\t]++" NUMBER "(?:,?[ \\t]++" NUMBER "(?!行))++"
/* A  B  C above 2  1 0 1 */
#define CONSECUTIVE                                                                             \
  "(?:A[ \\t]++B|B[ \\t]++C|C[ \\t]++D|D[ \\t]++E|E[ \\t]++F|F[ \\t]++G|G[ \\t]++H|H[ \\t]++I|" \
  "I[ \\t]++J|J[ \\t]++K|K[ \\t]++L|L[ \\t]++M|M[ \\t]++N|N[ \\t]++O|O[ \\t]++P|P[ \\t]++Q|Q[ " \
  "\\t]++R|R[ \\t]++S|S[ \\t]++T|T[ \\t]++U)"
#define ROW_NUMBER "[ \\t]*+\\d{1,3}[ \\t]++(?=" NUMBER "(?:[ \\t]++" NUMBER ")++[ \\t]*+$)"
#define SHEET(more)                                                                 \
  "[A-Z](?:[ \\t]++[A-Z]){" more "}[ \\t]*+(\\n)(?=[ \\t]*+\\d{1,3}[ \\t]++" NUMBER \
  "(?:[ \\t]++" NUMBER "){" more "}[ \\t]*+\\n)"
#define BRACED "\\{([^{}]*+)\\}"
/* X =: 3 2 $ 0 1 1 0 1 0 of J, from its numbers on */
#define RESHAPED(cols) "=:[ ]?\\d{1,2} " cols " \\x{2374} "
#define ROW_BREAK(cols, row) \
  "(?:" RESHAPED(cols) "|(?!\\A)\\G)\\K(" row ") (?=" row "(?: " NUMBER ")*+(?:\\n|\\z))"
#define ROWS(rows, breaks)                                                  \
  rows " \\d{1,2} \\x{2374} (?=(?:[^\\x{23CE}\\n]{1,99}+\\x{23CE}){" breaks \
       "}[^\\x{23CE}\\n]{1,99}+$)"
#define SOME_ROWS "(?:" ROWS("2", "1") "|" ROWS("3", "2") "|" ROWS("4", "3") "|" ROWS("5", "4") ")"
#define TWO NUMBER " " NUMBER
#define QUOTIENT "-?\\d++(?:\\.\\d++|/√?\\d++)?+"
#define VECTORS "\\(" LIST "\\)(?: / \\(" LIST "\\))++"
/* 1 0 | 0 1: as many numbers in each row */
#define BARRED(row) row "(?: \\| " row ")++"

/* "→ q1: ", "- v2: "; 1 / 0 / 2, to the end of its line; 7 / 12 above 5 / 12 are fractions */
#define MARKED_ROW "[ \\t]*+(?:[*\\x{2022}\\x{2192}-][ \\t]++)?+[^\\n\\d:=/()]{1,16}\\d{0,2}:[ \\t]"
#define SLASHED NUMBER "(?: / " NUMBER ")++[ \\t]*+"
#define SAME_DENOMINATOR \
  NUMBER " / ([2-9]|\\d\\d++)[ \\t]*+\\n" MARKED_ROW NUMBER " / \\g{1}[ \\t]*+$"
/* 1, 0: no decimal comma */
#define COMMAS NUMBER "(?:, " NUMBER ")++"
#define SPACED_ROW NUMBER "(?:[ \\t]++" NUMBER ")++[ \\t]*+"
/* 1 & 0 */
#define OF_AMPERSANDS "(?=" NUMBER "(?: & " NUMBER ")++[ \\t]*+$)" NUMBER

/* query A: 1.133 + 1.455 = 2.588, up to its first sign */
#define SUM_OF_ROW                                                                             \
  "[ \\t]*+[^\\n\\d:=+]{1,24}\\d{0,2}:[ \\t]*+(?=" DECIMAL "(?: \\+ " DECIMAL ")++ = " DECIMAL \
  "[ \\t]*+$)" DECIMAL
/* 1番目のキーに対して, 1番目のクエリは, without the 1 */
#define FACING "番目の[^\\d\\s,、。=]{1,12}に対して(?:は|が)?[ ]?"
#define TURN "番目の[^\\d\\s,、。=]{1,12}[はが][ ]?"
#define LIST_TO NUMBER "%?(?:[ ]?と[ ]?" NUMBER "%?)++"
#define ROW_IS "行目[はが][ ]?"
#define THEN(turn, item) "[、,][ ]?" turn "\\g{1}" item
/* The same for 1, 2, and perhaps more */
#define IN_TURN(words, item)                                                                  \
  "1(" words ")" item THEN("2", item) "(?:" THEN("3", item) "(?:" THEN("4", item) "(?:" THEN( \
      "5", item) ")?+)?+)?+(?![、,][ ]?[1-9]\\g{1})"

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
    /* <matrix name="Q"> above rows */
    {"<?xml",
     "(?m)^[ \\t]*+<[a-z]\\w*+ (?:\\w++=\"[^\"<>]*+\" )*?(?:name|id)=\"([A-Za-z]\\w*+)\"[^<>]*+>"
     "[ \\t]*+\\n(?=[ \\t]*+-?[\\d.])",
     "\n$1 =\n"},
    {"<?xml",
     "(?m)^[ \\t]*+<(?![Tt][RrDdHh]\\b|table\\b)([A-Za-z]\\w*+)" ATTRIBUTES
     ">[ \\t]*+\\n(?=[ \\t]*+-?[\\d.])",
     "\n$1 =\n"},
    {"<?xml", "<\\?xml[^<>\\n]*+>", ""},
    {"<?xml", "<!--((?:[^\\d<>-]|-(?!->))*+)-->", "$1"}, /* a comment that names what is below */
    {"<?xml", "(?s)<!--.{0,2000}?-->", ""},

    /* Texinfo */
    {"@tab", "(?m)^@(?:multitable|end multitable|noindent|node)\\b[^\\n]*+$", ""},
    {"@tab", "@(?:var|code|math|emph|strong|i|b)" BRACED, "$1"},
    {"@tab", "(?m)^@(?:head)?item[ \\t]++([^\\n]*+)$", "| $1 |"},
    {"@tab", "@tab\\b[ \\t]*+", "| "},

    /* ConTeXt */
    {"\\bTABLE", "\\\\[be]TABLE\\b(?:\\[[^\\]\\n]*+\\])?", "\n"},
    {"\\bTR", "\\\\bT[DH]\\b(?:\\[[^\\]\\n]*+\\])?", " | "},
    {"\\bTR", "\\\\eTR\\b", " |"},
    {"\\bTR", "\\\\(?:bTR\\b(?:\\[[^\\]\\n]*+\\])?|eT[DH]\\b)[ \\t]*+", ""},

    /* tbl of troff: "center;", "n n." below .TS */
    {"\n.TS",
     "(?m)^\\.T[SE]\\b[^\\n]*+(?:\\n[a-z() ,]{1,40}+;)?+(?:\\n[lcrnsaLCRNSA| \\t]{1,80}+\\.(?=[ "
     "\\t]*+\\n))?+",
     ""},

    {"##-Inf", "##(?=-?Inf\\b)", ""}, /* Clojure */
    /* J, APL: _1, ]X =: 3 2 $ 0 1 1 0 1 0, X←3 2⍴0 1 1 0 1 0 */
    {"\u2374", "(\\w)[ ]?\\x{2190}[ ]?(\\d{1,2} \\d{1,2})[ ]?\\x{2374}[ ]?", "$1 =: $2 \u2374 "},
    {"=: ", "(?<=[\\s,])_(?=\\d)", "-"},
    {"=: ", "(?m)^[ \\t]*+\\](?=[A-Za-z]\\w*+ ?=:)", ""},
    {"=: ", "(?m)(=: ?\\d{1,2} \\d{1,2}) \\$ (?=[-.\\d ]++$)", "$1 \u2374 "},
    {"\u2374", ROW_BREAK("2", TWO), "$1" ATTN_MARK_ROW},
    {"\u2374", ROW_BREAK("3", TWO " " NUMBER), "$1" ATTN_MARK_ROW},
    {"\u2374", ROW_BREAK("4", TWO " " TWO), "$1" ATTN_MARK_ROW},
    {"\u2374", "(?m)=:[ ]?" SOME_ROWS "([^\\n]++)$", "= " ATTN_MARK_OPEN "$1" ATTN_MARK_CLOSE},
    {"\u2374", "(=: ?\\d{1,2} \\d{1,2}) \\x{2374}", "$1"}, /* of another size: a list */

    /* LibreOffice: left [ matrix{1 # 2 ## 3 # 4} right ] */
    {"matrix{", BRACED "[ ]over[ ]sqrt[ ]?" BRACED, "$1 / \u221A$2"},
    {"matrix{", BRACED "[ ]over[ ]" BRACED, "$1 / $2"},
    {"matrix{", "\\bleft[ \\t]?[(\\[][ \\t]*+(?=matrix\\{)", ""},
    {"matrix{", "(?<![\\\\a-z])matrix\\{([^{}#]*+#[^{}]*+)\\}(?:[ \\t]*+right[ \\t]?[)\\]])?",
     ATTN_MARK_OPEN "$1" ATTN_MARK_CLOSE},
    {"##", "##(?=[^\\x{27E6}\\x{27E7}\\n]{0,200}\\x{27E7})", ATTN_MARK_ROW},
    {ATTN_MARK_CLOSE, "(?<=[\\w.] |[\\w.])#(?=[^\\x{27E6}\\x{27E7}\\n]{0,200}\\x{27E7})", " & "},

    /* reStructuredText: the version that changed something */
    {".. ", "(?m)^([ \\t]*+\\.\\. (?:version\\w++|deprecated)::)[ \\t]++\\d[\\d.]*+", "$1"},
    /* Maxima: a line of brackets between the rows of a matrix, its number beside the middle */
    {"(%o", "\\n(?:\\(%o\\d++\\))?[ \\t]*+\\[[ \\t]++\\][ \\t]*+(?=\\n)", ""},
    {"(%o", "(?m)^\\(%o\\d++\\)(?=[ \\t])", ""},
    {"[,1] [,2]", "(?<=\\[,\\d\\]|\\[,\\d\\d\\]) (?=\\[,\\d)",
     "  "}, /* R: the columns of a matrix */
    /* R: how long it took */
    {"elapsed", "(?m)^[ \\t]*+user[ \\t]++system[ \\t]++elapsed[ \\t]*+\\n[ \\t\\d.]++$", ""},
    /* IPython: more lines of one input */
    {"...:", "(?m)^[ \\t]*+\\.{3}:(?=[ \\t\\n])", ""},
    /* 3/sqrt(2), 1/(2*sqrt(2)), sqrt(2)/2 of SymPy: roots in a number */
    {"sqrt(", "(?<=\\d/|\\d\\*|/\\()sqrt\\((\\d{1,2})\\)", "√$1"},
    {"sqrt(", "(?<=[\\[,]|[\\[,] |[\\[,] -|[\\[,]-)sqrt\\((\\d{1,2})\\)(?=(?:/\\d{1,4})?[,\\]])",
     "√$1"},
    /* MIT Scheme */
    {"]=>", "(?m)^(?:\\d++ \\]=>|;Value:)[ \\t]*+", ""},
    /* irb of Ruby */
    {"irb(", "(?m)^irb\\(\\w++\\):\\d++(?::\\d++)?[>*][ \\t]?", ""},
    {"=> Matrix[", "(?m)^=> Matrix(?=\\[)", ""},
    {"Matrix[", "(?<=[=(*] )Matrix(?=\\[\\[)", ""},
    {"Matrix",
     "\\bMatrix(?:\\[\\*|\\.rows\\()(\\[\\[[^\\[\\]\\n]*+\\](?:,[ "
     "]?\\[[^\\[\\]\\n]*+\\])*+\\])[\\])]",
     "$1"},

    /* Z(:, [2 3]) of Octave, z[:, [1, 2]] of Python: columns, or rows, of a matrix */
    {":", "\\b[A-Za-z]\\w*+[(\\[]:, ?\\K" INDICES "(?=[)\\]])", ":"},
    {":", "\\b[A-Za-z]\\w*+[(\\[]\\K" INDICES "(?=, ?:[)\\]])", ":"},

    /* C and C++: constants called kQ, loops */
    {"const",
     "(?m)^([ \\t]*+(?:(?:static|inline|constexpr|const)\\b[ \\t]++)++[^=\\n]{1,60}?[ \\t&*])k(?="
     "[A-Z]\\w{0,24}+(?:\\[\\w*+\\]){0,3}\\s{0,4}=)",
     "$1"},
    {"for (", "\\bfor \\([^;()\\n]{0,40};[^;()\\n]{0,40};[^;()\\n]{0,40}\\)", ""},

    /* B2: 1  C2: 0 of a sheet */
    {"2: ",
     "(?m)(?:^(?=(?:[A-Z]{1,2}\\d{1,3}:[ ][^\\n]{0,200}\\n(?:[^\\n]{0,200}\\n){0,4}?)?"
     "[A-Z]\\d{1,3}:[ ]\\S{1,20}[ ]{2,4}[A-Z]\\d{1,3}:[ ])|(?!\\A)\\G[ ]{2,4})[A-Z]{1,2}\\d{1,3}:[ "
     "]"
     "((?:\"[^\"\\n]*+\"|[-.\\d]++)(?=[ ]{2,4}|\\n|\\z))",
     "$1  "},

    /* the letters of columns and the numbers of rows: of a sheet */
    {"\n",
     "(?m)(?:^(?:([^\\s\\d:]{1,12})[ \\t]++|[ \\t]++)(?=" CONSECUTIVE ")(?:" SHEET("1") "|" SHEET(
         "2") "|" SHEET("3") "|" SHEET("4") "|" SHEET("5") ")|(?!\\A)\\G([^\\n]*+\\n))" ROW_NUMBER,
     "$1$2$3$4$5$6$7"},

    /* CS 7.42, Lecture 11: a course */
    {"Lecture", "(?m)^([#* ]{0,4}[A-Z]{2,4}) \\d{1,2}\\.\\d{1,3}(?=[ :,·-]{1,3}Lecture\\b)", "$1"},
    /* numbers of sections, of the steps of a chain, of an issue */
    {"section",
     "(\\\\(?:sub){0,2}section\\*?\\{)[1-9]\\d?(?:\\.(?:[12]\\d|[1-9]))++[ ~](?=[^\\s\\d])", "$1"},
    {"\\section",
     "(\\\\(?:sub){0,2}section\\*?\\{[^\\d\\s{}=:]{1,12}[ ~])[1-9]\\d?\\.[1-9]\\d?[ ](?=[^\\s\\d])",
     "$1"},
    {"の",
     "(?m)^[ \\t]*+([1-9])\\.(?:2[ ]++\\1\\.1|3[ ]++\\1\\.2|4[ ]++\\1\\.3|5[ ]++\\1\\.4|6[ "
     "]++\\1\\.5|7[ ]++\\1\\.6|8[ ]++\\1\\.7|9[ ]++\\1\\.8)(?=の(?:各|行))",
     ""},
    {"→ 2.", "(?m)(?:^[ \\t]*+1\\.[ ]|(?!\\A)\\G)[^\\n→]*[^\\d\\n] → \\K[2-9]\\.[ ](?=[^\\s\\d])",
     ""},
    {"ol.", "(?<![A-Za-z])([Vv]ol)\\.[ ]?\\d{1,4}+(?![\\d.])", "$1"},
    /* (2 x 3)(3 x 2) = 2 x 2: sizes */
    {")(", "\\((\\d) [x×] (\\d)\\) ?\\(\\2 [x×] (\\d)\\) ?= ?\\(?\\1 [x×] \\3\\)?(?!\\d)", ""},
    {"v", "(?<![\\w.])v\\d++\\.\\d++\\.\\d++(?![.\\w]\\w)", "v"}, /* of a program */
    /* qの一番 → (1, 0), kの二番 = (0, 1) */
    {"一番", ROW_OF("一"), "$11番目"},
    {"二番", ROW_OF("二"), "$12番目"},
    {"三番", ROW_OF("三"), "$13番目"},
    {"四番", ROW_OF("四"), "$14番目"},
    /* the rows of two people */
    {"一人目", "一人目" OF_PERSON, "1行目"},
    {"二人目", "二人目" OF_PERSON, "2行目"},
    /* = 9 --> /sqrt2 --> 6.36 --> exp --> 578.25 */
    {"exp",
     "(=[ \\t]*+" NUMBER ")[ \\t]*+(?:" ARROW
     "[ \\t]*+)?[/\\x{F7}][ \\t]?(?:√|sqrt[ ]?)\\(?\\d{1,2}\\)?[ \\t]*+(?:=|" ARROW
     ")[ \\t]*+(" NUMBER ")[ \\t]*+" ARROW "[ \\t]*+exp[ \\t]*+" ARROW "[ \\t]*+(?=" NUMBER ")",
     "$1, scaled = $2, exp = "},
    /* p.75 of a book: a page */
    {"p.",
     "(?:(?<=書|書 |ト|ト |ook|ook )pp?\\.[ ]?\\d{1,4}+|"
     "(?<![A-Za-z])pp?\\.[ ]?\\d{1,4}+(?=[ ]?[)\\x{FF09}\\x{300D}のをに]))(?![\\d.])",
     "p"},
    {"p.", "\\Ap\\.[ ]?\\d{1,4}+(?=[ \\t]++\\d{4}[./-]\\d)",
     "p"}, /* of a notebook, with its date */
    {"トp", "(?<=ト)p\\d{1,4}+(?![\\d.=])", "p"},

    /* float tv_x[2][3] = {: the prefix of all names of a header of C */
    {"][", "\\b(?:float|double|int) \\K[a-z]{2,8}_(?=(?:x|y|w?[qkv]|s|a|o)(?:_[a-z]++)?\\[)", ""},
    /* Score: 20.0 / 20.0 of a grader */
    {"core:",
     "(?m)(?<=[ \\t]|^)(?:Total[ ])?[Ss]core:[ ]\\d{1,3}(?:\\.\\d)?[ ]?/[ "
     "]?[1-9]\\d{1,2}(?:\\.\\d)?[ \\t]*+$",
     ""},

    /* apply(S / sqrt(2), 1, function(z) ..) of R: an axis */
    {"apply(", "\\bapply\\([^,\\n]{1,40}+,\\K[ ]?[12](?=, ?function\\b)", " rows"},
    /* 2.11.2023: a word, as "v3" is */
    {".", "(?<![\\w.])\\d{1,2}\\.[01]?\\d\\.(?=(?:19|20)\\d\\d(?![\\w.]))", "y"},
    {"NumberForm[", "\\bNumberForm\\[([^\\n]*?), ?(?:\\d|\\{\\d, ?\\d\\})\\]", "$1"},
    /* "[10:42:07.118] DEBUG attn.c:52 " of a log */
    {":",
     "(?m)^\\[?(?:\\d{4}-\\d\\d-\\d\\d[ T])?\\d{1,2}:\\d\\d:\\d\\d(?:[.,]\\d{1,9})?Z?\\]?[ \\t]++"
     "\\[?(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR)\\]?:?[ "
     "\\t]++[\\w/-]++\\.\\w{1,4}:\\d++:?[ \\t]++",
     ""},
    /* "[10:02] Ana: " of a chat; "10:02  sums: 2.5": what is in front of numbers is their name */
    {":",
     "(?m)^\\[?\\d{1,2}:\\d\\d(?::\\d\\d)?\\]?(?:"
     "[ \\t]++(?=[a-z]{2,20}:[ \\t]++-?[.\\d])|"
     "[ \\t]++<?[@+%~&]?[A-Za-z][\\w.]{1,20}>?:?[ "
     "\\t]|\\t[^\\t\\n]{1,20}\\t| [^\\x00-\\x7F]{1,8} )",
     ""},
    /* in JSON: "-inf" */
    {"\"", "(?i)(?<=[\\[,] |[\\[,])\"([-\\x{2212}]?(?:inf(?:inity)?|\\x{221E}))\"", "$1"},
    /* softmax, axis=-1: the last one */
    {"-1", "(?m)(?<=axis=|axis = |dim=|dim = )-(?=1[ \\t]*+$)", ""},
    /* shapes: Q (3, 4)  K (3, 4) */
    {"shapes:",
     "(?mi)\\bshapes:(?:[ ,;]*+[a-z]\\w{0,9}+ ?=? ?\\(\\d{1,2}, ?\\d{1,2}\\)){1,8}+[ \\t]*+$", ""},

    /* 1 point each, 2 for Q9 */
    {" point",
     "\\b\\d{1,3} (points?|marks?)( each)?+(?:, (?:and )?\\d{1,3} for (?:Q|question |part "
     ")\\d{1,2}\\b)++",
     "$1$2"},
    /* スコアは 7点、2点、4点: a list */
    {"点",
     "(?m)(?:^(?![^\\n]*配点)(?=[^\\n]*(?:スコア|内積))[^\\n]*?|(?!\\A)\\G[^\\n]*?)(?<=\\d)\\K点(?="
     "[、,と][ ]?-?\\d)|(?<=[、,と]\\d|[、,と] \\d|[、,と]-\\d|[、,と]\\d\\d)点(?=[ "
     "]?(?:[にと]な|で|だ|。))",
     ""},
    {"点", "(?m)(?<=\\S)[ \\t]++\\d{1,3}点[ \\t]*+$", ""}, /* what a question gives */

    /* (0.5, 1) …(答): the mark of an answer */
    {"(答", "(?m)(?<=[\\d)\\]%])[ \\t]*+[…‥·・.]{0,6}+[ \\t]?\\(答え?\\)[ \\t]*+$", ""},

    /* | -2 / 4 / 6 |: a vector in a cell of a table, which is no fraction */
    {"|--",
     "(?<=\\|)([ \\t]++)(" NUMBER "[ ]/[ ]" NUMBER "(?:[ ]/[ ]" NUMBER ")++|" DECIMAL
     "[ ]/[ ]" DECIMAL ")(?=[ \\t]++\\|)",
     "$1[$2]"},
    {"|--", "(?<=[\\d.])[ ]/[ ](?=[-.\\d /]{1,80}\\][ \\t]++\\|)", ", "},

    {"·", "(?<=\\|)[ \\t]++·[ \\t]++(?=\\|)", " - "}, /* a hidden cell */
    /* psql: what it has done; no pipes around a row */
    {"INSERT 0 ", "(?m)^INSERT 0 \\d++$", ""},
    {"-+-", "(?m)^-{2,}+(?:\\+-{2,}+)++$", "|---|"},
    {"\n|---|\n", "(?m)^[ ](?=[^|\\n]{1,200}+\\|)([^\\n]*+)$", "| $1 |"},
    /* boxes below each other */
    {"┌", "(?m)^([ \\t]*+└[^\\n]*+\\n)(?=[ \\t]*+┌)", "$1\n"},
    {"|*", "(?<=\\|)\\*(" NUMBER ")\\*(?=\\|)", "$1"}, /* bold, of Textile */

    /* "* a -> 1 / 2", "* a ... 1 to 2" of Japanese: rows of a list */
    {" / ",
     "(?m)(?:^[ \\t]*+[*\\x{2022}-][ \\t]++[^\\d\\n=/:]{1,24}?(?:[\\x{2192}\\x{2026}]|[ \\t]{2})[ "
     "\\t]*+"
     "(?=" NUMBER "(?: / " NUMBER ")++[ \\t]*+$)|(?!\\A)\\G)[ ]?\\K(" NUMBER ") /(?= " NUMBER ")",
     "$1,"},
    /* "q1: 1 / 0" above "q2: 0 / 2": rows */
    {" / ",
     "(?m)(?:^" MARKED_ROW "(?!" SAME_DENOMINATOR ")(?=" SLASHED "\\n" MARKED_ROW SLASHED
     "$)|(?!\\A)\\G(?:[ ]" NUMBER "[ \\t]*+\\n" MARKED_ROW "(?=" SLASHED "$))?+)[ ]?\\K(" NUMBER
     ") /(?= " NUMBER ")",
     "$2,"},
    {"と",
     "(?m)(?:^|(?<=[ \\t(]|\\d,))(" NUMBER ")[ ]?と[ ]?(?=" NUMBER
     "(?:[ \\t]*+(?:$|[/)\\n]|\\z|,[ ]?" NUMBER "[ ]?と)))",
     "$1, "},
    {") と (",
     "(?m)(?:^[^()\\d\\n]{0,24}(?=\\(" LIST "\\)(?: と \\(" LIST
     "\\))++[ \\t]*+$)|(?!\\A)\\G)\\K(\\(" LIST "\\)) と (?=\\()",
     "$1, "},
    /* "cat……1·0", "cat → 0.5·1": the numbers of a row */
    {"·",
     "(?m)(?:^[ \\t]*+[^\\s\\d:=()·…→/*]{1,12}[ ]?(?:…++|→)[ ]?(?=" NUMBER "(?:·" NUMBER
     "){1,8}+[ \\t]*+$)|(?!\\A)\\G)\\K(" NUMBER ")·",
     "$1, "},
    {"…",
     "(?m)^([ \\t]*+(?:[*\\x{2022}-][ \\t]++)?[^\\s\\d:=\\x{2026}]{1,12})(?:[ \\t]++\\x{2026}++[ "
     "\\t]++(?=-?[\\d.])|[ \\t]*+\\x{2026}++[ \\t]*+(?=" NUMBER ", ))",
     "$1: "},
    /* query A ...... 1; 0: dots up to the numbers of a row */
    {"....",
     "(?m)^([ \\t]*+[^\\s\\d:=.,;][^\\n\\d:=.,;]{0,40}\\d?)[ \\t]*+\\.{4,}[ \\t]*+(?=-?\\d)",
     "$1: "},
    /* Ws  1 0, and rows without a name, between blank lines: a matrix */
    {"\n\n",
     "(?<=\\n\\n)([ \\t]*+[A-Za-z]{1,3})[ \\t]{2,}+(?=" SPACED_ROW "(?:\\n[ \\t]++" SPACED_ROW
     ")*+\\n(?:\\n|\\z))",
     "$1 = "},
    /* exponentials and their sums, below a line that calls them so */
    {" + ",
     "(?mi)(?:^(?=[^\\n=]*(?:\\bexp|指数))[^\\n=\\d]*+\\n" SUM_OF_ROW "|(?!\\A)\\G" DECIMAL
     "(?:[ \\t]*+\\n" SUM_OF_ROW ")?+)\\K [+=] ",
     ", "},
    /* rows of LaTeX without its signs, below a line without them */
    {" & ",
     "(?m)(?:^[^\\n\\\\&]*+\\n[ \\t]*+" OF_AMPERSANDS "|(?!\\A)\\G" NUMBER
     "(?:[ \\t]*+\\n[ \\t]*+" OF_AMPERSANDS ")?+)\\K & ",
     "  "},
    /* a 0.7 / b 0.2 */
    {" / ",
     "(?m)(?<=[ :])([^\\s\\d/=()\\[\\]|]{1,12} " NUMBER
     ") /(?= [^\\s\\d/=()\\[\\]|]{1,12} -?[\\d.])",
     "$1,"},
    /* a: Q(0, 3) K(2, 2) V(2, 3) */
    {"V(",
     "([Qq])(\\(" LIST "\\))[ \\t,\\x{3001}]*+([Kk])(\\(" LIST
     "\\))[ \\t,\\x{3001}]*+([Vv])(\\(" LIST "\\))",
     "$1 $2  $3 $4  $5 $6"},
    /* "from X with rows (1; 2) and (0; 1)": a matrix */
    {"with rows (",
     "(?m)with rows((?: \\([^()\\n]{1,60}+\\),?){1,8}+) and (?=\\([^()\\n]{1,60}+\\)[.,;]?$)",
     ":$1 "},
    /* A1  (1, 0) and (0, 1): two rows */
    {") and (",
     "(?m)^([ \\t]*+[^\\s(\\[=]{1,12}[ \\t]++)(\\(" LIST "\\)) and (\\(" LIST "\\))(?=[ \\t.,]*+$)",
     "$1[$2, $3]"},
    /* scores  1 0 | 0 1 | -1 x: the rows of a matrix */
    {" | ",
     "(?mi)^([ \\t]*+(?:[QKVX]|W_?[QKV]|(?:raw |scaled |masked )?scores?|scaled|/ ?(?:sqrt|√) "
     "?\\d|masked|"
     "exp\\w*|softmax|weights?|outputs?|スコア|重み|出力)[ \\t]{2,}+)(" CELLS "(?:[ ]\\|[ ]" CELLS
     "){1,12}+)(?=[ \\t]*+(?:$|\\())",
     "$1" ATTN_MARK_OPEN "$2" ATTN_MARK_CLOSE},
    {" | ", "(?m)(?<==)([ \\t]*+)(" LIST "(?:[ ]\\|[ ]" LIST ")++)(?=[ \\t]*+(?:$|\\())",
     "$1" ATTN_MARK_OPEN "$2" ATTN_MARK_CLOSE},
    {ATTN_MARK_CLOSE, "(?<=[\\dx])[ ]\\|[ ](?=[-.\\dx ,|]{1,200}\\x{27E7})", ATTN_MARK_ROW},
    /* WQ の各行 1, 0 / 0, 1: the rows of a matrix after its name */
    {" / ",
     "(?m)^([ \\t]*+(?:[QKVXY]|W_?[QKVO]))(?:[ \\t]?の?各?行|[ \\t]rows)?+(?:[はが]|[ \\t])[ "
     "\\t]*+(?=" LIST "(?: / " LIST ")++[ \\t]*+$)",
     "$1: "},
    /* k は 雨(2, 0) が(1, 2): rows of tokens */
    {"は",
     "(?<![A-Za-z_])([xkvXKVQ])[ ]?は(?:[^\\s()=,]{0,11}[^\\s\\d()=,][ ]{1,4}|[ ]*+)(?=" OF_TOKEN
     "[ ]{1,4}" OF_TOKEN ")",
     ATTN_MARK_ROW "$1:" ATTN_MARK_ROW},
    /* Q: 雨 (2, 0), が (1, 2) */
    {":",
     "(?m)(?:^|(?<=>))[ \\t]*+(?:[*\\x{2022}\\x{B7}-][ \\t]?+)?(" MATRIX_NAME
     "|[^\\s:=|][^\\n:=|]{0,30}[·×@][^\\n:=|]{1,9}):[ ]?(?=" OF_TOKEN ",[ ]?" OF_TOKEN
     "(?:,[ ]?" OF_TOKEN ")*+[ \\t.]*+(?:$|<))",
     ATTN_MARK_ROW "$1:" ATTN_MARK_ROW},
    {":" ATTN_MARK_ROW, "(?:(?<=:\\x{23CE})|(?!\\A)\\G)[ ]*+,?[ ]*+" OF_TOKEN,
     "$1: $2" ATTN_MARK_ROW},
    /* WQ の行は順に (0, 1)(1, 0), WK の行 (1, 0)(0, 1) */
    {"の行",
     "[, ]*+" MATRIX_NAME "[ ]?の行は?(?:順に)?[ ]?\\((" LIST "(?:\\)[ ,]{0,2}\\(" LIST ")++)\\)",
     ATTN_MARK_ROW "$1 = " ATTN_MARK_OPEN "$2" ATTN_MARK_CLOSE},
    /* 1行目は (0, 1)、2行目は (1, 0) */
    {"2行目",
     "(?=" IN_TURN(ROW_IS, "\\(" LIST "\\)") ")1" ROW_IS "\\((" LIST "(?:\\)[、,][ ]?[2-9]" ROW_IS
                                             "\\(" LIST ")++)\\)",
     ATTN_MARK_OPEN "$2" ATTN_MARK_CLOSE},
    {ATTN_MARK_CLOSE,
     "(?<=\\d)\\)[、,][ ]?[2-9]" ROW_IS "\\((?=[-.\\d ,()、はが行目]{1,200}\\x{27E7})",
     ATTN_MARK_ROW},
    /* → [2.67] in a line of its own: a number */
    {"→ [", "(?m)^([ \\t]*+→ )\\[(" NUMBER ")\\](?=[ \\t]*+$)", "$1$2"},
    /* (0, 1)(1, 0) in a line: rows */
    {")(",
     "(?mi)^((?![^\\n]*(?:product|\\bdot|積))[^\\n]*+\\n[ \\t]*+)\\((" LIST "(?:\\)\\(" LIST
     ")++)\\)(?=[ \\t]*+$)",
     "$1" ATTN_MARK_OPEN "$2" ATTN_MARK_CLOSE},
    {ATTN_MARK_CLOSE, "(?<=\\d)\\)[ ,]{0,2}\\((?=[-.\\d ,()]{1,200}\\x{27E7})", ATTN_MARK_ROW},
    /* scores / SQRT(2), d_k is 2: a title and a size */
    {", d",
     "(?mi)^([^\\n\\d=]{1,40}/ ?(?:√|sqrt) ?\\(?\\d{1,2}\\)?), (d_?k) (?:is|=) (\\d{1,2})[ \\t]*+$",
     "$1 ($2 = $3)"},
    /* rows in a line of their own, with no table around */
    {" | ",
     "(?m)^((?![^\\n]*(?:\\band\\b|と))[^|\\n]*[^\\d\\s|-][ \\t]*+\\n[ \\t]*+)(" BARRED(
         TWO) "|" BARRED(TWO " " NUMBER) "|" BARRED(TWO " " TWO) ")(?=[ \\t]*+(?:\\z|\\n(?![ "
                                                                 "\\t]*+[-+=|.\\d])))",
     "$1" ATTN_MARK_OPEN "$2" ATTN_MARK_CLOSE},
    {" ; ", "(?m)^([ \\t]*+)(" COMMAS "(?: ; " COMMAS ")++)[ \\t]*+$", "$1[$2]"}, /* 1, 0 ; 0, 1 */
    /* "scores first: token 1 gets 1, 0 and token 2 gets 6, 2": rows */
    {" and ",
     "(?m)(?<=[:;,] )((\\pL{2,12} )1( \\pL{3,9} ))(" LIST ")(?: and |, )\\g{2}2\\g{3}(" LIST
     ")(?=\\.?$)",
     ATTN_MARK_OPEN "$4" ATTN_MARK_ROW "$5" ATTN_MARK_CLOSE},
    /* √4、つまり2で割ります。1、1/2、3 になります: a row */
    {"で割",
     "(√\\d{1,2}(?:[^\\n\\d。]{1,6}[\\d.]{1,6})?+[ ]?で割(?:ります|る|ると|って)[。,、][ "
     "]?)(" QUOTIENT "(?:[,、][ ]?" QUOTIENT ")++)(?=[ ]?(?:に|と)な)",
     "$1" ATTN_MARK_ROW "scaled = [$2]"},
    {"、", "(?<=\\d)、[ ]?(?=[-.\\d /√、]{1,80}\\])", ", "},
    /* W_Q: (0, 1) / (1, 0): rows */
    {") / (", "(?m)(?<=[:=])([ \\t]*+)(" VECTORS ")(?=[ \\t]*+$)", "$1[$2]"},
    {") / (", "(?<=\\)) / (?=" VECTORS "\\]|\\(" LIST "\\)\\])", ", "},
    /* "q1 24.5% / 9.0% / 66.5%": a list */
    {"% / ",
     "(?m)(?:^[^\\n\\d%/]{1,24}\\d{0,2}[ \\t:]++(?=" PERCENT "(?: / " PERCENT
     ")++[ \\t]*+$)|(?!\\A)\\G)[ ]?\\K(" PERCENT ") /(?= " PERCENT ")",
     "$1,"},
    /* "20% / 80% and 50% / 50%" in a sentence: rows */
    {" / ", "(?<![\\w.%/√(-])(?<!/ )(" SHARES ")(?=" AND_SHARES SHARES ")", "($1)"},
    {") ", "(\\(" SHARES "\\)" AND_SHARES ")(" SHARES ")", "$1($2)"},
    {" / ", "(?:\\((?=" SHARES "\\))|(?!\\A)\\G)[ ]?\\K([-.\\d]++%?) /(?= [-.\\d])", "$1,"},
    /* q1: 2/√2, 0, 5/√2 */
    {"√",
     "(?m)^([ \\t]*+" ROOT_LABEL "[ \\t]*+)(?=[^\\n]*/\\(?\\d*√)(" ROOT
     "(?:(?:[ \\t]*+,[ \\t]*+|[ \\t]{2,}+)" ROOT "){1,12}+)[ \\t]*+$",
     "$1[$2]"},
    /* "a to a: 4   a to b: 3": a row */
    {":",
     "(?m)(?:^(?=[ \\t]*+(" PAIR_OF ")" PAIR "(?:[ ]{2,}\\1" PAIR
     ")++[ \\t]*+$)[ \\t]*+[^\\n:=\\d]++:[ ]?" NUMBER "|(?!\\A)\\G" NUMBER
     ")\\K[ ]{2,}[^\\n:=\\d]{1,60}:[ ]?(?=" NUMBER ")",
     ", "},
    /* "q1: 0 ; 2 ; 3" */
    {" ; ",
     "(?m)(?:^[ \\t]*+[A-Za-z]\\w{0,7}:[ \\t]*+(?=" NUMBER "(?: ; " NUMBER
     ")++[ \\t]*+$)|(?!\\A)\\G)[ ]?\\K(" NUMBER ") ;(?= " NUMBER ")",
     "$1,"},

    /* スコアは 1番目のキーに対して 4、2番目のキーに対して 6: a list */
    {"に対して",
     "(?:(?<=[はが])[、,]?[ ]?(?=" IN_TURN(
         FACING, NUMBER) ")1|(?!\\A)\\G(" NUMBER "[、,])[ ]?[2-9])" FACING "(?=" NUMBER ")",
     "$2"},
    /* 1番目のクエリは 2.0 と 3.0、2番目のクエリは 2.5 と 2.0: rows */
    {"2番目", "[、,][ ]?(?=" IN_TURN(TURN, LIST_TO) ")", "、" ATTN_MARK_ROW},
    {"2番目",
     "(?:(?=" IN_TURN(TURN, LIST_TO) ")|(?!\\A)\\G)([1-9]" TURN LIST_TO ")[、,][ ]?(?=[2-9]番目)",
     "$2" ATTN_MARK_ROW},
    /* k1 へ 0.25, k2 へ 0.75: to the first key, to the second */
    {"へ",
     "(?m)(?:^(?=[^\\nへ\\d]{0,4}\\d?[^\\nへ\\d]{0,30}?(\\pL)_?1[ ]?へ[ ]?" NUMBER
     "[ ]?,[ ]*+\\g{1}_?2[ ]?へ[ ]?" NUMBER ")|(?!\\A)\\G)([^\\nへ]*?)[ ]?へ[ ]?(?=" NUMBER
     "[ ]?(?:,|$))",
     "$2: "},

    /* "e^2.12 : e^0.71 → 0.80 : 0.20": a list */
    {" : ", "(?:(?<=\\x{2192})|(?!\\A)\\G)([ ]*+\\d*+\\.\\d++)[ ]:(?=[ ]\\d*+\\.\\d)", "$1,"},
    /* "A2 1   B2 2": cells of a spreadsheet with their addresses, as A2:B4 */
    {":B",
     "(?m)(?:^|(?!\\A)\\G[ ]{2,})[A-H]\\d{1,2} (-?(?:\\d++(?:\\.\\d++)?+|\\.\\d++))(?=[ "
     "]{2,}[A-H]\\d|[ "
     "\\t]*+$)",
     "  $1"},
    /* query 1  7 · 1 · 3: a list */
    {" · ",
     "(?m)(?:^[^\\d\\n=]{1,24}\\d{0,2}[^\\d\\n=]{0,6}[ \\t:](?=" NUMBER "(?: · " NUMBER
     "){2,}+[ \\t]*+$)|(?!\\A)\\G) ?\\K(" NUMBER ") ·",
     "$1,"},
    /* "1st row (1, 0) 2nd row (0, 1)": a matrix; "Q 1st 1 0" above "2nd 0 1": below its name */
    {"行",
     "(?m)(?<!^)(?<![\\n\\d])(第?[1-9一二三四]行目?)[:は]?"
     "[ \\t]*+(?=[(\\[\\x{3014}]" LIST "[)\\]\\x{3015}])",
     ATTN_MARK_ROW "$1: "},
    /* "1行目 4、6": a row with a label */
    {"行", "(?m)^([ \\t]*+第?[1-9]行目?)[ \\t]++(?=" NUMBER "(?:[,、][ ]?" NUMBER ")++[ \\t]*+$)",
     "$1: "},
    /* Q の第1行 = (1, 0): q_1 */
    {"行", "(?m)^([ \\t]*+[QKV])[ ]?の第([1-9])行(?=[ ]?[:=][ ]?[(\\[])", "$1_$2"},
    /* "Qの1行目が 1 0、2行目が 0 1": rows below the name */
    {"行目が",
     "(?m)(?:^([ \\t]*+[A-Z]\\w{0,2})の(?=1)|(?!\\A)\\G[,、][ ]?)[1-9]行目が[ ]?(" NUMBER
     "(?:[ \\t]++" NUMBER ")++)(?=[,、][ ]?[1-9]行目|[ \\t]*+$)",
     "$1" ATTN_MARK_ROW "[$2]"},
    /* a card: "キー k1 は?", a tab and the answer */
    {"は?\t", "(?m)^([^\\t\\n]{1,60}?)[ ]?は\\?(?=\\t)", "$1"},
    /* Q 1行目 1 0  2行目 0 1: rows of a matrix */
    {"2行目",
     "(?m)(?:^([ \\t]*+[^\\s\\d:=]{1,12})[ \\t:]++(?=" OF_ROW("1") "[ \\t]{2,}+" OF_ROW(
         "2") ")|(?!\\A)\\G(" OF_ROW("[1-9]") ")[ \\t]{2,}+(?=\\d行目))",
     "$1$2" ATTN_MARK_ROW},
    {"目",
     "(?m)(?<!^)(?<![\\n\\d])([1-9](?:単?語|トークン|番|個|つ)目)[:は]?"
     "[ \\t]*+(?=[(\\[]" LIST "[)\\]])",
     ATTN_MARK_ROW "$1: "},
/* "- cat: (8.33, 16.95) (sum 25.28)": the last column */
#define WITH_SUM(word)                                                                      \
  "(?m)^([^\\n()\\[\\]\\d=]{0,24}[:\\t ][ \\t]*+[(\\[]" LIST "[)\\]])[ ,]{0,2}\\(?(?:" word \
  ")[ ]?[=:]?[ ]?(" NUMBER ")\\)?[ \\t]*+$",                                                \
      "$1  $2"
    {"合計", WITH_SUM("合計")},
    {"sum", WITH_SUM("sum")},
    /* "X,4 columns,," above "1,0,1,2": a size is no second table of a sheet */
    {",,",
     "(?m)^([^,\\n\\d]{1,24}+),((?!W?_?[A-Z]\\b)[^,\\n\\d]{0,16}+\\d[ ]?(?:次元|行\\d列|[x×][ "
     "]?\\d|"
     "by[ ]\\d|(?:row|column|dim)[a-z]{0,8}+)[^,\\n\\d]{0,8}+)(?=,++[ \\t]*+$)",
     "$1 ($2),"},
    {"1番 ", "(?m)^[ \\t]*+([^\\s\\d:]{1,12})[ \\t]++(?=1番[ \\t]++-?[\\d.])", "$1:" ATTN_MARK_ROW},
};

void attn_rewrite_dialects(struct attn_rewrite *r) {
  static const char XML[] = "<?xml"; /* begins a document */
  const int is_xml = strncmp(r->text->now.text, XML, sizeof XML - 1) == 0;
  for (size_t n = 0; n < sizeof DIALECTS / sizeof *DIALECTS && !r->text->failed; n++) {
    const struct dialect *d = &DIALECTS[n];
    if (strcmp(d->has, XML) == 0 ? is_xml : strstr(r->text->now.text, d->has) != NULL)
      attn_rewrite_all(r, d->pattern, d->replacement, d->has);
  }
}
