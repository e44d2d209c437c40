/* python_graph.c -- a snippet, statement by statement: its variables become steps. */
#include "python_graph.h"

#include <math.h>
#include <string.h>

typedef struct attn_py_value value;

static const value UNKNOWN = {ATTN_VALUE_UNKNOWN, 0, 0, -1, 0};

/* ---- variables ---- */

static int *list_of(struct attn_py_scope *scope, const char *name) {
  unsigned hash = 0;
  for (; *name; name++) hash = hash * 31 + (unsigned char)*name;
  return &scope->first[hash % ATTN_PY_LISTS];
}

static struct attn_py_variable *find(struct attn_py_scope *scope, const char *name) {
  for (int i = *list_of(scope, name); i; i = scope->variable[i - 1].next)
    if (strcmp(scope->variable[i - 1].name, name) == 0) return &scope->variable[i - 1];
  return NULL;
}

static void set_variable(struct attn_py_follower *f, const char *name, value v) {
  struct attn_py_variable *old = find(f->scope, name);
  if (!old) {
    if (attn_pool_grow(f->a->pool, (void **)&f->scope->variable, (size_t)f->scope->variables,
                       sizeof *f->scope->variable)) {
      f->status = attn_no_memory(f->a);
      return;
    }
    old = &f->scope->variable[f->scope->variables++];
    old->name = attn_pool_text(f->a->pool, name, strlen(name));
    if (!old->name) {
      f->scope->variables--;
      f->status = attn_no_memory(f->a);
      return;
    }
    int *list = list_of(f->scope, name);
    old->next = *list;
    *list = f->scope->variables;
  }
  old->value = v;
  old->example = f->number;
}

static int find_import(const struct attn_py_follower *f, int example, int step) {
  for (int i = 0; i < f->imports; i++)
    if (f->import[i].example == example && f->import[i].step == step) return f->import[i].copy;
  return -1;
}

static int copy_step(struct attn_py_follower *f, int example, int step) {
  const attn_step *from = &f->earlier[example].step[step];
  attn_step *added = attn_add_step(f->a, f->ex, from->name, -1, from->op);
  if (!added) return f->status = ATTN_ERR_MEMORY, -1;
  *added = *from;
  if (added->op != ATTN_OP_GIVEN) {
    added->printings = 0;
    added->printing = NULL;
  }
  for (int n = 0; n < added->operands; n++)
    added->operand[n] = find_import(f, example, from->operand[n]);
  if (attn_pool_grow(f->a->pool, (void **)&f->import, (size_t)f->imports, sizeof *f->import))
    return f->status = attn_no_memory(f->a), -1;
  f->import[f->imports++] = (struct attn_py_import){example, step, f->ex->steps - 1};
  return f->ex->steps - 1;
}

/* A step of an earlier snippet, with all it is computed from; what that snippet prints for it is
 * judged there. Steps were added in order, so those it needs have smaller numbers. */
static int import_step(struct attn_py_follower *f, int example, int step) {
  const attn_example *from = &f->earlier[example];
  char *needed = attn_pool_take(f->a->pool, (size_t)step + 1);
  if (!needed) return f->status = attn_no_memory(f->a), -1;
  needed[step] = 1;
  for (int i = step; i >= 0; i--)
    for (int n = 0; needed[i] && n < from->step[i].operands; n++)
      needed[from->step[i].operand[n]] = 1;
  for (int i = 0; i <= step && !f->status; i++)
    if (needed[i] && find_import(f, example, i) < 0) copy_step(f, example, i);
  return f->status ? -1 : find_import(f, example, step);
}

value attn_py_lookup(struct attn_py_follower *f, const char *name) {
  struct attn_py_variable *v = find(f->scope, name);
  if (!v) return UNKNOWN;
  if (v->value.kind == ATTN_VALUE_STEP && v->example != f->number) {
    int step = import_step(f, v->example, v->value.step);
    if (step < 0) return UNKNOWN;
    v->value.step = step;
    v->example = f->number;
  }
  return v->value;
}

/* ---- names ---- */

static int is_telling(const char *name) { return name[1] != 0 || strchr("xqkvXQKVY", name[0]); }

/* q, attention_weights, q_large. */
static int role_by_name(const char *name) {
  char part[64];
  size_t length = strlen(name);
  while (length > 0 && length < sizeof part) {
    memcpy(part, name, length);
    part[length] = 0;
    struct attn_meaning m = attn_meaning_of(part);
    if (m.certain && m.name >= 0 && m.name < ATTN_STEP_OTHER && is_telling(part)) return m.name;
    const char *bar = strrchr(part, '_');
    length = bar ? (size_t)(bar - part) : 0;
  }
  return ATTN_STEP_OTHER;
}

