/* photos.h -- photographs of ten kinds of clothes, shoes and bags: Fashion-MNIST [Xiao17, arXiv
 * 1708.07747], from Debian's package dataset-fashion-mnist. */
#ifndef ATTN_TRAIN_PHOTOS_H
#define ATTN_TRAIN_PHOTOS_H

#include "attn/attn.h"

struct attn_watch; /* watch.h */

enum { ATTN_PHOTO_SIDE = 28, ATTN_PHOTO_CLASSES = 10 };

struct attn_photos;

/* Reads the training photos, or those that are never trained on (t10k), from the folder of the
 * environment variable ATTN_FASHION_MNIST [/usr/share/datasets/fashion-mnist]. watch: NULL, or
 * polled.
 *
 * Errors  ATTN_ERR_FILE: a file cannot be opened; the message names the package. ATTN_ERR_FORMAT:
 *         not IDX files of photos and their classes, or a class has no photo. ATTN_ERR_MEMORY,
 *         ATTN_ERR_INTERRUPTED. */
attn_status attn_photos_open(int validation, struct attn_watch *watch, struct attn_photos **photos,
                             attn_error *err);
void attn_photos_free(struct attn_photos *photos);

/* One of the photos of a class, chosen by a random number: (ATTN_PHOTO_SIDE, ATTN_PHOTO_SIDE)
 * bytes, 0 outside the object, higher where it is darker. */
const unsigned char *attn_photos_find(const struct attn_photos *photos, int kind, uint32_t random);

/* Of all photos and classes. */
uint64_t attn_photos_hash(const struct attn_photos *photos);

#endif
