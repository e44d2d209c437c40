/* leader.c -- comments: the sign that begins each line of a run of lines, or of a fence, is made
 * blank. */
#include <string.h>

#include "text.h"

/* Lines that begin with the same sign, and more of them than a list or a heading has in a row. */
enum { RUN_LINES = 4 };

static const char *const SIGNS[] = {"*",  "//", "///", "//!", "#",   "##",
                                    "#>", "--", ";",   ";;",  ";;;", "'"};
enum { NO_SIGN = sizeof SIGNS / sizeof *SIGNS };

static size_t skip_blanks(const char *text, size_t at) { return at + strspn(text + at, " \t"); }

/* The sign that the line at `at` begins with: alone, or with a blank after it. */
static int sign_of(const char *text, size_t at) {
  for (int n = 0; n < NO_SIGN; n++) {
    size_t bytes = strlen(SIGNS[n]);
    if (strncmp(text + at, SIGNS[n], bytes) == 0 && strchr(" \t\r\n", text[at + bytes])) return n;
  }
  return NO_SIGN;
}

static size_t next_line(const char *text, size_t at) {
  at += strcspn(text + at, "\n");
  return at + (text[at] == '\n');
}

/* The end of the run of lines with the sign of the first, how many they are. */
static size_t run_end(const char *text, size_t at, int sign, int *lines) {
  for (*lines = 0; text[at] && sign_of(text, skip_blanks(text, at)) == sign; ++*lines)
    at = next_line(text, at);
  return at;
}

static void blank_signs(char *text, size_t at, size_t end, size_t bytes) {
  for (; at < end; at = next_line(text, at)) memset(text + skip_blanks(text, at), ' ', bytes);
}

static int is_fence(const char *text, size_t at) {
  return strncmp(text + at, "```", 3) == 0 || strncmp(text + at, "~~~", 3) == 0;
}

void attn_blank_leaders(struct attn_canonical *text) {
  int lines;
  for (size_t at = 0, end; at < text->bytes; at = end) {
    const int fenced = is_fence(text->text, at);
    if (fenced) at = next_line(text->text, at);
    int sign = sign_of(text->text, skip_blanks(text->text, at));
    end = fenced ? at : next_line(text->text, at);
    if (sign == NO_SIGN) continue;
    end = run_end(text->text, at, sign, &lines);
    if (lines >= RUN_LINES || (fenced && is_fence(text->text, end)))
      blank_signs(text->text, at, end, strlen(SIGNS[sign]));
  }
}
