/* message_catalog.h -- the sentences of reports, lessons, pictures and pages, in each language;
 * those of the command are in po/ja.po.
 *
 * {0} to {9} are filled in by attn_out_message; a translation may order them as its grammar wants.
 */
#ifndef ATTN_TEXT_MESSAGE_CATALOG_H
#define ATTN_TEXT_MESSAGE_CATALOG_H

#include <stdint.h>

#include "attn/lesson.h"

enum attn_message {
#define TEXT(message, english, japanese) message,
#define TEXT_OF(first, index, english, japanese) first##_##index,
#include "message_catalog.inc"
#undef TEXT
#undef TEXT_OF
  MESSAGE_COUNT
};

/* The first message of each family. */
enum {
  MESSAGE_TITLE = MESSAGE_TITLE_ATTN_STEP_X,                /* of a step; + attn_step_name */
  MESSAGE_CAUSE = MESSAGE_CAUSE_ATTN_CAUSE_NONE,            /* + attn_cause */
  MESSAGE_STATUS = MESSAGE_STATUS_ATTN_JUDGED_NOT_GIVEN,    /* of a step; + attn_judgement */
  MESSAGE_NEW_TITLE = MESSAGE_NEW_TITLE_ATTN_TEMPLATE_SELF, /* + attn_template_kind */
  MESSAGE_NEW_IDEA = MESSAGE_NEW_IDEA_ATTN_TEMPLATE_SELF
};

/* "en" or "ja". language: attn_language, here and below. */
const char *attn_language_code(int32_t language);

/* Never NULL. */
const char *attn_message_text(int message, int32_t language);

/* The same with a number for its {0}, cut to size bytes. Returns `to`. */
const char *attn_message_fill(char *to, size_t size, int message, int32_t language, int number);

#endif
