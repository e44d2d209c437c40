#include "tape.h"

#include <stdlib.h>
#include <string.h>

#include "allocator.h"
#include "attn/nn.h"
#include "bf16.h"
#include "error.h"
#include "tape_node.h"

enum { RECORD_BLOCK = 1 << 16 }; /* bytes; a call of a layer takes some 450 */

/* Calls and variables. Blocks are added as needed and reused by the next pass. */
struct attn_tape_records {
  struct attn_tape_records *next;
  size_t used;
  _Alignas(ATTN_ALIGNMENT) char memory[RECORD_BLOCK];
};

/* ---- Memory ---- */

static attn_status no_memory(attn_error *err, size_t bytes) {
  return attn_fail(err, ATTN_ERR_MEMORY, NULL, "cannot allocate %zu bytes for a pass", bytes);
}

static attn_status plan_gradients(struct attn_tape *tape, attn_error *err);

attn_status attn_tape_reserve(struct attn_tape *tape, attn_error *err) {
  size_t bytes = tape->data.peak;
  attn_status status = attn_tape_status(tape, err);
  if (!status) status = plan_gradients(tape, err);
  if (status) return status;
  size_t gradients = tape->gradients.offsets.peak,
         all = bytes + gradients + tape->bf16_gradient_bytes;
  char *memory = attn_memory_allocate_large(ATTN_ALIGNMENT, all);
  if (!memory) return no_memory(err, all);
  tape->data = (struct attn_arena){memory, bytes, 0, 0}, tape->gradients.memory = memory + bytes;
  tape->bf16_gradient = memory + bytes + gradients;
  attn_tape_start(tape);
  return ATTN_OK;
}

size_t attn_tape_memory_bytes(const struct attn_tape *tape) {
  size_t bytes = tape->data.size + tape->gradients.offsets.peak + tape->bf16_gradient_bytes;
  for (const struct attn_tape_records *r = tape->records; r; r = r->next) bytes += sizeof *r;
  return bytes;
}

attn_status attn_tape_status(const struct attn_tape *tape, attn_error *err) {
  if (tape->status && err) *err = tape->error;
  return tape->status;
}

void attn_tape_close(struct attn_tape *tape) {
  for (struct attn_tape_records *r = tape->records, *next; r; r = next)
    next = r->next, attn_memory_release(NULL, r);
  free(tape->gradients.span);
  attn_memory_release(NULL, tape->data.memory);
  tape->records = tape->record = NULL, tape->data = (struct attn_arena){NULL, 0, 0, 0};
  tape->gradients = (struct attn_gradient_plan){.span = NULL}, tape->bf16_gradient_bytes = 0;
}

void attn_tape_start(struct attn_tape *tape) {
  tape->record = NULL, tape->data.used = 0, tape->variables = 0;
  tape->last = NULL, tape->status = ATTN_OK, tape->drop.use = 0;
}

void *attn_tape_record(struct attn_tape *tape, size_t bytes) {
  struct attn_tape_records *r = tape->record, *next;
  bytes = attn_align_up(bytes);
  if (tape->status) return NULL;
  if (bytes > RECORD_BLOCK) {
    tape->status =
        attn_fail(&tape->error, ATTN_ERR_MEMORY, NULL,
                  "a call has %zu bytes of arguments; the limit is %d", bytes, (int)RECORD_BLOCK);
    return NULL;
  }
  if (!r || bytes > RECORD_BLOCK - r->used) {
    next = r ? r->next : tape->records;
    if (!next) {
      next = attn_memory_allocate(NULL, ATTN_ALIGNMENT, sizeof *next);
      if (!next) return tape->status = no_memory(&tape->error, sizeof *next), NULL;
      next->next = NULL;
      *(r ? &r->next : &tape->records) = next;
    }
    next->used = 0, tape->record = r = next;
  }
  r->used += bytes;
  return r->memory + r->used - bytes;
}

