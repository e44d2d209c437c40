/* cmd_caption.c -- attn caption: what is in a picture, and where the model looks for each word. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attn/io.h"
#include "attn/train.h"
#include "command.h"
#include "console.h"
#include "help_files.h"
#include "json_output.h"
#include "model_input.h"
#include "picture_files.h"

enum { EXAMPLES_MAX = 1000 };

struct caption_options {
  attn_style style;
  struct attn_cli_pictures pictures;
  attn_generation_config generation;
  const char *precision;
  int64_t examples, num_beams, seed, threads;
  int show, occlude, json;
};

/* A word with the place covered that the model looks at. */
struct occluded_word {
  char *predicted, *occluded, *control;
  char *note[2];     /* English, Japanese */
  attn_tensor image; /* its memory is owned */
};

/* The attention of a caption: a row of the grid's weights for each token. */
struct caption_view {
  char *name, *caption;
  double log_prob;
  attn_array image;
  double *weights; /* (words, positions): the sum over heads, then the mean; NULL: no attention */
  char **words;    /* (words), with the end token */
  char **notes;    /* (words): place and entropy */
  struct occluded_word *occluded; /* (words), occluded_count of them are set; or NULL */
  int64_t occluded_count;
  int64_t count, positions, heads;
  int failed; /* no memory */
};

struct caption_run {
  const struct caption_options *o;
  const attn_model *model;
  attn_model_info info;
  struct caption_view *views;
  int64_t count;
  unsigned char *pixels; /* of examples */
  attn_panel *panels;
  int32_t panel_count;
};

static void free_view(struct caption_view *v) {
  for (int64_t n = 0; n < v->occluded_count; n++) {
    struct occluded_word *w = &v->occluded[n];
    free(w->predicted), free(w->occluded), free(w->control), free(w->image.data);
    free(w->note[0]), free(w->note[1]);
  }
  free(v->occluded);
  for (int64_t n = 0; n < v->count; n++) {
    if (v->words) free(v->words[n]);
    if (v->notes) free(v->notes[n]);
  }
  free(v->name), free(v->caption), free(v->weights), free(v->words), free(v->notes);
  attn_array_free(&v->image);
}

/* ---- Attention ---- */

static int open_words(struct caption_view *v, const attn_attention *a) {
  enum { NOTE = 96 };
  v->count = a->queries, v->positions = a->keys;
  v->weights = calloc((size_t)(a->queries * a->keys), sizeof *v->weights);
  v->words = calloc((size_t)a->queries, sizeof *v->words);
  v->notes = calloc((size_t)a->queries, sizeof *v->notes);
  if (!v->weights || !v->words || !v->notes) return 0;
  for (int64_t n = 0; n < a->queries; n++) {
    v->words[n] = strdup(a->query_tokens[n]), v->notes[n] = calloc(1, NOTE);
    if (!v->words[n] || !v->notes[n]) return 0;
  }
  return 1;
}

static int add_head(void *context, const attn_attention *a) {
  struct caption_view *v = context;
  if (a->kind != ATTN_ATTENTION_CROSS) return 0;
  if (!v->weights && !open_words(v, a)) return v->failed = 1;
  for (int64_t n = 0; n < a->queries * a->keys; n++) v->weights[n] += (double)a->weights[n];
  v->heads++;
  return 0;
}

static int64_t largest(const double *row, int64_t count) {
  int64_t best = 0;
  for (int64_t n = 1; n < count; n++)
    if (row[n] > row[best]) best = n;
  return best;
}

/* In nats: 0 at one place, log n at n equal ones. */
static double entropy(const double *row, int64_t count) {
  double sum = 0;
  for (int64_t n = 0; n < count; n++)
    if (row[n] > 0) sum -= row[n] * log(row[n]);
  return sum;
}

static void finish_words(struct caption_view *v, int64_t grid) {
  for (int64_t n = 0; n < v->count * v->positions; n++) v->weights[n] /= (double)v->heads;
  for (int64_t n = 0; n < v->count; n++) {
    const double *row = v->weights + n * v->positions;
    int64_t place = largest(row, v->positions);
    sprintf(v->notes[n], "%.2f (%lld,%lld)  H %.2f", row[place], (long long)(place / grid + 1),
            (long long)(place % grid + 1), entropy(row, v->positions));
  }
}

/* ---- Occlusion ---- */

/* A dense copy of a picture. */
static int copy_image(const attn_tensor *from, attn_tensor *to) {
  const size_t bytes = (size_t)(from->shape[0] * from->strides[0]);
  *to = *from, to->data = malloc(bytes);
  if (to->data) memcpy(to->data, from->data, bytes);
  return to->data != NULL;
}

