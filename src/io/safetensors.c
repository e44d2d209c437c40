/* safetensors.c -- 8 bytes of length, a JSON header, the data without holes.
 * [huggingface/safetensors, format] The header is treated as hostile. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "error.h"

enum { HEADER_MAX = 100000000 };

struct entry {
  const char *name;
  attn_dtype dtype;
  int rank;
  int64_t shape[ATTN_RANK_MAX];
  size_t begin, end; /* within the data */
};

struct header {
  json_t *root; /* owns the names */
  struct entry *entry;
  size_t entries, data; /* data: where it begins in the file */
};

static const struct {
  const char *name;
  attn_dtype dtype;
} types[] = {{"F64", ATTN_F64}, {"F32", ATTN_F32}, {"F16", ATTN_F16}, {"BF16", ATTN_BF16},
             {"I64", ATTN_I64}, {"I32", ATTN_I32}, {"U8", ATTN_U8},   {"BOOL", ATTN_BOOL}};

static size_t size_of(attn_dtype dtype) { return (size_t)(((unsigned)dtype >> 8) & 0xFF) / 8; }

static attn_status wrong(attn_error *err, const char *name, const char *what) {
  return attn_fail_offset(err, ATTN_ERR_FORMAT, 8, "safetensors: tensor \"%.60s\": %s", name, what);
}

/* A whole number of at least 0 that a size_t holds. */
static int whole(const json_t *value, int64_t *number) {
  if (!json_is_integer(value) || json_integer_value(value) < 0) return 0;
  *number = json_integer_value(value);
  return 1;
}

static attn_status read_type(const json_t *value, struct entry *e, attn_error *err) {
  const char *text = json_string_value(value);
  if (!text) return wrong(err, e->name, "dtype is missing or no string");
  for (size_t n = 0; n < sizeof types / sizeof *types; n++)
    if (!strcmp(text, types[n].name)) return e->dtype = types[n].dtype, ATTN_OK;
  return attn_fail_offset(err, ATTN_ERR_TYPE, 8,
                          "safetensors: tensor \"%.60s\": dtype \"%.20s\" is not supported",
                          e->name, text);
}

static attn_status read_entry(const json_t *value, struct entry *e, size_t data_bytes,
                              attn_error *err) {
  int64_t begin, end;
  const json_t *shape = json_object_get(value, "shape"),
               *span = json_object_get(value, "data_offsets");
  if (!json_is_object(value) || json_object_size(value) != 3)
    return wrong(err, e->name, "must have dtype, shape and data_offsets and nothing else");
  attn_status status = read_type(json_object_get(value, "dtype"), e, err);
  if (status) return status;
  if (!json_is_array(shape) || json_array_size(shape) > ATTN_RANK_MAX)
    return wrong(err, e->name, "shape must be a list of at most 8 numbers");
  e->rank = (int)json_array_size(shape);
  for (int n = 0; n < e->rank; n++)
    if (!whole(json_array_get(shape, (size_t)n), &e->shape[n]))
      return wrong(err, e->name, "a dimension is no whole number");
  if (!json_is_array(span) || json_array_size(span) != 2 ||
      !whole(json_array_get(span, 0), &begin) || !whole(json_array_get(span, 1), &end) ||
      begin > end || (uint64_t)end > data_bytes)
    return wrong(err, e->name, "data_offsets are not two numbers in order within the file");
  e->begin = (size_t)begin, e->end = (size_t)end;
  int64_t count = attn_shape_count(e->shape, e->rank, size_of(e->dtype));
  if (count < 0 || (uint64_t)count * size_of(e->dtype) != e->end - e->begin)
    return wrong(err, e->name, "shape and data_offsets do not agree");
  return ATTN_OK;
}

static int by_place(const void *a, const void *b) {
  const struct entry *x = a, *y = b;
  if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
  return x->end < y->end ? -1 : x->end > y->end;
}

/* Sorted by place, each tensor begins where the one before ends, the last at the file's end. */
static attn_status check_places(const struct header *h, size_t data_bytes, attn_error *err) {
  size_t at = 0;
  for (size_t n = 0; n < h->entries; n++) {
    if (h->entry[n].begin != at)
      return wrong(err, h->entry[n].name, "its data overlap or leave a hole");
    at = h->entry[n].end;
  }
  if (at == data_bytes) return ATTN_OK;
  return attn_fail_offset(err, ATTN_ERR_FORMAT, (int64_t)(h->data + at),
                          "safetensors: %zu bytes belong to no tensor", data_bytes - at);
}

