/* Convolutions are within their error bounds of the equation in double, computed directly or by
 * tiles (winograd.h); the same bits for any number of threads.
 *
 *     test_convolution [SEED] */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "convolution.h"
#include "random.h"
#include "select.h"
#include "winograd.h"

struct image_case {
  struct attn_convolution c;
  int64_t height, width; /* of y */
  float *x, *w, *b, *y, *dy, *dx, *dw, *db;
};

static float *draw(int64_t count) {
  float *x = malloc((size_t)count * sizeof *x);
  for (int64_t n = 0; n < count; n++) x[n] = uniform();
  return x;
}

static void draw_image(struct image_case *p, int64_t images, int64_t height, int64_t width,
                       int64_t in, int64_t out, int64_t stride) {
  p->height = attn_divide_up(height, stride), p->width = attn_divide_up(width, stride);
  const int64_t count_x = images * height * width * in,
                count_y = images * p->height * p->width * out;
  p->x = draw(count_x), p->dx = calloc((size_t)count_x, sizeof(float));
  p->w = draw(9 * in * out), p->dw = calloc((size_t)(9 * in * out), sizeof(float));
  p->b = draw(out), p->db = calloc((size_t)out, sizeof(float));
  p->y = draw(count_y), p->dy = draw(count_y);
  p->c = (struct attn_convolution){images, height, width, in, out, stride, p->x, p->w};
}

static void free_image(struct image_case *p) {
  float *const all[] = {p->x, p->w, p->b, p->y, p->dy, p->dx, p->dw, p->db};
  for (int n = 0; n < 8; n++) free(all[n]);
}

static void compute(struct image_case *p, int32_t threads) {
  const struct attn_host host = {.threads = threads};
  assert_int_equal(attn_convolution_forward(&host, &p->c, p->y, p->b, NULL), ATTN_OK);
  assert_int_equal(attn_convolution_backward(&host, &p->c, p->dx, p->dw, p->db, p->dy, NULL),
                   ATTN_OK);
}

/* The sums in double, and of the terms' magnitudes. */
struct exact {
  double *y, *dx, *dw, *y_size, *dx_size, *dw_size;
};

static void add_term(struct exact *e, const struct image_case *p, int64_t x, int64_t w, int64_t y) {
  const double px = (double)p->x[x], pw = (double)p->w[w], pdy = (double)p->dy[y];
  e->y[y] += px * pw, e->y_size[y] += fabs(px * pw);
  e->dx[x] += pdy * pw, e->dx_size[x] += fabs(pdy * pw);
  e->dw[w] += px * pdy, e->dw_size[w] += fabs(px * pdy);
}

static void add_all(struct exact *e, const struct image_case *p) {
  const struct attn_convolution *c = &p->c;
  for (int64_t n = 0; n < c->images * p->height * p->width; n++)
    for (int64_t tap = 0; tap < 9; tap++) {
      int64_t h = n / p->width % p->height * c->stride + tap / 3 - 1,
              w = n % p->width * c->stride + tap % 3 - 1, image = n / p->width / p->height;
      if (h < 0 || h >= c->height || w < 0 || w >= c->width) continue;
      for (int64_t i = 0; i < c->in; i++)
        for (int64_t o = 0; o < c->out; o++)
          add_term(e, p, ((image * c->height + h) * c->width + w) * c->in + i,
                   (tap * c->in + i) * c->out + o, n * c->out + o);
    }
}

/* ---- Magnitudes by tiles ---- */

/* The absolute values of B^T, G, A^T and of the last two transposed. */
static const double of_x[] = {1, 0, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 0, 1};
static const double of_w[] = {1, 0, 0, .5, .5, .5, .5, .5, .5, 0, 0, 1};
static const double of_y[] = {1, 1, 1, 0, 0, 1, 1, 1};
static const double of_dw[] = {1, .5, .5, 0, 0, .5, .5, 0, 0, .5, .5, 1};
static const double of_dy[] = {1, 0, 1, 1, 1, 1, 0, 1};