static char *describe_occlusion(const attn_occlusion *o, const char *covered,
                                const char *elsewhere) {
  size_t size = strlen(covered) + strlen(elsewhere) + strlen(o->occluded) + strlen(o->control) + 1;
  char *text = malloc(size);
  if (text) snprintf(text, size, "%s%s%s%s", covered, o->occluded, elsewhere, o->control);
  return text;
}

static int add_occlusion(void *context, const attn_occlusion *o) {
  struct caption_view *v = context;
  if (!v->occluded) v->occluded = calloc((size_t)o->count, sizeof *v->occluded);
  if (!v->occluded) return v->failed = 1;
  struct occluded_word *w = &v->occluded[v->occluded_count++];
  w->predicted = strdup(o->predicted), w->occluded = strdup(o->occluded);
  w->control = strdup(o->control);
  w->note[0] = describe_occlusion(o, "covered: ", ", elsewhere: ");
  w->note[1] = describe_occlusion(o, "隠すと: ", "、別の場所なら: ");
  if (!w->predicted || !w->occluded || !w->control || !w->note[0] || !w->note[1] ||
      !copy_image(o->occluded_image, &w->image))
    return v->failed = 1;
  return attn_cli_interrupted();
}

/* ---- One picture ---- */

static void remove_word(struct caption_view *v) {
  v->count--;
  free(v->words[v->count]), free(v->notes[v->count]);
}

static int draws(const struct caption_options *o) {
  return o->show || attn_cli_has_pictures(&o->pictures);
}

static attn_status write_caption(struct caption_run *r, struct caption_view *v, attn_error *err) {
  attn_generation_result result = ATTN_GENERATION_RESULT_INIT;
  attn_status status =
      attn_model_caption(r->model, &v->image.tensor, 1, &r->o->generation, &result, err);
  if (status) return status;
  v->caption = result.text, v->log_prob = result.log_prob;
  if (!r->o->json && !draws(r->o) && !r->o->occlude) return ATTN_OK;
  /* A caption that fills all positions does not fit with an end token: it has no words here. */
  if (result.token_count >= r->info.max_positions) return ATTN_OK;
  status = attn_model_visit_caption(r->model, &v->image.tensor, v->caption,
                                    r->o->generation.threads, add_head, v, err);
  if (!status && v->count && !result.finished) remove_word(v); /* the end token */
  if (!status && r->o->occlude && *v->caption)
    status = attn_model_occlude_caption(r->model, &v->image.tensor, v->caption,
                                        (uint64_t)r->o->seed, add_occlusion, v, err);
  if (v->failed) return attn_cli_no_memory(err);
  if (!status && v->weights) finish_words(v, r->info.grid_size);
  return status;
}

/* Draws all examples, in the order of the views, whose images refer to `pixels`. */
static attn_status draw_examples(struct caption_run *r, attn_error *err) {
  attn_task_info task = ATTN_TASK_INFO_INIT;
  for (int32_t n = 0; attn_task_describe(n, &task); n++)
    if (!strcmp(task.name, r->info.task)) break;
  const int64_t side = task.picture_size, bytes = side * side * 3;
  if (!(r->pixels = malloc((size_t)(r->count * bytes)))) return attn_cli_no_memory(err);
  for (int64_t n = 0; n < r->count; n++)
    r->views[n].image.tensor =
        (attn_tensor){r->pixels + n * bytes, ATTN_U8, 3, {side, side, 3}, {3 * side, 3, 1}};
  return attn_task_pictures(r->info.task, (uint64_t)r->o->seed, 0, r->count, 1, r->pixels, err);
}

static attn_status caption_example(struct caption_run *r, int64_t n, struct caption_view *v,
                                   attn_error *err) {
  char source[256], prefix[256];
  if (!(v->name = malloc(sizeof source))) return attn_cli_no_memory(err);
  attn_status status = attn_task_example(r->info.task, (uint64_t)r->o->seed, (uint64_t)n, 1, source,
                                         prefix, v->name, err);
  return status ? status : write_caption(r, v, err);
}

static attn_status caption_file(struct caption_run *r, const char *path, struct caption_view *v,
                                attn_error *err) {
  if (!(v->name = strdup(path))) return attn_cli_no_memory(err);
  attn_status status = attn_image_read(path, NULL, &v->image, err);
  return status ? status : write_caption(r, v, err);
}

/* ---- Output ---- */

