/* learn_pages.c -- attn learn --html: the chapters as linked pages in both languages. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "console.h"
#include "learn.h"
#include "page_folder.h"

enum { TITLE_BYTES = 128 };

struct learn_page_set {
  struct attn_cli_page_folder folder;
  attn_style style;
};

static const char *suffix(int32_t language) { return language ? ".ja.html" : ".html"; }

static void put_link(const attn_sink *sink, const char *words, const char *name, int32_t language) {
  attn_cli_write(sink, "[%s](%s%s)", words, name, suffix(language));
}

/* The same page in the other language. */
static void put_other(const attn_sink *sink, const char *name, int32_t language) {
  put_link(sink, language ? "English" : "日本語", name, !language);
}

/* "← Softmax · Contents · Scaling → · 日本語" */
static void put_links(const attn_sink *sink, int n, int32_t language) {
  char title[TITLE_BYTES];
  const struct attn_cli_learn_chapter *chapters = attn_cli_learn_chapters;
  if (n > 0) {
    attn_cli_learn_title(&chapters[n - 1], language, title);
    attn_cli_write(sink, "← "), put_link(sink, title, chapters[n - 1].name, language);
    attn_cli_write(sink, " · ");
  }
  put_link(sink, attn_cli_learn_word(LEARN_CONTENTS, language), "index", language);
  if (n + 1 < attn_cli_learn_chapter_count) {
    attn_cli_learn_title(&chapters[n + 1], language, title);
    attn_cli_write(sink, " · "), put_link(sink, title, chapters[n + 1].name, language);
    attn_cli_write(sink, " →");
  }
  attn_cli_write(sink, " · "), put_other(sink, chapters[n].name, language);
  attn_cli_write(sink, "\n\n");
}

static attn_status write_page(struct learn_page_set *set, const char *name, const char *title,
                              const char *text, const attn_lesson *lesson, attn_error *err) {
  attn_course_page page = ATTN_COURSE_PAGE_INIT;
  const attn_sink sink = attn_cli_page_folder_sink(&set->folder);
  char file[64];
  page.title = title, page.text = text, page.lesson = lesson;
  snprintf(file, sizeof file, "%s%s", name, suffix(set->style.language));
  const attn_status status = attn_course_page_write(&page, &set->style, &sink, err);
  return attn_cli_page_folder_add(&set->folder, file, status, err);
}

static attn_status write_chapter(struct learn_page_set *set, int n, attn_error *err) {
  const struct attn_cli_learn_chapter *chapter = &attn_cli_learn_chapters[n];
  const int32_t language = set->style.language;
  const char *text = chapter->text[language], *example = attn_cli_learn_example(chapter, language);
  struct attn_cli_buffer buffer = {NULL, 0, 0, 0};
  const attn_sink sink = attn_cli_buffer_sink(&buffer);
  char title[TITLE_BYTES], heading[TITLE_BYTES + 16];
  attn_lesson *lesson;
  attn_cli_learn_title(chapter, language, title);
  snprintf(heading, sizeof heading, "%d. %s", n + 1, title);
  put_links(&sink, n, language);
  sink.write(sink.context, text, (size_t)(example - text));
  attn_cli_learn_put(&sink, language, LEARN_PAGE_EXERCISES, LEARN_NUMBER(n + 1), NULL, NULL);
  attn_status status = attn_lesson_read(text, strlen(text), chapter->name, &lesson, err);
  if (!status) status = attn_cli_buffer_end(&buffer, err);
  if (!status) status = write_page(set, chapter->name, heading, buffer.bytes, lesson, err);
  attn_lesson_free(lesson);
  free(buffer.bytes);
  return status;
}

static attn_status write_index(struct learn_page_set *set, attn_error *err) {
  struct attn_cli_buffer buffer = {NULL, 0, 0, 0};
  const attn_sink sink = attn_cli_buffer_sink(&buffer);
  const int32_t language = set->style.language;
  char title[TITLE_BYTES];
  for (int n = 0; n < attn_cli_learn_chapter_count; n++) {
    attn_cli_learn_title(&attn_cli_learn_chapters[n], language, title);
    attn_cli_write(&sink, "%d. ", n + 1);
    put_link(&sink, title, attn_cli_learn_chapters[n].name, language);
    attn_cli_write(&sink, "\n");
  }
  attn_cli_write(&sink, "\n"), put_other(&sink, "index", language), attn_cli_write(&sink, "\n");
  attn_status status = attn_cli_buffer_end(&buffer, err);
  if (!status)
    status = write_page(set, "index", attn_cli_learn_word(LEARN_TITLE, language), buffer.bytes,
                        NULL, err);
  free(buffer.bytes);
  return status;
}

static attn_status write_pages(struct learn_page_set *set, attn_error *err) {
  attn_status status = ATTN_OK;
  for (int32_t language = 0; language < 2 && !status; language++) {
    set->style.language = language;
    for (int n = 0; n < attn_cli_learn_chapter_count && !status; n++)
      status = write_chapter(set, n, err);
    if (!status) status = write_index(set, err);
  }
  return status;
}

attn_status attn_cli_learn_pages(const char *folder, const attn_style *style, attn_error *err) {
  struct learn_page_set set = {.style = *style};
  attn_status status = attn_cli_page_folder_begin(&set.folder, folder, err);
  if (!status) status = write_pages(&set, err);
  if (!status) status = attn_cli_page_folder_finish(&set.folder, err);
  attn_cli_page_folder_end(&set.folder);
  return status;
}
