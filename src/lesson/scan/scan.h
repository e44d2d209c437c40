/* scan.h -- text to blocks: grids of numbers, with their names, labels and the text around them.
 *
 * Knows notations, not attention. One pass:
 *
 *   notebook.c           the cells of a Jupyter notebook -> text
 *   headings.c           the headings, and titles of examples
 *   text.c, character.c  bytes -> canonical text: characters one to one, then leader.c (the signs
 *                        of comments), markup.c and constructor.c (tables, calls) and notation.c,
 *                        the table of notations; each byte keeps the offset that it comes from
 *   misprint.c           a word among the numbers of a matrix; lists and fences that are not closed
 *   number.c             one cell: a literal, -inf, blank, a fraction, a root, a sum
 *   bracketed.c, brackets.c  brackets -> values: matrices and vectors
 *   line.c               the lines that are left, which refer to values
 *   lanes.c              matrices side by side in lines -> below each other, where numbers are left
 *   ../blocks, ../facts  lines -> blocks: blocks.h, facts.h
 */
#ifndef ATTN_LESSON_SCAN_H
#define ATTN_LESSON_SCAN_H

#include "attn/lesson.h"
#include "memo.h"
#include "pattern.h"
#include "pool.h"
#include "source.h"

enum attn_block_source {
  ATTN_BLOCK_GRID,    /* a matrix in brackets, a drawn matrix, a LaTeX environment */
  ATTN_BLOCK_VECTORS, /* lines of one vector each: q1 = [1, 0] */
  ATTN_BLOCK_ROWS,    /* lines of numbers: a table, columns */
  ATTN_BLOCK_INLINE,  /* vectors in a sentence */
  ATTN_BLOCK_SCALARS, /* numbers in a sentence: q1.k2 = -1 */
  ATTN_BLOCK_TURNS,   /* rows that were regrouped */
};

enum { ATTN_CAPTIONS = 4, ATTN_READINGS = 8 };

struct attn_block {
  int line, end; /* its first and last line */
  int source;    /* attn_block_source */
  char *name;    /* the text in front of the numbers, never NULL */
  char
      *caption[ATTN_CAPTIONS]; /* the lines of text before it, the nearest last; captions of them */
  int captions;
  char *heading; /* of the section, never NULL */
  char *header;  /* the cells of a table's header, never NULL */
  int labels;
  char **label; /* of its rows */
  int column_labels;
  char **column_label;
  int ordinal;    /* of the blocks of one line without a name: 0, 1, .. */
  int siblings;   /* how many blocks of one line without a name; 0: it has its own line or name */
  int stated_row; /* of a vector that is shown as row 1, 2, ..; 0: none */
  int is_factor;  /* 1: of a product that is worked out in its line */
  int readings;
  attn_printing
      reading[ATTN_READINGS]; /* [0] the likely one; the others where the shape is in doubt */
};

/* A number of a sentence, and every other that is in no block: for the account. */
struct attn_stray {
  char *name;    /* the words in front of it, never NULL */
  int is_result; /* 1: after a sign of equality, or in a line of numbers; 0: in passing */
  int is_size;   /* 1: of matrices: d_k = 2, √2 */
  int turn;      /* of "the second one": 2; 0: none */
  int vector;    /* the column of the first number of its vector; 0: it is of none */
  int is_row;    /* 1: of a row of a matrix: others are in blocks, or it is alone in its cell */
  attn_cell cell;
};

/* Arithmetic: 1·2 + 2·1 = 4; a sum of vectors without a result; a row that is shown with the
 * working of another. */
struct attn_worked {
  char *name;            /* the words in front of it, never NULL */
  attn_cell first, last; /* its first number, and the last one */
  int numbers;
  int operands;       /* numbers of its first side */
  attn_cell *operand; /* without their signs */
  int differs;        /* 1: two of its sides differ by more than rounding */
  int row;            /* that it is shown as: 1, 2, ..; 0: none */
  int sides;
  attn_printing *side; /* of one row each; a blank cell: not worked out */
  int is_read;         /* 1: a step shows it */
};

/* A heading of the source, without its marks. */
struct attn_scan_heading {
  int line;
  int marked; /* 0: a short line of words alone, which counts where no heading is marked */
  char *text;
};

/* How to read what a first reading of the document has left. */
struct attn_left {
  int recurring;             /* 1: vectors that recur with the same words are matrices */
  int apart;                 /* 1: vectors with different names are no matrix */
  int lanes;                 /* 1: matrices side by side are put below each other */
  int sequence;              /* 1: by the order of the text; nothing is gathered */
  int in_order;              /* 1: also with inputs that only their order tells */
  const attn_example *known; /* whose queries, keys and values are taken in order; NULL: none */
  int lines; /* whose numbers are gathered; 0: all, but none where vectors recur or are apart */
  int *line;
};

/* The canonical text, and where each byte comes from. */
struct attn_canonical {
  char *text;
  size_t bytes;
  uint32_t *origin; /* offsets into the source; bytes + 1 */
};

/* What all readings of one source share. */
struct attn_shared_text {
  struct attn_pool *pool;      /* outlives the readings */
  struct attn_canonical found; /* text NULL: not yet */
  struct attn_memo words;      /* the roles that a text names: words.c */
  int failed;                  /* no memory for them */
};

/* What the text states of an encoder and a decoder. */
struct attn_stated_states {
  int is_known, is_cross;    /* looked at; cross-attention or a decoder is mentioned */
  uint32_t decoder, encoder; /* a bit for each letter that is called the states of one */
  uint32_t queries, keys;    /* and that queries, keys and values are products of: "Q = H W_Q" */
};

