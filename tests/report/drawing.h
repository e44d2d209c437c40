/* drawing.h -- panels drawn into memory, and the pictures read back. */
#ifndef ATTN_TESTS_REPORT_DRAWING_H
#define ATTN_TESTS_REPORT_DRAWING_H

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h> /* needs those above */
/* clang-format on */

#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attn/picture.h"

/* ---- A growing sink ---- */

struct page {
  char *text;
  size_t bytes, capacity;
  long left; /* calls that go well; -1: all */
};

static inline int grow(void *context, const char *text, size_t bytes) {
  struct page *p = context;
  if (p->left == 0) return 1;
  if (p->left > 0) p->left--;
  if (p->bytes + bytes + 1 > p->capacity) {
    p->capacity = (p->capacity + bytes + 1) * 2;
    p->text = realloc(p->text, p->capacity);
    assert_non_null(p->text);
  }
  memcpy(p->text + p->bytes, text, bytes);
  p->bytes += bytes;
  p->text[p->bytes] = 0;
  return 0;
}

static const attn_style plain_style = {sizeof(attn_style), 0, 0, 80, 4};

static inline attn_status draw(struct page *to, const attn_panel *panels, int32_t count, int format,
                               attn_error *err) {
  const attn_sink sink = {to, grow};
  const attn_bilingual_text title = {"A <title> & more", "題 \"名\""};
  return attn_panels_draw(panels, count, &title, (attn_picture_format)format, &plain_style, &sink,
                          err);
}

/* ---- Well-formed XML: tags nest, attributes are quoted, special characters are escaped ---- */

enum { DEPTH = 64, NAME = 32 };

static inline int is_entity(const char *at) {
  static const char *const known[] = {"&lt;", "&gt;", "&amp;", "&quot;", "&#39;"};
  for (size_t n = 0; n < sizeof known / sizeof *known; n++)
    if (!strncmp(at, known[n], strlen(known[n]))) return 1;
  return 0;
}

static inline const char *end_of_tag(const char *at) {
  for (char quote = 0; *at; at++) {
    if (quote ? *at == quote : *at == '"') quote = quote ? 0 : *at;
    assert_true(*at != '<');
    if (*at == '&') assert_true(is_entity(at));
    if (*at == '>' && !quote) return at;
  }
  fail_msg("a tag does not end");
  return at;
}

static inline void assert_well_formed(const char *text) {
  char open[DEPTH][NAME];
  int depth = 0;
  if (!strncmp(text, "<!DOCTYPE html>", 15)) text += 15;
  for (const char *at = text; *at; at++) {
    assert_true((unsigned char)*at >= 0x20 || *at == '\n' || *at == '\t');
    assert_false(!strncmp(at, "\xEF\xBF\xBE", 3) || !strncmp(at, "\xEF\xBF\xBF", 3));
    if (*at == '&') assert_true(is_entity(at));
    if (*at != '<') continue;
    if (!strncmp(at, "<![CDATA[", 9)) {
      at = strstr(at, "]]>");
      assert_non_null(at);
      continue;
    }
    const char *end = end_of_tag(at + 1);
    int closing = at[1] == '/', size = (int)strcspn(at + 1 + closing, " />\n");
    assert_true(size > 0 && size < NAME);
    if (closing) {
      assert_true(depth > 0);
      depth--;
      if (strncmp(open[depth], at + 2, (size_t)size) || open[depth][size])
        fail_msg("<%s> is closed by </%.*s>", open[depth], size, at + 2);
    } else if (end[-1] != '/') {
      assert_true(depth < DEPTH);
      snprintf(open[depth++], NAME, "%.*s", size, at + 1);
    }
    at = end;
  }
  assert_int_equal(depth, 0);
}

/* NaN and infinity may be in a cell, never in a coordinate. */
static inline void assert_coordinates(const char *text) {
  assert_null(strstr(text, "=\"NaN"));
  assert_null(strstr(text, "=\"∞"));
  assert_null(strstr(text, "=\"-∞"));
  assert_null(strstr(text, "inf"));
}

static inline attn_panel panel_of(int kind, int32_t rows, int32_t cols, const double *at) {
  attn_panel p = ATTN_PANEL_INIT;
  p.kind = kind;
  p.rows = rows;
  p.cols = cols;
  p.at = at;
  return p;
}

/* ---- PNG ---- */

static inline png_bytep decoded(const struct page *page, png_image *image) {
  memset(image, 0, sizeof *image);
  image->version = PNG_IMAGE_VERSION;
  assert_true(png_image_begin_read_from_memory(image, page->text, page->bytes));
  image->format = PNG_FORMAT_RGB;
  png_bytep pixels = malloc(PNG_IMAGE_SIZE(*image));
  assert_non_null(pixels);
  assert_true(png_image_finish_read(image, NULL, pixels, 0, NULL));
  return pixels;
}

#endif
