/**
 * io.h -- text for terminals; tensor files: npy and safetensors; images: PNG. Part of libattn-model.
 *
 * Every length in a file is checked against the file's size before it is used.
 */
#ifndef ATTN_IO_H
#define ATTN_IO_H

#include "attn/attn.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A destination for text. write returns nonzero to stop (a closed pipe). */
typedef struct attn_sink {
  void *context;
  int (*write)(void *context, const char *text, size_t bytes);
} attn_sink;

/**
 * Writes untrusted text (a name from a file, a document, generated text) in a form that is safe for a
 * terminal: UTF-8 with U+FFFD for each control character (C0, DEL, C1; a newline is one), U+2028,
 * U+2029, bidirectional control and invalid byte.
 *
 *   text  in   of `bytes` bytes; a NUL is a control character
 *
 * Errors  ATTN_ERR_FILE: the sink has stopped.
 */
ATTN_API attn_status attn_text_write_plain(const char *text, size_t bytes, const attn_sink *sink,
                                           attn_error *err);

/**
 * Writes untrusted text as a JSON string, including the quotes. Characters that are unsafe for a
 * terminal are escaped (\u202e), so that a JSON reader restores valid UTF-8 exactly; an invalid byte
 * becomes \ufffd. Errors as attn_text_write_plain.
 */
ATTN_API attn_status attn_text_write_json(const char *text, size_t bytes, const attn_sink *sink,
                                          attn_error *err);

/** Returns the columns that UTF-8 text takes on a terminal: 2 for an ideograph, a kana or an emoji. */
ATTN_API int32_t attn_text_width(const char *text);

/**
 * Writes text in lines, each ended by a newline. A line breaks at a space, and next to a character of a
 * script without spaces, but not inside a word of katakana, before closing or after opening punctuation,
 * or within the last six characters. Several spaces are one. Characters are written as
 * attn_text_write_plain writes them.
 *
 *   column  in   where the first line continues, from 0
 *   indent  in   spaces before each further line
 *   width   in   the most columns of a line; below 1: 80. A longer word makes a longer line
 *
 * Errors as attn_text_write_plain.
 */
ATTN_API attn_status attn_text_write_wrapped(const char *text, int32_t column, int32_t indent,
                                             int32_t width, const attn_sink *sink, attn_error *err);

/**
 * Returns the one of count names that is closest to a misspelled text, an element of names. NULL if
 * none is within 2 edits, or within fewer than the text has bytes; ASCII case does not count.
 */
ATTN_API const char *attn_text_nearest(const char *text, const char *const *names, int32_t count);

/** A tensor that owns its memory. Released by attn_array_free. */
typedef struct attn_array {
  attn_tensor tensor; /* dense, row-major, native byte order */
  void *memory;       /* what attn_array_free releases */
} attn_array;

/**
 * Reads a tensor from "file.npy" or "file.safetensors:name" (the name may be omitted if the file has
 * one tensor).
 *
 * npy: versions 1 to 3, C and Fortran order (converted to C), either byte order; float16, float32,
 * float64, bool, int8, int32, int64, uint8. Never pickles. safetensors: these and bfloat16.
 *
 * Errors  ATTN_ERR_FILE, ATTN_ERR_FORMAT (with the byte offset),
 *         ATTN_ERR_TYPE, ATTN_ERR_MEMORY; ATTN_ERR_ARGUMENT: the file has no
 *         tensor of that name, or several and the path has no name. *array is left empty.
 * Cost    Reads only the header and the requested tensor. A file that shrinks meanwhile is
 *         ATTN_ERR_FILE.
 */
ATTN_API attn_status attn_array_read(const char *path, attn_array *array, attn_error *err);

/** Parses an npy file in memory, as attn_array_read does. */
ATTN_API attn_status attn_npy_parse(const void *bytes, size_t size, attn_array *array,
                                    attn_error *err);

/** Parses a safetensors file in memory, as attn_array_read does. name NULL: the only tensor. */
ATTN_API attn_status attn_safetensors_parse(const void *bytes, size_t size, const char *name,
                                            attn_array *array, attn_error *err);

