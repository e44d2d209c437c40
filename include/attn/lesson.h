/**
 * lesson.h -- worked examples of attention: reads, explains and checks them.
 * Part of libattn-model.
 *
 * A document (Markdown, plain text, Python snippets; English or Japanese)
 * becomes a lesson: a list of examples. An example is a small graph of steps,
 * each a matrix: given (X, W_Q, ...) or computed from earlier steps (Q = X W_Q,
 * scores = Q K^T, ...). A step has every matrix that the document prints for it.
 *
 *     read      bytes -> lesson          attn_lesson_read
 *     explain   every step, in words     attn_lesson_explain
 *     check     is each number correct?  attn_lesson_check
 *
 * Indices count from 0; in reports, as the document counts.
 */
#ifndef ATTN_LESSON_H
#define ATTN_LESSON_H

#include "attn/io.h" /* attn_sink */

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Matrices ------------------------------------------------------------ */

/** A dense matrix of doubles, row-major. */
typedef struct attn_matrix {
  int32_t rows, cols;
  double *at; /* rows * cols */
} attn_matrix;

typedef enum attn_cell_kind {
  ATTN_CELL_NUMBER = 0, /* one literal: its digits limit how it was rounded */
  ATTN_CELL_SUM = 1,    /* an expression: 1 * 2 + 0.5 * 3; lo and hi by interval arithmetic */
  ATTN_CELL_EXACT = 2,  /* a fraction, root or symbol: exact */
  ATTN_CELL_BLANK = 3,  /* an ellipsis or a question mark: no value */
  ATTN_CELL_SCIENTIFIC = 4, /* a literal with an exponent: its own last digit alone limits how it was rounded */
} attn_cell_kind;

/** One printed cell: a number, and the interval of numbers that print as it. */
typedef struct attn_cell {
  int32_t kind;     /* attn_cell_kind */
  int32_t decimals; /* digits after the point of a literal; 0 for an integer, -1 if not a literal;
                       SCIENTIFIC: less the exponent, so it may be negative */
  double value;     /* as printed; NaN where blank */
  double lo, hi;    /* a literal: value -/+ half a unit of its last digit (an integer: -/+ 0.5) */
  int32_t line, column; /* its position, from 1; of a ditto (same as above), the ditto's */
} attn_cell;

/** A matrix as the document prints it. */
typedef struct attn_printing {
  int32_t rows, cols;
  int32_t row0;      /* a single printed row i of a taller step: rows = 1, row0 = i; else 0 */
  int32_t col0;      /* a single printed column or cell likewise; else 0 */
  int32_t line, column;
  attn_cell *cells;  /* rows * cols, row-major */
} attn_printing;

/* ---- Steps --------------------------------------------------------------- */

/** The role of a step in attention. */
typedef enum attn_step_name {
  ATTN_STEP_X = 0,       /* the inputs; in cross-attention: the source of keys and values */
  ATTN_STEP_Y,           /* in cross-attention: the source of the queries */
  ATTN_STEP_W_Q, ATTN_STEP_W_K, ATTN_STEP_W_V, ATTN_STEP_W_O,
  ATTN_STEP_W_A,         /* W of general alignment q^T W k; W and U of additive alignment */
  ATTN_STEP_U_A,
  ATTN_STEP_V_A,         /* v of additive alignment */
  ATTN_STEP_MASK,        /* 1: visible, 0: hidden */
  ATTN_STEP_Q, ATTN_STEP_K, ATTN_STEP_V,
  ATTN_STEP_POSITIONS,   /* the position table, or X with it */
  ATTN_STEP_SCORES, ATTN_STEP_SCALED, ATTN_STEP_MASKED,
  ATTN_STEP_EXPONENTIALS, ATTN_STEP_ROW_SUM, ATTN_STEP_WEIGHTS,
  ATTN_STEP_OUTPUT, ATTN_STEP_CONCAT, ATTN_STEP_PROJECTED,
  ATTN_STEP_OTHER,       /* any other variable of a snippet */
} attn_step_name;

