#include "show_page.h"

#include <stdlib.h>
#include <string.h>

#include "attention_run.h"
#include "attn/picture.h"
#include "command.h"
#include "console.h"
#include "picture_files.h"

/* ---- The page ---- */

/* A page to be written: of a model, its name and its texts, into a file. */
struct page_request {
  const attn_model *model;
  const char *name, *path;
  const struct attn_cli_page_options *options;
  const struct attn_cli_attention_options *attention;
  const attn_style *style;
  struct attn_cli_texts inputs;
};

static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash && slash[1] ? slash + 1 : path;
}

static attn_status write_page(const struct page_request *r, struct attn_cli_attention_run *runs,
                              int32_t count, attn_error *err) {
  attn_model_info info = {.struct_size = sizeof info};
  attn_model_page page = ATTN_MODEL_PAGE_INIT;
  struct attn_cli_buffer buffer = {NULL, 0, 0, 0};
  const attn_sink sink = attn_cli_buffer_sink(&buffer);
  attn_model_page_input *inputs = calloc((size_t)count, sizeof *inputs);
  if (!inputs) return attn_cli_no_memory(err);
  attn_model_describe(r->model, &info, NULL);
  for (int32_t n = 0; n < count; n++) inputs[n] = attn_cli_attention_run_input(&runs[n]);
  page.name = base_name(r->name), page.info = &info;
  page.inputs = inputs, page.input_count = count;
  page.kind = r->attention->kind ? 1 + (int32_t)attn_cli_attention_kind(r->attention, r->model) : 0;
  page.layer = (int32_t)r->attention->layer, page.head = (int32_t)r->attention->head;
  attn_status status = attn_model_page_write(&page, r->style, &sink, err);
  status = attn_cli_buffer_save(&buffer, r->path, status, err);
  if (!status) attn_cli_print_written(r->path, "");
  free(inputs);
  return status;
}

/* The lines of --input-file after the texts of --input; empty lines are skipped. */
static attn_status add_lines(char *text, struct attn_cli_texts *to, attn_error *err) {
  for (char *line; (line = attn_cli_next_line(&text));) {
    if (!*line) continue;
    if (to->count == ATTN_CLI_TEXTS_MAX)
      return attn_cli_fail(err, ATTN_ERR_ARGUMENT, "more than %d texts; expected at most %d",
                           ATTN_CLI_TEXTS_MAX, ATTN_CLI_TEXTS_MAX);
    to->text[to->count++] = line;
  }
  return ATTN_OK;
}

static attn_status run_all(const struct page_request *r, attn_error *err) {
  const struct attn_cli_texts *inputs = &r->inputs;
  const int count = inputs->count ? inputs->count : 1; /* or only a target */
  struct attn_cli_attention_run *runs = calloc((size_t)count, sizeof *runs);
  attn_status status = runs ? ATTN_OK : attn_cli_no_memory(err);
  for (int n = 0; n < count && !status; n++) {
    struct attn_cli_attention_run *run = &runs[n];
    run->source = inputs->count ? inputs->text[n] : NULL, run->target = r->attention->target;
    run->num_beams = r->options->num_beams, run->max_new_tokens = r->options->max_new_tokens;
    run->threads = (int32_t)r->attention->threads;
    if (run->source) attn_cli_warn_unknown_tokens("--input", 0, r->model, run->source);
    status = attn_cli_attention_run(r->model, run, err);
  }
  if (!status) status = write_page(r, runs, count, err);
  for (int n = 0; n < count && runs; n++) attn_cli_attention_run_free(&runs[n]);
  free(runs);
  return status;
}

int attn_cli_show_page(const attn_model *model, const char *name, const char *path,
                       const struct attn_cli_page_options *o,
                       const struct attn_cli_attention_options *a, const attn_style *style) {
  struct page_request r = {model, name, path, o, a, style, o->inputs};
  attn_error err = {.offset = -1};
  char *text = NULL;
  attn_status status = o->input_file ? attn_cli_read_text(o->input_file, &text, &err) : ATTN_OK;
  if (!status && text) status = add_lines(text, &r.inputs, &err);
  const char *file = status ? o->input_file : NULL;
  if (!status) status = run_all(&r, &err);
  free(text);
  return status ? attn_cli_report_error(file, &err) : EXIT_OK;
}
