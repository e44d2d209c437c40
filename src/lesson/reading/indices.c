/* indices.c -- what a text counts around the numbers of steps: the rows that R numbers, prompts,
 * "3 rows and 2 columns", "query 2 with key 1". What does not agree with the numbers is listed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cell.h"
#include "placed.h"
#include "role_search.h"
#include "steps.h"

enum { GAP = 48, LINES = 3 }; /* columns from an index to its number; lines from a size */

static int is_there(struct attn_part p) { return p.begin < p.end; }

/* Of at most four digits, or "first" to "fourth". */
static int value_of(const struct attn_placing *x, struct attn_part p) {
  static const char *const ORDINAL[] = {"first", "second", "third", "fourth"};
  for (int n = 0; n < 4 && is_there(p); n++)
    if (strncasecmp(x->text + p.begin, ORDINAL[n], p.end - p.begin) == 0) return n + 1;
  int value = is_there(p) ? 0 : -1;
  for (size_t at = p.begin; at < p.end && x->text[at] >= '0' && x->text[at] <= '9'; at++)
    value = value * 10 + (x->text[at] - '0');
  return value;
}

/* The step that a word of the text calls; -1: none. */
static int step_called(struct attn_placing *x, struct attn_part p) {
  const char *word = attn_pool_text(x->a->pool, x->text + p.begin, p.end - p.begin);
  x->failed |= !word;
  return word ? attn_step_called(word) : -1;
}

/* ---- prompts ---- */

static int lines_between(const struct attn_placing *x, size_t begin, size_t end) {
  int lines = 0;
  for (; begin < end; begin++) lines += x->text[begin] == '\n';
  return lines;
}

/* In[2] after In[3], or Out[3] after In[2]; a transcript may begin once more. Several lines of one
 * input are several inputs, and a comment is none. */
static void check_prompts(struct attn_placing *x) {
  static const char PROMPT[] =
      "(?m)^[ \\t>]*+(?:(In) ?\\[|(Out) ?\\[|octave:)(\\d{1,4}+)(?:\\](?:[:=]|//)|>)";
  struct attn_match m;
  int last = 0, input = -1; /* of the prompt just above, if it is an input */
  for (size_t at = 0; attn_placing_find(x, PROMPT, at, &m); at = m.group[0].end) {
    int value = value_of(x, m.group[3]), is_output = is_there(m.group[2]);
    int may_repeat = is_output || !is_there(m.group[1]);
    int agrees = value > last - may_repeat || value <= 1;
    if (is_output && input >= 0)
      agrees = value >= input && value - input < lines_between(x, at, m.group[0].begin);
    if (!agrees) attn_list_number(x, m.group[3], m.group[0].begin);
    if (agrees) last = value;
    input = is_output ? -1 : value;
  }
}

/* ---- R ---- */

/* "[1,]", "[2,]" in front of the rows of a matrix */
static void check_rows_of_r(struct attn_placing *x) {
  static const char LABEL[] = "(?m)^[ \\t#>]*+\\[(\\d{1,4}+),\\][ \\t]++[-.\\dNI]";
  struct attn_match m;
  int last = 0, line = -1;
  for (size_t at = 0; attn_placing_find(x, LABEL, at, &m); at = m.group[0].end) {
    int value = value_of(x, m.group[1]), here = attn_placing_cell(x, m.group[1].begin).line;
    int is_next = here == line + 1;
    if (value != (is_next ? last + 1 : 1)) attn_list_number(x, m.group[1], m.group[0].begin);
    last = is_next ? last + 1 : value, line = here;
  }
}

/* "[,1] [,2]" above the columns; those of a wide matrix go on further below. */
static void check_columns_of_r(struct attn_placing *x) {
  static const char LABEL[] =
      "(?m)(?:(^)[ \\t#>]*+|\\G[ \\t]*+)\\[,(\\d{1,4}+)\\](?=[ \\t\\r\\n]|\\z)";
  struct attn_match m;
  int last = 0;
  for (size_t at = 0; attn_placing_find(x, LABEL, at, &m); at = m.group[0].end) {
    int value = value_of(x, m.group[2]), is_first = m.group[1].end >= m.group[1].begin;
    int agrees = value == last + 1 || (is_first && value == 1);
    if (!agrees) attn_list_number(x, m.group[2], m.group[0].begin);
    last = is_first || agrees ? value : last + 1;
  }
}

