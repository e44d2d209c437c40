/* exercise_document.c -- the document of a new lesson: headings, one sentence per step, tables. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "number_text.h"
#include "exercise.h"
#include "step_labels.h"
#include "text_layout.h"
#include "text_writer.h"

enum { TOKEN_BYTES = 64, TITLE_BYTES = 2 * ATTN_EXERCISE_TOKENS * TOKEN_BYTES, ONE_LINE = 100000 };

#define FROM_X "Q = X W_Q, K = X W_K, V = X W_V"
#define FROM_Y "Q = Y W_Q, K = X W_K, V = X W_V"
#define FROM_PLACED "Q = (X + PE) W_Q, K = (X + PE) W_K, V = (X + PE) W_V"

struct writer {
  const struct attn_exercise *sheet;
  struct attn_out *out;
  int32_t head; /* of several, or -1 */
};

struct markdown_table {
  const char *name;
  const double *at;
  int32_t rows, cols;
  const struct attn_exercise_names *row_names, *col_names; /* NULL: numbered */
  int decimals;
  int32_t step;      /* of an answer, which an exercise leaves open; ATTN_STEP_X, 0: given */
  int is_transposed; /* stored by columns */
};

/* ---- Which steps are open, and which are left out ---- */

/* The order of attn_step_name, except that positions are computed before Q: in the mask's place. */
static int32_t order_of(int32_t step) {
  return step == ATTN_STEP_POSITIONS ? ATTN_STEP_MASK : step;
}

static int is_open(const struct writer *w, int32_t step) {
  const attn_lesson_template_config *c = &w->sheet->config;
  return c->blank && step != ATTN_STEP_X && order_of(step) >= order_of(c->first_step);
}

static int is_left_out(const struct writer *w, int32_t step) {
  int32_t last = w->sheet->config.last_step;
  return last && order_of(step) > order_of(last);
}

/* ---- Cells ---- */

static const char *name_of(const struct attn_exercise_names *names, char letter, int32_t n,
                           char text[TOKEN_BYTES]) {
  if (!names || !names->count) return snprintf(text, TOKEN_BYTES, "%c%d", letter, (int)n + 1), text;
  memcpy(text, names->at[n].text, names->at[n].bytes);
  text[names->at[n].bytes] = 0;
  return text;
}

static const char *number_of(const struct markdown_table *t, int32_t i, int32_t j,
                             char text[ATTN_NUMBER_BYTES]) {
  double value = t->at[t->is_transposed ? j * t->rows + i : i * t->cols + j];
  if (isinf(value)) return "-inf";
  return attn_number_fixed(value, t->decimals, text);
}

static int widen(int width, const char *text) {
  int own = attn_text_width(text);
  return own > width ? own : width;
}

static int name_width(const struct markdown_table *t, const char *corner) {
  char text[TOKEN_BYTES];
  int width = widen(2, corner);
  for (int32_t i = 0; i < t->rows; i++) width = widen(width, name_of(t->row_names, 'r', i, text));
  return width;
}

/* One width for all columns. */
static int cell_width(const struct markdown_table *t) {
  char text[TOKEN_BYTES], number[ATTN_NUMBER_BYTES];
  int width = 2;
  for (int32_t j = 0; j < t->cols; j++) {
    width = widen(width, name_of(t->col_names, 'c', j, text));
    for (int32_t i = 0; i < t->rows; i++) width = widen(width, number_of(t, i, j, number));
  }
  return width;
}

static void put_dashes(const struct writer *w, int count) {
  for (int n = 0; n < count; n++) attn_out_text(w->out, "-");
}

static void put_right(const struct writer *w, const char *text, int width) {
  attn_out_text(w->out, " | ");
  attn_out_cell(w->out, text, width);
}

/* ---- Tables ---- */

static void put_table_head(const struct writer *w, const struct markdown_table *t,
                           const char *corner, int names, int cells) {
  char text[TOKEN_BYTES];
  attn_out_text(w->out, "| ");
  attn_out_cell(w->out, corner, -names);
  for (int32_t j = 0; j < t->cols; j++) put_right(w, name_of(t->col_names, 'c', j, text), cells);
  attn_out_text(w->out, " |\n|");
  put_dashes(w, names + 2);
  for (int32_t j = 0; j < t->cols; j++) {
    attn_out_text(w->out, "|");
    put_dashes(w, cells + 1);
    attn_out_text(w->out, ":");
  }
  attn_out_text(w->out, "|\n");
}