static void print_words_json(const struct caption_view *v, int64_t grid) {
  attn_cli_json_begin_array("words");
  for (int64_t n = 0; n < v->count; n++) {
    const double *row = v->weights + n * v->positions;
    int64_t place = largest(row, v->positions);
    attn_cli_json_begin_object(NULL);
    attn_cli_json_string("word", v->words[n]);
    attn_cli_json_int("row", place / grid + 1), attn_cli_json_int("column", place % grid + 1);
    attn_cli_json_number("weight", row[place]);
    attn_cli_json_number("entropy", entropy(row, v->positions));
    if (n < v->occluded_count) {
      attn_cli_json_string("predicted", v->occluded[n].predicted);
      attn_cli_json_string("occluded", v->occluded[n].occluded);
      attn_cli_json_string("control", v->occluded[n].control);
    }
    attn_cli_json_end_object();
  }
  attn_cli_json_end_array();
}

static void print_json(const struct caption_run *r, const struct caption_view *v) {
  attn_cli_json_begin_object(NULL);
  attn_cli_json_string(r->o->examples ? "expected" : "picture", v->name);
  attn_cli_json_string("caption", v->caption);
  attn_cli_json_number("log_prob", v->log_prob);
  attn_cli_json_int("grid_size", r->info.grid_size);
  print_words_json(v, r->info.grid_size);
  attn_cli_json_end_object(), attn_cli_json_end_line();
}

/* "  red: blue if its place is covered, red if another one is" */
static void print_occlusions(const struct caption_view *v) {
  for (int64_t n = 0; n < v->occluded_count; n++) {
    const struct occluded_word *w = &v->occluded[n];
    attn_cli_print_line("  %s: %s if its place is covered, %s if another one is", v->words[n],
                        w->occluded, w->control);
  }
}

static void print_text(const struct caption_run *r, const struct caption_view *v) {
  int is_example = r->o->examples != 0, is_right = is_example && !strcmp(v->name, v->caption);
  if (!is_example && r->count > 1) attn_cli_print_text(v->name, stdout), fputs(": ", stdout);
  attn_cli_print_text(v->caption, stdout), putchar('\n');
  if (is_example && !is_right) {
    attn_cli_print_message(stdout, "  expected: ");
    attn_cli_print_text(v->name, stdout), putchar('\n');
  }
  print_occlusions(v);
}

static attn_panel *add_panel(struct caption_run *r, const struct caption_view *v,
                             const attn_tensor *image, const char *title) {
  attn_panel *p = &r->panels[r->panel_count++];
  *p = (attn_panel)ATTN_PANEL_INIT;
  p->kind = ATTN_PANEL_IMAGE, p->image = image, p->title.english = title;
  p->section = (attn_bilingual_text){v->caption, v->caption};
  return p;
}

/* The picture, then one panel for each word; equal weights have equal colours. With --occlude the
 * picture with the place covered follows. */
static void add_panels(struct caption_run *r, const struct caption_view *v) {
  attn_panel *picture = add_panel(r, v, &v->image.tensor, r->o->examples ? "picture" : v->name);
  const int32_t grid = r->info.grid_size;
  double full = 0;
  if (r->o->examples) picture->title.japanese = "画像";
  for (int64_t n = 0; n < v->count * v->positions; n++) full = fmax(full, v->weights[n]);
  for (int64_t n = 0; n < v->count; n++) {
    attn_panel *word = add_panel(r, v, &v->image.tensor, v->words[n]);
    word->rows = word->cols = grid, word->first = 1, word->at = v->weights + n * v->positions;
    word->full_heat = full, word->smooth = 1;
    word->shift = 0.5 * grid / r->info.image_size - 0.5; /* features are centred on a first pixel */
    word->note.english = v->notes[n];
    if (n >= v->occluded_count) continue;
    const struct occluded_word *w = &v->occluded[n];
    add_panel(r, v, &w->image, v->words[n])->note = (attn_bilingual_text){w->note[0], w->note[1]};
  }
}

static attn_status draw(const void *data, attn_picture_format format, const attn_sink *sink,
                        attn_error *err) {
  const struct caption_run *r = data;
  const attn_bilingual_text title = {"Where the decoder looks for each word",
                                     "各単語を書くときにデコーダが見る場所"};
  return attn_panels_draw(r->panels, r->panel_count, &title, format, &r->o->style, sink, err);
}

static attn_status draw_all(struct caption_run *r, attn_error *err) {
  const attn_sink sink = attn_cli_stdout();
  int64_t count = 0;
  for (int64_t n = 0; n < r->count; n++)
    count += 1 + r->views[n].count + r->views[n].occluded_count;
  if (!(r->panels = calloc((size_t)count + 1, sizeof *r->panels))) return attn_cli_no_memory(err);
  for (int64_t n = 0; n < r->count; n++) add_panels(r, &r->views[n]);
  if (attn_cli_has_pictures(&r->o->pictures))
    return attn_cli_write_pictures(&r->o->pictures, draw, r, err);
  putchar('\n');
  return draw(r, ATTN_PICTURE_TEXT, &sink, err);
}

