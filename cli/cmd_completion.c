/* cmd_completion.c -- attn completion: a script that completes attn's commands and options. */
#include <stdio.h>

#include "command.h"
#include "completion_scripts.h"
#include "console.h"

static const char help[] =
    "attn completion - print a shell's completion script\n\n"
    "usage: attn completion bash|zsh|fish\n\n"
    "The script completes commands, options, values of options that have a fixed set, and file\n"
    "names. It calls attn for them, so that it needs no update. Installed by make install.\n\n"
    "examples:\n"
    "  source <(attn completion bash)                                      # in ~/.bashrc\n"
    "  source <(attn completion zsh)                                       # in ~/.zshrc\n"
    "  attn completion fish >~/.config/fish/completions/attn.fish\n";

int attn_cmd_completion(int argc, char **argv) {
  static const char *const shells[] = {"bash", "zsh", "fish"};
  static const char *const scripts[] = {attn_bash, attn_zsh, attn_fish};
  int is_help = 0, operands;
  const struct attn_cli_option table[] = {ATTN_CLI_HELP_OPTIONS(&is_help)};
  if (attn_cli_parse_options(argc, argv, table, sizeof table / sizeof *table, &operands))
    return EXIT_TROUBLE;
  if (is_help) return attn_cli_print_help(help, stdout), EXIT_OK;
  if (operands != 1)
    return attn_cli_print_usage_error("completion", "expected a shell: bash, zsh or fish");
  const int n = attn_cli_parse_choice("completion", "SHELL", argv[1], shells, 3);
  return n < 0 ? EXIT_TROUBLE : (fputs(scripts[n], stdout), EXIT_OK);
}