void *attn_tape_allocate(struct attn_tape *tape, size_t bytes) {
  const size_t max = PTRDIFF_MAX / ATTN_ALIGNMENT * ATTN_ALIGNMENT; /* no allocation has it */
  struct attn_arena *data = &tape->data;
  size_t at = data->used, more = attn_align_up(bytes);
  data->used = more < max - at ? at + more : max;
  if (data->used > data->peak) data->peak = data->used;
  if (!data->memory || tape->status) return NULL;
  if (data->used <= data->size) return data->memory + at;
  tape->status = attn_fail(&tape->error, ATTN_ERR_MEMORY, NULL,
                           "a step needs more than the %zu bytes that were planned", data->size);
  return NULL;
}

static struct attn_tape_variable no_variable; /* after a failure */

struct attn_tape_variable *attn_tape_input(struct attn_tape *tape, int64_t n, int64_t width) {
  struct attn_tape_variable *v = attn_tape_record(tape, sizeof *v);
  float *x = attn_tape_allocate(tape, (size_t)n * (size_t)width * sizeof(float));
  if (!v) return &no_variable;
  *v = (struct attn_tape_variable){.x = x, .n = n, .width = width};
  return v;
}

struct attn_tape_variable *attn_tape_variable(struct attn_tape *tape, int64_t n, int64_t width) {
  struct attn_tape_variable *v = attn_tape_input(tape, n, width);
  const size_t bytes = (size_t)n * (size_t)width * sizeof(float);
  float *dx = tape->training && !tape->shares_gradients ? attn_tape_allocate(tape, bytes) : NULL;
  tape->variables++;
  if (v == &no_variable) return v;
  if (dx) memset(dx, 0, bytes);
  v->dx = dx, v->id = tape->training ? tape->variables : 0;
  return v;
}

size_t attn_tape_mark(const struct attn_tape *tape) { return tape->data.used; }

struct attn_tape_variable *attn_tape_keep(struct attn_tape *tape, size_t mark,
                                          struct attn_tape_variable *v) {
  size_t bytes = (size_t)v->n * (size_t)v->width * sizeof *v->x;
  if (tape->training || tape->status) return v;
  tape->data.used = mark;
  float *to = attn_tape_allocate(tape, bytes);
  if (to && v->x) memmove(to, v->x, bytes);
  v->x = to;
  return v;
}

/* ---- Calls ---- */

int attn_tape_is_computing(const struct attn_tape *tape) {
  return tape->data.memory && !tape->status;
}

static int is_stopped(struct attn_tape *tape) {
  if (!attn_tape_is_computing(tape) || !tape->stop || !tape->stop(tape->stop_context)) return 0;
  tape->status = attn_fail(&tape->error, ATTN_ERR_INTERRUPTED, NULL, "stopped by the caller");
  return 1;
}

void attn_tape_call(struct attn_tape *tape, const struct attn_tape_node *node) {
  struct attn_tape_node *kept = attn_tape_record(tape, sizeof *kept);
  if (!kept) return;
  *kept = *node, kept->previous = tape->last;
  if (tape->training) tape->last = kept;
  if (attn_tape_is_computing(tape) && !is_stopped(tape)) kept->forward(tape, kept);
}

/* ---- Gradients: unset before the backward of the last reader, free after the writer's ---- */

static void for_inputs(struct attn_tape *t, const struct attn_tape_node *n,
                       void (*body)(struct attn_tape *tape, const struct attn_tape_node *n,
                                    struct attn_tape_variable *v)) {
  struct attn_tape_variable *const inputs[] = {n->x, n->f, n->qkv[0], n->qkv[1], n->qkv[2]};
  for (size_t k = 0; k < sizeof inputs / sizeof *inputs; k++)
    if (inputs[k] && inputs[k]->id && !inputs[k]->dx) body(t, n, inputs[k]);
  for (int64_t k = 0; k < n->more_count; k++)
    if (n->more[k]->id && !n->more[k]->dx) body(t, n, n->more[k]);
}

static size_t bytes_of(const struct attn_tape_variable *v) {
  return (size_t)v->n * (size_t)v->width * sizeof *v->dx;
}

static void plan_gradient(struct attn_tape *t, const struct attn_tape_node *n,
                          struct attn_tape_variable *v) {
  (void)n;
  struct attn_buffer_span *span = &t->gradients.span[v->id];
  if (!span->bytes) attn_buffer_offsets_reserve(&t->gradients.offsets, span, bytes_of(v));
}

