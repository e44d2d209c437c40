/* test_image.c -- a PNG of every type is read as the pixels that were written; a damaged, truncated
 * or gigantic one is a typed error that allocates little, leaks nothing and prints nothing; scaling
 * equals its definition. */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "faults.h"
#include "png_file.h"
#include "scratch.h"
#include "unit.h"

static struct png_scene scene; /* large */

static attn_status parse(const struct made *m, size_t size, const attn_image_config *config,
                         attn_array *image, attn_error *err) {
  struct guarded g = guarded_new(size, 1);
  if (size) memcpy(g.data, m->at, size);
  attn_status status = attn_image_parse(g.data, size, config, image, err);
  guarded_free(&g);
  return status;
}

static attn_image_config config_of(int height, int width, int dtype) {
  attn_image_config c = ATTN_IMAGE_CONFIG_INIT;
  c.height = height, c.width = width, c.dtype = dtype;
  return c;
}

/* ---- Reading --------------------------------------------------------------------------------- */

static void expect_pixels(const struct png_scene *s) {
  attn_array image;
  attn_error err;
  if (parse(&s->file, s->file.size, NULL, &image, &err)) fail_msg("%s", err.message);
  const attn_tensor *t = &image.tensor;
  assert_int_equal(t->rank, 3);
  assert_int_equal(t->dtype, ATTN_U8);
  assert_true(t->shape[0] == s->height && t->shape[1] == s->width && t->shape[2] == 3);
  assert_true(t->strides[0] == 3 * s->width && t->strides[1] == 3 && t->strides[2] == 1);
  if (memcmp(t->data, s->rgb, (size_t)(3 * s->width * s->height)))
    fail_msg("color %d, depth %d, transparent %d, interlaced %d, %d x %d", s->type.color,
             s->type.depth, s->type.transparent, s->interlaced, s->width, s->height);
  attn_array_free(&image);
}

static void every_type_is_read_exactly(void **state) {
  (void)state;
  static const int sizes[][2] = {{1, 1}, {1, 7}, {7, 1}, {9, 5}, {8, 8}, {33, 17}};
  for (int type = 0; type < PNG_TYPES; type++)
    for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++)
      for (int interlaced = 0; interlaced < 2; interlaced++) {
        make_png(&scene, type, sizes[n][0], sizes[n][1], interlaced);
        expect_pixels(&scene);
      }
}

static void lines_of_one_pixel_are_read(void **state) {
  (void)state;
  for (int interlaced = 0; interlaced < 2; interlaced++) {
    make_png(&scene, 15, 1, 4096, interlaced), expect_pixels(&scene);
    make_png(&scene, 15, 4096, 1, interlaced), expect_pixels(&scene);
  }
}

static void all_samples_of_16_bits_are_rounded(void **state) {
  (void)state;
  for (unsigned high = 0; high < 1 << 16; high += PIXELS_MOST) {
    make_png(&scene, 4, 64, 64, 0);
    for (unsigned n = 0; n < PIXELS_MOST; n++)
      scene.sample[n][0] = high + n, expect_pixel(&scene, (int)n);
    write_png(&scene);
    expect_pixels(&scene);
  }
}

/* ---- Damage ---------------------------------------------------------------------------------- */

static const int damaged_types[] = {2, 14, 15, 22}; /* grey, palette with tRNS, RGB, 16-bit RGBA */

static void expect_empty(const attn_array *image) {
  assert_null(image->memory);
  assert_null(image->tensor.data);
}

static void every_truncation_is_an_error(void **state) {
  (void)state;
  for (int n = 0; n < 8; n++) {
    make_png(&scene, damaged_types[n % 4], 9, 5, n / 4);
    for (size_t size = 0; size < scene.file.size; size++) {
      attn_array image;
      attn_error err;
      faults_begin(FAULT_NONE, 0);
      assert_int_equal(parse(&scene.file, size, NULL, &image, &err), ATTN_ERR_FORMAT);
      expect_empty(&image);
      assert_true(err.message[0] && err.offset >= 0 && err.offset <= (int64_t)size);
      assert_int_equal(faults_blocks(), 0);
    }
  }
}

