#include "message_catalog.h"

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
    [MESSAGE_STATUS + ATTN_JUDGED_OK] = {"correct", "正しい"},
    [MESSAGE_STATUS + ATTN_JUDGED_DOUBTFUL] = {"doubtful", "判断できません"},
    [MESSAGE_STATUS + ATTN_JUDGED_CARRIED] = {"correct, given the earlier error",
                                              "前の誤りの影響（計算自体は正しい）"},
    [MESSAGE_STATUS + ATTN_JUDGED_WRONG] = {"wrong", "誤り"},
    [MESSAGE_VERDICT_CORRECT] = {"correct", "すべて正しい"},
    [MESSAGE_VERDICT_WRONG] = {"wrong", "誤りがあります"},
    [MESSAGE_VERDICT_DOUBTFUL] = {"doubtful: nothing certainly wrong",
                                  "判断できない箇所があります（確かな誤りはありません）"},
    [MESSAGE_VERDICT_NOTHING] = {"nothing to check", "確認できる計算がありません"},
    [MESSAGE_VERDICT_UNREAD] =
        {"doubtful: the numbers that were read are correct, but some were not read",
         "判断できません（読み取れた数値は正しいものの、読み取れなかった数値があります）"},
    [MESSAGE_VERDICT_UNSTATED] =
        {"doubtful: the numbers agree with a computation that the document does not state",
         "判断できません（文書に書かれていない計算と一致しています）"},

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
    [MESSAGE_CROSS_ONE] = {"Cross-attention: one query attends to {1} inputs.",
                           "クロスアテンションです。1 個のクエリが {1} 個の入力を参照します。"},
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
        {"Position t, pair k: sin(w_k t) and cos(w_k t) with w_k = 1 / {2}^(2k/{0}), "
         "k counted from {1}.",
         "位置 t、組 k の値は sin(w_k t) と cos(w_k t) です。w_k = 1 / {2}^(2k/{0})、"
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

    /* ---- explain: gradients ---- */
    [MESSAGE_GRADIENT] = {"Gradient", "勾配"},
    [MESSAGE_WHAT_GRADIENT] =
        {"d_A has one value for each value of A: by how much L changes if that value grows by a "
         "little, divided by how much it grows. It is computed from the loss backwards: each step "
         "passes its gradient to the steps that it was computed from.",
         "d_A は A の各値に一つずつあり、その値を少し増やしたときの L "
         "の変化を、増やした量で割ったものです。損失から逆向きに計算します。各ステップは、自分の"
         "計算に使ったステップへ勾配を渡します。"},
    [MESSAGE_LOSS_SUM] = {"The loss is L = the sum of all values of {0}, so each of them has the "
                          "gradient 1.",
                          "損失 L は {0} のすべての値の和です。したがって各値の勾配は 1 です。"},
    [MESSAGE_LOSS_CELL] = {"The loss is L = {0}: its gradient is 1, that of the others 0.",
                           "損失 L は {0} です。その勾配は 1、ほかの値の勾配は 0 です。"},
    [MESSAGE_GRADIENT_PRODUCT] = {"Rule of products: for C = A B, d_A = d_C B^T and d_B = A^T d_C.",
                                  "積の規則：C = A B のとき、d_A = d_C B^T、d_B = A^T d_C です。"},
    [MESSAGE_GRADIENT_SOFTMAX] =
        {"Rule of softmax: d_z = p × (d_p - the mean of d_p, weighted by p). So the gradients of "
         "the "
         "scores of one query sum to 0, and a weight near 0 or 1 passes on almost nothing.",
         "ソフトマックスの規則：d_z = p × (d_p - d_p を p "
         "で重み付けした平均)。そのため一つのクエリのスコアの勾配の和は 0 で、0 や 1 "
         "に近い重みは勾配をほとんど通しません。"},
    [MESSAGE_GRADIENT_SCALED] =
        {"Rule of scaling: what divides the values divides their gradients.",
         "スケーリングの規則：値を割る数で、勾配も割ります。"},
    [MESSAGE_GRADIENT_MASKED] = {"Rule of masks: hidden values have the gradient 0.",
                                 "マスクの規則：隠された値の勾配は 0 です。"},
    [MESSAGE_GRADIENT_SUM] = {"Used more than once: the gradient is the sum of the contributions.",
                              "二か所以上で使われるので、勾配はそれぞれの寄与の和です。"},
    [MESSAGE_GRADIENT_MOVED] = {"The same values at the places that they came from.",
                                "もとの位置に戻した同じ値です。"},

    /* ---- explain: numbers worked out ---- */
    [MESSAGE_ONE_CELL] = {"One value worked out: ", "一つの値の計算："},
    [MESSAGE_ONE_ROW] = {"The row of {0} in full:", "{0}の行をすべて計算すると："},
    [MESSAGE_ONE_COLUMN] = {"The column of {0} in full:", "{0}の列をすべて計算すると："},
    [MESSAGE_MORE_CELLS] = {"… and {0} more in the same way", "… 残りの {0} 個も同様です"},
    [MESSAGE_MORE_TERMS] = {"… ({0} terms)", "…（全部で {0} 項）"},
    [MESSAGE_ALL_EQUAL] = {"every value is {0}", "値はすべて {0} です"},
    [MESSAGE_HIDDEN_CELLS] = {"–: hidden by the mask, exactly 0.",
                              "–：マスクで隠れているため 0 です。"},
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
    [MESSAGE_DIFFERS_ONE] = {"{0}: the document prints {1}, correct is {2}",
                             "{0}：文書では {1}、正しくは {2}"},
    [MESSAGE_DIFFERS_MORE] = {"… and {0} more; attn check separates errors from their consequences",
                              "… ほか {0} 個。誤りとその影響の区別は attn check で確認できます"},

    /* ---- explain --cell ---- */
    [MESSAGE_GIVENS_USED] = {"Given: {0}", "与えられた行列：{0}"},

    /* ---- check ---- */
    [MESSAGE_JUDGES_NUMBERS] = {"Only numbers are judged, not prose. A value that only follows "
                                "from an earlier error is not counted again.",
                                "判定するのは数値だけで、文章の内容は判定しません。前の誤りを引き継"
                                "いだだけの値は重ねて数えません。"},
    [MESSAGE_NOTHING_HERE] = {"No worked example with numbers to judge was found.",
                              "判定できる数値の計算例が見つかりませんでした。"},
    [MESSAGE_NOTHING_ONE_NUMBER] = {"No matrix or vector was found, only one number in a sentence.",
                                    "行列もベクトルもなく、文中に数値が 1 個あるだけです。"},
    [MESSAGE_NOTHING_NUMBERS] = {"No matrix or vector was found, only {0} numbers in sentences.",
                                 "行列もベクトルもなく、文中に数値が {0} 個あるだけです。"},
    [MESSAGE_NOTHING_ONE_BLOCK] =
        {"One block of numbers was found; a check needs a result and the numbers that it is "
         "computed from.",
         "数値のまとまりは 1 個だけです。判定には、計算の結果とその元になる数値が必要です。"},
    [MESSAGE_NOTHING_BLOCKS] =
        {"{0} blocks of numbers were found, no two of which are related by a step of attention.",
         "数値のまとまりが {0} 個ありますが、アテンションの計算で結び付くものはありません。"},
    [MESSAGE_NOTHING_COMPUTED] = {"No number of a computed step was found.",
                                  "計算で求める値が一つも書かれていません。"},
    [MESSAGE_NONE_FILLED_IN] = {"0 of {0} steps filled in: begin with {1}.",
                                "{0} 個のステップはすべて未記入です。{1} から始めてください。"},
    [MESSAGE_NONE_PRINTED] = {"It prints no result of its {0} computed steps.",
                              "計算した {0} 個のステップは、どれも結果が書かれていません。"},
    [MESSAGE_ORIENTED_ROWS] = {" (from line {0}; one query per row): ",
                               "（文書の {0} 行目〜、1 行に 1 クエリ）："},
    [MESSAGE_ORIENTED_COLUMNS] =
        {" (from line {0}; one query per column, softmax down the columns): ",
         "（文書の {0} 行目〜、1 列に 1 クエリ、ソフトマックスは列ごと）："},
    [MESSAGE_COUNT_OF] = {" ({0} of {1} values)", "（{1} 個中 {0} 個）"},
    [MESSAGE_FIRST_HERE] = {" ← first wrong step", " ← 最初の誤り"},
    [MESSAGE_OTHER_ERROR] = {" ← another error", " ← 別の誤り"},
    [MESSAGE_PLACE_ONE_BASED] = {" (row {0}, column {1})", "（{0} 行 {1} 列）"},
    [MESSAGE_PRINTED_RIGHT] = {": the document prints {0}, correct is {1}.",
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
        {" With it the printed values follow ({0} differ from the correct ones).",
         "この誤りを仮定すると文書の値と一致します（正しい値と異なるのは {0} 個）。"},
    [MESSAGE_ROLE_GUESSED] = {" (its role is a guess)", "（役割は推測です）"},
    [MESSAGE_LEFT_BLANK] = {"left blank", "空欄"},
    [MESSAGE_HINT_OPERANDS] = {"It is computed from ", "計算に使う値は "},
    [MESSAGE_NOT_FOUND] = {"not among the numbers that were read",
                           "読み取れた数値の中にありません"},

    /* ---- check: numbers that were not read ---- */
    [MESSAGE_UNREAD] = {"Not read, and so not judged:", "読み取れず、判定していない数値："},
    [MESSAGE_UNREAD_ONE] = {"line {0}: one number", "{0} 行目：数値 1 個"},
    [MESSAGE_UNREAD_ONE_AFTER] = {"line {0}: one number after \"{1}\"",
                                  "{0} 行目：「{1}」の後の数値 1 個"},
    [MESSAGE_UNREAD_BLOCK] = {"line {0}: {1} numbers", "{0} 行目：{1} の数値"},
    [MESSAGE_UNREAD_BLOCK_AFTER] = {"line {0}: {1} numbers after \"{2}\"",
                                    "{0} 行目：「{2}」の後の {1} の数値"},
    [MESSAGE_UNREAD_MORE] = {"… and {0} more", "… ほか {0} 箇所"},
    [MESSAGE_UNREAD_INCOMPLETE] =
        {"The document has more numbers than are read at once: check it in parts.",
         "数値が多く、一度に読み取れる範囲を超えています。分割して確認してください。"},

    /* ---- check: how numbers were read ---- */
    [MESSAGE_READ] = {"How the numbers were read:", "数値の読み取り方："},
    [MESSAGE_READ_NOTHING] = {"No number was read.", "読み取れた数値はありません。"},
    [MESSAGE_READ_LINE] = {"line {0}: ", "{0} 行目："},
    [MESSAGE_READ_PART] = {"{0} of {1}", "{1} のうち {0}"},
    [MESSAGE_READ_GIVEN] = {"given", "与えられた値"},
    [MESSAGE_READ_EXPLAINED] = {"{0} of {1} values agree", "{1} 個中 {0} 個が一致"},

    /* ---- new ---- */
    [MESSAGE_NEW_TITLE +
        ATTN_TEMPLATE_SELF] = {"Attention by hand: {0}", "手計算で学ぶアテンション：{0}"},
    [MESSAGE_NEW_TITLE +
        ATTN_TEMPLATE_CAUSAL] = {"The causal mask by hand: {0}", "手計算で学ぶ因果マスク：{0}"},
    [MESSAGE_NEW_TITLE + ATTN_TEMPLATE_CROSS] = {"Cross-attention by hand: {0}",
                                                 "手計算で学ぶクロスアテンション：{0}"},
    [MESSAGE_NEW_TITLE + ATTN_TEMPLATE_HEADS] = {"Several heads by hand: {0}",
                                                 "手計算で学ぶマルチヘッドアテンション：{0}"},
    [MESSAGE_NEW_TITLE + ATTN_TEMPLATE_POSITIONS] = {"Positions by hand: {0}",
                                                     "手計算で学ぶ位置エンコーディング：{0}"},
    [MESSAGE_NEW_TITLE +
        ATTN_TEMPLATE_SCALING] = {"Why scores are scaled: {0}", "手計算で学ぶスケーリング：{0}"},
    [MESSAGE_NEW_TITLE +
        ATTN_TEMPLATE_COLUMNS] = {"Queries in columns: {0}", "クエリを列に並べるアテンション：{0}"},
    [MESSAGE_NEW_TITLE +
        ATTN_TEMPLATE_QUESTION] = {"A question to a sentence: {0}", "文への質問：{0}"},
    [MESSAGE_NEW_IDEA +
        ATTN_TEMPLATE_SELF] = {"Every token mixes the values of all tokens; a weight grows with "
                               "the match of query and key.",
                               "各トークンは、すべてのトークンのバリューを混ぜ合わせます。クエリと"
                               "キーがよく合うほど、重みは大きくなります。"},
    [MESSAGE_NEW_IDEA + ATTN_TEMPLATE_CAUSAL] =
        {"No token attends to a later one: a mask hides those scores before the softmax.",
         "どのトークンも、後ろのトークンには注意を向けられません。ソフトマックスの前に、マスクでそ"
         "のスコアを隠します。"},
    [MESSAGE_NEW_IDEA + ATTN_TEMPLATE_CROSS] =
        {"The queries come from one text (Y), the keys and values from another (X).",
         "クエリは一方の文（Y）から、キーとバリューはもう一方の文（X）から作ります。"},
    [MESSAGE_NEW_IDEA + ATTN_TEMPLATE_HEADS] =
        {"Each head has its own weight matrices; W_O mixes the outputs of all heads.",
         "ヘッドごとに別の重み行列を使い、全ヘッドの出力を W_O で混ぜ合わせます。"},
    [MESSAGE_NEW_IDEA +
        ATTN_TEMPLATE_POSITIONS] = {"Attention ignores the order of its inputs, so a table of "
                                    "sines and cosines is added to them.",
                                    "アテンションは入力の順序を区別しません。そこで、正弦と余弦の表"
                                    "を入力に足して位置を表します。"},
    [MESSAGE_NEW_IDEA + ATTN_TEMPLATE_SCALING] =
        {"One query and the same keys, first without and then with the division by the square root "
         "of d_k.",
         "同じクエリとキーを使い、d_k の平方根で割らない場合と割る場合を比べます。"},
    [MESSAGE_NEW_IDEA + ATTN_TEMPLATE_COLUMNS] =
        {"One column per query: the softmax runs down each column, over the keys.",
         "クエリを 1 列に 1 "
         "つずつ並べる書き方です。ソフトマックスは列ごとに、キーの方向に適用します。"},
    [MESSAGE_NEW_IDEA + ATTN_TEMPLATE_QUESTION] =
        {"The words of the sentence “{0}” are the keys, the question is the query.",
         "文「{0}」の各単語がキー、質問がクエリです。"},
    [MESSAGE_NEW_SOLVED] =
        {"Every value is filled in. Change one and run attn check on this file.",
         "すべての値が記入済みです。どれかを変えて attn check で確認してみてください。"},
    [MESSAGE_NEW_BLANK] =
        {"Replace each … by a number, step by step; the file can be checked at any time. Round to "
         "four decimals.",
         "ステップごとに … "
         "を数値に書き換えてください。途中でも確認できます。小数は第四位までに丸めます。"},
    [MESSAGE_NEW_INPUTS] = {"The inputs, one row per token, and the weight matrices:",
                            "入力（1 行が 1 トークン）と重み行列です。"},
    [MESSAGE_NEW_INPUTS_ONLY] = {"The inputs, one row per token:",
                                 "入力です。1 行が 1 トークンです。"},
    [MESSAGE_NEW_INPUTS_CROSS] = {"The inputs of the queries (Y) and of the keys and values (X), "
                                  "one row per token, and the weight matrices:",
                                  "クエリ側の入力 Y、キーとバリュー側の入力 X（どちらも 1 行が 1 "
                                  "トークン）、重み行列です。"},
    [MESSAGE_NEW_PROJECT] =
        {"Queries, keys and values: multiply each row of X by the weight matrices.",
         "クエリ、キー、バリュー：X の各行に重み行列を掛けます。"},
    [MESSAGE_NEW_PROJECT_CROSS] =
        {"Queries, keys and values: multiply each row of Y by W_Q, each row of X by W_K and W_V.",
         "クエリ、キー、バリュー：Y の各行に W_Q を、X の各行に W_K と W_V を掛けます。"},
    [MESSAGE_NEW_PROJECT_PLACED] =
        {"Queries, keys and values: multiply each row of X + PE by the weight matrices.",
         "クエリ、キー、バリュー：X + PE の各行に重み行列を掛けます。"},
    [MESSAGE_NEW_POSITIONS] =
        {"Positions: for the token at position t = 0, 1, 2, … write {0}.",
         "位置エンコーディング：位置 t = 0、1、2、… のトークンの行に {0} を書きます。"},
    [MESSAGE_NEW_PLACED] = {"Inputs with positions: add the two tables, element by element.",
                            "位置つきの入力：二つの表を要素ごとに足します。"},
    [MESSAGE_NEW_SCORES] =
        {"Scores: the dot product of each query (row) and each key (column), Q K^T.",
         "スコア：各クエリ（行）と各キー（列）の内積 Q K^T を求めます。"},
    [MESSAGE_NEW_SCORES_COLUMNS] =
        {"Scores: the dot product of each key (row) and each query (column), K Q^T.",
         "スコア：各キー（行）と各クエリ（列）の内積 K Q^T を求めます。"},
    [MESSAGE_NEW_SCALED] =
        {"Scaled scores: divide every score by the square root of d_k = {0}, √{0} = {1}.",
         "スケーリング：すべてのスコアを d_k = {0} の平方根 √{0} = {1} で割ります。"},
    [MESSAGE_NEW_MASK] = {"The mask: 1 where a token attends, 0 at every later token.",
                          "マスク：注意を向けてよいところは 1、後ろのトークンは 0 です。"},
    [MESSAGE_NEW_MASKED] =
        {"Masked scores: keep the score where the mask is 1, write -inf where it is 0.",
         "マスク後のスコア：マスクが 1 のところはスコアをそのまま、0 のところは -inf を書きます。"},
    [MESSAGE_NEW_WEIGHTS] = {"Weights: softmax along each row. Take e to the power of every score "
                             "of the row and divide by their sum.",
                             "重み：行ごとにソフトマックスを適用します。各スコア x を e^x "
                             "に置き換え、行の合計で割ります。"},
    [MESSAGE_NEW_WEIGHTS_COLUMNS] = {"Weights: softmax down each column. Take e to the power of "
                                     "every score of the column and divide by their sum.",
                                     "重み：列ごとにソフトマックスを適用します。各スコア x を e^x "
                                     "に置き換え、列の合計で割ります。"},
    [MESSAGE_NEW_OUTPUT] =
        {"Output: for each query, multiply every row of V by its weight and add them up.",
         "出力：クエリごとに、V の各行に重みを掛けて足し合わせます。"},
    [MESSAGE_NEW_OUTPUT_COLUMNS] =
        {"Output, one row per query: multiply every row of V by its weight in the query's column "
         "and add them up.",
         "出力（1 行が 1 クエリ）：V の各行に、そのクエリの列の重みを掛けて足し合わせます。"},
    [MESSAGE_NEW_CONCAT] = {"Concatenation: write the outputs of the heads side by side.",
                            "連結：各ヘッドの出力を横に並べます。"},
    [MESSAGE_NEW_PROJECTED] = {"Projection: multiply each row by W_O.",
                               "射影：各行に W_O を掛けます。"},
    [MESSAGE_NEW_UNSCALED] =
        {"No scaling here: the scores go to the softmax as they are.",
         "ここではスケーリングをせず、スコアをそのままソフトマックスに渡します。"},
    [MESSAGE_NEW_SAME] = {"The same query and keys again:", "同じクエリとキーです。"},
    [MESSAGE_NEW_COMPARE] =
        {"Compare the largest weights: without the division, softmax all but selects a single key.",
         "最大の重みを比べてください。割らないと、ソフトマックスはほぼ一つのキーだけを選びます。"},
    [MESSAGE_NEW_FEATURES] =
        {"The first column of K measures how well a word answers the question.",
         "K の最初の列は、その単語が質問の答えとしてどれだけふさわしいかを表します。"},
    [MESSAGE_NEW_ASK] = {"Which word has the largest weight? It answers the question.",
                         "重みが最も大きい単語はどれですか。それが質問の答えです。"},
    [MESSAGE_NEW_ANSWER] = {"The largest weight is that of “{0}”: it answers the question.",
                            "重みが最も大きいのは「{0}」です。これが質問の答えです。"},
    [MESSAGE_NEW_TOKEN] = {"token", "トークン"},
    [MESSAGE_NEW_QUESTION] = {"question", "質問"},
    [MESSAGE_NEW_HEADING_HEAD] = {"Head {0}", "ヘッド {0}"},
    [MESSAGE_NEW_HEADING_JOIN] = {"All heads", "全ヘッド"},
    [MESSAGE_NEW_HEADING_UNSCALED] = {"Example 1: without scaling", "例 1：スケーリングなし"},
    [MESSAGE_NEW_HEADING_SCALED] = {"Example 2: with scaling", "例 2：スケーリングあり"},

    /* ---- Pictures ---- */
    [MESSAGE_PICTURE] = {"Attention", "アテンション"},
    [MESSAGE_PICTURE_LESSON] = {"Attention, step by step", "アテンションの計算をステップごとに"},
    [MESSAGE_PICTURE_TABLE] = {"Values as a table", "数値の表"},
    [MESSAGE_QUERY] = {"query", "クエリ"},
    [MESSAGE_KEY] = {"key", "キー"},
    [MESSAGE_ARROWS] = {"Queries and keys in the plane", "平面上のクエリとキー"},
    [MESSAGE_ARROWS_NOTE] = {"q · k = length of q × length of k × cos(angle)",
                             "q · k = q の長さ × k の長さ × なす角の余弦"},
    [MESSAGE_ARROWS_QUERIES] = {"queries (solid)", "クエリ（実線）"},
    [MESSAGE_ARROWS_KEYS] = {"keys (dashed)", "キー（破線）"},

    /* ---- Pages ---- */
    [MESSAGE_PAGE_STEPS] = {"Steps", "ステップ"},
    [MESSAGE_PAGE_PREVIOUS] = {"Previous", "前へ"},
    [MESSAGE_PAGE_PLAY] = {"Play", "再生"},
    [MESSAGE_PAGE_NEXT] = {"Next", "次へ"},
    [MESSAGE_PAGE_HINT] =
        {"Point at a number, or tap it, to see how it is computed and what it reaches. Click or "
         "Enter keeps it, Escape releases it, arrow keys move.",
         "数値を指すかタップすると、計算過程とその値の影響する先が表示されます。クリックまたは "
         "Enter で固定、Escape で解除、矢印キーで移動します。"},
    [MESSAGE_PAGE_CHECK] = {"The document, checked", "文書の確認結果"},
    [MESSAGE_PAGE_CHECK_HINT] =
        {"Point at a marked number, or move with Tab, to see the right computation.",
         "印の付いた数値を指すか Tab で移動すると、正しい計算過程が表示されます。"},
    [MESSAGE_PAGE_GIVEN] = {"given", "与えられた値"},
    [MESSAGE_PAGE_UNREAD] = {"not read", "読み取れなかった値"},
    [MESSAGE_PAGE_CORRECTED] = {"The document with corrected numbers", "数値を訂正した文書"},
    [MESSAGE_PAGE_INDEX] = {"The checked documents", "確認した文書の一覧"},
    [MESSAGE_PAGE_FILE] = {"File", "ファイル"},
    [MESSAGE_PAGE_VERDICT] = {"Verdict", "判定"},
    [MESSAGE_PAGE_FIRST_WRONG] = {"First wrong value (printed, correct)",
                                  "最初の誤り（文書の値、正しい値）"},
    [MESSAGE_PAGE_CAUSE] = {"Likely cause", "考えられる原因"},
    [MESSAGE_PAGE_UNREADABLE] = {"cannot be read", "読み取れません"},
    [MESSAGE_PAGE_LEGEND] =
        {"Solid frame: computed from these. Dotted frame: computed with this one. Marked corner: "
         "reached over several steps.",
         "実線の枠：計算に使う値。点線の枠：この値を使って計算される値。角の印：さらに先のステップ"
         "で影響を受ける値。"},
    [MESSAGE_PAGE_REACHES] = {"It reaches {0} later values, in {1}.",
                              "後のステップの値 {0} 個に影響します（{1}）。"},
    [MESSAGE_PAGE_REACHES_NOTHING] = {"It reaches no later value.",
                                      "後のステップの値には影響しません。"},
    [MESSAGE_PAGE_STILL] = {"The numbers of this page cannot be changed: the example is too large, "
                            "or has an operation "
                            "that the page cannot compute.",
                            "このページの数値は変更できません。例が大きすぎるか、ページで計算できな"
                            "い演算があります。"},
    [MESSAGE_PAGE_CHANGE] = {"Change the numbers", "数値を変えてみる"},
    [MESSAGE_PAGE_CHANGE_HINT] =
        {"Click a given number or a token, or type over it; every step follows. Arrow up and down "
         "change it by 1.",
         "与えられた数値やトークンをクリックして書き換えると、後のステップがすべて変わります。"
         "上下の矢印キーで 1 ずつ増減します。"},
    [MESSAGE_PAGE_UNDO] = {"Undo", "元に戻す"},
    [MESSAGE_PAGE_REDO] = {"Redo", "やり直す"},
    [MESSAGE_PAGE_RESET] = {"Reset", "リセット"},
    [MESSAGE_PAGE_REVERSE] = {"Reverse the order", "順序を逆にする"},
    [MESSAGE_PAGE_REVERSE_HINT] =
        {"Attention alone does not see the order: each output moves with its "
         "token. Positions and masks do.",
         "アテンションだけでは順序は分かりません。各出力はトークンととも"
         "に動きます。位置とマスクは順序に依存します。"},
    [MESSAGE_PAGE_SCALED] = {"Scale by 1/√d_k", "1/√d_k でスケーリング"},
    [MESSAGE_PAGE_SCALE] = {"Scores", "スコア"},
    [MESSAGE_PAGE_TEMPERATURE] = {"Temperature", "温度"},
    [MESSAGE_PAGE_CAUSAL] = {"Causal mask", "因果マスク"},
    [MESSAGE_PAGE_AXIS] = {"Softmax along", "ソフトマックスの方向"},
    [MESSAGE_PAGE_AXIS_ROWS] = {"rows", "行"},
    [MESSAGE_PAGE_AXIS_COLUMNS] = {"columns", "列"},
    [MESSAGE_PAGE_SLIPS] = {"Classic slips", "よくある間違い"},
    [MESSAGE_PAGE_SLIP_UNSCALED] = {"forget √d_k", "√d_k を忘れる"},
    [MESSAGE_PAGE_SLIP_BY_DK] = {"divide by d_k", "d_k で割る"},
    [MESSAGE_PAGE_SLIP_COLUMNS] = {"softmax over the queries", "クエリの方向にソフトマックス"},
    [MESSAGE_PAGE_SLIP_PLAIN] = {"K not transposed", "K を転置しない"},
    [MESSAGE_PAGE_SHARE] = {"Link", "リンク"},
    [MESSAGE_PAGE_DOCUMENT] = {"As a document", "文書として"},
    [MESSAGE_PAGE_COPY] = {"Copy", "コピー"},
    [MESSAGE_PAGE_COPIED] = {"Copied.", "コピーしました。"},
    [MESSAGE_PAGE_CLOSE] = {"Close", "閉じる"},
};

const char *attn_message_text(int message, int32_t language) {
  if (message < 0 || message >= MESSAGE_COUNT) return "?";
  const char *text = messages[message][language == ATTN_LANGUAGE_JAPANESE];
  return text ? text : "?";
}
