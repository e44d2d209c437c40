/* cmd_show.c -- attn show: the attention weights of a model on a text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attn/model.h"
#include "command.h"
#include "console.h"
#include "help_files.h"
#include "json_output.h"
#include "model_input.h"
#include "model_info.h"
#include "picture_files.h"
#include "show_page.h"

enum { KINDS = 3, ALL = 0 };

struct show_options {
  attn_style style;
  struct attn_cli_pictures pictures;
  struct attn_cli_attention_options attention;
  struct attn_cli_page_options page;
  int all, json;
};

/* ---- Panels ---- */

struct head_panel {
  attn_panel panel;
  char title[2][64], section[2][64]; /* in both languages */
  char note[2][64];
  int kind, is_mean;
};

struct attention_view {
  const struct show_options *o;
  const attn_model *model;
  int kind; /* ALL_KINDS, or an attn_attention_kind */
  struct head_panel *heads;
  attn_panel *panels; /* the panels of heads in output order */
  char *output;       /* of the decoder */
  int32_t count, capacity;
  int32_t mean[KINDS], added[KINDS]; /* by kind: 1 + index of the mean; number of heads in it */
  char **labels;
  int64_t label_count;
  int failed; /* no memory */
};

enum { ALL_KINDS = -1 };

static const attn_bilingual_text kind_words[KINDS] = {
    {"Encoder self-attention", "エンコーダのセルフアテンション"},
    {"Decoder self-attention", "デコーダのセルフアテンション"},
    {"Cross-attention", "クロスアテンション"}};

static int grow(struct attention_view *v) {
  int32_t capacity = v->capacity ? 2 * v->capacity : 16;
  if (v->count < v->capacity) return 1;
  void *heads = realloc(v->heads, (size_t)capacity * sizeof *v->heads);
  if (heads) v->heads = heads, v->capacity = capacity;
  return heads != NULL;
}

/* Token names are valid only during the callback. The panels of a kind share one copy. */
static const char *const *copy_labels(struct attention_view *v, const char *const *names,
                                      int64_t count) {
  char **all = realloc(v->labels, (size_t)(v->label_count + count + 1) * sizeof *all);
  char **copy = calloc((size_t)count + 1, sizeof *copy);
  if (all) v->labels = all;
  if (!all || !copy) return v->failed = 1, free(copy), NULL;
  v->labels[v->label_count++] = (char *)copy;
  for (int64_t n = 0; n < count; n++) {
    copy[n] = strdup(strcmp(names[n], " ") ? names[n] : "␣");
    v->labels[v->label_count++] = copy[n];
    v->failed |= !copy[n];
  }
  return (const char *const *)copy;
}

static void free_view(struct attention_view *v) {
  for (int32_t n = 0; n < v->count; n++) free((void *)v->heads[n].panel.at);
  for (int64_t n = 0; n < v->label_count; n++) free(v->labels[n]);
  free(v->heads), free(v->panels), free(v->labels), free(v->output);
}

#define SET(to, ...) snprintf(to, sizeof to, __VA_ARGS__)

static void set_title(struct head_panel *h, const attn_attention *a) {
  const attn_bilingual_text *kind = &kind_words[a->kind];
  if (h->is_mean) {
    SET(h->section[0], "%s", kind->english), SET(h->section[1], "%s", kind->japanese);
    SET(h->title[0], "mean of all layers and heads"), SET(h->title[1], "全層・全ヘッドの平均");
    return;
  }
  SET(h->section[0], "%s, layer %d", kind->english, a->layer + 1);
  SET(h->section[1], "%s 第%d層", kind->japanese, a->layer + 1);
  SET(h->title[0], "head %d", a->head + 1), SET(h->title[1], "ヘッド%d", a->head + 1);
}