/* A flipped bit is an error, except in chunks that are ignored; CRCs detect it. */
static void every_flipped_bit_is_survived(void **state) {
  (void)state;
  for (int n = 0; n < 4; n++) {
    int rejected = 0, bits = 0;
    make_png(&scene, damaged_types[n], 9, 5, n % 2);
    for (size_t bit = 0; bit < 8 * scene.file.size; bit++, bits++) {
      attn_array image;
      unsigned char *byte = &scene.file.at[bit / 8], mask = (unsigned char)(1 << bit % 8);
      *byte ^= mask;
      faults_begin(FAULT_NONE, 0);
      attn_status status = parse(&scene.file, scene.file.size, NULL, &image, NULL);
      assert_true(!status || status == ATTN_ERR_FORMAT || status == ATTN_ERR_SHAPE);
      if (status) rejected++, expect_empty(&image);
      attn_array_free(&image);
      assert_int_equal(faults_blocks(), 0);
      *byte ^= mask;
    }
    assert_true(rejected > bits / 2);
  }
}

static void gigantic_sizes_allocate_nothing(void **state) {
  (void)state;
  static const struct {
    uint32_t width, height;
    attn_status status;
  } sizes[] = {{32769, 1, ATTN_ERR_SHAPE},       {1, 32769, ATTN_ERR_SHAPE},
               {8193, 8192, ATTN_ERR_SHAPE},     {0x7FFFFFFF, 0x7FFFFFFF, ATTN_ERR_SHAPE},
               {0x80000000, 1, ATTN_ERR_FORMAT}, {0, 1, ATTN_ERR_FORMAT},
               {1, 0, ATTN_ERR_FORMAT},          {0xFFFFFFFF, 0xFFFFFFFF, ATTN_ERR_FORMAT},
               {65536, 65536, ATTN_ERR_SHAPE}};
  for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
    attn_array image;
    attn_error err;
    begin_png(&scene.file, sizes[n].width, sizes[n].height, 8, PNG_COLOR_TYPE_RGB);
    add_chunk(&scene.file, "IDAT", "x", 1);
    faults_begin(FAULT_NONE, 0);
    assert_int_equal(parse(&scene.file, scene.file.size, NULL, &image, &err), sizes[n].status);
    assert_true(faults_largest() < 1 << 16);
    assert_int_equal(faults_blocks(), 0);
    if (sizes[n].status == ATTN_ERR_SHAPE) assert_non_null(strstr(err.message, "32768"));
  }
}

/* A megabyte of text in a chunk of a kilobyte. */
static void compressed_chunks_are_not_expanded(void **state) {
  (void)state;
  enum { LONG = 1 << 20 };
  static char text[LONG + 1];
  memset(text, 'a', LONG);
  scene.text = text;
  make_png(&scene, 15, 3, 2, 0);
  scene.text = NULL;
  assert_true(scene.file.size < 4096);
  faults_begin(FAULT_NONE, 0);
  expect_pixels(&scene);
  assert_true(faults_largest() < 1 << 16);
  assert_int_equal(faults_blocks(), 0);
}

/* Chunks that do not determine pixels are ignored, even if they are invalid. */
static void other_chunks_are_skipped(void **state) {
  (void)state;
  static const char *const names[] = {"iCCP", "zTXt", "iTXt", "tEXt",
                                      "eXIf", "sPLT", "hIST", "zzZz"};
  static const char filler[1000] = "name";
  make_png(&scene, 15, 3, 2, 0);
  struct made whole = {.size = 0};
  add(&whole, scene.file.at, 33); /* signature and IHDR */
  for (size_t n = 0; n < sizeof names / sizeof *names; n++)
    add_chunk(&whole, names[n], filler, sizeof filler);
  add(&whole, scene.file.at + 33, scene.file.size - 33);
  scene.file = whole;
  faults_begin(FAULT_NONE, 0);
  expect_pixels(&scene);
  assert_true(faults_largest() < 1 << 16);
  assert_int_equal(faults_blocks(), 0);
}

