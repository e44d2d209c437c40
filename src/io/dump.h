/* dump.h -- a JSON value as text. */
#ifndef ATTN_IO_DUMP_H
#define ATTN_IO_DUMP_H

#include <jansson.h>

/* With a 0 behind it, for free(); NULL: no memory. json_dumps leaves out a name where memory for it
 * was refused, and says nothing. */
char *attn_json_text(const json_t *value, size_t flags);

#endif
