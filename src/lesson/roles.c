/* roles.c -- what a printed name means: W^Q, クエリ, Scaled E, row 2 of the weights. */
#include <ctype.h>
#include <string.h>

#include "assemble.h"
#include "source.h"

/* ---- text ---- */

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

int attn_text_has(const char *text, const char *word) {
  if (!text) return 0;
  size_t length = strlen(word);
  for (; *text; text++) {
    size_t i = 0;
    while (i < length && lower(text[i]) == lower(word[i])) i++;
    if (i == length) return 1;
  }
  return 0;
}

int attn_text_has_any(const char *text, const char *const *words) {
  for (; *words; words++)
    if (attn_text_has(text, *words)) return 1;
  return 0;
}

/* What a character adds to a normal name: nothing for punctuation and the particle. */
static size_t normal_character(uint32_t c, const char *bytes, size_t size, char *out) {
  if (c >= 0x2080 && c <= 0x2089) return out[0] = (char)('0' + (c - 0x2080)), 1;
  if (c == 0x3B1) return memcpy(out, "alpha", 5), 5;
  if (c == 0x221A) return memcpy(out, "sqrt", 4), 4;
  if (c < 128) {
    if (!isalnum((int)c)) return 0;
    return out[0] = lower((char)c), 1;
  }
  if (c < 0x370 || (c >= 0x2000 && c < 0x3041) || c == 0x306E || c == 0x30FB || c > 0xFF00)
    return 0; /* punctuation; の; the middle dot */
  memcpy(out, bytes, size);
  return size;
}

static void normalize(const char *text, size_t size, char *normal, size_t room) {
  size_t n = 0, next;
  for (size_t i = 0; i < size && n + 8 < room; i = next) {
    uint32_t c = attn_glyph(text, i, size, &next);
    n += normal_character(c, text + i, next - i, normal + n);
  }
  normal[n] = 0;
}

void attn_normal_name(const char *text, char *normal, size_t size) {
  normalize(text, strlen(text), normal, size);
}

/* ---- names ---- */

struct alias {
  const char *name; /* normal */
  int role;
};

