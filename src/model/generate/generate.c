/* generate.c -- attn_model_generate, attn_model_caption: text from texts or images. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "descriptor.h"
#include "error.h"
#include "image_source.h"
#include "model.h"
#include "token_search.h"

/* Tokens of several texts. */
struct token_texts {
  struct attn_token_batch batch;
  int32_t *tokens;
  int64_t *starts;
};

struct generation_run {
  const struct attn_model *model;
  attn_generation_config config;
  int64_t count, num_return_sequences, max_new_tokens;
  attn_generation_result *results;
  struct token_texts sources, prefixes;
  struct attn_image_source images;
  struct attn_search_results found;
};

static attn_status out_of_memory(attn_error *err) {
  return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for generation");
}

/* ---- Texts ---- */

static void append(struct token_texts *t, int32_t token) {
  if (token >= 0) t->tokens[t->batch.n++] = token;
}

/* Adds a text between first and last, where those are not negative; an empty one is `empty`. */
static attn_status add_text(struct token_texts *t, const struct attn_model *model, const char *text,
                            const char *name, const int32_t special[3], attn_error *err) {
  enum { FIRST, LAST, EMPTY };
  int32_t *tokens = NULL, *larger;
  int64_t count = 0;
  if (!text)
    return attn_fail(err, ATTN_ERR_ARGUMENT, name, "%s[%lld] is NULL", name,
                     (long long)t->batch.sequences);
  attn_status status = attn_model_tokenize(model, text, name, &tokens, &count, err);
  if (status) return status;
  size_t bytes = (size_t)(t->batch.n + count + 3) * sizeof *larger;
  if (!(larger = realloc(t->tokens, bytes))) return free(tokens), out_of_memory(err);
  t->tokens = larger;
  append(t, special[FIRST]);
  if (!count) append(t, special[EMPTY]);
  if (count) memcpy(larger + t->batch.n, tokens, (size_t)count * sizeof *tokens);
  free(tokens);
  t->batch.n += count;
  append(t, special[LAST]);
  t->starts[++t->batch.sequences] = t->batch.n;
  return ATTN_OK;
}

static attn_status add_texts(struct token_texts *t, const struct generation_run *r,
                             const char *const *texts, const char *name, const int32_t special[3],
                             attn_error *err) {
  attn_status status = ATTN_OK;
  if (!(t->starts = calloc((size_t)r->count + 1, sizeof *t->starts))) return out_of_memory(err);
  for (int64_t n = 0; n < r->count && !status; n++)
    status = add_text(t, r->model, texts[n], name, special, err);
  t->batch.tokens = t->tokens, t->batch.starts = t->starts;
  return status;
}

/* An encoder's source gets its special tokens. A prompt gets none, unless it is empty. */
static attn_status read_sources(struct generation_run *r, const char *const *sources,
                                attn_error *err) {
  const struct attn_generation_defaults *g = &r->model->generation;
  const int32_t of_encoder[] = {g->source_bos, g->source_eos, -1},
                of_prompt[] = {-1, -1, g->empty_prompt};
  const int32_t *special = r->model->network->config.kind == ATTN_DECODER ? of_prompt : of_encoder;
  return add_texts(&r->sources, r, sources, "sources", special, err);
}

static attn_status read_prefixes(struct generation_run *r, attn_error *err) {
  static const int32_t none[] = {-1, -1, -1};
  if (!r->config.target_prefixes) return ATTN_OK;
  return add_texts(&r->prefixes, r, r->config.target_prefixes, "target_prefixes", none, err);
}

/* ---- Search ---- */

static void set_max_new_tokens(struct generation_run *r) {
  int64_t length = r->model->network->config.max_positions;
  int64_t own = r->model->generation.search.max_new_tokens;
  int64_t max = r->config.max_new_tokens ? r->config.max_new_tokens : own;
  r->max_new_tokens = max && max < length ? max : length;
}

static attn_status allocate_results(struct generation_run *r, attn_error *err) {
  size_t results = (size_t)(r->count * r->num_return_sequences);
  size_t tokens = results * (size_t)r->max_new_tokens;
  r->found = (struct attn_search_results){.tokens = malloc(tokens * sizeof(int32_t)),
                                          .token_counts = malloc(results * sizeof(int64_t)),
                                          .finished = malloc(results),
                                          .scores = malloc(results * sizeof(double)),
                                          .log_probs = malloc(tokens * sizeof(float))};
  const struct attn_search_results *f = &r->found;
  return f->tokens && f->token_counts && f->finished && f->scores && f->log_probs
             ? ATTN_OK
             : out_of_memory(err);
}

