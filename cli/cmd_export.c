/* cmd_export.c -- attn export: write a model as a folder that Hugging Face's transformers loads. */
#include <stdio.h>

#include "attn/model.h"
#include "command.h"
#include "console.h"
#include "json_output.h"

static const char help[] =
    "attn export - export a model as a folder that Hugging Face's transformers loads\n\n"
    "usage: attn export MODEL -o FOLDER [OPTION...]\n\n"
    "MODEL is a checkpoint of attn train, or such a folder. A decoder becomes GPT-2, an\n"
    "encoder-decoder Marian, an encoder BERT. A configuration that the architecture does not have\n"
    "is an error that names the member. The folder holds config.json, generation_config.json,\n"
    "model.safetensors, tokenizer.json and tokenizer_config.json.\n\n"
    "  -o, --output FOLDER   where to write: a new or an empty folder\n"
    "  --json                one object: folder, parameter_count\n\n"
    "exit status: 0 success, 2 trouble\n\n"
    "examples:\n"
    "  attn train dates --config '{\"norm_first\": false, \"final_norm\": false,\n"
    "    \"positions\": \"sinusoidal_halves\", \"tie_word_embeddings\": true, \"output_bias\": "
    "true}'\n"
    "  attn export dates.safetensors -o dates-marian\n"
    "  attn generate dates-marian '12 May 1991'\n";

static void print_result(const char *folder, int64_t parameter_count, int json) {
  if (json) {
    attn_cli_json_begin_object(NULL);
    attn_cli_json_string("folder", folder);
    attn_cli_json_int("parameter_count", parameter_count);
    attn_cli_json_end_object(), attn_cli_json_end_line();
  } else {
    attn_cli_print_written(folder, "/");
  }
}

static int export_model(const char *path, const char *folder, int json) {
  attn_model_info facts = {.struct_size = sizeof facts};
  attn_error err;
  attn_model *model;
  if (attn_model_open(path, &model, &err)) return attn_cli_report_error("export", path, &err);
  attn_cli_defer_interrupts(1);
  attn_status status = attn_model_export(model, folder, &err);
  attn_cli_defer_interrupts(0);
  if (!status) status = attn_model_describe(model, &facts, &err);
  attn_model_free(model);
  /* ATTN_ERR_FILE is about the folder, everything else about the model. */
  if (status) return attn_cli_report_error("export", status == ATTN_ERR_FILE ? NULL : path, &err);
  print_result(folder, facts.parameter_count, json);
  return EXIT_OK;
}

int attn_cmd_export(int argc, char **argv) {
  const char *folder = NULL;
  int json = 0, help_requested = 0, operands;
  const struct attn_cli_option table[] = {{"-o", OPTION_TEXT, &folder, NULL},
                                          {"--output", OPTION_TEXT, &folder, NULL},
                                          {"--json", OPTION_FLAG, &json, NULL},
                                          ATTN_CLI_HELP_OPTIONS(&help_requested)};
  if (attn_cli_parse_options(argc, argv, table, sizeof table / sizeof *table, &operands))
    return EXIT_TROUBLE;
  if (help_requested) return attn_cli_print_help(help, stdout), EXIT_OK;
  if (operands != 1) return attn_cli_print_usage_error("export", "expected one model");
  if (!folder) return attn_cli_print_usage_error("export", "expected -o FOLDER");
  return export_model(argv[1], folder, json);
}
