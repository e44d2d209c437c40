/* python_graph.h -- snippets: variables, and expressions that become steps. */
#ifndef ATTN_LESSON_PYTHON_GRAPH_H
#define ATTN_LESSON_PYTHON_GRAPH_H

#include "snippet.h"

enum attn_py_value_kind {
  ATTN_VALUE_UNKNOWN, /* what is not followed, and all that uses it */
  ATTN_VALUE_SCALAR,
  ATTN_VALUE_STEP,
};

struct attn_py_value {
  enum attn_py_value_kind kind;
  double scalar;
  double root;    /* SCALAR: the number whose square root it is, or 0 */
  int step;       /* STEP: of the current example */
  int transposed; /* STEP: .T, not yet a step */
};

struct attn_py_variable {
  const char *name;
  int example; /* that has its step */
  struct attn_py_value value;
  int next; /* in its list: index + 1 */
};

enum { ATTN_PY_LISTS = 256 };

/* Lives through all snippets of a document. */
struct attn_py_scope {
  struct attn_py_variable *variable;
  int variables;
  int first[ATTN_PY_LISTS]; /* by a hash of the name: index + 1; 0: none */
  double work;              /* multiplications so far: ones(1000, 1000) is cheap to write */
};

struct attn_py_import {
  int example, step, copy;
};

struct attn_py_follower {
  struct attn_maker *maker;
  attn_example *ex, *earlier; /* earlier: the examples before this */
  int number;                 /* of this example */
  struct attn_py_scope *scope;
  attn_status status;
  struct attn_py_import *import; /* steps of earlier snippets that this one has copies of */
  int imports;
  int weights;  /* the step of the last attention's */
  int rounding; /* 1: only printed, so round() changes nothing */
};

struct attn_py_value attn_py_evaluate(struct attn_py_follower *f, const struct attn_expr *e);
struct attn_py_value attn_py_lookup(struct attn_py_follower *f, const char *name);
/* A new step; UNKNOWN where memory or work is used up or, if quiet, where shapes do not fit. */
struct attn_py_value attn_py_step(struct attn_py_follower *f, int name, int op, double scalar,
                                  const int *operand, int operands, int axis);
/* Is it a call of the function that everyone writes, softmax(q k^T / sqrt(d)) v? */
int attn_py_is_attention(const struct attn_expr *e);

#endif
