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
    if (attn_pool_grow(f->maker->pool, (void **)&f->scope->variable, (size_t)f->scope->variables,
                       sizeof *f->scope->variable)) {
      f->status = attn_no_memory(f->maker);
      return;
    }
    old = &f->scope->variable[f->scope->variables++];
    old->name = attn_pool_text(f->maker->pool, name, strlen(name));
    if (!old->name) {
      f->scope->variables--;
      f->status = attn_no_memory(f->maker);
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
  attn_step *added = attn_add_step(f->maker, f->ex, from->name, -1, from->op);
  if (!added) return f->status = ATTN_ERR_MEMORY, -1;
  *added = *from;
  if (added->op != ATTN_OP_GIVEN) {
    added->printings = 0;
    added->printing = NULL;
  }
  for (int n = 0; n < added->operands; n++)
    added->operand[n] = find_import(f, example, from->operand[n]);
  if (attn_pool_grow(f->maker->pool, (void **)&f->import, (size_t)f->imports, sizeof *f->import))
    return f->status = attn_no_memory(f->maker), -1;
  f->import[f->imports++] = (struct attn_py_import){example, step, f->ex->steps - 1};
  return f->ex->steps - 1;
}

/* A step of an earlier snippet, with all it is computed from; what that snippet prints for it is
 * judged there. Steps were added in order, so those it needs have smaller numbers. */
static int import_step(struct attn_py_follower *f, int example, int step) {
  const attn_example *from = &f->earlier[example];
  char *needed = attn_pool_take(f->maker->pool, (size_t)step + 1);
  if (!needed) return f->status = attn_no_memory(f->maker), -1;
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
    int found = attn_step_called(part);
    if (found >= 0 && is_telling(part)) return found;
    const char *bar = strrchr(part, '_');
    length = bar ? (size_t)(bar - part) : 0;
  }
  return ATTN_STEP_OTHER;
}

static void name_step(struct attn_py_follower *f, int step, const char *name) {
  attn_step *s = &f->ex->step[step];
  s->symbol = attn_pool_text(f->maker->pool, name, strlen(name));
  if (!s->symbol) f->status = attn_no_memory(f->maker);
  if (s->name == ATTN_STEP_OTHER) s->name = role_by_name(name);
}

/* ---- statements ---- */

/* Where the numbers belong: the whole, a vector that is turned, or one row. 0: nowhere. */
static int find_place(const attn_matrix *m, attn_printing *p) {
  int vector = p->rows == 1 || p->cols == 1;
  if (p->rows == m->rows && p->cols == m->cols) return 1;
  if (vector && p->rows == m->cols && p->cols == m->rows) {
    p->rows = m->rows, p->cols = m->cols;
    return 1;
  }
  if (p->rows != 1 || p->cols != m->cols) return 0;
  for (p->row0 = 0; p->row0 < m->rows; p->row0++) {
    int fits = 0;
    for (int j = 0; j < p->cols; j++) {
      const attn_cell *cell = &p->cells[j];
      double right = m->at[p->row0 * m->cols + j], slack = cell->hi - cell->lo + 1e-9;
      fits += right >= cell->lo - slack && right <= cell->hi + slack;
    }
    if (fits == p->cols) return 1;
  }
  return 0;
}

static void add_result(struct attn_py_follower *f, int step, const attn_printing *result) {
  attn_step *s = &f->ex->step[step];
  attn_printing p = *result;
  if (s->op == ATTN_OP_GIVEN || f->status) return; /* an array shown again */
  if (find_place(&s->exact, &p))
    f->status = attn_add_printing(f->maker, s, &p);
  else
    f->ex->uncertain = 1;
}

