/* safetensors.c -- 8 bytes of length, a JSON header, the data without gaps.
 * [huggingface/safetensors, format] The header is treated as untrusted. */
#include "safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_text.h"
#include "error.h"

enum { HEADER_MAX = 100000000 }; /* bytes, the limit of the format */

/* Types without a dtype are listed and kept, but cannot be read into a tensor. */
static const struct {
  const char *name;
  size_t bytes;
  attn_dtype dtype;
} types[] = {{"F64", 8, ATTN_F64},
             {"F32", 4, ATTN_F32},
             {"F16", 2, ATTN_F16},
             {"BF16", 2, ATTN_BF16},
             {"I64", 8, ATTN_I64},
             {"I32", 4, ATTN_I32},
             {"I8", 1, ATTN_I8},
             {"U8", 1, ATTN_U8},
             {"BOOL", 1, ATTN_BOOL},
             {"I16", 2, (attn_dtype)0},
             {"U16", 2, (attn_dtype)0},
             {"U32", 4, (attn_dtype)0},
             {"U64", 8, (attn_dtype)0},
             {"F8_E5M2", 1, (attn_dtype)0},
             {"F8_E4M3", 1, (attn_dtype)0},
             {"F8_E8M0", 1, (attn_dtype)0},
             {"C64", 8, (attn_dtype)0}};

enum { TYPES = sizeof types / sizeof *types };

const char *attn_safetensors_type(attn_dtype dtype) {
  for (size_t n = 0; n < TYPES; n++)
    if (types[n].dtype == dtype && dtype) return types[n].name;
  return NULL;
}

/* ---- One entry of the header ------------------------------------------------------- */

static attn_status wrong(attn_error *err, const char *name, const char *what) {
  return attn_fail_offset(err, ATTN_ERR_FORMAT, 8,
                          "safetensors header: tensor \"%.60s\": %s; write the file again", name,
                          what);
}

static int whole(const json_t *value, int64_t *number) {
  if (!json_is_integer(value) || json_integer_value(value) < 0) return 0;
  *number = json_integer_value(value);
  return 1;
}

static attn_status read_type(const json_t *value, struct attn_safetensor *e, attn_error *err) {
  e->type = json_string_value(value);
  if (!e->type) return wrong(err, e->name, "dtype is missing or not a string");
  for (size_t n = 0; n < TYPES; n++) {
    if (strcmp(e->type, types[n].name)) continue;
    e->at.dtype = types[n].dtype;
    e->element = types[n].bytes;
    return ATTN_OK;
  }
  return attn_fail_offset(err, ATTN_ERR_TYPE, 8,
                          "safetensors header: tensor \"%.60s\": dtype \"%.20s\" is unknown; save "
                          "it as F32",
                          e->name, e->type);
}

static attn_status read_shape(const json_t *shape, struct attn_safetensor *e, attn_error *err) {
  if (!json_is_array(shape) || json_array_size(shape) > ATTN_RANK_MAX)
    return wrong(err, e->name, "shape is not an array of at most 8 integers");
  e->at.rank = (int)json_array_size(shape);
  for (int n = 0; n < e->at.rank; n++)
    if (!whole(json_array_get(shape, (size_t)n), &e->at.shape[n]))
      return wrong(err, e->name, "a dimension is not an integer");
  return ATTN_OK;
}

static attn_status read_span(const json_t *span, struct attn_safetensor *e, size_t data_bytes,
                             attn_error *err) {
  int64_t begin, end;
  if (!json_is_array(span) || json_array_size(span) != 2 ||
      !whole(json_array_get(span, 0), &begin) || !whole(json_array_get(span, 1), &end))
    return wrong(err, e->name, "data_offsets are not two integers");
  if (begin > end || (uint64_t)end > data_bytes)
    return wrong(err, e->name, "data_offsets are out of order or past the end of the file");
  e->at.offset = (size_t)begin;
  e->at.bytes = (size_t)(end - begin);
  int64_t count = attn_shape_count(e->at.shape, e->at.rank, e->element);
  if (count < 0 || (uint64_t)count * e->element != e->at.bytes)
    return wrong(err, e->name, "shape and data_offsets do not match");
  return ATTN_OK;
}

