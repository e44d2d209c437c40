/* files.h -- shared by the fuzzers of files: a temporary folder, and inputs of several parts. */
#ifndef FUZZ_FILES_H
#define FUZZ_FILES_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* assert() that NDEBUG does not disable. */
#define MUST(condition) ((condition) ? (void)0 : fail_must(#condition, __LINE__))

static inline void fail_must(const char *condition, int line) {
  fprintf(stderr, "line %d: must hold: %s\n", line, condition);
  abort();
}

/* ---- The folder ---- */

static char folder[64];

static inline void folder_remove(void) {
  char command[80];
  snprintf(command, sizeof command, "rm -rf %s", folder);
  if (system(command)) return;
}

/* Creates the folder at the first call, in memory if possible; it is removed at exit. */
static inline void folder_create(void) {
  if (folder[0]) return;
  strcpy(folder, access("/dev/shm", W_OK) ? "/tmp/attn-fuzz-XXXXXX" : "/dev/shm/attn-fuzz-XXXXXX");
  MUST(mkdtemp(folder));
  atexit(folder_remove);
}

/* folder/name; the name has at most 1000 bytes. */
static inline const char *path_of(char path[1100], const char *name) {
  folder_create();
  snprintf(path, 1100, "%s/%s", folder, name);
  return path;
}

static inline void put_file(const char *name, const void *bytes, size_t size) {
  char path[1100];
  FILE *f = fopen(path_of(path, name), "wb");
  MUST(f && fwrite(size ? bytes : "", 1, size, f) == size && !fclose(f));
}

static inline void remove_file(const char *name) {
  char path[1100];
  remove(path_of(path, name));
}

/* ---- An input of parts that are separated by NUL ---- */

struct part {
  const char *text;
  size_t length;
};

/* Returns the next part; an empty one at the end. */
static inline struct part next_part(const uint8_t **data, size_t *size) {
  const uint8_t *end = *size ? memchr(*data, 0, *size) : NULL;
  struct part p = {*size ? (const char *)*data : "", end ? (size_t)(end - *data) : *size};
  size_t step = p.length + (end != NULL);
  *data += step, *size -= step;
  return p;
}

/* A 0-terminated copy, to be freed. */
static inline char *text_of(struct part p) {
  char *text = strndup(p.text, p.length);
  MUST(text);
  return text;
}

#endif
