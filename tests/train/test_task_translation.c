/* Translation: the English equals that of a reference translator, word by word and with the
 * alignment; number, tense and article are correct; every word of the dictionary occurs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "task.h"

typedef struct attn_aligned_pair pair_t;

/* ---- The dictionary ---- */

/* kind: N noun, with its counter; A adjective; V verb, with its past; P place; T time; # number.
 * English nouns and verbs here are in their base form; other entries list all forms. */
static const struct entry {
  char kind;
  const char *japanese, *with, *english;
} dictionary[] = {
    {'N', "子供", "人", "child"},
    {'N', "女性", "人", "woman"},
    {'N', "先生", "人", "teacher"},
    {'N', "学生", "人", "student"},
    {'N', "猫", "匹", "cat"},
    {'N', "犬", "匹", "dog"},
    {'N', "鼠", "匹", "mouse"},
    {'N', "羊", "匹", "sheep"},
    {'N', "狼", "匹", "wolf"},
    {'N', "鳥", "羽", "bird"},
    {'N', "本", "冊", "book"},
    {'N', "辞書", "冊", "dictionary"},
    {'N', "魚", "匹", "fish"},
    {'N', "林檎", "個", "apple"},
    {'N', "芋", "個", "potato"},
    {'N', "箱", "個", "box"},
    {'N', "車", "台", "car"},
    {'N', "自転車", "台", "bicycle"},
    {'N', "皿", "枚", "plate"},
    {'N', "切手", "枚", "stamp"},
    {'N', "葉", "枚", "leaf"},
    {'N', "ナイフ", "本", "knife"},
    {'N', "傘", "本", "umbrella"},
    {'A', "大きい", "", "big"},
    {'A', "小さい", "", "small"},
    {'A', "静かな", "", "quiet"},
    {'A', "若い", "", "young"},
    {'A', "親切な", "", "kind"},
    {'A', "白い", "", "white"},
    {'A', "黒い", "", "black"},
    {'A', "赤い", "", "red"},
    {'A', "古い", "", "old"},
    {'A', "新しい", "", "new"},
    {'A', "高い", "", "expensive"},
    {'V', "食べる", "食べた", "eat"},
    {'V', "読む", "読んだ", "read"},
    {'V', "買う", "買った", "buy"},
    {'V', "洗う", "洗った", "wash"},
    {'V', "描く", "描いた", "draw"},
    {'V', "見る", "見た", "see"},
    {'V', "見つける", "見つけた", "find"},
    {'V', "運ぶ", "運んだ", "carry"},
    {'V', "追う", "追った", "chase"},
    {'V', "走る", "走った", "run"},
    {'V', "眠る", "眠った", "sleep"},
    {'P', "公園", "", "in the park"},
    {'P', "庭", "", "in the garden"},
    {'P', "台所", "", "in the kitchen"},
    {'P', "駅", "", "at the station"},
    {'P', "学校", "", "at the school"},
    {'P', "川", "", "by the river"},
    {'T', "毎日", "", "every day"},
    {'T', "毎朝", "", "every morning"},
    {'T', "昨日", "", "yesterday"},
    {'T', "今朝", "", "this morning"},
    {'T', "今日", "", "today"},
    {'#', "一", "", "1"},
    {'#', "二", "", "two"},
    {'#', "三", "", "three"},
    {'#', "四", "", "four"},
    {'#', "五", "", "five"},
    {'#', "六", "", "six"},
};
enum { ENTRIES = sizeof dictionary / sizeof *dictionary };
static int met[ENTRIES][2]; /* as it is, and in the past */

static const char *const irregular[][2] = {
    {"child", "children"}, {"woman", "women"}, {"mouse", "mice"}, {"sheep", "sheep"},
    {"fish", "fish"},      {"eat", "ate"},     {"read", "read"},  {"buy", "bought"},
    {"draw", "drew"},      {"see", "saw"},     {"find", "found"}, {"run", "ran"},
    {"sleep", "slept"}};

static int exception(const char *word, char *to) {
  for (size_t n = 0; n < sizeof irregular / sizeof *irregular; n++)
    if (!strcmp(word, irregular[n][0])) return strcpy(to, irregular[n][1]) != NULL;
  return 0;
}

