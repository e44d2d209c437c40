/* relation_skipped.c -- right results of which the steps before are not printed. */
#include <math.h>
#include <stdint.h>

#include "relations.h"

/* The steps from the scores to the output, in order. */
enum stage {
  NO_STAGE = -1,
  SCORES,
  SCALED,
  MASKED,
  SHIFTED,
  EXPONENTIALS,
  WEIGHTS,
  OUTPUT,
  STAGES
};

static const int role_of[STAGES] = {ATTN_ROLE_SCORES,  ATTN_ROLE_SCALED,       ATTN_ROLE_MASKED,
                                    ATTN_ROLE_SHIFTED, ATTN_ROLE_EXPONENTIALS, ATTN_ROLE_WEIGHTS,
                                    ATTN_ROLE_OUTPUT};

static const double SKIPPED = 1.5, WEIGHTS_SKIPPED = 8, PROJECTION_SKIPPED = 4; /* bits */
static const double NOT_DIVIDED = 1.5, KEYS_AS_VALUES = 2;
enum { NOTHING = INT8_MIN };

/* A relation from the last printed step to the target. */
struct path {
  struct attn_listing *l;
  int from, target;                   /* stages */
  const struct attn_divided *divided; /* or NULL */
  const struct attn_mask *mask;       /* or NULL */
  int is_shifted;
  int is_turned; /* W and U of additive scores are for rows */
  struct attn_draft x;
};

static int take(struct attn_draft *x, const struct attn_node *node) {
  x->operand[x->relation.operands] = node;
  return x->relation.operands++;
}

/* Are the inputs their own queries and keys, so that nothing is printed of these? */
static int is_unprojected(const struct path *p) {
  static const int ROLES[] = {ATTN_ROLE_Q, ATTN_ROLE_K, ATTN_ROLE_W_Q, ATTN_ROLE_W_K};
  for (size_t n = 0; n < sizeof ROLES / sizeof *ROLES; n++)
    if (attn_listing_node(p->l, ROLES[n])) return 0;
  return p->l->head == 0;
}

/* Q, K or V; where it is not printed, X W, or X. NOTHING: there is none. */
static int take_projection(struct path *p, int role) {
  const struct attn_node *node = attn_listing_node(p->l, role);
  if (node) return take(&p->x, node);
  int source = role == ATTN_ROLE_Q ? ATTN_ROLE_QUERY_SOURCE : ATTN_ROLE_SOURCE;
  const struct attn_node *of = attn_listing_node(p->l, source);
  const struct attn_node *by = attn_listing_node(p->l, ATTN_ROLE_W_Q + role - ATTN_ROLE_Q);
  if (of && role != ATTN_ROLE_V && is_unprojected(p)) return take(&p->x, of);
  if (!of || !by) return NOTHING;
  int a = take(&p->x, of), b = take(&p->x, by);
  p->x.relation.cost += PROJECTION_SKIPPED;
  return attn_draft_use(&p->x, ATTN_OP_MATMUL, ATTN_STEP_Q + role - ATTN_ROLE_Q, 0, a, b);
}

/* Values that are not given apart are the keys, or the inputs. */
static int take_values(struct path *p) {
  int v = take_projection(p, ATTN_ROLE_V);
  if (v != NOTHING || attn_listing_node(p->l, ATTN_ROLE_W_V)) return v;
  const struct attn_node *keys = attn_listing_node(p->l, ATTN_ROLE_KEYS);
  p->x.relation.cost += KEYS_AS_VALUES;
  return keys ? take(&p->x, keys) : NOTHING;
}

