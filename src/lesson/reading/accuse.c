/* accuse.c -- a slip is one only where the document states what it departs from. */
#include <math.h>
#include <string.h>

#include "reading.h"
#include "role_search.h"

static const char ROOT[] =
    "(*UCP)(?i)√|sqrt|\\broot|wurzel|racine|ra[íi]z|radice|корень|корн|平方根|根号|ルート|제곱근|"
    "\\^ ?\\(?(?:0?\\.5|1/2)|\\*\\* ?\\(?0?\\.5|d_?k";
static const char SOFTMAX[] = "(?i)soft|ソフト|소프트|софт|exp";
static const char NO_SOFTMAX[] = "(?i)\\bno softmax|\\blinear attention|ソフトマックスなし";
static const char NORMALIZED[] = "(?i)normali[sz]|\\btotal|\\bsums?\\b|正規化|合計|和で割";
static const char SCALED_SOFTMAX[] =
    "(?i)(?:softmax|ソフトマックス)\\s*\\(?(?:(?!never|not |without)[^\\n)=])*(?:/|√|sqrt)|"
    "(?:√|sqrt|ルート)[^\\n。]{0,8}で割っ(?!ていな|てな)[^\\n。]{0,8}"
    "ソフトマックス(?![^\\n。]{0,14}が)|"
    "(?<!not )divided? (?:them |it )?by (?:√|sqrt)[^\\n.;]{0,12}"
    "(?:then|before)[^\\n.;]{0,16}softmax(?![^\\n.;]{0,9}but\\b)";
static const char EACH_ROW[] = "(?i)(?:each|every|per) row|row-?wise|行ごと|各行|行方向";
static const char MASK[] = "(?i)mask|マスク";
static const char CAUSAL_MASK[] = "(?i)mask|causal|tril|マスク|因果";

static int is_near(struct attn_scan *scan, const struct attn_block *b, const char *pattern) {
  int found = attn_states(scan, b->name, pattern);
  for (int n = 0; n < b->captions && !found; n++) found = attn_states(scan, b->caption[n], pattern);
  return found;
}

/* Is a root what the text next to a block divides by? */
static int states_root(struct attn_scan *scan, const struct attn_block *b) {
  return is_near(scan, b, SCALED_SOFTMAX) || (is_near(scan, b, ROOT) && !attn_denies_scale(scan));
}

/* "divide by 1.4", "√2 ≈ 1.41", "1.41で割る": the author chose the rounded root. */
static int states_number(struct attn_scan *scan, double number) {
  struct attn_match m;
  static const char STATED[] =
      "(*UCP)(?:by |[=≈] ?)(\\d+\\.\\d+)(?!\\d)|(?<![\\d.])(\\d+\\.\\d+)\\s*(?:で割|に丸め)";
  size_t bytes = strlen(scan->text);
  for (size_t at = 0; attn_find(scan->patterns, STATED, scan->text, bytes, at, &m);
       at = m.group[0].end) {
    int g = m.group[1].end > m.group[1].begin ? 1 : 2;
    attn_cell cell;
    if (attn_scan_part(scan->text, m.group[g], &cell) && fabs(cell.value - number) < 1e-9) return 1;
  }
  return 0;
}

/* d_k is stated as the divisor, where its root is stated, too: with its value, or in the comment of
 * "S / 2  # by √d_k", it is meant. A temperature is chosen; d_k in place of its root may be a slip.
 */
static enum attn_accusation accuse_stated(struct attn_scan *scan, const struct attn_block *b,
                                          int cause) {
#define ROOT_OF_SIZE "(?:√|sqrt\\W?)\\s*\\(?d_?k"
  static const char VALUE[] =
      "(?i)" ROOT_OF_SIZE "\\)?\\s*(?:=|は)|/ ?\\d++[ \\t]*+[#%][^\\n]{0,24}?" ROOT_OF_SIZE;
  static const char CHOSEN[] = "(?i)temperature|\\btau\\b|τ|温度|\\bfactor\\b";
  if (cause != ATTN_CAUSE_SCALE_BY_DK) return ATTN_EXCUSED;
  if (attn_states(scan, scan->text, VALUE)) return ATTN_ACCUSED;
  int is_meant = attn_replaces_root(scan) || attn_document_has(scan->patterns, CHOSEN, scan->text);
  return is_meant && !states_root(scan, b) ? ATTN_EXCUSED : ATTN_UNCERTAIN;
}