static void put_table(const struct writer *w, const struct markdown_table *t) {
  int language = w->out->style.language;
  const char *corner = t->row_names ? attn_message_text(MESSAGE_NEW_TOKEN, language) : "";
  int names = name_width(t, corner), cells = cell_width(t);
  char text[TOKEN_BYTES], number[ATTN_NUMBER_BYTES];
  attn_out_text(w->out, t->name);
  if (w->head >= 0)
    snprintf(text, sizeof text, "_%d", (int)w->head + 1), attn_out_text(w->out, text);
  attn_out_text(w->out, ":\n\n");
  put_table_head(w, t, corner, names, cells);
  for (int32_t i = 0; i < t->rows; i++) {
    attn_out_text(w->out, "| ");
    attn_out_cell(w->out, name_of(t->row_names, 'r', i, text), -names);
    for (int32_t j = 0; j < t->cols; j++)
      put_right(w, is_open(w, t->step) ? "…" : number_of(t, i, j, number), cells);
    attn_out_text(w->out, " |\n");
  }
  attn_out_text(w->out, "\n");
}

/* ---- Sentences ---- */

/* A paragraph; a and b, or NULL, replace its {0} and {1}. */
static void put_filled(const struct writer *w, int message, const char *a, const char *b) {
  attn_out_message(w->out, message, a, b, NULL);
  attn_out_line(w->out, 0);
  attn_out_text(w->out, "\n");
}

static void put_sentence(const struct writer *w, int message) {
  put_filled(w, message, NULL, NULL);
}

static void put_heading(const struct writer *w, const char *marks, int message, const char *a) {
  int32_t width = w->out->style.width;
  w->out->style.width = ONE_LINE;
  attn_out_text(w->out, marks);
  put_filled(w, message, a, NULL);
  w->out->style.width = width;
}

static void append(char text[TITLE_BYTES], const char *more) {
  size_t used = strlen(text);
  snprintf(text + used, TITLE_BYTES - used, "%s", more);
}

static void append_names(const struct attn_exercise_names *names, char text[TITLE_BYTES]) {
  char name[TOKEN_BYTES];
  for (int32_t n = 0; n < names->count; n++) {
    if (n) append(text, " ");
    append(text, name_of(names, 0, n, name));
  }
}

static void put_title(const struct writer *w) {
  const struct attn_exercise *s = w->sheet;
  const char *sentence = s->question.sentence;
  char title[TITLE_BYTES] = "", keys[TITLE_BYTES] = "";
  int32_t kind = s->config.kind;
  append_names(&s->keys, keys);
  if (kind == ATTN_TEMPLATE_CROSS) {
    append_names(&s->queries, title);
    append(title, " → ");
  }
  append_names(&s->keys, title);
  put_heading(w, "# ", MESSAGE_NEW_TITLE + kind,
              kind == ATTN_TEMPLATE_QUESTION ? s->question.text : title);
  put_filled(w, MESSAGE_NEW_IDEA + kind, sentence ? sentence : keys, NULL);
  put_sentence(w, s->config.blank ? MESSAGE_NEW_BLANK : MESSAGE_NEW_SOLVED);
  if (s->has_own_inputs || kind == ATTN_TEMPLATE_SCALING) return;
  attn_out_text(w->out, "tokens: ");
  attn_out_text(w->out, keys);
  attn_out_text(w->out, "\n\n");
}

/* ---- Steps ---- */

static const struct attn_exercise_names *columns_of_features(const struct writer *w) {
  const struct attn_exercise_names *labels = &w->sheet->question.labels;
  return labels->count ? labels : NULL;
}

static void put_inputs(const struct writer *w) {
  const struct attn_exercise *s = w->sheet;
  const struct attn_exercise_names *columns = columns_of_features(w);
  put_sentence(w, s->has_own_inputs  ? MESSAGE_NEW_INPUTS_CROSS
                  : s->has_attention ? MESSAGE_NEW_INPUTS
                                     : MESSAGE_NEW_INPUTS_ONLY);
  if (s->has_own_inputs)
    put_table(w, &(struct markdown_table){"Y", s->y, s->queries.count, s->model, &s->queries,
                                          columns, s->x_decimals, 0, 0});
  put_table(w, &(struct markdown_table){"X", s->x, s->keys.count, s->model, &s->keys, columns,
                                        s->x_decimals, 0, 0});
}

static void put_weight_matrices(const struct writer *w, const struct attn_exercise_head *h) {
  static const char *const names[] = {"W_Q", "W_K", "W_V"};
  for (int m = 0; m < 3; m++)
    put_table(w, &(struct markdown_table){names[m], h->w[m], w->sheet->model, w->sheet->key, NULL,
                                          NULL, w->sheet->w_decimals, 0, 0});
}

