/**
 * train.h -- training of Transformers: generated tasks, text files, runs, checkpoints.
 * Part of libattn-model. Experimental: may change until 1.0.
 *
 *     attn_train_config config = ATTN_TRAIN_CONFIG_INIT;
 *     attn_train_state state = ATTN_TRAIN_STATE_INIT;
 *     config.task = "dates";
 *     config.output = "dates.safetensors";
 *     attn_model_train(&config, &state, &err);
 *
 * References: [Loshchilov19] arXiv 1711.05101, AdamW; [Vaswani17] arXiv 1706.03762, the Noam
 * schedule.
 */
#ifndef ATTN_TRAIN_H
#define ATTN_TRAIN_H

#include "attn/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Tasks --------------------------------------------------------------- */

/** A task: examples are generated, so the expected output is always known. */
typedef struct attn_task_info {
  size_t struct_size;         /* in: sizeof(attn_task_info) */
  const char *name, *summary; /* static storage */
  int32_t picture_size;       /* the side of the source pictures in pixels; 0: the sources are texts */
} attn_task_info;

#ifdef __cplusplus
#define ATTN_TASK_INFO_INIT { sizeof(attn_task_info) }
#else
#define ATTN_TASK_INFO_INIT { .struct_size = sizeof(attn_task_info) }
#endif

/**
 * Describes task n, counted from 0. Returns 1, or 0 when n is past the last task or struct_size is
 * not supported; *info is unchanged then.
 */
ATTN_API int32_t attn_task_describe(int32_t n, attn_task_info *info);

/**
 * Writes example n of a task as text. Training and validation examples never overlap.
 *
 *   seed            in   each seed gives another sequence of examples
 *   validation      in   0: a training example; otherwise: a validation example
 *   source, prefix, target  out  buffers of 256 bytes each; NUL-terminated UTF-8. prefix is what the
 *                        decoder reads before it generates the target, as target_prefixes of
 *                        attn_model_generate; "" for all tasks but "questions"
 *
 * Errors  ATTN_ERR_ARGUMENT: unknown task.
 */
ATTN_API attn_status attn_task_example(const char *task, uint64_t seed, uint64_t n,
                                       int32_t validation, char *source, char *prefix, char *target,
                                       attn_error *err);

/**
 * Draws the sources of examples first .. first + count - 1 of a task with pictures, whose source texts
 * only name them.
 *
 *   rgb  out  (count, picture_size, picture_size, 3) bytes, sRGB
 *
 * The tasks "photos" and "photos-ja" read Fashion-MNIST [Xiao17, arXiv 1708.07747] from the folder of
 * the environment variable ATTN_FASHION_MNIST [/usr/share/datasets/fashion-mnist, Debian's package
 * dataset-fashion-mnist], here and in attn_model_train and attn_model_evaluate: t10k for validation,
 * the rest for training.
 *
 * Errors  ATTN_ERR_ARGUMENT: unknown task, or one without pictures. ATTN_ERR_FILE: the photos are not
 *         installed. ATTN_ERR_FORMAT: they are not Fashion-MNIST's files. ATTN_ERR_MEMORY.
 * Cost    Each call reads all photos: 10 to 50 MB, up to 0.3 s.
 */
ATTN_API attn_status attn_task_pictures(const char *task, uint64_t seed, uint64_t first,
                                        int64_t count, int32_t validation, unsigned char *rgb,
                                        attn_error *err);

/* ---- Training ------------------------------------------------------------ */

/** Why a run ended. */
typedef enum attn_train_stop_reason {
  ATTN_TRAIN_RUNNING = 0,    /* it has not ended, or it failed */
  ATTN_TRAIN_MAX_STEPS,      /* all steps are done */
  ATTN_TRAIN_TARGET_REACHED, /* validation_exact_match reached target_exact_match */
  ATTN_TRAIN_EARLY_STOPPED,  /* `patience` validations without improvement */
  ATTN_TRAIN_INTERRUPTED,    /* the progress function returned nonzero */
} attn_train_stop_reason;

/**
 * What a run is doing when it calls the progress function. The phases before ATTN_TRAIN_STEP occur
 * at most once each, in this order, then ATTN_TRAIN_PRETRAIN_ENCODER; nothing has been written by
 * then.
 */