/* name = v; before: the steps before e was evaluated. */
static value bind(struct attn_py_follower *f, const char *name, const struct attn_expr *e, value v,
                  int before) {
  int made = v.kind == ATTN_VALUE_STEP && v.step >= before && e->kind != ATTN_EXPR_NAME;
  if (v.kind == ATTN_VALUE_STEP && v.transposed && !f->status) {
    v = attn_py_step(f, ATTN_STEP_OTHER, ATTN_OP_TRANSPOSE, 0, &v.step, 1, 1);
    made = v.kind == ATTN_VALUE_STEP;
  }
  if (made && !f->status) name_step(f, v.step, name);
  if (!f->status) set_variable(f, name, v);
  return v;
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

enum { TARGETS_MAX = 16, NAME_BYTES = 64 };

/* a, b = x, y; output, weights = scaled_dot_product_attention(q, k, v) */
static void follow_targets(struct attn_py_follower *f, const struct attn_statement *s) {
  const struct attn_expr *e = s->expression;
  char name[TARGETS_MAX][NAME_BYTES];
  value v[TARGETS_MAX];
  int before = f->ex->steps, targets = 0;
  for (const char *rest = s->text; *rest && targets < TARGETS_MAX; targets++)
    rest = identifier(rest, name[targets], NAME_BYTES);
  int is_tuple =
      e->kind == ATTN_EXPR_CALL && strcmp(e->text, "tuple") == 0 && e->arguments == targets;
  for (int n = 0; n < targets; n++) v[n] = is_tuple ? attn_py_evaluate(f, e->argument[n]) : UNKNOWN;
  if (targets == 2 && attn_py_is_attention(e)) {
    v[0] = attn_py_evaluate(f, e);
    if (v[0].kind == ATTN_VALUE_STEP) v[1] = (value){ATTN_VALUE_STEP, 0, 0, f->weights, 0};
  }
  for (int n = 0; n < targets && !f->status; n++)
    bind(f, name[n], is_tuple ? e->argument[n] : e, v[n], before);
}

static void follow_assignment(struct attn_py_follower *f, const struct attn_statement *s) {
  int before = f->ex->steps;
  f->rounding = !*s->text;
  value v = attn_py_evaluate(f, s->expression);
  if (*s->text) v = bind(f, s->text, s->expression, v, before);
  if (v.kind == ATTN_VALUE_STEP && !v.transposed && s->has_result)
    add_result(f, v.step, &s->result);
}

static void orient(attn_example *ex) {
  for (int i = 0; i < ex->steps; i++)
    if (ex->step[i].op == ATTN_OP_SOFTMAX && ex->step[i].axis == 0)
      ex->orientation = ATTN_QUERIES_IN_COLUMNS;
}

static attn_status follow_snippet(struct attn_py_follower *f, const struct attn_python *p,
                                  int snippet) {
  for (int n = 0; n < p->statements && !f->status; n++) {
    const struct attn_statement *s = &p->statement[n];
    if (s->snippet != snippet) continue;
    if (!s->expression) continue;
    if (strchr(s->text, ','))
      follow_targets(f, s);
    else
      follow_assignment(f, s);
  }
  orient(f->ex);
  return f->status;
}

/* Snippets without results are kept while a later one may use their variables. They are followed
 * if one does. */
static void drop_idle(attn_lesson *lesson, const int *snippet, unsigned char *followed) {
  int kept = 0;
  for (int n = 0; n < lesson->examples; n++) {
    if (!attn_is_computed(&lesson->example[n])) continue;
    followed[snippet[n]] = 1;
    lesson->example[kept++] = lesson->example[n];
  }
  lesson->examples = kept;
}

attn_status attn_follow_python(const struct attn_python *p, struct attn_maker *maker,
                               attn_lesson *lesson, unsigned char **followed) {
  struct attn_py_scope *scope = attn_pool_take(maker->pool, sizeof *scope);
  int *snippet = attn_pool_take(maker->pool, ((size_t)p->snippets + 1) * sizeof *snippet);
  *followed = attn_pool_take(maker->pool, (size_t)p->snippets + 1);
  if (!scope || !snippet || !*followed) return attn_no_memory(maker);
  for (int n = 0; n < p->snippets; n++) {
    attn_example ex = {.heads = 1, .from_python = 1};
    ex.line = p->snippet[n].line;
    const struct attn_scan_heading *title = attn_scan_heading_above(p->scan, ex.line);
    ex.title = title ? title->text : "";
    struct attn_py_follower f = {.maker = maker,
                                 .ex = &ex,
                                 .earlier = lesson->example,
                                 .number = lesson->examples,
                                 .scope = scope};
    attn_status status = follow_snippet(&f, p, n);
    snippet[lesson->examples] = n;
    if (!status && ex.steps) status = attn_add_example(maker, lesson, &ex);
    if (status) return status;
  }
  drop_idle(lesson, snippet, *followed);
  return ATTN_OK;
}

/* Behind a snippet's lines nothing is left to scan. */
static void make_blank(char *text, const struct attn_snippet *s) {
  for (size_t at = s->begin; at < s->end; at++)
    if (text[at] != '\n') text[at] = ' ';
}

/* Comments of a program are no headings. */
static void drop_comments(struct attn_scan *scan, const struct attn_python *p) {
  int kept = 0;
  for (int h = 0; h < scan->headings; h++) {
    int line = scan->heading[h].line, inside = 0;
    for (int n = 0; n < p->snippets && !inside; n++)
      inside = line >= p->snippet[n].line &&
               line <= attn_source_place(&scan->source, p->snippet[n].end - 1).line;
    if (!inside) scan->heading[kept++] = scan->heading[h];
  }
  scan->headings = kept;
}

attn_status attn_add_snippets(struct attn_scan *scan, attn_lesson *lesson) {
  struct attn_python p;
  struct attn_maker maker = {scan->pool, scan->err};
  unsigned char *followed;
  attn_status status = attn_read_python(&p, scan);
  if (status || !p.snippets) return status;
  drop_comments(scan, &p);
  status = attn_follow_python(&p, &maker, lesson, &followed);
  if (status || !lesson->examples) return status;
  char *text = attn_pool_text(scan->pool, scan->source.text, scan->source.size);
  if (!text) return attn_no_memory(&maker);
  for (int n = 0; n < p.snippets; n++)
    if (followed[n]) make_blank(text, &p.snippet[n]);
  scan->source.text = text;
  return ATTN_OK;
}