/* The first `count` of Q, K and V. */
static void put_vectors(const struct writer *w, const struct attn_exercise_head *h, int count,
                        int is_answer) {
  static const char *const names[] = {"Q", "K", "V"};
  const struct attn_exercise *s = w->sheet;
  for (int m = 0; m < count; m++)
    put_table(w, &(struct markdown_table){names[m], h->qkv[m], m ? s->keys.count : s->queries.count,
                                          s->key, m ? &s->keys : &s->queries,
                                          m < 2 && !is_answer ? columns_of_features(w) : NULL,
                                          s->qkv_decimals, is_answer ? ATTN_STEP_Q + m : 0, 0});
}

static int is_in_columns(const struct writer *w) {
  return w->sheet->config.kind == ATTN_TEMPLATE_COLUMNS;
}

/* A table of queries and keys. */
static void put_square(const struct writer *w, const char *name, const double *at, int decimals,
                       int32_t step) {
  const struct attn_exercise *s = w->sheet;
  const struct attn_exercise_names *q = &s->queries, *k = &s->keys;
  int flip = is_in_columns(w);
  put_table(
      w, &(struct markdown_table){name, at, flip ? k->count : q->count, flip ? q->count : k->count,
                                  flip ? k : q, flip ? q : k, decimals, step, flip});
}

static void put_scores(const struct writer *w, const struct attn_exercise_head *h) {
  if (is_left_out(w, ATTN_STEP_SCORES)) return;
  put_sentence(w, is_in_columns(w) ? MESSAGE_NEW_SCORES_COLUMNS : MESSAGE_NEW_SCORES);
  put_square(w, "scores", h->scores, w->sheet->score_decimals, ATTN_STEP_SCORES);
}

static void put_scaled(const struct writer *w, const struct attn_exercise_head *h) {
  if (is_left_out(w, ATTN_STEP_SCALED)) return;
  put_filled(w, MESSAGE_NEW_SCALED, ATTN_INTEGER_TEXT(w->sheet->key),
             ATTN_NUMBER_TEXT(sqrt(w->sheet->key), ATTN_EXERCISE_DECIMALS));
  put_square(w, "scaled", h->scaled, ATTN_EXERCISE_DECIMALS, ATTN_STEP_SCALED);
}

static void put_masked(const struct writer *w, const struct attn_exercise_head *h) {
  if (is_left_out(w, ATTN_STEP_MASKED)) return;
  put_sentence(w, MESSAGE_NEW_MASK);
  put_square(w, "mask", w->sheet->mask, 0, 0);
  put_sentence(w, MESSAGE_NEW_MASKED);
  put_square(w, "masked", h->masked, ATTN_EXERCISE_DECIMALS, ATTN_STEP_MASKED);
}

static void put_weights(const struct writer *w, const double *weights) {
  if (is_left_out(w, ATTN_STEP_WEIGHTS)) return;
  put_sentence(w, is_in_columns(w) ? MESSAGE_NEW_WEIGHTS_COLUMNS : MESSAGE_NEW_WEIGHTS);
  put_square(w, "weights", weights, ATTN_EXERCISE_DECIMALS, ATTN_STEP_WEIGHTS);
}

/* A computed table, a row for each token. */
static void put_answer(const struct writer *w, int32_t step, const char *name, const double *at,
                       const struct attn_exercise_names *rows, int32_t cols) {
  put_table(w, &(struct markdown_table){name, at, rows->count, cols, rows, NULL,
                                        ATTN_EXERCISE_DECIMALS, step, 0});
}

/* From the scores to the output. */
static void put_attention(const struct writer *w, const struct attn_exercise_head *h) {
  const struct attn_exercise *s = w->sheet;
  put_scores(w, h);
  put_scaled(w, h);
  if (s->config.kind == ATTN_TEMPLATE_CAUSAL) put_masked(w, h);
  put_weights(w, h->weights);
  if (is_left_out(w, ATTN_STEP_OUTPUT)) return;
  put_sentence(w, is_in_columns(w) ? MESSAGE_NEW_OUTPUT_COLUMNS : MESSAGE_NEW_OUTPUT);
  put_answer(w, ATTN_STEP_OUTPUT, "output", h->output, &s->queries, s->key);
}

/* Formulas have a line of their own, which is never broken. */
static void put_projected(const struct writer *w, const struct attn_exercise_head *h, int message,
                          const char *formulas) {
  put_sentence(w, message);
  attn_out_text(w->out, formulas);
  attn_out_text(w->out, "\n\n");
  put_vectors(w, h, 3, 1);
  put_attention(w, h);
}

/* ---- Kinds ---- */

