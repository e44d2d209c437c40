/* test_image_panel.c -- heat over an image: colours follow the weights, in every format the same;
 * an image that is written as PNG is read back the same; errors. */
#include "drawing.h"

#include <math.h>

#include "fixture.h"
#include "panels.h"

void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes) {
  if (calloc_fails_at > 0 && --calloc_fails_at == 0) return NULL;
  return __real_malloc(bytes);
}

enum { H = 6, W = 9 };

static unsigned char rgb[H][W][3];
static const attn_tensor image = {rgb, ATTN_U8, 3, {H, W, 3}, {3 * W, 3, 1}};

static int begin(void **state) {
  (void)state;
  for (int n = 0; n < H * W * 3; n++)
    rgb[n / 3 / W][n / 3 % W][n % 3] = (unsigned char)(n * 89 + 40);
  return 0;
}

static attn_panel heat_over(int rows, int cols, const double *at, int smooth) {
  attn_panel p = panel_of(ATTN_PANEL_IMAGE, rows, cols, at);
  p.image = &image, p.smooth = smooth;
  return p;
}

static attn_panel prepared(int rows, int cols, const double *at, int smooth) {
  attn_panel p = heat_over(rows, cols, at, smooth);
  assert_int_equal(attn_image_panel_prepare(&p, 0, NULL), ATTN_OK);
  return p;
}

/* The colour of pixel (i, j) of the image. */
static struct attn_rgb pixel(const attn_panel *p, int i, int j) {
  return attn_panel_image_color(p, (double)j / W, (double)i / H, 1.0 / W, 1.0 / H);
}

static double grey_of(int i, int j) {
  return 0.2126 * rgb[i][j][0] + 0.7152 * rgb[i][j][1] + 0.0722 * rgb[i][j][2];
}

/* ---- Colours --------------------------------------------------------------------------------- */

static void an_image_alone_has_its_own_colours(void **state) {
  (void)state;
  const attn_panel p = prepared(0, 0, NULL, 0);
  for (int n = 0; n < H * W; n++) {
    const struct attn_rgb c = pixel(&p, n / W, n % W);
    assert_memory_equal(&c, rgb[n / W][n % W], 3);
  }
}

/* Larger parts are averages: of all pixels, and of each whole column. */
static void a_part_of_an_image_is_its_average(void **state) {
  (void)state;
  const attn_panel p = prepared(0, 0, NULL, 0);
  for (int j = -1; j < W; j++) {
    double sum[3] = {0}, count = j < 0 ? H * W : H;
    for (int n = 0; n < H * W; n++)
      for (int c = 0; c < 3; c++) sum[c] += j < 0 || n % W == j ? rgb[n / W][n % W][c] : 0;
    struct attn_rgb all = j < 0 ? attn_panel_image_color(&p, 0, 0, 1, 1)
                                : attn_panel_image_color(&p, (double)j / W, 0, 1.0 / W, 1);
    assert_true(fabs(all.r - sum[0] / count) <= 0.5 + 1e-9);
    assert_true(fabs(all.g - sum[1] / count) <= 0.5 + 1e-9);
    assert_true(fabs(all.b - sum[2] / count) <= 0.5 + 1e-9);
  }
}

static void without_weight_an_image_is_dark_grey(void **state) {
  (void)state;
  static const double at[] = {0, -1, (double)NAN, -(double)INFINITY, (double)INFINITY, 0};
  for (int full = 0; full < 2; full++) {
    attn_panel p = prepared(2, 3, at, full);
    if (full) p.full_heat = 1;
    for (int n = 0; n < H * W; n++) {
      const struct attn_rgb c = pixel(&p, n / W, n % W);
      assert_true(c.r == c.g && c.g == c.b);
      assert_true(fabs(c.r - grey_of(n / W, n % W) / 2) <= 0.5 + 1e-9);
    }
  }
}

