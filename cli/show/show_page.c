#include "show_page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attn/picture.h"
#include "command.h"
#include "console.h"
#include "picture_files.h"

enum { KINDS = 3, RESULTS_MAX = 16, CONTINUATION = 32 };

/* What the model does with one text. */
struct page_text {
  const char *source;
  attn_attention *heads;
  int32_t count, capacity;
  char **tokens[KINDS][2]; /* of queries and keys, which the heads of a kind share */
  int64_t lengths[KINDS][2];
  attn_generation_result results[RESULTS_MAX];
  int32_t result_count;
  int failed; /* no memory */
};

/* ---- Copies of heads ---- */

static char **copy_tokens(const char *const *tokens, int64_t count, int *failed) {
  char **copy = calloc((size_t)count, sizeof *copy);
  for (int64_t n = 0; n < count && copy; n++) *failed |= !(copy[n] = strdup(tokens[n]));
  *failed |= !copy;
  return copy;
}

static int grow(struct page_text *t) {
  const int32_t capacity = t->capacity ? 2 * t->capacity : 64;
  if (t->count < t->capacity) return 1;
  void *heads = realloc(t->heads, (size_t)capacity * sizeof *t->heads);
  if (heads) t->heads = heads, t->capacity = capacity;
  return heads != NULL;
}

/* The callback of attn_model_visit_attention. */
static int copy_head(void *context, const attn_attention *a) {
  struct page_text *t = context;
  const size_t size = (size_t)(a->queries * a->keys) * sizeof *a->weights;
  float *weights = malloc(size);
  if (!weights || !grow(t)) return free(weights), t->failed = 1;
  if (!t->tokens[a->kind][0]) {
    t->tokens[a->kind][0] = copy_tokens(a->query_tokens, a->queries, &t->failed);
    t->tokens[a->kind][1] = copy_tokens(a->key_tokens, a->keys, &t->failed);
    t->lengths[a->kind][0] = a->queries, t->lengths[a->kind][1] = a->keys;
  }
  attn_attention *copy = &t->heads[t->count++];
  *copy = *a;
  copy->weights = memcpy(weights, a->weights, size);
  copy->query_tokens = (const char *const *)t->tokens[a->kind][0];
  copy->key_tokens = (const char *const *)t->tokens[a->kind][1];
  return t->failed;
}

static void free_text(struct page_text *t) {
  for (int32_t n = 0; n < t->count; n++) free((void *)(uintptr_t)t->heads[n].weights);
  for (int kind = 0; kind < KINDS; kind++)
    for (int side = 0; side < 2; side++) {
      char **tokens = t->tokens[kind][side];
      for (int64_t n = 0; n < t->lengths[kind][side] && tokens; n++) free(tokens[n]);
      free(tokens);
    }
  attn_generation_results_free(t->results, t->result_count);
  free(t->heads);
}

/* ---- Running the model ---- */

/* An encoder-decoder generates unless the target is given, a decoder on request. An encoder
 * generates its labels if it has any. */
static attn_status generate(struct page_text *t, const attn_model *model,
                            const struct attn_cli_page_options *o,
                            const struct attn_cli_attention_options *a, attn_error *err) {
  attn_model_info info = {.struct_size = sizeof info};
  attn_generation_config config = ATTN_GENERATION_CONFIG_INIT;
  attn_model_describe(model, &info, NULL);
  const int is_requested = o->num_beams || o->max_new_tokens;
  if (!t->source || a->target || (!info.encoder_layers && !is_requested)) return ATTN_OK;
  if (info.decoder_layers) {
    config.num_beams = o->num_beams ? (int32_t)o->num_beams : 1;
    config.num_return_sequences = config.num_beams < RESULTS_MAX ? config.num_beams : RESULTS_MAX;
    config.max_new_tokens = o->max_new_tokens      ? o->max_new_tokens
                            : !info.encoder_layers ? CONTINUATION
                            : info.max_positions > 1
                                ? info.max_positions - 1 /* and the end token */
                                : 0;
  }
  config.threads = (int32_t)a->threads;
  t->result_count = config.num_return_sequences ? config.num_return_sequences : 1;
  for (int n = 0; n < RESULTS_MAX; n++) t->results[n].struct_size = sizeof *t->results;
  attn_status status = attn_model_generate(model, &t->source, 1, &config, t->results, err);
  if (status) t->result_count = 0;
  return status && info.decoder_layers ? status : ATTN_OK;
}