/** The operation that computes a step from its operands a, b, c. */
typedef enum attn_step_op {
  ATTN_OP_GIVEN = 0,     /* from the document */
  ATTN_OP_MATMUL,        /* a b */
  ATTN_OP_MATMUL_NT,     /* a b^T */
  ATTN_OP_MATMUL_TN,     /* a^T b */
  ATTN_OP_TRANSPOSE,     /* a^T */
  ATTN_OP_DIVIDE,        /* a / scalar */
  ATTN_OP_MASK,          /* a where b is not 0, else scalar: -inf or a finite fill value */
  ATTN_OP_SOFTMAX,       /* along axis of a */
  ATTN_OP_EXP,           /* e^a, element by element; e^-inf = 0 */
  ATTN_OP_SUM,           /* along axis of a: a column (axis 1) or a row (axis 0) */
  ATTN_OP_QUOTIENT,      /* a / b, b broadcast along axis */
  ATTN_OP_ADD,           /* a + b; one of one row is added to every row of the other */
  ATTN_OP_APPEND,        /* [a | b]: concatenates columns */
  ATTN_OP_GENERAL,       /* a c b^T: Luong's general alignment */
  ATTN_OP_ADDITIVE,      /* e_ij = v . tanh(W a_i + U b_j): operands a, b, W, U, v */
  ATTN_OP_POSITIONS,     /* the sine and cosine table: scalar = first k (0 or 1); rows and cols as set */
  ATTN_OP_TANH,          /* tanh(a), element by element */
  ATTN_OP_SHIFT,         /* a minus the largest value of its row (axis 1) or column (axis 0) */
  ATTN_OP_SOFTMAX_GRADIENT, /* of softmax along axis, p = a and the gradient g = b of p: p (g - sum p g) */
  ATTN_OP_COLUMNS,       /* columns of a from scalar on, as many as set */
  ATTN_OP_COUNT,         /* how many operations there are */
} attn_step_op;

#define ATTN_OPERANDS_MAX 16 /* APPEND takes up to this many: the heads */

typedef struct attn_step {
  int32_t name;   /* attn_step_name */
  int32_t head;   /* of several heads: 0, 1, ...; -1: a single head, or shared by all */
  int32_t op;     /* attn_step_op */
  int32_t axis;   /* SOFTMAX, SUM, QUOTIENT, SHIFT: 1 along rows, 0 down columns */
  int32_t operands;
  int32_t operand[ATTN_OPERANDS_MAX]; /* indices of earlier steps of the same example */
  double scalar;  /* DIVIDE, MASK, POSITIONS */
  int32_t scaled_by;   /* DIVIDE: d_k if scalar is its square root, else 0 */
  int32_t printings;   /* how many times the document prints it; for GIVEN at least 1 */
  attn_printing *printing;
  int32_t suspected;   /* attn_cause of one slip that explains every printed value of a wrong step; or 0 */
  int32_t uncertain;   /* 1: its role is a guess: its values are never judged wrong */
  char *symbol;   /* its name in the document: "W^Q", "Scaled E", "scaled_weights"; never NULL */
  attn_matrix exact; /* the exact values: those of a GIVEN, else computed from them in double */
  int32_t base;   /* POSITIONS: the frequencies are powers of 1 / base; 0: ATTN_POSITION_BASE */
  int32_t gradient_of; /* of attn_lesson_gradients: 1 + the index of the step whose gradient, or part of
                          whose gradient, it is; ATTN_GRADIENT_PART on the way to one; 0 else */
} attn_step;

#define ATTN_GRADIENT_PART (-1)
#define ATTN_POSITION_BASE 10000 /* of sines and cosines [Vaswani17] */

typedef enum attn_orientation {
  ATTN_QUERIES_IN_ROWS = 0,    /* scores[i][j]: query i, key j; softmax along rows */
  ATTN_QUERIES_IN_COLUMNS = 1, /* scores[i][j]: key i, query j; softmax down columns */
} attn_orientation;

