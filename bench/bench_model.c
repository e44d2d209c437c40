/* bench_model.c -- training steps and decoding of whole models with random weights.
 *
 *     bench_model limits [THREADS]
 *     bench_model train PRESET [--batch-size N] [--tokens N] [--threads N] [--steps N] [--bf16 1]
 *     bench_model decode PRESET [--batch-size N] [--num-beams N] [--tokens N] [--threads N]
 *                               [--steps N] [--bf16 1]
 *
 * --bf16 1: linear layers multiply in bf16.
 * Prints lines of a name and a number, which compare_model.py reads. --steps 0: one step per line
 * of input, with its seconds, to interleave the steps of several programs. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "bf16.h"
#include "timing.h"
#include "token_search.h"
#include "trainer.h"

static const struct preset {
  const char *name, *config;
  int64_t batch_size, tokens; /* tokens: of a sequence, source and target alike */
} presets[] = {
    {"gpt2",
     "{\"kind\": \"decoder\", \"vocab_size\": 50257, \"d_model\": 768, \"num_heads\": 12, "
     "\"ffn_dim\": 3072, \"decoder_layers\": 12, \"max_positions\": 1024, \"positions\": "
     "\"learned\", "
     "\"activation\": \"gelu_tanh\", \"tie_word_embeddings\": true, \"scale_embedding\": false, "
     "\"dropout\": 0}",
     4, 64},
    {"base",
     "{\"vocab_size\": 8000, \"d_model\": 512, \"num_heads\": 8, \"ffn_dim\": 2048, "
     "\"encoder_layers\": 6, \"decoder_layers\": 6, \"max_positions\": 128, \"activation\": "
     "\"relu\", "
     "\"dropout\": 0}",
     32, 32},
    {"dates",
     "{\"vocab_size\": 80, \"d_model\": 64, \"num_heads\": 4, \"ffn_dim\": 256, "
     "\"encoder_layers\": 2, "
     "\"decoder_layers\": 2, \"max_positions\": 64, \"activation\": \"relu\", \"dropout\": 0}",
     64, 12},
};

struct bench_options {
  const struct preset *preset;
  struct attn_model_config config;
  int64_t batch_size, tokens, num_beams, steps;
  int32_t threads;
  int bf16;
};

static attn_error err;

static void check(attn_status status) {
  if (!status) return;
  fprintf(stderr, "bench_model: %s\n", err.message);
  exit(1);
}

static void *allocate(int64_t count, size_t size) {
  void *memory = calloc((size_t)count + 1, size);
  if (!memory) abort();
  return memory;
}

static double peak_rss(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return 1024.0 * (double)usage.ru_maxrss;
}

/* ---- Steps ---- */

/* The first step is warmup. */
static void repeat(const struct bench_options *o, double tokens, void (*step)(void *),
                   void *argument) {
  double *seconds = allocate(o->steps, sizeof *seconds);
  char line[64];
  step(argument);
  for (int64_t n = 0; n < o->steps; n++) {
    double start = now();
    step(argument);
    seconds[n] = now() - start;
  }
  if (o->steps) {
    qsort(seconds, (size_t)o->steps, sizeof *seconds, compare_doubles);
    printf("tokens_per_second_best %.1f\ntokens_per_second_median %.1f\n", tokens / seconds[0],
           tokens / seconds[o->steps / 2]);
  }
  fflush(stdout);
  while (!o->steps && fgets(line, sizeof line, stdin)) {
    double start = now();
    step(argument);
    printf("seconds %.9f\n", now() - start), fflush(stdout);
  }
  printf("peak_rss %.0f\n", peak_rss());
  free(seconds);
}

static int32_t *random_tokens(int64_t count, int64_t vocab_size) {
  int32_t *tokens = allocate(count, sizeof *tokens);
  uint64_t state = 1;
  for (int64_t n = 0; n < count; n++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    tokens[n] = ATTN_NUM_SPECIAL_TOKENS + (int32_t)((state >> 33) % (uint64_t)(vocab_size - 4));
  }
  return tokens;
}

/* ---- Training ---- */

struct bench_training {
  const struct bench_options *o;
  struct attn_trainer *trainer;
  int32_t *source, *target;
};

static void train_step(void *argument) {
  struct bench_training *t = argument;
  struct attn_step_result step;
  int64_t count = t->o->tokens - 1; /* the trainer adds an end or a begin token */
  for (int64_t n = 0; n < t->o->batch_size; n++)
    if (!attn_trainer_add(t->trainer, t->source + n * count, count, t->target + n * count, count))
      abort();
  check(attn_trainer_step(t->trainer, &step, &err));
}

