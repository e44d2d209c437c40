/* run_tensors.c -- the tensors of attn run: read, widened, taken apart into heads, written. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "run.h"

int attn_run_usage_error(const char *message) {
  return attn_cli_print_usage_error("run", "%s", message);
}

static int hint(const char *what) { return fprintf(stderr, "hint: %s\n", what), EXIT_TROUBLE; }

static const char *hint_of(attn_status status) {
  switch (status) {
    case ATTN_ERR_SHAPE:
      return "attn info FILE tells a file's shapes";
    case ATTN_ERR_CPU:
      return "attn info lists what this CPU has; unset ATTN_ISA for the best of it";
    case ATTN_ERR_EMPTY_ROW:
      return "--empty-row zero gives such a row the output 0";
    case ATTN_ERR_MEMORY:
      return "without --weights the memory does not grow with L x S";
    default:
      return NULL;
  }
}

int attn_run_report_error(const char *place, const attn_error *err) {
  if (err->status == ATTN_ERR_INTERRUPTED) {
    attn_cli_print_error("run", "interrupted; nothing was written");
    return EXIT_INTERRUPTED;
  }
  int status = attn_cli_report_error("run", place, err);
  if (hint_of(err->status)) hint(hint_of(err->status));
  return status;
}

static int no_memory(void) {
  const attn_error err = {ATTN_ERR_MEMORY, "", "no memory for an output", 0, 0, -1};
  return attn_run_report_error(NULL, &err);
}

/* ---- Inputs ------------------------------------------------------------------------- */

static int read_one(const char *path, attn_array *array) {
  attn_error err;
  attn_status status = attn_array_read(path, array, &err);
  return status ? attn_run_report_error(path, &err) : 0;
}

static int is_real(attn_dtype t) {
  return t == ATTN_F16 || t == ATTN_BF16 || t == ATTN_F32 || t == ATTN_F64;
}

/* mend: the NumPy that makes it right; the hint for any other type would mislead. */
static int refuse_type(const char *path, const attn_array *array, const char *wanted,
                       const char *mend) {
  attn_error err = {ATTN_ERR_TYPE, "", "", 0, 0, -1};
  snprintf(err.message, sizeof err.message, "is %s; it must be %s",
           attn_dtype_name(array->tensor.dtype), wanted);
  attn_cli_report_error("run", path, &err);
  fprintf(stderr, "hint: numpy.save(file, %s)\n", mend);
  return EXIT_TROUBLE;
}

static int widen(const char *path, attn_array *array, attn_dtype dtype) {
  attn_error err;
  return attn_array_convert(array, dtype, &err) ? attn_run_report_error(path, &err) : 0;
}

/* One double among the three makes all three doubles: nothing is narrowed. */
static int read_main(struct attn_run *r) {
  const char *const paths[] = {r->a.q, r->a.k, r->a.v};
  struct attn_run_input *const tensors[] = {&r->q, &r->k, &r->v};
  attn_array *const arrays[] = {&r->q.array, &r->k.array, &r->v.array};
  attn_dtype dtype = ATTN_F32;
  int status = 0;
  for (int n = 0; n < 3 && !status; n++) {
    status = read_one(paths[n], arrays[n]);
    if (status) return status;
    if (!is_real(arrays[n]->tensor.dtype))
      return refuse_type(paths[n], arrays[n], "float16, bfloat16, float32 or float64",
                         "x.astype('float32')");
    tensors[n]->stored = arrays[n]->tensor.dtype;
    if (tensors[n]->stored == ATTN_F64) dtype = ATTN_F64;
  }
  for (int n = 0; n < 3 && !status; n++) status = widen(paths[n], arrays[n], dtype);
  return status;
}