/* Each cell has one share of heat, and more weight is lighter: on the same pixel. */
static void more_weight_is_lighter(void **state) {
  (void)state;
  double at[6];
  for (int cell = 0; cell < 6; cell++)
    for (int n = 0; n < H * W; n++) {
      int i = n / W, j = n % W;
      double before = -1;
      for (int step = 0; step <= 4; step++) {
        for (int k = 0; k < 6; k++) at[k] = k == cell ? step / 8.0 : 0;
        attn_panel p = prepared(2, 3, at, 0);
        p.full_heat = 0.5;
        const struct attn_rgb c = pixel(&p, i, j);
        double light = attn_luminance(c);
        int inside = i / (H / 2) * 3 + j / (W / 3) == cell;
        assert_true(!inside || light > before);
        if (!inside) assert_true(c.r == c.g && c.g == c.b);
        before = light;
      }
    }
}

static void the_largest_weight_is_full_heat(void **state) {
  (void)state;
  static const double at[] = {0.1, 0.2, 0.05, 0}, four[] = {0.4, 0.8, 0.2, 0};
  attn_panel p = prepared(2, 2, at, 0), same = prepared(2, 2, four, 0),
             other = heat_over(2, 2, at, 0);
  assert_true(p.full_heat == 0.2 && attn_image_panel_share(&p, 0, 1) == 1);
  other.full_heat = 0.8;
  assert_int_equal(attn_image_panel_prepare(&other, 0, NULL), ATTN_OK);
  assert_true(attn_image_panel_share(&other, 0, 1) == 0.25);
  for (int n = 0; n < H * W; n++) {
    const struct attn_rgb a = pixel(&p, n / W, n % W), b = pixel(&same, n / W, n % W);
    assert_memory_equal(&a, &b, 3);
  }
}

/* Between the centres of two cells heat is linear: over black, a share of the lightest colour. */
/* Of cells that are shifted the centres are, too. */
static void smooth_heat_is_linear_between_centres(void **state) {
  (void)state;
  static const double shifts[] = {0, -0.375, 0.25};
  static unsigned char black[3];
  static const attn_tensor dark = {black, ATTN_U8, 3, {1, 1, 3}, {3, 3, 1}};
  static const double at[] = {0.25, 1};
  const struct attn_rgb hot = attn_paint_color(ATTN_PAINT_HEAT + ATTN_HEAT_LEVELS - 1, ATTN_DARK);
  for (int n_case = 0; n_case < 6; n_case++) { /* cells side by side, or one above the other */
    int column = n_case % 2;
    double shift = shifts[n_case / 2];
    attn_panel p = panel_of(ATTN_PANEL_IMAGE, column ? 2 : 1, column ? 1 : 2, at);
    p.image = &dark, p.smooth = 1, p.full_heat = 1, p.shift = shift;
    for (int n = 0; n <= 100; n++) {
      double place = n / 100.0, share = 0.25 + 0.75 * fmin(fmax((place - 0.25) * 2 - shift, 0), 1);
      struct attn_rgb c = column ? attn_panel_image_color(&p, 0.5, place, 0, 0)
                                 : attn_panel_image_color(&p, place, 0.5, 0, 0);
      assert_true(fabs(c.r - 0.7 * share * hot.r) <= 0.5 + 1e-9);
      assert_true(fabs(c.g - 0.7 * share * hot.g) <= 0.5 + 1e-9);
      assert_true(fabs(c.b - 0.7 * share * hot.b) <= 0.5 + 1e-9);
    }
  }
}

/* ---- The same in every format ---------------------------------------------------------------- */

static const double weights[] = {0.5, 0.25, 0.125, 0, 0.0625, 0.0625};

/* The bitmap of a drawn image, 2 pixels per unit, from its upper left corner on. */
static void check_bitmap(const attn_panel *p, const unsigned char *at, size_t stride) {
  enum { WIDE = 288, HIGH = 192 };
  for (int i = 0; i < HIGH; i++)
    for (int j = 0; j < WIDE; j++) {
      const struct attn_rgb c =
          attn_panel_image_color(p, (double)j / WIDE, (double)i / HIGH, 1.0 / WIDE, 1.0 / HIGH);
      assert_memory_equal(at + (size_t)i * stride + 3 * (size_t)j, &c, 3);
    }
}

