/* All tasks: an example is a function of seed and number, fits its buffers and is UTF-8; validation
 * examples do not occur in training in any form, but all their tokens do; one key in ten is held
 * out. Targets of numerals, addition, letters and questions equal those of an independent
 * implementation. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "attn/train.h"
#include "select.h"
#include "task.h"

typedef struct attn_aligned_pair pair_t;

static const char *const names[] = {"dates",   "numerals", "addition",    "letters",  "copy",
                                    "reverse", "sort",     "translation", "questions"};
enum { TASKS = sizeof names / sizeof *names };

static const struct attn_task *task_named(const char *name) {
  const struct attn_task *task = attn_task_find(name);
  assert_non_null(task);
  assert_string_equal(task->name, name);
  return task;
}

/* count of total is within five standard deviations of p. */
static void assert_share(int count, int total, double p) {
  double wrong = fabs(count - total * p), deviation = sqrt(total * p * (1 - p));
  if (wrong > 5 * deviation) fail_msg("%d of %d, expected %g", count, total, total * p);
}

/* ---- All tasks ---- */

static void test_unknown_names(void **state) {
  (void)state;
  assert_null(attn_task_find("date"));
  assert_null(attn_task_find(""));
  assert_null(attn_task_find(NULL));
  assert_int_equal(attn_task_example(NULL, 1, 1, 0, NULL, NULL, NULL, NULL), ATTN_ERR_ARGUMENT);
}

static int is_same(const pair_t *a, const pair_t *b) {
  return !strcmp(a->source, b->source) && !strcmp(a->prefix, b->prefix) &&
         !strcmp(a->target, b->target) && a->aligned_tokens == b->aligned_tokens &&
         !memcmp(a->alignment, b->alignment, (size_t)a->aligned_tokens * sizeof *a->alignment);
}

static void test_examples_depend_on_seed_and_number(void **state) {
  (void)state;
  enum { MANY = 500 };
  static pair_t first[MANY];
  for (int t = 0; t < TASKS; t++) {
    const struct attn_task *task = task_named(names[t]);
    const uint64_t big = (uint64_t)1 << 40;
    int like_next = 0, like_other_seed = 0, like_far = 0, like_held = 0;
    memset(first, 0xAA, sizeof first);
    for (int n = 0; n < MANY; n++) attn_task_make(task, 7, (uint64_t)n, 0, &first[n]);
    for (int n = MANY - 1; n >= 0; n--) {
      pair_t again, other;
      memset(&again, 0x55, sizeof again);
      attn_task_make(task, 7, (uint64_t)n, 0, &again);
      assert_true(is_same(&first[n], &again));
      like_next += n > 0 && is_same(&first[n], &first[n - 1]);
      attn_task_make(task, 7 + (big << 8), (uint64_t)n, 0, &other),
          like_other_seed += is_same(&again, &other);
      attn_task_make(task, 7, (uint64_t)n + big, 0, &other), like_far += is_same(&again, &other);
      attn_task_make(task, 7, (uint64_t)n, 1, &other), like_held += is_same(&again, &other);
    }
    assert_in_range(like_next, 0, MANY / 50);
    assert_in_range(like_other_seed, 0, MANY / 50);
    assert_in_range(like_far, 0, MANY / 50);
    assert_int_equal(like_held, 0);
  }
}

/* Bytes of the character at text, 0 where it is none. No overlong forms, no surrogates. */
static int character(const char *text) {
  const unsigned char *c = (const unsigned char *)text;
  if (*c < 0x80) return 1;
  int more = *c >= 0xC2 && *c <= 0xDF   ? 1
             : (*c & 0xF0) == 0xE0      ? 2
             : *c >= 0xF0 && *c <= 0xF4 ? 3
                                        : 0;
  for (int n = 1; n <= more; n++)
    if ((c[n] & 0xC0) != 0x80) return 0;
  if ((*c == 0xE0 && c[1] < 0xA0) || (*c == 0xED && c[1] >= 0xA0)) return 0;
  if ((*c == 0xF0 && c[1] < 0x90) || (*c == 0xF4 && c[1] >= 0x90)) return 0;
  return more ? more + 1 : 0;
}

