#include "inspect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "token_search.h"
#include "utf8.h"

static attn_status out_of_memory(attn_error *err) {
  return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for an inspection");
}

/* ---- Tokens ---- */

/* A token may end within a character: a byte that is not UTF-8 by itself becomes "<0xE4>", as in
 * byte-fallback tokenizers. */
static char *escape_bytes(const char *text, size_t bytes) {
  enum { ESCAPED = 6 };
  char *label = malloc(ESCAPED * bytes + 1), *to = label;
  if (!label) return NULL;
  for (size_t at = 0, step; at < bytes; at += step) {
    int32_t code;
    step = attn_utf8_read(text + at, bytes - at, &code);
    if (step)
      memcpy(to, text + at, step), to += step;
    else
      to += snprintf(to, ESCAPED + 1, "<0x%02X>", (unsigned char)text[at]), step = 1;
  }
  *to = 0;
  return label;
}

char *attn_inspection_token_text(const struct attn_model *m, int32_t id) {
  size_t bytes = 0;
  /* Decoding omits special tokens and the mark of a continuing word piece. */
  const char *word = attn_tokenizer_token(m->tokenizer, id);
  if (!word) return strdup("?"); /* an embedding row without a token */
  if (attn_tokenizer_is_special(m->tokenizer, id) ||
      attn_tokenizer_kind(m->tokenizer) == ATTN_TOKENIZER_WORDPIECE)
    return strdup(word);
  attn_tokenizer_decode(m->tokenizer, &id, 1, NULL, 0, &bytes, NULL);
  char *text = malloc(bytes + 1);
  if (!text) return NULL;
  attn_tokenizer_decode(m->tokenizer, &id, 1, text, bytes, &bytes, NULL);
  char *label = escape_bytes(text, bytes);
  free(text);
  return label;
}

/* first, count tokens, last; first and last are absent if negative. */
static attn_status set_tokens(struct attn_labeled_tokens *p, const struct attn_model *m,
                              int32_t first, const int32_t *tokens, int64_t count, int32_t last,
                              attn_error *err) {
  p->ids = calloc((size_t)count + 2, sizeof *p->ids);
  p->texts = calloc((size_t)count + 2, sizeof *p->texts);
  if (!p->ids || !p->texts) return out_of_memory(err);
  if (first >= 0) p->ids[p->count++] = first;
  if (count) memcpy(p->ids + p->count, tokens, (size_t)count * sizeof *tokens);
  p->count += count;
  if (last >= 0) p->ids[p->count++] = last;
  for (int64_t n = 0; n < p->count; n++)
    if (!(p->texts[n] = attn_inspection_token_text(m, p->ids[n]))) return out_of_memory(err);
  return ATTN_OK;
}

static void free_tokens(struct attn_labeled_tokens *p) {
  for (int64_t n = 0; p->texts && n < p->count; n++) free(p->texts[n]);
  free(p->ids), free(p->texts);
}

/* ---- Source and target ---- */

static attn_status generate_target(const struct attn_inspection *v, int32_t **tokens,
                                   int64_t *count, attn_error *err) {
  int64_t length = v->model->network->config.max_positions, starts[] = {0, v->source.count};
  const struct attn_token_batch text = {
      .n = v->source.count, .sequences = 1, .tokens = v->source.ids, .starts = starts};
  struct attn_search_config config = v->model->generation.search;
  config.num_beams = 0; /* greedy */
  config.max_new_tokens = length, config.threads = v->threads;
  if (!(*tokens = malloc((size_t)length * sizeof **tokens))) return out_of_memory(err);
  const struct attn_search_results results = {.tokens = *tokens, .token_counts = count};
  return attn_search_run(v->model->network, v->image.pixels ? &v->image.batch : &text, &config,
                         &results, err);
}

static attn_status open_source(struct attn_inspection *v, const char *source, attn_error *err) {
  int32_t *tokens = NULL;
  int64_t count = 0;
  if (!v->model->network->config.encoder_layers) return ATTN_OK;
  if (!source)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "source", "source is NULL: the encoder requires one");
  attn_status status = attn_model_tokenize_source(v->model, source, "source", &tokens, &count, err);
  if (!status) status = set_tokens(&v->source, v->model, -1, tokens, count, -1, err);
  free(tokens);
  return status;
}