/* The first panel of a kind copies the labels, the others share them. */
static struct head_panel *add_panel(struct attention_view *v, const attn_attention *a,
                                    int is_mean) {
  double *at = calloc((size_t)(a->queries * a->keys), sizeof *at);
  if (!at || !grow(v)) return free(at), v->failed = 1, NULL;
  const attn_panel *like = v->mean[a->kind] ? &v->heads[v->mean[a->kind] - 1].panel : NULL;
  int is_cross = a->kind == ATTN_ATTENTION_CROSS;
  attn_panel p = ATTN_PANEL_INIT;
  p.kind = ATTN_PANEL_HEAT, p.rows = (int32_t)a->queries, p.cols = (int32_t)a->keys, p.at = at;
  p.row_label = like ? like->row_label : copy_labels(v, a->query_tokens, a->queries);
  p.col_label = like ? like->col_label : copy_labels(v, a->key_tokens, a->keys);
  p.row_axis =
      is_cross ? (attn_bilingual_text){"output", "出力"} : (attn_bilingual_text){"query", "クエリ"};
  p.col_axis =
      is_cross ? (attn_bilingual_text){"source", "入力"} : (attn_bilingual_text){"key", "キー"};
  struct head_panel *h = &v->heads[v->count++];
  *h = (struct head_panel){.panel = p, .kind = a->kind, .is_mean = is_mean};
  set_title(h, a);
  return h;
}

static void add_weights(struct head_panel *head, const attn_attention *a) {
  double *at = (double *)(uintptr_t)head->panel.at; /* allocated by add_panel */
  for (int64_t n = 0; n < a->queries * a->keys; n++) at[n] += (double)a->weights[n];
}

static void add_to_mean(struct attention_view *v, const attn_attention *a) {
  if (!v->mean[a->kind]) {
    if (!add_panel(v, a, 1)) return;
    v->mean[a->kind] = v->count;
  }
  add_weights(&v->heads[v->mean[a->kind] - 1], a);
  v->added[a->kind]++;
}

static int is_selected(const struct attention_view *v, const attn_attention *a) {
  int64_t layer = v->o->attention.layer, head = v->o->attention.head;
  return (v->kind == ALL_KINDS || v->kind == a->kind) && (layer == ALL || layer == a->layer + 1) &&
         (head == ALL || head == a->head + 1);
}

/* The callback of attn_model_visit_attention. A selected layer or head replaces the mean. */
static int add_head(void *context, const attn_attention *a) {
  struct attention_view *v = context;
  const struct show_options *o = v->o;
  int is_one = o->attention.layer || o->attention.head;
  if (!is_selected(v, a)) return 0;
  if (!is_one) add_to_mean(v, a);
  if (!is_one && !o->all && !attn_cli_has_pictures(&o->pictures)) return v->failed;
  struct head_panel *head = v->failed ? NULL : add_panel(v, a, 0);
  if (head) add_weights(head, a);
  return v->failed;
}

/* ---- Output ---- */

static void divide_means(struct attention_view *v) {
  for (int kind = 0; kind < KINDS; kind++) {
    if (!v->mean[kind]) continue;
    attn_panel *p = &v->heads[v->mean[kind] - 1].panel;
    double *at = (double *)(uintptr_t)p->at;
    for (int64_t n = 0; n < (int64_t)p->rows * p->cols; n++) at[n] /= v->added[kind];
  }
}

/* "max 0.43" is the scale of its colours. */
static void make_thumbnail(struct head_panel *h) {
  double largest = 0;
  for (int64_t n = 0; n < (int64_t)h->panel.rows * h->panel.cols; n++)
    if (h->panel.at[n] > largest) largest = h->panel.at[n];
  SET(h->note[0], "max %.2g", largest), SET(h->note[1], "最大 %.2g", largest);
  h->panel.compact = 1, h->panel.note = (attn_bilingual_text){h->note[0], h->note[1]};
}

/* Means first; cross-attention before self-attention. */
static void order_panels(struct attention_view *v) {
  static const int order[KINDS] = {ATTN_ATTENTION_CROSS, ATTN_ATTENTION_ENCODER,
                                   ATTN_ATTENTION_DECODER};
  int32_t count = 0;
  divide_means(v);
  if (!(v->panels = calloc((size_t)v->count + 1, sizeof *v->panels))) v->failed = 1;
  for (int pass = 0; pass < 2 * KINDS && v->panels; pass++)
    for (int32_t n = 0; n < v->count; n++) {
      struct head_panel *h = &v->heads[n];
      if (h->is_mean != (pass < KINDS) || h->kind != order[pass % KINDS]) continue;
      h->panel.section = (attn_bilingual_text){h->section[0], h->section[1]};
      h->panel.title = (attn_bilingual_text){h->title[0], h->title[1]};
      if (!h->is_mean && v->mean[h->kind] && attn_cli_has_pictures(&v->o->pictures))
        make_thumbnail(h);
      v->panels[count++] = h->panel;
    }
}

