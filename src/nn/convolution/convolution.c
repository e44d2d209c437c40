/* convolution.c -- convolutions as matrix products whose operand A is the image itself.
 *
 * The 3 C values under a filter's row are contiguous in a padded image, and so are those of the
 * next position, `stride` C further on. So the micro-kernels of gemm.h read the patches in place:
 * nothing is unrolled (im2col), only one padded image is copied at a time. */
#include "convolution.h"

#include <string.h>

#include "layers.h"
#include "panel_product.h"
#include "winograd.h"

enum { TAPS = 3, POSITIONS = 256 }; /* of a sum over positions in dw */

/* ---- Padded images ---- */

struct image_shape {
  int64_t height, width, channels;
};

static int64_t padded_floats(struct image_shape s) {
  return (s.height + 2) * (s.width + 2) * s.channels;
}

/* to (height + 2, width + 2, channels): x with a border of zeros. */
static void pad_image(float *restrict to, const float *restrict x, struct image_shape s) {
  const int64_t row = s.width * s.channels, padded = row + 2 * s.channels;
  memset(to, 0, (size_t)padded * sizeof *to);
  for (int64_t h = 0; h < s.height; h++) {
    float *at = to + (h + 1) * padded;
    memset(at, 0, (size_t)s.channels * sizeof *to);
    memcpy(at + s.channels, x + h * row, (size_t)row * sizeof *to);
    memset(at + s.channels + row, 0, (size_t)s.channels * sizeof *to);
  }
  memset(to + (s.height + 1) * padded, 0, (size_t)padded * sizeof *to);
}

/* ---- Filters: y and dx ---- */

/* The positions of a result that one set of taps computes: (rows, columns) of them, `step` apart
 * from (y, x) on. The first reads the padded source from (from_y, from_x) on, the next ones
 * from_step further on. */
struct filter_phase {
  int64_t rows, columns, step, y, x;
  int64_t from_y, from_x, from_step, taps_y, taps_x;
  const float *panels;
};

struct filter_run {
  const struct attn_gemm_kernel *kernel;
  struct image_shape source, result;
  const float *from, *b;
  float *to, *padded; /* padded: one image for each worker */
  int add, phases;
  struct filter_phase phase[4];
};

static void run_phase(const struct filter_run *f, const struct filter_phase *p, const float *padded,
                      float *to) {
  const int64_t channels = f->source.channels, width = f->source.width + 2,
                run = p->taps_x * channels, depth = p->taps_y * run, word = sizeof *to;
  struct attn_gemm_rows a = {.row = p->from_step * channels * word,
                             .step = word,
                             .run = run,
                             .jump = (width * channels - run) * word};
  for (int64_t r = 0; r < p->rows; r++) {
    int64_t from = (p->from_y + r * p->from_step) * width + p->from_x;
    float *c = to + ((p->y + r * p->step) * f->result.width + p->x) * f->result.channels;
    a.a = (const char *)(padded + from * channels);
    for (int64_t n = 0; n < p->columns && f->b; n++)
      memcpy(c + n * f->result.channels, f->b, (size_t)f->result.channels * sizeof *c);
    attn_panels_multiply(f->kernel, a, p->columns, depth, p->panels, c,
                         p->step * f->result.channels, f->result.channels, f->add);
  }
}

static void run_image(void *argument, int64_t index, int32_t worker) {
  const struct filter_run *f = argument;
  float *padded = f->padded + worker * padded_floats(f->source);
  float *to = f->to + index * f->result.height * f->result.width * f->result.channels;
  pad_image(padded, f->from + index * f->source.height * f->source.width * f->source.channels,
            f->source);
  for (int k = 0; k < f->phases; k++) run_phase(f, &f->phase[k], padded, to);
}

/* ---- The calls ---- */

static struct image_shape shape_of_x(const struct attn_convolution *c) {
  return (struct image_shape){c->height, c->width, c->in};
}

static struct image_shape shape_of_y(const struct attn_convolution *c) {
  return (struct image_shape){attn_divide_up(c->height, c->stride),
                              attn_divide_up(c->width, c->stride), c->out};
}