static void a_wrong_order_of_chunks_is_an_error(void **state) {
  (void)state;
  static const struct {
    const char *type;
    uint32_t size;
  } bad[] = {{"IEND", 0}, {"IHDR", 13}, {"ABCD", 4}, {"PLTE", 4}, {"PLTE", 900}};
  static const char data[1000] = {0};
  for (size_t n = 0; n < sizeof bad / sizeof *bad; n++) {
    attn_array image;
    begin_png(&scene.file, 2, 2, 8, PNG_COLOR_TYPE_PALETTE);
    add_chunk(&scene.file, bad[n].type, data, bad[n].size);
    add_chunk(&scene.file, "IDAT", data, 9);
    add_chunk(&scene.file, "IEND", "", 0);
    assert_int_equal(parse(&scene.file, scene.file.size, NULL, &image, NULL), ATTN_ERR_FORMAT);
  }
}

static void each_allocation_may_fail(void **state) {
  (void)state;
  for (int scaled = 0; scaled < 2; scaled++) {
    const attn_image_config c = config_of(scaled ? 3 : 0, scaled ? 4 : 0, ATTN_U8);
    make_png(&scene, 22, 9, 5, 1);
    for (int fail_at = 1;; fail_at++) {
      attn_array image;
      faults_begin(FAULT_MEMORY, fail_at);
      attn_status status = attn_image_parse(scene.file.at, scene.file.size, &c, &image, NULL);
      int calls = faults_end();
      if (status) expect_empty(&image);
      attn_array_free(&image);
      assert_int_equal(faults_blocks(), 0);
      if (calls < fail_at) {
        assert_int_equal(status, ATTN_OK);
        assert_true(fail_at > 5);
        break;
      }
      assert_int_equal(status, ATTN_ERR_MEMORY);
    }
  }
}

/* ---- Files ----------------------------------------------------------------------------------- */

static const char *write_scene(char path[128]) {
  snprintf(path, 128, "%s/a.png", folder);
  FILE *f = fopen(path, "wb");
  assert_true(f && fwrite(scene.file.at, 1, scene.file.size, f) == scene.file.size && !fclose(f));
  return path;
}

static void a_file_is_read_as_its_bytes(void **state) {
  (void)state;
  char path[128];
  attn_array image;
  attn_error err;
  make_png(&scene, 13, 9, 5, 1);
  assert_int_equal(attn_image_read(write_scene(path), NULL, &image, &err), ATTN_OK);
  assert_memory_equal(image.tensor.data, scene.rgb, 9 * 5 * 3);
  attn_array_free(&image);
  assert_int_equal(attn_image_read("/no/such.png", NULL, &image, &err), ATTN_ERR_FILE);
  assert_non_null(strstr(err.message, "/no/such.png"));
  assert_int_equal(attn_image_read(folder, NULL, &image, &err), ATTN_ERR_FILE);
  expect_empty(&image);
}

static void each_read_may_fail(void **state) {
  (void)state;
  char path[128];
  make_png(&scene, 15, 3, 2, 0);
  write_scene(path);
  for (int fail_at = 1;; fail_at++) {
    attn_array image;
    faults_begin(FAULT_READ, fail_at);
    attn_status status = attn_image_read(path, NULL, &image, NULL);
    int calls = faults_end();
    attn_array_free(&image);
    assert_int_equal(faults_blocks(), 0);
    if (calls < fail_at) {
      assert_int_equal(status, ATTN_OK);
      return;
    }
    assert_int_equal(status, ATTN_ERR_FILE);
  }
}

/* libpng's own handlers would write to stderr. */
static void nothing_is_printed(void **state) {
  char path[128], text[8];
  snprintf(path, sizeof path, "%s/stderr", folder);
  int kept = dup(2), to = open(path, O_RDWR | O_CREAT, 0600);
  assert_true(kept >= 0 && to >= 0 && dup2(to, 2) == 2);
  every_truncation_is_an_error(state);
  every_flipped_bit_is_survived(state);
  other_chunks_are_skipped(state);
  fflush(stderr);
  assert_int_equal(dup2(kept, 2), 2);
  assert_int_equal(lseek(to, 0, SEEK_END), 0);
  assert_int_equal(read(to, text, sizeof text), 0);
  close(kept), close(to);
}

