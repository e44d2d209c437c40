/* step_names.c -- what steps are called: by the check, in symbols, and in documents. */
#include <string.h>

#include "ascii.h"
#include "source.h"
#include "steps.h"

/* By attn_step_name. names: what people call it, without spaces, signs and capitals. */
static const struct {
  const char *label, *symbol, *names;
} STEPS[] = {
    {"X", "X",
     "x input inputs embedding embeddings inputembedding inputembeddings tokenembeddings "
     "wordembeddings wordvectors inputvectors memory encoderoutput encoderoutputs encoderstates "
     "埋め込み 埋込み 入力 入力埋め込み 単語埋め込み トークン埋め込み エンコーダ出力"},
    {"Y", "Y", "y decoderinput decoderinputs decoderstates queryinput queryinputs xq デコーダ入力"},
    {"W_Q", "W_Q",
     "wq wquery queryweight queryweights weightsforquery weightsforqueries クエリ重み"},
    {"W_K", "W_K", "wk wkey keyweight keyweights weightsforkey weightsforkeys キー重み"},
    {"W_V", "W_V",
     "wv wvalue valueweight valueweights weightsforvalue weightsforvalues バリュー重み"},
    {"W_O", "W_O", "wo wout woutput outputweight outputweights outputprojectionweights 出力重み"},
    {"W_A", "W", "wa w walign"},
    {"U_A", "U", "u ua"},
    {"V_A", "v", "va"},
    {"mask", "mask", "mask m causalmask attentionmask paddingmask マスク 因果マスク"},
    {"Q", "Q", "q query queries クエリ クエリー 問い"},
    {"K", "K", "k key keys キー 鍵"},
    {"V", "V", "v value values バリュー 値"},
    {"positions", "positions",
     "positions pe p pos positionalembedding positionalembeddings positionembeddings "
     "positionalencoding positionalencodings positionencoding xpe xp xpos "
     "位置埋め込み 位置エンコーディング 位置符号化 位置"},
    {"scores", "scores",
     "e s score scores rawscores attentionscore attentionscores "
     "rawattentionscores unscaledscores alignment alignments alignmentscores dotproducts energy "
     "energies logits qk qkt qktop qktranspose スコア アテンションスコア 注意スコア アライメント "
     "アライメントスコア 内積 類似度"},
    {"scaled", "scaled",
     "fracqktsqrtdk qktsqrtdk scaled scalede scaleds escaled sscaled scaledscore scaledscores "
     "scoresscaled "
     "scaledattentionscores scaledalignment scaledlogits スケーリング スケーリング後 スケール後 "
     "スケール済み スケール済みスコア スケーリング後スコア スケーリング済みスコア"},
    {"masked", "masked",
     "masked maskedscore maskedscores maskeds maskede smasked emasked scoresmasked "
     "maskedscaledscores maskedattentionscores マスク後 マスク済み マスク後スコア マスク済みスコア "
     "マスク適用後"},
    {"exponentials", "exp",
     "exp exps exponential exponentials expscores expscaled numerator numerators 指数 指数関数 "
     "指数値 分子"},
    {"row_sum", "row sum",
     "sum sums total totals summe somme suma soma somma сумма 总和 求和 rowsum rowsums rowtotal "
     "rowtotals sumexp "
     "denominator "
     "denominators normalizer 合計 和 計 行和 行合計 "
     "指数合計 分母"},
    {"weights", "weights",
     "a alpha weight weights attn attention attnweights attentionweight attentionweights "
     "scaledweights maskedweights probabilities probs softmax softmaxscores 重み "
     "アテンション重み アテンションウェイト attention重み 注意重み 注目度 ソフトマックス"},
    {"output", "output",
     "softmaxqktsqrtdkv o z c out output outputs attentionoutput attentionqkv context contexts "
     "contextvector "
     "contextvectors head 出力 コンテキスト コンテキストベクトル 文脈 文脈ベクトル "
     "アテンション出力"},
    {"concat", "concat", "concat concatenated concatenation concatheads 連結 結合"},
    {"projected", "projected",
     "projected projection multihead multiheadoutput finaloutput 最終出力 射影"},
    {"other", "step", ""},
};

static int in_range(int32_t name) { return name >= 0 && name <= ATTN_STEP_OTHER; }

const char *attn_step_label(int32_t name) {
  return STEPS[in_range(name) ? name : ATTN_STEP_OTHER].label;
}

