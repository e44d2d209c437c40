#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"

static attn_status failed(attn_error *err, const char *path, const char *what) {
  return attn_fail(err, ATTN_ERR_FILE, NULL, "%.150s: cannot %s: %s", path, what, strerror(errno));
}

static attn_status read_all(int fd, const char *path, char *to, size_t size, attn_error *err) {
  for (size_t done = 0; done < size;) {
    ssize_t n = read(fd, to + done, size - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failed(err, path, "read");
    if (n == 0)
      return attn_fail(err, ATTN_ERR_FILE, NULL, "%.150s: became shorter while it was read", path);
    done += (size_t)n;
  }
  return ATTN_OK;
}

attn_status attn_file_read(const char *path, void **bytes, size_t *size, attn_error *err) {
  struct stat info;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  *bytes = NULL;
  if (fd < 0) return failed(err, path, "open");
  attn_status status = ATTN_OK;
  if (fstat(fd, &info)) {
    status = failed(err, path, "read");
  } else if (!S_ISREG(info.st_mode)) {
    status = attn_fail(err, ATTN_ERR_FILE, NULL, "%.150s: is not a regular file", path);
  } else {
    *size = (size_t)info.st_size;
    *bytes = malloc(*size ? *size : 1);
    status = *bytes ? read_all(fd, path, *bytes, *size, err)
                    : attn_fail(err, ATTN_ERR_MEMORY, NULL, "%.150s: no memory for its %zu bytes",
                                path, *size);
  }
  close(fd);
  if (status) free(*bytes), *bytes = NULL;
  return status;
}

attn_status attn_file_begin(struct attn_file_writer *w, const char *path, attn_error *err) {
  size_t bytes = strlen(path) + 16;
  *w = (struct attn_file_writer){-1, strdup(path), malloc(bytes)};
  if (!w->path || !w->beside) {
    attn_file_abandon(w);
    return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for a file name");
  }
  snprintf(w->beside, bytes, "%s.XXXXXX", path);
  w->fd = mkstemp(w->beside);
  if (w->fd < 0) {
    free(w->beside);
    w->beside = NULL; /* nothing to remove */
    attn_status status = failed(err, path, "create");
    attn_file_abandon(w);
    return status;
  }
  /* mkstemp makes it private; a file made the usual way obeys the umask. */
  mode_t mask = umask(0);
  umask(mask);
  fchmod(w->fd, 0666 & ~mask);
  return ATTN_OK;
}

attn_status attn_file_put(struct attn_file_writer *w, const void *bytes, size_t size,
                          attn_error *err) {
  for (size_t done = 0; done < size;) {
    ssize_t n = write(w->fd, (const char *)bytes + done, size - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failed(err, w->path, "write");
    done += (size_t)n;
  }
  return ATTN_OK;
}

/* The rename itself must survive a power cut as well: it lives in the folder. */
static void sync_folder(char *path) {
  int fd = open(dirname(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  fsync(fd);
  close(fd);
}

attn_status attn_file_commit(struct attn_file_writer *w, attn_error *err) {
  attn_status status = ATTN_OK;
  if (fsync(w->fd)) status = failed(err, w->path, "write");
  if (close(w->fd) && !status) status = failed(err, w->path, "write");
  w->fd = -1;
  if (!status && rename(w->beside, w->path)) status = failed(err, w->path, "rename into place");
  if (!status) {
    free(w->beside);
    w->beside = NULL;
    sync_folder(w->path);
  }
  attn_file_abandon(w);
  return status;
}

void attn_file_abandon(struct attn_file_writer *w) {
  if (w->fd >= 0) close(w->fd);
  if (w->beside) unlink(w->beside);
  free(w->beside);
  free(w->path);
  *w = (struct attn_file_writer){-1, NULL, NULL};
}
