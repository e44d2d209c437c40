/* no_images.c -- in place of raster.c and image.c: a lesson's page contains no image, and models of
 * texts read none, so the pages need no libpng. */
#include "attn/io.h"
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

attn_status attn_image_resize(const attn_tensor *image, const attn_image_config *config,
                              attn_array *result, attn_error *err) {
  (void)image, (void)config, (void)result;
  return attn_fail(err, ATTN_ERR_ARGUMENT, "images", "built without images");
}
