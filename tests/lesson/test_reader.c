/* test_reader.c -- what the reader makes of every notation, exactly, and where it finds mistakes.
 */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h> /* needs those above */
/* clang-format on */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "document.h"

/* ---- Text that grows ---- */

struct buffer {
  char *text;
  size_t size, capacity;
};

static int append(void *context, const char *text, size_t bytes) {
  struct buffer *b = context;
  if (b->size + bytes + 1 > b->capacity) {
    b->capacity = (b->size + bytes + 1) * 2;
    b->text = realloc(b->text, b->capacity);
    assert_non_null(b->text);
  }
  memcpy(b->text + b->size, text, bytes);
  b->size += bytes;
  b->text[b->size] = 0;
  return 0;
}

/* The dump of a text that must be read; to be freed. The copy has no byte to spare, so that a
 * sanitizer sees a read behind it. */
static char *dump_of(const char *text, size_t size) {
  char *copy = malloc(size ? size : 1);
  struct attn_document *document = NULL;
  attn_error err = {0};
  struct buffer b = {0};
  const attn_sink sink = {&b, append};
  assert_non_null(copy);
  memcpy(copy, text, size);
  if (attn_document_read(copy, size, &document, &err) != ATTN_OK)
    fail_msg("%d:%d %s", (int)err.line, (int)err.column, err.message);
  append(&b, "", 0);
  attn_document_dump(document, &sink);
  attn_document_free(document);
  free(copy);
  return b.text;
}

/* ---- Notations ---- */

struct notation {
  const char *name, *text, *items;
};

