#include "page_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "console.h"

attn_status attn_cli_page_folder_begin(struct attn_cli_page_folder *f, const char *path,
                                       attn_error *err) {
  struct stat info;
  const size_t bytes = strlen(path) + 32;
  size_t length = strlen(path);
  *f = (struct attn_cli_page_folder){.path = path};
  if (!lstat(path, &info))
    return attn_cli_fail(err, ATTN_ERR_FILE, "%.150s: exists; name a new folder for the pages",
                         path);
  while (length > 1 && path[length - 1] == '/') length--;
  char *temporary = malloc(bytes);
  if (!temporary) return attn_cli_no_memory(err);
  snprintf(temporary, bytes, "%.*s.tmp-%ld", (int)length, path, (long)getpid());
  if (mkdir(temporary, 0777)) {
    attn_status status = attn_cli_fail_file(err, path, "cannot create the folder");
    free(temporary);
    return status;
  }
  f->temporary = temporary;
  return ATTN_OK;
}

/* The name is kept before its file exists. */
static attn_status keep_name(struct attn_cli_page_folder *f, const char *name, attn_error *err) {
  char **grown = realloc(f->page, ((size_t)f->count + 1) * sizeof *grown);
  if (grown) f->page = grown;
  if (!grown || !(grown[f->count] = strdup(name))) return attn_cli_no_memory(err);
  f->count++;
  return ATTN_OK;
}

attn_sink attn_cli_page_folder_sink(struct attn_cli_page_folder *f) {
  return attn_cli_buffer_sink(&f->text);
}

attn_status attn_cli_page_folder_add(struct attn_cli_page_folder *f, const char *name,
                                     attn_status drawn, attn_error *err) {
  char *path = attn_cli_join_path(f->temporary, name);
  attn_status status = path ? drawn : attn_cli_no_memory(err);
  if (!status) status = keep_name(f, name, err);
  status = attn_cli_buffer_save(&f->text, path, status, err);
  free(path);
  return status;
}

attn_status attn_cli_page_folder_finish(struct attn_cli_page_folder *f, attn_error *err) {
  if (rename(f->temporary, f->path))
    return attn_cli_fail_file(err, f->path, "cannot create the folder");
  free(f->temporary), f->temporary = NULL;
  return ATTN_OK;
}

static void remove_page(const struct attn_cli_page_folder *f, const char *name) {
  char *path = attn_cli_join_path(f->temporary, name);
  if (path) unlink(path);
  free(path);
}

void attn_cli_page_folder_end(struct attn_cli_page_folder *f) {
  for (int n = 0; n < f->count; n++) {
    if (f->temporary) remove_page(f, f->page[n]);
    free(f->page[n]);
  }
  if (f->temporary) rmdir(f->temporary);
  free(f->temporary), free(f->page);
  *f = (struct attn_cli_page_folder){.path = NULL};
}
