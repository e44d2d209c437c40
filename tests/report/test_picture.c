/* test_picture.c -- a picture is well-formed for any input, shows what it is given and
 * nothing else, can be read, and returns an error if it cannot be finished. */
#include "drawing.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "canvas.h"
#include "fixture.h"
#include "select.h"

/* ---- Any allocation of the library can be made to fail ---- */

void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes) {
  if (calloc_fails_at > 0 && --calloc_fails_at == 0) return NULL;
  return __real_malloc(bytes);
}

/* ---- Panels of every kind ---- */

#define nan_ ((double)NAN)
#define inf_ ((double)INFINITY)

/* NaN, infinities, the largest and smallest values. */
static const double wild[] = {0, 1, nan_, 0.5, -1, 2, inf_, -inf_, 1e308, -1e308, 5e-324, 0.25};

static unsigned char photo_rgb[60 * 3] = {7, 8, 9, 255};
static const attn_tensor photo = {photo_rgb, ATTN_U8, 3, {1, 60, 3}, {180, 3, 1}};

static int assorted(attn_panel *p) {
  static const char *const hostile[] = {
      "<script>alert(1)</script>",
      "\"'&<>",
      "a\x01\x1B[31m\n\tb",
      "\xFF\xFE",
      "\u0600<b>", /* a sign that takes the next letter into its cluster */
      "\u202Eevil",
      "\xEF\xBF\xBE\xEF\xBF\xBF" /* U+FFFE, U+FFFF */,
      "",
      NULL,
      "]]>",
      "--><!--",
      "0123456789012345678901234567890123456789"};
  static const double far[] = {DBL_MAX, 0, -DBL_MAX, 0};
  int n = 0;
  p[n++] = panel_of(ATTN_PANEL_ARROWS, 2, 2, far);
  p[n++] = panel_of(ATTN_PANEL_MATRIX, 3, 4, wild);
  p[n++] = panel_of(ATTN_PANEL_HEAT, 4, 3, wild);
  p[n++] = panel_of(ATTN_PANEL_ARROWS, 6, 2, wild);
  p[n] = panel_of(ATTN_PANEL_HEAT, 3, 4, wild);
  p[n].compact = 1, p[n++].row_label = hostile;
  p[n] = panel_of(ATTN_PANEL_ARROWS, 6, 2, wild);
  p[n++].split = 3;
  p[n] = panel_of(ATTN_PANEL_HEAT, 12, 1, wild);
  p[n++].row_label = hostile;
  p[n] = panel_of(ATTN_PANEL_MATRIX, 1, 12, wild);
  p[n].col_label = hostile;
  p[n].section = (attn_bilingual_text){hostile[0], hostile[4]};
  p[n].title = (attn_bilingual_text){hostile[1], hostile[2]};
  p[n].note.japanese = hostile[3];
  p[n].row_axis.english = hostile[5];
  p[n++].col_axis = (attn_bilingual_text){hostile[6], hostile[7]};
  p[n] = panel_of(ATTN_PANEL_ARROWS, 6, 2, wild);
  p[n].row_label = hostile;
  p[n++].row_axis.english = hostile[0];
  p[n] = panel_of(ATTN_PANEL_IMAGE, 3, 4, wild);
  p[n].title = (attn_bilingual_text){hostile[1], hostile[2]};
  p[n].note.english = hostile[0];
  p[n++].image = &photo;
  p[n] = panel_of(ATTN_PANEL_IMAGE, -7, 0, NULL);
  p[n].title.english = hostile[2];
  p[n++].image = &photo;
  p[n] = panel_of(ATTN_PANEL_ROOFLINE, 6, 2, wild);
  p[n].row_label = hostile, p[n].row_axis.english = hostile[0];
  p[n].roof = 1e15, p[n++].slope = 1e-9;
  return n;
}

