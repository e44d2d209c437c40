#include "pretrain_encoder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "caption_occlusion.h"
#include "error.h"
#include "scene.h"

enum { HEADS = 3 };

/* A linear classifier of positions. */
struct attribute_head {
  int64_t classes; /* with that of no object, the last */
  float *block;    /* weights, gradients and both moments, of weights and biases each */
  struct attn_tape_variable w, b;
  int32_t *labels; /* (batch_size positions) */
};

struct encoder_pretraining {
  struct attn_trainer *trainer;
  struct attn_network *network;
  struct attn_dataset *data;
  struct attn_lr_schedule schedule;
  struct attn_tape tape;
  struct attn_batch *batch;
  int heads;
  struct attribute_head head[HEADS];
};

/* ---- Classifiers ---- */

static int64_t count_of(const struct attribute_head *h) { return h->w.n * h->w.width + h->b.width; }

/* Weights 0: the first step moves them by the gradient alone. */
static attn_status open_head(struct attribute_head *h, int64_t classes, int64_t width,
                             int64_t positions, attn_error *err) {
  h->classes = classes + 1;
  h->w = (struct attn_tape_variable){.n = h->classes, .width = width};
  h->b = (struct attn_tape_variable){.n = 1, .width = h->classes};
  const int64_t count = count_of(h);
  h->block = calloc((size_t)(4 * count), sizeof *h->block);
  h->labels = calloc((size_t)positions, sizeof *h->labels);
  if (!h->block || !h->labels)
    return attn_fail(err, ATTN_ERR_MEMORY, NULL, "out of memory: pre-training of the encoder");
  h->w.x = h->block, h->w.dx = h->block + count;
  h->b.x = h->w.x + h->w.n * width, h->b.dx = h->w.dx + h->w.n * width;
  return ATTN_OK;
}

static attn_status open_heads(struct encoder_pretraining *p, attn_error *err) {
  static const int64_t shapes[HEADS] = {ATTN_SCENE_SHAPES, ATTN_SCENE_COLORS, 2},
                       photos[] = {ATTN_PHOTO_CLASSES};
  const int has_photos = attn_text_pairs_task(p->data->pairs)->has_photos;
  const int64_t *classes = has_photos ? photos : shapes;
  const int64_t positions = p->batch->max_sequences * p->batch->positions;
  attn_status status = ATTN_OK;
  p->heads = has_photos ? 1 : HEADS;
  for (int n = 0; n < p->heads && !status; n++)
    status = open_head(&p->head[n], classes[n], p->network->config.d_model, positions, err);
  return status;
}

/* ---- Examples ---- */

/* The object whose box contains the centre of a position; -1: none. */
static int object_at(const struct attn_scene *scene, const struct attn_scene_box *boxes,
                     int64_t position, int64_t grid) {
  const struct attn_pixel_span x = attn_occlusion_span(position % grid, grid, scene->side),
                               y = attn_occlusion_span(position / grid, grid, scene->side);
  const double across = (x.from + x.to) / 2, down = (y.from + y.to) / 2;
  for (int k = 0; k < scene->objects; k++) {
    const struct attn_scene_box *b = &boxes[k];
    if (across > b->x0 && across < b->x1 && down > b->y0 && down < b->y1) return k;
  }
  return -1;
}

/* Sets the labels of the last picture of the batch. */
static void set_labels(struct encoder_pretraining *p, const struct attn_scene *scene) {
  const int64_t count = p->batch->positions, first = p->batch->source.n - count;
  const int64_t grid = attn_model_grid_size(&p->network->config);
  struct attn_scene_box boxes[ATTN_SCENE_OBJECTS];
  for (int k = 0; k < scene->objects; k++) boxes[k] = attn_scene_locate(scene, k);
  for (int64_t n = 0; n < count; n++) {
    const int k = object_at(scene, boxes, n, grid);
    const struct attn_scene_object *o = &scene->object[k < 0 ? 0 : k];
    const int values[HEADS] = {o->shape, o->color, o->large};
    for (int h = 0; h < p->heads; h++)
      p->head[h].labels[first + n] = k < 0 ? (int32_t)p->head[h].classes - 1 : values[h];
  }
}

