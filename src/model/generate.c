/* generate.c -- texts in, texts out. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "descriptor.h"
#include "error.h"
#include "model.h"
#include "token_search.h"

/* Sources as tokens one behind another, and what is said of them. */
struct talk {
  const struct attn_model *model;
  attn_generation how;
  int64_t count, n_best, most;
  attn_reply *replies;
  struct attn_text text;
  int32_t *tokens;
  int64_t *starts;
  struct attn_found found;
};

static attn_status out_of_memory(attn_error *err) {
  return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for what is said");
}

static int has_encoder(const struct talk *t) {
  return t->model->network->config.kind != ATTN_DECODER;
}

static void put(struct talk *t, int32_t token) {
  if (token >= 0) t->tokens[t->text.n++] = token;
}

/* What an encoder reads ends; what is to go on does not, but it may not be nothing. */
static attn_status add_source(struct talk *t, const char *source, attn_error *err) {
  const struct attn_generating *g = &t->model->generating;
  int32_t *tokens = NULL, *more;
  int64_t count = 0;
  attn_status status = attn_model_encode(t->model, source, "sources", &tokens, &count, err);
  if (status) return status;
  size_t room = (size_t)(t->text.n + count + 2) * sizeof *more;
  if (!(more = realloc(t->tokens, room))) return free(tokens), out_of_memory(err);
  t->tokens = more;
  put(t, has_encoder(t) ? g->before : count ? -1 : g->empty);
  if (count) memcpy(more + t->text.n, tokens, (size_t)count * sizeof *more);
  free(tokens);
  t->text.n += count;
  put(t, has_encoder(t) ? g->behind : -1);
  t->starts[++t->text.sequences] = t->text.n;
  return ATTN_OK;
}

static attn_status read_sources(struct talk *t, const char *const *sources, attn_error *err) {
  int64_t length = t->model->network->config.length;
  attn_status status = ATTN_OK;
  t->starts = calloc((size_t)t->count + 1, sizeof *t->starts);
  if (!t->starts) return out_of_memory(err);
  for (int64_t n = 0; n < t->count && !status; n++) status = add_source(t, sources[n], err);
  int64_t own = t->model->generating.most, wanted = t->how.most ? t->how.most : own;
  t->most = wanted && wanted < length ? wanted : length;
  t->text.tokens = t->tokens, t->text.starts = t->starts;
  return status;
}

static attn_status make_room(struct talk *t, attn_error *err) {
  size_t replies = (size_t)(t->count * t->n_best), tokens = replies * (size_t)t->most;
  t->found = (struct attn_found){.tokens = malloc(tokens * sizeof(int32_t)),
                                 .counts = malloc(replies * sizeof(int64_t)),
                                 .ended = malloc(replies),
                                 .scores = malloc(replies * sizeof(double)),
                                 .log_probabilities = malloc(tokens * sizeof(float))};
  const struct attn_found *f = &t->found;
  return f->tokens && f->counts && f->ended && f->scores && f->log_probabilities
             ? ATTN_OK
             : out_of_memory(err);
}

static attn_status search(struct talk *t, attn_error *err) {
  const attn_generation *h = &t->how;
  const struct attn_pack *pack;
  attn_status status = attn_model_pack(t->model, h->precision == ATTN_BF16, &pack, err);
  if (status) return status;
  struct attn_search how = attn_generating_search(&t->model->generating);
  how.most = t->most;
  how.beams = h->beams, how.n_best = h->n_best;
  if (h->length_penalty != 0) how.length_penalty = h->length_penalty;
  how.temperature = h->temperature, how.top_p = h->top_p, how.top_k = h->top_k;
  how.seed = h->seed, how.together = h->together, how.threads = h->threads, how.pack = pack;
  how.stop = h->progress, how.context = h->progress_context;
  return attn_search_run(t->model->network, &t->text, &how, &t->found, err);
}

/* A table may have rows behind the vocabulary's last word: what has no word has no text. */
static size_t keep_words(const struct attn_model *m, int32_t *tokens, size_t count) {
  size_t kept = 0;
  for (size_t n = 0; n < count; n++)
    if (attn_tokenizer_token(m->tokenizer, tokens[n])) tokens[kept++] = tokens[n];
  return kept;
}

/* A caller's reply may be longer or shorter than ours. */
static attn_reply *reply_at(attn_reply *replies, int64_t n) {
  return (attn_reply *)(void *)((char *)replies + (size_t)n * replies->struct_size);
}

