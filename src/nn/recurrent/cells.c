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

/* Adds to columns from `at` on; NULL: nothing. */
ATTN_INLINE void add_to(float *to, int64_t at, const float *x, int64_t count) {
  for (int64_t k = 0; k < count && to; k++) to[at + k] += x[k];
}

/* Columns of x from `at` on, or 0 if x is NULL. */
ATTN_INLINE void load(float *restrict to, const float *restrict x, int64_t at, int64_t count) {
  if (x)
    memcpy(to, x + at, (size_t)count * sizeof *to);
  else
    memset(to, 0, (size_t)count * sizeof *to);
}

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

/* ---- Both ---- */

static int64_t gates_of(const struct attn_recurrent_cell *s) {
  return s->kind == ATTN_GATED_LSTM ? 4 : 3;
}

ATTN_CLONES
static void run_rows(void *argument, int64_t from, int64_t to) {
  const struct cell_args *p = argument;
  const struct attn_recurrent_cell *s = p->s;
  const int64_t d = s->width;
  for (int64_t n = from; n < to; n++) {
    const int64_t row = n * d, gates = row * gates_of(s);
    if (s->kind == ATTN_GATED_LSTM)
      lstm_row(s->x_gates + gates, s->h_gates + gates, s->state + row, p->h + row, p->c + row,
               p->gates + gates, d);
    else
      gru_row(s->x_gates + gates, s->h_gates + gates, s->state + row, p->h + row, p->gates + gates,
              d);
  }
}

/* Columns of row n from k on. */
ATTN_INLINE void chunk_back(const struct cell_args *p, int64_t n, int64_t k, int64_t count) {
  const struct attn_recurrent_cell *s = p->s;
  const int64_t d = s->width, row = n * d + k, gates = n * d * gates_of(s) + k;
  const int lstm = s->kind == ATTN_GATED_LSTM;
  float sums[GATES][CHUNK], d_state[CHUNK], dh[CHUNK], dc[CHUNK];
  if (lstm) {
    load(dh, p->dh, row, count), load(dc, p->dc, row, count);
    lstm_chunk_back(p->kept + gates, d, s->state + row, p->kept_c + row, dh, dc, sums, d_state,
                    count);
  } else {
    gru_chunk_back(p->kept + gates, d, s->h_gates + gates + 2 * d, s->state + row, p->dh + row,
                   sums, d_state, count);
  }
  for (int64_t g = 0; g < gates_of(s); g++) {
    add_to(p->d_x_gates, gates + g * d, sums[g], count);
    add_to(p->d_h_gates, gates + g * d, sums[g == 2 && !lstm ? 3 : g], count);
  }
  add_to(p->d_state, row, d_state, count);
}

ATTN_CLONES
static void run_rows_back(void *argument, int64_t from, int64_t to) {
  const struct cell_args *p = argument;
  const int64_t d = p->s->width;
  for (int64_t n = from; n < to; n++)
    for (int64_t k = 0; k < d; k += CHUNK) chunk_back(p, n, k, attn_min(d - k, CHUNK));
}

/* Elements that a row reads and writes. */
static int64_t cost_of(const struct attn_recurrent_cell *s) {
  return (s->kind == ATTN_GATED_LSTM ? 12 : 10) * s->width;
}

void attn_cell_forward(const struct attn_host *host, const struct attn_recurrent_cell *s, float *h,
                       float *c, float *gates) {
  struct cell_args p = {.s = s, .h = h, .c = c, .gates = gates};
  attn_parallel_rows(host, s->n, cost_of(s), run_rows, &p);
}

void attn_cell_backward(const struct attn_host *host, const struct attn_recurrent_cell *s,
                        const float *gates, const float *c, float *d_x_gates, float *d_h_gates,
                        float *d_state, const float *dh, const float *dc) {
  struct cell_args p = {.s = s, .kept = gates, .kept_c = c, .dh = dh, .dc = dc};
  p.d_x_gates = d_x_gates, p.d_h_gates = d_h_gates, p.d_state = d_state;
  attn_parallel_rows(host, s->n, cost_of(s), run_rows_back, &p);
}