/* Weights that are multiplied by each token: all matrices except embeddings. */
static double working_weights(const struct attn_network *n) {
  double sum = 0;
  for (int p = 0; p < n->count; p++) {
    const struct attn_tape_variable *v = &n->parameters[p].value;
    int looked_up = v == n->encoder.embedding.table || v == n->decoder.embedding.table ||
                    v == n->encoder.embedding.positions || v == n->decoder.embedding.positions;
    if (n->parameters[p].rank == 2 && (!looked_up || v == n->output.w))
      sum += (double)(v->n * v->width);
  }
  return sum;
}

static void train(const struct bench_options *o) {
  struct attn_trainer_config how = {.adam = {0.9, 0.98, 1e-9, 0.01},
                                    .schedule = {ATTN_LR_CONSTANT, 1e-4, 1, 1000},
                                    .max_grad_norm = 1,
                                    .batch_size = o->batch_size,
                                    .threads = o->threads,
                                    .bf16 = o->bf16};
  struct bench_training t = {.o = o};
  t.source = random_tokens(o->batch_size * o->tokens, o->config.source_vocab_size);
  t.target = random_tokens(o->batch_size * o->tokens, o->config.vocab_size);
  how.max_tokens = o->batch_size * o->tokens;
  check(attn_trainer_new(&o->config, &how, &t.trainer, &err));
  double tokens = (double)(o->batch_size * o->tokens);
  printf("weights %lld\nparts %d\nbytes %zu\ntokens %.0f\nflops %.6g\n",
         (long long)t.trainer->parameter_count, t.trainer->replica_count, t.trainer->memory_bytes,
         tokens, 6 * tokens * working_weights(t.trainer->replicas[0].network));
  repeat(o, tokens, train_step, &t);
  attn_trainer_free(t.trainer), free(t.source), free(t.target);
}

/* ---- Decoding ---- */

/* Weights that are multiplied by each generated token: the decoder without the keys and values of
 * the source, and the output. */
static double decoder_weights(const struct attn_network *n) {
  double sum = (double)(n->output.w->n * n->output.w->width);
  for (int64_t l = 0; l < n->config.decoder_layers; l++) {
    const struct attn_block_weights *b = &n->decoder.blocks[l];
    const struct attn_tape_variable *w[] = {b->self_in.w,   b->self_out.w, b->cross_q.w,
                                            b->cross_out.w, b->linear1.w,  b->linear2.w};
    for (size_t k = 0; k < sizeof w / sizeof *w; k++)
      sum += w[k] ? (double)(w[k]->n * w[k]->width) : 0;
  }
  return sum;
}

struct bench_decoding {
  struct attn_network *network;
  struct attn_token_batch source;
  struct attn_search_config how;
  struct attn_search_results found;
};

static void decode_step(void *argument) {
  struct bench_decoding *d = argument;
  check(attn_search_run(d->network, &d->source, &d->how, &d->found, &err));
}

/* There is no end token: every sequence has the same length. */
static void decode(const struct bench_options *o) {
  float *weights;
  struct bench_decoding d = {.how = {.max_new_tokens = o->tokens,
                                     .bos = ATTN_TOKEN_BEGIN,
                                     .eos = -1,
                                     .num_beams = o->num_beams,
                                     .batch_size = o->batch_size,
                                     .threads = o->threads}};
  check(attn_network_allocate(&o->config, &d.network, &weights, &err));
  attn_network_init_weights(d.network, 1);
  struct attn_packed_weights *pack;
  check(attn_packed_weights_new(d.network, o->bf16, ATTN_PACKED_WEIGHTS_MIN, &pack, &err));
  d.how.pack = pack;
  d.source = (struct attn_token_batch){.n = o->batch_size * o->tokens, .sequences = o->batch_size};
  d.source.tokens = random_tokens(d.source.n, o->config.source_vocab_size);
  int64_t *starts = allocate(o->batch_size + 1, sizeof *starts);
  for (int64_t n = 0; n <= o->batch_size; n++) starts[n] = n * o->tokens;
  d.source.starts = starts;
  d.found.tokens = allocate(o->batch_size * o->tokens, sizeof *d.found.tokens);
  double tokens = (double)(o->batch_size * o->tokens);
  printf("weights %lld\ntokens %.0f\ndecoder_weights %.0f\n", (long long)d.network->parameter_count,
         tokens, decoder_weights(d.network));
  repeat(o, tokens, decode_step, &d);
  attn_packed_weights_free(pack), attn_network_free(d.network);
  free(weights), free((void *)(uintptr_t)d.source.tokens), free(starts), free(d.found.tokens);
}

