#include "document.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attn/lesson.h"
#include "attn/picture.h"
#include "language.h"

enum { EXIT_FINE = 0, EXIT_FOUND = 1, EXIT_TROUBLE = 2, NO_MEMORY = -1 }; /* as the command's */

struct attn_document {
  attn_lesson *lesson;
  attn_check *check; /* NULL: it could not be read; problem */
  attn_error problem;
  char *file, *text;
  size_t bytes;
  char *output;
  size_t output_bytes, capacity;
};

/* ---- Reading ---- */

struct attn_document *attn_document_open(char *text, size_t bytes, const char *file) {
  struct attn_document *d = calloc(1, sizeof *d);
  if (!d) return free(text), NULL;
  d->text = text, d->bytes = bytes, d->file = strdup(file);
  if (!d->file) return attn_document_close(d), NULL;
  attn_status status = attn_lesson_read(text, bytes, file, &d->lesson, &d->problem);
  if (!status) status = attn_lesson_check(d->lesson, &d->check, &d->problem);
  if (status == ATTN_ERR_MEMORY) return attn_document_close(d), NULL;
  return d;
}

void attn_document_close(struct attn_document *d) {
  attn_check_free(d->check);
  attn_lesson_free(d->lesson);
  free(d->output), free(d->text), free(d->file), free(d);
}

/* ---- Output ---- */

static int add(void *context, const char *text, size_t bytes) {
  struct attn_document *d = context;
  if (bytes > d->capacity - d->output_bytes) {
    const size_t capacity = 2 * d->capacity + bytes;
    char *grown = capacity > d->capacity ? realloc(d->output, capacity) : NULL;
    if (!grown) return 1;
    d->output = grown, d->capacity = capacity;
  }
  memcpy(d->output + d->output_bytes, text, bytes);
  d->output_bytes += bytes;
  return 0;
}

const char *attn_document_output(const struct attn_document *d) { return d->output; }

size_t attn_document_output_bytes(const struct attn_document *d) { return d->output_bytes; }

/* As the command reports it: "attn: lesson.md:3:1: error: ...". */
static int32_t write_problem(const struct attn_document *d, const attn_error *p, int32_t language,
                             const attn_sink *sink) {
  char place[64] = "", buffer[2][ATTN_CLI_MESSAGE_MAX];
  const char *severity = "error: ", *message = p->message;
  if (p->line)
    snprintf(place, sizeof place, ":%lld:%lld", (long long)p->line, (long long)p->column);
  if (language) severity = attn_cli_japanese_of(severity, buffer[0]);
  if (language) message = attn_cli_japanese_of(message, buffer[1]);
  const char *const parts[] = {"attn: ", d->file, place, ": ", severity, message};
  attn_status status = ATTN_OK;
  for (size_t n = 0; n < sizeof parts / sizeof *parts && !status; n++)
    status = attn_text_write_plain(parts[n], strlen(parts[n]), sink, NULL);
  return status || sink->write(sink->context, "\n", 1) ? NO_MEMORY : EXIT_TROUBLE;
}

static attn_status write_output(const struct attn_document *d, int32_t output,
                                const attn_style *style, const attn_sink *sink, attn_error *err) {
  switch (output) {
    case ATTN_DOCUMENT_CHECK:
      return attn_check_print(d->lesson, d->check, style, sink, err);
    case ATTN_DOCUMENT_EXPLAIN:
      return attn_lesson_explain(d->lesson, style, sink, err);
    case ATTN_DOCUMENT_CHECK_PAGE:
      return attn_check_draw(d->lesson, d->check, d->text, d->bytes, style, sink, err);
    default:
      return attn_lesson_draw(d->lesson, ATTN_PICTURE_HTML, style, sink, err);
  }
}

static int32_t exit_status(const struct attn_document *d, int32_t output) {
  if (output == ATTN_DOCUMENT_EXPLAIN || output == ATTN_DOCUMENT_EXPLAIN_PAGE)
    return d->lesson->examples ? EXIT_FINE : EXIT_TROUBLE;
  if (d->check->judgement == ATTN_JUDGED_NOT_GIVEN) return EXIT_TROUBLE;
  return d->check->judgement >= ATTN_JUDGED_CARRIED ? EXIT_FOUND : EXIT_FINE;
}

int32_t attn_document_write(struct attn_document *d, int32_t output, int32_t language,
                            int32_t width) {
  const attn_sink sink = {d, add};
  attn_style style = {.struct_size = sizeof style, .width = width};
  attn_error err = d->problem;
  style.language = language ? ATTN_LANGUAGE_JAPANESE : ATTN_LANGUAGE_ENGLISH;
  d->output_bytes = 0;
  if (d->check && !write_output(d, output, &style, &sink, &err)) return exit_status(d, output);
  if (err.status == ATTN_ERR_MEMORY || err.status == ATTN_ERR_FILE) return NO_MEMORY; /* of add */
  d->output_bytes = 0;
  return write_problem(d, &err, language, &sink);
}
