/* headings.c -- the headings of a document, and the one that is the title of an example. */
#include <string.h>

#include "error.h"
#include "scan.h"
#include "steps.h"

enum { HEADING_BYTES_MAX = 150 };

/* "## Scores", "== Scores ==", \section{Scores}, "3.1 Scores" */
static const char MARKED[] =
    "(*UCP)\\s*(?:#{1,6}\\s+(.*?)[\\s#]*|=+ "
    "(\\w.*?)[\\s=]*|\\\\(?:sub)*section\\*?\\{(.*?)\\}(?:\\s*\\\\label.*)?\\s*)$";
static const char NUMBERED[] =
    "(*UCP)\\s*([1-9]\\d?(?:\\.\\d{1,2})+\\.? [^\\W\\d][^\\n]*[^\\s.:;,!?])\\s*$";
/* The line below a title. */
static const char UNDERLINE[] = "(?:={3,}|-{3,})\\s*$";
/* A short line of words alone: no label, equation or sentence. */
static const char ALONE[] =
    "(*UCP)(?!import |from |return |def |class "
    ")(?![\\s\\[\\]{}()|=<>`\\\\$&!\"'0-9-])(?:\\*\\*)?((?:(?!\\*\\*$)[^=\\n])*?[^\\s.:;,!?=*<"
    "。、：；，"
    "！？．…」])(?:\\*\\*)?\\s*$";
static const char LABEL[] = "[:：]";
static const char ANNOUNCES[] =
    "^[^:：]{0,40}(?:例|[Ee]xample|Step|Part|Case|第|ステップ|Section|Exercise|問)";
static const char EXAMPLE[] =
    "(?i)(?:example|exercise|problem|case |例題?|演習|問題?)[\\s#(\\x{3000}]*\\d";
/* Of a part of an example: never its title where another heading is near. */
static const char PART[] =
    "(?i)仮定|前提|入力|設定|given|setup|input|assum|embedding|埋め込み|重み|weights|解釈|計算|"
    "^(?:step|ステップ|手順)";

/* A line of the source. */
struct source_line {
  const char *text;
  size_t bytes;
};

static struct source_line line_at(const struct attn_source *s, size_t at) {
  if (at >= s->size) return (struct source_line){s->text + s->size, 0};
  const char *text = s->text + at, *end = memchr(text, '\n', s->size - at);
  return (struct source_line){text, end ? (size_t)(end - text) : s->size - at};
}

static int matches(const struct attn_scan *scan, const char *pattern, struct source_line l,
                   struct attn_match *m) {
  return attn_match_at(scan->patterns, pattern, l.text, l.bytes, 0, m);
}

static int is_open_below(struct source_line l) {
  return l.bytes == 0 || *l.text == ' ' || *l.text == '\t' || *l.text == '\r';
}

static struct source_line group_of(struct source_line l, const struct attn_match *m, int g) {
  return (struct source_line){l.text + m->group[g].begin, m->group[g].end - m->group[g].begin};
}

/* The text of a heading; 0 bytes: the line is none. */
static struct source_line heading_in(const struct attn_scan *scan, struct source_line l,
                                     struct source_line below, int *marked) {
  struct source_line none = {l.text, 0};
  struct attn_match m;
  *marked = 1;
  if (!l.bytes || l.bytes > HEADING_BYTES_MAX) return none;
  if (matches(scan, MARKED, l, &m))
    for (int g = 1; g < m.groups; g++)
      if (m.group[g].end > m.group[g].begin) return group_of(l, &m, g);
  if (matches(scan, NUMBERED, l, &m)) return group_of(l, &m, 1);
  *marked = matches(scan, UNDERLINE, below, NULL);
  if ((!*marked && !is_open_below(below)) || !matches(scan, ALONE, l, &m)) return none;
  int is_label = attn_find(scan->patterns, LABEL, l.text, l.bytes, 0, NULL);
  return is_label && !matches(scan, ANNOUNCES, l, NULL) ? none : group_of(l, &m, 1);
}

static int add_heading(struct attn_scan *scan, struct source_line l, int line, int marked) {
  if (attn_pool_grow(scan->pool, (void **)&scan->heading, (size_t)scan->headings,
                     sizeof *scan->heading))
    return 0;
  char *text = attn_pool_text(scan->pool, l.text, l.bytes);
  if (text) scan->heading[scan->headings++] = (struct attn_scan_heading){line, marked, text};
  return text != NULL;
}

attn_status attn_scan_headings(struct attn_scan *scan) {
  const struct attn_source *s = &scan->source;
  struct source_line l;
  int fenced = 0, line = 1;
  for (size_t at = 0; at < s->size; at += l.bytes + 1, line++) {
    l = line_at(s, at);
    int is_fence = l.bytes >= 3 && (memcmp(l.text, "```", 3) == 0 || memcmp(l.text, "~~~", 3) == 0);
    if (is_fence) fenced = !fenced;
    if (fenced || is_fence) continue;
    int marked;
    struct source_line text = heading_in(scan, l, line_at(s, at + l.bytes + 1), &marked);
    if (text.bytes && !add_heading(scan, text, line, marked))
      return attn_fail(scan->err, ATTN_ERR_MEMORY, NULL, "no memory for the headings");
  }
  return ATTN_OK;
}

static int is_part(const struct attn_scan *scan, const char *text) {
  int step = attn_step_called(text);
  return attn_occurs(scan->patterns, PART, text) || (step >= 0 && step != ATTN_STEP_WEIGHTS);
}

const struct attn_scan_heading *attn_scan_heading_above(const struct attn_scan *scan, int line) {
  const struct attn_scan_heading *nearest = NULL, *marked = NULL;
  for (int n = 0; n < scan->headings && scan->heading[n].line < line; n++) {
    nearest = &scan->heading[n];
    if (nearest->marked) marked = nearest;
  }
  return marked ? marked : nearest;
}

const struct attn_scan_heading *attn_scan_title(const struct attn_scan *scan, int line, int after) {
  const struct attn_scan_heading *title = NULL, *above = attn_scan_heading_above(scan, line);
  for (int n = scan->headings - 1; n >= 0; n--) {
    const struct attn_scan_heading *h = &scan->heading[n];
    if (h->line >= line || h->marked < above->marked) continue;
    if (h->line > after && attn_occurs(scan->patterns, EXAMPLE, h->text)) return h;
    if (!title && !is_part(scan, h->text)) title = h;
    if (title && h->line <= after) break;
  }
  return title ? title : above;
}
