/**
 * io.h -- tensor files: npy and safetensors. Part of libattn-model.
 *
 * Every length in a file is checked against the file's size before it is used.
 */
#ifndef ATTN_IO_H
#define ATTN_IO_H

#include "attn/attn.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Where text goes. Returns nonzero to stop (a closed pipe). */
typedef struct attn_sink {
  void *context;
  int (*write)(void *context, const char *text, size_t bytes);
} attn_sink;

/**
 * Writes text that somebody else wrote (a name from a file, a document, a reply) as it may go to a
 * terminal: in UTF-8, with U+FFFD for each control character (C0, DEL, C1; a line's end is one),
 * each U+2028 and U+2029, each mark that changes the direction of text, and each byte that is no
 * UTF-8.
 *
 *   text  in   bytes of them; a 0 among them is a control character
 *
 * Errors  ATTN_ERR_FILE where the sink stops.
 */
ATTN_API attn_status attn_text_write_plain(const char *text, size_t bytes, const attn_sink *sink,
                                           attn_error *err);

/**
 * Writes the same text as a JSON string, its quotes with it. What may not go to a terminal is
 * escaped (\u202e), so that a JSON reader gets the text back exactly where it is UTF-8; a byte that
 * is not becomes \ufffd. Errors as attn_text_write_plain.
 */
ATTN_API attn_status attn_text_write_json(const char *text, size_t bytes, const attn_sink *sink,
                                          attn_error *err);

/** The one of count names that a misspelled text is nearest to, or NULL where none is near. */
ATTN_API const char *attn_text_nearest(const char *text, const char *const *names, int32_t count);

/** A tensor that owns its memory. Released by attn_array_free. */
typedef struct attn_array {
  attn_tensor tensor; /* dense, row-major, native byte order */
  void *memory;       /* what attn_array_free releases */
} attn_array;

/**
 * Reads a tensor from "file.npy" or "file.safetensors:name" (the name may be
 * left out where the file holds one tensor).
 *
 * npy: versions 1 to 3, C and Fortran order (converted to C), either byte
 * order; float16, bfloat16 stored as such in safetensors, float32, float64,
 * bool, int32, int64, uint8. Never pickles.
 *
 * Errors  ATTN_ERR_FILE, ATTN_ERR_FORMAT (with the byte offset),
 *         ATTN_ERR_TYPE, ATTN_ERR_MEMORY; ATTN_ERR_ARGUMENT where the file has
 *         no tensor of that name, or several and none was named. *array is left empty.
 * Cost    Only the header and the tensor asked for are read. A file that becomes
 *         shorter meanwhile is ATTN_ERR_FILE.
 */
ATTN_API attn_status attn_array_read(const char *path, attn_array *array, attn_error *err);

/** The parsers behind it, over bytes in memory; name NULL: the only tensor. Never read past bytes. */
ATTN_API attn_status attn_npy_parse(const void *bytes, size_t size, attn_array *array,
                                    attn_error *err);
ATTN_API attn_status attn_safetensors_parse(const void *bytes, size_t size, const char *name,
                                            attn_array *array, attn_error *err);

/** What a file says of one tensor; its data stay where they are. */
typedef struct attn_array_entry {
  const char *name; /* "" in an npy file */
  const char *type; /* as the file spells it: "F32", "<f4" */
  int64_t offset;   /* of its data in the file */
  int64_t bytes;
  int32_t dtype; /* attn_dtype; 0: the library has no such type, the tensor cannot be read */
  int32_t rank;
  int64_t shape[ATTN_RANK_MAX];
} attn_array_entry;

/** The tensors of a file, in the order of their data. Released by attn_array_list_free. */
typedef struct attn_array_list {
  int64_t count;
  attn_array_entry *entry; /* names and types live as long as the list */
} attn_array_list;

/**
 * Lists the tensors of a file; reads and checks its header only. A name behind
 * "file.safetensors:" is ignored. Errors as attn_array_read; *list is left empty.
 */
ATTN_API attn_status attn_array_list_read(const char *path, attn_array_list *list,
                                          attn_error *err);

/** Releases a list and empties it; NULL and an empty one are fine. */
ATTN_API void attn_array_list_free(attn_array_list *list);

/**
 * The length of the file's part of path; *name (may not be NULL) is what stands behind
 * "file.safetensors:", or NULL where nothing does.
 */
ATTN_API size_t attn_array_path_split(const char *path, const char **name);

/**
 * Would these outputs have a place? Everything that attn_array_write_all refuses before it
 * writes, and whether the folders may be written to: to be asked before a long computation.
 * Writes nothing. Errors as there.
 */
ATTN_API attn_status attn_array_outputs_check(const char *const *paths, int32_t count,
                                              attn_error *err);

/**
 * Writes a tensor (any strides) to "file.npy" or "file.safetensors:name"; a
 * safetensors file that exists keeps its other tensors and its metadata. The
 * file appears whole or not at all: written beside, fsynced, renamed. A link is
 * followed, a link to nothing refused; what is no regular file is never replaced.
 *
 * Errors  ATTN_ERR_FILE, ATTN_ERR_MEMORY; ATTN_ERR_ARGUMENT for a missing or
 *         impossible name; ATTN_ERR_TYPE for bfloat16 in npy; ATTN_ERR_FORMAT
 *         where the file that exists is no sound safetensors file. Nothing is
 *         left behind, save where only the folder could not be synced: then the
 *         file is in place, but may not survive a power cut.
 */
ATTN_API attn_status attn_array_write(const char *path, const attn_tensor *tensor,
                                      attn_error *err);

#define ATTN_OUTPUTS_MAX 16

/** One tensor and where it shall go. */
typedef struct attn_array_output {
  const char *path;
  const attn_tensor *tensor;
} attn_array_output;

/**
 * Writes up to ATTN_OUTPUTS_MAX tensors, several of them into one safetensors
 * file if so named. All files are complete and on disk before the first is
 * renamed into place, so that a full disk or a bad name leaves none of them. Only where
 * one of those last renames fails (a folder taken away at that moment) do earlier ones stay.
 * Errors as attn_array_write; ATTN_ERR_ARGUMENT where two have the same name.
 */
ATTN_API attn_status attn_array_write_all(const attn_array_output *outputs, int32_t count,
                                          attn_error *err);

/**
 * Converts in place to dtype ATTN_F32 or ATTN_F64. Types that fit widen exactly
 * (float16, bfloat16; float32 to float64); others round to nearest.
 * Errors  ATTN_ERR_TYPE, ATTN_ERR_MEMORY: the array is as it was.
 */
ATTN_API attn_status attn_array_convert(attn_array *array, attn_dtype dtype, attn_error *err);

/** Releases the memory and empties the array; NULL and an empty one are fine. */
ATTN_API void attn_array_free(attn_array *array);

/**
 * Writes bytes to a file that appears whole or not at all: written beside, fsynced, renamed, as
 * attn_array_write does it. A file that exists is replaced and keeps its permissions.
 *
 *   bytes  in   size of them; NULL where size is 0
 *
 * Errors  ATTN_ERR_FILE, ATTN_ERR_MEMORY: what was there before is there still; nothing is left
 *         behind, save where only the folder could not be synced.
 */
ATTN_API attn_status attn_file_write(const char *path, const void *bytes, size_t size,
                                     attn_error *err);

#ifdef __cplusplus
}
#endif
#endif
