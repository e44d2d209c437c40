/* A sentence and a question about it, in Japanese or English, split into words, to the one word of
 * the answer: 私 は 昨日 友達 と 公園 で 花火 を 見た 。 and 誰 と 見た の ？ to 友達. The decoder
 * reads the question, so its queries come from the question, keys and values from the sentence. The
 * same people may be subject or companion, so the answer depends on particles and word order. One
 * combination in ten of subject, object, verb and question is held out. The alignment is known. */
#include <stdio.h>
#include <string.h>

#include "task.h"

enum { ENGLISH, JAPANESE, LANGUAGES };

/* Roles of a sentence. */
enum role { WHO, WHEN, COMPANION, WHERE, WHAT, ROLES };

typedef const char *word_pair[LANGUAGES];

static const word_pair people[] = {
    {"mother", "母"},    {"father", "父"},   {"sister", "妹"},     {"brother", "弟"},
    {"teacher", "先生"}, {"friend", "友達"}, {"neighbor", "隣人"}, {"doctor", "医者"},
};
static const word_pair times[] = {
    {"yesterday", "昨日"},
    {"today", "今日"},
    {"recently", "最近"},
    {"earlier", "先程"},
};
static const word_pair places[] = {
    {"park", "公園"}, {"station", "駅"}, {"school", "学校"}, {"house", "家"}, {"market", "市場"},
};

enum { OBJECTS = 4 };

static const struct verb_frame {
  word_pair past;
  const char *base; /* English */
  word_pair objects[OBJECTS];
} verbs[] = {
    {{"saw", "見た"},
     "see",
     {{"film", "映画"}, {"picture", "絵"}, {"bird", "鳥"}, {"dance", "踊り"}}},
    {{"read", "読んだ"},
     "read",
     {{"book", "本"}, {"letter", "手紙"}, {"newspaper", "新聞"}, {"poem", "詩"}}},
    {{"ate", "食べた"},
     "eat",
     {{"fish", "魚"}, {"apple", "林檎"}, {"potato", "芋"}, {"bread", "パン"}}},
    {{"bought", "買った"},
     "buy",
     {{"book", "本"}, {"umbrella", "傘"}, {"fish", "魚"}, {"flower", "花"}}},
    {{"drew", "描いた"},
     "draw",
     {{"picture", "絵"}, {"flower", "花"}, {"bird", "鳥"}, {"map", "地図"}}},
};

#define COUNT(words) ((uint32_t)(sizeof(words) / sizeof *(words)))

/* ---- Facts ---- */

struct fact {
  int language;
  const struct verb_frame *verb;
  const char *word[ROLES]; /* NULL: absent */
  int at[ROLES];           /* index of the word in the sentence */
  enum role asked;
};

static struct fact draw_fact(struct attn_random_stream *random) {
  struct fact f = {.language = (int)attn_random_below(random, LANGUAGES),
                   .verb = &verbs[attn_random_below(random, COUNT(verbs))]};
  uint32_t who = attn_random_below(random, COUNT(people));
  uint32_t whom = (who + 1 + attn_random_below(random, COUNT(people) - 1)) % COUNT(people);
  f.word[WHO] = people[who][f.language];
  f.word[WHAT] = f.verb->objects[attn_random_below(random, OBJECTS)][f.language];
  if (attn_random_below(random, 4)) f.word[COMPANION] = people[whom][f.language];
  if (attn_random_below(random, 4))
    f.word[WHEN] = times[attn_random_below(random, COUNT(times))][f.language];
  if (attn_random_below(random, 4))
    f.word[WHERE] = places[attn_random_below(random, COUNT(places))][f.language];
  do f.asked = (enum role)attn_random_below(random, ROLES);
  while (!f.word[f.asked]);
  return f;
}

static int is_held_out(const struct fact *f) {
  char key[96];
  snprintf(key, sizeof key, "%s %s %s %d", f->word[WHO], f->word[WHAT], f->verb->past[f->language],
           (int)f->asked);
  return attn_task_is_held_out(key);
}