/* "(4 rows)" below a table of a database: how many lines it has. */
static void check_rows_of_database(struct attn_placing *x) {
  static const char ROWS[] =
      "(?m)^[ \\t]*+-[-+]++[ \\t]*+\\n((?:[^\\n|]*+\\|[^\\n]*+\\n)++)\\((\\d{1,4}+) rows?\\)";
  struct attn_match m;
  for (size_t at = 0; attn_placing_find(x, ROWS, at, &m); at = m.group[0].end)
    if (value_of(x, m.group[2]) != lines_between(x, m.group[1].begin, m.group[1].end))
      attn_list_number(x, m.group[2], m.group[0].begin);
}

/* ---- sizes ---- */

static int is_size_of(const struct attn_placed *p, int rows, int cols) {
  const attn_matrix *m = &p->step->exact;
  return (rows == p->printing->rows && cols == p->printing->cols) ||
         (rows == m->rows && cols == m->cols) || (cols == m->rows && rows == m->cols);
}

/* "1行2列 0.2×2": what a cell is computed by */
#define CELL_SUM "[\\d.]++[ ]?[\\x{D7}\\x{B7}*]"
/* "3×2 Matrix{Float64}:", "3 rows and 2 columns", "X[3][2] = {": of the numbers below. */
static const char SIZE[] =
    "(?i)(?|(?<![\\w.])(\\d{1,4}+) ?[x\\x{D7}] ?(\\d{1,4}+) "
    "(?:\\w++ )?(?:matrix|adjoint|transpose|array)\\b"
    "|(?<![\\w.])(\\d{1,4}+) rows?(?:,? and |, | by | x | \\x{D7} )(\\d{1,4}+) col(?:umn)?s?\\b"
    "|(?<![\\w.])(\\d{1,4}+) ?行 ?(\\d{1,4}+) "
    "?列(?!目|は|が|だと|なら|の[値要成]|[^\\d\\n]{1,3}" CELL_SUM
    ")"
    "|\\w\\[(\\d{1,4}+)\\]\\[(\\d{1,4}+)\\] ?= ?\\{"
    "|<tf\\.\\w++: shape=\\((\\d{1,4}+), (\\d{1,4}+)\\)"
    "|(?m:^\\w{1,12} = (\\d{1,4}+)[x\\x{D7}](\\d{1,4}+)[ \\t\\r]*$))";

static int is_no_size(const struct attn_placing *x, const struct attn_match *m) {
  const struct attn_known *known = x->a->known;
  return !attn_is_known_size(known, value_of(x, m->group[1])) ||
         !attn_is_known_size(known, value_of(x, m->group[2]));
}

static int is_other_size(const struct attn_placing *x, const struct attn_match *m) {
  const struct attn_placed *p = attn_next_placed(x, m->group[0].end, LINES);
  return p ? !is_size_of(p, value_of(x, m->group[1]), value_of(x, m->group[2])) : is_no_size(x, m);
}

/* "[0. 1.]], shape=(2, 2)": of the numbers in front of it. */
static const char SIZE_AFTER[] = "\\]\\], shape=\\((\\d{1,4}+), (\\d{1,4}+)\\)";
static int is_other_size_after(const struct attn_placing *x, const struct attn_match *m) {
  const struct attn_placed *p = attn_last_placed(x, m->group[0].begin);
  return p && !is_size_of(p, value_of(x, m->group[1]), value_of(x, m->group[2]));
}

/* "(4 x 3)", "(each 4 x 3)", "2×3 行列", "all weights are 3 x 2", "行列は $4 \times 2$",
 * "a $3 times 2$ matrix", "$W$ は 4×3:": the size of some matrix. */
