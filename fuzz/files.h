/* files.h -- what the fuzzers of files share: a folder in memory, and an input in parts. */
#ifndef FUZZ_FILES_H
#define FUZZ_FILES_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What must hold, also where assert() is compiled out. */
#define MUST(holds) ((holds) ? (void)0 : broken(#holds, __LINE__))

static inline void broken(const char *law, int line) {
  fprintf(stderr, "line %d: must hold: %s\n", line, law);
  abort();
}

/* ---- The folder ---- */

static char folder[64];

static inline void folder_remove(void) {
  char command[80];
  snprintf(command, sizeof command, "rm -rf %s", folder);
  if (system(command)) return;
}

/* Made when it is first asked for, gone with the process. */
static inline void folder_begin(void) {
  if (folder[0]) return;
  strcpy(folder, access("/dev/shm", W_OK) ? "/tmp/attn-fuzz-XXXXXX" : "/dev/shm/attn-fuzz-XXXXXX");
  MUST(mkdtemp(folder));
  atexit(folder_remove);
}

/* folder/name, of room for a name of 1000 bytes. */
static inline const char *path_of(char path[1100], const char *name) {
  folder_begin();
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

/* ---- An input in parts, a NUL between them ---- */

struct part {
  const char *text;
  size_t length;
};

/* The next one; an empty one where none is left. */
static inline struct part next_part(const uint8_t **data, size_t *size) {
  const uint8_t *end = *size ? memchr(*data, 0, *size) : NULL;
  struct part p = {*size ? (const char *)*data : "", end ? (size_t)(end - *data) : *size};
  size_t step = p.length + (end != NULL);
  *data += step, *size -= step;
  return p;
}

/* With a 0 behind it, to be freed. */
static inline char *text_of(struct part p) {
  char *text = strndup(p.text, p.length);
  MUST(text);
  return text;
}

#endif