/* ---- Text ---- */

struct question_writer {
  char *text;
  int words;
};

static int put(struct question_writer *w, const char *words) {
  return attn_add_words(w->text, &w->words, words);
}

/* "the park" or 公園: puts a role's word between two fixed parts. */
static void put_role(struct question_writer *w, struct fact *f, enum role role, const char *before,
                     const char *after) {
  if (!f->word[role]) return;
  if (before) put(w, before);
  f->at[role] = put(w, f->word[role]);
  if (after) put(w, after);
}

/* Subject, then time, companion and place in any order, object, verb. */
static void write_japanese(struct question_writer *w, struct question_writer *question,
                           struct fact *f, struct attn_random_stream *random) {
  static const char *const after[ROLES] = {"は", NULL, "と", "で", "を"};
  static const enum role orders[][3] = {{WHEN, COMPANION, WHERE},
                                        {WHEN, WHERE, COMPANION},
                                        {COMPANION, WHEN, WHERE},
                                        {WHERE, WHEN, COMPANION}};
  static const char *const questions[ROLES] = {"誰 が", "いつ", "誰 と", "どこ で", "何 を"};
  const enum role *order = orders[attn_random_below(random, COUNT(orders))];
  put_role(w, f, WHO, NULL, after[WHO]);
  for (int n = 0; n < 3; n++) put_role(w, f, order[n], NULL, after[order[n]]);
  put_role(w, f, WHAT, NULL, after[WHAT]);
  put(w, f->verb->past[JAPANESE]), put(w, "。");
  put(question, questions[f->asked]), put(question, f->verb->past[JAPANESE]);
  put(question, "の ？");
}

/* The time first or last; companion and place in either order. */
static void write_english(struct question_writer *w, struct question_writer *question,
                          struct fact *f, struct attn_random_stream *random) {
  static const char *const before[ROLES] = {"my", NULL, "with my", "at the", "the"};
  static const char *const questions[ROLES] = {"who", "when did my", "with whom did my",
                                               "where did my", "what did my"};
  int time_is_first = (int)attn_random_below(random, 2),
      place_is_first = (int)attn_random_below(random, 2);
  if (time_is_first) put_role(w, f, WHEN, NULL, NULL);
  put_role(w, f, WHO, before[WHO], NULL);
  put(w, f->verb->past[ENGLISH]);
  put_role(w, f, WHAT, before[WHAT], NULL);
  if (place_is_first) put_role(w, f, WHERE, before[WHERE], NULL);
  put_role(w, f, COMPANION, before[COMPANION], NULL);
  if (!place_is_first) put_role(w, f, WHERE, before[WHERE], NULL);
  if (!time_is_first) put_role(w, f, WHEN, NULL, NULL);
  put(w, "."), put(question, questions[f->asked]);
  if (f->asked != WHO) put(question, f->word[WHO]);
  put(question, f->asked == WHO ? f->verb->past[ENGLISH] : f->verb->base);
  if (f->asked != WHAT) put(question, "the"), put(question, f->word[WHAT]);
  put(question, "?");
}

void attn_task_questions(const struct attn_task *task, struct attn_random_stream *random,
                         int validation, struct attn_aligned_pair *pair) {
  struct question_writer sentence = {.text = pair->source}, question = {.text = pair->prefix};
  struct fact f;
  (void)task;
  do f = draw_fact(random);
  while (is_held_out(&f) != (validation != 0));
  pair->source[0] = pair->prefix[0] = 0;
  (f.language == JAPANESE ? write_japanese : write_english)(&sentence, &question, &f, random);
  snprintf(pair->target, sizeof pair->target, "%s", f.word[f.asked]);
  pair->alignment[0] = (int16_t)f.at[f.asked], pair->aligned_tokens = 1;
}
