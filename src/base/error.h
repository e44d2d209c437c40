/* error.h -- reporting a failure. */
#ifndef ATTN_BASE_ERROR_H
#define ATTN_BASE_ERROR_H

#include "attn/attn.h"

/* Fills err, which may be NULL, and returns status:
 *     return attn_fail(err, ATTN_ERR_SHAPE, "k", "k has E = %lld, q has %lld", ...);
 * argument may be NULL. A message that is too long is truncated at a character boundary. */
attn_status attn_fail(attn_error *err, attn_status status, const char *argument, const char *format,
                      ...) __attribute__((format(printf, 4, 5)));

/* The same with a line and column (1-based) of a text, or the byte offset in a binary file. */
attn_status attn_fail_at(attn_error *err, attn_status status, int64_t line, int64_t column,
                         const char *format, ...) __attribute__((format(printf, 5, 6)));
attn_status attn_fail_offset(attn_error *err, attn_status status, int64_t offset,
                             const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
