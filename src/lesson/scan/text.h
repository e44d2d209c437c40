/* text.h -- between text.c, notation.c, bracketed.c and scan.c: text that grows and remembers where
 * each byte comes from. */
#ifndef ATTN_LESSON_TEXT_H
#define ATTN_LESSON_TEXT_H

#include "scan.h"

/* A blank of canonical text. */
static inline int attn_is_space(uint32_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* A rule of a LaTeX table. Blank elsewhere. */
#define ATTN_MARK_RULE "\f"

enum attn_notation_kind {
  ATTN_NOTATION_HTML = 1,
  ATTN_NOTATION_TEX = 2,
  ATTN_NOTATION_TYPST = 4,
  ATTN_NOTATION_PROMPTS = 8, /* In[1]:= */
  ATTN_NOTATION_WIKI = 16,
  ATTN_NOTATION_ASCIIDOC = 32,
  ATTN_NOTATION_SEMICOLONS = 64, /* "0,5";"1,2", cat;0,5 */
};

struct attn_text {
  struct attn_pool *pool;
  struct attn_canonical now; /* 0-terminated once attn_text_end was called */
  size_t capacity;
  int failed; /* out of memory: everything that is added is lost */
};

/* Adds bytes that all come from the same offset. */
void attn_text_add(struct attn_text *t, const char *text, size_t bytes, uint32_t origin);
/* Adds [begin, end) of another text with its origins. */
void attn_text_copy(struct attn_text *t, const struct attn_canonical *from, size_t begin,
                    size_t end);
void attn_text_clear(struct attn_text *t);
/* Ends the text in 0; origin: of the end. */
void attn_text_end(struct attn_text *t, uint32_t origin);

/* text.c: where the next matrix begins or ends, or the text. */
size_t attn_next_matrix_mark(const struct attn_canonical *text, size_t at);

/* Rewrites text; spare is of use while it changes. Both change roles.
 * notation.c */
struct attn_rewrite {
  struct attn_scan *scan;
  struct attn_text *text, *spare;
};
/* Replaces each match of the pattern; $1 to $9 in `replacement` are its groups. needs: characters,
 * at least one of which any match contains. */
void attn_rewrite_all(struct attn_rewrite *r, const char *pattern, const char *replacement,
                      const char *needs);
/* The text from `from` on is as it was: r->spare, with the rest of it, becomes the text. */
void attn_rewrite_end(struct attn_rewrite *r, size_t from);
/* LaTeX, HTML, arrays of programs: all to marks. kinds: bits of attn_notation_kind. */
void attn_rewrite_notations(struct attn_rewrite *r, int kinds);
/* commas.c: decimal commas and separators of thousands. */
void attn_rewrite_commas(struct attn_rewrite *r);
/* Bars between the numbers after a label; before the commas. */
void attn_rewrite_bars(struct attn_rewrite *r);

/* leader.c: blanks the signs that comments of programs begin their lines with. */
void attn_blank_leaders(struct attn_rewrite *r);

/* dialects.c: what one format, program or kind of text writes. */
void attn_rewrite_dialects(struct attn_rewrite *r);

/* cell_list.c: lines with one cell of a spreadsheet each -> matrices. */
void attn_rewrite_cell_list(struct attn_rewrite *r);

/* markup.c: the tables of wikis, of AsciiDoc and of nested lists -> rows between pipes. */
void attn_markup_tables(struct attn_rewrite *r, int kinds);

/* character.c: the code point as plain text where it is a variant of a plainer one, else NULL.
 * buffer: at least 3 bytes, for the result. */
const char *attn_plain_character(uint32_t c, char *buffer);
/* The digit or sign that is raised: 2 of a square, - of 10 to the -3; 0: c is another character. */
char attn_superscript(uint32_t c);
/* The code point of the HTML entity at text ("&minus;"); *length is what it takes. 0: none. */
uint32_t attn_entity(const char *text, size_t bytes, size_t *length);
/* Writes c as UTF-8; returns the bytes, at most 4. */
size_t attn_scan_put_character(uint32_t c, char *out);

/* bracketed.c: one reader for a text. attn_read_value: 1: a value begins at `at` and ends before
 * *end; 0: none, or an error, which attn_value_status then returns. */
struct attn_value_reader;
struct attn_value_reader *attn_value_reader_new(struct attn_scan *scan,
                                                const struct attn_canonical *text);
int attn_read_value(struct attn_value_reader *p, size_t at, struct attn_scan_value *value,
                    size_t *end);
attn_status attn_value_status(const struct attn_value_reader *p);
/* The matrix in the bracket at `at`, one number too. strict: rows of different lengths are an
 * error, else they are no matrix. 0: none, or an error. */
int attn_read_array(struct attn_value_reader *p, size_t at, int strict, attn_printing *table,
                    size_t *end);

/* notebook.c: replaces the text of a notebook by that of its cells, and the file name by one that
 * fits; leaves any other text as it is. */
attn_status attn_notebook_text(struct attn_scan *scan, const char **text, size_t *bytes,
                               const char **file);

/* scan.c: fails with the line and column of a byte of the source. */
attn_status attn_scan_fail(struct attn_scan *scan, size_t offset, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
attn_status attn_scan_no_memory(struct attn_scan *scan);

/* constructor.c: calls that make a matrix of a flat list. */
void attn_rewrite_calls(struct attn_rewrite *r);

#endif
