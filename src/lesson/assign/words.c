/* words.c -- what is written near a block, as bits for each role. Words only break ties. */
#include <string.h>

#include "ascii.h"
#include "assign.h"
#include "steps.h"

/* The weight of a name of each kind, in bits. */
static const double RIGHT_SIDE = 0.4, RIGHT_SIDE_ALONE = 0.7; /* of an equation's bits */
static const double QUALIFIER = 0.3; /* of the bits of a name: it is whose the numbers are */
static const double OWN_NAME = 9, CAPTION = 6, HEADING = 1.5, HEADER = 3, LINE_ABOVE = 2;

#define END "(?![A-Za-z])"
#define NAME "(?:\\b|(?<=[a-z]{3}_))" /* the q of temp_q */
/* W, W_, W_1^, W^(1)_: what is after it names the weights. */
#define WEIGHTS "(?<![A-Za-z0-9_])W\\s*(?:[_^]?\\s*(?:\\d|\\(\\d\\))\\s*)?[_^]?\\s*\\(?"

/* A phrase that names a role. A longer match hides the shorter ones inside it. */
struct word {
  int role;
  const char *pattern;
};

/* Scaled scores are not the scores. */
#define OF_SCORES "(?:scores?|logits?|products?|energ(?:y|ies)|similarit(?:y|ies))"
/* "Q K^T" */
#define OF_HEAD "(?:\\^\\(\\d\\))?"
#define PRODUCT "q\\w*" OF_HEAD "\\s*[·@*.×]?\\s*k\\w*" OF_HEAD "\\s*(?:\\^?\\s*T|'|\\.T)"
/* "not scaled yet" is not scaled. */
#define NOT_DENIED "(?<!not )(?<!un)(?<!before )(?<!before the )(?<!without )"

/* The parts of additive scores, of row and of column vectors: "s W_1", "h_j W_2", "U k_j" */
#define STATE_W "[qs](?:_?\\w)? ?W(?:_?[as1])"
#define KEY_U "[kh](?:_?\\w)? ?(?:U(?:_?[ah])?|W_?[h2])"
#define U_KEY "(?:U(?:_?a)?|W_?[h2]) ?[kh](?:_?\\w)?"

/* "α_1 v_1", of a weighted sum */
#define TERM "(?:α|alpha|\\b[aw])(?:_?\\d){0,2} ?[·×*]? ?[hv]_?\\d"