/* Length of the longest prefix of at most max bytes that ends between characters. */
static int title_length(const char *text, size_t max) {
  size_t length = strlen(text);
  if (length <= max) return (int)length;
  while (max && ((unsigned char)text[max] & 0xC0) == 0x80) max--;
  return (int)max;
}

static attn_status draw(const void *data, attn_picture_format format, const attn_sink *sink,
                        attn_error *err) {
  const struct attention_view *v = data;
  const char *input = v->o->attention.input ? v->o->attention.input : v->o->attention.target;
  const char *output = v->output ? v->output : "";
  const size_t max = format == ATTN_PICTURE_TEXT ? 200 : 60; /* bytes */
  char title[512];
  snprintf(title, sizeof title, "%.*s%s%.*s", title_length(input, max), input,
           v->output ? " → " : "", title_length(output, max), output);
  const attn_bilingual_text words = {title, NULL};
  return attn_panels_draw(v->panels, v->count, &words, format, &v->o->style, sink, err);
}

static void print_unknown_json(const attn_model *model, const char *key, const char *text) {
  if (!text) return;
  attn_cli_json_begin_object(key);
  attn_cli_json_unknown_tokens(model, text);
  attn_cli_json_end_object();
}

static void print_json(const struct attention_view *v, const attn_panel *p) {
  attn_cli_json_begin_object(NULL);
  print_unknown_json(v->model, "input", v->o->attention.input);
  print_unknown_json(v->model, "target", v->o->attention.target);
  attn_cli_json_string("attention", p->section.english);
  attn_cli_json_string("title", p->title.english);
  attn_cli_json_strings("query_tokens", p->row_label, p->rows);
  attn_cli_json_strings("key_tokens", p->col_label, p->cols);
  attn_cli_json_begin_array("weights");
  for (int32_t i = 0; i < p->rows; i++)
    attn_cli_json_numbers(NULL, p->at + (int64_t)i * p->cols, p->cols);
  attn_cli_json_end_array();
  attn_cli_json_end_object(), attn_cli_json_end_line();
}

static void warn_of_glyphs(const struct attention_view *v) {
  int warned = 0;
  for (int32_t n = 0; n < v->count && !warned; n++) {
    const attn_panel *p = &v->panels[n];
    warned = attn_cli_warn_of_glyphs(&v->o->pictures, p->row_label, p->rows) ||
             attn_cli_warn_of_glyphs(&v->o->pictures, p->col_label, p->cols);
  }
}

static attn_status print_view(const struct attention_view *v, attn_error *err) {
  const attn_sink sink = attn_cli_stdout();
  warn_of_glyphs(v);
  if (attn_cli_has_pictures(&v->o->pictures))
    return attn_cli_write_pictures(&v->o->pictures, draw, v, err);
  if (!v->o->json) return draw(v, ATTN_PICTURE_TEXT, &sink, err);
  for (int32_t n = 0; n < v->count; n++) print_json(v, &v->panels[n]);
  return ATTN_OK;
}

/* ---- The command ---- */

/* The output of the decoder, for the title: --target, or greedy decoding as in
 * attn_model_visit_attention. A model without an encoder has none. */
static void set_output(struct attention_view *v) {
  const struct attn_cli_attention_options *o = &v->o->attention;
  attn_model_info facts = {.struct_size = sizeof facts};
  attn_model_describe(v->model, &facts, NULL);
  attn_generation_config config = ATTN_GENERATION_CONFIG_INIT;
  attn_generation_result result = ATTN_GENERATION_RESULT_INIT;
  config.threads = (int32_t)o->threads, config.num_beams = 1;
  if (facts.encoder_layers && o->input && !o->target &&
      !attn_model_generate(v->model, &o->input, 1, &config, &result, NULL))
    v->output = result.text, result.text = NULL;
  else if (o->input && o->target)
    v->output = strdup(o->target);
  attn_generation_results_free(&result, 1);
}