/* The token at *text, which is moved past it and what parts it from the next; 0: no more. */
static int next_token(const struct attn_task *task, const char **text, char token[32]) {
  int n = 0, words = task->tokens == ATTN_TASK_WORDS;
  if (!**text) return 0;
  n = words ? (int)strcspn(*text, " ") : character(*text);
  assert_in_range(n, 1, 31);
  memcpy(token, *text, (size_t)n), token[n] = 0;
  *text += n;
  if (words && **text == ' ') assert_true(*++*text);
  return 1;
}

static int count_tokens(const struct attn_task *task, const char *text) {
  char token[32];
  int count = 0;
  while (next_token(task, &text, token)) count++;
  return count;
}

static void check_form(const struct attn_task *task, const pair_t *pair) {
  const char *sides[] = {pair->source, pair->target};
  for (int side = 0; side < 2; side++) {
    assert_non_null(memchr(sides[side], 0, ATTN_EXAMPLE_SIZE));
    assert_true(*sides[side]);
    for (const char *c = sides[side]; *c; c += character(c)) assert_true(character(c));
  }
  assert_in_range(pair->aligned_tokens, 0, ATTN_ALIGNMENT_MAX);
  if (pair->aligned_tokens)
    assert_int_equal(pair->aligned_tokens, count_tokens(task, pair->target));
  for (int n = 0; n < pair->aligned_tokens; n++)
    assert_true(pair->alignment[n] >= -1 && pair->alignment[n] < count_tokens(task, pair->source));
}

static void test_sizes_and_utf8(void **state) {
  (void)state;
  for (int t = 0; t < TASKS; t++) {
    const struct attn_task *task = task_named(names[t]);
    for (uint64_t n = 0; n < 20000; n++) {
      pair_t pair;
      memset(&pair, 0xFF, sizeof pair);
      attn_task_make(task, 3, n, n % 2, &pair);
      check_form(task, &pair);
      assert_int_equal(pair.aligned_tokens > 0, t >= 3);
    }
  }
}

static void test_held_out_share(void **state) {
  (void)state;
  enum { MANY = 100000 };
  int held_out = 0, both = 0, last = 0;
  for (int n = 0; n < MANY; n++) {
    char key[16];
    snprintf(key, sizeof key, "%d", n);
    int is = attn_task_is_held_out(key);
    assert_true(is == 0 || is == 1);
    held_out += is, both += is && last, last = is;
  }
  assert_share(held_out, MANY, 0.1);
  assert_share(both, MANY, 0.01); /* independent for neighbouring keys */
}

/* ---- The split ---- */

typedef char key_text[48];

struct keys {
  key_text *of;
  size_t count, room;
};

static void add_key(struct keys *keys, const char *key) {
  if (keys->count == keys->room) {
    keys->room = keys->room ? 2 * keys->room : 1024;
    keys->of = realloc(keys->of, keys->room * sizeof *keys->of);
    assert_non_null(keys->of);
  }
  assert_in_range(strlen(key), 1, sizeof(key_text) - 1);
  strcpy(keys->of[keys->count++], key);
}

static int by_text(const void *a, const void *b) { return strcmp(a, b); }
static int by_letter(const void *a, const void *b) { return *(const char *)a - *(const char *)b; }

static void sort_keys(struct keys *keys) {
  qsort(keys->of, keys->count, sizeof *keys->of, by_text);
}

static int has_key(const struct keys *sorted, const char *key) {
  return bsearch(key, sorted->of, sorted->count, sizeof *sorted->of, by_text) != NULL;
}

