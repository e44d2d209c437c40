/* priors.c -- what is written near a block, as bits for each role. Words only break ties. */
#include <math.h>
#include <string.h>

#include "ascii.h"
#include "role_search.h"
#include "steps.h"

/* The weight of a name of each kind, in bits. */
static const double RIGHT_SIDE = 0.4, RIGHT_SIDE_ALONE = 0.7; /* of an equation's bits */
static const double QUALIFIER = 0.3; /* of the bits of a name: it is whose the numbers are */
static const double OWN_NAME = 9, CAPTION = 6, HEADING = 1.5, HEADER = 3, LINE_ABOVE = 2;

enum { TEXT_MAX = 2000 };

static void raise(struct attn_priors *p, int role, double bits) {
  if (bits > p->bits[role]) p->bits[role] = bits;
  if (bits > p->best) p->best = bits;
}

/* The roles that a text names, in order; of more than those of inputs, these alone. */
static int roles_in_order(const struct attn_role_hits *h, int *role) {
  int count = 0, main_roles = 0;
  for (int n = 0; n < h->count; n++)
    if (!count || role[count - 1] != h->hit[n].role) role[count++] = h->hit[n].role;
  for (int n = 0; n < count; n++) {
    int r = role[n];
    if (r == ATTN_ROLE_Q || r == ATTN_ROLE_K || r == ATTN_ROLE_V || r == ATTN_ROLE_X ||
        r == ATTN_ROLE_POSITION_TABLE)
      role[main_roles++] = r;
  }
  return main_roles ? main_roles : count;
}

/* Of blocks side by side, the n-th role that the line names is that of the n-th block. */
static void add_in_order(const struct attn_block *b, const struct attn_role_hits *h, double bits,
                         struct attn_priors *out) {
  int role[ATTN_ROLE_HITS], count = roles_in_order(h, role);
  int first = b->siblings && count >= b->siblings ? count - b->siblings : 0;
  if (first + b->ordinal < count) raise(out, role[first + b->ordinal], bits);
}

/* "values (encoder)": inputs that are named after queries, keys or values are whose these are. */
static int is_qualifier(const struct attn_role_hits *h, int at) {
  int role = h->hit[at].role;
  if (role != ATTN_ROLE_X && role != ATTN_ROLE_Y) return 0;
  for (int n = 0; n < at; n++)
    if (h->hit[n].role >= ATTN_ROLE_Q && h->hit[n].role <= ATTN_ROLE_V &&
        h->hit[n].end <= h->hit[at].begin)
      return 1;
  return 0;
}

static void add_each(const struct attn_role_hits *h, double bits, struct attn_priors *out) {
  for (int n = 0; n < h->count; n++) {
    double place = is_qualifier(h, n) ? QUALIFIER : n == 0 || n == h->count - 1 ? 1 : 0.6;
    raise(out, h->hit[n].role, bits * place * (h->count < 3 ? 1 : 0.85));
  }
}

static void add_hits(const struct attn_block *b, const struct attn_role_hits *h, double bits,
                     struct attn_priors *out) {
  if (b->ordinal || b->siblings)
    add_in_order(b, h, bits, out);
  else
    add_each(h, bits, out);
}

/* Adds what a text names; 1 if it names anything. Of "S = S / √2" the left side counts most. */
static int add(struct attn_scan *scan, const struct attn_block *b, const char *text, double bits,
               struct attn_priors *out) {
  static const char EQUALS[] = "(?<![<>!])=", WORD[] = "(*UCP)\\w";
  struct attn_match m;
  size_t bytes = strlen(text) < TEXT_MAX ? strlen(text) : TEXT_MAX;
  while (bytes && ((unsigned char)text[bytes] & 0xC0) == 0x80) bytes--; /* not inside a character */
  int equation = attn_find(scan->patterns, EQUALS, text, bytes, 0, &m);
  size_t left = equation ? m.group[0].begin : bytes;
  if (equation && !attn_find(scan->patterns, WORD, text, left, 0, NULL)) left = bytes;
  const struct attn_role_hits *h = attn_find_roles(scan, text, left);
  int named = h->count > 0;
  add_hits(b, h, bits, out);
  if (!equation || left == bytes) return named;
  h = attn_find_roles(scan, text + left, bytes - left);
  int is_letter = !attn_find(scan->patterns, "(*UCP)\\w\\W*\\w", text, left, 0, NULL);
  add_hits(b, h, bits * (named && !is_letter ? RIGHT_SIDE : RIGHT_SIDE_ALONE), out);
  return named || h->count > 0;
}