static attn_status search(struct generation_run *r, attn_error *err) {
  const attn_generation_config *c = &r->config;
  const struct attn_packed_weights *pack;
  attn_status status = attn_model_packed_weights(r->model, c->precision == ATTN_BF16, &pack, err);
  if (status) return status;
  struct attn_search_config s = r->model->generation.search;
  s.max_new_tokens = r->max_new_tokens;
  if (c->max_new_tokens) s.max_length = 0; /* as in transformers, max_new_tokens has precedence */
  s.num_beams = c->num_beams, s.num_return_sequences = c->num_return_sequences;
  if (c->length_penalty != 0) s.length_penalty = c->length_penalty;
  s.temperature = c->temperature, s.top_p = c->top_p, s.top_k = c->top_k;
  s.seed = c->seed, s.batch_size = c->batch_size, s.threads = c->threads, s.pack = pack;
  s.progress = c->progress, s.context = c->progress_context;
  s.prefixes = c->target_prefixes ? &r->prefixes.batch : NULL;
  return attn_search_run(r->model->network, &r->sources.batch, &s, &r->found, err);
}

/* ---- Results ---- */

/* The output may have more rows than the vocabulary has tokens: such a row has no text. */
static size_t remove_unnamed(const struct attn_model *m, int32_t *tokens, size_t count) {
  size_t kept = 0;
  for (size_t n = 0; n < count; n++)
    if (attn_tokenizer_token(m->tokenizer, tokens[n])) tokens[kept++] = tokens[n];
  return kept;
}

/* The caller's struct may be longer or shorter than this library's. */
static attn_generation_result *result_at(attn_generation_result *results, int64_t n) {
  return (attn_generation_result *)(void *)((char *)results + (size_t)n * results->struct_size);
}

static void clear(attn_generation_result *results, int64_t count) {
  const attn_generation_result empty = {.struct_size = count ? results->struct_size : 0};
  for (int64_t n = 0; n < count; n++) {
    attn_generation_result *one = result_at(results, n);
    memcpy(one, &empty.struct_size, sizeof empty.struct_size);
    attn_descriptor_fill(one, &empty, sizeof empty);
  }
}

static attn_status write_result(const struct generation_run *r, int64_t n,
                                attn_generation_result *to, attn_error *err) {
  const struct attn_search_results *f = &r->found;
  const struct attn_tokenizer *tokenizer = r->model->tokenizer;
  int32_t *tokens = f->tokens + n * r->max_new_tokens;
  size_t count = (size_t)f->token_counts[n], bytes = 0;
  size_t known = remove_unnamed(r->model, tokens, count);
  attn_tokenizer_decode(tokenizer, tokens, known, NULL, 0, &bytes, NULL);
  char *text = malloc(bytes + 1);
  if (!text) return out_of_memory(err);
  attn_status status = attn_tokenizer_decode(tokenizer, tokens, known, text, bytes, &bytes, err);
  if (status) return free(text), status;
  text[bytes] = 0;
  attn_generation_result result = {.struct_size = sizeof result,
                                   .text = text,
                                   .text_length = (int64_t)bytes,
                                   .token_count = (int64_t)count,
                                   .score = f->scores[n],
                                   .finished = f->finished[n]};
  for (size_t k = 0; k < count + f->finished[n]; k++)
    result.log_prob += (double)f->log_probs[n * r->max_new_tokens + (int64_t)k];
  attn_descriptor_fill(to, &result, sizeof result);
  return ATTN_OK;
}

/* ---- attn_model_generate ---- */

/* Either sources or images. */
static attn_status run(struct generation_run *r, const char *const *sources,
                       const attn_tensor *images, attn_error *err) {
  attn_generation_result *results = r->results;
  int64_t total = r->count * r->num_return_sequences;
  attn_status status = images ? attn_image_source_open(&r->images, r->model, images, r->count, err)
                              : read_sources(r, sources, err);
  if (images) r->sources.batch = r->images.batch;
  if (!status) status = read_prefixes(r, err);
  set_max_new_tokens(r);
  if (!status) status = allocate_results(r, err);
  if (!status) status = search(r, err);
  for (int64_t n = 0; n < total && !status; n++)
    if (r->found.token_counts[n] >= 0) status = write_result(r, n, result_at(results, n), err);
  if (status) attn_generation_results_free(results, total);
  return status;
}