/* Symbols, and English. */
static const struct word WORDS[] = {
    {ATTN_ROLE_W_Q,
     "(*UCP)(?i)" WEIGHTS "Q|quer(?:y|ies) matrix(?! Q)|quer(?:y|ies)[ -](?:(?:weight |projection "
     ")matrix|(?:projection )?weights)"},
    {ATTN_ROLE_W_K,
     "(*UCP)(?i)" WEIGHTS
     "K|key matrix(?! K)|key[ -](?:(?:weight |projection )matrix|(?:projection )?weights)"},
    {ATTN_ROLE_W_V,
     "(*UCP)(?i)" WEIGHTS
     "V|value matrix(?! V)|value[ -](?:(?:weight |projection )matrix|(?:projection )?weights)"},
    {ATTN_ROLE_W_O, "(*UCP)(?i)" WEIGHTS "O" END "|output projection|projection matrix"},
    {ATTN_ROLE_SCALED,
     "(*UCP)(?i)" NOT_DENIED "scal(?:ed(?: attention| dot[- ]product)? " OF_SCORES
     "|ed|ing|e\\b)|√|sqrt|root|divid|\\bhalved|(?<!\\.\\d)(?<!\\.\\d\\d)/ ?(?:d_?k|\\d)|" PRODUCT
     "[ )^$]*(?:/ ?(?:√|d_?k|\\d|\\w*\\.?sqrt)|(?:divided|scaled) by\\b)"},
    {ATTN_ROLE_MASKED,
     "(*UCP)(?i)" NOT_DENIED "mask(?:ed(?: scaled| attention)? " OF_SCORES ")?|-∞|\\+ ?M\\b"},
    {ATTN_ROLE_SHIFTED,
     "(*UCP)(?i)shifted|subtract\\w*|\\b(?:minus|less) (?:the |its |their )?(?:\\w+ "
     ")?(?:max|larg|great|high)\\w*|that leaves|- ?max\\b"},
    {ATTN_ROLE_EXPONENTIALS, "(*UCP)(?i)exponen|\\bexp\\b(?:\\s?\\([^()\\n]{0,40}\\))?|e\\^"},
    {ATTN_ROLE_ROW_SUM, "(*UCP)(?i)\\bsums?" END "|\\badds? up to|row_?sums?|denominator"},
    {ATTN_ROLE_SCORES,
     "(*UCP)(?i)scores?" END "|" PRODUCT "|q\\w*\\s*(?:[·*.]|\\^ ?T) ?k|dot product|"
     "inner product|(?:not|never|without|n't) (?:\\w+ )?(?:scal|divid)\\w*(?: by [^.,;]{1,40}+)?|"
     "with (?:the )?k(?:ey)?(?:[ _]?\\d)?" END
     "|logit|energ|similarit|align|(?<!['’])\\b[eS]\\d?" END},
    {ATTN_ROLE_WEIGHTS,
     "(*UCP)(?i)\\bprobs\\b|"
     "softmax|weights?\\b(?! "
     "matri)|attn|α|alpha|probab|\\ba_?\\d|\\ba_[ijkst]{1,2}\\b|\\bA\\d?\\b(?! ?\\^ "
     "?-)(?!(?-i:(?<=a) (?!is\\b|are\\b)[a-z]{2}))|normali[sz]"},
    {ATTN_ROLE_OUTPUT,
     "(*UCP)(?i)" TERM "(?: ?\\+ ?" TERM ")+|\\battention ?\\(Q, ?K, ?V\\)|(?:(?:times|by|with) "
     "(?:the )?V(?:alues?)?(?!(?: vectors?)? v_?\\d)|"
     "(?:[×·@]|(?<=[\\w)] |[\\w)])\\*) ?V)\\d?\\b|\\bA(?:_?\\d)? ?V(?:_?\\d)?" END
     "|output|\\b(?:new|updated) "
     "(?:vector|representation|embedding)|\\bout(?:_?\\d|(?=\\s*[=:\\[]))|context|weighted "
     "(?:sum|mean|average)(?: of (?:the |all )?values?(?: vectors?| columns?| "
     "rows?)?)?|(?:multiply|weigh) (?:each|every) value (?:vector )?by its "
     "weight|(?:blend|mix|combin|averag)\\w*(?: of)? (?:the |all "
     ")?values?|result|\\bO\\b|\\bhead_?\\d|(?-i:\\bH\\d?\\b)(?!\\pM)|\\bh\\d\\b(?!\\pM)"
     "|\\bo_?\\d|"
     "\\bz_?\\d|\\bc_?\\d|\\by_?\\d|(?-i:\\bZ\\b)"},
    {ATTN_ROLE_CONCAT, "(*UCP)(?i)concat|side by side|stack"},
    {ATTN_ROLE_PROJECTED,
     "(*UCP)(?i)multi-?head|project(?:ed|ion of the concat)|final|(?:concat\\w*|\\bC) "
     "?(?:times|·|@|×)? ?W"},
    {ATTN_ROLE_POSITIONED, "(*UCP)(?i)X ?\\+ ?P|(?-i:\\bE ?\\+ ?PE?\\b)|positioned|with position"},
    {ATTN_ROLE_POSITION_TABLE,
     "(*UCP)(?i)(?<!\\.)\\bPE?\\b|positional|position (?:embedding|encoding|vector)"},
    {ATTN_ROLE_Y,
     "(*UCP)(?i)\\bY\\b|\\bX_\\(?(?:dec|tgt)\\w*|decoder(?: states?)?|target|\\b(?:tgt|dec)" END},
    {ATTN_ROLE_X,
     "(*UCP)(?i)\\bX\\b|\\bX_\\(?(?:enc|src)\\w*|input|embedd|[xh]_?\\d|\\b[xh]_[ijt]\\b|h\\x{304}|"
     "\\b(?:src|"
     "enc)" END "|tokens?\\b|encoder(?: states?)?|states?|" /* that serve as all three */
     "\\bas (?:the |its |their )?quer(?:y|ies),? (?:the )?keys?,? and (?:the )?values?" END},
    {ATTN_ROLE_Q, "(*UCP)(?i)quer(?:y|ies)(?: matrix)?+|" NAME "q" END
                  "|decoder states?|\\bh_t\\b|(?<!\\w\\()(?<!['’])\\b(?-i:s)(?:_?t)?" END},
    {ATTN_ROLE_K, "(*UCP)(?i)\\bkeys?(?: matrix)?+" END "|" NAME "k" END
                  "|\\bh_?\\d|\\b[hk]_[ijt]\\b|(?-i:\\bh\\b)(?!\\pM)|h\\x{304}|encoder states?"},
    {ATTN_ROLE_V, "(*UCP)(?i)\\bvalues?(?: matrix)?+" END "|" NAME "v" END},
    {ATTN_ROLE_W_A,
     "(*UCP)(?i)(?:\\b|(?<=行列))W(?:_?[as1])?" END "|matrix in (?:the middle|between)|bilinear"},
    {ATTN_ROLE_U_A, "(*UCP)(?i)\\bU(?:_?[ah])?" END "|\\bW_?[h2]" END},
    {ATTN_ROLE_V_A, "(*UCP)(?i)\\bv(?:_?a)?" END},
    {ATTN_ROLE_W_A_Q, "(*UCP)(?i)\\bW(?:_?[as1])?(?: ?(?-i:s|q(?!\\d))| [qs])(?:_?\\d)?" END
                      "|\\b[qhs](?:_?\\w)?(?:\\^?T| )? ?W(?:_?a)?" END "|\\b" STATE_W END},
    {ATTN_ROLE_U_A_K, "(*UCP)(?i)\\bW(?:_?a)? ?h(?:_?\\d)?" END "|\\b" U_KEY END "|\\b" KEY_U END},
    {ATTN_ROLE_TANH_INPUT,
     "(*UCP)(?i)\\bW(?:_?[as1])? ?[qs](?:_?\\d)? ?\\+ ?" U_KEY END "|\\b" STATE_W
     " ?\\+ ?" KEY_U END "|\\b[qs](?:_?\\w)? ?\\+ ?[kh](?:_?\\w)?" END "|\\bsums?" END},
    {ATTN_ROLE_TANH, "(*UCP)(?i)tanh|\\bt_?\\d"},
};

