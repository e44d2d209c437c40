/* bench_cases.c -- what attn bench measures, a row for each case, with its goal. */
#include <stdio.h>
#include <string.h>

#include "bench.h"

/* B, Hq, H, L, S, E, Ev */
#define SELF(b, h, l, e) \
  { b, h, h, l, l, e, e }
#define DECODE(g) \
  { 4, 8 * (g), 8, 1, 8192, 128, 128 }
#define LONG64 SELF(1, 2, 2048, 64)
#define LONG128 SELF(1, 2, 2048, 128)
#define PADDED SELF(2, 1, 2048, 64)
#define PACK SELF(16, 4, 8192, 64)

#define F32 .dtype = ATTN_F32
#define BF16 .dtype = ATTN_BF16
#define F16 .dtype = ATTN_F16
#define INT8 .dtype = ATTN_I8
#define CAUSAL .flags = ATTN_SDPA_CAUSAL
#define FLOAT_MASK .mask_dtype = ATTN_F32
#define BOOL_MASK .mask_dtype = ATTN_BOOL

#define LIMIT(avx2, avx512) \
  .goal = BENCH_OF_LIMIT, .goal_avx2 = (avx2) / 100.0, .goal_avx512 = (avx512) / 100.0
#define OF(what, percent) \
  .goal = BENCH_OF_##what, .goal_avx2 = (percent) / 100.0, .goal_avx512 = (percent) / 100.0
#define DOTS(percent) OF(F32, 95), .goal_dots = (percent) / 100.0
#define RATE(rate) .goal = BENCH_RATE, .goal_avx2 = (rate), .goal_avx512 = (rate)
#define GB .unit = BENCH_GBYTES
#define CACHED .path = BENCH_CACHED

#define WORK(w, n) .work = w, .name = n

#define GPT2                                                                           \
  "\"kind\": \"decoder\", \"positions\": \"learned\", \"activation\": \"gelu_tanh\", " \
  "\"tie_word_embeddings\": true, \"scale_embedding\": false"
#define BASE "\"activation\": \"relu\""
static const struct bench_model dates = {BASE, 0, 80, 64, 4, 256, 2, 64, 12, 0, 1};
static const struct bench_model gpt2 = {GPT2, 1, 8000, 768, 12, 3072, 2, 4, 63, 0, 1};
static const struct bench_model one = {BASE, 0, 8000, 512, 8, 2048, 2, 1, 32, 32, 1};
static const struct bench_model beams = {BASE, 0, 8000, 512, 8, 2048, 2, 1, 32, 32, 4};
static const struct bench_model many = {BASE, 0, 8000, 512, 8, 2048, 2, 32, 32, 32, 1};
static const struct bench_model prompt = {GPT2, 1, 8000, 768, 12, 3072, 2, 1, 32, 32, 1};

/* batch, heads, tokens, width */
#define MODEL(m, b, h, l, d) .model = &(m), .shape = SELF(b, h, l, d)
#define TRAIN .path = BENCH_TRAIN
#define GENERATE .path = BENCH_GENERATE