static attn_status plan_gradients(struct attn_tape *t, attn_error *err) {
  struct attn_gradient_plan *g = &t->gradients;
  *g = (struct attn_gradient_plan){.count = t->variables};
  if (!t->training || !t->shares_gradients) return ATTN_OK;
  g->span = calloc((size_t)t->variables + 1, sizeof *g->span);
  if (!g->span) return no_memory(err, (size_t)t->variables * sizeof *g->span);
  for (const struct attn_tape_node *n = t->last; n; n = n->previous) {
    for_inputs(t, n, plan_gradient);
    if (n->y) attn_buffer_offsets_release(&g->offsets, &g->span[n->y->id]);
    if (n->y2) attn_buffer_offsets_release(&g->offsets, &g->span[n->y2->id]);
  }
  return ATTN_OK;
}

static void larger_than_planned(struct attn_tape *t) {
  t->status = attn_fail(&t->error, ATTN_ERR_MEMORY, NULL, "a step is larger than was planned");
}

static void begin_gradient(struct attn_tape *t, const struct attn_tape_node *n,
                           struct attn_tape_variable *v) {
  const struct attn_gradient_plan *g = &t->gradients;
  if (v->id > g->count || bytes_of(v) > g->span[v->id].bytes) {
    larger_than_planned(t);
    return;
  }
  v->dx = (float *)(void *)(g->memory + g->span[v->id].offset);
  v->dx_unset = n->stores;
  if (!n->stores) memset(v->dx, 0, bytes_of(v));
}

/* To be written by the backward that runs. */
static struct attn_gradient gradient_of(struct attn_tape_variable *v) {
  if (!v) return (struct attn_gradient){NULL, 0};
  const struct attn_gradient g = {v->dx, !v->dx_unset};
  v->dx_unset = 0;
  return g;
}

/* A variable that nothing reads has no gradient: its call is skipped. */
void attn_tape_backward(struct attn_tape *tape) {
  for (struct attn_tape_node *n = tape->last;
       n && attn_tape_is_computing(tape) && !is_stopped(tape); n = n->previous) {
    if (n->y && !n->y->dx && !(n->y2 && n->y2->dx)) continue;
    for_inputs(tape, n, begin_gradient);
    if (attn_tape_is_computing(tape)) n->backward(tape, n);
  }
  tape->last = NULL;
}

/* Every use of the seed draws other values. */
static struct attn_dropout next_dropout(struct attn_tape *tape, double probability) {
  struct attn_dropout drop = tape->drop;
  drop.probability = tape->training ? probability : 0;
  tape->drop.use++;
  return drop;
}

/* ---- Linear ---- */

static void linear(struct attn_tape *t, struct attn_tape_node *n) {
  const struct attn_linear *l = &n->as.linear.layer;
  if (n->as.linear.bf16) attn_convert_to_bf16(&t->host, n->as.linear.bf16, n->x->x, l->n * l->in);
  t->status = attn_linear_forward(&t->host, l, n->y->x, attn_tape_values(n->bias), &t->error);
}

static void linear_back(struct attn_tape *t, struct attn_tape_node *n) {
  const struct attn_linear *l = &n->as.linear.layer;
  const void *dy = n->y->dx;
  if (n->as.linear.bf16) {
    attn_convert_to_bf16(&t->host, t->bf16_gradient, n->y->dx, l->n * l->out);
    dy = t->bf16_gradient;
  }
  t->status = attn_linear_backward(&t->host, l, gradient_of(n->x), n->weight->dx,
                                   attn_tape_gradient(n->bias), n->y->dx, dy, &t->error);
}

static uint16_t *allocate_bf16(struct attn_tape *t, const struct attn_tape_variable *x) {
  return attn_tape_allocate(t, (size_t)x->n * (size_t)x->width * sizeof(uint16_t));
}

/* Memory for dy in bf16, which all backwards share. */
static void plan_bf16_gradient(struct attn_tape *t, const struct attn_tape_variable *y) {
  size_t bytes = (size_t)y->n * (size_t)y->width * sizeof(uint16_t);
  if (!t->training || bytes <= t->bf16_gradient_bytes) return;
  if (!t->data.memory)
    t->bf16_gradient_bytes = bytes;
  else if (!t->status)
    larger_than_planned(t);
}

