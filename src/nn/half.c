#include "half.h"

#include "element.h"

struct call {
  enum attn_factors type;
  void *factors;
  const float *numbers;
};

enum attn_factors attn_half_factors(void) {
  return attn_matmul_has_bf16() ? ATTN_HALVES : ATTN_FLOATS;
}

size_t attn_half_size(enum attn_factors type) {
  return type == ATTN_HALVES ? sizeof(uint16_t) : sizeof(float);
}

static void write_halves(uint16_t *restrict half, const float *restrict x, int64_t n) {
  for (int64_t k = 0; k < n; k++) half[k] = attn_to_bf16(x[k]);
}

static void write_floats(float *restrict rounded, const float *restrict x, int64_t n) {
  for (int64_t k = 0; k < n; k++) rounded[k] = attn_from_bf16(attn_to_bf16(x[k]));
}

static void write_some(void *argument, int64_t from, int64_t to) {
  const struct call *c = argument;
  if (c->type == ATTN_HALVES)
    write_halves((uint16_t *)c->factors + from, c->numbers + from, to - from);
  else
    write_floats((float *)c->factors + from, c->numbers + from, to - from);
}

void attn_half_write(const struct attn_host *host, enum attn_factors type, void *factors,
                     const float *numbers, int64_t count) {
  struct call c = {type, factors, numbers};
  attn_layer_rows(host, count, 1, write_some, &c);
}
