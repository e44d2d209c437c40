/* json_output.h -- writes JSON to standard output, one line per top-level value. */
#ifndef ATTN_CLI_JSON_OUTPUT_H
#define ATTN_CLI_JSON_OUTPUT_H

#include <stddef.h>
#include <stdint.h>

/* Each writes a member, or an element if key is NULL, and the comma before it. A NaN, an infinity
 * or a NULL text is null. */
void attn_cli_json_begin_object(const char *key);
void attn_cli_json_end_object(void);
void attn_cli_json_begin_array(const char *key);
void attn_cli_json_end_array(void);
void attn_cli_json_string(const char *key, const char *text);
void attn_cli_json_bytes(const char *key, const char *text, size_t bytes); /* may contain NULs */
void attn_cli_json_number(const char *key, double value);
void attn_cli_json_int(const char *key, int64_t value);
void attn_cli_json_bool(const char *key, int value);
void attn_cli_json_null(const char *key);

/* Arrays. */
void attn_cli_json_strings(const char *key, const char *const *texts, int64_t count);
void attn_cli_json_numbers(const char *key, const double *values, int64_t count);
void attn_cli_json_shape(const char *key, const int64_t *shape, int rank);

/* Ends the line of a top-level value. */
void attn_cli_json_end_line(void);

#endif