/* An adjective is followed by a noun. */
static const char *const adjectives[] = {"大きい", "小さい", "静かな", "若い",   "親切な", "白い",
                                         "黒い",   "赤い",   "古い",   "新しい", "高い"};

/* ---- Questions, read by particles and word order ---- */

enum { QUESTION_WORDS = 40 };

struct question {
  char text[2 * ATTN_EXAMPLE_SIZE], *word[QUESTION_WORDS];
  int words, asks; /* the index after the full stop */
};

static void read_question(const pair_t *pair, struct question *q) {
  q->words = 0, q->asks = 0;
  snprintf(q->text, sizeof q->text, "%s %s", pair->source, pair->prefix);
  for (char *at = strtok(q->text, " "); at; at = strtok(NULL, " ")) {
    assert_true(q->words < QUESTION_WORDS);
    q->word[q->words++] = at;
    if (!strcmp(at, ".") || !strcmp(at, "。")) q->asks = q->words;
  }
  assert_true(q->asks > 0 && q->asks < q->words);
}

static int index_of(const struct question *q, int from, const char *word) {
  for (int n = from; n < q->asks; n++)
    if (!strcmp(q->word[n], word)) return n;
  return -1;
}

static int time_of(const struct question *q) {
  static const char *const times[] = {"yesterday", "today", "recently", "earlier",
                                      "昨日",      "今日",  "最近",     "先程"};
  int found = -1;
  for (size_t n = 0; n < sizeof times / sizeof *times; n++)
    if (index_of(q, 0, times[n]) >= 0) found = index_of(q, 0, times[n]);
  return found;
}

/* The object: before を, or after "the" but not "at the". */
static int object_of(const struct question *q) {
  int particle = index_of(q, 0, "を"), the = index_of(q, 0, "the");
  if (particle > 0) return particle - 1;
  return !strcmp(q->word[the - 1], "at") ? index_of(q, the + 1, "the") + 1 : the + 1;
}

static int subject_of(const struct question *q) {
  int particle = index_of(q, 0, "は");
  return particle > 0 ? particle - 1 : index_of(q, 0, "my") + 1;
}

/* Which word of the sentence answers. */
static int answer_of(const struct question *q) {
  const char *asks = q->word[q->asks], *next = q->word[q->asks + 1];
  if (!strcmp(asks, "when") || !strcmp(asks, "いつ")) return time_of(q);
  if (!strcmp(asks, "where")) return index_of(q, 0, "at") + 2;
  if (!strcmp(asks, "どこ")) return index_of(q, 0, "で") - 1;
  if (!strcmp(asks, "what") || !strcmp(asks, "何")) return object_of(q);
  if (!strcmp(asks, "with")) return index_of(q, 0, "with") + 2;
  if (!strcmp(asks, "誰") && !strcmp(next, "と")) return index_of(q, 0, "と") - 1;
  return subject_of(q);
}

/* The verb follows the subject, or ends the Japanese sentence. */
static const char *verb_of(const struct question *q) {
  return q->word[!strcmp(q->word[q->asks - 1], "。") ? q->asks - 2 : subject_of(q) + 1];
}

static void test_questions(void **state) {
  (void)state;
  for (uint64_t n = 0; n < 20000; n++) {
    struct question q;
    pair_t pair;
    attn_task_make(task_named("questions"), 3, n, n % 2, &pair);
    read_question(&pair, &q);
    int answer = answer_of(&q);
    if (answer < 0 || strcmp(q.word[answer], pair.target) || pair.alignment[0] != answer)
      fail_msg("%s: %s, word %d", pair.source, pair.target, pair.alignment[0]);
  }
}

static void add_pairs(struct keys *keys, const char *source) {
  char words[ATTN_EXAMPLE_SIZE], key[2 * ATTN_EXAMPLE_SIZE], *word, *before = NULL;
  strcpy(words, source);
  for (word = strtok(words, " "); word; before = word, word = strtok(NULL, " "))
    for (size_t n = 0; before && n < sizeof adjectives / sizeof *adjectives; n++)
      if (!strcmp(before, adjectives[n]))
        snprintf(key, sizeof key, "%s %s", before, word), add_key(keys, key);
}