struct attn_tape_variable *attn_tape_linear(struct attn_tape *tape, struct attn_tape_variable *x,
                                            const struct attn_tape_variable *w,
                                            const struct attn_tape_variable *b) {
  struct attn_tape_variable *y = attn_tape_variable(tape, x->n, w->n);
  struct attn_tape_node node = {.forward = linear,
                                .backward = linear_back,
                                .stores = 1,
                                .x = x,
                                .y = y,
                                .weight = w,
                                .bias = b};
  struct attn_linear *l = &node.as.linear.layer;
  *l = (struct attn_linear){x->n, x->width, y->width, ATTN_F32, x->x, w->x};
  if (tape->bf16) { /* x and the weight rounded */
    node.as.linear.bf16 = allocate_bf16(tape, x), plan_bf16_gradient(tape, y);
    l->type = ATTN_BF16, l->x = node.as.linear.bf16, l->w = w->bf16;
  }
  attn_tape_call(tape, &node);
  return y;
}

static void linear_packed(struct attn_tape *t, struct attn_tape_node *n) {
  uint16_t *bf16 = n->as.packed.bf16;
  if (bf16) attn_convert_to_bf16(&t->host, bf16, n->x->x, n->x->n * n->x->width);
  attn_packed_matmul(n->as.packed.w, n->y->x, bf16 ? (void *)bf16 : n->x->x, n->x->n);
}

struct attn_tape_variable *attn_tape_linear_packed(struct attn_tape *tape,
                                                   struct attn_tape_variable *x,
                                                   struct attn_packed_matrix *packed, int64_t out,
                                                   int bf16) {
  struct attn_tape_variable *y = attn_tape_variable(tape, x->n, out);
  struct attn_tape_node node = {.forward = linear_packed, .x = x, .y = y, .as.packed.w = packed};
  if (bf16) node.as.packed.bf16 = allocate_bf16(tape, x);
  attn_tape_call(tape, &node);
  return y;
}

/* ---- Embedding: bias is the table of positions ---- */

static void embed(struct attn_tape *t, struct attn_tape_node *n) {
  attn_embedding_forward(&t->host, &n->as.embedding, n->y->x, n->weight->x,
                         attn_tape_values(n->bias));
}

static void embed_back(struct attn_tape *t, struct attn_tape_node *n) {
  attn_embedding_backward(&t->host, &n->as.embedding, n->weight->dx, attn_tape_gradient(n->bias),
                          n->y->dx);
}

struct attn_tape_variable *attn_tape_embed(struct attn_tape *tape, const struct attn_embedding *e,
                                           const struct attn_tape_variable *table,
                                           const struct attn_tape_variable *positions) {
  int64_t more = e->position_mode == ATTN_POSITION_MODE_CONCATENATE ? e->position_dim : 0;
  struct attn_tape_variable *y = attn_tape_variable(tape, e->n, e->width + more);
  attn_tape_call(tape, &(struct attn_tape_node){.forward = embed,
                                                .backward = embed_back,
                                                .y = y,
                                                .weight = table,
                                                .bias = positions,
                                                .as.embedding = *e});
  return y;
}

/* ---- Normalization ---- */

static void norm(struct attn_tape *t, struct attn_tape_node *n) {
  attn_norm_layer_forward(&t->host, &n->as.norm, n->y->x);
}

static void norm_back(struct attn_tape *t, struct attn_tape_node *n) {
  attn_norm_layer_backward(&t->host, &n->as.norm, gradient_of(n->x), n->weight->dx,
                           attn_tape_gradient(n->bias), n->y->dx);
}

struct attn_tape_variable *attn_tape_norm(struct attn_tape *tape, struct attn_tape_variable *x,
                                          const struct attn_tape_variable *scale,
                                          const struct attn_tape_variable *bias, double epsilon,
                                          int rms) {
  struct attn_tape_variable *y = attn_tape_variable(tape, x->n, x->width);
  struct attn_tape_node node = {.forward = norm,
                                .backward = norm_back,
                                .stores = 1,
                                .x = x,
                                .y = y,
                                .weight = scale,
                                .bias = bias};
  node.as.norm = (struct attn_norm_layer){
      x->n, x->width, rms, epsilon, x->x, scale->x, attn_tape_values(bias), NULL};
  if (tape->training)
    node.as.norm.row = attn_tape_allocate(tape, (size_t)x->n * sizeof *node.as.norm.row);
  attn_tape_call(tape, &node);
  return y;
}

