/* scene.h -- pictures of one to three objects and their captions: "a small red circle left of a
 * large blue square", 「大きな青い四角の左に小さな赤い丸がある」; with photos (photos.h) "a bag
 * left of a sneaker", 「スニーカーの左にバッグがある」.
 *
 * Scene n of a seed and a split is a function of the three alone, to the last bit on every machine
 * with IEEE doubles. Objects are in different cells of a grid of 3 x 3 and stay within their cells,
 * so masks do not overlap. A caption lists the objects by column, and within a column from top to
 * bottom: each scene has one caption in each language. */
#ifndef ATTN_TRAIN_SCENE_H
#define ATTN_TRAIN_SCENE_H

#include "photos.h"
#include "task.h"

/* Pixels. Of shapes 48: small objects of 9 pixels are the smallest whose shapes differ by eye. */
enum {
  ATTN_SCENE_SIDE = ATTN_PICTURE_SIDE,
  ATTN_SCENE_PHOTO_SIDE = ATTN_PICTURE_SIDE_MAX,
  ATTN_SCENE_SIDE_MAX = ATTN_PICTURE_SIDE_MAX,
  ATTN_SCENE_GRID = 3,
  ATTN_SCENE_OBJECTS = 3
};
enum { ATTN_SCENE_SHAPES = 8, ATTN_SCENE_COLORS = 8 };

/* No caption is in two splits, and no photo is in training and in another split. One of the 8
 * colours of each shape is held out: such pairs occur only in ATTN_SCENE_UNSEEN_PAIRS, where each
 * scene has one or more. Of the others, a tenth of the captions is for validation. Photos have no
 * colour: no unseen pairs. */
enum attn_scene_split { ATTN_SCENE_TRAINING, ATTN_SCENE_VALIDATION, ATTN_SCENE_UNSEEN_PAIRS };

struct attn_scene_object {
  int shape, color, large; /* below ATTN_SCENE_SHAPES, ATTN_SCENE_COLORS, 2 */
  int row, col;            /* of the grid */
  double x, y, radius;     /* pixels; radius: of the circle around it */
  double turn[2];          /* cosine and sine of its rotation */
  unsigned char rgb[3];
  const unsigned char *photo; /* NULL: a shape. Else shape is its class, and there is neither color,
                               * large nor rotation; around x, y, which are whole pixels */
};

struct attn_scene {
  uint64_t seed, n;
  int side;       /* pixels */
  int has_photos; /* 1: of photos, also where photo is NULL */
  int objects;
  struct attn_scene_object object[ATTN_SCENE_OBJECTS]; /* in the order of the caption */
  unsigned char background[3];
};

/* has_photos: 1: of photos, those of the split; photos NULL: only for the caption. 0: of shapes. */
void attn_scene_make(uint64_t seed, uint64_t n, enum attn_scene_split split, int has_photos,
                     const struct attn_photos *photos, struct attn_scene *scene);

/* Whether this pair occurs only in ATTN_SCENE_UNSEEN_PAIRS. */
int attn_scene_is_unseen_pair(int shape, int color);

/* ---- Pictures -------------------------------------------------------------------------------- */

/* Draws the scene: side x side x 3 bytes, sRGB, row-major. */
void attn_scene_render(const struct attn_scene *scene, unsigned char *rgb);

/* The share of each pixel that an object covers, 0 to 255: side x side bytes. Of a photo: how dark
 * it is. */
void attn_scene_mask(const struct attn_scene *scene, int object, unsigned char *mask);

/* The pixels of the mask that are not 0, half-open, and the mask's centre in pixels: (0.5, 0.5) is
 * the centre of the first pixel. */
struct attn_scene_box {
  int x0, y0, x1, y1;
  double x, y;
};
struct attn_scene_box attn_scene_locate(const struct attn_scene *scene, int object);

/* ---- Captions -------------------------------------------------------------------------------- */

enum { ATTN_CAPTION_WORDS = 24 };

enum attn_caption_part {
  ATTN_CAPTION_OTHER, /* a, of, の, が, ある */
  ATTN_CAPTION_SIZE,
  ATTN_CAPTION_COLOR,
  ATTN_CAPTION_SHAPE,
  ATTN_CAPTION_RELATION, /* left, above; 左, 上 */
  ATTN_CAPTION_POSITION, /* of a single object: top left; 左上 */
};

struct attn_caption_word {
  int begin, length; /* bytes of the text */
  int part;          /* attn_caption_part */
  int object;        /* of SIZE, COLOR and SHAPE: the object that it names; else -1 */
};

struct attn_caption {
  char text[ATTN_EXAMPLE_SIZE];
  int words;
  struct attn_caption_word word[ATTN_CAPTION_WORDS];
};

/* Writes the caption. language: attn_language; spaced: Japanese words are separated by a space, as
 * English ones are. */
void attn_scene_caption(const struct attn_scene *scene, int language, int spaced,
                        struct attn_caption *caption);

#endif