/* The roles that each of several labels names, a bit for each. */
static uint64_t common_roles(struct attn_scan *scan, char *const *label, int labels) {
  uint64_t common = labels > 1 ? ~(uint64_t)0 : 0, of_one;
  for (int n = 0; n < labels && common; n++, common &= of_one) {
    const char *text = label[n] ? label[n] : "";
    const struct attn_role_hits *h = attn_find_roles(scan, text, strlen(text));
    of_one = 0;
    for (int k = 0; k < h->count; k++) of_one |= (uint64_t)1 << h->hit[k].role;
  }
  return common;
}

/* The result that all rows are called: "scores of cat" above "scores of dog". */
static int add_result(struct attn_scan *scan, const struct attn_block *b, struct attn_priors *out) {
  uint64_t common = common_roles(scan, b->label, b->labels);
  for (int role = ATTN_ROLE_SCORES; role < ATTN_ROLES; role++)
    if (common >> role & 1) raise(out, role, OWN_NAME * 0.8);
  return out->best > 0;
}

/* The weight matrix that all columns are called: "WQ 1 | WQ 2". */
static int add_columns(struct attn_scan *scan, const struct attn_block *b,
                       struct attn_priors *out) {
  uint64_t common = common_roles(scan, b->column_label, b->column_labels);
  for (int role = ATTN_ROLE_W_Q; role <= ATTN_ROLE_W_O; role++)
    if (common >> role & 1) return raise(out, role, OWN_NAME * 0.8), 1;
  return 0;
}

/* Labels such as q1 and q1·k1 name the block where nothing else does. */
static int add_label(struct attn_scan *scan, const struct attn_block *b, struct attn_priors *out) {
  static const char PAIR[] = "(?i)^q_?\\d\\s?[\\x{B7}.*\\x{D7}]\\s?k_?\\d\\W*$";
  int indexed = 0;
  if (b->labels && b->label[0] && attn_occurs(scan->patterns, PAIR, b->label[0]))
    return raise(out, ATTN_ROLE_SCORES, OWN_NAME), 1;
  for (int n = 0; n < b->labels && !indexed; n++)
    indexed = b->label[n] && attn_label_is_indexed(b->label[n]);
  if (attn_labels_are_letters(b->label, b->labels)) return 0;
  if (b->source == ATTN_BLOCK_GRID || b->source == ATTN_BLOCK_TURNS) return 0;
  if (!indexed) return add_result(scan, b, out);
  if (b->source != ATTN_BLOCK_ROWS) return add(scan, b, b->label[0], OWN_NAME * 0.8, out);
  add(scan, b, b->label[0], 3, out);
  return 0;
}

int attn_has_indices(struct attn_scan *scan, const struct attn_block *b) {
  static const char INDEX[] = "(*UCP)(?<![\\w^])[ijt][ ]?=?$";
  const attn_printing *p = &b->reading[0];
  for (int n = 0; n < p->cols; n++)
    if (p->cells[n].decimals != 0 || p->cells[n].value < 0) return 0;
  return p->rows == 1 && p->cols > 1 && attn_occurs(scan->patterns, INDEX, b->name);
}

/* The largest scores, or what is added to the output: "subtract the maximum" is a step. Weights of
 * unscaled scores, next to those "with scaling"; what is called a mistake. Each value times its
 * weight. */