#define BY " ?(?:[x\\x{D7}]|\\\\times\\b) ?"
static const char SOME_SIZE[] =
    "(?|(?<![-+=*/\\x{B7}\\x{D7}])(?<![-+=*/\\x{B7}\\x{D7}] )\\((?:each |all )?\\$?(\\d{1,2}+)" BY
    "(\\d{1,2}+)\\$?\\)(?! ?[-+=*/\\x{B7}\\x{D7}])|"
    "(?<=[$`])(\\d{1,2}+)(?: ?\\\\times | times )(\\d{1,2}+)[$`] matri(?:x|ces)\\b|"
    "[QKVXWO]\\$? ?は ?(\\d{1,2}+)" BY
    "(\\d{1,2}+)(?=[:。])|"
    "(?<![\\w.])(\\d{1,2}+)" BY
    "(\\d{1,2}+)\\$? ?(?:の)?(?:行列|表)|"
    "行列[はが] ?\\$?(\\d{1,2}+)" BY
    "(\\d{1,2}+)\\$? ?(?=で|と|[、。])|"
    "スコアは ?(\\d{1,2}+)" BY
    "(\\d{1,2}+) ?(?=に(?:なる|なり)|の行列)|"
    "\\b(?:are|(?:size|shape)s?(?: is| are)?) \\$?(\\d{1,2}+)" BY
    "(\\d{1,2}+)\\$?(?=[.,:;]?\\s)"
    "(?!\\s*[-+=*/\\x{B7}\\x{D7}\\x{2248}]))";

/* "Scores (3×3):", "Keys (3 x 2)" at the end of a line: of the numbers below. */
static const char TITLE_SIZE[] =
    "(?m)^[^\\n()\\d]{1,60}\\((\\d{1,2}+) ?[x\\x{D7}] ?(\\d{1,2}+)\\)[ :*]*+\\r?$";
static int is_other_title_size(const struct attn_placing *x, const struct attn_match *m) {
  enum { TABLE_LINES = 5 };
  const struct attn_placed *p = attn_next_placed(x, m->group[0].end, TABLE_LINES);
  return p && !is_size_of(p, value_of(x, m->group[1]), value_of(x, m->group[2]));
}

/* "Q ∈ R^{3×2}", "K is a 3×2 matrix", "the output has 3 rows and 2 columns": of the step that is
 * named. */
static const char NAMED_SIZE[] =
    "(?|\\b([QKVX])\\$? ?(?:\\\\in\\b|\\x{2208}) ?\\$?(?:\\\\mathbb ?\\{?R\\}?|\\x{211D}|R) ?"
    "\\^ ?[{(]?(\\d{1,2}+) ?(?:x|\\x{D7}|\\\\times) ?(\\d{1,2}+)|"
    "\\b([QKVX]) (?:is|are) (?:a |an )?(\\d{1,2}+) ?[x\\x{D7}] ?(\\d{1,2}+)|"
    "\\b([QKVX]|output|scores|weights)\\$? (?:has|have) (\\d{1,2}+) rows? and (\\d{1,2}+) col|"
    "\\b([QKVX])\\$?[はが] ?(\\d{1,2}+) ?行 ?(\\d{1,2}+) ?列(?![目はがの]))";

/* Has some step of this name the size, or no step the name? */
static int is_size_of_name(const struct attn_placing *x, int name, int rows, int cols) {
  int is_there = 0;
  for (int32_t e = 0; e < x->a->lesson->examples; e++) {
    const attn_example *ex = &x->a->lesson->example[e];
    for (int32_t n = 0; n < ex->steps; n++) {
      const attn_matrix *m = &ex->step[n].exact;
      if (ex->step[n].name != name) continue;
      is_there = 1;
      if ((m->rows == rows && m->cols == cols) ||
          (ex->orientation && m->rows == cols && m->cols == rows))
        return 1;
    }
  }
  return !is_there;
}

static void check_named_sizes(struct attn_placing *x) {
  struct attn_match m;
  for (size_t at = 0; attn_placing_find(x, NAMED_SIZE, at, &m); at = m.group[0].end)
    if (!is_size_of_name(x, step_called(x, m.group[1]), value_of(x, m.group[2]),
                         value_of(x, m.group[3])))
      attn_list_number(x, m.group[2], m.group[0].begin);
}

/* "shapes: Q (3, 2)  K (3, 2)" */
static void check_shapes(struct attn_placing *x) {
  static const char SHAPES[] = "(?i)\\bshapes:";
  static const char SHAPE[] = "\\G[ ,;]*+(\\w++) ?=? ?\\((\\d{1,2}+), ?(\\d{1,2}+)\\)";
  struct attn_match line, m;
  for (size_t at = 0; attn_placing_find(x, SHAPES, at, &line); at = line.group[0].end)
    for (size_t k = line.group[0].end; attn_placing_find(x, SHAPE, k, &m); k = m.group[0].end)
      if (!is_size_of_name(x, step_called(x, m.group[1]), value_of(x, m.group[2]),
                           value_of(x, m.group[3])))
        attn_list_number(x, m.group[2], m.group[0].begin);
}

