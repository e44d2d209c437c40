/* training_metadata.h -- member names of the metadata "training" and "run" of checkpoints. */
#ifndef ATTN_MODEL_TRAINING_METADATA_H
#define ATTN_MODEL_TRAINING_METADATA_H

#include <jansson.h>

/* Renames members of either object from the names that libattn 0.1 wrote. A member that exists
 * under both names keeps both. Nonzero: out of memory. */
int attn_training_metadata_rename(json_t *object);

#endif
