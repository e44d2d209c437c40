/* catalog.h -- every sentence that a person reads, in each language.
 *
 * {0} to {9} are filled in by attn_out_say; a translation may order them as its grammar wants. */
#ifndef ATTN_REPORT_CATALOG_H
#define ATTN_REPORT_CATALOG_H

#include <stdint.h>

enum attn_message {
  /* What a step is called; + attn_step_name. */
  SAY_TITLE,
  SAY_TITLE_LAST = SAY_TITLE + 23,
  /* The likely cause in words; + attn_cause. */
  SAY_CAUSE,
  SAY_CAUSE_LAST = SAY_CAUSE + 18,
  /* What became of a step; + attn_judgement. */
  SAY_STATUS,
  SAY_STATUS_LAST = SAY_STATUS + 4,
  /* The verdict on a file or an example. */
  SAY_VERDICT_CORRECT,
  SAY_VERDICT_WRONG,
  SAY_VERDICT_DOUBTFUL,
  SAY_VERDICT_NOTHING,

  /* explain: the frame */
  SAY_NOTHING_TO_EXPLAIN,
  SAY_EXAMPLE,
  SAY_EXAMPLE_TITLED,
  SAY_TOKENS,
  SAY_QUERY_TOKENS,
  SAY_KEY_TOKENS,
  SAY_CROSS,
  SAY_HEADS,
  SAY_IN_ROWS,
  SAY_IN_COLUMNS,
  SAY_ADDRESSES,
  SAY_HEAD,
  SAY_AXES_QUERY_KEY,
  SAY_AXES_KEY_QUERY,
  /* explain: what a step is and why */
  SAY_WHAT_Q,
  SAY_WHAT_K,
  SAY_WHAT_V,
  SAY_WHAT_DOT,
  SAY_WHAT_GENERAL,
  SAY_WHAT_ADDITIVE,
  SAY_WHY_SCALED,
  SAY_DIVIDED_BY,
  SAY_WHAT_MASK,
  SAY_WHAT_MASK_FINITE,
  SAY_WHAT_SOFTMAX_ROWS,
  SAY_WHAT_SOFTMAX_COLUMNS,
  SAY_WHAT_EXP,
  SAY_WHAT_SUM,
  SAY_WHAT_QUOTIENT,
  SAY_WHAT_OUTPUT,
  SAY_WHAT_CONCAT,
  SAY_WHAT_PROJECTED,
  SAY_WHAT_POSITIONS,
  SAY_POSITIONS_FROM,
  SAY_FREQUENCY,
  SAY_BINARY,
  SAY_WHAT_ADD,
  SAY_WHAT_APPEND,
  /* explain: numbers worked out */
  SAY_ONE_CELL,
  SAY_ONE_ROW,
  SAY_ONE_COLUMN,
  SAY_MORE_CELLS,
  SAY_MORE_TERMS,
  SAY_EXPONENTIALS_ARE,
  SAY_MINUS_MAXIMUM,
  SAY_SUM_IS,
  SAY_QUOTIENTS_ARE,
  SAY_WEIGHTED_SUM,
  /* explain: who looks at whom */
  SAY_SEES_NOT,
  SAY_SEES_ALL,
  SAY_SEES_NONE,
  SAY_LOOKS_ONE,
  SAY_LOOKS_MOST,
  SAY_LOOKS_TIED,
  SAY_THEN_ONE,
  SAY_THEN_TIED,
  SAY_LOOKS_ALL_ALIKE,
  SAY_LOOKS_ONLY,
  SAY_BLIND,
  SAY_AND,
  SAY_COMMA,
  SAY_STOP,
  SAY_MORE_ROWS,
  SAY_AND_OTHERS,
  /* explain: where the document differs */
  SAY_DIFFERS,
  SAY_DIFFERS_ONE,
  SAY_DIFFERS_MORE,
  /* explain --cell */
  SAY_GIVENS_USED,
  /* check */
  SAY_FILE_VERDICT,
  SAY_JUDGES_NUMBERS,
  SAY_NOTHING_HERE,
  SAY_ORIENTED_ROWS,
  SAY_ORIENTED_COLUMNS,
  SAY_COUNT_OF,
  SAY_FIRST_HERE,
  SAY_NEW_SLIP,
  SAY_PLACE_ONE_BASED,
  SAY_PRINTED_RIGHT,
  SAY_DOUBT_AT,
  SAY_FOLLOWED,
  SAY_WORKING,
  SAY_LIKELY_CAUSE,
  SAY_NO_CAUSE,
  SAY_CAUSE_EXPLAINS,
  /* new */
  SAY_NEW_TITLE,
  SAY_NEW_INTRO,
  SAY_NEW_INTRO_BLANK,
  SAY_NEW_INPUTS,
  SAY_NEW_PROJECT,
  SAY_NEW_SCORES,
  SAY_NEW_SCALED,
  SAY_NEW_WEIGHTS,
  SAY_NEW_OUTPUT,
  SAY_NEW_TOKEN,
  /* pictures */
  SAY_PICTURE,
  SAY_PICTURE_LESSON,
  SAY_PICTURE_TABLE,
  SAY_QUERY,
  SAY_KEY,
  SAY_ARROWS,
  SAY_ARROWS_NOTE,
  SAY_ARROWS_QUERIES,
  SAY_ARROWS_KEYS,
  SAY_COUNT
};

/* Never NULL. language: attn_language. */
const char *attn_message_text(int message, int32_t language);

#endif