/* The name of the attention that divides by the root. */
static const char SCALED_DOT_PRODUCT[] = "(?i)\\bscaled[- ]dot[- ]product";

static enum attn_accusation accuse_divisor(struct attn_scan *scan, const struct attn_priors *priors,
                                           const struct attn_placement *p, int cause) {
  if (p->relation->divisor == ATTN_DIVISOR_STATED)
    return accuse_stated(scan, &scan->block[p->block], cause);
  if (cause == ATTN_CAUSE_ROUNDING_TOO_COARSE)
    return states_number(scan, p->relation->divided_by) ? ATTN_EXCUSED : ATTN_ACCUSED;
  if (p->role == ATTN_ROLE_WEIGHTS && cause == ATTN_CAUSE_MISSING_SCALE) return ATTN_ACCUSED;
  if (attn_document_has(scan->patterns, ROOT, scan->text)) return ATTN_ACCUSED;
  if (cause == ATTN_CAUSE_SCALE_BY_DK && attn_states(scan, scan->text, SCALED_DOT_PRODUCT))
    return ATTN_ACCUSED;
  int called_scaled = p->role == ATTN_ROLE_SCALED && priors[p->block].bits[p->role] > 5;
  if (called_scaled && cause == ATTN_CAUSE_MISSING_SCALE) return ATTN_ACCUSED;
  return cause == ATTN_CAUSE_MISSING_SCALE ? ATTN_EXCUSED : ATTN_UNCERTAIN;
}

/* Are scores, or what comes after them and before a role, divided by a number? */
static int is_divided(const struct attn_roles *head, int before, double by) {
  for (int role = ATTN_ROLE_SCORES; role < before; role++) {
    const struct attn_relation *of = head->at[role] ? head->at[role]->relation : NULL;
    if (of && of->divided_by == by) return 1;
  }
  return 0;
}

/* Is it the first result of a softmax that is shown, or its output? */
static int is_first_of_softmax(const struct attn_roles *head, const struct attn_placement *p) {
  for (int role = ATTN_ROLE_SHIFTED; role < p->role; role++)
    if (head->at[role]) return 0;
  return p->role >= ATTN_ROLE_SHIFTED && p->role <= ATTN_ROLE_OUTPUT &&
         (p->role != ATTN_ROLE_OUTPUT || p->relation->uses > 1);
}

/* softmax(masked / sqrt(d)): are masked scores divided later? */
static int is_divided_after(const struct attn_roles *head, const struct attn_placement *p) {
  const struct attn_node *weights = head->at[ATTN_ROLE_WEIGHTS];
  const struct attn_relation *of = weights ? weights->relation : NULL;
  return p->role == ATTN_ROLE_MASKED && of && of->divisor == ATTN_DIVISOR_ROOT &&
         of->operand[0] == p->node;
}

/* Is nothing divided on the way to it? */
static int is_unscaled(const struct attn_roles *head, const struct attn_placement *p) {
  const struct attn_node *masked = head->at[ATTN_ROLE_MASKED];
  int is_one = p->role == ATTN_ROLE_MASKED || is_first_of_softmax(head, p);
  if (!is_one || p->relation->divided_by != 1 || is_divided_after(head, p)) return 0;
  if (masked && (!masked->relation || masked->relation->divided_by != 1)) return 0;
  return !head->at[ATTN_ROLE_SCALED] && !head->at[ATTN_ROLE_W_A];
}

/* Does a sentence between the scores and a block divide by a root, and none tell of what others do?
 */
