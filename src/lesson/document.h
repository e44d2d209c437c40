/* document.h -- what stands in a document, before anyone asks what it means.
 *
 * The reader turns text into a flat list of items in the order they stand:
 * headings, sentences, matrices with the name in front of them, definitions of
 * numbers, token lists, and assignments of Python snippets. It knows notations
 * (pipe tables, LaTeX, brackets, columns, Python); it does not know attention.
 * The assembler (graph.h) makes examples of steps from it.
 */
#ifndef ATTN_LESSON_DOCUMENT_H
#define ATTN_LESSON_DOCUMENT_H

#include "attn/lesson.h"

enum attn_item_kind {
  ATTN_ITEM_HEADING,  /* text, level */
  ATTN_ITEM_SENTENCE, /* text: one line of prose or a formula without numbers; clues for the
                         assembler */
  ATTN_ITEM_MATRIX,   /* name, table, row labels, column labels */
  ATTN_ITEM_NUMBER,   /* name = value: d_k = 2 */
  ATTN_ITEM_TOKENS,   /* token list without a matrix: tokens: 私 は 猫 */
  ATTN_ITEM_ASSIGN,   /* Python: target = expression, with a result in a comment or none */
};

/* How a matrix is tied to the MATRIX item before it (sentences may stand between):
 * `A = [..] [..] = [..]` gives NONE, TIMES, EQUAL, all with the name A. A formula that begins with
 * "=" or "\approx" goes on with the chain before it and has its name. `A = B = [..]` gives A and B
 * with one table, both NONE. */
enum attn_item_link {
  ATTN_LINK_NONE,  /* stands alone, has its own name */
  ATTN_LINK_EQUAL, /* the same matrix printed again: worked out, evaluated (name of the chain) */
  ATTN_LINK_TIMES, /* juxtaposed factor: A = [..][..]: the next one is multiplied to it */
};

/* Cells. A literal is a NUMBER; a percentage too, with two decimals more. In an expression integers
 * are exact and decimals stand for what rounds to them: kind SUM, lo and hi by interval arithmetic.
 * Fractions, roots, powers of e and infinities without a decimal in them are EXACT. "…", "?", and
 * what is computed from such: BLANK. A sum of multiples of vectors is a row of cells. A number
 * alone is a MATRIX of 1x1 where it is worked out (`e_{11} = 1 \times 2 = 2`) or its name has two
 * indices, else a NUMBER. A row that ends in a blank may go on: `[0.3, \\ldots]` has two cells,
 * whatever the matrix has. */

/* A Python expression, as a tree. */
enum attn_expr_kind {
  ATTN_EXPR_NAME,   /* text */
  ATTN_EXPR_NUMBER, /* number */
  ATTN_EXPR_ARRAY,  /* table: np.array([...]), torch.tensor([...]), [[...]]; ones, zeros, eye
                       expanded */
  ATTN_EXPR_CALL, /* text = the function's last name: softmax, matmul, sqrt, masked_fill, exp, sum,
                     ...; arguments */
  ATTN_EXPR_BINARY,    /* text = "@" "*" "/" "+" "-" "=="; arguments[0], arguments[1] */
  ATTN_EXPR_NEGATE,    /* arguments[0] */
  ATTN_EXPR_TRANSPOSE, /* .T, .t(), .transpose(-2, -1), .mT, transpose(x); arguments[0] */
};

struct attn_expr {
  enum attn_expr_kind kind;
  char *text;
  double number;
  attn_printing table; /* ARRAY: leading dimensions of size 1 dropped */
  int height;          /* levels below it */
  int arguments;       /* positional; a method call has its object first */
  struct attn_expr **argument;
  int keywords; /* dim=-1, axis=1, keepdims=True */
  char **keyword;
  struct attn_expr **keyword_value;
  int line, column;
};

struct attn_item {
  enum attn_item_kind kind;
  int line, column;
  char *text;    /* HEADING, SENTENCE: the text; MATRIX, NUMBER, ASSIGN: the name as written ("W^Q",
                    "1行目", "") */
  char *key;     /* MATRIX, NUMBER, ASSIGN: the name to compare by: letters and digits only, as far
                    as the first bracket: "WQ" for W_Q, $W^{Q}$ and W^Q; "ScaledE" for \text{Scaled } E;
                    "e11" for e_{11}; "softmax" for \text{softmax}(0.7, 0); "1行目". Never NULL */
  char *formula; /* MATRIX: what the chain says between the name and the numbers, "QK^T" in
                    `E = QK^T = [..]`, "\frac{E}{\sqrt{2}}", or "". Never NULL for a MATRIX */
  int level;     /* HEADING: 1.. (0: guessed from a short line without punctuation) */
  double value;  /* NUMBER */
  enum attn_item_link link; /* MATRIX */
  attn_printing
      table; /* MATRIX: one printing; vectors have one row, or one column if printed upright */
  int row_labels;
  char **row_label; /* MATRIX: names of rows where all (or all but some) have one; NULL for a
                       missing one */
  int column_labels;
  char **column_label; /* MATRIX: names of columns */
  int tokens;
  char **token;                 /* TOKENS */
  struct attn_expr *expression; /* ASSIGN */
  int has_result;
  attn_printing result; /* ASSIGN: what a comment or the line after says it gives */
  int block;            /* items of one fenced code block or snippet share it; 0: prose */
};

struct attn_document {
  int items;
  struct attn_item *item;
  int japanese;             /* 1: mostly Japanese */
  struct attn_pool *memory; /* owns everything; see pool.h */
};

/* Reads text (size bytes of UTF-8). On failure err has line and column, *document is NULL.
 * ATTN_ERR_FORMAT for what no reading can make a matrix of; text it does not understand is
 * a sentence, never an error. */
attn_status attn_document_read(const char *text, size_t size, struct attn_document **document,
                               attn_error *err);
void attn_document_free(struct attn_document *document);

/* One line per item, for tests and for people: "12:3 matrix W^Q 4x2 [1 0; 0 1; 1 0; 0 1]". */
void attn_document_dump(const struct attn_document *document, const attn_sink *sink);

#endif
