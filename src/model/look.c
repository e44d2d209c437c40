#include "look.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "token_search.h"
#include "utf8.h"

static attn_status out_of_memory(attn_error *err) {
  return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory to look inside");
}

/* ---- Tokens ---- */

/* A token may end within a character: a byte that is no UTF-8 by itself is named, <0xE4>, as the
 * tokenizers that fall back to bytes spell it. */
static char *label_of(const char *text, size_t bytes) {
  enum { NAMED = 6 };
  char *label = malloc(NAMED * bytes + 1), *to = label;
  if (!label) return NULL;
  for (size_t at = 0, step; at < bytes; at += step) {
    int32_t code;
    step = attn_utf8_read(text + at, bytes - at, &code);
    if (step)
      memcpy(to, text + at, step), to += step;
    else
      to += snprintf(to, NAMED + 1, "<0x%02X>", (unsigned char)text[at]), step = 1;
  }
  *to = 0;
  return label;
}

static char *text_of(const struct attn_model *m, int32_t id) {
  size_t bytes = 0;
  /* Decoding leaves special tokens out, and does not tell a word from a piece that goes on. */
  const char *word = attn_tokenizer_token(m->tokenizer, id);
  if (!word) return strdup("?"); /* a row of the table behind the last word */
  if (attn_tokenizer_is_special(m->tokenizer, id) ||
      attn_tokenizer_kind(m->tokenizer) == ATTN_TOKENIZER_WORDPIECE)
    return strdup(word);
  attn_tokenizer_decode(m->tokenizer, &id, 1, NULL, 0, &bytes, NULL);
  char *text = malloc(bytes + 1);
  if (!text) return NULL;
  attn_tokenizer_decode(m->tokenizer, &id, 1, text, bytes, &bytes, NULL);
  char *label = label_of(text, bytes);
  free(text);
  return label;
}

/* first, then count tokens, then last; below 0: none. */
static attn_status hold(struct attn_passage_tokens *p, const struct attn_model *m, int32_t first,
                        const int32_t *tokens, int64_t count, int32_t last, attn_error *err) {
  p->id = calloc((size_t)count + 2, sizeof *p->id);
  p->text = calloc((size_t)count + 2, sizeof *p->text);
  if (!p->id || !p->text) return out_of_memory(err);
  if (first >= 0) p->id[p->count++] = first;
  if (count) memcpy(p->id + p->count, tokens, (size_t)count * sizeof *tokens);
  p->count += count;
  if (last >= 0) p->id[p->count++] = last;
  for (int64_t n = 0; n < p->count; n++)
    if (!(p->text[n] = text_of(m, p->id[n]))) return out_of_memory(err);
  return ATTN_OK;
}

static void forget(struct attn_passage_tokens *p) {
  for (int64_t n = 0; p->text && n < p->count; n++) free(p->text[n]);
  free(p->id), free(p->text);
}

/* ---- What is said ---- */

static attn_status say(const struct attn_viewing *v, int32_t **tokens, int64_t *count,
                       attn_error *err) {
  int64_t length = v->model->network->config.length, starts[] = {0, v->source.count};
  const struct attn_text text = {
      .n = v->source.count, .sequences = 1, .tokens = v->source.id, .starts = starts};
  struct attn_search how = attn_generating_search(&v->model->generating);
  how.most = length, how.threads = v->threads;
  if (!(*tokens = malloc((size_t)length * sizeof **tokens))) return out_of_memory(err);
  const struct attn_found found = {.tokens = *tokens, .counts = count};
  return attn_search_run(v->model->network, &text, &how, &found, err);
}

static attn_status open_source(struct attn_viewing *v, const char *source, attn_error *err) {
  int32_t *tokens = NULL;
  int64_t count = 0;
  if (!v->model->network->config.encoder_layers) return ATTN_OK;
  if (!source) return attn_fail(err, ATTN_ERR_ARGUMENT, "source", "the encoder needs a source");
  attn_status status = attn_model_encode_whole(v->model, source, "source", &tokens, &count, err);
  if (!status) status = hold(&v->source, v->model, -1, tokens, count, -1, err);
  free(tokens);
  return status;
}

/* What is read is what begins and what is said. */
static attn_status hold_target(struct attn_viewing *v, const int32_t *tokens, int64_t count,
                               attn_error *err) {
  const struct attn_generating *g = &v->model->generating;
  int32_t begin = g->begin < 0 && !count ? g->empty : g->begin;
  /* else it was cut, and its last token is said at the last place */
  int ends = begin < 0 || count < v->model->network->config.length;
  attn_status status = hold(&v->read, v->model, begin, tokens, ends ? count : count - 1, -1, err);
  return status ? status : hold(&v->said, v->model, -1, tokens, count, ends ? g->end : -1, err);
}

