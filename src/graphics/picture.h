/* picture.h -- checked panels, and one function per output format. */
#ifndef ATTN_GRAPHICS_PICTURE_H
#define ATTN_GRAPHICS_PICTURE_H

#include "panels.h"

struct attn_picture {
  const attn_panel *panel; /* copies of this library's struct_size */
  int32_t panels;
  attn_bilingual_text title;
};

/* Whether a heading precedes panel n. */
int attn_picture_has_heading(const struct attn_picture *p, int32_t n);

void attn_picture_text(struct attn_out *out, const struct attn_picture *p);
attn_status attn_picture_svg(struct attn_out *out, const struct attn_picture *p, attn_error *err);
attn_status attn_picture_png(struct attn_out *out, const struct attn_picture *p, attn_error *err);
attn_status attn_picture_html(struct attn_out *out, const struct attn_picture *p, attn_error *err);

attn_status attn_picture_no_memory(attn_error *err);

/* Writes the IMAGE panels from n on side by side, up to the next panel of another kind or heading.
 * Returns their number. */
int32_t attn_terminal_images(struct attn_out *out, const struct attn_picture *p, int32_t n);

#endif
