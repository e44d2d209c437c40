#include "tape.h"

#include <stdlib.h>
#include <string.h>

#include "allocator.h"
#include "attn/nn.h"
#include "bf16.h"
#include "error.h"

enum { ALIGNMENT = 64 };

/* One call of a layer. Pointers to what the caller owns must last until the backward. */
struct attn_tape_node {
  void (*forward)(struct attn_tape *tape, struct attn_tape_node *node);
  void (*backward)(struct attn_tape *tape, struct attn_tape_node *node);
  struct attn_tape_node *before;
  struct attn_variable *x, *f, *y, *from[3]; /* from: an attention's */
  const struct attn_variable *weight, *bias;
  struct attn_dropout drop;
  union {
    struct attn_embedding embedding;
    enum attn_activation activation;
    struct attn_rotary_args turn;
    struct {
      uint16_t *half; /* x in bf16; NULL: x itself is multiplied */
    } linear;
    struct {
      struct attn_packed_matrix *w;
      uint16_t *half;
    } packed;
    struct {
      double epsilon;
      int rms;
      struct attn_norm_row *row; /* kept for the backward */
    } norm;
    struct {
      struct attn_multihead m;
      struct attn_columns q, k, v;
      float *lse;
    } attend;
  } as;
};

/* ---- Memory ---- */

static attn_status no_memory(attn_error *err, size_t bytes) {
  return attn_fail(err, ATTN_ERR_MEMORY, NULL, "no memory for a pass of %zu bytes", bytes);
}

