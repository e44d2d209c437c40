#include "document.h"

#include <stdlib.h>
#include <string.h>

#include "attn/lesson.h"
#include "attn/picture.h"

struct attn_document {
  attn_lesson *lesson;
  attn_check *check; /* NULL: it could not be read; problem */
  attn_error problem;
  char *file, *text;
  size_t bytes;
  struct attn_web_output output;
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
  free(d->output.text), free(d->text), free(d->file), free(d);
}

/* ---- Output ---- */

const char *attn_document_output(const struct attn_document *d) { return d->output.text; }

size_t attn_document_output_bytes(const struct attn_document *d) { return d->output.bytes; }

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
    return d->lesson->examples ? ATTN_WEB_FINE : ATTN_WEB_TROUBLE;
  if (d->check->judgement == ATTN_JUDGED_NOT_GIVEN) return ATTN_WEB_TROUBLE;
  return d->check->judgement >= ATTN_JUDGED_CARRIED ? ATTN_WEB_FOUND : ATTN_WEB_FINE;
}

int32_t attn_document_write(struct attn_document *d, int32_t output, int32_t language,
                            int32_t width) {
  const attn_sink sink = attn_web_sink(&d->output);
  attn_style style = {.struct_size = sizeof style, .width = width};
  attn_error err = d->problem;
  style.language = language ? ATTN_LANGUAGE_JAPANESE : ATTN_LANGUAGE_ENGLISH;
  d->output.bytes = 0;
  if (d->check && !write_output(d, output, &style, &sink, &err)) return exit_status(d, output);
  if (err.status == ATTN_ERR_MEMORY || err.status == ATTN_ERR_FILE)
    return ATTN_WEB_NO_MEMORY; /* of add */
  d->output.bytes = 0;
  return attn_web_write_error(&d->output, d->file, &err, language);
}
