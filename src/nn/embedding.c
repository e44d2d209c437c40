#include <math.h>

#include "layers.h"

struct embedding_args {
  const struct attn_embedding *e;
  float *y, *d_table, *d_positions;
  const float *table, *positions, *dy;
};

static int64_t model_width(const struct attn_embedding *e) {
  return e->position_mode == ATTN_POSITION_MODE_CONCATENATE ? e->width + e->position_width
                                                            : e->width;
}

static void look_up(void *argument, int64_t from, int64_t to) {
  const struct embedding_args *c = argument;
  const struct attn_embedding *e = c->e;
  int64_t all = model_width(e),
          behind = e->position_mode == ATTN_POSITION_MODE_CONCATENATE ? e->width : 0;
  for (int64_t n = from; n < to; n++) {
    float *y = c->y + n * all;
    const float *word = c->table + e->tokens[n] * e->width;
    for (int64_t d = 0; d < e->width; d++) y[d] = word[d] * e->scale;
    if (!e->position_width) continue;
    const float *place = c->positions + e->position_ids[n] * e->position_width;
    for (int64_t d = 0; d < e->position_width; d++)
      y[behind + d] = behind ? place[d] : y[d] + place[d];
  }
}

void attn_embedding_forward(const struct attn_host *host, const struct attn_embedding *e, float *y,
                            const float *table, const float *positions) {
  struct embedding_args c = {.e = e, .y = y, .table = table, .positions = positions};
  attn_parallel_rows(host, e->n, model_width(e), look_up, &c);
}

/* Rows of the tables come up again and again: one thread adds them, in the tokens' order. */
void attn_embedding_backward(const struct attn_host *host, const struct attn_embedding *e,
                             float *d_table, float *d_positions, const float *dy) {
  int64_t all = model_width(e),
          behind = e->position_mode == ATTN_POSITION_MODE_CONCATENATE ? e->width : 0;
  (void)host;
  for (int64_t n = 0; n < e->n; n++) {
    const float *g = dy + n * all;
    float *word = d_table + e->tokens[n] * e->width;
    for (int64_t d = 0; d_table && d < e->width; d++) word[d] += g[d] * e->scale;
    if (!d_positions) continue;
    float *place = d_positions + e->position_ids[n] * e->position_width;
    for (int64_t d = 0; d < e->position_width; d++) place[d] += g[behind + d];
  }
}

void attn_sinusoid_fill(float *table, int64_t first, int64_t rows, int64_t width, int halves) {
  for (int64_t p = 0; p < rows; p++)
    for (int64_t d = 0; d < width; d++) {
      int64_t at = halves ? d / 2 + d % 2 * ((width + 1) / 2) : d;
      double angle = (double)(first + p) * pow(10000, -(double)(d / 2 * 2) / (double)width);
      table[p * width + at] = (float)(d % 2 ? cos(angle) : sin(angle));
    }
}
