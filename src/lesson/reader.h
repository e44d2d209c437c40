/* reader.h -- what the files of the reader share. Functions that try a notation return 1 (read), 0
 * (it is not that notation; nothing was kept) or -1 (it is, and it is wrong: reader->status). */
#ifndef ATTN_LESSON_READER_H
#define ATTN_LESSON_READER_H

#include "cell.h"
#include "document.h"
#include "pool.h"
#include "source.h"

enum { ATTN_NO = 0, ATTN_YES = 1, ATTN_FAILED = -1 };

struct attn_span {
  size_t begin, end; /* bytes of the text */
};

struct attn_reader {
  struct attn_source source;
  struct attn_pool *pool;
  struct attn_document *document;
  attn_error *err;
  attn_status status;
  struct attn_span
      pending; /* a name line or heading that a nameless matrix may take its name from */
  int block;   /* of the snippet that is being read */
  int blocks;
  struct attn_expr
      *shown;      /* what the statement before set or printed: a comment may tell its value */
  size_t line_end; /* of the line that is being read */
  size_t no_display_end; /* searches from here on found none */
  size_t lookahead;      /* bytes that may still be read ahead in vain: keeps reading linear */
};

/* error: returns ATTN_FAILED */
int attn_reader_fail(struct attn_reader *r, size_t offset, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int attn_reader_no_memory(struct attn_reader *r);
/* For bytes that were read in vain: NO, or FAILED where a hostile text has used up its share. */
int attn_charge(struct attn_reader *r, size_t begin, size_t end);

/* ---- items.c: adding to the document ---- */
struct attn_item *attn_reader_add(struct attn_reader *r, enum attn_item_kind kind, size_t offset);
int attn_reader_sentence(struct attn_reader *r, struct attn_span span);
int attn_reader_heading(struct attn_reader *r, struct attn_span span, int level);
struct attn_item *attn_reader_last_matrix(struct attn_reader *r, const char *key);

/* ---- names.c ---- */
int attn_span_is(const struct attn_reader *r, struct attn_span s, const char *const *words);
struct attn_span attn_trim(const struct attn_reader *r, struct attn_span span);
char *attn_name_clean(struct attn_reader *r, struct attn_span span); /* without \text{}, $, \left */
char *attn_name_key(struct attn_reader *r, const char *clean);
char *attn_collapse(struct attn_reader *r,
                    struct attn_span span);       /* white space to single spaces */
int attn_name_is_symbol(const char *clean);       /* Q, W^Q, x_1; not QK^T, not a word */
int attn_name_has_two_indices(const char *clean); /* e_{11}, a_{1,2} */

/* ---- token.c ---- */
enum attn_token_kind {
  ATTN_TOKEN_END, /* of the range */
  ATTN_TOKEN_NUMBER,
  ATTN_TOKEN_WORD,     /* letters, \text{..}, \sin */
  ATTN_TOKEN_COMMAND,  /* any other \command */
  ATTN_TOKEN_SYMBOL,   /* a character */
  ATTN_TOKEN_RELATION, /* = := \approx */
  ATTN_TOKEN_ROW,      /* \\ or what is left of it */
  ATTN_TOKEN_DOTS,
  ATTN_TOKEN_DITTO, /* row: 0 above, else the row's number */
  ATTN_TOKEN_INFINITY,
  ATTN_TOKEN_ROOT,
  ATTN_TOKEN_FRACTION,
  ATTN_TOKEN_POWER,  /* superscript digits; number */
  ATTN_TOKEN_BEGIN,  /* \begin{name}; name */
  ATTN_TOKEN_FINISH, /* \end{name}; name */
};

struct attn_token {
  enum attn_token_kind kind;
  size_t begin, end;
  uint32_t symbol;
  attn_cell number;
  long row;
  struct attn_span name;
  int space, newline; /* stood before it */
};

struct attn_cursor {
  struct attn_reader *r;
  size_t at, end;
  int rows; /* 0: a single backslash is white space; 1: before a newline it ends a row; 2: always */
  int python;      /* 1: # begins a comment; 2: # is white space */
  int lenient;     /* 1: what is no matrix is none, and no mistake */
  size_t previous; /* where the token before this one ended */
  int element;     /* 1: inside a list: what follows a space is the next element */
  int depth;
  struct attn_token token;
};

struct attn_cursor attn_cursor_at(struct attn_reader *r, size_t begin, size_t end);
int attn_advance(struct attn_cursor *c); /* ATTN_YES, or ATTN_FAILED: 1e400 */
int attn_token_is(const struct attn_cursor *c, uint32_t symbol);
int attn_token_says(const struct attn_cursor *c, const char *word);
int attn_starts(const struct attn_reader *r, size_t at, size_t end, const char *prefix);
/* A literal at *at, without sign. */
int attn_literal(struct attn_reader *r, size_t *at, size_t end, attn_cell *cell);
/* "same as above", 同上, 同1行目 at *at. */
int attn_ditto(const struct attn_reader *r, size_t *at, size_t end, long *row);

/* ---- value.c: a number or a matrix ---- */
struct attn_expression_value {
  attn_cell one; /* a number where there is no table */
  attn_printing *table;
  size_t begin;
};
int attn_expression(struct attn_cursor *c, struct attn_expression_value *value);
int attn_skip_group(struct attn_cursor *c); /* behind what the token opens */

/* ---- build.c: cells that come one by one ---- */
struct attn_builder {
  struct attn_reader *r;
  attn_cell *cells;
  size_t count, row_start;
  int rows, cols; /* cols: of the first row; 0 before */
  size_t begin, row_begin;
  int numbers, symbols, words; /* what kinds of cells were seen; symbols like x_1, words like abc */
  size_t odd;                  /* the first cell that is no number */
  size_t odd_end;
  int lenient; /* 1: rows of other lengths make it no matrix instead of a mistake */
};
int attn_build_cell(struct attn_builder *b, attn_cell cell, size_t offset);
int attn_build_value(struct attn_builder *b, const struct attn_expression_value *value);
int attn_build_odd(struct attn_builder *b, size_t begin, size_t end);
int attn_build_ditto(struct attn_builder *b, long row, size_t offset);
int attn_build_row(struct attn_builder *b, size_t next); /* ends a row */
int attn_build_end(struct attn_builder *b, attn_printing **table);

int attn_latex_matrix(struct attn_cursor *c, attn_printing **table); /* at ATTN_TOKEN_BEGIN */
int attn_is_matrix_environment(const struct attn_reader *r, struct attn_span name);
int attn_bracket(struct attn_cursor *c, attn_printing **table); /* at [ or ( */

/* ---- formula.c ---- */
/* Reads chains `A = [..] = [..]`. strict: numbers must end where the part ends. fallback: the name
 * of a nameless one, or empty. NO: symbols only, nothing added. */
int attn_formula(struct attn_reader *r, struct attn_span span, int strict,
                 struct attn_span fallback);
struct attn_item *attn_add_matrix(struct attn_reader *r, const char *name, const char *formula,
                                  enum attn_item_link link, const attn_printing *table);
int attn_add_number(struct attn_reader *r, const char *name, size_t offset, double value);

/* ---- the notations of whole lines; *at is a line's begin and moves behind what was read ---- */
int attn_pipe_table(struct attn_reader *r, size_t *at);
int attn_lost_table(struct attn_reader *r, size_t *at);
int attn_columns(struct attn_reader *r, size_t *at);
int attn_labelled_list(struct attn_reader *r, size_t *at);
int attn_snippet(struct attn_reader *r, size_t *at); /* Python, bare */
int attn_fence(struct attn_reader *r, size_t *at);   /* ``` */

/* ---- python.c ---- */
int attn_python(struct attn_cursor *c, struct attn_expr **e); /* an expression */
int attn_python_result(struct attn_reader *r, struct attn_span comment, attn_printing *table);

/* ---- labels.c: `label: what it is` ---- */
int attn_label_line(struct attn_reader *r, struct attn_span line, struct attn_span span);
/* Splits at the first colon outside brackets; NO where there is none. */
int attn_split_label(const struct attn_reader *r, struct attn_span line, struct attn_span *label,
                     struct attn_span *rest);
struct attn_span attn_label_name(const struct attn_reader *r,
                                 struct attn_span label); /* (\( Q \)) */
/* A vector, bracketed or bare, that fills the span. */
int attn_vector(struct attn_reader *r, struct attn_span span, attn_printing **table);

/* ---- lines.c ---- */
size_t attn_line_end(const struct attn_reader *r, size_t at); /* at the newline, or the end */
size_t attn_next_line(const struct attn_reader *r, size_t at);
struct attn_span attn_line(const struct attn_reader *r, size_t at); /* trimmed */
struct attn_span attn_bare(const struct attn_reader *r,
                           struct attn_span line); /* no bullet, quote */
int attn_read_lines(struct attn_reader *r, size_t begin, size_t end);

/* ---- prose.c: a line that is nothing else; *after moves where a bracket goes on below ---- */
int attn_prose(struct attn_reader *r, struct attn_span line, size_t *after);

#endif