/* What all forms of one example have in common, computed independently of the generator. */
static void add_keys(struct keys *keys, const char *task, const pair_t *pair) {
  char key[ATTN_EXAMPLE_SIZE];
  strcpy(key, pair->target);
  if (!strcmp(task, "translation")) {
    add_pairs(keys, pair->source);
  } else if (!strcmp(task, "numerals")) {
    add_key(keys, strncmp(pair->source, "漢:", 4) ? pair->target : pair->source + 4);
  } else if (!strcmp(task, "questions")) {
    struct question q;
    read_question(pair, &q);
    const char *asks = q.word[q.asks], *next = q.word[q.asks + 1];
    snprintf(key, sizeof key, "%s %s %s %.9s%.3s", q.word[subject_of(&q)], q.word[object_of(&q)],
             verb_of(&q), asks, strcmp(asks, "誰") ? "" : next);
    add_key(keys, key);
  } else if (!strcmp(task, "addition")) {
    char a[16], b[16];
    assert_int_equal(sscanf(pair->source, "%15[0-9]+%15[0-9]", a, b), 2);
    snprintf(key, sizeof key, "%s+%s", strcmp(a, b) < 0 ? a : b, strcmp(a, b) < 0 ? b : a);
    add_key(keys, key);
  } else {
    if (strcmp(task, "dates")) qsort(key, strlen(key), 1, by_letter);
    add_key(keys, key);
  }
}

static struct keys keys_of(const char *name, int held_out) {
  struct keys keys = {0};
  for (uint64_t n = 0; n < (uint64_t)ROUNDS(150000); n++) {
    pair_t pair;
    attn_task_make(task_named(name), 11 + (uint64_t)held_out, n, held_out, &pair);
    add_keys(&keys, name, &pair);
  }
  sort_keys(&keys);
  return keys;
}

/* Every sample of a task shares its keys with many others of its side, so what were on both sides
 * would be found. A translation that is held out has some pairs of training's, too. */
static void check_split(const char *name, const struct keys *trained, const struct keys *held) {
  int again = 0, common = 0, is_translation = !strcmp(name, "translation");
  for (size_t n = 1; n < trained->count; n++) again += !strcmp(trained->of[n - 1], trained->of[n]);
  assert_true(again > (SANITIZED ? 60 : 1000)); /* a quarter of the samples: 1/16 of the pairs */
  for (size_t n = 0; n < held->count; n++)
    if (has_key(trained, held->of[n])) {
      common++;
      if (!is_translation) fail_msg("%s: %s is held out and trained on", name, held->of[n]);
    }
  assert_int_equal(common > 0, is_translation);
}

static void test_split(void **state) {
  (void)state;
  static const char *const tasks[] = {"dates", "numerals", "addition", "letters", "questions"};
  for (size_t t = 0; t < sizeof tasks / sizeof *tasks; t++) {
    struct keys trained = keys_of(tasks[t], 0), held = keys_of(tasks[t], 1);
    check_split(tasks[t], &trained, &held);
    free(trained.of), free(held.of);
  }
}

/* copy, reverse and sort hold out the same letters. */
static void test_letters_split(void **state) {
  (void)state;
  static const char *const tasks[] = {"copy", "reverse", "sort"};
  struct keys trained = keys_of("letters", 0);
  for (size_t t = 0; t < sizeof tasks / sizeof *tasks; t++) {
    struct keys held = keys_of(tasks[t], 1);
    check_split(tasks[t], &trained, &held);
    free(held.of);
  }
  free(trained.of);
}

/* Every sentence held out has a pair that no sentence of training has; a tenth of all is held out.
 */