/* Sizes are products of these values: they stay far below 2^63. */
static attn_status check(const struct generation_run *r, int is_vision, attn_error *err) {
  const attn_generation_config *g = &r->config;
  const struct attn_model_config *c = &r->model->network->config;
  if ((c->kind == ATTN_VISION_ENCODER_DECODER) != is_vision)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "model", "the model reads %s",
                     is_vision ? "texts, not images" : "images, not texts");
  if ((r->model->is_huggingface && c->kind == ATTN_ENCODER) || c->head == ATTN_HEAD_NONE)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "model",
                     "cannot generate: the encoder has no head for generation; it can embed");
  if (r->count < 0 || r->count > 1 << 24)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "count", "count must be between 0 and 2^24, got %lld",
                     (long long)r->count);
  if (g->num_beams < 0 || g->num_beams > ATTN_NUM_BEAMS_MAX)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "num_beams",
                     "num_beams must be between 0 and %d, got %d", ATTN_NUM_BEAMS_MAX,
                     (int)g->num_beams);
  if (g->num_return_sequences < 0 || g->num_return_sequences > (g->num_beams ? g->num_beams : 1))
    return attn_fail(err, ATTN_ERR_ARGUMENT, "num_return_sequences",
                     "num_return_sequences must be between 0 and num_beams (%d), got %d",
                     (int)(g->num_beams ? g->num_beams : 1), (int)g->num_return_sequences);
  if (g->precision && g->precision != ATTN_F32 && g->precision != ATTN_BF16)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "precision",
                     "precision must be 0, ATTN_F32 or ATTN_BF16, got %d", (int)g->precision);
  if (g->max_new_tokens < 0)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "max_new_tokens",
                     "max_new_tokens must be at least 0, got %lld", (long long)g->max_new_tokens);
  size_t size = sizeof(attn_generation_result);
  return r->count ? attn_descriptor_expect(r->results, size, size, "results", err) : ATTN_OK;
}

static attn_status generate(const attn_model *model, const char *const *sources,
                            const attn_tensor *images, int64_t count,
                            const attn_generation_config *config, attn_generation_result *results,
                            attn_error *err) {
  struct generation_run r = {.model = model, .count = count, .results = results};
  attn_status status =
      attn_descriptor_copy(config, &r.config, sizeof r.config,
                           offsetof(attn_generation_config, precision), "config", err);
  if (!r.config.num_beams && !(r.config.temperature > 0))
    r.config.num_beams = (int32_t)model->generation.search.num_beams;
  if (!status) status = check(&r, images != NULL, err);
  if (status) return status;
  r.num_return_sequences = r.config.num_return_sequences ? r.config.num_return_sequences : 1;
  clear(results, count * r.num_return_sequences);
  status = run(&r, sources, images, err);
  attn_image_source_close(&r.images);
  free(r.sources.tokens), free(r.sources.starts), free(r.prefixes.tokens), free(r.prefixes.starts);
  free(r.found.tokens), free(r.found.token_counts), free(r.found.finished);
  free(r.found.scores), free(r.found.log_probs);
  return status;
}

attn_status attn_model_generate(const attn_model *model, const char *const *sources, int64_t count,
                                const attn_generation_config *config,
                                attn_generation_result *results, attn_error *err) {
  return generate(model, sources, NULL, count, config, results, err);
}

attn_status attn_model_caption(const attn_model *model, const attn_tensor *images, int64_t count,
                               const attn_generation_config *config,
                               attn_generation_result *results, attn_error *err) {
  if (!images) return attn_fail(err, ATTN_ERR_ARGUMENT, "images", "images is NULL");
  return generate(model, NULL, images, count, config, results, err);
}

void attn_generation_results_free(attn_generation_result *results, int64_t count) {
  if (!results || count < 1 || !results->struct_size) return;
  for (int64_t n = 0; n < count; n++) {
    char *text;
    memcpy(&text, (const char *)result_at(results, n) + offsetof(attn_generation_result, text),
           sizeof text);
    free(text);
  }
  clear(results, count);
}
