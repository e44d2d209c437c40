#include "recurrent_decoder.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "recurrent_pass.h"
#include "tape_node.h"

struct attn_recurrent_decoder {
  struct attn_pass pass;
  struct attn_tape tape;
  int64_t slots;
  int64_t *lengths, *source_of;           /* (slots): tokens read; the image */
  int64_t *sources;                       /* (slots): the images of a step's rows */
  float *h, *c;                           /* (slots, D) */
  struct attn_tape_variable keys, memory; /* of all images; keys.x may be memory.x; NULL: none */
};

static attn_status out_of_memory(attn_error *err) {
  return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for a decoder");
}

/* ---- Alignment: rows share images ---- */

struct shared_alignment {
  struct attn_alignment s; /* of one row */
  const int64_t *source;   /* the image of each row */
  float *weights;          /* of one row */
};

static void align_shared(struct attn_tape *t, struct attn_tape_node *n) {
  const struct shared_alignment *args = n->args;
  for (int64_t row = 0; row < n->y->n; row++) {
    struct attn_alignment s = args->s;
    const int64_t from = args->source[row] * s.positions;
    if (n->x) s.q = n->x->x + row * s.width, s.k += from * s.width;
    s.z += from * s.values;
    attn_alignment_forward(&t->host, &s, n->y->x + row * s.values, args->weights);
  }
}

/* images->context: the image of each row. */
static struct attn_tape_variable *align_rows(const struct attn_recurrent_images *images,
                                             const struct attn_pass *p,
                                             struct attn_tape_variable *q, int64_t rows) {
  const int64_t side = attn_model_grid_size(p->c);
  const struct attn_tape_variable *score = p->n->recurrent.score;
  struct attn_tape_variable *y = attn_tape_variable(p->tape, rows, p->c->d_model);
  struct shared_alignment *args = attn_tape_record(p->tape, sizeof *args);
  float *weights = attn_tape_allocate(p->tape, (size_t)(side * side) * sizeof *weights);
  struct attn_alignment s = attn_recurrent_alignment(p->c);
  s.n = 1, s.positions = side * side, s.values = p->c->d_model;
  if (images->keys) s.width = images->keys->width, s.k = images->keys->x;
  s.a = score ? score->x : NULL, s.z = images->memory->x;
  if (args) *args = (struct shared_alignment){s, images->context, weights};
  attn_tape_call(p->tape,
                 &(struct attn_tape_node){.forward = align_shared, .x = q, .y = y, .args = args});
  return y;
}

/* ---- A step ---- */

/* Rows of (slots, D): the state of a step's slots. */
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
  for (int64_t n = 0; x && n < x->n; n++)
    memcpy(to + slots[n] * width, x->x + n * width, (size_t)width * sizeof(float));
}

static struct attn_tape_variable *run_step(struct attn_recurrent_decoder *d, int64_t count,
                                           const int64_t *slots, const int32_t *tokens) {
  const struct attn_pass *p = &d->pass;
  attn_tape_start(&d->tape);
  const struct attn_recurrent_images images = {align_rows, d->keys.x ? &d->keys : NULL, &d->memory,
                                               d->sources};
  struct attn_recurrent_state s = {load(d, d->h, count, slots), NULL};
  if (p->n->recurrent.first_c.w) s.c = load(d, d->c, count, slots);
  struct attn_tape_variable *word = attn_recurrent_embed(p, tokens, count);
  struct attn_tape_variable *gates = attn_pass_linear(p, word, p->n->recurrent.input);
  struct attn_tape_variable *context = attn_recurrent_step(p, &images, gates, count, &s);
  struct attn_tape_variable *logits =
      attn_pass_output_head(p, attn_recurrent_output(p, word, s.h, context));
  if (attn_tape_is_computing(&d->tape)) store(d, s.h, slots, d->h), store(d, s.c, slots, d->c);
  return logits;
}

