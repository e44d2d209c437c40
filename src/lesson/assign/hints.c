/* hints.c -- the few words that the search itself depends on. */
#include <stdlib.h>
#include <string.h>

#include "role_search.h"

enum { TEXT_CHARACTERS = 400, SEPARATOR_BYTES = 3, PARTS = ATTN_CAPTIONS + 2 };

static const char CAUSAL[] =
    "(*UCP)(?i)causal|future|look.?ahead|triang|tril|因果|未来|下三角|above the "
    "diagonal|対角線[よりの]{0,2}も?(?:右?上|右|後|先)"
    "|\\.\\.\\s?i\\b|up to i|after the query|1 から i|j ?(?:≤|<=|≦) ?i|\\bj ?> ?i\\b(?! ?[-+])|"
    "\\bi[ $]{0,2}番目まで|\\bpeek|\\blater "
    "(?:tokens?|words?|positions?)"
    "|後の(?:語|単語|トークン)|後ろの(?:語|単語|トークン)|先の(?:語|単語|トークン)を見";
static const char PADDING[] = "(?i)\\bpad|パディング";
static const char NO_MASK[] =
    "(?i)\\b(?:no|not|without|before|unlike|ignor\\w*|skip\\w*|nor|never)\\b[^.,;\\n]{0,30}"
    "(?:mask|causal)"
    "|(?:mask|causal)\\w*[^.,;\\n]{0,12}\\b(?:is|are|comes|follows) "
    "(?:not|later|un\\w+|ignored|omitted)"
    "|unmasked|(?:マスク|因果)(?:[はをも]|に?して)?(?:な[しく]|無し|せず|かけ(?:ない|ず|る前)|"
    "使わ|用いな|用いず|省)";
static const char BY_COLUMNS[] =
    "(?i)(?:each|every) column|column-?wise|columns? sum|down the "
    "column|(?<!よこ|横)(?<!よこ一|横一)列ごと|各列|列方向";
static const char BY_ROWS[] =
    "(?i)each row|every row|per row|row-?wise|rows? sums? "
    "(?:to|are|is|each)\\b|行ごと|各行|行方向|axis ?= ?-?1|dim ?= "
    "?-?1";
static const char BIAS[] = "(*UCP)(?i)\\bbias|\\balibi\\b|バイアス";
static const char TEMPERATURE[] =
    "(*UCP)(?i)(?|(?:temperature?|temperatura|temperatur|\\btau\\b|温度|τ)[^\\w\\n]{0,4}"
    "(?:[^\\W\\d]\\w{0,2}[^\\w\\n]{1,3}){0,3}([0-9]++(?:\\.[0-9]++)?)|"
    "(?:temperature|温度) ?\\(?T\\b[^\\n]{0,120}?\\bT ?= ?([0-9]++(?:\\.[0-9]++)?))";
/* "base 100", "100^(2i/d)" */
static const char POSITION_BASE[] =
    "(*UCP)(?i)(?:\\bbas[ei]s?|底|基数|θ|theta)\\W{0,4}(?:\\w{1,3}\\W{1,3})?([0-9]{2,7}+)(?![.,]?["
    "0-9])"
    "|(?<![0-9.,])([0-9]{2,7}+)\\s?(?:\\^|\\*\\*)\\s?[({]{0,2}\\s?-?\\s?(?:[ijk2]\\b|2\\s?[*·]?["
    "ijk])";
#define WEIGHTS "W(?:[_^(]?[QKVOqkvo]\\)?)?"
#define INPUT "[xXeEhH](?:_?\\w)?"
static const char WEIGHTS_FIRST[] = "(*UCP)\\bW(?:[_^(]?[QKVqkv]\\)?)?+[ ·@*×]{1,3}" INPUT
                                    "\\b|" WEIGHTS "\\s?(?:\\.T\\b|'|\\^\\s?\\(?[T⊤])|\\bLinear\\b";