static int divides_between(struct attn_scan *scan, const struct attn_roles *head, int block) {
  static const char DIVIDES[] =
      "(*UCP)(?i)(?:√|\\bsqrt|ルート|平方根)[^\\n]{0,24}?(?:割|除|わ[りる])|"
      "\\bdivi\\w+[^\\n=]{0,24}?(?:√|\\bsqrt|\\broot)";
  static const char ELSEWHERE[] =
      "(?i)\\b(?:often|usual|later|omit|skip|paper|chapter|unscaled|raw)|ことが多い|普通|省|生の|"
      "扱わ|"
      "あとで|後で|[第次].{0,6}章|論文";
  const struct attn_node *scores = head->at[ATTN_ROLE_SCORES];
  int found = 0, line = scores ? scan->block[scores->grid->block].end + 1 : scan->block[block].line;
  for (; line < scan->block[block].line; line++) {
    size_t bytes;
    const char *text = attn_source_line(&scan->source, line, &bytes);
    char *copy = attn_pool_text(scan->pool, text, bytes);
    if (copy && attn_occurs(scan->patterns, ELSEWHERE, copy)) return 0;
    found |= copy && attn_states(scan, copy, DIVIDES);
  }
  return found;
}

/* Scores that are not divided, where the document divides them: next to them, between them and
 * their softmax, or in a formula of softmax. A root that is only mentioned leaves it open. */
static enum attn_accusation accuse_unscaled(struct attn_scan *scan, const struct attn_roles *head,
                                            const struct attn_placement *p, int *cause) {
  if (!is_unscaled(head, p)) return ATTN_EXCUSED;
  if (attn_replaces_root(scan)) return ATTN_UNCERTAIN;
  int has_keys = head->at[ATTN_ROLE_K] || head->at[ATTN_ROLE_W_K];
  int is_open = has_keys && !attn_denies_scale(scan);
  int is_stated = has_keys && attn_states(scan, scan->text, SCALED_SOFTMAX);
  if (states_root(scan, &scan->block[p->block]) || (is_open && is_stated) ||
      (is_open && divides_between(scan, head, p->block)))
    return *cause = ATTN_CAUSE_MISSING_SCALE, ATTN_ACCUSED;
  if (is_stated) return ATTN_UNCERTAIN;
  return is_open && attn_states(scan, scan->text, ROOT) ? ATTN_UNCERTAIN : ATTN_EXCUSED;
}

/* softmax(scores), of one row or all, where the document states a temperature. */
static int forgets_temperature(struct attn_scan *scan, const struct attn_roles *head,
                               const struct attn_placement *p) {
  const struct attn_relation *r = p->relation;
  if (p->role != ATTN_ROLE_WEIGHTS || r->uses != 1 || r->use[0].op != ATTN_OP_SOFTMAX) return 0;
  const struct attn_node *scaled = head->at[ATTN_ROLE_SCALED];
  double temperature = attn_stated_temperature(scan);
  if (scaled && scaled->relation && scaled->relation->cause == ATTN_CAUSE_MISSING_SCALE) return 0;
  return temperature != 1 && !is_divided(head, ATTN_ROLE_WEIGHTS, temperature);
}

/* ---- A mask that is stated, and nothing is masked ---- */

/* The result of a softmax, with no key hidden from a query. */
static int sees_all(const struct attn_roles *head, const struct attn_placement *p) {
  return p->node && p->relation && is_first_of_softmax(head, p) && !p->relation->mask &&
         !head->at[ATTN_ROLE_MASKED];
}

/* As many queries as keys, or one query that has later keys. */
static int has_later_keys(struct attn_scan *scan, const struct attn_placement *p) {
  const struct attn_grid *g = p->node->grid;
  if (g->rows > 1) return p->role == ATTN_ROLE_OUTPUT || g->rows == g->cols;
  int query = p->role == ATTN_ROLE_OUTPUT ? 0 : attn_numbered_query(scan);
  return query > 0 && query < g->cols;
}

static int states_causal(struct attn_scan *scan, const char *text) {
  return attn_mentions_causal(scan, text) && !attn_denies_mask(scan, text);
}

/* Weights of every key, by a name that hides the later ones. What a sentence above them states may
 * be of something else: attn_forgets_mask. */
static int forgets_stated_mask(struct attn_scan *scan, const struct attn_roles *head,
                               const struct attn_placement *p) {
  const char *name = scan->block[p->block].name;
  return sees_all(head, p) && has_later_keys(scan, p) && states_causal(scan, name) &&
         attn_occurs(scan->patterns, CAUSAL_MASK, name);
}