static void whatever_is_in_it_a_picture_is_well_formed(void **state) {
  (void)state;
  attn_panel p[16];
  attn_error err;
  int count = assorted(p);
  for (int format = ATTN_PICTURE_SVG; format <= ATTN_PICTURE_HTML; format++)
    for (int n = 0; n < count; n++) {
      struct page page = {.left = -1};
      if (draw(&page, p + n, 1, format, &err)) fail_msg("panel %d: %s", n, err.message);
      assert_well_formed(page.text);
      assert_coordinates(page.text);
      assert_null(strstr(page.text, "<script>alert"));
      assert_null(strstr(page.text, "<b>\n"));
      free(page.text);
    }
}

static void a_terminal_sees_no_control_but_colours(void **state) {
  (void)state;
  attn_panel p[16];
  for (int color = 0; color < 2; color++) {
    struct page page = {.left = -1};
    const attn_sink sink = {&page, grow};
    attn_style style = plain_style;
    style.color = color;
    assert_int_equal(attn_panels_draw(p, assorted(p), NULL, ATTN_PICTURE_TEXT, &style, &sink, NULL),
                     ATTN_OK);
    int escapes = 0;
    for (const char *at = page.text; *at; at++) {
      assert_true((unsigned char)*at >= 0x20 || *at == '\n' || *at == 0x1B);
      if (*at == 0x1B) assert_true(at[1] == '[' && at[2 + strspn(at + 2, "0123456789;")] == 'm');
      escapes += *at == 0x1B;
    }
    assert_true(color ? escapes > 8 : !escapes);
    free(page.text);
  }
}

static void every_number_is_there(void **state) {
  (void)state;
  static const double at[] = {0.125, 0.3333, 0.5417, 1, 0, 0.0625};
  static const char *const words[] = {">0.125<", ">0.3333<", ">0.5417<", ">1<", ">0<", ">0.0625<"};
  for (int kind = ATTN_PANEL_MATRIX; kind <= ATTN_PANEL_HEAT; kind++) {
    struct page page = {.left = -1};
    attn_panel p = panel_of(kind, 2, 3, at);
    assert_int_equal(draw(&page, &p, 1, ATTN_PICTURE_SVG, NULL), ATTN_OK);
    for (int n = 0; n < 6; n++)
      if (!strstr(page.text, words[n])) fail_msg("%s is missing", words[n]);
    free(page.text);
  }
}

static void a_page_has_both_languages_an_svg_has_one(void **state) {
  (void)state;
  struct page page = {.left = -1}, svg = {.left = -1};
  const attn_sink sink = {&page, grow}, other = {&svg, grow};
  attn_style style = plain_style;
  style.language = ATTN_LANGUAGE_JAPANESE;
  attn_panel p = panel_of(ATTN_PANEL_HEAT, 1, 1, wild);
  p.title = (attn_bilingual_text){"Weights", "重み"};
  p.row_axis = (attn_bilingual_text){"query", "クエリ"};
  assert_int_equal(attn_panels_draw(&p, 1, NULL, ATTN_PICTURE_HTML, &style, &sink, NULL), 0);
  assert_non_null(strstr(page.text, "<html lang=\"ja\">"));
  assert_non_null(
      strstr(page.text, "<span lang=\"en\">Weights</span><span lang=\"ja\">重み</span>"));
  assert_non_null(strstr(page.text, ">query</text>"));
  assert_non_null(strstr(page.text, ">クエリ</text>"));
  assert_int_equal(attn_panels_draw(&p, 1, NULL, ATTN_PICTURE_SVG, &style, &other, NULL), 0);
  assert_non_null(strstr(svg.text, "重み"));
  assert_null(strstr(svg.text, "Weights"));
  free(page.text);
  free(svg.text);
}

/* ---- Colours ---- */

static double apart(int paint, int ground, int of) {
  enum attn_theme theme = (enum attn_theme)of;
  return attn_contrast(attn_paint_color(paint, theme), attn_paint_color(ground, theme));
}

