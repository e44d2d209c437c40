/* check_folder.h -- attn check of several documents: the files of a folder, and a folder of pages.
 */
#ifndef ATTN_CLI_CHECK_FOLDER_H
#define ATTN_CLI_CHECK_FOLDER_H

#include "attn/picture.h"
#include "page_folder.h"

/* The arguments, each folder replaced by the documents in it (Markdown, text, Python, notebooks) in
 * the order of their names. */
struct attn_cli_documents {
  char **path;
  int count;
};
attn_status attn_cli_list_documents(struct attn_cli_documents *list, char **arguments, int count,
                                    attn_error *err);
void attn_cli_free_documents(struct attn_cli_documents *list);

/* A document and what was found in it. */
struct attn_cli_checked {
  const char *path;
  char *text; /* owned, as are lesson and check */
  size_t bytes;
  attn_lesson *lesson;
  attn_check *check;  /* NULL: it could not be read */
  attn_error problem; /* then why */
};

/* One page per document and index.html. */
struct attn_cli_check_pages {
  struct attn_cli_page_folder folder;
  const attn_style *style;
  attn_check_entry *entry; /* owns its members */
  int count, failed;       /* failed: a page could not be written */
};

/* ATTN_ERR_FILE: the folder exists, or cannot be created. */
attn_status attn_cli_pages_begin(struct attn_cli_check_pages *p, const char *folder, int documents,
                                 const attn_style *style, attn_error *err);

/* Writes the page of a document, if it was read, and takes over its lesson and check. */
attn_status attn_cli_pages_add(struct attn_cli_check_pages *p, struct attn_cli_checked *document,
                               attn_error *err);

/* Writes the index and finishes the folder. */
attn_status attn_cli_pages_finish(struct attn_cli_check_pages *p, attn_error *err);

/* Releases p; removes what was written unless it is finished. */
void attn_cli_pages_end(struct attn_cli_check_pages *p);

#endif
