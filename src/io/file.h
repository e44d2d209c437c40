/* file.h -- bytes from a file or from memory; files written whole or not at all. */
#ifndef ATTN_IO_FILE_H
#define ATTN_IO_FILE_H

#include <stddef.h>

#include "attn/attn.h"

struct attn_watch; /* watch.h */

/* "path: cannot what: No such file or directory", as errno has it, in English whatever the locale:
 * ATTN_ERR_FILE, or ATTN_ERR_MEMORY. */
attn_status attn_fail_errno(const char *path, const char *what, attn_error *err);

/* ---- Reading ------------------------------------------------------------------- */

/* Bytes whose number is known before any of them is believed: a regular file, or memory. */
struct attn_bytes {
  const unsigned char *memory; /* NULL: a file */
  int fd;
  size_t size;
  const char *path; /* for messages */
};

attn_status attn_bytes_open(struct attn_bytes *bytes, const char *path, attn_error *err);
void attn_bytes_close(struct attn_bytes *bytes);

/* Copies count bytes from offset; the caller has checked them against size. A file that became
 * shorter meanwhile is an error, not a signal: nothing is mapped. */
attn_status attn_bytes_get(const struct attn_bytes *bytes, size_t offset, void *to, size_t count,
                           attn_error *err);

/* All of a file, to be freed; NULL after a failure. watch, or NULL, is told of bytes.
 * ATTN_ERR_FORMAT: it has more than most bytes. */
attn_status attn_file_read(const char *path, size_t most, struct attn_watch *watch, char **text,
                           size_t *size, attn_error *err);

/* ---- Writing ------------------------------------------------------------------- */

/* The name a file will have when it is there: links followed, folder made absolute; the caller
 * frees *target. ATTN_ERR_FILE: no such folder, or what is there is no regular file, or a file
 * without permission to write it: a rename would replace it all the same. */
attn_status attn_file_target(const char *path, char **target, attn_error *err);

/* May a file be made in the folder of this target? */
attn_status attn_file_writable(const char *target, attn_error *err);

/* A file that appears under its name only when it is complete: written beside, fsynced, renamed.
 * What killed writers left in the folder is removed first (lock.h). Other hard links of a file that
 * is replaced keep what it was. */
struct attn_file_writer {
  int fd;
  char *path, *beside;
};
attn_status attn_file_begin(struct attn_file_writer *w, const char *path, attn_error *err);
attn_status attn_file_put(struct attn_file_writer *w, const void *bytes, size_t size,
                          attn_error *err);
attn_status attn_file_finish(struct attn_file_writer *w,
                             attn_error *err); /* on disk, not in place */
/* After finish. gone: NULL, or a file of the past that must not stand beside this one: it is
 * removed right before this one appears. */
attn_status attn_file_commit(struct attn_file_writer *w, const char *gone, attn_error *err);
void attn_file_abandon(struct attn_file_writer *w); /* fine after commit and of {-1, NULL, NULL} */

#endif
