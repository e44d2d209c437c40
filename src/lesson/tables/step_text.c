/* step_text.c -- the step that a label, a header or a title calls. */
#include <string.h>

#include "table.h"

/* "入力X", "重みWQ": a word that is a step's, and a symbol, which decides. -1: it is none. */
static int step_of_symbol(struct attn_grouping *g, const char *text) {
  static const char WORD_AND_SYMBOL[] =
      "([\\x{3041}-\\x{30FF}\\x{4E00}-\\x{9FFF}]{1,12}+)([A-Z](?:_?[A-Z])?)$";
  struct attn_match m;
  if (!attn_match_at(g->scan->patterns, WORD_AND_SYMBOL, text, strlen(text), 0, &m)) return -1;
  const char *word = attn_group_text(g, text, m.group[1]);
  const char *symbol = attn_group_text(g, text, m.group[2]);
  return word && symbol && attn_label_step(word) >= 0 ? attn_label_step(symbol) : -1;
}

/* "K は上から", "The keys are": without the particle or the verb. */
static const char *topic_of(struct attn_grouping *g, const char *text) {
  static const char TOPIC[] =
      "(*UCP)^([^は\\d]{1,16}?)[ ]?(?:は(?:上から|左から)?(?:順に)?|\\b(?:is|are)\\b)$";
  struct attn_match m;
  if (!attn_match_at(g->scan->patterns, TOPIC, text, strlen(text), 0, &m)) return text;
  const char *topic = attn_group_text(g, text, m.group[1]);
  return topic ? topic : text;
}

int attn_step_of_text(struct attn_grouping *g, const char *label) {
  static const struct {
    int step;
    const char *words;
  } called[] = {
      {ATTN_STEP_WEIGHTS,
       "(?i)softmax|^(?:a|α|alpha)(?:_?[\\dijkt]{1,2}|_\\w{1,2})?(?:\\(\\w{1,2}\\))?$"},
      {ATTN_STEP_EXPONENTIALS, "(?i)\\bexp|^e\\^|^e (?:raised )?to the\\b"},
      {ATTN_STEP_SCALED, "(?i)√|sqrt|\\bdivi|\\bscal|\\bskal|escala|割|÷|/ ?(?:T|τ)(?!\\pL)"},
      {ATTN_STEP_SCORES,
       "(?i)^[qs](?:_?\\w)?\\s?(?:[·⋅*.]|\\^T)\\s*+[kh](?:_?\\w|\\([ij]\\)|\\[[ij]\\])?$|"
       "^e(?:_?[ijkt]{1,2})?$|\\bscores?\\b|^dot(?:s|ted|ting)?\\b|dot product|スコア|内積"}};
  static const char SYMBOL[] =
      "(*UCP)(?<![·⋅*.])\\s+\\pL(?:_\\w{1,2}|\\d{1,2})?$"; /* "weight α_j" */
  static const char OF_VALUES[] =
      "(?i)^(?:softmax|weights?|A|α|P|重み)[ ]?[·⋅*@×][ ]?(?:V|values?|バリュー|値)$";
  struct attn_match m;
  const char *text = topic_of(g, label);
  if (attn_occurs(g->scan->patterns, OF_VALUES, text)) return ATTN_STEP_OUTPUT;
  int step = attn_label_step(text);
  if (step < 0) step = step_of_symbol(g, text);
  if (step < 0 && attn_find(g->scan->patterns, SYMBOL, text, strlen(text), 0, &m)) {
    const char *front = attn_group_copy(g, text, m.group[0].begin);
    step = front ? attn_label_step(front) : -1;
  }
  for (size_t n = 0; n < sizeof called / sizeof *called && step < 0; n++)
    if (attn_occurs(g->scan->patterns, called[n].words, text)) step = called[n].step;
  if (step == ATTN_STEP_SCORES && attn_occurs(g->scan->patterns, "(?i)√|sqrt|÷|/ ?[\\d.]+$", text))
    step = ATTN_STEP_SCALED;
  return step;
}

/* How many rows from one on are called the same step, by a name without an index. */
static int same_name(const struct attn_table *t, int row) {
  const struct attn_label *label = &t->row[row].label;
  int n = row;
  if (label->index >= 0 || attn_label_step(label->text) < 0) return 0;
  while (n < t->rows && !strcmp(t->row[n].label.text, label->text)) n++;
  return n - row;
}

void attn_table_name_rows(struct attn_table *t) {
  int rows = 0, matrices = 0, count = 2;
  if (t->style != ATTN_ROW_COLON && t->style != ATTN_ROW_EQUALS) return;
  for (; rows < t->rows && count > 1; matrices++) rows += count = same_name(t, rows);
  for (int r = 0; r < t->rows && count > 1 && matrices > 1; r++)
    t->row[r].label.stem = t->row[r].label.text;
}
