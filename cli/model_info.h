/* model_info.h -- attn info of a model. */
#ifndef ATTN_CLI_MODEL_INFO_H
#define ATTN_CLI_MODEL_INFO_H

/* Prints what the model at path is: as text, or as an element of a JSON array. Returns the exit
 * status. */
int attn_info_print_model(const char *path, int json);

#endif
