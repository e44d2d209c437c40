/* blocks.h -- what the files share that turn lines into blocks. */
#ifndef ATTN_LESSON_BLOCKS_H
#define ATTN_LESSON_BLOCKS_H

#include "ascii.h"
#include "scan.h"

/* A number without its sign: 12, 0.5, .5, 3., 1e-3, 2 x 10^(-4). Unambiguous only where what
 * follows is checked. */
#define ATTN_NUMBER              \
  "(?:\\d+\\.\\d*|\\.\\d+|\\d+)" \
  "(?:[eE][-+]?\\d+|\\s?(?:\\x{D7}|x|\\x{B7})\\s?10\\^\\(?[-+]?\\d+\\)?)?"
#define ATTN_VALUE "\\x{25A3}\\d+\\x{25A3}"

enum { ATTN_NAME_CHARACTERS = 60, ATTN_LABEL_CHARACTERS = 24 };

struct attn_grouping;

/* ---- part.c: parts of a line ---- */

struct attn_part attn_part_trim(const char *text, struct attn_part part);
/* Without the trailing characters that are in the set; a full stop of Japanese, too, if the set has
 * a full stop. */
struct attn_part attn_part_chop(const char *text, struct attn_part part, const char *set);
/* The last characters only. */
struct attn_part attn_part_last(const char *text, struct attn_part part, int characters);
/* Without the end of a word that begins before p: "e values" of "The values" is no e. least: where
 * the text that p is of begins. */
struct attn_part attn_part_whole_words(const char *text, struct attn_part p, size_t least);
/* The end of the mark of a value at `at`, or 0. value may be NULL. */
size_t attn_value_mark(const char *text, size_t at, size_t end, int *value);
/* The next mark of a value in the part: *at is its begin. Returns its end, or 0. */
size_t attn_next_value(const char *text, struct attn_part part, size_t *at, int *value);
int attn_part_has(const char *text, struct attn_part part, const char *word);
/* Does the part begin in a match of the pattern, have one, or end in one within its last
 * characters? match may be NULL. */
int attn_part_begins_in(struct attn_grouping *g, const char *pattern, const char *text,
                        struct attn_part part, struct attn_match *match);
int attn_part_find(struct attn_grouping *g, const char *pattern, const char *text,
                   struct attn_part part, struct attn_match *match);
int attn_part_ends_in(struct attn_grouping *g, const char *pattern, const char *text,
                      struct attn_part part, int characters);

/* ---- label.c: q_12 is the stem q and the index 12 ---- */

struct attn_label {
  char *text;       /* never NULL */
  const char *stem; /* NULL: not a name with an index */
  long index;       /* its last number, -1: none */
};
int attn_label_read(struct attn_pool *pool, char *text, struct attn_label *label);
/* The step that people call so: "scaled scores", -1: none. */
int attn_label_step(const char *label);
int attn_same_stem(const struct attn_label *a, const struct attn_label *b);

/* ---- row.c: one line of numbers ---- */

enum attn_row_style {
  ATTN_ROW_PIPES,
  ATTN_ROW_TABS,
  ATTN_ROW_COMMAS,
  ATTN_ROW_COLON,
  ATTN_ROW_EQUALS,
  ATTN_ROW_ARROW,
  ATTN_ROW_SPACES,
  ATTN_ROW_VALUES, /* a label and vectors */
};

enum attn_item_kind { ATTN_ITEM_TEXT, ATTN_ITEM_CELL, ATTN_ITEM_VALUE };

struct attn_row_item {
  unsigned char kind;       /* attn_item_kind */
  unsigned char used;       /* in a block, or a label */
  unsigned char is_counted; /* CELL: "(1)" */
  int value;                /* VALUE: its index */
  uint32_t begin, end;      /* bytes of the line */
  attn_cell cell;           /* CELL */
};

struct attn_row {
  const struct attn_scan_line *line;
  int style;
  struct attn_label label;
  int is_formula; /* 1: the values in front of the row are its operands, not terms of a sum */
  int items;
  struct attn_row_item *item;
};

/* Of the styles: fields between pipes, tabs or commas; a label in front of numbers. */
int attn_row_is_delimited(int style);
int attn_row_is_labelled(int style);
/* A number, or a place for one: an ellipsis. */
int attn_item_is_number(const struct attn_row_item *item);
int attn_item_is_integer(const struct attn_row_item *item, int value);
/* Where the numbers at the end of a part begin. */
size_t attn_numbers_begin(struct attn_grouping *g, const char *text, struct attn_part p);

/* ---- cell_name.c ---- */

/* The column of a table that the matrix after `front` is in; NULL: it has a name in front, or its
 * column is called no step. */
char *attn_cell_name(struct attn_grouping *g, const struct attn_row *columns,
                     const struct attn_scan_line *line, struct attn_part front);

/* ---- blocks.c ---- */

