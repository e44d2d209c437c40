/* cmd_export.c -- attn export: write a model as a folder that Hugging Face's transformers loads. */
#include "attn/model.h"
#include "command.h"
#include "console.h"
#include "help_files.h"
#include "json_output.h"

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
  if (attn_model_open(path, &model, &err)) return attn_cli_report_error(path, &err);
  attn_cli_defer_interrupts(1);
  attn_status status = attn_model_export(model, folder, &err);
  attn_cli_defer_interrupts(0);
  if (!status) status = attn_model_describe(model, &facts, &err);
  attn_model_free(model);
  /* ATTN_ERR_FILE is about the folder, everything else about the model. */
  if (status) return attn_cli_report_error(status == ATTN_ERR_FILE ? NULL : path, &err);
  print_result(folder, facts.parameter_count, json);
  return EXIT_OK;
}

int attn_cmd_export(int argc, char **argv) {
  const char *folder = NULL;
  int json = 0, operands;
  const struct attn_cli_option table[] = {{"-o", OPTION_TEXT, &folder, NULL},
                                          {"--output", OPTION_TEXT, &folder, NULL},
                                          {"--json", OPTION_FLAG, &json, NULL}};
  const int ended =
      attn_cli_parse_options(argc, argv, export_txt, ATTN_CLI_TABLE(table), &operands);
  if (ended >= 0) return ended;
  if (operands != 1) return attn_cli_print_usage_error("expected one model");
  if (!folder) return attn_cli_print_usage_error("expected -o FOLDER");
  return export_model(argv[1], folder, json);
}