static const struct alias ALIASES[] = {
    {"x", ATTN_STEP_X},
    {"input", ATTN_STEP_X},
    {"inputs", ATTN_STEP_X},
    {"inputx", ATTN_STEP_X},
    {"embedding", ATTN_STEP_X},
    {"embeddings", ATTN_STEP_X},
    {"inputembedding", ATTN_STEP_X},
    {"inputembeddings", ATTN_STEP_X},
    {"tokenembeddings", ATTN_STEP_X},
    {"wordembeddings", ATTN_STEP_X},
    {"wordvectors", ATTN_STEP_X},
    {"inputvectors", ATTN_STEP_X},
    {"memory", ATTN_STEP_X},
    {"encoderoutput", ATTN_STEP_X},
    {"encoderoutputs", ATTN_STEP_X},
    {"encoderstates", ATTN_STEP_X},
    {"埋め込み", ATTN_STEP_X},
    {"埋込み", ATTN_STEP_X},
    {"入力", ATTN_STEP_X},
    {"入力埋め込み", ATTN_STEP_X},
    {"単語埋め込み", ATTN_STEP_X},
    {"トークン埋め込み", ATTN_STEP_X},
    {"エンコーダ出力", ATTN_STEP_X},
    {"y", ATTN_STEP_Y},
    {"decoderinput", ATTN_STEP_Y},
    {"decoderinputs", ATTN_STEP_Y},
    {"decoderstates", ATTN_STEP_Y},
    {"queryinput", ATTN_STEP_Y},
    {"queryinputs", ATTN_STEP_Y},
    {"xq", ATTN_STEP_Y},
    {"デコーダ入力", ATTN_STEP_Y},
    {"wq", ATTN_STEP_W_Q},
    {"wquery", ATTN_STEP_W_Q},
    {"queryweight", ATTN_STEP_W_Q},
    {"queryweights", ATTN_STEP_W_Q},
    {"クエリ重み", ATTN_STEP_W_Q},
    {"wk", ATTN_STEP_W_K},
    {"wkey", ATTN_STEP_W_K},
    {"keyweight", ATTN_STEP_W_K},
    {"keyweights", ATTN_STEP_W_K},
    {"キー重み", ATTN_STEP_W_K},
    {"wv", ATTN_STEP_W_V},
    {"wvalue", ATTN_STEP_W_V},
    {"valueweight", ATTN_STEP_W_V},
    {"valueweights", ATTN_STEP_W_V},
    {"バリュー重み", ATTN_STEP_W_V},
    {"wo", ATTN_STEP_W_O},
    {"wout", ATTN_STEP_W_O},
    {"woutput", ATTN_STEP_W_O},
    {"outputweight", ATTN_STEP_W_O},
    {"outputweights", ATTN_STEP_W_O},
    {"outputprojectionweights", ATTN_STEP_W_O},
    {"出力重み", ATTN_STEP_W_O},
    {"wa", ATTN_STEP_W_A},
    {"w", ATTN_STEP_W_A},
    {"walign", ATTN_STEP_W_A},
    {"u", ATTN_STEP_U_A},
    {"ua", ATTN_STEP_U_A},
    {"va", ATTN_STEP_V_A},
    {"mask", ATTN_STEP_MASK},
    {"m", ATTN_STEP_MASK},
    {"causalmask", ATTN_STEP_MASK},
    {"attentionmask", ATTN_STEP_MASK},
    {"paddingmask", ATTN_STEP_MASK},
    {"マスク", ATTN_STEP_MASK},
    {"因果マスク", ATTN_STEP_MASK},
    {"q", ATTN_STEP_Q},
    {"query", ATTN_STEP_Q},
    {"queries", ATTN_STEP_Q},
    {"クエリ", ATTN_STEP_Q},
    {"クエリー", ATTN_STEP_Q},
    {"k", ATTN_STEP_K},
    {"key", ATTN_STEP_K},
    {"keys", ATTN_STEP_K},
    {"キー", ATTN_STEP_K},
    {"v", ATTN_STEP_V},
    {"value", ATTN_STEP_V},
    {"values", ATTN_STEP_V},
    {"バリュー", ATTN_STEP_V},
    {"値", ATTN_STEP_V},
    {"pe", ATTN_STEP_POSITIONS},
    {"p", ATTN_STEP_POSITIONS},
    {"pos", ATTN_STEP_POSITIONS},
    {"positions", ATTN_STEP_POSITIONS},
    {"positionalencoding", ATTN_STEP_POSITIONS},
    {"positionalencodings", ATTN_STEP_POSITIONS},
    {"positionencoding", ATTN_STEP_POSITIONS},
    {"位置エンコーディング", ATTN_STEP_POSITIONS},
    {"位置符号化", ATTN_STEP_POSITIONS},
    {"位置", ATTN_STEP_POSITIONS},
    {"xpe", ATTN_ROLE_WITH_POSITIONS},
    {"xp", ATTN_ROLE_WITH_POSITIONS},
    {"xpos", ATTN_ROLE_WITH_POSITIONS},
    {"xpositions", ATTN_ROLE_WITH_POSITIONS},
    {"inputswithpositions", ATTN_ROLE_WITH_POSITIONS},
    {"位置付き埋め込み", ATTN_ROLE_WITH_POSITIONS},
    {"e", ATTN_STEP_SCORES},
    {"s", ATTN_STEP_SCORES},
    {"score", ATTN_STEP_SCORES},
    {"scores", ATTN_STEP_SCORES},
    {"scoree", ATTN_STEP_SCORES},
    {"scorese", ATTN_STEP_SCORES},
    {"scoress", ATTN_STEP_SCORES},
    {"rawscores", ATTN_STEP_SCORES},
    {"attentionscore", ATTN_STEP_SCORES},
    {"attentionscores", ATTN_STEP_SCORES},
    {"rawattentionscores", ATTN_STEP_SCORES},
    {"unscaledscores", ATTN_STEP_SCORES},
    {"alignment", ATTN_STEP_SCORES},
    {"alignments", ATTN_STEP_SCORES},
    {"alignmentscores", ATTN_STEP_SCORES},
    {"dotproducts", ATTN_STEP_SCORES},
    {"energy", ATTN_STEP_SCORES},
    {"energies", ATTN_STEP_SCORES},
    {"logits", ATTN_STEP_SCORES},
    {"qkt", ATTN_STEP_SCORES},
    {"qktop", ATTN_STEP_SCORES},
    {"qktranspose", ATTN_STEP_SCORES},
    {"スコア", ATTN_STEP_SCORES},
    {"アテンションスコア", ATTN_STEP_SCORES},
    {"注意スコア", ATTN_STEP_SCORES},
    {"アライメント", ATTN_STEP_SCORES},
    {"アライメントスコア", ATTN_STEP_SCORES},
    {"内積", ATTN_STEP_SCORES},
    {"類似度", ATTN_STEP_SCORES},
    {"scaled", ATTN_STEP_SCALED},
    {"scalede", ATTN_STEP_SCALED},
    {"scaleds", ATTN_STEP_SCALED},
    {"escaled", ATTN_STEP_SCALED},
    {"sscaled", ATTN_STEP_SCALED},
    {"scaledscore", ATTN_STEP_SCALED},
    {"scaledscores", ATTN_STEP_SCALED},
    {"scoresscaled", ATTN_STEP_SCALED},
    {"scaledattentionscores", ATTN_STEP_SCALED},
    {"scaledalignment", ATTN_STEP_SCALED},
    {"scaledlogits", ATTN_STEP_SCALED},
    {"スケーリング", ATTN_STEP_SCALED},
    {"スケーリング後", ATTN_STEP_SCALED},
    {"スケール後", ATTN_STEP_SCALED},
    {"スケール済み", ATTN_STEP_SCALED},
    {"スケール済みスコア", ATTN_STEP_SCALED},
    {"スケーリング後スコア", ATTN_STEP_SCALED},
    {"スケーリング済みスコア", ATTN_STEP_SCALED},
    {"スケーリングされたスコア", ATTN_STEP_SCALED},
    {"masked", ATTN_STEP_MASKED},
    {"maskedscore", ATTN_STEP_MASKED},
    {"maskedscores", ATTN_STEP_MASKED},
    {"maskeds", ATTN_STEP_MASKED},
    {"maskede", ATTN_STEP_MASKED},
    {"smasked", ATTN_STEP_MASKED},
    {"emasked", ATTN_STEP_MASKED},
    {"scoresmasked", ATTN_STEP_MASKED},
    {"maskedscaledscores", ATTN_STEP_MASKED},
    {"maskedattentionscores", ATTN_STEP_MASKED},
    {"マスク後", ATTN_STEP_MASKED},
    {"マスク済み", ATTN_STEP_MASKED},
    {"マスク後スコア", ATTN_STEP_MASKED},
    {"マスク済みスコア", ATTN_STEP_MASKED},
    {"マスク適用後", ATTN_STEP_MASKED},
    {"exp", ATTN_STEP_EXPONENTIALS},
    {"exps", ATTN_STEP_EXPONENTIALS},
    {"exponential", ATTN_STEP_EXPONENTIALS},
    {"exponentials", ATTN_STEP_EXPONENTIALS},
    {"expscores", ATTN_STEP_EXPONENTIALS},
    {"expscaled", ATTN_STEP_EXPONENTIALS},
    {"numerator", ATTN_STEP_EXPONENTIALS},
    {"numerators", ATTN_STEP_EXPONENTIALS},
    {"指数", ATTN_STEP_EXPONENTIALS},
    {"指数関数", ATTN_STEP_EXPONENTIALS},
    {"指数値", ATTN_STEP_EXPONENTIALS},
    {"分子", ATTN_STEP_EXPONENTIALS},
    {"sum", ATTN_STEP_ROW_SUM},
    {"sums", ATTN_STEP_ROW_SUM},
    {"rowsum", ATTN_STEP_ROW_SUM},
    {"rowsums", ATTN_STEP_ROW_SUM},
    {"sumexp", ATTN_STEP_ROW_SUM},
    {"denominator", ATTN_STEP_ROW_SUM},
    {"denominators", ATTN_STEP_ROW_SUM},
    {"normalizer", ATTN_STEP_ROW_SUM},
    {"合計", ATTN_STEP_ROW_SUM},
    {"行和", ATTN_STEP_ROW_SUM},
    {"行合計", ATTN_STEP_ROW_SUM},
    {"指数合計", ATTN_STEP_ROW_SUM},
    {"分母", ATTN_STEP_ROW_SUM},
    {"a", ATTN_STEP_WEIGHTS},
    {"alpha", ATTN_STEP_WEIGHTS},
    {"weight", ATTN_STEP_WEIGHTS},
    {"weights", ATTN_STEP_WEIGHTS},
    {"attn", ATTN_STEP_WEIGHTS},
    {"attention", ATTN_STEP_WEIGHTS},
    {"attnweights", ATTN_STEP_WEIGHTS},
    {"attentionweight", ATTN_STEP_WEIGHTS},
    {"attentionweights", ATTN_STEP_WEIGHTS},
    {"scaledweights", ATTN_STEP_WEIGHTS},
    {"weightsa", ATTN_STEP_WEIGHTS},
    {"probabilities", ATTN_STEP_WEIGHTS},
    {"probs", ATTN_STEP_WEIGHTS},
    {"softmax", ATTN_STEP_WEIGHTS},
    {"softmaxscores", ATTN_STEP_WEIGHTS},
    {"重み", ATTN_STEP_WEIGHTS},
    {"アテンション重み", ATTN_STEP_WEIGHTS},
    {"アテンションウェイト", ATTN_STEP_WEIGHTS},
    {"attention重み", ATTN_STEP_WEIGHTS},
    {"注意重み", ATTN_STEP_WEIGHTS},
    {"注目度", ATTN_STEP_WEIGHTS},
    {"ソフトマックス", ATTN_STEP_WEIGHTS},
    {"o", ATTN_STEP_OUTPUT},
    {"z", ATTN_STEP_OUTPUT},
    {"c", ATTN_STEP_OUTPUT},
    {"out", ATTN_STEP_OUTPUT},
    {"output", ATTN_STEP_OUTPUT},
    {"outputs", ATTN_STEP_OUTPUT},
    {"attentionoutput", ATTN_STEP_OUTPUT},
    {"attentionqkv", ATTN_STEP_OUTPUT},
    {"context", ATTN_STEP_OUTPUT},
    {"contexts", ATTN_STEP_OUTPUT},
    {"contextvector", ATTN_STEP_OUTPUT},
    {"contextvectors", ATTN_STEP_OUTPUT},
    {"head", ATTN_STEP_OUTPUT},
    {"出力", ATTN_STEP_OUTPUT},
    {"コンテキスト", ATTN_STEP_OUTPUT},
    {"コンテキストベクトル", ATTN_STEP_OUTPUT},
    {"文脈", ATTN_STEP_OUTPUT},
    {"文脈ベクトル", ATTN_STEP_OUTPUT},
    {"アテンション出力", ATTN_STEP_OUTPUT},
    {"concat", ATTN_STEP_CONCAT},
    {"concatenated", ATTN_STEP_CONCAT},
    {"concatenation", ATTN_STEP_CONCAT},
    {"concatheads", ATTN_STEP_CONCAT},
    {"連結", ATTN_STEP_CONCAT},
    {"結合", ATTN_STEP_CONCAT},
    {"projected", ATTN_STEP_PROJECTED},
    {"projection", ATTN_STEP_PROJECTED},
    {"multihead", ATTN_STEP_PROJECTED},
    {"multiheadoutput", ATTN_STEP_PROJECTED},
    {"finaloutput", ATTN_STEP_PROJECTED},
    {"最終出力", ATTN_STEP_PROJECTED},
    {"射影", ATTN_STEP_PROJECTED},
};