static int ends(const char *word, const char *end) {
  size_t n = strlen(word), m = strlen(end);
  return n > m && !strcmp(word + n - m, end);
}

static int ends_in_consonant_y(const char *word) {
  return ends(word, "y") && !strchr("aeiou", word[strlen(word) - 2]);
}

/* Of nouns the plural, of verbs the third person: mostly spelt by one rule. */
static void add_s(const char *word, char *to) {
  size_t n = strlen(word);
  strcpy(to, word);
  if (ends_in_consonant_y(word))
    strcpy(to + n - 1, "ies");
  else if (ends(word, "f"))
    strcpy(to + n - 1, "ves");
  else if (ends(word, "fe"))
    strcpy(to + n - 2, "ves");
  else if (ends(word, "x") || ends(word, "sh") || ends(word, "o"))
    strcpy(to + n, "es");
  else
    strcpy(to + n, "s");
}

static void plural(const char *noun, char *to) {
  if (!exception(noun, to)) add_s(noun, to);
}

static void past(const char *verb, char *to) {
  if (exception(verb, to)) return;
  strcpy(to, verb);
  if (ends_in_consonant_y(verb))
    strcpy(to + strlen(to) - 1, "ied");
  else
    strcat(to, ends(verb, "e") ? "d" : "ed");
}

/* ---- The translator ---- */

struct reader {
  char text[ATTN_EXAMPLE_SIZE];
  const char *words[64];
  int count, next;
  char english[ATTN_EXAMPLE_SIZE];
  int from[64], written;
};

static void read_words(struct reader *r, const char *source) {
  memset(r, 0, sizeof *r);
  strcpy(r->text, source);
  for (char *word = strtok(r->text, " "); word; word = strtok(NULL, " "))
    r->words[r->count++] = word;
}

/* The words of a phrase, which all come from one; "the" from none. */
static void say(struct reader *r, const char *phrase, int from) {
  char copy[64], *word = copy;
  strcpy(copy, phrase);
  for (char *end = copy; end; word = end + 1) {
    if ((end = strchr(word, ' '))) *end = 0;
    if (*r->english) strcat(r->english, " ");
    strcat(r->english, word);
    r->from[r->written++] = strcmp(word, "the") ? from : -1;
    if (!end) break;
  }
}

static const struct entry *look_up(char kind, const char *word) {
  for (int n = 0; n < ENTRIES; n++)
    if (dictionary[n].kind == kind && (!strcmp(word, dictionary[n].japanese) ||
                                       (kind == 'V' && !strcmp(word, dictionary[n].with)))) {
      met[n][strcmp(word, dictionary[n].japanese) != 0]++;
      return &dictionary[n];
    }
  return NULL;
}

static int index_of(const struct reader *r, const char *word) {
  for (int n = 0; n < r->count; n++)
    if (!strcmp(r->words[n], word)) return n;
  return -1;
}

/* Backwards from the particle: a noun, an adjective or none, a number with a counter or none.
 * Returns whether it is more than one. */
static int translate_phrase(struct reader *r, int particle) {
  const struct entry *noun = look_up('N', r->words[particle - 1]), *adjective, *number = NULL;
  assert_non_null(noun);
  int at = particle - 2, adjective_at;
  adjective = at >= 0 ? look_up('A', r->words[at]) : NULL;
  adjective_at = adjective ? at-- : -1;
  if (at >= 2 && !strcmp(r->words[at], "の")) {
    assert_string_equal(r->words[at - 1], noun->with);
    number = look_up('#', r->words[at -= 2]);
    assert_non_null(number);
  }
  int many = number && *number->english != '1';
  char form[32];
  if (many)
    plural(noun->english, form);
  else
    strcpy(form, noun->english);
  int vowel = strchr("aeiou", adjective ? *adjective->english : *form) != NULL;
  say(r, !number ? "the" : many ? number->english : vowel ? "an" : "a", at);
  if (adjective) say(r, adjective->english, adjective_at);
  say(r, form, particle - 1);
  return many;
}