static size_t up(size_t bytes) { return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

attn_status attn_tape_open(struct attn_tape *tape, size_t notes, attn_error *err) {
  tape->notes = (struct attn_arena){malloc(notes), notes, 0, 0};
  tape->numbers = (struct attn_arena){NULL, 0, 0, 0}, tape->factors_most = 0;
  return tape->notes.memory ? ATTN_OK : no_memory(err, notes);
}

static attn_status plan_gradients(struct attn_tape *tape, attn_error *err);

attn_status attn_tape_reserve(struct attn_tape *tape, attn_error *err) {
  size_t bytes = tape->numbers.most;
  attn_status status = attn_tape_status(tape, err);
  if (!status) status = plan_gradients(tape, err);
  if (status) return status;
  size_t gradients = tape->gradients.places.most, all = bytes + gradients + tape->factors_most;
  char *memory = attn_memory_allocate(NULL, ALIGNMENT, all);
  if (!memory) return no_memory(err, all);
  tape->numbers = (struct attn_arena){memory, bytes, 0, 0}, tape->gradients.memory = memory + bytes;
  tape->factors = memory + bytes + gradients;
  attn_tape_start(tape);
  return ATTN_OK;
}

attn_status attn_tape_status(const struct attn_tape *tape, attn_error *err) {
  if (tape->status && err) *err = tape->error;
  return tape->status;
}

void attn_tape_close(struct attn_tape *tape) {
  free(tape->notes.memory), free(tape->gradients.place);
  attn_memory_release(NULL, tape->numbers.memory);
  tape->notes.memory = tape->numbers.memory = NULL, tape->gradients.place = NULL;
}

void attn_tape_start(struct attn_tape *tape) {
  tape->notes.used = tape->numbers.used = 0, tape->values = 0;
  tape->last = NULL, tape->status = ATTN_OK, tape->drop.use = 0;
}

static void *push(struct attn_tape *tape, struct attn_arena *stack, size_t bytes) {
  const size_t most = PTRDIFF_MAX / ALIGNMENT * ALIGNMENT; /* which no allocation gives */
  size_t at = stack->used, more = up(bytes);
  stack->used = more < most - at ? at + more : most;
  if (stack->used > stack->most) stack->most = stack->used;
  if (!stack->memory || tape->status) return NULL;
  if (stack->used <= stack->size) return stack->memory + at;
  tape->status = attn_fail(&tape->error, ATTN_ERR_MEMORY, NULL,
                           "a step needs more than the %zu bytes that were planned", stack->size);
  return NULL;
}

void *attn_tape_allocate(struct attn_tape *tape, size_t bytes) {
  return push(tape, &tape->numbers, bytes);
}

struct attn_variable *attn_tape_variable(struct attn_tape *tape, int64_t n, int64_t width) {
  static struct attn_variable none;
  size_t bytes = (size_t)n * (size_t)width * sizeof(float);
  struct attn_variable *made = push(tape, &tape->notes, sizeof *made);
  float *x = attn_tape_allocate(tape, bytes);
  float *dx = tape->training && !tape->shares_gradients ? attn_tape_allocate(tape, bytes) : NULL;
  tape->values++;
  if (!made) return &none;
  if (dx) memset(dx, 0, bytes);
  *made = (struct attn_variable){x, dx, n, width, tape->training ? tape->values : 0, NULL};
  return made;
}

size_t attn_tape_mark(const struct attn_tape *tape) { return tape->numbers.used; }

struct attn_variable *attn_tape_keep(struct attn_tape *tape, size_t mark,
                                     struct attn_variable *value) {
  size_t bytes = (size_t)value->n * (size_t)value->width * sizeof *value->x;
  if (tape->training || tape->status) return value;
  tape->numbers.used = mark;
  float *to = attn_tape_allocate(tape, bytes);
  if (to && value->x) memmove(to, value->x, bytes);
  value->x = to;
  return value;
}

/* ---- Calls ---- */

int attn_tape_is_computing(const struct attn_tape *tape) {
  return tape->numbers.memory && !tape->status;
}

/* Is the pass wanted no more? Its status says so then. */
static int is_stopped(struct attn_tape *tape) {
  if (!attn_tape_is_computing(tape) || !tape->stop || !tape->stop(tape->stop_context)) return 0;
  tape->status = attn_fail(&tape->error, ATTN_ERR_INTERRUPTED, NULL, "stopped by the caller");
  return 1;
}

/* Notes a call and makes it; what is not trained is forgotten at once. */
static void call(struct attn_tape *tape, const struct attn_tape_node *node) {
  struct attn_tape_node *kept = push(tape, &tape->notes, sizeof *kept);
  if (!kept) return;
  *kept = *node, kept->before = tape->last;
  if (tape->training) tape->last = kept;
  if (attn_tape_is_computing(tape) && !is_stopped(tape)) kept->forward(tape, kept);
}

/* ---- Gradients: 0 when the first reader's backward comes, done with after the maker's ---- */

static void for_inputs(struct attn_tape *t, const struct attn_tape_node *n,
                       void (*body)(struct attn_tape *tape, struct attn_variable *v)) {
  struct attn_variable *const inputs[] = {n->x, n->f, n->from[0], n->from[1], n->from[2]};
  for (size_t k = 0; k < sizeof inputs / sizeof *inputs; k++)
    if (inputs[k] && inputs[k]->number && !inputs[k]->dx) body(t, inputs[k]);
}

static size_t bytes_of(const struct attn_variable *v) {
  return (size_t)v->n * (size_t)v->width * sizeof *v->dx;
}

static void plan_place(struct attn_tape *t, struct attn_variable *v) {
  struct attn_buffer_span *place = &t->gradients.place[v->number];
  if (!place->bytes) attn_buffer_offsets_reserve(&t->gradients.places, place, bytes_of(v));
}

static attn_status plan_gradients(struct attn_tape *t, attn_error *err) {
  struct attn_gradient_plan *g = &t->gradients;
  *g = (struct attn_gradient_plan){.values = t->values};
  if (!t->training || !t->shares_gradients) return ATTN_OK;
  g->place = calloc((size_t)t->values + 1, sizeof *g->place);
  if (!g->place) return no_memory(err, (size_t)t->values * sizeof *g->place);
  for (const struct attn_tape_node *n = t->last; n; n = n->before) {
    for_inputs(t, n, plan_place);
    if (n->y) attn_buffer_offsets_release(&g->places, &g->place[n->y->number]);
  }
  return ATTN_OK;
}

static void begin_gradient(struct attn_tape *t, struct attn_variable *v) {
  const struct attn_gradient_plan *g = &t->gradients;
  if (v->number <= g->values && bytes_of(v) <= g->place[v->number].bytes) {
    v->dx = (float *)(void *)(g->memory + g->place[v->number].at);
    memset(v->dx, 0, bytes_of(v));
  } else
    t->status = attn_fail(&t->error, ATTN_ERR_MEMORY, NULL, "a step is larger than was planned");
}

/* What nobody read has no gradient to send back. */
void attn_tape_backward(struct attn_tape *tape) {
  for (struct attn_tape_node *n = tape->last;
       n && attn_tape_is_computing(tape) && !is_stopped(tape); n = n->before) {
    if (n->y && !n->y->dx) continue;
    for_inputs(tape, n, begin_gradient);
    if (attn_tape_is_computing(tape)) n->backward(tape, n);
  }
  tape->last = NULL;
}

/* Each use draws numbers of its own. */
static struct attn_dropout draw_from(struct attn_tape *tape, double probability) {
  struct attn_dropout drop = tape->drop;
  drop.probability = tape->training ? probability : 0;
  tape->drop.use++;
  return drop;
}

/* ---- Linear ---- */

/* What is multiplied: the values themselves, or their roundings to bf16. */
static struct attn_linear shapes(const struct attn_tape_node *n) {
  struct attn_linear l = {n->x->n, n->x->width, n->y->width, ATTN_F32, n->x->x, n->weight->x};
  if (n->as.linear.half) l.type = ATTN_BF16, l.x = n->as.linear.half, l.w = n->weight->half;
  return l;
}

static void linear(struct attn_tape *t, struct attn_tape_node *n) {
  const struct attn_linear l = shapes(n);
  if (n->as.linear.half) attn_convert_to_bf16(&t->host, n->as.linear.half, n->x->x, l.n * l.in);
  t->status = attn_linear_forward(&t->host, &l, n->y->x, n->bias ? n->bias->x : NULL, &t->error);
}

static void linear_back(struct attn_tape *t, struct attn_tape_node *n) {
  const struct attn_linear l = shapes(n);
  if (n->as.linear.half) attn_convert_to_bf16(&t->host, t->factors, n->y->dx, l.n * l.out);
  t->status =
      attn_linear_backward(&t->host, &l, n->x->dx, n->weight->dx, n->bias ? n->bias->dx : NULL,
                           n->y->dx, n->as.linear.half ? t->factors : n->y->dx, &t->error);
}

/* Memory for x in bf16; all backwards share one piece for dy. */
static void plan_factors(struct attn_tape *t, struct attn_tape_node *n) {
  const size_t size = sizeof(uint16_t);
  size_t back = (size_t)n->y->n * (size_t)n->y->width * size;
  n->as.linear.half = attn_tape_allocate(t, (size_t)n->x->n * (size_t)n->x->width * size);
  if (!t->training || back <= t->factors_most) return;
  if (!t->numbers.memory)
    t->factors_most = back;
  else if (!t->status)
    t->status = attn_fail(&t->error, ATTN_ERR_MEMORY, NULL, "a step is larger than was planned");
}

struct attn_variable *attn_tape_linear(struct attn_tape *tape, struct attn_variable *x,
                                       const struct attn_variable *w,
                                       const struct attn_variable *b) {
  struct attn_variable *y = attn_tape_variable(tape, x->n, w->n);
  struct attn_tape_node node = {
      .forward = linear, .backward = linear_back, .x = x, .y = y, .weight = w, .bias = b};
  if (tape->halves) plan_factors(tape, &node);
  call(tape, &node);
  return y;
}

static void multiply_packed(struct attn_tape *t, struct attn_tape_node *n) {
  uint16_t *half = n->as.packed.half;
  if (half) attn_convert_to_bf16(&t->host, half, n->x->x, n->x->n * n->x->width);
  attn_packed_matmul(n->as.packed.w, n->y->x, half ? (void *)half : n->x->x, n->x->n);
}

struct attn_variable *attn_tape_linear_packed(struct attn_tape *tape, struct attn_variable *x,
                                              struct attn_packed_matrix *packed, int64_t out, int half) {
  struct attn_variable *y = attn_tape_variable(tape, x->n, out);
  struct attn_tape_node node = {.forward = multiply_packed, .x = x, .y = y, .as.packed.w = packed};
  size_t bytes = (size_t)x->n * (size_t)x->width * sizeof *node.as.packed.half;
  if (half) node.as.packed.half = attn_tape_allocate(tape, bytes);
  call(tape, &node);
  return y;
}

/* ---- Embedding: bias holds the positions ---- */

static void embed(struct attn_tape *t, struct attn_tape_node *n) {
  attn_embedding_forward(&t->host, &n->as.embedding, n->y->x, n->weight->x,
                         n->bias ? n->bias->x : NULL);
}

static void embed_back(struct attn_tape *t, struct attn_tape_node *n) {
  attn_embedding_backward(&t->host, &n->as.embedding, n->weight->dx, n->bias ? n->bias->dx : NULL,
                          n->y->dx);
}

struct attn_variable *attn_tape_embed(struct attn_tape *tape, const struct attn_embedding *e,
                                      const struct attn_variable *table,
                                      const struct attn_variable *positions) {
  int64_t behind = e->joining == ATTN_POSITION_MODE_CONCATENATE ? e->position_width : 0;
  struct attn_variable *y = attn_tape_variable(tape, e->n, e->width + behind);
  call(tape, &(struct attn_tape_node){.forward = embed,
                                      .backward = embed_back,
                                      .y = y,
                                      .weight = table,
                                      .bias = positions,
                                      .as.embedding = *e});
  return y;
}

/* ---- Normalization ---- */

static struct attn_norm_layer norm_layer(const struct attn_tape_node *n) {
  return (struct attn_norm_layer){.n = n->x->n,
                                  .width = n->x->width,
                                  .rms = n->as.norm.rms,
                                  .epsilon = n->as.norm.epsilon,
                                  .x = n->x->x,
                                  .scale = n->weight->x,
                                  .bias = n->bias ? n->bias->x : NULL,
                                  .row = n->as.norm.row};
}

static void norm(struct attn_tape *t, struct attn_tape_node *n) {
  const struct attn_norm_layer l = norm_layer(n);
  attn_norm_layer_forward(&t->host, &l, n->y->x);
}

static void norm_back(struct attn_tape *t, struct attn_tape_node *n) {
  const struct attn_norm_layer l = norm_layer(n);
  attn_norm_layer_backward(&t->host, &l, n->x->dx, n->weight->dx, n->bias ? n->bias->dx : NULL,
                           n->y->dx);
}

struct attn_variable *attn_tape_norm(struct attn_tape *tape, struct attn_variable *x,
                                     const struct attn_variable *scale,
                                     const struct attn_variable *bias, double epsilon, int rms) {
  struct attn_variable *y = attn_tape_variable(tape, x->n, x->width);
  struct attn_tape_node node = {
      .forward = norm, .backward = norm_back, .x = x, .y = y, .weight = scale, .bias = bias};
  node.as.norm.epsilon = epsilon, node.as.norm.rms = rms;
  if (tape->training)
    node.as.norm.row = attn_tape_allocate(tape, (size_t)x->n * sizeof *node.as.norm.row);
  call(tape, &node);
  return y;
}

/* ---- Activation ---- */

static void activate(struct attn_tape *t, struct attn_tape_node *n) {
  attn_activation_forward(&t->host, n->as.activation, n->y->x, n->x->x, n->y->n, n->y->width);
}

static void activate_back(struct attn_tape *t, struct attn_tape_node *n) {
  attn_activation_backward(&t->host, n->as.activation, n->x->dx, n->y->dx, n->x->x, n->y->n,
                           n->y->width);
}

struct attn_variable *attn_tape_activate(struct attn_tape *tape, enum attn_activation kind,
                                         struct attn_variable *x) {
  struct attn_variable *y =
      attn_tape_variable(tape, x->n, kind == ATTN_SWIGLU ? x->width / 2 : x->width);
  call(tape,
       &(struct attn_tape_node){
           .forward = activate, .backward = activate_back, .x = x, .y = y, .as.activation = kind});
  return y;
}

/* ---- Residual ---- */

static void add(struct attn_tape *t, struct attn_tape_node *n) {
  attn_residual_forward(&t->host, &n->drop, n->y->x, n->x ? n->x->x : NULL, n->f->x, n->y->n,
                        n->y->width);
}

static void add_back(struct attn_tape *t, struct attn_tape_node *n) {
  attn_residual_backward(&t->host, &n->drop, n->x ? n->x->dx : NULL, n->f->dx, n->y->dx, n->y->n,
                         n->y->width);
}

struct attn_variable *attn_tape_add(struct attn_tape *tape, struct attn_variable *x,
                                    struct attn_variable *f, double dropout) {
  struct attn_variable *y = attn_tape_variable(tape, f->n, f->width);
  call(tape, &(struct attn_tape_node){.forward = add,
                                      .backward = add_back,
                                      .x = x,
                                      .f = f,
                                      .y = y,
                                      .drop = draw_from(tape, dropout)});
  return y;
}

/* ---- Attention ---- */

static struct attn_row_view values(struct attn_columns c) {
  return (struct attn_row_view){c.of->x + c.from, c.of->n, c.of->width};
}

static struct attn_row_view gradients(struct attn_columns c) {
  return (struct attn_row_view){c.of->dx + c.from, c.of->n, c.of->width};
}

static void attend(struct attn_tape *t, struct attn_tape_node *n) {
  const struct attn_columns o = {n->y, 0};
  if (t->watch) t->watch(t, &n->as.attend.m, values(n->as.attend.q), values(n->as.attend.k));
  if (t->status) return;
  t->status = attn_multihead_forward(&t->host, &n->as.attend.m, values(o), n->as.attend.lse,
                                     values(n->as.attend.q), values(n->as.attend.k),
                                     values(n->as.attend.v), &t->error);
}

static void attend_back(struct attn_tape *t, struct attn_tape_node *n) {
  const struct attn_columns o = {n->y, 0}, q = n->as.attend.q, k = n->as.attend.k,
                            v = n->as.attend.v;
  t->status = attn_multihead_backward(&t->host, &n->as.attend.m, gradients(q), gradients(k),
                                      gradients(v), gradients(o), values(o), n->as.attend.lse,
                                      values(q), values(k), values(v), &t->error);
}

struct attn_variable *attn_tape_attend(struct attn_tape *tape, const struct attn_multihead *m,
                                       struct attn_columns q, struct attn_columns k,
                                       struct attn_columns v, double dropout) {
  struct attn_variable *y = attn_tape_variable(tape, q.of->n, m->heads * m->value_width);
  struct attn_tape_node node = {
      .forward = attend, .backward = attend_back, .y = y, .from = {q.of, k.of, v.of}};
  node.as.attend.m = *m, node.as.attend.m.drop = draw_from(tape, dropout);
  node.as.attend.q = q, node.as.attend.k = k, node.as.attend.v = v;
  if (tape->training)
    node.as.attend.lse = attn_tape_allocate(tape, (size_t)(m->heads * q.of->n) * sizeof(float));
  call(tape, &node);
  return y;
}

/* ---- Rotary positions ---- */

static void turn(struct attn_tape *t, struct attn_tape_node *n, float *rows, int back) {
  const struct attn_rotary_args *r = &n->as.turn;
  attn_tensor places = {(void *)(uintptr_t)r->places, ATTN_I32, 2, {1, n->x->n}, {0, 1}};
  const attn_rotary desc = {.struct_size = sizeof desc,
                            .positions = &places,
                            .executor = t->host.executor,
                            .threads = t->host.threads};
  attn_tensor x = {
      rows + r->from, ATTN_F32, 4, {1, r->heads, n->x->n, r->width}, {0, r->width, n->x->width, 1}};
  attn_tensor cos = {r->cos->x, ATTN_F32, 2, {r->cos->n, r->cos->width}, {r->cos->width, 1}};
  attn_tensor sin = {r->sin->x, ATTN_F32, 2, {r->sin->n, r->sin->width}, {r->sin->width, 1}};
  t->status = back ? attn_rotary_backward(&desc, &cos, &sin, &x, &x, &t->error)
                   : attn_rotary_forward(&desc, &x, &cos, &sin, &x, &t->error);
}

static void turn_values(struct attn_tape *t, struct attn_tape_node *n) { turn(t, n, n->x->x, 0); }
static void turn_back(struct attn_tape *t, struct attn_tape_node *n) { turn(t, n, n->x->dx, 1); }

void attn_tape_rotary(struct attn_tape *tape, struct attn_variable *x,
                      const struct attn_rotary_args *r) {
  call(tape, &(struct attn_tape_node){
                 .forward = turn_values, .backward = turn_back, .x = x, .as.turn = *r});
}

/* ---- Loss: the end of the tape ---- */

struct attn_loss attn_tape_cross_entropy(struct attn_tape *tape, struct attn_variable *logits,
                                         const int32_t *targets, double smoothing, float scale) {
  const struct attn_loss none = {0, 0, 0};
  double *scratch = attn_tape_allocate(tape, (size_t)logits->n * sizeof *scratch);
  if (!attn_tape_is_computing(tape)) return none;
  if (tape->training) logits->dx = logits->x;
  return attn_cross_entropy_forward(&tape->host, logits->x, targets, logits->n, logits->width,
                                    smoothing, scale, !tape->training, scratch);
}