/* out (n, n) += L x L^T, L (n, m). */
static void transform(const double *l, int n, int m, const double *x, double *out) {
  for (int i = 0; i < n * n; i++)
    for (int j = 0; j < m * m; j++) out[i] += l[i / n * m + j / m] * x[j] * l[i % n * m + j % m];
}

/* size x size magnitudes of a channel of an image from (y, x) on; 0 outside. */
static void load(const struct image_case *p, const float *x, int64_t image, int64_t y0, int64_t x0,
                 int64_t channels, int64_t channel, int size, double *to) {
  for (int k = 0; k < size * size; k++) {
    int64_t y = y0 + k / size, c = x0 + k % size;
    int inside = y >= 0 && c >= 0 && y < p->c.height && c < p->c.width;
    int64_t at = ((image * p->c.height + y) * p->c.width + c) * channels + channel;
    to[k] = inside ? fabs((double)x[at]) : 0;
  }
}

/* The results of one tile and pair of channels, from the inputs x and the filters of tap order
 * `first`, `step`: sizes of 2 x 2 results. */
static void add_result(const struct image_case *p, int64_t image, int64_t y, int64_t x,
                       const double *v, const double *w, int64_t channels, int64_t channel,
                       double *size) {
  double u[16] = {0}, product[16], result[4] = {0};
  transform(of_w, 4, 3, w, u);
  for (int k = 0; k < 16; k++) product[k] = u[k] * v[k];
  transform(of_y, 2, 4, product, result);
  for (int k = 0; k < 4; k++)
    if (y + k / 2 < p->c.height && x + k % 2 < p->c.width)
      size[((image * p->c.height + y + k / 2) * p->c.width + x + k % 2) * channels + channel] +=
          result[k];
}

static void add_pair(struct exact *e, const struct image_case *p, int64_t tile, int64_t i,
                     int64_t o) {
  const int64_t columns = (p->c.width + 1) / 2, rows = (p->c.height + 1) / 2, in = p->c.in,
                out = p->c.out, y = tile / columns % rows * 2, x = tile % columns * 2,
                image = tile / columns / rows;
  double pixels[16], v[16] = {0}, back[16] = {0}, d[16] = {0}, w[9], turned[9], products[16],
                     gradient[9] = {0};
  for (int tap = 0; tap < 9; tap++)
    turned[8 - tap] = w[tap] = fabs((double)p->w[(tap * in + i) * out + o]);
  load(p, p->x, image, y - 1, x - 1, in, i, 4, pixels), transform(of_x, 4, 4, pixels, v);
  add_result(p, image, y, x, v, w, out, o, e->y_size);
  load(p, p->dy, image, y - 1, x - 1, out, o, 4, pixels), transform(of_x, 4, 4, pixels, back);
  add_result(p, image, y, x, back, turned, in, i, e->dx_size);
  load(p, p->dy, image, y, x, out, o, 2, pixels), transform(of_dy, 4, 2, pixels, d);
  for (int k = 0; k < 16; k++) products[k] = v[k] * d[k];
  transform(of_dw, 3, 4, products, gradient);
  for (int tap = 0; tap < 9; tap++) e->dw_size[(tap * in + i) * out + o] += gradient[tap];
}

/* ---- The bounds ---- */

/* A sum of n products errs by at most n u / (1 - n u) of the magnitudes [Higham02 sec. 3.1]; the
 * transforms of tiles add fewer than 12 roundings. */
static void assert_sums(const float *got, const double *exact, const double *size, int64_t count,
                        int64_t terms, const char *name) {
  for (int64_t n = 0; n < count; n++)
    if (!(fabs((double)got[n] - exact[n]) <= 1.01 * (double)(terms + 1) * 0x1p-24 * size[n]))
      fail_msg("%s[%d] is %g, exactly %g", name, (int)n, (double)got[n], exact[n]);
}

