#include "token_search.h"

#include <math.h>
#include <stdlib.h>

#include "batch.h"
#include "beam_state.h"
#include "encoder_batches.h"
#include "error.h"

/* ---- Checks ---- */

static attn_status check_range(const char *name, int64_t value, int64_t min, int64_t max,
                               attn_error *err) {
  if (value >= min && value <= max) return ATTN_OK;
  return attn_fail(err, ATTN_ERR_ARGUMENT, name, "%s must be between %lld and %lld, got %lld", name,
                   (long long)min, (long long)max, (long long)value);
}

static attn_status reject_real(const char *name, double value, const char *accepted,
                               attn_error *err) {
  return attn_fail(err, ATTN_ERR_ARGUMENT, name, "%s must be %s, got %g", name, accepted, value);
}

static attn_status check_reals(const struct attn_search_config *s, attn_error *err) {
  int is_hf = s->rule == ATTN_BEAM_RULE_HUGGING_FACE;
  if (!(s->length_penalty >= (is_hf ? -10 : 0) && s->length_penalty <= 10))
    return reject_real("length_penalty", s->length_penalty,
                       is_hf ? "between -10 and 10" : "between 0 and 10", err);
  if (!(s->temperature >= 0 && isfinite(s->temperature)))
    return reject_real("temperature", s->temperature, "at least 0 and finite", err);
  if (s->temperature > 0 && s->num_beams > 1)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "num_beams",
                     "sampling (temperature above 0) requires num_beams 1, got %lld",
                     (long long)s->num_beams);
  if (!(s->top_p > 0 && s->top_p <= 1))
    return reject_real("top_p", s->top_p, "between 0 and 1", err);
  return ATTN_OK;
}

static attn_status check_config(const struct attn_search_config *s,
                                const struct attn_model_config *c, attn_error *err) {
  if (c->kind != ATTN_ENCODER && c->decoder_layers < 1)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "network",
                     "cannot generate: the decoder has no layers");
  attn_status status = check_range("max_new_tokens", s->max_new_tokens, 1, c->max_positions, err);
  if (!status) status = check_range("bos", s->bos, -1, c->vocab_size - 1, err);
  if (!status) status = check_range("eos", s->eos, -1, c->vocab_size - 1, err);
  if (!status) status = check_range("num_beams", s->num_beams, 1, ATTN_NUM_BEAMS_MAX, err);
  if (!status)
    status = check_range("num_return_sequences", s->num_return_sequences, 1, s->num_beams, err);
  if (!status) status = check_reals(s, err);
  if (!status) status = check_range("top_k", s->top_k, 0, INT64_MAX, err);
  if (!status) status = check_range("batch_size", s->batch_size, 1, INT64_MAX, err);
  return status ? status : check_range("threads", s->threads, 0, INT32_MAX, err);
}

static struct attn_search_config complete(const struct attn_search_config *given) {
  struct attn_search_config s = *given;
  if (!s.num_beams) s.num_beams = 1;
  if (!s.num_return_sequences) s.num_return_sequences = 1;
  if (!s.batch_size) s.batch_size = 1;
  if (s.top_p == 0) s.top_p = 1;
  return s;
}

static attn_status check_tokens(const struct attn_token_batch *t, int64_t vocab_size,
                                const char *name, attn_error *err) {
  if (t->sequences < 0 || t->starts[0] != 0 || t->starts[t->sequences] != t->n)
    return attn_fail(err, ATTN_ERR_ARGUMENT, name,
                     "sequences must start at 0 and end at the number of tokens");
  return attn_tokens_check(t->tokens, t->n, vocab_size, name, err);
}

/* The longest prompt without bos, so that the decoder can generate a token after it. */
static int64_t max_prompt_length(const struct attn_search_config *s,
                                 const struct attn_model_config *c) {
  int64_t max = c->max_positions;
  if (s->max_length && max > s->max_length - 1) max = s->max_length - 1;
  return max - (s->bos >= 0);
}

static attn_status check_source(const struct attn_token_batch *t, const struct attn_model_config *c,
                                const struct attn_search_config *s, attn_error *err) {
  int is_prompt = c->kind == ATTN_DECODER, has_bos = s->bos >= 0;
  int64_t side = attn_model_grid_size(c),
          max = is_prompt ? max_prompt_length(s, c) : c->max_positions;
  int64_t vocab_size = is_prompt ? c->vocab_size : c->source_vocab_size;
  if (c->kind == ATTN_VISION_ENCODER_DECODER) max = vocab_size = side * side;
  attn_status status = check_tokens(t, vocab_size, "source", err);
  if (status) return status;
  for (int64_t n = 0; n < t->sequences; n++) {
    int64_t count = t->starts[n + 1] - t->starts[n];
    if (count < 0 || count > max || (count == 0 && !(is_prompt && has_bos)))
      return attn_fail(err, ATTN_ERR_ARGUMENT, "source",
                       "source %lld has %lld tokens; expected at least one and at most %lld",
                       (long long)n, (long long)count, (long long)max);
  }
  if (is_prompt || c->kind == ATTN_ENCODER || has_bos || s->prefixes) return ATTN_OK;
  return attn_fail(err, ATTN_ERR_ARGUMENT, "bos",
                   "an encoder-decoder requires a bos token, or prefixes");
}

