#include "error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Drops an incomplete UTF-8 character at the end. */
static void trim_incomplete_character(char *text) {
  size_t n = strlen(text), lead = n;
  while (lead > 0 && ((unsigned char)text[lead - 1] & 0xC0) == 0x80) lead--;
  if (lead == 0) return;
  unsigned char c = (unsigned char)text[lead - 1];
  size_t need = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : c >= 0xC0 ? 2 : 1;
  if (n - (lead - 1) < need) text[lead - 1] = 0;
}

static void fill(attn_error *err, attn_status status, const char *argument, const char *format,
                 va_list arguments) {
  memset(err, 0, sizeof *err);
  err->status = status;
  err->offset = -1;
  if (argument) snprintf(err->argument, sizeof err->argument, "%s", argument);
  vsnprintf(err->message, sizeof err->message, format, arguments);
  trim_incomplete_character(err->message);
}

attn_status attn_fail(attn_error *err, attn_status status, const char *argument, const char *format,
                      ...) {
  if (!err) return status;
  va_list arguments;
  va_start(arguments, format);
  fill(err, status, argument, format, arguments);
  va_end(arguments);
  return status;
}

attn_status attn_fail_at(attn_error *err, attn_status status, int64_t line, int64_t column,
                         const char *format, ...) {
  if (!err) return status;
  va_list arguments;
  va_start(arguments, format);
  fill(err, status, NULL, format, arguments);
  va_end(arguments);
  err->line = line;
  err->column = column;
  return status;
}

attn_status attn_fail_offset(attn_error *err, attn_status status, int64_t offset,
                             const char *format, ...) {
  if (!err) return status;
  va_list arguments;
  va_start(arguments, format);
  fill(err, status, NULL, format, arguments);
  va_end(arguments);
  err->offset = offset;
  return status;
}
