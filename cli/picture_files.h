/* drawing.h -- pictures into files, for the commands that draw. */
#ifndef ATTN_CLI_PICTURE_FILES_H
#define ATTN_CLI_PICTURE_FILES_H

#include "attn/picture.h"

/* Where each kind of picture goes: --svg, --png, --html; NULL: not wanted. */
struct attn_cli_pictures {
  const char *svg, *png, *html;
};

int attn_cli_has_pictures(const struct attn_cli_pictures *drawing);

/* Calls draw once for each that is wanted; each file appears whole or not at all. */
attn_status attn_cli_write_pictures(const struct attn_cli_pictures *drawing,
                                    attn_status (*draw)(const void *what,
                                                        attn_picture_format format,
                                                        const attn_sink *sink, attn_error *err),
                                    const void *what, attn_error *err);

/* A sink that keeps what it is given; free bytes. */
struct attn_cli_buffer {
  char *bytes;
  size_t size, room;
  int full; /* memory was refused */
};
attn_sink attn_cli_buffer_sink(struct attn_cli_buffer *kept);

#endif