/* "n = 5", of tokens */
static const char COUNT_OF_TOKENS[] =
    "(*UCP)(?<![\\w.\\x{221A}({/^*+-])(?<![=*/+-] )n ?= ?(\\d{1,2}+)(?![\\w.]|\\s?[-+*/^,])";
static int is_no_count(const struct attn_placing *x, const struct attn_match *m) {
  return !attn_is_known_size(x->a->known, value_of(x, m->group[1]));
}

static int has_heads(const attn_lesson *l, int count) {
  for (int32_t n = 0; n < l->examples; n++)
    if (l->example[n].heads == count) return 1;
  return 0;
}

/* "3 tokens", "ones(3, 3)", "d_model = 4": the size of a matrix. Not "head 3 queries". */
#define NO_INDEX                                                                                 \
  "(?<!\\brow )(?<!\\bhead )(?<!\\bstep )(?<!\\blayer )(?<!\\bquery )(?<!\\bkey )(?<!\\btoken )" \
  "(?<!\\bword )(?<!\\bposition )(?<!\\bfirst )(?<!\\blast )(?<!\\bnext )(?<!\\bto )(?<!\\band " \
  ")(?<!\\bor )"
/* "GPT has 12 heads": where one is shown. */
static int is_of_heads(const struct attn_placing *x, const struct attn_match *m) {
  return m->group[0].end >= 5 && strncasecmp(x->text + m->group[0].end - 5, "heads", 5) == 0 &&
         has_heads(x->a->lesson, 1);
}

static void check_counts(struct attn_placing *x) {
  static const char COUNT[] =
      "(*UCP)(?i)(?:(?<![\\w.,:^/*+=-])|(?<=[^*\\w)\\]]\\*\\*))(?<![.^/*+=-] )" NO_INDEX
      "(?!\\d++ rows\\)(?m:$))(\\d{1,2}+)"
      "(?:[ -](?:(?:source|target|encoder|decoder|input|output)[ -])?"
      "(?:tokens?|quer(?:y|ies)|keys|values|positions|features|components|entries|elements|numbers|"
      "words|rows|columns|heads)\\b|"
      " ?(?:個の)?(?:トークン|クエリ|キー|成分)|次元(?!目))(?! ?[=:\\d])"
      "|(?:トークン数|次元[数がは]?|(?:クエリ|キー|バリュー)は)[はが:]? ?(\\d{1,2}+) "
      "?(?:個|つ|次元)?(?=[、。,)]|\\.(?!\\d)| ?な|(?m:$))"
      "|\\b(?:ones|zeros)\\(\\(?(\\d{1,2}+), ?(\\d{1,2}+)\\)"
      "|(?<!sequence of )(?<!padded to )\\b(?:length|dimension|size) (?:is |of "
      ")?\\*{0,2}(\\d{1,2}+)(?![.\\d%]|, padded)"
      "|(?m:^[^\\x00-\\x7F]*d_?[kv][,\\t](\\d{1,2}+)[,\\t\\r]*(?:$|[A-Za-z\\x{221A}]))"
      "|\\b(?:d_?(?:\\{?\\\\?(?:text|mathrm)?\\{?)?model\\}{0,2} ?=|"
      "n(?:um)?_(?:quer(?:y|ies)|keys?|values?|tokens?) ?[:=])[ ~]?(1?\\d)(?![\\d.])"
      "|\\b(?:weights|matrix|matrices)[^()\\n\\d]{0,16}\\((\\d{1,2}+) ?(?:->|→|inputs?,) "
      "?(\\d{1,2}+)(?: outputs?)?\\):";
  struct attn_match m;
  for (size_t at = 0; attn_placing_find(x, COUNT, at, &m); at = m.group[0].end)
    for (int n = 1; n <= 9; n++) {
      int value = value_of(x, m.group[n]);
      if (value > 1 && !attn_is_known_size(x->a->known, value) && !has_heads(x->a->lesson, value) &&
          !is_of_heads(x, &m))
        attn_list_number(x, m.group[n], m.group[0].begin);
    }
}