static int states_padding(struct attn_scan *scan) {
  static const char STATED[] =
      "(?i)(?:pad|パディング)[^.。\\n]{0,80}(?:mask|ignor|hid|-∞|-inf|マスク|無視|隠)|"
      "(?:mask|ignor|hid|マスク|無視)[^.。\\n]{0,80}(?:pad|パディング)";
  static const char NOBODY[] =
      "(?i)\\bpad[^.\\n]{0,60}\\bno(?: \\w+|body)(?: may| can| should)? attends? to (?:it|them)\\b";
  return attn_mentions_padding(scan) && (attn_states(scan, scan->text, STATED) ||
                                         attn_document_has(scan->patterns, NOBODY, scan->text));
}

/* What d2l.ai and its readers call weights with padding. */
static const char MASKED_SOFTMAX[] = "(?i)masked_softmax|valid_len";

int attn_forgets_mask(struct attn_scan *scan, const struct attn_reading *reading, int example) {
  int line = 0, is_open = 0, is_seen = 0;
  for (int n = 0; n < reading->placements; n++) {
    const struct attn_placement *p = reading->placement[n];
    if (p->role == ATTN_ROLE_MASKED || (p->relation && p->relation->mask)) return 0;
    if (p->example != example || !sees_all(attn_roles_of(reading, p), p)) continue;
    is_seen = 1;
    is_open |= p->node->grid->rows > 1;
    if (has_later_keys(scan, p)) line = scan->block[p->block].line;
  }
  if (is_open && states_padding(scan)) return 1;
  if (is_seen && attn_document_has(scan->patterns, MASKED_SOFTMAX, scan->text)) return 1;
  return line && states_causal(scan, scan->text) && attn_mentions_causal_above(scan, line);
}

/* One transposed product among others that show the usual one. */
static enum attn_accusation accuse_weights(struct attn_scan *scan, const struct attn_roles *head,
                                           const struct attn_placement *p) {
  int columns = p->node->grid->transposed ? ATTN_COLUMNS_ALL : ATTN_COLUMNS_NONE;
  for (int role = ATTN_ROLE_Q; role <= ATTN_ROLE_V; role++) {
    const struct attn_relation *r = head->at[role] ? head->at[role]->relation : NULL;
    if (attn_tells_orientation(r) && !r->cause) return ATTN_ACCUSED;
  }
  return attn_order_of_weights(scan, columns) > 0 ? ATTN_ACCUSED : ATTN_UNCERTAIN;
}

static int runs_down_columns(struct attn_scan *scan) {
  static const char DOWN[] = "(?i)softmax[^.\\n]{0,20} down (?:each|every|the) column";
  return attn_mentions_columns(scan) || attn_document_has(scan->patterns, DOWN, scan->text);
}

/* softmax(S, dim=0), of which the rows are weights. */
static int states_columns(struct attn_scan *scan, const struct attn_placement *p) {
  static const char COLUMNS[] = "(?i)(?:\\bdim|\\baxis)\\s*=\\s*0\\b";
  return p->role == ATTN_ROLE_WEIGHTS && p->node->grid->rows > 1 && !p->node->grid->transposed &&
         attn_occurs(scan->patterns, COLUMNS, scan->block[p->block].name);
}

/* "Masked scores", and none is hidden. */
static int is_called_masked(const struct attn_priors *priors, const struct attn_placement *p) {
  return (p->role == ATTN_ROLE_SCORES || p->role == ATTN_ROLE_SCALED) &&
         priors[p->block].bits[ATTN_ROLE_MASKED] > ATTN_OWN_NAME;
}

#define TRANSPOSED " ?(?:\\^ ?)?T\\b"

static int states_usual_product(struct attn_scan *scan) {
  return attn_document_has(scan->patterns, "\\bQ ?[·×]? ?K" TRANSPOSED, scan->text);
}

/* "K Q^T", or "Q^T K" of queries in columns, and not the usual product. */
static int states_swapped(struct attn_scan *scan) {
  static const char SWAPPED[] =
      "\\bK ?[·×]? ?Q" TRANSPOSED "|\\bQ ?(?:\\^ ?)?T ?[·×]? ?K\\b(?!\\^|T)";
  return attn_document_has(scan->patterns, SWAPPED, scan->text) && !states_usual_product(scan);
}

