/* file.h -- reads bytes from a file or from memory; writes files atomically. */
#ifndef ATTN_IO_FILE_H
#define ATTN_IO_FILE_H

#include <stddef.h>

#include "attn/attn.h"

struct attn_watch; /* watch.h */

/* Fails with "path: cannot what: No such file or directory" from errno, in English in every locale:
 * ATTN_ERR_FILE or ATTN_ERR_MEMORY. */
attn_status attn_fail_errno(const char *path, const char *what, attn_error *err);

/* Fails with "path: is not a regular file; choose another path". */
attn_status attn_fail_not_regular(const char *path, attn_error *err);

/* ---- Reading ------------------------------------------------------------------- */

/* Bytes of a known size: a regular file, or memory. */
struct attn_bytes {
  const unsigned char *memory; /* NULL: a file */
  int fd;
  size_t size;
  const char *path; /* for messages */
};

attn_status attn_bytes_open(struct attn_bytes *bytes, const char *path, attn_error *err);
void attn_bytes_close(struct attn_bytes *bytes); /* fine after a failed attn_bytes_open */

/* Copies count bytes from offset; the caller has checked them against size. A file that has shrunk
 * is an error, not a signal: files are not mapped. */
attn_status attn_bytes_get(const struct attn_bytes *bytes, size_t offset, void *to, size_t count,
                           attn_error *err);

/* Reads a whole file; the caller frees *text, which is NULL after a failure. Reports bytes to
 * watch, or NULL. ATTN_ERR_FORMAT: more than max bytes. */
attn_status attn_file_read(const char *path, size_t max, struct attn_watch *watch, char **text,
                           size_t *size, attn_error *err);

/* ---- Writing ------------------------------------------------------------------- */

/* Resolves the path of an output: follows links, makes the folder absolute. The caller frees
 * *target. ATTN_ERR_FILE: the folder does not exist, or the path is not a regular file or not
 * writable, which a rename would replace anyway. */
attn_status attn_file_target(const char *path, char **target, attn_error *err);

/* Whether a file can be created in the target's folder. */
attn_status attn_file_writable(const char *target, attn_error *err);

/* A file that appears under its name only when it is complete: written to a temporary file in the
 * same folder, fsynced, renamed. Files left by killed writers are removed first (lock.h). Other
 * hard links of a replaced file keep the old content. */
struct attn_file_writer {
  int fd;
  char *path, *temporary;
};
attn_status attn_file_begin(struct attn_file_writer *w, const char *path, attn_error *err);
attn_status attn_file_put(struct attn_file_writer *w, const void *bytes, size_t size,
                          attn_error *err);
attn_status attn_file_finish(struct attn_file_writer *w,
                             attn_error *err); /* on disk, not renamed yet */
/* After finish. gone: NULL, or a file that this one makes invalid; it is removed just before this
 * one appears. */
attn_status attn_file_commit(struct attn_file_writer *w, const char *gone, attn_error *err);
void attn_file_abandon(struct attn_file_writer *w); /* fine after commit and for {-1, NULL, NULL} */

#endif
