/**
 * train.h -- Transformers from nothing: tasks, data, runs, checkpoints.
 * Part of libattn-model. Experimental: may change until 1.0.
 *
 *     attn_train_config run = ATTN_TRAIN_CONFIG_INIT;
 *     attn_train_state end = ATTN_TRAIN_STATE_INIT;
 *     run.task = "dates";
 *     run.output = "dates.safetensors";
 *     attn_model_train(&run, &end, &err);
 */
#ifndef ATTN_TRAIN_H
#define ATTN_TRAIN_H

#include "attn/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A task whose examples are generated, with what is right known. */
typedef struct attn_task_info {
  size_t struct_size;         /* in: sizeof(attn_task_info) */
  const char *name, *summary; /* live for ever */
} attn_task_info;

#ifdef __cplusplus
#define ATTN_TASK_INFO_INIT \
  { sizeof(attn_task_info) }
#else
#define ATTN_TASK_INFO_INIT \
  { .struct_size = sizeof(attn_task_info) }
#endif

/** Task number n, from 0; 0 where there is none, or struct_size is none it knows: then *facts is
   left alone. */
ATTN_API int32_t attn_task_describe(int32_t n, attn_task_info *facts);

/**
 * Example number n of a task and a seed, as text; of those that are held out where that is not 0.
 * source and target have room for 256 bytes each. ATTN_ERR_ARGUMENT: there is no such task.
 */
ATTN_API attn_status attn_task_example(const char *task, uint64_t seed, uint64_t n,
                                       int32_t held_out, char *source, char *target,
                                       attn_error *err);

typedef enum attn_train_stop_reason {
  ATTN_TRAIN_RUNNING = 0,
  ATTN_TRAIN_MAX_STEPS,      /* all steps were made */
  ATTN_TRAIN_TARGET_REACHED, /* `until` was reached */
  ATTN_TRAIN_EARLY_STOPPED,  /* `patience` validations without a better one */
  ATTN_TRAIN_INTERRUPTED,    /* progress asked for it; the last checkpoint is written */
} attn_train_stop_reason;

/** What a run is at, as its progress function is told. Those before ATTN_TRAIN_STEP come at most
 * once, in this order, and have nothing to keep. */
typedef enum attn_train_phase {
  ATTN_TRAIN_READ_DATA = 1,    /* the data: bytes of a file, or lines */
  ATTN_TRAIN_BUILD_VOCABULARY, /* the vocabulary: texts; then words */
  ATTN_TRAIN_MEASURE_EXAMPLES, /* examples, for the longest */
  ATTN_TRAIN_STEP,             /* a step is made: steps */
  ATTN_TRAIN_LOAD_BATCH,       /* within a step: its examples */
  ATTN_TRAIN_VALIDATE          /* unseen examples */
} attn_train_phase;

/** How far a run is. */
typedef struct attn_train_state {
  size_t struct_size; /* in: sizeof(attn_train_state) */
  int64_t step, steps;
  double loss, accuracy;         /* of the last step: nats a token, share of tokens */
  double rate, norm;             /* of learning; of the gradient, before clipping */
  double validation_loss;        /* of the last validation; NaN before the first */
  double validation_exact_match; /* share of unseen examples whose whole reply was right, greedily;
                          NaN where there are no pairs */
  double best; /* the highest validation_exact_match, or the lowest validation_loss where that is
                  NaN; NaN before the first validation */
  int64_t best_step;
  double seconds, seconds_left; /* of this call */
  double tokens_per_second;     /* that the model learned to say, of this call */
  int64_t skipped;              /* steps whose loss or gradient was not finite */
  int64_t weights, words;       /* of the model; of its vocabulary */
  int64_t bytes;                /* of memory that training holds: all before the first step */
  int32_t validated;            /* 1: the unseen numbers are new, and a checkpoint stands */
  int32_t end;                  /* attn_train_stop_reason */
  int32_t phase;                /* attn_train_phase */
  int64_t done, total;          /* of the phase */
} attn_train_state;

#ifdef __cplusplus
#define ATTN_TRAIN_STATE_INIT \
  { sizeof(attn_train_state) }
#else
#define ATTN_TRAIN_STATE_INIT \
  { .struct_size = sizeof(attn_train_state) }
#endif