static void check_image(int64_t images, int64_t height, int64_t width, int64_t in, int64_t out,
                        int64_t stride) {
  struct image_case p;
  draw_image(&p, images, height, width, in, out, stride), compute(&p, 2);
  const int64_t count_x = images * height * width * in, count_w = 9 * in * out,
                positions = images * p.height * p.width, count_y = positions * out;
  const int64_t tiles = images * ((height + 1) / 2) * ((width + 1) / 2);
  const int by_tiles = attn_winograd_fits(&p.c);
  double *all = calloc((size_t)(2 * (count_x + count_w + count_y)), sizeof *all);
  struct exact e = {.y = all, .dx = all + count_y, .dw = all + count_y + count_x};
  e.y_size = e.dw + count_w, e.dx_size = e.y_size + count_y, e.dw_size = e.dx_size + count_x;
  add_all(&e, &p);
  if (by_tiles) memset(e.y_size, 0, (size_t)(count_x + count_w + count_y) * sizeof *all);
  for (int64_t n = 0; by_tiles && n < tiles * in * out; n++)
    add_pair(&e, &p, n / out / in, n / out % in, n % out);
  for (int64_t n = 0; n < count_y; n++)
    e.y[n] += (double)p.b[n % out], e.y_size[n] += fabs((double)p.b[n % out]);
  assert_sums(p.y, e.y, e.y_size, count_y, by_tiles ? in + 12 : 9 * in + 1, "y");
  assert_sums(p.dx, e.dx, e.dx_size, count_x, by_tiles ? out + 12 : 9 * out, "dx");
  assert_sums(p.dw, e.dw, e.dw_size, count_w, by_tiles ? tiles + 12 : positions, "dw");
  free(all), free_image(&p);
}

static void convolutions_are_within_the_error_bound(void **state) {
  (void)state;
  for (int round = 0; round < ROUNDS(60); round++)
    check_image(1 + below(3), 1 + below(9), 1 + below(9), 1 + below(20), 1 + below(40),
                1 + below(2));
  check_image(1, 3, 300, 2, 3, 1), check_image(1, 3, 600, 3, 2, 2);   /* wider than a sum's block */
  check_image(1, 20, 20, 2, 33, 1);                                   /* several blocks */
  check_image(2, 17, 12, 16, 16, 1), check_image(3, 5, 9, 70, 33, 1); /* several strips of tiles */
}

static void bits_do_not_depend_on_threads(void **state) {
  (void)state;
  for (int round = 0; round < 3; round++) { /* direct, with stride 2, by tiles */
    const int64_t in = round == 2 ? 37 : 7, stride = 1 + round % 2;
    struct image_case p;
    draw_image(&p, 5, 17, 13, in, 35, stride), compute(&p, 1);
    const size_t count_x = (size_t)(5 * 17 * 13 * in), count_w = (size_t)(9 * in * 35),
                 count_y = (size_t)(5 * p.height * p.width * 35);
    float *kept = malloc((count_x + count_w + count_y) * sizeof *kept);
    memcpy(kept, p.dx, count_x * 4), memcpy(kept + count_x, p.dw, count_w * 4);
    memcpy(kept + count_x + count_w, p.y, count_y * 4);
    for (int32_t threads = 2; threads <= 5; threads++) {
      memset(p.dx, 0, count_x * 4), memset(p.dw, 0, count_w * 4), compute(&p, threads);
      assert_memory_equal(p.dx, kept, count_x * 4),
          assert_memory_equal(p.dw, kept + count_x, count_w * 4);
      assert_memory_equal(p.y, kept + count_x + count_w, count_y * 4);
    }
    free(kept), free_image(&p);
  }
}

int main(int argc, char **argv) {
  random_begin(argc, argv);
  const struct CMUnitTest tests[] = {cmocka_unit_test(convolutions_are_within_the_error_bound),
                                     cmocka_unit_test(bits_do_not_depend_on_threads)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