/* German, French, Spanish, Portuguese, Italian. */
static const struct word EUROPEAN_WORDS[] = {
    {ATTN_ROLE_SCALED,
     "(*UCP)(?i)\\bskalier|\\b(?:ge)?teilt|\\bdivis[ée]|\\bdividi|\\br?e?escalad"},
    {ATTN_ROLE_ROW_SUM,
     "(*UCP)(?i)\\b(?:summen?|sommes?|sumas?|somas?|somma|nenner|denominador)\\b"},
    {ATTN_ROLE_SCORES,
     "(*UCP)(?i)punktprodukt|skalarprodukt|ähnlichkeit|produits? scalaire|produc?tos? escalar|"
     "prodott[oi] scalar|\\bpuntuaci|\\bpontua|\\bpunteggi|similitud|similarid"},
    {ATTN_ROLE_WEIGHTS, "(*UCP)(?i)gewicht(?:e|ung)\\b|\\b(?:poids|pesos?|pesi)\\b"},
    {ATTN_ROLE_OUTPUT,
     "(*UCP)(?i)\\bausgabe|kontext|\\bergebnis|\\bsorties?\\b|\\bcontexte|\\bsalidas?\\b|"
     "\\bsaídas?\\b|\\bcontexto|\\buscit[ae]\\b|\\bcontesto"},
    {ATTN_ROLE_X,
     "(*UCP)(?i)\\beingabe|\\beinbettung|\\bentrées?\\b|\\bplongement|\\bentradas?\\b"},
    {ATTN_ROLE_Q,
     "(*UCP)(?i)\\ban?b?fragen?\\b|\\brequêtes?\\b|\\bconsultas?\\b|décodeur|\\bdecodificador|"
     "decoder-?zust"},
    {ATTN_ROLE_K,
     "(*UCP)(?i)\\bencodeur|(?<!de)\\bcodificador|encoder-?zust|schlüssel|\\bcl[ée]f?s?\\b|"
     "\\bclaves?\\b|\\bchaves?\\b|\\bchiav[ei]\\b"},
    {ATTN_ROLE_V, "(*UCP)(?i)\\bwerten?\\b|\\bvaleurs?\\b|\\bvalor(?:es|[ei])?\\b"},
};

/* Japanese, Chinese, Korean, Russian: only in text with characters beyond ASCII. */
#define WEIGHTS_OF \
  "(?:用の行列|用(?=:|$)|(?:用|をつくる|を作る|を求める|への)?の?(?:行列 ?)?(?:重み|射影|変換|W))"
