#include "token_search.h"

#include <math.h>
#include <stdlib.h>

#include "batch.h"
#include "beam_state.h"
#include "error.h"
#include "predict_labels.h"
#include "parallel_batches.h"

/* ---- Checks ---- */

static attn_status refuse(attn_error *err, const char *name, const char *must) {
  return attn_fail(err, ATTN_ERR_ARGUMENT, name, "%s must be %s", name, must);
}

static attn_status check_choice(const struct attn_search_config *s,
                                const struct attn_model_config *c, attn_error *err) {
  if (c->kind != ATTN_ENCODER && c->decoder_layers < 1)
    return refuse(err, "network", "a model that has decoder layers, or an encoder alone");
  if (s->most < 1 || s->most > c->max_positions)
    return refuse(err, "most", "at least 1 and within the model's positions");
  if (s->begin < -1 || s->begin >= c->vocab_size)
    return refuse(err, "begin", "a token of the vocabulary, or -1");
  if (s->end < -1 || s->end >= c->vocab_size)
    return refuse(err, "end", "a token of the vocabulary, or -1");
  if (s->beams < 1 || s->beams > ATTN_NUM_BEAMS_MAX) return refuse(err, "beams", "0 .. 4096");
  if (s->n_best < 1 || s->n_best > s->beams) return refuse(err, "n_best", "at most beams");
  int theirs = s->rule == ATTN_BEAM_RULE_HUGGING_FACE;
  if (!(s->length_penalty >= (theirs ? -10 : 0) && s->length_penalty <= 10))
    return refuse(err, "length_penalty", theirs ? "in -10 .. 10" : "in 0 .. 10");
  if (!(s->temperature >= 0 && isfinite(s->temperature)))
    return refuse(err, "temperature", "0 or a finite number above it");
  if (s->temperature > 0 && s->beams > 1) return refuse(err, "beams", "1 where tokens are drawn");
  if (!(s->top_p > 0 && s->top_p <= 1)) return refuse(err, "top_p", "in 0 .. 1");
  if (s->top_k < 0) return refuse(err, "top_k", "at least 0");
  if (s->together < 1) return refuse(err, "together", "at least 0");
  return s->threads < 0 ? refuse(err, "threads", "at least 0") : ATTN_OK;
}

static struct attn_search_config complete(const struct attn_search_config *given) {
  struct attn_search_config s = *given;
  if (!s.beams) s.beams = 1;
  if (!s.n_best) s.n_best = 1;
  if (!s.together) s.together = 1;
  if (s.top_p == 0) s.top_p = 1;
  return s;
}

static attn_status check_source(const struct attn_token_batch *t, const struct attn_model_config *c,
                                const struct attn_search_config *s, attn_error *err) {
  int continues = c->kind == ATTN_DECODER;
  int64_t words = continues ? c->vocab_size : c->source_vocab_size;
  int64_t room = continues ? c->max_positions - (s->begin >= 0) : c->max_positions;
  if (continues && s->longest && room > s->longest - 1 - (s->begin >= 0))
    room = s->longest - 1 - (s->begin >= 0);
  if (t->sequences < 0 || t->starts[0] != 0 || t->starts[t->sequences] != t->n)
    return refuse(err, "source", "sequences that begin at 0 and end at n");
  for (int64_t n = 0; n < t->sequences; n++) {
    int64_t count = t->starts[n + 1] - t->starts[n];
    if (count < 0 || count > room || (count == 0 && !(continues && s->begin >= 0)))
      return attn_fail(err, ATTN_ERR_ARGUMENT, "source",
                       "source %lld has %lld tokens; there must be some, and room for %lld",
                       (long long)n, (long long)count, (long long)room);
  }
  for (int64_t n = 0; n < t->n; n++)
    if (t->tokens[n] < 0 || t->tokens[n] >= words)
      return attn_fail(err, ATTN_ERR_ARGUMENT, "source", "token %d is none of the vocabulary",
                       (int)t->tokens[n]);
  return c->kind != ATTN_ENCODER_DECODER || s->begin >= 0
             ? ATTN_OK
             : refuse(err, "begin", "a token where there are encoder and decoder");
}

/* ---- Sources that are searched together ---- */

struct run {
  const struct attn_network *network;
  const struct attn_token_batch *source;
  struct attn_search_config how;
  const struct attn_search_results *found;
  struct attn_parallel_batches sharing;
};

struct group {
  struct run *run;
  struct attn_token_batch_slice source;
  struct attn_beam_state *lines;
  int64_t count, *reads, *slots;
  int32_t *tokens;
  struct attn_tape tape;
  struct attn_value *memory;
  struct attn_decoder *decoder;
};

static attn_status out_of_memory(attn_error *err) {
  return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for a search");
}

static int has_encoder(const struct group *g) {
  return g->run->network->config.kind == ATTN_ENCODER_DECODER;
}

/* Tokens that are read before the first is said: the beginning, and what is to be continued. */
static int64_t tokens_before(const struct group *g, int64_t line) {
  return (g->run->how.begin >= 0) +
         (has_encoder(g) ? 0 : g->source.starts[line + 1] - g->source.starts[line]);
}

static int32_t token_before(const struct group *g, int64_t line, int64_t n) {
  int begins = g->run->how.begin >= 0;
  return begins && n == 0 ? g->run->how.begin
                          : g->source.text.tokens[g->source.starts[line] + n - begins];
}