static attn_status check_prefix(int64_t index, int64_t count, const struct attn_search_config *s,
                                const struct attn_model_config *c, attn_error *err) {
  int64_t max = max_prompt_length(s, c);
  int has_bos = s->bos >= 0;
  if (c->decoder_type != ATTN_TRANSFORMER_DECODER && count + has_bos > 1)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "target_prefixes",
                     "target_prefixes requires a Transformer decoder, not a recurrent one");
  if (count >= !has_bos && count <= max) return ATTN_OK;
  return attn_fail(err, ATTN_ERR_ARGUMENT, "target_prefixes",
                   "target prefix %lld has %lld tokens; expected between %d and %lld",
                   (long long)index, (long long)count, !has_bos, (long long)max);
}

static attn_status check_prefixes(const struct attn_token_batch *p, int64_t sources,
                                  const struct attn_search_config *s,
                                  const struct attn_model_config *c, attn_error *err) {
  if (!p) return ATTN_OK;
  if (c->kind == ATTN_DECODER || c->kind == ATTN_ENCODER)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "target_prefixes",
                     "target_prefixes requires an encoder-decoder");
  if (p->sequences != sources)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "target_prefixes",
                     "expected %lld target_prefixes, one for each source, got %lld",
                     (long long)sources, (long long)p->sequences);
  attn_status status = check_tokens(p, c->vocab_size, "target_prefixes", err);
  for (int64_t n = 0; n < sources && !status; n++)
    status = check_prefix(n, p->starts[n + 1] - p->starts[n], s, c, err);
  return status;
}

/* ---- A batch of sources ---- */

enum { PROMPT_ROWS = 128 }; /* of prompts, in one pass: weights are read once for so many tokens */

struct token_search {
  const struct attn_network *network;
  const struct attn_token_batch *source;
  struct attn_search_config config;
  const struct attn_search_results *results;
  struct attn_parallel_batches batches;
};

struct search_batch {
  struct token_search *search;
  struct attn_token_batch_slice source; /* of the encoder */
  struct attn_beam_state *states;
  int64_t first, count;
  int64_t *slots; /* of a step's rows */
  int32_t *tokens;
  struct attn_tape tape;
  struct attn_tape_variable *memory;
  struct attn_decoder *decoder;
};

static int has_encoder(const struct search_batch *b) {
  return b->search->network->config.kind != ATTN_DECODER;
}

/* What the decoder reads after bos, before it generates: the target's prefix, or a decoder's
 * source. NULL: nothing. */
static const struct attn_token_batch *prompts_of(const struct search_batch *b) {
  return has_encoder(b) ? b->search->config.prefixes : b->search->source;
}

/* With bos. */
static int64_t prompt_length(const struct search_batch *b, int64_t n) {
  const struct attn_token_batch *p = prompts_of(b);
  const int64_t *starts = p ? p->starts + b->first + n : NULL;
  return (b->search->config.bos >= 0) + (p ? starts[1] - starts[0] : 0);
}

static int32_t prompt_token(const struct search_batch *b, int64_t n, int64_t index) {
  const struct attn_token_batch *p = prompts_of(b);
  int32_t bos = b->search->config.bos;
  return bos >= 0 && index == 0 ? bos : p->tokens[p->starts[b->first + n] + index - (bos >= 0)];
}

static attn_status open_states(struct search_batch *b, attn_error *err) {
  const struct token_search *s = b->search;
  const struct attn_model_config *c = &s->network->config;
  int needs_log_probs = s->config.num_beams > 1 || s->results->scores || s->results->log_probs;
  for (int64_t n = 0; n < b->count; n++) {
    struct attn_beam_state *state = &b->states[n];
    attn_status status =
        attn_beam_state_init(state, &s->config, c->vocab_size,
                             s->config.first_sequence + b->first + n, needs_log_probs, err);
    if (status) return status;
    const int64_t length = prompt_length(b, n);
    if (state->max_new_tokens > c->max_positions - length + 1)
      state->max_new_tokens = c->max_positions - length + 1;
    if (s->config.max_length && state->max_new_tokens > s->config.max_length - length)
      state->max_new_tokens = s->config.max_length - length;
    state->num_open = 1;
    state->open[0] = (struct attn_hypothesis){.token = prompt_token(b, n, length - 1)};
  }
  return ATTN_OK;
}