int attn_is_aside(struct attn_scan *scan, const struct attn_block *b) {
  static const char ASIDE[] =
      "(*UCP)(?i)^(?!.*(?:subtract|minus|\\bless\\b|shift|[-−] ?(?:row "
      ")?max|引|減))(?:.*\\bmax(?:im(?:a|um|ums))?"
      "(?: (?:of|per|in|for) .*)?|.*最大値\\w{0,2})\\W*$|"
      "(?<!before )(?<!before the )(?<!without )(?<!without the )\\bresidual|残差|"
      "\\b(?:common|typical|frequent) (?:mistake|error|slip)|よくある(?:間違い|誤り|ミス)";
  static const char UNSCALED[] =
      "(?i)\\bwithout (?:the )?scal.*(?:softmax|weight|output)|\\bsoftmax without (?:the )?scal";
  static const char SCALED[] = "(?i)\\bwith (?:the )?scal";
  static const char WEIGHTED[] =
      "(*UCP)^\\W*(?:(?:[Ww]eight|[wαa])\\W{1,3}|[wαa]_?[^\\W_]\\W{0,3})(?:v(?:_?\\w)?|value)\\W*$";
  if (b->reading[0].rows > 1 && attn_occurs(scan->patterns, WEIGHTED, b->name)) return 1;
  if (attn_has_indices(scan, b)) return 1;
  return attn_occurs(scan->patterns, ASIDE, b->name) ||
         (attn_occurs(scan->patterns, UNSCALED, b->name) &&
          attn_document_has(scan->patterns, SCALED, scan->text));
}

/* Additive scores whose weights are called as projections are: w_v tanh(W_q q + W_k k). */
static void add_additive(struct attn_scan *scan, struct attn_priors *out) {
  static const char STATED[] = "(?i)tanh[^\\n]{1,9}W[_^({ ]{0,3}[qk]";
  const double *bits = out->bits;
  int is_projection = bits[ATTN_ROLE_W_Q] > 0 || bits[ATTN_ROLE_W_K] > 0 || bits[ATTN_ROLE_W_V] > 0;
  if (!is_projection || !attn_document_has(scan->patterns, STATED, scan->text)) return;
  raise(out, ATTN_ROLE_W_A, out->bits[ATTN_ROLE_W_Q]);
  raise(out, ATTN_ROLE_U_A, out->bits[ATTN_ROLE_W_K]);
  raise(out, ATTN_ROLE_V_A, out->bits[ATTN_ROLE_W_V]);
}

static void exchange(double *a, double *b) {
  const double first = *a;
  *a = *b;
  *b = first;
}

/* tanh(sU + hW): U is of the queries, W of the keys. */
static void add_exchanged(struct attn_scan *scan, struct attn_priors *out) {
  static const char STATED[] = "tanh[( ]{1,2}(?:[sq]_?\\w? ?U|U ?[sq]_?\\w?)\\b";
  if (!attn_document_has(scan->patterns, STATED, scan->text)) return;
  exchange(&out->bits[ATTN_ROLE_W_A], &out->bits[ATTN_ROLE_U_A]);
  exchange(&out->bits[ATTN_ROLE_W_A_Q], &out->bits[ATTN_ROLE_U_A_K]);
}

/* hs are the states of the encoder, h that of the decoder. */
static void add_state(struct attn_scan *scan, const struct attn_block *b, struct attn_priors *out) {
  if (!attn_occurs(scan->patterns, "(*UCP)^\\W*h\\W*$", b->name) ||
      !attn_document_has(scan->patterns, "(*UCP)\\bhs\\b", scan->text))
    return;
  out->bits[ATTN_ROLE_K] = out->bits[ATTN_ROLE_X] = 0;
  raise(out, ATTN_ROLE_Q, OWN_NAME);
}

/* "Embeddings E", "X = E + P": E is no energy. */
static void add_embedding(struct attn_scan *scan, const struct attn_block *b,
                          struct attn_priors *out) {
  static const char STATED[] = "(?i:embeddings?)\\W{1,3}E\\b|\\bE ?\\+ ?PE?\\b";
  if (!attn_occurs(scan->patterns, "^\\W*E\\W*$", b->name) ||
      !attn_document_has(scan->patterns, STATED, scan->text))
    return;
  out->bits[ATTN_ROLE_SCORES] = 0;
  raise(out, ATTN_ROLE_X, OWN_NAME);
}

