#include "markdown.h"

#include <string.h>

#include "canvas.h"
#include "lesson_page.h"

struct markdown_line {
  const char *at, *end; /* without the newline and the spaces before it */
};

struct markdown {
  struct attn_out *page;
  const char *open; /* the block that is open: "p", "ul", "ol", "table" or "pre"; or NULL */
  int last;         /* the last byte of the paragraph's last line */
};

/* ---- Within a line ---- */

static const char *find(const char *at, const char *end, const char *mark) {
  const size_t bytes = strlen(mark);
  for (; at + bytes <= end; at++)
    if (!memcmp(at, mark, bytes)) return at;
  return NULL;
}

/* A file of the same folder, a place in it, or an address of the web. */
static int is_address(const char *at, const char *end) {
  const char *https = "https://";
  if (end - at > 8 && !memcmp(at, https, 8)) at += 8;
  for (; at < end; at++) {
    const int letter = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z');
    if (!letter && !(*at >= '0' && *at <= '9') && !memchr("._/#-", *at, 5)) return 0;
  }
  return 1;
}

static const struct markdown_mark {
  const char *text, *element;
} marks[] = {{"`", "code"}, {"**", "strong"}};

/* The mark at `at`, or NULL. */
static const struct markdown_mark *mark_at(const char *at, const char *end) {
  for (const struct markdown_mark *m = marks; m < marks + 2; m++)
    if (find(at, end, m->text) == at) return m;
  return NULL;
}

/* The end of the code, strong text or link that begins at `at`; NULL: none begins there. */
static const char *span_end(const char *at, const char *end) {
  const struct markdown_mark *mark = mark_at(at, end);
  const char *close = mark ? find(at + strlen(mark->text), end, mark->text) : NULL;
  if (close) return close + strlen(mark->text);
  const char *middle = *at == '[' ? find(at, end, "](") : NULL;
  close = middle ? find(middle, end, ")") : NULL;
  return close && is_address(middle + 2, close) ? close + 1 : NULL;
}

static void put_span(struct attn_out *out, const char *at, const char *end) {
  const struct markdown_mark *mark = mark_at(at, end);
  const char *middle = mark ? NULL : find(at, end, "](");
  const size_t bytes = mark ? strlen(mark->text) : 1;
  const char *element = mark ? mark->element : "a";
  attn_putf(out, "<%s", element);
  if (middle)
    attn_put(out, " href=\""), attn_xml_bytes(out, middle + 2, (size_t)(end - middle - 3)),
        attn_put(out, "\"");
  attn_put(out, ">");
  attn_xml_bytes(out, at + bytes, (size_t)((middle ? middle : end - bytes) - at) - bytes);
  attn_putf(out, "</%s>", element);
}

static void put_spans(struct attn_out *out, const char *at, const char *end) {
  const char *plain = at; /* not written yet */
  while (at < end) {
    const char *after = span_end(at, end);
    if (!after) {
      at++;
      continue;
    }
    attn_xml_bytes(out, plain, (size_t)(at - plain));
    put_span(out, at, after);
    plain = at = after;
  }
  attn_xml_bytes(out, plain, (size_t)(end - plain));
}

/* ---- Lines ---- */

static void close_block(struct markdown *m) {
  if (m->open) attn_putf(m->page, "</%s>\n", m->open);
  m->open = NULL;
}

/* Returns whether the block is new. */
static int open_block(struct markdown *m, const char *name) {
  if (m->open && !strcmp(m->open, name)) return 0;
  close_block(m);
  attn_putf(m->page, "<%s>", name);
  m->open = name;
  return 1;
}

/* A line break within Japanese is not a space. */
static void put_paragraph(struct markdown *m, struct markdown_line line) {
  const int is_first = open_block(m, "p");
  if (!is_first && !((m->last & 0x80) && (*line.at & 0x80))) attn_put(m->page, " ");
  put_spans(m->page, line.at, line.end);
  m->last = line.end[-1];
}

