#include "bf16.h"

#include "clones.h"
#include "element.h"

struct bf16_args {
  uint16_t *to;
  const float *x;
};

ATTN_CLONES
static void convert(uint16_t *restrict to, const float *restrict x, int64_t n) {
  for (int64_t k = 0; k < n; k++) to[k] = attn_to_bf16(x[k]);
}

static void convert_rows(void *argument, int64_t from, int64_t to) {
  const struct bf16_args *c = argument;
  convert(c->to + from, c->x + from, to - from);
}

void attn_convert_to_bf16(const struct attn_host *host, uint16_t *to, const float *x,
                          int64_t count) {
  struct bf16_args c = {to, x};
  attn_parallel_rows(host, count, 1, convert_rows, &c);
}