static const struct notation NOTATIONS[] = {
    {"bmatrix, rows ended twice", "$$W^{Q} = \\begin{bmatrix} 1 & 0 \\\\ 0 & -1 \\end{bmatrix}$$",
     "1:11 matrix W^{Q} 2x2 [1 0; 0 -1]\n"},
    {"bmatrix, rows ended by one backslash",
     "\\[\n"
     "E = QK^T = \\begin{pmatrix}\n"
     "1 & 0 \\\n"
     "0 & 1\n"
     "\\end{pmatrix}\n"
     "\\]",
     "2:12 matrix E {QK^T} 2x2 [1 0; 0 1]\n"},
    {"bmatrix, rows ended by one backslash on one line",
     "v ≈ [0.5, 1]\n$$\\begin{bmatrix} 1 & 0 \\ 0 & 1 \\end{bmatrix} = A$$",
     "1:5 matrix v 1x2 [0.5 1]\n2:3 matrix  2x2 [1 0; 0 1]\n"},
    {"bmatrix, rows ended by the line",
     "\\begin{matrix}\n"
     "1 & 0\n"
     "0 & 1\n"
     "\\end{matrix}",
     "1:1 matrix  2x2 [1 0; 0 1]\n"},
    {"array, roots, fractions, row gaps",
     "A = \\begin{array}{c|c} 1 & \\frac12 \\\\[2pt] \\sqrt{2} & \\frac{\\sqrt{3}}{2} \\end{array}",
     "1:5 matrix A 2x2 [1 =0.5; =1.41421 =0.866025]\n"},
    {"several names of one matrix", "\\[ W^Q = W^K = \\begin{bmatrix} 1 \\\\ 2 \\end{bmatrix} \\]",
     "1:16 matrix W^Q 2x1 [1; 2]\n"
     "1:16 matrix W^K 2x1 [1; 2]\n"},
    {"several chains in a formula",
     "\\[ A = \\begin{bmatrix} 1 \\\\ 2 \\end{bmatrix},\\quad B = \\begin{bmatrix} 3 \\\\ 4 "
     "\\end{bmatrix} \\]",
     "1:8 matrix A 2x1 [1; 2]\n"
     "1:55 matrix B 2x1 [3; 4]\n"},
    {"factors and what they make",
     "\\[ O = \\begin{bmatrix} 1 & 2 \\end{bmatrix} \\begin{bmatrix} 3 \\\\ 4 \\end{bmatrix} = "
     "\\begin{bmatrix} 11 \\end{bmatrix} \\]",
     "1:8 matrix O 1x2 [1 2]\n"
     "1:44 matrix * O 2x1 [3; 4]\n"
     "1:83 matrix = O 1x1 [11]\n"},
    {"worked-out cells and dittos",
     "\\[\n"
     "O = \\begin{bmatrix}\n"
     "1 \\times 1 + 0 \\times 2 & 0.5 \\times 1 \\\n"
     "同上 & 同上\n"
     "\\end{bmatrix}\n"
     "\\]",
     "2:5 matrix O 2x2 [~1 ~0.5(0.45..0.55); ~1 ~0.5(0.45..0.55)]\n"},
    {"rows that are sums of vectors",
     "\\[\n"
     "O = \\begin{bmatrix}\n"
     "0.3 \\times [1, 0] + 0.7 \\times [0, 1] \\\n"
     "0.5 [2, 0] + 0.5 [0, 2]\n"
     "\\end{bmatrix}\n"
     "\\]",
     "2:5 matrix O 2x2 [~0.3(0.25..0.35) ~0.7(0.65..0.75); ~1(0.9..1.1) ~1(0.9..1.1)]\n"},
    {"symbols are a sentence",
     "$$S = \\begin{bmatrix} \\langle q_1, k_1 \\rangle & \\cdots \\\\ \\vdots & \\ddots "
     "\\end{bmatrix}$$",
     "1:3 sentence S = \\begin{bmatrix} \\langle q_1, k_1 \\rangle & \\cdots \\\\ \\vdots & "
     "\\ddots \\end{bmatrix}\n"},
    {"aligned", "\\[ \\begin{aligned} A &= [1, 2] \\\\ &= [1.0, 2.0] \\end{aligned} \\]",
     "1:25 matrix A 1x2 [1 2]\n"
     "1:38 matrix = A 1x2 [1.0 2.0]\n"},
    {"a formula goes on with the one before",
     "1行目: \\([0.5, 0]\\)\n"
     "\n"
     "\\[\n"
     "\\text{softmax} = \\left[ \\frac{e^{0}}{e^{0} + e^{0}}, \\frac{e^{0}}{…} \\right]\n"
     "\\]\n"
     "\n"
     "so\n"
     "\n"
     "\\[ \\approx [0.5, 0.5] \\]\n"
     "2行目: 同1行目",
     "1:8 matrix 1行目 1x2 [0.5 0]\n"
     "4:23 matrix softmax 1x2 [~0.5 ?]\n"
     "7:1 heading 0 so\n"
     "9:12 matrix = softmax 1x2 [0.5 0.5]\n"
     "10:6 matrix 2行目 1x2 [0.5 0]\n"},
    {"a label names the formula below",
     "• 1行目:\n"
     "\\[ 0.5 \\times [1, 0] = [0.5, 0] \\]",
     "1:1 sentence • 1行目:\n"
     "2:15 matrix 1行目 1x2 [~0.5(0.45..0.55) ~0]\n"
     "2:24 matrix = 1行目 1x2 [0.5 0]\n"},
    {"a cell worked out", "• \\( e_{11} = 1 \\times 2 + 3 \\times 0 = 2 \\)",
     "1:15 matrix e_{11} 1x1 [~2]\n"
     "1:41 matrix = e_{11} 1x1 [2]\n"},
    {"definitions",
     "d_k = 2\n"
     "- 次元 (\\( d_k = d_v \\)): 4\n"
     "scale: none # the default\n"
     "title: Three words\n"
     "tokens: 私 は 猫",
     "1:1 number d_k = 2\n"
     "2:10 number d_k = 4\n"
     "2:15 number d_v = 4\n"
     "3:1 sentence scale: none\n"
     "4:8 heading 1 Three words\n"
     "5:9 tokens 私 は 猫\n"},
    {"nested brackets",
     "Q = [[1, 0],\n"
     "     [0, 1]]\n"
     "K: [[1, 0],\n"
     " [3, 4]]\n"
     "M = [1 0; 0 1]\n"
     "B = [1 -2]\n"
     "    [0 1]",
     "1:5 matrix Q 2x2 [1 0; 0 1]\n"
     "3:4 matrix K 2x2 [1 0; 3 4]\n"
     "5:5 matrix M 2x2 [1 0; 0 1]\n"
     "6:5 matrix B 2x2 [1 -2; 0 1]\n"},
    {"notations of numbers", "v = [１．５, −2, 50%, 1e-3, √2, 2^{-1}, -inf, ∞, ?, 1/4, 3²]",
     "1:5 matrix v 1x11 [1.5 -2 0.50 0.001 =1.41421 =0.5 -inf inf ? =0.25 =9]\n"},
    {"columns below a name",
     "W_Q\n"
     "1 0\n"
     "0 1/2\n"
     "\n"
     "scores  # yours\n"
     "1.00\t2.0\n"
     "3, 4\n"
     "〃 5\n"
     "\n"
     "X:\n"
     "私 1 0\n"
     "は 0 1",
     "2:1 matrix W_Q 2x2 [1 0; 0 =0.5]\n"
     "6:1 matrix scores 3x2 [1.00 2.0; 3 4; 3 5]\n"
     "11:3 matrix X 2x2 [1 0; 0 1] rows(私|は)\n"},
    {"a heading names columns",
     "## X\n"
     "\n"
     "1 0\n"
     "0 1",
     "1:4 heading 2 X\n"
     "3:1 matrix X 2x2 [1 0; 0 1]\n"},
    {"vectors by label",
     "Keys:\n"
     "- 私: [1, 0]\n"
     "- は: [0, 1]\n"
     "- 猫: same as row 1\n"
     "\n"
     "x_1 = [1, 0]\n"
     "x_2 = [0, 1]\n"
     "\n"
     "Q: [1, 0]\n"
     "K: [0, 1]\n"
     "\n"
     "a: 1 0 1\n"
     "cat: 0 1 0",
     "1:1 sentence Keys:\n"
     "2:6 matrix Keys 3x2 [1 0; 0 1; 1 0] rows(私|は|猫)\n"
     "6:7 matrix x 2x2 [1 0; 0 1] rows(x_1|x_2)\n"
     "9:4 matrix Q 1x2 [1 0]\n"
     "10:4 matrix K 1x2 [0 1]\n"
     "12:4 matrix  2x3 [1 0 1; 0 1 0] rows(a|cat)\n"},
    {"pipe table of numbers",
     "Weights:\n"
     "\n"
     "|   | 私 | は |\n"
     "|---|----|----|\n"
     "| 私 | 0.7 | 30% |\n"
     "| は | 0.4 | 同上 |",
     "1:1 sentence Weights:\n"
     "5:7 matrix Weights 2x2 [0.7 0.30; 0.4 0.30] rows(私|は) columns(私|は)\n"},
    {"pipe table without labels",
     "| 1 | 0 |\n"
     "|---|---|\n"
     "| 0 | 1 |",
     "1:3 matrix  2x2 [1 0; 0 1]\n"},
    {"pipe table of vectors",
     "token | 埋め込み (\\( X \\)) | Q\n"
     "---|---|---\n"
     "私 | \\([1, 0]\\) | [1, 2]\n"
     " | \\([0, 1]\\) | (3, 4)",
     "3:5 matrix X 2x2 [1 0; 0 1] rows(私|-)\n"
     "3:18 matrix Q 2x2 [1 2; 3 4] rows(私|-)\n"},
    {"table that lost its pipes",
     "トークンクエリ (\\( Q \\))キー (\\( K \\))\n"
     "\\([1, 0]\\)\\([0, 1]\\)\n"
     "猫\\([2, 0]\\)\\([0, 2]\\)",
     "2:3 matrix Q 2x2 [1 0; 2 0] rows(-|猫)\n"
     "2:13 matrix K 2x2 [0 1; 0 2] rows(-|猫)\n"},
    {"table of prose",
     "| Model | Size |\n"
     "|---|---|\n"
     "| A | 65M |\n"
     "| B | 7 tons |",
     "1:1 sentence | Model | Size |\n"
     "3:1 sentence | A | 65M |\n"
     "4:1 sentence | B | 7 tons |\n"},
    {"Python, fenced",
     "```python\n"
     "import numpy as np\n"
     "W = np.array([[1, 2],  # 私\n"
     "              [3, 4]], dtype=np.float32)\n"
     "S = W @ W.T / np.sqrt(2)  # → [[0.5 1.5], [2.5 3.5]]\n"
     "P = F.softmax(S.float(), dim=-1)\n"
     "print(\"P:\", P)\n"
     "# tensor([[0.1, 0.9],\n"
     "#         [0.2, 0.8]])\n"
     "Q = torch.matmul(X, W)  # [4, 2]\n"
     "m = S.masked_fill(mask == 0, float('-inf'))\n"
     "x = torch.ones(1, 2) * -1e9\n"
     "S /= math.sqrt(x.size(-1))\n"
     "def f(a):\n"
     "    return a\n"
     "```\n"
     "After it.",
     "3:1 assign W = 2x2 [1 2; 3 4]\n"
     "5:1 assign S = ((W @ W.T) / sqrt(2)) -> 2x2 [0.5 1.5; 2.5 3.5]\n"
     "6:1 assign P = softmax(S, dim=-1) -> 2x2 [0.1 0.9; 0.2 0.8]\n"
     "10:1 assign Q = matmul(X, W)\n"
     "11:1 assign m = masked_fill(S, (mask == 0), -inf)\n"
     "12:1 assign x = (1x2 [=1 =1] * -1e+09)\n"
     "13:1 assign S = (S / sqrt(size(x, -1)))\n"
     "14:1 sentence def f(a):\n"
     "17:1 sentence After it.\n"},
    {"Python, a comment belongs to what stands right above it",
     "```python\nA = np.array([[1, 2]])\nprint(A.T)\n# [[1.] [2.]]\nfor x in A:\n    y = x\n# "
     "[[9.5]]\n```",
     "2:1 assign A = 1x2 [1 2]\n3:7 assign  = A.T -> 2x1 [1; 2]\n5:1 sentence for x in A:\n7:3 "
     "sentence [[9.5]]\n"},
    {"Python, bare",
     "Text.\n"
     "\n"
     "import torch\n"
     "# one\n"
     "q = torch.tensor([[1.0, 0.0]])  # 人物\n"
     "\n"
     "s = torch.matmul(q, q.transpose(-2, -1))  # → tensor([[1.]])\n"
     "Then text.",
     "1:1 sentence Text.\n"
     "4:3 sentence one\n"
     "5:1 assign q = 1x2 [1.0 0.0]\n"
     "7:1 assign s = matmul(q, q.T) -> 1x1 [1]\n"
     "8:1 sentence Then text.\n"},
    {"prose and headings",
     "# One\n"
     "\n"
     "1. Title\n"
     "A sentence with [1, 0] in it.\n"
     "\n"
     "1. item\n"
     "2. item two\n"
     "\n"
     "Short\n"
     "\n"
     "**Bold**\n"
     "[1] A. Author. Title.\n"
     "p in [0, 1) is = [0, 1)",
     "1:3 heading 1 One\n"
     "3:1 heading 1 1. Title\n"
     "4:1 sentence A sentence with [1, 0] in it.\n"
     "6:1 sentence 1. item\n"
     "7:1 sentence 2. item two\n"
     "9:1 heading 0 Short\n"
     "11:3 heading 0 Bold\n"
     "12:1 sentence [1] A. Author. Title.\n"
     "13:1 sentence p in [0, 1) is = [0, 1)\n"},
};

