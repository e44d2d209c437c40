/* info_model.h -- attn info, where the file is a model. */
#ifndef ATTN_CLI_MODEL_INFO_H
#define ATTN_CLI_MODEL_INFO_H

/* Says what the model at path is, as JSON where json is not 0: another element behind *printed
 * of them. Returns the exit status. */
int attn_info_print_model(const char *path, int json, int *printed);

#endif