/* ---- Activation ---- */

static void activate(struct attn_tape *t, struct attn_tape_node *n) {
  attn_activation_forward(&t->host, n->as.activation, n->y->x, n->x->x, n->y->n, n->y->width);
}

static void activate_back(struct attn_tape *t, struct attn_tape_node *n) {
  attn_activation_backward(&t->host, n->as.activation, gradient_of(n->x), n->y->dx, n->x->x,
                           n->y->n, n->y->width);
}

struct attn_tape_variable *attn_tape_activate(struct attn_tape *tape, enum attn_activation kind,
                                              struct attn_tape_variable *x) {
  struct attn_tape_variable *y =
      attn_tape_variable(tape, x->n, kind == ATTN_SWIGLU ? x->width / 2 : x->width);
  attn_tape_call(tape, &(struct attn_tape_node){.forward = activate,
                                                .backward = activate_back,
                                                .stores = 1,
                                                .x = x,
                                                .y = y,
                                                .as.activation = kind});
  return y;
}

/* ---- Residual ---- */

static void add(struct attn_tape *t, struct attn_tape_node *n) {
  attn_residual_forward(&t->host, &n->drop, n->y->x, attn_tape_values(n->x), n->f->x, n->y->n,
                        n->y->width);
}

static void add_back(struct attn_tape *t, struct attn_tape_node *n) {
  const struct attn_gradient dx = gradient_of(n->x), df = gradient_of(n->f);
  attn_residual_backward(&t->host, &n->drop, dx, df, n->y->dx, n->y->n, n->y->width);
}

struct attn_tape_variable *attn_tape_add(struct attn_tape *tape, struct attn_tape_variable *x,
                                         struct attn_tape_variable *f, double dropout) {
  struct attn_tape_variable *y = attn_tape_variable(tape, f->n, f->width);
  attn_tape_call(tape, &(struct attn_tape_node){.forward = add,
                                                .backward = add_back,
                                                .stores = 1,
                                                .x = x,
                                                .f = f,
                                                .y = y,
                                                .drop = next_dropout(tape, dropout)});
  return y;
}

/* ---- Attention ---- */

static struct attn_row_view columns(const struct attn_tape_variable *v, int64_t from,
                                    int gradients) {
  return (struct attn_row_view){(gradients ? v->dx : v->x) + from, v->n, v->width};
}

static struct attn_multihead_rows rows_of(const struct attn_tape_node *n, int gradients) {
  const int64_t *from = n->as.attend.from;
  return (struct attn_multihead_rows){
      columns(n->qkv[0], from[0], gradients), columns(n->qkv[1], from[1], gradients),
      columns(n->qkv[2], from[2], gradients), columns(n->y, 0, gradients)};
}

static void attend(struct attn_tape *t, struct attn_tape_node *n) {
  const struct attn_multihead_rows x = rows_of(n, 0);
  if (t->watch) t->watch(t, &n->as.attend.m, x.q, x.k);
  if (t->status) return;
  t->status = attn_multihead_forward(&t->host, &n->as.attend.m, &x, n->as.attend.lse, &t->error);
}

static void attend_back(struct attn_tape *t, struct attn_tape_node *n) {
  const struct attn_multihead_rows x = rows_of(n, 0), d = rows_of(n, 1);
  float *d_a = n->as.attend.d_additive;
  t->status =
      attn_multihead_backward(&t->host, &n->as.attend.m, &x, &d, d_a, n->as.attend.lse, &t->error);
  for (int j = 0; j < 3; j++) n->qkv[j]->dx_unset = 0;
  if (d_a && !t->status) attn_add_floats(n->weight->dx, d_a, n->weight->n * n->weight->width);
}

