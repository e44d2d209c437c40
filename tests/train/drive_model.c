/* Runs models for tests/python/test_transformer.py and test_huggingface.py, which compare them
 * with PyTorch and Hugging Face. Examples are lines of numbers, one batch: "source tokens|target
 * tokens|types of the source's tokens".
 *
 *     drive_model train CHECKPOINT STEPS TO     resumes from a checkpoint and repeats one batch: TO
 * is the new checkpoint, TO.first the logits and gradients of the first step, TO.last the last
 * logits drive_model read CONFIG WEIGHTS TO        Hugging Face's files: TO holds the logits of all
 *                                               examples; TO.again and TO.json are the same model
 *                                               written */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint.h"
#include "huggingface.h"
#include "bf16.h"
#include "safetensors.h"

enum { LINE = 1 << 12, LINES = 64 };

static attn_error err;

static void check(attn_status status) {
  if (!status) return;
  fprintf(stderr, "%s\n", err.message);
  exit(1);
}

static void *allocate(size_t bytes) {
  void *memory = malloc(bytes ? bytes : 1);
  if (!memory) abort();
  return memory;
}

/* ---- Examples ---- */

static struct example {
  int32_t tokens[3][LINE]; /* source, target, types */
  int64_t count[3];
} examples[LINES];
static int lines;

static void read_examples(void) {
  char line[LINE];
  while (lines < LINES && fgets(line, sizeof line, stdin)) {
    struct example *e = &examples[lines++];
    int side = 0;
    for (char *at = line; *at && *at != '\n' && side < 3;)
      if (*at == '|')
        side++, at++;
      else
        e->tokens[side][e->count[side]++] = (int32_t)strtol(at, &at, 10);
  }
}

/* The source of a captioner is the bytes of its image. */
static int add_image(struct attn_trainer *t, const struct example *e) {
  static unsigned char rgb[LINE];
  for (int64_t n = 0; n < e->count[0]; n++) rgb[n] = (unsigned char)e->tokens[0][n];
  return attn_trainer_add_image(t, rgb, e->tokens[1], e->count[1]);
}

static void add_examples(struct attn_trainer *t) {
  if (t->replicas[0].network->config.kind == ATTN_VISION_ENCODER_DECODER) {
    for (int n = 0; n < lines; n++)
      if (!add_image(t, &examples[n])) abort();
    return;
  }
  for (int n = 0; n < lines; n++)
    if (!attn_trainer_add(t, examples[n].tokens[0], examples[n].count[0], examples[n].tokens[1],
                          examples[n].count[1]))
      abort();
}

/* ---- Writing ---- */

static attn_tensor tensor_of(float *at, int64_t n, int64_t width, int rank) {
  attn_tensor t = {at, ATTN_F32, 2, {n, width}, {width, 1}};
  if (rank == 1) t.rank = 1, t.shape[0] = width, t.strides[0] = 1;
  return t;
}

static void write_tensors(const char *path, const char *const *names, const attn_tensor *tensor,
                          int count) {
  struct attn_named_tensor *tensors = allocate((size_t)count * sizeof *tensors);
  for (int n = 0; n < count; n++) tensors[n] = (struct attn_named_tensor){names[n], &tensor[n]};
  check(attn_safetensors_write(path, NULL, tensors, count, NULL, &err));
  free(tensors);
}

/* ---- Training ---- */

/* Runs the first replica's batch through its tape, which is idle between steps, and writes the
 * logits and the gradients of the mean loss. */
static void look(struct attn_trainer *t, const char *to, const char *suffix, int with_gradients) {
  struct attn_replica *p = &t->replicas[0];
  struct attn_network *n = p->network;
  const char **names = allocate((size_t)(n->count + 1) * sizeof *names);
  attn_tensor *tensors = allocate((size_t)(n->count + 1) * sizeof *tensors);
  char path[LINE];
  add_examples(t);
  for (int k = 0; k < n->count; k++) {
    struct attn_tape_variable *v = &n->parameters[k].value;
    memset(v->dx, 0, (size_t)(v->n * v->width) * sizeof *v->dx);
    names[k + 1] = n->parameters[k].name;
    tensors[k + 1] = tensor_of(v->dx, v->n, v->width, n->parameters[k].rank);
  }
  attn_tape_start(&p->tape);
  if (t->bf16_weights)
    attn_convert_to_bf16(&p->tape.host, t->bf16_weights, t->weights, t->parameter_count);
  struct attn_tape_variable *logits =
      attn_transformer_forward(n, &p->tape, &p->batch->source, &p->batch->target);
  names[0] = "logits", tensors[0] = tensor_of(logits->x, logits->n, logits->width, 2);
  float *said = allocate((size_t)(logits->n * logits->width) * sizeof *said);
  memcpy(said, logits->x, (size_t)(logits->n * logits->width) * sizeof *said);
  tensors[0].data = said;
  attn_tape_cross_entropy(&p->tape, logits, p->batch->labels, t->config.label_smoothing,
                          1.0f / (float)logits->n);
  attn_tape_backward(&p->tape);
  err = p->tape.error, check(p->tape.status);
  snprintf(path, sizeof path, "%s.%s", to, suffix);
  write_tensors(path, names, tensors, with_gradients ? n->count + 1 : 1);
  attn_batch_clear(p->batch), t->added = 0;
  free(names), free(tensors), free(said);
}

