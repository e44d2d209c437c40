/* page_folder.h -- a folder of pages that appears when it is complete. */
#ifndef ATTN_CLI_PAGE_FOLDER_H
#define ATTN_CLI_PAGE_FOLDER_H

#include "attn/io.h"

struct attn_cli_page_folder {
  const char *path; /* must outlive it */
  char *temporary;  /* where the pages are until then; NULL: finished, or not begun */
  char **page;      /* their names */
  int count;
};

/* ATTN_ERR_FILE: the path exists, or the folder cannot be created. */
attn_status attn_cli_page_folder_begin(struct attn_cli_page_folder *folder, const char *path,
                                       attn_error *err);

/* Writes a page: draw writes it to a sink. */
attn_status attn_cli_page_folder_add(struct attn_cli_page_folder *folder, const char *name,
                                     attn_status (*draw)(const void *data, const attn_sink *sink,
                                                         attn_error *err),
                                     const void *data, attn_error *err);

/* Gives the folder its name. */
attn_status attn_cli_page_folder_finish(struct attn_cli_page_folder *folder, attn_error *err);

/* Removes what was written unless the folder is finished. */
void attn_cli_page_folder_end(struct attn_cli_page_folder *folder);

#endif