const struct bench_case attn_cli_bench_cases[] = {
    {WORK("forward", "full"), F32, .shape = LONG64, LIMIT(82, 90)},
    {WORK("forward", "causal"), F32, .shape = LONG64, CAUSAL, LIMIT(76, 87)},
    {WORK("forward", "full"), F32, .shape = LONG128, LIMIT(82, 90)},
    {WORK("forward", "causal"), F32, .shape = LONG128, CAUSAL, LIMIT(76, 87)},
    {WORK("forward", "full"), BF16, .shape = LONG64, DOTS(88)},
    {WORK("forward", "causal"), BF16, .shape = LONG64, CAUSAL, DOTS(84)},
    {WORK("forward", "full"), BF16, .shape = LONG128, DOTS(92)},
    {WORK("forward", "causal"), BF16, .shape = LONG128, CAUSAL, DOTS(88)},
    {WORK("forward", "full"), F16, .shape = LONG64, OF(F32, 95)},
    {WORK("forward", "causal"), F16, .shape = LONG64, CAUSAL, OF(F32, 95)},

    {WORK("mask", "bool random"), F32, .shape = LONG64, .mask = BENCH_RANDOM, BOOL_MASK,
     OF(UNMASKED, 90)},
    {WORK("mask", "bool causal"), F32, .shape = LONG64, .mask = BENCH_CAUSAL, BOOL_MASK,
     OF(UNMASKED, 90)},
    {WORK("mask", "bool padding"), F32, .shape = PADDED, .mask = BENCH_PADDING, BOOL_MASK,
     OF(UNMASKED, 90)},
    {WORK("mask", "float random"), F32, .shape = LONG64, .mask = BENCH_RANDOM, FLOAT_MASK,
     OF(UNMASKED, 90)},
    {WORK("mask", "float causal"), F32, .shape = LONG64, .mask = BENCH_CAUSAL, FLOAT_MASK,
     OF(UNMASKED, 90)},
    {WORK("mask", "ALiBi"), F32, .shape = LONG64, .options = BENCH_ALIBI, OF(UNMASKED, 90)},
    {WORK("mask", "ALiBi causal"), F32, .shape = LONG64, CAUSAL, .options = BENCH_ALIBI,
     OF(UNMASKED, 90)},
    {WORK("mask", "window 256"), F32, .shape = LONG64, .flags = ATTN_SDPA_CAUSAL | ATTN_SDPA_WINDOW,
     OF(UNMASKED, 90)},
    {WORK("mask", "softcap"), F32, .shape = LONG64, .flags = ATTN_SDPA_SOFTCAP, OF(UNMASKED, 60)},
    {WORK("mask", "bool random"), BF16, .shape = LONG64, .mask = BENCH_RANDOM, BOOL_MASK,
     OF(UNMASKED, 90)},

    {WORK("backward", "full"), F32, .path = BENCH_BACKWARD, .shape = LONG64, LIMIT(80, 90)},
    {WORK("backward", "causal"), F32, .path = BENCH_BACKWARD, .shape = LONG64, CAUSAL,
     LIMIT(76, 86)},
    {WORK("backward", "full"), F32, .path = BENCH_BACKWARD, .shape = LONG128, LIMIT(80, 90)},
    {WORK("backward", "causal"), F32, .path = BENCH_BACKWARD, .shape = LONG128, CAUSAL,
     LIMIT(76, 86)},
    {WORK("backward", "bool random"), F32, .path = BENCH_BACKWARD, .shape = LONG64,
     .mask = BENCH_RANDOM, BOOL_MASK, OF(UNMASKED, 90)},
    {WORK("backward", "ALiBi"), F32, .path = BENCH_BACKWARD, .shape = LONG64,
     .options = BENCH_ALIBI, OF(UNMASKED, 90)},
    {WORK("backward", "full"), BF16, .path = BENCH_BACKWARD, .shape = LONG64, DOTS(89)},
    {WORK("backward", "causal"), BF16, .path = BENCH_BACKWARD, .shape = LONG64, CAUSAL, DOTS(85)},

    {WORK("decode", "G 1"), F32, GB, .shape = DECODE(1), LIMIT(90, 95)},
    {WORK("decode", "G 4"), F32, GB, .shape = DECODE(4), LIMIT(85, 90)},
    {WORK("decode", "G 8"), F32, GB, .shape = DECODE(8), LIMIT(70, 80)},
    {WORK("decode", "G 1"), BF16, GB, .shape = DECODE(1), LIMIT(90, 95)},
    {WORK("decode", "G 4"), BF16, GB, .shape = DECODE(4), LIMIT(80, 90)},
    {WORK("decode", "G 8"), BF16, GB, .shape = DECODE(8), RATE(8)},
    {WORK("decode", "G 1"), F16, GB, .shape = DECODE(1), LIMIT(90, 95)},
    {WORK("decode", "G 4"), F16, GB, .shape = DECODE(4), LIMIT(80, 90)},
    {WORK("decode", "G 8"), F16, GB, .shape = DECODE(8), RATE(8)},
    {WORK("decode", "G 1 cache"), INT8, GB, CACHED, .shape = DECODE(1), LIMIT(80, 80)},
    {WORK("decode", "G 4 cache"), INT8, GB, CACHED, .shape = DECODE(4), RATE(8)},
    {WORK("decode", "G 8 cache"), INT8, GB, CACHED, .shape = DECODE(8), RATE(5)},
    {WORK("decode", "G 4 pages of 16"), F32, GB, CACHED, .page_size = 16, .shape = DECODE(4),
     OF(DENSE, 90)},
    {WORK("decode", "G 4 pages of 16"), BF16, GB, CACHED, .page_size = 16, .shape = DECODE(4),
     OF(DENSE, 90)},
    {WORK("decode", "G 4 pages of 16"), INT8, GB, CACHED, .page_size = 16, .shape = DECODE(4)},
    {WORK("decode", "one head"), F32, GB, .shape = {1, 1, 1, 1, 131072, 128, 128}, LIMIT(90, 95)},

    {WORK("short", "full"), F32, .shape = SELF(64, 8, 32, 64), RATE(40)},
    {WORK("short", "full"), F32, .shape = SELF(32, 8, 128, 64), RATE(55)},
    {WORK("short", "causal"), F32, .shape = SELF(32, 8, 128, 64), CAUSAL},
    {WORK("short", "16 queries, 16 keys"), F32, .shape = SELF(1, 1, 16, 16)},
    {WORK("short", "one query, 128 keys"), F32, .shape = {1, 1, 1, 1, 128, 64, 64}},

    {WORK("shapes", "full"), F32, .shape = SELF(1, 2, 2048, 80)},
    {WORK("shapes", "full"), F32, .shape = SELF(1, 2, 2048, 96)},
    {WORK("shapes", "full"), F32, .shape = SELF(1, 1, 2048, 192)},
    {WORK("shapes", "full"), F32, .shape = SELF(1, 1, 2048, 256)},
    {WORK("shapes", "E 192, Ev 128"), F32, .shape = {1, 1, 1, 2048, 2048, 192, 128}},
    {WORK("shapes", "heads 7 to 1"), F32, .shape = {1, 7, 1, 1024, 1024, 64, 64}},
    {WORK("shapes", "memory (B, L, H, E)"), F32, .shape = SELF(1, 4, 1024, 64),
     .options = BENCH_STRIDED},
    {WORK("shapes", "memory (B, L, H, E)"), BF16, .shape = SELF(1, 4, 1024, 64),
     .options = BENCH_STRIDED},

    {WORK("features", "log-sum-exp"), F32, .shape = LONG64, .options = BENCH_LSE, OF(UNMASKED, 95)},
    {WORK("features", "weights returned"), F32, .shape = SELF(1, 2, 1024, 64),
     .options = BENCH_WEIGHTS},
    {WORK("features", "dropout 0.1"), F32, .shape = SELF(1, 2, 1024, 64),
     .flags = ATTN_SDPA_DROPOUT},
    {WORK("features", "additive scores"), F32, .shape = SELF(1, 2, 512, 64),
     .options = BENCH_ADDITIVE, .unit = BENCH_GTANH},
    {WORK("features", "general scores"), F32, .path = BENCH_GENERAL, .shape = SELF(1, 2, 1024, 64)},
    {WORK("features", "summary"), F32, .path = BENCH_SUMMARY, .shape = SELF(1, 2, 1024, 64)},
    {WORK("features", "packed sequences"), F32, .path = BENCH_PACKED, .shape = PACK},
    {WORK("features", "packed, causal"), F32, .path = BENCH_PACKED, .shape = PACK, CAUSAL},

    {WORK("threads", "full, 2 threads"), F32, .shape = SELF(1, 8, 2048, 64), .threads = 2,
     OF(ONE_THREAD, 190)},
    {WORK("threads", "one head, 2 threads"), F32, .shape = SELF(1, 1, 2048, 64), .threads = 2,
     OF(ONE_THREAD, 190)},
    {WORK("threads", "causal, 2 threads"), F32, .shape = SELF(1, 8, 2048, 64), CAUSAL, .threads = 2,
     OF(ONE_THREAD, 190)},
    {WORK("threads", "backward, 2 threads"), F32, .path = BENCH_BACKWARD,
     .shape = SELF(1, 8, 1024, 64), .threads = 2, OF(ONE_THREAD, 190)},
    {WORK("threads", "backward, one head"), F32, .path = BENCH_BACKWARD,
     .shape = SELF(1, 1, 2048, 64), .threads = 2, OF(ONE_THREAD, 190)},
    {WORK("threads", "decode, 2 threads"), F32, GB, .shape = DECODE(1), .threads = 2},

    {WORK("train", "encoder-decoder"), F32, TRAIN, MODEL(dates, 64, 4, 12, 64)},
    {WORK("train", "GPT-2, 2 layers"), F32, TRAIN, MODEL(gpt2, 4, 12, 63, 768)},
    {WORK("train", "GPT-2, 2 layers"), BF16, TRAIN, MODEL(gpt2, 4, 12, 63, 768)},

    {WORK("generate", "greedy, 1 text"), F32, GB, GENERATE, MODEL(one, 1, 8, 32, 512)},
    {WORK("generate", "4 beams, 1 text"), F32, GB, GENERATE, MODEL(beams, 1, 8, 32, 512)},
    {WORK("generate", "greedy, 32 texts"), F32, GENERATE, MODEL(many, 32, 8, 32, 512)},
    {WORK("generate", "GPT-2, 2 layers"), F32, GB, GENERATE, MODEL(prompt, 1, 12, 32, 768)},
};