/* "d_k is 2", "次元は2" */
static const char DIMENSION[] =
    "(?i)(?|\\bd_?v ?(?:=|is|は) ?(\\d{1,2}+)(?!\\.?\\d)|次元[はが] ?(\\d{1,2}+)(?!\\.?\\d)|"
    "\\bdimensions? (?:is|are|of) ?(\\d{1,2}+)(?!\\.?\\d)|"
    "\\bdimensions? of (?:the |each )?(?:quer(?:y|ies)|keys?|values?)(?: vectors?)? (?:is|are|=) "
    "?(\\d{1,2}+)(?!\\.?\\d)|"
    "(?<![\\w.-])(\\d{1,2}+)[- ]dim(?:ensional|ensions?)?\\b(?! ?(?:arrays?|tensors?)\\b))";

/* The columns of a step, or the rows of weights. Where queries are in columns, inputs may be, too.
 */
static int is_width(const attn_example *ex, const attn_step *s, int size) {
  int is_weights = s->name >= ATTN_STEP_W_Q && s->name <= ATTN_STEP_V_A;
  if (s->name >= ATTN_STEP_SCORES && s->name <= ATTN_STEP_WEIGHTS) return 0;
  return s->exact.cols == size || ((is_weights || ex->orientation) && s->exact.rows == size);
}

/* Of keys that are not shown: the scores are divided by its root. */
static int is_divided_by_root(const attn_example *ex, int size) {
  int divides = 0;
  for (int32_t n = 0; n < ex->steps; n++) {
    const attn_step *s = &ex->step[n];
    if (s->name == ATTN_STEP_Q || s->name == ATTN_STEP_K) return 0;
    divides |= s->op == ATTN_OP_DIVIDE && fabs(s->scalar * s->scalar - size) <= .02 * size;
  }
  return divides;
}

/* A number of tokens is none. */
static int is_no_dimension(const struct attn_placing *x, const struct attn_match *m) {
  int value = value_of(x, m->group[1]), is_one = value <= 1 || value >= 16;
  for (int32_t e = 0; e < x->a->lesson->examples; e++) {
    const attn_example *ex = &x->a->lesson->example[e];
    is_one |= is_divided_by_root(ex, value);
    for (int32_t n = 0; n < ex->steps; n++) is_one |= is_width(ex, &ex->step[n], value);
  }
  return !is_one;
}

/* "d_k = 2": of a head or of all. */
static int is_no_key_dimension(const struct attn_placing *x, const struct attn_match *m) {
  int value = value_of(x, m->group[1]), is_some = 0, is_size = value >= 16;
  for (int32_t e = 0; e < x->a->lesson->examples; e++) {
    const attn_example *ex = &x->a->lesson->example[e];
    for (int32_t n = 0; n < ex->steps; n++) {
      const attn_step *s = &ex->step[n];
      if (s->name != ATTN_STEP_Q && s->name != ATTN_STEP_K) continue;
      is_some = 1, is_size |= is_width(ex, s, value) || is_width(ex, s, value * ex->heads);
    }
  }
  return is_some && !is_size;
}

/* "/ √2", "√2で割る": a root that no step divides by, where some divide. */
static const char DIVISOR[] =
    "(?|(?:[/\\x{F7}]|(?<!\\bnot )\\bby) ?(?:\\w{2,5}\\.)?(?:\\x{221A}|sqrt|the (?:square )?root "
    "of) "
    "?\\(?(\\d{1,2}+)(?!\\.?\\d)|"
    "\\x{221A}\\(?(\\d{1,2}+)\\)?(?:[^\\n\\d。]{1,6}[\\d.]{1,6}+)? ?で(?:割|除))";
static int divides_by_other(const struct attn_placing *x, double value, int agrees) {
  int divides = 0;
  for (int32_t e = 0; e < x->a->lesson->examples; e++) {
    const attn_example *ex = &x->a->lesson->example[e];
    for (int32_t n = 0; n < ex->steps; n++) {
      double by = ex->step[n].op == ATTN_OP_DIVIDE ? ex->step[n].scalar : 0;
      divides |= by != 0;
      agrees |= fabs(by * by - value) <= .02 * value;
    }
  }
  return divides && !agrees;
}

static int is_other_divisor(const struct attn_placing *x, const struct attn_match *m) {
  int value = value_of(x, m->group[1]);
  return divides_by_other(x, value, value >= 16);
}

/* "√d_k = 2" */
static const char KEY_ROOT[] =
    "(?:\\x{221A}|sqrt)\\s?(?:d_?\\{?k\\}?|\\(d_?\\{?k\\}?\\)) ?(?:=|is|は) "
    "?(\\d{1,2}+)(?!\\.?\\d| ?[-+/*^])";