/* WCAG 2.1: 4.5 to 1 for text, 3 to 1 for graphics. */
static void colours_can_be_read(void **state) {
  (void)state;
  for (int theme = ATTN_LIGHT; theme <= ATTN_DARK; theme++) {
    for (int n = 0; n < ATTN_HEAT_LEVELS; n++)
      assert_true(apart(ATTN_PAINT_ON_HEAT + n, ATTN_PAINT_HEAT + n, theme) >= 4.5);
    assert_true(apart(ATTN_PAINT_INK, ATTN_PAINT_PAGE, theme) >= 4.5);
    assert_true(apart(ATTN_PAINT_FAINT, ATTN_PAINT_PAGE, theme) >= 4.5);
    assert_true(apart(ATTN_PAINT_FIRST, ATTN_PAINT_PAGE, theme) >= 4.5); /* names of arrows */
    assert_true(apart(ATTN_PAINT_SECOND, ATTN_PAINT_PAGE, theme) >= 4.5);
    assert_true(apart(ATTN_PAINT_HEAT + ATTN_HEAT_LEVELS - 1, ATTN_PAINT_PAGE, theme) >= 3);
  }
}

/* CIE L* of the 8-bit colours. One step is at least 63 / 100 of a just noticeable difference.
 */
static double lightness(int level, int of) {
  enum attn_theme theme = (enum attn_theme)of;
  return 116 * cbrt(attn_luminance(attn_paint_color(ATTN_PAINT_HEAT + level, theme))) - 16;
}

static void more_weight_is_evenly_more_colour(void **state) {
  (void)state;
  for (int theme = ATTN_LIGHT; theme <= ATTN_DARK; theme++) {
    double sign = theme == ATTN_LIGHT ? -1 : 1;
    for (int n = 1; n < ATTN_HEAT_LEVELS; n++)
      assert_true(sign * (lightness(n, theme) - lightness(n - 1, theme)) > 0);
    for (int n = 8; n < ATTN_HEAT_LEVELS; n += 8) {
      double step = sign * (lightness(n, theme) - lightness(n - 8, theme));
      double mean = sign * (lightness(63, theme) - lightness(0, theme)) * 8 / 63;
      assert_true(step > 0.6 * mean && step < 1.5 * mean);
    }
  }
  assert_int_equal(attn_heat_level(-3), 0);
  assert_int_equal(attn_heat_level(0), 0);
  assert_int_equal(attn_heat_level(0.5), 32);
  assert_int_equal(attn_heat_level(1), 63);
  assert_int_equal(attn_heat_level(inf_), 63);
}

/* ---- PNG ---- */

static size_t pixels_of(const png_image *image, png_const_bytep at, int paint) {
  struct attn_rgb c = attn_paint_color(paint, ATTN_LIGHT);
  size_t count = 0;
  for (size_t n = 0; n < (size_t)image->width * image->height; n++)
    count += at[3 * n] == c.r && at[3 * n + 1] == c.g && at[3 * n + 2] == c.b;
  return count;
}

static void a_png_shows_each_weight_in_its_colour(void **state) {
  (void)state;
  static const double at[] = {0.1, 0.4, 0.7, 1};
  struct page page = {.left = -1};
  png_image image;
  attn_panel p = panel_of(ATTN_PANEL_HEAT, 2, 2, at);
  assert_int_equal(draw(&page, &p, 1, ATTN_PICTURE_PNG, NULL), ATTN_OK);
  png_bytep pixels = decoded(&page, &image);
  assert_true(image.width > 200 && image.width < 1600 && image.height > 150);
  for (int n = 0; n < 4; n++) { /* a cell is 44 x 30 units or more, the number covers a fifth */
    size_t area = pixels_of(&image, pixels, ATTN_PAINT_HEAT + attn_heat_level(at[n]));
    assert_true(area > 44 * 30 * 4 * 4 / 5 && area < 80 * 30 * 4);
  }
  free(pixels);
  free(page.text);
}

static void what_nothing_is_drawn_on_is_paper(void **state) {
  (void)state;
  struct attn_raster r;
  assert_int_equal(attn_raster_begin(&r, 10.2, 5.2, NULL), ATTN_OK);
  assert_true(r.width == 21 && r.height == 11); /* the part of a pixel at the edge is one too */
  for (size_t n = 0; n < 3 * r.width * r.height; n++) assert_int_equal(r.rgb[n], 255);
  attn_raster_end(&r);
}