/* Whether the attention reads, and so its backward writes, all columns of its variables. */
static int reads_all_columns(const struct attn_tape_node *n) {
  const struct attn_multihead *m = &n->as.attend.m;
  const int64_t width[] = {m->num_heads * m->head_dim, m->num_kv_heads * m->head_dim,
                           m->num_kv_heads * m->value_head_dim};
  for (int k = 0; k < 3; k++) {
    int64_t columns = 0;
    for (int j = 0; j < 3; j++) columns += n->qkv[j] == n->qkv[k] ? width[j] : 0;
    if (columns != n->qkv[k]->width) return 0;
  }
  return 1;
}

struct attn_tape_variable *attn_tape_attend(struct attn_tape *tape, const struct attn_multihead *m,
                                            const struct attn_tape_variable *additive,
                                            struct attn_columns q, struct attn_columns k,
                                            struct attn_columns v, double dropout) {
  struct attn_tape_variable *y =
      attn_tape_variable(tape, q.of->n, m->num_heads * m->value_head_dim);
  struct attn_tape_node node = {.forward = attend,
                                .backward = attend_back,
                                .y = y,
                                .qkv = {q.of, k.of, v.of},
                                .as.attend.from = {q.from, k.from, v.from}};
  node.as.attend.m = *m, node.as.attend.m.drop = next_dropout(tape, dropout);
  node.weight = additive, node.as.attend.m.additive = additive ? additive->x : NULL;
  node.stores = reads_all_columns(&node);
  if (tape->training)
    node.as.attend.lse = attn_tape_allocate(tape, (size_t)(m->num_heads * q.of->n) * sizeof(float));
  if (tape->training && additive && additive->dx)
    node.as.attend.d_additive =
        attn_tape_allocate(tape, (size_t)(additive->n * additive->width) * sizeof(float));
  attn_tape_call(tape, &node);
  return y;
}

/* ---- Rotary positions ---- */

static void rotate(struct attn_tape *t, struct attn_tape_node *n, float *rows, int back) {
  const struct attn_rotary_args *r = &n->as.rotary;
  attn_tensor positions = {(void *)(uintptr_t)r->position_ids, ATTN_I32, 2, {1, n->x->n}, {0, 1}};
  const attn_rotary desc = {.struct_size = sizeof desc,
                            .positions = &positions,
                            .executor = t->host.executor,
                            .threads = t->host.threads};
  attn_tensor x = {
      rows + r->from, ATTN_F32, 4, {1, r->heads, n->x->n, r->width}, {0, r->width, n->x->width, 1}};
  attn_tensor cos = {r->cos->x, ATTN_F32, 2, {r->cos->n, r->cos->width}, {r->cos->width, 1}};
  attn_tensor sin = {r->sin->x, ATTN_F32, 2, {r->sin->n, r->sin->width}, {r->sin->width, 1}};
  t->status = back ? attn_rotary_backward(&desc, &cos, &sin, &x, &x, &t->error)
                   : attn_rotary_forward(&desc, &x, &cos, &sin, &x, &t->error);
}

static void rotary(struct attn_tape *t, struct attn_tape_node *n) { rotate(t, n, n->x->x, 0); }
static void rotary_back(struct attn_tape *t, struct attn_tape_node *n) {
  rotate(t, n, n->x->dx, 1);
}

void attn_tape_rotary(struct attn_tape *tape, struct attn_tape_variable *x,
                      const struct attn_rotary_args *args) {
  attn_tape_call(tape, &(struct attn_tape_node){
                           .forward = rotary, .backward = rotary_back, .x = x, .as.rotary = *args});
}

/* ---- Loss: the last call ---- */

struct attn_loss attn_tape_cross_entropy(struct attn_tape *tape, struct attn_tape_variable *logits,
                                         const int32_t *targets, double smoothing, float scale) {
  const struct attn_loss none = {0, 0, 0};
  double *scratch = attn_tape_allocate(tape, (size_t)logits->n * sizeof *scratch);
  if (!attn_tape_is_computing(tape)) return none;
  if (tape->training) logits->dx = logits->x;
  return attn_cross_entropy_forward(&tape->host, logits->x, targets, logits->n, logits->width,
                                    smoothing, scale, !tape->training, scratch);
}
