/* document.h -- what the page calls: a document, read and checked, and what the command prints of
 * it. */
#ifndef ATTN_WEB_DOCUMENT_H
#define ATTN_WEB_DOCUMENT_H

#include <stddef.h>
#include <stdint.h>

#include "output.h"

struct attn_document;

enum attn_document_output {
  ATTN_DOCUMENT_CHECK = 0,    /* attn check FILE */
  ATTN_DOCUMENT_EXPLAIN,      /* attn explain FILE */
  ATTN_DOCUMENT_CHECK_PAGE,   /* attn check FILE --html */
  ATTN_DOCUMENT_EXPLAIN_PAGE, /* attn explain FILE --html */
};

/* Reads and checks a document. text: from malloc, taken over. A document that cannot be read is one
 * too, with its error as output. NULL: no memory. */
struct attn_document *attn_document_open(char *text, size_t bytes, const char *file)
    ATTN_EXPORT(attn_document_open);

/* Writes an output; replaces the last one. Returns the exit status of the command; -1: no memory.
 */
int32_t attn_document_write(struct attn_document *d, int32_t output, int32_t language,
                            int32_t width) ATTN_EXPORT(attn_document_write);

/* The last output, valid until the next one. */
const char *attn_document_output(const struct attn_document *d) ATTN_EXPORT(attn_document_output);
size_t attn_document_output_bytes(const struct attn_document *d)
    ATTN_EXPORT(attn_document_output_bytes);

void attn_document_close(struct attn_document *d) ATTN_EXPORT(attn_document_close);

#endif
