/* main.c -- attn: a table of commands. */
#include <stdio.h>
#include <string.h>

#include "attn/attn.h"
#include "command.h"
#include "console.h"

static const struct {
  const char *name, *summary;
  int (*run)(int argc, char **argv);
} commands[] = {
    {"learn", "a course in chapters with exercises that are checked", attn_cmd_learn},
    {"check", "check the numbers of a worked example of attention", attn_cmd_check},
    {"caption", "describe pictures, and show where the model looks", attn_cmd_caption},
    {"explain", "show every step of a worked example with its numbers", attn_cmd_explain},
    {"new", "write a worked example to start from", attn_cmd_new},
    {"run", "compute attention on tensor files", attn_cmd_run},
    {"train", "train a Transformer on a task or on text pairs", attn_cmd_train},
    {"generate", "generate text with a trained model", attn_cmd_generate},
    {"show", "show the attention weights of a model on a text", attn_cmd_show},
    {"embed", "compute text embeddings and their cosine similarities", attn_cmd_embed},
    {"export", "export a model as a Hugging Face folder", attn_cmd_export},
    {"study", "repeat a claim about attention as an experiment", attn_cmd_study},
    {"bench", "measure the library against the machine and other programs", attn_cmd_bench},
    {"info", "describe the machine, a model or a tensor file", attn_cmd_info},
    {"completion", "print a completion script for bash, zsh or fish", attn_cmd_completion},
};

enum { COMMANDS = sizeof commands / sizeof *commands };

static void print_help(FILE *to) {
  fprintf(to,
          "attn - exact attention on the CPU: explain, check, run, train\n\n"
          "usage: attn COMMAND [OPTION...]\n\n");
  for (int n = 0; n < COMMANDS; n++)
    fprintf(to, "  %-10s %s\n", commands[n].name, commands[n].summary);
  fprintf(to,
          "\n"
          "  attn COMMAND --help   options and examples of a command\n"
          "  attn --version        version\n"
          "  man attn              manual\n");
}

static int find_command(const char *name) {
  for (int n = 0; n < COMMANDS; n++)
    if (!strcmp(name, commands[n].name)) return n;
  return -1;
}

static int refuse_command(const char *name) {
  const char *names[COMMANDS];
  for (int n = 0; n < COMMANDS; n++) names[n] = commands[n].name;
  const char *near = attn_text_nearest(name, names, COMMANDS);
  return attn_cli_print_usage_error(NULL, "unknown command \"%.60s\"%s%s%s", name,
                                    near ? "; did you mean \"" : "", near ? near : "",
                                    near ? "\"?" : "");
}

/* For the completion scripts: the commands, or the options of one. */
static int complete(const char *name) {
  char list[] = ATTN_CLI_LIST_OPTIONS;
  char *arguments[] = {list, list, NULL};
  const int n = name ? find_command(name) : -1;
  for (int k = 0; !name && k < COMMANDS; k++)
    printf("%s\t%s\n", commands[k].name, commands[k].summary);
  if (n >= 0) commands[n].run(2, arguments);
  return name && n < 0 ? EXIT_TROUBLE : EXIT_OK;
}

static int run_command(int argc, char **argv) {
  const char *name = argc > 1 ? argv[1] : "--help";
  if (!strcmp(name, "--version")) return printf("attn %s\n", attn_version_string()), EXIT_OK;
  if (!strcmp(name, "--help") || !strcmp(name, "-h") || (!strcmp(name, "help") && argc < 3)) {
    print_help(argc > 1 ? stdout : stderr);
    return argc > 1 ? EXIT_OK : EXIT_TROUBLE;
  }
  if (!strcmp(name, "--complete") && argc <= 3) return complete(argv[2]);
  int is_help = !strcmp(name, "help"); /* attn help COMMAND */
  char help_option[] = "--help";
  char *help_arguments[] = {argv[argc > 2 ? 2 : 1], help_option, NULL};
  int n = find_command(is_help ? argv[2] : name);
  if (n < 0) return refuse_command(is_help ? argv[2] : name);
  return is_help ? commands[n].run(2, help_arguments) : commands[n].run(argc - 1, argv + 1);
}

int main(int argc, char **argv) {
  attn_cli_init();
  return attn_cli_finish(run_command(argc, argv));
}
