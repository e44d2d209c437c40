/**
 * model.h -- Transformers that were trained: opened, asked, explained.
 * Part of libattn-model. Experimental: may change until 1.0.
 *
 *     attn_model *model;
 *     attn_generation_result reply = ATTN_GENERATION_RESULT_INIT;
 *     const char *source = "平成三年五月十二日";
 *     attn_model_open("dates.safetensors", &model, &err);
 *     attn_model_generate(model, &source, 1, NULL, &reply, &err);   -> "1991-05-12"
 *
 * A checkpoint is one safetensors file: weights under the names of PyTorch's
 * nn.Transformer, and as metadata "config" (JSON: what the model is) and
 * "tokenizer" (Hugging Face's tokenizer.json). attn_model_train (train.h)
 * writes them. A folder of Hugging Face's (BERT, GPT-2, Marian) is opened as well:
 *
 *     const char *texts[] = {"A man is eating food.", "Someone eats a meal."};
 *     float vectors[2][384];
 *     attn_model_open("all-MiniLM-L6-v2", &model, &err);
 *     attn_model_embed(model, texts, 2, NULL, vectors[0], &err);
 *
 * A model that is open is never changed: any number of threads may use it.
 */
#ifndef ATTN_MODEL_H
#define ATTN_MODEL_H

#include "attn/io.h" /* attn_sink */