static void what_the_face_cannot_write_is_its_number(void **state) {
  (void)state;
  assert_true(attn_font_covers("K^T √2 -∞ {~}"));
  assert_false(attn_font_covers("私"));
  assert_false(attn_font_covers("e\xCC\x81")); /* e, accent */
  assert_false(attn_font_covers("\x01"));
  static const char *const foreign[] = {"私", "は"}, *const numbers[] = {"#0", "#1"};
  struct page one = {.left = -1}, two = {.left = -1};
  attn_panel p = panel_of(ATTN_PANEL_HEAT, 2, 2, wild);
  p.row_label = p.col_label = foreign;
  assert_int_equal(draw(&one, &p, 1, ATTN_PICTURE_PNG, NULL), ATTN_OK);
  p.row_label = p.col_label = numbers;
  assert_int_equal(draw(&two, &p, 1, ATTN_PICTURE_PNG, NULL), ATTN_OK);
  assert_int_equal(one.bytes, two.bytes);
  assert_memory_equal(one.text, two.text, one.bytes);
  free(one.text);
  free(two.text);
}

/* ---- Size ---- */

static void large_maps_are_drawn_and_too_large_ones_refused(void **state) {
  (void)state;
  const int32_t side = 1024;
  double *at = malloc((size_t)side * (size_t)side * sizeof *at);
  assert_non_null(at);
  for (int32_t n = 0; n < side * side; n++) at[n] = n % side == n / side;
  attn_panel p[20];
  for (int n = 0; n < 20; n++) p[n] = panel_of(ATTN_PANEL_HEAT, side, side, at);
  for (int format = ATTN_PICTURE_TEXT; format <= ATTN_PICTURE_PNG; format++) {
    struct page page = {.left = -1};
    assert_int_equal(draw(&page, p, 1, format, NULL), ATTN_OK);
    assert_true(page.bytes < 8u << 20); /* neighbours of one colour are one rectangle */
    free(page.text);
  }
  struct page page = {.left = -1};
  assert_int_equal(draw(&page, p, 20, ATTN_PICTURE_PNG, NULL), ATTN_ERR_SHAPE);
  assert_int_equal(page.bytes, 0);
  free(page.text);
  free(at);
}

static void a_wide_matrix_goes_on_below(void **state) {
  (void)state;
  double at[300], width, height;
  for (int n = 0; n < 300; n++) at[n] = n;
  struct page page = {.left = -1};
  attn_panel p = panel_of(ATTN_PANEL_MATRIX, 1, 300, at);
  assert_int_equal(draw(&page, &p, 1, ATTN_PICTURE_SVG, NULL), ATTN_OK);
  assert_int_equal(
      sscanf(strstr(page.text, " width="), " width=\"%lf\" height=\"%lf\"", &width, &height), 2);
  assert_true(width < 1200 && height > 250);
  for (int n = 0; n < 300; n++) {
    char text[16];
    snprintf(text, sizeof text, ">%d<", n);
    assert_non_null(strstr(page.text, text));
  }
  free(page.text);
}

/* ---- Errors ---- */

static void bad_input_is_refused_before_the_first_byte(void **state) {
  (void)state;
  attn_error err;
  const attn_panel good = panel_of(ATTN_PANEL_MATRIX, 2, 2, wild);
  attn_panel bad[16];
  int n = 0, shapes;
  for (int k = 0; k < 16; k++) bad[k] = good;
  bad[n++].rows = 0;
  bad[n++].cols = -1;
  bad[n].rows = ATTN_PANEL_CELLS_MAX, bad[n++].cols = 2;
  bad[n].rows = INT32_MAX, bad[n++].cols = INT32_MAX;
  bad[n].kind = ATTN_PANEL_ARROWS, bad[n++].cols = 3;
  bad[n].kind = ATTN_PANEL_ROOFLINE, bad[n++].cols = 1;
  shapes = n;
  bad[n++].kind = 5;
  bad[n++].kind = ATTN_PANEL_ROOFLINE;
  bad[n].kind = ATTN_PANEL_ROOFLINE, bad[n].roof = 1, bad[n++].slope = inf_;
  bad[n++].kind = -1;
  bad[n++].at = NULL;
  bad[n++].split = 1;
  bad[n].kind = ATTN_PANEL_ARROWS, bad[n++].split = 3;
  bad[n++].first = 2;
  bad[n++].compact = 1; /* a matrix */
  bad[n++].struct_size = 8;
  for (int k = 0; k < n; k++)
    for (int format = ATTN_PICTURE_TEXT; format <= ATTN_PICTURE_PNG; format++) {
      const attn_panel pair[] = {good, bad[k]};
      struct page page = {.left = -1};
      attn_status status = draw(&page, pair, 2, format, &err);
      if (status != (k < shapes ? ATTN_ERR_SHAPE : ATTN_ERR_ARGUMENT))
        fail_msg("bad panel %d: status %d", k, (int)status);
      assert_string_equal(err.argument, "panels");
      assert_int_equal(page.bytes, 0);
    }
}

