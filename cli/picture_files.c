#include "picture_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int keep(void *context, const char *bytes, size_t size) {
  struct attn_cli_buffer *k = context;
  if (size > k->room - k->size) {
    size_t room = k->room < 65536 ? 65536 : k->room;
    while (room - k->size < size && room <= SIZE_MAX / 2) room *= 2;
    char *grown = room - k->size < size ? NULL : realloc(k->bytes, room);
    if (!grown) return k->full = 1;
    k->bytes = grown;
    k->room = room;
  }
  memcpy(k->bytes + k->size, bytes, size);
  k->size += size;
  return 0;
}

attn_sink attn_cli_buffer_sink(struct attn_cli_buffer *kept) { return (attn_sink){kept, keep}; }

int attn_cli_has_pictures(const struct attn_cli_pictures *d) { return d->svg || d->png || d->html; }

attn_status attn_cli_write_pictures(const struct attn_cli_pictures *d,
                                    attn_status (*draw)(const void *what,
                                                        attn_picture_format format,
                                                        const attn_sink *sink, attn_error *err),
                                    const void *what, attn_error *err) {
  const struct {
    const char *path;
    attn_picture_format format;
  } wanted[] = {
      {d->svg, ATTN_PICTURE_SVG}, {d->png, ATTN_PICTURE_PNG}, {d->html, ATTN_PICTURE_HTML}};
  attn_status status = ATTN_OK;
  for (int n = 0; n < 3 && !status; n++) {
    if (!wanted[n].path) continue;
    struct attn_cli_buffer kept = {NULL, 0, 0, 0};
    const attn_sink sink = attn_cli_buffer_sink(&kept);
    status = draw(what, wanted[n].format, &sink, err);
    if (status && kept.full) {
      status = err->status = ATTN_ERR_MEMORY;
      snprintf(err->message, sizeof err->message, "no memory for the picture");
    }
    if (!status) status = attn_file_write(wanted[n].path, kept.bytes, kept.size, err);
    free(kept.bytes);
  }
  return status;
}
