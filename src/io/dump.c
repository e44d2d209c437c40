#include "dump.h"

#include <stdlib.h>

char *attn_json_text(const json_t *value, size_t flags) {
  size_t bytes = json_dumpb(value, NULL, 0, flags); /* 0: no memory */
  char *text = bytes ? malloc(bytes + 1) : NULL;
  if (!text) return NULL;
  if (json_dumpb(value, text, bytes, flags) != bytes) return free(text), NULL;
  text[bytes] = 0;
  return text;
}
