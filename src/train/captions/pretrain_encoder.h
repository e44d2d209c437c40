/* pretrain_encoder.h -- supervised pre-training of the encoder of images: at each grid position,
 * which attributes the object there has. */
#ifndef ATTN_TRAIN_PRETRAIN_ENCODER_H
#define ATTN_TRAIN_PRETRAIN_ENCODER_H

#include "dataset.h"
#include "trainer.h"
#include "watch.h"

/* Makes steps of AdamW on the encoder's weights, with the batch size, learning rate and weight
 * decay of the trainer, on the first training pictures of the task. The classifiers are linear
 * functions of a position's hidden vector, one for shape, colour and size each, or one for the
 * class of a photo, with a class for positions without an object; they are discarded. The trainer
 * must not have made a step; its moments are 0 afterwards. The same bits with any number of
 * threads. loss: NULL, or out: the mean cross-entropy of the last step over positions and
 * classifiers, in nats.
 *
 * Errors  ATTN_ERR_MEMORY, ATTN_ERR_INTERRUPTED, ATTN_ERR_DIVERGED: a loss is not finite. */
attn_status attn_pretrain_encoder(struct attn_trainer *trainer, struct attn_dataset *dataset,
                                  int64_t steps, struct attn_watch *watch, double *loss,
                                  attn_error *err);

#endif
