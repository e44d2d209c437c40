/* bench.h -- attn bench: every path of the library against the machine's limits and other programs.
 *
 * A case is a row of a table (bench_cases.c). bench_problem.c makes its tensors and its call,
 * bench_verify.c checks the results, bench_rounds.c times all that takes part in turns, and
 * bench_table.c, bench_json.c and bench_picture.c print what bench_rounds.c has measured. */
#ifndef ATTN_CLI_BENCH_H
#define ATTN_CLI_BENCH_H

#include <stdint.h>

#include "attn/attn.h"
#include "attn/picture.h"
#include "console.h"

/* ---- Cases ---- */

enum bench_path {
  BENCH_FORWARD,
  BENCH_BACKWARD,
  BENCH_CACHED,  /* attn_sdpa_forward_cached */
  BENCH_PACKED,  /* attn_sdpa_forward_packed; batch: sequences of different lengths */
  BENCH_SUMMARY, /* attn_sdpa_summarize */
  BENCH_GENERAL, /* attn_score_forward, q^T W k */
  BENCH_TRAIN,   /* a step of attn_model_train */
  BENCH_GENERATE,
};

/* A model with random weights. */
struct bench_model {
  const char *config; /* further members of its configuration */
  int is_decoder;
  int64_t vocab_size, d_model, heads, ffn_dim, layers, batch, tokens; /* tokens: of each text */
  int64_t new_tokens, num_beams;
};

enum bench_mask { BENCH_NO_MASK, BENCH_RANDOM, BENCH_CAUSAL, BENCH_PADDING };

enum bench_option {
  BENCH_ALIBI = 1,
  BENCH_STRIDED = 2, /* (B, L, H, E) in memory */
  BENCH_WEIGHTS = 4,
  BENCH_LSE = 8,
  BENCH_ADDITIVE = 16,
};

enum { BENCH_WINDOW = 256, BENCH_SOFTCAP = 30, BENCH_TOP_KEYS = 8 };

struct bench_shape {
  int64_t batch, heads, kv_heads, queries, keys, width, value_width;
};

enum bench_unit { BENCH_GFLOPS, BENCH_GBYTES, BENCH_GTANH, BENCH_UNITS };

/* What a machine can do: float32 multiply-adds, reads, bf16 dot products. */
enum bench_limit { BENCH_PEAK, BENCH_READ, BENCH_BF16, BENCH_LIMITS };

/* What a goal is a share of. The rate of another case is measured in the same rounds. */
enum bench_goal {
  BENCH_NO_GOAL,
  BENCH_OF_LIMIT,      /* of the limit of the unit */
  BENCH_OF_UNMASKED,   /* of the same call without mask and options of scores */
  BENCH_OF_F32,        /* of the same call in float32 */
  BENCH_OF_ONE_THREAD, /* of the same call on one thread */
  BENCH_OF_DENSE,      /* of the same call on dense tensors */
  BENCH_RATE,          /* in the unit itself */
};

struct bench_case {
  const char *work, *name;
  enum bench_path path;
  attn_dtype dtype; /* ATTN_I8: of the cache; the queries are float32 */
  struct bench_shape shape;
  uint64_t flags; /* of attn_sdpa */
  unsigned options;
  enum bench_mask mask;
  attn_dtype mask_dtype;
  const struct bench_model *model; /* of BENCH_TRAIN and BENCH_GENERATE */
  enum bench_unit unit;
  int64_t page_size; /* of BENCH_CACHED; 0: a page for each sequence */
  int32_t threads;   /* 0: those of the run */
  enum bench_goal goal;
  double goal_avx2, goal_avx512;
  double goal_dots; /* of the limit, if bf16 dot products run the case; 0: goal_avx512 */
};

extern const struct bench_case attn_cli_bench_cases[];
int attn_cli_bench_count(void);

/* A small case of the same kind, to test the command. */
void attn_cli_bench_shrink(struct bench_case *c);

/* The names of the groups of cases. Returns their number. */
enum { BENCH_WORKS = 16 };
int attn_cli_bench_works(const char *names[BENCH_WORKS]);

