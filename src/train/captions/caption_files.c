#include "caption_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "file.h"
#include "hash.h"
#include "watch.h"

enum { POLL_INTERVAL = 16, PICTURE_BYTES_MAX = 1 << 30 };

/* ---- Names ----------------------------------------------------------------------------------- */

static int has_parent(const char *name, size_t length) {
  for (size_t at = 0, step; at < length; at += step + 1) {
    const char *slash = memchr(name + at, '/', length - at);
    step = slash ? (size_t)(slash - name) - at : length - at;
    if (step == 2 && !memcmp(name + at, "..", 2)) return 1;
  }
  return 0;
}

/* What is wrong with a line, or NULL. */
static const char *find_fault(const struct attn_text_pair *pair) {
  const struct attn_text_view *name = &pair->source;
  if (!name->length) return "the name of the picture is empty; expected name<TAB>caption";
  if (name->length > ATTN_PICTURE_NAME_MAX)
    return "the name of the picture is longer than 1024 bytes";
  if (name->text[0] == '/' || has_parent(name->text, name->length))
    return "the name of the picture leaves the folder; expected a relative path without \"..\"";
  if (!pair->target.length) return "the caption is empty; expected name<TAB>caption";
  return pair->target.length > ATTN_CAPTION_MAX ? "the caption is longer than 4096 bytes" : NULL;
}

/* folder/name; the caller frees it. */
static char *path_of(const char *folder, const struct attn_text_view *name) {
  size_t bytes = strlen(folder) + name->length + 2;
  char *path = malloc(bytes);
  if (path) snprintf(path, bytes, "%s/%.*s", folder, (int)name->length, name->text);
  return path;
}

/* ---- Checks ---------------------------------------------------------------------------------- */

/* hash: out, of the picture. */
static attn_status check_line(const char *folder, const struct attn_text_pair *pair, uint64_t *hash,
                              attn_error *err) {
  const char *fault = find_fault(pair);
  if (fault) return attn_text_pair_fail(pair, ATTN_ERR_FORMAT, fault, err);
  char *path = path_of(folder, &pair->source);
  if (!path) return attn_fail(err, ATTN_ERR_MEMORY, NULL, "out of memory: data");
  char *bytes = NULL;
  size_t size = 0;
  attn_error why;
  attn_status status = attn_file_read(path, PICTURE_BYTES_MAX, NULL, &bytes, &size, &why);
  if (status) attn_text_pair_fail(pair, status, why.message, err);
  *hash = attn_hash_bytes(ATTN_HASH_BEGIN, pair->source.text, pair->source.length);
  if (!status) *hash = attn_hash_bytes(*hash, bytes, size);
  free(bytes), free(path);
  return status;
}

/* The first wrong line of a file so far. */
struct first_fault {
  int64_t line;
  attn_status status; /* ATTN_OK: none */
  attn_error why;
};

/* Training lines come in the order of an epoch. */
static attn_status check_side(struct attn_text_pairs *pairs, const char *folder, int validation,
                              struct attn_watch *watch, struct first_fault *first,
                              attn_error *err) {
  int64_t count = attn_text_pairs_count(pairs, validation);
  attn_status status = ATTN_OK;
  for (int64_t n = 0; n < count && !status; n++) {
    struct attn_text_pair pair;
    attn_error why;
    if (n % POLL_INTERVAL == 0) status = attn_watch_report(watch, n, count, err);
    if (!status) status = attn_text_pairs_get(pairs, (uint64_t)n, validation, &pair, err);
    if (status || (first->status && pair.line >= first->line)) continue;
    uint64_t hash = 0;
    attn_status fault = check_line(folder, &pair, &hash, &why);
    attn_text_pairs_add_hash(pairs, hash);
    if (fault) *first = (struct first_fault){pair.line, fault, why};
  }
  return status;
}

static attn_status check_all(struct attn_text_pairs *pairs, const char *folder, int two_files,
                             struct attn_watch *watch, attn_error *err) {
  struct first_fault first = {.status = ATTN_OK};
  attn_status status = check_side(pairs, folder, 0, watch, &first, err);
  if (!status && !(two_files && first.status))
    status = check_side(pairs, folder, 1, watch, &first, err);
  if (!status && first.status && err) *err = first.why;
  return status ? status : first.status;
}

attn_status attn_captions_open(const char *folder, const char *path, const char *validation_path,
                               uint64_t seed, struct attn_watch *watch,
                               struct attn_text_pairs **pairs, attn_error *err) {
  struct attn_text_pairs *d;
  attn_status status = attn_text_pairs_from_file(path, validation_path, 0, seed, watch, &d, err);
  if (status) return status;
  status = check_all(d, folder, validation_path != NULL, watch, err);
  if (status) return attn_text_pairs_free(d), status;
  *pairs = d;
  return ATTN_OK;
}

attn_status attn_captions_image(const char *folder, const struct attn_text_pair *pair,
                                const attn_image_config *config, attn_array *image,
                                attn_error *err) {
  memset(image, 0, sizeof *image);
  attn_error why;
  char *path = path_of(folder, &pair->source);
  if (!path) return attn_fail(err, ATTN_ERR_MEMORY, NULL, "out of memory: a picture's name");
  attn_status status = attn_image_read(path, config, image, &why);
  if (status) attn_text_pair_fail(pair, status, why.message, err);
  free(path);
  return status;
}
