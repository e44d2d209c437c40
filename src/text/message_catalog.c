#include "message_catalog.h"

#include "attn/lesson.h"

/* English, Japanese. A test holds the placeholders of both to be the same. */
static const char *const messages[MESSAGE_COUNT][2] = {
    /* ---- Steps ---- */
    [MESSAGE_TITLE + 0] = {"Inputs", "入力"},
    [MESSAGE_TITLE + 1] = {"Inputs of the queries", "クエリ側の入力"},
    [MESSAGE_TITLE + 2] = {"Query weights", "クエリの重み行列"},
    [MESSAGE_TITLE + 3] = {"Key weights", "キーの重み行列"},
    [MESSAGE_TITLE + 4] = {"Value weights", "バリューの重み行列"},
    [MESSAGE_TITLE + 5] = {"Output weights", "出力の重み行列"},
    [MESSAGE_TITLE + 6] = {"Alignment weights", "アライメントの重み行列"},
    [MESSAGE_TITLE + 7] = {"Alignment weights of the keys", "キー側のアライメントの重み行列"},
    [MESSAGE_TITLE + 8] = {"Alignment vector", "アライメントのベクトル"},
    [MESSAGE_TITLE + 9] = {"Mask", "マスク"},
    [MESSAGE_TITLE + 10] = {"Queries", "クエリ"},
    [MESSAGE_TITLE + 11] = {"Keys", "キー"},
    [MESSAGE_TITLE + 12] = {"Values", "バリュー"},
    [MESSAGE_TITLE + 13] = {"Positions", "位置エンコーディング"},
    [MESSAGE_TITLE + 14] = {"Scores", "スコア"},
    [MESSAGE_TITLE + 15] = {"Scaled scores", "スケーリング後のスコア"},
    [MESSAGE_TITLE + 16] = {"Masked scores", "マスク後のスコア"},
    [MESSAGE_TITLE + 17] = {"Exponentials", "指数"},
    [MESSAGE_TITLE + 18] = {"Sums of the exponentials", "指数の合計"},
    [MESSAGE_TITLE + 19] = {"Weights", "重み"},
    [MESSAGE_TITLE + 20] = {"Output", "出力"},
    [MESSAGE_TITLE + 21] = {"Heads side by side", "ヘッドの連結"},
    [MESSAGE_TITLE + 22] = {"Projected output", "射影後の出力"},
    [MESSAGE_TITLE + 23] = {"Matrix", "行列"},

    /* ---- Causes ---- */
    [MESSAGE_CAUSE + 0] = {"none", "なし"},
    [MESSAGE_CAUSE + 1] = {"a wrong row or column was taken into the product",
                           "積をとる行または列を取り違えています"},
    [MESSAGE_CAUSE + 2] = {"the weight matrix was used transposed",
                           "重み行列を転置して使っています"},
    [MESSAGE_CAUSE + 3] = {"queries and keys were swapped", "クエリとキーが入れ替わっています"},
    [MESSAGE_CAUSE + 4] = {"the scores were not divided by the square root of d_k",
                           "√d_k で割るスケーリングが抜けています"},
    [MESSAGE_CAUSE + 5] = {"divided by d_k, not by its square root",
                           "√d_k ではなく d_k で割っています"},
    [MESSAGE_CAUSE + 6] = {"scaled by another dimension than d_k",
                           "d_k ではない次元でスケーリングしています"},
    [MESSAGE_CAUSE + 7] = {"softmax was taken across the queries, not across the keys",
                           "ソフトマックスをキー方向ではなくクエリ方向に適用しています"},
    [MESSAGE_CAUSE + 8] = {"the scores were divided by their sum without the exponential",
                           "指数をとらずに、値をそのまま合計で割っています"},
    [MESSAGE_CAUSE + 9] = {"a slip in the softmax of single numbers",
                           "ソフトマックスの個々の値の計算違いです"},
    [MESSAGE_CAUSE + 10] = {"a slip in the arithmetic of single numbers", "個々の値の計算違いです"},
    [MESSAGE_CAUSE + 11] = {"a sign was lost or added", "符号を間違えています"},
    [MESSAGE_CAUSE + 12] = {"the mask was not applied", "マスクが適用されていません"},
    [MESSAGE_CAUSE + 13] = {"the mask is off by one", "マスクの位置が一つずれています"},
    [MESSAGE_CAUSE + 14] = {"the keys were used in place of the values",
                            "バリューの代わりにキーを使っています"},
    [MESSAGE_CAUSE + 15] = {"the weights of another row were used", "別の行の重みを使っています"},
    [MESSAGE_CAUSE + 16] = {"a number was copied wrongly", "数値の書き写し間違いです"},
    [MESSAGE_CAUSE + 17] = {"rounded too coarsely on the way", "途中の丸めが粗すぎます"},
    [MESSAGE_CAUSE + 18] = {"no single slip that was tried gives these numbers",
                            "この値になる単独の間違いは見つかりませんでした"},

    /* ---- Judgements ---- */
    [MESSAGE_STATUS + ATTN_JUDGED_NOT_GIVEN] = {"not printed", "記載がありません"},
    [MESSAGE_STATUS + ATTN_JUDGED_OK] = {"right", "正しい"},
    [MESSAGE_STATUS + ATTN_JUDGED_DOUBTFUL] = {"cannot tell", "判断できません"},
    [MESSAGE_STATUS +
        ATTN_JUDGED_CARRIED] = {"right, given the earlier slip",
                                "前の誤りを引き継いだ値です（計算自体は合っています）"},
    [MESSAGE_STATUS + ATTN_JUDGED_WRONG] = {"wrong", "誤り"},
    [MESSAGE_VERDICT_CORRECT] = {"correct", "すべて正しい"},
    [MESSAGE_VERDICT_WRONG] = {"wrong", "誤りがあります"},
    [MESSAGE_VERDICT_DOUBTFUL] = {"doubtful: nothing certainly wrong",
                                  "判断できない箇所があります（確かな誤りはありません）"},
    [MESSAGE_VERDICT_NOTHING] = {"nothing to check", "確認できる計算がありません"},

    /* ---- explain: the frame ---- */
    [MESSAGE_NOTHING_TO_EXPLAIN] = {"{0}: no numbers of a worked example to follow.",
                                    "{0}：計算をたどれる数値例がありません。"},
    [MESSAGE_EXAMPLE] = {"Example {0}", "例 {0}"},
    [MESSAGE_EXAMPLE_TITLED] = {"Example {0}: ", "例 {0}："},
    [MESSAGE_TOKENS] = {"{0} tokens: ", "トークン {0} 個："},
    [MESSAGE_QUERY_TOKENS] = {"Tokens of the queries: ", "クエリ側のトークン："},
    [MESSAGE_KEY_TOKENS] = {"Tokens of the keys and values: ", "キーとバリュー側のトークン："},
    [MESSAGE_CROSS] = {"Cross-attention: {0} queries look at {1} inputs.",
                       "クロスアテンションです。{0} 個のクエリが {1} 個の入力を見ます。"},
    [MESSAGE_HEADS] = {"{0} heads: each has its own Q, K, V and weights.",
                       "ヘッドは {0} 個です。それぞれが独自の Q、K、V と重みを持ちます。"},
    [MESSAGE_IN_ROWS] =
        {"Queries run along the rows: each row of the scores belongs to one query, and "
         "softmax goes along the row.",
         "クエリは行に並びます。スコアの各行が一つのクエリに対応し、ソフトマックスは行ごとに"
         "適用します。"},
    [MESSAGE_IN_COLUMNS] =
        {"Queries run along the columns (e_ij: input i, query j): each column of the "
         "scores belongs to one query, and softmax goes down the column.",
         "クエリは列に並びます（e_ij の i が入力、j がクエリ）。スコアの各列が一つのクエリに"
         "対応し、ソフトマックスは列ごとに適用します。"},
    [MESSAGE_ADDRESSES] =
        {"Numbers are named step[row,column], counted from 0, or by token; --cell "
         "writes out the whole sum behind one.",
         "数値は step[行,列] で表します（0 から数えるか、トークン名で指定）。--cell を使うと、"
         "その値の計算をすべて書き出します。"},
    [MESSAGE_HEAD] = {"head {0}", "ヘッド {0}"},
    [MESSAGE_AXES_QUERY_KEY] = {"a row a query, a column a key", "行がクエリ、列がキー"},
    [MESSAGE_AXES_KEY_QUERY] = {"a row a key, a column a query", "行がキー、列がクエリ"},

    /* ---- explain: what a step is and why ---- */
    [MESSAGE_WHAT_Q] = {"What each token asks for.", "各トークンが何を求めているかを表します。"},
    [MESSAGE_WHAT_K] = {"What each token offers to be found by.",
                        "各トークンが何によって見つけられるかを表します。"},
    [MESSAGE_WHAT_V] = {"What each token passes on when it is looked at.",
                        "各トークンが見られたときに渡す内容を表します。"},
    [MESSAGE_WHAT_DOT] = {"How well each query fits each key: the dot product of the two vectors.",
                          "各クエリと各キーがどれだけ合うかを、二つのベクトルの内積で表します。"},
    [MESSAGE_WHAT_GENERAL] =
        {"How well each query fits each key, with a matrix between them: q W k.",
         "各クエリと各キーがどれだけ合うかを、行列 W を挟んだ積 q W k で表します。"},
    [MESSAGE_WHAT_ADDITIVE] =
        {"How well each query fits each key: v · tanh(W q + U k), a small network.",
         "各クエリと各キーがどれだけ合うかを、小さなネットワーク v · tanh(W q + U k) "
         "で表します。"},
    [MESSAGE_WHY_SCALED] =
        {"Why: a dot product sums d_k = {0} terms, so its variance grows with d_k and "
         "its spread with √{0}. Divided by √{0} = {1} the spread no longer depends on "
         "d_k, and softmax does not settle on a single key just because the vectors "
         "are long.",
         "理由：内積は d_k = {0} 個の項の和なので、分散は d_k に、広がりは √{0} に比例して"
         "大きくなります。√{0} = {1} で割ると広がりが d_k によらなくなり、ベクトルが長い"
         "だけでソフトマックスが一つのキーに偏ることを防げます。"},
    [MESSAGE_DIVIDED_BY] = {"Every score divided by {0}.", "すべてのスコアを {0} で割ります。"},
    [MESSAGE_WHAT_MASK] =
        {"Where the mask hides a key, the score becomes -∞; e^-∞ = 0, so the key gets "
         "no weight.",
         "マスクで隠すキーのスコアは -∞ にします。e^-∞ = 0 なので、そのキーの重みは 0 に"
         "なります。"},
    [MESSAGE_WHAT_MASK_FINITE] =
        {"Where the mask hides a key, the score becomes {0}, low enough for its "
         "weight to vanish beside the others.",
         "マスクで隠すキーのスコアは {0} にします。ほかのスコアに比べて十分に小さい"
         "ので、重みはほぼ 0 になります。"},
    [MESSAGE_WHAT_SOFTMAX_ROWS] =
        {"Each row becomes shares of 1: exponentials, divided by their sum.",
         "各行を合計 1 の割合に直します。指数をとり、その合計で割ります。"},
    [MESSAGE_WHAT_SOFTMAX_COLUMNS] =
        {"Each column becomes shares of 1: exponentials, divided by their "
         "sum.",
         "各列を合計 1 の割合に直します。指数をとり、その合計で割ります。"},
    [MESSAGE_WHAT_EXP] =
        {"e to the power of each number: always positive, and larger scores count far "
         "more.",
         "各値を e の肩に乗せます。必ず正になり、大きいスコアほど強く効きます。"},
    [MESSAGE_WHAT_SUM] = {"What the exponentials of one query add up to.",
                          "一つのクエリについての指数の合計です。"},
    [MESSAGE_WHAT_QUOTIENT] = {"Each exponential divided by its sum: shares of 1.",
                               "各指数をその合計で割り、合計 1 の割合にします。"},
    [MESSAGE_WHAT_OUTPUT] =
        {"What each query takes home: the values, each times its weight, added up.",
         "各クエリが受け取る結果です。バリューに重みを掛けて足し合わせます。"},
    [MESSAGE_WHAT_CONCAT] = {"The heads' outputs, side by side.", "各ヘッドの出力を横に並べます。"},
    [MESSAGE_WHAT_PROJECTED] =
        {"One more matrix mixes what the heads found into one vector a token.",
         "もう一つの行列で各ヘッドの結果を混ぜ、トークンごとに一つのベクトルにします。"},
    [MESSAGE_WHAT_POSITIONS] =
        {"A pattern of sines and cosines tells the place of a token; attention "
         "alone does not see the order.",
         "正弦と余弦の模様でトークンの位置を表します。アテンションだけでは順序が"
         "わからないためです。"},
    [MESSAGE_POSITIONS_FROM] =
        {"Position t, pair k: sin(w_k t) and cos(w_k t) with w_k = 1 / 10000^(2k/{0}), "
         "k counted from {1}.",
         "位置 t、組 k の値は sin(w_k t) と cos(w_k t) です。w_k = 1 / 10000^(2k/{0})、"
         "k は {1} から数えます。"},
    [MESSAGE_FREQUENCY] = {"w_{0} = {1}: repeats every {2} positions",
                           "w_{0} = {1}：{2} 個の位置ごとに繰り返します"},
    [MESSAGE_BINARY] =
        {"Beside each position stands its number in binary, lowest digit first: the first "
         "digit flips at every step, each later one half as often. The pairs do the same, "
         "smoothly: the first turns fastest.",
         "各位置の横に、その番号の二進数を下の桁から順に示します。最初の桁は毎回、次の桁は"
         "その半分の頻度で反転します。正弦と余弦の組も、最初の組ほど速く、同じことを滑らかに"
         "行います。"},
    [MESSAGE_WHAT_ADD] = {"Added number by number.", "対応する値どうしを足します。"},
    [MESSAGE_WHAT_APPEND] = {"Set side by side: each row gets longer.",
                             "横に並べ、各行を長くします。"},

    /* ---- explain: numbers worked out ---- */
    [MESSAGE_ONE_CELL] = {"One number worked out: ", "一つの値の計算："},
    [MESSAGE_ONE_ROW] = {"The row of {0} in full:", "{0} の行をすべて計算すると："},
    [MESSAGE_ONE_COLUMN] = {"The column of {0} in full:", "{0} の列をすべて計算すると："},
    [MESSAGE_MORE_CELLS] = {"… and {0} more in the same way", "… 残りの {0} 個も同様です"},
    [MESSAGE_MORE_TERMS] = {"… ({0} terms)", "…（全部で {0} 項）"},
    [MESSAGE_EXPONENTIALS_ARE] = {"exponentials: ", "指数："},
    [MESSAGE_MINUS_MAXIMUM] =
        {"(the largest, {0}, is subtracted first: the shares stay the same and no "
         "number grows too large)",
         "（最大値 {0} をあらかじめ引きます。割合は変わらず、値が大きくなりすぎるのを"
         "防げます）"},
    [MESSAGE_SUM_IS] = {"their sum: ", "合計："},
    [MESSAGE_QUOTIENTS_ARE] = {"quotients: ", "割合："},
    [MESSAGE_WEIGHTED_SUM] = {"The row of {0} as a weighted sum of the values:",
                              "{0} の行を、バリューの重み付き和として書くと："},

    /* ---- explain: who looks at whom ---- */
    [MESSAGE_SEES_NOT] = {"{0} does not see {1}.", "{0}から{1}は見えません。"},
    [MESSAGE_SEES_ALL] = {"{0} sees every key.", "{0}からはすべてのキーが見えます。"},
    [MESSAGE_SEES_NONE] = {"{0} sees no key at all.", "{0}からは、どのキーも見えません。"},
    [MESSAGE_LOOKS_ONE] = {"{0} looks mostly at {1} ({2})", "{0}は主に{1}（{2}）を見ています"},
    [MESSAGE_LOOKS_MOST] = {"{0} looks most at {1} ({2})", "{0}は{1}（{2}）を最も強く見ています"},
    [MESSAGE_LOOKS_TIED] = {"{0} looks equally at {1} ({2} each)",
                            "{0}は{1}（各 {2}）を同じ強さで見ています"},
    [MESSAGE_THEN_ONE] = {", then at {0} ({1})", "。次に{0}（{1}）です"},
    [MESSAGE_THEN_TIED] = {", then equally at {0} ({1} each)",
                           "。次に{0}（各 {1}）を同じ強さで見ています"},
    [MESSAGE_LOOKS_ALL_ALIKE] = {"{0} looks at all {1} alike ({2} each)",
                                 "{0}は {1} 個すべてを同じ強さ（各 {2}）で見ています"},
    [MESSAGE_LOOKS_ONLY] = {"{0} looks only at {1}", "{0}は{1}だけを見ています"},
    [MESSAGE_BLIND] = {"{0} sees no key: its weights are 0",
                       "{0}からは、どのキーも見えません（重みは 0 です）"},
    [MESSAGE_AND] = {" and ", "と"},
    [MESSAGE_COMMA] = {", ", "、"},
    [MESSAGE_STOP] = {".", "。"},
    [MESSAGE_MORE_ROWS] = {"… and {0} more queries", "… 残りのクエリは {0} 個です"},
    [MESSAGE_AND_OTHERS] = {"{0} others", "ほか {0} 個"},

    /* ---- explain: where the document differs ---- */
    [MESSAGE_DIFFERS] = {"* The document prints another number here:",
                         "* 文書には別の数値が書かれています："},
    [MESSAGE_DIFFERS_ONE] = {"{0}: the document prints {1}, right is {2}",
                             "{0}：文書では {1}、正しくは {2}"},
    [MESSAGE_DIFFERS_MORE] = {"… and {0} more; attn check tells slips from what follows from them",
                              "… ほか {0} 個。誤りとその影響の区別は attn check で確認できます"},

    /* ---- explain --cell ---- */
    [MESSAGE_GIVENS_USED] = {"Given by the document: {0}", "文書で与えられた値：{0}"},

    /* ---- check ---- */
    [MESSAGE_FILE_VERDICT] = {": ", "："},
    [MESSAGE_JUDGES_NUMBERS] =
        {"Only numbers are judged, not prose. What only follows from an earlier "
         "slip is not counted again.",
         "判定するのは数値だけで、文章の内容は判定しません。前の誤りを引き継いだだけの値は"
         "数え直しません。"},
    [MESSAGE_NOTHING_HERE] = {"No worked example with numbers to judge was found.",
                              "判定できる数値の計算例が見つかりませんでした。"},
    [MESSAGE_ORIENTED_ROWS] = {" (line {0}; queries along the rows): ",
                               "（{0} 行目から、クエリは行方向）："},
    [MESSAGE_ORIENTED_COLUMNS] =
        {" (line {0}; queries along the columns, softmax down the columns): ",
         "（{0} 行目から、クエリは列方向、ソフトマックスは列ごと）："},
    [MESSAGE_COUNT_OF] = {" ({0} of {1} numbers)", "（{1} 個中 {0} 個）"},
    [MESSAGE_FIRST_HERE] = {" ← first wrong step", " ← 最初の誤り"},
    [MESSAGE_NEW_SLIP] = {" ← a new slip", " ← 新しい誤り"},
    [MESSAGE_PLACE_ONE_BASED] = {" (row {0}, column {1})", "（{0} 行 {1} 列）"},
    [MESSAGE_PRINTED_RIGHT] = {": the document prints {0}, right is {1}.",
                               "：文書では {0}、正しくは {1} です。"},
    [MESSAGE_DOUBT_AT] =
        {": the document prints {0}, computed is {1}; rounding on the way may explain it.",
         "：文書では {0}、計算では {1} ですが、途中の丸めによる可能性があります。"},
    [MESSAGE_FOLLOWED] = {": the document prints {0}, but its own earlier numbers give {1}.",
                          "：文書では {0} ですが、文書自身の前の数値から計算すると {1} です。"},
    [MESSAGE_WORKING] = {"Working: ", "計算："},
    [MESSAGE_LIKELY_CAUSE] = {"Likely cause: ", "考えられる原因："},
    [MESSAGE_NO_CAUSE] = {"Cause unknown: ", "原因は不明です。"},
    [MESSAGE_CAUSE_EXPLAINS] = {" It gives what is printed here ({0} numbers differ).",
                                "そう計算すると記載の値になります（異なる値は {0} 個）。"},

    /* ---- new ---- */
    [MESSAGE_NEW_TITLE] = {"Attention by hand: {0}", "手計算で学ぶアテンション：{0}"},
    [MESSAGE_NEW_INTRO] =
        {"Every number is worked out. Change one and run attn check on this file.",
         "すべての数値が計算済みです。どれかを変えて attn check で確認してみてください。"},
    [MESSAGE_NEW_INTRO_BLANK] = {"Put a number in place of each … and run attn check on this file.",
                                 "… を数値に書き換えて attn check で確認してください。"},
    [MESSAGE_NEW_INPUTS] = {"The inputs, one row a token, and the weight matrices:",
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
    [MESSAGE_PICTURE_LESSON] = {"Attention, step by step", "アテンションの計算を一段ずつ"},
    [MESSAGE_PICTURE_TABLE] = {"Numbers as a table", "数値の表"},
    [MESSAGE_QUERY] = {"query", "クエリ"},
    [MESSAGE_KEY] = {"key", "キー"},
    [MESSAGE_ARROWS] = {"Queries and keys in the plane", "平面上のクエリとキー"},
    [MESSAGE_ARROWS_NOTE] = {"The closer in direction, the larger q · k",
                             "向きが近いほど q · k が大きい"},
    [MESSAGE_ARROWS_QUERIES] = {"queries (solid)", "クエリ（実線）"},
    [MESSAGE_ARROWS_KEYS] = {"keys (dashed)", "キー（破線）"},
};

const char *attn_message_text(int message, int32_t language) {
  if (message < 0 || message >= MESSAGE_COUNT) return "?";
  const char *text = messages[message][language == ATTN_LANGUAGE_JAPANESE];
  return text ? text : "?";
}
