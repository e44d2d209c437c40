/* replay.c -- runs a fuzz target on the named files, without libFuzzer. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The buffer has the exact size, so that a sanitizer detects a read past the end. */
static int replay(const char *path) {
  FILE *f = fopen(path, "rb");
  if (!f || fseek(f, 0, SEEK_END)) return perror(path), 1;
  long size = ftell(f);
  uint8_t *data = size < 0 ? NULL : malloc(size ? (size_t)size : 1);
  rewind(f);
  if (!data || fread(data, 1, (size_t)size, f) != (size_t)size) return perror(path), 1;
  fclose(f);
  LLVMFuzzerTestOneInput(data, (size_t)size);
  free(data);
  return 0;
}

int main(int argc, char **argv) {
  int failed = argc < 2;
  for (int n = 1; n < argc; n++) failed |= replay(argv[n]);
  printf("%d inputs\n", argc - 1);
  return failed;
}