static void empty(attn_reply *replies, int64_t count) {
  const attn_reply none = {.struct_size = count ? replies->struct_size : 0};
  for (int64_t n = 0; n < count; n++) {
    attn_reply *one = reply_at(replies, n);
    memcpy(one, &none.struct_size, sizeof none.struct_size);
    attn_descriptor_fill(one, &none, sizeof none);
  }
}

static attn_status write_reply(const struct talk *t, int64_t n, attn_reply *reply,
                               attn_error *err) {
  const struct attn_found *f = &t->found;
  const int32_t *tokens = f->tokens + n * t->most;
  size_t count = (size_t)f->counts[n], bytes = 0;
  size_t known = keep_words(t->model, f->tokens + n * t->most, count);
  attn_tokenizer_decode(t->model->tokenizer, tokens, known, NULL, 0, &bytes, NULL);
  char *text = malloc(bytes + 1);
  if (!text) return out_of_memory(err);
  attn_status status =
      attn_tokenizer_decode(t->model->tokenizer, tokens, known, text, bytes, &bytes, err);
  if (status) return free(text), status;
  text[bytes] = 0;
  attn_reply said = {.struct_size = sizeof said,
                     .text = text,
                     .bytes = (int64_t)bytes,
                     .tokens = (int64_t)count,
                     .score = f->scores[n],
                     .ended = f->ended[n]};
  for (size_t k = 0; k < count + f->ended[n]; k++)
    said.log_p += (double)f->log_probabilities[n * t->most + (int64_t)k];
  attn_descriptor_fill(reply, &said, sizeof said);
  return ATTN_OK;
}

static attn_status talk(struct talk *t, const char *const *sources, attn_error *err) {
  attn_reply *replies = t->replies;
  attn_status status = read_sources(t, sources, err);
  if (!status) status = make_room(t, err);
  if (!status) status = search(t, err);
  for (int64_t n = 0; n < t->count * t->n_best && !status; n++)
    if (t->found.counts[n] >= 0) status = write_reply(t, n, reply_at(replies, n), err);
  if (status) attn_replies_free(replies, t->count * t->n_best);
  return status;
}

/* Sizes are products of these: they stay far below 2^63. */
static attn_status check(const struct talk *t, attn_error *err) {
  const attn_generation *h = &t->how;
  const struct attn_config *c = &t->model->network->config;
  if ((t->model->foreign && c->kind == ATTN_ENCODER) || c->head == ATTN_HEAD_NONE)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "model",
                     "an encoder that never learned to say what belongs to a source: it says "
                     "nothing, but it embeds");
  if (t->count < 0 || t->count > 1 << 24)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "count", "count is %lld; it may be 0 to 2^24",
                     (long long)t->count);
  if (h->beams < 0 || h->beams > ATTN_BEAMS_MOST || h->n_best < 0 ||
      h->n_best > (h->beams ? h->beams : 1))
    return attn_fail(err, ATTN_ERR_ARGUMENT, "n_best",
                     "%d replies of %d beams: beams may be 0 to %d, n_best at most beams",
                     (int)h->n_best, (int)h->beams, ATTN_BEAMS_MOST);
  if (h->precision && h->precision != ATTN_F32 && h->precision != ATTN_BF16)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "precision",
                     "precision must be ATTN_F32 or ATTN_BF16, or 0 for the former");
  if (h->most < 0) return attn_fail(err, ATTN_ERR_ARGUMENT, "most", "most is negative");
  size_t size = sizeof(attn_reply);
  return t->count ? attn_descriptor_expect(t->replies, size, size, "replies", err) : ATTN_OK;
}

attn_status attn_model_generate(const attn_model *model, const char *const *sources, int64_t count,
                                const attn_generation *how, attn_reply *replies, attn_error *err) {
  struct talk t = {.model = model, .count = count, .replies = replies};
  attn_status status = attn_descriptor_copy(how, &t.how, sizeof t.how,
                                            offsetof(attn_generation, precision), "how", err);
  if (!t.how.beams && !(t.how.temperature > 0)) t.how.beams = model->generating.beams;
  if (!status) status = check(&t, err);
  if (status) return status;
  t.n_best = t.how.n_best ? t.how.n_best : 1;
  empty(replies, count * t.n_best);
  status = talk(&t, sources, err);
  free(t.tokens), free(t.starts), free(t.found.tokens), free(t.found.counts), free(t.found.ended);
  free(t.found.scores), free(t.found.log_probabilities);
  return status;
}

void attn_replies_free(attn_reply *replies, int64_t count) {
  if (!replies || count < 1 || !replies->struct_size) return;
  for (int64_t n = 0; n < count; n++) {
    char *text;
    memcpy(&text, (const char *)reply_at(replies, n) + offsetof(attn_reply, text), sizeof text);
    free(text);
  }
  empty(replies, count);
}