/* "Q = H W_Q" and "K = M W_K", by the names of blocks or the lines above them. */
static void find_sources(struct attn_scan *scan, struct attn_stated_states *s) {
  static const char PRODUCT[] = "^\\W*([QKV]) ?= ?([A-Z]) ?[·*@×.]? ?W_?[QKVqkv]\\b";
  for (int n = 0; n < scan->blocks; n++) {
    const struct attn_block *b = &scan->block[n];
    const char *text = *b->name || !b->captions ? b->name : b->caption[b->captions - 1];
    struct attn_match m;
    if (!attn_find(scan->patterns, PRODUCT, text, strlen(text), 0, &m)) continue;
    uint32_t letter = 1u << (text[m.group[2].begin] - 'A');
    *(text[m.group[1].begin] == 'Q' ? &s->queries : &s->keys) |= letter;
  }
}

/* "the rows of S as decoder states and those of H as encoder states", read once. */
static const struct attn_stated_states *states_of(struct attn_scan *scan) {
  static const char CROSS[] = "(?i)cross[- ]?attention|\\bdecoder|クロスアテンション|デコーダ";
  static const char STATED[] = "\\b([A-Z]) as (?:the )?(decoder|encoder) states?\\b";
  struct attn_stated_states *s = &scan->states;
  struct attn_match m;
  if (s->is_known) return s;
  size_t bytes = strlen(scan->text);
  s->is_known = 1;
  find_sources(scan, s);
  s->is_cross = attn_document_has(scan->patterns, CROSS, scan->text);
  for (size_t at = 0; s->is_cross && attn_find(scan->patterns, STATED, scan->text, bytes, at, &m);
       at = m.group[0].end) {
    uint32_t letter = 1u << (scan->text[m.group[1].begin] - 'A');
    *(scan->text[m.group[2].begin] == 'd' ? &s->decoder : &s->encoder) |= letter;
  }
  return s;
}

static int is_word(char c) { return attn_is_letter(c) || attn_is_digit(c); }

/* The bit of the letter, as a symbol of its own, that a name ends in; 0: none. */
static uint32_t last_letter(const char *name) {
  size_t end = strlen(name);
  while (end && !is_word(name[end - 1])) end--;
  if (!end || name[end - 1] < 'A' || name[end - 1] > 'Z') return 0;
  return end == 1 || !is_word(name[end - 2]) ? 1u << (name[end - 1] - 'A') : 0;
}

static void add_stated_state(struct attn_scan *scan, const struct attn_block *b,
                             struct attn_priors *out) {
  const struct attn_stated_states *s = states_of(scan);
  uint32_t letter = last_letter(b->name);
  if (!(letter & (s->decoder | s->encoder))) return;
  out->bits[ATTN_ROLE_SCORES] = 0;
  raise(out, letter & s->decoder ? ATTN_ROLE_Q : ATTN_ROLE_K, OWN_NAME);
}

/* The inputs of queries and those of keys and values, where these are others. */
static void add_source(struct attn_scan *scan, const struct attn_block *b,
                       struct attn_priors *out) {
  static const uint32_t USUAL = 1u << ('X' - 'A') | 1u << ('Y' - 'A');
  const struct attn_stated_states *s = states_of(scan);
  uint32_t letter = last_letter(b->name) & ~USUAL;
  if (!s->queries || !s->keys || s->queries & s->keys) return;
  if (letter & s->queries) raise(out, ATTN_ROLE_Y, OWN_NAME);
  if (letter & s->keys) raise(out, ATTN_ROLE_X, OWN_NAME);
}

/* "x" of a decoder beside the memory of an encoder: what is called X may be that of the queries. */
static void add_cross(struct attn_scan *scan, struct attn_priors *out) {
  if (out->bits[ATTN_ROLE_X] > 0 && out->bits[ATTN_ROLE_Y] <= 0 && states_of(scan)->is_cross)
    out->bits[ATTN_ROLE_Y] = 1;
}

/* "x W_a y^T", "K = Y W_K", "K (Y × W_K)", "decoder states X": what the page calls X, or its rows
 * x1 and x2, are inputs of the queries. */