/* A decoder's source is its prompt. */
static attn_status encode_sources(struct search_batch *b, attn_error *err) {
  const struct token_search *s = b->search;
  b->tape.host.threads = 1;
  if (!has_encoder(b)) return ATTN_OK;
  attn_status status = attn_token_batch_slice_new(&b->source, s->source, b->first, b->count, err);
  return status ? status
                : attn_transformer_encode_alone(s->network, s->config.pack, &b->tape,
                                                &b->source.text, 0, &b->memory, err);
}

static attn_status open_batch(struct search_batch *b, attn_error *err) {
  const struct token_search *s = b->search;
  int64_t rows = b->count * s->config.num_beams, longest = 1, prompts = 0;
  b->states = calloc((size_t)b->count, sizeof *b->states);
  b->slots = calloc((size_t)rows, sizeof *b->slots);
  b->tokens = calloc((size_t)rows, sizeof *b->tokens);
  if (!b->states || !b->slots || !b->tokens)
    return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for a search");
  attn_status status = open_states(b, err);
  if (!status) status = encode_sources(b, err);
  if (status) return status;
  for (int64_t n = 0; n < b->count; n++) {
    const int64_t length = prompt_length(b, n), all = length + b->states[n].max_new_tokens - 1;
    longest = all > longest ? all : longest, prompts += length - 1;
  }
  status = attn_decoder_new(s->network, s->config.pack, b->memory,
                            has_encoder(b) ? &b->source.text : NULL, rows, longest,
                            prompts < PROMPT_ROWS ? prompts : PROMPT_ROWS, 1, &b->decoder, err);
  attn_tape_close(&b->tape);
  return status;
}

static void close_batch(struct search_batch *b) {
  for (int64_t n = 0; b->states && n < b->count; n++) attn_beam_state_free(&b->states[n]);
  free(b->states), free(b->slots), free(b->tokens);
  attn_token_batch_slice_free(&b->source);
  attn_tape_close(&b->tape);
  attn_decoder_free(b->decoder);
}

/* ---- Prompts ---- */

/* Tokens of prompts that the decoder reads in one pass, and to which slots they belong. */
struct prompt_pass {
  int64_t slots[PROMPT_ROWS], starts[PROMPT_ROWS + 1];
  int32_t tokens[PROMPT_ROWS];
  int64_t count;
};

static attn_status run_prompts(struct search_batch *b, struct prompt_pass *p, attn_error *err) {
  if (!p->count) return ATTN_OK;
  attn_status status = attn_decoder_read(b->decoder, p->count, p->slots, p->starts, p->tokens, err);
  p->count = 0;
  return status ? status : attn_parallel_batches_report(&b->search->batches, err);
}

/* Reads a part of a prompt, with parts of others where they fit. */
static attn_status add_part(struct search_batch *b, struct prompt_pass *p, int64_t n, int64_t from,
                            int64_t to, attn_error *err) {
  attn_status status = ATTN_OK;
  if (p->starts[p->count] + to - from > PROMPT_ROWS) status = run_prompts(b, p, err);
  int64_t row = p->starts[p->count];
  p->slots[p->count] = n;
  while (from < to) p->tokens[row++] = prompt_token(b, n, from++);
  p->starts[++p->count] = row;
  return status;
}

/* All tokens of the prompts but the last, which the first step reads. Other prompts do not change
 * where one is divided, so they change no bit. */
static attn_status read_prompts(struct search_batch *b, attn_error *err) {
  struct prompt_pass p = {.count = 0};
  attn_status status = ATTN_OK;
  for (int64_t n = 0; n < b->count && !b->search->batches.stopped; n++) {
    const int64_t end = prompt_length(b, n) - 1;
    for (int64_t from = 0; from < end && !status; from += PROMPT_ROWS)
      status = add_part(b, &p, n, from, end - from < PROMPT_ROWS ? end : from + PROMPT_ROWS, err);
  }
  return status ? status : run_prompts(b, &p, err);
}

/* ---- A step ---- */

/* Slot h of source n is the decoder's n + h count: the decoder gives its slot n source n. */
static int64_t gather_rows(const struct search_batch *b) {
  int64_t rows = 0;
  for (int64_t n = 0; n < b->count; n++)
    for (int64_t h = 0; h < b->states[n].num_open; h++, rows++)
      b->slots[rows] = n + b->states[n].open[h].slot * b->count,
      b->tokens[rows] = b->states[n].open[h].token;
  return rows;
}

