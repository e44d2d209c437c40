/* words.c -- the words and symbols that name a role, in ten languages, and where a text has them.
 */
#include <string.h>

#include "role_search.h"
#include "steps.h"

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

/* Whose scores: "query q1 with k1 and k2" */
#define OF_KEYS "(?:query )?\\bq_?\\d with k_?\\d(?:(?:, |,? and )k_?\\d){0,6}+"

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
     "(*UCP)(?i)scores?" END "|" OF_KEYS "|" PRODUCT "|q\\w*\\s*(?:[·*.]|\\^ ?T) ?k|dot product|"
     "inner product|(?:not|never|without|n't) (?:\\w+ )?(?:scal|divid)\\w*(?: by [^.,;]{1,40}+)?|"
     "with (?:the )?k(?:ey)?(?:[ _]?\\d)?" END
     "|logit|energ|similarit|align|(?<!['’])\\b[eS]\\d?" END},
    {ATTN_ROLE_WEIGHTS,
     "(*UCP)(?i)\\bprobs\\b|"
     "weights of (?-i:q)_?\\d|"
     "softmax|weights?\\b(?! "
     "matri)|attn|α|alpha|probab|\\ba_?\\d|\\ba_[ijkst]{1,2}\\b|(?<!\\bas )\\bA\\d?\\b(?! ?\\^ "
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
     ")?(?:values?|v(?:'?s)?\\b)|result|\\bO\\b|\\bhead_?\\d|(?-i:\\bH\\d?\\b)(?!\\pM)|"
     "\\bh\\d\\b(?!\\pM)"
     "|\\bo_?\\d|"
     "\\bz_?\\d|\\bc_?\\d|\\by_?\\d|(?-i:\\bZ\\b)"},
    {ATTN_ROLE_CONCAT, "(*UCP)(?i)concat|side by side|stack"},
    {ATTN_ROLE_PROJECTED,
     "(*UCP)(?i)multi-?head|project(?:ed|ion of the concat)|final|(?:concat\\w*|\\bC) "
     "?(?:times|·|@|×)? ?W"},
    {ATTN_ROLE_POSITIONED,
     "(*UCP)(?i)X ?\\+ ?P|(?-i:\\bE ?\\+ ?PE?\\b)|positioned|with position|"
     "\\b(?:(?:embed\\w*|inputs?|tokens?|vectors?) (?:vectors? )?|x )(?:\\+|plus) (?:the )?pos"},
    {ATTN_ROLE_POSITION_TABLE,
     "(*UCP)(?i)(?<!\\.)\\bPE?\\b|positional|position (?:embedding|encoding|vector)|"
     "(?:^\\W*+|learned |absolute |sinusoidal )positions?(?=\\W*$| ?[:=])"},
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
    {ATTN_ROLE_W_Q, "(?:クエリ|問い合わせ)" WEIGHTS_OF},
    {ATTN_ROLE_W_K, "(?:キー|鍵)" WEIGHTS_OF},
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
    {ATTN_ROLE_Y,
     "(?:クエリ|問い合わせる?|問う|調べる)側の?入力|デコーダの?(?:(?:隠れ)?状態)?|訳文|ターゲット"},
    {ATTN_ROLE_X,
     "クエリ[·,と]キー[·,と](?:バリュー|値)(?:に|として)|入力|埋め込み|語ベクトル|エンコーダ(?:[^"
     "。\\n]{0,40}状態|の)?|"
     "输入|"
     "嵌入|입력|임베딩|(?i)(?<!\\pL)вход"},
    {ATTN_ROLE_Q,
     "クエリ|問い合わせ(?!る)|^問い$|問いのベクトル|デコーダの?(?:隠れ)?状態|デコーダの|查询|쿼리|("
     "?i)запрос"},
    {ATTN_ROLE_K, "キー(?!の次元)|鍵|エンコーダ(?:[^。\\n]{0,40}状態|の)|键|키|(?i)ключ"},
    {ATTN_ROLE_V, "バリュー|値(?!を|の(?:加重|重み|平均))|值|밸류|(?i)значени"},
    {ATTN_ROLE_V_A, "ベクトル v"},
    {ATTN_ROLE_TANH, "(?i)tanh ?の値|双曲"},
};

/* In order of the text; of two at one place the longer first. */
static void insert(struct attn_role_hits *h, struct attn_role_hit new) {
  if (h->count == ATTN_ROLE_HITS) return;
  int at = h->count++;
  for (; at > 0; at--) {
    const struct attn_role_hit *before = &h->hit[at - 1];
    if (before->begin < new.begin || (before->begin == new.begin && before->end >= new.end)) break;
    h->hit[at] = *before;
  }
  h->hit[at] = new;
}

static int is_hidden(const struct attn_role_hits *h, const struct attn_role_hit *one) {
  for (int n = 0; n < h->count; n++)
    if (h->hit[n].begin <= one->begin && one->end <= h->hit[n].end &&
        h->hit[n].end - h->hit[n].begin > one->end - one->begin)
      return 1;
  return 0;
}

static void find_each(struct attn_patterns *p, const struct word *words, size_t count,
                      const char *text, size_t bytes, struct attn_role_hits *all) {
  struct attn_match m;
  for (size_t n = 0; n < count; n++)
    for (size_t at = 0; attn_find(p, words[n].pattern, text, bytes, at, &m); at = m.group[0].end) {
      if (m.group[0].end <= m.group[0].begin) break;
      insert(all, (struct attn_role_hit){m.group[0].begin, m.group[0].end, words[n].role});
    }
}

static int is_ascii(const char *text, size_t bytes) {
  for (size_t n = 0; n < bytes; n++)
    if ((unsigned char)text[n] > 127) return 0;
  return 1;
}

static void search_words(struct attn_patterns *p, const char *text, size_t bytes,
                         struct attn_role_hits *out) {
  find_each(p, WORDS, sizeof WORDS / sizeof *WORDS, text, bytes, out);
  find_each(p, EUROPEAN_WORDS, sizeof EUROPEAN_WORDS / sizeof *EUROPEAN_WORDS, text, bytes, out);
  if (!is_ascii(text, bytes))
    find_each(p, OTHER_WORDS, sizeof OTHER_WORDS / sizeof *OTHER_WORDS, text, bytes, out);
  int shown = 0; /* in place: the longer hit, which hides others, always stays */
  for (int n = 0; n < out->count; n++)
    if (!is_hidden(out, &out->hit[n])) out->hit[shown++] = out->hit[n];
  out->count = shown;
}

const struct attn_role_hits *attn_find_roles(struct attn_scan *scan, const char *text,
                                             size_t bytes) {
  static const struct attn_role_hits NONE = {0};
  struct attn_shared_text *shared = scan->shared;
  struct attn_memo_entry *e = attn_memo_at(shared->pool, &shared->words, text, bytes);
  if (e && e->value) return e->value;
  struct attn_role_hits *found = e ? attn_pool_take(shared->pool, sizeof *found) : NULL;
  if (!found) return shared->failed = 1, &NONE;
  search_words(scan->patterns, text, bytes, found);
  return e->value = found;
}