static void test_notations_are_read(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof NOTATIONS / sizeof *NOTATIONS; i++) {
    char *got = dump_of(NOTATIONS[i].text, strlen(NOTATIONS[i].text));
    if (strcmp(got, NOTATIONS[i].items) != 0)
      fail_msg("%s:\n%s\nbut expected\n%s", NOTATIONS[i].name, got, NOTATIONS[i].items);
    free(got);
  }
}

static void test_line_ends_and_a_bom_change_nothing(void **state) {
  (void)state;
  char *unix_ends = dump_of("W_Q\n1 0\n0 1\n", 12);
  char *dos_ends = dump_of("\xEF\xBB\xBFW_Q\r\n1 0\r\n0 1\r\n", 18);
  assert_string_equal(unix_ends, "2:1 matrix W_Q 2x2 [1 0; 0 1]\n");
  assert_string_equal(dos_ends, unix_ends);
  free(unix_ends);
  free(dos_ends);
}

static const attn_cell *only_cell(struct attn_document *d) {
  assert_int_equal(d->items, 1);
  assert_int_equal(d->item[0].kind, ATTN_ITEM_MATRIX);
  return d->item[0].table.cells;
}

/* What prints as 0.25 lies within half a unit of its last digit. */
static void test_intervals_hold_what_prints_so(void **state) {
  (void)state;
  struct attn_document *d = NULL;
  const char *text = "v = [0.25, 3, 1.5e-10, 33%, 1/3, 0.5 + 1]";
  assert_int_equal(attn_document_read(text, strlen(text), &d, NULL), ATTN_OK);
  const attn_cell *c = only_cell(d);
  assert_true(c[0].lo <= 0.245 && c[0].lo > 0.2449999 && c[0].hi >= 0.255 && c[0].hi < 0.2550001);
  assert_int_equal(c[0].decimals, 2);
  assert_true(c[1].lo <= 2.5 && c[1].lo > 2.4999999 && c[1].hi >= 3.5 && c[1].hi < 3.5000001);
  assert_int_equal(c[1].decimals, 0);
  assert_true(c[2].lo <= 1.45e-10 && c[2].lo > 1.4499e-10 && c[2].hi >= 1.55e-10);
  assert_int_equal(c[2].decimals, 11);
  assert_true(c[3].lo <= 0.325 && c[3].lo > 0.32499 && c[3].hi >= 0.335 && c[3].hi < 0.33501);
  assert_int_equal(c[4].kind, ATTN_CELL_EXACT);
  assert_true(c[4].lo == c[4].hi && c[4].value == 1.0 / 3.0);
  assert_int_equal(c[5].kind, ATTN_CELL_SUM);
  assert_true(c[5].lo <= 1.45 && c[5].lo > 1.44999 && c[5].hi >= 1.55 && c[5].hi < 1.55001);
  attn_document_free(d);
}