static attn_status advance(struct search_batch *b, int64_t n, const float *logits,
                           attn_error *err) {
  struct attn_beam_state *state = &b->states[n];
  attn_status status = attn_beam_state_select(state, logits, err);
  if (!status) status = attn_beam_state_advance(state, b->decoder, n, b->count, err);
  if (!status && !state->num_open) b->search->batches.done++;
  return status;
}

static attn_status step(struct search_batch *b, int64_t rows, attn_error *err) {
  const float *logits;
  attn_status status = attn_decoder_step(b->decoder, rows, b->slots, b->tokens, &logits, err);
  for (int64_t n = 0; n < b->count && !status; n++) {
    int64_t open = b->states[n].num_open;
    if (open) status = advance(b, n, logits, err);
    logits += open * b->search->network->config.vocab_size;
  }
  return status;
}

static attn_status search_batch(void *search, int64_t first, int64_t count, attn_error *err) {
  struct token_search *s = search;
  struct search_batch b = {.search = s, .first = first, .count = count};
  int64_t rows;
  attn_status status = open_batch(&b, err);
  if (!status) status = read_prompts(&b, err);
  while (!status && !s->batches.stopped && (rows = gather_rows(&b)) > 0) {
    status = step(&b, rows, err);
    if (!status) status = attn_parallel_batches_report(&s->batches, err);
  }
  for (int64_t n = 0; n < count && !status && !s->batches.stopped; n++) {
    const struct attn_search_results results =
        attn_search_results_at(s->results, &s->config, first + n);
    attn_beam_state_write(&b.states[n], &results);
  }
  close_batch(&b);
  return status;
}

/* ---- An encoder's predictions: one token for each position of its source ---- */

static attn_status check_labels(const struct token_search *s, attn_error *err) {
  if (s->network->config.head == ATTN_HEAD_NONE)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "network",
                     "cannot predict tokens: the model has no output head");
  if (s->config.num_beams > 1)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "num_beams",
                     "an encoder predicts one token for each position: num_beams and "
                     "num_return_sequences must be 0 or 1, got %lld",
                     (long long)s->config.num_beams);
  if (s->config.temperature > 0)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "temperature",
                     "an encoder predicts the most likely token for each position: temperature "
                     "must be 0, got %g",
                     s->config.temperature);
  return ATTN_OK;
}

/* A search of one beam whose logits are all computed in advance. */
static attn_status predict(void *search, int64_t index, const float *logits, int64_t positions,
                           int64_t vocab_size, attn_error *err) {
  const struct token_search *s = search;
  const struct attn_search_results results = attn_search_results_at(s->results, &s->config, index);
  struct attn_beam_state state;
  attn_status status =
      attn_beam_state_init(&state, &s->config, vocab_size, s->config.first_sequence + index,
                           results.scores || results.log_probs, err);
  if (positions < state.max_new_tokens) state.max_new_tokens = positions;
  state.num_open = !status;
  for (; state.num_open && !status; logits += vocab_size) {
    status = attn_beam_state_select(&state, logits, err);
    if (!status) status = attn_beam_state_advance(&state, NULL, 0, 0, err);
  }
  if (!status) attn_beam_state_write(&state, &results);
  attn_beam_state_free(&state);
  return status;
}

static attn_status predict_labels(struct token_search *s, attn_error *err) {
  const struct attn_search_config *c = &s->config;
  struct attn_encoder_batches all = {
      .batches = {.batch_size = c->batch_size,
                  .threads = c->threads,
                  .watch = {.progress = c->progress, .context = c->context, .name = "progress"}},
      .network = s->network,
      .pack = c->pack,
      .texts = s->source,
      .logits = 1,
      .take = predict,
      .context = s};
  attn_status status = check_labels(s, err);
  return status ? status : attn_encoder_batches_run(&all, err);
}

attn_status attn_search_run(const struct attn_network *network,
                            const struct attn_token_batch *source,
                            const struct attn_search_config *config,
                            const struct attn_search_results *results, attn_error *err) {
  struct token_search s = {
      .network = network, .source = source, .config = complete(config), .results = results};
  attn_status status = check_config(&s.config, &network->config, err);
  if (!status) status = check_source(source, &network->config, &s.config, err);
  if (!status)
    status = check_prefixes(s.config.prefixes, source->sequences, &s.config, &network->config, err);
  if (status || !source->sequences) return status;
  if (network->config.kind == ATTN_ENCODER) return predict_labels(&s, err);
  s.batches = (struct attn_parallel_batches){
      .sequences = source->sequences,
      .batch_size = s.config.batch_size,
      .threads = config->threads,
      .work = search_batch,
      .argument = &s,
      .watch = {.progress = config->progress, .context = config->context, .name = "progress"}};
  return attn_parallel_batches_run(&s.batches, err);
}