/* Additive scores, or those of q^T W k. NOTHING: an operand is missing. */
static int take_alignment(struct path *p) {
  static const int roles[] = {ATTN_ROLE_QUERIES, ATTN_ROLE_KEYS, ATTN_ROLE_W_A, ATTN_ROLE_U_A,
                              ATTN_ROLE_V_A};
  const int is_additive = attn_listing_node(p->l, ATTN_ROLE_U_A) != NULL;
  struct attn_use use = {.op = is_additive ? ATTN_OP_ADDITIVE : ATTN_OP_GENERAL,
                         .name = ATTN_STEP_SCORES,
                         .operands = is_additive ? 5 : 3};
  for (int n = 0; n < use.operands; n++) {
    const struct attn_node *node = attn_listing_node(p->l, roles[n]);
    if (!node) return NOTHING;
    use.operand[n] = (int8_t)take(&p->x, node);
    int is_turned = p->is_turned && (roles[n] == ATTN_ROLE_W_A || roles[n] == ATTN_ROLE_U_A);
    if (is_turned)
      use.operand[n] =
          (int8_t)attn_draft_use(&p->x, ATTN_OP_TRANSPOSE, ATTN_STEP_W_A, 0, use.operand[n], 0);
  }
  p->x.relation.cost += SKIPPED + p->is_turned;
  p->x.use[p->x.relation.uses++] = use;
  return -p->x.relation.uses;
}

/* What the path begins with. NOTHING: queries or keys are missing. */
static int take_first(struct path *p) {
  p->x = attn_draft_over(p->l, NULL, NULL, ATTN_CAUSE_NONE, 0);
  p->x.relation.operands = 0;
  if (p->from >= SCORES) return take(&p->x, attn_listing_node(p->l, role_of[p->from]));
  if (attn_listing_node(p->l, ATTN_ROLE_W_A)) return take_alignment(p);
  int q = take_projection(p, ATTN_ROLE_Q);
  int k = q == NOTHING ? NOTHING : take_projection(p, ATTN_ROLE_K);
  p->x.relation.cost += SKIPPED;
  return k == NOTHING ? k : attn_draft_use(&p->x, ATTN_OP_MATMUL_NT, ATTN_STEP_SCORES, 0, q, k);
}

/* Scores, divided and masked on the way. */
static int add_logits(struct path *p, int ref) {
  if (p->divided) {
    ref = attn_draft_divide(&p->x, p->divided, ref);
    p->x.relation.cost += SKIPPED + p->divided->cost;
    p->x.relation.cause = p->divided->cause;
  } else if (p->from < SCALED) {
    p->x.relation.cost += NOT_DIVIDED;
  }
  if (!p->mask) return ref;
  p->x.relation.cost += SKIPPED + p->mask->cost;
  return attn_draft_mask(&p->x, p->mask, ref);
}

static int add_weights(struct path *p, int ref) {
  if (p->from < EXPONENTIALS)
    return attn_draft_use(&p->x, ATTN_OP_SOFTMAX, ATTN_STEP_WEIGHTS, 1, ref, 0);
  int sum = attn_draft_use(&p->x, ATTN_OP_SUM, ATTN_STEP_ROW_SUM, 1, ref, 0);
  return attn_draft_use(&p->x, ATTN_OP_QUOTIENT, ATTN_STEP_WEIGHTS, 1, ref, sum);
}

static int add_exponentials(struct path *p, int ref) {
  if (p->is_shifted) {
    p->x.relation.cost += SKIPPED;
    ref = attn_draft_use(&p->x, ATTN_OP_SHIFT, ATTN_STEP_OTHER, 1, ref, 0);
  }
  return attn_draft_use(&p->x, ATTN_OP_EXP, ATTN_STEP_EXPONENTIALS, 0, ref, 0);
}

static void list_path(struct path *p) {
  int ref = take_first(p), v = 0;
  if (ref != NOTHING) ref = add_logits(p, ref);
  if (ref == NOTHING) return;
  if (p->target == SHIFTED) ref = attn_draft_use(&p->x, ATTN_OP_SHIFT, ATTN_STEP_OTHER, 1, ref, 0);
  if (p->target == EXPONENTIALS) ref = add_exponentials(p, ref);
  if (p->target >= WEIGHTS) ref = add_weights(p, ref);
  if (p->target == OUTPUT) {
    v = take_values(p);
    if (v == NOTHING) return;
    p->x.relation.cost += WEIGHTS_SKIPPED;
    attn_draft_use(&p->x, ATTN_OP_MATMUL, ATTN_STEP_OUTPUT, 0, ref, v);
  }
  if (p->x.relation.uses < 2) return; /* nothing is skipped */
  if (p->mask)
    attn_list(p->l, &p->x);
  else
    attn_list_rows(p->l, &p->x);
}

