/* cmd_show.c -- attn show: what a trained model looks at. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attn/model.h"
#include "command.h"
#include "console.h"
#include "picture_files.h"
#include "unknown_tokens.h"

static const char help[] =
    "attn show - what a trained model looks at\n\n"
    "usage: attn show CHECKPOINT --input TEXT [OPTION...]\n\n"
    "  --input TEXT           what the model reads\n"
    "  --target TEXT          what the decoder says [what it says by itself]; a decoder alone "
    "reads\n"
    "                         it behind --input, and says nothing by itself here\n"
    "  --kind cross|encoder|decoder   [cross, where there is one]\n"
    "  --layer N, --head N    one of them, counted from 1 [a mean over all of the kind]\n"
    "  --all                  every head by itself\n"
    "  --svg OUT, --png OUT, --html OUT\n"
    "                         pictures of the mean and of every head; html is one page, in both\n"
    "                         languages, light and dark\n"
    "  --json                 the weights, a line for each head\n"
    "  --lang en|ja, --color auto|always|never, --width N, --precision N, --threads N\n\n"
    "What the model has no token for is read as <unk>, with a warning that tells where; --json "
    "has\n"
    "it as \"unknown\". A byte that is only a part of a character is a token like <0xE4>.\n\n"
    "A row is a token that is said (of --kind encoder, read), a column one that is looked at.\n"
    "One weight written out: attn explain CHECKPOINT --input TEXT --cell 'weights[0,1]'\n\n"
    "examples:\n"
    "  attn show dates.safetensors --input '平成三年五月十二日'\n"
    "  attn show dates.safetensors --input '12 May 1991' --html attention.html\n"
    "  attn show dates.safetensors --input '12 May 1991' --layer 2 --head 1\n";

enum { KINDS = 3, EVERY = 0 };

struct wishes {
  attn_style style;
  struct attn_cli_pictures drawing;
  const char *model, *input, *target, *kind;
  int64_t layer, head, threads;
  int all, json, wants_help;
};

/* ---- What was seen: panels, and all that they point to ---- */

struct view {
  attn_panel panel;
  char title[2][64], section[2][64]; /* in both languages */
  int kind, is_mean;
};

struct seen {
  const struct wishes *w;
  const attn_model *model;
  struct view *view;
  attn_panel *panel; /* all of them, in the order in which they are told */
  char *said;
  int32_t count, room;
  int32_t sums[KINDS], added[KINDS]; /* the view of a kind's mean, from 1; heads in it */
  char **labels;
  int64_t label_count;
  int failed;
};

static const attn_words kind_words[KINDS] = {{"Encoder self-attention", "エンコーダの自己注意"},
                                             {"Decoder self-attention", "デコーダの自己注意"},
                                             {"Cross-attention", "交差注意"}};

static int grow(struct seen *s) {
  int32_t room = s->room ? 2 * s->room : 16;
  if (s->count < s->room) return 1;
  void *view = realloc(s->view, (size_t)room * sizeof *s->view);
  if (view) s->view = view, s->room = room;
  return view != NULL;
}

/* Names live as long as the call that shows them: copies, for all panels of a kind the same. */
static const char *const *copy_names(struct seen *s, const char *const *names, int64_t count) {
  char **all = realloc(s->labels, (size_t)(s->label_count + count + 1) * sizeof *all);
  char **own = calloc((size_t)count + 1, sizeof *own);
  if (all) s->labels = all;
  if (!all || !own) return s->failed = 1, free(own), NULL;
  s->labels[s->label_count++] = (char *)own;
  for (int64_t n = 0; n < count; n++) {
    own[n] = strdup(strcmp(names[n], " ") ? names[n] : "␣");
    s->labels[s->label_count++] = own[n];
    s->failed |= !own[n];
  }
  return (const char *const *)own;
}

static void forget(struct seen *s) {
  for (int32_t n = 0; n < s->count; n++) free((void *)s->view[n].panel.at);
  for (int64_t n = 0; n < s->label_count; n++) free(s->labels[n]);
  free(s->view), free(s->panel), free(s->labels), free(s->said);
}

#define SET(to, ...) snprintf(to, sizeof to, __VA_ARGS__)