struct attn_drawn; /* drawn.c */

enum { ATTN_RESULT_GROUPS = 8 };

/* The numbers of one sentence, in groups of a kind: for the sentence in the next line. */
struct attn_result_line {
  int line, groups;
  int blocks; /* of the document so far */
  struct attn_result_group {
    int kind, count;
    int is_list;
    const char *name;
    struct attn_block *block;
  } group[ATTN_RESULT_GROUPS];
};

struct attn_grouping {
  struct attn_scan *scan;
  struct attn_scan_lines *lines;
  attn_status status;         /* the first error; nothing is done after it */
  char *above[ATTN_CAPTIONS]; /* the lines of text above, the nearest last */
  int aboves;
  char *heading;
  struct attn_row header;                 /* of a table; items 0: none */
  struct attn_row super;                  /* the header above it; items 0: none */
  struct attn_row columns;                /* the header above matrices; items 0: none */
  const struct attn_scan_line *text_line; /* the last line of text; NULL: a blank line follows it */
  struct attn_row before;                 /* the last row before the run; items 0: none */
  struct attn_row *row;                   /* a run of lines that look alike */
  int rows;
  int drop_first;       /* the first column counts rows: its header is one item short */
  int counted;          /* columns that are numbered above the run */
  int has_counted_rows; /* a sheet is above: "Q | 1 | 0", "Q | 2 | 1", "K | 1 | 0" */
  int column_rules;     /* "==== ==" since the last blank line */
  const struct attn_scan_line *stack_end; /* of the brackets below each other that were seen last */
  int is_stack;                           /* they are a drawing */
  struct attn_drawn *drawn;
  int drawns;
  int is_cornered; /* they have corners as a box has, and pipes between */
  struct attn_block **block;
  int blocks;
  struct attn_stray *stray;
  int strays;
  struct attn_facts *facts;        /* NULL: not gathered */
  struct attn_result_line results; /* of the last sentence that had some */
};

/* The first error stays. Returns 0. */
int attn_group_no_memory(struct attn_grouping *g);
/* As those of the pool, but that lack of memory is an error of g. take: count items of size. grow:
 * 1, or 0: no memory. label: of a text that may be NULL for lack of memory; 0: no memory. */
void *attn_group_take(struct attn_grouping *g, size_t count, size_t size);
char *attn_group_copy(struct attn_grouping *g, const char *text, size_t bytes);
int attn_group_grow(struct attn_grouping *g, void **array, size_t count, size_t size);
int attn_group_label(struct attn_grouping *g, char *text, struct attn_label *label);
struct attn_source_position attn_group_place(const struct attn_grouping *g,
                                             const struct attn_scan_line *line, size_t at);
/* A blank cell in its place. */
attn_cell attn_group_blank(const struct attn_grouping *g, const struct attn_scan_line *line,
                           size_t at);
/* The cell that a part of a line is, in its place. 0: it is words. */
int attn_group_cell(struct attn_grouping *g, const struct attn_scan_line *line,
                    struct attn_part part, attn_cell *cell);
/* A copy without marks of values, trimmed. Never NULL unless memory is short. */
char *attn_group_text(struct attn_grouping *g, const char *text, struct attn_part part);
void attn_group_above(struct attn_grouping *g, char *text);
int attn_group_is_value(const struct attn_grouping *g, int value); /* its index is in range */

/* Reports rows of different lengths. Returns 0. */
int attn_group_ragged(struct attn_grouping *g, struct attn_source_position place, int cols,
                      int other);

/* A block begins, with the captions of this moment; it is part of nothing yet. NULL: no memory. */
struct attn_block *attn_block_begin(struct attn_grouping *g, int source, int line, char *name);
/* A block in the place of another and those after it, with its words, but no cells yet. NULL: no
 * memory. */
struct attn_block *attn_block_in_place_of(struct attn_grouping *g, const struct attn_block *first,
                                          char *name);
/* The cells of another row of reading 0, to be filled in; cols as the rows before. NULL: no memory,
 * or b is NULL. */
attn_cell *attn_block_add_row(struct attn_grouping *g, struct attn_block *b, int cols,
                              const char *label);
int attn_block_copy_row(struct attn_grouping *g, struct attn_block *b, const attn_cell *cells,
                        int cols, const char *label);
/* Another column of a block of one row. */
int attn_block_widen(struct attn_grouping *g, struct attn_block *b, const attn_cell *cell,
                     const char *label);
int attn_block_label_column(struct attn_grouping *g, struct attn_block *b, const char *label);
/* Another shape; cells may be shared. Without effect if the block has ATTN_READINGS. */
void attn_block_add_reading(struct attn_block *b, int rows, int cols, attn_cell *cells);
/* All shapes of the cells of 2 rows to `most`. */
void attn_block_add_shapes(struct attn_block *b, int most);
/* The block is finished: checks its numbers, makes it the last one. Returns 0: an error. */
int attn_block_end(struct attn_grouping *g, struct attn_block *b, int last_line);