static void a_png_shows_the_heat(void **state) {
  (void)state;
  for (int smooth = 0; smooth < 2; smooth++) {
    const attn_panel p = heat_over(2, 3, weights, smooth), ready = prepared(2, 3, weights, smooth);
    struct page page = {.left = -1};
    png_image read;
    const attn_sink sink = {&page, grow};
    assert_int_equal(attn_panels_draw(&p, 1, NULL, ATTN_PICTURE_PNG, NULL, &sink, NULL), ATTN_OK);
    png_bytep pixels = decoded(&page, &read);
    assert_true(read.width == 2 * (144 + 48) && read.height == 2 * (96 + 18 + 48));
    check_bitmap(&ready, pixels + 3 * (48 * read.width + 48), 3 * read.width);
    free(pixels), free(page.text);
  }
}

static int digit_of(char c) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const char *at = c ? strchr(digits, c) : NULL;
  return at ? (int)(at - digits) : -1;
}

/* Decodes base64 up to a quote. */
static struct page bytes_of(const char *text) {
  struct page page = {.left = -1};
  for (; *text != '"'; text += 4) {
    int n[4], padding = (text[2] == '=') + (text[3] == '=');
    for (int k = 0; k < 4; k++) {
      n[k] = digit_of(text[k]);
      if (n[k] < 0) assert_true(text[k] == '=' && k >= 4 - padding), n[k] = 0;
    }
    const char bytes[3] = {(char)(n[0] << 2 | n[1] >> 4), (char)(n[1] << 4 | n[2] >> 2),
                           (char)(n[2] << 6 | n[3])};
    grow(&page, bytes, (size_t)(3 - padding));
  }
  return page;
}

static void svg_and_html_show_the_heat(void **state) {
  (void)state;
  static const char mark[] = " href=\"data:image/png;base64,";
  for (int format = ATTN_PICTURE_SVG; format <= ATTN_PICTURE_HTML; format++) {
    const attn_panel p[] = {heat_over(0, 0, NULL, 0), heat_over(2, 3, weights, 1)};
    struct page page = {.left = -1};
    assert_int_equal(draw(&page, p, 2, format, NULL), ATTN_OK);
    assert_well_formed(page.text);
    assert_coordinates(page.text);
    const char *at = page.text;
    for (int n = 0; n < 2; n++) {
      const attn_panel ready = n ? prepared(2, 3, weights, 1) : prepared(0, 0, NULL, 0);
      assert_non_null(at = strstr(at, mark));
      struct page png = bytes_of(at += strlen(mark));
      png_image read;
      png_bytep pixels = decoded(&png, &read);
      assert_true(read.width == 288 && read.height == 192);
      check_bitmap(&ready, pixels, 3 * read.width);
      free(pixels), free(png.text);
    }
    assert_null(strstr(at, mark));
    assert_non_null(strstr(page.text, ">max 0.5<"));
    /* The page's table has the weights, of the panel that has some. */
    const char *table = strstr(page.text, "<table");
    assert_int_equal(table != NULL, format == ATTN_PICTURE_HTML);
    if (table) assert_non_null(strstr(table, "<td>0.125</td>"));
    if (table) assert_null(strstr(table + 1, "<table"));
    free(page.text);
  }
}

/* Every residue of the size modulo 3: the PNG ends with its last chunk and nothing after it. */
static void base64_ends_where_the_png_does(void **state) {
  (void)state;
  int seen[3] = {0};
  for (int n = 0; n < 30; n++) {
    attn_panel p = heat_over(2, 3, weights, n % 2);
    struct page page = {.left = -1};
    p.full_heat = 1 + n;
    assert_int_equal(draw(&page, &p, 1, ATTN_PICTURE_SVG, NULL), ATTN_OK);
    struct page png = bytes_of(strstr(page.text, "base64,") + 7);
    assert_memory_equal(png.text + png.bytes - 12, "\0\0\0\0IEND\xae\x42\x60\x82", 12);
    seen[png.bytes % 3]++;
    free(png.text), free(page.text);
  }
  assert_true(seen[0] && seen[1] && seen[2]);
}

