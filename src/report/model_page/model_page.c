/* model_page.c -- the attention of a model as one HTML page: data as JSON, weights in base64, and a
 * script that draws them. The page has both languages, needs no network, and is well-formed XML. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attention_pack.h"
#include "base64.h"
#include "descriptor.h"
#include "error.h"
#include "html.h"
#include "json_writer.h"
#include "model_page_files.h"

struct model_page {
  struct attn_out *out;
  attn_model_page page;
  attn_model_page_input *inputs;
  struct attn_packed *packed;    /* per input */
  struct attn_packed_kind first; /* the map that is shown first, of the first input */
  int kind;                      /* of this map */
  int no_memory;
};

/* ---- Data of the script ---- */

struct text_buffer {
  char *bytes;
  size_t size, capacity;
};

static int append(void *context, const char *bytes, size_t size) {
  struct text_buffer *b = context;
  if (size > b->capacity - b->size) return 1;
  memcpy(b->bytes + b->size, bytes, size);
  b->size += size;
  return 0;
}

/* Untrusted text: line ends, tabs and, in tokens, spaces become visible, other control characters
 * U+FFFD. */
static void put_text(struct model_page *p, struct attn_json *json, const char *key,
                     const char *text, int is_token) {
  const struct {
    char from;
    const char *to;
  } visible[] = {{'\n', "⏎"}, {'\t', "⇥"}, {' ', is_token ? "␣" : " "}};
  const size_t length = strlen(text);
  struct text_buffer b = {malloc(3 * length + 1), 0, 3 * length};
  const attn_sink sink = {&b, append};
  p->no_memory |= !b.bytes;
  for (size_t n = 0; n < length && b.bytes;) {
    size_t plain = strcspn(text + n, " \n\t");
    attn_text_write_plain(text + n, plain, &sink, NULL);
    n += plain;
    for (size_t v = 0; n < length && v < 3; v++)
      if (text[n] == visible[v].from) append(&b, visible[v].to, strlen(visible[v].to));
    n += n < length;
  }
  if (b.bytes) b.bytes[b.size] = 0;
  attn_json_string(json, key, b.bytes);
  free(b.bytes);
}

static void put_tokens(struct model_page *p, struct attn_json *json, const char *key,
                       const char *const *tokens, int64_t count) {
  attn_json_open(json, key, '[');
  for (int64_t n = 0; n < count; n++) put_text(p, json, NULL, tokens[n], 1);
  attn_json_close(json, ']');
}

static void put_head(struct attn_json *json, const attn_attention *a) {
  struct attn_largest_weight largest[ATTN_PACK_LARGEST];
  const int count = attn_largest_weights(a, largest);
  attn_json_open(json, NULL, '{');
  attn_json_integer(json, "layer", a->layer + 1);
  attn_json_integer(json, "head", a->head + 1);
  attn_json_number(json, "entropy", attn_mean_entropy(a));
  attn_json_open(json, "largest", '[');
  for (int n = 0; n < count; n++) {
    attn_json_open(json, NULL, '[');
    attn_json_integer(json, NULL, largest[n].query);
    attn_json_integer(json, NULL, largest[n].key);
    attn_json_number(json, NULL, largest[n].weight);
    attn_json_close(json, ']');
  }
  attn_json_close(json, ']');
  attn_json_close(json, '}');
}

static void put_kind(struct model_page *p, struct attn_json *json, int kind,
                     const struct attn_packed_kind *k) {
  if (!k->heads) return;
  attn_json_open(json, NULL, '{');
  attn_json_integer(json, "kind", kind);
  put_tokens(p, json, "queries", k->head[0]->query_tokens, k->queries);
  put_tokens(p, json, "keys", k->head[0]->key_tokens, k->keys);
  attn_json_integer(json, "rollouts", k->rollouts);
  attn_json_open(json, "maps", '[');
  for (int32_t n = 0; n < k->heads; n++) put_head(json, k->head[n]);
  attn_json_close(json, ']');
  attn_json_close(json, '}');
}

static void put_results(struct model_page *p, struct attn_json *json,
                        const attn_model_page_input *input) {
  attn_json_open(json, "results", '[');
  for (int32_t n = 0; n < input->result_count; n++) {
    const attn_generation_result *r =
        (const void *)((const char *)input->results + (size_t)n * input->results->struct_size);
    if (!r->text) continue;
    attn_json_open(json, NULL, '{');
    put_text(p, json, "text", r->text, 0);
    attn_json_number(json, "score", r->score);
    attn_json_number(json, "log_prob", r->log_prob);
    attn_json_literal(json, "finished", r->finished ? "true" : "false");
    attn_json_close(json, '}');
  }
  attn_json_close(json, ']');
}

static void put_input(struct model_page *p, struct attn_json *json, int32_t n) {
  const attn_model_page_input *input = &p->inputs[n];
  attn_json_open(json, NULL, '{');
  put_text(p, json, "source", input->source ? input->source : "", 0);
  put_text(p, json, "target", input->target ? input->target : "", 0);
  attn_json_integer(json, "levels", p->packed[n].levels);
  put_results(p, json, input);
  attn_json_open(json, "kinds", '[');
  for (int kind = 0; kind < ATTN_PACK_KINDS; kind++)
    put_kind(p, json, kind, &p->packed[n].kind[kind]);
  attn_json_close(json, ']');
  attn_json_close(json, '}');
}

