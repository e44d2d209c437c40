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

struct check_options {
  attn_style style;
  int json, quiet, reading;
  const char *html;
  struct attn_cli_check_pages *pages; /* of several documents, or NULL */
};

static int report_problem(const struct attn_cli_checked *d, const struct check_options *o) {
  attn_error err;
  const attn_sink sink = attn_cli_stdout();
  if (o->json) attn_check_print_json(d->path, NULL, NULL, &d->problem, &sink, &err);
  return attn_cli_report_error(d->path, &d->problem);
}

static int print_result(const struct attn_cli_checked *d, const struct check_options *o) {
  attn_error err;
  const attn_sink sink = attn_cli_stdout();
  if (o->json)
    attn_check_print_json(d->path, d->lesson, d->check, NULL, &sink, &err);
  else if (!o->quiet)
    attn_check_print(d->lesson, d->check, &o->style, &sink, &err);
  if (o->reading && !o->json && !o->quiet) {
    puts("");
    attn_check_print_reading(d->lesson, d->check, &o->style, &sink, &err);
  }
  if (d->check->judgement == ATTN_JUDGED_NOT_GIVEN) return EXIT_TROUBLE;
  return d->check->judgement >= ATTN_JUDGED_CARRIED ? EXIT_FOUND : EXIT_OK;
}

static attn_status write_page(const struct attn_cli_checked *d, const struct check_options *o,
                              attn_error *err) {
  struct attn_cli_buffer buffer = {NULL, 0, 0, 0};
  const attn_sink sink = attn_cli_buffer_sink(&buffer);
  attn_status status =
      attn_check_draw(d->lesson, d->check, d->text, d->bytes, &o->style, &sink, err);
  status = attn_cli_buffer_save(&buffer, o->html, status, err);
  if (!status) attn_cli_print_written(o->html, "");
  return status;
}

static int check_file(const char *path, const struct check_options *o) {
  struct attn_cli_checked d = {.path = path};
  attn_error err;
  attn_status status = attn_cli_read_document(path, &d.lesson, &d.text, &d.bytes, &d.problem);
  if (!status) status = attn_lesson_check(d.lesson, &d.check, &d.problem);
  int result = status ? report_problem(&d, o) : print_result(&d, o);
  if (o->pages && attn_cli_pages_add(o->pages, &d, &err)) {
    o->pages->failed = 1;
    result = attn_cli_report_error(NULL, &err);
  } else if (o->html && !o->pages && !status && write_page(&d, o, &err)) {
    result = attn_cli_report_error(NULL, &err);
  }
  free(d.text);
  attn_check_free(d.check);
  attn_lesson_free(d.lesson);
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
  attn_status status = attn_cli_pages_begin(&pages, o->html, list->count, &o->style, &err);
  if (!status) result = check_documents(list, o);
  if (!status && !pages.failed) status = attn_cli_pages_finish(&pages, &err);
  if (status) result = attn_cli_report_error(NULL, &err);
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
    return attn_cli_report_error(NULL, &err);
  int result = o->html && is_folder_of_pages(&list, files, argv) ? check_to_folder(&list, o)
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
                                          {"--html", OPTION_TEXT, &o.html, NULL},
                                          ATTN_CLI_STYLE_OPTIONS(&style)};
  const int ended = attn_cli_parse_options(argc, argv, check_txt, ATTN_CLI_TABLE(table), &files);
  if (ended >= 0) return ended;
  if (!files) return attn_cli_print_usage_error("expected a file");
  if (o.html && o.json) return attn_cli_print_usage_error("--html writes a page; leave out --json");
  for (int n = 1; n <= files; n++)
    if (attn_cli_is_document(o.html, argv[n]))
      return attn_cli_print_usage_error("%s is the document itself; name another file", o.html);
  if (attn_cli_parse_style(&style, &o.style)) return EXIT_TROUBLE;
  return check_all(files, argv, &o);
}