static int look_up(const char *normal) {
  for (size_t i = 0; i < sizeof ALIASES / sizeof *ALIASES; i++)
    if (strcmp(normal, ALIASES[i].name) == 0) return ALIASES[i].role;
  return ATTN_ROLE_NONE;
}

/* "scores matrix" and スコア行列 are scores. */
static int look_up_trimmed(const char *normal) {
  static const char *const ENDS[] = {"matrix", "matrices", "vector", "vectors", "table",
                                     "行列",   "ベクトル", "表",     "結果",    "計算",
                                     "を計算", "計算結果", NULL};
  int role = look_up(normal);
  size_t length = strlen(normal);
  for (const char *const *end = ENDS; role == ATTN_ROLE_NONE && *end; end++) {
    size_t cut = strlen(*end);
    char shorter[96];
    if (length <= cut || length >= sizeof shorter || strcmp(normal + length - cut, *end) != 0)
      continue;
    memcpy(shorter, normal, length - cut);
    shorter[length - cut] = 0;
    role = look_up(shorter);
  }
  return role;
}

const char *attn_default_symbol(int name) {
  static const char *const SYMBOLS[] = {
      "X",      "Y",    "W_Q",     "W_K",     "W_V",    "W_O",       "W",         "U",
      "v",      "mask", "Q",       "K",       "V",      "positions", "scores",    "scaled",
      "masked", "exp",  "row sum", "weights", "output", "concat",    "projected", "step"};
  return name >= 0 && name <= ATTN_STEP_OTHER ? SYMBOLS[name] : "step";
}

