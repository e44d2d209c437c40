/* guess.c -- is the place of a block among the steps sure enough to call its numbers wrong? */
#include <math.h>

#include "role_search.h"
#include "step_builder.h"

static const double NAMED = 6, OWN_NAME = 8; /* bits: its own name, or a caption */

/* The node on the page: that should have other numbers; or of all heads. */
static const struct attn_node *on_page(const struct attn_node *node) {
  if (node->shadow_of) node = node->shadow_of;
  return node->columns_of ? node->columns_of : node;
}

static const struct attn_placement *placement_of(const struct attn_builder *b,
                                                 const struct attn_node *node) {
  for (int n = 0; n < b->reading->placements; n++)
    if (b->reading->placement[n]->node == on_page(node)) return b->reading->placement[n];
  return NULL;
}

int attn_is_introduced(const struct attn_builder *b, const struct attn_block *block,
                       const char *pattern) {
  return attn_occurs(b->scan->patterns, pattern, block->name) ||
         (block->captions &&
          attn_occurs(b->scan->patterns, pattern, block->caption[block->captions - 1]));
}

/* Is it computed of keys or inputs in place of values, which the text names and which are not
 * printed? */
static int lacks_values(const struct attn_builder *b, const struct attn_placement *p) {
  static const char VALUES[] = "(*UCP)(?<![B-Zb-z\\d^_])V(?![\\w'])|(?i)\\bvalues?\\b|バリュー";
  const struct attn_roles *head = attn_roles_of(b->reading, p);
  const struct attn_block *block = &b->scan->block[p->block];
  if (p->role != ATTN_ROLE_OUTPUT || head->at[ATTN_ROLE_V] || head->at[ATTN_ROLE_W_V]) return 0;
  int is_named = attn_occurs(b->scan->patterns, VALUES, block->name);
  for (int n = 0; n < block->captions && !is_named && p->node->share <= .5; n++)
    is_named = attn_occurs(b->scan->patterns, VALUES, block->caption[n]);
  return is_named;
}

static int reads(const struct attn_relation *r, const struct attn_node *node) {
  int n = 0;
  while (n < r->operands && on_page(r->operand[n]) != node) n++;
  return n < r->operands;
}

static int leads_to(const struct attn_relation *r, const struct attn_node *node) {
  int n = 0;
  while (n < r->operands && r->operand[n] != node &&
         !(r->operand[n]->relation && leads_to(r->operand[n]->relation, node)))
    n++;
  return n < r->operands;
}

/* "scores", the name of its step and nothing else, in the line above it? */
static int is_below_name(const struct attn_builder *b, const struct attn_placement *p) {
  const struct attn_block *block = &b->scan->block[p->block];
  const char *above = block->captions ? block->caption[block->captions - 1] : "";
  return attn_step_called(above) == attn_step_of_role(p->role);
}

/* The relation of a step that follows from a node and is as it should be, in all its numbers; NULL:
 * it is not. */
static const struct attn_relation *confirms(const struct attn_builder *b,
                                            const struct attn_node *step,
                                            const struct attn_node *of) {
  const struct attn_placement *p = step ? placement_of(b, step) : NULL;
  const struct attn_relation *r = p ? p->relation : NULL;
  return r && !r->cause && step->share == 1 && leads_to(r, of) ? r : NULL;
}

/* Scores that are given: are they called so, or anything near, and all of them divided, or all
 * weights the softmax of what is computed of them? */
static int are_scores(const struct attn_builder *b, const struct attn_placement *p) {
  const struct attn_roles *head = attn_roles_of(b->reading, p);
  const double bits = b->priors[p->block].bits[p->role];
  if (bits >= OWN_NAME || bits <= 0 || is_below_name(b, p)) return bits > 0;
  if (p->role != ATTN_ROLE_SCORES) return 0;
  const struct attn_relation *scaled = confirms(b, head->at[ATTN_ROLE_SCALED], p->node);
  const struct attn_relation *weights = confirms(b, head->at[ATTN_ROLE_WEIGHTS], p->node);
  return (scaled && scaled->divided_by != 1) || (weights && !reads(weights, p->node));
}