/* margin.c. Is it the sum of others? The product of two? */
int attn_is_sum(const attn_cell *cell, const attn_cell *of, int count, int stride);
int attn_is_product_of(const attn_cell *cell, const attn_cell *a, const attn_cell *b);
/* 0, 1, .. or 1, 2, ..? */
int attn_counts(const attn_cell *cell, int count, int stride);
/* Sorts the blocks from `from` on by the places of their first numbers. */
void attn_blocks_sort(struct attn_grouping *g, int from);

/* The row of a line: 0: it is prose. */
int attn_row_read(struct attn_grouping *g, const struct attn_scan_line *line, struct attn_row *row);

/* Blank cells at its end, up to so many items. */
void attn_row_pad(struct attn_grouping *g, struct attn_row *row, int items);

/* run.c: rows that look alike -> blocks. */
void attn_run_flush(struct attn_grouping *g);
/* Adds a row to the run, or begins another one. 0: it is prose. */
int attn_run_add(struct attn_grouping *g, const struct attn_row *row);

/* drawn.c: a matrix whose brackets are drawn over several lines. */
int attn_drawn_line(struct attn_grouping *g, const struct attn_scan_line *line);
void attn_drawn_end(struct attn_grouping *g, int last_line);

/* sentence.c: vectors and numbers in a sentence. */
void attn_sentence(struct attn_grouping *g, const struct attn_scan_line *line);
/* Is the vector between the parts a term of a sum or product that is worked out? */
int attn_is_term(struct attn_grouping *g, const char *text, struct attn_part front,
                 struct attn_part rest);

/* paragraph.c: does the sentence continue in the next line? join: line is then both; *room: of the
 * copy that it is, 0 at first. 0: no memory */
int attn_paragraph_goes_on(struct attn_grouping *g, const struct attn_scan_line *line,
                           const struct attn_scan_line *next);
int attn_paragraph_join(struct attn_grouping *g, struct attn_scan_line *line,
                        const struct attn_scan_line *next, size_t *room);

/* results.c: the numbers of a sentence: results, lists, sums. */
void attn_results(struct attn_grouping *g, const struct attn_scan_line *line);
/* Equal except for digits and signs? */
int attn_same_letters(const char *a, const char *b);
/* Does the part end in the name of a size or a divisor: "d_k", "sqrt(2)"? */
int attn_is_size(struct attn_grouping *g, const char *text, struct attn_part front);

/* stray.c */
/* What is named directly before `at`: the words since the last comma or sign of equality. */
struct attn_part attn_name_before(const char *text, size_t at);
void attn_stray_cell(struct attn_grouping *g, char *name, const attn_cell *cell, int is_result);
void attn_stray_turn(struct attn_grouping *g, char *name, const attn_cell *cell, int turn);
void attn_stray_of(struct attn_grouping *g, char *name, const attn_cell *cell, int vector,
                   int is_row);
void attn_stray_size(struct attn_grouping *g, char *name, const attn_cell *cell);
/* The numbers in an item that is text: they are not read. */
void attn_stray_item(struct attn_grouping *g, const struct attn_row *row, int item);
/* The numbers at the end of the label of a row: "cat  1 0". */
void attn_stray_label(struct attn_grouping *g, const struct attn_row *row, int item);
/* Values that no block has; sorts all strays. */
void attn_stray_finish(struct attn_grouping *g);

/* mention.c: the numbers of a part of a sentence, except those that begin at one of the places:
 * strays. */
void attn_stray_text(struct attn_grouping *g, const struct attn_scan_line *line,
                     struct attn_part part, const size_t *except, int excepts);
/* Where the text after the number of a part begins, "6.1  √4 = 2": a line near counts on, "6.2 We
 * take". 0: there is none. */
size_t attn_skip_part_number(struct attn_grouping *g, const struct attn_scan_line *line);

/* worked.c: the arithmetic of all lines: scan->worked; its numbers that do not matter are strays.
 */
void attn_worked_lines(struct attn_grouping *g);
void attn_worked_add(struct attn_grouping *g, struct attn_worked worked);

/* shown_rows.c: results that are shown row by row -> one matrix. */
void attn_shown_rows_merge(struct attn_grouping *g);
/* Vectors whose working is beside them -> the vectors. */
void attn_workings_merge(struct attn_grouping *g);

/* recurring.c: vectors that recur with the same words -> matrices. */
void attn_recurring_merge(struct attn_grouping *g);
/* Are these names the same but for indices, which are `step` apart? */
int attn_name_recurs(const char *a, const char *b, int step);

/* parts.c: parts of one matrix -> the matrix. */
void attn_parts_merge(struct attn_grouping *g);

#endif
