/* test_scan.c -- each notation: the blocks that a small text of it gives, and where their cells
 * are. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h> /* needs those above */
/* clang-format on */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "scan.h"

/* ---- a scan, and its blocks as text ---- */

struct scanned {
  struct attn_shared_text shared;
  struct attn_scan scan;
  attn_error err;
  attn_status status;
  char dump[8192];
};

static void put(struct scanned *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(struct scanned *s, const char *format, ...) {
  size_t used = strlen(s->dump);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(s->dump + used, sizeof s->dump - used, format, arguments);
  va_end(arguments);
}

static void put_cell(struct scanned *s, const attn_cell *cell) {
  if (cell->kind == ATTN_CELL_BLANK)
    put(s, "_");
  else
    put(s, "%.4g", cell->value);
}

/* "Q = 2x2: 1 0; 0 1", a line for each block. */
static void put_block(struct scanned *s, const struct attn_block *b) {
  const attn_printing *p = &b->reading[0];
  put(s, "%s%s%dx%d:", b->name, *b->name ? " " : "", (int)p->rows, (int)p->cols);
  for (int n = 0; n < p->rows * p->cols; n++) {
    put(s, n && n % p->cols == 0 ? "; " : " ");
    put_cell(s, &p->cells[n]);
  }
  put(s, "\n");
}

static struct scanned *scan_bytes(const char *text, size_t bytes, const char *file,
                                  const struct attn_left *left) {
  struct scanned *s = calloc(1, sizeof *s);
  char *exact = malloc(bytes ? bytes : 1); /* so that a sanitizer sees a read past it */
  assert_non_null(s);
  assert_non_null(exact);
  memcpy(exact, text, bytes);
  s->scan.pool = s->shared.pool = attn_pool_new();
  s->scan.shared = &s->shared;
  s->scan.patterns = attn_patterns_new();
  s->scan.err = &s->err;
  s->scan.left = left;
  s->status = attn_scan_open(&s->scan, exact, bytes, &file);
  if (s->status == ATTN_OK) s->status = attn_scan_document(&s->scan, file);
  for (int n = 0; s->status == ATTN_OK && n < s->scan.blocks; n++) put_block(s, &s->scan.block[n]);
  free(exact);
  return s;
}

static void release(struct scanned *s) {
  attn_patterns_free(s->scan.patterns);
  attn_pool_free(s->scan.pool);
  free(s);
}

static void check_file(const char *file, const char *text, const char *blocks) {
  struct scanned *s = scan_bytes(text, strlen(text), file, NULL);
  if (s->status != ATTN_OK)
    fail_msg("%d:%d %s", (int)s->err.line, (int)s->err.column, s->err.message);
  assert_string_equal(s->dump, blocks);
  release(s);
}

static void check(const char *text, const char *blocks) { check_file("lesson.md", text, blocks); }

static void check_error(const char *text, int line, int column, const char *message) {
  struct scanned *s = scan_bytes(text, strlen(text), "lesson.md", NULL);
  assert_int_equal(s->status, ATTN_ERR_FORMAT);
  assert_int_equal(s->err.line, line);
  if (column) assert_int_equal(s->err.column, column);
  if (!strstr(s->err.message, message)) fail_msg("%s", s->err.message);
  release(s);
}

/* ---- brackets ---- */

static void test_matrices_in_brackets(void **state) {
  (void)state;
  check("Q = [[1, 0], [0, 1]]", "Q = 2x2: 1 0; 0 1\n");
  check("Q = [1 0; 0 1]", "Q = 2x2: 1 0; 0 1\n");
  check("Q = {{1, 0}, {0, 1}}", "Q = 2x2: 1 0; 0 1\n");
  check("Q = [1, 0], [0, 1]", "Q 2x2: 1 0; 0 1\n");
}

static void test_brackets_continue_over_prompts(void **state) {
  (void)state;
  check(">>> Q = np.array([[1, 0],\n...               [0, 1]])\n", ">>> Q = 2x2: 1 0; 0 1\n");
  check("> Q = [[1, 0],\n>      [0, 1]]\n", "> Q = 2x2: 1 0; 0 1\n");
  check("# tensor([[1., 0.],\n#         [0., 1.]])\n", "2x2: 1 0; 0 1\n");
}

static void test_fractions_keep_their_terms(void **state) {
  (void)state;
  check("$A = \\begin{pmatrix} \\frac{12}{4\\sqrt{9}} & \\frac{1+2}{2} \\end{pmatrix}$",
        "A = 1x2: 1 1.5\n");
  check("A = (12/(4√9), (1 + 2)/2, -(3)/2)", "A 1x3: 1 1.5 -1.5\n");
  check("A = (½, 1½, 10⁻¹)", "A 1x3: 0.5 1.5 0.1\n");
}

static void test_a_session_has_prompts(void **state) {
  (void)state;
  check("In [1]: Q\nOut[1]:\narray([[1, 0],\n       [0, 1]])\n", "2x2: 1 0; 0 1\n");
  check("In[1]:= Q = {{1, 0}, {0, 1}}\n", "Q = 2x2: 1 0; 0 1\n");
}

/* ---- tables ---- */

static void test_html_cells(void **state) {
  (void)state;
  check(
      "<p>Scores</p>\n<table>\n<tr><th></th><th>a</th><th>&lt;pad&gt;</th></tr>\n"
      "<tr><th>a</th><td>1</td><td>2</td></tr>\n"
      "<tr><th>&lt;pad&gt;</th><td>3</td><td></td></tr>\n</table>\n",
      "2x2: 1 2; 3 _\n");
  check("<table><tr><td>1<td>2<tr><td>3<td>4</table>", "2x2: 1 2; 3 4\n");
  check(
      "<table>\n <tr>\n  <td>\n   1\n  </td>\n  <td>2</td>\n\n </tr>\n\n"
      " <tr>\n  <td>3</td>\n  <td>4</td>\n </tr>\n</table>\n",
      "2x2: 1 2; 3 4\n");
  check(
      "<table><tr><th>a</th><th colspan=\"2\">X</th></tr>\n"
      "<tr><th>b</th><td>1</td><td>2</td></tr>\n<tr><th>c</th><td>3</td><td>4</td></tr></table>",
      "2x2: 1 2; 3 4\n");
}

static void test_a_row_of_header_cells_is_a_header(void **state) {
  (void)state;
  check(
      "<table><tr><th>X</th><th>2</th><th>7</th></tr><tr><th>a</th><td>1</td><td>3</td></tr>"
      "<tr><th>b</th><td>4</td><td>5</td></tr></table>",
      "2x2: 1 3; 4 5\n");
  check(
      "<table><tr><th>a</th><td>1</td><td>3</td></tr><tr><th>b</th><td>4</td><td>5</td></tr></"
      "table>",
      "2x2: 1 3; 4 5\n");
}

static void test_separators_of_thousands(void **state) {
  (void)state;
  check("| a | b |\n|---|---|\n| 1,234.5 | 2 |\n| 3 | 1,234,567 |\n", "2x2: 1234 2; 3 1.235e+06\n");
  check("2,275.50\t540.50\n3\t4\n", "2x2: 2276 540.5; 3 4\n");
  check("softmax gives α_1 = 0.2, α_2 = 1,234.5.", "softmax gives α_1 1x2: 0.2 1234\n");
  check("| a | b |\n|---|---|\n| 1 234,50 | 0,25 |\n| 0,50 | 12 345,00 |\n",
        "2x2: 1234 0.25; 0.5 1.234e+04\n");
}

static void test_semicolons_between_decimal_commas(void **state) {
  (void)state;
  check("q = [0,50; 0,30]\nk = (1,25; −0,75)\n", "q 1x2: 0.5 0.3\nk 1x2: 1.25 -0.75\n");
  check("X = (0,50  0,30; 1,25  −0,75)\n", "X = 2x2: 0.5 0.3; 1.25 -0.75\n");
}

static void test_equations_side_by_side(void **state) {
  (void)state;
  check("1.00/4.00 = 0.25   3.00/4.00 = 0.75\n", "1.00/4.00 1x2: 0.25 0.75\n");
  check("X = 1 2   \n    3 4\n", "X 2x2: 1 2; 3 4\n");
}

static void test_a_name_in_front_of_any_row(void **state) {
  (void)state;
  check("    [ 1 2 ]\n    [ 3 4 ]\nX = [ 5 6 ]\n", "X 3x2: 1 2; 3 4; 5 6\n");
  check("    [ 1 2 ]\nX = [ 3 4 ]\n    [ 5 6 ]\n", "X 3x2: 1 2; 3 4; 5 6\n");
}

static void test_html_in_other_texts(void **state) {
  (void)state;
  check("W<sub>Q</sub> = [[1, 0], [0, 1]]", "WQ = 2x2: 1 0; 0 1\n");
}

static void test_cells_of_several_columns(void **state) {
  (void)state;
  check(
      "\\begin{tabular}{l|rr}\n& \\multicolumn{2}{c}{$X$} \\\\ \\cline{2-3}\n"
      "a & 1 & 2 \\\\\nb & 3 & 4 \\\\\n\\end{tabular}\n",
      "2x2: 1 2; 3 4\n");
}

static void test_wiki_tables(void **state) {
  (void)state;
  check(
      "{| class=\"wikitable\"\n|+ Scores\n! !! 1 !! 2\n|-\n! ich\n| 2 || 1\n|-\n"
      "! du\n| style=\"x\" | 3 || -1\n|}\n",
      "2x2: 2 1; 3 -1\n");
}

static void test_asciidoc_tables(void **state) {
  (void)state;
  check(".Q = X W~Q~\n[options=\"header\"]\n|===\n| |1 |2\n\n|a |3 |4\n|b |5 |6\n|===\n",
        "2x2: 3 4; 5 6\n");
}

static void test_nested_lists(void **state) {
  (void)state;
  check("K:\n- - 3\n  - 1\n- - 2\n  - 0\n", "2x2: 3 1; 2 0\n");
  check(".. list-table::\n\n   * - a\n     - 3\n     - 1\n   * - b\n     - 2\n     - 0\n",
        "2x2: 3 1; 2 0\n");
}

static void test_typst(void **state) {
  (void)state;
  check_file("a.typ", "$ S = mat(delim: \"[\", 1, 2;\n 3, 4) $\n", "S = 2x2: 1 2; 3 4\n");
}

static void test_merged_headers_name_parts(void **state) {
  (void)state;
  check_file("a.csv", "token,Q,,K,\n,1,2,1,2\ncat,1,0,3,4\ndog,0,1,5,6\n",
             "Q 2x2: 1 0; 0 1\nK 2x2: 3 4; 5 6\n");
}

static void test_indexed_headers_are_parts(void **state) {
  (void)state;
  check(
      "| token | q1 | q2 | k1 | k2 |\n|--|--|--|--|--|\n| a | 1 | 0 | 3 | 4 |\n"
      "| b | 0 | 1 | 5 | 6 |\n",
      "q1 2x2: 1 0; 0 1\nk1 2x2: 3 4; 5 6\n");
  check("| | k1 | k2 |\n|--|--|--|\n| q1 | 1 | 0 |\n| q2 | 0 | 1 |\n", "2x2: 1 0; 0 1\n");
}

static void test_titles_of_rows(void **state) {
  (void)state;
  check_file("a.tsv", "Q\t1\t0\n\t0\t1\nK\t3\t4\n\t5\t6\n", "Q 2x2: 1 0; 0 1\nK 2x2: 3 4; 5 6\n");
}

static void test_units(void **state) {
  (void)state;
  check("| a | b |\n|--|--|\n| 1.5 mV | 2 mV |\n| 3 mV | 4 mV |\n", ""); /* text */
  check("| a | b |\n|--|--|\n| 1st | 2 |\n| 2nd | 4 |\n", "2x1: 2; 4\n");
}

/* ---- columns that blanks separate ---- */

/* ---- numbers by what they are called ---- */

static void check_gathered(const char *text, const char *blocks) {
  const struct attn_left all = {.lines = 0};
  struct scanned *s = scan_bytes(text, strlen(text), "a.txt", &all);
  assert_int_equal(s->status, ATTN_OK);
  assert_string_equal(s->dump, blocks);
  release(s);
}

static void test_numbers_are_gathered_by_their_keys(void **state) {
  (void)state;
  /* indices */
  check_gathered("We get s11 = 0.5, s12 = 0.2, s21 = 0.1 and s22 = 0.4.\n",
                 "s 1x4: 0.5 0.2 0.1 0.4\n");
  /* terms of lines; tokens count, and are no part of the name */
  check_gathered("s(a, a) = 0.5\ns(a, b) = 0.1\ns(b, b) = 0.4\n", "s 1x3: 0.5 0.1 0.4\n");
  /* the line above, as a row */
  check_gathered("Of cat\nkey 0.5 1.5\nvalue 2.5 3.5\n\nOf dog\nkey 0.1 1.1\nvalue 2.1 3.1\n",
                 "key 2x2: 0.5 1.5; 0.1 1.1\nvalue 2x2: 2.5 3.5; 2.1 3.1\n");
  /* the last side of an equation, and of one over several lines */
  check_gathered("s11 = 0.5 / 0.25 = 2.00\ns12 = 0.5 / 0.5 = 1.00\n", "s 1x2: 2 1\n");
}

/* A list for each row, of which the indices count: each is a block. */
static void test_lists_of_rows_by_their_indices(void **state) {
  (void)state;
  check("Row of a:\n\ns11 = 0.5\ns12 = 0.2\n\nRow of b:\n\ns21 = 0.1\ns22 = 0.4\n",
        "2x2: 0.5 0.2; 0.1 0.4\n");
}

static void test_latex_tables_with_words(void **state) {
  (void)state;
  check(
      "\\begin{tabular}{l|rr}\n & cat & dog \\\\ \\hline\n cat & 2 & 1 \\\\\n dog & 0 & 5 "
      "\\\\\n\\end{tabular}\n",
      "2x2: 2 1; 0 5\n");
  check(
      "\\begin{tabular}{lrr}\n\\hline\n Key & 1 & 2 \\\\ \\hline\n cat & 2 & 1 \\\\\n dog & 0 & 5 "
      "\\\\ \\hline\n"
      "\\end{tabular}\n",
      "Key 2x2: 2 1; 0 5\n");
}

static void test_masked_cells_between_commas(void **state) {
  (void)state;
  check("- the cat: `1.00, -, -`\n- a dog: `0.20, 0.80, -`\n- two cows: `0.1, 0.2, 0.7`\n",
        "3x3: 1 _ _; 0.2 0.8 _; 0.1 0.2 0.7\n");
}

static void test_upright_vectors(void **state) {
  (void)state;
  check(
      "$q_1 = \\begin{pmatrix} 2 \\\\ 0 \\end{pmatrix}$,\n$q_2 = \\begin{pmatrix} 1 \\\\ 3 "
      "\\end{pmatrix}$\n"
      "$k_1 = \\begin{pmatrix} 5 \\\\ 6 \\end{pmatrix}$\n",
      "q_1 = 2x2: 2 0; 1 3\nk_1 = 2x1: 5; 6\n");
}

static void test_words_above_columns_are_their_header(void **state) {
  (void)state;
  static const char text[] = "Scores:\n     cat  dog\ncat  1    2\ndog  3    4\n";
  struct scanned *s = scan_bytes(text, sizeof text - 1, NULL, NULL);
  assert_string_equal(s->dump, "2x2: 1 2; 3 4\n");
  assert_string_equal(s->scan.block[0].caption[s->scan.block[0].captions - 1], "Scores:");
  assert_string_equal(s->scan.block[0].column_label[1], "dog");
  release(s);
  check("Scores:\n     1    2\ncat  0.5  2\ndog  3    4\n", "2x2: 0.5 2; 3 4\n");
}

static void test_what_programs_print_above(void **state) {
  (void)state;
  static const char text[] = "> Q\n     [,1] [,2]\n[1,]    1    2\n[2,]    3    4\n";
  struct scanned *s = scan_bytes(text, sizeof text - 1, NULL, NULL);
  assert_string_equal(s->dump, "2x2: 1 2; 3 4\n");
  assert_string_equal(s->scan.block[0].caption[s->scan.block[0].captions - 1], "> Q");
  release(s);
}

static void test_the_first_row_has_the_name(void **state) {
  (void)state;
  check("Q = 1 0\n    0 1\nK = 3 4\n    5 6\n", "Q 2x2: 1 0; 0 1\nK 2x2: 3 4; 5 6\n");
  check("Q = (1, 0)\n    (0, 1)\n\nK = (3, 4)\n    (5, 6)\n", "Q 2x2: 1 0; 0 1\nK 2x2: 3 4; 5 6\n");
}

static void test_an_odd_row_is_a_mistake(void **state) {
  (void)state;
  check_error("K =\n  1  1\n  1\n  1  2\n", 3, 3, "length");
  check("A =\n 1 0\n 0 1\n 1 2 3\n 4 5 6\n", "2x2: 1 0; 0 1\n2x3: 1 2 3; 4 5 6\n");
}

/* ---- sentences ---- */

static void test_vectors_of_a_list(void **state) {
  (void)state;
  check("The inputs are (1, 0) for *A*, (0, 1) for *b* and (2, 2) for *c*.",
        "The inputs are 3x2: 1 0; 0 1; 2 2\n");
  check("We have hello = (1, 0), world = (0, 1) here.", "We have hello = 2x2: 1 0; 0 1\n");
  check("「花」は (1, 0)、「が」は (0, 1) です。", "「花」は 2x2: 1 0; 0 1\n");
  check("Here q is (1, 0), k = (0, 1) too.", "Here q is 1x2: 1 0\n, k = 1x2: 0 1\n");
}

static void test_lists_of_numbers(void **state) {
  (void)state;
  check("Divided by √2, the scores become 2.83, 2.83 and 3.54.",
        "Divided by √2, the scores become 1x3: 2.83 2.83 3.54\n");
  check("Divided we have 0.71 and 1.41 for the first, and 1.41 and 0.00 for the second.",
        "Divided we have 1x4: 0.71 1.41 1.41 0\n");
  check("順に -2.828、-5.657、-2.828 です。", "順に 1x3: -2.828 -5.657 -2.828\n");
  check("「花」0.5、「が」0.3、「咲く」0.2。", "花 1x3: 0.5 0.3 0.2\n");
}

static void test_lists_that_are_no_results(void **state) {
  (void)state;
  check("0.98 と 0.01 になるのは、差が 4.55 のときです。", "");
  check("with k = 0, 1, ...", "");
  check("w_k = 1 / 10000^(2k/d) with k = 0, 1, …", "");
}

static void test_kinds_of_numbers_in_a_sentence(void **state) {
  (void)state;
  check(
      "* row 1: e^0.88 = 2.41, e^0.35 = 1.42, sum 3.83, weights 0.63 and 0.37\n"
      "* row 2: e^0.25 = 1.28, e^2.00 = 7.39, sum 8.67, weights 0.15 and 0.85\n",
      "* row 1: e^0.88 2x2: 2.41 1.42; 1.28 7.39\nweights 2x2: 0.63 0.37; 0.15 0.85\n");
}

static void test_shown_sums(void **state) {
  (void)state;
  check(
      "- row 1: exp(1) + exp(0) = 2.72 + 1.00 = 3.72 → weights (0.73, 0.27)\n"
      "- row 2: exp(0) + exp(1) = 1.00 + 2.72 = 3.72 → weights (0.27, 0.73)\n",
      "- row 1: exp(1) + exp(0) 1x2: 3.72 3.72\n"
      "- row 1: exp(1) + exp(0) = 2.72 + 1.00 = 3.72 → weights 2x2: 0.73 0.27; 0.27 0.73\n");
  check("z = 0.5·(1, 0) + 0.5·(0, 1) = (0.5, 0.5)", "z = 0.5· 1x2: 0.5 0.5\n");
  check("0.5·(1, 0) + 0.5·(0, 1) = (0.5, 0.5)", "0.5· 1x2: 0.5 0.5\n");
}

static void test_once_is_enough(void **state) {
  (void)state;
  check(
      "* a: 3 + 1 = 4.0 and 3 + 0.5 = 3.5, so x1 = (4.0, 3.5)\n"
      "* b: 2 + 1 = 3.0 and 2 + 0.5 = 2.5, so x2 = (3.0, 2.5)\n",
      "* a: 3 + 1 = 4.0 and 3 + 0.5 = 3.5, so x1 = 2x2: 4 3.5; 3 2.5\n");
}

static void test_products_and_their_quotients(void **state) {
  (void)state;
  check(
      "* q1·k1 = 2×3 + (-1)×(-2) = 8.00, divided by √2: 5.66\n"
      "* q1·k2 = 2×1 + (-1)×0 = 2.00, divided by √2: 1.41\n",
      "* q1·k1 1x2: 8 2\ndivided by √2 1x2: 5.66 1.41\n");
  check("- 1 / √2 = 0.707、2 / √2 = 1.414\n", "- 1 / √2 1x2: 0.707 1.414\n");
}

static void test_comments_of_programs(void **state) {
  (void)state;
  check("# Q:\n#   1 2\n#   3 4\n#\n# done\n", "2x2: 1 2; 3 4\n");
  check(" * Q:\n *   1 2\n *   3 4\n *\n", "2x2: 1 2; 3 4\n");
  check("// Q:\n//   1 2\n//   3 4\n//\n", "2x2: 1 2; 3 4\n");
}

static void test_brackets_of_pipes(void **state) {
  (void)state;
  check("    | 1  2 |       | 5 |\nQ = | 3  4 |   v = | 6 |\n",
        "Q = 2x2: 1 2; 3 4\nv = 2x1: 5; 6\n");
  check("    | 1  2 |       | 5  0 |\nQ = | 3  4 |   K = | 6  7 |\n",
        "Q = 2x2: 1 2; 3 4\nK = 2x2: 5 0; 6 7\n");
  check("| a | 1 0 |\n|---|---|\n| b | 2 1 |\n", "b 1x2: 2 1\n");
}

static void test_calls_that_make_matrices(void **state) {
  (void)state;
  check("> X <- matrix(c(1, 2, 3, 4, 5, 6), nrow = 3)\n", "> X <- 3x2: 1 4; 2 5; 3 6\n");
  check("> X <- matrix(c(1, 2, 3,\n 4, 5, 6), ncol = 2, byrow = TRUE)\n",
        "> X <- 3x2: 1 2; 3 4; 5 6\n");
  check("> X <- matrix(c(1, 2, 3, 4), 2, 2)\n", "> X <- 2x2: 1 3; 2 4\n");
  check("> X <- rbind(c(1, 2), c(3, 4))\n", "> X <- 2x2: 1 2; 3 4\n");
  check("> X <- cbind(a1 = c(1, 2),\n b1 = c(-3, 4e-1))\n", "> X <- 2x2: 1 -3; 2 0.4\n");
}

static void test_matrices_side_by_side(void **state) {
  (void)state;
  check(
      "| | a | b | | a | b |\n|---|---|---|---|---|---|\n| a | 1 | 2 | → | 5 | 6 |\n"
      "| b | 3 | 4 | → | 7 | 8 |\n",
      "2x2: 1 2; 3 4\n2x2: 5 6; 7 8\n");
  check(
      "| | a | b | a | b |\n|---|---|---|---|---|\n| a | 1 | 2 | 5 | 6 |\n| b | 3 | 4 | 7 | 8 |\n",
      "2x2: 1 2; 3 4\n2x2: 5 6; 7 8\n");
  check("| | a | . |\n|---|---|---|\n| a | 1 | 2 |\n| . | 3 | 4 |\n", "2x2: 1 2; 3 4\n");
}

static void test_lines_of_a_chat(void **state) {
  (void)state;
  check("[10:05] Ben: dot products: 0.18, -0.15\n[10:07] Ben: weights 0.541, 0.459\n",
        "dot products 1x2: 0.18 -0.15\n1x2: 0.541 0.459\n");
}

static void test_lists_of_a_paragraph(void **state) {
  (void)state;
  check(
      "The scores are then 0.18, -0.15 and\n-0.93. Dividing all of them we obtain 0.127,\n"
      "-0.106 and -0.658. The weights are 0.445 for cat,\n0.352 for sat and 0.203 for mat.\n",
      "The scores are then 1x3: 0.18 -0.15 -0.93\n"
      "Dividing all of them we obtain 1x3: 0.127 -0.106 -0.658\n"
      "-0.658. The weights are 1x3: 0.445 0.352 0.203\n");
  check("softmax gives α_1 = 0.2, α_2 = 0.3, α_3 = 0.5.", "softmax gives α_1 1x3: 0.2 0.3 0.5\n");
}

static void test_sentences_go_on_in_the_next_line(void **state) {
  (void)state;
  check("We have two queries, q1 = (1, 0) and q2 =\n(0, 1), and that is all.",
        "We have two queries, q1 = 2x2: 1 0; 0 1\n");
  check("The weights are\n", "");
}

/* ---- places ---- */

static void check_place(const attn_cell *cell, int line, int column) {
  assert_int_equal(cell->line, line);
  assert_int_equal(cell->column, column);
}

static void test_places_of_cells(void **state) {
  (void)state;
  static const char text[] =
      "重み\n\n{|\n! a\n| 1 || 22\n|}\n\nwe say q1 = (1, 0), q2 =\n(0, 7), fine words.\n";
  struct scanned *s = scan_bytes(text, sizeof text - 1, "a.md", NULL);
  assert_int_equal(s->status, ATTN_OK);
  assert_int_equal(s->scan.blocks, 2);
  check_place(&s->scan.block[0].reading[0].cells[0], 5, 3);
  check_place(&s->scan.block[0].reading[0].cells[1], 5, 8);
  check_place(&s->scan.block[1].reading[0].cells[0], 8, 14);
  check_place(&s->scan.block[1].reading[0].cells[3], 9, 5);
  release(s);
}

/* ---- hostile input ---- */

static void repeat(const char *part, size_t bytes) {
  size_t length = strlen(part);
  char *text = malloc(bytes + 1);
  assert_non_null(text);
  for (size_t n = 0; n < bytes; n++) text[n] = part[n % length];
  struct scanned *s = scan_bytes(text, bytes - bytes % length, NULL, NULL);
  assert_true(s->status == ATTN_OK || s->status == ATTN_ERR_FORMAT);
  release(s);
  free(text);
}

static void test_hostile_texts_take_no_long(void **state) {
  (void)state;
  static const char *const parts[] = {
      "(",       "[",         "[1,",  "(1+(2",        "|",        "|===\n|a\n",
      "{|\n! a", "- - 1\n  ", "= 1,", "0.5 and 1",    "\"a\" 2.", "#table(columns: 2, [",
      "<td>",    "\\frac{",   "√",    "exp(1) + ",    "² ",       "1 mV,",
      "a  ",     "\n\n",      "> ",   "x = ",         ": 0.5, ",  "we have x =\n[1, 2], and ",
      "[b]",     "- [1,2\n",  "__1",  "\u25A0(1&(2)", "1@\u27E6", "\tA\tB\tC\n1\t2\n2\t",
  };
  clock_t begin = clock();
  for (size_t n = 0; n < sizeof parts / sizeof *parts; n++) repeat(parts[n], 100000);
  assert_true(clock() - begin < 60 * CLOCKS_PER_SEC); /* also under a sanitizer */
}

static void test_bad_texts_are_refused(void **state) {
  (void)state;
  struct scanned *s = scan_bytes("\xFF", 1, NULL, NULL);
  assert_int_equal(s->status, ATTN_ERR_FORMAT);
  release(s);
  check_error("A = [[1, 2], [3]]", 1, 15, "length");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_matrices_in_brackets),
      cmocka_unit_test(test_brackets_continue_over_prompts),
      cmocka_unit_test(test_fractions_keep_their_terms),
      cmocka_unit_test(test_a_session_has_prompts),
      cmocka_unit_test(test_html_cells),
      cmocka_unit_test(test_separators_of_thousands),
      cmocka_unit_test(test_semicolons_between_decimal_commas),
      cmocka_unit_test(test_a_row_of_header_cells_is_a_header),
      cmocka_unit_test(test_equations_side_by_side),
      cmocka_unit_test(test_a_name_in_front_of_any_row),
      cmocka_unit_test(test_html_in_other_texts),
      cmocka_unit_test(test_cells_of_several_columns),
      cmocka_unit_test(test_wiki_tables),
      cmocka_unit_test(test_asciidoc_tables),
      cmocka_unit_test(test_nested_lists),
      cmocka_unit_test(test_typst),
      cmocka_unit_test(test_merged_headers_name_parts),
      cmocka_unit_test(test_indexed_headers_are_parts),
      cmocka_unit_test(test_titles_of_rows),
      cmocka_unit_test(test_units),
      cmocka_unit_test(test_numbers_are_gathered_by_their_keys),
      cmocka_unit_test(test_lists_of_rows_by_their_indices),
      cmocka_unit_test(test_latex_tables_with_words),
      cmocka_unit_test(test_masked_cells_between_commas),
      cmocka_unit_test(test_upright_vectors),
      cmocka_unit_test(test_words_above_columns_are_their_header),
      cmocka_unit_test(test_what_programs_print_above),
      cmocka_unit_test(test_the_first_row_has_the_name),
      cmocka_unit_test(test_an_odd_row_is_a_mistake),
      cmocka_unit_test(test_vectors_of_a_list),
      cmocka_unit_test(test_lists_of_numbers),
      cmocka_unit_test(test_lists_that_are_no_results),
      cmocka_unit_test(test_kinds_of_numbers_in_a_sentence),
      cmocka_unit_test(test_shown_sums),
      cmocka_unit_test(test_once_is_enough),
      cmocka_unit_test(test_products_and_their_quotients),
      cmocka_unit_test(test_comments_of_programs),
      cmocka_unit_test(test_brackets_of_pipes),
      cmocka_unit_test(test_calls_that_make_matrices),
      cmocka_unit_test(test_matrices_side_by_side),
      cmocka_unit_test(test_lines_of_a_chat),
      cmocka_unit_test(test_lists_of_a_paragraph),
      cmocka_unit_test(test_sentences_go_on_in_the_next_line),
      cmocka_unit_test(test_places_of_cells),
      cmocka_unit_test(test_hostile_texts_take_no_long),
      cmocka_unit_test(test_bad_texts_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
