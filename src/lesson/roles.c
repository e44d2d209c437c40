/* roles.c -- what a printed name means: W^Q, クエリ, Scaled E, row 2 of the weights. */
#include <ctype.h>
#include <math.h>
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

/* "scores matrix" and スコア行列 are scores. */
static int look_up_trimmed(const char *normal) {
  static const char *const ENDS[] = {"matrix", "matrices", "vector", "vectors", "table",
                                     "行列",   "ベクトル", "表",     "結果",    "計算",
                                     "を計算", "計算結果", NULL};
  int role = attn_alias_role(normal);
  size_t length = strlen(normal);
  for (const char *const *end = ENDS; role == ATTN_ROLE_NONE && *end; end++) {
    size_t cut = strlen(*end);
    char shorter[96];
    if (length <= cut || length >= sizeof shorter || strcmp(normal + length - cut, *end) != 0)
      continue;
    memcpy(shorter, normal, length - cut);
    shorter[length - cut] = 0;
    role = attn_alias_role(shorter);
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

struct role_phrase {
  const char *word;
  int role;
};

/* In this order: "context from the weights" computes the context. */
static const struct role_phrase PHRASES[] = {
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

/* ---- divisors ---- */

static int is_plain(char c) { return (c >= '0' && c <= '9') || c == '.'; }

/* The number that stands at s and ends there, or 0. */
static double number_alone(const char *s) {
  double value = 0, unit = 1;
  const char *begin = s;
  for (; *s >= '0' && *s <= '9' && value < 1e6; s++) value = value * 10 + (*s - '0');
  if (*s == '.')
    for (s++; *s >= '0' && *s <= '9'; s++) value += (*s - '0') * (unit /= 10);
  return s > begin && !is_plain(*s) ? value : 0;
}

double attn_stated_divisor(const char *formula) {
  const char *slash = strrchr(formula, '/'), *at = slash ? slash + 1 : strstr(formula, "}{");
  static const char *const ROOTS[] = {"\\sqrt{", "\\sqrt", "sqrt(", "sqrt", "√", NULL};
  int root = 0;
  if (!at) return 0;
  at += slash ? 0 : 2;
  at += strspn(at, " ({");
  for (const char *const *r = ROOTS; *r && !root; r++)
    if (strncmp(at, *r, strlen(*r)) == 0) root = 1, at += strlen(*r);
  at += strspn(at, " ({");
  double value = number_alone(at);
  return root ? sqrt(value) : value;
}

/* ---- what is no step of ours ---- */

int attn_is_foreign(const char *text) {
  static const char *const WORDS[] = {"dropout",
                                      "residual",
                                      "skip connection",
                                      "layer norm",
                                      "layernorm",
                                      "LN(",
                                      "renormal",
                                      "bias",
                                      "relu(",
                                      "gelu(",
                                      "rotary",
                                      "RoPE",
                                      "temperature",
                                      "残差",
                                      "バイアス",
                                      "ドロップアウト",
                                      "温度",
                                      "+ b",
                                      "+ X",
                                      "+b_",
                                      "+X",
                                      NULL};
  return attn_text_has_any(text, WORDS) || strstr(text, "(X +") || strstr(text, "(X+");
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
  if (ends_with(n, "vwo")) return ATTN_STEP_PROJECTED;
  if (strstr(n, "softmax"))
    return strchr(formula, 'V') && ends_with(n, "v") ? ATTN_STEP_OUTPUT : ATTN_STEP_WEIGHTS;
  if (strstr(n, "qkt") || strstr(n, "kqt") || strstr(n, "qcdotk"))
    return divided ? ATTN_STEP_SCALED : ATTN_STEP_SCORES;
  if (divided && strstr(n, "sqrt")) return ATTN_STEP_SCALED;
  if (strcmp(n, "av") == 0 || strcmp(n, "alphav") == 0 || strcmp(n, "weightsv") == 0)
    return ATTN_STEP_OUTPUT;
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

struct role_marker {
  const char *word;
  int before; /* the number stands before it */
};

static int take_any(char *n, const struct role_marker *markers) {
  int value = -1;
  for (; markers->word && value < 0; markers++)
    value = take_number(n, markers->word, markers->before);
  return value;
}

static const struct role_marker ROWS[] = {{"行目", 1},  {"strow", 1}, {"ndrow", 1}, {"rdrow", 1},
                                          {"throw", 1}, {"row", 0},   {"行", 0},    {"トークン", 0},
                                          {"forx", 0},  {"ofx", 0},   {"forq", 0},  {"ofq", 0},
                                          {"token", 0}, {NULL, 0}};
static const struct role_marker COLUMNS[] = {
    {"列目", 1}, {"column", 0}, {"col", 0}, {"列", 0}, {NULL, 0}};
static const struct role_marker STEPS[] = {{"step", 0}, {"ステップ", 0}, {"手順", 0}, {NULL, 0}};
static const struct role_marker HEADS[] = {
    {"head", 0}, {"ヘッド", 0}, {"番目ヘッド", 1}, {NULL, 0}};

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
    int ends = strlen(n) >= length && strcmp(n + strlen(n) - length, *w) == 0;
    if (ends && strcmp(*w, "the") != 0) n[strlen(n) - length] = 0; /* q_the: of a token */
  }
}

static int role_of_part(const char *text, size_t size, struct attn_meaning *m) {
  char n[160];
  normalize(text, size, n, sizeof n);
  if (attn_alias_role(n) != ATTN_ROLE_NONE) return attn_alias_role(n);
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

/* scores / 8, S/√2: the scores divided. */
static int is_divided_scores(const char *text) {
  const char *slash = strrchr(text, '/');
  char left[64];
  if (!slash || slash == text || (size_t)(slash - text) >= 160) return 0;
  normalize(text, (size_t)(slash - text), left, sizeof left);
  return attn_alias_role(left) == ATTN_STEP_SCORES && attn_stated_divisor(text) > 0;
}

struct attn_meaning attn_meaning_of(const char *text) {
  text = behind_opening(behind_number(text));
  if (is_divided_scores(text)) return (struct attn_meaning){ATTN_STEP_SCALED, 1, -1, -1, -1, -1};
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