/* ---- Terminals ------------------------------------------------------------------------------- */

static struct page terminal_page(const attn_panel *p, int count, int color, int width) {
  struct page page = {.left = -1};
  const attn_sink sink = {&page, grow};
  const attn_style style = {sizeof style, 0, color, width, 2};
  assert_int_equal(attn_panels_draw(p, count, NULL, ATTN_PICTURE_TEXT, &style, &sink, NULL),
                   ATTN_OK);
  return page;
}

static int count_of(const char *text, const char *what) {
  int count = 0;
  for (; (text = strstr(text, what)); text += strlen(what)) count++;
  return count;
}

/* 24 columns by 8 lines: half blocks in the colours of the upper and of the lower half. */
static void a_terminal_shows_the_heat_in_colours(void **state) {
  (void)state;
  const attn_panel p = heat_over(2, 3, weights, 1), ready = prepared(2, 3, weights, 1);
  struct page page = terminal_page(&p, 1, 1, 80);
  const char *at = page.text;
  assert_int_equal(count_of(page.text, "▀"), 24 * 8);
  for (int n = 0; n < 24 * 8; n++) {
    double x = n % 24 / 24.0, y = n / 24 / 8.0;
    int r[2], g[2], b[2];
    assert_non_null(at = strstr(at, "\x1b[38;2;"));
    assert_int_equal(
        sscanf(at += 7, "%d;%d;%d;48;2;%d;%d;%dm▀", &r[0], &g[0], &b[0], &r[1], &g[1], &b[1]), 6);
    for (int k = 0; k < 2; k++) {
      const struct attn_rgb c = attn_panel_image_color(&ready, x, y + k / 16.0, 1 / 24.0, 1 / 16.0);
      assert_true(r[k] == c.r && g[k] == c.g && b[k] == c.b);
    }
  }
  assert_non_null(strstr(at, "max 0.5\n"));
  free(page.text);
}

/* Cells from no heat to full heat: a third of the columns each. */
static void a_terminal_without_colours_shows_shades(void **state) {
  (void)state;
  static const double at[] = {0, 0.5, 1, 0, 0, 0};
  const attn_panel p = heat_over(2, 3, at, 0);
  struct page page = terminal_page(&p, 1, 0, 80);
  assert_null(strchr(page.text, 0x1b));
  assert_int_equal(count_of(page.text, "          ▒▒▒▒▒▒▒▒████████\n"), 4);
  assert_int_equal(count_of(page.text, "█"), 32);
  free(page.text);
}

static int longest_line(const char *text) {
  int longest = 0, line = 0;
  for (; *text; text++) {
    line = *text == '\n' ? 0 : line + ((*text & 0xC0) != 0x80);
    if (line > longest) longest = line;
  }
  return longest;
}

/* Titles of panels side by side, each above its image. */
static void panels_fill_the_lines_of_a_terminal(void **state) {
  (void)state;
  static const char *const titles[] = {"picture", "small", "赤い", "a word longer than the image"};
  attn_panel p[4];
  for (int n = 0; n < 4; n++) {
    p[n] = n ? heat_over(2, 3, weights, 0) : heat_over(0, 0, NULL, 0);
    p[n].title.english = titles[n];
  }
  struct page page = terminal_page(p, 4, 0, 80);
  assert_non_null(
      strstr(page.text, "  picture                   small                     赤い\n"));
  assert_non_null(strstr(page.text, "\n  a word longer than the …\n"));
  assert_int_equal(longest_line(page.text), 2 + 3 * 24 + 2 * 2);
  free(page.text);
  page = terminal_page(p, 4, 0, 20);
  assert_true(longest_line(page.text) <= 20);
  assert_int_equal(count_of(page.text, "max 0.5"), 3);
  free(page.text);
}

/* ---- Other sizes ----------------------------------------------------------------------------- */