static void name_view(struct view *v, const attn_attention *a) {
  const attn_words *kind = &kind_words[a->kind];
  if (v->is_mean) {
    SET(v->section[0], "%s", kind->english), SET(v->section[1], "%s", kind->japanese);
    SET(v->title[0], "mean of all layers and heads"), SET(v->title[1], "全層・全ヘッドの平均");
    return;
  }
  SET(v->section[0], "%s, layer %d", kind->english, a->layer + 1);
  SET(v->section[1], "%s 第%d層", kind->japanese, a->layer + 1);
  SET(v->title[0], "head %d", a->head + 1), SET(v->title[1], "ヘッド%d", a->head + 1);
}

/* Of the first head of a kind, whose names are copied, or like that one. */
static struct view *add_view(struct seen *s, const attn_attention *a, int is_mean) {
  size_t cells = (size_t)(a->queries * a->keys);
  double *at = calloc(cells, sizeof *at);
  if (!at || !grow(s)) return free(at), s->failed = 1, NULL;
  const attn_panel *like = s->sums[a->kind] ? &s->view[s->sums[a->kind] - 1].panel : NULL;
  attn_panel p = ATTN_PANEL_INIT;
  p.kind = ATTN_PANEL_HEAT, p.rows = (int32_t)a->queries, p.cols = (int32_t)a->keys, p.at = at;
  p.row_label = like ? like->row_label : copy_names(s, a->query, a->queries);
  p.col_label = like ? like->col_label : copy_names(s, a->key, a->keys);
  p.row_axis = a->kind == ATTN_ATTENTION_CROSS ? (attn_words){"said", "出力"}
                                               : (attn_words){"query", "クエリ"};
  p.col_axis = a->kind == ATTN_ATTENTION_CROSS ? (attn_words){"source", "入力"}
                                               : (attn_words){"key", "キー"};
  struct view *v = &s->view[s->count++];
  *v = (struct view){.panel = p, .kind = a->kind, .is_mean = is_mean};
  name_view(v, a);
  return v;
}

static void add_weights(struct view *view, const attn_attention *a) {
  double *at = (double *)(uintptr_t)view->panel.at; /* allocated by add_view */
  for (int64_t n = 0; n < a->queries * a->keys; n++) at[n] += (double)a->weights[n];
}

/* A mean is needed where no one layer or head was asked for. */
static void add_to_mean(struct seen *s, const attn_attention *a) {
  if (!s->sums[a->kind]) {
    if (!add_view(s, a, 1)) return;
    s->sums[a->kind] = s->count;
  }
  add_weights(&s->view[s->sums[a->kind] - 1], a);
  s->added[a->kind]++;
}

static int is_wanted(const struct wishes *w, const attn_attention *a) {
  static const char *const names[KINDS] = {"encoder", "decoder", "cross"};
  if (w->kind && strcmp(w->kind, names[a->kind])) return 0;
  return (w->layer == EVERY || w->layer == a->layer + 1) &&
         (w->head == EVERY || w->head == a->head + 1);
}

/* Each head where one was asked for, or where there is a page for all. */
static int shows_heads(const struct wishes *w) {
  return w->all || w->layer || w->head || attn_cli_has_pictures(&w->drawing);
}

static int look(void *context, const attn_attention *a) {
  struct seen *s = context;
  if (!is_wanted(s->w, a)) return 0;
  if (!s->w->layer && !s->w->head) add_to_mean(s, a);
  if (!shows_heads(s->w) || s->failed) return s->failed;
  struct view *view = add_view(s, a, 0);
  if (view) add_weights(view, a);
  return s->failed;
}

/* ---- What is told of it ---- */

static void divide(struct seen *s) {
  for (int kind = 0; kind < KINDS; kind++) {
    if (!s->sums[kind]) continue;
    attn_panel *p = &s->view[s->sums[kind] - 1].panel;
    double *at = (double *)(uintptr_t)p->at;
    for (int64_t n = 0; n < (int64_t)p->rows * p->cols; n++) at[n] /= s->added[kind];
  }
}

