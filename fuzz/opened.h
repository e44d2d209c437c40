/* opened.h -- the public functions on an opened model. */
#ifndef FUZZ_OPENED_H
#define FUZZ_OPENED_H

#include "attn/model.h"
#include "files.h"

enum { SOURCES = 3, BEAMS = 2, MAX_WIDTH = 1 << 16 };

static const char *const sources[SOURCES] = {"", "a", "12+3 b\xe7\xa7\x81"};

static inline int count_attention(void *context, const attn_attention *a) {
  double sum = 0;
  for (int64_t n = 0; n < a->queries * a->keys; n++) sum += (double)a->weights[n];
  *(double *)context += sum;
  return strlen(*a->query_tokens) + strlen(*a->key_tokens) > 1 << 20;
}

static inline int count_text(void *context, const char *text, size_t bytes) {
  *(size_t *)context += bytes + (size_t)(unsigned char)*text;
  return 0;
}

/* Greedy search, beam search, sampling, bf16: two tokens each. */
static inline void generate(const attn_model *m) {
  attn_generation_result replies[SOURCES * BEAMS] = {ATTN_GENERATION_RESULT_INIT};
  attn_error err;
  for (int kind = 0; kind < 4; kind++) {
    attn_generation_config how = ATTN_GENERATION_CONFIG_INIT;
    how.max_new_tokens = 2, how.threads = 1;
    if (kind == 1) how.num_beams = how.num_return_sequences = BEAMS;
    if (kind == 2) how.temperature = 1, how.top_k = 3;
    if (kind == 3) how.precision = ATTN_BF16, how.batch_size = SOURCES;
    if (attn_model_generate(m, sources, SOURCES, &how, replies, &err)) {
      MUST(strcmp(err.argument, "results")); /* the error is about the model, not about this call */
      continue;
    }
    int64_t count = SOURCES * (kind == 1 ? BEAMS : 1);
    for (int64_t n = 0; n < count; n++)
      MUST(!replies[n].text ||
           (replies[n].token_count <= 2 && !replies[n].text[replies[n].text_length]));
    attn_generation_results_free(replies, count);
  }
}

/* One call per text, because the model may refuse one. */
static inline void embed(const attn_model *m, int64_t width) {
  attn_embedding_config how = ATTN_EMBEDDING_CONFIG_INIT;
  attn_error err;
  how.threads = 1;
  float *out = malloc((size_t)width * sizeof *out);
  MUST(out);
  for (int n = 0; n < SOURCES; n++) attn_model_embed(m, &sources[n], 1, &how, out, &err);
  free(out);
}

static inline void visit_attention(const attn_model *m) {
  double sum = 0;
  size_t total = 0;
  attn_error err;
  const attn_sink sink = {&total, count_text};
  for (int n = 0; n < 4; n++) {
    const char *source = n & 1 ? sources[2] : NULL, *target = n & 2 ? "ab" : NULL;
    if (!target && n != 1) continue; /* greedy output may have max_positions tokens */
    attn_model_info facts = {.struct_size = sizeof facts};
    attn_model_describe(m, &facts, &err);
    if (!target && facts.max_positions > 16) continue;
    attn_model_visit_attention(m, source, target, 1, count_attention, &sum, &err);
    for (int kind = 0; kind < 3; kind++)
      attn_model_write_lesson(m, source, target, (attn_attention_kind)kind, 0, 0, 1, &sink, &err);
  }
}

/* Opens the model and calls everything on it; or the model is refused. */
static inline attn_status use_model(const char *path) {
  attn_model *m = NULL;
  attn_error err;
  attn_status status = attn_model_open(path, &m, &err);
  MUST(!status == (m != NULL));
  if (status) return status;
  attn_model_info facts = {.struct_size = sizeof facts};
  MUST(!attn_model_describe(m, &facts, &err));
  MUST(facts.vocab_size > 0 && facts.max_positions > 0 && facts.d_model > 0 && facts.config[0]);
  generate(m);
  if (facts.d_model <= MAX_WIDTH) embed(m, facts.d_model);
  visit_attention(m);
  attn_model_free(m);
  return ATTN_OK;
}

#endif