static attn_status open_lines(struct group *g, int64_t first, attn_error *err) {
  const struct run *r = g->run;
  int64_t words = r->network->config.vocab_size, length = r->network->config.max_positions;
  int weighs = r->how.beams > 1 || r->found->scores || r->found->log_probabilities;
  attn_status status = ATTN_OK;
  for (int64_t n = 0; n < g->count && !status; n++) {
    struct attn_beam_state *l = &g->lines[n];
    status =
        attn_beam_state_init(l, &r->how, words, r->how.first_sequence + first + n, weighs, err);
    if (status) break;
    g->reads[n] = tokens_before(g, n);
    if (l->most > length - g->reads[n] + 1) l->most = length - g->reads[n] + 1;
    if (r->how.longest && l->most > r->how.longest - g->reads[n])
      l->most = r->how.longest - g->reads[n];
    l->open = 1, l->now[0] = (struct attn_hypothesis){.token = token_before(g, n, 0)};
  }
  return status;
}

static attn_status open_group(struct group *g, int64_t first, attn_error *err) {
  const struct run *r = g->run;
  int64_t rows = g->count * r->how.beams, longest = 1;
  g->lines = calloc((size_t)g->count, sizeof *g->lines);
  g->reads = calloc((size_t)g->count, sizeof *g->reads);
  g->slots = calloc((size_t)rows, sizeof *g->slots);
  g->tokens = calloc((size_t)rows, sizeof *g->tokens);
  if (!g->lines || !g->reads || !g->slots || !g->tokens) return out_of_memory(err);
  attn_status status = attn_token_batch_slice_new(&g->source, g->run->source, first, g->count, err);
  if (!status) status = open_lines(g, first, err);
  g->tape.host.threads = 1;
  if (!status && has_encoder(g))
    status = attn_transformer_encode_alone(r->network, r->how.pack, &g->tape, &g->source.text,
                                           &g->memory, err);
  if (status) return status;
  for (int64_t n = 0; n < g->count; n++)
    if (g->reads[n] + g->lines[n].most - 1 > longest) longest = g->reads[n] + g->lines[n].most - 1;
  status =
      attn_decoder_new(r->network, r->how.pack, g->memory, has_encoder(g) ? &g->source.text : NULL,
                       rows, longest, 1, &g->decoder, err);
  attn_tape_close(&g->tape);
  return status;
}

static void close_group(struct group *g) {
  for (int64_t n = 0; g->lines && n < g->count; n++) attn_beam_state_free(&g->lines[n]);
  free(g->lines), free(g->reads), free(g->slots), free(g->tokens);
  attn_token_batch_slice_free(&g->source);
  attn_tape_close(&g->tape);
  attn_decoder_free(g->decoder);
}

/* ---- A step ---- */

/* Slot h of line n is the decoder's n + h count: so each line's first has its source. */
static int64_t gather(const struct group *g) {
  int64_t rows = 0;
  for (int64_t n = 0; n < g->count; n++)
    for (int64_t h = 0; h < g->lines[n].open; h++, rows++)
      g->slots[rows] = n + g->lines[n].now[h].slot * g->count,
      g->tokens[rows] = g->lines[n].now[h].token;
  return rows;
}

static attn_status advance(struct group *g, int64_t n, const float *logits, attn_error *err) {
  struct attn_beam_state *l = &g->lines[n];
  if (--g->reads[n] > 0) {
    l->now[0].token = token_before(g, n, tokens_before(g, n) - g->reads[n]);
    return ATTN_OK;
  }
  attn_status status = attn_beam_state_select(l, logits, err);
  if (!status) status = attn_beam_state_advance(l, g->decoder, n, g->count, err);
  if (!status && !l->open) g->run->sharing.done++;
  return status;
}

static attn_status step(struct group *g, int64_t rows, attn_error *err) {
  const float *logits;
  attn_status status = attn_decoder_step(g->decoder, rows, g->slots, g->tokens, &logits, err);
  for (int64_t n = 0; n < g->count && !status; n++) {
    int64_t open = g->lines[n].open;
    if (open) status = advance(g, n, logits, err);
    logits += open * g->run->network->config.vocab_size;
  }
  return status;
}

/* ---- The whole ---- */

static attn_status search_group(void *run, int64_t first, int64_t count, attn_error *err) {
  struct run *r = run;
  struct group g = {.run = r, .count = count};
  int64_t rows;
  attn_status status = open_group(&g, first, err);
  while (!status && !r->sharing.halted && (rows = gather(&g)) > 0) {
    status = step(&g, rows, err);
    if (!status) status = attn_parallel_batches_report(&r->sharing, err);
  }
  for (int64_t n = 0; n < count && !status && !r->sharing.halted; n++) {
    const struct attn_search_results found = attn_search_results_of(r->found, &r->how, first + n);
    attn_beam_state_write(&g.lines[n], &found);
  }
  close_group(&g);
  return status;
}

attn_status attn_search_run(const struct attn_network *network,
                            const struct attn_token_batch *source,
                            const struct attn_search_config *how,
                            const struct attn_search_results *found, attn_error *err) {
  struct run r = {.network = network, .source = source, .how = complete(how), .found = found};
  attn_status status = check_choice(&r.how, &network->config, err);
  if (!status) status = check_source(source, &network->config, &r.how, err);
  if (status || !source->sequences) return status;
  if (network->config.kind == ATTN_ENCODER)
    return attn_predict_labels(network, source, &r.how, found, err);
  r.sharing = (struct attn_parallel_batches){
      .sequences = source->sequences,
      .together = r.how.together,
      .threads = how->threads,
      .work = search_group,
      .argument = &r,
      .watch = {.stop = how->stop, .context = how->context, .name = "progress"}};
  return attn_parallel_batches_run(&r.sharing, err);
}
