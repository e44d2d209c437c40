#include <string.h>

#include "clones.h"
#include "exponential.h"
#include "recurrent.h"

enum { CHUNK = 64, GATES = 4 }; /* columns that a backward computes before it adds them */

struct cell_args {
  const struct attn_recurrent_cell *s;
  float *h, *c, *gates;                   /* of the forward: out */
  const float *kept, *kept_c, *dh, *dc;   /* of the backward: gates, c, and in */
  float *d_x_gates, *d_h_gates, *d_state; /* and out */
};

ATTN_INLINE void add_to(float *to, const float *x, int64_t count) {
  for (int64_t k = 0; k < count && to; k++) to[k] += x[k];
}

/* Values of a chunk, or 0 if x is NULL. */
ATTN_INLINE void load(float *restrict to, const float *restrict x, int64_t count) {
  if (x)
    memcpy(to, x, (size_t)count * sizeof *to);
  else
    memset(to, 0, (size_t)count * sizeof *to);
}

static const float *at(const float *x, int64_t offset) { return x ? x + offset : NULL; }
static float *out_at(float *x, int64_t offset) { return x ? x + offset : NULL; }

/* ---- LSTM ---- */

/* x, r: the sums of x and of h for the four gates of a row, d apart. */
ATTN_INLINE void lstm_row(const float *restrict x, const float *restrict r,
                          const float *restrict c_in, float *restrict h, float *restrict c,
                          float *restrict gates, int64_t d) {
  for (int64_t k = 0; k < d; k++) {
    const float i = attn_sigmoid(x[k] + r[k]), f = attn_sigmoid(x[d + k] + r[d + k]),
                g = attn_tanh(x[2 * d + k] + r[2 * d + k]),
                o = attn_sigmoid(x[3 * d + k] + r[3 * d + k]), next = f * c_in[k] + i * g;
    c[k] = next, h[k] = o * attn_tanh(next);
    gates[k] = i, gates[d + k] = f, gates[2 * d + k] = g, gates[3 * d + k] = o;
  }
}

ATTN_CLONES
static void lstm(void *argument, int64_t from, int64_t to) {
  const struct cell_args *p = argument;
  const int64_t d = p->s->width;
  for (int64_t n = from; n < to; n++)
    lstm_row(p->s->x_gates + n * GATES * d, p->s->h_gates + n * GATES * d, p->s->state + n * d,
             p->h + n * d, p->c + n * d, p->gates + n * GATES * d, d);
}

/* The gradients of the gates' sums and of the state, of columns of one row. gates: of the first
 * column, d apart. */
ATTN_INLINE void lstm_chunk_back(const float *restrict gates, int64_t d, const float *restrict c_in,
                                 const float *restrict c, const float *restrict dh,
                                 const float *restrict dc, float sums[restrict GATES][CHUNK],
                                 float *restrict d_state, int64_t count) {
  for (int64_t k = 0; k < count; k++) {
    const float i = gates[k], f = gates[d + k], g = gates[2 * d + k], o = gates[3 * d + k],
                t = attn_tanh(c[k]), all = dc[k] + dh[k] * o * (1 - t * t);
    sums[0][k] = all * g * i * (1 - i), sums[1][k] = all * c_in[k] * f * (1 - f);
    sums[2][k] = all * i * (1 - g * g), sums[3][k] = dh[k] * t * o * (1 - o);
    d_state[k] = all * f;
  }
}

ATTN_CLONES
static void lstm_back(void *argument, int64_t from, int64_t to) {
  const struct cell_args *p = argument;
  const int64_t d = p->s->width;
  for (int64_t n = from; n < to; n++)
    for (int64_t k = 0; k < d; k += CHUNK) {
      float sums[GATES][CHUNK], d_state[CHUNK], dh[CHUNK], dc[CHUNK];
      const int64_t row = n * d + k, gates = n * GATES * d + k, count = attn_min(d - k, CHUNK);
      load(dh, at(p->dh, row), count), load(dc, at(p->dc, row), count);
      lstm_chunk_back(p->kept + gates, d, p->s->state + row, p->kept_c + row, dh, dc, sums, d_state,
                      count);
      for (int64_t g = 0; g < GATES; g++) {
        add_to(out_at(p->d_x_gates, gates + g * d), sums[g], count);
        add_to(out_at(p->d_h_gates, gates + g * d), sums[g], count);
      }
      add_to(out_at(p->d_state, row), d_state, count);
    }
}

