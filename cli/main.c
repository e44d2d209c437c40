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

static const char help_of_commands[] =
    "attn - exact attention on the CPU: explain, check, run, train\n\n"
    "usage: attn COMMAND [OPTION...]\n\n";
static const char help_of_help[] =
    "\n"
    "  attn COMMAND --help   options and examples of a command\n"
    "  attn --version        version\n"
    "  man attn              manual\n";

static void print_help(FILE *to) {
  char buffer[ATTN_CLI_MESSAGE_MAX];
  attn_cli_print_help(help_of_commands, to);
  for (int n = 0; n < COMMANDS; n++)
    fprintf(to, "  %-10s %s\n", commands[n].name, attn_cli_translate(commands[n].summary, buffer));
  attn_cli_print_help(help_of_help, to);
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
  if (!near) return attn_cli_print_usage_error("unknown command \"%.60s\"", name);
  return attn_cli_print_usage_error("unknown command \"%.60s\"; did you mean \"%s\"?", name, near);
}

/* For the completion scripts: the commands, or the options of one. */
static int complete(const char *name) {
  char list[] = ATTN_CLI_LIST_OPTIONS;
  char *arguments[] = {list, list, NULL};
  char buffer[ATTN_CLI_MESSAGE_MAX];
  const int n = name ? find_command(name) : -1;
  for (int k = 0; !name && k < COMMANDS; k++)
    printf("%s\t%s\n", commands[k].name, attn_cli_translate(commands[k].summary, buffer));
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

/* --lang may precede the command. Returns the number of its arguments, or -1 after a message. */
static int parse_language(int argc, char **argv) {
  int n = 1, operands;
  while (n < argc && (!strcmp(argv[n], "--lang") || !strncmp(argv[n], "--lang=", 7)))
    n += argv[n][6] ? 1 : 2;
  if (n == 1) return 0;
  if (n > argc) n = argc;
  argv[0] = NULL; /* messages name no command */
  return attn_cli_parse_options(n, argv, NULL, NULL, 0, &operands) >= 0 ? -1 : n - 1;
}

int main(int argc, char **argv) {
  attn_cli_init();
  attn_cli_set_language(argc, argv);
  const int skipped = parse_language(argc, argv);
  return attn_cli_finish(skipped < 0 ? EXIT_TROUBLE : run_command(argc - skipped, argv + skipped));
}
