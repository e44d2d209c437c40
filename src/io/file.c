#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"
#include "watch.h"

enum { PIECE = 1 << 22 };

/* In English in every locale: strerror would translate. */
static void errno_text(int number, char *text, size_t bytes) {
  static const struct {
    int number;
    const char *text;
  } known[] = {{ENOENT, "No such file or directory"},
               {EACCES, "Permission denied"},
               {EPERM, "Permission denied"},
               {ENOTDIR, "Not a directory"},
               {EISDIR, "Is a directory"},
               {ENOSPC, "No space left on device"},
               {EDQUOT, "Disk quota exceeded"},
               {EROFS, "Read-only file system"},
               {EMFILE, "Too many open files"},
               {ENFILE, "Too many open files"},
               {ENAMETOOLONG, "File name too long"},
               {ELOOP, "Too many levels of symbolic links"},
               {EIO, "Input/output error"},
               {EFBIG, "File too large"},
               {ENOMEM, "Cannot allocate memory"}};
  snprintf(text, bytes, "error %d", number);
  for (size_t n = 0; n < sizeof known / sizeof *known; n++)
    if (known[n].number == number) snprintf(text, bytes, "%s", known[n].text);
}

attn_status attn_fail_errno(const char *path, const char *what, attn_error *err) {
  char text[128];
  int number = errno;
  attn_status status = number == ENOMEM ? ATTN_ERR_MEMORY : ATTN_ERR_FILE;
  errno_text(number, text, sizeof text);
  return attn_fail(err, status, NULL, "%.120s: cannot %s: %s", path, what, text);
}

attn_status attn_fail_not_regular(const char *path, attn_error *err) {
  return attn_fail(err, ATTN_ERR_FILE, NULL, "%.150s: is not a regular file; choose another path",
                   path);
}

attn_status attn_bytes_open(struct attn_bytes *bytes, const char *path, attn_error *err) {
  struct stat info;
  /* O_NONBLOCK: opening a pipe without a writer would block. */
  *bytes = (struct attn_bytes){NULL, open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), 0, path};
  if (bytes->fd < 0) return attn_fail_errno(path, "open", err);
  attn_status status = ATTN_OK;
  if (fstat(bytes->fd, &info))
    status = attn_fail_errno(path, "read", err);
  else if (!S_ISREG(info.st_mode))
    status = attn_fail_not_regular(path, err);
  else
    bytes->size = (size_t)info.st_size;
  if (status) attn_bytes_close(bytes);
  return status;
}

void attn_bytes_close(struct attn_bytes *bytes) {
  if (!bytes->memory && bytes->fd >= 0) close(bytes->fd);
  bytes->fd = -1;
}

attn_status attn_bytes_get(const struct attn_bytes *bytes, size_t offset, void *to, size_t count,
                           attn_error *err) {
  if (bytes->memory) {
    if (count) memcpy(to, bytes->memory + offset, count);
    return ATTN_OK;
  }
  for (size_t done = 0; done < count;) {
    ssize_t n = pread(bytes->fd, (char *)to + done, count - done, (off_t)(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return attn_fail_errno(bytes->path, "read", err);
    if (n == 0)
      return attn_fail(err, ATTN_ERR_FILE, NULL, "%.150s: the file shrank while being read",
                       bytes->path);
    done += (size_t)n;
  }
  return ATTN_OK;
}

/* In pieces, so that the watch can stop it. */
static attn_status read_pieces(const struct attn_bytes *bytes, struct attn_watch *watch, char *to,
                               attn_error *err) {
  attn_status status = ATTN_OK;
  for (size_t at = 0; at < bytes->size && !status; at += PIECE) {
    size_t left = bytes->size - at;
    status = attn_bytes_get(bytes, at, to + at, left < PIECE ? left : PIECE, err);
    if (!status) status = attn_watch_report(watch, (int64_t)at, (int64_t)bytes->size, err);
  }
  return status;
}

static attn_status read_all(const struct attn_bytes *bytes, size_t max, struct attn_watch *watch,
                            char **text, attn_error *err) {
  if (bytes->size > max)
    return attn_fail(err, ATTN_ERR_FORMAT, NULL, "%.150s: %zu bytes; the limit is %zu", bytes->path,
                     bytes->size, max);
  char *all = malloc(bytes->size + 1);
  if (!all) return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for %zu bytes", bytes->size);
  attn_status status = read_pieces(bytes, watch, all, err);
  if (status) return free(all), status;
  *text = all;
  return ATTN_OK;
}

attn_status attn_file_read(const char *path, size_t max, struct attn_watch *watch, char **text,
                           size_t *size, attn_error *err) {
  struct attn_bytes bytes;
  *text = NULL;
  attn_status status = attn_bytes_open(&bytes, path, err);
  if (!status) status = read_all(&bytes, max, watch, text, err);
  *size = bytes.size;
  attn_bytes_close(&bytes);
  return status;
}