/* ---- phrases ---- */

struct phrase {
  const char *word;
  int role;
};

/* In this order: "context from the weights" computes the context. */
static const struct phrase PHRASES[] = {
    {"concat", ATTN_STEP_CONCAT},
    {"連結", ATTN_STEP_CONCAT},
    {"コンテキスト", ATTN_STEP_OUTPUT},
    {"文脈ベクトル", ATTN_STEP_OUTPUT},
    {"context", ATTN_STEP_OUTPUT},
    {"output", ATTN_STEP_OUTPUT},
    {"出力", ATTN_STEP_OUTPUT},
    {"weighted sum", ATTN_STEP_OUTPUT},
    {"加重和", ATTN_STEP_OUTPUT},
    {"重み付き和", ATTN_STEP_OUTPUT},
    {"バリューの適用", ATTN_STEP_OUTPUT},
    {"masked score", ATTN_STEP_MASKED},
    {"マスク後", ATTN_STEP_MASKED},
    {"exponential", ATTN_STEP_EXPONENTIALS},
    {"row sum", ATTN_STEP_ROW_SUM},
    {"softmax", ATTN_STEP_WEIGHTS},
    {"ソフトマックス", ATTN_STEP_WEIGHTS},
    {"attention weight", ATTN_STEP_WEIGHTS},
    {"アテンション重み", ATTN_STEP_WEIGHTS},
    {"注意重み", ATTN_STEP_WEIGHTS},
    {"scaling", ATTN_STEP_SCALED},
    {"scale", ATTN_STEP_SCALED},
    {"スケーリング", ATTN_STEP_SCALED},
    {"スケール", ATTN_STEP_SCALED},
    {"score", ATTN_STEP_SCORES},
    {"スコア", ATTN_STEP_SCORES},
    {"alignment", ATTN_STEP_SCORES},
    {"アライメント", ATTN_STEP_SCORES},
    {"dot product", ATTN_STEP_SCORES},
    {"内積", ATTN_STEP_SCORES},
    {"embedding", ATTN_STEP_X},
    {"埋め込み", ATTN_STEP_X},
};

