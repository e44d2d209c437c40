/* drawing.h -- pictures into files, for the commands that draw. */
#ifndef ATTN_CLI_DRAWING_H
#define ATTN_CLI_DRAWING_H

#include "attn/picture.h"

/* Where each kind of picture goes: --svg, --png, --html; NULL: not wanted. */
struct attn_cli_drawing {
  const char *svg, *png, *html;
};

int attn_cli_draws(const struct attn_cli_drawing *drawing);

/* Calls draw once for each that is wanted; each file appears whole or not at all. */
attn_status attn_cli_draw(const struct attn_cli_drawing *drawing,
                          attn_status (*draw)(const void *what, attn_picture_format format,
                                              const attn_sink *sink, attn_error *err),
                          const void *what, attn_error *err);

/* A sink that keeps what it is given; free bytes. */
struct attn_cli_kept {
  char *bytes;
  size_t size, room;
  int full; /* memory was refused */
};
attn_sink attn_cli_keep(struct attn_cli_kept *kept);

#endif
