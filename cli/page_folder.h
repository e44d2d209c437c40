/* page_folder.h -- a folder of pages that appears when it is complete. */
#ifndef ATTN_CLI_PAGE_FOLDER_H
#define ATTN_CLI_PAGE_FOLDER_H

#include "picture_files.h"

struct attn_cli_page_folder {
  const char *path; /* must outlive it */
  char *temporary;  /* where the pages are until then; NULL: finished, or not begun */
  char **page;      /* their names */
  int count;
  struct attn_cli_buffer text; /* of the next page */
};

/* ATTN_ERR_FILE: the path exists, or the folder cannot be created. */
attn_status attn_cli_page_folder_begin(struct attn_cli_page_folder *folder, const char *path,
                                       attn_error *err);

/* The sink of the next page, and the end of the page: drawn is the status of what wrote it. */
attn_sink attn_cli_page_folder_sink(struct attn_cli_page_folder *folder);
attn_status attn_cli_page_folder_add(struct attn_cli_page_folder *folder, const char *name,
                                     attn_status drawn, attn_error *err);

/* Gives the folder its name. */
attn_status attn_cli_page_folder_finish(struct attn_cli_page_folder *folder, attn_error *err);

/* Removes what was written unless the folder is finished. */
void attn_cli_page_folder_end(struct attn_cli_page_folder *folder);

#endif