static int show(const struct show_options *o, const attn_model *model) {
  const struct attn_cli_attention_options *a = &o->attention;
  attn_error err;
  struct attention_view v = {.o = o, .model = model};
  v.kind = !a->kind && attn_cli_has_pictures(&o->pictures) ? ALL_KINDS
                                                           : (int)attn_cli_attention_kind(a, model);
  attn_cli_warn_unknown_attention(a, model);
  attn_status status = attn_model_visit_attention(model, a->input, a->target, (int32_t)a->threads,
                                                  add_head, &v, &err);
  int result = EXIT_TROUBLE;
  order_panels(&v), set_output(&v);
  if (v.failed)
    attn_cli_print_no_memory();
  else if (!status && !v.count)
    attn_cli_print_error("the model has no such kind, layer or head; --all shows those it has");
  else if (status || print_view(&v, &err))
    result = attn_cli_report_error(NULL, &err);
  else
    result = EXIT_OK;
  free_view(&v);
  return result;
}

static const char *conflict(const struct show_options *o, int operands) {
  const struct attn_cli_page_options *p = &o->page;
  const int others = o->json || o->all || o->pictures.svg || o->pictures.png;
  if (operands != 1) return "expected one model";
  if (!p->inputs.count && !p->input_file && !o->attention.target) return "expected --input TEXT";
  if (o->json && attn_cli_has_pictures(&o->pictures))
    return "--json and pictures exclude each other";
  if (!o->pictures.html &&
      (p->inputs.count > 1 || p->input_file || p->num_beams || p->max_new_tokens))
    return "several texts, --num-beams and --max-new-tokens require --html FILE";
  if (o->attention.target && (p->inputs.count > 1 || p->input_file))
    return "--target requires a single --input";
  if (others && (p->inputs.count > 1 || p->input_file))
    return "several texts require --html FILE alone";
  return NULL;
}

/* Everything but the page, then the page. */
static int show_all(const struct show_options *o, const attn_model *model, const char *name) {
  struct show_options rest = *o;
  rest.pictures.html = NULL;
  int result = EXIT_OK;
  if (!o->pictures.html || attn_cli_has_pictures(&rest.pictures)) result = show(&rest, model);
  if (o->pictures.html && result == EXIT_OK)
    result = attn_cli_show_page(model, name, o->pictures.html, &o->page, &o->attention, &o->style);
  return result;
}

int attn_cmd_show(int argc, char **argv) {
  struct show_options o = {.all = 0};
  struct attn_cli_style_options style = ATTN_CLI_STYLE_DEFAULTS;
  int operands;
  attn_model *model;
  attn_error err;
  const struct attn_cli_option table[] = {
      {"--all", OPTION_FLAG, &o.all, NULL},
      {"--json", OPTION_FLAG, &o.json, NULL},
      {"--input", OPTION_TEXTS, &o.page.inputs, NULL},
      {"--input-file", OPTION_TEXT, &o.page.input_file, NULL},
      {"--num-beams", OPTION_INT, &o.page.num_beams, NULL},
      {"--max-new-tokens", OPTION_INT, &o.page.max_new_tokens, NULL},
      ATTN_CLI_PICTURE_OPTIONS(&o.pictures),
      ATTN_CLI_HEAD_OPTIONS(&o.attention),
      ATTN_CLI_STYLE_OPTIONS(&style)};
  style.precision = 2;
  const int ended = attn_cli_parse_options(argc, argv, show_txt, ATTN_CLI_TABLE(table), &operands);
  if (ended >= 0) return ended;
  if (argc == 2 && operands == 1) return attn_info_print_model(argv[1], 0);
  const char *message = conflict(&o, operands);
  if (message) return attn_cli_print_usage_error("%s", message);
  o.attention.input = o.page.inputs.count ? o.page.inputs.text[0] : NULL;
  if (attn_cli_check_attention(&o.attention, 0) ||
      attn_cli_check_range("--num-beams", o.page.num_beams, 0, 4096) ||
      attn_cli_parse_style(&style, &o.style))
    return EXIT_TROUBLE;
  if (attn_model_open(argv[1], &model, &err)) return attn_cli_report_error(argv[1], &err);
  int result = show_all(&o, model, argv[1]);
  attn_model_free(model);
  return result;
}
