/* snippet.h -- the Python of a document: its snippets are followed, statement by statement, and
 * become examples.
 *
 *   snippet.c      which lines are Python; assignments, and results in comments
 *   python.c       expressions
 *   variables.c    what names stand for, and where printed numbers belong
 *   python_ops.c   the operations and calls that attention needs
 */
#ifndef ATTN_LESSON_SNIPPET_H
#define ATTN_LESSON_SNIPPET_H

#include "blocks.h"
#include "steps.h"
#include "text.h"

enum attn_py_kind {
  ATTN_PY_UNKNOWN, /* what is not followed, and all that uses it */
  ATTN_PY_SCALAR,
  ATTN_PY_STEP,
  ATTN_PY_ZEROS, /* mask == 0 */
  ATTN_PY_TUPLE, /* a, b or [a, b] */
};

struct attn_py_value {
  enum attn_py_kind kind;
  double scalar;
  double root;    /* SCALAR: the number whose square root it is, or 0 */
  int step;       /* STEP, ZEROS: of the current example */
  int transposed; /* STEP: .T, not yet a step */
  int is_new;     /* STEP: no variable has it yet */
  int items;
  struct attn_py_value *item;
  struct attn_part name; /* of a name that is not looked up yet */
};

struct attn_py_keyword {
  struct attn_part name;
  struct attn_py_value value;
};

struct attn_py_call {
  struct attn_part name;
  int is_method;
  int arguments; /* a method has its object first */
  struct attn_py_value *argument;
  int keywords; /* dim=-1, keepdims=True */
  struct attn_py_keyword *keyword;
};

struct attn_py_snippet {
  size_t begin, end; /* bytes of the source, whole lines */
  int line;
};

struct attn_py_import {
  int example, step, copy;
};

struct attn_python {
  struct attn_scan *scan;
  struct attn_maker maker;
  attn_status status;
  int misfit;                       /* status is of shapes that do not match */
  char *code;                       /* the source, its comments blank; NULL: no snippet so far */
  struct attn_value_reader *arrays; /* of the code */
  struct attn_value_reader *shown;  /* of the source: results in comments */
  int snippets;
  struct attn_py_snippet *snippet; /* each is an example of the lesson */

  /* the statement that is read */
  size_t at, end;
  size_t previous; /* where the token before this one ended */
  int open;        /* brackets: inside them lines go on */
  int depth;
  struct attn_py_token {
    enum { ATTN_PY_END, ATTN_PY_NUMBER, ATTN_PY_WORD, ATTN_PY_SIGN } kind;
    size_t begin, end;
    double number;
    int newline; /* before it */
  } token;

  /* what is followed */
  attn_lesson *lesson;
  attn_example *example; /* of this snippet */
  struct attn_memo variables;
  int imports; /* steps of earlier snippets that this one has copies of */
  struct attn_py_import *import;
  double work;               /* multiplications so far, and the cells that are made */
  int weights;               /* the step of the statement's attention; -1: it has none */
  int rounding;              /* 1: only printed, so round() changes nothing */
  struct attn_py_value last; /* what was set or shown last */
  int may_have_result;       /* 1: a comment may give its value */
  int is_below_comment;      /* 1: another comment is between */
  int is_introduced;         /* and ends in a colon: it introduces what follows */
  int shown_steps;           /* of the example, before it was only shown; -1: its steps stay */
  int shown_imports;
};

/* Adds the examples of a document's snippets to the lesson, and makes the text of these snippets
 * blank for the scan that follows. */
attn_status attn_add_snippets(struct attn_scan *scan, attn_lesson *lesson);

/* ---- between the files of python ---- */

/* Is the text of the part one of the words, with blanks between? */
int attn_py_is(const struct attn_python *p, struct attn_part part, const char *words);
/* Does the pattern match the code at `at`? */
int attn_py_matches(const struct attn_python *p, const char *pattern, size_t at,
                    struct attn_match *m);
int attn_py_fail(struct attn_python *p, size_t offset, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int attn_py_no_memory(struct attn_python *p); /* 0 */

/* python.c: the expression in [begin, end); a, b is a tuple. 0: it is not followed, or an error. */
int attn_py_expression(struct attn_python *p, size_t begin, size_t end, struct attn_py_value *v);

/* variables.c */
struct attn_py_value attn_py_lookup(struct attn_python *p, struct attn_part name);
void attn_py_bind(struct attn_python *p, struct attn_part name, struct attn_py_value v);
void attn_py_add_result(struct attn_python *p, int step, const attn_printing *result);

/* python_ops.c */
struct attn_py_value attn_py_scalar(double x);
struct attn_py_value attn_py_binary(struct attn_python *p, char operation, struct attn_py_value a,
                                    struct attn_py_value b);
struct attn_py_value attn_py_call(struct attn_python *p, const struct attn_py_call *call);
struct attn_py_value attn_py_given(struct attn_python *p, const attn_printing *table);
/* A step of its own for what was only marked as transposed. */
struct attn_py_value attn_py_settled(struct attn_python *p, struct attn_py_value v);

#endif
