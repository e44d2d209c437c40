/* exercise_numbers.c -- the numbers of a new lesson: drawn, computed, drawn again if degenerate. */
#include <math.h>

#include "exercise.h"

enum { DRAWS = 400, HEAD_DRAWS = 400 };

/* The more scores, the more digits they need to be different and close together. */
enum { INTEGER_KEYS = 5, INTEGER_SCORES = 16, TENTHS_SCORES = 64 };

/* Multiples of 1 / per_unit. */
struct range {
  int32_t lo, hi, per_unit;
};

struct level {
  struct range x, w;
  int32_t x_decimals, w_decimals, qkv_decimals, score_decimals;
  struct range asked, large, small; /* of a question; of a word that has a feature, that has not */
};

static const struct level levels[] = {
    {{0, 2, 1}, {0, 1, 1}, 0, 0, 0, 0, {2, 3, 1}, {3, 4, 1}, {0, 2, 1}},
    {{-9, 19, 10}, {-1, 1, 1}, 1, 0, 1, 2, {10, 20, 10}, {8, 15, 10}, {1, 5, 10}},
    {{-9, 19, 10}, {-3, 3, 2}, 1, 1, 2, 4, {10, 20, 10}, {8, 15, 10}, {1, 5, 10}},
};

uint64_t attn_exercise_random(uint64_t *state, uint64_t below) {
  uint64_t z = *state += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return (z ^ (z >> 31)) % below;
}

static double draw(struct range r, uint64_t *state) {
  uint64_t values = (uint64_t)(r.hi - r.lo + 1);
  return (double)(r.lo + (int32_t)attn_exercise_random(state, values)) / r.per_unit;
}

static void fill(double *m, int32_t count, struct range r, uint64_t *state) {
  for (int32_t n = 0; n < count; n++) m[n] = draw(r, state);
}

/* ---- What is degenerate ---- */

/* Sums of decimals that are equal on paper may differ in their last bits. */
static int are_equal(const double *a, const double *b, int32_t count) {
  for (int32_t n = 0; n < count; n++)
    if (fabs(a[n] - b[n]) > 1e-9) return 0;
  return 1;
}

static int has_equal_rows(const double *m, int32_t rows, int32_t cols) {
  for (int32_t i = 0; i < rows; i++)
    for (int32_t j = 0; j < i; j++)
      if (are_equal(&m[i * cols], &m[j * cols], cols)) return 1;
  return 0;
}

/* Also a column: there a changed operand would change nothing. */
static int has_zero_row(const double *m, int32_t rows, int32_t cols) {
  int32_t by_column[ATTN_EXERCISE_KEY] = {0};
  for (int32_t i = 0; i < rows; i++) {
    int32_t in_row = 0;
    for (int32_t j = 0; j < cols; j++) {
      int is_set = fabs(m[i * cols + j]) > 1e-9;
      in_row += is_set, by_column[j] += is_set;
    }
    if (!in_row) return 1;
  }
  for (int32_t j = 0; j < cols; j++)
    if (!by_column[j]) return 1;
  return 0;
}

/* Judged as printed: between 0.001 and 0.98, no two equal, so no two keys either. */
static int is_degenerate(const struct attn_exercise *s, const double *weights, int32_t row) {
  static const long least = 10, most = 9800;
  int32_t visible = s->config.kind == ATTN_TEMPLATE_CAUSAL ? row + 1 : s->keys.count;
  long printed[ATTN_EXERCISE_TOKENS];
  for (int32_t j = 0; j < visible && visible > 1; j++) {
    printed[j] = lround(weights[row * s->keys.count + j] * 1e4);
    if (printed[j] < least || printed[j] > most) return 1;
    for (int32_t k = 0; k < j; k++)
      if (printed[k] == printed[j]) return 1;
  }
  return 0;
}

/* The answer has the largest weight, half as large again as any other. */
static int is_answered(const struct attn_exercise *s, const double *weights) {
  int32_t answer = s->question.word[0];
  for (int32_t j = 0; j < s->keys.count; j++)
    if (j != answer && weights[answer] < 1.5 * weights[j]) return 0;
  return 1;
}

/* Without the scale the weights are clearly more unequal. */
static int is_sharper(const struct attn_exercise *s, const struct attn_exercise_head *h) {
  double with = 0, without = 0;
  for (int32_t j = 0; j < s->keys.count; j++)
    with = fmax(with, h->weights[j]), without = fmax(without, h->unscaled[j]);
  return without >= 0.85 && with <= without - 0.1;
}