/* Does it follow from scores, or from what comes after them, that are given, and are not called so?
 */
int attn_follows_from_guess(const struct attn_builder *b, const struct attn_relation *r) {
  for (int n = 0; n < r->operands; n++) {
    const struct attn_placement *p = placement_of(b, r->operand[n]);
    if (!p || attn_role_order(p->role) <= attn_role_order(ATTN_ROLE_V)) continue;
    if (p->relation ? attn_follows_from_guess(b, p->relation) : !are_scores(b, p)) return 1;
  }
  return 0;
}

/* Does it follow, over steps that are not printed, from inputs that are called a later step? */
static int is_of_later_step(const struct attn_builder *b, const struct attn_relation *r) {
  for (int n = 0; n < r->operands && r->uses > 1; n++) {
    const struct attn_placement *p = placement_of(b, r->operand[n]);
    if (!p || p->relation || p->role > ATTN_ROLE_Y) continue;
    const double *bits = b->priors[p->block].bits;
    for (int role = ATTN_ROLE_SCORES; role <= ATTN_ROLE_OUTPUT; role++)
      if (bits[role] >= NAMED && bits[p->role] <= 0) return 1;
  }
  return 0;
}

/* An output of queries or keys, by their own name, in place of the values that are not printed? */
static int is_of_other_input(const struct attn_builder *b, const struct attn_placement *p) {
  const struct attn_node *v = attn_roles_of(b->reading, p)->at[ATTN_ROLE_V];
  const struct attn_placement *of = v && p->role == ATTN_ROLE_OUTPUT ? placement_of(b, v) : NULL;
  const double *bits = of ? b->priors[of->block].bits : NULL;
  return bits && fmax(bits[ATTN_ROLE_Q], bits[ATTN_ROLE_K]) >= OWN_NAME &&
         bits[ATTN_ROLE_V] < OWN_NAME;
}

int attn_is_operand(const struct attn_reading *r, const struct attn_node *node, double share) {
  for (int n = 0; n < r->placements; n++) {
    const struct attn_placement *p = r->placement[n];
    if (p->relation && p->node->share >= share && reads(p->relation, node)) return 1;
  }
  return 0;
}

/* Scores of queries and keys, where the text has the tanh of additive ones, or cosines? */
static int may_be_other_scores(const struct attn_builder *b, const struct attn_placement *p) {
  const struct attn_roles *head = attn_roles_of(b->reading, p);
  if (p->role != ATTN_ROLE_SCORES || head->at[ATTN_ROLE_W_A] || head->at[ATTN_ROLE_U_A]) return 0;
  if (head->at[ATTN_ROLE_V_A] && reads(p->relation, head->at[ATTN_ROLE_V_A])) return 0;
  return attn_mentions_tanh(b->scan) ||
         attn_document_has(b->scan->patterns, "(?i)cosine|コサイン", b->scan->text);
}

/* Does the text state another formula than the softmax of scores, or a mask of its own? */
static int states_other_formula(const struct attn_builder *b, const struct attn_placement *p) {
  static const char OTHER[] =
      "(*UCP)(?i)\\bno softmax(?! (?:temp|key|button|function|command))|\\blinear "
      "attention|softmax1|quiet "
      "softmax|\\btruncated?\\b|"
      "\\breversed? order|right[- ]to[- ]left|逆順|\\bcut \\(?not rounded|切り捨て|sliding "
      "window|\\bonly (?:\\w+ )?(?:its |their )?"
      "neighbou?rs\\b|\\btop-?k\\b|\\b(?:two|three) largest scores|itself and the later|"
      "diagonal is masked|2\\^x|weights to zero|(?:β|\\bbeta) ?= ?\\d";
  static const char BY_SUM[] = "(?i)divide each row by its sum";
  static const char EXPONENTIALS[] = "(?i)\\bexp(?:onen\\w*)?\\b|e\\^";
  struct attn_patterns *patterns = b->scan->patterns;
  const char *text = b->scan->text;
  if (p->role < ATTN_ROLE_SCORES || p->node->share == 1) return 0;
  return attn_occurs(patterns, OTHER, text) ||
         (attn_occurs(patterns, BY_SUM, text) && !attn_occurs(patterns, EXPONENTIALS, text));
}