static void test_translation_split(void **state) {
  (void)state;
  struct keys trained = keys_of("translation", 0), held_pairs = {0};
  check_split("translation", &trained, &(struct keys){trained.of, 1, 1});
  for (uint64_t n = 0; n < 50000; n++) {
    struct keys own = {0};
    pair_t pair;
    int news = 0;
    attn_task_make(task_named("translation"), 5, n, 1, &pair);
    add_pairs(&own, pair.source);
    for (size_t k = 0; k < own.count; k++)
      if (!has_key(&trained, own.of[k])) news++, add_key(&held_pairs, own.of[k]);
    if (!news) fail_msg("%s: all its pairs are trained on", pair.source);
    free(own.of);
  }
  int kinds[2] = {1, 1};
  sort_keys(&held_pairs);
  for (size_t n = 1; n < held_pairs.count; n++)
    kinds[1] += strcmp(held_pairs.of[n - 1], held_pairs.of[n]) != 0;
  for (size_t n = 1; n < trained.count; n++)
    kinds[0] += strcmp(trained.of[n - 1], trained.of[n]) != 0;
  assert_int_equal(kinds[0] + kinds[1], 4 * 5 + 6 * 6 + 13 * 8);
  assert_share(kinds[1], kinds[0] + kinds[1], 0.1);
  free(trained.of), free(held_pairs.of);
}

static void add_tokens(struct keys *keys, const struct attn_task *task, const char *text) {
  char token[32];
  while (next_token(task, &text, token)) add_key(keys, token);
}

static void test_training_has_every_token(void **state) {
  (void)state;
  for (int t = 0; t < TASKS; t++) {
    const struct attn_task *task = task_named(names[t]);
    struct keys tokens[2][2] = {{{0}}};
    for (uint64_t n = 0; n < (uint64_t)ROUNDS(40000); n++) {
      pair_t pair;
      attn_task_make(task, 2, n, n % 2, &pair);
      add_tokens(&tokens[n % 2][0], task, pair.source);
      add_tokens(&tokens[n % 2][1], task, pair.target);
    }
    for (int side = 0; side < 2; side++) {
      sort_keys(&tokens[0][side]);
      for (size_t n = 0; n < tokens[1][side].count; n++)
        if (!has_key(&tokens[0][side], tokens[1][side].of[n]))
          fail_msg("%s: %s is never trained on", names[t], tokens[1][side].of[n]);
      free(tokens[0][side].of), free(tokens[1][side].of);
    }
  }
}

/* ---- Numerals ---- */

/* From the last digit to the first, each before its unit. */
static void kanji_of(const char *digits, char *to) {
  static const char *const names_of[] = {"〇", "一", "二", "三", "四",
                                         "五", "六", "七", "八", "九"};
  static const char *const small[] = {"", "十", "百", "千"}, *const large[] = {"", "万", "億"};
  char later[ATTN_EXAMPLE_SIZE];
  size_t length = strlen(digits);
  int large_is_due = 0;
  strcpy(to, "");
  for (size_t place = 0; place < length; place++) {
    int digit = digits[length - 1 - place] - '0';
    if (place % 4 == 0) large_is_due = 1;
    if (!digit) continue;
    const char *said = names_of[digit];
    if (digit == 1 && (place % 4 == 1 || place % 4 == 2 || place == 3)) said = "";
    strcpy(later, to);
    snprintf(to, ATTN_EXAMPLE_SIZE, "%s%s%s%.200s", said, small[place % 4],
             large_is_due ? large[place / 4] : "", later);
    large_is_due = 0;
  }
  if (!*to) strcpy(to, "〇");
}