static int is_other_key_root(const struct attn_placing *x, const struct attn_match *m) {
  int value = value_of(x, m->group[1]);
  return divides_by_other(x, (double)value * value, value == 8); /* of the paper */
}

/* An axis that no matrix has. */
static const char AXIS[] =
    "\\b(?:(?:dims?|axis) ?= ?|(?:sum|softmax)\\((?:[^()\\n,]|\\([^()\\n]*+\\)){1,40}+, ?|"
    "apply\\(\\w{1,20}+, ?|\\bshape\\[)-?(\\d{1,2}+)(?=[,;)\\]])";
static int is_no_axis(const struct attn_placing *x, const struct attn_match *m) {
  return value_of(x, m->group[1]) > 4;
}

/* A diagonal far from the main one. */
static const char DIAGONAL[] = "\\b(?:diagonal|k) ?= ?-?(\\d{1,2}+)(?=\\))";
static int is_far_diagonal(const struct attn_placing *x, const struct attn_match *m) {
  return value_of(x, m->group[1]) > 1;
}

/* ---- cells of a program ---- */

/* Is a number the cell of some step of this name, counted from 0 or 1, or has no step the name? */
static int is_cell(const struct attn_placing *x, int name, int row, int col,
                   const attn_cell *cell) {
  int is_there = 0;
  for (int32_t e = 0; e < x->a->lesson->examples; e++) {
    const attn_example *ex = &x->a->lesson->example[e];
    for (int32_t n = 0; n < ex->steps; n++) {
      const attn_matrix *m = &ex->step[n].exact;
      if (ex->step[n].name != name || !m->at) continue;
      is_there = 1;
      for (int base = 0; base < 2; base++) {
        int i = row - base, j = col - base;
        if (i >= 0 && j >= 0 && i < m->rows && j < m->cols &&
            attn_cell_is_near(cell, m->at[i * m->cols + j], 3))
          return 1;
      }
    }
  }
  return !is_there;
}

/* "weights[0,1] = 0.8", "scores[0][1] is 6" */
static const char CELL[] =
    "(?i)\\b(scores?|scaled|weights?|attn|output|out)\\[(\\d)(?:, ?|\\]\\[)(\\d)\\]`? "
    "?(?:=|is|\\x{2192}) "
    "?(-?\\d++(?:\\.\\d++)?)(?![\\w.]| ?[-+*/])";
static void check_cells(struct attn_placing *x) {
  struct attn_match m;
  for (size_t at = 0; attn_placing_find(x, CELL, at, &m); at = m.group[0].end) {
    attn_cell cell;
    if (attn_scan_part(x->text, m.group[4], &cell) &&
        !is_cell(x, step_called(x, m.group[1]), value_of(x, m.group[2]), value_of(x, m.group[3]),
                 &cell))
      attn_list_number(x, m.group[4], m.group[0].begin);
  }
}

/* ---- words with an index ---- */

enum word { QUERY, KEY, VALUE, TOKEN, ROW, COLUMN, WORDS };

#define AN_INDEX "[ ]?(\\d{1,2}+)(?![.,]?\\d|[\\w%])"
/* "first query", 「2番目のクエリ」 */
#define ORDINAL_OF(word, ja) \
  "|(?<!in the )\\b(first|second|third|fourth) (?:" word ")\\b|(?<![0-9])([0-9])番目の(?:" ja ")"
static const char *const WORD[WORDS] = {
    "(*UCP)(?i)(?|(?:\\bquer(?:y|ies)|クエリー?)" AN_INDEX ORDINAL_OF("query", "クエリ") ")",
    "(*UCP)(?i)(?|(?:\\bkeys?|キー)" AN_INDEX ORDINAL_OF("key", "キー") ")",
    "(*UCP)(?i)(?|(?:\\bvalues?|バリュー)" AN_INDEX ORDINAL_OF("value", "バリュー") ")",
    "(*UCP)(?i)(?|(?:\\b(?:token|word|position)|トークン|単語|位置)" AN_INDEX ORDINAL_OF(
        "token|word|position", "トークン|単語|位置") ")",
    "(*UCP)(?i)(?|\\brow" AN_INDEX ORDINAL_OF("row", "行") "|(?<![0-9])([0-9])行目)",
    "(*UCP)(?i)(?|\\bcolumn" AN_INDEX ORDINAL_OF("column", "列") "|(?<![0-9])([0-9])列目)",
};

