/* store.c -- reads, lists and writes tensors by file name. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "error.h"
#include "lock.h"
#include "safetensors.h"
#include "utf8.h"

enum { LOCK_WAIT_MS = 10000 }; /* how long to wait for other writers of the file */

static const char suffix[] = ".safetensors";

size_t attn_array_path_split(const char *path, const char **name) {
  const char *end = strstr(path, suffix);
  *name = NULL;
  /* The first suffix that ends the path or precedes a colon: folder names may contain it, too. */
  for (; end; end = strstr(end + 1, suffix)) {
    char next = end[sizeof suffix - 1];
    if (next != ':' && next != 0) continue;
    end += sizeof suffix - 1;
    if (*end == ':') *name = end + 1;
    return (size_t)(end - path);
  }
  return strlen(path);
}

/* The parts of "file.safetensors:name"; the caller frees file. */
struct tensor_path {
  char *file;
  const char *name; /* NULL: none given */
  int safetensors;
};

static attn_status split_path(const char *path, struct tensor_path *p, attn_error *err) {
  size_t split = attn_array_path_split(path, &p->name), length = sizeof suffix - 1;
  p->safetensors = split >= length && !memcmp(path + split - length, suffix, length);
  p->file = strndup(path, split);
  return p->file ? ATTN_OK : attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for a file name");
}

/* ---- Reading ---------------------------------------------------------------------- */

/* The caller frees p->file and closes bytes in every case. */
static attn_status open_path(const char *path, struct tensor_path *p, struct attn_bytes *bytes,
                             attn_error *err) {
  bytes->memory = NULL, bytes->fd = -1;
  attn_status status = split_path(path, p, err);
  return status ? status : attn_bytes_open(bytes, p->file, err);
}

attn_status attn_array_read(const char *path, attn_array *array, attn_error *err) {
  struct tensor_path p;
  struct attn_bytes bytes;
  memset(array, 0, sizeof *array);
  attn_status status = open_path(path, &p, &bytes, err);
  if (!status)
    status = p.safetensors ? attn_safetensors_load(&bytes, p.name, array, err)
                           : attn_npy_load(&bytes, array, err);
  attn_bytes_close(&bytes), free(p.file);
  return status;
}

/* ---- Listing ----------------------------------------------------------------------- */

/* One block holds the entries, followed by the texts they point to. */
static attn_status reserve(attn_array_list *list, size_t entries, size_t text, char **at,
                           attn_error *err) {
  list->entry = calloc(1, entries * sizeof *list->entry + text + 1);
  if (!list->entry) return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for a list");
  *at = (char *)(list->entry + entries);
  return ATTN_OK;
}

static const char *keep(char **at, const char *text) {
  char *kept = *at;
  size_t bytes = strlen(text) + 1;
  memcpy(kept, text, bytes);
  *at += bytes;
  return kept;
}

static void add(attn_array_list *list, char **at, const char *name, const char *type,
                const struct attn_stored_tensor *stored) {
  attn_array_entry *e = &list->entry[list->count++];
  *e = (attn_array_entry){.name = keep(at, name),
                          .type = keep(at, type),
                          .offset = (int64_t)stored->offset,
                          .bytes = (int64_t)stored->bytes,
                          .dtype = (int32_t)stored->dtype,
                          .rank = stored->rank};
  memcpy(e->shape, stored->shape, sizeof e->shape);
}

static attn_status list_npy(const struct attn_bytes *bytes, attn_array_list *list,
                            attn_error *err) {
  struct attn_stored_tensor stored;
  char type[16], *at = NULL;
  attn_status status = attn_npy_header(bytes, &stored, type, err);
  if (!status) status = reserve(list, 1, strlen(type) + 2, &at, err);
  if (status) return status;
  add(list, &at, "", type, &stored);
  return ATTN_OK;
}

