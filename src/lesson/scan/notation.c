/* notation.c -- notations as a table: a pattern and the marks that replace it. */
#include <string.h>

#include "text.h"

/* A text without the characters that a pattern needs cannot match. */
static int may_match(const struct attn_canonical *text, const char *needs) {
  for (; *needs; needs++)
    if (memchr(text->text, *needs, text->bytes)) return 1;
  return 0;
}

static void add_replacement(struct attn_text *out, const struct attn_canonical *from,
                            const struct attn_match *m, const char *replacement) {
  uint32_t origin = from->origin[m->group[0].begin];
  for (const char *c = replacement; *c; c++) {
    if (*c != '$') {
      attn_text_add(out, c, 1, origin);
    } else {
      int n = *++c - '0';
      if (m->group[n].begin < m->group[n].end)
        attn_text_copy(out, from, m->group[n].begin, m->group[n].end);
    }
  }
}

void attn_rewrite_all(struct attn_rewrite *r, const char *pattern, const char *replacement,
                      const char *needs) {
  const struct attn_canonical *from = &r->text->now;
  struct attn_text *out = r->spare;
  struct attn_match m;
  size_t done = 0;
  if (r->text->failed || out->failed || from->bytes == 0 || !may_match(from, needs)) return;
  if (!attn_find(r->scan->patterns, pattern, from->text, from->bytes, 0, &m)) return;
  attn_text_clear(out);
  do {
    attn_text_copy(out, from, done, m.group[0].begin);
    add_replacement(out, from, &m, replacement);
    done = m.group[0].end;
  } while (m.group[0].end > m.group[0].begin &&
           attn_find(r->scan->patterns, pattern, from->text, from->bytes, done, &m));
  attn_rewrite_end(r, done);
}

struct notation {
  const char *pattern, *replacement;
  int kind; /* only in documents of this kind; 0: in all */
  const char *needs;
};

/* The parts of patterns. Repeats are possessive or bounded: hostile text stays cheap. */
#define BRACED "\\{([^{}]*+)\\}"
#define BRACED_TWICE "\\{((?:[^{}]++|\\{[^{}]*+\\})*+)\\}"
/* Numbers with an operator or a product between: 4 root 3, 1+2. */
#define TERMS                                                                            \
  "((?=[^{}]{0,80}(?:\\d\\s*(?:\\x{221A}|\\\\times|\\\\cdot|[-+*/])|[-+]\\s*\\x{221A}))" \
  "(?:[\\d\\s.+*/()\\x{221A}-]|\\\\times|\\\\cdot)++)"
#define ROW_CELLS "(?:(?:-?[.\\d]++|-?inf|-\u221E|\u2026|\\.\\.\\.)[ \\t]++){1,40}"
#define LITERAL "-?(?:\\d++(?:\\.\\d++)?+|\\.\\d++)"
#define ROW_OF_LINE LITERAL "(?:(?:,[ \\t]*+|[ \\t]++)" LITERAL "){1,40}+"
#define EOL "[ \\t]*+$"
#define SUM_WORD "(?:(?i:sum|total)|\u5408\u8A08|\u7DCF?\u548C)"
/* row 1: exp 2.7, 1 (sum 3.7) -> 0.73, 0.27: a label, words, a list; an arrow in front of one */
#define OF_ROW                                                                            \
  "(?mi)^([ \\t]*+(?![^:\\n]*(?:soft|exp|score|weight|scale|result|output|mask|sum|"      \
  "\u91CD\u307F|\u30B9\u30B3\u30A2|\u51FA\u529B|\u30BD\u30D5\u30C8|\u5272|\u6307\u6570))" \
  "[^\\n:|\\d]{0,16}\\d{0,2}[^\\n:|\\d=]{0,8}):[ \\t]*+"
#define WORDS "[^\\d\\n|()\\[\\]=+*/\\x{D7}\\x{B7}\\x{2192}.-]{0,24}"
#define LIST_OF_ROW WORDS "(?|[(\\[](" ROW_OF_LINE ")[)\\]]|(" ROW_OF_LINE "))"
#define TO_LIST "[ \\t]*+(?:\\x{2192}|\\x{21D2}|[-=]>)[ \\t]*+" LIST_OF_ROW
#define SLASH "[ \\t]++/[ \\t]++"
#define VECTOR_OF_TOKEN "([^\\s\\d=:|/,()\\[\\]]{1,24})[ =:]{1,3}([(\\[]" ROW_OF_LINE "[)\\]])"
#define ROW_IN_BRACKETS "[ \\t]*+" ROW_OF_LINE "[ \\t]*+"
#define SPACED_ROW "[ \\t]*+" LITERAL "(?:[ \\t]++" LITERAL "){1,40}+[ \\t]*+"
#define OF_WEIGHTS "[^=\\n,;\\[\\](){}]{0,12}?"
/* The second row 0.5 and 1, sum 1.5; second query 0.5 / 1; */
#define ROW_BY_WORD(word)                                                                \
  "(?i)(?<=[:;,.\u23CE\\n])[ \\t]*+(?:the )?" word                                       \
  "(?: row:?| query:?|(?= -?\\d*\\.\\d))"                                                \
  "[ \\t]++(" LITERAL "(?:(?:, ?(?:and )?| and | / )" LITERAL "){1,8}+(?:, sum " LITERAL \
  ")?+)(?![.,]?\\d)[,;.]?"
/* column 1, 0.5; column 2, 0.3 of a text that is read aloud: the columns are not numbers. After the
 * first, each begins where the last match ends. */
#define COLUMNS_ALOUD(one, two, any, is)                                                     \
  one is "(?=" LITERAL "[;,][ \\t]*+" two is "-?[.\\d])|\\G(" LITERAL "[;,][ \\t]*+)" any is \
         "(?=-?[.\\d])"
#define IS_ALOUD "(?:,| is|:)[ \\t]*+"
#define GA_OR_WA "(?:\u306F|\u304C|:|,|(?=[ \\t]))[ \\t]*+"
#define UP_TO_BRACKET "[^\\n#\\[\\]]++\\]"
#define LISTS "\\s*+(\\[\\[(?:[-\\d.,\\s]|\\](?!\\])|\\[)++\\]\\])\\s*+"
/* A cell of HTML, which may begin and end with newlines. */
#define CELL(attribute) "(?i)\\s{0,200}+<t[hd]\\b" attribute "[^<>]*+>\\s*+"
#define BREAK "<br\\b[^<>]{0,20}+>\\s*+"
#define IN_CELL "(?:[-.,%/\\d\\s\\x{2212}\\x{221E}]|inf|&\\w{2,8};)" /* of numbers */
#define CONTENT "((?:[^<]++|<(?!/?t))*+)"
#define OPTION "(?:\\[[^\\]\\n]{0,80}\\])?"
#define END "(?![a-zA-Z])" /* of a command */
#define FONTS                                                                                     \
  "(?:text|mathrm|mathbf|mathsf|mathit|operatorname|boldsymbol|bm|textbf|emph|hat|tilde|bar|vec|" \
  "mathbb)"
