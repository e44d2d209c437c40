#include "check_folder.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "console.h"

/* ---- The documents of a folder ---- */

static int is_document(const char *name) {
  static const char *const ends[] = {".md",  ".markdown", ".txt",  ".tex", ".csv",
                                     ".tsv", ".rst",      ".adoc", ".py",  ".ipynb"};
  const char *dot = strrchr(name, '.');
  for (size_t n = 0; dot && *name != '.' && n < sizeof ends / sizeof *ends; n++)
    if (!strcmp(dot, ends[n])) return 1;
  return 0;
}

static int by_name(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static attn_status add_path(struct attn_cli_documents *list, char *path, attn_error *err) {
  char **grown = path ? realloc(list->path, ((size_t)list->count + 1) * sizeof *grown) : NULL;
  if (!grown) {
    free(path);
    return attn_cli_no_memory(err);
  }
  list->path = grown;
  list->path[list->count++] = path;
  return ATTN_OK;
}

static attn_status add_folder(struct attn_cli_documents *list, const char *folder,
                              attn_error *err) {
  DIR *d = opendir(folder);
  const int first = list->count;
  attn_status status = ATTN_OK;
  if (!d) return attn_cli_fail_file(err, folder, "cannot open the folder");
  for (struct dirent *one; !status && (one = readdir(d));)
    if (is_document(one->d_name))
      status = add_path(list, attn_cli_join_path(folder, one->d_name), err);
  closedir(d);
  if (!status && list->count == first)
    return attn_cli_fail(err, ATTN_ERR_FILE,
                         "%.150s: the folder has no .md, .txt, .tex, .csv or other documents",
                         folder);
  if (!status)
    qsort(list->path + first, (size_t)(list->count - first), sizeof *list->path, by_name);
  return status;
}

attn_status attn_cli_list_documents(struct attn_cli_documents *list, char **arguments, int count,
                                    attn_error *err) {
  struct stat info;
  attn_status status = ATTN_OK;
  *list = (struct attn_cli_documents){NULL, 0};
  for (int n = 0; n < count && !status; n++)
    status = !stat(arguments[n], &info) && S_ISDIR(info.st_mode)
                 ? add_folder(list, arguments[n], err)
                 : add_path(list, strdup(arguments[n]), err);
  if (status) attn_cli_free_documents(list);
  return status;
}

void attn_cli_free_documents(struct attn_cli_documents *list) {
  for (int n = 0; n < list->count; n++) free(list->path[n]);
  free(list->path);
  *list = (struct attn_cli_documents){NULL, 0};
}

/* ---- A folder of pages ---- */

enum { PAGE_NAME_BYTES = 64 };

attn_status attn_cli_pages_begin(struct attn_cli_check_pages *p, const char *folder, int documents,
                                 const attn_style *style, attn_error *err) {
  *p = (struct attn_cli_check_pages){.style = style,
                                     .entry = calloc((size_t)documents + 1, sizeof *p->entry)};
  if (!p->entry) return attn_cli_no_memory(err);
  return attn_cli_page_folder_begin(&p->folder, folder, err);
}

/* "003-lesson.md.html": no character that a URL or a file system treats in a special way. */
static void page_name(char name[PAGE_NAME_BYTES], int number, const char *file) {
  const char *slash = strrchr(file, '/');
  int n = snprintf(name, PAGE_NAME_BYTES, "%03d-", number);
  for (file = slash ? slash + 1 : file; *file && n < PAGE_NAME_BYTES - 6; file++) {
    const char c = *file;
    const int plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    name[n++] = plain || c == '.' || c == '-' ? c : '_';
  }
  strcpy(name + n, ".html");
}

attn_status attn_cli_pages_add(struct attn_cli_check_pages *p, struct attn_cli_checked *d,
                               attn_error *err) {
  attn_check_entry *entry = &p->entry[p->count++];
  const attn_sink sink = attn_cli_page_folder_sink(&p->folder);
  char name[PAGE_NAME_BYTES];
  *entry = (attn_check_entry){.file = strdup(d->path)};
  if (!entry->file) return attn_cli_no_memory(err);
  if (!d->check) {
    entry->problem = strdup(d->problem.message);
    return entry->problem ? ATTN_OK : attn_cli_no_memory(err);
  }
  entry->lesson = d->lesson, entry->check = d->check;
  d->lesson = NULL, d->check = NULL;
  page_name(name, p->count, d->path);
  if (!(entry->page = strdup(name))) return attn_cli_no_memory(err);
  attn_status status =
      attn_check_draw(entry->lesson, entry->check, d->text, d->bytes, p->style, &sink, err);
  return attn_cli_page_folder_add(&p->folder, name, status, err);
}

attn_status attn_cli_pages_finish(struct attn_cli_check_pages *p, attn_error *err) {
  const attn_sink sink = attn_cli_page_folder_sink(&p->folder);
  attn_status status = attn_check_draw_index(p->entry, p->count, p->style, &sink, err);
  status = attn_cli_page_folder_add(&p->folder, "index.html", status, err);
  if (!status) status = attn_cli_page_folder_finish(&p->folder, err);
  if (status) return status;
  attn_cli_print_written(p->folder.path, "/index.html");
  return ATTN_OK;
}

void attn_cli_pages_end(struct attn_cli_check_pages *p) {
  attn_cli_page_folder_end(&p->folder);
  for (int n = 0; n < p->count; n++) {
    attn_check_entry *entry = &p->entry[n];
    attn_lesson_free((attn_lesson *)entry->lesson);
    attn_check_free((attn_check *)entry->check);
    free((char *)entry->file), free((char *)entry->page), free((char *)entry->problem);
  }
  free(p->entry);
  *p = (struct attn_cli_check_pages){.entry = NULL};
}