static attn_status read_entries(struct header *h, size_t data_bytes, attn_error *err) {
  const char *name;
  json_t *value;
  h->entry = calloc(json_object_size(h->root) + 1, sizeof *h->entry);
  if (!h->entry) return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for the header");
  json_object_foreach(h->root, name, value) {
    const char *key;
    json_t *text;
    if (strcmp(name, "__metadata__")) {
      h->entry[h->entries].name = name;
      attn_status status = read_entry(value, &h->entry[h->entries++], data_bytes, err);
      if (status) return status;
      continue;
    }
    if (!json_is_object(value)) return wrong(err, name, "must be an object of strings");
    json_object_foreach(value, key, text) if (!json_is_string(text)) return wrong(
        err, name, "must hold strings only");
  }
  qsort(h->entry, h->entries, sizeof *h->entry, by_place);
  return check_places(h, data_bytes, err);
}

static void close_header(struct header *h) {
  json_decref(h->root);
  free(h->entry);
}

static attn_status open_header(const unsigned char *b, size_t size, struct header *h,
                               attn_error *err) {
  uint64_t length = 0;
  json_error_t problem;
  memset(h, 0, sizeof *h);
  if (size < 8)
    return attn_fail_offset(err, ATTN_ERR_FORMAT, 0,
                            "safetensors: %zu bytes are too few for a header", size);
  for (int n = 7; n >= 0; n--) length = length << 8 | b[n];
  if (length > HEADER_MAX || length > size - 8)
    return attn_fail_offset(
        err, ATTN_ERR_FORMAT, 0,
        "safetensors: a header of %llu bytes in a file of %zu; is it cut short?",
        (unsigned long long)length, size);
  if (length == 0 || b[8] != '{')
    return attn_fail_offset(err, ATTN_ERR_FORMAT, 8,
                            "safetensors: the header does not begin with {");
  /* jansson refuses duplicate keys, depth beyond 2048, bad UTF-8 and NUL in names. */
  h->root = json_loadb((const char *)b + 8, (size_t)length, JSON_REJECT_DUPLICATES, &problem);
  if (!h->root)
    return attn_fail_offset(err, ATTN_ERR_FORMAT, 8 + problem.position, "safetensors header: %s",
                            problem.text);
  h->data = 8 + (size_t)length;
  return read_entries(h, size - h->data, err);
}

static const struct entry *find(const struct header *h, const char *name, attn_error *err,
                                attn_status *status) {
  *status = ATTN_OK;
  if (!name && h->entries == 1) return h->entry;
  for (size_t n = 0; name && n < h->entries; n++)
    if (!strcmp(h->entry[n].name, name)) return &h->entry[n];
  char list[160] = "";
  for (size_t n = 0, at = 0; n < h->entries && at + 1 < sizeof list; n++)
    at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", n ? ", " : "", h->entry[n].name);
  *status = attn_fail(
      err, ATTN_ERR_ARGUMENT, "name",
      name ? "no tensor \"%.60s\" in the file; it holds: %s"
           : "%sthe file holds several tensors; choose one with file.safetensors:name: %s",
      name ? name : "", list);
  return NULL;
}

attn_status attn_safetensors_parse(const void *bytes, size_t size, const char *name,
                                   attn_array *array, attn_error *err) {
  struct header h;
  memset(array, 0, sizeof *array);
  attn_status status = open_header(bytes, size, &h, err);
  const struct entry *e = status ? NULL : find(&h, name, err, &status);
  if (e) {
    const uint16_t one = 1;
    int swap = !*(const unsigned char *)&one; /* the format is little-endian */
    status = attn_array_from_bytes(e->dtype, e->shape, e->rank, 0, swap,
                                   (const char *)bytes + h.data + e->begin, array, err);
  }
  close_header(&h);
  return status;
}

/* ---- Writing --------------------------------------------------------------------- */