/* Softmax over the other axis, where no row is mentioned; over rows where queries are columns. */
static int states_other_axis(struct attn_scan *scan, const struct attn_placement *p) {
  static const char OVER_QUERIES[] =
      "(?i)soft ?max[^.\\n]{0,40}? (?:over|across|along|to|of) (?:the |all |each |every )*\\W*"
      "(?:quer|column)|column-?wise|列(?:ごと|方向)|クエリ方向";
  static const char OF_ROWS[] =
      "(?i)rows?\\b|row-?wise|over (?:the |all )?keys|行(?:ごと|方向)|各行";
  int of_rows = attn_document_has(scan->patterns, OF_ROWS, scan->text);
  if (p->node->grid->transposed) return states_swapped(scan);
  return !of_rows && attn_document_has(scan->patterns, OVER_QUERIES, scan->text);
}

int attn_states_other_mask(struct attn_scan *scan) {
  static const char OTHER[] =
      "(*UCP)(?i)\\bwindow|\\bsliding|(?<!for a )\\bprefix|\\bstrided?\\b|\\bstrict|\\blocal "
      "(?:attention|mask)|"
      "\\bband(?:ed)?\\b|\\bleft[- ]pad|\\bblock[- ](?:sparse|diagonal)|\\bdilat|\\bsoft[- ]mask|"
      "\\bALiBi|ウィンドウ|スライディング|局所(?:注意|アテンション)|プレフィックス|窓";
  return attn_document_has(scan->patterns, OTHER, scan->text);
}

/* √d_model in place of √d_k, on purpose, or no division; a temperature beside the root. */
static int states_other_divisor(struct attn_scan *scan, int cause, int line) {
  static const char NOT_USUAL[] =
      "(?i)(?:\\bnot|instead of|rather than)[^\\w\\n]{0,6}(?:by |the )?(?:√|sqrt\\W?) ?\\(?d_?k|"
      "(?:√|sqrt\\W?) ?\\(?d_?k\\)?[^\\n。]{0,4}(?:ではな[くい]|でなく|の代わり)";
  if (cause == ATTN_CAUSE_UNKNOWN)
    return attn_mentions_temperature_above(scan, line) || attn_stated_temperature(scan) != 1;
  return (cause == ATTN_CAUSE_SCALE_BY_DK || cause == ATTN_CAUSE_SCALE_WRONG_DIM) &&
         (attn_document_has(scan->patterns, NOT_USUAL, scan->text) ||
          (attn_denies_scale(scan) && !attn_replaces_root(scan)));
}

/* Is what looks like a slip what the document states? */
static int is_stated_otherwise(struct attn_scan *scan, const struct attn_placement *p, int cause) {
  switch (cause) {
    case ATTN_CAUSE_SWAPPED_QK:
      if (p->node->grid->transposed && states_usual_product(scan)) return 1;
      return p->role > ATTN_ROLE_V && states_swapped(scan);
    case ATTN_CAUSE_SOFTMAX_OVER_COLUMNS:
      return states_other_axis(scan, p);
    case ATTN_CAUSE_MASK_OFF_BY_ONE:
    case ATTN_CAUSE_MASK_IGNORED:
      return attn_states_other_mask(scan);
    default:
      return states_other_divisor(scan, cause, scan->block[p->block].line);
  }
}