/* Means before heads; where the answer came from before how it was read. */
static void finish(struct seen *s) {
  static const int order[KINDS] = {ATTN_ATTENTION_CROSS, ATTN_ATTENTION_ENCODER,
                                   ATTN_ATTENTION_DECODER};
  int32_t count = 0;
  divide(s);
  if (!(s->panel = calloc((size_t)s->count + 1, sizeof *s->panel))) s->failed = 1;
  for (int turn = 0; turn < 2 * KINDS && s->panel; turn++)
    for (int32_t n = 0; n < s->count; n++) {
      struct view *v = &s->view[n];
      if (v->is_mean != (turn < KINDS) || v->kind != order[turn % KINDS]) continue;
      v->panel.section = (attn_words){v->section[0], v->section[1]};
      v->panel.title = (attn_words){v->title[0], v->title[1]};
      s->panel[count++] = v->panel;
    }
}

/* Bytes of a text's beginning that a title has room for, no character torn. */
static int fitting(const char *text) {
  size_t bytes = strlen(text), most = 200;
  if (bytes <= most) return (int)bytes;
  while (most && ((unsigned char)text[most] & 0xC0) == 0x80) most--;
  return (int)most;
}

static attn_status draw(const void *what, attn_picture_format format, const attn_sink *sink,
                        attn_error *err) {
  const struct seen *s = what;
  const char *input = s->w->input ? s->w->input : s->w->target;
  const char *said = s->said ? s->said : "";
  char title[512];
  snprintf(title, sizeof title, "%.*s%s%.*s", fitting(input), input, s->said ? " → " : "",
           fitting(said), said);
  const attn_words words = {title, NULL};
  return attn_panels_draw(s->panel, s->count, &words, format, &s->w->style, sink, err);
}

static void put_names(const char *name, const char *const *labels, int32_t count) {
  printf("\"%s\": [", name);
  for (int32_t n = 0; n < count; n++) printf("%s", n ? ", " : ""), attn_cli_json_string(labels[n]);
  printf("], ");
}

static void put_unknown(const struct seen *s, const char *name, const char *text) {
  if (!text) return;
  printf("\"%s\": {", name), attn_cli_json_unknown_tokens(s->model, text), printf("}, ");
}

static void put_json(const struct seen *s, const attn_panel *p) {
  printf("{");
  put_unknown(s, "input", s->w->input), put_unknown(s, "target", s->w->target);
  printf("\"attention\": "), attn_cli_json_string(p->section.english);
  printf(", \"title\": "), attn_cli_json_string(p->title.english), printf(", ");
  put_names("rows", p->row_label, p->rows), put_names("columns", p->col_label, p->cols);
  printf("\"weights\": [");
  for (int32_t i = 0; i < p->rows; i++) {
    printf("%s[", i ? ", " : "");
    for (int32_t j = 0; j < p->cols; j++)
      printf("%s", j ? ", " : ""), attn_cli_json_number(p->at[(int64_t)i * p->cols + j]);
    printf("]");
  }
  puts("]}");
}

static attn_status tell(const struct seen *s, attn_error *err) {
  const attn_sink sink = attn_cli_stdout();
  if (attn_cli_has_pictures(&s->w->drawing))
    return attn_cli_write_pictures(&s->w->drawing, draw, s, err);
  if (!s->w->json) return draw(s, ATTN_PICTURE_TEXT, &sink, err);
  for (int32_t n = 0; n < s->count; n++) put_json(s, &s->panel[n]);
  return ATTN_OK;
}

/* ---- The command ---- */

static const char *default_kind(const attn_model *model) {
  attn_model_facts facts = {.struct_size = sizeof facts};
  attn_model_describe(model, &facts, NULL);
  if (!facts.decoder_layers) return "encoder";
  return facts.encoder_layers ? "cross" : "decoder";
}

/* What it says by itself, for the title; a decoder alone is shown as it reads, not as it says. */
static void ask(struct seen *s, const attn_model *model) {
  attn_model_facts facts = {.struct_size = sizeof facts};
  attn_model_describe(model, &facts, NULL);
  attn_generation how = ATTN_GENERATION_INIT;
  attn_reply reply = ATTN_REPLY_INIT;
  how.threads = (int32_t)s->w->threads, how.beams = 1; /* as what is looked at */
  if (facts.encoder_layers && s->w->input && !s->w->target &&
      !attn_model_generate(model, &s->w->input, 1, &how, &reply, NULL))
    s->said = reply.text, reply.text = NULL;
  else if (s->w->input && s->w->target)
    s->said = strdup(s->w->target);
  attn_replies_free(&reply, 1);
}

