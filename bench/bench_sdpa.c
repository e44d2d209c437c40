/* bench_sdpa.c -- the forward with each mask, score option and type, one thread, against the CPU's
 * measured peak, in CPU time. All cases take turns in one process.
 *
 *     bench_sdpa [REPETITIONS [LENGTH [WIDTH [CASE]]]]      writes comma-separated values
 *
 * Operations are counted for pairs that are visible, also by a mask; the masks with "random" hide
 * one pair in ten, and count in full, because no kernel can leave these out. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attn/attn.h"
#include "timing.h"

enum mask_kind { NO_MASK, RANDOM, CAUSAL_MASK, PADDING };

static const struct bench_case {
  const char *name;
  attn_dtype dtype;
  int32_t flags; /* beside these: */
  enum mask_kind mask;
  attn_dtype mask_dtype;
  int alibi;
} cases[] = {
    {"full", ATTN_F32, 0, NO_MASK, 0, 0},
    {"causal", ATTN_F32, ATTN_SDPA_CAUSAL, NO_MASK, 0, 0},
    {"bool random", ATTN_F32, 0, RANDOM, ATTN_BOOL, 0},
    {"bool causal", ATTN_F32, 0, CAUSAL_MASK, ATTN_BOOL, 0},
    {"bool padding", ATTN_F32, 0, PADDING, ATTN_BOOL, 0},
    {"float random", ATTN_F32, 0, RANDOM, ATTN_F32, 0},
    {"float causal", ATTN_F32, 0, CAUSAL_MASK, ATTN_F32, 0},
    {"alibi", ATTN_F32, 0, NO_MASK, 0, 1},
    {"alibi causal", ATTN_F32, ATTN_SDPA_CAUSAL, NO_MASK, 0, 1},
    {"window 256", ATTN_F32, ATTN_SDPA_CAUSAL | ATTN_SDPA_WINDOW, NO_MASK, 0, 0},
    {"softcap", ATTN_F32, ATTN_SDPA_SOFTCAP, NO_MASK, 0, 0},
    {"bf16 full", ATTN_BF16, 0, NO_MASK, 0, 0},
    {"bf16 causal", ATTN_BF16, ATTN_SDPA_CAUSAL, NO_MASK, 0, 0},
    {"f16 full", ATTN_F16, 0, NO_MASK, 0, 0},
    {"bf16 bool random", ATTN_BF16, 0, RANDOM, ATTN_BOOL, 0},
};
enum { CASES = sizeof cases / sizeof *cases, HEADS = 2, BATCH = 2, WINDOW = 256 };

struct bench_call {
  attn_tensor t[4], mask, slopes;
  attn_sdpa desc;
  double flops, *seconds;
  float slope[HEADS];
  char kernel[sizeof((attn_plan *)0)->kernel];
};

static uint32_t draw(void) {
  static uint64_t state = 1;
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(state >> 40);
}

static float uniform(void) { return (float)draw() * 0x1p-23f - 1.0f; }

/* 1 has the same exponent bits in 16 bits: random values in -2 .. 2, of any type. */
static void *random_values(attn_dtype dtype, int64_t count) {
  char *x = malloc((size_t)count * attn_dtype_size(dtype));
  for (int64_t n = 0; x && n < count; n++) {
    uint16_t half =
        (uint16_t)((dtype == ATTN_F16 ? 0x3800u | (draw() & 0x3FF) : 0x3F00u | (draw() & 0x7F)) |
                   (draw() & 1) << 15);
    if (dtype == ATTN_F32)
      ((float *)(void *)x)[n] = uniform();
    else
      ((uint16_t *)(void *)x)[n] = half;
  }
  return x;
}

/* Keys that row i of sequence b sees, of the kinds that hide whole ranges. */
static int64_t visible_keys(enum mask_kind kind, int64_t length, int64_t b, int64_t i) {
  if (kind == CAUSAL_MASK) return i + 1;
  if (kind == PADDING) return length - (b + 1) * length / 4;
  return length;
}

static int make_mask(struct bench_call *c, const struct bench_case *k, int64_t length) {
  int64_t batch = k->mask == PADDING ? BATCH : 1, rows = k->mask == PADDING ? 1 : length;
  char *data = malloc((size_t)(batch * rows * length) * attn_dtype_size(k->mask_dtype));
  if (!data) return 1;
  for (int64_t n = 0; n < batch * rows * length; n++) {
    int64_t j = n % length, i = n / length % rows, b = n / length / rows;
    int sees = j < visible_keys(k->mask, length, b, i) && (k->mask != RANDOM || draw() % 10);
    if (k->mask_dtype == ATTN_BOOL)
      data[n] = (char)sees;
    else
      ((float *)(void *)data)[n] = !sees ? -INFINITY : k->mask == RANDOM ? uniform() : 0.0f;
  }
  c->mask = attn_tensor_dense(k->mask_dtype, data, batch, 1, rows, length);
  c->desc.mask = &c->mask;
  double seen = 0;
  for (int64_t b = 0; b < BATCH; b++)
    for (int64_t i = 0; i < length; i++) seen += (double)visible_keys(k->mask, length, b, i);
  c->flops *= seen / (double)(BATCH * length * length);
  return 0;
}