typedef struct attn_example {
  char *title;          /* the nearest heading, or "" */
  int32_t line;         /* its first line */
  int32_t orientation;  /* attn_orientation */
  int32_t heads;        /* 1 or more */
  int32_t from_python;  /* 1: from a Python snippet */
  int32_t one_based;    /* 1: the document counts from 1 */
  int32_t unfollowed;   /* steps from this attn_step_name on depend on something unsupported
                           (a bias, dropout, a residual) and are never judged wrong; 0: none */
  int32_t uncertain;    /* 1: a step uses a relation that the document does not state: at most doubtful */
  int32_t key_tokens;   char **key_token;   /* names of the keys, or none */
  int32_t query_tokens; char **query_token; /* names of the queries; equal to the keys' in self-attention */
  int32_t steps;
  attn_step *step;      /* topological order: operands first */
} attn_example;

/** Numbers that belong to no step: a block of them, or one number of a sentence. */
typedef struct attn_unread {
  int32_t line, column; /* of the first */
  int32_t rows, cols;
  char *name;           /* the text in front of them, or "" */
} attn_unread;

/** A document. Owned by the caller; released by attn_lesson_free. */
typedef struct attn_lesson {
  char *file;           /* its name in messages */
  int32_t japanese;     /* 1: the document is mostly Japanese */
  int32_t examples;
  attn_example *example; /* examples with numbers; none in a document of prose and formulas */
  int32_t unreads;       /* numbers that were not understood: with any, a check is at most doubtful */
  attn_unread *unread;
  int32_t incomplete;    /* 1: the document has more blocks of numbers than are searched: not all were read */
} attn_lesson;

/**
 * Reads a document.
 *
 *   text, bytes  in   UTF-8, with or without a BOM; need not end in 0
 *   file         in   the name for messages ("-" for standard input)
 *   lesson       out  *lesson owned by the caller; NULL on failure
 *
 * Errors  ATTN_ERR_FORMAT with line and column: ragged rows, a cell that is not
 *         a number, matrices whose shapes do not match, a name given twice within an
 *         example with different values, an unterminated matrix, text that is
 *         not UTF-8, an empty file. ATTN_ERR_MEMORY. A document without worked
 *         numbers is not an error: the lesson has no examples.
 * Cost    linear in the text; memory too.
 */
ATTN_API attn_status attn_lesson_read(const char *text, size_t bytes, const char *file,
                                      attn_lesson **lesson, attn_error *err);

/** Releases a lesson and everything in it; NULL is fine. */
ATTN_API void attn_lesson_free(attn_lesson *lesson);

/** Returns the name of an attn_step_name in the check's JSON: "weights" for ATTN_STEP_WEIGHTS. Never NULL. */
ATTN_API const char *attn_step_label(int32_t name);

/** Returns the attn_step_name of a name in documents ("softmax", "attention weights", "重み"), or -1. */
ATTN_API int32_t attn_step_find(const char *name);

/* ---- Check ---------------------------------------------------------------- */

typedef enum attn_judgement {
  ATTN_JUDGED_NOT_GIVEN = 0, /* the document does not print it */
  ATTN_JUDGED_OK,
  ATTN_JUDGED_DOUBTFUL,      /* neither certainly correct nor beyond any valid rounding */
  ATTN_JUDGED_CARRIED,       /* correct, given an earlier error of the document */
  ATTN_JUDGED_WRONG,
} attn_judgement;

