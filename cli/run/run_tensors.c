/* run_tensors.c -- the tensors of attn run: read, convert, split into heads, write. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "command.h"
#include "run.h"

static int print_hint(const char *hint) {
  return attn_cli_print_message(stderr, "hint: %s", hint), fputc('\n', stderr), EXIT_TROUBLE;
}

static const char *hint_of(attn_status status) {
  switch (status) {
    case ATTN_ERR_SHAPE:
      return "attn info FILE prints the shapes";
    case ATTN_ERR_CPU:
      return "attn info lists the instruction sets of this CPU; unset ATTN_ISA to use the best";
    case ATTN_ERR_EMPTY_ROW:
      return "--empty-row zero gives such a row the output 0";
    case ATTN_ERR_MEMORY:
      return "without --weights the memory does not grow with L x S";
    default:
      return NULL;
  }
}

int attn_run_report_error(const char *file, const attn_error *err) {
  if (err->status == ATTN_ERR_INTERRUPTED) {
    attn_cli_print_error("interrupted; nothing was written");
    return EXIT_INTERRUPTED;
  }
  int status = attn_cli_report_error(file, err);
  if (hint_of(err->status)) print_hint(hint_of(err->status));
  return status;
}

static int report_no_memory(void) {
  const attn_error err = {ATTN_ERR_MEMORY, "", "no memory for an output", 0, 0, -1};
  return attn_run_report_error(NULL, &err);
}

/* ---- Inputs ------------------------------------------------------------------------- */

static int read_one(const char *path, attn_array *array) {
  attn_error err;
  attn_status status = attn_array_read(path, array, &err);
  return status ? attn_run_report_error(path, &err) : 0;
}

static int is_float(attn_dtype t) {
  return t == ATTN_F16 || t == ATTN_BF16 || t == ATTN_F32 || t == ATTN_F64;
}

/* numpy: a NumPy expression that has an accepted type, for the hint. */
static int refuse_type(const char *path, const attn_array *array, const char *wanted,
                       const char *numpy) {
  attn_error err = {ATTN_ERR_TYPE, "", "", 0, 0, -1};
  snprintf(err.message, sizeof err.message, "is %s; it must be %s",
           attn_dtype_name(array->tensor.dtype), wanted);
  attn_cli_report_error(path, &err);
  attn_cli_print_message(stderr, "hint: numpy.save(file, %s)", numpy), fputc('\n', stderr);
  return EXIT_TROUBLE;
}

static int convert(const char *path, attn_array *array, attn_dtype dtype) {
  attn_error err;
  return attn_array_convert(array, dtype, &err) ? attn_run_report_error(path, &err) : 0;
}

/* q, k and v are converted to float64 if one of them is, else to float32. */
static int read_main(struct attn_run_job *j) {
  const char *const paths[] = {j->options.q, j->options.k, j->options.v};
  struct attn_run_input *const tensors[] = {&j->q, &j->k, &j->v};
  attn_dtype dtype = ATTN_F32;
  int status = 0;
  for (int n = 0; n < 3; n++) {
    attn_array *array = &tensors[n]->array;
    status = read_one(paths[n], array);
    if (status) return status;
    if (!is_float(array->tensor.dtype))
      return refuse_type(paths[n], array, "float16, bfloat16, float32 or float64",
                         "x.astype('float32')");
    tensors[n]->stored = array->tensor.dtype;
    if (tensors[n]->stored == ATTN_F64) dtype = ATTN_F64;
  }
  for (int n = 0; n < 3 && !status; n++) status = convert(paths[n], &tensors[n]->array, dtype);
  return status;
}

/* Views (B, L, heads * width) or (L, heads * width) as (B, heads, L, width). */
static int split_heads(const attn_tensor *t, int64_t heads, const char *path, attn_tensor *view) {
  int64_t width = t->rank ? t->shape[t->rank - 1] : 0;
  if ((t->rank != 2 && t->rank != 3) || heads < 1 || width % heads) {
    attn_error err = {ATTN_ERR_SHAPE, "", "", 0, 0, -1};
    snprintf(
        err.message, sizeof err.message,
        "has rank %d and width %lld; for %lld heads it must be (batch, length, heads x width) or "
        "(length, heads x width)",
        (int)t->rank, (long long)width, (long long)heads);
    return attn_run_report_error(path, &err);
  }
  int batched = t->rank == 3;
  int64_t length = t->shape[t->rank - 2], each = width / heads;
  *view = (attn_tensor){t->data,
                        t->dtype,
                        4,
                        {batched ? t->shape[0] : 1, heads, length, each},
                        {batched ? t->strides[0] : 0, each, t->strides[t->rank - 2], 1}};
  return 0;
}

