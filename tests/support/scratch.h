/* scratch.h -- a temporary folder that is removed with its contents. */
#ifndef TEST_SCRATCH_H
#define TEST_SCRATCH_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char folder[64];

static inline int folder_begin(void) { return !mkdtemp(strcpy(folder, "/tmp/attn-test-XXXXXX")); }

static inline int folder_end(void) {
  char command[80];
  snprintf(command, sizeof command, "rm -rf %s", folder);
  return system(command) != 0;
}

#endif