/** The description of one tensor in a file. */
typedef struct attn_array_entry {
  const char *name; /* "" in an npy file */
  const char *type; /* as the file spells it: "F32", "<f4" */
  int64_t offset;   /* of its data in the file */
  int64_t bytes;
  int32_t dtype; /* attn_dtype; 0: not supported, the tensor cannot be read */
  int32_t rank;
  int64_t shape[ATTN_RANK_MAX];
} attn_array_entry;

/** The tensors of a file, in the order of their data. Released by attn_array_list_free. */
typedef struct attn_array_list {
  int64_t count;
  attn_array_entry *entry; /* names and types are valid for the lifetime of the list */
} attn_array_list;

/**
 * Lists the tensors of a file; reads and checks only its header. A name after "file.safetensors:" is
 * ignored. Errors as attn_array_read; *list is left empty.
 */
ATTN_API attn_status attn_array_list_read(const char *path, attn_array_list *list,
                                          attn_error *err);

/** Releases a list and empties it; NULL and an empty list are fine. */
ATTN_API void attn_array_list_free(attn_array_list *list);

/**
 * Returns the length of the file's part of path; sets *name (not NULL) to the text after
 * "file.safetensors:", or NULL.
 */
ATTN_API size_t attn_array_path_split(const char *path, const char **name);

/**
 * Checks, before a long computation, that outputs can be written: everything that
 * attn_array_write_all checks before it writes, and write permission for the folders. Writes nothing.
 * Errors as there.
 */
ATTN_API attn_status attn_array_outputs_check(const char *const *paths, int32_t count,
                                              attn_error *err);

/**
 * Writes a tensor (any strides) to "file.npy" or "file.safetensors:name"; an existing safetensors file
 * keeps its other tensors and its metadata. Writes atomically: to a temporary file in the same folder,
 * fsynced, renamed. Follows links, rejects dangling ones, and never replaces anything but a regular
 * file.
 *
 * Errors  ATTN_ERR_FILE, ATTN_ERR_MEMORY; ATTN_ERR_ARGUMENT: a missing or invalid name;
 *         ATTN_ERR_TYPE: bfloat16 in npy; ATTN_ERR_FORMAT: the existing file is not a valid safetensors
 *         file. After an error no file is left, except if only the folder could not be synced: then the
 *         file is in place, but may not survive a power cut.
 */
ATTN_API attn_status attn_array_write(const char *path, const attn_tensor *tensor,
                                      attn_error *err);

#define ATTN_OUTPUTS_MAX 16

/** One tensor and its path. */
typedef struct attn_array_output {
  const char *path;
  const attn_tensor *tensor;
} attn_array_output;

/**
 * Writes up to ATTN_OUTPUTS_MAX tensors; several may go into one safetensors file. All files are
 * complete and on disk before the first is renamed into place, so that a full disk or a bad name
 * leaves no file. Earlier files remain only if one of the renames fails (the folder was removed).
 * Errors as attn_array_write; ATTN_ERR_ARGUMENT: two outputs have the same name.
 */
ATTN_API attn_status attn_array_write_all(const attn_array_output *outputs, int32_t count,
                                          attn_error *err);

/**
 * Converts in place to ATTN_F32 or ATTN_F64: exactly where every value is representable (float16,
 * bfloat16; float32 to float64), else rounded to nearest.
 * Errors  ATTN_ERR_TYPE, ATTN_ERR_MEMORY: the array is unchanged.
 */
ATTN_API attn_status attn_array_convert(attn_array *array, attn_dtype dtype, attn_error *err);

/** Releases the memory and empties the array; NULL and an empty array are fine. */
ATTN_API void attn_array_free(attn_array *array);

/* ---- Images -------------------------------------------------------------- */

#define ATTN_IMAGE_SIDE_MAX 32768
#define ATTN_IMAGE_PIXELS_MAX 67108864