static void train(const char *from, int steps, const char *to) {
  struct attn_trainer *t;
  struct attn_checkpoint c;
  check(attn_checkpoint_resume(from, 1, &t, &c, &err));
  look(t, to, "first", 1);
  for (int n = 0; n < steps; n++) {
    struct attn_step_result step;
    add_examples(t);
    check(attn_trainer_step(t, &step, &err));
    printf("%.9g %.9g %.9g\n", step.loss, step.grad_norm, step.learning_rate);
  }
  look(t, to, "last", 0);
  check(attn_checkpoint_write(to, NULL, t, c.tokenizer, c.run, &err));
  attn_checkpoint_close(&c);
  attn_trainer_free(t);
}

/* ---- Hugging Face ---- */

/* One side of all examples; the types belong to the source. */
static struct attn_token_batch text_of(int side) {
  static int32_t tokens[2][LINES * LINE], places[2][LINES * LINE], types[LINES * LINE];
  static int64_t starts[2][LINES + 1];
  struct attn_token_batch t = {
      .tokens = tokens[side], .position_ids = places[side], .starts = starts[side]};
  for (int n = 0; n < lines; n++) {
    const struct example *e = &examples[n];
    for (int64_t k = 0; k < e->count[side]; k++, t.n++) {
      tokens[side][t.n] = e->tokens[side][k], places[side][t.n] = (int32_t)k;
      if (!side && e->count[2]) t.token_type_ids = types, types[t.n] = e->tokens[2][k];
    }
    starts[side][++t.sequences] = t.n;
  }
  return t;
}

/* The first pass measures, the second computes. */
static struct attn_tape_variable *forward(const struct attn_network *n, struct attn_tape *tape) {
  struct attn_token_batch source = text_of(0), target = text_of(1);
  attn_transformer_forward(n, tape, &source, &target);
  size_t bytes = tape->data.peak;
  tape->data = (struct attn_arena){aligned_alloc(64, bytes), bytes, 0, 0};
  attn_tape_start(tape);
  struct attn_tape_variable *y = attn_transformer_forward(n, tape, &source, &target);
  err = tape->error, check(tape->status);
  return y;
}

static void write_again(const char *to, const struct attn_hf_family *family,
                        const struct attn_network *n) {
  char path[LINE], *json;
  snprintf(path, sizeof path, "%s.again", to);
  check(attn_hf_weights_write(path, family, n, &err));
  check(attn_hf_config_write(family, &n->config, &json, &err));
  snprintf(path, sizeof path, "%s.json", to);
  FILE *f = fopen(path, "wb");
  if (!f || fputs(json, f) < 0 || fclose(f)) abort();
  free(json);
}

static void read_foreign(const char *config_path, const char *weights_path, const char *to) {
  const struct attn_hf_family *family;
  struct attn_model_config config;
  const char *name = "logits";
  struct attn_network *n;
  struct attn_tape tape = {.host.threads = 1};
  float *weights;
  char *text;
  size_t size;
  check(attn_file_read(config_path, 1 << 24, NULL, &text, &size, &err));
  check(attn_hf_config_parse(text, size, &config, &family, &err));
  free(text);
  check(attn_hf_model_load(weights_path, family, &config, &n, &weights, &err));
  struct attn_tape_variable *y = forward(n, &tape);
  attn_tensor logits = tensor_of(y->x, y->n, y->width, 2);
  write_tensors(to, &name, &logits, 1);
  write_again(to, family, n);
  attn_network_free(n), free(weights);
  attn_tape_close(&tape);
}

int main(int argc, char **argv) {
  read_examples();
  if (argc == 5 && !strcmp(argv[1], "train"))
    train(argv[2], atoi(argv[3]), argv[4]);
  else if (argc == 5 && !strcmp(argv[1], "read"))
    read_foreign(argv[2], argv[3], argv[4]);
  else
    return fprintf(stderr, "see the head of drive_model.c\n"), 2;
  return 0;
}
