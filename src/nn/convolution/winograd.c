#include "winograd.h"

#include <string.h>

#include "clones.h"
#include "panel_product.h"
#include "threads.h"

/* Elements of a transformed tile or filter; taps of a filter; channels that are transformed at a
 * time, whole panels; tiles of a strip. */
enum { ELEMENTS = 16, TAPS = 9, CHUNK = ATTN_GEMM_MAX_COLUMNS, STRIP = 48 };

int attn_winograd_fits(const struct attn_convolution *c) {
  return c->stride == 1 && c->in >= 16 && c->out >= 16 && c->in + c->out >= 48;
}

/* ---- Transforms of one chunk of channels ---- */

/* v = B^T x B: x is 4 x 4 pixels. */
ATTN_INLINE void transform_input(const float *const *x, int64_t n, float v[ELEMENTS][CHUNK]) {
  for (int64_t c = 0; c < n; c++) {
    float t[4][4];
    for (int j = 0; j < 4; j++) {
      const float x0 = x[j][c], x1 = x[4 + j][c], x2 = x[8 + j][c], x3 = x[12 + j][c];
      t[0][j] = x0 - x2, t[1][j] = x1 + x2, t[2][j] = x2 - x1, t[3][j] = x1 - x3;
    }
    for (int i = 0; i < 4; i++) {
      v[4 * i][c] = t[i][0] - t[i][2], v[4 * i + 1][c] = t[i][1] + t[i][2];
      v[4 * i + 2][c] = t[i][2] - t[i][1], v[4 * i + 3][c] = t[i][1] - t[i][3];
    }
  }
}

/* y = A^T m A: 2 x 2 pixels; elements of m are `step` floats apart. */
ATTN_INLINE void transform_output(const float *m, int64_t step, int64_t n, float y[4][CHUNK]) {
  for (int64_t c = 0; c < n; c++) {
    float t[2][4];
    for (int j = 0; j < 4; j++) {
      const float m0 = m[j * step + c], m1 = m[(4 + j) * step + c], m2 = m[(8 + j) * step + c],
                  m3 = m[(12 + j) * step + c];
      t[0][j] = m0 + m1 + m2, t[1][j] = m1 - m2 - m3;
    }
    for (int i = 0; i < 2; i++) {
      y[2 * i][c] = t[i][0] + t[i][1] + t[i][2], y[2 * i + 1][c] = t[i][1] - t[i][2] - t[i][3];
    }
  }
}

/* d = A y A^T, the transposed transform: y is 2 x 2 pixels. */
ATTN_INLINE void transform_gradient(const float *const *y, int64_t n, float d[ELEMENTS][CHUNK]) {
  for (int64_t c = 0; c < n; c++) {
    float t[4][2];
    for (int j = 0; j < 2; j++) {
      const float y0 = y[j][c], y1 = y[2 + j][c];
      t[0][j] = y0, t[1][j] = y0 + y1, t[2][j] = y0 - y1, t[3][j] = -y1;
    }
    for (int i = 0; i < 4; i++) {
      d[4 * i][c] = t[i][0], d[4 * i + 1][c] = t[i][0] + t[i][1];
      d[4 * i + 2][c] = t[i][0] - t[i][1], d[4 * i + 3][c] = -t[i][1];
    }
  }
}

/* u = G w G^T: filters of n pairs of channels; u (16, n) from w (9, n). */
static void transform_filters(const float *restrict w, float *restrict u, int64_t n) {
  for (int64_t c = 0; c < n; c++) {
    float t[4][3];
    for (int j = 0; j < 3; j++) {
      const float w0 = w[j * n + c], w1 = w[(3 + j) * n + c], w2 = w[(6 + j) * n + c];
      t[0][j] = w0, t[1][j] = (w0 + w1 + w2) / 2, t[2][j] = (w0 - w1 + w2) / 2, t[3][j] = w2;
    }
    for (int i = 0; i < 4; i++) {
      u[4 * i * n + c] = t[i][0], u[(4 * i + 1) * n + c] = (t[i][0] + t[i][1] + t[i][2]) / 2;
      u[(4 * i + 2) * n + c] = (t[i][0] - t[i][1] + t[i][2]) / 2, u[(4 * i + 3) * n + c] = t[i][2];
    }
  }
}