typedef enum attn_cause {
  ATTN_CAUSE_NONE = 0,
  ATTN_CAUSE_WRONG_ROW_OR_COLUMN, ATTN_CAUSE_TRANSPOSED_WEIGHTS, ATTN_CAUSE_SWAPPED_QK,
  ATTN_CAUSE_MISSING_SCALE, ATTN_CAUSE_SCALE_BY_DK, ATTN_CAUSE_SCALE_WRONG_DIM,
  ATTN_CAUSE_SOFTMAX_OVER_COLUMNS, ATTN_CAUSE_SOFTMAX_WITHOUT_EXP, ATTN_CAUSE_SOFTMAX_CELL,
  ATTN_CAUSE_ARITHMETIC_CELL, ATTN_CAUSE_SIGN_SLIP, ATTN_CAUSE_MASK_IGNORED,
  ATTN_CAUSE_MASK_OFF_BY_ONE,
  ATTN_CAUSE_MASK_FILL,          /* hidden scores are 0, not minus infinity */
  ATTN_CAUSE_MASK_AFTER_SOFTMAX, /* hidden weights are 0, and the others do not add up to 1 */
  ATTN_CAUSE_K_INSTEAD_OF_V, ATTN_CAUSE_WRONG_WEIGHT_ROW,
  ATTN_CAUSE_TRANSCRIPTION, ATTN_CAUSE_ROUNDING_TOO_COARSE, ATTN_CAUSE_UNKNOWN,
} attn_cause;

/** One printed cell that is doubtful, carried or wrong. */
typedef struct attn_finding {
  int32_t row, col;      /* in the step's matrix, from 0 */
  int32_t judgement;     /* attn_judgement: doubtful, carried or wrong */
  int32_t line, column;  /* in the document */
  double printed;
  double expected;       /* the exact value, from the givens */
  double follows;        /* computed from the document's own earlier numbers; expected if those are correct */
} attn_finding;

typedef struct attn_step_verdict {
  int32_t step;          /* index into the example's steps */
  int32_t judgement;     /* the worst of its cells */
  int32_t cells;         /* printed cells judged */
  int32_t findings;
  attn_finding *finding;
  int32_t cause;         /* attn_cause of a wrong step that no earlier one explains */
} attn_step_verdict;

typedef struct attn_example_verdict {
  int32_t judgement;     /* the worst of its steps; NOT_GIVEN: nothing to check in it */
  int32_t first_wrong;   /* index into verdict, or -1 */
  int32_t misread;       /* 1: values disagree, and are doubtful: they were perhaps read wrongly */
  int32_t verdicts;
  attn_step_verdict *verdict; /* one for each computed step, in order */
} attn_example_verdict;

/** The result of a check. Owned by the caller; released by attn_check_free. */
typedef struct attn_check {
  int32_t judgement;     /* the worst of its examples; NOT_GIVEN: nothing to check */
  int32_t examples;      /* as many as the lesson has */
  attn_example_verdict *example;
} attn_check;

/**
 * Judges every printed number of a lesson, never its prose.
 *
 * Correct: the rounded exact value, or the rounded value computed from the printed numbers before it.
 * Wrong: outside every value that the printed precision of its operands allows (interval arithmetic).
 * Doubtful: between. A step after a wrong one is also judged from the document's own numbers and
 * counts as carried if these explain it.
 * Where three or more blocks of numbers were not read, and more than half as many as steps were judged,
 * nothing is wrong: at most doubtful.
 *
 * Errors  ATTN_ERR_MEMORY only.
 */
ATTN_API attn_status attn_lesson_check(const attn_lesson *lesson, attn_check **check,
                                       attn_error *err);

/** Releases a check; NULL is fine. */
ATTN_API void attn_check_free(attn_check *check);

/** Returns the name of an attn_cause in the check's JSON: "missing_scale". Never NULL. */
ATTN_API const char *attn_cause_label(int32_t cause);

/* ---- Explain ---------------------------------------------------------------- */

typedef enum attn_language { ATTN_LANGUAGE_ENGLISH = 0, ATTN_LANGUAGE_JAPANESE = 1 } attn_language;

/** How to print. All members except struct_size may be 0: English, no colour, 80 columns, 4 decimals. */
typedef struct attn_style {
  size_t struct_size;
  int32_t language;  /* attn_language */
  int32_t color;     /* 1: ANSI colours */
  int32_t width;     /* columns of the terminal; 0: 80 */
  int32_t precision; /* digits after the point; -1: none, 0: 4 */
} attn_style;

