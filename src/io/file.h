/* file.h -- whole files: read with their size known, written whole or not at all. */
#ifndef ATTN_IO_FILE_H
#define ATTN_IO_FILE_H

#include <stddef.h>

#include "attn/attn.h"

/* Reads a regular file; *bytes is the caller's to free. */
attn_status attn_file_read(const char *path, void **bytes, size_t *size, attn_error *err);

/* A file that appears under its name only when it is complete: written beside, fsynced, renamed. */
struct attn_file_writer {
  int fd;
  char *path, *beside;
};
attn_status attn_file_begin(struct attn_file_writer *w, const char *path, attn_error *err);
attn_status attn_file_put(struct attn_file_writer *w, const void *bytes, size_t size,
                          attn_error *err);
attn_status attn_file_commit(struct attn_file_writer *w, attn_error *err);
void attn_file_abandon(struct attn_file_writer *w); /* fine after commit, too */

#endif