/* The value of a numeral, in any convention. */
static unsigned long long value_of(const char *kanji) {
  static const char *const ones = "〇一二三四五六七八九";
  unsigned long long total = 0, four = 0, digit = 0;
  for (; *kanji; kanji += 3) {
    char c[4] = {kanji[0], kanji[1], kanji[2], 0};
    const char *one = strstr(ones, c);
    unsigned long long small = !strcmp(c, "十")   ? 10
                               : !strcmp(c, "百") ? 100
                               : !strcmp(c, "千") ? 1000
                                                  : 0;
    if (one)
      digit = (unsigned long long)(one - ones) / 3;
    else if (small)
      four += (digit ? digit : 1) * small, digit = 0;
    else
      total += (four + digit) * (!strcmp(c, "億") ? 100000000ull : 10000ull), four = digit = 0;
  }
  return total + four + digit;
}

static void test_numeral_convention(void **state) {
  (void)state;
  static const char *const table[][2] = {
      {"0", "〇"},
      {"1", "一"},
      {"10", "十"},
      {"11", "十一"},
      {"20", "二十"},
      {"100", "百"},
      {"110", "百十"},
      {"1000", "千"},
      {"1001", "千一"},
      {"2024", "二千二十四"},
      {"10000", "一万"},
      {"11111", "一万千百十一"},
      {"100000", "十万"},
      {"1000000", "百万"},
      {"10000000", "一千万"},
      {"12345678", "一千二百三十四万五千六百七十八"},
      {"100000000", "一億"},
      {"100010001", "一億一万一"},
      {"100000000000", "一千億"},
      {"999999999999", "九千九百九十九億九千九百九十九万九千九百九十九"},
  };
  for (size_t n = 0; n < sizeof table / sizeof *table; n++) {
    char kanji[ATTN_EXAMPLE_SIZE];
    kanji_of(table[n][0], kanji);
    assert_string_equal(kanji, table[n][1]);
    assert_true(value_of(kanji) == strtoull(table[n][0], NULL, 10));
  }
}

static void test_numerals(void **state) {
  (void)state;
  enum { MANY = 200000 };
  int to_kanji = 0, lengths[13] = {0}, with_end = 0, zero_at_end = 0;
  for (int n = 0; n < MANY; n++) {
    pair_t pair;
    char expected[ATTN_EXAMPLE_SIZE];
    attn_task_make(attn_task_find("numerals"), 1, (uint64_t)n, n % 10 == 0, &pair);
    int is_to_kanji = !strncmp(pair.source, "漢:", 4);
    assert_true(is_to_kanji || !strncmp(pair.source, "数:", 4));
    const char *digits = is_to_kanji ? pair.source + 4 : pair.target;
    const char *kanji = is_to_kanji ? pair.target : pair.source + 4;
    kanji_of(digits, expected);
    assert_string_equal(kanji, expected);
    assert_int_equal(strspn(digits, "0123456789"), strlen(digits));
    assert_true(digits[0] != '0' || !digits[1]);
    assert_true(value_of(kanji) == strtoull(digits, NULL, 10));
    to_kanji += is_to_kanji;
    assert_in_range(strlen(digits), 1, 12);
    lengths[strlen(digits)]++;
    if (strlen(digits) > 4) with_end++, zero_at_end += digits[strlen(digits) - 1] == '0';
  }
  assert_share(to_kanji, MANY, 0.5);
  for (int length = 2; length <= 12; length++) assert_in_range(lengths[length], 1, MANY);
  for (int length = 4; length <= 12; length++) assert_share(lengths[length], MANY, 1. / 12);
  assert_share(zero_at_end, with_end, 0.5 * 0.1 + 0.5 * (1. / 3 + 2. / 3 * 0.1));
}

/* ---- Addition ---- */