static int is_good(const struct attn_exercise *s, const struct attn_exercise_head *h) {
  int32_t cells = s->model * s->key;
  int by_scale = s->config.kind == ATTN_TEMPLATE_SCALING;
  for (int m = 0; m < 3 && s->model; m++)
    if (has_zero_row(h->w[m], s->model, s->key) || are_equal(h->w[m], h->w[(m + 1) % 3], cells))
      return 0;
  if (has_zero_row(h->qkv[1], s->keys.count, s->key)) return 0;
  if (!by_scale && has_equal_rows(h->qkv[2], s->keys.count, s->key)) return 0;
  for (int32_t i = 0; i < s->queries.count; i++)
    if (is_degenerate(s, h->weights, i) || (by_scale && is_degenerate(s, h->unscaled, i))) return 0;
  if (by_scale) return is_sharper(s, h);
  return s->config.kind != ATTN_TEMPLATE_QUESTION || is_answered(s, h->weights);
}

/* ---- Computing ---- */

/* out = a b, or a b^T if transposed. */
static void multiply(const double *a, const double *b, double *out, int32_t rows, int32_t inner,
                     int32_t cols, int transposed) {
  for (int32_t i = 0; i < rows; i++)
    for (int32_t j = 0; j < cols; j++) {
      double sum = 0;
      for (int32_t k = 0; k < inner; k++)
        sum += a[i * inner + k] * (transposed ? b[j * inner + k] : b[k * cols + j]);
      out[i * cols + j] = sum;
    }
}

static void softmax(const double *scores, double *out, int32_t rows, int32_t cols) {
  for (int32_t i = 0; i < rows; i++, scores += cols, out += cols) {
    double sum = 0, top = -INFINITY;
    for (int32_t j = 0; j < cols; j++) top = fmax(top, scores[j]);
    for (int32_t j = 0; j < cols; j++) sum += out[j] = exp(scores[j] - top);
    for (int32_t j = 0; j < cols; j++) out[j] /= sum;
  }
}

static void attend(const struct attn_exercise *s, struct attn_exercise_head *h) {
  int32_t queries = s->queries.count, keys = s->keys.count;
  multiply(h->qkv[0], h->qkv[1], h->scores, queries, s->key, keys, 1);
  for (int32_t n = 0; n < queries * keys; n++) {
    h->scaled[n] = h->scores[n] / sqrt(s->key);
    h->masked[n] = s->mask[n] != 0 ? h->scaled[n] : -INFINITY;
  }
  softmax(h->masked, h->weights, queries, keys);
  softmax(h->scores, h->unscaled, queries, keys);
  multiply(h->weights, h->qkv[2], h->output, queries, keys, s->key, 0);
}

/* ---- Drawing ---- */

/* Words: columns that are large for the word that answers. */
static void draw_words(const struct attn_exercise *s, const struct level *l, double *m,
                       int32_t cols, uint64_t *state) {
  for (int32_t n = 0; n < s->keys.count * cols; n++)
    m[n] = draw(n / cols == s->question.word[n % cols] ? l->large : l->small, state);
}

/* The question: largest in the first column, never 0. */
static void draw_question(const struct level *l, double *m, int32_t cols, uint64_t *state) {
  const struct range other = {1, l->small.hi - 1, l->small.per_unit};
  for (int32_t j = 0; j < cols; j++) m[j] = draw(j ? other : l->asked, state);
}

/* Q, K and V themselves. */
static void draw_given(const struct attn_exercise *s, const struct level *l,
                       struct attn_exercise_head *h, uint64_t *state) {
  static const struct range entry = {-1, 2, 1};
  int32_t cells = s->keys.count * s->key;
  if (s->config.kind == ATTN_TEMPLATE_QUESTION) {
    draw_question(l, h->qkv[0], s->key, state);
    draw_words(s, l, h->qkv[1], s->key, state);
    fill(h->qkv[2], cells, l->x, state);
    return;
  }
  for (int32_t j = 0; j < s->key; j++) do
      h->qkv[0][j] = draw(entry, state);
    while (h->qkv[0][j] == 0);
  fill(h->qkv[1], cells, entry, state);
}

static void draw_head(const struct attn_exercise *s, const struct level *l,
                      struct attn_exercise_head *h, uint64_t *state) {
  const double *x = s->config.kind == ATTN_TEMPLATE_POSITIONS ? s->placed : s->x;
  const double *from[] = {s->has_own_inputs ? s->y : x, x, x};
  if (!s->model) draw_given(s, l, h, state);
  for (int m = 0; m < 3 && s->model; m++) {
    fill(h->w[m], s->model * s->key, l->w, state);
    multiply(from[m], h->w[m], h->qkv[m], m ? s->keys.count : s->queries.count, s->model, s->key,
             0);
  }
  attend(s, h);
}

static void place(struct attn_exercise *s) {
  for (int32_t n = 0; n < s->keys.count * s->model; n++) {
    int32_t t = n / s->model, j = n % s->model;
    double angle = t / pow(ATTN_POSITION_BASE, (double)(j / 2 * 2) / s->model);
    s->positions[n] = j % 2 ? cos(angle) : sin(angle);
    s->placed[n] = s->x[n] + s->positions[n];
  }
}