enum { FIRST_MAX = 90000 };

/* The map that is shown first, in 16 bits and not deflated: the script draws it before the others
 * have been parsed. A large one would delay more than it gains. */
static void put_first(struct model_page *p) {
  const struct attn_packed_kind *k = &p->packed[0].kind[p->kind];
  struct attn_base64 base64 = {.out = p->out};
  const int64_t size = k->queries * k->keys;
  uint16_t *level = size > FIRST_MAX ? NULL : attn_pack_mean(k, p->page.layer, p->page.head);
  if (!level) return;
  attn_put(p->out, "<script type=\"text/plain\" id=\"first\">");
  for (int64_t n = 0; n < size; n++) {
    const char bytes[2] = {(char)(level[n] >> 8), (char)(level[n] & 255)};
    attn_base64_write(&base64, bytes, sizeof bytes);
  }
  attn_base64_end(&base64);
  attn_put(p->out, "</script>\n");
  free(level);
}

/* The 64 colours of weights as one string of hexadecimal digits per theme. */
static void put_colors(struct attn_json *json) {
  attn_json_open(json, "colors", '[');
  for (int theme = 0; theme < ATTN_THEMES; theme++) {
    char text[6 * ATTN_HEAT_LEVELS + 1];
    for (int level = 0; level < ATTN_HEAT_LEVELS; level++) {
      struct attn_rgb c = attn_paint_color(ATTN_PAINT_HEAT + level, (enum attn_theme)theme);
      snprintf(text + 6 * level, 7, "%02x%02x%02x", c.r, c.g, c.b);
    }
    attn_json_string(json, NULL, text);
  }
  attn_json_close(json, ']');
}

static void put_data(struct model_page *p) {
  const attn_sink sink = {p->out, attn_json_write_inert};
  struct attn_json json;
  attn_put(p->out, "<script type=\"application/json\" id=\"data\">");
  attn_json_begin(&json, &sink);
  attn_json_open(&json, NULL, '{');
  attn_json_integer(&json, "kind", p->kind);
  attn_json_integer(&json, "layer", p->page.layer);
  attn_json_integer(&json, "head", p->page.head);
  put_colors(&json);
  attn_json_open(&json, "inputs", '[');
  for (int32_t n = 0; n < p->page.input_count && !p->out->failed; n++) put_input(p, &json, n);
  attn_json_close(&json, ']');
  attn_json_close(&json, '}');
  attn_put(p->out, "</script>\n");
}

/* Elements of class weights-INPUT-KIND, which the script inflates together when the kind is first
 * shown: browsers can draw between elements, not within one. */
static void put_kind_weights(struct attn_out *out, int32_t input, int kind,
                             const struct attn_packed_kind *k) {
  enum { PART = 49152 };
  for (size_t n = 0; n < k->size; n += PART) {
    struct attn_base64 base64 = {.out = out};
    attn_putf(out, "<script type=\"text/plain\" class=\"weights-%d-%d\">", (int)input, kind);
    attn_base64_write(&base64, (const char *)k->bytes + n, k->size - n < PART ? k->size - n : PART);
    attn_base64_end(&base64);
    attn_put(out, "</script>\n");
  }
}

static void put_weights(struct model_page *p) {
  for (int32_t n = 0; n < p->page.input_count; n++)
    for (int kind = 0; kind < ATTN_PACK_KINDS && !p->out->failed; kind++)
      put_kind_weights(p->out, n, kind, &p->packed[n].kind[kind]);
}

/* ---- The description ---- */

static void put_fact(struct attn_out *out, const char *english, const char *japanese,
                     const char *value) {
  const attn_bilingual_text words = {english, japanese};
  attn_put(out, "<div><dt>"), attn_html_words(out, &words), attn_put(out, "</dt><dd>");
  attn_xml_text(out, value), attn_put(out, "</dd></div>\n");
}

/* "243,532" */
static void put_number(struct attn_out *out, const char *english, const char *japanese,
                       int64_t value) {
  char digits[24], text[32];
  const int length = snprintf(digits, sizeof digits, "%lld", (long long)value);
  int to = 0;
  for (int n = 0; n < length; n++) {
    if (n && (length - n) % 3 == 0) text[to++] = ',';
    text[to++] = digits[n];
  }
  text[to] = 0;
  put_fact(out, english, japanese, text);
}

static void put_description(struct attn_out *out, const attn_model_info *f) {
  char text[64];
  attn_put(out, "<dl class=\"facts\">\n");
  put_fact(out, "kind", "種類", f->kind);
  if (f->encoder_layers && f->decoder_layers)
    snprintf(text, sizeof text, "%d + %d", (int)f->encoder_layers, (int)f->decoder_layers);
  else
    snprintf(text, sizeof text, "%d", (int)(f->encoder_layers + f->decoder_layers));
  put_fact(out, "layers", "層", text);
  put_number(out, "heads", "ヘッド", f->num_heads);
  put_number(out, "d_model", "d_model", f->d_model);
  put_number(out, "parameters", "パラメーター", f->parameter_count);
  snprintf(text, sizeof text, "%lld (%s)", (long long)f->vocab_size, f->tokenizer);
  put_fact(out, "vocabulary", "語彙", text);
  attn_put(out, "</dl>\n");
}

