#include "faults.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

/* The names of the linker's --wrap: a call of f is redirected to __wrap_f, __real_f is the
 * original. */
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t most);
char *__real_realpath(const char *path, char *to);
void __real_free(void *memory);
int __real_open(const char *path, int flags, ...);
ssize_t __real_pread(int fd, void *to, size_t bytes, off_t offset);
ssize_t __real_write(int fd, const void *from, size_t bytes);
int __real_fsync(int fd);
int __real_close(int fd);
int __real_rename(const char *from, const char *to);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t most);
char *__wrap_realpath(const char *path, char *to);
void __wrap_free(void *memory);
int __wrap_open(const char *path, int flags, ...);
ssize_t __wrap_pread(int fd, void *to, size_t bytes, off_t offset);
ssize_t __wrap_write(int fd, const void *from, size_t bytes);
int __wrap_fsync(int fd);
int __wrap_close(int fd);
int __wrap_rename(const char *from, const char *to);

static struct {
  enum fault_kind kind;
  int fail_at, calls, blocks;
  size_t largest;
} faults;

static int fails(enum fault_kind kind) {
  return faults.kind == kind && ++faults.calls == faults.fail_at;
}

static void *counted(void *memory) {
  if (memory) faults.blocks++;
  return memory;
}

static void note(size_t bytes) {
  if (bytes > faults.largest) faults.largest = bytes;
}

void faults_begin(enum fault_kind kind, int fail_at) {
  memset(&faults, 0, sizeof faults);
  faults.kind = kind;
  faults.fail_at = fail_at;
  json_set_alloc_funcs(__wrap_malloc, __wrap_free);
}

int faults_end(void) {
  faults.kind = FAULT_NONE;
  return faults.calls;
}

int faults_blocks(void) { return faults.blocks; }
size_t faults_largest(void) { return faults.largest; }

void *__wrap_malloc(size_t bytes) {
  note(bytes);
  return fails(FAULT_MEMORY) ? NULL : counted(__real_malloc(bytes));
}

void *__wrap_calloc(size_t count, size_t bytes) {
  note(count * bytes);
  return fails(FAULT_MEMORY) ? NULL : counted(__real_calloc(count, bytes));
}

char *__wrap_strdup(const char *text) {
  return fails(FAULT_MEMORY) ? NULL : counted(__real_strdup(text));
}

char *__wrap_strndup(const char *text, size_t most) {
  return fails(FAULT_MEMORY) ? NULL : counted(__real_strndup(text, most));
}

char *__wrap_realpath(const char *path, char *to) {
  if (fails(FAULT_MEMORY)) return errno = ENOMEM, NULL;
  return counted(__real_realpath(path, to));
}

void __wrap_free(void *memory) {
  if (memory) faults.blocks--;
  __real_free(memory);
}

int __wrap_open(const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  if (fails(flags & O_CREAT ? FAULT_WRITE : FAULT_READ)) return errno = EIO, -1;
  return __real_open(path, flags, mode);
}

/* Short reads and writes every time: the callers must continue. */
ssize_t __wrap_pread(int fd, void *to, size_t bytes, off_t offset) {
  if (fails(FAULT_READ)) return errno = EIO, -1;
  return __real_pread(fd, to, bytes > 7 ? 7 : bytes, offset);
}

ssize_t __wrap_write(int fd, const void *from, size_t bytes) {
  if (fails(FAULT_WRITE)) return errno = ENOSPC, -1;
  return __real_write(fd, from, bytes > 11 ? 11 : bytes);
}

int __wrap_fsync(int fd) {
  if (fails(FAULT_WRITE)) return errno = EIO, -1;
  return __real_fsync(fd);
}

int __wrap_close(int fd) { return __real_close(fd); }

int __wrap_rename(const char *from, const char *to) {
  if (fails(FAULT_WRITE)) return errno = EACCES, -1;
  return __real_rename(from, to);
}
