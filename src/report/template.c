/* template.c -- a lesson to start from: small whole numbers, its answers worked out or left out. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "out.h"

enum { TOKENS_MAX = 6, MODEL = 4, KEY = 2 };

struct lesson {
  int tokens;
  char name[TOKENS_MAX][64];
  double x[TOKENS_MAX * MODEL], w[3][MODEL * KEY], qkv[3][TOKENS_MAX * KEY];
  double scores[TOKENS_MAX * TOKENS_MAX], scaled[TOKENS_MAX * TOKENS_MAX];
  double weights[TOKENS_MAX * TOKENS_MAX], output[TOKENS_MAX * KEY];
};

static int split(const char *tokens, struct lesson *l) {
  for (const char *at = tokens; *at && l->tokens < TOKENS_MAX;) {
    size_t n = strcspn(at, " \t");
    if (n >= sizeof l->name[0]) return -1;
    if (n) {
      memcpy(l->name[l->tokens], at, n);
      l->name[l->tokens++][n] = 0;
    }
    at += n + (at[n] != 0);
  }
  return l->tokens ? 0 : -1;
}

static double draw(uint64_t *state, int below) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (double)((*state >> 33) % (uint64_t)below);
}

static void multiply(const double *a, const double *b, double *out, int rows, int inner, int cols, int transposed) {
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < cols; j++) {
      double sum = 0;
      for (int k = 0; k < inner; k++) sum += a[i * inner + k] * (transposed ? b[j * inner + k] : b[k * cols + j]);
      out[i * cols + j] = sum;
    }
}

static void solve(struct lesson *l, uint64_t seed) {
  int n = l->tokens;
  for (int k = 0; k < n * MODEL; k++) l->x[k] = draw(&seed, 3);
  for (int m = 0; m < 3; m++) {
    for (int k = 0; k < MODEL * KEY; k++) l->w[m][k] = draw(&seed, 2);
    multiply(l->x, l->w[m], l->qkv[m], n, MODEL, KEY, 0);
  }
  multiply(l->qkv[0], l->qkv[1], l->scores, n, KEY, n, 1);
  for (int i = 0; i < n; i++) {
    double sum = 0;
    for (int j = 0; j < n; j++) sum += exp(l->scaled[i * n + j] = l->scores[i * n + j] / sqrt(KEY));
    for (int j = 0; j < n; j++) l->weights[i * n + j] = exp(l->scaled[i * n + j]) / sum;
  }
  multiply(l->weights, l->qkv[2], l->output, n, n, KEY, 0);
}

static void table(struct attn_out *out, const char *name, const double *m,
                  int rows, int cols, int digits, int blank) {
  char text[ATTN_NUMBER_BYTES];
  attn_out_format(out, "\n%s\n", name);
  for (int i = 0; i < rows; i++) {
    for (int j = 0; j < cols; j++) {
      snprintf(text, sizeof text, "%.*f", digits, m[i * cols + j]);
      attn_out_format(out, j ? " %s" : "%s", blank ? "…" : text);
    }
    attn_out_text(out, "\n");
  }
}

attn_status attn_lesson_template(const char *tokens, int32_t blank, uint64_t seed,
                                 const attn_style *style, const attn_sink *sink, attn_error *err) {
  struct attn_out out = attn_out_begin(style, sink);
  struct lesson l = {0};
  if (split(tokens ? tokens : out.style.language ? "私 は 猫" : "I have cats", &l))
    return attn_fail(err, ATTN_ERR_ARGUMENT, "tokens", "tokens must be 1 to 6 words of at most 63 bytes");
  solve(&l, seed);
  int n = l.tokens;
  attn_out_text(&out, "# ");
  attn_out_phrase(&out, SAY_TEMPLATE);
  attn_out_text(&out, "\n\ntokens:");
  for (int k = 0; k < n; k++) attn_out_format(&out, " %s", l.name[k]);
  attn_out_text(&out, "\n");
  table(&out, "X", l.x, n, MODEL, 0, 0);
  table(&out, "W_Q", l.w[0], MODEL, KEY, 0, 0);
  table(&out, "W_K", l.w[1], MODEL, KEY, 0, 0);
  table(&out, "W_V", l.w[2], MODEL, KEY, 0, 0);
  table(&out, "Q", l.qkv[0], n, KEY, 0, blank);
  table(&out, "K", l.qkv[1], n, KEY, 0, blank);
  table(&out, "V", l.qkv[2], n, KEY, 0, blank);
  table(&out, "scores", l.scores, n, n, 0, blank);
  table(&out, "scaled", l.scaled, n, n, 4, blank);
  table(&out, "weights", l.weights, n, n, 4, blank);
  table(&out, "output", l.output, n, KEY, 4, blank);
  return attn_out_end(&out, err);
}