static void any_shape_of_image_is_drawn(void **state) {
  (void)state;
  static unsigned char line[4096 * 3];
  static const int shapes[][2] = {{1, 1}, {1, 4096}, {4096, 1}, {64, 64}, {3, 2}};
  for (size_t n = 0; n < sizeof shapes / sizeof *shapes; n++) {
    const int64_t h = shapes[n][0], w = shapes[n][1];
    const attn_tensor t = {line, ATTN_U8, 3, {h, w, 3}, {3 * w, 3, 1}};
    for (int format = ATTN_PICTURE_TEXT; format <= ATTN_PICTURE_PNG; format++) {
      attn_panel p = heat_over(2, 3, weights, 1);
      struct page page = {.left = -1};
      p.image = &t;
      assert_int_equal(draw(&page, &p, 1, format, NULL), ATTN_OK);
      assert_true(page.bytes > 0);
      free(page.text);
    }
  }
}

/* ---- attn_image_write ------------------------------------------------------------------------ */

static void a_written_image_is_read_back(void **state) {
  (void)state;
  struct page page = {.left = -1};
  const attn_sink sink = {&page, grow};
  /* (column, row, channel) of the same memory, from the last row up, channels reversed. */
  const attn_tensor turned = {&rgb[H - 1][0][2], ATTN_U8, 3, {H, W, 3}, {-3 * W, 3, -1}};
  png_image read;
  assert_int_equal(attn_image_write(&image, &sink, NULL), ATTN_OK);
  png_bytep pixels = decoded(&page, &read);
  assert_true(read.width == W && read.height == H);
  assert_memory_equal(pixels, rgb, sizeof rgb);
  free(pixels);
  page.bytes = 0;
  assert_int_equal(attn_image_write(&turned, &sink, NULL), ATTN_OK);
  pixels = decoded(&page, &read);
  for (int n = 0; n < H * W * 3; n++)
    assert_int_equal(pixels[n], rgb[H - 1 - n / 3 / W][n / 3 % W][2 - n % 3]);
  free(pixels), free(page.text);
}

/* ---- Errors ---------------------------------------------------------------------------------- */

static void bad_images_are_refused_before_the_first_byte(void **state) {
  (void)state;
  static const struct {
    attn_tensor t;
    attn_status status;
  } bad[] = {{{rgb, ATTN_F32, 3, {1, 2, 3}, {6, 3, 1}}, ATTN_ERR_TYPE},
             {{rgb, ATTN_U8, 2, {2, 3}, {3, 1}}, ATTN_ERR_SHAPE},
             {{rgb, ATTN_U8, 3, {2, 2, 4}, {8, 4, 1}}, ATTN_ERR_SHAPE},
             {{rgb, ATTN_U8, 3, {0, 2, 3}, {6, 3, 1}}, ATTN_ERR_SHAPE},
             {{rgb, ATTN_U8, 3, {32769, 1, 3}, {0, 0, 1}}, ATTN_ERR_SHAPE},
             {{rgb, ATTN_U8, 3, {32768, 32768, 3}, {0, 0, 1}}, ATTN_ERR_SHAPE},
             {{NULL, ATTN_U8, 3, {2, 2, 3}, {6, 3, 1}}, ATTN_ERR_ARGUMENT}};
  for (size_t n = 0; n < sizeof bad / sizeof *bad; n++) {
    attn_panel p = heat_over(2, 3, weights, 0);
    struct page page = {.left = -1};
    const attn_sink sink = {&page, grow};
    p.image = &bad[n].t;
    for (int format = ATTN_PICTURE_TEXT; format <= ATTN_PICTURE_PNG; format++)
      assert_int_equal(draw(&page, &p, 1, format, NULL), bad[n].status);
    assert_int_equal(attn_image_write(&bad[n].t, &sink, NULL), bad[n].status);
    assert_int_equal(page.bytes, 0);
  }
}

