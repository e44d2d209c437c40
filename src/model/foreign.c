/* foreign.c -- weights under their names: a table says which of ours, which rows, which way. */
#include "foreign.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "families.h"
#include "file.h"
#include "safetensors.h"
#include "weights.h"

enum { NAME = 112, CONFIG_MAX = 1 << 24 };

/* A tensor of theirs, and its place among our weights. */
struct entry {
  char name[NAME];
  attn_tensor view;
};

struct listing {
  struct entry *entry;
  int count;
  int64_t numbers; /* of all entries */
};

/* ---- Which are there ---- */

/* The template with the layer's number for its '#', and the suffix behind it. */
static void spell(char to[NAME], const char *template, int64_t layer, const char *suffix) {
  const char *mark = strchr(template, '#');
  if (mark)
    snprintf(to, NAME, "%.*s%lld%s%s", (int)(mark - template), template, (long long)layer, mark + 1,
             suffix);
  else
    snprintf(to, NAME, "%s%s", template, suffix);
}

static const struct attn_parameter *find_parameter(const struct attn_network *n, const char *name) {
  for (int p = 0; p < n->count; p++)
    if (!strcmp(n->parameters[p].name, name)) return &n->parameters[p];
  return NULL;
}

/* Rows of in_proj, or of anything all. */
static void choose_rows(const struct attn_config *c, enum attn_foreign_part part, int64_t all,
                        int64_t *from, int64_t *rows) {
  int64_t q = c->heads * c->key_width, k = c->kv_heads * c->key_width;
  *from = part == ATTN_KEYS ? q : part == ATTN_VALUES ? q + k : 0;
  *rows = part == ATTN_QUERIES ? q : part == ATTN_KEYS ? k : all - *from;
}

/* A vector's elements are its rows; a matrix that is turned is seen by its columns. */
static attn_tensor view_of(const struct attn_config *c, const struct attn_parameter *p,
                           const struct attn_foreign_name *name) {
  int64_t width = p->rank == 1 ? 1 : p->value.width, from, rows;
  choose_rows(c, name->part, p->rank == 1 ? p->value.width : p->value.n, &from, &rows);
  attn_tensor t = {p->value.x + from * width, ATTN_F32, p->rank, {rows, width}, {width, 1}};
  if (p->rank == 2 && name->turned)
    t.shape[0] = width, t.shape[1] = rows, t.strides[0] = 1, t.strides[1] = width;
  if (name->row)
    t.rank = 2, t.shape[0] = 1, t.shape[1] = rows, t.strides[0] = rows, t.strides[1] = 1;
  return t;
}

static void list_one(const struct attn_network *n, const struct attn_foreign_name *name,
                     int64_t layer, const char *suffix, struct listing *l) {
  char ours[NAME];
  spell(ours, name->ours, layer, suffix);
  const struct attn_parameter *p = find_parameter(n, ours);
  if (!p) return;
  struct entry *e = &l->entry[l->count++];
  spell(e->name, name->theirs, layer, suffix);
  e->view = view_of(&n->config, p, name);
  l->numbers += e->view.shape[0] * (e->view.rank == 2 ? e->view.shape[1] : 1);
}

/* Every number of ours must have a place with them. */
static attn_status list(const struct attn_family *f, const struct attn_network *n,
                        struct listing *l, attn_error *err) {
  const struct attn_config *c = &n->config;
  int64_t layers = c->encoder_layers > c->decoder_layers ? c->encoder_layers : c->decoder_layers;
  *l = (struct listing){calloc((size_t)n->count * 3, sizeof *l->entry), 0, 0};
  if (!l->entry) return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for a list of tensors");
  for (const struct attn_foreign_name *name = f->names; name->theirs; name++) {
    int64_t times = strchr(name->theirs, '#') ? layers : 1;
    int whole = name->theirs[strlen(name->theirs) - 1] != '.';
    for (int64_t layer = 0; layer < times; layer++) {
      list_one(n, name, layer, whole ? "" : "weight", l);
      if (!whole) list_one(n, name, layer, "bias", l);
    }
  }
  if (l->numbers == n->numbers) return ATTN_OK;
  return attn_fail(err, ATTN_ERR_ARGUMENT, "network", "%s has no names for all of its weights",
                   f->name);
}

/* ---- Reading ---- */

static const char *behind_prefix(const struct attn_family *f, const char *name) {
  size_t length = strlen(f->prefix);
  return strncmp(name, f->prefix, length) ? name : name + length;
}

static int ends_in(const char *name, const char *end) {
  size_t all = strlen(name), length = strlen(end);
  return all >= length && !strcmp(name + all - length, end);
}

/* The prefix stands or is left out; norms of models that were TensorFlow's say gamma and beta. */
static int is_name(const struct attn_family *f, const char *theirs, const char *name) {
  char old[NAME];
  theirs = behind_prefix(f, theirs), name = behind_prefix(f, name);
  if (!strcmp(theirs, name)) return 1;
  int weight = ends_in(name, "LayerNorm.weight");
  if (!weight && !ends_in(name, "LayerNorm.bias")) return 0;
  snprintf(old, sizeof old, "%.*s%s", (int)(strrchr(name, '.') - name), name,
           weight ? ".gamma" : ".beta");
  return !strcmp(theirs, old);
}

static void copy(const attn_tensor *to, const float *from) {
  int64_t columns = to->rank == 2 ? to->shape[1] : 1;
  float *x = to->data;
  for (int64_t i = 0; i < to->shape[0]; i++)
    for (int64_t j = 0; j < columns; j++)
      x[i * to->strides[0] + (to->rank == 2 ? j * to->strides[1] : 0)] = *from++;
}

