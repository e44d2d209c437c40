/* notebook.c -- the text of a Jupyter notebook: sources and printed results of its cells. */
#include <jansson.h>
#include <string.h>

#include "text.h"

enum { SEARCHED_BYTES = 1 << 20 };

static int has_cells(const char *text, size_t bytes) {
  static const char key[] = "\"cells\"";
  size_t at = 0, end = bytes < SEARCHED_BYTES ? bytes : SEARCHED_BYTES;
  if (bytes >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) at = 3;
  while (at < end && (text[at] == ' ' || (text[at] >= '\t' && text[at] <= '\r'))) at++;
  if (at == end || text[at] != '{') return 0;
  for (; at + sizeof key <= end; at++)
    if (text[at] == '"' && memcmp(text + at, key, sizeof key - 1) == 0) return 1;
  return 0;
}

/* The bytes of a control sequence (a color of printed output), or of another control character; 0:
 * text. */
static size_t control_bytes(const char *text, size_t at, size_t length) {
  size_t end = at + 2;
  if ((unsigned char)text[at] >= 0x20 || strchr("\t\n\r", text[at])) return 0;
  if (text[at] != 0x1B || at + 1 >= length || text[at + 1] != '[') return 1;
  while (end < length && text[end] >= 0x20 && text[end] < 0x40) end++;
  return end + (end < length) - at;
}

static void add_string(struct attn_text *out, const json_t *string) {
  const char *text = json_string_value(string);
  size_t length = json_string_length(string), begin = 0, bytes;
  for (size_t at = 0; at < length; at++) {
    if ((bytes = control_bytes(text, at, length)) == 0) continue;
    attn_text_add(out, text + begin, at - begin, 0);
    begin = at + bytes;
    at = begin - 1;
  }
  attn_text_add(out, text + begin, length - begin, 0);
}

/* A string, or an array of lines; then an empty line. */
static void add_part(struct attn_text *out, const json_t *part) {
  size_t index;
  json_t *line;
  if (json_is_string(part)) add_string(out, part);
  json_array_foreach(part, index, line) if (json_is_string(line)) add_string(out, line);
  attn_text_add(out, "\n\n", 2, 0);
}

static void add_cell(struct attn_text *out, const json_t *cell) {
  size_t index;
  json_t *output;
  add_part(out, json_object_get(cell, "source"));
  json_array_foreach(json_object_get(cell, "outputs"), index, output) {
    const json_t *text = json_object_get(output, "text");
    add_part(out, text ? text : json_object_get(json_object_get(output, "data"), "text/plain"));
  }
}

attn_status attn_notebook_text(struct attn_scan *scan, const char **text, size_t *bytes,
                               const char **file) {
  struct attn_text out = {.pool = scan->pool};
  json_error_t problem;
  size_t index;
  json_t *cell;
  if (!has_cells(*text, *bytes)) return ATTN_OK;
  size_t skip = memcmp(*text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
  json_t *root = json_loadb(*text + skip, *bytes - skip, 0, &problem);
  if (!root) return ATTN_OK; /* some other text with braces */
  json_array_foreach(json_object_get(root, "cells"), index, cell) add_cell(&out, cell);
  json_decref(root);
  attn_text_end(&out, 0);
  if (out.failed) return attn_scan_no_memory(scan);
  *text = out.now.text;
  *bytes = out.now.bytes;
  *file = "notebook.md";
  return ATTN_OK;
}
