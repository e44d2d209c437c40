/* cmd_export.c -- attn export: a trained model as a folder that transformers reads. */
#include <stdio.h>

#include "attn/model.h"
#include "command.h"
#include "console.h"

static const char help[] =
    "attn export - a trained model as a folder that Hugging Face's transformers reads\n\n"
    "usage: attn export MODEL -o FOLDER [OPTION...]\n\n"
    "MODEL is a checkpoint of attn train, or such a folder. FOLDER must not be there yet; it gets\n"
    "config.json, generation_config.json, model.safetensors, tokenizer.json and\n"
    "tokenizer_config.json. A decoder becomes a GPT-2, an encoder with a decoder a Marian, an\n"
    "encoder a BERT; what no model of that family is is refused by its name.\n\n"
    "  -o FOLDER              where it goes\n"
    "  --json                 one object: the folder, how many weights\n\n"
    "exit status: 0 fine, 2 trouble\n\n"
    "examples:\n"
    "  attn train dates --config '{\"norm_first\": false, \"final_norm\": false,\n"
    "    \"positions\": \"sinusoidal_halves\", \"tied_output\": true, \"output_bias\": true}'\n"
    "  attn export dates.safetensors -o dates-marian\n"
    "  attn generate dates-marian '12 May 1991'\n"
    "  attn export lines.safetensors -o lines-gpt2 --json\n";

static void put(const char *folder, int64_t weights, int json) {
  if (json)
    printf("{\"folder\": "), attn_cli_json_string(folder),
        printf(", \"weights\": %lld}\n", (long long)weights);
  else
    printf("wrote "), attn_cli_print_text(folder, stdout), printf("/\n");
}

static int export_model(const char *path, const char *folder, int json) {
  attn_model_facts facts = {.struct_size = sizeof facts};
  attn_error err;
  attn_model *model;
  if (attn_model_open(path, &model, &err)) return attn_cli_report_error("export", path, &err);
  attn_cli_defer_interrupts(1);
  attn_status status = attn_model_export(model, folder, &err);
  attn_cli_defer_interrupts(0);
  if (!status) status = attn_model_describe(model, &facts, &err);
  attn_model_free(model);
  int writes = status == ATTN_ERR_FILE; /* the folder is at fault then, not the model */
  if (status) return attn_cli_report_error("export", writes ? NULL : path, &err);
  put(folder, facts.weights, json);
  return EXIT_OK;
}

int attn_cmd_export(int argc, char **argv) {
  const char *folder = NULL;
  int json = 0, wants_help = 0, operands;
  const struct attn_cli_option table[] = {{"-o", OPTION_TEXT, &folder, NULL},
                                          {"--output", OPTION_TEXT, &folder, NULL},
                                          {"--json", OPTION_FLAG, &json, NULL},
                                          {"--help", OPTION_FLAG, &wants_help, NULL},
                                          {"-h", OPTION_FLAG, &wants_help, NULL}};
  if (attn_cli_parse_options(argc, argv, table, sizeof table / sizeof *table, &operands))
    return EXIT_TROUBLE;
  if (wants_help) return fputs(help, stdout), EXIT_OK;
  const char *why = operands != 1 ? "which model? Name one"
                    : !folder     ? "which folder? Name it with -o"
                                  : NULL;
  if (why) return attn_cli_print_usage_error("export", "%s", why);
  return export_model(argv[1], folder, json);
}
