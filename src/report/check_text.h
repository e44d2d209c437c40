/* check_text.h -- parts of the report of a check: numbers that were read, and not read. */
#ifndef ATTN_REPORT_CHECK_TEXT_H
#define ATTN_REPORT_CHECK_TEXT_H

#include "text_writer.h"

/* The verdict on a file or an example, as a message. A verdict that is doubtful although no step is
 * doubtful has its reason in it. */
int attn_file_verdict_message(const attn_lesson *lesson, const attn_check *check);
int attn_example_verdict_message(const attn_example *e, const attn_example_verdict *v);

/* The first finding of a judgement, or NULL. */
const attn_finding *attn_first_finding(const attn_step_verdict *v, int32_t judgement);

/* A block of numbers that a step prints. */
struct attn_read_block {
  int32_t index; /* of the example */
  const attn_example *example;
  const attn_step *step;
  const attn_printing *printing;
  int32_t cells;     /* its numbers, without blanks */
  int32_t explained; /* of them, correct or carried; 0 for a given step */
};

/* Every printing of every step, sorted by line; to be freed. NULL: no memory. */
struct attn_read_block *attn_list_reading(const attn_lesson *lesson, const attn_check *check,
                                          size_t *count);

/* Lists lesson->unread, and that the lesson is incomplete; writes nothing if all was read. */
void attn_out_unread(struct attn_out *out, const attn_lesson *lesson);

#endif
