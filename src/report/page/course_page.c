/* course_page.c -- attn_course_page_write: a text, and a lesson to play with. */
#include "attn/picture.h"
#include "descriptor.h"
#include "error.h"
#include "html.h"
#include "lesson_page.h"
#include "lesson_page_files.h"
#include "markdown.h"

static attn_status put_text_page(const struct attn_page_text *text, struct attn_out *out,
                                 attn_error *err) {
  const attn_bilingual_text title = {text->title, text->title};
  attn_html_begin(out, &title, lesson_page_css);
  attn_put_markdown(out, text->markdown);
  attn_html_end(out, NULL);
  return attn_out_end(out, err);
}

attn_status attn_course_page_write(const attn_course_page *page, const attn_style *style,
                                   const attn_sink *sink, attn_error *err) {
  attn_course_page p;
  struct attn_out out;
  attn_status status = attn_descriptor_require(page, &p, sizeof p, sizeof p, "page", err);
  if (status) return status;
  if (!p.title || !p.text || !sink || !sink->write)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "page", "the title, the text or the sink is NULL");
  status = attn_out_open(&out, style, sink, err);
  if (status) return status;
  const struct attn_page_text text = {p.title, p.text};
  return p.lesson && p.lesson->examples ? attn_lesson_page(&text, p.lesson, &out, err)
                                        : put_text_page(&text, &out, err);
}