void attn_lstm_forward(const struct attn_host *host, const struct attn_recurrent_cell *s, float *h,
                       float *c, float *gates) {
  struct cell_args p = {.s = s, .h = h, .c = c, .gates = gates};
  attn_parallel_rows(host, s->n, 12 * s->width, lstm, &p);
}

void attn_lstm_backward(const struct attn_host *host, const struct attn_recurrent_cell *s,
                        const float *gates, const float *c, float *d_x_gates, float *d_h_gates,
                        float *d_state, const float *dh, const float *dc) {
  struct cell_args p = {.s = s, .kept = gates, .kept_c = c, .dh = dh, .dc = dc};
  p.d_x_gates = d_x_gates, p.d_h_gates = d_h_gates, p.d_state = d_state;
  attn_parallel_rows(host, s->n, 12 * s->width, lstm_back, &p);
}

/* ---- GRU ---- */

ATTN_INLINE void gru_row(const float *restrict x, const float *restrict r_in,
                         const float *restrict h_in, float *restrict h, float *restrict gates,
                         int64_t d) {
  for (int64_t k = 0; k < d; k++) {
    const float r = attn_sigmoid(x[k] + r_in[k]), z = attn_sigmoid(x[d + k] + r_in[d + k]),
                n = attn_tanh(x[2 * d + k] + r * r_in[2 * d + k]);
    h[k] = (1 - z) * n + z * h_in[k];
    gates[k] = r, gates[d + k] = z, gates[2 * d + k] = n;
  }
}

ATTN_CLONES
static void gru(void *argument, int64_t from, int64_t to) {
  const struct cell_args *p = argument;
  const int64_t d = p->s->width;
  for (int64_t n = from; n < to; n++)
    gru_row(p->s->x_gates + n * 3 * d, p->s->h_gates + n * 3 * d, p->s->state + n * d, p->h + n * d,
            p->gates + n * 3 * d, d);
}

/* sums: of r, z, and of n for x, for h. h_n: h's sum for n. */
ATTN_INLINE void gru_chunk_back(const float *restrict gates, int64_t d, const float *restrict h_n,
                                const float *restrict h_in, const float *restrict dh,
                                float sums[restrict GATES][CHUNK], float *restrict d_state,
                                int64_t count) {
  for (int64_t k = 0; k < count; k++) {
    const float r = gates[k], z = gates[d + k], n = gates[2 * d + k],
                dn = dh[k] * (1 - z) * (1 - n * n);
    sums[0][k] = dn * h_n[k] * r * (1 - r), sums[1][k] = dh[k] * (h_in[k] - n) * z * (1 - z);
    sums[2][k] = dn, sums[3][k] = dn * r;
    d_state[k] = dh[k] * z;
  }
}

ATTN_CLONES
static void gru_back(void *argument, int64_t from, int64_t to) {
  const struct cell_args *p = argument;
  const int64_t d = p->s->width;
  for (int64_t n = from; n < to; n++)
    for (int64_t k = 0; k < d; k += CHUNK) {
      float sums[GATES][CHUNK], d_state[CHUNK];
      const int64_t row = n * d + k, gates = n * 3 * d + k, count = attn_min(d - k, CHUNK);
      gru_chunk_back(p->kept + gates, d, p->s->h_gates + gates + 2 * d, p->s->state + row,
                     p->dh + row, sums, d_state, count);
      for (int64_t g = 0; g < 3; g++) {
        add_to(out_at(p->d_x_gates, gates + g * d), sums[g], count);
        add_to(out_at(p->d_h_gates, gates + g * d), sums[g == 2 ? 3 : g], count);
      }
      add_to(out_at(p->d_state, row), d_state, count);
    }
}

void attn_gru_forward(const struct attn_host *host, const struct attn_recurrent_cell *s, float *h,
                      float *gates) {
  struct cell_args p = {.s = s, .h = h, .gates = gates};
  attn_parallel_rows(host, s->n, 10 * s->width, gru, &p);
}

void attn_gru_backward(const struct attn_host *host, const struct attn_recurrent_cell *s,
                       const float *gates, float *d_x_gates, float *d_h_gates, float *d_state,
                       const float *dh) {
  struct cell_args p = {.s = s, .kept = gates, .dh = dh};
  p.d_x_gates = d_x_gates, p.d_h_gates = d_h_gates, p.d_state = d_state;
  attn_parallel_rows(host, s->n, 10 * s->width, gru_back, &p);
}