static const char *type_name(attn_dtype dtype) {
  for (size_t n = 0; n < sizeof types / sizeof *types; n++)
    if (types[n].dtype == dtype) return types[n].name;
  return "?";
}

/* Adds a tensor to the header under construction; *at is where the data have come to. */
static int add_entry(json_t *root, const char *name, attn_dtype dtype, const int64_t *shape,
                     int rank, size_t bytes, size_t *at) {
  json_t *list = json_array();
  for (int n = 0; n < rank; n++) json_array_append_new(list, json_integer(shape[n]));
  json_t *one = json_pack("{s:s, s:o, s:[I,I]}", "dtype", type_name(dtype), "shape", list,
                          "data_offsets", (json_int_t)*at, (json_int_t)(*at + bytes));
  *at += bytes;
  return one ? json_object_set_new(root, name, one) : -1;
}

/* What an existing file holds beside name, so that it is kept. */
struct kept {
  void *bytes;
  size_t size;
  struct header header;
};

static attn_status read_kept(const char *path, struct kept *kept, attn_error *err) {
  FILE *probe = fopen(path, "rb");
  memset(kept, 0, sizeof *kept);
  if (!probe) return ATTN_OK; /* a new file */
  fclose(probe);
  attn_status status = attn_file_read(path, &kept->bytes, &kept->size, err);
  if (!status) status = open_header(kept->bytes, kept->size, &kept->header, err);
  return status;
}

static char *build_header(const struct kept *kept, const char *name, const attn_tensor *t,
                          size_t *length) {
  json_t *root = json_object(), *metadata = json_object_get(kept->header.root, "__metadata__");
  size_t at = 0;
  int failed = !root || (metadata && json_object_set(root, "__metadata__", metadata));
  for (size_t n = 0; n < kept->header.entries && !failed; n++) {
    const struct entry *e = &kept->header.entry[n];
    if (strcmp(e->name, name))
      failed = add_entry(root, e->name, e->dtype, e->shape, e->rank, e->end - e->begin, &at);
  }
  size_t bytes = (size_t)attn_shape_count(t->shape, t->rank, size_of(t->dtype)) * size_of(t->dtype);
  if (!failed) failed = add_entry(root, name, t->dtype, t->shape, t->rank, bytes, &at);
  char *text = failed ? NULL : json_dumps(root, JSON_COMPACT | JSON_PRESERVE_ORDER);
  json_decref(root);
  *length = text ? strlen(text) : 0;
  return text;
}

static attn_status put_all(struct attn_file_writer *w, const struct kept *kept, const char *name,
                           const attn_tensor *t, const char *text, size_t length, attn_error *err) {
  unsigned char prefix[8];
  size_t padded = (length + 7) / 8 * 8; /* data aligned to 8: spaces are JSON too */
  for (int n = 0; n < 8; n++) prefix[n] = (unsigned char)((uint64_t)padded >> (8 * n));
  attn_status status = attn_file_put(w, prefix, sizeof prefix, err);
  if (!status) status = attn_file_put(w, text, length, err);
  if (!status) status = attn_file_put(w, "       ", padded - length, err);
  for (size_t n = 0; n < kept->header.entries && !status; n++) {
    const struct entry *e = &kept->header.entry[n];
    if (strcmp(e->name, name))
      status = attn_file_put(w, (const char *)kept->bytes + kept->header.data + e->begin,
                             e->end - e->begin, err);
  }
  return status ? status : attn_tensor_put(t, w, err);
}

attn_status attn_safetensors_write(const char *path, const char *name, const attn_tensor *t,
                                   attn_error *err) {
  struct kept kept;
  struct attn_file_writer w;
  size_t length = 0;
  char *text = NULL;
  attn_status status = read_kept(path, &kept, err);
  if (!status && !(text = build_header(&kept, name, t, &length)))
    status = attn_fail(err, ATTN_ERR_MEMORY, "name", "cannot name a tensor \"%.60s\"", name);
  if (!status) status = attn_file_begin(&w, path, err);
  if (!status) {
    status = put_all(&w, &kept, name, t, text, length, err);
    if (!status)
      status = attn_file_commit(&w, err);
    else
      attn_file_abandon(&w);
  }
  free(text);
  close_header(&kept.header);
  free(kept.bytes);
  return status;
}
