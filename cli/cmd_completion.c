/* cmd_completion.c -- attn completion: a script that completes attn's commands and options. */
#include <stdio.h>

#include "command.h"
#include "completion_scripts.h"
#include "console.h"
#include "help_files.h"

int attn_cmd_completion(int argc, char **argv) {
  static const char *const shells[] = {"bash", "zsh", "fish"};
  static const char *const scripts[] = {attn_bash, attn_zsh, attn_fish};
  int operands;
  const int ended = attn_cli_parse_options(argc, argv, completion_txt, NULL, 0, &operands);
  if (ended >= 0) return ended;
  if (operands != 1) return attn_cli_print_usage_error("expected a shell: bash, zsh or fish");
  const int n = attn_cli_parse_choice("SHELL", argv[1], shells, 3);
  return n < 0 ? EXIT_TROUBLE : (fputs(scripts[n], stdout), EXIT_OK);
}