static void exchange_inputs(struct attn_scan *scan, const char *name, struct attn_priors *out) {
  static const char OF_X[] =
      "(?<![A-Za-z'])[xX] ?[·*@.]? ?(?:W\\w{0,4}|w_?a) ?[·*@.]? ?(?:Transpose\\W)?[yY](?![A-Za-z])|"
      "\\b[KV] ?[=(] ?Y ?[·×*@.]? ?W|"
      "\\bdecoder states?\\W{1,3}(?:the )?(?:rows of )?X\\b";
  static const char INPUT[] = "(?<![A-Za-z0-9])[XYxy](?:_?\\d)?+[^A-Za-z0-9#]*+(?:#|$)";
  if (attn_occurs(scan->patterns, INPUT, name) &&
      attn_document_has(scan->patterns, OF_X, scan->text))
    exchange(&out->bits[ATTN_ROLE_X], &out->bits[ATTN_ROLE_Y]);
}

/* Is a caption the name of queries, keys or values and nothing else: "Keys", "Keys K", "K (keys)"?
 */
static int is_input_name(struct attn_scan *scan, const char *caption) {
#define INPUT "(?:quer(?:y|ies)|keys?|values?|クエリー?|キー|バリュー|値)(?: (?:matrix|vectors?))?"
  static const char BOTH[] =
      "(?i)^\\W*(?:" INPUT "[\\s(（]*[QKV]|[QKV][\\s(（:—–-]*" INPUT ")[\\s)）:]*$";
  int step = attn_step_called(caption);
  return (step >= ATTN_STEP_Q && step <= ATTN_STEP_V) || attn_occurs(scan->patterns, BOTH, caption);
}

/* "重みは0.3と0.7なので、出力は": what follows. */
static const char *last_clause(const char *name) {
  static const char SO[] = "なので,";
  for (const char *at; (at = strstr(name, SO)) && at[sizeof SO - 1];) name = at + sizeof SO - 1;
  return name;
}

/* A sentence below a table, which has the caption above both. */
static int is_remark(const struct attn_scan *scan, int block) {
  const struct attn_block *b = &scan->block[block];
  return b->source == ATTN_BLOCK_INLINE && block > 0 && b->captions && b[-1].captions &&
         b[-1].end < b->line && b[-1].source != ATTN_BLOCK_INLINE &&
         strcmp(b->caption[b->captions - 1], b[-1].caption[b[-1].captions - 1]) == 0;
}

/* "As rows: q1 →" in front of a row: it is what q1 leads to, more often than q1. */
static double bits_of_name(struct attn_scan *scan, const struct attn_block *b) {
  return attn_occurs(scan->patterns, "\\bq_?\\d\\s?→\\s*$", b->name) ? OWN_NAME * 0.6 : OWN_NAME;
}

static int is_wordless(const struct attn_block *b) {
  return !b->captions && !*b->name && !*b->header;
}

/* "W_Q, W_K and W_V, in this order:" above as many tables: the role of each. "The weights for
 * query, key and value" are no queries; "the query, key and value matrices" may be weights. */
static void add_in_turn(struct attn_scan *scan, int block, struct attn_priors *out) {
  static const char MATRICES[] = "(?i)matrices|行列", WEIGHTS_OF_INPUTS[] = "(?i)weights|重み";
  int first = block, end = block + 1, role[ATTN_ROLE_HITS];
  while (first > 0 && block - first < ATTN_ROLE_HITS && is_wordless(&scan->block[first])) first--;
  while (end < scan->blocks && end - first <= ATTN_ROLE_HITS && is_wordless(&scan->block[end]))
    end++;
  const struct attn_block *b = &scan->block[first];
  const char *text = b->captions ? b->caption[b->captions - 1] : "";
  size_t bytes = strlen(text);
  if (end - first < 2 || end - first > ATTN_ROLE_HITS || !bytes || *b->name || bytes > TEXT_MAX)
    return;
  int roles = roles_in_order(attn_find_roles(scan, text, bytes), role), all = end - first;
  int skipped = roles == all + 1 && role[0] == ATTN_ROLE_X; /* "of the same inputs" */
  if (roles != all + skipped) return;
  int r = role[block - first + skipped], is_input = r >= ATTN_ROLE_Q && r <= ATTN_ROLE_V;
  int are_weights = attn_occurs(scan->patterns, WEIGHTS_OF_INPUTS, text);
  if (!is_input || !are_weights) raise(out, r, CAPTION);
  if (is_input && (are_weights || attn_occurs(scan->patterns, MATRICES, text)))
    raise(out, ATTN_ROLE_W_Q + r - ATTN_ROLE_Q, CAPTION);
}

