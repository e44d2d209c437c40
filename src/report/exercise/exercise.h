/* exercise.h -- a new lesson: what is requested, its numbers, and the document. */
#ifndef ATTN_REPORT_EXERCISE_H
#define ATTN_REPORT_EXERCISE_H

#include <stddef.h>

#include "attn/lesson.h"

enum {
  ATTN_EXERCISE_TOKENS = 12,
  ATTN_EXERCISE_HEADS_MAX = 4,
  ATTN_EXERCISE_MODEL = 8, /* of X, and of 4 heads of 2 side by side */
  ATTN_EXERCISE_KEY = 16,  /* the widest K: of scaling */
  ATTN_EXERCISE_FEATURES = 3,
  ATTN_EXERCISE_DECIMALS = 4
};

struct attn_exercise_token {
  const char *text;
  size_t bytes;
};

/* The names of rows or columns; none: r1, r2 or c1, c2. */
struct attn_exercise_names {
  int32_t count;
  struct attn_exercise_token at[ATTN_EXERCISE_TOKENS];
};

/* Of a question. Column f of the words is large for the word that answers question f; 0 is that of
 * the question. */
struct attn_exercise_question {
  const char *sentence, *text;
  struct attn_exercise_names labels;    /* of the columns, or none */
  int32_t word[ATTN_EXERCISE_FEATURES]; /* indices of tokens; -1: none */
};

struct attn_exercise_head {
  double w[3][ATTN_EXERCISE_MODEL * ATTN_EXERCISE_KEY]; /* W_Q, W_K, W_V */
  double qkv[3][ATTN_EXERCISE_TOKENS * ATTN_EXERCISE_KEY];
  double scores[ATTN_EXERCISE_TOKENS * ATTN_EXERCISE_TOKENS]; /* queries x keys */
  double scaled[ATTN_EXERCISE_TOKENS * ATTN_EXERCISE_TOKENS];
  double masked[ATTN_EXERCISE_TOKENS * ATTN_EXERCISE_TOKENS];
  double weights[ATTN_EXERCISE_TOKENS * ATTN_EXERCISE_TOKENS];
  double unscaled[ATTN_EXERCISE_TOKENS * ATTN_EXERCISE_TOKENS]; /* softmax(scores) */
  double output[ATTN_EXERCISE_TOKENS * ATTN_EXERCISE_KEY];
};

struct attn_exercise {
  attn_lesson_template_config config; /* without zeros that select the defaults */
  struct attn_exercise_names keys, queries;
  struct attn_exercise_question question;
  int32_t heads, model, key; /* the widths of X and of a head's K; model 0: Q, K, V are given */
  int has_attention, has_own_inputs; /* has_own_inputs: queries from Y */
  int32_t x_decimals, w_decimals, qkv_decimals, score_decimals;
  double x[ATTN_EXERCISE_TOKENS * ATTN_EXERCISE_MODEL];
  double y[ATTN_EXERCISE_TOKENS * ATTN_EXERCISE_MODEL];
  double positions[ATTN_EXERCISE_TOKENS * ATTN_EXERCISE_MODEL];
  double placed[ATTN_EXERCISE_TOKENS * ATTN_EXERCISE_MODEL]; /* X + positions */
  double mask[ATTN_EXERCISE_TOKENS * ATTN_EXERCISE_TOKENS];
  struct attn_exercise_head head[ATTN_EXERCISE_HEADS_MAX];
  double w_o[ATTN_EXERCISE_MODEL * ATTN_EXERCISE_MODEL];
  double concat[ATTN_EXERCISE_TOKENS * ATTN_EXERCISE_MODEL];
  double projected[ATTN_EXERCISE_TOKENS * ATTN_EXERCISE_MODEL];
};

/* SplitMix64: a seed gives the same lesson on every machine. */
uint64_t attn_exercise_random(uint64_t *state, uint64_t below);

/* A sentence of the language and one of its questions. */
void attn_exercise_ask(int32_t language, uint64_t *state, const char **tokens,
                       struct attn_exercise_question *question);

/* Draws numbers for config, keys, queries and question until none is degenerate, and computes every
 * step. Returns 0, or -1 if no draw of a bounded number succeeds. */
int attn_exercise_draw(struct attn_exercise *s, uint64_t *state);

struct attn_out;
void attn_exercise_print(const struct attn_exercise *s, struct attn_out *out);

#endif
