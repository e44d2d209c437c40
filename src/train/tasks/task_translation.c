/* Short Japanese sentences, split into words, to English: 三 匹 の 黒い 猫 は 昨日 公園 で 魚 を
 * 食べた to three black cats ate the fish in the park yesterday. A counted noun takes its counter
 * and の; 一 is a or an; a noun without a number is definite ("the"). A verb agrees with its
 * subject and the time. One pair of adjective and noun in ten is held out: no training sentence
 * contains one, every validation sentence does. The alignment is known; "the" is aligned to no
 * word. */
#include <stdio.h>
#include <string.h>

#include "task.h"

/* ---- Vocabulary ---- */

enum {
  PERSON = 1,
  ANIMAL = 2,
  BOOK = 4,
  FOOD = 8,
  OTHER = 16,
  ALIVE = PERSON | ANIMAL,
  THING = BOOK | FOOD | OTHER,
  ALL = ALIVE | THING
};
enum { PRESENT = 1, PAST = 2 };

static const struct noun {
  const char *japanese, *counter, *one, *many;
  int kind;
} nouns[] = {
    {"子供", "人", "child", "children", PERSON},
    {"女性", "人", "woman", "women", PERSON},
    {"先生", "人", "teacher", "teachers", PERSON},
    {"学生", "人", "student", "students", PERSON},
    {"猫", "匹", "cat", "cats", ANIMAL},
    {"犬", "匹", "dog", "dogs", ANIMAL},
    {"鼠", "匹", "mouse", "mice", ANIMAL},
    {"羊", "匹", "sheep", "sheep", ANIMAL},
    {"狼", "匹", "wolf", "wolves", ANIMAL},
    {"鳥", "羽", "bird", "birds", ANIMAL},
    {"本", "冊", "book", "books", BOOK},
    {"辞書", "冊", "dictionary", "dictionaries", BOOK},
    {"魚", "匹", "fish", "fish", FOOD},
    {"林檎", "個", "apple", "apples", FOOD},
    {"芋", "個", "potato", "potatoes", FOOD},
    {"箱", "個", "box", "boxes", OTHER},
    {"車", "台", "car", "cars", OTHER},
    {"自転車", "台", "bicycle", "bicycles", OTHER},
    {"皿", "枚", "plate", "plates", OTHER},
    {"切手", "枚", "stamp", "stamps", OTHER},
    {"葉", "枚", "leaf", "leaves", OTHER},
    {"ナイフ", "本", "knife", "knives", OTHER},
    {"傘", "本", "umbrella", "umbrellas", OTHER},
};

static const struct adjective {
  const char *japanese, *english;
  int kinds;
} adjectives[] = {
    {"大きい", "big", ALL},
    {"小さい", "small", ALL},
    {"静かな", "quiet", ALIVE},
    {"若い", "young", ALIVE},
    {"親切な", "kind", PERSON},
    {"白い", "white", ANIMAL | THING},
    {"黒い", "black", ANIMAL | THING},
    {"赤い", "red", THING},
    {"古い", "old", THING},
    {"新しい", "new", THING},
    {"高い", "expensive", THING},
};

static const struct verb {
  const char *japanese, *japanese_past, *base, *third, *past;
  int subjects, objects; /* kinds; no objects: intransitive */
} verbs[] = {
    {"食べる", "食べた", "eat", "eats", "ate", ALIVE, FOOD},
    {"読む", "読んだ", "read", "reads", "read", PERSON, BOOK},
    {"買う", "買った", "buy", "buys", "bought", PERSON, THING},
    {"洗う", "洗った", "wash", "washes", "washed", PERSON, ANIMAL | FOOD | OTHER},
    {"描く", "描いた", "draw", "draws", "drew", PERSON, ALL},
    {"見る", "見た", "see", "sees", "saw", ALIVE, ALL},
    {"見つける", "見つけた", "find", "finds", "found", ALIVE, ALL},
    {"運ぶ", "運んだ", "carry", "carries", "carried", ALIVE, THING},
    {"追う", "追った", "chase", "chases", "chased", ANIMAL, ALIVE},
    {"走る", "走った", "run", "runs", "ran", ALIVE, 0},
    {"眠る", "眠った", "sleep", "sleeps", "slept", ALIVE, 0},
};

static const struct location {
  const char *japanese, *preposition, *english;
} places[] = {
    {"公園", "in", "park"},  {"庭", "in", "garden"},   {"台所", "in", "kitchen"},
    {"駅", "at", "station"}, {"学校", "at", "school"}, {"川", "by", "river"},
};

static const struct time_phrase {
  const char *japanese, *english[2];
  int tenses;
} times[] = {
    {"毎日", {"every", "day"}, PRESENT},       {"毎朝", {"every", "morning"}, PRESENT},
    {"昨日", {"yesterday", NULL}, PAST},       {"今朝", {"this", "morning"}, PAST},
    {"今日", {"today", NULL}, PRESENT | PAST},
};

static const char *const numbers[][2] = {{"", ""},        {"一", "a"},    {"二", "two"},
                                         {"三", "three"}, {"四", "four"}, {"五", "five"},
                                         {"六", "six"}};

#define COUNT(words) ((uint32_t)(sizeof(words) / sizeof *(words)))

/* ---- Sentences ---- */

/* at: the index of each word in the Japanese sentence. */
struct noun_phrase {
  const struct noun *noun;
  const struct adjective *adjective; /* or NULL */
  uint32_t number;                   /* 0: definite */
  struct {
    int number, adjective, noun;
  } at;
};

