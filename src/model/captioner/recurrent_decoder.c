#include "recurrent_decoder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "error.h"
#include "tape_node.h"
#include "tape_recurrent.h"

/* c: of an LSTM; else NULL. */
struct recurrent_state {
  struct attn_tape_variable *h, *c;
};

/* What the alignment reads. */
struct aligned_images {
  struct attn_tape_variable *keys, *memory; /* (N P, A), (N P, D) */
  const float **weights;                    /* out: of the next step, or NULL */
  /* One word at a time: row n has the image source[n], in memory of the caller. */
  const int64_t *source;
};

static enum attn_alignment_kind kind_of(const struct attn_model_config *c) {
  if (c->alignment == ATTN_ALIGN_ADDITIVE) return ATTN_ALIGNMENT_ADDITIVE;
  return c->alignment == ATTN_ALIGN_UNIFORM ? ATTN_ALIGNMENT_UNIFORM : ATTN_ALIGNMENT_DOT;
}

static float scale_of(const struct attn_model_config *c) {
  if (c->scale != 0) return (float)c->scale;
  return c->alignment == ATTN_ALIGN_SCALED ? (float)(1 / sqrt((double)c->d_model)) : 1;
}

/* ---- Layers ---- */

static struct attn_tape_variable *embed(const struct attn_pass *p, const int32_t *tokens,
                                        int64_t n) {
  const struct attn_tape_variable *table = p->n->decoder.embedding.table;
  const struct attn_embedding e = {
      .n = n,
      .vocab_size = table->n,
      .width = table->width,
      .tokens = tokens,
      .scale = p->c->scale_embedding ? sqrtf((float)p->c->d_model) : 1};
  return attn_tape_embed(p->tape, &e, table, NULL);
}

/* What the alignment compares with the state: NULL if its weights are uniform. */
static struct attn_tape_variable *project_keys(const struct attn_pass *p,
                                               struct attn_tape_variable *memory) {
  const struct attn_linear_weights key = p->n->recurrent.key;
  if (p->c->alignment == ATTN_ALIGN_UNIFORM || p->c->alignment == ATTN_ALIGN_NONE) return NULL;
  return key.w ? attn_pass_linear(p, memory, key) : memory;
}

static struct recurrent_state first_state(const struct attn_pass *p,
                                          struct attn_tape_variable *memory, int64_t images) {
  const struct attn_recurrent_weights *r = &p->n->recurrent;
  const float *weights;
  int64_t side = attn_model_grid_size(p->c);
  struct attn_tape_variable *v =
      r->vector.w ? attn_pass_linear(
                        p, attn_tape_reshape(p->tape, memory, images, side * side * p->c->d_model),
                        r->vector)
                  : attn_tape_align(p->tape, ATTN_ALIGNMENT_UNIFORM, 1, NULL, NULL, NULL, memory,
                                    images, &weights);
  return (struct recurrent_state){attn_pass_linear(p, v, r->first_h),
                                  r->first_c.w ? attn_pass_linear(p, v, r->first_c) : NULL};
}

/* ---- Alignment of rows that share images ---- */

struct shared_alignment {
  struct attn_alignment s; /* of one row */
  const int64_t *source;
};

static void align_shared(struct attn_tape *t, struct attn_tape_node *n) {
  const struct shared_alignment *args = n->args;
  const int64_t positions = args->s.positions, width = args->s.width, d = args->s.values;
  float *weights = n->f->x;
  for (int64_t row = 0; row < n->y->n; row++) {
    struct attn_alignment s = args->s;
    const int64_t from = args->source[row] * positions;
    if (n->x) s.q = n->x->x + row * width, s.k = args->s.k + from * width;
    s.z = args->s.z + from * d;
    attn_alignment_forward(&t->host, &s, n->y->x + row * d, weights);
  }
}

static struct attn_tape_variable *align_rows(const struct attn_pass *p,
                                             const struct aligned_images *images,
                                             struct attn_tape_variable *q, int64_t rows) {
  const int64_t side = attn_model_grid_size(p->c);
  const struct attn_linear_weights none = {NULL, NULL, 0};
  (void)none;
  struct attn_tape_variable *y = attn_tape_variable(p->tape, rows, p->c->d_model);
  struct attn_tape_variable *weights = attn_tape_variable(p->tape, 1, side * side);
  struct shared_alignment *args = attn_tape_record(p->tape, sizeof *args);
  const struct attn_tape_variable *score = p->n->recurrent.score;
  if (args)
    *args = (struct shared_alignment){.s = {.kind = kind_of(p->c),
                                            .n = 1,
                                            .positions = side * side,
                                            .width = images->keys ? images->keys->width : 0,
                                            .values = p->c->d_model,
                                            .scale = scale_of(p->c),
                                            .k = images->keys ? images->keys->x : NULL,
                                            .a = score ? score->x : NULL,
                                            .z = images->memory->x},
                                      .source = images->source};
  attn_tape_call(p->tape, &(struct attn_tape_node){
                              .forward = align_shared, .x = q, .f = weights, .y = y, .args = args});
  return y;
}

