#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attn/io.h"
#include "error.h"
#include "file.h"
#include "lock.h"

static attn_status no_memory(attn_error *err) {
  return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for a file name");
}

/* folder "/" base, the folder made absolute. */
static attn_status join(const char *path, char *folder, const char *base, char **target,
                        attn_error *err) {
  char *absolute = realpath(folder, NULL);
  if (!absolute) return attn_fail_errno(path, "create", err);
  size_t bytes = strlen(absolute) + strlen(base) + 2;
  *target = malloc(bytes);
  if (*target) snprintf(*target, bytes, "%s/%s", absolute, base);
  free(absolute);
  return *target ? ATTN_OK : no_memory(err);
}

static attn_status target_of_new(const char *path, char **target, attn_error *err) {
  char *one = strdup(path), *two = strdup(path); /* dirname and basename modify their argument */
  attn_status status =
      one && two ? join(path, dirname(one), basename(two), target, err) : no_memory(err);
  free(one);
  free(two);
  return status;
}

attn_status attn_file_target(const char *path, char **target, attn_error *err) {
  struct stat info;
  *target = NULL;
  if (!*path) return attn_fail(err, ATTN_ERR_FILE, "path", "the file name is empty");
  if (path[strlen(path) - 1] == '/') return attn_fail_not_regular(path, err);
  if (stat(path, &info)) {
    /* A dangling link: a rename would replace the link instead of creating its target. */
    int dangling = errno == ENOENT && !lstat(path, &info);
    if (dangling)
      return attn_fail(err, ATTN_ERR_FILE, NULL, "%.150s: is a dangling symbolic link", path);
    return errno == ENOENT ? target_of_new(path, target, err)
                           : attn_fail_errno(path, "create", err);
  }
  /* A rename would replace a device, a folder or a read-only file. */
  if (!S_ISREG(info.st_mode)) return attn_fail_not_regular(path, err);
  if (!(info.st_mode & 0222) || access(path, W_OK))
    return attn_fail(err, ATTN_ERR_FILE, NULL,
                     "%.120s: is read-only; choose another path or make it writable (chmod u+w)",
                     path);
  *target = realpath(path, NULL);
  return *target ? ATTN_OK : attn_fail_errno(path, "create", err);
}

attn_status attn_file_writable(const char *target, attn_error *err) {
  char *folder = strdup(target);
  if (!folder) return no_memory(err);
  attn_status status = ATTN_OK;
  if (access(dirname(folder), W_OK | X_OK)) status = attn_fail_errno(target, "create", err);
  free(folder);
  return status;
}

/* Creates and locks a file of a unique name. Retries if a cleaner saw it before it was locked and
 * removed it. */
static int create(char *name, mode_t mode) {
  char *end = name + strlen(name);
  for (int n = 0; n < 1000; n++) {
    snprintf(end, 60, ATTN_TEMPORARY_PREFIX "%ld-%d" ATTN_PART_SUFFIX, (long)getpid(), n);
    int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd < 0 && errno != EEXIST) return fd;
    if (fd >= 0 && attn_lock_take(AT_FDCWD, name, fd)) return fd;
    if (fd >= 0) close(fd);
  }
  errno = EEXIST;
  return -1;
}

attn_status attn_file_begin(struct attn_file_writer *w, const char *path, attn_error *err) {
  struct stat info;
  *w = (struct attn_file_writer){-1, NULL, NULL};
  attn_status status = attn_file_target(path, &w->path, err);
  if (status) return status;
  w->temporary = attn_temporary_path(w->path, 64);
  if (!w->temporary) return attn_file_abandon(w), no_memory(err);
  attn_lock_clean(w->temporary);
  /* A replaced file keeps its permissions, from the first byte on. */
  int exists = !stat(w->path, &info);
  w->fd = create(w->temporary, exists ? info.st_mode & 0777 : 0666);
  if (w->fd < 0) {
    status = attn_fail_errno(path, "create", err);
    free(w->temporary);
    w->temporary = NULL; /* nothing to remove */
    attn_file_abandon(w);
    return status;
  }
  if (exists && fchmod(w->fd, info.st_mode & 0777))
    errno = 0; /* best effort: umask may have removed bits */
  return ATTN_OK;
}

attn_status attn_file_put(struct attn_file_writer *w, const void *bytes, size_t size,
                          attn_error *err) {
  for (size_t done = 0; done < size;) {
    ssize_t n = write(w->fd, (const char *)bytes + done, size - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return attn_fail_errno(w->path, "write", err);
    done += (size_t)n;
  }
  return ATTN_OK;
}

attn_status attn_file_finish(struct attn_file_writer *w, attn_error *err) {
  if (fsync(w->fd)) return attn_fail_errno(w->path, "write", err);
  /* Some file systems report errors at close; our own descriptor keeps the lock. */
  int other = dup(w->fd);
  return other >= 0 && close(other) ? attn_fail_errno(w->path, "write", err) : ATTN_OK;
}

/* Syncs the folder, so that the rename survives a power cut. Best effort if the folder cannot be
 * opened or its file system does not support it. */
static int sync_folder(char *path) {
  int fd = open(dirname(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return 0;
  int failure = fsync(fd) && errno != EINVAL && errno != ENOTSUP ? errno : 0;
  close(fd);
  errno = failure;
  return failure;
}

attn_status attn_file_commit(struct attn_file_writer *w, const char *gone, attn_error *err) {
  if (gone && unlink(gone) && errno != ENOENT) return attn_fail_errno(gone, "remove", err);
  if (rename(w->temporary, w->path)) return attn_fail_errno(w->path, "rename into place", err);
  free(w->temporary);
  w->temporary = NULL;
  attn_status status =
      sync_folder(w->path) ? attn_fail_errno(w->path, "sync its folder", err) : ATTN_OK;
  attn_file_abandon(w);
  return status;
}

void attn_file_abandon(struct attn_file_writer *w) {
  if (w->fd >= 0) close(w->fd);
  if (w->temporary) unlink(w->temporary);
  free(w->temporary);
  free(w->path);
  *w = (struct attn_file_writer){-1, NULL, NULL};
}

attn_status attn_file_write(const char *path, const void *bytes, size_t size, attn_error *err) {
  struct attn_file_writer w = {-1, NULL, NULL};
  attn_status status = path ? attn_file_begin(&w, path, err)
                            : attn_fail(err, ATTN_ERR_ARGUMENT, "path", "path is NULL");
  if (!status) status = attn_file_put(&w, bytes, size, err);
  if (!status) status = attn_file_finish(&w, err);
  if (!status) status = attn_file_commit(&w, NULL, err);
  attn_file_abandon(&w);
  return status;
}