/* The case that a goal compares with. Returns 0 if the goal compares with none. */
int attn_cli_bench_base(const struct bench_case *c, struct bench_case *base);

/* "1x2x2048x64": batch, query heads / key and value heads, queries x keys, widths. */
enum { BENCH_TEXT = 48 };
const char *attn_cli_bench_shape_text(const struct bench_shape *s, char text[BENCH_TEXT]);
const char *attn_cli_bench_unit_text(enum bench_unit unit);
const char *attn_cli_bench_dtype_text(attn_dtype dtype);

/* ---- Another build of the library ---- */

struct bench_library {
  __typeof__(attn_sdpa_forward) *forward;
  __typeof__(attn_sdpa_backward) *backward;
  __typeof__(attn_sdpa_forward_cached) *forward_cached;
  __typeof__(attn_sdpa_forward_packed) *forward_packed;
  __typeof__(attn_sdpa_summarize) *summarize;
  __typeof__(attn_score_forward) *score_forward;
  __typeof__(attn_cache_new) *cache_new;
  __typeof__(attn_cache_append) *cache_append;
  __typeof__(attn_cache_read) *cache_read;
  __typeof__(attn_cache_free) *cache_free;
  __typeof__(attn_version_string) *version;
};

/* The library that the command is linked with. */
extern const struct bench_library attn_cli_bench_own;

/* Opens libattn.so of another build, for the rest of the process. Returns 0, or -1 after a message.
 */
int attn_cli_bench_library_open(const char *path, struct bench_library *library);

/* ---- A case's data and call ---- */

enum { BENCH_TENSORS = 20 };

struct bench_problem {
  const struct bench_case *c;
  const struct bench_library *library;
  int by_clock; /* timed by the clock; else by CPU time */
  attn_sdpa desc;
  attn_tensor q, k, v, o, d_o, d_q, d_k, d_v, lse, mask, slopes, weights, additive, starts, w;
  attn_tensor column_sums, entropy, top_keys, top_weights;
  attn_cache *cache;
  struct bench_session *session; /* of a model */
  void *memory[BENCH_TENSORS];
  int count;                /* of memory */
  double amount;            /* of a call, in the unit; keys and values, or weights, in bytes */
  double operations, bytes; /* of a call: computed, and the least traffic */
};

/* Whether calls of so many threads are timed by CPU time: those of one, unless CPU time is limited
 * (ulimit -t), where Linux counts it in milliseconds. */
int attn_cli_bench_counts_cpu(int32_t threads);

/* Makes tensors of random values. attn_cli_bench_close frees them, also after a failure. */
attn_status attn_cli_bench_open(const struct bench_case *c, const struct bench_library *library,
                                struct bench_problem *p, attn_error *err);
void attn_cli_bench_close(struct bench_problem *p);

/* A dense tensor of zeros. */
attn_status attn_cli_bench_tensor(struct bench_problem *p, attn_tensor *t, attn_dtype dtype,
                                  const int64_t *shape, int rank, attn_error *err);

/* The call that is timed. */
attn_status attn_cli_bench_call(struct bench_problem *p, attn_error *err);

int64_t attn_cli_bench_elements(const attn_tensor *t);

/* Reads an element of a float type. */
double attn_cli_bench_real(const attn_tensor *t, int64_t element);

/* The largest difference between the elements of exact and as many of got, as a share of the
 * largest of exact; NaN if one of them is. */
double attn_cli_bench_error(const attn_tensor *got, const attn_tensor *exact);

/* ATTN_ERR_FORMAT: a result is wrong. */
attn_status attn_cli_bench_verify(struct bench_problem *p, attn_error *err);

/* ---- Models: bench_training.c; the same functions for a case with a model ---- */

attn_status attn_cli_bench_training_open(struct bench_problem *p, attn_error *err);
attn_status attn_cli_bench_training_call(struct bench_problem *p, attn_error *err);
attn_status attn_cli_bench_training_verify(struct bench_problem *p, attn_error *err);
void attn_cli_bench_training_close(struct bench_problem *p);
void attn_cli_bench_training_count(struct bench_problem *p);