/* ---- All paths ---- */

/* How many keys there are; 0: not known. */
static int count_keys(const struct path *p) {
  if (p->from >= SCORES) return attn_listing_node(p->l, role_of[p->from])->grid->cols;
  const struct attn_node *k = attn_listing_node(p->l, ATTN_ROLE_KEYS);
  return k ? k->grid->rows : 0;
}

/* Of an output, which shows no hidden cell: the mask that the document states. */
static void stated_mask(const struct path *p, struct attn_masks *out) {
  const struct attn_hints *h = p->l->hints;
  const int rows = p->l->grid->rows, cols = count_keys(p);
  out->count = 0;
  if (!(h->causal || h->padding) || rows < 2 || cols < 2) return;
  double *keep = attn_pool_take(p->l->memo->pool, (size_t)rows * (size_t)cols * sizeof *keep);
  if (!keep) p->l->memo->failed = 1;
  for (int n = 0; keep && n < rows * cols; n++)
    keep[n] = h->causal ? n % cols <= n / cols : n % cols < cols - 1;
  attn_matrix mask =
      keep ? attn_relations_constant(p->l->memo, rows, cols, keep) : (attn_matrix){0, 0, NULL};
  int kind = h->causal ? ATTN_MASK_CAUSAL : ATTN_MASK_PADDING;
  if (mask.at) out->at[out->count++] = (struct attn_mask){mask, kind, ATTN_CAUSE_NONE, 1, NULL};
}

static void find_masks(const struct path *p, struct attn_masks *out) {
  int any = 0;
  out->count = 0;
  if (p->from >= MASKED || p->target < MASKED) return;
  if (p->target == OUTPUT) {
    stated_mask(p, out);
    return;
  }
  const unsigned char *hidden =
      p->target >= EXPONENTIALS ? attn_zero_cells(p->l, &any) : attn_hidden_cells(p->l, &any);
  if (hidden && any) attn_masks_of(p->l, hidden, out);
}

static void list_masks(struct path *p, const struct attn_masks *masks) {
  const int least = p->target == MASKED ? 0 : -1; /* -1: no mask */
  for (int n = least; n < masks->count; n++) {
    p->mask = n < 0 ? NULL : &masks->at[n];
    if (p->mask && p->mask->cause) continue;
    for (p->is_shifted = 0; p->is_shifted <= (p->target == EXPONENTIALS && p->from < SHIFTED);
         p->is_shifted++)
      list_path(p);
  }
}

static int last_printed(const struct attn_listing *l, int target) {
  int stage = target < EXPONENTIALS ? target - 1 : EXPONENTIALS;
  if (target == EXPONENTIALS) stage = SHIFTED;
  while (stage >= SCORES && !attn_listing_node(l, role_of[stage])) stage--;
  return stage;
}

void attn_list_skipped(struct attn_listing *l) {
  struct path p = {.l = l, .target = OUTPUT};
  struct attn_masks masks;
  if (l->head > 0 && !l->hints->heads) return; /* a head that nothing mentions has all steps */
  while (p.target > SCORES && role_of[p.target] != l->role) p.target--;
  p.from = last_printed(l, p.target);
  find_masks(&p, &masks);
  const struct attn_node *x = is_unprojected(&p) ? attn_listing_node(l, ATTN_ROLE_SOURCE) : NULL;
  int width = x && p.from < SCORES ? x->grid->cols : attn_listing_width(l);
  int d_k = attn_listing_node(l, ATTN_ROLE_W_A) ? 0 : width;
  struct attn_divided root = {sqrt(d_k), ATTN_DIVISOR_ROOT, d_k, ATTN_CAUSE_NONE, 0};
  struct attn_divided one = {1, ATTN_DIVISOR_ONE, 0, ATTN_CAUSE_MISSING_SCALE, 6};
  for (int divides = d_k > 0 && p.from < SCALED; divides >= 0; divides--) {
    p.divided = divides ? &root : p.target == SCALED ? &one : NULL;
    list_masks(&p, &masks);
  }
  p.is_turned = p.from < SCORES && attn_listing_node(l, ATTN_ROLE_U_A) != NULL;
  if (p.is_turned) list_masks(&p, &masks);
}
