/* write_lesson.c -- one head's attention as a lesson that can be read, explained and checked. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "look.h"
#include "utf8.h"

struct writing {
  const struct attn_viewing *viewing;
  enum attn_trace_kind kind;
  int64_t layer, head;
  const attn_sink *sink;
  int found, stopped;
};

static void put(struct writing *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(struct writing *w, const char *format, ...) {
  char text[256];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (length < 0 || (size_t)length >= sizeof text) length = (int)strlen(text);
  if (!w->stopped && w->sink->write(w->sink->context, text, (size_t)length)) w->stopped = 1;
}

/* A host program may have set a locale that writes 0,5: a lesson has a point. */
static void put_number(struct writing *w, const char *format, double value)
    __attribute__((format(printf, 2, 0)));
static void put_number(struct writing *w, const char *format, double value) {
  char text[64], *to = text;
  int points = 0;
  snprintf(text, sizeof text, format, value);
  for (const char *at = text; *at; at++) {
    int outside = !strchr("0123456789+-einfa", *at); /* inf, nan: the reader will say so */
    if (outside && points++) continue;               /* some points are several bytes */
    *to++ = outside ? '.' : *at;
  }
  *to = 0;
  put(w, "| %s ", text);
}

/* A name in quotes is never taken for a number; what would end it or the cell is shown otherwise.
 */
static void put_name(struct writing *w, const char *name) {
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

/* A table: names above (NULL: numbers) and at the side. */
static void begin_table(struct writing *w, const char *title, char *const *above, int64_t columns) {
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
}

/* Seventeen digits give a number back. */
static void put_rows(struct writing *w, const char *title, const struct attn_rows *x, int64_t from,
                     int64_t width, char *const *names) {
  begin_table(w, title, NULL, width);
  for (int64_t n = 0; n < x->n; n++) {
    put_name(w, names[n]);
    for (int64_t e = 0; e < width; e++)
      put_number(w, "%.17g", (double)x->at[n * x->step + from + e]);
    put(w, "|\n");
  }
  put(w, "\n");
}

static void put_mask(struct writing *w, const struct attn_trace_site *s, char *const *queries,
                     char *const *keys) {
  if (!s->causal) return;
  put(w, "1 sees, 0 does not.\n\n");
  begin_table(w, "mask", keys, s->keys);
  for (int64_t i = 0; i < s->queries; i++) {
    put_name(w, queries[i]);
    for (int64_t j = 0; j < s->keys; j++) put(w, "| %d ", j <= i);
    put(w, "|\n");
  }
  put(w, "\n");
}

static void put_weights(struct writing *w, const struct attn_trace_site *s, char *const *queries,
                        char *const *keys) {
  const float *p = s->weights + w->head * s->queries * s->keys;
  begin_table(w, "weights", keys, s->keys);
  for (int64_t i = 0; i < s->queries; i++) {
    put_name(w, queries[i]);
    for (int64_t j = 0; j < s->keys; j++) put_number(w, "%.5f", (double)p[i * s->keys + j]);
    put(w, "|\n");
  }
}

static void write_site(struct writing *w, const struct attn_trace_site *s) {
  static const char *const kinds[] = {"Encoder self-attention", "Decoder self-attention",
                                      "Cross-attention"};
  char *const *queries = attn_viewing_queries(w->viewing, s->kind)->text;
  char *const *keys = attn_viewing_keys(w->viewing, s->kind)->text;
  put(w, "# %s, layer %lld, head %lld\n\n", kinds[s->kind], (long long)s->layer + 1,
      (long long)w->head + 1);
  put_rows(w, "Q", &s->q, w->head * s->width, s->width, queries);
  put_rows(w, "K", &s->k, w->head / (s->heads / s->kv_heads) * s->width, s->width, keys);
  put(w, "scores = Q K^T\n\nscaled = scores / sqrt(%lld)\n\n", (long long)s->width);
  put_mask(w, s, queries, keys);
  put(w, "%s\n\n",
      s->causal ? "masked: minus infinity hides\n\nweights = softmax(masked)"
                : "weights = softmax(scaled)");
  put_weights(w, s, queries, keys);
}

static int look(void *context, const struct attn_trace_site *site) {
  struct writing *w = context;
  if (site->kind != w->kind || site->layer != w->layer || w->head >= site->heads || site->slopes)
    return 0;
  w->found = 1;
  write_site(w, site);
  return w->stopped;
}

attn_status attn_model_write_lesson(const attn_model *model, const char *source, const char *target,
                                    attn_attention_kind kind, int32_t layer, int32_t head,
                                    int32_t threads, const attn_sink *sink, attn_error *err) {
  struct attn_viewing viewing;
  struct writing w = {&viewing, (enum attn_trace_kind)kind, layer, head, sink, 0, 0};
  if (layer < 0 || head < 0) return attn_fail(err, ATTN_ERR_ARGUMENT, "layer", "they begin at 0");
  if (model->network->config.positions == ATTN_POSITIONS_ALIBI)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "model", "no lesson has ALiBi's positions");
  attn_status status = attn_viewing_open(&viewing, model, source, target, threads, err);
  if (!status) status = attn_viewing_trace(&viewing, look, &w, err);
  attn_viewing_close(&viewing);
  if (w.stopped) return attn_fail(err, ATTN_ERR_FILE, NULL, "the sink stopped");
  if (status || w.found) return status;
  return attn_fail(err, ATTN_ERR_ARGUMENT, "layer",
                   "the model has no layer %d, head %d of that kind", layer + 1, head + 1);
}
