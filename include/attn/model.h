/**
 * model.h -- trained Transformers: open, generate, embed, inspect, export.
 * Part of libattn-model. Experimental: may change until 1.0.
 *
 *     attn_model *model;
 *     attn_generation_result result = ATTN_GENERATION_RESULT_INIT;
 *     const char *source = "平成三年五月十二日";
 *     attn_model_open("dates.safetensors", &model, &err);
 *     attn_model_generate(model, &source, 1, NULL, &result, &err);   -> "1991-05-12"
 *
 * A checkpoint is one safetensors file: weights under the names of PyTorch's
 * nn.Transformer, and two entries of metadata: "config" (JSON, the model's
 * configuration) and "tokenizer" (Hugging Face's tokenizer.json). attn_model_train
 * (train.h) writes it. A Hugging Face folder (BERT, GPT-2, Marian) opens as well:
 *
 *     const char *texts[] = {"A man is eating food.", "Someone eats a meal."};
 *     float vectors[2][384];
 *     attn_model_open("all-MiniLM-L6-v2", &model, &err);
 *     attn_model_embed(model, texts, 2, NULL, vectors[0], &err);
 *
 * An open model is immutable: any number of threads may use it.
 */
#ifndef ATTN_MODEL_H
#define ATTN_MODEL_H

#include "attn/io.h" /* attn_sink */

