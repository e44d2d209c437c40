/* bench_training.c -- training steps and generation of whole models, with random words.
 *
 * A training runs on a thread of its own, which waits in the progress function after each step:
 * so a step is a call like any other and takes its turn. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "attn/train.h"
#include "bench.h"

enum { PATH = 1100, SPECIAL_TOKENS = 4 };

struct bench_session {
  const struct bench_model *model;
  char folder[1024];
  pthread_t thread;
  int is_running; /* the thread has to be joined */
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  int64_t requested, done; /* steps */
  int stop, has_ended;
  int32_t threads, bf16;
  double loss; /* of the last step */
  attn_status status;
  attn_error err;
  attn_model *trained; /* to generate with */
  char *source;        /* the memory of the sources */
  const char **sources;
  attn_generation_result *results;
};

static const char *const files[] = {"data.tsv", "m.safetensors", "m.last.safetensors"};

static void path_of(const struct bench_session *s, int file, char path[PATH]) {
  snprintf(path, PATH, "%s/%s", s->folder, files[file]);
}

/* ---- Data ---- */

/* Words follow each other in a fixed order that contains all of the vocabulary. */
static void write_words(FILE *to, const struct bench_model *m, int64_t *next) {
  int64_t words = m->vocab_size - SPECIAL_TOKENS;
  for (int64_t n = 0; n < m->tokens; n++, ++*next)
    fprintf(to, "%sw%lld", n ? " " : "", (long long)(*next * 7919 % words));
}

static attn_status write_data(const struct bench_session *s, attn_error *err) {
  const struct bench_model *m = s->model;
  char path[PATH];
  int64_t next = 1, lines = 2 * (m->vocab_size / m->tokens + m->batch);
  path_of(s, 0, path);
  FILE *file = fopen(path, "w");
  if (!file) return attn_cli_fail_file(err, path, "cannot write");
  for (int64_t n = 0; n < lines; n++) {
    if (!m->is_decoder) write_words(file, m, &next), fputc('\t', file);
    write_words(file, m, &next), fputc('\n', file);
  }
  int failed = ferror(file);
  return fclose(file) || failed ? attn_cli_fail_file(err, path, "cannot write") : ATTN_OK;
}

/* ---- Training ---- */

/* Reports a step and waits for the next request. */
static int32_t wait_for_request(void *context, const attn_train_state *state) {
  struct bench_session *s = context;
  pthread_mutex_lock(&s->mutex);
  if (state->phase == ATTN_TRAIN_STEP) {
    s->loss = state->loss, s->done = state->step;
    pthread_cond_broadcast(&s->changed);
    while (s->requested <= s->done && !s->stop) pthread_cond_wait(&s->changed, &s->mutex);
  }
  int stop = s->stop;
  pthread_mutex_unlock(&s->mutex);
  return stop;
}

static void *train(void *argument) {
  struct bench_session *s = argument;
  const struct bench_model *m = s->model;
  char path[3][PATH], config[600];
  for (int n = 0; n < 3; n++) path_of(s, n, path[n]);
  char encoder[40] = "";
  if (!m->is_decoder)
    snprintf(encoder, sizeof encoder, "\"encoder_layers\": %lld, ", (long long)m->layers);
  snprintf(config, sizeof config,
           "{%s, %s\"decoder_layers\": %lld, \"d_model\": %lld, \"num_heads\": %lld, "
           "\"ffn_dim\": %lld, \"max_positions\": 128, \"dropout\": 0}",
           m->config, encoder, (long long)m->layers, (long long)m->d_model, (long long)m->heads,
           (long long)m->ffn_dim);
  const attn_train_config c = {.struct_size = sizeof c,
                               .data = path[0],
                               .validation_data = path[0],
                               .output = path[1],
                               .config = config,
                               .tokenizer = "words",
                               .steps = 1 << 20,
                               .validate_every = 1 << 20,
                               .batch_size = m->batch,
                               .max_validation_examples = 1,
                               .threads = s->threads,
                               .precision = s->bf16 ? "bf16" : "float32",
                               .progress = wait_for_request,
                               .context = s};
  attn_status status = attn_model_train(&c, NULL, &s->err);
  pthread_mutex_lock(&s->mutex);
  s->status = status, s->has_ended = 1;
  pthread_cond_broadcast(&s->changed);
  pthread_mutex_unlock(&s->mutex);
  return NULL;
}

static attn_status step(struct bench_session *s, attn_error *err) {
  pthread_mutex_lock(&s->mutex);
  s->requested++;
  pthread_cond_broadcast(&s->changed);
  while (s->done < s->requested && !s->has_ended) pthread_cond_wait(&s->changed, &s->mutex);
  attn_status status = s->has_ended ? s->status : ATTN_OK;
  if (status) *err = s->err;
  pthread_mutex_unlock(&s->mutex);
  return status;
}

static attn_status start(struct bench_session *s, attn_error *err) {
  if (pthread_create(&s->thread, NULL, train, s))
    return attn_cli_fail(err, ATTN_ERR_MEMORY, "no thread");
  s->is_running = 1;
  return step(s, err);
}

/* Ends the run, which then writes its last checkpoint. */
static void stop(struct bench_session *s) {
  if (!s->is_running) return;
  pthread_mutex_lock(&s->mutex);
  s->stop = 1;
  pthread_cond_broadcast(&s->changed);
  pthread_mutex_unlock(&s->mutex);
  pthread_join(s->thread, NULL);
  s->is_running = 0;
}

/* ---- Generation ---- */

