#include "learn_text.h"

#include <string.h>

static const char *const messages[LEARN_MESSAGES][2] = {
    [LEARN_TITLE] = {"Attention in one evening", "一晩で学ぶアテンション"},
    [LEARN_COURSE] = {"Attention in one evening: {0} of {1} exercises done.\n\n",
                      "一晩で学ぶアテンション：練習問題 {1} 問中 {0} 問を終えました。\n\n"},
    [LEARN_NEXT] = {"\nNext: attn learn {0}\n", "\n次は attn learn {0} です。\n"},
    [LEARN_ALL_DONE] = {"\nAll exercises are done. attn learn N --seed M writes others.\n",
                        "\nすべての練習問題を終えました。attn learn N --seed M "
                        "で別の問題を出せます。\n"},
    [LEARN_EXERCISES_ARE] = {"\nExercises:\n", "\n練習問題：\n"},
    [LEARN_WROTE] = {"  wrote {0}\n", "  {0} を書き出しました\n"},
    [LEARN_KEPT] = {"  kept {0}, which exists\n", "  {0} はすでにあるので、そのままにしました\n"},
    [LEARN_THEN_CHECK] = {"Fill them in, then: attn learn --check {0}\n",
                          "記入したら attn learn --check {0} で確認してください。\n"},
    [LEARN_DONE] = {"{0}: exercise {1} is correct.\n", "{0}：練習問題 {1} は正解です。\n"},
    [LEARN_NOT_DONE] = {"{0}: exercise {1} is not done yet.\n",
                        "{0}：練習問題 {1} はまだ終わっていません。\n"},
    [LEARN_WRONG_COUNT] = {"  wrong values: {0}\n", "  誤っている値：{0} 個\n"},
    [LEARN_OPEN_COUNT] = {"  not filled in: {0}\n", "  未記入の値：{0} 個\n"},
    [LEARN_COARSE_COUNT] = {"  rounded too far, give at least two decimals: {0}\n",
                            "  丸めすぎの値（小数第二位以下まで書いてください）：{0} 個\n"},
    [LEARN_FIRST_WRONG] = {"  First wrong value: {0}, row {1}, column {2}.\n",
                           "  最初に誤っている値：{0} の {1} 行 {2} 列\n"},
    [LEARN_FIRST_OPEN] = {"  First open value: {0}, row {1}, column {2}.\n",
                          "  最初の未記入の値：{0} の {1} 行 {2} 列\n"},
    [LEARN_FIRST_COARSE] = {"  First value rounded too far: {0}, row {1}, column {2}.\n",
                            "  最初に丸めすぎている値：{0} の {1} 行 {2} 列\n"},
    [LEARN_HINT] = {"  Hint {0} of 3: ", "  ヒント {0}/3："},
    [LEARN_HEAD] = {"head", "ヘッド"},
    [LEARN_WRONG_ANSWER] = {"  The answer {0} is wrong.\n", "  答え {0} は誤りです。\n"},
    [LEARN_NO_ANSWER] = {"  There is an answer to write: replace the … after “answer:”.\n",
                         "  「answer:」の後の … を答えに書き換えてください。\n"},
    [LEARN_NOT_TRAINED] =
        {"  The model is not trained far enough: {0} % of its validation dates are right, 90 % are "
         "needed.\n",
         "  モデルの学習が足りません。検証用の日付の正解率は {0} %、必要なのは 90 % です。\n"},
    [LEARN_FIGURE] = {"\nThe weights of the example:\n", "\n例の重み：\n"},
    [LEARN_CONTENTS] = {"Contents", "目次"},
    [LEARN_PAGE_EXERCISES] =
        {"## Exercises\n\n`attn learn {0}` writes the two exercises of this chapter, `attn learn "
         "--check` checks them.\n",
         "## 練習問題\n\nこの章の練習問題 2 問は `attn learn {0}` で書き出し、`attn learn --check` "
         "で確認します。\n"},
};

const char *attn_cli_learn_word(int message, int32_t language) {
  return messages[message][language == ATTN_LANGUAGE_JAPANESE];
}

void attn_cli_learn_fill_text(const attn_sink *sink, const char *text, const char *const *values,
                              int count) {
  for (const char *brace; *text; text = brace) {
    brace = strchr(text, '{');
    if (!brace) brace = text + strlen(text);
    sink->write(sink->context, text, (size_t)(brace - text));
    if (!*brace) return;
    const int n = brace[1] - '0', is_hole = n >= 0 && n < count && brace[2] == '}' && values[n];
    if (is_hole)
      sink->write(sink->context, values[n], strlen(values[n]));
    else
      sink->write(sink->context, brace, 1);
    brace += is_hole ? 3 : 1;
  }
}

void attn_cli_learn_put(const attn_sink *sink, int32_t language, int message, const char *a,
                        const char *b, const char *c) {
  const char *const values[] = {a, b, c};
  attn_cli_learn_fill_text(sink, attn_cli_learn_word(message, language), values, 3);
}
