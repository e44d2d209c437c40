/* snippet.h -- the Python of a document: statements, and the steps that they compute. */
#ifndef ATTN_LESSON_SNIPPET_H
#define ATTN_LESSON_SNIPPET_H

#include "blocks.h"
#include "steps.h"

/* A Python expression, as a tree. */
enum attn_expr_kind {
  ATTN_EXPR_NAME,   /* text */
  ATTN_EXPR_NUMBER, /* number */
  ATTN_EXPR_ARRAY,  /* table: np.array([...]), torch.tensor([...]), [[...]]; ones, zeros, eye
                       expanded */
  ATTN_EXPR_CALL, /* text = the function's last name: softmax, matmul, sqrt, masked_fill, exp, sum,
                     ...; arguments; of a tuple or list: "tuple" */
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

struct attn_statement {
  int snippet;                  /* of the document: 0, 1, .. */
  char *text;                   /* what is assigned: x, or a, b; "": shown only */
  struct attn_expr *expression; /* NULL: text is a line that is not followed */
  int has_result;
  attn_printing result; /* its value in a comment */
};

struct attn_snippet {
  size_t begin, end; /* bytes of the source, whole lines */
  int line;
};

/* Functions that try a notation return YES (read), NO (it is not that notation) or FAILED (it is,
 * and it is wrong: status). */
enum { ATTN_NO = 0, ATTN_YES = 1, ATTN_FAILED = -1 };

struct attn_python {
  struct attn_scan *scan;
  attn_status status;
  const char *code;                 /* the source, its comments blank */
  struct attn_value_reader *arrays; /* of the code */
  struct attn_value_reader *shown;  /* of the source: results in comments */
  struct attn_expr
      *last; /* what the statement before set or printed: a comment may tell its value */
  int statements, snippets;
  struct attn_statement *statement;
  struct attn_snippet *snippet;
};

/* snippet.c: finds the snippets of scan->source. */
attn_status attn_read_python(struct attn_python *p, struct attn_scan *scan);

/* python_graph.c: the examples that they compute -> lesson. *followed: of each snippet, 1 if it is
 * one. */
attn_status attn_follow_python(const struct attn_python *p, struct attn_maker *maker,
                               attn_lesson *lesson, unsigned char **followed);

/* Adds the examples of a document's snippets to the lesson, and makes the text of these snippets
 * blank for the scan that follows. */
attn_status attn_add_snippets(struct attn_scan *scan, attn_lesson *lesson);

/* ---- between the files of python ---- */

int attn_python_fail(struct attn_python *p, size_t offset, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int attn_python_no_memory(struct attn_python *p);

enum attn_python_token_kind {
  ATTN_PYTHON_END, /* of the range */
  ATTN_PYTHON_NUMBER,
  ATTN_PYTHON_WORD,
  ATTN_PYTHON_SIGN, /* a character */
};

struct attn_python_token {
  enum attn_python_token_kind kind;
  size_t begin, end;
  char sign;
  double number;
  int newline; /* before it */
};

struct attn_cursor {
  struct attn_python *p;
  size_t at, end;
  size_t previous; /* where the token before this one ended */
  int open;        /* brackets: inside them lines go on */
  int depth;
  struct attn_python_token token;
};

/* python_token.c */
struct attn_cursor attn_cursor_at(struct attn_python *p, size_t begin, size_t end);
int attn_advance(struct attn_cursor *c);
int attn_token_is(const struct attn_cursor *c, char sign);
/* python.c: an expression; a, b is a tuple. */
int attn_python_expression(struct attn_cursor *c, struct attn_expr **e);

/* Whether the text of e is one of the names, which end with NULL. */
int attn_expr_is_named(const struct attn_expr *e, const char *const *names);

#endif