attn_status attn_convolution_forward(const struct attn_host *host, const struct attn_convolution *c,
                                     float *y, const float *b, attn_error *err) {
  if (attn_winograd_fits(c)) return attn_winograd_forward(host, c, y, b, err);
  const struct attn_gemm_kernel *g = attn_panels_kernel(c->out);
  struct filter_run f = {g, shape_of_x(c), shape_of_y(c), c->x, b, y, NULL, b != NULL, 1, {{0}}};
  const int64_t depth = TAPS * TAPS * c->in, each = padded_floats(f.source);
  struct attn_panels_memory m;
  attn_status status =
      attn_panels_allocate(&m, host, each, depth * attn_round_up(c->out, g->columns), err);
  if (status) return status;
  float *panels = m.memory + each * m.workers;
  attn_panels_pack(g, panels, c->w, depth, c->out);
  f.padded = m.memory;
  f.phase[0] = (struct filter_phase){f.result.height, f.result.width, 1,    0,     0, 0, 0,
                                     c->stride,       TAPS,           TAPS, panels};
  attn_panels_parallel_for(&m, c->images, run_image, &f);
  attn_panels_release(&m);
  return ATTN_OK;
}

/* ---- dx: dy under the filters that reach a position ---- */

/* In one dimension the positions of one parity, with stride 2, or all. Position p reads dy[q] with
 * tap p + 1 - s q: taps 2, 1, 0 of q = p - 1, p, p + 1; with stride 2 tap 1 of q = p / 2 where p is
 * even, else taps 2 and 0 of q = (p - 1) / 2 and the next. */
struct filter_parity {
  int64_t count, taps, from, first_tap, tap_step;
};

static struct filter_parity parity_of(int64_t size, int64_t stride, int64_t parity) {
  if (stride == 1) return (struct filter_parity){size, 3, 0, 2, -1};
  if (parity) return (struct filter_parity){size / 2, 2, 1, 2, -2};
  return (struct filter_parity){(size + 1) / 2, 1, 1, 1, 0};
}

/* Packs w^T of the taps of a phase, (taps_y, taps_x, O) rows of C columns; returns the end. */
static float *pack_transposed(const struct attn_gemm_kernel *g, const struct attn_convolution *c,
                              struct filter_parity y, struct filter_parity x, float *work,
                              float *panels) {
  float *to = work;
  for (int64_t i = 0; i < y.taps; i++)
    for (int64_t j = 0; j < x.taps; j++) {
      const int64_t tap = (y.first_tap + i * y.tap_step) * TAPS + x.first_tap + j * x.tap_step;
      const float *w = c->w + tap * c->in * c->out;
      for (int64_t o = 0; o < c->out; o++)
        for (int64_t k = 0; k < c->in; k++) *to++ = w[k * c->out + o];
    }
  const int64_t depth = y.taps * x.taps * c->out;
  attn_panels_pack(g, panels, work, depth, c->in);
  return panels + depth * attn_round_up(c->in, g->columns);
}

static attn_status compute_dx(const struct attn_host *host, const struct attn_convolution *c,
                              float *dx, const float *dy, attn_error *err) {
  const struct attn_gemm_kernel *g = attn_panels_kernel(c->in);
  struct filter_run f = {g, shape_of_y(c), shape_of_x(c), dy, NULL, dx, NULL, 1, 0, {{0}}};
  const int64_t depth = TAPS * TAPS * c->out, each = padded_floats(f.source);
  struct attn_panels_memory m;
  attn_status status =
      attn_panels_allocate(&m, host, each, depth * (attn_round_up(c->in, g->columns) + c->in), err);
  if (status) return status;
  float *work = m.memory + each * m.workers, *panels = work + depth * c->in;
  for (int64_t py = 0; py < c->stride; py++)
    for (int64_t px = 0; px < c->stride; px++) {
      const struct filter_parity y = parity_of(c->height, c->stride, py),
                                 x = parity_of(c->width, c->stride, px);
      f.phase[f.phases++] = (struct filter_phase){
          y.count, x.count, c->stride, py, px, y.from, x.from, 1, y.taps, x.taps, panels};
      panels = pack_transposed(g, c, y, x, work, panels);
    }
  f.padded = m.memory;
  attn_panels_parallel_for(&m, c->images, run_image, &f);
  attn_panels_release(&m);
  return ATTN_OK;
}

