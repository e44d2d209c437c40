#include "message_catalog.h"

#include "attn/lesson.h"

/* English, Japanese. A test checks that both have the same placeholders. */
static const char *const messages[MESSAGE_COUNT][2] = {
    /* ---- Steps ---- */
    [MESSAGE_TITLE + ATTN_STEP_X] = {"Inputs", "入力"},
    [MESSAGE_TITLE + ATTN_STEP_Y] = {"Inputs of the queries", "クエリ側の入力"},
    [MESSAGE_TITLE + ATTN_STEP_W_Q] = {"Query weights", "クエリの重み行列"},
    [MESSAGE_TITLE + ATTN_STEP_W_K] = {"Key weights", "キーの重み行列"},
    [MESSAGE_TITLE + ATTN_STEP_W_V] = {"Value weights", "バリューの重み行列"},
    [MESSAGE_TITLE + ATTN_STEP_W_O] = {"Output weights", "出力の重み行列"},
    [MESSAGE_TITLE + ATTN_STEP_W_A] = {"Alignment weights", "アライメントの重み行列"},
    [MESSAGE_TITLE +
        ATTN_STEP_U_A] = {"Alignment weights of the keys", "キー側のアライメントの重み行列"},
    [MESSAGE_TITLE + ATTN_STEP_V_A] = {"Alignment vector", "アライメントベクトル"},
    [MESSAGE_TITLE + ATTN_STEP_MASK] = {"Mask", "マスク"},
    [MESSAGE_TITLE + ATTN_STEP_Q] = {"Queries", "クエリ"},
    [MESSAGE_TITLE + ATTN_STEP_K] = {"Keys", "キー"},
    [MESSAGE_TITLE + ATTN_STEP_V] = {"Values", "バリュー"},
    [MESSAGE_TITLE + ATTN_STEP_POSITIONS] = {"Positions", "位置エンコーディング"},
    [MESSAGE_TITLE + ATTN_STEP_SCORES] = {"Scores", "スコア"},
    [MESSAGE_TITLE + ATTN_STEP_SCALED] = {"Scaled scores", "スケーリング後のスコア"},
    [MESSAGE_TITLE + ATTN_STEP_MASKED] = {"Masked scores", "マスク後のスコア"},
    [MESSAGE_TITLE + ATTN_STEP_EXPONENTIALS] = {"Exponentials", "指数関数の値（exp）"},
    [MESSAGE_TITLE + ATTN_STEP_ROW_SUM] = {"Sums of the exponentials", "exp の合計"},
    [MESSAGE_TITLE + ATTN_STEP_WEIGHTS] = {"Weights", "重み"},
    [MESSAGE_TITLE + ATTN_STEP_OUTPUT] = {"Output", "出力"},
    [MESSAGE_TITLE + ATTN_STEP_CONCAT] = {"Concatenated heads", "ヘッドの連結"},
    [MESSAGE_TITLE + ATTN_STEP_PROJECTED] = {"Projected output", "射影後の出力"},
    [MESSAGE_TITLE + ATTN_STEP_OTHER] = {"Matrix", "行列"},

    /* ---- Causes ---- */
    [MESSAGE_CAUSE + ATTN_CAUSE_NONE] = {"none", "なし"},
    [MESSAGE_CAUSE + ATTN_CAUSE_WRONG_ROW_OR_COLUMN] = {"the product uses a wrong row or column",
                                                        "内積をとる行または列を取り違えています"},
    [MESSAGE_CAUSE + ATTN_CAUSE_TRANSPOSED_WEIGHTS] = {"the weight matrix was used transposed",
                                                       "重み行列を転置して使っています"},
    [MESSAGE_CAUSE + ATTN_CAUSE_SWAPPED_QK] = {"queries and keys were swapped",
                                               "クエリとキーが入れ替わっています"},
    [MESSAGE_CAUSE +
        ATTN_CAUSE_MISSING_SCALE] = {"the scores were not divided by the square root of d_k",
                                     "√d_k で割るスケーリングが抜けています"},
    [MESSAGE_CAUSE + ATTN_CAUSE_SCALE_BY_DK] = {"divided by d_k, not by its square root",
                                                "√d_k ではなく d_k で割っています"},
    [MESSAGE_CAUSE + ATTN_CAUSE_SCALE_WRONG_DIM] = {"scaled by a dimension other than d_k",
                                                    "d_k ではない次元でスケーリングしています"},
    [MESSAGE_CAUSE + ATTN_CAUSE_SOFTMAX_OVER_COLUMNS] =
        {"softmax was applied across the queries, not across the keys",
         "ソフトマックスをキー方向ではなくクエリ方向に適用しています"},
    [MESSAGE_CAUSE + ATTN_CAUSE_SOFTMAX_WITHOUT_EXP] =
        {"the scores were divided by their sum without the exponential",
         "exp をとらずに、スコアをそのまま合計で割っています"},
    [MESSAGE_CAUSE +
        ATTN_CAUSE_SOFTMAX_CELL] = {"an arithmetic error in the softmax of single values",
                                    "ソフトマックスの個々の値に計算間違いがあります"},
    [MESSAGE_CAUSE + ATTN_CAUSE_ARITHMETIC_CELL] = {"an arithmetic error in single values",
                                                    "個々の値に計算間違いがあります"},
    [MESSAGE_CAUSE + ATTN_CAUSE_SIGN_SLIP] = {"a sign was lost or added", "符号を間違えています"},
    [MESSAGE_CAUSE +
        ATTN_CAUSE_MASK_IGNORED] = {"the mask was not applied", "マスクが適用されていません"},
    [MESSAGE_CAUSE +
        ATTN_CAUSE_MASK_OFF_BY_ONE] = {"the mask is off by one", "マスクの位置が一つずれています"},
    [MESSAGE_CAUSE + ATTN_CAUSE_K_INSTEAD_OF_V] = {"the keys were used instead of the values",
                                                   "バリューの代わりにキーを使っています"},
    [MESSAGE_CAUSE + ATTN_CAUSE_WRONG_WEIGHT_ROW] = {"the weights of another row were used",
                                                     "別の行の重みを使っています"},
    [MESSAGE_CAUSE +
        ATTN_CAUSE_TRANSCRIPTION] = {"a value was copied wrongly", "値を書き写し間違えています"},
    [MESSAGE_CAUSE +
        ATTN_CAUSE_ROUNDING_TOO_COARSE] = {"intermediate results were rounded too coarsely",
                                           "途中の値の丸めが粗すぎます"},
    [MESSAGE_CAUSE + ATTN_CAUSE_UNKNOWN] = {"no single error explains these values",
                                            "一か所の誤りでは説明できませんでした"},

    /* ---- Judgements ---- */
    [MESSAGE_STATUS + ATTN_JUDGED_NOT_GIVEN] = {"not printed", "記載なし"},
    [MESSAGE_STATUS + ATTN_JUDGED_OK] = {"right", "正しい"},
    [MESSAGE_STATUS + ATTN_JUDGED_DOUBTFUL] = {"undecided", "判断できません"},
    [MESSAGE_STATUS + ATTN_JUDGED_CARRIED] = {"right, given the earlier error",
                                              "前の誤りの影響（計算自体は正しい）"},
    [MESSAGE_STATUS + ATTN_JUDGED_WRONG] = {"wrong", "誤り"},
    [MESSAGE_VERDICT_CORRECT] = {"correct", "すべて正しい"},
    [MESSAGE_VERDICT_WRONG] = {"wrong", "誤りがあります"},
    [MESSAGE_VERDICT_DOUBTFUL] = {"doubtful: nothing certainly wrong",
                                  "判断できない箇所があります（確かな誤りはありません）"},
    [MESSAGE_VERDICT_NOTHING] = {"nothing to check", "確認できる計算がありません"},

    /* ---- explain: the frame ---- */
    [MESSAGE_NOTHING_TO_EXPLAIN] = {"{0}: no worked example with numbers was found.",
                                    "{0}：計算をたどれる数値例が見つかりませんでした。"},
    [MESSAGE_EXAMPLE] = {"Example {0}", "例 {0}"},
    [MESSAGE_EXAMPLE_TITLED] = {"Example {0}: ", "例 {0}："},
    [MESSAGE_TOKENS] = {"{0} tokens: ", "トークン {0} 個："},
    [MESSAGE_QUERY_TOKENS] = {"Tokens of the queries: ", "クエリ側のトークン："},
    [MESSAGE_KEY_TOKENS] = {"Tokens of the keys and values: ", "キーとバリュー側のトークン："},
    [MESSAGE_CROSS] = {"Cross-attention: {0} queries attend to {1} inputs.",
                       "クロスアテンションです。{0} 個のクエリが {1} 個の入力を参照します。"},
    [MESSAGE_HEADS] = {"{0} heads: each has its own Q, K, V and weights.",
                       "ヘッドは {0} 個です。それぞれが独自の Q、K、V と重みを持ちます。"},
    [MESSAGE_IN_ROWS] = {"Queries run along the rows: each row of the scores belongs to one query, "
                         "and softmax is applied to each row.",
                         "クエリは行に並びます。スコアの各行が一つのクエリに対応し、ソフトマックス"
                         "は行ごとに適用します。"},
    [MESSAGE_IN_COLUMNS] =
        {"Queries run along the columns (e_ij: input i, query j): each column of the scores "
         "belongs to one query, and softmax is applied to each column.",
         "クエリは列に並びます（e_ij の i が入力、j "
         "がクエリ）。スコアの各列が一つのクエリに対応し、ソフトマックスは列ごとに適用します。"},
    [MESSAGE_ADDRESSES] =
        {"Values are addressed as step[row,column], counted from 0, or by token; --cell writes out "
         "the whole computation of one value.",
         "値は step[行,列] で表します（0 から数えるか、トークン名で指定）。--cell "
         "を使うと、その値の計算過程をすべて書き出します。"},
    [MESSAGE_HEAD] = {"head {0}", "ヘッド {0}"},
    [MESSAGE_AXES_QUERY_KEY] = {"one row per query, one column per key", "行がクエリ、列がキー"},
    [MESSAGE_AXES_KEY_QUERY] = {"one row per key, one column per query", "行がキー、列がクエリ"},

    /* ---- explain: what a step is and why ---- */
    [MESSAGE_WHAT_Q] = {"The query of each token: what it searches for.",
                        "各トークンのクエリです。どのような情報を求めているかを表します。"},
    [MESSAGE_WHAT_K] =
        {"The key of each token: what the queries are matched against.",
         "各トークンのキーです。どのような問いに応じるか（照合の手がかり）を表します。"},
    [MESSAGE_WHAT_V] = {"The value of each token: what it contributes when it is attended to.",
                        "各トークンのバリューです。注目されたときに渡す情報を表します。"},
    [MESSAGE_WHAT_DOT] =
        {"How well each query matches each key: the dot product of the two vectors.",
         "各クエリと各キーがどれだけ合うかを、二つのベクトルの内積で表します。"},
    [MESSAGE_WHAT_GENERAL] =
        {"How well each query matches each key, with a matrix between them: q W k.",
         "各クエリと各キーがどれだけ合うかを、行列 W を挟んだ積 q W k で表します。"},
    [MESSAGE_WHAT_ADDITIVE] =
        {"How well each query matches each key: v · tanh(W q + U k), a small network.",
         "各クエリと各キーがどれだけ合うかを、小さなネットワーク v · tanh(W q + U k) で表します。"},
    [MESSAGE_WHY_SCALED] =
        {"Why: a dot product sums d_k = {0} products. If the components are independent with mean "
         "0 and variance 1, its variance is d_k and its standard deviation √d_k. Divided by √{0} = "
         "{1}, the scores have a spread that does not depend on d_k, and softmax does not settle "
         "on a single key just because the vectors have many components.",
         "理由：内積は d_k = {0} 個の積の和です。各成分が独立で平均 0、分散 1 なら、内積の分散は "
         "d_k に、標準偏差は √d_k に比例して大きくなります。√{0} = {1} で割るとばらつきが d_k "
         "によらなくなり、次元が大きいだけでソフトマックスが一つのキーに偏ることを防げます。"},
    [MESSAGE_DIVIDED_BY] = {"Every score is divided by {0}.", "すべてのスコアを {0} で割ります。"},
    [MESSAGE_WHAT_MASK] =
        {"Where the mask hides a key, the score becomes -∞; e^-∞ = 0, so the key gets no weight.",
         "マスクで隠すキーのスコアは -∞ にします。e^-∞ = 0 なので、そのキーの重みは 0 "
         "になります。"},
    [MESSAGE_WHAT_MASK_FINITE] =
        {"Where the mask hides a key, the score becomes {0}, so low that its weight is negligible.",
         "マスクで隠すキーのスコアは {0} "
         "にします。ほかのスコアに比べて十分に小さいので、重みはほぼ 0 になります。"},
    [MESSAGE_WHAT_SOFTMAX_ROWS] =
        {"Each row becomes weights that sum to 1: exponentials, divided by their sum.",
         "各行を合計 1 の重みに直します。exp をとり、その合計で割ります。"},
    [MESSAGE_WHAT_SOFTMAX_COLUMNS] =
        {"Each column becomes weights that sum to 1: exponentials, divided by their sum.",
         "各列を合計 1 の重みに直します。exp をとり、その合計で割ります。"},
    [MESSAGE_WHAT_EXP] =
        {"e to the power of each score: always positive, and larger scores count far more.",
         "各値 x を e^x に置き換えます。必ず正になり、大きいスコアほど強く効きます。"},
    [MESSAGE_WHAT_SUM] = {"The sum of the exponentials of each query.",
                          "クエリごとの exp の合計です。"},
    [MESSAGE_WHAT_QUOTIENT] = {"Each exponential divided by its sum: weights that sum to 1.",
                               "各 exp の値をその合計で割り、合計 1 の重みにします。"},
    [MESSAGE_WHAT_OUTPUT] =
        {"The result of each query: the sum of the values, each times its weight.",
         "各クエリの結果です。バリューに重みを掛けて足し合わせます。"},
    [MESSAGE_WHAT_CONCAT] = {"The outputs of the heads, concatenated.",
                             "各ヘッドの出力を横に連結します。"},
    [MESSAGE_WHAT_PROJECTED] =
        {"The output projection mixes the results of the heads into one vector per token.",
         "出力の重み行列で各ヘッドの結果を混ぜ、トークンごとに一つのベクトルにします。"},
    [MESSAGE_WHAT_POSITIONS] = {"A pattern of sines and cosines encodes the position of each "
                                "token; attention alone does not see the order.",
                                "正弦波・余弦波のパターンでトークンの位置を表します。アテンションだ"
                                "けでは順序がわからないためです。"},
    [MESSAGE_POSITIONS_FROM] =
        {"Position t, pair k: sin(w_k t) and cos(w_k t) with w_k = 1 / 10000^(2k/{0}), "
         "k counted from {1}.",
         "位置 t、組 k の値は sin(w_k t) と cos(w_k t) です。w_k = 1 / 10000^(2k/{0})、"
         "k は {1} から数えます。"},
    [MESSAGE_FREQUENCY] = {"w_{0} = {1}: repeats every {2} positions",
                           "w_{0} = {1}：周期は約 {2} トークンです"},
    [MESSAGE_BINARY] =
        {"Each row also shows its position in binary, lowest digit first: the first digit flips at "
         "every step, each later one half as often. The pairs of sine and cosine do the same "
         "smoothly: the first pair rotates fastest.",
         "各行の横に、位置の二進数を下の桁から順に示します。最初の桁は毎回、次の桁はその半分の頻度"
         "で反転します。正弦と余弦の組も同じことを滑らかに行い、最初の組ほど速く変化します。"},
    [MESSAGE_WHAT_ADD] = {"Added element by element.", "対応する要素どうしを足します。"},
    [MESSAGE_WHAT_APPEND] = {"Concatenated: each row gets longer.", "各行を横に連結します。"},

    /* ---- explain: numbers worked out ---- */
    [MESSAGE_ONE_CELL] = {"One value worked out: ", "一つの値の計算："},
    [MESSAGE_ONE_ROW] = {"The row of {0} in full:", "{0}の行をすべて計算すると："},
    [MESSAGE_ONE_COLUMN] = {"The column of {0} in full:", "{0}の列をすべて計算すると："},
    [MESSAGE_MORE_CELLS] = {"… and {0} more in the same way", "… 残りの {0} 個も同様です"},
    [MESSAGE_MORE_TERMS] = {"… ({0} terms)", "…（全部で {0} 項）"},
    [MESSAGE_EXPONENTIALS_ARE] = {"exponentials: ", "exp："},
    [MESSAGE_MINUS_MAXIMUM] = {"(the maximum, {0}, is subtracted first: the weights stay the same "
                               "and no exponential grows too large)",
                               "（最大値 {0} をあらかじめ引きます。重みは変わらず、exp "
                               "の値が大きくなりすぎるのを防げます）"},
    [MESSAGE_SUM_IS] = {"their sum: ", "合計："},
    [MESSAGE_QUOTIENTS_ARE] = {"quotients: ", "商："},
    [MESSAGE_WEIGHTED_SUM] = {"The row of {0} as a weighted sum of the values:",
                              "{0}の行を、バリューの重み付き和として書くと："},

    /* ---- explain: which tokens a query attends to. ATTENDS_*, then THEN_* and NEXT_* for lighter
     * ---- keys, and ATTENDS_RANKED, or without them ATTENDS_END ---- */
    [MESSAGE_MASKED_SOME] = {"{0} cannot attend to {1}.", "{0}からは{1}が見えません。"},
    [MESSAGE_MASKED_NONE] = {"{0} can attend to every key.", "{0}からはすべてのキーが見えます。"},
    [MESSAGE_MASKED_ALL] = {"{0} cannot attend to any key.", "{0}からは、どのキーも見えません。"},
    [MESSAGE_ATTENDS_MOSTLY] = {"{0} attends mostly to {1} ({2})",
                                "{0}が最も強く見ているのは{1}（{2}）"},
    [MESSAGE_ATTENDS_MOST] = {"{0} attends most to {1} ({2})",
                              "{0}が最も強く見ているのは{1}（{2}）"},
    [MESSAGE_ATTENDS_EQUALLY] = {"{0} attends equally to {1} ({2} each)",
                                 "{0}が最も強く見ているのは{1}（各 {2}）"},
    [MESSAGE_ATTENDS_UNIFORMLY] = {"{0} attends equally to all {1} keys ({2} each)",
                                   "{0}は {1} 個のキーすべてを同じ強さで見ており、重みは各 {2} "},
    [MESSAGE_ATTENDS_ONLY] = {"{0} attends only to {1}", "{0}が見ているのは{1}だけ"},
    [MESSAGE_ATTENDS_NONE] = {"{0} cannot attend to any key: its weights are 0",
                              "{0}から見えるキーはなく、重みはすべて 0 "},
    [MESSAGE_THEN_ONE] = {", then to {0} ({1})", "で、続いて{0}（{1}）"},
    [MESSAGE_THEN_EQUALLY] = {", then equally to {0} ({1} each)", "で、続いて{0}（各 {1}）"},
    [MESSAGE_NEXT_ONE] = {", then to {0} ({1})", "、{0}（{1}）"},
    [MESSAGE_NEXT_EQUALLY] = {", then equally to {0} ({1} each)", "、{0}（各 {1}）"},
    [MESSAGE_ATTENDS_RANKED] = {".", "の順です。"},
    [MESSAGE_ATTENDS_END] = {".", "です。"},
    [MESSAGE_AND] = {" and ", "と"},
    [MESSAGE_COMMA] = {", ", "、"},
    [MESSAGE_STOP] = {".", "。"},
    [MESSAGE_COLON] = {": ", "："},
    [MESSAGE_OPEN_BRACKET] = {" (", "（"},
    [MESSAGE_SEMICOLON] = {"; ", "、"},
    [MESSAGE_CLOSE_BRACKET] = {")", "）"},
    [MESSAGE_MORE_ROWS] = {"… and {0} more queries", "… 残りのクエリは {0} 個です"},
    [MESSAGE_AND_OTHERS] = {"{0} others", "ほか {0} 個"},

    /* ---- explain: where the document differs ---- */
    [MESSAGE_DIFFERS] = {"* The document prints another value here:",
                         "* 文書には別の値が書かれています："},
    [MESSAGE_DIFFERS_ONE] = {"{0}: the document prints {1}, right is {2}",
                             "{0}：文書では {1}、正しくは {2}"},
    [MESSAGE_DIFFERS_MORE] = {"… and {0} more; attn check separates errors from their consequences",
                              "… ほか {0} 個。誤りとその影響の区別は attn check で確認できます"},

    /* ---- explain --cell ---- */
    [MESSAGE_GIVENS_USED] = {"Given by the document: {0}", "文書で与えられた行列：{0}"},

    /* ---- check ---- */
    [MESSAGE_JUDGES_NUMBERS] = {"Only numbers are judged, not prose. A value that only follows "
                                "from an earlier error is not counted again.",
                                "判定するのは数値だけで、文章の内容は判定しません。前の誤りを引き継"
                                "いだだけの値は重ねて数えません。"},
    [MESSAGE_NOTHING_HERE] = {"No worked example with numbers to judge was found.",
                              "判定できる数値の計算例が見つかりませんでした。"},
    [MESSAGE_ORIENTED_ROWS] = {" (from line {0}; one query per row): ",
                               "（文書の {0} 行目〜、1 行に 1 クエリ）："},
    [MESSAGE_ORIENTED_COLUMNS] =
        {" (from line {0}; one query per column, softmax down the columns): ",
         "（文書の {0} 行目〜、1 列に 1 クエリ、ソフトマックスは列ごと）："},
    [MESSAGE_COUNT_OF] = {" ({0} of {1} values)", "（{1} 個中 {0} 個）"},
    [MESSAGE_FIRST_HERE] = {" ← first wrong step", " ← 最初の誤り"},
    [MESSAGE_OTHER_ERROR] = {" ← another error", " ← 別の誤り"},
    [MESSAGE_PLACE_ONE_BASED] = {" (row {0}, column {1})", "（{0} 行 {1} 列）"},
    [MESSAGE_PRINTED_RIGHT] = {": the document prints {0}, right is {1}.",
                               "：文書では {0}、正しくは {1} です。"},
    [MESSAGE_DOUBT_AT] =
        {": the document prints {0}, computed is {1}; intermediate rounding may explain it.",
         "：文書では {0}、計算では {1} ですが、途中の丸めによる可能性があります。"},
    [MESSAGE_FOLLOWED] = {": the document prints {0}, but its own earlier numbers give {1}.",
                          "：文書では {0} ですが、文書中のそれまでの数値から計算すると {1} です。"},
    [MESSAGE_WORKING] = {"Working: ", "計算："},
    [MESSAGE_LIKELY_CAUSE] = {"Likely cause: ", "考えられる原因："},
    [MESSAGE_NO_CAUSE] = {"Cause unknown: ", "原因は不明です。"},
    [MESSAGE_CAUSE_EXPLAINS] =
        {" With it the printed values follow ({0} differ from the right ones).",
         "この誤りを仮定すると文書の値と一致します（正しい値と異なるのは {0} 個）。"},

    /* ---- new ---- */
    [MESSAGE_NEW_TITLE] = {"Attention by hand: {0}", "手計算で学ぶアテンション：{0}"},
    [MESSAGE_NEW_INTRO] =
        {"Every value is filled in. Change one and run attn check on this file.",
         "すべての値が計算済みです。どれかを変えて attn check で確認してみてください。"},
    [MESSAGE_NEW_INTRO_BLANK] = {"Put a number in place of each … and run attn check on this file.",
                                 "… を数値に書き換えて attn check で確認してください。"},
    [MESSAGE_NEW_INPUTS] = {"The inputs, one row per token, and the weight matrices:",
                            "入力（1 行が 1 トークン）と重み行列です。"},
    [MESSAGE_NEW_PROJECT] =
        {"Queries, keys and values: Q = X W_Q, K = X W_K, V = X W_V.",
         "クエリ、キー、バリューを計算します：Q = X W_Q、K = X W_K、V = X W_V。"},
    [MESSAGE_NEW_SCORES] = {"Scores: dot products of queries and keys, Q K^T.",
                            "スコアはクエリとキーの内積 Q K^T です。"},
    [MESSAGE_NEW_SCALED] = {"Scaled: divided by the square root of d_k, √{0} = {1}.",
                            "スケーリング：d_k の平方根 √{0} = {1} で割ります。"},
    [MESSAGE_NEW_WEIGHTS] = {"Weights: softmax along each row. Each row adds up to 1.",
                             "重み：行ごとにソフトマックスを適用します。各行の合計は 1 です。"},
    [MESSAGE_NEW_OUTPUT] = {"Output: the values, weighted.", "出力：バリューの重み付き和です。"},
    [MESSAGE_NEW_TOKEN] = {"token", "トークン"},

    /* ---- Pictures ---- */
    [MESSAGE_PICTURE] = {"Attention", "アテンション"},
    [MESSAGE_PICTURE_LESSON] = {"Attention, step by step", "アテンションの計算をステップごとに"},
    [MESSAGE_PICTURE_TABLE] = {"Values as a table", "数値の表"},
    [MESSAGE_QUERY] = {"query", "クエリ"},
    [MESSAGE_KEY] = {"key", "キー"},
    [MESSAGE_ARROWS] = {"Queries and keys in the plane", "平面上のクエリとキー"},
    [MESSAGE_ARROWS_NOTE] = {"The closer in direction and the longer, the larger q · k",
                             "向きが近く、長いほど q · k が大きい"},
    [MESSAGE_ARROWS_QUERIES] = {"queries (solid)", "クエリ（実線）"},
    [MESSAGE_ARROWS_KEYS] = {"keys (dashed)", "キー（破線）"},
};

const char *attn_message_text(int message, int32_t language) {
  if (message < 0 || message >= MESSAGE_COUNT) return "?";
  const char *text = messages[message][language == ATTN_LANGUAGE_JAPANESE];
  return text ? text : "?";
}