/* ---- A step ---- */

static struct attn_tape_variable *look(const struct attn_pass *p,
                                       const struct aligned_images *images,
                                       struct attn_tape_variable *h, int64_t rows) {
  const struct attn_recurrent_weights *r = &p->n->recurrent;
  const float *weights = NULL;
  struct attn_tape_variable *q = h, *context;
  if (p->c->alignment == ATTN_ALIGN_NONE) return NULL;
  if (p->c->alignment == ATTN_ALIGN_UNIFORM) q = NULL;
  if (r->query.w) q = attn_pass_linear(p, h, r->query);
  if (images->source) return align_rows(p, images, q, rows);
  context = attn_tape_align(p->tape, kind_of(p->c), scale_of(p->c), q, images->keys, r->score,
                            images->memory, rows, &weights);
  if (images->weights) *images->weights = weights;
  return context;
}

/* The gates of the word that was read are given. Returns the context, NULL without alignment. */
static struct attn_tape_variable *run_step(const struct attn_pass *p,
                                           const struct aligned_images *images,
                                           struct attn_tape_variable *gates, int64_t rows,
                                           struct recurrent_state *s) {
  const struct attn_recurrent_weights *r = &p->n->recurrent;
  struct attn_tape_variable *context = look(p, images, s->h, rows);
  if (context) gates = attn_tape_add(p->tape, gates, attn_pass_linear(p, context, r->context), 0);
  struct attn_tape_variable *h_gates = attn_pass_linear(p, s->h, r->hidden);
  s->h = s->c ? attn_tape_lstm(p->tape, gates, h_gates, s->c, &s->c)
              : attn_tape_gru(p->tape, gates, h_gates, s->h);
  return context;
}

/* The sum that the output layer reads; context NULL: none. */
static struct attn_tape_variable *output(const struct attn_pass *p, struct attn_tape_variable *word,
                                         struct attn_tape_variable *h,
                                         struct attn_tape_variable *context) {
  const struct attn_recurrent_weights *r = &p->n->recurrent;
  struct attn_tape_variable *y =
      attn_tape_add(p->tape, word, attn_pass_linear(p, h, r->out_hidden), 0);
  return context ? attn_tape_add(p->tape, y, attn_pass_linear(p, context, r->out_context), 0) : y;
}

/* ---- Whole captions: all sequences of a step together, shorter ones padded ---- */

static int64_t longest_of(const struct attn_token_batch *text) {
  int64_t longest = 0;
  for (int64_t n = 0; n < text->sequences; n++) {
    int64_t length = text->starts[n + 1] - text->starts[n];
    if (length > longest) longest = length;
  }
  return longest;
}

/* Row t N + n is token t of sequence n. */
static void order_by_step(const struct attn_token_batch *text, int64_t steps, int32_t *tokens,
                          int64_t *index) {
  for (int64_t n = 0; n < text->sequences; n++)
    for (int64_t t = 0; t < steps; t++) {
      int64_t from = text->starts[n] + t, row = t * text->sequences + n;
      int is_padding = from >= text->starts[n + 1];
      tokens[row] = is_padding ? ATTN_TOKEN_PAD : text->tokens[from];
      if (!is_padding) index[from] = row;
    }
}