static void translate_verb(struct reader *r, int many) {
  const struct entry *verb = look_up('V', r->words[r->count - 1]);
  assert_non_null(verb);
  char form[32];
  if (!strcmp(r->words[r->count - 1], verb->with))
    past(verb->english, form);
  else if (many)
    strcpy(form, verb->english);
  else
    add_s(verb->english, form);
  say(r, form, r->count - 1);
}

static void translate(struct reader *r, const char *source) {
  read_words(r, source);
  int subject = index_of(r, "は"), object = index_of(r, "を"), place = index_of(r, "で");
  assert_true(subject > 0);
  translate_verb(r, translate_phrase(r, subject));
  if (object > 0) assert_int_equal(object, r->count - 2), translate_phrase(r, object);
  if (place > 0) {
    const struct entry *where = look_up('P', r->words[place - 1]);
    assert_non_null(where);
    say(r, where->english, place - 1);
    r->from[r->written - 3] = place; /* the preposition is the particle's */
  }
  for (int n = 0; n < r->count; n++) {
    const struct entry *when = look_up('T', r->words[n]);
    if (when) say(r, when->english, n);
  }
}

/* ---- Tests ---- */

static void check(const char *source, const char *target) {
  struct reader r;
  translate(&r, source);
  assert_string_equal(r.english, target);
}

/* Known translations, which the reference translator must give. */
static void test_known_sentences(void **state) {
  (void)state;
  check("三 匹 の 黒い 猫 は 昨日 公園 で 魚 を 食べた",
        "three black cats ate the fish in the park yesterday");
  check("毎日 子供 は 一 冊 の 古い 本 を 読む", "the child reads an old book every day");
  check("昨日 子供 は 二 冊 の 本 を 読んだ", "the child read two books yesterday");
  check("五 匹 の 鼠 は 一 個 の 林檎 を 運ぶ", "five mice carry an apple");
  check("鼠 は 林檎 を 運ぶ", "the mouse carries the apple");
  check("一 人 の 女性 は 庭 で 六 枚 の 葉 を 描いた", "a woman drew six leaves in the garden");
  check("二 人 の 女性 は 三 本 の ナイフ を 洗う", "two women wash three knives");
  check("先生 は 一 台 の 高い 車 を 買った", "the teacher bought an expensive car");
  check("四 匹 の 狼 は 六 匹 の 羊 を 追う", "four wolves chase six sheep");
  check("学生 は 今朝 四 個 の 箱 を 運んだ", "the student carried four boxes this morning");
  check("三 人 の 子供 は 毎朝 川 で 走る", "three children run by the river every morning");
  check("一 羽 の 小さい 鳥 は 駅 で 眠る", "a small bird sleeps at the station");
  check("猫 は 眠った", "the cat slept");
}

static void make(uint64_t seed, uint64_t n, int validation, pair_t *pair) {
  attn_task_make(attn_task_find("translation"), seed, n, validation, pair);
}

static void test_matches_the_reference_translator(void **state) {
  (void)state;
  for (int n = 0; n < 200000; n++) {
    pair_t pair;
    struct reader r;
    make(1, (uint64_t)n, n % 5 == 0, &pair);
    translate(&r, pair.source);
    assert_string_equal(pair.target, r.english);
    assert_int_equal(pair.aligned_tokens, r.written);
    for (int word = 0; word < r.written; word++)
      assert_int_equal(pair.alignment[word], r.from[word]);
  }
  for (int n = 0; n < ENTRIES; n++) {
    assert_true(met[n][0]);
    if (dictionary[n].kind == 'V') assert_true(met[n][1]);
  }
}

/* Every Japanese word but particles and counters is aligned once. */
static void test_alignment_covers_every_word(void **state) {
  (void)state;
  for (int n = 0; n < 50000; n++) {
    pair_t pair;
    struct reader r;
    int used[64] = {0};
    make(2, (uint64_t)n, n % 5 == 0, &pair);
    read_words(&r, pair.source);
    for (int word = 0; word < pair.aligned_tokens; word++)
      if (pair.alignment[word] >= 0) used[pair.alignment[word]] = 1;
    for (int word = 0; word < r.count; word++) {
      int counter = word && word + 1 < r.count && !strcmp(r.words[word + 1], "の");
      int particle = !strcmp(r.words[word], "は") || !strcmp(r.words[word], "を") ||
                     !strcmp(r.words[word], "の");
      assert_int_equal(used[word], !counter && !particle);
    }
  }
}

