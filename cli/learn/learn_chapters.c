/* learn_chapters.c -- the table of the course. Its texts are in chapters/ and questions/. */
#include <stdio.h>
#include <string.h>

#include "learn.h"
#include "learn_files.h"

#define SHEET(kind_, level_, first, last)                    \
  {                                                          \
    LEARN_SHEET,                                             \
        {.struct_size = sizeof(attn_lesson_template_config), \
         .kind = ATTN_TEMPLATE_##kind_,                      \
         .level = level_,                                    \
         .first_step = ATTN_STEP_##first,                    \
         .last_step = ATTN_STEP_##last},                     \
    {                                                        \
      NULL, NULL                                             \
    }                                                        \
  }
#define QUESTION(question, name)                                               \
  {                                                                            \
    question, ATTN_LESSON_TEMPLATE_CONFIG_INIT, { name##_en_md, name##_ja_md } \
  }
#define TEXT(name) \
#name, { name##_en_md, name##_ja_md }

/* clang-format off */
const struct attn_cli_learn_chapter attn_cli_learn_chapters[] = {
    {TEXT(value), {SHEET(QUESTION, 1, OUTPUT, OUTPUT), SHEET(QUESTION, 2, OUTPUT, OUTPUT)}},
    {TEXT(dot), {SHEET(QUESTION, 1, SCORES, SCORES), SHEET(SELF, 2, SCORES, SCORES)}},
    {TEXT(softmax), {SHEET(QUESTION, 1, WEIGHTS, WEIGHTS), SHEET(SELF, 2, WEIGHTS, WEIGHTS)}},
    {TEXT(qkv), {SHEET(SELF, 1, Q, V), SHEET(SELF, 2, SCORES, OUTPUT)}},
    {TEXT(scaling), {SHEET(SCALING, 1, Q, WEIGHTS), SHEET(SCALING, 2, SCALED, WEIGHTS)}},
    {TEXT(mask), {SHEET(CAUSAL, 1, MASKED, WEIGHTS), SHEET(CAUSAL, 2, SCORES, OUTPUT)}},
    {TEXT(heads), {SHEET(HEADS, 1, CONCAT, PROJECTED), SHEET(HEADS, 2, WEIGHTS, PROJECTED)}},
    {TEXT(positions), {SHEET(POSITIONS, 1, POSITIONS, POSITIONS), SHEET(POSITIONS, 2, POSITIONS, POSITIONS)}},
    {TEXT(cross), {SHEET(CROSS, 1, SCORES, OUTPUT), SHEET(COLUMNS, 1, SCORES, OUTPUT)}},
    {TEXT(transformer), {QUESTION(LEARN_CROSS_WEIGHTS, cross_weights), QUESTION(LEARN_CAUSAL_WEIGHTS, causal_weights)}},
    {TEXT(dates), {QUESTION(LEARN_PARAMETERS, parameters), QUESTION(LEARN_TRANSLATION, translation)}},
    {TEXT(inside), {QUESTION(LEARN_WEIGHT, weight), QUESTION(LEARN_STRONGEST, strongest)}},
};
/* clang-format on */
const int attn_cli_learn_chapter_count =
    sizeof attn_cli_learn_chapters / sizeof *attn_cli_learn_chapters;

void attn_cli_learn_title(const struct attn_cli_learn_chapter *chapter, int32_t language,
                          char title[128]) {
  const char *text = chapter->text[language == ATTN_LANGUAGE_JAPANESE] + 2;
  snprintf(title, 128, "%.*s", (int)strcspn(text, "\n"), text);
}

const char *attn_cli_learn_example(const struct attn_cli_learn_chapter *chapter, int32_t language) {
  const char *text = chapter->text[language == ATTN_LANGUAGE_JAPANESE];
  const char *heading = strstr(text, "\n## ");
  return heading ? heading + 1 : text + strlen(text);
}

const struct attn_cli_learn_exercise *attn_cli_learn_exercise_of(
    const struct attn_cli_learn_task *task) {
  return &attn_cli_learn_chapters[task->chapter - 1].exercise[task->exercise - 1];
}