static attn_status list_safetensors(const struct attn_bytes *bytes, attn_array_list *list,
                                    attn_error *err) {
  struct attn_safetensors h;
  size_t text = 0;
  char *at = NULL;
  attn_status status = attn_safetensors_open(bytes, &h, err);
  if (status) return status;
  for (size_t n = 0; n < h.entries; n++)
    text += strlen(h.entry[n].name) + strlen(h.entry[n].type) + 2;
  status = reserve(list, h.entries, text, &at, err);
  for (size_t n = 0; n < h.entries && !status; n++)
    add(list, &at, h.entry[n].name, h.entry[n].type, &h.entry[n].at);
  attn_safetensors_close(&h);
  return status;
}

attn_status attn_array_list_read(const char *path, attn_array_list *list, attn_error *err) {
  struct tensor_path p;
  struct attn_bytes bytes;
  memset(list, 0, sizeof *list);
  attn_status status = open_path(path, &p, &bytes, err);
  if (!status)
    status = p.safetensors ? list_safetensors(&bytes, list, err) : list_npy(&bytes, list, err);
  attn_bytes_close(&bytes), free(p.file);
  return status;
}

void attn_array_list_free(attn_array_list *list) {
  if (!list) return;
  free(list->entry);
  memset(list, 0, sizeof *list);
}

/* ---- Writing: all temporary files first, then all renames ------------------------------- */

struct pending_output {
  struct tensor_path path;
  char *target; /* the resolved path, which is equal for two spellings of one file */
  const attn_tensor *tensor;
  struct attn_file_writer writer; /* used by the first output into that file */
  struct attn_lock lock;          /* held while tensors are added to the file */
};

static int same_file(const struct pending_output *a, const struct pending_output *b) {
  return !strcmp(a->target, b->target);
}

static attn_status check_tensor(const attn_tensor *t, attn_error *err) {
  if (!t || !attn_safetensors_type(t->dtype))
    return attn_fail(err, ATTN_ERR_TYPE, "tensor", "tensor is NULL or has an unknown dtype");
  size_t size = (size_t)attn_element_size(t->dtype);
  if (t->rank < 0 || t->rank > ATTN_RANK_MAX || attn_shape_count(t->shape, t->rank, size) < 0)
    return attn_fail(err, ATTN_ERR_SHAPE, "tensor", "tensor has a shape that cannot be addressed");
  if (!t->data && attn_shape_count(t->shape, t->rank, size))
    return attn_fail(err, ATTN_ERR_ARGUMENT, "tensor", "tensor has elements but no data");
  return ATTN_OK;
}

static attn_status check_name(const struct tensor_path *p, const char *path, attn_error *err) {
  if (!p->safetensors) return ATTN_OK;
  if (!p->name || !*p->name)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "path",
                     "%.120s: the tensor's name is missing; write file.safetensors:name", path);
  if (attn_utf8_is_valid(p->name, strlen(p->name)) && strcmp(p->name, "__metadata__"))
    return ATTN_OK;
  return attn_fail(err, ATTN_ERR_ARGUMENT, "path",
                   "%.120s: the tensor's name is not valid; choose another", path);
}

static attn_status resolve_path(const char *path, struct pending_output *to, attn_error *err) {
  attn_status status = split_path(path, &to->path, err);
  if (!status) status = check_name(&to->path, path, err);
  return status ? status : attn_file_target(to->path.file, &to->target, err);
}

static attn_status check_twice(const struct pending_output *o, int count, attn_error *err) {
  for (int n = 1; n < count; n++)
    for (int m = 0; m < n; m++)
      if (same_file(&o[m], &o[n]) && (!o[m].path.safetensors || !o[n].path.safetensors ||
                                      !strcmp(o[m].path.name, o[n].path.name)))
        return attn_fail(err, ATTN_ERR_ARGUMENT, "path",
                         "%.120s: two outputs have the same name; rename one", o[n].path.file);
  return ATTN_OK;
}

/* Writes all outputs from o[first] on that belong to its file. */
static attn_status put_safetensors(struct pending_output *o, int first, int count,
                                   attn_error *err) {
  struct attn_named_tensor tensors[ATTN_OUTPUTS_MAX];
  struct attn_bytes old;
  struct stat info;
  int chosen = 0, exists = !stat(o[first].target, &info);
  for (int n = first; n < count; n++)
    if (same_file(&o[first], &o[n]))
      tensors[chosen++] = (struct attn_named_tensor){o[n].path.name, o[n].tensor};
  attn_status status = exists ? attn_bytes_open(&old, o[first].target, err) : ATTN_OK;
  if (status) return status;
  status = attn_safetensors_put(&o[first].writer, exists ? &old : NULL, tensors, chosen, NULL, err);
  if (exists) attn_bytes_close(&old);
  return status;
}