static void test_cells_know_their_places(void **state) {
  (void)state;
  struct attn_document *d = NULL;
  const char *text = "私 = [[１, 2],\n  [3, 4]]";
  assert_int_equal(attn_document_read(text, strlen(text), &d, NULL), ATTN_OK);
  const attn_cell *c = only_cell(d);
  assert_true(c[0].line == 1 && c[0].column == 7);
  assert_true(c[1].line == 1 && c[1].column == 10);
  assert_true(c[2].line == 2 && c[2].column == 4);
  assert_true(c[3].line == 2 && c[3].column == 7);
  attn_document_free(d);
}

static void test_keys_compare_names(void **state) {
  (void)state;
  static const char *const SAME[] = {"W_Q = [1, 2]",
                                     "W^Q = [1, 2]",
                                     "$W^{Q} = [1, 2]$",
                                     "\\( W_{Q} = [1, 2] \\)",
                                     "\\[ \\mathbf{W}_Q = [1, 2] \\]",
                                     "W_Q:\n1 2\n3 4"};
  for (size_t i = 0; i < sizeof SAME / sizeof *SAME; i++) {
    struct attn_document *d = NULL;
    assert_int_equal(attn_document_read(SAME[i], strlen(SAME[i]), &d, NULL), ATTN_OK);
    only_cell(d);
    assert_string_equal(d->item[0].key, "WQ");
    attn_document_free(d);
  }
}