attn_status attn_recurrent_decoder_step(struct attn_recurrent_decoder *d, int64_t count,
                                        const int64_t *slots, const int32_t *tokens,
                                        const float **logits, attn_error *err) {
  for (int64_t n = 0; n < count; n++) d->sources[n] = d->source_of[slots[n]];
  *logits = run_step(d, count, slots, tokens)->x;
  attn_status status = attn_tape_status(&d->tape, err);
  for (int64_t n = 0; n < count && !status; n++) d->lengths[slots[n]]++;
  return status;
}

int64_t attn_recurrent_decoder_length(const struct attn_recurrent_decoder *d, int64_t slot) {
  return slot >= 0 && slot < d->slots ? d->lengths[slot] : -1;
}

void attn_recurrent_decoder_fork(struct attn_recurrent_decoder *d, int64_t from, int64_t to) {
  const size_t width = (size_t)d->pass.c->d_model, bytes = width * sizeof(float);
  if (from == to) return;
  memcpy(d->h + (size_t)to * width, d->h + (size_t)from * width, bytes);
  memcpy(d->c + (size_t)to * width, d->c + (size_t)from * width, bytes);
  d->lengths[to] = d->lengths[from], d->source_of[to] = d->source_of[from];
}

/* ---- A decoder ---- */

static attn_status copy(struct attn_tape_variable *to, const struct attn_tape_variable *from,
                        attn_error *err) {
  size_t bytes = (size_t)(from->n * from->width) * sizeof(float);
  *to = (struct attn_tape_variable){.x = malloc(bytes), .n = from->n, .width = from->width};
  if (!to->x) return out_of_memory(err);
  memcpy(to->x, from->x, bytes);
  return ATTN_OK;
}

/* The keys and first states of all images. */
static attn_status read_images(struct attn_recurrent_decoder *d, struct attn_tape_variable *memory,
                               int64_t images, attn_error *err) {
  struct attn_tape tape = {.host = d->tape.host};
  const struct attn_pass p = {d->pass.n, d->pass.c, &tape, d->pass.pack};
  attn_recurrent_keys(&p, memory), attn_recurrent_first_state(&p, memory, images); /* measures */
  attn_status status = attn_tape_reserve(&tape, err);
  const struct attn_tape_variable *keys = attn_recurrent_keys(&p, memory);
  const struct attn_recurrent_state s = attn_recurrent_first_state(&p, memory, images);
  if (!status) status = attn_tape_status(&tape, err);
  if (!status) status = copy(&d->memory, memory, err);
  if (!status && keys == memory) d->keys = d->memory;
  if (!status && keys && keys != memory) status = copy(&d->keys, keys, err);
  for (int64_t n = 0; n < d->slots && !status; n++) {
    const int64_t width = s.h->width, from = n < images ? n : 0;
    d->source_of[n] = from;
    memcpy(d->h + n * width, s.h->x + from * width, (size_t)width * sizeof(float));
    if (s.c) memcpy(d->c + n * width, s.c->x + from * width, (size_t)width * sizeof(float));
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
  const size_t count = (size_t)slots, values = count * (size_t)network->config.d_model;
  d->pass = (struct attn_pass){network, &network->config, &d->tape, pack};
  d->tape.host.threads = 1, d->slots = slots;
  d->lengths = calloc(count, sizeof *d->lengths);
  d->source_of = calloc(count, sizeof *d->source_of);
  d->sources = calloc(count, sizeof *d->sources);
  d->h = calloc(values, sizeof *d->h), d->c = calloc(values, sizeof *d->c);
  attn_status status = d->lengths && d->source_of && d->sources && d->h && d->c
                           ? read_images(d, memory, source->sequences, err)
                           : out_of_memory(err);
  if (!status) {
    run_step(d, slots, NULL, NULL); /* measures */
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
  if (d->keys.x != d->memory.x) free(d->keys.x);
  free(d->memory.x);
  attn_tape_close(&d->tape);
  free(d);
}
