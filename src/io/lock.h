/* lock.h -- what stands beside an output while it is made: its part, and the lock on its name.
 *
 * Both are locked (flock) as long as their process lives. One that nobody holds was left by a
 * process that was killed, and whoever writes into the folder next removes it. Where there are no
 * locks, or where they may be of this machine alone (file systems of a network), nothing is
 * removed, and of several writers of one name the last one's file stays. */
#ifndef ATTN_IO_LOCK_H
#define ATTN_IO_LOCK_H

#include "attn/attn.h"

#define ATTN_TEMPORARY_PREFIX ".attn-" /* and what makes it a name of its own */
#define ATTN_PART_SUFFIX ".part"
#define ATTN_LOCK_SUFFIX ".lock"

/* The folder part of an absolute path, then room for a name; to be freed. */
char *attn_temporary_path(const char *path, size_t room);

/* 1: fd, which was opened as name in folder, is ours now; 0: somebody else's, or gone meanwhile;
 * -1: there are no locks. */
int attn_lock_take(int folder, const char *name, int fd);

/* Removes what was left over in a folder. */
void attn_lock_clean(const char *folder);

/* A lock on the name of an output, which is absolute. */
struct attn_lock {
  int fd;
  char *path; /* NULL: nothing is locked */
};

/* Waits at most so many milliseconds; attn_lock_clean has a lock for less than 20.
 * ATTN_ERR_FILE: another process has it, or the folder takes no file; ATTN_ERR_MEMORY. Where the
 * file system has no locks, or no room for the lock's longer name, every process gets it. */
attn_status attn_lock_begin(struct attn_lock *lock, const char *target, int milliseconds,
                            attn_error *err);
void attn_lock_end(struct attn_lock *lock); /* fine of one without a path */

#endif
