#include "model_input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "console.h"
#include "json_output.h"

/* ---- Attention ---- */

const char *const attn_cli_attention_kinds[3] = {[ATTN_ATTENTION_ENCODER] = "encoder",
                                                 [ATTN_ATTENTION_DECODER] = "decoder",
                                                 [ATTN_ATTENTION_CROSS] = "cross"};

int attn_cli_parse_precision(const char *text, int32_t *precision) {
  static const char *const precisions[] = {"float32", "bf16"};
  int chosen = text ? attn_cli_parse_choice("--precision", text, precisions, 2) : 0;
  if (text && chosen >= 0) *precision = chosen ? ATTN_BF16 : ATTN_F32;
  return chosen < 0 ? -1 : 0;
}

int attn_cli_check_attention(const struct attn_cli_attention_options *o, int64_t min_index) {
  if (attn_cli_check_range("--layer", o->layer, min_index, INT32_MAX) ||
      attn_cli_check_range("--head", o->head, min_index, INT32_MAX))
    return -1;
  return attn_cli_check_range("--threads", o->threads, 0, ATTN_CLI_MAX_THREADS);
}

attn_attention_kind attn_cli_attention_kind(const struct attn_cli_attention_options *o,
                                            const attn_model *model) {
  attn_model_info facts = {.struct_size = sizeof facts};
  for (int n = 0; o->kind && n < 3; n++)
    if (!strcmp(o->kind, attn_cli_attention_kinds[n])) return (attn_attention_kind)n;
  attn_model_describe(model, &facts, NULL);
  if (!facts.decoder_layers) return ATTN_ATTENTION_ENCODER;
  return facts.encoder_layers ? ATTN_ATTENTION_CROSS : ATTN_ATTENTION_DECODER;
}

/* ---- Unknown tokens ---- */

/* Returns all spans, to be freed; NULL if there are none or the text is refused. */
static attn_unknown_span *find_unknown(const attn_model *model, const char *text, int64_t *count) {
  attn_unknown_span *spans = NULL;
  if (attn_model_find_unknown(model, text, 0, NULL, count, NULL)) *count = 0;
  if (*count) spans = malloc((size_t)*count * sizeof *spans);
  if (spans)
    spans->struct_size = sizeof *spans,
    attn_model_find_unknown(model, text, *count, spans, count, NULL);
  if (!spans) *count = 0;
  return spans;
}

void attn_cli_warn_unknown_tokens(const char *name, int64_t line, const attn_model *model,
                                  const char *text) {
  enum { MAX_WARNINGS = 3, MAX_LENGTH = 60 };
  int64_t count;
  attn_unknown_span *spans = find_unknown(model, text, &count);
  for (int64_t n = 0; n < count && n < MAX_WARNINGS; n++) {
    int length = spans[n].length < MAX_LENGTH ? (int)spans[n].length : MAX_LENGTH;
    attn_error warning = {ATTN_ERR_FORMAT, "", "", line ? line : 1, spans[n].character, -1};
    char more[48] = "";
    if (n == MAX_WARNINGS - 1 && count > MAX_WARNINGS)
      snprintf(more, sizeof more, " (and %lld more)", (long long)(count - MAX_WARNINGS));
    snprintf(warning.message, sizeof warning.message,
             "\"%.*s\" is not in the model's vocabulary and is read as <unk>%s", length,
             text + spans[n].offset, more);
    attn_cli_report_warning(name, &warning);
  }
  free(spans);
}

void attn_cli_warn_unknown_attention(const struct attn_cli_attention_options *o,
                                     const attn_model *model) {
  if (o->input) attn_cli_warn_unknown_tokens("--input", 0, model, o->input);
  if (o->target) attn_cli_warn_unknown_tokens("--target", 0, model, o->target);
}

void attn_cli_json_unknown_tokens(const attn_model *model, const char *text) {
  int64_t count;
  attn_unknown_span *spans = find_unknown(model, text, &count);
  attn_cli_json_begin_array("unknown");
  for (int64_t n = 0; n < count; n++) {
    char *span = strndup(text + spans[n].offset, (size_t)spans[n].length);
    attn_cli_json_begin_object(NULL);
    attn_cli_json_string("text", span ? span : "");
    attn_cli_json_int("character", spans[n].character);
    attn_cli_json_end_object();
    free(span);
  }
  attn_cli_json_end_array();
  free(spans);
}