/* A text that the decoder generates itself keeps its end token. */
static attn_status run_text(struct page_text *t, const attn_model *model,
                            const struct attn_cli_page_options *o,
                            const struct attn_cli_attention_options *a, attn_error *err) {
  attn_model_info info = {.struct_size = sizeof info};
  attn_model_describe(model, &info, NULL);
  attn_status status = generate(t, model, o, a, err);
  if (status) return status;
  const int is_greedy = info.encoder_layers && !o->num_beams && !o->max_new_tokens;
  const char *target = a->target;
  if (!target && info.decoder_layers && !is_greedy && t->result_count) target = t->results[0].text;
  if (t->source) attn_cli_warn_unknown_tokens("--input", 0, model, t->source);
  status =
      attn_model_visit_attention(model, t->source, target, (int32_t)a->threads, copy_head, t, err);
  return t->failed ? attn_cli_no_memory(err) : status;
}

/* ---- The page ---- */

struct page_view {
  const attn_model_page *page;
  const attn_style *style;
};

static attn_status draw(const void *data, attn_picture_format format, const attn_sink *sink,
                        attn_error *err) {
  const struct page_view *v = data;
  (void)format;
  return attn_model_page_write(v->page, v->style, sink, err);
}

static attn_status write_page(const attn_model *model, const char *name, const char *path,
                              struct page_text *texts, int32_t count,
                              const struct attn_cli_attention_options *a, const attn_style *style,
                              attn_error *err) {
  attn_model_info info = {.struct_size = sizeof info};
  attn_model_page page = ATTN_MODEL_PAGE_INIT;
  attn_model_page_input *inputs = calloc((size_t)count, sizeof *inputs);
  if (!inputs) return attn_cli_no_memory(err);
  attn_model_describe(model, &info, NULL);
  for (int32_t n = 0; n < count; n++)
    inputs[n] = (attn_model_page_input){sizeof *inputs,  texts[n].source, a->target,
                                        texts[n].heads,  texts[n].count,  texts[n].result_count,
                                        texts[n].results};
  page.name = name, page.info = &info, page.inputs = inputs, page.input_count = count;
  page.kind = a->kind ? 1 + (int32_t)attn_cli_attention_kind(a, model) : 0;
  page.layer = (int32_t)a->layer, page.head = (int32_t)a->head;
  const struct attn_cli_pictures file = {.html = path};
  attn_status status = attn_cli_write_pictures(&file, draw, &(struct page_view){&page, style}, err);
  free(inputs);
  return status;
}

/* The lines of --input-file after the texts of --input; empty lines are skipped. */
static attn_status add_lines(char *text, struct attn_cli_texts *to, attn_error *err) {
  for (char *line = text, *end; line; line = end) {
    if ((end = strchr(line, '\n'))) *end++ = 0;
    const size_t length = strlen(line);
    if (length && line[length - 1] == '\r') line[length - 1] = 0;
    if (!*line) continue;
    if (to->count == ATTN_CLI_TEXTS_MAX)
      return attn_cli_fail(err, ATTN_ERR_ARGUMENT, "more than %d texts; expected at most %d",
                           ATTN_CLI_TEXTS_MAX, ATTN_CLI_TEXTS_MAX);
    to->text[to->count++] = line;
  }
  return ATTN_OK;
}

static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash && slash[1] ? slash + 1 : path;
}

static attn_status run_all(const attn_model *model, const char *name, const char *path,
                           const struct attn_cli_page_options *o,
                           const struct attn_cli_texts *inputs,
                           const struct attn_cli_attention_options *a, const attn_style *style,
                           attn_error *err) {
  const int count = inputs->count ? inputs->count : 1; /* or only a target */
  struct page_text *texts = calloc((size_t)count, sizeof *texts);
  attn_status status = texts ? ATTN_OK : attn_cli_no_memory(err);
  for (int n = 0; n < count && !status; n++) {
    texts[n].source = inputs->count ? inputs->text[n] : NULL;
    status = run_text(&texts[n], model, o, a, err);
  }
  if (!status) status = write_page(model, base_name(name), path, texts, count, a, style, err);
  for (int n = 0; n < count && texts; n++) free_text(&texts[n]);
  free(texts);
  return status;
}

int attn_cli_show_page(const attn_model *model, const char *name, const char *path,
                       const struct attn_cli_page_options *o,
                       const struct attn_cli_attention_options *a, const attn_style *style) {
  struct attn_cli_texts inputs = o->inputs;
  attn_error err = {.offset = -1};
  char *text = NULL;
  attn_status status = o->input_file ? attn_cli_read_text(o->input_file, &text, &err) : ATTN_OK;
  if (!status && text) status = add_lines(text, &inputs, &err);
  const char *file = status ? o->input_file : NULL;
  if (!status) status = run_all(model, name, path, o, &inputs, a, style, &err);
  free(text);
  return status ? attn_cli_report_error("show", file, &err) : EXIT_OK;
}
