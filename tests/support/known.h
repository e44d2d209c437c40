/* known.h -- what is known of a page so far, by hand, and the best relation of a further block, in
 * words. Of a page of blocks (page.h). */
#ifndef TEST_KNOWN_H
#define TEST_KNOWN_H

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h> /* needs those above */
/* clang-format on */

#include <stdio.h>

#include "page.h"
#include "relations.h"
#include "words.h"

/* ---- a page with what is known so far ---- */

struct known {
  struct page page;
  struct attn_state state;
  struct attn_hints hints;
};

static inline int begin(void **state) {
  static struct known k;
  memset(&k, 0, sizeof k);
  k.state.heads = 1;
  k.state.shared.row = -1;
  for (int h = 0; h < ATTN_HEADS_MAX; h++) k.state.head[h].row = -1;
  k.hints.text = "";
  *state = &k;
  return page_begin(&k.page) ? 0 : -1;
}

static inline int end(void **state) {
  struct known *k = *state;
  page_free(&k->page);
  return 0;
}

static inline const struct attn_grid *grid(struct known *k, const char *numbers) {
  const struct attn_grid *g = page_grid(&k->page, numbers);
  assert_non_null(g);
  return g;
}

static inline void set(struct known *k, int head, int role, const struct attn_node *node) {
  assert_true(attn_node_follow(k->page.relations, node));
  assert_non_null(node);
  if (attn_role_is_shared(role))
    k->state.shared.at[role] = node;
  else
    k->state.head[head].at[role] = node;
}

/* The document gives a block in a role. */
static inline const struct attn_node *give_to(struct known *k, int head, int role,
                                              const char *numbers) {
  const struct attn_node *node = attn_node_given(k->page.relations, grid(k, numbers), 0);
  set(k, head, role, node);
  return node;
}

static inline const struct attn_node *give(struct known *k, int role, const char *numbers) {
  return give_to(k, 0, role, numbers);
}

static inline void take(struct known *k, int role) {
  k->state.head[0].at[role] = NULL;
  k->state.shared.at[role] = NULL;
}

/* ---- the best relation of a block, in words ---- */

struct found {
  const struct attn_relation *relation;
  const struct attn_node *node;
  int count; /* relations that were listed */
};

static inline struct found find_in(struct known *k, int head, int role, const struct attn_grid *g) {
  struct found best = {NULL, NULL, 0};
  const struct attn_relation *list;
  best.count = attn_relations_list(k->page.relations, &k->state, head, role, g, &k->hints, &list);
  for (int n = 0; n < best.count; n++) {
    const struct attn_node *node = attn_node_of(k->page.relations, g, &list[n]);
    if (!node) continue;
    if (best.node && node->bits - list[n].cost <= best.node->bits - best.relation->cost) continue;
    best.relation = &list[n], best.node = node;
  }
  return best;
}

static inline struct found find(struct known *k, int role, const char *numbers) {
  return find_in(k, 0, role, grid(k, numbers));
}

static const char *const OPS[ATTN_OP_COUNT] = {
    [ATTN_OP_MATMUL] = "product",
    [ATTN_OP_MATMUL_NT] = "product_nt",
    [ATTN_OP_MATMUL_TN] = "product_tn",
    [ATTN_OP_TRANSPOSE] = "transpose",
    [ATTN_OP_DIVIDE] = "divide",
    [ATTN_OP_MASK] = "mask",
    [ATTN_OP_SOFTMAX] = "softmax",
    [ATTN_OP_EXP] = "exp",
    [ATTN_OP_SUM] = "sum",
    [ATTN_OP_QUOTIENT] = "quotient",
    [ATTN_OP_ADD] = "add",
    [ATTN_OP_APPEND] = "append",
    [ATTN_OP_GENERAL] = "general",
    [ATTN_OP_ADDITIVE] = "additive",
    [ATTN_OP_TANH] = "tanh",
    [ATTN_OP_SHIFT] = "shift",
    [ATTN_OP_SOFTMAX_GRADIENT] = "softmax_gradient",
    [ATTN_OP_COLUMNS] = "columns",
};

static const char *const MASKS[] = {
    [ATTN_MASK_NONE] = "constant",
    [ATTN_MASK_CAUSAL] = "causal",
    [ATTN_MASK_CAUSAL_LATE] = "late",
    [ATTN_MASK_CAUSAL_EARLY] = "early",
    [ATTN_MASK_CAUSAL_EARLY_BUT_FIRST] = "early but first",
    [ATTN_MASK_PADDING] = "padding",
    [ATTN_MASK_CAUSAL_PADDING] = "causal and padding",
    [ATTN_MASK_AS_PRINTED] = "as printed",
};

