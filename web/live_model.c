#include "live_model.h"

#include <stdlib.h>
#include <string.h>

#include "attention_run.h"
#include "model.h"

struct attn_live_model {
  attn_model *model; /* NULL: it could not be opened, for the reason in problem */
  attn_error problem;
  char *name;
  struct attn_web_output text; /* generated */
  struct attn_web_output output;
};

struct attn_live_model *attn_live_model_open(void *bytes, size_t size, const char *name) {
  struct attn_live_model *m = calloc(1, sizeof *m);
  if (!m || !(m->name = strdup(name))) return NULL; /* with all memory: the page ends the module */
  attn_status status = attn_model_open_memory(bytes, size, m->name, &m->model, &m->problem);
  free(bytes);
  return status == ATTN_ERR_MEMORY ? NULL : m;
}

int32_t attn_live_model_is_open(const struct attn_live_model *m) { return m->model != NULL; }

const char *attn_live_model_text(const struct attn_live_model *m) { return m->text.text; }
size_t attn_live_model_text_bytes(const struct attn_live_model *m) { return m->text.bytes; }
const char *attn_live_model_output(const struct attn_live_model *m) { return m->output.text; }
size_t attn_live_model_output_bytes(const struct attn_live_model *m) { return m->output.bytes; }

static attn_status write_page(struct attn_live_model *m, const struct attn_cli_attention_run *run,
                              int32_t language, attn_error *err) {
  attn_model_info info = {.struct_size = sizeof info};
  const attn_model_page_input input = attn_cli_attention_run_input(run);
  const attn_style style = {.struct_size = sizeof style,
                            .language = language ? ATTN_LANGUAGE_JAPANESE : ATTN_LANGUAGE_ENGLISH};
  const attn_sink sink = attn_web_sink(&m->output);
  attn_model_page page = ATTN_MODEL_PAGE_INIT;
  attn_model_describe(m->model, &info, NULL);
  page.name = m->name, page.info = &info, page.inputs = &input, page.input_count = 1;
  m->output.bytes = 0;
  return attn_model_page_write(&page, &style, &sink, err);
}

static attn_status keep_text(struct attn_live_model *m, const struct attn_cli_attention_run *run) {
  const attn_sink sink = attn_web_sink(&m->text);
  const char *text = run->result_count ? run->results[0].text : "";
  return sink.write(sink.context, text, strlen(text)) ? ATTN_ERR_MEMORY : ATTN_OK;
}

int32_t attn_live_model_run(struct attn_live_model *m, const char *text, int32_t language) {
  struct attn_cli_attention_run run = {.source = text, .threads = 1};
  attn_error err = m->problem;
  attn_status status = m->model ? ATTN_OK : err.status;
  /* Without it a decoder would not generate. */
  if (m->model && !m->model->network->config.encoder_layers) run.num_beams = 1;
  if (!status) status = attn_cli_attention_run(m->model, &run, &err);
  if (!status) status = write_page(m, &run, language, &err);
  m->text.bytes = 0;
  if (!status) status = keep_text(m, &run);
  attn_cli_attention_run_free(&run);
  if (!status) return ATTN_WEB_FINE;
  return status == ATTN_ERR_MEMORY ? ATTN_WEB_NO_MEMORY
                                   : attn_web_write_error(&m->output, m->name, &err, language);
}