static attn_status load(struct encoder_pretraining *p, int64_t step, struct attn_watch *watch,
                        int64_t steps, attn_error *err) {
  const int64_t size = p->batch->max_sequences;
  attn_status status = ATTN_OK;
  attn_batch_clear(p->batch);
  for (int64_t n = 0; n < size && !status; n++) {
    const uint64_t example = (uint64_t)((step - 1) * size + n);
    struct attn_scene scene;
    status = attn_watch_report(watch, step - 1, steps, err);
    if (!status) status = attn_dataset_get_picture(p->data, example, 0, err);
    if (status) return status;
    attn_batch_add_image(p->batch, p->data->rgb, NULL, 0);
    attn_text_pairs_scene(p->data->pairs, example, 0, &scene);
    set_labels(p, &scene);
  }
  return status;
}

/* ---- A step ---- */

/* Returns the mean cross-entropy over positions and classifiers. */
static double run(struct encoder_pretraining *p) {
  struct attn_tape_variable *z = attn_transformer_encode(p->network, &p->tape, &p->batch->source);
  double sum = 0;
  for (int n = 0; n < p->heads; n++) {
    const struct attribute_head *h = &p->head[n];
    struct attn_tape_variable *logits = attn_tape_linear(&p->tape, z, &h->w, &h->b);
    sum += attn_tape_cross_entropy(&p->tape, logits, h->labels, 0, 1).sum;
  }
  return sum / (double)(p->batch->source.n * p->heads);
}

static void update_head(const struct encoder_pretraining *p, struct attribute_head *h, int64_t step,
                        double scale, double rate) {
  const int64_t count = count_of(h);
  const struct attn_adamw_group all = {
      h->block, h->block + 2 * count, h->block + 3 * count, h->block + count, count, 0};
  attn_adamw_step(&p->tape.host, &p->trainer->config.adam, step, rate, scale, &all);
  memset(h->block + count, 0, (size_t)count * sizeof *h->block);
}

static attn_status make_step(struct encoder_pretraining *p, int64_t step, double *loss,
                             attn_error *err) {
  const double scale = 1 / (double)p->batch->source.n,
               rate = attn_lr_schedule_rate(&p->schedule, step);
  attn_tape_start(&p->tape);
  *loss = run(p);
  attn_tape_backward(&p->tape);
  attn_status status = attn_tape_status(&p->tape, err);
  if (status) return status;
  if (!isfinite(*loss))
    return attn_fail(err, ATTN_ERR_DIVERGED, NULL,
                     "pre-training, step %lld: the loss is not finite; try a lower learning_rate",
                     (long long)step);
  for (int n = 0; n < p->heads; n++) update_head(p, &p->head[n], step, scale, rate);
  attn_trainer_update_encoder(p->trainer, step, scale, rate);
  return ATTN_OK;
}

/* ---- All steps ---- */

static attn_status open_pretraining(struct encoder_pretraining *p, attn_error *err) {
  const int64_t size = p->trainer->config.batch_size;
  attn_status status = attn_batch_new(&p->network->config, size, size, &p->batch, err);
  if (!status) status = open_heads(p, err);
  if (status) return status;
  for (int64_t n = 0; n < size; n++) attn_batch_add_image(p->batch, NULL, NULL, 0);
  run(p); /* measures */
  return attn_tape_reserve(&p->tape, err);
}

attn_status attn_pretrain_encoder(struct attn_trainer *trainer, struct attn_dataset *dataset,
                                  int64_t steps, struct attn_watch *watch, double *loss,
                                  attn_error *err) {
  double ignored;
  struct encoder_pretraining p = {
      .trainer = trainer,
      .network = trainer->replicas[0].network,
      .data = dataset,
      .schedule = {ATTN_LR_COSINE, trainer->config.schedule.learning_rate, steps / 20 + 1, steps},
      .tape = {.training = 1, .host.threads = trainer->threads}};
  attn_status status = open_pretraining(&p, err);
  for (int64_t step = 1; step <= steps && !status; step++) {
    status = load(&p, step, watch, steps, err);
    if (!status) status = make_step(&p, step, loss ? loss : &ignored, err);
  }
  attn_trainer_clear_moments(trainer);
  attn_tape_close(&p.tape), attn_batch_free(p.batch);
  for (int n = 0; n < p.heads; n++) free(p.head[n].block), free(p.head[n].labels);
  return status;
}