static attn_status make_sources(struct bench_session *s, attn_error *err) {
  const struct bench_model *m = s->model;
  size_t each = (size_t)m->tokens * 12;
  s->source = calloc((size_t)m->batch, each);
  s->sources = calloc((size_t)m->batch, sizeof *s->sources);
  s->results = calloc((size_t)m->batch, sizeof *s->results);
  if (!s->source || !s->sources || !s->results) return attn_cli_no_memory(err);
  int64_t words = m->vocab_size - SPECIAL_TOKENS;
  for (int64_t b = 0; b < m->batch; b++) {
    char *at = s->source + (size_t)b * each;
    s->sources[b] = at;
    for (int64_t n = 0; n < m->tokens; n++)
      at += sprintf(at, "%sw%lld", n ? " " : "", (long long)((b * m->tokens + n) * 7919 % words));
  }
  return ATTN_OK;
}

static attn_status generate(struct bench_session *s, attn_error *err) {
  const struct bench_model *m = s->model;
  attn_generation_config config = ATTN_GENERATION_CONFIG_INIT;
  config.num_beams = (int32_t)m->num_beams;
  config.max_new_tokens = m->new_tokens, config.threads = s->threads;
  config.batch_size = (int32_t)m->batch;
  config.precision = s->bf16 ? ATTN_BF16 : ATTN_F32;
  attn_generation_results_free(s->results, m->batch);
  for (int64_t b = 0; b < m->batch; b++)
    s->results[b] = (attn_generation_result)ATTN_GENERATION_RESULT_INIT;
  return attn_model_generate(s->trained, s->sources, m->batch, &config, s->results, err);
}

static attn_status prepare_generation(struct bench_session *s, attn_error *err) {
  char path[PATH];
  stop(s);
  path_of(s, 2, path);
  attn_status status = attn_model_open(path, &s->trained, err);
  return status ? status : make_sources(s, err);
}

/* ---- A problem ---- */

attn_status attn_cli_bench_training_open(struct bench_problem *p, attn_error *err) {
  struct bench_session *s = p->session = calloc(1, sizeof *s);
  if (!s) return attn_cli_no_memory(err);
  s->model = p->c->model, s->threads = p->c->threads, s->bf16 = p->c->dtype == ATTN_BF16;
  pthread_mutex_init(&s->mutex, NULL), pthread_cond_init(&s->changed, NULL);
  attn_status status =
      attn_cli_make_temporary_folder(s->folder, sizeof s->folder, "attn-bench", err);
  if (!status) status = write_data(s, err);
  if (!status) status = start(s, err);
  if (!status && p->c->path == BENCH_GENERATE) status = prepare_generation(s, err);
  return status;
}

attn_status attn_cli_bench_training_call(struct bench_problem *p, attn_error *err) {
  return p->session->trained ? generate(p->session, err) : step(p->session, err);
}

/* A model with random weights predicts nothing: its loss is near ln V. Every text is generated to
 * the full length. */
attn_status attn_cli_bench_training_verify(struct bench_problem *p, attn_error *err) {
  const struct bench_session *s = p->session;
  double uniform = log((double)s->model->vocab_size);
  if (!(s->loss > 0 && s->loss < 2 * uniform))
    return attn_cli_fail(err, ATTN_ERR_FORMAT, "%s: the loss is %g; expected about %g", p->c->name,
                         s->loss, uniform);
  for (int64_t b = 0; s->trained && b < s->model->batch; b++)
    if (!s->results[b].text || s->results[b].finished ||
        s->results[b].token_count != s->model->new_tokens)
      return attn_cli_fail(err, ATTN_ERR_FORMAT, "%s: text %lld has %lld tokens, expected %lld",
                           p->c->name, (long long)b, (long long)s->results[b].token_count,
                           (long long)s->model->new_tokens);
  return ATTN_OK;
}

void attn_cli_bench_training_close(struct bench_problem *p) {
  struct bench_session *s = p->session;
  char path[PATH];
  if (!s) return;
  stop(s);
  attn_model_free(s->trained);
  if (s->results) attn_generation_results_free(s->results, s->model->batch);
  free(s->results), free(s->sources), free(s->source);
  for (int n = 0; *s->folder && n < 3; n++) path_of(s, n, path), unlink(path);
  if (*s->folder) rmdir(s->folder);
  pthread_cond_destroy(&s->changed), pthread_mutex_destroy(&s->mutex);
  free(s);
}

/* ---- Operations: two for each weight of a matrix and token ---- */

void attn_cli_bench_training_count(struct bench_problem *p) {
  const struct bench_model *m = p->c->model;
  double d = (double)m->d_model, block = 4 * d * d + 2 * d * (double)m->ffn_dim;
  double layers = (double)m->layers, batch = (double)m->batch;
  double encoder = m->is_decoder ? 0 : layers * block;
  double cross = m->is_decoder ? 0 : 2 * layers * d * d; /* of keys and values: source tokens */
  double decoder = layers * block + (m->is_decoder ? 0 : 2 * layers * d * d);
  double output = d * (double)m->vocab_size, source = (double)m->tokens;
  int generates = p->c->path == BENCH_GENERATE;
  double target = generates ? (double)(m->new_tokens * m->num_beams) : source + 1;
  if (generates && m->is_decoder) target += source; /* the prompt */
  double forward = 2 * batch * (source * (encoder + cross) + target * (decoder + output));
  p->operations = generates ? forward : 3 * forward;
  double weights = encoder + cross + decoder + output;
  /* Generation reads the weights for each token; a training step reads and writes them, gradients
   * and moments. */
  p->bytes = generates ? 4 * (double)m->new_tokens * (decoder + output) : 4 * 9 * weights;
  p->amount = p->c->unit == BENCH_GBYTES ? p->bytes : p->operations;
}
