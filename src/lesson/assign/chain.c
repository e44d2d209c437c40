/* chain.c -- the operations of a relation: their shapes, and their value over intervals. */
#include <string.h>

#include "relations.h"

static const double RELATION_WORK = 4e6, DOCUMENT_WORK = 2e8; /* multiplications */
static const double NUMBER_WORK = 16; /* of every number that is kept: bounds memory as well */

struct shape {
  int rows, cols;
};

int attn_relations_afford(struct attn_relations *r, double work) {
  r->work += work;
  return r->work <= DOCUMENT_WORK;
}

/* ---- shapes ---- */

static struct shape shape_of(const attn_matrix *m) { return (struct shape){m->rows, m->cols}; }

static double product3(int a, int b, int c) { return (double)a * b * c; }

/* Each returns 1 if the operands go together; *work: multiplications. */
static int product_shape(int op, const struct shape *a, struct shape *out, double *work) {
  int ta = op == ATTN_OP_MATMUL_TN, tb = op == ATTN_OP_MATMUL_NT;
  int inner = ta ? a[0].rows : a[0].cols;
  *out = (struct shape){ta ? a[0].cols : a[0].rows, tb ? a[1].rows : a[1].cols};
  *work = product3(out->rows, inner, out->cols);
  return inner == (tb ? a[1].cols : a[1].rows);
}

/* b may be one row, one column or one value. */
static int fits_in(struct shape b, struct shape a) {
  return (b.rows == a.rows || b.rows == 1) && (b.cols == a.cols || b.cols == 1);
}

static int add_shape(const struct shape *a, struct shape *out) {
  int turned = a[0].rows == 1 && a[1].rows > 1;
  *out = a[turned];
  return fits_in(a[!turned], a[turned]);
}

static int same_shape(struct shape a, struct shape b) {
  return a.rows == b.rows && a.cols == b.cols;
}

/* Of the sums along an axis. */
static struct shape sum_shape(int axis, struct shape a) {
  return axis ? (struct shape){a.rows, 1} : (struct shape){1, a.cols};
}

static int append_shape(int operands, const struct shape *a, struct shape *out) {
  for (int n = 1; n < operands; n++) {
    if (a[n].rows != a[0].rows) return 0;
    out->cols += a[n].cols;
  }
  return 1;
}

static int general_shape(const struct shape *a, struct shape *out, double *work) {
  *out = (struct shape){a[0].rows, a[1].rows};
  *work = product3(a[0].rows, a[2].rows, a[2].cols) + product3(a[0].rows, a[2].cols, a[1].rows);
  return a[0].cols == a[2].rows && a[2].cols == a[1].cols;
}

/* The last term: tanh, and the memory of each sum. */
static int additive_shape(const struct shape *a, struct shape *out, double *work) {
  struct shape w = a[2], up = a[3], v = a[4];
  *out = (struct shape){a[0].rows, a[1].rows};
  *work = product3(a[0].rows, w.rows, w.cols) + product3(a[1].rows, up.rows, up.cols) +
          product3(a[0].rows, a[1].rows, w.rows) * 8 * NUMBER_WORK;
  return a[0].cols == w.cols && a[1].cols == up.cols && w.rows == up.rows &&
         (v.rows == 1 || v.cols == 1) && (double)v.rows * v.cols == w.rows;
}

static int result_shape(const struct attn_use *u, const struct shape *a, struct shape *out,
                        double *work) {
  *out = u->operands ? a[0] : shape_of(&u->constant); /* a constant, positions */
  *work = product3(out->rows, out->cols, u->op == ATTN_OP_GIVEN ? 0 : 4);
  switch (u->op) {
    case ATTN_OP_MATMUL:
    case ATTN_OP_MATMUL_NT:
    case ATTN_OP_MATMUL_TN:
      return product_shape(u->op, a, out, work);
    case ATTN_OP_TRANSPOSE:
      return *out = (struct shape){a[0].cols, a[0].rows}, 1;
    case ATTN_OP_MASK:
      return fits_in(a[1], a[0]);
    case ATTN_OP_ADD:
      return add_shape(a, out);
    case ATTN_OP_SUM:
      return *out = sum_shape(u->axis, a[0]), 1;
    case ATTN_OP_QUOTIENT:
      return same_shape(a[1], sum_shape(u->axis, a[0]));
    case ATTN_OP_APPEND:
      return append_shape(u->operands, a, out);
    case ATTN_OP_COLUMNS:
      out->cols = u->constant.cols;
      return u->scalar + out->cols <= a->cols;
    case ATTN_OP_GENERAL:
      return general_shape(a, out, work);
    case ATTN_OP_ADDITIVE:
      return additive_shape(a, out, work);
    default:
      return 1;
  }
}