/* ---- Limits of the machine ---- */

enum { SIDE = 2048, STREAM = 1 << 26 };

/* The best of ten, to exclude the load of other processes. */
static double best_of(void (*body)(const struct attn_host *, float *), int32_t threads, float *x) {
  const struct attn_host host = {.threads = threads};
  double best = 1e9;
  for (int n = 0; n < 10; n++) {
    double start = now();
    body(&host, x);
    double seconds = now() - start;
    if (seconds < best) best = seconds;
  }
  return best;
}

static void multiply_as(const struct attn_host *host, attn_dtype type, float *x) {
  const struct attn_gemm_operand a = {x, SIDE, 0, type}, b = {x + SIDE * SIDE, SIDE, 0, type};
  check(attn_matmul(host, SIDE, SIDE, SIDE, a, b, x + 2 * SIDE * SIDE, SIDE, 0, &err));
}

static void multiply(const struct attn_host *host, float *x) { multiply_as(host, ATTN_F32, x); }

/* Reads the bits of x as bf16: values and zeros. */
static void multiply_bf16(const struct attn_host *host, float *x) {
  multiply_as(host, ATTN_BF16, x);
}

static void copy_piece(void *argument, int64_t index, int32_t worker) {
  float *x = argument;
  (void)worker;
  memcpy(x + STREAM / 2 + index * (STREAM / 16), x + index * (STREAM / 16),
         STREAM / 16 * sizeof *x);
}

static void stream(const struct attn_host *host, float *x) {
  attn_parallel_for(host, 8, copy_piece, x);
}

/* Counts one read and one write per byte of a copy. Without streaming stores the destination is
 * also read. */
static void limits(int32_t threads) {
  float *x = allocate(STREAM, sizeof *x);
  for (int64_t n = 0; n < STREAM; n++) x[n] = (float)(n % 17) * 0x1p-4f;
  double product = best_of(multiply, threads, x), copied = best_of(stream, threads, x);
  printf("gemm_flops %.6g\nstream_bytes %.6g\n", 2.0 * SIDE * SIDE * SIDE / product,
         (double)STREAM * sizeof *x / copied);
  double bf16 = best_of(multiply_bf16, threads, x);
  printf("bf16_flops %.6g\n", 2.0 * SIDE * SIDE * SIDE / bf16);
  free(x);
}

/* ---- Arguments ---- */

static int usage(void) {
  fprintf(stderr,
          "usage: bench_model limits [THREADS] | (train|decode) (gpt2|base|dates) "
          "[--batch-size N] [--tokens N] [--num-beams N] [--threads N] [--steps N] [--bf16 1]\n");
  return 2;
}

static int parse_options(struct bench_options *o, int argc, char **argv) {
  *o = (struct bench_options){.num_beams = 1, .steps = 10};
  for (size_t n = 0; n < sizeof presets / sizeof *presets; n++)
    if (!strcmp(argv[0], presets[n].name)) o->preset = &presets[n];
  if (!o->preset) return 0;
  o->batch_size = o->preset->batch_size, o->tokens = o->preset->tokens;
  for (int n = 1; n < argc; n += 2) {
    long long value = n + 1 < argc ? atoll(argv[n + 1]) : -1;
    if (!strcmp(argv[n], "--steps") && value >= 0)
      o->steps = value;
    else if (!strcmp(argv[n], "--threads") && value >= 0 && value <= 1024)
      o->threads = (int32_t)value;
    else if (value < 1 || value > 1 << 16)
      return 0;
    else if (!strcmp(argv[n], "--batch-size"))
      o->batch_size = value;
    else if (!strcmp(argv[n], "--tokens"))
      o->tokens = value;
    else if (!strcmp(argv[n], "--num-beams"))
      o->num_beams = value;
    else if (!strcmp(argv[n], "--bf16"))
      o->bf16 = 1;
    else
      return 0;
  }
  return 1;
}

int main(int argc, char **argv) {
  struct bench_options o;
  if (argc >= 2 && !strcmp(argv[1], "limits")) {
    limits(argc > 2 ? (int32_t)atoi(argv[2]) : 0);
    return 0;
  }
  if (argc < 3 || !parse_options(&o, argc - 2, argv + 2)) return usage();
  check(attn_model_config_parse(o.preset->config, strlen(o.preset->config), &o.config, &err));
  if (!strcmp(argv[1], "train"))
    train(&o);
  else if (!strcmp(argv[1], "decode"))
    decode(&o);
  else
    return usage();
  return 0;
}