static void put_heads(struct writer *w) {
  const struct attn_exercise *s = w->sheet;
  const int32_t width = s->heads * s->key;
  put_table(
      w, &(struct markdown_table){"W_O", s->w_o, width, s->model, NULL, NULL, s->w_decimals, 0, 0});
  for (w->head = 0; w->head < s->heads; w->head++) {
    put_heading(w, "## ", MESSAGE_NEW_HEADING_HEAD, ATTN_INTEGER_TEXT(w->head + 1));
    put_weight_matrices(w, &s->head[w->head]);
    put_projected(w, &s->head[w->head], MESSAGE_NEW_PROJECT, FROM_X);
  }
  w->head = -1;
  if (is_left_out(w, ATTN_STEP_CONCAT)) return;
  put_heading(w, "## ", MESSAGE_NEW_HEADING_JOIN, NULL);
  put_sentence(w, MESSAGE_NEW_CONCAT);
  put_answer(w, ATTN_STEP_CONCAT, "concat", s->concat, &s->keys, width);
  if (is_left_out(w, ATTN_STEP_PROJECTED)) return;
  put_sentence(w, MESSAGE_NEW_PROJECTED);
  put_answer(w, ATTN_STEP_PROJECTED, "projected", s->projected, &s->keys, s->model);
}

static void put_positions(const struct writer *w) {
  const struct attn_exercise *s = w->sheet;
  put_filled(w, MESSAGE_NEW_POSITIONS, ATTN_POSITIONS_TEXT(s->model), NULL);
  put_answer(w, ATTN_STEP_POSITIONS, "PE", s->positions, &s->keys, s->model);
  put_sentence(w, MESSAGE_NEW_PLACED);
  put_answer(w, ATTN_STEP_POSITIONS, "X + PE", s->placed, &s->keys, s->model);
  if (s->has_attention && !is_left_out(w, ATTN_STEP_Q))
    put_projected(w, s->head, MESSAGE_NEW_PROJECT_PLACED, FROM_PLACED);
}

/* Two examples, as the weights of a single one are either scaled or not. */
static void put_scaling(const struct writer *w) {
  const struct attn_exercise_head *h = w->sheet->head;
  put_heading(w, "## ", MESSAGE_NEW_HEADING_UNSCALED, NULL);
  put_vectors(w, h, 2, 0);
  put_scores(w, h);
  put_sentence(w, MESSAGE_NEW_UNSCALED);
  put_weights(w, h->unscaled);
  put_heading(w, "## ", MESSAGE_NEW_HEADING_SCALED, NULL);
  put_sentence(w, MESSAGE_NEW_SAME);
  put_vectors(w, h, 2, 0);
  put_scores(w, h);
  put_scaled(w, h);
  put_weights(w, h->weights);
  if (!is_left_out(w, ATTN_STEP_WEIGHTS)) put_sentence(w, MESSAGE_NEW_COMPARE);
}

static void put_question(const struct writer *w) {
  const struct attn_exercise *s = w->sheet;
  char answer[TOKEN_BYTES];
  put_sentence(w, MESSAGE_NEW_FEATURES);
  if (s->model) {
    put_inputs(w);
    put_weight_matrices(w, s->head);
    put_projected(w, s->head, MESSAGE_NEW_PROJECT_CROSS, FROM_Y);
  } else {
    put_vectors(w, s->head, 3, 0);
    put_attention(w, s->head);
  }
  if (is_left_out(w, ATTN_STEP_WEIGHTS)) return;
  put_filled(w, s->config.blank ? MESSAGE_NEW_ASK : MESSAGE_NEW_ANSWER,
             name_of(&s->keys, 0, s->question.word[0], answer), NULL);
}

static void put_plain(const struct writer *w) {
  int is_cross = w->sheet->has_own_inputs;
  put_weight_matrices(w, w->sheet->head);
  put_projected(w, w->sheet->head, is_cross ? MESSAGE_NEW_PROJECT_CROSS : MESSAGE_NEW_PROJECT,
                is_cross ? FROM_Y : FROM_X);
}

void attn_exercise_print(const struct attn_exercise *s, struct attn_out *out) {
  struct writer w = {s, out, -1};
  put_title(&w);
  if (s->config.kind == ATTN_TEMPLATE_QUESTION) return put_question(&w);
  if (s->config.kind == ATTN_TEMPLATE_SCALING) return put_scaling(&w);
  put_inputs(&w);
  if (s->config.kind == ATTN_TEMPLATE_POSITIONS) {
    if (s->has_attention) put_weight_matrices(&w, s->head);
    put_positions(&w);
  } else if (s->config.kind == ATTN_TEMPLATE_HEADS) {
    put_heads(&w);
  } else {
    put_plain(&w);
  }
}