static int make(struct bench_call *c, const struct bench_case *k, int64_t length, int64_t width,
                int repetitions) {
  for (int n = 0; n < 4; n++) {
    void *x = random_values(k->dtype, BATCH * HEADS * length * width);
    if (!x) return 1;
    c->t[n] = attn_tensor_dense(k->dtype, x, BATCH, HEADS, length, width);
  }
  c->seconds = calloc((size_t)repetitions, sizeof *c->seconds);
  c->desc = (attn_sdpa)ATTN_SDPA_INIT;
  c->desc.flags = (uint64_t)k->flags;
  c->desc.window_left = WINDOW - 1, c->desc.window_right = -1, c->desc.softcap = 30;
  if (!(k->flags & ATTN_SDPA_WINDOW)) c->desc.window_left = c->desc.window_right = 0;
  if (!(k->flags & ATTN_SDPA_SOFTCAP)) c->desc.softcap = 0;
  c->desc.threads = 1;
  for (int h = 0; h < HEADS; h++) c->slope[h] = 0.5f / (float)(1 << 4 * h);
  c->slopes = (attn_tensor){c->slope, ATTN_F32, 1, {HEADS}, {1}};
  if (k->alibi) c->desc.alibi = &c->slopes;
  attn_plan plan = {.struct_size = sizeof plan};
  attn_error err;
  if (!c->seconds || attn_sdpa_plan(&c->desc, &c->t[0], &c->t[1], &c->t[2], &c->t[3], &plan, &err))
    return 1;
  c->flops = plan.flops;
  snprintf(c->kernel, sizeof c->kernel, "%s", plan.kernel);
  return k->mask == NO_MASK ? 0 : make_mask(c, k, length);
}

static int run(struct bench_call *c, int n) {
  double start = cpu_now();
  if (attn_sdpa_forward(&c->desc, &c->t[0], &c->t[1], &c->t[2], &c->t[3], NULL)) return 1;
  if (n >= 0) c->seconds[n] = cpu_now() - start; /* the first is warmup */
  return 0;
}

static void release(struct bench_call *c) {
  for (int n = 0; n < 4; n++) free(c->t[n].data);
  free(c->mask.data), free(c->seconds);
}

static int measure(int64_t length, int64_t width, const char *only, int repetitions, double peak) {
  struct bench_call calls[CASES] = {0};
  int failed = 0;
  for (int k = 0; k < CASES; k++) failed |= make(&calls[k], &cases[k], length, width, repetitions);
  for (int n = -1; n < repetitions && !failed; n++)
    for (int k = 0; k < CASES; k++)
      if (!only || !strcmp(only, cases[k].name)) failed |= run(&calls[k], n);
  for (int k = 0; k < CASES && !failed; k++) {
    if (only && strcmp(only, cases[k].name)) continue;
    struct bench_call *c = &calls[k];
    qsort(c->seconds, (size_t)repetitions, sizeof *c->seconds, compare_doubles);
    double best = c->flops / c->seconds[0] * 1e-9,
           median = c->flops / c->seconds[repetitions / 2] * 1e-9;
    printf("%s,%lld,%lld,%s,%.1f,%.1f,%.0f\n", c->kernel, (long long)length, (long long)width,
           cases[k].name, best, median, 100 * best / peak);
  }
  for (int k = 0; k < CASES; k++) release(&calls[k]);
  return failed;
}

int main(int argc, char **argv) {
  int repetitions = argc > 1 ? atoi(argv[1]) : 20;
  int64_t length = argc > 2 ? atoi(argv[2]) : 0, width = argc > 3 ? atoi(argv[3]) : 0;
  attn_machine machine = {.struct_size = sizeof machine};
  double peak;
  if (repetitions < 1 || length < 0 || width < 0 || attn_machine_query(&machine) ||
      attn_machine_measure(&peak, NULL))
    return 2;
  printf("# %s, one thread, B %d, H %d, L = S; peak %.1f GFLOP/s, minimum and median of %d\n",
         machine.cpu, BATCH, HEADS, peak, repetitions);
  printf("kernel,length,width,case,gflops_best,gflops_median,percent_of_peak\n");
  for (int64_t l = length ? length : 128; l <= (length ? length : 2048); l *= 4)
    for (int64_t d = width ? width : 64; d <= (width ? width : 128); d *= 2)
      if (measure(l, d, argc > 4 ? argv[4] : NULL, repetitions, peak)) return 1;
  return 0;
}
