/* npy.c -- NumPy's format, versions 1 to 3. [NumPy NEP 1, numpy.lib.format] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "error.h"
#include "view.h"

/* ---- The header: a Python dict literal of three known keys ---------------------- */

struct npy_header {
  const char *at, *end, *begin; /* a cursor over the dict's text */
  size_t offset;                /* of begin in the file */
  char descr[16];
  int fortran, rank, seen; /* seen: bits of the keys so far */
  int64_t shape[ATTN_RANK_MAX];
  attn_error *err;
};

static attn_status broken(struct npy_header *h, const char *what) {
  return attn_fail_offset(h->err, ATTN_ERR_FORMAT,
                          (int64_t)(h->offset + (size_t)(h->at - h->begin)),
                          "npy header: %s; rewrite the file with numpy.save", what);
}

static void spaces(struct npy_header *h) {
  while (h->at < h->end && (*h->at == ' ' || *h->at == '\n')) h->at++;
}

static int accept(struct npy_header *h, const char *word) {
  size_t n = strlen(word);
  spaces(h);
  if ((size_t)(h->end - h->at) < n || memcmp(h->at, word, n)) return 0;
  h->at += n;
  return 1;
}

static int quoted(struct npy_header *h, char *to, size_t bytes) {
  spaces(h);
  if (h->at >= h->end || (*h->at != '\'' && *h->at != '"')) return 0;
  char quote = *h->at;
  const char *close = memchr(h->at + 1, quote, (size_t)(h->end - h->at - 1));
  if (!close || (size_t)(close - h->at) > bytes) return 0;
  size_t n = (size_t)(close - h->at - 1);
  if (memchr(h->at + 1, 0, n)) return 0;
  memcpy(to, h->at + 1, n);
  to[n] = 0;
  h->at = close + 1;
  return 1;
}

static int dimension(struct npy_header *h, int64_t *value) {
  spaces(h);
  if (h->at >= h->end || *h->at < '0' || *h->at > '9') return 0;
  for (*value = 0; h->at < h->end && *h->at >= '0' && *h->at <= '9'; h->at++)
    if (__builtin_mul_overflow(*value, 10, value) ||
        __builtin_add_overflow(*value, *h->at - '0', value))
      return 0;
  accept(h, "L"); /* Python 2's long integers */
  return 1;
}

static attn_status read_shape(struct npy_header *h) {
  if (!accept(h, "(")) return broken(h, "the shape is not a tuple");
  for (h->rank = 0; !accept(h, ")");) {
    if (h->rank == ATTN_RANK_MAX) return broken(h, "more than 8 dimensions");
    if (!dimension(h, &h->shape[h->rank++]))
      return broken(h, "a dimension is not an integer below 2^63");
    /* (3) is an integer, (3,) a tuple. */
    if (!accept(h, ",") && !(h->rank > 1 && h->at < h->end && *h->at == ')'))
      return broken(h, "the shape is not a tuple of numbers");
  }
  return ATTN_OK;
}

static attn_status read_entry(struct npy_header *h) {
  char key[16];
  if (!quoted(h, key, sizeof key) || !accept(h, ":")) return broken(h, "expected a key");
  int bit = !strcmp(key, "descr")           ? 1
            : !strcmp(key, "fortran_order") ? 2
            : !strcmp(key, "shape")         ? 4
                                            : 0;
  if (!bit) return broken(h, "a key other than descr, fortran_order and shape");
  if (h->seen & bit) return broken(h, "duplicate key");
  h->seen |= bit;
  if (bit == 4) return read_shape(h);
  if (bit == 1)
    return quoted(h, h->descr, sizeof h->descr) ? ATTN_OK : broken(h, "descr is not a plain type");
  h->fortran = accept(h, "True");
  return h->fortran || accept(h, "False") ? ATTN_OK
                                          : broken(h, "fortran_order must be True or False");
}

static attn_status read_dict(struct npy_header *h) {
  if (!accept(h, "{")) return broken(h, "expected a dict");
  while (!accept(h, "}")) {
    attn_status status = read_entry(h);
    if (status) return status;
    if (!accept(h, ",") && !(spaces(h), h->at < h->end && *h->at == '}'))
      return broken(h, "the dict is not closed");
  }
  spaces(h);
  if (h->at != h->end) return broken(h, "unexpected text after the dict");
  return h->seen == 7 ? ATTN_OK : broken(h, "a key is missing");
}

static const struct {
  const char *code;
  attn_dtype dtype;
} types[] = {{"f4", ATTN_F32}, {"f8", ATTN_F64}, {"f2", ATTN_F16}, {"b1", ATTN_BOOL},
             {"i4", ATTN_I32}, {"i8", ATTN_I64}, {"i1", ATTN_I8},  {"u1", ATTN_U8}};

enum { TYPES = sizeof types / sizeof *types };

static attn_status read_type(struct npy_header *h, attn_dtype *dtype, int *swap) {
  char order = h->descr[0];
  *swap = order == (attn_is_little_endian() ? '>' : '<');
  for (size_t n = 0; strchr("<>=|", order) && order && n < TYPES; n++)
    if (!strcmp(h->descr + 1, types[n].code)) return *dtype = types[n].dtype, ATTN_OK;
  return attn_fail_offset(h->err, ATTN_ERR_TYPE, (int64_t)h->offset,
                          "npy: element type \"%s\" is not supported; save as float32", h->descr);
}

/* ---- The file -------------------------------------------------------------------- */

enum { HEADER_MAX = 1 << 20 };