static attn_status put_file(struct pending_output *o, int n, int count, attn_error *err) {
  attn_status status = ATTN_OK;
  for (int m = 0; m < n; m++)
    if (same_file(&o[m], &o[n])) return ATTN_OK; /* o[m] has written it */
  /* Locked from reading to renaming: else a tensor that another process adds would be lost. */
  if (o[n].path.safetensors) status = attn_lock_begin(&o[n].lock, o[n].target, LOCK_WAIT_MS, err);
  if (!status) status = attn_file_begin(&o[n].writer, o[n].target, err);
  if (!status)
    status = o[n].path.safetensors ? put_safetensors(o, n, count, err)
                                   : attn_npy_put(&o[n].writer, o[n].tensor, err);
  return status ? status : attn_file_finish(&o[n].writer, err);
}

static attn_status begin(struct pending_output o[ATTN_OUTPUTS_MAX], int32_t count,
                         attn_error *err) {
  memset(o, 0, ATTN_OUTPUTS_MAX * sizeof *o);
  for (int n = 0; n < ATTN_OUTPUTS_MAX; n++) o[n].writer.fd = o[n].lock.fd = -1;
  if (count >= 0 && count <= ATTN_OUTPUTS_MAX) return ATTN_OK;
  return attn_fail(err, ATTN_ERR_ARGUMENT, "count", "count must be between 0 and %d, got %d",
                   ATTN_OUTPUTS_MAX, (int)count);
}

static void end(struct pending_output *o) {
  for (int n = 0; n < ATTN_OUTPUTS_MAX; n++) {
    attn_file_abandon(&o[n].writer);
    attn_lock_end(&o[n].lock);
    free(o[n].target);
    free(o[n].path.file);
  }
}

/* Whether an existing file can be added to and the folder is writable. */
static attn_status check_target(const struct pending_output *o, attn_error *err) {
  struct attn_bytes old;
  struct attn_safetensors header;
  struct stat info;
  attn_status status = attn_file_writable(o->target, err);
  if (status || !o->path.safetensors || stat(o->target, &info)) return status;
  if ((status = attn_bytes_open(&old, o->target, err))) return status;
  status = attn_safetensors_open(&old, &header, err);
  attn_safetensors_close(&header), attn_bytes_close(&old);
  return status;
}

attn_status attn_array_outputs_check(const char *const *paths, int32_t count, attn_error *err) {
  struct pending_output o[ATTN_OUTPUTS_MAX];
  attn_status status = begin(o, count, err);
  if (status) return status;
  for (int n = 0; n < count && !status; n++) status = resolve_path(paths[n], &o[n], err);
  if (!status) status = check_twice(o, count, err);
  for (int n = 0; n < count && !status; n++) status = check_target(&o[n], err);
  end(o);
  return status;
}

attn_status attn_array_write_all(const attn_array_output *outputs, int32_t count, attn_error *err) {
  struct pending_output o[ATTN_OUTPUTS_MAX];
  attn_status status = begin(o, count, err);
  if (status) return status;
  for (int n = 0; n < count && !status; n++) {
    o[n].tensor = outputs[n].tensor;
    status = check_tensor(outputs[n].tensor, err);
    if (!status) status = resolve_path(outputs[n].path, &o[n], err);
  }
  if (!status) status = check_twice(o, count, err);
  for (int n = 0; n < count && !status; n++) status = put_file(o, n, count, err);
  for (int n = 0; n < count && !status; n++)
    if (o[n].writer.temporary) status = attn_file_commit(&o[n].writer, NULL, err);
  end(o);
  return status;
}

attn_status attn_array_write(const char *path, const attn_tensor *tensor, attn_error *err) {
  const attn_array_output one = {path, tensor};
  return attn_array_write_all(&one, 1, err);
}
