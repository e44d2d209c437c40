/* split_heads.c -- heads that are projected together: the columns of Q, K and V are those of all
 * heads.
 */
#include "role_search.h"

/* The roles that are split: projections, or where they are not known, their weights. */
static int split_role(const struct attn_roles *roles, int n) {
  int projection = ATTN_ROLE_Q + n;
  return roles->at[projection] ? projection : ATTN_ROLE_W_Q + n;
}

int attn_state_width(const struct attn_state *s) {
  const struct attn_node *const *at = s->head[0].at;
  const struct attn_node *q = at[ATTN_ROLE_Q] ? at[ATTN_ROLE_Q] : at[ATTN_ROLE_W_Q];
  const struct attn_node *k = at[ATTN_ROLE_K] ? at[ATTN_ROLE_K] : at[ATTN_ROLE_W_K];
  if (s->heads > 1 || !q || !k || s->head[0].row >= 0 || q->grid->cols != k->grid->cols) return 0;
  for (int role = ATTN_ROLE_SCORES; role < ATTN_ROLES; role++)
    if (at[role]) return 0;
  return q->grid->cols;
}

int attn_state_split(struct attn_relations *r, struct attn_state *s, int heads) {
  const struct attn_roles all = s->head[0];
  for (int n = 0; n < 3; n++) {
    int role = split_role(&all, n);
    const struct attn_node *whole = all.at[role];
    int cols = whole ? whole->grid->cols / heads : 0;
    for (int h = 0; h < heads; h++) {
      s->head[h].at[role] = cols ? attn_node_columns(r, whole, h * cols, cols) : NULL;
      if (cols && !s->head[h].at[role]) return 0;
    }
  }
  s->heads = heads, s->is_split = 1;
  return 1;
}
