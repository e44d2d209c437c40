/* check_unread.c -- numbers of a document that were not read, and what they do to a verdict. */
#include <stdio.h>
#include <string.h>

#include "check_text.h"
#include "number_text.h"
#include "text_layout.h"

enum { LINES_MAX = 10, WORD_BYTES = 12, NAME_COLUMNS = 32, NAME_BYTES = 4 * NAME_COLUMNS + 8 };

/* ---- Verdicts ---- */

static int verdict_message(int32_t judgement) {
  if (judgement == ATTN_JUDGED_WRONG || judgement == ATTN_JUDGED_CARRIED)
    return MESSAGE_VERDICT_WRONG;
  if (judgement == ATTN_JUDGED_DOUBTFUL) return MESSAGE_VERDICT_DOUBTFUL;
  return judgement == ATTN_JUDGED_OK ? MESSAGE_VERDICT_CORRECT : MESSAGE_VERDICT_NOTHING;
}

int attn_example_verdict_message(const attn_example *e, const attn_example_verdict *v) {
  int unstated = e->uncertain && v->judgement == ATTN_JUDGED_DOUBTFUL;
  for (int32_t n = 0; n < v->verdicts; n++) unstated &= v->verdict[n].judgement <= ATTN_JUDGED_OK;
  return unstated ? MESSAGE_VERDICT_UNSTATED : verdict_message(v->judgement);
}

int attn_file_verdict_message(const attn_lesson *lesson, const attn_check *check) {
  int unread = (lesson->unreads || lesson->incomplete) && check->judgement == ATTN_JUDGED_DOUBTFUL;
  for (int32_t n = 0; n < check->examples; n++)
    unread &= check->example[n].judgement <= ATTN_JUDGED_OK;
  return unread ? MESSAGE_VERDICT_UNREAD : verdict_message(check->judgement);
}

const attn_finding *attn_first_finding(const attn_step_verdict *v, int32_t judgement) {
  for (int32_t n = 0; n < v->findings; n++)
    if (v->finding[n].judgement == judgement) return &v->finding[n];
  return NULL;
}

/* ---- The list ---- */

/* Copies the end of a name, without the sign that joins it to the numbers. Returns its length, or
 * that of the name where it is longer than part. */
static size_t copy_end(const char *name, char part[NAME_BYTES]) {
  size_t bytes = strlen(name);
  while (bytes && strchr(" \t:=[(", name[bytes - 1])) bytes--;
  const char *end = name + bytes, *at = bytes < NAME_BYTES ? name : end - (NAME_BYTES - 1);
  while (at < end && at > name && (*at & 0xC0) == 0x80) at++; /* not within a character */
  memcpy(part, at, (size_t)(end - at));
  part[end - at] = 0;
  return bytes;
}

static const char *name_text(const char *name, char text[NAME_BYTES]) {
  struct attn_cluster c;
  char part[NAME_BYTES];
  const char *at = part;
  int cut = copy_end(name, part) >= NAME_BYTES;
  for (; attn_text_width(at) > NAME_COLUMNS; cut = 1) attn_text_next(&at, &c);
  const char *space = strchr(at, ' ');
  if (cut && space && space - at < WORD_BYTES) at = space + 1;
  memcpy(text, cut ? "…" : "", cut ? sizeof "…" : 1);
  attn_text_shorten(text + strlen(text), NAME_BYTES - strlen(text), at, NAME_COLUMNS);
  return text;
}

static void put_block(struct attn_out *out, const attn_unread *u) {
  char size[48], name[NAME_BYTES];
  const char *line = ATTN_INTEGER_TEXT(u->line);
  int one = u->rows == 1 && u->cols == 1;
  snprintf(size, sizeof size, "%d×%d", (int)u->rows, (int)u->cols);
  name_text(u->name ? u->name : "", name);
  if (one)
    attn_out_message(out, *name ? MESSAGE_UNREAD_ONE_AFTER : MESSAGE_UNREAD_ONE, line, name, NULL);
  else
    attn_out_message(out, *name ? MESSAGE_UNREAD_BLOCK_AFTER : MESSAGE_UNREAD_BLOCK, line, size,
                     name, NULL);
}

static void put_list(struct attn_out *out, const attn_lesson *lesson) {
  attn_out_line(out, 0);
  attn_out_color(out, "33");
  attn_out_message(out, MESSAGE_UNREAD, NULL);
  attn_out_color(out, "0");
  for (int32_t n = 0; n < lesson->unreads && n < LINES_MAX; n++) {
    attn_out_line(out, 2);
    put_block(out, &lesson->unread[n]);
  }
  if (lesson->unreads > LINES_MAX) {
    attn_out_line(out, 2);
    attn_out_message(out, MESSAGE_UNREAD_MORE, ATTN_INTEGER_TEXT(lesson->unreads - LINES_MAX),
                     NULL);
  }
  attn_out_line(out, 0);
}

void attn_out_unread(struct attn_out *out, const attn_lesson *lesson) {
  if (lesson->unreads) put_list(out, lesson);
  if (!lesson->incomplete) return;
  attn_out_line(out, 0);
  attn_out_color(out, "33");
  attn_out_message(out, MESSAGE_UNREAD_INCOMPLETE, NULL);
  attn_out_color(out, "0");
  attn_out_line(out, 0);
}