/* Is an index that of a number, counted from base? -1: it may be of something else. */
static int agrees(enum word w, int index, const struct attn_placed *p, int base) {
  int name = p->step->name, turned = p->example->orientation == ATTN_QUERIES_IN_COLUMNS;
  int row = index - base == p->row, col = index - base == p->col, either = row || col;
  if (w == ROW || w == COLUMN) return turned ? either : w == ROW ? row : col;
  if (name >= ATTN_STEP_SCORES && name <= ATTN_STEP_WEIGHTS) {
    if (w == VALUE) return -1;
    return w == TOKEN ? either : (w == QUERY) != turned ? row : col;
  }
  static const uint32_t OF[] = {
      [QUERY] = 1u << ATTN_STEP_Q | 1u << ATTN_STEP_OUTPUT,
      [KEY] = 1u << ATTN_STEP_K,
      [VALUE] = 1u << ATTN_STEP_V,
      [TOKEN] = 1u << ATTN_STEP_X | 1u << ATTN_STEP_Y | 1u << ATTN_STEP_Q | 1u << ATTN_STEP_K |
                1u << ATTN_STEP_V | 1u << ATTN_STEP_OUTPUT,
  };
  return OF[w] >> name & 1 ? (turned ? either : row) : -1;
}

/* "4 with the first key", "(1, 0) for the second token": the number before it. NULL: of none. */
static const struct attn_placed *named_after(const struct attn_placing *x, size_t at) {
#define AFTER(word) "[\\d)\\]] " word " the "
  static const char OF_LAST[] = "(?<=" AFTER("with") "|" AFTER("for") "|" AFTER("on") ")";
  if (!attn_match_at(x->a->scan->patterns, OF_LAST, x->text, x->bytes, at, NULL)) return NULL;
  return attn_last_placed(x, at);
}

/* The number that a word with an index is in front of, or after. */
static const struct attn_placed *named_by(const struct attn_placing *x,
                                          const struct attn_match *m) {
  size_t end = m->group[0].end;
  const struct attn_placed *last = named_after(x, m->group[0].begin);
  if (last) return last;
  const struct attn_placed *p = attn_next_placed(x, end, 1);
  if (!p || attn_next_placed(x, m->group[1].begin, 1) != p) return NULL; /* the index is one */
  int gap = (int)(p->place & UINT32_MAX) - attn_placing_cell(x, end).column;
  if (gap > GAP) return NULL;
  for (size_t at = end; at + 1 < x->bytes && at < end + (size_t)gap; at++)
    if (x->text[at] == '.' && x->text[at + 1] == ' ') return NULL;
  return p;
}

/* Lists those that do not agree, where most do. */
static void check_words(struct attn_placing *x, enum word w) {
  struct attn_match m;
  int seen = 0, fits[2] = {0, 0}; /* counted from 0, from 1 */
  for (int pass = 0; pass < 2; pass++) {
    int base = fits[1] >= fits[0];
    if (pass == 1 && (3 * (seen - fits[base]) > seen || seen == fits[base])) return;
    for (size_t at = 0; attn_placing_find(x, WORD[w], at, &m); at = m.group[0].end) {
      const struct attn_placed *p = named_by(x, &m);
      int index = value_of(x, m.group[1]), one = p ? agrees(w, index, p, 1) : -1;
      if (one < 0) continue;
      if (pass == 0) seen++, fits[1] += one, fits[0] += agrees(w, index, p, 0);
      if (pass == 1 && !agrees(w, index, p, base))
        attn_list_number(x, m.group[1], m.group[0].begin);
    }
  }
}

/* "token 0", "A[0, 1]": does the text count from 0 anywhere? */
static int counts_from_zero(const struct attn_placing *x) {
  static const char ZERO[] =
      "(*UCP)(?i)(?:\\b(?:quer(?:y|ies)|keys?|values?|token|word|position|row|head|[qkvxhs])|"
      "クエリ|キー|トークン|単語|位置|行)[ "
      "_]?\\{?0(?![.,]?\\d)|\\w\\[0[],]|zero-based|0-based|from "
      "(?:zero|0)\\b";
  return attn_document_has(x->a->scan->patterns, ZERO, x->a->scan->text);
}

/* Is it a row that is printed once more, as in a sentence? */
static int is_row_again(const struct attn_placed *p) {
  return p->printing != &p->step->printing[0] && p->printing->rows == 1 && p->printing->cols > 1 &&
         p->step->exact.rows > 1 && p->example->orientation == ATTN_QUERIES_IN_ROWS;
}

