/* evidence.c -- before any role: which blocks are products of which. */
#include <math.h>
#include <string.h>

#include "role_search.h"

/* Bits, and other constants of the evidence. */
enum { APART = 24 };                /* blocks between a factor and its product */
static const double MISFIT = 5;     /* a cell that is not the product's */
static const double MOST_MISS = .3; /* of the cells */
static const double LEAST = 8;      /* of a product that counts */
static const double PER_ROLE = .25; /* of a product's bits, to the role of a factor */
static const double ROLE_MOST = 7;
static const double RESULT = 1; /* to the roles of the product */
static const double WORK = 1e7; /* multiplications at most */

struct product_search {
  const struct attn_grid *const *grid;
  int blocks;
  unsigned char finite[ATTN_EVIDENCE_MAX];  /* and small */
  unsigned char weights[ATTN_EVIDENCE_MAX]; /* rows that sum to 1 */
  unsigned char symmetric[ATTN_EVIDENCE_MAX];
  int of_symmetric; /* 1: products a b^T with b = b^T are looked for, else the others */
  struct attn_evidence *out;
  double work;
};

static int is_finite(const struct attn_grid *g) {
  int cells = g->rows * g->cols;
  if (cells > ATTN_EVIDENCE_CELLS) return 0;
  for (int i = 0; i < cells; i++)
    if (!isfinite(g->value[i])) return 0;
  return 1;
}

static int is_stochastic(const struct attn_grid *g) {
  if (g->rows * g->cols < 2 || g->decimals <= 0) return 0;
  for (int i = 0; i < g->rows; i++) {
    double sum = 0;
    for (int j = 0; j < g->cols; j++) {
      double v = g->value[i * g->cols + j];
      if (v < 0) return 0;
      sum += v;
    }
    if (fabs(sum - 1) > g->half[0] * g->cols + 1e-9) return 0;
  }
  return 1;
}

/* One element of a b or a b^T, and how far rounding may move it. */
struct product_element {
  double value, slack;
};

static struct product_element element_of(const struct attn_grid *a, const struct attn_grid *b,
                                         int transposed, int i, int j) {
  struct product_element e = {0, 1e-9};
  for (int k = 0; k < a->cols; k++) {
    int at = i * a->cols + k, bt = transposed ? j * b->cols + k : k * b->cols + j;
    e.value += a->value[at] * b->value[bt];
    if (b->decimals) e.slack += fabs(a->value[at]) * b->half[bt];
    if (a->decimals) e.slack += a->half[at] * fabs(b->value[bt]);
  }
  return e;
}

/* The bits that c saves as the product; 0: it is not. */
static double product_bits(struct product_search *e, const struct attn_grid *a,
                           const struct attn_grid *b, int transposed, const struct attn_grid *c) {
  int cells = c->rows * c->cols, misses = 0;
  double bits = 0;
  for (int i = 0; i < cells; i++) {
    struct product_element x = element_of(a, b, transposed, i / c->cols, i % c->cols);
    x.slack += c->half[i] * 1.02;
    e->work -= a->cols;
    if (fabs(x.value - c->value[i]) <= x.slack)
      bits += fmax(0, c->bits[i] - log2(x.slack / c->half[i]));
    else if (++misses > MOST_MISS * cells)
      return 0;
  }
  bits -= MISFIT * misses;
  return bits < LEAST ? 0 : bits;
}

static void give(struct product_search *e, int block, const int *roles, double bits) {
  double *have = e->out[block].bits;
  for (; *roles != ATTN_ROLE_OTHER; roles++)
    if (have[*roles] < bits) have[*roles] = bits;
}

/* The roles of a product and of its factors. */
struct product_roles {
  int left[4], right[5], result[5];
};
static const struct product_roles QK = {{ATTN_ROLE_Q, ATTN_ROLE_OTHER},
                                        {ATTN_ROLE_K, ATTN_ROLE_OTHER},
                                        {ATTN_ROLE_SCORES, ATTN_ROLE_OTHER}};
static const struct product_roles AV = {{ATTN_ROLE_WEIGHTS, ATTN_ROLE_OTHER},
                                        {ATTN_ROLE_V, ATTN_ROLE_OTHER},
                                        {ATTN_ROLE_OUTPUT, ATTN_ROLE_OTHER}};
static const struct product_roles XW = {
    {ATTN_ROLE_X, ATTN_ROLE_CONCAT, ATTN_ROLE_POSITIONED, ATTN_ROLE_OTHER},
    {ATTN_ROLE_W_Q, ATTN_ROLE_W_K, ATTN_ROLE_W_V, ATTN_ROLE_W_O, ATTN_ROLE_OTHER},
    {ATTN_ROLE_Q, ATTN_ROLE_K, ATTN_ROLE_V, ATTN_ROLE_PROJECTED, ATTN_ROLE_OTHER}};

static void try_product(struct product_search *e, int a, int b, int transposed, int c) {
  const struct attn_grid *A = e->grid[a], *B = e->grid[b], *C = e->grid[c];
  int inner = transposed ? B->cols : B->rows, cols = transposed ? B->rows : B->cols;
  if ((transposed && e->symmetric[b]) != e->of_symmetric) return;
  if (A->cols != inner || A->rows != C->rows || cols != C->cols || e->work < 0) return;
  double bits = product_bits(e, A, B, transposed, C);
  if (bits <= 0) return;
  const struct product_roles *p = transposed ? &QK : e->weights[a] ? &AV : &XW;
  bits = fmin(ROLE_MOST, bits * PER_ROLE);
  give(e, a, p->left, bits);
  give(e, b, p->right, bits);
  give(e, c, p->result, RESULT);
}

static void try_result(struct product_search *e, int c) {
  for (int a = 0; a < e->blocks; a++) {
    int apart = a > c ? a - c : c - a;
    if (a == c || apart > APART || !e->finite[a]) continue;
    if (e->weights[c] && !e->weights[a]) continue; /* weights are a product of weights only */
    if (e->grid[a]->rows != e->grid[c]->rows) continue;
    for (int b = 0; b < e->blocks; b++) {
      if (b == a || b == c || !e->finite[b] || (e->of_symmetric && !e->symmetric[b])) continue;
      try_product(e, a, b, 0, c);
      try_product(e, a, b, 1, c);
    }
  }
}

void attn_find_evidence(const struct attn_grid *const *grid, int blocks,
                        struct attn_evidence *out) {
  memset(out, 0, (size_t)blocks * sizeof *out);
  if (blocks > ATTN_EVIDENCE_MAX) return;
  struct product_search e = {.grid = grid, .blocks = blocks, .out = out, .work = WORK};
  for (int i = 0; i < blocks; i++) {
    e.finite[i] = (unsigned char)is_finite(grid[i]);
    e.weights[i] = (unsigned char)(e.finite[i] && is_stochastic(grid[i]));
    e.symmetric[i] = (unsigned char)(e.finite[i] && attn_grid_is_symmetric(grid[i]));
  }
  for (int c = 0; c < blocks; c++)
    if (e.finite[c]) try_result(&e, c);
  e.of_symmetric = 1;
  for (int c = 0; c < blocks; c++)
    if (e.finite[c]) try_result(&e, c);
}