/* "the matrices, first for the queries", then "the keys", "and the values": the matrices for these.
 */
static void add_continued(struct attn_scan *scan, int block, struct attn_priors *out) {
  static const char *const CAPTION_OF[] = {
      "(?i)\\bmatrices(?:,? first)?,? for (?:the )?queries\\W*$",
      "(?i)^\\W*(?:and )?(?:for )?(?:the )?keys\\W*$",
      "(?i)^\\W*(?:and )?(?:for )?(?:the )?values\\W*$"};
  const struct attn_block *b = &scan->block[block];
  for (int n = 0; n <= 2 && n <= block; n++) {
    const struct attn_block *first = b - n;
    if (!b->captions || *b->name || !first->captions) return;
    if (attn_occurs(scan->patterns, CAPTION_OF[0], first->caption[first->captions - 1]) &&
        attn_occurs(scan->patterns, CAPTION_OF[n], b->caption[b->captions - 1]))
      raise(out, ATTN_ROLE_W_Q + n, OWN_NAME);
  }
}

/* "x1: 0.1 0.9" below several captions: x1 is the label of the row. */
static int is_called_as_others(const struct attn_scan *scan, int block) {
  enum { APART = 4 };
  const struct attn_block *b = &scan->block[block];
  int same = 0;
  for (int n = block - APART; n <= block + APART; n++)
    same += n >= 0 && n < scan->blocks && n != block && !strcmp(scan->block[n].name, b->name);
  int is_row = b->source == ATTN_BLOCK_ROWS || b->source == ATTN_BLOCK_TURNS;
  return is_row && b->captions && same > 1;
}

void attn_name_priors(struct attn_scan *scan, const struct attn_block *b, const char *name,
                      struct attn_priors *out) {
  memset(out, 0, sizeof *out);
  add(scan, b, name, OWN_NAME, out);
}

/* "The three weight matrices" above what is called Q, K and V, without "Q = X W_Q": numbers decide
 * which of them are these. What is after "q = X *" is none. */
static void add_weights_of(struct attn_scan *scan, const struct attn_block *b,
                           struct attn_priors *out) {
  static const char MATRICES[] =
      "(?i)(?:weight|projection|parameter) "
      "?matri|\\bW_?Q\\W{1,4}W_?K\\b|(?:重み|射影|変換|パラメータ)の?行列";
  static const char PRODUCT_OF_X[] = "\\bQ ?= ?X";
  static const char TIMES[] = "(*UCP)^\\s*[qkvQKV]\\d? ?= ?[xX]\\d? ?[*@·×]\\s*$";
  const int is_factor = attn_occurs(scan->patterns, TIMES, b->name);
  int named = is_factor;
  for (int n = 0; n < b->captions && !named; n++)
    named = attn_occurs(scan->patterns, MATRICES, b->caption[n]);
  for (int n = 0; n < b->captions; n++)
    if (attn_occurs(scan->patterns, PRODUCT_OF_X, b->caption[n])) named = is_factor;
  for (int n = 0; n < 3 && named; n++) {
    double *bits = &out->bits[ATTN_ROLE_Q + n];
    if (*bits >= OWN_NAME) raise(out, ATTN_ROLE_W_Q + n, *bits);
    if (is_factor) *bits = 0;
  }
}

/* What describes a block that is called S: the words in front of the letter, or else the caption
 * above it. NULL: it is called otherwise. */