static void test_keys_end_at_a_bracket(void **state) {
  (void)state;
  struct attn_document *d = NULL;
  const char *text = "\\[ \\text{softmax}(0.7, 0) = [0.6682, 0.3318] \\]";
  assert_int_equal(attn_document_read(text, strlen(text), &d, NULL), ATTN_OK);
  only_cell(d);
  assert_string_equal(d->item[0].key, "softmax");
  assert_string_equal(d->item[0].text, "softmax(0.7, 0)");
  attn_document_free(d);
}

/* ---- Mistakes ---- */

struct mistake {
  const char *name, *text;
  size_t size;
  int line, column;
  const char *message; /* its beginning */
};

static const struct mistake MISTAKES[] = {
    {"ragged bmatrix",
     "x\n"
     "\\[ W = \\begin{bmatrix} 1 & 2 \\\\ 3 \\end{bmatrix} \\]",
     52, 2, 33, "row 2 has 1 numbers, but the rows above "},
    {"ragged list", "W = [[1, 2], [3]]", 17, 1, 14, "this row has 1 numbers, but the rows bef"},
    {"ragged columns",
     "X\n"
     "1 2\n"
     "3\n"
     "4 5",
     11, 3, 1, "row 2 has 1 numbers, but the rows above "},
    {"ragged table",
     "Weights:\n"
     "\n"
     "| a | b |\n"
     "|---|---|\n"
     "| 1 | 2 |\n"
     "| 3 | 4 |\n"
     "| 5 |",
     55, 7, 1, "this row of the table has more or fewer "},
    {"no number in a bmatrix", "$$\\begin{bmatrix} 1 & 2 \\\\ x & 4 \\end{bmatrix}$$", 48, 1, 28,
     "\"x\" is not a number: write a number, a frac"},
    {"no number in a list", "W = [[1, 2], [abc, 4]]", 22, 1, 15,
     "\"abc\" is not a number: write a number, a fr"},
    {"no number in columns",
     "W_Q\n"
     "1 2\n"
     "3 1.2.3\n",
     16, 3, 3, "\"1.2.3\" is not a number: write a number, a "},
    {"unterminated bmatrix",
     "a\n"
     "\\[ W = \\begin{bmatrix} 1 & 2 \\]",
     33, 2, 8, "\\begin{bmatrix} has no \\end{bmatrix}: wr"},
    {"unterminated list",
     "W = [[1, 2], [3, 4]\n"
     "\n"
     "text",
     25, 1, 5, "the bracket is never closed: write ] aft"},
    {"unterminated fence",
     "```\n"
     "X = [[1, 2]]\n",
     17, 1, 1, "the code block is never closed: write ``"},
    {"beyond a double", "Q = [１, 1e400]", 16, 1, 9, "1e400 is beyond the range of a double: w"},
    {"not UTF-8",
     "ab\n\xE9"
     "t",
     5, 2, 1, "byte 0xE9 is not UTF-8: save the documen"},
    {"binary", "a\0b", 3, 1, 2, "control character 0x00: this is a binary"},
    {"nothing", "", 0, 1, 1, "the document is empty: write a lesson in"},
    {"only blank",
     " \n"
     "\n",
     3, 1, 1, "the document is empty: write a lesson in"},
    {"deep", "Q = ((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((", 64, 1, 53,
     "nested deeper than 48 levels"},
    {"deep lists", "Q = [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", 64, 1, 11,
     "lists nested deeper than 6 levels"},
};