/* ---- Scaling --------------------------------------------------------------------------------- */

enum { SIDE = 40 };

/* The weight of source pixel k in result pixel i, by the definition: the overlap of the areas, or
 * the linear interpolation at the centre, clamped at the edges. */
static double weight(int from, int to, int i, int k) {
  double scale = (double)from / to;
  if (from > to) {
    double overlap = fmin(k + 1, (i + 1) * scale) - fmax(k, i * scale);
    return fmax(0, overlap) / scale;
  }
  double at = fmin(fmax((i + 0.5) * scale - 0.5, 0), from - 1);
  return fmax(0, 1 - fabs(at - k));
}

static double scaled(const double *image, int h, int w, int H, int W, int i, int j, int c) {
  double sum = 0;
  for (int y = 0; y < h; y++) {
    double by_row = weight(h, H, i, y);
    for (int x = 0; by_row > 0 && x < w; x++)
      sum += by_row * weight(w, W, j, x) * image[(y * w + x) * 3 + c];
  }
  return sum;
}

static void check_scaling(int h, int w, int H, int W) {
  static unsigned char bytes[SIDE * SIDE * 3];
  static float floats[SIDE * SIDE * 3];
  static double values[SIDE * SIDE * 3];
  attn_array u8, f32, both;
  for (int n = 0; n < h * w * 3; n++) {
    bytes[n] = (unsigned char)below(256), values[n] = bytes[n];
    floats[n] = (float)(bytes[n] / 255.0);
  }
  const attn_tensor from = {bytes, ATTN_U8, 3, {h, w, 3}, {3 * w, 3, 1}};
  const attn_tensor real = {floats, ATTN_F32, 3, {h, w, 3}, {3 * w, 3, 1}};
  const attn_image_config to = config_of(H, W, 0), to_f32 = config_of(H, W, ATTN_F32);
  assert_int_equal(attn_image_resize(&from, &to, &u8, NULL), ATTN_OK);
  assert_int_equal(attn_image_resize(&from, &to_f32, &f32, NULL), ATTN_OK);
  assert_int_equal(attn_image_resize(&real, &to_f32, &both, NULL), ATTN_OK);
  for (int n = 0; n < H * W * 3; n++) {
    double exact = scaled(values, h, w, H, W, n / 3 / W, n / 3 % W, n % 3);
    assert_true(fabs(((unsigned char *)u8.tensor.data)[n] - exact) <= 0.5 + 1e-9);
    assert_true(fabs(((float *)f32.tensor.data)[n] * 255 - exact) <= 255 * 1.2e-7);
    assert_true(fabs(((float *)both.tensor.data)[n] * 255 - exact) <= 255 * 2.4e-7);
  }
  attn_array_free(&u8), attn_array_free(&f32), attn_array_free(&both);
}

static void scaling_equals_its_definition(void **state) {
  (void)state;
  static const int sizes[][4] = {{7, 5, 7, 5},    {8, 8, 4, 2}, {9, 7, 5, 4},   {4, 5, 12, 10},
                                 {3, 11, 8, 4},   {1, 1, 6, 5}, {40, 33, 1, 1}, {2, 3, 2, 40},
                                 {37, 40, 39, 6}, {5, 5, 5, 4}, {1, 40, 40, 1}};
  for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++)
    check_scaling(sizes[n][0], sizes[n][1], sizes[n][2], sizes[n][3]);
  for (int n = 0; n < 200; n++)
    check_scaling(1 + (int)below(20), 1 + (int)below(20), 1 + (int)below(30), 1 + (int)below(30));
}

static void a_file_is_scaled_as_its_pixels(void **state) {
  (void)state;
  attn_array whole, one, other;
  const attn_image_config c = config_of(4, 6, ATTN_F32);
  make_png(&scene, 15, 33, 17, 0);
  assert_int_equal(parse(&scene.file, scene.file.size, NULL, &whole, NULL), ATTN_OK);
  assert_int_equal(parse(&scene.file, scene.file.size, &c, &one, NULL), ATTN_OK);
  assert_int_equal(attn_image_resize(&whole.tensor, &c, &other, NULL), ATTN_OK);
  assert_memory_equal(one.tensor.data, other.tensor.data, 4 * 6 * 3 * sizeof(float));
  attn_array_free(&whole), attn_array_free(&one), attn_array_free(&other);
}

