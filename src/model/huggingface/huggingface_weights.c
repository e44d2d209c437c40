/* huggingface_weights.c -- weights by the family's tensor names. */
#include "huggingface.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "families.h"
#include "file.h"
#include "safetensors.h"
#include "weights.h"

enum { NAME_SIZE = 112 };

/* A tensor of the file, as a view of our weights. */
struct hf_tensor {
  char name[NAME_SIZE];
  attn_tensor view;
};

struct hf_tensor_list {
  struct hf_tensor *tensor;
  int count;
  int64_t num_values;
};

/* ---- The tensors of a family ---- */

/* The template with the layer's index for '#', and the suffix. */
static void format_name(char to[NAME_SIZE], const char *template, int64_t layer,
                        const char *suffix) {
  const char *mark = strchr(template, '#');
  if (mark)
    snprintf(to, NAME_SIZE, "%.*s%lld%s%s", (int)(mark - template), template, (long long)layer,
             mark + 1, suffix);
  else
    snprintf(to, NAME_SIZE, "%s%s", template, suffix);
}

static const struct attn_parameter *find_parameter(const struct attn_network *n, const char *name) {
  for (int p = 0; p < n->count; p++)
    if (!strcmp(n->parameters[p].name, name)) return &n->parameters[p];
  return NULL;
}

static void select_rows(const struct attn_model_config *c, enum attn_hf_form which,
                        int64_t num_rows, int64_t *from, int64_t *rows) {
  int64_t q = c->num_heads * c->head_dim, k = c->num_kv_heads * c->head_dim;
  *from = which == ATTN_HF_KEY_ROWS ? q : which == ATTN_HF_VALUE_ROWS ? q + k : 0;
  *rows = which == ATTN_HF_QUERY_ROWS ? q : which == ATTN_HF_KEY_ROWS ? k : num_rows - *from;
}

/* A vector's elements count as rows of width 1; a transposed matrix is viewed by columns. */
static attn_tensor view_of(const struct attn_model_config *c, const struct attn_parameter *p,
                           enum attn_hf_form form) {
  int64_t width = p->rank == 1 ? 1 : p->value.width, from, rows;
  select_rows(c, form, p->rank == 1 ? p->value.width : p->value.n, &from, &rows);
  attn_tensor t = {p->value.x + from * width, ATTN_F32, p->rank, {rows, width}, {width, 1}};
  if (p->rank == 2 && form == ATTN_HF_TRANSPOSED)
    t.shape[0] = width, t.shape[1] = rows, t.strides[0] = 1, t.strides[1] = width;
  if (form == ATTN_HF_ROW_VECTOR)
    t.rank = 2, t.shape[0] = 1, t.shape[1] = rows, t.strides[0] = rows, t.strides[1] = 1;
  return t;
}

static void add_tensor(const struct attn_network *n, const struct attn_hf_tensor_name *name,
                       int64_t layer, const char *suffix, struct hf_tensor_list *l) {
  char ours[NAME_SIZE];
  format_name(ours, name->ours, layer, suffix);
  const struct attn_parameter *p = find_parameter(n, ours);
  if (!p) return;
  struct hf_tensor *t = &l->tensor[l->count++];
  format_name(t->name, name->theirs, layer, suffix);
  t->view = view_of(&n->config, p, name->form);
  l->num_values += t->view.shape[0] * t->view.shape[1];
}

/* Every parameter value must be part of a tensor. */
static attn_status list_tensors(const struct attn_hf_family *f, const struct attn_network *n,
                                struct hf_tensor_list *l, attn_error *err) {
  const struct attn_model_config *c = &n->config;
  int64_t layers = c->encoder_layers > c->decoder_layers ? c->encoder_layers : c->decoder_layers;
  *l = (struct hf_tensor_list){calloc((size_t)n->count * 3, sizeof *l->tensor), 0, 0};
  if (!l->tensor) return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for a list of tensors");
  for (const struct attn_hf_tensor_name *name = f->tensors; name->theirs; name++) {
    int64_t times = strchr(name->theirs, '#') ? layers : 1;
    int whole = name->theirs[strlen(name->theirs) - 1] != '.';
    for (int64_t layer = 0; layer < times; layer++) {
      add_tensor(n, name, layer, whole ? "" : "weight", l);
      if (!whole) add_tensor(n, name, layer, "bias", l);
    }
  }
  if (l->num_values == n->parameter_count) return ATTN_OK;
  return attn_fail(err, ATTN_ERR_ARGUMENT, "network", "%s has no tensor names for some parameters",
                   f->name);
}

/* ---- Reading ---- */

static const char *without_prefix(const struct attn_hf_family *f, const char *name) {
  size_t length = strlen(f->prefix);
  return strncmp(name, f->prefix, length) ? name : name + length;
}

static int ends_with(const char *name, const char *end) {
  size_t all = strlen(name), length = strlen(end);
  return all >= length && !strcmp(name + all - length, end);
}

/* The prefix is optional. Norms of models converted from TensorFlow have gamma and beta. */
static int is_name(const struct attn_hf_family *f, const char *theirs, const char *name) {
  char old[NAME_SIZE];
  theirs = without_prefix(f, theirs), name = without_prefix(f, name);
  if (!strcmp(theirs, name)) return 1;
  int weight = ends_with(name, "LayerNorm.weight");
  if (!weight && !ends_with(name, "LayerNorm.bias")) return 0;
  snprintf(old, sizeof old, "%.*s%s", (int)(strrchr(name, '.') - name), name,
           weight ? ".gamma" : ".beta");
  return !strcmp(theirs, old);
}