static void test_mistakes_are_told_with_their_place(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof MISTAKES / sizeof *MISTAKES; i++) {
    const struct mistake *m = &MISTAKES[i];
    struct attn_document *d = NULL;
    attn_error err = {0};
    attn_status status = attn_document_read(m->text, m->size, &d, &err);
    if (status != ATTN_ERR_FORMAT || err.line != m->line || err.column != m->column ||
        strncmp(err.message, m->message, strlen(m->message)) != 0)
      fail_msg("%s: status %d, %d:%d %s", m->name, (int)status, (int)err.line, (int)err.column,
               err.message);
    assert_null(d);
  }
}

/* Text of unit repeated to size bytes. */
static char *repeated(const char *unit, size_t size) {
  char *text = malloc(size);
  size_t length = strlen(unit);
  assert_non_null(text);
  for (size_t i = 0; i < size; i++) text[i] = unit[i % length];
  return text;
}

static void test_a_line_of_100_megabytes_is_refused(void **state) {
  (void)state;
  size_t size = (size_t)100 << 20;
  char *text = repeated("x", size);
  struct attn_document *d = NULL;
  attn_error err = {0};
  assert_int_equal(attn_document_read(text, size, &d, &err), ATTN_ERR_FORMAT);
  assert_int_equal(err.line, 1);
  assert_int_equal(attn_document_read(text, (size_t)20 << 20, &d, &err), ATTN_ERR_FORMAT);
  assert_non_null(strstr(err.message, "longer than 16 MiB"));
  free(text);
}

