/* output.h -- text that a module writes for its page. */
#ifndef ATTN_WEB_OUTPUT_H
#define ATTN_WEB_OUTPUT_H

#include "attn/lesson.h"

#define ATTN_EXPORT(name) __attribute__((export_name(#name)))

enum {
  ATTN_WEB_FINE = 0, /* the command's exit status */
  ATTN_WEB_FOUND = 1,
  ATTN_WEB_TROUBLE = 2,
  ATTN_WEB_NO_MEMORY = -1
};

struct attn_web_output {
  char *text;
  size_t bytes, capacity;
};

/* Appends to *output. */
attn_sink attn_web_sink(struct attn_web_output *output);

/* Replaces the output by an error as the command prints it: "attn: lesson.md:3:1: error: ...".
 * Returns ATTN_WEB_TROUBLE, or ATTN_WEB_NO_MEMORY. */
int32_t attn_web_write_error(struct attn_web_output *output, const char *file,
                             const attn_error *err, int32_t language);

#endif