static const char WEIGHTS_LAST[] = "(*UCP)(?<!\\w)" INPUT "'?[ ·@*×]{0,3}" WEIGHTS
                                   "(?![ \\t]?(?:[A-Za-z0-9_](?![a-z])|\\.T|'|\\^\\s?\\(?[T⊤]))";
#define SCALING "(?:scal(?:e\\b|ing)|square[- ]root|√|sqrt)"
#define ROOT_OF_SIZE "(?:1 ?/ ?)?(?:√|sqrt|(?:square )?root of)[\\s({]*d"
/* The last formula is that of scaled scores: "Q @ K.T / np.sqrt(2)". Below it may be
 * "scores =", which attn_sequence_merge writes. */
static const char SCALED_FORMULA[] =
    "(*UCP)(?:^|[=:,\\s(])\\(?Q\\w{0,2} ?[·×@*]? ?K\\w{0,2} ?(?:\\^ ?\\(?T\\)?|'|ᵀ|⊤|\\.T)\\)? ?"
    "\\\\?/ ?(?:\\w{2,5}\\.)?(?:√|sqrt)[^=\\n]{1,12}\\s*\\w*[\\s=:*$]*(?:\\n scores = *)?$";
#define NOT_DONE_JA                                                                            \
  "(?:せず|し(?:な(?!さい|がら|け|いと)|ませ)|[行使](?:わ[ずな]|いませ)|" \
  "用い(?:[ずな]|ませ)|な[しく]|無し|不要|省)"
static const char NOT_SCALED[] =
    "(?i)\\b(?:no|not|never|without|skip\\w*|omit\\w*|un|ignor\\w*|leav\\w+ out|forget|"
    "drop(?:s|ped|ping)?)\\W{0,3}(?:the |any |do |we |be |a |it |that )?(?:1 ?/ ?)?"
    "(?:scal|divi|square[- ]root|√|sqrt)|nothing (?:is|gets|was) (?:scal|divi)|"
    "use_scale ?= ?(?:False|None)|"
    "n['’]t (?:\\w+ )?(?:scal|divi)|unscaled|"
    "\\bleav\\w+ (?:that|this|it|them) (?:out|away|off|aside)\\b|"
    "\\b(?:leav\\w+|left) (?:\\w+ ){0,2}(?:1 ?/ ?)?" SCALING
    "[^.,;\\n]{0,25} (?:out|off|away|aside)\\b|" SCALING
    "[^.,;\\n]{0,25} (?:is|are|was|gets?) "
    "(?:left (?:out|off|away)|omit|drop|skip|ignor|not (?:used|applied|done|needed|part))|"
    "\\b(?:ohne|sans|sin|senza|nicht) (?:\\w+ )?(?:skal|wurzel|zu "
    "teilen|divi|échelle|escal|racine|ra[íi]z)|"
    "wurzel[^.\\n]{0,30}\\bweg\\b|"
    "スケ(?:ーリング|ール)[^。\\n]{0,12}(?:せ|省|なし|無し|ない|わず)|省略|"
    "割(?:ら(?:ず|な)|りませ|ってい(?:な|ませ)|る(?:のではな|必要(?:は|も)?な)|"
    "(?:ったり|り算|る(?:の|こと|操作|処理)?)[はをも]?" NOT_DONE_JA
    ")|除(?:さ(?:ず|な)|しませ)|"
    "(?:√|ルート|平方根|sqrt)[^。、，\\n]{0,8}[はをも]" NOT_DONE_JA;
/* Scores are divided by something else. */
static const char REPLACED[] =
    "(?i)\\b(?:instead of|in place of|rather than) (?:\\w+ ){0,4}" ROOT_OF_SIZE
    "|(?:割|除す)る(?:代わり|かわり)";
