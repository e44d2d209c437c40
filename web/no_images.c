/* no_images.c -- in place of raster.c: a lesson's page contains no image, so the page needs no
 * libpng. */
#include "canvas.h"
#include "error.h"

attn_status attn_raster_begin(struct attn_raster *r, double width, double height, attn_error *err) {
  *r = (struct attn_raster){.rgb = NULL};
  return attn_fail(err, ATTN_ERR_ARGUMENT, "format",
                   "cannot draw %g x %g pixels: built without PNG", width, height);
}

attn_status attn_raster_write(const struct attn_raster *r, const attn_sink *sink, attn_error *err) {
  (void)r, (void)sink;
  return attn_fail(err, ATTN_ERR_ARGUMENT, "format", "built without PNG");
}

void attn_raster_end(struct attn_raster *r) { r->rgb = NULL; }