typedef enum attn_train_phase {
  ATTN_TRAIN_READ_DATA = 1,    /* unit of done and total: bytes of a file, then lines */
  ATTN_TRAIN_BUILD_VOCABULARY, /* unit: texts, then tokens */
  ATTN_TRAIN_MEASURE_EXAMPLES, /* find the longest example; unit: examples */
  ATTN_TRAIN_STEP,             /* a step is complete; unit: steps */
  ATTN_TRAIN_LOAD_BATCH,       /* within a step; unit: examples */
  ATTN_TRAIN_VALIDATE,         /* unit: validation examples */
  ATTN_TRAIN_PRETRAIN_ENCODER  /* before ATTN_TRAIN_STEP; unit: steps of pre-training */
} attn_train_phase;

/** The state of a run. */
typedef struct attn_train_state {
  size_t struct_size;            /* in: sizeof(attn_train_state) */
  int64_t step, steps;           /* completed; in total */
  double loss, accuracy;         /* of the last step: cross-entropy in nats per token; share of
                                    tokens predicted correctly */
  double learning_rate;          /* of the last step */
  double grad_norm;              /* of the last step, before clipping */
  double validation_loss;        /* nats per token, at the last validation; NaN before the first */
  double validation_exact_match; /* share of validation examples whose greedy output equals the
                                    target; NaN when the data have no source texts */
  double best_metric;            /* the highest validation_exact_match so far, or the lowest
                                    validation_loss when that is NaN; NaN before a validation */
  int64_t best_step;             /* the step of best_metric; 0 before a validation */
  double seconds, seconds_left;  /* of this call */
  double tokens_per_second;      /* target tokens trained on, of this call */
  int64_t skipped_steps;         /* steps whose loss or gradient was not finite */
  int64_t parameter_count, vocab_size;
  int64_t memory_bytes;          /* held for training; allocated before the first step */
  int32_t validated;             /* 1: this step was validated and its checkpoint is written */
  int32_t stop_reason;           /* attn_train_stop_reason */
  int32_t phase;                 /* attn_train_phase */
  int64_t done, total;           /* progress of the phase, in its unit */
} attn_train_state;

#ifdef __cplusplus
#define ATTN_TRAIN_STATE_INIT { sizeof(attn_train_state) }
#else
#define ATTN_TRAIN_STATE_INIT { .struct_size = sizeof(attn_train_state) }
#endif

