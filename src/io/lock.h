/* lock.h -- the temporary file of an output, and the lock on its name.
 *
 * Both are locked (flock) while their process runs. An unlocked one was left by a killed process;
 * the next writer into the folder removes it. On file systems without locks, and on network file
 * systems, whose locks may be local to this machine, nothing is removed, and the last of several
 * writers of one name wins. */
#ifndef ATTN_IO_LOCK_H
#define ATTN_IO_LOCK_H

#include "attn/attn.h"

#define ATTN_TEMPORARY_PREFIX ".attn-" /* followed by a unique part */
#define ATTN_PART_SUFFIX ".part"
#define ATTN_LOCK_SUFFIX ".lock"

/* The folder part of an absolute path, with name_bytes of space for a name; the caller frees it. */
char *attn_temporary_path(const char *path, size_t name_bytes);

/* Locks fd, which was opened as name in folder. Returns 1: locked; 0: locked by another process, or
 * removed meanwhile; -1: locks are not supported. */
int attn_lock_take(int folder, const char *name, int fd);

/* Removes the files that killed processes left in a folder. */
void attn_lock_clean(const char *folder);

/* A lock on the absolute name of an output. */
struct attn_lock {
  int fd;
  char *path; /* NULL: not locked */
};

/* Waits for at most that many milliseconds; attn_lock_clean holds a lock for less than 20.
 * ATTN_ERR_FILE: another process holds it, or the folder is not writable; ATTN_ERR_MEMORY. If the
 * file system does not support locks or names as long as the lock's, it succeeds without a lock. */
attn_status attn_lock_begin(struct attn_lock *lock, const char *target, int milliseconds,
                            attn_error *err);
void attn_lock_end(struct attn_lock *lock); /* fine without a path */

#endif