/* A page is of all kinds. */
static int show(struct wishes *w, const attn_model *model) {
  attn_error err;
  struct seen s = {.w = w, .model = model};
  if (!w->kind && !attn_cli_has_pictures(&w->drawing)) w->kind = default_kind(model);
  if (w->input) attn_cli_warn_unknown_tokens("--input", 0, model, w->input);
  if (w->target) attn_cli_warn_unknown_tokens("--target", 0, model, w->target);
  attn_status status =
      attn_model_look(model, w->input, w->target, (int32_t)w->threads, look, &s, &err);
  int result = EXIT_TROUBLE;
  finish(&s), ask(&s, model);
  if (s.failed)
    attn_cli_print_error("show", "no memory for what was seen");
  else if (!status && !s.count)
    attn_cli_print_error("show", "the model has no such kind, layer or head; --all shows which");
  else if (status || tell(&s, &err))
    result = attn_cli_report_error("show", NULL, &err);
  else
    result = EXIT_OK;
  forget(&s);
  return result;
}

static int check(const struct wishes *w, int operands) {
  const char *why = NULL;
  if (operands != 1) why = operands ? "one checkpoint at a time" : "which checkpoint?";
  if (!why && !w->input && !w->target) why = "--input TEXT: what shall it look at?";
  if (!why && w->kind && strcmp(w->kind, "cross") && strcmp(w->kind, "encoder") &&
      strcmp(w->kind, "decoder"))
    why = "--kind may be cross, encoder or decoder";
  if (!why && (w->layer < 0 || w->head < 0)) why = "--layer and --head count from 1";
  if (!why && (w->threads < 0 || w->threads > 1024)) why = "--threads may be 0 to 1024";
  if (!why && w->json && attn_cli_has_pictures(&w->drawing))
    why = "--json, or a picture: leave one out";
  if (why) attn_cli_print_usage_error("show", "%s", why);
  return why ? -1 : 0;
}

int attn_cmd_show(int argc, char **argv) {
  struct wishes w = {.input = NULL};
  const char *lang = NULL, *color = NULL;
  int64_t width = 0, precision = -1;
  int operands;
  attn_model *model;
  attn_error err;
  const struct attn_cli_option table[] = {
      {"--input", OPTION_TEXT, &w.input, NULL},       {"--target", OPTION_TEXT, &w.target, NULL},
      {"--kind", OPTION_TEXT, &w.kind, NULL},         {"--layer", OPTION_INT, &w.layer, NULL},
      {"--head", OPTION_INT, &w.head, NULL},          {"--all", OPTION_FLAG, &w.all, NULL},
      {"--svg", OPTION_TEXT, &w.drawing.svg, NULL},   {"--png", OPTION_TEXT, &w.drawing.png, NULL},
      {"--html", OPTION_TEXT, &w.drawing.html, NULL}, {"--json", OPTION_FLAG, &w.json, NULL},
      {"--lang", OPTION_TEXT, &lang, NULL},           {"--color", OPTION_TEXT, &color, NULL},
      {"--width", OPTION_INT, &width, NULL},          {"--precision", OPTION_INT, &precision, NULL},
      {"--threads", OPTION_INT, &w.threads, NULL},    {"--help", OPTION_FLAG, &w.wants_help, NULL},
      {"-h", OPTION_FLAG, &w.wants_help, NULL}};
  if (attn_cli_parse_options(argc, argv, table, sizeof table / sizeof *table, &operands))
    return EXIT_TROUBLE;
  if (w.wants_help) return fputs(help, stdout), EXIT_OK;
  if (precision < 0) precision = 2; /* of shares of 1 that is enough to see */
  if (check(&w, operands) || attn_cli_parse_style(&w.style, lang, color, width, precision))
    return EXIT_TROUBLE;
  if (attn_model_open(argv[1], &model, &err)) return attn_cli_report_error("show", argv[1], &err);
  int result = show(&w, model);
  attn_model_free(model);
  return result;
}
