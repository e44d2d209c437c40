/* explain_attention.c -- the keys that each query attends to, ranked by their exact weights. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "explain.h"
#include "matrix_cells.h"
#include "number_text.h"

enum { NAMES_MAX = 5, GROUPS_MAX = 4, LIST_BYTES = 900 };

/* Keys of equal weight for a query. */
struct attention_group {
  double weight;
  int32_t keys;
  char list[LIST_BYTES];
};

static double weight(const struct attn_explanation *t, const attn_step *s, int32_t query,
                     int32_t key) {
  int32_t row, col;
  attn_cell_of_key(t, s, query, key, &row, &col);
  return attn_cell_at(&s->exact, row, col);
}

/* Weights that differ only by rounding are equal. */
static int same(double a, double b) { return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b)); }

static void add_name(struct attention_group *g, const struct attn_explanation *t, const char *name,
                     int last) {
  int language = t->out->style.language;
  size_t used = strlen(g->list);
  const char *between = attn_message_text(last ? MESSAGE_AND : MESSAGE_COMMA, language);
  /* Japanese lists of three or more use commas throughout. */
  if (language == ATTN_LANGUAGE_JAPANESE && g->keys > 2)
    between = attn_message_text(MESSAGE_COMMA, language);
  snprintf(g->list + used, sizeof g->list - used, "%s%s", used ? between : "", name);
}

/* Finds the keys of the largest weight below `below`. Returns 0 if no key has a positive weight. */
static int next_group(const struct attn_explanation *t, const attn_step *s, int32_t query,
                      double below, struct attention_group *g) {
  int32_t keys = attn_key_count(t->example, s), named = 0;
  char name[ATTN_LABEL_BYTES], others[ATTN_LABEL_BYTES];
  *g = (struct attention_group){0, 0, ""};
  for (int32_t k = 0; k < keys; k++) {
    double w = weight(t, s, query, k);
    if (w < below && !(isfinite(below) && same(w, below)) && w > g->weight) g->weight = w;
  }
  if (g->weight <= 0) return 0;
  for (int32_t k = 0; k < keys; k++) g->keys += same(weight(t, s, query, k), g->weight);
  int32_t shown = g->keys > NAMES_MAX ? NAMES_MAX - 1 : g->keys;
  for (int32_t k = 0; k < keys && named < shown; k++) {
    if (!same(weight(t, s, query, k), g->weight)) continue;
    named++;
    add_name(g, t, attn_name_in_text(t, ATTN_AXIS_KEYS, k, name), named == g->keys);
  }
  if (shown == g->keys) return 1;
  attn_message_fill(others, sizeof others, MESSAGE_AND_OTHERS, t->out->style.language,
                    g->keys - shown);
  add_name(g, t, others, 1);
  return 1;
}

static int first_message(const struct attention_group *g, int32_t keys, double rest) {
  if (g->keys == keys && keys > 1) return MESSAGE_ATTENDS_UNIFORMLY;
  if (g->keys > 1) return MESSAGE_ATTENDS_EQUALLY;
  if (rest <= 0) return MESSAGE_ATTENDS_ONLY;
  return g->weight > 0.5 ? MESSAGE_ATTENDS_MOSTLY : MESSAGE_ATTENDS_MOST;
}

static void tell_query(struct attn_explanation *t, const attn_step *s, int32_t query) {
  struct attn_out *out = t->out;
  struct attention_group g, next;
  int32_t keys = attn_key_count(t->example, s);
  char name[ATTN_LABEL_BYTES];
  attn_name_in_text(t, ATTN_AXIS_QUERIES, query, name);
  if (!next_group(t, s, query, INFINITY, &g)) {
    attn_out_message(out, MESSAGE_ATTENDS_NONE, name, NULL);
    attn_out_message(out, MESSAGE_ATTENDS_END, NULL);
    return;
  }
  int more = next_group(t, s, query, g.weight, &next), ranked = more;
  int message = first_message(&g, keys, more ? next.weight : 0);
  attn_out_message(out, message, name,
                   message == MESSAGE_ATTENDS_UNIFORMLY ? ATTN_INTEGER_TEXT(keys) : g.list,
                   ATTN_NUMBER_TEXT(g.weight, out->style.precision), NULL);
  for (int n = 1; more && n < GROUPS_MAX; n++) {
    int several = next.keys > 1;
    int then = several ? MESSAGE_THEN_EQUALLY : MESSAGE_THEN_ONE;
    if (n > 1) then = several ? MESSAGE_NEXT_EQUALLY : MESSAGE_NEXT_ONE;
    attn_out_message(out, then, next.list, ATTN_NUMBER_TEXT(next.weight, out->style.precision),
                     NULL);
    double below = next.weight;
    more = next_group(t, s, query, below, &next);
  }
  attn_out_message(out, ranked ? MESSAGE_ATTENDS_RANKED : MESSAGE_ATTENDS_END, NULL);
}

void attn_explain_attention(struct attn_explanation *t, const attn_step *s) {
  if (!attn_is_scorelike(t->example, s)) return;
  int32_t queries = attn_query_count(t->example, s);
  for (int32_t q = 0; q < queries && q < ATTN_LINES; q++) {
    tell_query(t, s, q);
    attn_out_line(t->out, ATTN_INDENT);
  }
  if (queries <= ATTN_LINES) return;
  attn_out_message(t->out, MESSAGE_MORE_ROWS, ATTN_INTEGER_TEXT(queries - ATTN_LINES), NULL);
  attn_out_line(t->out, ATTN_INDENT);
}