static void name_step(struct attn_py_follower *f, int step, const char *name) {
  attn_step *s = &f->ex->step[step];
  s->symbol = attn_pool_text(f->a->pool, name, strlen(name));
  if (!s->symbol) f->status = attn_no_memory(f->a);
  if (s->name == ATTN_STEP_OTHER) s->name = role_by_name(name);
}

/* ---- statements ---- */

static void add_result(struct attn_py_follower *f, int step, const attn_printing *result) {
  attn_step *s = &f->ex->step[step];
  attn_printing p = *result;
  size_t count = (size_t)p.rows * (size_t)p.cols;
  if (s->op == ATTN_OP_GIVEN || !count || f->status) return; /* an array shown again */
  p.row0 = p.col0 = -1;
  p.cells = attn_pool_take(f->a->pool, count * sizeof *p.cells);
  if (!p.cells) {
    f->status = attn_no_memory(f->a);
    return;
  }
  memcpy(p.cells, result->cells, count * sizeof *p.cells);
  f->status = attn_attach_one(f->a, s, &p, 0);
}

static void follow_assignment(struct attn_py_follower *f, const struct attn_item *item) {
  int before = f->ex->steps;
  f->rounding = !*item->text;
  value v = attn_py_evaluate(f, item->expression);
  if (f->status) return;
  int made =
      v.kind == ATTN_VALUE_STEP && v.step >= before && item->expression->kind != ATTN_EXPR_NAME;
  if (v.kind == ATTN_VALUE_STEP && v.transposed && *item->text) {
    v = attn_py_step(f, ATTN_STEP_OTHER, ATTN_OP_TRANSPOSE, 0, &v.step, 1, 1);
    made = 1;
  }
  if (f->status) return;
  if (made && v.kind == ATTN_VALUE_STEP && *item->text) name_step(f, v.step, item->text);
  if (*item->text) set_variable(f, item->text, v);
  if (v.kind == ATTN_VALUE_STEP && !v.transposed && item->has_result)
    add_result(f, v.step, &item->result);
}

/* One identifier of a list, copied; what follows it. */
static const char *identifier(const char *s, char *name, size_t size) {
  size_t n = 0;
  while (*s == ' ' || *s == ',') s++;
  while ((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || *s == '_' ||
         (*s >= '0' && *s <= '9')) {
    if (n + 1 < size) name[n++] = *s;
    s++;
  }
  name[n] = 0;
  while (*s == ' ') s++;
  return s;
}

/* `output, attn = scaled_dot_product_attention(q, k, v)`: the function that everyone writes. */
static void follow_attention(struct attn_py_follower *f, const char *text) {
  static const char CALL[] = "scaled_dot_product_attention(";
  char name[3][64], target[2][64];
  const char *call = strstr(text, CALL), *equals = strchr(text, '=');
  if (!call || !equals || equals > call || strncmp(text, "def ", 4) == 0) return;
  const char *s = call + sizeof CALL - 1;
  for (int i = 0; i < 3; i++) s = identifier(s, name[i], sizeof name[i]);
  if (*s != ')') return;
  s = identifier(text, target[0], sizeof target[0]);
  s = identifier(s, target[1], sizeof target[1]);
  if (*s != '=') return;
  value in[3];
  for (int i = 0; i < 3; i++) in[i] = attn_py_lookup(f, name[i]);
  int weights = -1;
  value out = attn_py_attention(f, in[0], in[1], in[2], &weights);
  if (out.kind != ATTN_VALUE_STEP || f->status) return;
  name_step(f, out.step, target[0]);
  set_variable(f, target[0], out);
  if (!*target[1] || f->status) return;
  name_step(f, weights, target[1]);
  set_variable(f, target[1], (value){ATTN_VALUE_STEP, 0, 0, weights, 0});
}

static void orient(attn_example *ex) {
  for (int i = 0; i < ex->steps; i++)
    if (ex->step[i].op == ATTN_OP_SOFTMAX && ex->step[i].axis == 0)
      ex->orientation = ATTN_QUERIES_IN_COLUMNS;
}

attn_status attn_follow_snippet(struct attn_assembly *a, attn_example *examples, int before,
                                attn_example *example) {
  struct attn_py_follower f = {.a = a, .ex = example, .earlier = examples, .number = before};
  f.scope = a->scope;
  for (int i = a->range.begin; i < a->range.end && !f.status; i++) {
    const struct attn_item *item = &a->document->item[i];
    if (item->block != a->range.block) continue;
    if (item->kind == ATTN_ITEM_ASSIGN) follow_assignment(&f, item);
    if (item->kind == ATTN_ITEM_SENTENCE) follow_attention(&f, item->text);
  }
  orient(example);
  return f.status;
}