static attn_status read_entry(const json_t *value, struct attn_safetensor *e, size_t data_bytes,
                              attn_error *err) {
  if (!json_is_object(value) || json_object_size(value) != 3)
    return wrong(err, e->name, "expected dtype, shape and data_offsets and no other member");
  e->at.swap = !attn_is_little_endian(); /* as the format is */
  attn_status status = read_type(json_object_get(value, "dtype"), e, err);
  if (!status) status = read_shape(json_object_get(value, "shape"), e, err);
  if (!status) status = read_span(json_object_get(value, "data_offsets"), e, data_bytes, err);
  return status;
}

/* ---- The header ---------------------------------------------------------------------- */

static int by_offset(const void *a, const void *b) {
  const struct attn_safetensor *x = a, *y = b;
  if (x->at.offset != y->at.offset) return x->at.offset < y->at.offset ? -1 : 1;
  if (x->at.bytes != y->at.bytes) return x->at.bytes < y->at.bytes ? -1 : 1;
  return strcmp(x->name, y->name); /* empty tensors share an offset: the order must be unique */
}

/* Each tensor begins where the previous one ends; the last ends with the file. */
static attn_status check_offsets(struct attn_safetensors *h, size_t data, size_t data_bytes,
                                 attn_error *err) {
  size_t at = 0;
  for (size_t n = 0; n < h->entries; n++) {
    if (h->entry[n].at.offset != at)
      return wrong(err, h->entry[n].name,
                   h->entry[n].at.offset < at ? "its data overlap another tensor"
                                              : "there is a gap before its data");
    at += h->entry[n].at.bytes;
    h->entry[n].at.offset += data;
  }
  if (at == data_bytes) return ATTN_OK;
  return attn_fail_offset(err, ATTN_ERR_FORMAT, (int64_t)(data + at),
                          "safetensors: %zu bytes at the end belong to no tensor; remove them",
                          data_bytes - at);
}

static attn_status check_metadata(json_t *value, attn_error *err) {
  const char *key;
  json_t *text;
  if (!json_is_object(value)) return wrong(err, "__metadata__", "expected an object of strings");
  json_object_foreach(value, key, text) {
    if (!json_is_string(text)) return wrong(err, "__metadata__", "every value must be a string");
  }
  return ATTN_OK;
}

static attn_status read_entries(struct attn_safetensors *h, size_t data, size_t data_bytes,
                                attn_error *err) {
  const char *name;
  json_t *value;
  attn_status status = ATTN_OK;
  h->entry = calloc(json_object_size(h->root) + 1, sizeof *h->entry);
  if (!h->entry) return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for the header");
  json_object_foreach(h->root, name, value) {
    if (!strcmp(name, "__metadata__")) {
      status = check_metadata(value, err);
    } else {
      h->entry[h->entries].name = name;
      status = read_entry(value, &h->entry[h->entries++], data_bytes, err);
    }
    if (status) return status;
  }
  qsort(h->entry, h->entries, sizeof *h->entry, by_offset);
  return check_offsets(h, data, data_bytes, err);
}

void attn_safetensors_close(struct attn_safetensors *h) {
  json_decref(h->root);
  free(h->entry);
  memset(h, 0, sizeof *h);
}

const char *attn_safetensors_metadata(const struct attn_safetensors *h, const char *name) {
  return json_string_value(json_object_get(json_object_get(h->root, "__metadata__"), name));
}

static attn_status read_length(const struct attn_bytes *bytes, size_t *length, attn_error *err) {
  unsigned char b[9];
  uint64_t stated = 0;
  if (bytes->size < 9)
    return attn_fail_offset(
        err, ATTN_ERR_FORMAT, 0,
        "safetensors: %zu bytes are too few for a header: the file is truncated", bytes->size);
  attn_status status = attn_bytes_get(bytes, 0, b, sizeof b, err);
  if (status) return status;
  for (int n = 7; n >= 0; n--) stated = stated << 8 | b[n];
  if (stated > bytes->size - 8)
    return attn_fail_offset(
        err, ATTN_ERR_FORMAT, 0,
        "safetensors: a header of %llu bytes in a file of %zu: the file is truncated",
        (unsigned long long)stated, bytes->size);
  if (stated > HEADER_MAX)
    return attn_fail_offset(err, ATTN_ERR_FORMAT, 0,
                            "safetensors: a header of %llu bytes; the format allows %d",
                            (unsigned long long)stated, HEADER_MAX);
  if (stated == 0 || b[8] != '{')
    return attn_fail_offset(
        err, ATTN_ERR_FORMAT, 8,
        "safetensors: the header does not begin with {: not a safetensors file");
  *length = (size_t)stated;
  return ATTN_OK;
}

