#include "photos.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "hash.h"
#include "idx.h"

enum { PIXELS = ATTN_PHOTO_SIDE * ATTN_PHOTO_SIDE, PATH = 4096 };

struct attn_photos {
  attn_array images, classes;             /* (N, SIDE, SIDE); (N) */
  uint32_t *order;                        /* (N): photos by class */
  uint32_t first[ATTN_PHOTO_CLASSES + 1]; /* of each class, in order */
};

/* ---- Files ---------------------------------------------------------------------------------- */

static attn_status read_part(const char *part, int validation, struct attn_watch *watch,
                             attn_array *array, attn_error *err) {
  const char *folder = getenv("ATTN_FASHION_MNIST");
  char path[PATH];
  attn_error why = {.offset = -1};
  if (!folder || !*folder) folder = "/usr/share/datasets/fashion-mnist";
  int length =
      snprintf(path, sizeof path, "%s/%s-%s-ubyte.gz", folder, validation ? "t10k" : "train", part);
  if (length >= PATH)
    return attn_fail(err, ATTN_ERR_FILE, NULL, "ATTN_FASHION_MNIST: the path is too long");
  attn_status status = attn_idx_read(path, watch, array, &why);
  if (status == ATTN_ERR_FILE)
    return attn_fail(err, status, NULL,
                     "%.150s; install the package: apt-get install dataset-fashion-mnist, or set "
                     "ATTN_FASHION_MNIST to a folder with its files",
                     why.message);
  if (status && err) *err = why;
  return status;
}

static attn_status invalid(const char *what, attn_error *err) {
  return attn_fail(err, ATTN_ERR_FORMAT, NULL, "Fashion-MNIST: %s", what);
}

static attn_status check(const struct attn_photos *p, attn_error *err) {
  const attn_tensor *images = &p->images.tensor, *classes = &p->classes.tensor;
  if (images->rank != 3 || images->shape[1] != ATTN_PHOTO_SIDE ||
      images->shape[2] != ATTN_PHOTO_SIDE)
    return invalid("expected photos of 28 x 28 pixels", err);
  if (classes->rank != 1 || classes->shape[0] != images->shape[0])
    return invalid("the photos and their classes differ in number", err);
  return ATTN_OK;
}

/* Counting sort. */
static attn_status sort(struct attn_photos *p, attn_error *err) {
  const unsigned char *classes = p->classes.tensor.data;
  const uint32_t count = (uint32_t)p->classes.tensor.shape[0];
  uint32_t next[ATTN_PHOTO_CLASSES];
  for (uint32_t n = 0; n < count; n++) {
    if (classes[n] >= ATTN_PHOTO_CLASSES) return invalid("a class is not 0 to 9", err);
    p->first[classes[n] + 1]++;
  }
  for (int k = 0; k < ATTN_PHOTO_CLASSES; k++) {
    if (!p->first[k + 1]) return invalid("a class has no photo", err);
    next[k] = p->first[k], p->first[k + 1] += p->first[k];
  }
  if (!(p->order = malloc(count * sizeof *p->order)))
    return attn_fail(err, ATTN_ERR_MEMORY, NULL, "out of memory: photos");
  for (uint32_t n = 0; n < count; n++) p->order[next[classes[n]]++] = n;
  return ATTN_OK;
}

attn_status attn_photos_open(int validation, struct attn_watch *watch, struct attn_photos **photos,
                             attn_error *err) {
  struct attn_photos *p = calloc(1, sizeof *p);
  if (!p) return attn_fail(err, ATTN_ERR_MEMORY, NULL, "out of memory: photos");
  attn_status status = read_part("images-idx3", validation, watch, &p->images, err);
  if (!status) status = read_part("labels-idx1", validation, watch, &p->classes, err);
  if (!status) status = check(p, err);
  if (!status) status = sort(p, err);
  if (status) return attn_photos_free(p), status;
  *photos = p;
  return ATTN_OK;
}

void attn_photos_free(struct attn_photos *p) {
  if (!p) return;
  attn_array_free(&p->images), attn_array_free(&p->classes);
  free(p->order), free(p);
}

/* ---- Photos --------------------------------------------------------------------------------- */

const unsigned char *attn_photos_find(const struct attn_photos *p, int kind, uint32_t random) {
  const uint32_t count = p->first[kind + 1] - p->first[kind];
  const uint32_t at = (uint32_t)((uint64_t)random * count >> 32);
  return (const unsigned char *)p->images.tensor.data +
         (size_t)p->order[p->first[kind] + at] * PIXELS;
}

uint64_t attn_photos_hash(const struct attn_photos *p) {
  const size_t count = (size_t)p->classes.tensor.shape[0];
  const uint64_t images = attn_hash_bytes(ATTN_HASH_BEGIN, p->images.tensor.data, count * PIXELS);
  return attn_hash_bytes(images, p->classes.tensor.data, count);
}