int attn_phrase_role(const char *text) {
  if (attn_text_has(text, "product attention")) return ATTN_ROLE_NONE;
  for (size_t i = 0; i < sizeof PHRASES / sizeof *PHRASES; i++)
    if (attn_text_has(text, PHRASES[i].word)) return PHRASES[i].role;
  return ATTN_ROLE_NONE;
}

/* ---- formulas ---- */

static int ends_with(const char *normal, const char *end) {
  size_t length = strlen(normal), cut = strlen(end);
  return length >= cut && strcmp(normal + length - cut, end) == 0;
}

/* Normal: "softmaxfracqktsqrtdkv". */
int attn_formula_role(const char *formula) {
  char n[192];
  attn_normal_name(formula, n, sizeof n);
  int divided = strstr(n, "sqrt") || strstr(n, "frac") || strchr(formula, '/');
  if (strstr(n, "concat")) return ends_with(n, "wo") ? ATTN_STEP_PROJECTED : ATTN_STEP_CONCAT;
  if (strstr(n, "softmax"))
    return strchr(formula, 'V') && ends_with(n, "v") ? ATTN_STEP_OUTPUT : ATTN_STEP_WEIGHTS;
  if (strstr(n, "qkt") || strstr(n, "kqt") || strstr(n, "qcdotk"))
    return divided ? ATTN_STEP_SCALED : ATTN_STEP_SCORES;
  if (divided && strstr(n, "sqrt")) return ATTN_STEP_SCALED;
  if (ends_with(n, "wq") && strlen(n) <= 8) return ATTN_STEP_Q;
  if (ends_with(n, "wk") && strlen(n) <= 8) return ATTN_STEP_K;
  if (ends_with(n, "wv") && strlen(n) <= 8) return ATTN_STEP_V;
  return ATTN_ROLE_NONE;
}