static void copy(const attn_tensor *to, const float *from) {
  float *x = to->data;
  for (int64_t i = 0; i < to->shape[0]; i++)
    for (int64_t j = 0; j < to->shape[1]; j++) x[i * to->strides[0] + j * to->strides[1]] = *from++;
}

static attn_status read_one(const struct attn_bytes *bytes, const struct attn_safetensor *found,
                            const attn_tensor *to, attn_error *err) {
  attn_array array = {.memory = NULL};
  if (!found->at.dtype || found->at.rank != to->rank ||
      memcmp(found->at.shape, to->shape, (size_t)to->rank * sizeof *to->shape))
    return attn_fail(
        err, ATTN_ERR_FORMAT, NULL,
        "weights: tensor \"%.90s\" does not have the type and shape that config.json describes",
        found->name);
  attn_status status = attn_stored_tensor_load(&found->at, bytes, &array, err);
  if (!status) status = attn_array_convert(&array, ATTN_F32, err);
  if (!status) copy(to, array.tensor.data);
  attn_array_free(&array);
  return status;
}

/* Marks the tensor as used. */
static struct attn_safetensor *take(const struct attn_hf_family *f, struct attn_safetensors *file,
                                    const char *name, char *taken) {
  for (size_t n = 0; n < file->entries; n++)
    if (!taken[n] && is_name(f, file->entry[n].name, name)) {
      taken[n] = 1;
      return &file->entry[n];
    }
  return NULL;
}

static attn_status check_left(const struct attn_hf_family *f, const struct attn_safetensors *file,
                              const char *taken, attn_error *err) {
  for (size_t n = 0; n < file->entries; n++) {
    int allowed = taken[n];
    for (int k = 0; f->unused[k]; k++) allowed |= ends_with(file->entry[n].name, f->unused[k]);
    if (!allowed)
      return attn_fail(err, ATTN_ERR_FORMAT, NULL,
                       "weights: tensor \"%.90s\" is not part of what config.json describes",
                       file->entry[n].name);
  }
  return ATTN_OK;
}

static attn_status read_all(const struct attn_hf_family *f, const struct attn_bytes *bytes,
                            struct attn_safetensors *file, const struct hf_tensor_list *l,
                            attn_error *err) {
  attn_status status = ATTN_OK;
  char *taken = calloc(file->entries + 1, 1);
  if (!taken) return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for a list of tensors");
  for (int n = 0; n < l->count && !status; n++) {
    const struct attn_safetensor *found = take(f, file, l->tensor[n].name, taken);
    status = found ? read_one(bytes, found, &l->tensor[n].view, err)
                   : attn_fail(err, ATTN_ERR_FORMAT, NULL, "weights: tensor \"%.90s\" is missing",
                               l->tensor[n].name);
  }
  if (!status) status = check_left(f, file, taken, err);
  free(taken);
  return status;
}

attn_status attn_hf_weights_read(const char *path, const struct attn_hf_family *f,
                                 struct attn_network *network, attn_error *err) {
  struct attn_bytes bytes;
  struct attn_safetensors file = {NULL, NULL, 0};
  struct hf_tensor_list l = {NULL, 0, 0};
  attn_status status = attn_bytes_open(&bytes, path, err);
  if (!status) status = attn_safetensors_open(&bytes, &file, err);
  if (!status) status = list_tensors(f, network, &l, err);
  if (!status) status = read_all(f, &bytes, &file, &l, err);
  free(l.tensor);
  attn_safetensors_close(&file), attn_bytes_close(&bytes);
  return status;
}

/* ---- Files ---- */

/* The smallest float type has two bytes. */
static attn_status check_size(const char *path, const struct attn_model_config *config,
                              attn_error *err) {
  struct attn_bytes bytes;
  attn_status status = attn_bytes_open(&bytes, path, err);
  if (!status) status = attn_weights_check_size("weights", bytes.size, 2, config, err);
  attn_bytes_close(&bytes);
  return status;
}

attn_status attn_hf_model_load(const char *path, const struct attn_hf_family *family,
                               const struct attn_model_config *config,
                               struct attn_network **network, float **weights, attn_error *err) {
  attn_status status = check_size(path, config, err);
  if (!status) status = attn_network_allocate(config, network, weights, err);
  return status ? status : attn_hf_weights_read(path, family, *network, err);
}

/* ---- Writing ---- */

static attn_status put(const char *path, const struct attn_named_tensor *tensors, int count,
                       attn_error *err) {
  json_t *metadata = json_pack("{s:s}", "format", "pt");
  attn_status status = metadata ? attn_safetensors_write(path, NULL, tensors, count, metadata, err)
                                : attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for a file");
  json_decref(metadata);
  return status;
}

attn_status attn_hf_weights_write(const char *path, const struct attn_hf_family *f,
                                  const struct attn_network *network, attn_error *err) {
  struct hf_tensor_list l;
  attn_status status = list_tensors(f, network, &l, err);
  struct attn_named_tensor *tensors = malloc((size_t)(l.count + 1) * sizeof *tensors);
  int is_headless = network->config.head == ATTN_HEAD_NONE;
  for (int n = 0; tensors && n < l.count; n++)
    tensors[n] = (struct attn_named_tensor){
        is_headless ? without_prefix(f, l.tensor[n].name) : l.tensor[n].name, &l.tensor[n].view};
  if (!status)
    status = tensors ? put(path, tensors, l.count, err)
                     : attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for a list of tensors");
  free(tensors), free(l.tensor);
  return status;
}
