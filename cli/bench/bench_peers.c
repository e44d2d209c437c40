/* bench_peers.c -- other programs: a Python process each, which gets the problem over a pipe.
 *
 * Requests and answers are lines. "case KEY=VALUE .. inputs=NAME:TYPE:SHAPE,.." is followed by the
 * bytes of the inputs; the answer is "result COUNT", followed by float32 values of the first
 * result, or "cannot REASON". "run CALLS" is answered by "seconds S", of one call. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "options.h"

const char *const attn_cli_bench_program_names[BENCH_PROGRAMS] = {"torch", "onnxruntime",
                                                                  "openvino", "ctranslate2"};

int attn_cli_bench_peer_applies(int peer, const char *work) {
  int is_model = !strcmp(work, "train") || !strcmp(work, "generate");
  if (peer == 0) return 1; /* torch */
  if (peer == 3) return !strcmp(work, "generate");
  return !is_model && (peer == BENCH_PROGRAMS || strcmp(work, "backward"));
}

/* ---- Pipes ---- */

static int send_bytes(const struct bench_peer *peer, const void *data, size_t bytes) {
  const char *at = data;
  while (bytes) {
    ssize_t n = write(peer->to, at, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return -1;
    at += n, bytes -= (size_t)n;
  }
  return 0;
}

static int receive_bytes(const struct bench_peer *peer, void *data, size_t bytes) {
  char *at = data;
  while (bytes) {
    ssize_t n = read(peer->from, at, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return -1;
    at += n, bytes -= (size_t)n;
  }
  return 0;
}

static int receive_line(const struct bench_peer *peer, char *line, size_t size) {
  size_t n = 0;
  char byte;
  while (!receive_bytes(peer, &byte, 1) && byte != '\n')
    if (n + 1 < size) line[n++] = byte;
  line[n] = 0;
  return n ? 0 : -1;
}

/* The rest of an answer that begins with a word, or NULL after noting the reason. */
static const char *answer(struct bench_peer *peer, const char *word, char *line, size_t size) {
  size_t length = strlen(word);
  if (receive_line(peer, line, size)) {
    attn_cli_bench_peer_stop(peer);
    snprintf(peer->reason, BENCH_REASON, "the process has ended");
    return NULL;
  }
  if (!strncmp(line, word, length) && line[length] == ' ') return line + length + 1;
  const char *reason = strchr(line, ' ');
  snprintf(peer->reason, BENCH_REASON, "%.90s", reason ? reason + 1 : line);
  return NULL;
}

/* ---- The process ---- */

static void execute(const struct bench_peer *peer, const int to[2], const int from[2],
                    const char *python, int32_t threads, int32_t isa) {
  char count[16];
  snprintf(count, sizeof count, "%d", (int)threads);
  signal(SIGINT, SIG_IGN); /* Ctrl-C ends it by the end of its input */
  dup2(to[0], STDIN_FILENO), dup2(from[1], STDOUT_FILENO);
  int null = open("/dev/null", O_WRONLY);
  if (null >= 0) dup2(null, STDERR_FILENO);
  setenv("OMP_NUM_THREADS", count, 1);
  if (isa == ATTN_ISA_AVX2) {
    static const char *const settings[] = {"ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA",
                                           "MKL_ENABLE_INSTRUCTIONS", "CT2_FORCE_CPU_ISA"};
    for (int n = 0; n < 4; n++) setenv(settings[n], "AVX2", 1);
    setenv("ATEN_CPU_CAPABILITY", "avx2", 1);
  }
  execlp(python, python, "-c", attn_cli_bench_helper, peer->name, count, (char *)NULL);
  _exit(127);
}

static int open_pipes(int to[2], int from[2]) {
  if (pipe(to)) return -1;
  if (pipe(from)) return close(to[0]), close(to[1]), -1;
  for (int n = 0; n < 2; n++)
    fcntl(to[n], F_SETFD, FD_CLOEXEC), fcntl(from[n], F_SETFD, FD_CLOEXEC);
  return 0;
}

void attn_cli_bench_peer_start(struct bench_peer *peer, const char *python, int32_t threads,
                               int32_t isa) {
  int to[2], from[2];
  snprintf(peer->reason, BENCH_REASON, "cannot start %.60s", python);
  if (open_pipes(to, from)) return;
  fflush(NULL); /* a child must not write what is buffered */
  peer->pid = fork();
  if (!peer->pid) execute(peer, to, from, python, threads, isa);
  close(to[0]), close(from[1]);
  peer->to = to[1], peer->from = from[0];
  if (peer->pid < 0) attn_cli_bench_peer_stop(peer);
}

void attn_cli_bench_peer_stop(struct bench_peer *peer) {
  if (!peer->pid) return;
  close(peer->to), close(peer->from);
  if (peer->pid > 0) {
    kill(peer->pid, SIGKILL);
    while (waitpid(peer->pid, NULL, 0) < 0 && errno == EINTR) {
    }
  }
  peer->pid = 0;
}

int attn_cli_bench_peer_ready(struct bench_peer *peer) {
  char line[256];
  if (!peer->pid) return -1;
  const char *version = answer(peer, "ready", line, sizeof line);
  if (version) return snprintf(peer->version, sizeof peer->version, "%.30s", version), 0;
  attn_cli_bench_peer_stop(peer);
  return -1;
}

/* ---- A problem ---- */

struct named_tensor {
  const char *name;
  const attn_tensor *tensor;
};

static int list_inputs(const struct bench_problem *p, struct named_tensor inputs[8]) {
  const struct named_tensor all[] = {{"q", &p->q},
                                     {"k", &p->k},
                                     {"v", &p->v},
                                     {"d_o", &p->d_o},
                                     {"mask", &p->mask},
                                     {"slopes", &p->slopes},
                                     {"additive", &p->additive},
                                     {"w", &p->w}};
  int count = 0;
  for (int n = 0; n < 8; n++)
    if (all[n].tensor->data) inputs[count++] = all[n];
  return count;
}

static size_t bytes_of(const attn_tensor *t) {
  return (size_t)attn_cli_bench_elements(t) * attn_dtype_size(t->dtype);
}

enum { REQUEST = 2048 };

struct request {
  char text[REQUEST];
  size_t length;
};

__attribute__((format(printf, 2, 3))) static void append(struct request *r, const char *format,
                                                         ...) {
  va_list arguments;
  va_start(arguments, format);
  int n = vsnprintf(r->text + r->length, REQUEST - r->length, format, arguments);
  va_end(arguments);
  r->length += n > 0 && (size_t)n < REQUEST - r->length ? (size_t)n : 0;
}

static void append_tensors(struct request *r, const struct named_tensor *inputs, int count) {
  append(r, " inputs=");
  for (int n = 0; n < count; n++) {
    append(r, "%s%s:%s:", n ? ";" : "", inputs[n].name, attn_dtype_name(inputs[n].tensor->dtype));
    for (int at = 0; at < inputs[n].tensor->rank; at++)
      append(r, "%s%lld", at ? "," : "", (long long)inputs[n].tensor->shape[at]);
  }
}

static void append_model(struct request *r, const struct bench_case *c) {
  const struct bench_model *m = c->model;
  append(r,
         " decoder=%d vocab=%lld width=%lld heads=%lld ffn=%lld layers=%lld batch=%lld tokens=%lld "
         "new=%lld beams=%lld inputs=",
         m->is_decoder, (long long)m->vocab_size, (long long)m->d_model, (long long)m->heads,
         (long long)m->ffn_dim, (long long)m->layers, (long long)m->batch, (long long)m->tokens,
         (long long)m->new_tokens, (long long)m->num_beams);
}

static void append_lengths(struct request *r, const struct bench_problem *p) {
  const int32_t *start = p->starts.data;
  append(r, " lengths=");
  for (int64_t n = 0; n < p->c->shape.batch; n++)
    append(r, "%s%d", n ? "," : "", (int)(start[n + 1] - start[n]));
}

static void write_request(const struct bench_problem *p, const struct named_tensor *inputs,
                          int count, struct request *r) {
  static const char *const paths[] = {"forward", "backward", "cached", "packed",
                                      "summary", "general",  "train",  "generate"};
  const struct bench_case *c = p->c;
  append(r, "case path=%s dtype=%s causal=%d window=%d softcap=%d alibi=%d strided=%d weights=%d",
         paths[c->path], attn_cli_bench_dtype_text(c->dtype), !!(c->flags & ATTN_SDPA_CAUSAL),
         c->flags & ATTN_SDPA_WINDOW ? BENCH_WINDOW : 0,
         c->flags & ATTN_SDPA_SOFTCAP ? BENCH_SOFTCAP : 0, !!(c->options & BENCH_ALIBI),
         !!(c->options & BENCH_STRIDED), !!(c->options & BENCH_WEIGHTS));
  append(r, " lse=%d additive=%d dropout=%d threads=%d top=%d", !!(c->options & BENCH_LSE),
         !!(c->options & BENCH_ADDITIVE), !!(c->flags & ATTN_SDPA_DROPOUT), (int)c->threads,
         BENCH_TOP_KEYS);
  if (c->path == BENCH_PACKED) append_lengths(r, p);
  if (c->model)
    append_model(r, c);
  else
    append_tensors(r, inputs, count);
  append(r, "\n");
}

/* A guard against timing another problem: rounding in the peer's type is allowed. */
static int is_close(const struct bench_problem *p, float *theirs, int64_t count) {
  const attn_tensor *ours = p->c->path == BENCH_BACKWARD ? &p->d_q : &p->o;
  const attn_tensor got = {.data = theirs, .dtype = ATTN_F32};
  return count == attn_cli_bench_elements(ours) &&
         attn_cli_bench_error(&got, ours) <= (ours->dtype == ATTN_F32 ? 1e-3 : 0x1p-5);
}

/* The first result: the output, or dQ. Dropout, summaries and models are not compared. */
static int compare_result(struct bench_peer *peer, const struct bench_problem *p, int64_t count) {
  float *theirs = malloc((size_t)count * sizeof *theirs + 1);
  int compares = !(p->c->flags & ATTN_SDPA_DROPOUT) && p->c->path != BENCH_SUMMARY && !p->c->model;
  snprintf(peer->reason, BENCH_REASON, "no memory for its result");
  if (!theirs) return attn_cli_bench_peer_stop(peer), -1;
  int failed = receive_bytes(peer, theirs, (size_t)count * sizeof *theirs);
  if (!failed && compares && !is_close(p, theirs, count)) {
    failed = -1;
    snprintf(peer->reason, BENCH_REASON, "computes another result");
  }
  free(theirs);
  return failed;
}

int attn_cli_bench_peer_open(struct bench_peer *peer, const struct bench_problem *p) {
  struct named_tensor inputs[8];
  struct request request = {.length = 0};
  char line[256];
  if (p->c->path == BENCH_CACHED) {
    snprintf(peer->reason, BENCH_REASON, "no paged or int8 cache");
    return -1;
  }
  int count = list_inputs(p, inputs);
  write_request(p, inputs, count, &request);
  int failed = send_bytes(peer, request.text, request.length);
  for (int n = 0; n < count && !failed; n++)
    failed = send_bytes(peer, inputs[n].tensor->data, bytes_of(inputs[n].tensor));
  const char *text = answer(peer, "result", line, sizeof line);
  int64_t elements;
  if (!text) return -1;
  if (attn_cli_parse_int(text, &elements) || elements < 0 || elements > (int64_t)1 << 32)
    return attn_cli_bench_peer_stop(peer), -1;
  return compare_result(peer, p, elements);
}

double attn_cli_bench_peer_time(struct bench_peer *peer, int64_t calls) {
  struct request request = {.length = 0};
  char line[256];
  double seconds;
  append(&request, "run %lld\n", (long long)calls);
  if (!peer->pid || send_bytes(peer, request.text, request.length)) return (double)NAN;
  const char *text = answer(peer, "seconds", line, sizeof line);
  return text && !attn_cli_parse_double(text, &seconds) ? seconds : (double)NAN;
}