/** Settings of a run. A zero or NULL member selects the default, given in [brackets]. */
typedef struct attn_train_config {
  size_t struct_size; /* sizeof(attn_train_config) */

  /* ---- Data: exactly one of task, data and resume ---- */

  const char *task;            /* name of a generated task */
  const char *data;            /* UTF-8 text file, one source<TAB>target per line. A model of kind
                                  "decoder" takes any line: the text before the first tab is the
                                  prompt, a line without a tab is all target. A model of kind
                                  "encoder" learns target token i at source position i and the end
                                  token at the others; a target must not be longer than its
                                  source */
  const char *resume;          /* checkpoint of an earlier run. Its settings are kept: only output,
                                  replace, threads and progress may be given. If output is not the
                                  resumed run's, best_metric starts over */
  const char *validation_data; /* with data: the file to validate on [10 % of data's lines] */

  /* ---- Output ---- */

  const char *output; /* path of the best checkpoint. The last one is written next to it:
                         "dates.last.safetensors" for "dates.safetensors" */
  int32_t replace;    /* 1: existing files of these names may be replaced, the best one at the first
                         validation. Read-only files are never replaced. A resumed run may always
                         replace its own */

  /* ---- Model ---- */

  const char *config;    /* JSON object: members that differ from the defaults [d_model 64, 4 heads,
                            ffn_dim 256, 2 encoder and 2 decoder layers, one embedding for source
                            and target; dropout 0 for a task and 0.1 otherwise] */
  const char *tokenizer; /* "characters", "words", "bpe:8000", or the path of a tokenizer.json
                            [the task's; "characters"] */

  /* ---- Optimization ---- */

  int64_t steps;                       /* [the task's; 4000] */
  int64_t batch_size;                  /* examples per batch [64] */
  int64_t gradient_accumulation_steps; /* batches per step [1] */
  int64_t warmup_steps;                /* [5 % of steps] */
  int64_t validate_every;              /* steps between validations [5 % of steps, at least 50] */
  int64_t max_validation_examples;     /* per validation [256] */
  int64_t patience;                    /* validations without improvement before the run stops
                                          [no limit] */
  double target_exact_match;           /* validation_exact_match at which the run stops, at most 1
                                          [none] */
  const char *lr_schedule;             /* "cosine", "noam" [Vaswani17] or "constant" ["cosine"] */
  double learning_rate;                /* the peak [0.002] */
  double weight_decay;                 /* of matrices, decoupled [0.01]; negative: none */
  double max_grad_norm;                /* gradient clipping [1]; negative: none */
  double label_smoothing;              /* at least 0, below 1 [0] */
  uint64_t seed;
  int32_t threads;                     /* [all CPUs] */

  /* NULL, or called after each step (ATTN_TRAIN_STEP) and at least every 10 ms or so within longer
   * work, by one thread at a time, which may be a thread of the library. A nonzero return stops the
   * run: within a step at the next layer, within a validation at the next generated token. A run
   * stopped before the first step has written nothing. Later the last checkpoint is written, with
   * the state after the last complete step; an unfinished validation is repeated on resume. */
  int32_t (*progress)(void *context, const attn_train_state *state);
  void *context;

  const char *precision; /* "float32" or "bf16" ["float32"]. With "bf16", linear layers round their
                            operands to bf16 (weights, inputs, output gradients), forward and
                            backward, and accumulate in float32. Everything else stays float32:
                            the weights that are updated and written, gradients, optimizer state,
                            biases, normalization, attention, loss, and the outputs generated for
                            validation. A CPU without bf16 instructions emulates them: the same
                            values up to the order of summation, but slower than float32 and with
                            more memory */
  const char *images;    /* with data: the folder of its pictures. The sources are then the names of
                            PNG files in it, the targets their captions. Decoded and scaled
                            pictures are kept, up to 256 MiB of them; a resumed run detects changed
                            captions and changed pictures */
  int64_t pretrain_encoder_steps; /* of a task with pictures: before the first step, so many steps on
                            the encoder alone, as a classifier of what is at each grid position:
                            shape, colour and size, or the class of a photo [0] */
  int32_t freeze_cnn;     /* 1: the convolutions of the encoder of pictures keep their weights,
                            pre-trained or initial; no gradients are computed for them. The linear
                            layer, positions and norm after them are trained [0] */
} attn_train_config;

#ifdef __cplusplus
#define ATTN_TRAIN_CONFIG_INIT { sizeof(attn_train_config) }
#else
#define ATTN_TRAIN_CONFIG_INIT { .struct_size = sizeof(attn_train_config) }
#endif

/**
 * Trains a model with AdamW [Loshchilov19] and validates it on examples that are never trained on.
 *
 *   config  in   the settings
 *   state   out  the last state, also after a failure; may be NULL. struct_size must be set: an
 *                unsupported size is rejected before anything else happens
 *
 * Runs are deterministic: the same build with the same number of threads gives the same bits, also
 * when a run was interrupted or killed and resumed. A step whose loss or gradient is not finite
 * changes nothing and is counted. After 10 such steps in a row, or if the model's outputs at a
 * validation are not finite, the run fails; the last checkpoint stays intact.
 *
 * Errors  ATTN_ERR_ARGUMENT: an invalid setting, an unknown task, or an output that exists while
 *         replace is 0. ATTN_ERR_FORMAT, before the first step: invalid data, with file, line and
 *         column (no tab, not UTF-8, too long, a target longer than its source for an encoder, no
 *         lines), an invalid checkpoint or model configuration. ATTN_ERR_FILE: an output that is
 *         read-only or in use by another run of any process, or a full disk; files written before
 *         stay intact. ATTN_ERR_MEMORY: before the first step, except what validations and
 *         checkpoints need. ATTN_ERR_INTERRUPTED. ATTN_ERR_DIVERGED.
 */
ATTN_API attn_status attn_model_train(const attn_train_config *config, attn_train_state *state,
                                      attn_error *err);

/* ---- Evaluation ---------------------------------------------------------- */

