/* picture.c -- attn_panels_draw: checks the panels, then draws them in a format. */
#include "picture.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "descriptor.h"
#include "error.h"

/* ---- Checks of panels ---------------------------------------------------------------------- */

static attn_status check_size(const attn_panel *p, int32_t n, attn_error *err) {
  if (p->rows < 1 || p->cols < 1 || p->rows > ATTN_PANEL_CELLS_MAX / p->cols)
    return attn_fail(err, ATTN_ERR_SHAPE, "panels",
                     "panel %d is %d x %d; rows and cols must be at least 1, their product at most "
                     "%d",
                     (int)n, (int)p->rows, (int)p->cols, ATTN_PANEL_CELLS_MAX);
  if ((p->kind == ATTN_PANEL_ARROWS || p->kind == ATTN_PANEL_ROOFLINE) && p->cols != 2)
    return attn_fail(err, ATTN_ERR_SHAPE, "panels",
                     "panel %d: arrows and rooflines need 2 columns, got %d", (int)n, (int)p->cols);
  return ATTN_OK;
}

static attn_status check_panel(attn_panel *p, int32_t n, attn_error *err) {
  if (p->kind < ATTN_PANEL_MATRIX || p->kind > ATTN_PANEL_ROOFLINE)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "panels", "panel %d: unknown panel kind %d", (int)n,
                     (int)p->kind);
  int alone = p->kind == ATTN_PANEL_IMAGE && !p->at;
  if (alone) p->rows = p->cols = 0;
  if (!p->at && !alone)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "panels", "panel %d: at is NULL", (int)n);
  attn_status status = alone ? ATTN_OK : check_size(p, n, err);
  if (!status && p->kind == ATTN_PANEL_IMAGE) status = attn_image_panel_prepare(p, n, err);
  if (!status && p->kind == ATTN_PANEL_ROOFLINE) status = attn_roofline_check(p, n, err);
  if (status) return status;
  if (p->split < 0 || p->split > p->rows || (p->split && p->kind != ATTN_PANEL_ARROWS))
    return attn_fail(err, ATTN_ERR_ARGUMENT, "panels",
                     "panel %d: split is %d; it must be 0, or for arrows at most rows (%d)", (int)n,
                     (int)p->split, (int)p->rows);
  if (p->compact && (p->compact != 1 || p->kind != ATTN_PANEL_HEAT))
    return attn_fail(err, ATTN_ERR_ARGUMENT, "panels",
                     "panel %d: compact is %d; it must be 0, or 1 for a heat map", (int)n,
                     (int)p->compact);
  if (p->first < 0 || p->first > 1)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "panels", "panel %d: first is %d; it must be 0 or 1",
                     (int)n, (int)p->first);
  return ATTN_OK;
}

/* Copies and checks the panels. The stride of the array is the caller's struct_size, which may
 * differ from this library's. */
static attn_status copy_panels(const attn_panel *from, int32_t count, attn_panel *to,
                               attn_error *err) {
  size_t stride;
  memcpy(&stride, from, sizeof stride);
  for (int32_t n = 0; n < count; n++) {
    const char *one = (const char *)from + (size_t)n * stride;
    size_t size;
    attn_status status =
        attn_descriptor_copy(one, &to[n], sizeof *to, offsetof(attn_panel, image), "panels", err);
    if (status) return status;
    memcpy(&size, one, sizeof size);
    if (size != stride)
      return attn_fail(err, ATTN_ERR_ARGUMENT, "panels",
                       "panel %d has struct_size %zu, panel 0 has %zu; they must be equal", (int)n,
                       size, stride);
    if ((status = check_panel(&to[n], n, err))) return status;
  }
  return ATTN_OK;
}

int32_t attn_picture_has_glyphs(const char *text) { return text && attn_font_covers(text); }

/* ---- Drawing -------------------------------------------------------------------------------- */

static attn_status draw(struct attn_out *out, const struct attn_picture *p,
                        attn_picture_format format, attn_error *err) {
  attn_status status = ATTN_OK;
  if (format == ATTN_PICTURE_TEXT) attn_picture_text(out, p);
  if (format == ATTN_PICTURE_HTML) status = attn_picture_html(out, p, err);
  if (format == ATTN_PICTURE_SVG) status = attn_picture_svg(out, p, err);
  if (format == ATTN_PICTURE_PNG) status = attn_picture_png(out, p, err);
  return status ? status : attn_out_end(out, err);
}

attn_status attn_panels_draw(const attn_panel *panels, int32_t count,
                             const attn_bilingual_text *title, attn_picture_format format,
                             const attn_style *style, const attn_sink *sink, attn_error *err) {
  struct attn_out out;
  if (!panels || count < 1 || count > ATTN_PANELS_MAX)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "count", "count must be between 1 and %d, got %d",
                     ATTN_PANELS_MAX, panels ? (int)count : 0);
  if ((int)format < ATTN_PICTURE_TEXT || (int)format > ATTN_PICTURE_PNG)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "format", "unknown picture format %d", (int)format);
  attn_status status = attn_out_open(&out, style, sink, err);
  if (status) return status;
  attn_panel *copy = calloc((size_t)count, sizeof *copy);
  if (!copy) return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for %d panels", (int)count);
  struct attn_picture picture = {copy, count, title ? *title : (attn_bilingual_text){NULL, NULL}};
  status = copy_panels(panels, count, copy, err);
  if (!status) status = draw(&out, &picture, format, err);
  free(copy);
  return status;
}
