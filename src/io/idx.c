/* idx.c -- IDX: two zero bytes, the type, the rank, the sizes as big-endian 32-bit integers, the
 * elements. gzip [RFC 1952] by zlib. */
#include "idx.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "array.h"
#include "error.h"
#include "watch.h"

enum { UNSIGNED_BYTE = 8, PIECE = 1 << 13, DEFLATE_MOST = 1032 }; /* bytes of a compressed byte */

struct idx_reader {
  const struct attn_bytes *bytes;
  struct attn_watch *watch;
  size_t offset; /* of the next byte of the file */
  int is_compressed, is_at_end;
  z_stream stream;
  unsigned char piece[PIECE];
};

static attn_status invalid(const struct idx_reader *r, const char *what, attn_error *err) {
  return attn_fail_offset(err, ATTN_ERR_FORMAT, (int64_t)r->offset, "%.150s: idx: %s",
                          r->bytes->path, what);
}

static attn_status truncated(const struct idx_reader *r, attn_error *err) {
  return invalid(r, "the file is truncated", err);
}

/* ---- Bytes --------------------------------------------------------------------------------- */

static attn_status refill(struct idx_reader *r, attn_error *err) {
  size_t left = r->bytes->size - r->offset, count = left < PIECE ? left : PIECE;
  if (!count) return truncated(r, err);
  attn_status status = attn_bytes_get(r->bytes, r->offset, r->piece, count, err);
  if (!status)
    status = attn_watch_report(r->watch, (int64_t)r->offset, (int64_t)r->bytes->size, err);
  r->offset += count;
  r->stream.next_in = r->piece, r->stream.avail_in = (uInt)count;
  return status;
}

/* Decompresses until `to` is full or the stream ends. */
static attn_status inflate_to(struct idx_reader *r, unsigned char *to, size_t count,
                              attn_error *err) {
  r->stream.next_out = to, r->stream.avail_out = (uInt)count;
  while (r->stream.avail_out && !r->is_at_end) {
    attn_status status = r->stream.avail_in ? ATTN_OK : refill(r, err);
    if (status) return status;
    int result = inflate(&r->stream, Z_NO_FLUSH);
    if (result == Z_MEM_ERROR)
      return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory to read %.150s", r->bytes->path);
    if (result != Z_OK && result != Z_STREAM_END)
      return invalid(r, "the compressed data are damaged", err);
    r->is_at_end = result == Z_STREAM_END;
  }
  return ATTN_OK;
}

static attn_status read_bytes(struct idx_reader *r, unsigned char *to, size_t count,
                              attn_error *err) {
  if (r->is_compressed) {
    attn_status status = inflate_to(r, to, count, err);
    return !status && r->stream.avail_out ? truncated(r, err) : status;
  }
  if (count > r->bytes->size - r->offset) return truncated(r, err);
  attn_status status = attn_bytes_get(r->bytes, r->offset, to, count, err);
  r->offset += count;
  return status;
}

/* zlib compares length and CRC at the end of its stream. */
static attn_status expect_end(struct idx_reader *r, attn_error *err) {
  unsigned char more;
  attn_status status = r->is_compressed ? inflate_to(r, &more, 1, err) : ATTN_OK;
  if (status) return status;
  int is_end = r->offset == r->bytes->size;
  if (r->is_compressed) is_end = is_end && r->stream.avail_out && !r->stream.avail_in;
  return is_end ? ATTN_OK : invalid(r, "there are bytes after the last element", err);
}

static attn_status begin(struct idx_reader *r, attn_error *err) {
  enum { GZIP_ONLY = 16 };
  unsigned char mark[2];
  if (r->bytes->size < sizeof mark) return truncated(r, err);
  attn_status status = attn_bytes_get(r->bytes, 0, mark, sizeof mark, err);
  if (status) return status;
  r->is_compressed = mark[0] == 0x1f && mark[1] == 0x8b;
  if (r->is_compressed && inflateInit2(&r->stream, GZIP_ONLY + MAX_WBITS) != Z_OK)
    return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory to read %.150s", r->bytes->path);
  return ATTN_OK;
}

/* ---- The array ----------------------------------------------------------------------------- */

/* Sets the tensor's type and shape. */
static attn_status read_header(struct idx_reader *r, attn_tensor *t, attn_error *err) {
  unsigned char head[4], sizes[4 * ATTN_RANK_MAX];
  attn_status status = read_bytes(r, head, sizeof head, err);
  if (status) return status;
  if (head[0] || head[1]) return invalid(r, "expected an IDX file, or one compressed by gzip", err);
  if (head[2] != UNSIGNED_BYTE) return invalid(r, "expected elements of type unsigned byte", err);
  if (head[3] < 1 || head[3] > ATTN_RANK_MAX) return invalid(r, "the rank is not supported", err);
  t->dtype = ATTN_U8, t->rank = head[3];
  status = read_bytes(r, sizes, 4 * (size_t)t->rank, err);
  for (int n = 0; n < t->rank && !status; n++) {
    const unsigned char *s = sizes + 4 * n;
    t->shape[n] = (int64_t)s[0] << 24 | s[1] << 16 | s[2] << 8 | s[3];
  }
  return status;
}

/* No more than the file can contain, before memory is allocated. */
static attn_status check_count(const struct idx_reader *r, int64_t count, attn_error *err) {
  if (count < 1 || count > ATTN_IDX_BYTES_MAX)
    return invalid(r, "the array must have 1 to 2^28 elements", err);
  size_t least = r->is_compressed ? (size_t)count / DEFLATE_MOST : (size_t)count;
  return least > r->bytes->size ? truncated(r, err) : ATTN_OK;
}

static attn_status read_array(struct idx_reader *r, attn_array *array, attn_error *err) {
  attn_tensor *t = &array->tensor;
  attn_status status = begin(r, err);
  if (!status) status = read_header(r, t, err);
  if (status) return status;
  int64_t count = attn_shape_count(t->shape, t->rank, 1), stride = 1;
  if ((status = check_count(r, count, err))) return status;
  for (int n = t->rank - 1; n >= 0; n--) t->strides[n] = stride, stride *= t->shape[n];
  if (!(array->memory = t->data = malloc((size_t)count)))
    return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for %lld bytes of %.150s",
                     (long long)count, r->bytes->path);
  status = read_bytes(r, array->memory, (size_t)count, err);
  return status ? status : expect_end(r, err);
}

attn_status attn_idx_decode(const struct attn_bytes *bytes, struct attn_watch *watch,
                            attn_array *array, attn_error *err) {
  struct idx_reader r = {.bytes = bytes, .watch = watch};
  memset(array, 0, sizeof *array);
  attn_status status = read_array(&r, array, err);
  if (r.is_compressed) inflateEnd(&r.stream);
  if (status) attn_array_free(array);
  return status;
}

attn_status attn_idx_read(const char *path, struct attn_watch *watch, attn_array *array,
                          attn_error *err) {
  struct attn_bytes bytes;
  memset(array, 0, sizeof *array);
  attn_status status = attn_bytes_open(&bytes, path, err);
  if (!status) status = attn_idx_decode(&bytes, watch, array, err);
  attn_bytes_close(&bytes);
  return status;
}