#ifdef __cplusplus
extern "C" {
#endif

/** A model: its layers, its weights, its words. */
typedef struct attn_model attn_model;

/**
 * Opens a checkpoint, or a folder as Hugging Face keeps a model of BERT (an encoder), GPT-2 (a
 * decoder) or Marian (both): config.json, model.safetensors of any float type, and a vocabulary:
 * tokenizer.json (BPE of bytes, WordLevel or WordPiece), or GPT-2's vocab.json and merges.txt.
 * SentencePiece (source.spm) is not read. *model is the caller's, NULL on failure.
 *
 * Of an encoder sentence-transformers' modules.json, the pooling's config.json and
 * sentence_bert_config.json, where they are there, say what a text's one vector is. Of the others
 * generation_config.json, or where there is none config.json, says how a reply begins, ends and is
 * searched for (see attn_generation_config). All is computed in float32, without dropout.
 *
 * What such a file says that changes a number or a reply, and would not be done here, is refused
 * with the member's name and value, never left out.
 * Errors  ATTN_ERR_FILE; ATTN_ERR_FORMAT, with the name of what is missing,
 *         malformed or does not fit the configuration; ATTN_ERR_MEMORY.
 * Cost    The weights alone are read, not what training kept beside them.
 */
ATTN_API attn_status attn_model_open(const char *path, attn_model **model, attn_error *err);

/**
 * Writes a model as a folder that transformers' from_pretrained reads: config.json,
 * generation_config.json, model.safetensors, tokenizer.json, tokenizer_config.json. A decoder
 * becomes a GPT2LMHeadModel, an encoder-decoder a MarianMTModel, an encoder a BertModel or
 * BertForMaskedLM, with the same logits, and greedily the same replies; beams are then
 * transformers' (see attn_generation_config).
 *
 *   folder  in   where nothing is, or an empty folder; it appears whole or not at all
 *
 * Errors  ATTN_ERR_ARGUMENT, with the first member of the configuration that no model of that
 *         family has so (docs/models.md lists what each must be); ATTN_ERR_FILE; ATTN_ERR_MEMORY.
 */
ATTN_API attn_status attn_model_export(const attn_model *model, const char *folder,
                                       attn_error *err);

/** Releases a model; NULL is fine. */
ATTN_API void attn_model_free(attn_model *model);

/**
 * 1 where path is what attn_model_open opens: a folder, or a safetensors file whose metadata say
 * that it is a checkpoint; else 0. Reads the header only: such a model may still be damaged.
 */
ATTN_API int32_t attn_model_probe(const char *path);

/** What a model is, and how it was trained. Strings live as long as the model. */
typedef struct attn_model_info {
  size_t struct_size; /* in: sizeof(attn_model_info) */
  const char *config; /* its JSON; lives as long as the model */
  int64_t weights;    /* how many numbers */
  int64_t words;      /* of the vocabulary */
  int64_t length;     /* the longest sequence, in tokens */
  int32_t encoder_layers, decoder_layers, heads;
  int64_t width;         /* of hidden vectors, and so of embeddings: D */
  const char *kind;      /* "encoder-decoder", "decoder" or "encoder" */
  const char *tokenizer; /* "characters", "words", "bpe" or "wordpiece" */
  int64_t hidden;        /* width inside feed-forward layers: F */
  int32_t kv_heads;
  int32_t training;        /* 1: the checkpoint tells how it was trained, as below */
  const char *task, *data; /* what it learned from: a task's name or a file's; NULL */
  const char *precision;   /* of training's products: "float32" or "bf16" */
  int64_t step;            /* steps of training so far */
  int64_t validation_step; /* of the validation, during training and greedily, on examples that are
                           never trained on, that the next three are of; 0: there was none */
  int64_t validation_max_examples; /* how many examples it asked, at most */
  double
      validation_exact_match; /* share of whole replies that were right; NaN: there are no pairs */
  double validation_loss;     /* nats a token; NaN: none */
} attn_model_info;

/** Fills facts. Errors: ATTN_ERR_ARGUMENT (struct_size). */
ATTN_API attn_status attn_model_describe(const attn_model *model, attn_model_info *facts,
                                         attn_error *err);

/** A part of a text that a vocabulary has no token for: the model reads <unk> there. */
typedef struct attn_unknown_span {
  int64_t offset, bytes; /* in the text */
  int64_t character;     /* of the text, from 1: where the part begins */
} attn_unknown_span;

/**
 * Finds every part of a text that the model's vocabulary has no token for. Other functions take
 * such a text as it is, <unk> in those places: what is to be made of that is the caller's to say.
 *
 *   text   in   UTF-8, ends in 0
 *   parts  out  the first room of them, in their order; NULL where room is 0
 *   count  out  how many there are, room or not
 *
 * Errors  ATTN_ERR_ARGUMENT (room), ATTN_ERR_FORMAT (not UTF-8), ATTN_ERR_MEMORY.
 */
ATTN_API attn_status attn_model_find_unknown(const attn_model *model, const char *text,
                                             int64_t room, attn_unknown_span *parts, int64_t *count,
                                             attn_error *err);

/** How to say something. Zero beside struct_size: greedily. */
typedef struct attn_generation_config {
  size_t struct_size;
  int32_t beams;         /* hypotheses kept at each step; 1: greedy, or sampling. 0: 1, or a
                            folder's num_beams */
  int32_t n_best;        /* replies for each source, the best first; 0: 1. At most beams */
  double length_penalty; /* alpha: a hypothesis of n tokens scores log p / ((5 + n) / 6)^alpha
                            [Wu16 eq. 14]. Of a folder log p / n^alpha, by the rule of
                            transformers' generate(), and 0: its length_penalty */
  double temperature;    /* above 0: tokens are drawn from softmax(logits / temperature) */
  int32_t top_k;         /* of the likeliest k only; 0: all */
  double top_p;          /* of the likeliest that have p together [Holtzman20]; 0: all */
  uint64_t seed;         /* what is drawn is a function of it, the source's index and the step */
  int64_t most;          /* tokens at most, the end among them; 0: as many as a folder's
                            max_new_tokens or max_length, and the model's positions, leave */
  int32_t threads;       /* 0: all */
  int32_t together;      /* sources that go through each layer side by side: faster, but sums may
                            then be formed in another order, and neighbours change the last bits of
                            log_p; 0: 1 */
  int (*progress)(void *context, int64_t done, int64_t total); /* sources; may be NULL. Nonzero
                            stops with ATTN_ERR_INTERRUPTED */
  void *progress_context;
  int32_t precision; /* ATTN_F32, or 0: that too. ATTN_BF16: linear layers multiply weights and
                        inputs that are rounded to bf16, and sum in float32: half the bytes
                        where memory is the limit. CPUs without such products gain where few
                        rows are multiplied, and lose where many are */
} attn_generation_config;

#ifdef __cplusplus
#define ATTN_GENERATION_CONFIG_INIT \
  { sizeof(attn_generation_config) }
#else
#define ATTN_GENERATION_CONFIG_INIT \
  { .struct_size = sizeof(attn_generation_config) }
#endif

/** What a model said. Released by attn_generation_results_free. */
typedef struct attn_generation_result {
  size_t struct_size; /* in: sizeof(attn_generation_result), of the first of an array for all */
  char *text;         /* UTF-8 where the vocabulary is; 0 behind it */
  int64_t bytes;      /* of text */
  int64_t tokens;     /* said, the end not counted */
  double log_p;       /* sum over the tokens, the end with them, in nats */
  double score;       /* by which hypotheses are compared: log_p and the length penalty */
  int32_t ended;      /* 0: cut off at `most`, or where an encoder's places were all said */
} attn_generation_result;

#ifdef __cplusplus
#define ATTN_GENERATION_RESULT_INIT \
  { sizeof(attn_generation_result) }
#else
#define ATTN_GENERATION_RESULT_INIT \
  { .struct_size = sizeof(attn_generation_result) }
#endif

/**
 * Says what belongs to each source: what an encoder-decoder makes of it, how a
 * decoder goes on behind it, or of an encoder alone the likeliest token at each
 * place of the source and its end, up to the first end that is said: greedily,
 * beams and temperature must be left out.
 *
 *   sources  in   count texts, UTF-8, each ends in 0
 *   how      in   NULL: greedily
 *   replies  out  count * n_best, the first one's struct_size set, which is also the distance
 *                 between them; those of source s from s * n_best on. Those that a beam did not
 *                 find are empty: text NULL
 *
 * A reply does not depend on what else is asked in the same call (but for `together`), nor on the
 * number of threads.
 * Errors  ATTN_ERR_ARGUMENT (a setting; a source longer than the model has positions for; an
 *         encoder that was opened from a folder: it says nothing), ATTN_ERR_FORMAT (a source is not
 *         UTF-8), ATTN_ERR_MEMORY, ATTN_ERR_INTERRUPTED. Nothing is to be released then: replies
 *         are empty, or, where a setting was refused, may be as they were.
 * Cost    each token once through the decoder, over KV caches; of an encoder alone one pass over
 *         the source. The first call for a precision lays the weights out for it, in as much memory
 *         again, which the model keeps.
 */
ATTN_API attn_status attn_model_generate(const attn_model *model, const char *const *sources,
                                         int64_t count, const attn_generation_config *how,
                                         attn_generation_result *replies, attn_error *err);

/** Releases count replies and empties them; the first one's struct_size is their distance, 0:
   nothing is done. */
ATTN_API void attn_generation_results_free(attn_generation_result *replies, int64_t count);

/* ---- Looking inside ----------------------------------------------------------- */

typedef enum attn_attention_kind {
  ATTN_ATTENTION_ENCODER = 0, /* the source to itself */
  ATTN_ATTENTION_DECODER = 1, /* the target to itself: token i sees tokens 0 .. i */
  ATTN_ATTENTION_CROSS = 2,   /* the target to the source */
} attn_attention_kind;

/** The attention of one head. All pointers are good until the function that is given it returns. */
typedef struct attn_attention {
  int32_t kind;             /* attn_attention_kind */
  int32_t layer, head;      /* from 0 */
  int64_t queries, keys;    /* L, S */
  const float *weights;     /* (L, S), each row sums to 1 */
  const char *const *query; /* (L): the tokens as text, UTF-8; a byte of a token that is a part of a
                               character as "<0xE4>". Of cross-attention those that are said there,
                               else those that are read */
  const char *const *key;   /* (S) */
} attn_attention;

/**
 * Shows every attention of a pass over a source and a target: the encoder's layers, then of each of
 * the decoder's itself and the source; of each layer head by head.
 *
 *   source  in   what the encoder reads. A decoder alone reads source and, where it is given,
 * target behind it: one of them may be NULL target  in   what the decoder says; NULL: what it says
 * greedily. Not for an encoder alone look    in   called with each; nonzero stops
 *
 * Accuracy  as attn_sdpa_forward's weights, of the layer's own q and k.
 * Errors    as attn_model_generate; ATTN_ERR_INTERRUPTED (look).
 */
ATTN_API attn_status attn_model_visit_attention(
    const attn_model *model, const char *source, const char *target, int32_t threads,
    int (*look)(void *context, const attn_attention *attention), void *context, attn_error *err);

/**
 * Writes one head's attention as a lesson (Markdown, lesson.h): its q and k with all their digits,
 * the mask, and the weights that the model computed. attn_lesson_read reads it, and then every
 * step is explained, each number written out, and the model's own weights are checked.
 *
 *   kind, layer, head  in   which; layer and head from 0
 *
 * Errors  as attn_model_visit_attention; ATTN_ERR_ARGUMENT where there is no such layer or head, or
 * positions are ALiBi, which no lesson has; ATTN_ERR_FILE where the sink stops.
 */
ATTN_API attn_status attn_model_write_lesson(const attn_model *model, const char *source,
                                             const char *target, attn_attention_kind kind,
                                             int32_t layer, int32_t head, int32_t threads,
                                             const attn_sink *sink, attn_error *err);

/* ---- A text as one vector ------------------------------------------------------ */

/** What becomes of the encoder's hidden vectors. */
typedef enum attn_pooling_kind {
  ATTN_POOLING_DEFAULT = 0, /* as the model's folder says; where it says nothing, the mean */
  ATTN_POOLING_MEAN = 1,    /* of all tokens, those that begin and end a text with them */
  ATTN_POOLING_CLS = 2,     /* that of the first token, BERT's [CLS] */
} attn_pooling_kind;

typedef enum attn_normalize_kind {
  ATTN_NORMALIZE_DEFAULT = 0, /* as the folder says; where it says nothing, 1 */
  ATTN_NORMALIZE_L2 = 1,      /* divided by its Euclidean length, which is 1 then */
  ATTN_NORMALIZE_NONE = 2,
} attn_normalize_kind;

/** How to embed. Zero beside struct_size: as the model was made for. */
typedef struct attn_embedding_config {
  size_t struct_size;
  int32_t pooling;  /* attn_pooling_kind */
  int32_t norm;     /* attn_normalize_kind */
  int32_t threads;  /* 0: all */
  int32_t together; /* texts that go through each layer side by side: faster where they are short,
                       but sums may then be formed in another order, and neighbours change the last
                       bits; 0: 1 */
  int (*progress)(void *context, int64_t done, int64_t total); /* texts; may be NULL. Nonzero stops
                       with ATTN_ERR_INTERRUPTED */
  void *progress_context;
} attn_embedding_config;

#ifdef __cplusplus
#define ATTN_EMBEDDING_CONFIG_INIT \
  { sizeof(attn_embedding_config) }
#else
#define ATTN_EMBEDDING_CONFIG_INIT \
  { .struct_size = sizeof(attn_embedding_config) }
#endif

/**
 * Embeds each text: the encoder's hidden vectors, pooled into one. The product of two vectors of
 * length 1 is the cosine that tells how alike their texts are.
 *
 *   texts  in   count texts, UTF-8, each ends in 0. What one says is never taken for a special
 * token
 *               ("[SEP]" is a bracket, a word, a bracket)
 *   how    in   NULL: as the model was made for
 *   out    out  (count, D), D the width that attn_model_describe tells; undefined after a failure
 *               but ATTN_ERR_FORMAT and ATTN_ERR_ARGUMENT of a setting or text, which leave it
 *
 * A text longer than max_seq_length or the tokenizer's truncation is cut to it, its end put behind.
 * A vector does not depend on what else is asked in the same call (but for `together`), nor on the
 * number of threads.
 * Accuracy  hidden vectors as float32 gives them; mean and length are summed in double and each
 *           rounded to float32 once.
 * Errors    ATTN_ERR_ARGUMENT (a setting; a model without an encoder; a text without tokens, or
 *           longer than the model has positions for where nothing says how to cut it; "model": a
 *           vector is not finite, as weights are that are not),
 *           ATTN_ERR_FORMAT (a text is not UTF-8), ATTN_ERR_MEMORY, ATTN_ERR_INTERRUPTED.
 * Cost      each token once through the encoder; memory for one group's pass a thread.
 * Source    [Devlin et al. 2018]; [Reimers and Gurevych 2019] for pooling.
 */
ATTN_API attn_status attn_model_embed(const attn_model *model, const char *const *texts,
                                      int64_t count, const attn_embedding_config *how, float *out,
                                      attn_error *err);

#ifdef __cplusplus
}
#endif
#endif
