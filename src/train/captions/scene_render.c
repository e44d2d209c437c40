/* scene_render.c -- a scene as pixels. Only operations that IEEE 754 defines to the last bit. */
#include <string.h>

#include "philox.h"
#include "scene.h"

enum { MASK = ATTN_SCENE_SIDE_MAX * ATTN_SCENE_SIDE_MAX };
enum { SAMPLES = 4 }; /* per pixel and axis */

/* ---- Shapes: whether a point is inside; the circle around a shape has radius 1, y points down
 * ---- */

static int in_circle(double x, double y) { return x * x + y * y <= 0.88 * 0.88; }

static int in_square(double x, double y) { return x >= -0.7 && x <= 0.7 && y >= -0.7 && y <= 0.7; }

static int in_triangle(double x, double y) {
  if (x < 0) x = -x;
  return y <= 0.5 && 1.7320508 * x - y <= 1;
}

/* Five points of radius 1, five notches of radius 0.45: inside of one of the five kites. */
static int in_star(double x, double y) {
  static const double tip[5][2] = {{0, -1},
                                   {0.9510565, -0.3090170},
                                   {0.5877853, 0.8090170},
                                   {-0.5877853, 0.8090170},
                                   {-0.9510565, -0.3090170}};
  /* In the frame of a tip, with `out` towards it: the edge from the tip to the notch. */
  static const double notch_out = 0.45 * 0.8090170, notch_side = 0.45 * 0.5877853;
  for (int n = 0; n < 5; n++) {
    double out = x * tip[n][0] + y * tip[n][1], side = x * tip[n][1] - y * tip[n][0];
    if (side < 0) side = -side;
    int below_edge = side * (1 - notch_out) <= notch_side * (1 - out);
    int in_sector = side * notch_out <= notch_side * out;
    if (out >= 0 && below_edge && in_sector) return 1;
  }
  return 0;
}

static int in_cross(double x, double y) {
  if (x < 0) x = -x;
  if (y < 0) y = -y;
  return (x <= 0.3 && y <= 0.95) || (y <= 0.3 && x <= 0.95);
}

static int in_ring(double x, double y) {
  double square = x * x + y * y;
  return square <= 0.95 * 0.95 && square >= 0.52 * 0.52;
}

static int in_heart(double x, double y) {
  x *= 1.28, y = 0.12 - 1.28 * y;
  double a = x * x + y * y - 1;
  return a * a * a <= x * x * y * y * y;
}

static int in_diamond(double x, double y) {
  return (x < 0 ? -x : x) / 0.68 + (y < 0 ? -y : y) <= 1;
}

static int (*const shapes[ATTN_SCENE_SHAPES])(double x, double y) = {
    in_circle, in_square, in_triangle, in_star, in_cross, in_ring, in_heart, in_diamond};

/* ---- Masks ----------------------------------------------------------------------------------- */

/* How many of the samples of pixel (i, j) the object covers, 0 to 16. */
static int samples_in(const struct attn_scene_object *o, int i, int j) {
  double far = o->radius + 1, x = j + 0.5 - o->x, y = i + 0.5 - o->y;
  int count = 0;
  if (x * x + y * y > far * far) return 0;
  for (int n = 0; n < SAMPLES * SAMPLES; n++) {
    double dx = (j + (n % SAMPLES + 0.5) / SAMPLES - o->x) / o->radius;
    double dy = (i + (n / SAMPLES + 0.5) / SAMPLES - o->y) / o->radius;
    count += shapes[o->shape](dx * o->turn[0] + dy * o->turn[1], dy * o->turn[0] - dx * o->turn[1]);
  }
  return count;
}

/* Copies the photo to its place. */
static void copy_photo(const struct attn_scene_object *o, int side, unsigned char *mask) {
  enum { SIDE = ATTN_PHOTO_SIDE };
  unsigned char *first = mask + ((int)o->y - SIDE / 2) * side + (int)o->x - SIDE / 2;
  for (int i = 0; i < SIDE; i++) memcpy(first + i * side, o->photo + i * SIDE, SIDE);
}

void attn_scene_mask(const struct attn_scene *scene, int object, unsigned char *mask) {
  const struct attn_scene_object *o = &scene->object[object];
  const int side = scene->side, cell = side / ATTN_SCENE_GRID;
  memset(mask, 0, (size_t)(side * side));
  if (o->photo) {
    copy_photo(o, side, mask);
    return;
  }
  for (int i = o->row * cell; i < (o->row + 1) * cell; i++)
    for (int j = o->col * cell; j < (o->col + 1) * cell; j++)
      mask[i * side + j] = (unsigned char)(samples_in(o, i, j) * 255 / (SAMPLES * SAMPLES));
}

struct attn_scene_box attn_scene_locate(const struct attn_scene *scene, int object) {
  const int side = scene->side;
  unsigned char mask[MASK];
  struct attn_scene_box box = {side, side, 0, 0, 0, 0};
  double sum = 0;
  attn_scene_mask(scene, object, mask);
  for (int n = 0; n < side * side; n++) {
    int x = n % side, y = n / side;
    if (!mask[n]) continue;
    if (x < box.x0) box.x0 = x;
    if (y < box.y0) box.y0 = y;
    if (x >= box.x1) box.x1 = x + 1;
    if (y >= box.y1) box.y1 = y + 1;
    sum += mask[n], box.x += (x + 0.5) * mask[n], box.y += (y + 0.5) * mask[n];
  }
  if (sum > 0) box.x /= sum, box.y /= sum;
  return box;
}

/* ---- Pixels ---------------------------------------------------------------------------------- */

/* Adds noise of a triangular distribution from -10 to 10 to each value. */
static void add_noise(const struct attn_scene *scene, unsigned char *rgb) {
  for (uint32_t n = 0; n < (uint32_t)(scene->side * scene->side * 3); n++) {
    static const uint32_t mark = 0x6e6f6973; /* apart from the stream that made the scene */
    const uint32_t counter[4] = {n / 8, (uint32_t)scene->n, (uint32_t)(scene->n >> 32), mark};
    static const int widest = 25;
    uint32_t word[4];
    if (n % 8 == 0) attn_philox(scene->seed, counter, word);
    uint32_t bits = word[n % 8 / 2] >> n % 2 * 16;
    int value = rgb[n] + ((int)(bits & 255) + (int)(bits >> 8 & 255) - 255) / widest;
    rgb[n] = (unsigned char)(value < 0 ? 0 : value > 255 ? 255 : value);
  }
}

void attn_scene_render(const struct attn_scene *scene, unsigned char *rgb) {
  const int pixels = scene->side * scene->side;
  unsigned char mask[MASK];
  for (int n = 0; n < pixels; n++) memcpy(rgb + 3 * n, scene->background, 3);
  for (int k = 0; k < scene->objects; k++) {
    attn_scene_mask(scene, k, mask);
    for (int n = 0; n < 3 * pixels; n++) {
      int share = mask[n / 3], from = rgb[n], to = scene->object[k].rgb[n % 3];
      rgb[n] = (unsigned char)((from * (255 - share) + to * share + 127) / 255);
    }
  }
  add_noise(scene, rgb);
}