/* The input is the begin token and the target, the prediction the target and the end token: a label
 * for each position also if the model has no end token. */
static attn_status set_target(struct attn_inspection *v, const int32_t *tokens, int64_t count,
                              attn_error *err) {
  enum { NO_TOKEN = INT32_MAX };
  const struct attn_generation_defaults *g = &v->model->generation;
  int32_t begin = g->search.bos < 0 && !count ? g->empty_prompt : g->search.bos;
  int32_t end = g->search.eos < 0 ? NO_TOKEN : g->search.eos;
  /* else it was cut: its last token is predicted at the last position */
  int has_end = begin < 0 || count < v->model->network->config.max_positions;
  attn_status status =
      set_tokens(&v->decoder_input, v->model, begin, tokens, has_end ? count : count - 1, -1, err);
  return status ? status
                : set_tokens(&v->predicted, v->model, -1, tokens, count, has_end ? end : -1, err);
}

/* A decoder reads the source followed by the target. */
static attn_status concatenate(const struct attn_inspection *v, const char *source,
                               const char *target, int32_t **tokens, int64_t *count,
                               attn_error *err) {
  int32_t *first = NULL, *second = NULL;
  int64_t n = 0, more = 0, length = v->model->network->config.max_positions;
  int64_t max = length - (v->model->generation.search.bos >= 0);
  attn_status status = ATTN_OK;
  if (!source && !target)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "source",
                     "source and target are NULL: a decoder requires one of them");
  if (source) status = attn_model_tokenize(v->model, source, "source", &first, &n, err);
  if (!status && target)
    status = attn_model_tokenize(v->model, target, "target", &second, &more, err);
  if (!status && n + more > max)
    status = attn_fail(err, ATTN_ERR_ARGUMENT, "target",
                       "source and target have %lld tokens; at most %lld fit into max_positions",
                       (long long)(n + more), (long long)max);
  if (!status && !(*tokens = calloc((size_t)(n + more) + 1, sizeof **tokens)))
    status = out_of_memory(err);
  if (!status && n) memcpy(*tokens, first, (size_t)n * sizeof *first);
  if (!status && more) memcpy(*tokens + n, second, (size_t)more * sizeof *second);
  *count = n + more;
  free(first), free(second);
  return status;
}

static attn_status open_target(struct attn_inspection *v, const char *source, const char *target,
                               attn_error *err) {
  const struct attn_model_config *c = &v->model->network->config;
  int32_t *tokens = NULL;
  int64_t count = 0;
  if (c->kind == ATTN_ENCODER && target)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "target", "an encoder takes no target");
  if (!c->decoder_layers) return ATTN_OK;
  attn_status status =
      c->kind == ATTN_DECODER ? concatenate(v, source, target, &tokens, &count, err)
      : target ? attn_model_tokenize(v->model, target, "target", &tokens, &count, err)
               : generate_target(v, &tokens, &count, err);
  if (!status) status = set_target(v, tokens, count, err);
  free(tokens);
  return status;
}

attn_status attn_inspection_open(struct attn_inspection *v, const struct attn_model *model,
                                 const char *source, const char *target, int32_t threads,
                                 attn_error *err) {
  memset(v, 0, sizeof *v);
  v->model = model, v->threads = threads;
  if (model->network->config.kind == ATTN_VISION_ENCODER_DECODER)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "model", "the model reads images, not texts");
  attn_status status = open_source(v, source, err);
  return status ? status : open_target(v, source, target, err);
}

/* The positions "row,column" of an image's grid, from 1. */
static attn_status set_grid(struct attn_inspection *v, attn_error *err) {
  struct attn_labeled_tokens *p = &v->source;
  int64_t side = attn_model_grid_size(&v->model->network->config);
  enum { LABEL = 48 };
  p->ids = calloc((size_t)(side * side), sizeof *p->ids);
  p->texts = calloc((size_t)(side * side), sizeof *p->texts);
  if (!p->ids || !p->texts) return out_of_memory(err);
  for (p->count = 0; p->count < side * side; p->count++) {
    char *text = p->texts[p->count] = malloc(LABEL);
    if (!text) return out_of_memory(err);
    p->ids[p->count] = v->image.tokens[p->count];
    snprintf(text, LABEL, "%lld,%lld", (long long)(p->count / side + 1),
             (long long)(p->count % side + 1));
  }
  return ATTN_OK;
}