/* dw += G^T du G. */
static void add_filter_gradients(const float *restrict du, float *restrict dw, int64_t n) {
  for (int64_t c = 0; c < n; c++) {
    float t[3][4];
    for (int j = 0; j < 4; j++) {
      const float u1 = du[(4 + j) * n + c] / 2, u2 = du[(8 + j) * n + c] / 2;
      t[0][j] = du[j * n + c] + u1 + u2, t[1][j] = u1 - u2,
      t[2][j] = u1 + u2 + du[(12 + j) * n + c];
    }
    for (int i = 0; i < 3; i++) {
      const float t1 = t[i][1] / 2, t2 = t[i][2] / 2;
      dw[3 * i * n + c] += t[i][0] + t1 + t2, dw[(3 * i + 1) * n + c] += t1 - t2;
      dw[(3 * i + 2) * n + c] += t1 + t2 + t[i][3];
    }
  }
}

/* ---- Tiles of all images, in strips ---- */

struct winograd_run {
  const struct attn_gemm_kernel *kernel;
  int64_t images, height, width, in, out, tiles;
  const float *x, *zeros;  /* zeros: a pixel outside the images */
  const float *panels, *b; /* of y */
  float *y;
  int add;
  const float *dy; /* of dw: out channels */
  float *du;
  int64_t part; /* channels of x of a task */
  int64_t each; /* floats of a worker */
  float *memory;
};

static struct winograd_run run_of(const struct attn_convolution *c, int64_t in, int64_t out) {
  struct winograd_run p = {.images = c->images, .height = c->height, .width = c->width};
  p.kernel = attn_panels_kernel(out), p.in = in, p.out = out;
  p.tiles = p.images * ((p.height + 1) / 2) * ((p.width + 1) / 2);
  return p;
}

/* Floats from one of the 16 elements of a strip's tiles to the next: not a multiple of a page, or
 * all 16 would compete for one set of the cache. */
static int64_t element_step(int64_t tiles, int64_t channels) { return tiles * channels + 16; }

/* The first output pixel of a tile. */
struct winograd_tile {
  int64_t image, y, x;
};

static struct winograd_tile tile_of(const struct winograd_run *p, int64_t index) {
  const int64_t columns = (p->width + 1) / 2, rows = (p->height + 1) / 2, row = index / columns;
  return (struct winograd_tile){row / rows, row % rows * 2, index % columns * 2};
}

/* The number of pixel (y, x) of all images; -1: outside. */
ATTN_INLINE int64_t pixel_of(const struct winograd_run *p, int64_t image, int64_t y, int64_t x) {
  const int inside = y >= 0 && x >= 0 && y < p->height && x < p->width;
  return inside ? (image * p->height + y) * p->width + x : -1;
}

/* size x size pixels of a tile from (from, from) on. */
ATTN_INLINE void find_pixels(const struct winograd_run *p, const float *image, int64_t channels,
                             int64_t tile, int64_t from, int size, const float **pixels) {
  const struct winograd_tile at = tile_of(p, tile);
  for (int i = 0; i < size; i++)
    for (int j = 0; j < size; j++) {
      int64_t pixel = pixel_of(p, at.image, at.y + from + i, at.x + from + j);
      *pixels++ = pixel < 0 ? p->zeros : image + pixel * channels;
    }
}

/* memcpy, without a call for a multiple of 16. */
ATTN_INLINE void copy_floats(float *restrict to, const float *restrict from, int64_t n) {
  int64_t c = 0;
  for (; c + 16 <= n; c += 16) memcpy(to + c, from + c, 16 * sizeof *to);
  for (; c < n; c++) to[c] = from[c];
}

/* v (16, strip, channels) of `channels` channels from `from` on, of count tiles. */
ATTN_INLINE void load_inputs(const struct winograd_run *p, int64_t first, int64_t count,
                             int64_t from, int64_t channels, float *v) {
  const float *pixels[ELEMENTS], *at[ELEMENTS];
  const int64_t step = element_step(STRIP, channels);
  for (int64_t t = 0; t < count; t++) {
    find_pixels(p, p->x, p->in, first + t, -1, 4, pixels);
    for (int64_t c = 0; c < channels; c += CHUNK) {
      float out[ELEMENTS][CHUNK];
      const int64_t n = attn_min(channels - c, CHUNK);
      for (int k = 0; k < ELEMENTS; k++) at[k] = pixels[k] + from + c;
      transform_input(at, n, out);
      for (int k = 0; k < ELEMENTS; k++) copy_floats(v + k * step + t * channels + c, out[k], n);
    }
  }
}