enum attn_accusation attn_accuse(struct attn_scan *scan, const struct attn_priors *priors,
                                 const struct attn_reading *reading, const struct attn_placement *p,
                                 int *cause) {
  const struct attn_roles *head = attn_roles_of(reading, p);
  const struct attn_relation *r = p->relation;
  *cause = r->cause;
  if (attn_is_own_mask(scan, r)) {
    enum attn_accusation a = attn_accuse_mask(scan, r, cause);
    return a == ATTN_ACCUSED && attn_states_other_mask(scan) ? ATTN_UNCERTAIN : a;
  }
  if (is_stated_otherwise(scan, p, r->cause)) return ATTN_UNCERTAIN;
  switch (r->cause) {
    case ATTN_CAUSE_NONE:
      if (r->use[0].base && r->use[0].base != attn_stated_position_base(scan))
        return ATTN_UNCERTAIN;
      if (is_called_masked(priors, p) || states_columns(scan, p)) return ATTN_UNCERTAIN;
      if (forgets_stated_mask(scan, head, p)) return *cause = ATTN_CAUSE_MASK_IGNORED, ATTN_ACCUSED;
      if (forgets_temperature(scan, head, p)) {
        *cause = ATTN_CAUSE_MISSING_SCALE;
        return attn_mentions_temperature_above(scan, scan->block[p->block].line) ? ATTN_ACCUSED
                                                                                 : ATTN_UNCERTAIN;
      }
      return accuse_unscaled(scan, head, p, cause);
    case ATTN_CAUSE_SCALE_BY_DK:
    case ATTN_CAUSE_SCALE_WRONG_DIM:
    case ATTN_CAUSE_MISSING_SCALE:
      return accuse_divisor(scan, priors, p, r->cause);
    case ATTN_CAUSE_UNKNOWN: /* multiplied by the root */
      return r->divided_by == 1 ? ATTN_ACCUSED : accuse_divisor(scan, priors, p, r->cause);
    case ATTN_CAUSE_ROUNDING_TOO_COARSE:
      return r->coarse ? ATTN_ACCUSED : accuse_divisor(scan, priors, p, r->cause);
    case ATTN_CAUSE_TRANSPOSED_WEIGHTS:
      return p->role <= ATTN_ROLE_V ? accuse_weights(scan, head, p) : ATTN_ACCUSED;
    case ATTN_CAUSE_SOFTMAX_OVER_COLUMNS: /* of one key each weight is 1: it is a row, upright */
      if (p->node->grid->cols == 1) return ATTN_UNCERTAIN;
      if (p->node->grid->transposed && is_near(scan, &scan->block[p->block], EACH_ROW))
        return ATTN_UNCERTAIN; /* the inputs are columns, the scores perhaps rows */
      return runs_down_columns(scan) && !p->node->grid->transposed ? ATTN_EXCUSED : ATTN_ACCUSED;
    case ATTN_CAUSE_SOFTMAX_WITHOUT_EXP:
      if (attn_document_has(scan->patterns, NO_SOFTMAX, scan->text)) return ATTN_UNCERTAIN;
      if (attn_document_has(scan->patterns, SOFTMAX, scan->text) ||
          head->at[ATTN_ROLE_EXPONENTIALS] || priors[p->block].bits[ATTN_ROLE_WEIGHTS] > 5)
        return ATTN_ACCUSED;
      return attn_document_has(scan->patterns, NORMALIZED, scan->text) ? ATTN_EXCUSED
                                                                       : ATTN_UNCERTAIN;
    case ATTN_CAUSE_SWAPPED_QK: /* K Q^T is right where queries are columns */
      if (p->role > ATTN_ROLE_V && !p->node->grid->transposed && attn_mentions_columns(scan))
        return ATTN_EXCUSED;
      return p->role <= ATTN_ROLE_V && priors[p->block].bits[p->role] < 3 ? ATTN_UNCERTAIN
                                                                          : ATTN_ACCUSED;
    case ATTN_CAUSE_MASK_OFF_BY_ONE:
      return attn_mentions_causal(scan, scan->text) ||
                     attn_document_has(scan->patterns, MASK, scan->text)
                 ? ATTN_ACCUSED
                 : ATTN_UNCERTAIN;
    default:
      return ATTN_ACCUSED;
  }
}

/* Is it a slip of the divisor? */
static int is_of_divisor(int cause) {
  return cause == ATTN_CAUSE_SCALE_BY_DK || cause == ATTN_CAUSE_SCALE_WRONG_DIM ||
         cause == ATTN_CAUSE_MISSING_SCALE || cause == ATTN_CAUSE_ROUNDING_TOO_COARSE ||
         cause == ATTN_CAUSE_UNKNOWN;
}

/* Divides the right relation as it should: if the slip does, or where nothing is divided before and
 * the text has a root? Of other slips, only then. */