void attn_cli_bench_shrink(struct bench_case *c) {
  static const struct bench_model small = {BASE, 0, 80, 32, 4, 64, 1, 2, 8, 4, 1},
                                  small_decoder = {GPT2, 1, 80, 32, 4, 64, 1, 2, 8, 4, 1};
  struct bench_shape *s = &c->shape;
  if (c->model) {
    c->model = c->model->is_decoder ? &small_decoder : &small;
    *s = (struct bench_shape)SELF(2, 4, 8, 32);
    return;
  }
  if (s->keys >= 1024) {
    s->keys /= 16;
    if (s->queries > 1) s->queries /= 16;
  }
  if (s->batch > 2) s->batch = 2;
}

int attn_cli_bench_count(void) {
  return sizeof attn_cli_bench_cases / sizeof *attn_cli_bench_cases;
}

int attn_cli_bench_works(const char *names[BENCH_WORKS]) {
  int count = 0;
  for (int n = 0; n < attn_cli_bench_count(); n++) {
    const char *work = attn_cli_bench_cases[n].work;
    if ((!count || strcmp(names[count - 1], work)) && count < BENCH_WORKS) names[count++] = work;
  }
  return count;
}

int attn_cli_bench_base(const struct bench_case *c, struct bench_case *base) {
  *base = *c;
  switch (c->goal) {
    case BENCH_OF_UNMASKED:
      base->mask = BENCH_NO_MASK, base->options = 0;
      base->flags = c->flags == ATTN_SDPA_CAUSAL ? c->flags : 0;
      return 1;
    case BENCH_OF_F32:
      base->dtype = ATTN_F32;
      return 1;
    case BENCH_OF_ONE_THREAD:
      base->threads = 1;
      return 1;
    case BENCH_OF_DENSE:
      base->path = BENCH_FORWARD, base->page_size = 0;
      return 1;
    default:
      return 0;
  }
}

/* ---- Texts ---- */

const char *attn_cli_bench_shape_text(const struct bench_shape *s, char text[BENCH_TEXT]) {
  char heads[16] = "", keys[24] = "", width[24] = "";
  if (s->heads != s->kv_heads) snprintf(heads, sizeof heads, "/%lld", (long long)s->kv_heads);
  if (s->queries != s->keys) snprintf(keys, sizeof keys, "x%lld", (long long)s->keys);
  if (s->width != s->value_width) snprintf(width, sizeof width, "/%lld", (long long)s->value_width);
  snprintf(text, BENCH_TEXT, "%lldx%lld%sx%lld%sx%lld%s", (long long)s->batch, (long long)s->heads,
           heads, (long long)s->queries, keys, (long long)s->width, width);
  return text;
}

const char *attn_cli_bench_unit_text(enum bench_unit unit) {
  static const char *const names[BENCH_UNITS] = {"GFLOP/s", "GB/s", "Gtanh/s"};
  return names[unit];
}

const char *attn_cli_bench_dtype_text(attn_dtype dtype) {
  switch (dtype) {
    case ATTN_F32:
      return "f32";
    case ATTN_BF16:
      return "bf16";
    case ATTN_F16:
      return "f16";
    default:
      return "int8";
  }
}