/* ---- The command ---- */

static attn_status caption_all(struct caption_run *r, char **paths, const char **file,
                               attn_error *err) {
  attn_status status = r->o->examples ? draw_examples(r, err) : ATTN_OK;
  for (int64_t n = 0; n < r->count && !status && !attn_cli_interrupted(); n++) {
    struct caption_view *v = &r->views[n];
    *file = r->o->examples ? NULL : paths[n];
    status = r->o->examples ? caption_example(r, n, v, err) : caption_file(r, paths[n], v, err);
    if (!status) (r->o->json ? print_json : print_text)(r, v);
  }
  *file = status ? *file : NULL;
  if (!status && draws(r->o)) status = draw_all(r, err);
  return status;
}

static int run(const struct caption_options *o, const attn_model *model, char **paths, int files) {
  struct caption_run r = {.o = o, .model = model, .count = o->examples ? o->examples : files};
  attn_error err = {.offset = -1};
  const char *file = NULL;
  r.info.struct_size = sizeof r.info;
  attn_model_describe(model, &r.info, NULL);
  if (!r.info.image_size)
    return attn_cli_print_error(
        "the model reads texts, not pictures; attn generate runs it, "
        "attn train captions trains a captioner");
  if (o->examples && !r.info.task)
    return attn_cli_print_error("--examples requires a model that was trained on a task of attn");
  if (!(r.views = calloc((size_t)r.count, sizeof *r.views))) return attn_cli_print_no_memory();
  attn_status status = caption_all(&r, paths, &file, &err);
  for (int64_t n = 0; n < r.count; n++) free_view(&r.views[n]);
  free(r.views), free(r.panels), free(r.pixels);
  return status ? attn_cli_report_error(file, &err) : EXIT_OK;
}

static const char *conflict(const struct caption_options *o, int operands) {
  if (operands < 1) return "expected a model";
  if (operands == 1 && !o->examples) return "expected PICTURE.png or --examples N";
  if (operands > 1 && o->examples) return "pictures and --examples exclude each other";
  if (o->json && draws(o)) return "--json and pictures exclude each other";
  return NULL;
}

int attn_cmd_caption(int argc, char **argv) {
  struct caption_options o = {.generation = ATTN_GENERATION_CONFIG_INIT};
  struct attn_cli_style_options style = ATTN_CLI_STYLE_DEFAULTS;
  int operands;
  attn_model *model;
  attn_error err;
  const struct attn_cli_option table[] = {
      {"--examples", OPTION_INT, &o.examples, NULL},
      {"--show", OPTION_FLAG, &o.show, NULL},
      {"--occlude", OPTION_FLAG, &o.occlude, NULL},
      {"--num-beams", OPTION_INT, &o.num_beams, NULL},
      {"--max-new-tokens", OPTION_INT, &o.generation.max_new_tokens, NULL},
      {"--precision", OPTION_TEXT, &o.precision, NULL},
      {"--seed", OPTION_INT, &o.seed, NULL},
      {"--threads", OPTION_INT, &o.threads, NULL},
      {"--json", OPTION_FLAG, &o.json, NULL},
      ATTN_CLI_PICTURE_OPTIONS(&o.pictures),
      ATTN_CLI_STYLE_OPTIONS(&style)};
  const int ended =
      attn_cli_parse_options(argc, argv, caption_txt, ATTN_CLI_TABLE(table), &operands);
  if (ended >= 0) return ended;
  if (conflict(&o, operands)) return attn_cli_print_usage_error("%s", conflict(&o, operands));
  if (attn_cli_check_range("--examples", o.examples, 0, EXAMPLES_MAX) ||
      attn_cli_check_range("--num-beams", o.num_beams, 0, 4096) ||
      attn_cli_check_range("--threads", o.threads, 0, ATTN_CLI_MAX_THREADS) ||
      attn_cli_parse_precision(o.precision, &o.generation.precision) ||
      attn_cli_parse_style(&style, &o.style))
    return EXIT_TROUBLE;
  o.generation.num_beams = (int32_t)o.num_beams, o.generation.threads = (int32_t)o.threads;
  if (attn_model_open(argv[1], &model, &err)) return attn_cli_report_error(argv[1], &err);
  int result = run(&o, model, argv + 2, operands - 1);
  attn_model_free(model);
  return result;
}