/** How well a model solves a task. */
typedef struct attn_evaluation {
  size_t struct_size;        /* in: sizeof(attn_evaluation) */
  int64_t examples;          /* evaluated */
  int64_t exact_matches;     /* examples whose output equals the target */
  int64_t aligned_tokens;    /* target tokens that come from one known source token, counted over
                                exact matches. 0 when the task has no alignment, or the model's
                                tokens are not the task's ("translation" split into characters) */
  int64_t alignment_matches; /* those whose cross-attention, averaged over layers and heads, is
                                highest at that source token */
  double alignment_chance;   /* expected alignment_matches / aligned_tokens of uniform attention */
  /* Tasks with pictures. aligned_tokens counts the first word of each object's description (its
   * size), and alignment_matches those words at which the attention, averaged over layers and heads,
   * is highest at a place that overlaps the object's bounding box; both are 0 without attention and
   * with uniform attention. Hidden words are words of a description. Each is predicted again, after
   * the caption before it, with a square covered by the background whose side is a third of the
   * picture's. */
  int64_t examples_by_objects[3], exact_matches_by_objects[3]; /* pictures with 1, 2, 3 objects */
  int64_t unseen_examples, unseen_exact_matches; /* as many further pictures, each with a shape in a
                                                    colour that the training data lack; photos: 0 */
  int64_t hidden_words;    /* of the first exact matches, at most 1000 */
  int64_t hidden_changes;  /* words that change if the place of the highest attention is hidden */
  int64_t control_changes; /* that change if another square, which does not overlap it, is hidden */
} attn_evaluation;

#ifdef __cplusplus
#define ATTN_EVALUATION_INIT { sizeof(attn_evaluation) }
#else
#define ATTN_EVALUATION_INIT { .struct_size = sizeof(attn_evaluation) }
#endif

/**
 * Evaluates a model by greedy decoding of validation examples of a task.
 *
 *   examples    in   how many, at least 1
 *   seed        in   selects the examples; the same seed in training selects others
 *   threads     in   0: all CPUs
 *   progress    in   NULL, or called with the number of examples as in attn_model_generate
 *   evaluation  out  counts up to a stop or failure
 *
 * Errors  Those of attn_model_generate. ATTN_ERR_ARGUMENT: unknown task, or fewer than 1 example.
 */
ATTN_API attn_status
attn_model_evaluate(const attn_model *model, const char *task, int64_t examples, uint64_t seed,
                    int32_t threads, int (*progress)(void *context, int64_t done, int64_t total),
                    void *progress_context, attn_evaluation *evaluation, attn_error *err);

/**
 * What a token of a caption becomes if a place of the picture is covered. Pointers are valid until the
 * visitor returns.
 */
typedef struct attn_occlusion {
  int64_t index, count;  /* of the token, from 0; of the caption's tokens, without the end token */
  const char *token;     /* UTF-8, as in attn_attention */
  const char *predicted; /* the most likely one after the tokens before it, from the whole picture */
  const char *occluded;  /* likewise with the place of the highest attention covered */
  const char *control;   /* likewise with another place covered instead */
  int32_t row, column;   /* the place of the highest attention in the grid, from 0 */
  const attn_tensor *occluded_image; /* (image_size, image_size, 3), ATTN_U8: the scaled picture with
                                        that place covered */
} attn_occlusion;

/**
 * Covers, for each token of a caption, the place that the model looks at, and predicts the token again:
 * occlusion sensitivity [Zeiler14, arXiv 1311.2901]. A place is a square of the scaled picture, a third
 * of its side wide, around the grid position with the highest attention, averaged over layers and heads;
 * the control is a random one that does not overlap it. Both are filled with the median of each colour
 * channel, mostly the background's.
 *
 *   image    in   as attn_model_caption
 *   caption  in   the tokens before a token are those of this text, not the predicted ones
 *   seed     in   of the random squares
 *   visit    in   called for each token in order; returns nonzero to stop
 *
 * Errors  those of attn_model_visit_caption. ATTN_ERR_ARGUMENT: the model reads no images, or has
 *         alignment "uniform" or "none". ATTN_ERR_INTERRUPTED (visit).
 * Cost    two forward passes per token, on the caller's thread.
 */
ATTN_API attn_status attn_model_occlude_caption(
    const attn_model *model, const attn_tensor *image, const char *caption, uint64_t seed,
    int (*visit)(void *context, const attn_occlusion *occlusion), void *context, attn_error *err);

#ifdef __cplusplus
}
#endif
#endif
