#include "picture_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "console.h"

static int append(void *context, const char *bytes, size_t size) {
  struct attn_cli_buffer *b = context;
  if (size > b->capacity - b->size) {
    size_t capacity = b->capacity < 65536 ? 65536 : b->capacity;
    while (capacity - b->size < size && capacity <= SIZE_MAX / 2) capacity *= 2;
    char *grown = capacity - b->size < size ? NULL : realloc(b->bytes, capacity);
    if (!grown) return b->failed = 1;
    b->bytes = grown;
    b->capacity = capacity;
  }
  memcpy(b->bytes + b->size, bytes, size);
  b->size += size;
  return 0;
}

attn_sink attn_cli_buffer_sink(struct attn_cli_buffer *buffer) {
  return (attn_sink){buffer, append};
}

attn_status attn_cli_buffer_end(struct attn_cli_buffer *buffer, attn_error *err) {
  append(buffer, "", 1);
  return buffer->failed ? attn_cli_no_memory(err) : ATTN_OK;
}

attn_status attn_cli_buffer_save(struct attn_cli_buffer *buffer, const char *path,
                                 attn_status drawn, attn_error *err) {
  attn_status status = buffer->failed ? attn_cli_no_memory(err) : drawn;
  if (!status) status = attn_file_write(path, buffer->bytes, buffer->size, err);
  free(buffer->bytes);
  *buffer = (struct attn_cli_buffer){NULL, 0, 0, 0};
  return status;
}

int attn_cli_is_document(const char *out, const char *document) {
  struct stat a, b;
  return out && !stat(out, &a) && !stat(document, &b) && a.st_dev == b.st_dev &&
         a.st_ino == b.st_ino;
}

int attn_cli_has_pictures(const struct attn_cli_pictures *p) { return p->svg || p->png || p->html; }

int attn_cli_warn_of_glyphs(const struct attn_cli_pictures *p, const char *const *labels,
                            int32_t count) {
  for (int32_t n = 0; p->png && labels && n < count; n++) {
    attn_error warning = {.status = ATTN_ERR_FORMAT, .offset = -1};
    if (!labels[n] || attn_picture_has_glyphs(labels[n])) continue;
    snprintf(warning.message, sizeof warning.message,
             "the font of a PNG has no \"%.40s\"; such labels become numbers like #%d; --svg and "
             "--html have all characters",
             labels[n], (int)n);
    attn_cli_report_warning(p->png, &warning);
    return 1;
  }
  return 0;
}

attn_status attn_cli_write_pictures(const struct attn_cli_pictures *p, attn_cli_draw draw,
                                    const void *data, attn_error *err) {
  const struct {
    const char *path;
    attn_picture_format format;
  } files[] = {
      {p->svg, ATTN_PICTURE_SVG}, {p->png, ATTN_PICTURE_PNG}, {p->html, ATTN_PICTURE_HTML}};
  attn_status status = ATTN_OK;
  for (int n = 0; n < 3 && !status; n++) {
    if (!files[n].path) continue;
    struct attn_cli_buffer buffer = {NULL, 0, 0, 0};
    const attn_sink sink = attn_cli_buffer_sink(&buffer);
    status = draw(data, files[n].format, &sink, err);
    status = attn_cli_buffer_save(&buffer, files[n].path, status, err);
    if (!status) attn_cli_print_written(files[n].path, "");
  }
  return status;
}