static inline void put_node(struct words *w, const struct known *k, const struct attn_node *node) {
  if (node->shadow_of) put(w, "right ");
  if (node->shadow_of) node = node->shadow_of;
  for (int role = 0; role < ATTN_ROLES; role++) {
    if (k->state.shared.at[role] == node) put(w, "%s", role_name(role));
    for (int head = 0; head < k->state.heads; head++)
      if (k->state.head[head].at[role] == node)
        put(w, head ? "%s/%d" : "%s", role_name(role), head);
  }
}

/* "softmax(divide(scores, 1.414))" */
static inline void put_use(struct words *w, const struct known *k, const struct attn_relation *x,
                           int at) {
  const struct attn_use *u = &x->use[at];
  if (u->op == ATTN_OP_GIVEN) {
    put(w, "%s", MASKS[x->mask]);
    return;
  }
  put(w, "%s%s(", u->op == ATTN_OP_SOFTMAX && !u->axis ? "column_" : "", OPS[u->op]);
  for (int n = 0; n < u->operands; n++) {
    if (n) put(w, ", ");
    if (u->operand[n] < 0)
      put_use(w, k, x, -1 - u->operand[n]);
    else
      put_node(w, k, x->operand[u->operand[n]]);
  }
  if (u->op == ATTN_OP_DIVIDE) put(w, ", %.3f", u->scalar);
  put(w, ")");
}

static const char *words_of(const struct known *k, const struct attn_relation *x) {
  static struct words w;
  w.size = 0;
  put_use(&w, k, x, x->uses - 1);
  if (x->row >= 0) put(&w, " row %d", x->row);
  return w.text;
}

/* These numbers in this role are explained best, and in full, by this relation. Becomes known. */
static inline const struct attn_node *expect_in(struct known *k, int head, int role,
                                                const char *numbers, const char *words, int cause) {
  struct found f = find_in(k, head, role, grid(k, numbers));
  assert_non_null(f.relation);
  assert_string_equal(words_of(k, f.relation), words);
  assert_string_equal(attn_cause_label(f.relation->cause), attn_cause_label(cause));
  assert_true(f.node->share == 1);
  set(k, head, role, f.node);
  return f.node;
}

static inline const struct attn_node *expect(struct known *k, int role, const char *numbers,
                                             const char *words, int cause) {
  return expect_in(k, 0, role, numbers, words, cause);
}

static inline void expect_none(struct known *k, int role, const char *numbers) {
  assert_int_equal(find(k, role, numbers).count, 0);
}

/* ---- the example: three tokens, d_k = 2 ---- */

#define X_3 "1 0; 0 1; 1 1"
#define W_Q_2 "1 2; 0 1"
#define W_K_2 "0 1; 1 1"
#define W_V_2 "2 0; 1 1"
#define Q_3 "1.0 2.0; 0.0 1.0; 1.0 3.0"
#define K_3 "0.0 1.0; 1.0 1.0; 1.0 2.0"
#define V_3 "2.0 0.0; 1.0 1.0; 3.0 1.0"
#define SCORES_3 "2.0 3.0 5.0; 1.0 1.0 2.0; 3.0 4.0 7.0"
#define SCALED_3 "1.414 2.121 3.536; 0.707 0.707 1.414; 2.121 2.828 4.950"
#define WEIGHTS_3 "0.088 0.178 0.734; 0.248 0.248 0.503; 0.050 0.102 0.848"
#define CAUSAL_3 "1 0 0; 0.5 0.5 0; 0.050 0.102 0.848"

static inline void give_projected(struct known *k) {
  give(k, ATTN_ROLE_X, X_3);
  give(k, ATTN_ROLE_Q, Q_3);
  give(k, ATTN_ROLE_K, K_3);
  give(k, ATTN_ROLE_V, V_3);
}

static inline void give_scores(struct known *k) {
  give_projected(k);
  give(k, ATTN_ROLE_SCORES, SCORES_3);
}

static inline void give_scaled(struct known *k) {
  give_scores(k);
  expect(k, ATTN_ROLE_SCALED, SCALED_3, "divide(scores, 1.414)", ATTN_CAUSE_NONE);
}

static inline void give_weights(struct known *k) {
  give_scaled(k);
  expect(k, ATTN_ROLE_WEIGHTS, WEIGHTS_3, "softmax(scaled)", ATTN_CAUSE_NONE);
}

#endif