/* X and Y. Returns whether they are good. */
static int draw_inputs(struct attn_exercise *s, const struct level *l, uint64_t *state) {
  int32_t keys = s->keys.count, queries = s->queries.count;
  if (!s->model) return 1;
  if (s->config.kind == ATTN_TEMPLATE_QUESTION) {
    draw_words(s, l, s->x, s->model, state);
    draw_question(l, s->y, s->model, state);
  } else {
    fill(s->x, keys * s->model, l->x, state);
    fill(s->y, queries * s->model, l->x, state);
  }
  place(s);
  if (has_equal_rows(s->x, keys, s->model) || has_zero_row(s->x, keys, s->model)) return 0;
  return !s->has_own_inputs ||
         (!has_equal_rows(s->y, queries, s->model) && !has_zero_row(s->y, queries, s->model));
}

static int draw_heads(struct attn_exercise *s, const struct level *l, uint64_t *state) {
  for (int32_t h = 0; h < s->heads && s->has_attention; h++) {
    int tries = HEAD_DRAWS;
    do draw_head(s, l, &s->head[h], state);
    while (!is_good(s, &s->head[h]) && --tries);
    if (!tries) return 0;
  }
  return 1;
}

static void join(struct attn_exercise *s, const struct level *l, uint64_t *state) {
  int32_t width = s->heads * s->key;
  for (int32_t n = 0; n < s->queries.count * width; n++)
    s->concat[n] = s->head[n % width / s->key].output[n / width * s->key + n % s->key];
  do fill(s->w_o, width * s->model, l->w, state);
  while (has_zero_row(s->w_o, width, s->model));
  multiply(s->concat, s->w_o, s->projected, s->queries.count, width, s->model, 0);
}

/* ---- The widths ---- */

static void set_widths(struct attn_exercise *s) {
  static const int32_t scaling[] = {4, 9, 16};
  int32_t kind = s->config.kind, level = s->config.level;
  s->heads = kind == ATTN_TEMPLATE_HEADS ? s->config.num_heads : 1;
  s->key = level == 3 && kind != ATTN_TEMPLATE_HEADS && kind != ATTN_TEMPLATE_POSITIONS ? 3 : 2;
  s->model = level == 3 ? 4 : 3;
  if (kind == ATTN_TEMPLATE_HEADS) s->model = 4;
  if (kind == ATTN_TEMPLATE_POSITIONS) s->model = level == 1 ? 2 : 4;
  if (kind == ATTN_TEMPLATE_SCALING) s->model = 0, s->key = scaling[level - 1];
  if (kind == ATTN_TEMPLATE_QUESTION) s->model = level == 1 ? 0 : ATTN_EXERCISE_FEATURES;
  s->has_attention = kind != ATTN_TEMPLATE_POSITIONS || level == 3;
  s->has_own_inputs = kind == ATTN_TEMPLATE_CROSS || kind == ATTN_TEMPLATE_QUESTION;
}

static void set_decimals(struct attn_exercise *s, const struct level *l) {
  int is_placed = s->config.kind == ATTN_TEMPLATE_POSITIONS;
  s->x_decimals = l->x_decimals, s->w_decimals = l->w_decimals;
  s->qkv_decimals = is_placed ? ATTN_EXERCISE_DECIMALS : s->model ? l->qkv_decimals : l->x_decimals;
  s->score_decimals = is_placed ? ATTN_EXERCISE_DECIMALS : l->score_decimals;
  if (s->config.kind == ATTN_TEMPLATE_SCALING) s->qkv_decimals = s->score_decimals = 0;
}

static struct level choose_level(const struct attn_exercise *s) {
  int32_t keys = s->keys.count, scores = keys * s->queries.count, n = s->config.level - 1;
  if (n == 0 && (keys > INTEGER_KEYS || scores > INTEGER_SCORES)) n = 1;
  if (n == 1 && scores > TENTHS_SCORES) n = 2;
  struct level l = levels[n];
  if (n == 0 && s->config.kind == ATTN_TEMPLATE_HEADS) l.x.hi = 1; /* X is wider */
  return l;
}

int attn_exercise_draw(struct attn_exercise *s, uint64_t *state) {
  int32_t keys = s->keys.count, tries = DRAWS;
  const struct level l = choose_level(s);
  set_widths(s);
  set_decimals(s, &l);
  for (int32_t n = 0; n < s->queries.count * keys; n++)
    s->mask[n] = s->config.kind != ATTN_TEMPLATE_CAUSAL || n % keys <= n / keys;
  while (!draw_inputs(s, &l, state) || !draw_heads(s, &l, state))
    if (!--tries) return -1;
  if (s->config.kind == ATTN_TEMPLATE_HEADS) join(s, &l, state);
  return 0;
}
