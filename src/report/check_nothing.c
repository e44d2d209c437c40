/* check_nothing.c -- what a document has in which there is nothing to check. */
#include "check_text.h"
#include "explain.h"
#include "number_text.h"
#include "step_labels.h"

struct seen_numbers {
  int32_t blocks, numbers; /* of several numbers, of one */
  int computed;            /* an example has a step that is computed */
};

static void count_block(struct seen_numbers *seen, int32_t rows, int32_t cols) {
  if (rows == 1 && cols == 1)
    seen->numbers++;
  else
    seen->blocks++;
}

static struct seen_numbers count_numbers(const attn_lesson *lesson, const attn_check *check) {
  struct seen_numbers seen = {0, 0, 0};
  for (int32_t n = 0; n < lesson->unreads; n++)
    count_block(&seen, lesson->unread[n].rows, lesson->unread[n].cols);
  for (int32_t i = 0; i < check->examples && i < lesson->examples; i++) {
    const attn_example *e = &lesson->example[i];
    seen.computed |= check->example[i].verdicts > 0;
    for (int32_t n = 0; n < e->steps; n++)
      if (e->step[n].printings) count_block(&seen, e->step[n].exact.rows, e->step[n].exact.cols);
  }
  return seen;
}

void attn_out_nothing(struct attn_out *out, const attn_lesson *lesson, const attn_check *check) {
  const struct seen_numbers seen = count_numbers(lesson, check);
  int32_t count = seen.blocks ? seen.blocks : seen.numbers;
  int message = MESSAGE_NOTHING_HERE;
  if (seen.computed)
    message = MESSAGE_NOTHING_COMPUTED;
  else if (seen.blocks)
    message = seen.blocks == 1 ? MESSAGE_NOTHING_ONE_BLOCK : MESSAGE_NOTHING_BLOCKS;
  else if (seen.numbers)
    message = seen.numbers == 1 ? MESSAGE_NOTHING_ONE_NUMBER : MESSAGE_NOTHING_NUMBERS;
  attn_out_message(out, message, ATTN_INTEGER_TEXT(count), NULL);
  attn_out_line(out, 0);
}

void attn_out_nothing_in(struct attn_out *out, const attn_example *e,
                         const attn_example_verdict *v) {
  char first[ATTN_RELATION_BYTES];
  if (!v->verdicts) return;
  attn_relation_text(e, &e->step[v->verdict[0].step], out->style.precision, first);
  attn_out_message(out, e->from_python ? MESSAGE_NONE_PRINTED : MESSAGE_NONE_FILLED_IN,
                   ATTN_INTEGER_TEXT(v->verdicts), first, NULL);
  attn_out_line(out, 0);
}
