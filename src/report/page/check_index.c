/* check_index.c -- attn_check_draw_index: checked documents as a table, with links to their pages.
 */
#include "attn/picture.h"
#include "check_text.h"
#include "error.h"
#include "html.h"
#include "lesson_page_files.h"
#include "number_text.h"
#include "page_text.h"
#include "step_labels.h"

/* Sorted by verdict, what needs attention is first. */
enum verdict_rank { WRONG, UNREADABLE, NOTHING, DOUBTFUL, CORRECT, RANKS };

static enum verdict_rank rank_of(const attn_check_entry *d) {
  if (!d->lesson || !d->check) return UNREADABLE;
  switch (attn_file_verdict_message(d->lesson, d->check)) {
    case MESSAGE_VERDICT_WRONG:
      return WRONG;
    case MESSAGE_VERDICT_NOTHING:
      return NOTHING;
    case MESSAGE_VERDICT_CORRECT:
      return CORRECT;
    default:
      return DOUBTFUL;
  }
}

/* ---- The first wrong number ---- */

struct wrong_number {
  const attn_example *example;
  const attn_step *step;
  const attn_finding *finding;
  int32_t cause;
};

static struct wrong_number first_wrong(const attn_check_entry *d) {
  struct wrong_number found = {NULL, NULL, NULL, 0};
  for (int32_t n = 0; d->check && n < d->check->examples && !found.finding; n++) {
    const attn_example_verdict *e = &d->check->example[n];
    if (e->first_wrong < 0) continue;
    const attn_step_verdict *v = &e->verdict[e->first_wrong];
    const attn_example *example = &d->lesson->example[n];
    found = (struct wrong_number){example, &example->step[v->step],
                                  attn_first_finding(v, ATTN_JUDGED_WRONG), v->cause};
  }
  return found;
}

static void put_wrong(struct attn_out *out, const struct wrong_number *w) {
  char address[ATTN_ADDRESS_BYTES];
  const attn_finding *f = w->finding;
  for (struct attn_page_languages both = {.page = out, .tag = "span"}; attn_page_next(&both);)
    attn_out_message(&both.text, MESSAGE_READ_LINE, ATTN_INTEGER_TEXT(f->line), NULL);
  attn_xml_text(out, attn_address(w->example, w->step, f->row, f->col, address));
  attn_putf(out, " <s>%s</s> %s", ATTN_NUMBER_TEXT(f->printed, out->style.precision),
            ATTN_NUMBER_TEXT(f->expected, out->style.precision));
}

/* ---- A row ---- */

static void put_link(struct attn_out *out, const attn_check_entry *d) {
  if (d->page) attn_put(out, "<a href=\""), attn_xml_text(out, d->page), attn_put(out, "\">");
  attn_xml_text(out, d->file ? d->file : "");
  if (d->page) attn_put(out, "</a>");
}

static void put_verdict(struct attn_out *out, const attn_check_entry *d, enum verdict_rank rank) {
  static const char *const classes[] = {"wrong", "unread", "given", "doubtful", "ok"};
  attn_putf(out, "<td><mark class=\"%s\">", classes[rank]);
  attn_html_message(out, rank == UNREADABLE ? MESSAGE_PAGE_UNREADABLE
                                            : attn_file_verdict_message(d->lesson, d->check));
  attn_put(out, "</mark></td>");
}

static void put_entry(struct attn_out *out, const attn_check_entry *d) {
  const enum verdict_rank rank = rank_of(d);
  const struct wrong_number wrong = first_wrong(d);
  attn_putf(out, "<tr data-rank=\"%d\"><th scope=\"row\">", (int)rank);
  put_link(out, d);
  attn_put(out, "</th>");
  put_verdict(out, d, rank);
  attn_put(out, "<td>");
  if (wrong.finding) put_wrong(out, &wrong);
  if (rank == UNREADABLE) attn_xml_text(out, d->problem ? d->problem : "");
  attn_put(out, "</td><td>");
  if (wrong.finding)
    attn_html_message(out, MESSAGE_CAUSE + (wrong.cause ? wrong.cause : ATTN_CAUSE_UNKNOWN));
  attn_put(out, "</td></tr>\n");
}

/* ---- The page ---- */

static void put_head(struct attn_out *out) {
  static const int titles[] = {MESSAGE_PAGE_FILE, MESSAGE_PAGE_VERDICT, MESSAGE_PAGE_FIRST_WRONG,
                               MESSAGE_PAGE_CAUSE};
  attn_put(out, "<thead><tr>");
  for (int n = 0; n < 4; n++) {
    attn_put(out, "<th scope=\"col\">");
    attn_html_message(out, titles[n]);
    attn_put(out, "</th>");
  }
  attn_put(out, "</tr></thead>\n");
}

static void put_counts(struct attn_out *out, const attn_check_entry *entries, int32_t count) {
  static const int messages[] = {MESSAGE_VERDICT_WRONG, MESSAGE_PAGE_UNREADABLE,
                                 MESSAGE_VERDICT_NOTHING, MESSAGE_VERDICT_DOUBTFUL,
                                 MESSAGE_VERDICT_CORRECT};
  int32_t counts[RANKS] = {0};
  for (int32_t n = 0; n < count; n++) counts[rank_of(&entries[n])]++;
  attn_put(out, "<ul class=\"legend\">\n");
  for (int n = 0; n < RANKS; n++) {
    if (!counts[n]) continue;
    attn_putf(out, "<li><b>%d</b> ", (int)counts[n]);
    attn_html_message(out, messages[n]);
    attn_put(out, "</li>\n");
  }
  attn_put(out, "</ul>\n");
}

attn_status attn_check_draw_index(const attn_check_entry *entries, int32_t count,
                                  const attn_style *style, const attn_sink *sink, attn_error *err) {
  const attn_bilingual_text title = attn_message_bilingual(MESSAGE_PAGE_INDEX);
  struct attn_out out;
  if (!entries || count < 1)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "entries", "there are no documents");
  attn_status status = attn_out_open(&out, style, sink, err);
  if (status) return status;
  attn_html_begin(&out, &title, check_page_css);
  put_counts(&out, entries, count);
  attn_put(&out, "<div class=\"wide\"><table class=\"index\">\n");
  put_head(&out);
  attn_put(&out, "<tbody>\n");
  for (int32_t n = 0; n < count && !out.failed; n++) put_entry(&out, &entries[n]);
  attn_put(&out, "</tbody></table></div>\n");
  attn_html_end(&out, check_index_js);
  return attn_out_end(&out, err);
}