static const struct word OTHER_WORDS[] = {
    {ATTN_ROLE_W_Q, "クエリ" WEIGHTS_OF},
    {ATTN_ROLE_W_K, "キー" WEIGHTS_OF},
    {ATTN_ROLE_W_V, "バリュー" WEIGHTS_OF},
    {ATTN_ROLE_W_O, "出力(?:の)?射影"},
    {ATTN_ROLE_SCALED,
     "スケー(?:ル|リング)(?:済み|後|した)の?(?:スコア|内積)|スケー|平方根|割|缩放|除以|나눈|나누|"
     "(?i:" PRODUCT
     "|内積|スコア)[ $]*を?[ $]*(?:√|\\\\sqrt|ルート)[^\\n、。]{1,16}?で割(?:った|って|ると|り)|"
     "스케일|дел(?:им|ени|ённ)|масштаб"},
    {ATTN_ROLE_MASKED, "マスク(?:済み|後|した)の?(?:スコア|内積)|マスク|掩码|마스크|маск"},
    {ATTN_ROLE_SHIFTED, "最大値|最大值|최댓값"},
    {ATTN_ROLE_EXPONENTIALS, "(?i:exp ?の値)|指数|e ?の肩|何乗|지수|экспонент"},
    {ATTN_ROLE_ROW_SUM, "合計|総和|(?:その|の)和|分母|之和|합계|сумм"},
    {ATTN_ROLE_SCORES,
     "(?i:k|キー "
     "?)_?\\d?\\s?との|内積|スコア|得分|分数|点积|内积|스코어|점수|내적|оценк|произведени"},
    {ATTN_ROLE_WEIGHTS,
     "ソフトマックス|注意重み|重み(?!行列|を|に|付)|確率|权重|소프트맥스|가중치|(?i)(?<!\\pL)вес(?:"
     "а|ов)?(?!\\pL)"},
    {ATTN_ROLE_OUTPUT,
     "(?i:V|バリュー) "
     "?(?:を(?:掛|か)|との積)|値を足し|新しいベクトル|出力|文脈|コンテキスト|加重|混ぜ|重み(?:つき|"
     "付き|づけ)(?:で?足|の?"
     "和|で?"
     "平均|で?合計)|输出|"
     "上下文|출력|(?i)выход|контекст"},
    {ATTN_ROLE_CONCAT, "連結|拼接"},
    {ATTN_ROLE_PROJECTED, "最終|連結[^\\n×・·@]{0,6}[×・·@に] ?W"},
    {ATTN_ROLE_POSITIONED, "足した"},
    {ATTN_ROLE_POSITION_TABLE, "位置"},
    {ATTN_ROLE_Y, "デコーダの?|訳文|ターゲット"},
    {ATTN_ROLE_X,
     "クエリ[·,と]キー[·,と](?:バリュー|値)(?:に|として)|入力|埋め込み|語ベクトル|エンコーダ(?:[^"
     "。\\n]{0,40}状態|の)?|"
     "输入|"
     "嵌入|입력|임베딩|(?i)(?<!\\pL)вход"},
    {ATTN_ROLE_Q, "クエリ|^問い$|問いのベクトル|デコーダの|查询|쿼리|(?i)запрос"},
    {ATTN_ROLE_K, "キー|鍵|エンコーダ(?:[^。\\n]{0,40}状態|の)|键|키|(?i)ключ"},
    {ATTN_ROLE_V, "バリュー|値(?!を|の(?:加重|重み|平均))|值|밸류|(?i)значени"},
    {ATTN_ROLE_V_A, "ベクトル v"},
    {ATTN_ROLE_TANH, "(?i)tanh ?の値|双曲"},
};

enum { HITS_MAX = 64, TEXT_MAX = 2000 };

struct hit {
  size_t begin, end;
  int role;
};

struct hits {
  int count;
  struct hit hit[HITS_MAX];
};

/* In order of the text; of two at one place the longer first. */
static void insert(struct hits *h, struct hit new) {
  if (h->count == HITS_MAX) return;
  int at = h->count++;
  for (; at > 0; at--) {
    const struct hit *before = &h->hit[at - 1];
    if (before->begin < new.begin || (before->begin == new.begin && before->end >= new.end)) break;
    h->hit[at] = *before;
  }
  h->hit[at] = new;
}

static int is_hidden(const struct hits *h, const struct hit *one) {
  for (int n = 0; n < h->count; n++)
    if (h->hit[n].begin <= one->begin && one->end <= h->hit[n].end &&
        h->hit[n].end - h->hit[n].begin > one->end - one->begin)
      return 1;
  return 0;
}

