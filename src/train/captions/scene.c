/* scene.c -- what is in a scene, and where. */
#include "scene.h"

#include "attn/lesson.h"

enum {
  CELL = ATTN_SCENE_SIDE / ATTN_SCENE_GRID,
  PHOTO_CELL = ATTN_SCENE_PHOTO_SIDE / ATTN_SCENE_GRID
};

/* Red, orange, yellow, green, blue, purple, pink, black. */
static const unsigned char colors[ATTN_SCENE_COLORS][3] = {
    {214, 36, 36}, {242, 132, 20}, {240, 208, 24},  {36, 150, 62},
    {34, 84, 208}, {124, 48, 164}, {245, 128, 184}, {32, 32, 32}};

/* A permutation: each shape and each colour is in one of these pairs and in 7 others. */
int attn_scene_is_unseen_pair(int shape, int color) { return (3 * shape + 1) % 8 == color; }

/* ---- Random numbers -------------------------------------------------------------------------- */

static int draw(struct attn_random_stream *random, int limit) {
  return (int)attn_random_below(random, (uint32_t)limit);
}

/* -1 to 1. */
static double draw_share(struct attn_random_stream *random) {
  return (draw(random, 2001) - 1000) / 1000.0;
}

static unsigned char shift(struct attn_random_stream *random, int value, int most) {
  value += draw(random, 2 * most + 1) - most;
  return (unsigned char)(value < 0 ? 0 : value > 255 ? 255 : value);
}

/* ---- Objects --------------------------------------------------------------------------------- */

/* Photos of a class are the same: their captions cannot differ. */
static int same_object(const struct attn_scene_object *a, const struct attn_scene_object *b) {
  return a->shape == b->shape && a->color == b->color && a->large == b->large;
}

/* Each object differs from the others; unseen pairs occur exactly in their split. */
static int is_valid(const struct attn_scene *scene, enum attn_scene_split split) {
  int unseen = 0;
  for (int n = 0; n < scene->objects; n++) {
    const struct attn_scene_object *o = &scene->object[n];
    unseen += !scene->has_photos && attn_scene_is_unseen_pair(o->shape, o->color);
    for (int k = 0; k < n; k++)
      if (same_object(o, &scene->object[k])) return 0;
  }
  return split == ATTN_SCENE_UNSEEN_PAIRS ? unseen > 0 : unseen == 0;
}

/* Draws different cells in ascending order: by column, then by row. */
static void draw_cells(struct attn_random_stream *random, struct attn_scene *scene) {
  enum { CELLS = ATTN_SCENE_GRID * ATTN_SCENE_GRID };
  int left = scene->objects;
  for (int cell = 0; cell < CELLS && left; cell++) {
    if (draw(random, CELLS - cell) >= left) continue;
    struct attn_scene_object *o = &scene->object[scene->objects - left--];
    o->col = cell / ATTN_SCENE_GRID, o->row = cell % ATTN_SCENE_GRID;
  }
}

static void draw_attributes(struct attn_random_stream *random, struct attn_scene *scene,
                            enum attn_scene_split split) {
  do {
    for (int n = 0; n < scene->objects; n++) {
      struct attn_scene_object *o = &scene->object[n];
      if (scene->has_photos) {
        o->shape = draw(random, ATTN_PHOTO_CLASSES);
        continue;
      }
      o->shape = draw(random, ATTN_SCENE_SHAPES), o->color = draw(random, ATTN_SCENE_COLORS);
      o->large = draw(random, 2);
    }
  } while (!is_valid(scene, split));
}

/* The circle around the object stays within its cell. The rotation, up to 11 degrees, is computed
 * from the tangent of its half: sin and cos differ between C libraries. */
static void draw_place(struct attn_random_stream *random, struct attn_scene_object *o) {
  o->radius = (o->large ? 7.2 : 4.5) + 0.3 * draw_share(random);
  double slack = CELL / 2.0 - o->radius, t = 0.1 * draw_share(random);
  o->x = (o->col + 0.5) * CELL + slack * draw_share(random);
  o->y = (o->row + 0.5) * CELL + slack * draw_share(random);
  o->turn[0] = (1 - t * t) / (1 + t * t), o->turn[1] = 2 * t / (1 + t * t);
  for (int c = 0; c < 3; c++) o->rgb[c] = shift(random, colors[o->color][c], 14);
}

static void draw_photo(struct attn_random_stream *random, const struct attn_photos *photos,
                       struct attn_scene_object *o) {
  const int middle = ATTN_PHOTO_SIDE / 2, places = PHOTO_CELL - ATTN_PHOTO_SIDE + 1;
  const uint32_t number = attn_random_below(random, UINT32_MAX);
  if (photos) o->photo = attn_photos_find(photos, o->shape, number);
  o->x = o->col * PHOTO_CELL + middle + draw(random, places);
  o->y = o->row * PHOTO_CELL + middle + draw(random, places);
}

static int is_held_out(const struct attn_scene *scene) {
  struct attn_caption caption;
  attn_scene_caption(scene, ATTN_LANGUAGE_ENGLISH, 0, &caption);
  return attn_task_is_held_out(caption.text);
}

/* Objects and their cells, by a caption of the split. */
static void draw_objects(struct attn_random_stream *random, enum attn_scene_split split,
                         struct attn_scene *scene) {
  do {
    scene->objects = 1 + draw(random, ATTN_SCENE_OBJECTS);
    draw_cells(random, scene);
    draw_attributes(random, scene, split);
  } while (split != ATTN_SCENE_UNSEEN_PAIRS &&
           is_held_out(scene) != (split == ATTN_SCENE_VALIDATION));
}

static void draw_background(struct attn_random_stream *random, struct attn_scene *scene) {
  int light = 205 + draw(random, 36);
  for (int c = 0; c < 3; c++) scene->background[c] = shift(random, light, 14);
}

void attn_scene_make(uint64_t seed, uint64_t n, enum attn_scene_split split, int has_photos,
                     const struct attn_photos *photos, struct attn_scene *scene) {
  struct attn_random_stream random = {.seed = seed, .n = n};
  *scene = (struct attn_scene){.seed = seed,
                               .n = n,
                               .side = has_photos ? ATTN_SCENE_PHOTO_SIDE : ATTN_SCENE_SIDE,
                               .has_photos = has_photos};
  draw_objects(&random, split, scene);
  for (int k = 0; k < scene->objects; k++) {
    if (has_photos)
      draw_photo(&random, photos, &scene->object[k]);
    else
      draw_place(&random, &scene->object[k]);
  }
  draw_background(&random, scene);
}