static int divides_as_meant(struct attn_scan *scan, const struct attn_relation *right,
                            const struct attn_placement *p, int cause,
                            const struct attn_roles *head) {
  int has_keys = head->at[ATTN_ROLE_K] || head->at[ATTN_ROLE_W_K];
  int is_meant = p->relation->divided_by != 1 ||
                 (is_unscaled(head, p) && has_keys && attn_states(scan, scan->text, ROOT) &&
                  !attn_denies_scale(scan));
  if (is_meant) return right->divided_by != 1;
  return is_of_divisor(cause) || right->divided_by == 1;
}

static int may_replace(struct attn_scan *scan, const struct attn_relation *right,
                       const struct attn_placement *p, int cause, const struct attn_roles *head) {
  if (right->cause != ATTN_CAUSE_NONE || right->row != p->relation->row) return 0;
  if (cause == ATTN_CAUSE_TRANSPOSED_WEIGHTS && right->operands < p->relation->operands) return 0;
  int causal = right->mask == ATTN_MASK_CAUSAL || right->mask == ATTN_MASK_CAUSAL_PADDING ||
               right->mask == ATTN_MASK_STATED;
  int in_part = p->relation->mask != ATTN_MASK_NONE; /* ignored in some rows */
  if (cause == ATTN_CAUSE_MASK_IGNORED && !causal && (in_part || !head->at[ATTN_ROLE_MASKED]))
    return 0;
  if (cause == ATTN_CAUSE_MASK_OFF_BY_ONE && !causal) return 0;
  if (cause == ATTN_CAUSE_MASK_FILL && !causal) return 0;
  int of_mask = cause >= ATTN_CAUSE_MASK_IGNORED && cause <= ATTN_CAUSE_MASK_AFTER_SOFTMAX;
  if (right->mask && !p->relation->mask && !of_mask) return 0;
  if (!p->relation->cause && forgets_temperature(scan, head, p))
    return right->divided_by == attn_stated_temperature(scan);
  if (!divides_as_meant(scan, right, p, cause, head)) return 0;
  return p->relation->cause != ATTN_CAUSE_NONE || of_mask || right->divided_by != 1;
}

/* A step of keys in place of values that are wider or narrower: of the values. NULL: no memory. */
static const struct attn_relation *of_values(struct attn_scan *scan, const struct attn_relation *r,
                                             const struct attn_roles *head) {
  struct attn_relation *right = attn_pool_take(scan->pool, sizeof *right);
  const struct attn_node **operand =
      attn_pool_take(scan->pool, (size_t)r->operands * sizeof(struct attn_node *));
  if (!right || !operand) return NULL;
  for (int n = 0; n < r->operands; n++)
    operand[n] = r->operand[n] == head->at[ATTN_ROLE_K] ? head->at[ATTN_ROLE_V] : r->operand[n];
  *right = *r;
  right->operand = operand, right->cause = ATTN_CAUSE_NONE;
  return right;
}

const struct attn_relation *attn_right_relation(struct attn_scan *scan, struct attn_relations *r,
                                                const struct attn_reading *reading,
                                                const struct attn_placement *p, int cause) {
  struct attn_state s = *reading->example[p->example];
  const struct attn_relation *list, *best = NULL;
  struct attn_candidate c = {.block = p->block};
  double share = -1;
  s.head[p->head] = *attn_roles_of(reading, p);
  if (attn_is_own_mask(scan, p->relation)) return attn_with_meant_mask(scan, p->relation);
  if (attn_read_hints(scan, &scan->block[p->block], &c)) return NULL;
  attn_document_hints(scan, &c.hints);
  c.hints.transposed_weights = reading->transposed_weights;
  int count = attn_relations_list(r, &s, p->head, p->role, p->node->grid, &c.hints, &list);
  for (int n = 0; n < count; n++) {
    if (!may_replace(scan, &list[n], p, cause, &s.head[p->head])) continue;
    const struct attn_node *node = attn_node_of(r, p->node->grid, &list[n]);
    if (node && node->share > share) share = node->share, best = &list[n];
  }
  if (attn_relations_failed(r)) return NULL;
  if (!best && cause == ATTN_CAUSE_K_INSTEAD_OF_V && s.head[p->head].at[ATTN_ROLE_V])
    return of_values(scan, p->relation, &s.head[p->head]);
  return best ? best : p->relation;
}
