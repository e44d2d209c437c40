/* Models as a program, for tests/python/test_transformer.py, which compares them with PyTorch.
 * Examples are lines of numbers: "source tokens|target tokens", one batch.
 *
 *     drive_model train CHECKPOINT STEPS TO     goes on from a checkpoint, with the batch again and
 *                                               again: TO is the checkpoint afterwards, TO.first
 *                                               what the first step saw, TO.last the last logits */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint.h"
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
  int32_t tokens[2][LINE];
  int64_t count[2];
} examples[LINES];
static int lines;

static void read_examples(void) {
  char line[LINE];
  while (lines < LINES && fgets(line, sizeof line, stdin)) {
    struct example *e = &examples[lines++];
    int side = 0;
    for (char *at = line; *at && *at != '\n' && side < 2;)
      if (*at == '|')
        side++, at++;
      else
        e->tokens[side][e->count[side]++] = (int32_t)strtol(at, &at, 10);
  }
}

static void add_examples(struct attn_trainer *t) {
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
  const attn_tensor **tensors = allocate((size_t)count * sizeof *tensors);
  struct attn_file_writer w = {-1, NULL, NULL};
  for (int n = 0; n < count; n++) tensors[n] = &tensor[n];
  check(attn_file_begin(&w, path, &err));
  check(attn_safetensors_put_new(&w, names, tensors, count, NULL, &err));
  check(attn_file_finish(&w, &err));
  check(attn_file_commit(&w, &err));
  attn_file_abandon(&w);
  free(tensors);
}

/* ---- Training ---- */

/* The first part's batch through its tape, which lies idle between steps: logits and, of the mean
 * loss, the gradients of every weight. */
static void look(struct attn_trainer *t, const char *to, const char *suffix, int with_gradients) {
  struct attn_part *p = &t->part[0];
  struct attn_network *n = p->network;
  const char **names = allocate((size_t)(n->count + 1) * sizeof *names);
  attn_tensor *tensors = allocate((size_t)(n->count + 1) * sizeof *tensors);
  char path[LINE];
  add_examples(t);
  for (int k = 0; k < n->count; k++) {
    struct attn_value *v = &n->parameters[k].value;
    memset(v->dx, 0, (size_t)(v->n * v->width) * sizeof *v->dx);
    names[k + 1] = n->parameters[k].name;
    tensors[k + 1] = tensor_of(v->dx, v->n, v->width, n->parameters[k].rank);
  }
  attn_tape_start(&p->tape);
  struct attn_value *logits =
      attn_transformer_forward(n, &p->tape, &p->batch->source, &p->batch->target);
  names[0] = "logits", tensors[0] = tensor_of(logits->x, logits->n, logits->width, 2);
  attn_tape_lose(&p->tape, logits, p->batch->labels, t->how.smoothing, 1.0f / (float)logits->n);
  attn_tape_backward(&p->tape);
  err = p->tape.error, check(p->tape.status);
  snprintf(path, sizeof path, "%s.%s", to, suffix);
  write_tensors(path, names, tensors, with_gradients ? n->count + 1 : 1);
  attn_batch_clear(p->batch), t->added = 0;
  free(names), free(tensors);
}

static void train(const char *from, int steps, const char *to) {
  struct attn_trainer *t;
  char *tokenizer;
  check(attn_checkpoint_resume(from, 1, &t, &tokenizer, &err));
  look(t, to, "first", 1);
  for (int n = 0; n < steps; n++) {
    struct attn_step step;
    add_examples(t);
    check(attn_trainer_step(t, &step, &err));
    printf("%.9g %.9g %.9g\n", step.loss, step.norm, step.rate);
  }
  look(t, to, "last", 0);
  check(attn_checkpoint_write(to, t, tokenizer, &err));
  free(tokenizer);
  attn_trainer_free(t);
}

int main(int argc, char **argv) {
  read_examples();
  if (argc == 5 && !strcmp(argv[1], "train"))
    train(argv[2], atoi(argv[3]), argv[4]);
  else
    return fprintf(stderr, "see the head of drive_model.c\n"), 2;
  return 0;
}