static void bad_calls_are_refused(void **state) {
  (void)state;
  struct page page = {.left = -1};
  const attn_sink sink = {&page, grow}, none = {NULL, NULL};
  const attn_panel p = panel_of(ATTN_PANEL_MATRIX, 2, 2, wild);
  attn_style style = plain_style;
  assert_int_equal(draw(&page, NULL, 1, 0, NULL), ATTN_ERR_ARGUMENT);
  assert_int_equal(draw(&page, &p, 0, 0, NULL), ATTN_ERR_ARGUMENT);
  assert_int_equal(draw(&page, &p, ATTN_PANELS_MAX + 1, 0, NULL), ATTN_ERR_ARGUMENT);
  assert_int_equal(draw(&page, &p, 1, 4, NULL), ATTN_ERR_ARGUMENT);
  assert_int_equal(draw(&page, &p, 1, -1, NULL), ATTN_ERR_ARGUMENT);
  style.language = 2;
  assert_int_equal(attn_panels_draw(&p, 1, NULL, 0, &style, &sink, NULL), ATTN_ERR_ARGUMENT);
  assert_int_equal(attn_panels_draw(&p, 1, NULL, 0, NULL, &none, NULL), ATTN_ERR_ARGUMENT);
  assert_int_equal(attn_panels_draw(&p, 1, NULL, 0, NULL, NULL, NULL), ATTN_ERR_ARGUMENT);
  assert_int_equal(page.bytes, 0);
}

static void panels_of_a_newer_header_lie_farther_apart(void **state) {
  (void)state;
  struct newer {
    attn_panel p;
    double more;
  } panels[2] = {{panel_of(0, 1, 1, wild), 0}, {panel_of(0, 1, 1, wild + 3), 0}};
  struct page page = {.left = -1};
  panels[0].p.struct_size = panels[1].p.struct_size = sizeof *panels;
  assert_int_equal(draw(&page, &panels[0].p, 2, ATTN_PICTURE_SVG, NULL), ATTN_OK);
  assert_non_null(strstr(page.text, ">0.5<"));
  panels[1].more = 1; /* requests an unknown feature */
  assert_int_equal(draw(&page, &panels[0].p, 2, ATTN_PICTURE_SVG, NULL), ATTN_ERR_ARGUMENT);
  free(page.text);
}

static void an_error_of_the_sink_is_returned_at_any_call(void **state) {
  (void)state;
  attn_panel p[16];
  int all = assorted(p);
  for (int format = ATTN_PICTURE_TEXT; format <= ATTN_PICTURE_PNG; format++) {
    /* A PNG is written at its end, whatever is drawn: two panels, or each stop compresses all. */
    int count = format == ATTN_PICTURE_PNG ? 2 : all;
    long stops = 0;
    for (attn_status status = ATTN_ERR_FILE; status; stops++) {
      struct page page = {.left = stops};
      attn_error err = {0};
      /* Early calls one by one, then in strides to every kind of place. */
      if (stops > (SANITIZED ? 15 : 60)) stops += SANITIZED ? 840 : 210;
      status = draw(&page, p, count, format, &err);
      if (status) {
        assert_int_equal(status, ATTN_ERR_FILE);
        assert_int_equal(err.status, ATTN_ERR_FILE);
      }
      free(page.text);
    }
    assert_true(stops > 3);
  }
}