static void bad_settings_are_refused(void **state) {
  (void)state;
  struct page page = {.left = -1};
  const attn_sink sink = {&page, grow}, none = {NULL, NULL};
  attn_panel bad[8];
  for (int n = 0; n < 8; n++) bad[n] = heat_over(2, 3, weights, 0);
  bad[0].image = NULL, bad[1].smooth = 2, bad[2].full_heat = -1, bad[3].full_heat = (double)NAN;
  bad[4].full_heat = (double)INFINITY;
  bad[6].shift = 0.6, bad[7].shift = (double)NAN;
  bad[5].struct_size = offsetof(attn_panel, image); /* of a header without images */
  for (int n = 0; n < 8; n++)
    assert_int_equal(draw(&page, &bad[n], 1, ATTN_PICTURE_SVG, NULL), ATTN_ERR_ARGUMENT);
  bad[0] = heat_over(0, 3, weights, 0);
  assert_int_equal(draw(&page, &bad[0], 1, ATTN_PICTURE_SVG, NULL), ATTN_ERR_SHAPE);
  assert_int_equal(attn_image_write(NULL, &sink, NULL), ATTN_ERR_ARGUMENT);
  assert_int_equal(attn_image_write(&image, NULL, NULL), ATTN_ERR_ARGUMENT);
  assert_int_equal(attn_image_write(&image, &none, NULL), ATTN_ERR_ARGUMENT);
  assert_int_equal(page.bytes, 0);
}

static void a_panel_of_an_older_header_is_drawn(void **state) {
  (void)state;
  attn_panel p = panel_of(ATTN_PANEL_HEAT, 2, 3, weights);
  struct page page = {.left = -1};
  p.struct_size = offsetof(attn_panel, image);
  assert_int_equal(draw(&page, &p, 1, ATTN_PICTURE_SVG, NULL), ATTN_OK);
  free(page.text);
}

static void wherever_memory_or_the_sink_ends_the_call_fails(void **state) {
  (void)state;
  const attn_panel p[] = {heat_over(0, 0, NULL, 0), heat_over(2, 3, weights, 1)};
  for (int format = -1; format <= ATTN_PICTURE_PNG; format++)
    for (int of_sink = 0; of_sink < 2; of_sink++) {
      attn_status status = ATTN_ERR_MEMORY;
      long n = 0;
      for (; status; n += of_sink && n > 40 ? 97 : 1) {
        struct page page = {.left = of_sink ? n : -1};
        const attn_sink sink = {&page, grow};
        attn_error err = {0};
        calloc_fails_at = of_sink ? 0 : n + 1;
        status =
            format < 0 ? attn_image_write(&image, &sink, &err) : draw(&page, p, 2, format, &err);
        int failed = of_sink ? page.left == 0 : calloc_fails_at == 0;
        calloc_fails_at = 0;
        assert_int_equal(err.status, status);
        assert_true(failed || !status);
        if (!of_sink) assert_int_equal(status != ATTN_OK, failed);
        if (status) assert_int_equal(status, of_sink ? ATTN_ERR_FILE : ATTN_ERR_MEMORY);
        free(page.text);
      }
      assert_true(n > 1);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_image_alone_has_its_own_colours),
      cmocka_unit_test(a_part_of_an_image_is_its_average),
      cmocka_unit_test(without_weight_an_image_is_dark_grey),
      cmocka_unit_test(more_weight_is_lighter),
      cmocka_unit_test(the_largest_weight_is_full_heat),
      cmocka_unit_test(smooth_heat_is_linear_between_centres),
      cmocka_unit_test(a_png_shows_the_heat),
      cmocka_unit_test(svg_and_html_show_the_heat),
      cmocka_unit_test(base64_ends_where_the_png_does),
      cmocka_unit_test(a_terminal_shows_the_heat_in_colours),
      cmocka_unit_test(a_terminal_without_colours_shows_shades),
      cmocka_unit_test(panels_fill_the_lines_of_a_terminal),
      cmocka_unit_test(any_shape_of_image_is_drawn),
      cmocka_unit_test(a_written_image_is_read_back),
      cmocka_unit_test(bad_images_are_refused_before_the_first_byte),
      cmocka_unit_test(bad_settings_are_refused),
      cmocka_unit_test(a_panel_of_an_older_header_is_drawn),
      cmocka_unit_test(wherever_memory_or_the_sink_ends_the_call_fails),
  };
  return cmocka_run_group_tests(tests, begin, NULL);
}
