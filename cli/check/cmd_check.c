/* cmd_check.c -- attn check: check the numbers of worked examples. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "check_folder.h"
#include "command.h"
#include "console.h"
#include "help_files.h"
#include "picture_files.h"

struct check_options {
  attn_style style;
  int json, quiet, reading;
  struct attn_cli_pictures page;
  struct attn_cli_check_pages *pages; /* of several documents, or NULL */
};

static int report_file_error(const char *path, const struct check_options *o,
                             const attn_error *problem) {
  attn_error err;
  const attn_sink sink = attn_cli_stdout();
  if (o->json) attn_check_print_json(path, NULL, NULL, problem, &sink, &err);
  return attn_cli_report_error("check", path, problem);
}

static void print_text(const attn_lesson *lesson, const attn_check *check,
                       const struct check_options *o) {
  attn_error err;
  const attn_sink sink = attn_cli_stdout();
  attn_check_print(lesson, check, &o->style, &sink, &err);
  if (!o->reading) return;
  puts("");
  attn_check_print_reading(lesson, check, &o->style, &sink, &err);
}

static int print_result(const char *path, const attn_lesson *lesson, const attn_check *check,
                        const struct check_options *o) {
  attn_error err;
  const attn_sink sink = attn_cli_stdout();
  if (o->json)
    attn_check_print_json(path, lesson, check, NULL, &sink, &err);
  else if (!o->quiet)
    print_text(lesson, check, o);
  if (check->judgement == ATTN_JUDGED_NOT_GIVEN) return EXIT_TROUBLE;
  return check->judgement >= ATTN_JUDGED_CARRIED ? EXIT_FOUND : EXIT_OK;
}

/* ---- A page ---- */

struct checked_document {
  const attn_lesson *lesson;
  const attn_check *check;
  const char *text;
  size_t bytes;
  const attn_style *style;
};

static attn_status draw(const void *data, attn_picture_format format, const attn_sink *sink,
                        attn_error *err) {
  const struct checked_document *d = data;
  (void)format; /* html */
  return attn_check_draw(d->lesson, d->check, d->text, d->bytes, d->style, sink, err);
}

/* Writes the page that was requested; the pages of several documents then own lesson and check. */
static attn_status write_page(const struct check_options *o, const char *path, attn_lesson **lesson,
                              attn_check **check, const char *text, size_t bytes,
                              const attn_error *problem, attn_error *err) {
  if (!o->pages) {
    const struct checked_document document = {*lesson, *check, text, bytes, &o->style};
    return problem ? ATTN_OK : attn_cli_write_pictures(&o->page, draw, &document, err);
  }
  attn_lesson *own_lesson = problem ? NULL : *lesson;
  attn_check *own_check = problem ? NULL : *check;
  if (!problem) *lesson = NULL, *check = NULL;
  return attn_cli_pages_add(o->pages, path, own_lesson, own_check, text, bytes, problem, &o->style,
                            err);
}

static int check_file(const char *path, const void *options) {
  const struct check_options *o = options;
  attn_error problem, err;
  attn_lesson *lesson;
  attn_check *check = NULL;
  char *text = NULL;
  size_t bytes = 0;
  attn_status status = attn_cli_read_document(path, &lesson, &text, &bytes, &problem);
  if (!status) status = attn_lesson_check(lesson, &check, &problem);
  int result = status ? report_file_error(path, o, &problem) : print_result(path, lesson, check, o);
  if (write_page(o, path, &lesson, &check, text, bytes, status ? &problem : NULL, &err)) {
    result = attn_cli_report_error("check", NULL, &err);
    if (o->pages) o->pages->failed = 1;
  }
  free(text);
  attn_check_free(check);
  attn_lesson_free(lesson);
  return result;
}

/* ---- Several documents ---- */

/* Each document takes and frees some megabytes: glibc would return them to the system and fault
 * them in again, for a quarter of the time. */
static void keep_freed_memory(void) {
#ifdef __GLIBC__
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
  mallopt(M_MMAP_THRESHOLD, 16 << 20);
#endif
}

static int check_documents(const struct attn_cli_documents *list, const struct check_options *o) {
  int highest = EXIT_OK;
  if (list->count > 1) keep_freed_memory();
  for (int n = 0; n < list->count && !(o->pages && o->pages->failed); n++) {
    int status = check_file(list->path[n], o);
    if (status > highest) highest = status;
  }
  return highest;
}

static int check_to_folder(const struct attn_cli_documents *list, struct check_options *o) {
  struct attn_cli_check_pages pages;
  attn_error err;
  int result = EXIT_TROUBLE;
  o->pages = &pages;
  attn_status status = attn_cli_pages_begin(&pages, o->page.html, list->count, &err);
  if (!status) result = check_documents(list, o);
  if (!status && !pages.failed) status = attn_cli_pages_finish(&pages, &o->style, &err);
  if (status) result = attn_cli_report_error("check", NULL, &err);
  attn_cli_pages_end(&pages);
  return result;
}

static int is_folder_of_pages(const struct attn_cli_documents *list, int files, char **argv) {
  return list->count > 1 || (files == 1 && strcmp(list->path[0], argv[1]));
}

static int check_all(int files, char **argv, struct check_options *o) {
  struct attn_cli_documents list;
  attn_error err;
  if (attn_cli_list_documents(&list, argv + 1, files, &err))
    return attn_cli_report_error("check", NULL, &err);
  int result = o->page.html && is_folder_of_pages(&list, files, argv) ? check_to_folder(&list, o)
                                                                      : check_documents(&list, o);
  attn_cli_free_documents(&list);
  return result;
}

int attn_cmd_check(int argc, char **argv) {
  struct check_options o = {.json = 0};
  struct attn_cli_style_options style = ATTN_CLI_STYLE_DEFAULTS;
  int files;
  const struct attn_cli_option table[] = {{"--json", OPTION_FLAG, &o.json, NULL},
                                          {"--explain-reading", OPTION_FLAG, &o.reading, NULL},
                                          {"--quiet", OPTION_FLAG, &o.quiet, NULL},
                                          {"--html", OPTION_TEXT, &o.page.html, NULL},
                                          ATTN_CLI_STYLE_OPTIONS(&style)};
  const int ended = attn_cli_parse_options(argc, argv, check_txt, ATTN_CLI_TABLE(table), &files);
  if (ended >= 0) return ended;
  if (!files) return attn_cli_print_usage_error("check", "expected a file");
  if (o.page.html && o.json)
    return attn_cli_print_usage_error("check", "--html writes a page; leave out --json");
  if (attn_cli_parse_style("check", &style, &o.style)) return EXIT_TROUBLE;
  return check_all(files, argv, &o);
}
