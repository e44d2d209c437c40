/* caption_occlusion.h -- occlusion sensitivity of a caption [Zeiler14, arXiv 1311.2901]: what a
 * word becomes if a place of the picture is covered. */
#ifndef ATTN_TRAIN_CAPTION_OCCLUSION_H
#define ATTN_TRAIN_CAPTION_OCCLUSION_H

#include "caption_probe.h"
#include "task.h"

/* A square picture, and the colour of what covers squares of a third of its side. */
struct attn_covered_picture {
  const unsigned char *rgb; /* (side, side, 3) */
  unsigned char *covered;   /* scratch, of the same size */
  int side;
  unsigned char fill[3];
};

struct attn_occluded_word {
  int64_t place;              /* of the highest attention: its index in the grid */
  int x, y, other_x, other_y; /* of the squares: left and upper sides */
  int32_t changed, control;   /* the most likely tokens if the square at the place is covered, and
                               * if the other one is, which does not overlap it */
};

/* 1: the model's attention differs between places. */
int attn_occlusion_applies(const struct attn_model *model);

/* The index of the largest weight. */
int64_t attn_largest_weight(const double *weights, int64_t count);

/* The pixels that a grid position covers, of a picture of `side` pixels: the convolutions are
 * centred on the first. */
struct attn_pixel_span {
  double from, to;
};
struct attn_pixel_span attn_occlusion_span(int64_t index, int64_t grid, int side);

/* Covers squares for word n of the probe's caption, the one at the place last. random: for the
 * place of the other. */
attn_status attn_occlude_word(struct attn_caption_probe *probe,
                              const struct attn_covered_picture *picture, int64_t n,
                              struct attn_random_stream *random, struct attn_occluded_word *word,
                              attn_error *err);

#endif
