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

/* A color of printed output, another control character. */
static const char CONTROL[] = "\x1B\\[[ -?]*+[@-~]|[\x01-\x08\x0B\x0C\x0E-\x1F]";

static void add_string(struct attn_scan *scan, struct attn_text *out, const json_t *string) {
  const char *text = json_string_value(string);
  size_t length = json_string_length(string), begin = 0;
  struct attn_match m;
  for (; attn_find(scan->patterns, CONTROL, text, length, begin, &m); begin = m.group[0].end)
    attn_text_add(out, text + begin, m.group[0].begin - begin, 0);
  attn_text_add(out, text + begin, length - begin, 0);
}

/* A string, or an array of lines; then an empty line. */
static void add_part(struct attn_scan *scan, struct attn_text *out, const json_t *part) {
  size_t index;
  json_t *line;
  if (json_is_string(part)) add_string(scan, out, part);
  json_array_foreach(part, index, line) if (json_is_string(line)) add_string(scan, out, line);
  attn_text_add(out, "\n\n", 2, 0);
}

static void add_cell(struct attn_scan *scan, struct attn_text *out, const json_t *cell) {
  size_t index;
  json_t *output;
  add_part(scan, out, json_object_get(cell, "source"));
  json_array_foreach(json_object_get(cell, "outputs"), index, output) {
    const json_t *text = json_object_get(output, "text");
    add_part(scan, out,
             text ? text : json_object_get(json_object_get(output, "data"), "text/plain"));
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
  json_array_foreach(json_object_get(root, "cells"), index, cell) add_cell(scan, &out, cell);
  json_decref(root);
  attn_text_end(&out, 0);
  if (out.failed) return attn_scan_no_memory(scan);
  *text = out.now.text;
  *bytes = out.now.bytes;
  *file = "notebook.md";
  return ATTN_OK;
}