static void find_each(struct attn_patterns *p, const struct word *words, size_t count,
                      const char *text, size_t bytes, struct hits *all) {
  struct attn_match m;
  for (size_t n = 0; n < count; n++)
    for (size_t at = 0; attn_find(p, words[n].pattern, text, bytes, at, &m); at = m.group[0].end) {
      if (m.group[0].end <= m.group[0].begin) break;
      insert(all, (struct hit){m.group[0].begin, m.group[0].end, words[n].role});
    }
}

static int is_ascii(const char *text, size_t bytes) {
  for (size_t n = 0; n < bytes; n++)
    if ((unsigned char)text[n] > 127) return 0;
  return 1;
}

static void search_words(struct attn_patterns *p, const char *text, size_t bytes,
                         struct hits *out) {
  find_each(p, WORDS, sizeof WORDS / sizeof *WORDS, text, bytes, out);
  find_each(p, EUROPEAN_WORDS, sizeof EUROPEAN_WORDS / sizeof *EUROPEAN_WORDS, text, bytes, out);
  if (!is_ascii(text, bytes))
    find_each(p, OTHER_WORDS, sizeof OTHER_WORDS / sizeof *OTHER_WORDS, text, bytes, out);
  int shown = 0; /* in place: the longer hit, which hides others, always stays */
  for (int n = 0; n < out->count; n++)
    if (!is_hidden(out, &out->hit[n])) out->hit[shown++] = out->hit[n];
  out->count = shown;
}

/* Each text is searched once: captions are those of several blocks, in several readings. */
static const struct hits *find_words(struct attn_scan *scan, const char *text, size_t bytes) {
  static const struct hits NONE = {0};
  struct attn_shared_text *shared = scan->shared;
  struct attn_memo_entry *e = attn_memo_at(shared->pool, &shared->words, text, bytes);
  if (e && e->value) return e->value;
  struct hits *found = e ? attn_pool_take(shared->pool, sizeof *found) : NULL;
  if (!found) return shared->failed = 1, &NONE;
  search_words(scan->patterns, text, bytes, found);
  return e->value = found;
}

static void raise(struct attn_priors *p, int role, double bits) {
  if (bits > p->bits[role]) p->bits[role] = bits;
  if (bits > p->best) p->best = bits;
}