struct sentence {
  const struct verb *verb;
  struct noun_phrase subject, object;
  const struct location *place;   /* or NULL */
  const struct time_phrase *time; /* or NULL */
  int tense, time_is_first;
  struct {
    int verb, place, particle, time;
  } at;
};

static struct noun_phrase draw_phrase(struct attn_random_stream *random, int kinds) {
  struct noun_phrase phrase = {0};
  do phrase.noun = &nouns[attn_random_below(random, COUNT(nouns))];
  while (!(phrase.noun->kind & kinds));
  if (attn_random_below(random, 3)) do
      phrase.adjective = &adjectives[attn_random_below(random, COUNT(adjectives))];
    while (!(phrase.adjective->kinds & phrase.noun->kind));
  if (attn_random_below(random, 3))
    phrase.number = 1 + attn_random_below(random, COUNT(numbers) - 1);
  return phrase;
}

static struct sentence draw_sentence(struct attn_random_stream *random) {
  struct sentence s = {.verb = &verbs[attn_random_below(random, COUNT(verbs))]};
  s.tense = attn_random_below(random, 2) ? PAST : PRESENT;
  s.subject = draw_phrase(random, s.verb->subjects);
  if (s.verb->objects) s.object = draw_phrase(random, s.verb->objects);
  if (attn_random_below(random, 2)) s.place = &places[attn_random_below(random, COUNT(places))];
  if (attn_random_below(random, 2)) do
      s.time = &times[attn_random_below(random, COUNT(times))];
    while (!(s.time->tenses & s.tense));
  s.time_is_first = (int)attn_random_below(random, 2);
  return s;
}

static int has_held_out_pair(const struct noun_phrase *phrase) {
  char key[64];
  if (!phrase->adjective) return 0;
  snprintf(key, sizeof key, "%s %s", phrase->adjective->japanese, phrase->noun->japanese);
  return attn_task_is_held_out(key);
}

/* ---- Japanese ---- */

static void add_japanese_phrase(char *text, int *words, struct noun_phrase *phrase,
                                const char *particle) {
  if (phrase->number) {
    phrase->at.number = attn_add_words(text, words, numbers[phrase->number][0]);
    attn_add_words(text, words, phrase->noun->counter);
    attn_add_words(text, words, "の");
  }
  if (phrase->adjective)
    phrase->at.adjective = attn_add_words(text, words, phrase->adjective->japanese);
  phrase->at.noun = attn_add_words(text, words, phrase->noun->japanese);
  attn_add_words(text, words, particle);
}

static void write_japanese(struct sentence *s, char *text) {
  int words = 0;
  text[0] = 0;
  if (s->time && s->time_is_first) s->at.time = attn_add_words(text, &words, s->time->japanese);
  add_japanese_phrase(text, &words, &s->subject, "は");
  if (s->time && !s->time_is_first) s->at.time = attn_add_words(text, &words, s->time->japanese);
  if (s->place) {
    s->at.place = attn_add_words(text, &words, s->place->japanese);
    s->at.particle = attn_add_words(text, &words, "で");
  }
  if (s->object.noun) add_japanese_phrase(text, &words, &s->object, "を");
  s->at.verb =
      attn_add_words(text, &words, s->tense == PAST ? s->verb->japanese_past : s->verb->japanese);
}

/* ---- English ---- */

static void align(struct attn_aligned_pair *pair, const char *word, int from) {
  int n = attn_add_words(pair->target, &pair->aligned_tokens, word);
  pair->alignment[n] = (int16_t)from;
}

static const char *article_before(const char *word) {
  return strchr("aeiou", word[0]) ? "an" : "a";
}

static void add_english_phrase(struct attn_aligned_pair *pair, const struct noun_phrase *phrase) {
  const char *noun = phrase->number > 1 ? phrase->noun->many : phrase->noun->one;
  const char *next = phrase->adjective ? phrase->adjective->english : noun;
  if (!phrase->number)
    align(pair, "the", -1);
  else
    align(pair, phrase->number == 1 ? article_before(next) : numbers[phrase->number][1],
          phrase->at.number);
  if (phrase->adjective) align(pair, phrase->adjective->english, phrase->at.adjective);
  align(pair, noun, phrase->at.noun);
}

static const char *conjugated(const struct sentence *s) {
  if (s->tense == PAST) return s->verb->past;
  return s->subject.number > 1 ? s->verb->base : s->verb->third;
}

static void write_english(const struct sentence *s, struct attn_aligned_pair *pair) {
  pair->target[0] = 0;
  add_english_phrase(pair, &s->subject);
  align(pair, conjugated(s), s->at.verb);
  if (s->object.noun) add_english_phrase(pair, &s->object);
  if (s->place) {
    align(pair, s->place->preposition, s->at.particle);
    align(pair, "the", -1);
    align(pair, s->place->english, s->at.place);
  }
  for (int n = 0; s->time && n < 2 && s->time->english[n]; n++)
    align(pair, s->time->english[n], s->at.time);
}

/* ---- The task ---- */

void attn_task_translation(const struct attn_task *task, struct attn_random_stream *random,
                           int validation, struct attn_aligned_pair *pair) {
  struct sentence s;
  (void)task;
  do s = draw_sentence(random);
  while ((has_held_out_pair(&s.subject) || has_held_out_pair(&s.object)) != validation);
  write_japanese(&s, pair->source);
  write_english(&s, pair);
}
