/* variables.c -- what the names of snippets stand for, and where the numbers that are printed for
 * them belong. */
#include <math.h>
#include <string.h>

#include "cell.h"
#include "snippet.h"

typedef struct attn_py_value value;

static const value UNKNOWN = {.kind = ATTN_PY_UNKNOWN};

struct variable {
  int example; /* that has its step */
  int import;  /* where the copy of this step may be, for another example */
  value value;
};

static struct variable *variable_of(struct attn_python *p, struct attn_part name) {
  struct attn_pool *pool = p->scan->pool;
  struct attn_memo_entry *entry =
      attn_memo_at(pool, &p->variables, p->code + name.begin, name.end - name.begin);
  if (entry && !entry->value) entry->value = attn_pool_take(pool, sizeof(struct variable));
  if (!entry || !entry->value) return attn_py_no_memory(p), NULL;
  return entry->value;
}

/* ---- steps of earlier snippets ---- */

static int is_import(const struct attn_python *p, int i, int example, int step) {
  return i < p->imports && p->import[i].example == example && p->import[i].step == step;
}

/* p->imports: none. */
static int find_import(const struct attn_python *p, int example, int step) {
  int i = 0;
  while (i < p->imports && !is_import(p, i, example, step)) i++;
  return i;
}

static int copy_step(struct attn_python *p, int example, int step) {
  const attn_step *from = &p->lesson->example[example].step[step];
  attn_step *added = attn_add_step(&p->maker, p->example, from->name, -1, from->op);
  if (!added ||
      attn_pool_grow(p->scan->pool, (void **)&p->import, (size_t)p->imports, sizeof *p->import))
    return attn_py_no_memory(p);
  *added = *from;
  if (added->op != ATTN_OP_GIVEN) {
    added->printings = 0;
    added->printing = NULL;
  }
  for (int n = 0; n < added->operands; n++)
    added->operand[n] = p->import[find_import(p, example, from->operand[n])].copy;
  p->import[p->imports++] = (struct attn_py_import){example, step, p->example->steps - 1};
  return 1;
}

/* A step of an earlier snippet, with all it is computed from; what that snippet prints for it is
 * judged there. Steps were added in order, so those it needs have smaller numbers. */
static int import_step(struct attn_python *p, int example, int step) {
  const attn_step *from = p->lesson->example[example].step;
  char *needed = attn_pool_take(p->scan->pool, (size_t)step + 1);
  if (!needed) return attn_py_no_memory(p);
  needed[step] = 1;
  for (int i = step; i >= 0; i--)
    for (int n = 0; needed[i] && n < from[i].operands; n++) needed[from[i].operand[n]] = 1;
  for (int i = 0; i <= step; i++)
    if (needed[i] && find_import(p, example, i) == p->imports && !copy_step(p, example, i))
      return 0;
  return 1;
}

value attn_py_lookup(struct attn_python *p, struct attn_part name) {
  struct variable *v = variable_of(p, name);
  if (!v) return UNKNOWN;
  value found = v->value;
  if (found.kind != ATTN_PY_STEP || v->example == p->lesson->examples) return found;
  if (!is_import(p, v->import, v->example, found.step)) {
    if (!import_step(p, v->example, found.step)) return UNKNOWN;
    v->import = find_import(p, v->example, found.step);
  }
  found.step = p->import[v->import].copy;
  return found;
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
    int found = attn_step_called(part);
    if (found >= 0 && is_telling(part)) return found;
    const char *bar = strrchr(part, '_');
    length = bar ? (size_t)(bar - part) : 0;
  }
  return ATTN_STEP_OTHER;
}

void attn_py_bind(struct attn_python *p, struct attn_part name, value v) {
  if (v.kind != ATTN_PY_STEP && v.kind != ATTN_PY_SCALAR) v = UNKNOWN;
  v = attn_py_settled(p, v);
  struct variable *variable = p->status ? NULL : variable_of(p, name);
  if (!variable) return;
  if (v.kind == ATTN_PY_STEP && v.is_new) {
    attn_step *s = &p->example->step[v.step];
    s->symbol = attn_pool_text(p->scan->pool, p->code + name.begin, name.end - name.begin);
    if (!s->symbol) {
      attn_py_no_memory(p);
      return;
    }
    if (s->name == ATTN_STEP_OTHER) s->name = role_by_name(s->symbol);
  }
  v.is_new = 0;
  *variable = (struct variable){.example = p->lesson->examples, .value = v};
}

/* ---- results ---- */

/* Do the numbers belong to the whole, or to a vector that is turned? */
static int fits(const attn_matrix *m, attn_printing *p) {
  if (p->rows == m->rows && p->cols == m->cols) return 1;
  if ((p->rows != 1 && p->cols != 1) || p->rows != m->cols || p->cols != m->rows) return 0;
  p->rows = m->rows, p->cols = m->cols;
  return 1;
}

void attn_py_add_result(struct attn_python *p, int step, const attn_printing *result) {
  attn_step *s = &p->example->step[step];
  attn_printing printing = *result;
  if (s->op == ATTN_OP_GIVEN) return; /* an array shown again */
  if (fits(&s->exact, &printing))
    p->status = attn_add_printing(&p->maker, s, &printing);
  else
    p->example->uncertain = 1;
}