const char *attn_default_symbol(int name) {
  return STEPS[in_range(name) ? name : ATTN_STEP_OTHER].symbol;
}

static int32_t look_up(const char *name, size_t bytes) {
  for (int32_t n = 0; bytes > 0 && n < ATTN_STEP_OTHER; n++)
    if (attn_is_listed(STEPS[n].names, name, bytes)) return n;
  return -1;
}

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

/* What a character adds to a normal name: nothing for signs and the particle of Japanese. */
static size_t normal_character(uint32_t c, const char *bytes, size_t size, char *out) {
  if (c == 0x3B1) return memcpy(out, "alpha", 5), 5;
  if (c < 128) {
    out[0] = lower((char)c);
    return attn_is_digit(out[0]) || (out[0] >= 'a' && out[0] <= 'z');
  }
  if (c < 0x370 || (c >= 0x2000 && c < 0x3041) || c == 0x306E || c == 0x30FB || c > 0xFF00)
    return 0;
  memcpy(out, bytes, size);
  return size;
}

/* "</s>", "<pad>": a token. */
static int is_tag(const char *name) {
  size_t end = *name == '<' ? 1 + (name[1] == '/') : 0, begin = end;
  while (end && (name[end] == '_' || (lower(name[end]) >= 'a' && lower(name[end]) <= 'z'))) end++;
  return end > begin && strcmp(name + end, ">") == 0;
}

/* "Queries Q", "入力X": a name and then the symbol of the same step. */
static int32_t look_up_with_symbol(const char *name, size_t bytes) {
  if (bytes < 3) return -1;
  int32_t step = look_up(name + bytes - 1, 1);
  return step >= 0 && look_up(name, bytes - 1) == step ? step : -1;
}

int32_t attn_step_called(const char *name) {
  static const char *const ENDS[] = {"matrix", "matrices", "vectors", "vector", "table",
                                     "行列",   "ベクトル", "表",      "結果",   "計算"};
  char normal[96] = "";
  size_t bytes = 0, end = strlen(name), next;
  if (is_tag(name)) return -1;
  for (size_t at = 0; at < end && bytes + 8 < sizeof normal; at = next) {
    uint32_t c = attn_glyph(name, at, end, &next);
    bytes += normal_character(c, name + at, next - at, normal + bytes);
  }
  int32_t found = look_up(normal, bytes);
  if (found < 0) found = look_up_with_symbol(normal, bytes);
  for (size_t n = 0; found < 0 && n < sizeof ENDS / sizeof *ENDS; n++) {
    size_t cut = strlen(ENDS[n]);
    if (bytes > cut && memcmp(normal + bytes - cut, ENDS[n], cut) == 0)
      found = look_up(normal, bytes - cut);
  }
  if (found >= 0) return found;
  while (bytes > 1 && attn_is_digit(normal[bytes - 1])) bytes--; /* W_Q1 */
  return look_up(normal, bytes);
}

/* W_1^Q without its index. */
static int32_t without_digits(const char *name) {
  char text[96];
  size_t bytes = 0;
  for (; *name && bytes + 1 < sizeof text; name++)
    if (!attn_is_digit(*name)) text[bytes++] = *name;
  text[bytes] = 0;
  return attn_step_called(text);
}

static int32_t before(const char *name, const char *mark) {
  char text[96];
  const char *at = strstr(name, mark);
  size_t bytes = at ? (size_t)(at - name) : 0;
  if (!bytes || bytes >= sizeof text) return -1;
  memcpy(text, name, bytes);
  text[bytes] = 0;
  return without_digits(text);
}

static int32_t after(const char *name, const char *mark) {
  const char *at = strstr(name, mark);
  return at ? without_digits(at + strlen(mark)) : -1;
}

int32_t attn_step_find(const char *name) {
  static const char *const AFTER[] = {": ", "row ", " of ", "の"}, *const BEFORE[] = {"(", " for "};
  int32_t found = attn_step_called(name);
  if (found < 0) found = without_digits(name);
  for (size_t n = 0; found < 0 && n < sizeof BEFORE / sizeof *BEFORE; n++)
    found = before(name, BEFORE[n]);
  for (size_t n = 0; found < 0 && n < sizeof AFTER / sizeof *AFTER; n++)
    found = after(name, AFTER[n]);
  return found;
}
