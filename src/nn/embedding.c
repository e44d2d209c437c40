#include <math.h>

#include "layers.h"

struct embedding_args {
  const struct attn_embedding *e;
  float *y, *d_table, *d_positions;
  const float *table, *positions, *dy;
};

/* Where the position's vector begins in y. */
static int64_t position_offset(const struct attn_embedding *e) {
  return e->position_mode == ATTN_POSITION_MODE_CONCATENATE ? e->width : 0;
}

static int64_t model_width(const struct attn_embedding *e) {
  return e->width + (position_offset(e) ? e->position_dim : 0);
}

static void look_up(void *argument, int64_t from, int64_t to) {
  const struct embedding_args *c = argument;
  const struct attn_embedding *e = c->e;
  int64_t width = model_width(e), offset = position_offset(e);
  for (int64_t n = from; n < to; n++) {
    float *y = c->y + n * width;
    const float *token = c->table + e->tokens[n] * e->width;
    for (int64_t d = 0; d < e->width; d++) y[d] = token[d] * e->scale;
    if (!e->position_dim) continue;
    const float *position = c->positions + e->position_ids[n] * e->position_dim;
    for (int64_t d = 0; d < e->position_dim; d++)
      y[offset + d] = offset ? position[d] : y[d] + position[d];
  }
}

void attn_embedding_forward(const struct attn_host *host, const struct attn_embedding *e, float *y,
                            const float *table, const float *positions) {
  struct embedding_args c = {.e = e, .y = y, .table = table, .positions = positions};
  attn_parallel_rows(host, e->n, model_width(e), look_up, &c);
}

/* Tokens share rows of the tables, so one thread adds the rows, in the tokens' order. */
void attn_embedding_backward(const struct attn_host *host, const struct attn_embedding *e,
                             float *d_table, float *d_positions, const float *dy) {
  int64_t width = model_width(e), offset = position_offset(e);
  (void)host;
  for (int64_t n = 0; n < e->n; n++) {
    const float *g = dy + n * width;
    float *token = d_table + e->tokens[n] * e->width;
    for (int64_t d = 0; d_table && d < e->width; d++) token[d] += g[d] * e->scale;
    if (!d_positions) continue;
    float *position = d_positions + e->position_ids[n] * e->position_dim;
    for (int64_t d = 0; d < e->position_dim; d++) position[d] += g[offset + d];
  }
}

void attn_sinusoid_fill(float *table, int64_t first, int64_t rows, int64_t width, int sines_first) {
  for (int64_t p = 0; p < rows; p++)
    for (int64_t d = 0; d < width; d++) {
      int64_t at = sines_first ? d / 2 + d % 2 * ((width + 1) / 2) : d;
      double angle = (double)(first + p) * pow(10000, -(double)(d / 2 * 2) / (double)width);
      table[p * width + at] = (float)(d % 2 ? cos(angle) : sin(angle));
    }
}