/* Does it show another mask than the usual ones, as the text states? */
static int shows_other_mask(const struct attn_builder *b, const struct attn_placement *p) {
  return p->relation->mask && p->node->share < 1 && attn_states_other_mask(b->scan);
}

/* Is the text on gradients? "dV = A^T dO" is no step of the forward pass. */
static int is_of_gradients(const struct attn_builder *b, const struct attn_placement *p) {
  static const char GRADIENT[] = "\\bd[OSA] ?=|(?i)\\bbackward pass\\b|逆伝播";
  return p->node->share < 1 && attn_document_has(b->scan->patterns, GRADIENT, b->scan->text);
}

/* Is it below an output, and what would be otherwise? "With a causal mask the weights would be" */
static int is_supposed(const struct attn_builder *b, const struct attn_placement *p) {
  static const char SUPPOSED[] =
      "(?i)\\bwould\\b|\\bwhat if\\b|\\b(?:for|in) comparison\\b|\\binstead\\b|仮に|もし|比較";
  int n = 0;
  while (n < b->reading->placements && (b->reading->placement[n]->role != ATTN_ROLE_OUTPUT ||
                                        b->reading->placement[n]->block >= p->block))
    n++;
  return n < b->reading->placements && attn_is_introduced(b, &b->scan->block[p->block], SUPPOSED);
}

/* Products of queries with themselves, which were read as inputs since there are no keys. */
static int lacks_keys(const struct attn_builder *b, const struct attn_placement *p) {
  const struct attn_relation *r = p->relation;
  if (p->role != ATTN_ROLE_SCORES || r->operands != 2 || r->operand[0] != r->operand[1]) return 0;
  const double *bits = b->priors[r->operand[0]->grid->block].bits;
  return p->node->share < 1 && bits[ATTN_ROLE_Q] > bits[ATTN_ROLE_X];
}

/* Its place is known too little to call a number wrong: words of a sentence are not a name, and its
 * own name may be that of another step. */
int attn_is_guess(const struct attn_builder *b, const struct attn_placement *p) {
  static const char SENTENCE[] = "(?i)\\s(?:is|are|was|were|gives?|yields?|becomes?)\\W*$|は$";
  const struct attn_block *block = &b->scan->block[p->block];
  const struct attn_priors *named = &b->priors[p->block];
  int in_sentence =
      block->source == ATTN_BLOCK_INLINE || attn_occurs(b->scan->patterns, SENTENCE, block->name);
  if (p->node->share == 0 && (p->relation->uses > 1 || attn_follows_from_guess(b, p->relation)))
    return 1;
  if (may_be_other_scores(b, p) || lacks_values(b, p) || lacks_keys(b, p) ||
      is_of_other_input(b, p))
    return 1;
  if (states_other_formula(b, p) || shows_other_mask(b, p) || is_of_gradients(b, p)) return 1;
  if (p->node->share < 1 && is_of_later_step(b, p->relation)) return 1;
  if (p->node->share < 1 && p->role == ATTN_ROLE_ROW_SUM && in_sentence &&
      named->bits[p->role] <= 0)
    return 1;
  if (p->node->share <= .5 && is_supposed(b, p)) return 1;
  double least = p->role <= ATTN_ROLE_V ? named->best / 4 : 0; /* "the keys have 2 entries" */
  int is_other = named->best >= OWN_NAME && named->bits[p->role] <= least;
  if (is_other && p->node->share <= .5) return 1;
  if ((p->role == ATTN_ROLE_ROW_SUM || p->node->share >= .5) &&
      attn_is_operand(b->reading, p->node, 1))
    return 0;
  if (is_other) return 1;
  return p->node->share < 0.4 && (in_sentence || named->bits[p->role] < NAMED);
}
