/* exercise_questions.c -- sentences, and questions that one of their words answers. */
#include <string.h>

#include "exercise.h"

struct asked_sentence {
  const char *text, *tokens;
  struct {
    const char *label, *text;
    int32_t word; /* index of the token that answers */
  } question[ATTN_EXERCISE_FEATURES];
};

enum { SENTENCES = 3 };

static const struct asked_sentence sentences[][SENTENCES] = {
    [ATTN_LANGUAGE_ENGLISH] = {{"Yesterday Mia met Ken downtown",
                                "Yesterday Mia met Ken downtown",
                                {{"who", "Who did Mia meet?", 3},
                                 {"when", "When did Mia meet Ken?", 0},
                                 {"where", "Where did Mia meet Ken?", 4}}},
                               {"Today Ann teaches Ben math",
                                "Today Ann teaches Ben math",
                                {{"who", "Who does Ann teach?", 3},
                                 {"when", "When does Ann teach Ben?", 0},
                                 {"what", "What does Ann teach Ben?", 4}}},
                               {"Tom drinks tea upstairs tonight",
                                "Tom drinks tea upstairs tonight",
                                {{"what", "What does Tom drink?", 2},
                                 {"where", "Where does Tom drink tea?", 3},
                                 {"when", "When does Tom drink tea?", 4}}}},
    [ATTN_LANGUAGE_JAPANESE] =
        {{"私は昨日、友達と映画に行った",
          "私は 昨日 友達と 映画に 行った",
          {{"誰", "誰と行ったの？", 2},
           {"いつ", "いつ行ったの？", 1},
           {"何", "何に行ったの？", 3}}},
         {"母は今朝、駅で父を待った",
          "母は 今朝 駅で 父を 待った",
          {{"誰", "誰を待ったの？", 3},
           {"いつ", "いつ待ったの？", 1},
           {"どこ", "どこで待ったの？", 2}}},
         {"姉は夜、部屋で本を読む",
          "姉は 夜 部屋で 本を 読む",
          {{"何", "何を読むの？", 3}, {"いつ", "いつ読むの？", 1}, {"どこ", "どこで読むの？", 2}}}},
};

void attn_exercise_ask(int32_t language, uint64_t *state, const char **tokens,
                       struct attn_exercise_question *question) {
  const struct asked_sentence *s = &sentences[language][attn_exercise_random(state, SENTENCES)];
  int32_t asked = (int32_t)attn_exercise_random(state, ATTN_EXERCISE_FEATURES);
  *tokens = s->tokens;
  question->sentence = s->text;
  question->text = s->question[asked].text;
  question->labels.count = ATTN_EXERCISE_FEATURES;
  for (int32_t f = 0; f < ATTN_EXERCISE_FEATURES; f++) {
    int32_t n = (asked + f) % ATTN_EXERCISE_FEATURES;
    const char *label = s->question[n].label;
    question->labels.at[f] = (struct attn_exercise_token){label, strlen(label)};
    question->word[f] = s->question[n].word;
  }
}