static void test_addition(void **state) {
  (void)state;
  enum { MANY = 200000 };
  int lengths[2][9] = {{0}}, zeros = 0;
  for (int n = 0; n < MANY; n++) {
    pair_t pair;
    char *plus, *end, sum[32], backwards[32] = {0};
    attn_task_make(attn_task_find("addition"), 1, (uint64_t)n, n % 10 == 0, &pair);
    long long a = strtoll(pair.source, &plus, 10);
    assert_int_equal(*plus, '+');
    long long b = strtoll(plus + 1, &end, 10);
    assert_int_equal(*end, 0);
    assert_true((pair.source[0] != '0' || a == 0) && (plus[1] != '0' || b == 0));
    int count = snprintf(sum, sizeof sum, "%lld", a + b);
    for (int digit = 0; digit < count; digit++) backwards[digit] = sum[count - 1 - digit];
    assert_string_equal(pair.target, backwards);
    assert_in_range(plus - pair.source, 1, 8);
    assert_in_range(end - plus - 1, 1, 8);
    zeros += a == 0 || b == 0;
    lengths[0][plus - pair.source]++, lengths[1][end - plus - 1]++;
  }
  assert_true(zeros > 0);
  for (int side = 0; side < 2; side++)
    for (int length = 1; length <= 8; length++) assert_in_range(lengths[side][length], 1, MANY);
  for (int length = 4; length <= 8; length++) assert_share(lengths[0][length], MANY, 0.125);
}

/* ---- Letters ---- */

static void check_letters(const pair_t *pair) {
  char expected[ATTN_EXAMPLE_SIZE] = {0}, used[ATTN_EXAMPLE_SIZE] = {0};
  const char mark = pair->source[0], *letters = pair->source + 1;
  size_t count = strlen(letters);
  strcpy(expected, letters);
  if (mark == '<')
    for (size_t n = 0; n < count; n++) expected[count - 1 - n] = letters[n];
  else if (mark == '^')
    qsort(expected, count, 1, by_letter);
  else
    assert_int_equal(mark, '=');
  assert_string_equal(pair->target, expected);
  assert_in_range(count, 4, 16);
  assert_int_equal(strspn(letters, "abcdefghijklmnopqrstuvwxyz"), count);
  assert_int_equal(pair->aligned_tokens, count);
  for (int n = 0; n < pair->aligned_tokens; n++) {
    assert_in_range(pair->alignment[n], 1, count);
    assert_int_equal(used[pair->alignment[n]]++, 0);
    assert_int_equal(pair->source[pair->alignment[n]], pair->target[n]);
    if (mark != '^') assert_int_equal(pair->alignment[n], mark == '=' ? n + 1 : (int)count - n);
    if (mark == '^' && n && pair->target[n] == pair->target[n - 1])
      assert_true(pair->alignment[n] > pair->alignment[n - 1]);
  }
}

static void test_letters(void **state) {
  (void)state;
  static const char *const tasks[] = {"letters", "copy", "reverse", "sort"}, *marks = "=<^";
  enum { MANY = 50000 };
  for (int t = 0; t < 4; t++) {
    int of_mark[3] = {0}, of_length[17] = {0};
    for (int n = 0; n < MANY; n++) {
      pair_t pair;
      attn_task_make(task_named(tasks[t]), 1, (uint64_t)n, n % 10 == 0, &pair);
      check_letters(&pair);
      of_mark[strchr(marks, pair.source[0]) - marks]++;
      of_length[strlen(pair.target)]++;
    }
    for (int mark = 0; mark < 3; mark++)
      if (t)
        assert_int_equal(of_mark[mark], mark == t - 1 ? MANY : 0);
      else
        assert_share(of_mark[mark], MANY, 1. / 3);
    for (int length = 4; length <= 16; length++) assert_share(of_length[length], MANY, 1. / 13);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_unknown_names),
      cmocka_unit_test(test_examples_depend_on_seed_and_number),
      cmocka_unit_test(test_sizes_and_utf8),
      cmocka_unit_test(test_held_out_share),
      cmocka_unit_test(test_split),
      cmocka_unit_test(test_letters_split),
      cmocka_unit_test(test_translation_split),
      cmocka_unit_test(test_training_has_every_token),
      cmocka_unit_test(test_numeral_convention),
      cmocka_unit_test(test_numerals),
      cmocka_unit_test(test_addition),
      cmocka_unit_test(test_letters),
      cmocka_unit_test(test_questions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