struct attn_scan {
  struct attn_pool *pool;
  struct attn_patterns *patterns;
  struct attn_shared_text *shared; /* of the caller */
  struct attn_source source;
  const struct attn_left *left; /* of the caller: gathered by what they are called; NULL: none */
  int regrouped;                /* blocks that are grouped otherwise than without it */
  int japanese;
  double temperature; /* that the text states; 0: not looked for yet */
  int denies_scale; /* 1: the text denies that scores are divided, -1: not; 0: not looked at yet */
  struct attn_stated_states states;
  int headings;
  struct attn_scan_heading *heading; /* in the order of the document */
  char *text;                        /* canonical, 0-terminated */
  int blocks;
  struct attn_block *block;
  struct attn_misprint {
    struct attn_source_position place;
    char *message;    /* NULL: there is none */
    int may_be_meant; /* a sign in a cell; "[[1, 0], …": the other rows may not be needed */
  } misprint; /* the first, which is an error unless the rest of the document is understood */
  int strays;
  struct attn_stray *stray;
  int workeds;
  struct attn_worked *worked;
  attn_error *err; /* of the caller, may be NULL */
};

/* Opens a document: the text of a notebook's cells, checked; *file: its name, for the notation that
 * an extension implies (.tex, .m, .typ); may be NULL. Everything is allocated from scan->pool,
 * which the caller owns, as well as scan->patterns and scan->shared; these are set by the caller,
 * and so is err.
 *
 * Errors: ATTN_ERR_FORMAT with line and column: not UTF-8, empty. ATTN_ERR_MEMORY. */
attn_status attn_scan_open(struct attn_scan *scan, const char *text, size_t bytes,
                           const char **file);

/* The heading of an example that begins in a line, after one that began in the line `after` (0:
 * none): the nearest that is not of a part, as "Inputs". NULL: there is none. */
const struct attn_scan_heading *attn_scan_title(const struct attn_scan *scan, int line, int after);
/* The nearest heading. NULL: there is none. */
const struct attn_scan_heading *attn_scan_heading_above(const struct attn_scan *scan, int line);

/* Scans the document that was opened.
 *
 * Errors: ATTN_ERR_FORMAT with line and column: rows of different lengths, not a number, not a
 * finite number, nested too deeply, an unterminated matrix. ATTN_ERR_MEMORY. */
attn_status attn_scan_document(struct attn_scan *scan, const char *file);

/* misprint.c: an error if a number of the matrix is NaN, or too large for a double. */
attn_status attn_scan_check_finite(const struct attn_scan *scan, const attn_printing *p);
/* Reports the misprint that the scan has found. Returns ATTN_ERR_FORMAT. */
attn_status attn_scan_fail_misprint(const struct attn_scan *scan);

/* ---- between the files of scan ---- */

/* text.c. Marks of the canonical text, each one character: */
#define ATTN_MARK_OPEN "\u27E6"  /* a matrix begins */
#define ATTN_MARK_CLOSE "\u27E7" /* ends */
#define ATTN_MARK_ROW "\u23CE"   /* a row ends */
#define ATTN_MARK_VALUE "\u25A3" /* around the index of a value: in lines only */
attn_status attn_canonical_text(struct attn_scan *scan, const char *file,
                                struct attn_canonical *out);

/* headings.c */
attn_status attn_scan_headings(struct attn_scan *scan);

/* misprint.c: finds the first word among the numbers of a matrix, list that is not closed, or
 * fence.
 */
attn_status attn_scan_misprint(struct attn_scan *scan, const struct attn_canonical *text);
/* Keeps a misprint of its message, unless there is an earlier one. */
attn_status attn_scan_add_misprint(struct attn_scan *scan, struct attn_source_position place,
                                   int may_be_meant, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* number.c: the cell that text[0, bytes) is, without line and column; 0: it is words. A number
 * beyond the range of a double has the value +-infinity and kind NUMBER; NaN has the value NaN and
 * kind NUMBER; a printed infinity is EXACT. A literal with an exponent is SCIENTIFIC. */
int attn_scan_number(const char *text, size_t bytes, attn_cell *cell);
/* That of a part of a text. */
int attn_scan_part(const char *text, struct attn_part part, attn_cell *cell);

/* line.c, bracketed.c: values in brackets, and the lines with values replaced by marks and indices.
 */
struct attn_scan_value {
  int grids;           /* 0: rows of different lengths, the first of one number: not a matrix */
  attn_printing *grid; /* several: a tensor, or one for each head */
  int is_vector;       /* one row, and no bracket of a matrix */
  int used;            /* set by attn_scan_blocks: it is part of a block */
};
struct attn_scan_line {
  int line;         /* of the source */
  char *text;       /* canonical, 0-terminated; values as ATTN_MARK_VALUE index ATTN_MARK_VALUE */
  size_t bytes;     /* of text */
  uint32_t *origin; /* of each byte of text, bytes + 1: offsets into the source */
};
struct attn_scan_lines {
  int lines, values;
  struct attn_scan_line *line;
  struct attn_scan_value *value;
};
attn_status attn_scan_lines(struct attn_scan *scan, const struct attn_canonical *text,
                            struct attn_scan_lines *out);

/* lanes.c: puts matrices that are side by side in the lines below each other. */
attn_status attn_stack_lanes(struct attn_scan *scan, struct attn_scan_lines *lines);

/* label.c: is it a name with an index, or a letter: q1, W_Q2, x? */
int attn_label_is_indexed(const char *label);
/* Does b follow a as in A, B, C? Such labels are names of rows, not of matrices. */
int attn_label_follows(const char *a, const char *b);
/* Are the labels A, B, ..? */
int attn_labels_are_letters(char *const *label, int labels);
/* blocks.c, with the files that it names above */
attn_status attn_scan_blocks(struct attn_scan *scan, struct attn_scan_lines *lines);

#endif
