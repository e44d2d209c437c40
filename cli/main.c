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
    {"check", "judge the numbers of a worked example", attn_cmd_check},
    {"explain", "show every step of one, with its numbers", attn_cmd_explain},
    {"new", "write a lesson to start from", attn_cmd_new},
    {"run", "attention on tensor files", attn_cmd_run},
    {"train", "a Transformer from nothing", attn_cmd_train},
    {"generate", "what a trained one says", attn_cmd_generate},
    {"show", "what it looks at", attn_cmd_show},
    {"embed", "texts as vectors, and how alike they are", attn_cmd_embed},
    {"export", "a trained one as a folder of Hugging Face's", attn_cmd_export},
    {"info", "the machine, the kernels, a model, a tensor file", attn_cmd_info},
};

enum { COMMANDS = sizeof commands / sizeof *commands };

static void print_help(FILE *to) {
  fprintf(to,
          "attn - exact attention: explained, checked, run, trained\n\nusage: attn COMMAND "
          "[OPTION...]\n\n");
  for (int n = 0; n < COMMANDS; n++)
    fprintf(to, "  %-9s %s\n", commands[n].name, commands[n].summary);
  fprintf(to,
          "\nattn COMMAND --help tells a command's options, with examples.\n"
          "attn --version tells the version. The manual: man attn\n");
}

static int find(const char *name) {
  for (int n = 0; n < COMMANDS; n++)
    if (!strcmp(name, commands[n].name)) return n;
  return -1;
}

static int unknown(const char *name) {
  const char *names[COMMANDS];
  for (int n = 0; n < COMMANDS; n++) names[n] = commands[n].name;
  const char *near = attn_text_nearest(name, names, COMMANDS);
  return attn_cli_print_usage_error(NULL, "there is no command \"%.60s\"%s%s%s", name,
                                    near ? "; did you mean \"" : "", near ? near : "",
                                    near ? "\"?" : "");
}

static int dispatch(int argc, char **argv) {
  const char *name = argc > 1 ? argv[1] : "--help";
  if (!strcmp(name, "--version")) return printf("attn %s\n", attn_version_string()), EXIT_OK;
  if (!strcmp(name, "--help") || !strcmp(name, "-h") || (!strcmp(name, "help") && argc < 3)) {
    print_help(argc > 1 ? stdout : stderr);
    return argc > 1 ? EXIT_OK : EXIT_TROUBLE;
  }
  char help[] = "--help";
  char *asked[] = {argv[argc > 2 ? 2 : 1], help, NULL};
  int wants_help = !strcmp(name, "help");
  int n = find(wants_help ? argv[2] : name);
  if (n < 0) return unknown(wants_help ? argv[2] : name);
  return wants_help ? commands[n].run(2, asked) : commands[n].run(argc - 1, argv + 1);
}

int main(int argc, char **argv) {
  attn_cli_init();
  return attn_cli_finish(dispatch(argc, argv));
}
