/* headings.c -- the headings of a document, and the one that is the title of an example. */
#include "steps.h"
#include "text.h"

/* A fence, whose lines are no headings. */
#define FENCE "(?:```|~~~)[^\\n]*+(?:\\n(?!```|~~~)[^\\n]*+)*+(?:\\n(?:```|~~~)[^\\n]*+)?"
#define REST "[ \\t\\r]*$"
/* "## Scores", "== Scores ==", \section{Scores}, "3.1 Scores" */
#define MARKED                                                                                \
  "[ \\t]*+(?|#{1,6}[ \\t]++(?!\\[,?\\d)([^\\n]+?)[ \\t\\r#]*$|=+ (\\w[^\\n]*?)[ \\t\\r=]*$|" \
  "\\\\(?:sub)*section\\*?\\{([^\\n]+?)\\}(?:[ \\t]*\\\\label[^\\n]*)?" REST                  \
  "|"                                                                                         \
  "([1-9]\\d?(?:\\.\\d{1,2})+\\.? [^\\W\\d][^\\n]*[^\\s.:;,!?])" REST ")"
/* A short line of words alone: no label unless it announces a part, no equation or sentence, no row
 * of a sheet. */
#define ALONE                                                                                    \
  "(?!import |from |return |def |class |[^\\n]*\\t[^\\s])(?![\\s\\[\\]{}()|=<>`\\\\$&!\"'0-9-])" \
  "(?:(?![^\\n]*[:：])|(?=[^:：\\n]{0,40}(?:例|[Ee]xample|Step|Part|Case|第|ステップ|"   \
  "Section|Exercise|問)))"                                                                      \
  "(?:\\*\\*)?((?:(?!\\*\\*$)[^=\\n])*?[^\\s.:;,!?=*<。、：；，！？．…」])(?:\\*\\*)?" REST
/* A line below a title: then it is marked; or a blank or deeper one: then group 2 is there. */
#define BELOW "(?:(?=\\n(?:={3,}|-{3,})" REST ")|(?=\\n[ \\t\\r\\n]|\\n?\\z)())"
static const char HEADING[] =
    "(*UCP)(?m)^(?:" FENCE "|(?=[^\\n]{1,150}$)(?|" MARKED "|" ALONE BELOW "))";
static const char EXAMPLE[] =
    "(?i)(?:example|exercise|problem|case |例題?|演習|問題?)[\\s#(\\x{3000}]*\\d";
/* Of a part of an example: never its title where another heading is near. */
static const char PART[] =
    "(?i)仮定|前提|入力|設定|given|setup|input|assum|embedding|埋め込み|重み|weights|解釈|計算|"
    "^(?:step|ステップ|手順)";

attn_status attn_scan_headings(struct attn_scan *scan) {
  const struct attn_source *s = &scan->source;
  struct attn_match m;
  for (size_t at = 0; attn_find(scan->patterns, HEADING, s->text, s->size, at, &m);
       at = m.group[0].end) {
    if (m.groups < 2) continue; /* a fence */
    struct attn_scan_heading heading = {
        .line = attn_source_place(s, m.group[1].begin).line,
        .marked = m.groups == 2,
        .text = attn_pool_text(scan->pool, s->text + m.group[1].begin,
                               m.group[1].end - m.group[1].begin)};
    if (!heading.text ||
        attn_pool_grow(scan->pool, (void **)&scan->heading, (size_t)scan->headings, sizeof heading))
      return attn_scan_no_memory(scan);
    scan->heading[scan->headings++] = heading;
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