/* Each of these once took time that grows with the square of its length: minutes, not a moment. */
static void test_hostile_text_takes_linear_time(void **state) {
  (void)state;
  static const char *const UNITS[] = {"[1 foo\n",  "$$\\frac",    "= [x ",       "\\[ ",
                                      "[1, 2],\n", "(\\( Q \\))", "\\begin{a} ", "a: [1, 2]\n",
                                      "[x ",       "x = [a\n",    "```\n"};
  for (size_t i = 0; i < sizeof UNITS / sizeof *UNITS; i++) {
    size_t size = (size_t)1 << 20;
    char *text = repeated(UNITS[i], size);
    struct attn_document *d = NULL;
    clock_t begin = clock();
    attn_status status = attn_document_read(text, size, &d, NULL);
    assert_true(clock() - begin < 20 * CLOCKS_PER_SEC); /* a second, under a sanitizer */
    assert_true(status == ATTN_OK || status == ATTN_ERR_FORMAT);
    attn_document_free(d);
    free(text);
  }
}

/* ---- The seed documents ---- */

static char *read_file(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  if (!file) return NULL;
  struct buffer b = {0};
  char piece[4096];
  append(&b, "", 0);
  for (size_t n; (n = fread(piece, 1, sizeof piece, file)) > 0;) append(&b, piece, n);
  fclose(file);
  *size = b.size;
  return b.text;
}

static int is_prose(const char *line) {
  const char *kind = strchr(line, ' ');
  return kind && (strncmp(kind, " sentence ", 10) == 0 || strncmp(kind, " heading ", 9) == 0);
}

/* The items that are not prose, line by line. */
static char *without_prose(char *dump) {
  char *to = dump, *end;
  for (char *line = dump; *line; line = end + 1) {
    end = strchr(line, '\n');
    assert_non_null(end);
    if (is_prose(line)) continue;
    memmove(to, line, (size_t)(end + 1 - line));
    to += end + 1 - line;
  }
  *to = 0;
  return dump;
}

static void check_seed(const char *folder, const char *file, const char *items) {
  char path[1024];
  size_t size = 0, unused = 0;
  snprintf(path, sizeof path, "%s/%s", folder, file);
  char *text = read_file(path, &size);
  if (!text) {
    print_message("skipped: no seed document %s (set ATTN_SEEDS)\n", path);
    skip();
  }
  snprintf(path, sizeof path, "%s/reader/%s", ATTN_TEST_DATA, items);
  char *expected = read_file(path, &unused), *got = without_prose(dump_of(text, size));
  assert_non_null(expected);
  assert_string_equal(got, expected);
  free(text);
  free(expected);
  free(got);
}

static const char *seeds(void) {
  const char *folder = getenv("ATTN_SEEDS");
  return folder && *folder ? folder : ATTN_TEST_DATA "/../../../shared/seeds";
}

static void test_seed_000(void **state) {
  (void)state;
  check_seed(seeds(), "000_960ebc02adf1dc3f.txt", "000.items");
}

static void test_seed_003(void **state) {
  (void)state;
  check_seed(seeds(), "003_8efce11549477f0c.txt", "003.items");
}

static void test_seed_004(void **state) {
  (void)state;
  check_seed(seeds(), "004_07b5e95cbe484175.txt", "004.items");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_notations_are_read),
      cmocka_unit_test(test_line_ends_and_a_bom_change_nothing),
      cmocka_unit_test(test_intervals_hold_what_prints_so),
      cmocka_unit_test(test_cells_know_their_places),
      cmocka_unit_test(test_keys_compare_names),
      cmocka_unit_test(test_keys_end_at_a_bracket),
      cmocka_unit_test(test_mistakes_are_told_with_their_place),
      cmocka_unit_test(test_a_line_of_100_megabytes_is_refused),
      cmocka_unit_test(test_hostile_text_takes_linear_time),
      cmocka_unit_test(test_seed_000),
      cmocka_unit_test(test_seed_003),
      cmocka_unit_test(test_seed_004),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