/* The offset and the length of the dict, both within the file. */
static attn_status frame(const struct attn_bytes *bytes, size_t *start, size_t *length,
                         attn_error *err) {
  unsigned char b[12] = {0};
  attn_status status = attn_bytes_get(bytes, 0, b, bytes->size < 12 ? bytes->size : 12, err);
  if (status) return status;
  if (bytes->size < 10 || memcmp(b, "\x93NUMPY", 6))
    return attn_fail_offset(err, ATTN_ERR_FORMAT, 0,
                            "not an npy file: it does not begin with \\x93NUMPY; numpy.save writes "
                            "one, and the name of a safetensors file ends in .safetensors");
  if (b[6] < 1 || b[6] > 3 || b[7] != 0)
    return attn_fail_offset(err, ATTN_ERR_FORMAT, 6,
                            "npy version %d.%d is not supported; 1.0, 2.0 and 3.0 are", b[6], b[7]);
  *start = b[6] == 1 ? 10 : 12;
  *length = b[8] | (size_t)b[9] << 8;
  if (b[6] > 1) *length |= (size_t)b[10] << 16 | (size_t)b[11] << 24;
  if (bytes->size < *start || *length > bytes->size - *start)
    return attn_fail_offset(err, ATTN_ERR_FORMAT, 8,
                            "npy header of %zu bytes in a file of %zu: the file is truncated",
                            *length, bytes->size);
  if (*length > HEADER_MAX)
    return attn_fail_offset(err, ATTN_ERR_FORMAT, 8, "npy header of %zu bytes; the limit is %d",
                            *length, HEADER_MAX);
  return ATTN_OK;
}

static attn_status read_stored(struct npy_header *h, size_t data,
                               struct attn_stored_tensor *stored) {
  attn_status status = read_dict(h);
  if (!status) status = read_type(h, &stored->dtype, &stored->swap);
  if (status) return status;
  size_t element = (size_t)attn_element_size(stored->dtype);
  int64_t count = attn_shape_count(h->shape, h->rank, element);
  if (count < 0) return broken(h, "the shape has more elements than can be addressed");
  stored->rank = h->rank;
  memcpy(stored->shape, h->shape, sizeof stored->shape);
  stored->fortran = h->fortran;
  stored->offset = h->offset + (size_t)(h->end - h->begin);
  stored->bytes = (size_t)count * element;
  if (stored->bytes == data) return ATTN_OK;
  return attn_fail_offset(
      h->err, ATTN_ERR_FORMAT, (int64_t)stored->offset,
      "npy: the shape needs %zu bytes of data, the file has %zu: %s", stored->bytes, data,
      data < stored->bytes ? "the file is truncated" : "extra bytes at the end");
}

attn_status attn_npy_header(const struct attn_bytes *bytes, struct attn_stored_tensor *stored,
                            char type[16], attn_error *err) {
  size_t start = 0, length = 0;
  memset(stored, 0, sizeof *stored);
  attn_status status = frame(bytes, &start, &length, err);
  if (status) return status;
  char *text = malloc(length + 1);
  if (!text) return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for the header");
  struct npy_header h = {
      .at = text, .begin = text, .end = text + length, .offset = start, .err = err};
  status = attn_bytes_get(bytes, start, text, length, err);
  if (!status) status = read_stored(&h, bytes->size - start - length, stored);
  memcpy(type, h.descr, sizeof h.descr);
  free(text);
  return status;
}

attn_status attn_npy_load(const struct attn_bytes *bytes, attn_array *array, attn_error *err) {
  struct attn_stored_tensor stored;
  char type[16];
  attn_status status = attn_npy_header(bytes, &stored, type, err);
  return status ? status : attn_stored_tensor_load(&stored, bytes, array, err);
}

attn_status attn_npy_parse(const void *bytes, size_t size, attn_array *array, attn_error *err) {
  const struct attn_bytes source = {size ? bytes : "", -1, size, ""};
  memset(array, 0, sizeof *array);
  return attn_npy_load(&source, array, err);
}

/* ---- Writing ------------------------------------------------------------------------ */

static const char *type_code(attn_dtype dtype) {
  for (size_t n = 0; n < TYPES; n++)
    if (types[n].dtype == dtype) return types[n].code;
  return NULL;
}

/* Header and padding: data begins at a multiple of 64. */
static size_t make_header(const attn_tensor *t, char *text, size_t bytes) {
  char shape[256] = "";
  size_t at = 0;
  for (int n = 0; n < t->rank; n++)
    at += (size_t)snprintf(shape + at, sizeof shape - at,
                           n + 1 < t->rank || t->rank == 1 ? "%lld, " : "%lld",
                           (long long)t->shape[n]);
  int one = attn_element_size(t->dtype) == 1;
  size_t n = 10 + (size_t)snprintf(text + 10, bytes - 10,
                                   "{'descr': '%s%s', 'fortran_order': False, 'shape': (%s), }",
                                   one                       ? "|"
                                   : attn_is_little_endian() ? "<"
                                                             : ">",
                                   type_code(t->dtype), shape);
  size_t padded = (n + 1 + 63) / 64 * 64;
  memset(text + n, ' ', padded - n);
  text[padded - 1] = '\n';
  memcpy(text, "\x93NUMPY\x01", 8);
  text[8] = (char)((padded - 10) & 255), text[9] = (char)((padded - 10) >> 8);
  return padded;
}

attn_status attn_npy_put(struct attn_file_writer *w, const attn_tensor *t, attn_error *err) {
  char text[640];
  if (!type_code(t->dtype))
    return attn_fail(err, ATTN_ERR_TYPE, "tensor", "npy has no bfloat16; write a safetensors file");
  attn_status status = attn_file_put(w, text, make_header(t, text, sizeof text), err);
  return status ? status : attn_tensor_put(t, w, err);
}