/* The roles that a text names, in order; of more than those of inputs, these alone. */
static int roles_in_order(const struct hits *h, int *role) {
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
static void add_in_order(const struct attn_block *b, const struct hits *h, double bits,
                         struct attn_priors *out) {
  int role[HITS_MAX], count = roles_in_order(h, role);
  int first = b->siblings && count >= b->siblings ? count - b->siblings : 0;
  if (first + b->ordinal < count) raise(out, role[first + b->ordinal], bits);
}

/* "values (encoder)": inputs that are named after queries, keys or values are whose these are. */
static int is_qualifier(const struct hits *h, int at) {
  int role = h->hit[at].role;
  if (role != ATTN_ROLE_X && role != ATTN_ROLE_Y) return 0;
  for (int n = 0; n < at; n++)
    if (h->hit[n].role >= ATTN_ROLE_Q && h->hit[n].role <= ATTN_ROLE_V &&
        h->hit[n].end <= h->hit[at].begin)
      return 1;
  return 0;
}

static void add_each(const struct hits *h, double bits, struct attn_priors *out) {
  for (int n = 0; n < h->count; n++) {
    double place = is_qualifier(h, n) ? QUALIFIER : n == 0 || n == h->count - 1 ? 1 : 0.6;
    raise(out, h->hit[n].role, bits * place * (h->count < 3 ? 1 : 0.85));
  }
}

static void add_hits(const struct attn_block *b, const struct hits *h, double bits,
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
  const struct hits *h = find_words(scan, text, left);
  int named = h->count > 0;
  add_hits(b, h, bits, out);
  if (!equation || left == bytes) return named;
  h = find_words(scan, text + left, bytes - left);
  int is_letter = !attn_find(scan->patterns, "(*UCP)\\w\\W*\\w", text, left, 0, NULL);
  add_hits(b, h, bits * (named && !is_letter ? RIGHT_SIDE : RIGHT_SIDE_ALONE), out);
  return named || h->count > 0;
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
  if (!indexed || b->source == ATTN_BLOCK_GRID || b->source == ATTN_BLOCK_TURNS || !b->label[0])
    return 0;
  if (b->source != ATTN_BLOCK_ROWS) return add(scan, b, b->label[0], OWN_NAME * 0.8, out);
  add(scan, b, b->label[0], 3, out);
  return 0;
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

/* "the rows of S as decoder states and those of H as encoder states", read once. */
static const struct attn_stated_states *states_of(struct attn_scan *scan) {
  static const char CROSS[] = "(?i)cross[- ]?attention|\\bdecoder|クロスアテンション|デコーダ";
  static const char STATED[] = "\\b([A-Z]) as (?:the )?(decoder|encoder) states?\\b";
  struct attn_stated_states *s = &scan->states;
  struct attn_match m;
  if (s->is_known) return s;
  size_t bytes = strlen(scan->text);
  s->is_known = 1;
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

/* "x" of a decoder beside the memory of an encoder: what is called X may be that of the queries. */
static void add_cross(struct attn_scan *scan, struct attn_priors *out) {
  if (out->bits[ATTN_ROLE_X] > 0 && out->bits[ATTN_ROLE_Y] <= 0 && states_of(scan)->is_cross)
    out->bits[ATTN_ROLE_Y] = 1;
}

/* "x W_a y^T", "K = Y W_K", "decoder states X": what the page calls X are inputs of the queries. */
static void exchange_inputs(struct attn_scan *scan, const char *name, struct attn_priors *out) {
  static const char OF_X[] =
      "(?<![A-Za-z'])[xX] ?[·*@]? ?(?:W\\w{0,4}|w_?a) ?[·*@]? ?[yY](?![A-Za-z])|\\b[KV] ?= ?Y "
      "?[·*@]? ?W|"
      "\\bdecoder states?\\W{1,3}(?:the )?(?:rows of )?X\\b";
  static const char INPUT[] = "(?<![A-Za-z0-9])[XYxy][^A-Za-z0-9]*+$";
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

static int is_wordless(const struct attn_block *b) {
  return !b->captions && !*b->name && !*b->header;
}

/* "W_Q, W_K and W_V, in this order:" above as many tables: the role of each. "The weights for
 * query, key and value" are no queries; "the query, key and value matrices" may be weights. */
static void add_in_turn(struct attn_scan *scan, int block, struct attn_priors *out) {
  static const char MATRICES[] = "(?i)matrices|行列", WEIGHTS_OF_INPUTS[] = "(?i)weights|重み";
  int first = block, end = block + 1, role[HITS_MAX];
  while (first > 0 && block - first < HITS_MAX && is_wordless(&scan->block[first])) first--;
  while (end < scan->blocks && end - first <= HITS_MAX && is_wordless(&scan->block[end])) end++;
  const struct attn_block *b = &scan->block[first];
  const char *text = b->captions ? b->caption[b->captions - 1] : "";
  size_t bytes = strlen(text);
  if (end - first < 2 || end - first > HITS_MAX || !bytes || *b->name || bytes > TEXT_MAX) return;
  int roles = roles_in_order(find_words(scan, text, bytes), role), all = end - first;
  int skipped = roles == all + 1 && role[0] == ATTN_ROLE_X; /* "of the same inputs" */
  if (roles != all + skipped) return;
  int r = role[block - first + skipped], is_input = r >= ATTN_ROLE_Q && r <= ATTN_ROLE_V;
  int are_weights = attn_occurs(scan->patterns, WEIGHTS_OF_INPUTS, text);
  if (!is_input || !are_weights) raise(out, r, CAPTION);
  if (is_input && (are_weights || attn_occurs(scan->patterns, MATRICES, text)))
    raise(out, ATTN_ROLE_W_Q + r - ATTN_ROLE_Q, CAPTION);
}

/* "the matrices for the queries", then "the keys", "and the values": the matrices for these. */
static void add_continued(struct attn_scan *scan, int block, struct attn_priors *out) {
  static const char *const CAPTION_OF[] = {"(?i)\\bmatrices for (?:the )?queries\\W*$",
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

void attn_block_priors(struct attn_scan *scan, int block, struct attn_priors *out) {
  const struct attn_block *b = &scan->block[block];
  const char *nearest = b->captions > 0 ? b->caption[b->captions - 1] : NULL;
  const char *above = b->captions > 1 ? b->caption[b->captions - 2] : NULL;
  memset(out, 0, sizeof *out);
  if ((out->is_aside = attn_is_aside(scan, b))) return;
  int own = !is_called_as_others(scan, block) && add(scan, b, last_clause(b->name), OWN_NAME, out);
  if (!own) own = add_label(scan, b, out);
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
  add_cross(scan, out);
  exchange_inputs(scan, *b->name || !nearest ? b->name : nearest, out);
}