static attn_status parse(const char *text, size_t length, struct attn_safetensors *h,
                         attn_error *err) {
  json_error_t problem;
  h->root = attn_json_load(text, length, 0, &problem);
  if (h->root) return ATTN_OK;
  if (!problem.text[0]) return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for the header");
  return attn_fail_offset(err, ATTN_ERR_FORMAT, 8 + (int64_t)problem.position,
                          "safetensors header: %s; write the file again", problem.text);
}

static attn_status open_header(const struct attn_bytes *bytes, struct attn_safetensors *h,
                               attn_error *err) {
  size_t length = 0;
  attn_status status = read_length(bytes, &length, err);
  if (status) return status;
  char *text = malloc(length);
  if (!text) return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for the header");
  status = attn_bytes_get(bytes, 8, text, length, err);
  if (!status) status = parse(text, length, h, err);
  free(text);
  return status ? status : read_entries(h, 8 + length, bytes->size - 8 - length, err);
}

attn_status attn_safetensors_open(const struct attn_bytes *bytes, struct attn_safetensors *h,
                                  attn_error *err) {
  memset(h, 0, sizeof *h);
  attn_status status = open_header(bytes, h, err);
  if (status) attn_safetensors_close(h);
  return status;
}

/* ---- One tensor ------------------------------------------------------------------------ */

static void list_names(const struct attn_safetensors *h, char *list, size_t bytes) {
  *list = 0;
  for (size_t n = 0, at = 0; n < h->entries && at + 1 < bytes; n++)
    at += (size_t)snprintf(list + at, bytes - at, "%s%s", n ? ", " : "", h->entry[n].name);
}

const struct attn_safetensor *attn_safetensors_find(const struct attn_safetensors *h,
                                                    const char *name) {
  for (size_t n = 0; n < h->entries; n++)
    if (name ? !strcmp(h->entry[n].name, name) : h->entries == 1) return &h->entry[n];
  return NULL;
}

static attn_status fail_not_found(const struct attn_safetensors *h, const char *name,
                                  attn_error *err) {
  char list[120];
  list_names(h, list, sizeof list);
  if (!h->entries) return attn_fail(err, ATTN_ERR_ARGUMENT, "name", "the file has no tensors");
  if (name)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "name", "no tensor \"%.60s\" in the file; it has: %s",
                     name, list);
  return attn_fail(err, ATTN_ERR_ARGUMENT, "name",
                   "the file has several tensors; choose one with file.safetensors:name: %s", list);
}

static attn_status load(const struct attn_safetensor *e, const struct attn_bytes *bytes,
                        attn_array *array, attn_error *err) {
  if (e->at.dtype) return attn_stored_tensor_load(&e->at, bytes, array, err);
  return attn_fail(err, ATTN_ERR_TYPE, "name",
                   "tensor \"%.60s\" has dtype %s, which is not supported; save it as F32", e->name,
                   e->type);
}

attn_status attn_safetensors_load(const struct attn_bytes *bytes, const char *name,
                                  attn_array *array, attn_error *err) {
  struct attn_safetensors h;
  attn_status status = attn_safetensors_open(bytes, &h, err);
  const struct attn_safetensor *e = status ? NULL : attn_safetensors_find(&h, name);
  if (!status) status = e ? load(e, bytes, array, err) : fail_not_found(&h, name, err);
  attn_safetensors_close(&h);
  return status;
}

attn_status attn_safetensors_parse(const void *bytes, size_t size, const char *name,
                                   attn_array *array, attn_error *err) {
  const struct attn_bytes source = {size ? bytes : "", -1, size, ""};
  memset(array, 0, sizeof *array);
  return attn_safetensors_load(&source, name, array, err);
}