static int has_word(const char *text, const char *word) {
  char padded[ATTN_EXAMPLE_SIZE + 2], looked_for[64];
  snprintf(padded, sizeof padded, " %s ", text);
  snprintf(looked_for, sizeof looked_for, " %s ", word);
  return strstr(padded, looked_for) != NULL;
}

static void test_tenses(void **state) {
  (void)state;
  for (int n = 0; n < 50000; n++) {
    pair_t pair;
    make(3, (uint64_t)n, n % 5 == 0, &pair);
    int is_past = ends(pair.source, "た") || ends(pair.source, "だ");
    if (has_word(pair.target, "yesterday") || has_word(pair.target, "this morning"))
      assert_true(is_past);
    if (has_word(pair.target, "every")) assert_false(is_past);
  }
}

static void test_rejected_sentences(void **state) {
  (void)state;
  static const char *const wrong[] = {
      "childs",  "womans",  "mouses",  "sheeps",     "fishes",  "wolfs",       "knifes",
      "leafs",   "boxs",    "potatos", "carrys",     "washs",   "dictionarys", "eated",
      "catched", "runned",  "seed",    "a apple",    "a old",   "a umbrella",  "a expensive",
      "an big",  "an book", "a mice",  "a children", "the the", "one",         "every yesterday"};
  for (int n = 0; n < 50000; n++) {
    pair_t pair;
    make(4, (uint64_t)n, n % 5 == 0, &pair);
    for (size_t w = 0; w < sizeof wrong / sizeof *wrong; w++)
      if (has_word(pair.target, wrong[w])) fail_msg("%s: %s", pair.source, pair.target);
  }
}

/* Examples that a person has reviewed. */
static void test_reviewed_sentences(void **state) {
  (void)state;
  static const struct {
    uint64_t n;
    int held_out;
    const char *source, *target;
  } read[] = {
      {0, 0, "毎日 四 人 の 大きい 先生 は 眠る", "four big teachers sleep every day"},
      {1, 0, "六 匹 の 鼠 は 昨日 駅 で 一 枚 の 高い 葉 を 見つけた",
       "six mice found an expensive leaf at the station yesterday"},
      {2, 0, "今日 六 人 の 学生 は 六 匹 の 魚 を 見た", "six students saw six fish today"},
      {4, 0, "鳥 は 今日 五 本 の ナイフ を 見つける", "the bird finds five knives today"},
      {5, 0, "二 羽 の 黒い 鳥 は 今朝 川 で 二 枚 の 切手 を 運んだ",
       "two black birds carried two stamps by the river this morning"},
      {1, 1, "六 匹 の 大きい 犬 は 二 枚 の 葉 を 運んだ", "six big dogs carried two leaves"},
      {3, 1, "四 人 の 親切な 女性 は 白い 林檎 を 描いた", "four kind women drew the white apple"},
      {6, 1, "四 人 の 静かな 子供 は 今日 学校 で 走る",
       "four quiet children run at the school today"},
      {19, 1, "四 人 の 小さい 先生 は 毎日 黒い 鼠 を 洗う",
       "four small teachers wash the black mouse every day"},
  };
  for (size_t n = 0; n < sizeof read / sizeof *read; n++) {
    pair_t pair;
    make(1, read[n].n, read[n].held_out, &pair);
    assert_string_equal(pair.source, read[n].source);
    assert_string_equal(pair.target, read[n].target);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_known_sentences),
      cmocka_unit_test(test_matches_the_reference_translator),
      cmocka_unit_test(test_alignment_covers_every_word),
      cmocka_unit_test(test_tenses),
      cmocka_unit_test(test_rejected_sentences),
      cmocka_unit_test(test_reviewed_sentences),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