/* ---- dw: x times dy, summed over positions and images ---- */

struct weight_run {
  const struct attn_gemm_kernel *kernel;
  const struct attn_convolution *c;
  struct image_shape x, y;
  const float *dy;
  float *dw, *memory; /* memory: a padded image and panels of dy for each worker */
  int64_t part, each; /* rows of dw of a task, of 9 C; floats of a worker */
};

/* Rows from .. to of dw += some rows of positions of one image. */
static void add_positions(const struct weight_run *p, int64_t from, int64_t to, const float *x,
                          int64_t depth, const float *panels) {
  const int64_t channels = p->x.channels, width = p->x.width + 2, run = p->y.width,
                stride = p->c->stride, word = sizeof *x;
  const int64_t each_tap = TAPS * channels, out = p->y.channels;
  struct attn_gemm_rows a = {.row = word,
                             .step = stride * channels * word,
                             .run = run,
                             .jump = stride * (width - run) * channels * word};
  for (int64_t end; from < to; from = end) {
    const int64_t tap = from / each_tap;
    end = attn_min((tap + 1) * each_tap, to);
    a.a = (const char *)(x + tap * width * channels + from % each_tap);
    attn_panels_multiply(p->kernel, a, end - from, depth, panels, p->dw + from * out, out, out, 1);
  }
}

/* A task has the same rows of dw in all images: each element is one sum, in order. */
static void run_weights(void *argument, int64_t index, int32_t worker) {
  const struct weight_run *p = argument;
  const int64_t first = index * p->part,
                end = attn_min(first + p->part, TAPS * TAPS * p->x.channels);
  const int64_t rows = p->y.width < POSITIONS ? POSITIONS / p->y.width : 1;
  float *x = p->memory + worker * p->each, *panels = x + padded_floats(p->x);
  for (int64_t n = 0; n < p->c->images; n++) {
    const float *dy = p->dy + n * p->y.height * p->y.width * p->y.channels;
    pad_image(x, p->c->x + n * p->x.height * p->x.width * p->x.channels, p->x);
    for (int64_t h = 0; h < p->y.height; h += rows) {
      const int64_t depth = attn_min(rows, p->y.height - h) * p->y.width;
      attn_panels_pack(p->kernel, panels, dy + h * p->y.width * p->y.channels, depth,
                       p->y.channels);
      add_positions(p, first, end, x + h * p->c->stride * (p->x.width + 2) * p->x.channels, depth,
                    panels);
    }
  }
}

static attn_status compute_dw(const struct attn_host *host, const struct attn_convolution *c,
                              float *dw, const float *dy, attn_error *err) {
  const struct attn_gemm_kernel *g = attn_panels_kernel(c->out);
  struct weight_run p = {.kernel = g, .c = c, .x = shape_of_x(c), .y = shape_of_y(c)};
  const int64_t positions = attn_max(p.y.width, POSITIONS);
  const int64_t all = TAPS * TAPS * c->in;
  struct attn_panels_memory m;
  p.each = padded_floats(p.x) + positions * attn_round_up(c->out, g->columns), p.dw = dw, p.dy = dy;
  attn_status status = attn_panels_allocate(&m, host, p.each, 0, err);
  if (status) return status;
  p.memory = m.memory, p.part = attn_divide_up(all, m.workers);
  attn_panels_parallel_for(&m, attn_divide_up(all, p.part), run_weights, &p);
  attn_panels_release(&m);
  return ATTN_OK;
}

attn_status attn_convolution_backward(const struct attn_host *host,
                                      const struct attn_convolution *c, float *dx, float *dw,
                                      float *db, const float *dy, attn_error *err) {
  const struct image_shape y = shape_of_y(c);
  const struct attn_linear bias = {.n = c->images * y.height * y.width, .out = y.channels};
  attn_status status =
      attn_linear_backward(host, &bias, (struct attn_gradient){NULL, 0}, NULL, db, dy, dy, err);
  if (!status && dx)
    status = (attn_winograd_fits(c) ? attn_winograd_dx : compute_dx)(host, c, dx, dy, err);
  if (!status && dw)
    status = (attn_winograd_fits(c) ? attn_winograd_dw : compute_dw)(host, c, dw, dy, err);
  return status;
}
