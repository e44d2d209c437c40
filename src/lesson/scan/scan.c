/* scan.c -- scans a document: checks its text, then runs the steps of the scan. */
#include "scan.h"

#include <stdarg.h>
#include <string.h>

#include "error.h"
#include "text.h"

enum { DIGITS_MAX = 400 };

attn_status attn_scan_fail(struct attn_scan *scan, size_t offset, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  attn_status status = attn_source_fail(&scan->source, offset, scan->err, format, arguments);
  va_end(arguments);
  return status;
}

attn_status attn_scan_no_memory(struct attn_scan *scan) {
  return attn_fail(scan->err, ATTN_ERR_MEMORY, NULL, "no memory for the document");
}

/* ---- checks of the source ---- */

static attn_status check_digits(struct attn_scan *scan) {
  const struct attn_source *s = &scan->source;
  size_t digits = 0;
  for (size_t at = 0; at < s->size; at++) {
    digits = s->text[at] >= '0' && s->text[at] <= '9' ? digits + 1 : 0;
    if (digits == DIGITS_MAX)
      return attn_scan_fail(scan, at + 1 - digits, "a number of %d digits or more: round it",
                            DIGITS_MAX);
  }
  return ATTN_OK;
}

/* The environment that a command at `at` begins or ends is a matrix: the length of its name; 0: it
 * is another one, or the command is quoted. */
static int matrix_environment(struct attn_scan *scan, size_t at, size_t command) {
  static const char *const names =
      "(?:[bpvVB]?matrix\\*?|smallmatrix|array|cases|tabularx?|tabular\\*|longtable)(?=\\})";
  const struct attn_source *s = &scan->source;
  struct attn_match m;
  if (!attn_match_at(scan->patterns, names, s->text, s->size, at + command, &m)) return 0;
  if (at > 0 && s->text[at - 1] == '`') return 0;
  return (int)(m.group[0].end - m.group[0].begin);
}

static attn_status check_nesting(struct attn_scan *scan, int depth, size_t at) {
  if (depth < ATTN_NESTING_MAX) return ATTN_OK;
  return attn_scan_fail(scan, at, "matrices are nested too deeply: more than %d", ATTN_NESTING_MAX);
}

/* Each \begin of a matrix has its \end, comments aside. */
static attn_status check_environments(struct attn_scan *scan) {
  static const char *const commands = "(?m)^[ \\t]*+%[^\\n]*+$(*SKIP)(*FAIL)|\\\\(?:begin|end)\\{";
  static const char begins[] = "\\begin{", ends[] = "\\end{";
  const struct attn_source *s = &scan->source;
  size_t open[ATTN_NESTING_MAX];
  struct attn_match m;
  int depth = 0, name;
  if (!memchr(s->text, '\\', s->size)) return ATTN_OK;
  for (size_t at = 0; attn_find(scan->patterns, commands, s->text, s->size, at, &m);
       at = m.group[0].end) {
    size_t here = m.group[0].begin, command = m.group[0].end - here;
    if ((name = matrix_environment(scan, here, command)) == 0) continue;
    if (command == sizeof begins - 1) {
      if (check_nesting(scan, depth, here) != ATTN_OK) return ATTN_ERR_FORMAT;
      open[depth++] = here;
    } else if (depth == 0) {
      return attn_scan_fail(scan, here, "%s%.*s} closes no matrix: \\begin is missing", ends, name,
                            s->text + here + command);
    } else {
      depth--;
    }
  }
  if (depth == 0) return ATTN_OK;
  const char *text = s->text + open[depth - 1] + sizeof begins - 1;
  return attn_scan_fail(scan, open[depth - 1], "this matrix is not closed: %s%.*s} is missing",
                        ends, (int)strcspn(text, "}"), text);
}

/* ---- the document ---- */

attn_status attn_scan_open(struct attn_scan *scan, const char *text, size_t bytes,
                           const char **file) {
  attn_status status = attn_notebook_text(scan, &text, &bytes, file);
  if (status == ATTN_OK)
    status = attn_source_open(&scan->source, text, bytes, scan->pool, scan->err);
  if (status == ATTN_OK) scan->japanese = attn_source_is_japanese(&scan->source);
  return status == ATTN_OK ? attn_scan_headings(scan) : status;
}

attn_status attn_scan_document(struct attn_scan *scan, const char *file) {
  struct attn_canonical text;
  struct attn_scan_lines lines;
  attn_status status = check_digits(scan);
  if (status == ATTN_OK) status = check_environments(scan);
  if (status == ATTN_OK) status = attn_canonical_text(scan, file, &text);
  if (status == ATTN_OK) attn_patterns_document(scan->patterns, scan->text = text.text);
  if (status == ATTN_OK) status = attn_scan_misprint(scan, &text);
  if (status == ATTN_OK) status = attn_scan_lines(scan, &text, &lines);
  if (status == ATTN_OK && scan->left && scan->left->lanes) status = attn_stack_lanes(scan, &lines);
  if (status == ATTN_OK) status = attn_scan_blocks(scan, &lines);
  return status == ATTN_OK && attn_patterns_failed(scan->patterns) ? attn_scan_no_memory(scan)
                                                                   : status;
}