static attn_status read_one(const struct attn_bytes *bytes, const struct attn_safetensor *found,
                            const attn_tensor *to, attn_error *err) {
  attn_array array = {.memory = NULL};
  if (!found->at.dtype || found->at.rank != to->rank ||
      memcmp(found->at.shape, to->shape, (size_t)to->rank * sizeof *to->shape))
    return attn_fail(err, ATTN_ERR_FORMAT, NULL,
                     "weights: \"%.90s\" has not the type and shape that config.json says",
                     found->name);
  attn_status status = attn_stored_tensor_load(&found->at, bytes, &array, err);
  if (!status) status = attn_array_convert(&array, ATTN_F32, err);
  if (!status) copy(to, array.tensor.data);
  attn_array_free(&array);
  return status;
}

/* Marks it, so that what nobody asked for can be told. */
static struct attn_safetensor *take(const struct attn_family *f, struct attn_safetensors *file,
                                    const char *name, char *taken) {
  for (size_t n = 0; n < file->entries; n++)
    if (!taken[n] && is_name(f, file->entry[n].name, name)) {
      taken[n] = 1;
      return &file->entry[n];
    }
  return NULL;
}

static attn_status check_left(const struct attn_family *f, const struct attn_safetensors *file,
                              const char *taken, attn_error *err) {
  for (size_t n = 0; n < file->entries; n++) {
    int idle = taken[n];
    for (int k = 0; f->idle[k]; k++) idle |= ends_in(file->entry[n].name, f->idle[k]);
    if (!idle)
      return attn_fail(err, ATTN_ERR_FORMAT, NULL,
                       "weights: \"%.90s\" has no place in what config.json describes",
                       file->entry[n].name);
  }
  return ATTN_OK;
}

static attn_status read_all(const struct attn_family *f, const struct attn_bytes *bytes,
                            struct attn_safetensors *file, const struct listing *l,
                            attn_error *err) {
  attn_status status = ATTN_OK;
  char *taken = calloc(file->entries + 1, 1);
  if (!taken) return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for a list of tensors");
  for (int n = 0; n < l->count && !status; n++) {
    const struct attn_safetensor *found = take(f, file, l->entry[n].name, taken);
    status = found ? read_one(bytes, found, &l->entry[n].view, err)
                   : attn_fail(err, ATTN_ERR_FORMAT, NULL, "weights: there is no \"%.90s\"",
                               l->entry[n].name);
  }
  if (!status) status = check_left(f, file, taken, err);
  free(taken);
  return status;
}

attn_status attn_foreign_read(const char *path, const struct attn_family *f,
                              struct attn_network *network, attn_error *err) {
  struct attn_bytes bytes;
  struct attn_safetensors file = {NULL, NULL, 0};
  struct listing l = {NULL, 0, 0};
  attn_status status = attn_bytes_open(&bytes, path, err);
  if (status) return status;
  status = attn_safetensors_open(&bytes, &file, err);
  if (!status) status = list(f, network, &l, err);
  if (!status) status = read_all(f, &bytes, &file, &l, err);
  free(l.entry);
  attn_safetensors_close(&file), attn_bytes_close(&bytes);
  return status;
}

/* ---- Both files ---- */

attn_status attn_foreign_read_config(const char *path, struct attn_config *config,
                                     const struct attn_family **family, attn_error *err) {
  char *text;
  size_t size;
  attn_status status = attn_file_read(path, CONFIG_MAX, NULL, &text, &size, err);
  if (!status) status = attn_foreign_config(text, size, config, family, err);
  free(text);
  return status;
}

/* A number takes at least two bytes. */
static attn_status check_size(const char *path, const struct attn_config *config, attn_error *err) {
  struct attn_bytes bytes;
  attn_status status = attn_bytes_open(&bytes, path, err);
  if (status) return status;
  status = attn_weights_check_size("weights", bytes.size, 2, config, err);
  attn_bytes_close(&bytes);
  return status;
}

attn_status attn_foreign_load(const char *config_path, const char *weights_path,
                              const struct attn_family **family, struct attn_network **network,
                              float **weights, attn_error *err) {
  struct attn_config config;
  const struct attn_family *f;
  struct attn_network *made = NULL;
  float *block = NULL;
  attn_status status = attn_foreign_read_config(config_path, &config, &f, err);
  if (!status) status = check_size(weights_path, &config, err);
  if (!status) status = attn_network_make(&config, &made, &block, err);
  if (!status) status = attn_foreign_read(weights_path, f, made, err);
  if (status) return attn_network_free(made), free(block), status;
  *family = f, *network = made, *weights = block;
  return ATTN_OK;
}

/* ---- Writing ---- */

static attn_status put(const char *path, const char *const *names,
                       const attn_tensor *const *tensors, int count, attn_error *err) {
  json_t *metadata = json_pack("{s:s}", "format", "pt");
  attn_status status =
      metadata ? attn_safetensors_write(path, NULL, names, tensors, count, metadata, err)
               : attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for a file");
  json_decref(metadata);
  return status;
}

attn_status attn_foreign_write(const char *path, const struct attn_family *f,
                               const struct attn_network *network, attn_error *err) {
  struct listing l;
  attn_status status = list(f, network, &l, err);
  const char **names = malloc((size_t)(l.count + 1) * sizeof *names);
  const attn_tensor **tensors = malloc((size_t)(l.count + 1) * sizeof *tensors);
  int bare = network->config.head == ATTN_HEAD_NONE;
  for (int n = 0; names && tensors && n < l.count; n++) {
    names[n] = bare ? behind_prefix(f, l.entry[n].name) : l.entry[n].name;
    tensors[n] = &l.entry[n].view;
  }
  if (!status)
    status = names && tensors
                 ? put(path, names, tensors, l.count, err)
                 : attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for a list of tensors");
  free(names), free(tensors), free(l.entry);
  return status;
}