/* (B, L, heads * width) or (L, heads * width) as (B, heads, L, width). */
static int take_apart(const attn_tensor *t, int64_t heads, const char *path, attn_tensor *view) {
  int64_t width = t->rank ? t->shape[t->rank - 1] : 0;
  if ((t->rank != 2 && t->rank != 3) || heads < 1 || width % heads) {
    attn_error err = {ATTN_ERR_SHAPE, "", "", 0, 0, -1};
    snprintf(err.message, sizeof err.message,
             "has rank %d and width %lld; to be taken apart into %lld heads it must be (batch, "
             "length, heads x width) or (length, heads x width)",
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

static int set_views(struct attn_run *r) {
  int64_t kv = r->a.has_kv_heads ? r->a.kv_heads : r->a.heads;
  r->q.view = r->q.array.tensor;
  r->k.view = r->k.array.tensor;
  r->v.view = r->v.array.tensor;
  if (!r->a.has_heads) return 0;
  int status = take_apart(&r->q.array.tensor, r->a.heads, r->a.q, &r->q.view);
  if (!status) status = take_apart(&r->k.array.tensor, kv, r->a.k, &r->k.view);
  if (!status) status = take_apart(&r->v.array.tensor, kv, r->a.v, &r->v.view);
  return status;
}

/* A mask of whole numbers could mean either kind: 0 and 1 to be added, or false and true. */
static int read_mask(struct attn_run *r) {
  if (!r->a.mask) return 0;
  int status = read_one(r->a.mask, &r->mask);
  if (status) return status;
  attn_dtype type = r->mask.tensor.dtype;
  if (type != ATTN_BOOL && !is_real(type))
    return refuse_type(r->a.mask, &r->mask, "bool (true attends) or a float type (added)",
                       "x.astype(bool)");
  if (type == ATTN_F16 || type == ATTN_BF16) status = widen(r->a.mask, &r->mask, ATTN_F32);
  r->desc.mask = &r->mask.tensor;
  return status;
}

/* "3,5,2" */
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
  return bad ? attn_run_usage_error("--lengths needs whole numbers: 3,5,2, or a file") : 0;
}

static int read_lengths(struct attn_run *r) {
  const char *text = r->a.lengths;
  if (!text) return 0;
  r->desc.key_lengths = &r->lengths.tensor;
  if (!text[strspn(text, "0123456789,-")]) return parse_lengths(text, &r->lengths);
  int status = read_one(text, &r->lengths);
  attn_dtype type = r->lengths.tensor.dtype;
  if (!status && type != ATTN_I32 && type != ATTN_I64)
    return refuse_type(text, &r->lengths, "int32 or int64", "x.astype('int64')");
  return status;
}

/* Numbers of the heads: slopes or sinks. */
static int read_heads(const char *path, attn_array *array, const attn_tensor **live) {
  if (!path) return 0;
  int status = read_one(path, array);
  if (status) return status;
  if (!is_real(array->tensor.dtype))
    return refuse_type(path, array, "a float type", "x.astype('float32')");
  *live = &array->tensor;
  return array->tensor.dtype == ATTN_F64 ? 0 : widen(path, array, ATTN_F32);
}

int attn_run_read(struct attn_run *r) {
  int status = read_main(r);
  if (!status) status = set_views(r);
  if (!status) status = read_mask(r);
  if (!status) status = read_heads(r->a.alibi, &r->alibi, &r->desc.alibi);
  if (!status) status = read_heads(r->a.sinks, &r->sinks, &r->desc.sinks);
  return status ? status : read_lengths(r);
}

/* ---- Outputs ------------------------------------------------------------------------- */

/* A dense array of q's type and the first rank - 1 dimensions of like, then width; without a width,
 * of one dimension fewer. */
static int make(const attn_tensor *like, int64_t width, attn_array *array) {
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
    if (t.shape[n] && __builtin_mul_overflow(count, t.shape[n], &count)) return no_memory();
  }
  if (count > INT64_MAX / 16) return no_memory();
  t.data = calloc(empty ? 1 : (size_t)count, attn_dtype_size(t.dtype));
  array->tensor = t;
  array->memory = t.data;
  return t.data ? 0 : no_memory();
}

int attn_run_allocate_outputs(struct attn_run *r) {
  const attn_tensor *q = &r->q.view, *k = &r->k.view, *v = &r->v.view;
  int64_t width = v->shape[v->rank - 1];
  if (r->a.has_heads && __builtin_mul_overflow(width, r->a.heads, &width)) return no_memory();
  int status = make(&r->q.array.tensor, width, &r->o.array);
  if (status) return status;
  r->o.view = r->o.array.tensor;
  if (r->a.has_heads) status = take_apart(&r->o.array.tensor, r->a.heads, "output", &r->o.view);
  if (!status && r->a.weights) status = make(q, k->shape[k->rank - 2], &r->weights.array);
  if (!status && r->a.lse) status = make(q, -1, &r->lse.array);
  if (status) return status;
  if (r->a.weights) r->desc.weights = &r->weights.array.tensor;
  if (r->a.lse) r->desc.lse = &r->lse.array.tensor;
  return 0;
}

static int look_up(const char *path, struct stat *info) {
  const char *name;
  char *file = strndup(path, attn_array_path_split(path, &name));
  int bad = !file || stat(file, info);
  free(file);
  return bad;
}

static int overwrites(const char *output, const char *input) {
  struct stat a, b;
  if (!input || look_up(output, &a) || look_up(input, &b)) return 0;
  if (a.st_dev != b.st_dev || a.st_ino != b.st_ino) return 0;
  /* One safetensors file may hold both, by different names. */
  const char *one, *other;
  attn_array_path_split(output, &one);
  attn_array_path_split(input, &other);
  return !one || !other || !strcmp(one, other);
}

int attn_run_check_outputs(const struct attn_run *r) {
  const char *const inputs[] = {r->a.q,       r->a.k,     r->a.v,    r->a.mask,
                                r->a.lengths, r->a.alibi, r->a.sinks};
  const char *const outputs[] = {r->a.o, r->a.weights, r->a.lse};
  const char *given[3];
  attn_error err;
  int count = 0;
  for (int n = 0; n < 3; n++) {
    if (!outputs[n]) continue;
    given[count++] = outputs[n];
    for (size_t m = 0; m < sizeof inputs / sizeof *inputs; m++)
      if (overwrites(outputs[n], inputs[m])) {
        attn_cli_print_error("run", "%s: is an input, too, and would be lost", outputs[n]);
        return hint("name another");
      }
  }
  if (!attn_array_outputs_check(given, count, &err)) return 0;
  attn_run_report_error(NULL, &err);
  return hint("name a file in a folder of yours");
}

int attn_run_write(const struct attn_run *r) {
  const attn_array_output all[] = {{r->a.o, &r->o.array.tensor},
                                   {r->a.weights, &r->weights.array.tensor},
                                   {r->a.lse, &r->lse.array.tensor}};
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

void attn_run_free(struct attn_run *r) {
  attn_array *const all[] = {&r->q.array,       &r->k.array,   &r->v.array, &r->o.array, &r->mask,
                             &r->weights.array, &r->lse.array, &r->lengths, &r->alibi,   &r->sinks};
  for (size_t n = 0; n < sizeof all / sizeof *all; n++) attn_array_free(all[n]);
}