/* The query of a mask: "word 2 may look only at words 1 and 2", "2番目の単語" */
static const char QUERY[] =
    "(*UCP)(?i)(?|\\b(?:word|token|position|query)\\s(?:no\\.? ?|#)?(\\d{1,2}+)\\b(?![.,]\\d)"
    "|(?:単語|トークン|位置) ?(\\d{1,2}+)(?![.,]?\\d)|(\\d{1,2}+) ?(?:番目|語目|単語目))";
static const char HEAD[] = "(?i)head|ヘッド";
static const char HEADS[] = "(?i)heads|multi|ヘッド";
static const char EXAMPLE[] = "(?i)example|problem|例\\s*\\d|問\\s*\\d|part|sentence|その";

/* tanh(q + k_1), or of both by the weights of their projections, tanh(W_q s + W_k h); not tanh(W q
 * + U k). */
static const char TANH_OF_SUM[] =
    "tanh[^\\pL\\n=]{0,8}(?:[a-z](?:_?\\w)?(?:_\\w)?[^\\pL\\n=]{0,6}\\+\\s?[a-z](?:_?\\w)?|"
    "[^\\n=+]{0,8}\\bW_?\\^?[({]{0,2}[qQ]\\b[^\\n=+]{0,16}\\+[^\\n=+]{0,8}\\bW_?\\^?[({]{0,2}[kK]"
    "\\b)";

/* The heading of one of several. */
static const char SECTION[] = "(?i)(?:example|problem|exercise|例題?|問題?|演習)\\s*\\d";

int attn_mentions_causal(struct attn_scan *scan, const char *text) {
  return attn_occurs(scan->patterns, CAUSAL, text);
}

static int occurs_above(struct attn_scan *scan, const char *pattern, int line) {
  const char *end = scan->text;
  for (int n = 1; n < line && end; n++) end = strchr(end, '\n') ? strchr(end, '\n') + 1 : NULL;
  size_t bytes = end ? (size_t)(end - scan->text) : strlen(scan->text);
  return attn_find(scan->patterns, pattern, scan->text, bytes, 0, NULL);
}

int attn_mentions_causal_above(struct attn_scan *scan, int line) {
  return occurs_above(scan, CAUSAL, line);
}

int attn_mentions_temperature_above(struct attn_scan *scan, int line) {
  return occurs_above(scan, TEMPERATURE, line);
}

int attn_denies_mask(struct attn_scan *scan, const char *text) {
  return attn_occurs(scan->patterns, NO_MASK, text);
}

int attn_mentions_tanh(struct attn_scan *scan) {
  static const char TANH[] =
      "(?i)(?<!\\bno )(?<!without )(?<!not )(?<!nor "
      ")(?<!through a )tanh(?!\\s?[はもを]?(?:な[しく]|使わ|用い[ずな]|不要))";
  return attn_document_has(scan->patterns, TANH, scan->text);
}

int attn_mentions_columns(struct attn_scan *scan) {
  return attn_document_has(scan->patterns, BY_COLUMNS, scan->text) &&
         !attn_document_has(scan->patterns, BY_ROWS, scan->text);
}

int attn_mentions_softmax_of_rows(struct attn_scan *scan) {
#define IN_SENTENCE "(?:[^\\n.。]|\\.(?!\\s))"
#define OF_ROW \
  "(?:(?:each|every|per|over|across|along) (?:the )?rows?\\b|row-?wise|行ごと|各行|行方向)"
  static const char OF_ROWS[] =
      "(*UCP)(?i)(?:softmax|ソフトマックス)" IN_SENTENCE "{0,40}?(?:" OF_ROW
      "|(?:axis|dim) ?= ?-?1)|" OF_ROW IN_SENTENCE "{0,24}(?:softmax|ソフトマックス)";
  static const char OF_COLUMNS[] =
      "(?i)\\bnot (?:\\w+ )?(?:the )?rows?\\b|columns?\\b|(?:axis|dim) ?=? "
      "?0|列(?:ごと|方向|に)|各列";
  return attn_document_has(scan->patterns, OF_ROWS, scan->text) &&
         !attn_document_has(scan->patterns, OF_COLUMNS, scan->text);
}