/** Explains every step of every example with its numbers. Errors: ATTN_ERR_MEMORY, ATTN_ERR_FILE (the sink has stopped). */
ATTN_API attn_status attn_lesson_explain(const attn_lesson *lesson, const attn_style *style,
                                         const attn_sink *sink, attn_error *err);

/** Writes the explanation as one JSON object, docs/explain.schema.json. Errors as attn_lesson_explain. */
ATTN_API attn_status attn_lesson_explain_json(const attn_lesson *lesson, const attn_sink *sink,
                                              attn_error *err);

/**
 * Writes the whole computation of one value, from the givens.
 * cell is "weights[2,0]" or "example 2: head 1: weights[2,0]", rows and columns
 * counted from 0, or by a token's name: "weights[は,私]". Bare digits are always a
 * number; a name of digits, or with a comma or a bracket in it, goes in quotes:
 * weights["2",0]. Quotes around a name in the document are ignored. A name shared by
 * several rows is an error; use their numbers.
 * Errors: ATTN_ERR_ARGUMENT (no such step or cell; the message lists the valid ones).
 */
ATTN_API attn_status attn_lesson_explain_cell(const attn_lesson *lesson, const char *cell,
                                              const attn_style *style, const attn_sink *sink,
                                              attn_error *err);

/** One value of a lesson: indices from 0. */
typedef struct attn_cell_address {
  int32_t example, step, row, col;
} attn_cell_address;

/** Finds the value that a cell of attn_lesson_explain_cell names. Errors: as there. */
ATTN_API attn_status attn_lesson_find_cell(const attn_lesson *lesson, const char *cell,
                                           attn_cell_address *address, attn_error *err);

/**
 * Adds the gradients of a loss L to the steps of each example, as steps: d_Q = dL/dQ is computed from
 * d_scores and K, and so on from the output back to the inputs. The functions that explain, print and
 * draw lessons take the result. Steps of gradients are called d_Q, d_scores ...; of several
 * contributions to one gradient each is a step, "d_X by Q".
 *
 *   lesson     in   must outlive the result, which shares its matrices and texts
 *   loss       in   L is this value; examples without it are copied. NULL: the sum of the values of
 *                   each example's outputs (projected, concatenated or of each head)
 *   gradients  out  owned by the caller, freed by attn_lesson_free; NULL on failure
 *
 * Accuracy  double precision, as the other steps.
 * Errors    ATTN_ERR_ARGUMENT: no example has gradients, as it has no output or a step whose rule is not
 *           known: additive alignment, tanh, exponentials outside a softmax. ATTN_ERR_MEMORY.
 * Cost      about twice that of the steps.
 */
ATTN_API attn_status attn_lesson_gradients(const attn_lesson *lesson, const attn_cell_address *loss,
                                           attn_lesson **gradients, attn_error *err);

/** Writes a check as text: verdict, each step, the first wrong cell with its computation and cause,
    and the numbers that were not read. Errors as attn_lesson_explain. */
ATTN_API attn_status attn_check_print(const attn_lesson *lesson, const attn_check *check,
                                      const attn_style *style, const attn_sink *sink,
                                      attn_error *err);

/** Writes how each printed matrix was read, by line: its step, the formula, how many of its values agree.
    Errors as attn_lesson_explain. */
ATTN_API attn_status attn_check_print_reading(const attn_lesson *lesson, const attn_check *check,
                                              const attn_style *style, const attn_sink *sink,
                                              attn_error *err);

/** Writes a check as one line of JSON, docs/check.schema.json. lesson and check NULL: bad input, described by problem.
    Errors as attn_lesson_explain. */
ATTN_API attn_status attn_check_print_json(const char *file, const attn_lesson *lesson,
                                           const attn_check *check, const attn_error *problem,
                                           const attn_sink *sink, attn_error *err);

/** A computed value of a lesson, and how much of its computation to show. */
typedef struct attn_hint_place {
  int32_t example, step; /* indices; the step is not given */
  int32_t row, col;      /* in the step's matrix, from 0 */
  int32_t level;         /* 1: the step's formula and rule; 2: the values that it is computed from; 3: the computation */
} attn_hint_place;