/* to = start + y, or += y. */
ATTN_INLINE void store_pixel(float *restrict to, const float *restrict start,
                             const float *restrict y, int add, int64_t n) {
  for (int64_t c = 0; c < n; c++) to[c] = (add ? to[c] : start[c]) + y[c];
}

ATTN_INLINE void store_outputs(const struct winograd_run *p, int64_t first, int64_t count,
                               const float *m) {
  for (int64_t t = 0; t < count; t++) {
    const struct winograd_tile tile = tile_of(p, first + t);
    for (int64_t c = 0; c < p->out; c += CHUNK) {
      float y[4][CHUNK];
      const int64_t n = attn_min(p->out - c, CHUNK);
      transform_output(m + t * p->out + c, element_step(STRIP, p->out), n, y);
      for (int k = 0; k < 4; k++) {
        int64_t at = pixel_of(p, tile.image, tile.y + k / 2, tile.x + k % 2);
        if (at >= 0)
          store_pixel(p->y + at * p->out + c, p->b ? p->b + c : p->zeros, y[k], p->add, n);
      }
    }
  }
}

/* Panels of the gradients of 16 products: (16, panels of count rows). */
ATTN_INLINE void load_gradients(const struct winograd_run *p, int64_t first, int64_t count,
                                float *panels) {
  const int64_t width = p->kernel->columns,
                all = element_step(count, attn_round_up(p->out, p->kernel->columns));
  const float *pixels[4], *at[4];
  for (int64_t t = 0; t < count; t++) {
    find_pixels(p, p->dy, p->out, first + t, 0, 2, pixels);
    for (int64_t c = 0; c < p->out; c += CHUNK) {
      float out[ELEMENTS][CHUNK];
      const int64_t n = attn_min(p->out - c, CHUNK);
      if (n < CHUNK) memset(out, 0, sizeof out);
      for (int k = 0; k < 4; k++) at[k] = pixels[k] + c;
      transform_gradient(at, n, out);
      for (int k = 0; k < ELEMENTS; k++)
        for (int64_t j = 0; j < CHUNK && c + j < p->out; j += width)
          copy_floats(panels + k * all + (c + j) * count + t * width, out[k] + j, width);
    }
  }
}

/* ---- y and dx ---- */

ATTN_CLONES
static void run_strip(void *argument, int64_t index, int32_t worker) {
  const struct winograd_run *p = argument;
  const int64_t first = index * STRIP, count = attn_min(p->tiles - first, STRIP),
                word = sizeof(float), u = p->in * attn_round_up(p->out, p->kernel->columns);
  const int64_t v_step = element_step(STRIP, p->in), m_step = element_step(STRIP, p->out);
  float *v = p->memory + worker * p->each, *m = v + ELEMENTS * v_step;
  load_inputs(p, first, count, 0, p->in, v);
  for (int64_t k = 0; k < ELEMENTS; k++) {
    const struct attn_gemm_rows a = {
        .a = (const char *)(v + k * v_step), .row = p->in * word, .step = word};
    attn_panels_multiply(p->kernel, a, count, p->in, p->panels + k * u, m + k * m_step, p->out,
                         p->out, 0);
  }
  store_outputs(p, first, count, m);
}

/* y = or, with add, += the convolution of x with w (9, in, out). */
static attn_status run_filters(const struct attn_host *host, struct winograd_run *p, const float *w,
                               attn_error *err) {
  const int64_t pairs = p->in * p->out, u = p->in * attn_round_up(p->out, p->kernel->columns),
                zeros = attn_max(p->in, p->out);
  struct attn_panels_memory m;
  p->each = ELEMENTS * (element_step(STRIP, p->in) + element_step(STRIP, p->out));
  attn_status status = attn_panels_allocate(&m, host, p->each, ELEMENTS * (pairs + u) + zeros, err);
  if (status) return status;
  float *panels = m.memory + p->each * m.workers, *filters = panels + ELEMENTS * u,
        *zero = filters + ELEMENTS * pairs;
  memset(zero, 0, (size_t)zeros * sizeof *zero);
  transform_filters(w, filters, pairs);
  for (int64_t k = 0; k < ELEMENTS; k++)
    attn_panels_pack(p->kernel, panels + k * u, filters + k * pairs, p->in, p->out);
  p->memory = m.memory, p->panels = panels, p->zeros = zero;
  attn_panels_parallel_for(&m, attn_divide_up(p->tiles, STRIP), run_strip, p);
  attn_panels_release(&m);
  return ATTN_OK;
}