int attn_order_of_weights(struct attn_scan *scan, int columns) {
  int first = attn_document_has(scan->patterns, WEIGHTS_FIRST, scan->text);
  int last = attn_document_has(scan->patterns, WEIGHTS_LAST, scan->text);
  return columns == ATTN_COLUMNS_ALL ? first - last : last - first;
}

/* What a match of it states. 1, which divides nothing, also where that is no temperature. */
static double temperature_of(const char *text, const struct attn_match *m) {
  attn_cell cell;
  return attn_scan_part(text, m->group[1], &cell) && cell.value > 0 ? cell.value : 1;
}

/* The first that is not 1: that is perhaps what a function assumes. */
static double stated_temperature(struct attn_scan *scan, const char *text) {
  struct attn_match m;
  size_t bytes = strlen(text);
  for (size_t at = 0; attn_find(scan->patterns, TEMPERATURE, text, bytes, at, &m);
       at = m.group[0].end)
    if (temperature_of(text, &m) != 1) return temperature_of(text, &m);
  return 1;
}

enum { SENTENCE_BYTES = 400 };

static int is_first_byte(char c) { return ((unsigned char)c & 0xc0) != 0x80; }

/* Does the sentence around a match neither deny nor suppose it? of: what else it mentions. */
static int is_stated(struct attn_scan *scan, const char *text, const struct attn_match *m,
                     const char *of) {
  static const char SUPPOSED[] =
      "(?i)\\b(?:no|not|without|would|could(?! "
      "(?:compare|check|verify))|if|instead|later|other|higher|lower|than|vs|n't|todo|redo)\\b|"
      "なし|ない|ません|せず|らず|なら|場合|ohne|sans|sin\\b";
  size_t begin = m->group[0].begin, end = m->group[0].end;
  const size_t first = begin > SENTENCE_BYTES ? begin - SENTENCE_BYTES : 0,
               last = end + SENTENCE_BYTES;
  while (begin > first && !strchr("\n;", text[begin - 1]) &&
         !(text[begin - 1] == ' ' && begin > 1 && text[begin - 2] == '.'))
    begin--;
  while (!is_first_byte(text[begin])) begin++;
  while (text[end] && (end < last || !is_first_byte(text[end])) && !strchr("\n;", text[end]) &&
         !(text[end] == '.' && text[end + 1] == ' '))
    end++;
  return attn_find(scan->patterns, of, text, end, begin, NULL) &&
         !attn_find(scan->patterns, SUPPOSED, text, end, begin, NULL);
}

int attn_states(struct attn_scan *scan, const char *text, const char *pattern) {
  struct attn_match m;
  size_t bytes = strlen(text);
  for (size_t at = 0; attn_find(scan->patterns, pattern, text, bytes, at, &m); at = m.group[0].end)
    if (is_stated(scan, text, &m, pattern)) return 1;
  return 0;
}

/* The text without the blanks that begin lines, and without the ends of lines between characters
 * that no blank divides. NULL: no memory. */
static char *text_of_lines(struct attn_scan *scan) {
  const char *from = scan->text;
  char *text = attn_pool_take(scan->pool, strlen(from) + 1), *to = text;
  for (; text && *from; from++) {
    *to++ = *from;
    if (*from != '\n') continue;
    from += strspn(from + 1, " \t");
    if (to - text > 1 && (to[-2] & 0x80) && (from[1] & 0x80)) to--;
  }
  return text;
}

int attn_replaces_root(struct attn_scan *scan) {
  return attn_document_has(scan->patterns, REPLACED, scan->text);
}

int attn_denies_scale(struct attn_scan *scan) {
  if (scan->denies_scale) return scan->denies_scale > 0;
  const char *text = text_of_lines(scan);
  if (!text) scan->shared->failed = 1;
  int denies = text && (attn_occurs(scan->patterns, NOT_SCALED, text) || attn_replaces_root(scan));
  scan->denies_scale = denies ? 1 : -1;
  return denies;
}