static void a_lack_of_memory_is_returned_at_any_allocation(void **state) {
  (void)state;
  struct fixture f;
  fixture_attention(&f, 1);
  for (int format = ATTN_PICTURE_TEXT; format <= ATTN_PICTURE_PNG; format++) {
    attn_status status = ATTN_ERR_MEMORY;
    long n;
    for (n = 1; status; n++) {
      struct page page = {.left = -1};
      const attn_sink sink = {&page, grow};
      attn_error err = {0};
      calloc_fails_at = n;
      status = attn_lesson_draw(&f.lesson, (attn_picture_format)format, NULL, &sink, &err);
      calloc_fails_at = 0;
      if (status) {
        assert_int_equal(status, ATTN_ERR_MEMORY);
        assert_int_equal(err.status, ATTN_ERR_MEMORY);
        assert_int_equal(page.bytes, 0);
      }
      free(page.text);
    }
    assert_true(n > 5);
  }
}

/* ---- Checked documents ---- */

static attn_status draw_check(struct fixture *f, const attn_check *check, const char *text,
                              struct page *page) {
  const attn_sink sink = {page, grow};
  return attn_check_draw(&f->lesson, check, text, strlen(text), NULL, &sink, NULL);
}

/* Places of numbers beyond the text are ignored; the text is escaped. */
static void a_checked_document_is_whole_or_not_written(void **state) {
  (void)state;
  static const char text[] = "X\n1 0\n0 1 <b> \t\x01 &\n\n0.7071";
  struct fixture f;
  attn_check *check;
  fixture_attention(&f, 1);
  assert_int_equal(attn_lesson_check(&f.lesson, &check, NULL), ATTN_OK);
  attn_status status = ATTN_ERR_MEMORY;
  long n;
  for (n = 1; status; n++) {
    struct page page = {.left = -1};
    calloc_fails_at = n;
    status = draw_check(&f, check, text, &page);
    calloc_fails_at = 0;
    if (status)
      assert_int_equal(page.bytes, 0);
    else
      assert_well_formed(page.text),
          assert_non_null(strstr(page.text, "0 1 &lt;b&gt; \t\uFFFD &amp;"));
    free(page.text);
  }
  assert_true(n > 3);
  const attn_sink none = {NULL, NULL};
  assert_int_equal(attn_check_draw(&f.lesson, check, text, 1, NULL, &none, NULL),
                   ATTN_ERR_ARGUMENT);
  assert_int_equal(attn_check_draw(&f.lesson, NULL, text, 1, NULL, &none, NULL), ATTN_ERR_ARGUMENT);
  assert_int_equal(attn_check_draw(NULL, check, text, 1, NULL, &none, NULL), ATTN_ERR_ARGUMENT);
  attn_check_free(check);
}

/* An entry that could not be read has its problem, escaped; names have no direction marks. */
static void an_index_has_every_document(void **state) {
  (void)state;
  struct fixture f;
  attn_check *check;
  struct page page = {.left = -1};
  const attn_sink sink = {&page, grow}, none = {NULL, NULL};
  fixture_attention(&f, 1);
  assert_int_equal(attn_lesson_check(&f.lesson, &check, NULL), ATTN_OK);
  const attn_check_entry entries[] = {
      {.file = "a\u202e<b>.md", .page = "1.html", .lesson = &f.lesson, .check = check},
      {.file = NULL, .problem = "no & <text>"}};
  assert_int_equal(attn_check_draw_index(entries, 2, NULL, &sink, NULL), ATTN_OK);
  assert_well_formed(page.text);
  assert_non_null(strstr(page.text, "<a href=\"1.html\">a\uFFFD&lt;b&gt;.md</a>"));
  assert_non_null(strstr(page.text, "no &amp; &lt;text&gt;"));
  assert_int_equal(attn_check_draw_index(entries, 0, NULL, &sink, NULL), ATTN_ERR_ARGUMENT);
  assert_int_equal(attn_check_draw_index(NULL, 1, NULL, &sink, NULL), ATTN_ERR_ARGUMENT);
  assert_int_equal(attn_check_draw_index(entries, 2, NULL, &none, NULL), ATTN_ERR_ARGUMENT);
  free(page.text);
  attn_check_free(check);
}