static const char *description_of_s(struct attn_scan *scan, const struct attn_block *b) {
  static const char S[] = "(*UCP)^(?:(.*)\\W)?S[^\\w=]*+=?+\\W*+$", WORD[] = "(*UCP)\\w";
  int n = b->captions - (b->source == ATTN_BLOCK_TURNS); /* whose last one is the step's */
  const char *name = *b->name || n < 1 ? b->name : b->caption[--n];
  struct attn_match m;
  if (!attn_find(scan->patterns, S, name, strlen(name), 0, &m)) return NULL;
  size_t front = m.group[1].end > m.group[1].begin ? m.group[1].end : 0;
  if (attn_find(scan->patterns, WORD, name, front, 0, NULL))
    return attn_pool_text(scan->pool, name, front);
  return n > 0 ? b->caption[n - 1] : "";
}

/* S are scaled scores where they are described so, or "S = QK^T/√2" is stated and not "S = QK^T".
 */
static void add_scaled(struct attn_scan *scan, const struct attn_block *b,
                       struct attn_priors *out) {
#define S_IS_PRODUCT "\\bS ?= ?\\(?Q ?[·*@]? ?(?:K ?(?:\\^\\W{0,2}T|'|ᵀ|⊤|\\.T)|t\\(K\\))"
  static const char SCALED[] = S_IS_PRODUCT "\\W{0,3}/\\W{0,2}(?:√|sqrt)",
                    RAW[] = S_IS_PRODUCT "(?!\\W{0,3}/)";
  double *scaled = &out->bits[ATTN_ROLE_SCALED], *scores = &out->bits[ATTN_ROLE_SCORES];
  const char *text = description_of_s(scan, b);
  struct attn_priors called = {.best = 0};
  if (!text) return;
  add(scan, b, text, CAPTION, &called);
  int is_scaled = called.bits[ATTN_ROLE_SCALED] > called.bits[ATTN_ROLE_SCORES];
  int is_stated = attn_document_has(scan->patterns, SCALED, scan->text) &&
                  !attn_document_has(scan->patterns, RAW, scan->text);
  if (!is_scaled && !is_stated) return;
  double most = fmax(*scaled, *scores);
  *scores = fmin(*scaled, *scores) / 2, *scaled = most;
}

/* What a block is called: its name, or else the caption that is no size, as a session of Julia has
 * it below the name. */
static const char *called(struct attn_scan *scan, const struct attn_block *b) {
  static const char SIZE[] = "^\\d{1,4}+(?:×\\d{1,4}+|-element) (?:Matrix|Vector)\\b[^.]{0,40}:$";
  if (*b->name || !b->captions) return b->name;
  int last = b->captions - 1;
  return b->caption[last - (last > 0 && attn_occurs(scan->patterns, SIZE, b->caption[last]))];
}

void attn_block_priors(struct attn_scan *scan, int block, struct attn_priors *out) {
  const struct attn_block *b = &scan->block[block];
  const char *nearest = b->captions > 0 ? b->caption[b->captions - 1] : NULL;
  const char *above = b->captions > 1 ? b->caption[b->captions - 2] : NULL;
  memset(out, 0, sizeof *out);
  if ((out->is_aside = attn_is_aside(scan, b))) return;
  int own = !is_called_as_others(scan, block) &&
            add(scan, b, last_clause(b->name), bits_of_name(scan, b), out);
  if (!own) own = add_label(scan, b, out) || add_columns(scan, b, out);
  if (!own && is_remark(scan, block)) nearest = above = NULL;
  double share = own ? 0.4 : 1;
  double caption = nearest && !own && is_input_name(scan, nearest) ? OWN_NAME : CAPTION;
  int named = nearest && add(scan, b, nearest, caption * share, out);
  if (nearest && !named && above) add(scan, b, above, CAPTION * 0.8 * share, out);
  if (above) add(scan, b, above, LINE_ABOVE * share, out);
  if (*b->heading && !own) add(scan, b, b->heading, HEADING, out);
  if (*b->header) add(scan, b, b->header, HEADER, out);
  add_in_turn(scan, block, out);
  add_continued(scan, block, out);
  add_weights_of(scan, b, out);
  add_additive(scan, out);
  add_exchanged(scan, out);
  add_state(scan, b, out);
  add_embedding(scan, b, out);
  add_stated_state(scan, b, out);
  add_source(scan, b, out);
  add_cross(scan, out);
  add_scaled(scan, b, out);
  exchange_inputs(scan, called(scan, b), out);
}
