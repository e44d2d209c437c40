/* write_lesson.c -- attn_model_write_lesson: the attention of one head as a lesson. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "inspect.h"
#include "utf8.h"

struct lesson_writer {
  const struct attn_inspection *inspection;
  attn_attention_kind kind;
  int64_t layer, head;
  const attn_sink *sink;
  int found, stopped;
};

static void put(struct lesson_writer *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void put(struct lesson_writer *w, const char *format, ...) {
  char text[256];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (length < 0 || (size_t)length >= sizeof text) length = (int)strlen(text);
  if (!w->stopped && w->sink->write(w->sink->context, text, (size_t)length)) w->stopped = 1;
}

/* The program's locale may write 0,5: a lesson has a decimal point. */
static void put_number(struct lesson_writer *w, const char *format, double value)
    __attribute__((format(printf, 2, 0)));
static void put_number(struct lesson_writer *w, const char *format, double value) {
  char text[64], *to = text;
  int points = 0;
  snprintf(text, sizeof text, format, value);
  for (const char *at = text; *at; at++) {
    int outside = !strchr("0123456789+-einfa", *at); /* letters: inf, nan */
    if (outside && points++) continue;               /* a decimal point may have several bytes */
    *to++ = outside ? '.' : *at;
  }
  *to = 0;
  put(w, "| %s ", text);
}

/* In quotes, so that no name is read as a number; characters that end the name or the cell are
 * replaced. */
static void put_name(struct lesson_writer *w, const char *name) {
  size_t left = strlen(name), step;
  put(w, "| \"");
  for (int32_t code; left; name += step, left -= step) {
    step = attn_utf8_read_displayable(name, left, &code);
    if (code == ' ')
      put(w, "␣");
    else if (code == ATTN_UTF8_REPLACEMENT || (code < 0x80 && strchr("\"|`\\*_$#", code)))
      put(w, "·");
    else
      put(w, "%.*s", (int)step, name);
  }
  put(w, "\" ");
}

struct lesson_rows {
  const float *at; /* NULL: of a causal mask */
  int64_t count, step;
};

/* The first columns of rows. above: names of the columns; NULL: their indices. */
static void put_table(struct lesson_writer *w, const char *title, const char *format,
                      struct lesson_rows x, char *const *names, char *const *above, int64_t columns)
    __attribute__((format(printf, 3, 0)));
static void put_table(struct lesson_writer *w, const char *title, const char *format,
                      struct lesson_rows x, char *const *names, char *const *above,
                      int64_t columns) {
  put(w, "%s:\n\n| token ", title);
  for (int64_t c = 0; c < columns; c++) {
    if (above)
      put_name(w, above[c]);
    else
      put(w, "| e%lld ", (long long)c);
  }
  put(w, "|\n|---");
  for (int64_t c = 0; c < columns; c++) put(w, "|---:");
  put(w, "|\n");
  for (int64_t n = 0; n < x.count; n++) {
    put_name(w, names[n]);
    for (int64_t c = 0; c < columns; c++)
      put_number(w, format, x.at ? (double)x.at[n * x.step + c] : c <= n);
    put(w, "|\n");
  }
}

/* One head's columns of q or k. 17 digits identify a double. */
static void put_vectors(struct lesson_writer *w, const char *title, const struct attn_row_view *x,
                        int64_t from, int64_t width, char *const *names) {
  const struct lesson_rows rows = {x->at + from, x->n, x->step};
  put_table(w, title, "%.17g", rows, names, NULL, width);
  put(w, "\n");
}

/* Returns the name of the scores that the mask and the softmax take. */
static const char *put_scale(struct lesson_writer *w, const struct attn_traced_attention *s) {
  put(w, "scores = Q K^T\n\n");
  if (s->scale == 1) return "scores";
  if (s->scale == 1 / sqrt((double)s->width))
    put(w, "scaled = scores / sqrt(%lld)\n\n", (long long)s->width);
  else
    put(w, "scaled = scores / %.17g\n\n", 1 / s->scale);
  return "scaled";
}

static void write_attention(struct lesson_writer *w, const struct attn_traced_attention *s) {
  static const char *const kinds[] = {"Encoder self-attention", "Decoder self-attention",
                                      "Cross-attention"};
  char *const *queries = attn_inspection_query_tokens(w->inspection, s->kind);
  char *const *keys = attn_inspection_key_tokens(w->inspection, s->kind);
  put(w, "# %s, layer %lld, head %lld\n\n", kinds[s->kind], (long long)s->layer + 1,
      (long long)w->head + 1);
  if (w->inspection->model->network->config.alignment == ATTN_ALIGN_GENERAL)
    put(w, "Q is multiplied by the matrix of the score function.\n\n");
  put_vectors(w, "Q", &s->q, w->head * s->width, s->width, queries);
  put_vectors(w, "K", &s->k, w->head / (s->heads / s->kv_heads) * s->width, s->width, keys);
  const char *scores = put_scale(w, s);
  const struct lesson_rows mask = {NULL, s->queries, 0};
  const struct lesson_rows weights = {s->weights + w->head * s->queries * s->keys, s->queries,
                                      s->keys};
  if (s->causal) {
    put(w, "1 sees, 0 does not.\n\n");
    put_table(w, "mask", "%.0f", mask, queries, keys, s->keys);
    put(w, "\nmasked: minus infinity hides\n\n");
  }
  put(w, "weights = softmax(%s)\n\n", s->causal ? "masked" : scores);
  put_table(w, "weights", "%.5f", weights, queries, keys, s->keys);
}

static int visit(void *context, const struct attn_traced_attention *attention) {
  struct lesson_writer *w = context;
  if (attention->kind != w->kind || attention->layer != w->layer || w->head >= attention->heads ||
      attention->slopes)
    return 0;
  w->found = 1;
  write_attention(w, attention);
  return w->stopped;
}

attn_status attn_model_write_lesson(const attn_model *model, const char *source, const char *target,
                                    attn_attention_kind kind, int32_t layer, int32_t head,
                                    int32_t threads, const attn_sink *sink, attn_error *err) {
  struct attn_inspection inspection;
  struct lesson_writer w = {&inspection, kind, layer, head, sink, 0, 0};
  if (layer < 0 || head < 0)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "layer", "layer and head must be at least 0");
  if (model->network->config.positions == ATTN_POSITIONS_ALIBI)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "model", "lessons do not support ALiBi positions");
  if (model->network->config.alignment == ATTN_ALIGN_ADDITIVE ||
      model->network->config.alignment == ATTN_ALIGN_UNIFORM)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "model",
                     "lessons require alignment dot, scaled or general, got %s",
                     attn_model_alignment_name(model->network->config.alignment));
  attn_status status = attn_inspection_open(&inspection, model, source, target, threads, err);
  if (!status) status = attn_inspection_trace(&inspection, visit, &w, err);
  attn_inspection_close(&inspection);
  if (w.stopped) return attn_fail(err, ATTN_ERR_FILE, NULL, "the sink stopped");
  if (status || w.found) return status;
  return attn_fail(err, ATTN_ERR_ARGUMENT, "layer",
                   "the model has no layer %d, head %d of this kind", layer + 1, head + 1);
}