/* Has the row of a step the printed values of another one? */
static int is_same_row(const struct attn_placed *p, int row) {
  const attn_matrix *m = &p->step->exact;
  if (row < 0 || row >= m->rows || p->printing->cols != m->cols) return 0;
  for (int j = 0; j < m->cols; j++)
    if (!attn_cell_is_near(&p->printing->cells[j], m->at[row * m->cols + j], 3)) return 0;
  return 1;
}

/* Lists the index in front of a row that is another one: "the output of token 1 is (0, 3)". */
static void check_rows_again(struct attn_placing *x) {
  const int from = counts_from_zero(x) ? 0 : 1;
  struct attn_match m;
  for (int w = 0; w < COLUMN; w++)
    for (size_t at = 0; attn_placing_find(x, WORD[w], at, &m); at = m.group[0].end) {
      const struct attn_placed *p = named_by(x, &m);
      int index = value_of(x, m.group[1]), fits = !p || !is_row_again(p);
      for (int base = from; base < 2 && !fits; base++)
        fits = agrees((enum word)w, index, p, base) || is_same_row(p, index - base);
      if (!fits) attn_list_number(x, m.group[1], m.group[0].begin);
    }
}

/* "Token 1 attends most strongly to token 3": is that the largest weight of its row, or is there no
 * such row? */
static int is_largest_of_row(const struct attn_placing *x, int row, int col) {
  int is_there = 0;
  for (int32_t e = 0; e < x->a->lesson->examples; e++) {
    const attn_step *w =
        attn_find_step(&x->a->lesson->example[e], ATTN_STEP_WEIGHTS, ATTN_ANY_HEAD);
    const attn_matrix *m = w ? &w->exact : NULL;
    if (!m || !m->at || x->a->lesson->example[e].orientation != ATTN_QUERIES_IN_ROWS) return 1;
    if (row < 0 || row >= m->rows) continue;
    const double *at = m->at + row * m->cols;
    is_there = 1;
    if (col >= 0 && col < m->cols && at[col] >= attn_largest(at, m->cols, 1) - 1e-9) return 1;
  }
  return !is_there;
}

static void check_largest(struct attn_placing *x) {
  static const char MOST[] =
      "(*UCP)(?i)\\b(?:token|word|query|row|position) (\\d{1,2}+) (?:attends|looks|pays|listens)"
      "[^.\\n\\d]{0,30}?\\bmost\\b[^.\\n\\d]{0,24}?\\bto (?:token|word|key|column|position) "
      "(\\d{1,2}+)(?![.,]?\\d)";
  const int from = counts_from_zero(x) ? 0 : 1;
  struct attn_match m;
  for (size_t at = 0; attn_placing_find(x, MOST, at, &m); at = m.group[0].end) {
    int row = value_of(x, m.group[1]), col = value_of(x, m.group[2]), fits = 0;
    for (int base = from; base < 2 && !fits; base++)
      fits = is_largest_of_row(x, row - base, col - base);
    if (!fits) attn_list_number(x, m.group[2], m.group[0].begin);
  }
}

void attn_list_indices(struct attn_placing *x) {
  check_prompts(x);
  check_rows_of_r(x);
  check_rows_of_database(x);
  check_columns_of_r(x);
  check_counts(x);
  attn_list_numbers(x, SIZE, is_other_size);
  attn_list_numbers(x, SIZE_AFTER, is_other_size_after);
  attn_list_numbers(x, SOME_SIZE, is_no_size);
  attn_list_numbers(x, TITLE_SIZE, is_other_title_size);
  check_named_sizes(x);
  check_shapes(x);
  attn_list_numbers(x, COUNT_OF_TOKENS, is_no_count);
  attn_list_numbers(x, DIMENSION, is_no_dimension);
  attn_list_numbers(x, ATTN_KEY_DIMENSION, is_no_key_dimension);
  attn_list_numbers(x, DIVISOR, is_other_divisor);
  attn_list_numbers(x, KEY_ROOT, is_other_key_root);
  attn_list_numbers(x, AXIS, is_no_axis);
  attn_list_numbers(x, DIAGONAL, is_far_diagonal);
  check_cells(x);
  for (int w = 0; w < WORDS; w++) check_words(x, (enum word)w);
  check_rows_again(x);
  check_largest(x);
}