struct attn_tape_variable *attn_recurrent_decode(const struct attn_pass *p,
                                                 const struct attn_token_batch *target,
                                                 struct attn_tape_variable *memory,
                                                 const struct attn_token_batch *source,
                                                 const float **weights) {
  const int64_t rows = target->sequences, steps = longest_of(target);
  const size_t pointers = (size_t)steps * sizeof(struct attn_tape_variable *);
  int32_t *tokens = attn_tape_allocate(p->tape, (size_t)(rows * steps) * sizeof *tokens);
  int64_t *index = attn_tape_allocate(p->tape, (size_t)target->n * sizeof *index);
  struct attn_tape_variable **h = attn_tape_record(p->tape, pointers);
  struct attn_tape_variable **context = attn_tape_record(p->tape, pointers);
  (void)source;
  if (!h || !context) return memory; /* a failure: the tape has its status */
  if (tokens && index) order_by_step(target, steps, tokens, index);
  struct attn_tape_variable *words = embed(p, tokens, rows * steps);
  struct attn_tape_variable *gates = attn_pass_linear(p, words, p->n->recurrent.input);
  struct aligned_images images = {.keys = project_keys(p, memory), .memory = memory};
  struct recurrent_state s = first_state(p, memory, rows);
  for (int64_t t = 0; t < steps; t++) {
    if (weights) images.weights = &weights[t];
    context[t] = run_step(p, &images, attn_tape_rows(p->tape, gates, t * rows, rows), rows, &s);
    h[t] = s.h;
  }
  struct attn_tape_variable *all =
      steps && context[0] ? attn_tape_stack(p->tape, context, steps) : NULL;
  struct attn_tape_variable *y = output(p, words, attn_tape_stack(p->tape, h, steps), all);
  y = attn_tape_gather(p->tape, y, index, target->n);
  p->tape->drop.first_row = target->first_row;
  return p->c->dropout > 0 ? attn_tape_add(p->tape, NULL, y, p->c->dropout) : y;
}

/* ---- One word at a time ---- */

struct attn_recurrent_decoder {
  struct attn_pass pass;
  struct attn_tape tape;
  int64_t slots;
  int64_t *lengths, *source_of, *sources; /* (slots): of each slot; of a step's rows */
  float *h, *c;                           /* (slots, D) */
  struct attn_tape_variable keys, memory; /* of all images */
};

static attn_status out_of_memory(attn_error *err) {
  return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for a decoder");
}

/* The state of a step's slots. */
static struct attn_tape_variable *load(struct attn_recurrent_decoder *d, const float *from,
                                       int64_t count, const int64_t *slots) {
  const int64_t width = d->pass.c->d_model;
  struct attn_tape_variable *x = attn_tape_input(&d->tape, count, width);
  for (int64_t n = 0; n < count && attn_tape_is_computing(&d->tape); n++)
    memcpy(x->x + n * width, from + slots[n] * width, (size_t)width * sizeof(float));
  return x;
}

static void store(const struct attn_recurrent_decoder *d, const struct attn_tape_variable *x,
                  const int64_t *slots, float *to) {
  const int64_t width = d->pass.c->d_model;
  for (int64_t n = 0; n < x->n; n++)
    memcpy(to + slots[n] * width, x->x + n * width, (size_t)width * sizeof(float));
}

static struct attn_tape_variable *decode_step(struct attn_recurrent_decoder *d, int64_t count,
                                              const int64_t *slots, const int32_t *tokens) {
  const struct attn_pass *p = &d->pass;
  attn_tape_start(&d->tape);
  const struct aligned_images images = {
      .keys = d->keys.width ? &d->keys : NULL, .memory = &d->memory, .source = d->sources};
  struct recurrent_state s = {load(d, d->h, count, slots), NULL};
  if (p->n->recurrent.first_c.w) s.c = load(d, d->c, count, slots);
  struct attn_tape_variable *word = embed(p, tokens, count);
  struct attn_tape_variable *gates = attn_pass_linear(p, word, p->n->recurrent.input);
  struct attn_tape_variable *context = run_step(p, &images, gates, count, &s);
  struct attn_tape_variable *logits = attn_pass_output_head(p, output(p, word, s.h, context));
  if (!attn_tape_is_computing(&d->tape)) return logits;
  store(d, s.h, slots, d->h);
  if (s.c) store(d, s.c, slots, d->c);
  return logits;
}

attn_status attn_recurrent_decoder_step(struct attn_recurrent_decoder *d, int64_t count,
                                        const int64_t *slots, const int32_t *tokens,
                                        const float **logits, attn_error *err) {
  for (int64_t n = 0; n < count; n++) d->sources[n] = d->source_of[slots[n]];
  *logits = decode_step(d, count, slots, tokens)->x;
  attn_status status = attn_tape_status(&d->tape, err);
  for (int64_t n = 0; n < count && !status; n++) d->lengths[slots[n]]++;
  return status;
}

int64_t attn_recurrent_decoder_length(const struct attn_recurrent_decoder *d, int64_t slot) {
  return slot >= 0 && slot < d->slots ? d->lengths[slot] : -1;
}