static int use_shape(const struct attn_draft *x, int n, struct shape *result, double *work) {
  const struct attn_use *u = &x->use[n];
  struct shape operand[ATTN_HEADS_MAX];
  double multiplications;
  for (int k = 0; k < u->operands; k++)
    operand[k] = u->operand[k] >= 0 ? shape_of(&x->operand[u->operand[k]]->carried.lo)
                                    : result[-1 - u->operand[k]];
  if (!result_shape(u, operand, &result[n], &multiplications)) return 0;
  *work += multiplications + NUMBER_WORK * result[n].rows * result[n].cols;
  return *work <= RELATION_WORK;
}

int attn_chain_shape(const struct attn_draft *x, int *rows, int *cols, double *work) {
  struct shape result[ATTN_USES_MAX];
  int uses = x->relation.uses;
  *work = 0;
  for (int n = 0; n < uses; n++)
    if (!use_shape(x, n, result, work)) return 0;
  if (uses < 1) return 0;
  *rows = result[uses - 1].rows;
  *cols = result[uses - 1].cols;
  return 1;
}

/* ---- identities ---- */

enum { KEY_MAX = 1 + ATTN_HEADS_MAX + 1 + ATTN_USES_MAX * (7 + ATTN_HEADS_MAX) };

static size_t chain_key(const struct attn_draft *x, uint64_t *key) {
  size_t n = 0;
  key[n++] = (uint64_t)x->relation.operands;
  for (int k = 0; k < x->relation.operands; k++) key[n++] = (uint64_t)x->operand[k]->id;
  for (int i = 0; i < x->relation.uses; i++) {
    const struct attn_use *u = &x->use[i];
    int constant = u->constant.rows > 0;
    key[n++] = (uint64_t)u->op | (uint64_t)u->axis << 8 | (uint64_t)u->operands << 16 |
               (uint64_t)constant << 24 | (uint64_t)u->base << 32;
    memcpy(&key[n++], &u->scalar, sizeof u->scalar);
    if (constant) {
      key[n++] = (uint64_t)(uintptr_t)u->constant.at; /* one for each content */
      key[n++] = (uint64_t)u->constant.rows << 32 | (uint64_t)u->constant.cols;
    }
    for (int k = 0; k < u->operands; k += 8) { /* eight in a word */
      uint64_t word = 0;
      for (int j = k; j < k + 8 && j < u->operands; j++) word = word << 8 | (uint8_t)u->operand[j];
      key[n++] = word;
    }
  }
  return n * sizeof *key;
}

static void *copy_of(struct attn_relations *r, const void *from, int count, size_t size) {
  void *copy = attn_pool_take(r->pool, (size_t)count * size);
  if (!copy) return r->failed = 1, NULL;
  return memcpy(copy, from, (size_t)count * size);
}

static struct attn_chain *new_chain(struct attn_relations *r, const struct attn_draft *x,
                                    double work) {
  const struct attn_relation *of = &x->relation;
  struct attn_chain *chain = attn_pool_take(r->pool, sizeof *chain);
  const void *operand = copy_of(r, x->operand, of->operands, sizeof *x->operand);
  const void *use = copy_of(r, x->use, of->uses, sizeof *x->use);
  if (!chain || !operand || !use) return NULL;
  *chain = (struct attn_chain){.id = ++r->chains, .work = work};
  chain->operands = of->operands, chain->operand = operand;
  chain->uses = of->uses, chain->use = use;
  return chain;
}

/* The uses of a chain may bear other names. */
static const struct attn_use *uses_of(struct attn_relations *r, const struct attn_draft *x,
                                      const struct attn_chain *chain) {
  size_t bytes = (size_t)chain->uses * sizeof *x->use;
  return memcmp(x->use, chain->use, bytes) ? copy_of(r, x->use, chain->uses, sizeof *x->use)
                                           : chain->use;
}

int attn_relation_of(struct attn_relations *r, const struct attn_draft *x, double work,
                     struct attn_relation *out) {
  uint64_t key[KEY_MAX];
  size_t bytes = chain_key(x, key);
  struct attn_memo_entry *e = attn_memo_at(r->pool, &r->chain, key, bytes);
  if (e && !e->value) e->value = new_chain(r, x, work);
  struct attn_chain *chain = e ? e->value : NULL;
  *out = x->relation;
  if (chain) out->chain = chain, out->operand = chain->operand, out->use = uses_of(r, x, chain);
  if (!chain || !out->use) r->failed = 1;
  return !r->failed;
}