/* What a decoder alone reads: the source, and the target behind it, as generation goes on. */
static attn_status join(const struct attn_viewing *v, const char *source, const char *target,
                        int32_t **tokens, int64_t *count, attn_error *err) {
  int32_t *first = NULL, *second = NULL;
  int64_t n = 0, more = 0, length = v->model->network->config.length;
  int64_t room = length - (v->model->generating.begin >= 0);
  attn_status status = ATTN_OK;
  if (!source && !target)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "source", "a decoder alone needs a text to read");
  if (source) status = attn_model_encode(v->model, source, "source", &first, &n, err);
  if (!status && target)
    status = attn_model_encode(v->model, target, "target", &second, &more, err);
  if (!status && n + more > room)
    status = attn_fail(err, ATTN_ERR_ARGUMENT, "target",
                       "source and target have %lld tokens; the model has positions for %lld",
                       (long long)(n + more), (long long)room);
  if (!status && !(*tokens = calloc((size_t)(n + more) + 1, sizeof **tokens)))
    status = out_of_memory(err);
  if (!status && n) memcpy(*tokens, first, (size_t)n * sizeof *first);
  if (!status && more) memcpy(*tokens + n, second, (size_t)more * sizeof *second);
  *count = n + more;
  free(first), free(second);
  return status;
}

static attn_status open_target(struct attn_viewing *v, const char *source, const char *target,
                               attn_error *err) {
  const struct attn_config *c = &v->model->network->config;
  int32_t *tokens = NULL;
  int64_t count = 0;
  if (c->kind == ATTN_ENCODER && target)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "target", "an encoder alone reads no target");
  if (!c->decoder_layers) return ATTN_OK;
  attn_status status = !c->encoder_layers ? join(v, source, target, &tokens, &count, err)
                       : target
                           ? attn_model_encode(v->model, target, "target", &tokens, &count, err)
                           : say(v, &tokens, &count, err);
  if (!status) status = hold_target(v, tokens, count, err);
  free(tokens);
  return status;
}

attn_status attn_viewing_open(struct attn_viewing *v, const struct attn_model *model,
                              const char *source, const char *target, int32_t threads,
                              attn_error *err) {
  memset(v, 0, sizeof *v);
  v->model = model, v->threads = threads;
  attn_status status = open_source(v, source, err);
  return status ? status : open_target(v, source, target, err);
}

void attn_viewing_close(struct attn_viewing *v) {
  forget(&v->source), forget(&v->read), forget(&v->said);
}

attn_status attn_viewing_trace(const struct attn_viewing *v,
                               int (*look)(void *context, const struct attn_trace_site *site),
                               void *context, attn_error *err) {
  return attn_transformer_trace(v->model->network, v->source.id, v->source.count, v->read.id,
                                v->read.count, v->threads, look, context, err);
}

const struct attn_passage_tokens *attn_viewing_queries(const struct attn_viewing *v,
                                                       enum attn_trace_kind kind) {
  return kind == ATTN_TRACE_ENCODER ? &v->source : kind == ATTN_TRACE_CROSS ? &v->said : &v->read;
}

const struct attn_passage_tokens *attn_viewing_keys(const struct attn_viewing *v,
                                                    enum attn_trace_kind kind) {
  return kind == ATTN_TRACE_DECODER ? &v->read : &v->source;
}

/* ---- Head by head ---- */

struct showing {
  const struct attn_viewing *viewing;
  int (*look)(void *context, const attn_attention *attention);
  void *context;
};

static int show(void *context, const struct attn_trace_site *site) {
  const struct showing *s = context;
  int stop = 0;
  for (int64_t h = 0; h < site->heads && !stop; h++) {
    const attn_attention one = {
        .kind = (int32_t)site->kind,
        .layer = (int32_t)site->layer,
        .head = (int32_t)h,
        .queries = site->queries,
        .keys = site->keys,
        .weights = site->weights + h * site->queries * site->keys,
        .query = (const char *const *)attn_viewing_queries(s->viewing, site->kind)->text,
        .key = (const char *const *)attn_viewing_keys(s->viewing, site->kind)->text};
    stop = s->look(s->context, &one);
  }
  return stop;
}

attn_status attn_model_look(const attn_model *model, const char *source, const char *target,
                            int32_t threads,
                            int (*look)(void *context, const attn_attention *attention),
                            void *context, attn_error *err) {
  struct attn_viewing viewing;
  struct showing showing = {&viewing, look, context};
  attn_status status = attn_viewing_open(&viewing, model, source, target, threads, err);
  if (!status) status = attn_viewing_trace(&viewing, show, &showing, err);
  attn_viewing_close(&viewing);
  return status;
}