/* ---- The page ---- */

static void put_page(struct model_page *p) {
  const attn_bilingual_text title = {p->page.name ? p->page.name : "", NULL};
  attn_html_begin(p->out, &title, model_page_css);
  if (p->page.info) put_description(p->out, p->page.info);
  attn_put(p->out, model_page_html);
  put_data(p);
  put_first(p);
  attn_put(p->out, "<script>//<![CDATA[\n");
  attn_put(p->out, model_data_js), attn_put(p->out, model_map_js), attn_put(p->out, model_page_js);
  attn_put(p->out, "//]]></script>\n");
  put_weights(p);
  attn_html_end(p->out, NULL);
}

static attn_status copy_inputs(struct model_page *p, attn_error *err) {
  const size_t size = sizeof *p->inputs;
  const attn_model_page *page = &p->page;
  if (!page->inputs || page->input_count < 1 || page->input_count > ATTN_MODEL_PAGE_INPUTS_MAX)
    return attn_fail(err, ATTN_ERR_ARGUMENT, "input_count",
                     "input_count must be between 1 and %d, got %d", ATTN_MODEL_PAGE_INPUTS_MAX,
                     page->inputs ? (int)page->input_count : 0);
  p->inputs = calloc((size_t)page->input_count, size);
  p->packed = calloc((size_t)page->input_count, sizeof *p->packed);
  if (!p->inputs || !p->packed) return attn_picture_no_memory(err);
  for (int32_t n = 0; n < page->input_count; n++) {
    const char *from = (const char *)page->inputs + (size_t)n * page->inputs->struct_size;
    attn_status status = attn_descriptor_require(from, &p->inputs[n], size, size, "inputs", err);
    if (status) return status;
    const attn_model_page_input *one = &p->inputs[n];
    if (!one->heads || one->head_count < 1 || one->result_count < 0 ||
        (one->result_count && !one->results))
      return attn_fail(err, ATTN_ERR_ARGUMENT, "inputs", "input %d has no heads or results",
                       (int)n);
  }
  return ATTN_OK;
}

static attn_status prepare(struct model_page *p, const attn_model_page *page, attn_error *err) {
  attn_status status =
      attn_descriptor_require(page, &p->page, sizeof p->page, sizeof p->page, "page", err);
  if (!status && (p->page.kind < 0 || p->page.kind > ATTN_PACK_KINDS))
    status = attn_fail(err, ATTN_ERR_ARGUMENT, "kind", "kind must be between 0 and %d, got %d",
                       ATTN_PACK_KINDS, (int)p->page.kind);
  if (!status) status = copy_inputs(p, err);
  for (int32_t n = 0; n < p->page.input_count && !status; n++)
    status = attn_pack(p->inputs[n].heads, p->inputs[n].head_count, &p->packed[n], err);
  return status;
}

static int has_head(const struct attn_packed_kind *k, int32_t layer, int32_t head) {
  int32_t n = 0;
  while (n < k->heads &&
         ((layer && k->head[n]->layer != layer - 1) || (head && k->head[n]->head != head - 1)))
    n++;
  return n < k->heads;
}

/* Cross-attention if the first input has it, unless the page specifies a kind. A head without a
 * layer is that of the first. */
static attn_status choose_first(struct model_page *p, attn_error *err) {
  const struct attn_packed_kind *kinds = p->packed[0].kind;
  p->kind = p->page.kind ? p->page.kind - 1 : ATTN_ATTENTION_CROSS;
  if (!kinds[p->kind].heads && !p->page.kind)
    p->kind = kinds[ATTN_ATTENTION_ENCODER].heads ? ATTN_ATTENTION_ENCODER : ATTN_ATTENTION_DECODER;
  if (p->page.head && !p->page.layer) p->page.layer = 1;
  if (has_head(&kinds[p->kind], p->page.layer, p->page.head)) return ATTN_OK;
  return attn_fail(err, ATTN_ERR_ARGUMENT, "page",
                   "the model has no such kind, layer or head: layer %d, head %d",
                   (int)p->page.layer, (int)p->page.head);
}

attn_status attn_model_page_write(const attn_model_page *page, const attn_style *style,
                                  const attn_sink *sink, attn_error *err) {
  struct attn_out out;
  struct model_page p = {.out = &out};
  attn_status status = attn_out_open(&out, style, sink, err);
  if (!status) status = prepare(&p, page, err);
  if (!status) status = choose_first(&p, err);
  if (!status) {
    put_page(&p);
    status = p.no_memory ? attn_picture_no_memory(err) : attn_out_end(&out, err);
  }
  for (int32_t n = 0; p.packed && n < p.page.input_count; n++) attn_pack_free(&p.packed[n]);
  free(p.inputs), free(p.packed);
  return status;
}