/* ---- Lessons ---- */

static char *lesson_page(struct fixture *f, attn_picture_format format, const attn_style *style) {
  struct page page = {.left = -1};
  const attn_sink sink = {&page, grow};
  attn_error err;
  if (attn_lesson_draw(&f->lesson, format, style, &sink, &err)) fail_msg("%s", err.message);
  return page.text;
}

static void expect_parts(const char *text, const char *const *part) {
  for (; *part; part++)
    if (!strstr(text, *part)) fail_msg("%s is missing", *part);
}

static void a_lesson_is_drawn_step_by_step(void **state) {
  (void)state;
  static const char *const common[] = {"Example 1: Two tokens",
                                       ">Queries and keys in the plane<",
                                       ">0.7071<",
                                       ">-∞<",
                                       ">0.6698<",
                                       ">0.3302<",
                                       ">q 私<",
                                       ">k は&amp;&lt;<",
                                       NULL};
  static const char *const svg[] = {"W^Q (2×2)", "E = Q K^T (2×2)", ">Scaled scores<",
                                    ">Weights<", ">Output<",        "A = softmax(masked) (2×2)",
                                    NULL};
  static const char *const html[] = {
      ". Scaled scores<",
      ". Weights<",
      ". Output<",
      "<msup><mi>W</mi><mrow><mi>Q</mi></mrow></msup>",
      "<msup><mi>K</mi><mrow><mi>T</mi></mrow></msup>",
      "<mi>softmax</mi><mo stretchy=\"false\">(</mo><mi>masked</mi><mo stretchy=\"false\">)</mo>",
      NULL};
  struct fixture f;
  char tokens[] = "私 は&<";
  fixture_attention(&f, 1);
  fixture_tokens(&f, tokens);
  for (int format = ATTN_PICTURE_SVG; format <= ATTN_PICTURE_HTML; format++) {
    char *text = lesson_page(&f, (attn_picture_format)format, NULL);
    assert_well_formed(text);
    expect_parts(text, common);
    expect_parts(text, format == ATTN_PICTURE_SVG ? svg : html);
    free(text);
  }
}

/* Where the line of a roof ends, its ridge and a point: read from the SVG. */
static void a_point_on_the_roof_is_drawn_on_the_roof(void **state) {
  (void)state;
  static const double at[] = {4, 100, 0.5, 12.5, -1, 3}; /* the ridge, half a decade below, none */
  attn_panel p = panel_of(ATTN_PANEL_ROOFLINE, 3, 2, at);
  p.roof = 100, p.slope = 25;
  struct page page = {.left = -1};
  assert_int_equal(draw(&page, &p, 1, ATTN_PICTURE_SVG, NULL), ATTN_OK);
  double x[3][2], y[3][2];
  int lines = 0, points = 0;
  for (const char *line = page.text; (line = strstr(line, "<line ")); line++) {
    double width = 0, x1, y1, x2, y2;
    if (sscanf(line, "<line x1=\"%lf\" y1=\"%lf\" x2=\"%lf\" y2=\"%lf\"", &x1, &y1, &x2, &y2) != 4)
      continue;
    const char *at_width = strstr(line, "stroke-width=\"");
    if (!at_width || sscanf(at_width, "stroke-width=\"%lf", &width) != 1 || width < 2) continue;
    if (lines < 2) x[lines][0] = x1, x[lines][1] = x2, y[lines][0] = y1, y[lines][1] = y2;
    lines++;
  }
  assert_int_equal(lines, 2);
  assert_true(fabs(x[0][1] - x[1][0]) < 0.02 && fabs(y[0][1] - y[1][0]) < 0.02); /* the ridge */
  assert_true(fabs(y[1][0] - y[1][1]) < 0.02);                                   /* horizontal */
  for (const char *rect = page.text; (rect = strstr(rect, "<rect ")); rect++) {
    double left, top, w;
    if (sscanf(rect, "<rect x=\"%lf\" y=\"%lf\" width=\"%lf\"", &left, &top, &w) != 3 || w != 6)
      continue;
    double u = left + 3, v = top + 3, along = (u - x[0][0]) / (x[0][1] - x[0][0]);
    if (points == 0) assert_true(fabs(u - x[0][1]) < 0.02 && fabs(v - y[0][1]) < 0.02);
    if (points == 1) assert_true(fabs(v - (y[0][0] + along * (y[0][1] - y[0][0]))) < 0.05);
    points++;
  }
  assert_int_equal(points, 2);
  free(page.text);
}