static int set_views(struct attn_run_job *j) {
  int64_t kv = j->options.has_num_kv_heads ? j->options.num_kv_heads : j->options.num_heads;
  j->q.view = j->q.array.tensor;
  j->k.view = j->k.array.tensor;
  j->v.view = j->v.array.tensor;
  if (!j->options.has_num_heads) return 0;
  int status = split_heads(&j->q.array.tensor, j->options.num_heads, j->options.q, &j->q.view);
  if (!status) status = split_heads(&j->k.array.tensor, kv, j->options.k, &j->k.view);
  if (!status) status = split_heads(&j->v.array.tensor, kv, j->options.v, &j->v.view);
  return status;
}

/* An integer mask is ambiguous: 0 and 1 could be added or mean false and true. */
static int read_mask(struct attn_run_job *j) {
  if (!j->options.mask) return 0;
  int status = read_one(j->options.mask, &j->mask);
  if (status) return status;
  attn_dtype type = j->mask.tensor.dtype;
  if (type != ATTN_BOOL && !is_float(type))
    return refuse_type(j->options.mask, &j->mask, "bool (true attends) or a float type (added)",
                       "x.astype(bool)");
  if (type == ATTN_F16 || type == ATTN_BF16) status = convert(j->options.mask, &j->mask, ATTN_F32);
  j->desc.mask = &j->mask.tensor;
  return status;
}

/* Parses "3,5,2". */
static int parse_lengths(const char *text, attn_array *array) {
  int64_t count = 1, *values;
  for (const char *c = text; *c; c++) count += *c == ',';
  char *copy = strdup(text), *rest = copy;
  values = malloc((size_t)count * sizeof *values);
  array->tensor = (attn_tensor){values, ATTN_I64, 1, {count}, {1}};
  array->memory = values;
  int bad = !copy || !values;
  for (int64_t n = 0; n < count && !bad; n++)
    bad = attn_cli_parse_int(strsep(&rest, ","), &values[n]);
  free(copy);
  return bad ? attn_cli_print_usage_error("--key-lengths must be integers N,N,... or a file") : 0;
}

static int read_lengths(struct attn_run_job *j) {
  const char *text = j->options.key_lengths;
  if (!text) return 0;
  j->desc.key_lengths = &j->key_lengths.tensor;
  if (!text[strspn(text, "0123456789,-")]) return parse_lengths(text, &j->key_lengths);
  int status = read_one(text, &j->key_lengths);
  attn_dtype type = j->key_lengths.tensor.dtype;
  if (!status && type != ATTN_I32 && type != ATTN_I64)
    return refuse_type(text, &j->key_lengths, "int32 or int64", "x.astype('int64')");
  return status;
}

/* Reads one value per head: slopes or sinks. */
static int read_per_head(const char *path, attn_array *array, const attn_tensor **to) {
  if (!path) return 0;
  int status = read_one(path, array);
  if (status) return status;
  if (!is_float(array->tensor.dtype))
    return refuse_type(path, array, "a float type", "x.astype('float32')");
  *to = &array->tensor;
  return array->tensor.dtype == ATTN_F64 ? 0 : convert(path, array, ATTN_F32);
}

int attn_run_read(struct attn_run_job *j) {
  int status = read_main(j);
  if (!status) status = set_views(j);
  if (!status) status = read_mask(j);
  if (!status) status = read_per_head(j->options.alibi, &j->alibi, &j->desc.alibi);
  if (!status) status = read_per_head(j->options.sinks, &j->sinks, &j->desc.sinks);
  return status ? status : read_lengths(j);
}

/* ---- Outputs ------------------------------------------------------------------------- */

/* Allocates a dense tensor of like's type and shape, with the last dimension replaced by width, or
 * removed if width is negative. */