/**
 * Writes a hint for a value, as lines. Only level 3 contains the value.
 *
 *   check  in   of the lesson: a likely cause of the step's wrong values is named; or NULL
 *
 * Errors  ATTN_ERR_ARGUMENT: no such value or level; ATTN_ERR_FILE (the sink has stopped).
 */
ATTN_API attn_status attn_check_hint(const attn_lesson *lesson, const attn_check *check,
                                     const attn_hint_place *place, const attn_style *style,
                                     const attn_sink *sink, attn_error *err);

/* ---- New lessons ---------------------------------------------------------- */

typedef enum attn_template_kind {
  ATTN_TEMPLATE_SELF = 0,  /* one head, from X to the output */
  ATTN_TEMPLATE_CAUSAL,    /* the same with a causal mask */
  ATTN_TEMPLATE_CROSS,     /* queries from Y, keys and values from X */
  ATTN_TEMPLATE_HEADS,     /* several heads, concatenated and projected by W_O */
  ATTN_TEMPLATE_POSITIONS, /* sinusoidal positions, added to X; at level 3 attention over the sum */
  ATTN_TEMPLATE_SCALING,   /* the weights of one query without and with the division by sqrt(d_k) */
  ATTN_TEMPLATE_COLUMNS,   /* queries in columns, softmax down each column */
  ATTN_TEMPLATE_QUESTION,  /* a question attends to the words of a sentence; the largest weight is the answer's */
} attn_template_kind;

/** A new lesson. All members except struct_size may be 0: one head, level 1, seed 0, solved. */
typedef struct attn_lesson_template_config {
  size_t struct_size;
  int32_t kind;             /* attn_template_kind */
  int32_t level;            /* 1: small integers, 2: one decimal, 3: wider vectors, more decimals; 0: 1.
                               Many tokens have more decimals */
  int32_t num_heads;        /* HEADS: 2 to 4; 0: 2 */
  int32_t blank;            /* 1: an exercise, every computed value is an ellipsis */
  uint64_t seed;            /* the same seed gives the same numbers, blank or solved */
  const char *tokens;       /* 2 to 12 (SCALING: 2 to 5), separated by spaces; NULL: those of the kind */
  const char *query_tokens; /* CROSS: 1 to 12 tokens of the queries; NULL: those of the kind */
  const char *question;     /* QUESTION: about tokens; NULL: sentence and question by the seed */
  const char *answer;       /* QUESTION: the one of tokens that answers it */
  int32_t first_step;       /* attn_step_name, Q to PROJECTED: with blank, earlier steps are filled in; 0: all are open */
  int32_t last_step;        /* likewise: the lesson ends after this step; 0: after the last of its kind */
} attn_lesson_template_config;

#ifdef __cplusplus
#define ATTN_LESSON_TEMPLATE_CONFIG_INIT { sizeof(attn_lesson_template_config) }
#else
#define ATTN_LESSON_TEMPLATE_CONFIG_INIT { .struct_size = sizeof(attn_lesson_template_config) }
#endif

/**
 * Writes a lesson with numbers drawn by the seed, solved or as an exercise. No two tokens have the same
 * key, no two visible keys of a query the same weight, and each weight is between 0.001 and 0.98 (a query
 * with a single visible key excepted).
 *
 *   config  in   NULL: all defaults
 *   style   in   language and width; NULL: English, 80 columns
 *
 * Errors  ATTN_ERR_ARGUMENT: an unknown kind, a value out of range, a member that does not apply to
 *         the kind, an unusable token, no such numbers for the seed. ATTN_ERR_MEMORY, ATTN_ERR_FILE.
 */
ATTN_API attn_status attn_lesson_template(const attn_lesson_template_config *config,
                                          const attn_style *style, const attn_sink *sink,
                                          attn_error *err);

#ifdef __cplusplus
}
#endif
#endif