/* The only temperature other than 1, where a sentence states it; else 1. */
static double find_temperature(struct attn_scan *scan) {
  static const char SOFTMAX[] =
      "(?i)soft|\\bscor|divid|logit|attention|weight|ソフト|スコア|割|注意|重み";
  struct attn_match m;
  double first = 1;
  size_t bytes = strlen(scan->text);
  int stated = 0;
  for (size_t at = 0; attn_find(scan->patterns, TEMPERATURE, scan->text, bytes, at, &m);
       at = m.group[0].end) {
    double value = temperature_of(scan->text, &m);
    if (first == 1) first = value;
    if (value != first) return 1;
    stated = stated || is_stated(scan, scan->text, &m, SOFTMAX);
  }
  return stated ? first : 1;
}

double attn_stated_temperature(struct attn_scan *scan) {
  if (scan->temperature == 0) scan->temperature = find_temperature(scan);
  return scan->temperature;
}

int attn_stated_position_base(struct attn_scan *scan) {
  struct attn_match m;
  size_t bytes = strlen(scan->text);
  int usual = 0;
  for (size_t at = 0; attn_find(scan->patterns, POSITION_BASE, scan->text, bytes, at, &m);
       at = m.group[0].end) {
    int g = m.group[1].end > m.group[1].begin ? 1 : 2, base = atoi(scan->text + m.group[g].begin);
    if (base != ATTN_POSITION_BASE) return base;
    usual = base;
  }
  return usual;
}

/* The number that the pattern finds; 0: none, or several that differ. */
static int only_number(struct attn_scan *scan, const char *pattern) {
  struct attn_match m;
  size_t bytes = strlen(scan->text);
  int only = 0;
  for (size_t at = 0; attn_find(scan->patterns, pattern, scan->text, bytes, at, &m);
       at = m.group[0].end) {
    int number = atoi(scan->text + m.group[1].begin);
    if (only && number != only) return 0;
    only = number;
  }
  return only;
}

int attn_stated_width(struct attn_scan *scan) { return only_number(scan, ATTN_KEY_DIMENSION); }

int attn_mentions_padding(struct attn_scan *scan) {
  return attn_document_has(scan->patterns, PADDING, scan->text) &&
         !attn_mentions_causal(scan, scan->text);
}

int attn_numbered_query(struct attn_scan *scan) { return only_number(scan, QUERY); }

void attn_document_hints(struct attn_scan *scan, struct attn_hints *hints) {
  static const char LARGEST[] =
      "(?i)(?<!soft)\\bmax|amax|largest|greatest|biggest|highest|subtract|shift|stab(?:le|il)|"
      "overflow|最大|安定|引い|引く|größte|maxim|mayor|plus grand|стабил|최대";
  hints->causal = attn_mentions_causal(scan, scan->text);
  hints->padding = attn_mentions_padding(scan);
  hints->query = hints->causal ? attn_numbered_query(scan) : 0;
  hints->heads = attn_document_has(scan->patterns, HEAD, scan->text);
  hints->splits = hints->heads && attn_document_has(scan->patterns, HEADS, scan->text);
  hints->temperature = stated_temperature(scan, scan->text);
  hints->shifts = attn_document_has(scan->patterns, LARGEST, scan->text);
  hints->unscaled = attn_denies_scale(scan) && hints->temperature == 1;
  hints->values = attn_document_has(scan->patterns, "(*UCP)(?<![\\w^_])V(?![\\w'])", scan->text);
  hints->tanh_of_sum = attn_document_has(scan->patterns, TANH_OF_SUM, scan->text);
  hints->width = attn_stated_width(scan);
  hints->position_base = attn_stated_position_base(scan);
}

