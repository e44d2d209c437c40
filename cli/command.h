/* command.h -- the commands, one file each: cmd_NAME.c. argv[0] is the name of the command. */
#ifndef ATTN_CLI_COMMAND_H
#define ATTN_CLI_COMMAND_H

int attn_cmd_bench(int argc, char **argv);
int attn_cmd_caption(int argc, char **argv);
int attn_cmd_check(int argc, char **argv);
int attn_cmd_completion(int argc, char **argv);
int attn_cmd_embed(int argc, char **argv);
int attn_cmd_explain(int argc, char **argv);
int attn_cmd_export(int argc, char **argv);
int attn_cmd_generate(int argc, char **argv);
int attn_cmd_info(int argc, char **argv);
int attn_cmd_learn(int argc, char **argv);
int attn_cmd_new(int argc, char **argv);
int attn_cmd_run(int argc, char **argv);
int attn_cmd_show(int argc, char **argv);
int attn_cmd_study(int argc, char **argv);
int attn_cmd_train(int argc, char **argv);

/* Exit statuses, as of grep and diff. FOUND: a wrong number, or a result outside the error bound.
 */
enum { EXIT_OK = 0, EXIT_FOUND = 1, EXIT_TROUBLE = 2, EXIT_INTERRUPTED = 130 };

#endif