static void put_heading(struct markdown *m, struct markdown_line line) {
  close_block(m);
  while (line.at < line.end && (*line.at == '#' || *line.at == ' ')) line.at++;
  attn_put(m->page, "<h2>"), put_spans(m->page, line.at, line.end), attn_put(m->page, "</h2>\n");
}

static void put_item(struct markdown *m, struct markdown_line line, const char *list) {
  open_block(m, list);
  attn_put(m->page, "<li>"), put_spans(m->page, strchr(line.at, ' ') + 1, line.end);
  attn_put(m->page, "</li>\n");
}

/* The line of dashes below the head is left out. */
static void put_row(struct markdown *m, struct markdown_line line) {
  const char *cell = open_block(m, "table") ? "th" : "td";
  if (strspn(line.at, "|-: ") >= (size_t)(line.end - line.at)) return;
  attn_put(m->page, "<tr>");
  for (const char *at = line.at + 1, *end; at < line.end && (end = find(at, line.end, "|"));
       at = end + 1) {
    attn_putf(m->page, "<%s>", cell), put_spans(m->page, at, end),
        attn_putf(m->page, "</%s>", cell);
  }
  attn_put(m->page, "</tr>\n");
}

static int starts(struct markdown_line line, const char *with) {
  return (size_t)(line.end - line.at) > strlen(with) && !strncmp(line.at, with, strlen(with));
}

static int is_numbered(struct markdown_line line) {
  const size_t digits = strspn(line.at, "0123456789");
  return digits && (size_t)(line.end - line.at) > digits + 2 && !strncmp(line.at + digits, ". ", 2);
}

/* A paragraph of one line like "scores = Q K^T": names and signs without a full stop. */
static int is_formula(const struct markdown *m, struct markdown_line line) {
  const char *letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_^()+/=, √";
  const size_t bytes = (size_t)(line.end - line.at);
  const char *newline = strchr(line.end, '\n'); /* after trailing spaces */
  const int ends = !newline || newline[1] == '\n' || !newline[1];
  return !m->open && ends && bytes < ATTN_FORMULA_BYTES && find(line.at, line.end, " = ") &&
         strspn(line.at, letters) >= bytes;
}

static void put_formula(struct markdown *m, struct markdown_line line) {
  char formula[ATTN_FORMULA_BYTES] = "";
  memcpy(formula, line.at, (size_t)(line.end - line.at));
  attn_put(m->page, "<p>"), attn_put_math(m->page, formula), attn_put(m->page, "</p>\n");
}

static void put_line(struct markdown *m, struct markdown_line line) {
  if (line.at == line.end)
    close_block(m);
  else if (starts(line, "# ") || starts(line, "<!--"))
    close_block(m);
  else if (starts(line, "##"))
    put_heading(m, line);
  else if (starts(line, "- "))
    put_item(m, line, "ul");
  else if (is_numbered(line))
    put_item(m, line, "ol");
  else if (*line.at == '|')
    put_row(m, line);
  else if (is_formula(m, line))
    put_formula(m, line);
  else
    put_paragraph(m, line);
}

static void put_code(struct markdown *m, struct markdown_line line) {
  attn_xml_bytes(m->page, line.at, (size_t)(line.end - line.at));
  attn_put(m->page, "\n");
}

void attn_put_markdown(struct attn_out *page, const char *text) {
  struct markdown m = {page, NULL, 0};
  const char *stop = text + strlen(text);
  attn_put(page, "<article class=\"course\">\n");
  for (const char *at = text, *end; at < stop && !page->failed; at = end + 1) {
    end = memchr(at, '\n', (size_t)(stop - at));
    if (!end) end = stop;
    struct markdown_line line = {at, end};
    while (line.end > line.at && line.end[-1] == ' ') line.end--;
    const int fence = starts(line, "``") && line.at[2] == '`';
    const int in_code = m.open && !strcmp(m.open, "pre");
    if (fence && in_code)
      close_block(&m);
    else if (fence)
      open_block(&m, "pre");
    else if (in_code)
      put_code(&m, line);
    else
      put_line(&m, line);
  }
  close_block(&m);
  attn_put(page, "</article>\n");
}