static void any_strides_are_read(void **state) {
  (void)state;
  unsigned char planes[3 * 4 * 5]; /* (3, 4, 5), rows from the bottom */
  attn_array copy;
  for (int n = 0; n < 60; n++) planes[n] = (unsigned char)(4 * n);
  const attn_tensor t = {planes + 15, ATTN_U8, 3, {4, 5, 3}, {-5, 1, 20}};
  assert_int_equal(attn_image_resize(&t, NULL, &copy, NULL), ATTN_OK);
  for (int n = 0; n < 60; n++)
    assert_int_equal(((unsigned char *)copy.tensor.data)[n],
                     planes[n % 3 * 20 + (3 - n / 15) * 5 + n / 3 % 5]);
  attn_array_free(&copy);
}

/* ---- Arguments ------------------------------------------------------------------------------- */

static void wrong_arguments_are_errors(void **state) {
  (void)state;
  static const struct {
    int height, width, dtype;
    attn_status status;
  } bad[] = {{0, 4, 0, ATTN_ERR_ARGUMENT},         {4, 0, 0, ATTN_ERR_ARGUMENT},
             {-1, 4, 0, ATTN_ERR_ARGUMENT},        {32769, 1, 0, ATTN_ERR_ARGUMENT},
             {32768, 32768, 0, ATTN_ERR_ARGUMENT}, {4, 4, ATTN_F64, ATTN_ERR_TYPE}};
  attn_array image;
  make_png(&scene, 15, 3, 2, 0);
  for (size_t n = 0; n < sizeof bad / sizeof *bad; n++) {
    const attn_image_config c = config_of(bad[n].height, bad[n].width, bad[n].dtype);
    assert_int_equal(parse(&scene.file, scene.file.size, &c, &image, NULL), bad[n].status);
    expect_empty(&image);
  }
  unsigned char pixels[12] = {0};
  const attn_tensor shapes[] = {{pixels, ATTN_U8, 2, {2, 6}, {6, 1}},
                                {pixels, ATTN_U8, 3, {2, 3, 2}, {6, 2, 1}},
                                {pixels, ATTN_U8, 3, {0, 3, 3}, {9, 3, 1}},
                                {pixels, ATTN_I8, 3, {2, 2, 3}, {6, 3, 1}},
                                {NULL, ATTN_U8, 3, {2, 2, 3}, {6, 3, 1}}};
  for (size_t n = 0; n < sizeof shapes / sizeof *shapes; n++) {
    assert_int_not_equal(attn_image_resize(&shapes[n], NULL, &image, NULL), ATTN_OK);
    expect_empty(&image);
  }
}

static int begin(void **state) { return (void)state, folder_begin(); }
static int end(void **state) { return (void)state, folder_end(); }

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_type_is_read_exactly),
      cmocka_unit_test(lines_of_one_pixel_are_read),
      cmocka_unit_test(all_samples_of_16_bits_are_rounded),
      cmocka_unit_test(every_truncation_is_an_error),
      cmocka_unit_test(every_flipped_bit_is_survived),
      cmocka_unit_test(gigantic_sizes_allocate_nothing),
      cmocka_unit_test(compressed_chunks_are_not_expanded),
      cmocka_unit_test(other_chunks_are_skipped),
      cmocka_unit_test(a_wrong_order_of_chunks_is_an_error),
      cmocka_unit_test(each_allocation_may_fail),
      cmocka_unit_test(a_file_is_read_as_its_bytes),
      cmocka_unit_test(each_read_may_fail),
      cmocka_unit_test(nothing_is_printed),
      cmocka_unit_test(scaling_equals_its_definition),
      cmocka_unit_test(a_file_is_scaled_as_its_pixels),
      cmocka_unit_test(any_strides_are_read),
      cmocka_unit_test(wrong_arguments_are_errors),
  };
  random_begin(argc, argv);
  return cmocka_run_group_tests(tests, begin, end);
}