#define MULTICOLUMN(n) "\\\\multicolumn\\s*+\\{" n "\\}\\s*+" BRACED_TWICE "\\s*+" BRACED_TWICE
#define MATRICES "[bpvVB]?matrix\\*?|smallmatrix|cases"
#define ARRAYS "array|tabularx?|tabular\\*|longtable"

enum {
  HTML = ATTN_NOTATION_HTML,
  TEX = ATTN_NOTATION_TEX,
  TYPST = ATTN_NOTATION_TYPST,
  PROMPTS = ATTN_NOTATION_PROMPTS,
  SEMICOLONS = ATTN_NOTATION_SEMICOLONS,
};

/* In this order: each is applied to what the ones above have left. */
static const struct notation notations[] = {
    /* the tags of forums become those of HTML */
    {"(?i)\\[(/?+(?:table|t[dhr]|b|i|u|s|sub|sup))\\]", "<$1>", HTML, "["},

    /* roots as powers: 2 ** 0.5, 2^{1/2} */
    {"(?<![\\w.)\\]])(\\d{1,6}+|(?!e\\b)[A-Za-z][\\w.]*+(?:\\[-?\\d\\]|\\(-?\\w*+\\))?+)[ "
     "\\t]*+(?:\\*\\*|(?<=\\d)\\^)[ \\t]*+[({]?+"
     "(?:0?\\.5|1/2)(?![\\d.])[)}]?+",
     "\u221A$1", 0, "*^"},

    /* q,0.6,-0.1,,d_k,2 */
    {"(?m)^([^\\t,\\n]*?[A-Za-z][^\\t,\\n]*+)(([\\t,])" LITERAL "(?:\\3" LITERAL
     ")++)\\3\\3++([A-Za-z]\\w{0,7}+)\\3(" LITERAL ")\\3*+$",
     "$1$2\n$4 = $5", 0, "\t,"},

    /* a vector of R */
    {"(?<=<-|=)[ \\t]*+c\\(((?:[ \\t]*+" LITERAL "[ \\t]*+,?+)++)\\)", " [$1]", 0, "("},

    /* Word's linear format: [■(1&2@3&4)], \pmatrix(1&2@3&4) */
    {"[\\[(|]?+(?:\\x{25A0}|\\x{24A8}|\\\\[bpv]?matrix)\\(((?:[^()\\n]|\\([^()\\n]*+\\)){0,400}?[&@"
     "]"
     "(?:[^()\\n]|\\([^()\\n]*+\\))*+)\\)[\\])|]?+",
     ATTN_MARK_OPEN "$1" ATTN_MARK_CLOSE, 0, "&@"},
    {"@(?=[^\\x{27E6}\\n]{0,400}\\x{27E7})", ATTN_MARK_ROW, 0, "@"},

    /* (0.5; 1): a vector */
    {"(?|(\\(" LITERAL ")|(?!\\A)\\G([ \\t]*+" LITERAL "));(?=(?:[ \\t]*+" LITERAL
     ";){0,8}[ \\t]*+" LITERAL "\\))",
     "$1,", 0, ";"},
    /* cat 0.5 | 1 */
    {"(?m)^[ \\t]*+([^\\s\\d|:=()\\[\\]]{1,24})[ \\t]++(" LITERAL ")(?=[ \\t]*+\\|[ \\t]*+" LITERAL
     "[ \\t]*+(?:\\||$))",
     "$1 | $2", 0, "|"},
    /* ( 1 2 / 3 4 ) */
    {"\\((" SPACED_ROW "(?:/" SPACED_ROW ")++)\\)", ATTN_MARK_OPEN "$1" ATTN_MARK_CLOSE, 0, "/"},
    {"(?<=[\\d \\t])/(?=[-\\d. \\t/]{3,400}\\x{27E7})", ATTN_MARK_ROW, 0, "\u27E7"},

    /* brackets of East Asia around more than one number */
    {"\\x{3014}([ \\t]*+" LITERAL "(?:[ \\t,]++" LITERAL ")++[ \\t]*+)\\x{3015}", "[$1]", 0,
     "\xE3"},
    /* 2024-04-11 09:40:34 DEBUG attn: q = .. of a log */
    {"(?m)^(?:\\d{4}-\\d\\d-\\d\\d[ T])?+\\d\\d:\\d\\d:\\d\\d(?:[.,]\\d{1,9})?Z?[ "
     "\\t]++\\[?[A-Z]{4,8}\\]?:?[ \\t]++"
     "(?:[A-Za-z][\\w.]{0,23}(?::[ \\t]|[ \\t]{2})[ \\t]*+)?",
     "", 0, ":"},
    /* "q @ k.T row 0: 0.5 1", "q @ k.T row 1: 0 1" */
    {"(?m)^([^\\n:]{1,60}?) row 0:[ \\t]++(?=(?:[-\\d. \\t,]|inf)++$)", "$1:\nrow 0: ", 0, "0"},
    {"(?m)(?<=\\n)(?<!:\\n)[^\\n:]{1,60}? (row [1-9]:)[ \\t]++(?=(?:[-\\d. \\t,]|inf)++$)", "$1 ",
     0, "0"},
    /* "q · k_j, j = 1, 2, 3: 0.5, 1, 2" */
    {",?[ \\t]++(?:for )?[ijt] ?= ?1, ?2(?:, ?\\d){0,8}(?=[ \\t]*+:)", "", 0, ":"},
    /* [attn::debug] q = .. */
    {"(?mi)^\\[(?:\\w++::\\w++|info|debug|warn(?:ing)?|trace)\\][ \\t]++(?=[A-Za-z])", "", 0, "["},
    /* ||query||1||2||: a header of Jira with numbers */
    {"(?m)(?:^\\|\\|(?=[^|\\n\\d]++(?:\\|\\|\\d++){2,}+\\|\\|" EOL ")|(?!\\A)\\G)([^|\\n]++)\\|\\|",
     "|$1", 0, "|"},
    {"(?m)^h[1-6]\\.[ \\t]++(?=\\pL)", "## ", 0, "h"}, /* Textile, Jira */
    /* |*cat|: a header's cell */
    {"(?<=\\|)\\*(?=[^|*\\n]*+\\|)", " ", 0, "*"},
    /* || ||0||1||: a header that numbers the columns */
    {"(?m)^\\|\\|[ \\t]*+(?:\\|\\|[ \\t]*+\\d{1,2}+[ \\t]*+)++\\|\\|[ \\t]*+$", "", 0, "|"},
    /* "pos 0   0.5  1": the row of a position */
    {"(?mi)^([ \\t]*+(?:pos(?:ition)?|row|token|step|\u4F4D\u7F6E)) (\\d)(?=[ "
     "\\t]{2,}+(?:[-\\d.]++[ \\t]++)++[-\\d.]++[ \\t]*+$)",
     "$1_$2", 0, "pPrRtTsS\xE4"},
    {"(?m)^([ \\t]*+)\\x{B7}[ ]?(?=[^\\s\\d\\x{B7}])", "$1* ", 0, "\u00B7"}, /* a bullet */
    /* geometric shapes and emoji in front of a row of numbers */
    {"(?m)^[ \\t]*+[\\x{25A0}-\\x{25FF}\\x{2B1B}\\x{2B1C}\\x{1F300}-\\x{1FAFF}]\\x{FE0F}?+[ "
     "]?+(?=" ROW_OF_LINE "[ \\t]*+$)",
     "", 0, "\xE2\xF0"},
    /* nadia  10:02 */
    {"(?m)^([^\\W\\d][\\w .-]{0,23}?[ \\t])\\d{1,2}:\\d\\d(?: ?[AaPp][Mm])?[ \\t]*+$", "$1", 0,
     ":"},
    /* "handout No.12" */
    {"(?m)\\b(No\\.) ?\\d{1,3}+(?![.\\d])(?=[^\\n=]*+$)", "$1", 0, "N"},
    /* --- p.21 --- */
    {"(?mi)^[-=~ \\t]*+(?:p|page|slide|\u30B9\u30E9\u30A4\u30C9|\u30DA\u30FC\u30B8)[. "
     "]{0,2}\\d{1,4}[-=~ \\t]*+$",
     "", 0, "pPsS\xE3"},
    /* the times of subtitles: 00:02.000 --> 00:09.000 */
    {"(?m)^(?:\\d{1,4}\\r?\\n)?(?:\\d\\d:){1,2}\\d\\d[.,]\\d{3} --> [^\\n]*+$", "", 0, ">"},

    /* .. list-table:: Q of reStructuredText: its title */
    {"(?m)^[ \\t]*+\\.\\.[ \\t]++(?:list-)?table::[ \\t]*+([^\\n:]++)$", "$1:", 0, ":"},
    /* .. csv-table:: of reStructuredText: its header */
    {"(?m)^[ \\t]++:header:[ \\t]*+([^\\n]*+)\\n(?:[ \\t]++:[^\\n]*+\\n)*+[ \\t]*+\\n",
     "$1\n|---|\n", 0, ":"},
    /* cat, "[1, 0]", 0.5: a vector among values with commas between */
    {"(?m)(?:^(?=[^|\\n]*\"[\\[(][-.\\d]|[^|\\n]*\\n\\|---)|(?!\\A)\\G)"
     "[ \\t]*+(\"[^\"|\\n]*+\"|[^,\"|()\\[\\]:=\\n]++)[ \\t]*+(?:,|$)",
     "| $1 ", 0, "\""},
    /* options of directives: ":header-rows: 1" */
    {"(?m)^[ \\t]++:[a-z][a-z-]*+:[ \\t][^\\n:=|]*+$", "", 0, ":"},
    /* drawn tables: rules */
    {"(?m)^[ \\t]*+[\\x{2500}-\\x{257F}]{3,}+[ \\t]*+$", "+---+", 0, "\xE2"},

    /* | 0.5, -1 |: a vector in a cell */
    {"(?<=\\|)[ \\t]*+(" LITERAL "(?:,[ ]" LITERAL "){1,8}+)[ \\t]*+(?=\\|)", " ($1) ", 0, "|"},
    /* | cat | 0.5 -1 | */
    {"(?m)(^[ \\t]*+\\|[^|\\n\\pL]*+\\pL[^|\\n]*+\\||(?!\\A)\\G\\|)[ \\t]++(" LITERAL
     "(?:[ \\t]++(?:" LITERAL "|-(?=[ \\t|]))){1,8}+)[ \\t]*+(?=\\|)",
     "$1 ($2) ", 0, "|"},
    /* a vector in a field of a table with tabs: 0.5 -1. A tab that begins a line indents it. */
    {"(?<=\\S\\t|\\S \\t|\\S  \\t|\\S\\t\\t)(" LITERAL "(?:[ ]{1,2}" LITERAL
     "){1,8}+)(?=[\\t\\n]|\\z)",
     "($1)", 0, "\t"},
    /* Textile: *0.5, 1* */
    {"(?<=[ :])\\*(" LITERAL "(?:, ?" LITERAL "){1,8}+)\\*(?![\\w*])", "($1)", 0, "*"},

    /* a matrix in brackets of "/", "|" and "\\", or of "(", "|" and ")": the first and the last row
     */
    {"(?m)/([ \\t]++" ROW_CELLS ")\\\\(?=[ \\t]|$)", "\u239B$1\u239E", 0, "/"},
    {"(?m)\\\\([ \\t]++" ROW_CELLS ")/(?=[ \\t]|$)", "\u239D$1\u23A0", 0, "/"},
    {"\\(([ \\t]++" ROW_CELLS ")\\)(?=[^|\\n]*+\\n[^|\\n]*+\\|[ \\t]++" ROW_CELLS "\\|)",
     "\u239B$1\u239E", 0, "|"},
    {"((?:\\|[ \\t]++" ROW_CELLS "\\|[ \\t]*+\\n|(?!\\A)\\G)[^\\n(]*+)\\(([ \\t]++" ROW_CELLS
     ")\\)",
     "$1\u239D$2\u23A0", 0, "|"},

    /* p[0][1] = 0.5, as p_01 */
    {"\\b([A-Za-z]\\w{0,11})\\[(\\d)\\]\\[(\\d)\\](?=[ \\t]*+=(?![ \\t]*+[={]))", "$1_$2$3", 0,
     "["},
    /* "U h1 = (1, 0) U h2 = (0, 1)": two vectors */
    {"(=[ \\t]?\\([-\\d.,;\\s]++\\)) (?=[A-Za-z]\\w{0,3}[ \\x{B7}][a-z]_?\\d = ?\\()", "$1, ", 0,
     "="},
    /* z1,1 = 0.5, as z_11 */
    {"\\b([a-zA-Z])_?(\\d),(\\d)(?=[ \\t]*+=[ \\t]*+[-(\\d])", "$1_$2$3", 0, ","},
    /* of loops: "j = 0  s = 4" */
    {"(?m)^([ \\t]*+)[ijkt] = \\d{1,2}[ \\t]{2,}+(?=[^\\n=]{1,40}=)", "$1", 0, "="},
    /* a shape; (1 x 2) + and (3 x 4) = 12 are products */
    {"(?<![-+*/=\u00B7\u00D7])(?<![-+*/=\u00B7\u00D7] )\\((\\d{1,4}) [xX\u00D7] (\\d{1,4})"
     "(?=\\)(?![ \\t]*+[-+*/\u00B7\u00D7])(?![ \\t]*+=[ \\t]*+-?[\\d.]++(?![ \\t]*+[-\\d,;/|])))",
     "($1 by $2", 0, "("},
    {"(?m), ?shape=\\([\\d, ]*+\\)|[ ]shape=\\([\\d, ]*+\\)(?=[ \\t]*+$)", "", 0, "="},
    /* "weights (3, 2)" above "[[0.5 1.0]" */
    {"(?m)^([A-Za-z][^\\n\\[\\]]{0,60}) \\((\\d{1,4}), ?(\\d{1,4})\\)(?=[ \\t]*+\\n[ \\t]*+\\[\\[)",
     "$1 ($2 by $3)", 0, "["},
    {"(?<![\\w.])(\\d*+\\.\\d*+(?:e[-+]?\\d++)?)f(?=[ ]?[,}])", "$1", 0, "}"}, /* 0.5f of C */
    /* { 1, 0 },  in front of the comment of a row */
    {"(?m)(?<=[},])[ \\t]*+/\\*[^*\\n]{0,80}+\\*/[ \\t]*+$", "", 0, "*"},
    {"\\b(ones|zeros|empty)\\(\\((\\d{1,4}), ?(\\d{1,4})\\)", "$1(($2 by $3)", 0, "("},
    {"(?i)\\b(shape)(?: is| =|:)?[ ]?\\[\\d{1,4}(?:, ?\\d{1,4})++\\]", "$1", 0, "["},
    {"(?i)\\b(shape)[ ]`{1,2}\\((\\d{1,4}), ?(\\d{1,4})\\)`{1,2}", "$1 ($2 by $3)", 0, "`"},
    /* the frame of a spreadsheet: A, B, C above the columns, 1, 2, 3 in front of the rows */
    {"(?m)^(?:(,)A,B,C|(\\t)[A-Z])(?:[\\t,][A-Z])*+[ \\t]*+\\n\\d{1,3}(?=[\\t,\\n])[\\t,]?+"
     "|(?!\\A)\\G([^\\n]*+\\n)\\d{1,3}(?=[\\t,\\n]|\\z)[\\t,]?+",
     "$3", 0, "\t,"},
    {"(?m)^[ ]++A[ ]++B(?:[ ]++[C-Z])*+[ ]*+\\n[ ]*+1(?=[ ]{2})"
     "|(?!\\A)\\G([^\\n]*+\\n)[ ]*+\\d{1,2}(?=[ ]{2}|\\n|\\z)",
     "$1", 0, "A"},
    /* [1, 2],  # a comment in a list */
    {"(?m)^([^\\n#\\[\\]]{0,60}\\[\\[" UP_TO_BRACKET
     ",?|[ \\t]*+(?:\\.{3}[ \\t]*+)?\\[" UP_TO_BRACKET "[\\]),]{0,3})"
     "[ \\t]++(?:#|\u2190)[^\\n]*+$",
     "$1", 0, "#\u2190"},
    {"[ \\t]*+/@[ \\t]*+", " ", 0, "@"}, /* of each row */
    /* <1, 0.5>: a vector */
    {"<(-?\\d*\\.?\\d++(?:,[ ]?-?\\d*\\.?\\d++)++)>", "($1)", 0, "<"},
    /* X=|1 0|, a row of a drawn matrix */
    {"(?m)^([^|\\n]{0,40}(?:=|[ \\t]|^))\\|(-?\\d[-.\\d \\t]*+(?:(?<=[ \\t])[x\u00D7](?:[ "
     "\\t]++|(?=\\|)))*+)(?<=[\\dx\u00D7])\\|[ \\t]*+$",
     "$1| $2 |", 0, "|"},
    /* the columns of two heads: 1 2 | 0 1 below a line without bars; and the sum of a row: 1 2 | 3
     */
    {"(?m)(?:^[^|\\n]*+\\n\\K|(?!\\A)\\G(\\n))([ \\t]*+(?:" LITERAL "[ \\t]++){2,}+)\\|"
     "((?:[ \\t]++" LITERAL ")++)[ \\t]*+$",
     "$1$2 $3", 0, "|"},
    /* rows of one line: X = 1 2 / 0 1; X → 1 2 / 0 1 */
    {"([=:\\x{2192}][ \\t]*+)(" ROW_OF_LINE "(?:[ \\t]*+(?://?|;|\\|)[ \\t]*+" ROW_OF_LINE
     ")++)(?![ \\t,;|]*+[-+*/=\\w.])",
     "$1" ATTN_MARK_OPEN "$2" ATTN_MARK_CLOSE, 0, "/;|"},
    {"\\[(?![^\\[\\]\\n]{0,80},[^\\[\\]\\n]{0,80}\\d/\\d)[ \\t]*+(" ROW_OF_LINE
     "(?:[ \\t]*+(?://?|\\|)[ \\t]*+" ROW_OF_LINE ")++)[ \\t]*+\\]",
     ATTN_MARK_OPEN "$1" ATTN_MARK_CLOSE, 0, "/|"},
    {"\\([ \\t]*+(" ROW_OF_LINE "(?:[ \\t]*+\\|[ \\t]*+" ROW_OF_LINE ")++)[ \\t]*+\\)",
     ATTN_MARK_OPEN "$1" ATTN_MARK_CLOSE, 0, "|"},
    {"(?<=\\d)[ \\t]*+(?://?|;|\\|)[ \\t]*+(?=[-.\\d \\t/;,|]{1,400}+\\x{27E7})", ATTN_MARK_ROW, 0,
     "/;|"},

    {OF_ROW LIST_OF_ROW "[ \\t]*+\\([^\\d\\n()-]{0,12}(" LITERAL ")\\)" TO_LIST EOL,
     "$1 | [$2] | $3 | [$4]", 0, "\xE2>"},
    {OF_ROW LIST_OF_ROW TO_LIST TO_LIST EOL, "$1 | [$2] | [$3] | [$4]", 0, "\xE2>"},
    {OF_ROW LIST_OF_ROW TO_LIST EOL, "$1 | [$2] | [$3]", 0, "\xE2>"},
    /* [2.7, 1.0]   sum = 3.7 */
    {"(?mi)^([ \\t]*+[\\[(][-+\\d., \\t]++[\\])])[ \\t,;:\\x{2192}]*+\\(?(?:(?:row "
     ")?sum|total|\\x{5408}\\x{8A08}|\\x{548C})"
     "[ \\t]*+(?:is|[=:])?[ \\t]*+(" LITERAL ")\\)?" EOL,
     "$1 | $2", 0, "mMlL\xE5"},
    /* cat: 1 / 0 / 2, a row */
    {"(?m)((?:^[^\\n:\\d]{1,24}: (?=[^\\n/]++/[^\\n/]++/|-?\\d++\\.\\d++ / "
     "-?\\d++\\.)|(?!\\A)\\G)" LITERAL ") / (?=" LITERAL "(?: / " LITERAL ")*+$)",
     "$1, ", 0, "/"},
    /* keys: cat (1, 0) / dog (0, 1) */
    {"(?<=[:=])[ \\t]*+" VECTOR_OF_TOKEN "(?=" SLASH VECTOR_OF_TOKEN ")", ATTN_MARK_ROW "$1: $2", 0,
     "/"},
    {"(?<=[)\\]])" SLASH VECTOR_OF_TOKEN, ATTN_MARK_ROW "$1: $2", 0, "/"},
    /* read aloud */
    {"(?i)(?:(?<![\\w)] )|(?<=[a-z] ))(?:minus|negative) (?=\\.?\\d)", "-", 0, "us"},
    {"(?mi)^(row \\d{1,2})\\. (?=column 1\\b)", "$1: ", 0, "."},
    {"(?m)^\\d{1,2}\u884C\u76EE,[ \\t]*+([^\\s\\d,:\u3002]{1,24})[:\u3002][ "
     "\\t]*+(?=1\u5217\u76EE)",
     "$1: ", 0, "\xE5\x88"},
    {"(?m)^(\\d{1,2})\u884C\u76EE[,:]?[ \\t]*+(?=1\u5217\u76EE)", "row $1: ", 0, "\xE5\x88"},
    /* the scores of cat, read aloud: a name and a full stop, then "to dog, 0.5" and so on */
    {"(?m)^([^\\n\\d:,\u3002]{1,20}+)\u3002[ "
     "\\t]*+(?=(?:\u4E00\u756A\u76EE\u306E\u6210\u5206|[^\\n\\d,:\u3002]{1,12}"
     "\u306B\u5BFE\u3057\u3066),)",
     "$1: ", 0, "\xE3\x80\x82"},
    {"(?:(?<=: )|(?!\\A)\\G)[^\\n\\d,:\u3002]{1,12}?\u306B\u5BFE\u3057\u3066,[ \\t]*+(" LITERAL
     ")\u3002?",
     "$1 ", 0, "\xE5\xAF"},
    /* "first component 0.5, second component 1" */
    {"(?i)\\bfirst component:? (?=" LITERAL "[,;] (?:and )?second component)|\\G(" LITERAL
     "[,;] )(?:and )?(?:second|third|fourth) component:? (?=-?[.\\d])",
     "$1", 0, "f"},
    {"\u4E00\u756A\u76EE\u306E\u6210\u5206[,:\u306F]?[ \\t]*+(?=" LITERAL
     "[,\\x{3002}][ \\t]*+\u4E8C\u756A\u76EE)|\\G(" LITERAL
     ")[,\\x{3002}][ \\t]*+[\u4E8C\u4E09\u56DB]\u756A\u76EE\u306E\u6210\u5206[,:\u306F]?[ "
     "\\t]*+(?=-?[.\\d])",
     "$1 ", 0, "\xE4\xB8\x80"},
    {"(?mi)" COLUMNS_ALOUD("\\bcolumn 1", "column 2", "column \\d", IS_ALOUD), "$1", 0, "lu"},
    {"(?mi)" COLUMNS_ALOUD("\\bcomponent 1", "component 2", "component \\d", IS_ALOUD), "$1", 0,
     "o"},
    {"(?mi)" COLUMNS_ALOUD("\\bkey 1", "key 2", "key \\d", ",[ \\t]*+"), "$1", 0, "k"},
    {COLUMNS_ALOUD("(?<!\\d)1\u5217\u76EE", "2\u5217\u76EE", "\\d\u5217\u76EE", GA_OR_WA), "$1", 0,
     "\xE5\x88"},

    /* a sentence of Japanese is a line */
    {"\\x{3002}[ \\t]*+(?=[^\\n\\s\\x{300D}\\x{300F}\\x{201D})'\"|*`<&\\\\])",
     "\u3002" ATTN_MARK_ROW, 0, "\xE3"},

    /* "Wq first row 0.5, 1, second row 1, 0", "Wq row 1: 0.5, 1; row 2: 1, 0" */
    {"(?i)(?<=\\w)[ \\t]++(?=(?:first row|row 1:)[ \\t]++" ROW_OF_LINE
     "[,;][ \\t]++(?:second row|row 2:))",
     ":" ATTN_MARK_ROW, 0, "w"},
    /* "first row 0.5 and 1; second row 1 and 0", "Row 1: 0.5, 1. Row 2: 1, 0." */
    {ROW_BY_WORD("first"), ATTN_MARK_ROW "row 1: $1" ATTN_MARK_ROW, 0, "r"},
    {ROW_BY_WORD("second"), ATTN_MARK_ROW "row 2: $1" ATTN_MARK_ROW, 0, "d"},
    {"(?i)(?<=[.,;])[ \\t]++(?=row \\d{1,2}:[ \\t])", ATTN_MARK_ROW, 0, ":"},

    /* "W_Q,,0,1" among "Q,cat,1,0": the rows of weights are of no token */
    {"(?m)^(W[_^]?[QKVO])([,\\t])\\2(?=-?[.\\d]++\\2)", "$1$2w$2", 0, ",\t"},

    /* "1.\tQuery weights": an item of a list that is pasted */
    {"(?m)^(\\d{1,2}[.)])\\t(?=[^\\d\\s\\x{2212}.+-][^\\n\\t]*+$)", "$1 ", 0, "\t"},

    /* prompts */
    {"(?m)^[ \\t]*+(?:In|Out) ?\\[\\d+\\](?://\\w+)?+:?=?", "", PROMPTS, "["},

    /* a remark: (1, 0)  <- a row for each word */
    {"(?m)(?<=[)\\]])[ \\t]++(?:<-+|\\x{2190})[^\\n\\d]*+$", "", 0, "-\xE2"},
    /* special tokens: [PAD] */
    {"\\[(PAD|CLS|SEP|MASK|UNK|BOS|EOS)\\]", "$1", 0, "["},
    /* when a mail was sent */
    {"(?mi)^[>\\t "
     "]*+(?:date|sent|received|\\x{65E5}\\x{6642}|\\x{9001}\\x{4FE1}\\x{65E5}\\x{6642}):"
     "[^\\n=\\[\\](){}]{0,40}?\\d:\\d\\d(?::\\d\\d)?+(?:[ ](?:19|20)\\d\\d\\b)?+(?:[ "
     "]?[ap]m)?[^\\n\\d=.\\[\\]{}+-]{0,12}+"
     "(?:[-+]\\d{4})?+[ \\t]*+(?:\\([a-z]{2,5}\\))?[ \\t]*+$",
     "", 0, ":"},
    /* the number of an equation */
    {"(?m)(?<=[|\\])}\\x{23A0}\\x{239E}\\x{23A4}-\\x{23A6}])[ "
     "\\t]{2,}+\\(\\d{1,2}(?:\\.\\d{1,2}){0,2}[a-z]?\\)[ "
     "\\t]*+$",
     "", 0, "("},
    /* of a log */
    {"(?m)^\\[?\\d{4}-\\d\\d-\\d\\d[T ]\\d\\d:\\d\\d(?::[\\d.,]++)?Z?\\]?(?:[ "
     "\\t]++(?:[A-Z]{4,8}|\\[[\\w.:-]{1,30}\\]):?)*+",
     "", 0, ":"},
    {"\"([^\"\\n]*+)\"", "$1", SEMICOLONS, "\""},
    {";", "\t", SEMICOLONS, ";"},

    /* / sqrt 2 -> 0.01, 0.50 */
    {"(?m)^([A-Za-z][\\w ']{0,30}?)[ \\t]*+(?:->|=>|\\x{2192})[ \\t]*+(?=-?\\d*\\.?\\d++[ \\t]*+,)",
     "$1: ", 0, ">\xE2"},

    /* 2 → / √2 → 1.41 */
    {"(?<=\\d)[ \\t]*+\\x{2192}[ \\t]*+([/\\x{F7}][ \\t]*+[\\x{221A}\\d][\\w.]*+)[ \\t]*+\\x{2192}",
     " $1 =", 0, "\xE2"},

    /* of a list of cells: F2 score 1 =SUMPRODUCT(..) 3 */
    {"(?m)^[A-Z]{1,2}\\d{1,4}\\t([A-Za-z][^\\t\\n=]{0,30})\\t(?:=[^\\t\\n]*+)?\\t(?=" LITERAL "$)",
     "$1 = ", 0, "\t"},
    /* of a sheet: C14 =SUM(A14:B14) 6.1414 */
    {"(?m)^[A-Z]{1,2}\\d{1,4}\\t=SUM\\([A-Z\\d:]++\\)\\t(?=[-.\\d]++$)", "sum: ", 0, "\t"},

    /* = 1 → scaled 0.71 */
    {"(=[ \\t]?" LITERAL ")[ \\t]*+(?:\\x{2192}|->)[ \\t]*+([a-z]{3,12})[ \\t]++(?=-?[.\\d])",
     "$1, $2 = ", 0, "\xE2>"},

    /* Hatena, AsciiDoc: formulas */
    {"(?:\\[tex:|\\b(?:stem|latexmath|asciimath):\\[)((?:[^\\[\\]\\n]++|\\[[^\\[\\]\\n]*+\\])++)"
     "\\]",
     " $1 ", 0, ":"},

    /* q1·k1 = 4 -> 4/√2 = 2.83 */
    {"(?m)(=[ \\t]?(-?[.\\d]++))[ \\t]*+(?:\\x{2192}|\\x{21D2}|[-=]>)[ \\t]*+"
     "(?=\\2[ \\t]?[/\\x{F7}][ \\t]?\\x{221A}[\\d= \\t.-]++$)",
     "$1; scaled: ", 0, "\xE2>"},

    {"</?math>", "", 0, "<"},                             /* MediaWiki */
    {"(?<=[A-Za-z])~([A-Za-z0-9]{1,3})~", "_$1", 0, "~"}, /* AsciiDoc */
    {"(?<=[A-Za-z])\\^(T)\\^", "^$1", 0, "^"},
    {"(?<=\\()\\\\[,;:! ]|(?<!\\\\)\\\\[,;:! ](?=\\))", "", 0, "\\"},
    {"(?mi)^([^\\s:|=()\\[\\]]{1,24})[ \\t]++(?=query [(\\[][^()\\[\\]\\n]{1,80}+[)\\]][ "
     "\\t,;]++key "
     "[(\\[])",
     "$1: ", 0, "qQ"},
    /* LaTeX: blanks, but not in 12\\,345 or after a new row */
    {"(?<!\\\\)\\\\[,;:! ](?!\\d{3})[ \\t]*+", " ", 0, "\\"},

    /* comments */
    {"<!--[^\\n]*?-->", " ", 0, "<"},
    {"(?m)^[ \\t]*%[^\\n]*$", " ", TEX, "%"},

    {MULTICOLUMN("1"), "$2", 0, "\\"},
    {MULTICOLUMN("2"), "$2 & ", 0, "\\"},
    {MULTICOLUMN("3"), "$2 & & ", 0, "\\"},
    {MULTICOLUMN("4"), "$2 & & & ", 0, "\\"},
    {"\\\\(?:cline|cmidrule)(?:\\([a-z]*+\\))?\\{[^{}]*+\\}", " ", 0, "\\"},
    /* LaTeX: matrices */
    {"\\\\begin\\{(?:" MATRICES ")\\}" OPTION, ATTN_MARK_OPEN, 0, "\\"},
    {"\\\\begin\\{(?:array|tabular|longtable|tabular[x*]\\}\\s*+\\{[^{}]*+)\\}" OPTION
     "\\s*+" BRACED_TWICE,
     ATTN_MARK_OPEN, 0, "\\"},
    {"\\\\end\\{(?:" MATRICES "|" ARRAYS ")\\}", ATTN_MARK_CLOSE, 0, "\\"},
    /* what is around them */
    {"\\\\(?:begin|end)\\{[a-zA-Z]++\\*?\\}(?:\\[[a-zA-Z!]{1,6}\\])?+|\\\\label\\{[^{}\\n]*+\\}|"
     "~?\\\\(?:eq|page|auto)?ref\\{[^{}\\n]*+\\}",
     "", TEX, "\\"},
    {"\\\\\\\\(?:\\[[^\\]\\n]{0,80}\\])?", ATTN_MARK_ROW, 0, "\\"},
    {"\\\\\\n", ATTN_MARK_ROW "\n", 0, "\\"},
    {"\\\\(?:hline|toprule|midrule|bottomrule)" END, ATTN_MARK_RULE, 0, "\\"},

    /* LaTeX: delimiters and formulas */
    {"\\\\[\\[\\]()]|\\$++", " ", 0, "\\$"},
    /* what is filled in: q1·k1 = [ 3 ], q1·k2 = [ 5 ]; no columns: [[ 3 ], [ 5 ]] */
    {"(?<=[:=+])([ \\t]*+)\\[[ \\t]++(" LITERAL ")[ \\t]++\\](?=[ \\t]*+[,\\x{D7}])", "$1$2", 0,
     "["},
    {"(?<=\\d)([ \\t]*+,[^\\[\\]\\n,]{0,30})\\[[ \\t]++(" LITERAL ")[ \\t]++\\]", "$1$2", 0, "["},
    /* 0.7 (1, 0)+0.3 (0, 1): an operator, no sign */
    {"(?<=[)\\]])[ \\t]*+\\+(?=[.\\d])", " + ", 0, "+"},
    /* 0.7 0.3 (sum ~ 1, ok) */
    {"(?m)(?<=\\d)[ \\t]++\\([ \\t]*+" SUM_WORD "[^()\\n\\d]{0,6}"
     "1(?:\\.0++)?+[^()\\n\\d]{0,8}\\)" EOL,
     "", 0, "("},
    /* a list, and its sum: 1.2, 0.4 (total 1.6) */
    {"(?m)^([^\\d\\n]{0,24}" LITERAL "(?:[ \\t]*+[,\\x{3001}][ \\t]*+" LITERAL "){1,40}+)[ \\t]*+"
     "\\([ \\t]*+(" SUM_WORD ")[ \\t:=\u306F]*+(" LITERAL ")[ \\t]*+\\)" EOL,
     "$1\n$2 = $3", 0, "("},
    {"\\\\[dt]?frac\\s*+(\\d)\\s*+(\\d)", "$1/$2", 0, "\\"},
    {"\\\\sqrt(?:\\s*+(\\d)|\\s++([A-Za-z]))", "\u221A$1$2", 0, "\\"},
    {"\\\\q?quad" END, " ", 0, "\\"},
    {"\\\\" FONTS "\\*?\\s*+" BRACED, "$1", 0, "\\"},
    {"\\\\sqrt\\s*+" BRACED, "\u221A$1", 0, "\\"},
    {"\\\\[dt]?frac\\s*+\\{" TERMS "\\}\\s*+\\{" TERMS "\\}", "($1)/($2)", 0, "\\"},
    {"\\\\[dt]?frac\\s*+\\{" TERMS "\\}\\s*+" BRACED, "($1)/$2", 0, "\\"},
    {"\\\\[dt]?frac\\s*+" BRACED "\\s*+\\{" TERMS "\\}", "$1/($2)", 0, "\\"},
    {"\\\\[dt]?frac\\s*+" BRACED_TWICE "\\s*+" BRACED_TWICE, "$1/$2", 0, "\\"},
    /* what is multiplied by 1/√2 are scores: "; scores (2) =" */
    {"=[ \\t]*+1/\\x{221A}\\(?([\\d.]++)\\)?[ \\t]*+[\\x{B7}\\x{D7}*]?[ \\t]*+(?=\\x{27E6})",
     "; scores ($1) = ", 0, "\xE2"},
    {"([_^])" BRACED, "$1$2", 0, "{"},

    /* LaTeX: symbols */
    {"\\\\(?:times|ast)" END, "\u00D7", 0, "\\"},
    {"\\\\cdot" END, "\u00B7", 0, "\\"},
    {"\\\\infty" END, "\u221E", 0, "\\"},
    {"\\\\(?:approx|simeq|cong|(?:falling|rising)?doteq|(?:falling|rising)dotseq)" END, "=", 0,
     "\\"},
    {"\\^\\s*+\\\\?(?:top|intercal)" END "|\\\\top" END, "^T", 0, "^\\"},
    {"\\\\leq?(?:slant)?" END, "\u2264", 0, "\\"},
    {"\\\\alpha" END, "\u03B1", 0, "\\"},
    {"\\\\tau" END, "\u03C4", 0, "\\"},
    {"(?:\\\\Omega|\u03A9)(?=_\\{?[qkvQKV]\\b)", " W", 0, "\\\xCE"}, /* of queries, keys, values */
    {"(?<![A-Za-z\\d_])(W_[qkvQKV])(?=[xhe](?:_|\\b))", "$1 ", 0, "W"}, /* W_qx_i */
    {"\\\\(exp|tanh)" END, "$1", 0, "\\"},
    {"\\\\[cdlv]?dots" END, "\u2026", 0, "\\"},
    {"\\\\[a-zA-Z]++\\*?", " ", 0, "\\"},
    {"\\\\([_#%&{}])", "$1", 0, "\\"},
    /* u &= (1, 0), & e_1 &= 0.5: the columns of equations, which are no cells */
    {"(?:&\\s*+(?==)|(?<=[=,;])[ \\t]*+&)(?![^\\x{27E6}\\x{27E7}]{0,400}\\x{27E7})", " ", TEX, "&"},

    /* MathML */
    {"(?i)(?:<mo\\b[^<>]*+>\\s*+[\\[(]\\s*+</mo>\\s*+)?+<mtable\\b[^<>]*+>", ATTN_MARK_OPEN, HTML,
     "<"},
    {"(?i)</mtable>(?:\\s*+<mo\\b[^<>]*+>\\s*+[\\])]\\s*+</mo>)?+", ATTN_MARK_CLOSE, HTML, "<"},
    {"(?i)</mtr>\\s*+(?=<mtr\\b)", ATTN_MARK_ROW, HTML, "<"},
    {"(?i)</mtd>\\s*+(?=<mtd\\b)", " & ", HTML, "<"},
    {"(?i)<msqrt>\\s*+", "\u221A", HTML, "<"},
    /* HTML: a rule below the first row, of headers alone */
    {"(?i)(?<!</tr>)(?<!</tr>\\s)(<tr\\b[^<>]*+>\\s*+"
     "(?:<th\\b[^<>]*+>[^|<]*+(?:<(?!/?t[dhr]\\b)[^|<]*+)*+</th>\\s*+"
     "){2,}+</tr>)",
     "$1" ATTN_MARK_ROW "|---|", HTML, "<"},
    /* <td>1 0<br>0 1</td>: a matrix in a cell */
    {"(?i)(<t[dh]\\b[^<>]*+>)\\s*+(" IN_CELL "++(?:" BREAK IN_CELL "++)++)(?:" BREAK
     ")?+(?=</t[dh]>)",
     "$1" ATTN_MARK_OPEN "$2" ATTN_MARK_CLOSE, HTML, "<"},
    {"(?i)" BREAK "(?=(?:" IN_CELL "|" BREAK "){1,400}+\\x{27E7})", ATTN_MARK_ROW, HTML, "<"},
    /* a hidden cell at the end of a row */
    {"(?i)<t[hd]\\b[^<>]*+>\\s*+</t[hd]>\\s*+(?=</tr>)", " | |", HTML, "<"},
    {"(?i)\\s{0,200}+</t[hd]>\\s*+", "", HTML, "<"},
    {CELL("[^<>]*?colspan=[\"']?2\\b") CONTENT, " | $1 |", HTML, "<"},
    {CELL("[^<>]*?colspan=[\"']?3\\b") CONTENT, " | $1 | |", HTML, "<"},
    {CELL("[^<>]*?colspan=[\"']?4\\b") CONTENT, " | $1 | | |", HTML, "<"},
    {CELL(""), " |", HTML, "<"},
    {"(?i)</?tr\\b[^<>]*+>(?:\\s++(?=<))?+", ATTN_MARK_ROW, HTML, "<"},
    {"(?i)</?pre\\b[^<>]*+>", "\n\n", HTML, "<"}, /* a blank line */
    {"(?i)<sup>(?=[-\\w(.])", "^", 0, "<"},
    /* ''W'' of a wiki, in front of its index */
    {"'{2,3}([A-Za-z]\\w{0,11}+)'{2,3}", "$1", 0, "'"},
    {"(?i)</?(?:sub|sup|b|i|u|em|strong|code|span|font|mark|var)\\b[^<>\\n]{0,200}>", "", 0, "<"},
    /* <dt>red</dt><dd>2, 0</dd>: a label and its row */
    {"(?i)</dt>\\s{0,200}+<dd\\b[^<>]*+>", ": ", HTML, "<"},
    {"(?i)<br\\b[^<>]*+>", "\n", HTML, "<"},
    {"(?i)</?[a-zA-Z!][^<>]*+>", "", HTML, "<"},

    /* for i = 1, 2, 3 */
    {"(?i)\\b(for[ ]++(?:all |each |every )?+[ijknt]) ?= ?[01],(?: "
     "?(?:\\d|\\x{2026}|\\.\\.\\.),)*+ "
     "?\\d(?![.\\d])",
     "$1", 0, "="},
    /* q1 = (1, 0)   q2 = x2 W_Q = (0, 1): a comma between */
    {"(*UCP)([\\])])[ \\t]{1,20}+([^\\W\\d]\\w{0,12}+(?:\\([^()=\\n]{1,20}\\))?[ "
     "\\t]?(?:=|\\x{2192})[ \\t]?)"
     "(?:" OF_WEIGHTS "W" OF_WEIGHTS "=[ \\t]?)?+(?=[\\[(])",
     "$1, $2", 0, "="},
    /* 1/4 = 0.25    3/4 = 0.75; q1·k1 = 3/4    q1·k2 = 3/√2 */
    {"(=[ \\t]?[-+]?\\d++(?:\\.\\d++|/√?\\d{1,3}+)?%?+)[ "
     "\\t]{2,20}+(?=[^\\s=+*/(|\\x{B7}\\x{D7}-][^=\\n,;|]{0,40}+=[ "
     "\\t]?[-+]?[\\d(\\[\\x{221A}])",
     "$1, ", 0, "="},

    /* programs and their output */
    {"<tf\\.\\w++[^=\\n]{0,40} shape=\\([\\d, ]*+\\), dtype=\\w++, numpy=", "", 0, "<"},
    {"(?i)\\b(?:np|numpy|torch|jnp|tf|mx)?\\.?(?:array|tensor|matrix|constant|asarray)[ \\t]*+\\(",
     " (", 0, "("},
    /* attention([[1, 0]], [[0, 1]], [[2, 3]]) */
    {"(?i)(attention)\\(" LISTS "," LISTS "," LISTS "\\)",
     "$1" ATTN_MARK_ROW "Q = $2, K = $3, V = $4", 0, "["},
    {"(?<=[(,\\s])(?!axis|dim)([a-z]++(?:_[a-z]++)++)=\\d++(?=\\s?[,)])", "$1", 0, "="},
    {"(?<=[,;] )([a-z]{3,12}+)(?<!axis|.dim|dims)=\\d++(?=\\))", "$1", 0, "="}, /* digits=4 */
    {"\\bmat\\((?:\\s*+(?:delim|gap|align|augment|row-gap|column-gap)\\s*+:\\s*+(?:\"[^\"\\n]*+\"|["
     "^,\\n;]++),)*+",
     ATTN_MARK_OPEN, TYPST, "("},
    /* "ql = (1, 0)" of a scan that has a q2, too */
    {"(?<![A-Za-z])([qkvzohas])l(?=[ \\t]*+[=:(]|[ \\t]{2})"
     "(?=[^\\x{27E6}]{0,500}?(?<![A-Za-z])\\g{1}2(?!\\w))",
     "$11", 0, "l"},
    {"_\\{?t,?(\\d)\\}?(?!\\w)", "_$1", 0, "_"}, /* e_{t1}, of the step t of a decoder */
    /* "scores: [1, 2] → divided by √2: [0.71, 1.41]": steps in one line */
    {"\\][ \\t]*+(?:\\x{2192}|->)[ \\t]*+(?=[^\\n\\[\\]:=]{2,40}+:[ \\t]*+\\[)", "]; ", 0, "]"},
    {"\\x{3014}[ \\t]*+(" LITERAL ")[ \\t]*+\\x{3015}", " $1 ", 0, "\xE3"},
    {"(?<!\\w)_++[ ]?+(" LITERAL ")[ ]?+_++(?!\\w)", " $1 ", 0, "_"}, /* filled in */
    {"(*UCP)\\*\\*|__(?=\\w)|`++", " ", 0, "*_`"},
    {"(?<!\\w)_([A-Za-z])_(?!\\w)", "$1", 0, "_"},
    {"(?i)(?<![\\w.])\\.(inf|nan)\\b", "$1", 0, "."}, /* YAML */
    {"(?i)-\\s?inf(?:inity|ty|\\.)?\\b|-\\s?\u221E|-1e\\+?0?9\\b|-1\\.0*+e\\+?0?[79]\\b|-oo\\b|"
     "(?<![\\w.)\\]])-(?:10{4}|10{9}|65504)(?:\\.0*+)?(?![\\w.])|-3\\.40\\d*+e\\+?38\\b",
     "-\u221E", 0, "-"},
    {"(?m)(?:[\\d\\x{221E}][ \\t]+|[\\[,|&][ \\t]*)\\K(?i:\\+?inf(?:inity)?)(?=[ "
     "\\t]*(?:[\\],|&]|$))",
     "\u221E", 0, "iI"},
};

void attn_rewrite_notations(struct attn_rewrite *r, int kinds) {
  for (size_t n = 0; n < sizeof notations / sizeof *notations; n++)
    if (!notations[n].kind || notations[n].kind & kinds)
      attn_rewrite_all(r, notations[n].pattern, notations[n].replacement, notations[n].needs);
}
