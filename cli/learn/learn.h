/* learn.h -- attn learn: chapters, their exercises, and the learner's progress. */
#ifndef ATTN_CLI_LEARN_H
#define ATTN_CLI_LEARN_H

#include "learn_text.h"
#include "picture_files.h"

/* ---- The course ---- */

enum { LEARN_EXERCISES = 2 };

/* What the answer of a question is computed from. */
enum attn_cli_learn_question {
  LEARN_SHEET,          /* not a question: an exercise of attn_lesson_template */
  LEARN_CROSS_WEIGHTS,  /* how many weights of cross-attention */
  LEARN_CAUSAL_WEIGHTS, /* how many visible weights under a causal mask */
  LEARN_PARAMETERS,     /* of the learner's model */
  LEARN_TRANSLATION,    /* what the learner's model generates */
  LEARN_WEIGHT,         /* one attention weight of it */
  LEARN_STRONGEST       /* the key with the largest weight */
};

struct attn_cli_learn_exercise {
  enum attn_cli_learn_question question;
  attn_lesson_template_config sheet; /* of LEARN_SHEET; without its seed */
  const char *text[2];               /* of a question, per language */
};

struct attn_cli_learn_chapter {
  const char *name;    /* of its page: "softmax" */
  const char *text[2]; /* Markdown, per language; begins with "# " and the title */
  struct attn_cli_learn_exercise exercise[LEARN_EXERCISES];
};

extern const struct attn_cli_learn_chapter attn_cli_learn_chapters[];
extern const int attn_cli_learn_chapter_count;

/* The title: the first line of the text, without "# ". */
void attn_cli_learn_title(const struct attn_cli_learn_chapter *chapter, int32_t language,
                          char title[128]);

/* The heading over the worked example of a chapter, or the end of its text. */
const char *attn_cli_learn_example(const struct attn_cli_learn_chapter *chapter, int32_t language);

/* ---- One exercise ---- */

/* Which exercise a file is, by its first line: <!-- attn learn 3.1, seed 7, en --> */
struct attn_cli_learn_task {
  int chapter, exercise; /* from 1 */
  uint64_t seed;
  int32_t language;
};

const struct attn_cli_learn_exercise *attn_cli_learn_exercise_of(
    const struct attn_cli_learn_task *task);

/* Writes the file of an exercise, with its first line. */
attn_status attn_cli_learn_write(const struct attn_cli_learn_task *task, const attn_sink *sink,
                                 attn_error *err);

/* Finds the first line of an exercise in a text. */
attn_status attn_cli_learn_identify(const char *text, struct attn_cli_learn_task *task,
                                    attn_error *err);

/* The state of an exercise that was checked. */
struct attn_cli_learn_result {
  int open;      /* values that are not filled in */
  int coarse;    /* values with too few decimals */
  int wrong;     /* values that are wrong */
  int64_t place; /* where the hint is; as long as it is the same, the next one shows more */
  int level;     /* of the hint, 1 to 3; 0: no hint */
  struct attn_cli_buffer report; /* what is wrong or open, and the hint */
};

/* Writes the text of a question with its numbers. */
void attn_cli_learn_question_text(const struct attn_cli_learn_task *task, const attn_sink *sink);

/* ---- A check ---- */

struct attn_cli_learn_state {
  uint64_t seed;
  int attempts, is_done, level; /* level: of the last hint, 0 to 3 */
  int64_t place;                /* of the last hint */
};

struct attn_cli_learn_check {
  struct attn_cli_learn_task task;
  const char *text; /* of the learner's file */
  const attn_style *style;
  const struct attn_cli_learn_state *before; /* the last check of the exercise */
  int hint;                                  /* the hint to show, 1 to 3; 0: the next one */
  struct attn_cli_learn_result result;
};
attn_status attn_cli_learn_check_sheet(struct attn_cli_learn_check *check, attn_error *err);
attn_status attn_cli_learn_check_question(struct attn_cli_learn_check *check, attn_error *err);

/* Sets the place of the hint in the result, and its level: the next one if the last hint was about
 * this place. Returns the level. */
int attn_cli_learn_choose_hint(struct attn_cli_learn_check *check, int64_t place);

/* ---- A learner's numbers in the solution ---- */

/* The solution with the learner's values in the place of those that the exercise left open. */
struct attn_cli_learn_sheet {
  struct attn_cli_buffer text;
  int open, coarse;
  int64_t first_line, first_column; /* of the first value that is open or coarse, in text */
};
attn_status attn_cli_learn_fill(const char *solved, const char *blank, const char *filled,
                                struct attn_cli_learn_sheet *sheet, attn_error *err);

/* ---- Progress ---- */

struct attn_cli_learn_progress {
  char *path;
  struct attn_cli_learn_state state[16][LEARN_EXERCISES]; /* by chapter from 0; attempts 0: none */
};

/* path NULL: $XDG_STATE_HOME/attn/learn.tsv, or ~/.local/state/attn/learn.tsv. Without a file
 * nothing is done yet. Free with attn_cli_learn_progress_free. */
attn_status attn_cli_learn_progress_read(const char *path, struct attn_cli_learn_progress *progress,
                                         attn_error *err);
attn_status attn_cli_learn_progress_write(const struct attn_cli_learn_progress *progress,
                                          attn_error *err);
void attn_cli_learn_progress_free(struct attn_cli_learn_progress *progress);

/* ---- Pages ---- */

/* Writes the pages of all chapters into a new folder. */
attn_status attn_cli_learn_pages(const char *folder, const attn_style *style, attn_error *err);

#endif
