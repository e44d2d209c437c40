#include "output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "language.h"

static int add(void *context, const char *text, size_t bytes) {
  struct attn_web_output *o = context;
  if (bytes > o->capacity - o->bytes) {
    const size_t capacity = 2 * o->capacity + bytes;
    char *grown = capacity > o->capacity ? realloc(o->text, capacity) : NULL;
    if (!grown) return 1;
    o->text = grown, o->capacity = capacity;
  }
  memcpy(o->text + o->bytes, text, bytes);
  o->bytes += bytes;
  return 0;
}

attn_sink attn_web_sink(struct attn_web_output *output) { return (attn_sink){output, add}; }

int32_t attn_web_write_error(struct attn_web_output *output, const char *file,
                             const attn_error *err, int32_t language) {
  char place[64] = "", buffer[2][ATTN_CLI_MESSAGE_MAX];
  const char *severity = "error: ", *message = err->message;
  const attn_sink sink = attn_web_sink(output);
  output->bytes = 0;
  if (err->line)
    snprintf(place, sizeof place, ":%lld:%lld", (long long)err->line, (long long)err->column);
  if (language) severity = attn_cli_japanese_of(severity, buffer[0]);
  if (language) message = attn_cli_japanese_of(message, buffer[1]);
  const char *const parts[] = {"attn: ", file, place, ": ", severity, message};
  attn_status status = ATTN_OK;
  for (size_t n = 0; n < sizeof parts / sizeof *parts && !status; n++)
    status = attn_text_write_plain(parts[n], strlen(parts[n]), &sink, NULL);
  return status || sink.write(sink.context, "\n", 1) ? ATTN_WEB_NO_MEMORY : ATTN_WEB_TROUBLE;
}