attn_status attn_winograd_forward(const struct attn_host *host, const struct attn_convolution *c,
                                  float *y, const float *b, attn_error *err) {
  struct winograd_run p = run_of(c, c->in, c->out);
  p.x = c->x, p.y = y, p.b = b;
  return run_filters(host, &p, c->w, err);
}

/* The convolution of dy with the filters turned around, from O to C channels. */
attn_status attn_winograd_dx(const struct attn_host *host, const struct attn_convolution *c,
                             float *dx, const float *dy, attn_error *err) {
  struct winograd_run p = run_of(c, c->out, c->in);
  const int64_t pairs = c->in * c->out;
  struct attn_panels_memory m;
  attn_status status = attn_panels_allocate(&m, host, 0, TAPS * pairs, err);
  if (status) return status;
  float *to = m.memory;
  for (int64_t tap = TAPS - 1; tap >= 0; tap--)
    for (int64_t o = 0; o < c->out; o++)
      for (int64_t i = 0; i < c->in; i++) *to++ = c->w[tap * pairs + i * c->out + o];
  p.x = dy, p.y = dx, p.add = 1;
  status = run_filters(host, &p, m.memory, err);
  attn_panels_release(&m);
  return status;
}

/* ---- dw ---- */

/* A task has some channels of x, of all tiles: each element of du is one sum, in order. */
ATTN_CLONES
static void run_channels(void *argument, int64_t index, int32_t worker) {
  const struct winograd_run *p = argument;
  const int64_t from = index * p->part, channels = attn_min(p->in - from, p->part),
                word = sizeof(float);
  const int64_t v_step = element_step(STRIP, channels);
  float *v = p->memory + worker * p->each, *panels = v + ELEMENTS * v_step;
  for (int64_t first = 0; first < p->tiles; first += STRIP) {
    const int64_t count = attn_min(p->tiles - first, STRIP),
                  all = element_step(count, attn_round_up(p->out, p->kernel->columns));
    load_inputs(p, first, count, from, channels, v), load_gradients(p, first, count, panels);
    for (int64_t k = 0; k < ELEMENTS; k++) {
      const struct attn_gemm_rows a = {
          .a = (const char *)(v + k * v_step), .row = word, .step = channels * word};
      attn_panels_multiply(p->kernel, a, channels, count, panels + k * all,
                           p->du + (k * p->in + from) * p->out, p->out, p->out, 1);
    }
  }
}

attn_status attn_winograd_dw(const struct attn_host *host, const struct attn_convolution *c,
                             float *dw, const float *dy, attn_error *err) {
  struct winograd_run p = run_of(c, c->in, c->out);
  const int64_t du = ELEMENTS * c->in * c->out, zeros = attn_max(c->in, c->out);
  const int32_t workers = attn_threads_workers(host->executor, host->threads);
  struct attn_panels_memory m;
  p.part = attn_divide_up(c->in, workers);
  p.each = ELEMENTS * (element_step(STRIP, p.part) +
                       element_step(STRIP, attn_round_up(c->out, p.kernel->columns)));
  attn_status status = attn_panels_allocate(&m, host, p.each, du + zeros, err);
  if (status) return status;
  p.memory = m.memory, p.du = m.memory + p.each * m.workers, p.zeros = p.du + du;
  memset(p.du, 0, (size_t)(du + zeros) * sizeof *p.du);
  p.x = c->x, p.dy = dy;
  attn_panels_parallel_for(&m, attn_divide_up(c->in, p.part), run_channels, &p);
  add_filter_gradients(p.du, dw, c->in * c->out);
  attn_panels_release(&m);
  return ATTN_OK;
}
