/* show_page.h -- attn show --html: the page of a model on one or more texts. */
#ifndef ATTN_CLI_SHOW_PAGE_H
#define ATTN_CLI_SHOW_PAGE_H

#include "attn/lesson.h"
#include "model_input.h"

struct attn_cli_page_options {
  struct attn_cli_texts inputs;
  const char *input_file; /* one text per line */
  int64_t num_beams, max_new_tokens;
};

/* Runs the model over each text and writes the page to a file. attention: target, kind, layer and
 * head; its input is ignored. Returns the exit status. */
int attn_cli_show_page(const attn_model *model, const char *name, const char *path,
                       const struct attn_cli_page_options *o,
                       const struct attn_cli_attention_options *attention, const attn_style *style);

#endif