int attn_is_softmax_name(const char *text) {
  char n[96];
  const char *bracket = strpbrk(text, "([");
  normalize(text, bracket ? (size_t)(bracket - text) : strlen(text), n, sizeof n);
  return strcmp(n, "softmax") == 0 || strcmp(n, "ソフトマックス") == 0;
}

/* ---- indices ---- */

static const char *digits(const char *s, int *value) {
  *value = 0;
  for (; *s >= '0' && *s <= '9'; s++)
    if (*value < 1000000) *value = *value * 10 + (*s - '0');
  return s;
}

/* e_{1,2}, e_{12}: 1, 2. */
static int two_indices(const char *text, int *row, int *col) {
  const char *s = strchr(text, '_');
  if (!s) return 0;
  s++;
  while (*s == '{' || *s == ' ') s++;
  const char *begin = s;
  s = digits(s, row);
  if (s == begin) return 0;
  while (*s == ' ') s++;
  if (*s == ',') {
    s++;
    while (*s == ' ') s++;
    begin = s;
    return digits(s, col) > begin;
  }
  if (s - begin != 2) return 0;
  *row = begin[0] - '0', *col = begin[1] - '0';
  return 1;
}

/* Takes `word` and the number beside it out of a normal name: "2行目", "row2". -1: not there. */
static int take_number(char *n, const char *word, int before) {
  char *at = strstr(n, word);
  if (!at) return -1;
  char *begin = at, *end = at + strlen(word);
  int value;
  if (before) {
    while (begin > n && begin[-1] >= '0' && begin[-1] <= '9') begin--;
    if (begin == at) return -1;
    digits(begin, &value);
  } else {
    char *stop = end + strspn(end, "0123456789");
    if (stop == end) return -1;
    digits(end, &value);
    end = stop;
  }
  memmove(begin, end, strlen(end) + 1);
  return value;
}

struct marker {
  const char *word;
  int before; /* the number stands before it */
};

static int take_any(char *n, const struct marker *markers) {
  int value = -1;
  for (; markers->word && value < 0; markers++)
    value = take_number(n, markers->word, markers->before);
  return value;
}

static const struct marker ROWS[] = {{"行目", 1},  {"strow", 1}, {"ndrow", 1}, {"rdrow", 1},
                                     {"throw", 1}, {"row", 0},   {"行", 0},    {"トークン", 0},
                                     {"forx", 0},  {"ofx", 0},   {"forq", 0},  {"ofq", 0},
                                     {"token", 0}, {NULL, 0}};
static const struct marker COLUMNS[] = {
    {"列目", 1}, {"column", 0}, {"col", 0}, {"列", 0}, {NULL, 0}};
static const struct marker STEPS[] = {{"step", 0}, {"ステップ", 0}, {"手順", 0}, {NULL, 0}};
static const struct marker HEADS[] = {{"head", 0}, {"ヘッド", 0}, {"番目ヘッド", 1}, {NULL, 0}};

/* Takes the first number out of a normal name. -1: there is none. */
static int take_index(char *n) {
  char *begin = strpbrk(n, "0123456789");
  if (!begin) return -1;
  int value;
  const char *end = digits(begin, &value);
  if (end - begin > 3) return -2;
  memmove(begin, end, strlen(end) + 1);
  return strpbrk(n, "0123456789") ? -2 : value;
}

static void drop_words(char *n) {
  static const char *const WORDS[] = {"step", "ステップ", "of", "for", "the", NULL};
  size_t ordinal = strlen("第"), whole = strlen(n);
  if (whole >= ordinal && memcmp(n, "第", ordinal) == 0)
    memmove(n, n + ordinal, whole - ordinal + 1);
  for (const char *const *w = WORDS; *w; w++) {
    size_t length = strlen(*w);
    if (strncmp(n, *w, length) == 0) memmove(n, n + length, strlen(n + length) + 1);
    length = strlen(n) >= length && strcmp(n + strlen(n) - length, *w) == 0 ? length : 0;
    if (length) n[strlen(n) - length] = 0;
  }
}