static int allocate(const attn_tensor *like, int64_t width, attn_array *array) {
  attn_tensor t = *like;
  int64_t count = 1;
  int empty = 0;
  if (width < 0)
    t.rank--;
  else
    t.shape[t.rank - 1] = width;
  for (int n = t.rank - 1; n >= 0; n--) {
    t.strides[n] = count;
    empty |= !t.shape[n];
    if (t.shape[n] && __builtin_mul_overflow(count, t.shape[n], &count)) return report_no_memory();
  }
  if (count > INT64_MAX / 16) return report_no_memory();
  t.data = calloc(empty ? 1 : (size_t)count, attn_dtype_size(t.dtype));
  array->tensor = t;
  array->memory = t.data;
  return t.data ? 0 : report_no_memory();
}

int attn_run_allocate_outputs(struct attn_run_job *j) {
  const attn_tensor *q = &j->q.view, *k = &j->k.view, *v = &j->v.view;
  int64_t width = v->shape[v->rank - 1];
  if (j->options.has_num_heads && __builtin_mul_overflow(width, j->options.num_heads, &width))
    return report_no_memory();
  int status = allocate(&j->q.array.tensor, width, &j->o.array);
  if (status) return status;
  j->o.view = j->o.array.tensor;
  if (j->options.has_num_heads)
    status = split_heads(&j->o.array.tensor, j->options.num_heads, "output", &j->o.view);
  if (!status && j->options.weights) status = allocate(q, k->shape[k->rank - 2], &j->weights.array);
  if (!status && j->options.lse) status = allocate(q, -1, &j->lse.array);
  if (status) return status;
  if (j->options.weights) j->desc.weights = &j->weights.array.tensor;
  if (j->options.lse) j->desc.lse = &j->lse.array.tensor;
  return 0;
}

static int stat_file(const char *path, struct stat *info) {
  const char *name;
  char *file = strndup(path, attn_array_path_split(path, &name));
  int bad = !file || stat(file, info);
  free(file);
  return bad;
}

static int overwrites(const char *output, const char *input) {
  struct stat a, b;
  if (!input || stat_file(output, &a) || stat_file(input, &b)) return 0;
  if (a.st_dev != b.st_dev || a.st_ino != b.st_ino) return 0;
  /* One safetensors file may have both under different names. */
  const char *one, *other;
  attn_array_path_split(output, &one);
  attn_array_path_split(input, &other);
  return !one || !other || !strcmp(one, other);
}

int attn_run_check_outputs(const struct attn_run_job *j) {
  const char *const inputs[] = {j->options.q,    j->options.k,           j->options.v,
                                j->options.mask, j->options.key_lengths, j->options.alibi,
                                j->options.sinks};
  const char *const outputs[] = {j->options.o, j->options.weights, j->options.lse};
  const char *given[3];
  attn_error err;
  int count = 0;
  for (int n = 0; n < 3; n++) {
    if (!outputs[n]) continue;
    given[count++] = outputs[n];
    for (size_t m = 0; m < sizeof inputs / sizeof *inputs; m++)
      if (overwrites(outputs[n], inputs[m])) {
        attn_cli_print_error("%s: is an input and would be overwritten", outputs[n]);
        return print_hint("choose another file");
      }
  }
  if (!attn_array_outputs_check(given, count, &err)) return 0;
  attn_run_report_error(NULL, &err);
  return print_hint("choose a file in a folder that you can write to");
}

int attn_run_write(const struct attn_run_job *j) {
  const attn_array_output all[] = {{j->options.o, &j->o.array.tensor},
                                   {j->options.weights, &j->weights.array.tensor},
                                   {j->options.lse, &j->lse.array.tensor}};
  attn_array_output chosen[3];
  attn_error err;
  int count = 0;
  for (int n = 0; n < 3; n++)
    if (all[n].path) chosen[count++] = all[n];
  attn_cli_defer_interrupts(1);
  attn_status status = attn_array_write_all(chosen, count, &err);
  attn_cli_defer_interrupts(0);
  return status ? attn_run_report_error(NULL, &err) : 0;
}

void attn_run_job_free(struct attn_run_job *j) {
  attn_array *const all[] = {&j->q.array, &j->k.array,       &j->v.array,   &j->o.array,
                             &j->mask,    &j->weights.array, &j->lse.array, &j->key_lengths,
                             &j->alibi,   &j->sinks};
  for (size_t n = 0; n < sizeof all / sizeof *all; n++) attn_array_free(all[n]);
}