/** The size and the type of an image to be read. All members except struct_size may be 0. */
typedef struct attn_image_config {
  size_t struct_size;    /* sizeof(attn_image_config) */
  int32_t height, width; /* in pixels, each 1 to ATTN_IMAGE_SIDE_MAX, their product at most
                            ATTN_IMAGE_PIXELS_MAX; both 0: those of the source */
  int32_t dtype;         /* attn_dtype: ATTN_U8 (or 0): 0 to 255; ATTN_F32: 0 to 1 */
} attn_image_config;

#ifdef __cplusplus
#define ATTN_IMAGE_CONFIG_INIT { sizeof(attn_image_config) }
#else
#define ATTN_IMAGE_CONFIG_INIT { .struct_size = sizeof(attn_image_config) }
#endif

/**
 * Reads a PNG file as RGB.
 *
 *   config  in   NULL: the file's size, ATTN_U8
 *   image   out  (height, width, 3), dense: red, green, blue. The caller releases it with
 *                attn_array_free
 *
 * Reads every PNG: grey, grey with alpha, palette, RGB, RGBA; 1 to 16 bits; interlaced. Transparent
 * pixels are composed on white. Gamma and colour profiles are ignored: values are those of the file,
 * which is sRGB unless it states otherwise. Scales as attn_image_resize.
 *
 * Errors    ATTN_ERR_FILE; ATTN_ERR_FORMAT (with the byte offset): not a PNG, damaged or truncated;
 *           ATTN_ERR_SHAPE: a side above ATTN_IMAGE_SIDE_MAX or more than ATTN_IMAGE_PIXELS_MAX
 *           pixels, found before the pixels are allocated; ATTN_ERR_ARGUMENT, ATTN_ERR_TYPE (config);
 *           ATTN_ERR_MEMORY. *image is left empty.
 * Accuracy  8-bit values are exact. Before scaling, 16-bit values and composed pixels are rounded to
 *           8 bits: an error of at most 0.5 of 255, for a 16-bit pixel with alpha 1.5.
 * Cost      linear in the file's bytes and the pixels of both sizes; 4 bytes per pixel of the file,
 *           and at most 16 MiB for decompression.
 * Threads   may be called concurrently.
 */
ATTN_API attn_status attn_image_read(const char *path, const attn_image_config *config,
                                     attn_array *image, attn_error *err);

/** Parses a PNG file in memory, as attn_image_read does. */
ATTN_API attn_status attn_image_parse(const void *bytes, size_t size,
                                      const attn_image_config *config, attn_array *image,
                                      attn_error *err);

/**
 * Scales an image. Along an axis that shrinks, a pixel is the average of the area that it covers;
 * along one that grows, it is interpolated linearly between the centres of pixels (PyTorch's
 * bilinear with align_corners=False). The aspect ratio is not kept. Values are averaged as they are,
 * without gamma.
 *
 *   image    in   (height, width, 3), ATTN_U8 (0 to 255) or ATTN_F32 (0 to 1), any strides
 *   config   in   size and type of the result; NULL: a dense ATTN_U8 copy
 *   resized  out  dense. The caller releases it with attn_array_free
 *
 * Errors    ATTN_ERR_SHAPE, ATTN_ERR_TYPE (image), ATTN_ERR_ARGUMENT, ATTN_ERR_MEMORY: *resized is
 *           left empty.
 * Accuracy  sums in double, rounded once to nearest; values outside the range of ATTN_U8 are clamped.
 * Cost      linear in the pixels of both sizes.
 * Threads   may be called concurrently.
 */
ATTN_API attn_status attn_image_resize(const attn_tensor *image, const attn_image_config *config,
                                       attn_array *resized, attn_error *err);

/**
 * Writes a file atomically, as attn_array_write does. An existing file is replaced and keeps its
 * permissions.
 *
 *   bytes  in   of `size` bytes; NULL if size is 0
 *
 * Errors  ATTN_ERR_FILE, ATTN_ERR_MEMORY: an existing file is unchanged and no other is left, except if
 *         only the folder could not be synced.
 */
ATTN_API attn_status attn_file_write(const char *path, const void *bytes, size_t size,
                                     attn_error *err);

#ifdef __cplusplus
}
#endif
#endif
