/* error.h -- how every room reports a failure: one line, one place. */
#ifndef ATTN_BASE_ERROR_H
#define ATTN_BASE_ERROR_H

#include "attn/attn.h"

/* Fills err (may be NULL) and returns status, so that callers write
 *     return attn_fail(err, ATTN_ERR_SHAPE, "k", "k has E = %lld, q has %lld", ...);
 * argument may be NULL. Text too long is cut at a character's end. */
attn_status attn_fail(attn_error *err, attn_status status, const char *argument, const char *format,
                      ...) __attribute__((format(printf, 4, 5)));

/* The same for a place in a text (1-based) or in a binary file (byte offset). */
attn_status attn_fail_at(attn_error *err, attn_status status, int64_t line, int64_t column,
                         const char *format, ...) __attribute__((format(printf, 5, 6)));
attn_status attn_fail_offset(attn_error *err, attn_status status, int64_t offset,
                             const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
