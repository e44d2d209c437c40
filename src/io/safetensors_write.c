/* safetensors_write.c -- writes tensors into a safetensors file and keeps the others it has. */
#include <stdlib.h>
#include <string.h>

#include "json_text.h"
#include "error.h"
#include "safetensors.h"

/* A tensor of the new file. */
struct pending_tensor {
  struct attn_safetensor entry; /* at.offset: in the old file */
  const attn_tensor *tensor;    /* NULL: kept from the old file */
  size_t order;
};

struct pending_tensors {
  struct pending_tensor *at;
  size_t count;
};

static int replaced(const char *name, const struct attn_named_tensor *tensors, int count) {
  for (int n = 0; n < count; n++)
    if (!strcmp(name, tensors[n].name)) return 1;
  return 0;
}

/* Widest elements first, so that every tensor is aligned to its element. */
static int by_width(const void *a, const void *b) {
  const struct pending_tensor *x = a, *y = b;
  if (x->entry.element != y->entry.element) return x->entry.element > y->entry.element ? -1 : 1;
  return x->order < y->order ? -1 : 1;
}

static struct attn_safetensor entry_of(const struct attn_named_tensor *named) {
  const attn_tensor *t = named->tensor;
  struct attn_safetensor e = {.name = named->name,
                              .type = attn_safetensors_type(t->dtype),
                              .element = (size_t)attn_element_size(t->dtype),
                              .at.rank = t->rank};
  memcpy(e.at.shape, t->shape, sizeof e.at.shape);
  e.at.bytes = (size_t)attn_shape_count(t->shape, t->rank, e.element) * e.element;
  return e;
}

static attn_status collect(struct pending_tensors *p, const struct attn_safetensors *old,
                           const struct attn_named_tensor *tensors, int count, attn_error *err) {
  p->at = calloc(old->entries + (size_t)count, sizeof *p->at);
  if (!p->at) return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for the header");
  for (size_t n = 0; n < old->entries; n++)
    if (!replaced(old->entry[n].name, tensors, count)) p->at[p->count++].entry = old->entry[n];
  for (int n = 0; n < count; n++)
    p->at[p->count++] = (struct pending_tensor){entry_of(&tensors[n]), tensors[n].tensor, 0};
  for (size_t n = 0; n < p->count; n++) p->at[n].order = n;
  qsort(p->at, p->count, sizeof *p->at, by_width);
  return ATTN_OK;
}

static json_t *shape_list(const struct attn_stored_tensor *t) {
  json_t *list = json_array();
  for (int n = 0; n < t->rank; n++)
    if (json_array_append_new(list, json_integer(t->shape[n]))) return json_decref(list), NULL;
  return list;
}

static int add_piece(json_t *root, const struct attn_safetensor *e, size_t at) {
  json_t *one = json_pack("{s:s, s:o, s:[I,I]}", "dtype", e->type, "shape", shape_list(&e->at),
                          "data_offsets", (json_int_t)at, (json_int_t)(at + e->at.bytes));
  return json_object_set_new(root, e->name, one); /* fails for NULL */
}

static char *make_header(const struct pending_tensors *p, json_t *metadata) {
  json_t *root = json_object();
  size_t at = 0;
  int failed = !root || (metadata && json_object_set(root, "__metadata__", metadata));
  for (size_t n = 0; n < p->count && !failed; n++) {
    failed = add_piece(root, &p->at[n].entry, at);
    at += p->at[n].entry.at.bytes;
  }
  return attn_json_finish(root, failed, JSON_COMPACT);
}

static attn_status put_header(struct attn_file_writer *w, const char *text, attn_error *err) {
  unsigned char prefix[8];
  size_t length = strlen(text), padded = (length + 7) / 8 * 8; /* spaces are JSON too */
  for (int n = 0; n < 8; n++) prefix[n] = (unsigned char)((uint64_t)padded >> (8 * n));
  attn_status status = attn_file_put(w, prefix, sizeof prefix, err);
  if (!status) status = attn_file_put(w, text, length, err);
  return status ? status : attn_file_put(w, "       ", padded - length, err);
}

static attn_status copy(struct attn_file_writer *w, const struct attn_bytes *from, size_t offset,
                        size_t bytes, attn_error *err) {
  char group[8192]; /* fits a small stack */
  attn_status status = ATTN_OK;
  for (size_t n; bytes && !status; offset += n, bytes -= n) {
    n = bytes < sizeof group ? bytes : sizeof group;
    status = attn_bytes_get(from, offset, group, n, err);
    if (!status) status = attn_file_put(w, group, n, err);
  }
  return status;
}

static attn_status put_pieces(struct attn_file_writer *w, const struct attn_bytes *old,
                              const struct pending_tensors *p, attn_error *err) {
  for (size_t n = 0; n < p->count; n++) {
    const attn_tensor *t = p->at[n].tensor;
    const struct attn_stored_tensor *kept = &p->at[n].entry.at;
    attn_status status =
        t ? attn_tensor_put(t, w, err) : copy(w, old, kept->offset, kept->bytes, err);
    if (status) return status;
  }
  return ATTN_OK;
}

static attn_status put(struct attn_file_writer *w, const struct attn_bytes *old,
                       const struct pending_tensors *p, json_t *metadata, attn_error *err) {
  char *text = make_header(p, metadata);
  attn_status status = text ? put_header(w, text, err)
                            : attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for the header");
  free(text);
  return status ? status : put_pieces(w, old, p, err);
}

attn_status attn_safetensors_put(struct attn_file_writer *w, const struct attn_bytes *old,
                                 const struct attn_named_tensor *tensors, int count,
                                 json_t *metadata, attn_error *err) {
  struct attn_safetensors held = {NULL, NULL, 0};
  struct pending_tensors p = {NULL, 0};
  attn_status status = old ? attn_safetensors_open(old, &held, err) : ATTN_OK;
  if (!status) status = collect(&p, &held, tensors, count, err);
  if (!metadata) metadata = json_object_get(held.root, "__metadata__");
  if (!status) status = put(w, old, &p, metadata, err);
  free(p.at);
  attn_safetensors_close(&held);
  return status;
}

attn_status attn_safetensors_write(const char *path, const char *gone,
                                   const struct attn_named_tensor *tensors, int count,
                                   json_t *metadata, attn_error *err) {
  struct attn_file_writer w = {-1, NULL, NULL};
  attn_status status = attn_file_begin(&w, path, err);
  if (!status) status = attn_safetensors_put(&w, NULL, tensors, count, metadata, err);
  if (!status) status = attn_file_finish(&w, err);
  if (!status) status = attn_file_commit(&w, gone, err);
  attn_file_abandon(&w);
  return status;
}
