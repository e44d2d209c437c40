#include "show_page.h"

#include <stdlib.h>
#include <string.h>

#include "attention_run.h"
#include "attn/picture.h"
#include "command.h"
#include "console.h"
#include "picture_files.h"

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
                              struct attn_cli_attention_run *runs, int32_t count,
                              const struct attn_cli_attention_options *a, const attn_style *style,
                              attn_error *err) {
  attn_model_info info = {.struct_size = sizeof info};
  attn_model_page page = ATTN_MODEL_PAGE_INIT;
  attn_model_page_input *inputs = calloc((size_t)count, sizeof *inputs);
  if (!inputs) return attn_cli_no_memory(err);
  attn_model_describe(model, &info, NULL);
  for (int32_t n = 0; n < count; n++) inputs[n] = attn_cli_attention_run_input(&runs[n]);
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
  struct attn_cli_attention_run *runs = calloc((size_t)count, sizeof *runs);
  attn_status status = runs ? ATTN_OK : attn_cli_no_memory(err);
  for (int n = 0; n < count && !status; n++) {
    struct attn_cli_attention_run *run = &runs[n];
    run->source = inputs->count ? inputs->text[n] : NULL, run->target = a->target;
    run->num_beams = o->num_beams, run->max_new_tokens = o->max_new_tokens;
    run->threads = (int32_t)a->threads;
    if (run->source) attn_cli_warn_unknown_tokens("--input", 0, model, run->source);
    status = attn_cli_attention_run(model, run, err);
  }
  if (!status) status = write_page(model, base_name(name), path, runs, count, a, style, err);
  for (int n = 0; n < count && runs; n++) attn_cli_attention_run_free(&runs[n]);
  free(runs);
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