attn_matrix attn_relations_constant(struct attn_relations *r, int rows, int cols,
                                    const double *numbers) {
  size_t count = (size_t)rows * (size_t)cols;
  if (!attn_relations_afford(r, NUMBER_WORK * (double)count)) return (attn_matrix){0, 0, NULL};
  double *key = attn_pool_take(r->pool, (count + 2) * sizeof *key);
  struct attn_memo_entry *e = NULL;
  if (key) {
    key[0] = rows, key[1] = cols;
    memcpy(key + 2, numbers, count * sizeof *numbers);
    e = attn_memo_at(r->pool, &r->constant, key, (count + 2) * sizeof *key);
  }
  if (!e) r->failed = 1;
  return (attn_matrix){rows, cols, e ? e->key + 2 : NULL};
}

/* ---- values ---- */

static attn_status evaluate(struct attn_relations *r, const struct attn_chain *x, int n,
                            struct attn_interval_matrix *result) {
  const struct attn_use *u = &x->use[n];
  const struct attn_interval_matrix *operand[ATTN_HEADS_MAX];
  char none[] = "";
  attn_step step = {.name = u->name, .op = u->op, .axis = u->axis, .operands = u->operands};
  step.scalar = u->scalar, step.scaled_by = u->scaled_by, step.base = u->base;
  step.symbol = none;
  step.exact = u->constant;
  if (u->op == ATTN_OP_GIVEN) {
    result[n] = (struct attn_interval_matrix){u->constant, u->constant};
    return ATTN_OK;
  }
  for (int k = 0; k < u->operands; k++)
    operand[k] =
        u->operand[k] >= 0 ? &x->operand[u->operand[k]]->carried : &result[-1 - u->operand[k]];
  return attn_interval_step(&step, operand, 0, r->pool, &result[n], NULL);
}

/* A copy of the last result; those before it are freed. 0: no memory. */
static int keep_last(struct attn_relations *r, const struct attn_interval_matrix *last,
                     struct attn_pool_mark mark, struct attn_interval_matrix *out) {
  size_t cells = (size_t)last->lo.rows * (size_t)last->lo.cols, bytes = 2 * cells * sizeof(double);
  double *at = attn_pool_take(r->pool, bytes);
  if (!at) return r->failed = 1, 0;
  memcpy(at, last->lo.at, cells * sizeof *at);
  memcpy(at + cells, last->hi.at, cells * sizeof *at);
  at = attn_pool_rewind(r->pool, mark, at, bytes);
  *out = (struct attn_interval_matrix){{last->lo.rows, last->lo.cols, at},
                                       {last->lo.rows, last->lo.cols, at + cells}};
  return 1;
}

/* A query that sees nothing: documents print zeros, equal parts or anything. */
static void free_empty_lines(struct attn_interval_matrix *m, int axis) {
  int lines = axis ? m->lo.rows : m->lo.cols, length = axis ? m->lo.cols : m->lo.rows;
  size_t across = axis ? (size_t)m->lo.cols : 1, along = axis ? 1 : (size_t)m->lo.cols;
  for (int l = 0; l < lines; l++) {
    int empty = 1;
    for (int k = 0; k < length; k++)
      empty &= !(m->hi.at[(size_t)l * across + (size_t)k * along] > 0);
    for (int k = 0; empty && k < length; k++) m->hi.at[(size_t)l * across + (size_t)k * along] = 1;
  }
}

const struct attn_interval_matrix *attn_chain_value(struct attn_relations *r,
                                                    struct attn_chain *chain) {
  struct attn_interval_matrix result[ATTN_USES_MAX];
  if (chain->value.lo.at) return &chain->value;
  if (!attn_relations_afford(r, chain->work)) return NULL;
  struct attn_pool_mark mark = attn_pool_mark(r->pool);
  for (int n = 0; n < chain->uses; n++) {
    attn_status status = evaluate(r, chain, n, result);
    if (status == ATTN_ERR_MEMORY) r->failed = 1;
    if (status) return NULL;
  }
  if (!keep_last(r, &result[chain->uses - 1], mark, &chain->value)) return NULL;
  const struct attn_use *last = &chain->use[chain->uses - 1];
  if (last->op == ATTN_OP_SOFTMAX) free_empty_lines(&chain->value, last->axis);
  return &chain->value;
}