#ifdef __cplusplus
extern "C" {
#endif

/** A model: its configuration, weights and tokenizer. */
typedef struct attn_model attn_model;

/**
 * Opens a checkpoint, or a Hugging Face folder of a BERT (encoder), GPT-2 (decoder) or Marian
 * (encoder-decoder) model.
 *
 *   path   in   a safetensors file, or a folder with config.json, model.safetensors (any float
 *               type) and a vocabulary: tokenizer.json (byte-level BPE, WordLevel or WordPiece), or
 *               GPT-2's vocab.json and merges.txt. SentencePiece (source.spm) is not supported
 *   model  out  freed by attn_model_free; NULL on failure
 *
 * Reads also, if present: of an encoder, sentence-transformers' modules.json, the pooling module's
 * config.json and sentence_bert_config.json (see attn_embedding_config); of other models,
 * generation_config.json, or if absent config.json (see attn_generation_config). A setting that
 * would change results and is not supported is an error with the member's name and value; no
 * setting is ignored. All values are computed in float32, without dropout.
 *
 * Errors  ATTN_ERR_FILE; ATTN_ERR_FORMAT with the name of what is missing, malformed or
 *         inconsistent with the configuration; ATTN_ERR_MEMORY.
 * Cost    Reads the weights, and not the optimizer state of a training checkpoint.
 */
ATTN_API attn_status attn_model_open(const char *path, attn_model **model, attn_error *err);

/**
 * Writes a model as a folder for transformers' from_pretrained: config.json,
 * generation_config.json, model.safetensors, tokenizer.json, tokenizer_config.json. A decoder
 * becomes a GPT2LMHeadModel, an encoder-decoder a MarianMTModel, an encoder a BertModel or
 * BertForMaskedLM. Logits and greedy generation are the same; beam search is then that of
 * transformers (see attn_generation_config).
 *
 *   folder  in   a path that does not exist, or an empty folder. It appears complete or not at all
 *
 * Errors  ATTN_ERR_ARGUMENT with the first member of the configuration that the Hugging Face family
 *         cannot represent (docs/models.md lists the requirements); ATTN_ERR_FILE; ATTN_ERR_MEMORY.
 */
ATTN_API attn_status attn_model_export(const attn_model *model, const char *folder,
                                       attn_error *err);

/** Frees a model. NULL is allowed. */
ATTN_API void attn_model_free(attn_model *model);

/**
 * Returns 1 if path is a folder, or a safetensors file with the metadata of a checkpoint; else 0.
 * Reads the header only, so attn_model_open may still fail.
 */
ATTN_API int32_t attn_model_probe(const char *path);

/** What a model is, and how it was trained. Strings are valid for the lifetime of the model. */
typedef struct attn_model_info {
  size_t struct_size;      /* in: sizeof(attn_model_info) */
  const char *config;      /* the configuration as JSON */
  int64_t parameter_count;
  int64_t vocab_size;
  int64_t max_positions;   /* the longest sequence, in tokens */
  int32_t encoder_layers, decoder_layers, num_heads;
  int64_t d_model;         /* width of hidden vectors and of embeddings: D */
  const char *kind;        /* "encoder-decoder", "decoder", "encoder" or "vision-encoder-decoder" */
  const char *tokenizer;   /* "characters", "words", "bpe" or "wordpiece" */
  int64_t ffn_dim;         /* width inside feed-forward layers */
  int32_t num_kv_heads;
  int32_t has_training;    /* 1: the checkpoint records its training, in the members below */
  const char *task, *data; /* the generated task or the data file it was trained on; the other is
                              NULL */
  const char *precision;   /* of the matrix products in training: "float32" or "bf16" */
  int64_t step;            /* training steps so far */
  int64_t validation_step; /* of the last validation, which generates greedily on examples that are
                              excluded from training; 0: there was no validation */
  int64_t validation_max_examples; /* the limit on the number of examples */
  double validation_exact_match;   /* share of exact results; NaN: the data has no pairs */
  double validation_loss;          /* nats per token; NaN: none */
  int32_t image_size;              /* the side to which images are scaled; 0: the model reads texts */
  int32_t grid_size;               /* the side of an image's grid of hidden vectors; or 0 */
  const char *decoder_type;        /* "transformer", "lstm" or "gru" */
  const char *alignment;           /* the score of a key: "additive", "dot", "scaled", "general",
                                      "uniform" or "none" */
} attn_model_info;

/** Describes a model. Errors: ATTN_ERR_ARGUMENT (struct_size). */
ATTN_API attn_status attn_model_describe(const attn_model *model, attn_model_info *info,
                                         attn_error *err);

/** A part of a text that is outside the vocabulary: the model reads <unk> for it. */
typedef struct attn_unknown_span {
  size_t struct_size;     /* in: sizeof(attn_unknown_span), of the first in an array for all */
  int64_t offset, length; /* bytes of the text */
  int64_t character;      /* index of the span's first character in the text, from 1 */
} attn_unknown_span;

/**
 * Finds every part of a text that is outside the model's vocabulary. Other functions accept such a
 * text and read <unk>.
 *
 *   text   in   UTF-8, NUL-terminated
 *   spans  out  the first `capacity` spans, in order. struct_size of the first is also the distance
 *               between them. NULL if capacity is 0
 *   count  out  the number of spans in the text, which may exceed capacity
 *
 * Errors  ATTN_ERR_ARGUMENT (capacity, struct_size), ATTN_ERR_FORMAT (not UTF-8), ATTN_ERR_MEMORY.
 */
ATTN_API attn_status attn_model_find_unknown(const attn_model *model, const char *text,
                                             int64_t capacity, attn_unknown_span *spans,
                                             int64_t *count, attn_error *err);

/** Options of generation. All zero except struct_size: greedy search, or the folder's
    generation_config.json. */
typedef struct attn_generation_config {
  size_t struct_size;
  int32_t num_beams;            /* hypotheses kept at each step; 1: greedy search or sampling. 0: 1,
                                   or the folder's num_beams */
  int32_t num_return_sequences; /* results per source, best first, at most num_beams; 0: 1 */
  double length_penalty;        /* alpha: the score of n tokens is log p / ((5 + n) / 6)^alpha
                                   [Wu16 eq. 14]. Models from a folder follow transformers'
                                   generate(): log p / n^alpha, and 0 is the folder's
                                   length_penalty */
  double temperature;           /* above 0: sample from softmax(logits / temperature) */
  int32_t top_k;                /* sample from the k most likely tokens only; 0: all */
  double top_p;                 /* sample from the most likely tokens that together have
                                   probability p [Holtzman20]; 0: all */
  uint64_t seed;                /* samples are a function of seed, source index and step */
  int64_t max_new_tokens;       /* including the end token; 0: the folder's max_new_tokens or
                                   max_length, within the model's positions. Above 0: instead of
                                   both */
  int32_t threads;              /* 0: all */
  int32_t batch_size;           /* sources that share each matrix product: faster, but products of
                                   another size may sum in another order, so that the rest of the
                                   batch changes the last bits of log_prob; 0: 1 */
  int (*progress)(void *context, int64_t done, int64_t total); /* sources; may be NULL. Nonzero
                                   stops with ATTN_ERR_INTERRUPTED */
  void *progress_context;
  int32_t precision;            /* 0 or ATTN_F32: float32. ATTN_BF16: linear layers multiply
                                   weights and inputs rounded to bf16 and sum in float32, which
                                   halves memory traffic. On CPUs without bf16 instructions this is
                                   faster for few rows and slower for many */
  const char *const *target_prefixes; /* of an encoder-decoder with a Transformer decoder: count
                                   texts, UTF-8, the beginning of each source's (or image's) target;
                                   "" is an empty one. The decoder reads it and the result is what
                                   follows. Its tokens count towards the folder's max_length, not
                                   max_new_tokens. Source, prefix and result are separate texts to
                                   the tokenizer. NULL: all are empty */
} attn_generation_config;

#ifdef __cplusplus
#define ATTN_GENERATION_CONFIG_INIT { sizeof(attn_generation_config) }
#else
#define ATTN_GENERATION_CONFIG_INIT { .struct_size = sizeof(attn_generation_config) }
#endif

/** One generated sequence. Freed by attn_generation_results_free. */
typedef struct attn_generation_result {
  size_t struct_size;  /* in: sizeof(attn_generation_result), of the first in an array for all */
  char *text;          /* NUL-terminated; UTF-8 if the vocabulary is. NULL: no result */
  int64_t text_length; /* bytes */
  int64_t token_count; /* without the end token */
  double log_prob;     /* sum over the tokens, including the end token, in nats */
  double score;        /* by which hypotheses are ranked: log_prob with the length penalty */
  int32_t finished;    /* 1: ends with the end token. 0: cut at max_new_tokens, or after the last
                          position of an encoder's source */
} attn_generation_result;

#ifdef __cplusplus
#define ATTN_GENERATION_RESULT_INIT { sizeof(attn_generation_result) }
#else
#define ATTN_GENERATION_RESULT_INIT { .struct_size = sizeof(attn_generation_result) }
#endif

/**
 * Generates text from each source: an encoder-decoder the target, a decoder the continuation, an
 * encoder the most likely token for each position of the source, up to the first end token
 * (num_beams and temperature must be 0).
 *
 *   sources  in   count texts, UTF-8, NUL-terminated
 *   config   in   NULL: the defaults
 *   results  out  count * num_return_sequences; those of source s start at
 *                 s * num_return_sequences. struct_size of the first is also the distance between
 *                 them. Where a beam search finds fewer hypotheses, the remaining results have
 *                 text NULL
 *
 * A result is independent of other sources (at batch_size 1) and of the number of threads.
 * Errors  ATTN_ERR_ARGUMENT (an option; a source or prefix longer than max_positions or the folder's
 *         max_length; an encoder from a folder, which has no head for generation), ATTN_ERR_FORMAT (a
 *         source or prefix is not UTF-8), ATTN_ERR_MEMORY, ATTN_ERR_INTERRUPTED. Results then need not
 *         be freed: they are empty, or unchanged if an option was rejected.
 * Cost    One decoder step per token, over KV caches; for an encoder, one pass over the source. The
 *         first call with a precision packs the weights into additional memory of about the same
 *         size, which the model keeps.
 */
ATTN_API attn_status attn_model_generate(const attn_model *model, const char *const *sources,
                                         int64_t count, const attn_generation_config *config,
                                         attn_generation_result *results, attn_error *err);

/**
 * Generates the caption of each image, with a model of kind "vision-encoder-decoder".
 *
 *   images   in   count images (height, width, 3), ATTN_U8 (0 to 255) or ATTN_F32 (0 to 1), sRGB, any
 *                 strides; scaled to the model's image_size as attn_image_resize does (io.h)
 *   results  out  as attn_model_generate
 *
 * Errors    as attn_model_generate; ATTN_ERR_ARGUMENT: the model reads texts; ATTN_ERR_SHAPE,
 *           ATTN_ERR_TYPE (an image).
 * Cost      The encoder once for each image, then one decoder step per token. Memory for all images at
 *           once, 12 image_size^2 bytes each.
 * Source    [Xu et al. 2015] arXiv 1502.03044; [Vaswani17] for a Transformer decoder.
 */
ATTN_API attn_status attn_model_caption(const attn_model *model, const attn_tensor *images,
                                        int64_t count, const attn_generation_config *config,
                                        attn_generation_result *results, attn_error *err);

/** Frees the texts of count results and empties the results. struct_size of the first is the
    distance between them; 0: nothing happens. */
ATTN_API void attn_generation_results_free(attn_generation_result *results, int64_t count);

/* ---- Inspecting attention ------------------------------------------------------ */

typedef enum attn_attention_kind {
  ATTN_ATTENTION_ENCODER = 0, /* self-attention of the source */
  ATTN_ATTENTION_DECODER = 1, /* causal self-attention of the target: token i attends to 0 .. i */
  ATTN_ATTENTION_CROSS = 2,   /* of the target over the source */
} attn_attention_kind;

/** The attention weights of one head. Pointers are valid until the visitor returns. */
typedef struct attn_attention {
  int32_t kind;             /* attn_attention_kind */
  int32_t layer, head;      /* from 0 */
  int64_t queries, keys;    /* L, S */
  const float *weights;     /* (L, S), each row sums to 1 */
  const char *const *query_tokens; /* (L) tokens as UTF-8 text; a byte that is only a part of a
                               character is "<0xE4>". For cross-attention the tokens predicted at
                               each query, else the tokens read */
  const char *const *key_tokens; /* (S) */
} attn_attention;

/**
 * Runs the model over a source and a target, and calls visit with the attention of each head: layer
 * by layer, the encoder's first, then of each decoder layer self-attention and cross-attention.
 *
 *   source  in   the encoder's input. A decoder reads source followed by target; one of them may be
 *                NULL
 *   target  in   the decoder's output; NULL: generated greedily. NULL for an encoder
 *   visit   in   returns nonzero to stop
 *
 * Accuracy  as attn_sdpa_forward's weights, of the layer's own q and k.
 * Errors    as attn_model_generate; ATTN_ERR_INTERRUPTED (visit).
 */
ATTN_API attn_status attn_model_visit_attention(
    const attn_model *model, const char *source, const char *target, int32_t threads,
    int (*visit)(void *context, const attn_attention *attention), void *context, attn_error *err);

/**
 * Runs the model over an image and its caption, and calls visit with the attention of each head. Keys
 * are the positions "row,column" of the image's grid, from 1, row by row. A position covers s x s pixels
 * of the scaled image, s = image_size / grid_size, and its features are centred on the upper left one. A
 * recurrent decoder has one head of cross-attention, or none with alignment "none".
 *
 *   image    in   as attn_model_caption
 *   caption  in   NULL: generated greedily
 *   visit    in   returns nonzero to stop
 *
 * Errors    as attn_model_caption; ATTN_ERR_INTERRUPTED (visit).
 */
ATTN_API attn_status attn_model_visit_caption(
    const attn_model *model, const attn_tensor *image, const char *caption, int32_t threads,
    int (*visit)(void *context, const attn_attention *attention), void *context, attn_error *err);

/**
 * Writes the attention of one head as a lesson (Markdown, lesson.h): q and k with all digits, the
 * mask, and the model's weights. attn_lesson_read reads it; the lesson then explains every step and
 * checks the weights.
 *
 *   kind, layer, head  in   which head; layer and head from 0
 *
 * Errors  as attn_model_visit_attention; ATTN_ERR_ARGUMENT if the model has no such layer or head,
 *         or has ALiBi positions, which lessons do not support; ATTN_ERR_FILE if the sink stops.
 */
ATTN_API attn_status attn_model_write_lesson(const attn_model *model, const char *source,
                                             const char *target, attn_attention_kind kind,
                                             int32_t layer, int32_t head, int32_t threads,
                                             const attn_sink *sink, attn_error *err);

/* ---- Embeddings ---------------------------------------------------------------- */

/** How the encoder's hidden vectors become one. */
typedef enum attn_pooling_kind {
  ATTN_POOLING_DEFAULT = 0, /* the folder's pooling; if absent, the mean */
  ATTN_POOLING_MEAN = 1,    /* over all tokens, including special tokens */
  ATTN_POOLING_CLS = 2,     /* the vector of the first token, BERT's [CLS] */
} attn_pooling_kind;

typedef enum attn_normalize_kind {
  ATTN_NORMALIZE_DEFAULT = 0, /* the folder's; if absent, L2 */
  ATTN_NORMALIZE_L2 = 1,      /* to Euclidean length 1 */
  ATTN_NORMALIZE_NONE = 2,
} attn_normalize_kind;

/** Options of embedding. All zero except struct_size: the model's own. */
typedef struct attn_embedding_config {
  size_t struct_size;
  int32_t pooling;    /* attn_pooling_kind */
  int32_t normalize;  /* attn_normalize_kind */
  int32_t threads;    /* 0: all */
  int32_t batch_size; /* texts that share each matrix product: faster for short texts, but products
                         of another size may sum in another order, so that the rest of the batch
                         changes the last bits; 0: 1 */
  int (*progress)(void *context, int64_t done, int64_t total); /* texts; may be NULL. Nonzero stops
                         with ATTN_ERR_INTERRUPTED */
  void *progress_context;
} attn_embedding_config;

#ifdef __cplusplus
#define ATTN_EMBEDDING_CONFIG_INIT { sizeof(attn_embedding_config) }
#else
#define ATTN_EMBEDDING_CONFIG_INIT { .struct_size = sizeof(attn_embedding_config) }
#endif

/**
 * Embeds each text: the encoder's hidden vectors, pooled into one and normalized. The dot product
 * of two L2-normalized vectors is the cosine similarity of their texts.
 *
 *   texts   in   count texts, UTF-8, NUL-terminated. Special tokens in a text are read as plain
 *                text ("[SEP]" is a bracket, a word, a bracket)
 *   config  in   NULL: the defaults
 *   out     out  (count, d_model). Unchanged after ATTN_ERR_FORMAT, and after ATTN_ERR_ARGUMENT for
 *                an option or a text; undefined after other errors
 *
 * A text longer than max_seq_length or the tokenizer's truncation is truncated; its end token is
 * kept. A vector is independent of other texts (at batch_size 1) and of the number of threads.
 * Accuracy  hidden vectors in float32; mean and length are summed in double, each rounded to
 *           float32 once.
 * Errors    ATTN_ERR_ARGUMENT (an option; a model without an encoder; a text without tokens, or
 *           longer than max_positions if no truncation is configured; "model": a vector is not
 *           finite), ATTN_ERR_FORMAT (a text is not UTF-8), ATTN_ERR_MEMORY, ATTN_ERR_INTERRUPTED.
 * Cost      One encoder pass over each text; memory for one batch per thread.
 * Source    [Devlin et al. 2018]; [Reimers and Gurevych 2019] for pooling.
 */
ATTN_API attn_status attn_model_embed(const attn_model *model, const char *const *texts,
                                      int64_t count, const attn_embedding_config *config,
                                      float *out, attn_error *err);

#ifdef __cplusplus
}
#endif
#endif