static void arrows_are_of_two_numbers(void **state) {
  (void)state;
  static const double one[] = {1, 0, 0, 0, 1, 0};
  struct fixture f;
  fixture_begin(&f, "");
  fixture_given(&f, ATTN_STEP_Q, "Q", 2, 3, one);
  fixture_given(&f, ATTN_STEP_K, "K", 2, 3, one);
  char *text = lesson_page(&f, ATTN_PICTURE_SVG, NULL);
  assert_null(strstr(text, "stroke-dasharray"));
  assert_non_null(strstr(text, ">Example 1<"));
  free(text);
  f.step[0].exact.cols = f.step[1].exact.cols = 2;
  text = lesson_page(&f, ATTN_PICTURE_SVG, NULL);
  assert_non_null(strstr(text, "stroke-dasharray"));
  free(text);
  f.step[0].exact.cols = 3; /* queries that are wider */
  text = lesson_page(&f, ATTN_PICTURE_SVG, NULL);
  assert_null(strstr(text, "stroke-dasharray"));
  free(text);
  f.step[0].exact.cols = 2;
  f.step[1].head = 1; /* not of one head */
  text = lesson_page(&f, ATTN_PICTURE_SVG, NULL);
  assert_null(strstr(text, "stroke-dasharray"));
  free(text);
}

static void a_lesson_of_nothing_cannot_be_drawn(void **state) {
  (void)state;
  struct page page = {.left = -1};
  const attn_sink sink = {&page, grow};
  attn_lesson empty = {.examples = 0};
  attn_error err;
  assert_int_equal(attn_lesson_draw(&empty, ATTN_PICTURE_SVG, NULL, &sink, &err),
                   ATTN_ERR_ARGUMENT);
  assert_string_equal(err.argument, "lesson");
  assert_int_equal(page.bytes, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(whatever_is_in_it_a_picture_is_well_formed),
      cmocka_unit_test(a_terminal_sees_no_control_but_colours),
      cmocka_unit_test(every_number_is_there),
      cmocka_unit_test(a_page_has_both_languages_an_svg_has_one),
      cmocka_unit_test(colours_can_be_read),
      cmocka_unit_test(more_weight_is_evenly_more_colour),
      cmocka_unit_test(a_png_shows_each_weight_in_its_colour),
      cmocka_unit_test(what_nothing_is_drawn_on_is_paper),
      cmocka_unit_test(what_the_face_cannot_write_is_its_number),
      cmocka_unit_test(large_maps_are_drawn_and_too_large_ones_refused),
      cmocka_unit_test(a_wide_matrix_goes_on_below),
      cmocka_unit_test(bad_input_is_refused_before_the_first_byte),
      cmocka_unit_test(bad_calls_are_refused),
      cmocka_unit_test(panels_of_a_newer_header_lie_farther_apart),
      cmocka_unit_test(an_error_of_the_sink_is_returned_at_any_call),
      cmocka_unit_test(a_lack_of_memory_is_returned_at_any_allocation),
      cmocka_unit_test(a_checked_document_is_whole_or_not_written),
      cmocka_unit_test(an_index_has_every_document),
      cmocka_unit_test(a_lesson_is_drawn_step_by_step),
      cmocka_unit_test(arrows_are_of_two_numbers),
      cmocka_unit_test(a_point_on_the_roof_is_drawn_on_the_roof),
      cmocka_unit_test(a_lesson_of_nothing_cannot_be_drawn),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
