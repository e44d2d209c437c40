#include "lock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/vfs.h>
#endif

#include "error.h"
#include "file.h"

/* Network file systems: their locks may not be visible to other machines. */
static int is_shared(int fd) {
#ifdef __linux__
  static const unsigned network[] = {
      0x6969 /* NFS */,      0xFF534D42 /* CIFS */, 0xFE534D42 /* SMB2 */,   0x01021997 /* 9P */,
      0x65735546 /* FUSE */, 0x00C36400 /* Ceph */, 0x0BD00BD0 /* Lustre */, 0x5346414F /* AFS */};
  struct statfs info;
  if (fstatfs(fd, &info)) return 1;
  for (size_t n = 0; n < sizeof network / sizeof *network; n++)
    if ((unsigned)info.f_type == network[n]) return 1;
#endif
  return 0;
}

/* Whether fd is still the file of that name: it may have been removed since it was opened. */
static int is_there(int folder, const char *name, int fd) {
  struct stat ours, there;
  return !fstat(fd, &ours) && !fstatat(folder, name, &there, AT_SYMLINK_NOFOLLOW) &&
         ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

int attn_lock_take(int folder, const char *name, int fd) {
  if (!flock(fd, LOCK_EX | LOCK_NB)) return is_there(folder, name, fd);
  return errno == EWOULDBLOCK || errno == EINTR ? 0 : -1;
}

static int is_left_over(const char *name) {
  const char *end = strrchr(name, '.');
  if (strncmp(name, ATTN_TEMPORARY_PREFIX, sizeof ATTN_TEMPORARY_PREFIX - 1) || !end) return 0;
  if (!strcmp(end, ATTN_LOCK_SUFFIX)) return 1;
  return !strcmp(end, ATTN_PART_SUFFIX) &&
         strspn(name + sizeof ATTN_TEMPORARY_PREFIX - 1, "0123456789-") ==
             (size_t)(end - name) - (sizeof ATTN_TEMPORARY_PREFIX - 1);
}

static void remove_stale(int folder, const char *name) {
  struct stat info;
  int fd = openat(folder, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return;
  if (!fstat(fd, &info) && S_ISREG(info.st_mode) && info.st_uid == geteuid() &&
      (!info.st_size || strstr(name, ATTN_PART_SUFFIX)) && attn_lock_take(folder, name, fd) == 1)
    unlinkat(folder, name, 0);
  close(fd);
}

void attn_lock_clean(const char *folder) {
  DIR *d = opendir(folder);
  if (d && !is_shared(dirfd(d)))
    for (struct dirent *e; (e = readdir(d));)
      if (is_left_over(e->d_name)) remove_stale(dirfd(d), e->d_name);
  if (d) closedir(d);
}

char *attn_temporary_path(const char *path, size_t name_bytes) {
  size_t folder = (size_t)(strrchr(path, '/') ? strrchr(path, '/') + 1 - path : 0);
  char *name = malloc(folder + name_bytes);
  if (name) memcpy(name, path, folder), name[folder] = 0;
  return name;
}

static attn_status refused(struct attn_lock *lock, const char *target, attn_error *err) {
  attn_status status = attn_fail_errno(target, "create", err);
  attn_lock_end(lock);
  return status;
}

attn_status attn_lock_begin(struct attn_lock *lock, const char *target, int milliseconds,
                            attn_error *err) {
  const char *base = strrchr(target, '/') + 1;
  size_t name_bytes = sizeof ATTN_TEMPORARY_PREFIX + strlen(base) + sizeof ATTN_LOCK_SUFFIX;
  *lock = (struct attn_lock){-1, attn_temporary_path(target, name_bytes)};
  if (!lock->path) return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for a file name");
  snprintf(lock->path + strlen(lock->path), name_bytes, ATTN_TEMPORARY_PREFIX "%s" ATTN_LOCK_SUFFIX,
           base);
  for (int tries = 0; tries <= milliseconds; tries++) {
    lock->fd = open(lock->path, O_RDONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (lock->fd < 0 && errno == ENAMETOOLONG) return ATTN_OK; /* the output's own name may fit */
    if (lock->fd < 0) return refused(lock, target, err);
    if (attn_lock_take(AT_FDCWD, lock->path, lock->fd)) return ATTN_OK;
    close(lock->fd), lock->fd = -1;
    nanosleep(&(struct timespec){0, 1000000}, NULL);
  }
  free(lock->path), lock->path = NULL;
  return attn_fail(err, ATTN_ERR_FILE, NULL,
                   "%.120s: is another run's output at this moment; wait for it, or name another",
                   target);
}

void attn_lock_end(struct attn_lock *lock) {
  if (lock->path && lock->fd >= 0) unlink(lock->path), close(lock->fd);
  free(lock->path);
  *lock = (struct attn_lock){-1, NULL};
}
