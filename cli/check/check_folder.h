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

/* One page per document and index.html. */
struct attn_cli_check_pages {
  struct attn_cli_page_folder folder;
  attn_check_entry *entry; /* owns its members */
  int count, failed;       /* failed: a page could not be written */
};

/* ATTN_ERR_FILE: the folder exists, or cannot be created. */
attn_status attn_cli_pages_begin(struct attn_cli_check_pages *p, const char *folder, int documents,
                                 attn_error *err);

/* Writes the page of a document, whose lesson and check p then owns; NULL: it could not be read,
 * for the reason in problem. */
attn_status attn_cli_pages_add(struct attn_cli_check_pages *p, const char *file,
                               attn_lesson *lesson, attn_check *check, const char *text,
                               size_t bytes, const attn_error *problem, const attn_style *style,
                               attn_error *err);

/* Writes the index and finishes the folder. */
attn_status attn_cli_pages_finish(struct attn_cli_check_pages *p, const attn_style *style,
                                  attn_error *err);

/* Releases p; removes what was written unless it is finished. */
void attn_cli_pages_end(struct attn_cli_check_pages *p);

#endif