/* The last characters of a text, at most `most`. */
static const char *tail_of(const char *text, size_t bytes, size_t most) {
  size_t at = bytes;
  while (at > 0 && most > 0)
    if (is_first_byte(text[--at])) most--;
  return text + at;
}

/* The end of a part, so that a long line is not copied for each block. */
static const char *end_of(const char *text) { return tail_of(text, strlen(text), TEXT_CHARACTERS); }

/* Captions, name and header: the last characters of them all. */
static const char *text_of(struct attn_scan *scan, const struct attn_block *b) {
  const char *part[PARTS];
  size_t bytes = 0;
  int parts = 0;
  for (int i = 0; i < b->captions; i++) part[parts++] = end_of(b->caption[i]);
  part[parts++] = end_of(b->name);
  part[parts++] = end_of(b->header);
  for (int i = 0; i < parts; i++) bytes += strlen(part[i]) + SEPARATOR_BYTES;
  char *text = attn_pool_take(scan->pool, bytes + 1), *at = text;
  if (!text) return NULL;
  for (int i = 0; i < parts; i++) {
    at = stpcpy(at, i >= b->captions ? " " : i > 0 ? " \n " : "");
    at = stpcpy(at, part[i]);
  }
  return tail_of(text, (size_t)(at - text), TEXT_CHARACTERS);
}

static int captions_mention(struct attn_scan *scan, const struct attn_block *b,
                            const char *pattern) {
  for (int i = 0; i < b->captions; i++)
    if (attn_occurs(scan->patterns, pattern, end_of(b->caption[i]))) return 1;
  return attn_occurs(scan->patterns, pattern, end_of(b->heading));
}

static int is_first(const struct attn_scan *scan, const struct attn_block *block) {
  return block == scan->block || strcmp(block->heading, block[-1].heading) != 0;
}

int attn_is_section(struct attn_scan *scan, const struct attn_block *block) {
  return is_first(scan, block) && attn_occurs(scan->patterns, SECTION, end_of(block->heading));
}

/* A table of which the header has the only name. */
static int is_below_scaled_formula(struct attn_scan *scan, const struct attn_block *b) {
  return b->captions && !b->name[0] &&
         attn_occurs(scan->patterns, SCALED_FORMULA, end_of(b->caption[b->captions - 1]));
}

/* q_3 = x_3 W_Q */
static int called_query(struct attn_scan *scan, const struct attn_block *b) {
  static const char INDEX[] = "(?i)^\\W*q[_ ]?\\{?(\\d{1,2}+)(?![.,]?\\d)";
  struct attn_match m;
  int is_called = attn_find(scan->patterns, INDEX, b->name, strlen(b->name), 0, &m);
  return is_called ? atoi(b->name + m.group[1].begin) : 0;
}

int attn_read_hints(struct attn_scan *scan, const struct attn_block *block,
                    struct attn_candidate *out) {
  out->hints.text = text_of(scan, block);
  if (!out->hints.text) return -1;
  out->hints.called_query = called_query(scan, block);
  out->hints.causal_here =
      attn_mentions_causal(scan, out->hints.text) && !attn_denies_mask(scan, out->hints.text);
  out->hints.scaled_formula = attn_occurs(scan->patterns, SCALED_FORMULA, out->hints.text) ||
                              is_below_scaled_formula(scan, block);
  out->names_head =
      captions_mention(scan, block, HEAD) || attn_occurs(scan->patterns, HEAD, end_of(block->name));
  out->names_bias = attn_occurs(scan->patterns, BIAS, end_of(block->name)) ||
                    (block->captions && attn_occurs(scan->patterns, BIAS,
                                                    end_of(block->caption[block->captions - 1])));
  out->names_example = captions_mention(scan, block, EXAMPLE);
  out->new_heading = is_first(scan, block);
  out->is_factor = block->is_factor;
  out->siblings_line = block->siblings ? block->line : 0;
  return 0;
}