attn_status attn_inspection_open_image(struct attn_inspection *v, const struct attn_model *model,
                                       const attn_tensor *image, const char *caption,
                                       int32_t threads, attn_error *err) {
  memset(v, 0, sizeof *v);
  v->model = model, v->threads = threads;
  attn_status status = attn_image_source_open(&v->image, model, image, 1, err);
  if (!status) status = set_grid(v, err);
  return status ? status : open_target(v, "", caption, err);
}

void attn_inspection_close(struct attn_inspection *v) {
  free_tokens(&v->source), free_tokens(&v->decoder_input), free_tokens(&v->predicted);
  attn_image_source_close(&v->image);
}

attn_status attn_inspection_trace(const struct attn_inspection *v,
                                  int (*visit)(void *context,
                                               const struct attn_traced_attention *attention),
                                  void *context, attn_error *err) {
  return attn_transformer_trace(v->model->network, v->source.ids, v->source.count, v->image.pixels,
                                v->decoder_input.ids, v->decoder_input.count, v->threads, visit,
                                context, err);
}

char **attn_inspection_query_tokens(const struct attn_inspection *v, attn_attention_kind kind) {
  return kind == ATTN_ATTENTION_ENCODER ? v->source.texts
         : kind == ATTN_ATTENTION_CROSS ? v->predicted.texts
                                        : v->decoder_input.texts;
}

char **attn_inspection_key_tokens(const struct attn_inspection *v, attn_attention_kind kind) {
  return kind == ATTN_ATTENTION_DECODER ? v->decoder_input.texts : v->source.texts;
}

/* ---- attn_model_visit_attention, attn_model_visit_caption ---- */

struct head_visitor {
  const struct attn_inspection *inspection;
  int (*visit)(void *context, const attn_attention *attention);
  void *context;
};

static int visit_heads(void *context, const struct attn_traced_attention *attention) {
  const struct head_visitor *s = context;
  const attn_attention_kind kind = attention->kind;
  int stop = 0;
  for (int64_t h = 0; h < attention->heads && !stop; h++) {
    const attn_attention one = {
        .kind = (int32_t)kind,
        .layer = (int32_t)attention->layer,
        .head = (int32_t)h,
        .queries = attention->queries,
        .keys = attention->keys,
        .weights = attention->weights + h * attention->queries * attention->keys,
        .query_tokens = (const char *const *)attn_inspection_query_tokens(s->inspection, kind),
        .key_tokens = (const char *const *)attn_inspection_key_tokens(s->inspection, kind)};
    stop = s->visit(s->context, &one);
  }
  return stop;
}

/* Of an opened inspection, which is closed; status: of the opening. */
static attn_status visit_all(struct attn_inspection *v, attn_status status,
                             int (*visit)(void *context, const attn_attention *attention),
                             void *context, attn_error *err) {
  struct head_visitor visitor = {v, visit, context};
  if (!status) status = attn_inspection_trace(v, visit_heads, &visitor, err);
  attn_inspection_close(v);
  return status;
}

attn_status attn_model_visit_attention(const attn_model *model, const char *source,
                                       const char *target, int32_t threads,
                                       int (*visit)(void *context, const attn_attention *attention),
                                       void *context, attn_error *err) {
  struct attn_inspection v;
  attn_status status = attn_inspection_open(&v, model, source, target, threads, err);
  return visit_all(&v, status, visit, context, err);
}

attn_status attn_model_visit_caption(const attn_model *model, const attn_tensor *image,
                                     const char *caption, int32_t threads,
                                     int (*visit)(void *context, const attn_attention *attention),
                                     void *context, attn_error *err) {
  struct attn_inspection v;
  attn_status status = attn_inspection_open_image(&v, model, image, caption, threads, err);
  return visit_all(&v, status, visit, context, err);
}