void attn_recurrent_decoder_fork(struct attn_recurrent_decoder *d, int64_t from, int64_t to) {
  const size_t width = (size_t)d->pass.c->d_model;
  if (from == to) return;
  memcpy(d->h + (size_t)to * width, d->h + (size_t)from * width, width * sizeof(float));
  memcpy(d->c + (size_t)to * width, d->c + (size_t)from * width, width * sizeof(float));
  d->lengths[to] = d->lengths[from], d->source_of[to] = d->source_of[from];
}

/* Copies the images' vectors, and their keys where these are projected. */
static attn_status keep_images(struct attn_recurrent_decoder *d, const struct attn_tape_variable *z,
                               const struct attn_tape_variable *keys, attn_error *err) {
  size_t bytes = (size_t)(z->n * z->width) * sizeof(float);
  if (!(d->memory.x = malloc(bytes))) return out_of_memory(err);
  memcpy(d->memory.x, z->x, bytes);
  d->memory.n = z->n, d->memory.width = z->width;
  if (!keys) return ATTN_OK;
  d->keys.n = keys->n, d->keys.width = keys->width;
  bytes = (size_t)(keys->n * keys->width) * sizeof(float);
  if (!(d->keys.x = malloc(bytes))) return out_of_memory(err);
  memcpy(d->keys.x, keys->x, bytes);
  return ATTN_OK;
}

static attn_status read_images(struct attn_recurrent_decoder *d, struct attn_tape_variable *memory,
                               int64_t images, attn_error *err) {
  struct attn_tape tape = {.host = d->tape.host};
  struct attn_pass p = d->pass;
  int64_t *slots = d->sources; /* free until the first step */
  struct recurrent_state s;
  p.tape = &tape;
  project_keys(&p, memory), first_state(&p, memory, images);
  attn_status status = attn_tape_reserve(&tape, err);
  if (status) return attn_tape_close(&tape), status;
  struct attn_tape_variable *keys = project_keys(&p, memory);
  s = first_state(&p, memory, images);
  status = attn_tape_status(&tape, err);
  if (!status) status = keep_images(d, memory, keys, err);
  for (int64_t n = 0; n < images && n < d->slots; n++) slots[n] = n;
  if (!status) {
    int64_t width = d->pass.c->d_model, count = images < d->slots ? images : d->slots;
    size_t bytes = (size_t)(count * width) * sizeof(float);
    memcpy(d->h, s.h->x, bytes);
    if (s.c) memcpy(d->c, s.c->x, bytes);
  }
  attn_tape_close(&tape);
  return status;
}

attn_status attn_recurrent_decoder_new(const struct attn_network *network,
                                       const struct attn_packed_weights *pack,
                                       struct attn_tape_variable *memory,
                                       const struct attn_token_batch *source, int64_t slots,
                                       struct attn_recurrent_decoder **decoder, attn_error *err) {
  struct attn_recurrent_decoder *d = calloc(1, sizeof *d);
  if (!d) return out_of_memory(err);
  const size_t values = (size_t)(slots * network->config.d_model);
  d->pass = (struct attn_pass){network, &network->config, &d->tape, pack};
  d->tape.host.threads = 1, d->slots = slots;
  d->lengths = calloc((size_t)slots, sizeof *d->lengths);
  d->source_of = calloc((size_t)slots, sizeof *d->source_of);
  d->sources = calloc((size_t)slots, sizeof *d->sources);
  d->h = calloc(values, sizeof *d->h), d->c = calloc(values, sizeof *d->c);
  attn_status status = d->lengths && d->source_of && d->sources && d->h && d->c
                           ? read_images(d, memory, source->sequences, err)
                           : out_of_memory(err);
  for (int64_t n = 0; n < slots && !status; n++)
    d->source_of[n] = n < source->sequences ? n : 0, d->sources[n] = 0;
  if (!status) {
    decode_step(d, slots, d->sources, NULL);
    status = attn_tape_reserve(&d->tape, err);
  }
  if (status)
    attn_recurrent_decoder_free(d);
  else
    *decoder = d;
  return status;
}

void attn_recurrent_decoder_free(struct attn_recurrent_decoder *d) {
  if (!d) return;
  free(d->lengths), free(d->source_of), free(d->sources), free(d->h), free(d->c);
  free(d->keys.x), free(d->memory.x);
  attn_tape_close(&d->tape);
  free(d);
}