static int role_of_part(const char *text, size_t size, struct attn_meaning *m) {
  char n[160];
  normalize(text, size, n, sizeof n);
  if (look_up(n) != ATTN_ROLE_NONE) return look_up(n);
  take_any(n, STEPS);
  m->row = take_any(n, ROWS);
  m->col = take_any(n, COLUMNS);
  m->head = take_any(n, HEADS);
  if (m->head >= 0 && !*n) return ATTN_STEP_OUTPUT; /* head_1 = .. */
  drop_words(n);
  int role = look_up_trimmed(n);
  if (role != ATTN_ROLE_NONE || !*n) return role;
  m->index = take_index(n);
  drop_words(n);
  return m->index == -2 ? ATTN_ROLE_NONE : look_up_trimmed(n);
}

/* Behind "2." of a numbered heading. */
static const char *behind_number(const char *text) {
  const char *s = text + strspn(text, "0123456789.");
  return s > text && (*s == ' ' || *s == ')') ? s + 1 : text;
}

/* Let Q = .., take X = ..: the verb is no part of the name. */
static const char *behind_opening(const char *text) {
  static const char *const WORDS[] = {"let ", "take ", "and ", "where ", "with ", "the ", NULL};
  for (const char *const *w = WORDS; *w; w++) {
    size_t length = strlen(*w), i = 0;
    while (i < length && lower(text[i]) == (*w)[i]) i++;
    if (i == length) return text + length;
  }
  return text;
}

/* softmax(0.7, 0, 1.4): the arguments are no part of the name. */
static int has_arguments(const char *open) {
  return open && strpbrk(open, "0123456789") && strchr(open, ',');
}

/* 入力 X, スコア行列 E, query q_1: a word and its symbol that mean the same; or a mere "matrix"
 * before it. */
static int role_of_pair(const char *text, struct attn_meaning *m) {
  const char *space = strrchr(text, ' ');
  char word[96];
  if (!space || strlen(space) > 8 || space == text) return ATTN_ROLE_NONE;
  normalize(text, (size_t)(space - text), word, sizeof word);
  int role = role_of_part(space, strlen(space), m), spoken = look_up_trimmed(word);
  int mere = strcmp(word, "matrix") == 0 || strcmp(word, "行列") == 0 ||
             strcmp(word, "ベクトル") == 0 || strcmp(word, "vectors") == 0;
  return mere || spoken == role ? role : ATTN_ROLE_NONE;
}

struct attn_meaning attn_meaning_of(const char *text) {
  text = behind_opening(behind_number(text));
  struct attn_meaning none = {ATTN_ROLE_NONE, 1, -1, -1, -1, -1}, m = none;
  int row, col;
  const char *open = strpbrk(text, "(["), *close = open ? strpbrk(open, ")]") : NULL;
  m.name = role_of_part(text, has_arguments(open) ? (size_t)(open - text) : strlen(text), &m);
  if (two_indices(text, &row, &col)) {
    const char *bar = strchr(text, '_');
    struct attn_meaning base = none;
    base.name = role_of_part(text, (size_t)(bar - text), &base);
    if (base.name != ATTN_ROLE_NONE && base.index < 0) return base.row = row, base.col = col, base;
  }
  if (m.name != ATTN_ROLE_NONE || m.row >= 0 || m.col >= 0 || m.head >= 0) return m;
  m = none;
  m.name = role_of_pair(text, &m);
  if (m.name != ATTN_ROLE_NONE) return m;
  m.name = attn_formula_role(text);
  if (m.name == ATTN_STEP_OUTPUT || (m.name != ATTN_ROLE_NONE && !open)) return m;
  if (open) m = none, m.name = role_of_part(text, (size_t)(open - text), &m);
  if (m.name == ATTN_ROLE_NONE && close)
    m = none, m.name = role_of_part(open + 1, (size_t)(close - open - 1), &m);
  if (m.name != ATTN_ROLE_NONE || m.row >= 0) return m;
  m = none;
  m.name = attn_phrase_role(text);
  m.certain = 0;
  return m;
}