/** What a run is to do. What is zero has the default that stands in brackets. */
typedef struct attn_train_config {
  size_t struct_size;

  /* What is learned: one of task, data and resume. */
  const char *task;     /* the name of a task */
  const char *data;     /* a file of lines: source<TAB>target, UTF-8. For a model without an
                           encoder any text is a line, tabs and all. An encoder alone learns token
                           i of the target at place i of the source, the end at all others: no
                           target may have more tokens than its source */
  const char *resume;   /* a checkpoint that a run left: it goes on with its settings; beside it
                           only output, replace, threads and progress are given. Where output is
                           not the run's own, the best is looked for anew */
  const char *held_out; /* beside data: lines that are only validated on [a tenth of data's] */

  /* Where it goes. */
  const char *output; /* the best checkpoint. The last one, to go on from, beside it:
                         "dates.last.safetensors" for "dates.safetensors" */
  int32_t replace;    /* 1: files of these names may be replaced, the best with the first
                         validation; those that are resumed may. Read-only files never */

  /* The model. */
  const char *config;    /* JSON: members that differ from the default ones [width 64, 4 heads,
                            hidden 256, 2 + 2 layers, one table for source and target; no dropout
                            for a task, else 0.1] */
  const char *tokenizer; /* "characters", "words", "bpe:8000", or a tokenizer.json
                            [the task's; characters] */

  /* How. */
  int64_t steps;          /* [the task's; 4000] */
  int64_t batch;          /* pairs of a step [64] */
  int64_t accumulate;     /* batches of a step, one after another [1] */
  int64_t warm_up;        /* steps [a twentieth] */
  int64_t validate_every; /* steps [a twentieth, at least 50] */
  int64_t examples;       /* unseen ones at each validation, at most [256] */
  int64_t patience;       /* validations without a better one that end a run [none do] */
  double until;           /* validation_exact_match that ends a run, up to 1 [none does] */
  const char *schedule;   /* "cosine", "noam" or "constant" [cosine] */
  double rate;            /* the highest [the task's; 0.002] */
  double decay;           /* of matrices, decoupled [0.01]; below 0: none */
  double clip;            /* the longest gradient [1]; below 0: any */
  double smoothing;       /* of labels [0] */
  uint64_t seed;
  int32_t threads; /* 0: all */

  /* NULL, or called after each step (ATTN_TRAIN_STEP) and within whatever may take longer than
   * some 10 ms, by one thread at a time, which may be one of the library's. Nonzero stops the run:
   * within a step at the next layer of the batch; within a validation at the next token that is
   * said. Before the first step nothing is written; later the last checkpoint is, of the last step
   * that was whole, and a validation that was not finished is made when the run goes on. */
  int32_t (*progress)(void *context, const attn_train_state *state);
  void *context;

  const char *precision; /* "float32" or "bf16" [float32]. bf16: linear layers multiply numbers that
                            are rounded to bf16, forward and backward (weights, what goes in, and
                            the gradient of what comes out), and sum in float32. All else is
                            float32: the weights that are learned and written, their gradients and
                            moments, biases, norms, attention, the loss; and so are replies to the
                            unseen, where a run validates. CPUs without products of bf16 make the
                            same ones in float32: the same numbers up to the order of sums, slower
                            than float32, and of more memory */
} attn_train_config;

#ifdef __cplusplus
#define ATTN_TRAIN_CONFIG_INIT \
  { sizeof(attn_train_config) }
#else
#define ATTN_TRAIN_CONFIG_INIT \
  { .struct_size = sizeof(attn_train_config) }
#endif

/**
 * Trains a model, with AdamW [Loshchilov19], and validates it on what it never trains on.
 *
 * A run is repeated bit for bit by the same build with the same number of threads, and so is one
 * that was stopped, however it was, and goes on. A step whose loss or gradient is not finite
 * changes nothing and is counted; after 10 in a row, or where what is said to the unseen is no
 * number, the run fails, the last checkpoint intact.
 *
 *   end   out  how far it came, on failure too; may be NULL. Its struct_size must be set: another
 * is refused before anything is done
 *
 * Errors  ATTN_ERR_ARGUMENT (a setting; no such task; a file that is there and replace is 0),
 *         ATTN_ERR_FORMAT (data, with file, line and column: no tab, not UTF-8, too long, more to
 * be said than an encoder alone has places for, nothing at all; a task of such; a checkpoint; a
 *         configuration; all before the first step), ATTN_ERR_FILE (an output that is read-only, or
 *         another run's at this moment, of any process; a full disk: what was written before
 *         stands), ATTN_ERR_MEMORY (before the first step, but for what validations and checkpoints
 *         take), ATTN_ERR_INTERRUPTED, ATTN_ERR_DIVERGED.
 */
ATTN_API attn_status attn_model_train(const attn_train_config *run, attn_train_state *end,
                                      attn_error *err);

/** How well a model does a task. */
typedef struct attn_evaluation {
  size_t struct_size;       /* in: sizeof(attn_evaluation) */
  int64_t examples, exact;  /* unseen ones; whole replies that were right */
  int64_t aligned, pointed; /* tokens of right replies that come from one known source token; those
                               whose cross-attention, the mean of all layers and heads, is highest
                               there. 0 where the task knows no alignment, or its tokens are not
                               the model's (the words of "translation" in characters) */
  double chance;            /* share that would be pointed rightly by weights that are all equal */
} attn_evaluation;

#ifdef __cplusplus
#define ATTN_EVALUATION_INIT \
  { sizeof(attn_evaluation) }
#else
#define ATTN_EVALUATION_INIT \
  { .struct_size = sizeof(attn_evaluation) }
#endif

/**
 * Asks a model for `examples` unseen examples of a task, seeded otherwise than those of training's
 * validation, greedily. progress, or NULL, is told of examples, as attn_model_generate's; *card
 * holds what was asked until it stopped. Errors: as attn_model_generate; ATTN_ERR_ARGUMENT: there
 * is no such task.
 */
ATTN_API attn_status
attn_model_evaluate(const attn_model *model, const char *task, int64_t examples, uint64_t seed,
                    int32_t threads, int (*progress)(void *context, int64_t done, int64_t total),
                    void *progress_context, attn_evaluation *card, attn_error *err);

#ifdef __cplusplus
}
#endif
#endif