/* ---- Other programs ---- */

/* The last peer is another build of the library. */
enum { BENCH_PROGRAMS = 4, BENCH_PEERS = BENCH_PROGRAMS + 1, BENCH_REASON = 96 };
extern const char *const attn_cli_bench_program_names[BENCH_PROGRAMS];

struct bench_peer {
  const char *name;                    /* NULL: not requested */
  const struct bench_library *library; /* NULL: a process */
  int pid, to, from;                   /* pid 0: not started, or ended */
  char version[32];
  char reason[BENCH_REASON]; /* why it cannot run, or the present case */
};

/* Whether a peer, by number, can run the cases of a group. */
int attn_cli_bench_peer_applies(int peer, const char *work);

/* Starts a helper process with the same instruction set, as far as the program has a setting for
 * it; the answer comes later. */
void attn_cli_bench_peer_start(struct bench_peer *peer, const char *python, int32_t threads,
                               int32_t isa);

/* Waits until it is ready. Returns 0, or -1 if it cannot run: see reason. */
int attn_cli_bench_peer_ready(struct bench_peer *peer);

/* Sends the problem and compares the results. Returns 0, or -1: see reason. */
int attn_cli_bench_peer_open(struct bench_peer *peer, const struct bench_problem *p);

/* Seconds of `calls` calls; NaN if the process has ended. */
double attn_cli_bench_peer_time(struct bench_peer *peer, int64_t calls);
void attn_cli_bench_peer_stop(struct bench_peer *peer);

/* The helper, a Python program: bench_peers.py. */
extern const char attn_cli_bench_helper[];

/* ---- Rounds ---- */

enum { BENCH_ROUNDS = 200 };

/* Rates, in the case's unit. */
struct bench_rates {
  int count;
  double each[BENCH_ROUNDS], best, median;
};

struct bench_result {
  struct bench_case c;
  struct bench_rates ours, base, limit, peer[BENCH_PEERS];
  char reason[BENCH_PEERS][BENCH_REASON]; /* of a peer without rates */
  char skipped[BENCH_REASON];             /* why nothing was measured; else "" */
  double goal;                            /* NaN: none */
  double share;                           /* of the limit; NaN: no limit */
  double reached;                         /* what the goal is compared with; NaN: none */
  double operations, bytes;               /* of a call: computed, and the least traffic */
  double gflops;                          /* best */
};

struct bench_run {
  struct bench_peer peer[BENCH_PEERS];
  struct bench_library library;
  attn_machine machine;
  double seconds; /* of each case */
  int32_t threads;
  int quick, with_goals, json;
  int64_t total; /* cases */
  struct attn_cli_progress progress;
  struct bench_result *result;
  int results, interrupted;
  double best[BENCH_LIMITS]; /* those measured, of all threads; 0: none */
};

/* Measures a case into the next result. ATTN_ERR_INTERRUPTED: after Ctrl-C, with the rounds until
 * then. */
attn_status attn_cli_bench_measure(struct bench_run *run, const struct bench_case *c,
                                   attn_error *err);

/* A limit of this machine, of `threads` threads at the same time: GFLOP/s, or GB/s. 0: it has no
 * such instructions. */
attn_status attn_cli_bench_limit(enum bench_limit limit, int32_t threads, double *rate,
                                 attn_error *err);

/* Whether a result is below its goal, below a peer by number, or below any peer. */
int attn_cli_bench_is_below_goal(const struct bench_result *r);
int attn_cli_bench_is_below_peer(const struct bench_result *r, int peer);
int attn_cli_bench_is_below_a_peer(const struct bench_result *r);

/* ---- Output ---- */

void attn_cli_bench_print_header(const struct bench_run *run);
void attn_cli_bench_print_row(const struct bench_run *run, const struct bench_result *r);
void attn_cli_bench_print_end(const struct bench_run *run);
void attn_cli_bench_print_json(const struct bench_run *run);

/* data: struct bench_run. */
attn_status attn_cli_bench_draw(const void *data, attn_picture_format format, const attn_sink *sink,
                                attn_error *err);

#endif
