/* fact_tokens.h -- a line as words, numbers and signs. */
#ifndef ATTN_LESSON_FACT_TOKENS_H
#define ATTN_LESSON_FACT_TOKENS_H

#include "facts.h"

enum { ATTN_FACT_TOKENS_MAX = 200 };

enum attn_fact_token_kind { TOKEN_WORD, TOKEN_INDEX, TOKEN_NUMBER, TOKEN_VALUE, TOKEN_SIGN };

struct attn_fact_token {
  int kind;
  char sign; /* SIGN: '=' for arrows, too; '?' for any other character beyond ASCII */
  int value; /* VALUE */
  struct attn_part part;
  attn_cell cell; /* NUMBER */
};

struct attn_fact_reader {
  struct attn_grouping *g;
  const struct attn_scan_line *line;
  const struct attn_block *block; /* NULL: no fact of the line yet */
  int is_text;                    /* 1: the 2 of "2と" is a number, too */
  int tokens;
  struct attn_fact_token token[ATTN_FACT_TOKENS_MAX];
};

/* The tokens of the line; ATTN_FACT_TOKENS_MAX: perhaps not all. */
void attn_fact_tokens(struct attn_fact_reader *r);

int attn_fact_is_kind(const struct attn_fact_reader *r, int at, int kind);
/* Is the token at `at` one of these signs? */
int attn_fact_is_sign(const struct attn_fact_reader *r, int at, const char *set);
/* A whole number, without a sign. */
int attn_fact_is_whole(const struct attn_fact_reader *r, int at);

#endif
