#include "check_folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "console.h"
#include "picture_files.h"

/* With the reason from errno. */
static attn_status fail_path(attn_error *err, const char *path, const char *what) {
  *err = (attn_error){.status = ATTN_ERR_FILE, .offset = -1};
  snprintf(err->message, sizeof err->message, "%.150s: %s%s%s", path, what, errno ? ": " : "",
           errno ? strerror(errno) : "");
  return ATTN_ERR_FILE;
}

/* "folder/name"; NULL: no memory. */
static char *joined(const char *folder, const char *name) {
  size_t bytes = strlen(folder) + strlen(name) + 2;
  char *path = malloc(bytes);
  if (path) snprintf(path, bytes, "%s/%s", folder, name);
  return path;
}

/* ---- The documents of a folder ---- */

static int is_document(const char *name) {
  static const char *const ends[] = {".md", ".markdown", ".txt", ".py", ".ipynb"};
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
  if (!d) return fail_path(err, folder, "cannot open the folder");
  for (struct dirent *one; !status && (one = readdir(d));)
    if (is_document(one->d_name)) status = add_path(list, joined(folder, one->d_name), err);
  closedir(d);
  if (!status && list->count == first)
    return errno = 0,
           fail_path(err, folder, "the folder has no .md, .markdown, .txt, .py or .ipynb");
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
                                 attn_error *err) {
  struct stat info;
  size_t bytes = strlen(folder) + 32, length = strlen(folder);
  *p = (struct attn_cli_check_pages){.folder = folder};
  if (!lstat(folder, &info))
    return errno = 0, fail_path(err, folder, "exists; name a new folder for the pages");
  while (length > 1 && folder[length - 1] == '/') length--;
  char *temporary = malloc(bytes);
  p->entry = calloc((size_t)documents + 1, sizeof *p->entry);
  if (!temporary || !p->entry) return free(temporary), attn_cli_no_memory(err);
  snprintf(temporary, bytes, "%.*s.tmp-%ld", (int)length, folder, (long)getpid());
  if (mkdir(temporary, 0777)) {
    free(temporary);
    return fail_path(err, folder, "cannot create the folder");
  }
  p->temporary = temporary;
  return ATTN_OK;
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

static attn_status write_page(const struct attn_cli_check_pages *p, const char *name,
                              const struct attn_cli_buffer *buffer, attn_error *err) {
  char *path = joined(p->temporary, name);
  if (!path) return attn_cli_no_memory(err);
  attn_status status = attn_file_write(path, buffer->bytes, buffer->size, err);
  free(path);
  return status;
}

attn_status attn_cli_pages_add(struct attn_cli_check_pages *p, const char *file,
                               attn_lesson *lesson, attn_check *check, const char *text,
                               size_t bytes, const attn_error *problem, const attn_style *style,
                               attn_error *err) {
  attn_check_entry *entry = &p->entry[p->count++];
  char name[PAGE_NAME_BYTES];
  *entry = (attn_check_entry){.lesson = lesson, .check = check, .file = strdup(file)};
  if (!entry->file) return attn_cli_no_memory(err);
  if (!lesson || !check) {
    entry->problem = strdup(problem->message);
    return entry->problem ? ATTN_OK : attn_cli_no_memory(err);
  }
  struct attn_cli_buffer buffer = {NULL, 0, 0, 0};
  const attn_sink sink = attn_cli_buffer_sink(&buffer);
  page_name(name, p->count, file);
  entry->page = strdup(name);
  attn_status status = entry->page ? attn_check_draw(lesson, check, text, bytes, style, &sink, err)
                                   : attn_cli_no_memory(err);
  if (status && buffer.failed) status = attn_cli_no_memory(err);
  if (!status) status = write_page(p, name, &buffer, err);
  free(buffer.bytes);
  return status;
}

attn_status attn_cli_pages_finish(struct attn_cli_check_pages *p, const attn_style *style,
                                  attn_error *err) {
  struct attn_cli_buffer buffer = {NULL, 0, 0, 0};
  const attn_sink sink = attn_cli_buffer_sink(&buffer);
  attn_status status = attn_check_draw_index(p->entry, p->count, style, &sink, err);
  if (status && buffer.failed) status = attn_cli_no_memory(err);
  if (!status) status = write_page(p, "index.html", &buffer, err);
  free(buffer.bytes);
  if (status) return status;
  if (rename(p->temporary, p->folder)) return fail_path(err, p->folder, "cannot create the folder");
  free(p->temporary), p->temporary = NULL;
  printf("wrote "), attn_cli_print_text(p->folder, stdout), puts("/index.html");
  return ATTN_OK;
}

static void remove_page(const struct attn_cli_check_pages *p, const char *name) {
  char *path = name ? joined(p->temporary, name) : NULL;
  if (path) unlink(path);
  free(path);
}

void attn_cli_pages_end(struct attn_cli_check_pages *p) {
  if (p->temporary) remove_page(p, "index.html");
  for (int n = 0; n < p->count; n++) {
    attn_check_entry *entry = &p->entry[n];
    if (p->temporary) remove_page(p, entry->page);
    attn_lesson_free((attn_lesson *)entry->lesson);
    attn_check_free((attn_check *)entry->check);
    free((char *)entry->file), free((char *)entry->page), free((char *)entry->problem);
  }
  if (p->temporary) rmdir(p->temporary);
  free(p->temporary), free(p->entry);
  *p = (struct attn_cli_check_pages){.folder = NULL};
}
