/* caption_files.h -- captions of the pictures of a folder: lines "name<TAB>caption" of a file,
 * several captions of a picture allowed. */
#ifndef ATTN_TRAIN_CAPTION_FILES_H
#define ATTN_TRAIN_CAPTION_FILES_H

#include "attn/io.h"
#include "text_pairs.h"

enum { ATTN_PICTURE_NAME_MAX = 1024, ATTN_CAPTION_MAX = 4096 }; /* bytes */

/* Reads the captions as attn_text_pairs_from_file does: source is the name, target the caption.
 * Without validation_path one picture in ten, with all its captions, is held out. Checks every
 * line: the name is a path inside the folder (not absolute, without ".."), the caption is not
 * empty, the picture is a file that can be read; its bytes are a part of the hash of the pairs.
 * Errors name file and line: of the first wrong
 * line. ATTN_ERR_FORMAT, ATTN_ERR_FILE, ATTN_ERR_MEMORY, ATTN_ERR_INTERRUPTED. */
attn_status attn_captions_open(const char *folder, const char *path, const char *validation_path,
                               uint64_t seed, struct attn_watch *watch,
                               struct attn_text_pairs **pairs, attn_error *err);

/* Reads the picture of a caption as attn_image_read does. Errors name file and line of the
 * caption. */
attn_status attn_captions_image(const char *folder, const struct attn_text_pair *pair,
                                const attn_image_config *config, attn_array *image,
                                attn_error *err);

#endif
